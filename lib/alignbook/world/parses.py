"""The parse of every caption the world writes: tags, heads and labels, without a model.

Parts of speech are Universal Dependencies' and Penn Treebank's; labels are ClearNLP's, those of
the usual English models. The lexicon is closed and each word of it but "left", "right" and "is"
always plays one part, so one pass from left to right suffices. What is said beside a relation
("a star above a ring and a bolt") hangs on the first noun, since nothing says that the bolt is
below the star: a parser that only sees the words may differ.
"""

from __future__ import annotations

from typing import NamedTuple

from alignbook.world.captions import NUMBERS, PLURALS, SYNONYMS, Caption
from alignbook.world.scenes import COLOURS, MATERIALS, TEXTURES
from alignbook.world.shapes import SHAPES, SIZES

LABELS = (
    "ROOT",
    "acl",
    "advmod",
    "agent",
    "amod",
    "attr",
    "aux",
    "auxpass",
    "cc",
    "conj",
    "det",
    "dobj",
    "expl",
    "nsubj",
    "nsubjpass",
    "nummod",
    "pobj",
    "prep",
)

# What a word is, whatever stands around it: (lemma, UPOS, PTB).
LEXICON = {
    "a": ("a", "DET", "DT"),
    "an": ("an", "DET", "DT"),
    "the": ("the", "DET", "DT"),
    "and": ("and", "CCONJ", "CC"),
    "we": ("we", "PRON", "PRP"),
    "there": ("there", "PRON", "EX"),
    "here": ("here", "ADV", "RB"),
    "can": ("can", "AUX", "MD"),
    "see": ("see", "VERB", "VB"),
    "is": ("be", "AUX", "VBZ"),
    "are": ("be", "VERB", "VBP"),
    "being": ("be", "AUX", "VBG"),
    "partly": ("partly", "ADV", "RB"),
}
LEXICON |= {
    word: (word, "ADP", "IN")
    for word in (
        "with",
        "of",
        "by",
        "to",
        "on",
        "in",
        "at",
        "after",
        "above",
        "over",
        "below",
        "under",
        "beneath",
    )
}
LEXICON |= {
    word: (lemma, "VERB", "VBG")
    for word, lemma in {
        "chasing": "chase",
        "following": "follow",
        "running": "run",
        "pulling": "pull",
        "dragging": "drag",
        "towing": "tow",
        "lighting": "light",
        "illuminating": "illuminate",
        "shining": "shine",
        "resting": "rest",
        "sitting": "sit",
        "covering": "cover",
        "hiding": "hide",
        "including": "include",
    }.items()
}
LEXICON |= {
    word: (lemma, "VERB", "VBN")
    for word, lemma in {
        "chased": "chase",
        "followed": "follow",
        "pulled": "pull",
        "dragged": "drag",
        "towed": "tow",
        "lit": "light",
        "illuminated": "illuminate",
        "topped": "top",
        "crowned": "crown",
        "hidden": "hide",
        "covered": "cover",
        "placed": "place",
        "put": "put",
    }.items()
}
LEXICON |= {word: (word, "NUM", "CD") for word in NUMBERS.values()}
LEXICON |= {word: (word, "NOUN", "NN") for shape in SHAPES for word in (shape, *SYNONYMS[shape])}
LEXICON |= {
    word: (word, "NOUN", "NN") for word in ("picture", "image", "group", "top", "front", "part")
}
LEXICON |= {plural: (shape, "NOUN", "NNS") for shape, plural in PLURALS.items()}
LEXICON |= {"objects": ("object", "NOUN", "NNS"), "things": ("thing", "NOUN", "NNS")}
LEXICON |= {
    said: (said, "ADJ", "JJ")
    for word in COLOURS + SIZES + TEXTURES + MATERIALS
    for said in (word, *SYNONYMS[word])
}

BEFORE = {"DT": "det", "CD": "nummod", "JJ": "amod"}  # a noun


class Token(NamedTuple):
    """A word of a parse; ``head`` counts from 0, and the root is its own head."""

    text: str
    lemma: str
    pos: str
    tag: str
    head: int
    label: str


def parse(caption: Caption | str) -> tuple[Token, ...]:
    """The parse of a caption, or of a sentence of the world's hard negatives.

    Raises
    ------
    ValueError
        A word that isn't the world's.

    Examples
    --------
    >>> [(token.text, token.head, token.label) for token in parse("a star above a red ring")]
    ... # doctest: +NORMALIZE_WHITESPACE
    [('a', 1, 'det'), ('star', 1, 'ROOT'), ('above', 1, 'prep'), ('a', 5, 'det'),
     ('red', 5, 'amod'), ('ring', 2, 'pobj')]
    """
    words = (caption if isinstance(caption, str) else caption.text).split()
    tagged = [_tag(words, i) for i in range(len(words))]
    tags = [tag for _, _, tag in tagged]
    heads, labels = [-1] * len(words), [""] * len(words)

    def attach(i, head, label):
        heads[i], labels[i] = head, label

    root = None
    governor = None  # what the next noun or preposition hangs on
    noun = None  # the thing that was named last, or that a relation hangs on
    related = False  # whether words of a relation came after that noun
    waiting = []  # words that hang on a verb or noun still to come
    for i, (word, tag) in enumerate(zip(words, tags, strict=True)):
        if tag in BEFORE or word in ("we", "can", "there", "here", "is", "being", "partly"):
            waiting.append(i)
        if tag == "EX" or word == "here":
            continue
        if word in ("is", "are") and root is None:  # there is, here is
            root = governor = i
            attach(i, i, "ROOT")
            tagged[i] = ("be", "VERB", tag)
            for j in waiting:
                if j != i:
                    attach(j, i, "expl" if tags[j] == "EX" else "advmod")
            waiting = []
        elif word == "see":
            root = governor = i
            attach(i, i, "ROOT")
            attach(0, i, "nsubj")
            attach(1, i, "aux")
            waiting = []
        elif tag in ("NN", "NNS"):
            for j in waiting:
                if tags[j] in BEFORE:
                    attach(j, i, BEFORE[tags[j]])
            waiting = [j for j in waiting if tags[j] not in BEFORE]
            if governor is None:
                root = i
                attach(i, i, "ROOT")
            else:
                attach(i, governor, _role(words, tags, governor))
            governor = i
            if not related:
                noun = i
        elif word in ("and", "with"):
            attach(i, noun, "cc" if word == "and" else "prep")
            governor = noun if word == "and" else i
            related = False
        elif tag in ("VBG", "VBN") and word not in ("being", "including"):
            said = {words[j]: j for j in waiting}
            if "is" in said:  # a sentence: its verb is the root, not its first noun
                root = i
                attach(noun, i, "nsubjpass" if tag == "VBN" else "nsubj")
                attach(i, i, "ROOT")
            else:
                attach(i, noun, "acl")
            for other, j in said.items():
                attach(
                    j,
                    i,
                    "advmod"
                    if other == "partly"
                    else "auxpass"
                    if tag == "VBN" and (other == "being" or "being" not in said)
                    else "aux",
                )
            waiting, governor, related = [], i, True
        elif tag in ("IN", "RB") and word != "partly" or word == "including":
            if waiting:  # "the star is above …": nothing but "is" waits
                root = governor = waiting.pop()
                attach(noun, root, "nsubj")
                attach(root, root, "ROOT")
                tagged[root] = ("be", "AUX", "VBZ")
            agent = word == "by" and tags[governor] == "VBN"
            attach(i, governor, "agent" if agent else "advmod" if tag == "RB" else "prep")
            related = related or word not in ("of", "including") or governor != noun
            governor = i
    return tuple(
        Token(word, *kind, head, label)
        for word, kind, head, label in zip(words, tagged, heads, labels, strict=True)
    )


def _tag(words: list[str], i: int) -> tuple[str, str, str]:
    word = words[i]
    if word in ("left", "right"):  # to the left of; left of
        return (word, "NOUN", "NN") if words[i - 1] == "the" else (word, "ADV", "RB")
    if word not in LEXICON:
        raise ValueError(f"{word!r} in {' '.join(words)!r}: not a word of the world's captions")
    return LEXICON[word]


def _role(words: list[str], tags: list[str], governor: int) -> str:
    """The label of a noun below what governs it."""
    if tags[governor] == "IN" or words[governor] == "including":
        return "pobj"
    if tags[governor] in ("NN", "NNS"):
        return "conj"
    if words[governor] in ("is", "are"):
        return "nsubj" if words[0] == "here" else "attr"
    return "dobj"
