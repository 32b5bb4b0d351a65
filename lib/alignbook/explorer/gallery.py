"""What the explorer can look at: stored models, and what each makes of a split.

Boxes are x0, y0, x1, y1 as fractions of the picture's side. Pictures and captions are counted
within the split, from 0.
"""

import importlib
import json
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
from torch.nn import functional as F

from alignbook import ROOT
from alignbook.core import kernels
from alignbook.core.names import slug
from alignbook.papers.chan import attention_maps, catalogue
from alignbook.papers.chan.model import encode_captions, encode_images
from alignbook.store import runs
from alignbook.workbook import exhibits, results, workbook

EXHIBITS = ("chan-T3", "chan-T1", "chan-T2")  # whose arms can be looked at
HARD, SOFT = "hard coding", "cross-attention"
START = ("visual-codebook", "cross-attention")  # the two that are looked at first
LABELS = {
    "visual-codebook": HARD,
    "chan": HARD,
    "cross-attention": SOFT,
    "scan": SOFT,
    "textual-codebook": f"{HARD}, textual codebook",
    "max": f"{HARD}, max pooling",
    "average": f"{HARD}, mean pooling",
    "sum": f"{HARD}, sum pooling",
    "softmax": f"{HARD}, softmax pooling",
    "visual-codebook-long": f"{HARD}, 4 × the steps",
    "cross-attention-long": f"{SOFT}, 4 × the steps",
    "permuted": f"{HARD}, captions permuted (control)",
    "cross-attention-1/9": f"{SOFT}, τ = 1/9 in every trial",
    "vse++": "VSE++, one vector a picture",
    "vse-inf": "VSE∞, one vector a picture",
}
LABELS |= {name: f"{SOFT}, τ = {name[2:]} (control)" for name in catalogue.CURVE}


class Place(NamedTuple):
    """A data set whose results are there: whose they are, the domain, what `methods` found."""

    book: object
    domain: str
    methods: dict


def places(book) -> dict[str, Place]:
    """The data sets whose results are there, by name; the notebook's own comes first.

    The world's domains A and B are two data sets. Others are those of results folders of this profile.
    """
    found = {}
    for each in (book, *_others(book)):
        for domain in "AB" if each.kind == "world" else "A":
            name = f"world {domain}" if each.kind == "world" else each.kind
            there = methods(each, domain, train=each is book and domain == "A")
            if there and name not in found:
                found[name] = Place(each, domain, there)
    return found


def _others(book):
    """Workbooks of further results folders of the same profile."""
    for path in sorted((ROOT / "results").glob("*/settings.json")):
        said = json.loads(path.read_text(encoding="utf-8"))
        same = path.parent.resolve() == book.out.resolve()
        if said["profile"] == book.profile.name and not same:
            try:
                other = workbook.load(path.parent)
            except ValueError:  # made by another version, with a setting that this one lacks
                continue
            yield other


def methods(book, domain: str = "A", train: bool = False) -> dict:
    """Stored models: label → seed → key of the run, hard coding and cross-attention first.

    They are those that the results folder lists, that are in the store and that this code made.
    With `train`, and where one of the two that the explorer starts with is not among them, these
    are trained.
    """
    lines = []
    for exhibit in EXHIBITS:
        if book.kind == "world" and exhibits.EXHIBITS[exhibit].domain != domain:
            continue
        for arm in exhibits.arms(exhibit, book.kind, book.profile):
            file = book.out / "arms" / exhibit / f"{slug(arm)}.csv"
            if arm in LABELS and file.exists():
                lines.append(pd.read_csv(file, dtype={"key": str}))
    found = _usable(lines)
    if train and not found.keys() >= {HARD, SOFT}:
        found = _usable([*(results.arm(book, "chan-T3", arm) for arm in START), *lines])
    return found


def _usable(lines: list[pd.DataFrame]) -> dict:
    """What of some arms' lists can be looked at: label → seed → key."""
    found = {HARD: {}, SOFT: {}}
    for _, arm, role, seed, key in pd.concat(lines).itertuples(index=False) if lines else ():
        if role == "report" and runs.is_stored(key) and runs.is_of_this_code(runs.stored(key)):
            found.setdefault(LABELS[arm], {}).setdefault(int(seed), key)
    return {label: keys for label, keys in found.items() if keys}


@dataclass(frozen=True, eq=False)
class Gallery:
    """A trained matcher and what it makes of a split.

    Attributes
    ----------
    model, vocabulary : as CHAN's `load` returns them, on the CPU.
    dataset, split : whose pictures and captions these are.
    images : (N, K, d) float, regions; or (N, d), where a picture is one vector (VSE++).
    words : `kernels.Packed`, of all captions of the split; or (5·N, d).
    boxes : (N, K, 4), of the regions; None where they came without pictures, or there are none.
    """

    model: object
    vocabulary: object
    dataset: object
    split: str
    images: torch.Tensor
    words: object
    boxes: np.ndarray | None

    @property
    def config(self):
        return self.model.config

    @property
    def each(self) -> int:
        """Captions a picture."""
        return self.dataset.captions_per_image

    def captions(self, image: int) -> list[str]:
        """The captions that belong to a picture."""
        row, n = self.dataset.splits[self.split][image], self.each
        return self.dataset.captions[n * row : n * (row + 1)]


@lru_cache(maxsize=8)
def opened(book, domain: str, key: str) -> Gallery:
    """The gallery of a stored run on the test split; the last eight stay in memory."""
    run = runs.stored(key)
    return gallery(run, book.inputs(domain))


def side_by_side(book, domain: str = "A", seed: int = 0) -> dict[str, Gallery]:
    """Galleries of hard coding and cross-attention, trained if they are not there."""
    found = methods(book, domain, train=True)
    return {name: opened(book, domain, found[name][seed]) for name in (HARD, SOFT)}


def gallery(run, inputs, split: str = "test") -> Gallery:
    """Load a run of CHAN or of one of its rivals and encode a split, which takes a second or two.

    `inputs` are the workbook's. All stays on the CPU, so that scores are the same everywhere.
    """
    module = importlib.import_module(run.record["module"])
    return encoded(*module.load(run, *inputs), inputs, split)


def encoded(model, vocabulary, inputs, split: str = "test") -> Gallery:
    """The gallery of a model: its pictures and captions are encoded, as its evaluation does it."""
    dataset, feature_run, *_ = inputs
    images = encode_images(model, dataset, feature_run, split)
    parts = list(encode_captions(model, vocabulary, dataset.captions_of(split)))
    if images.ndim == 2:
        return Gallery(
            model, vocabulary, dataset, split, images, torch.cat([w for w, _ in parts]), None
        )
    vectors = torch.cat([kernels.pack(words, n).vectors for words, n in parts])
    offsets = F.pad(torch.cat([n for _, n in parts]).cumsum(0), (1, 0))
    pictured = dataset.images is not None and "side" in feature_run.metrics
    rows, k = dataset.splits[split], images.shape[1]
    boxes = attention_maps.region_boxes(feature_run, rows, k) if pictured else None
    words = kernels.Packed(vectors, offsets)
    return Gallery(model, vocabulary, dataset, split, images, words, boxes)


def picture_of(gallery: Gallery, image: int) -> np.ndarray | None:
    """The picture, `(H, W, 3) uint8`; None where there are only features."""
    stored = gallery.dataset.images
    return None if stored is None else stored[gallery.dataset.splits[gallery.split][image]]
