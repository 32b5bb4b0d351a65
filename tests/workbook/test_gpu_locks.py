"""Which GPU a job works on: one each, none twice."""

import os
import signal
import threading

import pytest
from alignbook.workbook.running import gpu_locks


@pytest.fixture(autouse=True)
def ends():
    """Whoever waits for a GPU that never comes fails, instead of waiting on."""

    def late(*_):
        raise TimeoutError("a GPU that should have been had was waited for")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(20)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def two(monkeypatch):
    monkeypatch.setattr(gpu_locks, "has_libraries", lambda: True)
    monkeypatch.setenv(gpu_locks.VISIBLE, "0, 3")
    monkeypatch.delenv(gpu_locks.JOBS, raising=False)


def test_what_is_visible(two, monkeypatch, tmp_path):
    assert gpu_locks.here() == ["0", "3"]
    monkeypatch.setenv(gpu_locks.VISIBLE, "-1")
    assert gpu_locks.here() == [] and not gpu_locks.used("auto")
    monkeypatch.setenv(gpu_locks.VISIBLE, "")
    assert gpu_locks.here() == []
    monkeypatch.delenv(gpu_locks.VISIBLE)
    monkeypatch.setattr(gpu_locks, "DRIVER", tmp_path)
    assert gpu_locks.here() == []
    for card in ("0000:01:00.0", "0000:02:00.0"):
        (tmp_path / card).mkdir()
    assert gpu_locks.here() == ["0", "1"] and gpu_locks.used("auto") and not gpu_locks.used("cpu")


def test_jobs_get_one_each(two, tmp_path):
    with gpu_locks.taken("arms", "cuda", folder=tmp_path):
        first = os.environ[gpu_locks.VISIBLE]
        os.environ[gpu_locks.VISIBLE] = "0, 3"  # as another job has it
        with gpu_locks.taken("arms", "auto", folder=tmp_path):
            assert {first, os.environ[gpu_locks.VISIBLE]} == {"0", "3"}
        assert os.environ[gpu_locks.VISIBLE] == "0, 3"


def test_a_third_waits_until_one_is_free(two, tmp_path):
    got, free = [], threading.Event()

    def third():
        with gpu_locks.taken("arms", "cuda", folder=tmp_path):
            got.append(free.is_set())

    with gpu_locks.taken("arms", "cuda", folder=tmp_path):
        os.environ[gpu_locks.VISIBLE] = "0, 3"
        with gpu_locks.taken("arms", "cuda", folder=tmp_path):
            os.environ[gpu_locks.VISIBLE] = "0, 3"
            job = threading.Thread(target=third)
            job.start()
            job.join(0.5)
            assert not got
            free.set()
        job.join(5)
    assert got == [True]


def test_as_many_as_was_said(two, monkeypatch, tmp_path):
    assert gpu_locks.places() == 2
    monkeypatch.setenv(gpu_locks.JOBS, "2")
    assert gpu_locks.places() == 4
    found = []
    for _ in range(4):
        monkeypatch.setenv(gpu_locks.VISIBLE, "0, 3")
        holding = gpu_locks.taken("training", "cuda", folder=tmp_path)
        holding.__enter__()
        found.append((holding, os.environ[gpu_locks.VISIBLE]))
    assert [name for _, name in found] == ["0", "3", "0", "3"]  # the emptiest first
    for holding, _ in found:
        holding.__exit__(None, None, None)


@pytest.mark.parametrize(
    "kind, device, visible",
    [
        ("collect", "cuda", "0,3"),  # needs none
        ("arms", "cpu", "0,3"),
        ("arms", "cuda:1", "0,3"),  # it is said which
        ("arms", "cuda", "5"),  # a cluster has chosen
    ],
)
def test_others_see_what_they_saw(kind, device, visible, monkeypatch, tmp_path):
    monkeypatch.setenv(gpu_locks.VISIBLE, visible)
    with gpu_locks.taken(kind, device, folder=tmp_path / "locks"):
        assert os.environ[gpu_locks.VISIBLE] == visible
    assert not (tmp_path / "locks").exists()


def test_a_job_that_fails_gives_it_back(two, tmp_path):
    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            with gpu_locks.taken("arms", "cuda", folder=tmp_path):
                1 / 0
        assert os.environ[gpu_locks.VISIBLE] == "0, 3"


def test_processes_that_train_together_get_as_many(monkeypatch, tmp_path):
    monkeypatch.setenv(gpu_locks.VISIBLE, "4,5,6")
    with gpu_locks.taken("arms", "cuda", 2, tmp_path):
        assert os.environ[gpu_locks.VISIBLE] == "4,5"
        monkeypatch.setenv(gpu_locks.VISIBLE, "4,5,6")
        with gpu_locks.taken("arms", "cuda", 1, tmp_path):
            assert os.environ[gpu_locks.VISIBLE] == "6"
    monkeypatch.setenv(gpu_locks.VISIBLE, "4,5,6")
    with gpu_locks.taken("arms", "cuda", 3, tmp_path / "all"):
        assert os.environ[gpu_locks.VISIBLE] == "4,5,6" and not (tmp_path / "all").exists()


def test_a_job_of_a_cluster_sees_only_what_it_asked_for(two, monkeypatch, tmp_path):
    monkeypatch.setenv("ALIGNBOOK_EXECUTOR", "slurm")
    assert not gpu_locks.used("auto") and gpu_locks.used("cuda")
    with gpu_locks.taken("arms", "cuda", folder=tmp_path):
        assert os.environ[gpu_locks.VISIBLE] in ("0", "3")
    with gpu_locks.taken("arms", "auto", folder=tmp_path):
        assert gpu_locks.here() == []


def test_a_driver_is_of_no_use_without_the_libraries(two, monkeypatch, tmp_path):
    assert gpu_locks.used("auto")
    monkeypatch.undo()
    monkeypatch.setenv(gpu_locks.VISIBLE, "0")
    monkeypatch.setattr(gpu_locks.sys, "prefix", str(tmp_path))
    assert gpu_locks.used("auto")  # an environment of one's own
    (tmp_path / ".alignbook").mkdir()
    assert not gpu_locks.used("auto") and gpu_locks.used("cuda")
    (tmp_path / ".alignbook/gpu").touch()
    assert gpu_locks.used("auto")
