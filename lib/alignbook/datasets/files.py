"""One file at a time: JSON read whole or refused by its row, a file written aside, then moved."""

from __future__ import annotations

import errno
import json
import os
import stat
from pathlib import Path, PurePosixPath

from alignbook.errors import DataError
from alignbook.store import durable

LISTED = (".json", ".csv", ".txt", ".tsv", ".npy", ".npz")


def irregular(folder: Path) -> list[str]:
    """What is wrong with a folder's lists and tables that are no regular files, or links to nothing:
    whoever looks for a file would not see them.
    """
    odd = (each for each in folder.iterdir() if each.suffix in LISTED and not each.is_file())
    return [
        f"{each}: no regular file, expected one, or nothing of that name; put it there or remove it"
        for each in sorted(odd)
    ]


def load_json(path: Path, kind: type, remedy: str, keys_name_items: bool = False):
    """What a JSON file holds; a list or dict, as ``kind`` says, with something in it.

    Where ``keys_name_items``, no key may stand twice, as JSON readers silently keep the last.
    Looking costs half of the time on large files.

    Raises
    ------
    DataError
        The file is missing or can't be read, is not UTF-8 or not JSON, holds another type, or
        nothing, or a key twice.
    """

    def unique(pairs):
        entries = dict(pairs)
        if len(entries) != len(pairs):
            keys = [key for key, _ in pairs]
            twice = max(keys, key=keys.count)
            raise DataError(
                f"{path}: key {twice!r} stands twice in one object, expected once; {remedy}"
            )
        return entries

    try:
        hook = unique if keys_name_items else None
        found = json.loads(octets_of(path), object_pairs_hook=hook)
    except FileNotFoundError:
        raise DataError(f"{path}: file missing, expected it there; {remedy}") from None
    except OSError as error:
        raise unreadable(path, error, remedy) from None
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path}, byte {error.start + 1}: not UTF-8, expected UTF-8; {remedy}"
        ) from None
    except json.JSONDecodeError as error:
        found = repr(error.doc[error.pos : error.pos + 30]) if error.doc[error.pos :] else "its end"
        raise DataError(
            f"{path}, row {error.lineno}: not JSON ({error.msg} at {found}), expected "
            f"a whole JSON file; {remedy}"
        ) from None
    except (ValueError, RecursionError) as error:  # a number or a nesting without end
        raise DataError(
            f"{path}: not JSON ({error}), expected a whole JSON file; {remedy}"
        ) from None
    if not isinstance(found, kind) or not found:
        what = f"an empty {kind.__name__}" if isinstance(found, kind) else type(found).__name__
        raise DataError(f"{path}: {what}, expected a {kind.__name__} with entries; {remedy}")
    return found


def unreadable(path: Path, error: OSError, remedy: str) -> DataError:
    """What to say of a file that can't be read: it is a folder, or forbidden, or the disk fails."""
    return DataError(
        f"{path}: cannot be read ({error.strerror}), expected a file that you may read; {remedy}"
    )


def octets_of(path: Path) -> bytes:
    """All of a regular file; `OSError` for anything else, as for a file that can't be read."""
    check_regular(path)
    return path.read_bytes()


def check_regular(path: Path) -> None:
    """Raise `OSError` for a named pipe, a socket or a device: reading one may never end.

    A link counts as what it leads to. A folder, or nothing, is left to whoever opens it.
    """
    mode = os.stat(path).st_mode
    if what := special(mode):
        raise OSError(errno.EINVAL, f"{what}, no regular file", str(path))


def special(mode: int) -> str:
    """What a file of such a mode (`os.stat_result.st_mode`) is, "" for a file or a folder."""
    kinds = {
        stat.S_IFIFO: "a named pipe",
        stat.S_IFSOCK: "a socket",
        stat.S_IFCHR: "a device",
        stat.S_IFBLK: "a device",
    }
    return kinds.get(stat.S_IFMT(mode), "")


def put(path: Path, octets: bytes) -> None:
    """Write a file aside in its folder, then move it into place: never a half-written file."""
    durable.write(path, octets)


def put_json(path: Path, value) -> None:
    """Write a value as JSON, in UTF-8, aside first."""
    put(path, json.dumps(value, ensure_ascii=False).encode())


def text(entry: dict, key: str) -> str:
    """A field that must be a string with something in it; as it is written.

    Raises
    ------
    ValueError, KeyError
        For the caller, who knows the file and the row.
    """
    value = entry[key]
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{key} is {value!r}, not a text")
    return value


def picture(entry: dict, key: str) -> str:
    """A field that must name a file below the folder of pictures, "/" between folders."""
    name = text(entry, key)
    path = PurePosixPath(name)
    if not path.parts or path.is_absolute() or ".." in path.parts or "\\" in name:
        raise ValueError(f"{key} {name!r} leaves the folder of pictures")
    return name


def whole(entry: dict, key: str) -> int:
    """A field that must be a whole number; 3.0 is one, true is none."""
    value = entry[key]
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value // 1:
        raise ValueError(f"{key} is {value!r}, not a whole number")
    return int(value)
