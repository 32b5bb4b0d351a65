"""Wrong versions of `alignbook.papers.gsl.show`."""

MUTANTS = {
    "test_gsl_show.py": [
        ("noise lines: with controls", "metrics[~metrics.row.isin(LONGER)]", "metrics"),
        ("noise lines: all learnt", 'learnt.of_row(own["learnt"])', "learnt.LEARNT"),
    ]
}
