"""Wrong versions of `alignbook.papers.gsl.hours`."""

MUTANTS = {
    "test_plan.py": [
        (
            "gsl: a warm-up for every method",
            'start = f"warm-up, {loss} at',
            'start = f"warm-up, {method} at',
        ),
        (
            "gsl: trials at every rate",
            '[f"{tried} {i} at {RATE}" for i in range(trials)]',
            '[f"{tried} {i} at {rate}" for i in range(trials)]',
        ),
        (
            "gsl: a warm-up of its own where all have it",
            'same |= arm in OWN_WARM_UP and profile.gsl_warm_up == "own"',
            "same |= False",
        ),
    ],
    "test_arm_runs.py": [
        ("gsl: a pass has no steps", "config.epoch_steps or 1", "config.epoch_steps")
    ],
}
