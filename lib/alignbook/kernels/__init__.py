"""All-pairs kernels: the products in which similarities spend their time, and what follows them.

`grouped_max` is the best codeword of every group for every query: CHAN's hard coding.

Fragments are *packed*: the vectors of all sets one after another `(N, d)`, and `offsets` `(B + 1,)`
int64, where each set begins and the last one ends. No padding is multiplied, none has to be masked.
Vectors are taken as they are: normalise them first.

A kernel is an operator of PyTorch (`torch.ops.alignbook`) with its gradient, in implementations that
agree: "reference", a short formula, and "cpu", blocks that stay near the processor. `choice` says
which one a device gets, `force_impl` sets another.
"""

from contextlib import contextmanager

import torch
from torch import Tensor

from alignbook.kernels import cpu, reference

IMPLEMENTATIONS = ("reference", "cpu")
_forced: list[str] = []


@contextmanager
def force_impl(name: str):
    """Within the block every kernel is the named implementation's.

    Raises
    ------
    ValueError
        For a name that is none of `IMPLEMENTATIONS`.
    """
    if name not in IMPLEMENTATIONS:
        raise ValueError(f"no implementation {name!r}; there are: {', '.join(IMPLEMENTATIONS)}")
    _forced.append(name)
    try:
        yield
    finally:
        _forced.pop()


def choice(device: str | torch.device = "cpu") -> str:
    """Which implementation tensors on a device get.

    >>> choice("cpu")
    'cpu'
    """
    if _forced:
        return _forced[-1]
    return "cpu" if torch.device(device).type == "cpu" else "reference"


def _implementation(tensor: Tensor):
    return cpu if choice(tensor.device) == "cpu" else reference


# --- The best codeword of every group --------------------------------------------------------------


def grouped_max(queries: Tensor, codewords: Tensor, offsets: Tensor) -> Tensor:
    """max_j q · c_j over the codewords j of every group: CHAN Eq. 5 and 6 with unit vectors.

    Parameters
    ----------
    queries : (Q, d) float
    codewords : (N, d) float
        Those of all groups, packed: group b holds rows ``offsets[b]`` to ``offsets[b + 1]``.
    offsets : (B + 1,) int64

    Returns
    -------
    (Q, B) float
        -inf of an empty group. Of equal codewords the first gets the gradient. Half precision comes
        back in float32, but "cpu" rounds every score to half precision before the maximum.

    Raises
    ------
    ValueError
        For shapes that do not fit, and offsets that do not rise from 0 to N.

    Examples
    --------
    >>> codewords = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])
    >>> grouped_max(torch.tensor([[0.6, 0.8]]), codewords, torch.tensor([0, 2, 3]))
    tensor([[ 0.8000, -0.6000]])
    """
    _check(queries, codewords, offsets)
    wanted = torch.is_grad_enabled() and (queries.requires_grad or codewords.requires_grad)
    return torch.ops.alignbook.grouped_max(queries, codewords, offsets, wanted)[0]


@torch.library.custom_op("alignbook::grouped_max", mutates_args=())
def _grouped_max(
    queries: Tensor, codewords: Tensor, offsets: Tensor, with_index: bool
) -> tuple[Tensor, Tensor]:
    """Maxima `(Q, B)` and which codeword of its group each is `(Q, B) int16`, or `(0,)`."""
    return _implementation(queries).grouped_max(queries, codewords, offsets, with_index)


@_grouped_max.register_fake
def _(queries, codewords, offsets, with_index):
    shape = queries.shape[0], offsets.shape[0] - 1
    best = queries.new_empty(shape, dtype=returned_in(queries.dtype))
    return best, queries.new_empty(shape if with_index else (0,), dtype=torch.int16)


@torch.library.custom_op("alignbook::grouped_max_backward", mutates_args=())
def _grouped_max_backward(
    grad: Tensor, queries: Tensor, codewords: Tensor, offsets: Tensor, index: Tensor
) -> tuple[Tensor, Tensor]:
    """Gradients of queries and codewords: every pair passes its own to its best codeword alone."""
    return _implementation(queries).grouped_max_backward(grad, queries, codewords, offsets, index)


@_grouped_max_backward.register_fake
def _(grad, queries, codewords, offsets, index):
    return torch.empty_like(queries), torch.empty_like(codewords)


def _keep(ctx, inputs, output):
    queries, codewords, offsets, _ = inputs
    ctx.save_for_backward(queries, codewords, offsets, output[1])


def _of_best(ctx, grad, _):
    queries, codewords, offsets, index = ctx.saved_tensors
    found = torch.ops.alignbook.grouped_max_backward(grad, queries, codewords, offsets, index)
    return *found, None, None


_grouped_max.register_autograd(_of_best, setup_context=_keep)


def returned_in(dtype: torch.dtype) -> torch.dtype:
    """The type that maxima of a type are returned in: float32 at the least."""
    return torch.promote_types(dtype, torch.float32)


def _check(queries, codewords, offsets) -> None:
    for name, x in (("queries", queries), ("codewords", codewords)):
        if x.ndim != 2 or not x.is_floating_point():
            raise ValueError(f"{name} must be (N, d) of floats, not {tuple(x.shape)} of {x.dtype}")
    if queries.shape[1] != codewords.shape[1]:
        raise ValueError(f"queries have d = {queries.shape[1]} but codewords d = "
                         f"{codewords.shape[1]}; project both into one space first")
    if offsets.ndim != 1 or offsets.dtype != torch.int64 or not len(offsets):
        raise ValueError(f"offsets must be (B + 1,) int64, not {tuple(offsets.shape)} of "
                         f"{offsets.dtype}")
    if offsets[0] != 0 or offsets[-1] != len(codewords) or (offsets.diff() < 0).any():
        raise ValueError(f"offsets must rise from 0 to the {len(codewords)} codewords, not "
                         f"{offsets.tolist()[:6]}…")
