"""Wrong versions of `alignbook.world.parses`."""

MUTANTS = {
    "test_world_parses.py": [
        ("what is said beside a relation hangs on its object", "if not self.related:", "if True:"),
        ("a passive subject is an active one", '"nsubjpass" if passive else "nsubj"', '"nsubj"'),
        ("who does it hangs like any preposition", '"agent" if agent else', ""),
        ("is before being is the passive's", '"being" or "being" not in said', '"being" or True'),
        ("a clause's root is its first noun", 'if "is" in said:', "if False:"),
        (
            "determiners hang on the word before",
            "attach(j, i, BEFORE[self.tags[j]])",
            "attach(j, i - 1, BEFORE[self.tags[j]])",
        ),
        ("with joins like and", '"cc" if joins else "prep"', '"cc"'),
        ("objects of verbs are prepositions'", 'return "dobj"', 'return "pobj"'),
        (
            "a second is is the root as well",
            'word in ("is", "are") and not self.rooted',
            'word in ("is", "are")',
        ),
        ("to the left: no noun", 'if words[i - 1] == "the" else', "if False else"),
        (
            "every noun hangs on the lead",
            "self.governor = i\n        if not self.related:",
            "self.governor = self.governor or i\n        if not self.related:",
        ),
        (
            "here is names an attribute",
            'return "nsubj" if words[0] == "here" else "attr"',
            'return "attr"',
        ),
    ]
}
