"""The report: the executed notebooks of a results folder as pages that open from the file system.

Sphinx and MyST-NB render what papermill left behind; nothing is executed. The pages ask for
nothing beyond their folder: formulas become MathML, and search works without a server. This module
is also the Sphinx extension that does so.
"""

import argparse
import fcntl
import hashlib
import io
import json
import os
import re
import shlex
import shutil
import sys
import textwrap
import time
from binascii import a2b_base64
from importlib.metadata import version
from itertools import groupby
from pathlib import Path

from alignbook import ROOT
from alignbook.store import durable, home, progress, verbatim
from alignbook.store.fingerprint import code_hash
from alignbook.workbook import execute, exhibits, profiles

STYLE = ROOT / "docs" / "report"
INPUTS = ("settings.json", "starts.json", "claims.csv", "contrasts.csv", "timings.csv", "runs.csv")
FOLDED = {  # tags of cells whose code is folded, and what stands there instead
    "parameters": "Parameters, as the notebook has them",
    "injected-parameters": "Parameters of this run",
    "solution": "A solution",
}
# The question of each paper that most readers come with, and the claim that answers it.
QUESTIONS = {
    "chan-codings": "Hard coding (visual-codebook) or cross-attention: which retrieves better?",
    "comalign-retrieval-coco": "Does ComAlign raise the recall of its base models?",
    "covalign-shared": "One projection for queries and patches, or two?",
    "gsl-robust": "Does GSL lose less to wrong captions than a plain triplet loss?",
}


# --- From results to pages -----------------------------------------------------------------------


def asked_for(command: str, description: str, arguments: list[str]) -> argparse.Namespace:
    """The folder, profile and data that a command on one results folder names."""
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
        metavar="P",
        choices=profiles.NAMES,
        help=f"{' | '.join(profiles.NAMES)} (default: the newest results)",
    )
    parser.add_argument(
        "--data", metavar="D", default="", help="world, flickr8k, … (default: the newest results)"
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
        page = build(asked.folder or newest(ROOT / "results", asked.profile, kind))
        print(f"report: {os.path.relpath(page)}, {time.monotonic() - began:.0f} s")
    except (ValueError, OSError) as error:
        print(f"run_all.sh: {verbatim.message(error)}", file=sys.stderr)
        return 2
    return 0


def newest(results: Path, profile: str | None = None, data: str = "") -> Path:
    """The results folder, of a profile and data if they are given, that was last written to.

    Raises
    ------
    ValueError
        If no such folder has executed notebooks.
    """
    pattern = f"{data or '*'}-{profile or '*'}"
    found = {
        out: max(path.stat().st_mtime for path in executed(out))
        for out in results.glob(pattern)
        if executed(out) and (out / "settings.json").exists()
    }
    if not found:
        there = sorted(out.name for out in results.glob("*-*") if executed(out))
        command = "./run_all.sh" + (f" --profile {profile}" if profile else "")
        raise ValueError(
            f"{results}: no executed notebooks in {pattern}; there are: "
            f"{', '.join(there) or 'none'}. {command} makes some"
        )
    return max(found, key=found.get)


def executed(out: Path) -> list[Path]:
    """Executed notebooks of a results folder, in reading order."""
    paths = [out / "notebooks" / f"{name}.ipynb" for name in exhibits.NOTEBOOKS]
    return [path for path in paths if path.exists()]


def made_from(out: Path) -> str:
    """Hash of all that the report is made from: results, this code, its style, and Sphinx."""
    digest = hashlib.sha256(code_hash("alignbook.workbook.report", counts=bool).encode())
    digest.update(" ".join(map(version, ("sphinx", "myst-nb", "furo"))).encode())
    if has_api(out):
        from alignbook.workbook import api

        digest.update(api.made_from().encode())
    inputs = [out / name for name in INPUTS if (out / name).exists()]
    for path in (*STYLE.iterdir(), *inputs, *executed(out)):
        done = path.with_suffix(".done").exists()
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        digest.update(f"{path.name} {done} {content}".encode())
    return digest.hexdigest()


def has_api(out: Path) -> bool:
    """Whether a folder's report has pages of the library: the smoke profile's is there sooner."""
    return json.loads((out / "settings.json").read_text())["profile"] != "smoke"


def is_current(out: Path) -> bool:
    """Whether the report in a results folder shows what the folder holds."""
    stamp = out / "report" / "made-from.txt"
    return stamp.exists() and stamp.read_text() == made_from(out)


def build(out: Path) -> Path:
    """Write the report of a results folder, unless it is current; returns its front page.

    It is built aside and renamed, so that there is a whole report or none.

    Raises
    ------
    ValueError
        If there is no executed notebook, or no checkout with the report's style.
    """
    home.needs_checkout("the report")
    out = out.resolve()
    if not executed(out):
        raise ValueError(f"{out}/notebooks: nothing to report on; ./run_all.sh fills it")
    book = opened(out)
    with open(out / ".report.lock", "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not is_current(out):
            aside = out / ".report"
            shutil.rmtree(aside, ignore_errors=True)
            stamp = made_from(out)
            write_pages(book, aside / "source")
            said = render(aside, title(book), announcement(book))
            if has_api(out):
                from alignbook.workbook import api

                said += api.put(aside / "html" / "api", out / "report" / "api")
            for words in said:
                print(f"  report: {verbatim.line(words)}")
            (aside / "html" / "made-from.txt").write_text(stamp)
            shutil.rmtree(out / "report", ignore_errors=True)
            durable.replace(aside / "html", out / "report")
            shutil.rmtree(aside)
    return out / "report" / "index.html"


def opened(out: Path):
    """The workbook behind a results folder; its device does not matter here."""
    from alignbook.workbook.workbook import Workbook

    said = json.loads((out / "settings.json").read_text())
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
        "extensions": ["myst_nb", "alignbook.workbook.report"],
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
    """Write what Sphinx reads: front page, verdicts and notebooks."""
    import nbformat

    from alignbook.workbook import curves

    target.mkdir(parents=True)
    problems = {}  # "" for a notebook that ran to its end
    for path in executed(book.out):
        copy = target / path.name
        copy.write_text(without_places(path.read_text(encoding="utf-8"), book.data), "utf-8")
        problems[path.stem] = problem(copy, path.with_suffix(".done").exists())
        nbformat.write(prepared(copy, problems[path.stem]), copy)
    claims, contrasts = results(book.out, "claims"), results(book.out, "contrasts")
    if claims is not None and contrasts is not None:
        text = verdicts(claims, contrasts, list(problems))
        (target / "verdicts.md").write_text(text, "utf-8")
    more = ["curves"] if curves.write_page(book.out, target) else []
    (target / "index.md").write_text(front(book, problems, claims, contrasts, more), "utf-8")


def prepared(path: Path, wrong: str):
    """An executed notebook as the report shows it.

    Parameters and solutions are folded, what is wrong is said below the title, and what papermill
    added goes.
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


def results(out: Path, name: str):
    """A table of the results folder, None if it is not there."""
    import pandas as pd

    path = out / f"{name}.csv"
    return pd.read_csv(path, keep_default_na=False, na_values=[""]) if path.exists() else None


# --- The front page and the verdicts -------------------------------------------------------------


def title(book) -> str:
    """What the report is of."""
    return f"alignbook: {book.kind}, {book.profile.name} profile"


def announcement(book) -> str:
    """What stands above every page: whether numbers may be held against the papers'."""
    from alignbook.show import run_tables

    smoke = " The smoke profile checks that everything runs; it decides nothing."
    return run_tables.comparable(book) + smoke * (book.profile.name == "smoke")


def front(book, problems: dict[str, str], claims, contrasts, more: list[str] = ()) -> str:
    """The front page: in short, the verdicts, what was regenerated, when, on what, in how long.

    `more` are further pages, listed below the notebooks.
    """
    parts = [
        f"# {title(book)}",
        (
            "Four papers on matching images with text part by part, regenerated: every table and "
            "figure beside the print, and a verdict on every claim."
        ),
        f"**{announcement(book)}**",
    ]
    notebooks = list(problems)
    failed = [f"- {page(name)}: {wrong}" for name, wrong in problems.items() if wrong]
    missing = [name for name in exhibits.resolve([], book.kind) if name not in notebooks]
    if failed:
        parts += ["## Failed or unfinished", "\n".join(failed)]
    if claims is not None and contrasts is not None:
        parts += ["## In short", in_short(claims, contrasts), "## Verdicts"]
        parts += verdict_tables(claims, notebooks)
    parts += ["## What was regenerated", regenerated(book, notebooks)]
    if has_api(book.out):
        parts += ['<a href="api/index.html">What the library holds</a>, function by function.']
    if missing:
        parts += [f"Not made so far: {', '.join(missing)}."]
    parts += ["## When and on what", circumstances(book)]
    groups = [("Verdicts", ["verdicts"])] if claims is not None and contrasts is not None else []
    groups += [(paper, list(names)) for paper, names in groupby(notebooks, chapter_title)]
    groups += [("Training", list(more))] if more else []
    for caption, names in groups:
        listed = "\n".join(names)
        parts.append(f"```{{toctree}}\n:hidden:\n:caption: {caption}\n\n{listed}\n```")
    return "\n\n".join(parts) + "\n"


def chapter_title(name: str) -> str:
    """The paper a notebook is about."""
    from alignbook.evidence.printed_tables import PAPERS

    return PAPERS.get(exhibits.chapter(name), "All four papers")


def page(name: str, text: str = "") -> str:
    """A link to a notebook's page, by its title unless there is a text."""
    return f"[{text}]({name}.ipynb)"


def badge(verdict: str) -> str:
    """A verdict with its colour; the first word names it in the style sheet."""
    return f"[{verdict}]{{.verdict .{verdict.partition(' ')[0]}}}"


def in_short(claims, contrasts) -> str:
    """A line a paper: its question, the answer, and where it stands."""
    import pandas as pd

    lines = []
    for claim, question in QUESTIONS.items():
        own = contrasts[contrasts.claim == claim]
        if (claims.claim == claim).any() and len(own):
            first = own.iloc[0]
            lines.append(
                {
                    "question": f"[{question}](verdicts.md#{claim})",
                    "difference": first.contrast,
                    "value": value(first),
                    "over seeds": interval(first),
                    "over images": interval(first, "query_"),
                    "the claim is": badge(claims.set_index("claim").verdict[claim]),
                }
            )
    if not lines:
        return "None of the main questions was computed."
    return (
        "The first contrast of a claim for each paper; behind the link are the others. Points "
        "are of RSUM, the sum of six recalls in %, unless another number is named. A verdict is of "
        "the whole claim, after correction for all claims of its paper: an interval may leave "
        "out zero and the claim be undecided.\n\n" + table(pd.DataFrame(lines))
    )


def verdict_tables(claims, notebooks: list[str]) -> list[str]:
    """For each paper its claims with verdicts and links; before them how many of each."""
    from alignbook.evidence.printed_tables import PAPERS

    counts = claims.verdict.value_counts()
    said = ", ".join(f"{n} {name}" for name, n in counts.items())
    parts = [f"{len(claims)} claims: {said}."]
    for paper, own in claims.groupby("paper", sort=False):
        shown = own.assign(
            says="[" + own.says + "](verdicts.md#" + own.claim + ")",
            exhibit=[place(exhibit, notebooks) for exhibit in own.exhibit],
            verdict=own.verdict.map(badge),
        )[["says", "exhibit", "verdict"]]
        parts += [f"### {PAPERS[paper]}", table(shown.rename(columns={"says": "claim"}))]
    return parts


def place(exhibit: str, notebooks: list[str]) -> str:
    """An exhibit's name, linked with the notebook that shows it if that was executed."""
    name = exhibits.EXHIBITS[exhibit].notebook if exhibit in exhibits.EXHIBITS else ""
    return page(name, exhibit) if name in notebooks else exhibit


def verdicts(claims, contrasts, notebooks: list[str]) -> str:
    """The page of verdicts: for each claim its contrasts with intervals, and what they come to."""
    import pandas as pd

    parts = [
        "# Verdicts, claim by claim",
        (
            "A claim is cut into contrasts, A − B, one number a seed. *Over seeds*: the interval for "
            "what training again would change (95 %, or 90 % where a claim sets two bounds). *Over "
            "images*: the same for another test set of the kind. *p* is of this contrast alone, *Holm* "
            "after correction for all claims of the paper."
        ),
    ]
    if "90_claims" in notebooks:
        parts.append(f"How verdicts are reached: {page('90_claims')}.")
    for claim in claims.itertuples():
        own = contrasts[contrasts.claim == claim.claim]
        why = f" ({claim.why})" if isinstance(claim.why, str) else ""
        parts += [
            f"({claim.claim})=\n## {claim.claim}",
            f"> {claim.says}",
            f"{badge(claim.verdict)}{why}. {place(claim.exhibit, notebooks)}, test: {claim.test}.",
        ]
        if len(own):
            parts.append(
                table(
                    pd.DataFrame(
                        [
                            {
                                "contrast": each.contrast,
                                "value": value(each),
                                "over seeds": interval(each),
                                "over images": interval(each, "query_"),
                                "seeds": str(each.seeds),
                                "p": number(each.p, 4),
                                "Holm": number(each.holm, 4),
                                "reading": each.reading,
                            }
                            for each in own.itertuples()
                        ]
                    )
                )
            )
    return "\n\n".join(parts) + "\n"


def value(contrast) -> str:
    """A contrast's value with its unit."""
    from alignbook.evidence import claims

    sign = "" if contrast.unit == "×" or not contrast.value > 0 else "+"
    places = claims.DECIMALS.get(contrast.unit, 1)
    return f"{sign}{number(contrast.value, places)} {contrast.unit}"


def interval(contrast, of: str = "") -> str:
    """A contrast's interval, over seeds or ("query_") over images; a dash if there is none."""
    from alignbook.evidence import claims

    places = claims.DECIMALS.get(contrast.unit, 1)
    low, high = getattr(contrast, f"{of}low"), getattr(contrast, f"{of}high")
    return "–" if low != low else rf"\[{number(low, places)}, {number(high, places)}\]"


def number(value: float, decimals: int) -> str:
    """A number as tables show it."""
    from alignbook.show import tables

    return tables.written(value, decimals)


def table(frame) -> str:
    """A table of texts in Markdown."""
    from alignbook.show import tables

    return tables.markdown(frame.replace(r"\|", r"\\|", regex=True))


def regenerated(book, notebooks: list[str]) -> str:
    """A line a notebook: what it shows, when it ran, how long that and the training took."""
    import pandas as pd

    timings, counted = results(book.out, "timings"), set()
    lines = []
    for name in notebooks:
        trained = 0.0
        if timings is not None:  # a run that several exhibits share counts for the first
            own = timings[timings.exhibit.isin(exhibits.NOTEBOOKS[name].exhibits)]
            own = own[~own.run.isin(counted)].drop_duplicates("run")
            whole = own[["seconds", "training_seconds"]].max(axis=1)  # of a base model, not of
            trained = own.seconds.where(own.exhibit != "base-models", whole).sum()  # its measuring
            counted |= set(own.run)
        ran = papermill(book.out / "notebooks" / f"{name}.ipynb")
        lines.append(
            {
                "notebook": page(name),
                "exhibits": ", ".join(exhibits.NOTEBOOKS[name].shown) or "–",
                "executed (UTC)": (ran.get("end_time") or "–")[:16].replace("T", " "),
                "its seconds": ran.get("duration") or float("nan"),
                "runs": len(own) if trained else 0,
                "their core-seconds": trained,
            }
        )
    shown = pd.DataFrame(lines)
    total = shown[["its seconds", "runs", "their core-seconds"]].sum()
    in_all = {"notebook": "**in all**", "exhibits": "", "executed (UTC)": "", **total}
    shown.loc[len(shown)] = in_all
    from alignbook.show import tables

    return tables.markdown(shown.astype({"runs": int}), decimals=0)


def papermill(path: Path) -> dict:
    """When a notebook was executed (UTC), and for how many seconds."""
    return json.loads(path.read_text(encoding="utf-8"))["metadata"].get("papermill", {})


def computed(out: Path) -> list[tuple[str, str]]:
    """On what and in how long the main job filled a results folder, if it did."""
    file = out / "starts.json"
    if not file.exists():
        return []
    starts = json.loads(file.read_text(encoding="utf-8"))
    machines = dict.fromkeys(f"{each['machine']}, {each['cores']} cores" for each in starts)
    took = progress.clock(sum(each["seconds"] for each in starts))
    again = f", in {len(starts)} starts" if len(starts) > 1 else ""
    return [("computed on", "; ".join(machines)), ("computed in", took + again)]


def circumstances(book) -> str:
    """Data, profile, seeds, machine class and versions."""
    said = [json.loads(path.read_text(encoding="utf-8")) for path in executed(book.out)]
    language = {each["metadata"].get("language_info", {}).get("version", "?") for each in said}
    settings = json.loads((book.out / "settings.json").read_text())
    lines = [
        ("data", describe_data(book)),
        ("profile", book.profile.name),
        ("seeds", f"{book.profile.seeds} a reported arm, unless its notebook says otherwise"),
        (
            "changed settings",
            ", ".join(f"{k}={without_folders(v)}" for k, v in settings["set"].items()) or "none",
        ),
        *computed(book.out),
        ("Python", ", ".join(sorted(language))),
    ]
    if (runs := results(book.out, "runs")) is not None:
        used = {name: n for text in runs.versions for name, n in json.loads(text).items()}
        lines += [
            ("devices", ", ".join(sorted(set(runs.device)))),
            ("packages", ", ".join(f"{name} {n}" for name, n in used.items())),
            ("runs finished", f"{min(runs.finished)} to {max(runs.finished)}"),
        ]
    import pandas as pd

    from alignbook.show import tables

    frame = pd.DataFrame(lines, columns=["", "what"]).map(verbatim.markdown)
    return tables.markdown(frame) + (
        "\nThe same tables, figures and numbers lie as files in the folder above this report."
    )


def without_folders(value: str) -> str:
    """A setting that may name a file of this machine, with the file's name alone.

    Examples
    --------
    >>> [without_folders(each) for each in ("coco=/data/coco", "openclip:ViT-B-32/openai", "7")]
    ['coco=coco', 'openclip:ViT-B-32/openai', '7']
    """
    return re.sub("(^|[=:])/.*/", r"\1", value)


def describe_data(book) -> str:
    """The data set's name and its splits, as the first job left them."""
    path = book.out / "data.json"
    if not path.exists():
        return book.kind
    said = json.loads(path.read_text())
    splits = ", ".join(f"{number:,} {split}" for split, number in said["images"].items())
    return f"{book.kind}: images {splits}; {said['captions per image']} captions each"


# --- The Sphinx extension ------------------------------------------------------------------------


def setup(app) -> dict:
    """Formulas as MathML, which browsers draw themselves, and alt texts of figures."""
    app.add_html_math_renderer("mathml", (inline_formula, None), (block_formula, None))
    app.connect("doctree-read", set_alts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def mathml(tex: str, block: bool = False) -> str:
    r"""A formula in TeX as MathML.

    docutils' converter puts the index of a letter with an accent below it, as if the accent was a
    limit; a space of no width beside the letter keeps it where it belongs.

    >>> "<msub>" in mathml(r"\hat t_i")
    True
    """
    from docutils.utils.math import latex2mathml

    letter = r"\{[^{}]*\}|\\[a-zA-Z]+|\w"
    tex = re.sub(rf"\\(hat|bar|tilde|vec)\s*({letter})", r"{\\\1 \2\\hspace{0em}}", tex)
    return latex2mathml.tex2mathml(tex.replace("…", r"\ldots "), as_block=block)


def inline_formula(translator, node) -> None:
    """Write a formula within a line."""
    _write(translator, node, "{}")


def block_formula(translator, node) -> None:
    """Write a formula that stands alone."""
    _write(translator, node, '<div class="math">{}</div>\n')


def _write(translator, node, frame: str) -> None:
    from docutils import nodes
    from docutils.utils.math import MathError
    from sphinx.util import logging

    tex = node.astext()
    try:
        written = mathml(tex, block=isinstance(node, nodes.math_block))
    except MathError as error:
        logging.getLogger(__name__).warning("formula %r: %s", tex, error, location=node)
        written = f"<code>{translator.encode(tex)}</code>"
    translator.body.append(frame.format(written))
    raise nodes.SkipNode


def set_alts(app, document) -> None:
    """Give every figure the alt text and width that its output holds; MyST-NB names the file by
    its hash.
    """
    from docutils import nodes

    path = Path(app.env.doc2path(app.env.docname))
    if path.suffix != ".ipynb":
        return
    known = {}
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        for output in cell.get("outputs", []):
            if png := output.get("data", {}).get("image/png"):
                said = output["metadata"].get("image/png", {})
                known[hashlib.sha256(a2b_base64("".join(png))).hexdigest()] = said
    for image in document.findall(nodes.image):
        said = known.get(Path(image["uri"]).stem, {})
        image.setdefault("alt", said.get("alt") or f"Figure of {path.stem}")
        if "width" in said:
            image["width"] = f"{said['width']}px"
