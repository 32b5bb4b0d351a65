"""Wrong versions of `alignbook.workbook.running.live`."""

MUTANTS = {
    "test_live.py": [
        (
            "states: of jobs that ended",
            "unlink(missing_ok=True)\n                if self.far",
            "exists()\n                if self.far",
        ),
        (
            "lines: silent for longer",
            "if now - self.last < SILENCE:",
            "if now - self.last < 2 * SILENCE:",
        ),
        (
            "lines: not flushed",
            "sys.stdout, flush=True)\n        self.last",
            "sys.stdout)\n        self.last",
        ),
        ("labels: control characters", 'each if each.isprintable() else " "', "each"),
        (
            "bars: what they leave is shown",
            "if over and (not line.strip() or BAR.search(line)):",
            "if False:",
        ),
    ]
}
