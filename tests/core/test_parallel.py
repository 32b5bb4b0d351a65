"""Two ranks, forks of this process, compute what one does: parts, gathers, gradients, decisions."""

import os
import time
from dataclasses import dataclass

import at_ranks
import pytest
import torch
from alignbook.core import losses, parallel, precision
from alignbook.store import ranks, runs

forked = pytest.mark.skipif(
    torch.cuda.is_available() or not hasattr(os, "fork"), reason="a process with CUDA can't fork"
)
PLACES = torch.arange(5)
LENGTHS = torch.tensor([2, 1, 3, 1, 4])


class Pair(torch.nn.Module):
    """Encoders of both sides, and what acts after the gather: a temperature, a head on pairs."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(ranks.rank())  # ranks must not depend on being seeded alike
        self.image, self.text = torch.nn.Linear(3, 4), torch.nn.Linear(3, 4)
        self.head, self.heat = torch.nn.Linear(4, 1), torch.nn.Parameter(torch.tensor(0.3))

    def encode(self, images, captions):
        return self.image(images).tanh(), self.text(captions).tanh()

    def loss(self, x, y):
        return losses.info_nce(self.compare(x, y), temperature=self.heat.exp())

    def compare(self, x, y):
        return self.head((x[:, None] - y).square())[..., 0]


def gradients(work):
    """Loss and gradients of the five pairs of a `Pair`, whose loss is what `work` makes of it."""
    draw = torch.Generator().manual_seed(3)
    images, captions = torch.randn(2, 5, 3, generator=draw)
    model = Pair()
    parallel.begin_alike(model)
    loss = work(model, images, captions)
    loss.backward()
    accelerator = precision.accelerator(torch.device("cpu"), "float32")
    parallel.average_gradients(model, accelerator)
    return loss.detach(), {name: p.grad for name, p in model.named_parameters()}


def by_rows(model, images, captions):
    images, captions = parallel.part(0, 0, images, captions)
    return model.loss(*parallel.gathered(*model.encode(images, captions)))


def by_columns(model, images, captions):
    x, y = model.encode(images, captions)
    scores = parallel.by_columns(lambda some: model.compare(x, y[some]), len(y))
    return losses.info_nce(scores, temperature=model.heat.exp()) + x.square().mean()


@forked
@pytest.mark.parametrize("work", [by_rows, by_columns])
def test_loss_and_every_gradient_are_those_of_one_process(work, tmp_path):
    """Three rows and two; before the gather, after it, and past it."""
    one, alone = gradients(work)
    for loss, found in at_ranks.on_ranks(2, tmp_path, lambda: gradients(work)):
        torch.testing.assert_close(loss, one, rtol=1e-6, atol=0)
        for name, gradient in alone.items():
            error = (found[name] - gradient).norm() / gradient.norm()
            assert error < 1e-6 or gradient.norm() < 1e-6, (name, float(error))


def encoded():
    """Places, words with zeros after their end, a mask and nothing, as parts and gathered."""
    places, lengths = parallel.part(0, 0, PLACES, LENGTHS)
    real = torch.arange(int(lengths.max())) < lengths[:, None]
    words = torch.where(real, 1.0 + places[:, None], 0)[..., None]
    return parallel.gathered(places, lengths, words, real, None)


@forked
def test_parts_of_different_length_are_gathered_in_their_order(tmp_path):
    alone = encoded()
    assert alone[2].shape == (5, 4, 1) and alone[4] is None
    for found in at_ranks.on_ranks(2, tmp_path, encoded):
        for one, other in zip(alone[:4], found[:4]):
            assert one.dtype == other.dtype and torch.equal(one, other)
        assert found[4] is None


def draws():
    found = []
    for seed, step in ((0, 0), (0, 0), (0, 1), (1, 0)):
        torch.manual_seed(5)
        parallel.part(seed, step, PLACES)
        found.append(torch.rand(3))
    return torch.stack(found)


@forked
def test_a_rank_draws_by_seed_and_step_and_the_first_as_it_would_alone(tmp_path):
    first, second = at_ranks.on_ranks(2, tmp_path, draws)
    assert torch.equal(first, draws()) and (first == first[0]).all()
    assert torch.equal(second[0], second[1])
    assert len({tuple(each.tolist()) for each in [first[0], *second[1:]]}) == 4


def refused():
    with pytest.raises(ValueError, match="a batch of 1 for 2 processes"):
        parallel.part(0, 0, PLACES[:1])
    return True


@forked
def test_a_batch_with_fewer_rows_than_ranks_is_refused(tmp_path):
    assert at_ranks.on_ranks(2, tmp_path, refused) == [True, True]


# --- What rank 0 decides -------------------------------------------------------------------------


def decided():
    """Answers and errors of rank 0 reach all; within `alone` it is by itself."""
    answer = ranks.told(lambda: ("rank", ranks.rank()))
    with pytest.raises(BlockingIOError, match="of 0"):
        ranks.told(lambda: (_ for _ in ()).throw(BlockingIOError(f"of {ranks.rank()}")))
    with ranks.alone():
        inner = ranks.count(), ranks.rank(), ranks.told(lambda: "own")
    return answer, inner, ranks.count()


@forked
def test_the_first_rank_decides(tmp_path):
    expected = ("rank", 0), (1, 0, "own"), 2
    assert at_ranks.on_ranks(2, tmp_path, decided) == [expected, expected]


@dataclass(frozen=True)
class Job:
    """A run that notes who computes it, in files beside the store."""

    together: bool

    def compute(self, inputs, seed, folder, device):
        (runs.STORE.parent / f"{self.together}-{os.getpid()}").touch()
        (folder / "made").write_text("by the first rank" if ranks.rank() == 0 else "aside")
        time.sleep(0.2)
        return {"ranks": ranks.count()}


def asked(store):
    runs.STORE, runs.code_hash = store, lambda module: "code"
    found = [runs.several([(Job(each), 0)])[0] for each in (True, False)]
    assert (store / found[0].key / "made").read_text() == "by the first rank"
    return [(run.key, run.record["ranks"], run.metrics["ranks"]) for run in found]


@forked
def test_a_run_is_claimed_once_and_computed_by_all_or_by_the_first(tmp_path):
    one, other = at_ranks.on_ranks(2, tmp_path, lambda: asked(tmp_path / "store"))
    assert one == other and [each[1:] for each in one] == [(2, 2), (1, 1)]
    assert len(list(tmp_path.glob("True-*"))) == 2 and len(list(tmp_path.glob("False-*"))) == 1
