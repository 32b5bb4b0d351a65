"""Trainings on two ranks are those of one process; a rank that is killed takes the other along."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import at_ranks
import numpy as np
import pytest
import torch
from alignbook.store import runs

CASES = ("chan", "comalign", "covalign", "gsl")
forked = pytest.mark.skipif(
    torch.cuda.is_available() or not hasattr(os, "fork"), reason="a process with CUDA can't fork"
)


@forked
@pytest.mark.filterwarnings("ignore")  # the toys' masks and mixtures are poor
@pytest.mark.parametrize("case", CASES)
def test_two_ranks_train_what_one_process_trains(case, tmp_path, monkeypatch):
    """The loss of every step, and every parameter's gradient of the first."""
    monkeypatch.setattr(runs, "STORE", runs.STORE)
    alone = at_ranks.trained(case, tmp_path / "one")
    assert len(alone["loss"]) == at_ranks.STEPS == len(set(alone["loss"].tolist()))
    largest = max(gradient.abs().max() for gradient in alone["gradients"].values())

    for found in at_ranks.on_ranks(2, tmp_path, lambda: at_ranks.trained(case, tmp_path / "two")):
        torch.testing.assert_close(
            found["gradients"], alone["gradients"], rtol=1e-5, atol=1e-6 * float(largest)
        )
        torch.testing.assert_close(found["loss"], alone["loss"], rtol=0, atol=1e-5)
        assert found["metrics"].keys() == alone["metrics"].keys()
        for name in [name for name in alone["metrics"] if name.endswith("RSUM")]:
            assert found["metrics"][name] == pytest.approx(alone["metrics"][name], abs=1e-5)


# --- Killed, and started again -------------------------------------------------------------------


def start(folder: Path, die: str = "") -> subprocess.Popen:
    """`at_ranks.main` by torchrun."""
    folder.mkdir(exist_ok=True)
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    own = {"DIE": die, "ALIGNBOOK_CHECKPOINT_SECONDS": "0", "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [*launcher, at_ranks.__file__, str(folder)],
        env=os.environ | own,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def test_a_killed_rank_ends_the_other_and_a_new_start_ends_as_an_unbroken_one(
    tmp_path, monkeypatch
):
    """Dropout included: what a rank draws depends on seed, step and rank alone."""
    unbroken = start(tmp_path / "a")
    broken = start(tmp_path / "b", die="1 4")
    partial = tmp_path / "b/store/.partial"
    try:
        until = time.monotonic() + 120
        while not list(partial.glob("*/checkpoint.pt")) and time.monotonic() < until:
            time.sleep(0.1)
        assert broken.wait(30) != 0  # the rank died within the next steps
        assert list(partial.glob("*/checkpoint.pt")) and not (tmp_path / "b/key").exists()
        again = start(tmp_path / "b")
        assert again.wait(120) == 0 and unbroken.wait(120) == 0
    finally:
        for each in (unbroken, broken):
            if each.poll() is None:
                os.killpg(each.pid, signal.SIGKILL)
    found = []
    for folder in "ab":
        monkeypatch.setattr(runs, "STORE", tmp_path / folder / "store")
        run = runs.stored((tmp_path / folder / "key").read_text())
        assert run.record["ranks"] == 2
        assert not list((tmp_path / folder / "store/.partial").iterdir())
        told = {name: x for name, x in run.metrics.items() if not name.endswith("seconds")}
        found.append((run.key, told, *(run.array(name).tobytes() for name in ("loss", "dev"))))
    assert found[0] == found[1]
    assert np.isfinite(run.array("loss")).all()
