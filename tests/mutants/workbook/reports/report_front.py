"""Wrong versions of `alignbook.workbook.reports.report_front`."""

MUTANTS = {
    "test_report.py": [
        ("report: claims among the others", "if name != exhibits.VERDICTS]", "if name]"),
        (
            "report: no label on the world",
            "return run_tables.comparable(book) + smoke",
            'return "" + smoke',
        ),
    ]
}
