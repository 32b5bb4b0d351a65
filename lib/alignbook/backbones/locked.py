"""The base model over the packaged towers: a linear map each into one space, both towers locked.

As in locked-image tuning (LiT), but with the text tower locked, too: what is learnt fits in two
matrices, in seconds, from the files that `extraction` left. A picture is the mean of its 49 regions,
a caption the mean of its word pieces. The loss is CLIP's, with one caption an image in each step.
"""

import json
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from alignbook.backbones import base, bert, packaged
from alignbook.core import retrieval, training
from alignbook.core.protocol import looked_at
from alignbook.core.vocabulary import Vocabulary
from alignbook.store import runs

NAME = "photo-pretrained"
WORDS, VECTORS = "words.json", "word_vectors.npy"
BLOCK = 500  # images or words at a time


@dataclass(frozen=True)
class Config:
    """How the two maps are trained; chosen on dev."""

    recipe: str = NAME  # what it is called [A]
    dim: int = 256  # of the space [A]
    epochs: int = 13  # over the training images: 600 steps of Flickr8k; from 21 on it overfits [A]
    batch: int = 128  # images, one caption of each [A]
    learning_rate: float = 1e-3  # at its highest [A]
    weight_decay: float = 0.01  # [A]
    min_count: int = 4  # how often a training caption's word is said to have a vector [C]

    def compute(self, inputs, seed: int, folder: Path, device: str) -> dict:
        """What a run of it is: see `compute` below."""
        return compute(self, inputs, seed, folder, device)


def configure(profile) -> Config:
    """The config at a profile's budget."""
    return Config(epochs=profile.base_epochs, batch=profile.base_batch)


class Maps(nn.Module):
    """Vectors of wholes, `(N, 1280)` and `(M, 384)`, into one space."""

    def __init__(self, dim: int):
        super().__init__()
        self.image = nn.Linear(packaged.REGION_WIDTH, dim)
        self.text = nn.Linear(packaged.WORD_WIDTH, dim)
        self.log_scale = nn.Parameter(torch.tensor(np.log(1 / 0.07), dtype=torch.float32))

    def forward(self, images, captions) -> tuple[torch.Tensor, torch.Tensor]:
        return F.normalize(self.image(images), dim=-1), F.normalize(self.text(captions), dim=-1)

    def scale(self) -> torch.Tensor:
        """The factor on the cosines, learnt, at most 100."""
        return self.log_scale.exp().clamp(max=100)


class LockedTowers(nn.Module):
    """Both towers with their maps: what other base models are, see `base`."""

    region_dim, region_maximum = packaged.REGION_WIDTH, False

    def __init__(self, dim: int):
        super().__init__()
        self.tower, self.maps = packaged.ImageTower(), Maps(dim)
        self.bert, self.pieces = packaged.text_tower()

    def pixels(self, images: np.ndarray) -> torch.Tensor:
        """As `packaged.ImageTower.pixels`."""
        return self.tower.pixels(images)

    def region_map(self, images: torch.Tensor) -> torch.Tensor:
        """images `(B, 3, 224, 224) float` → `(B, 1280, 7, 7) float`."""
        return self.tower(images)[1]

    def encode_image(self, images: torch.Tensor) -> torch.Tensor:
        """images `(B, 3, 224, 224) float` → `(B, dim) float`, normalised."""
        return F.normalize(self.maps.image(self.region_map(images).mean((2, 3))), dim=-1)

    def encode_text(self, ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """ids `(B, L) int64`, lengths `(B,)` → `(B, dim) float`, normalised."""
        ids = ids[:, : int(lengths.max())]
        states = bert.last_layer(self.bert, ids, lengths)
        mean = packaged.mean_words(states, lengths.to(states.device))
        return F.normalize(self.maps.text(mean), dim=-1)

    def encode_boxes(self, regions: torch.Tensor, boxes: torch.Tensor) -> torch.Tensor:
        """Boxes of pictures by the cells they cover, in place of a crop seen by itself [A].

        regions `(B, 49, 1280)`, row by row; boxes `(B, S, 4)`, as fractions of a side → `(B, S, dim)`
        normalised. A cell counts with the share of it that the box covers.
        """
        return F.normalize(self.maps.image(cover(boxes, regions.shape[1]) @ regions), dim=-1)


def cover(boxes: torch.Tensor, cells: int) -> torch.Tensor:
    """Shares of a box in a map's cells, which add up to 1; 0 for a box without area.

    boxes `(..., 4)`: x0, y0, x1, y1 as fractions → `(..., cells)`, row by row.

    >>> cover(torch.tensor([0.0, 0.0, 0.5, 1.0]), 4).tolist()
    [0.5, 0.0, 0.5, 0.0]
    """
    side = round(cells**0.5)
    start = torch.arange(side, dtype=boxes.dtype, device=boxes.device)
    x0, y0, x1, y1 = (boxes[..., i, None] * side for i in range(4))
    across = (torch.minimum(x1, start + 1) - torch.maximum(x0, start)).clamp(min=0)
    down = (torch.minimum(y1, start + 1) - torch.maximum(y0, start)).clamp(min=0)
    shares = (down[..., :, None] * across[..., None, :]).flatten(-2)
    return shares / shares.sum(-1, keepdim=True).clamp(min=1e-9)


def compute(config: Config, inputs, seed: int, folder: Path, device: str) -> dict:
    """Train the maps; leave them, and vectors of the captions' words, in `folder`; return recalls.

    The inputs are the data set and what `extraction` left of its pictures and captions.
    """
    dataset, *extracted = inputs
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    maps = Maps(config.dim).to(device)
    images, captions = wholes(*extracted)
    rows, each = dataset.splits["train"], dataset.captions_per_image
    size = min(config.batch, len(rows))
    steps = config.epochs * (len(rows) // size)

    def trivial_at(step):  # of equal cosines, both ways
        return math.log(size)

    def loss_at(step):
        chosen, said = pairs(dataset, size, seed, step)
        return base.clip_loss(
            *maps(images[chosen].to(device), captions[said].to(device)), maps.scale()
        )

    decay = dict(lr=config.learning_rate, weight_decay=config.weight_decay, fused=True)
    optimizer = torch.optim.AdamW(maps.parameters(), **decay)
    schedule = training.warmup_cosine(optimizer, steps)
    some = looked_at(len(dataset.splits["dev"]))

    @torch.inference_mode()
    def evaluated(split, most=0):
        taken = torch.from_numpy(dataset.splits[split][: most or None])
        numbers = (taken[:, None] * each + torch.arange(each)).flatten()
        vectors = maps(images[taken].to(device), captions[numbers].to(device))
        return retrieval.evaluate(vectors[0] @ vectors[1].T, each)

    def dev_at(step):
        return evaluated("dev", some).rsum

    descent = training.Descent(optimizer, schedule, steps, clip=1.0)
    asked = dict(dev_at=dev_at, trivial_at=trivial_at)
    outcome = training.fit(maps, descent, loss_at, folder, f"base {NAME}", **asked)
    vocabulary = Vocabulary.build(dataset.captions_of("train"), config.min_count)
    (folder / WORDS).write_text(json.dumps(vocabulary.words))
    np.save(folder / VECTORS, spoken_alone(vocabulary.words, device))
    found = training.save(maps, outcome, folder)
    return found | evaluated("dev").named("dev") | evaluated("test").named("test")


def pairs(dataset, size: int, seed: int, step: int) -> tuple[torch.Tensor, torch.Tensor]:
    """A step's training images and one caption of each, by their numbers in the data set, int64."""
    rows, each = torch.from_numpy(dataset.splits["train"]), dataset.captions_per_image
    images, captions = training.pairs_in_batch(len(rows), size, each, seed, step)
    return rows[images], rows[images] * each + captions % each


def wholes(seen, read) -> tuple[torch.Tensor, torch.Tensor]:
    """Vectors of all images `(N, 1280)` and captions `(M, 384)` of a data set, float."""
    stored = seen.array("features")
    blocks = [
        stored[i : i + BLOCK].astype(np.float32).mean(1) for i in range(0, len(stored), BLOCK)
    ]
    captions = np.asarray(read.array("captions"), np.float32)
    return torch.from_numpy(np.concatenate(blocks)), torch.from_numpy(captions)


@torch.inference_mode()
def similarity(run, dataset, split: str) -> torch.Tensor:
    """As `base.similarity`, of what was seen and read already: `(N, 5·N) float`."""
    seen, read = (runs.stored(key) for key in run.record["inputs"][1:])
    maps, each = Maps(run.config["dim"]), dataset.captions_per_image
    maps.load_state_dict(run.weights())
    images, captions = wholes(seen, read)
    rows = torch.from_numpy(dataset.splits[split])
    numbers = (rows[:, None] * each + torch.arange(each)).flatten()
    vectors = maps(images[rows], captions[numbers])
    return vectors[0] @ vectors[1].T


@torch.inference_mode()
def spoken_alone(words, device: str = "cpu") -> np.ndarray:
    """A vector of each word, read by itself: the mean of its pieces, `(2 + V, 384) float32` by
    vocabulary id. Padding is 0, the unknown word the mean of all others.
    """
    model, pieces = packaged.text_tower()
    model.to(device)
    ids, lengths = pieces.encode(list(words))
    found = np.zeros((2 + len(words), packaged.WORD_WIDTH), np.float32)
    for i in range(0, len(words), BLOCK):
        own = lengths[i : i + BLOCK]
        states = bert.last_layer(model, ids[i : i + BLOCK, : int(own.max())].to(device), own).cpu()
        inner = torch.arange(states.shape[1]) < own[:, None] - 1
        inner[:, 0] = False  # without the two marks
        mean = (states * inner[..., None]).sum(1) / inner.sum(1, keepdim=True).clamp(min=1)
        found[2 + i : 2 + i + len(own)] = mean.numpy()
    if words:
        found[1] = found[2:].mean(0)
    return found


def word_vectors(run) -> tuple[torch.Tensor, Vocabulary]:
    """Vectors `(V, 384)` of the words of the captions that a base was trained on."""
    words = json.loads((run.folder / WORDS).read_text())
    return torch.from_numpy(np.array(run.array("word_vectors"))), Vocabulary(tuple(words))


def restore(run) -> tuple[LockedTowers, bert.WordPieces]:
    """The model of a run, in evaluation mode, and its word pieces: see `base.load`."""
    model = LockedTowers(run.config["dim"])
    model.maps.load_state_dict(run.weights())
    return model.eval(), model.pieces
