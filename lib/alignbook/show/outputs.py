"""The files that a notebook leaves, and their names for whoever executes it.

A start looks at these again: what was lost or altered is made anew.
"""

import os
from contextlib import contextmanager
from pathlib import Path

from alignbook.store import durable

LIST = "ALIGNBOOK_WRITTEN"  # variable of the environment: the file that names are added to


def write(path: Path, content: str | bytes, sealed: bool = False) -> None:
    """Write a file as `durable.write` does, and note its name if that is asked for."""
    durable.write(path, content, sealed)
    if LIST in os.environ:
        with open(os.environ[LIST], "a", encoding="utf-8") as names:
            names.write(f"{os.path.abspath(path)}\n")


@contextmanager
def noted(names: Path):
    """While this lasts, what is written here and by processes begun from here is noted in a file."""
    names.unlink(missing_ok=True)
    os.environ[LIST] = str(names)
    try:
        yield
    finally:
        os.environ.pop(LIST)
        names.unlink(missing_ok=True)


def described(names: Path, folder: Path) -> dict[str, dict]:
    """Size and hash of each noted file, by its path in a folder, as `durable.fault` takes them."""
    noted = names.read_text(encoding="utf-8").splitlines() if names.exists() else []
    files = (path for path in map(Path, {*noted}) if path.is_relative_to(folder))
    return durable.described(folder, files)
