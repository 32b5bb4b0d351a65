"""Wrong versions of `alignbook.papers.comalign.components.parser`."""

MUTANTS = {
    "test_components_text.py": [
        ("a key of the names", "contents.sha256(self.files(split))", "self.files(split)"),
        (
            "a key of the dev files",
            'for split in ("train", "dev"):\n            for found',
            'for split in ("dev",):\n            for found',
        ),
        (
            "measured on the training files",
            'accuracy(nlp, treebank.sentences("dev"))',
            'accuracy(nlp, treebank.sentences("train"))',
        ),
        ("the seed is not fixed", "spacy.util.fix_random_seed(seed)", "pass"),
        ("the same order for every seed", "dice = random.Random(seed)", "dice = random.Random()"),
        ("trained on one batch", "examples(next(batches))", "known[:10]"),
        (
            "heads one too far",
            "token.head - 1 if token.head else i",
            "token.head % len(sentence) if token.head else i",
        ),
        ("capitals stay", "token._replace(form=token.form.lower())", "token"),
        ("the full stop stays", "            sentence = others\n", "            pass\n"),
        ("verbs are nonsense", "if token.upos in OPEN and dice", "if dice"),
        ("nonsense has no plural", 'if token.xpos in ("NNS", "NNPS")', "if False"),
        (
            "labels of wrong heads count",
            "head and found.dep_ == true.dep_",
            "found.dep_ == true.dep_",
        ),
        ("LAS without labels", "head and found.dep_ == true.dep_", "head"),
        ("never made up", "while dice.random() < config.made:", "while False:"),
        (
            "half of them made up",
            "while dice.random() < config.made:",
            "if dice.random() < config.made:",
        ),
        ("always the same order", "dice.sample(sentences, len(sentences))", "sentences"),
    ]
}
