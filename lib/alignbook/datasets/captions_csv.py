"""The caption tables of the popular re-uploads of Flickr8k and Flickr30K.

    captions.txt   image,caption                        one row a caption, five an image in order
    results.csv    image_name| comment_number| comment  (captions.txt with commas, too)

A caption may hold commas, and stands in double quotes then, with its own quotes doubled. Between
bars nothing is quoted. The re-uploaded results.csv has one row whose second bar is missing; it is
read, and counted.

The tables don't say which image belongs to which split. Where the three lists of Flickr8k's split
lie beside the table (or in Flickr8k_text) they are taken; beside Karpathy's file the table isn't
needed. Otherwise the split is fixed and ours: names sorted, the first 6,000 (29,000) train, the
next 1,000 (1,014) dev, the next 1,000 test, the rest unused. Names begin with the photograph's
number on its site, so that pictures of one series mostly stay in one split.
"""

from __future__ import annotations

import re
from pathlib import Path

from alignbook.datasets import flickr8k, karpathy
from alignbook.datasets.files import put
from alignbook.datasets.photographs import Collection, find_folder, read_lines, writable
from alignbook.datasets.prepared import CAPTIONS_PER_IMAGE, SPLITS

FILES = {"flickr8k": ("captions.txt",), "flickr30k": ("results.csv", "captions.txt")}
LISTS = {"flickr8k": "Flickr_8k.{}Images.txt", "flickr30k": "Flickr_30k.{}Images.txt"}
HEADERS = (["image", "caption"], ["image_name", "comment_number", "comment"])
PIECES = {"flickr8k": "3 MB, 40,455 captions", "flickr30k": "13 MB, 158,915 captions"}


def find(folder: Path, name: str) -> Path | None:
    """The table of a collection, beside the photographs' folder or in it; None if not there."""
    inside = find_folder(folder, karpathy.IMAGES[name]) or folder
    places = [place / file for place in (folder, inside) for file in FILES[name]]
    return next((path for path in places if path.is_file()), None)


def read(folder: Path, name: str, sizes: dict[str, int] | None = None) -> Collection:
    """Read names, splits and raw captions; decode nothing.

    Parameters
    ----------
    folder : Path
        Holds the table and the folder of photographs.
    name : str
        "flickr8k" or "flickr30k".
    sizes : dict, optional
        Images of each split; the published ones unless given.

    Returns
    -------
    Collection
        What is wrong stands in its ``problems``.
    """
    sizes = karpathy.SIZES[name] if sizes is None else sizes
    path = find(folder, name) or folder / FILES[name][0]
    remedy = (
        f"take {path.name} ({PIECES[name]}) again from the re-upload that the photographs are "
        f"from and put it into {folder}"
    )
    images = find_folder(folder, karpathy.IMAGES[name])
    collection = Collection(name, images or folder / karpathy.IMAGES[name][0], [path], {}, {}, {})
    collection.reader = path.name
    problems = collection.problems
    if images is None:
        wanted = " or ".join(karpathy.IMAGES[name])
        problems.append(
            f"{folder}: no folder of photographs, expected {wanted}; {karpathy.WHERE[name]}"
        )
    if not path.is_file():
        problems.append(f"{path}: file missing; {remedy}")
    if problems:
        return collection

    place_of, irregular = _captions(path, collection, remedy)
    collection.notes = {"rows without their second bar": irregular} if irregular else {}
    lists = _lists(folder, name)
    if lists:
        collection.sources += lists.values()
        flickr8k.read_lists(lists, collection, remedy)
        collection.notes["split"] = f"the lists {', '.join(p.name for p in lists.values())}"
    else:
        _sorted_split(collection, sizes, place_of, remedy)
    collection.check(sizes, remedy)
    collection.check_photographs()
    return collection


def write(
    folder: Path,
    splits: dict[str, list[str]],
    captions: dict[str, list[str]],
    name: str = "flickr8k",
) -> None:
    """Write the table, captions.txt or for "flickr30k" results.csv, and lists of its splits.

    Raises
    ------
    DataError
        A name or caption that could not be read back.
    """
    bars = name == "flickr30k"
    rows = ["image_name| comment_number| comment" if bars else "image,caption"]
    for _, path, texts in writable(splits, captions, forbidden="|\n\r" if bars else ',"\n\r'):
        for k, text in enumerate(texts):
            if not bars and ("," in text or '"' in text):
                text = '"' + text.replace('"', '""') + '"'
            rows.append(f"{path}| {k}| {text}" if bars else f"{path},{text}")
    for split in SPLITS:
        listed = "".join(f"{path}\n" for path in splits[split])
        put(folder / LISTS[name].format(split), listed.encode())
    put(folder / FILES[name][0], "".join(f"{row}\n" for row in rows).encode())


def _lists(folder: Path, name: str) -> dict[str, Path]:
    for place in (folder, folder / "Flickr8k_text"):
        lists = {split: place / LISTS[name].format(split) for split in SPLITS}
        if all(path.is_file() for path in lists.values()):
            return lists
    return {}


def _captions(path: Path, collection: Collection, remedy: str) -> tuple[dict[str, str], int]:
    """Fill the captions; where each image first stands, and how many rows lack their bar."""
    problems, captions = collection.problems, collection.captions
    place_of: dict[str, str] = {}
    header, *lines = read_lines(path, problems, remedy)
    bar = "|" if "|" in header else ","
    columns = [each.strip() for each in header.split(bar)]
    if columns not in HEADERS:
        problems.append(
            f"{path}, row 1: header {header[:60]!r}, expected image,caption or "
            f"image_name| comment_number| comment; {remedy}"
        )
        return place_of, 0
    numbered, irregular = len(columns) == 3, 0
    for row, line in enumerate(lines, 2):
        photo, found, text = line.partition(bar)
        photo, text, number = photo.strip(), text.strip(), None
        if numbered and (parts := re.fullmatch(rf"(\d+)\s*({re.escape(bar)}|\s)(.*)", text)):
            number, text = int(parts[1]), parts[3].strip()
            irregular += parts[2] != bar
        if bar == "," and text.startswith('"'):
            inside = text[1:-1].replace('""', "")
            text = (
                None
                if len(text) < 2 or text[-1] != '"' or '"' in inside
                else (text[1:-1].replace('""', '"').strip())
            )
        if not (found and photo) or text is None or (numbered and number is None):
            if line.strip():
                form = "number and caption" if numbered else "caption"
                problems.append(
                    f"{path}, row {row}: {line[:60]!r}, expected image, {form} with "
                    f"whole quotes; {remedy}"
                )
            continue
        place_of.setdefault(photo, f"{path}, row {row}")
        if not text:
            problems.append(
                f"{path}, row {row}: caption of {photo} is empty, expected a sentence; {remedy}"
            )
            continue
        texts = captions.setdefault(photo, [])
        if numbered and number != len(texts):
            problems.append(
                f"{path}, row {row}: caption {number} of {photo} after "
                f"{len(texts)} others, expected 0 to {CAPTIONS_PER_IMAGE - 1} in "
                f"order; {remedy}"
            )
        texts.append(text)
    return place_of, irregular


def _sorted_split(
    collection: Collection, sizes: dict[str, int], place_of: dict[str, str], remedy: str
) -> None:
    names = sorted(place_of)
    wanted = sum(sizes[split] for split in SPLITS)
    if len(names) < wanted:
        collection.problems.append(
            f"{collection.sources[0]}: {len(names):,} images, expected at "
            f"least {wanted:,}; {remedy}"
        )
    start = 0
    for split in SPLITS:
        end = start + sizes[split]
        collection.splits[split] = names[start:end]
        collection.places[split] = [place_of[name] for name in names[start:end]]
        start = end
    collection.notes["split"] = "names sorted and cut at the published sizes: not the official one"
    collection.notes["images of no split"] = max(0, len(names) - wanted)
