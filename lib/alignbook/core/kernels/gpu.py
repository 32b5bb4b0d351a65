"""The kernels on a GPU, in Triton; its interpreter runs them on a CPU too, for the tests.

A program computes a *tile*, TALL rows by WIDE columns, and multiplies DEEP terms at a time. `d` is
known when a kernel is compiled: one is compiled for each width. The interpreter has no products of
bfloat16.
"""

import torch
import triton
import triton.language as tl
from torch.nn import functional as F

from alignbook.core.kernels import cpu

# Of a tile, by the bytes of an element: TALL, WIDE, DEEP, warps, stages of loads under way. The
# scores of a tile and their running maximum are kept in registers, its vectors in shared memory.
MAXIMUM = {2: (128, 128, 64, 8, 4), 4: (64, 64, 32, 4, 3)}
GRADIENT = {2: (128, 128, 64, 8, 3), 4: (64, 64, 32, 4, 3)}
WHOLE = 256  # up to this width, in half precision, a tile's queries stay in shared memory
LARGE = 200 * 1024  # bytes of shared memory that this takes
BAND = 8  # tiles of queries that take turns at the same groups, which they find in the L2 cache
ROW = 256  # columns of a mean that a program has
SCORES = 8192, 2048  # queries and codewords of a block of soft coding: 64 MB, several times


def _shared_memory(x):
    """Bytes that a program may have on the device of a tensor; in the interpreter there is no end."""
    if x.device.type != "cuda":
        return 1 << 30
    return torch.cuda.get_device_properties(x.device).shared_memory_per_block_optin


def _fitting(tiles, x):
    """The tile for a tensor's type, with as many loads under way as there is shared memory for."""
    tall, wide, deep, warps, stages = tiles[x.element_size()]
    load = (tall + wide) * deep * x.element_size()
    return tall, wide, deep, warps, max(1, min(stages, _shared_memory(x) // load))


# --- The best codeword of every group -------------------------------------------------------------


def grouped_max(queries, codewords, offsets, with_index):
    """Maxima `(Q, B)` and their places `(Q, B) int16`, `(0,)` if these aren't wanted."""
    queries, codewords = queries.contiguous(), codewords.contiguous()
    lengths, order = offsets.diff().sort(descending=True, stable=True)
    empty = lengths == 0
    starts = offsets[:-1][order].masked_fill(empty, 0)
    best = queries.new_full((len(queries), len(order)), -torch.inf, dtype=torch.float32)
    index = queries.new_zeros(best.shape if with_index else (0,), dtype=torch.int16)
    if not best.numel():
        return best, index
    d = queries.shape[1]
    tall, wide, deep, warps, stages = _fitting(MAXIMUM, queries)
    if queries.element_size() == 2 and d <= WHOLE and _shared_memory(queries) >= LARGE:
        deep, stages = max(triton.next_power_of_2(d), 16), 2
    grid = (triton.cdiv(len(queries), tall) * triton.cdiv(len(order), wide),)
    with torch.cuda.device_of(queries):
        _grouped_max[grid](
            queries,
            codewords,
            starts.to(torch.int32),
            lengths.to(torch.int32),
            order.masked_fill(empty, -1),
            best,
            index,
            len(queries),
            len(order),
            d=d,
            WITH_INDEX=with_index,
            TALL=tall,
            WIDE=wide,
            DEEP=deep,
            BAND=BAND,
            num_warps=warps,
            num_stages=stages,
            enable_fp_fusion=True,
        )
    return best, index


@triton.jit
def _grouped_max(
    queries,
    codewords,
    starts,
    lengths,
    order,
    best,
    index,
    n_queries,
    n_groups,
    d: tl.constexpr,
    WITH_INDEX: tl.constexpr,
    TALL: tl.constexpr,
    WIDE: tl.constexpr,
    DEEP: tl.constexpr,
    BAND: tl.constexpr,
):
    """A tile of queries by groups: scores with the groups' first codewords, then the second…

    Groups come in order of their length, the longest first; a group that ends before its tile's
    longest one repeats its last codeword, which changes no maximum and no place. An empty group has
    the order -1, and nothing is stored for it.
    """
    n_tall = (n_queries + TALL - 1) // TALL
    n_wide = (n_groups + WIDE - 1) // WIDE
    tile = tl.program_id(0)
    band = tile // (BAND * n_wide) * BAND
    height = tl.minimum(n_tall - band, BAND)
    top = (band + tile % (BAND * n_wide) % height) * TALL
    left = tile % (BAND * n_wide) // height * WIDE
    row = tl.minimum(top + tl.arange(0, TALL), n_queries - 1)
    column = tl.minimum(left + tl.arange(0, WIDE), n_groups - 1)
    start = tl.load(starts + column)
    last = tl.maximum(tl.load(lengths + column) - 1, 0)
    maximum = tl.full((TALL, WIDE), float("-inf"), tl.float32)
    place = tl.full((TALL, WIDE), 0, tl.int16)
    for r in tl.range(tl.load(lengths + left), flatten=True):
        member = start + tl.minimum(r, last)
        scores = tl.full((TALL, WIDE), 0.0, tl.float32)
        for k in range(0, d, DEEP):
            depth = k + tl.arange(0, DEEP)
            q = queries + row.to(tl.int64)[:, None] * d + depth[None, :]
            c = codewords + member.to(tl.int64)[None, :] * d + depth[:, None]
            if d % DEEP == 0:
                some_q, some_c = tl.load(q), tl.load(c)
            else:
                some_q = tl.load(q, mask=depth[None, :] < d, other=0.0)
                some_c = tl.load(c, mask=depth[:, None] < d, other=0.0)
            scores = tl.dot(some_q, some_c, scores, input_precision="ieee")
        if WITH_INDEX:
            place = tl.where(scores > maximum, tl.full((TALL, WIDE), r, tl.int16), place)
        maximum = tl.maximum(maximum, scores, propagate_nan=tl.PropagateNan.ALL)
    row = top + tl.arange(0, TALL)  # again, so that no register holds it through the loop
    column = left + tl.arange(0, WIDE)
    group = tl.load(order + column, mask=column < n_groups, other=-1)
    here = row.to(tl.int64)[:, None] * n_groups + group[None, :]
    wanted = (row < n_queries)[:, None] & (group >= 0)[None, :]
    tl.store(best + here, maximum, mask=wanted)
    if WITH_INDEX:
        tl.store(index + here, place, mask=wanted)


def grouped_max_backward(grad, queries, codewords, offsets, index):
    """Σ_b g_ib c_best for query i; Σ g_ib q_i over the pairs for which codeword j is the best."""
    choice = _sheet(grad.to(queries.dtype), queries), _sheet(index, queries)
    groups = _groups(offsets, codewords)
    return (
        _gradient(queries, codewords, groups=groups, choices=choice),
        _gradient(codewords, queries, own_groups=groups, chosen_by=choice),
    )


# --- The gradient of choices ----------------------------------------------------------------------
#
# A row i and a vector j have a share of the gradient if i chose j, the best of j's group, and in
# `fgm` also if j chose i, the best of i's. A choice is a pair of sheets `(groups chosen from, those
# who choose)`: the share of the gradient that goes with it, and the place chosen in the group.


def _gradient(rows, vectors, groups=None, choices=None, own_groups=None, chosen_by=None):
    """Σ_j (share of i and j) vectors_j for every row i; the matrix of shares is never stored.

    Either or both: `choices` of rows among the vectors' `groups`, and `chosen_by`, the choices of
    vectors among the rows' `own_groups`.
    """
    vectors = vectors.contiguous()
    out = torch.zeros_like(rows, memory_format=torch.contiguous_format)
    if not out.numel() or not len(vectors):
        return out
    d = rows.shape[1]
    tall, wide, deep, warps, stages = _fitting(GRADIENT, rows)
    grid = triton.cdiv(len(rows), tall), triton.cdiv(d, wide)
    nothing = out, out
    with torch.cuda.device_of(rows):
        _chosen[grid](
            vectors,
            *(groups or nothing),
            *(choices or nothing),
            *(own_groups or nothing),
            *(chosen_by or nothing),
            out,
            len(rows),
            len(vectors),
            _filled(len(rows), rows),
            _filled(len(vectors), rows),
            d=d,
            CHOOSE=choices is not None,
            CHOSEN=chosen_by is not None,
            TALL=tall,
            WIDE=wide,
            DEEP=deep,
            num_warps=warps,
            num_stages=stages,
            enable_fp_fusion=True,
        )
    return out


@triton.jit
def _chosen(
    vectors,
    groups,
    places,
    shares,
    choices,
    own_groups,
    own_places,
    back_shares,
    back_choices,
    out,
    n_rows,
    n_vectors,
    rows_filled,
    vectors_filled,
    d: tl.constexpr,
    CHOOSE: tl.constexpr,
    CHOSEN: tl.constexpr,
    TALL: tl.constexpr,
    WIDE: tl.constexpr,
    DEEP: tl.constexpr,
):
    """A tile of rows by dimensions.

    Rows and vectors beyond the last have the place -1, as has what they choose. Neighbours in a
    group read the same row of a sheet: hence ".ca", by way of the L1 cache.
    """
    row = tl.program_id(0) * TALL + tl.arange(0, TALL)
    column = tl.program_id(1) * WIDE + tl.arange(0, WIDE)
    if CHOSEN:
        own_group = tl.load(own_groups + row).to(tl.int64)
        own_place = tl.load(own_places + row)
    total = tl.full((TALL, WIDE), 0.0, tl.float32)
    for j in range(0, n_vectors, DEEP):
        number = j + tl.arange(0, DEEP)
        v = vectors + tl.minimum(number, n_vectors - 1).to(tl.int64)[:, None] * d + column[None, :]
        if d % WIDE == 0:
            some = tl.load(v)
        else:
            some = tl.load(v, mask=column[None, :] < d, other=0.0)
        if CHOOSE:
            at = tl.load(groups + number).to(tl.int64)[:, None] * rows_filled + row[None, :]
            hit = tl.load(choices + at, cache_modifier=".ca") == tl.load(places + number)[:, None]
            share = tl.trans(tl.where(hit, tl.load(shares + at, cache_modifier=".ca"), 0.0))
        if CHOSEN:
            at = own_group[:, None] * vectors_filled + number[None, :]
            hit = tl.load(back_choices + at, cache_modifier=".ca") == own_place[:, None]
            back = tl.where(hit, tl.load(back_shares + at, cache_modifier=".ca"), 0.0)
            if CHOOSE:
                share += back
            else:
                share = back
        total = tl.dot(share.to(some.dtype), some, total, input_precision="ieee")
    here = row.to(tl.int64)[:, None] * d + column[None, :]
    wanted = (row < n_rows)[:, None] & (column < d)[None, :]
    tl.store(out + here, total.to(out.dtype.element_ty), mask=wanted)


def _filled(n, vectors):
    """A number of vectors, rounded up to whole tiles: sheets are loaded without a mask."""
    tall, _, deep, *_ = GRADIENT[vectors.element_size()]
    step = max(tall, deep)
    return triton.cdiv(n, step) * step


def _groups(offsets, vectors):
    """Group `int32` of every vector and its place in it `int16`, -1 beyond the last vector."""
    n = len(vectors)
    beyond = 0, _filled(n, vectors) - n
    numbers = torch.arange(len(offsets) - 1, device=offsets.device)
    group = torch.repeat_interleave(numbers, offsets.diff(), output_size=n)
    place = torch.arange(n, device=offsets.device) - offsets[:-1][group]
    return F.pad(group.to(torch.int32), beyond), F.pad(place.to(torch.int16), beyond, value=-1)


def _sheet(x, vectors):
    """What the vectors give to groups or choose of them, `(N, B)`, as a sheet `(B, filled)`."""
    return F.pad(x.T, (0, _filled(len(x), vectors) - len(x)), value=-1).contiguous()


# --- Both directions of matching sets -------------------------------------------------------------


def fgm(x, x_offsets, y, y_offsets, with_index):
    """Both means and the best ones' places, as `reference.fgm` returns them: two maxima."""
    x_best, x_index = grouped_max(x, y, y_offsets, with_index)
    y_best, y_index = grouped_max(y, x, x_offsets, with_index)
    shape = len(x_offsets) - 1, len(y_offsets) - 1
    x_to_y, y_to_x = (x.new_zeros(shape, dtype=torch.float32) for _ in range(2))
    _mean(x_best, x_offsets, x_to_y)
    _mean(y_best, y_offsets, y_to_x.T)
    return x_to_y, y_to_x, x_index, y_index


def _mean(best, offsets, out):
    """Into `out (B, B')` the mean over each set's rows of `best (N, B')`, in their order."""
    if out.numel():
        with torch.cuda.device_of(best):
            _row_means[out.shape[0], triton.cdiv(out.shape[1], ROW)](
                best,
                offsets.contiguous(),
                out,
                out.shape[1],
                out.stride(0),
                out.stride(1),
                ROW=ROW,
                enable_fp_fusion=True,
            )


@triton.jit
def _row_means(best, offsets, out, n_columns, down, right, ROW: tl.constexpr):
    """A set's rows, ROW columns of them; -inf, of an empty set in the column, counts as 0."""
    group = tl.program_id(0)
    column = tl.program_id(1) * ROW + tl.arange(0, ROW)
    inside = column < n_columns
    start, stop = tl.load(offsets + group), tl.load(offsets + group + 1)
    total = tl.full((ROW,), 0.0, tl.float32)
    for row in range(start, stop):
        found = tl.load(best + row * n_columns + column, mask=inside, other=0.0)
        total += tl.where(found == float("-inf"), 0.0, found)
    mean = total / tl.maximum(stop - start, 1).to(tl.float32)
    tl.store(out + group.to(tl.int64) * down + column.to(tl.int64) * right, mean, mask=inside)


def fgm_backward(x_grad, y_grad, x, x_offsets, y, y_offsets, x_index, y_index):
    """Gradients of x and of y, from those of x_to_y and y_to_x `(B1, B2)`; one product for each."""
    x_groups, y_groups = _groups(x_offsets, x), _groups(y_offsets, y)
    x_choice = _shares(x_grad, x_offsets, x_groups, x), _sheet(x_index, x)
    y_choice = _shares(y_grad.T, y_offsets, y_groups, y), _sheet(y_index, y)
    return (
        _gradient(x, y, y_groups, x_choice, own_groups=x_groups, chosen_by=y_choice),
        _gradient(y, x, x_groups, y_choice, own_groups=y_groups, chosen_by=x_choice),
    )


def _shares(grad, offsets, groups, vectors):
    """Each member's part of the gradient of means `(B, B')`, a sheet `(B', filled)`."""
    parts = grad / offsets.diff().clamp(min=1)[:, None]
    return parts.T.to(vectors.dtype)[:, groups[0]].contiguous()


# --- Cosine to what is attended to ----------------------------------------------------------------


def soft_coding(queries, codewords, offsets, temperature, keep=False):
    """Cosine of each query and the mixture it attends to `(Q, B)`: PyTorch, in larger blocks."""
    return cpu.soft_coding(queries, codewords, offsets, temperature, block=SCORES)


def soft_coding_backward(grad, queries, codewords, offsets, temperature, kept=None):
    """Gradients of queries and codewords."""
    return cpu.soft_coding_backward(grad, queries, codewords, offsets, temperature, block=SCORES)
