"""Recall at 1, 5 and 10 in both directions, with ties counted openly.

A query's rank is one more than the number of negatives ahead of its best correct item, found by
counting scores above it, never by sorting. Negatives of exactly the correct item's score are a
tie; with half-precision scores there are hundreds. Three rules are reported:

- pessimistic (the default): every tied negative comes first;
- optimistic: none does;
- expected: all orders within the tie are equally likely.
"""

from dataclasses import dataclass

import numpy as np

KS = (1, 5, 10)
ROWS = 128  # rows of a block: a few MB for 25,000 columns, and at most 255 for the byte counters


@dataclass(frozen=True)
class Recalls:
    """Recalls in percent by K, for image to text (i2t) and text to image (t2i)."""

    i2t: dict
    t2i: dict

    @property
    def rsum(self):
        """The sum of the six recalls, at most 600."""
        return sum(self.i2t.values()) + sum(self.t2i.values())


@dataclass(frozen=True)
class Retrieval(Recalls):
    """Pessimistic recalls (.i2t, .t2i, .rsum), median ranks, and the recalls by the other rules."""

    median_rank_i2t: float
    median_rank_t2i: float
    optimistic: Recalls
    expected: Recalls
    n_images: int
    n_captions: int

    def named(self, split):
        """The six recalls and RSUM by name, as runs keep them: {"test i2t R@1": 12.3, ...}."""
        found = {f"{split} i2t R@{k}": value for k, value in self.i2t.items()}
        found |= {f"{split} t2i R@{k}": value for k, value in self.t2i.items()}
        return found | {f"{split} RSUM": self.rsum}


@dataclass(frozen=True)
class _Counts:
    """For each query: negatives above its best correct item, negatives tied with it, and how many
    correct items share that best score; each (queries,) int64."""

    above: np.ndarray
    tied: np.ndarray
    correct: np.ndarray


def evaluate(similarity, captions_per_image=5, folds=1):
    """Image-to-text and text-to-image recall of a similarity matrix.

    Image to text asks for any of the image's own captions; these never compete with each other.

    Parameters
    ----------
    similarity : (N, captions_per_image * N) float array or tensor
        Rows images, columns captions; image i owns the columns from captions_per_image * i on.
    captions_per_image : int
    folds : int
        Cut the images into this many consecutive blocks, evaluate each among its own captions
        only, and average the recalls (COCO 1K: 5 folds of 5,000 images). Median ranks are over
        the queries of all folds.

    Returns
    -------
    Retrieval

    Raises
    ------
    ValueError
        For a NaN or an infinity anywhere (a NaN would compare as "not above" and so look like a
        perfect score), and for shapes that do not fit.

    Examples
    --------
    >>> similarity = np.array([[0.9, 0.1, 0.3, 0.9],       # image 0 owns columns 0 and 1
    ...                        [0.2, 0.8, 0.4, 0.5]])      # image 1 owns columns 2 and 3
    >>> result = evaluate(similarity, captions_per_image=2)
    >>> result.i2t[1], result.t2i[1]       # a tie at 0.9 and column 1's 0.8; columns 0 and 2
    (0.0, 50.0)
    >>> result.optimistic.i2t[1], result.expected.i2t[1]
    (50.0, 25.0)
    """
    own = _own_scores(similarity, captions_per_image, folds)
    size = len(own) // folds
    counts = [_count(similarity, own, start, start + size) for start in range(0, len(own), size)]

    def recalls(rule):
        directions = (
            {k: float(np.mean([100 * rule(fold[side], k).mean() for fold in counts])) for k in KS}
            for side in (0, 1)
        )
        return Recalls(*directions)

    pessimistic = recalls(lambda c, k: c.above + c.tied < k)
    medians = [
        float(np.median(np.concatenate([1 + f[side].above + f[side].tied for f in counts])))
        for side in (0, 1)
    ]
    return Retrieval(
        pessimistic.i2t,
        pessimistic.t2i,
        *medians,
        optimistic=recalls(lambda c, k: c.above < k),
        expected=recalls(_chance_within),
        n_images=len(own),
        n_captions=own.size,
    )


def ranks(similarity, captions_per_image=5):
    """Pessimistic ranks, from 1: of each image's best caption (N,) and of each caption's image.

    Examples
    --------
    >>> ranks(np.array([[0.9, 0.5], [0.7, 0.5]]), captions_per_image=1)
    (array([1, 2]), array([1, 2]))
    """
    own = _own_scores(similarity, captions_per_image, 1)
    images, captions = _count(similarity, own, 0, len(own))
    return 1 + images.above + images.tied, 1 + captions.above + captions.tied


def _own_scores(similarity, captions_per_image, folds):
    """Check everything; the scores of the matching pairs, (N, captions_per_image)."""
    if captions_per_image < 1 or folds < 1:
        raise ValueError(
            f"captions_per_image and folds must be at least 1, not {captions_per_image} and {folds}"
        )
    shape = tuple(np.shape(similarity))
    if len(shape) != 2 or 0 in shape or shape[1] != captions_per_image * shape[0]:
        raise ValueError(
            f"similarity must be (N, {captions_per_image} * N), rows images and "
            f"columns captions, {captions_per_image} an image; it is {shape}"
        )
    if shape[0] % folds:
        raise ValueError(f"{shape[0]} images do not divide into {folds} folds")

    own = []
    wrong, first = 0, None
    for start in range(0, shape[0], ROWS):
        block = _block(similarity, start, min(start + ROWS, shape[0]), 0, shape[1])
        finite = np.isfinite(block)
        if not finite.all():
            row, column = np.argwhere(~finite)[0]
            first = first or (start + row, column, block[row, column])
            wrong += int((~finite).sum())
        i = np.arange(len(block))[:, None]
        own.append(block[i, (start + i) * captions_per_image + np.arange(captions_per_image)])
    if wrong:
        raise ValueError(
            f"similarity[{first[0]}, {first[1]}] is {first[2]} and {wrong} of its "
            "values are not finite; no recall is computed from such scores"
        )
    return np.concatenate(own)


def _count(similarity, own, start, stop):
    """The counts of images and of captions, for the images start..stop and their captions only."""
    captions_per_image = own.shape[1]
    best = own[start:stop].max(axis=1)
    matching = own[start:stop].ravel()
    above_image, equal_image = np.empty((2, stop - start), dtype=np.int64)
    above_caption, equal_caption = np.zeros((2, len(matching)), dtype=np.int64)
    for row in range(start, stop, ROWS):
        end = min(row + ROWS, stop)
        block = _block(similarity, row, end, start * captions_per_image, stop * captions_per_image)
        rows = slice(row - start, end - start)
        above_image[rows] = np.count_nonzero(block > best[rows, None], axis=1)
        equal_image[rows] = np.count_nonzero(block == best[rows, None], axis=1)
        # Down the columns: whole rows of bytes are added, which the processor does many at a time.
        above_caption += (block > matching).view(np.uint8).sum(axis=0, dtype=np.uint8)
        equal_caption += (block == matching).view(np.uint8).sum(axis=0, dtype=np.uint8)
    # Nothing of an image's own is above its best, but what equals the best includes its own.
    own_equal = (own[start:stop] == best[:, None]).sum(axis=1)
    return (
        _Counts(above_image, equal_image - own_equal, own_equal),
        _Counts(above_caption, equal_caption - 1, np.ones_like(equal_caption)),
    )


def _chance_within(counts, k):
    """Probability of a rank within k when ties are in random order, (queries,) float.

    k - above places are left for the tie, which holds `tied` negatives and `correct` correct
    items. Correct items do not compete with each other, so the query fails exactly when the first
    k - above items of the tie are all negatives:
    prod_{t < k - above} (tied - t) / (tied + correct - t).
    """
    failure = np.ones(len(counts.above))
    for t in range(k):
        drawn = np.maximum(counts.tied - t, 0) / np.maximum(counts.tied + counts.correct - t, 1)
        failure *= np.where(t < k - counts.above, drawn, 1)
    return 1 - failure


def _block(similarity, top, bottom, left, right):
    """Part of the matrix as a NumPy array; half precision becomes float32, which is exact."""
    part = similarity[top:bottom, left:right]
    if hasattr(part, "detach"):  # a torch tensor, on any device
        part = part.detach()
        part = (part.float() if part.element_size() < 4 else part).cpu().numpy()
    part = np.asarray(part)
    if part.dtype.kind not in "fiu":
        raise ValueError(f"similarity must be real numbers, not {part.dtype}")
    return part.astype(np.float32) if part.dtype == np.float16 else part
