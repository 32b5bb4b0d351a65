"""Wrong versions of `alignbook.datasets.archives`."""

MUTANTS = {
    "test_archives.py": [
        ("members without end", "        if len(seen) > MEMBERS:", "        if False:")
    ]
}
