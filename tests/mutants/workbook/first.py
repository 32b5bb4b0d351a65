"""Wrong versions of `alignbook.workbook.first`."""

MUTANTS = {
    "test_plan.py": [
        ("primary claims last", "for primary in (True, False):", "for primary in (False, True):"),
        ("beyond the budget", "+ nearest.hours > budget", "> budget"),
        ("the dearest claim first", "key=lambda each: each.hours", "key=lambda each: -each.hours"),
        (
            "what was trained costs again",
            "            known |= own.pop(nearest.claim).keys()",
            "            own.pop(nearest.claim)",
        ),
        ("a claim of columns without a target", "each.row, each.target)", 'each.row, "")'),
        ("gold boxes for all", "any(term.column == GOLD for term in terms)", "False"),
        ("primary claims of the whole budget", "over += left if primary else []", "over += left"),
    ]
}
