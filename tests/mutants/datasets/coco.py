"""Wrong versions of `alignbook.datasets.coco`."""

MUTANTS = {
    "test_coco.py": [
        (
            "boxes x, y, width, height taken for corners",
            "zip((x + width, y + height), limits",
            "zip((width, height), limits",
        ),
        ("boxes rounded, not held", "np.ceil(round(high, 2))", "np.floor(round(high, 2))"),
        (
            "test begins within dev",
            'listed["val"][half : 2 * half]',
            'listed["val"][half - 1 : 2 * half - 1]',
        ),
    ]
}
