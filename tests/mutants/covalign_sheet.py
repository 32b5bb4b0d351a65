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
    (
        "parsed: the first caption alone",
        "numbers = (rows[:, None] * each + np.arange(each))",
        "numbers = (rows[:, None] * each + np.arange(1))",
    ),
    (
        "parsed: tokens for words",
        "len(caption[:end].split()) - 1 for end in ends",
        "i for i in tokens",
    ),
    ("parsed: the word before", "doc[i].idx + 1 for i in tokens", "doc[i].idx for i in tokens"),
    ("parsed: by the rough rule", "if parser else beginnings", "if not parser else beginnings"),
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
    (
        "phrases: another parser's in the same folder",
        "workbook/folders.py",
        "- needed - taken",
        "- needed",
        "test_command_line.py",
    ),
    (
        "phrases: a parser that nobody asked for",
        "workbook/folders.py",
        '    taken &= {*settings["set"]}\n',
        "",
        "test_command_line.py",
    ),
    (
        "phrases: the world's are parsed",
        "papers/covalign/inputs.py",
        'if book.kind != "world" and named.is_there',
        "if named.is_there",
        "test_covalign_arms.py",
    ),
    (
        "phrases: of a pipeline that is not there",
        "papers/covalign/inputs.py",
        'if book.kind != "world" and named.is_there',
        'if book.kind != "world"',
        "test_covalign_arms.py",
    ),
    *(
        (f"one thing: {name}", "backbones/noun_phrases.py", snippet, wrong, "test_noun_phrases.py")
        for name, snippet, wrong in (
            ("plurals too", " and tree.tags[noun] in SINGULAR", ""),
            ("parts of a compound too", "if noun not in inner and tree", "if tree"),
            ("places too", " and not _is_place(tree, noun)", ""),
            ("any side is a place", 'and tree.words[i + 1 : i + 2] == ["of"]', ""),
            ("bare nouns", "whole(tree, set.union(*noun_phrase(tree, i)))", "whole(tree, {i})"),
        )
    ),
]
MUTANTS += [
    (name, "papers/covalign/phrases.py", snippet, replacement, "test_phrases.py")
    for name, snippet, replacement in PHRASES
]
