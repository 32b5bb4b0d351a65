"""Wrong versions of `alignbook.papers.gsl.arms`."""

MUTANTS = {
    "test_gsl_arms.py": [
        (
            "controls of GSL: of the warm-up alone",
            'for name in ("warm_up_epochs", "epochs")',
            'for name in ("warm_up_epochs",)',
        ),
        ("rates: the highest never", "(1.0, 0.3, 10.0, 3.0, 0.1)", "(1.0, 0.3, 3.0, 10.0, 0.1)"),
    ]
}
