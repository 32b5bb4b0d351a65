"""Numbers that training computes with: float32, TF32 or bfloat16, by accelerate.

Parameters, optimisers, looks at dev and whatever is measured are float32 in any case.
"""

import contextlib
import functools
from collections.abc import Callable, Iterator

import torch
from torch.utils._pytree import tree_map_only

PRECISIONS = ("float32", "tf32", "bf16")


def accelerator(device: torch.device, precision: str):
    """The `accelerate.Accelerator` of one training: its autocast, backward and reduce.

    Parameters
    ----------
    precision : "float32"; "tf32", float32 whose products a GPU rounds to 10 bits of mantissa before
        it adds them up; or "bf16", by autocast: products of matrices in bfloat16, softmax, norms
        and losses in float32.

    accelerate keeps device and precision for the whole of a process; a process of ours trains runs
    of several. So what it keeps is dropped first. Models are not prepared by it: its wrapper knows
    of one forward pass, and ours have an encoder a side.
    """
    from accelerate import Accelerator
    from accelerate.state import AcceleratorState

    AcceleratorState._reset_state(reset_partial_state=True)
    mixed = "bf16" if precision == "bf16" else "no"
    return Accelerator(cpu=device.type == "cpu", mixed_precision=mixed)


def full(x: torch.Tensor) -> torch.Tensor:
    """The same in float32 if its precision is lower; otherwise unchanged."""
    return x.to(torch.promote_types(x.dtype, torch.float32)) if x.is_floating_point() else x


def in_float32(function: Callable) -> Callable:
    """The function without autocast, its tensors in float32: for similarities and losses.

    bfloat16 leaves too little of logits that a temperature scales, or of sums over many.
    """

    @functools.wraps(function)
    def exact(*given, **named):
        kinds = [kind for kind in ("cpu", "cuda", "mps") if torch.is_autocast_enabled(kind)]
        if not kinds:
            return function(*given, **named)
        given, named = tree_map_only(torch.Tensor, full, (given, named))
        with torch.autocast(kinds[0], enabled=False):
            return function(*given, **named)

    return exact


product = in_float32(torch.matmul)


@contextlib.contextmanager
def tf32(allowed: bool) -> Iterator[None]:
    """While this lasts, GPUs multiply in TF32 if `allowed`; on a CPU it makes no difference."""
    if not allowed:
        yield
        return
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    try:
        yield
    finally:
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
