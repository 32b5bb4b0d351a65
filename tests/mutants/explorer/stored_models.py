"""Wrong versions of `alignbook.explorer.stored_models`."""

MUTANTS = {
    "test_explorer.py": [
        (
            "explorer: what other code made",
            "runs.is_stored(key) and runs.is_of_this_code(runs.stored(key))",
            "runs.is_stored(key)",
        )
    ]
}
