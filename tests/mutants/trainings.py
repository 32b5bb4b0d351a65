"""Wrong versions of what makes jobs of trainings; every one must fail its test file."""

MUTANTS = (
    [
        (name, "workbook/trainings.py", snippet, wrong, "test_trainings.py")
        for name, snippet, wrong in [
            ("a control has all seeds", "1 if single else profile.seeds", "profile.seeds"),
            ("one tuning seed", "for i in range(profile.tuning_seeds)", "for i in range(1)"),
            ("one candidate is tried", "len(candidates) < 2 or", "False or"),
            ("what dev chooses between is not told", "if tried else candidates[:1]", "[:1]"),
            ("changes are not told", "[replace(each, **changes) for each in between]", "between"),
            (
                "of all seeds one",
                'key("report", *reported, seed, repr(place))',
                'key("report", *reported, repr(place))',
            ),
            ("domains are one", 'if data == "world" else ""', 'if data == "nowhere" else ""'),
        ]
    ]
    + [
        (name, "workbook/results.py", snippet, wrong, "test_trainings.py")
        for name, snippet, wrong in [
            (
                "trials start from what is reported",
                'inputs = getattr(chapter, "tuning_inputs", chapter.inputs)(book, *which)',
                "inputs = chapter.inputs(book, *which)",
            ),
            ("the next trial", "[one.number]", "[one.number - 1]"),
        ]
    ]
    + [
        (name, "workbook/gpus.py", snippet, wrong, "test_gpus.py")
        for name, snippet, wrong in [
            ("all take the first", "for name in found:", "for name in found[:1]:"),
            ("nobody waits", "fcntl.LOCK_EX | fcntl.LOCK_NB", "fcntl.LOCK_SH | fcntl.LOCK_NB"),
            (
                "the fullest first",
                "for place in range(places() // len(found)):",
                "for place in (0,):",
            ),
            (
                "it is kept",
                "        os.close(lock)\n        os.environ.pop",
                "        os.environ.pop",
            ),
            ("what was visible is lost", "os.environ[VISIBLE] = before", "pass"),
        ]
    ]
    + [
        (name, "workbook/asks.py", snippet, wrong, "test_asks.py")
        for name, snippet, wrong in [
            ("seconds are minutes", "LATE * seconds / 60", "LATE * seconds"),
            ("nobody has a GPU", "words[0] not in gpus.WITHOUT", "words[0] in gpus.WITHOUT"),
            ("no limit", ", MOST),", ", 99 * MOST),"),
            (
                "a training asks as an arm",
                'sum(each) if words[0] == "arms" else',
                "sum(each) if True else",
            ),
            (
                "an arm asks as a training",
                'sum(each) if words[0] == "arms" else',
                "sum(each) if False else",
            ),
            ("all wildcards ask for a GPU", "lambda wildcards, name=name:", "lambda wildcards:"),
        ]
    ]
)
