"""Wrong versions of CoV-Align and of its towers; every one must fail its test file."""

STEPS = [
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
    ("preset: 30 epochs of images", "steps=30 * (145_000 // 128)", "steps=30 * (29_000 // 128)"),
    (
        "fit: the last step is measured",
        "best = training.take_best(matcher, outcome)",
        'best = {"best step": 0}',
    ),
    # 1. Sampling.
    (
        "sampling: columns and rows exchanged",
        "zip(places.unbind(-1), reversed(grid))",
        "zip(places.unbind(-1), grid)",
    ),
    ("sampling: half a patch off", "* n - 0.5 - torch.arange", "* n - torch.arange"),
    (
        "sampling: negative beyond two patches",
        "(1 - distance.abs()).clamp(min=0)",
        "(1 - distance.abs())",
    ),
    (
        "sampling: no centre",
        "places = centres[:, None, None] + self.offsets",
        "places = self.offsets",
    ),
    ("sampling: offsets in units of the picture", ".view(*shape, 2) / sides", ".view(*shape, 2)"),
    (
        "sampling: points not weighted",
        "shares = self.shares(z).view(shape).softmax(-1)",
        "shares = self.shares(z).view(shape)",
    ),
    (
        "sampling: heads' values exchanged",
        "values = self.values.weight.unflatten(0, (self.heads, -1))",
        "values = self.values.weight.unflatten(0, (self.heads, -1)).flip(0)",
    ),
    ("sampling: no star", "self.offsets.bias.data.copy_(star.flatten())", "pass"),
    (
        "sampling: the star turns the other way",
        "(angles.cos(), angles.sin())",
        "(angles.cos(), -angles.sin())",
    ),
    (
        "sampling: the star begins at its centre",
        "torch.arange(1, config.points + 1)[:, None]",
        "torch.arange(config.points)[:, None]",
    ),
    (
        "cross-attention: keys and values exchanged",
        "(self.keys, patches), (self.values, patches)",
        "(self.values, patches), (self.keys, patches)",
    ),
    (
        "cross-attention: heads mixed up",
        "layer(x).unflatten(2, (self.heads, -1)).transpose(1, 2)\n",
        "layer(x).unflatten(2, (-1, self.heads)).permute(0, 3, 1, 2)\n",
    ),
    (
        "queries: nothing is added to",
        "z = norm(z + layer(z, patches, centres))",
        "z = norm(layer(z, patches, centres))",
    ),
    (
        "queries: not normalised",
        "z = norm(z + layer(z, patches, centres))",
        "z = z + layer(z, patches, centres)",
    ),
    (
        "queries: centres beyond the picture",
        "None if self.centres is None else self.centres.sigmoid()",
        "self.centres",
    ),
    (
        "queries: the baseline samples too",
        'deformable = config.sampling == "deformable" and config.matching == "regions"',
        'deformable = config.sampling == "deformable"',
    ),
    (
        "queries: one layer",
        "self.layers = nn.ModuleList(kind(config, grid) for _ in range(config.layers))",
        "self.layers = nn.ModuleList(kind(config, grid) for _ in range(1))",
    ),
    # 2. Eq. 2.
    ("Eq. 2: W always shared", 'shared = config.projection == "shared"', "shared = True"),
    (
        "Eq. 2: full rank in place of half",
        'if config.projection == "separate-half" else config.dim',
        "if False else config.dim",
    ),
    ("Eq. 2: not the same to begin with", 'if config.projection == "separate-same":', "if False:"),
    (
        "Eq. 2: one weight for both",
        "self.of_patches.weight.data.copy_(self.of_queries.weight)",
        "self.of_patches.weight = self.of_queries.weight",
    ),
    (
        "Eq. 2: queries' W for the patches",
        "(self.of_patches or self.of_queries)(patches)",
        "self.of_queries(patches)",
    ),
    ("Eq. 2: τ multiplies", "unit(keys).mT / self.temperature", "unit(keys).mT * self.temperature"),
    ("Eq. 2: patches of any length", "unit(asked) @ unit(keys).mT", "unit(asked) @ keys.mT"),
    ("Eq. 2: cosines always", "if not self.cosine:", "if False:"),
    (
        "Eq. 2: softmax over the queries",
        "attention = full(logits).softmax(-1)",
        "attention = full(logits).softmax(-2)",
    ),
    # 3. Mask.
    ("mask: not normalised", "values - low >= threshold * (high - low)", "values >= threshold"),
    (
        "mask: the largest never stays",
        "values - low >= threshold * (high - low)",
        "values - low > threshold * (high - low)",
    ),
    (
        "mask: extremes of all queries",
        "values.amin(-1, keepdim=True), values.amax(-1, keepdim=True)",
        "values.amin(), values.amax()",
    ),
    ("mask: always of attention", 'attention if c.mask == "attention" else logits', "attention"),
    # 4. Regions.
    ("regions: not masked", "chosen = attention * mask\n", "chosen = attention\n"),
    (
        "regions: not divided by what is kept",
        "chosen @ values / chosen.sum(-1, keepdim=True)",
        "chosen @ values",
    ),
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
    # 5. Spatial concentration.
    (
        "places: x and y exchanged",
        "torch.stack((x.flatten(), y.flatten()), 1)",
        "torch.stack((y.flatten(), x.flatten()), 1)",
    ),
    (
        "places: corners",
        "torch.arange(rows) + 0.5, torch.arange(columns) + 0.5",
        "torch.arange(rows) + 0.0, torch.arange(columns) + 0.0",
    ),
    ("places: rows across", "torch.tensor([columns, rows])", "torch.tensor([rows, columns])"),
    ("places: always in patches", 'if coordinates == "unit" else places', "if False else places"),
    ("L_conc: rows of any sum", "    if wrong.any():\n        b, q", "    if False:\n        b, q"),
    (
        "L_conc: NaN sums to 1",
        "wrong = ~((sums - 1).abs() <= TOLERANCE)",
        "wrong = (sums - 1).abs() > TOLERANCE",
    ),
    (
        "L_conc: distances along either axis",
        "[..., None, :]).norm(dim=-1)",
        "[..., None, :]).norm(p=1, dim=-1)",
    ),
    ("L_conc: not weighted", "(attention * distances).sum(-1).mean()", "distances.sum(-1).mean()"),
    (
        "L_conc: centre of the picture",
        "centres = attention @ positions",
        "centres = (attention @ positions) * 0 + positions.mean(0)",
    ),
    # 6. Visual contrast.
    ("L_vis: τ1 multiplies", "logits = r @ r.mT / temperature", "logits = r @ r.mT * temperature"),
    ("L_vis: regions of any length", "    r = unit(regions)\n", "    r = regions\n"),
    (
        "L_vis: attraction",
        "(logits.logsumexp(-1) - logits.diagonal(dim1=1, dim2=2)).mean()",
        "(logits.diagonal(dim1=1, dim2=2) - logits.logsumexp(-1)).mean()",
    ),
    (
        "L_vis: between images",
        "logits = r @ r.mT / temperature",
        "logits = (r.transpose(0, 1) @ r.transpose(0, 1).mT) / temperature",
    ),
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
]

TOWERS = [
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
    ("ViT: weights missing", 'if missing := sorted(told["missing_keys"]):', "if missing := []:"),
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

END_TO_END = [
    (
        "training: unused weights counted",
        "for p in matcher.parameters() if p.requires_grad)}",
        "for p in matcher.parameters())}",
    )
]

TABLES = [
    ("papers/covalign/", "test_covalign.py", STEPS),
    ("papers/covalign/", "test_two_towers.py", END_TO_END),
    ("papers/covalign/two_towers.py", "test_two_towers.py", TOWERS),
]
MUTANTS = [
    (name, file, snippet, replacement, tests)
    for file, tests, table in TABLES
    for name, snippet, replacement in table
]
