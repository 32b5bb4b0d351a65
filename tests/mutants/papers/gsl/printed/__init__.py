"""Wrong versions of `alignbook.papers.gsl.printed`."""

MUTANTS = {
    "test_print_checks.py": [
        ("labels: of noisy pairs", '"^c" not in refined', '"^n" not in refined'),
        (
            "time: less for more",
            "percent_below if seconds.value < base.value else percent_above",
            "percent_above if seconds.value < base.value else percent_below",
        ),
    ]
}
