"""Wrong versions of `alignbook.workbook.start`."""

MUTANTS = {
    "test_report.py": [
        ("report: images' interval over seeds", 'interval(first, "query_")', "interval(first)"),
        ("report: a decimal whatever the unit", "DECIMALS.get(contrast.unit, 1)", "1"),
    ],
    "test_durable.py": [
        (
            "map: damaged verdicts are read",
            "judged = folders.is_whole(claims)",
            "judged = claims.exists()",
        ),
        (
            "map: damaged numbers are counted",
            "if folders.is_whole(metrics) else 0",
            "if metrics.exists() else 0",
        ),
    ],
}
