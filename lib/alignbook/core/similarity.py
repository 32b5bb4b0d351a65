"""How well an image and a caption agree, fragment by fragment: hard and soft assignment coding.

The equations are those of CHAN (Pan, Wu and Zhang, "Fine-grained Image-text Matching by
Cross-modal Hard Aligning Network", CVPR 2023). Fragments of one side are *queries*; each set of
fragments of the other side is a *codebook*. Coding compares a query with a whole codebook and gives
one number; pooling turns the numbers of all queries of a set into the similarity of the two sets.

With the visual codebook the words are the queries and an image's regions the codebook; with the
textual codebook the roles are swapped. Both run through the same three steps,

    queries (Q, d), codebooks (N, d)  ->  scores (Q, B)  ->  pooled (sets, B)

a block of query sets at a time, so that the scores of all queries are never held. Both sides are
packed: padding is not computed with. The products are those of `alignbook.core.kernels`.
"""

import math
from bisect import bisect_right

import torch
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from alignbook.core import kernels
from alignbook.core.kernels import Packed

CODEBOOKS = ("visual", "textual")
POOLINGS = ("lse", "mean", "sum", "max", "softmax")
BLOCK = 4096  # queries of a block; with 5,000 codebooks their scores take 80 MB


def hard_coding(
    regions,
    words,
    *,
    region_lengths=None,
    word_lengths=None,
    codebook="visual",
    pooling="lse",
    scale=10.0,
):
    """Similarity of every image and caption by hard assignment coding (CHAN Eq. 5, 6 and 8).

    A query counts for as much as its best codeword: with the visual codebook
    ``s(T, V) = (1/scale) log sum_i exp(scale * max_j cos(t_i, v_j))`` for the default pooling.

    Parameters
    ----------
    regions : (B1, K, d) float, or `kernels.Packed`
        Region vectors of B1 images; normalised to length 1 inside (a zero vector stays zero).
    words : (B2, L, d) float, or `kernels.Packed`
        Word vectors of B2 captions, likewise.
    region_lengths, word_lengths : (B1,) or (B2,) int tensor or list, optional
        How many leading fragments of each row are real; the rest is padding, whose content never
        matters. None means that all are real.
    codebook : "visual" or "textual"
        "visual": the best region for each word, pooled over the words; "textual": the best word
        for each region, pooled over the regions.
    pooling : "lse", "mean", "sum", "max" or "softmax"
        How the queries' scores s_i become one number: Eq. 3's ``(1/scale) log sum exp(scale s_i)``,
        their mean, sum or maximum, or ``sum_i softmax(scale s)_i s_i``. LSE and sum grow with the
        number of queries (LSE by log(L)/scale for equal scores); that is the paper's formula.
    scale : float
        The scaling factor of LSE and softmax pooling (the paper's lambda), positive.

    Returns
    -------
    (B1, B2) float
        Rows are images, columns captions. Half-precision input is computed and returned in float32.

    Raises
    ------
    ValueError
        For shapes that do not fit, lengths outside 1..K or 1..L, and unknown names.

    Examples
    --------
    >>> regions = torch.tensor([[[1.0, 0.0], [0.0, 1.0]]])     # one image, two regions
    >>> words = torch.tensor([[[2.0, 0.0], [3.0, 4.0]]])       # one caption, two words
    >>> hard_coding(regions, words, pooling="mean")            # (1 + 0.8) / 2
    tensor([[0.9000]])
    """
    return coded_and_pooled(
        None, regions, words, region_lengths, word_lengths, codebook, pooling, scale
    )


def soft_coding(
    regions,
    words,
    *,
    region_lengths=None,
    word_lengths=None,
    codebook="visual",
    pooling="lse",
    scale=10.0,
    temperature,
):
    """Similarity of every image and caption by soft assignment coding, i.e. cross-attention
    (CHAN Eq. 1 to 4).

    A query is compared with the mixture of all codewords that it attends to,
    ``w_j = softmax_j(cos(t, v_j) / temperature)`` and ``s(t, V) = cos(t, sum_j w_j v_j)`` with
    codewords of length 1. As the temperature goes to 0 this becomes `hard_coding`.

    Parameters
    ----------
    regions, words, region_lengths, word_lengths, codebook, pooling, scale
        As for `hard_coding`.
    temperature : float
        The smoothing parameter of Eq. 4 (the paper's tau), positive.

    Returns
    -------
    (B1, B2) float
        Rows are images, columns captions.

    Raises
    ------
    ValueError
        As `hard_coding`, and for a temperature that is not positive.

    Examples
    --------
    >>> regions = torch.tensor([[[1.0, 0.0], [0.0, 1.0]]])     # one image, two regions
    >>> words = torch.tensor([[[1.0, 0.0]]])                   # one caption, one word
    >>> soft_coding(regions, words, temperature=1e6)           # cos to the mean of both: 1/sqrt(2)
    tensor([[0.7071]])
    """
    if not temperature > 0:
        raise ValueError(
            f"temperature must be positive, not {temperature}; for the limit 0 use hard_coding"
        )
    return coded_and_pooled(
        temperature, regions, words, region_lengths, word_lengths, codebook, pooling, scale
    )


def fine_grained_matching(x, y, x_mask=None, y_mask=None):
    """Mean over one set's vectors of the best of the other's, both ways: ComAlign Eq. 2, as
    Eq. 3 and 4 take it.

    Parameters
    ----------
    x : (B1, N, d) float
        Vectors as given: nothing is normalised.
    y : (B2, M, d) float
    x_mask, y_mask : (B1, N) or (B2, M) bool, optional
        Which vectors are real; the others' content never matters. None means that all are real.

    Returns
    -------
    x_to_y, y_to_x : (B1, B2) float
        ``mean_i max_j x_i . y_j`` over the real i and j, and ``mean_j max_i``; 0, without a
        gradient, where a set has nothing real. Half precision is computed in float32.

    Raises
    ------
    ValueError
        For shapes that do not fit.

    Examples
    --------
    >>> x, y = torch.tensor([[[1.0, 0.0], [0.0, 1.0]]]), torch.tensor([[[0.6, 0.8]]])
    >>> fine_grained_matching(x, y)
    (tensor([[0.7000]]), tensor([[0.8000]]))
    """
    dtype = torch.promote_types(torch.float32, torch.promote_types(x.dtype, y.dtype))
    x, y = _masked(x, x_mask, "x"), _masked(y, y_mask, "y")
    return kernels.fgm(x.vectors.to(dtype), x.offsets, y.vectors.to(dtype), y.offsets)


def _masked(vectors, mask, name) -> Packed:
    """The vectors (B, N, d) that a mask (B, N) says are real, packed."""
    if vectors.ndim != 3:
        raise ValueError(f"{name} must be (B, N, d), not of shape {tuple(vectors.shape)}")
    if mask is None:
        mask = torch.ones(vectors.shape[:2], dtype=torch.bool, device=vectors.device)
    if mask.shape != vectors.shape[:2] or mask.dtype != torch.bool:
        raise ValueError(
            f"{name}_mask must be {tuple(vectors.shape[:2])} of bool, not "
            f"{tuple(mask.shape)} of {mask.dtype}"
        )
    return Packed(vectors[mask], F.pad(mask.sum(1).cumsum(0), (1, 0)))


def coded_and_pooled(
    temperature, regions, words, region_lengths, word_lengths, codebook, pooling, scale
):
    """Check and pack, then code (hard where temperature is None) and pool in blocks; (B1, B2)."""
    if codebook not in CODEBOOKS:
        raise ValueError(f"unknown codebook {codebook!r}; known: {', '.join(CODEBOOKS)}")
    if pooling not in POOLINGS:
        raise ValueError(f"unknown pooling {pooling!r}; known: {', '.join(POOLINGS)}")
    if not 0 < scale < math.inf:
        raise ValueError(f"scale must be positive and finite, not {scale}")
    _check_vectors(regions, words)
    regions = _packed(regions, region_lengths, "region_lengths")
    words = _packed(words, word_lengths, "word_lengths")
    dtype = torch.promote_types(regions.vectors.dtype, words.vectors.dtype)
    dtype = torch.promote_types(torch.float32, dtype)
    regions, words = (each._replace(vectors=each.vectors.to(dtype)) for each in (regions, words))

    queries, codebooks = (words, regions) if codebook == "visual" else (regions, words)
    codebooks = codebooks._replace(vectors=unit(codebooks.vectors))

    def code(vectors):
        if temperature is None:
            return kernels.grouped_max(unit(vectors), *codebooks)  # Eq. 5 and 6
        return kernels.soft_coding(unit(vectors), *codebooks, temperature)

    result = coded_in_blocks(queries, code, pooling, scale)
    return result.T if codebook == "visual" else result


def coded_in_blocks(queries: Packed, code, pooling, scale):
    """Code a block of query sets at a time, `code` (Q, d) -> (Q, B), and pool it: (sets, B)."""
    return torch.cat(
        [pool(code(vectors), offsets, pooling, scale) for vectors, offsets in blocks(queries)]
    )


def blocks(sets: Packed):
    """Neighbouring sets, as many at a time as have at most BLOCK fragments, or one."""
    ends, first = sets.offsets.tolist(), 0
    while first < len(ends) - 1:
        stop = max(first + 1, bisect_right(ends, ends[first] + BLOCK) - 1)
        here = sets.offsets[first : stop + 1]
        yield Packed(sets.vectors[ends[first] : ends[stop]], here - here[0])
        first = stop


def _check_vectors(regions, words):
    """Both are (sets, fragments, d) float tensors of the same d, with nothing empty, or packed."""
    for name, x, shape in (("regions", regions, "(B1, K, d)"), ("words", words, "(B2, L, d)")):
        ndim = 3
        if isinstance(x, Packed):
            x, shape, ndim = x.vectors, "packed (N, d)", 2
        if x.ndim != ndim:
            raise ValueError(f"{name} must be {shape}, not of shape {tuple(x.shape)}")
        if x.numel() == 0:
            raise ValueError(f"{name} must be {shape} with nothing empty, not {tuple(x.shape)}")
        if not x.is_floating_point():
            raise ValueError(f"{name} must be floating point, not {x.dtype}")
    widths = [(x.vectors if isinstance(x, Packed) else x).shape[-1] for x in (regions, words)]
    if widths[0] != widths[1]:
        raise ValueError(
            f"regions have d = {widths[0]} but words d = {widths[1]}; "
            "project both into one space first"
        )


def _packed(fragments, lengths, name) -> Packed:
    """The real fragments of (sets, fragments, d); what is packed already stays as it is."""
    if isinstance(fragments, Packed):
        if lengths is not None:
            raise ValueError(f"{name} must be None: packed fragments have their offsets")
        kernels.check_offsets(fragments.offsets, fragments.vectors, name.partition("_")[0] + "s")
        if (fragments.offsets.diff() < 1).any():
            raise ValueError("a packed set without any fragment has no similarity; drop it")
        return fragments
    sets, longest, _ = fragments.shape
    if lengths is None:
        return kernels.pack(fragments, torch.full((sets,), longest, device=fragments.device))
    lengths = torch.as_tensor(lengths, device=fragments.device)
    if lengths.shape != (sets,) or lengths.is_floating_point():
        raise ValueError(
            f"{name} must be {sets} integers, one a row, "
            f"not {lengths.dtype} of shape {tuple(lengths.shape)}"
        )
    wrong = (lengths < 1) | (lengths > longest)
    if wrong.any():
        row = int(wrong.nonzero()[0])
        raise ValueError(
            f"{name}[{row}] is {int(lengths[row])}; it must be within 1..{longest} "
            "(drop rows without any fragment)"
        )
    return kernels.pack(fragments, lengths)


class Unit(torch.autograd.Function):
    """Vectors of length 1 along the last axis; a zero vector stays zero, and its gradient as it is.

    The gradient (g − u (u · g)) / |x| passes over the vectors half as often as the chain rule.
    """

    @staticmethod
    def forward(ctx, x):
        """`(…, d)` float → the same of length 1."""
        norm = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
        norm = norm.masked_fill(norm < 1e-12, 1)
        scaled = x / norm
        ctx.save_for_backward(scaled, norm)
        return scaled

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        """The gradient of the result → that of x."""
        scaled, norm = ctx.saved_tensors
        along = torch.linalg.vecdot(scaled, grad)[..., None]
        return torch.addcmul(grad, scaled, along, value=-1).div_(norm)


unit = Unit.apply


def pool(scores, offsets, pooling="lse", scale=10.0):
    """One number from the scores s_i of each set's queries (CHAN Eq. 3 and Table 3).

    Parameters
    ----------
    scores : (Q, B) float
        Of the queries of all sets, packed.
    offsets : (sets + 1,) int64
        Where the queries of each set begin, and the last end; no set is empty.
    pooling, scale : as for `hard_coding`.

    Returns
    -------
    (sets, B) float

    Examples
    --------
    >>> pool(torch.tensor([[0.2], [0.6], [1.0]]), torch.tensor([0, 2, 3]), "mean")
    tensor([[0.4000],
            [1.0000]])
    """
    lengths = offsets.diff()
    if pooling == "max":
        return _bags(scores, offsets, "max")
    if pooling in ("sum", "mean"):
        total = _bags(scores, offsets)
        return total if pooling == "sum" else total / lengths[:, None]
    top = _bags(scores.detach(), offsets, "max")  # without it exp may overflow
    weights = (scores - top[torch.repeat_interleave(lengths)]).mul_(scale).exp_()
    total = _bags(weights, offsets)
    if pooling == "lse":
        return total.log() / scale + top
    return _bags(weights * scores, offsets) / total


def _bags(scores, offsets, mode="sum"):
    """Sum or maximum over each set's queries, in their order: (Q, B) -> (sets, B)."""
    each = torch.arange(len(scores), device=scores.device)
    return F.embedding_bag(each, scores, offsets[:-1], mode=mode)
