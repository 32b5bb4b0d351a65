"""The command line's `student`: editions of the notebooks without their exercises' solutions."""

import argparse
import os
import sys
from pathlib import Path

from alignbook import ROOT
from alignbook.show import exercises
from alignbook.store import verbatim
from alignbook.workbook.once import Once


def main(arguments: list[str]) -> int:
    """``student [--out DIR]``: the command line's part; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="run_all.sh student",
        allow_abbrev=False,
        description="Write every notebook without the solutions of its exercises.",
    )
    parser.add_argument(
        "--out",
        action=Once,
        metavar="DIR",
        type=Path,
        default=ROOT / "results/student",
        help="where to (default: results/student)",
    )
    folder = parser.parse_args(arguments).out
    try:
        for path, number in exercises.write_editions(ROOT / "notebooks", folder).items():
            print(f"{os.path.relpath(path)}: {number} exercise{'s' * (number != 1)}")
        if folder.resolve().is_relative_to(ROOT):
            place = folder.resolve().relative_to(ROOT)
            print(f"./run_all.sh lab, then open {place}/00_start_here.ipynb there")
        else:
            print("Lab shows the project folder only: copy the edition into it to run it")
    except ValueError as error:
        print(f"run_all.sh: {verbatim.message(error)}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"run_all.sh: cannot write to {folder}: {error.strerror}", file=sys.stderr)
        return 2
    return 0
