"""GPU hours reckoned from operations: what every paper's `hours` has in common.

An estimate, right within a factor of 3. `python -m benchmarks.steps` takes the time of such steps on a
GPU; looks at dev and the recalls on test are in neither.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import product
from typing import NamedTuple

from alignbook.core.protocol import TUNING_SEED

# Operations a second at most, dense, as NVIDIA's data sheets have them (the SXM's for the H100).
PEAK = {
    "A100": {"float32": 19.5e12, "TF32": 156e12, "bf16": 312e12},
    "H100": {"float32": 67e12, "TF32": 495e12, "bf16": 989e12},
}
PRECISIONS = tuple(PEAK["A100"])
SPEED = 1e13  # operations a second that an A100 reaches on these shapes in float32 [A]
REACHED = 0.3  # share of its peak that a matrix product of reduced precision reaches here [A]
# Seconds a step in which a GPU waits for one core: it reads a batch, sends it, and begins kernels.
# Fitted [A]: steps of CHAN and CoV-Align took 19 to 72 ms longer on an H100 than products do, but
# CHAN's in float32, which was read first, 270.
WAITS = 0.065
WORDS = 25  # of a caption, the longest of a batch
BERT_BASE = 85e6  # weights of a BERT-Base that every word passes
LONGER = "-long"  # ends the name of an arm with four times the steps, as `evidence.learnt` has it


class Work(NamedTuple):
    """What a training computes.

    Parameters
    ----------
    steps : of the optimiser; each waits besides (`WAITS`).
    products : operations a step in layers' matrix products, which TF32 and bf16 make faster.
    others : operations a step that stay in float32: the similarities of pairs, and attention in
        them, which are small products that wait for memory.
    seconds : besides, in any precision.
    """

    steps: int
    products: float
    others: float = 0.0
    seconds: float = 0.0

    def times(self, factor: int) -> "Work":
        """The same with so many times the steps."""
        return self._replace(steps=factor * self.steps)


class Training(NamedTuple):
    """One training; or a part of it that several begin with, which is a run of its own.

    Parameters
    ----------
    name : what tells it from others of its paper and data: a run of the store has one name.
    work : what it computes.
    after : names of those that have to end before it begins.
    kind : in the plural, for `said`.
    """

    name: str
    work: Work
    after: tuple[str, ...] = ()
    kind: str = "trainings"


def of_arm(
    report: str,
    seeds: int,
    work: Work,
    tried: Sequence[str] = (),
    tuning_seeds: int = 1,
    *,
    longer: int = 1,
    kind: str = "trainings",
) -> list[Training]:
    """The trainings of an arm: its trials, then its reporting seeds.

    Parameters
    ----------
    report, tried : names of the settings that are reported, and of the candidates; one candidate is
        not tried.
    longer : times the work's steps that the reporting seeds take.

    Examples
    --------
    >>> found = of_arm("hard", 2, Work(10, 1e12), ["α=1", "α=2"])
    >>> [each.name for each in found]
    ['α=1, seed 1000', 'α=2, seed 1000', 'hard, seed 0', 'hard, seed 1']
    >>> found[0].after, found[2].after
    ((), ('α=1, seed 1000', 'α=2, seed 1000'))
    """
    tried = tried if len(tried) > 1 else ()
    trials = [f"{each}, seed {TUNING_SEED + i}" for each, i in product(tried, range(tuning_seeds))]
    reported = [f"{report}, seed {i}" for i in range(seeds)]
    return [Training(name, work, (), kind) for name in trials] + [
        Training(name, work.times(longer), tuple(trials), kind) for name in reported
    ]


def rate(precision: str, card: str = "A100") -> float:
    """Operations a second of matrix products, an estimate.

    >>> [f"{rate(each):.1e}" for each in PRECISIONS], f"{rate('bf16', 'H100'):.1e}"
    (['1.0e+13', '4.7e+13', '9.4e+13'], '3.0e+14')
    """
    plain = SPEED / PEAK["A100"]["float32"]  # half of the peak
    return PEAK[card][precision] * (plain if precision == "float32" else REACHED)


def hours(work: Work, precision: str = "float32", card: str = "A100") -> float:
    """GPU hours of some work.

    >>> hours(Work(36_000, 1e12)), hours(Work(36_000, 0, 1e12), "bf16")
    (1.65, 1.65)
    >>> round(hours(Work(36_000, 1e12), "bf16"), 3)
    0.757
    """
    each = WAITS + work.products / rate(precision, card) + work.others / rate("float32", card)
    return (work.steps * each + work.seconds) / 3600


def said(trainings: Iterable[Training]) -> str:
    """What hours are reckoned from, in words.

    >>> said(of_arm("hard", 36, Work(1000, 9e11, 1e11)))
    '36 trainings × 1,000 steps × 0.17 s, 1.0e+12 operations'
    """
    words = []
    for (kind, work), count in Counter((each.kind, each.work) for each in trainings).items():
        if not work.steps:
            words.append(f"{count} {kind} of {work.seconds / 3600:.1f} hours")
            continue
        operations = work.products + work.others
        words.append(
            f"{count} {kind} × {work.steps:,} steps × {operations / SPEED + WAITS:.2f} s, "
            f"{operations:.1e} operations"
        )
    return "; ".join(words)
