"""The tables of the re-uploads: quotes, bars and the splits that they leave open."""

from dataclasses import dataclass

import pytest
from alignbook.datasets import by_name, captions_csv, flickr8k, karpathy
from alignbook.errors import DataError
from PIL import Image

NAMES = {"train": ["a.jpg", "c.jpg", "b.jpg"], "dev": ["é.jpg"], "test": ["e.jpg", "d.jpg"]}
PLAIN = ["A dog, a cat .", 'A sign reads "Stop" .', '"Go", it says', "Un café, s'il te plaît", "x"]
CAPTIONS = {
    name: [f"{text} {name}" for text in PLAIN] for names in NAMES.values() for name in names
}
SIZES = {"train": 3, "dev": 1, "test": 1}


@dataclass(frozen=True)
class Settings:
    size: int = 8
    fit: str = "squash"
    train_images: int = 0
    dev_images: int = 0
    test_images: int = 0


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Six photographs, no captions yet."""
    monkeypatch.setattr(karpathy, "SIZES", {"flickr8k": SIZES, "flickr30k": SIZES})
    folder = tmp_path / "photos"
    (folder / "Images").mkdir(parents=True)
    for name in CAPTIONS:
        Image.new("RGB", (9, 9)).save(folder / "Images" / name)
    return folder


def table(folder, rows, file="captions.txt"):
    (folder / file).write_text("".join(f"{row}\n" for row in rows), "utf-8")
    return folder


def without_lists(folder, name="flickr8k"):
    """The table as the re-uploads have it, beside no lists."""
    captions_csv.write(folder, NAMES, CAPTIONS, name)
    for path in folder.glob("Flickr_*"):
        path.unlink()
    return folder


def problem(folder, name="flickr8k"):
    """The one problem of a folder, which `prepare` raises before it makes anything."""
    (found,) = by_name.check(f"{name}={folder}")
    root = folder.parent / "made"
    with pytest.raises(DataError) as caught:
        by_name.prepare(f"{name}={folder}", Settings(), root)
    assert str(caught.value) == found and not root.exists()
    return found


@pytest.mark.parametrize("name", ["flickr8k", "flickr30k"])
def test_what_is_written_is_read(folder, name, monkeypatch):
    captions_csv.write(folder, NAMES, CAPTIONS, name)
    found = captions_csv.read(folder, name, sizes={})
    assert found.problems == [] and found.splits == NAMES and found.captions == CAPTIONS
    assert "Images.txt" in found.notes["split"]


@pytest.mark.parametrize("name", ["flickr8k", "flickr30k"])
def test_without_lists_the_split_is_the_sorted_names(folder, name):
    made = by_name.prepare(f"{name}={without_lists(folder, name)}", Settings(), folder / "made")
    assert made.names == ["a.jpg", "b.jpg", "c.jpg", "d.jpg", "e.jpg"]  # é.jpg comes last: unused
    assert made.captions_of("dev") == CAPTIONS["d.jpg"]
    assert made.meta["reader"] == ("captions.txt" if name == "flickr8k" else "results.csv")
    assert "not the official" in made.meta["split"] and made.meta["images of no split"] == 1


@pytest.mark.parametrize(
    "row, expected",
    [
        ('a.jpg,"A dog, a cat ."', "A dog, a cat ."),
        ("a.jpg,A dog, a cat .", "A dog, a cat ."),
        ('a.jpg,"He says ""no"" ."', 'He says "no" .'),
        ('a.jpg,A "dog" .', 'A "dog" .'),
        ("a.jpg, spaces around \r", "spaces around"),
    ],
)
def test_quotes_and_commas(folder, row, expected):
    table(folder, ["image,caption", row])
    assert captions_csv.read(folder, "flickr8k").captions == {"a.jpg": [expected]}


def test_comment_numbers_between_bars_and_between_commas(folder):
    rows = [
        "image_name| comment_number| comment",
        'a.jpg| 0| One | two , "three"',
        "a.jpg| 1   The second bar is missing .",
    ]
    found = captions_csv.read(table(folder, rows, "results.csv"), "flickr30k")
    assert found.captions == {"a.jpg": ['One | two , "three"', "The second bar is missing ."]}
    assert found.notes["rows without their second bar"] == 1
    (folder / "results.csv").unlink()
    rows = ["image_name,comment_number,comment", 'a.jpg,0,"One, two"', "a.jpg,1, three"]
    found = captions_csv.read(table(folder, rows), "flickr30k")
    assert found.captions == {"a.jpg": ["One, two", "three"]}


def test_table_in_the_folder_of_photographs(folder):
    without_lists(folder)
    (folder / "captions.txt").rename(folder / "Images" / "captions.txt")
    assert by_name.check(f"flickr8k={folder}") == []


def test_which_reader_is_taken(folder):
    captions_csv.write(folder, NAMES, CAPTIONS)
    readers = []
    for file in ("captions.txt", "dataset_flickr8k.json", "Flickr8k_text"):
        if file == "dataset_flickr8k.json":
            karpathy.write(folder, NAMES, CAPTIONS)
        elif file == "Flickr8k_text":
            flickr8k.write(folder, NAMES, CAPTIONS)
        readers.append(by_name._read("flickr8k", folder).reader)
    assert readers == ["captions.txt", "dataset_flickr8k.json", "Flickr8k_text"]
    captions_csv.write(folder, NAMES, CAPTIONS, "flickr30k")
    assert by_name._read("flickr30k", folder).reader == "results.csv"
    karpathy.write(folder, NAMES, CAPTIONS, "flickr30k")
    assert by_name._read("flickr30k", folder).reader == "dataset_flickr30k.json"


@pytest.mark.parametrize("write", [flickr8k.write, karpathy.write])
def test_the_other_writers_are_read_back(folder, write, monkeypatch):
    monkeypatch.setattr(flickr8k.read, "__defaults__", ({},))
    monkeypatch.setattr(karpathy, "SIZES", {"flickr8k": {}})
    write(folder, NAMES, CAPTIONS)
    found = by_name._read("flickr8k", folder)
    assert found.problems == [] and found.splits == NAMES and found.captions == CAPTIONS
    assert not list(folder.rglob(".*"))


def test_written_folders_of_photographs_are_read_back(tmp_path):
    names = {split: [f"{split}2014/{name}" for name in listed] for split, listed in NAMES.items()}
    captions = {
        f"{split}2014/{name}": CAPTIONS[name] for split, listed in NAMES.items() for name in listed
    }
    for path in captions:
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).touch()
    karpathy.write(tmp_path, names, captions, "coco")
    found = karpathy.read(tmp_path, "coco", sizes={})
    assert found.problems == [] and found.splits == names and found.captions == captions


# What can be wrong with a table: bytes before, bytes after, what the error names.
BROKEN = {
    "header": (b"image,caption", b"picture,caption", "row 1: header 'picture,caption'"),
    "no header": (b"image,caption\n", b"", "row 1: header"),
    "empty caption": (b'"A dog, a cat . a.jpg"', b" ", "row 2: caption of a.jpg is empty"),
    "open quote": (b'"A dog, a cat . a.jpg"', b'"A dog', "row 2: 'a.jpg,\"A dog'"),
    "single quotes": (b'"A dog, a cat . a.jpg"', b'"A "dog" ."', 'row 2: \'a.jpg,"A "dog"'),
    "no comma": (b'a.jpg,"A dog, a cat . a.jpg"', b"a.jpg", "row 2: 'a.jpg'"),
    "not UTF-8": (b"caf\xc3\xa9", b"caf\xe9", "row 5: not UTF-8"),
    "four captions": (b"a.jpg,x a.jpg\n", b"", "row 2: a.jpg has 4 captions, expected 5"),
    "six captions": (b"a.jpg,x a.jpg\n", b"a.jpg,x a.jpg\n" * 2, "a.jpg has 6 captions"),
    "leaves the folder": (b"a.jpg,", b"../a.jpg,", "'../a.jpg' leaves the folder"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_broken_table(folder, case):
    old, new, expected = BROKEN[case]
    path = without_lists(folder) / "captions.txt"
    octets = path.read_bytes()
    assert old in octets
    count = -1 if case == "leaves the folder" else 1
    path.write_bytes(octets.replace(old, new, count))
    found = by_name.check(f"flickr8k={folder}")
    assert "captions.txt, " in found[0] and expected in found[0] and "re-upload" in found[0]
    with pytest.raises(DataError):
        by_name.prepare(f"flickr8k={folder}", Settings(), folder / "made")


def test_comment_numbers_that_are_not_in_order(folder):
    path = without_lists(folder, "flickr30k") / "results.csv"
    path.write_text(path.read_text("utf-8").replace("a.jpg| 2|", "a.jpg| 3|"), "utf-8")
    assert "results.csv, row 4: caption 3 of a.jpg after 2 others" in problem(folder, "flickr30k")


def test_too_few_images_for_the_published_split(folder, monkeypatch):
    monkeypatch.setattr(karpathy, "SIZES", {"flickr8k": SIZES | {"train": 6000}})
    assert (
        "6 images, expected at least 6,002" in by_name.check(f"flickr8k={without_lists(folder)}")[0]
    )


def test_missing_photograph(folder):
    without_lists(folder)
    (folder / "Images" / "b.jpg").unlink()
    found = problem(folder)
    assert "captions.txt, row 12" in found and "1 of 5" in found and "unpack" in found


def test_missing_table_or_folder(folder):
    found = captions_csv.read(folder, "flickr8k").problems
    assert "captions.txt: file missing" in found[0] and "40,455 captions" in found[0]
    (folder / "Images").rename(folder / "pictures")
    assert "no folder of photographs" in captions_csv.read(folder, "flickr8k").problems[0]


@pytest.mark.parametrize("write", [captions_csv.write, flickr8k.write, karpathy.write])
@pytest.mark.parametrize(
    "wrong",
    [
        {"a.jpg": ["x"] * 4},
        {"a.jpg": ["x"] * 4 + [" "]},
        {"a.jpg": ["x"] * 4 + ["x\ny"]},
        {"a.jpg": ["x"] * 4 + [" x"]},
    ],
)
def test_captions_that_cannot_be_read_back_are_not_written(tmp_path, write, wrong):
    with pytest.raises(DataError, match="a.jpg"):
        write(tmp_path, NAMES, CAPTIONS | wrong)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["b.jpg", "../x.jpg", "/x.jpg", "", " x.jpg", "x,y.jpg"])
def test_names_that_cannot_be_read_back_are_not_written(tmp_path, name):
    with pytest.raises(DataError, match="image name"):
        captions_csv.write(tmp_path, NAMES | {"dev": [name]}, CAPTIONS | {name: ["x"] * 5})


@pytest.mark.realdata
def test_flickr8k_as_a_table(realdata, tmp_path):
    """The real captions as the re-uploads have them; where lists are, the official split."""
    released = flickr8k.read(realdata / "flickr8k")
    (tmp_path / "Images").symlink_to(realdata / "flickr8k" / "Images")
    captions_csv.write(tmp_path, released.splits, released.captions)
    found = captions_csv.read(tmp_path, "flickr8k")
    assert found.problems == [] and found.captions == released.captions
    assert found.splits == released.splits
    for path in tmp_path.glob("Flickr_8k*"):
        path.unlink()
    found = captions_csv.read(tmp_path, "flickr8k")
    assert found.problems == [] and [len(v) for v in found.splits.values()] == [6000, 1000, 1000]
    shared = set(found.splits["test"]) & set(released.splits["test"])
    assert len(shared) < 300  # another split than the official one
