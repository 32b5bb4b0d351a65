"""The report's front page: notebook 00 as it was executed, and what only the report knows."""

from itertools import groupby
from pathlib import Path

from alignbook.evidence.printed_tables import PAPERS
from alignbook.show import run_tables
from alignbook.store import progress, verbatim
from alignbook.workbook import exhibits, folders
from alignbook.workbook.publishing import published
from alignbook.workbook.reports import report_notebooks
from alignbook.workbook.start import MAP


def title(book) -> str:
    """What the report is of."""
    return f"alignbook: {book.kind}, {book.profile.name} profile"


def announcement(book) -> str:
    """What stands above every page: whether numbers may be compared with the papers'."""
    smoke = " The smoke profile checks that everything runs; it decides nothing."
    return run_tables.comparable(book) + smoke * (book.profile.name == "smoke")


def front(book, problems: dict[str, str], own, more: list[str] = ()):
    """The front page, a notebook.

    Parameters
    ----------
    problems : what is wrong with each executed notebook, in the order of reading.
    own : notebook 00 as the report shows it, None where it was not executed.
    more : further pages, listed below the notebooks.
    """
    import nbformat

    cell = nbformat.v4.new_markdown_cell
    pages = [name for name in problems if name != MAP]
    parts = [
        " ".join(filter(None, (f"**{title(book)}.**", computed(book.out), published.said(book))))
    ]
    failed = [f"- {link(name)}: {wrong}" for name, wrong in problems.items() if wrong]
    if failed:
        parts += ["## Failed or unfinished", "\n".join(failed)]
    known = exhibits.resolve([], book.kind)
    if missing := [name for name in known if name not in problems]:
        parts += [f"Not made so far: {', '.join(missing)}."]
    if own is None:
        own = nbformat.v4.new_notebook(cells=[cell(f"# {title(book)}")])
        parts += ["\n".join(f"- {link(name)}" for name in pages)]
    if report_notebooks.has_api(book.out):
        parts += ['<a href="api/index.html">What the library holds</a>, function by function.']
    groups = [("What holds", [name for name in pages if name == exhibits.VERDICTS])]
    others = [name for name in pages if name != exhibits.VERDICTS]
    groups += [(paper, list(names)) for paper, names in groupby(others, chapter_title)]
    for caption, names in [*groups, ("Training", list(more))]:
        listed = "\n".join(names)
        parts.append(
            f"```{{toctree}}\n:hidden:\n:caption: {caption}\n\n{listed}\n```" * bool(names)
        )
    own.cells.insert(1, cell("\n\n".join(parts)))
    return own


def chapter_title(name: str) -> str:
    """The paper a notebook is about."""
    return PAPERS.get(exhibits.chapter(name), "All four papers")


def link(name: str) -> str:
    """A link to a notebook's page, by its title."""
    return f"[]({'index' if name == MAP else name}.ipynb)"


def computed(out: Path) -> str:
    """On what and in how long the main job filled a results folder, "" if it did not."""
    starts = folders.starts_of(out)
    if not starts:
        return ""
    machines = dict.fromkeys(map(folders.machine_of, starts))
    took = progress.clock(sum(each["seconds"] for each in starts))
    again = f", in {len(starts)} starts" if len(starts) > 1 else ""
    return f"Computed on {verbatim.markdown('; '.join(machines))}, in {took}{again}."
