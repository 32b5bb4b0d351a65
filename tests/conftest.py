"""What the tests share: real data, copies of the workbook, and the smoke run made once."""

import fcntl
import functools
import itertools
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
import yardstick

ROOT = Path(__file__).resolve().parents[1]
LOCKS = ROOT / ".cache/tests"
TIMED = pytest.StashKey[bool]()  # whether any of the tests is timed, of several processes
BEGUN = LOCKS / os.environ.get("PYTEST_XDIST_TESTRUNUID", "alone")  # once one is at work
WAITED: list = []  # something, once this process has waited for that
KEPT: list = []  # the lock of a test that is timed, for the next one
STARTED = ExitStack()  # what ends with the tests
KILLED: dict[str, tuple] = {}  # of the mutants tried: their state, and the test that failed


def skip_unless_required(kind: str, reason: str) -> None:
    """Skip a test visibly; fail it where ALIGNBOOK_REQUIRE (comma-separated) names its kind."""
    if kind in os.environ.get("ALIGNBOOK_REQUIRE", "").split(","):
        pytest.fail(f"{kind} is required here: {reason}", pytrace=False)
    pytest.skip(reason)


def pytest_configure(config) -> None:
    sys.modules.setdefault("rfc3987_syntax", None)  # 2 s for a check of addresses, that none needs
    config.addinivalue_line("markers", "timed: nothing else goes on while this test does")
    config.addinivalue_line("markers", "xdist_group: tests that stay in one process")


def looks_at_smoke(item) -> bool:
    """Whether a test needs the smoke run, which is made once."""
    return not {"finished", "smoke_copy"}.isdisjoint(item.fixturenames)


def is_timed(item) -> bool:
    """Whether nothing else may go on while a test does; also of no test."""
    return item is not None and item.get_closest_marker("timed") is not None


def pytest_itemcollected(item) -> None:
    """A file's tests stay in one process, those that take minutes excepted; and so do all that look
    at the clock, or start anything in the smoke run's own copy.
    """
    if "attempt" in item.fixturenames or item.get_closest_marker("xdist_group"):
        return  # of one mutant each, or as it says itself
    whole = item.name if item.get_closest_marker("slow") else item.path.name
    shares = looks_at_smoke(item) and "tmp_path" not in item.fixturenames
    whole = "finished" if is_timed(item) or shares and whole == item.name else whole
    item.add_marker(pytest.mark.xdist_group(whole))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items: list) -> None:
    """The smoke run is made first, alone, and the tests that are timed follow at once: the others
    wait but once. Then what looks at the smoke run, and what else takes minutes.
    """
    smoke = [item for item in items if looks_at_smoke(item)]
    first = next(filter(is_timed, smoke), smoke[0]) if smoke else None
    if first:
        first.add_marker("timed")
    config.stash[TIMED] = "PYTEST_XDIST_WORKER" in os.environ and any(map(is_timed, items))
    items.sort(
        key=lambda item: (
            item is not first,
            not is_timed(item),
            not looks_at_smoke(item),
            not item.get_closest_marker("slow"),
        )
    )


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    """A test that looks at the clock is alone; those of the other processes wait for it.

    All take a lock together, it takes the lock alone, and keeps it for the next one of its kind. Who
    waits for that keeps the door meanwhile, so that no others come in. These are the first, and the
    other processes wait for them to begin: not a minute's test is to keep them waiting.
    """
    if "ALIGNBOOK_MUTANT" in os.environ:
        return (yield)
    end = time.monotonic() + 60 * item.config.stash[TIMED]
    while not (is_timed(item) or WAITED or BEGUN.exists()) and time.monotonic() < end:
        time.sleep(0.1)
    WAITED.append(True)
    clock = KEPT.pop() if KEPT else locked(fcntl.LOCK_EX if is_timed(item) else fcntl.LOCK_SH)
    if is_timed(item):
        BEGUN.touch()
    try:
        return (yield)
    finally:
        if is_timed(item) and is_timed(nextitem):
            KEPT.append(clock)
        else:
            clock.close()


def locked(how: int):
    """The file of the lock, which is ours until it's closed."""
    LOCKS.mkdir(parents=True, exist_ok=True)
    clock = open(LOCKS / "clock", "w")
    with open(LOCKS / "door", "w") as door:
        fcntl.flock(door, fcntl.LOCK_EX)
        fcntl.flock(clock, how)
    return clock


def pytest_runtest_logreport(report) -> None:
    """Keep what killed a mutant until the end."""
    for name, value in report.user_properties if report.when == "call" else ():
        if name == "killed":
            KILLED[value[0]] = value[1:]


def pytest_sessionfinish(session) -> None:
    """End what was started; write down what killed the mutants, if that was asked for."""
    STARTED.close()
    BEGUN.unlink(missing_ok=True)
    if KILLED and "ALIGNBOOK_MUTANTS" in os.environ and not hasattr(session.config, "workerinput"):
        import test_mutants

        test_mutants.write(KILLED)


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


@functools.cache
def warm_already() -> dict[str, str]:
    """An environment in which a start's jobs begin warm: one of a single notebook spends half its
    time on loading packages.
    """
    from alignbook.workbook import warm

    STARTED.enter_context(warm.keep())
    place = os.environ.pop(warm.VARIABLE, "")  # of who asks for it alone
    return {warm.VARIABLE: place} if place else {}


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
        self.environment |= {"ALIGNBOOK_ENV": sys.prefix, "ALIGNBOOK_INSTALL": "no"}

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

    def compute(self, *arguments: str):
        """Run the smoke profile to its end without a report; fail if it does."""
        done = self.run("--profile", "smoke", "--no-report", *arguments, **warm_already())
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
        return done

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
    """A copy with the smoke profile of everything computed; made once, for all processes of a test
    run, and not to be changed.
    """
    shared = tmp_path_factory.getbasetemp()
    if hasattr(request.config, "workerinput"):
        shared = shared.parent  # a process has a folder in it
    root, told = shared / "finished/work book", shared / "finished.json"
    with open(shared / "finished.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not told.exists():
            told.write_text(json.dumps(smoke_run(copy_workbook(root))))
    copy = Copy(root)
    vars(copy).update(json.loads(told.read_text()))
    return copy


BAR = 240  # seconds of a smoke run with its report


def smoke_run(copy: Copy) -> dict:
    """Compute the smoke profile of everything: what it said, its seconds, its longest silence, and,
    where it took longer than `BAR`, twice what the machine is worth.
    """
    command, told, said = [str(copy.root / "run_all.sh"), "--profile", "smoke"], [], ""
    how = {"cwd": copy.root, "env": copy.environment, "text": True, "stdout": subprocess.PIPE}
    told.append(time.monotonic())
    with tempfile.TemporaryFile("w+") as wrong:
        with subprocess.Popen(command, stderr=wrong, **how) as top:
            for line in top.stdout:
                said += line
                told.append(time.monotonic())
        wrong.seek(0)
        assert top.returncode == 0, f"{said}\n{wrong.read()}"
    told.append(time.monotonic())
    slow = told[-1] - told[0] > BAR
    return {
        "said": said,
        "seconds": told[-1] - told[0],
        "silence": max(later - earlier for earlier, later in itertools.pairwise(told)),
        "yardstick": [yardstick.seconds() for _ in range(2 * slow)],
    }
