"""Wrong versions of `alignbook.explorer.wording`."""

MUTANTS = {
    "test_explorer.py": [
        ("its own forms are offered", " if words[i][:4] != word[:4]", ""),
        (
            "for words that name nothing",
            "if word not in words[SAID_MOST:]:",
            "if word not in words:",
        ),
        ("the farthest words", "argsort(descending=True)", "argsort()"),
        ("padding is a word", "table.weight.detach()[2:]", "table.weight.detach()[1:]"),
    ]
}
