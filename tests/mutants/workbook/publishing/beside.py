"""Wrong versions of `alignbook.workbook.publishing.beside`."""

MUTANTS = {
    "test_beside.py": [
        ("a part speaks for its data", 'told.get("notebooks", parts.ALL) == parts.ALL', "True")
    ]
}
