"""The kernels on a CPU, in blocks that stay near the processor."""

from typing import NamedTuple

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor
from torch.nn import functional as F

from alignbook.kernels.reference import returned_in

# A block of scores: of DEEP codewords of each of WIDE groups with TALL queries, 4 MB of float32.
# Larger, the folding waits for memory; smaller, products take longer.
TALL, WIDE, DEEP = 1024, 256, 4
# A block of `fgm`: so many members a side, 4 MB of float32 scores for larger products.
MEMBERS = 1024
# A block of `soft_coding`: so many queries by so many codewords, and a few tensors of that size.
SCORES = 512, 512
SPARSE = 0.2  # share of the pairs below which those without a gradient are left out of its products


# --- The best codeword of every group --------------------------------------------------------------


def grouped_max(queries, codewords, offsets, with_index):
    """Maxima `(Q, B)` and their places `(Q, B) int16`, `(0,)` if these aren't wanted.

    Codeword by codeword: the first of all groups at once, then the second, and so on, each folded
    into a running maximum; one product makes the scores of some of them. Groups stand in order of
    their length, so that those which have an r-th codeword are neighbours.
    """
    lengths, order = offsets.diff().sort(descending=True, stable=True)
    starts = offsets[:-1][order]
    longest = int(lengths[0]) if len(lengths) else 0
    best = queries.new_empty(len(queries), len(lengths), dtype=returned_in(queries.dtype))
    index = queries.new_empty(best.shape if with_index else (0,), dtype=torch.int16)
    buffer = queries.new_empty(TALL * WIDE * DEEP)
    for groups in _slices(len(lengths), WIDE):
        size, begin = lengths[groups], starts[groups]
        ranked = [begin[size > r] + r for r in range(int(size[0]))]
        some = [ranked[part] for part in _slices(len(ranked), DEEP)]
        some = [(codewords[torch.cat(part)], list(map(len, part))) for part in some]
        for rows in _slices(len(queries), TALL):
            own = queries[rows].T
            top = best.new_full((len(size), own.shape[1]), -torch.inf, dtype=queries.dtype)
            place = top.new_zeros(top.shape, dtype=_counted_in(longest)) if with_index else None
            r = 0
            for vectors, counts in some:
                out = buffer[: len(vectors) * own.shape[1]].view(len(vectors), -1)
                for scores in torch.mm(vectors, own, out=out).split(counts):
                    _fold(scores, r, top, place)
                    r += 1
            best[rows, groups] = top.T
            if with_index:
                index[rows, groups] = place.T
    if (order.diff() == 1).all():
        return best, index
    back = order.argsort()
    return best[:, back], index[:, back] if with_index else index


def _fold(scores, r, best, place) -> None:
    """Take scores `(b, n)` of r-th codewords into the running maxima of the first b groups, and r
    into their places where it is larger (as a product: a choice by mask is many times slower).
    """
    best = best[: len(scores)]
    if place is not None:
        place = place[: len(scores)]
        torch.maximum(place, (scores > best).to(place.dtype).mul_(r), out=place)
    torch.maximum(best, scores, out=best)


def _slices(n: int, size: int) -> list[slice]:
    return [slice(i, min(i + size, n)) for i in range(0, n, size)]


def _counted_in(longest: int) -> torch.dtype:
    return torch.uint8 if longest <= 256 else torch.int16


def grouped_max_backward(grad, queries, codewords, offsets, index):
    """Σ_b g_ib c_best for query i; Σ g_ib q_i over the pairs for which codeword j is the best.

    Only pairs whose gradient isn't 0 are looked at: with the hardest negatives 3 of every B.
    """
    dtype = returned_in(queries.dtype)
    shares = grad.to(dtype).masked_fill(offsets.diff() == 0, 0).numpy()
    rows, columns = shares.nonzero()
    place = offsets.numpy()[columns] + index.numpy()[rows, columns]
    ends = np.searchsorted(rows, np.arange(len(queries) + 1))
    weights = csr_array((shares[rows, columns], place, ends), (len(queries), len(codewords)))
    of_queries = _weighted_sums(weights, codewords.to(dtype))
    of_codewords = _weighted_sums(weights.tocsc(), queries.to(dtype))
    return of_queries.to(queries.dtype), of_codewords.to(codewords.dtype)


def _weighted_sums(weights, vectors):
    """Σ_j w_ij x_j for every row i of a sparse matrix, or for every column if it is stored so."""
    return F.embedding_bag(
        torch.from_numpy(weights.indices), vectors, torch.from_numpy(weights.indptr[:-1]),
        mode="sum", per_sample_weights=torch.from_numpy(weights.data),
    )


# --- Both directions of matching sets --------------------------------------------------------------


class _Tile(NamedTuple):
    """Some sets of about the same size, their first members before their second ones, and so on."""

    sets: slice  # which sets, counted from the largest
    rows: Tensor  # (n,) where their members lie in the packed vectors
    members: slice  # where they stand among those of all tiles
    parts: list[slice]  # among the rows the first members, the second, …


def _tiles(offsets) -> tuple[Tensor, list[_Tile]]:
    """The order of sets from the largest, and all that have members in tiles: of at most MEMBERS of
    them, or of one set.
    """
    lengths, order = offsets.diff().sort(descending=True, stable=True)
    starts = offsets[:-1][order]
    found, first, before, known = [], 0, 0, int((lengths > 0).sum())
    while first < known:
        n = max(1, MEMBERS // int(lengths[first]))
        sets = slice(first, min(first + n, known))
        size, begin = lengths[sets], starts[sets]
        having = [begin[size > r] + r for r in range(int(size[0]))]
        ends = np.cumsum([len(each) for each in having]).tolist()
        parts = [slice(end - len(each), end) for each, end in zip(having, ends)]
        found.append(_Tile(sets, torch.cat(having), slice(before, before + ends[-1]), parts))
        first, before = sets.stop, before + ends[-1]
    return order, found


def fgm(x, x_offsets, y, y_offsets, with_index):
    """Means of best members both ways, each `(B1, B2)`, and the best ones' places, int16.

    A block of scores serves both directions while it lies near the processor. Places are `(Nx, B2)`
    and `(Ny, B1)`, members and sets in the order of the tiles, or `(0,)` if they aren't wanted.
    """
    (x_order, x_tiles), (y_order, y_tiles) = _tiles(x_offsets), _tiles(y_offsets)
    sums = x.new_zeros(2, len(x_order), len(y_order), dtype=returned_in(x.dtype))
    x_index = x.new_zeros((len(x), len(y_order)) if with_index else (0,), dtype=torch.int16)
    y_index = x.new_zeros((len(y), len(x_order)) if with_index else (0,), dtype=torch.int16)
    y_members = [y[tile.rows] for tile in y_tiles]
    for a in x_tiles:
        members = x[a.rows]
        for b, others in zip(y_tiles, y_members):
            scores = members @ others.T
            x_sum, y_sum = sums[:, a.sets, b.sets]
            x_place = _add_best(x_sum, a, scores, b, with_index)
            y_place = _add_best(y_sum.T, b, scores.T, a, with_index)
            if with_index:
                x_index[a.members, b.sets], y_index[b.members, a.sets] = x_place, y_place
    x_sums, y_sums = sums[:, x_order.argsort()][:, :, y_order.argsort()]
    x_lengths, y_lengths = (each.diff().clamp(min=1) for each in (x_offsets, y_offsets))
    return x_sums / x_lengths[:, None], y_sums / y_lengths, x_index, y_index


def _add_best(sums, own, scores, other, with_index):
    """Add to sums `(sets of own, sets of other)` each own member's best of every other set.

    Scores are `(members of own, members of other)`. Returns the places, `(members, sets)` or None.
    """
    first, *rest = other.parts
    best = scores[:, first].clone(memory_format=torch.contiguous_format)
    place = torch.zeros(best.shape, dtype=_counted_in(len(other.parts))) if with_index else None
    for r, columns in enumerate(rest, start=1):
        _fold(scores[:, columns].T, r, best.T, None if place is None else place.T)
    for rows in own.parts:
        sums[: rows.stop - rows.start] += best[rows]
    return place


def fgm_backward(x_grad, y_grad, x, x_offsets, y, y_offsets, x_index, y_index):
    """Gradients of x and of y: a block of the scores' gradients, most of them 0, is built from the
    places of both directions, then two products.
    """
    (x_order, x_tiles), (y_order, y_tiles) = _tiles(x_offsets), _tiles(y_offsets)
    x_shares = (x_grad / x_offsets.diff().clamp(min=1)[:, None])[x_order][:, y_order].to(x.dtype)
    y_shares = (y_grad / y_offsets.diff().clamp(min=1))[x_order][:, y_order].to(x.dtype)
    dx, dy = torch.zeros_like(x), torch.zeros_like(y)
    y_members = [y[tile.rows] for tile in y_tiles]
    y_sums = [torch.zeros_like(each) for each in y_members]
    for a in x_tiles:
        members = x[a.rows]
        x_sum = torch.zeros_like(members)
        for b, others, y_sum in zip(y_tiles, y_members, y_sums):
            of_scores = x.new_zeros(len(members), len(others))
            _spread(of_scores, x_shares[a.sets, b.sets], a, x_index[a.members, b.sets], b)
            _spread(of_scores.T, y_shares[a.sets, b.sets].T, b, y_index[b.members, a.sets], a)
            x_sum.addmm_(of_scores, others)
            y_sum.addmm_(of_scores.T, members)
        dx[a.rows] = x_sum
    for b, y_sum in zip(y_tiles, y_sums):
        dy[b.rows] = y_sum
    return dx, dy


def _spread(of_scores, shares, own, place, other) -> None:
    """Add each own member's share `(sets of own, sets of other)` where its best of a set stands."""
    begin = torch.tensor([part.start for part in other.parts])
    column = begin[place.long()] + torch.arange(place.shape[1])                 # (members, sets)
    for rows in own.parts:
        of_scores[rows].scatter_add_(1, column[rows], shares[: rows.stop - rows.start])


# --- Cosine to what is attended to -----------------------------------------------------------------


def _groups_of_one_size(offsets, codewords, at_most):
    """Groups of equal size together, so many at a time that they have `at_most` codewords, or one.

    Yields which groups `(b,)`, their rows `(b, C)`, their codewords `(b, C, d)`.
    """
    lengths = offsets.diff()
    for size in lengths.unique().tolist():
        if size:
            which = (lengths == size).nonzero()[:, 0]
            for part in which.split(max(1, at_most // size)):
                rows = offsets[part][:, None] + torch.arange(size, device=offsets.device)
                yield part, rows, codewords[rows]


def soft_coding(queries, codewords, offsets, temperature, block=None):
    """Cosine of each query and the mixture it attends to `(Q, B)`; 0 of an empty group.

    On any device, in blocks of so many queries and codewords.
    """
    (tall, wide), dtype = block or SCORES, returned_in(queries.dtype)
    queries, codewords = queries.to(dtype), codewords.to(dtype)
    out = queries.new_zeros(len(queries), len(offsets) - 1)
    for which, _, group in _groups_of_one_size(offsets, codewords, wide):
        gram = group @ group.mT                                                 # (b, C, C)
        for part in _slices(len(queries), tall):
            scores = (group.flatten(0, 1) @ queries[part].T).unflatten(0, group.shape[:2])
            weights, total = _attend(scores, temperature)
            along = (weights * scores).sum(1)                                   # (b, Q)
            squared = torch.bmm(gram, weights).mul_(weights).sum(1)
            least = torch.finfo(dtype).eps * total.square()
            out[part, which] = (along / torch.maximum(squared, least).sqrt()).T
    return out


def _attend(scores, temperature):
    """exp((s − max s)/τ) of scores `(b, C, Q)` and their sums over codewords `(b, Q)`.

    Not divided by the sums: a cosine doesn't depend on the mixture's length.
    """
    weights = (scores - scores.amax(1, keepdim=True)).mul_(1 / temperature).exp_()
    return weights, weights.sum(1)


def soft_coding_backward(grad, queries, codewords, offsets, temperature, block=None):
    """Gradients of queries and codewords. With n = |ĉ| and a = q · ĉ the result is a / n, so

        ∂/∂s_j = ω_j / n · (1 + (s_j − (G ω)_j a/n²) / τ),    ∂/∂G = −½ a/n³ ω ωᵀ.

    (A further term of the softmax, Σ_j ω_j ∂/∂ω_j, is 0: the cosine doesn't change with |ω|. Where
    n is clamped it is a.)
    """
    (tall, many), dtype = block or SCORES, returned_in(queries.dtype)
    of_queries, of_codewords = (torch.zeros_like(x, dtype=dtype) for x in (queries, codewords))
    exact, seen = queries.to(dtype), grad != 0
    # Few pairs have a gradient with the hardest negatives: then a group has its own few queries.
    at_most = many if seen.float().mean() > SPARSE else 1
    for which, rows, group in _groups_of_one_size(offsets, codewords.to(dtype), at_most):
        gram = group @ group.mT
        of_gram, of_group = torch.zeros_like(gram), torch.zeros_like(group)
        for part in seen[:, which].any(1).nonzero()[:, 0].split(tall):
            own = exact[part]
            scores = (group.flatten(0, 1) @ own.T).unflatten(0, group.shape[:2])
            weights, total = _attend(scores, temperature)
            weights /= total[:, None]
            along, mixed = (weights * scores).sum(1), torch.bmm(gram, weights)
            squared = (mixed * weights).sum(1)
            free = squared > torch.finfo(dtype).eps
            length = squared.clamp(min=torch.finfo(dtype).eps).sqrt()
            ratio = (along / length.square()).masked_fill(~free, 0)             # a/n², or not at all
            rest = along.masked_fill(free, 0)
            given = grad[part][:, which].T / length
            of_scores = scores - mixed * ratio[:, None] - rest[:, None]
            of_scores = of_scores.mul_(1 / temperature).add_(1).mul_(weights).mul_(given[:, None])
            of_gram += (weights * (given * ratio)[:, None]) @ weights.mT
            flat = of_scores.flatten(0, 1)
            of_queries.index_add_(0, part, flat.T @ group.flatten(0, 1))
            of_group.flatten(0, 1).addmm_(flat, own)
        of_codewords[rows] = of_group - of_gram @ group                         # ∂G twice, each half
    return of_queries.to(queries.dtype), of_codewords.to(codewords.dtype)
