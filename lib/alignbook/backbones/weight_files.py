"""The files of pretrained models: read, checked and compared with an architecture; no code is run."""

import json
import math
import pickle
import zipfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import torch
from torch import nn

from alignbook import ROOT
from alignbook.datasets.files import check_regular, octets_of
from alignbook.errors import DataError
from alignbook.store import contents

WEIGHTS = ROOT / "data" / "weights"
BELONGS = "take the one that belongs to the weights"


@dataclass(frozen=True)
class OwnModel:
    """A pretrained model of your own, `spec` its folder or the name of one under data/weights."""

    spec: str

    KIND: ClassVar[str]  # what stands before its name in results
    FORMS: ClassVar[tuple[tuple[str, ...], ...]]  # the names that each file may have
    HOLDS: ClassVar[str]  # the files in words

    @property
    def folder(self) -> Path:
        place = Path(self.spec).expanduser()
        return place if place.is_dir() else WEIGHTS / place

    @property
    def label(self) -> str:
        """What it is called in results, without the folders of this machine."""
        return f"{self.KIND}:{self.folder.resolve().name}"

    @cached_property
    def files(self) -> list[Path]:
        """Its files, each in the first form that is there."""
        found = []
        for forms in self.FORMS:
            there = [self.folder / form for form in forms if (self.folder / form).is_file()]
            if not there:
                raise DataError(
                    f"{self.folder / ' or '.join(forms)}: not found, and nothing is "
                    f"downloaded here; put there {self.HOLDS}, as its release on the model hub "
                    "has them"
                )
            found.append(there[0])
        return found

    @cached_property
    def key(self) -> str:
        """16 hex digits of what the files hold: what stands for it in a run's key."""
        return contents.together(self.files)[:16]


def json_object(path: Path, remedy: str) -> dict:
    """What a JSON file says; DataError, with the remedy, for one that is missing or no object."""
    try:
        value = json.loads(octets_of(path))
    except (OSError, ValueError, RecursionError) as error:
        reason = "not found" if isinstance(error, FileNotFoundError) else f"no JSON ({error})"
        raise DataError(f"{path}: {reason}; {remedy}") from error
    if not isinstance(value, dict):
        raise DataError(f"{path}: expected a JSON object, found {type(value).__name__}; {remedy}")
    return value


def preprocessing(path: Path) -> dict:
    """preprocessor_config.json of transformers in open_clip's words: shortest side, then centre."""
    stated = json_object(path, "it comes with the weights: copy it too")
    sizes = []
    for key in ("size", "crop_size"):
        size = stated.get(key)
        sizes += size.values() if isinstance(size, dict) else [size]
    steps = [
        stated.get(f"do_{step}", True) for step in ("resize", "center_crop", "rescale", "normalize")
    ]
    scale, resample = stated.get("rescale_factor", 1 / 255), stated.get("resample", 3)
    shortest = not isinstance(stated.get("size"), dict) or "shortest_edge" in stated["size"]
    same = all(isinstance(size, int) and size == sizes[0] for size in sizes)
    bytes_to_one = isinstance(scale, float) and abs(scale * 255 - 1) < 1e-6
    if not (all(steps) and same and shortest and bytes_to_one and resample in (2, 3)):
        raise DataError(
            f"{path}: expected the shortest side resized (bilinear or bicubic) to the size of the "
            f"centre crop, then 1/255 and normalised, as CLIP's; found {stated}; {BELONGS}"
        )
    words = {2: "bilinear", 3: "bicubic"}
    return {
        "mean": stated.get("image_mean"),
        "std": stated.get("image_std"),
        "size": sizes[0],
        "interpolation": words[resample],
    }


def check(path: Path) -> None:
    """DataError for a file that can't be read, is empty, or runs code when it is opened."""
    try:
        check_regular(path)
        path.open("rb").close()
    except OSError as error:
        raise DataError(
            f"{path}: cannot be read ({error.strerror}); expected a file that you may "
            "read: change its permissions"
        ) from None
    if path.stat().st_size == 0:
        raise DataError(f"{path}: empty; put a fresh copy of the release in its place")
    if path.suffix != ".safetensors" and zipfile.is_zipfile(path):
        try:
            with zipfile.ZipFile(path) as archive:
                script = any(name.endswith("/constants.pkl") for name in archive.namelist())
        except zipfile.BadZipFile as error:
            raise damaged(path, error) from error
        if script:
            raise DataError(
                f"{path}: a TorchScript archive, such as OpenAI's original .pt, which runs code; "
                "take the same weights as safetensors from the open_clip release on the model hub"
            )


def tensors(path: Path) -> dict[str, torch.Tensor]:
    """The named tensors of a file; no code in it is run."""
    from safetensors.torch import load_file

    check(path)
    try:
        if path.suffix == ".safetensors":
            return load_file(path)
        held = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise DataError(
            f"{path}: holds more than weights (code, foreign objects) or is damaged, and is not "
            "opened; take the release as safetensors"
        ) from error
    except Exception as error:
        raise damaged(path, error) from error
    state = held.get("state_dict", held) if isinstance(held, dict) else {}
    named = isinstance(state, dict) and all(
        isinstance(name, str) and torch.is_tensor(value) for name, value in state.items()
    )
    if not state or not named:
        raise DataError(f"{path}: no state dict; expected named tensors, alone or as state_dict")
    return state


def renamed(state: dict, model: nn.Module) -> dict:
    """Tensors, or their shapes, under the names that the model has for them."""
    from open_clip.model import convert_to_custom_text_state_dict

    state = {
        name.removeprefix("module."): value
        for name, value in state.items()
        if not name.endswith("position_ids")
    }  # old files store 0, 1, 2, …
    if "positional_embedding" in state and not hasattr(model, "positional_embedding"):
        state = convert_to_custom_text_state_dict(state)
    return state


def compare(path: Path, found: dict, model: nn.Module) -> None:
    """Refuse weights whose names or shapes are not those of the model."""
    expected = {name: tuple(value.shape) for name, value in model.state_dict().items()}
    faults = []
    for what, names in (
        ("missing", set(expected) - set(found)),
        ("unexpected", set(found) - set(expected)),
    ):
        if names:
            more = ", …" if len(names) > 4 else ""
            faults.append(f"{len(names)} {what}: {', '.join(sorted(names)[:4])}{more}")
    for name in sorted(set(expected) & set(found)):
        shape, number = tuple(found[name]), math.prod(found[name])
        if shape != expected[name] and not number == math.prod(expected[name]) == 1:  # the scale
            faults.append(f"{name} is {shape}, in the model {expected[name]}")
    if faults:
        raise DataError(
            f"{path}: not the weights of this architecture: {'; '.join(faults[:6])}; {BELONGS}"
        )


def damaged(path: Path, error: Exception) -> DataError:
    """The error to raise for a file that a library can't read."""
    return DataError(
        f"{path}: damaged or cut short at {path.stat().st_size:,} bytes ({str(error)[:80]}); put "
        "a fresh copy of the release in its place"
    )
