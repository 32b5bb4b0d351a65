"""Wrong versions of a picture's components and of the detector; every one must fail its tests."""

TESTS = "test_components_image.py"


def _of(file, *changes):
    return [(name, file, snippet, wrong, TESTS) for name, snippet, wrong in changes]


MUTANTS = [
    *_of(
        "papers/comalign/components/image.py",
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
        ("a box with itself", "np.triu_indices(most + 1, 1)", "np.triu_indices(most + 1, 0)"),
        ("a pair too few is formed", "i * (i + 1) // 2 <= most", "i * (i + 1) // 2 < most"),
        (
            "pairs with the surest box alone",
            "near = (i + 1) * j - i * (i + 1) // 2 <= most",
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
            "len(things.offsets) - 1), most)",
            "len(things.offsets) - 1), most + 1)",
        ),
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
    ),
    *_of(
        "papers/comalign/components/detector.py",
        ("pictures mirrored without their boxes", "2 - x0 - x1, x0 + x1)", "x0 + x1, x0 + x1)"),
        ("boxes mirrored without pictures", "pictures[mirrored, :, ::-1]", "pictures[mirrored]"),
        ("mirrored upside down", "pictures[mirrored, :, ::-1]", "pictures[mirrored, ::-1]"),
        ("corners for extents", "(y0 + y1) / 2, x1 - x0, y1 - y0]", "(y0 + y1) / 2, x1, y1]"),
        ("axes of a picture exchanged", ".permute(0, 3, 1, 2)", ".permute(0, 3, 2, 1)"),
        ("the first class alone", "classes.amax(2)", "classes[..., 0]"),
        ("corners without their middle", "middle - extent / 2, middle", "middle, middle"),
        ("doubtful boxes are kept", "(sure > config.confidence) &", "(sure > 0) &"),
        ("boxes leave the picture", "corners = corners.clamp(0, config.size)", "pass"),
        ("doubles are kept", "nms(corners, sure, config.overlap)", "sure.argsort(descending=True)"),
        ("more boxes than asked for", "[: config.boxes]", "[: config.boxes + 1]"),
        (
            "batches begin at 0",
            "zip(*_decoded(model, pixels)), start)",
            "zip(*_decoded(model, pixels)), 0)",
        ),
        ("the seed is not used", "torch.manual_seed(seed)", "pass"),
        (
            "quality on the training pictures",
            "dataset.splits[split])\n",
            'dataset.splits["train"])\n',
        ),
        ("its Image.open stays", "Image.open, torch.save = opened, saved", "pass"),
        ("settings stay", "shutil.rmtree(place, ignore_errors=True)", "pass"),
        ("a run's detector is made anew", "model.load_state_dict(run.weights())", "pass"),
        (
            "any pickle is opened",
            '"ULTRALYTICS_SAFE_LOAD": "true"',
            '"ULTRALYTICS_SAFE_LOAD": "false"',
        ),
        ("segmenters detect", 'model.task != "detect" or not', "not"),
        ("weights known by their name", "contents.sha256([self.path])[0][:16]", "self.path.suffix"),
    ),
    *_of(
        "backbones/crops.py",
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
    ),
]
