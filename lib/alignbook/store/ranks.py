"""The processes that compute one run together: the ranks that torchrun started, or one process alone.

Rank 0 decides, writes and speaks. The others compute with it and learn from it what was decided. A
process counts among ranks from `join` on; nothing it starts does.
"""

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import TypeVar

# Of one rank for the others: rank 0 may wait for days, for a run that another process computes. A
# rank that died needs no limit: torchrun ends the others.
PATIENCE = timedelta(days=30)
Answer = TypeVar("Answer")
_alone: list[bool] = []  # not empty while rank 0 computes what the others only wait for


def are_started() -> bool:
    """Whether torchrun, or `accelerate launch` by it, started this process as one of several."""
    return "TORCHELASTIC_RUN_ID" in os.environ and int(os.environ["WORLD_SIZE"]) > 1


def join(device: str = "cpu") -> None:
    """Meet the other ranks; does nothing in a process that was not started as one of several.

    ValueError for one device of several GPUs: each rank takes its own.
    """
    if not are_started():
        return
    import torch

    kind, _, number = device.partition(":")
    if number:
        raise ValueError(
            f"device {device} for {os.environ['WORLD_SIZE']} processes: expected {kind}, of which "
            "each process takes one"
        )
    if kind == "cuda":
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    backend = "cpu:gloo,cuda:nccl" if kind == "cuda" else "gloo"
    torch.distributed.init_process_group(backend, timeout=PATIENCE)


def _joined() -> bool:
    distributed = sys.modules.get("torch.distributed")  # whoever has not joined need not load it
    return distributed is not None and distributed.is_initialized()


def count() -> int:
    """How many processes compute together here."""
    return sys.modules["torch.distributed"].get_world_size() if _joined() and not _alone else 1


def rank() -> int:
    """The number of this process among them."""
    return sys.modules["torch.distributed"].get_rank() if _joined() and not _alone else 0


def told(ask: Callable[[], Answer]) -> Answer:
    """What rank 0 finds: it alone is asked, and its answer or its error is that of every rank.

    All ranks have to come here.
    """
    if count() == 1:
        return ask()
    said: list = [None, None]
    if rank() == 0:
        try:
            said[0] = ask()
        except Exception as error:
            said[1] = error
    sys.modules["torch.distributed"].broadcast_object_list(said, device="cpu")
    if said[1]:
        raise said[1]
    return said[0]


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """While this lasts, rank 0 counts as the only process: the others wait."""
    _alone.append(True)
    try:
        yield
    finally:
        _alone.pop()
