"""GPU hours of ComAlign's exhibits, and seconds on two cores."""

from collections.abc import Sequence

from alignbook.papers.comalign.catalogue import BASES, EXHIBITS, LONG
from alignbook.show import gpu_hours

ALLOWED = 1000  # core-seconds of training in a laptop run
# Seconds of smoke runs besides training: of an arm, and of the chapter before its first arm.
BESIDES = {"arm": 1.0, "start": 35}
CROPS = 2000  # pictures of 224 pixels a second that a GPU passes through ViT-B/32; an estimate
PAIRS, SLOTS, WIDTH = (
    100_000,
    21,
    512,
)  # pictures and captions; slots of each side; numbers of a slot
MEASURED = ("comalign-TII", "comalign-F4", "comalign-F5", "comalign-F6")  # with Table I's heads


def hours(exhibit: str, arms: Sequence[str], profile, captions: int) -> tuple[float, str]:
    """GPU hours of an exhibit with some arms: crops through the base models, then heads on the cache.

    A step passes 21 slots on both sides through two layers of width 512 and compares all of them.
    `captions` of the training split do not matter.
    """
    if exhibit in MEASURED:
        return 0.0, "nothing is trained: the heads are Table I's"
    trained = [arm for arm in map(EXHIBITS[exhibit].arm, arms) if arm.trained]
    looked = 2 * PAIRS * SLOTS / CROPS / 3600 if exhibit == "comalign-TI" else 0.0
    single = sum(arm.seeds == "first" for arm in trained)
    each = profile.comalign_trials * profile.tuning_seeds + profile.seeds
    trainings = single + (len(trained) - single) * each
    trainings += 3 * (LONG in arms)  # four times the steps
    b = profile.comalign_batch
    step = 6 * (2 * b * SLOTS * 2 * 6 * WIDTH**2 + 2 * (b * 10) ** 2 * WIDTH)
    crops = f"{looked:.1f} hours of crops through a base model; " if looked else ""
    said = gpu_hours.said(f"{trainings} trainings", profile.comalign_steps, step)
    spent = gpu_hours.of(trainings, profile.comalign_steps, step)
    return looked + spent, f"{crops}{said}, an estimate"


def steps(config) -> int:
    """The optimiser steps of a run, none where nothing is trained."""
    return 0 if config.network == "none" else config.steps


def place(exhibit: str, arm: str) -> tuple[str, ...]:
    """What the runs of an arm start from: base model, target, and whether boxes are gold."""
    row, _, target = arm.partition(" → ")
    base = row.partition("+")[0] if row.partition("+")[0] in BASES else "clip"
    target = target or ("f30k" if exhibit == "comalign-TII" else "coco")
    return base, target, "gold" if row == "clip+comalign-gold" else ""
