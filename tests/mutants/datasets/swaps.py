"""Wrong versions of `alignbook.datasets.swaps`."""

MUTANTS = {
    "test_transfer.py": [
        (
            "gold: whole pictures",
            "_open(dataset, list(table.image), boxes)",
            "_open(dataset, list(table.image))",
        )
    ]
}
