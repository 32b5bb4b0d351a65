"""A caption against pictures: scores and ranks, and what each of its words adds."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
from torch.nn import functional as F

from alignbook.core.similarity import pool, unit
from alignbook.core.vocabulary import tokenize
from alignbook.explorer.stored_models import Gallery
from alignbook.explorer.wording import LONGEST
from alignbook.papers.chan import attention_maps
from alignbook.papers.chan.model import encode_captions

SIDE = 64  # pixels of a map, either way, or a little less: see `side`


@torch.inference_mode()
def encode(gallery: Gallery, words) -> torch.Tensor:
    """What the model makes of a caption: `(L, d)`, or `(d,)` where it is one vector."""
    ((found, _),) = encode_captions(gallery.model, gallery.vocabulary, [" ".join(words)])
    return found[0]


@torch.inference_mode()
def image_scores(gallery: Gallery, words: torch.Tensor) -> np.ndarray:
    """Scores of every picture for an encoded caption, `(N,)`: the model's own similarity.

    Written out with the visual codebook: the gallery's regions are of length 1 already, and their
    products are kept, so that one caption takes a quarter of the kernels' time or less.
    """
    c, pictures = gallery.config, gallery.images
    if getattr(c, "codebook", "") != "visual":
        return gallery.model.similarity(pictures, words[None])[:, 0].numpy()
    scores = pictures @ unit(words).mT  # (N, K, L)
    if c.coding == "hard":
        best = scores.amax(1)
    else:
        weights = (scores / c.temperature).softmax(1)
        length = (_products(gallery) @ weights * weights).sum(1).sqrt()
        best = (weights * scores).sum(1) / length
    whole = torch.tensor([0, len(words)])
    return _in_units(c, pool(best.mT, whole, c.pooling, c.scale))[0].numpy()


@lru_cache(maxsize=8)
def _products(gallery: Gallery) -> torch.Tensor:
    """Products of each picture's regions, `(N, K, K)`: 52 MB for 10,000 with 36 regions."""
    return gallery.images @ gallery.images.mT


@torch.inference_mode()
def caption_scores(gallery: Gallery, image: int) -> np.ndarray:
    """Scores of every caption of the split for a picture, `(5·N,)`: the model's own similarity.
    `(0,)` where there are no captions.

    Written out with the visual codebook: for one picture plain products are several times as fast
    as the kernels for many.
    """
    c, words = gallery.config, gallery.words
    if not gallery.each:
        return np.zeros(0, np.float32)
    if getattr(c, "codebook", "") != "visual":
        return gallery.model.similarity(gallery.images[[image]], words)[0].numpy()
    regions = unit(gallery.images[image])
    scores = unit(words.vectors) @ regions.mT  # (words, K)
    if c.coding == "hard":
        best = scores.amax(1, keepdim=True)
    else:  # the cosine to what is attended to: w·s / √(w·Gw), G of the regions among themselves
        weights = (scores / c.temperature).softmax(1)
        length = (weights @ (regions @ regions.mT) * weights).sum(1, keepdim=True).sqrt()
        best = (weights * scores).sum(1, keepdim=True) / length
    return _in_units(c, pool(best, words.offsets, c.pooling, c.scale))[:, 0].numpy()


def _in_units(config, scores: torch.Tensor) -> torch.Tensor:
    """LogSumExp without the 1/λ of Eq. 8, where the model leaves it out."""
    return scores if config.divided or config.pooling != "lse" else scores * config.scale


@lru_cache(maxsize=32)
def _against_all(gallery: Gallery, words: tuple) -> tuple:
    """A caption encoded, and its `image_scores`; kept, as pictures and exchanges take turns."""
    vectors = encode(gallery, words)
    return vectors, image_scores(gallery, vectors)


def rank(scores: np.ndarray, own: np.ndarray) -> int:
    """Rank of the best of one's own, from 1; a tie with another counts against it.

    As `retrieval.ranks`: scores `(M,)`, own `(M,) bool`.

    >>> rank(np.array([0.9, 0.5, 0.5]), np.array([False, True, False]))
    3
    """
    return 1 + int((scores[~own] >= scores[own].max()).sum())


def best_first(scores: np.ndarray, own: np.ndarray, k: int) -> np.ndarray:
    """The k best, one's own last in a tie, so that the first of one's own stands at its `rank`."""
    return np.lexsort((own, -scores))[:k]


def contributions(scores: torch.Tensor, pooling: str = "lse", scale: float = 10.0) -> torch.Tensor:
    """What each query adds to a pooled score: `(Q,)` → `(Q,)`, whose sum is the score.

    For a mean and a sum these are the terms; in max pooling the largest has all. LogSumExp has no
    terms: each query gets the share softmax(λ s)_i, which is how fast the score grows with s_i, and
    softmax pooling is the sum of such shares times s_i.

    >>> contributions(torch.tensor([0.2, 0.6]), "mean")
    tensor([0.1000, 0.3000])
    """
    if pooling in ("mean", "sum"):
        return scores / (len(scores) if pooling == "mean" else 1)
    if pooling == "max":
        return scores * F.one_hot(scores.argmax(), len(scores))
    shares = (scale * scores).softmax(0)
    if pooling == "softmax":
        return shares * scores
    whole = torch.tensor([0, len(scores)])
    return shares * pool(scores[:, None], whole, pooling, scale)[0, 0]


class Pair(NamedTuple):
    """A caption against a picture. Where both are one vector, all but the score is None.

    `score` float; `contributions` `(L,)`, which add up to it; `scores` `(L,)` of the words, NaN of
    a word that no region chose; `weights` `(L, K)`, ω; `best` `(L,)` the word's best region.
    """

    score: float
    contributions: np.ndarray | None = None
    scores: np.ndarray | None = None
    weights: np.ndarray | None = None
    best: np.ndarray | None = None


@torch.inference_mode()
def pair(config, regions: torch.Tensor, words: torch.Tensor) -> Pair:
    """A caption's words against a picture's regions, step by step (CHAN Eq. 1 to 6 and 8).

    With the visual codebook a word's weights are its attention ω. With the textual one each region
    chooses a word: a word's weights are alike on those that chose it, its score is their mean.

    Parameters
    ----------
    config : CHAN's. regions : (K, d). words : (L, d).
    """
    visual = config.codebook == "visual"
    queries, codewords = (words, regions) if visual else (regions, words)
    omega = attention_maps.assignments(config, codewords, queries)
    cosines = unit(queries) @ unit(codewords).mT
    scores = (omega * cosines).sum(1)
    if config.coding != "hard":
        scores = (unit(queries) * unit(omega @ unit(codewords))).sum(1)
    parts = _in_units(config, contributions(scores, config.pooling, config.scale))
    weights, best = omega, omega.argmax(1)
    if not visual:
        chose = omega.T  # (L, K): the regions for which a word is the best
        parts, best = chose @ parts, (chose * (2 + scores)).argmax(1)
        scores = (chose * scores).sum(1) / chose.sum(1)
        weights = chose / chose.sum(1, keepdim=True).clamp(min=1)
    found = parts, scores, weights, best
    return Pair(float(parts.sum()), *(each.numpy() for each in found))


def pair_of(gallery: Gallery, image: int, words: torch.Tensor) -> Pair:
    """`pair` of an encoded caption and a picture of a gallery."""
    if gallery.images.ndim == 2:
        return Pair(float(gallery.images[image] @ words))
    return pair(gallery.config, gallery.images[image], words)


def side(gallery: Gallery) -> int:
    """Pixels of a map, either way: so many that each cell of the region map has whole pixels.

    The most up to `SIDE`, or one a cell; `SIDE` where no region map is known.
    """
    cells = gallery.cells
    return max(1, SIDE // cells) * cells if cells else SIDE


def maps(found: Pair, boxes: np.ndarray, side: int = SIDE) -> np.ndarray:
    """Attention at each pixel, a map a word `(L, side, side)` (`attention_maps.pixel_map`), 0 to 1.

    `boxes` `(K, 4)` are the picture's.
    """
    return np.stack([attention_maps.pixel_map(each, boxes, side) for each in found.weights])


class Look(NamedTuple):
    """What a method says of a caption and a picture: `pair`, word by word, and the picture's `rank`
    among all; `best` are the pictures that come first `(k,)`, `top` their scores.
    """

    pair: Pair
    image: int
    rank: int
    best: np.ndarray
    top: np.ndarray


def look(gallery: Gallery, image: int, words: list[str], k: int = 5) -> Look:
    """A caption against the whole gallery, and word by word against one picture.

    `image` −1 is the caption's best one. Ranks count from 1, ties against the picture.
    """
    vectors, scores = _against_all(gallery, tuple(words))
    if image < 0:
        image = int(scores.argmax())
    own = np.arange(len(scores)) == image
    best = best_first(scores, own, k)
    return Look(pair_of(gallery, image, vectors), image, rank(scores, own), best, scores[best])


def ranked_captions(gallery: Gallery, image: int, k: int = 8) -> pd.DataFrame:
    """The k best captions of a picture, with what each word adds to the score.

    Returns
    -------
    DataFrame: rank, caption (of the split), own, score, words, contributions (None where a caption
    is one vector). `attrs["rank"]` is that of the best caption of its own, as retrieval counts it.
    Without captions no line, and None.
    """
    scores = caption_scores(gallery, image)
    own = np.arange(len(scores)) // max(1, gallery.each) == image
    lines = []
    for place, row in enumerate(best_first(scores, own, k), 1):
        said = tokenize(gallery.captions(row // gallery.each)[row % gallery.each])[:LONGEST]
        parts = None
        if gallery.images.ndim > 2:
            vectors = gallery.words.vectors[slice(*gallery.words.offsets[row : row + 2])]
            parts = pair_of(gallery, image, vectors).contributions
        lines.append((place, int(row), bool(own[row]), float(scores[row]), said, parts))
    table = pd.DataFrame(
        lines, columns=["rank", "caption", "own", "score", "words", "contributions"]
    )
    table.attrs["rank"] = rank(scores, own) if gallery.each else None
    return table
