"""The graph's jobs: `python -m alignbook.workbook.running.jobs KIND [NAME…] --out RESULTS`.

Each leaves files under the results folder, written aside and renamed, and prints one line.
"""

import argparse
import json
import os
import shlex
import sys
import time
import warnings
from contextlib import nullcontext
from pathlib import Path

from alignbook import ROOT
from alignbook.core.names import slug
from alignbook.store import durable, progress, ranks, verbatim
from alignbook.workbook import arm_runs, chapters, exhibits, folders, surroundings, workbook
from alignbook.workbook.running import alone, gpu_locks, lent
from alignbook.workbook.running.graph import title
from alignbook.workbook.workbook import Workbook


def data(book: Workbook) -> None:
    """Make or read the data set; leave what it is in data.json."""
    began = time.monotonic()
    dataset = book.dataset()
    if book.kind == "world" and alone.EXECUTOR in os.environ:
        for domain in "BW":  # otherwise several nodes might make them at once
            book.dataset(domain)
    sizes = {split: len(rows) for split, rows in dataset.splits.items()}
    durable.write(
        book.out / "data.json",
        json.dumps(
            {
                "name": dataset.name,
                "fingerprint": dataset.fingerprint,
                "images": sizes,
                "captions per image": dataset.captions_per_image,
                "folder": dataset.folder.name,
            },
            indent=1,
        ),
        sealed=True,
    )
    say(f"data {dataset.name}, {' / '.join(map(str, sizes.values()))} images", began)


def base(book: Workbook) -> None:
    """Train or load the base model, store its region features; leave their keys in base.json."""
    began = time.monotonic()
    name = book.profile.base
    run, features = book.base(), book.features()
    keys = {"base": run.key if run else None, "features": features.key}
    durable.write(book.out / "base.json", json.dumps(keys, indent=1), sealed=True)
    if run:
        say(f"base {name}, test RSUM {run.metrics['test RSUM']:.1f}", began)
    else:
        say(f"base: none, {book.kind} brings its region features", began)


def whole(book: Workbook, *files: str) -> None:
    """The arms that leave these files, all in one process."""
    began, done = time.monotonic(), 0
    for name in dict.fromkeys(Path(file).parent.name for file in files):
        for one in exhibits.arms(name, book.kind, book.profile):
            if f"arms/{name}/{slug(one)}.csv" in files:
                progress.part(done, len(files), arm_runs.count(name, one, book.profile))
                arm(book, name, one)
                done += 1
    say(title(["whole", *files]), began)


def arms(book: Workbook, exhibit: str, *names: str) -> None:
    """Some arms of an exhibit, one after another."""
    for done, name in enumerate(names):
        progress.part(done, len(names), arm_runs.count(exhibit, name, book.profile))
        arm(book, exhibit, name)


def arm(book: Workbook, exhibit: str, name: str) -> None:
    """Tune an arm on dev, run it for every reporting seed; leave the list of its runs."""
    from alignbook.store import runs
    from alignbook.workbook import results

    began = time.monotonic()
    listed = results.arm(book, exhibit, name)
    file = book.out / "arms" / exhibit / f"{slug(name)}.csv"
    leave(file, listed.to_csv(index=False))
    reported = listed[listed.role == "report"]
    found = [runs.stored(key).metrics for key in reported.key]
    headline = "test RSUM" if "test RSUM" in found[0] else next(iter(found[0]["asked"]))
    mean = sum(metrics[headline] for metrics in found) / len(found)
    count = f"{len(listed) - len(reported)} trials, {len(reported)} seed{'s' * (len(reported) > 1)}"
    say(f"{exhibit} {name}, {headline} {mean:.1f}, {count}", began)


def training(book: Workbook, exhibit: str, name: str, role: str, number: str) -> None:
    """One training of an arm, a trial or a reporting seed; the arm's own job finds it stored."""
    from alignbook.workbook import results

    began = time.monotonic()
    run = results.train(book, arm_runs.Training(exhibit, name, role, int(number)))
    found = run.metrics.get("dev RSUM")
    said = f", dev RSUM {found:.1f}" if found is not None else ""
    say(f"{title(['training', exhibit, name, role, number])}{said}", began)


def buy(book: Workbook, paper: str, number: str, *names: str) -> None:
    """Train, with others of its kind, the seeds that decide a paper's claims on some exhibits."""
    from alignbook.workbook.running import buying

    began = time.monotonic()
    bought = buying.buy(book, paper, list(names), int(number))
    say(f"{title(['buy', paper, number])}: {len(bought)} runs are there, others' among them", began)


def seeds(book: Workbook, paper: str, *names: str) -> None:
    """List the runs of the seeds that were bought for a paper's claims on some exhibits."""
    import pandas as pd

    from alignbook.workbook import results
    from alignbook.workbook.running import buying

    began = time.monotonic()
    bought = buying.buy(book, paper, list(names))
    file = book.out / results.SEEDS / f"{paper}.csv"
    if file.exists():  # a start of a part leaves those of the others
        there = pd.read_csv(file, dtype=results.TEXTS)
        bought = pd.concat([there[~there.exhibit.isin(names)], bought])
    leave(file, bought.to_csv(index=False))
    arms_ = len(bought.drop_duplicates(["exhibit", "arm"]))
    most = f", up to {bought.seed.max() + 1} seeds" if len(bought) else ""
    say(f"{paper}: {len(bought)} more runs of {arms_} arms{most}", began)
    for answer in buying.answers(book, paper, list(names)) if ranks.rank() == 0 else ():
        print(f"{' ' * 12}{verbatim.line(answer)}", flush=True)


def notebook(book: Workbook, name: str) -> None:
    """Execute a notebook; its copy stays in notebooks/, with the error in it if it fails."""
    from alignbook.show import outputs
    from alignbook.workbook.running import execute

    began, out = time.monotonic(), book.out.resolve()
    target = out / "notebooks" / f"{name}.ipynb"
    names = target.with_name(f".{name}.written")
    said = json.loads((book.out / "settings.json").read_text())
    parameters = {
        "profile": book.profile.name,
        "data": book.data,
        "seeds": said["seeds"] or 0,
        "settings": shlex.join(f"{k}={v}" for k, v in said["set"].items()),
        "out": str(out),
        "device": book.device,
    }
    with outputs.noted(names):
        execute.run_notebook(ROOT / "notebooks" / f"{name}.ipynb", target, parameters)
        files = outputs.described(names, out)
    durable.write(target.with_suffix(".done"), json.dumps(files, indent=1))
    expected = exhibits.NOTEBOOKS[name].expected.get(book.profile.name)
    say(f"notebook {name}", began, expected)


def efficiency(book: Workbook, exhibit: str) -> None:
    """Measure time and memory of an exhibit's models, unless these were lent; but for the smoke
    profile nothing else of the graph runs meanwhile.
    """
    from alignbook.workbook import results

    began = time.monotonic()
    alone.check(book.profile.name, exhibit)
    lent.take(book.out, f"efficiency/{exhibit}")
    measured = chapters.cost_of(exhibit).table(book, results.arms(book, exhibit))
    say(f"{exhibit}, time and memory of {len(measured)} models{_where(measured)}", began)


def benchmark(book: Workbook) -> None:
    """Measure the kernels, unless their times were lent; but for the smoke profile nothing else of
    the graph runs meanwhile.
    """
    from alignbook.show import kernel_benchmark

    began = time.monotonic()
    alone.check(book.profile.name, "the kernels")
    if not lent.take(book.out, "benchmarks/kernels"):
        kernel_benchmark.measure(book)
    say(f"kernels{_where(kernel_benchmark.table(book))}", began)


def _where(measured) -> str:
    """What is said after times."""
    from alignbook.show import run_tables

    return f", measured on {run_tables.measured_on(measured) or 'this machine'}"


def collect(book: Workbook, *names: str) -> None:
    """Put the numbers of some exhibits, and of those that are there already, into metrics, summary,
    timings, runs (CSV) and images.
    """
    import pandas as pd

    from alignbook.workbook import results

    began = time.monotonic()
    listed = [results.arms(book, name) for name in names]
    listed += [results.there(book, name) for name in exhibits.EXHIBITS if name not in names]
    found = results.gather(book, pd.concat(listed))
    images = found.pop("images").to_parquet(index=False)
    durable.write(book.out / "images.parquet", images, sealed=True)
    for name, table in found.items():
        durable.write(book.out / f"{name}.csv", table.to_csv(index=False), sealed=True)
    say(
        f"{len(found['metrics']):,} numbers of {len(names)} exhibit{'s' * (len(names) != 1)}", began
    )


def leave(file: Path, text: str) -> None:
    """Write what a job found; only the first of several ranks does."""
    if ranks.rank() == 0:
        durable.write(file, text, sealed=True)


def say(what: str, began: float, expected: float | None = None) -> None:
    """One line: what is done and how long it took; only the first of several ranks says it."""
    if ranks.rank():
        return
    took = f"{time.monotonic() - began:6.1f} s"
    hint = f"  (expected {expected} s)" if expected else ""
    print(f"  {took}  {verbatim.line(what)}{hint}", flush=True)


JOBS = (data, base, whole, arms, training, buy, seeds, efficiency, benchmark, notebook, collect)
KINDS = {job.__name__: job for job in JOBS}


def wanted(kind: str, out: Path) -> tuple[str, int]:
    """On which device and on how many processes a job of a kind computes, as settings.json says."""
    said = folders.whole_settings(out) or {"device": "cpu"}
    together = kind in gpu_locks.TOGETHER and len(said) > 1
    return said["device"], folders.profile_of(said).processes if together else 1


def on_ranks(processes: int, device: str, arguments: list[str]) -> int:
    """Do a job on several processes of this machine, by torchrun: they train together, and if one
    dies the others are ended. The exit code.
    """
    import torch
    from torch.distributed import run
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError

    if device == "cuda" and torch.cuda.device_count() < processes:
        raise ValueError(
            f"setting processes={processes}: {torch.cuda.device_count()} GPUs are here, expected one "
            "for each process"
        )
    how = ["--standalone", f"--nproc-per-node={processes}", "-m", "alignbook.workbook.running.jobs"]
    try:
        run.run(run.parse_args([*how, *arguments]))
    except ChildFailedError as error:
        rank, failure = error.get_first_failure()
        if failure.exitcode < 0:  # otherwise it has said why
            said = f"process {rank} of {processes} was ended by signal {-failure.exitcode}"
            print(f"  failed: {said}; the same command goes on", file=sys.stderr)
        return 1
    return 0


def _in_a_line(message, *where, **line) -> str:
    """A warning as the log shows it: what it says, and no line of code."""
    return f"  warning: {verbatim.message(message)}\n"


def main(arguments: list[str]) -> int:
    """Do one job; 1 if it failed for a reason its message names."""
    parser = argparse.ArgumentParser(prog="alignbook.workbook.running.jobs", description=__doc__)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args(arguments)
    from alignbook.workbook.running.execute import NotebookFailed

    # Kept with the runs and shown in notebook 40: hundreds of lines would hide the others here.
    warnings.filterwarnings("ignore", "epoch .*, network", UserWarning)
    warnings.formatwarning = _in_a_line
    try:
        device, processes = wanted(asked.kind, asked.out)
        first = not ranks.are_started()
        with gpu_locks.taken(asked.kind, device, processes) if first else nullcontext():
            book = workbook.load(asked.out)
            if processes > 1 and first:
                return on_ranks(processes, book.device, arguments)
            if not first:
                ranks.join(book.device)
            with progress.told(asked.out, [asked.kind, *asked.names]):
                KINDS[asked.kind](book, *asked.names)
    except Exception as error:
        known = isinstance(error, (NotebookFailed, ValueError, FloatingPointError, OSError))
        places = surroundings.full()  # for which PyTorch and safetensors have errors of their own
        if not known and not places:
            raise
        line = isinstance(error, OSError) and surroundings.told(error) or error
        room = f" (no room left on the disk of {places[0]})" if places else ""
        said = f"{asked.kind} {' '.join(asked.names)}: {line}{room}"
        which = f" (process {ranks.rank()})" if ranks.rank() else ""
        print(f"  failed{which}: {verbatim.message(said)}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
