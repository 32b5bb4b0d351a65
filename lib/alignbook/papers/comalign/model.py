"""ComAlign: compositional alignment in vision-language models (Abdollahi et al., 2024).

In the order of the paper: the encoders on top of a frozen base model (Eq. 1), fine-grained matching
and the similarities of entities, relations and wholes (Eq. 2–5), the loss (Eq. 6–9), training, and
the presets. Inference (Eq. 10, 11) is in `inference`. Components come from `components/`; Eq. 2 is
`similarity.fine_grained_matching`. What the text leaves open follows the released code [C] or is our
assumption [A]. The arms of the exhibits: `arms`.
"""

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from alignbook.core import parallel, retrieval, training
from alignbook.core.precision import in_float32
from alignbook.core.protocol import TUNING_SEED, looked_at
from alignbook.core.similarity import fine_grained_matching
from alignbook.papers.comalign.components.vectors import Components, captions_of, images_of
from alignbook.papers.comalign.head_layers import Encoder
from alignbook.papers.comalign.inference import (
    Frozen,
    Similarities,
    Term,
    freeze,
    metrics_of,
    recalls,
    weighted,
)
from alignbook.store import progress

TERMS = "GER"  # global, entities, relations


@dataclass(frozen=True)
class Config:
    """One arm of ComAlign; trained with AdamW and StepLR [S]."""

    # Or "fc-shared", "fc-separate"; "none": nothing is trained, Eq. 10 and 11 on the base's vectors.
    network: str = "transformer"  # of the encoders [S]
    layers: int = 2  # of the transformer [S]
    heads: int = 4  # of its attention; its feedforward layers are as wide as the vectors [C]
    dropout: float = 0.1  # [C]
    position_dropout: float = 0.0  # after positions are added [S]; the code has some there [C]
    projected: bool = False  # a linear layer and a ReLU before the transformer [C], or none [S]
    positions: str = "sinusoidal"  # of the components [S]; "official": as the code counts them [C]
    # Before positions are added, vectors of length 1 become √d long, as in the transformer's paper,
    # which the text names for positions alone [X]. Else the codes, √(d/2) long, drown them.
    lengthened: bool = True
    normalised: bool = True  # z has length 1 before Eq. 2 [A]
    masked: bool = True  # absent components are left out of attention and Eq. 2 [A], not so in [C]
    trained: str = "both"  # encoders [S]; "image" alone [C] or "text": the other keeps its vectors
    terms: str = TERMS  # of the loss and of inference [S] (Table III)
    features: str = TERMS  # what the encoders see [S] (Table IV)
    coefficient: float = 1.0  # weight of the global term [S] (Figure 7)
    scale: str = "learnt"  # on each term's logits [A]; "none" [S]: cosines barely train in Eq. 8
    steps: int = 200  # of training [A]
    batch: int = 128  # images, one caption of each [A]; [S] has 1,600
    learning_rate: float = 1e-3  # [A]
    warmup: float = 0.1  # share of the steps in which the learning rate rises from 0 [A]
    gamma: float = 0.3  # share of the learning rate that is left after each third of the steps [A]
    weight_decay: float = 0.01  # [A]
    weights: tuple[float, ...] = ()  # α1, α2, β1: fixed [C], or chosen on `validation` [S]
    validation: str = "strict"  # dev of the source [A]; "paper": training images of the target [S]
    divided: bool = False  # what is summed is divided by its mean maximum there [C], see `divisor`

    together = True  # several ranks train it, each on its part of every batch

    def compute(self, inputs, seed: int, folder: Path, device: str) -> dict:
        """What a run of it is: see `compute` below."""
        return compute(self, inputs, seed, folder, device)


# --- Encoders (§III-B, Eq. 1) --------------------------------------------------------------------


class ComAlign(nn.Module):
    """Both encoders, and a scale for the logits of each term."""

    def __init__(self, config: Config, dim: int, slots: int):
        super().__init__()
        self.config = config
        sides = () if config.network == "none" else ("image", "text")
        self.encoders = nn.ModuleDict(
            {
                side: Encoder(config, dim, slots)
                for side in sides
                if config.trained in (side, "both")
            }
        )
        if config.scale == "learnt":  # [A] starts as CLIP's
            start = torch.tensor(math.log(1 / 0.07))
            self.scales = nn.ParameterDict({t: nn.Parameter(start.clone()) for t in config.terms})

    def encode(self, h: Components, side: str) -> Components:
        """Eq. 1 for "image" or "text": z, of length 1 before Eq. 2 if `normalised`."""
        z = self.encoders[side](h) if side in self.encoders else h.vectors
        return h.replaced(F.normalize(z, dim=-1) if self.config.normalised else z)

    def scale(self, term: str):
        """The factor on a term's logits, learnt and at most 100; 1 without."""
        return self.scales[term].exp().clamp(max=100) if self.config.scale == "learnt" else 1.0

    @in_float32
    def similarities(self, images: Components, captions: Components) -> Similarities:
        """Eq. 3–5 of encoded images and captions, for the terms of the config."""
        found = {}
        for term in self.config.terms:
            (x, x_mask), (y, y_mask) = images.of(term), captions.of(term)
            if term == "G":
                both = x[:, 0] @ y[:, 0].T  # Eq. 5
                found[term] = Term(
                    both, both, *(torch.ones_like(m[:, 0]) for m in (x_mask, y_mask))
                )
                continue
            if not self.config.masked:  # [C] zeros count, as anchors and candidates too
                x_mask, y_mask = torch.ones_like(x_mask), torch.ones_like(y_mask)
            has = x_mask.any(1), y_mask.any(1)
            found[term] = Term(*fine_grained_matching(x, y, x_mask, y_mask), *has)  # Eq. 3, 4
        return found


# --- Loss (§III-C, Eq. 6–9) ----------------------------------------------------------------------


def contrast(s: torch.Tensor, anchors: torch.Tensor, candidates: torch.Tensor) -> torch.Tensor:
    """Eq. 8, f_i(s) = −log exp(s_ii) / Σ_j exp(s_ij), the mean over anchors i.

    Parameters
    ----------
    s : (B, B) float
        Logits, a row an anchor, its own candidate on the diagonal.
    anchors, candidates : (B,) bool
        Which have the component [A]. A pair in which either side lacks it is no anchor, a candidate
        that lacks it is in no denominator: its similarity of 0 would be the hardest negative, or
        the easiest, for a reason that has nothing to do with the picture. No anchor gives 0.
    """
    valid = anchors & candidates
    if not valid.any():
        return s.sum() * 0
    logits = s.masked_fill(~candidates, -torch.inf)[valid]
    return F.cross_entropy(logits, torch.nonzero(valid)[:, 0])


def loss(model: ComAlign, images: Components, captions: Components) -> torch.Tensor:
    """Eq. 6, 7 and 9 of a batch of matching images and captions: half the sum of both directions'
    contrasts over the terms, the global one weighted by the coefficient of Figure 7.
    """
    return summed_contrasts(model, similarities_of(model, images, captions))


def trivial_loss(model: ComAlign, images: Components, captions: Components) -> torch.Tensor:
    """The loss of a batch whose similarities are all equal: 3 · ln B where nobody lacks anything."""
    found = similarities_of(model, images, captions)
    equal = {
        term: value._replace(i2t=torch.zeros_like(value.i2t), t2i=torch.zeros_like(value.t2i))
        for term, value in found.items()
    }
    return summed_contrasts(model, equal)


def similarities_of(model: ComAlign, images: Components, captions: Components) -> Similarities:
    """Eq. 1 and 3–5 of a batch, of which each rank has its part."""
    x, y = model.encode(images, "image"), model.encode(captions, "text")
    sides = parallel.gathered(x.vectors, x.present, y.vectors, y.present)  # negatives of all ranks
    x, y = (h._replace(vectors=sides[i], present=sides[i + 1]) for h, i in ((x, 0), (y, 2)))
    return model.similarities(x, y)


def summed_contrasts(model: ComAlign, found: Similarities) -> torch.Tensor:
    """Eq. 9 of a batch's similarities."""
    total = 0.0
    for term, (i2t, t2i, has_images, has_captions) in found.items():
        weight = model.config.coefficient if term == "G" else 1.0
        scale = model.scale(term)
        both = contrast(scale * i2t, has_images, has_captions) + contrast(
            scale * t2i.T, has_captions, has_images
        )
        total = total + weight * both / 2
    return total


# --- Training (Algorithm 1) ----------------------------------------------------------------------


def compute(config: Config, inputs, seed: int, folder: Path, device: str) -> dict:
    """Train the heads on one data set's components, measure them on another's.

    The inputs are the source's data set and components (`components.vectors`), and the target's.
    Tuning seeds are measured on dev of the source alone.

    Raises
    ------
    ValueError
        Components of two base models, of different widths; a width that the heads don't divide.
    """
    source, source_run, target, target_run = inputs
    widths = [run.metrics["width"] for run in (source_run, target_run)]
    if widths[0] != widths[1]:
        raise ValueError(
            f"components of {source.name} are {widths[0]} wide, those of {target.name} "
            f"{widths[1]}: they must come from one base model"
        )
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    model = build(config, source_run).to(device)
    outcome = {"loss": [], "seconds": 0.0, "gradients": np.zeros((0, 0), np.float32)}
    best = {}
    if config.network != "none":
        outcome = train(model, source, source_run, seed, folder, device)
        best = training.take_best(model, outcome)
    model.eval()
    found = training.save(model, outcome, folder) | best
    on_dev = compare(model, source, source_run, "dev")
    frozen = validate(model, on_dev, source.captions_per_image, target, target_run)
    found |= metrics_of(frozen)
    found |= recalls(*weighted(*on_dev, frozen), source.captions_per_image, "dev")
    if seed < TUNING_SEED:
        i2t, t2i = evaluate(model, frozen, target, target_run, "test")
        of_target = target.captions_per_image
        found |= recalls(i2t, t2i, of_target, "test")
        np.save(folder / "ranks_i2t.npy", retrieval.ranks(i2t, of_target)[0].astype(np.int32))
        np.save(folder / "ranks_t2i.npy", retrieval.ranks(t2i, of_target)[1].astype(np.int32))
    return found


def train(model: ComAlign, source, source_run, seed: int, folder: Path, device: str) -> dict:
    """Algorithm 1 on the source's training images: what `training.fit` returns."""
    config = model.config
    rows = source.splits["train"][: source_run.metrics["train"] or None]
    each = source.captions_per_image
    batch = min(config.batch, len(rows))

    def pair_at(step):
        images, captions = training.pairs_in_batch(len(rows), batch, each, seed, step)
        pictures, places = rows[images.numpy()], numbers(rows, captions.numpy(), each)
        images, captions = batches(config, source_run, pictures, places)
        return to(part(images, seed, step), device), to(part(captions, seed, step), device)

    def loss_at(step):
        return loss(model, *pair_at(step))

    def trivial_at(step):
        return trivial_loss(model, *pair_at(step))

    some = looked_at(len(source.splits["dev"]))

    def dev_at(step):
        found = compare(model, source, source_run, "dev", some)
        frozen = freeze(*found, each, config.weights, config.divided, one=True)
        return recalls(*weighted(*found, frozen), each, "dev")["dev RSUM"]

    rate = dict(lr=config.learning_rate, weight_decay=config.weight_decay)
    optimizer = torch.optim.AdamW(model.parameters(), **rate, fused=True)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: factor(config, step))
    descent = training.Descent(optimizer, schedule, config.steps)
    named = label(config, seed)
    return training.fit(model, descent, loss_at, folder, named, dev_at, trivial_at=trivial_at)


def factor(config: Config, step: int) -> float:
    """The share of the learning rate at a step: a linear rise, and StepLR's thirds [S].

    >>> [round(factor(Config(steps=30), step), 2) for step in (0, 1, 2, 9, 10, 29)]
    [0.33, 0.67, 1.0, 1.0, 0.3, 0.09]
    """
    rise, third = max(1, int(config.warmup * config.steps)), max(1, -(-config.steps // 3))
    return min(1.0, (step + 1) / rise) * config.gamma ** (step // third)


def label(config: Config, seed: int) -> str:
    return f"ComAlign {config.network} {config.terms} of {config.features}, seed {seed}"


def build(config: Config, source_run) -> ComAlign:
    """An untrained model for the components of a run."""
    found = source_run.metrics
    if config.network == "transformer" and found["width"] % config.heads:
        raise ValueError(
            f"a base model of width {found['width']}: expected a multiple of "
            f"{config.heads}, the heads of attention"
        )
    return ComAlign(config, found["width"], 1 + found["entities"] + found["relations"])


def load(run, source_run) -> ComAlign:
    """The trained model of a run, in evaluation mode."""
    model = build(Config(**run.config | {"weights": tuple(run.config["weights"])}), source_run)
    model.load_state_dict(run.weights())
    return model.eval()


def numbers(rows: np.ndarray, captions: np.ndarray, each: int) -> np.ndarray:
    """A split's captions, counted from its first, as their numbers in the whole data set."""
    return rows[captions // each] * each + captions % each


def batches(config: Config, run, pictures, captions):
    """Components of some images and some captions; the released code trims nothing [C]."""
    return (
        images_of(run, pictures, trim=config.masked),
        captions_of(run, captions, trim=config.masked),
    )


def part(side: Components, seed: int, step: int) -> Components:
    """This rank's part of a batch; slots are those of the whole batch."""
    vectors, present = parallel.part(seed, step, side.vectors, side.present)
    return side._replace(vectors=vectors, present=present)


def to(side: Components, device: str) -> Components:
    vectors, present, slots, entities = side
    return Components(vectors.to(device), present.to(device), slots.to(device), entities)


@torch.inference_mode()
def compare(model: ComAlign, dataset, run, split: str, most: int = 0):
    """Every image of a split with every caption: the base model's similarity and those of Eq. 3–5,
    each `(N, 5·N) float`; of the first `most` images and their captions if given.
    """
    device = next(iter(model.parameters()), torch.empty(0)).device
    rows, each = dataset.splits[split][: most or None], dataset.captions_per_image
    captions = numbers(rows, np.arange(len(rows) * each), each)
    trim = model.config.masked
    images = to(images_of(run, rows, trim), device)
    z = model.encode(images, "image")
    base_parts, parts = [], []
    for start in range(0, len(captions), 1000):
        some = to(captions_of(run, captions[start : start + 1000], trim), device)
        base_parts.append(images.vectors[:, 0] @ some.vectors[:, 0].T)
        parts.append(model.similarities(z, model.encode(some, "text")))
        if not most:  # a look is short, and the bar at hand is the training's
            progress.show(
                f"comparing with the {split} captions", start + len(some.vectors), len(captions)
            )
    found = {
        term: Term(
            torch.cat([part[term].i2t for part in parts], 1),
            torch.cat([part[term].t2i for part in parts], 1),
            parts[0][term].images,
            torch.cat([part[term].captions for part in parts]),
        )
        for term in model.config.terms
    }
    return torch.cat(base_parts, 1), found


def validate(model: ComAlign, on_dev, each: int, target, target_run) -> Frozen:
    """α1, α2, β1 and what else is frozen: from the source's dev split as compared, or from training
    images of the target, as many as its dev split has.
    """
    if model.config.validation == "paper":
        on_dev = compare(model, target, target_run, "train", len(target.splits["dev"]))
        each = target.captions_per_image
    return freeze(*on_dev, each, model.config.weights, model.config.divided)


def evaluate(model: ComAlign, frozen: Frozen, dataset, run, split: str):
    """Eq. 10 and 11 for every image and caption of a split, each `(N, 5·N) float`."""
    return weighted(*compare(model, dataset, run, split), frozen)


# --- Presets: the text and the released code -----------------------------------------------------

# Full size: [S] batch and layers; [A] learning rate and steps.
FULL = dict(batch=1600, steps=1000, learning_rate=1e-4)
# "official" follows the released code, which has inference alone. It differs from that code in this:
# the code's vectors of wholes enter its heads before they are brought to length 1, which our base
# models don't hand over; its divisors are those of the test split, ours of validation data; and how
# it trained is not in it, so that loss, scales and optimiser are those of "paper".
PRESETS = {
    "paper": Config(**FULL),
    "official": Config(
        **FULL,
        projected=True,
        positions="official",
        position_dropout=0.1,
        masked=False,
        trained="image",
        weights=(0.03, 0.01, 0.1),
        divided=True,
    ),
}
DIFFERENCES = {  # fields of Config in which the presets differ, and why
    "projected": "the code puts a linear layer and a ReLU before the transformer",
    "positions": "the code's position codes begin with a cosine, not a sine, and take the exponent "
    "2i/D over all i; the whole comes last",
    "position_dropout": "the code drops out after adding the positions as well",
    "masked": "in the code absent components are zeros that count in attention, in the mean, and "
    "as anchors and candidates of the loss",
    "trained": "the code trains the image side alone; the text speaks of both",
    "weights": "the code has fixed weights, relative to similarities that were divided",
    "divided": "the code divides the base model's similarity, that of the wholes, and the sum of "
    "entities and relations by their mean maximum: over an image's captions, or over a caption's "
    "images for that sum from text to image",
}
