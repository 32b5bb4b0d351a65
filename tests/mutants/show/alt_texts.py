"""Wrong versions of `alignbook.show.alt_texts`."""

MUTANTS = {
    "test_figures.py": [
        (
            "figures: endless alt text",
            'textwrap.shorten(f"Figure: {what.rstrip(\'.\')}", LONGEST, placeholder=" …")',
            'f"Figure: {what}"',
        )
    ]
}
