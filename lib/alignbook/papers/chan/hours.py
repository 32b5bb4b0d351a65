"""The trainings of CHAN's exhibits and what each computes, and seconds on two cores."""

from collections.abc import Sequence

from alignbook.core.names import BASE_MODEL
from alignbook.evidence.entries import measurements
from alignbook.papers.chan.catalogue import EXHIBITS
from alignbook.show.gpu_hours import BERT_BASE, LONGER, WORDS, Training, Work, of_arm

ALLOWED = 2300  # core-seconds of training in a laptop run
# Seconds of smoke runs besides training: of an arm, and of the chapter before its first arm.
BESIDES = {"arm": 0.25, "start": 0}
# Seconds of measuring a model once: in smoke, in the world, on photographs.
MODEL = (0.9, 1.6, 7.4)
BERT_BATCH = 128  # captions a step
FEATURE = 2048  # numbers of a region as it is published
# Arms that have the settings of Table 3's, whose runs they are on the same data.
SAME = {
    "scan": "cross-attention",
    "soft-attended": "cross-attention",
    "soft-gram": "cross-attention",
    "soft": "cross-attention",
    "chan": "visual-codebook",
    "hard": "visual-codebook",
    "hard-bert": "chan-bert",
}
UNTRIED = ("sgr", "saf", "permuted", "chan-official", "chan-official-bert")
NINTH = "cross-attention-1/9"  # whose first candidate is cross-attention's fourth


def measured(exhibit: str, arms: Sequence[str], profile) -> int:
    """How often an exhibit's models are measured; SGR and SAF are, beside hard coding."""
    if exhibit == "chan-F4":
        return len(arms)
    return measurements(profile.name) * len({*arms, "sgr", "saf"})


def trainings(exhibit: str, arms: Sequence[str], profile, captions: int) -> list[Training]:
    """The trainings of an exhibit's arms; `captions` of the training split do not matter."""
    found = []
    for arm in arms:
        name, own = SAME.get(arm, arm), EXHIBITS[exhibit].arm(arm)
        if arm == BASE_MODEL or own.of:
            continue
        of, regions = name.removesuffix(LONGER), profile.chan_regions
        if exhibit == "chan-F4":  # hard-36
            coding, k = arm.split("-")
            of, regions = SAME[coding], int(k)
            name = of if regions == profile.chan_regions else arm
        candidates = range(1 if arm in UNTRIED or "τ" in arm else profile.chan_trials)
        tried = [f"{of} {i}" for i in candidates if not own.untuned(profile.name)]
        if arm == NINTH and len(tried) > 3:
            tried[0] = f"{SAME['scan']} 3"
        bert = arm.endswith("-bert")
        found += of_arm(
            name,
            1 if own.single(profile.name) else profile.seeds,
            work(profile, regions, bert),
            tried,
            profile.tuning_seeds,
            longer=4 if name.endswith(LONGER) else 1,
            kind=f"trainings with {'BERT' if bert else 'BiGRU'}",
        )
    return found


def work(profile, regions: int, bert: bool) -> Work:
    """What a training computes, forward and twice that backward: similarities of all pairs of a
    batch, and the two encoders. Every matcher counts as one that compares words with regions.
    """
    b, d = profile.chan_batch, profile.chan_dim
    weights = 2 * 3 * d * (300 + d)
    if bert:
        b, weights = min(b, BERT_BATCH), BERT_BASE
    pairs = b * b * regions * WORDS * d
    images = b * regions * d * (FEATURE + 4 * d)
    steps = profile.chan_steps * profile.chan_batch // b
    return Work(steps, 6 * (images + b * WORDS * weights), 6 * pairs)
