"""How well the noise was found, by the truth that no training sees."""

import numpy as np
import torch
from scipy.stats import rankdata

# What is kept of every epoch: of the division it began with, the labels as last corrected, and the
# scores on dev after it.
COURSE = (
    "division AUC",
    "clean kept",
    "noise found",
    "label, clean",
    "label, noisy",
    "own score",
    "other scores",
    "spread",
)


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


def division(pair, noisy: np.ndarray, delta: float, divided: bool) -> dict:
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


def course(posterior, labels, noisy: np.ndarray, delta: float, scores: torch.Tensor, each: int):
    """What `COURSE` names, `(8,)`; NaN where nothing is known.

    Means of both networks: AUC of the mean p(clean) `(2, N)`; shares in percent of the clean pairs
    above δ and of the noisy ones at most δ; labels of the clean and of the noisy, NaN `(2, N)` where
    a network gave none. Of `scores` `(n, each·n)`: the mean of an image with its own captions and
    with others, and the standard deviation of the latter. Where it goes to 0 all pairs look alike.
    A posterior of None is no division yet.

    >>> p, labels = np.array([[0.9, 0.2], [0.7, 0.6]]), np.array([[0.8, 0.1], [0.6, np.nan]])
    >>> scores = torch.tensor([[0.9, 0.1], [0.3, 0.7]])
    >>> course(p, labels, np.array([False, True]), 0.5, scores, 1).round(2).tolist()
    [1.0, 100.0, 50.0, 0.7, 0.1, 0.8, 0.2, 0.1]
    """
    found = dict.fromkeys(COURSE, np.nan)
    if posterior is not None:
        found["division AUC"] = auc(posterior.mean(0), ~noisy)
        found["clean kept"] = 100 * _mean(posterior[:, ~noisy] > delta)
        found["noise found"] = 100 * _mean(posterior[:, noisy] <= delta)
    found["label, clean"] = _mean(labels[:, ~noisy])
    found["label, noisy"] = _mean(labels[:, noisy])
    n = len(scores)
    own = scores.unflatten(1, (n, each)).diagonal()  # (each, n)

    def of_others(value):  # in parts: of a large dev the scores take gigabytes
        whole = sum(value(part.double()).sum() for part in scores.split(256))
        return float((whole - value(own.double()).sum()) / (each * n * (n - 1)))

    found["own score"] = float(own.double().mean())
    mean = found["other scores"] = of_others(lambda x: x)
    found["spread"] = max(of_others(lambda x: (x - mean) ** 2), 0.0) ** 0.5
    return np.array(list(found.values()))


def _mean(values: np.ndarray) -> float:
    """Mean of the values that are not NaN; NaN if all are."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")
