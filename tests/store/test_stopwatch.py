"""The clock: medians of rounds, memory at its peak, and the fresh process of a measurement."""

import itertools
import os
import platform
import subprocess
import sys
from types import SimpleNamespace

import pandas as pd
import pytest
import torch
from alignbook.store import stopwatch


def test_the_median_of_rounds_after_one_that_is_not_counted(monkeypatch):
    spent = iter([9.0, 1.0, 5.0, 2.0])  # the first warms up
    clock = itertools.count()
    now = 0.0

    def work():
        nonlocal now
        now += next(spent)
        return next(clock)

    monkeypatch.setattr(stopwatch.time, "perf_counter", lambda: now)
    assert stopwatch.timed(work, "cpu", rounds=3) == (2.0, 3)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells")
def test_the_peak_counts_what_was_freed_again():
    watch = stopwatch.Peak("cpu")
    torch.ones(16 * 2**20)  # 64 MB of float32, gone at once
    assert 60e6 < watch.taken() < 120e6
    kept = torch.ones(8 * 2**20)
    assert stopwatch.Peak("cpu").taken() < 30e6 < kept.numel() * 4


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells")
def test_memory_that_was_freed_before_counts_again():
    """Small blocks come from the heap, which keeps what is freed."""
    first = [torch.ones(2**14) for _ in range(1000)]  # 64 KB each
    held = first[::100]  # some of them stay between those
    del first
    watch = stopwatch.Peak("cpu")
    again = [torch.ones(2**14) for _ in range(900)]
    assert 45e6 < watch.taken() < 80e6 and len(again) == 900 and len(held) == 10


HOLES = """
import ctypes, torch
from alignbook.store import stopwatch
ctypes.CDLL(None).mallopt(stopwatch.M_MMAP_MAX, 0)
torch.ones(2**14)  # its code is in memory from now on
watch, held = stopwatch.Peak("cpu"), []
for size in range(8, 16):
    gone = torch.ones(size * 2**18)  # so many MB
    held.append(torch.ones(2**14))
    del gone  # each larger than any hole
print(watch.taken())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells")
def test_the_peak_is_of_what_is_there_at_once():
    """Whatever holes it would leave in a heap like that of processes that begin warm."""
    done = subprocess.run([sys.executable, "-c", HOLES], capture_output=True, text=True)
    assert 14e6 < float(done.stdout) < 25e6, done.stderr  # and not 92 MB


def test_rows_are_measured_by_turns_and_their_seeds_with_them(tmp_path, monkeypatch):
    """One row has two seeds, one has four, and three measurements were asked for."""
    lines = [("a", 1, "a1"), ("a", 0, "a0"), *(("b", n, f"b{n}") for n in range(4))]
    listed = pd.DataFrame(lines, columns=["arm", "seed", "key"]).assign(exhibit="x", role="report")
    book, asked = SimpleNamespace(out=tmp_path), []
    monkeypatch.setattr(
        stopwatch, "in_fresh_process", lambda measure, *given: asked.append(given) or {"s": 1}
    )

    def measured(times):
        found = stopwatch.alone(book, listed, stopwatch.timed, lambda *which: which, times)
        return [*found[["row", "seed", "run"]].itertuples(index=False, name=None)]

    found = measured(3)
    assert found == [
        *(("a", 0, "a0"), ("b", 0, "b0"), ("a", 1, "a1"), ("b", 1, "b1")),
        *(("a", 2, "a0"), ("b", 2, "b2"), ("b", 3, "b3")),
    ]
    assert asked == [(row, key) for row, _, key in found]
    assert measured(3) == found and len(asked) == 7  # what is there is not measured again
    assert measured(5)[-3:] == [("b", 3, "b3"), ("a", 4, "a0"), ("b", 4, "b0")]


def test_what_an_interrupted_start_measured_is_kept(tmp_path, monkeypatch):
    lines = [("a", 0, "a0"), ("b", 0, "b0")]
    listed = pd.DataFrame(lines, columns=["arm", "seed", "key"]).assign(exhibit="x", role="report")
    book, count = SimpleNamespace(out=tmp_path), itertools.count()

    def measured(*given):
        if (number := next(count)) == 2:
            raise KeyboardInterrupt
        return {"s": number / 3}

    monkeypatch.setattr(stopwatch, "in_fresh_process", measured)

    def alone(names=listed):
        return [*stopwatch.alone(book, names, stopwatch.timed, lambda *which: which, 2).s]

    with pytest.raises(KeyboardInterrupt):
        alone()
    assert [file.name.partition("-")[0] for file in tmp_path.rglob("x.*")] == ["x.begun"]
    assert alone() == [0, 1 / 3, 1, 4 / 3]
    assert not [*tmp_path.rglob("*x.begun-*")]
    (tmp_path / "efficiency/x.csv").unlink()
    other = tmp_path / "efficiency/x.begun-0123456789abcdef"  # of other code
    other.write_text("row,seed,run,s\na,0,a0,9\n", encoding="utf-8")
    assert alone() == [5 / 3, 2, 7 / 3, 8 / 3] and not other.exists()
    monkeypatch.setattr(stopwatch.fingerprint, "code_hash", lambda module: "0123456789abcdef")
    (tmp_path / "efficiency/x.csv").unlink()
    other.write_text("row,seed,run,s\na,0,a1,9\n", encoding="utf-8")  # of another run
    assert alone() == [3, 10 / 3, 11 / 3, 4]
    (tmp_path / "efficiency/x.csv").unlink()
    stopwatch.durable.write(other, "row,seed,run,s\na,0,a0,9\n", sealed=True)
    other.write_bytes(b"")  # as after a power cut
    assert alone() == [13 / 3, 14 / 3, 5, 16 / 3]


def test_a_fresh_process_says_what_it_measured_or_that_it_could_not(capfd):
    said = "print('words'), __import__('os').getpid(), float('inf')"
    _, process, number = stopwatch.in_fresh_process(eval, said)
    assert process != os.getpid() and number == float("inf")
    with pytest.raises(ValueError, match="builtins.eval ended with 1; its message stands above"):
        stopwatch.in_fresh_process(eval, "1 / 0")
    assert "words" in (printed := capfd.readouterr().err) and "ZeroDivisionError" in printed


# Page faults of taking and freeing 64 MB five times, once the heap has found its shape.
# Huge pages, which some machines give unasked, would hide them: prctl 41 declines those.
FAULTS = """
(lambda ctypes, resource, torch: (
    ctypes.CDLL(None).prctl(41, 1, 0, 0, 0),
    [torch.ones(2**24).shape for _ in range(12)],
    -resource.getrusage(resource.RUSAGE_SELF).ru_minflt,
    [torch.ones(2**24).shape for _ in range(5)],
    resource.getrusage(resource.RUSAGE_SELF).ru_minflt,
))(*map(__import__, ("ctypes", "resource", "torch")))
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="of the GNU C library alone")
def test_a_fresh_process_keeps_what_it_frees(monkeypatch):
    """Whoever started this one: nothing is set for it, and nothing begins warm."""
    for name in os.environ:
        if name.startswith(("MALLOC_", "GLIBC_", "ALIGNBOOK_WARM")):
            monkeypatch.delenv(name)
    _, _, before, _, after = stopwatch.in_fresh_process(eval, FAULTS.strip())
    assert before + after < 0.05 * 5 * 2**26 // os.sysconf("SC_PAGESIZE")
