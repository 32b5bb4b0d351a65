"""Wrong versions of `alignbook.backbones.region_features`."""

MUTANTS = {
    "test_base.py": [
        ("maximum always", "if maximum:", "if True:"),
        (
            "minimum",
            "F.adaptive_max_pool2d(region_map, g)",
            "-F.adaptive_max_pool2d(-region_map, g)",
        ),
        (
            "windows column by column",
            "for y0, y1 in edges for x0, x1 in edges",
            "for x0, x1 in edges for y0, y1 in edges",
        ),
        ("windows: all are pooled", "[:, :, first].transpose", ".transpose"),
        ("windows do not share cells", "-(-(i + 1) * side // g)", "((i + 1) * side // g)"),
        (
            "salient is what is like the mean",
            "regions - regions.mean(1, keepdim=True)",
            "regions.mean(1, keepdim=True)",
        ),
    ]
}
