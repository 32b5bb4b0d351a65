"""Wrong versions of `alignbook.backbones.grounding`."""

MUTANTS = {
    "test_grounding.py": [
        ("phrases: the worst box", "scores[mine, text].argmax()", "scores[mine, text].argmin()"),
        ("entities: the mean box", "scores[a:b].max(0).values", "scores[a:b].mean(0)"),
    ]
}
