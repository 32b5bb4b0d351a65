"""Which seeds could still decide a claim: what a buyer of seeds asks after each look.

More seeds are worth their time for a claim that is open and may still be decided. They are not
where it is decided, where the most seeds that may be had are there, or where it is futile: even the
most seeds would find it with a probability below 20 %, at the measured spread and with the effect
at that end of its interval which favours it most. Stopping so costs nothing of the error: a p of
`looks` is valid whenever one stops.

While a paper's primary claim is open, its others have a fifth of the level; what it passes on once it
is decided may make one of them worth its time again (see `families`).
"""

from typing import NamedTuple

import numpy as np
import pandas as pd

from alignbook.evidence import claims, learnt, looks, verdicts
from alignbook.evidence.claims import Claim
from alignbook.evidence.contrasts import LEVEL, Numbers, found_beyond, found_inside
from alignbook.evidence.families import PRIMARY, Family, Member
from alignbook.evidence.looks import LOOKS

__all__ = ["FUTILE", "LOOKS", "Standing", "standing"]
MAY_TURN = "more steps may turn it"
FUTILE = 0.2  # the probability of being decided, below which no more seeds are taken


class Standing(NamedTuple):
    """Where a claim stands.

    `seeds` are those of its next look, 0 where there is none; `arms` (exhibit, row) are to have
    them.
    """

    said: str
    seeds: int = 0
    arms: frozenset[tuple[str, str]] = frozenset()


def standing(
    metrics: pd.DataFrame, profile: str, chosen=None, most: int = LOOKS[-1], trials=None
) -> dict[str, Standing]:
    """Where each claim stands, by its id.

    Parameters
    ----------
    metrics, profile, chosen, trials : as `verdicts.judge` takes them.
    most : seeds that may be had at all.
    """
    chosen = claims.load() if chosen is None else chosen
    numbers = Numbers(metrics, None, trials)
    chosen = verdicts.there(chosen, numbers)
    found, families, _ = verdicts.examined(chosen, profile, numbers)
    said = {}
    for claim in chosen:
        if claim.id in found:
            said[claim.id] = _unjudged(claim, profile, found[claim.id].why, numbers, most)
    for family in families.values():
        said |= _family(family, most)
    return {claim.id: said[claim.id] for claim in chosen}


def _unjudged(claim: Claim, profile: str, why: str, numbers: Numbers, most: int) -> Standing:
    """A claim that cannot be judged; it takes a first look if it lacks nothing but seeds, and so do
    controls of four times the steps that one noisy seed may have raised.
    """
    if most > 1:
        first = looks.following(1, most)
        if why == verdicts.FEW_SEEDS:
            return Standing(why, first, _arms(claim))
        few = (arm for arm, seeds in verdicts.doubtful(claim, numbers).items() if seeds < first)
        if why.startswith(verdicts.NOT_TRAINED) and (controls := frozenset(few)):
            return Standing(why, first, controls)
    return Standing(why)


def _family(family: Family, most: int) -> dict[str, Standing]:
    """Where the claims of a paper stand that can be judged."""
    found, share = family.findings()
    said, open_ = {}, [m for m in family.others() if not found[m.claim.id].took]
    first = looks.following(1, most) if most > 1 else 0
    for member in family.members:
        own, seeds = found[member.claim.id], found[member.claim.id].seeds
        primary = member.claim.primary
        level = LEVEL * (PRIMARY if primary else share / max(len(open_), 1))
        if own.took:
            said[member.claim.id] = Standing(f"decided after {own.took} seeds")
        elif few := _few(member, first):
            said[member.claim.id] = Standing(MAY_TURN, first, few)
        elif seeds >= most:
            said[member.claim.id] = Standing(f"{seeds} seeds taken")
        elif not all(line["spread"] > 0 or line["exact"] for line in member.lines):
            said[member.claim.id] = Standing(own.why)
        elif (chance := likely(member, level, most)) < FUTILE:
            text = f"futile after {seeds} seeds: {most} would find it with {100 * chance:.0f} %"
            early = any(line["early"] for line in member.lines)
            said[member.claim.id] = Standing(MAY_TURN if early else text)
        else:
            text, following = f"open after {seeds} seeds", looks.following(seeds, most)
            said[member.claim.id] = Standing(text, following, _arms(member.claim))
    return said


def _few(member: Member, first: int) -> frozenset[tuple[str, str]]:
    """The controls of what more steps may turn that have fewer seeds than a first look takes."""
    return frozenset(
        (term.exhibit, term.row + learnt.LONGER)
        for line in [*member.lines, *([member.same] if member.same else [])]
        for term, seeds in line["controls"].items()
        if line["early"] and np.isfinite(line["longer"]) and seeds < first
    )


def _arms(claim: Claim) -> frozenset[tuple[str, str]]:
    return frozenset((term.exhibit, term.row) for each in claim.contrasts for term in each.terms)


def likely(member: Member, level: float, most: int) -> float:
    """With which probability the most seeds would decide a claim, at best.

    At best: each contrast has its effect at the favourable end of its interval, and what is found
    least easily is found whenever the others are. The best of holding, being reversed, and no
    difference.
    """
    claim, lines, same = member
    spare = len(lines) - claim.need
    holds = [_holding(line, level / (spare + 1), most) for line in lines]
    reversed_ = [_reversing(line, level / claim.need, most) for line in lines]
    best = [sorted(holds)[-claim.need], sorted(reversed_)[-spare - 1]]
    if same is not None and not lines[0]["early"] and not same["early"]:
        best.append(_holding(same, level, most))
    return max(best)


def _holding(line: dict, level: float, most: int) -> float:
    """Probability at best that the most seeds find a contrast in its range."""
    low, high, half = -line["from_low"], line["from_high"], line["half"]
    if line["early"]:
        return 0.0
    if np.isinf(high):
        return found_beyond(line, half - low, level, most) if half > low else 0.0
    return found_inside(line, float(np.clip((low + high) / 2, -half, half)), level, most)


def _reversing(line: dict, level: float, most: int) -> float:
    """Probability at best that the most seeds find a contrast beyond its range."""
    beyond = max(-line["from_low"], -line["from_high"]) + line["half"]
    return found_beyond(line, beyond, level, most) if beyond > 0 and not line["early"] else 0.0
