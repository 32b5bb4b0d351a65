"""What to run first of the papers' own settings: the most claims for some GPU hours."""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from alignbook.core.names import row_and_target
from alignbook.evidence.claims import Claim, load
from alignbook.workbook import exhibits
from alignbook.workbook.plan import HEAD, Key, Made, Trainings, hours, table, trainings

BUDGET = 100.0  # GPU hours in bf16
GOLD = "inside"  # a column that needs the gold boxes of phrases, which no photographs here have


def claims() -> list[Claim]:
    """The papers' claims, without those that our numbers are not asked."""
    return [each for each in load() if not (each.untestable or each.print_only)]


def needed(claim: Claim, made: Mapping[str, Made]) -> Trainings | None:
    """The trainings that decide a claim; None if the plan cannot.

    Numbers of another target than the plan's data are those of a run on that target's data.
    """
    found: Trainings = {}
    terms = {term for each in claim.contrasts for term in each.terms}
    if any(term.column == GOLD for term in terms):
        return None
    for exhibit, row, target in sorted({(each.exhibit, each.row, each.target) for each in terms}):
        if exhibit not in made:
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
    waiting = {each.id: (each.primary, needed(each, made)) for each in claims()}
    known: set[Key] = set()
    chosen: list[First] = []
    over: list[First] = []
    for primary in (True, False):
        own = {k: found for k, (kind, found) in waiting.items() if found and kind == primary}
        while own:
            left = [
                First(name, primary, _hours_but(known, found), _data_of(found))
                for name, found in own.items()
            ]
            nearest = min(left, key=lambda each: each.hours)
            if sum(each.hours for each in chosen) + nearest.hours > budget:
                over += left if primary else []
                break
            chosen.append(nearest)
            known |= own.pop(nearest.claim).keys()
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
