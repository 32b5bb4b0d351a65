"""What files hold, as hashes; a file that looks as it did is not read again.

Hashes are kept by size, times and inode of their file. The list of them is only for speed: one that
is broken or gone is made anew.
"""

import contextlib
import errno
import hashlib
import json
import math
import os
import stat
import sys
import time
import uuid
from pathlib import Path

from alignbook import ROOT
from alignbook.store import home, progress

KNOWN = ROOT / ".cache/hashes"  # of files that are not the workbook's
# Seconds within which a file may change again and look the same, where times are rounded to so
# many: the hash of a younger one is not kept.
YOUNG = 2.0
MUCH = 1 << 30  # bytes: what takes a second has a bar
QUIET = 20.0  # seconds between two lines where there is no bar
BLOCK = 1 << 20  # bytes read at once


def sha256(paths: list, known: Path | None = None) -> list[str]:
    """SHA-256 of some files, 64 hex digits each.

    Parameters
    ----------
    paths : Path each, or (Path, int): so many bytes from its start.
    known : the file that keeps these hashes; unless told, one below .cache for the folders that
        the files lie in.

    Raises
    ------
    OSError
        A file is not there or cannot be read.
    """
    wanted = [each if isinstance(each, tuple) else (each, None) for each in paths]
    wanted = [(os.path.abspath(path), octets) for path, octets in wanted]
    if known is None:
        places = "\0".join(sorted({os.path.dirname(path) for path, _ in wanted}))
        known = KNOWN / f"{hashlib.sha256(places.encode()).hexdigest()[:32]}.json"
    before, now = load(known), time.time_ns()
    names = [path if octets is None else f"{path}:{octets}" for path, octets in wanted]
    found, looks = {}, {name: looks_of(path) for name, (path, _) in zip(names, wanted, strict=True)}
    for name, seen in looks.items():
        entry = before.get(name)
        if isinstance(entry, list) and entry[:-1] == seen and isinstance(entry[-1], str):
            found[name] = entry[-1]
    to_read = {name: each for name, each in zip(names, wanted, strict=True) if name not in found}
    much = sum(
        looks[name][0] if octets is None else octets for name, (_, octets) in to_read.items()
    )
    tell = _Teller(much) if much > MUCH else None
    for name, each in to_read.items():
        found[name] = hash_of(*each, tell)
    old = {name for name in to_read if max(looks[name][1:3]) < now - YOUNG * 1e9}
    if old:
        store(known, before | {name: [*looks[name], found[name]] for name in old})
    return [found[name] for name in names]


def together(paths: list, known: Path | None = None) -> str:
    """One hash for some files, of their names and contents in this order; see `sha256`."""
    names = [Path(each[0] if isinstance(each, tuple) else each).name for each in paths]
    said = [list(each) for each in zip(names, sha256(paths, known), strict=True)]
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()


def hash_of(path: Path, octets: int | None = None, tell=None) -> str:
    """SHA-256 of a file, or of so many bytes from its start, read now; `tell(n)` hears of n bytes."""
    digest, left = hashlib.sha256(), math.inf if octets is None else octets
    if not stat.S_ISREG(os.stat(path).st_mode):  # a named pipe has no end
        raise OSError(errno.EINVAL, "not a regular file", os.fspath(path))
    with open(path, "rb") as file:
        while left > 0 and (block := file.read(min(left, BLOCK))):
            digest.update(block)
            left -= len(block)
            if tell:
                tell(len(block))
    return digest.hexdigest()


class _Teller:
    """How much of some bytes is read: a bar on a terminal and in a notebook, or a line at times."""

    def __init__(self, octets: int) -> None:
        self.of, self.done, self.said = octets, 0, time.monotonic()

    def __call__(self, octets: int) -> None:
        self.done += octets
        done, of = self.done >> 20, max(1, self.of >> 20)
        if sys.stderr.isatty() or "JPY_PARENT_PID" in os.environ or progress.is_shared():
            progress.show("MB of files looked at", min(done, of), of)
        elif time.monotonic() > self.said + QUIET:
            self.said = time.monotonic()
            print(f"  {done:,} of {of:,} MB of files looked at", file=sys.stderr, flush=True)


def looks_of(path: str) -> list[int]:
    """Size, times of content and of inode, and inode: what changes with a file's content."""
    now = os.stat(path)
    return [now.st_size, now.st_mtime_ns, now.st_ctime_ns, now.st_ino]


def load(known: Path) -> dict:
    try:
        found = json.loads(known.read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def store(known: Path, hashes: dict) -> None:
    """Keep hashes, aside first; without them the next process reads the files once more.

    They are not kept where there is no place for them: the disk is full, or no home is named.
    """
    with contextlib.suppress(OSError, home.NoHome):
        aside = known.with_name(f".{known.name}.{uuid.uuid4().hex}")
        known.parent.mkdir(parents=True, exist_ok=True)
        aside.write_text(json.dumps(hashes))
        os.replace(aside, known)
