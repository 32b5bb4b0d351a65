"""Wrong versions of `alignbook.world.mentions`."""

MUTANTS = {
    "test_world_mentions.py": [
        ("a phrase begins with the sentence", "if word not in DESCRIBING:", "if False:"),
        ("a plural speaks of the first", "if thing.shape == shape and", "if not i and"),
        ("bare relations keep their articles", "if word not in EMPTY", ""),
    ]
}
