"""Where there is a GPU: it trains what a processor trains, goes on exactly, and rounds as it is told.

The toys of `at_ranks`, small enough for either.
"""

import at_ranks
import numpy as np
import pytest
import torch
from alignbook.core import precision, training
from alignbook.store import runs

pytestmark = [
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU of NVIDIA's"),
    pytest.mark.filterwarnings("ignore"),  # the toys' masks and mixtures are poor
]


@pytest.fixture(autouse=True)
def on_the_gpu(monkeypatch):
    monkeypatch.setattr(at_ranks, "DEVICE", "cuda")
    monkeypatch.setattr(runs, "STORE", runs.STORE)


@pytest.mark.parametrize("case", ("chan", "comalign", "covalign"))
def test_it_trains_what_a_processor_trains(case, tmp_path, monkeypatch):
    found = at_ranks.trained(case, tmp_path / "gpu")
    monkeypatch.setattr(at_ranks, "DEVICE", "cpu")
    expected = at_ranks.trained(case, tmp_path / "cpu")
    largest = max(gradient.abs().max() for gradient in expected["gradients"].values())
    for name, gradient in expected["gradients"].items():
        own = found["gradients"][name].cpu()
        torch.testing.assert_close(own, gradient, rtol=1e-3, atol=1e-4 * float(largest))
    torch.testing.assert_close(found["loss"], expected["loss"], rtol=1e-4, atol=1e-4)


def test_gsl_trains_there(tmp_path):
    """With dropout, which a GPU draws differently."""
    found = at_ranks.trained("gsl", tmp_path)
    assert torch.isfinite(found["loss"]).all() and len(found["loss"]) == at_ranks.STEPS


@pytest.mark.parametrize("kind", precision.PRECISIONS)
def test_an_interrupted_training_ends_as_an_unbroken_one(kind, tmp_path, monkeypatch):
    """Dropout included, in every precision: the numbers that the GPU draws are in the checkpoint."""
    monkeypatch.setattr(training, "CHECKPOINT_SECONDS", 0)
    pairs, dropping = training.pairs_in_batch, dict(region_drop=0.2, word_dropout=0.2)

    def train(folder):
        folder.mkdir(exist_ok=True)
        torch.manual_seed(0)
        with runs._at_precision(kind):
            at_ranks.of_chan(folder, **dropping)
        return [np.load(folder / f"{name}.npy").tobytes() for name in ("loss", "dev")]

    unbroken = train(tmp_path / "a")

    def cut(n, batch, each, seed, step):
        if step == 4:
            raise KeyboardInterrupt
        return pairs(n, batch, each, seed, step)

    monkeypatch.setattr(training, "pairs_in_batch", cut)
    with pytest.raises(KeyboardInterrupt):
        train(tmp_path / "b")
    monkeypatch.setattr(training, "pairs_in_batch", pairs)
    torch.rand(5, device="cuda")  # someone else draws
    assert train(tmp_path / "b") == unbroken


def test_products_are_rounded_as_asked(tmp_path):
    a, b = (torch.randn(256, 256, generator=torch.Generator().manual_seed(i)) for i in (0, 1))
    exact, a, b = a.double() @ b.double(), a.cuda(), b.cuda()

    def error(product):
        return float((product.cpu().double() - exact).abs().max() / exact.abs().max())

    assert error(a @ b) < 1e-6
    with precision.tf32(True):
        assert 1e-5 < error(a @ b) < 1e-2
    with precision.accelerator(torch.device("cuda"), "bf16").autocast():
        assert (a @ b).dtype is torch.bfloat16 and 1e-4 < error(a @ b) < 5e-2
        assert error(precision.product(a, b)) < 1e-6  # similarities stay
    assert error(a @ b) < 1e-6
