"""The kernels on a CPU, in blocks that stay near the processor."""

import numpy as np
import torch
from scipy.sparse import csr_array
from torch.nn import functional as F

# A block of scores: TALL queries by WIDE groups, 512 KB of float32, for a cache of a few MB a core.
TALL, WIDE = 512, 256


def grouped_max(queries, codewords, offsets, with_index):
    """Maxima `(Q, B)` and their places `(Q, B) int16`, `(0,)` if these aren't wanted.

    Codeword by codeword: the first of all groups at once, then the second, and so on, each a product
    that is folded into a running maximum. Groups stand in order of their length, so that those which
    have an r-th codeword are neighbours.
    """
    lengths, order = offsets.diff().sort(descending=True, stable=True)
    starts = offsets[:-1][order]
    longest = int(lengths[0]) if len(lengths) else 0
    ranked = [codewords[starts[lengths > r] + r] for r in range(longest)]  # (n, d) each
    dtype = torch.promote_types(queries.dtype, torch.float32)
    best = queries.new_full((len(queries), len(lengths)), -torch.inf, dtype=dtype)
    index = queries.new_zeros(best.shape if with_index else (0,), dtype=torch.int16)
    buffer = queries.new_empty(TALL, WIDE)
    for top in range(0, len(queries), TALL):
        rows = queries[top : top + TALL]
        for left in range(0, len(lengths), WIDE):
            for r, group in enumerate(ranked):
                part = group[left : left + WIDE]
                if not len(part):
                    break
                here = slice(top, top + len(rows)), slice(left, left + len(part))
                scores = torch.mm(rows, part.T, out=buffer[: len(rows), : len(part)])
                if with_index:
                    index[here].masked_fill_(scores > best[here], r)
                torch.maximum(best[here], scores, out=best[here])
    if (order.diff() == 1).all():
        return best, index
    back = order.argsort()
    return best[:, back], index[:, back] if with_index else index


def grouped_max_backward(grad, queries, codewords, offsets, index):
    """Σ_b g_ib c_best for query i; Σ g_ib q_i over the pairs for which codeword j is the best.

    One codeword of every group counts, so neither sum needs a product with all of them.
    """
    full = offsets.diff() > 0
    place = offsets[:-1][full] + index[:, full]                                 # (Q, B)
    grad = grad[:, full].to(queries.dtype).contiguous()
    of_queries = F.embedding_bag(place, codewords, mode="sum", per_sample_weights=grad)
    shape = len(queries), len(codewords)
    starts = np.arange(0, place.numel() + 1, place.shape[1])
    by_codeword = csr_array((grad.flatten().numpy(), place.flatten().numpy(), starts), shape).tocsc()
    of_codewords = F.embedding_bag(
        torch.from_numpy(by_codeword.indices), queries, torch.from_numpy(by_codeword.indptr[:-1]),
        mode="sum", per_sample_weights=torch.from_numpy(by_codeword.data),
    )
    return of_queries, of_codewords
