"""Wrong versions of `alignbook.workbook.chapters`."""

MUTANTS = {
    "test_arm_runs.py": [
        ("domains are one", 'if data != "world":', 'if data != "nowhere":'),
        ("steps of what trains nothing", 'hasattr(own, "steps")', "False"),
    ]
}
