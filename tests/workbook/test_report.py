"""The report: made of a small results folder by hand, it opens, links, and loads nothing else."""

import base64
import io
import json
import os
import re
import shutil
import socket
import sys
import time
from html.parser import HTMLParser
from pathlib import Path

import nbformat
import pandas as pd
import pytest
from alignbook.evidence import claims
from alignbook.workbook import budget, command, exhibits, folders, start
from alignbook.workbook.reports import report, report_notebooks, report_sphinx
from alignbook.workbook.running import live, walker
from conftest import ROOT
from PIL import Image

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
CLAIMS = """\
claim,paper,exhibit,says,test,verdict,why,seeds,p,holm,needed
chan-hard-coding,chan,chan-T3,"One best region beats cross-attention, s|t included.",ordered,reproduced,,3,0.001,0.01,3
gsl-against-ncr,gsl,gsl-F1,Retrieves better than NCR.,greater,not run,needs another seed,0,,,
"""
CONTRASTS = """\
claim,contrast,column,same_as,unit,seeds,value,low,high,level,p,holm,reading,query_low,query_high,detectable,needed
chan-hard-coding,visual-codebook − cross-attention,RSUM,,points,3,12.34,4.5,20.1,0.95,0.0012,0.0098,holds,-1.5,26.0,5,3
chan-hard-coding,soft ÷ hard,ms,,×,3,2.511,2.25,2.75,0.95,0.001,0.01,holds,,,1,3
"""
TIMINGS = """\
exhibit,row,role,seed,run,steps,training_seconds,seconds
chan-T3,cross-attention,report,0,aa,12,3.0,4.0
chan-T3,visual-codebook,report,0,bb,12,5.0,6.0
chan-T3,lse,report,0,bb,12,5.0,6.0
base-models,world-clip,report,0,cc,12,30.0,2.0
"""
RUNS = """\
exhibit,row,role,seed,run,versions,device,finished
chan-T3,cross-attention,report,0,aa,"{""torch"": ""9.8.7""}",cpu,2031-05-06T07:08:09Z
"""
PLACE = "/home/somebody/book"  # where the notebooks ran
ALT = 'Figure: RSUM of "hard" & soft coding.'


def picture(shade: int) -> str:
    """A PNG of one colour, as notebooks hold it."""
    file = io.BytesIO()
    Image.new("RGB", (8, 8), (shade, 0, 0)).save(file, "png")
    return base64.b64encode(file.getvalue()).decode()


def shown(shade: int, **metadata):
    data = {"image/png": picture(shade), "text/plain": "<Figure>"}
    return nbformat.v4.new_output("display_data", data, metadata=metadata)


def written(path: Path, *cells) -> None:
    """An executed notebook as papermill leaves it."""
    ran = {
        "start_time": "2031-05-06T07:00:00",
        "end_time": "2031-05-06T07:08:00",
        "duration": 41.7,
        "parameters": {"out": f"{PLACE}/results/world-smoke"},
    }
    metadata = {"papermill": ran, "language_info": {"name": "python", "version": "3.12.3"}}
    nbformat.write(nbformat.v4.new_notebook(cells=list(cells), metadata=metadata), path)


def fill(out: Path) -> Path:
    """A results folder with two notebooks that ran, one that failed and one that was cut short."""
    code, prose = nbformat.v4.new_code_cell, nbformat.v4.new_markdown_cell
    (out / "notebooks").mkdir(parents=True)
    said = {"profile": "smoke", "data": "world", "seeds": None, "set": {}, "device": "cpu"}
    (out / "settings.json").write_text(json.dumps(said))
    on = {"cores": 2, "machine": "Linux x86_64"}
    starts = [on | {"seconds": 130.4}, on | {"seconds": 55.0}]
    (out / "starts.json").write_text(json.dumps(starts))
    for name, text in (
        ("claims", CLAIMS),
        ("contrasts", CONTRASTS),
        ("timings", TIMINGS),
        ("runs", RUNS),
    ):
        (out / f"{name}.csv").write_text(text)
    (out / "data.json").write_text(json.dumps({"images": {"train": 1300}, "captions per image": 5}))
    widget = nbformat.v4.new_output(
        "display_data",
        {
            "application/vnd.jupyter.widget-view+json": {"model_id": "a", "version_major": 2},
            "text/html": "<p>the static form</p>",
        },
    )
    written(
        out / "notebooks/11_chan_ablations.ipynb",
        prose("# 11 · Coding and pooling"),
        prose(
            "See [what follows](90_claims.ipynb) and [another](21_comalign_compositional.ipynb)."
        ),
        code('profile = "laptop"', metadata={"tags": ["parameters"]}),
        code(f'out = "{PLACE}/results/world-smoke"', metadata={"tags": ["injected-parameters"]}),
        prose(r"Words $\hat t_i$, $v_1 … v_K$ and $$s = \frac{1}{\lambda} \log \sum_i e^{x_i}$$"),
        code(
            "figures.save(one); figures.save(two)",
            outputs=[shown(10, **{"image/png": {"alt": ALT, "width": 350}}), shown(20)],
        ),
        code("explorer", outputs=[widget]),
        code("answer = 42", metadata={"tags": ["solution"]}),
        code("secret = 7", metadata={"tags": ["remove-cell"]}),
    )
    (out / "notebooks/11_chan_ablations.done").touch()
    error = nbformat.v4.new_output(
        "error",
        ename="ValueError",
        evalue=f"too few in {PLACE}/data",
        traceback=[f"File {PLACE}/lib/alignbook/papers/chan/model.py:3"],
    )
    written(
        out / "notebooks/02_data.ipynb", prose("# 02 · The data"), code("check()", outputs=[error])
    )
    written(
        out / "notebooks/90_claims.ipynb",
        prose("# 90 · What holds"),
        prose("What it is about: [00](00_start_here.ipynb)."),
    )
    told = start.in_short(report.opened(out))
    answer = nbformat.v4.new_output("display_data", {"text/markdown": told, "text/plain": "…"})
    written(
        out / "notebooks/00_start_here.ipynb",
        prose("# 00 · Start here"),
        code("Markdown(start.in_short(book))", outputs=[answer]),
        prose("All claims: [90](90_claims.ipynb)."),
    )
    (out / "notebooks/00_start_here.done").touch()
    return out


class Page(HTMLParser):
    """Elements of a page with their attributes, and its text."""

    def __init__(self, path: Path):
        super().__init__()
        self.elements, self.text = [], ""
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_data(self, data):
        self.text += data

    def all(self, name: str) -> list[dict]:
        return [attributes for tag, attributes in self.elements if tag == name]

    def ids(self) -> set[str]:
        return {attributes["id"] for _, attributes in self.elements if "id" in attributes}


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    return fill(tmp_path_factory.mktemp("book") / "results/world-smoke")


@pytest.fixture(scope="module")
def built(out, no_network_module):
    """The folder of a report, and what was said when it was made."""
    return report.build(out).parent


@pytest.fixture(scope="module")
def no_network_module():
    with pytest.MonkeyPatch.context() as patch:

        def refuse(*_):
            raise AssertionError("the network was asked")

        patch.setattr(socket.socket, "connect", refuse)
        patch.setattr(socket, "getaddrinfo", refuse)
        yield


def content(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


# --- What loads, and where links lead ------------------------------------------------------------


def test_every_link_and_asset_is_there(built):
    pages = {path.name: Page(path) for path in built.glob("*.html")}
    assert {"index.html", "90_claims.html", "search.html", "11_chan_ablations.html"} <= set(pages)
    assert "00_start_here.html" not in pages  # it is the front page
    for name, page in pages.items():
        for tag, attributes in page.elements:
            for key in {"href", "src"} & attributes.keys():
                target, _, anchor = attributes[key].partition("#")
                target = target.partition("?")[0]
                if tag == "a" and target.startswith("https://"):
                    continue  # a link to read on, such as Sphinx's own; nothing is loaded
                assert not re.match(r"\w+:|//|/", target), (name, attributes)
                assert not target or (built / target).is_file(), (name, attributes)
                if anchor and tag == "a" and (target or name).endswith(".html"):
                    assert anchor in pages[target or name].ids(), (name, attributes)


def test_a_link_to_a_notebook_that_is_not_made_is_its_text(built):
    page = Page(built / "11_chan_ablations.html")
    assert "See what follows and another." in page.text
    links = [each.get("href") for each in page.all("a")]
    assert "90_claims.html" in links and not any("21_comalign" in (to or "") for to in links)


def test_no_script_or_style_asks_for_anything_outside(built):
    asks = r"""(?:url\(|@import|fetch\(|import\(|Scripts\(|\.src\s*=)\s*["'`]?(?:https?:)?//"""
    for name, text in content(built).items():
        if name.endswith((".html", ".css", ".js")):
            assert not re.search(asks, text.decode()), name
            assert not re.search(r"mathjax[^\"' ]*\.js", text.decode(), re.I), name
    assert "widget-view" not in (built / "11_chan_ablations.html").read_text()
    assert "the static form" in (built / "11_chan_ablations.html").read_text()


def test_search_works_without_a_server(built):
    index = (built / "searchindex.js").read_text()
    assert index.startswith("Search.setIndex(")
    assert "cross" in index and "11_chan_ablations" in index
    options = (built / "_static/documentation_options.js").read_text()
    assert "SHOW_SEARCH_SUMMARY: false" in options  # file:// can't fetch what it would show


# --- A notebook's page ---------------------------------------------------------------------------


def test_formulas_are_drawn_by_the_browser(built):
    page = Page(built / "11_chan_ablations.html")
    assert len(page.all("math")) == 3 and page.all("mfrac") and page.all("munder")
    assert "\\hat" not in page.text and "$" not in page.text
    inline = (built / "11_chan_ablations.html").read_text().partition("</math>")[0]
    assert "<msub>" in inline and "munderover" not in inline  # the hat on t, i beside it


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_formula_of_the_notebooks_can_be_drawn(path):
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "markdown":
            prose = re.sub(r"```.*?```|`[^`]*`", "", cell.source, flags=re.S)
            for block, inline in re.findall(r"\$\$(.+?)\$\$|\$(.+?)\$", prose, re.S):
                assert report_sphinx.mathml(block or inline, bool(block)).startswith("<math")


def test_every_figure_has_its_alt_text(built):
    pictures = Page(built / "11_chan_ablations.html").all("img")
    assert [each["alt"] for each in pictures] == [ALT, "Figure of 11_chan_ablations"]
    assert "350px" in pictures[0]["style"] and "style" not in pictures[1]
    for path in built.glob("*.html"):
        assert all(each.get("alt") for each in Page(path).all("img")), path.name


def test_parameters_and_solutions_are_folded_and_removed_cells_gone(built):
    page = Page(built / "11_chan_ablations.html")
    assert len(page.all("details")) == 3
    for words in (*report_notebooks.FOLDED.values(), "answer", "explorer"):
        assert words in page.text
    assert "secret" not in page.text


def test_no_place_of_the_machine_is_shown(built):
    for name, text in content(built).items():
        for place in ("/home/", str(ROOT), str(Path.home()), str(built)):
            assert place not in text.decode(errors="ignore"), (name, place)
    assert "./results/world-smoke" in Page(built / "11_chan_ablations.html").text


@pytest.mark.parametrize(
    "data, settings",
    [
        ("flickr8k=/big/pictures", ""),
        ("world", "base=openclip:/big/pictures"),
        ("coco=/big=/run:3/pictures", ""),
        ("world", "comalign_source=coco=/big/pictures"),
        ("world", "chan_steps=3 'parser=/big disk/pictures' seeds=2"),
    ],
)
def test_folders_that_a_setting_names_are_not_shown(data, settings):
    ran = {"out": "/book/results/world-smoke", "settings": settings}
    folder = re.search("(?<=[=:])/[^']*pictures", data + settings)[0]
    said = {"metadata": {"papermill": {"parameters": ran}}, "cells": [f"read {folder}/a.jpg"]}
    found = report_notebooks.without_places(json.dumps(said), data)
    assert folder not in found and "read pictures/a.jpg" in found


# --- The front page ------------------------------------------------------------------------------


def test_the_front_page_is_notebook_00_with_the_answers(built):
    page = Page(built / "index.html")
    assert page.text.index("00 · Start here") < page.text.index("Failed or unfinished")
    row = re.search(r"Hard coding \(visual-codebook\) or.+?reproduced", page.text, re.S)[0]
    for words in ("visual-codebook − cross-attention", "+12.3 points", "[4.5, 20.1]"):
        assert words in row, words
    assert "[−1.5, 26.0]" in row and "than NCR" not in page.text  # which was not computed
    assert "not comparable with the paper's values" in page.text
    links = [each.get("href") for each in page.all("a")]
    assert {"11_chan_ablations.html", "90_claims.html"} <= {*links}  # one click to all of it
    assert "index.html" in [each.get("href") for each in Page(built / "90_claims.html").all("a")]


def test_what_holds_is_listed_first(built):
    links = [each.get("href") for each in Page(built / "search.html").all("a")]
    pages = [link for link in links if re.match(r"\d\d_", link or "")]
    assert pages == ["90_claims.html", "02_data.html", "11_chan_ablations.html"]


def test_values_are_written_with_their_units_decimals():
    line = pd.Series({"value": 0.17349, "low": 0.1, "high": 0.31, "unit": "AUC"})
    assert start.value(line) == "+0.173 AUC" and start.interval(line) == r"\[0.100, 0.310\]"
    line["unit"] = "s"
    assert start.value(line) == "+0.2 s" and start.interval(line) == r"\[0.1, 0.3\]"


def test_it_says_on_what_when_and_how_long(out, built):
    text = Page(built / "index.html").text
    assert "Computed on Linux x86_64, 2 cores, in 3 min 5 s, in 2 starts." in text
    book = report.opened(out)
    told = dict(start.circumstances(book).values)
    assert told["data"] == "world: images 1,300 train; 5 captions each"
    listed = start.notebooks(book).set_index("notebook").loc["11_chan_ablations"]
    assert list(listed) == ["chan-T3", "done", "2031-05-06 07:08", 41.7]
    made = dict(budget.made_with(pd.read_csv(out / "runs.csv")).values)
    assert made == {
        "devices": "cpu",
        "packages": "torch 9.8.7",
        "runs finished": "2031-05-06T07:08:09Z to 2031-05-06T07:08:09Z",
    }


def test_what_failed_and_what_is_missing_is_named(built):
    text = Page(built / "index.html").text
    assert "This notebook failed at cell 2: ValueError: too few in ./data" in text
    assert re.search(r"90 · What holds: This notebook has not run to its end", text)
    assert "Not made so far: " in text and "10_chan" in text.partition("Not made so far")[2]
    assert "failed at cell 2: ValueError: too few in ./data" in Page(built / "02_data.html").text
    assert "has not run" not in Page(built / "11_chan_ablations.html").text


def test_without_notebook_00_there_is_a_report_of_what_there_is(tmp_path, capsys):
    out = fill(tmp_path / "world-smoke")
    (out / "notebooks/00_start_here.ipynb").unlink()
    (out / "notebooks/90_claims.ipynb").unlink()
    for name in ("claims", "contrasts", "timings", "runs"):
        (out / f"{name}.csv").unlink()
    (out / "data.json").unlink()
    page = Page(report.build(out))
    assert "11 · Coding and pooling" in page.text and "Not made so far: 00_start_here" in page.text
    assert "alignbook: world, smoke profile" in page.text
    assert "11_chan_ablations.html" in [each.get("href") for each in page.all("a")]
    assert capsys.readouterr().out == ""  # no warnings


# --- Building ------------------------------------------------------------------------------------


def test_it_is_built_when_something_changed_and_the_same_again(out, built):
    before, when = content(built), (built / "index.html").stat().st_mtime_ns
    assert report.is_current(out)
    report.build(out)
    assert (built / "index.html").stat().st_mtime_ns == when
    (built / "made-from.txt").unlink()
    report.build(out)
    assert (built / "index.html").stat().st_mtime_ns != when
    assert content(built) == before
    assert not (out / ".report").exists()


@pytest.mark.parametrize("name", ["notebooks/11_chan_ablations.ipynb", "starts.json", "runs.csv"])
def test_a_changed_file_is_noticed(out, built, name):
    path = out / name
    whole = path.read_bytes()
    path.write_bytes(whole + b"\n")
    try:
        assert not report.is_current(out)
    finally:
        path.write_bytes(whole)
    assert report.is_current(out)


def test_a_notebook_that_ends_or_goes_is_noticed(out, built):
    done = out / "notebooks/90_claims.done"
    done.touch()
    assert not report.is_current(out)
    done.unlink()
    aside = out / "notebooks/aside"
    (out / "notebooks/02_data.ipynb").rename(aside)
    assert not report.is_current(out)
    aside.rename(out / "notebooks/02_data.ipynb")


def test_a_page_that_was_cut_is_made_again(tmp_path, built, out):
    copy = tmp_path / "world-smoke"
    shutil.copytree(out, copy)
    assert report.is_current(copy)
    page = copy / "report/02_data.html"
    whole = page.read_bytes()
    for wrong in (b"", whole[: len(whole) // 2]):
        page.write_bytes(wrong)
        assert not report.is_current(copy)
    page.unlink()
    assert not report.is_current(copy)
    page.write_bytes(whole)
    assert report.is_current(copy)


def test_a_build_that_fails_leaves_the_old_report(tmp_path, built, out, monkeypatch):
    copy = tmp_path / "world-smoke"
    shutil.copytree(out, copy)
    answers = copy / "notebooks/00_start_here.ipynb"
    answers.write_text(answers.read_text().replace("reproduced", "contradicted"))
    monkeypatch.setattr(report, "render", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        report.build(copy)
    assert "reproduced" in (copy / "report/index.html").read_text()
    monkeypatch.undo()
    report.build(copy)
    assert "contradicted" in (copy / "report/index.html").read_text()


def test_the_newest_results_are_taken_unless_others_are_named(tmp_path, monkeypatch, capsys):
    results = tmp_path / "results"
    for age, name in enumerate(("world-smoke", "world-laptop", "flickr8k-laptop")):
        (results / name / "notebooks").mkdir(parents=True)
        (results / name / "settings.json").touch()
        path = results / name / "notebooks/02_data.ipynb"
        path.touch()
        os.utime(path, (1000 - age, 1000 - age))
    assert folders.newest(results).name == "world-smoke"
    assert folders.newest(results, "laptop").name == "world-laptop"
    assert folders.newest(results, "laptop", "flickr8k").name == "flickr8k-laptop"
    assert folders.newest(results, data="flickr8k").name == "flickr8k-laptop"
    with pytest.raises(
        ValueError,
        match=r"in \*-gpu; there are: flickr8k-laptop, world-laptop, "
        r"world-smoke. ./run_all.sh --profile gpu makes some",
    ):
        folders.newest(results, "gpu")
    monkeypatch.setattr(report, "ROOT", tmp_path / "empty")
    assert command.main(["book"]) == 2
    said = capsys.readouterr()
    assert "no executed notebooks in *-*; there are: none" in said.err and said.out == ""


SETTINGS = {"data": "flickr8k=/photographs", "profile": "smoke"}


def test_there_is_a_report_before_a_long_job_ends_and_it_grows(tmp_path, monkeypatch):
    monkeypatch.setattr(walker, "FIRST_LOOK", 0.1)
    asked, ends = [], tmp_path / "ends"

    def written(settings, seen):
        asked.append(settings)
        if len(asked) == 3:
            ends.touch()

    monkeypatch.setattr(walker, "write_report", written)
    waits = "import os, sys, time\nwhile not os.path.exists(sys.argv[1]): time.sleep(0.01)"
    began = time.monotonic()
    with live.View(tmp_path, None, "") as seen:
        assert walker.finish([sys.executable, "-c", waits, str(ends)], seen, SETTINGS) == 0
        took = time.monotonic() - began
        assert walker.finish([sys.executable, "-c", "raise SystemExit(3)"], seen) == 3
    assert asked == [SETTINGS] * 3
    assert took >= 0.1 + 0.2 + 0.4


def test_the_main_job_asks_for_a_report_where_it_is_not_current(out, built, tmp_path, monkeypatch):
    asked, outs = [], [fill(tmp_path / "other"), tmp_path, out]  # not current, empty, current
    monkeypatch.setattr(walker, "finish", lambda command, _: asked.append(command[3:]) or 7)
    monkeypatch.setattr(folders, "results_folder", lambda settings: outs.pop())
    assert walker.write_report(SETTINGS, None) == 0 and asked == []
    assert walker.write_report(SETTINGS, None) == 0 and asked == []
    assert walker.write_report(SETTINGS, None) == 7
    assert asked == [["book", str(tmp_path / "other")]]


@pytest.mark.parametrize("arguments", [["--profile", "lap"], ["--profil", "smoke"], ["a", "b"]])
def test_bad_arguments_are_refused(arguments, capsys):
    with pytest.raises(SystemExit) as ended:
        command.main(["book", *arguments])
    assert ended.value.code == 2
    assert "run_all.sh book: error" in capsys.readouterr().err


def test_every_question_is_about_a_claim():
    known = {claim.id: claim.paper for claim in claims.load()}
    assert {known[name] for name in exhibits.QUESTIONS} == set(known.values())
    assert list(exhibits.NOTEBOOKS) == sorted(exhibits.NOTEBOOKS)  # the order of reading


def test_a_folder_can_be_named(out, built, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(report, "ROOT", tmp_path)  # where there are no results
    assert command.main(["book", str(out)]) == 0
    assert f"{out.name}/report/index.html" in capsys.readouterr().out
    assert command.main(["book", str(tmp_path / "none")]) == 2
    assert "none/notebooks: nothing to report on" in capsys.readouterr().err


def test_a_folder_without_notebooks_is_refused(tmp_path):
    said = {"profile": "smoke", "data": "world", "seeds": None, "set": {}, "device": "cpu"}
    (tmp_path / "settings.json").write_text(json.dumps(said))
    with pytest.raises(ValueError, match="nothing to report on; ./run_all.sh fills it"):
        report.build(tmp_path)
