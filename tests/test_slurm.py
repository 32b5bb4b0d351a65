"""A start whose jobs are submitted to a real Slurm of one node: the same numbers, whatever ends.

One copy of the workbook goes through the tests in their order: each goes on where the last ended.
"""

import os
import signal
import subprocess
import time
import uuid
from pathlib import Path

import pytest
import slurm
from alignbook.workbook import lifeline, warm
from conftest import copy_workbook, skip_unless_required

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("slurm")]

MARK = "ALIGNBOOK_TEST_MARK"  # in the environment of everything that a start leads to
FEW = {"train_images": 60, "dev_images": 20, "test_images": 25}
FEW |= {"chan_trials": 1, "chan_steps": 8, "bert_steps": 2}
FEW |= {"gsl_images": 16, "gsl_dev_images": 5, "gsl_test_images": 10}
ASKED = ["chan-T3", *(f"--set={name}={value}" for name, value in FEW.items())]
SUBMITTED = ["--profile", "smoke", "--no-report", *ASKED, "--executor", "slurm"]


# The plugin asks the queue ten seconds later each time. These jobs are short.
OFTEN = """\
import asyncio
from snakemake_interface_executor_plugins.executors.remote import RemoteExecutor
RemoteExecutor.sleep = lambda _: asyncio.sleep(1)
"""


@pytest.fixture(scope="module")
def cluster():
    """A Slurm of this machine's own."""
    if lacking := slurm.missing():
        skip_unless_required("slurm", f"Slurm is not installed: no {', '.join(lacking)}")
    with slurm.cluster() as made:
        yield made


def on_cluster(root: Path, cluster):
    """A copy of the workbook that submits to the cluster; its path has a space in it."""
    copy = copy_workbook(root / "work book")
    profile = copy.root / "profiles/slurm/config.yaml"
    words = profile.read_text()
    for before, after in (
        ("# slurm-status-command: squeue", "slurm-status-command: squeue"),  # no accounting here
        ("status-checks: 20", "status-checks: 2"),
        ("retries: 2", "retries: 0"),
    ):
        assert words.count(before) == 1
        words = words.replace(before, after)
    profile.write_text(words)
    with open(copy.root / "lib/alignbook/workbook/running/cluster.py", "a") as file:
        file.write(f"\nSUBMITS += {OFTEN!r}\n")
    copy.environment |= cluster.environment
    return copy


@pytest.fixture(scope="module")
def copy(tmp_path_factory, cluster):
    return on_cluster(tmp_path_factory.mktemp("submitted"), cluster)


def start(copy) -> tuple[subprocess.Popen, str]:
    """Start what is asked for; and what marks everything that it leads to."""
    mark = uuid.uuid4().hex
    top = subprocess.Popen(
        [str(copy.root / "run_all.sh"), *SUBMITTED],
        env={**copy.environment, MARK: mark},
        cwd=copy.root,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    return top, mark


def marked(mark: str, words: str) -> dict[int, dict[str, str]]:
    """Of processes with a mark and some words in their command line: their environments."""
    found = {}
    for process in Path("/proc").iterdir():
        try:
            said = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            if process.name.isdigit() and words in said:
                pairs = (process / "environ").read_bytes().decode().split("\0")
                environment = dict(pair.split("=", 1) for pair in pairs if "=" in pair)
                if environment.get(MARK) == mark:
                    found[int(process.name)] = environment
        except OSError:  # ended meanwhile, or no process
            pass
    return found


def wait_for(true, top: subprocess.Popen, seconds: float = 240):
    """Wait until something is true of a start that is at work; what it is then."""
    end = time.monotonic() + seconds
    while not (found := true()):
        assert top.poll() is None, "".join(top.communicate())
        assert time.monotonic() < end, f"not within {seconds} s"
        time.sleep(0.1)
    return found


def within(seconds: float, true) -> bool:
    """Whether something becomes true in time."""
    end = time.monotonic() + seconds
    while not true() and time.monotonic() < end:
        time.sleep(0.1)
    return bool(true())


def trained(copy) -> int:
    """Arms that were trained and are listed."""
    return len(list(copy.root.glob("results/world-smoke*/arms/*/*.csv")))


def stored(copy) -> dict[Path, int]:
    """Runs in the store, and when each was written."""
    runs = (copy.root / "results/store").glob("[!.]*")
    return {each: each.stat().st_mtime_ns for each in runs if each.is_dir()}


def test_a_killed_main_job_takes_the_one_that_submits_with_it(copy, cluster):
    top, mark = start(copy)
    found = wait_for(lambda: marked(mark, "alignbook.workbook.running.jobs data"), top)
    for environment in found.values():
        assert lifeline.VARIABLE not in environment and warm.VARIABLE not in environment
        assert environment["ALIGNBOOK_EXECUTOR"] == "slurm" and "SLURM_JOB_ID" in environment
    os.kill(top.pid, signal.SIGKILL)
    top.communicate()
    assert within(10, lambda: not marked(mark, "--executor slurm --jobs"))
    assert cluster.jobs()  # at work on another machine, as far as this one knows


def test_a_job_that_is_killed_is_named_and_what_it_stored_is_kept(copy, cluster):
    before = cluster.jobs()
    top, mark = start(copy)
    wait_for(lambda: trained(copy) > 1, top)
    assert not set(before) & set(cluster.jobs())  # what was left behind was cancelled, or ended
    for process in marked(mark, "alignbook.workbook.running.jobs whole"):
        os.kill(process, signal.SIGKILL)
    _, wrong = top.communicate(timeout=120)
    assert top.returncode == 1
    assert "arms/chan-T3/" in wrong and "its log: " in wrong and "goes on from there" in wrong
    copy.kept = stored(copy)
    assert len(copy.kept) > 2


def test_ctrl_c_cancels_what_was_submitted_and_says_how_to_go_on(copy, cluster):
    top, mark = start(copy)
    wait_for(lambda: marked(mark, "alignbook.workbook.running.jobs whole"), top)
    top.send_signal(signal.SIGINT)
    _, wrong = top.communicate(timeout=60)
    assert top.returncode == 130
    assert "cancelling the jobs" in wrong and "goes on from there" in wrong
    assert "Traceback" not in wrong
    assert within(20, lambda: not cluster.jobs())
    assert within(10, lambda: not marked(mark, ""))


def test_it_goes_on_to_the_numbers_of_one_machine(copy, tmp_path):
    (base,) = copy.root.glob("results/world-smoke*/base.json")
    made = base.stat().st_mtime_ns
    done = copy.run(*SUBMITTED)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert stored(copy).items() >= copy.kept.items()
    assert base.stat().st_mtime_ns == made and "s  notebook 11_chan_ablations" in done.stdout
    alone = copy_workbook(tmp_path / "work book")
    alone.compute(*ASKED)
    for name in ("metrics.csv", "summary.csv"):
        found = (base.parent / name).read_bytes()
        assert len(found) > 1000
        assert found == (alone.root / "results" / base.parent.name / name).read_bytes(), name


@pytest.mark.parametrize("where", [[], ["--executor", "slurm"]], ids=["here", "slurm"])
def test_where_it_was_computed_makes_nothing_anew(copy, where):
    assert "0 jobs would run:" in copy.run("--profile", "smoke", *ASKED, *where, "--dry-run").stdout


def test_a_timed_job_measures_on_a_node_of_its_own_alone(tmp_path, cluster):
    copy = on_cluster(tmp_path, cluster)
    with open(copy.root / "lib/alignbook/show/kernel_benchmark.py", "a") as file:
        file.write("\n\ndef measure(book):\n    raise ValueError('it would be measured')\n")
    asked = "--profile", "laptop", "--executor", "slurm", "50_kernels"
    done = copy.run(*asked, "--set-resources", "benchmark:slurm_extra='--nice=0'")
    assert done.returncode == 1
    assert "the kernels: Slurm job" in done.stderr and "shares its node" in done.stderr
    assert "slurm_extra: --exclusive" in done.stderr
    done = copy.run(*asked)  # as the profile has it
    assert done.returncode == 1 and "it would be measured" in done.stderr, done.stderr
