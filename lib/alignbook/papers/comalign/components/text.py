"""Entities and relations of captions, read off a dependency parse (ComAlign §III).

What counts is said in docs/text-components.md. Parses may have ClearNLP's labels, as the usual
English pipelines and the world's gold parses do, or those of Universal Dependencies; tags are
Penn Treebank's. A preposition stands between verb and noun in the first and hangs on the noun in
the second: `Link` is the form both are brought into. Nouns and their adjectives are found by
`backbones.noun_phrases`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from alignbook.backbones.noun_phrases import NOUNS, PLACES, Tree, is_noun, noun_phrase, read, whole
from alignbook.store import progress

SUBJECTS = ("nsubj", "nsubjpass")
RELATIVE = ("WDT", "WP")
BE = frozenset("be is are was were been being am 's 're 'm".split())
PARTICLES = frozenset("up down around away out off over back".split())  # though said adverbs
GROUPS = frozenset(
    "group groups crowd bunch couple pair herd flock team line row lot number".split()
)
ARTICLES = ("a", "an", "the")
TWO_WORDS = frozenset(
    {  # prepositions whose first word may be parsed as an adverb
        ("next", "to"),
        ("close", "to"),
        ("near", "to"),
        ("left", "of"),
        ("right", "of"),
        ("out", "of"),
        ("off", "of"),
        ("ahead", "of"),
        ("outside", "of"),
        ("inside", "of"),
        ("away", "from"),
        ("far", "from"),
        ("along", "with"),
        ("together", "with"),
    }
)


@dataclass(frozen=True)
class Found:
    """What a caption says, as words and as places of its tokens; each is named once.

    `entity_places` holds the tokens of each entity, `relation_places` those of subject, action
    and object of each relation.
    """

    entities: list[str]
    relations: list[tuple[str, str, str]]
    entity_places: list[tuple[int, ...]]
    relation_places: list[tuple[tuple[int, ...], ...]]


class Link(NamedTuple):
    """A preposition, of one or more words, between what it hangs on and a noun.

    `kind` is "agent" for a passive's "by", "be" where the governor is what something is said to
    be ("couch" in "a dog is on a couch", in Universal Dependencies), otherwise "prep".
    """

    governor: int
    words: tuple[int, ...]
    noun: int
    kind: str


def extract(doc, prepositions: bool = False, bare: bool = True) -> Found:
    """Entities and relations of a parsed caption, in order of appearance.

    Parameters
    ----------
    doc : spaCy Doc with tags, heads and labels.
    prepositions : also give relations without a verb but "be" ("a dog on a couch").
    bare : also give a noun without its adjectives where it has some; otherwise only as it is
        described.

    Examples
    --------
    >>> from spacy.tokens import Doc
    >>> from spacy.vocab import Vocab
    >>> doc = Doc(Vocab(), words=["Young", "men", "ride", "horses"], heads=[1, 2, 2, 2],
    ...           deps=["amod", "nsubj", "ROOT", "dobj"], tags=["JJ", "NNS", "VBP", "NNS"])
    >>> found = extract(doc)
    >>> found.entities, found.relations
    (['men', 'young men', 'horses'], [('men', 'ride', 'horses')])
    """
    tree = read(doc)
    links = _links(tree)

    def said(places):
        return " ".join([tree.words[i] for i in places])

    phrases = {i: noun_phrase(tree, i) for i in range(len(doc)) if is_noun(tree, i)}
    names = {i: whole(tree, name) for i, (name, _) in phrases.items()}
    full = {i: whole(tree, name | adjectives) for i, (name, adjectives) in phrases.items()}
    inner = {i for link in links for i in link.words}
    inner.update(i for noun, places in full.items() for i in places if i != noun)
    entities = {}
    for i in sorted(phrases.keys() - inner):
        if bare:
            entities.setdefault(said(names[i]), names[i])
        entities.setdefault(said(full[i]), full[i])
    relations = {}
    found = [*_actions(tree, links), *(_without_action(tree, links) if prepositions else ())]
    for subject, action, other in sorted(found, key=lambda each: (each[1][0], each[0], each[2])):
        if subject != other and subject in names and other in names:
            places = names[subject], action, names[other]
            relations.setdefault(tuple(map(said, places)), places)
    return Found(list(entities), list(relations), list(entities.values()), list(relations.values()))


# --- nouns that are joined -----------------------------------------------------------------------


def _joined(tree: Tree, i: int, before: int | None = None) -> list[int]:
    """A noun and those joined to it ("a man and a woman"), as far as they stand before a place."""
    found = [i]
    for noun in found:
        found += [
            c
            for c in tree.children[noun]
            if tree.labels[c] == "conj"
            and tree.tags[c][:1] != "V"
            and (before is None or c < before)
            and not _has(tree, c, "case", "nsubj", "cop")
        ]
    return found


def _first(tree: Tree, i: int) -> int:
    """Where a participle hangs on the last of joined nouns, or on the people of a group: the
    first, or the group."""
    above = tree.heads[i]
    if (
        tree.labels[i] == "conj"
        and tree.tags[above] in NOUNS
        and not any(
            tree.tags[k] in ("IN", "TO") or tree.tags[k][:1] == "V" and tree.labels[k] != "amod"
            for k in range(above, i)
        )
    ):
        return _first(tree, above)
    group = tree.heads[above] if tree.labels[i] == "pobj" else above
    if tree.words[group] in GROUPS and tree.words[group + 1 : group + 2] == ["of"] and group < i:
        return group
    return i


def _has(tree: Tree, i: int, *labels: str) -> bool:
    """Whether one of the labels hangs on a token."""
    return any(tree.labels[c] in labels for c in tree.children[i])


# --- prepositions --------------------------------------------------------------------------------


def _links(tree: Tree) -> list[Link]:
    """All prepositions of a parse with their nouns; place expressions count as one."""
    found = []
    for i, label in enumerate(tree.labels):
        if label == "pobj":
            link = _clearnlp(tree, i)
        elif "case" in [tree.labels[c] for c in tree.children[i] if tree.tags[c] != "POS"]:
            link = _universal(tree, i)
        else:
            continue
        found.append(_two_words(tree, link))
    starts = {link.words[0]: link for link in found}
    joined, used = [], set()
    for link in found:
        place = link.noun
        inner = starts.get(place + 1)
        if tree.words[place] in PLACES and inner and tree.words[place + 1] == "of":
            between = [i for i in range(link.words[-1] + 1, place) if tree.words[i] not in ARTICLES]
            words = (*link.words, *between, place, *inner.words)
            joined.append(link._replace(words=words, noun=inner.noun))
            used.add(inner)
        else:
            joined.append(link)
    return [
        link._replace(noun=noun)
        for link in joined
        if link not in used
        for noun in _joined(tree, _antecedent(tree, link.noun))
    ]


def _clearnlp(tree: Tree, noun: int) -> Link:
    """The preposition above a noun: on → couch, from → behind → tree, in … and → on."""
    top = tree.heads[noun]
    words = [top]
    while tree.labels[top] in ("prep", "conj"):
        above = tree.heads[top]
        if tree.labels[above] not in ("prep", "agent"):
            break
        if tree.labels[top] == "prep":
            words.insert(0, above)
        top = above
    kind = "agent" if tree.labels[top] == "agent" else "prep"
    return Link(tree.heads[top], tuple(words), noun, kind)


def _universal(tree: Tree, noun: int) -> Link:
    """The preposition below a noun: couch → on."""
    words = [c for c in tree.children[noun] if tree.labels[c] == "case"]
    words += [c for word in words for c in tree.children[word] if tree.labels[c] == "fixed"]
    first = noun
    while tree.labels[first] == "conj" and tree.tags[tree.heads[first]][:1] != "V":
        first = tree.heads[first]
    kind = "agent" if tree.labels[first] == "agent" else "prep"
    if _has(tree, first, "cop", "nsubj"):
        return Link(first, tuple(sorted(words)), noun, "be")
    return Link(tree.heads[first], tuple(sorted(words)), noun, kind)


def _two_words(tree: Tree, link: Link) -> Link:
    """The link with the first word of "next to"; what hangs on an adverb hangs on its verb."""
    first, governor = link.words[0], link.governor
    pair = tuple(tree.words[max(first - 1, 0) : first + 1])
    if pair in TWO_WORDS and tree.tags[first - 1] not in NOUNS:  # not "to the left of"
        link = link._replace(words=(first - 1, *link.words))
    while (
        (tree.tags[governor] in ("RB", "RP", "IN") or governor in link.words)
        and tree.heads[governor] != governor
        and not _has(tree, governor, "cop")
    ):
        governor = tree.heads[governor]
    return link._replace(governor=governor)


# --- relations -----------------------------------------------------------------------------------


def _actions(tree: Tree, links: list[Link]):
    """Relations of verbs: (subject, words of the action, object)."""
    for verb, tag in enumerate(tree.tags):
        if tag[:1] != "V" or tree.words[verb] in BE:
            continue
        action = (
            verb,
            *(
                c
                for c in tree.children[verb]
                if tree.labels[c] == "prt"
                or (tree.labels[c] == "advmod" and tree.words[c] in PARTICLES)
            ),
        )
        mine = [link for link in links if link.governor == verb]
        subjects, objects = _subjects(tree, verb), _objects(tree, verb, mine)
        agents = [link.noun for link in mine if link.kind == "agent"]
        if agents:
            yield from ((agent, action, subject) for agent in agents for subject in subjects)
        elif objects:
            yield from ((subject, action, each) for subject in subjects for each in objects)
        else:
            for link in mine:
                words = action + tuple(i for i in link.words if i not in action)
                yield from ((subject, words, link.noun) for subject in subjects)


def _without_action(tree: Tree, links: list[Link]):
    """Prepositional relations, "a dog (is) on a couch"."""
    for link in links:
        governor = link.governor
        subjects = [governor]
        if link.kind == "be" or not is_noun(tree, governor):
            be = link.kind == "be" or tree.words[governor] in BE or _has(tree, governor, "cop")
            subjects = _subjects(tree, governor) if be else []
        if [tree.words[i] for i in link.words] != ["of"]:
            yield from (
                (subject, link.words, link.noun) for subject in subjects if subject < link.words[0]
            )


def _subjects(tree: Tree, i: int) -> list[int]:
    """Who does what a verb says, or to whom it is done: its own subject or that of what it is
    part of."""
    own = [c for c in tree.children[i] if tree.labels[c] in SUBJECTS]
    if _has(tree, i, "expl"):
        own += [c for c in tree.children[i] if tree.labels[c] == "attr"]
    if own:
        return [noun for c in own for noun in _joined(tree, _antecedent(tree, c))]
    head, label = tree.heads[i], tree.labels[i]
    if head == i or _has(tree, i, "csubj"):
        return []
    infinitive = any(
        tree.words[c] == "to" and tree.labels[c] in ("aux", "mark") for c in tree.children[i]
    )
    described = label in ("acl", "relcl") or not _has(tree, head, "nsubj", "cop")
    if tree.tags[head] in NOUNS and described and not infinitive:
        return _joined(tree, _first(tree, head), before=i)
    if label in ("xcomp", "ccomp") and not infinitive:
        if objects := [c for c in tree.children[head] if tree.labels[c] == "dobj"]:
            return [noun for c in objects for noun in _joined(tree, _antecedent(tree, c))]
    return _subjects(tree, head)


def _objects(tree: Tree, verb: int, links: list[Link]) -> list[int]:
    """Direct objects: its own, the subject of its clause, or what a relative clause describes."""
    below = tree.children[verb]
    own = [c for c in below if tree.labels[c] == "dobj"]
    if not own:
        clauses = [c for c in below if tree.labels[c] in ("ccomp", "xcomp")]
        own = [c for clause in clauses for c in tree.children[clause] if tree.labels[c] == "nsubj"]
    if not own and tree.labels[verb] == "relcl":
        who = [c for c in below if tree.labels[c] == "nsubj"]
        asked = any(tree.tags[c] == "WRB" for c in below)  # where, when
        said = any(link.noun == tree.heads[verb] for link in links)  # on which
        if who and all(tree.tags[c] in NOUNS for c in who) and not asked and not said:
            return [tree.heads[verb]]
    return [noun for c in own for noun in _joined(tree, _antecedent(tree, c))]


def _antecedent(tree: Tree, i: int) -> int:
    """What "who", "which" or "that" stands for: the noun its relative clause hangs on."""
    if tree.tags[i] not in RELATIVE and tree.words[i] != "that":
        return i
    above = tree.heads[i]
    while tree.labels[above] != "relcl":
        if tree.heads[above] == above:
            return i
        above = tree.heads[above]
    return tree.heads[above]


# --- many captions -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Components:
    """What many captions say: numbers of `texts`, of which there are T, −1 for none.

    Attributes
    ----------
    texts : T different strings, sorted by first use; a relation's is "subject action object".
    entities : `(C, N) int32`
    relations : `(C, M) int32`
    counts : how many captions have "no entity", "no relation", "more entities" than N, "more
        relations" than M: those beyond are left out.
    """

    texts: list[str]
    entities: np.ndarray
    relations: np.ndarray
    counts: dict[str, int]


def components(
    nlp,
    captions: list[str],
    prepositions: bool = False,
    bare: bool = True,
    entities: int = 10,
    relations: int = 10,
) -> Components:
    """Entities and relations of many captions; a caption that comes again is parsed once.

    Parameters
    ----------
    nlp : spaCy pipeline with a tagger and a parser, see `parser.load`.
    prepositions, bare : see `extract`.
    entities, relations : N and M, how many a caption may have.
    """
    different = {caption: row for row, caption in enumerate(dict.fromkeys(captions))}
    texts = {}
    widths = {"entities": entities, "relations": relations}
    found = {kind: np.full((len(different), n), -1, np.int32) for kind, n in widths.items()}
    sizes = {kind: np.zeros(len(different), int) for kind in widths}
    for row, doc in enumerate(nlp.pipe(different, batch_size=256)):
        said = extract(doc, prepositions, bare)
        told = {"entities": said.entities, "relations": list(map(" ".join, said.relations))}
        for kind, width in widths.items():
            kept = [texts.setdefault(text, len(texts)) for text in told[kind][:width]]
            found[kind][row, : len(kept)] = kept
            sizes[kind][row] = len(told[kind])
        if row % 256 == 255 or row + 1 == len(different):
            progress.show("captions", row + 1, len(different))
    rows = np.array([different[caption] for caption in captions], int)
    counts = {
        "no entity": int((sizes["entities"][rows] == 0).sum()),
        "no relation": int((sizes["relations"][rows] == 0).sum()),
        "more entities": int((sizes["entities"][rows] > entities).sum()),
        "more relations": int((sizes["relations"][rows] > relations).sum()),
    }
    return Components(list(texts), found["entities"][rows], found["relations"][rows], counts)
