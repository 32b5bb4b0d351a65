"""What a power cut, a full disk or an editor left broken in results, found before work starts.

It is named, set aside and made again: what a job made, by Snakemake; a run, by the job whose list
names it. A list for which Snakemake has no record is made again too, as nobody knows with which
settings it was made.
"""

import csv
import json
import os
import sys
from base64 import urlsafe_b64encode
from pathlib import Path

from alignbook import ROOT
from alignbook.datasets import prepared
from alignbook.store import durable, runs
from alignbook.workbook import folders
from alignbook.workbook.exhibits import EXHIBITS

MADE = (
    "data.json",
    "base.json",
    "arms/*/*.csv",
    "seeds/*.csv",
    "efficiency/*.csv",
    "benchmarks/kernels.csv",
    "metrics.csv",
    "summary.csv",
    "timings.csv",
    "runs.csv",
    "images.parquet",
    "notebooks/*.done",
)


def mend(out: Path) -> None:
    """Set aside what is broken in a results folder, and of the runs and data it was made from."""
    folders.read(out / "starts.json")
    _drop_broken_records(out)
    _mend_written(out)
    # Without settings nobody knows which lists are of these: see `results.there`.
    lists = [*out.glob("arms/*/*.csv"), *out.glob("seeds/*.csv")]
    unknown = [] if folders.whole_settings(out) else lists
    for file in sorted(path for pattern in MADE for path in out.glob(pattern)):
        if not _is_whole(file):
            shown = file.with_suffix(".ipynb") if file.suffix == ".done" else file
            durable.set_aside(file, f"{shown}: cut or altered")
        elif not any(_record(out, file, kind).exists() for kind in ("metadata", "incomplete")):
            unknown += [file] * (not _stands_beside(file))
        elif bad := [key for key in _keys_in(file) if _is_lost(key)]:
            durable.set_aside(file, f"{file}: names run {bad[0]}")
            for mark in file.parent.glob(f"{file.stem}-*.bought"):  # those share the work again
                mark.unlink()
    for file in unknown:
        file.unlink(missing_ok=True)
    if unknown:
        more = f" and {len(unknown) - 1} more" if len(unknown) > 1 else ""
        print(f"  {unknown[0]}{more}: no record of what it was made with; made again", flush=True)
    if (out / "data.json").exists():
        prepared.is_whole(ROOT / "data" / json.loads((out / "data.json").read_bytes())["folder"])


def _mend_written(out: Path) -> None:
    """Have a notebook executed again of which a figure or table is lost, or not as it was written.

    Snakemake has no record of these: what a notebook left is noted in its `.done`.
    """
    for done in sorted(out.glob("notebooks/*.done")):
        again = f"{done.stem} is executed again"
        try:
            files = {
                name: {"size": noted["size"], "sha256": noted["sha256"]}
                for name, noted in json.loads(done.read_bytes() or b"{}").items()
            }
        except (ValueError, AttributeError, KeyError, TypeError):
            durable.set_aside(done, f"{done}: cut or altered", again)
            continue
        if durable.fault(out, files):
            for name, noted in files.items():
                if wrong := durable.fault(out, {name: noted}):
                    if (out / name).is_file():
                        durable.set_aside(out / name, wrong, again)
                    else:
                        print(f"  {wrong}; {again}", file=sys.stderr, flush=True)
            done.unlink()


def _stands_beside(file: Path) -> bool:
    """Whether it holds times that stand beside an exhibit's, such as chan-F3-wide.csv: no job is
    asked for these, so that Snakemake never has a record of them.
    """
    return file.parent.name == "efficiency" and file.stem not in EXHIBITS


def _is_whole(file: Path) -> bool:
    """Whether a file that a job made is as it was written, as far as that is known."""
    if file.suffix == ".done":  # users may change an executed notebook
        executed = file.with_suffix(".ipynb")
        octets = executed.read_bytes().strip() if executed.exists() else b""
        return octets[:1] == b"{" and octets[-1:] == b"}"
    return folders.is_whole(file)


def _is_lost(key: str) -> bool:
    """Whether a run is no longer as it was written; what is of other code, or removed, is not."""
    if runs.fault(key) != runs.OTHER and runs.drop(key):
        return True
    return not (runs.STORE / key).exists() and (runs.STORE / ".bad" / key).exists()


def _keys_in(file: Path) -> list[str]:
    """The runs that a file names: an arm's list, that of bought seeds, or base.json."""
    if file.name == "base.json":
        named = json.loads(file.read_bytes()).values()
        return [key for key in named if key and len(key) == 16]  # not a data set's fingerprint
    if file.parent.parent.name != "arms" and file.parent.name != "seeds":
        return []
    with open(file, newline="", encoding="utf-8") as lines:
        return [row["key"] for row in csv.DictReader(lines)]


def _record(out: Path, file: Path, kind: str) -> Path:
    """Where Snakemake keeps what a file was made with, or notes that it is being made."""
    name = urlsafe_b64encode(file.relative_to(out).as_posix().encode()).decode()
    longest = os.pathconf(out, "PC_NAME_MAX") - 1
    parts = [name[i : i + longest] for i in range(0, len(name), longest)]
    return out.joinpath(".snakemake", kind, *("@" + part for part in parts[:-1]), parts[-1])


def _drop_broken_records(out: Path) -> None:
    """Remove records of Snakemake that are cut: it would take what they belong to as up to date.
    One that is altered differs from the rule, and costs a rerun.
    """
    for file in out.glob(".snakemake/metadata/**/*"):
        if file.is_file():
            try:
                record = json.loads(file.read_bytes())
                whole = isinstance(record, dict) and {"rule", "params", "code"} <= set(record)
            except ValueError:
                whole = False
            if not whole:
                file.unlink()
