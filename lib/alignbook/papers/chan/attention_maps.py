"""Where a word looks: the maps of CHAN's Figure 5 and, where things have gold boxes, numbers.

A word's attention ω goes to the regions of its caption's own picture. Boxes are x0, y0, x1, y1 as
fractions of the picture's side, from the upper left corner.
"""

import numpy as np
import pandas as pd
import torch
from scipy.special import entr
from torch.nn import functional as F

from alignbook.backbones import region_features
from alignbook.evidence.statistics import image_bootstrap, t_interval
from alignbook.papers.chan.model import encode_captions, encode_images, load
from alignbook.store import progress

MEASURES = {
    "mass": "attention inside, %",
    "centre": "centre inside, %",
    "hit": "IoU ≥ 0.5, %",
    "iou": "IoU × 100",
}
NAMED, BESIDE, ELSEWHERE = "the thing named", "another thing of the picture", "a box elsewhere"


def assignments(config, regions, words):
    """ω of each word over the regions of its picture, the visual codebook.

    Parameters
    ----------
    config : its `coding` is "hard" (CHAN Eq. 5: all on the region of largest cosine) or "soft"
        (Eq. 4: softmax of the cosines over `temperature`).
    regions : (..., K, d) float tensor. words : (..., L, d), of the same pictures.

    Returns
    -------
    (..., L, K) float tensor whose rows add up to 1.
    """
    cosines = F.normalize(words, dim=-1) @ F.normalize(regions, dim=-1).mT
    if config.coding == "hard":
        return F.one_hot(cosines.argmax(-1), cosines.shape[-1]).to(cosines.dtype)
    return (cosines / config.temperature).softmax(-1)


def pixel_map(weights, boxes, side: int) -> np.ndarray:
    """Attention at each pixel: the sum of the weights of all boxes it belongs to (CHAN §4.4).

    Weights `(K,)` and boxes `(K, 4)` → `(side, side) float`, row by row from above. A pixel cut by
    an edge counts with its share inside, so that the map's mean is the sum of weights times areas.

    Examples
    --------
    >>> pixel_map([0.75, 0.25], [(0, 0, 1, 1), (0.5, 0, 1, 0.5)], 2).tolist()
    [[0.75, 1.0], [0.75, 0.75]]
    """
    x0, y0, x1, y1 = np.asarray(boxes, float).T[..., None] * side  # each (K, 1)
    pixel = np.arange(side)
    across = np.clip(np.minimum(x1, pixel + 1) - np.maximum(x0, pixel), 0, 1)
    down = np.clip(np.minimum(y1, pixel + 1) - np.maximum(y0, pixel), 0, 1)
    return np.einsum("k,ky,kx->yx", np.asarray(weights, float), down, across)


def region_boxes(feature_run, rows, regions: int) -> np.ndarray:
    """Boxes of the first regions of some images, `(N, regions, 4) float`."""
    windows = region_features.windows(
        tuple(feature_run.config["levels"]), feature_run.metrics["side"]
    )
    return windows[feature_run.array("order")[rows, :regions]].astype(float)


def look(run, inputs, split: str = "test"):
    """ω of every caption's words over the regions of its own picture, under a run of CHAN.

    In the workbook's `inputs` the data set comes first, then the features.

    Returns
    -------
    weights `(5·N, L, K) float`, lengths `(5·N,) int` beyond which words are padding, vocabulary
    """
    model, vocabulary = load(run, *inputs)
    dataset, feature_run, *_ = inputs
    regions = encode_images(model, dataset, feature_run, split)
    captions = dataset.captions_of(split)
    parts, lengths, done = [], [], 0
    for words, n in encode_captions(model, vocabulary, captions):
        own = (done + torch.arange(len(words))) // dataset.captions_per_image
        parts.append(assignments(model.config, regions[own], words).cpu())
        lengths.append(n)
        done += len(words)
        progress.show(f"words of the {split} captions", done, len(captions))
    longest = max(part.shape[1] for part in parts)
    padded = [F.pad(part, (0, 0, 0, longest - part.shape[1])) for part in parts]
    return torch.cat(padded).numpy(), torch.cat(lengths).numpy(), vocabulary


def entropy(weights) -> np.ndarray:
    """Entropy of ω `(..., K)` in bits, `(...)`: from 0, one region has all, to log2 K."""
    return entr(weights).sum(-1) / np.log(2)


def measure(weights, boxes, gold) -> pd.DataFrame:
    """How much of each word's attention meets a gold box; a line a word.

    Parameters
    ----------
    weights : (W, K). boxes : (W, K, 4), of the regions. gold : (W, 4).

    Returns
    -------
    DataFrame
        mass: percentage of the word's pixel map that lies in the gold box. For the region with the
        largest weight: centre, 100 if its centre lies in the gold box, otherwise 0; iou, 100 times
        intersection over union; hit, 100 if that is 50 or more. entropy: of the weights, in bits.
    """
    weights, boxes, gold = (np.asarray(each, float) for each in (weights, boxes, gold))
    best = boxes[np.arange(len(boxes)), weights.argmax(1)]
    outlined, wanted = _area(best), _area(gold)
    iou = (both := _shared(best, gold)) / (outlined + wanted - both)
    centre = (best[:, :2] + best[:, 2:]) / 2
    inside = ((gold[:, :2] <= centre) & (centre < gold[:, 2:])).all(1)
    on_target = (weights * _shared(boxes, gold[:, None])).sum(1)
    return pd.DataFrame(
        {
            "mass": 100 * on_target / (weights * _area(boxes)).sum(1),
            "centre": 100.0 * inside,
            "hit": 100.0 * (iou >= 0.5),
            "iou": 100 * iou,
            "entropy": entropy(weights),
        }
    )


def _area(boxes):
    return (boxes[..., 2:] - boxes[..., :2]).prod(-1)


def _shared(boxes, others):
    """Area of the intersections."""
    low, high = np.maximum(boxes, others)[..., :2], np.minimum(boxes, others)[..., 2:]
    return (high - low).clip(0).prod(-1)


def compare(codings: dict, boxes, words: pd.DataFrame) -> pd.DataFrame:
    """`measure` of each coding against the words' own boxes and two controls; four references.

    A soft coding is measured again as if its best region had all the attention.

    Parameters
    ----------
    codings : name → (W, K). boxes : (W, K, 4), of the regions, the most salient first.
    words : W lines with picture, kind, box and beside, as `show.mentions` lists them.

    Returns
    -------
    DataFrame, for each of these a line a word: coding, against, kind, picture, the measures.
    """
    own, (n, k) = np.array(words.box.tolist()), boxes.shape[:2]
    against = {
        NAMED: own,
        BESIDE: np.array(words.beside.tolist()),
        ELSEWHERE: np.roll(own, n // 2, axis=0),
    }
    alone = {
        f"{name}, best region alone": np.eye(k)[weights.argmax(1)]
        for name, weights in codings.items()
        if weights.max(1).min() < 1
    }
    found = {
        (name, what): measure(weights, boxes, gold)
        for name, weights in (codings | alone).items()
        for what, gold in against.items()
    }
    whole = np.tile([0.0, 0.0, 1.0, 1.0], (n, 1, 1))  # of which the box's area is inside
    single = [measure(np.ones((n, 1)), boxes[:, [i]], own) for i in range(k)]
    fittest = np.argmax([each.iou for each in single], axis=0)
    found["fittest region", NAMED] = measure(np.eye(k)[fittest], boxes, own)
    found["most salient region", NAMED] = single[0]
    found["region at random", NAMED] = sum(single) / k
    found["whole picture", NAMED] = measure(np.ones((n, 1)), whole, own)
    return pd.concat(
        [
            each.assign(
                coding=name, against=what, kind=words.kind.array, picture=words.picture.array
            )
            for (name, what), each in found.items()
        ],
        ignore_index=True,
    )


def by_picture(found: pd.DataFrame) -> pd.DataFrame:
    """Mean of each measure over the words of a picture, so that every picture counts alike."""
    return found.groupby("picture")[[*MEASURES, "entropy"]].mean()


def summary(found: pd.DataFrame, by: tuple = ("coding", "against")) -> pd.DataFrame:
    """Means over pictures of what `compare` lists, ± half of their 95 % interval over pictures."""
    lines = []
    for names, group in found.groupby(list(by), sort=False):
        pictures = by_picture(group)
        line = dict(zip(by, names, strict=True)) | {"words": len(group)}
        for name, title in MEASURES.items():
            low, high = image_bootstrap(pictures[name])
            line |= {title: pictures[name].mean(), f"{title} ±": (high - low) / 2}
        lines.append(line | {"entropy, bits": pictures.entropy.mean()})
    return pd.DataFrame(lines)


def differences(by_seed: dict, first: str, second: str) -> pd.DataFrame:
    """First coding minus second on the things named: each seed, then "mean", over the seeds.

    Parameters
    ----------
    by_seed : seed → what `compare` found.

    Returns
    -------
    DataFrame : measure, seed, value, and low and high: for a seed the 95 % interval over pictures,
    for the mean the t interval over seeds (NaN with one).
    """
    gaps = {}
    for seed, found in by_seed.items():
        own = found[found.against == NAMED]
        a, b = (by_picture(own[own.coding == coding]) for coding in (first, second))
        gaps[seed] = a - b
    lines = []
    for name, title in MEASURES.items():
        for seed, gap in gaps.items():
            lines.append((title, str(seed), gap[name].mean(), *image_bootstrap(gap[name])))
        lines.append((title, "mean", *t_interval([gap[name].mean() for gap in gaps.values()])))
    return pd.DataFrame(lines, columns=["measure", "seed", "value", "low", "high"])
