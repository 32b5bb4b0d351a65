"""Wrong versions of `alignbook.backbones.crops`."""

MUTANTS = {
    "test_crops.py": [
        ("crops: of the first of two", "boxes[:, :, 2:].max(1)", "boxes[:, 0, 2:]"),
        ("crops: what is said of the other is false", "fits.all(-1).any(1)", "fits.all(-1)[:, 0]"),
        ("crops: the larger object is in front", "np.argsort(-area", "np.argsort(area"),
        ("crops: relations are true of all", "= -1  # true where", "= 0  # true where"),
    ],
    "test_components_image.py": [
        ("sides of a crop exchanged", "images.shape[2:0:-1]", "images.shape[1:3]"),
        (
            "corners of a crop exchanged",
            "np.hstack([low, high])",
            "np.hstack([low[:, ::-1], high[:, ::-1]])",
        ),
        ("the picture before", "if row != last:", "if last is None:"),
        ("no antialiasing", "Image.Resampling.BILINEAR", "Image.Resampling.NEAREST"),
        (
            "a pixel's width is not kept",
            "np.maximum(high, low + 1)",
            "np.maximum(high, low + 0.01)",
        ),
    ],
}
