"""GPU hours of CoV-Align's exhibits, how many trainings each is, and seconds on two cores."""

from collections.abc import Sequence

from alignbook.papers.covalign.catalogue import EXHIBITS
from alignbook.show import gpu_hours
from alignbook.show.gpu_hours import BERT_BASE, WORDS

ALLOWED = 850  # core-seconds of training in a laptop run
# Seconds of smoke runs besides training: of an arm, of the chapter before its first arm, and of
# measuring the time and memory of a model.
BESIDES = {"arm": 0.15, "start": 0, "model": 0.8}
VIT, VIT_SIDE = 3.5e10, 224  # operations of a ViT-Base on a picture of 224 pixels a side
# Arms with trials of their own, and arms whose runs are the ladder's "regions".
TUNED = {
    "covalign-ladder": {"global", "patches", "queries", "regions"},
    "covalign-T5": {"sgd"},
    "covalign-T6": {"separate", "separate-half", "separate-same"},
}
SHARED = {"concentration-5", "regions-8", "shared"}


def hours(exhibit: str, arms: Sequence[str], profile, captions: int) -> tuple[float, str]:
    """GPU hours of an exhibit with some arms: mostly those of its towers, where these are trained.

    Operations of a step, forward and twice that backward: a ViT-Base and a BERT-Base on 25 words,
    and the similarities of all pairs of a batch. `captions` of the training split do not matter.
    """
    if exhibit == "covalign-F5":
        return 0.0, "nothing is trained: the runs are Table 6's"
    count, b = trainings(exhibit, arms, profile), profile.covalign_batch
    towers = b * (VIT + 2 * WORDS * BERT_BASE) if profile.covalign_tokens == "end-to-end" else 0
    step = 3 * (towers + 2 * b * b * 8 * WORDS * profile.covalign_dim)
    side = profile.size
    small = f"; pictures of {side} pixels are enlarged to {VIT_SIDE}: better --set size={VIT_SIDE}"
    said = gpu_hours.said(f"{count} trainings", profile.covalign_steps, step)
    long = sum(arm.endswith("-long") for arm in arms)  # four times the steps
    spent = gpu_hours.of(count + 3 * long, profile.covalign_steps, step)
    return spent, f"{said}, an estimate{small if side < VIT_SIDE else ''}"


def trainings(exhibit: str, arms: Sequence[str], profile) -> int:
    """Trials and runs of an exhibit with some arms, those that it shares with the ladder left out."""
    known = EXHIBITS[exhibit]
    alone = [arm for arm in arms if known.arm(arm).single(profile.name)]
    tuned = profile.covalign_trials * profile.tuning_seeds if profile.covalign_trials > 1 else 0
    seeded = len({*arms} - {*alone} - SHARED)
    if profile.covalign_tokens == "end-to-end":  # and that of the ladder is none of its own
        alone = [arm for arm in alone if arm != "end-to-end"]
    own = TUNED.get(exhibit, set()) & {*arms}
    return len(alone) + seeded * profile.seeds + len(own) * tuned


def steps(config) -> int:
    """The optimiser steps of a run."""
    return config.steps


def place(exhibit: str, arm: str) -> str:
    """What the runs of an arm start from, as far as their settings do not say it."""
    return ""
