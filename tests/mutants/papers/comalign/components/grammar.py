"""Wrong versions of `alignbook.papers.comalign.components.grammar`."""

MUTANTS = {
    "test_components_text.py": [
        ("no a before vowels", '            article[0] += "n"\n', "            pass\n"),
        ("every caption ends with a full stop", "if dice.random() < 0.7:", "if True:"),
        (
            "the treebank's words are not said",
            "if part in lexicon and dice.random() < 0.2:",
            "if False:",
        ),
        ("names are said", "token.form.isalpha() and token.form.islower()", "token.form.isalpha()"),
        ("what may be said always is", "if chance and dice.random() >", "if 0 >"),
        ("plural things with a singular verb", "nsubj=MANY *VP@VBP", "nsubj=MANY *VQ@VBP"),
        (
            "heads in the wrong place",
            "rows += [[word, tag, len(rows) + at, said]",
            "rows += [[word, tag, at, said]",
        ),
        ("lieing", 'return word[:-2] + "ying"', 'return word + "ing"'),
        ("siting", "(word[-1] if re.fullmatch", '("" if re.fullmatch'),
        ("rideing", 'return word[:-1] + "ing"', 'return word + "ing"'),
        ("carrys", 'return word[:-1] + "ies"', 'return word + "s"'),
        ("pushs", '"es" if re.search', '"s" if re.search'),
    ]
}
