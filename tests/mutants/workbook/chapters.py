"""Wrong versions of `alignbook.workbook.chapters`."""

MUTANTS = {
    "test_arm_runs.py": [
        ("domains are one", 'if data != "world":', 'if data != "nowhere":'),
        ("a place of no paper's own", 'hasattr(own, "place")', "False"),
        ("steps of what trains nothing", 'hasattr(own, "steps")', "False"),
    ]
}
