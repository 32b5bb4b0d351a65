"""SugarCrepe: seven JSON files over the photographs of COCO val2017, one picture, two captions.

    add_att.json: {"0": {"filename", "caption", "negative_caption"}, "1": …}

The keys are numbers as text, neither contiguous nor in order everywhere: they name items, they
don't count them.
"""

from __future__ import annotations

from pathlib import Path

from alignbook.datasets.aro import COLUMNS
from alignbook.datasets.files import load_json, picture, put_json, text
from alignbook.errors import DataError

ITEMS = {
    "add_att": 692,
    "add_obj": 2062,
    "replace_att": 788,
    "replace_obj": 1652,
    "replace_rel": 1406,
    "swap_att": 666,
    "swap_obj": 245,
}
KINDS = tuple(ITEMS)
REMEDY = (
    "take the seven files (7,511 items, 1.7 MB) again from the data folder of SugarCrepe's "
    "repository and put them into one folder"
)


def read(folder: Path, kinds: tuple[str, ...] = KINDS):
    """Read the files as caption probes.

    Parameters
    ----------
    folder : Path
        Holds one file a kind.
    kinds : tuple of str
        Which files, by their stems; all seven unless told.

    Returns
    -------
    pandas.DataFrame
        One row an item, file by file: image (file name), caption, negative, kind (the file's
        stem), x0, y0, x1, y1 (all 0: the whole picture), item (int: its key).
        ``attrs["counts"]`` says how many items have two equal captions: none can be right.

    Raises
    ------
    DataError
        A file is missing or broken; a key is not a number or stands twice; an item lacks a field.
    """
    import pandas

    rows = []
    for kind in kinds:
        path = Path(folder) / f"{kind}.json"
        for key, entry in load_json(path, dict, REMEDY, keys_name_items=True).items():
            try:
                if not (key.isascii() and key.isdigit() and str(int(key)) == key):
                    raise ValueError("its key is not a number from 0 on")
                rows.append(
                    (
                        picture(entry, "filename"),
                        text(entry, "caption"),
                        text(entry, "negative_caption"),
                        kind,
                        0,
                        0,
                        0,
                        0,
                        int(key),
                    )
                )
            except KeyError as error:
                raise DataError(
                    f"{path}, item {key!r}: no field {error}, expected filename, "
                    f"caption and negative_caption; {REMEDY}"
                ) from None
            except (TypeError, ValueError) as error:
                raise DataError(
                    f"{path}, item {key!r}: {error}, expected a numbered item with "
                    f"its fields; {REMEDY}"
                ) from None
    probes = pandas.DataFrame(rows, columns=list(COLUMNS))
    probes.attrs["counts"] = {
        "items": len(probes),
        "equal captions": int((probes.caption == probes.negative).sum()),
    }
    return probes


def write(probes, folder: Path) -> None:
    """Write caption probes, one file a kind; boxes have no place in this format.

    Raises
    ------
    DataError
        A kind is none of the seven, an item is not a number or stands twice in its kind, or a
        probe has a box.
    """
    folder = Path(folder)
    files: dict[str, dict] = {}
    for row in probes.to_dict("records"):
        kind, key, entries = row["kind"], row["item"], files.setdefault(row["kind"], {})
        place = f"{folder / f'{kind}.json'}, item {key!r}"
        if kind not in KINDS:
            raise DataError(f"{place}: kind {kind!r}, expected one of {', '.join(KINDS)}")
        if isinstance(key, str) or int(key) != key or key < 0 or str(int(key)) in entries:
            raise DataError(f"{place}: expected a number that stands once in {kind}")
        if any(row[side] for side in ("x0", "y0", "x1", "y1")):
            raise DataError(f"{place}: has a box, expected whole pictures: crop them before")
        entries[str(int(key))] = {
            "filename": row["image"],
            "caption": row["caption"],
            "negative_caption": row["negative"],
        }
    for kind, entries in files.items():
        put_json(folder / f"{kind}.json", entries)
