"""Executed notebooks as the report shows them: folded, with failures, without a machine's folders."""

import json
import re
import shlex
import sys
import textwrap
from pathlib import Path

from alignbook import ROOT
from alignbook.store import verbatim
from alignbook.workbook import folders
from alignbook.workbook.running import execute

FOLDED = {  # tags of cells whose code is folded, and what stands there instead
    "parameters": "Parameters, as the notebook has them",
    "injected-parameters": "Parameters of this run",
    "solution": "A solution",
}
LINK = re.compile(r"\[([^\]]+)\]\((\w+\.ipynb)\)")  # in Markdown, from notebook to notebook


def has_api(out: Path) -> bool:
    """Whether a folder's report has pages of the library: the smoke profile's is there sooner."""
    return folders.settings_of(out)["profile"] != "smoke"


def prepared(path: Path, wrong: str, others: set[str]):
    """An executed notebook as the report shows it.

    Parameters and solutions are folded, what is wrong is said below the title, and what papermill
    added goes. A link to a notebook that is not among the `others` is its text alone.
    """
    import nbformat

    notebook = nbformat.read(path, 4)
    for name in set(notebook.metadata) - {"kernelspec", "language_info"}:
        del notebook.metadata[name]
    cells = []
    for cell in notebook.cells:
        tags = cell.metadata.get("tags", [])
        if "papermill-error-cell-tag" in tags:
            continue
        cell.metadata = {"tags": tags}
        for tag in FOLDED.keys() & set(tags):
            prompt = {"code_prompt_show": FOLDED[tag], "code_prompt_hide": FOLDED[tag]}
            cell.metadata = {"tags": [*tags, "hide-input"], "mystnb": prompt}
        for output in cell.get("outputs", []):  # a view without its kernel; its picture stays
            output.get("data", {}).pop("application/vnd.jupyter.widget-view+json", None)
            if "traceback" in output:  # it may quote what users wrote
                colours = re.compile(r"\x1b\[[\d;]*m")
                output["traceback"] = [
                    verbatim.lines(colours.sub("", each)) for each in output["traceback"]
                ]
        if cell.cell_type == "markdown":
            cell.source = LINK.sub(
                lambda link: link[0] if link[2] in others else link[1], cell.source
            )
        cells.append(cell)
    if wrong:
        cells.insert(1, nbformat.v4.new_markdown_cell(f":::{{error}}\n{wrong}\n:::"))
    notebook.cells = cells
    return notebook


def without_places(text: str, data: str) -> str:
    """An executed notebook's JSON without the folders of the machine that ran it."""
    ran = json.loads(text)["metadata"].get("papermill", {}).get("parameters", {})
    out = Path(ran.get("out") or ROOT / "results" / "here")
    places = {str(out.parents[1]): ".", str(ROOT): ".", sys.prefix: "env"}
    if len(Path.home().parts) > 1:  # in a container it may be "/"
        places[str(Path.home())] = "~"
    for said in (data, *shlex.split(ran.get("settings", ""))):
        if named := re.search("(?:^|[=:])(/.*)", said):
            places[named[1]] = Path(named[1]).name
    for place in sorted(places, key=len, reverse=True):
        text = re.sub(rf"{re.escape(place)}(?![\w.-])", lambda _: places[place], text)
    return text


def problem(path: Path, done: bool) -> str:
    """What is wrong with an executed notebook, in Markdown; nothing if it ran to its end."""
    if failure := execute.failure(path):
        said = textwrap.shorten(verbatim.line(" ".join(failure.split())), 300, placeholder=" …")
        return f"This notebook failed at {verbatim.markdown(said)}"
    return "" if done else "This notebook has not run to its end."
