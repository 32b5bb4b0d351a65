"""The audit of what the papers print: every check and every gap, from each paper's `printed`."""

import pandas as pd

import alignbook.papers.chan.printed
import alignbook.papers.comalign.printed
import alignbook.papers.covalign.printed
import alignbook.papers.gsl.printed
from alignbook.evidence import print_checks, printed_tables
from alignbook.evidence.print_checks import Check, Unchecked
from alignbook.evidence.rounding import NO, WITHIN, YES

ROOMS = (
    alignbook.papers.chan.printed,
    alignbook.papers.comalign.printed,
    alignbook.papers.covalign.printed,
    alignbook.papers.gsl.printed,
)


def checks() -> pd.DataFrame:
    """All checks, a line each with the fields of `print_checks.Check`, sorted by exhibit."""
    rows = print_checks.tables() + [check for room in ROOMS for check in room.checks()]
    found = pd.DataFrame(rows, columns=Check._fields)
    return found.sort_values("exhibit", kind="stable", ignore_index=True)


def summary(found: pd.DataFrame) -> pd.DataFrame:
    """How many checks of each paper agree, agree within rounding, or don't."""
    people = printed_tables.PAPERS
    paper = found.exhibit.str.partition("-")[0].map(people).rename("paper")
    counts = pd.crosstab(paper, found.agrees)
    return counts.reindex(index=people.values(), columns=[YES, WITHIN, NO], fill_value=0)


def uncheckable() -> pd.DataFrame:
    """Printed figures that the texts at hand cannot confirm or refute, as `Unchecked`."""
    lines = [line for room in ROOMS for line in room.UNCHECKABLE]
    return pd.DataFrame(lines, columns=Unchecked._fields)
