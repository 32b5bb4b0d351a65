"""Wrong versions of `alignbook.papers.comalign.hours`."""

MUTANTS = {
    "test_plan.py": [
        (
            "comalign: ablations have trials of their own",
            'SAME.get(row, row), "image side"',
            "SAME.get(row, row), SAME.get(row, row)",
        )
    ]
}
