"""How well an image and a caption agree, fragment by fragment: hard and soft assignment coding.

The equations are those of CHAN (Pan, Wu and Zhang, "Fine-grained Image-text Matching by
Cross-modal Hard Aligning Network", CVPR 2023). Fragments of one side are *queries*; each set of
fragments of the other side is a *codebook*. Coding compares a query with a whole codebook and gives
one number; pooling turns the numbers of all queries of a set into the similarity of the two sets.

With the visual codebook the words are the queries and an image's regions the codebook; with the
textual codebook the roles are swapped. Both run through the same three steps,

    queries (Q, d), codebooks (B, C, d)  ->  scores (Q, B)  ->  pooled (sets, B)

in blocks of query sets, so that the largest tensor, (queries of a block, B * C), stays small.
"""

import math

import torch
from torch.utils.checkpoint import checkpoint

CODEBOOKS = ("visual", "textual")
POOLINGS = ("lse", "mean", "sum", "max", "softmax")
# Bytes of one block's query-codeword similarities: less than 32 MB, above which Linux fetches fresh
# pages for every tensor, and at least MIN_ROWS queries high, below which products are slow.
BLOCK_BYTES = 16 * 2**20
MIN_ROWS = 256
KEPT_BYTES = 256 * 2**20  # of all blocks: above, backward of soft coding computes them once more


def hard_coding(regions, words, *, region_lengths=None, word_lengths=None, codebook="visual",
                pooling="lse", scale=10.0, pairs=None):
    """Similarity of every image and caption by hard assignment coding (CHAN Eq. 5, 6 and 8).

    A query counts for as much as its best codeword: with the visual codebook
    ``s(T, V) = (1/scale) log sum_i exp(scale * max_j cos(t_i, v_j))`` for the default pooling.

    Parameters
    ----------
    regions : (B1, K, d) float
        Region vectors of B1 images; normalised to length 1 inside (a zero vector stays zero).
    words : (B2, L, d) float
        Word vectors of B2 captions, likewise.
    region_lengths, word_lengths : (B1,) or (B2,) int tensor or list, optional
        How many leading fragments of each row are real; the rest is padding, whose content never
        matters. None: all of them.
    codebook : "visual" or "textual"
        "visual": the best region for each word, pooled over the words; "textual": the best word
        for each region, pooled over the regions.
    pooling : "lse", "mean", "sum", "max" or "softmax"
        How the queries' scores s_i become one number: Eq. 3's ``(1/scale) log sum exp(scale s_i)``,
        their mean, sum or maximum, or ``sum_i softmax(scale s)_i s_i``. LSE and sum grow with the
        number of queries (LSE by log(L)/scale for equal scores); that is the paper's formula.
    scale : float
        The scaling factor of LSE and softmax pooling (the paper's lambda), positive.
    pairs : two (P,) int64 tensors, optional
        Images and captions, by row, of which alone the similarity is wanted; None: of all.

    Returns
    -------
    (B1, B2) float
        Rows are images, columns captions; (P,) with `pairs`. Half-precision input is computed and
        returned in float32.

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
    return _similarity(None, regions, words, region_lengths, word_lengths,
                       codebook, pooling, scale, pairs)


def soft_coding(regions, words, *, region_lengths=None, word_lengths=None, codebook="visual",
                pooling="lse", scale=10.0, temperature, pairs=None):
    """Similarity of every image and caption by soft assignment coding, i.e. cross-attention
    (CHAN Eq. 1 to 4).

    A query is compared with the mixture of all codewords that it attends to,
    ``w_j = softmax_j(cos(t, v_j) / temperature)`` and ``s(t, V) = cos(t, sum_j w_j v_j)`` with
    codewords of length 1. As the temperature goes to 0 this becomes `hard_coding`.

    Parameters
    ----------
    regions, words, region_lengths, word_lengths, codebook, pooling, scale, pairs
        As for `hard_coding`.
    temperature : float
        The smoothing parameter of Eq. 4 (the paper's tau), positive.

    Returns
    -------
    (B1, B2) float
        Rows are images, columns captions; (P,) with `pairs`.

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
        raise ValueError(f"temperature must be positive, not {temperature}; "
                         "for the limit 0 use hard_coding")
    return _similarity(temperature, regions, words, region_lengths, word_lengths,
                       codebook, pooling, scale, pairs)


def _similarity(temperature, regions, words, region_lengths, word_lengths, codebook, pooling,
                scale, pairs):
    """Check and pack, then code (hard where temperature is None) and pool in blocks; (B1, B2)."""
    if codebook not in CODEBOOKS:
        raise ValueError(f"unknown codebook {codebook!r}; known: {', '.join(CODEBOOKS)}")
    if pooling not in POOLINGS:
        raise ValueError(f"unknown pooling {pooling!r}; known: {', '.join(POOLINGS)}")
    if not 0 < scale < math.inf:
        raise ValueError(f"scale must be positive and finite, not {scale}")
    _check_vectors(regions, words)
    real_regions = _real(region_lengths, regions, "region_lengths")
    real_words = _real(word_lengths, words, "word_lengths")

    dtype = torch.promote_types(torch.float32, torch.promote_types(regions.dtype, words.dtype))
    regions, words = regions.to(dtype), words.to(dtype)

    # Queries are packed, so padded ones cost nothing; codebooks stay padded, with a mask.
    if codebook == "visual":
        queries, real_queries, codebooks, real_codewords = words, real_words, regions, real_regions
    else:
        queries, real_queries, codebooks, real_codewords = regions, real_regions, words, real_words
    if real_codewords is not None:
        codebooks = codebooks.masked_fill(~real_codewords[..., None], 0)  # before any arithmetic
    codebooks = _unit(codebooks)
    if pairs is not None:
        own, other = pairs[::-1] if codebook == "visual" else pairs
        return _of_pairs(queries[own], codebooks[other], _at(real_queries, own),
                         _at(real_codewords, other), temperature, pooling, scale)
    gram = None if temperature is None else codebooks @ codebooks.mT          # (B, C, C)

    codes_per_query = codebooks.element_size() * codebooks.shape[1]           # bytes, one codebook
    wide = max(1, BLOCK_BYTES // (MIN_ROWS * codes_per_query))                # codebooks at a time
    tall = max(1, BLOCK_BYTES // (queries.shape[1] * codes_per_query * min(wide, len(codebooks))))
    everything = queries[..., 0].numel() * codes_per_query * len(codebooks)
    repeat = everything > KEPT_BYTES and torch.is_grad_enabled()

    rows = []
    for top in range(0, len(queries), tall):
        block = queries[top:top + tall]
        real = None if real_queries is None else real_queries[top:top + tall]
        packed = _unit(block.flatten(0, 1) if real is None else block[real])
        row = []
        for left in range(0, len(codebooks), wide):
            part = slice(left, left + wide)
            valid = _at(real_codewords, part)
            if temperature is None:
                scores = _nearest(_cosines(packed, codebooks[part]), valid)
            elif repeat:
                scores = checkpoint(_mixed, packed, codebooks[part], valid, gram[part],
                                    temperature, use_reentrant=False)
            else:
                scores = _mixed(packed, codebooks[part], valid, gram[part], temperature)
            row.append(_pool(_by_set(scores, real, len(block)), real, pooling, scale))
        rows.append(torch.cat(row, dim=1))
    result = torch.cat(rows)
    return result.T if codebook == "visual" else result


def _of_pairs(queries, codebooks, real, valid, temperature, pooling, scale):
    """Similarity of each set of queries `(P, L, d)` and the unit codewords `(P, C, d)` beside it.

    real (P, L) and valid (P, C) bool or None -> (P,). Nothing is packed: pairs are few.
    """
    if real is not None:
        queries = queries.masked_fill(~real[..., None], 0)
    cosines = (_unit(queries) @ codebooks.mT).transpose(0, 1)                   # (L, P, C)
    if temperature is None:
        scores = _nearest(cosines, valid).T
    else:
        scores = _attended(cosines, valid, codebooks @ codebooks.mT, temperature).T
    if real is not None:
        scores = scores.masked_fill(~real, -math.inf)
    return _pool(scores[..., None], real, pooling, scale).squeeze(1)


def _at(mask, which):
    """Rows of a mask; None stays None, all real."""
    return None if mask is None else mask[which]


def _check_vectors(regions, words):
    """Both are (sets, fragments, d) float tensors of the same d, with nothing empty."""
    for name, x, shape in (("regions", regions, "(B1, K, d)"), ("words", words, "(B2, L, d)")):
        if x.ndim != 3:
            raise ValueError(f"{name} must be {shape}, not of shape {tuple(x.shape)}")
        if x.numel() == 0:
            raise ValueError(f"{name} must be {shape} with nothing empty, not {tuple(x.shape)}")
        if not x.is_floating_point():
            raise ValueError(f"{name} must be floating point, not {x.dtype}")
    if regions.shape[2] != words.shape[2]:
        raise ValueError(f"regions have d = {regions.shape[2]} but words d = {words.shape[2]}; "
                         "project both into one space first")


def _real(lengths, fragments, name):
    """Mask of the real fragments, (sets, fragments) bool; None when all are real."""
    if lengths is None:
        return None
    sets, longest, _ = fragments.shape
    lengths = torch.as_tensor(lengths, device=fragments.device)
    if lengths.shape != (sets,) or lengths.is_floating_point():
        raise ValueError(f"{name} must be {sets} integers, one a row, "
                         f"not {lengths.dtype} of shape {tuple(lengths.shape)}")
    wrong = (lengths < 1) | (lengths > longest)
    if wrong.any():
        row = int(wrong.nonzero()[0])
        raise ValueError(f"{name}[{row}] is {int(lengths[row])}; it must be within 1..{longest} "
                         "(drop rows without any fragment)")
    if (lengths == longest).all():
        return None
    return torch.arange(longest, device=fragments.device) < lengths[:, None]


def _unit(x):
    """Vectors of length 1 along the last axis; a zero vector stays zero.

    A zero vector is divided by 1, not by a tiny number: its gradient stays of ordinary size.
    """
    norm = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
    return x / norm.masked_fill(norm < 1e-12, 1)


def _cosines(queries, codebooks):
    """s_ij = cos(t_i, v_j) of unit vectors; (Q, B, C)."""
    return (queries @ codebooks.flatten(0, 1).T).view(len(queries), *codebooks.shape[:2])


def _without_padding(scores, valid):
    """-inf where a codeword is padding: it can win no maximum and gets no weight in a softmax."""
    return scores if valid is None else scores.masked_fill(~valid, -math.inf)


def _nearest(scores, valid):
    """Score of the best codeword, s_ik = max_j s_ij (CHAN Eq. 5 and 6); (Q, B, C) -> (Q, B).

    `max` over an axis remembers where the maximum was, so its gradient is a scatter; autograd
    keeps those indices and not the (Q, B, C) similarities.
    """
    scores = _without_padding(scores, valid)
    if not scores.requires_grad:
        return scores.amax(dim=2)  # without the indices, several times faster
    return scores.max(dim=2).values


def _mixed(queries, codebooks, valid, gram, temperature):
    """`_attended` of queries (Q, d) and codebooks (B, C, d): what is computed once more; (Q, B)."""
    return _attended(_cosines(queries, codebooks), valid, gram, temperature)


def _attended(scores, valid, gram, temperature):
    """Cosine to the attended mixture of codewords (CHAN Eq. 1, 2 and 4); (Q, B, C) -> (Q, B).

    The mixture c = sum_j w_j v_j itself, d numbers for each query and codebook, is never built:
    t.c = sum_j w_j s_j, and |c|^2 = w' G w with the codebook's Gram matrix G = V V', (B, C, C).
    """
    weights = _without_padding(scores / temperature, valid).softmax(dim=2)      # Eq. 4
    along = (weights * scores).sum(dim=2)                                       # t . c
    squared = ((weights.transpose(0, 1) @ gram).transpose(0, 1) * weights).sum(dim=2)   # |c|^2
    # Codewords that cancel leave only rounding noise in |c|^2 (it may even be negative).
    return along / squared.clamp(min=torch.finfo(squared.dtype).eps).sqrt()     # Eq. 1 and 2


def _by_set(scores, real, sets):
    """Scores of packed queries (Q, B) back in their sets, (sets, L, B); padding is -inf."""
    if real is None:
        return scores.view(sets, -1, scores.shape[1])
    padded = scores.new_full((*real.shape, scores.shape[1]), -math.inf)
    padded[real] = scores
    return padded


def _pool(scores, real, pooling, scale):
    """One number from the scores s_i of a set's queries (CHAN Eq. 3 and Table 3).

    scores (sets, L, B) with -inf where real (sets, L) is False -> (sets, B).
    """
    if pooling == "lse":
        return torch.logsumexp(scale * scores, dim=1) / scale
    if pooling == "max":
        return scores.max(dim=1).values
    known = scores if real is None else scores.masked_fill(~real[..., None], 0)
    if pooling == "softmax":
        return ((scale * scores).softmax(dim=1) * known).sum(dim=1)
    total = known.sum(dim=1)
    if pooling == "sum":
        return total
    return total / (scores.shape[1] if real is None else real.sum(dim=1, keepdim=True))
