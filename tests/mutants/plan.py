"""Wrong versions of what the papers' own settings cost; every one must fail its test file."""

TESTS = "test_plan.py"

MUTANTS = [
    (name, file, snippet, replacement, TESTS)
    for name, file, snippet, replacement in [
        (
            "the shortest first",
            "workbook/plan.py",
            "ready = [(-jobs[name][0], number[name], name)",
            "ready = [(jobs[name][0], number[name], name)",
        ),
        (
            "the sum of all jobs",
            "workbook/plan.py",
            "        now, _, ended = heapq.heappop(running)",
            "        now, _, ended = now - longest, i, heapq.heappop(running)[2]",
        ),
        (
            "seeds do not wait for trials",
            "workbook/plan.py",
            "{each for each in after if each in jobs}",
            "set()",
        ),
        (
            "trials after seeds",
            "show/gpu_hours.py",
            "Training(name, work.times(longer), tuple(trials), kind)",
            "Training(name, work.times(longer), (), kind)",
        ),
        (
            "one more at a time than there are GPUs",
            "workbook/plan.py",
            "len(running) < gpus",
            "len(running) <= gpus",
        ),
        (
            "what exhibits share counts again",
            "workbook/plan.py",
            "{key: found[key] for key in found if key not in known})\n    return made",
            "found)\n    return made",
        ),
        (
            "data sets share runs",
            "workbook/plan.py",
            "return {(data, paper, each.name): each for each in found}",
            'return {("", paper, each.name): each for each in found}',
        ),
        (
            "similarities in bf16 too",
            "show/gpu_hours.py",
            'work.others / rate("float32", card)',
            "work.others / rate(precision, card)",
        ),
        ("the whole peak", "show/gpu_hours.py", "else REACHED)", "else 1)"),
        (
            "a control as short as what it controls",
            "show/gpu_hours.py",
            "work.times(longer)",
            "work",
        ),
        (
            "a single candidate is tried",
            "show/gpu_hours.py",
            "tried if len(tried) > 1 else ()",
            "tried",
        ),
        (
            "primary claims last",
            "workbook/first.py",
            "for primary in (True, False):",
            "for primary in (False, True):",
        ),
        ("beyond the budget", "workbook/first.py", "+ nearest.hours > budget", "> budget"),
        (
            "the dearest claim first",
            "workbook/first.py",
            "key=lambda each: each.hours",
            "key=lambda each: -each.hours",
        ),
        (
            "what was trained costs again",
            "workbook/first.py",
            "            known |= own.pop(nearest.claim).keys()",
            "            own.pop(nearest.claim)",
        ),
        (
            "a claim of columns without a target",
            "workbook/first.py",
            'target if target in TARGETS else ""',
            '""',
        ),
        (
            "chan: the ninth's first candidate counts again",
            "papers/chan/hours.py",
            "if arm == NINTH and len(tried) > 3:",
            "if False:",
        ),
        (
            "chan: the profile's own number of regions counts again",
            "papers/chan/hours.py",
            "name = of if regions == profile.chan_regions else arm",
            "name = arm",
        ),
        (
            "comalign: ablations have trials of their own",
            "papers/comalign/hours.py",
            'SAME.get(row, row), "image side"',
            "SAME.get(row, row), SAME.get(row, row)",
        ),
        (
            "gsl: a warm-up for every method",
            "papers/gsl/hours.py",
            'start = f"warm-up, {loss} at',
            'start = f"warm-up, {method} at',
        ),
        (
            "gsl: trials at every rate",
            "papers/gsl/hours.py",
            '[f"{tried} {i} at {RATE}" for i in range(trials)]',
            '[f"{tried} {i} at {rate}" for i in range(trials)]',
        ),
        (
            "gsl: a warm-up of its own where all have it",
            "papers/gsl/hours.py",
            'same |= arm in OWN_WARM_UP and profile.gsl_warm_up == "own"',
            "same |= False",
        ),
    ]
]
