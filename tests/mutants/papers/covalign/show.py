"""Wrong versions of `alignbook.papers.covalign.show`."""

MUTANTS = {
    "test_covalign_show.py": [
        ("the reference's sum for its recall", 'reference, "i2t R@1")', "reference)"),
        ("differences: the other way", "wide[row] - wide[other]", "wide[other] - wide[row]"),
        (
            "differences: of means",
            "(wide[row] - wide[other]).dropna()",
            "wide[row] - wide[other].mean()",
        ),
        (
            "ladder: from the baseline",
            '[(arm, "regions") for arm in NAMES if arm != "regions"]',
            '[(arm, "global") for arm in NAMES if arm != "global"]',
        ),
        (
            "costs: a whole interval",
            "(high - low) / 2}\n        lines",
            "high - low}\n        lines",
        ),
        ("costs: in the order they came", "return found.loc[order].dropna", "return found.dropna"),
        (
            "scale: halved with Adam for SGD",
            '("sgd-global-2", "sgd-global-2-halved")',
            '("sgd-global-2", "global-2-halved")',
        ),
        (
            "regions: what was not run is left out",
            'for row in EXHIBITS["covalign-T3"].names():',
            "for row in known.groups:",
        ),
        (
            "regions: the kept for the spread",
            "own = metrics[metrics.column == column].groupby",
            'own = metrics[metrics.column == "RSUM"].groupby',
        ),
        (
            "even attention: not normalised",
            "torch.full((1, 1, n), 1 / n)",
            "torch.eye(n)[None, :1]",
        ),
        (
            "spread: of every column",
            '(metrics.row == arm) & (metrics.column == "spread")',
            "(metrics.row == arm)",
        ),
        (
            "maps: of any seed",
            '(listed.role == "report") & (listed.seed == seed)]\n        _',
            '(listed.role == "report")][::-1]\n        _',
        ),
        (
            "maps: columns and rows exchanged",
            "attention, (y, x) = look.attention, np.divmod(",
            "attention, (x, y) = look.attention, np.divmod(",
        ),
        ("maps: the last phrase", "for each in reversed(found)", "for each in found"),
        ("inside: in units of the box", "mean / even", "mean"),
        (
            "maps: another scale each",
            "vmax=100 * most, alpha=0.65",
            "vmax=100 * own.attention.max(), alpha=0.65",
        ),
        (
            "maps: frames of what is left out",
            "own[own.kept].itertuples()",
            "own[~own.kept].itertuples()",
        ),
        ("table: regions from 0", ".assign(region=found.region + 1)", ""),
    ],
    "test_figures.py": [
        ("figures: another scale for each arm's map", "vmin=0, vmax=100 * most,", "")
    ],
}
