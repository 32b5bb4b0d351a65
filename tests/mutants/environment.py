"""Wrong versions of what the environment may lack; every one must fail its tests."""

TESTS = "test_environment.py"


def _of(file, *changes):
    return [(name, file, snippet, wrong, TESTS) for name, snippet, wrong in changes]


MUTANTS = [
    *_of(
        "workbook/placeholders.py",
        (
            "a real library is not seen",
            '[*nvidia.glob("*/lib/*.so.*"), *folder.glob("*.so.*")]',
            '[*folder.glob("*.so.*")]',
        ),
        (
            "what came with PyTorch is written over",
            'folder.glob("*.so.*")]\n',
            'folder.glob("no*")]\n',
        ),
        ("placeholders stay for ever", "if path.name not in missing:", "if missing is None:"),
        ("a text that is no text", 'each.endswith(("String", "LastError"))', "False"),
        (
            "functions that succeed",
            "places[each], 0x12, 0, 1, address, 8)",
            "places[each], 0x12, 0, 1, at_code + 8, 8)",
        ),
        (
            "only the last function of a hash is found",
            "before[i], last[slot] = last[slot], i",
            "last[slot] = i",
        ),
    ),
    *_of(
        "papers/comalign/components/check.py",
        (
            "the world's detector is not missed",
            'if value == "detector" and not find_spec',
            'if value == "yolo" and not find_spec',
        ),
        ("weights without ultralytics", 'if not find_spec("ultralytics"):\n', "if False:\n"),
    ),
]
