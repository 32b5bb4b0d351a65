"""The workbook as a new user meets it, in a real browser: Lab opens on the map, notebook 11 runs,
the explorer follows the pointer, the report's links and search work; nothing is asked elsewhere.
"""

import contextlib
import json
import re
import shutil
import subprocess
import sys
import time
import warnings
from base64 import b64encode
from pathlib import Path
from urllib.parse import urlsplit

import pandas as pd
import pytest
from alignbook.explorer import widget
from alignbook.store import verbatim
from conftest import Copy, listens, skip_unless_required, warm_already
from PIL import Image
from playwright.sync_api import TimeoutError as TookTooLong
from playwright.sync_api import sync_playwright
from test_verbatim import ACTING, CAPTIONS, PHOTOS, shown

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
CANVASES = "[...document.querySelectorAll('.ab-canvas')].map((each) => each.toDataURL())"
PINNED = "[...document.querySelectorAll('.ab-word[aria-checked=true]')].map((e) => e.dataset.key)"
LIVE = """(each) => [each.role, each.ariaLive, each.hidden,
    getComputedStyle(each).display === 'none', getComputedStyle(each).visibility]"""
WAIT = 300_000  # milliseconds, on a machine with other work to do


@contextlib.contextmanager
def lab(copy: Copy, home: Path, *more: str):
    """`./run_all.sh lab` of a workbook; the address it opens, and its token."""
    folders = {f"JUPYTER_{name}_DIR": str(home / name) for name in ("CONFIG", "DATA", "RUNTIME")}
    folders |= {"IPYTHONDIR": str(home / "ipython"), "OMP_NUM_THREADS": "1"}
    server = copy.start(
        "lab",
        "--no-browser",
        "--allow-root",
        "--MappingKernelManager.kernel_info_timeout=600",
        "--LabApp.expose_app_in_browser=True",
        *more,
        **folders,
    )
    try:
        end = time.monotonic() + 180
        while not (said := "".join(map(Path.read_text, home.glob("RUNTIME/jpserver-*.json")))):
            assert server.poll() is None and time.monotonic() < end, "Lab does not come up"
            time.sleep(0.2)
        at = json.loads(said)
        while not listens(at["port"]):  # it says where before it does
            assert server.poll() is None and time.monotonic() < end, "Lab does not come up"
            time.sleep(0.2)
        yield f"http://127.0.0.1:{at['port']}", at["token"]
    finally:
        server.terminate()
        try:
            server.wait(60)
        except subprocess.TimeoutExpired:
            server.kill()


@contextlib.contextmanager
def page_of(pictures: Path, seen: dict):
    """A page of Chromium's; what it asks for and complains about goes into `seen`."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM,
            args=["--no-sandbox", "--disable-background-networking", "--disable-component-update"],
        )
        page = browser.new_page(viewport={"width": 1400, "height": 1500})
        page.set_default_timeout(WAIT)
        page.on("request", lambda request: seen["hosts"].add(urlsplit(request.url).netloc))
        page.on("websocket", lambda socket: seen["hosts"].add(urlsplit(socket.url).netloc))
        page.on("console", lambda said: said.type == "error" and seen["errors"].append(said.text))
        page.on("pageerror", lambda error: seen["errors"].append(str(error)))
        try:
            yield page
        except Exception:
            with contextlib.suppress(Exception):  # a page that never came has none
                page.screenshot(path=pictures / "failed.png")
            raise
        finally:
            browser.close()


KERNEL = """() => {
    const session = window.jupyterapp.shell.currentWidget?.context?.sessionContext;
    const kernel = session?.session?.kernel;
    return kernel && session.kernelDisplayStatus === 'idle' ? kernel.id : '';
}"""


def run_all(page) -> None:
    """Run every cell; anew if Lab lost the order, as it does when its kernel is not quite up.

    Lab may begin with two kernels and drop one: the order is given once there is one that stays.
    """
    ran = page.locator(".jp-InputArea-prompt", has_text=re.compile(r"\[\d+\]")).first
    dialog = page.locator(".jp-Dialog-button.jp-mod-accept")
    for _ in range(15):
        with contextlib.suppress(TookTooLong):
            page.wait_for_timeout(1000)
            for _ in range(5):  # one after the other may ask for a kernel
                if dialog.count():
                    dialog.first.click(timeout=WAIT / 15)
                    page.wait_for_timeout(2000)
            seen = [""]
            while len(seen) < 40 and not (seen[-1] and seen[-5:].count(seen[-1]) == 5):
                seen.append(page.evaluate(KERNEL))
                page.wait_for_timeout(500)
            for name in ("Run", "Run All Cells"):
                item = page.get_by_role("menuitem", name=name, exact=True)
                item.click(timeout=WAIT / 15)
            ran.or_(dialog).first.wait_for(timeout=WAIT / 15)
            if not dialog.count():
                return
    raise AssertionError("no cell was run")


def settled(page) -> None:
    """Wait until the kernel has answered the last move."""
    page.wait_for_selector(".ab-explorer[aria-busy=false]")


def milliseconds(page, action) -> float:
    """How long the page waits for the answer to a move."""
    page.evaluate("""() => {
        const root = document.querySelector('.ab-explorer');
        window.took = new Promise((done) => {
            let began = 0;
            const watch = new MutationObserver(() => {
                const busy = root.getAttribute('aria-busy') === 'true';
                if (busy && !began) began = performance.now();
                if (!busy && began) { watch.disconnect(); done(performance.now() - began); }
            });
            watch.observe(root, { attributes: true, attributeFilter: ['aria-busy'] });
        });
    }""")
    action()
    return page.evaluate("window.took")


def opened(page, address: str, token: str, name: str) -> None:
    """Open a notebook in Lab and run all of it. On a busy machine Lab's first page may stay empty for
    good: it is asked for anew then, as whoever sits before it does.
    """
    cell = page.locator(".jp-NotebookPanel .jp-Cell").first
    for _ in range(3):
        page.goto(f"{address}/lab/workspaces/{name}/tree/notebooks/{name}.ipynb?token={token}")
        try:
            cell.wait_for(timeout=WAIT / 3)
            break
        except TookTooLong:
            shown_there = page.evaluate("document.body.innerText")[:500]
            warnings.warn(
                f"{name} did not open in Lab; the page says: {shown_there!r}", stacklevel=2
            )
    cell.wait_for(timeout=1000)
    run_all(page)


def code_cells(page) -> list[dict]:
    """Cells with code of the notebook in front, as it stands."""
    cells = page.evaluate("window.jupyterapp.shell.currentWidget.context.model.toJSON().cells")
    return [cell for cell in cells if cell["cell_type"] == "code" and cell["source"]]


def all_ran(page, name: str) -> None:
    """Wait until every cell of the notebook in front has run."""
    end = time.monotonic() + WAIT / 1000
    while not all(cell["execution_count"] for cell in code_cells(page)):
        assert time.monotonic() < end, f"notebook {name} does not come to its end"
        page.wait_for_timeout(1000)


def map_and_11(copy: Copy, pictures: Path) -> dict:
    """Open Lab as it opens by itself, then run notebook 11; what was seen."""
    seen = {"hosts": set(), "errors": []}
    with lab(copy, pictures) as (address, token), page_of(pictures, seen) as page:
        page.goto(f"{address}/?token={token}")
        page.wait_for_selector(".jp-NotebookPanel h1")
        seen["first"] = page.locator(".jp-NotebookPanel h1").first.text_content()
        page.screenshot(path=pictures / "lab.png")

        opened(page, address, token, "11_chan_ablations")
        path = copy.root / "notebooks/11_chan_ablations.ipynb"
        committed = path.read_text(encoding="utf-8")
        all_ran(page, "11")
        seen["outputs"] = [each for cell in code_cells(page) for each in cell["outputs"]]
        page.locator(".jp-OutputArea img").last.scroll_into_view_if_needed()
        page.screenshot(path=pictures / "11.png")
        before = path.stat().st_mtime_ns
        page.keyboard.press("Control+s")
        end = time.monotonic() + WAIT / 1000
        while path.stat().st_mtime_ns == before:
            assert time.monotonic() < end, "notebook 11 is not saved"
            page.wait_for_timeout(200)
        page.wait_for_timeout(1000)  # for a dialog, if Lab minds what the file holds
        seen["dialogs"] = page.locator(".jp-Dialog").all_text_contents()
        seen["kept"] = committed == path.read_text(encoding="utf-8")
    return seen


def map_of_word(page, place: int) -> list[str]:
    """Point at a word; both sides' maps then."""
    page.locator(".ab-word").nth(place).hover()
    page.wait_for_selector(f".ab-seen[data-key='word {place}']")
    return page.evaluate(CANVASES)


def look_apart(maps: list) -> bool:
    """Whether words of a caption have maps of their own: two by hard coding, more by attention."""
    hard, soft = ({each[side] for each in maps} for side in (0, 1))
    return len(hard) > 1 and len(soft) > 2


def explore(copy: Copy, pictures: Path) -> dict:
    """Run the explorer's notebook and move everything; what was seen, how long moves took."""
    seen = {"hosts": set(), "errors": [], "took": {}}
    with lab(copy, pictures) as (address, token), page_of(pictures, seen) as page:
        opened(page, address, token, "60_explorer")
        all_ran(page, "60")
        sheet = page.locator(".jp-NotebookPanel .jp-WindowedPanel-outer").first
        end = time.monotonic() + WAIT / 1000
        while not page.locator(".ab-explorer .ab-word").first.is_visible():
            assert time.monotonic() < end, "there is no explorer"
            sheet.evaluate("all => { all.scrollTop -= 500; }")  # far cells are not in the page
            page.wait_for_timeout(300)
        settled(page)
        page.wait_for_function(f"new Set({CANVASES}).size === 2")  # the pictures are loaded
        page.locator(".ab-explorer").scroll_into_view_if_needed()
        words = page.locator(".ab-word")
        seen["words"] = words.all_text_contents()

        told, heard = page.locator(".ab-told"), page.locator(".ab-heard")
        seen["live"] = [[each.evaluate(LIVE), each.text_content()] for each in (told, heard)]
        seen["heard"] = []
        maps = [page.evaluate(CANVASES)]
        for place in range(words.count()):
            maps.append(map_of_word(page, place))
            seen["heard"].append(heard.text_content())
        seen["maps"], seen["added"] = maps, page.locator(".ab-parts .ab-small").all_text_contents()
        numbers = pd.read_csv(copy.root / "results/world-smoke/figures/explorer-words.csv")
        assert list(numbers.word[: len(seen["words"])]) == seen["words"]  # of the same caption
        hard = numbers[numbers.method == "hard coding"]
        seen["best regions"] = len(hard[["x0", "y0", "x1", "y1"]].drop_duplicates())
        page.locator(".ab-explorer").screenshot(path=pictures / "hover.png")
        seen["pinned after hovering"] = page.evaluate(PINNED)
        page.locator(".ab-bar").hover()
        seen["away"] = page.evaluate(CANVASES)

        words.nth(0).focus()
        page.keyboard.press("ArrowRight")
        seen["focused"] = page.evaluate("document.activeElement.dataset.key")
        seen["told by keyboard"] = page.locator("[data-role=word]").first.text_content()

        exchange, scores = page.locator(".ab-swap select"), page.locator(".ab-score")
        offered = []
        for place in range(words.count()):
            words.nth(place).click()
            offered += [place] if exchange.is_visible() else []
        steps = []
        for place in (offered[0], offered[-1]):
            words.nth(place).click()
            for each in range(words.count()):  # what the pointer may cross on its way to the menu
                words.nth(each).hover()
            assert page.evaluate(PINNED) == [f"word {place}"]
            menu = page.locator(".ab-swap label span").text_content()
            assert menu == f"exchange “{seen['words'][place]}” for"
            exchange.hover()
            other = exchange.locator("option").nth(1).get_attribute("value")
            before = scores.all_text_contents()
            took = milliseconds(page, lambda: exchange.select_option(other))
            seen["took"][f"exchange of word {place}"] = took
            steps.append(
                {
                    "place": place,
                    "other": other,
                    "words": words.all_text_contents(),
                    "scores": (before, scores.all_text_contents()),
                    "field": page.locator(".ab-caption").input_value(),
                    "heard": heard.text_content(),
                }
            )
        seen["exchanges"] = steps
        page.locator(".ab-explorer").screenshot(path=pictures / "exchange.png")
        undo = page.get_by_text("undo the last exchange")
        undo.focus()
        seen["took"]["undo"] = milliseconds(
            page,
            lambda: (  # in haste
                page.keyboard.press("Enter"),
                page.keyboard.press("Enter"),
            ),
        )
        seen["undone"] = words.all_text_contents(), undo.is_visible()
        seen["focus after undo"] = page.evaluate("document.activeElement.tagName")

        typed = page.locator(".ab-caption")
        typed.fill("a purpel star above a ring")
        seen["took"]["typed"] = milliseconds(page, lambda: typed.press("Enter"))
        seen["unknown"] = page.locator(".ab-told").text_content()
        seen["place of the found"] = page.locator(".ab-score").first.text_content()
        typed.fill("   ")
        typed.press("Enter")
        page.wait_for_function("document.querySelector('.ab-told').textContent.includes('no word')")
        seen["kept"] = words.all_text_contents()
        page.locator(".ab-explorer").screenshot(path=pictures / "typed.png")

        number, following = page.locator(".ab-page"), page.get_by_label("next picture")
        milliseconds(page, following.click)
        here = number.input_value()
        typed.fill("a purpel star above a ring")  # found elsewhere
        hold = page.get_by_role("button", name="on this picture")
        seen["took"]["on this picture"] = milliseconds(page, hold.click)
        seen["held"] = here, number.input_value(), words.all_text_contents()
        seen["place of the held"] = scores.first.text_content()
        words.nth(2).click()
        hold.click()  # nothing to compute: the page doesn't wait for an answer
        seen["idle"] = (
            page.locator(".ab-explorer").get_attribute("aria-busy"),
            page.evaluate(PINNED),
        )
        page.locator(".ab-explorer").screenshot(path=pictures / "held.png")

        for k in range(5):
            seen["took"][f"browsed {k}"] = milliseconds(page, following.click)
        seen["elsewhere"] = maps  # of the first picture, from here on, whose words look apart
        for _ in range(30):
            if look_apart(seen["elsewhere"]):
                break
            milliseconds(page, following.click)
            seen["elsewhere"] = [map_of_word(page, i) for i in range(words.count())]
        seen["captions"] = page.locator(".ab-own .ab-link").count()
        page.locator(".ab-explorer").screenshot(path=pictures / "browsed.png")
        seen["switched"] = [scores.all_text_contents()]
        for menu, choice in (("left", "VSE++, one vector a picture"), ("data set", "world B")):
            seen["took"][menu] = milliseconds(
                page, lambda: page.get_by_label(re.compile(f"^{menu}")).select_option(choice)
            )
            seen["switched"].append(scores.all_text_contents())
        page.wait_for_timeout(1000)  # whatever is still asked for
    return seen


# The explorer on a made-up state: whatever a kernel may send is text.
EXPLORER = """async ([source, said]) => {
    const { default: page } = await import("data:text/javascript;base64," + source);
    const panel = { method: said[0], score: 1, rank: 1, mapped: false, before: null, top: [],
                    scale: said[1], "own rank": 1, contributions: said.map(() => 1),
                    best: said.map(() => 0), scores: said.map(() => 1), boxes: [],
                    shares: said.map(() => 1), ranked: [
                        { own: true, score: 1, words: said, contributions: said.map(() => 1) }] };
    const bytes = new DataView(new ArrayBuffer(768)), of = {
        data: said[0], seed: 0, left: said[1], right: said[2], caption: said[0], word: 0, swap: [],
        offers: { [said[0]]: { [said[1]]: [0], [said[2]]: [0] } }, colours: bytes, maps: bytes,
        note: said.join(" "), shown: {
            words: said, was: said, unknown: said.map(() => true), notes: said, image: 0,
            images: 1, picture: "", captions: said, own: true, exchanges: said.map(() => said),
            panels: [panel, panel], milliseconds: 1 } };
    const el = document.body.appendChild(document.createElement("div"));
    page.render({ el, model: { get: (name) => of[name], set() {}, save_changes() {}, on() {} } });
    return { text: [...el.querySelectorAll(".ab-own .ab-link, .ab-told")].map((e) => e.innerText),
             tags: [...new Set([...el.querySelectorAll("*")].map((each) => each.tagName))],
             handled: [...el.querySelectorAll("*")].filter((each) => each.onerror).length };
}"""


# Of photographs, and the first of a file that a setting names.
NAMES = (*PHOTOS, "\"' onerror='document.title=2.png", "a<script>document.title=3; .png")
FOLDER = "<b>$x$ '{{7}}' `y`\x1b[1m"


def folder_of_harm(folder: Path) -> Path:
    """Photographs in COCO's form, of names and captions that would do harm, and boxes on them."""
    (folder / "Images").mkdir(parents=True)
    (folder / "annotations").mkdir()
    readable = [each for each in CAPTIONS if "\x1b" not in each]  # a reader refuses others
    names = [f"{i} {NAMES[i % len(NAMES)]}" for i in range(36)]
    for i, name in enumerate(names):
        Image.new("RGB", (20, 20), (7 * i, 99, 7)).save(folder / "Images" / name)
    for split, some in (("train", range(12)), ("val", range(12, 36))):
        told = {
            "images": [{"id": i, "file_name": names[i]} for i in some],
            "annotations": [
                {"id": 5 * i + k, "image_id": i, "caption": readable[(i + k) % len(readable)]}
                for i in some
                for k in range(5)
            ],
        }
        (folder / f"annotations/captions_{split}2017.json").write_text(json.dumps(told))
    found = [
        {"image": name, "boxes": [[1, 1, 9, 9]], "labels": [NAMES[0]], "scores": [0.5]}
        for name in names
    ]
    (folder / f"{NAMES[0]}.json").write_text(json.dumps(found))
    return folder


def brought(copy: Copy, pictures: Path) -> dict:
    """Run notebooks on a folder that would do harm; what terminal and report show of it."""
    folder = folder_of_harm(pictures / FOLDER)
    report = copy.root / "results/coco-smoke/report"
    words = ["--profile", "smoke", "--data", f"coco={folder}", "02_data", "00_start_here"]
    for setting in ("base=photo-tower", "size=32", f"boxes={folder / NAMES[0]}.json"):
        words += ["--set", setting]
    seen = {"hosts": set(), "errors": [], "asked": [], "report": report, "pages": []}
    seen["said"] = [copy.run(*words, **warm_already())]
    with page_of(pictures, seen) as page:
        page.on("request", lambda request: seen["asked"].append(request.url))
        for name in ("index.html", "02_data.html"):  # the first is notebook 00
            page.goto((report / name).as_uri())
            page.wait_for_timeout(200)  # for an image that is not there
            page.screenshot(path=pictures / f"brought-{name}.png", full_page=True)
            article = page.locator("article")
            alt = [each.get_attribute("alt") or "" for each in article.locator("img").all()]
            seen["pages"].append((page.title(), article.inner_text(), alt, article.evaluate(ACTS)))
    (folder / "Images" / f"3 {NAMES[3]}").unlink()
    seen["said"].append(copy.run(*words, **warm_already()))
    return seen


# Names of attributes that are programs, and of elements that no text of ours makes.
ACTS = """(article) => [...article.querySelectorAll("*")].flatMap((each) => [
    ...["SCRIPT", "IFRAME", "OBJECT"].filter((name) => name === each.tagName),
    ...[...each.attributes].map((one) => one.name).filter((name) => name.startsWith("on"))])"""


def hostile(page, pictures: Path) -> dict:
    """A report and an explorer of captions and names that would do harm."""
    page.goto(shown(pictures / "hostile").as_uri())
    images = page.locator("article img").all()
    seen = {
        "sources": [each.get_attribute("src") for each in images],
        "alt": images[0].get_attribute("alt"),
        "text": page.locator("article").inner_text(),
        "links": page.evaluate(
            "[...document.links].filter((each) => !/^(file|https):/.test(each.href)).length"
        ),
    }
    page.screenshot(path=pictures / "hostile.png", full_page=True)
    source = b64encode((widget.HERE / "explorer.js").read_bytes()).decode()
    seen["explorer"] = page.evaluate(EXPLORER, [source, [*CAPTIONS, *NAMES]])
    page.wait_for_timeout(200)  # for an image that is not there
    return seen | {"title": page.title(), "formulas": page.locator("math").count()}


def follow(report: Path, pictures: Path) -> dict:
    """From a difference with its verdict on the front page to its notebook, and a search."""
    seen = {"hosts": set(), "errors": []}
    with page_of(pictures, seen) as page:
        page.goto((report / "index.html").as_uri())
        page.screenshot(path=pictures / "front.png")
        question = page.get_by_role("link", name="Hard coding (visual-codebook) or cross-attention")
        seen["in view"] = question.evaluate("each => each.getBoundingClientRect().top")
        seen["verdict"] = page.locator("table", has=question).inner_text()
        question.click()
        seen["title"] = page.locator("h1").inner_text()
        seen["pictures"] = page.evaluate(
            "[...document.images].filter((each) => !each.complete || !each.naturalWidth).length"
        )
        page.screenshot(path=pictures / "notebook.png")
        page.locator("input.sidebar-search").fill("codebook")
        page.keyboard.press("Enter")
        page.wait_for_selector("ul.search li a")
        seen["found"] = page.locator("ul.search li a").all_text_contents()
        page.screenshot(path=pictures / "search.png")
        page.locator("ul.search li a").first.click()
        page.wait_for_selector("article h1")
        seen["after"] = page.locator("article").inner_text().lower()
        seen["hostile"] = hostile(page, pictures)
    return seen


# --- What has to be true of what was seen --------------------------------------------------------


def nothing_else(seen: dict) -> None:
    """No error in the console, no request that leaves the machine."""
    assert seen["errors"] == []
    assert {host.partition(":")[0] for host in seen["hosts"]} <= {"127.0.0.1", ""}


def check_lab(seen: dict) -> None:
    nothing_else(seen)
    assert "Start here" in seen["first"]
    assert seen["kept"] and seen["dialogs"] == []
    assert {each["output_type"] for each in seen["outputs"]} <= {
        "stream",
        "display_data",
        "execute_result",
    }
    assert sum("image/png" in each.get("data", {}) for each in seen["outputs"]) == 5


def check_report(seen: dict) -> None:
    nothing_else(seen)
    assert seen["hosts"] == {""}  # files only
    assert 0 <= seen["in view"] < 1500
    assert "visual-codebook − cross-attention" in seen["verdict"]
    assert "over seeds" in seen["verdict"] and "[" in seen["verdict"]
    assert seen["title"].startswith("11") and seen["pictures"] == 0
    assert len(seen["found"]) >= 3 and "codebook" in seen["after"]
    harmless(seen["hostile"])


def harmless(seen: dict) -> None:
    """Nothing of a hostile folder is an element, a formula, a link or an order; all can be read."""
    assert seen["title"].startswith("02") and not seen["links"] and not seen["formulas"]
    assert len(seen["sources"]) == 1 and seen["sources"][0].endswith(".png")
    assert r"$\frac{" in seen["alt"] and r"\u202e" in seen["alt"]
    assert not {"IMG", "SCRIPT", "A"} & {*seen["explorer"]["tags"]}
    assert not seen["explorer"]["handled"]
    text = "".join(seen["explorer"]["text"])
    assert not ACTING.search(seen["text"].replace("\t", " ") + seen["alt"] + text)
    for each in NAMES:
        assert ACTING.search(each) or "\n" in each or each in text
    for each in CAPTIONS:
        assert " ".join(verbatim.line(each).split()) in " ".join(seen["text"].split())
        assert each[-9:] in text or ACTING.search(each) or "\n" in each


def check_brought(seen: dict) -> None:
    nothing_else(seen)
    ran, refused = seen["said"]
    assert (ran.returncode, refused.returncode) == (0, 2), f"{ran.stdout}\n{ran.stderr}"
    said = ran.stdout + ran.stderr + refused.stdout + refused.stderr
    assert not ACTING.search(said) and verbatim.line(FOLDER) in ran.stdout
    assert verbatim.line(f"3 {NAMES[3]} missing") in refused.stderr
    lines = refused.stderr.splitlines()
    assert lines[0].startswith("run_all.sh: ")
    assert all(each.startswith("  ") for each in lines[1:])
    assert all(each.startswith(seen["report"].as_uri()) for each in seen["asked"])  # none for x
    (_, settings, _, _), (title, text, alt, _) = seen["pages"]
    assert title.startswith("02") and f"{verbatim.line(FOLDER)}/{NAMES[0]}.json" in settings
    for _, shown_of_it, alts, acts in seen["pages"]:
        assert acts == [] and not ACTING.search(shown_of_it.replace("\t", " ") + "".join(alts))
    assert all(each in text for each in CAPTIONS[:5])
    assert any(r"$\frac{" in each for each in alt)


def check_explorer(seen: dict) -> None:
    nothing_else(seen)
    assert len({maps[0] for maps in seen["maps"]}) == seen["best regions"]
    assert look_apart(seen["elsewhere"])  # another word, another map
    assert all(left != right for left, right in seen["maps"])
    assert seen["pinned after hovering"] == ["word 0"]
    assert seen["away"] == seen["maps"][0] == seen["maps"][1] != seen["maps"][-1]
    assert seen["focused"] == "word 1" and seen["words"][1] in seen["told by keyboard"]
    words, wanted = seen["words"], []
    for step in seen["exchanges"]:  # the pinned word's, and the earlier one stays
        words = [*words[: step["place"]], step["other"], *words[step["place"] + 1 :]]
        wanted.append(words)
        before, after = step["scores"]
        assert step["words"] == words and step["field"] == " ".join(words)
        assert all("by the exchange" in each for each in after) and before[0] != after[0]
        assert f"“{step['other']}” for" in step["heard"]
        for told in after:
            score, place = re.search(r"score (\S+?),? .*comes (\w+) of", told).groups()
            assert f"score {score}, {place} of" in step["heard"]
    assert len({step["place"] for step in seen["exchanges"]}) == 2
    assert seen["undone"] == (wanted[0], False) and seen["focus after undo"] == "SELECT"
    live = ["status", "polite", False, False, "visible"]  # in the page before there is a text
    assert [region for region, _ in seen["live"]] == [live, live] and seen["live"][0][1] == ""
    for place, (word, heard) in enumerate(zip(seen["words"], seen["heard"], strict=True)):
        assert heard.startswith(f"“{word}”. ")
        for side in (0, 1):
            assert f": adds {seen['added'][place + side * len(seen['words'])]}, score" in heard
    assert "not in the vocabulary: purpel" in seen["unknown"]
    assert "comes 1st of" in seen["place of the found"]
    assert seen["kept"] == "a purpel star above a ring".split()
    here, *held = seen["held"]
    assert held == [here, seen["kept"]] and "comes 1st of" not in seen["place of the held"]
    assert seen["idle"] == ("false", ["word 0"])
    assert seen["captions"] == 5
    before, other, elsewhere = seen["switched"]
    assert before[0] != other[0] and before[1] == other[1] and other[1] != elsewhere[1]


@pytest.fixture
def smoke_copy(request, tmp_path) -> Copy:
    """The finished smoke run, to be opened in a browser."""
    if CHROMIUM is None:
        skip_unless_required("browser", "there is no chromium (Debian: apt-get install chromium)")
    return request.getfixturevalue("finished").twin(tmp_path / "work book")


pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_lab_opens_on_the_map_and_notebook_11_runs(smoke_copy, tmp_path):
    check_lab(map_and_11(smoke_copy, tmp_path))


def test_the_explorer_follows_the_pointer(smoke_copy, tmp_path):
    check_explorer(explore(smoke_copy, tmp_path))


def test_the_report_leads_to_the_answer_in_two_clicks_and_is_searched(request, tmp_path):
    if CHROMIUM is None:
        skip_unless_required("browser", "there is no chromium (Debian: apt-get install chromium)")
    check_report(follow(request.getfixturevalue("finished").smoke / "report", tmp_path))


def test_a_folder_that_would_do_harm_is_text(request, tmp_path):
    if CHROMIUM is None:
        skip_unless_required("browser", "there is no chromium (Debian: apt-get install chromium)")
    check_brought(brought(request.getfixturevalue("workbook_copy"), tmp_path))


if __name__ == "__main__":  # by hand: python tests/test_browser.py WORKBOOK PICTURES
    root, pictures = (Path(each).resolve() for each in sys.argv[1:])
    for do, check, what in (
        (map_and_11, check_lab, Copy(root)),
        (explore, check_explorer, Copy(root)),
        (follow, check_report, root / "results/world-smoke/report"),
        (brought, check_brought, Copy(root)),
    ):
        (pictures / do.__name__).mkdir(parents=True, exist_ok=True)
        found = do(what, pictures / do.__name__)
        print({name: str(value)[:300] for name, value in found.items()})
        check(found)
