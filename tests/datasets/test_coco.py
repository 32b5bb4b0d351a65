"""COCO's annotation files: captions with a split of ours, and boxes in whole pixels."""

import json
from dataclasses import dataclass

import pandas
import pytest
from alignbook.datasets import by_name, coco
from alignbook.errors import DataError
from PIL import Image

NAMES = {"train": ["b.jpg", "a.jpg", "ç.jpg"], "dev": ["d.jpg"], "test": ["f.jpg"]}
CAPTIONS = {
    name: [f'{k}, "{name}": a café' for k in range(5)] for names in NAMES.values() for name in names
}


@dataclass(frozen=True)
class Settings:
    size: int = 8
    fit: str = "squash"
    train_images: int = 0
    dev_images: int = 0
    test_images: int = 0


@pytest.fixture
def folder(tmp_path):
    """Photographs in the folders of 2017; test is the second half of val."""
    folder = tmp_path / "coco"
    coco.write(folder, NAMES, CAPTIONS)
    merge(folder)
    for split, names in NAMES.items():
        below = folder / ("train2017" if split == "train" else "val2017")
        below.mkdir(exist_ok=True)
        for name in names:
            Image.new("RGB", (9, 9)).save(below / name)
    return folder


def merge(folder):
    """Put captions_test into captions_val, as COCO has it, the later images first."""
    val, test = (folder / "annotations" / f"captions_{s}2017.json" for s in ("val", "test"))
    one, other = json.loads(val.read_bytes()), json.loads(test.read_bytes())
    merged = {key: other[key][::-1] + one[key][::-1] for key in one}
    val.write_text(json.dumps(merged), "utf-8")
    test.unlink()


def edit(folder, change, split="train"):
    path = folder / "annotations" / f"captions_{split}2017.json"
    value = json.loads(path.read_bytes())
    change(value)
    path.write_text(json.dumps(value), "utf-8")


def problem(folder):
    """The one problem of a folder, which `prepare` raises before it makes anything."""
    (found,) = by_name.check(f"coco={folder}")
    root = folder.parent / "made"
    with pytest.raises(DataError) as caught:
        by_name.prepare(f"coco={folder}", Settings(), root)
    assert str(caught.value) == found and not root.exists()
    return found


def test_captions_written_are_read(tmp_path):
    coco.write(tmp_path, NAMES, CAPTIONS)
    (tmp_path / "Images").mkdir()
    for name in CAPTIONS:
        (tmp_path / "Images" / name).touch()
    found = coco.read(tmp_path)
    assert found.problems == [] and found.splits == NAMES and found.captions == CAPTIONS


def test_val_is_halved_in_the_order_of_ids(folder):
    made = by_name.prepare(f"coco={folder}", Settings(), folder.parent / "made")
    assert made.names[:3] == ["train2017/b.jpg", "train2017/a.jpg", "train2017/ç.jpg"]
    assert made.names[3:] == ["val2017/d.jpg", "val2017/f.jpg"]
    assert made.captions_of("test") == CAPTIONS["f.jpg"]
    assert made.meta["reader"] == "captions_train2017.json"
    assert "1 dev, then 1 test; not Karpathy's" in made.meta["split"]


def test_halves_end_at_five_thousand(tmp_path, monkeypatch):
    monkeypatch.setattr(coco, "TEST_IMAGES", 2)
    names = {"train": ["t"], "dev": [f"{i}" for i in range(4)], "test": [f"{i}" for i in (4, 5, 6)]}
    captions = {name: list("vwxyz") for listed in names.values() for name in listed}
    coco.write(tmp_path, names, captions)
    merge(tmp_path)
    found = coco.read(tmp_path)
    assert found.splits == {"train": ["t"], "dev": ["0", "1"], "test": ["2", "3"]}
    assert found.notes["images of no split"] == 3


def test_first_five_captions_in_the_order_of_their_ids(folder):
    def change(value):
        mine = [each for each in value["annotations"] if each["image_id"] == 1]
        mine[0]["id"] = 900  # the first is now the fifth
        value["annotations"].append({"id": 901, "image_id": 1, "caption": "the sixth"})
        value["annotations"].append({"id": 902, "image_id": 1, "caption": " "})  # doesn't count

    edit(folder, change)
    found = coco.read(folder)
    assert found.captions["train2017/b.jpg"] == CAPTIONS["b.jpg"][1:] + CAPTIONS["b.jpg"][:1]
    assert found.problems == []


def test_files_of_one_year_are_taken_together(folder):
    (folder / "annotations" / "captions_val2017.json").rename(
        folder / "annotations" / "captions_val2014.json"
    )
    assert "file missing, or the val file of its year" in coco.read(folder).problems[0]


def set_item(key, index, field, value):
    return lambda whole: whole[key][index].__setitem__(field, value)


# What can be wrong with captions_train2017.json, and what the error names.
BROKEN = {
    "image twice": (set_item("images", 2, "id", 1), "image 2: id 1 stands twice"),
    "caption twice": (set_item("annotations", 3, "id", 5), "annotation 3: id 5 stands twice"),
    "no id": (lambda v: v["images"][1].pop("id"), "KeyError('id'), expected COCO's lists"),
    "id is text": (set_item("images", 1, "id", "2"), "expected COCO's lists"),
    "no annotations": (lambda v: v.pop("annotations"), "KeyError('annotations')"),
    "leaves the folder": (set_item("images", 1, "file_name", "../a.jpg"), "leaves the folder"),
    "empty file": (lambda v: v.clear(), "expected a dict with entries"),
    "no images": (
        lambda v: (v["images"].clear(), v["annotations"].clear()),
        "0 images in split train",
    ),
    "a caption lost": (
        lambda v: v["annotations"].pop(7),
        "image 1: train2017/a.jpg has 4 captions, expected 5",
    ),
    "no such photograph": (set_item("images", 1, "file_name", "x.jpg"), "x.jpg missing (1 of 5"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_broken_captions(folder, case):
    change, expected = BROKEN[case]
    edit(folder, change)
    found = problem(folder)
    assert "captions_train2017.json" in found and expected in found


@pytest.mark.parametrize(
    "change, expected",
    [
        (set_item("annotations", 1, "image_id", 77), "annotation 1: KeyError(77)"),
        (set_item("annotations", 1, "caption", "  "), "annotation 1: caption is empty"),
        (set_item("annotations", 1, "caption", None), "annotation 1: AttributeError"),
    ],
)
def test_broken_annotation_is_named(folder, change, expected):
    edit(folder, change)
    assert expected in by_name.check(f"coco={folder}")[0]


@pytest.mark.parametrize(
    "octets, expected",
    [(b'{"images": [', "row 1: not JSON"), (b'{"images": "\xe9"}', "not UTF-8"), (b"[]", "a dict")],
)
def test_file_that_is_not_json(folder, octets, expected):
    (folder / "annotations" / "captions_val2017.json").write_bytes(octets)
    found = problem(folder)
    assert expected in found and "captions_val2017.json" in found and "91 MB" in found


def test_photograph_that_is_missing(folder):
    (folder / "val2017" / "d.jpg").unlink()
    found = problem(folder)
    assert "captions_val2017.json, image 1" in found and "1 of 5" in found and "unpack" in found


OBJECTS = pandas.DataFrame(
    [
        ("a.jpg", 0, 0, 1, 9, 8, "dog", 0),
        ("a.jpg", 1, 3, 3, 4, 4, "café", 1),
        ("b.jpg", 0, 2, 0, 20, 10, "dog", 0),
    ],
    columns="image object x0 y0 x1 y1 category iscrowd".split(),
)
PIXELS = {"a.jpg": (9, 8), "none.jpg": (5, 5), "b.jpg": (20, 10)}


def test_boxes_written_are_read(tmp_path):
    path = tmp_path / "instances.json"
    coco.write_instances(path, OBJECTS, PIXELS)
    pandas.testing.assert_frame_equal(coco.read_instances(path), OBJECTS)
    coco.write_instances(path, OBJECTS.drop(columns="iscrowd"), PIXELS)
    assert coco.read_instances(path).iscrowd.tolist() == [0, 0, 0]


def instances(tmp_path, box, **fields):
    path = tmp_path / "instances.json"
    coco.write_instances(path, OBJECTS, PIXELS)
    value = json.loads(path.read_bytes())
    value["annotations"][2] |= {"bbox": box} | fields
    path.write_text(json.dumps(value))
    return path


@pytest.mark.parametrize(
    "box, expected",
    [
        ([2.6, 3.2, 4.1, 2.7], [2, 3, 7, 6]),  # 6.7 → 7, 5.9 → 6: the pixels it touches
        ([2, 3, 4, 2], [2, 3, 6, 5]),
        ([0.1 + 0.2, 0, 6.7, 9.999], [0, 0, 7, 10]),  # 7.000000000000001 stays 7
        ([-1, -1, 30, 30], [0, 0, 20, 10]),
    ],
)
def test_boxes_hold_the_published_ones(tmp_path, box, expected):
    found = coco.read_instances(instances(tmp_path, box))
    assert found.iloc[2][["x0", "y0", "x1", "y1"]].tolist() == expected


@pytest.mark.parametrize(
    "box, fields, expected",
    [
        ([1, 1, 0, 2], {}, "annotation 2: bbox [1, 1, 0, 2], expected numbers and a width"),
        ([1, 1, 2], {}, "annotation 2: ValueError"),
        ([1, 1, 2, float("nan")], {}, "annotation 2: bbox"),
        ([21, 1, 2, 2], {}, "annotation 2: bbox [21, 1, 2, 2] outside its picture of 20 × 10"),
        ([1, 1, 2, 2], {"category_id": 9}, "annotation 2: KeyError(9)"),
        ([1, 1, 2, 2], {"image_id": 9}, "annotation 2: KeyError(9)"),
        ([1, 1, 2, 2], {"id": 1}, "annotation 2: id 1 stands twice"),
    ],
)
def test_broken_boxes(tmp_path, box, fields, expected):
    with pytest.raises(DataError) as caught:
        coco.read_instances(instances(tmp_path, box, **fields))
    assert expected in str(caught.value) and "instances.json" in str(caught.value)


def test_boxes_that_cannot_be_read_back_are_not_written(tmp_path):
    for wrong in ({"x1": 99}, {"x0": -1}, {"image": "other.jpg"}, {"x1": 0}):
        with pytest.raises(DataError, match="object 0"):
            coco.write_instances(tmp_path / "x.json", OBJECTS.assign(**wrong), PIXELS)
    assert not list(tmp_path.iterdir())


@pytest.mark.realdata
def test_the_hundred_photographs(realdata, tmp_path):
    made = by_name.prepare(f"coco={realdata / 'coco'}", Settings(size=48), tmp_path)
    assert [len(rows) for rows in made.splits.values()] == [50, 25, 25]
    assert len(made.captions) == 500 and all(made.captions)
    for split in ("train", "val"):
        path = realdata / "coco" / "annotations" / f"instances_{split}2017.json"
        found, value = coco.read_instances(path), json.loads(path.read_bytes())
        assert len(found) == len(value["annotations"])
        assert found.iscrowd.sum() == sum(each["iscrowd"] for each in value["annotations"])
        size = {each["file_name"]: (each["width"], each["height"]) for each in value["images"]}
        key = {each["id"]: each["file_name"] for each in value["images"]}
        area = sum(each["bbox"][2] * each["bbox"][3] for each in value["annotations"])
        assert 1 <= ((found.x1 - found.x0) * (found.y1 - found.y0)).sum() / area < 1.03
        assert set(found.image) == {key[each["image_id"]] for each in value["annotations"]}
        coco.write_instances(tmp_path / "again.json", found, size)
        pandas.testing.assert_frame_equal(coco.read_instances(tmp_path / "again.json"), found)
