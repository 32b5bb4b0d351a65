"""Wrong versions of `alignbook.show.run_tables`."""

MUTANTS = {
    "test_results.py": [
        (
            "forest: a figure for all papers",
            ".groupby([whose, shown.unit",
            ".groupby([whose * 0, shown.unit",
        ),
        (
            "forest: a figure for each column",
            'column.endswith("RSUM") else',
            'column == "RSUM" else',
        ),
        ("forest: a unit's decimals", "claims.DECIMALS.get(unit, 1)]", "1]"),
    ]
}
