"""How a prepared data set lies on disk: written aside, moved into place, memory-mapped.

A folder holds images.npy, captions.json, splits.json, names.json and meta.json, which states size
and hash of all the others: a folder that is no longer as it was written is set aside and prepared
again. The embedded world adds objects, relations and phrases as .parquet, region features of one's
own regions.npy. A precomp collection has no images, and its features stay where they are.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from alignbook.errors import DataError
from alignbook.store import contents, durable, fingerprint
from alignbook.store.progress import is_shared, show

SPLITS = ("train", "dev", "test")
CAPTIONS_PER_IMAGE = 5
# What a photograph may be. Others that Pillow knows start programs (EPS) or hold no picture.
FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF")
MOST_PIXELS = 64_000_000  # of a photograph, and of all that are decoded at once: 256 MB
SHARES = 8  # of those, of which a photograph takes as many as it needs
_free, _taking = threading.Semaphore(SHARES), threading.Lock()


class RegionFeatures:
    """Region features of every image, in .npy files: only rows asked for are read, none copied.

    Parameters
    ----------
    parts : list of (Path, int, int)
        A .npy file ``(R, K, D)`` of float16 or float32, how many images are taken from its start,
        and the step between their rows: 5 where a file repeats every image five times.

    Attributes
    ----------
    shape : tuple of int
        ``(N, K, D)``: images, regions an image, width.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "features.npy"
    >>> np.save(path, np.arange(20, dtype=np.float32).reshape(10, 1, 2).repeat(5, axis=0))
    >>> features = RegionFeatures([(path, 10, 5)])
    >>> features.shape, features[[3, 0]].tolist()
    ((10, 1, 2), [[[6.0, 7.0]], [[0.0, 1.0]]])
    """

    def __init__(self, parts: list[tuple[Path, int, int]]):
        self._parts = parts
        stored = [np.load(path, mmap_mode="r", allow_pickle=False) for path, _, _ in parts]
        self._layout = [(each.offset, each.dtype) for each in stored]
        self._ends = np.cumsum([rows for _, rows, _ in parts])
        self.shape = (int(self._ends[-1]), *stored[0].shape[1:])

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index) -> np.ndarray:
        """Features of some images, ``(B, K, D) float32``: `[rows]`, or `[rows, :k]` of the first k.

        Rows are read, not mapped into memory: that is several times as fast where a file is larger
        than memory, and a file cut short is an error instead of the end of the process.

        Raises
        ------
        IndexError
            No such row, or regions other than the first k.
        DataError
            A row is not there, or a feature in it not a finite number; names the file and row.
        """
        rows, first = index if isinstance(index, tuple) else (index, slice(None))
        if first.start or first.step:
            raise IndexError(f"regions {first}: expected :k, the first k")
        rows = np.atleast_1d(np.arange(len(self))[rows])
        part = np.searchsorted(self._ends, rows, side="right")
        _, regions, width = self.shape
        found = np.empty((len(rows), len(range(regions)[first]), width), np.float32)
        for i in np.unique(part):
            path, images, step = self._parts[i]
            offset, dtype = self._layout[i]
            place = (rows - self._ends[i] + images) * step
            buffer = np.empty(found.shape[1:], dtype)
            with open(path, "rb", buffering=0) as file:
                for j in np.flatnonzero(part == i):
                    file.seek(offset + int(place[j]) * regions * width * dtype.itemsize)
                    whole = file.readinto(buffer) == buffer.nbytes
                    found[j] = buffer
                    if not whole or not np.isfinite(buffer).all():
                        what = "a feature is not a finite number" if whole else "cut short"
                        raise DataError(
                            f"{path}, image row {place[j]}: {what}, expected whole "
                            "features: take the file again"
                        )
        return found


@dataclass(frozen=True)
class Dataset:
    """Images with captions, memory-mapped.

    Attributes
    ----------
    name : str
        "world", "flickr8k", …
    folder : Path
        Where the prepared files lie.
    fingerprint : str
        64 hex digits of the content: images, captions, splits, names.
    images : numpy.ndarray or None
        ``(N, H, W, 3) uint8``, read-only memory map; None where there are only features.
    captions : list of str
        As they were written; image ``i`` owns ``captions[5 * i : 5 * i + 5]``.
    captions_per_image : int
    splits : dict
        "train", "dev", "test" → ``(n,) int64`` image rows.
    names : list of str
        File name of the photograph, or scene, of each image.
    regions : RegionFeatures or None
        Region features that came with the images; None where a base model has to make them.
    """

    name: str
    folder: Path
    fingerprint: str
    images: np.ndarray | None
    captions: list[str]
    captions_per_image: int
    splits: dict[str, np.ndarray]
    names: list[str]
    regions: RegionFeatures | None = None

    def captions_of(self, split: str) -> list[str]:
        """The captions of a split, image by image."""
        n = self.captions_per_image
        return [text for i in self.splits[split] for text in self.captions[n * i : n * (i + 1)]]

    @cached_property
    def objects(self):
        """Gold boxes, one row an object (`world.gold`); None for photographs."""
        return self._frame("objects")

    @cached_property
    def relations(self):
        """Gold relations, one row a relation (`world.gold`); None for photographs."""
        return self._frame("relations")

    @cached_property
    def phrases(self):
        """Phrases of the captions with their objects (`world.phrases`); None for photographs."""
        return self._frame("phrases")

    @cached_property
    def described(self):
        """Which gold objects a caption of their picture speaks of, `(R,) bool` in the order of
        `objects`; None for photographs. To take only these leaves out what nobody mentions.
        """
        if self.objects is None:
            return None
        told = self.phrases
        said = {*zip(told.image, told.object), *zip(told.image, told.other)}
        return np.array([each in said for each in zip(self.objects.image, self.objects.object)])

    @cached_property
    def meta(self) -> dict:
        """Settings and counts noted when the data set was prepared."""
        noted = _load(self.folder / "meta.json")
        return {name: value for name, value in noted.items() if name not in ("files", "seal")}

    def _frame(self, name: str):
        path = self.folder / f"{name}.parquet"
        if not path.is_file():
            return None
        import pandas

        return pandas.read_parquet(path)


def is_whole(folder: Path) -> bool:
    """Whether a prepared folder is there, every file of it as it was written.

    Otherwise what is there is set aside, in a line that names what is wrong, and is made again.
    Files that look as they did when another process read them are not read.
    """
    if not folder.exists():
        return False
    try:
        meta = _load(folder / "meta.json")
        said = {name: value for name, value in meta.items() if name != "seal"}
        if meta["seal"] != fingerprint.key(said):
            wrong = f"{folder / 'meta.json'}: altered, it is not as it was written"
        else:
            wrong = durable.fault(folder, meta["files"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        told = error.strerror if isinstance(error, OSError) else "not a whole list of its files"
        wrong = f"{folder / 'meta.json'}: {told}"
    if wrong:
        durable.set_aside(folder, wrong, "the data is prepared again")
    return not wrong


def load(folder: Path) -> Dataset:
    """Open a prepared folder; no image and no feature is read before it is used.

    Raises
    ------
    DataError
        Feature files that the folder names have gone or changed.
    """
    meta = _load(folder / "meta.json")
    splits = _load(folder / "splits.json")
    parts = []
    for each in meta.get("features", []):
        path = Path(each["file"])
        parts.append((path, each["images"], each["step"]))
        if not path.is_file() or path.stat().st_size != each["bytes"]:
            raise DataError(
                f"{path}: features missing or changed, expected the {each['bytes']:,} "
                "bytes seen before: put the file back, or prepare again"
            )
    if (folder / "regions.npy").is_file():
        parts = [(folder / "regions.npy", sum(map(len, splits.values())), 1)]
    pixels = folder / "images.npy"
    return Dataset(
        name=meta["name"],
        folder=folder,
        fingerprint=meta["fingerprint"],
        images=np.load(pixels, mmap_mode="r") if pixels.is_file() else None,
        captions=_load(folder / "captions.json"),
        captions_per_image=CAPTIONS_PER_IMAGE,
        splits={split: np.array(splits[split], np.int64) for split in SPLITS},
        names=_load(folder / "names.json"),
        regions=RegionFeatures(parts) if parts else None,
    )


class Contents(NamedTuple):
    """What a data set consists of."""

    name: str  # "world", "flickr8k", …
    size: int  # side of the square images in pixels; 0 for a data set of features alone
    splits: dict[str, list[str]]  # names of each split's images, which are stored in this order
    captions: list[str]  # five for each image in that order


def write(
    folder: Path, contents: Contents, fill, settings: dict, extra: int = 0, content: str = ""
) -> None:
    """Make a prepared folder: all aside in a sibling, then one rename.

    Parameters
    ----------
    folder : Path
        Final place. If another process put it there meanwhile, ours is dropped: same content.
    fill : callable
        ``fill(images, aside)`` writes every row of ``images (N, size, size, 3) uint8`` and may
        put more files into the folder ``aside``; ``images`` is None where size is 0.
    settings : dict
        Noted in meta.json.
    extra : int
        Bytes of the files that ``fill`` adds.
    content : str
        What the data set holds besides the files written here: goes into the fingerprint.
    """
    name, size, splits, captions = contents
    folder.parent.mkdir(parents=True, exist_ok=True)
    durable.sweep(folder.parent)
    names = [each for split in SPLITS for each in splits[split]]
    needed, free = len(names) * size * size * 3 + extra, shutil.disk_usage(folder.parent).free
    if needed > free:
        raise DataError(
            f"{folder.parent}: {free // 10**6:,} MB free, expected {needed // 10**6:,} MB for "
            f"{len(names):,} images at {size} pixels: make room or take a smaller profile"
        )
    aside = durable.aside(folder)
    aside.mkdir()
    try:
        images = None
        if size:
            shape = (len(names), size, size, 3)
            place = aside / "images.npy"
            images = np.lib.format.open_memmap(place, mode="w+", dtype=np.uint8, shape=shape)
        fill(images, aside)
        if size:
            images.flush()
            del images
        digest = _digest(aside, content)
        edges = np.cumsum([0] + [len(splits[split]) for split in SPLITS]).tolist()
        rows = {s: list(range(a, b)) for s, a, b in zip(SPLITS, edges, edges[1:], strict=False)}
        for file, value in (("captions", captions), ("splits", rows), ("names", names)):
            digest.update(_dump(aside / f"{file}.json", value))
        counts = {split: len(splits[split]) for split in SPLITS}
        meta = {"name": name, "size": size, "counts": counts, **settings}
        meta |= {"fingerprint": digest.hexdigest(), "files": durable.described(aside)}
        _dump(aside / "meta.json", {**meta, "seal": fingerprint.key(meta)})
        try:
            durable.replace(aside, folder)
        except OSError:
            if not (folder / "meta.json").is_file():
                raise
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _digest(aside: Path, content: str):
    """SHA-256 of what a data set holds besides, of its arrays and of its tables."""
    import pandas

    digest = hashlib.sha256(content.encode())
    for array in ("images.npy", "regions.npy"):
        if (aside / array).is_file():
            values = np.load(aside / array, mmap_mode="r")
            for start in range(0, len(values), 256):
                digest.update(np.ascontiguousarray(values[start : start + 256]))
            del values
    for table in sorted(aside.glob("*.parquet")):  # as text: parquet embeds versions
        digest.update(pandas.read_parquet(table).to_csv(index=False).encode())
    return digest


def decode(
    folder: Path, paths: list[str], images: np.ndarray, boxes=None, fit: str = "squash"
) -> None:
    """Decode photographs into the rows of ``images (N, size, size, 3) uint8``.

    Squashed to a square, as proportions are worth less than borders; or, with ``fit="crop"``, made
    smaller (bicubic) and cut to the middle, as CLIP's preprocessing does. Squashed JPEGs are
    decoded at the smallest scale that leaves twice the pixels a side, enough for a smooth
    reduction. Threads suffice: the decoder works outside the interpreter's lock.

    Parameters
    ----------
    folder, paths
        Row ``i`` shows the photograph ``folder / paths[i]``.
    boxes : (N, 4) int, optional
        x0, y0, x1, y1 in pixels of the photograph, half-open: what of it is shown, cut before it
        is made smaller. What lies outside the photograph is cut off; 0, 0, 0, 0 is the whole.

    Raises
    ------
    DataError
        A file cannot be decoded; a box is empty or wholly outside.
    """
    from PIL import Image

    size = images.shape[1]
    boxes = np.zeros((len(paths), 4), int) if boxes is None else np.asarray(boxes)
    if boxes.shape != (len(paths), 4) or boxes.dtype.kind not in "iu":
        raise DataError(
            f"{folder}: crop boxes {boxes.shape} {boxes.dtype}, expected "
            f"({len(paths)}, 4) int: give x0, y0, x1, y1 of each"
        )
    whole = ~boxes.any(axis=1)
    empty = ~whole & ((boxes[:, 2] <= boxes[:, 0]) | (boxes[:, 3] <= boxes[:, 1]))
    if empty.any():
        row = int(empty.argmax())
        raise DataError(
            f"{folder / paths[row]}, item {row}: crop box {boxes[row].tolist()}, "
            "expected x0 < x1 and y0 < y1: correct it where it comes from"
        )
    Image.init()  # all formats at once, here: not by several threads

    def one(row: int) -> None:
        box = None if whole[row] else boxes[row].tolist()
        images[row] = _square(folder / paths[row], size, box, fit, f"item {row}")

    pool = ThreadPoolExecutor(min(os.cpu_count() or 1, 8))
    try:
        for _ in progress(pool.map(one, range(len(paths))), len(paths), "photographs"):
            pass
    finally:
        pool.shutdown(cancel_futures=True)


def _square(path: Path, size: int, box: list[int] | None, fit: str, item: str) -> np.ndarray:
    """A photograph, or what a box shows of it, as a square `(size, size, 3) uint8`; see `decode`."""
    from PIL import Image

    from alignbook.datasets.files import check_regular

    try:
        check_regular(path)
        with Image.open(path, formats=FORMATS) as picture:
            if picture.width * picture.height > MOST_PIXELS:
                raise ValueError(
                    f"{picture.width:,} × {picture.height:,} pixels, {MOST_PIXELS:,} at most"
                )
            if picture.mode[0] in "IF":  # conversion would cut off all above 255: white
                raise ValueError(f"more than 8 bits a pixel, mode {picture.mode}")
            if fit == "squash" and not box:  # a draft would change the scale that a box is in
                picture.draft("RGB", (2 * size, 2 * size))
            with room_for(picture.width * picture.height):
                square = _cut(picture, size, box, fit, f"{path}, {item}")
    except DataError:
        raise
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise DataError(
            f"{path}: photograph cannot be decoded ({error}); expected a whole image file: put a "
            "fresh copy from the data set's archive in its place"
        ) from error
    return np.asarray(square)


def _cut(picture, size: int, box: list[int] | None, fit: str, item: str):
    """An open photograph, or what a box shows of it, as a square of that size."""
    from PIL import Image

    if box:
        width, height = picture.size
        x0, y0, x1, y1 = box
        inside = max(x0, 0), max(y0, 0), min(x1, width), min(y1, height)
        if inside[0] >= inside[2] or inside[1] >= inside[3]:
            raise DataError(
                f"{item}: crop box {box} outside its {width} × {height} pixels, "
                "expected one inside: the photograph must have its original size"
            )
        picture = picture.crop(inside)
    picture = picture.convert("RGB")
    if fit != "crop":
        return picture.resize((size, size), Image.Resampling.BILINEAR)
    width, height = (int(size * s / min(picture.size)) for s in picture.size)
    x0, y0 = round((width - size) / 2), round((height - size) / 2)
    picture = picture.resize((width, height), Image.Resampling.BICUBIC)  # the shorter side to size
    return picture.crop((x0, y0, x0 + size, y0 + size))  # then the middle


@contextmanager
def room_for(pixels: int):
    """Wait until so many pixels may be decoded: of all threads together, MOST_PIXELS at a time."""
    needed = min(SHARES, -(-pixels * SHARES // MOST_PIXELS))
    with _taking:  # one at a time: two that have half of what they need would wait for ever
        for _ in range(needed):
            _free.acquire()
    try:
        yield
    finally:
        _free.release(needed)


def progress(items, total: int, what: str):
    """Iterate with a bar that appears after two seconds; off a terminal with a line now and then. A
    job of the main job tells that one instead how far it is.
    """
    if is_shared():
        return _told(items, total, what)
    if not sys.stderr.isatty() and "JPY_PARENT_PID" not in os.environ:
        return _said(items, total, what)
    from tqdm import tqdm

    return tqdm(items, total=total, desc=what, delay=2, mininterval=1, leave=False, file=sys.stderr)


def _told(items, total: int, what: str):
    for done, item in enumerate(items, 1):
        yield item
        show(what, done, total)


def _said(items, total: int, what: str):
    last = time.monotonic()
    for done, item in enumerate(items, 1):
        yield item
        if time.monotonic() > last + contents.QUIET:
            last = time.monotonic()
            print(f"  {done:,} of {total:,} {what}", file=sys.stderr, flush=True)


def _dump(path: Path, value) -> bytes:
    octets = json.dumps(value, ensure_ascii=False, sort_keys=True, indent=0).encode()
    path.write_bytes(octets)
    return octets


def _load(path: Path):
    return json.loads(path.read_bytes())
