"""Wrong versions of `alignbook.workbook.placeholders`."""

MUTANTS = {
    "test_environment.py": [
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
    ]
}
