"""What a chapter shows: its notebooks, its exhibits, and the arms of each.

An exhibit is a table or figure of a paper (``chan-T3`` is CHAN's Table 3). An arm is one thing that
is trained and measured for it. A paper's `catalogue` lists its own. Standard library only, so that
the command line starts quickly.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

LATER = ("world", "photographs")  # of an arm that no laptop makes
PICTURES = ("world", "coco", "flickr8k", "flickr30k")  # data sets with pictures of their own


class Arm(NamedTuple):
    """One thing that is trained and measured.

    Attributes
    ----------
    name : "row → target" shows its numbers in the row's columns of that target.
    seeds : "all" reporting seeds, the "first" alone, or the "first" alone before "overnight" or "gpu".
        Overnight has one seed of most that no claim rests on.
    tuned : "always", or from "overnight" or "gpu" on: before that the first candidate is taken.
    later : the kinds of data, as in `on`, whose laptop profile leaves it out, which buys seeds for
        few questions; it is made in smoke, to show that it runs, and from overnight on.
    trained : whether anything is random; otherwise every seed shows the same run.
    on : "world", "photographs", "features" (precomputed ones, without pictures).
    job : arms of one word share a process, which takes as long to start as such an arm to train;
        "" has its own.
    of : the arms whose runs it brings together, itself trained in none.
    """

    name: str
    seeds: str = "all"
    tuned: str = "always"
    later: tuple[str, ...] = ()
    trained: bool = True
    on: tuple[str, ...] = ("world", "photographs", "features")
    job: str = ""
    of: tuple[str, ...] = ()

    def single(self, profile: str) -> bool:
        """Whether it runs with the first seed alone in a profile."""
        return self.seeds == "first" or profile in _BEFORE.get(self.seeds, ())

    def untuned(self, profile: str) -> bool:
        """Whether a profile takes its first candidate, without trials."""
        return profile in _BEFORE.get(self.tuned, ())


_BEFORE = {"overnight": ("smoke", "laptop"), "gpu": ("smoke", "laptop", "overnight")}
MEASUREMENTS = 8  # of a model: as many as the third look at a claim has


def measurements(profile: str) -> int:
    """How often time and memory are measured where claims ask about them; once in smoke, which decides
    no claim."""
    return 1 if profile == "smoke" else MEASUREMENTS


def is_short(profile: str) -> bool:
    """Whether a profile comes before overnight."""
    return profile in _BEFORE["overnight"]


def arms(*names: str, **facts) -> tuple[Arm, ...]:
    """Arms that have the same facts.

    >>> arms("hard", "soft", seeds="first")[1].seeds
    'first'
    """
    return tuple(Arm(name, **facts) for name in names)


@dataclass(frozen=True)
class Exhibit:
    """One table or figure.

    Attributes
    ----------
    notebook : the notebook that shows it.
    arms : in the order in which they are shown.
    data : the data sets it is made on where these are not all.
    needs : fields of the profile that may say "none" where photographs lack something; then the
        exhibit is not made.
    takes : likewise fields of what it reads of photographs where they name something; it is made
        without that too.
    domain : the world's domain that its arms are trained and tested on.
    folds : recalls are those of the whole test split ("5K") and of its five fifths ("1K").
    timed : time is measured too, alone on the machine, by the paper's `cost`.
    """

    notebook: str
    arms: tuple[Arm, ...]
    data: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    takes: tuple[str, ...] = ()
    domain: str = "A"
    folds: bool = False
    timed: bool = False

    def arm(self, name: str) -> Arm:
        """The arm of a name."""
        return next(arm for arm in self.arms if arm.name == name)

    def names(self, *on: str, profile: str = "") -> tuple[str, ...]:
        """Names of the arms on some kind of data, of all where none is told; in a profile, if told."""
        return tuple(
            arm.name
            for arm in self.arms
            if (not on or {*on} & {*arm.on}) and not (profile == "laptop" and {*on} & {*arm.later})
        )


@dataclass(frozen=True)
class Notebook:
    """One file of notebooks/.

    Attributes
    ----------
    needs : what has to stand before it runs, "data" or "base".
    exhibits : those it shows.
    drawn : further ones that it shows, which have no arms of their own.
    reads : exhibits of other notebooks that it takes numbers from.
    printed : whether it takes the papers' numbers.
    data : the data sets it is made on, where its exhibits do not say it and these are not all.
    last : whether it tells what the others came to, and waits for them.
    expected : its own seconds on two cores by profile, without training.
    """

    needs: tuple[str, ...] = ()
    exhibits: tuple[str, ...] = ()
    drawn: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    printed: bool = False
    data: tuple[str, ...] = ()
    last: bool = False
    expected: dict[str, int] = field(default_factory=dict)

    @property
    def shown(self) -> tuple[str, ...]:
        """All exhibits that it shows."""
        return self.exhibits + self.drawn
