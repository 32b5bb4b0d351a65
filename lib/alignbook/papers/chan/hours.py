"""GPU hours of CHAN's exhibits, and seconds on two cores."""

from collections.abc import Sequence

from alignbook.core.names import BASE_MODEL
from alignbook.papers.chan.catalogue import EXHIBITS
from alignbook.show import gpu_hours
from alignbook.show.gpu_hours import BERT_BASE, SPEED, WORDS

ALLOWED = 1600  # core-seconds of training in a laptop run
# Seconds of smoke runs besides training: of an arm, of the chapter before its first arm, and of
# measuring the time and memory of a model.
BESIDES = {"arm": 0.6, "start": 0, "model": 1.5}
BERT_BATCH = 128  # captions a step
FEATURE = 2048  # numbers of a region as it is published


def hours(exhibit: str, arms: Sequence[str], profile, captions: int) -> tuple[float, str]:
    """GPU hours of an exhibit with some arms, and what they are reckoned from.

    Operations of a step, forward and twice that backward: similarities of all pairs of a batch,
    and the two encoders. `captions` of the training split do not matter.
    """
    if exhibit == "chan-F3":
        return 0.0, "nothing is trained: the models are those of the tables"
    tuned = profile.chan_trials if profile.chan_trials > 1 else 0
    spent, lines = 0.0, []
    for text in ("BiGRU", "BERT"):
        own = [
            EXHIBITS[exhibit].arm(arm)
            for arm in arms
            if arm != BASE_MODEL and arm.endswith("-bert") == (text == "BERT")
        ]
        single = sum(arm.seeds == "first" for arm in own)
        trainings = (len(own) - single) * (tuned + profile.seeds) + single
        b, d = profile.chan_batch, profile.chan_dim
        weights = 2 * 3 * d * (300 + d)
        if text == "BERT":
            b, weights = min(b, BERT_BATCH), BERT_BASE
        pairs = b * b * profile.chan_regions * WORDS * d
        images = b * profile.chan_regions * d * (FEATURE + 4 * d)
        step = 6 * (pairs + images + b * WORDS * weights)
        steps = profile.chan_steps * profile.chan_batch // b
        spent += gpu_hours.of(trainings, steps, step)
        if own:
            lines.append(gpu_hours.said(f"{trainings} trainings with {text}", steps, step))
    return spent, (
        f"{'; '.join(lines)}; at {SPEED / 1e12:.0f} TFLOP/s, an estimate, right within "
        "a factor of 3"
    )


def steps(config) -> int:
    """The optimiser steps of a run."""
    return config.steps


def place(exhibit: str, arm: str) -> str:
    """What the runs of an arm start from, as far as their settings do not say it."""
    return EXHIBITS[exhibit].domain
