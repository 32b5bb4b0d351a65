"""Seeds are bought where they decide: looks at a paper's claims after 3, 5, 8 and 12 of them.

Each look asks `evidence.sequential` which claims the next seeds could still decide, and trains their
arms alone: the primary claim's, then those of the claims that take least to decide. Several jobs buy
for a paper at once: each goes through the same looks, and trains what none of the others is at work
on. What was bought is a file of the results folder; the arms' own lists are those of the first look.
"""

import numpy as np
import pandas as pd

from alignbook.core.names import row_and_target
from alignbook.evidence import claims, learnt, sequential, verdicts
from alignbook.evidence.entries import is_short
from alignbook.store import progress
from alignbook.workbook import arm_runs, exhibits, results, start

# From overnight on: steps that seeds for other claims than the primary one may take, to those of the
# first look.
SHARE = 0.25


def buy(book, paper: str, names: list[str], number: int = 0) -> pd.DataFrame:
    """The runs that are bought for a paper's claims on some of its exhibits, as `results.arm` lists
    them; those of the first look are not among them.

    Before overnight seeds are bought for the paper's primary claim alone, from then on for its
    others too, as far as `SHARE` goes. `number` is that of a buyer among those of the paper.
    """
    chosen = _claims(paper, primary=is_short(book.profile.name))
    seeds: dict[tuple[str, str], int] = {}
    first = listed = _listed(book, names, seeds)
    while more := _more(book, chosen, first, listed):
        _train(book, more, seeds, number)
        seeds |= more
        listed = _listed(book, names, seeds)
    known = {*zip(first.exhibit, first.arm, first.role, first.seed)}
    all_ = zip(listed.exhibit, listed.arm, listed.role, listed.seed)
    return listed[[which not in known for which in all_]]


def answers(book, paper: str, names: list[str]) -> list[str]:
    """What the runs of some exhibits, bought ones among them, say of a paper's primary claim."""
    found = results.gather(book, pd.concat([results.arms(book, name) for name in names]))
    judged = verdicts.judge(
        found["metrics"],
        book.profile.name,
        _claims(paper, primary=True),
        trials=results.trials(found["runs"]),
    )
    return start.answers(*judged)


def _claims(paper: str, primary: bool) -> list[claims.Claim]:
    """A paper's claims, or its primary one alone."""
    own = [each for each in claims.load() if each.paper == paper]
    return [each for each in own if each.primary] if primary else own


def _train(book, more: dict, before: dict, number: int) -> None:
    """Train the seeds of a look: first those that no other process is at work on, then those whose
    process may have died on another machine, on which each buyer waits in an order of its own.
    """
    wanted, gone, blocked = [], 0, []
    for (exhibit, arm), count in sorted(more.items()):
        first = len(arm_runs.seeds(exhibit, arm, book.profile))
        have = before.get((exhibit, arm), first)
        found = arm_runs.of_arm(exhibit, arm, book.profile, book.kind, range(have, count))
        wanted += [one for one in found.values() if one.role == arm_runs.REPORT]
        gone += have - first
    for done, one in enumerate(wanted):
        progress.part(gone + done, gone + len(wanted), trainings=1)
        try:
            results.train(book, one, wait=False)
        except BlockingIOError:
            blocked.append(one)
    first = number % max(len(blocked), 1)
    for one in blocked[first:] + blocked[:first]:
        results.train(book, one)


def _listed(book, names: list[str], seeds: dict) -> pd.DataFrame:
    found = [results.arms(book, name, seeds) for name in names]
    return pd.concat(found, ignore_index=True)


def _more(book, chosen: list, first, listed) -> dict[tuple[str, str], int]:
    """By exhibit and arm: how many seeds the next look takes; nothing where no look is worth it.

    `first` and `listed` are the runs of the first look, and all that there are.
    """
    found = results.gather(book, listed)
    asked = found["metrics"], book.profile.name, chosen
    trials = results.trials(found["runs"])
    standing = sequential.standing(*asked, book.profile.seeds_most, trials)
    open_ = {claim: each for claim, each in standing.items() if each.seeds}
    if not open_:
        return {}
    needed = verdicts.judge(*asked, trials=trials)[0].set_index("claim").needed
    steps = found["timings"].drop_duplicates("run").set_index("run")["steps"]
    before = steps.index.isin(first.key)
    left = SHARE * steps[before].sum() - steps[~before].sum()
    arms = _arms(book, listed, steps)
    have = arms.have.copy()
    primary = {each.id for each in chosen if each.primary}

    def price(claim: str, seeds: float) -> float:
        """Steps that this many seeds take of a claim's arms."""
        own = arms[arms.of.isin(open_[claim].arms)]
        lacking = (seeds - have[own.index]).clip(lower=0)
        return float((lacking[lacking > 0] * own.steps).sum())

    def place(claim: str) -> tuple:
        """The primary claim first, then what takes least to decide."""
        seeds = needed.get(claim, np.nan)
        to_decide = price(claim, open_[claim].seeds if np.isnan(seeds) else seeds)
        return claim not in primary, to_decide, claim

    for claim in sorted(open_, key=place):
        cost, seeds = price(claim, open_[claim].seeds), open_[claim].seeds
        if claim in primary or cost <= left:
            own = arms.index[arms.of.isin(open_[claim].arms)]
            have[own] = have[own].clip(lower=seeds)
            left -= cost
    return have[have > arms.have].to_dict()


def _arms(book, listed, steps: pd.Series) -> pd.DataFrame:
    """The arms that seeds may be bought for, by exhibit and arm: `of`, what claims call it; `have`, its
    reporting seeds; `steps` of one.
    """
    reported = listed[listed.role == arm_runs.REPORT]
    reported = reported.assign(steps=reported.key.map(steps))
    arms = reported.groupby(["exhibit", "arm"]).agg(have=("seed", "size"), steps=("steps", "first"))
    arms["of"] = [(exhibit, row_and_target(arm)[0]) for exhibit, arm in arms.index]
    single = [
        exhibits.EXHIBITS[name].arm(arm).single(book.profile.name) for name, arm in arms.index
    ]
    control = [row.endswith(learnt.LONGER) for _, row in arms.of]
    return arms[np.array(control) | ~np.array(single)]
