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
        ("phrase: ing words end it at once", "i > 1 and word.lower()", "word.lower()"),
        ("phrase: no end", "if i and ends or i == LONGEST:", "if i == LONGEST:"),
        ("phrase: the end belongs to it", '" ".join(words[:i])', '" ".join(words[: i + 1])'),
        ("maps: [CLS] is a word of the phrase", "words[i, 1 : 1 + length]", "words[i, :length]"),
        ("maps: the farthest region", "int(cosines.argmax())", "int(cosines.argmin())"),
        (
            "maps: the first region's attention",
            "attention = regions.attention[i, q]",
            "attention = regions.attention[i, 0]",
        ),
        (
            "maps: of any seed",
            '(listed.role == "report") & (listed.seed == seed)]\n        inputs',
            '(listed.role == "report")][::-1]\n        inputs',
        ),
        ("maps: columns and rows exchanged", "y, x = np.divmod(", "x, y = np.divmod("),
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
