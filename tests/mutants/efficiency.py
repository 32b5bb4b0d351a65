"""Wrong accounts of time and memory; every one must fail its test file."""

FILE, TESTS = "papers/chan/cost.py", "test_chan_cost.py"
CLOCK = "store/stopwatch.py"

MUTANTS = (
    [
        (name, FILE, snippet, replacement, TESTS)
        for name, snippet, replacement in [
            ("ms: seconds left as they are", "alone = 1e3 * m.comparing", "alone = m.comparing"),
            (
                "ms: encoding over the pairs that were compared",
                "(m.images * m.captions)",
                "m.pairs",
            ),
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
    ]
    + [
        (name, CLOCK, snippet, replacement, TESTS)
        for name, snippet, replacement in [
            ("arms: trials are measured", 'listed[listed.role == "report"]', "listed"),
            (
                "order: row by row",
                'sort_values("seed", kind="stable")',
                'sort_values("arm", kind="stable")',
            ),
            (
                "kept: whatever the runs",
                'if found[["row", "seed", "run"]].values.tolist()',
                "if True or found.values.tolist()",
            ),
            ("kept: nothing", "if file.exists():", "if False:"),
        ]
    ]
    + [
        (name, CLOCK, snippet, replacement, "test_stopwatch.py")
        for name, snippet, replacement in [
            (
                "rounds: the warm-up counts",
                "spent, result = [], work()",
                "t = time.perf_counter(); result = work(); spent = [time.perf_counter() - t]",
            ),
            ("rounds: mean for median", "float(np.median(spent))", "float(np.mean(spent))"),
            (
                "memory: what stands, not the peak",
                'resident("VmHWM") - self.before',
                'resident("VmRSS") - self.before',
            ),
            ("memory: the peak is not reset", 'clear.write_text("5")', "clear.exists()"),
            (
                "memory: freed memory stays",
                "            give_back()\n            clear",
                "            clear",
            ),
        ]
    ]
)
