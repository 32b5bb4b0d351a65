"""The report's pages of the library: signatures and docstrings, links that lead somewhere."""

import importlib.util
import json
import re
import sys
from pathlib import Path

import pytest
from alignbook.workbook.reports import api, report, report_front, report_notebooks
from conftest import ROOT
from test_report import Page, fill, no_network_module  # noqa: F401


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    """A small results folder of the laptop profile."""
    folder = fill(tmp_path_factory.mktemp("api") / "results/world-laptop")
    settings = json.loads((folder / "settings.json").read_text())
    (folder / "settings.json").write_text(json.dumps(settings | {"profile": "laptop"}))
    return folder


@pytest.fixture(scope="module")
def built(out, no_network_module):  # noqa: F811
    """Its report, with pages of two modules; autodoc takes a quarter of a minute for all."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            api, "ROOMS", {"Core": ("core.similarity",), "Evidence": ("evidence.statistics",)}
        )
        yield report.build(out).parent


def test_a_page_has_signatures_docstrings_and_examples(built):
    page = Page(built / "api/core.similarity.html")
    text = re.sub(r"\s+", " ", page.text)
    for said in (
        "hard_coding( regions, words, *,",
        "region_lengths=None,",
        "pooling='lse',",
        "Similarity of every image and caption by hard assignment coding (CHAN Eq. 5, 6",
        "words ((B2, L, d) float",
        "(B1, B2) float",
        "ValueError",
        '>>> hard_coding(regions, words, pooling="mean")',
    ):
        assert said in text, said
    assert "alignbook.core.similarity.soft_coding" in page.ids()


def test_the_report_leads_there_and_back(built):
    assert {"href": "api/index.html"} in Page(built / "index.html").all("a")
    front = Page(built / "api/index.html")
    assert "../index.html" in [each.get("href") for each in front.all("a")]
    for room in api.ROOMS:
        assert room in front.text


def test_links_and_assets_are_there_and_nothing_outside_is_asked_for(built):
    for path in (built / "api").glob("*.html"):
        for tag, attributes in Page(path).elements:
            for target in {attributes.get("href"), attributes.get("src")} - {None}:
                target = target.partition("#")[0].partition("?")[0]
                if tag == "a" and target.startswith("https://"):
                    continue  # to read on
                assert not re.match(r"\w+:|//|/", target), (path.name, attributes)
                assert not target or (path.parent / target).is_file(), (path.name, attributes)


def test_no_place_of_the_machine_is_shown(built):
    places = {str(ROOT), sys.prefix, str(Path.home())} - {"/"}
    for path in (built / "api").rglob("*"):
        if path.suffix in (".html", ".js", ".txt"):
            assert not [place for place in places if place in path.read_text()], path


def test_pages_that_are_right_are_taken_over(out, built, monkeypatch):
    made = []

    def render(folder, name, *_, **settings):
        made.append(name)
        (folder / "html").mkdir()
        return []

    monkeypatch.setattr(report, "render", render)
    assert report.is_current(out)
    whole = (out / "starts.json").read_bytes()
    (out / "starts.json").write_bytes(whole + b"\n")
    report.build(out)
    assert len(made) == 1 and api.TITLE not in made
    assert (built / "api/core.similarity.html").is_file()
    monkeypatch.setattr(api, "made_from", lambda: "another docstring")
    assert not report.is_current(out)
    report.build(out)
    assert api.TITLE in made and not (built / "api/core.similarity.html").exists()


def test_the_smoke_profile_goes_without(tmp_path, monkeypatch):
    out = fill(tmp_path / "world-smoke")
    monkeypatch.setattr(api, "put", lambda *_: 1 / 0)
    monkeypatch.setattr(report, "render", lambda folder, *_: (folder / "html").mkdir() or [])
    assert not report_notebooks.has_api(out)
    report.build(out)
    page = report_front.front(report.opened(out), {"02_data": ""}, None)
    assert "api/index.html" not in "".join(cell.source for cell in page.cells)


def test_bars_are_bars():
    lines = ["at most |δ| (1 + |ε|), `a | b`", "    >>> 1 | 2"]
    api.keep_bars(None, "", "", None, None, lines)
    assert lines == [r"at most \|δ\| (1 + \|ε\|), `a | b`", "    >>> 1 | 2"]


@pytest.mark.parametrize("module", [name for room in api.ROOMS.values() for name in room])
def test_every_module_is_there_and_says_what_it_is(module):
    assert importlib.util.find_spec(f"alignbook.{module}")
    assert api.source(module).read_text(encoding="utf-8").startswith('"""')
