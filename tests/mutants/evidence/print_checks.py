"""Wrong versions of `alignbook.evidence.print_checks`."""

MUTANTS = {
    "test_print_checks.py": [
        (
            "decimals as each cell has them",
            "printed(cell.printed, cell.decimals)",
            "printed(cell.printed)",
        ),
        ("rows of gains taken for recalls", 'if not name.endswith("gain"):', "if True:"),
        (
            "highest: of itself too",
            "key.startswith(among) and key != name]",
            "key.startswith(among)]",
        ),
        ("highest: over the worst", "best = max(others", "best = min(others"),
        (
            "queries: rounding forgotten",
            "YES if full[0] else WITHIN",
            "WITHIN if full[0] else WITHIN",
        ),
        ("queries: truncation is no excuse", "WITHIN if full[1] else NO", "NO if full[1] else NO"),
        ("recalls may fall", "each == sorted(each) for each in values", "True for each in values"),
        ("formulas keep their markup", "text = text.replace(tex, sign)", "text = text"),
    ]
}
