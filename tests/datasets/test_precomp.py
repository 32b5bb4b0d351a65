"""Precomputed features: the files of a hand-made collection, and every way they can be wrong."""

import os
from dataclasses import dataclass

import numpy as np
import pytest
from alignbook.datasets import by_name, precomp, prepared, sound
from alignbook.errors import DataError
from alignbook.workbook import profiles

NAMES = {"train": ["c", "a", "b"], "dev": ["d"], "test": ["é", "f"]}
CAPTIONS = {
    name: [f'{k}. "{name}", a café; it\'s so .' for k in range(5)]
    for names in NAMES.values()
    for name in names
}
K, D = 4, 3


@dataclass(frozen=True)
class Settings:
    size: int = 64
    fit: str = "squash"
    train_images: int = 0
    dev_images: int = 0
    test_images: int = 0
    data_seed: int = 0


def made_features():
    """Every number tells its split, image, region and place."""
    return {
        split: 1000 * s + np.arange(len(names) * K * D, dtype=np.float32).reshape(-1, K, D)
        for s, (split, names) in enumerate(NAMES.items())
    }


@pytest.fixture
def folder(tmp_path):
    precomp.write(tmp_path / "features", NAMES, CAPTIONS, made_features())
    return tmp_path / "features"


def repeat(folder, split):
    """A split as dev and test are published: every image, and its id, five times."""
    path = folder / f"{split}_ims.npy"
    np.save(path, np.load(path).repeat(5, axis=0))
    ids = (folder / f"{split}_ids.txt").read_text("utf-8").split()
    (folder / f"{split}_ids.txt").write_text("".join(f"{i}\n" * 5 for i in ids), "utf-8")


def problem(folder, spec="precomp"):
    """The one problem of a folder, which `prepare` raises before it makes anything."""
    (found,) = by_name.check(f"{spec}={folder}")
    root = folder.parent / "made"
    with pytest.raises(DataError) as caught:
        by_name.prepare(f"{spec}={folder}", Settings(), root)
    assert str(caught.value) == found and not root.exists()
    return found


def test_what_is_written_is_read(folder):
    found = precomp.read(folder)
    assert found.problems == [] and found.names == NAMES
    for split, names in NAMES.items():
        assert found.captions[split] == [text for name in names for text in CAPTIONS[name]]
        assert np.array_equal(precomp.open_features(found.files[split]), made_features()[split])
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize("repeated", [[], ["dev", "test"], ["train", "dev", "test"]])
def test_regions_of_the_images_whichever_way_they_are_stored(folder, tmp_path, repeated):
    for split in repeated:
        repeat(folder, split)
    made = by_name.prepare(f"precomp={folder}", Settings(), tmp_path / "made")
    wanted = np.concatenate(list(made_features().values()))
    assert made.images is None and made.objects is None
    assert made.names == ["c", "a", "b", "d", "é", "f"]
    assert made.regions.shape == wanted.shape and len(made.regions) == 6
    rows = np.array([5, 0, 3, 2, 5])  # unsorted, repeated, from every file
    assert np.array_equal(made.regions[rows], wanted[rows])
    assert np.array_equal(made.regions[rows, :2], wanted[rows, :2])
    for split in NAMES:
        assert np.array_equal(made.regions[made.splits[split]], made_features()[split])
    assert made.regions[[1]].dtype == np.float32 and made.regions[[1]].flags.writeable
    assert made.captions_of("test")[5:] == CAPTIONS["f"]


def test_features_are_read_where_they_are(folder, tmp_path):
    made = by_name.prepare(f"precomp={folder}", Settings(), tmp_path / "made")
    assert not list(made.folder.glob("*.npy"))
    stored = np.load(folder / "dev_ims.npy", mmap_mode="r+")
    stored[0, 1, 2] = 5
    stored.flush()
    assert made.regions[[3]][0, 1, 2] == 5
    for index in ([6], (slice(None), slice(1, None)), (slice(None), slice(None, None, 2))):
        with pytest.raises(IndexError):
            made.regions[index]


def test_file_cut_short_after_it_was_opened(folder, tmp_path):
    made = by_name.prepare(f"precomp={folder}", Settings(), tmp_path / "made")
    os.truncate(folder / "test_ims.npy", (folder / "test_ims.npy").stat().st_size - 4)
    assert np.array_equal(made.regions[[4]], made_features()["test"][:1])
    with pytest.raises(DataError, match="test_ims.npy, image row 1: cut short"):
        made.regions[[0, 5]]


def test_limits_take_the_first_images(folder, tmp_path):
    repeat(folder, "train")
    limits = Settings(train_images=2, test_images=1, dev_images=9)
    made = by_name.prepare(f"precomp={folder}", limits, tmp_path / "made")
    assert made.names == ["c", "a", "d", "é"] and len(made.captions) == 20
    wanted = made_features()
    assert np.array_equal(
        made.regions[np.arange(4)],
        np.concatenate([wanted["train"][:2], wanted["dev"], wanted["test"][:1]]),
    )


def test_half_precision_is_read_as_float32(folder, tmp_path):
    for split in NAMES:
        path = folder / f"{split}_ims.npy"
        np.save(path, np.load(path).astype(np.float16))
    made = by_name.prepare(f"precomp={folder}", Settings(), tmp_path / "made")
    assert made.regions[[0]].dtype == np.float32


def test_names_without_ids_and_with_ids_of_two_splits(folder):
    (folder / "dev_ids.txt").unlink()
    assert precomp.read(folder).names["dev"] == ["dev-000000"]
    (folder / "dev_ids.txt").write_text("c\n")
    assert precomp.read(folder).names["dev"] == ["dev-c"]


def test_testall_is_the_test_split_where_it_is_there(folder, tmp_path):
    before = by_name.prepare(f"precomp={folder}", Settings(), tmp_path / "made")
    assert before.meta["test features"] == "test_ims.npy, one row an image"
    more = np.arange(4 * K * D, dtype=np.float32).reshape(4, K, D)
    np.save(folder / "testall_ims.npy", more)
    (folder / "testall_caps.txt").write_text("".join(f"caption {i}\n" for i in range(20)))
    after = by_name.prepare(f"precomp={folder}", Settings(), tmp_path / "made")
    assert after.meta["test features"] == "testall_ims.npy, one row an image"
    assert len(after.splits["test"]) == 4 and np.array_equal(after.regions[[7]], more[3:])


@pytest.mark.parametrize("change", ["caption", "features", "place"])
def test_changed_source_is_prepared_anew(folder, tmp_path, change):
    before = by_name.prepare(f"precomp={folder}", Settings(), tmp_path / "made")
    if change == "caption":
        path = folder / "dev_caps.txt"
        path.write_text(path.read_text("utf-8").replace("0.", "9."), "utf-8")
    elif change == "features":
        np.save(folder / "dev_ims.npy", made_features()["dev"] + 1)
        os.utime(folder / "dev_ims.npy", (1, 1))
    else:
        folder = folder.rename(folder.with_name("elsewhere"))
    after = by_name.prepare(f"precomp={folder}", Settings(), tmp_path / "made")
    assert after.folder != before.folder
    assert (after.fingerprint == before.fingerprint) == (change == "place")
    assert np.array_equal(after.regions[[3]], made_features()["dev"] + (change == "features"))


def test_features_that_went_after_preparing(folder, tmp_path):
    made = by_name.prepare(f"precomp={folder}", Settings(), tmp_path / "made")
    (folder / "test_ims.npy").unlink()
    with pytest.raises(DataError, match="test_ims.npy: features missing or changed"):
        prepared.load(made.folder)


@pytest.mark.parametrize("step", [1, 5])
def test_broken_feature_that_no_sample_saw_is_named_when_read(folder, tmp_path, step, monkeypatch):
    monkeypatch.setattr(precomp, "SAMPLE", 2)  # the first and the last
    if step == 5:
        repeat(folder, "train")
    made = by_name.prepare(f"precomp={folder}", Settings(), tmp_path / "made")
    stored = np.load(folder / "train_ims.npy", mmap_mode="r+")
    stored[step, 2, 1] = np.inf
    stored.flush()
    made.regions[[0, 2, 5]]
    with pytest.raises(DataError, match=f"train_ims.npy, image row {step}: a feature"):
        made.regions[[5, 1]]


@pytest.fixture
def looked(tmp_path, monkeypatch):
    """Rows of features that were looked at, in a place of its own; the sample sees two of a split."""
    monkeypatch.setattr(precomp, "SAMPLE", 2)  # the first and the last
    monkeypatch.setattr(sound, "LOOKED_AT", tmp_path / "looked at")
    rows, largest = [], sound.largest
    monkeypatch.setattr(sound, "largest", lambda block: rows.extend(block) or largest(block))
    return rows


@pytest.mark.parametrize(
    "feature, said",
    [
        (np.nan, "a feature is not a finite number, expected whole features"),
        (-np.inf, "a feature is not a finite number"),
        (3e38, "the largest feature is 3e+38, expected one above 0 and up to 1e+06"),
        (-2e6, "the largest feature is 2e+06"),
        (0, "the largest feature is 0, expected one above 0"),
    ],
)
@pytest.mark.parametrize("step", [1, 5])
def test_every_row_is_looked_at_before_anything_is_made(
    folder, looked, monkeypatch, step, feature, said
):
    array = made_features()["train"]
    array[1] = array[1] * 0 if feature == 0 else array[1]
    array[1, 2, 1] = feature
    np.save(folder / "train_ims.npy", array)
    if step == 5:
        repeat(folder, "train")
    monkeypatch.setattr(sound, "AT_ONCE", K * D * 4)  # an image at a time
    assert by_name.check(f"precomp={folder}") == []  # without a profile: the sample
    monkeypatch.setattr(by_name, "FEWEST", 1)
    profile = profiles.get("smoke", "precomp")
    (found,) = by_name.check(f"precomp={folder}", by_name.Asked(profile, ()))
    assert found.startswith(f"{folder / 'train_ims.npy'}, image row {step}: {said}")
    assert found.endswith(precomp.REMEDY)
    with pytest.raises(DataError) as caught:
        by_name.prepare(f"precomp={folder}", Settings(), folder.parent / "made")
    assert str(caught.value) == found and not (folder.parent / "made").exists()
    by_name.prepare(f"precomp={folder}", Settings(train_images=1), folder.parent / "made")


@pytest.mark.parametrize("step", [1, 5])
def test_an_image_of_two_splits_is_found(folder, looked, monkeypatch, step):
    monkeypatch.setattr(by_name, "FEWEST", 1)
    asked = by_name.Asked(profiles.get("smoke", "precomp"), ())
    assert by_name.check(f"precomp={folder}", asked) == []
    arrays = made_features()
    arrays["test"][1, 0] = arrays["train"][1, 0]
    np.save(folder / "test_ims.npy", arrays["test"])
    if step == 5:
        repeat(folder, "train"), repeat(folder, "test")
    (found,) = by_name.check(f"precomp={folder}", asked)
    assert found.startswith(
        f"{folder / 'test_ims.npy'}, image row {step}: the same features as image row {step} of "
        "train_ims.npy (1 are in two splits), expected other pictures to be tested on"
    )
    fewer = asked._replace(profile=profiles.get("smoke", "precomp", {"train_images": "1"}))
    assert by_name.check(f"precomp={folder}", fewer) == []


def test_what_was_found_sound_is_not_looked_at_again(folder, looked, tmp_path):
    spec, sample = f"precomp={folder}", 2 + 1 + 2
    by_name.prepare(spec, Settings(), tmp_path / "made")
    assert len(looked) == sample + 6
    by_name.prepare(spec, Settings(), tmp_path / "elsewhere")
    assert len(looked) == 2 * sample + 6
    array = made_features()["train"]
    array[1, 2, 1] = np.nan
    np.save(folder / "train_ims.npy", array)  # other content
    with pytest.raises(DataError, match="train_ims.npy, image row 1: a feature"):
        by_name.prepare(spec, Settings(), tmp_path / "made")


def test_features_are_looked_at_where_no_mark_can_be_kept(folder, looked, tmp_path):
    (tmp_path / "looked at").write_text("in the way")
    assert by_name.prepare(f"precomp={folder}", Settings(), tmp_path / "made").regions.shape[0] == 6


# What can be wrong with the captions of dev: bytes before, bytes after, what the error names.
CAPTION_CASES = {
    "empty line": (b"2. ", b"\n2. ", "dev_caps.txt, row 3: empty caption"),
    "blank at the end": (b'4. "d", a caf\xc3\xa9; it\'s so .\n', b" \n", "row 5: empty caption"),
    "line lost": (b'4. "d", a caf\xc3\xa9; it\'s so .\n', b"", "4 captions for 1 rows"),
    "not UTF-8": (b"caf\xc3\xa9", b"caf\xe9", "dev_caps.txt, row 1: not UTF-8"),
}


@pytest.mark.parametrize("case", CAPTION_CASES)
def test_broken_captions(folder, case):
    old, new, expected = CAPTION_CASES[case]
    octets = (folder / "dev_caps.txt").read_bytes()
    assert old in octets
    (folder / "dev_caps.txt").write_bytes(octets.replace(old, new, 1))
    found = problem(folder)
    assert expected in found and "data.zip" in found


def nan_in(array):
    array = array.copy()
    array[1, 2, 0] = np.nan
    return array


# What can be wrong with the features of test (2 images, 10 captions).
FEATURE_CASES = {
    "objects": (lambda a: a.astype(object), "not a whole .npy file"),
    "doubles": (lambda a: a.astype(float), "float64"),
    "two dimensions": (lambda a: a[:, 0], "shape (2, 3)"),
    "Fortran order": (np.asfortranarray, "shape (2, 4, 3) in Fortran order"),
    "no images": (lambda a: a[:0], "shape (0, 4, 3)"),
    "one too many": (lambda a: np.concatenate([a, a[:1]]), "10 captions for 3 rows"),
    "not a number": (nan_in, "test_ims.npy, image row 1: a feature is not a finite number"),
    "other width": (lambda a: a[:, :, :2], "regions and width (4, 2), expected (4, 3)"),
    "a caption an image": (
        lambda a: np.arange(10 * K * D, dtype=np.float32).reshape(10, K, D),
        "image row 1: differs from row 0",
    ),
}


@pytest.mark.parametrize("case", FEATURE_CASES)
def test_broken_features(folder, case):
    change, expected = FEATURE_CASES[case]
    np.save(folder / "test_ims.npy", change(made_features()["test"]), allow_pickle=True)
    if case == "a caption an image":
        (folder / "test_ids.txt").unlink()
    assert expected in problem(folder)


def test_last_image_is_in_the_sample(folder):
    array = made_features()["train"]
    array[2, K - 1, D - 1] = -np.inf
    np.save(folder / "train_ims.npy", array)
    assert "train_ims.npy, image row 2: a feature" in problem(folder)


@pytest.mark.parametrize("damage", ["cut short", "empty", "archive"])
def test_feature_file_that_is_not_whole(folder, damage):
    path = folder / "test_ims.npy"
    octets = path.read_bytes()
    path.write_bytes(octets[:-4] if damage == "cut short" else b"")
    if damage == "archive":
        with open(path, "wb") as file:
            np.savez(file, a=np.zeros(3))
    assert "not a whole .npy file" in problem(folder)


@pytest.mark.parametrize(
    "ids, expected",
    [
        ("é\n", "1 ids for 2 images"),
        ("é\né\n", "row 2: id 'é'"),
        ("é\n\n", "row 2: id ''"),
        ("é\n" * 4 + "f\n" * 6, "row 5: id 'f'"),
        ("é\n" * 6 + "f\n" * 4, "row 6: id 'é'"),
    ],
)
def test_broken_ids(folder, ids, expected):
    (folder / "test_ids.txt").write_text(ids, "utf-8")
    found = problem(folder)
    assert f"test_ids.txt{', ' if 'row' in expected else ': '}{expected}" in found


@pytest.mark.parametrize("lost", ["train_caps.txt", "dev_ims.npy"])
def test_missing_file(folder, lost):
    (folder / lost).unlink()
    found = problem(folder)
    assert f"{lost}: file missing" in found and "8.6 GB" in found and "data.zip" in found


def test_published_sizes_are_asked_of_the_named_collections(folder):
    found = by_name.check(f"f30k_precomp={folder}")
    assert len(found) == 3 and "dev_ims.npy: 1 images, expected 1,014" in found[1]
    assert "test_ims.npy: 2 images, expected 1,000" in by_name.check(f"coco_precomp={folder}")[2]
    assert "expected 5,000 or 1,000" in by_name.check(f"coco_precomp={folder}")[1]


@pytest.mark.parametrize("wrong", ["features", "captions", "break", "none"])
def test_what_cannot_be_read_back_is_not_written(tmp_path, wrong):
    names, captions, features = dict(NAMES), dict(CAPTIONS), made_features()
    if wrong == "features":
        features["test"] = features["test"][:1]
    elif wrong == "captions":
        captions["a"] = captions["a"][:4]
    elif wrong == "break":
        captions["a"] = [*captions["a"][:4], "two\nlines"]
    else:
        names["dev"] = []
    with pytest.raises(DataError):
        precomp.write(tmp_path / "new", names, captions, features)
    assert wrong == "features" or not (tmp_path / "new").exists()
    assert not list(tmp_path.glob("new/.*"))


@pytest.mark.realdata
@pytest.mark.parametrize(
    "name, file, images",
    [
        ("f30k_precomp", "dev", 1014),
        ("f30k_precomp", "test", 1000),
        ("coco_precomp", "dev", 1000),
        ("coco_precomp", "test", 1000),
        ("coco_precomp", "testall", 5000),
    ],
)
@pytest.mark.parametrize("step", [1, 5])
def test_published_caption_files(realdata, tmp_path, name, file, images, step):
    """The captions are real; the features are made up, of the right number of rows."""
    for split in ("train", "dev", "test"):
        source = realdata / name / f"{file}_caps.txt"
        (tmp_path / f"{split}_caps.txt").symlink_to(source)
        rows = np.lib.format.open_memmap(
            tmp_path / f"{split}_ims.npy", "w+", np.float32, (images * step, 36, 8)
        )
        rows[:, 0, :2] = 1, -1
        rows[-step:] = 7
        rows.flush()
    found = precomp.read(tmp_path, "precomp")
    assert not found.problems and found.steps == dict.fromkeys(NAMES, step)
    assert images in precomp.SIZES[name][file]
    assert [len(texts) for texts in found.captions.values()] == [5 * images] * 3
    features = prepared.RegionFeatures([(path, images, step) for path in found.files.values()])
    assert features.shape == (3 * images, 36, 8)
    assert features[[images - 2, images - 1]].mean(axis=(1, 2)).tolist() == [0, 7]
