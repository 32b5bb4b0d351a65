"""CoV-Align's chapter: its notebooks, exhibits, arms and sizes, each said once.

All is on domain A; patches are those of the base model, words those of BERT. The laptop profile
makes the arms of two claims: one projection against two, and regions against every patch.
"""

from typing import Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from alignbook.evidence.entries import LATER, PICTURES, Arm, Exhibit, Notebook

# --- Arms ----------------------------------------------------------------------------------------

# The whole method with one thing changed (two in the first): steps of the ladder [N], then what
# neither the supplement nor the notes say.
STEPS = {
    "no-losses": dict(lambda_v=0.0, lambda_c=0.0),
    "no-concentration": dict(lambda_c=0.0),
    "no-visual": dict(lambda_v=0.0),
    "unmasked": dict(threshold=0.0),
    "cross-attention": dict(sampling="cross-attention"),
    "attention-mask": dict(mask="attention"),
    "patch-units": dict(coordinates="patches"),
    "dot-product": dict(logits="dot"),
}
WEIGHTS = {  # λ_v, λ_g, λ_c of the loss, by what is varied and its value
    "concentration-1": (1.0, 1.0, 1.0),
    "concentration-3": (1.0, 1.0, 3.0),
    "concentration-5": (1.0, 1.0, 5.0),
    "concentration-7": (1.0, 1.0, 7.0),
    "concentration-10": (1.0, 1.0, 10.0),
    "visual-0.5": (0.5, 1.0, 5.0),
    "visual-2": (2.0, 1.0, 5.0),
    "global-0.5": (1.0, 0.5, 5.0),
    "global-2": (1.0, 2.0, 5.0),
}
SCALES = ("global-2-halved", "sgd", "sgd-global-2", "sgd-global-2-halved")  # of the whole loss
REGIONS = (4, 8, 12, 16)  # N_q
# Of the ladder, whose time and memory are measured.
MEASURED = ("global", "patches", "queries", "regions", "end-to-end")
CONTROLS = ("separate-half", "separate-same")  # of two projections


# What a laptop run of the world leaves out, and one of photographs trains once. The trials are the
# whole method's, but for some arms that have their own: these take the first candidate on a laptop.
_ONCE = dict(seeds="overnight", later=("world",))
_LATER = _ONCE | dict(later=LATER)
_OWN = dict(tuned="overnight")
_ASIDE = _LATER | dict(seeds="gpu")  # no claim rests on it


def _together(*names: str, **facts) -> tuple[Arm, ...]:
    """Arms that share a process."""
    return tuple(Arm(name, job="all", **facts) for name in names)


def _by_weight(*names: str) -> tuple[Arm, ...]:
    """Arms of one weight share a process. The whole method is the ladder's, and costs nothing."""
    known = {"concentration-5": {}, "concentration-1": _ONCE, "concentration-10": _ONCE}
    known |= dict.fromkeys(("global-0.5", *SCALES), _ASIDE)
    return tuple(Arm(name, job=name.partition("-")[0], **known.get(name, _LATER)) for name in names)


QUESTION = {
    "covalign-one-projection": "One projection for queries and patches, or two?"
}  # of the report's front page, by claim
SIDES = {
    "covalign-one-projection": ("a shared projection", "a pair of projections")
}  # what is compared there
# What may stand in place of the first of them for comparison: exhibit, row, and what that is.
INSTEAD = {
    "covalign-one-projection": (("covalign-ladder", "global", "whole pictures and captions"),)
}
FIRST = "covalign-T6"  # what that claim rests on, trained before the others

PAGES = ("regions", "model", "two_towers")  # modules that the report's pages of the library show

# --- Exhibits and notebooks ----------------------------------------------------------------------

EXHIBITS = {
    # Ours: the paper's table is not in our text.
    "covalign-ladder": Exhibit(
        "30_covalign",
        _together("global", "patches")
        + _together("queries", **_ASIDE | _OWN | dict(later=("world",)))
        + _together("regions")
        + _together(*STEPS, **_ASIDE)
        + _together("end-to-end", **_ASIDE | _OWN | dict(seeds="first"), on=("world",)),
        data=PICTURES,
        timed=True,
    ),
    "covalign-T5": Exhibit(
        "31_covalign_loss_weights", _by_weight(*WEIGHTS, *SCALES), data=PICTURES
    ),
    "covalign-T3": Exhibit(
        "32_covalign_regions",
        _together("regions-4", **_ONCE)
        + _together("regions-8")
        + _together("regions-12", **_LATER)
        + _together("regions-16", **_ONCE),
        data=PICTURES,
    ),
    "covalign-T6": Exhibit(
        "33_covalign_projection",
        _together("shared", "separate")
        + _together(*CONTROLS, **_ASIDE | _OWN)
        + _together("shared-long", "separate-long", seeds="first"),
        data=PICTURES,
    ),
    "covalign-F5": Exhibit(
        "33_covalign_projection",
        _together("shared", "separate"),
        data=PICTURES,
        takes=("parser",),  # phrases of photographs' captions
    ),
}
NOTEBOOKS = {
    "30_covalign": Notebook(("base",), ("covalign-ladder",), expected={"smoke": 6, "laptop": 10}),
    "31_covalign_loss_weights": Notebook(
        ("base",), ("covalign-T5",), printed=True, expected={"smoke": 3, "laptop": 10}
    ),
    "32_covalign_regions": Notebook(
        ("base",), ("covalign-T3",), expected={"smoke": 2, "laptop": 10}
    ),
    "33_covalign_projection": Notebook(
        ("base",), ("covalign-T6", "covalign-F5"), printed=True, expected={"smoke": 5, "laptop": 15}
    ),
}

# --- Rows as printed: (group, row, arm) ----------------------------------------------------------

# Table 5 prints the names of its groups λ_g and λ_v the other way round.
_SHARED = "Impact of Shared Projection Matrix"
_WITH, _NOTES = "With regions", "The notes' other steps"
# Whose weight Table 5 says that it varies, by the arm.
_VARIED = {"concentration": "λ_c", "visual": "λ_g", "global": "λ_v"}
ROWS = {
    "covalign-ladder": (  # None where the notes don't say enough to build it
        ("Baselines", "mean patch and mean word", "global"),
        ("Baselines", "every patch with every word", "patches"),
        ("Baselines", "object queries", "queries"),
        (_WITH, "the whole method", "regions"),
        (_WITH, "no L_vis, no L_conc", "no-losses"),
        (_WITH, "no L_conc", "no-concentration"),
        (_WITH, "no L_vis", "no-visual"),
        (_WITH, "no mask (ε = 0)", "unmasked"),
        (_WITH, "plain cross-attention", "cross-attention"),
        (_WITH, "mask of the attention", "attention-mask"),
        (_WITH, "places in patches", "patch-units"),
        (_WITH, "inner products for cosines", "dot-product"),
        (_WITH, "towers trained too", "end-to-end"),
        *((_NOTES, f"{step} step", None) for step in ("first", "second", "third")),
    ),
    "covalign-T5": tuple(
        (f"Varying {_VARIED[arm.partition('-')[0]]}", f"λ_v={v:g} λ_g={g:g} λ_c={c:g}", arm)
        for arm, (v, g, c) in WEIGHTS.items()
    )
    + (
        ("Ours", "λ_v=0.5 λ_g=1 λ_c=2.5", "global-2-halved"),
        ("Ours, SGD", "λ_v=1 λ_g=1 λ_c=5", "sgd"),
        ("Ours, SGD", "λ_v=1 λ_g=2 λ_c=5", "sgd-global-2"),
        ("Ours, SGD", "λ_v=0.5 λ_g=1 λ_c=2.5", "sgd-global-2-halved"),
    ),
    "covalign-T6": (
        (_SHARED, "w/ Two Separate Matrices (W_q, W_k)", "separate"),
        (_SHARED, "w/ Shared Matrix (W)", "shared"),
        ("Ours", "two matrices of half the rank", "separate-half"),
        ("Ours", "two matrices, the same to begin with", "separate-same"),
        ("Ours", "one matrix, four times the steps", "shared-long"),
        ("Ours", "two matrices, four times the steps", "separate-long"),
    ),
}

# --- Sizes ---------------------------------------------------------------------------------------

EPOCHS = 30  # [N]


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """CoV-Align's part of a profile."""

    covalign_vit: str  # whose patches: the base model's cells, or a ViT by its folder or name
    covalign_tokens: Literal["frozen", "end-to-end"]  # whether the towers are trained
    covalign_dim: int = Field(ge=1, le=100_000, multiple_of=8)  # the joint width
    covalign_layers: int = Field(ge=1, le=1000)  # of the queries
    covalign_images: int = Field(ge=0, le=10_000_000)  # training images, 0 for all
    covalign_steps: int = Field(ge=1, le=1_000_000_000)  # optimiser steps of a training
    covalign_batch: int = Field(ge=2, le=1_000_000)  # images of a batch, one caption of each
    covalign_learning_rate: float = Field(gt=0, lt=1e9)  # of Adam
    covalign_trials: int = Field(ge=1, le=1000)  # settings that dev decides between
    covalign_dev_images: int = Field(ge=0, le=10_000_000)  # images measured of dev, 0 for all
    covalign_test_images: int = Field(ge=0, le=10_000_000)  # images measured of test, 0 for all


SMOKE = dict(
    covalign_vit="base",
    covalign_tokens="frozen",
    covalign_dim=32,
    covalign_layers=1,
    covalign_images=0,
    covalign_steps=6,
    covalign_batch=16,
    covalign_learning_rate=3e-3,
    covalign_trials=1,
    covalign_dev_images=20,
    covalign_test_images=40,
)
# Four times the steps make 6 % more of all 8,000 images; of 4,000 they make 3 % more, and a contrast of
# two projections spreads over seeds by 8 points of RSUM for 11: no shorter way to a verdict.
LAPTOP = SMOKE | dict(
    covalign_dim=128,
    covalign_images=4000,
    covalign_steps=1200,
    covalign_batch=32,
    covalign_trials=3,
    covalign_dev_images=200,
    covalign_test_images=300,
)
OVERNIGHT = LAPTOP | dict(
    covalign_layers=2,
    covalign_steps=1000,
    covalign_batch=64,
    covalign_dev_images=0,
    covalign_test_images=0,
)
GPU = OVERNIGHT | dict(
    covalign_layers=3,
    covalign_images=0,
    covalign_trials=4,
    covalign_dim=256,
    covalign_steps=2000,
    covalign_batch=128,
    covalign_learning_rate=1e-3,
    covalign_test_images=1000,
)
PAPER = GPU | dict(
    covalign_vit="vit-base-patch16-224",
    covalign_tokens="end-to-end",
    covalign_dim=512,
    covalign_learning_rate=1e-4,
    covalign_test_images=0,
)
# A laptop has an hour and a half for them: two trials.
PHOTOGRAPHS = {
    "laptop": dict(covalign_images=3000, covalign_trials=2, covalign_test_images=0),
    "overnight": dict(covalign_images=0, covalign_layers=1, covalign_steps=1200, covalign_batch=32),
}


def of_paper(captions: int) -> dict:
    """What the paper profile takes of a training split of so many captions."""
    return dict(covalign_steps=EPOCHS * (captions // PAPER["covalign_batch"]))
