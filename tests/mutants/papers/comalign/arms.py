"""Wrong versions of `alignbook.papers.comalign.arms`."""

MUTANTS = {
    "test_components_check.py": [
        (
            "no base model of all pictures",
            "with_all=arm.startswith(ALL_PICTURES)",
            "with_all=False",
        ),
        (
            "every base model is of all pictures",
            "with_all=arm.startswith(ALL_PICTURES)",
            "with_all=True",
        ),
    ]
}
