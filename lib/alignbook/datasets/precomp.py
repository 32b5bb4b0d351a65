"""Precomputed region features as VSE++ and SCAN hand them round.

    DIR/{split}_ims.npy    (N, K, D) float32, 36 regions of 2,048 numbers as published
    DIR/{split}_caps.txt   one caption a line, five an image in order
    DIR/{split}_ids.txt    optional: names of the images, one an image or one a caption

The splits are train, dev and test; "testall" (COCO: 5,000 images, of which test holds the first
1,000) is the test split where its features are there.

Some files hold every image once, others five times, once for each caption (dev and test as
published). Counts tell which: five captions a row, or as many captions as rows. In the second case
rows of a sample of images are compared, and only every fifth is used. Features are never copied:
a data set made from them holds captions and the place of the features,
and is prepared again when these files change.

A folder is read with a look at 64 images of each split, evenly spaced. `Precomp.look` looks at all
that a profile takes, once for each content: a second a GB, besides the hash. What changes after that
is found when it is read, row by row (`prepared.RegionFeatures`). All name the row.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np

from alignbook.datasets import sound
from alignbook.datasets.files import check_regular, put
from alignbook.datasets.photographs import SAME_IN, caption_problem, read_lines, writable
from alignbook.datasets.prepared import CAPTIONS_PER_IMAGE, SPLITS, progress
from alignbook.errors import DataError
from alignbook.store import contents, durable

# Images of each file as published; COCO's dev features go round with 5,000 images and with 1,000.
SIZES = {
    "f30k_precomp": {"train": (29000,), "dev": (1014,), "test": (1000,)},
    "coco_precomp": {"train": (113287,), "dev": (5000, 1000), "test": (1000,), "testall": (5000,)},
    "precomp": {},
}
REMEDY = (
    "the features go round as data.zip of SCAN's authors, with folders f30k_precomp (train_ims.npy "
    "8.6 GB) and coco_precomp (33 GB): put the whole folder there"
)
SAMPLE = 64  # images of a split that are looked at before the work


@dataclass
class Precomp:
    """A collection of features as found: nothing read but captions and a sample.

    ``names`` and ``captions`` of each split; ``files``, ``shapes`` and ``steps`` say where its
    features lie; ``notes`` are facts worth noting; ``problems`` sentences for a person.
    """

    name: str
    folder: Path
    names: dict[str, list[str]] = field(default_factory=dict)
    captions: dict[str, list[str]] = field(default_factory=dict)
    files: dict[str, Path] = field(default_factory=dict)
    shapes: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    steps: dict[str, int] = field(default_factory=dict)
    sources: list[Path] = field(default_factory=list)
    notes: dict[str, int | str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def features(self, limits: dict[str, int]) -> list[dict]:
        """Where the features of each split lie, and how many of its images are taken."""
        return [
            {
                "file": str(path.resolve()),
                "step": self.steps[split],
                "images": len(self.names[split][: limits[split] or None]),
                "bytes": path.stat().st_size,
            }
            for split, path in self.files.items()
        ]

    def fingerprint(self, limits: dict[str, int] | None = None) -> str:
        """Hash of what the text files hold, and each feature file up to the first so many images of
        its split, 0 or None: all. What looks as it did is not read again: see `contents`.
        """
        digest = hashlib.sha256()
        for source in self.sources:
            digest.update(hashlib.sha256(source.read_bytes()).digest())
        parts = [self._part(split, limits or {}) for split in self.files]
        said = [contents.together(parts), [self.steps[split] for split in self.files]]
        digest.update(json.dumps(said).encode())
        return digest.hexdigest()

    def look(self, limits: dict[str, int]) -> None:
        """Look at every feature of the first so many images of each split, 0 or none: of all."""
        for split, path in self.files.items():
            look = partial(self._wrong, split, len(self.names[split][: limits.get(split) or None]))
            if problem := sound.once(self._part(split, limits), self.steps[split], look):
                self.problems.append(f"{path}, image row {problem}; {REMEDY}")

    def check_apart(self, limits: dict[str, int]) -> None:
        """Note an image of dev or test whose first region is, octet by octet, that of another split's.

        Official splits may hold a few.
        """
        parts = [self._part(split, limits) for split in self.files]
        how = "apart", contents.together(parts), [*self.steps.values()]
        if problem := sound.once(parts[-1], how, partial(self._alike, limits)):
            self.problems.append(problem)

    def _alike(self, limits: dict[str, int]):
        seen: dict[bytes, tuple[str, int]] = {}
        across = []
        for split, path in self.files.items():
            images, step = len(self.names[split][: limits.get(split) or None]), self.steps[split]
            first = np.load(path, mmap_mode="r", allow_pickle=False)[: images * step : step, 0]
            for row, features in enumerate(progress(first, len(first), f"images of {path.name}")):
                content = hashlib.blake2b(features.tobytes(), digest_size=16).digest()
                before = seen.setdefault(content, (split, row * step))
                if before[0] != split:
                    across.append((f"{path}, image row {row * step}", *before))
        if len(across) > min(len(self.names[split]) for split in ("dev", "test")) // SAME_IN:
            place, split, row = across[0]
            yield (
                f"{place}: the same features as image row {row} of {self.files[split].name} "
                f"({len(across):,} are in two splits), expected other pictures to be tested on than "
                f"those trained on; {REMEDY}"
            )

    def _part(self, split: str, limits: dict[str, int]) -> Path | tuple[Path, int]:
        """The file of a split, or so many bytes from its start: those that are taken."""
        path, rows = self.files[split], limits.get(split, 0) * self.steps[split]
        stored = np.load(path, mmap_mode="r", allow_pickle=False)
        whole = not rows or rows >= len(stored)
        return path if whole else (path, stored[:rows].nbytes + stored.offset)

    def _wrong(self, split: str, images: int):
        """Problem after problem of a split's first so many images, as "row: what is wrong"."""
        path, step = self.files[split], self.steps[split]
        stored = np.load(path, mmap_mode="r", allow_pickle=False)[: images * step : step]
        some = max(1, sound.AT_ONCE // stored[0].nbytes)
        starts = range(0, images, some)
        for start in progress(starts, len(starts), f"parts of {path.name} looked at"):
            found = sound.largest(stored[start : start + some])
            for i in np.flatnonzero(~((found > 0) & (found <= sound.LARGEST))):
                yield f"{(start + i) * step}: {sound.wrong(found[i])}"


def read(folder: Path, name: str = "precomp", sizes: dict | None = None) -> Precomp:
    """Read captions and names, and map the features.

    Parameters
    ----------
    folder : Path
        Holds the files.
    name : str
        "f30k_precomp" or "coco_precomp", of the published sizes; "precomp", of any.
    sizes : dict, optional
        File prefix ("train", "dev", "test", "testall") → numbers of images it may hold.

    Returns
    -------
    Precomp
        What is wrong stands in its ``problems``.
    """
    found = Precomp(name, folder)
    allowed = SIZES[name] if sizes is None else sizes
    for split in SPLITS:
        whole = split == "test" and (folder / "testall_ims.npy").is_file()
        _read_split(found, split, "testall" if whole else split, allowed)
    if found.problems:
        return found
    widths = {split: shape[1:] for split, shape in found.shapes.items()}
    for split in SPLITS:
        if widths[split] != widths["train"]:
            found.problems.append(
                f"{found.files[split]}: regions and width {widths[split]}, expected "
                f"{widths['train']} as in {found.files['train'].name}; {REMEDY}"
            )
    listed = [each for names in found.names.values() for each in names]
    if len(set(listed)) != len(listed):  # numbered anew in each split
        found.names = {s: [f"{s}-{each}" for each in names] for s, names in found.names.items()}
    return found


def write(
    folder: Path, names: dict[str, list[str]], captions: dict[str, list[str]], features: dict
) -> None:
    """Write the three files of train, dev and test, every image once.

    Parameters
    ----------
    folder : Path
        Made if it isn't there.
    names, captions : dict
        Names of each split's images, five captions of each name.
    features : dict
        Split → array ``(n, K, D)`` or anything that slices to one; stored as float32.

    Raises
    ------
    DataError
        A name or caption that could not be read back, or features of another number of images.
    """
    members = writable(names, captions, forbidden="\n\r")
    folder.mkdir(parents=True, exist_ok=True)
    for split in SPLITS:
        shape = (len(names[split]), *np.shape(features[split])[1:])
        if np.shape(features[split]) != shape or len(shape) != 3:
            raise DataError(
                f"{split}: features {np.shape(features[split])}, expected "
                f"({len(names[split])}, K, D): one row an image"
            )
        path = folder / f"{split}_ims.npy"
        aside = durable.aside(path)
        try:
            rows = np.lib.format.open_memmap(aside, "w+", np.float32, shape)
            for start in range(0, len(rows), 256):
                rows[start : start + 256] = features[split][start : start + 256]
            rows.flush()
            del rows
            durable.replace(aside, path)
        finally:
            aside.unlink(missing_ok=True)
        put(folder / f"{split}_ids.txt", "".join(f"{each}\n" for each in names[split]).encode())
        lines = [f"{text}\n" for where, _, texts in members if where == split for text in texts]
        put(folder / f"{split}_caps.txt", "".join(lines).encode())


def write_dataset(folder: Path, dataset, features) -> None:
    """Write a prepared data set and its region features, the world's for one, as `write` does.

    ``features`` is ``(N, K, D)`` for all N images, memory-mapped or not, in the data set's order.
    """
    names, captions, parts = {}, {}, {}
    for split, rows in dataset.splits.items():
        said, each = dataset.captions_of(split), dataset.captions_per_image
        names[split] = [str(row) for row in rows]
        captions |= {n: said[each * i : each * (i + 1)] for i, n in enumerate(names[split])}
        parts[split] = features[rows[0] : rows[-1] + 1]  # splits lie one after the other
    write(folder, names, captions, parts)


def open_features(path: Path) -> np.ndarray:
    """Map a file of features, ``(N, K, D)`` of float16 or float32.

    Raises
    ------
    DataError
        Missing, cut short, a pickle, or of another type or form.
    """
    wanted = "expected (images, regions, width) of float32, 36 and 2,048 as published"
    try:
        check_regular(path)
        array = np.lib.format.open_memmap(path, "r")
    except FileNotFoundError:
        raise DataError(f"{path}: file missing; {REMEDY}") from None
    except Exception as error:  # a damaged header: whatever the parsers say
        raise DataError(
            f"{path}: not a whole .npy file of numbers ({error}), {wanted}; {REMEDY}"
        ) from None
    if array.dtype not in (np.float32, np.float16):
        raise DataError(f"{path}: {array.dtype}, {wanted}; {REMEDY}")
    if array.ndim != 3 or 0 in array.shape or not array.flags.c_contiguous:
        order = "" if array.flags.c_contiguous else " in Fortran order"
        raise DataError(f"{path}: shape {array.shape}{order}, {wanted}; {REMEDY}")
    return array


def _read_split(found: Precomp, split: str, file: str, sizes: dict) -> None:
    folder, problems = found.folder, found.problems
    before = len(problems)
    caps, ims, ids = (folder / f"{file}_{end}" for end in ("caps.txt", "ims.npy", "ids.txt"))
    captions: list[str] = []
    if caps.is_file():
        captions = [line.strip() for line in read_lines(caps, problems, REMEDY)]
        empty = [row for row, text in enumerate(captions, 1) if not text]
        if empty and len(problems) == before:
            problems.append(
                f"{caps}, row {empty[0]}: empty caption, which shifts every pair after "
                f"it; expected a sentence a row; {REMEDY}"
            )
        wrong = ((row, caption_problem(text)) for row, text in enumerate(captions, 1))
        if found_wrong := next((each for each in wrong if each[1]), None):
            problems.append(
                f"{caps}, row {found_wrong[0]}: a caption that {found_wrong[1]}; {REMEDY}"
            )
    else:
        problems.append(f"{caps}: file missing; {REMEDY}")
    try:
        features = open_features(ims)
    except DataError as error:
        problems.append(str(error))
    if len(problems) > before:
        return

    rows, step = len(features), 0
    if len(captions) == CAPTIONS_PER_IMAGE * rows:
        step = 1
    elif len(captions) == rows and rows % CAPTIONS_PER_IMAGE == 0:
        step = CAPTIONS_PER_IMAGE
    if not step:
        problems.append(
            f"{caps}: {len(captions):,} captions for {rows:,} rows of {ims.name}, expected "
            f"{CAPTIONS_PER_IMAGE * rows:,}, or as many as rows, each image repeated five times; "
            f"{REMEDY}"
        )
        return
    n = rows // step
    if n not in (expected := sizes.get(file, (n,))):
        numbers = " or ".join(f"{each:,}" for each in expected)
        problems.append(
            f"{ims}: {n:,} images, expected {numbers}; {REMEDY}, or use precomp=DIR "
            "for features of your own"
        )
    _check_sample(ims, features, step, problems)
    if os.path.lexists(ids) and not ids.is_file():  # otherwise names would be made up
        problems.append(f"{ids}: no regular file, expected one, or nothing of that name; {REMEDY}")
    names = _names(ids, n, problems) if ids.is_file() else [f"{file}-{i:06}" for i in range(n)]
    found.names[split], found.captions[split] = names, captions
    found.files[split], found.steps[split] = ims, step
    found.shapes[split] = (n, *features.shape[1:])
    found.sources += [caps, ids] if ids.is_file() else [caps]
    found.notes[f"{split} features"] = f"{ims.name}, " + (
        "one row an image" if step == 1 else f"every fifth of {rows:,} rows"
    )


def _check_sample(path: Path, features: np.ndarray, step: int, problems: list[str]) -> None:
    """A few images, evenly spaced: are they numbers, and repeated where they should be?"""
    n = len(features) // step
    for image in np.unique(np.linspace(0, n - 1, min(n, SAMPLE)).astype(int)):
        block = features[image * step : (image + 1) * step]
        for row, found in enumerate(sound.largest(block), image * step):
            if said := sound.wrong(found):
                problems.append(f"{path}, image row {row}: {said}; {REMEDY}")
                return
        other = np.flatnonzero((block != block[0]).any(axis=(1, 2)))
        if len(other):
            problems.append(
                f"{path}, image row {image * step + other[0]}: differs from row {image * step}; "
                "with as many captions as rows, every image was expected five times: give five "
                f"captions an image; {REMEDY}"
            )
            return


def _names(path: Path, n: int, problems: list[str]) -> list[str]:
    """Names of n images; a file with one for each caption repeats each five times."""
    lines = [line.strip() for line in read_lines(path, problems, REMEDY)]
    step = CAPTIONS_PER_IMAGE if len(lines) == CAPTIONS_PER_IMAGE * n else 1
    if len(lines) != step * n:
        problems.append(
            f"{path}: {len(lines):,} ids for {n:,} images, expected one an image or "
            f"one a caption; {REMEDY}"
        )
        return lines
    seen: dict[str, int] = {}
    for row, line in enumerate(lines):
        image = row // step
        if not line or seen.setdefault(line, image) != image or lines[image * step] != line:
            each = "five alike for every image" if step > 1 else "each once"
            problems.append(
                f"{path}, row {row + 1}: id {line!r}, expected no empty one and {each}; {REMEDY}"
            )
            break
    return lines[::step]
