"""Wrong versions of `alignbook.datasets.precomp`."""

MUTANTS = {
    "test_precomp.py": [
        (
            "the last images are not looked at",
            "starts = range(0, images, some)",
            "starts = range(0, images // 2, some)",
        ),
        ("repeated images are not compared", "(block != block[0])", "(block != block)"),
        ("names of repeated images are the first rows'", "lines[::step]", "lines[:n]"),
    ]
}
