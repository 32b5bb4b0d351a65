"""The trainings of ComAlign's exhibits and what each computes, and seconds on two cores."""

from collections.abc import Sequence

from alignbook.core.names import row_and_target
from alignbook.papers.comalign.catalogue import ALL_PICTURES, BASES, EXHIBITS, LONG
from alignbook.show.gpu_hours import LONGER, Training, Work, of_arm

ALLOWED = 1000  # core-seconds of training in a laptop run
# Seconds of smoke runs besides training: of an arm, and of the chapter before its first arm.
BESIDES = {"arm": 0.4, "start": 30}
CROPS = 2000  # pictures of 224 pixels a second that a GPU passes through ViT-B/32; an estimate
PAIRS, SLOTS, WIDTH = (
    100_000,
    21,
    512,
)  # pictures and captions; slots of each side; numbers of a slot
ABLATIONS = ("comalign-TIII", "comalign-TIV", "comalign-TV", "comalign-TVI")
# Arms of the ablations that have the same settings.
SAME = {"transformer-2": "all", "layers-2": "all", "layers-1": "transformer"}
LOOKED = "components"


def trainings(exhibit: str, arms: Sequence[str], profile, captions: int) -> list[Training]:
    """Crops through the base model, once, and the heads of an exhibit's arms on what it keeps.

    `captions` of the training split do not matter.
    """
    found: list[Training] = []
    for arm in arms:
        own, (row, _) = EXHIBITS[exhibit].arm(arm), row_and_target(arm)
        if not own.trained:
            continue
        name = tried = row.removesuffix(LONGER)
        if arm in LONG:
            name = row
        elif exhibit in ABLATIONS:  # they share their trials
            name, tried = SAME.get(row, row), "image side"
            name += " in and out" if exhibit == "comalign-TIV" and name != "all" else ""
        elif row == "comalign":  # of the figures
            name = tried = "clip+comalign"
        untuned = own.untuned(profile.name) or own.seeds == "first" and arm not in LONG
        found += of_arm(
            name,
            1 if own.single(profile.name) else profile.seeds,
            work(profile),
            [] if untuned else [f"{tried} {i}" for i in range(profile.comalign_trials)],
            profile.tuning_seeds,
            longer=4 if arm in LONG else 1,
        )
    looked = Training(LOOKED, Work(0, 0, 0, 2 * PAIRS * SLOTS / CROPS), (), "passes of crops")
    return [looked] * bool(found) + [each._replace(after=(*each.after, LOOKED)) for each in found]


def work(profile) -> Work:
    """What heads compute: 21 slots on both sides through two layers of width 512, and all compared."""
    b = profile.comalign_batch
    layers = 2 * b * SLOTS * 2 * 6 * WIDTH**2
    return Work(profile.comalign_steps, 6 * layers, 6 * 2 * (b * 10) ** 2 * WIDTH)


def steps(config) -> int:
    """The optimiser steps of a run, none where nothing is trained."""
    return 0 if config.network == "none" else config.steps


def place(exhibit: str, arm: str) -> tuple[str, ...]:
    """What the runs of an arm start from: base model, target, and whether boxes are gold."""
    row, _, target = arm.partition(" → ")
    base = row.partition("+")[0] if row.partition("+")[0] in {*BASES, ALL_PICTURES} else "clip"
    target = target or ("f30k" if exhibit == "comalign-TII" else "coco")
    return base, target, "gold" if row == "clip+comalign-gold" else ""
