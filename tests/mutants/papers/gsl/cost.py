"""Wrong versions of `alignbook.papers.gsl.cost`."""

MUTANTS = {
    "test_gsl_arms.py": [
        (
            "cost: noisy pairs are predicted in late epochs alone",
            "predicting = own.predicts *",
            "predicting = 0 *",
        )
    ],
    "test_coteaching.py": [
        # What it costs.
        ("cost: weights move", "parameters(), lr=0.0,", "parameters(), lr=0.1,"),
        (
            "cost: the least likely are clean",
            "argsort(descending=True).numpy()",
            "argsort().numpy()",
        ),
        (
            "cost: all pairs are clean",
            "parts = order[: len(order) // 2], order[len(order) // 2 :]",
            "parts = order, order[:0]",
        ),
        (
            "cost: the own division",
            "judge = 1 - k if self.config.split",
            "judge = k if self.config.split",
        ),
        (
            "cost: early steps are late",
            "partial(bench.train, late=late)",
            "partial(bench.train, late=True)",
        ),
        ("cost: the first round counts", "np.median(corrected[1:])", "np.median(corrected)"),
    ],
}
