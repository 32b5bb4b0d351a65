"""Wrong versions of `alignbook.datasets.gold`."""

MUTANTS = {
    "test_transfer.py": [
        (
            "gold: negatives one further",
            "other_names[probes.negative_image]",
            "np.roll(other_names, 1)[probes.negative_image]",
        ),
        (
            "gold: pictures of the training split",
            'first = len(names) - len(named["test"])',
            "first = 0",
        ),
    ]
}
