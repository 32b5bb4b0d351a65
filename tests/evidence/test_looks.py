"""The looks at paired seeds, by hand, and how often a p of theirs is small without any effect."""

from functools import partial

import numpy as np
import pytest
from alignbook.evidence import looks, statistics
from scipy import stats

TIMES = 20000
SLACK = 3 * np.sqrt(0.05 * 0.95 / TIMES)  # three standard errors of a rate of 5 %


def test_the_shares_sum_to_one_and_grow():
    assert sum(looks.SHARES) == pytest.approx(1) and list(looks.SHARES) == sorted(looks.SHARES)
    assert len(looks.SHARES) == len(looks.LOOKS)


@pytest.mark.parametrize(
    "seeds, expected",
    [
        (1, ((1, 0.1),)),
        (4, ((3, 0.1), (4, 0.2))),
        (8, ((3, 0.1), (5, 0.2), (8, 0.3))),
        (9, ((3, 0.1), (5, 0.2), (8, 0.3), (9, 0.4))),
        (12, ((3, 0.1), (5, 0.2), (8, 0.3), (12, 0.4))),
        (30, ((3, 0.1), (5, 0.2), (8, 0.3), (30, 0.4))),  # it stands for the last
    ],
)
def test_the_last_look_is_at_all_seeds(seeds, expected):
    assert looks.looks(seeds) == expected
    assert looks.share(seeds) == expected[-1][1]
    assert looks.left(seeds) == pytest.approx(1 - sum(share for _, share in expected))


def test_each_look_is_divided_by_its_share_and_the_least_counts():
    p = {3: (0.02, np.nan), 5: (np.nan, 0.1), 7: (0.03, 0.9)}
    path = looks.spend(np.zeros(7), lambda values: p[len(values)])
    assert [seeds for seeds, _, _ in path] == [3, 5, 7]
    assert [holds for _, holds, _ in path] == pytest.approx([0.2, 0.2, 0.1])
    assert [reversed_ for _, _, reversed_ in path] == pytest.approx([np.nan, 0.5, 0.5], nan_ok=True)
    capped = looks.spend(np.zeros(2), lambda values: (0.3, 0.01))
    assert capped == [(2, 1.0, pytest.approx(0.1))]


def test_the_seeds_are_those_taken_first():
    seen = []
    looks.spend(np.arange(5.0), lambda values: seen.append(values.tolist()) or (1, 1))
    assert seen == [[0, 1, 2], [0, 1, 2, 3, 4]]


@pytest.mark.parametrize("seeds", [3, 5, 7, 8, 12, 20])
def test_p_over_all_looks_is_valid(seeds):
    """Without any effect, and at the edge of a band: at most 5 % and 1 % of p below these."""
    v = np.random.default_rng(seeds).normal(0, 1, (TIMES, seeds))
    two, inside = [], []
    for at, share in looks.looks(seeds):
        two.append(stats.ttest_1samp(v[:, :at], 0, axis=1).pvalue / share)
        over = stats.ttest_1samp(v[:, :at], -2, axis=1, alternative="greater").pvalue
        under = stats.ttest_1samp(v[:, :at], 0, axis=1, alternative="less").pvalue
        inside.append(np.maximum(over, under) / share)  # from −2 to 0: the truth is on the edge
    for p in (np.min(two, axis=0), np.min(inside, axis=0)):
        assert (p <= 0.05).mean() <= 0.05 + SLACK and (p <= 0.01).mean() <= 0.01 + SLACK
    assert (np.min(two, axis=0) <= 0.05).mean() >= 0.1 * 0.05 - SLACK
    # and these are what `spend` says of some of them
    for i in range(20):
        *_, (_, holds, _) = looks.spend(v[i], lambda x: (statistics.above_zero(x), np.nan))
        assert holds == pytest.approx(min(1, np.min(two, axis=0)[i]))
        *_, (_, within, _) = looks.spend(v[i], partial(statistics.inside, low=-2, high=0))
        assert within == pytest.approx(min(1, np.min(inside, axis=0)[i]))


def test_four_looks_that_spend_nothing_would_be_wrong_too_often():
    v = np.random.default_rng(0).normal(0, 1, (TIMES, 12))
    p = [stats.ttest_1samp(v[:, :at], 0, axis=1).pvalue for at in looks.LOOKS]
    assert (np.min(p, axis=0) <= 0.05).mean() > 0.10
