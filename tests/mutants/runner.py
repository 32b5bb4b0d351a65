"""Runs tests against a wrong version of the library, one after another.

Reads a JSON line {"file", "snippet", "replacement", "tests"} from standard input and answers with a
JSON line {"code", "output", "by"}: pytest's exit code, the end of what it said, and the test that
failed. The heavy packages are imported once. Each version is tried in a fork, where it is the module
before anything imports that: so it is the wrong version that the tests, and all else, import.
"""

import importlib
import importlib.util
import io
import json
import linecache
import os
import signal
import sys
import tempfile
from importlib.machinery import SourceFileLoader
from importlib.metadata import entry_points
from pathlib import Path

sys.modules["rfc3987_syntax"] = None  # 2 s for a check of addresses, that none needs
os.environ["ALIGNBOOK_MUTANT"] = "1"  # the test that waits for these has taken its lock
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
import seaborn  # noqa: E402, F401
import spacy  # noqa: E402, F401
import sphinx.application  # noqa: E402, F401
import torch  # noqa: E402
import torch.utils.checkpoint  # noqa: E402, F401
from snippets import place  # noqa: E402

SECONDS = 150  # of a mutant's processor time: one that runs on and on is not killed by a test
WAITING = 1200  # and of all its time, while other tests run
OPTIONS = "-x -q -s --no-header --tb=line --assert=plain -p no:cacheprovider -o addopts= "
OPTIONS += "-p _hypothesis_pytestplugin -p no:unraisableexception"  # which collects garbage twice


def package_folder() -> Path:
    """Folder of alignbook, found without importing it."""
    return Path(importlib.util.find_spec("alignbook").origin).parent


def mutated(file: str, snippet: str, replacement: str) -> str:
    """Source of the module with the one place changed."""
    source = package_folder().joinpath(file).read_text(encoding="utf-8")
    start, end = place(source, snippet, file)
    return source[:start] + replacement + source[end:]


class Wrong(SourceFileLoader):
    """Loads one module of the library from a wrong source."""

    def __init__(self, name: str, path: Path, source: str):
        super().__init__(name, str(path))
        self.source = source

    def find_spec(self, name, path=None, target=None):
        """Stand in the way of the import of that one module."""
        if name != self.name:
            return None
        spec = importlib.util.spec_from_file_location(name, self.path, loader=self)
        if self.path.endswith("/__init__.py"):
            spec.submodule_search_locations = [str(Path(self.path).parent)]
        return spec

    def get_code(self, fullname):
        return compile(self.source, self.path, "exec")


def install(file: str, source: str) -> None:
    """Make the source the module of a file of the library, before anything imports that."""
    path = package_folder() / file
    name = "alignbook." + file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    # Triton reads a kernel's source where tracebacks do.
    linecache.cache[str(path)] = len(source), None, source.splitlines(True), str(path)
    sys.meta_path.insert(0, Wrong(name, path, source))
    importlib.import_module(name)


class Killer:
    """Notes the test that failed."""

    test = ""

    def pytest_runtest_logreport(self, report):
        if report.failed:
            self.test = report.nodeid


def attempt(job: dict, output, by) -> None:
    """In a fork: put a mutant in place, run its tests; never returns."""
    code, killer = 70, Killer()
    for descriptor in (1, 2):
        os.dup2(output.fileno(), descriptor)
    sys.stdin, sys.stdout, sys.stderr = io.StringIO(), open(1, "w"), open(2, "w")
    signal.alarm(WAITING)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    if not torch.cuda.is_available():
        os.environ["TRITON_INTERPRET"] = "1"  # before the kernels are imported
    try:
        install(job["file"], mutated(job["file"], job["snippet"], job["replacement"]))
        code = pytest.main([job["tests"], *OPTIONS.split()], plugins=[killer])
    except BaseException as error:  # a mutant that cannot even be imported is a fault of the table
        print(f"{type(error).__name__}: {error}")
    finally:
        by.write(killer.test.encode())
        by.flush()
        sys.stdout.flush()
        os._exit(int(code))


def main() -> None:
    """Answer every line."""
    torch.set_num_threads(1)
    torch.testing.assert_close(torch.zeros(1), torch.zeros(1))  # imports more on first use
    for plugin in entry_points(group="pytest11"):
        if plugin.name != "xdist" and not plugin.name.startswith("xdist."):
            plugin.load()
    hypothesis.given(hypothesis.strategies.integers())(lambda number: None)()
    for line in sys.stdin:
        with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as by:
            if not (pid := os.fork()):
                attempt(json.loads(line), output, by)
            code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            output.seek(0)
            by.seek(0)
            text = output.read().decode(errors="replace")[-2000:]
            print(json.dumps({"code": code, "output": text, "by": by.read().decode()}), flush=True)


if __name__ == "__main__":
    main()
