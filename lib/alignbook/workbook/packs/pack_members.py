"""What the files of a packed run hold, looked at before the run may enter the store.

A metric is a finite number under a printable name; an array and weights are as large
as their headers say, and of numbers alone. Nothing is loaded: headers are read.
"""

import json
import math
import re
from pathlib import Path

import numpy as np

from alignbook.store import verbatim

TRAINED = ("steps", "parameters", "checksum", "training seconds")  # of every run with weights
WORDS = {name: re.compile("[0-9a-f]{16}") for name in ("checksum", "head", "trained run")}
SENTENCES, LONGEST = ("how", "asked of"), 200


def check_metrics(told: dict, trained: bool) -> None:
    """ValueError for a metric that is no number or no name, or for one that a trained run lacks.

    >>> check_metrics({"RSUM": float("nan")}, trained=False)
    Traceback (most recent call last):
        ...
    ValueError: 'RSUM' is nan, expected a finite number
    """
    if lacking := [name for name in TRAINED if trained and name not in told]:
        raise ValueError(f"lacks {', '.join(map(repr, lacking))}, which every trained run has")
    for name, value in told.items():
        if not (name.isprintable() and 0 < len(name) <= LONGEST):
            raise ValueError(f"{ascii(name)[:60]} is no name of a metric")
        expected = _unlike(name, value, told)
        if expected:
            kinds = {dict: "an object", list: "a list"}
            found = kinds.get(type(value)) or ascii(value)[:60]
            raise ValueError(f"{ascii(name)[:60]} is {found}, expected {expected}")


def _unlike(name: str, value: object, told: dict) -> str:
    """What a metric should be and is not; "" if it is."""
    if name in WORDS:
        fits, expected = isinstance(value, str) and WORDS[name].fullmatch(value), "16 hex digits"
    elif name in SENTENCES:
        fits = isinstance(value, str) and value.isprintable() and len(value) <= LONGEST
        expected = "printable words"
    elif name == "grid":
        fits = isinstance(value, list) and len(value) == 2 and all(map(_is_whole, value))
        expected = "two whole numbers"
    elif name == "asked":
        fits = isinstance(value, dict) and value.keys() <= told.keys()
        fits = fits and all(map(_is_whole, value.values()))
        expected = "whole numbers by the names of metrics"
    else:
        fits = type(value) in (int, float) and abs(value) < 1 << 63  # nor nan, nor a truth value
        expected = "a finite number"
    return "" if fits else expected


def _is_whole(value: object) -> bool:
    return type(value) is int and 0 <= value < 1 << 63


def check_file(path: Path) -> None:
    """ValueError for an array, weights or JSON whose header or form belies what the file holds."""
    kind = {".npy": _check_array, ".safetensors": _check_weights, ".json": _check_json}
    try:
        kind.get(path.suffix, lambda path: None)(path)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _check_array(path: Path) -> None:
    with open(path, "rb") as file:
        try:
            version = np.lib.format.read_magic(file)
            read = {
                (1, 0): np.lib.format.read_array_header_1_0,
                (2, 0): np.lib.format.read_array_header_2_0,
            }
            shape, _, dtype = read[version](file)
        except RecursionError:
            raise
        except Exception:  # what NumPy makes of a header that nobody's NumPy wrote
            raise ValueError("no array as NumPy writes it") from None
        start = file.tell()
    if dtype.kind not in "biuf":
        raise ValueError(f"an array of {_brief(dtype)}, expected numbers")
    expected, size = start + math.prod(shape) * dtype.itemsize, path.stat().st_size
    if min(shape, default=0) < 0 or expected != size:
        raise ValueError(
            f"an array of shape {_brief(shape)} of {dtype} in {size:,} bytes, expected another size"
        )


def _check_weights(path: Path) -> None:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(
            path, framework="np"
        ):  # looks at lengths, shapes and places, reads no weight
            pass
    except SafetensorError as error:
        raise ValueError(f"no weights as safetensors writes them: {_brief(error)}") from None


def _check_json(path: Path) -> None:
    json.loads(path.read_bytes())


def _brief(told: object) -> str:
    return verbatim.line(str(told).removeprefix("Error while deserializing header: "))[:60]
