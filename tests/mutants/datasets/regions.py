"""Wrong versions of `alignbook.datasets.regions`."""

MUTANTS = {
    "test_regions.py": [
        (
            "an image may be all zero where it has several regions",
            "if start == ends[-1] and not tops.all():",
            "if start == ends[-1] and not tops.any():",
        ),
        (
            "regions of the least confident first",
            "use = (row_of[owner[here]] >= 0) & (within[here] < least)",
            "use = row_of[owner[here]] >= 0\n        within[here] %= least",
        ),
        (
            "regions in the file's order, not the photographs'",
            "row_of[chosen] = np.arange(len(chosen))",
            "row_of[np.sort(chosen)] = np.arange(len(chosen))",
        ),
    ]
}
