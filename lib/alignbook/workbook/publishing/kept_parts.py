"""Notebooks that were published before, of which a folder that is published now has nothing.

A long run may be made in several sittings, each on a machine of its own with a notebook or two. All
that is published is judged together, as if it had been made at once.
"""

import contextlib
import json
import shutil
from pathlib import Path

import pandas as pd
from pandas.errors import EmptyDataError

from alignbook.evidence import claims
from alignbook.store import durable
from alignbook.workbook import exhibits
from alignbook.workbook.publishing import again, parts
from alignbook.workbook.running.lent import MEASURED

FILES = (*MEASURED, "tables/*.md", "figures/*.png")
QUERIES = ["query_low", "query_high"]  # which need the recalls of each picture


def notebooks(published: Path, part: list[str] | None, about: dict) -> list[str]:
    """Those that are published without being among `part`, the notebooks of a folder that is not whole;
    of a whole run all but the one of verdicts, which are judged anew.

    Raises
    ------
    ValueError
        What is published there is of other settings than `about` says.
    """
    file = published / "about.json"
    if part is None or not file.exists():
        return []
    before = json.loads(file.read_text(encoding="utf-8"))
    for name in ("set", "seeds"):
        if before[name] != about[name]:
            raise ValueError(
                f"{published} is of other settings: {name} {before[name]}, here {about[name]}; remove "
                "it first"
            )
    there = before["notebooks"]
    if there == parts.ALL:
        there = [name for name in exhibits.NOTEBOOKS if name != exhibits.VERDICTS]
    return [name for name in there if name not in part]


def add(published: Path, to: Path, kept: list[str], numbers: tuple[str, ...]) -> None:
    """Add what is published of some notebooks to what is to be published in `to`."""
    for name in numbers:
        new, old = (_read(parts.table(folder, name)) for folder in (to, published))
        if some := [each for each in (new, _own(old, new, kept)) if len(each)]:
            both = pd.concat(some).fillna("").sort_values("exhibit", kind="stable")
            durable.write(to / f"{name}.csv", both.to_csv(index=False))
    for path in (path for pattern in FILES for path in published.glob(pattern)):
        there = to / path.relative_to(published)
        if parts.is_shown(path.stem, kept) and not there.exists():
            there.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, there)
    if len(elsewhere := _read(published / again.FILE)):
        of = {claim.id: claim.exhibit for claim in claims.load()}
        some = elsewhere[[parts.belongs(of[claim], kept) for claim in elsewhere.claim]]
        if len(some):
            durable.write(to / again.FILE, some.to_csv(index=False))


def with_queries(contrasts: pd.DataFrame, published: Path) -> pd.DataFrame:
    """Contrasts with the intervals over pictures that they had when they were published, if they have
    none now.
    """
    which = ["claim", "contrast"]
    known = pd.read_csv(published / "contrasts.csv").set_index(which)[QUERIES]
    found = contrasts.set_index(which)
    return found.fillna(known).reset_index()[contrasts.columns]


def told(published: Path, about: dict, kept: list[str]) -> dict:
    """What about.json says of both together: all notebooks, all starts, versions where they differ, and
    what was given to earlier methods. A folder that was published before brings its starts again.
    """
    before = json.loads((published / "about.json").read_text(encoding="utf-8"))
    versions, whole = before.get("versions", {}), before["notebooks"] == parts.ALL
    others = {name: versions.get(name, before["version"]) for name in kept}
    earlier = {name: said for name, said in before.get("earlier", {}).items() if name in kept}
    return about | {
        **({"earlier": earlier} if earlier else {}),
        "notebooks": parts.ALL if whole else sorted([*about["notebooks"], *kept]),
        "versions": {k: v for k, v in others.items() if v != about["version"]},
        "starts": before["starts"]
        + [each for each in about["starts"] if each not in before["starts"]],
    }


def _own(old: pd.DataFrame, new: pd.DataFrame, kept: list[str]) -> pd.DataFrame:
    """The rows of some notebooks; of base models, which all have, those that are not there anew."""
    arm = "row" if "row" in old else "arm"
    base = {*new[new.exhibit == parts.BASE][arm]} if len(new) and len(old) else set()
    own = [
        parts.belongs(exhibit, kept) and not (exhibit == parts.BASE and row in base)
        for exhibit, row in zip(old.exhibit, old[arm])
    ]
    return old[own]


def _read(file: Path) -> pd.DataFrame:
    """A CSV file's cells as they are written; empty where there is none, or nothing in it."""
    with contextlib.suppress(FileNotFoundError, EmptyDataError):
        return pd.read_csv(file, dtype=str, keep_default_na=False)
    return pd.DataFrame({"exhibit": [], "row": []})
