"""Files that outlast a power cut, and how one that did not is found out.

A file is written aside, brought to the disk and then moved into place: a name stands for something
whole or for nothing. What was lost or altered all the same is found by its size and hash, which are
kept beside it (`write` with `sealed`), after its end (`seal`) or in a list (`described`), and is
set aside rather than removed.
"""

import contextlib
import hashlib
import os
import re
import shutil
import sys
import time
import uuid
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from alignbook.store import contents, owners

THREADS = 8  # that bring files to the disk: together these are three times as fast as one by one
SEAL = 32  # bytes of a SHA-256
DAY = 86400.0  # seconds, after which what another machine left aside is nobody's


def write(path: Path, content: str | bytes, sealed: bool = False) -> None:
    """Write a file whole or not at all; `sealed` leaves its hash beside it, for `is_sound`."""
    path = Path(path)
    octets = content.encode() if isinstance(content, str) else content
    path.parent.mkdir(parents=True, exist_ok=True)
    if sealed:  # at no time a file with another's seal; without any it is believed
        _seal_of(path).unlink(missing_ok=True)
    aside = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        aside.write_bytes(octets)
        replace(aside, path)
    finally:
        aside.unlink(missing_ok=True)
    if sealed:
        write(_seal_of(path), f"{hashlib.sha256(octets).hexdigest()}  {path.name}\n")


def replace(aside: Path, path: Path) -> None:
    """Move a file, or a folder with all that is in it, into place once it is on the disk.

    OSError if `path` is a folder with something in it.
    """
    settle(aside)
    os.replace(aside, path)
    _settle_one(Path(path).parent)


def aside(path: Path) -> Path:
    """A name beside a file or folder for making it, by which `sweep` knows this process."""
    return path.with_name(f".making-{_machine()}-{os.getpid()}-{path.name}")


def _machine() -> str:
    return hashlib.sha256(owners.host().encode()).hexdigest()[:8]


def sweep(folder: Path) -> None:
    """Remove what was made aside and whose process is gone, or had the number of this one.

    It can't be seen whether a process lives on another machine, or on this one before its restart:
    what it made aside goes after a day without a change.
    """
    for left in folder.glob(".making-*"):
        told = re.match(r"\.making-([0-9a-f]{8})-(\d+)-", left.name)
        if told and (_is_left(int(told[2])) if told[1] == _machine() else _is_old(left)):
            shutil.rmtree(left, ignore_errors=True)
            with contextlib.suppress(OSError):  # it was a folder, or another user's
                left.unlink()


def _is_left(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return True
    except PermissionError:  # another user's process: alive
        return False
    return process == os.getpid()


def _is_old(path: Path) -> bool:
    try:
        return max(each.stat().st_mtime for each in [path, *path.rglob("*")]) < time.time() - DAY
    except FileNotFoundError:  # it is being finished
        return False


def settle(path: Path) -> None:
    """Bring a file, or a folder with all that is in it, to the disk."""
    path = Path(path)
    if not path.is_dir():
        return _settle_one(path)
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(_settle_one, [path, *path.rglob("*")]))


def _settle_one(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def is_sound(path: Path) -> bool:
    """Whether a file is as `write` left it, if that left a seal; without one it is believed."""
    expected = _seal(path)
    if expected is None or expected == hashlib.sha256(Path(path).read_bytes()).hexdigest():
        return True
    return _seal(path) != expected and is_sound(path)  # another if it was written meanwhile


def remove(path: Path) -> None:
    """Remove a file and its seal."""
    Path(path).unlink()
    _seal_of(path).unlink(missing_ok=True)


def _seal(path: Path) -> str | None:
    """The hash that a file's seal names, None without a seal."""
    try:
        return _seal_of(path).read_bytes().decode(errors="replace").partition(" ")[0]
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:
        return ""


def _seal_of(path: Path) -> Path:
    return path.with_name(f".{path.name}.sha256")


def seal(path: Path) -> None:
    """Add a file's hash after its end, for formats whose readers look no further, such as zip."""
    with open(path, "r+b") as file:
        digest = hashlib.file_digest(file, "sha256").digest()
        file.seek(0, os.SEEK_END)
        file.write(digest)


def is_sealed(path: Path) -> bool:
    """Whether a file ends in the hash of all that is before it."""
    left, digest = Path(path).stat().st_size - SEAL, hashlib.sha256()
    with open(path, "rb") as file:
        while left > 0:
            octets = file.read(min(left, 1 << 20))
            if not octets:
                return False
            digest.update(octets)
            left -= len(octets)
        return file.read() == digest.digest()


def described(folder: Path, files: Iterable[Path] | None = None) -> dict[str, dict]:
    """Size and hash of some files of a folder, or of all and those below, by their path in it."""
    if files is None:
        files = (path for path in Path(folder).rglob("*") if path.is_file())
    return {
        path.relative_to(folder).as_posix(): {
            "size": path.stat().st_size,
            "sha256": contents.hash_of(path),
        }
        for path in sorted(files)
    }


def fault(folder: Path, files: dict[str, dict], known: Path | None = None) -> str:
    """What is wrong with a folder's files, "" if they are as `described` said.

    Hashes that were found before are looked up, see `contents.sha256`.
    """
    for name, entry in files.items():
        try:
            size = (folder / name).stat().st_size
        except OSError as error:
            return f"{folder / name}: {error.strerror}"
        if size != entry["size"]:
            return f"{folder / name}: {size:,} bytes, expected {entry['size']:,}"
    paths = [folder / name for name in files]
    for path, found in zip(paths, contents.sha256(paths, known), strict=True):
        expected = files[path.relative_to(folder).as_posix()]["sha256"]
        if found != expected and contents.hash_of(path) != expected:  # what is known may be wrong
            return f"{path}: altered, its hash is not the one that was noted"
    return ""


def set_aside(path: Path, why: str, then: str = "it is made again") -> None:
    """Move what is bad to `.bad` beside it and say so in a line; one that lay there is replaced."""
    path = Path(path)
    bad = path.parent / ".bad" / path.name
    try:
        bad.parent.mkdir(exist_ok=True)
        if bad.is_dir():
            shutil.rmtree(bad)
        os.replace(path, bad)
    except FileNotFoundError:  # another process was first
        return
    _seal_of(path).unlink(missing_ok=True)
    print(f"  {why}; set aside, {then}", file=sys.stderr, flush=True)
