"""How long a move takes in the explorer: in a thousand pictures, and in ten thousand of one's own."""

import time
from types import SimpleNamespace

import numpy as np
import pytest
from alignbook.explorer import stored_models, widget
from alignbook.explorer.stored_models import HARD, SOFT
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
        "order": np.stack([rng.permutation(51)[:k] for _ in range(rows)]).astype(np.uint8),
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


@pytest.fixture
def ten_thousand():
    """Ten thousand photographs of one's own, 36 of 49 cells as regions, without captions: noise."""
    rng, rows, k = np.random.default_rng(0), 10_000, 36
    picture = rng.integers(0, 255, (224, 224, 3)).astype(np.uint8)
    dataset = Sample(
        name="sample",
        captions=[],
        names=[f"{i}.jpg" for i in range(rows)],
        objects=None,
        images=np.broadcast_to(picture, (rows, *picture.shape)),
        splits={"test": np.arange(rows)},
        captions_per_image=0,
    )
    stored = {
        "features": rng.normal(size=(rows, k, 64)).astype(np.float16),
        "order": rng.permuted(np.tile(np.arange(49, dtype=np.uint8), (rows, 1)), axis=1)[:, :k],
    }
    features = SimpleNamespace(
        array=stored.get, metrics={"width": 64, "side": 7}, config={"levels": [7]}
    )
    return [
        small_gallery([dataset, features], dim=128, regions=k, coding=coding)
        for coding in ("hard", "soft")
    ]


def timed(galleries, names, monkeypatch) -> dict[str, int]:
    """Medians of some kinds of moves, in ms."""
    monkeypatch.setattr(
        stored_models,
        "places",
        lambda book: {"world A": stored_models.Place(book, "A", {HARD: {0: 0}, SOFT: {0: 1}})},
    )
    monkeypatch.setattr(stored_models, "opened", lambda book, domain, key: galleries[key])
    view, took = widget.Explorer("book"), {name: [] for name in names}
    for k in range(1, 8):
        for name in names:
            began = time.perf_counter()
            send(view, **MOVES[name](k, galleries[0]))
            took[name].append(1000 * (time.perf_counter() - began))
            assert view.note == ""
    medians = {name: round(float(np.median(each))) for name, each in took.items()}
    print(medians)
    return medians


@pytest.mark.timed
def test_a_move_takes_less_than_200_ms_with_a_thousand_pictures(thousand, monkeypatch):
    medians = timed(thousand, list(MOVES), monkeypatch)
    assert max(medians.values()) < 200, medians


@pytest.mark.timed
def test_a_move_takes_less_than_500_ms_with_ten_thousand_of_ones_own(ten_thousand, monkeypatch):
    medians = timed(ten_thousand, list(MOVES)[1:], monkeypatch)  # there are no captions to take
    assert max(medians.values()) < 500, medians
