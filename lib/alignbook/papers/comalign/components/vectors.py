"""Components as vectors: each crop and each phrase through the frozen base model, kept as files.

A picture is a set of *slots* as a caption is, see `said`: the whole, entities, relations.
"""

import hashlib
import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from alignbook.backbones import base, crops, extraction
from alignbook.datasets import coco
from alignbook.errors import DataError
from alignbook.papers.comalign.components import image, said
from alignbook.store import contents, progress

BLOCK = 250  # images whose crops are held at a time
BATCH = 50  # crops or phrases that pass a model at a time: what it holds stays in the caches


@dataclass(frozen=True)
class Config:
    """Whose vectors are made."""

    entities: int = 10  # N, of each caption at most [S]
    relations: int = 10  # M, likewise [S]
    boxes: str = "detector"  # where those of the pictures come from, see `boxes_of` [A]
    images: int = 0  # the first so many of the training split, 0 for all; of others all [A]

    def compute(self, inputs, seed: int, folder: Path, device: str) -> dict:
        """What a run of it is: see `compute` below."""
        return compute(self, inputs, seed, folder, device)


@dataclass(frozen=True)
class Files:
    """Boxes in files: COCO's instances, or one of detections; `photographs` is their folder."""

    paths: tuple[Path, ...]
    photographs: Path | None = None

    @property
    def fingerprint(self) -> str:
        """64 hex digits of the files' content."""
        return hashlib.sha256("".join(contents.sha256(self.paths)).encode()).hexdigest()


def instances_below(folder: Path) -> Files:
    """COCO's instances files below its folder: train, val and perhaps test of one year.

    Raises
    ------
    DataError
        No year has both train and val.
    """
    for place in (folder / "annotations", folder):
        for year in coco.YEARS:
            files = [place / f"instances_{split}{year}.json" for split in ("train", "val", "test")]
            if files[0].is_file() and files[1].is_file():
                return Files(tuple(path for path in files if path.is_file()), folder)
    raise DataError(
        f"{folder / 'annotations'}: no instances_train and instances_val of 2017 or "
        f"2014, expected both; {coco.REMEDY}; or go without: --set boxes=grid"
    )


def boxes_of(kind: str, dataset, source) -> image.Boxes:
    """The boxes of every picture of a data set, see `image`.

    `kind` is "gold" (the world's) or "grid", which need no source; "instances" or "detections" with
    `Files`; or "detector" with its run.
    """
    if kind == "gold":
        return image.gold(dataset)
    if kind == "grid":
        return image.grid(len(dataset.images))
    if kind == "instances":
        return image.instances(dataset, list(source.paths), source.photographs)
    if kind == "detections":
        return image.detections(dataset, source.paths[0], source.photographs)
    return image.found(source)


class Components(NamedTuple):
    """Sets of vectors, a slot for each component a set may have.

    ``vectors (B, S, d) float`` and ``present (B, S) bool``, which of them there are; ``slots (S,)
    int64``, the slots that are held (those that no set of a batch fills are left out); ``entities``
    is N.
    """

    vectors: torch.Tensor
    present: torch.Tensor
    slots: torch.Tensor
    entities: int

    def chosen(self, kinds: str) -> torch.Tensor:
        """Slots of some kinds of "GER" (whole, entities, relations), `(S,) bool`."""
        kind = (self.slots > 0).long() + (self.slots > self.entities)
        wanted = torch.tensor([each in kinds for each in "GER"], device=self.slots.device)
        return wanted[kind]

    def of(self, kind: str) -> tuple[torch.Tensor, torch.Tensor]:
        """Vectors `(B, n, d)` and mask `(B, n) bool` of one kind."""
        chosen = self.chosen(kind)
        return self.vectors[:, chosen], self.present[:, chosen]

    def replaced(self, vectors: torch.Tensor) -> "Components":
        return self._replace(vectors=vectors)


def compute(config: Config, inputs, seed: int, folder: Path, device: str) -> dict:
    """Components of a data set's images and captions, as a base model sees them.

    The inputs are the data set, the base model's run, the data set that model was trained on if it
    is another, the source of the boxes or None, and what the captions say, a run of `said`, whose
    files come along; after these the pictures' regions, where the base model has locked towers.
    Left in the folder: `images.npy` `(n, 1 + N + M, d) float16`, `boxes.npy`
    `(n, 1 + N + M, 4) float32` (an absent one is 0 wide), `phrases.npy` `(U, d) float16`.
    """
    dataset, base_run, home, source, said_run, *seen = inputs
    torch.set_num_threads(1)
    model, vocabulary = base.load(base_run, home or dataset)
    model.to(device)
    kept = said.rows_of(dataset, config)
    things = boxes_of(config.boxes, dataset, source)
    found = image.components(things, config.entities, config.relations)
    placed = slots_of(found, config)
    np.save(folder / "boxes.npy", placed)
    stored, label = None, f"components of {dataset.name}'s images"
    for start in range(0, len(kept), BLOCK):
        rows = kept[start : start + BLOCK]
        if seen:
            vectors = encode_regions(model, *seen, rows, placed[rows])
        else:
            vectors = encode_images(model, dataset.images, rows, placed[rows])
        if stored is None:
            shape = (len(dataset.images), *vectors.shape[1:])
            stored = np.lib.format.open_memmap(folder / "images.npy", "w+", np.float16, shape)
        stored[rows] = vectors
        progress.show(label, start + len(rows), len(kept))
    stored.flush()

    for name in ("captions.npy", "phrases.json"):
        shutil.copyfile(said_run.folder / name, folder / name)
    np.save(folder / "phrases.npy", encode_phrases(model, vocabulary, phrases_of(said_run)))
    return {
        "images": len(kept),
        "width": stored.shape[2],
        "entities": config.entities,
        "relations": config.relations,
        "train": config.images,
        **found.counts,
        **said_run.metrics,
    }


def slots_of(found, config: Config) -> np.ndarray:
    """Boxes by slot `(n, 1 + N + M, 4) float32`: the whole, entities, relations; 0 if none."""
    n = len(found.entities.offsets) - 1
    placed = np.zeros((n, 1 + config.entities + config.relations, 4), np.float32)
    placed[:, 0] = 0, 0, 1, 1
    for first, kind in ((1, found.entities), (1 + config.entities, found.relations)):
        counts = np.diff(kind.offsets)
        rows = np.repeat(np.arange(n), counts)
        within = np.arange(len(rows)) - np.repeat(kind.offsets[:-1], counts)
        placed[rows, first + within] = kind.boxes
    return placed


@torch.inference_mode()
def encode_images(model, images: np.ndarray, rows: np.ndarray, placed: np.ndarray) -> np.ndarray:
    """Every slot's crop through the base model: boxes `(B, S, 4)` → `(B, S, d) float16`; with locked
    towers the cells that its box covers, as `encode_regions` has them.
    """
    if hasattr(model, "encode_boxes"):
        device, found = next(model.parameters()).device, []
        for i in range(0, len(rows), BATCH):
            pixels = model.pixels(images[rows[i : i + BATCH]]).to(device)
            regions = model.region_map(pixels).flatten(2).mT
            found.append(_covered(model, regions, placed[i : i + BATCH]))
        return np.concatenate(found)
    there = placed[..., 2] > placed[..., 0]
    which, _ = np.nonzero(there)
    size = images.shape[1]
    shown = crops.crops(images, rows[which], placed[there], size)
    vectors = base.embed_images(model, (shown[i : i + BATCH] for i in range(0, len(shown), BATCH)))
    out = np.zeros((*there.shape, vectors.shape[1]), np.float16)
    out[there] = vectors.cpu().numpy()
    return out


@torch.inference_mode()
def encode_regions(model, seen, rows: np.ndarray, placed: np.ndarray) -> np.ndarray:
    """Every slot by the cells of the picture's map that its box covers, in place of a crop seen by
    itself [A]: boxes `(B, S, 4)` → `(B, S, d) float16`.
    """
    device = next(model.parameters()).device
    regions = torch.from_numpy(extraction.in_places(seen, rows).astype(np.float32)).to(device)
    return _covered(model, regions, placed)


def _covered(model, regions: torch.Tensor, placed: np.ndarray) -> np.ndarray:
    boxes = torch.from_numpy(placed).to(regions.device)
    vectors = model.encode_boxes(regions, boxes).cpu().numpy()
    there = placed[..., 2] > placed[..., 0]
    return (vectors * there[..., None]).astype(np.float16)


def encode_phrases(model, vocabulary, phrases: list[str]) -> np.ndarray:
    """Every phrase through the base model, `(U, d) float16`; those of like length together."""
    order = np.argsort([len(phrase.split()) for phrase in phrases], kind="stable")
    out = None
    for start in range(0, len(order), BATCH):
        some = order[start : start + BATCH]
        vectors = base.embed_captions(model, vocabulary, [phrases[i] for i in some]).cpu().numpy()
        out = np.zeros((len(phrases), vectors.shape[1]), np.float16) if out is None else out
        out[some] = vectors
        progress.show("phrases", start + len(some), len(phrases))
    return out


# --- Batches -------------------------------------------------------------------------------------


def of_images(vectors: np.ndarray, placed: np.ndarray, entities: int, trim=True) -> Components:
    """Components of images from their vectors `(B, S, d)` and boxes `(B, S, 4)`.

    Slots that none of them fills are left out if `trim`.
    """
    present = torch.from_numpy(placed[..., 2] > placed[..., 0])
    slots = _held(present, trim)
    vectors = torch.from_numpy(np.array(vectors, np.float32))[:, slots]
    return Components(vectors, present[:, slots], slots, entities)


def of_captions(phrases: np.ndarray, places: np.ndarray, entities: int, trim=True) -> Components:
    """Components of captions from the phrases' vectors `(U, d)` and their places `(B, S)`."""
    places = torch.from_numpy(places.astype(np.int64))
    slots = _held(places >= 0, trim)
    places = places[:, slots]
    vectors = torch.from_numpy(phrases[places.clamp(min=0).numpy()].astype(np.float32))  # type: ignore[attr-defined]
    return Components(vectors * (places >= 0)[..., None], places >= 0, slots, entities)


def _held(present: torch.Tensor, trim: bool) -> torch.Tensor:
    return torch.nonzero(present.any(0))[:, 0] if trim else torch.arange(present.shape[1])


def phrases_of(run) -> list[str]:
    """The phrases of a run, in the order of their vectors."""
    return json.loads((run.folder / "phrases.json").read_text())


def images_of(run, rows: np.ndarray, trim: bool = True) -> Components:
    """Components of some images of a run."""
    return of_images(
        run.array("images")[rows], run.array("boxes")[rows], run.metrics["entities"], trim
    )


def captions_of(run, rows: np.ndarray, trim: bool = True) -> Components:
    """Components of some captions of a run, by their number in the data set."""
    return of_captions(
        run.array("phrases"), run.array("captions")[rows], run.metrics["entities"], trim
    )
