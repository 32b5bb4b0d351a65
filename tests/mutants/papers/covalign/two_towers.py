"""Wrong versions of `alignbook.papers.covalign.two_towers`."""

MUTANTS = {
    "test_two_towers.py": [
        ("cells: columns first", "self.grid).flatten(2).mT", "self.grid).mT.flatten(2).mT"),
        ("cells: never pooled", "tuple(min(self.most, each) for each in sides)", "tuple(sides)"),
        ("pictures: of any size", "if side < max(*grid, least):", "if False:"),
        (
            "pictures: by their longer side",
            "side = min(dataset.images.shape[1:3])",
            "side = max(dataset.images.shape[1:3])",
        ),
        ("ViT: class token kept", "last_hidden_state[:, 1:]", "last_hidden_state[:, :-1]"),
        ("ViT: not normalised", "(pixels - self.mean) / self.std", "pixels - self.mean"),
        ("ViT: any architecture", '!= "vit":', "is None:"),
        (
            "ViT: weights missing",
            'if missing := sorted(told["missing_keys"]):',
            "if missing := []:",
        ),
        (
            "captions: whole ones counted as cut",
            "sum(len(each.ids) > kept",
            "sum(len(each.ids) >= kept",
        ),
        (
            "captions: BERT's positions forgotten",
            "kept = min(context, pieces.positions) - 2",
            "kept = context - 2",
        ),
        (
            "whitening: not centred",
            "return (tokens - self.mean) @ self.matrix",
            "return tokens @ self.matrix",
        ),
        ("whitening: the other way", ".rsqrt()\n", ".sqrt()\n"),
        (
            "whitening: towers are not whitened",
            "self.whiten[kind](tokens.to(self.whiten[kind].mean.device))",
            "tokens",
        ),
        (
            "whitening: words of other captions",
            "_real(self.words(part * each))",
            "_real(self.words(part))",
        ),
        (
            "whitening: of all images",
            'dataset.splits["train"][:SAMPLE]',
            "np.arange(len(dataset.images))",
        ),
        (
            "towers: whitened ones in training mode",
            "super().train(mode and not self.whiten)",
            "super().train(mode)",
        ),
        (
            "towers: what isn't used is trained",
            "parameter.requires_grad_(gradient is not None)",
            "pass",
        ),
        ("frozen: of any settings", "if run.config != asked:", "if False:"),
        (
            "frozen: the caption before",
            "np.where(numbers > 0, ends[numbers - 1], 0)",
            "np.where(numbers > 1, ends[numbers - 2], 0)",
        ),
        (
            "frozen: words in order of length",
            "words[places] = _half(",
            "words[np.sort(places)] = _half(",
        ),
        (
            "frozen: in training mode",
            "    towers.to(device).eval()\n",
            "    towers.to(device).train()\n",
        ),
        ("frozen: infinite tokens", "if not torch.isfinite(found).all() or", "if False or"),
        ("frozen: too large for half precision", "or found.abs().max() > 65000:", "or False:"),
        ("sources: as many as given", "if len(sources) != expected:", "if False:"),
    ]
}
