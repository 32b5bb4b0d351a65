"""The clock: seconds and bytes of some work, measured alone on the machine in a fresh process."""

import ctypes
import os
import pickle
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from alignbook.store import allocator, durable, fingerprint, progress

ROUNDS = 3  # of which the median counts, after one that warms up
M_MMAP_THRESHOLD, M_MMAP_MAX = -3, -4  # <malloc.h> of the GNU C library


def timed(work, device: str, rounds: int = ROUNDS):
    """Median seconds of `work()` over some rounds, after one that isn't counted, and its result."""
    spent, result = [], work()
    for _ in range(rounds):
        settle(device)
        began = time.perf_counter()
        result = work()
        settle(device)
        spent.append(time.perf_counter() - began)
    return float(np.median(spent)), result


def settle(device: str) -> None:
    """Wait for what a GPU was given to do."""
    if device != "cpu":
        torch.cuda.synchronize()


class Peak:
    """The most memory a process takes from here on, less what it has here. On the CPU allocating is
    slower from here on: times are taken before.
    """

    def __init__(self, device: str):
        self.device = device
        if device != "cpu":
            torch.cuda.reset_peak_memory_stats()
            self.before = torch.cuda.memory_allocated()
        elif (clear := Path("/proc/self/clear_refs")).exists():
            give_back()
            clear.write_text("5")  # from now on VmHWM is the peak since now
            self.before = resident("VmRSS")

    def taken(self) -> float:
        """Bytes; NaN where neither Linux nor a GPU counts them."""
        if self.device != "cpu":
            return float(torch.cuda.max_memory_allocated() - self.before)
        if not hasattr(self, "before"):
            return np.nan
        return float(resident("VmHWM") - self.before)


def give_back() -> None:
    """Give freed memory back to the system: what is taken from it again would not be counted. Blocks
    of 128 KB and more are given back from here on as soon as they are free, so that a heap with
    holes doesn't count.
    """
    library = ctypes.CDLL(None)
    if hasattr(library, "malloc_trim"):  # of the GNU C library
        library.mallopt(M_MMAP_MAX, 65536)
        library.mallopt(M_MMAP_THRESHOLD, 128 * 1024)
        library.malloc_trim(0)


def resident(what: str) -> int:
    """Bytes that Linux states for this process under "VmRSS" (now) or "VmHWM" (at most)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(what))


def alone(book, listed: pd.DataFrame, measure, given, times: int = 1) -> pd.DataFrame:
    """What `measure(*given(row, key))` says of every row, from `book.out/efficiency/<exhibit>.csv`,
    which is made if it isn't of these runs.

    Every measurement has a process of its own, one after the other, the rows by turns; nothing else
    should run meanwhile. What an interrupted start measured by the same code is kept.

    Parameters
    ----------
    listed : the runs of one exhibit, as `results.arms` lists them.
    times : how often a row is measured at least, its seeds by turns: time hardly depends on weights.
        `seed` counts a row's measurements; the first are its seeds'.
    """
    (exhibit,) = listed.exhibit.unique()
    file = book.out / "efficiency" / f"{exhibit}.csv"
    reported = listed[listed.role == "report"]
    rows = [own.sort_values("seed") for _, own in reported.groupby("arm", sort=False)]
    turns = [own.iloc[np.arange(max(times, len(own))) % len(own)] for own in rows]
    reported = pd.concat([own.assign(seed=range(len(own))) for own in turns])
    reported = reported.sort_values("seed", kind="stable")
    wanted = reported[["arm", "seed", "key"]].rename(columns={"arm": "row", "key": "run"})
    if file.exists():
        found = pd.read_csv(file, dtype={"run": str})
        if found[["row", "seed", "run"]].values.tolist() == wanted.values.tolist():
            return found
    begun = file.with_name(f"{exhibit}.begun-{fingerprint.code_hash(measure.__module__)[:16]}")
    sound = begun.exists() and durable.is_sound(begun)
    lines = pd.read_csv(begun, dtype={"run": str}).to_dict("records") if sound else []
    known = [[line["row"], line["seed"], line["run"]] for line in lines]
    lines = lines if known == wanted.values.tolist()[: len(known)] else []
    for i, (row, seed, key) in enumerate(wanted.itertuples(index=False), 1):
        if i > len(lines):
            measured = in_fresh_process(measure, *given(row, key))
            lines.append({"exhibit": exhibit, "row": row, "seed": seed, "run": key} | measured)
            durable.write(begun, pd.DataFrame(lines).to_csv(index=False), sealed=True)
        progress.show("time and memory", i, len(wanted))
    durable.write(file, pd.DataFrame(lines).to_csv(index=False), sealed=True)
    # Also those of other code, and their seals.
    for each in file.parent.glob(f"*{exhibit}.begun-*"):
        each.unlink()
    return pd.DataFrame(lines)


def in_fresh_process(measure, *given) -> dict:
    """What `measure(*given)` says in a process of its own, which begins as jobs do: see `warm`.
    What it frees stays with it (`allocator.keep_freed`), however this process was started.

    Raises
    ------
    ValueError
        It ended without saying anything; its own message is printed before.
    """
    command = [sys.executable, "-m", "alignbook.workbook.warm", "alignbook.store.stopwatch"]
    done = subprocess.run(command, input=pickle.dumps((measure, given)), stdout=subprocess.PIPE)
    if done.returncode:
        raise ValueError(
            f"{measure.__module__}.{measure.__name__} ended with {done.returncode}; "
            "its message stands above"
        )
    return pickle.loads(done.stdout)


if __name__ == "__main__":  # the other end of `in_fresh_process`
    answer = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print is no answer
    allocator.keep_freed()
    work, given = pickle.load(sys.stdin.buffer)
    answer.write(pickle.dumps(work(*given)))
    answer.close()
