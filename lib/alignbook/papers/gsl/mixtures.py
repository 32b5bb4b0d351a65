"""Clean or noisy by the loss: mixtures of two components, of beta or of normal distributions.

The per-sample losses of a training set, scaled to [0, 1] by their smallest and largest, are taken
for a mixture of clean pairs, with the lower losses, and noisy ones; p(clean | loss) divides them.
Expectation and maximisation take turns ten times. The public code of BiCro (beta) and of NCR
(normal) does so [X]; tags are those of docs/README.md.
"""

import numpy as np
import torch
from scipy.special import betaln, expit

ITERATIONS = 10  # [X]
EDGE = 1e-4  # beta densities are taken this far from 0 and 1 at least [X]
FEW = 0.01  # a share of the losses below which nothing is said [A]


class _Mixture:
    """What both have in common. Component 0 is the one with the lower mean.

    Attributes
    ----------
    weights, means, deviations : (2,) float
        Of the components, on the scale of losses in [0, 1]; None without a division.
    problem : str
        Empty, or why there is no division or it isn't to be trusted: to be stored beside results.
    """

    weights = means = deviations = problem = None
    tolerance = 0.0  # stop once the mean log-likelihood moves by less; 0: never

    def fit(self, losses):
        """Losses `(N,)`, array or tensor → this mixture.

        Two components are fitted to whatever comes: losses of clean pairs alone are divided too,
        into overlapping parts, and only `separation` tells. Where nothing can be divided (all
        losses equal, or a component without any) `problem` says so and all count as clean [A]. The
        division stands, but `problem` says it too, where a component holds less than 1 % of the
        losses, or more than 1 % are on the wrong side: a wide component takes both ends.

        Raises
        ------
        ValueError
            No losses, not one number each, or one that is NaN or infinite: it names the row.
        """
        losses = _checked(losses)
        n = len(losses)
        self.problem, self.weights, self.means, self.deviations = "", None, None, None
        self.low, self.high = losses.min(), losses.max()
        if not self.high > self.low:
            self.problem = f"all {n} losses are {self.low:g}: no division, all count as clean"
            return self
        x = self._scaled(losses)
        self._start(x)  # type: ignore[attr-defined]
        before = -np.inf
        for _ in range(ITERATIONS):
            joint = self._log_joint(x)  # type: ignore[attr-defined]
            likelihood = np.logaddexp(*joint)
            self._update(x, np.exp(joint - likelihood))  # type: ignore[attr-defined]
            if abs(likelihood.mean() - before) < self.tolerance:
                break
            before = likelihood.mean()
        if self.means[0] > self.means[1]:
            self._update(x, np.exp(joint - likelihood)[::-1])  # type: ignore[attr-defined]
        smaller = self.weights.min() * n  # type: ignore[attr-defined]
        if smaller < 0.5:
            self.problem = (
                f"a component holds {smaller:.1g} of {n} losses: no division, all count as clean"
            )
            self.weights = self.means = self.deviations = None
            return self
        clean = self.posterior(losses) > 0.5
        crossed = ((clean & (x > self.means[1])) | (~clean & (x < self.means[0]))).sum()
        if smaller < FEW * n:
            self.problem = f"a component holds {smaller:.1f} of {n} losses"
        elif crossed > FEW * n:
            self.problem = (
                f"{crossed} of {n} losses count as noisy below the mean of the clean, "
                "or as clean above that of the noisy"
            )
        return self

    def posterior(self, losses) -> np.ndarray:
        """p(clean | loss) of losses `(N,)`, float64; beyond those fitted, that of the nearest.

        Raises ValueError as `fit` does, and before `fit`.
        """
        if self.problem is None:
            raise ValueError("fit the mixture first: it has seen no losses")
        losses = _checked(losses)
        if self.weights is None:
            return np.ones(len(losses))
        clean, noisy = self._log_joint(self._scaled(losses))
        return expit(clean - noisy)

    @property
    def separation(self) -> float:
        """|μ₁ − μ₀| / √((σ₀² + σ₁²) / 2), Ashman's D: two groups are plain above 2; 0 undivided."""
        if self.weights is None:
            return 0.0
        return float(np.diff(self.means)[0] / np.sqrt(np.mean(self.deviations**2)))

    def _scaled(self, losses):
        return np.clip((losses - self.low) / (self.high - self.low), 0, 1)


class BetaMixture(_Mixture):
    """Two beta distributions, fitted by their moments.

    Examples
    --------
    >>> random = np.random.default_rng(0)
    >>> losses = np.concatenate([random.beta(2, 18, 600), random.beta(14, 5, 400)])
    >>> mixture = BetaMixture().fit(losses)
    >>> mixture.weights.round(1), mixture.means.round(1), mixture.problem
    (array([0.6, 0.4]), array([0.1, 0.8]), '')
    >>> mixture.posterior([0.1, 0.9]).round(1)
    array([1., 0.])
    """

    def _start(self, x):
        self.weights, self.alpha, self.beta = np.full(2, 0.5), np.array([1, 2]), np.array([2, 1])

    def _scaled(self, losses):
        return super()._scaled(losses).clip(EDGE, 1 - EDGE)

    def _log_joint(self, x):
        """log(weight · density) `(2, N)`."""
        a, b = self.alpha[:, None], self.beta[:, None]
        density = (a - 1) * np.log(x) + (b - 1) * np.log1p(-x) - betaln(a, b)
        return np.log(self.weights)[:, None] + density

    def _update(self, x, share):
        """Shares `(2, N)` → α = m (m (1 − m) / v − 1), β = α (1 − m) / m of each one's moments."""
        self.weights, m, v = _moments(x, share)
        v = np.maximum(v, EDGE**2)  # where a component's losses are equal [A]
        self.means, self.deviations = m, np.sqrt(v)
        self.alpha = m * (m * (1 - m) / v - 1)
        self.beta = self.alpha * (1 - m) / m


class GaussianMixture(_Mixture):
    """Two normal distributions, as scikit-learn fits them with NCR's settings [X].

    They start from the losses nearer to one and to the other of two means, which start from the
    smallest and the largest loss and move until nothing changes sides [A].

    >>> losses = [0.0, 0.1, 0.2, 4.9, 5.0]
    >>> GaussianMixture().fit(losses).posterior(losses).round(2)
    array([1., 1., 1., 0., 0.])
    """

    tolerance = 1e-2  # [X]

    def _start(self, x):
        threshold, before = 0.5, None
        while threshold != before:
            below = x <= threshold
            threshold, before = (x[below].mean() + x[~below].mean()) / 2, threshold
        self._update(x, np.stack((below, ~below)).astype(float))

    def _log_joint(self, x):
        """log(weight · density) `(2, N)`, but for a term that both have."""
        apart = (x - self.means[:, None]) / self.deviations[:, None]
        return np.log(self.weights / self.deviations)[:, None] - apart**2 / 2

    def _update(self, x, share):
        self.weights, self.means, v = _moments(x, share)
        self.deviations = np.sqrt(v + 5e-4)  # [X]


def _moments(x, share):
    """Weights, means and variances `(2,)` of the components, from their shares `(2, N)`."""
    total = share.sum(1) + 1e-15 * len(x)
    means = share @ x / total
    return total / total.sum(), means, (share * (x - means[:, None]) ** 2).sum(1) / total


def _checked(losses) -> np.ndarray:
    """Losses as `(N,) float64`, all of them finite."""
    if isinstance(losses, torch.Tensor):
        losses = losses.detach().cpu()
    x = np.asarray(losses, np.float64)
    if x.ndim != 1 or not len(x):
        raise ValueError(f"losses must be (N,), one a sample, not of shape {x.shape}")
    wrong = np.flatnonzero(~np.isfinite(x))
    if wrong.size:
        raise ValueError(
            f"losses[{wrong[0]}] is {x[wrong[0]]} ({wrong.size} of {len(x)} are not finite)"
        )
    return x
