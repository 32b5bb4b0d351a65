"""Wrong versions of `alignbook.workbook.publishing.beside`."""

MUTANTS = {
    "test_beside.py": [
        ("a part speaks for its data", 'told.get("notebooks", parts.ALL) == parts.ALL', "True"),
        (
            "one side alone",
            "for here, there in ((one, two), (two, one)):",
            "for here, there in ((one, two),):",
        ),
        ("what both decide", "decided[here] & ~decided[there]", "decided[here]"),
    ]
}
