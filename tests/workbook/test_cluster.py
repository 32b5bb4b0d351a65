"""Where jobs run: what is asked of an executor, what is refused, what a timed job looks at."""

import os
import re
import subprocess
import sys
from argparse import Namespace
from dataclasses import dataclass
from types import SimpleNamespace

import pandas as pd
import pytest
import yaml
from alignbook.workbook import checks
from alignbook.workbook.running import alone, cluster, jobs
from alignbook.workbook.running.graph import Graph, Job
from conftest import ROOT


def asked(**what) -> Namespace:
    return Namespace(**{"executor": None, "set_resources": [], "dry_run": False} | what)


def test_without_an_executor_the_command_is_that_of_one_machine():
    assert cluster.chosen(asked()) == cluster.HERE
    assert cluster.HERE.options(3) == [
        "--cores",
        "3",
        "--resources",
        "gpu=0",
        "--latency-wait",
        "2",
    ]
    assert cluster.HERE.python() == ""


def test_a_plugin_that_is_not_installed_is_refused_with_those_that_are():
    assert "slurm" in cluster.installed() and "slurm-jobstep" not in cluster.installed()
    with pytest.raises(checks.Refused) as refusal:
        cluster.chosen(asked(executor="zzz"))
    for words in ("--executor zzz", "there are: ", "slurm", "snakemake-executor-plugin-zzz"):
        assert words in str(refusal.value)


def test_slurm_is_refused_where_nothing_can_be_submitted_but_looked_at_anywhere(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(checks.Refused, match="no sbatch here"):
        cluster.chosen(asked(executor="slurm"))
    assert cluster.chosen(asked(executor="slurm", dry_run=True)).executor == "slurm"


def test_the_folder_of_a_profile_is_used_if_it_is_there(monkeypatch, tmp_path):
    monkeypatch.setattr(cluster, "ROOT", tmp_path)
    assert cluster.Place("slurm").options(100) == [
        *("--executor", "slurm", "--jobs", "100", "--workflow-profile", "none")
    ]
    (tmp_path / "profiles/slurm").mkdir(parents=True)
    assert str(tmp_path / "profiles/slurm") in cluster.Place("slurm").options(100)


def test_what_is_asked_for_single_rules_comes_after_what_the_profile_says():
    """On Snakemake's command line it would take its place, and timed jobs lose their node."""
    options = cluster.Place("slurm", ("base:mem_mb=1",)).options(1)
    given = options[options.index("--set-resources") + 1 :]
    assert given == [
        "efficiency:slurm_extra='--exclusive'",
        "benchmark:slurm_extra='--exclusive'",
        "base:mem_mb=1",
    ]


@pytest.mark.parametrize("name", ["slurm", "kubernetes"])
def test_the_profiles_that_are_shipped_can_be_read(name):
    said = yaml.safe_load((ROOT / f"profiles/{name}/config.yaml").read_text())
    assert said["latency-wait"] == 60


def test_pods_mount_the_project_and_begin_in_the_results_folder(monkeypatch):
    """By its own settings the plugin shares no files. Tried with the plugin and a stand-in for a
    cluster's API: pods began in a folder of their own, and refused without whose GPUs they lack.
    """
    plugin = SimpleNamespace(common_settings=Settings(True, True, True))
    monkeypatch.setitem(sys.modules, "snakemake_executor_plugin_kubernetes", plugin)
    done = cluster.Place("kubernetes").python().partition(cluster.SUBMITS)[2]
    exec(done, {})
    assert plugin.common_settings == Settings(False, False, True)
    assert cluster.Place("slurm").python() == cluster.SUBMITS
    said = yaml.safe_load((ROOT / "profiles/kubernetes/config.yaml").read_text())
    assert said["default-resources"] == ["gpu_manufacturer='nvidia'", "scale=0"]
    graph = (ROOT / "Snakefile").read_text()
    assert re.search(r"elif workflow\.remote_exec:.*\n\n    workdir: .*configfiles\[0\]", graph)


@dataclass
class Settings:
    """Of a plugin, as Snakemake knows it."""

    implies_no_shared_fs: bool
    job_deploy_sources: bool
    non_local_exec: bool


def test_what_submits_watches_the_lifeline_and_hands_it_on_to_nobody(tmp_path):
    from alignbook.workbook import lifeline

    says = "import subprocess; print(subprocess.run('env', capture_output=True, text=True).stdout)"
    says += "\nimport threading; print([each.name for each in threading.enumerate()])"
    line = lifeline.hold(tmp_path)
    try:
        environment = {**os.environ, "ALIGNBOOK_WARM": "x"}
        command = [sys.executable, "-c", cluster.Place("slurm").python() + says]
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
    finally:
        lifeline.release(line)
    assert done.returncode == 0, done.stderr
    assert "ALIGNBOOK_LIFELINE" not in done.stdout and "ALIGNBOOK_WARM" not in done.stdout
    assert "lifeline" in done.stdout  # the thread that ends it


def test_why_a_job_failed_is_told_by_its_log_or_by_the_executor(tmp_path):
    graph, log = Graph(tmp_path / "events"), tmp_path / "7.log"
    said = {"event": "job_error", "time": 1.0, "jobid": 1, "rule_name": "base", "output": ["x"]}
    told = "SLURM sbatch failed. The error message was 'no'.\n    sbatch call:\n  long"
    ((_, job),) = graph.take(said | {"log": [str(log)], "rule_msg": told})
    assert cluster.why(job) == "SLURM sbatch failed. The error message was 'no'."
    log.write_text("Building DAG\n  failed: base : why\nmore\n")
    assert cluster.why(job) == f"failed: base : why\n      its log: {log}"
    assert cluster.why(Job(["base"], ["x"], "", 0.0)) == ""


def scontrol(folder, says: str) -> None:
    """A program that says what Slurm would."""
    (folder / "scontrol").write_text(f"#!/bin/sh\necho 'JobId=1 {says} Contiguous=0'\n")
    (folder / "scontrol").chmod(0o755)


ALL = str(os.cpu_count())


@pytest.mark.parametrize(
    "says, cpus, answer",
    [
        ("OverSubscribe=NO", "1", True),
        ("OverSubscribe=OK", "1(x2)", False),
        ("OverSubscribe=OK", ALL, True),
        ("OverSubscribe=YES", ALL, False),
        ("OverSubscribe=USER", ALL, False),
        ("", ALL, True),
        ("", "", False),
    ],
)
def test_whether_a_slurm_job_has_its_node_alone(tmp_path, monkeypatch, says, cpus, answer):
    if ALL == "1" and cpus == "1(x2)":
        pytest.skip("one CPU is all there is")
    scontrol(tmp_path, says)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    monkeypatch.setenv("SLURM_JOB_CPUS_PER_NODE", cpus)
    assert alone.under_slurm("1") is answer


@pytest.mark.parametrize(
    "timed, what", [(["benchmark"], "the kernels"), (["efficiency", "chan-F3"], "chan-F3")]
)
def test_a_timed_job_refuses_where_others_may_be_at_work(
    tmp_path, monkeypatch, capsys, timed, what
):
    measured = []
    book = SimpleNamespace(profile=SimpleNamespace(name="laptop"), out=tmp_path)
    monkeypatch.setattr(jobs.workbook, "load", lambda out: book)
    monkeypatch.setattr("alignbook.show.kernel_benchmark.measure", measured.append)
    monkeypatch.setattr("alignbook.show.kernel_benchmark.table", lambda book: pd.DataFrame())
    monkeypatch.setattr("alignbook.workbook.results.arms", lambda book, exhibit: pd.DataFrame())
    monkeypatch.setattr(
        jobs.chapters.cost_of("chan-F3"),
        "table",
        lambda book, listed: measured.append(book) or pd.DataFrame(),
    )
    for name in (alone.EXECUTOR, alone.SAID, "SLURM_JOB_ID"):
        monkeypatch.delenv(name, raising=False)

    def code() -> int:
        measured.clear()
        return jobs.main([*timed, "--out", str(tmp_path)])

    assert code() == 0 and measured  # on one machine
    monkeypatch.setenv(alone.EXECUTOR, "kubernetes")
    assert code() == 1 and not measured
    said = capsys.readouterr().err
    for words in (what, "cannot be known", "profiles/kubernetes", "ALIGNBOOK_ALONE=yes"):
        assert words in said
    monkeypatch.setenv(alone.SAID, "yes")
    assert code() == 0 and measured
    scontrol(tmp_path, "OverSubscribe=YES")
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    monkeypatch.setenv("SLURM_JOB_ID", "1")
    assert code() == 1 and not measured  # what Slurm says counts more
    assert "shares its node" in capsys.readouterr().err
    book.profile.name = "smoke"
    assert code() == 0 and measured
