"""The kernels on a CPU, in blocks that stay near the processor; a thread has blocks of its own."""

import math
from itertools import groupby, product
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor
from torch.nn import functional as F

from alignbook.core.kernels import threads
from alignbook.core.kernels.reference import returned_in

CACHES = Path("/sys/devices/system/cpu/cpu0/cache")  # on Linux


def _cache() -> int:
    """Bytes of a core's own second cache, 1 MB where the system doesn't say."""
    for each in sorted(CACHES.glob("index*")):
        try:
            level, size = ((each / name).read_text().strip() for name in ("level", "size"))
            if level == "2":
                return int(size[:-1]) * {"K": 2**10, "M": 2**20}[size[-1]]
        except (OSError, ValueError, LookupError):  # in a container some of it may be missing
            continue
    return 2**20


# Scores of a block: in float32 as much as the cache, and 1 MB at least. In a larger one, what
# follows the product waits for memory; in a smaller one products take longer.
AREA = min(max(_cache() // 4, 2**18), 2**19)
DEEP = 1024  # codewords of a block, if no group has more
MEMBERS = math.isqrt(8 * AREA)  # of a block of `fgm`, a side
# A block of `soft_coding`: so many queries by so many codewords, and a few tensors of that size.
SCORES = AREA // DEEP, 2 * DEEP
HOT = 1e20  # temperature from which weights are equal: by an infinite one, scores would be lost
SPARSE = 0.2  # share of the pairs below which those without a gradient are left out of its products
SMALL = 2**21  # scores up to which that takes longer: each group has its own few queries then


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


def _even_tiles(sizes, wide, device) -> list[_Tile]:
    """Tiles of about as many rows, up to `wide` and a group's: as many as can be shared out evenly."""
    rows, shares = sum(sizes), threads.shares(device)
    count = -(-rows // wide) or 1
    count = 1 << (count - 1).bit_length() if count < shares else -(-count // shares) * shares
    return _tiles(sizes, -(-rows // count) + max(sizes, default=0) - 1)


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
    of_y = [torch.zeros_like(each) for each in y_members]
    add = threads.in_order(of_y)

    widest = max(map(len, y_members), default=0)

    def spread(chunks):
        room = x.new_empty(max((len(a.rows) for a in x_blocks), default=0) * widest)
        for number, chunk in chunks:
            y_sums = []
            for a in chunk:
                members = x[a.rows]
                x_sum = torch.zeros_like(members)
                for i, (b, others) in enumerate(zip(y_blocks, y_members)):
                    of_scores = _view(room, len(members), len(others)).zero_()
                    x_share, y_share = x_shares[a.sets, b.sets], y_shares[a.sets, b.sets].T
                    _spread(of_scores, x_share, x_index[a.members, b.sets], a, b)
                    _spread(of_scores.T, y_share, y_index[b.members, a.sets], b, a)
                    x_sum.addmm_(of_scores, others)
                    if i == len(y_sums):
                        y_sums.append(of_scores.T @ members)
                    else:
                        y_sums[i].addmm_(of_scores.T, members)
                dx[a.rows] = x_sum
            add(number, y_sums)

    threads.on_all(spread, list(enumerate(chunks)))
    for b, y_sum in zip(y_blocks, of_y):
        dy[b.rows] = y_sum
    return dx, dy


def _spread(of_scores, shares, place, own, other) -> None:
    """Add each own member's share `(sets of own, sets of other)` where its best of a set stands, at
    `place (members, sets)`, in a block of scores `(members of own, members of other)`.
    """
    begin = np.array([part.start for part in other.parts])
    at = torch.from_numpy(begin.take(place.numpy())).add_(torch.arange(place.shape[1]))
    of_members = torch.cat([shares[: rows.stop - rows.start] for rows in own.parts])
    of_scores.scatter_add_(1, at, of_members)


# --- Cosine to what is attended to -----------------------------------------------------------------


def soft_coding(queries, codewords, offsets, temperature, keep=False, block=None):
    """Cosine of each query and the mixture it attends to `(Q, B)`, 0 of an empty group; and what the
    gradient needs, `(N + 3 B, Q)` in the order of the blocks, see `_kept`, or `(0,)`.

    On any device, in blocks of so many queries and codewords. Scores s are taken as s log2(e)/τ:
    powers of 2 take half the time of powers of e.
    """
    (tall, wide), dtype = block or SCORES, returned_in(queries.dtype)
    unit = math.log2(math.e) / min(temperature, HOT)
    exact = queries.to(dtype) * unit
    codewords, _, order, sizes = _by_size(offsets, codewords.to(dtype))
    out = queries.new_zeros(len(queries), len(sizes), dtype=dtype)
    kept = exact.new_empty((len(codewords) + 3 * len(sizes), len(queries)) if keep else (0,))
    tiles = _even_tiles(sizes, wide, queries.device)
    grams = [_grams(tile, codewords) for tile in tiles]

    def code(blocks):
        room = exact.new_empty(3, _cells(tiles, tall))
        for tile, gram, part in blocks:
            group, own = codewords[tile.rows], exact[part]
            scores, *others = (_view(each, len(group), len(own)) for each in room)
            if keep:
                scores, of_groups = _kept(kept, tile, part)
            torch.mm(group, own.T, out=scores)
            for (groups, rows, size), each in zip(tile.runs, gram):
                own_room = (x[rows].unflatten(0, (-1, size)) for x in (scores, *others))
                found = _attend(*own_room, each)
                out[part, groups] = (found.along * found.inverse / unit).T
                if keep:
                    _of_gradient(found, out=of_groups[:, _within(tile, groups)])

    parts = _slices(len(queries), tall)
    threads.on_all(
        code, [(*of_tile, part) for of_tile in zip(tiles, grams) for part in parts], queries.device
    )
    return out if (order.diff() == 1).all() else out[:, order.argsort()], kept


def _kept(kept, tile, part) -> tuple[Tensor, Tensor]:
    """For a block the scores `(N, Q)`, less the highest of their group, and `(3, B, Q)` more
    numbers.

    The memory of a block is in one piece: rows that lie a whole row of all queries apart take the
    product twice as long.
    """
    n, groups = part.stop - part.start, _within(tile, tile.runs[-1][0]).stop
    rows = tile.rows.stop - tile.rows.start
    height, before = rows + 3 * groups, tile.rows.start + 3 * tile.runs[0][0].start
    block = kept.view(-1)[before * kept.shape[1] + height * part.start :]
    block = _view(block, height, n)
    return block[:rows], block[rows:].view(3, groups, n)


def _within(tile, groups) -> slice:
    """Groups of a tile, counted from its first."""
    first = tile.runs[0][0].start
    return slice(groups.start - first, groups.stop - first)


def _cells(tiles, tall) -> int:
    """How many numbers the largest block takes."""
    return tall * max((tile.rows.stop - tile.rows.start for tile in tiles), default=0)


def _grams(tile, codewords):
    """G = V Vᵀ of the groups of a tile, `(b, C, C)` for every run."""
    vectors = codewords[tile.rows]
    groups = (vectors[rows].unflatten(0, (-1, size)) for _, rows, size in tile.runs)
    return [group @ group.mT for group in groups]


class _Attended(NamedTuple):
    """For every group and query, `(b, Q)` each; ω isn't divided by its sum, as no cosine depends on
    the mixture's length.
    """

    top: Tensor  # max s
    along: Tensor  # a = Σ ω s
    total: Tensor  # Σ ω
    inverse: Tensor  # 1/n, n² = ωᵀ G ω, or the least that this counts as
    free: Tensor  # where n² is more than that


def _attend(scores, weights, mixed, gram) -> _Attended:
    """From scores `(b, C, Q)`, which become s − max s, the weights ω = 2^(s − max s), written."""
    top = scores.amax(1)
    torch.exp2(scores.sub_(top[:, None]), out=weights)
    total = weights.sum(1)
    along = torch.mul(weights, scores, out=mixed).sum(1).addcmul_(top, total)
    squared = torch.bmm(gram, weights, out=mixed).mul_(weights).sum(1)
    least = torch.finfo(scores.dtype).eps * total.square()
    return _Attended(top, along, total, torch.maximum(squared, least).rsqrt(), squared > least)


def _of_gradient(found: _Attended, out) -> Tensor:
    """`(3, b, Q)`: a/n², or 0 where n is clamped; 1/n; and what is to be added to a score."""
    ratio, inverse, added = out
    torch.mul(found.along, found.inverse.square(), out=ratio).masked_fill_(~found.free, 0)
    inverse.copy_(found.inverse)
    rest = (found.along / found.total).masked_fill_(found.free, 0)
    torch.sub(found.top, rest, out=added).add_(math.log2(math.e))
    return out


def _to_scores(given, of_groups, room, gram, of_gram, temperature):
    """From the gradients `(b, Q)` of a run's cosines those of its scores, written into `mixed`, and
    of its Gram matrices, added; see `soft_coding_backward`.
    """
    (scores, weights, mixed, spare), (ratio, inverse, added) = room, of_groups
    given = given * inverse / math.log2(math.e)
    torch.mul(weights, (given * ratio)[:, None], out=spare)
    of_gram.baddbmm_(spare, weights.mT, alpha=temperature)
    torch.addcmul((given * added)[:, None], scores, given[:, None], out=mixed)
    mixed.baddbmm_(gram, spare, alpha=-1).mul_(weights)


def _scored(group, own, tile, grams, room) -> Tensor:
    """For a block, scores less the highest of their group and weights, written; see `_kept`."""
    scores, weights, mixed, _ = room
    torch.mm(group, own.T, out=scores)
    of_groups = scores.new_empty(3, _within(tile, tile.runs[-1][0]).stop, len(own))
    for (groups, rows, size), gram in zip(tile.runs, grams):
        own_room = (x[rows].unflatten(0, (-1, size)) for x in (scores, weights, mixed))
        _of_gradient(_attend(*own_room, gram), out=of_groups[:, _within(tile, groups)])
    return of_groups


def soft_coding_backward(grad, queries, codewords, offsets, temperature, kept=None, block=None):
    """Gradients of queries and codewords. With n = |ĉ| and a = q · ĉ the result is a / n, so

        ∂/∂s_j = ω_j / n · (1 + (s_j − (G ω)_j a/n²) / τ),    ∂/∂G = −½ a/n³ ω ωᵀ.

    (A further term of the softmax, Σ_j ω_j ∂/∂ω_j, is 0: the cosine doesn't change with |ω|. Where
    n is clamped it is a.) What the forward pass kept isn't computed again.
    """
    (tall, wide), dtype = block or SCORES, returned_in(queries.dtype)
    temperature, exact = min(temperature, HOT), queries.to(dtype)
    scaled = exact * (math.log2(math.e) / temperature)
    codewords, places, order, sizes = _by_size(offsets, codewords.to(dtype))
    grad = grad[:, order]
    seen, whole = grad != 0, _slices(len(queries), tall)
    sparse = len(queries) * len(codewords) > SMALL and not seen.float().mean() > SPARSE
    known = not sparse and kept is not None and len(kept) > 0
    tiles = _tiles(sizes, 1) if sparse else _even_tiles(sizes, wide, queries.device)
    chunks = threads.chunks(tiles, queries.device)
    of_queries, of_codewords = torch.zeros_like(exact), torch.zeros_like(codewords)
    add = threads.in_order([of_queries])

    def pass_back(blocks):
        for number, tiles in blocks:
            of_own, room = torch.zeros_like(exact), exact.new_empty(4, _cells(tiles, tall))
            for tile in tiles:
                group, of_group = codewords[tile.rows], of_codewords[tile.rows]
                grams = _grams(tile, codewords)
                of_grams = [torch.zeros_like(each) for each in grams]
                first = tile.runs[0][0]
                for part in seen[:, first].any(1).nonzero()[:, 0].split(tall) if sparse else whole:
                    own = exact[part]
                    views = [_view(each, len(group), len(own)) for each in room]
                    if known:
                        views[0], of_groups = _kept(kept, tile, part)
                        torch.exp2(views[0], out=views[1])
                    else:
                        of_groups = _scored(group, scaled[part], tile, grams, views)
                    for (groups, rows, size), gram, of_gram in zip(tile.runs, grams, of_grams):
                        own_room = [x[rows].unflatten(0, (-1, size)) for x in views]
                        given = grad[part, groups].T.contiguous()
                        of_run = of_groups[:, _within(tile, groups)]
                        _to_scores(given, of_run, own_room, gram, of_gram, temperature)
                    of_scores = views[2]
                    of_group.addmm_(of_scores, own)
                    if sparse:
                        of_own.index_add_(0, part, of_scores.T @ group)
                    else:
                        of_own[part].addmm_(of_scores.T, group)
                for (_, rows, size), of_gram in zip(tile.runs, of_grams):
                    own = group[rows].unflatten(0, (-1, size))
                    of_group[rows] -= (of_gram @ own).flatten(0, 1)  # ∂G twice, each half
            add(number, [of_own])

    most = 1 if sparse else None  # too little at a time to be shared out
    threads.on_all(pass_back, list(enumerate(chunks)), queries.device, most)
    found = torch.zeros_like(of_codewords)
    found[places] = of_codewords
    return of_queries.to(queries.dtype), found.to(queries.dtype)
