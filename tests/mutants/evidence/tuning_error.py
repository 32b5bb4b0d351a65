"""Wrong versions of `alignbook.evidence.tuning_error`."""

MUTANTS = {
    "test_tuning_error.py": [
        ("ties without pairs", "sd / np.sqrt(len(behind))", "sd"),
        ("a spread of one of two", "np.sqrt(2) * spread", "spread"),
        ("the variance over k", "np.var(tied, ddof=1)", "np.var(tied)"),
        ("weights are not squared", "weight**2 * variances", "abs(weight) * variances"),
        ("recalls count whole", "1 / RECALLS if", "1.0 if"),
        ("one choice for all targets", "own if own in known else", "own if False else"),
        (
            "edges: of the candidate that is worst",
            ".dev_rsum.mean().idxmax()",
            ".dev_rsum.mean().idxmin()",
        ),
        ("edges: the least alone", "own not in (min(values), max(values))", "own != max(values)"),
        ("each arm has a choice", "(same or {}).get(own, own)", "own"),
        (
            "every arm has one choice",
            "first.setdefault(tuple(sorted(table)), arm)",
            "first.setdefault(0, arm)",
        ),
        ("each column has a choice", "weights.get(arm, 0.0) + slope", "slope"),
    ]
}
