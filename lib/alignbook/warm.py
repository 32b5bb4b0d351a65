"""Processes that begin with the heavy packages loaded: a job or a kernel starts in a tenth of a
second instead of five.

Importing PyTorch, pandas and IPython takes longer than most jobs of a smoke run. So one process
imports them once and forks for whoever asks: `python -m alignbook.warm MODULE [ARGUMENT…]` does
what `python -m MODULE` does, in such a fork where one can be had (`keep`), else by itself. Nothing
of alignbook is loaded beforehand: a job reads the library as it stands when the job begins.

On Linux only: elsewhere a fork of a process with these packages isn't safe. Standard library
only, but for what `serve` loads.
"""

import atexit
import gc
import importlib
import json
import os
import runpy
import secrets
import select
import signal
import socket
import struct
import subprocess
import sys
import traceback
import warnings
from contextlib import contextmanager

VARIABLE = "ALIGNBOOK_WARM"
LOADED = (
    "torch", "numpy", "pandas", "pandas.io.formats.style", "pyarrow.parquet", "scipy.stats",
    "scipy.optimize", "matplotlib.pyplot", "matplotlib.backends.backend_agg", "IPython",
    "ipykernel.kernelapp", "papermill", "nbclient", "ipywidgets", "yaml", "safetensors.torch",
    "torch._dynamo", "open_clip",
)  # fmt: skip
# matplotlib asks once; a kernel would say so itself, too late.
INLINE = "module://matplotlib_inline.backend_inline"


# The GNU C library keeps what is freed: handing pages back and forth is a fifth of a training step.
KEEPING = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": "4000000000",
           "MALLOC_TOP_PAD_": "134217728"}  # fmt: skip


@contextmanager
def keep():
    """While this lasts, processes that are asked for in this environment begin warm."""
    if sys.platform != "linux":
        yield
        return
    name = f"alignbook-{secrets.token_hex(16)}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listening:
        listening.bind(f"\0{name}")
        listening.listen(64)
        began = subprocess.Popen(
            [sys.executable, "-P", __file__, str(listening.fileno())], stdin=subprocess.PIPE,
            start_new_session=True, pass_fds=[listening.fileno()],
            env={**os.environ, **KEEPING, "OMP_NUM_THREADS": "1", "MPLBACKEND": INLINE},
        )  # fmt: skip
    os.environ[VARIABLE] = name
    try:
        yield
    finally:
        del os.environ[VARIABLE]
        began.stdin.close()  # by which it ends, as it does if this process is killed
        began.kill()
        began.wait()


def ask(arguments: list[str]) -> int:
    """Have `python -m` with these arguments done by a fork; its exit code.

    Does it in this process if there is nobody to fork. The fork has this process's files 0 to 2,
    folder and environment, and ends if this process does.
    """
    wanted = {"arguments": arguments, "folder": os.getcwd(), "environment": dict(os.environ),
              "leads": os.getsid(0) == os.getpid()}  # fmt: skip
    try:
        line = _line(os.environ[VARIABLE])
        socket.send_fds(line, [json.dumps(wanted).encode()], [0, 1, 2])
    except (KeyError, OSError):
        os.execv(sys.executable, [sys.executable, "-m", *arguments])
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a kernel is sent one when it shall end
    code = int(line.recv(16) or 1)
    if code < 0:  # by a signal
        if -code != signal.SIGKILL:
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    return code


def _line(name: str) -> socket.socket:
    line = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    line.connect(f"\0{name}")
    return line


def serve(listening: socket.socket) -> dict:
    """Load the packages and fork for whoever asks; returns in the forks alone, with what is asked.

    Ends when its input does.
    """
    _load()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those that wait
    # Arrow's allocator has a thread, and knows of forks; Python from 3.12 on doesn't know that.
    warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
    while True:
        if sys.stdin in select.select([listening, sys.stdin], [], [])[0]:
            os._exit(0)
        line, _ = listening.accept()
        if os.fork() == 0:
            listening.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            return _attend(line)
        line.close()


def _load() -> None:
    os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"
    sys.modules["rfc3987_syntax"] = None  # 2 s for a check of addresses, that none needs
    for name in LOADED:
        importlib.import_module(name)
    gc.freeze()  # pages that nobody writes to stay shared


def _attend(line: socket.socket) -> dict:
    """Fork the process itself, wait for its end or that of the one who asked."""
    user = struct.unpack("3i", line.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[1]
    said, files, *_ = socket.recv_fds(line, 2**20, 3)
    if user != os.getuid() or not said:
        os._exit(1)
    alive, held = os.pipe()  # the job holds its end for as long as it lives
    job = os.fork()
    if job == 0:
        line.close()
        os.close(alive)
        for number, file in enumerate(files):
            os.dup2(file, number)
            os.close(file)
        return json.loads(said)
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


def _become(wanted: dict) -> None:
    """What `python -m` does, in the folder and environment of the one who asked."""
    if wanted["leads"]:
        os.setsid()
    os.chdir(wanted["folder"])
    os.environ.clear()
    os.environ.update(wanted["environment"])
    sys.path.insert(0, wanted["folder"])
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
        _become(serve(socket.socket(fileno=int(sys.argv[1]))))
    else:
        sys.exit(ask(sys.argv[1:]))
