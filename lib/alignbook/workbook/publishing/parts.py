"""A results folder that is not whole: which notebooks of the papers are done, and what belongs to them."""

import io
import json
from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path

import pandas as pd

from alignbook import ROOT
from alignbook.workbook import chapters, exhibits, folders

ALL = "all"  # what about.json of published results says of a whole folder's notebooks
BASE = "base-models"  # belongs to every part
NOTEBOOKS = ROOT / "notebooks"


def table(folder: Path, name: str) -> Path:
    """A table of a results folder, or of a published one, which packs long ones: pandas reads both."""
    plain = folder / f"{name}.csv"
    packed = plain.with_name(f"{plain.name}.gz")
    return packed if packed.exists() else plain


def is_whole(out: Path) -> bool:
    """Whether every notebook is done that a results folder's data and settings have."""
    return _wanted(out) <= _done(out)


def of_folder(out: Path) -> list[str]:
    """The notebooks of papers that are done, of those that its data and settings have."""
    done = _wanted(out) & _done(out)
    return [name for name in exhibits.NOTEBOOKS if name in done and paper(name)]


def paper(notebook: str) -> str:
    """The paper whose chapter a notebook is of, "" if none's."""
    chapter = exhibits.chapter(notebook)
    return chapter if chapter in chapters.PAPERS else ""


def numbers(notebooks: Collection[str]) -> str:
    """Notebooks by the numbers that their names begin with.

    >>> numbers(["20_comalign", "22_comalign_ablations"])
    '20, 22'
    """
    return ", ".join(name.partition("_")[0] for name in notebooks)


def _done(out: Path) -> set[str]:
    return {path.stem for path in (out / "notebooks").glob("*.done")}


def _wanted(out: Path) -> set[str]:
    """The notebooks that a results folder's data have, except those all of whose exhibits lack something."""
    said = folders.settings_of(out)
    data, profile = said["data"].partition("=")[0], folders.profile_of(said)
    made = {name: exhibits.NOTEBOOKS[name].exhibits for name in exhibits.resolve([], data)}
    return {
        name
        for name, own in made.items()
        if not own or any(exhibits.arms(each, data, profile) for each in own)
    }


def problem(out: Path, part: Collection[str]) -> str:
    """What speaks against taking some notebooks' numbers from metrics.csv, "" if nothing does: a start
    that was stopped leaves those of the start before.
    """
    file, again = out / "metrics.csv", f"./run_all.sh {' '.join(part)} gathers them"
    if not file.exists():
        return f"metrics.csv missing; {again}"
    known = {*pd.read_csv(file, usecols=["exhibit"]).exhibit}
    for folder in sorted((out / "arms").glob("*")):
        if belongs(folder.name, part):
            if folder.name not in known and folder.name != BASE:  # which need not be asked for
                return f"no number of {folder.name} in metrics.csv; {again}"
            if any(each.stat().st_mtime > file.stat().st_mtime for each in folder.glob("*.csv")):
                return f"metrics.csv is older than the runs of {folder.name}; {again}"
    return ""


def belongs(exhibit: str, part: Collection[str]) -> bool:
    """Whether an exhibit is one that some notebooks show, or that of the base models.

    >>> [belongs(name, ["11_chan_ablations"]) for name in ("chan-T3", "chan-T1", "base-models")]
    [True, False, True]
    """
    return exhibit == BASE or exhibits.EXHIBITS[exhibit].notebook in part


def is_shown(name: str, part: Collection[str]) -> bool:
    """Whether some notebooks show a table or figure, by its name, or it is of the base models.

    >>> [is_shown(name, ["40_gsl"]) for name in ("gsl-F1-epochs", "gsl-noise", "gsl-T1", "claims-1")]
    [True, True, False, False]
    """
    return name.startswith(BASE) or notebook_of(name, texts()) in part


def rows(text: str, part: Collection[str]) -> str:
    r"""A table as CSV without the rows of other notebooks' exhibits, its digits as they were.

    >>> rows("exhibit,x\nchan-T3,0.10\ngsl-T1,2\n", ["11_chan_ablations"])
    'exhibit,x\nchan-T3,0.10\n'
    """
    found = pd.read_csv(io.StringIO(text), dtype=str, keep_default_na=False)
    own = [belongs(each, part) for each in found.exhibit]
    return found.loc[own].to_csv(index=False)


# --- Which notebook shows it ---------------------------------------------------------------------


@cache
def texts(folder: Path = NOTEBOOKS) -> dict[str, str]:
    """The lines of all cells of each notebook."""
    found = {}
    for name in exhibits.NOTEBOOKS:
        cells = json.loads((folder / f"{name}.ipynb").read_text(encoding="utf-8"))["cells"]
        found[name] = "\n".join("".join(cell["source"]) for cell in cells)
    return found


def notebook_of(stem: str, texts: Mapping[str, str]) -> str:
    """The notebook that shows a figure or table: that of the exhibit it is named after, or else the
    first that names it, or how it begins, in its code.

    >>> notebook_of("chan-T3-differences", {}), notebook_of("claims-7", {"90_claims": 'f"claims-{i}"'})
    ('11_chan_ablations', '90_claims')
    """
    if exhibit := exhibit_of(stem):
        return exhibits.EXHIBITS[exhibit].notebook
    for begin in _begins(stem):
        end = '"' if begin == stem else "-"
        for name, text in texts.items():
            if f'"{begin}{end}' in text:
                return name
    return ""


def exhibit_of(stem: str) -> str:
    """The exhibit that a figure or table is named after, "" if none."""
    return next((each for each in _begins(stem) if each in exhibits.EXHIBITS), "")


def _begins(stem: str) -> list[str]:
    """A name, and how it begins, the longest first.

    >>> _begins("chan-T3-training")
    ['chan-T3-training', 'chan-T3', 'chan']
    """
    words = stem.split("-")
    return ["-".join(words[:count]) for count in range(len(words), 0, -1)]
