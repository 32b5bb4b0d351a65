"""Wrong versions of `alignbook.papers.covalign.printed`."""

MUTANTS = {
    "test_print_checks.py": [
        ("drop: from the mark Default", "best = rsum[1, 1, 5]", "best = rsum[1, 1, 1]"),
        ("default: whatever is marked", "YES if fixed == {marked} else NO", "NO if fixed else YES"),
        (
            "default: from the group that varies it",
            'if not name.startswith("Varying λ_c")}',
            'if name.startswith("Varying λ_c")}',
        ),
        ("drop: to the highest", 'lowest = min((row["RSUM"]', 'lowest = max((row["RSUM"]'),
        (
            "directions: one row suffices",
            "not (all(here) and all(others))",
            "not (any(here) and any(others))",
        ),
    ]
}
