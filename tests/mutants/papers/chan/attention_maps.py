"""Wrong versions of `alignbook.papers.chan.attention_maps`."""

MUTANTS = {
    "test_attention_maps.py": [
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
    ]
}
