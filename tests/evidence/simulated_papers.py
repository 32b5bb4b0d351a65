"""Made-up papers, judged straight from the definitions: all repetitions at once, look by look.

A paper has a primary claim and some others, one contrast each. An arm shows a constant, what a seed
does to all arms, and its own noise of 1/√2; so contrasts have a spread of 1, and those of the first
arm, which all share, a correlation of one half.

All looks are taken, whatever the earlier ones said. A buyer of seeds stops sooner, where claims are
decided or futile; so these false alarms are an upper bound of the buyer's.
"""

import numpy as np
from scipy import stats

LOOKS, SHARES = (3, 5, 8, 12), (0.1, 0.2, 0.3, 0.4)
FIRST, REST = (
    0.04,
    0.2,
)  # level of the primary claim; share of 5 % that its others have whatever it says


def contrasts(effects, times, seed=0, seeds=12):
    """(claims, times, seeds) values of each claim's contrast, of the first arm with another."""
    rng = np.random.default_rng(seed)
    arms = rng.normal(0, np.sqrt(0.5), (len(effects) + 1, times, seeds))
    return arms[0] - arms[1:] + np.array(effects, float)[:, None, None]


def spent(values, band=None):
    """p after each look: two-sided by the sign of the mean, (looks, 2, ..., times), or in a band."""
    found = []
    for seeds, share in zip(LOOKS, SHARES):
        v = values[..., :seeds]
        if band is None:
            test = stats.ttest_1samp(v, 0, axis=-1)
            up = test.statistic > 0
            p = np.array([np.where(up, test.pvalue, 1), np.where(up, 1, test.pvalue)])
        else:
            over = stats.ttest_1samp(v, -band, axis=-1, alternative="greater").pvalue
            under = stats.ttest_1samp(v, band, axis=-1, alternative="less").pvalue
            p = np.maximum(over, under)
        found.append(np.minimum(p / share, 1))
    return np.minimum.accumulate(found, axis=0)


def holm(p):
    """Which claims (the first axis) Holm rejects at 5 %, by the definition."""
    order = np.sort(p, axis=0)
    passed = np.logical_and.accumulate(
        order <= 0.05 / np.arange(len(p), 0, -1).reshape(-1, *[1] * (p.ndim - 1)), axis=0
    )
    limit = np.where(passed, order, -1).max(axis=0)
    return p <= limit


def told(values, band):
    """Verdicts after each look of seeds, (looks, claims, times): "holds", "reversed", "same", ""."""
    two = spent(values)  # (looks, 2, claims, times)
    within = spent(values[0], band) if band else np.ones((len(LOOKS), values.shape[1]))
    said = np.full((len(LOOKS), *values.shape[:2]), "", dtype="<U8")
    left = np.zeros((len(LOOKS), values.shape[1]))
    before = np.full(values.shape[1], "", dtype="<U8")
    kept = np.zeros(values.shape[1])
    for i in range(len(LOOKS)):
        new = np.where(within[i] <= FIRST, "same", "")
        new = np.where(two[i, 1, 0] <= FIRST, "reversed", new)
        new = np.where(two[i, 0, 0] <= FIRST, "holds", new)
        decides = (before == "") & (new != "")
        kept = np.where(decides, np.where(new == "same", 1 - sum(SHARES[: i + 1]), 1.0), kept)
        before = np.where(decides, new, before)
        said[i, 0], left[i] = before, kept
        if len(values) > 1:
            p = two[i][:, 1:].min(0)
            rejected = holm(p / (REST + (1 - REST) * left[i]))
            side = np.where(two[i, 0, 1:] < two[i, 1, 1:], "holds", "reversed")
            said[i, 1:] = np.where(rejected, side, "")
    return said


def took(said):
    """(times,) seeds after which the primary claim is decided, all where it is not."""
    decided = said[:, 0] != ""
    return np.where(decided.any(0), np.array(LOOKS)[decided.argmax(0)], LOOKS[-1])


def false_alarms(said, effects):
    """(times,) whether any claim without an effect is ever said to hold or to be reversed."""
    null = np.array(effects) == 0
    return np.isin(said[:, null], ("holds", "reversed")).any((0, 1))
