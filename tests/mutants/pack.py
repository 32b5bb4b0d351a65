"""Wrong versions of packing; every one must fail its test file."""

TESTS = "test_pack.py"

MUTANTS = [
    (name, f"workbook/{module}.py", snippet, replacement, TESTS)
    for name, module, snippet, replacement in [
        (
            "hashes are not compared",
            "pack_archive",
            'if digest.hexdigest() != entry["sha256"]:',
            "if False:",
        ),
        (
            "missing members are no matter",
            "pack_archive",
            "    if wanted:\n        raise",
            "    if False:\n        raise",
        ),
        (
            "links are taken",
            "pack_archive",
            "if entry is None or not info.isreg():",
            "if entry is None:",
        ),
        (
            "another result under a key is no matter",
            "pack_archive",
            "    if apart:\n        raise",
            "    if False:\n        raise",
        ),
        (
            "runs that are there are replaced",
            "pack_archive",
            'if not (store / key / "run.json").exists():',
            "if True:",
        ),
        (
            "a broken pack leaves its parts",
            "pack_archive",
            "                shutil.rmtree(aside, ignore_errors=True)\n                with",
            "                with",
        ),
        (
            "photographs' runs travel",
            "pack_choice",
            'if others := ", ".join(sorted(origins - {"world", *kinds})):',
            'if others := "":',
        ),
        (
            "photographs' features travel",
            "pack_choice",
            'if origins != {"world"} and _untrained(store / key):',
            "if False:",
        ),
        (
            "what was trained is features too",
            "pack_choice",
            'if (run / "weights.safetensors").exists():',
            "if False:",
        ),
        (
            "features go to a class",
            "pack_choice",
            "if published and _untrained(store / key) > LARGE:",
            "if False:",
        ),
        (
            "small features stay",
            "pack_choice",
            "_untrained(store / key) > LARGE",
            "_untrained(store / key)",
        ),
        (
            "inputs stay behind",
            "pack_choice",
            'named = [*record.get("inputs", ()), *record.get("asked", ())]',
            'named = record.get("asked", ())',
        ),
        (
            "what a run asked for stays behind",
            "pack_choice",
            'named = [*record.get("inputs", ()), *record.get("asked", ())]',
            'named = record.get("inputs", ())',
        ),
        (
            "features that take long to make stay",
            "pack_choice",
            "LARGE = 100_000_000",
            "LARGE = 20_000_000",
        ),
        (
            "times are lent for other code",
            "pack",
            "            if not apart:",
            "            if True:",
        ),
        ("stale runs travel", "pack_choice", "    if everything:", "    if True:"),
        (
            "metrics need not be finite",
            "pack_members",
            "type(value) in (int, float) and abs(value) < 1 << 63",
            "type(value) in (int, float)",
        ),
        (
            "metrics may lack",
            "pack_members",
            "name for name in TRAINED if trained",
            "name for name in () if trained",
        ),
        (
            "arrays of objects are taken",
            "pack_members",
            'if dtype.kind not in "biuf":',
            "if False:",
        ),
        ("arrays of another size are taken", "pack_members", " or expected != size:", ":"),
        ("weights are not looked at", "pack_members", '".safetensors": _check_weights, ', ""),
    ]
] + [
    (name, "workbook/pack_manifest.py", snippet, replacement, TESTS)
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
        ("seals are no matter", 'if told["seal"] != sealed:', "if False:"),
        ("what lists hold is not looked at", 'check(value, form[0], f"{place}.{i}")', "pass"),
    ]
]
