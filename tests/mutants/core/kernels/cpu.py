"""Wrong versions of `alignbook.core.kernels.cpu`."""

MUTANTS = {
    "test_kernels.py": [
        ("maximum is the least", "top = each.amax(1)", "top = each.amin(1)"),
        (
            "of equal codewords the last",
            "torch.arange(n, 0, -1, dtype",
            "torch.arange(1, n + 1, dtype",
        ),
        (
            "groups left in the order of their lengths",
            "return best[:, back], index[:, back]",
            "return best[:, order], index[:, order]",
        ),
        (
            "places left in the order of the lengths",
            "index[:, back] if with_index",
            "index if with_index",
        ),
        ("places in too few bits", "if longest <= 256", "if longest <= 1000"),
        (
            "tiles overlap",
            "        begin += used\n    return found",
            "        begin += used - 1\n    return found",
        ),
        ("tiles as wide as can be", "-(-rows // count) + max(sizes, default=0) - 1", "wide"),
        ("tiles that cannot be shared out", "1 << (count - 1).bit_length()", "count"),
        ("one share too many", "-(-count // shares) * shares", "count"),
        ("runs of a tile overlap", "row + n * size\n        found", "row\n        found"),
        (
            "groups of one size are one",
            "best[rows, groups] = top.T",
            "best[rows, groups] = top[:1].T",
        ),
        ("blocks overlap", "range(0, n, size)", "range(0, n, size + 1)"),
        ("blocks end early", "min(i + size, n)", "min(i + size, n - 1)"),
        (
            "backward: first codeword of every group",
            "offsets.numpy()[columns] + index.numpy()[rows, columns]",
            "offsets.numpy()[columns]",
        ),
        (
            "backward: empty groups count",
            ".masked_fill(offsets.diff() == 0, 0).numpy()",
            ".numpy()",
        ),
        (
            "backward: rows shifted",
            "np.arange(len(queries) + 1))\n    weights",
            "np.arange(len(queries) + 1) + 1)\n    weights",
        ),
        (
            "backward: unweighted",
            "per_sample_weights=torch.from_numpy(weights.data)",
            "per_sample_weights=torch.from_numpy(weights.data) * 0 + 1",
        ),
        # Both directions.
        ("fgm: sum for mean over x", "return x_sums / x_lengths[:, None]", "return x_sums"),
        ("fgm: sum for mean over y", "y_sums / y_lengths, x_index", "y_sums, x_index"),
        ("fgm: divided by the other's size", "x_sums / x_lengths[:, None]", "x_sums / y_lengths"),
        (
            "fgm: sets left in the order of the tiles",
            "sums[:, x_order.argsort()]",
            "sums[:, x_order]",
        ),
        (
            "fgm: y's sets left in the order of the tiles",
            "[:, :, y_order.argsort()]",
            "[:, :, y_order]",
        ),
        ("fgm: first members alone are added", "for rows in a.parts:", "for rows in a.parts[:1]:"),
        (
            "fgm: second members left out of the maximum",
            "first, *rest = parts",
            "first, _, *rest = (*parts, slice(0, 0)) if len(parts) == 1 else parts",
        ),
        (
            "fgm: of equal members the last",
            "_as_count(np.greater, later,",
            "_as_count(np.greater_equal, later,",
        ),
        ("fgm: place of the member off by one", ".mul_(r), out=own)", ".mul_(r - 1), out=own)"),
        ("fgm: one direction twice", "y_best[:, columns]\n", "x_best[columns].T\n"),
        (
            "fgm: sets without members take part",
            "known = [], 0, 0, int((lengths > 0).sum())",
            "known = [], 0, 0, max(1, int((lengths > 0).sum()) - 1)",
        ),
        (
            "fgm backward: shares of x whole",
            "x_grad / x_offsets.diff().clamp(min=1)[:, None]",
            "x_grad * 1",
        ),
        ("fgm backward: shares of y whole", "y_grad / y_offsets.diff().clamp(min=1)", "y_grad * 1"),
        (
            "fgm backward: order of x's sets",
            ".clamp(min=1)[:, None])[x_order]",
            ".clamp(min=1)[:, None])",
        ),
        (
            "fgm backward: order of y's sets",
            "[:, None])[x_order][:, y_order]",
            "[:, None])[x_order]",
        ),
        ("fgm backward: first member always", "take(place.numpy())", "take(0 * place.numpy())"),
        (
            "fgm backward: shares of the first members alone",
            "[shares[: rows.stop",
            "[(rows.start == 0) * shares[: rows.stop",
        ),
        (
            "fgm backward: one direction is lost",
            "_spread(of_scores.T, y_share",
            "_spread(torch.zeros_like(of_scores.T), y_share",
        ),
        (
            "fgm backward: a tile begins with the one before",
            "_view(room, len(members), len(others)).zero_()",
            "_view(room, len(members), len(others))",
        ),
        (
            "fgm backward: the last chunk of x alone",
            "add(number, y_sums)",
            "add(number, y_sums if number == len(chunks) - 1 else [])",
        ),
        (
            "fgm backward: last tile of x alone",
            "x_sum.addmm_(of_scores, others)",
            "x_sum.copy_(of_scores @ others)",
        ),
        (
            "fgm backward: last tile of y alone",
            "y_sums[i].addmm_(of_scores.T, members)",
            "y_sums[i].copy_(of_scores.T @ members)",
        ),
        # Attended mixtures.
        (
            "soft: temperature multiplies",
            "unit = math.log2(math.e) / min(temperature, HOT)",
            "unit = math.log2(math.e) * temperature",
        ),
        (
            "soft: powers of 2 for those of e",
            "unit = math.log2(math.e) / min(temperature, HOT)",
            "unit = 1 / min(temperature, HOT)",
        ),
        ("soft: the maximum isn't subtracted", "top = scores.amax(1)", "top = 0 * scores.amax(1)"),
        (
            "soft: maximum over the queries",
            "top = scores.amax(1)",
            "top = scores.amax(2).amax(1, keepdim=True).expand_as(scores[:, 0])",
        ),
        ("soft: length forgotten", "torch.maximum(squared, least).rsqrt()", "least.rsqrt()"),
        (
            "soft: no floor under the length",
            "torch.maximum(squared, least).rsqrt()",
            "squared.rsqrt()",
        ),
        (
            "soft: codewords taken as orthogonal",
            "torch.bmm(gram, weights, out=mixed)",
            "mixed.copy_(weights)",
        ),
        (
            "soft: groups left in the order of their lengths",
            "out[:, order.argsort()], kept",
            "out[:, order], kept",
        ),
        ("soft: the highest score isn't added again", ".sum(1).addcmul_(top, total)", ".sum(1)"),
        ("soft: blocks of queries are kept in one place", "+ height * part.start :]", ":]"),
        (
            "soft: blocks of codewords are kept in one place",
            "block = kept.view(-1)[before * kept.shape[1] + ",
            "block = kept.view(-1)[0 * before + ",
        ),
        (
            "soft: numbers of a tile's first run are kept for all",
            "return slice(groups.start - first, groups.stop - first)",
            "return slice(0, groups.stop - groups.start)",
        ),
        ("soft backward: what was kept isn't looked at", "and len(kept) > 0", "and len(kept) < 0"),
        (
            "soft backward: codewords left in the order of their lengths",
            "found[places] = of_codewords",
            "found = of_codewords",
        ),
        (
            "soft backward: the first chunk alone",
            "add(number, [of_own])",
            "add(number, [of_own] if number == 0 else [])",
        ),
        (
            "soft backward: queries with a gradient are left out",
            "seen[:, first].any(1)",
            "(seen[:, first].any(1) & seen[:, 0])",
        ),
        (
            "soft backward: the first queries for those with a gradient",
            "_scored(group, scaled[part], tile",
            "_scored(group, scaled[: len(own)], tile",
        ),
        (
            "soft backward: the gradient of the first queries",
            "given = grad[part, groups]",
            "given = grad[: len(own), groups]",
        ),
        (
            "soft backward: to the first queries",
            "of_own.index_add_(0, part, ",
            "of_own[: len(part)].add_(",
        ),
        (
            "soft backward: the clamped rest not normalised",
            "(found.along / found.total)",
            "(found.along / 1)",
        ),
        ("soft backward: 1/τ forgotten", "alpha=temperature", "alpha=1"),
        (
            "soft backward: the score itself forgotten",
            "out=added).add_(math.log2(math.e))",
            "out=added)",
        ),
        (
            "soft backward: the length is a constant",
            "torch.mul(found.along, found.inverse.square(), out=ratio)",
            "torch.mul(found.along, 0, out=ratio)",
        ),
        (
            "soft backward: Gram matrices forgotten",
            "of_group[rows] -= (",
            "of_group[rows] -= 0 * (",
        ),
        ("soft backward: Gram matrices added", "of_group[rows] -= (", "of_group[rows] += ("),
        (
            "soft backward: the clamp is free",
            "masked_fill_(~found.free, 0)",
            "masked_fill_(found.free & ~found.free, 0)",
        ),
        (
            "soft backward: the clamped rest forgotten",
            "(found.along / found.total).masked_fill_(found.free, 0)",
            "found.along * 0",
        ),
        (
            "soft backward: last block of queries alone",
            "of_group.addmm_(of_scores, own)",
            "of_group.copy_(of_scores @ own)",
        ),
    ]
}
