"""Statistics over seeds: by hand, against SciPy and slow loops, and by how often they are right."""

import itertools

import numpy as np
import pytest
from alignbook.evidence import statistics
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

T_2 = 4.302653  # 97.5 % quantile of t with 2 degrees of freedom

SOME = settings(max_examples=50, deadline=None, derandomize=True)
P = st.lists(st.floats(0, 1), min_size=1, max_size=12)
# Whole numbers: their differences are exact, so that equal ones have no spread at all.
SEEDS = st.lists(st.integers(-50, 50).map(float), min_size=2, max_size=8)


# --- Intervals -----------------------------------------------------------------------------------


def test_t_interval_by_hand():
    # mean 2, standard error 1/√3
    mean, low, high = statistics.t_interval([1, 2, 3])
    assert mean == 2
    assert low == pytest.approx(2 - T_2 / np.sqrt(3), abs=1e-5)
    assert high == pytest.approx(2 + T_2 / np.sqrt(3), abs=1e-5)


def test_t_interval_at_another_level():
    values = [3.0, 1.0, 4.0, 1.5]
    expected = stats.ttest_1samp(values, 0).confidence_interval(0.8)
    assert statistics.t_interval(values, 0.8)[1:] == pytest.approx(tuple(expected))


def test_one_seed_has_no_interval_and_bad_values_are_refused():
    mean, low, high = statistics.t_interval([5.0])
    assert mean == 5 and np.isnan(low) and np.isnan(high)
    assert np.isnan(statistics.above_zero([5.0]))
    assert np.isnan(statistics.inside([5.0], 0, 9)).all()
    for bad in ([], [1, np.nan], [1, np.inf], [[1, 2]]):
        for function in (
            statistics.t_interval,
            statistics.above_zero,
            lambda values: statistics.inside(values, 0, 1),
        ):
            with pytest.raises(ValueError, match="finite values of some seeds"):
                function(bad)


def test_without_spread_the_interval_is_a_point_and_no_test_is_passed():
    for value in (0.0, 0.1, -7.3):
        values = [value] * 3
        assert statistics.t_interval(values) == pytest.approx((value,) * 3)
        assert np.isnan(statistics.above_zero(values))
        assert np.isnan(statistics.inside(values, -1, 1)).all()


# --- Tests ---------------------------------------------------------------------------------------


def test_above_zero_is_the_two_sided_t_test():
    for values in ([1.0, 2.0, 3.0], [0.1, -3.0, 2.0, 0.4], [-5.0, -4.0], [1e-3, 2e-3, 1.5e-3]):
        assert statistics.above_zero(values) == pytest.approx(stats.ttest_1samp(values, 0).pvalue)


@SOME
@given(SEEDS)
def test_above_zero_does_not_know_the_sign_and_agrees_with_the_interval(values):
    p, negative = (statistics.above_zero(v) for v in (values, [-v for v in values]))
    assert p == negative or np.isnan([p, negative]).all()
    _, low, high = statistics.t_interval(values)
    if not np.isnan(p) and abs(p - 0.05) > 1e-9:
        assert (p < 0.05) == (low > 0 or high < 0)


@pytest.mark.parametrize("values", [[0.1, 0.2, -0.1], [0.9, 1.4, 1.3, 0.8], [-2.0, -1.9, -2.2]])
def test_inside_is_two_one_sided_tests(values):
    above = stats.ttest_1samp(values, -1, alternative="greater").pvalue
    below = stats.ttest_1samp(values, 1.2, alternative="less").pvalue
    beneath = stats.ttest_1samp(values, -1, alternative="less").pvalue
    beyond = stats.ttest_1samp(values, 1.2, alternative="greater").pvalue
    found = statistics.inside(values, -1, 1.2)
    assert found == pytest.approx((max(above, below), min(1, 2 * min(beneath, beyond))))


def test_a_bound_may_be_infinite():
    values = [0.9, 1.4, 1.3, 0.8]  # 1.1 in the mean
    greater = stats.ttest_1samp(values, 1, alternative="greater").pvalue
    assert statistics.inside(values, 1, np.inf) == pytest.approx((greater, 1))
    assert statistics.inside(values, -np.inf, 1) == pytest.approx((1 - greater, 2 * greater))


# --- Holm ----------------------------------------------------------------------------------------


def slow_holm(p):
    """From the definition: a test's result is the least level at which it is rejected, where Holm
    rejects from the smallest p on until p(i) > level / (m - i), i counted from 0."""
    order = sorted(range(len(p)), key=lambda i: p[i])
    result = [None] * len(p)
    for place, i in enumerate(order):
        result[i] = min(1.0, max((len(p) - j) * p[order[j]] for j in range(place + 1)))
    return result


def test_holm_by_hand():
    # smallest first: 0.01 × 4 = 0.04; 0.013 × 3 = 0.039, raised to the one before;
    # 0.03 × 2 = 0.06; 0.8 × 1
    assert statistics.holm([0.03, 0.01, 0.8, 0.013]) == pytest.approx([0.06, 0.04, 0.8, 0.04])
    assert statistics.holm([0.7, 0.6]) == pytest.approx([1, 1])  # never above one
    assert statistics.holm([0.04]) == pytest.approx([0.04])
    assert len(statistics.holm([])) == 0


@SOME
@given(P)
def test_holm_against_its_definition(p):
    assert statistics.holm(p) == pytest.approx(slow_holm(p), abs=1e-12)


@SOME
@given(P, st.integers(0, 11), st.randoms(use_true_random=False))
def test_holm_keeps_the_order_and_lies_between_p_and_bonferroni(p, which, random):
    p, adjusted = np.array(p), statistics.holm(p)
    assert (adjusted >= p).all() and (adjusted <= np.minimum(1, p * len(p)) + 1e-15).all()
    assert (np.diff(adjusted[np.argsort(p, kind="stable")]) >= 0).all()
    higher = p.copy()
    higher[which % len(p)] = 1.0
    assert (statistics.holm(higher) >= adjusted - 1e-15).all()  # worse evidence never helps
    shuffled = list(range(len(p)))
    random.shuffle(shuffled)
    assert (statistics.holm(p[shuffled]) == adjusted[shuffled]).all()


def test_holm_refuses_what_is_no_list_of_p():
    for bad in ([0.1, np.nan], [[0.1]], 0.1):
        with pytest.raises(ValueError, match="p values"):
            statistics.holm(bad)


def test_at_least_so_many_by_hand():
    p = [0.03, 0.01, 0.2, 0.04]
    assert [statistics.at_least(k, p) for k in (1, 2, 3, 4)] == pytest.approx(
        [0.04, 0.09, 0.08, 0.2]
    )  # 4 × 0.01, 3 × 0.03, 2 × 0.04, 1 × 0.2
    assert statistics.at_least(1, [0.7, 0.6]) == 1  # never above one
    assert statistics.at_least(2, [0.01, np.nan, 0.02]) == pytest.approx(0.04)  # unknown is 1
    assert statistics.at_least(3, [0.01, np.nan, 0.02]) == 1
    for k, wrong in ((0, p), (5, p), (1, [])):
        with pytest.raises(ValueError, match=f"at least {k} of"):
            statistics.at_least(k, wrong)


@pytest.mark.parametrize("true, k", [(0, 1), (1, 2), (2, 3), (3, 4)])
def test_at_least_so_many_is_rarely_said_of_fewer(true, k):
    """One hypothesis fewer than asked is true, and without any doubt: the worst case."""
    rng = np.random.default_rng(k)
    p = np.concatenate([np.zeros((4000, true)), rng.uniform(size=(4000, 4 - true))], axis=1)
    said = np.mean([statistics.at_least(k, each) <= 0.05 for each in p])
    assert 0.03 < said <= 0.058


# --- Power ---------------------------------------------------------------------------------------


def simulated(effect, spread, n, times=20000):
    return np.random.default_rng(n).normal(effect, spread, (times, n))


@pytest.mark.parametrize(
    "effect, spread, n, level",
    [(1.5, 1, 3, 0.05), (-3, 2, 5, 0.01), (0.5, 1, 30, 0.05), (8, 1, 3, 0.002)],
)
def test_power_against_a_simulation(effect, spread, n, level):
    p = stats.ttest_1samp(simulated(effect, spread, n), 0, axis=1).pvalue
    assert statistics.power(effect, spread, n, level) == pytest.approx(
        (p < level).mean(), abs=0.012
    )


def test_power_against_the_noncentral_t():
    for effect, n, level in ((0.7, 12, 0.05), (1.2, 10, 0.01), (0.3, 40, 0.05), (0.0, 9, 0.05)):
        reach, shift = stats.t.ppf(1 - level / 2, n - 1), effect * np.sqrt(n)
        exact = stats.nct.sf(reach, n - 1, shift) + stats.nct.cdf(-reach, n - 1, shift)
        assert statistics.power(effect, 1, n, level) == pytest.approx(exact, abs=1e-3)


@pytest.mark.parametrize(
    "effect, spread, n, level",
    [
        (0, 0.25, 5, 0.05),
        (0.2, 0.2, 6, 0.05),
        (-0.3, 0.1, 4, 0.01),
        (0.6, 0.2, 5, 0.05),
        (0, 2, 4, 0.05),
    ],
)
def test_power_inside_against_a_simulation(effect, spread, n, level):
    values = simulated(effect, spread, n)
    above = stats.ttest_1samp(values, -0.5, axis=1, alternative="greater").pvalue
    below = stats.ttest_1samp(values, 0.5, axis=1, alternative="less").pvalue
    found = (np.maximum(above, below) < level).mean()
    power = statistics.power_inside(effect, -0.5, 0.5, spread, n, level)
    assert power == pytest.approx(found, abs=0.012)


def test_power_grows_with_seeds_and_effect_and_falls_with_spread():
    by_seeds = [statistics.power(1, 1, n) for n in range(2, 40)]
    assert (np.diff(by_seeds) > 0).all()
    assert statistics.power(-1, 1, 5) == statistics.power(1, 1, 5)
    assert statistics.power(2, 1, 5) == statistics.power(4, 2, 5) > statistics.power(2, 2, 5)
    assert statistics.power(0, 1, 7, 0.05) == pytest.approx(0.05, abs=1e-3)
    inside = [statistics.power_inside(0.1, -1, 1, 0.7, n) for n in range(2, 40)]
    assert (np.diff(inside) > -1e-12).all() and inside[-1] > 0.99


@pytest.mark.parametrize(
    "n, level, wanted", [(3, 0.05, 0.8), (5, 0.01, 0.8), (2, 0.001, 0.8), (10, 0.05, 0.5)]
)
def test_detectable_is_found_as_often_as_wanted(n, level, wanted):
    least = statistics.detectable(2.5, n, level, wanted)
    assert statistics.power(least, 2.5, n, level) == pytest.approx(wanted, abs=1e-6)
    assert statistics.detectable(5, n, level, wanted) == pytest.approx(2 * least)


@pytest.mark.parametrize("n, level, wanted", [(3, 0.05, 0.8), (5, 0.004, 0.8), (10, 0.05, 0.5)])
def test_a_band_that_can_be_confirmed_is_as_often_as_wanted(n, level, wanted):
    half = statistics.confirmable(2.5, n, level, wanted)
    values = simulated(0, 2.5, n)
    above = stats.ttest_1samp(values, -half, axis=1, alternative="greater").pvalue
    below = stats.ttest_1samp(values, half, axis=1, alternative="less").pvalue
    assert (np.maximum(above, below) <= level).mean() == pytest.approx(wanted, abs=0.012)
    assert statistics.confirmable(5, n, level, wanted) == pytest.approx(2 * half)


def test_nothing_is_known_to_be_detectable_without_a_second_seed_or_spread():
    for spread, n in ((1.0, 1), (0.0, 5), (np.nan, 5)):
        assert np.isnan(statistics.detectable(spread, n))
        assert np.isnan(statistics.confirmable(spread, n))


def test_seeds_needed_is_the_fewest():
    for effect in (0.3, 0.9, 2.0, 30.0):
        slow = next(n for n in range(2, 201) if statistics.power(effect, 1, n) >= 0.8)
        assert statistics.seeds_needed(lambda n: statistics.power(effect, 1, n)) == slow
    assert statistics.seeds_needed(lambda n: statistics.power(30, 1, n)) == 2  # one shows no spread
    assert statistics.seeds_needed(lambda n: statistics.power(0.01, 1, n)) == np.inf
    assert statistics.seeds_needed(lambda n: n / 200) == 160
    assert statistics.seeds_needed(lambda n: n / 200, wanted=1.0) == 200


# --- Test images ---------------------------------------------------------------------------------


def test_a_bootstrap_over_images_by_hand():
    # Of two images worth 0 and 1 either is drawn twice in a quarter of all draws.
    assert statistics.image_bootstrap([0, 1]) == (0, 1)
    assert statistics.image_bootstrap([0, 1], level=0.4) == (0.5, 0.5)
    assert statistics.image_bootstrap([3.0, 3.0, 3.0]) == (3, 3)
    values = np.random.default_rng(0).normal(5, 2, 900)
    half = 1.96 * values.std() / 30
    assert statistics.image_bootstrap(values) == pytest.approx(
        (values.mean() - half, values.mean() + half), abs=0.02
    )
    assert statistics.image_bootstrap(values) == statistics.image_bootstrap(values)
    assert statistics.image_bootstrap(values) != statistics.image_bootstrap(values, seed=1)


def covered(low, high, truth):
    return np.mean((np.asarray(low) <= truth) & (truth <= np.asarray(high)))


def test_the_bootstrap_over_images_covers_what_it_says():
    rng = np.random.default_rng(3)
    # The gain at R@1 of a query is -100, 0 or 100 percent; true mean 4.
    gains = rng.choice([-100.0, 0.0, 100.0], p=[0.08, 0.80, 0.12], size=(1000, 500))
    bounds = np.array([statistics.image_bootstrap(each) for each in gains])
    assert 0.93 <= covered(*bounds.T, 4) <= 0.97


def test_captions_of_an_image_stay_together():
    rng = np.random.default_rng(4)
    hard = rng.normal(0, 1, (250, 500, 1))  # an image that is hard to find is so by all captions
    captions = 3 + hard + rng.normal(0, 0.7, (250, 500, 5))
    by_image = np.array([statistics.image_bootstrap(each.mean(1)) for each in captions])
    by_caption = np.array([statistics.image_bootstrap(each.ravel()) for each in captions])
    assert 0.93 <= covered(*by_image.T, 3) <= 0.97
    assert covered(*by_caption.T, 3) < 0.80  # as if there were five times as many images


# --- How often an interval over seeds covers -----------------------------------------------------


@pytest.mark.parametrize("n", [3, 5, 10])
def test_the_t_interval_covers_what_it_says(n):
    values = np.random.default_rng(n).normal(7, 3, (10000, n))
    mean, spread = values.mean(1), values.std(1, ddof=1)
    # The half width is a fixed multiple of the spread: taken from one sample, checked on others.
    _, low, high = statistics.t_interval(values[0])
    half = (high - low) / 2 / spread[0] * spread
    for i in range(50):
        assert statistics.t_interval(values[i]) == pytest.approx(
            (mean[i], mean[i] - half[i], mean[i] + half[i])
        )
    assert 0.93 <= covered(mean - half, mean + half, 7) <= 0.97


@pytest.mark.parametrize("n, most", [(3, 0.80), (5, 0.87)])
def test_why_seeds_are_not_bootstrapped(n, most):
    """All n^n resamples of three or five seeds: their percentiles cover far less than 95 %."""
    values = np.random.default_rng(n).normal(7, 3, (1000, n))
    drawn = np.array(list(itertools.product(range(n), repeat=n)))
    weights = (drawn[:, :, None] == np.arange(n)).mean(1)
    low, high = np.percentile(values @ weights.T, [2.5, 97.5], axis=1)
    assert covered(low, high, 7) < most
