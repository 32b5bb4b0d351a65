"""Wrong versions of `alignbook.papers.gsl.identification`."""

MUTANTS = {
    "test_coteaching.py": [
        # How well the noise was found.
        ("AUC: off by n", "n * (n + 1) / 2", "n * (n - 1) / 2"),
        ("AUC: ties in any order", "rankdata(values)", 'rankdata(values, "ordinal")'),
        (
            "identification: p at δ is clean",
            'p <= delta, noisy), ("clean", p > delta',
            'p < delta, noisy), ("clean", p >= delta',
        ),
        (
            "identification: the smaller p for the mean",
            "posterior.mean(0))):",
            "posterior.min(0))):",
        ),
        (
            "identification: precision and recall exchanged",
            '("precision", said.sum()), ("recall", true.sum())',
            '("recall", said.sum()), ("precision", true.sum())',
        ),
        (
            "course: noise at δ is not found",
            "posterior[:, noisy] <= delta)",
            "posterior[:, noisy] < 0)",
        ),
        (
            "course: all pairs for the clean ones",
            "_mean(posterior[:, ~noisy] > delta)",
            "_mean(posterior > delta)",
        ),
        (
            "course: own captions one after another",
            "scores.unflatten(1, (n, each)).diagonal()",
            "scores.unflatten(1, (each, n)).diagonal(dim1=0, dim2=2)",
        ),
        ("course: the last part alone", "in scores.split(256))", "in scores.split(2)[-1:])"),
        (
            "course: the spread of all scores",
            "max(of_others(lambda x: (x - mean) ** 2), 0.0) ** 0.5",
            "float(scores.double().std(correction=0))",
        ),
        ("division: AUC of network A", "auc(posterior.mean(0), clean)", "auc(posterior[0], clean)"),
        (
            "division: labels that both have",
            "known = ~np.isnan(labels).all(0)",
            "known = ~np.isnan(labels).any(0)",
        ),
        (
            "division: sums of labels",
            "np.nansum(labels, axis=0) / times",
            "np.nansum(labels, axis=0)",
        ),
    ]
}
