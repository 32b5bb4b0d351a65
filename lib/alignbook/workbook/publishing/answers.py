"""The answers to the papers' main questions, as the reference results give them: sentences for
README.md, and a table of what they rest on for the gallery.

A difference is always the paper's side minus the other one (`exhibits.SIDES`), so what is above zero
agrees with the paper.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import numpy as np

from alignbook.evidence import claims, learnt, verdicts
from alignbook.evidence.claims import Contrast, Side, Term
from alignbook.evidence.printed_tables import PAPERS, REBUILT
from alignbook.show import tables
from alignbook.workbook import exhibits, start
from alignbook.workbook.publishing import again, beside, superseded
from alignbook.workbook.publishing.reference_results import Reference, table, test_sets

NAMES = {"coco": "COCO", "f30k": "Flickr30K"}  # of targets


def in_table(found: list[Reference]) -> str:
    """Each paper's main question, and what came out on each data set: a table."""
    rows = []
    for claim in exhibits.QUESTIONS:
        rows.append([_asked(claim), *(_answer(one, claim) for one in found)])
    return table(["question", *(f"on {one.label}" for one in found)], rows)


def _asked(claim: str) -> str:
    paper = exhibits.paper(claim)
    return f"*{PAPERS[paper]}*{REBUILT[paper]}: {exhibits.QUESTIONS[claim]}"


def _answer(one: Reference, claim: str) -> str:
    """A verdict with its number; for an open one also what weighs most against it."""
    known = one.claims[one.claims.claim == claim]
    if not len(known):
        return "–"
    (row,) = known.itertuples()
    first, _ = one.contrast(claim)
    told = [f"**{start.verdict_of(row)}**", one.found(claim), start.lacks(row, first)]
    return "; ".join(filter(None, (*told, _rerun(one, claim))))


def _rerun(one: Reference, claim: str) -> str:
    """What a rerun elsewhere measured of a claim, "" where none did."""
    for _, line in again.read(one.folder).iterrows():
        if line.claim == claim:
            return f"rerun: {again.read_with(line, *again.READ_AGAIN)}"
    return ""


# --- In sentences --------------------------------------------------------------------------------


def in_sentences(found: list[Reference]) -> str:
    """Each paper's main question, and below it what came out on each data set: a list."""
    lines = []
    for claim in exhibits.QUESTIONS:
        value, _ = printed(claim)
        paper = exhibits.paper(claim)
        named = f"*{PAPERS[paper]}*{REBUILT[paper]}{f' (the paper: {value})' if value else ''}"
        lines.append(f"- {named}: {exhibits.QUESTIONS[claim]}")
        lines += [f"  - {_told(one, claim, found)}." for one in largest(found, claim)]
    return "\n".join(lines)


def largest(found: list[Reference], claim: str) -> list[Reference]:
    """Of each data set the largest profile that measured a claim on arms that had learnt enough for it;
    where none had, the largest. Those of today's method come before those of an earlier one.
    """
    measured = [one for one in found if one.found(claim)]
    today = [one for one in measured if not one.earlier(claim)]
    ranked = [
        *measured,
        *(one for one in measured if _learnt(one, claim)),
        *today,
        *(one for one in today if _learnt(one, claim)),
    ]
    return [*{one.about["data"]: one for one in ranked}.values()]


def _learnt(one: Reference, claim: str) -> bool:
    """Whether a claim's arms had learnt enough to be asked."""
    (row,) = one.claims[one.claims.claim == claim].itertuples()
    early = any(each in row.why for each in (verdicts.NOT_TRAINED, *start.EARLY))
    return row.verdict in beside.DECIDED or row.verdict != learnt.DID_NOT_TRAIN and not early


def _told(one: Reference, claim: str, found: list[Reference]) -> str:
    """Where, the verdict, the difference, and what speaks against taking them for more than they are:
    last, what the same data's other profiles say where that is another verdict, and not of earlier
    settings than this one's.
    """
    (row,) = one.claims[one.claims.claim == claim].itertuples()
    first, which = one.contrast(claim)
    said = f"On {one.label}{_pictures(one, claim)}: **{start.verdict_of(row)}**, {start.found(first)}{which}"
    others = [other for other in found if other.data == one.data and other is not one]
    others = [other for other in others if one.earlier(claim) or not other.earlier(claim)]
    against = [*_against(one, claim, row, first), *(_apart(other, claim, row) for other in others)]
    return said + f" ({'; '.join(filter(None, against))})" * any(against)


def _pictures(one: Reference, claim: str) -> str:
    """Among how many pictures a claim's recalls are measured, to follow the name of the data."""
    asked = {term.exhibit for term in one.asked(claim).terms}
    told = test_sets(one.metrics[one.metrics.exhibit.isin(asked)].protocol)
    counts = sorted({int(count) for _, count in told})
    return f" ({' or '.join(f'{count:,}' for count in counts)} test pictures)" * bool(counts)


def _apart(other: Reference, claim: str, row) -> str:
    """What another profile says of a claim, "" where it says the same or nothing."""
    measured = other.claims[(other.claims.claim == claim) & other.claims.verdict.isin(start.SAID)]
    if not len(measured) or not other.found(claim) or [*measured.verdict] == [row.verdict]:
        return ""
    (told,) = measured.itertuples()
    profile = ", ".join(
        filter(None, [f"{other.about['profile']} profile", superseded.told(other.earlier(claim))])
    )
    return f"{profile}: {start.verdict_of(told)}, {other.found(claim)}"


def _against(one: Reference, claim: str, row, first) -> Iterator[str]:
    """What an undecided claim lacks, and what leaves a decided one in doubt; of both, what four times
    the steps and something simpler make of it.
    """
    yield superseded.told(one.earlier(claim))
    steps, lacks = longer(one, claim), start.lacks(row, first)
    told = steps and not 0.5 <= _number(steps) / first.value <= 2
    if row.verdict in beside.DECIDED:
        if first.query_low < 0 < first.query_high:
            yield f"over test pictures {_interval(first.query_low, first.query_high)}"
        yield "an arm was still learning" * ("; still learning" in row.why)
        yield "a control of four times the steps did not train" * (verdicts.IDLE in row.why)
        yield "a setting is at the edge of what was tried" * ("; chosen at the edge" in row.why)
    elif not (told and lacks.startswith(start.EARLY[0])):  # which says the same
        yield "an arm was still learning" if lacks.startswith("still learning") else lacks
    left, seeds = _of_warm_up(one, claim)
    if left:
        side, _ = exhibits.SIDES[claim]
        yield f"dev chose {side} as its warm-up left it in {left} of {seeds} seeds"
    for _, line in again.read(one.folder).iterrows():
        if line.claim == claim and line["reading again"] != row.verdict:
            yield _rerun(one, claim)
    if told:
        yield f"{steps} with four times the steps"
    for simple in exhibits.INSTEAD[claim]:
        values = _simple(one, claim, simple)
        if values and values[0] >= values[1] and not 0 < left == seeds:  # which is the same
            yield f"{instead(one, claim, simple)} with {simple[-1]} instead"


def _of_warm_up(one: Reference, claim: str) -> tuple[int, int]:
    """In how many seeds dev chose the paper's side as its warm-up left it, and of how many: steps below
    0 are a warm-up, and its own last look comes before the one that dev chooses among.
    """
    arms = {(term.exhibit, term.row) for term, _ in one.asked(claim).first.terms}
    own = one.curves[one.curves[["exhibit", "arm"]].apply(tuple, axis=1).isin(arms)]
    before = own.groupby("seed").step.min() < 0
    looks = own[(own.curve == "dev") & (own.step >= 0)].drop_duplicates(
        ["seed", "step"], keep="last"
    )
    best = looks.loc[looks.groupby("seed").value.idxmax()].set_index("seed").step
    left = (best == 0) & before.reindex(best.index)
    return int(left.sum()), len(left)


def _number(said: str) -> float:
    """The number that a text begins with.

    >>> _number("−1.5 on COCO alone"), _number("+2.0")
    (-1.5, 2.0)
    """
    return float(said.split()[0].replace("−", "-"))


def difference(claim: str) -> str:
    """What is compared, as in "hard coding minus cross-attention"."""
    return " minus ".join(exhibits.SIDES[claim])


# --- What they rest on ---------------------------------------------------------------------------

RESTS = (
    "What the answers rest on. A difference is the paper's side minus the other, in points, so what is above "
    "zero agrees with the paper. Two intervals (95 %) stand behind it: over the seeds of training, and over "
    "the pictures of the test set, drawn anew with replacement. *Four times the steps*: the same difference "
    "between the two arms trained four times as long. *In its place*: the difference when something simpler "
    "stands in place of the paper's side."
)
HEAD = ["difference", "on", "the paper", "here", "over seeds", "over test pictures"]
HEAD += ["four times the steps", "in its place"]


def rests_on(found: list[Reference]) -> str:
    """What the answers rest on: a line a question and reference, "" where nothing is measured."""
    rows = []
    for claim in exhibits.QUESTIONS:
        for one in (each for each in found if each.found(claim)):
            first, _ = one.contrast(claim)
            simpler = {each[-1]: instead(one, claim, each) for each in exhibits.INSTEAD[claim]}
            rows.append(
                [
                    difference(claim),
                    one.label,
                    printed(claim)[0].replace(" points", "") or "–",
                    start.value(first).removesuffix(" points"),
                    f"{_interval(first.low, first.high)}, {first.seeds:.0f} seeds",
                    _interval(first.query_low, first.query_high),
                    longer(one, claim) or "–",
                    "; ".join(f"{name}: {value}" for name, value in simpler.items() if value)
                    or "–",
                ]
            )
    return "\n\n".join((RESTS, table(HEAD, rows))) if rows else ""


@cache
def printed(claim: str) -> tuple[str, str]:
    """The paper's own difference, and where it stands.

    Where the paper prints no number of that column, it is the range of the recalls that it prints of the
    same two rows; "" where there is none.

    >>> printed("chan-hard-coding"), printed("covalign-one-projection")[0]
    (('+14.8 points', 'Table 3, coding types'), '+0.4 to +1.7 points a recall')
    """
    known = {each.id: each for each in claims.load()}
    asked, values = known[claim], {}
    for line in verdicts.on_paper(known.values())[1].itertuples():
        values[line.claim, line.contrast] = line.value
    for other in (asked, *(each for each in known.values() if each.paper == asked.paper)):
        same = [each.label for each in other.contrasts if _rows(each) == _rows(asked.contrasts[0])]
        told = [values[other.id, label] for label in same if (other.id, label) in values]
        if told:
            value = " to ".join(dict.fromkeys(map(_signed, (min(told), max(told)))))
            own = (asked.id, asked.contrasts[0].label) in values
            return f"{value} points" + " a recall" * (not own), asked.where
    return "", asked.where


def _rows(contrast: Contrast) -> list[set[tuple[str, str]]]:
    sides = contrast.first, contrast.second
    return [{(term.exhibit, term.row) for term, _ in side.terms} for side in sides]


def longer(one: Reference, claim: str) -> str:
    """A claim's difference between arms that were trained four times as long; "" where one was not, or
    did not train.
    """
    value, _ = one.numbers.longer(one.asked(claim))
    return "" if np.isnan(value) else _signed(value)


def instead(one: Reference, claim: str, simple: tuple[str, str, str]) -> str:
    """A claim's difference with one of the rows `exhibits.INSTEAD` on the paper's side; "" where that row
    was not made. Where it was made for one target alone, the claim's own difference there follows.
    """
    if not (values := _simple(one, claim, simple)):
        return ""
    value, own, there = values
    of = " and ".join(NAMES[target] for target in there)
    side = exhibits.SIDES[claim][0]
    return _signed(value) + f" on {of} alone, where {side} has {_signed(own)}" * bool(of)


def _simple(
    one: Reference, claim: str, simple: tuple[str, str, str]
) -> tuple[float, float, list[str]] | None:
    """A claim's difference with that row, its own on the same targets, each arm by the mean of all its
    seeds, and those targets where they are not all of its own; None where that row was not made.
    """
    exhibit, row, _ = simple
    contrast, values = one.asked(claim), one.numbers.values

    def with_row(side: Side) -> Side:
        return Side(tuple((Term(exhibit, row, term.column), x) for term, x in side.terms))

    there = {term.target for term, _ in with_row(contrast.first).terms if term in values} - {""}
    asked = replace(contrast, first=contrast.first.on(there), second=contrast.second.on(there))
    placed = replace(asked, first=with_row(asked.first))
    if not all(term in values for term in (*placed.terms, *asked.terms)):
        return None
    value, own = (_of_means(each, values) for each in (placed, asked))
    return value, own, sorted(there) if asked != contrast else []


def _of_means(contrast: Contrast, values: dict) -> float:
    """A difference of means, each over all seeds that its arm has."""
    sides = contrast.first, contrast.second
    return contrast.value(
        *(side.value(lambda term: np.mean([*values[term].values()])) for side in sides)
    )


def _signed(value: float) -> str:
    return "+" * bool(value > 0) + tables.written(value, 1)


def _interval(low: float, high: float) -> str:
    return "–" if np.isnan(low) else f"[{tables.written(low, 1)}, {tables.written(high, 1)}]"
