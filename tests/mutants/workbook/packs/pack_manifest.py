"""Wrong versions of `alignbook.workbook.packs.pack_manifest`."""

MUTANTS = {
    "test_pack.py": [
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
}
