"""The kernels on a CPU, in blocks that stay near the processor; a thread has blocks of its own."""

import math
import os
from itertools import groupby, product
from typing import NamedTuple

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor
from torch.nn import functional as F

from alignbook.core.kernels import threads
from alignbook.core.kernels.reference import returned_in


def _cache() -> int:
    """Bytes of a core's own cache, 1 MB where the system doesn't say."""
    try:
        found = os.sysconf("SC_LEVEL2_CACHE_SIZE")
    except (AttributeError, ValueError, OSError):  # elsewhere than on Linux there is no such name
        return 2**20
    return found if found > 0 else 2**20


# Scores of a block: in float32 four times the cache. Larger, what follows the product waits for
# memory; smaller, products take longer.
AREA = min(max(_cache(), 2**18), 2**20)
DEEP = 1024  # codewords of a block, if no group has more
MEMBERS = math.isqrt(2 * AREA)  # of a block of `fgm`, a side
# A block of `soft_coding`: so many queries by so many codewords, and a few tensors of that size.
SCORES = 1024, 512
HOT = 1e20  # temperature from which weights are equal: by an infinite one, scores would be lost
SPARSE = 0.2  # share of the pairs below which those without a gradient are left out of its products


# --- Groups in the order of their sizes -------------------------------------------------------------


class _Tile(NamedTuple):
    """Some groups, and which of them have the same size."""

    rows: slice  # of the codewords, larger groups first
    runs: list[tuple[slice, slice, int]]  # groups, rows of the tile, and the size of each group


def _by_size(offsets, codewords) -> tuple[Tensor, Tensor, Tensor, list[int]]:
    """Codewords with those of larger groups first; which row each was; the groups' order, sizes."""
    sizes, order = offsets.diff().sort(descending=True, stable=True)
    begin = offsets[:-1][order] - (sizes.cumsum(0) - sizes)
    rows = torch.repeat_interleave(begin, sizes) + torch.arange(len(codewords), device=sizes.device)
    kept = bool((order.diff() == 1).all())
    return codewords if kept else codewords[rows], rows, order, sizes.tolist()


def _tiles(sizes, at_most) -> list[_Tile]:
    """All groups that have a size, from the largest: tiles of at most so many rows, or one group."""
    found, begin, group = [], 0, 0
    while group < len(sizes) and sizes[group]:
        stop, used = group + 1, sizes[group]
        while stop < len(sizes) and 0 < sizes[stop] <= at_most - used:
            stop, used = stop + 1, used + sizes[stop]
        runs, row = [], 0
        for size, same in groupby(sizes[group:stop]):
            n = len(list(same))
            runs.append((slice(group, group + n), slice(row, row + n * size), size))
            group, row = group + n, row + n * size
        found.append(_Tile(slice(begin, begin + used), runs))
        begin += used
    return found


def _slices(n: int, size: int) -> list[slice]:
    return [slice(i, min(i + size, n)) for i in range(0, n, size)]


def _view(room, n, m) -> Tensor:
    """`(n, m)` in the first numbers of some memory."""
    return room[: n * m].view(n, m)


# --- The best codeword of every group --------------------------------------------------------------


def grouped_max(queries, codewords, offsets, with_index):
    """Maxima `(Q, B)` and their places `(Q, B) int16`, `(0,)` if these aren't wanted."""
    codewords, _, order, sizes = _by_size(offsets, codewords)
    shape = len(queries), len(sizes)
    best = queries.new_full(shape, -torch.inf, dtype=returned_in(queries.dtype))
    index = torch.zeros(shape if with_index else (0,), dtype=torch.int16)

    def code(blocks):
        room = queries.new_empty(max(AREA, sizes[0] if sizes else 0))
        for tile, rows in blocks:
            vectors, own = codewords[tile.rows], queries[rows]
            scores = torch.mm(vectors, own.T, out=_view(room, len(vectors), len(own)))
            for groups, part, size in tile.runs:
                each = scores[part].unflatten(0, (-1, size))  # (b, C, Q)
                top = each.amax(1)
                best[rows, groups] = top.T
                if with_index:
                    index[rows, groups] = _first(each, top).T

    tiles = _tiles(sizes, DEEP)
    tall = [max(1, AREA // max(DEEP, tile.rows.stop - tile.rows.start)) for tile in tiles]
    threads.on_all(
        code, [(tile, rows) for tile, n in zip(tiles, tall) for rows in _slices(len(queries), n)]
    )
    if (order.diff() == 1).all():
        return best, index
    back = order.argsort()
    return best[:, back], index[:, back] if with_index else index


def _first(scores, top):
    """The first j with s_bj· = top_b·, of `(b, C, Q)` and `(b, Q)`; the last if there is none."""
    n = scores.shape[1]
    left = torch.arange(n, 0, -1, dtype=_counted_in(n + 1))[:, None]
    return n - _as_count(np.equal, scores, top[:, None], left.dtype).mul_(left).amax(1).clamp_(
        min=1
    )


def _as_count(compare, one, other, dtype):
    """Where one tensor compares to another, 1 for 0. (NumPy's are four times as fast.)"""
    if one.element_size() < 4:  # NumPy has no bfloat16
        one, other = one.float(), other.float()
    return torch.from_numpy(compare(one.numpy(), other.numpy()).view(np.uint8)).to(dtype)


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
        torch.from_numpy(weights.indices),
        vectors,
        torch.from_numpy(weights.indptr[:-1]),
        mode="sum",
        per_sample_weights=torch.from_numpy(weights.data),
    )


# --- Both directions of matching sets --------------------------------------------------------------


class _Block(NamedTuple):
    """Some sets of about the same size, their first members before their second ones, and so on."""

    sets: slice  # which sets, counted from the largest
    rows: Tensor  # (n,) where their members lie in the packed vectors
    members: slice  # where they stand among those of all tiles
    parts: list[slice]  # among the rows the first members, the second, …


def _blocks(offsets) -> tuple[Tensor, list[_Block]]:
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
        found.append(_Block(sets, torch.cat(having), slice(before, before + ends[-1]), parts))
        first, before = sets.stop, before + ends[-1]
    return order, found


def fgm(x, x_offsets, y, y_offsets, with_index):
    """Means of best members both ways, each `(B1, B2)`, and the best ones' places, int16.

    A block of scores serves both directions while it lies near the processor. Places are `(Nx, B2)`
    and `(Ny, B1)`, members and sets in the order of the blocks, or `(0,)` if they aren't wanted.
    """
    (x_order, x_blocks), (y_order, y_blocks) = _blocks(x_offsets), _blocks(y_offsets)
    sums = x.new_zeros(2, len(x_order), len(y_order), dtype=returned_in(x.dtype))
    x_index = torch.zeros((len(x), len(y_order)) if with_index else (0,), dtype=torch.int16)
    y_index = torch.zeros((len(y), len(x_order)) if with_index else (0,), dtype=torch.int16)
    x_members, y_members = (
        [of[each.rows] for each in blocks] for of, blocks in ((x, x_blocks), (y, y_blocks))
    )

    cells = max(map(len, x_members), default=0) * max(map(len, y_members), default=0)

    def compare(pairs):
        room = x.new_empty(cells)
        for (a, members), (b, others) in pairs:
            scores = torch.mm(members, others.T, out=_view(room, len(members), len(others)))
            x_best, x_place = _best(scores, b.parts, 1, with_index)
            y_best, y_place = _best(scores, a.parts, 0, with_index)
            x_sum, y_sum = sums[:, a.sets, b.sets]
            for rows in a.parts:
                x_sum[: rows.stop - rows.start] += x_best[rows]
            for columns in b.parts:
                y_sum[:, : columns.stop - columns.start] += y_best[:, columns]
            if with_index:
                x_index[a.members, b.sets], y_index[b.members, a.sets] = x_place, y_place.T

    threads.on_all(compare, list(product(zip(x_blocks, x_members), zip(y_blocks, y_members))))
    x_sums, y_sums = sums[:, x_order.argsort()][:, :, y_order.argsort()]
    x_lengths, y_lengths = (each.diff().clamp(min=1) for each in (x_offsets, y_offsets))
    return x_sums / x_lengths[:, None], y_sums / y_lengths, x_index, y_index


def _best(scores, parts, dim, with_index):
    """Along a dimension, whose parts are the first members of all sets, the second ones, …, the best
    score of every set and its place, or None.
    """
    first, *rest = parts
    best = scores.narrow(dim, 0, first.stop).clone(memory_format=torch.contiguous_format)
    place = torch.zeros(best.shape, dtype=_counted_in(len(parts))) if with_index else None
    for r, part in enumerate(rest, start=1):
        having = part.stop - part.start
        later, top = scores.narrow(dim, part.start, having), best.narrow(dim, 0, having)
        if with_index:
            own = place.narrow(dim, 0, having)
            torch.maximum(own, _as_count(np.greater, later, top, own.dtype).mul_(r), out=own)
        torch.maximum(top, later, out=top)
    return best, place


def fgm_backward(x_grad, y_grad, x, x_offsets, y, y_offsets, x_index, y_index):
    """Gradients of x and of y: a block of the scores' gradients, most of them 0, is built from the
    places of both directions, then two products.
    """
    (x_order, x_blocks), (y_order, y_blocks) = _blocks(x_offsets), _blocks(y_offsets)
    x_shares = (x_grad / x_offsets.diff().clamp(min=1)[:, None])[x_order][:, y_order].to(x.dtype)
    y_shares = (y_grad / y_offsets.diff().clamp(min=1))[x_order][:, y_order].to(x.dtype)
    dx, dy = torch.zeros_like(x), torch.zeros_like(y)
    y_members = [y[each.rows] for each in y_blocks]
    chunks = threads.chunks(x_blocks)
    of_y = [[torch.zeros_like(each) for each in y_members] for _ in chunks]

    def spread(chunks):
        for chunk, y_sums in chunks:
            for a in chunk:
                members = x[a.rows]
                x_sum = torch.zeros_like(members)
                for b, others, y_sum in zip(y_blocks, y_members, y_sums):
                    of_scores = x.new_zeros(len(members), len(others))
                    flat, wide = of_scores.view(-1), len(others)
                    x_share, y_share = x_shares[a.sets, b.sets], y_shares[a.sets, b.sets].T
                    _spread(flat, x_share, x_index[a.members, b.sets], a, b, (wide, 1))
                    _spread(flat, y_share, y_index[b.members, a.sets], b, a, (1, wide))
                    x_sum.addmm_(of_scores, others)
                    y_sum.addmm_(of_scores.T, members)
                dx[a.rows] = x_sum

    threads.on_all(spread, list(zip(chunks, of_y)))
    for b, *y_sums in zip(y_blocks, *of_y):
        dy[b.rows] = sum(y_sums)
    return dx, dy


def _spread(flat, shares, place, own, other, strides) -> None:
    """Add each own member's share `(sets of own, sets of other)` where its best of a set stands, at
    `place (members, sets)`, in a block of scores in which members lie so many numbers apart.
    """
    begin = np.array([part.start for part in other.parts])
    at = torch.from_numpy(begin[place.numpy()])
    at += torch.arange(place.shape[1])
    at *= strides[1]
    at += (torch.arange(len(place)) * strides[0])[:, None]
    for rows in own.parts:
        flat.index_add_(0, at[rows].reshape(-1), shares[: rows.stop - rows.start].reshape(-1))


# --- Cosine to what is attended to -----------------------------------------------------------------


def soft_coding(queries, codewords, offsets, temperature, keep=False, block=None):
    """Cosine of each query and the mixture it attends to `(Q, B)`, 0 of an empty group; and the
    scores for the gradient `(N, Q)`, larger groups first, or `(0,)`.

    On any device, in blocks of so many queries and codewords. Scores s are taken as s log2(e)/τ:
    powers of 2 take half the time of powers of e.
    """
    (tall, wide), dtype = block or SCORES, returned_in(queries.dtype)
    unit = math.log2(math.e) / min(temperature, HOT)
    exact = queries.to(dtype) * unit
    codewords, _, order, sizes = _by_size(offsets, codewords.to(dtype))
    out = queries.new_zeros(len(queries), len(sizes), dtype=dtype)
    kept = exact.new_empty((len(codewords), len(queries)) if keep else (0,))
    tiles = _tiles(sizes, wide)
    grams = [_grams(tile, codewords) for tile in tiles]

    def code(blocks):
        room = exact.new_empty(4, _cells(tiles, tall))
        for tile, gram, part in blocks:
            group, own = codewords[tile.rows], exact[part]
            scores, *others = (_view(each, len(group), len(own)) for each in room)
            scores = kept[tile.rows, part] if keep else scores
            torch.mm(group, own.T, out=scores)
            for (groups, rows, size), each in zip(tile.runs, gram):
                own = (x[rows].unflatten(0, (-1, size)) for x in (scores, *others))
                along, _, squared, least = _attend(*own, each)
                out[part, groups] = (along / torch.maximum(squared, least).sqrt()).T / unit

    parts = _slices(len(queries), tall)
    threads.on_all(
        code, [(*of_tile, part) for of_tile in zip(tiles, grams) for part in parts], queries.device
    )
    return out if (order.diff() == 1).all() else out[:, order.argsort()], kept


def _cells(tiles, tall) -> int:
    """Of the largest block."""
    return tall * max((tile.rows.stop - tile.rows.start for tile in tiles), default=0)


def _grams(tile, codewords):
    """G = V Vᵀ of the groups of a tile, `(b, C, C)` for every run."""
    vectors = codewords[tile.rows]
    groups = (vectors[rows].unflatten(0, (-1, size)) for _, rows, size in tile.runs)
    return [group @ group.mT for group in groups]


def _attend(scores, weights, mixed, spare, gram):
    """From scores `(b, C, Q)` the weights ω = 2^(s − max s) and G ω, written; and, `(b, Q)` each,
    Σ ω s, Σ ω, ωᵀ G ω, and the least that this counts as.

    Not divided by the sums: a cosine doesn't depend on the mixture's length.
    """
    torch.sub(scores, scores.amax(1, keepdim=True), out=weights).exp2_()
    along, total = torch.mul(weights, scores, out=spare).sum(1), weights.sum(1)
    squared = torch.mul(torch.bmm(gram, weights, out=mixed), weights, out=spare).sum(1)
    return along, total, squared, torch.finfo(scores.dtype).eps * total.square()


def _to_scores(given, room, gram, of_gram, temperature):
    """From the gradients `(b, Q)` of a run's cosines those of its scores, written where `_attend`
    has `mixed`, and of its Gram matrices, added; see `soft_coding_backward`.
    """
    (s, weights, mixed, spare), log2_e = room, math.log2(math.e)
    along, total, squared, least = _attend(s, weights, mixed, spare, gram)
    free, squared = squared > least, torch.maximum(squared, least)
    ratio = (along / squared).masked_fill(~free, 0)  # a/n², or not
    rest = (along / total).masked_fill(free, 0)
    given = given / (squared.sqrt() * log2_e)
    torch.mul(weights, given[:, None], out=spare)
    torch.sub(s, mixed.mul_(ratio[:, None]), out=mixed)
    mixed.add_((log2_e - rest)[:, None]).mul_(spare)
    of_gram.baddbmm_(spare, weights.mul_(ratio[:, None]).mT, alpha=temperature)


def soft_coding_backward(grad, queries, codewords, offsets, temperature, kept=None, block=None):
    """Gradients of queries and codewords. With n = |ĉ| and a = q · ĉ the result is a / n, so

        ∂/∂s_j = ω_j / n · (1 + (s_j − (G ω)_j a/n²) / τ),    ∂/∂G = −½ a/n³ ω ωᵀ.

    (A further term of the softmax, Σ_j ω_j ∂/∂ω_j, is 0: the cosine doesn't change with |ω|. Where
    n is clamped it is a.) Scores that the forward pass kept aren't computed again.
    """
    (tall, wide), dtype = block or SCORES, returned_in(queries.dtype)
    temperature = min(temperature, HOT)
    exact = queries.to(dtype)
    scaled = exact * (math.log2(math.e) / temperature)
    codewords, places, order, sizes = _by_size(offsets, codewords.to(dtype))
    grad = grad[:, order]
    seen, parts = grad != 0, _slices(len(queries), tall)
    # Few pairs have a gradient with the hardest negatives: then a group has its own few queries.
    sparse = not seen.float().mean() > SPARSE
    chunks = threads.chunks(_tiles(sizes, 1 if sparse else wide), queries.device)
    of_queries = exact.new_zeros(len(chunks), *exact.shape)
    of_codewords = torch.zeros_like(codewords)

    def pass_back(blocks):
        for tiles, of_own in blocks:
            room = exact.new_empty(4, _cells(tiles, tall))
            for tile in tiles:
                group, of_group = codewords[tile.rows], of_codewords[tile.rows]
                grams = _grams(tile, codewords)
                of_grams = [torch.zeros_like(each) for each in grams]
                some = seen[:, tile.runs[0][0]].any(1).nonzero()[:, 0].split(tall)
                for part in some if sparse else parts:
                    own = scaled[part]
                    scores, *others = (_view(each, len(group), len(own)) for each in room)
                    if sparse or kept is None or not len(kept):
                        torch.mm(group, own.T, out=scores)
                    else:
                        scores = kept[tile.rows, part]
                    for (groups, rows, size), gram, of_gram in zip(tile.runs, grams, of_grams):
                        own_room = [x[rows].unflatten(0, (-1, size)) for x in (scores, *others)]
                        given = grad[part, groups].T.contiguous()
                        _to_scores(given, own_room, gram, of_gram, temperature)
                    of_scores = others[1]
                    of_group.addmm_(of_scores, exact[part])
                    if sparse:
                        of_own.index_add_(0, part, of_scores.T @ group)
                    else:
                        of_own[part].addmm_(of_scores.T, group)
                for (_, rows, size), of_gram in zip(tile.runs, of_grams):
                    own = group[rows].unflatten(0, (-1, size))
                    of_group[rows] -= (of_gram @ own).flatten(0, 1)  # ∂G twice, each half

    work = list(zip(chunks, of_queries))
    if sparse:  # too little at a time to be shared out
        pass_back(work)
    else:
        threads.on_all(pass_back, work, queries.device)
    found = torch.zeros_like(of_codewords)
    found[places] = of_codewords
    return of_queries.sum(0).to(queries.dtype), found.to(queries.dtype)
