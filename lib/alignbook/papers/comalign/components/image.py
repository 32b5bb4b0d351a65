"""A picture's components: boxes of things are its entities, boxes of two things its relations.

ComAlign's §III-B: a detector's boxes are the entities; of every pair of boxes the smallest box
around both is a relation, as sure as the product of the two confidences. The boxes may be the
world's gold, COCO's annotations, a file of detections, a detector run or a plain grid: all come
as `Boxes`, which refer to the pictures as they were prepared.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from alignbook.datasets import coco, regions
from alignbook.datasets.files import check_regular, load_json
from alignbook.datasets.prepared import FORMATS, Dataset
from alignbook.errors import DataError

FORMED = 10  # pairs formed for each that is kept, as several may make the same box


class Boxes(NamedTuple):
    """Boxes of N pictures, R in all: those of picture i are rows ``offsets[i]:offsets[i + 1]``.

    ``boxes (R, 4) float32`` x0, y0, x1, y1 as fractions of the picture's side; ``scores (R,)
    float32`` in (0, 1], falling within a picture; ``offsets (N + 1,) int64``.
    """

    boxes: np.ndarray
    scores: np.ndarray
    offsets: np.ndarray


class Components(NamedTuple):
    """Entities and relations of N pictures, and what was left out on the way.

    ``counts``: pictures, those with no box and with one (which has no pair), boxes and pairs
    that are not kept (a pair's box may be another's), and the pictures these were cut from.
    """

    entities: Boxes
    relations: Boxes
    counts: dict[str, int]


def pack(rows: np.ndarray, boxes: np.ndarray, scores: np.ndarray, n: int) -> Boxes:
    """Boxes in any order, each with its picture's number, ordered by picture and falling score.

    Equal scores keep their order. ``rows (R,) int``, ``boxes (R, 4)``, ``scores (R,)``; `n`
    pictures, of which some may have no box.

    >>> pack(np.array([1, 0, 1]), np.eye(3, 4), np.array([0.5, 1, 0.75]), 3).offsets.tolist()
    [0, 1, 3, 3]
    """
    scores = np.asarray(scores, np.float32)
    order = np.lexsort((-scores, rows))
    offsets = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))])
    return Boxes(np.asarray(boxes, np.float32)[order], scores[order], offsets)


def gold(dataset: Dataset) -> Boxes:
    """The world's own boxes, each with score 1.

    Raises
    ------
    DataError
        Photographs, which have none.
    """
    table = dataset.objects
    if table is None:
        raise DataError(
            f"{dataset.folder}: {dataset.name} has no gold boxes, expected the world: "
            "take instances, detections or a detector run"
        )
    boxes = table[["x0", "y0", "x1", "y1"]].to_numpy() / dataset.images.shape[1]
    return pack(table.image.to_numpy(), boxes, np.ones(len(table)), len(dataset.images))


def instances(dataset: Dataset, paths: list[Path], photographs: Path | None = None) -> Boxes:
    """Boxes of COCO's instances files, each with score 1; those of crowds are left out [A].

    Parameters
    ----------
    dataset : Dataset
        Photographs as they were prepared: squashed or cropped, as its meta says.
    paths : list of Path
        As many files as hold all its pictures: COCO has one of train and one of val. Other
        pictures of theirs are passed over.
    photographs : Path, optional
        The folder the data set's names are below, for sizes that the files don't state.

    Raises
    ------
    DataError
        A picture that no file lists, without a size, or with a box that is not within it.
    """
    import pandas

    stated, tables = {}, []
    for path in paths:
        tables.append(coco.read_instances(path))
        for index, each in enumerate(load_json(path, dict, coco.REMEDY)["images"]):
            stated[each["file_name"]] = f"{path}, image {index}", each
    table = pandas.concat(tables, ignore_index=True)
    table = table[table.iscrowd == 0].assign(score=1.0)
    return _placed(dataset, ", ".join(map(str, paths)), stated, table, photographs)


def detections(dataset: Dataset, path: Path, photographs: Path | None = None) -> Boxes:
    """Boxes and scores of a detector's JSON, see `regions.read_detections`.

    Scores are in (0, 1]. An item may state its photograph's ``width`` and ``height``; otherwise
    they are looked up in the folder `photographs`. A picture without boxes is listed with empty
    lists. Raises as `instances`.
    """
    table = regions.read_detections(path)
    items = load_json(path, list, "write the file again")
    stated = {each["image"]: (f"{path}, item {i}", each) for i, each in enumerate(items)}
    return _placed(dataset, str(path), stated, table, photographs)


def grid(n: int, sides: tuple[int, ...] = (3,)) -> Boxes:
    """The windows of a grid on every one of `n` pictures: components without a detector [A].

    A window scores 1 − d, d from its middle to the picture's in parts of the side, so that the
    pairs kept are those of the middle with its neighbours: photographs show things there. One
    grid of 3 × 3 by default: nine windows are within ComAlign's ten, and a window as large as
    the picture would make the picture of every pair it is in.

    >>> grid(1, (2,)).boxes[1].tolist()
    [0.5, 0.0, 1.0, 0.5]
    """
    corners = [(x, y, g) for g in sides for y in range(g) for x in range(g)]
    x, y, g = np.array(corners, float).T
    boxes = np.stack([x, y, x + 1, y + 1], axis=1) / g[:, None]
    away = np.hypot(*((boxes[:, :2] + boxes[:, 2:]) / 2 - 0.5).T)
    rows = np.repeat(np.arange(n), len(boxes))
    return pack(rows, np.tile(boxes, (n, 1)), np.tile(1 - away, n), n)


def found(run) -> Boxes:
    """What a run of `detector` found."""
    return Boxes(*(np.asarray(run.array(name)) for name in Boxes._fields))


def components(things: Boxes, entities: int = 10, relations: int = 10) -> Components:
    """The best `entities` boxes of each picture and the best `relations` pairs of its boxes.

    Pairs are formed of all boxes found, not only of the entities kept: ComAlign takes "all
    possible pairs of object-bounding boxes identified in the previous step".
    """
    number = np.diff(things.offsets)
    paired = enclosing(things, relations)
    beyond = np.maximum(number - entities, 0)
    unpaired = number * (number - 1) // 2 - np.diff(paired.offsets)
    counts = {
        "pictures": len(number),
        "no box": int((number == 0).sum()),
        "one box": int((number == 1).sum()),
        "boxes cut": int(beyond.sum()),
        "pictures with boxes cut": int((beyond > 0).sum()),
        "pairs cut": int(unpaired.sum()),
        "pictures with pairs cut": int((unpaired > 0).sum()),
    }
    return Components(top(things, entities), paired, counts)


def top(things: Boxes, most: int) -> Boxes:
    """The first `most` boxes of each picture."""
    number = np.diff(things.offsets)
    rank = np.arange(len(things.scores)) - np.repeat(things.offsets[:-1], number)
    offsets = np.concatenate([[0], np.cumsum(np.minimum(number, most))])
    return Boxes(things.boxes[rank < most], things.scores[rank < most], offsets)


def enclosing(things: Boxes, most: int) -> Boxes:
    """Smallest boxes around two: the `most` best of a picture's pairs of boxes, each box once.

    Boxes that lie in one another, and a grid's, make the same box of several pairs: the best of
    these is kept [A]. They are looked for among the `FORMED` · `most` best pairs.

    A pair scores the product of its boxes' scores; among equal ones the pair with the earlier
    better box comes first, then the one with the earlier other box. As scores fall, the pair
    (i, j), i < j, counted from 0, is no better than any (a, b) with a ≤ i and b ≤ j. These are
    (i + 1) j − i (i + 1) / 2 with itself: where they are more than are looked among, it is not
    among the best and need not be formed.
    """
    formed = FORMED * most
    i, j = np.triu_indices(formed + 1, 1)
    near = (i + 1) * j - i * (i + 1) // 2 <= formed
    rows, pair = np.nonzero(j[near] < np.diff(things.offsets)[:, None])
    first, second = things.offsets[rows] + i[near][pair], things.offsets[rows] + j[near][pair]
    low = np.minimum(things.boxes[first, :2], things.boxes[second, :2])
    high = np.maximum(things.boxes[first, 2:], things.boxes[second, 2:])
    scores = things.scores[first] * things.scores[second]
    n = len(things.offsets) - 1
    best = top(pack(rows, np.concatenate([low, high], axis=1), scores, n), formed)
    rows = np.repeat(np.arange(n), np.diff(best.offsets))
    _, first = np.unique(np.column_stack([rows, best.boxes]), axis=0, return_index=True)
    first.sort()
    return top(pack(rows[first], best.boxes[first], best.scores[first], n), most)


def intersection_over_union(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The overlap of every box of `a` ``(A, 4)`` with every box of `b` ``(B, 4)``: ``(A, B)``."""
    low = np.maximum(a[:, None, :2], b[None, :, :2])
    high = np.minimum(a[:, None, 2:], b[None, :, 2:])
    both = np.maximum(high - low, 0).prod(-1)
    area_a, area_b = ((x[:, 2:] - x[:, :2]).prod(-1) for x in (a, b))
    return both / (area_a[:, None] + area_b - both)


def detection_quality(things: Boxes, truth: Boxes, rows: np.ndarray) -> tuple[float, float]:
    """Average precision and recall at IoU 0.5 on some pictures, both in [0, 1].

    As in COCO, boxes are taken by falling score, and each is right if it overlaps a gold box that
    is not taken yet, then taking the one it overlaps most. Average precision is the area under the
    precision, made falling, over the recall; boxes that were not stored count as not found.
    """
    right, scores, total = [], [], 0
    for row in rows:
        mine = slice(things.offsets[row], things.offsets[row + 1])
        own = truth.boxes[truth.offsets[row] : truth.offsets[row + 1]]
        overlap = intersection_over_union(things.boxes[mine], own)
        total += len(own)
        for each in overlap:
            hit = len(own) > 0 and each.max() >= 0.5
            if hit:
                overlap[:, each.argmax()] = -1
            right.append(hit)
        scores.append(things.scores[mine])
    order = np.argsort(-np.concatenate(scores), kind="stable")
    hits = np.cumsum(np.array(right, bool)[order])
    precision = np.maximum.accumulate((hits / np.arange(1, len(hits) + 1))[::-1])[::-1]
    gained = np.diff(hits, prepend=0) / total
    return float((precision * gained).sum()), float(gained.sum())


def _placed(dataset: Dataset, source: str, stated: dict, table, photographs) -> Boxes:
    """Pixel boxes of photographs as boxes of the prepared pictures.

    ``stated``: by a photograph's name in the file, its place there and its entry, which may hold
    width and height; ``table``: image, object, x0, y0, x1, y1 in pixels, score.
    """
    row_of, sizes = {}, np.empty((len(dataset.names), 2))
    for row, name in enumerate(dataset.names):
        key = name if name in stated else name.rpartition("/")[2]
        if key not in stated:
            raise DataError(
                f"{source}: nothing of {name}, image {row} of {dataset.name}, expected every image "
                "of the data set, those without boxes too: add it"
            )
        if row_of.setdefault(key, row) != row:
            raise DataError(
                f"{stated[key][0]}: {key} is both {dataset.names[row_of[key]]} and "
                f"{name}, expected one of them: name it with its folder"
            )
        sizes[row] = _size(name, *stated[key], photographs)
    table = table[table.image.isin(row_of)]
    rows = table.image.map(row_of).to_numpy(int)
    boxes, extent = table[["x0", "y0", "x1", "y1"]].to_numpy(float), sizes[rows]
    scores = table.score.to_numpy(np.float32)
    inside = (boxes[:, :2] > -1).all(1) & (boxes[:, 2:] < extent + 1).all(1)  # a pixel's rounding
    inside &= (boxes[:, :2] < extent).all(1) & (boxes[:, 2:] > 0).all(1)
    fair = (scores > 0) & (scores <= 1)
    if not (good := inside & fair).all():
        k = int((~good).argmax())
        image, (width, height) = table.image.iloc[k], extent[k]
        what, wanted = f"score {scores[k]:g}", "one above 0 and up to 1: correct it"
        if not inside[k]:
            what = f"box {boxes[k].tolist()}"
            wanted = (
                f"one inside its {width:g} × {height:g} pixels: take the boxes of these "
                "photographs at this size"
            )
        raise DataError(
            f"{stated[image][0]}, object {table.object.iloc[k]} of {image}: {what}, "
            f"expected {wanted}"
        )
    shown = _as_prepared(boxes, extent, dataset)
    seen = (shown[:, :2] < shown[:, 2:]).all(1)
    return pack(rows[seen], shown[seen], scores[seen], len(dataset.names))


def _as_prepared(boxes: np.ndarray, extent: np.ndarray, dataset: Dataset) -> np.ndarray:
    """Pixels of photographs of ``extent (R, 2)`` → fractions of the squares `prepared.decode` made.

    Cut off at its border; a box that a crop left nothing of ends where it begins.
    """
    if dataset.meta.get("fit") == "crop":
        side = dataset.images.shape[1]
        resized = np.floor(side * extent / extent.min(1, keepdims=True))
        start, scale = np.round((resized - side) / 2) / side, resized / extent / side
    else:
        start, scale = np.zeros_like(extent), 1 / extent
    shown = boxes * np.tile(scale, 2) - np.tile(start, 2)
    return np.clip(shown, 0, 1).astype(np.float32)


def _size(name: str, place: str, entry: dict, photographs: Path | None) -> tuple[float, float]:
    """Width and height of a photograph: as its entry states them, otherwise its own."""
    if "width" in entry and "height" in entry:
        try:
            width, height = float(entry["width"]), float(entry["height"])
        except (TypeError, ValueError):
            width = height = np.nan
        if not (0 < width < np.inf and 0 < height < np.inf):
            raise DataError(
                f"{place}: width {entry['width']!r} and height {entry['height']!r} of "
                f"{name}, expected pixels: correct them"
            )
        return width, height
    from PIL import Image

    try:
        photograph = (photographs or Path()) / name
        check_regular(photograph)
        with Image.open(photograph, formats=FORMATS) as picture:
            return picture.size
    except OSError as error:
        raise DataError(
            f"{place}: no width and height of {name}, and no photograph to look it up ({error}): "
            "state them, or name the folder of photographs"
        ) from None
