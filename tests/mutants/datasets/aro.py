"""Wrong versions of `alignbook.datasets.aro`."""

MUTANTS = {
    "test_probes.py": [
        (
            "box: width for the right edge",
            "_kind(entry, kind), x, y, x + w, y + h",
            "_kind(entry, kind), x, y, w, h",
        )
    ]
}
