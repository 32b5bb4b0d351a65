"""What is asked for on the command line, checked before any work starts."""

from __future__ import annotations

import difflib
from argparse import Namespace
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from alignbook import ROOT
from alignbook.evidence.entries import PICTURES
from alignbook.store import verbatim
from alignbook.workbook import chapters, exhibits, folders, profiles

if TYPE_CHECKING:
    from alignbook.datasets import by_name


class Refused(Exception):
    """What was asked for cannot be done; the message says why and what to do."""

    def __init__(self, said):
        super().__init__(verbatim.message(said))


def check(asked: Namespace) -> tuple[list[str], dict]:
    """Notebooks and settings behind a command line; `Refused` before any work starts."""
    profile = "laptop" if asked.profile is None else asked.profile
    if profile not in profiles.PROFILES:
        near = difflib.get_close_matches(profile, profiles.PROFILES, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]}?" if near else f"there are: {', '.join(profiles.PROFILES)}"
        raise Refused(f"unknown profile {profile!r}; {hint}")
    try:
        notebooks = exhibits.resolve(asked.targets, asked.data.partition("=")[0])
    except ValueError as error:
        raise Refused(str(error)) from None
    overrides = changed(asked.set)
    if asked.seeds and overrides.get("seeds", str(asked.seeds)) != str(asked.seeds):
        raise Refused(
            f"--seeds {asked.seeds} and --set seeds={overrides['seeds']}: say one of them"
        )
    from alignbook.datasets import by_name
    from alignbook.errors import DataError

    try:
        kind, _ = by_name.parse(asked.data)
        profiles.get(profile, kind)
    except ValueError as error:
        raise Refused(f"--data {error}" if isinstance(error, DataError) else str(error)) from None
    try:
        made = profiles.get(profile, kind, overrides)
    except ValueError as error:
        raise Refused(f"--set: {error}") from None
    data = check_data(asked.data, asked_of_data(asked, kind, made, overrides, notebooks))
    check_folders(made, kind, notebooks)
    if ":" in overrides.get("base", ""):
        overrides["base"], side = check_base(overrides["base"])
        if data != "world":  # prepared at the size that the model looks at
            overrides.setdefault("size", str(side))
    if overrides.get("bert", "captions") not in ("captions", "minilm"):
        overrides["bert"] = check_bert(overrides["bert"])
    notebooks = check_components(asked.targets, notebooks, profile, data, overrides)
    check_device(asked.device, here=not getattr(asked, "executor", None))
    settings = {
        "profile": profile,
        "data": data,
        "seeds": asked.seeds,
        "set": overrides,
        "device": asked.device,
    }
    return notebooks, settings | read_from(settings)


def read_from(settings: dict) -> dict[str, object]:
    """What the files hold that settings read, as hashes: those of the data, those of each setting.

    `Refused` for a file that cannot be read.
    """
    from alignbook.datasets import by_name
    from alignbook.workbook import named_files

    profile = profiles.get(settings["profile"], settings["data"].partition("=")[0], settings["set"])
    try:
        return {
            "source": by_name.source(settings["data"], profile),
            "files": named_files.files(profile, settings["data"]),
        }
    except ValueError as error:
        raise Refused(str(error)) from None


def make_absolute(overrides: dict[str, str]) -> None:
    """Let settings name files wherever they are read: a relative place counts from here."""
    from alignbook.workbook import named_files

    for name, words in named_files.WORDS.items():
        place, known = overrides.get(name, ""), name in ("base", *chapters.SOURCES)  # checked apart
        if place and not known and place not in words and Path(place).expanduser().exists():
            overrides[name] = str(Path(place).expanduser().resolve())


def changed(settings: list[str]) -> dict[str, str]:
    """What --set changes, by key."""
    overrides = {}
    for text in settings:
        name, equals, value = text.partition("=")
        if not (name and equals and value):
            raise Refused(f"--set {text}: expected key=value, such as --set seeds=3")
        if overrides.setdefault(name, value) != value:
            raise Refused(f"--set {text}: {name} is {overrides[name]} before: say one of them")
    return overrides


def wants_curves(asked: Namespace) -> bool:
    """Whether ``--set tensorboard=yes`` is among what is asked for, which leaves it.

    No number depends on it: neither the graph nor a results folder's settings know it.
    """
    said = changed(asked.set).get("tensorboard", "no")
    if said not in ("yes", "no"):
        raise Refused(f"--set tensorboard={said}: expected yes or no")
    asked.set = [text for text in asked.set if not text.startswith("tensorboard=")]
    return said == "yes"


def check_folders(profile: profiles.Profile, kind: str, notebooks: list[str]) -> None:
    """Refuse a folder that a paper's setting names and that lacks what the notebooks need."""
    asked = [
        each
        for name in notebooks
        for each in exhibits.NOTEBOOKS[name].exhibits
        if exhibits.arms(each, kind, profile)
    ]
    for own in chapters.SETTINGS:
        for name in {*own.WORDS} - {*exhibits.COMPONENTS, *chapters.SOURCES}:
            if said := own.problem(name, profile, kind, asked):
                raise Refused(f"--set {name}={getattr(profile, name)}: {said}")


def asked_of_data(
    asked: Namespace, kind: str, made: profiles.Profile, overrides: dict, notebooks: list[str]
) -> by_name.Asked:
    """What a start asks of its data, for the exhibits that need nothing else: others may be left out."""
    from alignbook.core.vocabulary import Vocabulary
    from alignbook.datasets.by_name import Asked

    papers = {
        exhibits.paper(each)
        for name in notebooks
        for each in (*exhibits.NOTEBOOKS[name].exhibits, *exhibits.NOTEBOOKS[name].reads)
        if exhibits.arms(each, kind, made) and not exhibits.EXHIBITS[each].needs
    }
    used = tuple(field for field in vars(made) if field.partition("_")[0] in papers)
    regions, first = 0, None
    if any(name.endswith("_regions") for name in overrides):
        # 2 s, only where regions were asked for
        from alignbook.backbones import extraction, locked, region_features

        regions = region_features.Config().kept
        if made.base == locked.NAME:
            regions = extraction.SIDE**2
    if not asked.targets and made.name != "smoke":
        begun = folders.rehearsed({"data": asked.data, "profile": made.name})
        first = None if begun else profiles.get("smoke", kind)
    return Asked(made, used, regions, first, partial(Vocabulary.build, min_count=4))


def check_data(spec: str, asked: by_name.Asked | None = None, option: str = "--data ") -> str:
    """A data set's spec with its folder made absolute, once nothing speaks against it; `option` is
    what it was given by.
    """
    from alignbook.datasets import by_name

    name, equals, folder = spec.partition("=")
    if equals and folder:
        spec = f"{name}={Path(folder).expanduser().resolve()}"
    if problems := by_name.check(spec, asked):
        raise Refused("\n  ".join([f"{option}{spec}:", *problems]))
    return spec


def check_bert(spec: str) -> str:
    """A BERT's name, or its folder made absolute; `Refused` if anything speaks against it."""
    from alignbook.backbones import bert

    if Path(spec).expanduser().is_dir():
        spec = str(Path(spec).expanduser().resolve())
    if problems := bert.Pretrained(spec).problems():
        raise Refused("\n  ".join([f"--set bert={spec}:", *problems]))
    return spec


def check_components(
    targets, notebooks: list[str], profile: str, data: str, overrides: dict[str, str]
) -> list[str]:
    """The notebooks that have what their components need; the others are left out with a line, and
    `overrides` say "none". `Refused` if one of them or a setting was named, or if nothing is left
    of what was asked for.

    Paths in `overrides` become absolute.
    """
    kind = data.partition("=")[0]
    make_absolute(overrides)
    needs = {
        name: {
            field
            for each in exhibits.NOTEBOOKS[name].exhibits
            for field in exhibits.EXHIBITS[each].needs
        }
        for name in notebooks
    }
    fields = set().union(*needs.values()) | set(exhibits.COMPONENTS) & set(overrides)
    if not fields and not {*chapters.SOURCES} & {*overrides}:
        return notebooks
    for name, place in chapters.FETCHED.items():
        if profile == "paper" and (ROOT / "data" / place).is_dir():
            overrides.setdefault(name, str(ROOT / "data" / place))
    for name, usual in chapters.SOURCES.items():
        if profile == "paper" and kind in usual:
            overrides.setdefault(name, f"{usual[kind]}={ROOT / 'data' / usual[kind]}")
        if name in overrides:
            made = profiles.get(profile, kind, overrides)
            overrides[name] = check_source(name, overrides[name], data, made)
    made = profiles.get(profile, kind, overrides)
    left = {}
    for field in sorted(fields):
        problem = chapters.settings_of(field).problem(field, made, data)
        lacking = [name for name in notebooks if field in needs[name]] if problem else []
        named = {each for name in lacking for each in (name, *exhibits.NOTEBOOKS[name].exhibits)}
        wanted = named & set(targets) or targets and set(lacking) >= set(notebooks)
        if problem and (wanted or overrides.get(field, "none") != "none"):
            raise Refused(f"--set {field}={getattr(made, field)}: {problem}")
        if problem:
            overrides[field] = "none"
            left |= dict.fromkeys(lacking, problem)
    for problem in dict.fromkeys(left.values()):
        names = ", ".join(name for name in left if left[name] == problem)
        print(f"left out: {names} ({verbatim.message(problem)})")
    return [name for name in notebooks if name not in left]


def check_source(name: str, spec: str, data: str, made: profiles.Profile) -> str:
    """The data to train on, made absolute, that a setting names; they must not hold those of
    `--data`, the target, and must have what a profile takes of them: enough images, pictures, and
    boxes.
    """
    from alignbook.datasets import by_name, karpathy

    source, (target, _, folder) = spec.partition("=")[0], data.partition("=")
    if target == "world":
        raise Refused(
            f"--set {name}: the world's two domains are each other's source; it "
            "goes with photographs"
        )
    apart = (
        (source, target) == ("flickr8k", "flickr30k")
        and karpathy.split_as_flickr8k(Path(folder))
        and not by_name.photographs(spec, "train", "dev") & by_name.photographs(data, "test")
    )
    if {source, target} == {"flickr8k", "flickr30k"} and not apart:
        raise Refused(
            f"--set {name}={spec}: Flickr8k's photographs and most of their captions are among "
            "Flickr30K's, so that what is trained on the one has seen the other: take coco=DIR, or "
            f"flickr30k=DIR with {karpathy.PARTIAL} beside Flickr8k's dataset_flickr8k.json"
        )
    if source in by_name.NAMES and source not in PICTURES:
        raise Refused(
            f"--set {name}={spec}: {source} has region features and no pictures, expected one of "
            f"{', '.join(f'{each}=DIR' for each in PICTURES[1:])}: heads are trained on crops"
        )
    there = replace(made, boxes=profiles.get(made.name, source).boxes)
    own = tuple(field for field in vars(made) if field.startswith(name.partition("_")[0]))
    spec = check_data(spec, by_name.Asked(there, own), f"--set {name}=")
    # Other boxes need nothing of the source's own, and are asked of the target.
    said = chapters.settings_of("boxes").problem("boxes", there, spec)
    if said and there.boxes == "instances":
        raise Refused(f"--set {name}={spec}: {said}")
    return spec


def check_base(spec: str) -> tuple[str, int]:
    """A pretrained model's spec with its file made absolute, and the pixels a side it looks at.

    `Refused` if anything speaks against it.
    """
    from alignbook.backbones import pretrained

    form, _, place = spec.partition(":")
    if form in ("checkpoint", "huggingface") or Path(place).expanduser().is_dir():
        spec = f"{form}:{Path(place).expanduser().resolve()}"
    if problems := pretrained.problems(spec):
        raise Refused("\n  ".join([f"--set base={spec}:", *problems]))
    return spec, pretrained.parse(spec).image_size[0]


def check_device(device: str, here: bool = True) -> None:
    """Refuse a device that nobody knows, or that this machine lacks if jobs run `here`."""
    kind = device.partition(":")[0]
    if kind not in ("auto", "cpu", "cuda", "mps"):
        raise Refused(f"unknown device {device!r}; there are: auto, cpu, cuda, mps")
    if here and kind in ("cuda", "mps"):
        import torch  # 2 s, only where a device was named

        there = {"cuda": torch.cuda.is_available, "mps": torch.backends.mps.is_available}
        if not there[kind]():
            raise Refused(f"--device {device}: PyTorch finds none here; see ./run_all.sh doctor")
