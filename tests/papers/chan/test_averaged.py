"""SGRAF: what SGR and SAF of the same seed say together, and that nothing is trained for it."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from alignbook.core import retrieval
from alignbook.papers.chan import arms, averaged, hours
from alignbook.workbook import profiles
from alignbook.workbook.arm_runs import of_arm

NIGHT = profiles.get("overnight")


def of_method(method: str, checksum: str = "0"):
    """A stored run of a rival."""
    return SimpleNamespace(method=method, metrics={"parameters": 3, "checksum": checksum})


@pytest.fixture
def together(monkeypatch, tmp_path):
    """What `compute` says of two runs whose models have these scores."""

    def compute(first, second, each=1):
        scores = {"sgr": first, "saf": second}
        matcher = {name: torch.nn.Linear(1, 1) for name in scores}
        monkeypatch.setattr(
            averaged.rivals, "load", lambda run, *given: (matcher[run.method], "words")
        )

        def evaluate(model, vocabulary, dataset, features, split):
            assert (vocabulary, features, split) == ("words", "features", "test")
            return next(scores[name] for name, own in matcher.items() if own is model)

        monkeypatch.setattr(averaged.model, "evaluate", evaluate)
        given = SimpleNamespace(captions_per_image=each), "features", None, None, None
        inputs = of_method("sgr", "a"), of_method("saf", "b"), *given
        return averaged.Config().compute(inputs, 0, tmp_path, "cpu")

    return compute


def test_both_together_by_hand(together, tmp_path):
    """Either puts another caption first for the second picture; their mean puts its own there."""
    sgr = torch.tensor([[0.9, 0.1, 0.2], [0.8, 0.6, 0.1], [0.1, 0.2, 0.7]])
    saf = torch.tensor([[0.8, 0.2, 0.1], [0.1, 0.5, 0.6], [0.2, 0.3, 0.9]])
    found = together(sgr, saf)
    assert [retrieval.ranks(s, 1)[0].tolist() for s in (sgr, saf)] == [[1, 2, 1]] * 2
    assert found["test i2t R@1"] == found["test t2i R@1"] == 100
    assert np.load(tmp_path / "ranks_i2t.npy").tolist() == [1, 1, 1]
    assert found["steps"] == 0 and found["training seconds"] == 0 and found["parameters"] == 6
    assert "test 1K RSUM" not in found  # three pictures are no five folds


def test_a_run_with_itself_is_that_run(together):
    scores = torch.rand(10, 20, generator=torch.Generator().manual_seed(0))
    found = together(scores, scores, each=2)
    alone = retrieval.evaluate(scores, 2).named("test")
    alone |= retrieval.evaluate(scores, 2, folds=5).named("test 1K")
    assert {name: found[name] for name in alone} == alone


def test_the_arm_is_both_runs_of_its_seed(monkeypatch):
    asked = []

    def get(config, seed, inputs, **how):
        asked.append((config, seed, inputs, how))
        return f"run {len(asked)}"

    monkeypatch.setattr(arms.runs, "get", get)
    book = SimpleNamespace(profile=NIGHT, trained={"device": "x", "precision": "y"}, device="x")
    run = SimpleNamespace(record={"seed": 2})
    assert arms.measured(book, "chan-T1", "saf", run, ("given",)) is run and not asked
    assert arms.measured(book, "chan-T1", "sgraf", run, ("given",)) == "run 3"
    (sgr, *first), (saf, *second), last = asked
    assert [sgr, saf] == [arms.reasoning(name, NIGHT) for name in ("sgr", "saf")]
    assert first == second == [2, ("given",), book.trained]
    assert last == (averaged.Config(), 0, ("run 1", "run 2", "given"), {"device": "x"})


def test_it_trains_nothing_and_waits_for_both():
    both = of_arm("chan-T2", "sgr", NIGHT, "world") | of_arm("chan-T2", "saf", NIGHT, "world")
    assert of_arm("chan-T2", "sgraf", NIGHT, "world") == both and len(both) == 2
    assert hours.trainings("chan-T2", ["sgraf"], NIGHT, 0) == []
    assert len(hours.trainings("chan-T2", ["sgr", "saf", "sgraf"], NIGHT, 0)) == 2
