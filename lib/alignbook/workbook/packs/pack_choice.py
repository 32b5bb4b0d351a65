"""Which runs go into a pack: those of the chosen results, with the runs they were computed from."""

import contextlib
import csv
import json
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from alignbook.errors import DataError
from alignbook.workbook import folders
from alignbook.workbook.packs.pack_manifest import parsed

# Bytes of runs that are handed to a class, of which a pack makes six tenths: features beyond them,
# the largest first, are made again there, in half a minute each.
MOST = 330_000_000


@dataclass
class Choice:
    """Runs that go into a pack, the results they are for, and how many stay for which reason."""

    keys: list[str]
    results: list[dict] = field(default_factory=list)
    left: Counter = field(default_factory=Counter)


def stays(choice: Choice) -> list[str]:
    """Lines on what was left out and why."""
    return [
        f"left out: {count} run{'s' * (count != 1)} {why}"
        for why, count in sorted(choice.left.items())
    ]


def choose(
    root: Path, profiles=(), kinds=(), everything: bool = False, published: bool = False
) -> Choice:
    """The runs of a project folder that should travel.

    Parameters
    ----------
    root : Path
        Project folder; its results/ is looked through.
    profiles, kinds : list of str
        Only results folders of these profiles and kinds of data; all of them if empty.
    everything : bool
        Also runs that no results folder refers to.
    published : bool
        Only results folders that results/reference/ has too, and of their features as many as a
        class is handed.

    Returns
    -------
    Choice
        Every run is there with the runs it was computed from. Runs on photographs are left out
        unless ``kinds`` names their data, their features always, under whatever name: those are made
        of the photographs, which the other machine has to have anyway.

    Raises
    ------
    DataError
        No results folder has the profile or data asked for, or none of them is published.
    """
    settings = referring(root)
    chosen = _chosen(root, settings, profiles, kinds, published)
    store = root / "results/store"
    found = {each.name: record_of(each) for each in store.glob("[0-9a-f]*") if each.is_dir()}
    records = {key: record for key, record in found.items() if record}
    referred = {each: _with_inputs(keys, records) for each, keys in _keys(settings, chosen).items()}
    settings = {each: settings[each] for each in referred}
    wanted = set().union(*(referred[each] for each in chosen))
    left = Counter({"that are not whole, or of an older version": len(found) - len(records)})
    if everything:
        wanted |= set(records)
    else:
        elsewhere = set().union(*referred.values()) - wanted
        left["of other results"] = len(elsewhere & set(records))
        left["that no results folder refers to (older code, by hand): --all packs them"] = len(
            set(records) - wanted - elsewhere
        )
    left["that results folders name but the store lacks"] = len(wanted - set(records))
    names, kept = _names_of_data(root, settings, referred, records), set()
    for key in wanted & set(records):
        if why := _stays_here(key, records, names, kinds, store):
            left[why] += 1
        else:
            kept.add(key)
    if published:
        large = _too_large(kept, store)
        left["with features of the world: the other machine makes them in seconds"] = len(large)
        kept -= large
    served = [each for each in chosen if referred[each] & kept]
    return Choice(sorted(kept), [_results(each, settings[each]) for each in served], +left)


def referring(root: Path) -> dict[Path, dict]:
    """What results folders were made with; one that doesn't say it is named and passed over."""
    found = {}
    for file in sorted(root.glob("results/*/settings.json")):
        try:
            found[file.parent] = folders.settings_of(file.parent)
        except DataError as error:
            print(f"passed over: {error}", file=sys.stderr)
    return found


def _keys(settings: dict[Path, dict], chosen: list[Path]) -> dict[Path, set[str]]:
    """The runs of each results folder; one that nobody asked for and that can't be read is passed over."""
    found = {}
    for each in settings:
        try:
            found[each] = keys_of(each)
        except DataError as error:
            if each in chosen:
                raise
            print(f"passed over: {error}", file=sys.stderr)
    return found


def _chosen(root: Path, settings: dict, profiles, kinds, published: bool) -> list[Path]:
    """The results folders that are asked for; DataError where none is."""
    chosen = [
        each
        for each, said in settings.items()
        if (not profiles or said["profile"] in profiles)
        and (not kinds or said["data"].partition("=")[0] in kinds)
        and (not published or (root / "results/reference" / each.name).is_dir())
    ]
    if not chosen and (profiles or kinds or published):
        there = ", ".join(each.name for each in settings) or "no results yet"
        asked = " ".join([*profiles, *kinds, *["results/reference/"] * published])
        raise DataError(f"no results of {asked} to pack; there are: {there}")
    return chosen


def _stays_here(key: str, records: dict, names: dict[str, str], kinds, store: Path) -> str:
    """Why a run does not travel, for what it was computed from; "" if it does."""
    origins = {names.get(data, "unknown data") for data in _data_behind(key, records)}
    if others := ", ".join(sorted(origins - {"world", *kinds})):
        return f"on {others}: only the world's travel unless --data names theirs"
    if origins != {"world"} and _untrained(store / key):
        return "with features of photographs: the other machine makes them from its own"
    return ""


def _too_large(keys: set[str], store: Path) -> set[str]:
    """Runs with features that are to go, from the largest on, until no more are left than a class is
    handed.
    """
    features = {key: _untrained(store / key) for key in keys}
    over = sum(file.stat().st_size for key in keys for file in (store / key).iterdir()) - MOST
    found = set()
    for key in sorted(filter(features.get, features), key=features.get, reverse=True):
        if over > 0:
            found.add(key)
            over -= features[key]
    return found


def _untrained(run: Path) -> int:
    """Bytes of the arrays of a run that has no weights: what a frozen model made of data."""
    if (run / "weights.safetensors").exists():
        return 0
    return sum(file.stat().st_size for file in run.glob("*.npy"))


def _results(folder: Path, said: dict) -> dict:
    """A results folder as a manifest names it."""
    return {
        "folder": folder.name,
        "profile": said["profile"],
        "data": said["data"].partition("=")[0],
        "seeds": said["seeds"],
        "set": said["set"],
        "part": part_of(folder),
    }


def part_of(results: Path) -> list[str]:
    """The notebooks, or else exhibits, that are there of a results folder; none if it is whole."""
    done = sorted(path.stem for path in results.glob("notebooks/*.done"))
    if "00_start_here" in done:  # the last one
        return []
    return done or sorted(path.name for path in results.glob("arms/*"))


def keys_of(results: Path) -> set[str]:
    """Keys of the runs that a results folder refers to."""
    named = folders.bases_of(results).values()
    keys = {key for key in named if key and len(key) == 16}  # not a data set's fingerprint
    for file, column in [(results / "runs.csv", "run")] + [
        (listed, "key") for kind in ("arms/*", "seeds") for listed in results.glob(f"{kind}/*.csv")
    ]:
        if file.exists():
            with open(file, newline="") as lines:
                keys.update(row[column] for row in csv.DictReader(lines))
    return keys


def record_of(run: Path) -> dict | None:
    """The run.json of a run's folder, None unless it is whole and has its seal."""
    try:
        record = parsed((run / "run.json").read_bytes())
    except (OSError, ValueError):
        return None
    return record if record.get("key") == run.name and "seal" in record else None


def _with_inputs(keys: set[str], records: dict[str, dict]) -> set[str]:
    """Runs and all the runs they were computed from, or asked for meanwhile."""
    found, waiting = set(), list(keys)
    while waiting:
        key = waiting.pop()
        if key not in found:
            found.add(key)
            record = records.get(key, {})
            named = [*record.get("inputs", ()), *record.get("asked", ())]
            waiting += [each for each in named if len(each) == 16]
    return found


def _data_behind(key: str, records: dict[str, dict]) -> set[str]:
    """Fingerprints of the data sets a run was computed from, over all its inputs."""
    found = set()
    for each in _with_inputs({key}, records):
        if each not in records:
            found.add("")  # a run that is not there: its data is anybody's guess
        else:
            found.update(data for data in records[each]["inputs"] if len(data) != 16)
    return found


def _names_of_data(root: Path, settings: dict, referred: dict, records: dict) -> dict[str, str]:
    """Data sets prepared or used here: fingerprint → "world", "flickr8k", …"""
    names = {}
    for file in root.glob("data/[!.]*/meta.json"):
        with contextlib.suppress(ValueError, KeyError, TypeError):  # a damaged one names nothing
            said = json.loads(file.read_bytes())
            names[said["fingerprint"]] = said["name"]
    for folder, said in settings.items():
        for key in referred[folder]:
            for data in _data_behind(key, records) - {""}:
                names[data] = said["data"].partition("=")[0]
    return names
