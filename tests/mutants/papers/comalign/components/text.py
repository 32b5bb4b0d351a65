"""Wrong versions of `alignbook.papers.comalign.components.text`."""

MUTANTS = {
    "test_components_text.py": [
        (
            "parts of a compound count too",
            "for i in sorted(phrases.keys() - inner)",
            "for i in sorted(phrases.keys())",
        ),
        (
            "nouns of place expressions count",
            "inner = {i for link in links for i in link.words}",
            "inner = set()",
        ),
        ("no entities with adjectives", "entities.setdefault(said(full[i]), full[i])", "pass"),
        ("only nouns with adjectives", "entities.setdefault(said(names[i]), names[i])", "pass"),
        (
            "joined nouns forgotten",
            "    found = [i]\n    for noun in found:",
            "    found = [i]\n    for noun in ():",
        ),
        ("joined nouns behind the participle", "(before is None or c < before)", "True"),
        (
            "the last of joined nouns alone",
            "        return _first(tree, above)",
            "        return i",
        ),
        ("nouns joined far apart", 'tree.tags[k] in ("IN", "TO") or', "False or"),
        ("people instead of the group", "        return group\n", "        return i\n"),
        ("the picture instead of its people", "if tree.words[group] in GROUPS and", "if"),
        ("place expressions in two parts", "if tree.words[place] in PLACES and", "if False and"),
        (
            "any noun before of is a place",
            "if tree.words[place] in PLACES and inner and",
            "if inner and",
        ),
        ("articles in place expressions", "if tree.words[i] not in ARTICLES]", "]"),
        (
            "a preposition once for joined nouns",
            "for noun in _joined(tree, _antecedent(tree, link.noun))]",
            "for noun in [_antecedent(tree, link.noun)]]",
        ),
        (
            "which isn't resolved",
            "for noun in _joined(tree, _antecedent(tree, link.noun))]",
            "for noun in _joined(tree, link.noun)]",
        ),
        ("from behind is behind", "            words.insert(0, above)\n", "            pass\n"),
        ("joined prepositions are one", 'if tree.labels[top] == "prep":\n', "if True:\n"),
        ("possessives are prepositions", ' if tree.tags[c] != "POS"]:', "]:"),
        ("fixed words forgotten", 'tree.labels[c] == "fixed"]', "False]"),
        (
            "next to is to",
            "        link = link._replace(words=(first - 1, *link.words))\n",
            "        pass\n",
        ),
        ("to the left of is left of", " and tree.tags[first - 1] not in NOUNS:", ":"),
        (
            "what hangs on an adverb is lost",
            "        governor = tree.heads[governor]\n    return",
            "        break\n    return",
        ),
        ("no particles", 'tree.labels[c] == "prt" or (', "("),
        (
            "adverbs are particles",
            'tree.labels[c] == "advmod" and tree.words[c] in PARTICLES',
            'tree.labels[c] == "advmod"',
        ),
        (
            "passives as they stand",
            "(agent, action, subject) for agent in agents",
            "(subject, action, agent) for agent in agents",
        ),
        (
            "passives' other prepositions",
            "        if agents:\n",
            "        if agents and not mine[1:]:\n",
        ),
        (
            "prepositions beside an object",
            "        else:\n            for link in mine:",
            "        if not agents:\n            for link in mine:",
        ),
        (
            "a preposition isn't part of the action",
            "words = action + tuple(i for i in link.words if i not in action)",
            "words = action",
        ),
        ("of is a relation", '!= ["of"]', '!= ["off"]'),
        ("nouns behind the preposition", "if subject < link.words[0])", ")"),
        ("prepositions unasked", "if prepositions else ()", "if True else ()"),
        ("to be is an action", " or tree.words[verb] in BE:", ":"),
        ("nouns are actions", 'if tag[:1] != "V" or', "if"),
        (
            "there is nothing",
            'own += [c for c in tree.children[i] if tree.labels[c] == "attr"]',
            "pass",
        ),
        (
            "an infinitive below a noun has it as subject",
            "described and not infinitive",
            "described",
        ),
        (
            "to catch is what the object does",
            'if label in ("xcomp", "ccomp") and not infinitive:',
            'if label in ("xcomp", "ccomp"):',
        ),
        ("the watcher runs", 'if label in ("xcomp", "ccomp") and not infinitive:', "if False:"),
        ("second verbs have no subject", "    return _subjects(tree, head)\n", "    return []\n"),
        (
            "clauses are no objects",
            'if tree.labels[c] == "nsubj"]\n    if not own and',
            "if False]\n    if not own and",
        ),
        ("what a relative clause is about is lost", "return [tree.heads[verb]]", "return []"),
        ("where is what", " and not asked and not said", " and not said"),
        ("on which is which", " and not asked and not said", " and not asked"),
        (
            "who is nobody",
            "    above = tree.heads[i]\n    while tree.labels[above]",
            "    return i\n    while tree.labels[above]",
        ),
        ("that is nobody", ' and tree.words[i] != "that"', ""),
        ("captions are parsed again", "enumerate(dict.fromkeys(captions))", "enumerate(captions)"),
        (
            "texts are numbered anew",
            "texts.setdefault(text, len(texts))",
            "texts.setdefault(text, len(texts) + row)",
        ),
        (
            "left out ones are named",
            "for text in told[kind][:width]]",
            "for text in told[kind]][:width]",
        ),
        (
            "cut before they are counted",
            "sizes[kind][row] = len(told[kind])",
            "sizes[kind][row] = len(kept)",
        ),
        (
            "none is 0",
            "np.full((len(different), n), -1, np.int32)",
            "np.zeros((len(different), n), np.int32)",
        ),
        (
            "counted once for captions that are the same",
            '(sizes["relations"][rows] == 0)',
            '(sizes["relations"] == 0)',
        ),
        (
            "as many as there may be are too many",
            '(sizes["relations"][rows] > relations)',
            '(sizes["relations"][rows] >= relations)',
        ),
        (
            "prepositions forgotten",
            "said = extract(doc, prepositions, bare)",
            "said = extract(doc, False, bare)",
        ),
        ("described nouns said bare all the same", "        if bare:\n", "        if True:\n"),
    ]
}
