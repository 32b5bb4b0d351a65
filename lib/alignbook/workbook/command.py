"""The command line: ``./run_all.sh`` hands over to ``python -m alignbook``, and that to `main`."""

import argparse
import os
import re
import signal
import sys
from functools import partial
from importlib import import_module

from alignbook.core.names import PROFILES
from alignbook.store import home
from alignbook.workbook import lab, surroundings
from alignbook.workbook.once import Once

# Other uses than to compute, and what does each of them: a module of this room, and its function.
OTHERS = {
    "lab": "lab:lab",
    "book": "reports.report:main",
    "compare": "publishing.compared:compare_main",
    "publish": "publishing.published:publish_main",
    "student": "student:main",
    "filter": "notebookfilter:main",
    "tensorboard": "reports.tensorboard:main",
    "fetch": "fetch:main",
    "doctor": "doctor:main",
}
EPILOG = """\
targets:
  a chapter (chan), a notebook (11_chan_ablations) or an exhibit (chan-T3); none means everything.

other uses:
  ./run_all.sh test [PYTEST ARGUMENTS]   every test, the smoke profile of every notebook included
  ./run_all.sh lab [JUPYTER ARGUMENTS]   the notebooks in JupyterLab, on this machine only
  ./run_all.sh lab --photos DIR          the explorer there, on pictures of your own
  ./run_all.sh book [FOLDER]             the report of the newest results (or --profile, --data)
  ./run_all.sh compare [FOLDER]          which numbers lie elsewhere than the reference's
  ./run_all.sh publish [FOLDER]          results, or their done notebooks, as results/reference/
  ./run_all.sh student [--out DIR]       the notebooks without their exercises' solutions
  ./run_all.sh filter                    a git filter: commits get notebooks without outputs
  ./run_all.sh tensorboard [FOLDER]      the newest results' curves as TensorBoard event files
  ./run_all.sh fetch [NAME ...]          weights and data from their publishers, if you ask for it
  ./run_all.sh doctor                    versions, devices, data found, and what is missing
  ./run_all.sh pack FILE                 trained runs into one file, for a class without training
  ./run_all.sh unpack FILE               such a file's runs into the run store, hash-checked
  ./run_all.sh unpack FILE DIR           a data set's archive into a folder, paths checked
  ./run_all.sh lock                      compute requirements.lock from requirements.in again

examples:
  ./run_all.sh                                           everything: smoke first, then laptop
  ./run_all.sh --profile smoke chan-T3                   one table, in small, within minutes
  ./run_all.sh --data flickr8k=../flickr8k chan          on photographs of your own
  ./run_all.sh --executor slurm                          on a cluster, which shares the folder
  ./run_all.sh --dry-run                                 what would be computed, and why
  ./run_all.sh --profile paper --dry-run                 what the papers' own settings take

Starting again goes on where the last start ended. Results: results/<data>-<profile>/, and in it
report/index.html, which opens in a browser.
"""


def main(arguments: list[str]) -> int:
    """Do what the command line asks; returns the exit code."""
    try:
        home.needs_checkout("python -m alignbook")
    except ValueError as refusal:
        print(refusal, file=sys.stderr)
        return 2
    try:
        return do(arguments)
    except OSError as error:
        if not (line := surroundings.told(error)):
            raise
        print(f"run_all.sh: {line}", file=sys.stderr)
        return 2


def do(arguments: list[str]) -> int:
    """What `main` does where nothing gives way."""
    if arguments[:1] == ["test"]:
        spread = f"-n {workers()} --dist loadgroup --no-loadscope-reorder".split()
        lab.hand_over("pytest", *spread, *arguments[1:])
    if arguments and arguments[0] in OTHERS:
        module, _, name = OTHERS[arguments[0]].partition(":")
        return getattr(import_module(f"alignbook.workbook.{module}"), name)(arguments[1:])
    for name in (signal.SIGTERM, signal.SIGHUP):  # a closed terminal is a Ctrl-C
        signal.signal(name, signal.default_int_handler)
    if arguments[:1] in (["pack"], ["unpack"]):
        from alignbook.workbook.packs import pack

        return pack.main(arguments)
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # closed by who started this
    sys.stdout.reconfigure(line_buffering=True, errors="replace")  # what is said is said at once
    try:
        asked = parser().parse_args(arguments)
        from alignbook.workbook.running import (
            main_job,  # after what --help and bad options say at once
        )

        return main_job.start(asked)
    except KeyboardInterrupt:
        print(
            "\nstopped. What is finished is kept; the same command goes on from there.",
            file=sys.stderr,
        )
        return 130
    except BrokenPipeError:  # who read along is gone, as in `./run_all.sh | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE


def workers() -> int:
    """Processes that tests are spread over: one more than cores, as many tests wait for others."""
    return min(4, surroundings.cores() + 1)


def parser() -> argparse.ArgumentParser:
    """What can be asked for."""
    whole = argparse.ArgumentParser(
        prog="run_all.sh",
        description="Compute the workbook's tables and figures, or some of them.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    option, once = whole.add_argument, partial(whole.add_argument, action=Once)
    option("targets", nargs="*", metavar="TARGET", help="what to compute (default: everything)")
    once("--profile", metavar="P", help=f"{' | '.join(PROFILES)} (default: laptop)")
    once(
        "--data",
        metavar="D",
        default="world",
        help="world (made here, the default), flickr8k=DIR, flickr30k=DIR, coco=DIR, "
        "f30k_precomp=DIR, coco_precomp=DIR or precomp=DIR",
    )
    once("--seeds", metavar="N", type=positive, help="train N times (default: the profile's)")
    once(
        "--jobs",
        metavar="N",
        type=positive,
        help="use N cores (default: all there are); with --executor at most N jobs at once "
        "(default: 100)",
    )
    once("--device", metavar="DEV", default="auto", help="auto (default), cpu, cuda or mps")
    once("--gpu-jobs", metavar="N", type=positive, help="jobs a GPU takes at once (default: 1)")
    option(
        "--set",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="change one value of the profile; may be given more than once. tensorboard=yes "
        "changes none: it writes event files at the end, as the command of this name does",
    )
    once(
        "--spread",
        choices=("seed", "arm", "exhibit", "chapter"),
        help="one job per training of an arm, per arm, per exhibit or per chapter with all its arms "
        "(default: chapter for smoke, seed for overnight and more with --executor, else arm)",
    )
    once(
        "--executor",
        metavar="NAME",
        help="submit the jobs to a cluster by this executor plugin of Snakemake, such as slurm; "
        "profiles/NAME/ says how: docs/at-scale.md (default: this machine)",
    )
    option(
        "--set-resources",
        metavar="RULE:NAME=VALUE",
        type=resource,
        action="append",
        default=[],
        help="what a rule asks for, such as base:mem_mb=8000; may be given more than once",
    )
    option("--dry-run", action="store_true", help="list what would run, and why; compute nothing")
    option("--no-report", action="store_true", help="leave the report as it is: book makes it")
    return whole


def positive(text: str) -> int:
    """A whole number from 1 to 1,000."""
    if not (text.isdecimal() and text.isascii()) or len(text) > 9 or not 1 <= int(text) <= 1000:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 to 1000")
    return int(text)


def resource(text: str) -> str:
    """What a rule of the graph asks for, RULE:NAME=VALUE."""
    if not re.fullmatch(r"\w+:\w+=.+", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not RULE:NAME=VALUE")
    return text
