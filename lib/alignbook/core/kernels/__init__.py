"""All-pairs kernels: the products in which similarities spend their time, and what follows them.

- `grouped_max`: the best codeword of every group for every query; CHAN's hard coding.
- `fgm`: means of such maxima in both directions from one product; ComAlign's, CoV-Align's matching.
- `soft_coding`: cosine to the codewords a query attends to; CHAN's cross-attention.

Fragments are *packed*: the vectors of all sets one after another `(N, d)`, and `offsets` `(B + 1,)`
int64, where each set begins and the last one ends. No padding is multiplied, none has to be masked.
Vectors are taken as they are: normalise them first.

A kernel is an operator of PyTorch (`torch.ops.alignbook`) with its gradient, in implementations that
agree: "reference", short formulas; "cpu", blocks that stay near the processor; "triton", for CUDA.
`choice` says which one a device gets and why, `force_impl` sets another.
"""

import importlib.util
import inspect
import os
import shutil
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from alignbook.core.kernels import cpu, reference
from alignbook.core.kernels.reference import returned_in

IMPLEMENTATIONS = ("reference", "cpu", "triton")
MOST = 2**15  # members of a set: places are kept as int16
KEPT = 2**26  # scores that may be kept for a gradient, 256 MB of float32
_forced: ContextVar[str] = ContextVar("forced", default="")
# PyTorch asks for the source of every operator, and inspect would look through all modules for it.
inspect.modulesbyfile[__file__] = __name__


class Packed(NamedTuple):
    """The vectors of some sets, one after another."""

    vectors: Tensor  # (N, d)
    offsets: Tensor  # (B + 1,) int64, where each set begins and the last one ends


def pack(padded: Tensor, lengths: Tensor) -> Packed:
    """The first `lengths` `(B,)` fragments of each row of `(B, L, d)`.

    >>> pack(torch.ones(2, 3, 1), torch.tensor([1, 2])).offsets
    tensor([0, 1, 3])
    """
    longest = padded.shape[1]
    offsets = F.pad(lengths.long().cumsum(0), (1, 0))
    if (lengths == longest).all():
        return Packed(padded.flatten(0, 1), offsets)
    return Packed(padded[torch.arange(longest, device=padded.device) < lengths[:, None]], offsets)


@contextmanager
def force_impl(name: str):
    """Within the block, in this thread, every kernel is the named implementation's.

    What is differentiated later is differentiated by the implementation that computed it. Triton
    has no products of float64: for these "triton" is the reference.

    Raises
    ------
    ValueError
        For a name that is none of `IMPLEMENTATIONS`.
    """
    if name not in IMPLEMENTATIONS:
        raise ValueError(f"no implementation {name!r}; there are: {', '.join(IMPLEMENTATIONS)}")
    token = _forced.set(name)
    try:
        yield
    finally:
        _forced.reset(token)


def choice(device: str | torch.device = "cpu") -> tuple[str, str]:
    """Which implementation tensors on a device get, and why.

    >>> choice("cpu")
    ('cpu', 'blocks that stay near the processor')
    """
    if _forced.get():
        return _forced.get(), "forced"
    kind = torch.device(device).type
    if kind != "cuda":
        return (
            ("cpu", "blocks that stay near the processor")
            if kind == "cpu"
            else ("reference", f"there is no kernel for {kind}")
        )
    if importlib.util.find_spec("triton") is None:
        return "reference", "triton is not installed"
    compilers = os.environ.get("CC") or "cc", "gcc", "clang"
    if not any(map(shutil.which, compilers)):
        return "reference", "triton needs a C compiler and there is none: install gcc or clang"
    return "triton", "compiled for this device when first used"


def _name(tensor: Tensor) -> str:
    name, _ = choice(tensor.device)
    return "reference" if name == "triton" and tensor.dtype == torch.float64 else name


def _implementation(name: str):
    if name == "triton":
        from alignbook.core.kernels import gpu

        return gpu
    return cpu if name == "cpu" else reference


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
        -inf for an empty group. The first of equal codewords gets the gradient. Half precision
        comes back in float32, but "cpu" rounds every score to half precision before the maximum.

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
    _check_widths(queries=queries, codewords=codewords)
    check_offsets(offsets, codewords, "codewords")
    wanted = torch.is_grad_enabled() and (queries.requires_grad or codewords.requires_grad)
    return torch.ops.alignbook.grouped_max(queries, codewords, offsets, wanted)[0]


@torch.library.custom_op("alignbook::grouped_max", mutates_args=())
def _grouped_max(
    queries: Tensor, codewords: Tensor, offsets: Tensor, with_index: bool
) -> tuple[Tensor, Tensor]:
    """Maxima `(Q, B)` and which codeword of its group each is `(Q, B) int16`, or `(0,)`."""
    return _implementation(_name(queries)).grouped_max(queries, codewords, offsets, with_index)


@_grouped_max.register_fake
def _(queries, codewords, offsets, with_index):
    shape = queries.shape[0], offsets.shape[0] - 1
    best = queries.new_empty(shape, dtype=returned_in(queries.dtype))
    return best, queries.new_empty(shape if with_index else (0,), dtype=torch.int16)


@torch.library.custom_op("alignbook::grouped_max_backward", mutates_args=())
def _grouped_max_backward(
    grad: Tensor, queries: Tensor, codewords: Tensor, offsets: Tensor, index: Tensor, name: str
) -> tuple[Tensor, Tensor]:
    """Gradients of queries and codewords: every pair passes its own to its best codeword alone."""
    return _implementation(name).grouped_max_backward(grad, queries, codewords, offsets, index)


@_grouped_max_backward.register_fake
def _(grad, queries, codewords, offsets, index, name):
    return torch.empty_like(queries), torch.empty_like(codewords)


def _keep_best(ctx, inputs, output):
    queries, codewords, offsets, _ = inputs
    ctx.name = _name(queries)
    ctx.save_for_backward(queries, codewords, offsets, output[1])


def _to_best(ctx, grad, _):
    found = torch.ops.alignbook.grouped_max_backward(grad, *ctx.saved_tensors, ctx.name)
    return *found, None, None


_grouped_max.register_autograd(_to_best, setup_context=_keep_best)


# --- Both directions of matching sets --------------------------------------------------------------


def fgm(x: Tensor, x_offsets: Tensor, y: Tensor, y_offsets: Tensor) -> tuple[Tensor, Tensor]:
    """Mean over one set's members of the best of the other's, both ways: ComAlign Eq. 2, as Eq. 3 and 4
    take it.

    Parameters
    ----------
    x, y : (Nx, d) and (Ny, d) float
        The members of all sets, packed.
    x_offsets, y_offsets : (B1 + 1,) and (B2 + 1,) int64

    Returns
    -------
    x_to_y, y_to_x : (B1, B2) float
        For sets b and b', ``mean_{i in b} max_{j in b'} x_i · y_j`` and ``mean_j max_i x_i · y_j``;
        0, without a gradient, where either set is empty. Half precision as in `grouped_max`.

    Raises
    ------
    ValueError
        As `grouped_max`.

    Examples
    --------
    >>> x, y = torch.tensor([[1.0, 0.0], [0.0, 1.0]]), torch.tensor([[0.6, 0.8]])
    >>> fgm(x, torch.tensor([0, 2]), y, torch.tensor([0, 1]))
    (tensor([[0.7000]]), tensor([[0.8000]]))
    """
    _check_widths(x=x, y=y)
    check_offsets(x_offsets, x, "x")
    check_offsets(y_offsets, y, "y")
    wanted = torch.is_grad_enabled() and (x.requires_grad or y.requires_grad)
    return torch.ops.alignbook.fgm(x, x_offsets, y, y_offsets, wanted)[:2]


@torch.library.custom_op("alignbook::fgm", mutates_args=())
def _fgm(
    x: Tensor, x_offsets: Tensor, y: Tensor, y_offsets: Tensor, with_index: bool
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Both means `(B1, B2)`; for the gradient, which of each other set is best for every member:
    `(Nx, B2)` and `(Ny, B1) int16`, in an order that is the implementation's own, or `(0,)`.
    """
    return _implementation(_name(x)).fgm(x, x_offsets, y, y_offsets, with_index)


@_fgm.register_fake
def _(x, x_offsets, y, y_offsets, with_index):
    sets = x_offsets.shape[0] - 1, y_offsets.shape[0] - 1
    places = (x.shape[0], sets[1]), (y.shape[0], sets[0])
    return *(x.new_empty(sets, dtype=returned_in(x.dtype)) for _ in places), *(
        x.new_empty(shape if with_index else (0,), dtype=torch.int16) for shape in places
    )


@torch.library.custom_op("alignbook::fgm_backward", mutates_args=())
def _fgm_backward(
    x_grad: Tensor,
    y_grad: Tensor,
    x: Tensor,
    x_offsets: Tensor,
    y: Tensor,
    y_offsets: Tensor,
    x_index: Tensor,
    y_index: Tensor,
    name: str,
) -> tuple[Tensor, Tensor]:
    """Gradients of x and y."""
    return _implementation(name).fgm_backward(
        x_grad, y_grad, x, x_offsets, y, y_offsets, x_index, y_index
    )


@_fgm_backward.register_fake
def _(x_grad, y_grad, x, x_offsets, y, y_offsets, x_index, y_index, name):
    return torch.empty_like(x), torch.empty_like(y)


def _keep_both(ctx, inputs, output):
    ctx.name = _name(inputs[0])
    ctx.save_for_backward(*inputs[:4], *output[2:])


def _to_both(ctx, x_grad, y_grad, *_):
    dx, dy = torch.ops.alignbook.fgm_backward(x_grad, y_grad, *ctx.saved_tensors, ctx.name)
    return dx, None, dy, None, None


_fgm.register_autograd(_to_both, setup_context=_keep_both)


# --- Cosine to what is attended to -----------------------------------------------------------------


def soft_coding(queries: Tensor, codewords: Tensor, offsets: Tensor, temperature: float) -> Tensor:
    """Cosine of every query and its mixture of each group: CHAN Eq. 1, 2 and 4.

    With s_j = q · c_j and ω = softmax_j(s_j / temperature) the mixture ĉ = Σ_j ω_j c_j, d numbers
    for every query and group, is never built: q · ĉ = Σ_j ω_j s_j, and |ĉ|² = ωᵀ G ω with the
    group's Gram matrix G.

    Parameters
    ----------
    queries, codewords, offsets
        As for `grouped_max`, of length 1 (a zero vector may stay zero).
    temperature : float
        τ of Eq. 4, positive.

    Returns
    -------
    (Q, B) float
        0 for an empty group, and for codewords that cancel. Half precision is computed in float32.

    Raises
    ------
    ValueError
        As `grouped_max`, and for a temperature that is not positive.

    Examples
    --------
    >>> codewords = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    >>> soft_coding(torch.tensor([[1.0, 0.0]]), codewords, torch.tensor([0, 2]), 1e6)
    tensor([[0.7071]])
    """
    _check_widths(queries=queries, codewords=codewords)
    check_offsets(offsets, codewords, "codewords")
    if not temperature > 0:
        raise ValueError(
            f"temperature must be positive, not {temperature}; for the limit 0 use grouped_max"
        )
    wanted = torch.is_grad_enabled() and (queries.requires_grad or codewords.requires_grad)
    keep = wanted and _name(queries) == "cpu" and len(queries) * len(codewords) <= KEPT
    return torch.ops.alignbook.soft_coding(queries, codewords, offsets, temperature, keep)[0]


@torch.library.custom_op("alignbook::soft_coding", mutates_args=())
def _soft_coding(
    queries: Tensor, codewords: Tensor, offsets: Tensor, temperature: float, keep: bool
) -> tuple[Tensor, Tensor]:
    """Cosines `(Q, B)`; to be kept for the gradient `(N + 3 B, Q)`, the scores and three numbers of
    every cosine, in an order that is the implementation's own, or `(0,)`.
    """
    return _implementation(_name(queries)).soft_coding(
        queries, codewords, offsets, temperature, keep
    )


@_soft_coding.register_fake
def _(queries, codewords, offsets, temperature, keep):
    dtype = returned_in(queries.dtype)
    groups = offsets.shape[0] - 1
    scores = (codewords.shape[0] + 3 * groups, queries.shape[0]) if keep else (0,)
    return (
        queries.new_empty(queries.shape[0], groups, dtype=dtype),
        queries.new_empty(scores, dtype=dtype),
    )


@torch.library.custom_op("alignbook::soft_coding_backward", mutates_args=())
def _soft_coding_backward(
    grad: Tensor,
    queries: Tensor,
    codewords: Tensor,
    offsets: Tensor,
    temperature: float,
    kept: Tensor,
    name: str,
) -> tuple[Tensor, Tensor]:
    """Gradients of queries and codewords; weights are computed once more."""
    return _implementation(name).soft_coding_backward(
        grad, queries, codewords, offsets, temperature, kept
    )


@_soft_coding_backward.register_fake
def _(grad, queries, codewords, offsets, temperature, kept, name):
    return torch.empty_like(queries), torch.empty_like(codewords)


def _keep_inputs(ctx, inputs, output):
    *tensors, ctx.temperature, _ = inputs
    ctx.name = _name(tensors[0])
    ctx.set_materialize_grads(False)  # zeros for what was kept would be as large again
    ctx.save_for_backward(*tensors, output[1])


def _to_attended(ctx, grad, _):
    if grad is None:
        return None, None, None, None, None
    *tensors, kept = ctx.saved_tensors
    found = torch.ops.alignbook.soft_coding_backward(
        grad, *tensors, ctx.temperature, kept, ctx.name
    )
    return *found, None, None, None


_soft_coding.register_autograd(_to_attended, setup_context=_keep_inputs)


# --- What all of them take and return --------------------------------------------------------------


# Under autocast too float32 stays float32.
for _op in ("grouped_max", "fgm", "soft_coding"):
    for _device in ("cpu", "cuda"):
        torch.library.register_autocast(f"alignbook::{_op}", _device, torch.float32)


def _check_widths(**vectors) -> None:
    for name, x in vectors.items():
        if x.ndim != 2 or not x.is_floating_point():
            raise ValueError(f"{name} must be (N, d) of floats, not {tuple(x.shape)} of {x.dtype}")
    (one, a), (other, b) = vectors.items()
    if a.shape[1] != b.shape[1]:
        raise ValueError(
            f"{one} have d = {a.shape[1]} but {other} d = {b.shape[1]}; "
            "project both into one space first"
        )
    if a.dtype != b.dtype:
        raise ValueError(f"{one} are {a.dtype} but {other} {b.dtype}; make them of one type")


def check_offsets(offsets: Tensor, vectors: Tensor, name: str) -> None:
    """ValueError for offsets that don't cut the vectors `(N, d)` into sets one after another."""
    if offsets.ndim != 1 or offsets.dtype != torch.int64 or not len(offsets):
        raise ValueError(
            f"offsets must be (B + 1,) int64, not {tuple(offsets.shape)} of {offsets.dtype}"
        )
    sizes = offsets.diff()
    wrong = (offsets[0] != 0) | (offsets[-1] != len(vectors)) | ((sizes < 0) | (sizes > MOST)).any()
    if wrong:  # asked of a GPU once
        raise ValueError(
            f"offsets must rise from 0 to the {len(vectors)} {name}, by {MOST} at most, "
            f"not {offsets.tolist()[:6]}…"
        )
