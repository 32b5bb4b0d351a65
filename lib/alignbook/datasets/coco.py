"""COCO's own annotation files: captions_*.json and instances_*.json.

    DIR/annotations/captions_{train,val}{2017,2014}.json   {"images": [...], "annotations": [...]}
    DIR/{train,val}2017/ (or DIR/Images/, flat or with these folders)

Training images come from the train file. The val file, its images in the order of their ids, is
cut into dev, the first min(5000, half), and test, as many again; the rest is unused and counted.
This split is ours: published figures are on Karpathy's, which his dataset_coco.json gives. A third
file captions_test*.json, which COCO never published, is the test split where there is one, and all
of val is dev: a world of any sizes can be written so. The first five of an image's captions (five
to seven) count, in the order of their ids.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from alignbook.datasets.files import load_json, put_json
from alignbook.datasets.photographs import Collection, find_folder, leaves, writable
from alignbook.datasets.prepared import CAPTIONS_PER_IMAGE, SPLITS
from alignbook.errors import DataError

YEARS = ("2017", "2014")
TEST_IMAGES = 5000
REMEDY = (
    "take it again from annotations_trainval2017 (241 MB packed; captions of train 91 MB, val 4 "
    "MB; instances of train 448 MB, val 20 MB) on the COCO site and put it into annotations/; the "
    "photographs are train2017 (18 GB) and val2017 (1 GB)"
)


def find(folder: Path) -> dict[str, Path]:
    """The captions files by their split in the file's name: train, val and perhaps test."""
    for place in (folder / "annotations", folder):
        for year in YEARS:
            files = {s: place / f"captions_{s}{year}.json" for s in ("train", "val", "test")}
            found = {split: path for split, path in files.items() if path.is_file()}
            if "train" in found and "val" in found:  # of one year: years share images
                return found
    return {}


def read(folder: Path) -> Collection:
    """Read names, splits and raw captions; decode nothing.

    Parameters
    ----------
    folder : Path
        Holds annotations/ and the photographs' folders.

    Returns
    -------
    Collection
        What is wrong stands in its ``problems``. Every image of the files must be there.
    """
    files = find(folder)
    images = find_folder(folder, ("Images", "images", "."))
    collection = Collection("coco", images or folder, list(files.values()), {}, {}, {})
    problems = collection.problems
    if not files:
        wanted = folder / "annotations" / "captions_train2017.json"
        problems.append(f"{wanted}: file missing, or the val file of its year; {REMEDY}")
        return collection
    collection.reader = files["train"].name
    try:
        listed = {split: _captions(path, collection) for split, path in files.items()}
    except DataError as error:
        problems.append(str(error))
        return collection
    if "test" not in listed:
        half = min(TEST_IMAGES, len(listed["val"]) // 2)
        collection.notes["split"] = (
            f"val in order of ids: {half:,} dev, then {half:,} test; not Karpathy's"
        )
        collection.notes["images of no split"] = len(listed["val"]) - 2 * half
        listed["val"], listed["test"] = listed["val"][:half], listed["val"][half : 2 * half]
    for split, file in zip(SPLITS, ("train", "val", "test"), strict=True):
        collection.splits[split] = [path for path, _ in listed[file]]
        collection.places[split] = [place for _, place in listed[file]]
    collection.check({}, REMEDY)
    collection.check_photographs()
    return collection


def write(folder: Path, splits: dict[str, list[str]], captions: dict[str, list[str]]) -> None:
    """Write ``folder/annotations/captions_{train,val,test}2017.json``.

    Image ids count from 1 over all splits; a name is the image's file name.

    Raises
    ------
    DataError
        A name or caption that could not be read back.
    """
    members = writable(splits, captions)
    numbered = list(enumerate(members, 1))
    for split, file in zip(SPLITS, ("train", "val", "test"), strict=True):
        mine = [(i, name, texts) for i, (where, name, texts) in numbered if where == split]
        value = {
            "images": [{"id": i, "file_name": name} for i, name, _ in mine],
            "annotations": [
                {"id": CAPTIONS_PER_IMAGE * i + k, "image_id": i, "caption": text}
                for i, _, texts in mine
                for k, text in enumerate(texts)
            ],
        }
        put_json(folder / "annotations" / f"captions_{file}2017.json", value)


def read_instances(path: Path):
    """Gold boxes of an instances_*.json.

    Returns
    -------
    pandas.DataFrame
        One row an object: image (file name), object (number within the image), x0, y0, x1, y1
        (pixels, half-open), category (name), iscrowd (0 or 1); images in the order of the file,
        objects in the order of their ids. A published box has fractions of a pixel; here it is the
        smallest box of whole pixels that holds it (after rounding to hundredths, COCO's own
        precision, so that 459.0000001 stays 459), cut off at the picture's border.

    Raises
    ------
    DataError
        A file that is missing, broken or at odds with itself; names the annotation's index.
    """
    import pandas

    value = load_json(path, dict, REMEDY)
    photos, annotations = _tables(path, value)
    try:
        categories = {each["id"]: each["name"] for each in value["categories"]}
    except (KeyError, TypeError):
        raise DataError(
            f"{path}: no list 'categories' of id and name, expected COCO's schema; {REMEDY}"
        ) from None
    rank = {key: i for i, key in enumerate(photos)}
    rows = []
    for index, each in annotations:
        place = f"{path}, annotation {index}"
        try:
            photo, category = photos[each["image_id"]], categories[each["category_id"]]
            x, y, width, height = (float(value) for value in each["bbox"])
            limits = [float(photo.get(side, np.inf)) for side in ("width", "height")]
            crowd = int(each.get("iscrowd", 0))
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise DataError(
                f"{place}: {error!r}, expected a known image_id and category_id, a "
                "bbox x, y, width, height, and numbers as iscrowd and its picture's "
                f"width and height; {REMEDY}"
            ) from None
        if not np.isfinite((x, y, width, height)).all() or width <= 0 or height <= 0:
            raise DataError(
                f"{place}: bbox {each['bbox']}, expected numbers and a width and "
                f"height above 0; {REMEDY}"
            )
        x0, y0, x1, y1 = _whole_pixels(x, y, width, height, limits)
        if x1 <= x0 or y1 <= y0:
            raise DataError(
                f"{place}: bbox {each['bbox']} outside its picture of {limits[0]:g} "
                f"× {limits[1]:g} pixels, expected one inside; {REMEDY}"
            )
        rows.append((rank[each["image_id"]], photo["file_name"], x0, y0, x1, y1, category, crowd))
    columns = ["rank", "image", "x0", "y0", "x1", "y1", "category", "iscrowd"]
    table = pandas.DataFrame(rows, columns=columns).sort_values("rank", kind="stable")
    table.insert(2, "object", table.groupby("rank").cumcount())
    return table.drop(columns="rank").reset_index(drop=True)


def _whole_pixels(x, y, width, height, limits) -> tuple[int, int, int, int]:
    """The smallest box of whole pixels that holds a published one, within its picture."""
    x0, y0 = (max(0, int(np.floor(round(low, 2)))) for low in (x, y))
    x1, y1 = (
        int(min(np.ceil(round(high, 2)), limit))
        for high, limit in zip((x + width, y + height), limits, strict=True)
    )
    return x0, y0, x1, y1


def write_instances(path: Path, objects, sizes: dict[str, tuple[int, int]]) -> None:
    """Write gold boxes as an instances_*.json.

    Parameters
    ----------
    path : Path
        The file.
    objects : pandas.DataFrame
        As `read_instances` gives it; iscrowd may be left out. Rows of an image in the order of
        their object numbers, images in the order of ``sizes``.
    sizes : dict
        Width and height in pixels of every image, also of those without objects.

    Raises
    ------
    DataError
        A box that is empty or outside its image.
    """
    ids = {name: i for i, name in enumerate(sizes, 1)}
    names = sorted(objects.category.unique())
    category_id = {name: i for i, name in enumerate(names, 1)}
    crowd = objects.iscrowd if "iscrowd" in objects else np.zeros(len(objects), int)
    columns = (objects.image, objects.x0, objects.y0, objects.x1, objects.y1, objects.category)
    annotations = []
    for index, (image, x0, y0, x1, y1, category, many) in enumerate(zip(*columns, crowd)):
        width, height = sizes.get(image, (0, 0))
        if not (0 <= x0 < x1 <= width and 0 <= y0 < y1 <= height):
            raise DataError(
                f"object {index}: box {x0}, {y0}, {x1}, {y1} of {image}, expected one "
                f"within {width} × {height} pixels: correct the table"
            )
        box = [int(x0), int(y0), int(x1 - x0), int(y1 - y0)]
        annotations.append(
            {
                "id": index + 1,
                "image_id": ids[image],
                "category_id": category_id[category],
                "bbox": box,
                "area": box[2] * box[3],
                "segmentation": [],
                "iscrowd": int(many),
            }
        )
    images = [
        {"id": ids[name], "file_name": name, "width": int(width), "height": int(height)}
        for name, (width, height) in sizes.items()
    ]
    categories = [{"id": i, "name": name} for name, i in category_id.items()]
    put_json(path, {"images": images, "annotations": annotations, "categories": categories})


def _captions(path: Path, collection: Collection) -> list[tuple[str, str]]:
    """Path and place of every image of a file in the order of ids; captions into the collection."""
    photos, annotations = _tables(path, load_json(path, dict, REMEDY))
    index_of = {key: index for index, key in enumerate(photos)}
    texts: dict[int, list[str]] = {key: [] for key in photos}
    for index, each in annotations:
        try:
            mine, text = texts[each["image_id"]], each["caption"].strip()
        except (KeyError, TypeError, AttributeError) as error:
            collection.problems.append(
                f"{path}, annotation {index}: {error!r}, expected a known "
                f"image_id and a caption; {REMEDY}"
            )
            continue
        if not text and len(mine) < CAPTIONS_PER_IMAGE:
            collection.problems.append(
                f"{path}, annotation {index}: caption is empty, expected a sentence; {REMEDY}"
            )
        mine.append(text)
    below = path.stem.partition("_")[2]  # train2017
    deeper = (collection.images / below).is_dir()
    listed = []
    for key in sorted(photos):
        name = photos[key]["file_name"]
        photo = f"{below}/{name}" if deeper else name
        if leaves(name):  # left as it is, for the check to name it
            photo = name
        listed.append((photo, f"{path}, image {index_of[key]}"))
        collection.captions[photo] = texts[key][:CAPTIONS_PER_IMAGE]
    return listed


def _tables(path: Path, value: dict) -> tuple[dict[int, dict], list[tuple[int, dict]]]:
    """Images by id, and annotations in the order of their ids, each with its index."""
    try:
        photos: dict[int, dict] = {}
        for index, each in enumerate(value["images"]):
            if not isinstance(each["file_name"], str) or not isinstance(each["id"], int):
                raise TypeError("id or file_name")
            if each["id"] in photos:
                raise DataError(
                    f"{path}, image {index}: id {each['id']} stands twice, expected once; {REMEDY}"
                )
            photos[each["id"]] = each
        annotations = sorted(enumerate(value["annotations"]), key=lambda pair: pair[1]["id"])
    except (KeyError, TypeError) as error:
        raise DataError(
            f"{path}: {error!r}, expected COCO's lists 'images' of id and file_name, "
            f"and 'annotations' of id and image_id; {REMEDY}"
        ) from None
    for (_, one), (index, other) in zip(annotations, annotations[1:], strict=False):
        if one["id"] == other["id"]:
            raise DataError(
                f"{path}, annotation {index}: id {other['id']} stands twice, expected "
                f"once; {REMEDY}"
            )
    return photos, annotations
