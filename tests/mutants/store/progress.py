"""Wrong versions of `alignbook.store.progress`."""

MUTANTS = {
    "test_live.py": [
        ("jobs: write at every step", 'or now < _told["at"] + BETWEEN', ""),
        ("told: all parts that are done were kept", 'if not _told["shown"]:', "if True:"),
        ("told: a training ends the part", "return parts + TRAINED * ", "return parts + 1 + 0 * "),
        (
            "told: the next training is as far as the last",
            "min(done + 1, of), of), step=0.0",
            "min(done + 1, of), of)",
        ),
        ("told: the last stage alone counts", 'max(_told["step"], step / steps)', "step / steps"),
        ("told: what compares is training", "if loss is not None:", "if True:"),
    ]
}
