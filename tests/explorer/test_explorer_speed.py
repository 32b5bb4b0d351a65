"""How long a move takes in the explorer, in a gallery of a thousand pictures."""

import time
from types import SimpleNamespace

import numpy as np
import pytest
from alignbook.explorer import gallery, widget
from alignbook.explorer.gallery import HARD, SOFT
from test_explorer import WORDS, Sample, send, small_gallery


@pytest.fixture
def thousand():
    """A thousand pictures, more than the laptop profile tests on, with captions of its length: noise."""
    rng, rows, k = np.random.default_rng(0), 1000, 36
    dataset = Sample(
        name="sample",
        captions=[" ".join(rng.choice(WORDS, rng.integers(5, 20))) for _ in range(5 * rows)],
        objects=None,
        images=rng.integers(0, 255, (rows, 64, 64, 3)).astype(np.uint8),
        splits={"test": np.arange(rows)},
        captions_per_image=5,
    )
    stored = {
        "features": rng.normal(size=(rows, k, 64)).astype(np.float16),
        "order": np.stack([rng.permutation(55)[:k] for _ in range(rows)]).astype(np.uint8),
    }
    features = SimpleNamespace(
        array=stored.get, metrics={"width": 64, "side": 8}, config={"levels": [1, 2, 3, 4, 5]}
    )
    return [
        small_gallery([dataset, features], dim=128, regions=k, coding=coding)
        for coding in ("hard", "soft")
    ]


MOVES = {  # what the page sends
    "another caption": lambda k, found: dict(caption=found.captions(7 * k)[1], swap=[]),
    "a typed one, its picture looked for": lambda k, found: dict(
        caption=" ".join(np.random.default_rng(k).permutation(WORDS)[:8]), image=-1, swap=[]
    ),
    "the next picture": lambda k, found: dict(caption=None, image=11 * k, swap=[]),
    "an exchange": lambda k, found: dict(swap=[k % 5, "purple"]),
}


@pytest.mark.timed
def test_a_move_takes_less_than_200_ms_with_a_thousand_pictures(thousand, monkeypatch):
    monkeypatch.setattr(
        gallery,
        "places",
        lambda book: {"world A": gallery.Place(book, "A", {HARD: {0: 0}, SOFT: {0: 1}})},
    )
    monkeypatch.setattr(gallery, "opened", lambda book, domain, key: thousand[key])
    view, took = widget.Explorer("book"), {name: [] for name in MOVES}
    for k in range(1, 16):
        for name, move in MOVES.items():
            began = time.perf_counter()
            send(view, **move(k, thousand[0]))
            took[name].append(1000 * (time.perf_counter() - began))
            assert view.note == ""
    medians = {name: round(float(np.median(each))) for name, each in took.items()}
    print(medians)
    assert max(medians.values()) < 200, medians
