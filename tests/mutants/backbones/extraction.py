"""Wrong versions of `alignbook.backbones.extraction`."""

MUTANTS = {
    "test_packaged.py": [
        ("the least salient first", "descending=True, stable=True", "stable=True"),
        (
            "regions in the order of salience taken for places",
            "return np.take_along_axis(regions, order.argsort(1)[..., None], axis=1)",
            "return regions",
        ),
        (
            "captions' words in the order of their length",
            "firsts = ends[numbers] - own.numpy()",
            "firsts = ends[: len(numbers)] - own.numpy()",
        ),
        (
            "captions that fit count as cut",
            "int((uncut > lengths).sum())",
            "int((uncut >= lengths).sum())",
        ),
    ]
}
