"""What the papers' own settings cost: trainings, GPU hours, and days on some GPUs.

Every training counts once: what several exhibits or arms share is one run of the store. Nothing
heavy is imported. `python -m alignbook.workbook.needs` writes the table into docs/at-scale.md.
"""

import heapq
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from alignbook.show import gpu_hours
from alignbook.show.gpu_hours import PRECISIONS, Training, Work
from alignbook.workbook import chapters, exhibits
from alignbook.workbook.profiles import TRAINING_CAPTIONS, Profile

GPUS = (1, 8, 64)
SEEN, READ = 16, 250  # photographs and captions a second that pass the packaged towers
PHOTOGRAPHS = 5000  # a second that a GPU trains the photo-tower on, at 80 pixels; an estimate
PICTURES = 113287  # of COCO's training split

Key = tuple[str, str, str]  # data set, paper, name of a training
Trainings = dict[Key, Training]


class Made(NamedTuple):
    """An exhibit of a plan: its data set, the profile there, and what no exhibit before it has."""

    data: str
    profile: Profile
    new: Trainings


# --- Trainings -----------------------------------------------------------------------------------


def trainings(exhibit: str, data: str, profile: Profile, arms: Sequence[str] = ()) -> Trainings:
    """The trainings of an exhibit, or of some of its arms, by what tells them from all others."""
    paper = exhibits.paper(exhibit)
    found = base_models(profile)
    if own := chapters.HOURS.get(paper):
        arms = arms or exhibits.arms(exhibit, data)
        found = own.trainings(exhibit, arms, profile, TRAINING_CAPTIONS[data])
    return {(data, paper, each.name): each for each in found}


def base_models(profile: Profile) -> list[Training]:
    """The base model on COCO's training photographs; one with weights is read."""
    if ":" in profile.base:
        return [Training("base", Work(0, 0, 0, 360), (), f"reading of {profile.base}, untrained,")]
    if profile.base == "photo-pretrained":
        seconds = PICTURES / SEEN + 5 * PICTURES / READ
        kind = (
            f"pass of {PICTURES:,} photographs at {SEEN} and their captions at {READ} a second "
            "through the packaged towers, measured on a processor's core,"
        )
        return [Training("base", Work(0, 0, 0, seconds), (), kind)]
    kind = (
        f"training of {profile.base_epochs} epochs × {PICTURES:,} photographs at {PHOTOGRAPHS:,} a "
        "second (none where --set base= names one of the models it may use)"
    )
    seconds = profile.base_epochs * PICTURES / PHOTOGRAPHS
    return [Training("base", Work(0, 0, 0, seconds), (), kind)]


def add(exhibit: str, data: str, profile: Profile, made: dict[str, Made]) -> Made:
    """Put an exhibit into a plan, after those that are `made` in it."""
    known = {key for each in made.values() for key in each.new}
    found = trainings(exhibit, data, profile)
    made[exhibit] = Made(data, profile, {key: found[key] for key in found if key not in known})
    return made[exhibit]


def hours(found: Mapping[Key, Training], precision: str = "float32", card: str = "A100") -> float:
    """GPU hours of trainings."""
    return sum(gpu_hours.hours(each.work, precision, card) for each in found.values())


def cost(exhibit: str, one: Made) -> str:
    """GPU hours of an exhibit in float32, and what they are reckoned from, in words."""
    spent = hours(one.new)
    words = gpu_hours.said(one.new.values()) or "nothing is trained that no exhibit above has"
    remark = getattr(chapters.HOURS.get(exhibits.paper(exhibit)), "remark", lambda profile: "")
    told = [words, "an estimate, right within a factor of 3", remark(one.profile)]
    return f"{exhibit}: {spent:.{int(spent < 1)}f} GPU hours = {'; '.join(filter(None, told))}"


# --- Wall-clock ----------------------------------------------------------------------------------


def schedule(jobs: Mapping[Key, tuple[float, Iterable[Key]]], gpus: int) -> float:
    """Hours until all jobs are done, where the longest of the ready ones always begins first.

    Parameters
    ----------
    jobs : hours of each, and what has to end before it; what is no job has ended already.

    Examples
    --------
    >>> schedule({name: (hours, ()) for name, hours in zip("abcde", (3, 3, 2, 2, 2))}, 2)
    7.0
    >>> schedule({"trial": (1, ()), "other": (2, ()), "seed": (5, ["trial", "other"])}, 2)
    7.0
    """
    waits = {name: {each for each in after if each in jobs} for name, (_, after) in jobs.items()}
    follow: dict = {}
    for name, before in waits.items():
        for each in before:
            follow.setdefault(each, []).append(name)
    # Numbers break ties, in the order of the jobs.
    number = {name: i for i, name in enumerate(jobs)}
    ready = [(-jobs[name][0], number[name], name) for name in jobs if not waits[name]]
    heapq.heapify(ready)
    now, running = 0.0, []
    while ready or running:
        while ready and len(running) < gpus:
            longest, i, name = heapq.heappop(ready)
            heapq.heappush(running, (now - longest, i, name))
        now, _, ended = heapq.heappop(running)
        for name in follow.get(ended, ()):
            waits[name].remove(ended)
            if not waits[name]:
                heapq.heappush(ready, (-jobs[name][0], number[name], name))
    return now


def wall_clock(found: Mapping[Key, Training], gpus: int, card: str = "A100") -> float:
    """Hours that trainings take with bf16 on some GPUs, one training a GPU at a time."""
    jobs = {
        (data, paper, name): (
            gpu_hours.hours(each.work, "bf16", card),
            [(data, paper, before) for before in each.after],
        )
        for (data, paper, name), each in found.items()
    }
    return schedule(jobs, gpus)


# --- In words ------------------------------------------------------------------------------------

HEAD = "what it costs, every training once: GPU hours and days of A100s, right within a factor of 3"


def table(made: Mapping[str, Made]) -> list[str]:
    """Lines: an exhibit each, and the total, on H100s too."""
    lines = [
        f"{'':28}{'GPU hours in':>27}{'with bf16, on so many GPUs':>36}",
        f"{'':17}{'trainings':>11}"
        + "".join(f"{each:>10}" for each in PRECISIONS)
        + "".join(f"{gpus:>12}" for gpus in GPUS),
    ]
    everything = {key: each for one in made.values() for key, each in one.new.items()}
    rows = [(name, one.new, "A100") for name, one in made.items()]
    for name, found, card in [
        *rows,
        ("total", everything, "A100"),
        ("on H100s", everything, "H100"),
    ]:
        spent = "".join(f"{hours(found, each, card):10,.1f}" for each in PRECISIONS)
        taken = "".join(f"{_span(wall_clock(found, gpus, card)):>12}" for gpus in GPUS)
        lines.append(f"{name:17}{len(found):11,}" + (spent + taken if found else f"{'–':>10}"))
    return lines


def _span(hours: float) -> str:
    """Hours for reading.

    >>> _span(0.3), _span(47.4), _span(480)
    ('0.3 h', '47.4 h', '20.0 days')
    """
    return f"{hours:.1f} h" if hours < 48 else f"{hours / 24:.1f} days"
