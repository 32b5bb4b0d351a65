"""Wrong versions of `alignbook.papers.gsl.settings`."""

MUTANTS = {
    "test_stale.py": [
        (
            "noise of other data",
            'files = [folder / f"{kind}_{rate}.npy"',
            'files = [folder / f"flickr8k_{rate}.npy"',
        ),
        ("noise that isn't there", "for file in files if file.is_file()]", "for file in files]"),
    ]
}
