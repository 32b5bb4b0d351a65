"""How long a start still takes.

Each job has a plan: its seconds in an earlier start, otherwise those planned for the profile
(data/budget.csv and budget_arms.csv, a notebook's expected time). What the jobs of this start took
against their plan corrects the plan of the others of their kind, the more so the more of them there
are. The jobs that are left are then put on the cores one after another, as Snakemake does. Standard
library only.
"""

import csv
from dataclasses import dataclass
from functools import cache
from math import log
from pathlib import Path
from statistics import NormalDist, median

from alignbook import ROOT
from alignbook.core.names import slug
from alignbook.evidence.entries import is_short
from alignbook.workbook import chapters, exhibits
from alignbook.workbook.running.graph import Graph, title

# Seconds where neither an earlier start nor the budget says any.
OTHERS = {
    "data": 8,
    "base": 60,
    "arms": 10,
    "seeds": 10,
    "efficiency": 15,
    "benchmark": 20,
    "collect": 4,
    "notebook": 10,
    "report": 12,
}
# Seconds of three smoke runs that a chapter takes besides training, as a paper's `hours` has them: of
# an arm of base models, and before the first; and what the profile's own base model takes. Pretrained
# towers see each photograph once, Flickr8k's where no number is said.
OF_BASES, BASE = {"arm": 0.6, "start": 10}, 3
TOWERS, PHOTOGRAPHS = 0.05, 8000
# How much of the plan ahead counts as if it had been seen to hold. In simulated runs the guess is
# then right within three tenths at 92 to 96 % of the moments, at 83 % if the first chapter alone is
# slow; in a run of the world that was watched, at 90 %.
STUBBORN = 0.25
WRONG = 3.0  # times that a kind of jobs is further from its plan than all are
FOUND = 2.5  # times sooner than usual that a job ends which found more stored than it told of
TRAINS = ("arms", "whole", "training")
VARY = 0.5  # the standard deviation of a job's time, as a logarithm
BEGUN = exhibits.begun()
PUBLISHED = ROOT / "results/reference"
LAST = tuple(name for name, book in exhibits.NOTEBOOKS.items() if book.last)


@dataclass(frozen=True)
class Plan:
    """What is planned for the jobs of a start.

    Parameters
    ----------
    profile : the resolved profile; data : the kind of data; notebooks : those asked for.
    spread : "arm", "exhibit", "chapter" or "seed"; cores : as Snakemake has them.
    earlier : seconds of jobs in earlier starts, by title.
    """

    profile: object
    data: str
    notebooks: list[str]
    spread: str
    cores: int
    earlier: dict[str, float]

    def seconds(self, words: list[str]) -> float:
        """What is planned for a job."""
        kind, *names = words
        if known := self.earlier.get(title(words)):
            return known
        if kind == "arms" and self.spread == "seed" and chapter(words) != "base":
            return len(names[1:]) * besides(words)["arm"]  # other jobs train
        if kind in ("arms", "whole"):
            return sum(self.parts(words))
        if kind == "training":
            row = self._budget().get(names[0])
            return row[0] / row[2] + besides(words)["arm"] if row else OTHERS["arms"]
        if kind == "buy":
            planned = self._budget().get(f"{names[0]}-seeds", (OTHERS["seeds"], 1))[0]
            return max(1.0, planned * self._bought(names[0]) / len(exhibits.buyers(self.spread)))
        if kind == "base":
            row = self._budget().get("base-models")
            return row[0] / row[1] + BASE + self._towers() if row else OTHERS["base"]
        if kind == "notebook":
            return exhibits.NOTEBOOKS[names[0]].expected.get(self.profile.name, OTHERS["notebook"])
        if kind == "efficiency":
            own = chapters.HOURS[chapter(words)]
            arms = exhibits.arms(names[0], self.data, self.profile)
            place = 0 if self.profile.name == "smoke" else 1 if self.data == "world" else 2
            return own.measured(names[0], arms, self.profile) * own.MODEL[place]
        return OTHERS.get(kind, 10)

    def _bought(self, paper: str) -> float:
        """How many seeds the published run bought for a paper, to one that is planned. A longer profile
        is planned by the share that they may take.
        """
        if not is_short(self.profile.name):
            return 1.0
        file = PUBLISHED / f"{self.data}-{self.profile.name}" / "contrasts.csv"
        lines = (
            csv.DictReader(file.read_text(encoding="utf-8").splitlines()) if file.exists() else ()
        )
        own = [name for name in exhibits.QUESTIONS if exhibits.paper(name) == paper]
        seeds = [float(line["seeds"]) for line in lines if line["claim"] in own]
        first = self.profile.seeds
        return (max(seeds) - first) / max(1, exhibits.EXPECTED - first) if seeds else 1.0

    def _towers(self) -> float:
        """What the pass of pretrained towers over all photographs takes, where there is one."""
        p = self.profile
        images = p.train_images + p.dev_images + p.test_images or PHOTOGRAPHS
        return TOWERS * images if p.base == "photo-pretrained" else 0.0

    def new(self, words: list[str], kept: float) -> float:
        """How much of a job's plan this start makes, as so many parts were kept: 0 to 1."""
        if not kept or words[0] not in ("arms", "whole"):
            return 1.0
        parts = self.parts(words)
        return 1 - up_to(kept, parts) / sum(parts)

    def share(self, words: list[str], state: dict) -> float:
        """How much is done of what a job at work has to make, from what it says: 0 to 1."""
        if words[0] == "base" and "loss" in state or words[0] == "efficiency" and "step" in state:
            return 0.95 * state["step"] / state["steps"]
        if words[0] in ("arms", "whole") and state.get("part"):
            done, kept = state["part"][0], state.get("kept", 0)
            parts = self.parts(words)
            before = up_to(kept, parts)
            return (up_to(done, parts) - before) / (sum(parts) - before)
        if words[0] == "buy" and state.get("part"):  # of all seeds up to the end of this look
            return state["part"][0] / state["part"][1]
        return 0.0

    def waiting(self, graph: Graph) -> list[list[str]]:
        """Words of the jobs that have not begun; any of equals that are not known."""
        begun = [job.words for job in graph.listed]
        found = []
        for rule, count in graph.waiting.items():
            some = [words for words in self._of_rule(rule) if words not in begun] or [[rule]]
            # of more than are needed those in the middle of their times
            some.sort(key=self.seconds)
            middle = max(0, (len(some) - count) // 2)
            found += (some[middle : middle + count] * count)[:count]
        return found

    def _of_rule(self, rule: str) -> list[list[str]]:
        shown = self._shown()
        if rule == "notebook":
            return [["notebook", name] for name in self.notebooks]
        if rule == "training":  # which arm's and of which role is not looked up
            return [[rule, name, "any", "report", "0"] for name in shown]
        if rule == "efficiency":
            made = [name for name in shown if exhibits.arms(name, self.data, self.profile)]
            return [["efficiency", name] for name in made if exhibits.EXHIBITS[name].timed]
        if rule.startswith(("buy_", "seeds_")):
            own_kind, _, whose = rule.partition("_")
            own = [name for name in shown if exhibits.paper(name) == whose]
            made = exhibits.with_seeds(own, self.data, self.profile)
            if own_kind == "buy":
                numbers = exhibits.buyers(self.spread)
                return [["buy", whose, str(number), *made] for number in numbers]
            return [["seeds", whose, *made]]
        for name in shown:
            start = f"arms_{name.replace('-', '_')}_"
            if rule.startswith(start):
                some = exhibits.jobs(name, self.data, self.profile, self.spread)
                return [["arms", name, *some[int(rule.removeprefix(start))]]]
        if rule.startswith("whole_"):
            own = [name for name in shown if rule == f"whole_{exhibits.paper(name)}"]
            return [
                [
                    "whole",
                    *(
                        f"arms/{name}/{slug(arm)}.csv"
                        for name in own
                        for arm in exhibits.arms(name, self.data, self.profile)
                    ),
                ]
            ]
        return [[rule]]

    def _shown(self) -> tuple[str, ...]:
        """The exhibits of the notebooks that are asked for."""
        books = [exhibits.NOTEBOOKS[book] for book in self.notebooks]
        return tuple(dict.fromkeys(name for each in books for name in each.exhibits + each.reads))

    def parts(self, words: list[str], alone: bool = False) -> list[float]:
        """Planned seconds of each arm of a job; of those `alone` that train what others may have."""
        kind, *names = words
        # Files are arms/<exhibit>/<arm>.csv.
        of = [(Path(name).parent.name, Path(name).stem) for name in names]
        if kind == "arms":
            of = [(names[0], slug(name)) for name in names[1:]]
        each = _planned_arms(self.profile.name, self.data, self._shown())
        # What the budget doesn't list, if there is one, trains nothing.
        unknown = (0.0, 0.0) if each else (OTHERS["arms"],) * 2
        made = ("base-models", slug(self.profile.base))  # by the job `base`
        parts = [
            (0.0 if one == made else each.get(one, unknown)[not alone]) + besides(words)["arm"]
            for one in of
        ]
        if kind == "whole":
            parts[0] += besides(words)["start"]
        return parts

    @property
    def budgeted(self) -> bool:
        """Whether data/budget.csv has a plan for the profile on these data."""
        return bool(self._budget())

    def _budget(self) -> dict[str, tuple[float, int, int]]:
        """Core-seconds, number of arms and of runs by exhibit."""
        return _planned(self.profile.name, self.data)


@cache
def _rows(table: str, profile: str, data: str) -> list[dict[str, str]]:
    """The lines of a plan in data/ on a profile and data."""
    with open(ROOT / "data" / table, newline="", encoding="utf-8") as file:
        lines = csv.DictReader(file)
        return [row for row in lines if (row["profile"], row["data"]) == (profile, data)]


@cache
def _planned(profile: str, data: str) -> dict[str, tuple[float, int, int]]:
    return {
        row["exhibit"]: (float(row["core_seconds"]), int(row["arms"]), int(row["runs"]))
        for row in _rows("budget.csv", profile, data)
    }


@cache
def _planned_arms(
    profile: str, data: str, shown: tuple[str, ...]
) -> dict[tuple[str, str], tuple[float, float]]:
    """Core-seconds by exhibit and arm: of all its trainings, and of those that no arm before has.

    Trainings that arms of several exhibits have are new to the first of them that is shown.
    """
    found: dict[tuple[str, str], tuple[float, float]] = {}
    made: set[str] = set()  # numbers of those that are shared
    for row in _rows("budget_arms.csv", profile, data):
        parts = [each.split("=") for each in filter(None, row["shared"].split(";"))]
        shared = {number: float(seconds) for number, seconds in parts}
        all_ = float(row["core_seconds"])
        done = sum(shared[number] for number in shared.keys() & made)
        found[row["exhibit"], row["arm"]] = all_, max(0.0, all_ - done)
        if not shown or row["exhibit"] in shown:
            made |= shared.keys()
    return found


def left(plan: Plan, graph: Graph, now: float) -> float:
    """Seconds until all jobs of a start are done and its report is written."""
    shares = {}
    for job in graph.running.values():
        state = graph.state(job)
        job.kept = state.get("kept", 0)
        shares[id(job)] = plan.share(job.words, state)
    correct = _corrections(plan, graph, shares, now)
    running = []
    for job in graph.running.values():
        gone, whole = now - job.began, correct(job.words) * plan.new(job.words, job.kept)
        rest = still(whole, gone)
        if share := shares[id(job)]:  # its own speed counts, the more the further it is
            whole = gone + (1 - share) * max(whole, gone)
            rest = max(whole - gone, 0.1 * whole)
        running.append((rest, job.words))
    waiting = [(correct(words), words) for words in plan.waiting(graph)]
    report = correct(["report"])
    if not (waiting or running) and graph.finished:  # it is being written
        report = still(report, now - max(job.began + job.seconds for job in graph.finished))
    return _walk(plan, running, waiting) + report


def still(whole: float, gone: float) -> float:
    """Seconds that a job still takes, in the mean, of which `whole` are expected and some are gone.

    Jobs vary lognormally: what is late is no nearer to its end than what is in time.

    >>> still(20, 0), round(still(20, 10), 1), round(still(20, 20), 1), round(still(20, 60), 1)
    (20, 11.8, 9.8, 11.6)
    """
    if min(whole, gone) <= 0:
        return whole
    late = NormalDist().cdf
    place = log(whole / gone) / VARY - VARY / 2
    if place < -6:  # what is left of the distribution has no digits
        return gone * VARY / -place
    return whole * late(place + VARY) / late(place) - gone


def _walk(plan: Plan, running: list, waiting: list) -> float:
    """Seconds that jobs take on the plan's cores, each after those it needs: as Snakemake does, on
    paper. Both lists hold pairs: seconds (of those at work: from now on), words.
    """
    now, running = 0.0, list(running)
    waiting = [(seconds, words, needs(plan, words)) for seconds, words in waiting]
    waiting.sort(key=lambda job: rank(job[1]))
    while running or waiting:
        lacking = set().union(
            *(makes(words) for _, words in running), *(makes(words) for _, words, _ in waiting)
        )
        ready = [job for job in waiting if job[2].isdisjoint(lacking)]
        for job in ready or waiting[:1] * (not running):
            alone = _alone(plan, job[1]) or any(_alone(plan, words) for _, words in running)
            if len(running) < (1 if alone else plan.cores):
                running.append((now + job[0], job[1]))
                waiting.remove(job)
        running.sort()
        now = max(now, running.pop(0)[0])
    return now


def up_to(place: float, parts: list[float]) -> float:
    """Seconds of the parts before a place among them.

    >>> up_to(1.5, [10, 20, 40])
    20.0
    """
    whole = int(place)
    return sum(parts[:whole]) + (place - whole) * sum(parts[whole : whole + 1])


def rank(words: list[str]) -> int:
    """Of the jobs that are ready, those of the least rank begin first: the Snakefile's priorities.

    >>> rank(["buy", "chan"]) < rank(["arms", "chan-T3", "max"]) < rank(["arms", "gsl-T1", "0.5"])
    True
    """
    if words[0] in ("arms", "training"):
        return BEGUN.index(words[1]) - len(BEGUN) - 1
    first = -len(BEGUN) - 2
    return {"buy": first, "seeds": first, "efficiency": -1}.get(words[0], 0)


def _alone(plan: Plan, words: list[str]) -> bool:
    return words[0] in ("efficiency", "benchmark") and plan.profile.name != "smoke"


def makes(words: list[str]) -> set[str]:
    """What others may wait for of a job: arms' exhibits, or its own name."""
    if words[0] == "whole":
        return {Path(name).parent.name for name in words[1:]}
    if words[0] in ("buy", "seeds"):
        return {f"{words[0]} {words[1]}"}
    if words[0] == "training":
        return {f"trained {words[1]}"}
    return {words[1]} if words[0] == "arms" else {" ".join(words)}


def needs(plan: Plan, words: list[str]) -> set[str]:
    """What a job waits for, in the words of `makes`; the Snakefile has it exactly."""
    kind, *names = words
    if kind in ("efficiency", "collect"):
        shown = names if kind == "efficiency" else exhibits.EXHIBITS
        return {*shown, *_bought(plan, shown)}
    if kind != "notebook" or not names:
        known = {
            "base": {"data"},
            "training": {"base"},
            "arms": {"base", *(f"trained {name}" for name in names[:1] if plan.spread == "seed")},
            "whole": {"base"},
            "buy": set(names[2:]),
            "seeds": {f"buy {name}" for name in names[:1]},
        }
        return known.get(kind, set())
    book = exhibits.NOTEBOOKS[names[0]]
    shown = {*book.exhibits, *book.reads}
    found = {*book.needs, *shown, *_bought(plan, shown), *(f"efficiency {name}" for name in shown)}
    if book.last:
        found |= {f"notebook {name}" for name in plan.notebooks if name not in LAST}
    return found | ({"benchmark"} if names[0] == "50_kernels" else set())


def _bought(plan: Plan, names) -> set[str]:
    """Jobs that buy seeds for exhibits, in the words of `makes`."""
    some = exhibits.with_seeds(names, plan.data, plan.profile)
    return {f"seeds {exhibits.paper(name)}" for name in some}


def _corrections(plan: Plan, graph: Graph, shares: dict[int, float], now: float):
    """A function from a job to its seconds: planned, times what its kind was seen to take."""
    taken, usual = {}, _usual(plan, graph)
    arms = stored = (
        0.0  # seconds planned for arms that are done, and for those that were all stored
    )
    for job in [*graph.finished, *graph.running.values()]:
        share = 1.0 if job.seconds is not None else shares[id(job)]
        if share:
            seconds = job.seconds if job.seconds is not None else now - job.began
            spent, planned, count = taken.get(kind(job.words), (0.0, 0.0, 0.0))
            new, whole = share * plan.new(job.words, job.kept), plan.seconds(job.words)
            found = job.seconds is not None and seconds < new * whole * usual / FOUND
            if job.seconds is not None and job.words[0] in TRAINS:
                arms, stored = arms + whole, stored + found * whole
            if found:
                continue
            planned += new * whole
            taken[kind(job.words)] = spent + seconds, planned, count + new
    spent, planned = (sum(each[i] for each in taken.values()) for i in (0, 1))
    ahead = sum(map(plan.seconds, plan.waiting(graph)))
    trust = 10 + STUBBORN * ahead
    overall = (spent + trust) / (planned + trust)
    # Where what ended was all stored, as of a pack, the rest will be.
    anew = 1 - stored / arms if arms else 1.0

    def correct(words: list[str]) -> float:
        spent, planned, count = taken.get(kind(words), (0.0, 0.0, 0.0))
        trust = 2 * planned / count if count else 1.0  # as much as two jobs of the kind
        factor = (spent + trust * overall) / (planned + trust)
        # A job may train what is planned for another that has not begun: no kind is that wrong.
        factor = min(max(factor, overall / WRONG), overall * WRONG)
        return plan.seconds(words) * factor * (anew if words[0] in (*TRAINS, "buy") else 1)

    return correct


def _usual(plan: Plan, graph: Graph) -> float:
    """What jobs took of their plan, in the middle; 1 at most."""
    known = [(job.seconds, plan.seconds(job.words)) for job in graph.finished]
    return min([1.0, median([seconds / planned for seconds, planned in known if planned] or [1.0])])


def kind(words: list[str]) -> str:
    """What jobs are compared with: those of a chapter, or of the same command."""
    return chapter(words) if words[0] in TRAINS else words[0]


def chapter(words: list[str]) -> str:
    """The chapter of a job's arms.

    >>> chapter(["arms", "chan-T3", "hard"]), chapter(["whole", "arms/gsl-T1/0.4.csv"])
    ('chan', 'gsl')
    """
    return (Path(words[1]).parent.name or words[1]).partition("-")[0]


def besides(words: list[str]) -> dict[str, float]:
    """Seconds that a job of arms takes besides training, by what it does."""
    own = chapters.HOURS.get(chapter(words))
    return own.BESIDES if own else OF_BASES


def earlier(starts: list[dict], machine: str, cores: int) -> dict[str, float]:
    """Seconds of jobs by title, of a machine and its cores: the most of all starts that know them, as
    one that found them stored took next to none.
    """
    found = {}
    for start in starts:
        if (start.get("machine"), start.get("cores")) == (machine, cores):
            for job, seconds in start.get("jobs", {}).items():
                found[job] = max(seconds, found.get(job, 0.0))
    return found
