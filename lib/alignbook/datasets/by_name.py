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
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

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
from alignbook.datasets.files import irregular
from alignbook.datasets.photographs import Collection, shorten
from alignbook.datasets.prepared import SPLITS, Dataset
from alignbook.errors import DataError
from alignbook.store import fingerprint

FEWEST = 11  # images of a split: recall at 10 says nothing of fewer
NAMES = ("world", "flickr8k", "flickr30k", "coco", *precomp.SIZES)

__all__ = ["NAMES", "Asked", "DataError", "Dataset", "check", "parse", "prepare", "source"]


def parse(spec: str) -> tuple[str, Path | None]:
    """Name and folder of "world" or "flickr8k=DIR".

    Raises
    ------
    DataError
        An unknown name, or one folder too few or too many.

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


class Asked(NamedTuple):
    """What a start asks of data besides their files."""

    profile: Any  # sizes, steps, seeds
    settings: tuple[str, ...] | None = None  # those of the profile that are used, None: all
    made: int = 0  # regions an image that a base model makes of pictures, 0: not known
    first: Any = None  # the profile that is computed before that one
    read: Callable[[list[str]], Any] | None = None  # captions → a vocabulary, with `words`


def check(spec: str, asked: Asked | None = None) -> list[str]:
    """What stands in the way of using a data set; nothing is decoded, empty when all is well.

    With what is asked also whether there are images and regions enough for it, words to learn, room
    on the disk, and no feature among those taken that a model cannot use.
    """
    try:
        name, folder = parse(spec)
        if folder is None:
            return _check_world(asked) if asked else []
    except DataError as error:
        return [str(error)]
    found = _read(name, folder, _limits(asked.profile) if asked else None)
    if asked and not found.problems:
        found.problems += _too_few_found(found, asked) + _without_words(found, asked)
        if isinstance(found, Collection):
            found.check_apart()
        else:
            found.check_apart(_limits(asked.profile))
    return shorten(found.problems)


def photographs(spec: str, *splits: str) -> set[str]:
    """Names of a collection's photographs in some splits; none where it can't be read: `check` says why."""
    name, folder = parse(spec)
    found = _read(name, folder)
    return {Path(each).name for split in splits for each in found.splits.get(split, ())}


def _check_world(asked: Asked) -> list[str]:
    """Whether the world's pictures can be made, are enough, and have room beside the project."""
    profile, images = asked.profile, _limits(asked.profile)
    _world(profile, "A")
    if problems := _too_few("data world", images, ("data world", asked.made), asked):
        return problems
    number = sum(images.values())
    needed, free = 3 * number * profile.size**2, shutil.disk_usage(ROOT).free
    if needed <= free:
        return []
    return [
        f"data world: {number:,} images at {profile.size} pixels take {needed // 10**6:,} MB, "
        f"expected {free // 10**6:,} MB at most, which are free: make room, or fewer or smaller "
        "images (train_images, size)"
    ]


def _too_few_found(found: Collection | precomp.Precomp, asked: Asked) -> list[str]:
    """Whether a collection has images and regions enough, for what is computed first too."""
    if isinstance(found, precomp.Precomp):
        splits, place = found.names, found.folder
        stored = place, min(k for _, k, _ in found.shapes.values())
    else:
        splits, place = found.splits, found.images
        stored = place, asked.made
        if found.regions:
            paths = [path for split in SPLITS for path in splits[split]]
            given = regions.read(found.regions, features=False)
            stored = found.regions, regions.kept(given, paths)
    there = {split: len(splits[split]) for split in SPLITS}
    problems = _too_few(place, there, stored, asked)
    if asked.first and not problems:
        first = f" for --profile {asked.first.name}, which goes first: start that by itself with"
        problems = [
            problem.replace(": say --set", f"{first} --set")
            for problem in _too_few(place, there, stored, asked._replace(profile=asked.first))
        ]
    return problems


def _without_words(found: Collection | precomp.Precomp, asked: Asked) -> list[str]:
    """Whether the training captions have no word that a model would know."""
    images = _limits(asked.profile)["train"] or None
    if isinstance(found, precomp.Precomp):
        place, each = found.folder, found.captions["train"]
        captions = each[: images and images * prepared.CAPTIONS_PER_IMAGE]
    else:
        place, some = found.sources[0], found.splits["train"][:images]
        captions = [text for path in some for text in found.captions[path]]
    if not asked.read or asked.read(captions[:1000]).words or asked.read(captions).words:
        return []
    return [
        f"{place}: no word stands four times in the {len(captions):,} training captions, expected "
        "words that come again: all others are one and the same to the models; give more captions"
    ]


def _too_few(
    place: Path | str, there: dict[str, int], stored: tuple[Path | str, int], asked: Asked
) -> list[str]:
    """What a profile asks of splits of so many images, and of regions an image, and isn't there."""
    profile, limits, problems = asked.profile, _limits(asked.profile), []
    taken = {split: min(limits[split] or n, n) for split, n in there.items()}
    for split, n in taken.items():
        if n < FEWEST:
            more = "give every split more images"
            if there[split] >= FEWEST or place == "data world":
                more = f"say --set {split}_images={FEWEST} or more"
            problems.append(
                f"{place}: {n} images in split {split}, expected {FEWEST} or more: among "
                f"{FEWEST - 1} the right one is always one of the first ten; {more}"
            )
    if problems:
        return problems
    for field in vars(profile) if asked.settings is None else asked.settings:
        split = next((each for each in SPLITS if field.endswith(f"_{each}_images")), "train")
        if field.endswith("_images") and field.removesuffix("_images") not in SPLITS:
            if taken[split] < (wanted := getattr(profile, field)):
                problems.append(
                    f"{place}: {taken[split]:,} images in split {split}, expected the {wanted:,} "
                    f"of {field} or more: say --set {field}={taken[split]}, or 0 for all"
                )
        if field.endswith("_regions") and 0 < stored[1] < (wanted := getattr(profile, field)):
            problems.append(
                f"{stored[0]}: {stored[1]} regions an image, expected {wanted} or more: say "
                f"--set {field}={stored[1]}"
            )
    return problems


def source(spec: str, profile) -> str:
    """Fingerprint of the files that a profile reads of those a spec names; "" for the world."""
    name, folder = parse(spec)
    return "" if folder is None else _read(name, folder).fingerprint(_limits(profile))


def _limits(profile) -> dict[str, int]:
    """How many images of each split are taken; 0 means all."""
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
    limits = _limits(profile)
    found = _read(name, folder, limits)
    if found.problems:
        raise DataError("\n  ".join(shorten(found.problems)))
    if isinstance(found, precomp.Precomp):
        return _prepare_precomp(found, limits, Path(root))
    return _prepare_photographs(found, profile.size, profile.fit, limits, Path(root))


def _read(
    name: str, folder: Path, limits: dict[str, int] | None = None
) -> Collection | precomp.Precomp:
    """What a folder holds; with limits, once all features that these take were looked at."""
    if not folder.is_dir():
        wrong = f"no such folder, expected the one that holds {name}"
        if folder.exists():
            wrong = (
                f"a file, expected the folder that holds {name}; if it is an archive: "
                "./run_all.sh unpack FILE DIR first"
            )
        return Collection(name, folder, [], {}, {}, {}, problems=[f"{folder}: {wrong}"])
    if name not in precomp.SIZES and (odd := irregular(folder)):
        return Collection(name, folder, [], {}, {}, {}, problems=odd)
    if name in precomp.SIZES:
        found = precomp.read(folder, name)
        if limits is not None and not found.problems:
            found.look(limits)
        return found
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
        found.problems += regions.check(found.regions, listed, whole=limits is not None)
    return found


def _world(profile, domain: str):
    """What the world of a profile is made of; DataError if it cannot be made."""
    from alignbook import world

    try:
        return world.Config(
            domain=domain,
            size=profile.size,
            train_images=profile.train_images,
            dev_images=profile.dev_images,
            test_images=profile.test_images,
            seed=profile.data_seed,
        )
    except ValueError as error:
        raise DataError(str(error)) from None


def _prepare_world(profile, root: Path, domain: str) -> Dataset:
    from alignbook import world

    config = _world(profile, domain)
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
        world.phrases(scenes).to_parquet(aside / "phrases.parquet")
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
