"""What git commits of a notebook: no outputs where the filter is set, all of it elsewhere."""

import json
import os
import shutil
import subprocess
import sys

import pytest
from alignbook.workbook import command, notebookfilter
from conftest import ROOT

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
pytestmark = pytest.mark.skipif(not shutil.which("git"), reason="needs git")


@pytest.fixture
def clone(tmp_path, monkeypatch):
    """An empty git checkout with the workbook's attributes; its path has a space in it."""
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    root = tmp_path / "work book"
    root.mkdir()
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    shutil.copy(ROOT / ".gitattributes", root)
    return root


def executed(path):
    """A notebook as Lab saves it after a run, its JSON."""
    ran = json.loads(path.read_text(encoding="utf-8"))
    ran["metadata"]["language_info"] |= {"version": "3.99", "mimetype": "text/x-python"}
    ran["metadata"]["widgets"] = {"state": {}}
    for cell in ran["cells"]:
        cell["metadata"] |= {"scrolled": True, "execution": {"iopub.execute_input": "now"}}
        if cell["cell_type"] == "code":
            cell["execution_count"] = 7
            cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": ["said"]}]
    return json.dumps(ran, indent=1, ensure_ascii=False) + "\n"


def committed(root, name):
    subprocess.run(["git", "add", name], cwd=root, check=True, capture_output=True)
    return subprocess.run(
        ["git", "show", f":{name}"], cwd=root, check=True, capture_output=True
    ).stdout


def test_outputs_stay_out_of_commits_where_the_filter_is_set(clone):
    """Tags and parameters stay, byte for byte."""
    source = ROOT / "notebooks/11_chan_ablations.ipynb"
    (clone / "x.ipynb").write_text(executed(source), encoding="utf-8")
    assert b"said" in committed(clone, "x.ipynb")  # named, not set: a clone works all the same
    assert notebookfilter.put_in(clone) and not notebookfilter.put_in(clone)
    subprocess.run(["git", "rm", "-qf", "--cached", "x.ipynb"], cwd=clone, check=True)
    assert committed(clone, "x.ipynb") == source.read_bytes()
    assert "said" in (clone / "x.ipynb").read_text("utf-8")  # the file itself keeps what it shows


def test_a_filter_whose_environment_is_gone_lets_files_through(clone):
    notebookfilter.put_in(clone)
    setting = ["git", "config", notebookfilter.SETTING, "/nowhere/bin/python -m nbstripout"]
    subprocess.run(setting, cwd=clone, check=True)
    shutil.copy(NOTEBOOKS[0], clone / "x.ipynb")
    assert committed(clone, "x.ipynb") == NOTEBOOKS[0].read_bytes()


def test_committed_notebooks_pass_unchanged(tmp_path):
    copies = [shutil.copy(path, tmp_path) for path in NOTEBOOKS]
    subprocess.run([sys.executable, *notebookfilter.STRIP, *copies], check=True)
    assert len(copies) > 20
    for path, copy in zip(NOTEBOOKS, copies):
        assert path.read_bytes() == (tmp_path / path.name).read_bytes(), copy


def test_the_environment_inside_is_named_relative_to_the_checkout(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "executable", str(tmp_path / ".venv/bin/python"))
    assert notebookfilter.command(tmp_path).startswith(".venv/bin/python -I -c ")
    monkeypatch.setattr(sys, "executable", "/opt/my env/bin/python")
    assert notebookfilter.command(tmp_path).startswith("'/opt/my env/bin/python' -I ")


def test_a_folder_that_is_no_checkout_is_left_alone(clone, tmp_path):
    inside = clone / "copy"  # of the workbook, within somebody's repository
    inside.mkdir()
    for folder in (inside, tmp_path):
        with pytest.raises(ValueError, match="no git checkout"):
            notebookfilter.put_in(folder)
    config = (clone / ".git/config").read_text()
    assert "nbstripout" not in config


def test_the_command_says_what_it_set(clone, monkeypatch, capsys):
    monkeypatch.setattr(notebookfilter.put_in, "__defaults__", (clone,))
    for said in ("set.", "is set already."):
        assert command.main(["filter"]) == 0
        assert f"git config filter.nbstripout.clean: {said}" in capsys.readouterr().out
    assert "nbstripout" in (clone / ".git/config").read_text()
    shutil.rmtree(clone / ".git")
    assert command.main(["filter"]) == 2
    assert "no git checkout" in capsys.readouterr().err
