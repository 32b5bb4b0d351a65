"""Wrong versions of `alignbook.papers.gsl.noisy_pairs`."""

MUTANTS = {
    "test_coteaching.py": [
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
        ("glance: with dropout", "    network.eval()\n    with", "    with"),
        (
            "glance: leaves evaluation mode on",
            "        yield\n    network.train(was)",
            "        yield",
        ),
        ("glance: with gradient", "    with torch.no_grad():\n        yield", "    yield"),
        (
            "pooled: in the mode of training",
            "        with glancing(network):\n            for start",
            "        if True:\n            for start",
        ),
        (
            "looks: captions of the batch before",
            "words.rows(slice(first, first + batch))",
            "words.rows(slice(max(0, first - batch), max(0, first - batch) + batch))",
        ),
        (
            "looks: the first captions again",
            "some = drawn[start : start + together]",
            "some = drawn[:together]",
        ),
        (
            "looks: captions with dropout",
            "            with glancing(network):\n                words",
            "            if True:\n                words",
        ),
        ("looks: a last batch of few", "np.resize(order, -(-len(self) // batch) * batch)", "order"),
        (
            "looks: without the last pairs",
            "-(-len(self) // batch) * batch",
            "len(self) // batch * batch",
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
            "        with glancing(network):\n            parts = [",
            "        if True:\n            parts = [",
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
        ("trivial: scores as they are", "scores=self.scores.roll(1, 1)", "scores=self.scores"),
        ("frame: one noise for all seeds", "config.noise, config.noise_seed)", "config.noise, 0)"),
        # An epoch's steps.
        (
            "steps: as many as noisy pairs",
            "n - int(config.noise * n) if truth",
            "int(config.noise * n) if truth",
        ),
        ("steps: rounded up", "max(1, used // config.batch)", "max(1, -(-used // config.batch))"),
    ]
}
