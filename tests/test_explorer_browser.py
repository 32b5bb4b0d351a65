"""The explorer in JupyterLab, in a real browser: hover, type, exchange; nothing asked elsewhere."""

import contextlib
import os
import re
import secrets
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

import nbformat
import pytest
from conftest import skip_unless_required

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
QUIET = ("--ServerApp.ip=127.0.0.1", "--no-browser", "--ServerApp.port_retries=0", "--allow-root",
         "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
         "--LabApp.news_url=", "--MappingKernelManager.kernel_info_timeout=600")  # fmt: skip
CANVASES = "[...document.querySelectorAll('.ab-canvas')].map((each) => each.toDataURL())"
WAIT = 300_000  # milliseconds, on a machine with other work to do


def smoke_copy(root: Path, target: Path) -> None:
    """Notebook 60 with the smoke profile in its parameters cell."""
    notebook = nbformat.read(root / "notebooks/60_explorer.ipynb", as_version=4)
    cell = next(c for c in notebook.cells if "parameters" in c.metadata.get("tags", ()))
    cell.source = cell.source.replace('profile = ""', 'profile = "smoke"')
    nbformat.write(notebook, target)


@contextlib.contextmanager
def lab(root: Path, home: Path):
    """JupyterLab over the notebooks of a workbook; its address, token included."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    token, address = secrets.token_hex(16), f"http://127.0.0.1:{port}"
    folders = {f"JUPYTER_{name}_DIR": str(home / name) for name in ("CONFIG", "DATA", "RUNTIME")}
    environment = os.environ | folders | {
        "PYTHONPATH": str(root / "lib"), "IPYTHONDIR": str(home / "ipython"),
        "JUPYTER_PREFER_ENV_PATH": "1", "OMP_NUM_THREADS": "1",
    }  # fmt: skip
    environment.pop("ALIGNBOOK_LIFELINE", None)
    told = (home / "lab.log").open("w")
    server = subprocess.Popen(
        [sys.executable, "-m", "jupyterlab", *QUIET, f"--ServerApp.port={port}",
         f"--IdentityProvider.token={token}", str(root / "notebooks")],
        env=environment, cwd=root, stdout=told, stderr=told,
    )  # fmt: skip
    try:
        for _ in range(240):
            with contextlib.suppress(OSError):
                urllib.request.urlopen(f"{address}/api?token={token}", timeout=5)
                break
            assert server.poll() is None, (home / "lab.log").read_text()
            time.sleep(0.5)
        yield address, token
    finally:
        server.terminate()
        try:
            server.wait(60)
        except subprocess.TimeoutExpired:
            server.kill()


@contextlib.contextmanager
def page_of(pictures: Path, seen: dict):
    """A page of Chromium's; what it asks for and complains about goes into `seen`."""
    from playwright.sync_api import sync_playwright

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
            page.screenshot(path=pictures / "failed.png")
            raise
        finally:
            browser.close()


def run_all(page) -> None:
    """Run every cell; once more if the kernel wasn't up: then a dialog asks for one first."""
    begun = page.locator(".jp-InputArea-prompt", has_text=re.compile(r"\[(\*|\d+)\]"))
    dialog = page.locator(".jp-Dialog-button.jp-mod-accept")
    for _ in range(5):
        page.get_by_role("menuitem", name="Run", exact=True).click()
        page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
        begun.or_(dialog).first.wait_for()
        if not dialog.is_visible():
            return
        dialog.click()
        page.wait_for_timeout(2000)


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


def use(root: Path, notebook: Path, pictures: Path) -> dict:
    """Open the notebook, run it, and move everything; what was seen, and how long moves took."""
    seen = {"hosts": set(), "errors": [], "took": {}}
    with lab(root, pictures) as (address, token), page_of(pictures, seen) as page:
        page.goto(f"{address}/lab/tree/{notebook.name}?token={token}")
        page.wait_for_selector(".jp-NotebookPanel .jp-Cell")
        run_all(page)
        page.wait_for_selector(".ab-explorer .ab-word")
        settled(page)
        page.wait_for_function(f"new Set({CANVASES}).size === 2")  # the pictures are loaded
        page.locator(".ab-explorer").scroll_into_view_if_needed()
        words = page.locator(".ab-word")
        seen["words"] = words.all_text_contents()

        maps = [page.evaluate(CANVASES)]
        for place in range(words.count()):
            words.nth(place).hover()
            page.wait_for_function(
                f"document.querySelectorAll('.ab-word')[{place}].ariaPressed === 'true'"
            )
            maps.append(page.evaluate(CANVASES))
        seen["maps"] = maps
        page.locator(".ab-explorer").screenshot(path=pictures / "hover.png")

        words.nth(0).focus()
        page.keyboard.press("ArrowRight")
        seen["focused"] = page.evaluate("document.activeElement.dataset.key")
        seen["told by keyboard"] = page.locator("[data-role=word]").first.text_content()

        exchange = page.locator(".ab-swap select")
        for place in range(words.count()):
            words.nth(place).hover()
            if exchange.is_visible():
                break
        before = page.locator(".ab-score").all_text_contents()
        other = exchange.locator("option").nth(1).get_attribute("value")
        seen["took"]["exchange"] = milliseconds(page, lambda: exchange.select_option(other))
        seen["exchanged"] = before, page.locator(".ab-score").all_text_contents()
        seen["words after"] = other, words.all_text_contents()
        page.locator(".ab-explorer").screenshot(path=pictures / "exchange.png")

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

        following = page.get_by_label("next picture")
        for k in range(5):
            seen["took"][f"browsed {k}"] = milliseconds(page, following.click)
        seen["captions"] = page.locator(".ab-own .ab-link").count()
        page.locator(".ab-explorer").screenshot(path=pictures / "browsed.png")
        page.wait_for_timeout(1000)  # whatever is still asked for
    return seen


@pytest.mark.browser
@pytest.mark.slow
def test_the_explorer_in_a_browser(request, tmp_path):
    if CHROMIUM is None:
        skip_unless_required("browser", "there is no chromium (Debian: apt-get install chromium)")
    finished = request.getfixturevalue("finished")
    copy = finished.twin(tmp_path / "work book")
    notebook = copy.root / "notebooks/60_smoke.ipynb"
    smoke_copy(copy.root, notebook)
    check(use(copy.root, notebook, tmp_path))


def check(seen: dict) -> None:
    """What has to be true of what `use` saw."""
    assert seen["errors"] == []
    assert {host.partition(":")[0] for host in seen["hosts"]} <= {"127.0.0.1", ""}
    for side in (0, 1):  # words have maps of their own, and the sides differ
        assert len({maps[side] for maps in seen["maps"]}) > 2
    assert all(left != right for left, right in seen["maps"])
    assert seen["focused"] == "word 1" and seen["words"][1] in seen["told by keyboard"]
    before, after = seen["exchanged"]
    assert all("by the exchange" in each for each in after) and before[0] != after[0]
    other, words = seen["words after"]
    assert other in words and sum(a != b for a, b in zip(words, seen["words"], strict=True)) == 1
    assert "not in the vocabulary: purpel" in seen["unknown"]
    assert "comes 1st of" in seen["place of the found"]
    assert seen["kept"] == "a purpel star above a ring".split()
    assert seen["captions"] == 5


if __name__ == "__main__":  # by hand: python tests/test_explorer_browser.py ROOT NOTEBOOK PICTURES
    found = use(*(Path(each).resolve() for each in sys.argv[1:4]))
    print({name: value for name, value in found.items() if name != "maps"})
    check(found)
