"""Wrong versions of `alignbook.backbones.locked`."""

MUTANTS = {
    "test_packaged.py": [
        ("trivial: both ways added", "return math.log(size)", "return 2 * math.log(size)"),
        (
            "captions of the first images",
            "return rows[images], rows[images] * each + captions % each",
            "return rows[images], images * each + captions % each",
        ),
        (
            "the first caption alone",
            "return rows[images], rows[images] * each + captions % each",
            "return rows[images], rows[images] * each",
        ),
        (
            "a box's cells column by column",
            "shares = (down[..., :, None] * across[..., None, :]).flatten(-2)",
            "shares = (across[..., :, None] * down[..., None, :]).flatten(-2)",
        ),
        (
            "every cell that a box touches counts whole",
            "return shares / shares.sum(-1, keepdim=True).clamp(min=1e-9)",
            "shares = (shares > 0).to(shares) / 1\n"
            "    return shares / shares.sum(-1, keepdim=True).clamp(min=1e-9)",
        ),
        (
            "marks are parts of a word",
            "inner[:, 0] = False  # without the two marks",
            "inner[:, 0] = True",
        ),
        ("the unknown word is zero", "found[1] = found[2:].mean(0)", "found[1] = 0"),
    ]
}
