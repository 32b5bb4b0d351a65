"""Wrong versions of `alignbook.papers.comalign.components.image`."""

MUTANTS = {
    "test_components_image.py": [
        # Packing.
        ("boxes by rising score", "np.lexsort((-scores, rows))", "np.lexsort((scores, rows))"),
        (
            "ties in reverse",
            "order = np.lexsort((-scores, rows))",
            "order = len(rows) - 1 - np.lexsort((-scores[::-1], rows[::-1]))",
        ),
        (
            "pictures at the end without boxes",
            "np.bincount(rows, minlength=n)",
            "np.bincount(rows)",
        ),
        # Pairs.
        (
            "the box that both share",
            "np.minimum(things.boxes[first, :2], things.boxes[second, :2])",
            "np.maximum(things.boxes[first, :2], things.boxes[second, :2])",
        ),
        (
            "the first box's far corner",
            "np.maximum(things.boxes[first, 2:], things.boxes[second, 2:])",
            "things.boxes[first, 2:]",
        ),
        (
            "confidences added",
            "things.scores[first] * things.scores[second]",
            "(things.scores[first] + things.scores[second]) / 2",
        ),
        ("a box with itself", "np.triu_indices(formed + 1, 1)", "np.triu_indices(formed + 1, 0)"),
        ("a pair too few is formed", "i * (i + 1) // 2 <= formed", "i * (i + 1) // 2 < formed"),
        (
            "pairs with the surest box alone",
            "near = (i + 1) * j - i * (i + 1) // 2 <= formed",
            "near = i == 0",
        ),
        (
            "pairs of the next picture's boxes",
            "j[near] < np.diff(things.offsets)[:, None]",
            "j[near] <= np.diff(things.offsets)[:, None]",
        ),
        (
            "pairs of the entities kept",
            "enclosing(things, relations)",
            "enclosing(top(things, entities), relations)",
        ),
        (
            "all pairs formed are kept",
            "best.scores[first], n), most)",
            "best.scores[first], n), most + 1)",
        ),
        ("a box of two pairs twice", "first.sort()", "first = np.arange(len(rows))"),
        ("the worst of equal boxes", "first.sort()", "first = len(rows) - 1 - first"),
        ("as many pairs as are kept", "formed = FORMED * most", "formed = most"),
        (
            "one entity more",
            "things.boxes[rank < most], things.scores[rank < most]",
            "things.boxes[rank <= most], things.scores[rank <= most]",
        ),
        ("one box counts as none", "int((number == 0).sum())", "int((number <= 1).sum())"),
        ("pairs counted twice", "number * (number - 1) // 2", "number * (number - 1)"),
        # Where photographs' boxes are in the prepared picture.
        (
            "squashed by one side",
            "np.zeros_like(extent), 1 / extent",
            "np.zeros_like(extent), 1 / extent[:, [0, 0]]",
        ),
        ("crops taken as squashed", 'dataset.meta.get("fit") == "crop"', "False"),
        (
            "cropped from the corner",
            "np.round((resized - side) / 2) / side",
            "np.zeros_like(resized)",
        ),
        ("the longer side fits", "extent.min(1, keepdims=True)", "extent.max(1, keepdims=True)"),
        ("the resized side is not whole", "np.floor(side * extent / ", "(side * extent / "),
        ("nothing is cut off", "np.clip(shown, 0, 1)", "shown"),
        (
            "what is cut away stays",
            "seen = (shown[:, :2] < shown[:, 2:]).all(1)",
            "seen = np.full(len(shown), True)",
        ),
        (
            "boxes may leave the photograph",
            "(boxes[:, :2] > -1).all(1) & (boxes[:, 2:] < extent + 1)",
            "(boxes[:, :2] > -9).all(1) & (boxes[:, 2:] < extent + 9)",
        ),
        ("not a pixel's rounding", "(boxes[:, :2] > -1).all(1)", "(boxes[:, :2] >= 0).all(1)"),
        ("a score of 0 is one", "(scores > 0) &", "(scores >= 0) &"),
        ("percent are scores", "(scores <= 1)", "(scores <= 100)"),
        ("the world's boxes in pixels of 224", "/ dataset.images.shape[1]\n", "/ 224\n"),
        ("a crowd is a thing", "table = table[table.iscrowd == 0].assign", "table = table.assign"),
        (
            "one instances file is enough",
            "in enumerate(load_json(path, dict, coco.REMEDY)",
            "in enumerate(load_json(paths[0], dict, coco.REMEDY)",
        ),
        ("names only with their folder", 'else name.rpartition("/")[2]\n', "else name\n"),
        # The grid, crops and quality.
        ("all windows alike", "np.tile(1 - away, n)", "np.ones(len(rows))"),
        (
            "windows column by column",
            "for y in range(g) for x in range(g)",
            "for x in range(g) for y in range(g)",
        ),
        (
            "overlap over the first box",
            "area_a[:, None] + area_b - both",
            "area_a[:, None] + 0 * both",
        ),
        ("a thing found twice", "overlap[:, each.argmax()] = -1", "pass"),
        ("any overlap is right", "each.max() >= 0.5", "each.max() > 0"),
        (
            "precision as it falls",
            "np.maximum.accumulate((hits / np.arange(1, len(hits) + 1))[::-1])[::-1]",
            "hits / np.arange(1, len(hits) + 1)",
        ),
        (
            "recall of the boxes",
            "np.diff(hits, prepend=0) / total",
            "np.diff(hits, prepend=0) / len(hits)",
        ),
    ]
}
