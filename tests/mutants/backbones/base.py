"""Wrong versions of `alignbook.backbones.base`."""

MUTANTS = {
    "test_base.py": [
        ("the larger object wins a cell", "ascending=[True, False]", "ascending=[True, True]"),
        (
            "rows and columns of cells exchanged",
            "np.flatnonzero(inside_y), np.flatnonzero(inside_x)",
            "np.flatnonzero(inside_x), np.flatnonzero(inside_y)",
        ),
        ("background is a class of objects", ".cat.codes + 1", ".cat.codes"),
        ("cells by their corner", "(np.arange(grid) + 0.5)", "(np.arange(grid) + 1.0)"),
        ("flip upside down", "window.flip(-1)", "window.flip(-2)"),
        ("no flips", "if flips[i] else window", "if False else window"),
        (
            "InfoNCE: own captions are negatives of each other",
            "logits.masked_fill(own, -torch.inf)",
            "logits.masked_fill(own, 0)",
        ),
        (
            "InfoNCE: sign",
            "F.softplus(others - logits[own].view(-1, each))",
            "F.softplus(logits[own].view(-1, each) - others)",
        ),
        ("InfoNCE: one direction", "(F.cross_entropy(logits.T, owner) + to_text) / 2", "to_text"),
        ("InfoNCE: scale twice", "logits = scale * image", "logits = scale * scale * image"),
        (
            "swapped captions beside the images' own only",
            "scale * image @ negatives.T",
            "image @ negatives.T",
        ),
        ("descriptions exchanged around and", '- {"a", "an", "the", "and", "with"}', "- set()"),
        (
            "synonyms move for each other",
            "if x != y and not same_things",
            "if words[a] != words[b] and not same_things",
        ),
        ("the same things again", "if x != y and not same_things", "if x != y"),
        (
            "one description part of the other",
            "if related and not (first.items()",
            "if related and not (set() and first.items()",
        ),
        ("a third thing is a relation", " - words_for.keys()\n", "\n"),
        (
            "words of plurals move",
            'count("shape") == 1 and said[-1][0] == "shape":',
            'count("shape") >= 0:',
        ),
        ("no synonyms", "(value, *SYNONYMS.get(value, ()))", "(value,)"),
        ("the article stays", 'chosen[i] = "an" if vowel else "a"', "pass"),
        ("an image is its own neighbour", "likeness[here, start + here] = -torch.inf", "pass"),
        ("captions of other images", "both * each + torch", "both + torch"),
    ],
    "test_crops.py": [
        (
            "trivial: pictures are told apart",
            "        image = times * image",
            "        image = 1 * image",
        ),
        (
            "trivial: cells are told apart",
            "F.cross_entropy(times * model.heads",
            "F.cross_entropy(model.heads",
        ),
        ("crops: what is true is a negative", "masked_fill(true & ~own, -torch.inf)", "clone()"),
        ("crops: against whole pictures", "clip_loss(image[:whole], text", "clip_loss(image, text"),
    ],
}
