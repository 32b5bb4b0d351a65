"""An arm's trainings one by one: the trials between which dev decides, and the reporting seeds.

On a cluster each is a job of its own, and arms that show the same runs share those jobs. What dev
chooses is not known beforehand: the trials stand for it.
"""

from collections import ChainMap
from dataclasses import replace
from typing import Any, NamedTuple

from alignbook.core.names import BASE_MODEL, slug
from alignbook.core.protocol import TUNING_SEED
from alignbook.store.fingerprint import key
from alignbook.workbook import chapters, exhibits
from alignbook.workbook.profiles import Profile

TRIAL, REPORT = "trial", "report"


class Training(NamedTuple):
    """One of an arm's trainings: its role, and the number of the trial or the reporting seed."""

    exhibit: str
    arm: str
    role: str
    number: int

    @property
    def place(self) -> str:
        """Its name as a path.

        >>> Training("chan-T3", "τ=1/9", "trial", 2).place
        'chan-T3/τ=1-of-9/trial-2'
        """
        return f"{self.exhibit}/{slug(self.arm)}/{self.role}-{self.number}"


def trials(exhibit: str, name: str, profile: Profile) -> list[tuple[Any, int]]:
    """Settings and seeds that an arm is tried with, a candidate after another; none where a profile
    takes the first candidate.
    """
    candidates, _ = chapters.arms_of(exhibit).arms(exhibit, profile)[name]
    if len(candidates) < 2 or exhibits.EXHIBITS[exhibit].arm(name).untuned(profile.name):
        return []
    return [(each, TUNING_SEED + i) for each in candidates for i in range(profile.tuning_seeds)]


def seeds(exhibit: str, name: str, profile: Profile) -> range:
    """The reporting seeds of an arm's first look."""
    single = exhibits.EXHIBITS[exhibit].arm(name).single(profile.name)
    return range(1 if single else profile.seeds)


def count(exhibit: str, name: str, profile: Profile) -> int:
    """How many runs an arm's job asks for, stored ones among them."""
    if name == BASE_MODEL or exhibit == "base-models":
        return 0
    return len(trials(exhibit, name, profile)) + len(seeds(exhibit, name, profile))


def of_arm(
    exhibit: str, name: str, profile: Profile, data: str, reported: range | None = None
) -> dict[str, Training]:
    """Trainings of an arm on a kind of data by what they are known by: two arms that know one by the
    same show the same run. `reported` are its reporting seeds, by default those of the first look.

    None for an arm that trains nothing; for one that brings others together, theirs. For base models
    those of further seeds: the arm's own job takes care of the first.
    """
    if exhibit == "base-models":
        further = range(1, profile.base_seeds)
        return {key("base", name, seed): Training(exhibit, name, REPORT, seed) for seed in further}
    if name == BASE_MODEL:
        return {}
    arm = exhibits.EXHIBITS[exhibit].arm(name)
    if arm.of:
        parts = (of_arm(exhibit, each, profile, data, reported) for each in arm.of)
        return dict(ChainMap(*parts))
    if not arm.trained:
        return {}
    candidates, changes = chapters.arms_of(exhibit).arms(exhibit, profile)[name]
    place = chapters.place(exhibit, name, data)
    tried = trials(exhibit, name, profile)
    found = {
        key("trial", repr(config), seed, repr(place)): Training(exhibit, name, TRIAL, number)
        for number, (config, seed) in enumerate(tried)
        if chapters.steps(exhibit, config)
    }
    shown = repr(replace(candidates[0], **changes)), repr(tried)
    if chapters.steps(exhibit, replace(candidates[0], **changes)):
        for seed in seeds(exhibit, name, profile) if reported is None else reported:
            name_of = key("report", *shown, seed, repr(place))
            found[name_of] = Training(exhibit, name, REPORT, seed)
    return found
