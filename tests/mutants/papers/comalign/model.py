"""Wrong versions of `alignbook.papers.comalign.model`."""

MUTANTS = {
    "test_comalign.py": [
        ("trivial: one direction is left", "t2i=torch.zeros_like(value.t2i))", "t2i=value.t2i)"),
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
        (
            "looks: at other weights",
            "weighted(*found, frozen)",
            "weighted(*found, Frozen((0, 0, 0), *frozen[1:]))",
        ),
        (
            "looks: at the training images",
            'compare(model, source, source_run, "dev", some)',
            'compare(model, source, source_run, "train", some)',
        ),
        ("rate: no rise", "min(1.0, (step + 1) / rise)", "1.0"),
        ("rate: no fall", "* config.gamma ** (step // third)", ""),
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
}
