"""Hostile captions and file names: shown as they are written, wherever they are shown."""

import base64
import json
import re
import warnings
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace

import matplotlib.pyplot as plt
import nbformat
import numpy as np
import pandas as pd
import pytest
from alignbook.datasets import by_name, karpathy
from alignbook.errors import DataError
from alignbook.papers.gsl import found_answers
from alignbook.papers.gsl import show as gsl
from alignbook.show import datasheet, figures, tables
from alignbook.store import verbatim
from alignbook.workbook import checks, start
from alignbook.workbook.packs import pack
from alignbook.workbook.reports import report, report_notebooks
from alignbook.workbook.running import execute, jobs
from PIL import Image
from test_report import fill, written

DATA = SimpleNamespace(size=16, fit="squash", train_images=0, dev_images=0, test_images=0)
CAPTIONS = (
    "<img src=x onerror=\"document.title='x'\">",
    "<script>document.title='x'</script> star",
    r"$\frac{",
    "$5 and $6 a star",
    "[a](javascript:document.title='x')",
    "{{7*7}} {x}`y`",
    "`x` **b** _i_ ~s~ <b>b</b> &lt;",
    "\x1b[31mred\x1b[0m star",
    "\u202etxet star",
    "a | b \\ # star ]{.verdict}",
    "a\nrun_all.sh: done",
)
PHOTOS = (
    "<img src=x onerror=document.title=1>.png",
    "$x$ $\\frac{.png",
    "\x1b[31m.png",
    "a\nb \u202egnp.png",
    "`[a](b)`|{{7}}.png",
)
ACTING = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def folder_of(path: Path) -> Path:
    """Photographs whose names and captions would do harm, in Karpathy's form."""
    (path / "Images").mkdir(parents=True)
    entries = []
    for i, name in enumerate(PHOTOS):
        Image.new("RGB", (20, 20), (40 * i, 99, 7)).save(path / "Images" / name)
        readable = [each for each in CAPTIONS if "\x1b" not in each]  # a reader refuses others
        said = [readable[(5 * i + k) % len(readable)] for k in range(5)]
        entries.append(
            {
                "filename": name,
                "split": ("train", "val", "test")[i % 3],
                "sentences": [{"raw": text} for text in said],
            }
        )
    (path / "dataset_flickr8k.json").write_text(json.dumps({"images": entries}))
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return folder_of(tmp_path_factory.mktemp("data") / "<b>$x$ \x1b[1m")


@pytest.fixture(autouse=True)
def few(monkeypatch):
    monkeypatch.setattr(karpathy, "SIZES", dict.fromkeys(karpathy.SIZES, {}))


@pytest.fixture
def dataset(folder, tmp_path):
    return by_name.prepare(f"flickr8k={folder}", DATA, tmp_path)


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


class Page(HTMLParser):
    """Tags and text of a page."""

    def __init__(self, text: str):
        super().__init__()
        self.tags, self.attributes, self.text = [], [], ""
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += attributes

    def handle_data(self, data):
        self.text += data


def harmless(page: Page) -> None:
    """Nothing of the captions is an element, an attribute, or a control character."""
    assert not {"script", "b", "strong", "em", "a", "s", "code"} & {*page.tags}
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    assert not ACTING.search(page.text)


FRAME = pd.DataFrame({"<b>caption</b> $x$": CAPTIONS, "score": np.linspace(0, 1, len(CAPTIONS))})


def test_tables_show_text():
    said = CAPTIONS[0] + CAPTIONS[7]
    styled = tables.plain(FRAME, said, said)
    page = Page(styled.to_html())
    harmless(page)
    assert "img" not in page.tags and page.text.count(verbatim.line(said)) == 2
    assert ("class", "tex2jax_ignore mathjax_ignore") in page.attributes  # no formula either
    assert all(verbatim.line(each) in page.text for each in (*CAPTIONS, FRAME.columns[0]))


def test_tables_beside_the_papers_show_text():
    ours = pd.DataFrame(
        [("arm", "RSUM", 1.0, 0.5, 1.5, 2)],
        columns=["row", "column", "mean", "low", "high", "seeds"],
    )
    cell = dict(group="g", row="r", column="RSUM", value=2.0, mark="")
    printed = pd.DataFrame([cell])
    rows = tuple((CAPTIONS[0], each, "arm") for each in CAPTIONS)
    page = Page(tables.show(tables.beside_paper(ours, printed, rows), CAPTIONS[1]).to_html())
    harmless(page)
    assert "img" not in page.tags and all(verbatim.line(each) in page.text for each in CAPTIONS)


def rendered(markdown: str, folder: Path) -> str:
    """A page of the report."""
    (folder / "source").mkdir(parents=True)
    (folder / "source/index.md").write_text(markdown, encoding="utf-8")
    assert report.render(folder, "title", "") == []
    return (folder / "html/index.html").read_text(encoding="utf-8").partition("<article")[2]


def test_saved_tables_and_pages_of_the_report_show_text(tmp_path, monkeypatch):
    tables.save(FRAME, tmp_path, "t", CAPTIONS[0], CAPTIONS[3], {"score": 3})
    saved = (tmp_path / "tables/t.md").read_text(encoding="utf-8")
    assert "0.100" in saved and list(pd.read_csv(tmp_path / "tables/t.csv")) == list(FRAME)
    said = {"profile": "smoke", "data": "flickr8k=/photographs", "seeds": None}
    said["set"] = {
        "parser": CAPTIONS[0],
        "boxes": f"/home/{PHOTOS[0]}",
        "base": "`x`$y$|[a](b)\x1b",
    }
    (tmp_path / "settings.json").write_text(json.dumps(said))
    book = SimpleNamespace(
        out=tmp_path, kind="flickr8k", profile=SimpleNamespace(name="smoke", seeds=1, seeds_most=1)
    )
    told = tables.plain(start.circumstances(book)).to_html()
    page = rendered(f"# Title\n\n{saved}\n\n{told}", tmp_path)
    article = Page(page.partition("</article>")[0])
    assert not {"script", "img", "em", "s", "b", "code"} & {*article.tags}
    assert "math" not in article.tags and not ACTING.search(article.text)
    links = [value for name, value in article.attributes if name == "href"]
    assert not [link for link in links if "javascript" in link]
    for each in (*CAPTIONS, FRAME.columns[0], PHOTOS[0], "`x`$y$|[a](b)\x1b"):
        assert verbatim.line(each) in article.text


def test_what_stopped_a_notebook_is_text_and_never_empty(tmp_path):
    said = f"\n{CAPTIONS[0]} \x1b[31m {CAPTIONS[2]}\nrun_all.sh: done"
    error = nbformat.v4.new_output(
        "error", ename="ValueError", evalue=said, traceback=["\x1b[0;31mred\x1b[0m \u202e", "star"]
    )
    written(tmp_path / "a.ipynb", nbformat.v4.new_code_cell("check()", outputs=[error]))
    assert "\nrun_all" not in execute.failure(tmp_path / "a.ipynb")
    quoted = (
        report_notebooks.prepared(tmp_path / "a.ipynb", "", set()).cells[0].outputs[0].traceback
    )
    assert quoted == [r"red \u202e", "star"]  # without its colours
    wrong = report_notebooks.problem(tmp_path / "a.ipynb", False)
    assert "frac" in wrong and "\n" not in wrong and not ACTING.search(wrong)
    page = rendered(f"# Title\n\n:::{{error}}\n{wrong}\n:::", tmp_path)
    page = Page(page.partition("</article")[0])
    assert not {"img", "math"} & {*page.tags} and CAPTIONS[0] in page.text


# --- Figures -------------------------------------------------------------------------------------


FEW = [CAPTIONS[i] for i in (0, 2, 7, 8)]


def frame(*columns, rows=FEW) -> pd.DataFrame:
    return pd.DataFrame(
        [(each, *[1.0 + i] * (len(columns) - 1)) for i, each in enumerate(rows)], columns=columns
    )


SQUARE = pd.DataFrame(np.eye(len(FEW)), index=FEW, columns=FEW)
PIXELS = np.zeros((len(FEW), 4, 4, 3), np.uint8)
FIGURES = {
    "pictures": lambda: figures.pictures(
        PIXELS, FEW, captions=[datasheet.wrapped(each) for each in FEW]
    ),
    "matrices": lambda: figures.matrices({CAPTIONS[0]: SQUARE}, CAPTIONS[2], CAPTIONS[3]),
    "dots": lambda: figures.dots(
        frame("label", "mean", "low", "high", "paper").assign(values=[[1.0]] * len(FEW)),
        CAPTIONS[2],
        CAPTIONS[3],
    ),
    "forest": lambda: figures.forest(
        frame("contrast", "value", "low", "high", "query_low", "query_high", "paper").assign(
            reading="holds", bottom=0.0, top=1.0
        ),
        CAPTIONS[2],
        f"ratio {CAPTIONS[3]}",
        CAPTIONS[7],
    ),
    "trade-off": lambda: figures.trade_off(
        frame("row", "RSUM", "ms").assign(seed=0)[["row", "seed", "RSUM", "ms"]],
        "RSUM",
        ["ms"],
        CAPTIONS[3],
    ),
}


@pytest.mark.parametrize("drawn", FIGURES.values(), ids=FIGURES)
def test_figures_show_text(drawn, tmp_path):
    figures.save(drawn(), tmp_path, "f")
    alt = Image.open(tmp_path / "figures/f.png").info["Description"]
    drawing = ElementTree.parse(tmp_path / "figures/f.svg")  # no character that XML lacks
    said = "\n".join("".join(each.itertext()) for each in drawing.findall(".//{*}text"))
    assert not ACTING.search(alt + said)
    assert r"$\frac{" in said and r"$\frac{" in alt  # as it is written: no formula
    assert "$5 and $6" in said.replace("\n", " ") or drawn is FIGURES["pictures"]
    assert r"\u202e" in said and r"\x1b[31m" in said


def test_retrieved_captions_are_text(dataset, tmp_path):
    """What notebook 44 shows, with and without pictures, and 02 and 40."""
    found = pd.DataFrame(
        [(0, "<b>$m$", k + 1, not k, 0.5, each, 0, each) for k, each in enumerate(FEW)],
        columns=["query", "method", "rank", "right", "score", "caption", "found", "asked"],
    )
    for pictured in (
        dataset,
        SimpleNamespace(images=None, captions_of=dataset.captions_of, captions_per_image=5),
    ):
        for draw in (found_answers.captions_figure, found_answers.images_figure):
            figures.save(draw(found, pictured, CAPTIONS[3]), tmp_path, "f")
    figures.save(datasheet.picture_sheet(dataset, "test", 1), tmp_path, "f")
    assert datasheet.splits_table(dataset).pictures.tolist() == [2, 2, 1]
    formula = next(each for each in CAPTIONS if "frac" in each)
    wrong = pd.DataFrame({"its picture": [0], "attached to": [1], "text": formula})
    figures.save(gsl.wrong_pictures(dataset, wrong), tmp_path, "f")
    assert r"$\frac{" in Image.open(tmp_path / "figures/f.png").info["Description"]


# --- The terminal --------------------------------------------------------------------------------


def test_nothing_of_a_folder_gives_orders_to_a_terminal(folder, tmp_path, capsys, monkeypatch):
    broken = folder_of(tmp_path / "broken \x1b[1m")
    (broken / "Images" / PHOTOS[3]).unlink()
    spec = f"flickr8k={broken}"
    (problem,) = by_name.check(spec)
    assert r"a\nb \u202egnp.png missing" in problem
    with pytest.raises(DataError) as caught:
        by_name.prepare(spec, DATA, tmp_path / "none")
    assert str(caught.value) == problem
    with pytest.raises(checks.Refused) as refused:
        checks.check_data(spec)
    assert str(refused.value).splitlines()[1] == f"  {problem}"
    monkeypatch.setattr(jobs.workbook, "load", lambda out: by_name.prepare(spec, DATA, tmp_path))
    assert jobs.main(["data", "--out", "."]) == 1
    jobs.say(f"base {PHOTOS[2]}", 0.0)
    archive = tmp_path / PHOTOS[3]
    archive.write_bytes(b"x")
    assert pack.main(["unpack", str(archive)]) == 2
    told = capsys.readouterr()
    assert not ACTING.search(told.out + told.err + str(refused.value) + problem)
    assert all(line.startswith(("  ", "run_all.sh: ")) for line in told.err.splitlines())


def test_a_job_s_warning_is_what_it_says_and_no_line_of_code(tmp_path, monkeypatch):
    monkeypatch.setattr(warnings, "formatwarning", warnings.formatwarning)
    monkeypatch.setattr(jobs.workbook, "load", lambda out: SimpleNamespace(device="cpu"))
    monkeypatch.setitem(jobs.KINDS, "data", lambda book: None)
    assert jobs.main(["data", "--out", str(tmp_path)]) == 0
    told = warnings.formatwarning("few\nrun_all.sh: done \x07", UserWarning, "a.py", 3, line="b()")
    assert told == "  warning: few\n  run_all.sh: done \\x07\n"


@pytest.mark.parametrize(
    "text, told",
    [
        ("a\nrun_all.sh: done", "a\n  run_all.sh: done"),
        ("a\n  b\n   c", "a\n  b\n   c"),
        ("\x1b]0;x\x07\r\x08\x9b", r"\x1b]0;x\x07\r\x08\x9b"),
        ("\u2066\u202e", r"\u2066\u202e"),
        ("b\udcff", r"b\udcff"),
        ("é 山 👩‍👧 \u200f", "é 山 👩‍👧 \u200f"),
    ],
)
def test_a_message_keeps_what_can_be_read(text, told):
    assert verbatim.message(text) == told
    assert verbatim.line(text) == text.replace("\n", r"\n") if "\n" in text else told


# --- A page of all of it, for the browser ---------------------------------------------------------


def shown(folder: Path) -> Path:
    """A report of a results folder whose notebook shows a hostile data set; its page."""
    out = fill(folder / "results/world-smoke")
    figures.save(FIGURES["matrices"](), out, "f")
    png = base64.b64encode((out / "figures/f.png").read_bytes()).decode()
    alt = Image.open(out / "figures/f.png").info["Description"]
    new, html_of = nbformat.v4.new_output, tables.plain(FRAME, CAPTIONS[0], CAPTIONS[1]).to_html()
    outputs = [
        new("display_data", {"text/html": html_of}),
        new(
            "display_data",
            {"image/png": png, "text/plain": alt},
            metadata={"image/png": {"alt": alt, "width": 300}},
        ),
        new("stream", name="stdout", text="\n".join(map(verbatim.line, CAPTIONS))),
        new("error", ename="ValueError", evalue=CAPTIONS[0], traceback=[*CAPTIONS]),
    ]
    written(
        out / "notebooks/02_data.ipynb",
        nbformat.v4.new_markdown_cell("# 02 · The data"),
        nbformat.v4.new_code_cell("show()", outputs=outputs),
    )
    return report.build(out).parent / "02_data.html"
