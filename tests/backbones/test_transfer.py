"""What a base model does elsewhere: right answers counted right, pictures where they belong."""

import numpy as np
import pandas
import pytest
import torch
from alignbook import world
from alignbook.backbones import base, transfer
from alignbook.core import compositional
from alignbook.datasets import aro, svo, swaps
from alignbook.datasets.by_name import prepare
from alignbook.workbook import profiles
from PIL import Image

SMALL = profiles.get("smoke", overrides={"train_images": "10", "test_images": "40"})


@pytest.fixture(scope="module")
def homes(tmp_path_factory):
    root = tmp_path_factory.mktemp("data")
    return [prepare("world", SMALL, root, domain) for domain in "WAB"]


class Seeing:
    """Stands for a model: a picture's embedding is its mean colour, a caption's what it is told."""

    def __init__(self, told):
        self.told = told


@pytest.fixture
def seeing(monkeypatch):
    def embed_images(model, batches):
        colours = np.concatenate([batch.mean((1, 2)) for batch in batches])
        return torch.nn.functional.normalize(torch.from_numpy(colours), dim=1)

    def embed_captions(model, vocabulary, captions):
        told = np.array([model.told[caption] for caption in captions])
        return torch.nn.functional.normalize(torch.from_numpy(told), dim=1)

    monkeypatch.setattr(base, "embed_images", embed_images)
    monkeypatch.setattr(base, "embed_captions", embed_captions)


def test_probes_are_the_accuracies_of_a_loop(homes, seeing):
    rng = np.random.default_rng(0)
    home = homes[0]
    tables = {name: swaps.caption_probes(home, name) for name in ("attribute", "relation")}
    table, right, wrong = swaps.image_probes(home)
    said = {text for t, _ in tables.values() for text in (*t.caption, *t.negative)}
    told = {text: rng.random(3) for text in sorted(said | set(table.caption))}
    found = transfer.probes(Seeing(told), None, home)

    def cosine(picture, caption):
        a, b = picture.mean((0, 1)), told[caption]
        return a @ b / np.linalg.norm(a) / np.linalg.norm(b)

    for name, (probes, pictures) in tables.items():
        hits = [
            cosine(picture, row.caption) > cosine(picture, row.negative)
            for row, picture in zip(probes.itertuples(), pictures, strict=True)
        ]
        expected = 100 * np.mean(hits)
        assert found[f"{name} swap"] == (pytest.approx(expected), len(probes))
        assert 0 < expected < 100
    hits = np.array(
        [
            cosine(a, row.caption) > cosine(b, row.caption)
            for row, a, b in zip(table.itertuples(), right, wrong, strict=True)
        ]
    )
    assert found["svo all"] == (pytest.approx(100 * hits.mean()), len(table))
    for kind in ("subject", "verb", "object"):
        mine = (table.kind == kind).to_numpy()
        assert found[f"svo {kind}"] == (pytest.approx(100 * hits[mine].mean()), mine.sum())


def test_pictures_of_probes_are_those_of_their_scenes(homes):
    """Read back from files: the picture of the scene, its negative with what the row says."""
    home = homes[0]
    config = world.Config("W", train_images=10, dev_images=60, test_images=40)
    scenes = [world.scene(config, "test", i) for i in range(40)]
    expected, others = world.svo(scenes)
    table, right, wrong = swaps.image_probes(home)
    assert len(table) == len(expected)
    for i, row in enumerate(expected.itertuples()):
        assert np.array_equal(right[i], home.images[home.splits["test"][row.image]])
        assert np.array_equal(wrong[i], world.picture(others[row.negative_image]))
        assert table.caption[i] == row.caption
    probes, pictures = swaps.caption_probes(home, "relation")
    assert len(probes) == len(world.relation_swaps(scenes)) == len(pictures)
    for row, picture in zip(probes.itertuples(), pictures, strict=True):
        number = int(row.image.removeprefix("test-").removesuffix(".png"))
        scene = Image.fromarray(home.images[home.splits["test"][number]])
        cut = np.asarray(scene.crop((row.x0, row.y0, row.x1, row.y1)).resize((64, 64)), float)
        assert np.abs(cut - picture).mean() < 4


def test_the_files_of_the_field_hold_the_same_probes(homes):
    for home in homes:
        gold = home.folder / "gold"
        for kind, name in (("relation", "relation"), ("attribute", "attribution")):
            pandas.testing.assert_frame_equal(
                swaps.caption_probes(home, kind)[0], aro.read(gold / "aro", name)
            )
        found = svo.read(gold / "svo", gold / "images")
        pandas.testing.assert_frame_equal(swaps.image_probes(home)[0], found)


def test_compute_counts_what_was_asked(homes, seeing, monkeypatch):
    class Run:
        metrics = {"test RSUM": 1.0, "steps": 3}

    class Model(Seeing):
        def to(self, device):
            return self

    class Anything(dict):
        def __missing__(self, text):
            seed = sum(map(ord, text))
            return np.random.default_rng(seed).random(3)

    monkeypatch.setattr(base, "load", lambda run, dataset: (Model(Anything()), None))
    bar = []
    monkeypatch.setattr(transfer.progress, "show", lambda label, *done: bar.append(done))
    found = transfer.compute(transfer.Config(), (Run(), *homes), 0, None, "cpu")
    assert bar == [(1, 2), (2, 2)]
    assert found["steps"] == 3 and found["test RSUM"] == 1.0
    asked = found["asked"]
    assert (asked["B test i2t R@5"], asked["B test t2i R@1"]) == (40, 200)
    assert asked["B test RSUM"] == 240
    assert not any(
        name.startswith(("W", "test")) for name in asked
    )  # its own recalls are the run's
    for prefix, home in zip(("A ", "B "), homes[1:], strict=True):
        table, _ = swaps.caption_probes(home, "attribute")
        assert asked[f"{prefix}test attribute swap"] == len(table)
        assert 0 <= found[f"{prefix}test attribute swap"] <= 100
    assert set(asked) <= set(found)
    assert compositional.caption_accuracy([1.0], [0.0]) == 100.0  # percent, not a share
