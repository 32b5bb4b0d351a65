"""Data sets by name: the embedded world, photographs or precomputed features a user brings.

``prepare("world", profile, root)`` or ``prepare("flickr8k=DIR", profile, root)`` decodes or draws
once, into a folder below ``root`` named after everything that went in, and memory-maps it after.

Which files of DIR are read, the first that is there:

    flickr8k=DIR       Flickr8k_text, dataset_flickr8k.json, captions.txt
    flickr30k=DIR      dataset_flickr30k.json, results.csv, captions.txt
    coco=DIR           dataset_coco.json, annotations/captions_{train,val}2017.json (or 2014)
    f30k_precomp=DIR   {train,dev,test}_{ims.npy,caps.txt}, of the published sizes
    coco_precomp=DIR   the same; testall for test where it is there
    precomp=DIR        the same, of any size

Photographs beside which DIR holds regions.npz or regions.parquet keep these region features. The
format read stands in ``Dataset.meta["reader"]``.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from alignbook import ROOT
from alignbook.datasets import (
    captions_csv,
    coco,
    flickr8k,
    gold,
    karpathy,
    precomp,
    prepared,
    regions,
)
from alignbook.datasets.photographs import Collection, shorten
from alignbook.datasets.prepared import SPLITS, Dataset
from alignbook.errors import DataError
from alignbook.store import fingerprint

FEWEST = 11  # images of a split: recall at 10 says nothing of fewer
NAMES = ("world", "flickr8k", "flickr30k", "coco", *precomp.SIZES)

__all__ = ["NAMES", "DataError", "Dataset", "check", "parse", "prepare", "source"]


def parse(spec: str) -> tuple[str, Path | None]:
    """Name and folder of "world" or "flickr8k=DIR".

    Raises
    ------
    DataError
        Unknown name, or a folder too few or too many.

    Examples
    --------
    >>> parse("flickr8k=photos")[0]
    'flickr8k'
    """
    name, equals, folder = spec.partition("=")
    if name not in NAMES:
        others = ", ".join(f"{each}=DIR" for each in NAMES[1:])
        raise DataError(f"data {spec!r}: expected world or one of {others}")
    if (name == "world") == bool(folder) or (name == "world" and equals):
        form = "world" if name == "world" else f"{name}=DIR, the folder that holds its files"
        raise DataError(f"data {spec!r}: expected {form}")
    return name, Path(folder).expanduser() if folder else None


def check(spec: str, profile=None) -> list[str]:
    """What stands in the way of using a data set; nothing is decoded, empty when all is well.

    With a profile also whether there are images and regions enough for it, and room on the disk.
    """
    try:
        name, folder = parse(spec)
    except DataError as error:
        return [str(error)]
    if folder is None:
        return _too_large(profile) if profile else []
    found = _read(name, folder)
    if profile and not found.problems:
        found.problems += _too_few(found, profile)
        if isinstance(found, Collection):
            found.check_apart()
    return shorten(found.problems)


def _too_large(profile) -> list[str]:
    """Whether the world's pictures have room beside the project."""
    images = sum(getattr(profile, f"{split}_images") for split in SPLITS)
    needed, free = 3 * images * profile.size**2, shutil.disk_usage(ROOT).free
    if needed <= free:
        return []
    return [
        f"data world: {images:,} images at {profile.size} pixels take {needed // 10**6:,} MB, "
        f"expected {free // 10**6:,} MB at most, which are free: make room, or fewer or smaller "
        "images (train_images, size)"
    ]


def _too_few(found: Collection | precomp.Precomp, profile) -> list[str]:
    """Whether a collection has images to choose and to report by, and the regions asked for."""
    precomputed = isinstance(found, precomp.Precomp)
    splits = found.names if precomputed else found.splits
    problems = [
        f"{found.folder if precomputed else found.images}: {len(splits[split])} images in split "
        f"{split}, expected {FEWEST} or more: among {FEWEST - 1} the right one is always one of the "
        "first ten; give every split more images"
        for split in SPLITS
        if len(splits[split]) < FEWEST
    ]
    if precomputed:
        stored = min(shape[1] for shape in found.shapes.values())
    elif found.regions and not problems:
        paths = [path for split in SPLITS for path in splits[split]]
        stored = regions.kept(regions.read(found.regions, features=False), paths)
    else:
        return problems
    for field in ("chan_regions", "gsl_regions"):
        if stored < (wanted := getattr(profile, field)):
            problems.append(
                f"{found.folder if precomputed else found.regions}: {stored} regions an "
                f"image, expected {wanted} or more: say --set {field}={stored}"
            )
    return problems


def source(spec: str, profile) -> str:
    """Fingerprint of the files that a profile reads of those a spec names; "" for the world."""
    name, folder = parse(spec)
    return "" if folder is None else _read(name, folder).fingerprint(_limits(profile))


def _limits(profile) -> dict[str, int]:
    """How many images of each split are taken; 0: all."""
    return {split: getattr(profile, f"{split}_images") for split in SPLITS}


def prepare(spec: str, profile, root: Path, domain: str = "A") -> Dataset:
    """Make a data set ready on first use, later only open it.

    Parameters
    ----------
    spec : str
        "world", "flickr8k=DIR", "flickr30k=DIR", "coco=DIR", "f30k_precomp=DIR",
        "coco_precomp=DIR" or "precomp=DIR".
    profile : Profile
        Its fields size, train_images, dev_images, test_images (0: all there are), for photographs
        fit and for the world data_seed are used.
    root : Path
        Folder below which prepared data sets lie.
    domain : str
        Which of the world's domains; other data have one, "A".

    Raises
    ------
    DataError
        Input that is missing, broken or inconsistent; before anything is decoded, broken
        photographs and features excepted.
    """
    name, folder = parse(spec)
    if folder is None:
        return _prepare_world(profile, Path(root), domain)
    if domain != "A":
        raise DataError(f"data {spec!r}: domain {domain!r}, expected 'A': only the world has more")
    found = _read(name, folder)
    if found.problems:
        raise DataError("\n  ".join(shorten(found.problems)))
    limits = _limits(profile)
    if isinstance(found, precomp.Precomp):
        return _prepare_precomp(found, limits, Path(root))
    return _prepare_photographs(found, profile.size, profile.fit, limits, Path(root))


def _read(name: str, folder: Path) -> Collection | precomp.Precomp:
    if not folder.is_dir():
        wrong = f"no such folder, expected the one that holds {name}"
        if folder.exists():
            wrong = (
                f"a file, expected the folder that holds {name}; if it is an archive: "
                "./run_all.sh unpack FILE DIR first"
            )
        return Collection(name, folder, [], {}, {}, {}, problems=[f"{folder}: {wrong}"])
    if name in precomp.SIZES:
        return precomp.read(folder, name)
    split_file = (folder / f"dataset_{name}.json").is_file()
    if name == "flickr8k" and flickr8k.text_folder(folder):
        found = flickr8k.read(folder)
    elif not split_file and name == "coco" and coco.find(folder):
        found = coco.read(folder)
    elif not split_file and name != "coco" and captions_csv.find(folder, name):
        found = captions_csv.read(folder, name)
    elif not split_file and name == "flickr8k":
        found = flickr8k.read(folder)
    else:
        found = karpathy.read(folder, name)
    found.regions = regions.find(folder)
    if found.regions and not found.problems:
        listed = [path for split in SPLITS for path in found.splits[split]]
        found.problems += regions.check(found.regions, listed)
    return found


def _prepare_world(profile, root: Path, domain: str) -> Dataset:
    from alignbook import world

    try:
        config = world.Config(
            domain=domain,
            size=profile.size,
            train_images=profile.train_images,
            dev_images=profile.dev_images,
            test_images=profile.test_images,
            seed=profile.data_seed,
        )
    except ValueError as error:
        raise DataError(str(error)) from None
    if empty := [split for split in SPLITS if not config.count(split)]:
        raise DataError(
            f"data world: 0 images in {', '.join(empty)}, expected 1 or more: the "
            f"world has no end, set {empty[0]}_images"
        )
    code = fingerprint.code_hash("alignbook.world", "alignbook.datasets.gold")
    folder = root / f"world-{fingerprint.key(config, code)[:12]}"
    if prepared.is_whole(folder):
        return prepared.load(folder)

    members = [(split, i) for split in SPLITS for i in range(config.count(split))]
    scenes = [world.scene(config, split, i) for split, i in members]
    captions = [text for scene in scenes for text in world.sentences(scene)]

    names = {split: [f"{split}-{i:06}" for i in range(config.count(split))] for split in SPLITS}

    def fill(images, aside):
        for i, scene in enumerate(prepared.progress(scenes, len(scenes), "scenes")):
            images[i] = world.picture(scene)
        objects, relations = world.gold(scenes)
        objects.to_parquet(aside / "objects.parquet")
        relations.to_parquet(aside / "relations.parquet")
        gold.write(aside / "gold", names, scenes, images)

    settings = {"domain": config.domain, "seed": config.seed}
    contents = prepared.Contents("world", config.size, names, captions)
    prepared.write(folder, contents, fill, settings)
    return prepared.load(folder)


def _prepare_photographs(
    collection: Collection, size: int, fit: str, limits: dict[str, int], root: Path
) -> Dataset:
    code = fingerprint.code_hash("alignbook.datasets.prepared", "alignbook.datasets.regions")
    key = fingerprint.key(size, fit, limits, collection.fingerprint(limits), collection.name, code)
    folder = root / f"{collection.name}-{key[:12]}"
    if prepared.is_whole(folder):
        return prepared.load(folder)

    splits = {s: listed[: limits[s] or None] for s, listed in collection.splits.items()}
    paths = [path for split in SPLITS for path in splits[split]]
    captions = [text for path in paths for text in collection.captions[path]]
    settings = {"reader": collection.reader, "fit": fit, **collection.notes}
    extra = 0
    if collection.regions:
        given = regions.read(collection.regions, features=False)
        kept = regions.kept(given, paths)
        extra = len(paths) * kept * given.features.shape[1] * 4
        settings["regions"] = f"{collection.regions.name}: {kept} an image, the fewest one has"

    def fill(images, aside):
        prepared.decode(collection.images, paths, images, fit=fit)
        if collection.regions:
            regions.extract(collection.regions, paths, aside / "regions.npy")

    contents = prepared.Contents(collection.name, size, splits, captions)
    prepared.write(folder, contents, fill, settings, extra)
    return prepared.load(folder)


def _prepare_precomp(found: precomp.Precomp, limits: dict[str, int], root: Path) -> Dataset:
    """Only captions are stored; the features stay where they are, so the place is in the key."""
    source, place = found.fingerprint(limits), str(found.folder.resolve())
    code = fingerprint.code_hash("alignbook.datasets.prepared")
    folder = root / f"{found.name}-{fingerprint.key(limits, source, place, code)[:12]}"
    if prepared.is_whole(folder):
        return prepared.load(folder)

    names = {split: listed[: limits[split] or None] for split, listed in found.names.items()}
    captions = [
        text
        for split in SPLITS
        for text in found.captions[split][: len(names[split]) * prepared.CAPTIONS_PER_IMAGE]
    ]
    settings = {"reader": "precomp", "features": found.features(limits), **found.notes}
    contents = prepared.Contents(found.name, 0, names, captions)
    prepared.write(folder, contents, lambda images, aside: None, settings, content=source)
    return prepared.load(folder)
