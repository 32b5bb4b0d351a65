"""GSL's corrected labels looked into: other ways to label with the networks of a finished run.

Nothing is trained, so that the ways differ in nothing else. Every pair is labelled once by each
network, in mini-batches as in training: clean ones and noisy ones by the division that counted
last, or by the truth.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from alignbook.papers.gsl import identification, model, noisy_pairs, two_networks
from alignbook.papers.gsl.model import KNOWN

KEPT = ("steps", "training seconds", "parameters", "checksum", "noise rate")


@dataclass(frozen=True)
class Config:
    """How pairs are labelled anew; the first five as in `model.Config`."""

    eq7: bool = True  # similarities in the frequency domain [N]
    two_anchor_ratio: bool = False  # compares R_I with R_T [N], or S_I with S_T [X]
    clamp: str = "floor"  # raises cosines to 1e-3 [A]; "shift" takes (1 + cos) / 2
    anchors: str = "bank"  # two for each pair, of all clean ones [A], of the batch's ("sample"), or
    # two for the whole "batch"
    refine_clean: bool = True  # clean pairs get new labels [S], or keep 1
    division: str = "last"  # which pairs count as clean: by the run's last division [A], or "true"
    labels: str = "corrected"  # [S]; "score": the network's own score, without any anchor

    def __post_init__(self):
        known = {name: KNOWN[name] for name in ("clamp", "anchors")}
        for name, values in (
            known | {"division": ("last", "true"), "labels": ("corrected", "score")}
        ).items():
            if getattr(self, name) not in values:
                raise ValueError(
                    f"unknown {name} {getattr(self, name)!r}; known: {', '.join(values)}"
                )

    def compute(self, inputs, seed: int, folder: Path, device: str) -> dict:
        """What a run of it is: see `compute` below."""
        return compute(self, inputs, seed, folder, device)


def compute(config: Config, inputs, seed: int, folder: Path, device: str) -> dict:
    """How well labels tell clean pairs from noisy ones; inputs: a GSL run, and that run's inputs.

    Returns
    -------
    dict: "label AUC", and the mean label of clean and of noisy pairs. `folder` gets `labels`
    `(2, N)`, a row a network, and `index` `(N,)`.
    """
    run, dataset, feature_run, base_run, home, given = inputs
    torch.set_num_threads(1)
    trained = model.Config(**run.config)
    networks, vocabulary = two_networks.load(run, dataset, feature_run, base_run, home)
    pairs = noisy_pairs.gather(trained, dataset, feature_run, vocabulary, given)
    posterior = run.array("posterior")
    labels = np.full((2, len(pairs)), np.nan, np.float32)
    for k, network in enumerate(networks.to(device)):
        judge = 1 - k if trained.split == "peer" else k
        clean = ~pairs.noisy if config.division == "true" else posterior[judge] > trained.delta
        bank = bank_of(pairs, network, clean, config)
        for rows, count in batches(clean, trained.batch):
            look, own = pairs.glance(network, rows), bank and bank.of(rows)
            labels[k, rows] = labels_of(look, count, config, own).cpu()
    np.save(folder / "labels.npy", labels)
    np.save(folder / "index.npy", pairs.index)
    mean, clean = labels.mean(0), ~pairs.noisy
    found = {
        "label AUC": identification.auc(mean, clean),
        "mean label, clean": float(mean[clean].mean()),
        "mean label, noisy": float(mean[~clean].mean()) if pairs.noisy.any() else np.nan,
    }
    found = {name: value for name, value in found.items() if not np.isnan(value)}
    return (
        {name: run.metrics[name] for name in KEPT}
        | found
        | {
            "asked": dict.fromkeys(found, len(pairs)),
            "asked of": "train",
            "trained run": run.key,
            "how": "labels of all training pairs, mean of both networks",
        }
    )


def batches(clean: np.ndarray, size: int):
    """Every pair once, in batches of some clean and some noisy ones, in a fixed random order.

    The parts stand to each other as in the whole, up to `size` pairs of the larger. Yields rows,
    the clean ones first, and how many these are.

    >>> [(len(rows), count) for rows, count in batches(np.arange(10) < 6, 3)]
    [(5, 3), (5, 3)]
    """
    order = np.random.default_rng(0).permutation(len(clean))
    parts = order[clean[order]], order[~clean[order]]
    number = max(1, -(-max(map(len, parts)) // size))
    for a, b in zip(*(np.array_split(part, number) for part in parts)):
        yield np.concatenate((a, b)), len(a)


def bank_of(
    pairs: noisy_pairs.Pairs, network, clean: np.ndarray, config: Config
) -> noisy_pairs.Bank | None:
    """The clean pairs as training keeps them, None where anchors are of the mini-batch."""
    rows = noisy_pairs.spread(np.flatnonzero(clean), model.BANK)
    if config.anchors != "bank" or not len(rows):
        return None
    return noisy_pairs.Bank(*pairs.pooled(network, rows), torch.from_numpy(rows))


def labels_of(
    look: noisy_pairs.Look, count: int, config: Config, bank: noisy_pairs.Bank | None = None
) -> torch.Tensor:
    """Labels `(B,)` of a mini-batch whose first `count` pairs are clean."""
    if config.labels == "score":
        return look.scores.diagonal()
    clean = torch.arange(len(look.scores), device=look.scores.device) < count
    labels, _ = model.correct(look, clean, config, bank)
    return labels
