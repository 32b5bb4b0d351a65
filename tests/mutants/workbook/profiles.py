"""Wrong versions of `alignbook.workbook.profiles`."""

MUTANTS = {
    "test_bad_input.py": [
        ("towers see pictures squashed", 'for name in ("size", "fit")}', 'for name in ("size",)}'),
        (
            "towers see pictures of any size",
            'for name in ("size", "fit")}',
            'for name in ("fit",)}',
        ),
    ]
}
