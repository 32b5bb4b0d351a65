"""Wrong versions of what CoV-Align's notebooks show; every one must fail its test file."""

FILE, TESTS = "papers/covalign/show.py", "test_covalign_show.py"

MUTANTS = [
    (name, FILE, snippet, replacement, TESTS)
    for name, snippet, replacement in [
        ("differences: the other way", "wide[row] - wide[other]", "wide[other] - wide[row]"),
        (
            "differences: of means",
            "(wide[row] - wide[other]).dropna()",
            "wide[row] - wide[other].mean()",
        ),
        (
            "ladder: from the baseline",
            '[(arm, "regions") for arm in named if arm != "regions"]',
            '[(arm, "global") for arm in named if arm != "global"]',
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
            "regions: in the order of names",
            'return found.sort_values("N_q", ignore_index=True)',
            "return found",
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
            '(listed.role == "report") & (listed.seed == seed)]\n        dataset',
            '(listed.role == "report")][::-1]\n        dataset',
        ),
        (
            "maps: columns and rows exchanged",
            "attention, (y, x) = look.attention, np.divmod(",
            "attention, (x, y) = look.attention, np.divmod(",
        ),
        ("maps: the last phrase", "for each in reversed(found)", "for each in found"),
        ("inside: in units of the box", "mean / even", "mean"),
        (
            "trials: of one tuning seed",
            "for each in mine])\n            kept",
            "for each in mine[:1]])\n            kept",
        ),
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
    ]
]
PHRASES = [
    ("phrase: ing words end it at once", "i > 1 and word.lower()", "word.lower()"),
    ("phrase: no end", "if i and ends or i == LONGEST:", "if i == LONGEST:"),
    ("phrase: the end belongs to it", '" ".join(words[:i])', '" ".join(words[: i + 1])'),
    ("phrase: relations too", 'dataset.phrases[dataset.phrases.kind == "noun"]', "dataset.phrases"),
    ("pieces: the mark is one", "        1 + i\n", "        i\n"),
    (
        "looks: the farthest region",
        'torch.einsum("nqd,nd->nq", regions.vectors[own], mean).max(1)',
        'torch.einsum("nqd,nd->nq", regions.vectors[own], mean).min(1)',
    ),
    (
        "looks: the first region's attention",
        "regions.attention[own, region]",
        "regions.attention[own, 0]",
    ),
    ("inside: a patch beside the box counts", ".clamp(min=0))", ".abs())"),
    ("inside: rows across", "((1, grid[0]), (0, grid[1]))", "((0, grid[0]), (1, grid[1]))"),
    ("inside: not weighted", "(found.attention * boxes).sum(1)", "boxes.sum(1)"),
]
MUTANTS += [
    (name, "papers/covalign/phrases.py", snippet, replacement, "test_phrases.py")
    for name, snippet, replacement in PHRASES
]
