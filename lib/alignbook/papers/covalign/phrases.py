"""Figure 5 measured: does the region that matches a phrase look where the phrase's thing is?

Nothing is trained. A phrase is a noun in the singular with its adjectives: it names one thing. In
the world it is gold, and so is its box. On photographs a spaCy pipeline parses the captions [A]; a
phrase has no box there, so that its region is drawn and not measured. Where there is no pipeline, a
phrase is the beginning of a caption, by a rough rule [A].
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from string import punctuation
from typing import NamedTuple

import numpy as np
import torch

from alignbook.backbones import noun_phrases, pipelines
from alignbook.papers.covalign import model, two_towers
from alignbook.world import mentions

ENDS = set(
    "is are was were in on at with and of to by near who that while as from over under through "
    "into above below has have next behind beside wearing".split()
)
LONGEST = 5  # words of a phrase that the rough rule finds
KEPT = ("steps", "training seconds", "parameters", "checksum")  # of the run that was trained


@dataclass(frozen=True)
class Config:
    """What is measured of a run's attention; it has no settings."""

    def compute(self, inputs, seed: int, folder: Path, device: str) -> dict:
        """What a run of it is: see `compute` below."""
        return compute(self, inputs, seed, folder, device)


class Phrase(NamedTuple):
    """Words of a caption that name one thing."""

    image: int  # row of the data set
    caption: int  # number in the data set
    text: str
    words: tuple[int, ...]  # their places among the caption's words, from 0
    box: tuple[float, ...] = ()  # x0, y0, x1, y1 in [0, 1] of the picture's sides, if it is known


# --- Phrases -------------------------------------------------------------------------------------


def of(dataset, rows: np.ndarray, parser: pipelines.Named | None) -> list[Phrase]:
    """The phrases of some images: the world's with gold boxes; for photographs those that a parser
    finds, or, without one, the beginnings of first captions.
    """
    if dataset.objects is not None:
        return gold(dataset, rows)
    return parsed(dataset, rows, pipelines.load(parser)) if parser else beginnings(dataset, rows)


def gold(dataset, rows: np.ndarray) -> list[Phrase]:
    """The world's noun phrases in the singular, each with the box of the thing that is meant.

    They stand in the order of the images, of their captions, and of the words.
    """
    nouns = dataset.phrases[dataset.phrases.kind == "noun"]
    said = dict(list(nouns.groupby(["image", "caption"])["object"]))
    boxes = dataset.objects.set_index(["image", "object"])[["x0", "y0", "x1", "y1"]]
    found, each, side = [], dataset.captions_per_image, dataset.images.shape[1]
    for row in rows.tolist():
        for k in range(each):
            words = dataset.captions[row * each + k].split()
            for (first, end), thing in zip(
                mentions.nouns(words), said.get((row, k), ()), strict=True
            ):
                box = tuple((boxes.loc[row, thing] / side).tolist())
                text, at = " ".join(words[first:end]), tuple(range(first, end))
                found.append(Phrase(row, row * each + k, text, at, box))
    return found


def parsed(dataset, rows: np.ndarray, nlp) -> list[Phrase]:
    """The noun phrases in the singular that a pipeline finds in images' captions, without boxes.

    They stand in the order of the images, of their captions, and of the words.
    """
    each, found = dataset.captions_per_image, []
    numbers = (rows[:, None] * each + np.arange(each)).ravel().tolist()
    captions = [dataset.captions[number] for number in numbers]
    for number, caption, doc in zip(numbers, captions, nlp.pipe(captions)):
        said = caption.split()
        for tokens in noun_phrases.singular(doc):
            ends = (doc[i].idx + 1 for i in tokens)  # after the first letter of each token
            words = tuple(sorted({len(caption[:end].split()) - 1 for end in ends}))
            text = " ".join(said[i].strip(punctuation) for i in words)
            found.append(Phrase(number // each, number, text, words))
    return found


def beginnings(dataset, rows: np.ndarray) -> list[Phrase]:
    """The beginning of each image's first caption, up to what ends a noun phrase by a rough rule."""
    found = []
    for row in rows.tolist():
        number = row * dataset.captions_per_image
        text = first_phrase(dataset.captions[number])
        found.append(Phrase(row, number, text, tuple(range(len(text.split())))))
    return found


def first_phrase(caption: str) -> str:
    """The words of a caption before the first that ends its first noun phrase [A]: a rough rule.

    >>> first_phrase("A red star is on a ring."), first_phrase("Two dogs running")
    ('A red star', 'Two dogs')
    """
    words = caption.replace(",", " , ").replace(".", " ").split()
    for i, word in enumerate(words):
        ends = word.lower() in ENDS or word == "," or (i > 1 and word.lower().endswith("ing"))
        if i and ends or i == LONGEST:
            return " ".join(words[:i])
    return " ".join(words)


# --- Their regions -------------------------------------------------------------------------------


class Look(NamedTuple):
    """The region that matches each of n phrases best, of its own picture."""

    region: torch.Tensor  # (n,), from 0
    cosine: torch.Tensor  # (n,), its mean cosine to the phrase's words
    attention: torch.Tensor  # (n, P), before the mask
    kept: torch.Tensor  # (n, P) bool


@torch.inference_mode()
def looks(matcher, tokenizer, dataset, phrases: Sequence[Phrase]) -> Look:
    """The regions of a trained matcher that match phrases best: largest mean cosine to the words.

    Words are encoded within their caption. `tokenizer` cuts these into BERT's pieces.
    """
    rows, place = np.unique([each.image for each in phrases], return_inverse=True)
    regions = model.encode_images(matcher, rows)
    found = []
    for start in range(0, len(phrases), 1000):
        part = phrases[start : start + 1000]
        numbers = np.array([each.caption for each in part])
        words, _ = matcher.model.text(*matcher.words(numbers))
        chosen = torch.zeros(words.shape[:2], device=words.device)
        for i, phrase in enumerate(part):
            chosen[i, pieces_of(tokenizer, dataset.captions[phrase.caption], phrase.words)] = 1
        mean = torch.einsum("nl,nld->nd", chosen / chosen.sum(1, keepdim=True), words)
        own = torch.from_numpy(place[start : start + 1000]).to(words.device)
        cosine, region = torch.einsum("nqd,nd->nq", regions.vectors[own], mean).max(1)
        attention, kept = regions.attention[own, region], regions.kept[own, region]
        found.append(Look(region, cosine, attention, kept))
    return Look(*(torch.cat(each).cpu() for each in zip(*found)))


def pieces_of(tokenizer, caption: str, words: Sequence[int]) -> list[int]:
    """The places of some words' pieces among a caption's, the mark before it being the first. Words
    stand between blanks; a comma or full stop after one is none of its pieces.
    """
    spans = tokenizer.encode(caption, add_special_tokens=False).offsets
    return [
        1 + i
        for i, (first, end) in enumerate(spans)
        if len(caption[: first + 1].split()) - 1 in words and caption[first:end] not in ",."
    ]


def inside(boxes: torch.Tensor, grid: tuple[int, int]) -> torch.Tensor:
    """How much of each patch lies in a box: boxes (n, 4) in picture's sides → (n, P) in [0, 1].

    >>> inside(torch.tensor([[0.0, 0.0, 0.75, 1.0]]), (1, 2))  # all of the left one, half the right
    tensor([[1.0000, 0.5000]])
    """
    shares = []
    for axis, n in ((1, grid[0]), (0, grid[1])):  # rows down, columns across
        first, last = boxes[:, axis, None] * n, boxes[:, axis + 2, None] * n
        begins = torch.arange(n, device=boxes.device)
        shares.append((torch.minimum(last, begins + 1) - torch.maximum(first, begins)).clamp(min=0))
    down, across = shares
    return (down[:, :, None] * across[:, None]).flatten(1)


def compute(config: Config, inputs, seed: int, folder: Path, device: str) -> dict:
    """Where the regions of a run look that match the test captions' gold phrases best.

    Inputs are the run, its own inputs, the data set first, and the BERT that cut its captions.

    Returns
    -------
    dict: "inside", the percent of a region's attention that lies in its phrase's box, and "box", that
    of attention which is the same everywhere: the box's share of the picture. And what is kept of
    the run itself, such as the "spread" of all its regions.
    """
    run, dataset, *sources, words = inputs
    torch.set_num_threads(1)
    matcher = model.load(run, dataset, *sources).to(device)
    rows = dataset.splits["test"][: run.config["test_images"] or None]
    phrases = gold(dataset, rows)
    found = looks(matcher, two_towers.text_tower(words, dataset)[1].tokenizer, dataset, phrases)
    boxes = inside(torch.tensor([each.box for each in phrases]), matcher.source.grid)
    measured = {
        "inside": float(100 * (found.attention * boxes).sum(1).mean()),
        "box": float(100 * boxes.mean()),
    }
    kept = {name: run.metrics[name] for name in (*KEPT, *run.metrics["asked"])}
    asked = run.metrics["asked"] | dict.fromkeys(measured, len(phrases))
    how = f"{run.metrics['how']}; inside and box: the best region of each gold phrase"
    return kept | measured | {"trained run": run.key, "asked": asked, "how": how}
