"""Profiles: how much of everything a run of the workbook computes.

A profile is a flat record of sizes, steps and seeds: what is said here, and each chapter's part,
which its `catalogue` says. `smoke` shows that the plumbing holds, `laptop` is meant for two cores
and an hour or two, `overnight` runs every arm, `gpu` a larger world, and
`paper` the papers' own settings on the papers' own data.
"""

import dataclasses
from typing import Literal

from pydantic import Field, ValidationError
from pydantic.dataclasses import dataclass

from alignbook.core.names import LOOKS, PROFILES
from alignbook.workbook.exhibits import CATALOGUES


@dataclass(frozen=True, kw_only=True)
class Profile(*(each.Sizes for each in CATALOGUES)):
    """Every number a run depends on besides the data; `--set field=value` changes one of them."""

    name: str
    seeds: int = Field(ge=1, le=1000)  # reporting seeds, 0 to n − 1, before any is bought
    seeds_most: int = Field(ge=1, le=1000)  # so many at most, where more seeds decide a claim
    tuning_seeds: int = Field(ge=1, le=1000)  # on which every candidate is tried
    train_images: int = Field(ge=0, le=10_000_000)  # of the split, 0 for all there are
    dev_images: int = Field(ge=0, le=10_000_000)
    test_images: int = Field(ge=0, le=10_000_000)
    size: int = Field(ge=1, le=4096)  # pixels a side
    fit: Literal[
        "squash", "crop"
    ]  # how photographs become square; crop as pretrained models expect
    data_seed: int = Field(ge=0, le=2**32)  # of the world
    base: str  # a base model of the data, or a pretrained one of your own
    base_epochs: int = Field(ge=1, le=100_000)
    base_seeds: int = Field(ge=1, le=1000)  # of the table of base models
    base_batch: int = Field(ge=2, le=1_000_000)
    bert: str  # captions: pretrained on them; minilm, as it is; or a name or folder of weights
    bert_steps: int = Field(ge=1, le=1_000_000_000)
    precision: Literal["float32", "tf32", "bf16"]  # of training, part of what its runs are keyed by
    processes: int = Field(ge=1, le=64)  # that train together, each on a GPU of its own


def _profile(name: str, **own) -> Profile:
    parts = {
        key: value for each in CATALOGUES for key, value in getattr(each, name.upper()).items()
    }
    return Profile(name=name, **parts | own)


_SMOKE = dict(
    seeds=1,
    seeds_most=1,
    tuning_seeds=1,
    train_images=150,
    dev_images=25,
    test_images=50,
    size=64,
    fit="squash",
    data_seed=0,
    base="world-clip",
    base_epochs=2,
    base_seeds=1,
    base_batch=64,
    bert="captions",
    bert_steps=10,
    precision="float32",
    processes=1,
)
_LAPTOP = _SMOKE | dict(
    seeds=3,
    seeds_most=12,
    tuning_seeds=3,
    train_images=8000,
    dev_images=300,
    test_images=400,
    base_epochs=5,
    base_batch=128,
    bert_steps=1000,
)
_OVERNIGHT = _LAPTOP | dict(dev_images=500, test_images=1000, base_epochs=16, base_seeds=2)
_GPU = _LAPTOP | dict(
    seeds=10,
    seeds_most=10,
    train_images=40000,
    dev_images=1000,
    test_images=5000,
    size=96,
    base_epochs=30,
    base_seeds=3,
)
WORLD = {
    "smoke": _profile("smoke", **_SMOKE),
    "laptop": _profile("laptop", **_LAPTOP),
    "overnight": _profile("overnight", **_OVERNIGHT),
    "gpu": _profile("gpu", **_GPU),
    # On the papers' own data: no world stands in for it.
    "paper": _profile("paper", **_GPU | dict(bert="bert-base-uncased", tuning_seeds=1)),
}
TRAINING_CAPTIONS = {"coco": 566435, "flickr30k": 145000, "flickr8k": 30000}
TRAINING_CAPTIONS |= {"coco_precomp": 566435, "f30k_precomp": 145000, "precomp": 145000}

# Photographs: all images of the official splits, seen and read by pretrained towers that stay as
# they are; thirteen epochs of the maps over them are 600 steps of Flickr8k.
_PRETRAINED = dict(size=224, fit="crop", base="photo-pretrained", base_epochs=13, base_batch=128)
_WHOLE = _PRETRAINED | dict(train_images=0, dev_images=0, test_images=0)
PHOTOGRAPHS = {
    "smoke": _PRETRAINED | dict(bert="minilm"),
    "laptop": _WHOLE | dict(seeds_most=8, tuning_seeds=1, bert="minilm"),
    "overnight": _WHOLE | dict(tuning_seeds=2, bert="minilm"),
    "gpu": _WHOLE | dict(bert="minilm"),
    "paper": _WHOLE,
}
# The tower that is trained from scratch, on 80 pixels, where it is asked for.
SCRATCH = "photo-tower"
_EPOCHS = {"smoke": 2, "laptop": 36}


def get(name: str, data: str = "world", overrides: dict[str, str] | None = None) -> Profile:
    """The profile of a name for a kind of data, with single values changed.

    Raises
    ------
    ValueError
        For an unknown name, an unknown key (listing the known ones), or a value of the wrong type.

    Examples
    --------
    >>> get("smoke", overrides={"chan_steps": "3"}).chan_steps
    3
    """
    if name not in PROFILES:
        raise ValueError(f"unknown profile {name!r}; there are: {', '.join(PROFILES)}")
    kind, overrides = data.partition("=")[0], overrides or {}
    if kind == "world" and name == "paper":
        raise ValueError(
            "the paper profile is for the papers' own data, coco_precomp=DIR first of "
            "all: see ./run_all.sh --profile paper --dry-run; the world has laptop, "
            "overnight and gpu"
        )
    changes = {} if kind == "world" else _of_photographs(name, kind, overrides)
    profile = dataclasses.replace(WORLD[name], **changes)
    if "seeds" in overrides:  # who says how many wants so many
        overrides = {"seeds_most": overrides["seeds"]} | overrides
    parts = Profile, *(each.Sizes for each in CATALOGUES)
    fields = [name for part in parts for name in part.__annotations__ if name != "name"]
    for key, text in overrides.items():
        if key not in fields:
            raise ValueError(f"unknown setting {key!r}; there are: {', '.join(fields)}")
        if key == "base" and text != profile.base and ":" not in text:
            raise ValueError(
                f"setting base={text}: the base model of this data is {profile.base}"
                f"{'' if kind == 'world' else f', or {SCRATCH}'}; or openclip:NAME/TAG, openclip:FOLDER, checkpoint:FILE, "
                "huggingface:FOLDER"
            )
        try:
            profile = dataclasses.replace(profile, **{key: text})
        except ValidationError as error:
            raise ValueError(_said(key, text, error.errors()[0])) from None
    seen = {name: _PRETRAINED[name] for name in ("size", "fit")}
    if profile.base == _PRETRAINED["base"] and any(
        getattr(profile, name) != value for name, value in seen.items()
    ):
        raise ValueError(
            f"settings size={profile.size} and fit={profile.fit}: the towers of {profile.base} see "
            f"other pictures, expected size={seen['size']} and fit={seen['fit']}; leave both out, or "
            f"say base={SCRATCH} as well"
        )
    if profile.seeds_most > profile.seeds and not (
        profile.seeds in LOOKS and profile.seeds_most <= LOOKS[-1]
    ):
        raise ValueError(
            f"settings seeds={profile.seeds} and seeds_most={profile.seeds_most}: seeds are bought "
            f"from one look to the next, at {', '.join(map(str, LOOKS))}; expected one of "
            f"these for seeds, and {LOOKS[-1]} at most, or the same number twice"
        )
    return profile


def _said(key: str, text: str, error: dict) -> str:
    """What was expected of a setting, from what pydantic found wrong."""
    kind, limits = error["type"], error.get("ctx", {})
    if kind == "literal_error":
        said = limits["expected"].replace("'", "")
    elif kind == "greater_than_equal":
        said = f"{limits['ge']} or more"
    elif kind in ("greater_than", "less_than", "finite_number"):
        said = "a number above 0"
    elif kind == "less_than_equal":
        said = f"{int(limits['le'])} at most"
    elif kind == "bool_parsing":
        said = "yes or no"
    elif kind == "multiple_of":
        said = f"a multiple of {limits['multiple_of']}, the heads of attention"
    else:
        kind = next(field.type for field in dataclasses.fields(Profile) if field.name == key)
        return f"setting {key}={text!r}: expected a value of type {kind.__name__}"
    return f"setting {key}={text}: expected {said}"


def _of_photographs(name: str, kind: str, overrides: dict[str, str]) -> dict:
    """How photographs or precomputed features of a kind differ from the world."""
    parts = [each.PHOTOGRAPHS.get(name, {}) for each in CATALOGUES]
    if name == "paper":
        captions = TRAINING_CAPTIONS[kind]
        parts += [each.of_paper(captions) for each in CATALOGUES if hasattr(each, "of_paper")]
    elif kind == "coco":
        parts += [{"boxes": "instances"}]
    if overrides.get("base") == SCRATCH:
        epochs, batch = _EPOCHS.get(name, 80), 64
        parts += [dict(size=80, fit="squash", base=SCRATCH, base_epochs=epochs, base_batch=batch)]
        parts += [dict(bert="captions")] if name != "paper" else []
    return PHOTOGRAPHS[name] | {key: value for part in parts for key, value in part.items()}
