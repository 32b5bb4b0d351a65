"""What is published: the reference results of each data set, read for the gallery and README.md."""

import json
from functools import cached_property
from pathlib import Path

import pandas as pd

from alignbook import ROOT
from alignbook.core.names import PROFILES
from alignbook.evidence import claims, verdicts
from alignbook.evidence.claims import Contrast
from alignbook.evidence.contrasts import Numbers
from alignbook.workbook import budget, start
from alignbook.workbook.publishing import parts, superseded

REFERENCE = ROOT / "results/reference"
NAMES = {"world": "the synthetic world", "flickr8k": "Flickr8k"}


class Reference:
    """One published results folder: where it lies, what it is of, its verdicts and contrasts."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.about = json.loads((folder / "about.json").read_text(encoding="utf-8"))
        self.claims = pd.read_csv(folder / "claims.csv", keep_default_na=False)
        self.contrasts = pd.read_csv(folder / "contrasts.csv")
        timings = folder / "timings.csv"
        known = pd.read_csv(timings) if timings.exists() else None
        self.cost = {} if known is None else budget.core_minutes(known)
        asked = self.claims.assign(needed=pd.to_numeric(self.claims.needed, errors="coerce"))
        self.hours = {} if known is None else budget.to_decide(asked, known)

    @property
    def data(self) -> str:
        """Its data, for reading."""
        return NAMES.get(self.about["data"], self.about["data"])

    @property
    def label(self) -> str:
        """Its data and profile, for reading."""
        return f"{self.data}, {self.about['profile']} profile"

    @cached_property
    def metrics(self) -> pd.DataFrame:
        """Its metrics.csv, without a line where there is none."""
        file = self.folder / "metrics.csv"
        columns = ["exhibit", "row", "column", "seed", "value", "protocol"]
        return pd.read_csv(file) if file.exists() else pd.DataFrame(columns=columns)

    @cached_property
    def numbers(self) -> Numbers:
        """Those numbers by term and seed."""
        return Numbers(self.metrics)

    @cached_property
    def curves(self) -> pd.DataFrame:
        """Its curves of loss and dev, without a line where there are none."""
        try:
            return pd.read_csv(parts.table(self.folder, "curves"))
        except (FileNotFoundError, pd.errors.EmptyDataError):
            return pd.DataFrame(columns=["exhibit", "arm", "seed", "curve", "step", "value"])

    def arms(self, exhibit: str) -> set[str]:
        """The arms of an exhibit that have numbers."""
        return {*self.metrics[self.metrics.exhibit == exhibit].row}

    def asked(self, claim: str) -> Contrast:
        """A claim's first contrast, on the targets that the data has."""
        (known,) = [each for each in claims.load() if each.id == claim]
        return verdicts.there([known], self.numbers)[0].contrasts[0]

    def earlier(self, claim: str) -> list[str]:
        """The settings that the arms of a claim's first contrast have otherwise today."""
        rows = frozenset((term.exhibit, term.row) for term in self.asked(claim).terms)
        return superseded.settings(self.folder, rows)

    def contrast(self, claim: str) -> tuple[pd.Series | None, str]:
        """A claim's contrast, None where none is measured, and which of several it is: the one that is
        least sure, or the surest where the claim is contradicted.
        """
        some = self.contrasts[(self.contrasts.claim == claim) & self.contrasts.value.notna()]
        if not len(some):
            return None, ""
        against = "contradicted" in self.claims[self.claims.claim == claim].verdict.to_list()
        some = some.sort_values("p", ascending=against, na_position="first", kind="stable")
        which, first = "surest" if against else "least sure", some.iloc[0]
        told = f" ({first.contrast}: the {which} of {len(some)} differences)"
        return first, told * (len(some) > 1)

    def found(self, claim: str) -> str:
        """Its `contrast` with the interval and the seeds, "" where none is measured."""
        first, which = self.contrast(claim)
        return "" if first is None else start.found(first) + which


def references(root: Path = REFERENCE) -> list[Reference]:
    """The published folders: the world first, and each data set's largest profile last."""
    found = [Reference(path.parent) for path in root.glob("[!.]*/claims.csv")]
    return sorted(found, key=_place)


def _place(one: Reference) -> tuple:
    data, profile = one.about["data"], one.about["profile"]
    return data != "world", data, PROFILES.index(profile)


def table(head: list[str], rows: list[list[str]]) -> str:
    """A table in Markdown, "" without rows."""
    written = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(_cell, row))} |" for row in written) if rows else ""


def _cell(text: str) -> str:
    return text.replace("|", r"\|")


def test_sets(protocols: pd.Series) -> list[tuple[str, str]]:
    """Which data recalls are measured on, and among how many images, as their protocols begin.

    >>> test_sets(pd.Series(["world B test, 400 images x 5 captions", "training pairs"]))
    [('world B', '400')]
    """
    told = protocols.drop_duplicates().astype(str).str.extract(r"^(.+) test, (\d+) images")
    return [*told.dropna().drop_duplicates().itertuples(index=False, name=None)]
