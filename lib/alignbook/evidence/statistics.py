"""Statistics over paired seeds: t intervals and tests, corrections, power, query bootstrap.

With three to ten seeds a percentile bootstrap over seeds covers far less than it says; the t
interval covers what it says as long as the seeds' differences are roughly normal. The bootstrap
here resamples test images instead: what another test set of the same kind would have changed.
Student's t is `scipy.special`'s stdtr and stdtrit: `scipy.stats` is slow with single numbers.

``extra`` is a variance of the mean that the seeds' own spread does not show, such as that of the
candidate that all of them share; it is added to the squared standard error.
"""

from functools import lru_cache

import numpy as np
from scipy import optimize, special

MOST_SEEDS = 200  # beyond it, `seeds_needed` says "more than can be run"


def t_interval(values, level: float = 0.95, extra: float = 0.0) -> tuple[float, float, float]:
    """Mean of the seeds' values and its t interval (n − 1 degrees of freedom).

    With a single seed the bounds are NaN: nothing is known of the spread.

    Examples
    --------
    >>> [round(float(v), 2) for v in t_interval([1.0, 2.0, 3.0])]
    [2.0, -0.48, 4.48]
    """
    values = _seeds(values)
    mean = values.mean()
    if len(values) == 1:
        return float(mean), np.nan, np.nan
    half = special.stdtrit(len(values) - 1, (1 + level) / 2) * _error(values, extra)
    return float(mean), float(mean - half), float(mean + half)


def above_zero(values, extra: float = 0.0) -> float:
    """Two-sided p of the t test that the seeds' mean is zero; NaN without spread.

    >>> round(above_zero([1.0, 2.0, 3.0]), 4)  # t = 2 / (1 / √3), 2 degrees of freedom
    0.0742
    """
    values = _seeds(values)
    if len(values) < 2 or np.ptp(values) == 0:
        return np.nan
    t = abs(values.mean()) / _error(values, extra)
    return float(2 * special.stdtr(len(values) - 1, -t))


def inside(values, low: float, high: float, extra: float = 0.0) -> tuple[float, float]:
    """p of the two one-sided tests that the mean lies between two bounds, and p that it does not.

    Returns
    -------
    (p_inside, p_outside)
        The first is small when the mean is surely inside, the second (two-sided) when it is surely
        beyond one of the bounds. Infinite bounds are allowed; both NaN without spread.

    Examples
    --------
    >>> [round(p, 3) for p in inside([-0.1, 0.0, 0.1], -1, 1)]
    [0.002, 1.0]
    """
    values = _seeds(values)
    if len(values) < 2 or np.ptp(values) == 0:
        return np.nan, np.nan
    error, freedom = _error(values, extra), len(values) - 1
    over, under = (values.mean() - low) / error, (high - values.mean()) / error
    surely_inside = max(special.stdtr(freedom, -over), special.stdtr(freedom, -under))
    surely_outside = 2 * min(special.stdtr(freedom, over), special.stdtr(freedom, under))
    return float(surely_inside), float(min(1.0, surely_outside))


def holm(p) -> np.ndarray:
    """Holm's step-down adjustment: reject where the result is at most the level.

    >>> holm([0.01, 0.04, 0.03]).round(3).tolist()
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(p, float)
    if p.ndim != 1 or np.isnan(p).any():
        raise ValueError(f"expected p values of some tests, not {p}")
    order = np.argsort(p, kind="stable")
    raised = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(raised, 1)
    return adjusted


def at_least(k: int, p) -> float:
    """p of the partial conjunction: that at least k of some tests' hypotheses are true.

    (n − k + 1) times the k-th smallest p, whatever binds the tests to each other: the largest p for
    "all of them", Bonferroni's for "any of them". A test without p (NaN) counts as 1.

    >>> at_least(3, [0.01, 0.04, 0.03]), at_least(1, [0.01, 0.04, 0.03])
    (0.04, 0.03)
    """
    p = np.sort(np.nan_to_num(np.asarray(p, float), nan=1.0))
    if p.ndim != 1 or not 1 <= k <= len(p):
        raise ValueError(f"at least {k} of {p.shape} p values")
    return float(min(1.0, (len(p) - k + 1) * p[k - 1]))


def power(effect: float, spread: float, n: int, level: float = 0.05, extra: float = 0.0) -> float:
    """Probability that the two-sided t test over n seeds finds a true mean.

    Parameters
    ----------
    effect, spread : mean and standard deviation of the seeds' differences.
    """
    error, rest = _of_seeds(spread, n, extra)
    shift, reach = abs(effect) / error, _reach(n, level / 2, rest)
    return float((special.ndtr(shift - reach) + special.ndtr(-shift - reach)).mean())


def power_inside(
    effect: float,
    low: float,
    high: float,
    spread: float,
    n: int,
    level: float = 0.05,
    extra: float = 0.0,
) -> float:
    """Probability that two one-sided tests over n seeds find a true mean between two bounds."""
    error, rest = _of_seeds(spread, n, extra)
    reach = _reach(n, level, rest)
    found = special.ndtr((high - effect) / error - reach)
    found -= special.ndtr((low - effect) / error + reach)
    return float(np.maximum(found, 0).mean())


def _of_seeds(spread: float, n: int, extra: float) -> tuple[float, float]:
    """Standard error of the mean of n seeds, and the share of its square that is `extra`."""
    squared = spread**2 / n + extra
    return float(np.sqrt(squared)), extra / squared


@lru_cache(maxsize=512)
def _reach(n: int, tail: float, rest: float = 0.0) -> np.ndarray:
    """How far from zero a mean has to lie, in true standard errors, at the quantiles of the seeds'
    estimated spread. SciPy's noncentral t loses its digits at few seeds."""
    chi2 = 2 * special.gammaincinv((n - 1) / 2, (np.arange(2000) + 0.5) / 2000)  # its quantiles
    s = np.sqrt((1 - rest) * chi2 / (n - 1) + rest)
    return special.stdtrit(n - 1, 1 - tail) * s


def detectable(
    spread: float, n: int, level: float = 0.05, wanted: float = 0.8, extra: float = 0.0
) -> float:
    """The smallest true mean that n seeds of this spread find with probability `wanted`.

    >>> round(detectable(1.0, 5), 2)
    1.68
    """
    if n < 2 or not spread > 0:
        return np.nan
    return spread * _detectable(n, level, wanted, extra / spread**2)


@lru_cache(maxsize=4096)
def _detectable(n: int, level: float, wanted: float, extra: float) -> float:
    """`detectable` in standard deviations."""
    return _smallest(lambda mean: power(mean, 1.0, n, level, extra), wanted)


def confirmable(
    spread: float, n: int, level: float = 0.05, wanted: float = 0.8, extra: float = 0.0
) -> float:
    """Half the width of the narrowest band around zero that n seeds of this spread confirm.

    Confirmed by two one-sided tests with probability `wanted`, should the true mean be zero.

    >>> round(confirmable(1.0, 5), 2)
    1.6
    """
    if n < 2 or not spread > 0:
        return np.nan
    return spread * _confirmable(n, level, wanted, extra / spread**2)


@lru_cache(maxsize=4096)
def _confirmable(n: int, level: float, wanted: float, extra: float) -> float:
    """`confirmable` in standard deviations."""
    return _smallest(lambda w: power_inside(0, -w, w, 1.0, n, level, extra), wanted)


def _smallest(found, wanted: float) -> float:
    """Where a probability that rises from below `wanted` reaches it."""
    highest = 10.0
    while found(highest) < wanted:
        highest *= 4
    return optimize.brentq(lambda size: found(size) - wanted, 0, highest)


def seeds_needed(found, wanted: float = 0.8) -> float:
    """The fewest seeds with which a test has the power `wanted`; infinity beyond `MOST_SEEDS`.

    Parameters
    ----------
    found : number of seeds → power.

    Examples
    --------
    >>> seeds_needed(lambda n: power(1.69, 1.0, n))
    5
    """
    if found(MOST_SEEDS) < wanted:
        return np.inf
    few, many = 1, MOST_SEEDS  # power grows with the seeds
    while many - few > 1:
        middle = (few + many) // 2
        few, many = (few, middle) if found(middle) >= wanted else (middle, many)
    return many


def image_bootstrap(per_image, level: float = 0.95, resamples: int = 2000, seed: int = 0):
    """Percentile interval of a mean over test images, drawn with replacement.

    Parameters
    ----------
    per_image : (N,) each image's share of the number, its captions together, so that the number
        is the mean; the gallery that was searched stays as it was.

    Returns
    -------
    (low, high)
    """
    per_image = np.asarray(per_image, float)
    means = _drawn(len(per_image), resamples, seed) @ per_image / len(per_image)
    low, high = np.percentile(means, [50 * (1 - level), 50 * (1 + level)])
    return float(low), float(high)


@lru_cache(maxsize=1)
def _drawn(n: int, resamples: int, seed: int) -> np.ndarray:
    """How often each image is drawn; kept, as all contrasts of a test set are asked in a row."""
    drawn = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=resamples)
    return drawn.astype(float)


def _error(values: np.ndarray, extra: float = 0.0) -> float:
    """Standard error of the mean."""
    return np.sqrt(values.var(ddof=1) / len(values) + extra)


def _seeds(values) -> np.ndarray:
    values = np.asarray(values, float)
    if values.ndim != 1 or not len(values) or not np.isfinite(values).all():
        raise ValueError(f"expected finite values of some seeds, not {values}")
    return values
