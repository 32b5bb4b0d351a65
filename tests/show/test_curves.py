"""Curves in notebooks: their points by hand, and what is drawn of them."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from alignbook.show import curves

LISTED = [  # exhibit, arm, role, seed, key
    ("chan-T3", "hard", "trial", 1000, "a"),
    ("chan-T3", "hard", "report", 0, "a"),
    ("chan-T3", "hard", "report", 1, "b"),
    ("chan-T3", "idle", "report", 0, "c"),
    ("chan-T3", "base-model", "report", 0, "d"),
]
ARMS = pd.DataFrame(LISTED, columns=["exhibit", "arm", "role", "seed", "key"])


def run_of(loss, dev, trivial=4.0):
    arrays = {"loss": np.array(loss), "dev": np.array(dev, float).reshape(-1, 2)}
    arrays["rate"] = np.full(len(loss), 0.1)
    return SimpleNamespace(
        config={},
        metrics={} if trivial is None else {"trivial loss": trivial},
        array=arrays.__getitem__,
        has=arrays.__contains__,
        record={"inputs": []},
    )


@pytest.fixture
def stored(monkeypatch):
    """Runs by key: a loss of 120 steps falls by halves, another stays at its trivial level."""
    falling = [4.0, 2.0] * 60
    runs = {
        "a": run_of(falling, [(60, 50), (120, 60)]),
        "b": run_of([2.0] * 120, [(60, 52), (120, 60)]),
        "c": run_of([4.0] * 120, [(60, 8), (120, 8)]),
        "d": run_of([], []),
    }
    monkeypatch.setattr(curves.runs, "stored", runs.__getitem__)
    return runs


def test_points_are_block_means_by_the_trivial_level_and_looks_at_dev(stored):
    points = curves.table(ARMS)
    assert set(points.arm) == {"hard", "idle"}  # what has no losses has no curves
    own = points[(points.arm == "hard") & (points.seed == 0)]
    share = own[own.curve == "share"]
    assert list(share.step) == [end - 0.5 for end in range(2, 121, 2)]  # 60 blocks of two steps
    assert share.value.to_numpy() == pytest.approx(0.75)  # (4 + 2) / 2 of 4
    dev = own[own.curve == "dev"]
    assert list(zip(dev.step, dev.value)) == [(60, 50.0), (120, 60.0)]
    assert len(points[points.seed == 1000]) == 0  # trials are not shown


def test_a_run_without_a_trivial_level_has_its_looks_alone(stored):
    stored["a"].metrics.clear()
    own = curves.table(ARMS)[lambda points: points.arm == "hard"]
    assert set(own[own.seed == 0].curve) == {"dev"}


def test_a_trivial_level_of_zero_is_none(stored):
    """The least of a smoke run's hardest margins may all be relaxed to nothing."""
    stored["a"].metrics["trivial loss"] = 0.0
    with np.errstate(all="raise"):
        own = curves.table(ARMS)[lambda points: points.arm == "hard"]
    assert set(own[own.seed == 0].curve) == {"dev"}


def test_what_is_drawn(stored):
    figure = curves.draw(curves.table(ARMS))
    left, right = figure.axes
    assert [text.get_text() for text in right.get_legend().get_texts()] == ["hard †", "idle ‡"]
    hard, idle = right.lines
    assert hard.get_ydata().tolist() == [51.0, 60.0]  # means over the seeds
    assert {line.get_linestyle() for line in left.lines} == {"-", "--"}
    assert left.get_ylim()[0] == 0


def test_another_loss_before_is_drawn_whole(stored):
    """Shares that another loss has before are on the axis, and the note says whose level it is."""
    early = curves.table(ARMS)
    early.loc[early[early.curve == "share"].index[0], "value"] = 40.0
    figure = curves.draw(early)
    left = figure.axes[0]
    assert left.get_yscale() == "log" and left.get_ylim()[1] > 40
    assert curves.OTHER_LOSS in figure.get_supxlabel()
    assert curves.OTHER_LOSS not in curves.draw(curves.table(ARMS)).get_supxlabel()


def test_seven_arms_take_two_rows(stored):
    many = pd.concat([ARMS[1:2].assign(arm=f"arm {i}") for i in range(7)])
    assert len(curves.draw(curves.table(many)).axes) == 4


def test_an_exhibit_that_trains_nothing_says_so(stored, capsys):
    book = SimpleNamespace(arms=lambda exhibit: ARMS[4:], profile=SimpleNamespace(name="laptop"))
    curves.show(book, "chan-F3")
    assert "chan-F3: none of its arms is trained in the laptop profile" in capsys.readouterr().out
