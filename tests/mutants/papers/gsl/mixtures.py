"""Wrong versions of `alignbook.papers.gsl.mixtures`."""

MUTANTS = {
    "test_mixtures.py": [
        # What both have in common.
        ("one round more", "ITERATIONS = 10", "ITERATIONS = 11"),
        (
            "scaled by the largest alone",
            "super()._scaled(losses).clip(EDGE,",
            "np.clip(losses / self.high, EDGE,",
        ),
        (
            "losses beyond are not held back",
            "(self.high - self.low), 0, 1)",
            "(self.high - self.low), -9, 9)",
        ),
        (
            "shares are 0 or 1",
            "self._update(x, np.exp(joint - likelihood))  # type",
            "self._update(x, np.exp(joint - likelihood).round())  # type",
        ),
        ("never stops early", "            before = likelihood.mean()\n", ""),
        ("components in any order", "if self.means[0] > self.means[1]:", "if False:"),
        ("an empty component divides", "if smaller < 0.5:", "if smaller < 0:"),
        ("small components aren't told", "FEW = 0.01", "FEW = 1e-4"),
        (
            "a fit keeps the last division",
            'self.weights, self.means, self.deviations = "", None, None, None',
            'self.separated = "", None',
        ),
        ("noisy below the clean isn't told", " | (~clean & (x < self.means[0]))", ""),
        (
            "wrong sides: means exchanged",
            "(x > self.means[1])) | (~clean & (x < self.means[0]))",
            "(x > self.means[0])) | (~clean & (x < self.means[1]))",
        ),
        ("posterior of the noisy", "expit(clean - noisy)", "expit(noisy - clean)"),
        (
            "undivided counts as noisy",
            "return np.ones(len(losses))",
            "return np.zeros(len(losses))",
        ),
        (
            "separation by the mean deviation",
            "np.sqrt(np.mean(self.deviations**2))",
            "np.mean(self.deviations)",
        ),
        ("NaN passes", "~np.isfinite(x)", "np.isinf(x)"),
        ("means not by shares", "share @ x / total", "share @ x / len(x)"),
        ("variance about 0", "(share * (x - means[:, None]) ** 2)", "(share * x**2)"),
        # Beta distributions.
        ("beta: edges of a hundredth", "EDGE = 1e-4", "EDGE = 1e-2"),
        ("beta: one edge only", ".clip(EDGE, 1 - EDGE)", ".clip(EDGE, 1)"),
        (
            "beta: starts uneven",
            "np.full(2, 0.5), np.array([1, 2])",
            "np.array([0.9, 0.1]), np.array([1, 2])",
        ),
        (
            "beta: α and β exchanged",
            "(a - 1) * np.log(x) + (b - 1) * np.log1p(-x)",
            "(b - 1) * np.log(x) + (a - 1) * np.log1p(-x)",
        ),
        ("beta: densities without their area", " - betaln(a, b)", ""),
        ("beta: weights of no account", "np.log(self.weights)[:, None] + density", "density"),
        ("beta: α without − 1", "(m * (1 - m) / v - 1)", "(m * (1 - m) / v)"),
        ("beta: β the other way round", "self.alpha * (1 - m) / m", "self.alpha * m / (1 - m)"),
        ("beta: variance of 0", "np.maximum(v, EDGE**2)", "v * 1"),
        ("beta: variance for deviation", "m, np.sqrt(v)", "m, v"),
        # Normal distributions.
        ("normal: starts from the middle", "while threshold != before:", "while before is None:"),
        (
            "normal: density without its width",
            "np.log(self.weights / self.deviations)",
            "np.log(self.weights)",
        ),
        ("normal: density without a half", "apart**2 / 2", "apart**2"),
        ("normal: scikit-learn's least variance", "np.sqrt(v + 5e-4)", "np.sqrt(v + 1e-6)"),
    ]
}
