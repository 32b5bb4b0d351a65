"""What notebook 00 shows: what is installed, what is computed, and how far each notebook is."""

import importlib.metadata
import platform
import time
from pathlib import Path

import pandas as pd

from alignbook import ROOT
from alignbook.evidence import verdicts
from alignbook.workbook import execute, exhibits, profiles

MAP = "00_start_here"
PACKAGES = ("torch", "numpy", "open_clip_torch", "transformers", "timm", "spacy", "jupyterlab")


def installed(device: str) -> pd.DataFrame:
    """Python, the packages that numbers depend on, and where models run: what, found."""
    found = [("Python", platform.python_version())]
    found += [(name, importlib.metadata.version(name)) for name in PACKAGES]
    return pd.DataFrame([*found, ("models run on", device)], columns=["what", "found"])


def computed(results: Path = ROOT / "results") -> pd.DataFrame:
    """What the main job has left, a line a results folder.

    Returns
    -------
    DataFrame
        results (`world-laptop`), notebooks ("12 of 26": finished, of those that these data have),
        numbers (rows of metrics.csv), the verdicts of its claims, and the day of the last notebook.
        No line where nothing is finished.
    """
    lines = []
    for folder in sorted(results.glob("*-*"), key=_place):
        done = [path for path in folder.glob("notebooks/*.done") if path.stem != MAP]
        if not done:
            continue
        all_of = len(_others(folder.name.partition("-")[0]))
        metrics, claims = folder / "metrics.csv", folder / "claims.csv"
        last = max(path.stat().st_mtime for path in done)
        said = pd.read_csv(claims).verdict.value_counts() if claims.exists() else {}
        lines.append(
            (
                folder.name,
                f"{len(done)} of {all_of}",
                len(pd.read_csv(metrics)) if metrics.exists() else 0,
                ", ".join(f"{said[name]} {name}" for name in verdicts.JUDGED if name in said)
                or "–",
                time.strftime("%Y-%m-%d", time.localtime(last)),
            )
        )
    return pd.DataFrame(lines, columns=["results", "notebooks", "numbers", "verdicts", "last"])


def verdict_on(book, claim: str) -> tuple[pd.DataFrame, str]:
    """A claim's contrasts and its verdict, as notebook 90 left them in the results folder.

    Returns
    -------
    lines : DataFrame
        contrast, seeds, difference, low, high (95 % over seeds) and how it reads; none where
        notebook 90 has not been run on these results.
    verdict : str
        The claim's name and what was found, in a few words.
    """
    columns = ["contrast", "seeds", "difference", "low", "high", "reading"]
    if not (book.out / "claims.csv").exists():
        return pd.DataFrame(columns=columns), f"{claim}: notebook 90 has not been run here"
    found = pd.read_csv(book.out / "claims.csv").set_index("claim").loc[claim]
    lines = pd.read_csv(book.out / "contrasts.csv").rename(columns={"value": "difference"})
    lines = lines[lines.claim == claim].reset_index(drop=True)
    return lines[columns], f"{claim}: {found.verdict}, {found.why}"


def _place(folder: Path) -> tuple[str, int]:
    """Data sets by name, their profiles from the smallest to the largest."""
    data, _, profile = folder.name.partition("-")
    return data, profiles.NAMES.index(profile) if profile in profiles.NAMES else len(profiles.NAMES)


def _others(kind: str) -> list[str]:
    """The notebooks of a data set but for the one that shows this."""
    return [name for name in exhibits.resolve([], kind) if name != MAP]


def notebooks(book) -> pd.DataFrame:
    """How far each notebook of a workbook's data is in its results folder.

    Returns
    -------
    DataFrame
        notebook, the exhibits it shows, and whether it is there: "done", "not yet", or what stopped
        it.
    """
    lines = []
    for name in _others(book.kind):
        executed = book.out / "notebooks" / f"{name}.ipynb"
        state = "done" if executed.with_suffix(".done").exists() else "not yet"
        if state == "not yet" and executed.exists():
            state = execute.failure(executed) or state
        lines.append((name, ", ".join(exhibits.NOTEBOOKS[name].shown) or "–", state))
    return pd.DataFrame(lines, columns=["notebook", "exhibits", "here"])
