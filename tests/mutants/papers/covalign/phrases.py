"""Wrong versions of `alignbook.papers.covalign.phrases`."""

MUTANTS = {
    "test_phrases.py": [
        ("phrase: ing words end it at once", "i > 1 and word.lower()", "word.lower()"),
        ("phrase: no end", "if i and ends or i == LONGEST:", "if i == LONGEST:"),
        ("phrase: the end belongs to it", '" ".join(words[:i])', '" ".join(words[: i + 1])'),
        (
            "phrase: relations too",
            'dataset.phrases[dataset.phrases.kind == "noun"]',
            "dataset.phrases",
        ),
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
}
