"""Learning with noisy correspondence by co-teaching: the frame, GSL's rivals in it, and bounds.

Some training captions are attached to wrong images (`noise.py`). Two networks (`sgr.py`) warm up on
all pairs, in a run of its own that methods with the same warm-up share. Then, each epoch, a mixture
over what each network finds of the pairs divides these into clean and noisy (`mixtures.py`), labels
are corrected, and the networks train, each on the other's division. The epoch is chosen on dev, and
the mean of both networks' scores counts.

In order: warm-up, the frame, then NCR (NeurIPS 2021), BiCro (CVPR 2023), GSC (CVPR 2024) and the
bounds. We hold none of the three papers: [X] is what their public code does, [A] our assumption.
ESC and SPS can't be rebuilt: no public code was found. GSL itself is in `gsl.py`.
"""

import contextlib
import hashlib
import json
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from functools import cached_property, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from scipy.stats import rankdata
from torch import nn
from torch.nn import functional as F

from alignbook.backbones import region_features
from alignbook.backbones.word_vectors import word_vectors
from alignbook.core import losses, retrieval, training
from alignbook.datasets.prepared import Dataset
from alignbook.core.protocol import TUNING_SEED, looked_at
from alignbook.papers.gsl import backbone, mixtures, noise
from alignbook.store import durable, progress, runs
from alignbook.store.runs import Stored

PHASES = ("training", "division", "correction", "dev", "test")
SPLITS = ("peer", "own")
IMAGES = 100  # compared with all captions at a time
HOW = "training pairs; what is noisy is known, and used for this alone"


class Inputs(NamedTuple):
    """What a run starts from: as `backbones.inputs.Inputs` without BERT, and the noise.

    `noise` is a `GivenNoise` where a file names the index; None where it is drawn (`gather`).
    """

    dataset: Dataset
    features: Stored
    base: Stored | None = None
    home: Dataset | None = None
    noise: "GivenNoise | None" = None


@dataclass(frozen=True)
class Config:
    """One arm: a method, the noise, the networks and the schedule that all methods share.

    `noise` is the share of captions picked, `noise_seed` picks them: the same for every method.
    `margin` is α, `delta` δ. `split` "peer": a network trains on the other's division [X]; "own":
    on its own. `warm_up` is one of `WARM_UPS`, "" the method's own. `warm_up_epochs` and `epochs`
    have `epoch_steps` steps each, or (0) as many as in the public code: a pass over the clean
    pairs, by the noise rate, for a method whose batches have two parts, else over all; while
    warming up over all. A batch is of `batch` pairs, or of as many clean and as many noisy ones.
    Adam without weight decay, new after warm-up [A]; both networks take a step at once, not in turn
    an epoch each, and their gradient is clipped together at norm `clip` [A]. After warm-up the
    learning rate is `after` of what it was [A]: at a high one the hardest negatives of noisy pairs
    undo what mean violations taught. `images`, `dev_images`, `test_images`: each split's first so
    many, 0 for all.
    """

    method: str = "ncr"
    noise: float = 0.4
    noise_seed: int = 0
    similarity: str = "sgr"
    regions: int = 36
    dim: int = 128
    sim_dim: int = 32
    margin: float = 0.2
    delta: float = 0.5
    split: str = "peer"
    warm_up: str = ""
    batch: int = 32
    learning_rate: float = 1e-3
    after: float = 1.0
    clip: float = 2.0
    warm_up_epochs: int = 1
    epochs: int = 4
    epoch_steps: int = 0
    images: int = 0
    dev_images: int = 0
    test_images: int = 0

    def __post_init__(self):
        if self.split not in SPLITS:
            raise ValueError(f"unknown split {self.split!r}; known: {', '.join(SPLITS)}")
        if self.warm_up not in ("", *WARM_UPS):
            raise ValueError(f"unknown warm_up {self.warm_up!r}; known: {', '.join(WARM_UPS)}")
        if not 0 <= self.delta <= 1:
            raise ValueError(f"delta must be within 0..1, not {self.delta}")
        for name, least in dict(batch=2, epochs=1, warm_up_epochs=0, epoch_steps=0).items():
            if getattr(self, name) < least:
                raise ValueError(f"{name} must be at least {least}, not {getattr(self, name)}")

    def compute(self, inputs, seed: int, folder: Path, device: str) -> dict:
        """What a run of it is: see `compute` below."""
        return compute(self, inputs, seed, folder, device)


# --- What a network sees -------------------------------------------------------------------------


class Look(NamedTuple):
    """What one network makes of B pairs.

    `scores` `(B, B)`: rows images, columns captions; `images`, `captions` `(B, d)`: mean-pooled
    unit vectors; `image_ids` `(B,) int64`: pairs of one image are not each other's negatives.
    """

    scores: torch.Tensor
    images: torch.Tensor
    captions: torch.Tensor
    image_ids: torch.Tensor


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

    def look(self, network: nn.Module, chosen: np.ndarray) -> Look:
        """What a network makes of the pairs `chosen` `(B,) int64`."""
        device = next(network.parameters()).device
        images = self.index[chosen]
        raw = region_features.batch(self.stored, self.rows[images], self.regions).to(device)
        lengths = self.lengths[chosen]
        ids = self.ids[chosen, : int(lengths.max())].to(device)
        regions, words = network.encode_images(raw), network.encode_captions(ids, lengths)
        return Look(
            network.similarity(regions, words),
            regions.pooled,
            words.pooled,
            torch.from_numpy(images).to(device),
        )

    @torch.no_grad()
    def glance(self, network: nn.Module, chosen: np.ndarray) -> Look:
        """The same without gradient and dropout, batch normalisation by running statistics."""
        was = network.training
        network.eval()
        found = self.look(network, chosen)
        network.train(was)
        return found

    def looks(self, network: nn.Module, batch: int, seed: int, epoch: int) -> Iterator:
        """`(chosen, glance)` of batches in random order: every pair at least once.

        Loss depends on the batch, so the last one is filled up with the first pairs.
        """
        order = training.epoch_order(len(self), seed, epoch).numpy()
        batch = min(batch, len(self))
        for start in range(0, len(self), batch):
            chosen = np.concatenate((order, order))[start : start + batch]
            yield chosen, self.glance(network, chosen)


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


# --- Losses of pairs -----------------------------------------------------------------------------


def soft_margin(labels: torch.Tensor, margin: float) -> torch.Tensor:
    """α̂ = (10^y − 1) / 9 · α of labels y in [0, 1] [X]: 0 at 0, α at 1.

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
    """The hinge with the hardest negatives, both directions: `(B,)`. A margin a pair holds in its
    row for image to text and in its column for text to image."""
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


# --- Warm-up -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class WarmUp:
    """Two networks trained with one of `WARM_UPS`, no pair told from another: what methods begin
    with. `truth`: on the pairs that are clean in truth; the rest as in `Config`."""

    loss: str
    truth: bool
    noise: float
    noise_seed: int
    similarity: str
    regions: int
    dim: int
    sim_dim: int
    margin: float
    batch: int
    learning_rate: float
    clip: float
    warm_up_epochs: int
    epoch_steps: int
    images: int

    def compute(self, inputs, seed: int, folder: Path, device: str) -> dict:
        """What a run of it is: see `warm` below."""
        return warm(self, inputs, seed, folder, device)


def warm_up_of(method, config: Config) -> WarmUp:
    """The warm-up that a method's runs begin with."""
    shared = {f.name: getattr(config, f.name) for f in fields(WarmUp) if hasattr(config, f.name)}
    return WarmUp(loss=config.warm_up or method.warm_up, truth=method.truth, **shared)


def warm(config: WarmUp, inputs, seed: int, folder: Path, device: str) -> dict:
    """Train two networks for the warm-up's epochs; inputs as `fit`'s."""
    dataset, feature_run, base_run, home, given = Inputs(*inputs)
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    networks, vocabulary = build(config, dataset, feature_run, base_run, home)
    both = nn.ModuleList(networks).to(device)
    pairs = gather(config, dataset, feature_run, vocabulary, given)
    everything = pool(pairs, config.truth)
    per_epoch = steps_an_epoch(config, len(pairs), config.truth)
    loss = WARM_UPS[config.loss]

    def loss_at(step):
        epoch, i = divmod(step, per_epoch)
        total = 0
        for k, network in enumerate(both):
            chosen = draw(everything, config.batch, [seed, epoch, k, 0], i)
            total = total + loss(pairs.look(network, chosen), config)
        return total

    optimizer = torch.optim.Adam(both.parameters(), lr=config.learning_rate)
    steady = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1.0)
    total = per_epoch * config.warm_up_epochs
    label = f"warm-up, {config.loss}, noise {config.noise:g}, seed {seed}"

    some = looked_at(len(dataset.splits["dev"]))

    def dev_at(step):
        scores = similarities(both, vocabulary, dataset, feature_run, config, "dev", some)
        return retrieval.evaluate(scores, dataset.captions_per_image).rsum

    outcome = training.fit(
        both, optimizer, steady, total, loss_at, folder, label, config.clip, dev_at
    )
    samples = total * min(config.batch, len(everything))
    return training.save(both, outcome, folder) | {"samples": samples}


def pool(pairs: Pairs, truth: bool) -> np.ndarray:
    """The pairs that training draws from: all, or those that are clean in truth.

    ValueError for fewer than two.
    """
    found = np.flatnonzero(~pairs.noisy) if truth else np.arange(len(pairs))
    if len(found) < 2:
        raise ValueError(f"{len(found)} of {len(pairs)} pairs to train on; it takes at least two")
    return found


# --- The frame -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Method:
    """What tells methods apart.

    Attributes
    ----------
    warm_up : the loss of any pairs before there is a division, one of `WARM_UPS`.
    train : (step) → loss of one network's batch, labels corrected.
    divide : (looks, N, config, record) → p(clean) `(N,) float` and a problem or "", by the
        `Pairs.looks` of one network, or by what it left in its `record`; None: no division.
    parts : whether a batch has two parts, clean pairs and noisy ones.
    truth : train on the pairs that are clean in truth, and on no others: a bound.
    decay : the learning rate's factor at a step: (step, steps) → float.
    record : numbers a pair that the method keeps from step to step.
    """

    warm_up: str
    train: Callable
    divide: Callable | None = None
    parts: bool = False
    truth: bool = False
    decay: Callable = lambda step, steps: 0.1 if 4 * step >= 3 * steps else 1.0  # 30 of 40 [X]
    record: int = 0


class Pair(nn.Module):
    """Two networks, and what is known of the N pairs: all that a checkpoint has to hold.

    `posterior` p(clean), `labels` as last corrected (NaN: never), both (2, N), a row a network;
    `record` (2, R, N); `dev` RSUM by epoch; `seconds` by phase; `samples` that both trained on.
    """

    def __init__(self, networks: list, n: int, record: int, epochs: int):
        super().__init__()
        self.networks = nn.ModuleList(networks)
        for name, value in dict(
            posterior=torch.ones(2, n),
            labels=torch.full((2, n), torch.nan),
            record=torch.full((2, record, n), torch.nan),
            dev=torch.full((epochs,), torch.nan),
            seconds=torch.zeros(len(PHASES), dtype=torch.float64),
            samples=torch.zeros((), dtype=torch.int64),
        ).items():
            self.register_buffer(name, value)


class Clock:
    """Seconds of each phase, added up in a tensor."""

    def __init__(self, seconds: torch.Tensor):
        self.seconds, self.phase, self.since = seconds, None, time.perf_counter()

    def turn(self, phase: str | None) -> None:
        """What follows is that phase."""
        now = time.perf_counter()
        if self.phase:
            self.seconds[PHASES.index(self.phase)] += now - self.since
        self.phase, self.since = phase, now


@dataclass(frozen=True)
class Step:
    """One network's training step: `number` 0 or 1, its `clean` and `noisy` pairs.

    A method whose batches have one part finds all in `clean`. `late`: in the second half of the
    steps. `judge` is the number of the network whose division counts.
    """

    config: Config
    number: int
    judge: int
    pair: Pair
    pairs: Pairs
    clean: np.ndarray
    noisy: np.ndarray
    late: bool
    clock: Clock

    @property
    def network(self):
        return self.pair.networks[self.number]

    @property
    def peer(self):
        return self.pair.networks[1 - self.number]

    @property
    def record(self):
        return self.pair.record[self.number]

    def rows(self) -> np.ndarray:
        """All pairs of the step, clean ones first."""
        return np.concatenate((self.clean, self.noisy))

    def look(self, chosen: np.ndarray) -> Look:
        """What the network makes of some pairs, for training: they count as samples."""
        self.pair.samples += len(chosen)
        return self.pairs.look(self.network, chosen)

    def glance(self, network: nn.Module, chosen: np.ndarray) -> Look:
        return self.pairs.glance(network, chosen)

    def posterior(self, chosen: np.ndarray) -> torch.Tensor:
        """p(clean) of some pairs, by the division that counts."""
        device = next(self.network.parameters()).device
        return self.pair.posterior[self.judge, chosen].to(device)

    @contextlib.contextmanager
    def correcting(self):
        """Without gradient, and on the correction's clock."""
        self.clock.turn("correction")
        with torch.no_grad():
            yield
        self.clock.turn("training")

    def note(self, chosen: np.ndarray, labels: torch.Tensor) -> None:
        """Keep corrected labels."""
        self.pair.labels[self.number, chosen] = labels.detach().float().cpu()


@dataclass(frozen=True)
class GivenNoise:
    """A noise index that came as a file (`datasets.noise_index.read`), as an input of runs."""

    index: np.ndarray

    @property
    def key(self) -> str:
        return hashlib.sha256(np.ascontiguousarray(self.index, np.int64).tobytes()).hexdigest()

    def array(self, name: str) -> np.ndarray:
        return {"index": self.index}[name]


def gather(config: Config, dataset, feature_run, vocabulary, given=None) -> Pairs:
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
        raise ValueError(f"{images} {split} images asked for, there are {len(rows)}")
    return rows[:images] if images else rows


def build(config: Config, dataset, feature_run, base_run=None, home=None, *_):
    """Two untrained networks and their vocabulary; word vectors as CHAN's."""
    vectors, vocabulary = start_vectors(dataset, base_run, home)
    width = feature_run.metrics["width"]
    networks = [
        backbone.build(
            config.similarity,
            width,
            vectors,
            dim=config.dim,
            sim_dim=config.sim_dim,
            regions=config.regions,
        )
        for _ in range(2)
    ]
    return networks, vocabulary


VECTORS = {}  # by base model and the data set it was trained on: reading one takes seconds


def start_vectors(dataset, base_run=None, home=None):
    """`word_vectors`; those of a base model are read once a process, without a random number of the
    run's.
    """
    if base_run is None:
        return word_vectors(dataset)
    key = base_run.key, (home or dataset).fingerprint
    if key not in VECTORS:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            VECTORS[key] = word_vectors(dataset, base_run, home)
    return VECTORS[key]


def fit(method: Method, config: Config, inputs, seed: int, folder: Path, device: str) -> dict:
    """Train two networks by a method and measure them: the `compute` of every arm.

    A tuning seed is measured on dev, a reporting seed on test. Inputs: see `Inputs`.

    Returns
    -------
    dict: recalls of the better epoch's networks; what `identification` says of the last epoch's
    division; "division AUC" and "label AUC", the share of (clean, noisy) couples in which the clean
    pair has the larger mean p(clean) or label, over all pairs or those `labelled`; the seconds of
    each of `PHASES`; the pairs a network trained on. What the noise leaves undefined is missing.
    `folder` gets the weights, `index` (N,), `posterior` and `labels` (2, N), in `dev` RSUM after
    each epoch, and `problems.json`: what the mixtures complained of.
    """
    dataset, feature_run, base_run, home, given = Inputs(*inputs)
    warmed = {"steps": 0, "training seconds": 0.0, "samples": 0}
    if config.warm_up_epochs:
        start = runs.get(warm_up_of(method, config), seed, inputs, device=device)
        warmed = start.metrics
    torch.set_num_threads(1)
    torch.manual_seed(seed)  # after the warm-up: where it isn't stored yet, it draws numbers too
    networks, vocabulary = build(config, dataset, feature_run, base_run, home)
    pairs = gather(config, dataset, feature_run, vocabulary, given)
    everything = pool(pairs, method.truth)
    for network in networks:
        network.to(device)
    pair = Pair(networks, len(pairs), method.record, config.epochs)
    if config.warm_up_epochs:
        pair.networks.load_state_dict(start.weights())
    clock, problems = Clock(pair.seconds), _Problems(folder / "problems.json")
    per_epoch = steps_an_epoch(config, len(pairs), method.truth, method.parts)
    total = per_epoch * config.epochs

    def measure(split, images):
        return similarities(pair.networks, vocabulary, dataset, feature_run, config, split, images)

    def validate(step):
        clock.turn("dev")
        epoch = step // per_epoch - 1
        found = retrieval.evaluate(measure("dev", config.dev_images), dataset.captions_per_image)
        known = pair.dev[:epoch]
        pair.dev[epoch] = found.rsum
        if epoch == 0 or found.rsum > known.max():
            training.keep(pair.networks.state_dict(), folder / "checkpoint.best.pt")
        return found.rsum

    def divide(epoch):
        clock.turn("division")
        for k, network in enumerate(pair.networks):
            looks = pairs.looks(network, config.batch, seed, config.warm_up_epochs + epoch)
            p, problem = method.divide(looks, len(pairs), config, pair.record[k])
            pair.posterior[k] = torch.as_tensor(p, dtype=torch.float32)
            problems.add(f"epoch {epoch + 1}, network {'AB'[k]}", problem)

    def one(k, epoch, i):
        """The loss of network k."""
        judge = 1 - k if config.split == "peer" else k
        clean, noisy = everything, everything[:0]
        if method.parts:
            likely = pair.posterior[judge].numpy() > config.delta
            clean, noisy = np.flatnonzero(likely), np.flatnonzero(~likely)
            if len(clean) < 2:
                problems.add(
                    f"epoch {epoch + 1}, network {'AB'[judge]}, clean pairs",
                    f"{len(clean)} of {len(pairs)} pairs are clean: all are taken for it",
                )
                clean, noisy = everything, everything[:0]
            noisy = noisy if len(noisy) > 1 else noisy[:0]  # one alone can't be normalised
        chosen = [
            draw(part, config.batch, [seed, config.warm_up_epochs + epoch, k, j], i)
            for j, part in enumerate((clean, noisy))
        ]
        late = 2 * (epoch * per_epoch + i) >= total
        return method.train(Step(config, k, judge, pair, pairs, *chosen, late, clock))

    def loss_at(step):
        epoch, i = divmod(step, per_epoch)
        if i == 0 and method.divide:
            divide(epoch)
        clock.turn("training")
        return one(0, epoch, i) + one(1, epoch, i)

    def factor(step):
        return config.after * method.decay(step, total)

    optimizer = torch.optim.Adam(pair.networks.parameters(), lr=config.learning_rate)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, factor)
    label = f"{config.method}, noise {config.noise:g}, seed {seed}"
    ends = range(per_epoch, total + 1, per_epoch)
    outcome = training.fit(
        pair, optimizer, schedule, total, loss_at, folder, label, config.clip, validate, ends
    )
    clock.turn("test")
    best = torch.load(folder / "checkpoint.best.pt", weights_only=True, map_location=device)
    pair.networks.load_state_dict(best)
    split = "dev" if seed >= TUNING_SEED else "test"
    scores = measure(split, config.dev_images if split == "dev" else config.test_images)
    each = dataset.captions_per_image
    found = retrieval.evaluate(scores, each).named(split)
    if split == "test":
        for way, ranks in zip(("i2t", "t2i"), retrieval.ranks(scores, each)):
            np.save(folder / f"ranks_{way}.npy", ranks.astype(np.int32))
    clock.turn(None)
    for name in ("posterior", "labels"):
        np.save(folder / f"{name}.npy", getattr(pair, name).numpy())
    np.save(folder / "index.npy", pairs.index)
    found |= {f"{phase} seconds": round(float(s), 3) for phase, s in zip(PHASES, pair.seconds)}
    told = training.save(pair.networks, outcome, folder) | found
    told |= {
        "best epoch": int(pair.dev.argmax()) + 1,
        "warm-up steps": warmed["steps"],
        "warm-up seconds": warmed["training seconds"],
        "samples": int(pair.samples) // 2 + warmed["samples"],
        "noise rate": float(pairs.noisy.mean()),
        "problems": len(problems.known),
    }
    known = division(pair, pairs.noisy, config.delta, bool(method.divide))
    asked = {name: known["labelled"] if name == "label AUC" else len(pairs) for name in known}
    asked.pop("labelled", None)
    return told | known | {"asked": asked, "asked of": "train", "how": HOW}


def steps_an_epoch(config, n: int, truth: bool, parts: bool = False) -> int:
    """Steps of an epoch over n pairs, at least one; see `Config`.

    >>> config = Config(noise=0.4, batch=10)
    >>> steps_an_epoch(config, 100, truth=False), steps_an_epoch(config, 100, False, parts=True)
    (10, 6)
    """
    used = n - int(config.noise * n) if truth or parts else n
    return config.epoch_steps or max(1, used // config.batch)


class _Problems:
    """Complaints by place, kept in a file so that a resumed run still knows them."""

    def __init__(self, path: Path):
        self.path = path
        self.known = json.loads(path.read_text()) if path.exists() else {}

    def add(self, place: str, problem: str) -> None:
        if problem and self.known.get(place) != problem:
            self.known[place] = problem
            durable.write(self.path, json.dumps(self.known, indent=1))
            warnings.warn(f"{place}: {problem}", stacklevel=2)


@torch.no_grad()
def similarities(networks, vocabulary, dataset, feature_run, config, split: str, images: int = 0):
    """Mean score of the networks, of a split's first images (0: all) with their captions:
    `(n, each·n) float` on the CPU [X]."""
    rows = _first(dataset, split, images)
    captions = dataset.captions_of(split)[: dataset.captions_per_image * len(rows)]
    ids, lengths = vocabulary.encode(captions)
    stored, total = feature_run.array("features"), 0
    for k, network in enumerate(networks):
        device, was = next(network.parameters()).device, network.training
        network.eval()
        words = network.encode_captions(ids.to(device), lengths)
        parts = []
        for start in range(0, len(rows), IMAGES):
            raw = region_features.batch(stored, rows[start : start + IMAGES], config.regions).to(
                device
            )
            parts.append(network.similarity(network.encode_images(raw), words).cpu())
            progress.show(
                f"comparing with the {split} captions",
                k * len(rows) + start + len(raw),
                len(networks) * len(rows),
            )
        total = total + torch.cat(parts)
        network.train(was)
    return total / len(networks)


def load(run, *inputs):
    """The two trained networks of a run, in evaluation mode, and their vocabulary."""
    config = Config(**{name: run.config[name] for name in Config.__dataclass_fields__})
    networks, vocabulary = build(config, *inputs)
    both = nn.ModuleList(networks)
    both.load_state_dict(run.weights())
    return both.eval(), vocabulary


# --- How well the noise was found ----------------------------------------------------------------


def auc(values: np.ndarray, clean: np.ndarray) -> float:
    """Share of couples of a clean and a noisy pair in which the clean one has the larger value.

    A tie counts a half. NaN if all pairs are clean, or none.

    >>> auc(np.array([0.9, 0.5, 0.5]), np.array([True, True, False]))
    0.75
    """
    n, m = clean.sum(), (~clean).sum()
    if not n or not m:
        return float("nan")
    return float((rankdata(values)[clean].sum() - n * (n + 1) / 2) / (n * m))


def identification(posterior: np.ndarray, noisy: np.ndarray, delta: float) -> dict:
    """Precision and recall of finding noisy pairs, and clean ones, in percent.

    `posterior` p(clean) `(2, N)`, of networks A and B: by each alone and by their mean a pair is
    noisy if p ≤ δ. What would divide by zero is missing.

    >>> p = np.array([[0.9, 0.1, 0.2], [0.9, 0.1, 0.9]])
    >>> found = identification(p, np.array([False, True, True]), 0.5)
    >>> found["A noisy recall"], found["mean noisy recall"], found["mean clean precision"]
    (100.0, 50.0, 50.0)
    """
    found = {}
    for who, p in (("A", posterior[0]), ("B", posterior[1]), ("mean", posterior.mean(0))):
        for kind, said, true in (("noisy", p <= delta, noisy), ("clean", p > delta, ~noisy)):
            right = (said & true).sum()
            for name, of in (("precision", said.sum()), ("recall", true.sum())):
                if of:
                    found[f"{who} {kind} {name}"] = float(100 * right / of)
    return found


def division(pair: Pair, noisy: np.ndarray, delta: float, divided: bool) -> dict:
    """What a finished run knows about the noise; see `fit`."""
    posterior, labels, clean = pair.posterior.numpy(), pair.labels.numpy(), ~noisy
    told = identification(posterior, noisy, delta) if divided else {}
    if divided:
        told["division AUC"] = auc(posterior.mean(0), clean)
    known = ~np.isnan(labels).all(0)
    if known.any():
        times = (~np.isnan(labels)).sum(0).clip(min=1)
        told |= {
            "label AUC": auc((np.nansum(labels, axis=0) / times)[known], clean[known]),
            "labelled": int(known.sum()),
        }
    return {name: value for name, value in told.items() if not np.isnan(value)}


# --- Divisions -----------------------------------------------------------------------------------


def posterior(mixture, values: np.ndarray) -> tuple[np.ndarray, str]:
    """p(clean) `(N,)` by a mixture over losses, and its problem or ""."""
    return mixture.fit(values).posterior(values), mixture.problem


def by_mean_violation(mixture, looks, n: int, config: Config, record) -> tuple[np.ndarray, str]:
    """NCR's and BiCro's division: a mixture over mean violations [X]."""
    found = np.empty(n)
    for chosen, look in looks:
        found[chosen] = mean_violation(look, config.margin).cpu()
    return posterior(mixture(), found)


# --- NCR -----------------------------------------------------------------------------------------


def all_violations(look: Look, config: Config) -> torch.Tensor:
    """NCR's warm-up: mean violations, not the hardest negatives [X]."""
    return mean_violation(look, config.margin).mean()


def predicted(look: Look, margin: float) -> torch.Tensor:
    """NCR's p of each pair, `(B,)` in [0, 1]: clip(α − half its mean violations, 0, α), over the
    mean of its largest values, those of B // 10 + 1 pairs [X].
    """
    p = (margin - mean_violation(look, margin) / 2).clamp(0, margin)
    most = p.topk(len(p) // 10 + 1).values.mean()
    return (p / most.clamp(min=torch.finfo(p.dtype).tiny)).clamp(max=1)


def ncr(step: Step) -> torch.Tensor:
    """y = w + (1 − w) p for a clean pair, w its p(clean); (p_A + p_B) / 2 for a noisy one.

    Noisy pairs train in the second half of the epochs, and only then are they predicted; each part
    is scored by itself [X].
    """
    margin, parts = step.config.margin, [step.clean]
    with step.correcting():
        w = step.posterior(step.clean)
        labels = [w + (1 - w) * predicted(step.glance(step.network, step.clean), margin)]
        if step.late and len(step.noisy):
            parts.append(step.noisy)
            p = [predicted(step.glance(each, step.noisy), margin) for each in step.pair.networks]
            labels.append(sum(p) / 2)
    return trained_with(step, parts, labels)


def trained_with(step: Step, parts: list, labels: list) -> torch.Tensor:
    """Hardest negatives with soft margins within each part; the sum of the parts' means."""
    total = 0
    for chosen, y in zip(parts, labels):
        step.note(chosen, y)
        total = total + hardest(step.look(chosen), soft_margin(y, step.config.margin)).mean()
    return total


# --- BiCro ---------------------------------------------------------------------------------------


def smallest(look: Look, config: Config, share: float = 0.3) -> torch.Tensor:
    """BiCro's warm-up: the mean violations of the 30 % of pairs that have the smallest [X]."""
    violations = mean_violation(look, config.margin)
    return violations.topk(max(1, int(share * len(violations))), largest=False).values.mean()


def agreement(look: Look, anchors: Look) -> torch.Tensor:
    """Bidirectional cross-modal similarity consistency: `(B,)` in (0, 1].

    For the anchor that is nearest by images, the ratio of both modalities' cosines, the smaller by
    the larger; likewise for the nearest by captions; the mean of both [X]. Cosines are at least
    1e-3 [A].
    """
    images = (look.images @ anchors.images.T).clamp(min=1e-3)
    captions = (look.captions @ anchors.captions.T).clamp(min=1e-3)
    halves = []
    for near, other in ((images, captions), (captions, images)):
        value, index = near.max(1)
        ratio = value / other.gather(1, index[:, None]).squeeze(1)
        halves.append(torch.minimum(ratio, 1 / ratio))
    return sum(halves) / 2


def bicro(step: Step) -> torch.Tensor:
    """Labels by `agreement` with the best B // 10 + 1 clean pairs of the batch, in the peer's eyes.

    Clean pairs have y = ½ + ½ agreement, which is 1 for those best ones; noisy ones the agreement,
    or 0 up to ½. Noisy pairs train in the second half of the epochs [X].
    """
    margin, parts = step.config.margin, [step.clean]
    with step.correcting():
        seen = step.glance(step.peer, step.clean)
        best = predicted(seen, margin).topk(len(step.clean) // 10 + 1).indices
        anchors = seen._replace(images=seen.images[best], captions=seen.captions[best])
        labels = [0.5 + agreement(seen, anchors) / 2]
        if step.late and len(step.noisy):
            parts.append(step.noisy)
            y = agreement(step.glance(step.peer, step.noisy), anchors)
            labels.append(y * (y > 0.5))
    return trained_with(step, parts, labels)


# --- GSC -----------------------------------------------------------------------------------------

TEMPERATURE, GAMMA, BETA = 0.07, 0.01, 0.7  # τ, γ, β [X]
PREDICTION, STRUCTURE, MEAN_PREDICTION, MEAN_CLEAN = range(4)  # rows of GSC's record


def both_ways(look: Look, config: Config) -> torch.Tensor:
    """InfoNCE at τ = 0.07, both directions: GSC with all targets 1."""
    logits = look.scores / TEMPERATURE
    return (contrast(logits, look.image_ids) + contrast(logits.T, look.image_ids)).mean() / 2


def gsc(step: Step) -> torch.Tensor:
    """InfoNCE plus γ · InfoNCE on the structures, each pair's weighed by its target [X].

    A pair's structure is the row of its similarities to all of the batch within a modality, each
    times the other pair's target; a target is the smaller of two moving averages, of the prediction
    and of p(clean). The code has these similarities from the graph network; ours are cosines [A].
    The code trains one network, without warm-up; here there are two, each by its own record [A].
    """
    chosen, record = step.clean, step.record
    look = step.look(chosen)
    with step.correcting():
        targets = targets_of(record)[chosen].to(look.scores.device)
    step.note(chosen, targets)
    logits = look.scores / TEMPERATURE
    ways = [contrast(each, look.image_ids) for each in (logits, logits.T)]
    images = look.images @ look.images.T * targets
    captions = look.captions @ look.captions.T * targets
    apart = contrast(images @ captions.T, look.image_ids)
    with torch.no_grad():
        record[PREDICTION, chosen] = ((-ways[0]).exp() + (-ways[1]).exp()).cpu() / 2
        record[STRUCTURE, chosen] = F.cosine_similarity(images, captions, dim=1).cpu()
    return (targets * sum(ways) / 2).mean() + GAMMA * (targets * apart).mean()


def targets_of(record: torch.Tensor) -> torch.Tensor:
    """GSC's targets `(N,)`: 1 until something is known [X]."""
    return torch.minimum(record[MEAN_PREDICTION], record[MEAN_CLEAN]).nan_to_num(1.0)


def by_structure(looks, n: int, config: Config, record: torch.Tensor) -> tuple[np.ndarray, str]:
    """GSC's division: normal distributions over the cosine of a pair's structures, as the last
    epoch left it, and the moving averages, new = β · now + (1 − β) · old, from 1 on [X]. Pairs that
    were never trained on count as clean."""
    seen = ~record[STRUCTURE].isnan()
    p, problem = np.ones(n), ""
    if seen.any():
        cosine = record[STRUCTURE][seen].double().numpy()
        p[seen.numpy()], problem = posterior(mixtures.GaussianMixture(), 1 - cosine)
    for mean, now in ((MEAN_PREDICTION, record[PREDICTION]), (MEAN_CLEAN, torch.as_tensor(p))):
        old = record[mean].nan_to_num(1.0)
        record[mean] = torch.where(seen, BETA * now.float() + (1 - BETA) * old, old)
    return p, problem


# --- Bounds --------------------------------------------------------------------------------------


def plain(step: Step) -> torch.Tensor:
    """The hardest negatives of pairs that all count as clean; mean violations as warm-up [A]."""
    return hardest(step.look(step.clean), step.config.margin).mean()


def plain_mean(step: Step) -> torch.Tensor:
    """Mean violations of pairs that all count as clean: slower, and less easily misled."""
    return all_violations(step.look(step.clean), step.config)


def hardest_mean(look: Look, config: Config) -> torch.Tensor:
    """L_w of GSL's line 1: the hardest negatives from the start [S]."""
    return hardest(look, config.margin).mean()


WARM_UPS = {
    "mean": all_violations,
    "smallest": smallest,
    "contrast": both_ways,
    "hardest": hardest_mean,
}
METHODS = {
    "ncr": Method("mean", ncr, partial(by_mean_violation, mixtures.GaussianMixture), parts=True),
    "bicro": Method(
        "smallest", bicro, partial(by_mean_violation, mixtures.BetaMixture), parts=True
    ),
    "gsc": Method(
        "contrast",
        gsc,
        by_structure,
        record=4,
        decay=lambda step, steps: 0.2 ** (4 * step // steps),
    ),  # every 15 of 60 [X]
    "hardest": Method("mean", plain),
    "mean": Method("mean", plain_mean),
    "clean": Method("mean", plain, truth=True),
}


def compute(config: Config, inputs, seed: int, folder: Path, device: str) -> dict:
    """Train one arm of a rival or bound; ValueError for an unknown method."""
    if config.method not in METHODS:
        raise ValueError(f"unknown method {config.method!r}; known: {', '.join(METHODS)}")
    return fit(METHODS[config.method], config, inputs, seed, folder, device)
