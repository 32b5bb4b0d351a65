"""Wrong versions of ComAlign; every one must fail its test file."""

FILE, TESTS = "papers/comalign/", "test_comalign.py"

MUTANTS = [
    (name, FILE, snippet, replacement, TESTS)
    for name, snippet, replacement in [
        ("trivial: one direction is left", "t2i=torch.zeros_like(value.t2i))", "t2i=value.t2i)"),
        # Eq. 1.
        (
            "Eq. 1: official exponent for all",
            "angles = places / 10000 ** (2 * (i // 2) / dim)",
            "angles = places / 10000 ** (2 * i / dim)",
        ),
        (
            "Eq. 1: sine and cosine exchanged",
            "angles.sin(), angles.cos()",
            "angles.cos(), angles.sin()",
        ),
        ("official: a sine first", "angles.cos(), angles.sin()", "angles.sin(), angles.cos()"),
        ("official: no dropout of positions", "packed = self.drop(packed)", "packed = packed"),
        ("Eq. 1: no place codes", "else x[seen]) + places", "else x[seen]) + 0 * places"),
        (
            "Eq. 1: places of the slots held",
            "self.codes[h.slots].expand_as(x)",
            "self.codes[: x.shape[1]].expand_as(x)",
        ),
        (
            "Eq. 1: absent components seen",
            "there = h.present if self.config.masked else",
            "there = h.present if not self.config.masked else",
        ),
        ("Eq. 1: absent components attended to", ".masked_fill(~mask, -torch.inf)", ""),
        (
            "Eq. 1: features kept out seen all the same",
            "there & h.chosen(self.config.features)",
            'there & h.chosen("GER")',
        ),
        (
            "layer: no residual path, attention",
            "self.norms[0](x + self.drop(mixed))",
            "self.norms[0](self.drop(mixed))",
        ),
        (
            "layer: no residual path, feedforward",
            "self.norms[1](x + self.drop(self.feedforward(x)))",
            "self.norms[1](self.drop(self.feedforward(x)))",
        ),
        ("layer: one norm for both", "return self.norms[1](x", "return self.norms[0](x"),
        (
            "layer: no dropout",
            "self.drop = heads, Dropout(dropout)",
            "self.drop = heads, Dropout(0.0)",
        ),
        ("dropout: in evaluation", "if not (self.training and self.p):", "if not self.p:"),
        ("dropout: one of four numbers never dropped", "torch.iinfo(torch.int64).min, None", ""),
        ("dropout: not scaled", "x * (kept / (1 - self.p))", "x * kept"),
        ("layer: keys and values exchanged", "q, k, v = padded", "q, v, k = padded"),
        (
            "layer: heads mixed up",
            "(3, self.heads, -1)).permute(2, 0, 3, 1, 4)",
            "(3, -1, self.heads)).permute(2, 0, 4, 1, 3)",
        ),
        (
            "Eq. 1: coarse network for all",
            "fine(x[:, 1:])], dim=1)",
            "self.coarse(x[:, 1:])], dim=1)",
        ),
        (
            "Eq. 1: one network although separate",
            'separate = config.network == "fc-separate"',
            "separate = False",
        ),
        ("Eq. 1: both sides trained", 'if config.trained in (side, "both")', "if True"),
        ("Eq. 2: not of length 1", "F.normalize(z, dim=-1) if self.config.normalised else z", "z"),
        (
            "Eq. 2: always of length 1",
            "F.normalize(z, dim=-1) if self.config.normalised else z",
            "F.normalize(z, dim=-1)",
        ),
        # Eq. 3–5.
        (
            "Eq. 3: directions exchanged",
            "Term(*fine_grained_matching(x, y, x_mask, y_mask), *has)",
            "Term(*fine_grained_matching(x, y, x_mask, y_mask)[::-1], *has)",
        ),
        (
            "Eq. 3: masks although without",
            "x_mask, y_mask = torch.ones_like(x_mask), torch.ones_like(y_mask)",
            "pass",
        ),
        (
            "Eq. 3: who has what exchanged",
            "has = x_mask.any(1), y_mask.any(1)",
            "has = x_mask.all(1), y_mask.all(1)",
        ),
        (
            "Eq. 5: another slot than the whole",
            "both = x[:, 0] @ y[:, 0].T",
            "both = x[:, -1] @ -y[:, 0].T",
        ),
        # Eq. 6–9.
        (
            "Eq. 8: anchors without a component",
            "valid = anchors & candidates",
            "valid = candidates",
        ),
        (
            "Eq. 8: candidates without a component",
            "s.masked_fill(~candidates, -torch.inf)[valid]",
            "s[valid]",
        ),
        (
            "Eq. 8: the wrong diagonal",
            "torch.nonzero(valid)[:, 0])",
            "torch.arange(int(valid.sum())))",
        ),
        (
            "Eq. 7: text to image along the images' rows",
            "contrast(scale * t2i.T, has_captions, has_images)",
            "contrast(scale * t2i, has_captions, has_images)",
        ),
        (
            "Eq. 7: image to text again",
            "contrast(scale * t2i.T, has_captions",
            "contrast(scale * i2t.T, has_captions",
        ),
        (
            "Eq. 6: coefficient on every term",
            'model.config.coefficient if term == "G" else 1.0',
            "model.config.coefficient",
        ),
        ("Eq. 6: no coefficient", 'model.config.coefficient if term == "G" else 1.0', "1.0"),
        ("Eq. 9: twice", "total = total + weight * both / 2", "total = total + weight * both"),
        (
            "Eq. 6: the last term alone",
            "total = total + weight * both / 2",
            "total = weight * both / 2",
        ),
        ("scale: not bounded", "self.scales[term].exp().clamp(max=100)", "self.scales[term].exp()"),
        (
            "scale: 0.07 the other way round",
            "torch.tensor(math.log(1 / 0.07))",
            "torch.tensor(math.log(0.07))",
        ),
        (
            "scale: learnt although none",
            'if self.config.scale == "learnt" else 1.0',
            "if False else 2.0",
        ),
        # Eq. 10, 11.
        ("Eq. 10: α2 without its terms", "a2 * sums.fine", "a2 * sums.base"),
        ("Eq. 10: α1 on text to image", "a1 * sums.i2t", "a1 * sums.t2i"),
        (
            "Eq. 10: α2 on the whole as well",
            "Sums(base, whole + i2t, t2i, whole + t2i)",
            "Sums(base, whole + i2t, whole + t2i, whole + t2i)",
        ),
        ("Eq. 11: image to text", "b1 * sums.t2i", "b1 * sums.i2t"),
        ("Eq. 11: not weighted", "b1 * sums.t2i", "sums.t2i"),
        (
            "Eq. 10: an absent term is 0",
            'torch.where(value.both, getattr(value, way), means[f"{term} {way}"])',
            "torch.where(value.both, getattr(value, way), 0.0)",
        ),
        (
            "Eq. 10: a term is absent where either has it",
            "self.images[:, None] & self.captions",
            "self.images[:, None] | self.captions",
        ),
        ("Eq. 10: not divided", "part / divisors[name] for", "part for"),
        (
            "looks: at other weights",
            "weighted(*found, frozen)",
            "weighted(*found, Frozen((0, 0, 0), *frozen[1:]))",
        ),
        (
            "looks: one weight of all",
            "((a1,) if one else WEIGHTS)",
            "((WEIGHTS[0],) if one else WEIGHTS)",
        ),
        (
            "looks: at the training images",
            'compare(model, source, source_run, "dev", some)',
            'compare(model, source, source_run, "train", some)',
        ),
        (
            "Eq. 10: terms added for every weight anew",
            "    sums = added(parts, divisors)\n",
            "    sums = added(parts_of(base_similarity, found, means), divisors)\n",
        ),
        ("rate: no rise", "min(1.0, (step + 1) / rise)", "1.0"),
        ("rate: no fall", "* config.gamma ** (step // third)", ""),
        ("validation: means of all pairs", "float(s[at][present].mean())", "float(s[at].mean())"),
        (
            "validation: text to image divided by the images' maxima",
            'part.max(0 if name == "fine t2i" else 1)',
            "part.max(1)",
        ),
        ("validation: divided although not", "if divided else UNDIVIDED", "if True else UNDIVIDED"),
        ("validation: divided by 0", ".values.mean())) or 1.0", ".values.mean()))"),
        (
            "validation: weights by the other direction's recalls",
            "image_to_text(sums, *a), each).i2t.values()",
            "image_to_text(sums, *a), each).t2i.values()",
        ),
        ("validation: worst weights", "pairs[int(np.argmax(i2t))]", "pairs[int(np.argmin(i2t))]"),
        ("validation: worst β1", "WEIGHTS[int(np.argmax(t2i))]", "WEIGHTS[int(np.argmin(t2i))]"),
        (
            "validation: fixed weights chosen all the same",
            "    if weights:\n",
            "    if weights is None:\n",
        ),
        (
            "validation: captions of the wrong image",
            "// each\n    at =",
            "% len(base_similarity)\n    at =",
        ),
        (
            "recalls: one matrix for both",
            "retrieval.evaluate(i2t, each), retrieval.evaluate(t2i, each)",
            "retrieval.evaluate(i2t, each), retrieval.evaluate(i2t, each)",
        ),
        (
            "training: the last step is measured",
            "best = training.take_best(model, outcome)",
            'best = {"best step": 0}',
        ),
        ("training: a tuning seed sees the test split", "if seed < TUNING_SEED:", "if True:"),
        (
            "training: weights always from the source",
            'if model.config.validation == "paper":',
            "if False:",
        ),
        (
            "official: zeros are no anchors",
            "            has = x_mask.any(1), y_mask.any(1)\n            found",
            "            has = images.of(term)[1].any(1), captions.of(term)[1].any(1)\n            found",
        ),
        ("official: the whole comes first", ".float().roll(1, dims=0)", ".float()"),
        ("official: the whole comes second", "roll(1, dims=0)", "roll(2, dims=0)"),
        ("training: two base models", "if widths[0] != widths[1]:", "if False:"),
        (
            "training: heads don't divide",
            'if config.network == "transformer" and found',
            "if False and found",
        ),
        (
            "training: ranks by the source's captions",
            "retrieval.ranks(t2i, of_target)",
            "retrieval.ranks(t2i, each)",
        ),
        (
            "training: recalls by the source's captions",
            'recalls(i2t, t2i, of_target, "test")',
            'recalls(i2t, t2i, each, "test")',
        ),
        (
            "training: weights by the source's captions",
            "        each = target.captions_per_image\n    return freeze",
            "    return freeze",
        ),
        (
            "training: captions of other images",
            "numbers(rows, captions.numpy(), each)",
            "numbers(rows, captions.numpy()[::-1], each)",
        ),
        (
            "training: the base model's rows measured on dev",
            'evaluate(model, frozen, target, target_run, "test")',
            'evaluate(model, frozen, target, target_run, "dev")',
        ),
        (
            "captions' numbers: counted in the split",
            "rows[captions // each] * each + captions % each",
            "captions",
        ),
    ]
]
