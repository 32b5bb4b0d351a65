"""Which results folder some settings belong to, and settings.json, which says them there.

A folder's numbers are all made with the same settings: what is asked for with others goes to a
folder of its own.
"""

import contextlib
import json
from dataclasses import replace
from pathlib import Path

from alignbook import ROOT
from alignbook.errors import DataError
from alignbook.store import durable
from alignbook.workbook import chapters, exhibits, profiles

UNPACKED = ".unpacked"  # in a results folder whose runs another machine computed
SAYS = {"profile", "data", "seeds", "set"}  # what settings.json says at least


def results_folder(settings: dict) -> Path:
    """results/<data>-<profile>, and what `set_apart` adds."""
    kind, apart = settings["data"].partition("=")[0], settings.get("apart", "")
    return ROOT / "results" / f"{kind}-{settings['profile']}{apart}"


def rehearsed(settings: dict) -> bool:
    """Whether smoke need not go before some settings: it is whole, or `unpack` brought their runs."""
    smoke = results_folder({**settings, "profile": "smoke"})
    whole = (smoke / "notebooks/00_start_here.done").exists()
    return whole or (results_folder(settings) / UNPACKED).exists()


def set_apart(settings: dict, notebooks: list[str]) -> dict:
    """The settings of a part as its results folder has them; with a folder of its own where that one
    was filled with others: a folder's numbers are all made with the same.

    What none of the notebooks needs was not asked for, nor was what one of them may take and nobody
    set: it is as the folder has it.
    """
    from alignbook.workbook import named_files

    out = results_folder(settings)
    there = whole_settings(out)
    if there is None or not any(out.glob("notebooks/*.done")):
        return settings
    shown = [
        exhibits.EXHIBITS[each] for name in notebooks for each in exhibits.NOTEBOOKS[name].exhibits
    ]
    needed = {field for each in shown for field in each.needs}
    taken = {field for each in shown for field in each.takes if settings["data"] != "world"}
    taken &= {*settings["set"]}
    borrowed = {*exhibits.COMPONENTS, *chapters.SOURCES} - needed - taken
    borrowed -= {*chapters.SOURCES} if needed else set()
    left_out = {k for k in needed if there["set"].get(k) == "none"}  # of which it has nothing yet

    def mixed(part: str, of: dict, instead: dict, fields: set) -> dict[str, str]:
        """A part of settings, except some fields, which are as others have them."""
        kept = {k: v for k, v in of.get(part, {}).items() if k not in fields}
        return kept | {k: v for k, v in instead.get(part, {}).items() if k in fields}

    parts = [part for part in ("set", "files") if part in settings]
    ours = settings | {part: mixed(part, settings, there, borrowed) for part in parts}
    theirs = there | {part: mixed(part, there, ours, left_out) for part in parts}
    try:
        same = resolved(ours) == resolved(theirs)
    except ValueError:  # a setting of another version
        same = False
    if same:
        return ours | {"seeds": there["seeds"]}
    apart = f"-{named_files.short(settings)}"
    print(
        f"results/{out.name} was made with other settings; these results go to "
        f"results/{out.name}{apart}"
    )
    return settings | {"apart": apart}


def profile_of(settings: dict) -> profiles.Profile:
    """The profile that settings come to."""
    seeds = {"seeds": str(settings["seeds"])} if settings["seeds"] else {}
    return profiles.get(settings["profile"], settings["data"], settings["set"] | seeds)


def resolved(settings: dict) -> tuple:
    """The data and the profile that settings come to, files by what they hold."""
    from alignbook.workbook import named_files

    said = named_files.compared(settings)
    same = said["files"] | dict.fromkeys(named_files.HOW, 1)
    return said["data"], said["source"] or "", replace(profile_of(settings), **same)


def settings_of(out: Path) -> dict:
    """What settings.json of a results folder says.

    Raises
    ------
    DataError
        It is not there, or not as it was written.
    """
    file = Path(out) / "settings.json"
    with contextlib.suppress(ValueError):
        said = said_in(file)
        if isinstance(said, dict) and SAYS <= set(said):
            return said
    wrong = "cut or altered" if file.exists() else "file missing"
    raise DataError(
        f"{file}: {wrong}, expected the settings that these results were made with; start "
        "./run_all.sh again as it was started for them, which writes the file anew"
    )


def whole_settings(out: Path) -> dict | None:
    """What settings.json of a results folder says; None if it is not there, or was not whole and is
    set aside.
    """
    said = read(out / "settings.json")
    whole = isinstance(said, dict) and SAYS <= set(said)
    return said if whole else None


def read(file: Path):
    """What a JSON file of the results says; None if it isn't there or is no longer as it was
    written, and then it is set aside.
    """
    try:
        return said_in(file)
    except ValueError:
        durable.set_aside(file, f"{file}: cut or altered", "it is begun anew")
        return None


def executed(out: Path) -> list[Path]:
    """Executed notebooks of a results folder, in reading order."""
    paths = [out / "notebooks" / f"{name}.ipynb" for name in exhibits.NOTEBOOKS]
    return [path for path in paths if path.exists()]


def newest(results: Path, profile: str | None = None, data: str = "") -> Path:
    """The results folder, of a profile and data if they are given, that was last written to.

    Raises
    ------
    ValueError
        If no such folder has executed notebooks.
    """
    pattern = f"{data or '*'}-{profile or '*'}"
    found = {
        out: max(path.stat().st_mtime for path in executed(out))
        for out in results.glob(pattern)
        if executed(out) and (out / "settings.json").exists()
    }
    if not found:
        there = sorted(out.name for out in results.glob("*-*") if executed(out))
        command = "./run_all.sh" + (f" --profile {profile}" if profile else "")
        raise ValueError(
            f"{results}: no executed notebooks in {pattern}; there are: "
            f"{', '.join(there) or 'none'}. {command} makes some"
        )
    return max(found, key=found.get)


def machine_of(start: dict) -> str:
    """What computed a start, as starts.json or a reference's about.json has it, for reading.

    >>> machine_of({"machine": "Linux x86_64", "processor": "AMD EPYC", "cores": 2})
    'Linux x86_64, AMD EPYC, 2 cores'
    """
    named = (start["machine"], start.get("processor", ""), f"{start['cores']} cores")
    return ", ".join(filter(None, named))


def starts_of(out: Path) -> list[dict]:
    """The starts that filled a results folder, as starts.json says; none if it isn't there.

    Raises
    ------
    DataError
        It is not as it was written.
    """
    return _named(Path(out) / "starts.json") or []


def bases_of(out: Path) -> dict[str, str]:
    """Keys of a results folder's base models and what else base.json says; none if it isn't there.

    Raises
    ------
    DataError
        It is not as it was written.
    """
    return _named(Path(out) / "base.json") or {}


def _named(file: Path):
    """`said_in`, with the remedy where a file is damaged."""
    try:
        return said_in(file)
    except ValueError:
        raise DataError(
            f"{file}: cut or altered, expected it as it was written; start ./run_all.sh again as it "
            "was started for this folder, which makes it anew"
        ) from None


def said_in(file: Path):
    """What a JSON file of some results says, None where there is none.

    Raises
    ------
    ValueError
        It is not as it was written, or no JSON.
    """
    try:
        if (file.is_file() or not file.exists()) and durable.is_sound(file):
            return json.loads(file.read_bytes())
    except FileNotFoundError:
        return None
    raise ValueError(f"{file}: cut or altered")


def is_whole(file: Path) -> bool:
    """Whether a table of some results is there, as it was written as far as that is known."""
    return file.exists() and file.stat().st_size > 0 and durable.is_sound(file)


def write_settings(path: Path, settings: dict) -> None:
    """Write settings.json whole or not at all, and only if it says something new."""
    text = json.dumps(settings, indent=2, sort_keys=True) + "\n"
    if path.exists() and path.read_bytes() == text.encode():
        return
    durable.write(path, text, sealed=True)
