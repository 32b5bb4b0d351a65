"""Published runs of a method that has other settings today: which settings these are.

Settings of the arms themselves are compared with today's. What arms are given, such as regions, is no
setting of theirs: where that was changed, about.json says so under "earlier", by notebook. Who changes
it writes that there; publishing the notebook anew takes it away.
"""

import functools
import json
from collections.abc import Collection
from dataclasses import asdict
from pathlib import Path

import pandas as pd

from alignbook.evidence import claims
from alignbook.evidence.printed_tables import PAPERS
from alignbook.workbook import chapters, exhibits, profiles
from alignbook.workbook.publishing import parts

# Settings that came in with the value of all runs before them: a run without them had this one.
AS_BEFORE = {"mixture": "beta"}
REPORTED = ("exhibit", "row", "role", "config")


def told(names: list[str]) -> str:
    """What to say of them, "" of none."""
    return f"with earlier settings ({', '.join(names)})" if names else ""


def settings(folder: Path, rows: frozenset[tuple[str, str]]) -> list[str]:
    """Settings whose published values are none of those that today's arms may have.

    Parameters
    ----------
    folder : a published one.
    rows : (exhibit, row) of arms. What no longer exists, or trains nothing, is left out.
    """
    return [
        *dict.fromkeys(name for own in sorted(rows) for name in _of_folder(folder).get(own, ()))
    ]


def of_contrasts(folder: Path, some: Collection[tuple[str, str]]) -> list[str]:
    """The same of the arms of some contrasts, each (claim, contrast)."""
    terms = {
        (term.exhibit, term.row)
        for claim in claims.load()
        for each in claim.contrasts
        if (claim.id, each.label) in some
        for term in each.terms
    }
    return settings(folder, frozenset(terms))


@functools.cache
def _of_folder(folder: Path) -> dict[tuple[str, str], list[str]]:
    """What is other today of every arm in a folder, nothing of most."""
    file = parts.table(folder, "runs")
    if not file.exists() or not {*REPORTED} <= {*(made := pd.read_csv(file))}:
        return {}
    about = json.loads((folder / "about.json").read_text(encoding="utf-8"))
    profile = profiles.get(about["profile"], about["data"], about["set"])
    made = made[made.role == "report"].drop_duplicates(["exhibit", "row"]).dropna(subset=["config"])
    found = {}
    for exhibit, own in made.groupby("exhibit"):
        if exhibit not in exhibits.EXHIBITS or exhibits.paper(exhibit) not in PAPERS:
            continue
        given, today = about.get("earlier", {}).get(exhibits.EXHIBITS[exhibit].notebook, []), {}
        for arm, (candidates, changes) in chapters.arms_of(exhibit).arms(exhibit, profile).items():
            row = exhibits.row_and_target(arm)[0]
            today.setdefault(row, []).extend(asdict(each) | changes for each in candidates)
        for line in own.itertuples():
            row = exhibits.row_and_target(line.row)[0]
            if row in today:
                found[exhibit, row] = [*given, *_other(json.loads(line.config), today[row])]
    return found


def _other(published: dict, today: list[dict]) -> list[str]:
    """Settings of today's candidates whose published value is none of theirs, or is missing; none where
    most are missing: that run measured another.

    >>> today = [{"mask": "logits", "steps": 9, "placed": placed} for placed in (True, False)]
    >>> _other({"mask": "attention", "steps": 9}, today)
    ['mask', 'placed']
    """
    published = AS_BEFORE | published
    plain = json.loads(json.dumps(today))  # tuples as lists, as they are published
    if len(plain[0].keys() & published.keys()) < len(plain[0]) / 2:
        return []
    return [name for name in plain[0] if all(published.get(name) != each[name] for each in plain)]
