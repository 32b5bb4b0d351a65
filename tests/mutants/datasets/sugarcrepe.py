"""Wrong versions of `alignbook.datasets.sugarcrepe`."""

MUTANTS = {
    "test_probes.py": [
        (
            "captions exchanged",
            'text(entry, "caption"),\n                             text(entry, "negative_caption")',
            'text(entry, "negative_caption"),\n                             text(entry, "caption")',
        )
    ]
}
