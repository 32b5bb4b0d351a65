"""What a start stands on: names, folders, room on the disk, this machine's own network.

Looked at before any work (`check`); what gives way later is told in a line (`told`).
"""

import errno
import os
import shutil
import socket
import sys
import tempfile
from pathlib import Path

from alignbook import ROOT

# What a start makes in a results folder; the files of its jobs are looked at by `salvage`.
FOLDERS = ("arms", "benchmarks", "efficiency", "figures", "notebooks", "seeds", "tables", "trained")
LOGS = ("jobs.log", "snakemake.log")
AWAY = "move it elsewhere, then start again"
LEAST = 50 << 20  # bytes free, below which nothing is begun: a run of one notebook takes a few

REMEDIES = {
    errno.ENOSPC: "make room on that disk",
    errno.EDQUOT: "make room: your share of that disk is used up",
    errno.EROFS: "it is mounted read-only: mount it otherwise, or move the workbook",
    errno.EACCES: "give yourself the right to it (ls -l, chmod), or move the workbook",
    errno.EPERM: "give yourself the right to it (ls -l, chmod), or move the workbook",
    errno.EISDIR: "a folder is in the way: move it elsewhere",
    errno.ENOTDIR: "a file is in the way: move it elsewhere",
    errno.EEXIST: "something else is in the way: move it elsewhere",
    errno.ENOLCK: "that file system knows no locks: move the workbook to a local disk",
    errno.EIO: "the disk cannot be read or written: see the system's log",
    errno.EMFILE: "allow more open files (ulimit -n)",
    errno.EAGAIN: "allow more processes (ulimit -u), or end some",
    errno.ENOMEM: "end other programs, or take fewer cores (--jobs)",
}


def cores() -> int:
    """Cores this process may use."""
    if hasattr(os, "sched_getaffinity"):  # Linux: honours taskset and batch systems
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def told(error: OSError) -> str | None:
    """An error of the surroundings as one line with its remedy; None for any other error."""
    if error.errno not in REMEDIES:
        return None
    place = error.filename or ", ".join(map(str, full())) or "the disk"
    if error.errno in (errno.EAGAIN, errno.ENOMEM):
        place = "this machine"
    return f"{readable(place)}: {error.strerror}; {REMEDIES[error.errno]}, then start again"


def written() -> tuple[Path, ...]:
    """Folders that the workbook writes to: each may lie on a disk of its own."""
    return (ROOT / "results", ROOT / "results/store", ROOT / "data", ROOT / ".cache")


def full(places: tuple[Path, ...] = ()) -> list[Path]:
    """Folders that the workbook writes to and that have no room left."""
    places = places or (*written(), Path(tempfile.gettempdir()))
    return [place for place in places if place.is_dir() and shutil.disk_usage(place).free < 1 << 20]


def readable(path: object) -> str:
    r"""A name for the terminal: what is no UTF-8 in it as ``\xff``."""
    return os.fsencode(str(path)).decode("utf-8", "backslashreplace")


def problem(arguments: list[str] = ()) -> str | None:
    """What speaks against starting here with such arguments, and what to do; None if nothing does."""
    for text in (str(ROOT), *arguments, *map(_place, arguments)):
        if not is_utf8(text):
            return (
                f"{readable(text)}: a name that is not UTF-8, which the files of a run cannot "
                "hold: rename it (mv), then start again"
            )
    for folder in (ROOT / "results", ROOT / "results/store", ROOT / ".cache"):
        if why := unwritable(folder):
            return why
    if (ROOT / "results/.locks").is_file():
        return (
            f"{ROOT / 'results/.locks'}: a file, expected the folder that keeps two runs apart: "
            "remove it, then start again"
        )
    for folder in written():
        if (free := shutil.disk_usage(_there(folder)).free) < LEAST:
            return (
                f"{folder}: {free / 1e6:.0f} MB free on its disk, expected "
                f"{LEAST / 1e6:.0f} MB at least: make room, then start again"
            )
    return None


def in_the_way(out: Path) -> str | None:
    """What lies in a results folder where a start makes something else, and what to do; or None."""
    for name in (".snakemake", *FOLDERS):
        if os.path.lexists(out / name) and not (out / name).is_dir():
            return f"{out / name}: expected a folder of the results there: {AWAY}"
    for name in LOGS:
        if os.path.lexists(out / name) and not (out / name).is_file():
            return f"{out / name}: expected the file that a start writes there: {AWAY}"
    return None


def _place(argument: str) -> str:
    """Where a file or folder really lies that an argument names, after the last "="."""
    name = os.path.expanduser(argument.rpartition("=")[2])
    return os.path.realpath(name) if name and os.path.lexists(name) else ""


def is_utf8(text: str) -> bool:
    """Whether a name given to this process was UTF-8."""
    try:
        os.fsencode(text).decode("utf-8")
    except UnicodeError:
        return False
    return True


def unwritable(folder: Path) -> str | None:
    """Why nothing can be written to a folder, or to the one around it if it is missing, or None."""
    try:
        with tempfile.TemporaryFile(dir=_there(folder)) as file:
            file.write(b"x")
    except OSError as error:
        remedy = REMEDIES.get(error.errno, "see to it")
        return f"cannot write to {readable(folder)}: {error.strerror}; {remedy}, then start again"
    return None


def _there(folder: Path) -> Path:
    """A folder, or the nearest one around it that is there."""
    return next(each for each in (folder, *folder.parents) if each.exists())


def without_loopback() -> str | None:
    """What to do where this machine cannot be reached from itself; None where it can."""
    try:
        with socket.create_server(("127.0.0.1", 0)) as listening:
            socket.create_connection(listening.getsockname(), 5).close()
    except OSError as error:
        how = "ip link set lo up" if sys.platform == "linux" else "ifconfig lo0 up"
        return (
            f"127.0.0.1 cannot be reached ({error.strerror or error}): notebooks talk to their "
            f"kernels there. As root: {how}; then start again"
        )
    return None
