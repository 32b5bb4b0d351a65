"""Wrong versions of `alignbook.backbones.noun_phrases`."""

MUTANTS = {
    "test_components_text.py": [
        (
            "words as they are spelled",
            "[token.text.lower() for token in doc]",
            "[token.text for token in doc]",
        ),
        ("pronouns are entities", "if tree.words[i] in PRONOUNS or tree", "if tree"),
        (
            "worn colours are no entities",
            ' or tree.tags[i] == "JJ" and tree.labels[i] in NOMINAL',
            "",
        ),
        (
            "all adjectives are nouns",
            'tree.tags[i] == "JJ" and tree.labels[i] in NOMINAL',
            'tree.tags[i] == "JJ"',
        ),
        (
            "the first adjective alone",
            "            kind.add(c)\n            waiting.append(c)",
            "            kind.add(c)\n            waiting += [c] * (kind is name)",
        ),
        ("adjectives behind the noun", 'label == "amod" and c < noun or', 'label == "amod" or'),
        (
            "adjectives that are taken for compounds",
            ' or label == "compound" and tree.tags[c][:2] == "JJ"',
            "",
        ),
        ("numbers are adjectives", 'if tree.tags[i] != "CD" and', "if"),
        (
            "other is an adjective",
            'tree.tags[i] != "CD" and tree.words[i] not in NO_ADJECTIVES}',
            'tree.tags[i] != "CD"}',
        ),
        ("hyphens forgotten", "while i > 1 and i - 1 in tree.hyphens:", "while False:"),
        ("one hyphen alone", "            i -= 2\n", "            i = 0\n"),
    ],
    "test_noun_phrases.py": [
        ("one thing: plurals too", " and tree.tags[noun] in SINGULAR", ""),
        ("one thing: parts of a compound too", "if noun not in inner and tree", "if tree"),
        ("one thing: places too", " and not _is_place(tree, noun)", ""),
        ("one thing: any side is a place", 'and tree.words[i + 1 : i + 2] == ["of"]', ""),
        (
            "one thing: bare nouns",
            "whole(tree, set.union(*noun_phrase(tree, i)))",
            "whole(tree, {i})",
        ),
    ],
}
