"""Wrong versions of `alignbook.papers.chan.hours`."""

MUTANTS = {
    "test_plan.py": [
        (
            "chan: the ninth's first candidate counts again",
            "if arm == NINTH and len(tried) > 3:",
            "if False:",
        ),
        (
            "chan: the profile's own number of regions counts again",
            "name = of if regions == profile.chan_regions else arm",
            "name = arm",
        ),
    ]
}
