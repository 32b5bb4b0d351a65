"""A picture's components: pairs by hand and by a loop, boxes where the picture shows things."""

import dataclasses
import json
import os
import subprocess
import sys
from copy import deepcopy
from pathlib import Path

import alignbook
import numpy as np
import pandas
import pytest
import torch
from alignbook.backbones import crops
from alignbook.core import training
from alignbook.datasets import by_name, coco
from alignbook.errors import DataError
from alignbook.papers.comalign.components import detector, image
from alignbook.papers.comalign.components.image import Boxes
from alignbook.store import progress
from alignbook.store.runs import Run
from alignbook.workbook import profiles
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageDraw

SMALL = profiles.get(
    "smoke", overrides={"train_images": "40", "dev_images": "8", "test_images": "6"}
)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return by_name.prepare("world", SMALL, tmp_path_factory.mktemp("data"))


def listed(things: Boxes) -> list[list[tuple]]:
    """Boxes and scores of every picture as plain lists."""
    cut = things.offsets[1:-1]
    return [
        [(*map(float, box), float(score)) for box, score in zip(boxes, scores, strict=True)]
        for boxes, scores in zip(
            np.split(things.boxes, cut), np.split(things.scores, cut), strict=True
        )
    ]


def test_pairs_by_hand():
    """Three boxes: B the surest, A beside it, C within both their heights."""
    a, b, c = [0, 0, 0.25, 0.5], [0.5, 0.25, 0.75, 1], [0.25, 0.75, 0.5, 1]
    things = image.pack(np.zeros(3, int), np.array([a, b, c]), np.array([0.5, 0.75, 0.25]), 1)
    assert listed(things) == [[(*b, 0.75), (*a, 0.5), (*c, 0.25)]]
    kept = image.components(things, entities=2, relations=2)
    assert listed(kept.entities) == [[(*b, 0.75), (*a, 0.5)]]
    assert listed(kept.relations) == [[(0, 0, 0.75, 1, 0.375), (0.25, 0.25, 0.75, 1, 0.1875)]]
    assert kept.counts == {
        "pictures": 1,
        "no box": 0,
        "one box": 0,
        "boxes cut": 1,
        "pictures with boxes cut": 1,
        "pairs cut": 1,
        "pictures with pairs cut": 1,
    }


def drawn(seed, numbers, levels):
    """Random boxes of pictures with these numbers of boxes; few levels of score give many ties."""
    rng = np.random.default_rng(seed)
    total = sum(numbers)
    corners = np.sort(rng.integers(0, 65, (total, 2, 2)), axis=1) / 64
    corners[:, 1] += 1 / 64
    rows = rng.permutation(np.repeat(np.arange(len(numbers)), numbers))
    scores = rng.integers(1, levels + 1, total) / levels
    return rows, corners.reshape(-1, 4), scores.astype(np.float32)


def slow(rows, boxes, scores, n, entities, relations):
    """Entities and relations of every picture, written straight from the paper's words."""
    kept = []
    for row in range(n):
        mine = [(tuple(map(float, boxes[k])), scores[k]) for k in np.flatnonzero(rows == row)]
        mine.sort(key=lambda each: -each[1])
        pairs = []
        for i in range(len(mine)):
            for j in range(i + 1, len(mine)):
                (p, s), (q, t) = mine[i], mine[j]
                around = min(p[0], q[0]), min(p[1], q[1]), max(p[2], q[2]), max(p[3], q[3])
                pairs.append((*around, float(s * t)))
        pairs.sort(key=lambda each: -each[-1])
        once = []
        for each in pairs[: 10 * relations]:
            if each[:4] not in [other[:4] for other in once]:
                once.append(each)
        kept.append(([(*p, float(s)) for p, s in mine[:entities]], once[:relations]))
    return kept


@settings(deadline=None, max_examples=60)
@given(
    st.integers(0, 2**32),
    st.lists(st.integers(0, 13), min_size=1, max_size=6),
    st.sampled_from([1, 3, 1000]),
    st.integers(1, 12),
    st.integers(1, 12),
)
def test_vectorised_is_the_loop(seed, numbers, levels, entities, relations):
    rows, boxes, scores = drawn(seed, numbers, levels)
    n = len(numbers)
    found = image.components(image.pack(rows, boxes, scores, n), entities, relations)
    expected = slow(rows, boxes, scores, n, entities, relations)
    assert listed(found.entities) == [mine for mine, _ in expected]
    assert listed(found.relations) == [pairs for _, pairs in expected]
    cut = [k * (k - 1) // 2 - len(p) for k, (_, p) in zip(numbers, expected, strict=True)]
    assert found.counts == {
        "pictures": n,
        "no box": numbers.count(0),
        "one box": numbers.count(1),
        "boxes cut": sum(max(k - entities, 0) for k in numbers),
        "pictures with boxes cut": sum(k > entities for k in numbers),
        "pairs cut": sum(cut),
        "pictures with pairs cut": sum(k > 0 for k in cut),
    }


def test_a_box_around_two_comes_once():
    """What lies within another box makes a box with it that is the other's own."""
    outer, one, two = [0, 0, 1, 1], [0, 0, 0.5, 0.5], [0.5, 0.5, 1, 0.75]
    things = image.pack(np.zeros(3, int), np.array([outer, one, two]), np.array([1, 0.5, 0.25]), 1)
    found = image.components(things)
    assert listed(found.relations) == [[(0, 0, 1, 1, 0.5), (0, 0, 1, 0.75, 0.125)]]
    assert found.counts["pairs cut"] == found.counts["pictures with pairs cut"] == 1
    within = [[0, 0, 0.5, 1], *([0, 0, 0.25, k / 20] for k in range(1, 20)), [0.5, 0, 1, 1]]
    things = image.pack(np.zeros(21, int), np.array(within), np.array([1, *[0.5] * 20]), 1)
    assert listed(image.components(things, relations=2).relations) == [
        [(0, 0, 0.5, 1, 0.5), (0, 0, 1, 1, 0.5)]
    ]  # of the twentieth pair, the last of those formed
    (grid,) = listed(image.components(image.grid(1)).relations)
    assert len({each[:4] for each in grid}) == len(grid) == 10


def test_pairs_are_of_all_boxes_found():
    """With one entity kept there still is a pair of the second box and the third."""
    rows, boxes, scores = drawn(1, [3], 1)
    found = image.components(image.pack(rows, boxes, scores, 1), 1, 3)
    assert [len(each) for each in listed(found.entities) + listed(found.relations)] == [1, 3]


def test_pictures_without_a_box_and_with_one():
    things = image.pack(np.array([1]), np.array([[0, 0, 0.5, 1]]), np.array([0.5]), 3)
    found = image.components(things)
    assert listed(found.entities) == [[], [(0, 0, 0.5, 1, 0.5)], []]
    assert listed(found.relations) == [[], [], []]
    assert found.relations.boxes.shape == (0, 4) and found.relations.offsets.tolist() == [0] * 4
    assert (found.counts["no box"], found.counts["one box"]) == (2, 1)


def test_types_are_those_promised(home):
    found = image.components(image.gold(home))
    for things in (image.gold(home), image.grid(2), found.entities, found.relations):
        assert [each.dtype for each in things] == [np.float32, np.float32, np.int64]


def test_gold_is_the_worlds(home):
    things = image.gold(home)
    assert len(things.offsets) == len(home.images) + 1 and (things.scores == 1).all()
    for i, mine in enumerate(listed(things)):
        table = home.objects[home.objects.image == i]
        pixels = [[value * 64 for value in each[:4]] for each in mine]
        assert pixels == table[["x0", "y0", "x1", "y1"]].to_numpy().tolist()


def test_photographs_have_no_gold(home):
    with pytest.raises(DataError, match="no gold boxes, expected the world"):
        image.gold(dataclasses.replace(home, folder=home.folder / "gold"))


def test_instances_of_the_world_are_its_gold(home):
    """The same boxes by way of COCO's files: one source is as good as another."""
    named = dataclasses.replace(home, names=[f"{name}.png" for name in home.names])
    folder = home.folder / "gold/coco/annotations"
    paths = [folder / f"instances_{split}2017.json" for split in ("test", "train", "val")]
    for one, other in zip(image.instances(named, paths), image.gold(home), strict=True):
        assert np.array_equal(one, other)


def test_grid():
    """Nine windows, the middle first, then its neighbours, then the corners."""
    things = image.grid(2)
    first, second = listed(things)
    assert first == second and len(first) == 9
    third = 1 / 3
    assert np.allclose(first[0], [third, third, 2 * third, 2 * third, 1])
    assert np.allclose(
        [each[:2] for each in first[1:5]],
        [(third, 0), (0, third), (2 * third, third), (third, 2 * third)],
    )
    assert np.allclose([each[4] for each in first[1:5]], 1 - third)
    assert np.allclose(first[5], [0, 0, third, third, 1 - third * 2**0.5])
    middle = np.array([(x0 + x1, y0 + y1) for x0, y0, x1, y1, _ in first]) / 2
    assert np.allclose(
        sorted(map(tuple, middle.round(4))),
        [(x, y) for x in (1 / 6, 0.5, 5 / 6) for y in (1 / 6, 0.5, 5 / 6)],
        atol=1e-3,
    )
    relations = listed(image.components(things).relations)[0]
    areas = [(x1 - x0) * (y1 - y0) for x0, y0, x1, y1, _ in relations]
    assert np.allclose(areas[:8], [2 / 9] * 4 + [4 / 9] * 4)
    assert len(image.grid(1, (1, 2)).boxes) == 5


# Photographs: name, width, height, and a red thing in pixels. Names are below a folder, as COCO's.
PHOTOGRAPHS = {
    "train2017/wide.png": (120, 80, (80, 20, 96, 60)),
    "train2017/tall.png": (60, 150, (15, 60, 45, 75)),
    "val2017/square.png": (90, 90, (9, 18, 45, 81)),
    "val2017/odd.png": (133, 61, (50, 10, 70, 50)),
}


@dataclasses.dataclass(frozen=True)
class Settings:
    size: int = 40
    fit: str = "squash"
    train_images: int = 0
    dev_images: int = 0
    test_images: int = 0


@pytest.fixture
def folder(tmp_path):
    """COCO's folder with the photographs above and instances of the red things."""
    folder = tmp_path / "coco"
    names = {"train": ["wide.png", "tall.png"], "dev": ["square.png"], "test": ["odd.png"]}
    coco.write(folder, names, {name: list("vwxyz") for each in names.values() for name in each})
    val, test = (folder / f"annotations/captions_{split}2017.json" for split in ("val", "test"))
    merged = json.loads(val.read_bytes())
    for key, value in json.loads(test.read_bytes()).items():
        merged[key] += value
    val.write_text(json.dumps(merged))
    test.unlink()
    for path, (width, height, (x0, y0, x1, y1)) in PHOTOGRAPHS.items():
        (folder / path).parent.mkdir(exist_ok=True)
        picture = Image.new("RGB", (width, height))
        ImageDraw.Draw(picture).rectangle((x0, y0, x1 - 1, y1 - 1), fill=(255, 0, 0))
        picture.save(folder / path)
    for split in ("train2017", "val2017"):
        mine = {
            path.partition("/")[2]: each
            for path, each in PHOTOGRAPHS.items()
            if path.startswith(split)
        }
        table = pandas.DataFrame(
            [(name, *box, "thing") for name, (_, _, box) in mine.items()],
            columns="image x0 y0 x1 y1 category".split(),
        )
        sizes = {name: (width, height) for name, (width, height, _) in mine.items()}
        coco.write_instances(folder / f"annotations/instances_{split}.json", table, sizes)
    return folder


def prepared(folder, fit="squash", size=40):
    return by_name.prepare(f"coco={folder}", Settings(size, fit), folder.parent / "made")


def files(folder):
    return [folder / f"annotations/instances_{split}2017.json" for split in ("train", "val")]


def test_squashed_boxes_by_hand(folder):
    wide, tall, square, odd = listed(image.instances(prepared(folder), files(folder)))
    assert np.allclose(wide, [(80 / 120, 20 / 80, 96 / 120, 60 / 80, 1)])
    assert np.allclose(tall, [(15 / 60, 60 / 150, 45 / 60, 75 / 150, 1)])
    assert np.allclose(square, [(0.1, 0.2, 0.5, 0.9, 1)])
    assert np.allclose(odd, [(50 / 133, 10 / 61, 70 / 133, 50 / 61, 1)])


def test_cropped_boxes_by_hand(folder):
    """The middle 80 of 120 columns, the middle 60 of 150 rows."""
    wide, tall, square, odd = listed(image.instances(prepared(folder, "crop"), files(folder)))
    assert np.allclose(wide, [(60 / 80, 20 / 80, 76 / 80, 60 / 80, 1)])
    assert np.allclose(tall, [(15 / 60, 15 / 60, 45 / 60, 30 / 60, 1)])
    assert np.allclose(square, [(0.1, 0.2, 0.5, 0.9, 1)])
    # 133 columns become int(40 · 133 / 61) = 87, of which those from round(23.5) = 24 are kept
    low, high = (50 * 87 / 133 - 24) / 40, (70 * 87 / 133 - 24) / 40
    assert np.allclose(odd, [(low, 10 / 61, high, 50 / 61, 1)])


@pytest.mark.parametrize("fit", ["squash", "crop"])
def test_boxes_are_where_the_picture_shows_the_thing(folder, fit):
    made = prepared(folder, fit, 120)
    things = image.instances(made, files(folder))
    assert len(things.boxes) == 4
    for picture, (x0, y0, x1, y1) in zip(made.images, things.boxes * 120, strict=True):
        red = picture[..., 0] > 127
        seen = np.flatnonzero(red.any(0)), np.flatnonzero(red.any(1))
        edges = [seen[0][0], seen[1][0], seen[0][-1] + 1, seen[1][-1] + 1]
        assert np.abs(np.array([x0, y0, x1, y1]) - edges).max() < 1


def write_detections(folder, **changes):
    """Detections of all photographs: one of each; an item may be changed or left out (None)."""
    items = [
        {
            "image": path,
            "width": width,
            "height": height,
            "boxes": [list(box)],
            "labels": ["red"],
            "scores": [0.5],
        }
        for path, (width, height, box) in PHOTOGRAPHS.items()
    ]
    for stem, change in changes.items():
        (k,) = (k for k, each in enumerate(items) if stem in each["image"])
        items[k] = change and {
            key: value for key, value in (items[k] | change).items() if value is not None
        }
    path = folder / "found.json"
    path.write_text(json.dumps([each for each in items if each]))
    return path


def test_detections_are_sorted_and_mapped(folder):
    boxes = [[0, 0, 60, 80], [60, 0, 120, 80], [0, 40, 30, 80]]
    path = write_detections(
        folder, wide={"boxes": boxes, "labels": list("abc"), "scores": [0.25, 0.75, 0.25]}
    )
    wide, tall, *_ = listed(image.detections(prepared(folder), path))
    assert wide == [(0.5, 0, 1, 1, 0.75), (0, 0, 0.5, 1, 0.25), (0, 0.5, 0.25, 1, 0.25)]
    assert np.allclose(tall, [(0.25, 0.4, 0.75, 0.5, 0.5)])


def test_a_picture_without_detections_is_legal(folder):
    nothing = {"boxes": [], "labels": [], "scores": []}
    path = write_detections(folder, wide=nothing)
    assert np.diff(image.detections(prepared(folder), path).offsets).tolist() == [0, 1, 1, 1]
    path = write_detections(folder, wide=nothing, tall=nothing, square=nothing, odd=nothing)
    assert image.detections(prepared(folder), path).boxes.shape == (0, 4)


def test_detections_by_file_name_alone_and_of_more_photographs(folder):
    path = write_detections(folder, odd={"image": "odd.png"})
    items = json.loads(path.read_text())
    items.insert(0, {"image": "other.png", "boxes": [[5, 5, 9, 9]], "labels": ["x"], "scores": [1]})
    path.write_text(json.dumps(items))
    assert np.diff(image.detections(prepared(folder), path).offsets).tolist() == [1, 1, 1, 1]


def test_sizes_are_looked_up_in_the_photographs(folder):
    unsized = {"width": None, "height": None}
    path = write_detections(folder, wide=unsized, odd=unsized)
    expected = image.detections(prepared(folder), write_detections(folder))
    write_detections(folder, wide=unsized, odd=unsized)
    for one, other in zip(image.detections(prepared(folder), path, folder), expected, strict=True):
        assert np.array_equal(one, other)
    with pytest.raises(DataError, match="item 0: no width and height of train2017/wide"):
        image.detections(prepared(folder), path, folder / "annotations")


def test_what_a_crop_cuts_away_is_dropped(folder):
    """Columns 0–20 of 120 are gone; a box over the edge is cut, one beyond dropped."""
    boxes = [[0, 0, 20, 80], [10, 0, 40, 80], [100, 8, 119.5, 80]]
    path = write_detections(
        folder, wide={"boxes": boxes, "labels": list("abc"), "scores": [0.75, 0.5, 0.25]}
    )
    wide, *_ = listed(image.detections(prepared(folder, "crop"), path))
    assert wide == [(0, 0, 0.25, 1, 0.5)]
    wide, *_ = listed(image.detections(prepared(folder, "squash"), path))
    assert len(wide) == 3


def test_half_a_pixel_outside_is_cut_off(folder):
    path = write_detections(folder, wide={"boxes": [[-0.5, 40, 60, 80.5]]})
    wide, *_ = listed(image.detections(prepared(folder), path))
    assert wide == [(0, 0.5, 0.5, 1, 0.5)]


def test_crowds_are_left_out(folder):
    path = files(folder)[0]
    value = json.loads(path.read_bytes())
    value["annotations"][1]["iscrowd"] = 1
    path.write_text(json.dumps(value))
    numbers = np.diff(image.instances(prepared(folder), files(folder)).offsets)
    assert numbers.tolist() == [1, 0, 1, 1]


@pytest.mark.parametrize(
    "change, expected",
    [
        (
            {"tall": None},
            "found.json: nothing of train2017/tall.png, image 1 of coco, expected every",
        ),
        ({"tall": {"image": "val2017/tall.png"}}, "nothing of train2017/tall.png, image 1"),
        (
            {"tall": {"boxes": [[15, 60, 61.5, 75]]}},
            "found.json, item 1, object 0 of train2017/tall.png"
            ": box [15.0, 60.0, 61.5, 75.0], expected one inside its 60 × 150 pixels",
        ),
        ({"tall": {"boxes": [[-1.5, 60, 45, 75]]}}, "object 0 of train2017/tall.png: box [-1.5"),
        (
            {
                "odd": {
                    "boxes": [[0, 0, 9, 9], [0, 61.25, 9, 61.5]],
                    "labels": ["x"] * 2,
                    "scores": [1, 1],
                }
            },
            "item 3, object 1 of val2017/odd.png: box [0.0, 61.25",
        ),
        ({"odd": {"boxes": [[-0.5, 0, 0, 9]]}}, "item 3, object 0 of val2017/odd.png: box [-0.5"),
        ({"tall": {"scores": [0]}}, "tall.png: score 0, expected one above 0 and up to 1"),
        ({"tall": {"scores": [50]}}, "tall.png: score 50, expected one above 0 and up to 1"),
        ({"tall": {"boxes": [[9, 9, 9, 12]]}}, "item 1: box [9.0, 9.0, 9.0, 12.0]"),
        ({"tall": {"boxes": [[9, 9, float("nan"), 12]]}}, "item 1: box [9.0, 9.0, nan, 12.0]"),
        ({"tall": {"width": 0}}, "item 1: width 0 and height 150 of train2017/tall.png"),
        ({"tall": {"height": "high"}}, "item 1: width 60 and height 'high'"),
        ({"tall": {"height": float("inf")}}, "item 1: width 60 and height inf"),
        (
            {"tall": {"width": None}},
            "found.json, item 1: no width and height of train2017/tall.png",
        ),
    ],
)
def test_detections_that_cannot_be_used(folder, change, expected):
    path = write_detections(folder, **change)
    with pytest.raises(DataError) as caught:
        image.detections(prepared(folder), path)
    assert expected in str(caught.value) and "found.json" in str(caught.value)


def test_instances_of_half_the_pictures(folder):
    with pytest.raises(DataError) as caught:
        image.instances(prepared(folder), files(folder)[:1])
    assert "instances_train2017.json: nothing of val2017/square.png, image 2" in str(caught.value)


def test_one_name_for_two_pictures(folder):
    made = dataclasses.replace(prepared(folder), names=["a/odd.png", "b/odd.png"])
    with pytest.raises(DataError, match="odd.png is both a/odd.png and b/odd.png"):
        image.instances(made, files(folder))


def test_crops_are_the_resized_boxes(home):
    """Against cutting first: the same inside; at the border neighbours of the box reach in."""
    things = image.gold(home)
    rows = np.repeat(np.arange(len(home.images)), np.diff(things.offsets))
    order = np.random.default_rng(0).permutation(len(rows))[:40]
    shown = crops.crops(home.images, rows[order], things.boxes[order], 24)
    assert shown.shape == (40, 24, 24, 3) and shown.dtype == np.uint8
    for k, i in enumerate(order):
        whole = Image.fromarray(home.images[rows[i]])
        box = (things.boxes[i] * 64).round().astype(int).tolist()
        cut = np.asarray(whole.crop(box).resize((24, 24), Image.Resampling.BILINEAR), int)
        assert np.abs(shown[k] - cut)[3:-3, 3:-3].max() <= 1


def test_crops_of_a_picture_that_is_not_square():
    """Columns of numbers, rows of tens: what is where can be read off."""
    picture = (np.arange(6)[:, None] * 40 + np.arange(4) * 5)[None, :, :, None]
    pictures = np.broadcast_to(picture, (2, 6, 4, 3)).astype(np.uint8)
    boxes = np.array([[0.5, 0, 1, 1 / 3], [0.25, 0.5, 0.5, 2 / 3], [0, 0, 1, 1]])
    shown = crops.crops(pictures, np.array([0, 1, 1]), boxes, 2)[..., 0]
    assert shown[0].tolist() == [[10, 15], [50, 55]]
    assert shown[1].mean() == 3 * 40 + 5  # its neighbours reach in from all sides alike
    assert (np.diff(shown[2].astype(int), axis=0) > 60).all()


def test_crops_are_antialiased():
    """Stripes of one pixel become grey, not a choice of them."""
    picture = np.zeros((1, 64, 64, 3), np.uint8)
    picture[:, ::2] = 200
    shown = crops.crops(picture, np.array([0]), np.array([[0, 0, 1, 1]]), 8)
    assert np.abs(shown.astype(int) - 100).max() < 15


def test_a_crop_is_at_least_a_pixel():
    picture = np.zeros((1, 8, 8, 3), np.uint8)
    picture[0, :, 7], picture[0, 0, :7] = 90, 30
    boxes = np.array([[0.999, 0.5, 1, 0.75], [0, 0, 0.5, 0.001], [0.25, 0.5, 0.2501, 0.5001]])
    shown = crops.crops(picture, np.zeros(3, int), boxes, 4)
    assert (shown[0, :, 2:] == 90).all() and (shown[0] > 45).all()
    assert (shown[1, :2] == 30).all() and (shown[1, 3] < 25).all() and (shown[2] == 0).all()


def test_overlap_by_hand():
    a = np.array([[0, 0, 2, 2], [0, 0, 1, 1]])
    b = np.array([[1, 1, 3, 3], [0, 0, 2, 1], [5, 5, 6, 6]])
    assert np.allclose(image.intersection_over_union(a, b), [[1 / 7, 0.5, 0], [0, 0.5, 0]])


def test_average_precision_by_hand():
    """Right, wrong, right, and a second box on a thing that is taken: 1/3 · 1 + 1/3 · 2/3."""
    boxes = np.array([[0, 0, 1, 0.5], [0, 0.5, 1, 1], [0, 0, 1, 1]])
    truth = image.pack(np.array([0, 0, 2]), boxes, np.ones(3), 3)
    boxes = np.array([[0, 0, 1, 0.5], [0, 0, 0.25, 1], [0, 0.5, 1, 0.75], [0, 0, 1, 0.5]])
    scores = np.array([0.9, 0.8, 0.7, 0.6])
    things = image.pack(np.array([0, 0, 0, 0]), boxes, scores, 3)
    assert image.detection_quality(things, truth, np.arange(3)) == pytest.approx((5 / 9, 2 / 3))
    assert image.detection_quality(things, truth, np.array([2])) == (0, 0)
    assert image.detection_quality(truth, truth, np.arange(3)) == pytest.approx((1, 1))
    boxes = np.array([[0, 0, 1, 1], [0, 0, 1, 0.5], [0, 0.5, 1, 1]])  # wrong where nothing is:
    things = image.pack(np.array([1, 0, 0]), boxes, np.array([0.9, 0.8, 0.7]), 3)  # 0, 1/2, 2/3
    assert image.detection_quality(things, truth, np.array([0, 1])) == pytest.approx((2 / 3, 1))


@pytest.mark.realdata
def test_the_hundred_photographs(realdata, tmp_path):
    """COCO's boxes of its photographs, by squashing and by cropping, and what they make."""
    source = realdata / "coco"
    numbers = {}
    for fit in ("squash", "crop"):
        made = by_name.prepare(f"coco={source}", Settings(64, fit), tmp_path)
        things = image.instances(made, files(source))
        numbers[fit] = np.diff(things.offsets)
        assert len(numbers[fit]) == 100 and (things.boxes[:, :2] < things.boxes[:, 2:]).all()
        assert things.boxes.min() >= 0 and things.boxes.max() <= 1
        kept = image.components(things)
        assert np.diff(kept.relations.offsets).max() == 10
        rows = np.repeat(np.arange(100), np.diff(kept.relations.offsets))
        assert crops.crops(made.images, rows, kept.relations.boxes, 16).any()
    tables = [coco.read_instances(path) for path in files(source)]
    assert numbers["squash"].sum() == sum((table.iscrowd == 0).sum() for table in tables)
    assert (numbers["crop"] <= numbers["squash"]).all() and numbers["crop"].sum() > 400


# --- The detector --------------------------------------------------------------------------------

LEFT = sorted(
    [
        "boxes.npy",
        "dev.npy",
        "gradients.npy",
        "loss.npy",
        "offsets.npy",
        "rate.npy",
        "scores.npy",
        "weights.safetensors",
    ]
)
QUICK = detector.Config(images=40, epochs=1, batch=16, confidence=1e-4, boxes=5)


class Made:
    """A folder with what `detector.compute` left, as a run gives it."""

    def __init__(self, folder):
        self.folder = folder
        self.metrics = {}

    def array(self, name):
        return np.load(self.folder / f"{name}.npy", mmap_mode="r")


def computed(folder, home, config=QUICK, seed=0, source=None):
    folder.mkdir(exist_ok=True)
    made = Made(folder)
    made.metrics = detector.compute(config, (home, source), seed, folder, "cpu")
    return made


def same(one: Made, other: Made) -> bool:
    return all(np.array_equal(one.array(name), other.array(name)) for name in Boxes._fields)


def test_a_detector_is_trained_and_finds_the_same_again(home, tmp_path):
    one = computed(tmp_path / "one", home)
    assert sorted(path.name for path in one.folder.iterdir()) == LEFT
    things = image.found(one)
    assert [each.dtype for each in things] == [np.float32, np.float32, np.int64]
    assert len(things.offsets) == 55 and 0 < len(things.boxes) == one.metrics["boxes"]
    assert np.diff(things.offsets).max() == 5
    assert things.boxes.min() >= 0 and things.boxes.max() <= 1
    assert (things.boxes[:, :2] < things.boxes[:, 2:]).all()
    assert all(
        list(each) == sorted(each, reverse=True) and min(each, default=1) > 1e-4
        for each in np.split(things.scores, things.offsets[1:-1])
    )
    assert one.metrics["steps"] == 2 and 2e5 < one.metrics["parameters"] < 4e5
    truth = image.gold(home)
    for split in ("dev", "test"):
        found = one.metrics[f"{split} AP50"], one.metrics[f"{split} recall"]
        assert found == image.detection_quality(things, truth, home.splits[split])
    assert {"images", "images/s", "training seconds", "checksum"} <= set(one.metrics)
    again, other = computed(tmp_path / "again", home), computed(tmp_path / "other", home, seed=1)
    assert same(one, again) and one.metrics["checksum"] == again.metrics["checksum"]
    assert not same(one, other) and one.metrics["checksum"] != other.metrics["checksum"]


def test_a_detector_that_was_killed_goes_on(home, tmp_path, monkeypatch):
    config = dataclasses.replace(QUICK, epochs=2)
    whole = computed(tmp_path / "whole", home, config)
    monkeypatch.setattr(training, "CHECKPOINT_SECONDS", 0)

    def die(label, step, *_, **__):
        if step == 3:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(progress, "show", die)
        computed(tmp_path / "killed", home, config)
    shown = []
    monkeypatch.setattr(
        progress, "show", lambda label, *done, **_: shown.append((label, *done[:2]))
    )
    killed = computed(tmp_path / "killed", home, config)
    trained, *looked = shown  # the last step, then all pictures
    assert trained[1:] == (4, 4) and looked == [("boxes of all pictures", 54, 54)]
    assert same(whole, killed)


def test_a_detector_of_another_data_set(home, tmp_path):
    """Trained on one, finding in another; without gold there is no quality to state."""
    photographs = dataclasses.replace(home, folder=home.folder / "gold", images=home.images[:7])
    made = computed(tmp_path / "one", photographs, source=home)
    assert len(image.found(made).offsets) == 8 and "dev AP50" not in made.metrics
    with pytest.raises(DataError, match="no gold boxes"):
        computed(tmp_path / "two", photographs)


def test_a_run_s_detector_finds_the_same(home, tmp_path):
    """Its weights are read back; nothing is trained, and the costs stated are those of the run."""
    one = computed(tmp_path / "one", home)
    (one.folder / "metrics.json").write_text(json.dumps(one.metrics))
    other = computed(tmp_path / "other", home, source=Run("one", one.folder))
    assert same(one, other) and not (other.folder / "weights.safetensors").exists()
    for name in ("steps", "parameters", "training seconds", "checksum", "boxes", "test recall"):
        assert other.metrics[name] == one.metrics[name]


def test_quality_is_that_of_each_split(home, tmp_path, monkeypatch):
    """What finds all of dev, half of the boxes of train and nothing of test."""
    truth = image.gold(home)
    rows = np.repeat(np.arange(len(home.images)), np.diff(truth.offsets))
    seen = np.isin(rows, home.splits["dev"]) | np.isin(rows, home.splits["train"][:20])
    things = image.pack(rows[seen], truth.boxes[seen], truth.scores[seen], len(home.images))
    monkeypatch.setattr(detector, "train", lambda *_: (None, {}))
    monkeypatch.setattr(detector, "detect", lambda *_: things)
    metrics = computed(tmp_path / "made", home).metrics
    assert [metrics[f"{split} AP50"] for split in ("dev", "test")] == pytest.approx([1, 0])
    assert [metrics[f"{split} recall"] for split in ("dev", "test")] == pytest.approx([1, 0])
    assert metrics["boxes"] == seen.sum() and metrics["images"] == len(home.images)


def test_examples_are_mirrored_with_their_boxes(home):
    truth = image.gold(home)
    rows, mirrored = np.array([5, 3, 7]), np.array([True, False, True])
    pixels, targets = detector.examples(home.images, truth, rows, mirrored, 64)
    assert pixels.shape == (3, 3, 64, 64)
    owner, boxes = targets["batch_idx"].numpy(), targets["bboxes"].numpy()
    assert len(owner) == sum(len(listed(truth)[row]) for row in rows)
    assert not targets["cls"].any() and len(targets["cls"]) == len(owner)
    for i, row in enumerate(rows):
        for (x, y, w, h), box in zip(boxes[owner == i], listed(truth)[row], strict=True):
            x0, y0, x1, y1 = (round(64 * value) for value in box[:4])
            cut = home.images[row][y0:y1, x0:x1]
            left, top = round(64 * (x - w / 2)), round(64 * (y - h / 2))
            inner = slice(top, top + round(64 * h)), slice(left, left + round(64 * w))
            shown = pixels[i].permute(1, 2, 0).numpy()[inner]
            assert np.allclose(shown * 255, cut[:, ::-1] if mirrored[i] else cut, atol=1e-3)
    larger, _ = detector.examples(home.images, truth, rows, mirrored, 96)
    assert larger.shape == (3, 3, 96, 96) and abs(larger.mean() - pixels.mean()) < 0.01


class Saying:
    """Stands for a model: says the same of every picture."""

    def __init__(self, said, end2end=False):
        self.said, self.end2end = said, end2end

    def fuse(self, verbose):
        return self

    def eval(self):
        return self

    def __call__(self, pixels):
        return self.said.expand(len(pixels), -1, -1), None


def test_what_is_kept_of_what_a_model_says():
    """Middle, extent and two classes of six boxes; one doubtful, one a double, one empty."""
    said = torch.tensor(
        [
            [32, 32, 16, 8, 0.3, 0.1],
            [32, 32, 16, 9, 0.1, 0.8],
            [60, 8, 16, 16, 0.6, 0.5],
            [8, 40, 8, 16, 0.2, 0.1],
            [80, 8, 8, 8, 0.9, 0.9],
            [16, 56, 8, 8, 0.4, 0.0],
        ]
    )
    pictures = np.zeros((70, 32, 32, 3), np.uint8)
    config = detector.Config(confidence=0.25, overlap=0.7, boxes=2)
    things = detector.detect(Saying(said.T[None]), pictures, config, "cpu")
    expected = [(24 / 64, 27.5 / 64, 40 / 64, 36.5 / 64, 0.8), (52 / 64, 0, 1, 0.25, 0.6)]
    assert things.offsets.tolist() == list(range(0, 141, 2))
    for mine in (listed(things)[0], listed(things)[69]):
        assert np.allclose(mine, expected)
    for overlap, kept in ((0.7, [0.8, 0.6, 0.4]), (0.95, [0.8, 0.6, 0.4, 0.3])):
        config = dataclasses.replace(config, boxes=9, overlap=overlap)
        mine = listed(detector.detect(Saying(said.T[None]), pictures, config, "cpu"))[0]
        assert [round(each[4], 4) for each in mine] == kept
    corners = torch.tensor([[[24, 28, 40, 36, 0.3, 7], [24, 27.5, 40, 36.5, 0.8, 2]]])
    mine = listed(detector.detect(Saying(corners, end2end=True), pictures[:1], config, "cpu"))[0]
    assert np.allclose(mine, [expected[0], (24 / 64, 28 / 64, 40 / 64, 36 / 64, 0.3)])


@pytest.fixture(scope="module")
def tasks(tmp_path_factory):
    return detector._library(tmp_path_factory.mktemp("library"))


def checkpoint(tasks, path, **changes):
    """A file of weights as ultralytics writes them; nothing is learnt."""
    torch.manual_seed(3)
    model = tasks.DetectionModel(deepcopy(detector.NETWORK) | {"nc": 3} | changes, verbose=False)
    model.task = changes.get("task", "detect")
    torch.save({"model": model, "train_args": {}}, path)
    return model


@pytest.mark.parametrize("end2end", [False, True])
def test_given_weights_are_used_as_they_are(home, tasks, tmp_path, end2end):
    model = checkpoint(tasks, tmp_path / "yolo.pt", end2end=end2end)
    weights = detector.Weights(str(tmp_path / "yolo.pt"))
    made = computed(tmp_path / "made", home, source=weights)
    assert made.metrics["steps"] == 0 and made.metrics["checksum"] == weights.key
    assert made.metrics["parameters"] == sum(p.numel() for p in model.parameters())
    expected = detector.detect(model.eval(), home.images, QUICK, "cpu")
    for one, other in zip(image.found(made), expected, strict=True):
        assert np.array_equal(one, other)
    assert len(expected.boxes) > 50
    checkpoint(tasks, tmp_path / "other.pt", end2end=not end2end)
    assert detector.Weights(str(tmp_path / "other.pt")).key != weights.key


def test_a_size_that_cells_do_not_divide(home, tasks, tmp_path):
    checkpoint(tasks, tmp_path / "yolo.pt")
    config = dataclasses.replace(QUICK, size=60)
    for source in (None, detector.Weights(str(tmp_path / "yolo.pt"))):
        with pytest.raises(ValueError, match="size 60: expected a multiple of 8"):
            computed(tmp_path / "made", home, config, source=source)


def test_weights_that_are_not_there(monkeypatch, tmp_path):
    monkeypatch.setattr(detector, "WEIGHTS", tmp_path)
    weights = detector.Weights("yolov9c.pt")
    with pytest.raises(DataError, match="yolov9c.pt: file missing.* ultralytics/assets on GitHub"):
        weights.key
    (tmp_path / "yolov9c.pt").write_bytes(b"x")
    assert detector.Weights("yolov9c.pt").path == tmp_path / "yolov9c.pt"


class Trap:
    """What a pickle could do when it is opened."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def test_weights_that_cannot_be_used(home, tasks, tmp_path, no_network):
    checkpoint(tasks, tmp_path / "seg.pt", task="segment")
    torch.save({"model": Trap(tmp_path / "sprung")}, tmp_path / "trap.pt")
    (tmp_path / "text.pt").write_bytes(b"no weights")
    for name, expected in [
        ("seg", "for the task segment, expected a YOLO that detects"),
        ("trap", "not opened as YOLO weights"),
        ("text", "not opened as YOLO weights"),
    ]:
        weights = detector.Weights(str(tmp_path / f"{name}.pt"))
        with pytest.raises(DataError, match=f"{name}.pt: .*{expected}"):
            computed(tmp_path / "made", home, source=weights)
    assert not (tmp_path / "sprung").exists()


CONTAINED = """
import socket, sys
from pathlib import Path
import numpy as np

def refuse(*_):
    raise AssertionError("the network was asked")

socket.socket.connect = socket.getaddrinfo = refuse
from alignbook.papers.comalign.components import detector
from alignbook.datasets import prepared

assert "ultralytics" not in sys.modules
options = np.get_printoptions()
config = detector.Config(images=32, epochs=1, batch=16)
inputs = prepared.load(Path(sys.argv[1])), None
config.compute(inputs, 0, Path(sys.argv[2]), "cpu")
assert "ultralytics" in sys.modules and np.get_printoptions() == options
"""


def test_what_the_library_changes_is_put_back(tmp_path):
    """Its own Image.open asks for a package, and for a network, where a photograph is broken."""
    detector._library(tmp_path)
    assert Image.open.__module__ == "PIL.Image" and torch.save.__module__ == "torch.serialization"
    assert not list(tmp_path.iterdir())


def test_nothing_is_left_outside_the_run(home, tmp_path):
    """A process of its own, home and working folder empty: both stay so, and it says nothing."""
    folder, user, here = (tmp_path / name for name in ("run", "user", "here"))
    for each in (folder, user, here):
        each.mkdir()
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("XDG", "YOLO", "MPL"))
    }
    library = str(Path(alignbook.__file__).parent.parent)
    done = subprocess.run(
        [sys.executable, "-c", CONTAINED, str(home.folder), str(folder)],
        env=kept | {"HOME": str(user), "PYTHONPATH": library, "OMP_NUM_THREADS": "1"},
        cwd=here,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert not list(user.rglob("*")) and not list(here.iterdir())
    assert sorted(path.name for path in folder.iterdir()) == LEFT
    assert not done.stdout and "ltralytics" not in done.stderr
