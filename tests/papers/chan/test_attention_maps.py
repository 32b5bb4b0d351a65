"""Where words look: assignments and maps by hand, measures on planted pictures, what is drawn."""

import math
from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import torch
from alignbook import world
from alignbook.backbones import region_features
from alignbook.core.similarity import hard_coding, soft_coding
from alignbook.core.vocabulary import Vocabulary
from alignbook.datasets import conllu
from alignbook.evidence.statistics import image_bootstrap, t_interval
from alignbook.papers.chan import attention_maps, show
from alignbook.papers.chan import model as chan
from alignbook.show import figures
from matplotlib.colors import to_rgba

HARD, SOFT = chan.Config(coding="hard"), chan.Config(coding="soft", temperature=0.2)
NAMED, BESIDE, ELSEWHERE = attention_maps.NAMED, attention_maps.BESIDE, attention_maps.ELSEWHERE


class Sample(SimpleNamespace):
    """A data set small enough to count by hand."""

    def captions_of(self, split):
        each = self.captions_per_image
        return [self.captions[each * i + k] for i in self.splits[split] for k in range(each)]


# --- Assignments ---------------------------------------------------------------------------------


def test_assignments_by_hand():
    """Cosines 0.8, 0.6 and 0; with τ = 0.2 the weights are as e⁴ to e³ to 1."""
    regions = torch.tensor([[1.6, 1.2], [0.3, 0.4], [0.0, 5.0]])
    words = torch.tensor([[3.0, 0.0]])
    total = math.exp(4) + math.exp(3) + 1
    expected = torch.tensor([[math.exp(4) / total, math.exp(3) / total, 1 / total]])
    torch.testing.assert_close(attention_maps.assignments(SOFT, regions, words), expected)
    assert attention_maps.assignments(HARD, regions, words).tolist() == [[1, 0, 0]]


def test_assignments_are_those_of_the_similarities():
    torch.manual_seed(0)
    regions, words = torch.randn(1, 7, 5), torch.randn(30, 1, 5)
    unit = torch.nn.functional.normalize(regions[0], dim=-1)
    for config, how in ((HARD, hard_coding), (SOFT, soft_coding)):
        omega = attention_maps.assignments(config, regions[0], words[:, 0])
        assert omega.shape == (30, 7)
        torch.testing.assert_close(omega.sum(-1), torch.ones(30))
        cosines = torch.cosine_similarity(words, omega[:, None] @ unit, dim=-1)[:, 0]
        also = {} if how is hard_coding else {"temperature": 0.2}
        torch.testing.assert_close(cosines, how(regions, words, pooling="mean", **also)[0])


def test_words_of_a_picture_look_at_its_own_regions():
    torch.manual_seed(0)
    regions, words = torch.randn(3, 4, 5), torch.randn(3, 6, 5)
    together = attention_maps.assignments(SOFT, regions, words)
    for i in range(3):
        alone = attention_maps.assignments(SOFT, regions[i], words[i])
        torch.testing.assert_close(together[i], alone)


def test_every_caption_looks_at_its_own_picture(monkeypatch):
    """Two pictures, two captions each, one of a single word; picture 1 has its regions swapped."""
    regions = torch.eye(2).expand(2, 2, 2).clone()
    regions[1] = regions[1].flip(0)
    words = torch.tensor([[1.0, 0], [0, 1], [1, 0], [1, 0]])[:, None].expand(4, 3, 2)
    lengths = torch.tensor([3, 1, 2, 3])
    asked, shown = [], []
    monkeypatch.setattr(
        attention_maps,
        "load",
        lambda run, *inputs: (
            asked.append(inputs) or SimpleNamespace(config=run.config),
            "vocabulary",
        ),
    )
    dataset = SimpleNamespace(captions_per_image=2, captions_of=lambda split: [f"of {split}"] * 4)
    monkeypatch.setattr(
        attention_maps.progress, "show", lambda _, done, total: shown.append((done, total))
    )
    monkeypatch.setattr(
        attention_maps, "encode_images", lambda model, *inputs: asked.append(inputs) or regions
    )
    monkeypatch.setattr(
        attention_maps,
        "encode_captions",
        lambda model, vocabulary, captions: (
            asked.append(captions) or iter([(words[:3], lengths[:3]), (words[3:, :2], lengths[3:])])
        ),
    )
    found, told, vocabulary = attention_maps.look(
        SimpleNamespace(config=HARD), [dataset, "f", "base"]
    )
    assert asked == [(dataset, "f", "base"), (dataset, "f", "test"), ["of test"] * 4]
    assert shown == [(3, 4), (4, 4)]
    assert vocabulary == "vocabulary"
    assert found.shape == (4, 3, 2) and told.tolist() == [3, 1, 2, 3]
    assert found[:, 0].argmax(-1).tolist() == [0, 1, 1, 1]


# --- Maps ----------------------------------------------------------------------------------------


def test_a_map_by_hand():
    """Left half 0.5, the two middle rows 0.3, the last pixel of the first row 0.2."""
    boxes = [(0, 0, 0.5, 1), (0, 0.25, 1, 0.75), (0.75, 0, 1, 0.25)]
    assert attention_maps.pixel_map([0.5, 0.3, 0.2], boxes, 4) == pytest.approx(
        np.array(
            [[0.5, 0.5, 0.0, 0.2], [0.8, 0.8, 0.3, 0.3], [0.8, 0.8, 0.3, 0.3], [0.5, 0.5, 0.0, 0.0]]
        )
    )


def test_a_box_of_everything_and_one_of_nothing():
    boxes = [(0, 0, 1, 1), (0.5, 0.5, 0.5, 0.5), (0.25, 0, 0.25, 1)]
    found = attention_maps.pixel_map([0.25, 0.5, 0.25], boxes, 4)
    assert found.tolist() == [[0.25] * 4] * 4


def test_a_pixel_counts_as_far_as_it_is_inside():
    found = attention_maps.pixel_map([1.0], [(0.125, 0.375, 0.75, 1)], 4)
    assert found[0].tolist() == [0, 0, 0, 0]
    assert found[1].tolist() == [0.25, 0.5, 0.5, 0]  # half of the row, of its first pixel half
    assert found[2].tolist() == found[3].tolist() == [0.5, 1, 1, 0]


def test_the_sum_rule_and_a_slow_loop():
    rng = np.random.default_rng(0)
    edges = np.sort(rng.integers(0, 9, (5, 2, 2)), axis=1)  # on the edges of 8 × 8 pixels
    boxes, weights = edges.reshape(5, 4) / 8, rng.dirichlet(np.ones(5))
    found = attention_maps.pixel_map(weights, boxes, 8)
    for y in range(8):
        for x in range(8):
            belongs = [x0 <= x < x1 and y0 <= y < y1 for x0, y0, x1, y1 in edges.reshape(5, 4)]
            assert found[y, x] == pytest.approx(weights[belongs].sum())
    free = np.sort(rng.random((5, 2, 2)), axis=1).reshape(5, 4)
    areas = (free[:, 2] - free[:, 0]) * (free[:, 3] - free[:, 1])
    assert attention_maps.pixel_map(weights, free, 7).mean() == pytest.approx(weights @ areas)


def test_boxes_of_the_first_regions():
    order = np.array([[0, 1, 2, 3, 4], [4, 3, 2, 1, 0]], np.uint8)
    run = SimpleNamespace(
        config={"levels": [1, 2]}, metrics={"side": 4}, array={"order": order}.get
    )
    boxes = attention_maps.region_boxes(run, np.array([1, 0]), 2)
    assert boxes.shape == (2, 2, 4)
    assert boxes[0].tolist() == [[0.5, 0.5, 1, 1], [0, 0.5, 0.5, 1]]
    assert boxes[1].tolist() == region_features.windows((1, 2), 4)[:2].tolist()


# --- Measures ------------------------------------------------------------------------------------


def test_measures_by_hand():
    """Regions: the left half and the upper left quarter; the gold box: the upper half."""
    boxes = np.tile([(0, 0, 0.5, 1), (0, 0, 0.5, 0.5)], (3, 1, 1))
    gold = np.tile([0, 0, 1, 0.5], (3, 1))
    found = attention_maps.measure([[1, 0], [0, 1], [0.75, 0.25]], boxes, gold)
    assert found.mass.tolist() == pytest.approx([50, 100, 100 * 0.25 / (0.375 + 0.0625)])
    assert found.iou.tolist() == pytest.approx([100 / 3, 50, 100 / 3])
    assert found.hit.tolist() == [0, 100, 0]
    assert found.centre.tolist() == [0, 100, 0]  # (0.25, 0.5) lies just below the upper half
    bits = -0.75 * math.log2(0.75) - 0.25 * math.log2(0.25)
    assert found.entropy.tolist() == pytest.approx([0, 0, bits])


def test_a_centre_has_to_be_inside_both_ways():
    boxes = np.tile([(0.25, 0.25, 0.75, 0.75)], (4, 1, 1))
    gold = np.array([[0.5, 0.5, 1, 1], [0, 0, 0.5, 1], [0.4, 0.6, 0.6, 1], [0.4, 0.4, 0.6, 0.6]])
    assert attention_maps.measure(np.ones((4, 1)), boxes, gold).centre.tolist() == [100, 0, 0, 100]


def test_the_mass_is_that_of_the_map():
    rng = np.random.default_rng(1)
    boxes = np.sort(rng.integers(0, 9, (6, 5, 2, 2)), axis=2)
    boxes[:, :, 1] += 1  # none is empty
    gold = np.array([1, 2, 6, 5])
    weights = rng.dirichlet(np.ones(5), 6)
    boxes = boxes.reshape(6, 5, 4) / 10
    found = attention_maps.measure(weights, boxes, np.tile(gold / 10, (6, 1)))
    for i in range(6):
        drawn = attention_maps.pixel_map(weights[i], boxes[i], 10)
        inside = drawn[gold[1] : gold[3], gold[0] : gold[2]].sum()
        assert found.mass[i] == pytest.approx(100 * inside / drawn.sum())


QUARTERS = np.array([(0, 0, 0.5, 0.5), (0.5, 0, 1, 0.5), (0, 0.5, 0.5, 1), (0.5, 0.5, 1, 1)])


def planted(n=8):
    """Pictures of four quarters: word i names quarter i mod 4, beside it lies the next one."""
    quarter = np.arange(n) % 4
    words = pd.DataFrame(
        {
            "kind": "thing",
            "picture": np.arange(n),
            "box": [tuple(QUARTERS[q]) for q in quarter],
            "beside": [tuple(QUARTERS[(q + 1) % 4]) for q in quarter],
        }
    )
    return words, np.tile(QUARTERS, (n, 1, 1)), quarter


def row(found, coding, against=NAMED):
    return found[(found.coding == coding) & (found.against == against)]


def test_a_planted_picture():
    words, boxes, quarter = planted()
    right, next_one = np.eye(4)[quarter], np.eye(4)[(quarter + 1) % 4]
    soft = 0.4 * right + 0.6 * next_one
    found = attention_maps.compare({"hard": right, "soft": soft, "wrong": next_one}, boxes, words)
    means = found.groupby(["coding", "against"])[["mass", "centre", "hit", "iou"]].mean()
    assert means.loc["hard", NAMED].tolist() == [100, 100, 100, 100]
    assert means.loc["hard", BESIDE].tolist() == [0, 0, 0, 0]
    assert means.loc["wrong", NAMED].tolist() == [0, 0, 0, 0]
    assert means.loc["wrong", BESIDE].tolist() == [100, 100, 100, 100]
    assert means.loc["soft", NAMED].tolist() == pytest.approx([40, 0, 0, 0])
    assert means.loc["soft", BESIDE].tolist() == pytest.approx([60, 100, 100, 100])
    assert means.loc[("soft, best region alone", BESIDE)].tolist() == [100] * 4
    assert means.loc["fittest region", NAMED].tolist() == [100] * 4
    assert means.loc["region at random", NAMED].tolist() == [25] * 4
    assert means.loc["whole picture", NAMED].tolist() == [25, 25, 0, 25]
    hardened = {name for name in found.coding if name.endswith("alone")}
    assert hardened == {"soft, best region alone"}
    assert row(found, "hard").picture.tolist() == list(range(8))


def test_a_box_elsewhere_is_that_of_another_picture():
    """The first of six words gets the box of the fourth, and so on."""
    words, boxes, quarter = planted(6)
    other = quarter[[3, 4, 5, 0, 1, 2]]
    codings = {"right": np.eye(4)[quarter], "other": np.eye(4)[other]}
    found = attention_maps.compare(codings, boxes, words)
    assert row(found, "right", ELSEWHERE).mass.tolist() == [0] * 6
    assert row(found, "other", ELSEWHERE).mass.tolist() == [100] * 6


def test_the_most_salient_region_is_the_first():
    words, boxes, quarter = planted(5)  # two of them name the first quarter, one the last
    found = attention_maps.compare({"hard": np.eye(4)[quarter]}, boxes, words)
    assert row(found, "most salient region").mass.tolist() == [100, 0, 0, 0, 100]


def test_attention_that_knows_nothing_is_at_chance():
    rng = np.random.default_rng(0)
    n, k = 4000, 9
    corner, size = rng.random((n, 2)) * 0.7, 0.1 + 0.2 * rng.random((n, 2))
    gold = np.hstack([corner, corner + size])
    words = pd.DataFrame(
        {
            "kind": "thing",
            "picture": np.arange(n) // 2,
            "box": map(tuple, gold),
            "beside": map(tuple, gold[::-1]),
        }
    )
    boxes = np.tile(region_features.windows((3,), 9), (n, 1, 1))  # they cover the picture once
    found = attention_maps.compare({"blind": rng.dirichlet(np.ones(k), n)}, boxes, words)
    area = 100 * size.prod(1).mean()
    for what in (NAMED, BESIDE, ELSEWHERE):
        assert row(found, "blind", what).mass.mean() == pytest.approx(area, rel=0.06)
    assert row(found, "whole picture").mass.mean() == pytest.approx(area)
    assert row(found, "region at random").mass.mean() == pytest.approx(area)


def small():
    """Picture 0 with words of mass 0 and 100, picture 1 with one of 90; the other coding has 10."""
    lines = [
        ("a", NAMED, 0, 0.0),
        ("a", NAMED, 0, 100.0),
        ("a", NAMED, 1, 90.0),
        ("b", NAMED, 0, 10.0),
        ("b", NAMED, 1, 10.0),
        ("a", BESIDE, 0, 77.0),
    ]
    found = pd.DataFrame(lines, columns=["coding", "against", "picture", "mass"])
    return found.assign(centre=found.mass, hit=0.0, iou=1.0, entropy=2.0)


def test_every_picture_counts_alike():
    table = attention_maps.summary(small()).set_index(["coding", "against"])
    line = table.loc[("a", NAMED)]
    low, high = image_bootstrap([50.0, 90.0])
    assert line["words"] == 3 and line["entropy, bits"] == 2
    assert line[attention_maps.MEASURES["mass"]] == pytest.approx(70)  # of 50 and 90
    assert line[f"{attention_maps.MEASURES['mass']} ±"] == pytest.approx((high - low) / 2)
    assert table.loc[("a", BESIDE), attention_maps.MEASURES["centre"]] == 77


def test_differences_by_seed_and_over_seeds():
    other = small().assign(mass=[0.0, 0.0, 0.0, 10.0, 10.0, 77.0])
    table = attention_maps.differences({0: small(), 1: other}, "a", "b")
    mass = table[table.measure == attention_maps.MEASURES["mass"]].set_index("seed")
    assert mass.loc["0"].tolist()[1:] == pytest.approx([60, *image_bootstrap([40.0, 80.0])])
    assert mass.loc["1"].tolist()[1:] == pytest.approx([-10, -10, -10])
    assert mass.loc["mean"].tolist()[1:] == pytest.approx(t_interval([60, -10]))
    alone = attention_maps.differences({0: small()}, "a", "b")
    assert alone[alone.seed == "mean"].low.isna().all()


def test_what_the_differences_say():
    columns = ["measure", "seed", "value", "low", "high"]
    lines = [
        ("x", "0", 3, 2, 4),
        ("x", "1", -1, -2, 0),
        ("x", "mean", 1, -3, 5),
        ("y", "0", -3, -4, -2),
        ("y", "1", -5, -6, -4),
        ("y", "mean", -4, -6, -2),
    ]
    said = show.reading(pd.DataFrame(lines, columns=columns))
    assert said[0] == "x: +1.0, from −3.0 to +5.0 over 2 seeds: open; 1 of 2 seeds on this side"
    assert said[1].endswith("over 2 seeds: below zero; 2 of 2 seeds on this side")
    single = [("x", "0", 3, 2, 4), ("x", "mean", 3, np.nan, np.nan)]
    said = show.reading(pd.DataFrame(single, columns=columns))
    assert said == [
        "x: +3.0, from +2.0 to +4.0 over pictures, with one seed: above zero; "
        "1 of 1 seeds on this side"
    ]


def test_spread_counts_real_words_only():
    weights = np.zeros((2, 3, 4))
    weights[0, 0, 1], weights[0, 1:], weights[1, 0, :2] = 1, 0.25, 0.5
    lengths = np.array([2, 1])
    line = show.spread({"soft": (weights, lengths, "vocabulary")}).iloc[0]
    assert line.coding == "soft" and line.words == 3
    assert line["best region's share, %"] == pytest.approx(100 * (1 + 0.25 + 0.5) / 3)
    assert line["entropy, bits"] == pytest.approx((0 + 2 + 1) / 3)
    assert line["if all are alike"] == 2


# --- Words ---------------------------------------------------------------------------------------


def told(folder, scenes, captions):
    """A data set of scenes with some captions each, all of them test, and their parses."""
    objects, relations = world.gold(scenes)
    sentences = [
        [
            conllu.Token(
                i, t.text, t.lemma, t.pos, t.tag, 0 if t.head == i - 1 else t.head + 1, t.label
            )
            for i, t in enumerate(world.parse(text), 1)
        ]
        for own in captions
        for text in own
    ]
    conllu.write(sentences, folder / "gold/parses/captions_test.conllu")
    size = scenes[0].size
    return Sample(
        folder=folder,
        objects=objects,
        relations=relations,
        captions_per_image=len(captions[0]),
        captions=sum(captions, []),
        splits={"test": np.arange(len(scenes))},
        images=np.zeros((len(scenes), size, size, 3), np.uint8),
    )


def thing(shape, colour, x0, y0, size="big"):
    return world.Thing(shape, colour, size, "solid", "matte", x0, y0, x0 + 16, y0 + 8)


@pytest.fixture
def two(tmp_path):
    """A red and a blue star and a ring; a ring that lights a bolt."""
    first = (thing("star", "red", 0, 0), thing("star", "blue", 32, 0), thing("ring", "red", 32, 32))
    second = (thing("bolt", "red", 0, 0), thing("ring", "red", 32, 16))
    scenes = [
        world.Scene(things, relations[0], relations, False, "paper", 64, (0,))
        for things, relations in (
            (first, ((0, "left of", 1),)),
            (second, ((1, "lighting", 0), (0, "left of", 1))),
        )
    ]
    captions = [
        ["a scarlet star left of a hoop", "a star and a red ring", "two big stars with a ring"],
        ["a bolt is lit by a ring", "a red ring and a flash", "a ring is placed below a blue bolt"],
    ]
    return told(tmp_path, scenes, captions)


def test_words_and_their_things_by_hand(two):
    words = show.mentions(two)
    lines = [tuple(line) for line in words[["kind", "picture", "caption", "place", "word"]].values]
    assert lines == [
        ("one of several", 0, 0, 2, "star"),
        ("thing", 0, 0, 6, "hoop"),
        ("thing", 0, 1, 5, "ring"),  # "a star" may be either
        ("plural", 0, 2, 2, "stars"),
        ("thing", 0, 2, 5, "ring"),
        ("thing", 1, 3, 1, "bolt"),
        ("relation", 1, 3, 3, "lit"),
        ("thing", 1, 3, 6, "ring"),
        ("thing", 1, 4, 2, "ring"),
        ("thing", 1, 4, 5, "flash"),
        ("thing", 1, 5, 1, "ring"),  # no bolt is blue, and "placed" is no action
    ]
    box = dict(zip(zip(words.caption, words.word), words.box))
    assert box[0, "star"] == (0, 0, 0.25, 0.125)
    assert box[0, "hoop"] == (0.5, 0.5, 0.75, 0.625)
    assert box[2, "stars"] == (0, 0, 0.75, 0.125)  # around both
    assert box[3, "lit"] == (0, 0, 0.75, 0.375)
    beside = dict(zip(zip(words.caption, words.word), words.beside))
    assert beside[0, "star"] == (0.5, 0, 0.75, 0.125)  # the other star
    assert beside[0, "hoop"] == box[0, "star"] and beside[3, "bolt"] == box[3, "ring"]


def test_words_mean_what_the_world_meant(tmp_path):
    """The world knows for every noun which thing it had in mind when it wrote the caption."""
    scenes = [world.scene(world.Config(), "test", i) for i in range(60)]
    written = [world.write(scene) for scene in scenes]
    dataset = told(tmp_path, scenes, [[each.text for each in own] for own in written])
    words = show.mentions(dataset)
    single = words[words.kind.isin(("thing", "one of several"))]
    assert len(single) > 400
    for line in single.itertuples():
        caption, scene = written[line.picture][line.caption % 5], scenes[line.picture]
        meant = [scene.things[mention.thing] for mention in caption.mentions]
        boxes = [(t.x0 / 64, t.y0 / 64, t.x1 / 64, t.y1 / 64) for t in meant]
        assert line.box in boxes, caption.text
        assert line.beside != line.box
        assert caption.text.split()[line.place] == line.word


def test_the_first_of_each_kind_from_different_pictures():
    lines = [
        ("plural", 0),
        ("thing", 0),
        ("thing", 1),
        ("relation", 0),
        ("relation", 2),
        ("plural", 2),
        ("plural", 3),
    ]
    words = pd.DataFrame(lines, columns=["kind", "picture"])
    chosen = show.first_of_each_kind(words)
    assert [tuple(line) for line in chosen.values] == [("thing", 0), ("relation", 2), ("plural", 3)]


def test_nouns_that_captions_agree_on():
    """In training "dog" stands between "a" and "in"; "red" and "runs" don't, "cow" is unknown."""
    train = ["a dog in snow", "the red dog runs", "a man", "the cow", "a ball"]
    own = ["there runs a red dog"] * 4 + ["a man"]
    again = ["nothing", *["a dog sees a man"] * 4]
    cows, balls = ["a cow"] * 5, [*["a ball"] * 3, "two", "three"]
    dataset = Sample(
        captions_per_image=5,
        captions=train + own + again + cows + balls,
        splits={"train": [0], "test": [1, 2, 3, 4]},
    )
    vocabulary = Vocabulary(("dog", "man", "red", "runs", "ball", "unsaid"))
    words = show.agreed_nouns(dataset, vocabulary)
    found = [tuple(line) for line in words[["picture", "caption", "place", "word"]].values]
    assert found == [(0, 0, 4, "dog"), (1, 6, 4, "man")]
    assert words.box.isna().all() and set(words.kind) == {"noun"}
    assert len(show.agreed_nouns(dataset, vocabulary, n=1)) == 1


# --- Figures -------------------------------------------------------------------------------------


def test_the_figure_outlines_the_best_region():
    images = np.full((2, 8, 8, 3), 99, np.uint8)
    images[1] = 7
    dataset = Sample(
        images=images,
        captions=["a star", "the red ring"],
        captions_per_image=1,
        splits={"test": np.array([1, 0])},
    )
    words = pd.DataFrame(
        {
            "kind": ["thing", "noun"],
            "picture": [0, 1],
            "caption": [0, 1],
            "place": [2, 1],
            "word": ["ring", "star"],
            "box": [(0, 0.5, 0.5, 1), None],
        }
    )
    weights = np.array([[0.1, 0.2, 0.4, 0.3], [0.7, 0.1, 0.1, 0.1]])
    boxes = np.tile(QUARTERS, (2, 1, 1))
    figure, data = show.sheet(dataset, words, {"soft": weights}, boxes)
    assert data["best share"].tolist() == pytest.approx([40, 70])
    assert data.mass.tolist() == pytest.approx([40, np.nan], nan_ok=True)
    assert data[["x0", "y0", "x1", "y1"]].values.tolist() == [[0, 0.5, 0.5, 1], [0, 0, 0.5, 0.5]]
    left, right, other, lower = figure.axes[:4]
    assert (left.images[0].get_array() == 7).all() and (right.images[0].get_array() == 7).all()
    assert left.get_xlabel() == "the red [ring]" and "ring" in left.get_title(loc="left")
    drawn = np.asarray(right.images[1].get_array())
    assert drawn[:4, :4] == pytest.approx(np.full((4, 4), 10))
    assert drawn[4:, :4] == pytest.approx(np.full((4, 4), 40))
    best, gold = right.patches
    assert best.get_bbox().extents.tolist() == [-0.5, 3.5, 3.5, 7.5]
    assert gold.get_linestyle() != best.get_linestyle() and len(left.patches) == 1
    assert not other.patches and len(lower.patches) == 1  # no box is known
    assert lower.images[1].get_clim() == (0, 100)
    plt.close(figure)


def test_the_figure_of_the_measures():
    words, boxes, quarter = planted()
    found = attention_maps.compare({"hard": np.eye(4)[quarter]}, boxes, words)
    figure = show.measures_figure(attention_maps.summary(found))
    assert [axis.get_title(loc="left") for axis in figure.axes] == [
        "attention inside, %",
        "centre inside, %",
        "IoU ≥ 0.5, %",
    ]
    labels = [text.get_text() for text in figure.axes[0].get_yticklabels()]
    assert labels[:2] == ["hard", "fittest region"]
    interval, named, *_ = figure.axes[0].collections
    assert named.get_offsets()[:, 0].tolist() == [100, 100, 25, 25, 25]
    assert named.get_offsets()[:, 1].tolist() == [0, -1, -2, -3, -4]
    assert named.get_facecolor()[0] == pytest.approx(to_rgba(figures.OURS))
    centres = {y: (left + right) / 2 for (left, y), (right, _) in interval.get_segments()}
    assert centres == pytest.approx({0: 100, -1: 100, -2: 25, -3: 25, -4: 25})
    (legend,) = figure.legends
    assert [each.get_text() for each in legend.get_texts()] == [NAMED, BESIDE, ELSEWHERE]
    plt.close(figure)
