"""What the papers claim: `printed/claims.yaml`, every claim as one test over contrasts.

A contrast is a value, such as the RSUM of one arm less that of another, and the range that the
claim puts it in. `verdicts` evaluates contrasts on our numbers and on the papers' own.
"""

from dataclasses import dataclass
from functools import cache
from itertools import combinations, pairwise

import numpy as np
import yaml

from alignbook import PACKAGE
from alignbook.workbook import profiles

FILE = PACKAGE / "evidence" / "printed" / "claims.yaml"
FLAT, COLLAPSE = 0.5, 5.0  # percent
UNITS = {"seconds": "s", "diagonal": "cosine", "spread": "sides", "label AUC": "AUC"}  # else points
DECIMALS = {"×": 2, "cosine": 3, "sides": 3, "AUC": 3}  # of values of a unit, else 1
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # in C it is ten times as fast


@dataclass(frozen=True)
class Term:
    """One number of metrics.csv, by exhibit, row and column."""

    exhibit: str
    row: str
    column: str


@dataclass(frozen=True)
class Side:
    """A weighted sum of numbers, and a constant: one side of a contrast."""

    terms: tuple[tuple[Term, float], ...] = ()
    constant: float = 0.0

    def value(self, number):
        """The sum, `number(term)` being one number or one a seed."""
        return self.constant + sum(weight * number(term) for term, weight in self.terms)


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
    """One entry of claims.yaml, its contrasts spelt out.

    ``need`` of the contrasts have to hold. ``untestable`` says why we cannot decide it; a claim
    that is ``print_only`` is about the paper's own table and is not asked of our numbers.
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


# --- Reading -------------------------------------------------------------------------------------


@cache
def load(file=FILE) -> tuple[Claim, ...]:
    """All claims, in the order of the file.

    Raises
    ------
    ValueError
        Naming the file, the claim and what is wrong with it.
    """
    try:
        listed = list(yaml.load(file.read_text(encoding="utf-8"), LOADER)["claims"])
    except (yaml.YAMLError, TypeError, KeyError) as error:
        raise ValueError(f"{file.name}: no list of claims: {error}") from None
    found = []
    for i, entry in enumerate(listed, 1):
        name = entry.get("id", f"claim {i}") if isinstance(entry, dict) else f"claim {i}"
        try:
            found.append(_claim(**entry))
        except (TypeError, ValueError, KeyError, AttributeError) as error:
            raise ValueError(f"{file.name}, {name}: {error}") from None
    names = [str(claim.id) for claim in found]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"{file.name}: {', '.join(twice)} stands there twice")
    return tuple(found)


def _claim(
    id,
    paper,
    exhibit,
    says,
    where,
    test,
    pairs=None,
    rows=None,
    columns=("RSUM",),
    sign=None,
    band=None,
    or_equal=None,
    need=None,
    least="laptop",
    untestable="",
    print_only=False,
):
    if test not in TESTS:
        raise ValueError(f"no test {test!r}; there are: {', '.join(TESTS)}")
    if least not in profiles.NAMES[1:]:
        deciding = ", ".join(profiles.NAMES[1:])
        raise ValueError(f"no profile {least!r} that decides anything; there are: {deciding}")
    given = {"pairs": pairs, "rows": rows, "sign": sign, "band": band}
    given = {key: value for key, value in given.items() if value is not None}
    wanted, make = TESTS[test]
    if set(given) != set(wanted):
        takes = " and ".join(wanted)
        raise ValueError(f"{test} takes {takes}, not {', '.join(given) or 'nothing'}")
    _check(columns=columns, **given)
    if or_equal is not None:
        if test != "greater" or or_equal is not True:
            raise ValueError(f"or_equal: true, of greater, is all there is; not {or_equal!r}")
        make = _not_lower
    if print_only is True and untestable or print_only not in (True, False):
        raise ValueError("print_only: true or false, and not of a claim that is untestable")
    contrasts = dict.fromkeys(  # in order; a pair with columns of its own comes once
        each for column in columns for each in make(exhibit, str(column), **given)
    )
    need = len(contrasts) if need is None else need
    if not isinstance(need, int) or not 1 <= need <= len(contrasts):
        raise ValueError(f"needs {need} of {len(contrasts)} contrasts")
    return Claim(
        id, paper, exhibit, says, where, test, tuple(contrasts), need, least, untestable, print_only
    )


def _check(columns, pairs=((0, 0),), rows=("a", "b"), sign="up", band=(0, 1)) -> None:
    """Raise what would else be read as something else, such as the letters of a text as arms."""
    if not isinstance(columns, (list, tuple)):
        raise ValueError(f"columns: expected a list, not {columns!r}")
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
    names = [_name(side, exhibit, len(columns) > 1) for side in sides]
    where = ""
    if len(columns) == 1:
        (only,) = columns
        where = f", {only}" if only != "RSUM" else ""
        more = {"unit": UNITS.get(only, "points")} | more
    sign = " ÷ " if more.get("unit") == "×" else " − "
    return Contrast(sign.join(names) + where, *sides, **more)


def _name(side: Side, exhibit: str, with_column: bool) -> str:
    """A side in words: its arms, and their exhibit where it is another."""
    if not side.terms:
        return f"{side.constant:g}"
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


def _slope(exhibit, column, rows, sign):
    x = np.log2(list(rows.values()))
    centred = (x - x.mean()) * {"up": 1, "down": -1}[sign] / ((x - x.mean()) ** 2).sum()
    terms = tuple((Term(exhibit, row, column), float(w)) for row, w in zip(rows, centred))
    label = f"{'rise' if sign == 'up' else 'fall'}, {list(rows)[0]} to {list(rows)[-1]}"
    return [Contrast(label, Side(terms), Side(), "points a doubling")]


def _ratio(exhibit, column, pairs, band):
    return [_pair(exhibit, column, *pair, unit="×", low=band[0], high=band[1]) for pair in pairs]


TESTS = {
    "greater": (("pairs",), _greater),
    "ordered": (("rows",), _ordered),
    "best": (("rows",), _best),
    "flat": (("rows",), _flat),
    "collapse": (("pairs",), _collapse),
    "slope": (("rows", "sign"), _slope),
    "ratio": (("pairs", "band"), _ratio),
}
