"""Wrong versions of `alignbook.papers.covalign.regions`."""

MUTANTS = {
    "test_covalign.py": [
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
        (
            "sampling: offsets in units of the picture",
            ".view(*shape, 2) / sides",
            ".view(*shape, 2)",
        ),
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
        (
            "Eq. 2: not the same to begin with",
            'if config.projection == "separate-same":',
            "if False:",
        ),
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
        (
            "Eq. 2: τ multiplies",
            "unit(keys).mT / self.temperature",
            "unit(keys).mT * self.temperature",
        ),
        ("Eq. 2: patches of any length", "unit(asked) @ unit(keys).mT", "unit(asked) @ keys.mT"),
        ("Eq. 2: cosines always", "if not self.cosine:", "if False:"),
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
        # 4. Regions.
        ("regions: not masked", "chosen = attention * mask\n", "chosen = attention\n"),
        (
            "regions: not divided by what is kept",
            "chosen @ values / chosen.sum(-1, keepdim=True)",
            "chosen @ values",
        ),
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
        (
            "places: always in patches",
            'if coordinates == "unit" else places',
            "if False else places",
        ),
        (
            "L_conc: rows of any sum",
            "    if wrong.any():\n        b, q",
            "    if False:\n        b, q",
        ),
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
        (
            "L_conc: not weighted",
            "(attention * distances).sum(-1).mean()",
            "distances.sum(-1).mean()",
        ),
        (
            "L_conc: centre of the picture",
            "centres = attention @ positions",
            "centres = (attention @ positions) * 0 + positions.mean(0)",
        ),
        # 6. Visual contrast.
        (
            "L_vis: τ1 multiplies",
            "logits = r @ r.mT / temperature",
            "logits = r @ r.mT * temperature",
        ),
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
    ]
}
