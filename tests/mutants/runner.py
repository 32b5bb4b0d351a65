"""Runs the tests against wrong versions of the library.

Reads a JSON list of {"file", "snippet", "replacement", "tests"} from standard input (snippet null:
the library as it is) and writes one JSON line for each: its number in the list, pytest's exit code
and, unless it is a mutant that was killed, the end of the output. One mutant at a time, so that
other tests can run beside them; as many as there are cores once the file exists whose name is the
first argument.

The heavy packages are imported once. In a fork of this process pytest collects a test file, with
all that it imports, and forks again for each mutant: where nothing but the bodies of functions is
changed, they are exchanged in place. A mutant that is killed so is done with. All others, also those
that lived, are tried again in a fork of their own that imports the wrong version from the start.

The library as it is comes first and tells which tests passed, which then need not be run elsewhere,
and which lines each test runs: a mutant meets the tests that run its lines before the others, the
quickest first, up to the first failure. So one that survives has been seen by every test of its file.
"""

import fcntl
import gc
import importlib.util
import inspect
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
from collections import defaultdict
from contextlib import contextmanager
from functools import partial
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
from snippets import place  # noqa: E402

TESTS = Path(__file__).parent.parent
SECONDS = 150  # of a mutant's processor time: one that runs on and on is not killed by a test
WAITING = 2400  # and of all its time, while other tests run
STEPS = 400_000  # calls of a test, and the library's lines, that are looked at: it takes long
AGAIN = 71  # exit code of a mutant that cannot be put in place
SOURCE_IS_READ = {"core/kernels/gpu.py"}  # by Triton: a body that is exchanged is not seen
CORES = max(
    1, min(4, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count())
)


def mutated(file, snippet, replacement):
    """Source of the module with the one place changed."""
    source = package_folder().joinpath(file).read_text(encoding="utf-8")
    start, end = place(source, snippet, file)
    return source[:start] + replacement + source[end:]


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
        self.passed = defaultdict(int)  # of set-up, call and teardown of each test

    def pytest_runtest_logreport(self, report):
        self.passed[report.nodeid] += report.passed

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
        """Seconds of each test, by line the tests that run it, and the tests that passed."""
        parts = {item.nodeid: [item.nodeid, *item.fixturenames] for item in self.items}
        seconds = {test: sum(self.seconds[part] for part in parts[test]) for test in parts}
        ran = defaultdict(list)
        for test in parts:
            for path, number in set().union(*(self.lines[part] for part in parts[test])):
                ran[f"{self.names[path]} {number}"].append(test)
        return seconds, ran, [test for test in parts if self.passed[test] == 3]


class Ordered:
    """Puts the tests that run a mutant's lines before the others, and quick ones before slow."""

    def __init__(self, mutant, seconds, ran, _):
        source = package_folder().joinpath(mutant["file"]).read_text(encoding="utf-8")
        start, end = place(source, mutant["snippet"], mutant["file"])
        first = source[:start].count("\n") + 1
        lines = range(first, source[:end].count("\n") + 2)
        own = {test for line in lines for test in ran.get(f"{mutant['file']} {line}", [])}
        self.rank = {test: (test not in own, seconds[test]) for test in seconds}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items):
        new = False, -1  # a test that is there by the mutant alone
        items.sort(key=lambda item: self.rank.get(item.nodeid, new))


def exchanged(functions, path, old, new) -> bool:
    """Put the bodies in place in which two versions of a module differ, if that is all they differ
    in; `functions` are those that live, by `known_by`.
    """
    changes = list(differences(*(compile(source, path, "exec") for source in (old, new))))
    live = [functions.get(known_by(each[0]), []) if each else [] for each in changes]
    if not all(live):
        return False  # nothing, or what was run by the import
    for (_, code), own in zip(changes, live):
        for function in own:
            function.__code__ = code
    return bool(changes)


def differences(old, new):
    """Pairs of the code of functions, of a module or class, that differ; None for all else."""
    if body(old, nested=False) != body(new, nested=False):
        yield None
        return
    for one, other in zip(*(filter(inspect.iscode, code.co_consts) for code in (old, new))):
        if body(one) == body(other):
            continue
        if not one.co_flags & inspect.CO_OPTIMIZED:  # of a class
            yield from differences(one, other)
        else:
            yield (one, other) if one.co_freevars == other.co_freevars else None


def body(code, nested=True):
    """What a function, class or module does, wherever it stands."""
    inner = [
        (body(each) if nested else each.co_name) if inspect.iscode(each) else repr(each)
        for each in code.co_consts
    ]
    return (
        code.co_name,
        code.co_code,
        code.co_names,
        code.co_varnames,
        code.co_freevars,
        code.co_cellvars,
        code.co_flags,
        code.co_argcount,
        code.co_posonlyargcount,
        code.co_kwonlyargcount,
        code.co_exceptiontable,
        inner,
    )


def known_by(code):
    return code.co_filename, code.co_qualname, code.co_firstlineno


HELD = []  # of a fork: its core


def free_core(folder):
    """A file that is locked while its process lives: one, or once they hurry one for each core."""
    for i in range(CORES if os.path.exists(sys.argv[1]) else 1):
        file = open(Path(folder, f"core-{i}"), "w")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return file
        except BlockingIOError:
            file.close()
    return None


def forked(jobs, folder, ended):
    """Fork for each job once a core is free: returns the job in the fork, None when all have ended.

    `ended(job, code, output)` is told of each.
    """
    running = {}
    while jobs or running:
        if jobs and (core := free_core(folder)):
            job, output = jobs.pop(0), tempfile.TemporaryFile()
            sys.stdout.flush()
            if not (pid := os.fork()):
                for descriptor in (1, 2):
                    os.dup2(output.fileno(), descriptor)
                HELD.append(core)
                signal.alarm(WAITING)
                if job[1]["snippet"] is not None:
                    signal.setitimer(signal.ITIMER_PROF, SECONDS)
                return job
            core.close()
            running[pid] = job, output
        pid, status = os.waitpid(-1, os.WNOHANG) if running else (0, 0)
        if pid:
            job, output = running.pop(pid)
            output.seek(0)
            text = output.read().decode(errors="replace")[-2000:]
            output.close()
            ended(job, os.waitstatus_to_exitcode(status), text)
        elif not jobs or not core:
            time.sleep(0.02)
    return None


def tell(told, folder, job, code, text):
    """One line of what became of a job."""
    killed = code == 1 and job[1]["snippet"] is not None
    line = {"number": job[0], "code": code, "output": "" if killed else text}
    if code == 0 and job[1]["snippet"] is None:
        line["passed"] = json.loads(Path(folder, job[1]["tests"]).read_text())[2]
    print(json.dumps(line), file=told, flush=True)


class Stage:
    """Has a test file collected, and forks for its jobs where the tests would begin."""

    def __init__(self, jobs, folder, told):
        self.jobs, self.folder, self.told, self.job, self.plugin = jobs, folder, told, None, None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session):
        unchanged, *mutants = self.jobs
        for file in unchanged[1]["files"]:
            importlib.import_module("alignbook." + file.removesuffix(".py").replace("/", "."))
        functions, folder = defaultdict(list), f"{package_folder()}{os.sep}"
        for each in gc.get_objects():
            if inspect.isfunction(each) and each.__code__.co_filename.startswith(folder):
                functions[known_by(each.__code__)].append(each)
        gc.freeze()
        self.jobs = []
        self.job = forked([unchanged], self.folder, partial(tell, self.told, self.folder))
        self.job = self.job or forked(mutants, self.folder, self.ended)
        if not self.job:
            return True
        _, mutant = self.job
        if mutant["snippet"] is not None:
            source = package_folder().joinpath(mutant["file"])
            if mutant["file"] in SOURCE_IS_READ or not exchanged(
                functions,
                str(source),
                source.read_text(encoding="utf-8"),
                mutated(mutant["file"], mutant["snippet"], mutant["replacement"]),
            ):
                os._exit(AGAIN)
        self.plugin = watching(mutant, Path(self.folder, mutant["tests"]))
        self.plugin.pytest_collection_modifyitems(session.items)
        session.config.pluginmanager.register(self.plugin)
        return None

    def ended(self, job, code, text):
        if code == 1:
            tell(self.told, self.folder, job, code, text)
        else:
            self.again(job)

    def again(self, job):
        with Path(self.folder, "again").open("a") as file:
            file.write(f"{job[0]}\n")


def watching(mutant, watched):
    """The plugin that goes with a job."""
    if mutant["snippet"] is None:
        return Watched(mutant["files"])
    return Ordered(mutant, *json.loads(watched.read_text()))


def tested(tests, *plugins):
    """Pytest's exit code of a test file."""
    sys.stdin, sys.stdout, sys.stderr = io.StringIO(), open(1, "w"), open(2, "w")
    if not torch.cuda.is_available():
        os.environ["TRITON_INTERPRET"] = "1"  # before the kernels are imported
    return pytest.main(
        [
            str(next(TESTS.rglob(tests))),
            "-x",
            "-q",
            "-s",
            "-p",
            "no:cacheprovider",
            "-o",
            "addopts=",
            "--no-header",
            "--tb=line",
            "--assert=plain",
            "-p",
            "_hypothesis_pytestplugin",
            "-p",
            "no:unraisableexception",
        ],  # which collects garbage twice
        plugins=plugins,
    )


def stage(jobs, folder, told):
    """In a fork: try the mutants of a test file in place; never returns."""
    code = 70
    tests = jobs[0][1]["tests"]
    try:
        with tempfile.TemporaryFile() as output:
            for descriptor in (1, 2):
                os.dup2(output.fileno(), descriptor)
            plugin = Stage(jobs, folder, told)
            code = tested(tests, plugin)
            if plugin.job and plugin.job[1]["snippet"] is None:
                sys.settrace(None)
                Path(folder, tests).write_text(json.dumps(plugin.plugin.found()))
            elif plugin.jobs:  # the tests could not even be collected
                sys.stdout.flush()
                output.seek(0)
                tell(told, folder, jobs[0], code, output.read().decode(errors="replace")[-2000:])
                for job in jobs[1:]:
                    plugin.again(job)
    except BaseException as error:
        print(f"{type(error).__name__}: {error}")
    finally:
        sys.stdout.flush()
        os._exit(int(code))


def alone(mutant, folder):
    """In a fork: put a mutant in place before anything imports it, run its tests; never returns."""
    code = 70
    try:
        install(mutant["file"], mutated(mutant["file"], mutant["snippet"], mutant["replacement"]))
        code = tested(mutant["tests"], watching(mutant, Path(folder, mutant["tests"])))
    except BaseException as error:  # a mutant that cannot even be imported is a fault of the table
        print(f"{type(error).__name__}: {error}")
    finally:
        sys.stdout.flush()
        os._exit(int(code))


def import_more():
    """What packages import on first use."""
    torch.testing.assert_close(torch.zeros(1), torch.zeros(1))
    for plugin in entry_points(group="pytest11"):
        plugin.load()
    hypothesis.given(hypothesis.strategies.integers())(lambda number: None)()


def main():
    jobs = list(enumerate(json.load(sys.stdin)))
    told = os.fdopen(os.dup(1), "w")
    torch.set_num_threads(1)
    import_more()
    gc.freeze()
    of_tests = defaultdict(list)  # of each test file first the library as it is
    for job in jobs:
        of_tests[job[1]["tests"]].append(job)
    with tempfile.TemporaryDirectory() as folder:
        waiting, stages = list(of_tests.values()), set()
        while waiting or stages:
            if waiting and len(stages) < (CORES if os.path.exists(sys.argv[1]) else 1):
                own = waiting.pop(0)
                if not (pid := os.fork()):
                    stage(own, folder, told)
                stages.add(pid)
            pid, _ = os.waitpid(-1, os.WNOHANG)
            stages.discard(pid)
            if not pid:
                time.sleep(0.05)
        again = Path(folder, "again")
        left = [jobs[int(number)] for number in again.read_text().split()] if again.exists() else []
        if job := forked(left, folder, partial(tell, told, folder)):
            alone(job[1], folder)


if __name__ == "__main__":
    main()
