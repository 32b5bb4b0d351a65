"""The usual ways to compute what the kernels compute, written anew: what ours are measured against.

All take vectors of length 1: regions `(B1, K, d)` of images that have the same number of them,
words packed `(W, d)` or padded `(B2, L, d)` with their lengths `(B2,)`.
"""

import logging
import math
import os
import shutil

import torch

WORDS = 512  # of a block; of 32 to 1,024 the best, by little, for 256 images of 36 regions
SHARD = 64  # images and captions of a shard


def block_maxima(words, regions):
    """Maxima over the regions of every image: `(W, d)` and `(B1, K, d)` → `(W, B1)`."""
    images, each, _ = regions.shape
    return (words @ regions.flatten(0, 1).T).view(len(words), images, each).amax(2)


def blocked(words, regions, maxima_of=block_maxima):
    """The product of a block of words with all regions, then its maxima: → `(W, B1)`."""
    return torch.cat([maxima_of(block, regions) for block in words.split(WORDS)])


def compiled(words, regions):
    """`blocked`, compiled."""
    return blocked(words, regions, _compiled())


def einsum(words, lengths, regions):
    """All products of padded words at once, then the maxima; those of real words `(W, B1)`."""
    best = torch.einsum("cld,bkd->clbk", words, regions).amax(3)
    return best[_real(words, lengths)]


def padded_shards(regions, words, lengths, scale):
    """As released evaluations have it: shards of images by shards of captions, padded to a shard's
    longest, -1 in the place of what is padding; maxima, then LogSumExp: → `(B1, B2)`.
    """
    columns = []
    for shard, n in zip(words.split(SHARD), lengths.split(SHARD)):
        shard = shard[:, : int(n.max())]
        padding = ~_real(shard, n)[:, None]  # (c, 1, L)
        rows = []
        for images in regions.split(SHARD):
            scores = torch.einsum("bkd,cld->bckl", images, shard)
            best = scores.masked_fill(padding[None], -1).amax(2)  # (b, c, L)
            hidden = best.masked_fill(best == -1, -math.inf)
            rows.append(torch.logsumexp(scale * hidden, dim=2) / scale)
        columns.append(torch.cat(rows))
    return torch.cat(columns, dim=1)


def caption_loop(regions, words, lengths, temperature, scale):
    """The steps that we take for those of SCAN's code [A], with softmax alone to normalise: caption
    by caption a copy of it for every image, the attended vectors of all images, cosines and
    LogSumExp: → `(B1, B2)`.

    How lean it can be is another row's matter: `rivals.attended_similarity`.
    """
    columns = []
    for caption, n in zip(words, lengths.tolist()):
        own = caption[:n].repeat(len(regions), 1, 1)  # (B1, L, d)
        scores = torch.bmm(regions, own.mT).mT.contiguous()  # (B1, L, K)
        weights = (scores / temperature).softmax(2)
        attended = torch.bmm(regions.mT, weights.mT.contiguous()).mT  # (B1, L, d)
        norms = own.norm(dim=2) * attended.norm(dim=2)
        cosines = (own * attended).sum(2) / norms.clamp(min=1e-8)
        columns.append(torch.logsumexp(scale * cosines, dim=1) / scale)
    return torch.stack(columns, dim=1)


def no_compiler() -> str:
    """Why nothing can be compiled for the CPU; empty where it can."""
    names = os.environ.get("CXX"), "g++", "clang++", "c++"
    return "" if any(name and shutil.which(name) for name in names) else "there is no C++ compiler"


def _compiled():
    if not hasattr(_compiled, "function"):
        logging.getLogger("torch.utils.cpp_extension").setLevel(logging.ERROR)  # no GPU is no news
        _compiled.function = torch.compile(block_maxima, dynamic=True)
    return _compiled.function


def _real(words, lengths):
    return torch.arange(words.shape[1], device=words.device) < lengths[:, None]
