"""What ComAlign's runs start from: captions parsed, pictures boxed, and both as a base model sees them.

`book` is the workbook at hand: a profile on a data set.
"""

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from alignbook.backbones import pipelines
from alignbook.datasets.prepared import Dataset
from alignbook.papers.comalign.components import detector, parser, probes, said, vectors
from alignbook.store import runs
from alignbook.store.runs import Run, Stored


class Inputs(NamedTuple):
    """Data sets and their entities and relations: those that heads learn from, and the target's."""

    source: Dataset
    source_components: Stored
    target: Dataset
    target_components: Stored


def source(book):
    """The workbook of the data that the heads are trained on: `book` unless others are named.

    The base model is that of these data, so that the target is never seen. Boxes are those that the
    profile has for these data, whatever the target's are.
    """
    spec = book.profile.comalign_source
    return book.on(spec, "boxes", comalign_source="") if spec else book


def components(
    book, domain: str = "A", recipe: str = "", places: str = "", with_all: bool = False
) -> tuple[Dataset, Run]:
    """A data set and its entities and relations as a base model sees them.

    Parameters
    ----------
    domain : of the world.
    recipe : names a base model of the world; the profile's unless told.
    places : where boxes come from; as the profile says unless told.
    with_all : a base model that has learnt from the pictures of the heads, too.
    """
    dataset, images = book.dataset(domain), heads_learn_from(book)
    of = said.Config(images=images, bare=book.profile.comalign_bare)
    phrases = runs.get(of, 0, (dataset, parsed_by(book)))
    kind, found = boxes(book, domain, places)
    seen = (book.seen(domain),) if book.pretrained and not recipe else ()
    inputs = dataset, *base_and_home(book, domain, recipe, with_all), found, phrases, *seen
    config = vectors.Config(boxes=kind, images=images)
    return dataset, runs.get(config, 0, inputs, device=book.device)


def base_and_home(book, domain: str, recipe: str, with_all: bool = False) -> tuple:
    """The base model's run, and the data set it was trained on where that is another."""
    home = source(book)
    if with_all or not is_trained_here(home):
        return home.base(recipe), book.home(domain) if home is book else home.dataset()
    others = left_to_the_base(home)
    return home.base(recipe, dataset=others), others


def is_trained_here(book) -> bool:
    """Whether the base model learns from photographs of the data set that heads learn from."""
    return book.kind != "world" and ":" not in book.profile.base


def heads_learn_from(book) -> int:
    """How many training images heads learn from, the first of the split; 0 for all.

    At most half where the base model learns from the others: it is closer to pictures that it was
    trained on than to any other, and leaves heads on these little to learn [A].
    """
    wanted, home = book.profile.comalign_images, source(book)
    if not is_trained_here(home):
        return wanted
    half = max(1, len(home.dataset().splits["train"]) // 2)
    return min(wanted or half, half)


def left_to_the_base(book) -> Dataset:
    """The data set without the training images that heads learn from: to a run it is another one."""
    whole, n = book.dataset(), heads_learn_from(book)
    splits = whole.splits | {"train": whole.splits["train"][n:]}
    told = hashlib.sha256(f"{whole.fingerprint} without {n}".encode()).hexdigest()
    return replace(whole, splits=splits, fingerprint=told)


def boxes(book, domain: str = "A", places: str = "") -> tuple:
    """The kind of boxes as `vectors.boxes_of` takes it, and where they come from.

    `places`, the profile's `boxes` unless told, is "detector", "gold" (both the world's), "grid",
    "instances" (COCO's), a JSON file of detections, or YOLO weights, a .pt file.
    """
    places, folder = places or book.profile.boxes, Path(book.data.partition("=")[2])
    if places == "detector":
        return places, detected(book, domain)
    if places == "instances":
        return places, vectors.instances_below(folder)
    if places.endswith(".json"):
        return "detections", vectors.Files((Path(places),), folder)
    if places.endswith(".pt"):
        dataset, weights = book.dataset(domain), detector.Weights(places)
        side = max(224, dataset.images.shape[1])
        config = detector.Config(size=-(-side // 32) * 32)
        return "detector", runs.get(config, 0, (dataset, weights), device=book.device)
    return places, None


def probe_components(book, recipe: str) -> Run:
    """Components of compositional probes as a base model sees them.

    The world's own; with photographs those in the folder that the profile names. The world's probes
    have no gold boxes: where the profile does without the detector, theirs are a grid's.
    """
    brought = None
    if book.kind != "world":
        brought = probes.Brought(Path(book.profile.probes).expanduser())
    gold = brought is None and book.profile.boxes == "gold"
    kind, places = boxes(book, "W" if book.kind == "world" else "A", "grid" if gold else "")
    inputs = book.dataset(), *base_and_home(book, "A", recipe), places, parsed_by(book), brought
    config = probes.Config(boxes=kind, bare=book.profile.comalign_bare)
    return runs.get(config, 0, inputs, device=book.device)


def detected(book, domain: str = "A") -> Run:
    """The run of the world's detector on a domain: trained on the gold boxes of W, as the base models
    are, so that it has seen neither A nor B. W's is the run that was trained.
    """
    config = (
        detector.Config(images=200, epochs=6) if book.profile.name == "smoke" else detector.Config()
    )
    trained = runs.get(config, 0, (book.dataset("W"), None), **book.trained)
    if domain == "W":
        return trained
    return runs.get(config, 0, (book.dataset(domain), trained), device=book.device)


def parsed_by(book):
    """What parses the captions: the run of a parser trained on a treebank, or a `pipelines.Named`.

    The profile's `parser` is "captions", the world's own parses, those of W; a folder with a treebank
    of Universal Dependencies; or an installed pipeline, by its name or folder.
    """
    named = book.profile.parser
    if named == "captions":
        small = dict(steps=60) if book.profile.name == "smoke" else {}
        config = replace(parser.WORLD, **small)
        return runs.get(config, 0, (book.home(),), device=book.device)
    if not parser.is_treebank(named):
        return pipelines.Named(named)
    treebank = parser.Treebank(Path(named).expanduser())
    return runs.get(parser.TREEBANK, 0, (treebank,), device=book.device)
