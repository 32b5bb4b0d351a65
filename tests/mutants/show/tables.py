"""Wrong versions of `alignbook.show.tables`."""

MUTANTS = {
    "test_results.py": [
        ("no word of no row", '"" if len(table) else', '"" if True else'),
        (
            "columns exchanged",
            "paper.get((group, label, prefix + column), np.nan)",
            "paper.get((group, label, prefix + COLUMNS[0]), np.nan)",
        ),
        ("interval not halved", "(high - low) / 2", "(high - low)"),
        (
            "ours is the lower bound",
            'ours["mean"].get((arm, prefix + column)',
            'ours["low"].get((arm, prefix + column)',
        ),
        (
            "whole test set where a fold is asked",
            'ours["mean"].get((arm, prefix + column)',
            'ours["mean"].get((arm, column)',
        ),
        ("stars are not shown", "label + star + MARKS", "label + MARKS"),
        (
            "words of the row of that name",
            "said.get((group, label)",
            "said.get((rows[0][0], label)",
        ),
    ],
    "test_verbatim.py": [
        (
            "tables: dollars are looked for",
            """        .set_table_attributes('class="tex2jax_ignore mathjax_ignore"')\n""",
            "",
        )
    ],
}
