"""Gold crops and their phrases, of which base models learn what components look like."""

import math
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from alignbook.backbones import base, crops
from alignbook.core.vocabulary import Vocabulary

OBJECTS = pd.DataFrame(
    [
        (0, 0, 0, 0, 8, 8, "star", "red"),
        (0, 1, 8, 8, 16, 16, "ring", "blue"),
        (2, 0, 4, 0, 12, 8, "star", "blue"),
        (2, 1, 0, 8, 8, 16, "fish", "red"),
    ],
    columns="image object x0 y0 x1 y1 shape colour".split(),
).assign(size="small", texture="solid", material="matte")
PHRASES = pd.DataFrame(
    [
        (0, 0, "noun", "red star", "star", 0, 0),
        (0, 1, "relation", "red star above a blue ring", "star above ring", 0, 1),
        (0, 2, "plural", "two stars", "stars", 1, 1),
        (0, 3, "noun", "blue ring", "ring", 1, 1),
        (2, 0, "noun", "small fish", "fish", 1, 1),
        (1, 0, "noun", "never seen", "seen", 0, 0),  # of no training image
    ],
    columns="image caption kind text bare object other".split(),
)


@pytest.fixture
def told():
    """Images 2 and 0 are trained on, in this order."""
    pictures = np.random.default_rng(0).integers(0, 255, (3, 16, 16, 3), np.uint8)
    dataset = SimpleNamespace(images=pictures, objects=OBJECTS, phrases=PHRASES)
    vocabulary = Vocabulary.build([*PHRASES.text, *PHRASES.bare])
    words_for = base.lexicon(OBJECTS)
    return crops.Phrases(dataset, np.array([2, 0]), vocabulary, words_for), pictures, vocabulary


def read(drawn, vocabulary):
    """The phrases that were drawn, as said and bare in turn."""
    rows = zip(drawn.ids.tolist(), drawn.lengths.tolist(), strict=True)
    return [" ".join(vocabulary.words[i - 2] for i in row[:length]) for row, length in rows]


def test_a_crop_shows_what_its_phrases_speak_of(told):
    phrases, pictures, vocabulary = told
    expected = {
        ("red star", "star"): (0, 0, 8, 8),
        ("blue ring", "ring"): (8, 8, 16, 16),
        ("red star above a blue ring", "star above ring"): (0, 0, 16, 16),
        ("small fish", "fish"): (0, 8, 8, 16),
    }
    seen = set()
    for seed in range(40):
        drawn = phrases.draw(np.array([0, 1]), np.random.default_rng(seed), grid=2)
        said = read(drawn, vocabulary)
        for k, row in enumerate((2, 0)):
            both = tuple(said[2 * k : 2 * k + 2])
            box = np.array([expected[both]]) / 16
            shown = crops.crops(pictures, np.array([row]), box, 16)[0]
            assert np.array_equal(drawn.pictures[k], shown)
            seen.add(both)
    assert seen == set(expected)


def test_phrases_are_true_of_every_crop_that_shows_what_they_say(told):
    """What is said of either thing of a pair's crop; relations only where they are said."""
    phrases, _, vocabulary = told
    shows = {"red star": [{"red", "star"}], "blue ring": [{"blue", "ring"}]}
    shows["small fish"] = [{"red", "fish", "small"}]
    shows["red star above a blue ring"] = [{"red", "star"}, {"blue", "ring"}]
    for seed in range(40):
        drawn = phrases.draw(np.array([0, 1, 1]), np.random.default_rng(seed), grid=2)
        said = read(drawn, vocabulary)
        for k, full in enumerate(said[::2]):
            expected = [
                text in said[2 * k : 2 * k + 2]
                or any({*text.split()} <= thing for thing in shows[full])
                for text in said
            ]
            assert drawn.true[k].tolist() == expected


def test_cells_of_a_crop_are_those_of_the_picture():
    """The crop being the whole picture, against `base.cell_labels`; the smaller box is in front."""
    boxes = np.array([[[2, 2, 12, 12], [6, 4, 10, 14]]])
    table = OBJECTS[:2].copy()
    table[["x0", "y0", "x1", "y1"]] = boxes[0]
    labels = base.cell_labels(table, np.array([0]), size=16, grid=8)
    codes = [
        [table[a].astype("category").cat.codes[k] + 1 for a in base.ATTRIBUTES] for k in (0, 1)
    ]
    found = crops.cells_of(boxes, np.array([codes]), np.array([[0, 0, 16, 16]]), grid=8)
    assert found.shape == (1, 5, 8, 8)
    for i, attribute in enumerate(base.ATTRIBUTES):
        assert np.array_equal(found[0, i], labels[attribute][0].numpy())
    part = crops.cells_of(boxes, np.array([codes]), np.array([[4, 2, 12, 14]]), grid=4)[0, 0]
    (star, ring), ys, xs = (c[0] for c in codes), (3.5, 6.5, 9.5, 12.5), (5, 7, 9, 11)
    assert part.tolist() == [
        [ring if 6 <= x < 10 and 4 <= y < 14 else star * (2 <= x < 12 and y < 12) for x in xs]
        for y in ys
    ]


def test_an_eighth_of_a_batch_are_crops_with_their_phrase(monkeypatch):
    """Pictures first, each with its caption, then crops; cells are named on both."""
    drawn = {}
    images = np.arange(16)[:, None, None, None] * np.ones((1, 8, 8, 3), np.uint8)
    vocabulary = Vocabulary.build([f"w{i}" for i in range(16)] + ["crop"])

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.one = torch.nn.Parameter(torch.ones(1))
            self.heads = {"shape": lambda regions: drawn.update(cells=regions) or regions}

        def pixels(self, pictures):
            drawn["pictures"] = pictures
            return torch.zeros(len(pictures), 3, 8, 8)

        def encode(self, pixels, ids, lengths):
            drawn["words"] = [vocabulary.words[i - 2] for i in ids[:, 0]]
            seen = torch.nn.functional.normalize(torch.rand(len(pixels), 2), dim=1)
            return seen, self.encode_text(ids, lengths), torch.rand(len(pixels), 2, 1, 1)

        def encode_text(self, ids, lengths):
            return torch.nn.functional.normalize(torch.rand(len(ids), 2), dim=1)

        def scale(self):
            return self.one

    class Phrases:
        def __init__(self, *_):
            pass

        def draw(self, places, rng, grid):
            ids, lengths = vocabulary.encode(["crop"] * 2 * len(places))
            true = torch.eye(len(places)).bool().repeat_interleave(2, dim=1)
            cells = np.ones((len(places), 5, grid, grid), np.int64)
            return crops.Drawn(200 + images[places], ids, lengths, true, cells)

    dataset = SimpleNamespace(
        images=images.astype(np.uint8),
        splits={"train": np.arange(16)},
        captions_per_image=1,
        captions_of=lambda split: [f"w{i}" for i in range(16)],
        objects=OBJECTS,
    )
    monkeypatch.setattr(base, "Phrases", Phrases)
    labels = {"shape": torch.zeros(16, 1, 1, dtype=torch.int64)}
    monkeypatch.setattr(base, "cell_labels", lambda *_: labels)
    lessons = base.Lessons(base.Config(batch=16), Model(), vocabulary, dataset, seed=0)
    loss = lessons.loss_at(0)
    shown = drawn["pictures"][:, 0, 0, 0].tolist()
    assert sorted(shown[:14] + [each - 200 for each in shown[14:]]) == list(range(16))
    assert drawn["words"] == [f"w{i}" for i in shown[:14]]
    assert len(drawn["cells"]) == 16 and torch.isfinite(loss)
    # Of equal scores, by hand: 14 pictures and captions, both ways; a crop among two, and each of its
    # phrases beside the other crop's two; which of two attributes a cell has.
    whole, cut = math.log(14), (math.log(2) + math.log(3)) / 2
    expected = whole + lessons.config.crop_weight * cut + math.log(2)
    assert lessons.trivial_at(0).item() == pytest.approx(expected, rel=1e-6)


def test_photographs_have_no_crops():
    from alignbook.workbook import profiles

    photographs = profiles.get("smoke", "flickr8k")
    assert base.configure(photographs, "photo-tower").crops == 0
    assert base.configure(profiles.get("smoke")).crops == 1 / 8


def test_what_is_true_of_a_crop_is_no_negative():
    """Against a loop over rows and columns that leaves it out."""
    torch.manual_seed(0)
    image, text = (torch.nn.functional.normalize(torch.randn(n, 4), dim=1) for n in (3, 6))
    true = torch.zeros(3, 6, dtype=torch.bool)
    true[0, 2:5] = true[2, 0] = True  # besides each crop's own two
    true |= torch.eye(3).bool().repeat_interleave(2, dim=1)
    logits, down, across = 5 * image @ text.T, [], []
    for j in range(6):
        others = [i for i in range(3) if i == j // 2 or not true[i, j]]
        down.append(logits[others, j].logsumexp(0) - logits[j // 2, j])
        rivals = [k for k in range(6) if k == j or not true[j // 2, k]]
        across.append(logits[j // 2, rivals].logsumexp(0) - logits[j // 2, j])
    expected = (torch.stack(down).mean() + torch.stack(across).mean()) / 2
    torch.testing.assert_close(base.clip_loss(image, text, 5.0, true=true), expected)
