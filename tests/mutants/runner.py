"""Runs the tests against wrong versions of the library.

Reads a JSON list of {"file", "snippet", "replacement", "tests"} from standard input (snippet null:
the library as it is) and writes one JSON line for each: its number in the list, pytest's exit code
and, unless that is 1, the end of the output. One mutant at a time, so that other tests can run
beside them; as many as there are cores once the file exists whose name is the first argument.

The heavy packages are imported once. Each mutant runs in a fork of this process, which puts the
mutated module in place before anything imports it and then runs its test file.
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
import types
from pathlib import Path

import hypothesis.extra.numpy  # noqa: F401  imported here once, for all forks
import matplotlib.pyplot  # noqa: F401
import numpy  # noqa: F401
import open_clip  # noqa: F401
import pandas.io.formats.style  # noqa: F401
import pytest
import scipy.stats  # noqa: F401
import torch
import torch.utils.checkpoint  # noqa: F401

TESTS = Path(__file__).parent.parent
SECONDS = 150  # of a mutant's processor time: one that runs on and on is not killed by a test
WAITING = 2400  # and of all its time, while other tests run
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


def child(mutant, output):
    """In the fork: run the tests, all output to a file, and end with pytest's exit code."""
    code = 70
    try:
        for descriptor in (1, 2):
            os.dup2(output, descriptor)
        sys.stdin, sys.stdout, sys.stderr = io.StringIO(), open(1, "w"), open(2, "w")
        signal.alarm(WAITING)
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        if not torch.cuda.is_available():
            os.environ["TRITON_INTERPRET"] = "1"  # before the kernels are imported
        if mutant["snippet"] is not None:
            install(mutant["file"], mutated(mutant["file"], mutant["snippet"],
                                            mutant["replacement"]))
        code = pytest.main([str(TESTS / mutant["tests"]), "-x", "-q", "-p", "no:cacheprovider",
                            "-o", "addopts=", "--no-header", "--tb=line",
                            "-p", "no:unraisableexception"])  # which collects garbage twice
    except BaseException as error:  # a mutant that cannot even be imported is a fault of the table
        print(f"{type(error).__name__}: {error}")
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(int(code))


def main():
    waiting = list(enumerate(json.load(sys.stdin)))
    running = {}
    torch.set_num_threads(1)
    torch.testing.assert_close(torch.zeros(1), torch.zeros(1))  # imports much more on first use
    gc.freeze()
    while waiting or running:
        while waiting and len(running) < (CORES if os.path.exists(sys.argv[1]) else 1):
            number, mutant = waiting.pop(0)
            output = tempfile.TemporaryFile()
            pid = os.fork()
            if pid == 0:
                child(mutant, output.fileno())
            running[pid] = number, output
        pid, status = os.wait()
        number, output = running.pop(pid)
        code = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = "" if code == 1 else output.read().decode(errors="replace")[-2000:]
        output.close()
        print(json.dumps({"number": number, "code": code, "output": text}), flush=True)


if __name__ == "__main__":
    main()
