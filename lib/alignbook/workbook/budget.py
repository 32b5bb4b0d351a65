"""What the runs were planned to take, by data/budget.csv, and what they took.

The seconds a step of the plan are measured and stand in the file; arms, runs and steps follow from
the profiles. `python -m alignbook.workbook.budget` writes them anew, and data/budget_arms.csv, which
has the plan arm by arm.
"""

import json
from collections import ChainMap, Counter
from dataclasses import replace

import numpy as np
import pandas as pd

from alignbook import ROOT
from alignbook.core.names import BASE_MODEL, row_and_target, slug
from alignbook.evidence import claims
from alignbook.evidence.entries import is_short
from alignbook.evidence.learnt import LONGER
from alignbook.store import durable
from alignbook.workbook import arm_runs, chapters, exhibits, profiles
from alignbook.workbook.exhibits import EXHIBITS
from alignbook.workbook.running.buying import SHARE

# Core-seconds of a laptop run, by chapter.
ALLOWED = {"base": 250} | {paper: each.ALLOWED for paper, each in chapters.HOURS.items()}
FILE = ROOT / "data" / "budget.csv"
ARMS = ROOT / "data" / "budget_arms.csv"
COLUMNS = ["profile", "data", "exhibit", "arms", "runs", "steps", "seconds_a_step", "core_seconds"]
OF_ARMS = ["profile", "data", "exhibit", "arm", "core_seconds", "new_seconds", "shared"]


def planned(profile, data: str) -> pd.DataFrame:
    """Arms, runs and mean steps a run of each exhibit, and of the seeds that are bought for a paper.

    A run that several exhibits show counts for the one whose jobs begin first. `<paper>-seeds` are
    the runs of the paper's primary claim from the first look to `exhibits.EXPECTED` seeds; from
    overnight on, if that is more, what `buying.SHARE` allows of the paper's own runs.
    """
    lines = []
    for exhibit, arms in of_arms(profile, data).items():
        new = dict(ChainMap(*(new for _, new in arms.values())))
        if new:
            lines.append((exhibit, len(arms), len(new), np.mean(list(new.values()))))
    for paper in chapters.PAPERS if profile.seeds_most > profile.seeds else ():
        more = range(profile.seeds, min(exhibits.EXPECTED, profile.seeds_most))
        rows = {
            (t.exhibit, t.row) for c in _primary(paper) for each in c.contrasts for t in each.terms
        }
        arms = [
            (exhibit, name)
            for exhibit in EXHIBITS
            for name in exhibits.arms(exhibit, data, profile)
            if (exhibit, row_and_target(name)[0]) in rows
        ]
        new = {}
        for exhibit, name in arms:
            new |= _trainings(exhibit, name, profile, data, more, trials=False)
        if new:
            line = len(arms), len(new), np.mean(list(new.values()))
            if not is_short(profile.name):
                line = max(line, _shared(paper, lines), key=lambda x: x[1] * x[2])
            lines.append((f"{paper}-seeds", *line))
    return pd.DataFrame(lines, columns=["exhibit", "arms", "runs", "steps"])


def _shared(paper: str, lines: list[tuple]) -> tuple[int, int, float]:
    """Arms, runs and mean steps of the seeds that a paper's claims share, after its planned lines."""
    own = [line[1:] for line in lines if exhibits.paper(line[0]) == paper]
    arms, runs = (sum(column) for column in list(zip(*own))[:2])
    return arms, round(SHARE * runs), sum(n * steps for _, n, steps in own) / runs


def of_arms(profile, data: str) -> dict[str, dict[str, tuple[dict, dict]]]:
    """The steps of each training by exhibit and arm: of all that an arm has, and of those alone that
    no arm before it has, in the order in which exhibits' jobs begin.
    """
    seen: set[tuple] = set()
    found: dict[str, dict[str, tuple[dict, dict]]] = {}
    for exhibit in exhibits.begun():
        own = found.setdefault(exhibit, {})
        for name in exhibits.arms(exhibit, data, profile):
            all_ = _trainings(exhibit, name, profile, data, range(profile.seeds))
            own[name] = all_, {each: steps for each, steps in all_.items() if each not in seen}
            seen |= all_.keys()
    return found


def _primary(paper: str) -> list:
    return [each for each in claims.load() if each.paper == paper and each.primary]


def _trainings(
    exhibit: str, name: str, profile, data: str, seeds, trials: bool = True
) -> dict[tuple, int]:
    """The steps of each training of an arm, by what tells it from others; none of an untrained arm.

    What dev chooses is not known: the first candidate stands for it.
    """
    if exhibit == "base-models":
        from alignbook.backbones import base

        config = base.configure(profile, "" if name == BASE_MODEL else name)
        images = profile.train_images or profiles.TRAINING_CAPTIONS[data] // 5
        steps = config.epochs * (images // config.batch)
        return {(repr(config), seed): steps for seed in range(profile.base_seeds)}
    if name == BASE_MODEL or not EXHIBITS[exhibit].arm(name).trained:
        return {}
    candidates, changes = chapters.arms_of(exhibit).arms(exhibit, profile)[name]
    tried = arm_runs.trials(exhibit, name, profile) if trials else []
    single = EXHIBITS[exhibit].arm(name).single(profile.name)
    reported = list(seeds)[: 1 if single else None]
    tried += [(replace(candidates[0], **changes), seed) for seed in reported]
    place = chapters.place(exhibit, name, data)
    return {
        (repr(config), seed, place): steps
        for config, seed in tried
        if (steps := chapters.steps(exhibit, config))
    }


def written(kept: pd.DataFrame) -> pd.DataFrame:
    """The plan's table anew, with the seconds a step that it has; a new line takes its chapter's.

    Nothing is planned for a chapter that has none on some data.
    """
    lines = []
    for (name, data), own in kept.groupby(["profile", "data"], sort=False):
        pace = own.set_index("exhibit")["seconds_a_step"]
        of_chapter = pace.groupby(pace.index.map(exhibits.paper)).median()
        for line in planned(profiles.get(name, data), data).itertuples(index=False):
            seconds = pace.get(line.exhibit, of_chapter.get(exhibits.paper(line.exhibit)))
            if seconds is None:
                continue
            spent = round(line.runs * line.steps * seconds)
            which = name, data, line.exhibit, line.arms, line.runs, round(line.steps)
            lines.append((*which, seconds, spent))
    return pd.DataFrame(lines, columns=COLUMNS)


def written_by_arm(plan: pd.DataFrame) -> pd.DataFrame:
    """The plan arm by arm: core-seconds of all trainings that an arm has, of those that no arm before
    it has, and of those that it shares, by the number of those that share them, "4=90.5;17=9.0". An
    exhibit that has nothing new takes its chapter's seconds a step.

    Parameters
    ----------
    plan : as `written` returns it.
    """
    lines = []
    for (name, data), own in plan.groupby(["profile", "data"], sort=False):
        pace = own.set_index("exhibit")["seconds_a_step"]
        of_chapter = pace.groupby(pace.index.map(exhibits.paper)).median()
        planned = of_arms(profiles.get(name, data), data)
        who: dict[tuple, list] = {}  # by training: the arms that have it
        for exhibit, arms in planned.items():
            for arm, (all_, _) in arms.items():
                for each in all_:
                    who.setdefault(each, []).append((exhibit, arm))
        several = (tuple(each) for each in who.values() if len(each) > 1)
        numbers = {each: number for number, each in enumerate(dict.fromkeys(several), 1)}
        for exhibit, arms in planned.items():
            seconds = pace.get(exhibit, of_chapter.get(exhibits.paper(exhibit)))
            for arm, (all_, new) in arms.items():
                if seconds is None or not all_:
                    continue
                shared: Counter[int] = Counter()
                for each, steps in all_.items():
                    if number := numbers.get(tuple(who[each])):
                        shared[number] += steps
                told = ";".join(f"{of}={seconds * n:.1f}" for of, n in sorted(shared.items()))
                both = [round(seconds * sum(each.values()), 1) for each in (all_, new)]
                lines.append((name, data, exhibit, slug(arm), *both, told))
    return pd.DataFrame(lines, columns=OF_ARMS)


def budget_table(book, timings: pd.DataFrame) -> pd.DataFrame:
    """What was planned for the profile's exhibits, and what the runs took.

    Parameters
    ----------
    timings : as `results.gather` returns it. A run that several arms share counts once, for the
        exhibit it stands under whose jobs begin first, and the base model with the base models.

    Returns
    -------
    DataFrame
        exhibit, runs, core-seconds (of training) and seconds a step, each planned and measured,
        the ratio of the core-seconds, and a remark where it is above 1.5; NaN for what is on one
        side only.
    """
    planned = pd.read_csv(FILE)
    planned = planned[(planned.profile == book.profile.name) & (planned.data == book.kind)]
    own = timings[(timings.row != BASE_MODEL) | (timings.exhibit == "base-models")]
    own = own.sort_values(
        "exhibit", key=lambda each: each.map(exhibits.begun().index), kind="stable"
    )
    found = (
        own.drop_duplicates("run")
        .groupby("exhibit", sort=False)
        .agg(made=("run", "count"), spent=("training_seconds", "sum"), steps_made=("steps", "sum"))
    )
    both = planned.set_index("exhibit").join(found, how="outer")
    ratio = both.spent / both.core_seconds
    return pd.DataFrame(
        {
            "exhibit": both.index,
            "runs planned": both.runs,
            "runs": both.made,
            "core-seconds planned": both.core_seconds,
            "core-seconds": both.spent,
            "seconds a step planned": both.seconds_a_step,
            "seconds a step": both.spent / both.steps_made,
            "measured / planned": ratio,
            "": np.where(ratio > 1.5, "over budget", ""),
        }
    ).reset_index(drop=True)


def to_decide(verdict: pd.DataFrame, timings: pd.DataFrame) -> pd.Series:
    """Core-hours of training that the seeds take which would decide each undecided claim.

    Parameters
    ----------
    verdict : as `verdicts.judge` returns it; timings : as `results.gather` does.

    Returns
    -------
    Series by claim; NaN for any that is not undecided or whose seeds are not known, and for those on
    times, which take no training.
    """
    reported = timings[timings.role == "report"]
    own = reported.groupby(["exhibit", "row"]).training_seconds.mean().reset_index()
    own["row"] = [row_and_target(row)[0] for row in own.row]  # a seed is trained for each target
    seconds = own.groupby(["exhibit", "row"]).training_seconds.sum()
    a_seed = {
        claim.id: sum(
            seconds.get(arm, np.nan)
            for arm in {(term.exhibit, term.row) for each in claim.contrasts for term in each.terms}
        )
        for claim in claims.load()
        if not claim.measured
    }
    found = verdict[verdict.verdict == "undecided"].set_index("claim")
    lacking = (found.needed - found.seeds).clip(lower=0)
    hours = pd.Series(a_seed, dtype=float).reindex(found.index) / 3600
    return (lacking * hours).reindex(verdict.claim)


def core_minutes(timings: pd.DataFrame) -> pd.Series:
    """What each claim cost: core-minutes of the trainings that it rests on, trials and controls of four
    times the steps with them, each counted once; 0 for a claim without any.

    Parameters
    ----------
    timings : as `results.gather` does.
    """
    names = [row_and_target(row)[0].removesuffix(LONGER) for row in timings.row]
    # Of a resumed run, "seconds" are those of its last part.
    took = timings[["training_seconds", "seconds"]].max(axis=1)
    runs = timings.assign(arm=names, took=took).set_index(["exhibit", "arm"])
    found = {}
    for claim in claims.load():
        arms = {(term.exhibit, term.row) for each in claim.contrasts for term in each.terms}
        own = runs[runs.index.isin(arms)].drop_duplicates("run")
        found[claim.id] = own.took.sum() / 60
    return pd.Series(found, dtype=float)


def chapter_budget() -> pd.DataFrame:
    """Core-seconds that the laptop profile's chapters plan in the world, and what they may take."""
    planned = pd.read_csv(FILE)
    planned = planned[(planned.profile == "laptop") & (planned.data == "world")]
    spent = planned.groupby(planned.exhibit.str.partition("-")[0]).core_seconds.sum()
    return pd.DataFrame(
        {
            "chapter": spent.index,
            "core-seconds planned": spent.to_numpy(),
            "allowed": [ALLOWED[name] for name in spent.index],
            "": np.where(spent > [ALLOWED[name] for name in spent.index], "over", ""),
        }
    )


def made_with(runs: pd.DataFrame) -> pd.DataFrame:
    """On what devices, with which packages and when runs were computed: what, found.

    Parameters
    ----------
    runs : as `results.gather` returns it.
    """
    used = {f"{name} {n}": 0 for text in runs.versions for name, n in json.loads(text).items()}
    lines = [
        ("devices", ", ".join(sorted(set(runs.device)))),
        ("packages", ", ".join(used)),
        ("runs finished", f"{runs.finished.min()} to {runs.finished.max()}"),
    ]
    return pd.DataFrame(lines, columns=["what", "found"])


if __name__ == "__main__":
    plan = written(pd.read_csv(FILE))
    durable.write(FILE, plan.to_csv(index=False))
    durable.write(ARMS, written_by_arm(plan).to_csv(index=False))
