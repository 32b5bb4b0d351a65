"""Trained runs for another machine: ``./run_all.sh pack FILE`` here, ``unpack FILE`` there.

A pack is a gzipped tar archive: MANIFEST.json, which gives every file's size and hash and what the
runs' keys depend on, then the files of each run as ``<key>/<name>``. Photographs never travel, nor
does the world, which another machine draws again from its seed. The same runs give the same bytes.
"""

import argparse
import contextlib
import csv
import errno
import gzip
import hashlib
import io
import json
import os
import platform
import shlex
import shutil
import sys
import tarfile
import time
import zlib
from collections import Counter
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from alignbook import ROOT
from alignbook.datasets.archives import AT_ONCE as CHUNK
from alignbook.datasets.archives import Bounded
from alignbook.datasets.files import special
from alignbook.datasets.prepared import progress
from alignbook.errors import DataError
from alignbook.store import durable, fingerprint, verbatim
from alignbook.store.runs import VERSIONS
from alignbook.workbook import manifest as manifests
from alignbook.workbook.manifest import FILE, FORMAT, KINDS, LONGEST

MANIFEST = "MANIFEST.json"
# Level 1 stores the laptop's runs in 60 % of their size at 50 MB/s: half of the features' bytes go,
# none of the weights'. Level 6 saves 1 % more.
LEVEL = 1


def main(arguments: list[str]) -> int:
    """``pack FILE …`` or ``unpack FILE [DIR]``: the command line's part; returns the exit code."""
    asked = parser().parse_args(arguments)
    try:
        if asked.what == "unpack" and asked.folder:  # an archive of data, not of runs
            from alignbook.datasets import archives

            names = archives.unpack(asked.file, asked.folder)
            print(f"{asked.folder}: {len(names):,} files")
            return 0
        return pack(asked) if asked.what == "pack" else unpack(asked)
    except DataError as error:
        print(f"run_all.sh: {error}", file=sys.stderr)
    except OSError as error:
        room = ": make room and start again" if error.errno == errno.ENOSPC else ""
        said = f"{error.filename or asked.file}: {error.strerror}{room}"
        print(f"run_all.sh: {verbatim.message(said)}", file=sys.stderr)
    except KeyboardInterrupt:
        print("\nstopped; what was begun is removed.", file=sys.stderr)
        return 130
    return 2


def parser() -> argparse.ArgumentParser:
    """What can be asked for."""
    whole = argparse.ArgumentParser(prog="run_all.sh", allow_abbrev=False)
    what = whole.add_subparsers(dest="what", required=True)
    one = what.add_parser(
        "pack",
        help="trained runs into one file",
        description="Put trained runs into one file.",
        allow_abbrev=False,
    )
    one.add_argument("file", metavar="FILE", type=Path, help="what to make, such as runs.tar.gz")
    one.add_argument(
        "--profile",
        metavar="P",
        action="append",
        default=[],
        help="only the results of this profile; may be given more than once",
    )
    one.add_argument(
        "--data",
        metavar="D",
        action="append",
        default=[],
        help="only the results on this data (world, flickr8k, …); photographs' runs go into a "
        "pack only where their data is named here",
    )
    one.add_argument(
        "--all",
        action="store_true",
        help="also runs that no results folder refers to: of older code, by hand",
    )
    two = what.add_parser(
        "unpack",
        help="a pack's runs into the run store, or an archive of data into a folder",
        description="Put the runs of a pack into results/store/; or the files of a data set's "
        "archive (zip, tar) into a new folder, names and sizes checked.",
        allow_abbrev=False,
    )
    two.add_argument("file", metavar="FILE", type=Path)
    two.add_argument("folder", metavar="DIR", type=Path, nargs="?")
    return whole


# --- Packing -------------------------------------------------------------------------------------


@dataclass
class Choice:
    """Runs that go into a pack, the results they are for, and how many stay for which reason."""

    keys: list[str]
    results: list[dict] = field(default_factory=list)
    left: Counter = field(default_factory=Counter)


def pack(asked: argparse.Namespace) -> int:
    """Choose, write, and say what went in, what stayed and what to do with it."""
    began = time.monotonic()
    target = asked.file.expanduser().absolute()
    if target.exists():
        raise DataError(f"{target}: exists already: remove it, or name another file")
    kinds = [spec.partition("=")[0] for spec in asked.data]
    choice = choose(ROOT, asked.profile, kinds, asked.all)
    if not choice.keys:
        raise DataError(
            "\n  ".join(["nothing to pack: compute it first, with ./run_all.sh", *stays(choice)])
        )
    manifest = describe(ROOT / "results/store", choice)
    write(target, manifest, ROOT / "results/store")
    names = ", ".join(each["folder"] for each in choice.results) or "no results folder"
    print(
        f"{target}: {len(choice.keys)} runs ({names}), {megabytes(size(manifest))} in "
        f"{megabytes(target.stat().st_size)}, {time.monotonic() - began:.0f} s"
    )
    print(*(f"  {line}" for line in stays(choice)), sep="\n", end="\n" if choice.left else "")
    if differences(manifest):
        print(
            "\nThe library or its packages changed since these runs were computed: the present "
            "ones\nwould train anew. Start ./run_all.sh, then pack again."
        )
    print(
        f"\nnext: on the other machine, with the same version of this folder: "
        f"./run_all.sh unpack {target.name}"
    )
    return 0


def stays(choice: Choice) -> list[str]:
    """Lines on what was left out and why."""
    return [f"left out: {count} runs {why}" for why, count in sorted(choice.left.items())]


def choose(root: Path, profiles=(), kinds=(), everything: bool = False) -> Choice:
    """The runs of a project folder that should travel.

    Parameters
    ----------
    root : Path
        Project folder; its results/ is looked through.
    profiles, kinds : list of str
        Only results folders of these profiles and kinds of data; all of them if empty.
    everything : bool
        Also runs that no results folder refers to.

    Returns
    -------
    Choice
        Every run is there with the runs it was computed from. Runs on photographs are left out
        unless ``kinds`` names their data, their region features always: those are made of the
        photographs, which the other machine has to have anyway.

    Raises
    ------
    DataError
        No results folder has the profile or data asked for.
    """
    store = root / "results/store"
    folders = [each.parent for each in sorted(root.glob("results/*/settings.json"))]
    settings = {each: json.loads((each / "settings.json").read_text()) for each in folders}
    chosen = [
        each
        for each, said in settings.items()
        if (not profiles or said["profile"] in profiles)
        and (not kinds or said["data"].partition("=")[0] in kinds)
    ]
    if not chosen and (profiles or kinds):
        there = ", ".join(each.name for each in folders) or "no results yet"
        asked = " ".join([*profiles, *kinds])
        raise DataError(f"no results of {asked} to pack; there are: {there}")
    found = {each.name: _record(each) for each in store.glob("[0-9a-f]*") if each.is_dir()}
    records = {key: record for key, record in found.items() if record}
    left = Counter({"that are not whole": len(found) - len(records)})
    referred = {each: _with_inputs(keys_of(each), records) for each in folders}
    wanted = set().union(*(referred[each] for each in chosen))
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
        origins = {names.get(data, "unknown data") for data in _data_behind(key, records)}
        if others := ", ".join(sorted(origins - {"world", *kinds})):
            left[f"on {others}: only the world's travel unless --data names theirs"] += 1
        elif origins != {"world"} and (store / key / "features.npy").exists():
            left["with features of photographs: the other machine makes them from its own"] += 1
        else:
            kept.add(key)
    results = [
        {
            "folder": each.name,
            "profile": said["profile"],
            "data": said["data"].partition("=")[0],
            "seeds": said["seeds"],
            "set": said["set"],
            "part": part_of(each),
        }
        for each, said in settings.items()
        if each in chosen and referred[each] & kept
    ]
    return Choice(sorted(kept), results, +left)


def part_of(results: Path) -> list[str]:
    """The notebooks, or else exhibits, that are there of a results folder; none if it is whole."""
    done = sorted(path.stem for path in results.glob("notebooks/*.done"))
    if "00_start_here" in done:  # the last one
        return []
    return done or sorted(path.name for path in results.glob("arms/*"))


def keys_of(results: Path) -> set[str]:
    """Keys of the runs that a results folder refers to."""
    keys = set()
    if (results / "base.json").exists():
        named = json.loads((results / "base.json").read_text()).values()
        keys.update(key for key in named if key and len(key) == 16)  # not a data set's fingerprint
    for file, column in [(results / "runs.csv", "run")] + [
        (arm, "key") for arm in results.glob("arms/*/*.csv")
    ]:
        if file.exists():
            with open(file, newline="") as lines:
                keys.update(row[column] for row in csv.DictReader(lines))
    return keys


def _record(run: Path) -> dict | None:
    """The run.json of a run's folder, None unless it is whole."""
    try:
        record = manifests.parsed((run / "run.json").read_bytes())
    except (OSError, ValueError):
        return None
    return record if record.get("key") == run.name else None


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
    prepared = [json.loads(each.read_bytes()) for each in root.glob("data/[!.]*/meta.json")]
    names = {each["fingerprint"]: each["name"] for each in prepared}
    for folder, said in settings.items():
        for key in referred[folder]:
            for data in _data_behind(key, records) - {""}:
                names[data] = said["data"].partition("=")[0]
    return names


def describe(store: Path, choice: Choice) -> dict:
    """The manifest of some runs: sizes, hashes, and what their keys depend on.

    Raises DataError for a file of a kind that no pack holds, and for one that is not as its run's
    record says.
    """
    runs = {}
    for key in progress(choice.keys, len(choice.keys), "hashing"):
        record, files = _record(store / key), {}
        for file in sorted((store / key).iterdir()):
            if not FILE.fullmatch(file.name):
                raise DataError(
                    f"{file}: a pack holds only {', '.join(KINDS)}: remove the folder "
                    f"{key}, and the run is computed again"
                )
            with open(file, "rb") as octets:
                digest = hashlib.file_digest(octets, "sha256").hexdigest()
            files[file.name] = {"size": file.stat().st_size, "sha256": digest}
        for name, noted in record.get("files", {}).items():
            if files.get(name) != noted:
                raise DataError(
                    f"{store / key / name}: not as it was written: start ./run_all.sh, "
                    "which computes the run again, then pack"
                )
        depends = {name: record[name] for name in ("module", "device", "versions", "code")}
        runs[key] = {**depends, "files": files}
    return {
        "format": FORMAT,
        "python": platform.python_version(),
        "versions": {name: _version(name) for name in VERSIONS},
        "devices": sorted({run["device"] for run in runs.values()}),
        "results": choice.results,
        "runs": runs,
    }


def write(target: Path, manifest: dict, store: Path) -> None:
    """Write a pack aside and rename it when whole; nothing is left if that fails."""
    needed, free = size(manifest), shutil.disk_usage(target.parent).free
    if needed > free:
        raise DataError(
            f"{target.parent}: {megabytes(free)} free, up to {megabytes(needed)} "
            "needed: make room, or name a file on another disk"
        )
    aside = target.with_name(f".{target.name}.{os.getpid()}")
    text = json.dumps(manifest, indent=1).encode()
    try:
        with (
            open(aside, "xb") as file,
            gzip.GzipFile("", "wb", LEVEL, file, mtime=0) as zipped,
            tarfile.open(fileobj=zipped, mode="w|") as tar,
        ):
            _add(tar, MANIFEST, len(text), io.BytesIO(text))
            members = sizes(manifest)
            for name in progress(members, len(members), "packing"):
                _add(tar, name, members[name]["size"], open(store / name, "rb"))
        durable.replace(aside, target)
    finally:
        aside.unlink(missing_ok=True)


def _add(tar: tarfile.TarFile, name: str, octets: int, content) -> None:
    """A member without owner and time."""
    info = tarfile.TarInfo(name)
    info.size = octets
    with content as file:
        tar.addfile(info, file)


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


# --- Unpacking -----------------------------------------------------------------------------------


def unpack(asked: argparse.Namespace) -> int:
    """Put the runs into the store, and say whether this machine will find them."""
    began = time.monotonic()
    (ROOT / "results").mkdir(exist_ok=True)
    manifest, new = read(asked.file.expanduser(), ROOT / "results/store")
    print(
        f"{len(new)} runs of {len(manifest['runs'])} are new here, {megabytes(size(manifest))} "
        f"checked, {time.monotonic() - began:.0f} s"
    )
    if apart := differences(manifest):
        print(
            "\nthis machine will NOT find these runs and would train everything anew, as a run "
            "counts only\nfor what it was computed with:",
            *map(verbatim.line, apart),
            sep="\n  ",
        )
        print("Mend that (nothing has to be unpacked again), or train here.")
    other = other_device(manifest)
    if other:
        other = verbatim.line(other)
        print(f"\nthe runs were computed on {other}, which this machine takes only if told to")
    print("\nnext:" if apart else "\nnext, with nothing to train:")
    for command, folder in commands(manifest, other):
        print(f"  {verbatim.line(command):40}  for what results/{verbatim.line(folder)}/ held")
    return 0


def read(path: Path, store: Path) -> tuple[dict, list[str]]:
    """Unpack into a store, all or nothing.

    Parameters
    ----------
    path : Path
        The pack.
    store : Path
        results/store; made if it isn't there.

    Returns
    -------
    The manifest, and the keys of runs that were not in the store before.

    Raises
    ------
    DataError
        The archive is none, of another format, cut short or altered, holds anything its manifest
        doesn't name, does not fit on the disk, or holds another result for a run that is here.
    """
    if what := special(os.stat(path).st_mode):
        raise DataError(
            f"{path}: {what}, expected a file that ./run_all.sh pack has made: copy the pack again"
        )
    try:
        # Read forwards alone: tarfile never goes back, for which gzip would begin anew.
        with Bounded(gzip.open(path), path) as file, tarfile.open(fileobj=file, mode="r:") as tar:
            manifest = _read_manifest(path, tar)
            store.mkdir(exist_ok=True)
            _sweep(store)
            aside = store / f".unpacking-{os.getpid()}"
            needed, free = size(manifest), shutil.disk_usage(store).free
            if needed > free:
                raise DataError(
                    f"{store}: {megabytes(free)} free, {megabytes(needed)} needed: "
                    "make room and start again"
                )
            try:
                _extract(path, tar, manifest, aside)
                return manifest, _place(path, manifest, aside, store)
            finally:
                shutil.rmtree(aside, ignore_errors=True)
                with contextlib.suppress(OSError):  # it holds runs
                    store.rmdir()
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(
            f"{path}: not a whole pack ({error}), expected a file that ./run_all.sh "
            "pack has made: copy it again"
        ) from None


def _read_manifest(path: Path, tar: tarfile.TarFile) -> dict:
    first = tar.next()
    if first is None or first.name != MANIFEST or not first.isreg():
        raise DataError(
            f"{path}: begins with {first and first.name!r}, expected {MANIFEST}: give "
            "a file that ./run_all.sh pack has made"
        )
    if first.size > LONGEST:
        raise DataError(
            f"{path}: {MANIFEST} has {megabytes(first.size)}, expected "
            f"{megabytes(LONGEST)} at most: copy the pack again"
        )
    try:
        with tar.extractfile(first) as content:
            manifest = manifests.read(b"".join(iter(lambda: content.read(CHUNK), b"")))
    except ValueError as error:
        raise DataError(
            f"{path}: {MANIFEST} cannot be read ({error}), expected the one that "
            "./run_all.sh pack has written: copy the pack again"
        ) from None
    if manifest["format"] != FORMAT:
        raise DataError(
            f"{path}: a pack of format {manifest['format']}, expected {FORMAT}: take "
            "the version of this folder that it was packed with"
        )
    return manifest


def _extract(path: Path, tar: tarfile.TarFile, manifest: dict, aside: Path) -> None:
    """Write all members below `aside`, each held against the manifest."""
    wanted = sizes(manifest)
    for info in progress(iter(tar.next, None), len(wanted), "unpacking"):
        entry = wanted.pop(info.name, None)  # popped: a second one of the name is unknown
        if entry is None or not info.isreg():
            raise DataError(
                f"{path}: holds {info.name!r}, expected what {MANIFEST} names, once "
                "and as plain files: unpack only packs you trust"
            )
        if info.size != entry["size"]:
            raise DataError(
                f"{path}: {info.name} has {info.size:,} bytes, expected "
                f"{entry['size']:,}: copy the pack again"
            )
        target = aside / info.name
        target.parent.mkdir(parents=True, exist_ok=True)
        digest = hashlib.sha256()
        with tar.extractfile(info) as content, open(target, "xb") as file:
            while octets := content.read(CHUNK):
                digest.update(octets)
                file.write(octets)
        if digest.hexdigest() != entry["sha256"]:
            raise DataError(
                f"{path}: {info.name} was altered, its hash is not the one in "
                f"{MANIFEST}: copy the pack again"
            )
    if wanted:
        raise DataError(
            f"{path}: ends early, {len(wanted)} files are missing, {next(iter(wanted))}"
            " first: copy the pack again"
        )


def _place(path: Path, manifest: dict, aside: Path, store: Path) -> list[str]:
    """Move runs into the store once all of them agree with those that are there."""
    new, apart = [], []
    for key in sorted(manifest["runs"]):
        try:
            record, metrics = (
                (aside / key / f"{name}.json").read_bytes() for name in ("run", "metrics")
            )
            manifests.check_run(key, manifest["runs"][key], record, metrics)
        except ValueError as error:
            raise DataError(
                f"{path}: {key}/run.json is not what it should be ({error}): copy the pack again"
            ) from None
        if not (store / key / "run.json").exists():
            new.append(key)
        elif differing := differing_files(store / key, aside / key):
            apart.append(f"{store / key}: {', '.join(differing)}")
    if apart:
        raise DataError(
            "\n  ".join(
                [
                    f"{path}: holds another result for {len(apart)} runs that are here (on another kind of "
                    "processor training may round otherwise); nothing was unpacked. To take the packed "
                    "ones remove these folders and start again; mixed they would not fit together:",
                    *apart,
                ]
            )
        )
    for key in new:
        shutil.rmtree(store / key, ignore_errors=True)  # half a run
        durable.replace(aside / key, store / key)
    return new


def differing_files(ours: Path, theirs: Path) -> list[str]:
    """Files of two runs that say different things; how long a run took and when doesn't count."""
    names = sorted({each.name for folder in (ours, theirs) for each in folder.iterdir()})
    return [name for name in names if _content(ours / name) != _content(theirs / name)]


def _content(file: Path) -> object:
    if not file.exists():
        return None
    if file.name in ("run.json", "metrics.json"):
        try:
            told = manifests.parsed(file.read_bytes())
        except ValueError:
            return None
        # The files are compared themselves, and the hash of metrics.json depends on the time.
        return {
            name: value
            for name, value in told.items()
            if name not in ("finished", "files", "seal") and not name.endswith("seconds")
        }
    with open(file, "rb") as octets:
        return hashlib.file_digest(octets, "sha256").digest()


def _sweep(store: Path) -> None:
    """Remove what an unpacking left that was killed."""
    for left in store.glob(".unpacking-*"):
        if not left.name.removeprefix(".unpacking-").isdecimal():
            continue
        with contextlib.suppress(PermissionError):  # another user's process: alive
            try:
                os.kill(int(left.name.rpartition("-")[2]), 0)
            except (ProcessLookupError, OverflowError):
                shutil.rmtree(left, ignore_errors=True)


# --- Will this machine find the runs? ------------------------------------------------------------


def differences(manifest: dict) -> list[str]:
    """What this machine has otherwise of all that the keys of a pack's runs depend on.

    Versions of the packages in `runs.VERSIONS` and the code behind each run, as sentences with a
    remedy; the device is `other_device`'s.
    """
    runs = manifest["runs"].values()
    packages = sorted({each for run in runs for each in run["versions"].items()})
    told = [
        f"{name}: {there} in the pack, {_version(name)} here; remove the folder .venv and start "
        "./run_all.sh doctor: the environment is made anew from requirements.lock"
        for name, there in packages
        if there != _version(name)
    ]
    codes = sorted({(run["module"], run["code"]) for run in runs})
    if changed := [module for module, there in codes if there != _code(module)]:
        told.append(
            f"the code behind {', '.join(dict.fromkeys(changed))}; take the same version of this "
            "folder"
        )
    return told


def other_device(manifest: dict) -> str | None:
    """The device class of a pack's runs where ``--device auto`` takes another one here."""
    import torch  # 2 s

    here = "cuda" if torch.cuda.is_available() else "cpu"
    return next((each for each in manifest["devices"] if each != here), None)


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "none"


def _code(module: str) -> str:
    try:
        return fingerprint.code_hash(module)
    except ModuleNotFoundError:
        return "none"


def commands(manifest: dict, device: str | None = None) -> list[tuple[str, str]]:
    """What to start for each results folder a pack serves: (command, results folder).

    >>> commands({"results": [{"folder": "world-smoke", "profile": "smoke", "data": "world",
    ...                        "seeds": 2, "set": {"chan_steps": "5"}, "part": ["10_chan"]}]})
    [('./run_all.sh --profile smoke --seeds 2 --set=chan_steps=5 10_chan', 'world-smoke')]
    """
    found = []
    for each in manifest["results"]:
        words = ["./run_all.sh"]
        words += ["--profile", each["profile"]] if each["profile"] != "laptop" else []
        words += ["--data", f"{each['data']}=DIR"] if each["data"] != "world" else []
        words += ["--seeds", str(each["seeds"])] if each["seeds"] else []
        words += [f"--set={name}={value}" for name, value in each["set"].items()]
        words += ["--device", device] if device else []
        words += each.get("part", [])
        found.append((shlex.join(words), each["folder"]))
    return found


def megabytes(octets: int) -> str:
    """Bytes for reading.

    >>> megabytes(344_605_976), megabytes(33_400_000_000)
    ('345 MB', '33.4 GB')
    """
    return f"{octets / 1e6:.0f} MB" if octets < 1e9 else f"{octets / 1e9:.1f} GB"
