"""Wrong versions of `alignbook.core.vocabulary`."""

MUTANTS = {
    "test_base.py": [
        (
            "padding is a word",
            "torch.full((len(rows), int(lengths.max())), PAD)",
            "torch.full((len(rows), int(lengths.max())), UNKNOWN)",
        ),
        ("word ids collide with padding", "{word: i + 2 for", "{word: i + 1 for"),
        ("rare words stay", "if n >= min_count", "if n >= min_count - 1"),
    ]
}
