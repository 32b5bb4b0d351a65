"""Wrong versions of `alignbook.store.progress`."""

MUTANTS = {
    "test_live.py": [
        ("jobs: write at every step", 'or now < _told["at"] + BETWEEN', ""),
        ("told: all parts that are done were kept", 'if not _told["shown"]:', "if True:"),
    ]
}
