"""Wrong versions of `alignbook.evidence.sequential`."""

MUTANTS = {
    "test_verdicts.py": [
        ("targets: seeds for all", "chosen = verdicts.there(chosen, numbers)", "")
    ],
    "test_learnt.py": [
        ("no control is asked for", "Standing(MAY_TURN, first, few)", "Standing(MAY_TURN)"),
        ("what may turn goes on", '    if line["early"]:\n        return 0.0\n', ""),
        ("the band of what may turn", ' and not lines[0]["early"]', ""),
        ("controls of a band stay alone", "*([member.same] if member.same else [])", ""),
        (
            "controls are asked for again",
            'line["early"] and np.isfinite(line["longer"]) and seeds < first',
            'line["early"] and np.isfinite(line["longer"])',
        ),
    ],
    "test_sequential.py": [
        ("what is decided goes on", "if own.took:", "if False:"),
        ("nothing is futile", "FUTILE = 0.2", "FUTILE = 0.0"),
        (
            "the worse end of an interval",
            "half - low, level, most) if half > low",
            "-half - low, level, most) if -half > low",
        ),
        ("a band at its middle", "np.clip((low + high) / 2, -half, half)", "(low + high) / 2"),
        (
            "futile at all of the level",
            "if primary else share / max(len(open_), 1)",
            "if primary else 1 / max(len(open_), 1)",
        ),
    ],
}
