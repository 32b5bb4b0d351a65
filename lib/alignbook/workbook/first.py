"""What to run first of the papers' own settings: the most claims for some GPU hours.

Nothing heavy is imported: the files of claims are read as they stand.
"""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import yaml

from alignbook import PACKAGE
from alignbook.core.names import TARGETS, row_and_target
from alignbook.workbook import chapters, exhibits
from alignbook.workbook.plan import HEAD, Key, Made, Trainings, hours, table, trainings

BUDGET = 100.0  # GPU hours in bf16
GOLD = "inside"  # a column that needs the gold boxes of phrases, which no photographs here have


def claims() -> list[dict]:
    """The papers' claims as their files have them, without those that our numbers are not asked."""
    found = []
    for paper in chapters.PAPERS:
        file = PACKAGE / "papers" / paper / "printed" / "claims.yaml"
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        found += yaml.load(file.read_text(encoding="utf-8"), loader)["claims"]
    return [each for each in found if not (each.get("untestable") or each.get("print_only"))]


def rows_of(claim: dict) -> set[tuple[str, str, str]]:
    """Exhibit, row and target ("" for none) of the numbers that a claim rests on.

    >>> sorted(rows_of({"exhibit": "chan-T3", "pairs": [["hard", "chan-T1 / scan"], ["hard", 0.5]]}))
    [('chan-T1', 'scan', ''), ('chan-T3', 'hard', '')]
    """
    found = set()
    waiting = [claim.get("pairs", ()), claim.get("rows", ())]
    while waiting:
        side = waiting.pop(0)
        if isinstance(side, (list, tuple, dict)):
            waiting += side
        elif isinstance(side, str):
            arm, _, column = side.partition(" @ ")
            elsewhere, _, row = arm.rpartition(" / ")
            for each in [column] if column else claim.get("columns", ["RSUM"]):
                target = each.partition(" ")[0]
                which = elsewhere or claim["exhibit"], row, target if target in TARGETS else ""
                found.add(which)
    return found


def needed(claim: dict, made: Mapping[str, Made]) -> Trainings | None:
    """The trainings that decide a claim; None if the plan cannot.

    Numbers of another target than the plan's data are those of a run on that target's data.
    """
    found: Trainings = {}
    for exhibit, row, target in sorted(rows_of(claim)):
        if exhibit not in made or GOLD in claim.get("columns", ()):
            return None
        data = made[exhibit].data
        if target and data in ("coco", "flickr30k"):
            data = {"coco": "coco", "f30k": "flickr30k"}[target]
        profile = made[exhibit].profile
        own = [
            arm
            for arm in exhibits.arms(exhibit, data, profile)
            if row_and_target(arm)[0] == row and row_and_target(arm)[1] in (target, "")
        ]
        if not own:
            return None
        found |= trainings(exhibit, data, profile, own)
    return found


class First(NamedTuple):
    """A claim, whether it is its paper's primary one, the GPU hours that it adds, and its data."""

    claim: str
    primary: bool
    hours: float
    data: str


def first(made: Mapping[str, Made], budget: float = BUDGET) -> tuple[list[First], list[First]]:
    """What to run first within some GPU hours in bf16: claims, the cheapest next; and primary ones
    that are left over.

    Primary claims come before others. What a claim before it has trained adds nothing to a claim.
    """
    waiting = {each["id"]: (bool(each.get("primary")), needed(each, made)) for each in claims()}
    known: set[Key] = set()
    chosen: list[First] = []
    over: list[First] = []
    for primary in (True, False):
        own = {k: found for k, (kind, found) in waiting.items() if found and kind == primary}
        while own:
            nearest = min(
                (
                    First(name, primary, _hours_but(known, found), _data_of(found))
                    for name, found in own.items()
                ),
                key=lambda each: each.hours,
            )
            if sum(each.hours for each in chosen) + nearest.hours > budget:
                break
            chosen.append(nearest)
            known |= own.pop(nearest.claim).keys()
        if primary:
            over = [
                First(name, primary, _hours_but(known, found), _data_of(found))
                for name, found in own.items()
            ]
    return chosen, over


def _hours_but(known: set[Key], found: Trainings) -> float:
    """GPU hours in bf16 of trainings that are not known yet."""
    return hours({key: found[key] for key in found if key not in known}, "bf16")


def _data_of(found: Trainings) -> str:
    return ", ".join(dict.fromkeys(data for data, _, _ in found))


def list_first(made: Mapping[str, Made], budget: float = BUDGET) -> list[str]:
    """Lines: what to run first."""
    chosen, over = first(made, budget)
    total = sum(each.hours for each in chosen)
    lines = [f"the most claims for {budget:g} GPU hours in bf16, primary ones (*) first:"]
    lines += [
        f"  {'*' if c.primary else ' '} {c.claim:36}{c.hours:7.1f}  on {c.data}" for c in chosen
    ]
    lines.append(f"    {f'{len(chosen)} claims':36}{total:7.1f}")
    lines += [f"  * {c.claim:36}{c.hours:7.1f}  on {c.data}: does not fit in" for c in over]
    return lines


def said(made: Mapping[str, Made]) -> list[str]:
    """The table, and what to run first."""
    return [HEAD, "", *table(made), "", *list_first(made)]


def renewed(page: str, lines: Sequence[str]) -> str:
    """A page of Markdown with these lines in its block that begins with `HEAD`."""
    block = re.compile(rf"```\n{re.escape(HEAD)}\n.*?```", re.S)
    text = "\n".join(("```", *lines, "```"))
    return block.sub(lambda _: text, page)
