"""Forks that begin with the packages loaded do what a process of their own does, and end as it does."""

import ast
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time

import pytest
from alignbook.workbook import warm
from conftest import ROOT

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nothing is forked")
TOLD = """\
import json, os, sys
print(json.dumps([sys.argv, os.getcwd(), os.environ.get("SAID"), sys.path[0], __name__,
                  os.getsid(0) == os.getpid(), "torch" in sys.modules, "alignbook" in sys.modules]))
"""
ENDS = {
    "whole": ("", 0),
    "code": ("raise SystemExit(7)", 7),
    "words": ("raise SystemExit('no')", 1),
    "error": ("1 / 0", 1),
    "signal": ("import os; os.kill(os.getpid(), 9)", -9),
    "registered": ("import atexit; atexit.register(print, 'last', end='')", 0),
}


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
    command = [sys.executable, "-m", "alignbook.workbook.warm", *arguments]
    how = dict(stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return start(command, cwd=folder, env=environment, **how, **more)


def test_a_fork_is_told_what_a_process_is_told(folder, kept):
    environment = {**kept, "SAID": "ä b"}
    found = json.loads(asked(folder, environment, "told", "--x", "y z").stdout)
    here = str(folder)
    assert found == [
        [f"{here}/told.py", "--x", "y z"],
        here,
        "ä b",
        here,
        "__main__",
        False,
        True,
        False,
    ]
    environment.pop(warm.VARIABLE)
    plain = json.loads(asked(folder, environment, "told", "--x", "y z").stdout)
    assert plain[:6] == found[:6] and plain[6] is False


def test_modules_are_looked_for_where_the_one_who_asks_does(folder, kept, tmp_path):
    """Not where the one who keeps did: a copy of the workbook runs its own library."""
    elsewhere = tmp_path / "a copy"
    elsewhere.mkdir()
    (elsewhere / "there.py").write_text("import sys\nprint(sys.path)\n")
    theirs = [str(elsewhere), str(ROOT / "lib")]
    done = asked(folder, {**kept, "PYTHONPATH": os.pathsep.join(theirs)}, "there")
    found = ast.literal_eval(done.stdout)
    assert found[:3] == [str(folder), *theirs]


def test_a_leader_s_fork_leads_a_session(folder, kept):
    assert ", true, true, false]" in asked(folder, kept, "told", start_new_session=True).stdout


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
    for place in ("alignbook-nobody", str(folder / "warm"), str(folder / "no" / "warm")):
        environment = {**kept, warm.VARIABLE: place}
        assert ", false, false, " in asked(folder, environment, "told").stdout


def test_elsewhere_it_is_done_without_a_socket(folder):
    """macOS has none of this kind."""
    source = (
        "import socket, sys; socket.socket = None; from alignbook.workbook import warm; "
        "warm.ask(['told', 'x'])"
    )
    environment = {name: each for name, each in os.environ.items() if name != warm.VARIABLE}
    done = subprocess.run(
        [sys.executable, "-c", source], cwd=folder, env=environment, capture_output=True, text=True
    )
    assert '"x"], ' in done.stdout, done.stderr


# What `serve` does, without the packages; PATCH stands in for what goes wrong.
SERVES = """\
import os, socket, sys
from alignbook.workbook import warm
warm._load = lambda: None
warm.SILENCE = 0.2
fork, forked = os.fork, []
def failing():
    forked.append(1)
    if len(forked) == FAILS:
        raise BlockingIOError(11, "Resource temporarily unavailable")
    return fork()
PATCH
listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
listening.bind("warm")
listening.listen()
print("listens", flush=True)
warm._become(warm.serve(listening))
"""


@pytest.fixture
def served(tmp_path):
    """Start such a server, with what goes wrong; where it listens."""
    started = []

    def start(patch: str, fails: int = 0) -> str:
        source = SERVES.replace("PATCH", patch).replace("FAILS", str(fails))
        one = subprocess.Popen(
            [sys.executable, "-c", source],
            cwd=tmp_path,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        started.append(one)
        assert one.stdout.readline() == "listens\n"
        return str(tmp_path / "warm")

    yield start
    for one in started:
        assert one.poll() is None  # it outlived what went wrong
        one.stdin.close()
        assert one.wait(5) == 0 and one.stderr.read() == ""


def connected(place: str) -> socket.socket:
    line = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    line.settimeout(10)
    with warm._reached(os.path.dirname(place)) as short:
        line.connect(f"{short}/{os.path.basename(place)}")
    return line


def as_nobody(what) -> int:
    """Do something as another user, in a process of its own; its exit code, 9 for an error."""
    child = os.fork()
    if child == 0:
        try:
            os.setuid(65534)
            os._exit(what())
        except BaseException:
            os._exit(9)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
def test_another_user_does_not_get_through_the_door(kept):
    place = kept[warm.VARIABLE]
    assert os.stat(os.path.dirname(place)).st_mode & 0o777 == 0o700

    def asks() -> int:
        try:
            return int(connected(place) is None)
        except PermissionError:
            return 3

    assert as_nobody(asks) == 3


def test_others_are_refused_before_a_process_is_made_for_them(served, folder):
    """Whoever asks has to be the user who keeps the packages loaded."""
    counted = "os.fork = lambda: open('forked', 'w')\nos.geteuid = lambda: 12345"
    place = served(counted)
    line = connected(place)
    assert line.recv(16) == b""  # at once, though nothing was said
    assert not os.path.exists(os.path.join(os.path.dirname(place), "forked"))
    environment = {**os.environ, warm.VARIABLE: place}
    assert json.loads(asked(folder, environment, "told", "x").stdout)[0][1:] == ["x"]


def test_nobody_else_is_told_the_environment(tmp_path, monkeypatch):
    """Whoever listens has to be the user who asks: another one may have taken the place."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listening:
        listening.bind(str(tmp_path / "warm"))
        listening.listen()
        monkeypatch.setattr(os, "geteuid", lambda: 12345)
        with pytest.raises(PermissionError, match="another user listens there"):
            warm._line(str(tmp_path / "warm"))
        assert listening.accept()[0].recv(2**20) == b""


@pytest.mark.parametrize("answer", [b"0", b"", b"begin", None])
def test_an_answer_of_one_who_began_nothing_is_no_exit_code(folder, tmp_path, answer):
    """The job is done in the ordinary way then, once."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listening:
        listening.bind(str(tmp_path / "warm"))
        listening.listen()
        environment = {**os.environ, warm.VARIABLE: str(tmp_path / "warm")}
        one = asked(folder, environment, "ends_code", start=subprocess.Popen)
        line = listening.accept()[0]
        if answer is not None:
            line.recv(2**20)
            line.send(answer)
        line.close()  # with or without having read what was sent
        assert one.wait(20) == 7


def test_one_who_says_nothing_is_not_waited_for(served, folder):
    place = served("")
    silent, talking = connected(place), connected(place)
    talking.send(b"no JSON")
    began = time.monotonic()
    for line in (silent, talking):
        assert line.recv(16) == b""
    assert time.monotonic() - began < 5
    assert asked(folder, {**os.environ, warm.VARIABLE: place}, "ends_code").returncode == 7


@pytest.mark.parametrize("fails", [1, 2])
def test_a_fork_that_fails_costs_the_head_start_alone(served, folder, fails):
    """No process more may be had: neither the one that waits nor, after it, the job."""
    place = served("os.fork = failing", fails)
    environment = {**os.environ, warm.VARIABLE: place, "SAID": "x"}
    done = asked(folder, environment, "told", "x")
    assert done.returncode == 0 and done.stderr == ""
    argv, *_, warmed = json.loads(done.stdout)
    assert argv[1:] == ["x"] and not warmed
    assert asked(folder, environment, "ends_code").returncode == 7  # and it goes on


def test_where_no_socket_can_be_made_jobs_begin_as_ever(tmp_path, monkeypatch, capfd):
    monkeypatch.delenv(warm.VARIABLE, raising=False)
    with monkeypatch.context() as patched:
        patched.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
        with warm.keep():
            assert warm.VARIABLE not in os.environ
    assert "without packages loaded beforehand: [Errno 2]" in capfd.readouterr().err


@pytest.mark.parametrize("there", [True, False])
def test_who_is_kept_warm_already_starts_nothing(kept, there, tmp_path, monkeypatch):
    place = kept[warm.VARIABLE] if there else str(tmp_path / "gone/warm")
    monkeypatch.setenv(warm.VARIABLE, place)
    with warm.keep():
        assert (os.environ[warm.VARIABLE] == place) is there
    assert os.environ.get(warm.VARIABLE) == (place if there else None)
    assert processes(kept[warm.VARIABLE])  # it goes on


def processes(place: str) -> list[int]:
    """Those that were started for a socket at this place."""
    found = []
    for each in os.listdir("/proc"):
        try:
            with open(f"/proc/{each}/cmdline", "rb") as file:
                if os.path.dirname(place).encode() in file.read().split(b"\0"):
                    found.append(int(each))
        except (OSError, ValueError):
            continue
    return [pid for pid in found if alive(pid)]


KEEPS = """\
import os, time
from alignbook.workbook import warm
with warm.keep():
    print(os.environ[warm.VARIABLE], flush=True)
    time.sleep(60)
"""


@pytest.mark.parametrize("loaded", [False, True])
def test_nothing_is_left_when_the_one_who_keeps_is_killed(folder, tmp_path, loaded):
    """Within two seconds, also while the packages are being loaded; the folder's name is long."""
    below = tmp_path / ("x" * 120)
    below.mkdir()
    environment = {name: each for name, each in os.environ.items() if name != warm.VARIABLE}
    one = subprocess.Popen(
        [sys.executable, "-c", KEEPS],
        stdout=subprocess.PIPE,
        text=True,
        env={**environment, "TMPDIR": str(below)},
    )
    place = one.stdout.readline().strip()
    if loaded:
        environment = {**os.environ, warm.VARIABLE: place}
        assert ", true, false]" in asked(folder, environment, "told").stdout
    assert in_time(lambda: len(processes(place)) == 2)  # who loads, and who waits for the end
    one.kill()
    one.wait()
    assert in_time(lambda: not processes(place), 2)
    assert not list(below.glob("alignbook-*"))
