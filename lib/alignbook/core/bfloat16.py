"""The recalls of float32 at the price of half-precision products.

Hard coding is scored with vectors rounded to bfloat16. How far such a score can be from float32's
has a bound, and only where a rank within 10 hangs on less than that a pair is scored once more in
float32 (`sharpen`): on trained models one pair in a thousand. The recalls are those of float32 up
to its own rounding.
"""

import math

import torch
from torch.nn import functional as F

from alignbook.core import kernels
from alignbook.core.kernels import Packed
from alignbook.core.retrieval import KS, ROWS
from alignbook.core.similarity import blocks, coded_in_blocks, pool, unit
from alignbook.store import progress

POOLINGS = ("lse", "mean", "max")  # those through which an error doesn't grow
# Vectors of the pairs that are scored once more at a time: they stay near the processor.
PAIR_BYTES = 8 * 2**20
MOST = 0.02  # share of the pairs above which all are: a pair alone costs many times as much


def applies(config) -> bool:
    """Whether an arm asks for it and has a bound: not with attention, sum and softmax pooling."""
    asked = getattr(config, "evaluation", "float32") == "mixed"  # the rivals have no choice
    return asked and config.coding == "hard" and config.pooling in POOLINGS


def rounded(sets: Packed) -> tuple[Packed, torch.Tensor]:
    """The vectors at length 1 in bfloat16, and how far rounding moved each set's most, `(B,)`."""
    halves, moved = torch.zeros_like(sets.vectors, dtype=torch.bfloat16), []
    done = 0
    for vectors, offsets in blocks(sets):
        exact = unit(vectors)
        half = halves[done : done + len(exact)].copy_(exact)
        moved.append(pool((exact - half.float()).norm(dim=-1)[:, None], offsets, "max")[:, 0])
        done += len(exact)
    return Packed(halves, sets.offsets), torch.cat(moved)


def similarity(regions: Packed, words: Packed, config) -> tuple[torch.Tensor, float]:
    """CHAN's similarity by products of bfloat16, `(B1, B2) float32`, and how far float32's can be
    away besides the rounding of the vectors: see `bound`.
    """
    visual = config.codebook == "visual"
    queries, codebooks = (words, regions) if visual else (regions, words)
    largest = 0.0

    def code(vectors):
        nonlocal largest
        coded = kernels.grouped_max(vectors, *codebooks)
        largest = max(largest, float(coded.max()), -float(coded.min()))
        return coded

    scores = coded_in_blocks(queries, code, config.pooling, config.scale)
    width, longest = queries.vectors.shape[1], int(queries.offsets.diff().max())
    rest = (4 * width + 2 * longest * max(1, 1 / config.scale)) * 2**-23
    if kernels.choice(queries.vectors.device)[0] == "cpu":  # which rounds the maxima
        rest += 2.0 ** (math.frexp(largest)[1] - 9)
    return scores.T if visual else scores, rest


def bound(of_regions, of_words, rest):
    """How far a score of `similarity` can be from that of float32, `(B1, B2)`.

    With t = t̂ + δ and v = v̂ + ε the rounded vectors leave |t·v − t̂·v̂| ≤ |δ||v̂| + |t||ε| (Cauchy and
    Schwarz), at most |δ| (1 + |ε|) + |ε|. `rest` is what else there is. A sum of d products in
    float32 is off by d 2⁻²³ at most, twice that where a matrix unit cuts digits off, and so is
    float32's own; the sum of L queries' scores by L 2⁻²³, divided by λ in a LogSumExp. Where a
    maximum is rounded to bfloat16 it moves by half a unit in the last place, 2⁻⁹ of the power of two
    above the largest. The maximum, the mean and a LogSumExp divided by λ move by no more than the
    scores they are made of.
    """
    return of_regions[:, None] + of_words * (1 + of_regions[:, None]) + rest


def sharpen(scores, slack, exact, captions_per_image=5, folds=1) -> float:
    """Make approximate scores, in place, as good as exact ones for the recalls of
    `retrieval.evaluate`.

    A query whose item has K = 10 negatives surely ahead is lost whatever the rest are. Of the
    others, the negatives that may be on either side of the item are scored exactly, and all items.

    Parameters
    ----------
    scores : (N, captions_per_image * N) float tensor, as for `retrieval.evaluate`.
    slack : callable
        ``slack(start, stop)`` is how far the scores of some images may be from the exact ones,
        (stop - start, captions) or what broadcasts to it.
    exact : callable
        ``exact(images, captions)`` are the scores (P,) of single pairs, two (P,) int64 tensors.
    captions_per_image, folds
        As for `retrieval.evaluate`, whose recalls with these folds, or with one, are then those of
        exact scores under every rule for ties; ranks beyond 10 are not.

    Returns
    -------
    float : the share of the pairs that are near a rank which counts. Above `MOST` none of them was
        scored exactly: scoring everything so is quicker.
    """
    n, each = len(scores), captions_per_image
    captions = torch.arange(n * each, device=scores.device)
    owner = captions // each
    scores[owner, captions] = exact(owner, captions)
    matching = scores[owner, captions]
    best = matching.view(n, each).amax(1)
    fold = torch.arange(n, device=scores.device) * folds // n

    def blocks_of_rows():
        for start in range(0, n, ROWS):
            rows = slice(start, min(start + ROWS, n))
            yield rows, scores[rows], slack(rows.start, rows.stop)

    ahead_of_image, ahead_of_caption = torch.zeros_like(best), torch.zeros_like(matching)
    for rows, block, far in blocks_of_rows():
        rivals = fold[rows, None] == fold[owner]
        ahead_of_image[rows] = ((block - far > best[rows, None]) & rivals).sum(1).to(best.dtype)
        ahead_of_caption += ((block - far > matching) & rivals).sum(0)
    near, found = [], 0
    for rows, block, far in blocks_of_rows():
        open_image = ((block - best[rows, None]).abs() <= far) & (
            ahead_of_image[rows, None] < KS[-1]
        )
        open_caption = ((block - matching).abs() <= far) & (ahead_of_caption < KS[-1])
        own = owner == torch.arange(rows.start, rows.stop, device=scores.device)[:, None]
        here = (open_image | open_caption) & ~own
        found += int(here.sum())
        if found > MOST * scores.numel():
            return found / scores.numel()
        near.append(here.nonzero() + torch.tensor([rows.start, 0], device=scores.device))
    images, columns = torch.cat(near).T
    if found:
        scores[images, columns] = exact(images, columns)
    return found / scores.numel()


@torch.inference_mode()
def evaluate(model, images, parts, captions_per_image: int, label: str):
    """What `chan.evaluate` returns, with the same recalls, of regions `(N, K, d)` and of `parts`, an
    iterable of words `(n, L, d)` and lengths `(n,)`. All words are kept, packed, in float32.
    """
    c, done = model.config, 0
    sets = kernels.pack(images, torch.full((len(images),), images.shape[1], device=images.device))
    regions, of_regions = rounded(sets)
    total = captions_per_image * len(images)
    scores = images.new_full((len(images), total), torch.nan, dtype=torch.float32)
    of_words, rest, kept = torch.zeros_like(scores[0]), torch.zeros_like(scores[0]), []
    for words, lengths in parts:
        part = slice(done, done + len(words))
        kept.append(kernels.pack(words, lengths.to(words.device)))
        half, of_words[part] = rounded(kept[-1])
        scores[:, part], rest[part] = similarity(regions, half, c)
        done = part.stop
        progress.show(label, done, total)
    words = _joined(kept)
    factor = 1 if c.divided or c.pooling != "lse" else c.scale  # of the released code's scores
    scores *= factor
    longest = images.shape[1] + int(words.offsets.diff().max())
    at_once = max(1, PAIR_BYTES // (longest * images.shape[2] * images.element_size()))

    def exact(rows, columns):
        found = []
        for first in range(0, len(rows), at_once):
            pairs = rows[first : first + at_once], columns[first : first + at_once]
            found.append(model.similarity(images, words, pairs=pairs))
            progress.show(f"{label}, in float32", first + len(pairs[0]), len(rows))
        return torch.cat(found)

    def slack(start, stop):
        return factor * bound(of_regions[start:stop], of_words, rest)

    folds = 5 if len(images) % 5 == 0 else 1
    if sharpen(scores, slack, exact, captions_per_image, folds) > MOST:
        return model.similarity(images, words)
    return scores


def _joined(parts: list[Packed]) -> Packed:
    """All parts as one; each is let go as it is taken over, so that none is held twice for long."""
    sizes = torch.cat([each.offsets.diff() for each in parts])
    offsets = F.pad(sizes.cumsum(0), (1, 0))
    vectors, done = parts[0].vectors.new_zeros(int(offsets[-1]), parts[0].vectors.shape[1]), 0
    while parts:
        part = parts.pop(0).vectors
        vectors[done : done + len(part)] = part
        done += len(part)
    return Packed(vectors, offsets)
