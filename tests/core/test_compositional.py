"""Accuracies on compositional probes: by hand, against slow loops, and what is refused."""

import numpy as np
import pytest
import torch
from alignbook.core.compositional import (
    LEAST_ATTRIBUTION,
    SYMMETRIC,
    by_kind,
    caption_accuracy,
    image_accuracy,
    macro_average,
    prefers,
)
from hypothesis import given, settings
from hypothesis import strategies as st

SCORES = st.lists(
    st.tuples(st.integers(-2, 2), st.integers(-2, 2), st.sampled_from("abc")),
    min_size=1,
    max_size=30,
)


def test_a_tie_is_wrong():
    assert prefers([1.0, 1.0, 1.0], [0.5, 1.0, 1.5]).tolist() == [True, False, False]
    assert caption_accuracy([1.0, 1.0, 1.0, 2.0], [0.5, 1.0, 1.5, 1.0]) == 50.0
    assert caption_accuracy(np.zeros(7), np.zeros(7)) == 0.0


def test_accuracy_by_hand_of_three_relations():
    """on: 3 of 4; in: 0 of 1; near: 1 of 1. Macro (75 + 0 + 100) / 3; without near 37.5."""
    correct = np.array([True, True, False, True, False, True])
    kinds = ["on", "on", "on", "on", "in", "near"]
    assert by_kind(correct, kinds) == {"in": 0.0, "near": 100.0, "on": 75.0}
    assert macro_average(correct, kinds) == pytest.approx(175 / 3)
    assert macro_average(correct, kinds, without=SYMMETRIC) == 37.5
    assert macro_average(correct, kinds, least=4) == 75.0
    assert macro_average(correct, kinds, least=2, without=("near",)) == 75.0


def test_kinds_with_exactly_the_least_number_count():
    correct = np.array([True] * 25 + [False] * 24)
    kinds = ["red_blue"] * 25 + ["old_new"] * 24
    assert LEAST_ATTRIBUTION == 25
    assert macro_average(correct, kinds, least=LEAST_ATTRIBUTION) == 100.0
    assert macro_average(correct, kinds, least=24) == 50.0


def test_image_accuracy_by_hand():
    found = image_accuracy(
        [0.9, 0.4, 0.7, 0.1], [0.1, 0.4, 0.2, 0.2], ["verb", "verb", "subject", "verb"]
    )
    assert list(found) == ["subject", "verb", "all"]
    assert found == {"subject": 100.0, "verb": pytest.approx(100 / 3), "all": 50.0}


@settings(max_examples=60, deadline=None)
@given(SCORES, st.integers(1, 4))
def test_against_slow_loops(rows, least):
    positive, negative, kinds = (list(column) for column in zip(*rows, strict=True))
    right: dict[str, list[float]] = {}
    for p, n, kind in rows:
        right.setdefault(kind, []).append(100.0 if p > n else 0.0)
    everything = [value for values in right.values() for value in values]
    assert caption_accuracy(positive, negative) == pytest.approx(np.mean(everything))
    found = image_accuracy(np.array(positive, float), torch.tensor(negative), kinds)
    assert found.pop("all") == pytest.approx(np.mean(everything))
    assert found == pytest.approx({kind: np.mean(values) for kind, values in right.items()})
    kept = [np.mean(v) for kind, v in right.items() if len(v) >= least and kind != "b"]
    correct = prefers(positive, negative)
    if kept:
        assert macro_average(correct, kinds, least, "b") == pytest.approx(np.mean(kept))
    else:
        with pytest.raises(ValueError, match="is left"):
            macro_average(correct, kinds, least, "b")


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_tensors_of_every_precision(dtype):
    positive = torch.tensor([0.5, 0.25, 0.5], dtype=dtype, requires_grad=True)
    assert prefers(positive, torch.tensor([0.25, 0.5, 0.5], dtype=dtype)).tolist() == [
        True,
        False,
        False,
    ]


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("which", [0, 1])
def test_scores_that_are_not_finite_are_refused_by_item(value, which):
    scores = np.zeros((2, 5))
    scores[which, 3] = value
    side = ("positive", "negative")[which]
    with pytest.raises(ValueError, match=f"^item 3: its {side} score is {value}"):
        caption_accuracy(*scores)


def test_shapes_that_do_not_fit_are_refused():
    for positive, negative in (([1.0], [1.0, 2.0]), ([], []), ([[1.0]], [[0.0]]), (1.0, 0.0)):
        with pytest.raises(ValueError, match="expected \\(N,\\)"):
            prefers(positive, negative)
    with pytest.raises(ValueError, match="as many names"):
        macro_average(np.array([True, False]), ["on"])
    with pytest.raises(ValueError, match="expected bool"):  # scores in the place of verdicts
        macro_average(np.array([0.3, 0.2]), ["on", "in"])
    with pytest.raises(ValueError, match="none of 1 kinds is left"):
        macro_average(np.array([True]), ["near"], without=SYMMETRIC)


def test_relations_left_out():
    """157 names; those with an order stay in, plainly symmetric ones don't."""
    assert len(SYMMETRIC) == 157
    assert {
        "near",
        "next to",
        "beside",
        "by",
        "with",
        "of",
        "around",
        "on the side of",
        "between",
        "touching",
        "wrapped in",
        "adjusting",
    } <= SYMMETRIC
    assert not SYMMETRIC & {
        "on",
        "in",
        "behind",
        "to the left of",
        "wearing",
        "above",
        "holding",
        "under",
        "pulled by",
        "pulling",
        "leaning against",
    }
    assert all(name == name.strip() and name for name in SYMMETRIC)
