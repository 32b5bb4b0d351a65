"""What the papers' exhibits rest on, a room each: arms, costs, hours, and settings.

Arms and costs are imported when asked for: the models behind them take seconds to import.
"""

import ast
import json
import re
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

import alignbook.papers.chan.hours
import alignbook.papers.comalign.hours
import alignbook.papers.comalign.settings
import alignbook.papers.covalign.hours
import alignbook.papers.covalign.settings
import alignbook.papers.gsl.hours
import alignbook.papers.gsl.settings
from alignbook.show.gpu_hours import Training
from alignbook.store.fingerprint import is_module
from alignbook.workbook.exhibits import EXHIBITS, paper

IMPORT = re.compile(r"^ *from alignbook[\w.]* import (?:\([^)]*\)|[^\n]+)", re.M)
PAPERS = ("chan", "comalign", "covalign", "gsl")
# By paper: what its exhibits take of a GPU, and of two cores.
HOURS: "dict[str, Hours]" = {
    "chan": alignbook.papers.chan.hours,
    "comalign": alignbook.papers.comalign.hours,
    "covalign": alignbook.papers.covalign.hours,
    "gsl": alignbook.papers.gsl.hours,
}
# Of those papers that have settings that name files.
SETTINGS: "tuple[Settings, ...]" = (
    alignbook.papers.comalign.settings,
    alignbook.papers.covalign.settings,
    alignbook.papers.gsl.settings,
)
# Settings that name the data to train on, and what the paper profile takes, by target.
SOURCES = alignbook.papers.comalign.settings.SOURCES
# Settings for which it takes what was fetched, by where that lies below data/.
FETCHED = alignbook.papers.comalign.settings.FETCHED


class Arms(Protocol):
    """What a paper's `arms` offers.

    Two functions more where they are needed: `tuning_inputs`, as `inputs`, for the trials; and
    `measured(book, exhibit, arm, run, inputs)`, the run whose numbers are shown.
    """

    def arms(self, exhibit: str, profile: Any) -> dict[str, tuple[list, dict]]:
        """By arm: the settings between which dev decides, and what is changed after that."""

    def inputs(self, book: Any, exhibit: str, arm: str) -> Sequence:
        """What the runs of an arm start from."""


class Cost(Protocol):
    """What a paper's `cost` offers."""

    def table(self, book: Any, listed: Any) -> Any:
        """Time and memory of an exhibit's runs, a row each."""

    def costs(self, measured: Any) -> Any:
        """The columns that claims are about, of what `table` returns."""


class Hours(Protocol):
    """What a paper's `hours` offers.

    More where it is needed: `steps(config)`, the optimiser steps of a run, 0 where nothing is
    trained, if they are not `config.steps`; `place(exhibit, arm)`, what the world's runs of an arm
    start from as far as their settings do not say it, if it is not the exhibit's domain;
    `remark(profile)`, what to say of a profile's cost; and for exhibits that are timed
    `measured(exhibit, arms, profile)`, how many measurements they take, and `MODEL`, the seconds of
    one in smoke, in the world, and on photographs.
    """

    ALLOWED: int  # core-seconds of training in a laptop run
    BESIDES: dict[str, float]  # seconds besides training: of an "arm" and the "start"

    def trainings(
        self, exhibit: str, arms: Sequence[str], profile: Any, captions: int
    ) -> list[Training]:
        """The trainings of an exhibit with some arms, on a split of so many captions."""


class Settings(Protocol):
    """What a paper's `settings` offers, which name files."""

    WORDS: dict[str, tuple[str, ...]]  # by setting: the words that name none
    # Settings that data have for themselves which another setting names (`SOURCES`).
    OF_SOURCES: tuple[str, ...] = ()

    def held(self, name: str, value: str, profile: Any, data: str) -> str:
        """Hash of what the files hold."""

    def problem(self, name: str, profile: Any, data: str, exhibits: Sequence[str] = ()) -> str:
        """What speaks against a setting for some exhibits, "" if nothing does."""


def settings_of(name: str) -> Settings:
    """The settings of a paper that one of them belongs to.

    >>> settings_of("parser").__name__
    'alignbook.papers.comalign.settings'
    """
    return next(each for each in SETTINGS if name in each.WORDS)


def arms_of(exhibit: str) -> Arms:
    """The arms of an exhibit's paper."""
    return import_module(module(exhibit, "arms"))


def cost_of(exhibit: str) -> Cost:
    """What measures time for an exhibit's paper. Neither this nor `arms_of` shows in a code's hash."""
    return import_module(module(exhibit, "cost"))


def steps(exhibit: str, config: Any) -> int:
    """The optimiser steps of a run of an exhibit, 0 where nothing is trained."""
    own = HOURS[paper(exhibit)]
    return own.steps(config) if hasattr(own, "steps") else config.steps


def place(exhibit: str, arm: str, data: str) -> Any:
    """What the runs of an arm start from, as far as their settings do not say it: the world has
    domains and gold boxes, photographs one place alone.
    """
    if data != "world":
        return ""
    own = HOURS[paper(exhibit)]
    return own.place(exhibit, arm) if hasattr(own, "place") else EXHIBITS[exhibit].domain


def module(exhibit: str, part: str = "arms") -> str:
    """Full name of a module of an exhibit's room.

    >>> module("gsl-T2", "cost"), module("base-models")
    ('alignbook.papers.gsl.cost', 'alignbook.backbones.transfer')
    """
    name = paper(exhibit)
    return f"alignbook.papers.{name}.{part}" if name in PAPERS else "alignbook.backbones.transfer"


def shows(name: str) -> bool:
    """Whether a module of the library, by its full name, says what a notebook shows.

    What it shows of stored runs; those have keys of their own, and data say what they are.
    """
    _, room, *_ = [*name.split("."), ""]
    return (
        room in ("show", "evidence", "explorer", "papers") or name == "alignbook.workbook.results"
    )


def imported_by(notebook: Path) -> list[str]:
    """Modules of the library that a notebook imports, by their full names."""
    found = set()
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"]) if cell["cell_type"] == "code" else ""
        for statement in IMPORT.findall(source):  # a cell may hold what is no Python, such as %time
            (node,) = ast.parse(statement.strip()).body
            names = [f"{node.module}.{each.name}" for each in node.names]
            found |= {name if is_module(name) else node.module for name in names}
    return sorted(found - {"alignbook"})
