"""Wrong versions of where words look: weights, maps, measures, words and the figure."""


def _of(file, *changes):
    return [
        (name, file, snippet, wrong, "test_attention_maps.py") for name, snippet, wrong in changes
    ]


MUTANTS = [
    *_of(
        "papers/chan/attention_maps.py",
        ("the least similar region", "cosines.argmax(-1)", "cosines.argmin(-1)"),
        ("soft where hard is asked", 'if config.coding == "hard":', 'if config.coding != "hard":'),
        ("τ multiplied", "cosines / config.temperature", "cosines * config.temperature"),
        ("softmax over the words", ".softmax(-1)", ".softmax(-2)"),
        ("long words attend more sharply", "F.normalize(words, dim=-1) @", "words @"),
        ("long regions win", "F.normalize(regions, dim=-1).mT", "regions.mT"),
        ("columns are rows", '"k,ky,kx->yx"', '"k,ky,kx->xy"'),
        (
            "the best box instead of the sum",
            'np.einsum("k,ky,kx->yx", np.asarray(weights, float), down, across)',
            "(np.asarray(weights)[:, None, None] * down[:, :, None] * across[:, None, :]).max(0)",
        ),
        (
            "boxes a pixel to the right",
            "np.minimum(x1, pixel + 1) - np.maximum(x0, pixel)",
            "np.minimum(x1, pixel) - np.maximum(x0, pixel - 1)",
        ),
        (
            "boxes of any touched pixel",
            "down = np.clip(np.minimum(y1, pixel + 1) - np.maximum(y0, pixel), 0, 1)",
            "down = 1.0 * ((y1 > pixel) & (y0 < pixel + 1))",
        ),
        (
            "empty boxes count against",
            "np.maximum(x0, pixel), 0, 1)",
            "np.maximum(x0, pixel), -1, 1)",
        ),
        ("the least salient regions", "[rows, :regions]].astype", "[rows, -regions:]].astype"),
        (
            "boxes of the first images",
            'feature_run.array("order")[rows, :regions]',
            'feature_run.array("order")[: len(rows), :regions]',
        ),
        ("captions look at any picture", "// dataset.captions_per_image", "% len(regions)"),
        (
            "captions of every part look at the first pictures",
            "(done + torch.arange(len(words)))",
            "(torch.arange(len(words)))",
        ),
        ("entropy in nats", "/ np.log(2)", ""),
        (
            "the region of least attention",
            "weights.argmax(1)]\n    outlined",
            "weights.argmin(1)]\n    outlined",
        ),
        ("IoU without what both share", "(outlined + wanted - both)", "(outlined + wanted)"),
        ("IoU of more than a half", "iou >= 0.5", "iou > 0.5"),
        ("a corner for a centre", "(best[:, :2] + best[:, 2:]) / 2", "best[:, :2]"),
        (
            "a centre inside one way",
            "(centre < gold[:, 2:])).all(1)",
            "(centre < gold[:, 2:])).any(1)",
        ),
        ("the lower edge counts", "(centre < gold[:, 2:])", "(centre <= gold[:, 2:])"),
        ("mass of the weights alone", "(weights * _area(boxes)).sum(1)", "weights.sum(1)"),
        ("boxes apart share an area", "(high - low).clip(0).prod(-1)", "(high - low).prod(-1)"),
        (
            "areas by one side",
            "(boxes[..., 2:] - boxes[..., :2]).prod(-1)",
            "(boxes[..., 2:] - boxes[..., :2]).sum(-1)",
        ),
        ("the control is the own box", "np.roll(own, n // 2, axis=0)", "np.roll(own, n, axis=0)"),
        (
            "the control has its sides exchanged",
            "np.roll(own, n // 2, axis=0)",
            "np.roll(own, n // 2, axis=1)",
        ),
        (
            "beside is the own box",
            "np.array(words.beside.tolist())",
            "np.array(words.box.tolist())",
        ),
        ("hard codings are hardened again", "if weights.max(1).min() < 1", "if True"),
        (
            "the unfittest region",
            "np.argmax([each.iou for each in single], axis=0)",
            "np.argmin([each.iou for each in single], axis=0)",
        ),
        ("the least salient region", "= single[0]", "= single[-1]"),
        ("a sum in place of a mean region", "sum(single) / k", "sum(single)"),
        ("every word counts alike", 'found.groupby("picture")[', "found.groupby(found.index)["),
        ("whole intervals", "(high - low) / 2}", "(high - low)}"),
        ("second minus first", "gaps[seed] = a - b", "gaps[seed] = b - a"),
        ("differences on all boxes", "own = found[found.against == NAMED]", "own = found"),
    ),
    *_of(
        "papers/chan/show.py",
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
    ),
]
