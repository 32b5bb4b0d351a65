"""Verdicts of other data beside a workbook's own: the world and photographs, and where they disagree."""

import contextlib
import json
from pathlib import Path

import pandas as pd

from alignbook import ROOT
from alignbook.core.names import PROFILES
from alignbook.errors import DataError
from alignbook.evidence import verdicts
from alignbook.evidence.families import NO_DIFFERENCE
from alignbook.workbook import folders
from alignbook.workbook.publishing import parts

DECIDED = ("reproduced", "contradicted", NO_DIFFERENCE)
PUBLISHED = "reference"  # the folder of published results, below that of all results
KINDS = ("world", "flickr8k", "flickr30k", "coco", "f30k_precomp", "coco_precomp", "precomp")


def others(kind: str, profile: str, root: Path) -> dict[str, Path]:
    """The results folders below `root` that have verdicts on other data than `kind`, by that data.

    Of each data set it is that of the same profile, or else of the largest there is; where there is none,
    the published one of below `root`/reference. The smoke profile decides nothing and stands beside
    nothing.
    """
    names = [profile, *(name for name in reversed(PROFILES) if name != profile)]
    found = {}
    for each in (other for other in KINDS if other != kind):
        places = [
            place / f"{each}-{name}"
            for place in (root, root / PUBLISHED)
            for name in names
            if name != "smoke"
        ]
        if judged := list(filter(_is_judged, places)):
            found[each] = judged[0]
    return found


def _is_judged(place: Path) -> bool:
    """Whether a whole results folder has verdicts, as notebook 90 wrote them."""
    file, about = place / "claims.csv", place / "about.json"
    there = folders.is_whole(file)
    told = json.loads(about.read_text(encoding="utf-8")) if there and about.exists() else {}
    return there and told.get("notebooks", parts.ALL) == parts.ALL


def published(kind: str, profile: str, root: Path = ROOT / "results/reference") -> list[Path]:
    """Where results on some data are published: those of a profile and then of larger ones, for smoke
    those of all, the largest first.

    >>> published("world", "laptop", Path("nowhere"))
    []
    """
    order = PROFILES[PROFILES.index(profile) :]
    names = order if profile != "smoke" else [*reversed(order)][:-1]
    folders = [root / f"{kind}-{name}" for name in names]
    return [each for each in folders if (each / "summary.csv").exists()]


def judged(book) -> dict[str, pd.DataFrame]:
    """claims.csv of the data that were judged, by their name and profile, `book`'s own first; other
    settings follow the name of other data, and so does that they are published. Where settings can't be
    read, the folder is passed over.
    """
    found, own = {}, book.out / "claims.csv"
    if book.profile.name != "smoke" and own.exists():
        found[f"{book.kind}, {book.profile.name}"] = own
    for kind, place in others(book.kind, book.profile.name, book.out.resolve().parent).items():
        with contextlib.suppress(DataError):
            label = f"{kind}, {place.name.removeprefix(f'{kind}-')}{_changed(place)}"
            label += ", published" * (place.parent.name == PUBLISHED)
            found[label] = place / "claims.csv"
    return {label: pd.read_csv(file, keep_default_na=False) for label, file in found.items()}


def _changed(place: Path) -> str:
    """The settings of a results folder that are not its profile's, to follow its name."""
    changed = folders.settings_of(place)["set"] if (place / "settings.json").exists() else {}
    return "".join(f", {name}={value}" for name, value in changed.items())


def table(book) -> pd.DataFrame:
    """A line a claim that was judged on some data: claim, says, and each data set's verdict; no line
    where there is one data set alone.
    """
    return together(judged(book))


def together(known: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """The `table` of some claims.csv, by the name of their data.

    >>> told = {"claim": ["a"], "says": ["b"], "verdict": ["undecided"]}
    >>> together({"world": pd.DataFrame(told), "photographs": pd.DataFrame(told)}).iloc[0].tolist()
    ['a', 'b', 'undecided', 'undecided']
    """
    if len(known) < 2:
        return pd.DataFrame(columns=["claim", "says"])
    first = pd.concat(known.values()).drop_duplicates("claim").set_index("claim")[["says"]]
    for data, claims in known.items():
        first[data] = claims.set_index("claim").verdict
    some = first[[*known]].isin(verdicts.JUDGED).any(axis=1)
    return first[some].fillna("–").reset_index()


def said(verdict: pd.DataFrame) -> str:
    """What a `table` comes to, in sentences: how many agree, each claim that does not, and what one of
    two data sets decides and the other does not.

    >>> told = {"claim": ["a", "b"], "says": "", "world": "reproduced"}
    >>> said(pd.DataFrame(told | {"photographs": ["contradicted", "undecided"]})).split(". ")[1:]
    ['Not alike: a (reproduced on world, contradicted on photographs)', 'Decided on world and not on photographs: b (reproduced; there undecided).']
    """
    data = list(verdict.columns[2:])
    if len(data) < 2:
        return "Other data than these were not judged here."
    return " ".join(_pair(verdict, data[0], other) for other in data[1:])


def _pair(verdict: pd.DataFrame, one: str, two: str) -> str:
    """What two data sets come to: columns of a `table`."""
    decided = verdict[[one, two]].isin(DECIDED)
    both = verdict[decided.all(axis=1)]
    apart = both[both[one] != both[two]]
    told = f"No claim is decided on both {one} and {two}."
    if len(both):
        count = f"{len(both)} claim{'s' * (len(both) > 1)}, {len(both) - len(apart)} alike"
        told = f"Decided on both {one} and {two}: {count}."
    each = [
        f"{line.claim} ({line[one]} on {one}, {line[two]} on {two})" for _, line in apart.iterrows()
    ]
    told += f" Not alike: {'; '.join(each)}." * bool(each)
    for here, there in ((one, two), (two, one)):
        alone = verdict[decided[here] & ~decided[there]]
        each = [
            f"{line.claim} ({line[here]}; there {_open(line[there])})"
            for _, line in alone.iterrows()
        ]
        told += f" Decided on {here} and not on {there}: {', '.join(each)}." * bool(each)
    return told


def _open(verdict: str) -> str:
    """A verdict that decides nothing, for reading."""
    return "not judged" if verdict == "–" else verdict
