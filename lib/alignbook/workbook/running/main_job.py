"""The main job: it walks the graph of the Snakefile for what was asked for.

It checks what was asked for, writes it down in the results folder and lets Snakemake walk the graph of
the Snakefile. This process computes nothing itself: it holds the lifeline, so that whatever ends it
ends everything.
"""

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path

from alignbook import ROOT
from alignbook.store import durable, owners, verbatim
from alignbook.workbook import exhibits, folders, lifeline, surroundings, warm
from alignbook.workbook.checks import Refused, changed, check, read_from, wants_curves
from alignbook.workbook.exhibits import COMPONENTS
from alignbook.workbook.running import cluster, gpu_locks, lent, live, telling, timeleft, walker
from alignbook.workbook.running.graph import Graph

# Settings of the matrix libraries that change how a machine rounds, and make it another one here.
ROUNDING = ("ATEN_CPU_CAPABILITY", "MKL_CBWR", "MKL_ENABLE_INSTRUCTIONS", "ONEDNN_MAX_CPU_ISA")


def start(asked: argparse.Namespace) -> int:
    """Run the main job, or say why it is refused; returns the exit code."""
    try:
        return run(asked)
    except Refused as refusal:
        print(f"run_all.sh: {refusal}", file=sys.stderr)
        return 2


def run(asked: argparse.Namespace) -> int:
    """The main job: check, write the settings down, walk the graph, name the results."""
    started = time.monotonic()
    if problem := surroundings.problem([*asked.targets, asked.data, *asked.set]):
        raise Refused(problem)
    if os.environ.pop("SNAKEMAKE_PROFILE", None) is not None:
        print(
            "SNAKEMAKE_PROFILE is not used: ./run_all.sh walks the graph on this machine; for a "
            "cluster there is --executor",
            file=sys.stderr,
        )
    curves = wants_curves(asked)
    if asked.profile == "paper" and (code := list_needs(asked)) is not None:
        return code
    notebooks, settings = check(asked)
    if asked.targets:
        settings = folders.set_apart(settings, notebooks)
    place = cluster.chosen(asked)
    cores = asked.jobs or (cluster.AT_ONCE if place.executor else surroundings.cores())
    if asked.gpu_jobs:
        os.environ[gpu_locks.JOBS] = str(asked.gpu_jobs)
    if asked.dry_run:
        return dry_run(settings, notebooks, asked.spread, cores, place)
    if problem := surroundings.without_loopback():
        raise Refused(problem)
    rounds = [*rehearsal(settings, bool(asked.targets)), settings]
    for each in rounds:
        if problem := surroundings.in_the_way(folders.results_folder(each)):
            raise Refused(problem)
    if len(rounds) > 1:
        print("the smoke profile first: everything in small, then on to the profile itself")
    with only_run():
        line = lifeline.hold(ROOT / ".cache/lifeline")
        try:
            for number, each in enumerate(rounds, 1):
                part = f"round {number} of {len(rounds)}" if len(rounds) > 1 else ""
                code = walk(each, notebooks, asked.spread, cores, part, place, not asked.no_report)
                took = time.monotonic() - started
                judged = not code and exhibits.VERDICTS in notebooks
                telling.tell_results(each, took, judged)
                if curves:
                    write_curves(folders.results_folder(each))
                if code:
                    for place in surroundings.full():
                        print(
                            f"run_all.sh: {place}: no room left on its disk; make room, then "
                            "start again",
                            file=sys.stderr,
                        )
                    return code
        finally:
            lifeline.release(line)
    return 0


def rehearsal(settings: dict, part: bool) -> list[dict]:
    """The settings of the smoke run that comes first, if one is due; of a part none is."""
    if part or settings["profile"] == "smoke" or folders.rehearsed(settings):
        return []
    kept = {name: value for name, value in settings["set"].items() if name in COMPONENTS}
    smoke = {**settings, "profile": "smoke", "seeds": None, "set": kept}
    return [smoke | (read_from(smoke) if "files" in settings else {})]


def write_curves(out: Path) -> None:
    """A results folder's curves as event files, if runs were trained for it."""
    from alignbook.workbook.reports import tensorboard

    try:
        tensorboard.tell(out)
    except ValueError as error:
        print(f"run_all.sh: {error}", file=sys.stderr)


def list_needs(asked: argparse.Namespace) -> int | None:
    """What the paper profile needs, printed; the exit code, None if the run can go on.

    Without --data the run takes the papers' data from the project's data folder.
    """
    from alignbook.workbook import needs

    overrides = changed(asked.set) | ({"seeds": str(asked.seeds)} if asked.seeds else {})
    try:
        plan = needs.plan(exhibits.resolve(asked.targets), asked.data, overrides)
    except ValueError as error:
        raise Refused(str(error)) from None
    if asked.dry_run or not plan.data:
        print(verbatim.lines(plan.text))
    if plan.data:
        asked.data = plan.data
        return None
    if asked.dry_run:
        return 0
    print(
        "run_all.sh: not started, see above; a notebook that is ready starts by its name",
        file=sys.stderr,
    )
    return 2


@contextmanager
def only_run():
    """Hold the claim of this folder's results; `Refused` while another start has it, here or on
    another machine that shares the folder.
    """
    claim = ROOT / "results/.locks", "start"
    there = owners.owner(*claim).get("host", owners.host())
    if there != owners.host():
        print(
            f"a start on {there.split()[0]} has these results: looking for a sign of its life, for "
            f"{owners.SILENT:g} s"
        )
    try:
        held = ExitStack()
        held.enter_context(owners.claimed(*claim, wait=False, look=True))
    except BlockingIOError:
        told = owners.owner(*claim)
        where = "here" if told.get("host") == owners.host() else f"on {there.split()[0]}"
        raise Refused(
            f"another run is at work {where} (process {told.get('process', 'unknown')}): "
            "wait for it, or stop it with Ctrl-C where it was started"
        ) from None
    with held:
        yield


def walk(
    settings: dict,
    notebooks: list[str],
    spread: str | None,
    cores: int,
    part: str = "",
    place: cluster.Place = cluster.HERE,
    report: bool = True,
) -> int:
    """Let Snakemake compute what is missing, write the report; returns the exit code."""
    from alignbook.workbook.running import salvage

    out = folders.results_folder(settings)
    out.mkdir(parents=True, exist_ok=True)
    log = out / "snakemake.log"
    cluster.cancel(log)  # what an earlier start left behind, if it was killed
    salvage.mend(out)
    folders.write_settings(out / "settings.json", settings)
    spread = spread or usual_spread(settings, place)
    plan = timeleft.Plan(
        folders.profile_of(settings),
        settings["data"].partition("=")[0],
        notebooks,
        spread,
        cores,
        timeleft.earlier(starts_of(out), machine(place), cores) | lent.seconds(out),
    )
    began, idle = time.monotonic(), False
    heading = f"{plan.data}, {settings['profile']} profile"
    with live.View(out, plan, heading, part, bool(place.executor)) as seen:
        command = walker.snakemake(
            out / "settings.json", out, log, seen.graph.file, notebooks, spread, cores, place
        )
        try:
            # Elsewhere some jobs are measured alone on the machine.
            with nullcontext() if place.executor else warm.keep():
                code = walker.finish(
                    command,
                    seen,
                    settings if report and settings["profile"] == "smoke" else None,
                    partial(place.stop, log=log),
                )
            idle = not code and not seen.graph.total
        finally:
            if not idle:
                with suppress(OSError):  # what failed is told, not that this could not be noted
                    note_start(out, time.monotonic() - began, cores, seen.graph, place)
        if code:
            telling.tell_failures(out, log, seen.graph)
        elif idle:
            print("nothing to compute: everything is up to date")
        seen.doing = "the report"
        wrong = report and walker.write_report(settings, seen)  # of what there is
        return wrong or int(code != 0)


def dry_run(
    settings: dict, notebooks: list[str], spread: str | None, cores: int, place: cluster.Place
) -> int:
    """List what would run and why."""
    out = folders.results_folder(settings)
    with tempfile.TemporaryDirectory() as aside:
        folder = out if out.is_dir() else Path(aside)  # nothing is left behind
        settings_file = Path(aside, "settings.json")
        folders.write_settings(settings_file, settings)
        log, graph = Path(aside, "log"), Graph(Path(aside, "events"))
        command = walker.snakemake(
            settings_file,
            folder,
            log,
            graph.file,
            notebooks,
            spread or usual_spread(settings, place),
            cores,
            place,
        )
        done = subprocess.run([*command, "--dry-run"], capture_output=True)
        graph.read()
        if done.returncode:
            telling.tell_graph(log, graph)
            return 1
    jobs = [(telling.shorten(job.made), telling.reason(job.reason)) for job in graph.listed]
    data = verbatim.line(settings["data"])
    print(
        f"{data}, {settings['profile']} profile: {len(jobs)} job{'s' * (len(jobs) != 1)} would run:"
    )
    width = max((len(job) for job, _ in jobs), default=0)
    for job, why in jobs:
        print(f"  {job:{width}}  {why}")
    return 0


def usual_spread(settings: dict, place: cluster.Place = cluster.HERE) -> str:
    """How arms are spread over jobs where nothing else is asked for: the shorter a training is
    beside the start of a job, the more of them share one. What was begun goes on as it was. Published
    results that were unpacked are not trained again.
    """
    if settings["profile"] == "smoke" or lent.published(folders.results_folder(settings)):
        return "chapter"
    out = folders.results_folder(settings)
    for begun, spread in (("trained", "seed"), ("arms", "arm")):
        if (out / begun).exists():
            return spread
    return "seed" if place.executor and settings["profile"] != "laptop" else "arm"


def machine(place: cluster.Place = cluster.HERE) -> str:
    """The machine as starts.json names it, or the cluster that is reached from it."""
    told = (f"{name}={os.environ[name]}" for name in ROUNDING if name in os.environ)
    here = ", ".join([f"{platform.system()} {platform.machine()}", *told])
    return f"{place.executor} from {here}" if place.executor else here


def processor(told: Path = Path("/proc/cpuinfo")) -> str:
    """The processor's model where Linux tells it, or ""."""
    text = told.read_text(encoding="utf-8", errors="replace") if told.exists() else ""
    named = re.search(r"^model name\s*: *(.+)$", text, re.M)
    return named[1].strip() if named else ""


def starts_of(out: Path) -> list[dict]:
    """Earlier starts that filled a results folder."""

    return folders.read(out / "starts.json") or []


def note_start(
    out: Path, seconds: float, cores: int, graph: Graph, place: cluster.Place = cluster.HERE
) -> None:
    """Add to starts.json how long a start and its jobs took and on what: for the report, and for
    what the next start guesses of its own time.
    """
    file, starts = out / "starts.json", starts_of(out)
    took = {"seconds": round(seconds, 1), "cores": cores, "machine": machine(place)}
    took["processor"] = "" if place.executor else processor()
    jobs = {job.title: round(job.seconds, 1) for job in graph.finished}
    starts.append(took | {"jobs": jobs})
    durable.write(file, json.dumps(starts, indent=1) + "\n", sealed=True)
