"""A results folder that is not whole: which chapters of it are, and what belongs to them."""

import io
from collections.abc import Collection
from pathlib import Path

import pandas as pd

from alignbook.workbook import chapters, exhibits, folders

ALL = "all"  # what about.json of published results says of a whole folder's chapters


def is_whole(out: Path) -> bool:
    """Whether every notebook is done that a results folder's data and settings have."""
    return _wanted(out) <= _done(out)


def of_folder(out: Path) -> list[str]:
    """The papers of which every such notebook is done, in the order of the chapters."""
    wanted, done = _wanted(out), _done(out)
    own = {paper: {n for n in wanted if exhibits.chapter(n) == paper} for paper in chapters.PAPERS}
    return [paper for paper, notebooks in own.items() if notebooks and notebooks <= done]


def _done(out: Path) -> set[str]:
    return {path.stem for path in (out / "notebooks").glob("*.done")}


def _wanted(out: Path) -> set[str]:
    """The notebooks that a results folder's data have, but those whose every exhibit lacks something."""
    said = folders.settings_of(out)
    data, profile = said["data"].partition("=")[0], folders.profile_of(said)
    made = {name: exhibits.NOTEBOOKS[name].exhibits for name in exhibits.resolve([], data)}
    return {
        name
        for name, own in made.items()
        if not own or any(exhibits.arms(each, data, profile) for each in own)
    }


def problem(out: Path, papers: Collection[str]) -> str:
    """What speaks against taking some chapters' numbers from metrics.csv, "" if nothing does: a start
    that was stopped leaves those of the start before.
    """
    file, again = out / "metrics.csv", f"./run_all.sh {' '.join(papers)} gathers them"
    if not file.exists():
        return f"metrics.csv missing; {again}"
    known = {*pd.read_csv(file, usecols=["exhibit"]).exhibit}
    for folder in sorted((out / "arms").glob("*")):
        if belongs(folder.name, papers):
            if folder.name not in known:
                return f"no number of {folder.name} in metrics.csv; {again}"
            if any(each.stat().st_mtime > file.stat().st_mtime for each in folder.glob("*.csv")):
                return f"metrics.csv is older than the runs of {folder.name}; {again}"
    return ""


def belongs(name: str, papers: Collection[str]) -> bool:
    """Whether an exhibit, table or figure, by its name, is of one of some papers or the base models.

    >>> [belongs(name, ["chan"]) for name in ("chan-T3", "gsl-T1", "base-models", "claims-1")]
    [True, False, True, False]
    """
    return name.partition("-")[0] in papers or name.startswith("base-models")


def rows(text: str, papers: Collection[str]) -> str:
    r"""A table as CSV without the rows of other papers' exhibits, its digits as they were.

    >>> rows("exhibit,x\nchan-T3,0.10\ngsl-T1,2\n", ["chan"])
    'exhibit,x\nchan-T3,0.10\n'
    """
    found = pd.read_csv(io.StringIO(text), dtype=str, keep_default_na=False)
    own = [belongs(each, papers) for each in found.exhibit]
    return found.loc[own].to_csv(index=False)
