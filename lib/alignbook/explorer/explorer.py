"""What the explorer shows: a caption's words on a picture, its rank, and what each word adds.

Functions from a model and a caption or picture to arrays, tables and figures; the widget
(`explorer_widget`) calls the same ones. Boxes are x0, y0, x1, y1 as fractions of the picture's
side; a place is that of a word in its caption, from 0; pictures and captions are counted within
the split, from 0.
"""

import difflib
import importlib
import json
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
from torch.nn import functional as F

from alignbook import ROOT
from alignbook.backbones import base
from alignbook.core import kernels
from alignbook.core.similarity import pool, unit
from alignbook.core.vocabulary import tokenize
from alignbook.papers.chan import attention_maps
from alignbook.papers.chan import model as chan
from alignbook.papers.chan.show import WARM, YELLOW
from alignbook.show import figures
from alignbook.store import runs
from alignbook.workbook import exhibits, results, workbook
from alignbook.world.captions import NUMBERS, PLURALS

LONGEST = 40  # words that a vocabulary encodes of a caption
SIDE = 64  # pixels of a map, either way
EXHIBITS = ("chan-T3", "chan-T1", "chan-T2")  # whose arms can be looked at
HARD, SOFT = "hard coding", "cross-attention"
START = ("visual-codebook", "cross-attention")  # the two that are looked at first
LABELS = {
    "visual-codebook": HARD,
    "chan": HARD,
    "cross-attention": SOFT,
    "scan": SOFT,
    "textual-codebook": f"{HARD}, textual codebook",
    "max": f"{HARD}, max pooling",
    "average": f"{HARD}, mean pooling",
    "sum": f"{HARD}, sum pooling",
    "softmax": f"{HARD}, softmax pooling",
    "visual-codebook-long": f"{HARD}, 4 × the steps",
    "cross-attention-long": f"{SOFT}, 4 × the steps",
    "permuted": f"{HARD}, captions permuted (control)",
    "cross-attention-1/9": f"{SOFT}, τ = 1/9 in every trial",
    "vse++": "VSE++, one vector a picture",
    "vse-inf": "VSE∞, one vector a picture",
}
LABELS |= {name: f"{SOFT}, τ = {name[2:]} (control)" for name in exhibits.CURVE}
# Words that may stand for each other in captions of photographs; the world has its own lexicon.
ALIKE = (
    (
        "red",
        "orange",
        "yellow",
        "green",
        "blue",
        "purple",
        "pink",
        "brown",
        "black",
        "white",
        "gray",
        "grey",
    ),
    ("small", "large", "big", "little", "tiny", "huge"),
    ("man", "woman", "boy", "girl", "child", "baby"),
    ("men", "women", "boys", "girls", "children", "people"),
    ("dog", "cat", "horse", "bird", "cow", "sheep"),
    ("one", *NUMBERS.values()),
    ("above", "below", "over", "under", "beneath"),
    ("left", "right"),
    ("in", "on", "near", "behind", "beside"),
    ("sitting", "standing", "running", "walking", "jumping", "playing"),
)


# --- What there is to look at --------------------------------------------------------------------


class Place(NamedTuple):
    """A data set whose results are there: whose they are, the domain, what `methods` found."""

    book: object
    domain: str
    methods: dict


def places(book) -> dict[str, Place]:
    """The data sets whose results are there, by name; the notebook's own comes first.

    The world's two domains are two data sets. Others are those of results folders of this profile.
    """
    found = {}
    for each in (book, *_others(book)):
        for domain in "AB" if each.kind == "world" else "A":
            name = f"world {domain}" if each.kind == "world" else each.kind
            there = methods(each, domain, train=each is book and domain == "A")
            if there and name not in found:
                found[name] = Place(each, domain, there)
    return found


def _others(book):
    """Workbooks of further results folders of the same profile."""
    for path in sorted((ROOT / "results").glob("*/settings.json")):
        said = json.loads(path.read_text(encoding="utf-8"))
        same = path.parent.resolve() == book.out.resolve()
        if said["profile"] == book.profile.name and not same:
            try:
                other = workbook.load(path.parent)
            except ValueError:  # made by another version, with a setting that this one lacks
                continue
            yield other


def methods(book, domain: str = "A", train: bool = False) -> dict:
    """Stored models: label → seed → key of the run, hard coding and cross-attention first.

    They are those that the results folder lists, that are in the store and that this code made.
    With `train`, and where one of the two that the explorer starts with is not among them, these
    are trained.
    """
    lines = []
    for exhibit in EXHIBITS:
        if book.kind == "world" and exhibits.EXHIBITS[exhibit].domain != domain:
            continue
        for arm in exhibits.arms(exhibit, book.kind, book.profile):
            file = book.out / "arms" / exhibit / f"{exhibits.slug(arm)}.csv"
            if arm in LABELS and file.exists():
                lines.append(pd.read_csv(file, dtype={"key": str}))
    found = _usable(lines)
    if train and not found.keys() >= {HARD, SOFT}:
        found = _usable([*(results.arm(book, "chan-T3", arm) for arm in START), *lines])
    return found


def _usable(lines: list[pd.DataFrame]) -> dict:
    """What of some arms' lists can be looked at: label → seed → key."""
    found = {HARD: {}, SOFT: {}}
    for _, arm, role, seed, key in pd.concat(lines).itertuples(index=False) if lines else ():
        if role == "report" and runs.is_stored(key) and runs.is_of_this_code(runs.stored(key)):
            found.setdefault(LABELS[arm], {}).setdefault(int(seed), key)
    return {label: keys for label, keys in found.items() if keys}


@dataclass(frozen=True, eq=False)
class Gallery:
    """A trained matcher and what it makes of a split.

    Attributes
    ----------
    model, vocabulary : as `chan.load` returns them, on the CPU.
    dataset, split : whose pictures and captions these are.
    images : (N, K, d) float, regions; or (N, d), where a picture is one vector (VSE++).
    words : `kernels.Packed`, of all captions of the split; or (5·N, d).
    boxes : (N, K, 4), of the regions; None where they came without pictures, or there are none.
    """

    model: object
    vocabulary: object
    dataset: object
    split: str
    images: torch.Tensor
    words: object
    boxes: np.ndarray | None

    @property
    def config(self):
        return self.model.config

    @property
    def each(self) -> int:
        """Captions a picture."""
        return self.dataset.captions_per_image

    def captions(self, image: int) -> list[str]:
        """The captions that belong to a picture."""
        row, n = self.dataset.splits[self.split][image], self.each
        return self.dataset.captions[n * row : n * (row + 1)]


@lru_cache(maxsize=8)
def opened(book, domain: str, key: str) -> Gallery:
    """The gallery of a stored run on the test split; the last eight stay in memory."""
    run = runs.stored(key)
    return gallery(run, book.inputs(domain))


def side_by_side(book, domain: str = "A", seed: int = 0) -> dict[str, Gallery]:
    """Galleries of hard coding and cross-attention, trained if they are not there."""
    found = methods(book, domain, train=True)
    return {name: opened(book, domain, found[name][seed]) for name in (HARD, SOFT)}


def gallery(run, inputs, split: str = "test") -> Gallery:
    """Load a run of CHAN or of one of its rivals and encode a split, which takes a second or two.

    `inputs` are the workbook's. All stays on the CPU, so that scores are the same everywhere.
    """
    module = importlib.import_module(run.record["module"])
    return encoded(*module.load(run, *inputs), inputs, split)


def encoded(model, vocabulary, inputs, split: str = "test") -> Gallery:
    """The gallery of a model: its pictures and captions are encoded, as its evaluation does it."""
    dataset, feature_run, *_ = inputs
    images = chan.encode_images(model, dataset, feature_run, split)
    parts = list(chan.encode_captions(model, vocabulary, dataset.captions_of(split)))
    if images.ndim == 2:
        return Gallery(
            model, vocabulary, dataset, split, images, torch.cat([w for w, _ in parts]), None
        )
    vectors = torch.cat([kernels.pack(words, n).vectors for words, n in parts])
    offsets = F.pad(torch.cat([n for _, n in parts]).cumsum(0), (1, 0))
    pictured = dataset.images is not None and "side" in feature_run.metrics
    rows, k = dataset.splits[split], images.shape[1]
    boxes = attention_maps.region_boxes(feature_run, rows, k) if pictured else None
    words = kernels.Packed(vectors, offsets)
    return Gallery(model, vocabulary, dataset, split, images, words, boxes)


# --- Captions ------------------------------------------------------------------------------------


class Said(NamedTuple):
    """A caption as a model reads it: its words, which are unknown, what to tell about it."""

    words: list[str]
    unknown: list[bool]
    notes: list[str]


def read(text: str, vocabulary) -> Said:
    """The words of a caption, and in `notes` what of it a model cannot read.

    Raises
    ------
    ValueError
        There is no word in it.

    Examples
    --------
    >>> from alignbook.core.vocabulary import Vocabulary
    >>> read("A purpel star", Vocabulary(("a", "purple", "star"))).notes
    ['not in the vocabulary: purpel (the nearest known: purple); read as “some word”']
    """
    words = tokenize(text)
    if not words:
        raise ValueError("there is no word in this caption: type some, such as “a red star”")
    notes = []
    if len(words) > LONGEST:
        notes.append(f"cut after {LONGEST} of {len(words)} words: models read no more")
        words = words[:LONGEST]
    known = set(vocabulary.words)
    for word in dict.fromkeys(word for word in words if word not in known):
        near = difflib.get_close_matches(word, vocabulary.words, n=3, cutoff=0.6)
        hint = f"the nearest known: {', '.join(near)}" if near else "nothing known is near"
        notes.append(f"not in the vocabulary: {word} ({hint}); read as “some word”")
    return Said(words, [word not in known for word in words], notes)


@lru_cache(maxsize=8)
def _lexicon(gallery: Gallery) -> dict:
    """The world's describing words: word → attribute and meaning; plurals are an attribute."""
    told = base.lexicon(gallery.dataset.objects)
    return told | {plural: ("shapes", shape) for shape, plural in PLURALS.items()}


def exchanges(gallery: Gallery, word: str) -> list[str]:
    """Words that could stand in a word's place and say something else of the same kind.

    In the world those of the same attribute but for synonyms; else of its row in `ALIKE`. All are
    in the model's vocabulary.
    """
    if gallery.dataset.objects is not None and word in (told := _lexicon(gallery)):
        kind, meaning = told[word]
        others = [w for w, (k, m) in told.items() if k == kind and m != meaning]
        others = [w for w in others if told[w][1] == w or kind == "shapes"]
    else:
        others = [w for row in ALIKE if word in row for w in row if w != word]
    known = set(gallery.vocabulary.words)
    return [w for w in others if w in known]


def exchanged(words: list[str], place: int, other: str) -> list[str]:
    """A caption's words with another one in one place, and nothing else changed."""
    if not 0 <= place < len(words):
        raise ValueError(f"no word in place {place}: the caption has places 0 to {len(words) - 1}")
    return [*words[:place], other, *words[place + 1 :]]


def example(gallery: Gallery) -> tuple[int, list[str], int]:
    """A caption to begin with: the split's first with a colour. Its picture, words, their place.

    Where no caption has one the first caption and its first word.
    """
    for image in range(len(gallery.images)):
        for caption in gallery.captions(image):
            words = read(caption, gallery.vocabulary).words
            for place, word in enumerate(words):
                if {"red", "blue"} & {word, *exchanges(gallery, word)}:
                    return image, words, place
    return 0, read(gallery.captions(0)[0], gallery.vocabulary).words, 0


# --- Scores --------------------------------------------------------------------------------------


@torch.inference_mode()
def encode(gallery: Gallery, words) -> torch.Tensor:
    """What the model makes of a caption: `(L, d)`, or `(d,)` where it is one vector."""
    ((found, _),) = chan.encode_captions(gallery.model, gallery.vocabulary, [" ".join(words)])
    return found[0]


@torch.inference_mode()
def image_scores(gallery: Gallery, words: torch.Tensor) -> np.ndarray:
    """Scores of every picture for an encoded caption, `(N,)`: the model's own similarity."""
    return gallery.model.similarity(gallery.images, words[None])[:, 0].numpy()


@torch.inference_mode()
def caption_scores(gallery: Gallery, image: int) -> np.ndarray:
    """Scores of every caption of the split for a picture, `(5·N,)`: the model's own similarity.

    With the visual codebook written out: for one picture plain products are several times as fast as
    the kernels for many.
    """
    c, words = gallery.config, gallery.words
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
    """The k best, of a tie one's own last, so that the first of one's own stands at its `rank`."""
    return np.lexsort((own, -scores))[:k]


def contributions(scores: torch.Tensor, pooling: str = "lse", scale: float = 10.0) -> torch.Tensor:
    """What each query adds to a pooled score: `(Q,)` → `(Q,)`, whose sum is the score.

    Of a mean and a sum these are the terms; of max pooling the largest has all. LogSumExp has no
    terms: each query gets the share softmax(λ s)_i, which is how fast the score grows with s_i,
    and softmax pooling is the sum of such shares times s_i.

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
        chose = omega.T  # (L, K): which regions a word is the best of
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


def maps(found: Pair, boxes: np.ndarray, side: int = SIDE) -> np.ndarray:
    """Attention at each pixel, a map a word `(L, side, side)` (`attention.pixel_map`), 0 to 1.

    `boxes` `(K, 4)` are the picture's.
    """
    return np.stack([attention_maps.pixel_map(each, boxes, side) for each in found.weights])


# --- A move: all that is shown of a caption and a picture -----------------------------------------


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
    """
    scores = caption_scores(gallery, image)
    own = np.arange(len(scores)) // gallery.each == image
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
    table.attrs["rank"] = rank(scores, own)
    return table


# --- Static forms --------------------------------------------------------------------------------


def telling(looks: dict, k: int = 6) -> list[int]:
    """Places of the k words that add most, by the mean over methods, in the caption's order."""
    parts = np.mean([found.pair.contributions for found in looks.values()], axis=0)
    return sorted(np.argsort(-parts, kind="stable")[:k].tolist())


def words_figure(galleries: dict, image: int, words: list[str], k: int = 6):
    """A caption's words on a picture, a row a method: maps, best regions, what each word adds.

    Parameters
    ----------
    galleries : name of a method → `Gallery`, all of one data set, with regions.

    Returns
    -------
    The figure and its data: method, word, place, word's score, contribution, best region's share
    and box, the caption's score and the picture's place. Without pictures the figure is None.
    """
    looks = {name: look(each, image, words) for name, each in galleries.items()}
    shown, first = telling(looks, k), next(iter(galleries.values()))
    lines = []
    for name, found in looks.items():
        p, boxes = found.pair, galleries[name].boxes
        for i in range(len(words)):
            box = [None] * 4 if boxes is None else boxes[image][p.best[i]]
            lines.append(
                (
                    name,
                    words[i],
                    i,
                    p.scores[i],
                    p.contributions[i],
                    p.weights[i].max(),
                    *box,
                    p.score,
                    found.rank,
                )
            )
    data = pd.DataFrame(
        lines,
        columns=[
            "method",
            "word",
            "place",
            "word score",
            "contribution",
            "best share",
            "x0",
            "y0",
            "x1",
            "y1",
            "caption score",
            "picture's rank",
        ],
    )
    if first.boxes is None:
        return None, data
    return _words_figure(galleries, looks, image, words, shown), data


def _words_figure(galleries, looks, image, words, shown):
    import matplotlib.pyplot as plt
    from matplotlib import patheffects

    figures.use_style()
    picture, side = picture_of(next(iter(galleries.values())), image), SIDE
    n, columns, wide = len(looks), 1 + len(shown), 1.5
    high = wide * (1.5 * n - 0.5)
    figure, axes = plt.subplots(
        n,
        columns,
        figsize=(wide * columns, high),
        squeeze=False,
        gridspec_kw=dict(hspace=0.5, wspace=0.06, left=0, right=1, bottom=0, top=1),
    )
    halo = [patheffects.withStroke(linewidth=4, foreground=figures.INK)]
    extent = (0, side, side, 0)
    for line, (name, found) in zip(axes, looks.items(), strict=True):
        line[0].imshow(picture, extent=extent)
        line[0].set_title(name, fontsize=8.5)
        rank_of = f"rank {found.rank:,} of {len(galleries[name].images):,}"
        told = f"score {found.pair.score:.3f}\n{rank_of}"
        line[0].set_xlabel(told, fontsize=7.5, loc="left")
        boxes, drawn = galleries[name].boxes[image], maps(found.pair, galleries[name].boxes[image])
        for axis, i in zip(line[1:], shown):
            axis.imshow(picture.mean(-1), cmap="gray", vmin=-60, vmax=255, extent=extent)
            heat = axis.imshow(
                100 * drawn[i], cmap=WARM, vmin=0, vmax=100, alpha=0.6, extent=extent
            )
            x0, y0, x1, y1 = side * boxes[found.pair.best[i]]
            axis.add_patch(
                plt.Rectangle(
                    (x0, y0),
                    x1 - x0,
                    y1 - y0,
                    fill=False,
                    clip_on=False,
                    color=YELLOW,
                    lw=1.8,
                    path_effects=halo,
                )
            )
            axis.set_title(f"“{words[i]}”", fontsize=8.5)
            share = 100 * found.pair.weights[i].max()
            axis.set_xlabel(
                f"adds {found.pair.contributions[i]:.3f}\nbest region {share:.0f} %",
                fontsize=7.5,
                loc="left",
            )
        for axis in line:
            axis.set_xticks([]), axis.set_yticks([]), axis.grid(False)
    bar = figure.add_axes((0.4, -0.7 / high, 0.6, 0.09 / high))
    figure.colorbar(heat, cax=bar, orientation="horizontal")
    bar.set_xlabel(
        "attention in regions that cover the pixel, %. Yellow: the best region", fontsize=8
    )
    return figure


def picture_of(gallery: Gallery, image: int) -> np.ndarray | None:
    """The picture, `(H, W, 3) uint8`; None where there are only features."""
    stored = gallery.dataset.images
    return None if stored is None else stored[gallery.dataset.splits[gallery.split][image]]


def captions_table(galleries: dict, image: int, k: int = 5) -> pd.DataFrame:
    """`ranked_captions` of each method for reading: own ones marked, numbers behind the words."""
    lines = []
    for name, each in galleries.items():
        for line in ranked_captions(each, image, k).itertuples():
            parts = line.contributions
            said = (
                line.words
                if parts is None
                else [f"{word} {part:.2f}" for word, part in zip(line.words, parts, strict=True)]
            )
            lines.append((name, line.rank, "✓" if line.own else "", line.score, " · ".join(said)))
    return pd.DataFrame(
        lines, columns=["method", "rank", "own", "score", "caption: what each word adds"]
    )


def swaps_table(
    galleries: dict, image: int, words: list[str], place: int, others: list[str]
) -> pd.DataFrame:
    """Score and rank of a picture as one word of the caption is exchanged; each method, each word.

    Returns
    -------
    DataFrame: method, the word in the place, score, change against the caption as it was, the
    picture's rank.
    """
    lines = []
    for name, each in galleries.items():
        before = look(each, image, words)
        for other in (words[place], *others):
            found = look(each, image, exchanged(words, place, other))
            change = found.pair.score - before.pair.score
            lines.append((name, other, found.pair.score, change, found.rank))
    return pd.DataFrame(lines, columns=["method", "word", "score", "change", "picture's rank"])
