"""Wrong versions of `alignbook.evidence.looks`."""

MUTANTS = {
    "test_looks.py": [
        ("a look spends all", "/ part, 1.0))", "/ 1.0, 1.0))"),
        (
            "the last look alone",
            "least = np.fmin(least, np.minimum(",
            "least = np.fmin(np.nan, np.minimum(",
        ),
        ("the last seeds", "test(values[:seeds])", "test(values[-seeds:])"),
        ("a look at all that are passed", "if each[0] < seeds]", "if each[0] <= seeds]"),
    ]
}
