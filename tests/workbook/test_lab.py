"""./run_all.sh lab: on notebook 00, for this machine alone; and a cell that is interrupted there."""

import json
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from alignbook.workbook import command, lab
from conftest import ROOT, listens


@pytest.mark.parametrize(
    "arguments",
    [
        ["--ip=0.0.0.0"],
        ["--ip", "0.0.0.0"],
        ["--ServerApp.ip=*"],
        ["--IdentityProvider.token="],
        ["--ServerApp.token", ""],
        ["--no-browser", "--PasswordIdentityProvider.hashed_password=x"],
        ["--ServerApp.allow_remote_access=True"],
        ["--ServerApp.allow_origin=*"],
        ["--allow_origin_pat", ".*"],
        ["--ServerApp.disable_check_xsrf=True"],
        ["-ServerApp.token="],
        ["--disable-check-xsrf"],
        ["--Session.key="],
        ["--ServerApp.tornado_settings.xsrf_cookies=0"],
        ["--ServerApp.identity_provider_class=x.Y"],
        ["--config", "settings.json"],
        ["--config=x.py"],
        ["--LabApp.ServerApp.cookie_secret=x"],
        ["--ServerApp.allow_credentials", "True"],
        ["--IdentityProvider.cookie_name=x"],
        ["--gateway-url=http://x"],
        ["--sock", "/tmp/x"],
    ],
)
def test_lab_is_not_opened_to_others(arguments, capsys, monkeypatch):
    monkeypatch.setattr(lab.os, "execv", lambda *_: pytest.fail("Lab was started"))
    assert command.main(["lab", *arguments]) == 2
    said = capsys.readouterr().err
    assert arguments[-1 if "=" in arguments[-1] else 0].partition("=")[0] in said
    assert "127.0.0.1" in said and "JUPYTER_TOKEN" in said


# Words in the names of settings that may let others in, and those that don't though they have one.
SUSPECT = re.compile(
    "allow|token|passw|auth|origin|xsrf|cookie|credential|host|remote|external|ip$"
    "|identity|login|settings|trust|secret|static|gateway|sock|config|handler"
)
HARMLESS = """
    allow_hidden allow_root allow_tracebacks allowed_extensions_uris allowed_kernelspecs
    allowed_message_types generate_config show_config show_config_json logging_config
    files_handler_class files_handler_params terminado_settings app_settings_dir settings_url
    user_settings_dir override_static_url static_immutable_cache static_url_prefix
    websocket_ping_interval websocket_ping_timeout websocket_compression_options
    kernel_websocket_connection_class
""".split()


def test_every_setting_of_jupyter_that_may_let_others_in_is_known():
    """A new version brings new ones: each is refused, or harmless."""
    from jupyter_server.serverapp import ServerApp
    from jupyterlab.labapp import LabApp

    for kind in {*LabApp.classes, *ServerApp.classes, LabApp, ServerApp}:
        if kind.__name__ not in lab.OPENING:
            names = {name for name in kind.class_traits(config=True) if SUSPECT.search(name)}
            assert names - lab.OPENING - set(HARMLESS) == set(), kind


def ask(url: str) -> tuple[int, str]:
    """Status and text of a page."""
    try:
        with urllib.request.urlopen(url, timeout=20) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, ""


def test_lab_opens_on_the_map_with_a_token_on_a_free_port(workbook_copy, tmp_path):
    runtime = tmp_path / "runtime"
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        lab = workbook_copy.start(
            "lab",
            "--no-browser",
            "--allow-root",
            f"--port={port}",
            JUPYTER_RUNTIME_DIR=str(runtime),
        )
        try:
            end = time.monotonic() + 180
            while not (said := "".join(map(Path.read_text, runtime.glob("jpserver-*.json")))):
                assert lab.poll() is None and time.monotonic() < end
                time.sleep(0.2)
            server = json.loads(said)
            assert server["hostname"] == "127.0.0.1" and server["port"] != port
            while not listens(server["port"]):  # it says where before it does
                assert lab.poll() is None and time.monotonic() < end
                time.sleep(0.2)
            assert len(server["token"]) >= 32 and not server["password"]
            address = f"http://127.0.0.1:{server['port']}"
            assert ask(f"{address}/api/contents/notebooks")[0] == 403
            token = f"?token={server['token']}"
            status, listed = ask(f"{address}/api/contents/notebooks{token}")
            assert status == 200 and "notebooks/00_start_here.ipynb" in listed
            with urllib.request.urlopen(f"{address}/{token}", timeout=20) as first:
                assert urlsplit(first.url).path == "/lab/tree/notebooks/00_start_here.ipynb"
                page = first.read().decode()
            assert '"news": {"disabled": true}' in page
            asks = f"{address}/lab/api/settings/@jupyterlab/apputils-extension:notification{token}"
            assert (
                json.loads(ask(asks)[1])["schema"]["properties"]["fetchNews"]["default"] == "false"
            )
        finally:
            lab.terminate()
            lab.wait(20)


# In a kernel: a store, a data set and a recipe of their own, so that a training takes some seconds.
CELL = """\
import os
os.environ["ALIGNBOOK_CHECKPOINT_SECONDS"] = "0.05"
from pathlib import Path
from alignbook.store import runs
from alignbook.workbook import workbook
workbook.ROOT = Path({root!r})
runs.STORE = Path({root!r}) / "results/store"
small = "train_images=64 dev_images=20 test_images=20 base_epochs={epochs} base_batch=16"
run = workbook.open("smoke", settings=small, device="cpu").base()
print(run.key, run.metrics["steps"], run.metrics["checksum"])
"""
EPOCHS = 10


def test_an_interrupted_cell_leaves_the_store_whole(tmp_path):
    """And the same cell goes on from the checkpoint, to what an unbroken run ends with."""
    from jupyter_client.manager import start_new_kernel

    cell = CELL.format(root=str(tmp_path / "broken"), epochs=EPOCHS)
    manager, client = start_new_kernel(kernel_name="python3", cwd=str(ROOT / "notebooks"))
    try:
        store = tmp_path / "broken/results/store"
        asked = client.execute(cell)
        end = time.monotonic() + 120
        while not list(store.glob(".partial/*/checkpoint.pt")):
            assert time.monotonic() < end
            time.sleep(0.02)
        manager.interrupt_kernel()
        while (reply := client.get_shell_msg(timeout=30))["parent_header"]["msg_id"] != asked:
            pass  # what the kernel said of itself
        assert reply["content"].get("ename") == "KeyboardInterrupt", reply["content"]
        assert [path.name for path in store.iterdir() if path.name[0] != "."] == []
        (part,) = store.glob(".partial/*")
        assert (part / "checkpoint.pt").exists() and not (part / "run.json").exists()

        said = []
        for _ in range(20):  # the kernel drops what comes right after an error
            reply = client.execute_interactive(cell, timeout=120, output_hook=said.append)
            if reply["content"]["status"] != "aborted":
                break
            time.sleep(0.1)
        assert reply["content"]["status"] == "ok"
    finally:
        manager.shutdown_kernel(now=True)
    told = "".join(m["content"]["text"] for m in said if m["content"].get("name") == "stdout")
    (whole,) = [path.name for path in store.iterdir() if path.name[0] != "."]
    assert not list(store.glob(".partial/*")) and (store / whole / "run.json").exists()
    unbroken = subprocess.run(
        [sys.executable, "-c", CELL.format(root=str(tmp_path / "unbroken"), epochs=EPOCHS)],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert told.splitlines()[-1] == unbroken.stdout.splitlines()[-1], unbroken.stderr[-2000:]
    assert told.split()[0] == whole


def test_saving_keeps_the_workbooks_notebooks_without_outputs(tmp_path):
    """As committed, whatever was run in them; those elsewhere keep what they show."""
    from jupyter_server.services.contents.largefilemanager import LargeFileManager
    from traitlets.config import PyFileConfigLoader

    ours = ROOT / "lib/alignbook/workbook/jupyter"
    config = PyFileConfigLoader("jupyter_server_config.py", path=str(ours)).load_config()
    manager = LargeFileManager(root_dir=str(tmp_path), config=config)
    committed = (ROOT / "notebooks/11_chan_ablations.ipynb").read_text(encoding="utf-8")
    ran = json.loads(committed)
    ran["metadata"]["language_info"]["version"] = "3.99"
    ran["metadata"]["kernelspec"]["display_name"] = "Python 3 (ipykernel)"
    ran["metadata"]["widgets"] = {"state": {}}
    for cell in ran["cells"]:
        cell["metadata"] |= {"scrolled": True, "execution": {"iopub.execute_input": "now"}}
        if cell["cell_type"] == "code":
            cell["execution_count"] = 7
            cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "said"}]
    for folder in ("notebooks", "mine"):
        (tmp_path / folder).mkdir()
        model = {"type": "notebook", "format": "json", "content": json.loads(json.dumps(ran))}
        manager.save(model, f"{folder}/x.ipynb")
    saved, mine = (
        (tmp_path / name / "x.ipynb").read_text("utf-8") for name in ("notebooks", "mine")
    )
    assert saved == committed
    assert "said" in mine and "3.99" in mine


def test_a_bar_begins_anew_after_an_interrupt(monkeypatch):
    from alignbook.store import progress

    monkeypatch.delenv("ALIGNBOOK_LIFELINE", raising=False)
    monkeypatch.setattr(progress, "BAR", {})
    progress.show("training", 1, 10)
    progress.show("training", 2, 10)
    first = progress.BAR["training"]
    progress.show("training", 1, 10)  # the cell was stopped and started again
    assert progress.BAR["training"] is not first and progress.BAR["training"].n == 1
    progress.show("training", 2, 10)
    assert progress.BAR["training"].n == 2
    progress.show("training", 10, 10)
    assert progress.BAR == {}
