"""Wrong versions of `alignbook.papers.gsl.found_noise`."""

MUTANTS = {
    "test_figures.py": [
        (
            "figures: another axis for each method",
            "figsize=(3.5 * len(shares), 3.3), sharex=True,\n                                sharey=True,",
            "figsize=(3.5 * len(shares), 3.3),",
        )
    ]
}
