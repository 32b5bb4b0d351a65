"""Visual Genome: image_data.json, objects.json, attributes.json, relationships.json.

    image_data     [{"image_id", "width", "height", "coco_id", "flickr_id"}, …]
    objects        [{"image_id", "objects": [{"object_id", "names", "x", "y", "w", "h"}, …]}, …]
    attributes     [{"image_id", "attributes": [{"object_id", "attributes": ["red"]}, …]}, …]
    relationships  [{"image_id", "relationships": [{"predicate", "subject", "object"}, …]}, …]

In version 1.0 the ids are called "id"; a name is "name" or the first of "names". In 1.4 objects
that were annotated twice are one; their former ids, "merged_object_ids", still count. The large
files have 400 to 700 MB and are read in one piece each: a few GB of memory, two minutes or three.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from alignbook.datasets.files import load_json, put_json, text, whole
from alignbook.errors import DataError

FILES = ("image_data", "objects", "attributes", "relationships")
REMEDY = (
    "take image_data, objects, attributes and relationships.json (about 17, 410, 460 and 710 MB, "
    "108,077 images) again from Visual Genome's site, the latest version of each, into one folder"
)
BOX = ["x0", "y0", "x1", "y1"]


class Tables(NamedTuple):
    """What the four files say, as four DataFrames.

    ``images``: image (its id), width, height (pixels), coco, flickr (ids there; missing where the
    picture is not from there).
    ``objects``: image, object (from 0 within the image), x0, y0, x1, y1 (pixels, half-open; as
    published, so some stick out of the picture), name.
    ``attributes``: image, object, attribute; one row each.
    ``relations``: image, subject (object number), relation, object (object number).
    """

    images: object
    objects: object
    attributes: object
    relations: object


def read_images(folder: Path):
    """The images of image_data.json, ``Tables.images``: all that the exclusions need.

    Raises
    ------
    DataError
        The file is missing or broken, an entry lacks a field or an image stands twice.
    """
    import pandas

    path = Path(folder) / "image_data.json"
    rows, seen = [], set()
    for place, entry in enumerate(load_json(path, list, REMEDY)):
        try:
            image, width, height = (
                _id(entry, "image_id"),
                *(whole(entry, s) for s in ("width", "height")),
            )
            if image in seen or min(width, height) < 1:
                raise ValueError(
                    f"image {image} of {width} by {height} pixels stands there twice or is empty"
                )
            seen.add(image)
            others = (entry.get(key) for key in ("coco_id", "flickr_id"))
            rows.append((image, width, height, *(None if v is None else int(v) for v in others)))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise _wrong(path, "entry", place, error, "image_id, width and height") from None
    return pandas.DataFrame(rows, columns=["image", "width", "height", "coco", "flickr"]).astype(
        {"coco": "Int64", "flickr": "Int64"}
    )


def read(folder: Path) -> Tables:
    """Read the four files.

    Raises
    ------
    DataError
        A file is missing or broken, an entry lacks a field, an image is not in image_data or an
        object stands twice; an attribute or a relationship is of an object that is not in its
        image: named by file, image and place in its list.
    """
    import pandas

    folder = Path(folder)
    images = read_images(folder)
    known = set(images.image)
    objects, attributes, relations = [], [], []
    number: dict[tuple[int, int], int] = {}  # image, object id → number within the image
    counts: dict[int, int] = {}
    for image, place, entry in _entries(folder, "objects", known):
        try:
            x, y, w, h = (whole(entry, side) for side in "xywh")
            own = _id(entry, "object_id")
            own_number = counts[image] = counts.get(image, -1) + 1
            for one in (own, *entry.get("merged_object_ids", ())):
                if number.setdefault((image, one), own_number) != own_number and one == own:
                    raise ValueError(f"object {one} stands there twice")
            objects.append((image, own_number, x, y, x + w, y + h, _name(entry)))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise _wrong(*place, error, "object_id, names, x, y, w and h") from None
    for image, place, entry in _entries(folder, "attributes", known):
        try:
            owner = _number(number, image, entry)
            for row, _ in enumerate(named := entry.get("attributes") or []):
                attributes.append((image, owner, text(dict(enumerate(named)), row)))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise _wrong(
                *place, error, "the object_id of one of the image's objects, and attributes"
            ) from None
    for image, place, entry in _entries(folder, "relationships", known):
        try:
            ends = [_number(number, image, entry[end]) for end in ("subject", "object")]
            relations.append((image, ends[0], text(entry, "predicate"), ends[1]))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise _wrong(
                *place,
                error,
                "a predicate, and a subject and an object with the "
                "object_id of one of the image's objects",
            ) from None
    return Tables(
        images,
        pandas.DataFrame(objects, columns=["image", "object", *BOX, "name"]),
        pandas.DataFrame(attributes, columns=["image", "object", "attribute"]),
        pandas.DataFrame(relations, columns=["image", "subject", "relation", "object"]),
    )


def overlap(images, coco=(), flickr=()) -> list[int]:
    """Images that are also in the given COCO or Flickr lists: to be left out of training.

    Parameters
    ----------
    images : pandas.DataFrame
        As from `read_images`.
    coco, flickr : iterable of int
        Ids of the other collections' images: COCO's validation and test, Flickr30K's dev and test
        (the number their file names begin with).

    Returns
    -------
    list of int
        Their ``image`` values, in order.
    """
    shared = images.coco.isin(list(coco)) | images.flickr.isin(list(flickr))
    return images.image[shared].tolist()


def from_world(objects, relations, width: int, height: int) -> Tables:
    """The embedded world's gold tables as Visual Genome's: a shape is a name, the rest attributes.

    Parameters
    ----------
    objects : pandas.DataFrame
        image, object (from 0 within each image), x0, y0, x1, y1, shape, then one column an
        attribute.
    relations : pandas.DataFrame
        image, subject, relation, object.
    width, height : int
        Of every image, in pixels.

    Raises
    ------
    DataError
        The objects of an image are not numbered 0, 1, … in order.
    """
    import pandas

    expected = objects.groupby("image").cumcount()
    if (wrong := objects.object.to_numpy() != expected.to_numpy()).any():
        row = int(wrong.argmax())
        raise DataError(
            f"objects, row {row}: object {objects.object.iloc[row]} of image "
            f"{objects.image.iloc[row]}, expected {expected.iloc[row]}: sort the table "
            "by image and object"
        )
    images = pandas.DataFrame({"image": sorted(set(objects.image))})
    images = images.assign(width=width, height=height, coco=None, flickr=None)
    named = objects[["image", "object", *BOX]].assign(name=objects["shape"])
    others = [c for c in objects if c not in ("image", "object", *BOX, "shape")]
    attributes = [
        (row["image"], row["object"], row[column])
        for row in objects.to_dict("records")
        for column in others
    ]
    return Tables(
        images.astype({"coco": "Int64", "flickr": "Int64"}),
        named.reset_index(drop=True),
        pandas.DataFrame(attributes, columns=["image", "object", "attribute"]),
        relations[["image", "subject", "relation", "object"]].reset_index(drop=True),
    )


def write(tables: Tables, folder: Path) -> None:
    """Write the four files in version 1.4's layout; objects get ids of their own, from 1.

    Raises
    ------
    DataError
        An object is of no image, or stands twice; an attribute or a relation is of an object that
        is not in the table of objects.
    """
    folder = Path(folder)
    ids, boxes = {}, {}
    lists = {kind: {image: [] for image in tables.images.image} for kind in FILES[1:]}
    for place, row in enumerate(tables.objects.to_dict("records")):
        key = (row["image"], row["object"])
        if row["image"] not in lists["objects"] or key in ids:
            raise DataError(
                f"objects, row {place}: object {key[1]} of image {key[0]}, expected "
                "an image of the table of images, and each object once"
            )
        ids[key] = len(ids) + 1
        boxes[key] = _box(ids[key], row)
        lists["objects"][row["image"]].append({**boxes[key], "merged_object_ids": []})

    def box(table: str, row: dict, place: int, end: str) -> dict:
        try:
            return boxes[row["image"], row[end]]
        except KeyError:
            raise DataError(
                f"{table}, row {place}: object {row[end]} of image {row['image']}, "
                "expected one of the table of objects"
            ) from None

    for place, row in enumerate(tables.attributes.to_dict("records")):
        one, listed = box("attributes", row, place, "object"), lists["attributes"][row["image"]]
        if not listed or listed[-1]["object_id"] != one["object_id"]:
            listed.append({**one, "attributes": []})
        listed[-1]["attributes"].append(row["attribute"])
    for place, row in enumerate(tables.relations.to_dict("records")):
        subject, other = (box("relations", row, place, end) for end in ("subject", "object"))
        lists["relationships"][row["image"]].append(
            {
                "relationship_id": place + 1,
                "predicate": row["relation"],
                "synsets": [],
                "subject": {**subject, "name": subject["names"][0]},
                "object": {**other, "name": other["names"][0]},
            }
        )
    for kind, entries in lists.items():
        put_json(
            folder / f"{kind}.json",
            [{"image_id": int(image), kind: entries[image]} for image in entries],
        )
    put_json(folder / "image_data.json", [_image(row) for row in tables.images.itertuples()])


def _box(number: int, row: dict) -> dict:
    """A row of the table of objects, as objects.json has it."""
    return {
        "object_id": number,
        "names": [row["name"]],
        "synsets": [],
        "x": int(row["x0"]),
        "y": int(row["y0"]),
        "w": int(row["x1"] - row["x0"]),
        "h": int(row["y1"] - row["y0"]),
    }


def _image(row) -> dict:
    """A row of the table of images, as image_data.json has it."""
    return {
        "image_id": int(row.image),
        "width": int(row.width),
        "height": int(row.height),
        "coco_id": _optional(row.coco),
        "flickr_id": _optional(row.flickr),
    }


def _entries(folder: Path, kind: str, known: set[int]):
    """(image, where it stands, entry) of each object, attribute list or relationship."""
    path = folder / f"{kind}.json"
    seen = set()
    for row, listed in enumerate(load_json(path, list, REMEDY)):
        try:
            image, entries = _id(listed, "image_id"), listed[kind]
            if image not in known or image in seen or not isinstance(entries, list):
                raise ValueError(
                    f"image {image} is not in image_data.json, or stands there twice, "
                    f"or its {kind} are no list"
                )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise _wrong(path, "entry", row, error, f"an image's {kind}") from None
        seen.add(image)
        for place, entry in enumerate(entries):
            yield image, (path, f"image {image}, {kind}", place), entry


def _id(entry: dict, key: str) -> int:
    return whole(entry, key if key in entry else "id")


def _name(entry: dict) -> str:
    if "name" in entry:
        return text(entry, "name")
    return text({"names": entry["names"][0] if entry["names"] else None}, "names")


def _number(number: dict, image: int, entry: dict) -> int:
    own = _id(entry, "object_id")
    if (image, own) not in number:
        raise ValueError(f"object {own} is not among the image's objects")
    return number[image, own]


def _optional(value) -> int | None:
    import pandas

    return None if pandas.isna(value) else int(value)


def _wrong(path: Path, part: str, place: int, error: Exception, expected: str) -> DataError:
    what = f"no field {error}" if isinstance(error, KeyError) else error
    return DataError(f"{path}, {part} {place}: {what}, expected {expected}; {REMEDY}")
