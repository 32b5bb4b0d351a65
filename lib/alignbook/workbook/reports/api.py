"""The report's pages of the library's functions, made from their docstrings.

Sphinx's autodoc imports what it describes, which takes a quarter of a minute: the report of the
smoke profile goes without, and pages that are still right are taken over from the last report.
"""

import hashlib
import re
import shutil
from importlib.metadata import version
from pathlib import Path

from alignbook import PACKAGE
from alignbook.evidence import printed_tables
from alignbook.workbook import chapters, exhibits
from alignbook.workbook.reports import report

# What one works with in Python; CONTRIBUTING.md has the map of all modules.
ROOMS = {
    printed_tables.PAPERS[paper]: tuple(f"papers.{paper}.{name}" for name in each.PAGES)
    for paper, each in zip(chapters.PAPERS, exhibits.CATALOGUES)
} | {
    "Core": tuple(
        f"core.{name}"
        for name in (
            "similarity",
            "losses",
            "kernels",
            "encoders",
            "sgraf",
            "vocabulary",
            "retrieval",
            "compositional",
            "training",
        )
    ),
    "Backbones": tuple(
        f"backbones.{name}" for name in ("base", "pretrained", "bert", "towers", "region_features")
    ),
    "Data": ("datasets.by_name", "datasets.prepared", "world"),
    "Evidence": tuple(
        f"evidence.{name}"
        for name in (
            "printed_tables",
            "claims",
            "learnt",
            "looks",
            "families",
            "sequential",
            "tuning_error",
            "verdicts",
            "statistics",
            "rounding",
        )
    ),
    "Runs": ("store.runs", "store.home", "workbook.profiles", "workbook.workbook"),
}
TITLE = "alignbook: the library"
FRONT = """\
# The library

<a href="../index.html">Back to the report</a>. Shapes are in parentheses: `(B, K, d)` are B images
of K regions of width d. What stands here is said in the code as well, beside the line it is of.
"""
SETTINGS = {
    "extensions": [
        "myst_nb",
        "sphinx.ext.autodoc",
        "sphinx.ext.napoleon",
        "alignbook.workbook.reports.report_sphinx",
        "alignbook.workbook.reports.api",
    ],
    "autodoc_member_order": "bysource",
    "autodoc_preserve_defaults": True,  # as they are written: a default may be a folder of here
    "autodoc_typehints": "none",
    "default_role": "py:obj",
    "maximum_signature_line_length": 80,
    "napoleon_google_docstring": False,
    "napoleon_use_ivar": True,
    "suppress_warnings": ["ref.python"],  # `Config` is the name of a class in many modules
    "toc_object_entries": False,
}


def made_from() -> str:
    """Hash of all that the pages are made from: the package's text, and Sphinx."""
    digest = hashlib.sha256(" ".join(map(version, ("sphinx", "furo"))).encode())
    modules = [name for room in ROOMS.values() for name in room]
    for path in (Path(__file__), *sorted(report.STYLE.iterdir()), *map(source, modules)):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def source(module: str) -> Path:
    """The file of a module, which is named without the package in front."""
    path = PACKAGE.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def write_pages(target: Path) -> None:
    """Write what Sphinx reads: a page a module, and the front page that lists them."""
    target.mkdir(parents=True)
    parts = [FRONT]
    for room, modules in ROOMS.items():
        listed = "\n".join(modules)
        parts.append(f"```{{toctree}}\n:caption: {room}\n:maxdepth: 1\n\n{listed}\n```\n")
        for module in modules:
            name = f"alignbook.{module}"
            words = f"{name}\n{'=' * len(name)}\n\n.. automodule:: {name}\n   :members:\n"
            (target / f"{module}.rst").write_text(words, "utf-8")
    (target / "index.md").write_text("\n".join(parts), "utf-8")


def put(html: Path, before: Path) -> list[str]:
    """Put the pages into `html`, those in `before` if they are still right; returns warnings."""
    stamp = made_from()
    if (before / "made-from.txt").exists() and (before / "made-from.txt").read_text() == stamp:
        shutil.copytree(before, html)
        return []
    aside = html.with_name(".api")
    shutil.rmtree(aside, ignore_errors=True)
    write_pages(aside / "source")
    said = report.render(aside, TITLE, "", **SETTINGS)
    (aside / "html" / "made-from.txt").write_text(stamp)
    (aside / "html").rename(html)
    shutil.rmtree(aside)
    return said


# --- The Sphinx extension ------------------------------------------------------------------------


def setup(app) -> dict:
    """Bars in docstrings are those of formulas, and fields of tuples need no words of Python's."""
    app.connect("autodoc-process-docstring", keep_bars)
    app.connect("autodoc-skip-member", skip_fields)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def keep_bars(app, what, name, described, options, lines: list[str]) -> None:
    r"""Let \|x\| be a norm: in reStructuredText it would be replaced by what is called x."""
    for i, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...")):
            lines[i] = re.sub(r"(`[^`]*`)|\|", lambda found: found[1] or r"\|", line)


def skip_fields(app, what, name, described, skip, options) -> bool | None:
    """Leave out what Python says of a named tuple's fields; the class tells of them."""
    return True if (described.__doc__ or "").startswith("Alias for field number") else None
