# The graph: data -> base -> arms -> notebooks, and all numbers in one file. The command line
# (lib/alignbook/workbook/running/walker.py) starts it in results/<data>-<profile>/, settings.json as
# the configuration. A job starts again when the settings or the code behind it changed: both are
# params, and Snakemake compares those. Snakemake deletes what a failed job made, but not its log:
# so the executed notebook is one.
# Plain `snakemake` takes profile, data and so on by --config: smoke and world unless told. It works
# in the same results folder, and its settings are checked as the command line's are.
import os
import sys
from argparse import Namespace
from pathlib import Path

from alignbook import ROOT
from alignbook.core.names import row_and_target, slug
from alignbook.store import contents
from alignbook.store.fingerprint import code_hash, key, trains
from alignbook.workbook import arm_runs, asks, chapters, named_files, profiles
from alignbook.workbook.checks import check
from alignbook.workbook.exhibits import (
    EXHIBITS, NOTEBOOKS, arms as arms_of, begun, buyers, jobs, paper, with_seeds)
from alignbook.workbook.folders import results_folder, write_settings
from alignbook.workbook.publishing import beside
from alignbook.workbook.running import lent

# Under an executor Snakemake reads this file again where the job runs: so the job knows of it, and
# its command stays what it was. It is no setting either: where a job runs makes nothing anew.
EXECUTOR = config.get("executor") or ("an-executor" if workflow.remote_exec else "")
if EXECUTOR:
    os.environ["ALIGNBOOK_EXECUTOR"] = EXECUTOR
NAMES = named_files.COMPARED
plain = not config.keys() >= {*NAMES}  # not from the command line
if plain:
    said = {"profile": "smoke", "data": "world", "seeds": None, "set": {}, "device": "auto"} | config
    said["set"] = [f"{name}={value}" for name, value in said["set"].items()]
    chosen, said = check(Namespace(targets=[], **said))
    config = {"notebooks": chosen, "spread": "arm"} | said
KIND = config["data"].partition("=")[0]
PROFILE = profiles.get(config["profile"], KIND, config["set"])
SETTINGS = named_files.compared(config)
if plain:
    results_folder(said).mkdir(parents=True, exist_ok=True)

    workdir: str(results_folder(said))

    onstart:  # not where the graph is only looked at
        write_settings(Path("settings.json"), said)
elif workflow.remote_exec:  # a pod begins elsewhere than in the results folder

    workdir: str(Path(workflow.configfiles[0]).parent)

CHOSEN = config["notebooks"]  # names
SHOWN = list(dict.fromkeys(  # exhibits
    name for notebook in CHOSEN for name in NOTEBOOKS[notebook].exhibits + NOTEBOOKS[notebook].reads
))
SOURCES = os.path.relpath(ROOT / "notebooks")  # relative: the project folder may be moved
TIMED = [name for name in EXHIBITS if EXHIBITS[name].timed]  # alone on the machine
ALONE = config["profile"] != "smoke" and not EXECUTOR  # of a cluster its profile asks for that
READ = ("chan-F3", "covalign-ladder", "gsl-T2")  # of them, those that other notebooks take times from
LEARNT = "alignbook.evidence.learnt"  # which dev may choose, and what a row is called
SPREAD = config["spread"]
asked = asks.Asks(PROFILE, KIND, config["device"])
FROM_DATA = {"world-clip-large", "world-coca"}  # arms that don't wait for the profile's base model
MEASURING = sorted((ROOT / "benchmarks").glob("*.py"))
PRINTED = [os.path.relpath(file) for kind in ("csv", "yaml")
           for file in sorted((ROOT / "lib/alignbook/papers").glob(f"*/printed/*.{kind}"))]
BUDGET = os.path.relpath(ROOT / "data/budget.csv")
PYTHON = sys.executable
JOB = "exec {PYTHON:q} -m alignbook.workbook.warm alignbook.workbook.running.jobs"

# What data and base models are made by. What they hold, and what the runs behind a list are keyed by,
# is said by the files that depend on it: those of others are no part of a job's own code.
DATA = ("alignbook.world" if KIND == "world" else "alignbook.datasets.by_name",
        "alignbook.workbook.profiles")
BASE = ("alignbook.backbones.base", "alignbook.backbones.region_features", *DATA[1:])


def file_of(exhibit, arm):
    """Where the list of an arm's runs lies."""
    return f"arms/{exhibit}/{slug(arm)}.csv"


def arms(exhibit):
    """Files of an exhibit's arms."""
    return [file_of(exhibit, arm) for arm in arms_of(exhibit, KIND, PROFILE)]


def beforehand(some):
    """What a job of some arms waits for: the base models they start from."""
    if FROM_DATA.issuperset(some):
        return ["data.json"]
    rows = [row_and_target(arm)[0] for arm in some if KIND == "world"]
    trained = {*arms_of("base-models", KIND, PROFILE)} - {PROFILE.base}
    others = {f"world-{row.partition('+')[0]}" for row in rows} & trained
    return ["base.json", *(file_of("base-models", base) for base in sorted(others))]


def bought(names):
    """The lists of runs of more seeds that are bought for the claims on some exhibits."""
    some = with_seeds([name for name in names if name in SHOWN], KIND, PROFILE)
    return [f"seeds/{each}.csv" for each in dict.fromkeys(map(paper, some))]


def timed_threads(name):
    """All cores for what is measured alone (`running.alone` looks), one where its times were lent."""
    return workflow.cores if ALONE and not lent.ready(Path(), name) else 1


def exhibit_code(exhibit, part="arms"):
    """Code of what is trained or measured for an exhibit, and of what is chosen and listed."""
    own = chapters.module(exhibit, part)
    clock, counts = (["alignbook.store.stopwatch"], measures) if part == "cost" else ([], trains)
    return code_hash(own, *clock, LEARNT, *(f"alignbook.workbook.{name}" for name in (
        "results", "arm_runs", "profiles")), counts=counts)


def measures(module):
    """Whether a module counts for times: which arms there are moves none of them."""
    return trains(module) and not module.endswith(".arms")


# In the spread "seed", by what they are known by: each training is a job of its own, and arms that
# show the same one share it. It is called after the first of them.
TRAININGS = {}
for exhibit in EXHIBITS if SPREAD == "seed" else ():
    for arm in arms_of(exhibit, KIND, PROFILE):
        TRAININGS |= arm_runs.of_arm(exhibit, arm, PROFILE, KIND) | TRAININGS
PLACES = {each.place: each for each in TRAININGS.values()}


def trained(exhibit, some, *roles):
    """What stands for the trainings of some arms, or for those of some roles."""
    return [f"trained/{TRAININGS[name].place}" for arm in some if SPREAD == "seed"
            for name, each in arm_runs.of_arm(exhibit, arm, PROFILE, KIND).items()
            if not roles or each.role in roles]


def training_inputs(wildcards):
    """A reporting seed comes after the trials of its arm."""
    one = PLACES[wildcards.training]
    tried = trained(one.exhibit, [one.arm], arm_runs.TRIAL) if one.role == arm_runs.REPORT else []
    return beforehand([one.arm]) + tried


def notebook_inputs(wildcards):
    notebook = NOTEBOOKS[wildcards.notebook]
    shown = [file for name in notebook.exhibits + notebook.reads for file in arms(name)]
    shown += bought(notebook.exhibits + notebook.reads)
    timed = [f"efficiency/{name}.csv" for name in TIMED if arms(name)
             and (name in notebook.exhibits or name in notebook.reads and name in READ)]
    timed += ["benchmarks/kernels.csv"] if wildcards.notebook == "50_kernels" else []
    others = [f"notebooks/{name}.done" for name in CHOSEN if not NOTEBOOKS[name].last]
    # The map comes last, whatever is newer; but its answers are those of the claims.
    first = [file if "90_claims" in file else ancient(file) for file in others if notebook.last]
    return [f"{need}.json" for need in notebook.needs] + shown + timed + list(first)


def reported_files(name):
    """What a notebook reads besides: the papers' numbers where it shows some, and the budget."""
    notebook = NOTEBOOKS[name]
    return (PRINTED if notebook.printed else []) + ([BUDGET] if notebook.reads else [])


def notebook_files(wildcards):
    """What a notebook's source and the files it reads besides hold: their times may be older."""
    name = wildcards.notebook
    read = [f"{SOURCES}/{name}.ipynb", *reported_files(name)]
    imported = chapters.imported_by(ROOT / "notebooks" / f"{name}.ipynb")
    shown = "alignbook.workbook.publishing.published" in imported
    if shown:
        read += [f"{reference}/summary.csv" for reference in beside.published(KIND, PROFILE.name)]
    if name == "90_claims":  # and the verdicts on other data
        others = beside.others(KIND, PROFILE.name, Path(".."))
        read += [f"{place}/claims.csv" for place in others.values()]
    return contents.together(read)


def notebook_code(wildcards):
    """Code that shows what a notebook shows."""
    imported = chapters.imported_by(ROOT / "notebooks" / f"{wildcards.notebook}.ipynb")
    return code_hash(*imported, counts=chapters.shows)


wildcard_constraints:
    notebook="|".join(NOTEBOOKS),
    exhibit="|".join(EXHIBITS),
    training=".+/.+/.+",


rule all:
    input:
        expand("notebooks/{name}.done", name=CHOSEN),
        ["metrics.csv"] if SHOWN else [],
        [file for exhibit in SHOWN for file in arms(exhibit)],  # also those that somebody removed


rule data:
    output:
        "data.json",
    params:
        settings=SETTINGS,
        code=code_hash(*DATA),
    resources:
        **asked.of("data"),
    shell:
        JOB + " data --out ."


rule base:
    input:
        "data.json",
    output:
        "base.json",
    params:
        settings=SETTINGS,
        code=code_hash(*BASE),
    threads: 1
    resources:
        **asked.of("base"),
    priority: 1  # everything waits for it
    shell:
        "OMP_NUM_THREADS=1 " + JOB + " base --out ."


if SPREAD == "chapter":
    for chapter in dict.fromkeys(paper(name) for name in SHOWN if arms(name)):
        own = [name for name in SHOWN if paper(name) == chapter]
        whole = [file for name in own for file in arms(name)]

        rule:
            name:
                f"whole_{chapter}"
            input:
                "base.json",
            output:
                whole,
            params:
                settings=SETTINGS,
                code=exhibit_code(own[0]),
            threads: PROFILE.processes
            resources:
                **asked.of("whole", *whole),
            # Base models, which others start from, then the longest, so that no core waits at the end.
            priority: 1000 if chapter == paper("base-models") else len(whole)
            shell:
                "OMP_NUM_THREADS=1 " + JOB + " whole {output:q} --out ."

else:
    for name in EXHIBITS:
        for number, some in enumerate(jobs(name, KIND, PROFILE, SPREAD)):

            rule:
                name:
                    f"arms_{name.replace('-', '_')}_{number}"
                input:
                    beforehand(some),
                    trained(name, some),
                output:
                    [file_of(name, arm) for arm in some],
                params:
                    settings=SETTINGS,
                    code=exhibit_code(name),
                    exhibit=name,
                    arms=some,
                threads: PROFILE.processes
                resources:
                    **asked.of("arms", name, *some, trained=bool(trained(name, some))),
                priority: 1 + len(EXHIBITS) - begun().index(name)
                shell:
                    "OMP_NUM_THREADS=1 " + JOB + " arms {params.exhibit} {params.arms:q} --out ."


rule training:
    input:
        training_inputs,
    output:
        touch("trained/{training}"),
    params:
        settings=SETTINGS,
        code=lambda wildcards: exhibit_code(PLACES[wildcards.training].exhibit),
        which=lambda wildcards: PLACES[wildcards.training],
    threads: PROFILE.processes
    resources:
        **asked.by(lambda wildcards: ["training", *map(str, PLACES[wildcards.training])]),
    priority: 10  # before the arms that wait for it
    shell:
        "OMP_NUM_THREADS=1 " + JOB + " training {params.which:q} --out ."


for each in bought(SHOWN):
    whose = Path(each).stem
    theirs = [name for name in with_seeds(SHOWN, KIND, PROFILE) if paper(name) == whose]

    buys = dict(
        settings=SETTINGS,
        code=code_hash("alignbook.workbook.running.buying", "alignbook.workbook.results",
                       counts=lambda name: name.startswith("alignbook.evidence")),
        files=contents.together([file for file in PRINTED if f"/{whose}/" in file]),
        paper=whose,
        exhibits=" ".join(theirs),
    )

    rule:
        name:
            f"buy_{whose}"
        input:
            [file for name in theirs for file in arms(name)],
        output:
            touch(f"seeds/{whose}-{{buyer}}.bought"),
        params:
            **buys,
        threads: PROFILE.processes
        resources:
            **asked.of("buy", whose, "0", *theirs),
        priority: 100  # they answer its first claim, and are bought one look after another
        shell:
            "OMP_NUM_THREADS=1 " + JOB
            + " buy {params.paper} {wildcards.buyer} {params.exhibits} --out ."

    rule:
        name:
            f"seeds_{whose}"
        input:
            [file for name in theirs for file in arms(name)],
            [f"seeds/{whose}-{buyer}.bought" for buyer in buyers(SPREAD)],
        output:
            update(each),  # a start of a part leaves the lines of the others
        params:
            **buys,
        threads: PROFILE.processes
        resources:
            **asked.of("seeds", whose, *theirs),
        priority: 100
        shell:
            "OMP_NUM_THREADS=1 " + JOB + " seeds {params.paper} {params.exhibits} --out ."


rule efficiency:
    input:
        lambda wildcards: arms(wildcards.exhibit) + bought([wildcards.exhibit]),
    output:
        "efficiency/{exhibit}.csv",
    params:
        settings=SETTINGS,
        code=lambda wildcards: exhibit_code(wildcards.exhibit, "cost"),
    threads: lambda wildcards: timed_threads(f"efficiency/{wildcards.exhibit}")
    resources:
        **asked.by(lambda wildcards: ["efficiency", wildcards.exhibit]),
    priority: 1  # before notebooks: that of the claims waits for all of these
    shell:
        "OMP_NUM_THREADS=1 " + JOB + " efficiency {wildcards.exhibit} --out ."


rule benchmark:
    output:
        "benchmarks/kernels.csv",
    params:
        small=config["profile"] == "smoke",
        code=code_hash("alignbook.core.kernels", "alignbook.core.similarity"),
        files=key(*(path.read_text("utf-8") for path in MEASURING)),
    threads: lambda wildcards: timed_threads("benchmarks/kernels")
    resources:
        **asked.of("benchmark"),
    shell:
        "OMP_NUM_THREADS=1 " + JOB + " benchmark --out ."


rule notebook:
    input:
        notebook_inputs,
        source=SOURCES + "/{notebook}.ipynb",
        reported=lambda wildcards: reported_files(wildcards.notebook),
    output:
        "notebooks/{notebook}.done",
    log:
        "notebooks/{notebook}.ipynb",
    params:
        settings=SETTINGS,
        code=notebook_code,
        files=notebook_files,
    threads: 1
    resources:
        **asked.by(lambda wildcards: ["notebook", wildcards.notebook]),
    shell:
        "OMP_NUM_THREADS=1 " + JOB + " notebook {wildcards.notebook} --out ."


rule collect:
    input:
        [file for exhibit in SHOWN for file in arms(exhibit)] + bought(SHOWN),
    output:
        "metrics.csv",
        "summary.csv",
        "timings.csv",
        "runs.csv",
        "images.parquet",
    params:
        settings=SETTINGS,
        code=code_hash("alignbook.workbook.results", "alignbook.evidence.statistics", LEARNT),
        exhibits=" ".join(SHOWN),
    resources:
        **asked.of("collect"),
    shell:
        JOB + " collect {params.exhibits} --out ."
