"""Data parallel training: each rank encodes its part of a batch and compares it with all of it.

Started by torchrun, W ranks take the steps that one process would: the batch of a step is the same
whatever W is. A rank encodes its `part`; `gathered` hands every rank the encodings of all, so that
the negatives are those of the whole batch, and each rank computes the whole loss.

Gradients. Rank r knows the whole of ∂L/∂x_r for what it encoded, but carries it back through its own
part alone: the encoders' gradient is the *sum* over ranks. Parameters that act after the gather,
such as a temperature, have their whole gradient on every rank: theirs is the *mean*. So the gather
multiplies ∂L/∂x_r by W, and `average_gradients` takes the mean of all.

What is drawn at random, by dropout above all, is drawn by each rank for its part: it has the
distribution it has in one process, not the values. Without such draws W ranks and one process differ
by rounding. With one process nothing here does anything.
"""

from collections.abc import Callable

import numpy as np
import torch
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from alignbook.store import ranks


def part(seed: int, step: int, *batch: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """This rank's rows of a step's tensors, `(B, …)` each; parts differ by one row at most.

    From here to the next part a rank other than the first draws random numbers of its own, by seed
    and step: otherwise two ranks would drop out the same of different pictures. As they depend on
    nothing else, a checkpoint need not hold them.

    ValueError for fewer rows than ranks.
    """
    count, rank = ranks.count(), ranks.rank()
    if len(batch[0]) < count:
        raise ValueError(
            f"a batch of {len(batch[0])} for {count} processes: expected one row for each at least; "
            "take fewer processes"
        )
    if rank:
        torch.manual_seed(int(np.random.default_rng([seed, step, rank]).integers(2**62)))
    return tuple(x.tensor_split(count)[rank] for x in batch) if count > 1 else batch


def gathered(*parts: torch.Tensor | None) -> tuple:
    """The rows of all ranks, in their order, for each tensor `(B_r, …)`: `(B, …)`, with gradient.

    Where ranks differ in another dimension than the first, as captions do in their longest, the
    shorter are filled up with zeros (of a mask: False). None stays None.
    """
    if ranks.count() == 1:
        return parts
    return tuple(None if x is None else _gathered(x) for x in parts)


def _gathered(x: torch.Tensor) -> torch.Tensor:
    own = torch.tensor(x.shape)
    shapes = [torch.empty_like(own) for _ in range(ranks.count())]
    torch.distributed.all_gather(shapes, own)
    most = torch.stack(shapes).amax(0)
    missing = [n for behind in (most - own).flip(0).tolist() for n in (0, behind)]
    rows = [int(shape[0]) for shape in shapes]
    return torch.cat([each[:n] for each, n in zip(_Gather.apply(F.pad(x, missing)), rows)])


class _Gather(torch.autograd.Function):
    """`(B_r, …)` of one shape on all ranks → `(W, B_r, …)`."""

    @staticmethod
    def forward(ctx, x):
        found = [torch.empty_like(x) for _ in range(ranks.count())]
        torch.distributed.all_gather(found, x.contiguous())
        return torch.stack(found)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        # Nothing is sent: every rank has computed the same loss, and so this whole gradient.
        return grad[ranks.rank()] * ranks.count()


def begin_alike(model: torch.nn.Module) -> None:
    """Give all ranks the parameters, buffers and random numbers of the first."""
    if ranks.count() == 1:
        return
    for x in (*model.parameters(), *model.buffers()):
        torch.distributed.broadcast(x.detach(), 0)
    torch.set_rng_state(ranks.told(torch.get_rng_state))
    if torch.cuda.is_initialized():
        torch.cuda.set_rng_state(ranks.told(torch.cuda.get_rng_state))


def by_columns(scores: Callable[..., torch.Tensor], columns: int) -> torch.Tensor:
    """A matrix of which each rank computes some columns: `scores` of these `(B, n)` → `(B, columns)`.

    For what costs more in comparing than in encoding, and for batch normalisation: every rank
    encodes the whole batch, and draws the same random numbers for it.
    """
    if ranks.count() == 1 or columns < ranks.count():
        return scores(slice(None))
    own = torch.arange(columns).tensor_split(ranks.count())[ranks.rank()]
    return gathered(scores(own).T)[0].T


def average_gradients(model: torch.nn.Module, accelerator) -> None:
    """Put the mean over ranks in place of each parameter's gradient."""
    if ranks.count() == 1:
        return
    found = [p.grad for p in model.parameters() if p.grad is not None]
    mean = accelerator.reduce(torch.cat([grad.flatten() for grad in found]), "mean")
    for grad, new in zip(found, mean.split([grad.numel() for grad in found])):
        grad.copy_(new.view_as(grad))
