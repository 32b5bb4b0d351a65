"""When paired seeds are looked at, and the share of the error that each look may spend.

A claim is looked at after 3, 5, 8 and 12 seeds, and the first look that finds something ends the
matter. Four looks at 5 % each would be wrong far more often than 5 %; so a look tests at its share
of the level, and the shares sum to one. In terms of p: a look's p is divided by its share, and what
counts is the least of these quotients so far. By the union bound it is at most α with probability
Σ shareₗ · α ≤ α, at every level and however the looks depend on each other, and whenever one
stops. It goes into Holm's correction as any p does.

The shares are ours [A], chosen by reasoning on power: with three seeds Student's t has so long a
tail that 2 % or 0.5 % of the level hardly differ in what they find (the mean has to be 6 or 8
standard deviations), while the last looks find the effects of one or two. So each look has as many
tenths as looks came up to it.

Seeds whose number is no look (``--seeds 7``) are tested at every look that they pass, and at their
end, which spends the share of the look it stands for: the next one, or the last beyond all. The
shares sum to one at most, too. To test at the end of seven seeds, go on, and test again after eight
is one look more than was planned, and spends a share twice.
"""

from collections.abc import Callable

import numpy as np

from alignbook.core.names import LOOKS

SHARES = (0.1, 0.2, 0.3, 0.4)  # of the level, by look


def looks(seeds: int) -> tuple[tuple[int, float], ...]:
    """The looks at so many seeds, each with its share of the level; the last is at all of them.

    >>> looks(5), looks(7)
    (((3, 0.1), (5, 0.2)), ((3, 0.1), (5, 0.2), (7, 0.3)))
    """
    passed = [each for each in zip(LOOKS[:-1], SHARES) if each[0] < seeds]
    return (*passed, (seeds, SHARES[len(passed)]))


def share(seeds: int) -> float:
    """The share of the level that a look at the end of so many seeds may spend.

    >>> [share(n) for n in (2, 3, 8, 20)]
    [0.1, 0.1, 0.3, 0.4]
    """
    return looks(seeds)[-1][1]


def left(seeds: int) -> float:
    """The share of the level that is not spent when the looks end at so many seeds.

    >>> [left(n) for n in (3, 5, 8, 12)]
    [0.9, 0.7, 0.4, 0.0]
    """
    return round(1 - sum(part for _, part in looks(seeds)), 9)


def following(seeds: int, most: int) -> int:
    """The seeds of the next look, `most` at most.

    >>> following(1, 12), following(5, 12), following(5, 6), following(12, 20)
    (3, 8, 6, 20)
    """
    return min(next((look for look in LOOKS if look > seeds), most), most)


def spend(values, test: Callable) -> list[tuple[int, float, float]]:
    """What a test of two sides has found after each look, its level spent by shares.

    Parameters
    ----------
    values : (seeds,) in the order in which the seeds were taken.
    test : some values → their p values for either side; NaN is none.

    Returns
    -------
    A look each: seeds, and for either side the least p over its share so far, 1 at most; NaN where
    no look had one.

    Examples
    --------
    >>> spend([0.0] * 5, lambda v: (0.012 / len(v), float("nan")))
    [(3, 0.04, nan), (5, 0.012, nan)]
    """
    found, least = [], np.full(2, np.nan)
    for seeds, part in looks(len(values)):
        least = np.fmin(least, np.minimum(np.array(test(values[:seeds]), float) / part, 1.0))
        found.append((seeds, float(least[0]), float(least[1])))
    return found
