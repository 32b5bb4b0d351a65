"""Wrong versions of co-teaching and its methods; every one must fail its test file."""

FILE, TESTS = "papers/gsl/", "test_coteaching.py"

MUTANTS = [
    (name, FILE, snippet, replacement, TESTS)
    for name, snippet, replacement in [
        # What a network sees.
        (
            "look: images of the clean index",
            "regions = self.pictures(network, self.index[chosen])",
            "regions = self.pictures(network, chosen // self.each)",
        ),
        (
            "look: every pair an image of its own",
            "which = torch.from_numpy(self.index[chosen])",
            "which = torch.from_numpy(chosen)",
        ),
        ("glance: with dropout", "        network.eval()\n        found", "        found"),
        (
            "glance: leaves evaluation mode on",
            "        network.train(was)\n        return found",
            "        return found",
        ),
        (
            "looks: a last batch of few",
            "np.concatenate((order, order))[start : start + batch]",
            "order[start : start + batch]",
        ),
        (
            "looks: without the last pairs",
            "range(0, len(self), batch)",
            "range(0, len(self) - batch + 1, batch)",
        ),
        (
            "looks: pictures of other pairs",
            "images.rows(place[chosen])",
            "images.rows(place[start:])",
        ),
        (
            "looks: every picture, paired or not",
            "np.unique(self.index,",
            "np.unique(np.r_[self.index, 0:4],",
        ),
        (
            "looks: pictures with dropout",
            "        network.eval()\n        parts = [",
            "        parts = [",
        ),
        (
            "looks: one order for all epochs",
            "epoch_order(len(self), seed, epoch)",
            "epoch_order(len(self), seed, 0)",
        ),
        ("draw: every pass in one order", "default_rng([*key, turn])", "default_rng(key)"),
        ("draw: every batch from an order of its own", "turn, j = divmod(", "j, turn = divmod("),
        (
            "draw: a pass ends with a small batch",
            "len(pool) // size if size",
            "-(-len(pool) // size) if size",
        ),
        # Losses of pairs.
        ("soft margin: in proportion", "(10**labels - 1) / 9 * margin", "labels * margin"),
        (
            "soft margin: NaN passes",
            "~((labels >= 0) & (labels <= 1))",
            "(labels < 0) | (labels > 1)",
        ),
        (
            "hardest: pairs of one image are negatives",
            "return losses.hardest_negative_hinge(\n        look.scores, margin, image_ids=look.image_ids",
            "return losses.hardest_negative_hinge(\n        look.scores, margin, image_ids=None",
        ),
        (
            "contrast: pairs of one image count",
            "logits.masked_fill(other_pair, -torch.inf)",
            "logits",
        ),
        ("contrast: without the pair itself", "    other_pair.fill_diagonal_(False)\n", ""),
        # NCR.
        (
            "NCR: p by the whole mean violation",
            "mean_violation(look, margin) / 2).clamp",
            "mean_violation(look, margin)).clamp",
        ),
        ("NCR: p below 0", ".clamp(0, margin)", ".clamp(max=margin)"),
        (
            "NCR: p over the largest alone",
            "len(p) // 10 + 1).values.mean()",
            "len(p) // 10 + 1).values.max()",
        ),
        (
            "NCR: p undefined where nothing fits",
            "most.clamp(min=torch.finfo(p.dtype).tiny)",
            "most",
        ),
        ("NCR: w and p exchanged", "[w + (1 - w) * predicted(", "[(1 - w) + w * predicted("),
        (
            "NCR: clean pairs in the peer's eyes",
            "predicted(step.glance(step.network, step.clean)",
            "predicted(step.glance(step.peer, step.clean)",
        ),
        (
            "NCR: noisy pairs in its own eyes",
            "for each in step.pair.networks]",
            "for each in [step.network] * 2]",
        ),
        (
            "NCR: noisy pairs from the beginning",
            "if step.late and len(step.noisy):\n            parts.append(step.noisy)\n            p =",
            "if len(step.noisy):\n            parts.append(step.noisy)\n            p =",
        ),
        ("parts: whole margins", "soft_margin(y, step.config.margin)", "step.config.margin"),
        ("parts: the last alone", "return sum(found)", "return found[-1]"),
        # BiCro.
        ("BiCro: warm-up on 70 %", "share: float = 0.3", "share: float = 0.7"),
        (
            "BiCro: warm-up of no pair",
            "max(1, int(share * len(violations)))",
            "int(share * len(violations))",
        ),
        (
            "BiCro: negative cosines",
            "product(look.captions, anchors.captions.T).clamp(min=1e-3)",
            "product(look.captions, anchors.captions.T)",
        ),
        (
            "BiCro: either modality's own nearest",
            "other.gather(1, index[:, None]).squeeze(1)",
            "other.max(1).values",
        ),
        (
            "BiCro: ratio of one direction",
            "append(torch.minimum(ratio, 1 / ratio))",
            "append(ratio.clamp(max=1))",
        ),
        ("BiCro: nearest by images alone", "return sum(halves) / 2", "return halves[0]"),
        (
            "BiCro: clean pairs in its own eyes",
            "seen = step.glance(step.peer, step.clean)",
            "seen = step.glance(step.network, step.clean)",
        ),
        (
            "BiCro: the worst for anchors",
            "len(step.clean) // 10 + 1).indices",
            "len(step.clean) // 10 + 1, largest=False).indices",
        ),
        ("BiCro: noisy labels below a half stay", "y * (y > 0.5)", "y"),
        # GSC.
        ("GSC: γ and β exchanged", "GAMMA, BETA = 0.01, 0.7", "GAMMA, BETA = 0.7, 0.01"),
        (
            "GSC: warm-up along the rows twice",
            "contrast(logits.T, look.image_ids)).mean()",
            "contrast(logits, look.image_ids)).mean()",
        ),
        (
            "GSC: structures by the pair's own target",
            "images = product(look.images, look.images.T) * targets",
            "images = product(look.images, look.images.T) * targets[:, None]",
        ),
        ("GSC: structures not weighed", "GAMMA * (targets * apart).mean()", "GAMMA * apart.mean()"),
        (
            "GSC: structures compared down the columns",
            "F.cosine_similarity(images, captions, dim=1)",
            "F.cosine_similarity(images, captions, dim=0)",
        ),
        ("GSC: target the larger", "torch.minimum(record[", "torch.maximum(record["),
        (
            "GSC: targets begin with 0",
            "record[MEAN_CLEAN]).nan_to_num(1.0)",
            "record[MEAN_CLEAN]).nan_to_num(0.0)",
        ),
        (
            "GSC: unlike structures are clean",
            "posterior(mixtures.GaussianMixture(), 1 - cosine)",
            "posterior(mixtures.GaussianMixture(), cosine)",
        ),
        (
            "GSC: beta distributions",
            "posterior(mixtures.GaussianMixture(), 1 - cosine)",
            "posterior(mixtures.BetaMixture(), 1 - cosine)",
        ),
        (
            "GSC: unseen pairs are noisy",
            'p, problem = np.ones(n), ""',
            'p, problem = np.zeros(n), ""',
        ),
        (
            "GSC: old and new exchanged",
            "BETA * now.float() + (1 - BETA) * old",
            "(1 - BETA) * now.float() + BETA * old",
        ),
        (
            "GSC: averages begin with 0",
            "old = record[mean].nan_to_num(1.0)",
            "old = record[mean].nan_to_num(0.0)",
        ),
        ("GSC: rate falls once", "0.2 ** (4 * step // steps)", "0.2 ** (step // steps)"),
        # The table of methods.
        ("the rate falls at half", "4 * step >= 3 * steps", "2 * step >= steps"),
        (
            "division by the hardest negatives",
            "found[chosen] = mean_violation(look, config.margin)",
            "found[chosen] = hardest(look, config.margin)",
        ),
        (
            "NCR and BiCro: mixtures exchanged",
            "ncr, partial(by_mean_violation, mixtures.GaussianMixture)",
            "ncr, partial(by_mean_violation, mixtures.BetaMixture)",
        ),
        ("the bound of clean pairs sees all", "plain, truth=True)", "plain)"),
        # The frame.
        (
            "warm-up: not shared, its own losses",
            "loss=config.warm_up or method.warm_up",
            "loss=method.warm_up",
        ),
        (
            "warm-up: the bound's on all pairs",
            "truth=method.truth, **shared",
            "truth=False, **shared",
        ),
        ("warm-up: networks begin anew", "pair.networks.load_state_dict(start.weights())", "pass"),
        (
            "warm-up: both networks on one batch",
            "[seed, epoch, k, 0], i))",
            "[seed, epoch, 0], i))",
        ),
        (
            "warm-up: one network alone",
            "sum(loss(look, config) for look in looks_at(step))",
            "loss(next(looks_at(step)), config)",
        ),
        (
            "trivial: samples count",
            "        if self.mixed:\n            return",
            "        if False:\n            return",
        ),
        ("trivial: labels are kept", "if not self.mixed:", "if True:"),
        ("trivial: scores as they are", "scores=self.scores.roll(1, 1)", "scores=self.scores"),
        (
            "warm-up: one epoch of many",
            "total = per_epoch * config.warm_up_epochs",
            "total = per_epoch",
        ),
        (
            "warm-up: at the later rate",
            "return self.config.after * self.method.decay(",
            "return self.method.decay(",
        ),
        (
            "warm-up: losses exchanged",
            '"smallest": smallest, "contrast": both_ways',
            '"smallest": both_ways, "contrast": smallest',
        ),
        (
            "frame: networks begin alike",
            "        sgraf.build(config.similarity",
            "        torch.manual_seed(7) and sgr.build(config.similarity",
        ),
        ("frame: both warm up on one batch", "[seed, epoch, k, 0]", "[seed, epoch, 0]"),
        (
            "frame: both train on one batch",
            "[self.seed, passed, k, j], i)",
            "[self.seed, passed, j], i)",
        ),
        (
            "frame: own division for the peer's",
            'config.split == "peer" else k',
            'config.split == "own" else k',
        ),
        ("frame: one record for both", "pair.record[k])", "pair.record[0])"),
        (
            "frame: p at δ is clean",
            "self.pair.posterior[judge].numpy() > self.config.delta",
            "self.pair.posterior[judge].numpy() >= self.config.delta",
        ),
        (
            "frame: δ is a half",
            "self.pair.posterior[judge].numpy() > self.config.delta",
            "self.pair.posterior[judge].numpy() > 0.5",
        ),
        ("frame: a clean pair alone", "if len(clean) < 2:", "if not len(clean):"),
        (
            "frame: a noisy pair alone",
            "noisy if len(noisy) > 1 else",
            "noisy if len(noisy) > 0 else",
        ),
        (
            "frame: late with warm-up counted",
            "late = 2 * (epoch * self.per_epoch + i) >= self.total",
            "late = 2 * (passed * self.per_epoch + i) >= self.total",
        ),
        (
            "frame: late from the next epoch",
            "late = 2 * (epoch * self.per_epoch + i) >= self.total",
            "late = 2 * epoch * self.per_epoch > self.total",
        ),
        (
            "frame: the last epoch alone is measured",
            "range(first, lessons.total + 1, lessons.per_epoch)",
            "range(lessons.total, lessons.total + 1)",
        ),
        ("frame: divided once", "if i == 0 and self.method", "if step == 0 and self.method"),
        ("frame: one network trains", "return of_a + of_b", "return of_a + of_a"),
        (
            "frame: the rate falls with warm-up counted",
            "method.decay(step, self.total)",
            "method.decay(step + self.config.warm_up_epochs * self.per_epoch, self.total)",
        ),
        (
            "frame: weight decay",
            "torch.optim.Adam(networks, lr=rate, fused=True)",
            "torch.optim.AdamW(networks, lr=rate, fused=True)",
        ),
        (
            "frame: the warm-up is no candidate",
            "first = 0 if config.warm_up_epochs else lessons.per_epoch",
            "first = lessons.per_epoch",
        ),
        (
            "frame: the last epoch is measured",
            'found = training.take_best(pair.networks, outcome, part="networks.")',
            'found = {"best step": 0}',
        ),
        (
            "bank: by the network's own division",
            "self.parts(epoch, self.judge(k))[0]",
            "self.parts(epoch, k)[0]",
        ),
        (
            "bank: filled once",
            "for k in range(2) if self.method.bank(config) else ():",
            "for k in range(2) if self.method.bank(config) and not epoch else ():",
        ),
        (
            "bank: with dropout",
            "parts = network.training, []\n        network.eval()",
            "parts = network.training, []",
        ),
        (
            "curve: of all pairs",
            "return loss, step.told[0] if step.told else loss.detach()",
            "return loss, loss.detach()",
        ),
        (
            "frame: tuning on test",
            '"dev" if self.seed >= TUNING_SEED',
            '"dev" if self.seed > TUNING_SEED',
        ),
        ("frame: samples of warm-up aren't counted", ' // 2 + warmed["samples"]', " // 2"),
        (
            "frame: identified by a half",
            "division(self.pair, self.pairs.noisy, self.config.delta, ",
            "division(self.pair, self.pairs.noisy, 0.5, ",
        ),
        ("frame: one noise for all seeds", "config.noise, config.noise_seed)", "config.noise, 0)"),
        (
            "checkpoint: without what is known",
            "self.register_buffer(name, value)",
            "self.register_buffer(name, value, persistent=False)",
        ),
        (
            "checkpoint: problems are forgotten",
            "json.loads(path.read_text()) if path.exists() else {}",
            "{}",
        ),
        (
            "clock: correction isn't left",
            '            yield\n        self.clock.turn("training")',
            "            yield",
        ),
        (
            "step: its own peer",
            "self.pair.networks[1 - self.number]",
            "self.pair.networks[self.number]",
        ),
        (
            "step: posterior of its own division",
            "self.pair.posterior[self.judge, chosen]",
            "self.pair.posterior[self.number, chosen]",
        ),
        (
            "step: the judge's record",
            "self.pair.record[self.number]",
            "self.pair.record[self.judge]",
        ),
        (
            "step: labels in the judge's row",
            "self.pair.labels[self.number, chosen]",
            "self.pair.labels[self.judge, chosen]",
        ),
        (
            "step: corrects with a gradient",
            "with torch.no_grad():\n            yield",
            "with torch.enable_grad():\n            yield",
        ),
        # An epoch's steps.
        (
            "steps: as many as noisy pairs",
            "n - int(config.noise * n) if truth",
            "int(config.noise * n) if truth",
        ),
        ("steps: rounded up", "max(1, used // config.batch)", "max(1, -(-used // config.batch))"),
        # Similarities.
        (
            "similarities: the last network's half",
            "total = total + torch.cat(parts)",
            "total = torch.cat(parts)",
        ),
        ("similarities: with dropout", "        network.eval()\n        words", "        words"),
        (
            "similarities: networks train afterwards",
            "torch.cat(parts)\n        network.train(was)",
            "torch.cat(parts)\n        network.train()",
        ),
        ("loaded networks train", "return both.eval(), vocabulary", "return both, vocabulary"),
        # How well the noise was found.
        ("AUC: off by n", "n * (n + 1) / 2", "n * (n - 1) / 2"),
        ("AUC: ties in any order", "rankdata(values)", 'rankdata(values, "ordinal")'),
        # What it costs.
        ("cost: weights move", "parameters(), lr=0.0,", "parameters(), lr=0.1,"),
        (
            "cost: the least likely are clean",
            "argsort(descending=True).numpy()",
            "argsort().numpy()",
        ),
        (
            "cost: all pairs are clean",
            "parts = order[: len(order) // 2], order[len(order) // 2 :]",
            "parts = order, order[:0]",
        ),
        (
            "cost: the own division",
            "judge = 1 - k if self.config.split",
            "judge = k if self.config.split",
        ),
        (
            "cost: early steps are late",
            "partial(bench.train, late=late)",
            "partial(bench.train, late=True)",
        ),
        ("cost: the first round counts", "np.median(corrected[1:])", "np.median(corrected)"),
        (
            "identification: p at δ is clean",
            'p <= delta, noisy), ("clean", p > delta',
            'p < delta, noisy), ("clean", p >= delta',
        ),
        (
            "identification: the smaller p for the mean",
            "posterior.mean(0))):",
            "posterior.min(0))):",
        ),
        (
            "identification: precision and recall exchanged",
            '("precision", said.sum()), ("recall", true.sum())',
            '("recall", said.sum()), ("precision", true.sum())',
        ),
        (
            "course: noise at δ is not found",
            "posterior[:, noisy] <= delta)",
            "posterior[:, noisy] < 0)",
        ),
        (
            "course: all pairs for the clean ones",
            "_mean(posterior[:, ~noisy] > delta)",
            "_mean(posterior > delta)",
        ),
        (
            "course: own captions one after another",
            "scores.unflatten(1, (n, each)).diagonal()",
            "scores.unflatten(1, (each, n)).diagonal(dim1=0, dim2=2)",
        ),
        ("course: the last part alone", "in scores.split(256))", "in scores.split(2)[-1:])"),
        (
            "course: the spread of all scores",
            "max(of_others(lambda x: (x - mean) ** 2), 0.0) ** 0.5",
            "float(scores.double().std(correction=0))",
        ),
        (
            "a run's course: a division before the first",
            "divided = self.method.divide and step",
            "divided = self.method.divide",
        ),
        (
            "a run's course: an epoch late",
            "pair.course[step // self.per_epoch] =",
            "pair.course[-1 + step // self.per_epoch] =",
        ),
        ("division: AUC of network A", "auc(posterior.mean(0), clean)", "auc(posterior[0], clean)"),
        (
            "division: labels that both have",
            "known = ~np.isnan(labels).all(0)",
            "known = ~np.isnan(labels).any(0)",
        ),
        (
            "division: sums of labels",
            "np.nansum(labels, axis=0) / times",
            "np.nansum(labels, axis=0)",
        ),
    ]
] + [
    (
        "controls of GSL: of the warm-up alone",
        "papers/gsl/arms.py",
        'for name in ("warm_up_epochs", "epochs")',
        'for name in ("warm_up_epochs",)',
        "test_gsl_arms.py",
    ),
    (
        "epochs: controls for the arms themselves",
        "papers/gsl/epochs.py",
        "share != rate or arm in LONGER or",
        "share != rate or",
        "test_gsl_show.py",
    ),
    (
        "epochs: how far others lie above the own",
        "papers/gsl/epochs.py",
        'told["own score"] - told["other scores"]',
        'told["other scores"] - told["own score"]',
        "test_gsl_show.py",
    ),
    (
        "noise lines: with controls",
        "papers/gsl/show.py",
        "metrics[~metrics.row.isin(LONGER)]",
        "metrics",
        "test_gsl_show.py",
    ),
    (
        "noise lines: all learnt",
        "papers/gsl/show.py",
        'learnt.of_row(own["learnt"])',
        "learnt.LEARNT",
        "test_gsl_show.py",
    ),
]
