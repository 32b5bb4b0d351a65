"""The loop: batches are a function of the step, a resumed run equals an unbroken one."""

import numpy as np
import pytest
import torch

from alignbook import training


def test_an_epoch_passes_every_image_once_and_never_twice_in_a_batch():
    seen = [training.pairs_in_batch(10, 3, 5, seed=0, step=s) for s in range(3)]
    images = torch.cat([i for i, _ in seen])
    assert len(images) == 9 and len(images.unique()) == 9  # 10 // 3 batches of 3
    for image, caption in seen:
        assert (caption // 5 == image).all()


def test_five_epochs_see_every_caption_of_every_image():
    pairs = [training.pairs_in_batch(6, 3, 5, seed=4, step=s)[1] for s in range(2 * 5)]
    assert sorted(torch.cat(pairs).tolist()) == list(range(30))


def test_batches_depend_on_seed_and_epoch():
    first = training.pairs_in_batch(100, 100, 5, seed=0, step=0)[0]
    assert not torch.equal(first, training.pairs_in_batch(100, 100, 5, seed=1, step=0)[0])
    assert not torch.equal(first, training.pairs_in_batch(100, 100, 5, seed=0, step=1)[0])
    assert torch.equal(first, training.pairs_in_batch(100, 100, 5, seed=0, step=0)[0])


def test_warmup_rises_then_falls_to_nothing():
    parameter = torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([parameter], lr=1.0)
    schedule = training.warmup_cosine(optimizer, steps=100, warmup=0.1)
    rates = []
    for _ in range(100):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step(), schedule.step()
    assert rates[0] == pytest.approx(0.1) and rates[9] == pytest.approx(1.0)
    assert rates[10] == pytest.approx(1.0) and rates[55] == pytest.approx(0.5)
    assert all(a >= b for a, b in zip(rates[10:], rates[11:])) and rates[-1] < 0.001


class Stop(Exception):
    pass


def train(folder, stop_at=None, steps=12):
    torch.manual_seed(3)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.05)

    def loss_at(step):
        if step == stop_at:
            raise Stop
        x = torch.from_numpy(np.random.default_rng(step).normal(size=(16, 4)).astype(np.float32))
        return (model(x) - x.sum(1, keepdim=True)).square().mean()

    schedule = training.warmup_cosine(optimizer, steps)
    outcome = training.fit(model, optimizer, schedule, steps, loss_at, folder, "toy", clip=1.0)
    return training.checksum(model), outcome


def test_a_resumed_run_equals_an_unbroken_one(tmp_path, monkeypatch):
    monkeypatch.setattr(training, "CHECKPOINT_SECONDS", 0.0)
    (tmp_path / "a").mkdir(), (tmp_path / "b").mkdir()
    unbroken, whole = train(tmp_path / "a")
    with pytest.raises(Stop):
        train(tmp_path / "b", stop_at=7)
    assert (tmp_path / "b" / "checkpoint.pt").exists()
    resumed, rest = train(tmp_path / "b")
    assert resumed == unbroken  # weights, and so optimiser, schedule, dropout and batches
    assert rest["loss"] == whole["loss"]
    assert np.array_equal(rest["gradients"], whole["gradients"])


def test_a_loss_that_is_not_a_number_stops_the_run(tmp_path):
    model = torch.nn.Linear(1, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    schedule = training.warmup_cosine(optimizer, 3)
    with pytest.raises(FloatingPointError, match="nan at step 0 of 3"):
        training.fit(model, optimizer, schedule, 3,
                     lambda step: model(torch.tensor([[torch.nan]])).sum(), tmp_path, "toy")


def test_saved_weights_and_checksum(tmp_path):
    from safetensors.torch import load_file

    model = torch.nn.Linear(2, 2)
    metrics = training.save(model, {"loss": [1.0], "gradients": np.zeros((1, 4)), "seconds": 2.0},
                            tmp_path)
    weights = load_file(tmp_path / "weights.safetensors")
    assert torch.equal(weights["weight"], model.weight) and metrics["parameters"] == 6
    before = metrics["checksum"]
    with torch.no_grad():
        model.weight[0, 0] += 1e-6
    assert training.checksum(model) != before
