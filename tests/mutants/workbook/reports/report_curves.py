"""Wrong versions of `alignbook.workbook.reports.report_curves`."""

MUTANTS = {
    "test_report_curves.py": [
        ("trials are drawn", '(made.role == "report") & ', ""),
        ("figures of the same runs twice", "trained <= keys", "False"),
        (
            "a notebook's figure of other runs",
            'and numbers.read_text("utf-8") == points.to_csv(index=False)',
            "",
        ),
        ("the last report's figure of other points", ".get(DRAWN_FROM) == _stamp(points)", ""),
        ("figures drawn by other code stay", 'f"{code}\\n{', 'f"{'),
        ("a cut figure is taken over", "            image.load()\n", ""),
        ("all is drawn anew", "if there := _drawn_before(out, file.name, points):", "if False:"),
        (
            "measured runs are drawn again",
            "map(learnt.trained, map(runs.stored, own.key)) if run",
            "map(runs.stored, own.key)",
        ),
    ]
}
