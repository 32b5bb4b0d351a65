"""One process computes a run, wherever others that want it run: on this machine or on another.

`flock` ends with its holder, but many shared file systems keep it to one machine. So a run is
claimed by a file instead, made by a hard link, which every file system makes once or not at all:
``.locks/<run>.1``. It names its owner and is touched every `BEAT` seconds. Whoever finds the owner
dead, or the file untouched for `SILENT` seconds of its own clock, claims ``.locks/<run>.2``, and so
on: the highest number counts, and no file that may count is ever removed. An owner who was only
asleep then finds that it lost the run, and the folder it worked in has moved.
"""

import contextlib
import json
import os
import socket
import threading
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

BEAT = 5.0  # seconds between two touches of a claim
SILENT = 60.0  # seconds without one, after which an owner on another machine counts as dead
LOOK = 0.2  # seconds between two looks at another's claim


class Lost(RuntimeError):
    """A run was taken over: its owner had given no sign of life."""


@dataclass(frozen=True)
class Claim:
    """A run that is this process's to compute, by the file at `path`; `number` is its place."""

    path: Path
    number: int

    def check(self) -> None:
        """`Lost` if somebody else has claimed the run since."""
        if _highest(self.path.with_suffix("")) != self.number:
            raise Lost(
                f"run {self.path.stem} was taken over: for {SILENT:g} s this process gave no sign of "
                "life (was the machine asleep?); what took over computes it"
            )


@contextlib.contextmanager
def claimed(folder: Path, name: str, wait: bool = True, look: bool = False) -> Iterator[Claim]:
    """Hold a run until the end of the block.

    Parameters
    ----------
    folder : where claims lie; made if it is missing.
    name : of the run.
    wait : for another owner to end; otherwise BlockingIOError while there may be one alive.
    look : where nobody waits, whether an owner on another machine lives: for `SILENT` seconds.
    """
    folder.mkdir(parents=True, exist_ok=True)
    place = folder / name
    while True:
        number = _highest(place)
        if number and not _is_over(_at(place, number), wait, look):
            if not wait:
                raise BlockingIOError(f"run {name} is claimed")
            continue
        if _link(_at(place, number + 1)):
            if _highest(place) == number + 1:
                break
            _at(place, number + 1).unlink(missing_ok=True)  # a list that changed had missed some
    claim = Claim(_at(place, number + 1), number + 1)
    for lower in range(1, number):  # the one before stays, for those who list the folder just now
        _at(place, lower).unlink(missing_ok=True)
    ended = threading.Event()
    beating = threading.Thread(target=_beat, args=(claim.path, ended), daemon=True)
    beating.start()
    try:
        yield claim
    finally:
        ended.set()
        beating.join()
        with contextlib.suppress(FileNotFoundError):  # taken over, and removed as a lower one
            os.truncate(claim.path, 0)  # an empty claim is over: this takes no room on a full disk


def owner(folder: Path, name: str) -> dict:
    """What the claim of a run says: host, process, since; nothing if nobody has it."""
    number = _highest(folder / name)
    found = _look(_at(folder / name, number)) if number else None
    return found[1] if found else {}


def _at(place: Path, number: int) -> Path:
    return place.with_name(f"{place.name}.{number}")


def _highest(place: Path) -> int:
    """The number of the claim that counts, 0 for none."""
    found = (each.name.rpartition(".")[2] for each in place.parent.glob(f"{place.name}.*"))
    return max((int(number) for number in found if number.isdecimal()), default=0)


def _link(path: Path) -> bool:
    """Make a claim by this process; whether nobody else was first."""
    aside = path.with_name(f"{path.name}.{uuid.uuid4().hex}-new")
    aside.write_text(json.dumps(_me()))
    try:
        os.link(aside, path)
    except FileExistsError:  # or it was made, and the answer lost on its way from another machine
        return aside.stat().st_nlink == 2
    finally:
        aside.unlink()
    return True


def _beat(path: Path, ended: threading.Event) -> None:
    while not ended.wait(BEAT):
        with contextlib.suppress(OSError):
            os.utime(path)


def _is_over(path: Path, wait: bool, look: bool = False) -> bool:
    """Whether a claim's owner is done or dead. For an owner on another machine this takes `SILENT`
    seconds to know; without `wait` or `look` it is taken to live.
    """
    began, first = time.monotonic(), _look(path)
    if first is None or not first[1]:
        return first is not None  # gone: somebody has claimed a higher one
    while True:
        told = first[1]
        here = told.get("host") == host()
        if here and not _lives(told):
            return True
        if not wait and (here or not look):
            return False
        time.sleep(LOOK)
        now = _look(path)
        if now != first:
            return False  # a sign of life, or the end: look anew
        if not here and time.monotonic() - began > SILENT:
            return True


def _look(path: Path) -> tuple[int, dict] | None:
    """When a claim was touched, and what it says, nothing if it is over; None if it is gone."""
    try:
        touched = path.stat().st_mtime_ns
        return touched, json.loads(path.read_text() or "{}")
    except FileNotFoundError:
        return None
    except (OSError, ValueError):  # it can't be read just now
        return 0, {"host": "unknown"}


def _me() -> dict:
    return {"host": host(), "process": os.getpid(), "since": _since(os.getpid())}


@cache
def host() -> str:
    """This machine and start of it, and the space in which its processes have their numbers."""
    parts = [socket.gethostname()]
    with contextlib.suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text().strip())
        parts.append(os.readlink("/proc/self/ns/pid"))
    return " ".join(parts)


def _since(process: int) -> float | None:
    """When a process of this machine began, None if there is none of that number."""
    import psutil

    try:
        found = psutil.Process(process)
        return None if found.status() == psutil.STATUS_ZOMBIE else found.create_time()
    except psutil.Error:
        return None


def _lives(told: dict) -> bool:
    """Whether the process of this machine that made a claim is still the one of that number."""
    since, now = told.get("since"), _since(told.get("process", -1))
    return now is not None and (since is None or abs(now - since) < 2)
