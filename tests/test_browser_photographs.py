"""`./run_all.sh lab --photos DIR` as who has photographs meets it, in a real browser."""

import re
import shutil
import time

import pytest
from conftest import skip_unless_required
from test_browser import (
    CANVASES,
    CHROMIUM,
    WAIT,
    all_ran,
    code_cells,
    lab,
    map_of_word,
    milliseconds,
    nothing_else,
    page_of,
    run_all,
    settled,
)
from test_main_job import BRIEFLY, FEW_PICTURES

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.realdata]
CELLS = 49  # of a map of the packaged tower
DISTINCT = """() => {
    const canvas = document.querySelector('.ab-canvas');
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    return new Set(Array.from({ length: data.length / 4 }, (_, i) => data[4 * i + 3])).size;
}"""


def test_the_explorer_opens_on_photographs_of_ones_own(workbook_copy, realdata, tmp_path):
    """A dozen photographs and a file that is none, after a smoke run of one exhibit on others."""
    if CHROMIUM is None:
        skip_unless_required("browser", "there is no chromium (Debian: apt-get install chromium)")
    settings = [f"--set={each}" for each in FEW_PICTURES]
    data = f"flickr8k={realdata / 'flickr8k'}"
    workbook_copy.compute("--data", data, *settings, *BRIEFLY, "chan-T3")
    mine = tmp_path / "my pictures"
    mine.mkdir()
    for each in sorted((realdata / "flickr8k/Images").glob("*.jpg"))[-12:]:
        shutil.copy(each, mine)
    (mine / "broken.jpg").write_bytes(b"no picture")
    names = sorted(each.name for each in mine.iterdir())

    seen = {"hosts": set(), "errors": []}
    started = lab(workbook_copy, tmp_path, "--photos", str(mine))
    with started as (address, token), page_of(tmp_path, seen) as page:
        page.goto(f"{address}/?token={token}")
        page.wait_for_selector(".jp-NotebookPanel h1")
        assert "Explorer" in page.locator(".jp-NotebookPanel h1").first.text_content()
        run_all(page)
        all_ran(page, "60")
        outputs = [each for cell in code_cells(page) for each in cell["outputs"]]
        assert not [each for each in outputs if each["output_type"] == "error"]
        printed = "".join("".join(each.get("text", "")) for each in outputs)
        assert "my photographs: 12 pictures; skipped 1 of 13 files:" in printed
        assert "broken.jpg: " in printed

        explorer = page.locator(".ab-explorer")
        sheet = page.locator(".jp-NotebookPanel .jp-WindowedPanel-outer").first
        end = time.monotonic() + WAIT / 1000
        while not explorer.first.is_visible():
            assert time.monotonic() < end, "there is no explorer"
            sheet.evaluate("all => { all.scrollTop -= 500; }")  # far cells are not in the page
            page.wait_for_timeout(300)
        settled(page)
        explorer.scroll_into_view_if_needed()
        menu = page.get_by_label(re.compile("^data set"))
        assert menu.locator("option:checked").text_content() == "my photographs"

        typed, words = page.locator(".ab-caption"), page.locator(".ab-word")
        typed.fill("a brown dog on the grass")
        milliseconds(page, lambda: typed.press("Enter"))
        assert words.all_text_contents() == "a brown dog on the grass".split()
        assert sum(explorer.get_by_text(name).count() for name in names) > 0  # which file it is
        ranks = page.locator(".ab-score").all_text_contents()
        assert len(ranks) == 2 and all("of 12" in each for each in ranks)
        maps = [map_of_word(page, place) for place in range(words.count())]
        assert len({side for each in maps for side in each}) > 2  # words' maps, of both codings
        assert page.evaluate(DISTINCT) <= CELLS + 1  # a level a cell: nothing drawn between

        exchange = page.locator(".ab-swap select")
        for place in range(words.count()):
            words.nth(place).click()
            if exchange.is_visible():  # a vocabulary of 300 captions has a word for another colour
                break
        other = exchange.locator("option").nth(1).get_attribute("value", timeout=WAIT / 10)
        before, maps = page.locator(".ab-score").all_text_contents(), page.evaluate(CANVASES)
        milliseconds(page, lambda: exchange.select_option(other))
        assert words.nth(place).text_content() == other
        after = page.locator(".ab-score").all_text_contents()
        assert (before, maps) != (after, page.evaluate(CANVASES))
        explorer.screenshot(path=tmp_path / "photographs.png")
    nothing_else(seen)
    assert sorted(each.name for each in mine.iterdir()) == names  # nothing is written there
