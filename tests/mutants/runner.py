"""Runs the tests against wrong versions of the library.

Reads a JSON list of {"file", "snippet", "replacement", "tests"} from standard input (snippet null:
the library as it is) and writes one JSON line for each: its number in the list, pytest's exit code
and, unless it is a mutant that was killed, the end of the output. One mutant at a time, so that
other tests can run beside them; as many as there are cores once the file exists whose name is the
first argument.

The heavy packages are imported once. Each mutant runs in a fork of this process, which puts the
mutated module in place before anything imports it and then runs its test file up to the first
failure. The library as it is comes first and tells which lines each test runs: a mutant meets the
tests that run its lines before the others, and of them those first that are quick and have often
killed others. So one that survives has still been seen by every test of its file.
"""

import gc
import importlib.util
import io
import json
import linecache
import os
import signal
import sys
import tempfile
import threading
import time
import types
from collections import Counter, defaultdict
from contextlib import contextmanager
from importlib.metadata import entry_points
from pathlib import Path

sys.modules["rfc3987_syntax"] = None  # 2 s for a check of addresses, that none needs
os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # each start would look for them in all packages

import anywidget  # noqa: E402, F401, imported here once, for all forks
import hypothesis.extra.numpy  # noqa: E402
import matplotlib.pyplot  # noqa: E402, F401
import nbclient  # noqa: E402, F401
import nbformat.v4  # noqa: E402, F401
import numpy  # noqa: E402, F401
import open_clip  # noqa: E402, F401
import pandas.io.formats.style  # noqa: E402, F401
import pyarrow.parquet  # noqa: E402, F401
import pytest  # noqa: E402
import scipy.stats  # noqa: E402, F401
import spacy  # noqa: E402, F401
import sphinx.application  # noqa: E402, F401
import torch  # noqa: E402
import torch.utils.checkpoint  # noqa: E402, F401

TESTS = Path(__file__).parent.parent
SECONDS = 150  # of a mutant's processor time: one that runs on and on is not killed by a test
WAITING = 2400  # and of all its time, while other tests run
STEPS = 50_000  # calls of a test, and the library's lines, that are looked at: it takes long
CORES = max(1, min(4, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity")
                   else os.cpu_count()))


def mutated(file, snippet, replacement):
    """Source of the module with the one place changed."""
    source = package_folder().joinpath(file).read_text(encoding="utf-8")
    found = source.count(snippet)
    if found != 1:
        raise ValueError(f"{file} holds the snippet {found} times, not once: {snippet!r}; "
                         "bring the table under tests/mutants up to date")
    return source.replace(snippet, replacement)


def package_folder():
    """Folder of alignbook, found without importing it."""
    return Path(importlib.util.find_spec("alignbook").origin).parent


def install(file, source):
    """Make the source the module alignbook.<file> for every later import."""
    name = "alignbook." + file.removesuffix(".py").replace("/", ".")
    package = importlib.import_module(name.rpartition(".")[0])
    module = types.ModuleType(name)
    module.__file__ = str(package_folder() / file)
    module.__package__ = package.__name__
    sys.modules[name] = module
    setattr(package, name.rpartition(".")[2], module)
    # Triton reads a kernel's source where tracebacks do.
    linecache.cache[module.__file__] = len(source), None, source.splitlines(True), module.__file__
    exec(compile(source, module.__file__, "exec"), module.__dict__)


class Watched:
    """Notes the seconds and the library's lines of each test, those of its fixtures included.

    The lines that a test runs late may be missing: they but tell which tests a mutant meets first.
    The tests run in reverse: one that needs others before it fails here, not at a mutant.
    """

    def __init__(self, files):
        self.names = {str(package_folder() / file): file for file in files}
        self.lines, self.seconds, self.items = defaultdict(set), defaultdict(float), []
        self.now, self.left = set(), 0

    def look(self):
        """Begin to note lines; it ends by itself."""
        self.left = STEPS
        threading.settrace(self.enter)
        sys.settrace(self.enter)

    def enter(self, frame, *_):
        self.left -= 1
        if self.left < 0:
            sys.settrace(None)
        return self.step(frame) if frame.f_code.co_filename in self.names else None

    def step(self, frame, *_):
        self.left -= 1
        self.now.add((frame.f_code.co_filename, frame.f_lineno))
        return self.step

    @contextmanager
    def noted_as(self, name):
        outer, self.now, began = self.now, self.lines[name], time.process_time()
        self.look()
        try:
            yield
        finally:
            self.now = outer
            self.look()
            self.seconds[name] += time.process_time() - began

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef):
        with self.noted_as(fixturedef.argname):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item):
        with self.noted_as(item.nodeid):
            return (yield)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items):
        items.reverse()
        self.items = items

    def found(self):
        """Seconds of each test, and by line the tests that run it."""
        parts = {item.nodeid: [item.nodeid, *item.fixturenames] for item in self.items}
        seconds = {test: sum(self.seconds[part] for part in parts[test]) for test in parts}
        ran = defaultdict(list)
        for test in parts:
            for path, number in set().union(*(self.lines[part] for part in parts[test])):
                ran[f"{self.names[path]} {number}"].append(test)
        return seconds, ran


class Ordered:
    """Puts the tests that run a mutant's lines before the others, and of them those first from
    which the most is to be expected in a second, by what they did to other mutants so far.
    """

    def __init__(self, mutant, seconds, ran, told):
        source = package_folder().joinpath(mutant["file"]).read_text(encoding="utf-8")
        first = source[:source.find(mutant["snippet"])].count("\n") + 1
        lines = range(first, first + mutant["snippet"].count("\n") + 1)
        own = {test for line in lines for test in ran.get(f"{mutant['file']} {line}", [])}
        met = Counter(test for tests in told for test in tests)
        killed = Counter(tests[-1] for tests in told if tests)
        self.rank = {test: (test not in own, seconds[test] * (met[test] + 1) / (killed[test] + 0.1))
                     for test in seconds}  # fmt: skip
        self.met = []

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items):
        new = False, -1  # a test that is there by the mutant alone
        items.sort(key=lambda item: self.rank.get(item.nodeid, new))

    def pytest_runtest_logstart(self, nodeid):
        self.met.append(nodeid)


def child(mutant, output, watched):
    """In the fork: run the tests, all output to a file, and end with pytest's exit code."""
    code = 70
    try:
        for descriptor in (1, 2):
            os.dup2(output, descriptor)
        sys.stdin, sys.stdout, sys.stderr = io.StringIO(), open(1, "w"), open(2, "w")
        signal.alarm(WAITING)
        if not torch.cuda.is_available():
            os.environ["TRITON_INTERPRET"] = "1"  # before the kernels are imported
        if mutant["snippet"] is None:
            plugin = Watched(mutant["files"])
        else:
            signal.setitimer(signal.ITIMER_PROF, SECONDS)
            install(mutant["file"], mutated(mutant["file"], mutant["snippet"],
                                            mutant["replacement"]))
            seconds, ran, *told = map(json.loads, watched.read_text().splitlines())
            plugin = Ordered(mutant, seconds, ran, told)
        code = pytest.main([str(TESTS / mutant["tests"]), "-x", "-q", "-p", "no:cacheprovider",
                            "-o", "addopts=", "--no-header", "--tb=line",
                            "--assert=plain", "-p", "_hypothesis_pytestplugin",
                            "-p", "no:unraisableexception"],  # which collects garbage twice
                           plugins=[plugin])  # fmt: skip
        if mutant["snippet"] is None:
            sys.settrace(None)
            watched.write_text("".join(f"{json.dumps(part)}\n" for part in plugin.found()))
        elif code == 1:
            with watched.open("a") as file:  # for the mutants to come; a line at once
                file.write(f"{json.dumps(plugin.met)}\n")
    except BaseException as error:  # a mutant that cannot even be imported is a fault of the table
        print(f"{type(error).__name__}: {error}")
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(int(code))


def import_more():
    """What packages import on first use."""
    torch.testing.assert_close(torch.zeros(1), torch.zeros(1))
    for plugin in entry_points(group="pytest11"):
        plugin.load()
    hypothesis.given(hypothesis.strategies.integers())(lambda number: None)()


def run(waiting, folder):
    """Run jobs, as many at a time as asked for, and say what became of each."""
    running = {}
    while waiting or running:
        while waiting and len(running) < (CORES if os.path.exists(sys.argv[1]) else 1):
            number, mutant = waiting.pop(0)
            output = tempfile.TemporaryFile()
            pid = os.fork()
            if pid == 0:
                child(mutant, output.fileno(), Path(folder, mutant["tests"]))
            running[pid] = number, output
        pid, status = os.wait()
        number, output = running.pop(pid)
        code = os.waitstatus_to_exitcode(status)
        output.seek(0)
        killed = code == 1 and mutant["snippet"] is not None
        text = "" if killed else output.read().decode(errors="replace")[-2000:]
        output.close()
        print(json.dumps({"number": number, "code": code, "output": text}), flush=True)


def main():
    jobs = list(enumerate(json.load(sys.stdin)))
    torch.set_num_threads(1)
    import_more()
    gc.freeze()
    with tempfile.TemporaryDirectory() as folder:
        run([job for job in jobs if job[1]["snippet"] is None], folder)
        run([job for job in jobs if job[1]["snippet"] is not None], folder)


if __name__ == "__main__":
    main()
