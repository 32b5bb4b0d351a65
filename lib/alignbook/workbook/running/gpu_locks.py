"""Which GPU a job works on, where several jobs of one machine could all take the first.

The main job lets as many jobs begin as the GPUs take; each holds a lock of one of them while it lasts
and sees that one alone. Standard library only: PyTorch must not have looked at the GPUs before.
"""

import fcntl
import os
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from alignbook import ROOT
from alignbook.workbook.running.alone import EXECUTOR

DRIVER = Path("/proc/driver/nvidia/gpus")
VISIBLE, JOBS = "CUDA_VISIBLE_DEVICES", "ALIGNBOOK_GPU_JOBS"
WITHOUT = ("data", "collect")  # kinds of jobs that need none
# Kinds that train on several processes if asked to.
TOGETHER = ("arms", "whole", "training", "buy", "seeds")


def here() -> list[str]:
    """The GPUs that this process may use, as CUDA_VISIBLE_DEVICES names them."""
    if (said := os.environ.get(VISIBLE)) is not None:
        return [each for each in said.replace(" ", "").split(",") if each not in ("", "-1")]
    return [str(number) for number, _ in enumerate(DRIVER.glob("*"))]


def used(device: str) -> bool:
    """Whether models run on GPUs, as --device says. For jobs of another machine it has to say so:
    "auto" is a look at this one.

    >>> used("cuda"), used("cuda:1"), used("cpu")
    (True, True, False)
    """
    if device == "auto":
        return bool(here()) and has_libraries() and not os.environ.get(EXECUTOR)
    return device.partition(":")[0] == "cuda"


def has_libraries() -> bool:
    """Whether PyTorch can use GPUs, as far as run_all.sh made this environment: with their
    libraries or without.
    """
    made = Path(sys.prefix) / ".alignbook"
    return not made.exists() or (made / "gpu").exists()


def places() -> int:
    """How many jobs the GPUs take at once: one each, or as many as --gpu-jobs said."""
    return len(here()) * int(os.environ.get(JOBS, "1"))


@contextmanager
def taken(
    kind: str, device: str, count: int = 1, folder: Path = ROOT / ".cache/gpus"
) -> Iterator[None]:
    """Hold so many GPUs for a job of a kind and let it see no other; waits until they are free.

    Does nothing where there are not more, where the job needs none or --device names one. A job of
    a cluster that did not ask for a GPU sees none.
    """
    found = here()
    if found and os.environ.get(EXECUTOR) and not used(device):
        os.environ[VISIBLE] = ""
    if len(found) <= count or kind in WITHOUT or ":" in device or not used(device):
        yield
        return
    folder.mkdir(parents=True, exist_ok=True)
    before = os.environ.get(VISIBLE)
    locks: dict[str, int] = {}
    try:
        while len(locks) < count:
            _lock(
                [name for name in found if name not in locks], places() // len(found), folder, locks
            )
        os.environ[VISIBLE] = ",".join(sorted(locks, key=found.index))
        yield
    finally:
        for lock in locks.values():
            os.close(lock)
        os.environ.pop(VISIBLE, None)
        if before is not None:
            os.environ[VISIBLE] = before


def _lock(names: list[str], jobs: int, folder: Path, locks: dict[str, int]) -> None:
    """Add to `locks` that of a GPU, of the first one with the fewest jobs."""
    while True:
        for place in range(jobs):
            for name in names:
                path = folder / f"{socket.gethostname()}-{name}-{place}"
                lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    locks[name] = lock
                    return
                except BlockingIOError:
                    os.close(lock)
        time.sleep(0.2)
