"""The loop: batches are a function of the step, a resumed run equals an unbroken one."""

import numpy as np
import pytest
import torch
from alignbook.core import training


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


def train(folder, stop_at=None, steps=12, look=None):
    """A toy; `look`: model, steps taken → the value on dev."""
    folder.mkdir(exist_ok=True)
    torch.manual_seed(3)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.05)

    def loss_at(step):
        if step == stop_at:
            raise Stop
        assert all(part.training for part in model)
        x = torch.from_numpy(np.random.default_rng(step).normal(size=(16, 4)).astype(np.float32))
        return (model(x) - x.sum(1, keepdim=True)).square().mean()

    schedule = training.warmup_cosine(optimizer, steps)
    descent = training.Descent(optimizer, schedule, steps, clip=1.0)
    on_dev = look and (lambda step: look(model, step))
    outcome = training.fit(model, descent, loss_at, folder, "toy", on_dev)
    return training.checksum(model), outcome


def on_dev(model, step):
    """A value on dev by a model that draws random numbers where it shouldn't."""
    assert not any(part.training for part in model.modules()) and not torch.is_grad_enabled()
    return torch.rand(3).sum() + model(torch.ones(5, 4)).sum()


@pytest.mark.parametrize("stop_at", [5, 7])  # the latter between two looks
def test_a_resumed_run_equals_an_unbroken_one(tmp_path, monkeypatch, stop_at):
    monkeypatch.setattr(training, "CHECKPOINT_SECONDS", 0.0)
    unbroken, whole = train(tmp_path / "a", look=on_dev)
    with pytest.raises(Stop):
        train(tmp_path / "b", stop_at=stop_at, look=on_dev)
    assert (tmp_path / "b" / "checkpoint.pt").exists()
    resumed, rest = train(tmp_path / "b", look=on_dev)
    assert resumed == unbroken  # weights, and so optimiser, schedule, dropout and batches
    for name, outcome in (("a", whole), ("b", rest)):
        training.save(torch.nn.Linear(1, 1), outcome, tmp_path / name)
    for name in ("loss", "rate", "dev", "gradients"):
        one, other = ((tmp_path / run / f"{name}.npy").read_bytes() for run in "ab")
        assert one == other, name
    assert len(whole["loss"]) == len(whole["rate"]) == 12 and rest["dev seconds"] > 0


def test_looks_at_dev_change_nothing_of_the_training(tmp_path):
    plain, without = train(tmp_path / "a")
    watched, found = train(tmp_path / "b", look=on_dev)
    assert watched == plain and found["loss"] == without["loss"]
    assert [step for step, _ in found["dev"]] == [0, 3, 5, 8, 10, 12] and without["dev"] == []


def test_a_part_that_was_in_evaluation_mode_stays_so():
    """A frozen tower within a model in training."""
    model = torch.nn.Sequential(torch.nn.Dropout(), torch.nn.Dropout().eval())
    training._look(model, lambda step: 0.0, 1)
    assert [part.training for part in model] == [True, False]


def test_the_last_look_is_at_the_finished_model(tmp_path):
    seen = {}

    def look(model, step):
        seen[step] = training.checksum(model)
        return 0.0

    finished, found = train(tmp_path, look=look, steps=4)
    assert list(seen) == [0, 1, 2, 3, 4] and len(set(seen.values())) == 5
    assert seen[4] == finished


@pytest.mark.parametrize(
    "values, best",
    [([1, 2, 5, 3, 4], 2), ([1, 2, 5, 5, 4], 2), ([7, 2, 5, 3, 4], 0), ([1, 2, 3, 4, 5], 4)],
)
def test_the_best_look_is_taken_back_the_first_of_equal_ones(tmp_path, values, best):
    seen = []

    def look(model, step):
        seen.append(training.checksum(model))
        return values[step]

    finished, found = train(tmp_path, look=look, steps=4)
    assert len(set(seen)) == 5 and finished == seen[-1]
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 1))
    assert training.take_best(model, found) == {"best step": best}
    assert training.checksum(model) == seen[best]
    head = torch.nn.Linear(8, 1)
    training.take_best(head, found, part="2.")
    assert torch.equal(head.weight, model[2].weight)


@pytest.mark.parametrize("values", [[1, 9, 5, 3, 4, 2], [1, 2, 5, 9, 4, 2], [1, 2, 5, 3, 4, 9]])
def test_a_resumed_run_has_the_best_look_of_an_unbroken_one(tmp_path, monkeypatch, values):
    monkeypatch.setattr(training, "CHECKPOINT_SECONDS", 0.0)
    sums, steps = {"a": [], "b": []}, [0, 3, 5, 8, 10, 12]
    look = lambda model, step: values[steps.index(step)]  # noqa: E731
    outcomes = {"a": train(tmp_path / "a", look=look)[1]}
    with pytest.raises(Stop):
        train(tmp_path / "b", stop_at=9, look=look)  # best look before, between or after
    outcomes["b"] = train(tmp_path / "b", look=look)[1]
    for name, outcome in outcomes.items():
        model = torch.nn.Sequential(
            torch.nn.Linear(4, 8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 1)
        )
        best = training.take_best(model, outcome)
        assert best == {"best step": steps[values.index(9)]}
        sums[name] = training.checksum(model)
    assert sums["a"] == sums["b"]


def test_the_learning_rate_of_each_step_is_kept(tmp_path):
    rates = train(tmp_path)[1]["rate"]
    assert rates[0] == pytest.approx(0.05) and rates[-1] < rates[1] < 0.05 + 1e-9


@pytest.mark.parametrize("clip, moved", [(0.0, 10.0), (2.0, 2.0), (20.0, 10.0)])
def test_a_descent_bounds_the_gradients_norm_or_does_not(tmp_path, clip, moved):
    model = torch.nn.Linear(1, 1, bias=False)
    before = model.weight.item()
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1.0)
    descent = training.Descent(optimizer, schedule, 1, clip)
    training.fit(model, descent, lambda step: 10 * model.weight.sum(), tmp_path, "toy")
    assert before - model.weight.item() == pytest.approx(moved, rel=1e-5)


def test_what_is_shown_of_a_look(tmp_path, monkeypatch):
    shown = []
    monkeypatch.setattr(
        training.progress, "show", lambda *line, dev=None: shown.append((line[1], dev))
    )
    train(tmp_path, look=lambda model, step: 10.0 * step)
    assert shown[1] == (2, 0.0) and shown[2:4] == [(3, 30.0), (4, 30.0)]  # the last one known
    assert shown[11] == (12, 120.0)


def test_a_loss_that_is_not_a_number_stops_the_run(tmp_path):
    model = torch.nn.Linear(1, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    schedule = training.warmup_cosine(optimizer, 3)
    with pytest.raises(FloatingPointError, match="nan at step 0 of 3"):
        training.fit(
            model,
            training.Descent(optimizer, schedule, 3),
            lambda step: model(torch.tensor([[torch.nan]])).sum(),
            tmp_path,
            "toy",
        )


def test_saved_weights_and_checksum(tmp_path):
    from safetensors.torch import load_file

    model = torch.nn.Linear(2, 2)
    metrics = training.save(
        model, {"loss": [1.0], "gradients": np.zeros((1, 4)), "seconds": 2.0}, tmp_path
    )
    weights = load_file(tmp_path / "weights.safetensors")
    assert torch.equal(weights["weight"], model.weight) and metrics["parameters"] == 6
    before = metrics["checksum"]
    with torch.no_grad():
        model.weight[0, 0] += 1e-6
    assert training.checksum(model) != before


def test_the_trivial_level_is_that_of_the_last_step_asked_of_the_finished_model(tmp_path):
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    descent = training.Descent(optimizer, training.warmup_cosine(optimizer, 6), 6)

    def trivial_at(step):
        assert step == 5 and not model.training and not torch.is_grad_enabled()
        return torch.tensor(2.5)

    def loss_at(step):
        return model(torch.ones(1, 2)).square().sum()

    outcome = training.fit(model, descent, loss_at, tmp_path, "toy", trivial_at=trivial_at)
    assert training.save(model, outcome, tmp_path)["trivial loss"] == 2.5
    assert "trivial loss" not in training.save(model, outcome | {"trivial": None}, tmp_path)
