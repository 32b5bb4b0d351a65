"""A folder of pictures of one's own: what is found, how it is decoded, what is skipped and said."""

import json
import os
import time
from collections import Counter
from contextlib import nullcontext
from threading import Lock, Thread

import numpy as np
import pytest
from alignbook.datasets import picture_folder, prepared
from alignbook.errors import DataError
from PIL import Image

SIZE = 16
RED, BLUE = (250, 10, 10), (10, 10, 250)


def halves(width=64, height=48) -> Image.Image:
    """Red on the left, blue on the right."""
    picture = Image.new("RGB", (width, height), RED)
    picture.paste(BLUE, (width // 2, 0, width, height))
    return picture


def turned(picture: Image.Image, path, orientation: int) -> None:
    exif = Image.Exif()
    exif[0x0112] = orientation
    picture.save(path, exif=exif)


@pytest.fixture
def folder(tmp_path):
    """Good and bad files, in folders and with names that would do harm."""
    folder = tmp_path / "my pictures"
    (folder / "b & <b>c").mkdir(parents=True)
    (folder / ".thumbnails").mkdir()
    halves().save(folder / "a.JPG", "JPEG", quality=95)
    halves().save(folder / "b & <b>c" / "<img src=x> 'y'.png")
    halves().save(folder / "b & <b>c" / "w.webp", lossless=True)
    halves().save(folder / "copy of a.JPG", "JPEG", quality=95)
    halves().save(folder / ".thumbnails" / "t.jpg")
    halves().save(folder / "._a.jpg")
    (folder / "empty.jpg").write_bytes(b"")
    (folder / "text.jpg").write_text("no picture")
    (folder / "notes.txt").write_text("no picture, and not taken for one")
    noise = np.random.default_rng(0).integers(0, 255, (200, 200, 3)).astype(np.uint8)
    Image.fromarray(noise).save(folder / "broken.jpeg")
    whole = (folder / "broken.jpeg").read_bytes()
    (folder / "broken.jpeg").write_bytes(whole[: len(whole) // 2])
    os.symlink(folder / "gone", folder / "link.png")
    return folder


GOOD = ["a.JPG", "b & <b>c/<img src=x> 'y'.png", "b & <b>c/w.webp", "copy of a.JPG"]
BAD = {"broken.jpeg": "truncated", "empty.jpg": "no picture in a format"}
BAD |= {"link.png": "No such file", "text.jpg": "no picture in a format"}


def test_pictures_are_found_below_in_one_order(folder):
    assert picture_folder.found(folder) == sorted([*GOOD, *BAD])


def test_good_ones_are_kept_in_order_and_bad_ones_named(folder, tmp_path):
    dataset = picture_folder.prepare(folder, tmp_path / "out", SIZE)
    assert dataset.names == GOOD and dataset.name == "my photographs"
    assert dataset.images.shape == (4, SIZE, SIZE, 3) and dataset.images.dtype == np.uint8
    assert dataset.splits["test"].tolist() == [0, 1, 2, 3]
    assert dataset.captions == [] and dataset.captions_of("test") == []
    for picture in dataset.images.astype(int):
        assert abs(picture[:, :6] - RED).max() < 12 and abs(picture[:, -6:] - BLUE).max() < 12
    assert (dataset.images[0] == dataset.images[3]).all()  # the same picture under two names
    bad = dataset.meta["skipped"]
    assert bad.keys() == BAD.keys() and all(BAD[name] in why for name, why in bad.items())
    lines = picture_folder.skipped(dataset)
    assert lines[0] == "my photographs: 4 pictures; skipped 4 of 8 files:"
    assert [line.split(":")[0].strip() for line in lines[1:]] == sorted(BAD)
    left = {path.name for path in (tmp_path / "out").iterdir()}
    assert left == {dataset.folder.name, "hashes.json"} or left == {dataset.folder.name}
    assert str(dataset.images.filename).startswith(str(tmp_path / "out"))


def test_many_bad_ones_are_named_up_to_a_limit(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(picture_folder, "SHOWN", 2)
    (folder / "empty.jpg").rename(folder / "em\x1b[1mpty.jpg")
    lines = picture_folder.skipped(picture_folder.prepare(folder, tmp_path / "out", SIZE))
    assert len(lines) == 4 and "em\\x1b[1mpty.jpg: no picture" in lines[2]
    assert "… and 2 more, all in" in lines[3] and "meta.json" in lines[3]


def test_names_that_are_no_utf8(folder, tmp_path):
    try:
        os.rename(folder / "a.JPG", os.fsencode(folder) + b"/\xff.jpg")
    except OSError:
        pytest.skip("this file system has no such names")
    (folder / "empty.jpg").rename(os.fsdecode(os.fsencode(folder) + b"/\xfe.jpg"))
    for _ in range(2):  # as it is made, and as it is found
        dataset = picture_folder.prepare(folder, tmp_path / "out", SIZE)
        assert dataset.names[-1] == "\udcff.jpg" and len(dataset.names) == 4
        "\n".join(picture_folder.skipped(dataset)).encode()


@pytest.mark.parametrize("orientation", range(1, 9))
def test_pictures_stand_upright(tmp_path, orientation):
    """A file of each orientation, whose picture is the same."""
    upright = halves(60, 40)
    upright.paste((10, 250, 10), (0, 0, 60, 20))  # green above
    back = {2: 0, 3: 3, 4: 1, 5: 5, 6: 2, 7: 6, 8: 4}
    stored = upright.transpose(back[orientation]) if orientation > 1 else upright
    turned(stored, tmp_path / "turned.png", orientation)
    upright.save(tmp_path / "upright.png")
    seen = picture_folder.square(tmp_path / "turned.png", SIZE).astype(int)
    assert abs(seen - picture_folder.square(tmp_path / "upright.png", SIZE)).max() <= 1


def test_a_photograph_is_cut_as_those_that_are_trained_on(tmp_path):
    rng = np.random.default_rng(1)
    for i, (width, height) in enumerate([(50, 37), (37, 50), (32, 32), (9, 11)]):
        pixels = rng.integers(0, 255, (height, width, 3)).astype(np.uint8)
        Image.fromarray(pixels).save(tmp_path / f"{i}.png")
    names = [f"{i}.png" for i in range(4)]
    expected = np.zeros((4, SIZE, SIZE, 3), np.uint8)
    prepared.decode(tmp_path, names, expected, fit="crop")
    for name, picture in zip(names, expected):
        assert (picture_folder.square(tmp_path / name, SIZE) == picture).all()


def test_a_large_jpeg_is_decoded_small_and_looks_the_same(tmp_path, monkeypatch):
    halves(1000, 800).save(tmp_path / "large.jpg", quality=95)
    sizes, resize = [], Image.Image.resize
    monkeypatch.setattr(
        Image.Image, "resize", lambda self, *how: sizes.append(self.size) or resize(self, *how)
    )
    seen = picture_folder.square(tmp_path / "large.jpg", SIZE).astype(int)
    assert sizes == [(125, 100)]
    assert abs(seen[:, :6] - RED).max() < 12 and abs(seen[:, -6:] - BLUE).max() < 12


def test_what_is_transparent_is_white(tmp_path):
    clear = Image.new("RGBA", (20, 20), (*RED, 0))
    clear.paste((*BLUE, 255), (0, 0, 20, 10))
    clear.save(tmp_path / "clear.png")
    seen = picture_folder.square(tmp_path / "clear.png", SIZE)
    assert (seen[:6] == BLUE).all() and (seen[-6:] == 255).all()


@pytest.mark.parametrize(
    "mode, size, words",
    [
        ("I;16", (20, 20), "more than 8 bits a pixel"),
        ("RGB", (30, 40), "30 × 40 pixels, 1,000 at most"),
        ("L", (21 * 3, 3), "63 × 3 pixels, the longer side 20 times the shorter at most"),
    ],
)
def test_what_is_not_decoded_says_why(tmp_path, monkeypatch, mode, size, words):
    monkeypatch.setattr(picture_folder, "MOST_PIXELS", 1000)
    (tmp_path / "in").mkdir()
    Image.new(mode, size).save(tmp_path / "in/x.png")
    with pytest.raises(DataError, match=f"none of 1 files can be decoded.*x.png, for: {words}"):
        picture_folder.prepare(tmp_path / "in", tmp_path / "out", SIZE)
    assert not [path for path in (tmp_path / "out").iterdir() if path.is_dir()]


def test_of_large_pictures_no_more_are_decoded_at_once_than_one_may_be(monkeypatch):
    """Two of the largest one after the other, many small ones together; nobody waits for ever."""
    at_work, most, lock = Counter(), Counter(), Lock()

    def decode(pixels):
        with prepared.room_for(pixels):
            with lock:
                at_work[pixels] += 1
                most[pixels] = max(most[pixels], at_work[pixels])
            time.sleep(0.02)
            with lock:
                at_work[pixels] -= 1

    def all_at_once(sizes):
        threads = [Thread(target=decode, args=(each,), daemon=True) for each in sizes]
        for each in threads:
            each.start()
        for each in threads:
            each.join(timeout=3)
        assert not any(each.is_alive() for each in threads)

    largest, half, small = prepared.MOST_PIXELS, prepared.MOST_PIXELS // 2, 1000
    for pixels in (largest, half, small):
        all_at_once([pixels] * 8)
    assert (most[largest], most[half]) == (1, 2) and most[small] > 2
    all_at_once([half + 1, largest, small, half, half + 1, largest] * 3)


@pytest.mark.parametrize("decode", ("prepared", "picture_folder"))
def test_pictures_wait_for_their_room(tmp_path, monkeypatch, decode):
    asked = []
    monkeypatch.setattr(prepared, "room_for", lambda n: asked.append(n) or nullcontext())
    monkeypatch.setattr(picture_folder, "room_for", prepared.room_for)
    Image.new("RGB", (30, 40)).save(tmp_path / "x.png")
    if decode == "prepared":
        prepared.decode(tmp_path, ["x.png"], np.zeros((1, 8, 8, 3), np.uint8))
    else:
        picture_folder.square(tmp_path / "x.png", 8)
    assert asked == [1200]


def test_a_drafted_picture_asks_for_the_room_of_its_draft_only(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(prepared, "room_for", lambda n: asked.append(n) or nullcontext())
    Image.new("RGB", (640, 320)).save(tmp_path / "x.jpg")
    images = np.zeros((1, 40, 40, 3), np.uint8)
    prepared.decode(tmp_path, ["x.jpg"], images)
    prepared.decode(tmp_path, ["x.jpg"], images, [[0, 0, 640, 320]])
    assert asked == [160 * 80, 640 * 320]


def test_a_pipe_is_skipped_and_not_waited_for(folder, tmp_path):
    os.mkfifo(folder / "pipe.jpg")
    dataset = picture_folder.prepare(folder, tmp_path / "out", SIZE)
    assert "named pipe" in dataset.meta["skipped"]["pipe.jpg"]


def test_what_is_there_is_not_decoded_again(folder, tmp_path, monkeypatch):
    first = picture_folder.prepare(folder, tmp_path / "out", SIZE)
    monkeypatch.setattr(picture_folder, "square", lambda *_: pytest.fail("decoded again"))
    again = picture_folder.prepare(folder, tmp_path / "out", SIZE)
    assert again.fingerprint == first.fingerprint and len(first.fingerprint) == 64
    assert (again.images == first.images).all()


def test_another_content_name_or_size_is_another_data_set(folder, tmp_path):
    def mark(size=SIZE):
        return picture_folder.prepare(folder, tmp_path / "out", size).fingerprint

    marks = [mark(), mark(SIZE + 1)]
    halves().save(folder / "text.jpg")
    marks.append(mark())
    (folder / "a.JPG").rename(folder / "A.JPG")
    marks.append(mark())
    halves(40, 60).save(folder / "A.JPG", "JPEG")
    marks.append(mark())
    (folder / "copy of a.JPG").unlink()
    marks.append(mark())
    assert len({*marks}) == 6


def test_an_interrupt_leaves_nothing_half_made(folder, tmp_path, monkeypatch):
    with monkeypatch.context() as broken:

        def interrupted(items, *_):
            yield next(iter(items))
            raise KeyboardInterrupt

        broken.setattr(picture_folder, "progress", interrupted)
        with pytest.raises(KeyboardInterrupt):
            picture_folder.prepare(folder, tmp_path / "out", SIZE)
    assert not [path for path in (tmp_path / "out").iterdir() if path.is_dir()]
    assert picture_folder.prepare(folder, tmp_path / "out", SIZE).names == GOOD


def test_what_was_altered_is_made_again(folder, tmp_path, capsys):
    made = picture_folder.prepare(folder, tmp_path / "out", SIZE).folder
    meta = json.loads((made / "meta.json").read_text())
    (made / "meta.json").write_text(json.dumps(meta | {"names": GOOD[::-1]}))
    assert picture_folder.prepare(folder, tmp_path / "out", SIZE).names == GOOD
    assert "set aside" in capsys.readouterr().err


def test_folders_without_pictures_are_refused(tmp_path):
    with pytest.raises(DataError, match="no such folder, expected one of pictures; name a folder"):
        picture_folder.found(tmp_path / "gone")
    (tmp_path / "x.txt").write_text("x")
    with pytest.raises(DataError, match="0 pictures, expected 1 to 20,000; name a folder with"):
        picture_folder.found(tmp_path)


def test_too_many_pictures_and_too_little_room(folder, tmp_path, monkeypatch):
    with pytest.raises(DataError, match="MB free, expected .* for 8 pictures: make room, or name"):
        picture_folder.prepare(folder, tmp_path / "out", SIZE, extra=10**15)
    monkeypatch.setattr(picture_folder, "MOST", 7)
    with pytest.raises(DataError, match="8 pictures, expected 1 to 7"):
        picture_folder.found(folder)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every folder")
def test_a_folder_that_may_not_be_read_is_named(folder):
    (folder / "locked").mkdir(mode=0)
    with pytest.raises(DataError, match="locked: cannot be read"):
        picture_folder.found(folder)
