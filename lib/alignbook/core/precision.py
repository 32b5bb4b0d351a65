"""Numbers that training computes with: float32, TF32 or bfloat16, by accelerate.

Parameters, optimisers, looks at dev and whatever is measured are float32 in any case.
"""

import contextlib
from collections.abc import Iterator

import torch

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


@contextlib.contextmanager
def tf32(allowed: bool) -> Iterator[None]:
    """While this lasts, GPUs may multiply in TF32; on a CPU it makes no difference."""
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = allowed
    try:
        yield
    finally:
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
