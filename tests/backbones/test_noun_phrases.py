"""Noun phrases that name one thing, by hand; all other rules are tried in test_components_text."""

import pytest
from alignbook.backbones import noun_phrases
from spacy.tokens import Doc
from spacy.vocab import Vocab

CASES = {  # word/tag/label/head, ClearNLP's labels; the phrases
    "articles and numbers are no part of it": (
        "one/CD/nummod/2 big/JJ/amod/2 dog/NN/ROOT/2 and/CC/cc/2 a/DT/det/5 cat/NN/conj/2",
        ["big dog", "cat"],
    ),
    "several things are none": (
        "two/CD/nummod/1 dogs/NNS/nsubj/2 watch/VBP/ROOT/2 a/DT/det/4 bird/NN/dobj/2",
        ["bird"],
    ),
    "a compound counts whole": (
        "a/DT/det/3 tennis/NN/compound/2 racket/NN/compound/3 handle/NN/ROOT/3",
        ["tennis racket handle"],
    ),
    "a place expression is none": (
        "a/DT/det/1 dog/NN/ROOT/1 on/IN/prep/1 the/DT/det/4 side/NN/pobj/2 of/IN/prep/4"
        " a/DT/det/7 road/NN/pobj/5",
        ["dog", "road"],
    ),
    "a side of its own is one": ("the/DT/det/2 wooden/JJ/amod/2 side/NN/ROOT/2", ["wooden side"]),
    "a name is one": ("Paris/NNP/nsubj/1 shines/VBZ/ROOT/1", ["Paris"]),
    "a colour in a noun's place is none": (
        "a/DT/det/1 man/NN/ROOT/1 in/IN/prep/1 white/JJ/pobj/2",
        ["man"],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_phrases_that_name_one_thing(name):
    case, expected = CASES[name]
    words, tags, labels, heads = zip(*(word.split("/") for word in case.split()))
    doc = Doc(Vocab(), words=words, tags=tags, deps=labels, heads=[int(head) for head in heads])
    found = noun_phrases.singular(doc)
    assert [" ".join(words[i] for i in places) for places in found] == expected
