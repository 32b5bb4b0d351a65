"""Wrong versions of `alignbook.papers.covalign.model`."""

MUTANTS = {
    "test_covalign.py": [
        # Config.
        ("config: a negative weight", "if not 0 <= getattr(self, name) < math.inf:", "if False:"),
        ("config: any temperature", "if not 0 < getattr(self, name) < math.inf:", "if False:"),
        ("config: any ε", "if not 0 <= self.threshold <= 1:", "if False:"),
        ("config: any name", "if getattr(self, name) not in known:", "if False:"),
        (
            "config: more queries than patches",
            'if config.matching in ("regions", "queries") and config.queries > patches:',
            "if False:",
        ),
        (
            "config: fewer queries than patches alone",
            "config.queries > patches:",
            "config.queries >= patches:",
        ),
        (
            "preset: 30 epochs of images",
            "steps=30 * (145_000 // 128)",
            "steps=30 * (29_000 // 128)",
        ),
        (
            "fit: the last step is measured",
            "best = training.take_best(matcher, outcome)",
            'best = {"best step": 0}',
        ),
        (
            "Eq. 2: softmax over the queries",
            "attention = full(logits).softmax(-1)",
            "attention = full(logits).softmax(-2)",
        ),
        (
            "mask: always of attention",
            'attention if c.mask == "attention" else logits',
            "attention",
        ),
        (
            "places: learnt by none",
            "PLACE * torch.randn(patches, d)) if config.placed",
            "0.0) if False",
        ),
        ("places: the towers' scale", "PLACE * torch.randn(patches, d)", "torch.randn(patches, d)"),
        ("places: nobody reads them", "self.patches(tokens) + self.places", "self.patches(tokens)"),
        (
            "regions: without V",
            "regions = self.values(pooled(attention, mask, patches))",
            "regions = pooled(attention, mask, patches)",
        ),
        (
            "regions: not in the text's space",
            "Regions(unit(self.outward(regions)), attention, mask)",
            "Regions(unit(regions), attention, mask)",
        ),
        (
            "regions: of any length",
            "Regions(unit(self.outward(regions)), attention, mask)",
            "Regions(self.outward(regions), attention, mask)",
        ),
        (
            "baseline: patches of any length",
            "return Regions(unit(patches))\n",
            "return Regions(patches)\n",
        ),
        (
            "baseline: queries not in the text's space",
            "return Regions(unit(self.outward(z)))",
            "return Regions(unit(z))",
        ),
        (
            "words: mean of the padding too",
            "(words * there).sum(1, keepdim=True) / there",
            "words.sum(1, keepdim=True) / there",
        ),
        ("words: of any length", "return unit(words), mask\n", "return words, mask\n"),
        # 7. and 8.
        ("S: one way", "return of_regions + of_words", "return of_regions"),
        (
            "S: padding counts",
            "fine_grained_matching(regions, words, None, word_mask)",
            "fine_grained_matching(regions, words, None, None)",
        ),
        (
            "loss: captions of one image are negatives",
            "temperature=self.temperature(), image_ids=image_ids)",
            "temperature=self.temperature())",
        ),
        ("loss: no τ_g", "temperature=self.temperature(), image_ids", "temperature=1.0, image_ids"),
        (
            "loss: τ_g not bounded",
            "self.log_temperature.exp().clamp(min=COLDEST)",
            "self.log_temperature.exp()",
        ),
        (
            "loss: τ_g begins elsewhere",
            "torch.tensor(math.log(config.global_temperature))",
            "torch.tensor(math.log(0.07))",
        ),
        ("loss: not weighted", 'getattr(self.config, f"lambda_{name}") * value', "value"),
        ("loss: L_vis at L_conc's weight", 'found["v"] = visual', 'found["c"] = visual'),
        # Training.
        (
            "training: captions of other images",
            "numbers = pictures * each + captions.numpy() % each",
            "numbers = captions.numpy()",
        ),
        (
            "training: a tuning seed sees the test split",
            '"dev" if seed >= TUNING_SEED else "test"',
            '"test"',
        ),
        ("training: ranks of dev", '    if split == "test":\n', '    if split == "dev":\n'),
        ("optimiser: SGD never", 'if config.optimizer == "sgd":', "if False:"),
        (
            "optimiser: towers at full rate",
            '"lr": config.backbone * config.learning_rate',
            '"lr": config.learning_rate',
        ),
        (
            "optimiser: towers left out",
            'groups.append({"params": towers',
            '[].append({"params": towers',
        ),
        (
            "evaluation: dev's number of images for test",
            'config.dev_images if split == "dev" else config.test_images',
            "config.dev_images",
        ),
        (
            "evaluation: captions of the split's first rows",
            "encode_images(matcher, rows)\n    numbers = (rows[:, None] * each + np.arange(each)).ravel()",
            "encode_images(matcher, rows)\n    numbers = np.arange(len(rows) * each)",
        ),
        ("evaluation: more images than there are", "    if most > len(rows):", "    if False:"),
        (
            "evaluation: spread in the loss's unit",
            "places = positions(grid).to",
            'places = positions(grid, "patches").to',
        ),
        (
            "evaluation: regions with enough patches counted",
            "100 * (counts < FEWEST).float().mean()",
            "100 * (counts >= FEWEST).float().mean()",
        ),
        (
            "training: no warning of the mask",
            'if known and known["kept a region"] < FEWEST:',
            "if False:",
        ),
        (
            "training: warns at every look",
            "        if step == config.steps:\n            warn_of_mask",
            "        if True:\n            warn_of_mask",
        ),
        ("loading: as if in training", "return matcher.eval()", "return matcher"),
    ],
    "test_two_towers.py": [
        (
            "training: unused weights counted",
            "for p in matcher.parameters() if p.requires_grad)}",
            "for p in matcher.parameters())}",
        )
    ],
}
