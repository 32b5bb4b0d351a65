"""What captions say of single things and of pairs: phrases, with the objects they speak of.

ComAlign's entities and relations with their gold boxes: a noun phrase belongs to one thing, a
relation phrase to the smallest box around two.
"""

from __future__ import annotations

from alignbook.world.captions import SYNONYMS, Caption, write
from alignbook.world.scenes import Scene
from alignbook.world.shapes import SHAPES

KINDS = ("noun", "relation", "plural")
SHAPE_WORDS = frozenset(word for shape in SHAPES for word in (shape, *SYNONYMS[shape]))
DESCRIBING = frozenset(word for said, others in SYNONYMS.items() for word in (said, *others))
EMPTY = frozenset(("a", "an", "the", "is", "being", "partly"))  # left out of what is said bare


def nouns(words: list[str]) -> list[tuple[int, int]]:
    """Noun phrases in the singular, in order: first word, one past the last.

    >>> nouns("a small red star with two rings above a fish".split())
    [(1, 4), (9, 10)]
    """
    found, start = [], 0
    for i, word in enumerate(words):
        if word in SHAPE_WORDS:
            found.append((start, i + 1))
        if word not in DESCRIBING:
            start = i + 1
    return found


def of_caption(caption: Caption, scene: Scene) -> list[tuple[str, str, str, int, int]]:
    """Kind, words, the same without descriptions, and the one or two objects spoken of.

    Relations without descriptions are "star above ring": as ComAlign's are said, without articles
    and auxiliaries. A plural, "two red stars", has a row for each of its things.
    """
    words = caption.text.split()
    spans = nouns(words)
    rows = []
    for (start, end), mention in zip(spans, caption.mentions, strict=True):
        rows.append(("noun", " ".join(words[start:end]), words[end - 1], *[mention.thing] * 2))
    if caption.relation:
        (start, one), (other, end) = spans[:2]
        said = [words[one - 1], *words[one:other], words[end - 1]]
        bare = " ".join(word for word in said if word not in EMPTY)
        things = caption.mentions[0].thing, caption.mentions[1].thing
        rows.append(("relation", " ".join(words[start:end]), bare, *things))
    if caption.twins:
        _, shape, colour = caption.twins
        for i, thing in enumerate(scene.things):
            if thing.shape == shape and colour in (None, thing.colour):
                rows.append(("plural", " ".join(filter(None, (colour, shape))), shape, i, i))
    return rows


def phrases(scenes: list[Scene]):
    """Every phrase of the five captions of each scene, image numbers counted from 0.

    Returns
    -------
    pandas.DataFrame
        image, caption (0 to 4), kind ("noun", "relation" or "plural"), text ("small red star"),
        bare ("star"), object, other: numbers in `gold`'s objects, equal but of a relation.
    """
    import pandas

    rows = [
        (image, number, *row)
        for image, scene in enumerate(scenes)
        for number, caption in enumerate(write(scene))
        for row in of_caption(caption, scene)
    ]
    return pandas.DataFrame(rows, columns="image caption kind text bare object other".split())
