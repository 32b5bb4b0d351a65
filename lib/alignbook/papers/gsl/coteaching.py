"""Learning with noisy correspondence by co-teaching: the frame that GSL and its rivals share.

Some training captions are attached to wrong images (`noise`). Two networks (`core.sgraf`) warm up
on all pairs (`warm_up`). Then, each epoch, a mixture over what each network finds of the pairs
divides these into clean and noisy (`mixtures`), labels are corrected, and the networks train, each
on the other's division. The epoch is chosen on dev, the warm-up among them [A], and the mean of both
networks' scores counts.

In order: what tells methods apart, a step of one network, an epoch of both, the run. Tags are those
of docs/README.md; [X] here is the rivals' public code. The rivals are in `rivals`, GSL itself is in
`model`.
"""

import contextlib
import json
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from torch import nn

from alignbook.core import retrieval, training
from alignbook.core.protocol import TUNING_SEED
from alignbook.papers.gsl.identification import COURSE, course, division
from alignbook.papers.gsl.noisy_pairs import (
    Bank,
    Inputs,
    Look,
    Pairs,
    draw,
    gather,
    pool,
    spread,
    steps_an_epoch,
)
from alignbook.papers.gsl.two_networks import PHASES, Pair, build, similarities
from alignbook.papers.gsl.warm_up import WARM_UPS, warm_up_of
from alignbook.store import durable, ranks, runs

SPLITS = ("peer", "own")
HOW = "training pairs; what is noisy is known, and used for this alone"


@dataclass(frozen=True)
class Config:
    """One arm: a method, the noise, the networks and the schedule that all methods share.

    Adam has no weight decay and is new after the warm-up [A]. Both networks take a step at once, not
    in turn an epoch each [A].
    """

    method: str = "ncr"  # "gsl", or one of `rivals.METHODS` [S]
    noise: float = 0.4  # share of the captions that are picked to move to another image [S]
    noise_seed: int = 0  # picks them: the same for every method and seed [A]
    similarity: str = "sgr"  # the networks: graph reasoning, or "saf": filtration alone [X]
    regions: int = 36  # of an image [X]
    dim: int = 128  # width of regions and words [A]
    sim_dim: int = 32  # width of similarity vectors [A]
    margin: float = 0.2  # α [N]
    delta: float = 0.5  # δ: a pair is clean whose p(clean) is above [S]
    split: str = "peer"  # whose division a network trains on: the other's [X], or its "own"
    warm_up: str = ""  # one of `WARM_UPS` for all methods [A], or the method's own
    batch: int = 32  # pairs; of a method whose batches have two parts, of each part [X]
    learning_rate: float = 1e-3  # of Adam, in the warm-up [A]
    # At a high one the hardest negatives of noisy pairs undo what mean violations taught.
    after: float = 1.0  # share of the learning rate that is left after the warm-up [A]
    clip: float = 2.0  # largest norm of both networks' gradient together [A]
    warm_up_epochs: int = 1  # of all pairs [A]
    epochs: int = 4  # after the warm-up [A]
    # As in the public code: over the clean pairs, by the noise rate, where batches have two parts.
    epoch_steps: int = 0  # steps of an epoch [A], or 0: a pass over the pairs [X]
    images: int = 0  # the first so many training images, or 0: all [A]
    dev_images: int = 0  # likewise those of dev that are measured [A]
    test_images: int = 0  # and those of test [A]

    @property
    def together(self) -> bool:
        """Whether several ranks train it: SAF's running statistics would see a rank's captions only."""
        return self.similarity != "saf"

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


# --- What tells methods apart --------------------------------------------------------------------


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
    bank : (config) → of how many clean pairs at most it keeps the vectors from one division to the
        next.
    """

    warm_up: str
    train: Callable
    divide: Callable | None = None
    parts: bool = False
    truth: bool = False
    decay: Callable = lambda step, steps: 0.1 if 4 * step >= 3 * steps else 1.0  # 30 of 40 [X]
    record: int = 0
    bank: Callable = lambda config: 0


def posterior(mixture, values: np.ndarray) -> tuple[np.ndarray, str]:
    """p(clean) `(N,)` by a mixture over losses, and its problem or ""."""
    return mixture.fit(values).posterior(values), mixture.problem


# --- A step of one network -----------------------------------------------------------------------


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
    mixed: bool = False  # the network's scores are mixed; no labels and no samples are kept
    told: list = field(default_factory=list)  # the loss of the clean pairs alone

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
        if self.mixed:
            return self.pairs.look(self.network, chosen).mixed()
        self.pair.samples += len(chosen)
        return self.pairs.look(self.network, chosen)

    def glance(self, network: nn.Module, chosen: np.ndarray) -> Look:
        return self.pairs.glance(network, chosen)

    def bank(self, chosen: np.ndarray) -> Bank | None:
        """The clean pairs that those chosen may have for anchors, None where none are kept."""
        kept = self.pair.kept(self.number)
        return None if kept is None else kept.of(chosen)

    def tell(self, loss: torch.Tensor) -> None:
        """The loss of the clean pairs alone: its curve says whether a network learns. Noisy pairs
        cost more the better it knows them.
        """
        self.told.append(loss.detach())

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
        if not self.mixed:
            self.pair.labels[self.number, chosen] = labels.detach().float().cpu()


# --- An epoch of both ----------------------------------------------------------------------------


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


def fill_bank(pair: Pair, k: int, pairs: Pairs, clean: np.ndarray) -> None:
    """Keep what network k makes of clean pairs now, of as many as its bank has room for."""
    rows = spread(clean, pair.bank_rows.shape[1])
    pair.keep(k, rows, pairs.pooled(pair.networks[k], rows))


class Lessons:
    """Two networks and their pairs: divided each epoch, learnt from at each step, tried on dev.

    `per_epoch` steps make an epoch, `total` the training. The order of the methods is that of
    Algorithm 1, with peers: network A learns on the division of network B.
    """

    def __init__(self, method: Method, config: Config, inputs: Inputs, seed: int, folder: Path):
        self.method, self.config, self.seed, self.folder = method, config, seed, folder
        self.dataset, self.features, base_run, home, given = inputs
        networks, self.vocabulary = build(config, self.dataset, self.features, base_run, home)
        self.pairs = gather(config, self.dataset, self.features, self.vocabulary, given)
        self.everything = pool(self.pairs, method.truth)
        n, bank = len(self.pairs), (min(method.bank(config), len(self.pairs)), config.dim)
        self.per_epoch = steps_an_epoch(config, n, method.truth, method.parts)
        if not config.after:  # nothing is learnt after the warm-up: a step tells the loss
            self.per_epoch = 1
        self.total = self.per_epoch * config.epochs
        self.pair = Pair(networks, n, method.record, config.epochs, self.total, bank)
        told = torch.full((config.epochs + 1, len(COURSE)), torch.nan, dtype=torch.float64)
        self.pair.register_buffer("course", told)  # by epoch, the warm-up's first
        self.clock, self.problems = Clock(self.pair.seconds), _Problems(folder / "problems.json")

    def descent(self) -> training.Descent:
        """Adam anew after the warm-up, at a rate that falls as the method has it."""
        networks, rate = self.pair.networks.parameters(), self.config.learning_rate
        optimizer = torch.optim.Adam(networks, lr=rate, fused=True)
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, self.rate_at)
        return training.Descent(optimizer, schedule, self.total, self.config.clip)

    def rate_at(self, step: int) -> float:
        """The learning rate at a step, as a share of the warm-up's."""
        return self.config.after * self.method.decay(step, self.total)

    def loss_at(self, step: int) -> torch.Tensor:
        """The loss of both networks; with an epoch's first step the pairs are divided anew."""
        epoch, i = divmod(step, self.per_epoch)
        if i == 0 and self.method.divide:
            self.divide(epoch)
        self.clock.turn("training")
        (of_a, clean_of_a), (of_b, clean_of_b) = (self.losses(k, epoch, i) for k in range(2))
        self.pair.curve[step] = clean_of_a + clean_of_b
        return of_a + of_b

    def trivial_at(self, step: int) -> torch.Tensor:
        """What `Pair.curve` would be if scores were mixed, labels and margins as they are [A].

        Mixed, not equal: equal scores cost the margins alone, and among many negatives the hardest
        may cost more while a network ranks well. For equal scores both are the same.
        """
        epoch, i = divmod(step, self.per_epoch)
        return sum(self.losses(k, epoch, i, mixed=True)[1] for k in range(2))

    def divide(self, epoch: int) -> None:
        """p(clean) of all pairs, by what each network makes of them."""
        self.clock.turn("division")
        config, passed = self.config, self.config.warm_up_epochs + epoch
        for k, network in enumerate(self.pair.networks):
            looks = self.pairs.looks(network, config.batch, self.seed, passed)
            p, problem = self.method.divide(looks, len(self.pairs), config, self.pair.record[k])
            p, problem = ranks.told(lambda found=(p, problem): found)  # they draw the same pairs
            self.pair.posterior[k] = torch.as_tensor(p, dtype=torch.float32)
            self.problems.add(f"epoch {epoch + 1}, network {'AB'[k]}", problem)
        for k in range(2) if self.method.bank(config) else ():
            fill_bank(self.pair, k, self.pairs, self.parts(epoch, self.judge(k))[0])

    def judge(self, k: int) -> int:
        """Whose division network k trains on."""
        return 1 - k if self.config.split == "peer" else k

    def parts(self, epoch: int, judge: int) -> tuple[np.ndarray, np.ndarray]:
        """Clean pairs and noisy ones by the division of a network; all are clean without any."""
        if not self.method.parts:
            return self.everything, self.everything[:0]
        likely = self.pair.posterior[judge].numpy() > self.config.delta
        clean, noisy = np.flatnonzero(likely), np.flatnonzero(~likely)
        if len(clean) < 2:
            self.problems.add(
                f"epoch {epoch + 1}, network {'AB'[judge]}, clean pairs",
                f"{len(clean)} of {len(self.pairs)} pairs are clean: all are taken for it",
            )
            return self.everything, self.everything[:0]
        return clean, noisy if len(noisy) > 1 else noisy[:0]  # one alone can't be normalised

    def losses(self, k: int, epoch: int, i: int, mixed: bool = False) -> tuple:
        """The loss of network k on the i-th batch of an epoch, and that of its clean pairs alone,
        where the method tells it.
        """
        config, passed = self.config, self.config.warm_up_epochs + epoch
        judge = self.judge(k)
        chosen = [
            draw(part, config.batch, [self.seed, passed, k, j], i)
            for j, part in enumerate(self.parts(epoch, judge))
        ]
        late = 2 * (epoch * self.per_epoch + i) >= self.total
        step = Step(config, k, judge, self.pair, self.pairs, *chosen, late, self.clock, mixed)
        loss = self.method.train(step)
        return loss, step.told[0] if step.told else loss.detach()

    def validate(self, step: int) -> float:
        """RSUM on dev after an epoch, or before the first: the warm-up may be the best [A]."""
        self.clock.turn("dev")
        pair, each = self.pair, self.dataset.captions_per_image
        scores = self.compare("dev", self.config.dev_images)
        found = retrieval.evaluate(scores, each)
        divided = self.method.divide and step
        known = pair.posterior.numpy() if divided else None, pair.labels.numpy()
        told = course(*known, self.pairs.noisy, self.config.delta, scores, each)
        pair.dev[step // self.per_epoch] = found.rsum
        pair.course[step // self.per_epoch] = torch.from_numpy(told)
        return found.rsum

    def compare(self, split: str, images: int) -> torch.Tensor:
        """Mean score of both networks, of a split's first images with their captions."""
        given = self.vocabulary, self.dataset, self.features, self.config
        return similarities(self.pair.networks, *given, split, images)

    def test(self) -> dict:
        """Recalls of the networks: a tuning seed's on dev, others' on test."""
        self.clock.turn("test")
        config, each = self.config, self.dataset.captions_per_image
        split = "dev" if self.seed >= TUNING_SEED else "test"
        scores = self.compare(split, config.dev_images if split == "dev" else config.test_images)
        found = retrieval.evaluate(scores, each).named(split)
        if split == "test":
            for way, ranks in zip(("i2t", "t2i"), retrieval.ranks(scores, each)):
                np.save(self.folder / f"ranks_{way}.npy", ranks.astype(np.int32))
        self.clock.turn(None)
        return found

    def counted(self, warmed: dict) -> dict:
        """Epochs, steps, samples and problems, with those of the warm-up."""
        return {
            "best epoch": int(self.pair.dev.nan_to_num(-1).argmax()),  # 0: the warm-up
            "warm-up steps": warmed["steps"],
            "warm-up seconds": warmed["training seconds"],
            "samples": int(self.pair.samples) // 2 + warmed["samples"],
            "noise rate": float(self.pairs.noisy.mean()),
            "problems": len(self.problems.known),
        }

    def identified(self) -> dict:
        """What the last division and the labels say of the noise, and of how many pairs."""
        n, divides = len(self.pairs), bool(self.method.divide)
        known = division(self.pair, self.pairs.noisy, self.config.delta, divides)
        asked = {name: known["labelled"] if name == "label AUC" else n for name in known}
        asked.pop("labelled", None)
        return known | {"asked": asked, "asked of": "train", "how": HOW}


# --- The run -------------------------------------------------------------------------------------


def fit(method: Method, config: Config, inputs, seed: int, folder: Path, device: str) -> dict:
    """Train two networks by a method and measure them: the `compute` of every arm.

    A tuning seed is measured on dev, a reporting seed on test. Inputs: see `Inputs`.

    Returns
    -------
    dict: recalls of the best epoch's networks; what `identification` says of the last epoch's
    division; "division AUC" and "label AUC", the share of (clean, noisy) couples in which the clean
    pair has the larger mean p(clean) or label, over all pairs or those `labelled`; the seconds of
    each of `PHASES`; the pairs a network trained on. What the noise leaves undefined is missing.
    `folder` gets the weights, in `loss` that of both networks' clean pairs by step, `index` (N,),
    `posterior` and `labels` (2, N), in `dev` RSUM after the warm-up and after each epoch, in
    `course` what `identification.COURSE` names of each, and `problems.json`: what the mixtures
    complained of.
    """
    warmed = {"steps": 0, "training seconds": 0.0, "samples": 0}
    if config.warm_up_epochs:
        start = runs.get(warm_up_of(method, config), seed, inputs, device=device)
        warmed = start.metrics
    torch.set_num_threads(1)
    torch.manual_seed(seed)  # after the warm-up: where it isn't stored yet, it draws numbers too
    lessons = Lessons(method, config, Inputs(*inputs), seed, folder)
    pair = lessons.pair
    pair.networks.to(device)  # what is known of the pairs stays where it is
    if config.warm_up_epochs:
        pair.networks.load_state_dict(start.weights())
    label = f"{config.method}, noise {config.noise:g}, seed {seed}"
    first = 0 if config.warm_up_epochs else lessons.per_epoch
    ends = range(first, lessons.total + 1, lessons.per_epoch)
    outcome = training.fit(
        pair,
        lessons.descent(),
        lessons.loss_at,
        folder,
        label,
        lessons.validate,
        ends,
        lessons.trivial_at,
    )
    outcome["loss"] = pair.curve.tolist()
    found = training.take_best(pair.networks, outcome, part="networks.")
    found |= lessons.test()
    for name in ("posterior", "labels", "course"):
        np.save(folder / f"{name}.npy", getattr(pair, name).numpy())
    np.save(folder / "index.npy", lessons.pairs.index)
    found |= {f"{phase} seconds": round(float(s), 3) for phase, s in zip(PHASES, pair.seconds)}
    told = training.save(pair.networks, outcome, folder) | found
    return told | lessons.counted(warmed) | lessons.identified()
