"""Karpathy's split files: dataset_{flickr8k,flickr30k,coco}.json beside the photographs.

    {"images": [{"filename", "split", "sentences": [{"raw", "tokens"}, …], ["filepath"]}, …]}

COCO's "restval" images count as training; of COCO's sentences (five to seven) the first five
are kept.
"""

from __future__ import annotations

import json
from pathlib import Path

from alignbook.datasets.photographs import Collection, find_folder
from alignbook.datasets.store import CAPTIONS_PER_IMAGE, SPLITS

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
SPLIT = {"train": "train", "restval": "train", "val": "dev", "dev": "dev", "test": "test"}
WHERE = {
    "flickr8k": "the photographs (1 GB) are had on request from the University of Illinois",
    "flickr30k": "the photographs (4 GB) are had on request from the University of Illinois",
    "coco": "the photographs are had from the COCO site (train2014 13 GB, val2014 6 GB)",
}


def read(folder: Path, name: str, sizes: dict[str, int] | None = None) -> Collection:
    """Read names, splits and raw captions of one of the three collections; decode nothing.

    Parameters
    ----------
    folder : Path
        Holds dataset_<name>.json and the folder of photographs.
    name : str
        "flickr8k", "flickr30k" or "coco".
    sizes : dict, optional
        Images each split must hold; the published ones unless given.

    Returns
    -------
    Collection
        What is wrong stands in its ``problems``.
    """
    path = folder / f"dataset_{name}.json"
    remedy = (
        f"take dataset_{name}.json again from Karpathy's caption_datasets archive (36 MB, on his "
        f"Stanford page); {WHERE[name]}"
    )
    images = find_folder(folder, IMAGES[name])
    collection = Collection(name, images or folder / IMAGES[name][0], [path], {}, {}, {})
    problems = collection.problems
    if images is None:
        problems.append(f"{folder}: no folder of photographs, expected "
                        f"{' or '.join(IMAGES[name])}; {WHERE[name]}")  # fmt: skip
    entries = _entries(path, problems, remedy)
    if problems:
        return collection

    collection.splits = {split: [] for split in SPLITS}
    collection.places = {split: [] for split in SPLITS}
    unused = 0
    for row, entry in enumerate(entries):
        try:
            split, photo = SPLIT.get(entry["split"]), _photo(entry, collection.images)
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
            problems.append(f"{path}, image {row}: sentence {texts.index('')} of {photo} is "
                            f"empty, expected a sentence; {remedy}")  # fmt: skip
        collection.splits[split].append(photo)
        collection.places[split].append(f"{path}, image {row}")
        collection.captions[photo] = texts
    collection.counts = {"images of no split": unused}
    collection.check(SIZES[name] if sizes is None else sizes, remedy)
    return collection


def _entries(path: Path, problems: list[str], remedy: str) -> list[dict]:
    try:
        entries = json.loads(path.read_bytes())["images"]
        if not isinstance(entries, list):
            raise TypeError
    except FileNotFoundError:
        problems.append(f"{path}: file missing; {remedy}")
    except UnicodeDecodeError as error:
        problems.append(f"{path}, byte {error.start + 1}: not UTF-8, expected UTF-8; {remedy}")
    except json.JSONDecodeError as error:
        problems.append(f"{path}, row {error.lineno}: not JSON ({error.msg}); {remedy}")
    except (KeyError, TypeError):
        problems.append(f"{path}: no list 'images', expected Karpathy's schema; {remedy}")
    else:
        return entries
    return []


def _photo(entry: dict, images: Path) -> str:
    """Path of a photograph below the images' folder; COCO's lie one folder deeper or flat."""
    name, below = entry["filename"], entry.get("filepath")
    parts = Path(below or ".", name).parts
    if Path(*parts).is_absolute() or ".." in parts:
        raise KeyError(f"{name}: path leaves the folder")
    return f"{below}/{name}" if below and (images / below).is_dir() else name
