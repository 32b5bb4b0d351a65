"""Wrong versions of what shows a run as it goes; every one must fail its test file."""

MUTANTS = [
    (*each, "test_live.py")
    for each in [
        (
            "events: half a line is read",
            "workbook/graph.py",
            'if line.endswith(b"\\n"):',
            "if True:",
        ),
        (
            "events: the target counts as a job",
            "workbook/graph.py",
            ' - self.waiting.pop("all", 0)',
            "",
        ),
        (
            "states: of jobs that ended",
            "workbook/live.py",
            "unlink(missing_ok=True)\n                if self.far",
            "exists()\n                if self.far",
        ),
        (
            "lines: silent for longer",
            "workbook/live.py",
            "if now - self.last < SILENCE:",
            "if now - self.last < 2 * SILENCE:",
        ),
        (
            "lines: not flushed",
            "workbook/live.py",
            "sys.stdout, flush=True)\n        self.last",
            "sys.stdout)\n        self.last",
        ),
        (
            "labels: control characters",
            "workbook/live.py",
            'each if each.isprintable() else " "',
            "each",
        ),
        (
            "bars: what they leave is shown",
            "workbook/live.py",
            "if over and (not line.strip() or BAR.search(line)):",
            "if False:",
        ),
        ("jobs: write at every step", "store/progress.py", 'or now < _told["at"] + BETWEEN', ""),
        (
            "left: what was measured doesn't count",
            "workbook/timeleft.py",
            "* min(max(factor, overall / WRONG), overall * WRONG)",
            "",
        ),
        (
            "left: what is late ends at once",
            "workbook/timeleft.py",
            "rest = still(whole, gone)",
            "rest = max(whole - gone, 0.1 * whole)",
        ),
        (
            "left: what was kept counts as speed",
            "workbook/timeleft.py",
            "return sum(parts[kept:]) / sum(parts)",
            "return 1.0",
        ),
        (
            "left: what is done counts with what was kept",
            "workbook/timeleft.py",
            "sum(parts[kept:done]) / sum(parts[kept:])",
            "sum(parts[:done]) / sum(parts)",
        ),
        (
            "told: all parts that are done were kept",
            "store/progress.py",
            'if not _told["shown"]:',
            "if True:",
        ),
        (
            "left: towers see nothing",
            "workbook/timeleft.py",
            'TOWERS * images if p.base == "photo-pretrained" else 0.0',
            "0.0",
        ),
        (
            "left: towers of any base",
            "workbook/timeleft.py",
            'if p.base == "photo-pretrained" else 0.0',
            "",
        ),
        (
            "left: nobody waits for anybody",
            "workbook/timeleft.py",
            "if job[2].isdisjoint(lacking)]",
            "]",
        ),
    ]
]
MUTANTS += [
    (name, "workbook/execute.py", snippet, wrong, "test_execute.py")
    for name, snippet, wrong in [
        ("kernels: tried once", "if not left:", "if True:"),
        ("kernels: tried whatever was wrong", "if NEVER_BEGAN not in str(error):", "if False:"),
        ("copies: written at every cell", ">= SECONDS", ">= 0"),
        (
            "copies: not written at the end",
            "                nb_man.save = save",
            "                pass",
        ),
    ]
]
