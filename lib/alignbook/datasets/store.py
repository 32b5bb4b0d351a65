"""How a prepared data set lies on disk: written aside, moved into place, memory-mapped.

A folder holds images.npy, captions.json, splits.json, names.json and meta.json; the embedded
world adds objects.parquet and relations.parquet.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

SPLITS = ("train", "dev", "test")
CAPTIONS_PER_IMAGE = 5


class DataError(ValueError):
    """Input that cannot be used: names file, row, what was expected and how to mend it."""


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
    images : numpy.ndarray
        ``(N, H, W, 3) uint8``, read-only memory map.
    captions : list of str
        As they were written; image ``i`` owns ``captions[5 * i : 5 * i + 5]``.
    captions_per_image : int
    splits : dict
        "train", "dev", "test" → ``(n,) int64`` image rows.
    names : list of str
        File name of the photograph, or scene, of each image.
    """

    name: str
    folder: Path
    fingerprint: str
    images: np.ndarray
    captions: list[str]
    captions_per_image: int
    splits: dict[str, np.ndarray]
    names: list[str]

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
    def meta(self) -> dict:
        """Settings and counts noted when the data set was prepared."""
        return _load(self.folder / "meta.json")

    def _frame(self, name: str):
        path = self.folder / f"{name}.parquet"
        if not path.is_file():
            return None
        import pandas

        return pandas.read_parquet(path)


def load(folder: Path) -> Dataset:
    """Open a prepared folder; no image is read before it is used."""
    meta = _load(folder / "meta.json")
    splits = _load(folder / "splits.json")
    return Dataset(
        name=meta["name"],
        folder=folder,
        fingerprint=meta["fingerprint"],
        images=np.load(folder / "images.npy", mmap_mode="r"),
        captions=_load(folder / "captions.json"),
        captions_per_image=CAPTIONS_PER_IMAGE,
        splits={split: np.array(splits[split], np.int64) for split in SPLITS},
        names=_load(folder / "names.json"),
    )


def write(folder: Path, name: str, size: int, splits: dict[str, list[str]],
          captions: list[str], fill, settings: dict) -> None:  # fmt: skip
    """Make a prepared folder: all aside in a sibling, then one rename.

    Parameters
    ----------
    folder : Path
        Final place. If another process put it there meanwhile, ours is dropped: same content.
    size : int
        Side of the square images in pixels.
    splits : dict
        Names of the images of each split; images are stored in the order train, dev, test.
    captions : list of str
        Five for each image in that order.
    fill : callable
        ``fill(images, aside)`` writes every row of ``images (N, size, size, 3) uint8`` and may
        put more files into the folder ``aside``.
    settings : dict
        Noted in meta.json.
    """
    import pandas

    folder.parent.mkdir(parents=True, exist_ok=True)
    _sweep(folder.parent)
    names = [each for split in SPLITS for each in splits[split]]
    needed, free = len(names) * size * size * 3, shutil.disk_usage(folder.parent).free
    if needed > free:
        raise DataError(
            f"{folder.parent}: {free // 10**6:,} MB free, expected {needed // 10**6:,} MB for "
            f"{len(names):,} images at {size} pixels: make room or take a smaller profile"
        )
    aside = folder.parent / f".making-{os.getpid()}-{folder.name}"
    aside.mkdir()
    try:
        images = np.lib.format.open_memmap(
            aside / "images.npy", mode="w+", dtype=np.uint8, shape=(len(names), size, size, 3)
        )
        fill(images, aside)
        images.flush()
        digest = hashlib.sha256()
        for start in range(0, len(images), 256):
            digest.update(np.ascontiguousarray(images[start : start + 256]))
        del images
        for table in sorted(aside.glob("*.parquet")):  # as text: parquet embeds versions
            digest.update(pandas.read_parquet(table).to_csv(index=False).encode())
        edges = np.cumsum([0] + [len(splits[split]) for split in SPLITS]).tolist()
        rows = {s: list(range(a, b)) for s, a, b in zip(SPLITS, edges, edges[1:], strict=False)}
        for file, value in (("captions", captions), ("splits", rows), ("names", names)):
            digest.update(_dump(aside / f"{file}.json", value))
        counts = {split: len(splits[split]) for split in SPLITS}
        meta = {"name": name, "size": size, "counts": counts, **settings}
        _dump(aside / "meta.json", {**meta, "fingerprint": digest.hexdigest()})
        try:
            os.replace(aside, folder)
        except OSError:
            if not (folder / "meta.json").is_file():
                raise
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def decode(folder: Path, paths: list[str], images: np.ndarray) -> None:
    """Decode photographs into the rows of ``images (N, size, size, 3) uint8``.

    Squashed to a square, as proportions are worth less than borders. JPEGs are decoded at the
    smallest scale that leaves twice the pixels a side, enough for a smooth reduction. Threads
    suffice: the decoder works outside the interpreter's lock.

    Raises
    ------
    DataError
        A file cannot be decoded.
    """
    from PIL import Image

    size = images.shape[1]
    Image.init()  # all formats at once, here: not by several threads

    def one(row: int) -> None:
        try:
            with Image.open(folder / paths[row]) as picture:
                picture.draft("RGB", (2 * size, 2 * size))
                square = picture.convert("RGB").resize((size, size), Image.Resampling.BILINEAR)
        except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
            raise DataError(
                f"{folder / paths[row]}: photograph cannot be decoded ({error}); expected a whole "
                "image file: put a fresh copy from the data set's archive in its place"
            ) from error
        images[row] = np.asarray(square)

    pool = ThreadPoolExecutor(min(os.cpu_count() or 1, 8))
    try:
        for _ in progress(pool.map(one, range(len(paths))), len(paths), "photographs"):
            pass
    finally:
        pool.shutdown(cancel_futures=True)


def progress(items, total: int, what: str):
    """Iterate with a bar that appears after two seconds, on a terminal or not."""
    from tqdm import tqdm

    return tqdm(items, total=total, desc=what, delay=2, mininterval=1, leave=False, file=sys.stderr)


def _sweep(root: Path) -> None:
    """Remove half-made folders whose process is gone, or had the number this process has now."""
    for left in root.glob(".making-[0-9]*"):
        process = int(left.name.split("-")[1])
        try:
            if process != os.getpid():
                os.kill(process, 0)
                continue
        except ProcessLookupError:
            pass
        except PermissionError:  # another user's process: alive
            continue
        shutil.rmtree(left, ignore_errors=True)


def _dump(path: Path, value) -> bytes:
    octets = json.dumps(value, ensure_ascii=False, sort_keys=True, indent=0).encode()
    path.write_bytes(octets)
    return octets


def _load(path: Path):
    return json.loads(path.read_bytes())
