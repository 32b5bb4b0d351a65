"""ComAlign looked into: pairs known from the gold scenes, diagonals, weights, choices of probes."""

import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from alignbook.papers.comalign import arms, benchmarks, inference, inputs, matched_pairs
from alignbook.papers.comalign.inference import Frozen
from alignbook.papers.comalign.model import ComAlign, Config, evaluate
from test_comalign import D, M, N, planted, sets, stored


def test_diagonal_by_hand():
    x = torch.eye(5)
    y = torch.eye(5)
    y[0], y[1] = torch.tensor([0.6, 0.8, 0, 0, 0]), torch.tensor([0.8, 0.6, 0, 0, 0])
    found = matched_pairs.diagonal(x, y)
    assert found["diagonal"] == pytest.approx((0.6 + 0.6 + 3) / 5)
    assert found["off the diagonal"] == pytest.approx(1.6 / 20)
    assert found["above the rest"] == pytest.approx(4.2 / 5 - 1.6 / 20)
    assert found["first of five"] == pytest.approx(60)  # phrases 0 and 1 prefer each other's region
    twice = matched_pairs.diagonal(torch.cat([x, x, x[:3]]), torch.cat([y, y, y[:3]]))
    assert twice == pytest.approx(found)  # blocks of five, a rest left out


def test_first_is_asked_of_phrases_not_of_regions():
    x, y = torch.eye(5), torch.eye(5)
    y[:, 0] += 2  # every phrase is most similar to region 0
    found = matched_pairs.diagonal(x, y)
    assert found["first of five"] == pytest.approx(20)


@pytest.fixture
def scene(tmp_path):
    """Three pictures: two rings and a star; a ring and a star; captions of the third name nothing."""
    side = 10
    objects = pd.DataFrame(
        [
            (0, "ring", 0, 0, 4, 4),
            (0, "ring", 5, 5, 9, 9),
            (0, "star", 0, 5, 3, 9),
            (1, "ring", 1, 1, 4, 4),
            (1, "star", 5, 5, 9, 10),
            (2, "star", 1, 1, 3, 3),
        ],
        columns=["image", "shape", "x0", "y0", "x1", "y1"],
    )
    dataset = SimpleNamespace(
        objects=objects, captions_per_image=5, images=np.zeros((3, side, side, 3))
    )
    boxes = np.zeros((3, 6, 4), np.float32)
    boxes[:, 0] = 0, 0, 1, 1
    boxes[0, 1:4] = objects.iloc[:3, 2:].to_numpy() / side
    boxes[1, 1:3] = objects.iloc[3:5, 2:].to_numpy() / side
    boxes[1, 4] = 0.1, 0.1, 0.9, 1.0  # around both
    boxes[2, 1] = 0.1, 0.1, 0.3, 0.3
    said = ["rings", "red hoop", "asterisk", "star above ring", "picture"]
    (tmp_path / "phrases.json").write_text(json.dumps(said))
    captions = np.full((15, 6), -1, np.int32)
    captions[4, 1:3] = 0, 2  # "rings" fits two boxes, "asterisk" one
    captions[9, 1], captions[9, 4] = 1, 3
    captions[14, 1] = 4
    run = SimpleNamespace(
        folder=tmp_path,
        metrics={"entities": 3},
        array={"captions": captions, "boxes": boxes}.__getitem__,
    )
    return dataset, run


def test_a_noun_belongs_to_the_only_thing_called_so(scene):
    images, slots, places = matched_pairs.pairs("entity", *scene, np.arange(3))
    assert images.tolist() == [0, 1]
    assert slots.tolist() == [3, 1]  # the star; the ring, said "hoop"
    assert places.tolist() == [2, 1]


def test_a_relation_belongs_to_the_box_around_both(scene):
    images, slots, places = matched_pairs.pairs("relation", *scene, np.arange(3))
    assert (images.tolist(), slots.tolist(), places.tolist()) == ([1], [4], [4])
    boxes = scene[1].array("boxes")
    boxes[1, 4] = 0.1, 0.1, 0.9, 0.9  # around something else
    assert matched_pairs.pairs("relation", *scene, np.arange(3)).size == 0


def test_weights_are_varied_one_at_a_time(monkeypatch):
    images, captions = planted()
    model = ComAlign(Config(network="none", terms="E"), D, 1 + N + M)
    compared = images.vectors[:, 0] @ captions.vectors[:, 0].T, model.similarities(images, captions)
    monkeypatch.setattr(matched_pairs, "compare", lambda *_: compared)
    source = SimpleNamespace(captions_per_image=2, splits={"dev": np.arange(12)})
    names = [f"E {way}" for way in ("i2t", "t2i")]
    frozen = Frozen((0.3, 0.1, 1.0), dict.fromkeys(names, 0.2), inference.UNDIVIDED)
    found = matched_pairs.weighed(model, frozen, source, None)
    for name, way, weights in (
        ("α1 = 3", "i2t", (3.0, 0.1, 1.0)),
        ("α2 = 0", "i2t", (0.3, 0.0, 1.0)),
        ("β1 = 0.01", "t2i", (0.3, 0.1, 0.01)),
    ):
        both = inference.weighted(*compared, frozen._replace(weights=weights))
        recalls = inference.recalls(*both, 2, "dev")
        assert found[name] == sum(v for n, v in recalls.items() if f"{way} R@" in n), name
    assert len(found["asked"]) == 3 * len(inference.WEIGHTS)
    assert found["asked"]["α1 = 0"] == 12 and found["asked"]["β1 = 0"] == 24


def test_a_probes_score_is_that_of_its_own_pair(monkeypatch):
    monkeypatch.setattr(benchmarks, "PAIRS", 3)
    images, captions = sets(7, 1), sets(7, 2)
    torch.manual_seed(0)
    model = ComAlign(Config(heads=2), D, 1 + N + M).eval()
    names = [f"{t} {way}" for t in "GER" for way in ("i2t", "t2i")]
    frozen = Frozen((0.5, 0.2, 9.0), dict.fromkeys(names, 0.1), inference.UNDIVIDED)
    found = benchmarks.scores(model, frozen, images, captions)
    with torch.inference_mode():
        similarities = model.similarities(
            model.encode(images, "image"), model.encode(captions, "text")
        )
        whole = images.vectors[:, 0] @ captions.vectors[:, 0].T
        expected = inference.weighted(whole, similarities, frozen)[0].diagonal()
    assert torch.allclose(found, expected, atol=1e-5)


def test_aro_counts_kinds_and_the_others_items():
    chosen = np.array([True] * 30 + [False] * 10 + [True] * 5 + [False])
    kinds = np.array(["on"] * 30 + ["below"] * 10 + ["near"] * 5 + ["above"])
    relation = benchmarks.scored("VG-Relation", chosen, kinds)
    assert relation["VG-Relation"] == pytest.approx((100 + 0 + 0) / 3)  # near is symmetric
    assert relation["VG-Relation, mean over items"] == pytest.approx(100 * 35 / 46)
    attribution = benchmarks.scored("VG-Attribution", chosen, kinds)
    assert attribution["VG-Attribution"] == 100  # of 25 items and more there is one kind
    few = benchmarks.scored("VG-Attribution", chosen[-6:], kinds[-6:])
    assert few["VG-Attribution"] == few["VG-Attribution, mean over items"]
    crepe = benchmarks.scored("SugarCrepe", chosen, kinds)
    assert crepe["SugarCrepe"] == pytest.approx(100 * 35 / 46)
    assert crepe["SugarCrepe, below"] == 0 and "SugarCrepe, mean over items" not in crepe


def test_figure_7_has_both_directions_on_dev_of_the_target():
    model = ComAlign(Config(network="none", terms="E"), D, 1 + N + M)
    turned = np.linalg.qr(np.random.default_rng(0).standard_normal((D, D)))[0]
    target = stored(3, each=2, turned=turned)  # so that few are found
    frozen = Frozen((0.3, 0.1, 1.0), dict.fromkeys(("E i2t", "E t2i"), 0.2), inference.UNDIVIDED)
    found = matched_pairs.both_ways(model, frozen, *target)
    own = inference.recalls(*evaluate(model, frozen, *target, "dev"), 2, "dev")
    for name, way in (("image to text", "i2t"), ("text to image", "t2i")):
        assert found[name] == sum(own[f"dev {way} R@{k}"] for k in (1, 5, 10))
    assert found["image to text"] != found["text to image"]
    assert found["asked"] == {"image to text": 12, "text to image": 24}


def test_pairs_are_looked_for_in_gold_boxes_whatever_the_heads_learnt_from(monkeypatch):
    given = inputs.Inputs("B", "found in B", "A", "found in A")
    said = "{2} boxes of {0} as {1} sees them"
    monkeypatch.setattr(arms, "components", lambda book, *of: ("A", said.format(*of)))
    asked = []
    monkeypatch.setattr(arms.runs, "get", lambda config, seed, of, device: asked.append(of))
    book = SimpleNamespace(kind="world", device="cpu")
    for exhibit in ("comalign-F5", "comalign-F7"):
        arms.measured(book, exhibit, "comalign", "head", given)
    assert asked[0] == ("head", "B", "found in B", "A", "gold boxes of A as world-clip sees them")
    assert asked[1] == ("head", *given)
