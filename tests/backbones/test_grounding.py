"""What phrases find among gold boxes, against a count by hand; and the gate of the laptop's base."""

import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from alignbook import ROOT
from alignbook.backbones import base, grounding

LOOKS = {"size": "big", "texture": "solid", "material": "matte"}
THINGS = [  # of images 1 and 0 of the test split, in this order
    (1, 0, "star", "red"),
    (1, 1, "star", "blue"),
    (1, 2, "ring", "red"),
    (0, 0, "fish", "red"),
    (0, 1, "ring", "blue"),
]
SAID = [  # image, caption, phrase, bare noun, thing
    (1, 0, "red star", "star", 0),
    (1, 0, "red ring", "ring", 2),
    (1, 1, "star", "star", 1),
    (0, 0, "blue ring", "ring", 1),
]


def test_phrases_find_boxes_as_counted_by_hand(monkeypatch):
    objects = pd.DataFrame(
        [(i, n, 8 * n, 0, 8 * n + 8, 8, shape, colour) for i, n, shape, colour in THINGS],
        columns="image object x0 y0 x1 y1 shape colour".split(),
    ).assign(**LOOKS)
    phrases = pd.DataFrame(
        [(i, c, "noun", text, bare, thing, thing) for i, c, text, bare, thing in SAID]
        + [(1, 2, "plural", "stars", "stars", 0, 0)],
        columns="image caption kind text bare object other".split(),
    )
    dataset = SimpleNamespace(
        images=np.zeros((3, 32, 32, 3), np.uint8),
        objects=objects,
        phrases=phrases,
        splits={"test": np.array([1, 0])},
        captions_per_image=5,
    )
    crops = torch.tensor([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0], [0.8, 0.6], [-0.6, 0.8]])
    texts = {"red star": [0.6, 0.8], "red ring": [0.0, 1.0], "star": [0.0, 1.0]}
    texts |= {"blue ring": [-1.0, 0.0], "ring": [1.0, 0.0]}

    def embed_images(model, batches):
        assert sum(len(batch) for batch in batches) == 5
        return crops

    monkeypatch.setattr(base, "embed_images", embed_images)
    monkeypatch.setattr(
        base,
        "embed_captions",
        lambda model, vocabulary, said: torch.tensor([texts[s] for s in said]),
    )
    found = grounding.components(None, None, dataset, "test")
    # Red star finds the blue one, red ring itself, star the ring, blue ring itself: 2 of 4. Bare: the
    # stars twice the ring, the ring of the first the red star, the ring of the second the fish.
    assert found["full phrase finds its box"] == 50.0
    assert found["bare noun finds its box"] == 0.0
    assert found["full phrase, chance"] == pytest.approx(100 * (1 / 3 + 1 / 3 + 2 / 3 + 1 / 2) / 4)
    assert found["bare noun, chance"] == pytest.approx(100 * (2 / 3 + 1 / 3 + 2 / 3 + 1 / 2) / 4)
    # Best boxes of the two pictures: red star 1, .96; red ring 1, .8; star 1, .8; blue ring 0, .6.
    # All three captions that say a thing find their picture; those that don't find none.
    assert found["entities alone R@1"] == 30.0


GATE = {  # in percent, and the domains that are asked; the last is three times a base's without crops
    "full phrase finds its box": (85, "AB"),
    "bare noun finds its box": (65, "AB"),
    "entities alone R@1": (3 * 8.6, "A"),  # that one was trained on A
}
# Notebook 03 names the miss: B's things are turned by up to 28 degrees, W's by 14.
KNOWN = {("B", "bare noun finds its box")}
FLOOR = 57.0  # below which it is no longer that miss: 58.2 are published


def short_of_the_gate(found: dict) -> set[tuple[str, str]]:
    """The domains, and what they find too little of."""
    asked = ((name, least, domain) for name, (least, domains) in GATE.items() for domain in domains)
    return {(domain, name) for name, least, domain in asked if found[domain][name] < least}


def test_the_laptops_base_embeds_components():
    """On dev of domains that it has not seen; where a laptop run of this code is stored."""
    from alignbook.store import runs
    from alignbook.workbook import workbook

    said = ROOT / "results/world-laptop/base.json"
    if not said.is_file():
        pytest.skip("no laptop run of the world is stored here")
    book = workbook.load(said.parent)
    key = json.loads(said.read_text())["base"]
    if not (runs.is_stored(key) and runs.is_of_this_code(runs.stored(key))):
        pytest.skip(f"base run {key} is not in the store, or of other code")
    model, vocabulary = base.load(runs.stored(key))
    found = {d: grounding.components(model, vocabulary, book.dataset(d), "dev") for d in "AB"}
    assert short_of_the_gate(found) <= KNOWN
    assert found["B"]["bare noun finds its box"] >= FLOOR


def test_the_published_base_embeds_components():
    """On test, whatever is stored here: the table that is shown in notebook 03."""
    lines = (ROOT / "results/reference/world-laptop/tables/components.md").read_text("utf-8")
    head, _, *rows = (
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in lines.splitlines()
        if line.startswith("|")
    )
    found = {row[0]: dict(zip(head[1:], map(float, row[1:]), strict=True)) for row in rows}
    assert found.keys() == {"A", "B"}
    assert short_of_the_gate(found) <= KNOWN
    assert found["B"]["bare noun finds its box"] >= FLOOR


def test_the_gate_by_hand():
    good = {"full phrase finds its box": 85, "bare noun finds its box": 65}
    good |= {"entities alone R@1": 25.8}
    assert short_of_the_gate({"A": good, "B": good | {"entities alone R@1": 0}}) == set()
    for name in GATE:
        worse = good | {name: good[name] - 1}
        assert short_of_the_gate({"A": worse, "B": good}) == {("A", name)}
