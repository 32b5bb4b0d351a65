"""Wrong versions of `alignbook.workbook.buying`."""

MUTANTS = {
    "test_buying.py": [
        (
            "buyers wait for one another",
            "results.train(book, one, wait=False)",
            "results.train(book, one)",
        ),
        ("the first look is trained again", "range(have, count))", "range(count))"),
        ("trials again", "if one.role == arm_runs.REPORT]", "]"),
        ("what another is at work on is left", "blocked.append(one)", "pass"),
        ("all the seeds of a look are told as this one's", "gone += have - first", "gone += 0"),
        ("all buyers wait in one order", "first = number % max(len(blocked), 1)", "first = 0"),
    ]
}
