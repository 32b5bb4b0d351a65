"""Seeds are bought where they decide: looks at a paper's claims after 3, 5, 8 and 12 of them.

Each look asks `evidence.sequential` which arms' next seeds could still decide a claim, and trains
those alone. Several jobs buy for a paper at once: each goes through the same looks, and trains what
none of the others is at work on. What was bought is a file of the results folder; the arms' own lists
are those of the first look.
"""

import pandas as pd

from alignbook.core.names import row_and_target
from alignbook.evidence import claims, learnt, sequential, verdicts
from alignbook.evidence.entries import is_short
from alignbook.store import progress
from alignbook.workbook import arm_runs, exhibits, results, start


def buy(book, paper: str, names: list[str], number: int = 0) -> pd.DataFrame:
    """The runs that are bought for a paper's claims on some of its exhibits, as `results.arm` lists
    them; those of the first look are not among them.

    Before overnight seeds are bought for the paper's primary claim alone. `number` is that of a
    buyer among those of the paper.
    """
    chosen = _claims(paper, primary=is_short(book.profile.name))
    seeds: dict[tuple[str, str], int] = {}
    first = listed = _listed(book, names, seeds)
    while more := _more(book, chosen, listed, seeds):
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


def _more(book, chosen: list, listed: pd.DataFrame, seeds: dict) -> dict[tuple[str, str], int]:
    """By exhibit and arm: how many seeds the next look takes; nothing where no look is worth it."""
    found = results.gather(book, listed)
    wanted = sequential.wanted(
        found["metrics"],
        book.profile.name,
        chosen,
        book.profile.seeds_most,
        found["images"],
        results.trials(found["runs"]),
    )
    more = {}
    for name, arm in {*zip(listed.exhibit, listed.arm)}:
        count = min(wanted.get((name, row_and_target(arm)[0]), 0), book.profile.seeds_most)
        single = exhibits.EXHIBITS[name].arm(arm).single(book.profile.name)
        control = row_and_target(arm)[0].endswith(learnt.LONGER)
        have = seeds.get((name, arm), 1 if single else book.profile.seeds)
        if count > have and (control or not single):
            more[name, arm] = count
    return more
