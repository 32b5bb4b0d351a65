"""ARO: visual_genome_relation.json and visual_genome_attribution.json, one picture, two captions.

    [{"image_path", "true_caption", "false_caption", "bbox_x", "bbox_y", "bbox_w", "bbox_h",
      "relation_name"  (relation)  |  "attributes": [a, b]  (attribution)}, …]

The picture is cropped to the box, which holds both objects. In the false caption the two objects
(relation), or their attributes (attribution), have changed places. Other fields are not used.
"""

from __future__ import annotations

from pathlib import Path

from alignbook.datasets.files import load_json, picture, put_json, text, whole
from alignbook.errors import DataError

KINDS = ("relation", "attribution")
ITEMS = {"relation": 23937, "attribution": 28748}  # in the published files
COLUMNS = ("image", "caption", "negative", "kind", "x0", "y0", "x1", "y1", "item")


def read(path: Path, kind: str):
    """Read one of the two files as caption probes.

    Parameters
    ----------
    path : Path
        The file, or the folder that holds visual_genome_<kind>.json.
    kind : str
        "relation" or "attribution".

    Returns
    -------
    pandas.DataFrame
        One row an item, in the file's order: image (file name), caption (true), negative (false),
        kind (the relation's name, or "a_b" of the two attributes), x0, y0, x1, y1 (int pixels,
        half-open: crop to this; as published, so it may stick out of the picture; all 0: the
        whole picture), item (int, from 0). ``attrs["counts"]`` says how many items have two equal
        captions: none can be right.

    Raises
    ------
    DataError
        The file is missing or broken; an item lacks a field, its box is empty, its image's path
        leaves the folder.
    """
    import pandas

    if kind not in KINDS:
        raise DataError(f"{path}: kind {kind!r}, expected relation or attribution")
    path = Path(path)
    if path.is_dir():
        path = path / f"visual_genome_{kind}.json"
    remedy = (
        f"take visual_genome_{kind}.json ({ITEMS[kind]:,} items) again from where the repository "
        "of ARO, vision-language-models-are-bows, points to, and put it there"
    )
    rows = []
    for item, entry in enumerate(load_json(path, list, remedy)):
        try:
            rows.append((*_probe(entry, kind), item))
        except KeyError as error:
            raise DataError(
                f"{path}, item {item}: no field {error}, expected {kind}'s fields; {remedy}"
            ) from None
        except (TypeError, ValueError) as error:
            raise DataError(
                f"{path}, item {item}: {error}, expected an item of {kind}; {remedy}"
            ) from None
    probes = pandas.DataFrame(rows, columns=list(COLUMNS))
    probes.attrs["counts"] = {
        "items": len(probes),
        "equal captions": int((probes.caption == probes.negative).sum()),
    }
    return probes


def write(probes, path: Path, kind: str) -> None:
    """Write caption probes as one of the two files; items are numbered by their order.

    A probe on the whole picture gets the box 0, 0, 0, 0, which only this reader understands.

    Raises
    ------
    DataError
        An attribution's kind is not "a_b".
    """
    path, entries = Path(path), []
    for row in probes.to_dict("records"):
        entry = {
            "image_id": Path(row["image"]).stem,
            "true_caption": row["caption"],
            "false_caption": row["negative"],
            **{f"bbox_{side}": int(row[f"{side}0"]) for side in "xy"},
            "bbox_w": int(row["x1"] - row["x0"]),
            "bbox_h": int(row["y1"] - row["y0"]),
            "image_path": row["image"],
        }
        if kind == "relation":
            entry["relation_name"] = row["kind"]
        else:
            first, joint, second = row["kind"].partition("_")
            if not (first and joint and second):
                raise DataError(
                    f"{path}, item {len(entries)}: kind {row['kind']!r}, expected two "
                    "attributes with _ between them"
                )
            entry["attributes"] = [first, second]
        entries.append(entry)
    put_json(path, entries)


def _probe(entry: dict, kind: str) -> tuple:
    """A row of the table but for its item; KeyError, TypeError or ValueError for a wrong entry."""
    x, y, w, h = (whole(entry, f"bbox_{side}") for side in "xywh")
    if (x, y, w, h) != (0, 0, 0, 0) and min(w, h) < 1:
        raise ValueError(f"its box is {w} by {h} pixels")
    image, caption = picture(entry, "image_path"), text(entry, "true_caption")
    negative = text(entry, "false_caption")
    return image, caption, negative, _kind(entry, kind), x, y, x + w, y + h


def _kind(entry: dict, kind: str) -> str:
    if kind == "relation":
        return text(entry, "relation_name")
    pair = entry["attributes"]
    if not (isinstance(pair, list) and len(pair) == 2 and all(isinstance(a, str) for a in pair)):
        raise ValueError(f"attributes is {pair!r}, not a pair of texts")
    return "_".join(pair)
