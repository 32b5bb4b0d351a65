"""What the explorer can look at: stored models, and what each makes of a split.

Boxes are x0, y0, x1, y1 as fractions of the picture's side. Pictures and captions are counted
within the split, from 0.
"""

import importlib
import os
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch

from alignbook import ROOT
from alignbook.core import kernels
from alignbook.core.names import slug
from alignbook.core.similarity import unit
from alignbook.papers.chan import attention_maps
from alignbook.papers.chan.catalogue import EXPLORED, HARD, LABELS, SOFT, START
from alignbook.papers.chan.model import encode_captions, encode_images
from alignbook.store import runs, verbatim
from alignbook.workbook import exhibits, folders, results, workbook


def in_batch() -> bool:
    """Whether a notebook runs in a job, where nobody can use the explorer."""
    return "ALIGNBOOK_LIFELINE" in os.environ and "JPY_SESSION_NAME" not in os.environ


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
    for other in workbooks(book.profile.name):
        if other.out.resolve() != book.out.resolve():
            yield other


def workbooks(profile: str = ""):
    """The workbooks of all results folders here, or of those of a profile, by their folders' names."""
    for path in sorted((ROOT / "results").glob("*/settings.json")):
        try:
            if profile not in ("", folders.settings_of(path.parent)["profile"]):
                continue
            found = workbook.load(path.parent)
        except ValueError:  # its settings can't be read, or are another version's
            continue
        yield found


def methods(book, domain: str = "A", train: bool = False) -> dict:
    """Stored models: label → seed → key of the run, hard coding and cross-attention first.

    They are those that the results folder lists, that are in the store and that this code made.
    With `train`, and where one of the two that the explorer starts with is not among them, these
    are trained.
    """
    lines = []
    for exhibit in EXPLORED:
        if book.kind == "world" and exhibits.EXHIBITS[exhibit].domain != domain:
            continue
        for arm in exhibits.arms(exhibit, book.kind, book.profile):
            file = book.out / "arms" / exhibit / f"{slug(arm)}.csv"
            if arm in LABELS and folders.is_whole(file):
                lines.append(pd.read_csv(file, dtype={"key": str}))
    found = _usable(lines)
    if train and not found.keys() >= {HARD, SOFT}:
        found = _usable([*(results.arm(book, EXPLORED[0], arm) for arm in START), *lines])
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
    dataset, split : whose pictures and captions these are; there may be no captions.
    images : (N, K, d) float, regions, of length 1; or (N, d), where a picture is one vector (VSE++).
        They stay in memory: with 36 regions of width 128, 184 MB for 10,000 pictures.
    words : `kernels.Packed`, of all captions of the split; or (5·N, d).
    boxes : (N, K, 4), of the regions; None where they came without pictures, or there are none.
    cells : of the region map that boxes are cut from, either way; 0 where there is none.
    """

    model: object
    vocabulary: object
    dataset: object
    split: str
    images: torch.Tensor
    words: object
    boxes: np.ndarray | None
    cells: int = 0

    @property
    def config(self):
        return self.model.config

    @property
    def each(self) -> int:
        """Captions per picture; 0 where there are none."""
        return self.dataset.captions_per_image

    def title(self, image: int) -> str:
        """What a picture without captions goes by: its file, as plain text; "" for others."""
        row = self.dataset.splits[self.split][image]
        return "" if self.each else verbatim.line(self.dataset.names[row])

    def captions(self, image: int) -> list[str]:
        """The captions that belong to a picture; [] where there are none."""
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
    said = dataset.captions_of(split)
    parts = list(encode_captions(model, vocabulary, said)) if said else []
    cells = feature_run.metrics.get("side", 0)
    if images.ndim == 2:
        whole = torch.cat([images[:0], *(w for w, _ in parts)])
        return Gallery(model, vocabulary, dataset, split, images, whole, None, cells)
    images = unit(images)  # once: scores are of cosines, whichever the codebook
    vectors = torch.cat([images[0, :0], *(kernels.pack(words, n).vectors for words, n in parts)])
    lengths = torch.cat([torch.zeros(1, dtype=torch.int64), *(n for _, n in parts)])
    pictured = dataset.images is not None and cells > 0
    rows, k = dataset.splits[split], images.shape[1]
    boxes = attention_maps.region_boxes(feature_run, rows, k) if pictured else None
    words = kernels.Packed(vectors, lengths.cumsum(0))
    return Gallery(model, vocabulary, dataset, split, images, words, boxes, cells)


def picture_of(gallery: Gallery, image: int) -> np.ndarray | None:
    """The picture, `(H, W, 3) uint8`; None where there are only features."""
    stored = gallery.dataset.images
    return None if stored is None else stored[gallery.dataset.splits[gallery.split][image]]
