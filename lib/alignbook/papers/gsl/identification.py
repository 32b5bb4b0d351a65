"""How well the noise was found, as the truth says it that no training sees."""

import numpy as np
from scipy.stats import rankdata


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
