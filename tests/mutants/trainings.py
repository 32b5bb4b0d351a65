"""Wrong versions of what makes jobs of trainings; every one must fail its test file."""

MUTANTS = (
    [
        (name, "workbook/trainings.py", snippet, wrong, "test_trainings.py")
        for name, snippet, wrong in [
            ("a control has all seeds", "1 if single else profile.seeds", "profile.seeds"),
            ("one tuning seed", "for i in range(profile.tuning_seeds)", "for i in range(1)"),
            ("one candidate is tried", "len(candidates) < 2 or", "False or"),
            (
                "what dev chooses between is not told",
                "**changes)), repr(tried)",
                "**changes)), str()",
            ),
            (
                "changes are not told",
                "repr(replace(candidates[0], **changes)),",
                "repr(candidates[0]),",
            ),
            (
                "of all seeds one",
                'key("report", *shown, seed, repr(place))',
                'key("report", *shown, repr(place))',
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
            ("all take the first", "for name in names:", "for name in names[:1]:"),
            ("nobody waits", "fcntl.LOCK_EX | fcntl.LOCK_NB", "fcntl.LOCK_SH | fcntl.LOCK_NB"),
            ("it is kept", "        for lock in locks.values():\n            os.close(lock)\n", ""),
            ("one is enough", "while len(locks) < count:", "while len(locks) < 1:"),
            ("a cluster's job sees all", 'os.environ[VISIBLE] = ""', "pass"),
            ("what was visible is lost", "os.environ[VISIBLE] = before", "pass"),
        ]
    ]
    + [
        (name, "workbook/asks.py", snippet, wrong, "test_asks.py")
        for name, snippet, wrong in [
            (
                "seconds are minutes",
                "LATE * self._seconds(words) / 60",
                "LATE * self._seconds(words)",
            ),
            ("all have a GPU", "if kind in gpus.WITHOUT or", "if"),
            ("one for all processes", "return self.profile.processes if", "return 1 if"),
            ("no limit", "LISTED if trained else MOST)", "LISTED if trained else 99 * MOST)"),
            ("lists take as long", "LISTED if trained else MOST)", "MOST)"),
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
