"""Wrong versions of `alignbook.datasets.by_name`."""

MUTANTS = {
    "test_datasets.py": [
        (
            "sizes are held against the whole split, not what is taken of it",
            "taken = {split: min(limits[split] or n, n) for split, n in there.items()}",
            "taken = there",
        ),
        (
            "sizes of a chapter nobody asked for are held against the splits",
            "for field in vars(profile) if asked.settings is None else asked.settings:",
            "for field in vars(profile):",
        ),
    ]
}
