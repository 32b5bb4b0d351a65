"""The kernels as short formulas: what the others are tested against; slow, and everything at once."""

import torch


def grouped_max(queries, codewords, offsets, with_index):
    """Maxima `(Q, B)` and their places `(Q, B) int16`, `(0,)` if these aren't wanted."""
    scores = queries.to(returned_in(queries.dtype)) @ codewords.to(returned_in(queries.dtype)).T
    best = scores.new_full((len(queries), len(offsets) - 1), -torch.inf)
    index = torch.zeros(best.shape, dtype=torch.int16, device=best.device)
    for b, (start, stop) in enumerate(zip(offsets[:-1].tolist(), offsets[1:].tolist())):
        if stop > start:
            found = scores[:, start:stop].max(dim=1)
            best[:, b], index[:, b] = found.values, found.indices.to(torch.int16)
    return best, index if with_index else index.new_empty(0)


def grouped_max_backward(grad, queries, codewords, offsets, index):
    """Σ_b g_ib c_best for query i; Σ g_ib q_i over the pairs for which codeword j is the best."""
    dtype = returned_in(queries.dtype)
    dense = torch.zeros(  # the last column: empty groups
        len(queries), len(codewords) + 1, dtype=dtype, device=queries.device
    )
    empty = offsets.diff() == 0
    place = (offsets[:-1] + index).masked_fill(empty, len(codewords))
    dense.scatter_(1, place, grad.to(dtype))
    dense = dense[:, :-1]
    found = dense @ codewords.to(dtype), dense.T @ queries.to(dtype)
    return found[0].to(queries.dtype), found[1].to(codewords.dtype)


def returned_in(dtype: torch.dtype) -> torch.dtype:
    """The type that results of a type are computed and returned in: float32 at least."""
    return torch.promote_types(dtype, torch.float32)


def fgm(x, x_offsets, y, y_offsets, with_index):
    """Means over x's members of the best of y, and the reverse; with the best one's places.

    Returns
    -------
    x_to_y, y_to_x : (B1, B2) float
    x_index : (Nx, B2) int16, which member of each set of y is best for each row of x; or (0,)
    y_index : (Ny, B1) int16, likewise for each row of y; or (0,)
    """
    x_best, x_index = grouped_max(x, y, y_offsets, with_index)
    y_best, y_index = grouped_max(y, x, x_offsets, with_index)
    y_to_x = _means(y_best, y_offsets).T.contiguous()
    return _means(x_best, x_offsets), y_to_x, x_index, y_index


def fgm_backward(x_grad, y_grad, x, x_offsets, y, y_offsets, x_index, y_index):
    """Gradients of x and of y, from those of x_to_y and y_to_x `(B1, B2)`."""
    dx, dy = grouped_max_backward(_shares(x_grad, x_offsets), x, y, y_offsets, x_index)
    more_y, more_x = grouped_max_backward(_shares(y_grad.T, y_offsets), y, x, x_offsets, y_index)
    return dx + more_x, dy + more_y


def soft_coding(queries, codewords, offsets, temperature, keep=False):
    """Cosine of each query and the mixture it attends to `(Q, B)`, 0 of an empty group; no scores."""
    queries, codewords = (
        queries.to(returned_in(queries.dtype)),
        codewords.to(returned_in(codewords.dtype)),
    )
    out = queries.new_zeros(len(queries), len(offsets) - 1)
    for b, (start, stop) in enumerate(zip(offsets[:-1].tolist(), offsets[1:].tolist())):
        if stop > start:
            _, attended, length, _ = attend(queries, codewords[start:stop], temperature)
            out[:, b] = (queries * attended).sum(1) / length
    return out, out.new_empty(0)


def soft_coding_backward(grad, queries, codewords, offsets, temperature, kept=None):
    """Gradients of queries and codewords, by the chain rule through the attended vectors."""
    wide, words = queries.to(returned_in(queries.dtype)), codewords.to(returned_in(codewords.dtype))
    of_queries, of_codewords = torch.zeros_like(wide), torch.zeros_like(words)
    for b, (start, stop) in enumerate(zip(offsets[:-1].tolist(), offsets[1:].tolist())):
        if stop > start:
            group, own = words[start:stop], grad[:, b : b + 1]
            weights, attended, length, free = attend(wide, group, temperature)
            length = length[:, None]
            along = (wide * attended).sum(1, keepdim=True)
            turned = torch.where(free[:, None], attended * along / length.square(), 0)
            of_attended = own * (wide - turned) / length
            of_weights = of_attended @ group.T
            centre = (weights * of_weights).sum(1, keepdim=True)
            of_scores = weights * (of_weights - centre) / temperature
            of_queries += own * attended / length + of_scores @ group
            of_codewords[start:stop] = weights.T @ of_attended + of_scores.T @ wide
    return of_queries.to(queries.dtype), of_codewords.to(codewords.dtype)


def attend(queries, group, temperature):
    """Weights `(Q, C)`, attended vectors `(Q, d)`, their lengths `(Q,)`, and where these aren't so
    small that they are only rounding noise, `(Q,) bool`.
    """
    weights = (queries @ group.T / temperature).softmax(1)
    attended, least = weights @ group, torch.finfo(queries.dtype).eps
    squared = attended.square().sum(1)
    return weights, attended, squared.clamp(min=least).sqrt(), squared > least


def _means(best, offsets):
    """Mean over each set's rows of `(N, B)`, 0 of an empty one or where the other set is empty."""
    known = best.masked_fill(best == -torch.inf, 0)
    sums = known.new_zeros(len(offsets) - 1, best.shape[1])
    lengths = offsets.diff()
    sums.index_add_(0, torch.repeat_interleave(lengths), known)
    return sums / lengths.clamp(min=1)[:, None]


def _shares(grad, offsets):
    """Each row's part of the gradient of a mean `(B, B')`, `(N, B')`."""
    lengths = offsets.diff()
    return (grad / lengths.clamp(min=1)[:, None]).repeat_interleave(lengths, dim=0)
