"""GPU hours of GSL's exhibits, and seconds on two cores."""

from collections.abc import Sequence

from alignbook.papers.gsl.catalogue import EXHIBITS, LONGER
from alignbook.show.gpu_hours import SPEED, WORDS

ALLOWED = 1300  # core-seconds of training in a laptop run
# Seconds of smoke runs besides training: of an arm, of the chapter before its first arm, and of
# measuring the time and memory of a model.
BESIDES = {"arm": 0.6, "start": 0, "model": 9}
METHODS = {"gsl-F1": 7, "gsl-T1": 2, "gsl-T3": 4}  # with trials: one rate's serve for all


def hours(exhibit: str, arms: Sequence[str], profile, captions: int) -> tuple[float, str]:
    """GPU hours of an exhibit with some arms: two networks of SGR over a whole training split of so
    many `captions`, an epoch at a time, and the pass over it that divides.

    A word of a caption attends to all regions of an image, gives an alignment, and takes part in
    three steps of reasoning, among 25 words; a caption is compared with all images of its batch.
    """
    if exhibit in ("gsl-T2", "gsl-F2"):
        return 0.0, "nothing is trained: the runs are those of gsl-F1 and gsl-T3"
    tuned = profile.gsl_trials if profile.gsl_trials > 1 else 0
    long = len({*arms} & {*LONGER})  # four times the steps, with one seed
    trainings = (len(arms) - long) * profile.seeds + 4 * long + METHODS.get(exhibit, 0) * tuned
    k, d, s = profile.gsl_regions, profile.gsl_dim, profile.gsl_sim_dim
    word = 4 * k * d + 2 * d * s + 3 * (2 * s**2 + 4 * WORDS * s)
    epochs = profile.gsl_warm_up_epochs + profile.gsl_epochs
    passed = 6 * epochs + 2 * profile.gsl_epochs  # forward and backward, and forward to divide
    operations = trainings * 2 * captions * profile.gsl_batch * WORDS * word * passed
    return operations / SPEED / 3600, (
        f"{trainings} trainings of two networks × {epochs} epochs over {captions:,} pairs, "
        f"{word:.1e} operations a word and image, an estimate"
    )


def steps(config) -> int:
    """The steps of a run, its warm-up's, which runs may share, included."""
    later = config.epochs * config.epoch_steps if config.after else 1
    return config.warm_up_epochs * config.epoch_steps + later


def place(exhibit: str, arm: str) -> str:
    """What the runs of an arm start from, as far as their settings do not say it."""
    return EXHIBITS[exhibit].domain
