"""What a pack says of itself, checked against the form it should have before anything is written.

A pack comes from elsewhere: every field that is read later has the type, and every word that is
printed later the letters, that it has in packs made here.
"""

import json
import re

from alignbook.store import fingerprint
from alignbook.store.runs import key_of

FORMAT = 1
LONGEST = 16 << 20  # bytes of a manifest or a record: that of a thousand runs has one million
KINDS = (".json", ".npy", ".safetensors", ".csv", ".parquet")  # none of them can run code


def _of(form: str) -> re.Pattern:
    return re.compile(form, re.ASCII)


KEY, HASH = _of(r"[0-9a-f]{16}"), _of(r"[0-9a-f]{64}")
FILE = _of(r"\w[\w.-]*(" + "|".join(re.escape(kind) for kind in KINDS) + ")")
WORD, NAME, MODULE = _of(r"\w[\w.+!-]*"), _of(r"\w[\w-]*"), _of(r"alignbook(\.\w{1,60}){1,4}")
FILES = {FILE: {"size": int, "sha256": HASH}}

# A type, the form of a string, "printable", or these nested: a list holds any number of its only
# element, a dictionary with a form for its only name any number of such names; "?" may be lacking.
MANIFEST = {
    "format": int,
    "python": WORD,
    "versions": {WORD: WORD},
    "devices": [NAME],
    "results": [
        {
            "folder": NAME,
            "profile": NAME,
            "data": NAME,
            "seeds": (int, None),
            "set": {NAME: "printable"},
            "part?": [NAME],
        }
    ],
    "runs": {
        KEY: {
            "module": MODULE,
            "device": NAME,
            "versions": {WORD: WORD},
            "code": HASH,
            "files": FILES,
        }
    },
}
RECORD = {
    "module": MODULE,
    "config": dict,
    "seed": int,
    "inputs": [_of(r"[0-9a-f]{16,64}")],
    "device": NAME,
    "dtype": WORD,
    "format": int,
    "versions": {WORD: WORD},
    "code": HASH,
    "key": KEY,
    "asked?": [KEY],
    "ranks?": int,
    "finished": "printable",
    "seconds": (int, float),
    "files": FILES,
    "seal": KEY,
}


def read(octets: bytes) -> dict:
    """A manifest, once all of it has its form; ValueError says what hasn't.

    If its format is another, nothing else is looked at.
    """
    manifest = parsed(octets)
    check(manifest, {"format": int})
    if manifest["format"] != FORMAT:
        return manifest
    check(manifest, MANIFEST)
    for key, run in manifest["runs"].items():
        if lacking := {"run.json", "metrics.json"} - set(run["files"]):
            raise ValueError(f"run {key} is not whole, it lacks {' and '.join(sorted(lacking))}")
        for name in ("run.json", "metrics.json"):
            if run["files"][name]["size"] > LONGEST:
                raise ValueError(f"{key}/{name} has more than {LONGEST >> 20} MB")
    return manifest


def parsed(octets: bytes) -> dict:
    """An object in JSON, ValueError for anything else."""
    try:
        told = json.loads(octets)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(told, dict):
        raise ValueError(f"{_short(told)} instead of an object")
    return told


def check_run(key: str, run: dict, record: bytes) -> None:
    """Compare a run's record with its name and the manifest's entry; ValueError says what differs.

    The key is computed again from what it is made of: a run is found by it. Without its files'
    sizes and hashes and its seal the store would not believe it.
    """
    told = parsed(record)
    if lacking := [name for name in ("files", "seal") if name not in told]:
        raise ValueError(f"it lacks {' and '.join(map(repr, lacking))}, as only older versions do")
    check(told, RECORD)
    try:
        found = key_of(told)
        sealed = fingerprint.key({name: told[name] for name in told if name != "seal"})
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not told["key"] == key == found:
        raise ValueError(f"of another run: its key comes to {found}, expected {key}")
    for name in ("module", "device", "versions", "code"):
        if told[name] != run[name]:
            theirs = _short(run[name])
            raise ValueError(f"{name} is {_short(told[name])}, the manifest says {theirs}")
    others = {name: entry for name, entry in run["files"].items() if name != "run.json"}
    if told["files"] != others:
        raise ValueError("its files have other sizes or hashes than the manifest says")
    if told["seal"] != sealed:
        raise ValueError("altered: its seal is not that of its content")


def check(told: object, form: object, place: str = "") -> None:
    """ValueError naming the place where something parsed from JSON hasn't the form it should have.

    >>> check({"a": [1, True]}, {"a": [int]})
    Traceback (most recent call last):
        ...
    ValueError: a.1 is True, expected a whole number
    """
    if isinstance(form, dict):
        _expect(isinstance(told, dict), told, "an object", place)
        (first, inner), *_ = form.items()
        if isinstance(first, re.Pattern):  # any number of such names
            for name, value in told.items():
                _expect(first.fullmatch(name), name, f"a name like {first.pattern}", place)
                check(value, inner, f"{place}.{name}")
            return
        for name, inner in form.items():
            optional, name = name.endswith("?"), name.removesuffix("?")
            _expect(optional or name in told, told, f"one with {name!r}", place)
            if name in told:
                check(told[name], inner, f"{place}.{name}")
    elif isinstance(form, list):
        _expect(isinstance(told, list), told, "a list", place)
        for i, value in enumerate(told):
            check(value, form[0], f"{place}.{i}")
    elif isinstance(form, re.Pattern):
        _expect(isinstance(told, str) and form.fullmatch(told), told, f"like {form.pattern}", place)
    elif form == "printable":
        _expect(isinstance(told, str) and told.isprintable(), told, "printable words", place)
    elif form is dict:
        _expect(isinstance(told, dict), told, "an object", place)
    elif form == (int, float):
        fits = type(told) in (int, float) and 0 <= told < float("inf")
        _expect(fits, told, "a number from 0 on", place)
    else:
        fits = type(told) is int and 0 <= told < 1 << 63  # a truth value is an int as well
        fits = fits or (form == (int, None) and told is None)
        _expect(fits, told, "a whole number", place)


def _expect(fits: object, told: object, form: str, place: str) -> None:
    if not fits:
        raise ValueError(f"{place.lstrip('.') or 'all of it'} is {_short(told)}, expected {form}")


def _short(told: object) -> str:
    """What was found, for a message: no control characters, and not much of it."""
    kinds = {dict: "an object", list: "a list"}
    return kinds.get(type(told)) or ascii(told)[:60]


def size(manifest: dict) -> int:
    """Bytes of all files of a manifest's runs."""
    return sum(each["size"] for each in sizes(manifest).values())


def sizes(manifest: dict) -> dict[str, dict]:
    """Members of a pack in their order, "<key>/<name>", each with its size and hash."""
    return {
        f"{key}/{name}": entry
        for key, run in sorted(manifest["runs"].items())
        for name, entry in sorted(run["files"].items())
    }


def megabytes(octets: int) -> str:
    """Bytes for reading.

    >>> megabytes(344_605_976), megabytes(33_400_000_000)
    ('345 MB', '33.4 GB')
    """
    return f"{octets / 1e6:.0f} MB" if octets < 1e9 else f"{octets / 1e9:.1f} GB"
