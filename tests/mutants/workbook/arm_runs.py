"""Wrong versions of `alignbook.workbook.arm_runs`."""

MUTANTS = {
    "test_arm_runs.py": [
        ("a control has all seeds", "1 if single else profile.seeds", "profile.seeds"),
        ("one tuning seed", "for i in range(profile.tuning_seeds)", "for i in range(1)"),
        ("one candidate is tried", "len(candidates) < 2 or", "False or"),
        ("what dev chooses between is not told", "**changes)), repr(tried)", "**changes)), str()"),
        (
            "changes are not told",
            "repr(replace(candidates[0], **changes)),",
            "repr(candidates[0]),",
        ),
        (
            "of all seeds one",
            'key("report", *shown, seed, repr(place))',
            'key("report", *shown, repr(place))',
        ),
    ]
}
