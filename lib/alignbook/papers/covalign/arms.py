"""The arms of CoV-Align's exhibits: what dev decides between, and what each run is then given.

Only settings stand here; nothing computes. Tokens are frozen unless the profile, or the arm
"end-to-end", says otherwise. Tables 3, 5 and 6 are around the whole method of the ladder, and
share its trials and runs; what has a method of its own has trials of its own, as many.
"""

from dataclasses import replace

from alignbook.evidence import learnt
from alignbook.papers.covalign import catalogue, phrases
from alignbook.papers.covalign.catalogue import STEPS, WEIGHTS
from alignbook.papers.covalign.inputs import EndToEnd, Frozen, tokens, towers
from alignbook.papers.covalign.model import Config
from alignbook.store import runs

# What trials vary: the temperature τ of the attention, and whether patches learn their places. What
# has no attention of Eq. 2 has as many trials, of the learning rate, as a multiple.
ATTENTIONS = ((0.3, False), (1.0, True), (0.1, False), (1.0, False))
RATES = (1.0, 2.0, 4.0, 0.5)
SGD = 30.0  # the learning rate of SGD in units of Adam's; five times that does not train (pilots)
BASELINES = ("global", "patches", "queries")  # the global loss alone
HALVED = (0.5, 1.0, 2.5)  # those of "global-2": the same to Adam, a smaller step to SGD
PROJECTIONS = ("shared", "separate", "separate-half", "separate-same")
LONGER = ("shared", "separate")  # those with a control of four times the steps


def arms(exhibit: str, profile) -> dict[str, tuple[list, dict]]:
    """Arms of an exhibit: the candidates between which dev decides, and what is changed after that.

    KeyError for an exhibit of another chapter.
    """
    makers = {
        "covalign-ladder": ladder,
        "covalign-T5": loss_weights,
        "covalign-T3": regions,
        "covalign-T6": projections,
        "covalign-F5": spreads,
    }
    return makers[exhibit](profile)


def trials(profile, factor: float = 1.0, **changes) -> list[Config]:
    """The profile's CoV-Align with the settings that dev chooses from; learning rates times a factor.

    Tokens of the small towers are whitened; those of a ViT that is named are as they are.
    """
    names = ("tokens", "dim", "layers", "images", "steps", "batch", "dev_images", "test_images")
    sizes = {name: getattr(profile, f"covalign_{name}") for name in names}
    plain = Config(**sizes | dict(whitened=profile.covalign_vit == "base") | changes)
    plain = replace(plain, learning_rate=factor * profile.covalign_learning_rate)
    if plain.matching in BASELINES:
        found = [replace(plain, learning_rate=plain.learning_rate * each) for each in RATES]
    else:
        found = [replace(plain, temperature=t, placed=placed) for t, placed in ATTENTIONS]
    return found[: profile.covalign_trials]


def ladder(profile) -> dict:
    """Three baselines, the whole method, what it is without a part, and with its towers trained."""
    found = {name: (trials(profile, matching=name), {}) for name in BASELINES}
    steps = {"regions": {}} | STEPS
    found |= {name: (trials(profile), change) for name, change in steps.items()}
    return found | {"end-to-end": (trials(profile, tokens="end-to-end")[:1], {})}


def loss_weights(profile) -> dict:
    """Table 5 at what dev chose for the whole method; then whether the loss's scale counts."""
    adam, sgd = trials(profile), trials(profile, SGD, optimizer="sgd")
    found = {name: (adam, _weights(*each)) for name, each in WEIGHTS.items()}
    return found | {
        "global-2-halved": (adam, _weights(*HALVED)),
        "sgd": (sgd, {}),
        "sgd-global-2": (sgd, _weights(*WEIGHTS["global-2"])),
        "sgd-global-2-halved": (sgd, _weights(*HALVED)),
    }


def _weights(v: float, g: float, c: float) -> dict[str, float]:
    return {"lambda_v": v, "lambda_g": g, "lambda_c": c}


def regions(profile) -> dict:
    """Table 3: N_q."""
    return {f"regions-{n}": (trials(profile), {"queries": n}) for n in catalogue.REGIONS}


def projections(profile) -> dict:
    """Table 6, and controls: half the rank, both matrices the same to begin with, and four times
    the steps with what dev chose without.
    """
    found = {name: (trials(profile, projection=name), {}) for name in PROJECTIONS}
    longer = {"steps": 4 * profile.covalign_steps}
    return found | {name + learnt.LONGER: (found[name][0], longer) for name in LONGER}


def spreads(profile) -> dict:
    """Figure 5: Table 6's own runs; `measured` says what is measured of them."""
    found = projections(profile)
    return {name: found[name] for name in ("shared", "separate")}


# --- What the runs start from --------------------------------------------------------------------


def inputs(book, exhibit: str, arm: str) -> Frozen | EndToEnd:
    """The data set, and the run of frozen tokens or, end to end, what both towers are made from."""
    if "end-to-end" in (arm, book.profile.covalign_tokens):
        return EndToEnd(book.dataset(), *towers(book))
    return Frozen(book.dataset(), tokens(book))


def measured(book, exhibit: str, arm: str, run, given: tuple):
    """The run whose numbers an exhibit shows: for Figure 5, where phrases have gold boxes, that of
    `phrases`; otherwise the trained run itself.
    """
    if exhibit != "covalign-F5" or book.kind != "world":
        return run
    return runs.get(phrases.Config(), 0, (run, *given, book.bert()), device=book.device)
