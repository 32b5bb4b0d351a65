"""Wrong versions of `alignbook.papers.gsl.epochs`."""

MUTANTS = {
    "test_gsl_show.py": [
        (
            "epochs: controls for the arms themselves",
            "share != rate or arm in LONGER or",
            "share != rate or",
        ),
        (
            "epochs: how far others lie above the own",
            'told["own score"] - told["other scores"]',
            'told["other scores"] - told["own score"]',
        ),
    ]
}
