"""Gold parses of captions: trees, labels, noun phrases, and one parse of each kind by hand."""

import pytest
from alignbook import world
from alignbook.world import captions as words
from alignbook.world import parses

SCENES = [
    world.scene(world.Config(domain=domain), "train", i)
    for domain in world.DOMAINS
    for i in range(250)
]
CAPTIONS = [caption for scene in SCENES for caption in world.write(scene)]
MEANING = {other: word for word, others in words.SYNONYMS.items() for other in others}
MEANING |= {plural: word for word, plural in words.PLURALS.items()}


@pytest.fixture(scope="module")
def parsed():
    return [(caption, parses.parse(caption)) for caption in CAPTIONS]


def root_of(tokens):
    (root,) = [i for i, token in enumerate(tokens) if token.head == i]
    return root


def test_words_are_the_captions(parsed):
    for caption, tokens in parsed:
        assert " ".join(token.text for token in tokens) == caption.text


def test_one_root_no_cycle_no_crossing(parsed):
    for caption, tokens in parsed:
        root = root_of(tokens)
        for i, token in enumerate(tokens):
            assert (token.label == "ROOT") == (i == root)
            up, steps = i, 0
            while up != root:
                up, steps = tokens[up].head, steps + 1
                assert 0 <= up < len(tokens) and steps <= len(tokens), caption.text
            low, high = sorted((i, token.head))
            between = range(low + 1, high)
            assert all(low <= tokens[j].head <= high for j in between), caption.text


def test_labels_and_tags_are_of_the_closed_sets(parsed):
    used = {token.label for _, tokens in parsed for token in tokens}
    assert used == set(parses.LABELS)
    pairs = {(token.pos, token.tag) for _, tokens in parsed for token in tokens}
    assert pairs == {
        ("DET", "DT"),
        ("ADJ", "JJ"),
        ("NOUN", "NN"),
        ("NOUN", "NNS"),
        ("ADP", "IN"),
        ("VERB", "VBG"),
        ("VERB", "VBN"),
        ("VERB", "VBZ"),
        ("VERB", "VBP"),
        ("VERB", "VB"),
        ("AUX", "VBZ"),
        ("AUX", "VBG"),
        ("AUX", "MD"),
        ("NUM", "CD"),
        ("CCONJ", "CC"),
        ("PRON", "PRP"),
        ("PRON", "EX"),
        ("ADV", "RB"),
    }


def noun_phrases(tokens):
    """Spans of a noun that names a thing with all that stands before it and hangs on it."""
    for i, token in enumerate(tokens):
        if MEANING.get(token.text, token.text) in world.SHAPES and token.tag == "NN":
            start = i
            while (
                start
                and tokens[start - 1].head == i
                and tokens[start - 1].label in ("det", "amod", "nummod")
            ):
                start -= 1
            yield start, i


def test_every_mention_is_a_noun_phrase_headed_by_its_shape(parsed):
    for caption, tokens in parsed:
        found = list(noun_phrases(tokens))
        assert len(found) == len(caption.mentions), caption.text
        for (start, noun), mention in zip(found, caption.mentions, strict=True):
            said = [MEANING.get(token.text, token.text) for token in tokens[start:noun]]
            given = (mention.size, mention.texture, mention.material, mention.colour)
            assert said[0] in ("a", "an", "the")
            assert said[1:] == [word for word in given if word]
            assert MEANING.get(tokens[noun].text, tokens[noun].text) == mention.shape
            assert [t.label for t in tokens[start:noun]] == ["det"] + ["amod"] * (noun - start - 1)
            hanging = [i for i, t in enumerate(tokens) if t.head in range(start, noun)]
            assert not hanging  # nothing hangs on an article or an adjective


def test_passive_sentences_have_passive_labels(parsed):
    agents = 0
    for caption, tokens in parsed:
        if caption.kind != "passive":
            continue
        labels = [token.label for token in tokens]
        root = root_of(tokens)
        assert labels.count("nsubjpass") == 1 and "auxpass" in labels
        assert tokens[labels.index("nsubjpass")].head == root and tokens[root].tag == "VBN"
        by = [i for i, token in enumerate(tokens) if token.text == "by"]
        assert [i for i, label in enumerate(labels) if label == "agent"] == by
        agents += len(by)
        if by:  # who does it is the object of "by"
            doer = next(t for t in tokens if t.head == by[0])
            shape = caption.mentions[caption.relation[0]].shape
            assert doer.label == "pobj" and doer.lemma in (shape, *words.SYNONYMS[shape])
            assert tokens[by[0]].head == root
    assert agents > 200


def test_relations_join_their_two_nouns(parsed):
    """The object's noun stands below the subject's, or both below the verb."""
    for caption, tokens in parsed:
        if caption.relation is None or caption.kind == "passive":
            continue
        (_, first), (_, second), *rest = noun_phrases(tokens)

        def above(i, tokens=tokens):
            chain = [i]
            while tokens[chain[-1]].head != chain[-1]:
                chain.append(tokens[chain[-1]].head)
            return chain

        assert first in above(second), caption.text
        for _, other in rest:  # what is said beside the relation is no part of it
            assert second not in above(other) and first in above(other), caption.text


BY_HAND = {  # caption: tags, heads (the root's is its own), labels
    "there is a big red star and an orange ring": (
        "EX VBZ DT JJ JJ NN CC DT JJ NN",
        (1, 1, 5, 5, 5, 1, 5, 9, 9, 5),
        "expl ROOT det amod amod attr cc det amod conj",
    ),
    "a scarlet asterisk sitting on a tiny hoop": (
        "DT JJ NN VBG IN DT JJ NN",
        (2, 2, 2, 2, 3, 7, 7, 4),
        "det amod ROOT acl prep det amod pobj",
    ),
    "a group of two red stars with a blue ring and a bolt": (
        "DT NN IN CD JJ NNS IN DT JJ NN CC DT NN",
        (1, 1, 1, 5, 5, 2, 5, 9, 9, 6, 9, 12, 9),
        "det ROOT prep nummod amod pobj prep det amod pobj cc det conj",
    ),
    "three objects including a star to the left of a ring": (
        "CD NNS VBG DT NN IN DT NN IN DT NN",
        (1, 1, 1, 4, 2, 4, 7, 5, 7, 10, 8),
        "nummod ROOT prep det pobj prep det pobj prep det pobj",
    ),
    "the red star is being chased by the ring": (
        "DT JJ NN VBZ VBG VBN IN DT NN",
        (2, 2, 5, 5, 5, 5, 5, 8, 6),
        "det amod nsubjpass aux auxpass ROOT agent det pobj",
    ),
    "the star is placed left of the ring": (
        "DT NN VBZ VBN RB IN DT NN",
        (1, 3, 3, 3, 3, 4, 7, 5),
        "det nsubjpass auxpass ROOT advmod prep det pobj",
    ),
    "a big striped star hiding part of a ring and a red bolt": (
        "DT JJ JJ NN VBG NN IN DT NN CC DT JJ NN",
        (3, 3, 3, 3, 3, 4, 5, 8, 6, 3, 12, 12, 3),
        "det amod amod ROOT acl dobj prep det pobj cc det amod conj",
    ),
    "a ring partly hidden by a star": (
        "DT NN RB VBN IN DT NN",
        (1, 1, 3, 1, 3, 6, 4),
        "det ROOT advmod acl agent det pobj",
    ),
    "here is a star and a ring": (
        "RB VBZ DT NN CC DT NN",
        (1, 1, 3, 1, 3, 6, 3),
        "advmod ROOT det nsubj cc det conj",
    ),
    "we can see a star": ("PRP MD VB DT NN", (2, 2, 2, 4, 2), "nsubj aux ROOT det dobj"),
    "the star is above the ring": (
        "DT NN VBZ IN DT NN",
        (1, 2, 2, 2, 5, 3),
        "det nsubj ROOT prep det pobj",
    ),
    "the star is chasing the ring": (
        "DT NN VBZ VBG DT NN",
        (1, 3, 3, 3, 5, 3),
        "det nsubj aux ROOT det dobj",
    ),
    "the matte star and the red ring": (
        "DT JJ NN CC DT JJ NN",
        (2, 2, 2, 2, 6, 6, 2),
        "det amod ROOT cc det amod conj",
    ),
}


@pytest.mark.parametrize("text", BY_HAND)
def test_parse_by_hand(text):
    tokens = parses.parse(text)
    tags, heads, labels = BY_HAND[text]
    assert " ".join(token.tag for token in tokens) == tags
    assert tuple(token.head for token in tokens) == heads
    assert " ".join(token.label for token in tokens) == labels


def test_lemmas():
    tokens = parses.parse("there are two crosses with a star being towed by a lit")
    assert [token.lemma for token in tokens if token.text != token.lemma] == [
        "be",
        "cross",
        "be",
        "tow",
        "light",
    ]


def test_each_word_of_the_captions_plays_one_part_alone(parsed):
    """But for left, right and is, as the parser assumes."""
    seen = {}
    for _, tokens in parsed:
        for token in tokens:
            seen.setdefault(token.text, set()).add((token.lemma, token.pos, token.tag))
    assert {text for text, kinds in seen.items() if len(kinds) > 1} <= {"left", "right", "is"}
    nouns = {w for s in world.SHAPES for w in (s, words.PLURALS[s], *words.SYNONYMS[s])}
    others = set(words.SYNONYMS) | {w for each in words.SYNONYMS.values() for w in each}
    adjectives = {word for word in others if word not in nouns}
    assert all(kinds == {(text, "ADJ", "JJ")} for text, kinds in seen.items() if text in adjectives)


def test_unknown_words_are_refused():
    with pytest.raises(ValueError, match="'zebra'"):
        parses.parse("a red zebra")
