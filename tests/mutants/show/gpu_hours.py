"""Wrong versions of `alignbook.show.gpu_hours`."""

MUTANTS = {
    "test_plan.py": [
        (
            "trials after seeds",
            "Training(name, work.times(longer), tuple(trials), kind)",
            "Training(name, work.times(longer), (), kind)",
        ),
        (
            "similarities in bf16 too",
            'work.others / rate("float32", card)',
            "work.others / rate(precision, card)",
        ),
        ("the whole peak", "else REACHED)", "else 1)"),
        ("a control as short as what it controls", "work.times(longer)", "work"),
        ("a single candidate is tried", "tried if len(tried) > 1 else ()", "tried"),
    ]
}
