"""Where jobs run: on this machine, or on a cluster by one of Snakemake's executor plugins.

The process that submits is a child of the main job as ever, and ends with it. What it submits does
not: neither the lifeline nor the server of warm processes is handed on to another machine. An
interrupt cancels what was submitted; what a main job that was killed left behind is cancelled by
the next start, with Slurm. Everything else is the plugin's, and the profile's in `profiles/<executor>/`.
"""

import argparse
import os
import pkgutil
import re
import shutil
import signal
import subprocess
import sys
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from alignbook import ROOT
from alignbook.workbook.checks import Refused
from alignbook.workbook.running import gpu_locks
from alignbook.workbook.running.graph import Job

PLUGIN = "snakemake_executor_plugin_"
AT_ONCE = 100  # jobs, where --jobs says nothing
# Seconds that Snakemake has to cancel jobs. With Slurm it then waits for its next look at them, for
# up to minutes, and jobs on their way to the queue stay: `cancel` is what ends them all.
PATIENCE, OF_SLURM = 30.0, 5.0
RUN = re.compile(r"SLURM run ID: ([\w-]+)")  # the name that all jobs of a start have

# Before Snakemake: by the import this process watches the lifeline. Those that it submits inherit
# its environment, and would end with it. A shell's background ignores the signal that cancels.
SUBMITS = """\
import os, signal, alignbook
for name in ("ALIGNBOOK_LIFELINE", "ALIGNBOOK_WARM"):
    os.environ.pop(name, None)
signal.signal(signal.SIGINT, signal.default_int_handler)
"""

# Its plugin takes pods to share no files, and would deploy the project to each; here all mount it.
MOUNTS = """\
import dataclasses, snakemake_executor_plugin_kubernetes as plugin
plugin.common_settings = dataclasses.replace(
    plugin.common_settings, implies_no_shared_fs=False, job_deploy_sources=False)
"""


@dataclass(frozen=True)
class Place:
    """Where the jobs of a start run.

    Parameters
    ----------
    executor : the name of an executor plugin; empty for this machine.
    resources : "RULE:NAME=VALUE" each, instead of what the rule or the profile says.
    """

    executor: str = ""
    resources: tuple[str, ...] = ()

    def options(self, most: int) -> list[str]:
        """Snakemake's options for this place: at most so many cores here, or jobs elsewhere."""
        if not self.executor:
            asked = ["--set-resources", *self.resources] if self.resources else []
            here = ["--cores", str(most), "--resources", f"gpu={gpu_locks.places()}"]
            return [*here, "--latency-wait", "2", *asked]
        folder = ROOT / "profiles" / self.executor
        profile = str(folder) if folder.is_dir() else "none"
        # What is asked for here would replace all that the profile says of resources.
        asked = [*of_profile(folder), *self.resources] if self.resources else []
        return [
            *("--executor", self.executor, "--jobs", str(most), "--workflow-profile", profile),
            *(["--set-resources", *asked] if asked else []),
        ]

    def python(self) -> str:
        """What the process that runs Snakemake does first."""
        mounts = MOUNTS if self.executor == "kubernetes" else ""
        return SUBMITS + mounts if self.executor else ""

    def stop(self, child: subprocess.Popen, log: Path) -> None:
        """End the Snakemake that writes a log, and everything it started, wherever it runs."""
        if not self.executor:
            end(child)
            return
        print("cancelling the jobs that were submitted …", file=sys.stderr, flush=True)
        with undisturbed():
            child.send_signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                child.wait(OF_SLURM if self.executor == "slurm" else PATIENCE)
            end(child)
            cancel(log)


HERE = Place()


def end(child: subprocess.Popen) -> None:
    """End a child and its process group; kernels, in sessions of their own, see it and follow."""
    for name, patience in ((signal.SIGTERM, 3.0), (signal.SIGKILL, 3.0)):
        try:
            os.killpg(child.pid, name)
            child.wait(patience)
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            continue


def chosen(asked: argparse.Namespace) -> Place:
    """The place that a command line asks for; `Refused` if its plugin is not there."""
    if asked.executor == "":
        raise Refused("--executor: no name, expected a plugin's such as slurm; or leave it out")
    name = asked.executor or ""
    if name and name not in installed():
        package = (PLUGIN + name).replace("_", "-")
        raise Refused(
            f"--executor {name}: no such plugin is installed; there are: "
            f"{', '.join(installed()) or 'none'}. Another one is added by: "
            f"uv pip install --python {sys.executable} {package}"
        )
    if name == "slurm" and not asked.dry_run and not shutil.which("sbatch"):
        raise Refused("--executor slurm: there is no sbatch here: start where jobs are submitted")
    _check_resources(asked.set_resources)
    return Place(name, tuple(asked.set_resources))


def _check_resources(given: list[str]) -> None:
    """`Refused` unless each RULE:NAME=VALUE is of a rule that there is, and has one value."""
    known = re.findall(r"^ *rule (\w+):", (ROOT / "Snakefile").read_text("utf-8"), re.MULTILINE)
    said = {}
    for each in given:
        resource, _, value = each.partition("=")
        rule, _, name = resource.partition(":")
        if rule not in known:
            raise Refused(f"--set-resources {each}: no rule {rule}; there are: {', '.join(known)}")
        if name == "mem_mb" and not value.isdigit():
            raise Refused(f"--set-resources {each}: expected a whole number of MB")
        if said.setdefault(resource, value) != value:
            raise Refused(
                f"--set-resources {resource}: {said[resource]} and {value} are both given, "
                "expected one of them"
            )


def installed() -> list[str]:
    """Executor plugins that are installed, but for those that only others use."""
    found = (each.name for each in pkgutil.iter_modules() if each.name.startswith(PLUGIN))
    names = (name.removeprefix(PLUGIN).replace("_", "-") for name in found)
    return sorted(name for name in names if not name.endswith("-jobstep"))


def of_profile(folder: Path) -> list[str]:
    """What a profile says of the resources of single rules, as on Snakemake's command line."""
    import yaml

    try:
        said = yaml.safe_load((folder / "config.yaml").read_text("utf-8")) or {}
    except FileNotFoundError:
        return []
    rules = (said.get("set-resources") or {}).items()
    return [f"{rule}:{name}={value}" for rule, named in rules for name, value in named.items()]


def cancel(log: Path) -> None:
    """Cancel what the Slurm jobs' log of a start names, if anything of it is still there."""
    run = RUN.search(log.read_text("utf-8", "replace")) if log.exists() else None
    if not run or not shutil.which("scancel"):
        return
    words = ["scancel", f"--name={run[1]}"]
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
        failed = done.returncode != 0
    except subprocess.TimeoutExpired:
        failed = True
    if failed:
        print(
            f"Slurm did not answer: jobs may still be at work; later: {' '.join(words)}",
            file=sys.stderr,
        )


@contextmanager
def undisturbed():
    """While this lasts an impatient second Ctrl-C is not heard."""
    names = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {name: signal.signal(name, signal.SIG_IGN) for name in names}
    try:
        yield
    finally:
        for name, how in before.items():
            signal.signal(name, how)


def why(job: Job) -> str:
    """Why a job failed: its own words in the log that the cluster kept, otherwise what the executor
    says; empty for one that ran here.
    """
    for log in map(Path, job.logs):
        if log.suffix == ".log" and log.exists():
            lines = log.read_text("utf-8", "replace").splitlines()
            failed = [line.strip() for line in lines if line.startswith("  failed: ")]
            return "\n      ".join([*failed[-1:], f"its log: {log}"])
    return job.told.partition("sbatch call:")[0].strip()
