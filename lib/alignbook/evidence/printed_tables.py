"""The papers' own numbers, transcribed cell by cell in each paper's folder printed/, a CSV an exhibit.

Papers come in the order of their rooms' names. `value` is the text of the print, `mark` what else
the print says of the cell, in these words:

- bold, down: in bold; after an arrow ↓. Best values marked in a way our texts lost have no mark.
- default, ensemble: in the row called Default (CoV-Align's Table 5); in one with a star (CHAN's).
- global, fragment, aligning: in a row of that type (CHAN's Table 1; our text has lost CGMN's).
"""

import csv
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from alignbook import PACKAGE

if TYPE_CHECKING:  # where the list of what would run reads claims, nothing heavy is imported
    import pandas as pd

ROOMS = PACKAGE / "papers"
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # in C it is ten times as fast
HEADER = ["group", "row", "column", "value", "mark"]
WORDS = {  # marks of a column of words, under the heading that is printed above it
    "global": ("type", "Global"),
    "fragment": ("type", "Fragment"),
    "aligning": ("type", "Aligning"),
    "default": ("variant", "Default"),
    "down": ("variant", "↓ {}"),
}
MARKS = {"bold", "ensemble", *WORDS}


def files(pattern: str) -> list[Path]:
    """Files of the papers' folders printed/ by name, in the order of the papers."""
    return sorted(ROOMS.glob(f"*/printed/{pattern}"))


@cache
def read(file: Path) -> dict:
    """A file of YAML as it stands: a paper's claims.yaml."""
    return yaml.load(file.read_text(encoding="utf-8"), LOADER)


_KNOWN = {file.parts[-3]: read(file)["paper"] for file in files("claims.yaml")}
PAPERS = {paper: known["name"] for paper, known in _KNOWN.items()}
# To stand behind a paper's name. Where we do not hold the whole of it, a verdict is on our rebuilding.
REBUILT = {
    paper: "" if known["held"] == "the paper" else f", rebuilt from {known['held']}"
    for paper, known in _KNOWN.items()
}


def exhibits() -> list[str]:
    """The transcribed tables' exhibit ids, sorted."""
    return sorted(path.stem for path in files("*-T*.csv"))


def table(exhibit: str) -> "pd.DataFrame":
    """The printed table of an exhibit, a line a cell, in the order of the print.

    Returns
    -------
    DataFrame: group, row, column, value (without percent sign), printed (its text), decimals (the
    most of the column's cells, as a print may drop zeros), mark.

    Raises
    ------
    FileNotFoundError, ValueError
        For an exhibit that isn't transcribed; for a line that is no cell, or one there already.

    Examples
    --------
    >>> print(*table("comalign-TI").loc[0, ["row", "value", "printed", "decimals"]])
    CLIP-ViT-B/32 50.0 50 2
    """
    found = {path.stem: path for path in files("*-T*.csv")}
    if exhibit not in found:
        raise FileNotFoundError(f"no table {exhibit}.csv; there are: {', '.join(sorted(found))}")
    path, cells = found[exhibit], {}
    lines = list(csv.reader(path.read_text(encoding="utf-8").splitlines()))
    if lines[:1] != [HEADER]:
        raise ValueError(f"{path}, line 1: not the header {','.join(HEADER)}")
    for i, fields in enumerate(lines[1:], 2):
        *key, printed, mark = fields if len(fields) == len(HEADER) else HEADER
        number = re.fullmatch("(-?[0-9]+([.][0-9]+)?)%?", printed)
        if not number or set(mark.split()) - MARKS:
            raise ValueError(f"{path}, line {i}: no number or no mark of {sorted(MARKS)}: {fields}")
        if tuple(key) in cells:
            raise ValueError(f"{path}, line {i}: {' / '.join(key)} is there already")
        cells[tuple(key)] = (*key, float(number[1]), printed, len(number[2] or ".") - 1, mark)
    import pandas as pd

    found = pd.DataFrame(list(cells.values()), columns=[*HEADER[:4], "printed", "decimals", "mark"])
    return found.assign(decimals=found.groupby("column").decimals.transform("max"))


def words(cells: "pd.DataFrame") -> dict[str, dict[tuple[str, str], str]]:
    """What a printed table says of its rows in columns of words: {heading: {(group, row): text}}.

    >>> words(table("covalign-T5"))["variant"]["Varying λ_g", "λ_v=0.5 λ_g=1 λ_c=5"]
    '↓ 2.7'
    """
    found: dict = {}
    for cell in cells.itertuples():
        for heading, text in (WORDS[mark] for mark in cell.mark.split() if mark in WORDS):
            found.setdefault(heading, {})[cell.group, cell.row] = text.format(cell.printed)
    return found


def ensembles(cells: "pd.DataFrame") -> set[tuple[str, str]]:
    """(group, row) of the rows with a star: CHAN's Table 1 says that they are of two models."""
    starred = cells[cells.mark.str.contains("ensemble")]
    return {*zip(starred.group, starred.row)}


def prose() -> dict[str, dict[str, str]]:
    """Figures of running text, captions and algorithms by id: exhibit, where, printed, unit, about."""
    lines: dict[str, dict[str, str]] = {}
    for path in files("prose.csv"):
        with open(path, encoding="utf-8", newline="") as file:
            lines |= {line["id"]: line for line in csv.DictReader(file)}
    return lines
