"""The claims of a paper that are judged together: the primary one first, the others after it.

The primary claim is tested by itself at four fifths of the 5 %. The first look that decides it ends its
test: it holds, it is reversed, or it surely lies in its band of no difference (two one-sided tests at
the same spent level). The others are tested together, by Holm's correction, at the fifth that is kept
for them and at what the primary claim passes on:

- all of its part once a difference was found, as the fallback procedure does: where the primary's own
  hypothesis is true, they get it with probability 4 % at most;
- the shares of the looks that were not taken, where no difference was found: those taken may have
  been wrong;
- nothing while it is open, or cannot be judged so far; all of it where it is never tested, as it is
  of a longer profile or not testable here.

So a paper without any effect gets a verdict of "reproduced" or "contradicted" with probability 5 %
at most, whichever looks are taken. For the second way this takes that the look which finds no
difference says nothing of the others' p; the tests simulate arms that claims share.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from alignbook.evidence import looks, statistics
from alignbook.evidence.claims import Claim
from alignbook.evidence.contrasts import LEVEL, foresee, is_right, needed

NO_DIFFERENCE = "no difference"
BAND = "the band named beforehand"
WITHIN, LEAVES = "surely within", "four times the steps take it out of"
PRIMARY = 0.8  # of the level: what a paper's primary claim is tested at; the rest is for the others


class Member(NamedTuple):
    """A claim that can be judged, its contrasts as measured, and that of no difference."""

    claim: Claim
    lines: list[dict]
    same: dict | None


class Finding(NamedTuple):
    """What is said of a claim, in the order of the columns of the claims table."""

    verdict: str
    why: str
    seeds: int = 0  # that there are
    took: int = 0  # seeds of the look that decided it
    p: float = np.nan
    holm: float = np.nan
    needed: float = np.nan


@dataclass
class Family:
    """Members of one paper; `open` if its primary claim may be judged later, though not now."""

    members: list[Member] = field(default_factory=list)
    open: bool = False

    def others(self) -> list[Member]:
        """All but the primary claim."""
        return [each for each in self.members if not each.claim.primary]

    def findings(self) -> tuple[dict[str, Finding], float]:
        """What is said of each claim by its id, and the share of 5 % that the others are tested at.

        Completes the members' contrasts.
        """
        found, passed = {}, 0.0 if self.open else 1.0
        for member in self.members:
            if member.claim.primary:
                found[member.claim.id], passed = _primary(*member)
        share = 1 - PRIMARY + PRIMARY * passed
        return found | _others(self.others(), share), share


def _primary(claim: Claim, lines: list[dict], same: dict | None) -> tuple[Finding, float]:
    """The finding on a primary claim, by the first look that decides it, and how much of its part of
    the level it passes on.
    """
    (line,) = lines
    leaves = same is not None and same["early"]
    if line["early"] or leaves:
        same = None  # what more steps may turn they may also take out of its band
    level = LEVEL * PRIMARY
    foresee(claim, lines, level)
    enough = needed(claim, lines)
    if same is not None:
        foresee(claim, [same], level)
        if is_right(same):  # beyond its band seeds show no more than that it lies there
            enough = np.fmin(enough, same["needed"])
    side, took = "open", 0
    inside = [p for _, p, _ in same["path"]] if same is not None else [np.nan] * len(line["path"])
    for (seeds, holds, reversed_), within in zip(line["path"], inside):
        if np.fmin(holds, reversed_) <= level:
            side, took = "holds" if np.fmin(holds, 1) <= level else "reversed", seeds
        elif within <= level:
            side, took = NO_DIFFERENCE, seeds
        if took:
            break
    p = float(np.nan_to_num(line["p"], nan=1.0))
    line["holm"] = min(1.0, p / PRIMARY)
    band = f"±{claim.same.high:g} {claim.same.unit}, {BAND}" if claim.same else ""
    if side == NO_DIFFERENCE:
        said = NO_DIFFERENCE, f"{WITHIN} {band}"
        passed = looks.left(took)
        p = inside[-1]
    else:
        line["reading"] = side
        said, passed = verdict(claim, lines, side), float(took > 0)
        if took and inside[-1] <= level:  # it is there, and small
            said = said[0], f"{said[1]}; {WITHIN} {band}"
        if leaves and not took:
            said = said[0], f"{said[1]}; {LEAVES} {band}"
    return Finding(*said, line["seeds"], took, p, min(1.0, p / PRIMARY), enough), passed


def _others(members: list[Member], share: float) -> dict[str, Finding]:
    """Findings on claims that are judged together, at a share of the level."""
    both = {claim.id: _both(claim, lines) for claim, lines, _ in members}
    corrected = statistics.holm([min(both[claim.id]) for claim, _, _ in members])
    found = {}
    for (claim, lines, _), holm in zip(members, corrected):
        holds, reversed_ = both[claim.id]
        side, p = "holds" if holds < reversed_ else "reversed", min(holds, reversed_)
        factor = (holm / p if p > 0 else len(members)) / share
        holm = min(1.0, holm / share)
        _read(claim, lines, side, holm, len(members) / share)
        foresee(claim, lines, LEVEL * share / len(members))
        seeds = min(line["seeds"] for line in lines)
        said = verdict(claim, lines, side if holm <= LEVEL else "open")
        took = _took(claim, lines, factor) if holm <= LEVEL else 0
        found[claim.id] = Finding(*said, seeds, took, p, holm, needed(claim, lines))
    return found


def _both(claim: Claim, lines: list[dict], seeds: float = np.inf) -> tuple[float, float]:
    """p that a claim holds, and p that it is contradicted, by the looks at so many seeds at most.

    A contrast without spread over seeds has no p and decides nothing, unless it is of what is counted.
    """
    last = [[p for at, *p in line["path"] if at <= seeds] for line in lines]
    holds, reversed_ = zip(*(path[-1] if path else (np.nan, np.nan) for path in last))
    spare = len(lines) - claim.need
    return statistics.at_least(claim.need, holds), statistics.at_least(spare + 1, reversed_)


def _took(claim: Claim, lines: list[dict], factor: float) -> int:
    """Seeds of the first look that decides a claim, its p corrected by a factor."""
    for seeds in sorted({at for line in lines for at, _, _ in line["path"]}):
        if min(_both(claim, lines, seeds)) * factor <= LEVEL * (1 + 1e-9):
            return seeds
    return 0


def _read(claim: Claim, lines: list[dict], side: str, holm: float, claims_judged: float) -> None:
    """Enter at which level each contrast is decided, by itself or with its claim, and how."""
    own = statistics.holm(np.nan_to_num([line["p"] for line in lines], nan=1.0)) * claims_judged
    k = claim.need if side == "holds" else len(lines) - claim.need + 1
    decisive = sorted(np.nan_to_num([line[f"p_{side}"] for line in lines], nan=1.0))[k - 1]
    for line, p in zip(lines, own):
        line["holm"] = min(1.0, p, holm if line[f"p_{side}"] <= decisive else 1.0)
        if line["holm"] <= LEVEL:
            line["reading"] = "holds" if line["p_holds"] == line["p"] else "reversed"


def verdict(claim: Claim, lines: list[dict], decided: str) -> tuple[str, str]:
    """The verdict on a claim whose contrasts are all read, and the reason in words.

    `decided` is the side that the claim's own test has found, "holds", "reversed" or "open".
    """
    n = len(lines)
    against = [line["contrast"] for line in lines if line["reading"] == "reversed"]
    holds = sum(line["reading"] == "holds" for line in lines)
    right = sum(map(is_right, lines))
    also = f"; {_names(against)} significantly the other way" if against else ""
    if decided == "holds":
        return "reproduced", _count(holds, n, "hold") + also
    if decided == "reversed":
        said = _count(len(against), n, "significantly the other way")
        return "contradicted", said + (f": {_names(against)}" if n > 1 else "")
    if right >= claim.need and len(against) <= n - claim.need and holds:
        others = "the others" if right == n else f"{right - holds} more"
        same = f"; {others} point the same way" if right > holds else ""
        return "trend only", _count(holds, n, "hold") + same + also
    if still := [line["contrast"] for line in lines if np.isnan(line["p"])]:
        return "undecided", f"every seed gave the same {still[0]}: no spread to judge by" + also
    found = f"{holds or 'none'} significantly"
    if any(line["early"] for line in lines):  # its p is 1 whatever the seeds say
        found = "but not counted" if n == 1 else f"{holds or 'none'} counted"
    return "undecided", f"{_count(right, n, 'point the right way')}, {found}{also}"


def _names(contrasts: list[str]) -> str:
    """Some contrasts by name, the first three where there are many."""
    rest = [f"{len(contrasts) - 3} more"] if len(contrasts) > 3 else []
    return "; ".join(contrasts[:3] + rest)


def _count(k: int, n: int, what: str) -> str:
    return (
        f"{k} of {n} contrasts {what}"
        if n > 1
        else what.replace("hold", "it holds").replace(
            "point the right way", "it points the right way" if k else "it points the other way"
        )
    )
