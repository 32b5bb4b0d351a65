"""Exercises of the notebooks: checks that answer with a hint, and editions without the solutions.

An exercise is three cells in a row: the statement (Markdown, tag ``exercise``); code (tag
``solution``), first what is given, then a line ``# --- solution``, then the solution to the end of
the cell; and calls of `check` (tag ``check``). Its code imports what it uses and needs no run.
"""

import copy
from pathlib import Path

import numpy as np

from alignbook.store import durable

MARKER, YOUR_TURN = "# --- solution", "...  # your turn"
EXERCISE, SOLUTION, CHECK = "exercise", "solution", "check"


class NotYet(AssertionError):
    """An answer is missing or wrong; the message is the hint."""

    def _render_traceback_(self):
        """What Jupyter shows in place of a traceback."""
        return [f"Not yet: {self}"]


def check(answer, expected, hint: str, tolerance: float = 1e-4) -> None:
    """Say that an answer is right, or raise its hint.

    Parameters
    ----------
    answer : number, bool, or array, tensor or list of numbers
        None and ``...`` are answers that are still missing.
    expected : likewise
        Of the same shape.
    hint : str
        What helps on and doesn't give the answer away.
    tolerance : float
        Largest absolute difference that is still right.

    Raises
    ------
    NotYet
        With the hint; before it, whether the answer is missing, no number or of another shape.

    Examples
    --------
    >>> check(0.33333, 1 / 3, "three equal parts")
    ✓ right
    >>> check(0.3, 1 / 3, "three equal parts")
    Traceback (most recent call last):
    alignbook.show.exercises.NotYet: three equal parts
    >>> check(..., 1 / 3, "three equal parts")
    Traceback (most recent call last):
    alignbook.show.exercises.NotYet: there is no answer yet. Hint: three equal parts
    """
    if answer is None or answer is ...:
        raise NotYet(f"there is no answer yet. Hint: {hint}")
    wanted = np.asarray(expected, dtype=float)
    try:
        given = np.asarray(answer, dtype=float)
    except (TypeError, ValueError):
        raise NotYet(f"that is neither a number nor an array of them. Hint: {hint}") from None
    if given.shape != wanted.shape:
        raise NotYet(f"the shape is {given.shape}, not {wanted.shape}. Hint: {hint}")
    if not np.allclose(given, wanted, rtol=0, atol=tolerance):
        raise NotYet(hint)
    print("✓ right")


def tagged(notebook, tag: str) -> list:
    """Cells of a notebook that have a tag."""
    return [cell for cell in notebook.cells if tag in cell.metadata.get("tags", ())]


def student_edition(notebook):
    """A copy of a notebook whose solutions are left to the reader, without any output.

    Checks may fail there: "Run All" shows their hints and goes on.

    Raises ValueError, with the cell's first line, for a solution without exactly one marker.

    Examples
    --------
    >>> import nbformat
    >>> cell = nbformat.v4.new_code_cell("def half(x):\\n    # --- solution\\n    return x / 2")
    >>> cell.metadata.tags = ["solution"]
    >>> edition = student_edition(nbformat.v4.new_notebook(cells=[cell]))
    >>> print(edition.cells[0].source)
    def half(x):
        ...  # your turn
    """
    edition = copy.deepcopy(notebook)
    for cell in tagged(edition, SOLUTION):
        cell.source = without_solution(cell.source)
    for cell in tagged(edition, CHECK):
        cell.metadata.tags = [*cell.metadata.tags, "raises-exception"]
    for cell in edition.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    return edition


def without_solution(source: str) -> str:
    """What is given of an exercise: the lines before the marker, and one that waits."""
    lines = source.splitlines()
    places = [i for i, line in enumerate(lines) if line.strip() == MARKER]
    if len(places) != 1:
        raise ValueError(f"a solution has one line {MARKER!r}, not {len(places)}: {lines[:1]}")
    marker = lines[places[0]]
    return "\n".join([*lines[: places[0]], marker.replace(MARKER, YOUR_TURN)])


def write_editions(source: Path, folder: Path) -> dict[Path, int]:
    """Write the edition of every notebook of `source` to `folder`; how many exercises each has.

    Raises ValueError, and nothing is written, where a notebook of the same name but with other
    content is there already: it may hold someone's answers, or the solutions themselves.
    """
    import nbformat  # 2 s, that no exercise's check should wait for

    editions, found = {}, {}
    for path in sorted(source.glob("*.ipynb")):
        notebook = nbformat.read(path, as_version=nbformat.NO_CONVERT)
        try:
            editions[folder / path.name] = nbformat.writes(student_edition(notebook)) + "\n"
        except ValueError as error:
            raise ValueError(f"{path.name}: {error}") from None
        found[folder / path.name] = len(tagged(notebook, SOLUTION))
    for path, text in editions.items():
        if path.exists() and path.read_bytes() != text.encode():
            raise ValueError(
                f"{path} is there already and may hold answers: "
                "name another folder with --out, or move it away"
            )
    folder.mkdir(parents=True, exist_ok=True)
    for path, text in editions.items():
        durable.write(path, text)
    return found
