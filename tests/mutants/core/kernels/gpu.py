"""Wrong versions of `alignbook.core.kernels.gpu`."""

MUTANTS = {
    "test_kernels_triton.py": [
        (
            "a maximum that begins at 0",
            'tl.full((TALL, WIDE), float("-inf"), tl.float32)',
            "tl.full((TALL, WIDE), 0.0, tl.float32)",
        ),
        (
            "of equal codewords the last",
            "tl.where(scores > maximum,",
            "tl.where(scores >= maximum,",
        ),
        (
            "place of the codeword off by one",
            "tl.full((TALL, WIDE), r, tl.int16)",
            "tl.full((TALL, WIDE), r - 1, tl.int16)",
        ),
        (
            "a group's last codeword left out",
            "member = start + tl.minimum(r, last)",
            "member = start + tl.minimum(r, tl.maximum(last - 1, 0))",
        ),
        (
            "a tile's longest group cut short",
            "tl.range(tl.load(lengths + left), flatten=True)",
            "tl.range(tl.load(lengths + left) - 1, flatten=True)",
        ),
        ("shortest groups first", "sort(descending=True, stable=True)", "sort(stable=True)"),
        (
            "stored in the order of the lengths",
            "group = tl.load(order + column, mask=column < n_groups, other=-1)",
            "group = tl.where((column < n_groups) & (tl.load(order + column, mask=column < n_groups, "
            "other=-1) >= 0), column, -1)",
        ),
        ("an empty group gets another's maximum", "order.masked_fill(empty, -1)", "order"),
        (
            "the last group isn't stored",
            "mask=column < n_groups, other=-1)",
            "mask=column < n_groups - 1, other=-1)",
        ),
        (
            "the last query isn't stored",
            "(row < n_queries)[:, None] & (group >= 0)",
            "(row < n_queries - 1)[:, None] & (group >= 0)",
        ),
        ("the first group isn't stored", "(group >= 0)[None, :]", "(group > 0)[None, :]"),
        ("tiles of queries overlap", "% height) * TALL", "% height) * (TALL - 1)"),
        (
            "bands of tiles skipped",
            "band = tile // (BAND * n_wide) * BAND",
            "band = tile // (BAND * n_wide) * (BAND - 1)",
        ),
        (
            "the end of the vectors left out",
            "for k in range(0, d, DEEP):",
            "for k in range(0, d - DEEP + 1, DEEP):",
        ),
        (
            "one grid tile of groups too few",
            "triton.cdiv(len(order), wide),)",
            "max(1, len(order) // wide),)",
        ),
        ("backward: gradient not transposed", "F.pad(x.T,", "F.pad(x.reshape(x.T.shape),"),
        (
            "backward: every codeword chosen",
            "tl.where(hit, tl.load(shares",
            "tl.where(hit | True, tl.load(shares",
        ),
        (
            "backward: every query has chosen",
            "tl.where(hit, tl.load(back_shares",
            "tl.where(hit | True, tl.load(back_shares",
        ),
        (
            "backward: places off by one",
            "place = torch.arange(n, device=offsets.device) - offsets[:-1][group]",
            "place = 1 + torch.arange(n, device=offsets.device) - offsets[:-1][group]",
        ),
        (
            "backward: vectors beyond the last count",
            "F.pad(place.to(torch.int16), beyond, value=-1)",
            "F.pad(place.to(torch.int16), beyond, value=0)",
        ),
        (
            "backward: choices beyond the last count",
            "- len(x)), value=-1).contiguous()",
            "- len(x)), value=0).contiguous()",
        ),
        ("backward: a sheet of full tiles isn't packed", "value=-1).contiguous()", "value=-1)"),
        (
            "backward: last tile of vectors left out",
            "for j in range(0, n_vectors, DEEP):",
            "for j in range(0, n_vectors - DEEP + 1, DEEP):",
        ),
        ("backward: one direction forgets the other", "share += back", "share = back"),
        (
            "fgm: directions swapped",
            "return x_to_y, y_to_x, x_index, y_index",
            "return y_to_x, x_to_y, x_index, y_index",
        ),
        (
            "fgm: means not transposed",
            "_mean(y_best, y_offsets, y_to_x.T)",
            "_mean(y_best, y_offsets, y_to_x.view(y_to_x.T.shape))",
        ),
        (
            "fgm: an empty set is infinitely far",
            'tl.where(found == float("-inf"), 0.0, found)',
            "found",
        ),
        ("fgm: sums for means", "total / tl.maximum(stop - start, 1).to(tl.float32)", "total"),
        (
            "fgm: a set's first row left out",
            "for row in range(start, stop):",
            "for row in range(start + 1, stop):",
        ),
        (
            "fgm: gradient of a mean not shared",
            "grad / offsets.diff().clamp(min=1)[:, None]",
            "grad.clone()",
        ),
        (
            "fgm: shares of the wrong direction",
            "_shares(y_grad.T, y_offsets, y_groups, y)",
            "_shares(x_grad.T, y_offsets, y_groups, y)",
        ),
        ("fgm: x's choices lost for y", "own_groups=y_groups, chosen_by=x_choice", ""),
    ]
}
