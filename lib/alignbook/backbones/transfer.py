"""What a trained base model does beyond its own test split: another domain, and swaps.

Zero-shot transfer is ComAlign's setting: the base has seen neither of the data sets that heads are
trained and tested on. In the world it is trained on domain W and tested on A and B, with W's
vocabulary. The probes are those of its Table II: a caption against the same with attributes or roles
exchanged (ARO), and a picture against one in which subject, verb or object differs (SVO-Probes).
Chance is 50 % on every probe.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from alignbook.backbones import base, grounding
from alignbook.core import compositional, retrieval
from alignbook.datasets import swaps
from alignbook.store import progress


@dataclass(frozen=True)
class Config:
    """Recalls on other domains than the base model's own, and accuracies on their probes."""

    split: str = "test"  # of the other domains [A]

    def compute(self, inputs, seed: int, folder: Path, device: str) -> dict:
        """What a run of it is: see `compute` below."""
        return compute(self, inputs, seed, folder, device)


def compute(config: Config, inputs, seed: int, folder: Path, device: str) -> dict:
    """The metrics of a base run, those of other domains ("B test RSUM", …) and their probes added,
    and what it makes of components there (`grounding`).

    The inputs are the run, the data set it was trained on, and those of the other domains.
    """
    run, home, *away = inputs
    torch.set_num_threads(1)
    model, vocabulary = base.load(run, home)
    model.to(device)
    found, asked = {}, {}
    for part, dataset in enumerate(away, 1):
        test = f"{dataset.meta['domain']} {config.split}"
        scores = base.similarity(model, vocabulary, dataset, config.split)
        recalls = retrieval.evaluate(scores, dataset.captions_per_image).named(test)
        images, captions = scores.shape
        queries = {"i2t": images, "t2i": captions, "RSUM": images + captions}
        asked |= {name: queries[name.split()[2]] for name in recalls}
        swapped = probes(model, vocabulary, dataset).items()
        asked |= {f"{test} {name}": n for name, (_, n) in swapped}
        found |= recalls | {f"{test} {name}": value for name, (value, _) in swapped}
        parts = grounding.components(model, vocabulary, dataset, config.split)
        found |= {f"{test} {name}": value for name, value in parts.items()}
        progress.show("transfer and probes", part, len(away))
    return run.metrics | found | {"asked": asked}


def probes(model, vocabulary, dataset) -> dict[str, tuple[float, int]]:
    """Accuracy in percent and number of items of each probe.

    Every item counts the same: ARO's means over kinds would rest on kinds of one or two items.
    """
    found = {}
    for name in ("attribute", "relation"):
        table, pictures = swaps.caption_probes(dataset, name)
        images = base.embed_images(model, _blocks(pictures))
        right = (images * base.embed_captions(model, vocabulary, list(table.caption))).sum(1)
        wrong = (images * base.embed_captions(model, vocabulary, list(table.negative))).sum(1)
        found[f"{name} swap"] = compositional.caption_accuracy(right, wrong), len(table)
    table, pictures, negatives = swaps.image_probes(dataset)
    texts = base.embed_captions(model, vocabulary, list(table.caption))
    right = (base.embed_images(model, _blocks(pictures)) * texts).sum(1)
    wrong = (base.embed_images(model, _blocks(negatives)) * texts).sum(1)
    for kind, value in compositional.image_accuracy(right, wrong, table.kind).items():
        found[f"svo {kind}"] = (
            value,
            len(table) if kind == "all" else int((table.kind == kind).sum()),
        )
    return found


def _blocks(pictures: np.ndarray):
    return (pictures[i : i + 250] for i in range(0, len(pictures), 250))
