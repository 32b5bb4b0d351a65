"""Which GPU a job works on, where several jobs of one machine could all take the first.

The main job lets as many jobs begin as the GPUs take; each holds a lock of one of them while it lasts
and sees that one alone. Standard library only: PyTorch must not have looked at the GPUs before.
"""

import fcntl
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from alignbook import ROOT

DRIVER = Path("/proc/driver/nvidia/gpus")
VISIBLE, JOBS = "CUDA_VISIBLE_DEVICES", "ALIGNBOOK_GPU_JOBS"
WITHOUT = ("data", "collect")  # kinds of jobs that need none


def here() -> list[str]:
    """The GPUs that this process may use, as CUDA_VISIBLE_DEVICES names them."""
    if (said := os.environ.get(VISIBLE)) is not None:
        return [each for each in said.replace(" ", "").split(",") if each not in ("", "-1")]
    return [str(number) for number, _ in enumerate(DRIVER.glob("*"))]


def used(device: str) -> bool:
    """Whether models run on GPUs, as --device says.

    >>> used("cuda"), used("cuda:1"), used("cpu")
    (True, True, False)
    """
    return device.partition(":")[0] == "cuda" or device == "auto" and bool(here())


def places() -> int:
    """How many jobs the GPUs take at once: one each, or as many as --gpu-jobs said."""
    return len(here()) * int(os.environ.get(JOBS, "1"))


@contextmanager
def taken(kind: str, device: str, folder: Path = ROOT / ".cache/gpus") -> Iterator[None]:
    """Hold a GPU for a job of a kind and let it see no other; waits until one is free.

    Does nothing where there are not two, where the job needs none or --device names one.
    """
    found = here()
    if len(found) < 2 or kind in WITHOUT or ":" in device or not used(device):
        yield
        return
    folder.mkdir(parents=True, exist_ok=True)
    before = os.environ.get(VISIBLE)
    lock, name = _lock(found, folder)
    os.environ[VISIBLE] = name
    try:
        yield
    finally:
        os.close(lock)
        os.environ.pop(VISIBLE)
        if before is not None:
            os.environ[VISIBLE] = before


def _lock(found: list[str], folder: Path) -> tuple[int, str]:
    """The lock of a GPU, of the first that has the fewest jobs, and its name."""
    while True:
        for place in range(places() // len(found)):
            for name in found:
                path = folder / f"{socket.gethostname()}-{name}-{place}"
                lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    return lock, name
                except BlockingIOError:
                    os.close(lock)
        time.sleep(0.2)
