"""Wrong versions of `alignbook.show.curves`."""

MUTANTS = {
    "test_report_curves.py": [
        ("two looks at step 0", "points[:, 0] < own[0, 0]", "points[:, 0] <= own[0, 0]"),
        ("a warm-up's steps begin at 1", "before[name] - [first, 0]", "before[name]"),
        ("a warm-up's share by the other loss", '"share", share)', '"share", loss)'),
    ],
    "test_curves.py": [
        ("the last step of a block", "part.mean(0) for part", "part[-1] for part"),
        ("trials among the curves", 'arms[arms.role == "report"]', "arms"),
    ],
}
