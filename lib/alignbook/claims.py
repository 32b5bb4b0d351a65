"""What the numbers say: intervals over paired seeds."""

import numpy as np
from scipy import stats


def t_interval(values, level: float = 0.95) -> tuple[float, float, float]:
    """Mean of the seeds' values and its t interval (n − 1 degrees of freedom).

    With a single seed the bounds are NaN: nothing is known of the spread.

    Examples
    --------
    >>> [round(float(v), 2) for v in t_interval([1.0, 2.0, 3.0])]
    [2.0, -0.48, 4.48]
    """
    values = np.asarray(values, float)
    if values.ndim != 1 or not len(values) or not np.isfinite(values).all():
        raise ValueError(f"expected finite values of some seeds, not {values}")
    mean = values.mean()
    if len(values) == 1:
        return float(mean), np.nan, np.nan
    half = stats.t.ppf((1 + level) / 2, len(values) - 1) * stats.sem(values)
    return float(mean), float(mean - half), float(mean + half)


def paired_difference(first, second, level: float = 0.95) -> tuple[float, float, float]:
    """Mean of first − second, seed by seed, and its t interval.

    Parameters
    ----------
    first, second : (seeds,) values of two arms for the same seeds in the same order.
    """
    first, second = np.asarray(first, float), np.asarray(second, float)
    if first.shape != second.shape:
        raise ValueError(f"seeds do not pair: {first.shape} against {second.shape}")
    return t_interval(first - second, level)
