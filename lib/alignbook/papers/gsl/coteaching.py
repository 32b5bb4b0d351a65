"""Learning with noisy correspondence by co-teaching: the frame that GSL and its rivals share.

Some training captions are attached to wrong images (`noise`). Two networks (`backbone`) warm up on
all pairs, in a run of its own that methods with the same warm-up share. Then, each epoch, a mixture
over what each network finds of the pairs divides these into clean and noisy (`mixtures`), labels are
corrected, and the networks train, each on the other's division. The epoch is chosen on dev, and the
mean of both networks' scores counts.

In order: losses of pairs, warm-up, the frame. [X] is what the rivals' public code does, [A] our
assumption. The rivals are in `rivals`, GSL itself is in `model`.
"""

import contextlib
import json
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import nn

from alignbook.core import retrieval, training
from alignbook.core.protocol import TUNING_SEED, looked_at
from alignbook.datasets.prepared import Dataset
from alignbook.papers.gsl.identification import division
from alignbook.papers.gsl.noisy_pairs import (
    TEMPERATURE,
    GivenNoise,
    Look,
    Pairs,
    contrast,
    draw,
    gather,
    hardest,
    mean_violation,
)
from alignbook.papers.gsl.two_networks import PHASES, Pair, build, similarities
from alignbook.store import durable, runs
from alignbook.store.runs import Stored

SPLITS = ("peer", "own")
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


# --- What a network sees -------------------------------------------------------------------------


# --- Losses of pairs -----------------------------------------------------------------------------


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


# --- Divisions -----------------------------------------------------------------------------------


def posterior(mixture, values: np.ndarray) -> tuple[np.ndarray, str]:
    """p(clean) `(N,)` by a mixture over losses, and its problem or ""."""
    return mixture.fit(values).posterior(values), mixture.problem


# --- NCR -----------------------------------------------------------------------------------------


def all_violations(look: Look, config: Config) -> torch.Tensor:
    """NCR's warm-up: mean violations, not the hardest negatives [X]."""
    return mean_violation(look, config.margin).mean()


# --- BiCro ---------------------------------------------------------------------------------------


def smallest(look: Look, config: Config, share: float = 0.3) -> torch.Tensor:
    """BiCro's warm-up: the mean violations of the 30 % of pairs that have the smallest [X]."""
    violations = mean_violation(look, config.margin)
    return violations.topk(max(1, int(share * len(violations))), largest=False).values.mean()


# --- GSC -----------------------------------------------------------------------------------------


def both_ways(look: Look, config: Config) -> torch.Tensor:
    """InfoNCE at τ = 0.07, both directions: GSC with all targets 1."""
    logits = look.scores / TEMPERATURE
    return (contrast(logits, look.image_ids) + contrast(logits.T, look.image_ids)).mean() / 2


# --- Bounds --------------------------------------------------------------------------------------


def hardest_mean(look: Look, config: Config) -> torch.Tensor:
    """L_w of GSL's line 1: the hardest negatives from the start [S]."""
    return hardest(look, config.margin).mean()


WARM_UPS = {
    "mean": all_violations,
    "smallest": smallest,
    "contrast": both_ways,
    "hardest": hardest_mean,
}
