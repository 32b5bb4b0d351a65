"""Wrong versions of `alignbook.store.owners`."""

MUTANTS = {
    "test_owners.py": [
        ("the dead of this machine are waited for", "if here and not _lives(told):", "if False:"),
        ("a number stands for its process", "abs(now - since) < 2", "True"),
        ("the silent of this machine are dead", "not here and time", "time"),
        ("of another machine nobody dies", "time.monotonic() - began > SILENT:", "False:"),
        ("a sign of life is not heard", "if now != first:", "if now is None:"),
        ("claims do not end", "os.truncate(claim.path, 0)", "pass"),
        ("claims end by going", "os.truncate(claim.path, 0)", "claim.path.unlink()"),
        (
            "nobody beats",
            "with contextlib.suppress(OSError):\n            os.utime",
            "if False:\n            os.utime",
        ),
        ("who was asleep does not find out", "!= self.number:", "< self.number:"),
        ("all are first", "return aside.stat().st_nlink == 2", "return True"),
        ("a lost answer is a no", "return aside.stat().st_nlink == 2", "return False"),
        (
            "without waiting the silent are followed",
            "        if not wait and (here or not look):\n            return False",
            "        if not wait and (here or not look):\n            return True",
        ),
        ("nobody looks", "if not wait and (here or not look):", "if not wait:"),
        (
            "the living here are looked at",
            "if not wait and (here or not look):",
            "if not wait and not look:",
        ),
    ]
}
