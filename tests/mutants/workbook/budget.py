"""Wrong versions of `alignbook.workbook.budget`."""

MUTANTS = {
    "test_results.py": [
        (
            "plan: every arm trains all that it shows",
            "for each, steps in all_.items() if each not in seen}",
            "for each, steps in all_.items()}",
        ),
        (
            "plan: what an arm has is seen by itself alone",
            "seen |= all_.keys()",
            "seen = all_.keys()",
        ),
    ]
}
