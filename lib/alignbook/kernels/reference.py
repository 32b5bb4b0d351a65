"""The kernels as short formulas: what the others are tested against; slow, and everything at once."""

import torch


def grouped_max(queries, codewords, offsets, with_index):
    """Maxima `(Q, B)` and their places `(Q, B) int16`, `(0,)` if these aren't wanted."""
    scores = queries.to(_sum(queries)) @ codewords.to(_sum(queries)).T
    best = scores.new_full((len(queries), len(offsets) - 1), -torch.inf)
    index = torch.zeros(best.shape, dtype=torch.int16, device=best.device)
    for b, (start, stop) in enumerate(zip(offsets[:-1].tolist(), offsets[1:].tolist())):
        if stop > start:
            found = scores[:, start:stop].max(dim=1)
            best[:, b], index[:, b] = found.values, found.indices.to(torch.int16)
    return best, index if with_index else index.new_empty(0)


def grouped_max_backward(grad, queries, codewords, offsets, index):
    """Σ_b g_ib c_best for query i; Σ g_ib q_i over the pairs for which codeword j is the best."""
    dense = grad.new_zeros(len(queries), len(codewords) + 1)  # the last column: empty groups
    empty = offsets.diff() == 0
    place = (offsets[:-1] + index).masked_fill(empty, len(codewords))
    dense.scatter_(1, place, grad)
    dense = dense[:, :-1]
    found = dense @ codewords.to(dense.dtype), dense.T @ queries.to(dense.dtype)
    return found[0].to(queries.dtype), found[1].to(codewords.dtype)


def _sum(x):
    return torch.promote_types(x.dtype, torch.float32)
