"""Region features of one's own: two formats, one table; and a folder of photographs with them."""

import json
from dataclasses import dataclass

import numpy as np
import pandas
import pytest
from alignbook.datasets import by_name, karpathy, regions, sound
from alignbook.datasets.regions import Regions
from alignbook.errors import DataError
from PIL import Image

BOXES = np.array([[0, 0, 5, 5], [1.5, 2, 3, 4], [0, 0, 9, 9], [2, 2, 4, 8], [1, 0, 2, 1]])
FEATURES = np.arange(15).reshape(5, 3) / 4
TABLE = Regions(["b.jpg", "é.jpg"], BOXES, FEATURES, np.array([2, 3]))
KINDS = ["npz", "parquet"]


@dataclass(frozen=True)
class Settings:
    size: int = 8
    fit: str = "squash"
    train_images: int = 0
    dev_images: int = 0
    test_images: int = 0


@pytest.fixture
def folder(tmp_path):
    """Four photographs with captions; regions are for the tests to write."""
    folder = tmp_path / "photos"
    (folder / "val2014").mkdir(parents=True)
    names = {"train": ["a.jpg", "b.jpg"], "dev": ["c.jpg"], "test": ["val2014/d.jpg"]}
    for name in [each for listed in names.values() for each in listed]:
        Image.new("RGB", (9, 9)).save(folder / name)
    captions = {name: list("vwxyz") for listed in names.values() for name in listed}
    karpathy.write(folder, names, captions, "coco")
    return folder


@pytest.fixture(autouse=True)
def any_size(monkeypatch):
    monkeypatch.setattr(karpathy, "SIZES", {"coco": {}})


def given(counts, names=("d.jpg", "c.jpg", "unused.jpg", "b.jpg", "a.jpg")):
    """Every feature tells its image and its rank."""
    owner = np.repeat(np.arange(len(counts)), counts)
    rank = np.concatenate([np.arange(count) for count in counts])
    boxes = np.tile([0.0, 0, 2, 2], (len(owner), 1))
    return Regions(list(names), boxes, np.stack([owner, rank], 1), np.array(counts))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("block", [2, 4096])
def test_what_is_written_is_read(tmp_path, kind, block, monkeypatch):
    monkeypatch.setattr(regions, "BLOCK", block)
    path = tmp_path / f"regions.{kind}"
    regions.write(path, TABLE)
    found = regions.read(path)
    assert found.names == TABLE.names and found.counts.tolist() == [2, 3]
    assert np.array_equal(found.boxes, BOXES) and np.array_equal(found.features, FEATURES)
    assert found.boxes.dtype == found.features.dtype == np.float32
    assert regions.read(path, features=False).features.shape == (0, 3)
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("kind", KINDS)
def test_photographs_with_regions(folder, kind, monkeypatch):
    monkeypatch.setattr(regions, "BLOCK", 3)
    before = by_name.prepare(f"coco={folder}", Settings(), folder.parent / "made")
    regions.write(folder / f"regions.{kind}", given([3, 2, 1, 4, 2]))
    made = by_name.prepare(f"coco={folder}", Settings(), folder.parent / "made")
    assert before.regions is None and made.fingerprint != before.fingerprint
    assert made.regions.shape == (4, 2, 2) and made.images.shape == (4, 8, 8, 3)
    assert made.regions[[0, 1, 2, 3]].tolist() == [  # a, b, c, d as the file numbers them
        [[image, rank] for rank in (0, 1)] for image in (4, 3, 1, 0)
    ]
    assert made.regions[made.splits["test"], :1].tolist() == [[[0, 0]]]
    assert "2 an image" in made.meta["regions"] and f"regions.{kind}" in made.meta["regions"]


# Features of a prepared data set with its last number altered, with none, with half of them.
ALTERED = {
    "flip": lambda octets: octets[:-3] + bytes([octets[-3] ^ 64]) + octets[-2:],
    "empty": lambda octets: b"",
    "cut": lambda octets: octets[: len(octets) // 2],
}


@pytest.mark.parametrize("damage", ALTERED)
def test_features_that_were_altered_are_read_again(folder, capsys, damage):
    regions.write(folder / "regions.npz", given([3, 2, 1, 4, 2]))
    made = by_name.prepare(f"coco={folder}", Settings(), folder.parent / "made")
    before, file = np.array(made.regions), made.folder / "regions.npy"
    file.write_bytes(ALTERED[damage](file.read_bytes()))
    again = by_name.prepare(f"coco={folder}", Settings(), folder.parent / "made")
    told = capsys.readouterr().err
    assert "regions.npy" in told and "set aside, the data is prepared again" in told
    assert np.array_equal(again.regions, before)


def test_other_regions_are_prepared_anew(folder):
    folders, prints = set(), set()
    for counts in ([3, 2, 1, 4, 2], [3, 3, 1, 4, 3]):
        regions.write(folder / "regions.npz", given(counts))
        made = by_name.prepare(f"coco={folder}", Settings(), folder.parent / "made")
        folders.add(made.folder), prints.add(made.fingerprint)
    assert len(folders) == len(prints) == 2


def test_photograph_without_regions(folder):
    regions.write(folder / "regions.npz", given([2, 2], ("a.jpg", "d.jpg")))
    (found,) = by_name.check(f"coco={folder}")
    assert "regions.npz: no regions of b.jpg (2 of 4 have none)" in found
    with pytest.raises(DataError):
        by_name.prepare(f"coco={folder}", Settings(), folder.parent / "made")
    assert not (folder.parent / "made").exists()


def test_broken_feature_is_found_before_anything_is_made(folder):
    wrong = given([1] * 5)
    save(
        folder / "regions.npz",
        features=np.where(np.eye(5, 2), np.nan, 1),
        counts=[1] * 5,
        names=np.array(wrong.names),
        boxes=wrong.boxes,
    )
    with pytest.raises(DataError, match="region 0: a feature of d.jpg"):
        by_name.prepare(f"coco={folder}", Settings(), folder.parent / "made")
    assert not (folder.parent / "made").exists()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "feature, said",
    [
        (np.nan, "region 3: a feature of é.jpg is not a finite number, expected whole features"),
        (3e38, "region 3: the largest feature of é.jpg is 3e+38, expected one above 0 and up to"),
        (0, "region 2: the largest feature of é.jpg is 0, expected one above 0"),
    ],
)
def test_every_feature_is_looked_at_once(tmp_path, monkeypatch, kind, feature, said):
    monkeypatch.setattr(sound, "LOOKED_AT", tmp_path / "looked at")
    monkeypatch.setattr(regions, "BLOCK", 2)
    path, names = tmp_path / f"regions.{kind}", list(TABLE.names)
    regions.write(path, TABLE)
    assert regions.check(path, names, whole=True) == []
    with monkeypatch.context() as patch:
        patch.setattr(regions, "_blocks", None)  # not read again
        assert regions.check(path, names, whole=True) == []

    broken = FEATURES.copy()
    broken[2 if feature == 0 else 3 :] = feature
    with monkeypatch.context() as patch:
        patch.setattr(regions, "_look", lambda path, found, blocks: blocks)
        regions.write(path, TABLE._replace(features=broken))
    assert regions.check(path, names) == []
    (found,) = regions.check(path, names, whole=True)
    assert found == regions.check(path, names, whole=True)[0]
    assert found.startswith(f"{path}, {said}") and found.endswith(regions.REMEDY)


def save(path, **changes):
    """An .npz file as `write` makes it, with members changed; None leaves one out."""
    members = {
        "names": np.array(TABLE.names),
        "counts": TABLE.counts,
        "boxes": BOXES,
        "features": FEATURES,
    } | changes
    np.savez(path, **{name: value for name, value in members.items() if value is not None})


def broken_boxes(row, values):
    boxes = BOXES.copy()
    boxes[row] = values
    return boxes


# What can be wrong with an .npz file: members changed, what the error names.
NPZ = {
    "member lost": ({"boxes": None}, "not a whole file of regions"),
    "names as objects": ({"names": np.array(TABLE.names, object)}, "not a whole file of regions"),
    "features as objects": ({"features": FEATURES.astype(object)}, "expected (5, D) of float32"),
    "names as numbers": ({"names": np.arange(2)}, "names (2,) int64, expected (N,) of text"),
    "name twice": ({"names": np.array(["b.jpg", "b.jpg"])}, "item 1: name 'b.jpg'"),
    "empty name": ({"names": np.array(["b.jpg", ""])}, "item 1: name ''"),
    "counts too few": ({"counts": np.array([2, 2])}, "sum 4, expected (2,) int with sum 5"),
    "counts as fractions": ({"counts": np.array([2.0, 3.0])}, "expected (2,) int"),
    "no region": ({"counts": np.array([5, 0])}, "item 1: é.jpg has 0 regions"),
    "a count below zero": ({"counts": np.array([6, -1])}, "item 1: é.jpg has -1 regions"),
    "three dimensions": ({"features": FEATURES[None]}, "features (1, 5, 3)"),
    "a feature lost": ({"features": FEATURES[:4]}, "features (4, 3) float64, expected (5, D)"),
    "boxes of three": ({"boxes": BOXES[:, :3]}, "boxes (5, 3)"),
    "empty box": ({"boxes": broken_boxes(3, [4, 4, 4, 6])}, "region 3: box [4.0, 4.0, 4.0, 6.0]"),
    "box not a number": ({"boxes": broken_boxes(2, np.nan)}, "region 2: box [nan"),
    "feature not a number": (
        {"features": np.where(FEATURES == 9 / 4, np.inf, FEATURES)},
        "region 3: a feature of é.jpg is not a finite number",
    ),
    "no images": (
        {
            "names": np.array([], str),
            "counts": np.array([], int),
            "boxes": BOXES[:0],
            "features": FEATURES[:0],
        },
        "0 images",
    ),
}


@pytest.mark.parametrize("case", NPZ)
def test_broken_npz(tmp_path, case):
    changes, expected = NPZ[case]
    save(tmp_path / "regions.npz", **changes)
    with pytest.raises(DataError) as caught:
        regions.read(tmp_path / "regions.npz")
    assert expected in str(caught.value) and "regions.npz" in str(caught.value)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("damage", ["cut short", "text", "missing"])
def test_file_that_is_not_whole(tmp_path, kind, damage):
    path = tmp_path / f"regions.{kind}"
    regions.write(path, TABLE)
    octets = path.read_bytes()
    path.write_bytes(octets[: len(octets) // 2] if damage == "cut short" else b"no regions")
    if damage == "missing":
        path.unlink()
    expected = "file missing" if damage == "missing" else "not a whole file"
    with pytest.raises(DataError, match=expected):
        regions.read(path)


ROWS = pandas.DataFrame(
    {
        "name": ["b.jpg"] * 2 + ["é.jpg"] * 3,
        **dict(zip(("x0", "y0", "x1", "y1"), BOXES.T)),
        "score": [0.9, 0.9, 0.8, 0.7, 0.1],
        "feature": FEATURES.tolist(),
    }
)


def test_parquet_made_elsewhere(tmp_path):
    path = tmp_path / "regions.parquet"
    ROWS.to_parquet(path)
    found = regions.read(path)
    assert found.names == TABLE.names and np.array_equal(found.features, FEATURES)
    assert found.counts.tolist() == [2, 3] and np.array_equal(found.boxes, BOXES)


# What can be wrong with a .parquet file: columns changed, what the error names.
PARQUET = {
    "column lost": ({"score": None}, "no column score"),
    "rising scores": ({"score": [0.9, 0.9, 0.7, 0.8, 0.1]}, "region 3: score 0.8 of é.jpg"),
    "score not a number": ({"score": [0.9, np.nan, 0.8, 0.7, 0.1]}, "region 1: score nan"),
    "an image in two places": (
        {"name": ["b.jpg", "é.jpg", "b.jpg", "é.jpg", "é.jpg"], "score": [1.0] * 5},
        "item 2: name 'b.jpg'",
    ),
    "no name": ({"name": ["b.jpg", "b.jpg", None, "é.jpg", "é.jpg"]}, "name"),
    "shorter feature": (
        {"feature": [*FEATURES.tolist()[:4], [1.0]]},
        "region 4: 1 numbers in its feature, expected 3",
    ),
    "no feature": ({"feature": [*FEATURES.tolist()[:4], None]}, "region 4: 0 numbers"),
    "feature not a number": (
        {"feature": [*FEATURES.tolist()[:4], [1.0, 2.0, np.inf]]},
        "region 4: a feature of é.jpg",
    ),
    "empty box": ({"x1": [5.0, 3, 9, 2, 2]}, "region 3: box [2.0, 2.0, 2.0, 8.0]"),
}


@pytest.mark.parametrize("case", PARQUET)
def test_broken_parquet(tmp_path, case):
    changes, expected = PARQUET[case]
    table = (
        ROWS.assign(**changes)
        if changes.get("score", 0) is not None
        else ROWS.drop(columns="score")
    )
    table.to_parquet(tmp_path / "regions.parquet")
    with pytest.raises(DataError) as caught:
        regions.read(tmp_path / "regions.parquet")
    assert expected in str(caught.value) and "regions.parquet" in str(caught.value)


def test_parquet_without_rows(tmp_path):
    ROWS[:0].to_parquet(tmp_path / "regions.parquet")
    with pytest.raises(DataError, match="0 images"):
        regions.read(tmp_path / "regions.parquet")


@pytest.mark.parametrize("kind", KINDS)
def test_what_cannot_be_read_back_is_not_written(tmp_path, kind):
    for wrong in (
        {"features": FEATURES[:4]},
        {"features": FEATURES * np.nan},
        {"counts": np.array([5, 0])},
        {"names": ["b.jpg", "b.jpg"]},
    ):
        with pytest.raises(DataError):
            regions.write(tmp_path / f"regions.{kind}", TABLE._replace(**wrong))
    assert not list(tmp_path.iterdir())


DETECTIONS = pandas.DataFrame(
    [
        ("b.jpg", 0, 0.5, 0.0, 9.25, 3.0, "dog", 0.5),
        ("b.jpg", 1, 1.0, 1.0, 2.0, 2.0, "café", 0.75),
        ("a.jpg", 0, 0.0, 0.0, 1.0, 1.0, "dog", 1.0),
    ],
    columns="image object x0 y0 x1 y1 label score".split(),
)


def test_detections_written_are_read(tmp_path):
    regions.write_detections(tmp_path / "found.json", DETECTIONS)
    pandas.testing.assert_frame_equal(regions.read_detections(tmp_path / "found.json"), DETECTIONS)


def test_image_without_detections(tmp_path):
    item = {"image": "a.jpg", "boxes": [], "labels": [], "scores": []}
    (tmp_path / "found.json").write_text(json.dumps([item]))
    assert len(regions.read_detections(tmp_path / "found.json")) == 0


@pytest.mark.parametrize(
    "change, expected",
    [
        ({"image": "a.jpg"}, "item 1: image 'a.jpg', expected a name that stands once"),
        ({"image": 5}, "item 1: image 5"),
        ({"labels": []}, "item 1: 1 boxes, 0 labels and 1 scores"),
        ({"boxes": [[0, 0, 0, 1]]}, "item 1: box [0.0, 0.0, 0.0, 1.0]"),
        ({"boxes": [[0, 0, 1]]}, "item 1: ValueError"),
        ({"scores": [float("nan")]}, "item 1: box [0.0, 0.0, 1.0, 1.0] with score nan"),
        ({"scores": None}, "item 1: "),
    ],
)
def test_broken_detections(tmp_path, change, expected):
    item = {"image": "a.jpg", "boxes": [[0, 0, 1, 1]], "labels": ["x"], "scores": [1]}
    path = tmp_path / "found.json"
    path.write_text(json.dumps([item, item | {"image": "b.jpg"} | change]))
    with pytest.raises(DataError) as caught:
        regions.read_detections(path)
    assert expected in str(caught.value)


@pytest.mark.parametrize("octets, expected", [(b"[", "row 1: not JSON"), (b"{}", "a list")])
def test_detections_that_are_no_list(tmp_path, octets, expected):
    (tmp_path / "found.json").write_bytes(octets)
    with pytest.raises(DataError, match=expected):
        regions.read_detections(tmp_path / "found.json")


def test_a_small_parquet_file_that_grows_without_bound_is_refused(tmp_path):
    """One number, repeated: a few kilobytes that come to a gigabyte."""
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    rows = 20_000
    feature = pyarrow.FixedSizeListArray.from_arrays(
        pyarrow.array(np.zeros(rows * 1000, np.float32)), 1000
    ).cast(pyarrow.list_(pyarrow.float32()))
    numbers = {name: pyarrow.array(np.zeros(rows, np.float32)) for name in ("x0", "y0", "x1", "y1")}
    table = {"name": ["a.jpg"] * rows, **numbers, "score": numbers["x0"], "feature": feature}
    path = tmp_path / "regions.parquet"
    parquet.write_table(pyarrow.table(table), path)
    assert path.stat().st_size < 400_000
    with pytest.raises(DataError, match="unpack to more than"):
        regions.read(path, features=False)
