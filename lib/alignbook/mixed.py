"""The recalls of float32 at the price of half-precision products.

Hard coding is scored with vectors rounded to bfloat16. How far such a score can be from float32's
has a bound, and only where a rank within 10 hangs on less than that a pair is scored once more in
float32 (`sharpen`): on trained models one pair in a thousand.
"""

import math

import torch
from torch.nn import functional as F

from alignbook import kernels, progress
from alignbook.kernels import Packed
from alignbook.retrieval import KS, ROWS
from alignbook.similarity import pool

POOLINGS = ("lse", "mean", "max")  # those through which an error doesn't grow
PAIR_BYTES = 32 * 2**20  # regions of the pairs that are scored once more at a time


def applies(config) -> bool:
    """Whether an arm asks for it and there is a bound: not for attention, sum and softmax pooling."""
    asked = getattr(config, "evaluation", "float32") == "mixed"  # the rivals have no choice
    return asked and config.coding == "hard" and config.pooling in POOLINGS


def rounded(sets: Packed) -> tuple[Packed, torch.Tensor]:
    """The vectors at length 1 in bfloat16, and how far rounding moved each set's most, `(B,)`."""
    unit = F.normalize(sets.vectors, dim=-1)
    half = unit.bfloat16()
    moved = (unit - half.float()).norm(dim=-1)[:, None]
    each = torch.arange(len(moved), device=moved.device)
    return Packed(half, sets.offsets), F.embedding_bag(
        each, moved, sets.offsets[:-1], mode="max"
    ).squeeze(1)


def similarity(regions: Packed, words: Packed, config) -> tuple[torch.Tensor, float]:
    """CHAN's similarity by products of bfloat16, `(B1, B2) float32`, and what float32's can be away
    besides the rounding of the vectors: see `bound`.
    """
    visual = config.codebook == "visual"
    queries, codebooks = (words, regions) if visual else (regions, words)
    coded = kernels.grouped_max(queries.vectors, *codebooks)
    scores = pool(coded, queries.offsets, config.pooling, config.scale)
    largest = max(float(coded.max()), -float(coded.min()), 2**-20)
    width = queries.vectors.shape[1]
    rest = 2 ** math.ceil(math.log2(largest)) * 2**-9 + 2 * width * 2**-23 + 2**-20
    return scores.T if visual else scores, rest


def bound(of_regions, of_words, rest):
    """How far a score of `similarity` can be from that of float32, `(B1, B2)`.

    With t = t̂ + δ and v = v̂ + ε the rounded vectors leave |t·v − t̂·v̂| ≤ |δ||v̂| + |t||ε| (Cauchy and
    Schwarz), at most |δ| (1 + |ε|) + |ε|. `rest` is what else there is: a sum of d products in
    float32 is off by d 2⁻²³ at most, and so is float32's own; rounding to bfloat16 moves a score by
    half a unit in the last place, 2⁻⁹ of the power of two that no score exceeds. The maximum, the
    mean and a LogSumExp divided by λ move by no more than the scores they are made of.
    """
    return of_regions[:, None] + of_words * (1 + of_regions[:, None]) + rest


def sharpen(scores, slack, exact, captions_per_image=5, folds=1) -> int:
    """Make approximate scores as good as exact ones for every recall of `retrieval.evaluate`, in place.

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
    captions_per_image, folds : as for `retrieval.evaluate`, whose recalls with these folds, or with one, are
        then those of exact scores under every rule for ties; ranks beyond 10 are not.

    Returns
    -------
    int : how many pairs were scored exactly.
    """
    n, each = len(scores), captions_per_image
    captions = torch.arange(n * each, device=scores.device)
    owner = captions // each
    scores[owner, captions] = exact(owner, captions)
    matching = scores[owner, captions]
    best = matching.view(n, each).amax(1)
    fold = torch.arange(n, device=scores.device) * folds // n

    def blocks():
        for start in range(0, n, ROWS):
            rows = slice(start, min(start + ROWS, n))
            yield rows, scores[rows], slack(rows.start, rows.stop)

    ahead_of_image, ahead_of_caption = torch.zeros_like(best), torch.zeros_like(matching)
    for rows, block, far in blocks():
        rivals = fold[rows, None] == fold[owner]
        ahead_of_image[rows] = ((block - far > best[rows, None]) & rivals).sum(1).to(best.dtype)
        ahead_of_caption += ((block - far > matching) & rivals).sum(0)
    near = []
    for rows, block, far in blocks():
        open_image = ((block - best[rows, None]).abs() <= far) & (ahead_of_image[rows, None] < KS[-1])
        open_caption = ((block - matching).abs() <= far) & (ahead_of_caption < KS[-1])
        own = owner == torch.arange(rows.start, rows.stop, device=scores.device)[:, None]
        found = ((open_image | open_caption) & ~own).nonzero()
        near.append(found + torch.tensor([rows.start, 0], device=scores.device))
    images, columns = torch.cat(near).T
    scores[images, columns] = exact(images, columns)
    return len(captions) + len(images)


@torch.inference_mode()
def evaluate(model, images, parts, captions_per_image: int, label: str):
    """What `chan.evaluate` returns, with the same recalls, of regions `(N, K, d)` and of `parts`, an
    iterable of words `(n, L, d)` and lengths `(n,)`. The words are kept, packed, in float32.
    """
    c, done = model.config, 0
    sets = kernels.pack(images, torch.full((len(images),), images.shape[1], device=images.device))
    regions, of_regions = rounded(sets)
    total = captions_per_image * len(images)
    scores = images.new_empty(len(images), total, dtype=torch.float32)
    of_words, rest, kept = torch.empty_like(scores[0]), torch.empty_like(scores[0]), []
    for words, lengths in parts:
        part = slice(done, done + len(words))
        kept.append(kernels.pack(words, lengths.to(words.device)))
        half, of_words[part] = rounded(kept[-1])
        scores[:, part], rest[part] = similarity(regions, half, c)
        done = part.stop
        progress.show(label, done, total)
    ends = torch.cat([each.offsets.diff() for each in kept]).cumsum(0)
    words = Packed(torch.cat([each.vectors for each in kept]), F.pad(ends, (1, 0)))
    factor = 1 if c.divided or c.pooling != "lse" else c.scale  # of the released code's scores
    scores *= factor
    at_once = max(1, PAIR_BYTES // (images[0].numel() * images.element_size()))

    def exact(rows, columns):
        pairs = zip(rows.split(at_once), columns.split(at_once))
        return torch.cat([model.similarity(images, words, pairs=each) for each in pairs])

    def slack(start, stop):
        return factor * bound(of_regions[start:stop], of_words, rest)

    folds = 5 if len(images) % 5 == 0 else 1
    sharpen(scores, slack, exact, captions_per_image, folds)
    return scores
