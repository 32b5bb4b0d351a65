"""Records a run for the test of the time left: what began when, and what it told of itself.

`python tests/workbook/recorder.py tests/expected/laptop_run.json --profile laptop` starts the laptop
profile of the world from what is stored now, and writes the recording when it is through. What
follows the file's name is handed on to ./run_all.sh.
"""

import csv
import json
import os
import subprocess
import sys
import time
from pathlib import Path

from alignbook.store import progress
from alignbook.workbook import command, exhibits
from alignbook.workbook.running import graph, main_job, timeleft

POINTS = 36  # of what a job told, at most
USED = ("step", "steps", "part", "kept")  # of a state, by guesses; and whether there is a loss


def watch(top: subprocess.Popen, live: Path) -> tuple[list[dict], dict[str, list], float]:
    """Snakemake's events, states by the name of a job's file, and the end of a run."""
    events, said = b"", {}
    while top.poll() is None:
        time.sleep(0.25)
        try:
            now = (live / "events.jsonl").read_bytes()
            events = max(events, now, key=len)
            for path in {*live.glob("*.json")}:
                state, own = json.loads(path.read_text()), said.setdefault(path.stem, [])
                if not own or own[-1][1] != state:
                    own.append((time.time(), state))
        except (OSError, ValueError):  # gone or half there
            pass
    return [json.loads(line) for line in events.splitlines()], said, time.time()


def recording(events: list[dict], said: dict[str, list], end: float) -> dict:
    """What the test reads; times in seconds since the run began, what failed left out."""
    began = events[0]["time"]
    stats = next(event["stats"] for event in events if event["event"] == "run_info")
    read, rules, jobs = graph.Graph(Path("none")), {}, []
    for event in events:
        if event["event"] == "job_info":
            rules[" ".join(graph.command(event["shellcmd"]))] = event["rule_name"]
        jobs += [job for what, job in read.take(event) if what == "finished"]
    jobs.sort(key=lambda job: job.began)
    found = []
    for job in jobs:
        told = said.get(progress.state_file(Path(), job.words).stem, [])
        told = told[:: -(-len(told) // (POINTS - 1)) or 1] + told[-1:]
        points = [[round(when - began, 1), used(state)] for when, state in told]
        times = {"began": round(job.began - began, 1), "seconds": round(job.seconds, 1)}
        rule = rules[" ".join(job.words)]
        found.append({"rule": rule, "words": job.words, **times, "said": points})
    return {"end": round(end - began, 1), "stats": stats, "jobs": found}


def used(state: dict) -> dict:
    """What guesses use of a state."""
    found = {name: short(state[name]) for name in USED if state.get(name) is not None}
    return found | ({"loss": 0} if "loss" in state else {})


def short(value):
    """Numbers to three digits after the point, in a list or alone."""
    return [round(each, 3) for each in value] if isinstance(value, list) else round(value, 3)


def published(file: Path) -> dict[str, int]:
    """How many seeds the published run took of each paper's main claim."""
    lines = csv.DictReader(file.read_text(encoding="utf-8").splitlines()) if file.exists() else ()
    seeds = {line["claim"]: int(line["seeds"]) for line in lines}
    return {claim: seeds[claim] for claim in exhibits.QUESTIONS if claim in seeds}


def main(file: str, *arguments: str) -> int:
    """Run, record, write; the run's exit code."""
    root = Path(__file__).resolve().parents[2]
    asked = command.parser().parse_args(arguments)
    data = asked.data.partition("=")[0]
    top = subprocess.Popen([str(root / "run_all.sh"), *arguments])
    told = watch(top, root / f"results/{data}-{asked.profile}/.live")
    if not top.returncode:
        said = {"profile": asked.profile, "data": asked.data, "seeds": None, "set": {}}
        how = {
            "profile": asked.profile,
            "data": data,
            "notebooks": exhibits.resolve(asked.targets, data),
            "spread": main_job.usual_spread(said),
            "cores": len(os.sched_getaffinity(0)),
            "published": published(timeleft.PUBLISHED / f"{data}-{asked.profile}/contrasts.csv"),
        }
        text = json.dumps(how | recording(*told))
        Path(file).write_text(text.replace('{"rule"', '\n{"rule"') + "\n")
    return top.returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
