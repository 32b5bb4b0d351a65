"""The folder that data, runs and results lie in: the checkout's, or the one ALIGNBOOK_HOME names.

Models, losses, kernels, printed tables and claims need no such folder. Trained runs, prepared data
and weights do. An installed package knows of none, and does not make one beside site-packages.
"""

import os
from pathlib import Path

VARIABLE = "ALIGNBOOK_HOME"
_MARKS = ("run_all.sh", "Snakefile")  # a checkout has them, next to lib/


class NoHome(ValueError):
    """A place was used that lies below a folder which nobody named."""


class Unnamed:
    """A place below a folder that nobody named: joined like a path, refused when it is used.

    So importing the library asks for nothing, and the first read or write names the remedy.

    Examples
    --------
    >>> Unnamed() / "results" / "store"
    <ALIGNBOOK_HOME>/results/store
    """

    def __init__(self, *parts: str) -> None:
        self._parts = parts

    def __truediv__(self, part: str | os.PathLike) -> "Unnamed":
        return Unnamed(*self._parts, os.fspath(part))

    def __fspath__(self) -> str:
        raise NoHome(
            f"{self}: alignbook is installed without the workbook's folder and was not told where "
            f"data and runs are to lie. Set {VARIABLE}=FOLDER before Python starts; for the run "
            "store alone: alignbook.store.runs.STORE = pathlib.Path(FOLDER)"
        )

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):  # pickle, copy and inspect ask for what they can do without
            raise AttributeError(name)
        return self.__fspath__()

    def __repr__(self) -> str:
        return "/".join([f"<{VARIABLE}>", *self._parts])


def find(package: Path, named: str = "") -> Path | Unnamed:
    """The folder that data/ and results/ lie in.

    Parameters
    ----------
    package : the package's own folder. In a checkout it is ``lib/alignbook``, and the checkout is
        the answer, whatever is named.
    named : what ALIGNBOOK_HOME says; a relative path counts from where one stands.
    """
    if is_checkout(package):
        return package.parents[1]
    return Path(named).expanduser().resolve() if named else Unnamed()


def is_checkout(package: Path) -> bool:
    """Whether a package's folder lies in the workbook's own, with its notebooks and run_all.sh."""
    return all((package.parents[1] / name).is_file() for name in _MARKS)


def needs_checkout(what: str) -> None:
    """Refuse what reads the workbook's notebooks, pages or graph where they are not there.

    Raises
    ------
    ValueError
        Naming the package's folder and the remedy.
    """
    package = Path(__file__).resolve().parents[1]
    if not is_checkout(package):
        raise ValueError(
            f"{what} needs the workbook's own folder, which holds run_all.sh, notebooks/ and "
            f"Snakefile; alignbook runs from {package}, which is the library alone. Get a copy of "
            "that folder and start ./run_all.sh in it"
        )
