"""Wrong versions of `alignbook.workbook.asks`."""

MUTANTS = {
    "test_asks.py": [
        ("seconds are minutes", "LATE * self._seconds(words) / 60", "LATE * self._seconds(words)"),
        ("all have a GPU", "if kind in gpu_locks.WITHOUT or", "if"),
        ("one for all processes", "return self.profile.processes if", "return 1 if"),
        ("no limit", "LISTED if trained else MOST)", "LISTED if trained else 99 * MOST)"),
        ("lists take as long", "LISTED if trained else MOST)", "MOST)"),
        (
            "a training asks as an arm",
            'sum(each) if words[0] == "arms" else',
            "sum(each) if True else",
        ),
        (
            "an arm asks as a training",
            'sum(each) if words[0] == "arms" else',
            "sum(each) if False else",
        ),
        ("all wildcards ask for a GPU", "lambda wildcards, name=name:", "lambda wildcards:"),
    ]
}
