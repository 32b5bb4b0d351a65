"""Wrong versions of `alignbook.workbook.reports.report_notebooks`."""

MUTANTS = {
    "test_report.py": [
        (
            "report: a failure is not named",
            "    if failure := execute.failure(path):",
            "    if failure := None:",
        ),
        (
            "report: an unfinished notebook is whole",
            'return "" if done else',
            'return "" if True else',
        ),
        (
            "report: places are shown",
            '        text = re.sub(rf"{re.escape(place)}',
            '        re.sub(rf"{re.escape(place)}',
        ),
        ("report: parameters are not folded", '[*tags, "hide-input"]', "[*tags]"),
        (
            "report: views without a kernel",
            '.pop("application/vnd.jupyter.widget-view+json", None)',
            '.get("application/vnd.jupyter.widget-view+json", None)',
        ),
    ]
}
