"""Wrong versions of `alignbook.papers.covalign.inputs`."""

MUTANTS = {
    "test_covalign_arms.py": [
        (
            "tokens of the workbook: always whitened",
            'two_towers.Config(whitened=book.profile.covalign_vit == "base")',
            "two_towers.Config()",
        ),
        (
            "phrases: the world's are parsed",
            'if book.kind != "world" and named.is_there',
            "if named.is_there",
        ),
        (
            "phrases: of a pipeline that is not there",
            'if book.kind != "world" and named.is_there',
            'if book.kind != "world"',
        ),
    ],
    "test_patches.py": [
        (
            "tokens of photographs: the tower's finer map alone",
            "sources = (_patches(book), book.words())",
            "sources = (book.seen(), book.words())",
        )
    ],
}
