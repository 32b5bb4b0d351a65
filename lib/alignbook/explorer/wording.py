"""Captions in the explorer: their words, those that a model does not know, exchanges of a word.

A place is that of a word in its caption, from 0.
"""

import difflib
from functools import lru_cache
from typing import NamedTuple

from torch import nn
from torch.nn import functional

from alignbook.backbones import base
from alignbook.core.vocabulary import tokenize
from alignbook.explorer.stored_models import Gallery
from alignbook.world.captions import NUMBERS, PLURALS

# To begin with where there are no captions: the first of which every word is known.
STARTS = ("two people and a dog", "a man and a woman", "a dog", "a red star")
SAID_MOST = 20  # words that captions have most often: of these those of `ALIKE` alone are exchanged
OFFERED = 10  # words near to another that are offered in its place
LONGEST = 40  # words that a vocabulary encodes of a caption
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


class Said(NamedTuple):
    """A caption as a model reads it: its words, which are unknown, what to say about it."""

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

    In the world those of the same attribute except synonyms; otherwise of its row in `ALIKE`, or
    those of captions that the model holds nearest. All are in the model's vocabulary.
    """
    if gallery.dataset.objects is not None and word in (told := _lexicon(gallery)):
        kind, meaning = told[word]
        others = [w for w, (k, m) in told.items() if k == kind and m != meaning]
        others = [w for w in others if told[w][1] == w or kind == "shapes"]
    else:
        others = [w for row in ALIKE if word in row for w in row if w != word]
        if not others and gallery.dataset.objects is None:
            others = _nearest(gallery, word)
    known = set(gallery.vocabulary.words)
    return [w for w in others if w in known]


def _nearest(gallery: Gallery, word: str) -> list[str]:
    """The words nearest to one by the cosines of the model's word vectors, other forms of it left out;
    none for the words that are said most, which name nothing.
    """
    words = gallery.vocabulary.words
    if word not in words[SAID_MOST:]:
        return []
    table = next(part for part in gallery.model.modules() if isinstance(part, nn.Embedding))
    vectors = functional.normalize(table.weight.detach()[2:])  # after padding and unknown words
    order = (vectors @ vectors[words.index(word)]).argsort(descending=True).tolist()
    return [words[i] for i in order if words[i][:4] != word[:4]][:OFFERED]


def exchanged(words: list[str], place: int, other: str) -> list[str]:
    """A caption's words with another one in one place, and nothing else changed."""
    if not 0 <= place < len(words):
        raise ValueError(f"no word in place {place}: the caption has places 0 to {len(words) - 1}")
    return [*words[:place], other, *words[place + 1 :]]


def example(gallery: Gallery) -> tuple[int, list[str], int]:
    """A caption to begin with: the split's first with a colour. Its picture, words, their place.

    Where no caption has one the first caption and its first word; without captions `start`.
    """
    if not gallery.each:
        return 0, read(start(gallery.vocabulary), gallery.vocabulary).words, 0
    for image in range(len(gallery.images)):
        for caption in gallery.captions(image):
            words = read(caption, gallery.vocabulary).words
            for place, word in enumerate(words):
                if {"red", "blue"} & {word, *exchanges(gallery, word)}:
                    return image, words, place
    return 0, read(gallery.captions(0)[0], gallery.vocabulary).words, 0


def start(vocabulary) -> str:
    """A caption to begin with where a picture has none; all its words are known.

    >>> from alignbook.core.vocabulary import Vocabulary
    >>> start(Vocabulary(("a", "dog", "star"))), start(Vocabulary(("snow", "falls")))
    ('a dog', 'snow')
    """
    known = set(vocabulary.words)
    return next((each for each in STARTS if known.issuperset(each.split())), vocabulary.words[0])
