"""Arrays that are filled batch by batch; what was filled outlasts a kill and is known to be whole."""

import hashlib
import json
import sys
from pathlib import Path

import numpy as np

from alignbook.store import durable


class Shelf:
    """Arrays in a folder, filled batch by batch, always in the same order.

    A batch is either held, as an earlier start filled it, or has to be filled:

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> def fill():
    ...     shelf = Shelf(folder, "squares", {"squares": (np.int64, (4,))})
    ...     for rows in np.arange(4).reshape(2, 2):
    ...         if shelf.holds(squares=rows):
    ...             print("held", shelf.arrays["squares"][rows])
    ...         else:
    ...             shelf.fill(squares=rows**2)
    >>> fill()
    >>> fill()
    held [0 1]
    held [4 9]

    Parameters
    ----------
    name : of the part, in `checkpoint.<name>`, which holds a hash of each batch that is filled.
    shapes : {file: (dtype, shape)}.
    """

    def __init__(self, folder: Path, name: str, shapes: dict):
        self.note, self.at, self.rows = folder / f"checkpoint.{name}", 0, {}
        files = {folder / f"{file}.npy": each for file, each in shapes.items()}
        self.hashes = _noted(self.note, files)
        mode = "r+" if self.hashes else "w+"
        self.arrays = {
            path.stem: np.lib.format.open_memmap(path, mode, dtype, shape)
            for path, (dtype, shape) in files.items()
        }

    def holds(self, **rows) -> bool:
        """Whether the next batch, which has these rows of each array, is as it was filled.

        One that is not, and all after it, have to be filled again.
        """
        self.rows, known = rows, self.hashes[self.at :][:1]
        held = bool(known) and known == [self._hash()]
        if known and not held:
            told = f"{self.note.parent}: batch {self.at + 1} of {len(self.hashes)} altered"
            print(f"  {told}; it and all behind it are made again", file=sys.stderr, flush=True)
            del self.hashes[self.at :]
        self.at += held
        return held

    def fill(self, **values) -> None:
        """Fill the batch asked for last, and note it once it is on the disk."""
        for name, rows in self.rows.items():
            self.arrays[name][rows] = values[name]
            self.arrays[name].flush()
        self.hashes.append(self._hash())
        self.at += 1
        durable.write(self.note, json.dumps(self.hashes))

    def _hash(self) -> str:
        digest = hashlib.sha256()
        for name, rows in self.rows.items():
            digest.update(np.ascontiguousarray(self.arrays[name][rows]))
        return digest.hexdigest()[:16]


def _noted(note: Path, files: dict) -> list[str]:
    """The hashes in a note; none if they, or an array, can't be read. One that was altered is found
    out by its batch, so that the note needs no seal.
    """
    if not note.exists():
        return []
    bad = [path for path, expected in files.items() if not _fits(path, *expected)]
    try:
        hashes = json.loads(note.read_bytes())
    except ValueError:
        hashes = None
    if not bad and isinstance(hashes, list):
        return hashes
    durable.set_aside(note, f"{[*bad, note][0]}: cut or altered", "all of it is made again")
    return []


def _fits(path: Path, dtype, shape: tuple) -> bool:
    """Whether an array is there, of this type and shape, to the end of its file."""
    try:
        found = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, EOFError, ValueError):
        return False
    return found.dtype == dtype and found.shape == shape
