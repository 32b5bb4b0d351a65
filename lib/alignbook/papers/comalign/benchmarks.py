"""ComAlign on compositional benchmarks (its Table II): which of two captions fits a picture.

The choice is by Eq. 10, which ranks captions.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from alignbook.core import compositional
from alignbook.papers.comalign.components import vectors
from alignbook.papers.comalign.inference import frozen_of, weighted
from alignbook.papers.comalign.model import load

# What counts in ARO's means over kinds.
ARO = {
    "VG-Relation": dict(without=compositional.SYMMETRIC),
    "VG-Attribution": dict(least=compositional.LEAST_ATTRIBUTION),
}
PAIRS = 100  # pairs at a time: all-pairs similarities of which the diagonal is wanted


@dataclass(frozen=True)
class Config:
    """How accuracies are counted."""

    how: str = "a tie is wrong"  # what a run says of its counting [A]

    def compute(self, inputs, seed: int, folder: Path, device: str) -> dict:
        """What a run of it is: see `compute` below."""
        return compute(self, inputs, seed, folder, device)


def compute(config: Config, inputs, seed: int, folder: Path, device: str) -> dict:
    """Accuracies in percent of a run of `comalign`: of each benchmark, and by kind.

    The inputs are that run, the components it was trained on, and those of the probes.
    """
    head, source_run, probes = inputs
    torch.set_num_threads(1)
    model, frozen = load(head, source_run), frozen_of(head)
    table = pd.read_csv(probes.folder / "probes.csv")
    trim = model.config.masked
    images = vectors.images_of(probes, slice(None), trim)
    captions, phrases = probes.array("captions"), probes.array("phrases")
    right, wrong = (
        scores(
            model,
            frozen,
            images,
            vectors.of_captions(phrases, captions[:, k], probes.metrics["entities"], trim),
        )
        for k in (0, 1)
    )
    chosen = compositional.prefers(right, wrong)
    found, asked = {}, {}
    for name, rows in table.groupby("probe", sort=False).groups.items():
        more = scored(name, chosen[rows], table.kind[rows])
        found |= more
        asked |= dict.fromkeys(more, len(rows))
    kept = ("steps", "training seconds", "parameters", "checksum", "dev RSUM")
    return {name: head.metrics[name] for name in kept} | found | {"asked": asked, "head": head.key}


def scored(name: str, chosen, kinds) -> dict[str, float]:
    """A benchmark's number in percent, the first, and others: ARO's is a mean over kinds, those of
    SVO-Probes and SugarCrepe are means over items.

    Too few probes may leave none of ARO's kinds; then its number is the mean over items.
    """
    items = 100 * float(np.mean(chosen))
    if name not in ARO:
        own = compositional.by_kind(chosen, kinds)
        return {name: items} | {f"{name}, {kind}": value for kind, value in own.items()}
    try:
        mean = compositional.macro_average(chosen, kinds, **ARO[name])
    except ValueError:  # none is left
        mean = items
    return {name: mean, f"{name}, mean over items": items}


def part(h: vectors.Components, rows: slice) -> vectors.Components:
    return h._replace(vectors=h.vectors[rows], present=h.present[rows])


@torch.inference_mode()
def scores(model, frozen, images, captions) -> torch.Tensor:
    """Eq. 10 of picture i and caption i, `(P,) float`."""
    found = []
    for start in range(0, len(images.vectors), PAIRS):
        x, y = (part(h, slice(start, start + PAIRS)) for h in (images, captions))
        whole = x.vectors[:, 0] @ y.vectors[:, 0].T
        similarities = model.similarities(model.encode(x, "image"), model.encode(y, "text"))
        found.append(weighted(whole, similarities, frozen)[0].diagonal())
    return torch.cat(found)
