"""Wrong versions of `alignbook.papers.comalign.head_layers`."""

MUTANTS = {
    "test_comalign.py": [
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
        (
            "official: no dropout of positions",
            "packed = self.drop((self.project(packed) if self.project else packed) + places)",
            "packed = (self.project(packed) if self.project else packed) + places",
        ),
        ("Eq. 1: no place codes", "else packed) + places", "else packed) + 0 * places"),
        ("Eq. 1: vectors of length 1", "x[seen] * x.shape[-1] ** 0.5", "x[seen]"),
        ("Eq. 1: d times as long", "x[seen] * x.shape[-1] ** 0.5", "x[seen] * x.shape[-1]"),
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
        ("official: the whole comes first", ".float().roll(1, dims=0)", ".float()"),
        ("official: the whole comes second", "roll(1, dims=0)", "roll(2, dims=0)"),
    ]
}
