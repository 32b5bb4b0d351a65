"""Wrong versions of `alignbook.workbook.reports.report`."""

MUTANTS = {
    "test_report.py": [
        ("report: never current", "return stamp.exists() and", "return False and"),
        (
            "report: always current once built",
            " and stamp.read_text() == f\"{made_from(out)} {_sizes(out / 'report')}\"",
            "",
        ),
        ("report: what runs hold doesn't count", '"starts.json", "runs.csv")', '"starts.json")'),
        (
            "report: the old one goes first",
            '            aside = out / ".report"\n',
            '            aside = out / ".report"\n'
            '            shutil.rmtree(out / "report", ignore_errors=True)\n',
        ),
        ("report: summaries are fetched", '"html_show_search_summary": False,', ""),
        (
            "report: links to a front page that is none",
            'text.replace(f"({MAP}.ipynb)", "(index.ipynb)")',
            "text",
        ),
    ]
}
