"""Pairs of images and captions under noise: what a network sees of them, and the losses of pairs."""

import contextlib
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from torch import nn

from alignbook.backbones import region_features
from alignbook.core import losses, parallel, training
from alignbook.core.precision import full
from alignbook.core.sgraf import Encoded
from alignbook.datasets.prepared import Dataset
from alignbook.errors import DataError
from alignbook.papers.gsl import noise
from alignbook.store.runs import Stored

IMAGES = 100  # or captions encoded at a time; images compared with all captions


class Look(NamedTuple):
    """What one network makes of B pairs.

    `scores` `(B, B)`: rows images, columns captions; `images`, `captions` `(B, d)`: mean-pooled
    unit vectors; `image_ids` `(B,) int64`: pairs of one image are not each other's negatives.
    """

    scores: torch.Tensor
    images: torch.Tensor
    captions: torch.Tensor
    image_ids: torch.Tensor

    def equal(self) -> "Look":
        """The same with equal scores: a network that can't tell one pair from another."""
        return self._replace(scores=torch.zeros_like(self.scores))

    def mixed(self) -> "Look":
        """The same with each caption's scores at the next caption's place: they tell nothing of which
        pairs belong together, and are as far apart as they were.
        """
        return self._replace(scores=self.scores.roll(1, 1))


class Bank(NamedTuple):
    """M clean pairs that anchors are chosen from, as one network saw them.

    `images`, `captions` `(M, d)`: pooled unit vectors; `rows` `(M,) int64`: which of the training
    pairs they are; `own` `(B, M) bool`: whether one is the pair that it would be an anchor of.
    """

    images: torch.Tensor
    captions: torch.Tensor
    rows: torch.Tensor
    own: torch.Tensor | None = None

    def of(self, chosen: np.ndarray) -> "Bank":
        """The same for the pairs `chosen` `(B,) int64`."""
        own = torch.from_numpy(chosen)[:, None] == self.rows
        return self._replace(own=own.to(self.images.device))


def spread(rows: np.ndarray, most: int) -> np.ndarray:
    """At most `most` of the rows, evenly spaced.

    >>> spread(np.arange(5), 3), spread(np.arange(2), 3)
    (array([0, 2, 4]), array([0, 1]))
    """
    if len(rows) <= most:
        return rows
    return rows[np.linspace(0, len(rows) - 1, most).round().astype(int)]


@dataclass(frozen=True)
class Pairs:
    """The N training pairs: caption i with image `index[i]`, a row of the training split.

    `stored` are the features, of which `rows` `(n,)` are the training images.
    """

    stored: np.ndarray
    rows: np.ndarray
    index: np.ndarray
    ids: torch.Tensor
    lengths: torch.Tensor
    regions: int
    each: int

    def __len__(self) -> int:
        return len(self.index)

    @cached_property
    def noisy(self) -> np.ndarray:
        """The truth, which no method but a bound may use: `(N,) bool`."""
        return noise.mismatched(self.index, self.each)

    def look(self, network: nn.Module, chosen: np.ndarray, images=None, captions=None) -> Look:
        """What a network makes of the pairs `chosen` `(B,) int64`; of their `images` and `captions`,
        each `Encoded`, if it has encoded these.
        """
        regions = self.pictures(network, self.index[chosen]) if images is None else images
        words = self.captions(network, chosen) if captions is None else captions
        which = torch.from_numpy(self.index[chosen]).to(regions.pooled.device)

        def scores_of(some):
            return network.similarity(regions, words.rows(some))

        # Comparing is what costs: each rank does it for its part of the captions.
        scores = parallel.by_columns(scores_of, len(chosen))
        return Look(full(scores), full(regions.pooled), full(words.pooled), which)

    def pictures(self, network: nn.Module, images: np.ndarray) -> Encoded:
        """Images `(n,) int64`, rows of the training split, as the network's similarity takes them."""
        raw = region_features.batch(self.stored, self.rows[images], self.regions)
        return network.encode_images(raw.to(next(network.parameters()).device))

    def captions(self, network: nn.Module, chosen: np.ndarray) -> Encoded:
        """The captions of the pairs `chosen`, likewise."""
        lengths = self.lengths[chosen]
        ids = self.ids[chosen, : int(lengths.max())]
        return network.encode_captions(ids.to(next(network.parameters()).device), lengths)

    def pooled(self, network: nn.Module, chosen: np.ndarray) -> torch.Tensor:
        """Pooled vectors of images and captions of the pairs `chosen`, `(2, M, d)`, as `glance` has
        them, without a score.
        """
        parts = []
        with glancing(network):
            for start in range(0, len(chosen), IMAGES):
                some = chosen[start : start + IMAGES]
                both = self.pictures(network, self.index[some]), self.captions(network, some)
                parts.append(torch.stack([each.pooled for each in both]))
        return torch.cat(parts, dim=1)

    def glance(self, network: nn.Module, chosen: np.ndarray, images=None, captions=None) -> Look:
        """As `look`, without gradient and dropout, batch normalisation by running statistics."""
        with glancing(network):
            return self.look(network, chosen, images, captions)

    def every_picture(self, network: nn.Module) -> tuple[Encoded, np.ndarray]:
        """The images that have a pair, as `glance` encodes them, and which of them each pair has.

        Each is encoded once, though it has several captions.
        """
        used, place = np.unique(self.index, return_inverse=True)
        with glancing(network):
            parts = [
                self.pictures(network, used[start : start + IMAGES])
                for start in range(0, len(used), IMAGES)
            ]
        return Encoded.joined(parts), place

    def looks(self, network: nn.Module, batch: int, seed: int, epoch: int) -> Iterator:
        """`(chosen, glance)` of batches in random order: every pair at least once.

        Loss depends on the batch, so the last one is filled up with the first pairs.
        """
        order = training.epoch_order(len(self), seed, epoch).numpy()
        batch = min(batch, len(self))
        images, place = self.every_picture(network)
        drawn = np.resize(order, -(-len(self) // batch) * batch)
        together = max(1, IMAGES // batch) * batch  # captions of several batches
        for start in range(0, len(drawn), together):
            some = drawn[start : start + together]
            with glancing(network):
                words = self.captions(network, some)
            for first in range(0, len(some), batch):
                chosen = some[first : first + batch]
                own = images.rows(place[chosen]), words.rows(slice(first, first + batch))
                yield chosen, self.glance(network, chosen, *own)


@contextlib.contextmanager
def glancing(network: nn.Module):
    """In evaluation mode and without gradient; afterwards the network is as it was."""
    was = network.training
    network.eval()
    with torch.no_grad():
        yield
    network.train(was)


def pool(pairs: Pairs, truth: bool) -> np.ndarray:
    """The pairs that training draws from: all, or those that are clean in truth.

    ValueError for fewer than two.
    """
    found = np.flatnonzero(~pairs.noisy) if truth else np.arange(len(pairs))
    if len(found) < 2:
        raise ValueError(f"{len(found)} of {len(pairs)} pairs to train on; it takes at least two")
    return found


def steps_an_epoch(config, n: int, truth: bool, parts: bool = False) -> int:
    """Steps of an epoch over n pairs, at least one; see `coteaching.Config.epoch_steps`.

    >>> from alignbook.papers.gsl.coteaching import Config
    >>> config = Config(noise=0.4, batch=10)
    >>> steps_an_epoch(config, 100, truth=False), steps_an_epoch(config, 100, False, parts=True)
    (10, 6)
    """
    used = n - int(config.noise * n) if truth or parts else n
    return config.epoch_steps or max(1, used // config.batch)


def draw(pool: np.ndarray, size: int, key: list, i: int) -> np.ndarray:
    """The i-th batch of an epoch from a pool of pairs: passes over it, each in another order.

    `key`, whole numbers, says which epoch, network and part. A pool of fewer pairs comes whole.

    >>> sorted(np.concatenate([draw(np.arange(10, 14), 2, [0], i) for i in range(2)]).tolist())
    [10, 11, 12, 13]
    """
    size = min(size, len(pool))
    turn, j = divmod(i, len(pool) // size if size else 1)
    order = np.random.default_rng([*key, turn]).permutation(len(pool))
    return pool[order[j * size : (j + 1) * size]]


def soft_margin(labels: torch.Tensor, margin: float) -> torch.Tensor:
    """Eq. 17: α̂ = (10^y − 1) / 9 · α of labels y in [0, 1] [X]: 0 at 0, α at 1.

    ValueError for a label outside.

    >>> soft_margin(torch.tensor([0.0, 0.5, 1.0]), 0.2)
    tensor([0.0000, 0.0481, 0.2000])
    """
    wrong = ~((labels >= 0) & (labels <= 1))
    if wrong.any():
        row = int(wrong.nonzero()[0])
        raise ValueError(f"label {row} is {float(labels[row])}; labels are within 0..1")
    return (10**labels - 1) / 9 * margin


def hardest(look: Look, margin) -> torch.Tensor:
    """The hinge with the hardest negatives, both directions: `(B,)`. A margin per pair applies in
    its row for image to text and in its column for text to image."""
    return losses.hardest_negative_hinge(
        look.scores, margin, image_ids=look.image_ids, reduction="none"
    )


def mean_violation(look: Look, margin: float) -> torch.Tensor:
    """The hinge's mean over the batch, both directions: `(B,)`; the pair itself counts as 0 [X]."""
    total = losses.all_negatives_hinge(
        look.scores, margin, image_ids=look.image_ids, reduction="none"
    )
    return total / len(total)


def contrast(logits: torch.Tensor, image_ids: torch.Tensor) -> torch.Tensor:
    """−log softmax over each row's own image's pair and the pairs of other images: `(B,)`."""
    other_pair = image_ids[:, None] == image_ids
    other_pair.fill_diagonal_(False)
    return -logits.masked_fill(other_pair, -torch.inf).log_softmax(1).diagonal()


@dataclass(frozen=True)
class GivenNoise:
    """A noise index that came as a file (`datasets.noise_index.read`), as an input of runs."""

    index: np.ndarray

    @property
    def key(self) -> str:
        return hashlib.sha256(np.ascontiguousarray(self.index, np.int64).tobytes()).hexdigest()

    def array(self, name: str) -> np.ndarray:
        return {"index": self.index}[name]


class Inputs(NamedTuple):
    """What a run starts from: as `backbones.inputs.Inputs` without BERT, and the noise.

    `noise` is a `GivenNoise` where a file names the index; None where it is drawn (`gather`).
    """

    dataset: Dataset
    features: Stored
    base: Stored | None = None
    home: Dataset | None = None
    noise: GivenNoise | None = None


def gather(config, dataset, feature_run, vocabulary, given=None) -> Pairs:
    """The training pairs with the config's noise, or with the index of a `GivenNoise` or a run.

    Raises ValueError if that index is not of these captions, or for more images than there are.
    """
    each, rows = dataset.captions_per_image, _first(dataset, "train", config.images)
    captions = dataset.captions_of("train")[: each * len(rows)]
    if given is None:
        index = noise.inject(len(captions), each, config.noise, config.noise_seed)
    else:
        index = np.array(given.array("index"), np.int64)
        if index.shape != (len(captions),) or index.min() < 0 or index.max() >= len(rows):
            raise ValueError(
                f"the noise index has shape {index.shape} and rows {index.min()} to "
                f"{index.max()}; expected ({len(captions)},) and 0 to {len(rows) - 1}"
            )
    ids, lengths = vocabulary.encode(captions)
    stored = feature_run.array("features")
    return Pairs(stored, rows, index, ids, lengths, config.regions, each)


def _first(dataset, split: str, images: int) -> np.ndarray:
    rows = dataset.splits[split]
    if images > len(rows):
        field = "gsl_images" if split == "train" else f"gsl_{split}_images"
        raise DataError(
            f"{images} {split} images asked for, there are {len(rows)}: say --set {field}={len(rows)}"
        )
    return rows[:images] if images else rows


TEMPERATURE = 0.07  # τ of GSC's contrast, a warm-up too [X]
