"""Noun phrases of a parsed caption: a noun with its compound, and the adjectives before it.

Parses may have ClearNLP's labels, as the usual English pipelines and the world's gold parses do, or
those of Universal Dependencies; tags are Penn Treebank's. docs/text-components.md has the rules.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

COMMON = {  # Universal Dependencies' labels under ClearNLP's names
    "obj": "dobj",
    "nsubj:pass": "nsubjpass",
    "nsubj:outer": "nsubj",
    "aux:pass": "auxpass",
    "acl:relcl": "relcl",
    "compound:prt": "prt",
    "obl:agent": "agent",
    "flat": "compound",
}
NOMINAL = frozenset("nsubj nsubjpass dobj pobj obl nmod agent".split())  # of "a man in white"
NOUNS = ("NN", "NNS", "NNP", "NNPS")
SINGULAR = ("NN", "NNP")
PRONOUNS = frozenset(  # those with a noun's tag
    "someone somebody something anyone anybody anything everyone everybody everything nobody "
    "nothing none one ones other others another".split()
)
NO_ADJECTIVES = frozenset(
    "other another many several few some first second third fourth fifth sixth seventh eighth "
    "ninth tenth multiple numerous".split()
)
PLACES = frozenset(
    "front top side sides left right middle center centre back edge bottom rear".split()
)


class Tree(NamedTuple):
    """A parse as lists of one item a token; labels are ClearNLP's where it has one."""

    words: list[str]
    tags: list[str]
    labels: list[str]
    heads: list[int]
    children: list[list[int]]
    hyphens: frozenset[int]  # those without blanks around them


def read(doc) -> Tree:
    """A parse as a `Tree`."""
    n = len(doc)
    heads = (doc.to_array("HEAD").astype(np.int64) + np.arange(n)).tolist()
    children = [[] for _ in range(n)]
    for i, head in enumerate(heads):
        if head != i:
            children[head].append(i)
    words = [token.text.lower() for token in doc]
    blanks = doc.to_array("SPACY").tolist()
    hyphens = frozenset(
        i
        for i, word in enumerate(words)
        if word == "-" and i and not blanks[i - 1] and not blanks[i]
    )
    labels = [COMMON.get(token.dep_, token.dep_) for token in doc]
    return Tree(words, [token.tag_ for token in doc], labels, heads, children, hyphens)


def is_noun(tree: Tree, i: int) -> bool:
    """Whether a token names something: a noun, or an adjective in its place ("a man in white")."""
    if tree.words[i] in PRONOUNS or tree.words[i] in NO_ADJECTIVES:
        return False
    return tree.tags[i] in NOUNS or tree.tags[i] == "JJ" and tree.labels[i] in NOMINAL


def noun_phrase(tree: Tree, noun: int) -> tuple[set[int], set[int]]:
    """Places of a noun with its compound, "tennis racket", and of the adjectives before it."""
    name, adjectives, waiting = {noun}, set(), [noun]
    while waiting:
        i = waiting.pop()
        for c in tree.children[i]:
            label = tree.labels[c]
            if label == "conj" and i != noun and c < noun:  # black and white dog
                kind = name if i in name else adjectives
            elif label == "amod" and c < noun or label == "compound" and tree.tags[c][:2] == "JJ":
                kind = adjectives
            elif label == "compound" and i in name:
                kind = name
            else:
                continue
            kind.add(c)
            waiting.append(c)
    return name, {
        i for i in adjectives if tree.tags[i] != "CD" and tree.words[i] not in NO_ADJECTIVES
    }


def whole(tree: Tree, places: set[int]) -> tuple[int, ...]:
    """Places in order, with what is joined to them by hyphens: "t - shirt", "10 - year - old"."""
    found = set(places)
    for i in places:
        while i > 1 and i - 1 in tree.hyphens:
            found.update((i - 2, i - 1))
            i -= 2
    return tuple(sorted(found))


def singular(doc) -> list[tuple[int, ...]]:
    """Noun phrases that name one thing, in order: the places of each one's tokens.

    Nouns are those in the singular. A noun that is part of another one's phrase has none of its
    own, nor has one of a place expression ("front" in "in front of"). Articles and numbers are no
    part of a phrase.

    Examples
    --------
    >>> from spacy.tokens import Doc
    >>> from spacy.vocab import Vocab
    >>> doc = Doc(Vocab(), words=["two", "men", "ride", "a", "red", "horse"],
    ...           heads=[1, 2, 2, 5, 5, 2], tags=["CD", "NNS", "VBP", "DT", "JJ", "NN"],
    ...           deps=["nummod", "nsubj", "ROOT", "det", "amod", "dobj"])
    >>> singular(doc)
    [(4, 5)]
    """
    tree = read(doc)
    nouns = [i for i in range(len(doc)) if is_noun(tree, i)]
    full = {i: whole(tree, set.union(*noun_phrase(tree, i))) for i in nouns}
    inner = {i for noun, places in full.items() for i in places if i != noun}
    return [
        places
        for noun, places in full.items()
        if noun not in inner and tree.tags[noun] in SINGULAR and not _is_place(tree, noun)
    ]


def _is_place(tree: Tree, i: int) -> bool:
    """Whether a noun is of a place expression: "side" in "on the side of", not in "a side"."""
    return tree.words[i] in PLACES and tree.words[i + 1 : i + 2] == ["of"]
