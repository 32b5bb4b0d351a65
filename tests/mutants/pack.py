"""Wrong versions of packing; every one must fail its test file."""

FILE, TESTS = "workbook/pack.py", "test_pack.py"

MUTANTS = [
    (name, FILE, snippet, replacement, TESTS)
    for name, snippet, replacement in [
        ("hashes are not compared", 'if digest.hexdigest() != entry["sha256"]:', "if False:"),
        (
            "missing members are no matter",
            "    if wanted:\n        raise",
            "    if False:\n        raise",
        ),
        ("links are taken", "if entry is None or not info.isreg():", "if entry is None:"),
        (
            "another result under a key is no matter",
            "    if apart:\n        raise",
            "    if False:\n        raise",
        ),
        (
            "runs that are there are replaced",
            'if not (store / key / "run.json").exists():',
            "if True:",
        ),
        (
            "a broken pack leaves its parts",
            "                shutil.rmtree(aside, ignore_errors=True)\n                with",
            "                with",
        ),
        (
            "photographs' runs travel",
            'if others := ", ".join(sorted(origins - {"world", *kinds})):',
            'if others := "":',
        ),
        (
            "photographs' features travel",
            'elif origins != {"world"} and (store',
            "elif False and (store",
        ),
        (
            "inputs stay behind",
            'named = [*record.get("inputs", ()), *record.get("asked", ())]',
            'named = record.get("asked", ())',
        ),
        (
            "what a run asked for stays behind",
            'named = [*record.get("inputs", ()), *record.get("asked", ())]',
            'named = record.get("inputs", ())',
        ),
        ("stale runs travel", "    if everything:", "    if True:"),
    ]
] + [
    (name, "workbook/manifest.py", snippet, replacement, TESTS)
    for name, snippet, replacement in [
        ("names may lead out of the store", 'FILE = _of(r"\\w[\\w.-]*("', 'FILE = _of(r".*("'),
        (
            "pickles are taken",
            'for kind in KINDS) + ")")',
            'for kind in (*KINDS, ".pkl", ".pt")) + ")")',
        ),
        (
            "a key is not computed again",
            'if not told["key"] == key == found:',
            'if told["key"] != key:',
        ),
        (
            "truth values are numbers",
            "fits = type(told) is int and",
            "fits = isinstance(told, int) and",
        ),
        (
            "nesting is no matter",
            "json.loads(octets)\n    except RecursionError:",
            "json.loads(octets)\n    except KeyError:",
        ),
        ("what lists hold is not looked at", 'check(value, form[0], f"{place}.{i}")', "pass"),
    ]
]
