"""Recomputing a paper's printed numbers from what else it prints: the checks' machinery.

What is derived from other numbers (a sum, a gain, a percentage) is right as long as some true
values behind the print give it: see `alignbook.evidence.rounding`. A paper's own checks stand in its
room's `printed`; here is what they are made of, and `tables`, which checks what holds of every
table of recalls. The tables and the figures of running text, captions and algorithms are those of
`alignbook.evidence.printed_tables`. The exhibit of what stands in no table is the paper.

A figure of the text is taken in points or in percent of the quantity that its sentence names,
whichever makes it right; other ways to reckon are no excuse, but are told in the remark.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import pandas as pd

from alignbook.core.names import COLUMNS
from alignbook.evidence import printed_tables, rounding
from alignbook.evidence.rounding import (
    NO,
    READINGS,
    WITHIN,
    YES,
    Printed,
    difference,
    printed,
    same,
    total,
)

SIX = list(COLUMNS[:6])
R1 = ["i2t R@1", "t2i R@1"]
TEX = {
    r"p_i^k": "p",
    r"\delta": "δ",
    r"\leq": "≤",
    r"\in": "∈",
    r"x_k^T x'_l": "xᵀx′",
    r"\mathcal{B}_j^c": "B_c",
    r"\mathcal{B}_j^n": "B_n",
    r"\{": "{",
    r"\}": "}",
}
FROM_A_FIGURE = "read off a figure whose numbers are not in our text"


class Check(NamedTuple):
    """One check, a row of the audit."""

    exhibit: str
    row: str
    check: str
    printed: str
    recomputed: str
    agrees: str  # YES, WITHIN or NO of `rounding`
    how: str


class Unchecked(NamedTuple):
    """Printed figures that the texts at hand can neither confirm nor refute."""

    exhibit: str
    printed: str
    why: str


# --- Reading the print ---------------------------------------------------------------------------


def grid(exhibit: str) -> dict[str, dict[str, Printed]]:
    """A table's rows ("group: row" where there are groups), each of numbers by column."""
    rows: dict[str, dict[str, Printed]] = {}
    for cell in printed_tables.table(exhibit).itertuples():
        name = ": ".join(filter(None, (cell.group, cell.row)))
        rows.setdefault(name, {})[cell.column] = printed(cell.printed, cell.decimals)
    return rows


def plain(text: str) -> str:
    """A formula of a prose.csv, which keeps the texts' LaTeX, to be read in a table.

    >>> plain(r"p_i^k > \\delta")
    'p > δ'
    """
    for tex, sign in TEX.items():
        text = text.replace(tex, sign)
    return text


def recalls(exhibit: str) -> list[tuple[str, str, list[Printed]]]:
    """(row, direction, recalls at rising K) of a table, without its rows of gains."""
    found = []
    for name, row in grid(exhibit).items():
        for way in dict.fromkeys(c.partition(" R@")[0] for c in row if " R@" in c):
            if not name.endswith("gain"):
                found.append((name, way, [n for c, n in row.items() if c.startswith(way + " R@")]))
    return found


# --- One check, one row --------------------------------------------------------------------------


def judge(
    exhibit: str,
    row: str,
    check: str,
    number: Printed,
    formula: Callable,
    inputs: list[Printed],
    how: str,
    relation: str = "=",
) -> Check:
    """A printed number against a formula of others; see `rounding.verdict`.

    `how` is the formula in words.
    """
    recomputed, agrees, remark = rounding.verdict(number, formula, inputs, relation)
    how = f"{how}; {remark}" if remark else how
    return Check(exhibit, row, check, number.text, recomputed, agrees, how)


def above(
    exhibit: str, row: str, check: str, first: Printed, second: Printed, shown="", note=""
) -> Check:
    """The first number is the higher one; `shown` stands in place of "first > second"."""
    how = f"{first.text} − {second.text} should be above zero{note}"
    found = judge(exhibit, row, check, printed("0"), difference, [first, second], how, ">")
    return found._replace(printed=shown or f"{first.text} > {second.text}")


def highest(exhibit: str, name: str, column: str, among: str = "", shown: str = "") -> Check:
    """A row has the highest number of its column, of the rows whose names begin with `among`."""
    table = grid(exhibit)
    others = [row[column] for key, row in table.items() if key.startswith(among) and key != name]
    best = max(others, key=lambda n: n.value)
    return above(exhibit, name, f"highest {column}", table[name][column], best, shown)


def said(
    key: str, check: str, formula: Callable, inputs: list[Printed], how: str, relation: str = "="
) -> Check:
    """`judge` for a figure of the running text."""
    line = printed_tables.prose()[key]
    number, row = printed(line["printed"]), f"text, {line['where']}"
    return judge(line["exhibit"], row, check, number, formula, inputs, how, relation)


def stated(key: str, check: str, found: str, holds: bool, how: str, row: str = "") -> Check:
    """Words of the running text that hold or don't."""
    line = printed_tables.prose()[key]
    row = row or f"text, {line['where']}"
    agrees = YES if holds else NO
    return Check(line["exhibit"], row, check, plain(line["printed"]), plain(found), agrees, how)


def quoted(key: str, cell: Printed) -> Check:
    """A number of a table that the running text repeats."""
    return said(key, printed_tables.prose()[key]["about"], same, [cell], "the table's cell")


def every(exhibit: str, row: str, check: str, good: list[bool], what: str, how: str) -> Check:
    """Many equal comparisons in one row."""
    agrees = YES if all(good) else NO
    return Check(exhibit, row, check, f"{len(good)} {what}", f"{sum(good)} hold", agrees, how)


# --- All papers: sums, the order of recalls, what a recall is a fraction of ----------------------


def fitting(numbers: list[Printed], wholes) -> pd.DataFrame:
    """How many of the numbers fit each number of queries: whole, rounded, truncated."""
    counts = {
        each: [sum(rounding.fits(number, whole, each) for number in numbers) for whole in wholes]
        for each in READINGS
    }
    return pd.DataFrame({"whole": list(wholes), **counts})


def queries(exhibit: str, check: str, wholes: dict[str, int], how: str) -> Check:
    """Whether a table's recalls are fractions of so many queries, by direction ("f30k i2t")."""
    cells = [(n, wholes[way]) for _, way, inner in recalls(exhibit) for n in inner if way in wholes]
    fit = {each: sum(rounding.fits(*cell, each) for cell in cells) for each in READINGS}
    full = [fit[each] == len(cells) for each in READINGS]
    agrees = YES if full[0] else WITHIN if full[1] else NO
    found = " or ".join(f"{fit[each]} if {each}" for each in READINGS)
    return Check(exhibit, "all rows", check, f"{len(cells)} recalls", f"fit: {found}", agrees, how)


def tables() -> list[Check]:
    """What holds of every table of recalls."""
    return [check for name in printed_tables.exhibits() for check in (*_sums(name), *_order(name))]


def _sums(exhibit: str) -> list[Check]:
    """Each RSUM against the six recalls of its row; a table may print no recalls."""
    rows = []
    for name, row in grid(exhibit).items():
        for column in (c for c in row if c.endswith("RSUM")):
            six = [row[c] for way in SIX if (c := column.replace("RSUM", way)) in row]
            if six:
                how = "sum of the six recalls"
                rows.append(judge(exhibit, name, column, row[column], total, six, how))
    return rows


def _order(exhibit: str) -> list[Check]:
    """That recalls rise with K, and how many queries one decimal allows."""
    lists = [inner for _, _, inner in recalls(exhibit) if len(inner) > 1]
    if not lists:
        return []
    values = [[Fraction(0), *(n.value for n in inner), Fraction(100)] for inner in lists]
    good, how = [each == sorted(each) for each in values], "R@1 ≤ R@5 ≤ R@10 ≤ 100"
    rows = [every(exhibit, "all rows", "recalls rise with K", good, "lists of recalls", how)]
    if {n.decimals for inner in lists for n in inner} == {1}:
        ways = {way: 1014 for _, way, _ in recalls(exhibit)}
        how = (
            "1,014 fit, and so does any larger number and 1,000: with one decimal the print "
            "cannot tell"
        )
        rows.append(queries(exhibit, "number of queries", ways, how))
    return rows
