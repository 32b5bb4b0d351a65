"""The arms of GSL's exhibits: what dev decides between, and what each run is then given.

Only settings stand here; nothing computes. All methods share the networks, the schedule and the
noise of a data set and rate. Settings are chosen at noise 0.4, where the paper has its ablation.
"""

from dataclasses import fields, replace
from pathlib import Path

from alignbook import gsl, noisy
from alignbook.datasets import noise_index
from alignbook.exhibits import EXHIBITS, GSL_METHODS, GSL_NOISE

CHOSEN_AT = 0.4
AFTER = (1.0, 0.3, 3.0)  # what trials vary: the learning rate after warm-up, as a multiple
NAMES = {"triplet": "hardest"}  # of methods, where an arm is called otherwise
# What is ours or open in METHODS §4, changed one at a time.
SWITCHES = {
    "gsl": {}, "no-eq7": dict(eq7=False), "two-anchor-ratio": dict(two_anchor_ratio=True),
    "clamp-shift": dict(clamp="shift"), "anchors-of-batch": dict(anchors="batch"),
    "clean-labels-1": dict(refine_clean=False), "inter-minus": dict(sign=-1),
    "sums": dict(reduction="sum"), "notes": dict(sign=-1, reduction="sum"),
    "no-regularisers": dict(zeta=0.0, eta=0.0), "own-split": dict(split="own"),
    "warm-up-hardest": dict(warm_up=""), "bicro-own": dict(warm_up=""),
}  # fmt: skip
# Of Figure 2, what no switch of training says: division by the truth, and labels without anchors.
LABELS = {"true-division": dict(division="true"), "score": dict(labels="score")}


def arms(exhibit: str, profile) -> dict[str, tuple[list, dict]]:
    """Arms of an exhibit: the candidates between which dev decides, and what is changed after that.

    KeyError for an exhibit of another chapter.
    """
    makers = {"gsl-F1": by_noise, "gsl-T1": thresholds, "gsl-T2": at_fifth, "gsl-T3": identified,
              "gsl-F2": labelled, "gsl-switches": switches}  # fmt: skip
    if exhibit not in makers:
        raise KeyError(f"GSL has no arms for {exhibit!r}")
    return makers[exhibit](profile)


def trials(method: str, profile) -> list[noisy.Config]:
    """The profile's networks and schedule with the learning rates after warm-up that dev chooses
    from.

    GSL and BiCro warm up as NCR does, by mean violations. By their own, the hardest negatives of
    line 1 and the smallest third of losses, networks of this size learn next to nothing in the
    steps there are: the arms "warm-up-hardest" and "bicro-own".
    """
    sizes = {f.name: getattr(profile, f"gsl_{f.name}") for f in fields(noisy.Config)
             if hasattr(profile, f"gsl_{f.name}")}  # fmt: skip
    known = sizes | dict(noise=CHOSEN_AT, warm_up="mean" if method in ("gsl", "bicro") else "")
    if method == "gsl":
        plain = gsl.Config(**known)
    else:
        plain = noisy.Config(**known, method=NAMES.get(method, method))
    return [replace(plain, after=factor * plain.after) for factor in AFTER[: profile.gsl_trials]]


def by_noise(profile) -> dict:
    """Every method at every rate."""
    return {name: (trials(name.partition("-")[0], profile),
                   {"noise": float(name.partition("-")[2])}) for name in GSL_NOISE}  # fmt: skip


def thresholds(profile) -> dict:
    """Table 1: δ, at noise 0.4."""
    return {delta: (trials("gsl", profile), {"delta": float(delta)})
            for delta in ("0.4", "0.5", "0.6")}  # fmt: skip


def at_fifth(profile) -> dict:
    """Table 2: at noise 0.2; the same runs as in the figure of all rates."""
    return {method: (trials(method, profile), {"noise": 0.2}) for method in GSL_METHODS[:4]}


def identified(profile) -> dict:
    """Table 3: at noise 0.4."""
    return {method: (trials(method, profile), {}) for method in GSL_METHODS[:4]}


def labelled(profile) -> dict:
    """Figure 2: Table 3's runs, and other ways to label with GSL's networks."""
    return {name: (trials(name if name in GSL_METHODS else "gsl", profile), {})
            for name in EXHIBITS["gsl-F2"].arms}  # fmt: skip


def switches(profile) -> dict:
    """GSL with one of its open points decided otherwise, at noise 0.4; BiCro with its warm-up."""
    return {name: (trials("bicro" if name == "bicro-own" else "gsl", profile), change)
            for name, change in SWITCHES.items()}  # fmt: skip


# --- What the runs start from --------------------------------------------------------------------


def inputs(book, exhibit: str, arm: str) -> list:
    """Data set, features, base model, its data set, and the noise index where a file names it."""
    rate = arm.rpartition("-")[2] if exhibit == "gsl-F1" else "0.2" if exhibit == "gsl-T2" else "0.4"
    found = book.inputs(EXHIBITS[exhibit].domain)[:4]
    return [*found, noise_of(book, found[0], float(rate))]


def noise_of(book, dataset, rate: float):
    """The index in the profile's folder of such files, or None: then it is drawn.

    Files are named as the rivals publish them, <data set>_<rate>.npy. ValueError if one is missing.
    """
    if book.profile.gsl_noise_index == "drawn" or not rate:
        return None
    file = Path(book.profile.gsl_noise_index).expanduser() / f"{book.kind}_{rate:g}.npy"
    images = len(dataset.splits["train"])
    index = noise_index.read(file, images, dataset.captions_per_image)
    some = book.profile.gsl_images or images
    if some < images:
        raise ValueError(f"{file} is for all {images} training images; the profile takes the "
                         f"first {some}: say --set gsl_images=0 too")
    return noisy.GivenNoise(index)


def measured(book, exhibit: str, arm: str, run, inputs: list):
    """The run whose numbers an exhibit shows, where these are not the trained run's own."""
    from alignbook import gsl_inspection, runs

    if arm in GSL_METHODS:
        return run
    config = gsl_inspection.Config(**LABELS.get(arm) or SWITCHES.get(arm, {}))
    return runs.get(config, 0, run, *inputs, device=book.device)
