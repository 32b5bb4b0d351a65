"""Wrong versions of `alignbook.workbook.start`."""

MUTANTS = {
    "test_report.py": [
        ("report: images' interval over seeds", 'interval(first, "query_")', "interval(first)"),
        ("report: a decimal whatever the unit", "DECIMALS.get(contrast.unit, 1)", "1"),
    ]
}
