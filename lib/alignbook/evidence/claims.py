"""What the papers claim: each one's printed/claims.yaml, every claim as one test over contrasts.

A contrast is a value, such as the RSUM of one arm less that of another, and the range that the
claim puts it in. `verdicts` evaluates contrasts on our numbers and on the papers' own.

A claims.yaml names its ``paper`` and lists ``claims``, each of one exhibit and with the fields of
`Entry`. Its ``test`` takes:

- greater: ``pairs`` [first, second]; first − second is above zero. With ``or_equal`` it is above
  −0.5 % of their mean, in the print as in ours: equal digits hold, significantly below contradicts;
- ordered: ``rows`` from the highest down; every neighbour pair is greater;
- best: ``rows``, the best first; it is greater than each of the others;
- flat: ``rows``; every pair lies within 0.5 % of their mean;
- collapse: ``pairs`` [collapsed, reference]; the drop is more than 5 % of the reference;
- slope: ``rows`` {arm: x}, ``sign`` up or down; least squares on log x, seed by seed;
- ratio: ``pairs`` [first, second], ``band`` [low, high]; first / second lies in the band.

A side of a pair is an arm, a list of arms (their mean), a number, or {arm: weight}. An arm may
carry another exhibit (comalign-TIII / global) or a column of its own (clip @ VG-Relation).

One claim of each file is ``primary: true``: a single contrast, named before the runs, on which the
paper stands or falls. It is tested first and by itself (see `verdicts`). If it is greater, it may
name a band, ``no_difference`` in percent of the mean of both sides or ``no_difference_points``:
where the contrast surely lies within it either way, the arms do not differ by more.

``trained_as`` names, for an exhibit, arms of another one (exhibit / row) that are trained as its own are, on
the same data and as long, and that have a control of four times the steps (see `verdicts`).

``printed`` gives for each exhibit the row of the paper's table ("group | row") that is our arm's,
``printed_columns`` the table's column that is ours where it has another name.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
import yaml

from alignbook.core.names import PROFILES, TARGETS
from alignbook.evidence import printed_tables

FLAT, COLLAPSE = 0.5, 5.0  # percent
KEPT = (
    *("id", "paper", "exhibit", "says", "where", "test", "least"),
    *("untestable", "print_only", "primary", "alike"),
)
UNITS = {"seconds": "s", "diagonal": "cosine", "spread": "sides", "label AUC": "AUC"}  # or points
# Columns that are measured, and take no training.
MEASURED = frozenset({"ms/pair", "ms/pair with encoding", "MB", "seconds"})
DECIMALS = {"×": 2, "cosine": 3, "sides": 3, "AUC": 3}  # of values of a unit, otherwise 1


@dataclass(frozen=True)
class Term:
    """One number of metrics.csv, by exhibit, row and column."""

    exhibit: str
    row: str
    column: str

    @property
    def target(self) -> str:
        """The target that a column names, as "coco i2t R@1" does; "" where it names none."""
        first = self.column.partition(" ")[0]
        return first if first in TARGETS else ""


@dataclass(frozen=True)
class Side:
    """A weighted sum of numbers, and a constant: one side of a contrast."""

    terms: tuple[tuple[Term, float], ...] = ()
    constant: float = 0.0

    def value(self, number):
        """The sum, `number(term)` being one number or one a seed."""
        return self.constant + sum(weight * number(term) for term, weight in self.terms)

    def on(self, targets) -> "Side":
        """A mean over several targets as that over those which the data has; any other sum as it is.

        >>> terms = [(Term("comalign-TI", "clip", f"{of} i2t R@1"), 0.5) for of in TARGETS]
        >>> Side(tuple(terms)).on({"f30k"})
        Side(terms=((Term(exhibit='comalign-TI', row='clip', column='f30k i2t R@1'), 1.0),), constant=0.0)
        """
        kept = [(term, weight) for term, weight in self.terms if term.target in (*targets, "")]
        if len(kept) in (0, len(self.terms)) or min(weight for _, weight in self.terms) <= 0:
            return self
        more = sum(weight for _, weight in self.terms) / sum(weight for _, weight in kept)
        return replace(self, terms=tuple((term, weight * more) for term, weight in kept))


@dataclass(frozen=True)
class Contrast:
    """Two sides, how they are set against each other, and the range claimed for the value.

    ``unit`` is "points" or one of `UNITS` (first − second), "points a doubling" (a slope, all in
    first), "%" of the sides' mean (first − second), "% lost" (of first, in second) or "×" (first /
    second).
    """

    label: str
    first: Side
    second: Side
    unit: str = "points"
    low: float = 0.0
    high: float = np.inf

    @property
    def terms(self) -> list[Term]:
        return [term for side in (self.first, self.second) for term, _ in side.terms]

    @property
    def columns(self) -> frozenset[str]:
        """The columns of metrics.csv that the contrast is made of; most often a single one."""
        return frozenset(term.column for term in self.terms)

    def value(self, first, second):
        """The contrast of the two sides' values; for "×" its logarithm, where t tests belong."""
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.unit == "%":
                return 200 * (first - second) / (first + second)
            if self.unit == "% lost":
                return 100 * (first - second) / first
            return np.log(first / second) if self.unit == "×" else first - second

    def bounds(self) -> tuple[float, float]:
        """The claimed range, on the scale of `value`."""
        if self.unit != "×":
            return self.low, self.high
        with np.errstate(divide="ignore"):
            return float(np.log(self.low)), float(np.log(self.high))

    def shown(self, value):
        """A value on the scale that is printed."""
        return np.exp(value) if self.unit == "×" else value


@dataclass(frozen=True)
class Claim:
    """One entry of a claims.yaml, its contrasts spelt out.

    ``need`` of the contrasts have to hold. ``untestable`` says why we cannot decide it; a claim
    that is ``print_only`` is about the paper's own table and is not asked of our numbers. ``same``
    of a ``primary`` claim is its contrast, claimed to lie in the band of no difference. ``alike`` are
    the settings that dev has to choose alike for both sides. ``trained_as`` are exhibits and rows whose
    control of four times the steps speaks for the claim's arms too.
    """

    id: str
    paper: str
    exhibit: str
    says: str
    where: str
    test: str
    contrasts: tuple[Contrast, ...]
    need: int
    least: str = "laptop"
    untestable: str = ""
    print_only: bool = False
    primary: bool = False
    alike: tuple[str, ...] = ()
    same: Contrast | None = None
    trained_as: tuple[tuple[str, str], ...] = ()

    @property
    def measured(self) -> bool:
        """Whether it is about time and memory alone: then measurements count, and not seeds."""
        return all(contrast.columns <= MEASURED for contrast in self.contrasts)

    def on(self, targets) -> "Claim":
        """The claim on data that has some of the targets alone; see `Side.on`."""
        contrasts = tuple(_on(contrast, self.exhibit, targets) for contrast in self.contrasts)
        same = self.same and _on(self.same, self.exhibit, targets)
        return (
            self if contrasts == self.contrasts else replace(self, contrasts=contrasts, same=same)
        )


# --- Reading -------------------------------------------------------------------------------------


@cache
def load(*files: Path) -> tuple[Claim, ...]:
    """All claims of some files, by default of the papers', in their order.

    Raises
    ------
    ValueError
        Naming the file, the claim and what is wrong with it.
    """
    found: dict[str, tuple[Claim, Path]] = {}  # {id: (claim, its file)}
    for file in files or printed_tables.files("claims.yaml"):
        for claim in _of(file):
            if claim.id in found:
                raise ValueError(
                    f"{_path(file)}: {claim.id} stands in {_path(found[claim.id][1])} already"
                )
            found[claim.id] = claim, file
    return tuple(claim for claim, _ in found.values())


def _of(file: Path) -> list[Claim]:
    """The claims of one file, whose folder lies in its paper's room."""
    try:
        whole = printed_tables.read(file)
        listed, trained_as = list(whole["claims"]), whole.get("trained_as", {})
    except (yaml.YAMLError, TypeError, KeyError) as error:
        raise ValueError(f"{_path(file)}: no list of claims: {error}") from None
    found = []
    for i, entry in enumerate(listed, 1):
        name = entry.get("id", f"claim {i}") if isinstance(entry, dict) else f"claim {i}"
        try:
            claim = Entry(paper=file.parts[-3], **entry).claim()
            arms = (arm.split(" / ", 1) for arm in trained_as.get(claim.exhibit, []))
            found.append(replace(claim, trained_as=tuple((of, row) for of, row in arms)))
        except (TypeError, ValueError, KeyError, AttributeError) as error:
            raise ValueError(f"{_path(file)}, {name}: {error}") from None
    first = [claim.id for claim in found if claim.primary]
    if len(first) != 1:
        raise ValueError(
            f"{_path(file)}: expected primary: true at one claim, not at {len(first)} "
            f"({', '.join(first) or 'none'}); name the one that the paper stands or falls by"
        )
    return found


def _path(file: Path) -> str:
    """A file's name with its paper's, such as chan/printed/claims.yaml."""
    return "/".join(file.parts[-3:])


def printed_names() -> tuple[dict, dict]:
    """The rows and the columns of the papers' tables that are ours, by exhibit and our name.

    A row is said as "group | row"; columns are there where they have another name.
    """
    rows: dict[str, str] = {}
    columns: dict[str, str] = {}
    for file in printed_tables.files("claims.yaml"):
        listed = printed_tables.read(file)
        rows |= listed["printed"]
        columns |= listed.get("printed_columns", {})
    return rows, columns


@dataclass(frozen=True)
class Entry:
    """One entry of a claims.yaml as it stands there, and its paper."""

    id: str
    paper: str
    exhibit: str
    says: str  # a sentence that can be understood by itself
    where: str  # in the paper
    test: str  # one of `TESTS`, which says what it takes
    pairs: list | None = None
    rows: list | dict | None = None
    columns: tuple = ("RSUM",)  # every column makes a contrast of its own
    sign: str | None = None
    band: list | None = None
    or_equal: bool | None = None  # true: not lower by more than counts as flat; of greater alone
    need: int | None = None  # how many contrasts must hold, all unless said
    least: str = "laptop"  # the first profile whose numbers may decide
    untestable: str = ""  # why the claim cannot be decided in this workbook
    print_only: bool = False  # about the print itself, and not asked of our numbers
    primary: bool = False  # tested first, and by itself
    alike: tuple = ()  # settings that themselves move the columns: what dev chose has to be the same
    no_difference: float | None = None  # percent of the mean of both sides, either way
    no_difference_points: float | None = None  # the same in points, or the unit of the column

    def claim(self) -> Claim:
        """The claim; ValueError says what is wrong with the entry."""
        given = {name: getattr(self, name) for name in ("pairs", "rows", "sign", "band")}
        given = {name: value for name, value in given.items() if value is not None}
        self._check(given)
        make = _not_lower if self.or_equal else TESTS[self.test][1]
        contrasts = dict.fromkeys(  # in order; a pair with columns of its own comes once
            each for column in self.columns for each in make(self.exhibit, str(column), **given)
        )
        need = len(contrasts) if self.need is None else self.need
        if not isinstance(need, int) or not 1 <= need <= len(contrasts):
            raise ValueError(f"needs {need} of {len(contrasts)} contrasts")
        if self.primary not in (True, False) or self.primary and len(contrasts) > 1:
            raise ValueError(f"primary: true, of one contrast, not {self.primary!r} of {need}")
        kept = {name: getattr(self, name) for name in KEPT} | {"alike": tuple(self.alike)}
        same = self._same(next(iter(contrasts)))
        return Claim(contrasts=tuple(contrasts), need=need, same=same, **kept)

    def _same(self, contrast: Contrast) -> Contrast | None:
        """The contrast in its band of no difference, if the entry names one."""
        percent, points = self.no_difference, self.no_difference_points
        band = points if percent is None else percent
        if band is None:
            return None
        if not self.primary or self.test != "greater" or self.or_equal:
            raise ValueError("no_difference: of the primary claim, if it is greater")
        if percent is not None and points is not None or not 0 < band < np.inf:
            raise ValueError(
                f"no_difference: expected one band above zero, not {percent}, {points}"
            )
        unit = contrast.unit if percent is None else "%"
        return replace(contrast, unit=unit, low=-band, high=band)

    def _check(self, given: dict) -> None:
        """Raise for fields that go with no test, or not with this one."""
        if self.test not in TESTS:
            raise ValueError(f"no test {self.test!r}; there are: {', '.join(TESTS)}")
        if self.least not in PROFILES[1:]:
            deciding = ", ".join(PROFILES[1:])
            raise ValueError(
                f"no profile {self.least!r} that decides anything; there are: {deciding}"
            )
        wanted = TESTS[self.test][0]
        if set(given) != set(wanted):
            takes = " and ".join(wanted)
            raise ValueError(f"{self.test} takes {takes}, not {', '.join(given) or 'nothing'}")
        _check(columns=self.columns, alike=self.alike, **given)
        if self.or_equal is not None and (self.test != "greater" or self.or_equal is not True):
            raise ValueError(f"or_equal: true, of greater, is all there is; not {self.or_equal!r}")
        if self.primary and (self.print_only or self.untestable):
            raise ValueError("primary: not of a claim that is print_only or untestable")
        if self.print_only is True and self.untestable or self.print_only not in (True, False):
            raise ValueError("print_only: true or false, and not of a claim that is untestable")


def _check(columns, alike, pairs=((0, 0),), rows=("a", "b"), sign="up", band=(0, 1)) -> None:
    """Raise for what would otherwise be misread, such as the letters of a text as arms."""
    for name, listed in (("columns", columns), ("alike", alike)):
        if not isinstance(listed, (list, tuple)):
            raise ValueError(f"{name}: expected a list, not {listed!r}")
    if isinstance(pairs, str) or any(isinstance(p, str) or len(p) != 2 for p in pairs):
        raise ValueError(f"pairs: expected a list of [first, second], not {pairs!r}")
    if isinstance(rows, str) or len(set(rows)) < max(2, len(rows)):
        raise ValueError(f"rows: expected two different arms or more, not {rows!r}")
    if not all(isinstance(row, str) for row in rows):
        raise ValueError(f"rows: expected names (numbers in quotation marks), not {rows!r}")
    if isinstance(rows, dict) and not (len(set(rows.values())) > 1 and min(rows.values()) > 0):
        raise ValueError(f"rows: expected different numbers above zero, not {rows!r}")
    if sign not in ("up", "down"):
        raise ValueError(f"sign: expected up or down, not {sign!r}")
    if len(band) != 2 or not 0 <= band[0] < band[1]:
        raise ValueError(f"band: expected [low, high], not {band!r}")


def _side(exhibit: str, column: str, said) -> Side:
    if isinstance(said, (int, float)):
        return Side(constant=float(said))
    if isinstance(said, str):
        said = {said: 1}
    if isinstance(said, list):
        said = {name: 1 / len(said) for name in said}
    terms = []
    for name, weight in said.items():
        arm, _, own = name.partition(" @ ")
        elsewhere, _, row = arm.rpartition(" / ")
        terms.append((Term(elsewhere or exhibit, row, own or column), float(weight)))
    return Side(tuple(terms))


def _pair(exhibit, column, first, second, **more) -> Contrast:
    sides = _side(exhibit, column, first), _side(exhibit, column, second)
    columns = {term.column for side in sides for term, _ in side.terms}
    if sides[0] == sides[1] or not columns:
        raise ValueError(f"{first} and {second}: an arm against itself, or no arm at all")
    if len(columns) == 1:
        more = {"unit": UNITS.get(next(iter(columns)), "points")} | more
    contrast = Contrast("", *sides, **more)
    return replace(contrast, label=_label(contrast, exhibit))


def _label(contrast: Contrast, exhibit: str) -> str:
    """A contrast in words, as a claim on an exhibit says it."""
    columns = contrast.columns
    sides = [_name(side, exhibit, len(columns) > 1) for side in (contrast.first, contrast.second)]
    where = "".join(f", {only}" for only in columns if only != "RSUM" and len(columns) == 1)
    return (" ÷ " if contrast.unit == "×" else " − ").join(sides) + where


def _on(contrast: Contrast, exhibit: str, targets) -> Contrast:
    first, second = contrast.first.on(targets), contrast.second.on(targets)
    if (first, second) == (contrast.first, contrast.second):
        return contrast
    narrowed = replace(contrast, first=first, second=second)
    return replace(narrowed, label=f"{_label(narrowed, exhibit)}, {' and '.join(targets)}")


def _name(side: Side, exhibit: str, with_column: bool) -> str:
    """A side in words: its arms, and their exhibit where it is another."""
    if not side.terms:
        return f"{side.constant:g}"
    rows = {(term.exhibit, term.row) for term, _ in side.terms}
    if len(side.terms) > 1 and len(rows) == 1 and all(weight > 0 for _, weight in side.terms):
        return f"{side.terms[0][0].row}, mean of {len(side.terms)} columns"
    if len(side.terms) > 1 and all(weight > 0 for _, weight in side.terms):
        return f"mean of {len(side.terms)} arms of {side.terms[0][0].exhibit}"
    text = ""
    for term, weight in side.terms:
        text += " − " if weight < 0 else " + " if text else ""
        text += term.row if term.exhibit == exhibit else f"{term.exhibit} {term.row}"
        text += f" {term.column}" if with_column else ""
    return f"({text})" if len(side.terms) > 1 else text


def _greater(exhibit, column, pairs):
    return [_pair(exhibit, column, *pair) for pair in pairs]


def _not_lower(exhibit, column, pairs):
    return [_pair(exhibit, column, *pair, unit="%", low=-FLAT) for pair in pairs]


def _ordered(exhibit, column, rows):
    return [_pair(exhibit, column, *pair) for pair in pairwise(rows)]


def _best(exhibit, column, rows):
    return [_pair(exhibit, column, rows[0], other) for other in rows[1:]]


def _flat(exhibit, column, rows):
    return [
        _pair(exhibit, column, *pair, unit="%", low=-FLAT, high=FLAT)
        for pair in combinations(rows, 2)
    ]


def _collapse(exhibit, column, pairs):
    return [
        _pair(exhibit, column, reference, collapsed, unit="% lost", low=COLLAPSE)
        for collapsed, reference in pairs
    ]


def slope(exhibit, column, rows, sign):
    """The contrast of a claim on a slope: least squares on the doublings, weights of its terms."""
    x = np.log2(list(rows.values()))
    centred = (x - x.mean()) * {"up": 1, "down": -1}[sign] / ((x - x.mean()) ** 2).sum()
    terms = tuple((Term(exhibit, row, column), float(w)) for row, w in zip(rows, centred))
    label = f"{'rise' if sign == 'up' else 'fall'}, {list(rows)[0]} to {list(rows)[-1]}"
    return [Contrast(label, Side(terms), Side(), "points a doubling")]


def _ratio(exhibit, column, pairs, band):
    return [_pair(exhibit, column, *pair, unit="×", low=band[0], high=band[1]) for pair in pairs]


TESTS: dict[str, tuple[tuple[str, ...], Callable]] = {
    "greater": (("pairs",), _greater),
    "ordered": (("rows",), _ordered),
    "best": (("rows",), _best),
    "flat": (("rows",), _flat),
    "collapse": (("pairs",), _collapse),
    "slope": (("rows", "sign"), slope),
    "ratio": (("pairs", "band"), _ratio),
}
