"""Wrong versions of `alignbook.papers.chan.show`."""

MUTANTS = {
    "test_attention_maps.py": [
        ("attributes don't count", "{shape, *said} <= set(own)", "{shape} <= set(own)"),
        ("shapes don't count", "{shape, *said} <= set(own)", "said <= set(own)"),
        (
            "the last relation of an image",
            "drawn.setdefault(relation.image, relation)",
            "drawn[relation.image] = relation",
        ),
        ("adjectives of any word", "if other.head == token.id and other.deprel", "if other.deprel"),
        (
            "the first of those that fit",
            'if kind != "plural" and len(found) != 1:',
            'if kind != "plural" and not found:',
        ),
        ("one of its shape is one of several", "KINDS[alike > 1]", "KINDS[alike > 0]"),
        ("a relation is its subject", "[relation.subject, relation.object]", "[relation.subject]"),
        ("places count as in the parse", "place = token.id - 1", "place = token.id"),
        ("the box within the things", "own[:, 2:].max(0)", "own[:, 2:].min(0)"),
        ("beside is the thing itself", "(found[-1] + 1) % len(boxes)", "found[-1]"),
        ("boxes in pixels", "/ dataset.images.shape[1], attributes", "/ 1, attributes"),
        ("kinds from one picture", "& ~words.picture.isin(chosen.picture)", ""),
        ("any word between", "if a in before and b in behind", "if b in behind"),
        ("any word behind", "if a in before and b in behind", "if a in before"),
        ("words nobody knows", "for word in vocabulary.words if", "for word in said if"),
        ("three captions agree", "times[w] > 3", "times[w] > 2"),
        ("a noun twice", "and w not in lines]", "]"),
        ("padding has attention", "< lengths[:, None]]", "<= lengths[:, None]]"),
        (
            "the picture of another split",
            "dataset.images[dataset.splits[split][word.picture]]",
            "dataset.images[word.picture]",
        ),
        ("the least region is outlined", "boxes[weights.argmax()]", "boxes[weights.argmin()]"),
        ("shares in place of percent", "100 * pixel_map(", "pixel_map("),
        ("a scale for each map", "vmin=0, vmax=100, alpha", "alpha"),
        (
            "one seed is judged by no interval",
            "line = mean if len(seeds) > 1 else seeds[0]",
            "line = mean",
        ),
        (
            "a mean above zero is ahead",
            '"above zero" if line.low > 0',
            '"above zero" if line.value > 0',
        ),
    ]
}
