"""Wrong versions of `alignbook.workbook.parts`."""

MUTANTS = {
    "test_published.py": [
        ("one notebook is a chapter", "if notebooks and notebooks <= done", "if notebooks & done"),
        ("what is left out is wanted", "        if not own or any(", "        if True or any("),
        (
            "the map says that all is done",
            "return _wanted(out) <= _done(out)",
            "return bool(_done(out))",
        ),
        ("numbers may be older", "each.stat().st_mtime > file", "each.stat().st_mtime < file"),
        ("numbers may lack", "if folder.name not in known:", "if False:"),
        (
            "other chapters are asked",
            "        if belongs(folder.name, papers):",
            "        if True:",
        ),
        ("other chapters' rows", "return found.loc[own]", "return found"),
        ("digits are read", "dtype=str, keep_default_na=False", "keep_default_na=False"),
    ]
}
