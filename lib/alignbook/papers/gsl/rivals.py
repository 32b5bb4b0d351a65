"""GSL's rivals in the frame of co-teaching, and bounds.

NCR (NeurIPS 2021), BiCro (CVPR 2023), GSC (CVPR 2024): we hold none of the three papers, and follow
their public code [X]. Tags are those of docs/README.md. ESC and SPS cannot be rebuilt: no public
code was found.
"""

from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional as F

from alignbook.core.precision import product
from alignbook.papers.gsl import coteaching, mixtures
from alignbook.papers.gsl.coteaching import Method, Step, fit, posterior
from alignbook.papers.gsl.noisy_pairs import (
    TEMPERATURE,
    Inputs,
    Look,
    contrast,
    hardest,
    mean_violation,
    soft_margin,
)
from alignbook.papers.gsl.warm_up import all_violations

GAMMA, BETA = 0.01, 0.7  # γ, β of GSC [X]
PREDICTION, STRUCTURE, MEAN_PREDICTION, MEAN_CLEAN = range(4)  # rows of GSC's record


@dataclass(frozen=True)
class Config(coteaching.Config):
    """An arm of a rival, or of a bound: one of `METHODS`."""

    def compute(self, inputs: Inputs, seed: int, folder: Path, device: str) -> dict:
        """Train and measure it; ValueError for an unknown method."""
        if self.method not in METHODS:
            raise ValueError(f"unknown method {self.method!r}; known: {', '.join(METHODS)}")
        return fit(METHODS[self.method], self, inputs, seed, folder, device)


# --- Divisions ------------------------------------------------------------------------------------


def by_mean_violation(mixture, looks, n: int, config: Config, record) -> tuple[np.ndarray, str]:
    """NCR's and BiCro's division: a mixture over mean violations [X]."""
    found = np.empty(n)
    for chosen, look in looks:
        found[chosen] = mean_violation(look, config.margin).cpu()
    return posterior(mixture(), found)


# --- NCR ------------------------------------------------------------------------------------------


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
    """Hardest negatives with soft margins within each part, clean ones first; the sum of the parts'
    means.
    """
    found = []
    for chosen, y in zip(parts, labels):
        step.note(chosen, y)
        found.append(hardest(step.look(chosen), soft_margin(y, step.config.margin)).mean())
    step.tell(found[0])
    return sum(found)


# --- BiCro ----------------------------------------------------------------------------------------


def agreement(look: Look, anchors: Look) -> torch.Tensor:
    """Bidirectional cross-modal similarity consistency: `(B,)` in (0, 1].

    For the anchor that is nearest by images, the ratio of both modalities' cosines, the smaller by
    the larger; likewise for the nearest by captions; the mean of both [X]. Cosines are at least
    1e-3 [A].
    """
    images = product(look.images, anchors.images.T).clamp(min=1e-3)
    captions = product(look.captions, anchors.captions.T).clamp(min=1e-3)
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


# --- GSC ------------------------------------------------------------------------------------------


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
    images = product(look.images, look.images.T) * targets
    captions = product(look.captions, look.captions.T) * targets
    apart = contrast(product(images, captions.T), look.image_ids)
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


# --- Bounds ---------------------------------------------------------------------------------------


def plain(step: Step) -> torch.Tensor:
    """The hardest negatives of pairs that all count as clean; mean violations as warm-up [A]."""
    return hardest(step.look(step.clean), step.config.margin).mean()


def plain_mean(step: Step) -> torch.Tensor:
    """Mean violations of pairs that all count as clean: slower, and less easily misled."""
    return all_violations(step.look(step.clean), step.config)


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
