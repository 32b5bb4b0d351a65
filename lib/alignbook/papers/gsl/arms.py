"""The arms of GSL's exhibits: what dev decides between, and what each run is then given.

Only settings stand here; nothing computes. All methods share the networks, the schedule and the
noise of a data set and rate. Settings are chosen at noise 0.4, where the paper has its ablation.
"""

from dataclasses import fields, replace
from pathlib import Path

from alignbook.datasets import noise_index
from alignbook.papers.gsl import coteaching, model, noisy_pairs, rivals
from alignbook.papers.gsl.catalogue import (
    EXHIBITS,
    LONGER,
    METHODS,
    NOISE,
    SWITCHES,
    method_and_rate,
    other_rate,
)

CHOSEN_AT = 0.4
# What trials vary: the learning rate after warm-up, as a multiple, the same for all methods. NCR goes
# on learning at rates at which GSL forgets.
AFTER = (1.0, 0.3, 10.0, 3.0, 0.1)
NAMES = {"triplet": "hardest", "warmed": "mean"}  # of methods, where an arm is called otherwise
# Of Figure 2, what no switch of training says: division by the truth, and labels without anchors.
LABELS = {"true-division": dict(division="true"), "score": dict(labels="score")}


def arms(exhibit: str, profile) -> dict[str, tuple[list, dict]]:
    """Arms of an exhibit: the candidates between which dev decides, and what is changed after that.

    KeyError for an exhibit of another chapter.
    """
    makers = {
        "gsl-F1": by_noise,
        "gsl-T1": thresholds,
        "gsl-T2": at_fifth,
        "gsl-T3": identified,
        "gsl-F2": labelled,
        "gsl-switches": switches,
    }
    return makers[exhibit](profile)


def trials(method: str, profile) -> list[coteaching.Config]:
    """The profile's networks and schedule with the learning rates after warm-up that dev chooses
    from.

    Before the paper profile GSL and BiCro warm up as NCR does, by mean violations. By their own,
    the hardest negatives of line 1 and the smallest third of losses, small networks learn next to
    nothing in few steps: the arms "warm-up-hardest" and "bicro-own". "warmed" is what NCR's warm-up
    leaves: nothing is learnt after it.
    """
    sizes = {
        f.name: getattr(profile, f"gsl_{f.name}")
        for f in fields(coteaching.Config)
        if hasattr(profile, f"gsl_{f.name}")
    }
    own = profile.gsl_warm_up == "own" or method not in ("gsl", "bicro")
    known = sizes | dict(noise=CHOSEN_AT, warm_up="" if own else profile.gsl_warm_up)
    if method == "warmed":
        known |= dict(after=0.0, epochs=1)
    if method == "gsl":
        plain = model.Config(**known)
    else:
        plain = rivals.Config(**known, method=NAMES.get(method, method))
    tried = AFTER[: 1 if method == "warmed" else profile.gsl_trials]
    return [replace(plain, after=factor * plain.after) for factor in tried]


def by_noise(profile) -> dict:
    """Every method at every rate; and controls of four times the steps, with what dev chose without."""
    found = {}
    for name in (*NOISE, *LONGER):
        method, rate = method_and_rate(name)
        found[name] = (trials(method, profile), {"noise": float(rate)})
    longer = {name: 4 * getattr(profile, f"gsl_{name}") for name in ("warm_up_epochs", "epochs")}
    return found | {name: (found[name][0], found[name][1] | longer) for name in LONGER}


def thresholds(profile) -> dict:
    """Table 1: δ, at noise 0.4."""
    return {
        delta: ([replace(each, delta=float(delta)) for each in trials("gsl", profile)], {})
        for delta in ("0.4", "0.5", "0.6")
    }


def at_fifth(profile) -> dict:
    """Table 2: at noise 0.2; the same runs as in the figure of all rates."""
    return {method: (trials(method, profile), {"noise": 0.2}) for method in METHODS[:4]}


def identified(profile) -> dict:
    """Table 3: at noise 0.4; BiCro also with the warm-up of its own code."""
    found = {method: (trials(method, profile), {}) for method in METHODS[:4]}
    return found | {"bicro-own": (found["bicro"][0], {"warm_up": ""})}


def labelled(profile) -> dict:
    """Figure 2: Table 3's runs, and other ways to label with GSL's networks."""
    return {
        name: (trials(name if name in METHODS else "gsl", profile), {})
        for name in EXHIBITS["gsl-F2"].names()
    }


def switches(profile) -> dict:
    """GSL with an open point decided differently, at noise 0.4; its learning rate stays."""
    return {name: (trials("gsl", profile), change) for name, change in SWITCHES.items()}


# --- What the runs start from --------------------------------------------------------------------


def inputs(book, exhibit: str, arm: str) -> noisy_pairs.Inputs:
    """Data set, features, base model, its data set, and the noise index where a file names it."""
    rate = (
        method_and_rate(arm)[1] if exhibit == "gsl-F1" else "0.2" if exhibit == "gsl-T2" else "0.4"
    )
    return _inputs(book, exhibit, float(rate))


def tuning_inputs(book, exhibit: str, arm: str) -> noisy_pairs.Inputs:
    """The same with the noise at which settings are chosen."""
    return _inputs(book, exhibit, CHOSEN_AT)


def _inputs(book, exhibit: str, rate: float) -> noisy_pairs.Inputs:
    found = book.inputs(EXHIBITS[exhibit].domain)
    return noisy_pairs.Inputs(*found[:4], noise_of(book, found.dataset, rate))


def noise_of(book, dataset, rate: float):
    """The index in the profile's folder of such files, or None: then it is drawn.

    Files have the form in which rivals publish them, and the name <data set>_<rate>.npy; they are
    for all training images or for the first so many that the profile takes. ValueError for one that is missing, of another
    length, or of another rate than its name says.
    """
    if book.profile.gsl_noise_index == "drawn" or not rate:
        return None
    file = Path(book.profile.gsl_noise_index).expanduser() / f"{book.kind}_{rate:g}.npy"
    images, each = len(dataset.splits["train"]), dataset.captions_per_image
    some = book.profile.gsl_images or images
    try:
        index = noise_index.read(file, some, each)
    except ValueError:
        if some == images or not file.exists():
            raise
        noise_index.read(file, images, each)  # the fault of the file, if that is what's wrong
        raise ValueError(
            f"{file} is for all {images} training images; the profile takes the "
            f"first {some}: say --set gsl_images=0 too"
        ) from None
    if said := other_rate(file, noise_index.true_rate(index, each), rate):
        raise ValueError(said)
    return noisy_pairs.GivenNoise(index)


def measured(book, exhibit: str, arm: str, run, inputs: noisy_pairs.Inputs):
    """The run whose numbers an exhibit shows, where these are not the trained run's own."""
    from alignbook.papers.gsl import relabelling
    from alignbook.store import runs

    if exhibit != "gsl-F2" or arm in METHODS:
        return run
    config = relabelling.Config(**LABELS.get(arm) or SWITCHES.get(arm, {}))
    return runs.get(config, 0, (run, *inputs), device=book.device)
