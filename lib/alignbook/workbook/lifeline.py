"""Processes that end with the main job, even when that is killed with -9.

The top process holds an exclusive lock on a file of its own; the kernel gives the lock back
however the process ends. Everything it starts, at any depth, has a thread that waits for the
same lock: when the lock is granted, nobody is left to work for, and the process ends. On Linux the
kernel is asked, besides, to end a process as soon as its parent dies.

Standard library only: this is imported by every process, first of all.
"""

import ctypes
import fcntl
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

VARIABLE = "ALIGNBOOK_LIFELINE"
_PR_SET_PDEATHSIG = 1  # <sys/prctl.h>
_YOUNG = 60.0  # seconds in which a file without a lock may be one that is just being made

_held: dict[Path, int] = {}
_watched: set[str] = set()


def hold(folder: Path) -> Path:
    """Take a lifeline for this process and name it in the environment its children get.

    Parameters
    ----------
    folder : Path
        Where lifelines lie; made if it is missing. Those of processes that ended are removed.

    Returns
    -------
    Path
        The locked file. The lock lasts as long as this process: children don't inherit it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    _remove_stale(folder)
    path = folder.resolve() / f"{os.getpid()}-{time.time_ns()}"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)  # closed on exec
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    _held[path] = descriptor
    os.environ[VARIABLE] = str(path)
    return path


def release(path: Path) -> None:
    """Give a lifeline back: whoever still watches it ends now."""
    path.unlink(missing_ok=True)
    os.close(_held.pop(path))
    if os.environ.get(VARIABLE) == str(path):
        del os.environ[VARIABLE]


def watch() -> None:
    """End this process when the one that holds the lifeline named in the environment is gone.

    Returns at once; a daemon thread does the waiting. A second call changes nothing. A lifeline
    that is no longer there means the same as one that nobody holds.
    """
    path = os.environ[VARIABLE]
    if path in _watched:
        return
    _watched.add(path)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        _leave()
    threading.Thread(target=_wait, args=(descriptor,), name="lifeline", daemon=True).start()


def _wait(descriptor: int) -> None:
    fcntl.flock(descriptor, fcntl.LOCK_SH)  # blocks, without holding the interpreter up
    _leave()


def _leave() -> None:
    for child in _children(os.getpid()):  # those that cannot watch for themselves
        try:
            os.kill(child, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass
    os._exit(1)


def _children(parent: int) -> list[int]:
    """Direct children of a process."""
    proc = Path("/proc")
    if not (proc / "self/stat").exists():  # macOS
        table = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True)
        rows = [line.split() for line in table.stdout.splitlines()]
        return [int(pid) for pid, ppid in rows if int(ppid) == parent]
    found = []
    for entry in proc.iterdir():
        if entry.name.isdigit():
            try:
                after_name = (entry / "stat").read_text().rpartition(")")[2]
            except OSError:  # ended meanwhile
                continue
            if int(after_name.split()[1]) == parent:
                found.append(int(entry.name))
    return found


def _remove_stale(folder: Path) -> None:
    for path in folder.iterdir():
        try:
            if time.time() - path.stat().st_mtime < _YOUNG:
                continue
            descriptor = os.open(path, os.O_RDWR)
        except FileNotFoundError:
            continue
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink(missing_ok=True)
        except BlockingIOError:  # its process lives
            pass
        finally:
            os.close(descriptor)
