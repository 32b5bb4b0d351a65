"""The report: the executed notebooks of a results folder as pages that open from the file system.

Sphinx and MyST-NB render what papermill left behind; nothing is executed. The pages ask for
nothing beyond their folder: formulas become MathML, and search works without a server.
"""

import argparse
import fcntl
import hashlib
import io
import os
import shutil
import sys
import time
from importlib.metadata import version
from pathlib import Path

from alignbook import ROOT
from alignbook.store import durable, home, verbatim
from alignbook.store.fingerprint import code_hash
from alignbook.workbook import folders, profiles
from alignbook.workbook.publishing import beside
from alignbook.workbook.reports import report_notebooks

STYLE = ROOT / "docs" / "report"
INPUTS = ("settings.json", "starts.json", "runs.csv")  # besides the notebooks


def asked_for(command: str, description: str, arguments: list[str]) -> argparse.Namespace:
    """The folder, profile and data that a command on one results folder names."""
    from alignbook.workbook.once import Once

    parser = argparse.ArgumentParser(
        prog=f"run_all.sh {command}", allow_abbrev=False, description=description
    )
    parser.add_argument(
        "folder",
        metavar="FOLDER",
        nargs="?",
        type=Path,
        help="results folder (default: the newest of this profile and data)",
    )
    parser.add_argument(
        "--profile",
        action=Once,
        metavar="P",
        choices=profiles.PROFILES,
        help=f"{' | '.join(profiles.PROFILES)} (default: the newest results)",
    )
    parser.add_argument(
        "--data",
        action=Once,
        metavar="D",
        default="",
        help="world, flickr8k, … (default: the newest results)",
    )
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    """``book [FOLDER] [--profile P] [--data D]``: the command line's part; returns the exit code."""
    asked = asked_for(
        "book", "Put the executed notebooks of a results folder together as a report.", arguments
    )
    began = time.monotonic()
    try:
        kind = asked.data.partition("=")[0]
        page = build(asked.folder or folders.newest(ROOT / "results", asked.profile, kind))
        print(f"report: {os.path.relpath(page)}, {time.monotonic() - began:.0f} s")
    except (ValueError, OSError) as error:
        print(f"run_all.sh: {verbatim.message(error)}", file=sys.stderr)
        return 2
    return 0


def made_from(out: Path) -> str:
    """Hash of all that the report is made from: results, this code, its style, and Sphinx."""
    digest = hashlib.sha256(code_hash("alignbook.workbook.reports.report", counts=bool).encode())
    digest.update(" ".join(map(version, ("sphinx", "myst-nb", "furo"))).encode())
    if report_notebooks.has_api(out):
        from alignbook.workbook.reports import api

        digest.update(api.made_from().encode())
    inputs = [out / name for name in INPUTS if (out / name).exists()]
    if inputs and inputs[0].name == "settings.json":
        said = folders.settings_of(out)
        references = beside.published(said["data"].partition("=")[0], said["profile"])
        inputs += [reference / "metrics.csv" for reference in references]
    for path in (*STYLE.iterdir(), *inputs, *folders.executed(out)):
        done = path.with_suffix(".done").exists()
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        digest.update(f"{path.name} {done} {content}".encode())
    return digest.hexdigest()


def is_current(out: Path) -> bool:
    """Whether the report in a results folder shows what the folder holds, and is as it was written."""
    stamp = out / "report" / "made-from.txt"
    return stamp.exists() and stamp.read_text() == f"{made_from(out)} {_sizes(out / 'report')}"


def _sizes(folder: Path) -> str:
    """Hash of how long the pages of a report are: a disk or an editor may have cut them."""
    files = sorted(each for each in folder.rglob("*") if each.is_file())
    said = [f"{each.relative_to(folder)} {each.stat().st_size}" for each in files]
    kept = [line for line in said if not line.startswith("made-from.txt ")]
    return hashlib.sha256("\n".join(kept).encode()).hexdigest()


def build(out: Path) -> Path:
    """Write the report of a results folder, unless it is current; returns its front page.

    It is built aside and renamed, so that there is a whole report or none.

    Raises
    ------
    ValueError
        If there is no executed notebook, or no checkout with the report's style.
    """
    sys.modules.setdefault("rfc3987_syntax", None)  # 2 s for a check of addresses, that none needs
    from alignbook.workbook.reports import report_front

    home.needs_checkout("the report")
    out = out.resolve()
    if not folders.executed(out):
        raise ValueError(f"{out}/notebooks: nothing to report on; ./run_all.sh fills it")
    book = opened(out)
    with open(out / ".report.lock", "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not is_current(out):
            aside = out / ".report"
            shutil.rmtree(aside, ignore_errors=True)
            stamp = made_from(out)
            write_pages(book, aside / "source")
            said = render(aside, report_front.title(book), report_front.announcement(book))
            if report_notebooks.has_api(out):
                from alignbook.workbook.reports import api

                said += api.put(aside / "html" / "api", out / "report" / "api")
            for words in said:
                print(f"  report: {verbatim.line(words)}")
            html = aside / "html"
            (html / "made-from.txt").write_text(f"{stamp} {_sizes(html)}")
            shutil.rmtree(out / "report", ignore_errors=True)
            durable.replace(aside / "html", out / "report")
            shutil.rmtree(aside)
    return out / "report" / "index.html"


def opened(out: Path):
    """The workbook behind a results folder; its device does not matter here."""
    from alignbook.workbook.workbook import Workbook

    said = folders.settings_of(out)
    changed = said["set"] | ({"seeds": str(said["seeds"])} if said["seeds"] else {})
    profile = profiles.get(said["profile"], said["data"].partition("=")[0], changed)
    return Workbook(profile, said["data"], out)


def render(folder: Path, name: str, banner: str, **others) -> list[str]:
    """Make `folder/html` of the pages in `folder/source`; returns Sphinx's warnings.

    `others` are settings of Sphinx, instead of or besides those of the report.
    """
    from sphinx.application import Sphinx
    from sphinx.util.console import strip_escape_sequences
    from sphinx.util.docutils import docutils_namespace, patch_docutils

    source, warnings = folder / "source", io.StringIO()
    settings = {
        "project": name,
        "html_title": name,
        "language": "en",
        "smartquotes": False,
        "extensions": ["myst_nb", "alignbook.workbook.reports.report_sphinx"],
        "html_theme": "furo",
        "html_theme_options": {"announcement": banner} if banner else {},
        "html_static_path": [str(STYLE)],
        "html_css_files": ["report.css"],
        "html_math_renderer": "mathml",
        "html_copy_source": False,
        "html_show_sourcelink": False,
        "html_show_copyright": False,
        "html_show_search_summary": False,  # it fetches pages, which file:// does not allow
        "nb_execution_mode": "off",
        "nb_ipywidgets_js": {},
        "nb_merge_streams": True,
        "nb_render_markdown_format": "myst",
        "myst_enable_extensions": ["dollarmath", "amsmath", "attrs_inline", "colon_fence"],
        "myst_dmath_double_inline": True,  # as in JupyterLab
        **others,
    }
    with patch_docutils(), docutils_namespace():
        Sphinx(
            source,
            None,
            folder / "html",
            folder / "doctrees",
            "html",
            settings,
            status=None,
            warning=warnings,
        ).build()
    words = strip_escape_sequences(warnings.getvalue())
    return [line.replace(f"{source}/", "") for line in words.splitlines()]


def write_pages(book, target: Path) -> None:
    """Write what Sphinx reads: notebooks, the one with the map as front page, and curves."""
    import nbformat

    from alignbook.workbook.reports import report_curves, report_front
    from alignbook.workbook.start import MAP

    target.mkdir(parents=True)
    problems = {}  # "" for a notebook that ran to its end
    front, executed = None, folders.executed(book.out)
    others = {"index.ipynb", *(path.name for path in executed)}
    for path in executed:
        copy = target / path.name
        text = report_notebooks.without_places(path.read_text(encoding="utf-8"), book.data)
        copy.write_text(text.replace(f"({MAP}.ipynb)", "(index.ipynb)"), "utf-8")
        problems[path.stem] = report_notebooks.problem(copy, path.with_suffix(".done").exists())
        shown = report_notebooks.prepared(copy, problems[path.stem], others)
        if path.stem == MAP:
            copy.unlink()
            front = shown
        else:
            nbformat.write(shown, copy)
    more = ["curves"] if report_curves.write_page(book.out, target) else []
    nbformat.write(report_front.front(book, problems, front, more), target / "index.ipynb")
