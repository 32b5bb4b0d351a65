"""Wrong versions of `alignbook.papers.gsl.arms`."""

MUTANTS = {
    "test_gsl_arms.py": [
        (
            "controls of GSL: of the warm-up alone",
            'for name in ("warm_up_epochs", "epochs")',
            'for name in ("warm_up_epochs",)',
        ),
        ("rivals at GSL's rates", "factors = AFTER_OF_RIVALS", "factors = AFTER"),
    ]
}
