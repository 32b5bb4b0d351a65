"""Claims of runs: one owner, wherever it runs; the dead are followed, the asleep find out."""

import json
import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from alignbook import ROOT
from alignbook.store import owners

DEAD = 2**22 + 5  # no process has this number


@pytest.fixture(autouse=True)
def ends():
    """Whoever waits for a claim that never comes fails, instead of waiting on."""

    def late(*_):
        raise TimeoutError("a claim that should have been had was waited for")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, 120)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    signal.setitimer(signal.ITIMER_REAL, 20)
    monkeypatch.setattr(owners, "LOOK", 0.01)
    monkeypatch.setattr(owners, "BEAT", 0.02)
    monkeypatch.setattr(owners, "SILENT", 0.3)
    return tmp_path / "locks"


def leave(folder, number=1, **told):
    """A claim that an owner left as it is."""
    folder.mkdir(exist_ok=True)
    path = folder / f"run.{number}"
    path.write_text(json.dumps({"host": owners.host(), "process": DEAD, "since": 1.0} | told))
    return path


def test_a_claim_names_its_owner_and_ends_with_the_block(folder):
    with owners.claimed(folder, "run") as claim:
        assert (claim.path, claim.number) == (folder / "run.1", 1)
        told = json.loads(claim.path.read_text())
        assert (told["host"], told["process"]) == (owners.host(), os.getpid())
        claim.check()
        with pytest.raises(BlockingIOError), owners.claimed(folder, "run", wait=False):
            pass
        with owners.claimed(folder, "other", wait=False):
            pass
    with owners.claimed(folder, "run", wait=False) as claim:
        assert claim.number == 2
    assert sorted(path.name for path in folder.iterdir()) == ["other.1", "run.1", "run.2"]


def test_an_error_ends_a_claim_too(folder):
    with pytest.raises(KeyError), owners.claimed(folder, "run"):
        raise KeyError
    with owners.claimed(folder, "run", wait=False):
        pass


def test_who_waits_follows_at_once(folder):
    order = []

    def second():
        with owners.claimed(folder, "run") as claim:
            order.append(claim.number)

    with owners.claimed(folder, "run"):
        thread = threading.Thread(target=second, daemon=True)
        thread.start()
        time.sleep(0.2)
        order.append("first")
    thread.join(5)
    assert order == ["first", 2]


@pytest.mark.parametrize("told", [{}, {"process": os.getpid()}])
def test_the_dead_of_this_machine_are_followed_at_once(folder, monkeypatch, told):
    """No such process; or another one that has its number by now."""
    monkeypatch.setattr(owners, "SILENT", 100.0)
    leave(folder, **told)
    with owners.claimed(folder, "run", wait=False) as claim:
        assert claim.number == 2


def test_a_living_process_is_not_followed_however_silent(folder):
    """Its machine may be busy; only its end counts."""
    path, found = leave(folder, process=os.getpid(), since=owners._since(os.getpid())), []

    def follow():
        with owners.claimed(folder, "run") as claim:
            found.append(claim.number)

    follower = threading.Thread(target=follow, daemon=True)
    follower.start()
    time.sleep(0.8)
    assert not found
    os.truncate(path, 0)
    follower.join(5)
    assert found == [2]


def test_the_dead_of_another_machine_are_followed_after_a_silence(folder):
    leave(folder, host="elsewhere", process=os.getpid())
    with pytest.raises(BlockingIOError), owners.claimed(folder, "run", wait=False):
        pass
    began = time.monotonic()
    with owners.claimed(folder, "run") as claim:
        assert claim.number == 2 and 0.3 <= time.monotonic() - began < 5


def test_a_sign_of_life_from_another_machine_is_heard(folder):
    path = leave(folder, host="elsewhere")
    ended = threading.Event()
    beating = threading.Thread(target=owners._beat, args=(path, ended))
    beating.start()
    began, found = time.monotonic(), []

    def follow():
        with owners.claimed(folder, "run") as claim:
            found.append((claim.number, time.monotonic() - began))

    follower = threading.Thread(target=follow, daemon=True)
    follower.start()
    time.sleep(1.0)  # three silences long
    assert not found
    ended.set(), beating.join(), follower.join(10)
    assert found[0][0] == 2 and found[0][1] > 1.2


def test_who_does_not_wait_may_look_whether_another_machine_s_owner_lives(folder, monkeypatch):
    """The silent one is followed, the one that touches its claim is not; nor the living here."""
    monkeypatch.setattr(owners, "BEAT", 1.0)
    path = leave(folder, host="elsewhere")
    with pytest.raises(BlockingIOError), owners.claimed(folder, "run", wait=False):
        pass
    assert owners.owner(folder, "run")["host"] == "elsewhere"
    with owners.claimed(folder, "run", wait=False, look=True) as claim:
        assert claim.number == 2 and owners.owner(folder, "run")["process"] == os.getpid()
        before = claim.path.stat().st_mtime_ns
        with pytest.raises(BlockingIOError), owners.claimed(folder, "run", wait=False, look=True):
            pass
        assert claim.path.stat().st_mtime_ns == before  # at once, without a sign of life
    assert owners.owner(folder, "run") == {} == owners.owner(folder, "other")
    path = leave(folder, 3, host="elsewhere")
    beating = threading.Timer(0.1, os.utime, [path])
    beating.start()
    with pytest.raises(BlockingIOError), owners.claimed(folder, "run", wait=False, look=True):
        pass
    beating.join()


def test_clocks_of_two_machines_need_not_agree(folder):
    path = leave(folder, host="elsewhere")
    os.utime(path, (time.time() + 10**6,) * 2)
    with owners.claimed(folder, "run") as claim:
        assert claim.number == 2


def test_who_was_asleep_finds_out(folder):
    with owners.claimed(folder, "run") as claim:
        leave(folder, 2, process=os.getpid())
        claim.path.unlink()  # as who took over does
        with pytest.raises(owners.Lost, match="run run was taken over: for 0.3 s"):
            claim.check()
    assert [path.name for path in folder.iterdir()] == ["run.2"]
    assert json.loads((folder / "run.2").read_text())  # still its new owner's


def test_a_link_whose_answer_was_lost_was_made(folder, monkeypatch):
    """As on NFS: the server made it, and says to the second asking that it is there."""
    link = os.link

    def lost(*given):
        link(*given)
        raise FileExistsError(17, "File exists")

    monkeypatch.setattr(os, "link", lost)
    with owners.claimed(folder, "run", wait=False) as claim:
        claim.check()
    monkeypatch.setattr(os, "link", link)
    leave(folder, 2)
    assert not owners._link(folder / "run.2")  # another's


def test_of_many_one_is_first(folder):
    """Twenty threads at a dead owner's claim: each holds it once, never two at a time."""
    leave(folder, 7)
    inside, most, numbers = [], [], []

    def take():
        with owners.claimed(folder, "run") as claim:
            inside.append(1)
            most.append(len(inside))
            numbers.append(claim.number)
            time.sleep(0.005)
            inside.pop()

    threads = [threading.Thread(target=take, daemon=True) for _ in range(20)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(5)
    assert max(most) == 1 and sorted(numbers) == list(range(8, 28))


CAMPAIGN = '''
"""Two workers, that take themselves for two machines, compute the same runs; fifty are killed."""
import dataclasses, fcntl, json, os, random, signal, sys, time
from pathlib import Path

fcntl.flock = None  # nothing may rest on it
from alignbook.store import owners, runs

runs.STORE, runs.code_hash = Path(sys.argv[1]), lambda module: "code"
owners.BEAT, owners.SILENT, owners.LOOK = 0.05, 4.0, 0.02


@dataclasses.dataclass(frozen=True)
class Counting:
    to: int = 15

    def compute(self, inputs, seed, folder, device):
        mark = folder / "owner"
        mark.write_text(str(os.getpid()))
        saved, value = folder / "checkpoint.txt", seed
        done = 0
        if saved.exists():
            done, value = map(int, saved.read_text().split())
        for step in range(done, self.to):
            time.sleep(0.01)
            value = (value * 1103515245 + 12345) % 2**31
            assert mark.read_text() == str(os.getpid()), "two at work on one run"
            aside = folder / "checkpoint.new"
            aside.write_text(f"{step + 1} {value}")
            aside.replace(saved)
        mark.unlink()
        return {"value": value}


def work(host):
    child = os.fork()
    if child:
        return child
    code = 3
    try:
        owners.host = lambda: host
        runs.several([(Counting(), seed) for seed in range(RUNS)])
        code = 0
    finally:
        os._exit(code)


RUNS, KILLS = int(sys.argv[2]), int(sys.argv[3])
draw = random.Random(0)
workers = {host: work(host) for host in ("one", "two")}
kills = wrong = 0
while workers:
    time.sleep(draw.uniform(0.02, 0.2))
    for host, process in list(workers.items()):
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            del workers[host]
            wrong += status != 0
    if kills < KILLS and workers:
        host = draw.choice(sorted(workers))
        os.kill(workers[host], signal.SIGKILL)
        os.waitpid(workers[host], 0)
        kills += 1
        workers[host] = work(host)
print(json.dumps({"kills": kills, "wrong": wrong}))
'''


def value_of(seed: int) -> int:
    for _ in range(15):
        seed = (seed * 1103515245 + 12345) % 2**31
    return seed


def test_fifty_kills_on_two_machines_compute_every_run_once(tmp_path):
    """Without `flock`; whoever is killed may have another machine go on with what it left."""
    store, count = tmp_path / "store", 75  # enough for fifty kills
    done = subprocess.run(
        [sys.executable, "-c", CAMPAIGN, str(store), str(count), "50"],
        capture_output=True,
        text=True,
        timeout=100,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT / "lib")},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads(done.stdout) == {"kills": 50, "wrong": 0}, done.stderr[-2000:]
    found = {}
    for record in store.glob("*/run.json"):
        seed = json.loads(record.read_text())["seed"]
        assert seed not in found
        found[seed] = json.loads(record.with_name("metrics.json").read_text())["value"]
    assert found == {seed: value_of(seed) for seed in range(count)}
    assert not list((store / ".partial").iterdir())
    numbers = [path for path in (store / ".locks").iterdir() if path.suffix[1:].isdecimal()]
    assert count <= len(numbers) <= 2 * count  # small files, two a run at most
