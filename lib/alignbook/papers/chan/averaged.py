"""Matchers that were trained apart as one: SGRAF is SGR and SAF, whose similarities are averaged [X]."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from alignbook.backbones.inputs import Inputs
from alignbook.core import retrieval
from alignbook.papers.chan import model, rivals
from alignbook.store.fingerprint import key


@dataclass(frozen=True)
class Config:
    """How the similarities of two runs become one."""

    similarity: str = "mean"  # of both [X]

    def compute(self, inputs, seed: int, folder: Path, device: str) -> dict:
        """What a run of it is: see `compute` below."""
        return compute(self, inputs, seed, folder, device)


def compute(config: Config, inputs, seed: int, folder: Path, device: str) -> dict:
    """Recalls on test of two runs of `rivals` together; nothing is trained. `folder` gets the ranks.

    The inputs are both runs, and what both started from.
    """
    torch.set_num_threads(1)
    parts, given = inputs[:2], Inputs(*inputs[2:])
    scores = sum(_scores(run, given, device) for run in parts) / len(parts)
    each = given.dataset.captions_per_image
    found = retrieval.evaluate(scores, each).named("test")
    for way, ranks in zip(("i2t", "t2i"), retrieval.ranks(scores, each)):
        np.save(folder / f"ranks_{way}.npy", ranks.astype(np.int32))
    if len(scores) % 5 == 0:  # COCO's "1K": five folds of a thousand images
        found |= retrieval.evaluate(scores, each, folds=5).named("test 1K")
    return found | {
        "steps": 0,
        "training seconds": 0.0,
        "parameters": sum(run.metrics["parameters"] for run in parts),
        "checksum": key(*(run.metrics["checksum"] for run in parts)),
    }


def _scores(run, given: Inputs, device: str) -> torch.Tensor:
    """Similarities of all test images and captions, `(N, 5·N)`, as the run's own model has them."""
    matcher, vocabulary = rivals.load(run, *given)
    return model.evaluate(matcher.to(device), vocabulary, given.dataset, given.features, "test")
