"""Region features and detections of one's own, in open formats.

    regions.npz        names (N,) text, counts (N,) int, boxes (R, 4), features (R, D)
    regions.parquet    one row a region: name, x0, y0, x1, y1, score, feature (list of D)
    detections .json   [{"image", "boxes": [[x0, y0, x1, y1], …], "labels", "scores"}, …]

Boxes are in pixels of the photograph. Regions of an image follow one another, the most confident
first: "the top K" are the first K. A folder of photographs that holds regions.npz or
regions.parquet beside its captions is prepared with them (``Dataset.regions``): as many regions an
image as the image with the fewest has. A name is a photograph's path below the folder of
photographs, or its file name alone.
"""

from __future__ import annotations

import math
import zipfile
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np

from alignbook.datasets import sound
from alignbook.datasets.archives import check_growth
from alignbook.datasets.files import load_json, put_json
from alignbook.datasets.prepared import progress
from alignbook.errors import DataError
from alignbook.store import durable

FILES = ("regions.npz", "regions.parquet")
MEMBERS = ("names", "counts", "boxes", "features")
COLUMNS = ("name", "x0", "y0", "x1", "y1", "score", "feature")
REMEDY = "write it again with alignbook.datasets.regions.write, which says what is wrong"
BLOCK = 4096  # regions in memory at a time


class Regions(NamedTuple):
    """Regions of N images, R in all.

    ``names`` list of str; ``boxes (R, 4) float32`` x0, y0, x1, y1 in pixels; ``features (R, D)
    float32``; ``counts (N,) int64``, regions of each image, in order, the most confident first.
    """

    names: list[str]
    boxes: np.ndarray
    features: np.ndarray
    counts: np.ndarray


def find(folder: Path) -> Path | None:
    """The file of region features in a folder of photographs, None if there is none."""
    return next((folder / file for file in FILES if (folder / file).is_file()), None)


def read(path: Path, features: bool = True) -> Regions:
    """Read a .npz or .parquet file of regions.

    Parameters
    ----------
    path : Path
        The file.
    features : bool
        False reads names, boxes and counts; ``features`` is then ``(0, D)``.

    Raises
    ------
    DataError
        A file that is missing, broken, or at odds with itself; names the row.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "regions.npz"
    >>> boxes = np.array([[0, 0, 9, 9], [0, 0, 4, 4], [2, 2, 5, 5]])
    >>> write(path, Regions(["a.jpg", "b.jpg"], boxes, np.eye(3), np.array([1, 2])))
    >>> read(path).features[1:].tolist()
    [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    with _reading(path):
        found = _outline_npz(path) if path.suffix == ".npz" else _outline_parquet(path)
    _check(path, found)
    if not features:
        return found
    return found._replace(features=np.concatenate(list(_blocks(path, found))))


def write(path: Path, regions: Regions) -> None:
    """Write regions as .npz or, by the name's ending, .parquet.

    In Parquet, which has a score a region, that of the r-th of n regions is 1 − r / n: an order,
    not a confidence.

    Raises
    ------
    DataError
        Tables that could not be read back.
    """
    names, boxes, features, counts = regions
    regions = Regions(
        list(names),
        np.asarray(boxes, np.float32),
        np.asarray(features, np.float32),
        np.asarray(counts),
    )
    _check(path, regions)
    if len(regions.features) != len(regions.boxes):
        raise DataError(
            f"{path}: {len(regions.features):,} features for {len(regions.boxes):,} "
            "boxes, expected one a box: give both of every region"
        )
    for _ in _look(path, regions, [regions.features]):
        pass
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = durable.aside(path)
    try:
        if path.suffix == ".npz":
            with open(aside, "wb") as file:
                np.savez(
                    file,
                    names=np.array(regions.names, str),
                    counts=regions.counts,
                    boxes=regions.boxes,
                    features=regions.features,
                )
        else:
            _write_parquet(aside, regions)
        durable.replace(aside, path)
    finally:
        aside.unlink(missing_ok=True)


def rows_of(found: Regions, paths: list[str]) -> list[int | None]:
    """Index in a file of regions of each photograph, by its path or its file name alone."""
    index = {name: i for i, name in enumerate(found.names)}
    return [index.get(path, index.get(path.rpartition("/")[2])) for path in paths]


def check(path: Path, photographs: list[str], whole: bool = False) -> list[str]:
    """What stands in the way of using a file for some photographs.

    Features are only read for the whole of it, and once for each content.
    """
    try:
        found = read(path, features=False)
    except DataError as error:
        return [str(error)]
    rows = rows_of(found, photographs)
    lost = [photo for photo, row in zip(photographs, rows, strict=True) if row is None]
    if lost:
        return [
            f"{path}: no regions of {lost[0]} ({len(lost):,} of {len(rows):,} have none), "
            f"expected some of every photograph; {REMEDY}"
        ]
    problem = sound.once(path, "regions", lambda: _wrong(path, found)) if whole else ""
    return [problem] if problem else []


def _wrong(path: Path, found: Regions):
    """The first problem of the features of a file, if there is one."""
    parts = math.ceil(len(found.boxes) / BLOCK)
    try:
        yield from (
            "" for _ in progress(_blocks(path, found), parts, f"parts of {path.name} looked at")
        )
    except DataError as error:
        yield str(error)


def extract(path: Path, paths: list[str], target: Path) -> None:
    """Copy the first K regions of some photographs to ``target``, ``(N, K, D) float32`` .npy.

    K is the least number of regions one of them has; see `kept`.
    """
    found = read(path, features=False)
    chosen = np.array(rows_of(found, paths))
    row_of = np.full(len(found.names), -1)
    row_of[chosen] = np.arange(len(chosen))
    least = kept(found, paths)
    owner = np.repeat(np.arange(len(found.counts)), found.counts)
    within = np.arange(len(owner)) - np.repeat(np.cumsum(found.counts) - found.counts, found.counts)
    shape = len(paths), least, found.features.shape[1]
    out = np.lib.format.open_memmap(target, "w+", np.float32, shape)
    start = 0
    for block in _blocks(path, found):
        here = slice(start, start + len(block))
        use = (row_of[owner[here]] >= 0) & (within[here] < least)
        out[row_of[owner[here]][use], within[here][use]] = block[use]
        start += len(block)
    out.flush()


def kept(found: Regions, paths: list[str]) -> int:
    """The least number of regions one of some photographs has."""
    return int(found.counts[rows_of(found, paths)].min())


def read_detections(path: Path):
    """Read a detector's labels and boxes.

    Returns
    -------
    pandas.DataFrame
        One row an object: image, object (number within the image), x0, y0, x1, y1 (pixels, with
        fractions), label, score; in the order of the file.

    Raises
    ------
    DataError
        A file that is missing, broken, or at odds with itself; names the item.
    """
    import pandas

    remedy = 'expected [{"image", "boxes", "labels", "scores"}, …]; write the file again'
    value = load_json(path, list, remedy)
    rows, seen = [], set()
    for item, each in enumerate(value):
        place = f"{path}, item {item}"
        try:
            image, labels = each["image"], [str(label) for label in each["labels"]]
            boxes = np.array(each["boxes"], float).reshape(-1, 4)
            scores = np.array(each["scores"], float).reshape(-1)
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise DataError(f"{place}: {error!r}, {remedy}") from None
        if not isinstance(image, str) or image in seen:
            raise DataError(f"{place}: image {image!r}, expected a name that stands once; {remedy}")
        if not len(boxes) == len(labels) == len(scores):
            raise DataError(
                f"{place}: {len(boxes)} boxes, {len(labels)} labels and {len(scores)} "
                f"scores of {image}, expected as many of each; {remedy}"
            )
        if not _proper(boxes).all() or not np.isfinite(scores).all():
            k = int((~_proper(boxes) | ~np.isfinite(scores)).argmax())
            raise DataError(
                f"{place}: box {boxes[k].tolist()} with score {scores[k]}, expected "
                f"numbers with x0 < x1 and y0 < y1; {remedy}"
            )
        seen.add(image)
        each = zip(boxes.tolist(), labels, scores.tolist(), strict=True)
        rows += [(image, k, *box, label, score) for k, (box, label, score) in enumerate(each)]
    columns = ["image", "object", "x0", "y0", "x1", "y1", "label", "score"]
    return pandas.DataFrame(rows, columns=columns)


def write_detections(path: Path, table) -> None:
    """Write a table as `read_detections` gives it; an image without objects has no row in it."""
    value = [
        {
            "image": image,
            "boxes": rows[["x0", "y0", "x1", "y1"]].to_numpy(float).tolist(),
            "labels": rows.label.tolist(),
            "scores": rows.score.tolist(),
        }
        for image, rows in table.groupby("image", sort=False)
    ]
    put_json(path, value)


@contextmanager
def _reading(path: Path):
    """Whatever the file formats' own readers raise becomes a DataError that names the file."""
    if not path.is_file():
        raise DataError(f"{path}: file missing; {REMEDY}")
    try:
        yield
    except DataError:
        raise
    except Exception as error:  # each format's own kinds
        raise DataError(
            f"{path}: not a whole file of regions ({error}), expected "
            f"{', '.join(MEMBERS)} or the columns {', '.join(COLUMNS)}; {REMEDY}"
        ) from None


def _check(path: Path, found: Regions) -> None:
    """Everything but the features."""
    names, boxes, features, counts = found
    if not len(names):
        raise DataError(f"{path}: 0 images, expected at least one; {REMEDY}")
    if boxes.ndim != 2 or boxes.shape[1] != 4 or features.ndim != 2 or not features.shape[1]:
        raise DataError(
            f"{path}: boxes {boxes.shape} and features {features.shape}, expected "
            f"(R, 4) and (R, D); {REMEDY}"
        )
    if counts.shape != (len(names),) or counts.dtype.kind not in "iu" or counts.sum() != len(boxes):
        raise DataError(
            f"{path}: counts {counts.shape} {counts.dtype} with sum {counts.sum():,}, "
            f"expected ({len(names)},) int with sum {len(boxes):,}; {REMEDY}"
        )
    if counts.min() < 1:
        raise DataError(
            f"{path}, item {int(counts.argmin())}: {names[int(counts.argmin())]} has "
            f"{counts.min()} regions, expected at least one; {REMEDY}"
        )
    seen: dict[str, int] = {}
    for item, name in enumerate(names):
        if not isinstance(name, str) or not name or seen.setdefault(name, item) != item:
            raise DataError(
                f"{path}, item {item}: name {name!r}, expected one that stands once, "
                f"its regions together; {REMEDY}"
            )
    if not (good := _proper(boxes)).all():
        row = int((~good).argmax())
        raise DataError(
            f"{path}, region {row}: box {boxes[row].tolist()}, expected numbers with "
            f"x0 < x1 and y0 < y1; {REMEDY}"
        )


def _proper(boxes: np.ndarray) -> np.ndarray:
    return np.isfinite(boxes).all(axis=1) & (boxes[:, :2] < boxes[:, 2:]).all(axis=1)


def _look(path: Path, found: Regions, blocks):
    """The blocks of a file's features, each once it was looked at.

    A region may be all zero, an image may not.
    """
    ends, start = np.cumsum(found.counts), 0
    tops = np.zeros(len(ends), np.float32)  # the largest feature of each image

    def refuse(region: int, image: int, largest: float):
        said = sound.wrong(largest, f" of {found.names[image]}")
        raise DataError(f"{path}, region {region}: {said}; {REMEDY}")

    for block in blocks:
        sizes = sound.largest(block)
        image = np.searchsorted(ends, np.arange(start, start + len(block)), side="right")
        if (bad := ~(sizes <= sound.LARGEST)).any():
            first = int(bad.argmax())
            refuse(start + first, image[first], sizes[first])
        np.maximum.at(tops, image, sizes)
        start += len(block)
        yield block
    if start == ends[-1] and not tops.all():
        first = int(tops.argmin())
        refuse(ends[first] - found.counts[first], first, 0.0)


def _blocks(path: Path, found: Regions):
    """Features ``(b, D) float32`` in the order of the regions, some at a time."""
    start, width = 0, found.features.shape[1]
    with _reading(path):
        stored = (_blocks_npz if path.suffix == ".npz" else _blocks_parquet)(path, width)
        for block in _look(path, found, (each.astype(np.float32, copy=False) for each in stored)):
            start += len(block)
            yield block
        if start != len(found.boxes):
            raise DataError(
                f"{path}: {start:,} features for {len(found.boxes):,} boxes, expected "
                f"one a box; {REMEDY}"
            )


def _outline_npz(path: Path) -> Regions:
    with zipfile.ZipFile(path) as archive:
        check_growth(path, sum(each.file_size for each in archive.infolist()))
        with archive.open("features.npy") as member:
            shape, fortran, dtype = _header(member)
        for each in archive.infolist():
            with archive.open(each) as member:
                claimed, _, kind = _header(member)
            if math.prod(claimed) * kind.itemsize > each.file_size:
                raise ValueError(f"{each.filename} of {claimed} {kind} in fewer bytes")
    with np.load(path, allow_pickle=False) as members:
        names, counts, boxes = (members[name] for name in MEMBERS[:3])
    if names.ndim != 1 or names.dtype.kind != "U":
        raise DataError(
            f"{path}: names {names.shape} {names.dtype}, expected (N,) of text; {REMEDY}"
        )
    if fortran or dtype.kind != "f" or len(shape) != 2 or shape[0] != len(boxes):
        raise DataError(
            f"{path}: features {shape} {dtype}, expected ({len(boxes)}, D) of float32 "
            f"in C order; {REMEDY}"
        )
    return Regions(
        names.tolist(), boxes.astype(np.float32), np.empty((0, shape[1]), np.float32), counts
    )


def _header(member) -> tuple[tuple[int, ...], bool, np.dtype]:
    """Shape, Fortran order and type of a .npy file; leaves it at its first number."""
    version = np.lib.format.read_magic(member)
    if version == (1, 0):
        return np.lib.format.read_array_header_1_0(member)
    return np.lib.format.read_array_header_2_0(member)


def _blocks_npz(path: Path, width: int):
    with zipfile.ZipFile(path) as archive, archive.open("features.npy") as member:
        (rows, _), _, dtype = _header(member)
        for start in range(0, rows, BLOCK):
            size = min(BLOCK, rows - start) * width * dtype.itemsize
            yield np.frombuffer(member.read(size), dtype).reshape(-1, width)


def _outline_parquet(path: Path) -> Regions:
    from pyarrow import parquet

    with parquet.ParquetFile(path) as file:
        if lost := [each for each in COLUMNS if each not in file.schema_arrow.names]:
            raise DataError(f"{path}: no column {lost[0]}, expected {', '.join(COLUMNS)}; {REMEDY}")
        groups = map(file.metadata.row_group, range(file.num_row_groups))
        values = sum(
            group.column(j).num_values for group in groups for j in range(group.num_columns)
        )
        check_growth(path, 4 * values)
        table = file.read(columns=list(COLUMNS[:-1])).to_pandas()
        batch = next(file.iter_batches(batch_size=1, columns=["feature"]), None)
    width = len(batch.column(0)[0]) if batch else 0
    names = table.name.to_numpy(object)
    scores = table.score.to_numpy(float)
    first = np.flatnonzero(np.append(True, names[1:] != names[:-1])[: len(names)])
    rising = np.flatnonzero(~(scores[1:] <= scores[:-1]) & (names[1:] == names[:-1]))
    if len(rising) or not np.isfinite(scores).all():
        row = int(rising[0]) + 1 if len(rising) else int((~np.isfinite(scores)).argmax())
        raise DataError(
            f"{path}, region {row}: score {scores[row]} of {names[row]}, expected "
            "an image's scores falling: sort its regions, the most confident first"
        )
    boxes = table[["x0", "y0", "x1", "y1"]].to_numpy(np.float32)
    counts = np.diff(np.append(first, len(names)))
    return Regions(names[first].tolist(), boxes, np.empty((0, width), np.float32), counts)


def _blocks_parquet(path: Path, width: int):
    import pyarrow.compute
    from pyarrow import parquet

    start = 0
    with parquet.ParquetFile(path) as file:
        for batch in file.iter_batches(batch_size=BLOCK, columns=["feature"]):
            column = batch.column(0)
            lengths = pyarrow.compute.fill_null(pyarrow.compute.list_value_length(column), 0)
            other = np.flatnonzero(lengths.to_numpy(zero_copy_only=False) != width)
            if len(other):
                raise DataError(
                    f"{path}, region {start + other[0]}: {lengths[int(other[0])]} numbers in its "
                    f"feature, expected {width} as in the first; {REMEDY}"
                )
            numbers = column.flatten().to_numpy(zero_copy_only=False)
            yield numbers.reshape(-1, width)
            start += len(batch)


def _write_parquet(path: Path, regions: Regions) -> None:
    import pyarrow
    from pyarrow import parquet

    counts = regions.counts
    within = np.arange(len(regions.boxes)) - np.repeat(np.cumsum(counts) - counts, counts)
    names = pyarrow.array(np.repeat(np.array(regions.names, object), counts), pyarrow.string())
    scores = (1 - within / np.repeat(counts, counts)).astype(np.float32)
    columns = [names, *(pyarrow.array(column) for column in regions.boxes.T), pyarrow.array(scores)]
    width = regions.features.shape[1]
    schema = pyarrow.schema(
        [
            ("name", pyarrow.string()),
            *((each, pyarrow.float32()) for each in COLUMNS[1:-1]),
            ("feature", pyarrow.list_(pyarrow.float32())),
        ]
    )
    with parquet.ParquetWriter(path, schema) as file:
        for start in range(0, len(regions.boxes), BLOCK):
            part = slice(start, start + BLOCK)
            block = regions.features[part]
            offsets = np.arange(0, block.size + 1, width, dtype=np.int32)
            feature = pyarrow.ListArray.from_arrays(offsets, pyarrow.array(block.ravel()))
            file.write_table(
                pyarrow.Table.from_arrays(
                    [*(column[part] for column in columns), feature], schema=schema
                )
            )
