"""Data sets by name: the embedded world, or photographs a user brings.

``prepare("world", profile, root)`` or ``prepare("flickr8k=DIR", profile, root)`` decodes or draws
once, into a folder below ``root`` named after everything that went in, and memory-maps it after.
"""

from __future__ import annotations

from pathlib import Path

from alignbook import fingerprint
from alignbook.datasets import flickr8k, karpathy, store
from alignbook.datasets.photographs import Collection, shorten
from alignbook.datasets.store import SPLITS, DataError, Dataset

NAMES = ("world", "flickr8k", "flickr30k", "coco")

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
        raise DataError(f"data {spec!r}: expected world or one of flickr8k=DIR, flickr30k=DIR, "
                        "coco=DIR")  # fmt: skip
    if (name == "world") == bool(folder) or (name == "world" and equals):
        form = "world" if name == "world" else f"{name}=DIR, the folder that holds its files"
        raise DataError(f"data {spec!r}: expected {form}")
    return name, Path(folder).expanduser() if folder else None


def check(spec: str) -> list[str]:
    """What stands in the way of using a data set; nothing is decoded, empty when all is well."""
    try:
        name, folder = parse(spec)
    except DataError as error:
        return [str(error)]
    return [] if folder is None else shorten(_read(name, folder).problems)


def source(spec: str) -> str:
    """Fingerprint of the files a spec names, by content or by size and time; "" for the world."""
    name, folder = parse(spec)
    return "" if folder is None else _read(name, folder).fingerprint()


def prepare(spec: str, profile, root: Path) -> Dataset:
    """Make a data set ready on first use, later only open it.

    Parameters
    ----------
    spec : str
        "world", "flickr8k=DIR", "flickr30k=DIR" or "coco=DIR".
    profile : Profile
        Its fields size, train_images, dev_images, test_images (0: all there are) and, for the
        world, data_seed are used.
    root : Path
        Folder below which prepared data sets lie.

    Raises
    ------
    DataError
        Input that is missing, broken or inconsistent; before anything is decoded, broken
        photographs excepted.
    """
    name, folder = parse(spec)
    if folder is None:
        return _prepare_world(profile, Path(root))
    return _prepare_photographs(_read(name, folder), profile, Path(root))


def _read(name: str, folder: Path) -> Collection:
    if not folder.is_dir():
        return Collection(name, folder, [], {}, {}, {}, problems=[
            f"{folder}: no such folder, expected the one that holds {name}"])  # fmt: skip
    karpathy_file = (folder / "dataset_flickr8k.json").is_file()
    if name == "flickr8k" and (flickr8k.text_folder(folder) or not karpathy_file):
        return flickr8k.read(folder)
    return karpathy.read(folder, name)


def _prepare_world(profile, root: Path) -> Dataset:
    from alignbook import world

    try:
        config = world.Config(
            size=profile.size,
            train_images=profile.train_images,
            dev_images=profile.dev_images,
            test_images=profile.test_images,
            seed=profile.data_seed,
        )
    except ValueError as error:
        raise DataError(str(error)) from None
    if empty := [split for split in SPLITS if not config.count(split)]:
        raise DataError(f"data world: 0 images in {', '.join(empty)}, expected 1 or more: the "
                        f"world has no end, set {empty[0]}_images")  # fmt: skip
    code = fingerprint.code_hash("alignbook.world", "alignbook.datasets.store")
    folder = root / f"world-{fingerprint.key(config, code)[:12]}"
    if (folder / "meta.json").is_file():
        return store.load(folder)

    members = [(split, i) for split in SPLITS for i in range(config.count(split))]
    scenes = [world.scene(config, split, i) for split, i in members]
    captions = [text for scene in scenes for text in world.sentences(scene)]

    def fill(images, aside):
        for i, scene in enumerate(store.progress(scenes, len(scenes), "scenes")):
            images[i] = world.picture(scene)
        objects, relations = world.gold(scenes)
        objects.to_parquet(aside / "objects.parquet")
        relations.to_parquet(aside / "relations.parquet")

    names = {split: [f"{split}-{i:06}" for i in range(config.count(split))] for split in SPLITS}
    settings = {"domain": config.domain, "seed": config.seed}
    store.write(folder, "world", config.size, names, captions, fill, settings)
    return store.load(folder)


def _prepare_photographs(collection: Collection, profile, root: Path) -> Dataset:
    if collection.problems:
        raise DataError("\n".join(shorten(collection.problems)))
    limits = {split: getattr(profile, f"{split}_images") for split in SPLITS}
    code = fingerprint.code_hash("alignbook.datasets.store")
    key = fingerprint.key(profile.size, limits, collection.fingerprint(), collection.name, code)
    folder = root / f"{collection.name}-{key[:12]}"
    if (folder / "meta.json").is_file():
        return store.load(folder)

    splits = {s: listed[: limits[s] or None] for s, listed in collection.splits.items()}
    paths = [path for split in SPLITS for path in splits[split]]
    captions = [text for path in paths for text in collection.captions[path]]

    def fill(images, aside):
        store.decode(collection.images, paths, images)

    settings = {"reader": collection.sources[0].name, **collection.counts}
    store.write(folder, collection.name, profile.size, splits, captions, fill, settings)
    return store.load(folder)
