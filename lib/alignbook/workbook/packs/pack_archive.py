"""A pack as a file: a manifest, then the files of each run; written and read whole or not at all."""

import contextlib
import gzip
import hashlib
import io
import json
import os
import platform
import shutil
import tarfile
import zlib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from alignbook.datasets.archives import AT_ONCE, Bounded
from alignbook.datasets.files import special
from alignbook.datasets.prepared import progress
from alignbook.errors import DataError
from alignbook.store import durable
from alignbook.store.runs import VERSIONS
from alignbook.workbook.packs import pack_manifest, pack_members
from alignbook.workbook.packs.pack_choice import Choice, record_of
from alignbook.workbook.packs.pack_manifest import FILE, FORMAT, KINDS, megabytes, size, sizes

MANIFEST = "MANIFEST.json"
# Level 1 stores the laptop's runs in 60 % of their size at 50 MB/s: half of the features' bytes go,
# none of the weights'. Level 6 saves 1 % more.
LEVEL = 1


def describe(store: Path, choice: Choice) -> dict:
    """The manifest of some runs: sizes, hashes, and what their keys depend on.

    Raises DataError for a file of a kind that no pack holds, for one that is not as its run's
    record says, and for what `read` would refuse.
    """
    runs = {}
    for key in progress(choice.keys, len(choice.keys), "hashing"):
        record, files = record_of(store / key), {}
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
        if wrong := fault(store / key, runs[key]):
            raise DataError(
                f"{store}/{wrong}: remove the folder {key}, and the run is computed again"
            )
    return {
        "format": FORMAT,
        "python": platform.python_version(),
        "versions": {name: version_here(name) for name in VERSIONS},
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
    aside = durable.aside(target)
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
            durable.sweep(store)
            aside = durable.aside(store / "pack")
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
    if first.size > pack_manifest.LONGEST:
        raise DataError(
            f"{path}: {MANIFEST} has {megabytes(first.size)}, expected "
            f"{megabytes(pack_manifest.LONGEST)} at most: copy the pack again"
        )
    try:
        with tar.extractfile(first) as content:
            manifest = pack_manifest.read(b"".join(iter(lambda: content.read(AT_ONCE), b"")))
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
    """Write all members below `aside`, each checked against the manifest."""
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
            while octets := content.read(AT_ONCE):
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
        if wrong := fault(aside / key, manifest["runs"][key]):
            raise DataError(
                f"{path}: {wrong}: pack the runs again with the same version of this folder, and "
                "unpack only packs you trust"
            )
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


def fault(folder: Path, run: dict) -> str:
    """What is wrong with a run that has the files of its manifest's entry, "" if nothing is."""
    key, name = folder.name, "run.json"
    try:
        pack_manifest.check_run(key, run, (folder / name).read_bytes())
        name = "metrics.json"
        metrics = pack_manifest.parsed((folder / name).read_bytes())
        pack_members.check_metrics(metrics, "weights.safetensors" in run["files"])
        for name in sorted(run["files"]):
            pack_members.check_file(folder / name)
    except ValueError as error:
        return f"{key}/{name} is not what it should be ({error})"
    return ""


def differing_files(ours: Path, theirs: Path) -> list[str]:
    """Files of two runs that say different things; how long a run took and when doesn't count."""
    names = sorted({each.name for folder in (ours, theirs) for each in folder.iterdir()})
    return [name for name in names if _content(ours / name) != _content(theirs / name)]


def _content(file: Path) -> object:
    if not file.exists():
        return None
    if file.name in ("run.json", "metrics.json"):
        try:
            told = pack_manifest.parsed(file.read_bytes())
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


def version_here(name: str) -> str:
    """A package's version on this machine."""
    try:
        return version(name)
    except PackageNotFoundError:
        return "none"
