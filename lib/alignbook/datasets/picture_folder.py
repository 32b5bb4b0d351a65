"""A folder of pictures without captions: found, decoded once, memory-mapped.

Files that cannot be decoded are skipped and named with the reason. All that is kept, the files'
hashes too, lies in one folder that the caller names; beside the pictures nothing is written.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from stat import S_ISREG

import numpy as np

from alignbook.datasets.files import check_regular
from alignbook.datasets.prepared import (
    FORMATS,
    MOST_PIXELS,
    SPLITS,
    Dataset,
    is_whole,
    progress,
    room_for,
)
from alignbook.errors import DataError
from alignbook.store import contents, durable, fingerprint, verbatim

NAME = "my photographs"
# Taken for pictures by their names; the last three are not decoded here, and are named as skipped.
SUFFIXES = ".jpg .jpeg .jfif .png .webp .gif .bmp .tif .tiff .heic .heif .avif".split()
MOST = 20_000  # pictures of a folder
LONGEST = 20  # times its shorter side may a picture's longer side be
SHOWN = 20  # skipped files that are named on the screen; meta.json has all


def found(folder: Path) -> list[str]:
    """Picture files in a folder and below, by their paths there, sorted.

    Files and folders whose names begin with a dot are left out, and folders that are links.

    Raises
    ------
    DataError
        It is no folder, or one that may not be read; it holds no picture, or more than 20,000.
    """
    folder = Path(folder)
    remedy = "name a folder with JPEG, PNG or WebP files in it or below"
    if not folder.is_dir():
        raise DataError(f"{folder}: no such folder, expected one of pictures; {remedy}")

    def refuse(error: OSError):
        raise DataError(
            f"{error.filename}: cannot be read ({error.strerror}), expected a folder that you may "
            f"read; {remedy}"
        ) from None

    names = []
    for place, inner, files in os.walk(folder, onerror=refuse):
        inner[:] = [each for each in inner if each[0] != "."]
        here = Path(place).relative_to(folder)
        names += [
            (here / each).as_posix()
            for each in files
            if each[0] != "." and Path(each).suffix.lower() in SUFFIXES
        ]
    if not 0 < len(names) <= MOST:
        raise DataError(f"{folder}: {len(names):,} pictures, expected 1 to {MOST:,}; {remedy}")
    return sorted(names)


def square(path: Path, size: int) -> np.ndarray:
    """A picture as a square `(size, size, 3) uint8`, upright as its EXIF data says.

    The shorter side becomes `size` (bicubic), then the middle is cut out, as `prepared.decode` does
    with `fit="crop"`. What is transparent is shown on white. A larger JPEG is decoded at a half, a
    quarter or an eighth, with twice the pixels a side that are needed.

    Raises
    ------
    ValueError, OSError, and whatever else a decoder raises for a file that is no whole picture.
    """
    from PIL import Image, ImageOps

    check_regular(path)
    with Image.open(path, formats=FORMATS) as picture:
        shorter, longer = sorted(picture.size)
        if shorter * longer > MOST_PIXELS:
            raise ValueError(
                f"{picture.width:,} × {picture.height:,} pixels, {MOST_PIXELS:,} at most"
            )
        if longer > LONGEST * shorter:
            raise ValueError(
                f"{picture.width:,} × {picture.height:,} pixels, "
                f"the longer side {LONGEST} times the shorter at most"
            )
        if picture.mode[0] in "IF":  # conversion would cut off all above 255: white
            raise ValueError(f"more than 8 bits a pixel, mode {picture.mode}")
        picture.draft("RGB", tuple(math.ceil(2 * size * side / shorter) for side in picture.size))
        with room_for(picture.width * picture.height):
            upright = ImageOps.exif_transpose(picture)
            if upright.has_transparency_data:
                upright = upright.convert("RGBA")
                upright = Image.alpha_composite(Image.new("RGBA", upright.size, "white"), upright)
            upright = upright.convert("RGB")
            width, height = (int(size * side / min(upright.size)) for side in upright.size)
            x0, y0 = round((width - size) / 2), round((height - size) / 2)
            smaller = upright.resize((width, height), Image.Resampling.BICUBIC)
            return np.asarray(smaller.crop((x0, y0, x0 + size, y0 + size)))


def prepare(folder: Path, root: Path, size: int, extra: int = 0) -> Dataset:
    """The pictures of a folder, `(N, size, size, 3) uint8`, in the order of `found`.

    They are decoded on first use, with a bar, and again once a file is new, gone or another.

    Parameters
    ----------
    root : keeps them, in a folder that is named by what the files hold.
    extra : bytes a picture that whoever asks is going to write there besides.

    Returns
    -------
    Dataset without captions. Its test split has all pictures, `names` are their files' paths below
    the folder; `meta["skipped"]` is {path: reason} of the files that could not be decoded.

    Raises
    ------
    DataError
        As `found`; no file can be decoded, or there is no room for the pictures.
    """
    folder, root = Path(folder), Path(root)
    names = found(folder)
    root.mkdir(parents=True, exist_ok=True)
    code = fingerprint.code_hash("alignbook.datasets.picture_folder")
    told = json.dumps([size, code, _hashes(folder, names, root / "hashes.json")])
    mark = hashlib.sha256(told.encode()).hexdigest()
    place = root / mark[:16]
    if not is_whole(place):
        _check_room(root, len(names), size * size * 3 + extra)
        _write(place, folder, names, size, mark)
    return _load(place)


def skipped(dataset: Dataset) -> list[str]:
    """Lines for reading: how many pictures there are, which files are skipped, and why."""
    bad = dataset.meta["skipped"]
    lines = [f"{dataset.name}: {len(dataset.names):,} pictures"]
    if bad:
        lines[0] += f"; skipped {len(bad):,} of {len(dataset.names) + len(bad):,} files:"
    lines += [f"  {verbatim.line(name)}: {verbatim.line(why)}" for name, why in bad.items()]
    if len(bad) > SHOWN:
        more = f"  … and {len(bad) - SHOWN:,} more, all in {dataset.folder / 'meta.json'}"
        lines[SHOWN + 1 :] = [more]
    return lines


def _hashes(folder: Path, names: list[str], known: Path) -> list:
    """Each file's path and hash, None for what cannot be read; files that look the same are not
    read again."""
    there = []
    for name in names:
        try:
            if S_ISREG(os.stat(folder / name).st_mode) and os.access(folder / name, os.R_OK):
                there.append(name)
        except OSError:  # a link to nothing
            continue
    hashes = dict(zip(there, contents.sha256([folder / each for each in there], known)))
    return [[name, hashes.get(name)] for name in names]


def _check_room(root: Path, pictures: int, each: int) -> None:
    free, needed = shutil.disk_usage(root).free, pictures * each
    if needed > free:
        raise DataError(
            f"{root}: {free // 10**6:,} MB free, expected {needed // 10**6:,} MB for {pictures:,} "
            "pictures: make room, or name a folder with fewer"
        )


def _write(place: Path, folder: Path, names: list[str], size: int, mark: str) -> None:
    """Decode aside, in a sibling of the folder, then move it into place."""
    from PIL import Image

    durable.sweep(place.parent)
    aside = durable.aside(place)
    aside.mkdir()
    Image.init()  # all formats at once, here: not by several threads
    pool = ThreadPoolExecutor(min(os.cpu_count() or 1, 8))
    try:
        shape = (len(names), size, size, 3)
        images = np.lib.format.open_memmap(aside / "images.npy", "w+", np.uint8, shape)
        kept, bad = [], {}
        decoded = pool.map(lambda name: _tried(folder / name, size), names)
        for name, seen in zip(names, progress(decoded, len(names), "photographs")):
            if isinstance(seen, str):
                bad[name] = seen
            else:
                images[len(kept)] = seen
                kept.append(name)
        images.flush()
        del images
        if not kept:
            name, why = next(iter(bad.items()))
            raise DataError(
                f"{folder}: none of {len(names):,} files can be decoded, the first, {name}, for: "
                f"{why}; expected JPEG, PNG or WebP pictures: save them as JPEG"
            )
        meta = {"name": NAME, "size": size, "names": kept, "skipped": bad, "fingerprint": mark}
        meta |= {"files": durable.described(aside)}
        (aside / "meta.json").write_text(json.dumps(meta | {"seal": fingerprint.key(meta)}))
        try:
            durable.replace(aside, place)
        except OSError:
            if not (place / "meta.json").is_file():  # another process was first: same content
                raise
    finally:
        pool.shutdown(cancel_futures=True)
        shutil.rmtree(aside, ignore_errors=True)


def _tried(path: Path, size: int) -> np.ndarray | str:
    """The picture, or why there is none."""
    from PIL import UnidentifiedImageError

    try:
        return square(path, size)
    except UnidentifiedImageError:
        return "no picture in a format that is read here: save it as JPEG, PNG or WebP"
    except OSError as error:
        return error.strerror or str(error)
    except Exception as error:  # of any decoder: one file shall not keep the others from being seen
        return str(error) or type(error).__name__


def _load(place: Path) -> Dataset:
    meta = json.loads((place / "meta.json").read_bytes())
    none = np.zeros(0, np.int64)
    rows = np.arange(len(meta["names"]))
    return Dataset(
        name=NAME,
        folder=place,
        fingerprint=meta["fingerprint"],
        images=np.load(place / "images.npy", mmap_mode="r")[: len(rows)],
        captions=[],
        captions_per_image=0,
        splits={split: rows if split == "test" else none for split in SPLITS},
        names=meta["names"],
    )
