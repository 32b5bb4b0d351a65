"""Mixtures of two components: the equations as loops, known samples, and what is no division."""

import math
import time

import numpy as np
import pytest
import torch
from alignbook.papers.gsl import mixtures
from alignbook.papers.gsl.mixtures import BetaMixture, GaussianMixture
from scipy import stats

BOTH = pytest.mark.parametrize("kind", [BetaMixture, GaussianMixture])


def betas(n=3000, noisy=0.4, seed=0, clean=(2, 18), other=(14, 5)):
    """Losses and which of them are noisy, in any order."""
    random = np.random.default_rng(seed)
    truth = np.arange(n) < noisy * n
    losses = np.where(truth, random.beta(*other, n), random.beta(*clean, n))
    order = random.permutation(n)
    return losses[order], truth[order]


def test_beta_mixture_against_loops():
    """Ten rounds of E and M in plain numbers, from α = [1, 2] and β = [2, 1]."""
    losses = (betas(60)[0] * 3 + 1).tolist()
    low, high = min(losses), max(losses)
    x = [min(max((v - low) / (high - low), 1e-4), 1 - 1e-4) for v in losses]
    alpha, beta, weight = [1.0, 2.0], [2.0, 1.0], [0.5, 0.5]

    def shares(v):
        joint = []
        for a, b, w in zip(alpha, beta, weight):
            area = math.gamma(a) * math.gamma(b) / math.gamma(a + b)
            joint.append(w * v ** (a - 1) * (1 - v) ** (b - 1) / area)
        return [j / sum(joint) for j in joint]

    for _ in range(10):
        every = [shares(v) for v in x]
        for k in range(2):
            total = sum(s[k] for s in every)
            mean = sum(s[k] * v for s, v in zip(every, x)) / total
            variance = sum(s[k] * (v - mean) ** 2 for s, v in zip(every, x)) / total
            alpha[k] = mean * (mean * (1 - mean) / variance - 1)
            beta[k] = alpha[k] * (1 - mean) / mean
            weight[k] = total / len(x)
    mixture = BetaMixture().fit(np.array(losses))
    assert mixture.alpha == pytest.approx(alpha, rel=1e-8)
    assert mixture.beta == pytest.approx(beta, rel=1e-8)
    assert mixture.weights == pytest.approx(weight, rel=1e-8)
    assert mixture.posterior(losses) == pytest.approx([shares(v)[0] for v in x], abs=1e-8)
    assert mixture.problem == ""
    for k in range(2):
        exact = stats.beta(alpha[k], beta[k])
        assert mixture.means[k] == pytest.approx(exact.mean())
        assert mixture.deviations[k] == pytest.approx(exact.std())


def test_gaussian_mixture_against_loops():
    """Two means, then E and M until the likelihood moves by less than 0.01, ten times at most."""
    losses = np.random.default_rng(1).exponential(2.0, 80).tolist()
    low, high = min(losses), max(losses)
    x = [(v - low) / (high - low) for v in losses]
    centres = [0.0, 1.0]
    for _ in range(100):
        side = [int(abs(v - centres[1]) < abs(v - centres[0])) for v in x]
        centres = [sum(v for v, s in zip(x, side) if s == k) / side.count(k) for k in range(2)]
    every = [[1.0 - s, float(s)] for s in side]

    def maximise():
        found = []
        for k in range(2):
            total = sum(s[k] for s in every)
            mean = sum(s[k] * v for s, v in zip(every, x)) / total
            variance = sum(s[k] * (v - mean) ** 2 for s, v in zip(every, x)) / total + 5e-4
            found.append((total / len(x), mean, variance))
        return found

    def densities(v, components):
        return [
            w / math.sqrt(2 * math.pi * s) * math.exp(-((v - m) ** 2) / (2 * s))
            for w, m, s in components
        ]

    components, before, rounds = maximise(), -math.inf, 0
    for _ in range(10):
        joint = [densities(v, components) for v in x]
        likelihood = sum(math.log(sum(j)) for j in joint) / len(x)
        every = [[each / sum(j) for each in j] for j in joint]
        components, rounds = maximise(), rounds + 1
        if abs(likelihood - before) < 1e-2:
            break
        before = likelihood
    assert 2 <= rounds < 10
    mixture = GaussianMixture().fit(losses)
    assert mixture.weights == pytest.approx([c[0] for c in components])
    assert mixture.means == pytest.approx([c[1] for c in components])
    assert mixture.deviations == pytest.approx([math.sqrt(c[2]) for c in components])
    expected = [d[0] / sum(d) for d in (densities(v, components) for v in x)]
    assert mixture.posterior(losses) == pytest.approx(expected, abs=1e-9)


@BOTH
@pytest.mark.parametrize("noisy", [0.2, 0.4, 0.6])
def test_known_mixtures_are_divided(kind, noisy):
    losses, truth = betas(4000, noisy)
    mixture = kind().fit(losses)
    clean = mixture.posterior(losses)
    assert clean.dtype == np.float64 and clean.shape == (4000,)
    assert ((clean > 0.5) == ~truth).mean() > 0.93
    assert mixture.weights.sum() == pytest.approx(1) and mixture.means[0] < mixture.means[1]
    assert mixture.problem == "" and mixture.separation > 2


def test_many_rounds_find_the_parameters(monkeypatch):
    """Ten rounds stop short of it; without a limit the moments come within a few percent."""
    losses, _ = betas(20000, 0.4, clean=(2, 12), other=(8, 4))
    first = BetaMixture().fit(losses).weights[1]
    monkeypatch.setattr(mixtures, "ITERATIONS", 300)
    mixture = BetaMixture().fit(losses)
    assert abs(mixture.weights[1] - 0.4) < 0.02 < abs(first - 0.4)
    assert mixture.means * (mixture.high - mixture.low) + mixture.low == pytest.approx(
        [2 / 14, 8 / 12], abs=0.02
    )


def test_normal_distributions_are_found():
    random = np.random.default_rng(2)
    losses = np.concatenate([random.normal(1, 0.2, 6000), random.normal(3, 0.5, 4000)])
    mixture = GaussianMixture().fit(losses)
    width = mixture.high - mixture.low
    assert mixture.means * width + mixture.low == pytest.approx([1, 3], abs=0.05)
    assert mixture.deviations * width == pytest.approx([0.2, 0.5], abs=0.1)
    assert mixture.weights == pytest.approx([0.6, 0.4], abs=0.01)


@BOTH
def test_scale_order_and_type_of_losses_do_not_matter(kind):
    losses, _ = betas(500)
    expected = kind().fit(losses).posterior(losses)
    assert kind().fit(5 * losses - 3).posterior(5 * losses - 3) == pytest.approx(expected, abs=1e-7)
    assert kind().fit(losses[::-1]).posterior(losses) == pytest.approx(expected, abs=1e-7)
    tensor = torch.tensor(losses, requires_grad=True)
    assert kind().fit(tensor).posterior(tensor) == pytest.approx(expected, abs=1e-12)


@BOTH
def test_a_fit_leaves_nothing_behind(kind):
    losses, _ = betas(500)
    mixture = kind().fit(np.ones(9)).fit(losses)
    assert mixture.problem == "" and mixture.posterior(losses).min() < 0.1
    mixture.fit(np.ones(9))
    assert mixture.problem and (mixture.posterior(losses) == 1).all()


@BOTH
def test_component_zero_has_the_lower_losses(kind, monkeypatch):
    losses, truth = betas(2000)
    if kind is BetaMixture:  # begins the other way round

        def start(self, x):
            self.weights = np.full(2, 0.5)
            self.alpha, self.beta = np.array([2, 1]), np.array([1, 2])
    else:

        def start(self, x):
            self._update(x, np.stack((x > 0.5, x <= 0.5)).astype(float))

    mixture = kind().fit(losses)
    expected = mixture.posterior(losses)
    monkeypatch.setattr(kind, "_start", start)
    turned = kind().fit(losses)
    assert turned.means == pytest.approx(mixture.means, abs=0.01)
    assert turned.posterior(losses) == pytest.approx(expected, abs=0.05)
    assert turned.posterior(losses)[truth].mean() < 0.2


@BOTH
def test_losses_beyond_those_fitted_count_as_the_nearest(kind):
    losses, _ = betas(500)
    mixture = kind().fit(losses)
    ends = mixture.posterior([losses.min(), losses.max()])
    assert (mixture.posterior([losses.min() - 5, losses.max() + 5]) == ends).all()


def test_beta_densities_are_taken_away_from_the_ends():
    """At exactly 0 and 1 a density is 0 or infinite; there is a posterior all the same."""
    losses = np.concatenate([np.zeros(300), betas(600)[0], np.ones(200)])
    mixture = BetaMixture().fit(losses)
    inside = mixture.posterior([1e-4, 1 - 1e-4])
    assert np.isfinite(mixture.posterior(losses)).all()
    assert mixture.posterior([0.0, 1.0]) == pytest.approx(inside, abs=1e-12)
    assert mixture.posterior([0.0])[0] > 0.9 and mixture.posterior([1.0])[0] < 0.1


# --- What is no division, or a bad one -----------------------------------------------------------


@BOTH
@pytest.mark.parametrize("losses", [np.full(50, 0.3), np.zeros(3), [2.0]])
def test_equal_losses_all_count_as_clean(kind, losses):
    mixture = kind().fit(losses)
    assert mixture.problem == (
        f"all {len(losses)} losses are {losses[0]:g}: no division, all count as clean"
    )
    assert (mixture.posterior(losses) == 1).all() and (mixture.posterior([7.0]) == 1).all()
    assert mixture.separation == 0 and mixture.means is None


@BOTH
def test_an_empty_component_is_no_division(kind, monkeypatch):
    losses, _ = betas(200)
    original = kind._update

    def update(self, x, share):
        original(self, x, share)
        self.weights = np.array([1 - 1e-9, 1e-9])

    monkeypatch.setattr(kind, "_update", update)
    mixture = kind().fit(losses)
    assert mixture.problem.startswith("a component holds 2e-07 of 200 losses: no division")
    assert (mixture.posterior(losses) == 1).all() and mixture.separation == 0


@BOTH
def test_a_single_large_loss_is_said_to_be_a_component(kind):
    losses = np.append(betas(3000)[0], 100.0)
    mixture = kind().fit(losses)
    assert mixture.problem == "a component holds 1.0 of 3001 losses"
    assert (mixture.posterior(losses) > 0.5).sum() == 3000


@BOTH
def test_two_values_are_two_components(kind):
    losses = np.repeat([0.2, 0.7], [60, 40])
    mixture = kind().fit(losses)
    assert (mixture.posterior(losses) > 0.5).tolist() == [True] * 60 + [False] * 40
    assert mixture.problem == "" and mixture.weights == pytest.approx([0.6, 0.4], abs=1e-3)


@BOTH
def test_clean_pairs_alone_are_hardly_separated(kind):
    """They are divided all the same; the separation is what tells."""
    losses = np.random.default_rng(0).normal(5, 1, 4000)
    assert kind().fit(losses).separation < 2 < kind().fit(betas(4000)[0]).separation


def test_the_separation_is_ashmans():
    mixture = BetaMixture().fit(betas(500)[0])
    mixture.means, mixture.deviations = np.array([0.2, 0.8]), np.array([0.1, 0.3])
    assert mixture.separation == pytest.approx(math.sqrt(2) * 0.6 / math.sqrt(0.01 + 0.09))


def test_a_posterior_on_the_wrong_side_is_said():
    """A wide component takes both ends: the lowest losses would count as noisy."""
    random = np.random.default_rng(0)
    losses = random.beta(2, 10, 5000)
    mixture = BetaMixture().fit(losses)
    x, clean = mixture._scaled(losses), mixture.posterior(losses) > 0.5
    wrong = sum(
        (c and v > mixture.means[1]) or (not c and v < mixture.means[0]) for v, c in zip(x, clean)
    )
    assert wrong > 50 and mixture.problem.startswith(f"{wrong} of 5000 losses count as noisy below")


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@BOTH
def test_losses_that_are_not_finite_are_refused(kind, value):
    losses = np.ones(5)
    losses[[2, 4]] = value
    with pytest.raises(ValueError, match=rf"losses\[2\] is {value} \(2 of 5 are not finite\)"):
        kind().fit(losses)
    mixture = kind().fit(betas(50)[0])
    with pytest.raises(ValueError, match=r"losses\[2\]"):
        mixture.posterior(losses)


@BOTH
@pytest.mark.parametrize("losses", [[], np.ones((3, 2)), 1.0])
def test_losses_of_another_shape_are_refused(kind, losses):
    with pytest.raises(ValueError, match=r"losses must be \(N,\)"):
        kind().fit(losses)


@BOTH
def test_a_mixture_is_fitted_first(kind):
    with pytest.raises(ValueError, match="fit the mixture first"):
        kind().posterior([0.5])


@BOTH
def test_a_training_split_takes_less_than_a_second(kind):
    losses, _ = betas(145_000)
    began = time.process_time()  # not that of others
    kind().fit(losses).posterior(losses)
    assert time.process_time() - began < 1
