"""Weights and data from their publishers: ``./run_all.sh fetch NAME …``, or all of a profile.

Nothing is ever fetched unasked. resources.yaml, here and in each paper's room, says of each thing
where it is had, how large it is, under which licence, and its hash where one is published. It goes
below data/, where the paper profile looks for it. What is there stays; what was cut goes on.
"""

import argparse
import json
import os
import shutil
import sys
from datetime import UTC, datetime
from pathlib import Path

from alignbook import ROOT
from alignbook.datasets import archives
from alignbook.errors import DataError
from alignbook.store import durable
from alignbook.workbook import downloads, needs
from alignbook.workbook.downloads import Source

NOTED = "fetched.json"  # below data/: what came, from where, and its hash


def main(arguments: list[str]) -> int:
    """``fetch …``: the command line's part; returns the exit code."""
    asked = parser().parse_args(arguments)
    data = ROOT / "data"
    if not (asked.names or asked.profile):
        print(listed(data))
        return 0
    try:
        names = chosen(asked.names, asked.profile)
        if not agreed(names, data, asked.accept):
            return 2
    except DataError as error:
        print(f"run_all.sh fetch: {error}", file=sys.stderr)
        return 2
    failed = 0
    for name in names:
        try:
            fetch(name, data)
        except DataError as error:  # the others may be had
            failed += 1
            print(f"run_all.sh fetch: {name}: {error}", file=sys.stderr)
        except KeyboardInterrupt:
            print("\nstopped; the same command goes on from there.", file=sys.stderr)
            return 130
    return 1 if failed else 0


def parser() -> argparse.ArgumentParser:
    """What can be asked for."""
    whole = argparse.ArgumentParser(
        prog="run_all.sh fetch",
        allow_abbrev=False,
        description="Fetch weights and freely available data into data/. Without a name: the list.",
    )
    whole.add_argument("names", nargs="*", metavar="NAME", help="what to fetch, as the list has it")
    whole.add_argument(
        "--profile", choices=["paper"], help="all that this profile's notebooks need or may use"
    )
    whole.add_argument("--accept", action="store_true", help="accept the licences without asking")
    return whole


def chosen(names: list[str], profile: str | None) -> list[str]:
    """What to fetch, each once; DataError for a name that is unknown, or had by hand alone."""
    for name in names:
        known = needs.RESOURCES.get(name)
        if not known:
            raise DataError(f"{name!r} is unknown; there are: {', '.join(fetchable())}")
        if not known.sources:
            raise DataError(
                f"{name} ({known.what}) can't be fetched; it is had {known.where}, and goes into "
                f"{ROOT / 'data' / known.folder}"
            )
    if profile:
        used = [each for book in needs.NOTEBOOKS.values() for each in book.named]
        names = [*names, *(name for name in fetchable() if name in used)]
    return list(dict.fromkeys(names))


def fetchable() -> list[str]:
    """The names of all that can be fetched, or some of its files."""
    return [name for name, each in needs.RESOURCES.items() if each.sources]


def lacking(name: str, data: Path) -> list[Source]:
    """The sources of a thing whose files are not all there."""
    known = needs.RESOURCES[name]
    return [
        source
        for source in known.sources
        if not all(is_there(data / known.folder / made) for made in source.makes)
    ]


def is_there(path: Path) -> bool:
    """Whether a file, or a folder with something in it, has its name: it got it when it was whole."""
    return path.is_file() or path.is_dir() and any(path.iterdir())


def listed(data: Path) -> str:
    """What can be fetched: name, bytes to come, licence; and what cannot."""
    lines = ["What can be fetched into data/, and under which licence:"]
    for name in fetchable():
        known = needs.RESOURCES[name]
        size = sum(source.size for source in lacking(name, data))
        to_come = f"{needs.amount(size):>8}" if size else "   there"
        lines.append(f"  {name:<14}{to_come}  {known.what}; {known.licence}")
    by_hand = [name for name, each in needs.RESOURCES.items() if not each.sources]
    lines.append("By hand alone, see ./run_all.sh --profile paper --dry-run: " + ", ".join(by_hand))
    return "\n".join(lines)


def agreed(names: list[str], data: Path, accepted: bool) -> bool:
    """Say what is to come under which licences, and ask; DataError where nobody can answer."""
    to_come = [name for name in names if lacking(name, data)]
    for name in to_come:
        known = needs.RESOURCES[name]
        size = needs.amount(sum(source.size for source in lacking(name, data)))
        print(f"{name}: {known.what}, {size}; licence: {known.licence}")
    if accepted or not to_come:
        return True
    if not sys.stdin.isatty():
        raise DataError("nobody is there to accept the licences; read them and add --accept")
    return input("Accept these licences and fetch? [y/N] ").strip().lower() in ("y", "yes")


def fetch(name: str, data: Path) -> None:
    """Bring what is not there of a thing; DataError with the remedy for what can't be had."""
    known = needs.RESOURCES[name]
    folder = data / known.folder
    sources = lacking(name, data)
    for number, source in enumerate(sources, 1):
        label = f"{name} {number}/{len(sources)} {source.called}"
        if not source.unpack:
            _bring(source, folder, data, label)
            continue
        archive = folder / ".fetching" / "archives" / source.called
        if not archive.exists():
            _bring(source, archive.parent, data, label)
        _take(archive, source.unpack, folder)
    looked = needs.look(name, folder)
    for file, wrong in looked.files:
        if wrong:
            print(f"{name}: {file.name} {wrong}; it is had {known.where}")
    for problem in looked.problems:
        print(f"{name}: {problem}")
    if looked.ready:
        print(f"{name}: there, in {folder}")


def _bring(source: Source, folder: Path, data: Path, label: str) -> None:
    """Bring a file and note its hash, which it has to have the next time."""
    noted = _noted(data)
    before = noted.get(source.place, {}).get("sha256", "")
    found = downloads.bring(source, folder, before, label)
    if not (source.sha256 or before):
        print(f"{source.called}: no hash is published; noted sha256 {found['sha256']}")
    noted[source.place] = found | {"when": f"{datetime.now(UTC):%Y-%m-%d}"}
    durable.write(data / NOTED, json.dumps(noted, indent=1, sort_keys=True))


def _noted(data: Path) -> dict:
    """What came before; DataError for a file of it that is none."""
    path = data / NOTED
    try:
        return json.loads(path.read_text()) if path.exists() else {}
    except ValueError as error:
        raise DataError(
            f"{path}: no JSON ({error}), expected what was fetched before; remove it"
        ) from error


def _take(archive: Path, wanted: tuple[str, ...], folder: Path) -> None:
    """Unpack an archive aside, move what is wanted of it into the folder, remove the rest."""
    aside = archive.with_name(f"{archive.name}.unpacked")
    if not aside.exists():
        archives.unpack(archive, aside)
    for name in wanted:
        if (aside / name).exists():
            os.replace(aside / name, folder / name)
        elif not is_there(folder / name):
            shutil.rmtree(aside)
            raise DataError(f"{archive}: holds no {name}; look into it, its publisher changed it")
    shutil.rmtree(aside)
    archive.unlink()
    for place in (archive.parent, archive.parent.parent):
        if not any(place.iterdir()):
            place.rmdir()
