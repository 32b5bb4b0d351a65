"""Whether a job has its machine to itself, as times that are reported require.

On one machine the graph sees to that: such a job takes all cores. Under an executor the cluster
shares nodes out, so the job looks for itself, and refuses to measure where others may be at work
beside it. Standard library only.
"""

import os
import re
import shutil
import subprocess

EXECUTOR = "ALIGNBOOK_EXECUTOR"  # which one this job runs under; set by the Snakefile
SAID = "ALIGNBOOK_ALONE"  # yes, where the user knows what cannot be found out


def check(profile: str, what: str) -> None:
    """Raise `ValueError` if something is to be timed where other jobs may be at work.

    Smoke measures anyway: its times are nowhere reported as those of a machine alone.
    """
    executor = os.environ.get(EXECUTOR)
    if not executor or profile == "smoke":
        return
    remedy = (
        f"not measured: its times need a node alone. profiles/{executor}/config.yaml can ask for "
        "one for the rules efficiency and benchmark"
    )
    if job := os.environ.get("SLURM_JOB_ID"):
        answer = under_slurm(job)
        if answer is False:
            raise ValueError(
                f"{what}: Slurm job {job} shares its node with others, so {remedy} "
                "(slurm_extra: --exclusive)"
            )
    elif os.environ.get(SAID) != "yes":
        raise ValueError(
            f"{what}: whether others are at work here cannot be known under the executor "
            f"{executor}, so {remedy}; if it does, say {SAID}=yes in the job's environment"
        )


def under_slurm(job: str) -> bool:
    """Whether a Slurm job has its node alone: Slurm says so, or all of its CPUs are the job's."""
    shared = ""
    if shutil.which("scontrol"):
        words = ["scontrol", "--oneliner", "show", "job", job]
        try:
            said = subprocess.run(words, capture_output=True, text=True, timeout=20).stdout
        except (OSError, subprocess.TimeoutExpired):
            said = ""
        shared = (re.findall(r"OverSubscribe=(\w+)", said) or [""])[0]
    if shared not in ("", "OK"):
        return shared == "NO"  # otherwise YES, USER or MCS: with some others
    own = re.match(r"\d+", os.environ.get("SLURM_JOB_CPUS_PER_NODE", ""))
    return own is not None and int(own[0]) >= (os.cpu_count() or 1)
