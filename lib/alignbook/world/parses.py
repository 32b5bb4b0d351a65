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
WAITING = ("we", "can", "there", "here", "is", "being", "partly")  # for a verb


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
    sentence = _Sentence((caption if isinstance(caption, str) else caption.text).split())
    for i in range(len(sentence.words)):
        sentence.read(i)
    return sentence.tokens()


class _Sentence:
    """A sentence that is read from left to right, a method for each kind of word."""

    def __init__(self, words: list[str]) -> None:
        self.words = words
        self.tagged = [_tag(words, i) for i in range(len(words))]
        self.tags = [tag for _, _, tag in self.tagged]
        self.heads, self.labels = [-1] * len(words), [""] * len(words)
        self.rooted = False
        self.governor = None  # what the next noun or preposition hangs on
        self.noun = None  # the thing that was named last, or that a relation hangs on
        self.related = False  # whether words of a relation came after that noun
        self.waiting: list[int] = []  # words that hang on a verb or noun still to come

    def read(self, i: int) -> None:
        """Attach word `i`, or let it wait."""
        word, tag = self.words[i], self.tags[i]
        if tag in BEFORE or word in WAITING:
            self.waiting.append(i)
        if tag == "EX" or word == "here":
            return
        if word in ("is", "are") and not self.rooted:
            self.read_there_is(i)
        elif word == "see":
            self.read_we_see(i)
        elif tag in ("NN", "NNS"):
            self.read_noun(i)
        elif word in ("and", "with"):
            self.read_conjunction(i)
        elif tag in ("VBG", "VBN") and word not in ("being", "including"):
            self.read_participle(i)
        elif tag in ("IN", "RB") and word != "partly" or word == "including":
            self.read_preposition(i)

    def attach(self, i, head, label: str) -> None:
        self.heads[i], self.labels[i] = head, label

    def attach_root(self, i: int) -> None:
        self.attach(i, i, "ROOT")
        self.rooted = True

    def read_there_is(self, i: int) -> None:
        """Read "there is" or "here is"."""
        self.governor = i
        self.attach_root(i)
        self.tagged[i] = ("be", "VERB", self.tags[i])
        for j in self.waiting:
            if j != i:
                self.attach(j, i, "expl" if self.tags[j] == "EX" else "advmod")
        self.waiting = []

    def read_we_see(self, i: int) -> None:
        """We can see."""
        self.governor = i
        self.attach_root(i)
        self.attach(0, i, "nsubj")
        self.attach(1, i, "aux")
        self.waiting = []

    def read_noun(self, i: int) -> None:
        """A noun, with what is said before it."""
        for j in self.waiting:
            if self.tags[j] in BEFORE:
                self.attach(j, i, BEFORE[self.tags[j]])
        self.waiting = [j for j in self.waiting if self.tags[j] not in BEFORE]
        if self.governor is None:
            self.attach_root(i)
        else:
            self.attach(i, self.governor, _role(self.words, self.tags, self.governor))
        self.governor = i
        if not self.related:
            self.noun = i

    def read_conjunction(self, i: int) -> None:
        """And, with: what follows stands beside the noun, not below its relation."""
        joins = self.words[i] == "and"
        self.attach(i, self.noun, "cc" if joins else "prep")
        self.governor = self.noun if joins else i
        self.related = False

    def read_participle(self, i: int) -> None:
        """The verb of a relation, with its auxiliaries."""
        passive = self.tags[i] == "VBN"
        said = {self.words[j]: j for j in self.waiting}
        if "is" in said:  # a sentence: its verb is the root, not its first noun
            self.attach(self.noun, i, "nsubjpass" if passive else "nsubj")
            self.attach_root(i)
        else:
            self.attach(i, self.noun, "acl")
        for other, j in said.items():
            helps = "auxpass" if passive and (other == "being" or "being" not in said) else "aux"
            self.attach(j, i, "advmod" if other == "partly" else helps)
        self.waiting, self.governor, self.related = [], i, True

    def read_preposition(self, i: int) -> None:
        """A preposition, or the adverb of a place, and "is" before it."""
        word, tag = self.words[i], self.tags[i]
        if self.waiting:  # "the star is above …": nothing but "is" waits
            root = self.governor = self.waiting.pop()
            self.attach(self.noun, root, "nsubj")
            self.attach_root(root)
            self.tagged[root] = ("be", "AUX", "VBZ")
        agent = word == "by" and self.tags[self.governor] == "VBN"
        label = "agent" if agent else "advmod" if tag == "RB" else "prep"
        self.attach(i, self.governor, label)
        self.related = self.related or word not in ("of", "including") or self.governor != self.noun
        self.governor = i

    def tokens(self) -> tuple[Token, ...]:
        """What has been read."""
        return tuple(
            Token(word, *kind, head, label)
            for word, kind, head, label in zip(
                self.words, self.tagged, self.heads, self.labels, strict=True
            )
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
