"""Wrong versions of `alignbook.datasets.noise_index`."""

MUTANTS = {
    "test_noise_index.py": [
        (
            "noise per image laid out as blocks",
            "np.repeat(index, captions // len(index))",
            "np.tile(index, captions // len(index))",
        ),
        (
            "noise drawn with replacement",
            "index[random.permutation(chosen)]",
            "index[random.choice(chosen, len(chosen))]",
        ),
    ]
}
