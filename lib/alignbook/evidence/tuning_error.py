"""What the choice of a candidate on dev adds to the doubt about an arm.

An arm is the best of some candidates on dev, which a few tuning seeds tell apart only roughly.
Another set of tuning seeds would have chosen another of those that are nearly as good, and all
reporting seeds share that luck: their spread does not show it.
"""

import json
from collections.abc import Sequence

import numpy as np
import pandas as pd

from alignbook.core.names import COLUMNS
from alignbook.evidence.claims import Contrast, Term

WANTED = ("exhibit", "row", "candidate", "seed", "dev_rsum")
RECALLS = len(COLUMNS) - 1  # that RSUM is the sum of


def choice_variances(
    trials: pd.DataFrame | None, spreads: dict[tuple, float] | None = None
) -> dict[tuple, float]:
    """Variance of each arm's near-tied candidates on dev, in squared points of RSUM.

    Parameters
    ----------
    trials : exhibit, row, candidate, seed, dev_rsum, a line a trial; and target, "" where a row has
        a single one.
    spreads : by the same arms, the standard deviation of RSUM over reporting seeds.

    Returns
    -------
    {(exhibit, row, target): variance of the means (over k − 1) of the k near-tied candidates}.
    A candidate is near-tied if its mean over tuning seeds lies within one standard error, of the
    paired difference to the best, of the best. With a single tuning seed that error is √2 times the
    arm's spread; where that is not known none is.
    """
    if trials is None or not len(trials):
        return {}
    if missing := [column for column in WANTED if column not in trials]:
        raise ValueError(
            f"trials: no column {', '.join(missing)}; there are: {', '.join(map(str, trials))}"
        )
    named = trials if "target" in trials else trials.assign(target="")
    found = {}
    arms = named.dropna(subset=["dev_rsum"]).groupby(["exhibit", "row", "target"], sort=False)
    for arm, own in arms:
        spread = (spreads or {}).get(arm, np.nan)
        found[arm] = _variance(own.pivot_table("dev_rsum", "candidate", "seed"), spread)
    return found


def shared(trials: pd.DataFrame | None) -> dict[tuple, tuple]:
    """The first of the arms whose trials are an arm's own runs, by arm: they have one choice.

    Parameters
    ----------
    trials : as for `choice_variances`; without config, the settings as JSON, no two arms share theirs.
    """
    if trials is None or "config" not in trials:
        return {}
    found: dict[tuple, tuple] = {}
    first: dict[tuple, tuple] = {}
    for arm, own in trials.groupby(["exhibit", "row", "target"], sort=False):
        table = own[["config", "seed", "dev_rsum"]].itertuples(index=False, name=None)
        found[arm] = first.setdefault(tuple(sorted(table)), arm)
    return found


def _variance(tried: pd.DataFrame, spread: float) -> float:
    """Variance of the near-tied candidates' means: a line a candidate, a column a tuning seed."""
    values = tried.to_numpy(float)
    means = np.nanmean(values, axis=1)
    best = int(np.argmax(means))
    tied = [means[best]]
    for i in set(range(len(values))) - {best}:
        behind = values[best] - values[i]
        behind = behind[np.isfinite(behind)]
        sd = behind.std(ddof=1) if len(behind) > 1 else np.sqrt(2) * spread
        if len(behind) and behind.mean() <= sd / np.sqrt(len(behind)):
            tied.append(means[i])
    return float(np.var(tied, ddof=1)) if len(tied) > 1 else 0.0


def at_edge(tried: Sequence[dict], chosen: dict) -> list[str]:
    """Settings of which a candidate has the least or the largest value that was tried.

    A better value may lie beyond it. Numbers count of which three or more were tried; with two, one
    is always at an edge.

    >>> tried = [dict(margin=m, scale=10, coding="hard") for m in (0.05, 0.02, 0.1)]
    >>> at_edge(tried, tried[1]), at_edge(tried, tried[0])
    (['margin 0.02 of 0.02 to 0.1'], [])
    """
    found = []
    for name, own in chosen.items():
        values = {each[name] for each in tried if isinstance(each.get(name), int | float)}
        if isinstance(own, bool) or len(values) < 3 or own not in (min(values), max(values)):
            continue
        found.append(f"{name} {own:.3g} of {min(values):.3g} to {max(values):.3g}")
    return found


def choices(trials: pd.DataFrame | None) -> dict[tuple, tuple[dict, list[str]]]:
    """The settings of each arm's candidate with the best mean on dev, and what `at_edge` says of it.

    Parameters
    ----------
    trials : exhibit, row, target, candidate, seed, dev_rsum and config, the settings as JSON.
    """
    found: dict[tuple, tuple[dict, list[str]]] = {}
    if trials is None or "config" not in trials:
        return found
    for arm, own in trials.groupby(["exhibit", "row", "target"], sort=False):
        tried = own.drop_duplicates("candidate").set_index("candidate").config.map(json.loads)
        best = tried[own.groupby("candidate", sort=False).dev_rsum.mean().idxmax()]
        found[arm] = best, at_edge(list(tried), best)
    return found


def of_contrast(
    contrast: Contrast, sides: tuple[float, float], variances: dict, same: dict | None = None
) -> float:
    """Variance that the choices add to a contrast's mean, on the scale of its tests.

    Each choice's weight in the contrast is squared, once for all columns of an arm and for all arms
    that share it: another choice would move them together. RSUM counts whole, a recall a sixth, any
    other column nothing.

    Parameters
    ----------
    sides : means over seeds of the two sides, where contrasts that are no differences are taken to
        be straight.
    variances : as `choice_variances` returns them.
    same : as `shared` returns it.
    """
    if not variances:
        return 0.0
    weights: dict[tuple, float] = {}
    for side, slope in zip((contrast.first, contrast.second), _slopes(contrast, *sides)):
        for term, weight in side.terms:
            own = arm_of(term, variances)
            arm = (same or {}).get(own, own)
            weights[arm] = weights.get(arm, 0.0) + slope * weight * _part(term.column)
    return float(sum(weight**2 * variances.get(arm, 0.0) for arm, weight in weights.items()))


def _slopes(contrast: Contrast, first: float, second: float) -> tuple[float, float]:
    """By how much a contrast changes with each of its sides, by central differences."""
    a, b = 1e-5 * max(abs(first), 1e-9), 1e-5 * max(abs(second), 1e-9)
    by_first = contrast.value(first + a, second) - contrast.value(first - a, second)
    by_second = contrast.value(first, second + b) - contrast.value(first, second - b)
    return by_first / (2 * a), by_second / (2 * b)


def arm_of(term: Term, known: dict) -> tuple[str, str, str]:
    """The arm that a number is of: "coco i2t R@1" is of the arm that was tuned for that target."""
    own = (term.exhibit, term.row, term.target)
    return own if own in known else (term.exhibit, term.row, "")


def _part(column: str) -> float:
    """How much of RSUM a column is."""
    return 1.0 if column.endswith("RSUM") else 1 / RECALLS if " R@" in column else 0.0
