"""Wrong versions of `alignbook.workbook.publishing.judged`."""

MUTANTS = {
    "test_published.py": [
        ("dev chose surely", "results.trials(made))", "None)"),
        ("times are not there", "if each.timed and (file", "if not each.timed and (file"),
        ("an empty folder is judged", "if numbers.empty:", "if False:"),
    ]
}
