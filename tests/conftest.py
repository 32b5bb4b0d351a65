"""What the tests share: real data, copies of the workbook, and the smoke run made once."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
import yardstick

ROOT = Path(__file__).resolve().parents[1]


def skip_unless_required(kind: str, reason: str) -> None:
    """Skip a test visibly; fail it where ALIGNBOOK_REQUIRE (comma-separated) names its kind."""
    if kind in os.environ.get("ALIGNBOOK_REQUIRE", "").split(","):
        pytest.fail(f"{kind} is required here: {reason}", pytrace=False)
    pytest.skip(reason)


def pytest_collection_modifyitems(items: list) -> None:
    """What waits for the mutants comes late, what waits for the training last."""
    whole = any("outcomes" in item.fixturenames for item in items)
    items.sort(
        key=lambda item: (
            "laptop" in item.fixturenames,
            "outcomes" in item.fixturenames,
            whole and runs_with_mutants(item),
        )
    )


def runs_with_mutants(item) -> bool:
    """Whether the mutants' runner runs a test too, with the library as it is."""
    import test_mutants

    return item.path.name in test_mutants.TEST_FILES and not item.get_closest_marker("timed")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item) -> bool | None:
    """Report what the mutants' runner has seen pass; all else is run here, and says what is wrong."""
    import test_mutants

    if not hasattr(item.config, "mutants") or not runs_with_mutants(item):
        return None
    if not hasattr(item.config, "passed"):
        found = test_mutants.ended(*item.config.mutants).values()
        item.config.passed = {test for line in found for test in line.get("passed", ())}
    if item.nodeid not in item.config.passed:
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for when in ("setup", "call", "teardown"):
        report = pytest.TestReport(item.nodeid, item.location, {}, "passed", None, when)
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def pytest_collection_finish(session) -> None:
    """Start what goes on beside the tests, at a lower priority: the training of the laptop profile
    that some tests look at, and the mutants.
    """
    waited_for = {name for item in session.items for name in item.fixturenames}
    if session.config.option.collectonly:
        return
    if "outcomes" in waited_for:
        import test_mutants

        session.config.folder = tempfile.TemporaryDirectory()
        folder = Path(session.config.folder.name)
        session.config.mutants = test_mutants.start(folder), folder
    if "laptop" not in waited_for:
        return
    from test_trained_gate import TRAIN

    session.config.words = tempfile.TemporaryFile("w+")  # its bars would fill a pipe
    session.config.training = subprocess.Popen(
        ["nice", sys.executable, "-c", TRAIN],
        env={**os.environ, "OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"},
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=session.config.words,
        text=True,
        process_group=0,
    )


def pytest_configure(config) -> None:
    config.addinivalue_line("markers", "timed: nothing else goes on while this runs the workbook")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item) -> None:
    """What goes on beside the tests waits while one of them looks at the clock."""
    beside(item.config, signal.SIGSTOP if item.get_closest_marker("timed") else signal.SIGCONT)


def beside(config, now: signal.Signals) -> None:
    """Stop or continue what goes on beside the tests."""
    for process in (getattr(config, "training", None), getattr(config, "mutants", [None])[0]):
        if process and process.poll() is None:
            os.killpg(process.pid, now)


def pytest_sessionfinish(session) -> None:
    """Nothing goes on when the tests have ended; what was trained so far is continued next time."""
    if training := getattr(session.config, "training", None):
        end(training)
    if mutants := getattr(session.config, "mutants", None):
        end(mutants[0])


def end(process: subprocess.Popen) -> None:
    """Kill a process and those it started."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)


@pytest.fixture(autouse=True)
def data_looked_at_anew():
    """No test is handed the data that another one prepared, or put in its place."""
    yield
    if loaded := sys.modules.get("alignbook.workbook.workbook"):
        loaded._prepared.cache_clear()


@pytest.fixture(autouse=True, scope="session")
def hashes_of_their_own(tmp_path_factory):
    """What the tests' files hold is noted elsewhere than what the user's do."""
    from alignbook.store import contents

    contents.KNOWN = tmp_path_factory.mktemp("hashes")


@pytest.fixture
def no_network(monkeypatch):
    """Whoever asks the network fails."""

    def refuse(*_):
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.fixture(scope="session")
def laptop(request) -> dict:
    """What the training printed: metrics of the laptop profile's CHAN and of its base model."""
    training = request.config.training
    told, _ = training.communicate(timeout=1800)
    words = request.config.words
    words.seek(0)
    assert training.returncode == 0, words.read()[-3000:]
    return json.loads(told.splitlines()[-1])


@pytest.fixture(scope="session")
def realdata() -> Path:
    """The folder with real data sets."""
    folder = os.environ.get("ALIGNBOOK_DATA")
    if not folder or not Path(folder).is_dir():
        skip_unless_required("realdata", f"ALIGNBOOK_DATA names no folder with data ({folder})")
    return Path(folder).resolve()


@pytest.fixture(scope="session")
def seeds() -> dict[str, str]:
    """The four papers' source texts, by paper."""
    folder = os.environ.get("ALIGNBOOK_SEEDS")
    if not folder and (data := os.environ.get("ALIGNBOOK_DATA")):
        folder = Path(data).resolve().parent / "seeds"
    if not folder or not Path(folder).is_dir():
        skip_unless_required("realdata", f"ALIGNBOOK_SEEDS names no folder of texts ({folder})")
    prefixes = {"covalign": "000", "comalign": "002", "gsl": "003", "chan": "004"}
    found = {paper: next(Path(folder).glob(f"{start}_*.txt")) for paper, start in prefixes.items()}
    return {paper: path.read_text(encoding="utf-8") for paper, path in found.items()}


def listens(port: int) -> bool:
    """Whether a port of this machine takes connections."""
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0


class Copy:
    """A copy of the workbook that runs in the environment the tests run in."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.smoke = root / "results/world-smoke"
        inside = f"{ROOT}/.cache/"  # caches of the checkout: a copy starts with none
        self.environment = {
            name: value
            for name, value in os.environ.items()
            if not value.startswith(inside) and name not in ("PYTHONPATH", "ALIGNBOOK_LIFELINE")
        }
        self.environment["ALIGNBOOK_ENV"] = sys.prefix

    def run(self, *arguments: str, before: tuple[str, ...] = (), **environment: str):
        """Run run_all.sh to its end and return what it said."""
        return subprocess.run(
            [*before, str(self.root / "run_all.sh"), *arguments],
            env={**self.environment, **environment},
            cwd=self.root,
            capture_output=True,
            text=True,
            timeout=1800,
        )

    def start(self, *arguments: str, before: tuple[str, ...] = (), **environment: str):
        """Start run_all.sh and return at once."""
        return subprocess.Popen(
            [*before, str(self.root / "run_all.sh"), *arguments],
            env={**self.environment, **environment},
            cwd=self.root,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def twin(self, root: Path) -> "Copy":
        """A copy of this copy, with all it has computed."""
        shutil.copytree(self.root, root, symlinks=True)
        return Copy(root)


def copy_workbook(target: Path) -> Copy:
    """Copy what belongs to the workbook: tracked files and new ones that git doesn't ignore."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=ROOT, capture_output=True
    )
    if listed.returncode:  # no checkout but an unpacked archive
        ignore = shutil.ignore_patterns(".*", "__pycache__", "results", "*.egg-info")
        shutil.copytree(ROOT, target, ignore=ignore)
        return Copy(target)
    for name in listed.stdout.decode().split("\0"):
        if name and (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)
    return Copy(target)


@pytest.fixture
def workbook_copy(tmp_path: Path) -> Copy:
    """A fresh copy of the workbook, nothing computed; its path has a space in it."""
    return copy_workbook(tmp_path / "work book")


@pytest.fixture(scope="session")
def finished(request, tmp_path_factory: pytest.TempPathFactory) -> Copy:
    """A copy with the smoke profile of everything computed; made once, not to be changed."""
    copy = copy_workbook(tmp_path_factory.mktemp("finished") / "work book")
    beside(request.config, signal.SIGSTOP)  # until the next test
    before = yardstick.seconds()
    started = time.monotonic()
    done = copy.run("--profile", "smoke")
    copy.seconds = time.monotonic() - started
    copy.yardstick = (before, yardstick.seconds())
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    copy.said = done.stdout
    return copy
