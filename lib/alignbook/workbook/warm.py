"""Processes that begin with the heavy packages loaded: a job or a kernel starts in a tenth of a
second instead of five.

Importing PyTorch, pandas and IPython takes longer than most jobs of a smoke run. So one process
imports them once and forks for whoever asks: `python -m alignbook.workbook.warm MODULE [ARGUMENT…]` does
what `python -m MODULE` does, in such a fork where one can be had (`keep`), otherwise by itself.
Nothing of alignbook is loaded beforehand: a job reads the library as it stands when the job begins.

Both sides look at the other's user before they send or do anything: what is asked holds the whole
environment, and what is answered is a job's exit code. Their socket lies in a folder that nobody
else may enter. Whatever goes wrong before the job begins, it begins in the ordinary way instead.

On Linux only: elsewhere a fork of a process with these packages isn't safe. Standard library
only, but for what `serve` loads.
"""

import atexit
import gc
import importlib
import json
import os
import runpy
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from contextlib import contextmanager

VARIABLE = "ALIGNBOOK_WARM"
LOADED = (
    "torch",
    "numpy",
    "pandas",
    "pandas.io.formats.style",
    "pyarrow.parquet",
    "scipy.stats",
    "scipy.optimize",
    "matplotlib.pyplot",
    "matplotlib.backends.backend_agg",
    "IPython",
    "ipykernel.kernelapp",
    "papermill",
    "nbclient",
    "ipywidgets",
    "yaml",
    "safetensors.torch",
    "torch._dynamo",
    "open_clip",
    "accelerate",
    "seaborn.objects",
    "pydantic",
    "spacy",
)
# matplotlib asks once; a kernel would say so itself, too late.
INLINE = "module://matplotlib_inline.backend_inline"


# Seconds in which one who connects has to say what is wanted, and for which it waits until the job
# begins: whoever asks first waits until the packages are loaded.
SILENCE, PATIENCE = 10.0, 120.0
BEGUN = b"begun"


@contextmanager
def keep():
    """While this lasts, processes that are asked for in this environment begin warm.

    A process that is in such an environment already goes on with what is kept there. Where there is
    no room for the socket, or no process more to be had, they begin as ever.
    """
    if sys.platform != "linux" or _is_kept():
        yield
        return
    from alignbook.store import (
        allocator,  # here: the script that is started loads nothing of alignbook
    )

    folder = began = None
    try:
        folder = tempfile.mkdtemp(prefix="alignbook-")  # for this user alone
        place = os.path.join(folder, "warm")
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listening:
            with _reached(folder) as short:
                listening.bind(f"{short}/warm")
            listening.listen(64)
            began = subprocess.Popen(
                [sys.executable, "-P", __file__, str(listening.fileno()), folder],
                stdin=subprocess.PIPE,
                start_new_session=True,
                pass_fds=[listening.fileno()],
                env={
                    **os.environ,
                    **allocator.ENVIRONMENT,
                    "OMP_NUM_THREADS": "1",
                    "MPLBACKEND": INLINE,
                },
            )
        os.environ[VARIABLE] = place
    except OSError as error:
        print(f"jobs begin without packages loaded beforehand: {error}", file=sys.stderr)
    try:
        yield
    finally:
        os.environ.pop(VARIABLE, None)
        if began:
            began.stdin.close()  # by which it ends, as it does if this process is killed
            began.wait()
        if folder:
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _reached(folder: str):
    """A short name for a folder: a socket's address holds 107 bytes, which TMPDIR may fill alone."""
    descriptor = os.open(folder, os.O_PATH | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)


def _is_kept() -> bool:
    """Whether somebody listens already."""
    try:
        _line(os.environ[VARIABLE]).close()
    except (KeyError, OSError):
        return False
    return True


def _user(line: socket.socket) -> int:
    """The user at the other end, as the kernel says: who connected, or who listened."""
    return struct.unpack("3i", line.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[1]


def ask(arguments: list[str]) -> int:
    """Have `python -m` with these arguments done by a fork; its exit code.

    Does it in this process if there is nobody to fork. The fork has this process's files 0 to 2,
    folder and environment, and ends if this process does.
    """
    wanted = {
        "arguments": arguments,
        "folder": os.getcwd(),
        "environment": dict(os.environ),
        "leads": os.getsid(0) == os.getpid(),
    }
    line, before = None, signal.getsignal(signal.SIGINT)
    try:
        line = _line(os.environ[VARIABLE])
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a kernel is sent one when it shall end
        socket.send_fds(line, [json.dumps(wanted).encode()], [0, 1, 2])
        begun = line.recv(16) == BEGUN
    except (KeyError, OSError):
        begun = False
    if not begun:
        if line:
            line.close()
        signal.signal(signal.SIGINT, before)
        os.execv(sys.executable, [sys.executable, "-m", *arguments])
    line.settimeout(None)
    code = int(line.recv(16) or 1)
    if code < 0:  # by a signal
        if -code != signal.SIGKILL:
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    return code


def _line(place: str) -> socket.socket:
    """A connection to one of this user's processes; `OSError` if there is none at that place."""
    line = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    line.settimeout(PATIENCE)
    folder, name = os.path.split(place)
    with _reached(folder) as short:
        line.connect(f"{short}/{name}")
    if _user(line) != os.geteuid():
        line.close()
        raise PermissionError(f"{place}: another user listens there")
    return line


def guard(folder: str) -> None:
    """Return in a fork of this process; wait here for the end of the input, or of that fork. Then
    end it, busy as it may be loading, and remove the folder.
    """
    server = os.fork()
    if server == 0:
        return
    while not select.select([sys.stdin], [], [], 1.0)[0]:
        if os.waitpid(server, os.WNOHANG)[0]:
            break
    else:
        os.kill(server, signal.SIGKILL)
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(0)


def serve(listening: socket.socket) -> dict:
    """Load the packages and fork for whoever asks; returns in the forks alone, with what is asked.

    Ends when its input does.
    """
    _load()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those that wait
    listening.setblocking(False)  # who connected may be gone
    # Arrow's allocator has a thread, and knows of forks; Python from 3.12 on doesn't know that.
    warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
    while True:
        if sys.stdin in select.select([listening, sys.stdin], [], [])[0]:
            os._exit(0)
        try:
            line, _ = listening.accept()
        except OSError:  # gone, or no file more may be open
            time.sleep(0.1)
            continue
        with line:  # closed without a word it means: do it yourself
            try:
                forked = _user(line) == os.geteuid() and os.fork() == 0
            except OSError:  # no process more may be had
                forked = False
            if forked:
                listening.close()
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                return _attend(line)


def _load() -> None:
    os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"
    sys.modules["rfc3987_syntax"] = None  # 2 s for a check of addresses, that none needs
    for name in LOADED:
        importlib.import_module(name)
    gc.freeze()  # pages that nobody writes to stay shared


def _attend(line: socket.socket) -> dict:
    """Fork the process itself, wait for its end or that of the one who asked.

    The job says itself that it has begun: if that isn't heard, it doesn't, and nothing is done twice.
    """
    line.settimeout(SILENCE)
    try:
        said, files, *_ = socket.recv_fds(line, 2**20, 3)
        wanted = json.loads(said)
        alive, held = os.pipe()  # the job holds its end for as long as it lives
        job = os.fork()
    except (OSError, ValueError):
        os._exit(1)
    if job == 0:
        try:
            line.send(BEGUN)
        except OSError:  # gone
            os._exit(1)
        line.close()
        os.close(alive)
        for number, file in enumerate(files):
            os.dup2(file, number)
            os.close(file)
        return wanted
    for each in (*files, held):
        os.close(each)
    if line in select.select([line, alive], [], [])[0]:
        os.kill(job, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(job, 0)[1])
    try:
        line.send(str(code).encode())
    except OSError:  # it is gone
        pass
    os._exit(0)


def _python_path() -> list[str]:
    """Where modules are looked for first, as the environment says."""
    return [os.path.abspath(each) for each in os.environ.get("PYTHONPATH", "").split(":") if each]


def _become(wanted: dict) -> None:
    """What `python -m` does, in the folder and environment of the one who asked."""
    if wanted["leads"]:
        os.setsid()
    os.chdir(wanted["folder"])
    own = _python_path()
    os.environ.clear()
    os.environ.update(wanted["environment"])
    sys.path[:] = [
        wanted["folder"],
        *_python_path(),
        *(each for each in sys.path if each not in own),
    ]
    sys.argv = wanted["arguments"]
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True)
    code = 0
    try:
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    except SystemExit as left:
        code = left.code if isinstance(left.code, int) else int(bool(left.code))
        if isinstance(left.code, str):
            print(left.code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
        code = 1
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # taking the packages apart takes longer than many a job


if __name__ == "__main__":
    if __spec__ is None:  # the script that `keep` starts
        guard(sys.argv[2])
        _become(serve(socket.socket(fileno=int(sys.argv[1]))))
    else:
        sys.exit(ask(sys.argv[1:]))
