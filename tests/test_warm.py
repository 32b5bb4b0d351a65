"""Forks that begin with the packages loaded do what a process of their own does, and end as it does."""

import json
import os
import signal
import socket
import subprocess
import sys
import time

import pytest

from alignbook import warm

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nothing is forked")
TOLD = """\
import json, os, sys
print(json.dumps([sys.argv, os.getcwd(), os.environ.get("SAID"), sys.path[0], __name__,
                  os.getsid(0) == os.getpid(), "torch" in sys.modules, "alignbook" in sys.modules]))
"""
ENDS = {"whole": ("", 0), "code": ("raise SystemExit(7)", 7), "words": ("raise SystemExit('no')", 1),
        "error": ("1 / 0", 1), "signal": ("import os; os.kill(os.getpid(), 9)", -9),
        "registered": ("import atexit; atexit.register(print, 'last', end='')", 0)}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Modules to be run, and where."""
    folder = tmp_path_factory.mktemp("asked from here")
    (folder / "told.py").write_text(TOLD)
    for name, (source, _) in ENDS.items():
        (folder / f"ends_{name}.py").write_text(source)
    (folder / "waits.py").write_text(
        "import os, time\nopen('pid', 'w').write(str(os.getpid()))\ntime.sleep(60)\n"
    )
    return folder


@pytest.fixture(scope="module")
def kept():
    """An environment in which processes begin warm."""
    with warm.keep():
        yield dict(os.environ)
    assert warm.VARIABLE not in os.environ


def asked(folder, environment, *arguments, start=subprocess.run, **more):
    command = [sys.executable, "-m", "alignbook.warm", *arguments]
    how = dict(stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return start(command, cwd=folder, env=environment, **how, **more)


def test_a_fork_is_told_what_a_process_is_told(folder, kept):
    environment = {**kept, "SAID": "ä b"}
    found = json.loads(asked(folder, environment, "told", "--x", "y z").stdout)
    here = str(folder)
    assert found == [[f"{here}/told.py", "--x", "y z"], here, "ä b", here, "__main__",
                     False, True, False]  # fmt: skip
    environment.pop(warm.VARIABLE)
    plain = json.loads(asked(folder, environment, "told", "--x", "y z").stdout)
    assert plain[:6] == found[:6] and plain[6] is False


def test_a_leader_s_fork_leads_a_session(folder, kept):
    assert ', true, true, false]' in asked(folder, kept, "told", start_new_session=True).stdout


@pytest.mark.parametrize("name", ENDS)
def test_a_fork_ends_as_a_process_does(folder, kept, name):
    plain = {key: value for key, value in kept.items() if key != warm.VARIABLE}
    ours, theirs = (asked(folder, each, f"ends_{name}") for each in (kept, plain))
    assert ours.returncode == theirs.returncode == ENDS[name][1]
    assert ours.stdout == theirs.stdout == ("last" if name == "registered" else "")
    assert ours.stderr.splitlines()[-1:] == theirs.stderr.splitlines()[-1:]


def alive(pid: int) -> bool:
    """Whether a process runs; one that nobody has asked about yet doesn't."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def in_time(condition, seconds: float = 20) -> bool:
    began = time.monotonic()
    while not condition():
        if time.monotonic() - began > seconds:
            return False
        time.sleep(0.02)
    return True


def waiting(folder, environment, **more):
    """One who asked, and the process of its fork."""
    (folder / "pid").unlink(missing_ok=True)
    one = asked(folder, environment, "waits", start=subprocess.Popen, **more)
    assert in_time(lambda: (folder / "pid").exists() and (folder / "pid").read_text())
    return one, int((folder / "pid").read_text())


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_a_fork_ends_with_the_one_who_asked(folder, kept, how):
    one, fork = waiting(folder, kept)
    one.send_signal(how)
    assert one.wait(20) == -how
    assert in_time(lambda: not alive(fork))


def test_an_interrupt_ends_nothing(folder, kept):
    one, fork = waiting(folder, kept)
    one.send_signal(signal.SIGINT)  # Jupyter sends it to a kernel that shall end by itself
    time.sleep(0.3)
    assert one.poll() is None and alive(fork)
    os.kill(fork, signal.SIGKILL)
    assert one.wait(20) == -signal.SIGKILL


def test_with_nobody_to_fork_it_is_done_all_the_same(folder, kept):
    environment = {**kept, warm.VARIABLE: "alignbook-nobody"}
    assert ', false, false, ' in asked(folder, environment, "told").stdout


def test_elsewhere_it_is_done_without_a_socket(folder):
    """macOS has none of this kind."""
    source = ("import socket, sys; socket.socket = None; from alignbook import warm; "
              "warm.ask(['told', 'x'])")  # fmt: skip
    environment = {name: each for name, each in os.environ.items() if name != warm.VARIABLE}
    done = subprocess.run([sys.executable, "-c", source], cwd=folder, env=environment,
                          capture_output=True, text=True)  # fmt: skip
    assert '"x"], ' in done.stdout, done.stderr


def test_others_are_refused():
    """Whoever asks has to be the user who keeps the packages loaded."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    socket.send_fds(theirs, [b"{}"], [0, 1, 2])
    child = os.fork()
    if child == 0:
        os.getuid = lambda: 12345
        try:
            warm._attend(ours)
        finally:
            os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1


def test_nothing_is_left_when_the_one_who_keeps_is_killed(folder):
    keeps = ("import os, time; from alignbook import warm\n"
             "with warm.keep():\n    print(os.environ[warm.VARIABLE], flush=True)\n"
             "    time.sleep(60)")  # fmt: skip
    one = subprocess.Popen([sys.executable, "-c", keeps], stdout=subprocess.PIPE, text=True)
    name = one.stdout.readline().strip()
    asked(folder, {**os.environ, warm.VARIABLE: name}, "told")

    def answers():
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as line:
            return line.connect_ex(f"\0{name}") == 0

    assert answers()
    one.kill()
    one.wait()
    assert in_time(lambda: not answers())
