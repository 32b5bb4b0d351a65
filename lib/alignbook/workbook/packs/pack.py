"""Trained runs for another machine: ``./run_all.sh pack FILE`` here, ``unpack FILE`` there.

A pack is a gzipped tar archive: MANIFEST.json, which gives every file's size and hash and what the
runs' keys depend on, then the files of each run as ``<key>/<name>``. Photographs never travel, nor
does the world, which another machine draws again from its seed. The same runs give the same bytes.
"""

import argparse
import errno
import shlex
import sys
import time
from pathlib import Path

from alignbook import ROOT
from alignbook.errors import DataError
from alignbook.store import fingerprint, verbatim
from alignbook.workbook import folders
from alignbook.workbook.packs import pack_archive, pack_choice
from alignbook.workbook.packs.pack_manifest import megabytes, size
from alignbook.workbook.running import lent

HANDED = 200_000_000  # bytes of a file that a class is handed, at most


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
    one.add_argument(
        "file",
        metavar="FILE",
        type=Path,
        nargs="?",
        help="what to make (default: runs.tar.gz, with --reference class.tar.gz)",
    )
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
    one.add_argument(
        "--reference",
        action="store_true",
        help="only the results that results/reference/ shows, without the largest features where "
        "there is too much, which are made again in half a minute: the file to hand out to a class",
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


def pack(asked: argparse.Namespace) -> int:
    """Choose, write, and say what went in, what stayed and what to do with it."""
    began = time.monotonic()
    target = asked.file or Path("class.tar.gz" if asked.reference else "runs.tar.gz")
    target = target.expanduser().absolute()
    if target.exists():
        raise DataError(f"{target}: exists already: remove it, or name another file")
    kinds = [spec.partition("=")[0] for spec in asked.data]
    choice = pack_choice.choose(ROOT, asked.profile, kinds, asked.all, asked.reference)
    if not choice.keys:
        raise DataError(
            "\n  ".join(
                ["nothing to pack: compute it first, with ./run_all.sh", *pack_choice.stays(choice)]
            )
        )
    manifest = pack_archive.describe(ROOT / "results/store", choice)
    pack_archive.write(target, manifest, ROOT / "results/store")
    names = ", ".join(each["folder"] for each in choice.results) or "no results folder"
    print(
        f"{target}: {len(choice.keys)} runs ({names}), {megabytes(size(manifest))} in "
        f"{megabytes(target.stat().st_size)}, {time.monotonic() - began:.0f} s"
    )
    print(
        *(f"  {line}" for line in pack_choice.stays(choice)),
        sep="\n",
        end="\n" if choice.left else "",
    )
    if asked.reference and target.stat().st_size > HANDED:
        print(
            f"  larger than the {megabytes(HANDED)} that a class is handed: --data or --profile "
            "chooses among the published results"
        )
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


def unpack(asked: argparse.Namespace) -> int:
    """Put the runs into the store, and say whether this machine will find them."""
    began = time.monotonic()
    (ROOT / "results").mkdir(exist_ok=True)
    manifest, new = pack_archive.read(asked.file.expanduser(), ROOT / "results/store")
    apart = differences(manifest)
    for each in manifest["results"]:
        if not each.get("part"):  # whole: nothing has to be tried in small first
            out = ROOT / "results" / each["folder"]
            (out / folders.UNPACKED).mkdir(parents=True, exist_ok=True)
            if not apart:
                lent.lend(out, ROOT / "results/reference" / out.name)
    print(
        f"{len(new)} runs of {len(manifest['runs'])} are new here, {megabytes(size(manifest))} "
        f"checked, {time.monotonic() - began:.0f} s"
    )
    if apart:
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


def differences(manifest: dict) -> list[str]:
    """What differs here of all that the keys of a pack's runs depend on.

    Versions of the packages in `runs.VERSIONS` and the code behind each run, as sentences with a
    remedy; the device is `other_device`'s.
    """
    runs = manifest["runs"].values()
    packages = sorted({each for run in runs for each in run["versions"].items()})
    told = [
        f"{name}: {there} in the pack, {pack_archive.version_here(name)} here; remove the folder "
        ".venv and start ./run_all.sh doctor: the environment is made anew from requirements.lock"
        for name, there in packages
        if there != pack_archive.version_here(name)
    ]
    codes = sorted({(run["module"], run["code"]) for run in runs})
    if changed := [module for module, there in codes if there != code_here(module)]:
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


def code_here(module: str) -> str:
    """Hash of the code behind a module on this machine."""
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
