"""Precision of training: what is computed in it, what stays float32, and a key of its own."""

from dataclasses import dataclass

import at_ranks
import numpy as np
import pytest
import torch
from alignbook.core import precision, training
from alignbook.store import runs
from alignbook.workbook import profiles, workbook

seen: list = []  # dtype of a product and of the loss, TF32, and dtype of a product at a look


@dataclass(frozen=True)
class Toy:
    """A run that notes in what its training computes; `inner` asks for another run."""

    inner: bool = False

    def compute(self, inputs, seed, folder, device):
        if self.inner:
            return {"key": runs.get(Toy(), seed).key}
        model = torch.nn.Linear(4, 4)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

        def loss_at(step):
            product = model(torch.ones(2, 4))
            loss = torch.nn.functional.cross_entropy(product, torch.tensor([0, 1]))
            seen.append((product.dtype, loss.dtype, torch.backends.cuda.matmul.allow_tf32))
            return loss

        def dev_at(step):
            seen.append(model(torch.ones(2, 4)).dtype)
            return 0.0

        descent = training.Descent(optimizer, training.warmup_cosine(optimizer, 1), 1)
        training.fit(model, descent, loss_at, folder, "toy", dev_at, [1])
        assert model.weight.dtype == model.weight.grad.dtype == torch.float32
        return {}


@pytest.fixture
def store(tmp_path, monkeypatch):
    seen.clear()
    monkeypatch.setattr(runs, "STORE", tmp_path)
    monkeypatch.setattr(runs, "code_hash", lambda module: "code")


@pytest.mark.parametrize(
    "kind, product, tf32",
    [
        ("float32", torch.float32, False),
        ("tf32", torch.float32, True),
        ("bf16", torch.bfloat16, False),
        ("float32", torch.float32, False),
    ],
)
def test_steps_are_computed_in_the_runs_precision_and_looks_in_float32(store, kind, product, tf32):
    runs.get(Toy(), 0, precision=kind)
    assert seen == [(product, torch.float32, tf32), torch.float32]
    assert not torch.backends.cuda.matmul.allow_tf32 and runs.precision() == "float32"


def test_a_precision_is_part_of_the_key_and_that_of_a_run_holds_for_those_it_asks_for(store):
    keys = {kind: runs.get(Toy(), 0, precision=kind).key for kind in precision.PRECISIONS}
    assert len(set(keys.values())) == 3 and runs.get(Toy(), 0).key == keys["float32"]
    for kind in precision.PRECISIONS:
        run = runs.get(Toy(inner=True), 0, precision=kind)
        assert run.metrics["key"] == keys[kind] and run.record["dtype"] == kind


def test_a_profile_names_it():
    assert workbook.open("smoke", device="cpu").trained == dict(device="cpu", precision="float32")
    book = workbook.open("smoke", settings="precision=bf16 processes=2", device="cpu")
    assert book.trained["precision"] == "bf16" and book.profile.processes == 2
    with pytest.raises(ValueError, match="precision=half: expected float32, tf32 or bf16"):
        profiles.get("smoke", overrides={"precision": "half"})


@pytest.mark.filterwarnings("ignore")  # the toys' masks and mixtures are poor
@pytest.mark.parametrize("case", ["chan", "comalign", "covalign", "gsl"])
def test_every_paper_trains_in_bfloat16(case, tmp_path, monkeypatch):
    """The first step's gradients point where those of float32 do, and are not the same."""
    monkeypatch.setattr(runs, "STORE", runs.STORE)
    exact = at_ranks.trained(case, tmp_path / "exact")
    monkeypatch.setattr(runs, "_precisions", ["bf16"])
    found = at_ranks.trained(case, tmp_path / "bf16")
    assert torch.isfinite(found["loss"]).all() and not torch.equal(found["loss"], exact["loss"])
    assert {x.dtype for x in found["gradients"].values()} == {torch.float32}
    one, other = (
        torch.cat([x.flatten() for x in each["gradients"].values()]) for each in (exact, found)
    )
    assert 0.98 < torch.cosine_similarity(one, other, dim=0) < 1 - 1e-7
    assert np.isfinite(found["metrics"]["test RSUM"])
