"""What a start stands on gives way: one line each, with the remedy, code 2 and no traceback."""

import errno
import os
import re
import socket
import subprocess
from types import SimpleNamespace

import pytest
from alignbook.workbook import checks, command, folders, surroundings
from alignbook.workbook.running import jobs, main_job, telling, walker


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A project folder with nothing in it, in which nothing is computed."""
    root = tmp_path / "work book"
    (root / "results").mkdir(parents=True)
    for module in (checks, folders, main_job, surroundings):
        monkeypatch.setattr(module, "ROOT", root)
    monkeypatch.setattr(main_job, "walk", lambda *_: pytest.fail("a walk began"))
    return root


def refused(capsys, *arguments) -> str:
    """The line that a start is refused with."""
    assert command.main(["--profile", "smoke", "02_data", *arguments]) == 2
    said = capsys.readouterr()
    assert said.err.startswith("run_all.sh: ") and said.err.count("\n") == 1 and not said.out
    return said.err


def test_a_folder_of_locks_that_is_a_file(root, capsys):
    (root / "results/.locks").touch()
    assert re.search("results/.locks: a file, .*remove it", refused(capsys))


@pytest.mark.parametrize(
    "name", [".snakemake", "notebooks", "figures", "jobs.log", "snakemake.log"]
)
def test_what_lies_where_a_start_makes_something_else(root, capsys, name):
    """A pipe would hang a start; of a file in the place of a folder Snakemake has a traceback."""
    place = root / "results/world-smoke" / name
    place.parent.mkdir()
    os.mkfifo(place)
    assert f"results/world-smoke/{name}: expected " in refused(capsys)
    place.unlink()
    if name.endswith(".log"):
        place.mkdir()
    else:
        place.touch()
    assert re.search("results/world-smoke/.*: move it elsewhere", refused(capsys))


@pytest.mark.parametrize("name", ["results", "results/store", ".cache"])
@pytest.mark.parametrize("code", [errno.EROFS, errno.EACCES, errno.ENOSPC])
def test_a_folder_that_cannot_be_written_to(root, capsys, monkeypatch, name, code):
    def fails(dir):
        if dir == root / name:
            raise OSError(code, os.strerror(code))
        return open(os.devnull, "wb")

    (root / name).mkdir(exist_ok=True)
    monkeypatch.setattr(surroundings.tempfile, "TemporaryFile", fails)
    line = refused(capsys)
    assert f"cannot write to {root / name}: {os.strerror(code)}; " in line
    assert {errno.EROFS: "mount", errno.EACCES: "chmod", errno.ENOSPC: "make room"}[code] in line


def test_a_file_in_place_of_the_caches(root, capsys):
    (root / ".cache").touch()
    assert ".cache: Not a directory; a file is in the way: move it" in refused(capsys)


def test_a_disk_with_little_room(root, capsys, monkeypatch):
    monkeypatch.setattr(
        surroundings.shutil, "disk_usage", lambda _: SimpleNamespace(free=3 * 10**6)
    )
    assert "results: 3 MB free on its disk, expected 52 MB at least: make room" in refused(capsys)


@pytest.mark.parametrize(
    "arguments", [["--data", b"flickr8k=/a/\xff"], ["--set", b"bert=/a/\xff"], [b"\xff"]]
)
def test_a_name_that_is_not_utf8(root, capsys, arguments):
    line = refused(capsys, *map(os.fsdecode, arguments))
    assert r"\xff: a name that is not UTF-8" in line and "rename it" in line
    assert not list((root / "results").iterdir())


@pytest.mark.parametrize("how", ["there", "link"])
def test_a_name_that_leads_where_it_is_not_utf8(root, capsys, monkeypatch, how):
    folder = root.parent / os.fsdecode(b"\xff")
    (folder / "coco").mkdir(parents=True)
    (root.parent / "link").symlink_to(folder)
    monkeypatch.chdir(folder if how == "there" else root.parent)
    data = "coco=coco" if how == "there" else "coco=link"
    assert r"/\xff" in (line := refused(capsys, "--data", data)) and "is not UTF-8" in line


@pytest.mark.parametrize("name", ["results", "results/store", "data", ".cache"])
def test_each_disk_has_to_have_room(root, capsys, monkeypatch, name):
    (root / name).mkdir(parents=True, exist_ok=True)
    free = dict.fromkeys(surroundings.written(), 1e12) | {root / name: 3e6}
    monkeypatch.setattr(
        surroundings.shutil, "disk_usage", lambda place: SimpleNamespace(free=free.get(place, 1e12))
    )
    assert f"{root / name}: 3 MB free on its disk, expected 52 MB at least" in refused(capsys)
    free[root / name] = 0.0
    assert surroundings.full() == [root / name]


def test_a_project_folder_whose_name_is_not_utf8(root, capsys, monkeypatch):
    monkeypatch.setattr(surroundings, "ROOT", root / os.fsdecode(b"\xff"))
    assert r"/\xff: a name that is not UTF-8" in refused(capsys)


def test_a_machine_that_does_not_reach_itself(root, capsys, monkeypatch):
    def fails(*_):
        raise OSError(errno.ENETUNREACH, "Network is unreachable")

    assert surroundings.without_loopback() is None
    monkeypatch.setattr(socket, "create_connection", fails)
    line = refused(capsys)
    assert "127.0.0.1 cannot be reached (Network is unreachable)" in line and " up; then" in line


@pytest.mark.parametrize(
    "code, words",
    [
        (errno.ENOSPC, "x/y: No space left on device; make room on that disk, then start again"),
        (errno.EISDIR, "x/y: Is a directory; a folder is in the way: move it elsewhere, then"),
        (errno.EAGAIN, "this machine: Resource temporarily unavailable; allow more processes"),
    ],
)
def test_what_gives_way_later_is_told(root, capsys, monkeypatch, code, words):
    def fails(*_):
        raise OSError(code, os.strerror(code), "x/y")

    monkeypatch.setattr(main_job, "check", fails)
    assert f"run_all.sh: {words}" in refused(capsys)


def test_an_error_that_no_surroundings_made_is_raised(root, monkeypatch):
    def fails(*_):
        raise FileNotFoundError(errno.ENOENT, "No such file or directory", "x")

    monkeypatch.setattr(main_job, "check", fails)
    with pytest.raises(FileNotFoundError):
        command.main(["--profile", "smoke"])


def test_a_full_disk_hides_nothing_of_what_failed(root, capsys, monkeypatch):
    """Neither that the start could not be noted nor PyTorch's own words stand in front of it."""

    def is_full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.undo()
    monkeypatch.setattr(walker, "finish", lambda *_: 1)
    monkeypatch.setattr(main_job, "note_start", is_full)
    monkeypatch.setattr(main_job.warm, "keep", main_job.suppress)
    for module in (folders, main_job):
        monkeypatch.setattr(module, "ROOT", root)
    told = []
    monkeypatch.setattr(telling, "tell_failures", lambda *_: told.append(1))
    settings = {"profile": "smoke", "data": "world", "seeds": None, "set": {}}
    assert main_job.walk(settings, ["02_data"], None, 1) == 1 and told

    def fails(book):
        raise RuntimeError("PytorchStreamWriter failed writing file data/0")

    monkeypatch.setattr(jobs.workbook, "load", lambda out: None)
    monkeypatch.setitem(jobs.KINDS, "data", fails)
    with pytest.raises(RuntimeError):
        jobs.main(["data", "--out", str(root)])
    monkeypatch.setattr(surroundings, "full", lambda: [root / "results"])
    assert jobs.main(["data", "--out", str(root)]) == 1
    said = capsys.readouterr().err
    assert said == (
        "  failed: data : PytorchStreamWriter failed writing file data/0 (no room left "
        f"on the disk of {root / 'results'})\n"
    )


def test_without_utf8_and_with_a_cluster_s_profile_the_graph_is_walked(workbook_copy):
    done = workbook_copy.run(
        "--profile",
        "smoke",
        "--dry-run",
        "50_kernels",
        LC_ALL="C",
        PYTHONUTF8="0",
        PYTHONCOERCECLOCALE="0",
        PYTHONIOENCODING="ascii",
        SNAKEMAKE_PROFILE="cluster",
    )
    assert done.returncode == 0, done.stderr
    assert "jobs would run" in done.stdout and "notebooks/50_kernels.done" in done.stdout
    assert done.stderr.splitlines()[-1].startswith("SNAKEMAKE_PROFILE is not used: ")


def test_caches_that_cannot_be_made_end_the_set_up(workbook_copy):
    """It waited for a lock that nobody could make."""
    (workbook_copy.root / ".cache").touch()
    environment = {**workbook_copy.environment}
    del environment["ALIGNBOOK_ENV"]
    environment.pop("CONDA_PREFIX", None)
    done = subprocess.run(
        [str(workbook_copy.root / "run_all.sh"), "doctor"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=20,
    )
    assert done.returncode == 2
    assert re.fullmatch(r"run_all.sh: cannot write to .*/\.cache: .* start again\n", done.stderr)
