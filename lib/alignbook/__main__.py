"""The command line: ``./run_all.sh`` hands over to ``python -m alignbook``.

The main job checks what was asked for, writes it down in the results folder and lets Snakemake
walk the graph of the Snakefile. This process computes nothing itself: it holds the lifeline, so
that whatever ends it ends everything.
"""

import argparse
import difflib
import fcntl
import hashlib
import json
import os
import platform
import re
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from alignbook import ROOT, execute, exhibits, lifeline, profiles, warm
from alignbook.progress import clock

EPILOG = """\
targets:
  a chapter (chan), a notebook (11_chan_ablations) or an exhibit (chan-T3); none means everything.

other uses:
  ./run_all.sh test [PYTEST ARGUMENTS]   every test, the smoke profile of every notebook included
  ./run_all.sh lab [JUPYTER ARGUMENTS]   the notebooks in JupyterLab, on this machine only
  ./run_all.sh book [FOLDER]             the report of the newest results (or --profile, --data)
  ./run_all.sh student [--out DIR]       the notebooks without their exercises' solutions
  ./run_all.sh doctor                    versions, devices, data found, and what is missing
  ./run_all.sh pack FILE                 trained runs into one file, for a class without training
  ./run_all.sh unpack FILE               such a file's runs into the run store, hash-checked
  ./run_all.sh unpack FILE DIR           a data set's archive into a folder, paths checked
  ./run_all.sh lock                      compute requirements.lock from requirements.in again

examples:
  ./run_all.sh                                           everything: smoke first, then laptop
  ./run_all.sh --profile smoke chan-T3                   one table, in small, within minutes
  ./run_all.sh --data flickr8k=../flickr8k chan          on photographs of your own
  ./run_all.sh --dry-run                                 what would be computed, and why
  ./run_all.sh --profile paper --dry-run                 what the papers' own settings take

Starting again goes on where the last start ended. Results: results/<data>-<profile>/, and in it
report/index.html, which opens in a browser.
"""

COMPONENTS = "parser", "boxes", "probes"  # settings that say where ComAlign's pieces come from

# What the child does: keep Snakemake's own words in a file, leave the terminal to our jobs.
SNAKEMAKE = """\
import sys, alignbook
sys.stderr = open(sys.argv.pop(1), "w", buffering=1)
from snakemake.cli import main
main()
"""


class Refused(Exception):
    """What was asked for cannot be done; the message says why and what to do."""


def main(arguments: list[str]) -> int:
    """Do what the command line asks; returns the exit code."""
    if arguments[:1] == ["test"]:
        hand_over("pytest", *arguments[1:])
    if arguments[:1] == ["lab"]:
        return lab(arguments[1:])
    if arguments[:1] == ["doctor"]:
        from alignbook import doctor

        return doctor.main()
    if arguments[:1] == ["book"]:
        from alignbook import report

        return report.main(arguments[1:])
    if arguments[:1] == ["student"]:
        from alignbook import exercises

        return exercises.main(arguments[1:])
    for name in (signal.SIGTERM, signal.SIGHUP):  # a closed terminal is a Ctrl-C
        signal.signal(name, signal.default_int_handler)
    if arguments[:1] in (["pack"], ["unpack"]):
        from alignbook import pack

        return pack.main(arguments)
    try:
        return run(parser().parse_args(arguments))
    except Refused as refusal:
        print(f"run_all.sh: {refusal}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(
            "\nstopped. What is finished is kept; the same command goes on from there.",
            file=sys.stderr,
        )
        return 130


# JupyterLab, opened on the map and asking nobody outside for news, updates or extensions.
LAB = (
    "--ServerApp.ip=127.0.0.1",
    "--LabApp.default_url=/lab/tree/notebooks/00_start_here.ipynb",
    "--LabApp.news_url=None",
    "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    "--LabApp.extension_manager=readonly",
)
# What would let others in. Jupyter takes a name with and without the class before it.
OPENING = ("ip", "token", "password", "hashed_password", "allow_remote_access", "local_hostnames")


def lab(arguments: list[str]) -> int:
    """Become JupyterLab, on this machine only and with a token; 2 if asked to be otherwise.

    A port that is taken is not: the next free one is, and the address that is printed says so.
    """
    for each in arguments:
        name = each.partition("=")[0]
        if each.startswith("-") and name.lstrip("-").rpartition(".")[2] in OPENING:
            print(f"run_all.sh: lab {name}: a notebook can run anything here, so Lab listens on "
                  "127.0.0.1 alone and asks for a token. From another machine: ssh -L "
                  "8888:127.0.0.1:8888 HOST, then the printed address there. A token of your own: "
                  "JUPYTER_TOKEN=… ./run_all.sh lab", file=sys.stderr)  # fmt: skip
            return 2
    # Lab's settings of ours, by which it doesn't ask whether to fetch news either.
    ours = ROOT / "lib/alignbook/jupyter", os.environ.get("JUPYTER_CONFIG_PATH")
    os.environ["JUPYTER_CONFIG_PATH"] = os.pathsep.join(str(each) for each in ours if each)
    hand_over("jupyterlab", f"--ServerApp.root_dir={ROOT}", *LAB, *arguments)


def hand_over(module: str, *arguments: str) -> None:
    """Become another program of this environment, in the project folder."""
    os.chdir(ROOT)
    os.execv(sys.executable, [sys.executable, "-m", module, *arguments])


def parser() -> argparse.ArgumentParser:
    """What can be asked for."""
    whole = argparse.ArgumentParser(
        prog="run_all.sh",
        description="Compute the workbook's tables and figures, or some of them.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    option = whole.add_argument
    option("targets", nargs="*", metavar="TARGET", help="what to compute (default: everything)")
    option("--profile", metavar="P", help=f"{' | '.join(profiles.NAMES)} (default: laptop)")
    option(
        "--data",
        metavar="D",
        default="world",
        help="world (made here, the default), flickr8k=DIR, flickr30k=DIR, coco=DIR, "
        "f30k_precomp=DIR, coco_precomp=DIR or precomp=DIR",
    )
    option("--seeds", metavar="N", type=positive, help="train N times (default: the profile's)")
    option("--jobs", metavar="N", type=positive, help="use N cores (default: all there are)")
    option("--device", metavar="DEV", default="auto", help="auto (default), cpu, cuda or mps")
    option(
        "--set",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="change one value of the profile; may be given more than once",
    )
    option(
        "--spread",
        choices=("arm", "exhibit", "chapter"),
        help="one job per arm, per exhibit or per chapter with all its arms (default: chapter for "
        "smoke, else arm)",
    )
    option("--dry-run", action="store_true", help="list what would run, and why; compute nothing")
    return whole


def positive(text: str) -> int:
    """A whole number from 1 on."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 on")
    return int(text)


def run(asked: argparse.Namespace) -> int:
    """The main job: check, write the settings down, walk the graph, name the results."""
    started = time.monotonic()
    if asked.profile == "paper" and (code := list_needs(asked)) is not None:
        return code
    notebooks, settings = check(asked)
    if asked.targets:
        settings = set_apart(settings, notebooks)
    cores = asked.jobs or available_cores()
    if asked.dry_run:
        return dry_run(settings, notebooks, asked.spread, cores)
    rounds = [settings]
    if not asked.targets and settings["profile"] != "smoke":
        kept = {k: v for k, v in settings["set"].items() if k in COMPONENTS}
        smoke = {**settings, "profile": "smoke", "seeds": None, "set": kept}
        if not (results_folder(smoke) / "notebooks/00_start_here.done").exists():  # the last one
            print("the smoke profile first: everything in small, then on to the profile itself")
            rounds = [smoke, settings]
    with only_run():
        line = lifeline.hold(ROOT / ".cache/lifeline")
        try:
            for each in rounds:
                code = walk(each, notebooks, asked.spread, cores)
                code = write_report(each) or code  # of what there is
                tell_results(each, time.monotonic() - started)
                if code:
                    return code
        finally:
            lifeline.release(line)
    return 0


def list_needs(asked: argparse.Namespace) -> int | None:
    """What the paper profile needs, printed; the exit code, None if the run can go on.

    Without --data the run takes the papers' data from the project's data folder.
    """
    from alignbook import paper

    overrides = changed(asked.set) | ({"seeds": str(asked.seeds)} if asked.seeds else {})
    try:
        plan = paper.plan(exhibits.resolve(asked.targets), asked.data, overrides)
    except ValueError as error:
        raise Refused(str(error)) from None
    if asked.dry_run or not plan.data:
        print(plan.text)
    if plan.data:
        asked.data = plan.data
        return None
    if asked.dry_run:
        return 0
    print("run_all.sh: not started, see above; a notebook that is ready starts by its name",
          file=sys.stderr)  # fmt: skip
    return 2


def check(asked: argparse.Namespace) -> tuple[list[str], dict]:
    """Notebooks and settings behind a command line; `Refused` before any work starts."""
    profile = asked.profile or "laptop"
    if profile not in profiles.NAMES:
        near = difflib.get_close_matches(profile, profiles.NAMES, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]}?" if near else f"there are: {', '.join(profiles.NAMES)}"
        raise Refused(f"unknown profile {profile!r}; {hint}")
    try:
        notebooks = exhibits.resolve(asked.targets, asked.data.partition("=")[0])
    except ValueError as error:
        raise Refused(str(error)) from None
    overrides = changed(asked.set)
    from alignbook import datasets

    data = check_data(asked.data)
    try:
        profiles.get(profile, data.partition("=")[0])
    except ValueError as error:
        raise Refused(str(error)) from None
    try:
        profiles.get(profile, data.partition("=")[0], overrides)
    except ValueError as error:
        raise Refused(f"--set: {error}") from None
    if ":" in overrides.get("base", ""):
        overrides["base"], side = check_base(overrides["base"])
        if data != "world":  # prepared at the size that the model looks at
            overrides.setdefault("size", str(side))
    if overrides.get("bert", "captions") != "captions":
        overrides["bert"] = check_bert(overrides["bert"])
    notebooks = check_components(asked.targets, notebooks, profile, data, overrides)
    check_device(asked.device)
    check_writable(ROOT / "results")
    return notebooks, {
        "profile": profile,
        "data": data,
        "seeds": asked.seeds,
        "set": overrides,
        "device": asked.device,
        # photographs that change are read again
        "source": "".join(map(datasets.source, (data, overrides.get("comalign_source") or "world"))),
    }


def changed(settings: list[str]) -> dict[str, str]:
    """What --set changes, by key."""
    overrides = {}
    for text in settings:
        name, equals, value = text.partition("=")
        if not (name and equals and value):
            raise Refused(f"--set {text}: expected key=value, such as --set seeds=3")
        overrides[name] = value
    return overrides


def check_data(spec: str) -> str:
    """A data set's spec with its folder made absolute, once nothing speaks against it."""
    from alignbook import datasets

    name, equals, folder = spec.partition("=")
    if equals and folder:
        spec = f"{name}={Path(folder).expanduser().resolve()}"
    if problems := datasets.check(spec):
        raise Refused("\n  ".join([f"--data {spec}:", *problems]))
    return spec


def check_bert(spec: str) -> str:
    """A BERT's name, or its folder made absolute; `Refused` if anything speaks against it."""
    from alignbook import bert

    if Path(spec).expanduser().is_dir():
        spec = str(Path(spec).expanduser().resolve())
    if problems := bert.Pretrained(spec).problems():
        raise Refused("\n  ".join([f"--set bert={spec}:", *problems]))
    return spec


def check_components(targets, notebooks: list[str], profile: str, data: str,
                     overrides: dict[str, str]) -> list[str]:  # fmt: skip
    """The notebooks that have what their components need; the others are left out with a line, and
    `overrides` say "none". `Refused` if one of them or a setting was named, or none is left of what
    was asked for.

    Paths in `overrides` become absolute.
    """
    kind = data.partition("=")[0]
    for name in COMPONENTS:
        if Path(overrides.get(name, "")).expanduser().exists() and name in overrides:
            overrides[name] = str(Path(overrides[name]).expanduser().resolve())
    needs = {name: {field for each in exhibits.NOTEBOOKS[name].exhibits
                    for field in exhibits.EXHIBITS[each].needs} for name in notebooks}  # fmt: skip
    fields = set().union(*needs.values()) | set(COMPONENTS) & set(overrides)
    if not fields and "comalign_source" not in overrides:
        return notebooks
    from alignbook.components import check

    if profile == "paper" and kind == "coco":
        overrides.setdefault("comalign_source", f"flickr30k={ROOT / 'data/flickr30k'}")
    if "comalign_source" in overrides:
        overrides["comalign_source"] = check_source(overrides["comalign_source"], kind)
    made = profiles.get(profile, kind, overrides)
    left = {}
    for field in sorted(fields):
        problem = check.problem(field, made, data)
        lacking = [name for name in notebooks if field in needs[name]] if problem else []
        named = {each for name in lacking for each in (name, *exhibits.NOTEBOOKS[name].exhibits)}
        wanted = named & set(targets) or targets and set(lacking) >= set(notebooks)
        if problem and (wanted or overrides.get(field, "none") != "none"):
            raise Refused(f"--set {field}={getattr(made, field)}: {problem}")
        if problem:
            overrides[field] = "none"
            left |= dict.fromkeys(lacking, problem)
    for problem in dict.fromkeys(left.values()):
        names = ", ".join(name for name in left if left[name] == problem)
        print(f"left out: {names} ({problem})")
    return [name for name in notebooks if name not in left]


def check_source(spec: str, target: str) -> str:
    """The data that ComAlign's heads are trained on, made absolute; they must not hold the target."""
    source = spec.partition("=")[0]
    if target == "world":
        raise Refused("--set comalign_source: the world's two domains are each other's source; it "
                      "goes with photographs")  # fmt: skip
    if {source, target} == {"flickr8k", "flickr30k"}:
        raise Refused(f"--set comalign_source={spec}: Flickr8k's photographs are among Flickr30K's, "
                      f"so that heads trained on the one have seen the other: take coco=DIR")  # fmt: skip
    return check_data(spec)


def check_base(spec: str) -> tuple[str, int]:
    """A pretrained model's spec with its file made absolute, and the pixels a side it looks at.

    `Refused` if anything speaks against it.
    """
    from alignbook import pretrained

    form, _, place = spec.partition(":")
    if form in ("checkpoint", "huggingface") or Path(place).expanduser().is_dir():
        spec = f"{form}:{Path(place).expanduser().resolve()}"
    if problems := pretrained.problems(spec):
        raise Refused("\n  ".join([f"--set base={spec}:", *problems]))
    return spec, pretrained.parse(spec).image_size[0]


def check_device(device: str) -> None:
    """Refuse a device that this machine lacks."""
    if device not in ("auto", "cpu"):
        import torch  # 2 s, only where a device was named

        kind = device.partition(":")[0]
        there = {"cuda": torch.cuda.is_available, "mps": torch.backends.mps.is_available}
        if kind not in there:
            raise Refused(f"unknown device {device!r}; there are: auto, cpu, cuda, mps")
        if not there[kind]():
            raise Refused(f"--device {device}: PyTorch finds none here; see ./run_all.sh doctor")


def check_writable(folder: Path) -> None:
    """Refuse a folder nothing can be written to."""
    try:
        folder.mkdir(exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise Refused(f"cannot write to {folder}: {error.strerror}") from None


def available_cores() -> int:
    """Cores this process may use."""
    if hasattr(os, "sched_getaffinity"):  # Linux: honours taskset and batch systems
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def results_folder(settings: dict) -> Path:
    """results/<data>-<profile>, and what `set_apart` adds."""
    kind, apart = settings["data"].partition("=")[0], settings.get("apart", "")
    return ROOT / "results" / f"{kind}-{settings['profile']}{apart}"


def set_apart(settings: dict, notebooks: list[str]) -> dict:
    """The settings of a part as its results folder has them; with a folder of its own where that one
    was filled with others: a folder's numbers are all made with the same.

    What none of the notebooks needs was not asked for: it is as the folder has it.
    """
    out = results_folder(settings)
    if not (out / "settings.json").exists() or not any(out.glob("notebooks/*.done")):
        return settings
    there = json.loads((out / "settings.json").read_text())
    needed = {field for name in notebooks for each in exhibits.NOTEBOOKS[name].exhibits
              for field in exhibits.EXHIBITS[each].needs}  # fmt: skip
    borrowed = {*COMPONENTS, "comalign_source"} - needed - ({"comalign_source"} if needed else set())
    own = {k: v for k, v in settings["set"].items() if k not in borrowed}
    own |= {k: v for k, v in there["set"].items() if k in borrowed}
    left_out = {k for k in needed if there["set"].get(k) == "none"}  # of which it has nothing yet
    theirs = {k: v for k, v in there["set"].items() if k not in left_out}
    theirs |= {k: v for k, v in own.items() if k in left_out}
    try:
        same = settings["data"] == there["data"] and resolved(settings, own) == resolved(there, theirs)
    except ValueError:  # a setting of another version
        same = False
    if same:
        return settings | {"set": own, "seeds": there["seeds"]}
    said = json.dumps([settings["data"], settings["seeds"], settings["set"]], sort_keys=True)
    apart = "-" + hashlib.sha256(said.encode()).hexdigest()[:6]
    print(f"results/{out.name} was made with other settings; these results go to "
          f"results/{out.name}{apart}")  # fmt: skip
    return settings | {"apart": apart}


def resolved(settings: dict, overrides: dict[str, str]) -> profiles.Profile:
    """The profile that settings come to."""
    seeds = {"seeds": str(settings["seeds"])} if settings["seeds"] else {}
    return profiles.get(settings["profile"], settings["data"], overrides | seeds)


@contextmanager
def only_run():
    """Hold results/.lock, which children don't inherit; `Refused` while another run has it."""
    with open(ROOT / "results/.lock", "a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            raise Refused(
                f"another run is at work here (process {file.read().strip() or 'unknown'}): "
                "wait for it, or stop it with Ctrl-C where it was started"
            ) from None
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield


def walk(settings: dict, notebooks: list[str], spread: str | None, cores: int) -> int:
    """Let Snakemake compute what is missing; returns the exit code."""
    out = results_folder(settings)
    out.mkdir(parents=True, exist_ok=True)
    write_settings(out / "settings.json", settings)
    log = out / "snakemake.log"
    command = snakemake(settings, out / "settings.json", out, log, notebooks, spread, cores)
    began, idle = time.monotonic(), False
    try:
        # Elsewhere some jobs are measured alone on the machine.
        with warm.keep():
            code = finish(command, settings if settings["profile"] == "smoke" else None)
        idle = not code and "Nothing to be done" in log.read_text()
    finally:
        if not idle:
            note_start(out, time.monotonic() - began, cores)
    if code:
        tell_failures(out, log)
    elif idle:
        print("nothing to compute: everything is up to date")
    return 1 if code else 0


def note_start(out: Path, seconds: float, cores: int) -> None:
    """Add to starts.json how long a start took and on what, for the report."""
    file, machine = out / "starts.json", f"{platform.system()} {platform.machine()}"
    starts = json.loads(file.read_text()) if file.exists() else []
    starts.append({"seconds": round(seconds, 1), "cores": cores, "machine": machine})
    aside = file.with_name(file.name + ".new")
    aside.write_text(json.dumps(starts, indent=1) + "\n")
    os.replace(aside, file)


FIRST_LOOK = 200  # seconds after which there is a report of what is there; then twice as many


def finish(command: list[str], settings: dict | None = None) -> int:
    """Run a program to its end, which Ctrl-C ends too; returns its exit code.

    If it fills the results folder of some settings, their report is there before it ends, and grows
    with it.
    """
    # A session of its own: Ctrl-C reaches this process alone, which then ends the others.
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)
    try:
        for doubled in count():
            try:
                return child.wait(FIRST_LOOK * 2**doubled if settings else None)
            except subprocess.TimeoutExpired:
                write_report(settings)
    except KeyboardInterrupt:
        end(child)
        raise


def write_report(settings: dict) -> int:
    """Put the report of some results together, if they have notebooks that it lacks."""
    from alignbook import report

    out = results_folder(settings)
    if not report.executed(out) or report.is_current(out):
        return 0
    return finish([sys.executable, "-m", "alignbook", "book", str(out)])


def write_settings(path: Path, settings: dict) -> None:
    """Write settings.json whole or not at all, and only if it says something new."""
    text = json.dumps(settings, indent=2, sort_keys=True) + "\n"
    if path.exists() and path.read_text() == text:
        return
    aside = path.with_name(path.name + ".new")
    aside.write_text(text)
    os.replace(aside, path)


def snakemake(
    settings: dict,
    settings_file: Path,
    out: Path,
    log: Path,
    notebooks: list[str],
    spread: str | None,
    cores: int,
) -> list[str]:
    """The command that walks the graph in a results folder."""
    spread = spread or ("chapter" if settings["profile"] == "smoke" else "arm")
    return [
        *(sys.executable, "-c", SNAKEMAKE, str(log)),
        *("--snakefile", str(ROOT / "Snakefile"), "--directory", str(out)),
        *("--cores", str(cores), "--scheduler", "greedy", "--latency-wait", "2"),
        *("--nolock", "--rerun-incomplete", "--keep-going", "--quiet", "host", "--nocolor"),
        *("--configfile", str(settings_file)),
        *("--config", f"spread={spread}", f"notebooks={json.dumps(notebooks)}"),
    ]


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


def tell_failures(out: Path, log: Path) -> None:
    """Name what failed: notebooks with their cell, other jobs by what they were to make."""
    words = log.read_text() if log.exists() else ""
    failed = re.findall(r"(?m)^Error in rule \w+:\n(?:    .*\n)*?    output: (.*)$", words)
    lines = []
    for made in dict.fromkeys(failed):
        name = re.fullmatch(r"notebooks/(\w+)\.done", made)
        if name and (executed := out / "notebooks" / f"{name[1]}.ipynb").exists():
            why = execute.failure(executed) or "see its message above"
            lines.append(f"notebook {name[1]}, {why}\n      the executed copy: {executed}")
        else:
            lines.append(shorten(made))
    if lines:
        print("\nfailed:", *lines, sep="\n  ", file=sys.stderr)
        print("What is finished is kept; the same command goes on from there.", file=sys.stderr)
    else:  # the graph itself: Snakemake says why
        print(f"\nthe graph could not be walked; from {log}:\n{words[-3000:]}", file=sys.stderr)


def tell_results(settings: dict, seconds: float) -> None:
    """Name the results of a round that ended."""
    out = results_folder(settings)
    print(f"\n{settings['data']}, {settings['profile']} profile: {clock(seconds)} in all")
    for name, what in (
        ("tables", "tables"),
        ("figures", "figures"),
        ("notebooks", "executed notebooks"),
        ("metrics.csv", "every number"),
        ("report/index.html", "report"),
    ):
        if (out / name).exists():
            print(f"  {what + ':':20}{os.path.relpath(out / name)}")


def dry_run(settings: dict, notebooks: list[str], spread: str | None, cores: int) -> int:
    """List what would run and why."""
    out = results_folder(settings)
    with tempfile.TemporaryDirectory() as aside:
        folder = out if out.is_dir() else Path(aside)  # nothing is left behind
        settings_file = Path(aside, "settings.json")
        write_settings(settings_file, settings)
        log = Path(aside, "log")
        command = snakemake(settings, settings_file, folder, log, notebooks, spread, cores)
        done = subprocess.run([*command, "--dry-run"], capture_output=True, text=True)
        words = log.read_text()
    if done.returncode:
        print(f"the graph could not be walked:\n{words[-3000:]}", file=sys.stderr)
        return 1
    jobs = planned(done.stdout.replace(f"{ROOT}/", ""))
    print(f"{settings['data']}, {settings['profile']} profile: {len(jobs)} jobs would run:")
    width = max((len(job) for job, _ in jobs), default=0)
    for job, why in jobs:
        print(f"  {job:{width}}  {why}")
    return 0


def planned(words: str) -> list[tuple[str, str]]:
    """Jobs and reasons in what Snakemake says of a dry run."""
    jobs = []
    for block in re.split(r"(?m)^\[.*\]$", words):
        made = re.search(r"(?m)^    output: (.*)$", block)
        why = re.search(r"(?m)^    reason: (.*)$", block)
        if made and why:
            jobs.append((shorten(made[1]), reason(why[1])))
    return jobs


def shorten(files: str) -> str:
    """The first of some files, and how many more there are."""
    first, *more = files.split(", ")
    return first + (f" and {len(more)} more" if more else "")


def reason(words: str) -> str:
    """Snakemake's reason in the words used here."""
    for theirs, ours in (
        ("Missing output files", "not there yet"),
        ("Params have changed", "settings or library code changed"),
        ("Code has changed", "its command changed"),
        ("Updated input files: ", "changed: "),
        ("Set of input files has changed", "other inputs"),
        ("Incomplete", "was interrupted"),
        ("Input files updated by another job: ", "follows "),
    ):
        if theirs in words:
            files = words.partition(theirs)[2].partition(";")[0]
            return ours + (shorten(files) if ours.endswith(" ") else "")
    return words


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
