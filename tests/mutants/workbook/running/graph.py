"""Wrong versions of `alignbook.workbook.running.graph`."""

MUTANTS = {
    "test_live.py": [
        ("events: half a line is read", 'if line.endswith(b"\\n"):', "if True:"),
        ("events: the target counts as a job", ' - self.waiting.pop("all", 0)', ""),
    ]
}
