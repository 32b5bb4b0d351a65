"""Which module of a chapter says what is trained for an exhibit, and which measures its time.

Imported when asked for: the models behind them take seconds to import.
"""

import ast
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from alignbook.store.fingerprint import is_module, trains
from alignbook.workbook.exhibits import paper

IMPORT = re.compile(r"^ *from alignbook[\w.]* import (?:\([^)]*\)|[^\n]+)", re.M)
PAPERS = ("chan", "comalign", "covalign", "gsl")


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


def arms_of(exhibit: str) -> Arms:
    """The arms of an exhibit's paper."""
    name = paper(exhibit)
    if name == "chan":
        from alignbook.papers.chan import arms
    elif name == "comalign":
        from alignbook.papers.comalign import arms
    elif name == "covalign":
        from alignbook.papers.covalign import arms
    else:
        from alignbook.papers.gsl import arms
    return arms


def cost_of(exhibit: str) -> Cost:
    """What measures time for an exhibit's paper."""
    name = paper(exhibit)
    if name == "chan":
        from alignbook.papers.chan import cost
    elif name == "covalign":
        from alignbook.papers.covalign import cost
    else:
        from alignbook.papers.gsl import cost
    return cost


def module(exhibit: str, part: str = "arms") -> str:
    """Full name of that module, for hashes of its code.

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
    if room in ("show", "evidence", "explorer"):
        return True
    return room == "papers" and not trains(name) or name == "alignbook.workbook.results"


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
