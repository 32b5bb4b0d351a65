"""The trainings of CoV-Align's exhibits and what each computes, and seconds on two cores."""

from collections.abc import Sequence

from alignbook.evidence.entries import measurements
from alignbook.papers.covalign.catalogue import EXHIBITS, MEASURED
from alignbook.show.gpu_hours import BERT_BASE, LONGER, WORDS, Training, Work, of_arm

ALLOWED = 850  # core-seconds of training in a laptop run
# Seconds of smoke runs besides training: of an arm, and of the chapter before its first arm.
BESIDES = {"arm": 0.15, "start": 0}
# Seconds of measuring a model once: in smoke, in the world, on photographs.
MODEL = (0.35, 1.4, 8.5)
VIT, VIT_SIDE = 3.5e10, 224  # operations of a ViT-Base on a picture of 224 pixels a side
WHOLE = "regions"  # the ladder's whole method, whose trials serve for all arms but these
OWN = ("global", "patches", "queries", "separate", "separate-half", "separate-same", "end-to-end")
SAME = dict.fromkeys(("concentration-5", "regions-8", "shared"), WHOLE)


def measured(exhibit: str, arms: Sequence[str], profile) -> int:
    """How often the ladder's models are measured."""
    return measurements(profile.name) * sum(arm in MEASURED for arm in arms)


def trainings(exhibit: str, arms: Sequence[str], profile, captions: int) -> list[Training]:
    """The trainings of an exhibit's arms; `captions` of the training split do not matter."""
    found = []
    for arm in arms:
        own, name = EXHIBITS[exhibit].arm(arm), SAME.get(arm, arm)
        of = name.removesuffix(LONGER)
        tried = of if of in OWN else "sgd" if of.startswith("sgd") else WHOLE
        untuned = own.untuned(profile.name) or arm == "end-to-end"
        found += of_arm(
            name,
            1 if own.single(profile.name) else profile.seeds,
            work(profile),
            [] if untuned else [f"{tried} {i}" for i in range(profile.covalign_trials)],
            profile.tuning_seeds,
            longer=4 if name.endswith(LONGER) else 1,
        )
    return found


def work(profile) -> Work:
    """What a training computes, forward and twice that backward: mostly a ViT-Base and a BERT-Base
    on 25 words, where these are trained, and the similarities of all pairs of a batch.
    """
    b = profile.covalign_batch
    towers = b * (VIT + 2 * WORDS * BERT_BASE) if profile.covalign_tokens == "end-to-end" else 0
    return Work(
        profile.covalign_steps, 3 * towers, 3 * 2 * b * b * 8 * WORDS * profile.covalign_dim
    )


def remark(profile) -> str:
    """What to say of a profile's cost, "" if nothing."""
    side = profile.size
    small = f"pictures of {side} pixels are enlarged to {VIT_SIDE}: better --set size={VIT_SIDE}"
    return small if side < VIT_SIDE else ""
