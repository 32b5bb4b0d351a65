"""Wrong versions of `alignbook.papers.chan.cost`."""

MUTANTS = {
    "test_chan_cost.py": [
        ("ms: seconds left as they are", "alone = 1e3 * m.comparing", "alone = m.comparing"),
        ("ms: encoding over the pairs that were compared", "(m.images * m.captions)", "m.pairs"),
        ("ms: encoding forgotten", "alone + 1e3 * m.encoding", "alone + 0 * m.encoding"),
        (
            "product: the other way round",
            'm.comparing / m["product"]',
            'm["product"] / m.comparing',
        ),
        ("product: blocks skipped", "in words.split(BLOCK[0])", "in words.split(BLOCK[0])[1:]"),
        ("rows: attended vectors are never built", 'if not row.startswith("soft-")', "if True"),
        (
            "rows: by K, Gram matrices for attended vectors",
            'not row.startswith("soft-") or row == "soft-gram"',
            'row != "soft-attended"',
        ),
        ("÷ hard: of another seed", "found.seed.map(hard[column])", "hard[column].iloc[0]"),
        ("pairs: all captions are compared", "words[:most], lengths[:most]", "words, lengths"),
        ("rows: SGR as long as hard coding", "hard.assign(arm=kind)", "hard"),
        ("wide: in units of the slowest", "each / each[0]", "each / each.max()"),
        ("wide: the Gram form twice", 'if row == "soft-attended"', 'if row == "soft-twice"'),
    ]
}
