"""Memory that training frees stays with the process, whoever started it."""

import ctypes
import json
import os
import platform
import subprocess
import sys
from types import SimpleNamespace

import pytest
from alignbook.store import allocator

# Page faults of taking and freeing 64 MB five times, before and after what tells the C library.
# Huge pages, which some machines give unasked, would hide them: prctl 41 declines those.
TOLD = """
import ctypes, json, resource
import torch

ctypes.CDLL(None).prctl(41, 1, 0, 0, 0)

def faults():
    for _ in range(12):  # until the heap has found its shape: aligned blocks leave slivers between
        torch.ones(2**24)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(5):
        torch.ones(2**24)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

found = [faults()]
{telling}
print(json.dumps([*found, faults()]))
"""
# A training of one step, and a notebook's first line, which may train in its cells.
TELLING = {
    "a training": """
import tempfile
from pathlib import Path
from alignbook.core import training
model = torch.nn.Linear(1, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
schedule = training.warmup_cosine(optimizer, 1)
descent = training.Descent(optimizer, schedule, 1)
training.fit(model, descent, lambda step: model(torch.ones(1, 1)).sum(),
             Path(tempfile.gettempdir()), "toy")
""",
    "a workbook": """
from alignbook.workbook import workbook
workbook.open("smoke")
""",
}


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="of the GNU C library alone")
@pytest.mark.parametrize("telling", TELLING)
def test_what_training_frees_is_not_asked_for_again(tmp_path, telling):
    """In a process that nothing was set for: no warm start, no variables."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("MALLOC_", "GLIBC_", "ALIGNBOOK_"))
    }
    told = subprocess.run(
        [sys.executable, "-c", TOLD.replace("{telling}", TELLING[telling])],
        capture_output=True,
        text=True,
        env=environment | {"TMPDIR": str(tmp_path)},
    )
    assert told.returncode == 0, told.stderr
    pages = 5 * 2**26 // os.sysconf("SC_PAGESIZE")
    before, after = json.loads(told.stdout)
    assert before > 0.9 * pages  # otherwise this machine shows nothing
    assert after < 0.05 * pages


def test_the_c_library_is_told_once_each(monkeypatch):
    told = []
    library = SimpleNamespace(mallopt=lambda *setting: told.append(setting))
    monkeypatch.setattr(ctypes, "CDLL", lambda name: library)
    assert allocator.keep_freed() is True
    # All from the heap (M_MMAP_MAX is -4), which never shrinks (-1) and grows by much (-2).
    assert sorted(told) == [(-4, 0), (-2, 2**27), (-1, -1)]


def test_another_c_library_is_left_as_it_is(monkeypatch):
    monkeypatch.setattr(ctypes, "CDLL", lambda name: object())
    assert allocator.keep_freed() is False


def test_processes_to_come_are_told_the_same():
    assert {name: int(value) for name, value in allocator.ENVIRONMENT.items()} == {
        "MALLOC_MMAP_MAX_": 0,
        "MALLOC_TRIM_THRESHOLD_": 4 * 10**9,
        "MALLOC_TOP_PAD_": allocator.TOP_PAD,
    }
