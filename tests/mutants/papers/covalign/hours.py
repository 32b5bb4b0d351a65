"""Wrong versions of `alignbook.papers.covalign.hours`."""

MUTANTS = {
    "test_covalign_arms.py": [
        (
            "hours: the shared run counts again",
            'SAME = dict.fromkeys(("concentration-5", "regions-8", "shared"), WHOLE)',
            "SAME: dict[str, str] = {}",
        ),
        ("hours: one tuning seed", "            profile.tuning_seeds,\n", "            1,\n"),
    ]
}
