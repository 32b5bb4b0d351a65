"""Wrong versions of `alignbook.workbook.surroundings`."""

MUTANTS = {
    "test_surroundings.py": [
        ("files in the place of folders", "not (out / name).is_dir()", "False"),
        ("pipes in the place of logs", "not (out / name).is_file()", "False"),
    ]
}
