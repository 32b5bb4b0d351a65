"""The command line: ``./run_all.sh`` hands over to ``python -m alignbook``.

The main job checks what was asked for, writes it down in the results folder and lets Snakemake
walk the graph of the Snakefile. This process computes nothing itself: it holds the lifeline, so
that whatever ends it ends everything.
"""

import argparse
import fcntl
import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path

from alignbook import ROOT
from alignbook.store import durable, home, verbatim
from alignbook.store.progress import clock
from alignbook.workbook import (
    execute,
    exhibits,
    lifeline,
    live,
    profiles,
    surroundings,
    timeleft,
    warm,
)
from alignbook.workbook.checks import COMPONENTS, Refused, changed, check, read_from
from alignbook.workbook.graph import Graph

EPILOG = """\
targets:
  a chapter (chan), a notebook (11_chan_ablations) or an exhibit (chan-T3); none means everything.

other uses:
  ./run_all.sh test [PYTEST ARGUMENTS]   every test, the smoke profile of every notebook included
  ./run_all.sh lab [JUPYTER ARGUMENTS]   the notebooks in JupyterLab, on this machine only
  ./run_all.sh book [FOLDER]             the report of the newest results (or --profile, --data)
  ./run_all.sh student [--out DIR]       the notebooks without their exercises' solutions
  ./run_all.sh filter                    a git filter: commits get notebooks without outputs
  ./run_all.sh tensorboard [FOLDER]      the newest results' curves as TensorBoard event files
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

# What the child does: keep Snakemake's own words in a file and its events in another.
SNAKEMAKE = """\
import sys, alignbook
sys.stderr = open(sys.argv.pop(1), "w", buffering=1)
from alignbook.workbook import events
from snakemake.cli import main
events.register()
main()
"""


def main(arguments: list[str]) -> int:
    """Do what the command line asks; returns the exit code."""
    try:
        home.needs_checkout("python -m alignbook")
    except ValueError as refusal:
        print(refusal, file=sys.stderr)
        return 2
    try:
        return do(arguments)
    except OSError as error:
        if not (line := surroundings.told(error)):
            raise
        print(f"run_all.sh: {line}", file=sys.stderr)
        return 2


def do(arguments: list[str]) -> int:
    """What `main` does where nothing gives way."""
    if arguments[:1] == ["test"]:
        hand_over("pytest", *arguments[1:])
    if arguments[:1] == ["lab"]:
        return lab(arguments[1:])
    if arguments[:1] == ["doctor"]:
        from alignbook.workbook import doctor

        return doctor.main()
    if arguments[:1] == ["filter"]:
        from alignbook.workbook import notebookfilter

        return notebookfilter.main(arguments[1:])
    if arguments[:1] == ["tensorboard"]:
        from alignbook.workbook import tensorboard

        return tensorboard.main(arguments[1:])
    if arguments[:1] == ["book"]:
        from alignbook.workbook import report

        return report.main(arguments[1:])
    if arguments[:1] == ["student"]:
        from alignbook.show import exercises

        return exercises.main(arguments[1:])
    for name in (signal.SIGTERM, signal.SIGHUP):  # a closed terminal is a Ctrl-C
        signal.signal(name, signal.default_int_handler)
    if arguments[:1] in (["pack"], ["unpack"]):
        from alignbook.workbook import pack

        return pack.main(arguments)
    sys.stdout.reconfigure(line_buffering=True, errors="replace")  # what is said is said at once
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
    except BrokenPipeError:  # who read along is gone, as in `./run_all.sh | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE


# JupyterLab, opened on the map and asking nobody outside for news, updates or extensions.
LAB = (
    "--ServerApp.ip=127.0.0.1",
    "--LabApp.default_url=/lab/tree/notebooks/00_start_here.ipynb",
    "--LabApp.news_url=None",
    "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    "--LabApp.extension_manager=readonly",
)
# What would let others in, or hides that from this list: whole classes, and settings of any class.
# Jupyter takes some names without the class before it, and with one dash.
OPENING = {
    "IdentityProvider",
    "PasswordIdentityProvider",
    "LegacyIdentityProvider",
    "Authorizer",
    "AllowAllAuthorizer",
    "GatewayClient",
    "Session",
    "NotebookNotary",
    "ip",
    "local_hostnames",
    "sock",
    "sock_mode",
    "transport",
    "websocket_url",
    "trust_xheaders",
    "token",
    "password",
    "hashed_password",
    "password_required",
    "allow_password_change",
    "allow_unauthenticated_access",
    "authenticate_prometheus",
    "identity_provider_class",
    "authorizer_class",
    "login_handler_class",
    "logout_handler_class",
    "allow_remote_access",
    "allow_origin",
    "allow_origin_pat",
    "allow_credentials",
    "disable_check_xsrf",
    "cookie_secret",
    "cookie_secret_file",
    "cookie_options",
    "get_secure_cookie_kwargs",
    "allow_external_kernels",
    "external_connection_dir",
    "gateway_url",
    "tornado_settings",
    "webapp_settings",
    "settings",
    "ssl_options",
    "handlers",
    "extra_services",
    "static_dir",
    "static_paths",
    "extra_static_paths",
    "jpserver_extensions",
    "config",
    "config_file",
    "config_file_name",
    "config_manager_class",
    "collaborative",
}


def lab(arguments: list[str]) -> int:
    """Become JupyterLab, on this machine only and with a token; 2 if asked to be otherwise.

    A port that is taken is not: the next free one is, and the address that is printed says so.
    """
    for each in arguments:
        name = each.partition("=")[0]
        parts = name.lstrip("-").replace("-", "_").split(".")
        if each.startswith("-") and not OPENING.isdisjoint(parts):
            print(
                f"run_all.sh: lab {name}: a notebook can run anything here, so Lab listens on "
                "127.0.0.1 alone and asks for a token. From another machine: ssh -L "
                "8888:127.0.0.1:8888 HOST, then the printed address there. A token of your own: "
                "JUPYTER_TOKEN=… ./run_all.sh lab",
                file=sys.stderr,
            )
            return 2
    # Lab's settings of ours, by which it doesn't ask whether to fetch news either.
    ours = ROOT / "lib/alignbook/workbook/jupyter", os.environ.get("JUPYTER_CONFIG_PATH")
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
    option, once = whole.add_argument, partial(whole.add_argument, action=Once)
    option("targets", nargs="*", metavar="TARGET", help="what to compute (default: everything)")
    once("--profile", metavar="P", help=f"{' | '.join(profiles.NAMES)} (default: laptop)")
    once(
        "--data",
        metavar="D",
        default="world",
        help="world (made here, the default), flickr8k=DIR, flickr30k=DIR, coco=DIR, "
        "f30k_precomp=DIR, coco_precomp=DIR or precomp=DIR",
    )
    once("--seeds", metavar="N", type=positive, help="train N times (default: the profile's)")
    once("--jobs", metavar="N", type=positive, help="use N cores (default: all there are)")
    once("--device", metavar="DEV", default="auto", help="auto (default), cpu, cuda or mps")
    option(
        "--set",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="change one value of the profile; may be given more than once",
    )
    once(
        "--spread",
        choices=("arm", "exhibit", "chapter"),
        help="one job per arm, per exhibit or per chapter with all its arms (default: chapter for "
        "smoke, else arm)",
    )
    option("--dry-run", action="store_true", help="list what would run, and why; compute nothing")
    return whole


def positive(text: str) -> int:
    """A whole number from 1 to 1,000."""
    if not (text.isdecimal() and text.isascii()) or len(text) > 9 or not 1 <= int(text) <= 1000:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 to 1000")
    return int(text)


class Once(argparse.Action):
    """Stores a value; a second one that differs is an error instead of the last word."""

    def __call__(self, parser, namespace, value, option_string=None):
        given = vars(namespace).setdefault("given", {})
        if given.setdefault(self.dest, value) != value:
            parser.error(
                f"argument {option_string}: {given[self.dest]} and {value} are both given, "
                "expected one of them"
            )
        setattr(namespace, self.dest, value)


def run(asked: argparse.Namespace) -> int:
    """The main job: check, write the settings down, walk the graph, name the results."""
    started = time.monotonic()
    if problem := surroundings.problem([*asked.targets, asked.data, *asked.set]):
        raise Refused(problem)
    if os.environ.pop("SNAKEMAKE_PROFILE", None) is not None:
        print(
            "SNAKEMAKE_PROFILE is not used: ./run_all.sh walks the graph on this machine; for a "
            "cluster, start snakemake itself",
            file=sys.stderr,
        )
    if asked.profile == "paper" and (code := list_needs(asked)) is not None:
        return code
    notebooks, settings = check(asked)
    if asked.targets:
        settings = set_apart(settings, notebooks)
    cores = asked.jobs or available_cores()
    if asked.dry_run:
        return dry_run(settings, notebooks, asked.spread, cores)
    if problem := surroundings.without_loopback():
        raise Refused(problem)
    rounds = [settings]
    if not asked.targets and settings["profile"] != "smoke":
        kept = {k: v for k, v in settings["set"].items() if k in COMPONENTS}
        smoke = {**settings, "profile": "smoke", "seeds": None, "set": kept}
        smoke |= read_from(smoke) if "files" in settings else {}
        if not (results_folder(smoke) / "notebooks/00_start_here.done").exists():  # the last one
            print("the smoke profile first: everything in small, then on to the profile itself")
            rounds = [smoke, settings]
    with only_run():
        line = lifeline.hold(ROOT / ".cache/lifeline")
        try:
            for each in rounds:
                code = walk(each, notebooks, asked.spread, cores)
                tell_results(each, time.monotonic() - started)
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
    from alignbook.workbook import named_files, salvage

    out = results_folder(settings)
    there = salvage.settings_of(out)
    if there is None or not any(out.glob("notebooks/*.done")):
        return settings
    needed = {
        field
        for name in notebooks
        for each in exhibits.NOTEBOOKS[name].exhibits
        for field in exhibits.EXHIBITS[each].needs
    }
    borrowed = (
        {*COMPONENTS, "comalign_source"} - needed - ({"comalign_source"} if needed else set())
    )
    left_out = {k for k in needed if there["set"].get(k) == "none"}  # of which it has nothing yet

    def mixed(part: str, of: dict, instead: dict, fields: set) -> dict[str, str]:
        """A part of settings, but for some fields, which are as others have them."""
        kept = {k: v for k, v in of.get(part, {}).items() if k not in fields}
        return kept | {k: v for k, v in instead.get(part, {}).items() if k in fields}

    parts = [part for part in ("set", "files") if part in settings]
    ours = settings | {part: mixed(part, settings, there, borrowed) for part in parts}
    theirs = there | {part: mixed(part, there, ours, left_out) for part in parts}
    try:
        same = resolved(ours) == resolved(theirs)
    except ValueError:  # a setting of another version
        same = False
    if same:
        return ours | {"seeds": there["seeds"]}
    apart = f"-{named_files.short(settings)}"
    print(
        f"results/{out.name} was made with other settings; these results go to "
        f"results/{out.name}{apart}"
    )
    return settings | {"apart": apart}


def profile_of(settings: dict) -> profiles.Profile:
    """The profile that settings come to."""
    seeds = {"seeds": str(settings["seeds"])} if settings["seeds"] else {}
    return profiles.get(settings["profile"], settings["data"], settings["set"] | seeds)


def resolved(settings: dict) -> tuple:
    """The data and the profile that settings come to, files by what they hold."""
    from alignbook.workbook import named_files

    said = named_files.compared(settings)
    return said["data"], said["source"] or "", replace(profile_of(settings), **said["files"])


@contextmanager
def only_run():
    """Hold results/.lock, which children don't inherit; `Refused` while another run has it."""
    (ROOT / "results").mkdir(exist_ok=True)
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
    """Let Snakemake compute what is missing, write the report; returns the exit code."""
    from alignbook.workbook import salvage

    out = results_folder(settings)
    out.mkdir(parents=True, exist_ok=True)
    salvage.mend(out)
    write_settings(out / "settings.json", settings)
    log = out / "snakemake.log"
    spread = spread or usual_spread(settings)
    plan = timeleft.Plan(
        profile_of(settings),
        settings["data"].partition("=")[0],
        notebooks,
        spread,
        cores,
        timeleft.earlier(starts_of(out), machine(), cores),
    )
    began, idle = time.monotonic(), False
    with live.View(out, plan, f"{plan.data}, {settings['profile']} profile") as seen:
        command = snakemake(
            settings, out / "settings.json", out, log, seen.graph.file, notebooks, spread, cores
        )
        try:
            # Elsewhere some jobs are measured alone on the machine.
            with warm.keep():
                code = finish(command, seen, settings if settings["profile"] == "smoke" else None)
            idle = not code and not seen.graph.total
        finally:
            if not idle:
                with suppress(OSError):  # what failed is told, not that this could not be noted
                    note_start(out, time.monotonic() - began, cores, seen.graph)
        if code:
            tell_failures(out, log, seen.graph)
        elif idle:
            print("nothing to compute: everything is up to date")
        seen.doing = "the report"
        return write_report(settings, seen) or (1 if code else 0)  # of what there is


def machine() -> str:
    """The machine as starts.json names it."""
    return f"{platform.system()} {platform.machine()}"


def starts_of(out: Path) -> list[dict]:
    """Earlier starts that filled a results folder."""
    from alignbook.workbook import salvage

    return salvage.read(out / "starts.json") or []


def note_start(out: Path, seconds: float, cores: int, graph: Graph) -> None:
    """Add to starts.json how long a start and its jobs took and on what: for the report, and for
    what the next start guesses of its own time.
    """
    file, starts = out / "starts.json", starts_of(out)
    took = {"seconds": round(seconds, 1), "cores": cores, "machine": machine()}
    jobs = {job.title: round(job.seconds, 1) for job in graph.finished}
    starts.append(took | {"jobs": jobs})
    durable.write(file, json.dumps(starts, indent=1) + "\n", sealed=True)


FIRST_LOOK = 200  # seconds after which there is a report of what is there; then twice as many


def finish(command: list[str], seen: live.View, settings: dict | None = None) -> int:
    """Run a program to its end, which Ctrl-C ends too; returns its exit code.

    If it fills the results folder of some settings, their report is there before it ends, and grows
    with it.
    """
    # A session of its own: Ctrl-C reaches this process alone, which then ends the others.
    child = seen.start(command)
    try:
        for doubled in count():
            due = time.monotonic() + FIRST_LOOK * 2**doubled
            while child.poll() is None and (not settings or time.monotonic() < due):
                seen.turn()
            if child.poll() is not None:
                seen.turn(0)  # its last words
                return child.returncode
            write_report(settings, seen)
    except BaseException:
        end(child)
        raise


def write_report(settings: dict, seen: live.View) -> int:
    """Put the report of some results together, if they have notebooks that it lacks."""
    from alignbook.workbook import report

    out = results_folder(settings)
    if not report.executed(out) or report.is_current(out):
        return 0
    return finish([sys.executable, "-m", "alignbook", "book", str(out)], seen)


def write_settings(path: Path, settings: dict) -> None:
    """Write settings.json whole or not at all, and only if it says something new."""
    text = json.dumps(settings, indent=2, sort_keys=True) + "\n"
    if path.exists() and path.read_bytes() == text.encode():
        return
    durable.write(path, text, sealed=True)


def snakemake(
    settings: dict,
    settings_file: Path,
    out: Path,
    log: Path,
    events: Path,
    notebooks: list[str],
    spread: str,
    cores: int,
) -> list[str]:
    """The command that walks the graph in a results folder."""
    return [
        *(sys.executable, "-c", SNAKEMAKE, str(log)),
        *("--snakefile", str(ROOT / "Snakefile"), "--directory", str(out)),
        *("--cores", str(cores), "--scheduler", "greedy", "--latency-wait", "2"),
        *("--nolock", "--rerun-incomplete", "--keep-going", "--quiet", "host", "--nocolor"),
        *("--logger", "alignbook", "--logger-alignbook-file", str(events)),
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


def usual_spread(settings: dict) -> str:
    """How arms are spread over jobs where nothing else is asked for."""
    return "chapter" if settings["profile"] == "smoke" else "arm"


def tell_failures(out: Path, log: Path, graph: Graph) -> None:
    """Name what failed: notebooks with their cell, other jobs by what they were to make."""
    lines = []
    for job in graph.failed:
        name = Path(job.made[0]).stem if job.words[0] == "notebook" else ""
        if name and (executed := out / "notebooks" / f"{name}.ipynb").exists():
            why = execute.failure(executed) or "see its message above"
            lines.append(f"notebook {name}, {why}\n      the executed copy: {executed}")
        else:
            lines.append(shorten(job.made))
    if lines:
        print("\nfailed:", *map(verbatim.message, lines), sep="\n  ", file=sys.stderr)
        print("What is finished is kept; the same command goes on from there.", file=sys.stderr)
    else:  # the graph itself: Snakemake says why
        tell_graph(log, graph)


def tell_graph(log: Path, graph: Graph) -> None:
    """Say why there is no graph to walk."""
    words = "\n".join(graph.complaints) or (log.read_text()[-3000:] if log.exists() else "")
    print(f"\nthe graph could not be walked; from {log}:\n{verbatim.lines(words)}", file=sys.stderr)


def tell_results(settings: dict, seconds: float) -> None:
    """Name the results of a round that ended."""
    out = results_folder(settings)
    data = verbatim.line(settings["data"])
    print(f"\n{data}, {settings['profile']} profile: {clock(seconds)} in all")
    for name, what in (
        ("tables", "tables"),
        ("figures", "figures"),
        ("notebooks", "executed notebooks"),
        ("metrics.csv", "every number"),
        ("jobs.log", "what each job said"),
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
        log, graph = Path(aside, "log"), Graph(Path(aside, "events"))
        command = snakemake(
            settings,
            settings_file,
            folder,
            log,
            graph.file,
            notebooks,
            spread or usual_spread(settings),
            cores,
        )
        done = subprocess.run([*command, "--dry-run"], capture_output=True)
        graph.read()
        if done.returncode:
            tell_graph(log, graph)
            return 1
    jobs = [(shorten(job.made), reason(job.reason)) for job in graph.listed]
    data = verbatim.line(settings["data"])
    print(f"{data}, {settings['profile']} profile: {len(jobs)} jobs would run:")
    width = max((len(job) for job, _ in jobs), default=0)
    for job, why in jobs:
        print(f"  {job:{width}}  {why}")
    return 0


def shorten(files: list[str]) -> str:
    """The first of some files, and how many more there are."""
    first, *more = files
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
            files = words.partition(theirs)[2].partition(";")[0].replace(f"{ROOT}/", "")
            return ours + (shorten(files.split(", ")) if ours.endswith(" ") else "")
    return words


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
