"""The programs that the main job starts and waits for: Snakemake and the report.

Nothing is computed in the main job itself: Ctrl-C reaches it alone, and it ends the others.
"""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path

from alignbook import ROOT
from alignbook.workbook import folders
from alignbook.workbook.running import cluster, live

# What the child does: keep Snakemake's own words in a file and its events in another.
SNAKEMAKE = """\
import sys, alignbook
sys.stderr = open(sys.argv.pop(1), "w", buffering=1)
from alignbook.workbook.running import events
from snakemake.cli import main
events.register()
main()
"""


def snakemake(
    settings_file: Path,
    out: Path,
    log: Path,
    events: Path,
    notebooks: list[str],
    spread: str,
    cores: int,
    place: cluster.Place = cluster.HERE,
) -> list[str]:
    """The command that walks the graph in a results folder, with jobs here or at another place."""
    return [
        *(sys.executable, "-c", place.python() + SNAKEMAKE, str(log)),
        *("--snakefile", str(ROOT / "Snakefile"), "--directory", str(out)),
        *(*place.options(cores), "--scheduler", "greedy"),
        *("--nolock", "--rerun-incomplete", "--keep-going", "--quiet", "host", "--nocolor"),
        *("--logger", "alignbook", "--logger-alignbook-file", str(events)),
        *("--configfile", str(settings_file)),
        *("--config", f"spread={spread}", f"notebooks={json.dumps(notebooks)}"),
        *([f"executor={place.executor}"] if place.executor else []),
    ]


FIRST_LOOK = 300  # seconds after which there is a report of what is there; then twice as many


def finish(
    command: list[str],
    seen: live.View,
    settings: dict | None = None,
    end: Callable[[subprocess.Popen], None] = cluster.end,
) -> int:
    """Run a program to its end, which Ctrl-C ends too; returns its exit code.

    If it fills the results folder of some settings, their report is there before it ends, and grows
    with it.
    """
    # A session of its own: Ctrl-C reaches this process alone, which then ends the others.
    child = seen.start(command)
    try:
        for doubled in count():
            due = time.monotonic() + FIRST_LOOK * 2**doubled
            while child.poll() is None and (not settings or time.monotonic() < due):
                seen.turn()
            if child.poll() is not None:
                seen.turn(0)  # its last words
                return child.returncode
            write_report(settings, seen)
    except BaseException:
        end(child)
        raise


def write_report(settings: dict, seen: live.View) -> int:
    """Put the report of some results together, if they have notebooks that it lacks."""
    from alignbook.workbook.reports import report

    out = folders.results_folder(settings)
    if not folders.executed(out) or report.is_current(out):
        return 0
    return finish([sys.executable, "-m", "alignbook", "book", str(out)], seen)
