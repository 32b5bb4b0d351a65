"""Wrong versions of `alignbook.datasets.svo`."""

MUTANTS = {
    "test_probes.py": [
        (
            "a row too early",
            "kinds[0], *positive, *negative, item))",
            "kinds[0], *positive, *negative, len(rows)))",
        ),
        (
            "the negative picture gets the sentence",
            'rows.append((probe["negative_image"], changed, probe["caption"], *rest))',
            'rows.append((probe["negative_image"], probe["caption"], changed, *rest))',
        ),
    ]
}
