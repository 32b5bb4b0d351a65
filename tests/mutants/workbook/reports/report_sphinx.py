"""Wrong versions of `alignbook.workbook.reports.report_sphinx`."""

MUTANTS = {
    "test_report.py": [
        ("report: figures as large as in print", 'if "width" in said:', "if False:"),
        ("report: no alt texts", '    app.connect("doctree-read", set_alts)\n', ""),
        ("report: the index below the letter", r"{\\\1 \2\\hspace{0em}}", r"{\\\1 \2}"),
        ("report: dots are unknown", 'tex.replace("…", r"\\ldots ")', "tex"),
    ]
}
