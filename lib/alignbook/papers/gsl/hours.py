"""The trainings of GSL's exhibits and what each computes, and seconds on two cores."""

from collections.abc import Sequence

from alignbook.core.protocol import TUNING_SEED
from alignbook.evidence.entries import measurements
from alignbook.papers.gsl.catalogue import EXHIBITS, METHODS, method_and_rate
from alignbook.show.gpu_hours import LONGER, WORDS, Training, Work, of_arm

ALLOWED = 1300  # core-seconds of training in a laptop run
# Seconds of smoke runs besides training: of an arm, and of the chapter before its first arm.
BESIDES = {"arm": 0.1, "start": 0}
# Seconds of measuring a model once: in smoke, in the world, on photographs.
MODEL = (2, 4.8, 10)
RATE = "0.4"  # of trials, and of exhibits that name none
# What a method's networks are trained with at first; for all others mean violations.
WARM_UPS = {"gsl": "hardest", "bicro": "smallest", "gsc": "contrast", "clean": "clean pairs"}
# Arms with GSL's or BiCro's own warm-up, which in the paper profile all of theirs have.
OWN_WARM_UP = {"warm-up-hardest": "gsl", "bicro-own": "bicro"}


def measured(exhibit: str, arms: Sequence[str], profile) -> int:
    """How often Table 2's methods are measured."""
    return measurements(profile.name) * len(arms)


def trainings(exhibit: str, arms: Sequence[str], profile, captions: int) -> list[Training]:
    """The trainings of an exhibit's arms, and the warm-ups that they begin with and share.

    Two networks train over a whole split of so many `captions`, an epoch at a time.
    """
    found: dict[str, Training] = {}
    for arm in arms:
        own, (method, settings, rate) = EXHIBITS[exhibit].arm(arm), told(exhibit, arm, profile)
        epoch, warm_up = work(profile, captions, 8), work(profile, captions, 6)
        trials = 1 if method == "warmed" or own.untuned(profile.name) else profile.gsl_trials
        tried = settings if exhibit == "gsl-T1" else method
        loss, longer = warm_up_of(method, arm, profile), 4 if arm.endswith(LONGER) else 1
        for training in of_arm(
            f"{settings} at {rate}{LONGER * (longer > 1)}",
            1 if own.single(profile.name) else profile.seeds,
            epoch.times(1 if method == "warmed" else profile.gsl_epochs),
            [f"{tried} {i} at {RATE}" for i in range(trials)],
            profile.tuning_seeds,
            longer=longer,
            kind="trainings of two networks",
        ):
            seed = int(training.name.rpartition(" ")[2])
            reported = seed < TUNING_SEED
            start = f"warm-up, {loss} at {rate if reported else RATE}"
            start += f"{LONGER * (reported and longer > 1)}, seed {seed}"
            first = warm_up.times(profile.gsl_warm_up_epochs * (longer if reported else 1))
            found[start] = Training(start, first, (), "warm-ups of two networks")
            found[training.name] = training._replace(after=(*training.after, start))
    return list(found.values())


def told(exhibit: str, arm: str, profile) -> tuple[str, str, str]:
    """An arm's method, its settings by a name, and the rate of noise."""
    if exhibit == "gsl-F1":
        method, rate = method_and_rate(arm)
        return method, method, rate
    if exhibit == "gsl-T1":  # δ, of which 0.5 is GSL's
        return "gsl", "gsl" if arm == "0.5" else f"gsl, δ = {arm}", RATE
    rate = "0.2" if exhibit == "gsl-T2" else RATE
    method = arm if arm in METHODS else OWN_WARM_UP.get(arm, "gsl")
    # The other labels of Figure 2 are of GSL's own networks.
    same = arm == method or exhibit == "gsl-F2"
    same |= arm in OWN_WARM_UP and profile.gsl_warm_up == "own"
    return method, method if same else f"{method}, {arm}", rate


def warm_up_of(method: str, arm: str, profile) -> str:
    """What the networks of an arm warm up with."""
    if method in OWN_WARM_UP.values() and arm not in OWN_WARM_UP and profile.gsl_warm_up != "own":
        return profile.gsl_warm_up
    return WARM_UPS.get(method, "mean")


def work(profile, captions: int, passes: int) -> Work:
    """What an epoch computes: 6 passes are one forward and backward, 2 that which divides.

    A word of a caption attends to all regions of an image, gives an alignment, and takes part in
    three steps of reasoning, among 25 words; a caption is compared with all images of its batch.
    """
    b, k = profile.gsl_batch, profile.gsl_regions
    d, s = profile.gsl_dim, profile.gsl_sim_dim
    layers, attention = 2 * d * s + 3 * 2 * s**2, 4 * k * d + 3 * 4 * WORDS * s
    steps, words = profile.gsl_epoch_steps or max(1, captions // b), 2 * b * b * WORDS
    return Work(steps, passes * words * layers, passes * words * attention)


def steps(config) -> int:
    """The steps of a run, its warm-up's, which runs may share, included.

    An epoch that is a pass over the pairs counts as one: settings do not say how many there are.
    """
    epoch = config.epoch_steps or 1
    return config.warm_up_epochs * epoch + (config.epochs * epoch if config.after else 1)
