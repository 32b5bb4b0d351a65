"""Wrong versions of `alignbook.workbook.publishing.parts`."""

MUTANTS = {
    "test_published.py": [
        ("what is done and not wanted", "done = _wanted(out) & _done(out)", "done = _done(out)"),
        ("the map is a part", "if name in done and paper(name)]", "if name in done]"),
        ("what is left out is wanted", "        if not own or any(", "        if True or any("),
        (
            "the map says that all is done",
            "return _wanted(out) <= _done(out)",
            "return bool(_done(out))",
        ),
        ("numbers may be older", "each.stat().st_mtime > file", "each.stat().st_mtime < file"),
        ("numbers may lack", "if folder.name not in known and", "if False and"),
        ("other chapters are asked", "        if belongs(folder.name, part):", "        if True:"),
        ("other chapters' rows", "return found.loc[own]", "return found"),
        ("digits are read", "dtype=str, keep_default_na=False", "keep_default_na=False"),
    ]
}
