"""Karpathy's split files: dataset_{flickr8k,flickr30k,coco}.json beside the photographs.

    {"images": [{"filename", "split", "sentences": [{"raw", "tokens"}, …], ["filepath"]}, …]}

COCO's "restval" images count as training; the first five of COCO's sentences (five to seven) are
kept.

Photographs that are missing are an error, with one exception that has to be asked for. Most of
Flickr8k's photographs are in Flickr30K too; a file ``flickr30k_to_flickr8k_photo.json``,
``{name in Flickr30K: name of the photograph}``, beside dataset_flickr30k.json, means: use the
images named here and no others, each with the photograph named, from the folder of photographs or
from Flickr8k's beside it. There Flickr8k's dataset_flickr8k.json says the splits, so that nothing that
was trained on Flickr8k has seen their test; a photograph of none of its splits is tested. Such a data
set is called "flickr30k-partial", and its notes say how many images of each split are left: it is not
the standard test set.
"""

from __future__ import annotations

import re
from pathlib import Path

from alignbook.datasets.files import load_json, put_json
from alignbook.datasets.photographs import Collection, find_folder, leaves, writable
from alignbook.datasets.prepared import CAPTIONS_PER_IMAGE, SPLITS
from alignbook.errors import DataError

SIZES = {
    "flickr8k": {"train": 6000, "dev": 1000, "test": 1000},
    "flickr30k": {"train": 29000, "dev": 1014, "test": 1000},
    "coco": {"train": 113287, "dev": 5000, "test": 5000},
}
IMAGES = {
    "flickr8k": ("Images", "images", "Flicker8k_Dataset", "Flickr8k_Dataset"),
    "flickr30k": ("Images", "images", "flickr30k-images", "flickr30k_images"),
    "coco": ("Images", "images", "."),  # "." holds train2014/ and val2014/
}
PARTIAL = "flickr30k_to_flickr8k_photo.json"
PARTIAL_IMAGES = (*IMAGES["flickr30k"], "flickr8k/Images", "../flickr8k/Images")
SPLIT = {"train": "train", "restval": "train", "val": "dev", "dev": "dev", "test": "test"}
WHERE = {
    "flickr8k": "the photographs (1 GB) are had on request from the University of Illinois",
    "flickr30k": "the photographs (4 GB) are had on request from the University of Illinois",
    "coco": "the photographs are had from the COCO site (train2014 13 GB, val2014 6 GB)",
}


def read(
    folder: Path, name: str, sizes: dict[str, int] | None = None, captions_only: bool = False
) -> Collection:
    """Read names, splits and raw captions of one of the three collections; decode nothing.

    Parameters
    ----------
    folder : Path
        Holds dataset_<name>.json and the folder of photographs.
    name : str
        "flickr8k", "flickr30k" or "coco".
    sizes : dict, optional
        Images each split must hold; the published ones unless given.
    captions_only : bool
        Look for no photographs: all captions and splits, for text alone.

    Returns
    -------
    Collection
        What is wrong stands in its ``problems``.
    """
    path = folder / f"dataset_{name}.json"
    remedy = (
        f"take dataset_{name}.json again from Karpathy's caption_datasets archive (36 MB, on his "
        f"Stanford page) and put it into {folder}; {WHERE[name]}"
    )
    partial = name == "flickr30k" and not captions_only and (folder / PARTIAL).is_file()
    places = PARTIAL_IMAGES if partial else IMAGES[name]
    images = find_folder(folder, places)
    collection = Collection(name, images or folder / places[0], [path], {}, {}, {})
    collection.reader = path.name
    problems = collection.problems
    if images is None and not captions_only:
        problems.append(
            f"{folder}: no folder of photographs, expected {' or '.join(places)}; {WHERE[name]}"
        )
    entries = _entries(path, problems, remedy)
    if problems:
        return collection

    _collect(collection, path, entries, remedy)
    collection.check(SIZES[name] if sizes is None else sizes, remedy)
    if partial and not problems:
        _keep_present(collection, folder / PARTIAL)
        if problems:
            return collection
    if not captions_only:
        collection.check_photographs()
    return collection


def _collect(collection: Collection, path: Path, entries: list, remedy: str) -> None:
    """Put the entries of a file's list into a collection; what is wrong goes to its problems."""
    problems, unused = collection.problems, 0
    collection.splits = {split: [] for split in SPLITS}
    collection.places = {split: [] for split in SPLITS}
    for row, entry in enumerate(entries):
        try:
            split, photo = SPLIT.get(entry["split"]), _photo(entry, collection.images)
            if not isinstance(photo, str):
                raise TypeError(f"filename is {photo!r}")
            texts = [sentence["raw"].strip() for sentence in entry["sentences"]]
        except (KeyError, TypeError, AttributeError) as error:
            problems.append(
                f"{path}, image {row}: {error!r}, expected filename, split and sentences with "
                f"their raw text; {remedy}"
            )
            continue
        if split is None:
            unused += 1
            continue
        texts = texts[:CAPTIONS_PER_IMAGE]
        if "" in texts:
            problems.append(
                f"{path}, image {row}: sentence {texts.index('')} of {photo} is "
                f"empty, expected a sentence; {remedy}"
            )
        collection.splits[split].append(photo)
        collection.places[split].append(f"{path}, image {row}")
        collection.captions[photo] = texts
    collection.notes = {"images of no split": unused}


def write(
    folder: Path,
    splits: dict[str, list[str]],
    captions: dict[str, list[str]],
    name: str = "flickr8k",
) -> None:
    """Write ``folder/dataset_<name>.json``; a name's folder becomes its "filepath".

    Raises
    ------
    DataError
        A name or caption that could not be read back.
    """
    entries = []
    for number, (split, path, texts) in enumerate(writable(splits, captions)):
        first = CAPTIONS_PER_IMAGE * number
        sentences = [
            {
                "tokens": re.findall(r"\w+", text.lower()),
                "raw": text,
                "imgid": number,
                "sentid": first + k,
            }
            for k, text in enumerate(texts)
        ]
        below, _, file = path.rpartition("/")
        entries.append(
            {
                **({"filepath": below} if below else {}),
                "filename": file,
                "imgid": number,
                "split": "val" if split == "dev" else split,
                "sentids": [each["sentid"] for each in sentences],
                "sentences": sentences,
            }
        )
    put_json(folder / f"dataset_{name}.json", {"images": entries, "dataset": name})


def _entries(path: Path, problems: list[str], remedy: str) -> list[dict]:
    try:
        entries = load_json(path, dict, remedy)["images"]
        if not isinstance(entries, list):
            raise TypeError
    except DataError as error:
        problems.append(str(error))
    except (KeyError, TypeError):
        problems.append(f"{path}: no list 'images', expected Karpathy's schema; {remedy}")
    else:
        return entries
    return []


def _photo(entry: dict, images: Path) -> str:
    """Path of a photograph below the images' folder; COCO's lie one folder deeper or flat."""
    name, below = entry["filename"], entry.get("filepath")
    if not below:
        return name
    deeper = f"{below}/{name}"
    return deeper if leaves(deeper) or (images / below).is_dir() else name


def _keep_present(collection: Collection, path: Path) -> None:
    """Leave only the images that the file names, under the names of their photographs."""
    remedy = (
        f"correct {path.name}, or take it away and unpack the whole collection's photographs "
        f"into {collection.images}"
    )
    try:
        photo_of = load_json(path, dict, remedy)
    except DataError as error:
        collection.problems.append(str(error))
        return
    if not all(isinstance(photo, str) for photo in photo_of.values()):
        collection.problems.append(f"{path}: expected one object {{name: photograph}}; {remedy}")
        return
    owner: dict[str, str] = {}
    for name, photo in photo_of.items():
        if name not in collection.captions:
            collection.problems.append(
                f"{path}: {name!r} is no image of {collection.name}, expected one; {remedy}"
            )
        elif leaves(photo):
            collection.problems.append(
                f"{path}: {name!r}: {photo!r} leaves the folder of "
                f"photographs, expected a name; {remedy}"
            )
        elif photo in owner:
            collection.problems.append(
                f"{path}: {photo!r} stands for {owner[photo]!r} and for "
                f"{name!r}, expected one; {remedy}"
            )
        owner.setdefault(photo, name)
    if collection.problems:
        return
    theirs = _split_by_flickr8k(collection)
    if collection.problems:
        return
    found = {split: [] for split in SPLITS}
    for split in SPLITS:
        for name, place in zip(collection.splits[split], collection.places[split]):
            if photo := photo_of.get(name):
                found[theirs.get(photo, "test") if theirs else split].append((photo, place))
    kept = {}
    for split, those in found.items():
        whole = "" if theirs else f" of {len(collection.splits[split]):,}"
        kept[split] = f"{split} {len(those):,}{whole}"
        if not those:
            collection.problems.append(
                f"{path}: 0 images of split {split}, expected at least one; {remedy}"
            )
        collection.splits[split] = [photo for photo, _ in those]
        collection.places[split] = [place for _, place in those]
    total = len(collection.captions)
    collection.captions = {photo: collection.captions[name] for name, photo in photo_of.items()}
    collection.name += "-partial"
    collection.sources.append(path)
    collection.notes["partial"] = (
        f"{len(photo_of):,} of {total:,} images: {', '.join(kept.values())}"
        f"{', split as Flickr8k is' * bool(theirs)}; not the standard test set"
    )


def split_as_flickr8k(folder: Path) -> bool:
    """Whether Flickr30K's data in a folder are photographs in Flickr8k's, under its names and splits."""
    images = find_folder(folder, PARTIAL_IMAGES)
    return (folder / PARTIAL).is_file() and images is not None and _split_file(images).is_file()


def _split_file(images: Path) -> Path:
    return images.parent / "dataset_flickr8k.json"


def _split_by_flickr8k(collection: Collection) -> dict[str, str]:
    """Which of Flickr8k's splits each photograph is in, where its file lies beside the photographs."""
    path = _split_file(collection.images)
    if not path.is_file():
        return {}
    collection.sources.append(path)
    found = {}
    for entry in _entries(path, collection.problems, f"take {path.name} away, or correct it"):
        try:
            found[entry["filename"]] = SPLIT[entry["split"]]
        except (KeyError, TypeError) as error:
            collection.problems.append(
                f"{path}: {error!r}, expected filename and split of every image; take the file away, "
                "or correct it"
            )
            break
    if not found and not collection.problems:
        collection.problems.append(f"{path}: 0 images, expected Flickr8k's; take the file away")
    return found
