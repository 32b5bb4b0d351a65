"""Before any pair is told from another: two networks trained on all pairs (line 1 of Algorithm 1).

A warm-up is a run of its own, which all methods with the same loss, noise and networks begin with.
In order: the losses, and the run. Tags are those of docs/README.md; [X] here is the rivals' public
code.
"""

from dataclasses import dataclass, fields
from pathlib import Path

import torch
from torch import nn

from alignbook.core import retrieval, training
from alignbook.core.protocol import looked_at
from alignbook.papers.gsl.noisy_pairs import (
    TEMPERATURE,
    Inputs,
    Look,
    contrast,
    draw,
    gather,
    hardest,
    mean_violation,
    pool,
    steps_an_epoch,
)
from alignbook.papers.gsl.two_networks import build, similarities

# --- Losses --------------------------------------------------------------------------------------


def all_violations(look: Look, config) -> torch.Tensor:
    """NCR's: mean violations, not the hardest negatives [X]."""
    return mean_violation(look, config.margin).mean()


def smallest(look: Look, config, share: float = 0.3) -> torch.Tensor:
    """BiCro's: the mean violations of the 30 % of pairs that have the smallest [X]."""
    violations = mean_violation(look, config.margin)
    return violations.topk(max(1, int(share * len(violations))), largest=False).values.mean()


def both_ways(look: Look, config) -> torch.Tensor:
    """InfoNCE at τ = 0.07, both directions: GSC with all targets 1."""
    logits = look.scores / TEMPERATURE
    return (contrast(logits, look.image_ids) + contrast(logits.T, look.image_ids)).mean() / 2


def hardest_mean(look: Look, config) -> torch.Tensor:
    """L_w of GSL's line 1: the hardest negatives from the start [S]."""
    return hardest(look, config.margin).mean()


WARM_UPS = {
    "mean": all_violations,
    "smallest": smallest,
    "contrast": both_ways,
    "hardest": hardest_mean,
}


# --- The run -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class WarmUp:
    """Two networks trained with one of `WARM_UPS`, no pair told from another; see
    `coteaching.Config`.
    """

    loss: str  # one of `WARM_UPS`
    truth: bool  # whether on the pairs that are clean in truth alone
    noise: float  # share of the captions that are picked to move
    noise_seed: int  # picks them
    similarity: str  # of the networks
    regions: int  # of an image
    dim: int  # width of regions and words
    sim_dim: int  # width of similarity vectors
    margin: float  # α
    batch: int  # pairs
    learning_rate: float  # of Adam
    clip: float  # largest norm of both networks' gradient together
    warm_up_epochs: int  # all there are
    epoch_steps: int  # steps of an epoch, or 0: a pass over the pairs
    images: int  # the first so many training images, or 0: all

    @property
    def together(self) -> bool:
        """Whether several ranks train it, see `coteaching.Config`."""
        return self.similarity != "saf"

    def compute(self, inputs, seed: int, folder: Path, device: str) -> dict:
        """What a run of it is: see `warm` below."""
        return warm(self, inputs, seed, folder, device)


def warm_up_of(method, config) -> WarmUp:
    """The warm-up that the runs of a method begin with."""
    shared = {f.name: getattr(config, f.name) for f in fields(WarmUp) if hasattr(config, f.name)}
    return WarmUp(loss=config.warm_up or method.warm_up, truth=method.truth, **shared)


def warm(config: WarmUp, inputs, seed: int, folder: Path, device: str) -> dict:
    """Train two networks for the warm-up's epochs; inputs as those of `coteaching.fit`."""
    dataset, feature_run, base_run, home, given = Inputs(*inputs)
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    networks, vocabulary = build(config, dataset, feature_run, base_run, home)
    both = nn.ModuleList(networks).to(device)
    pairs = gather(config, dataset, feature_run, vocabulary, given)
    everything = pool(pairs, config.truth)
    per_epoch = steps_an_epoch(config, len(pairs), config.truth)
    loss = WARM_UPS[config.loss]

    def looks_at(step):
        epoch, i = divmod(step, per_epoch)
        for k, network in enumerate(both):
            yield pairs.look(network, draw(everything, config.batch, [seed, epoch, k, 0], i))

    def loss_at(step):
        return sum(loss(look, config) for look in looks_at(step))

    def trivial_at(step):
        return sum(loss(look.equal(), config) for look in looks_at(step))

    optimizer = torch.optim.Adam(both.parameters(), lr=config.learning_rate, fused=True)
    steady = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1.0)
    total = per_epoch * config.warm_up_epochs
    label = f"warm-up, {config.loss}, noise {config.noise:g}, seed {seed}"

    some = looked_at(len(dataset.splits["dev"]))

    def dev_at(step):
        scores = similarities(both, vocabulary, dataset, feature_run, config, "dev", some)
        return retrieval.evaluate(scores, dataset.captions_per_image).rsum

    descent = training.Descent(optimizer, steady, total, config.clip)
    outcome = training.fit(both, descent, loss_at, folder, label, dev_at, trivial_at=trivial_at)
    samples = total * min(config.batch, len(everything))
    return training.save(both, outcome, folder) | {"samples": samples}
