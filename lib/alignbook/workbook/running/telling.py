"""What the main job says of a round: what failed and where, what there is, why a job would run."""

import os
import sys
from pathlib import Path

from alignbook import ROOT
from alignbook.store import verbatim
from alignbook.store.progress import clock
from alignbook.workbook import folders
from alignbook.workbook.running import cluster, execute
from alignbook.workbook.running.graph import Graph


def tell_failures(out: Path, log: Path, graph: Graph) -> None:
    """Name what failed: notebooks with their cell, other jobs by what they were to make."""
    lines = []
    for job in graph.failed:
        name = Path(job.made[0]).stem if job.words[0] == "notebook" else ""
        if name and (executed := out / "notebooks" / f"{name}.ipynb").exists():
            why = execute.failure(executed) or "see its message above"
            lines.append(f"notebook {name}, {why}\n      the executed copy: {executed}")
        else:
            lines.append("\n      ".join(filter(None, [shorten(job.made), cluster.why(job)])))
    if lines:
        print("\nfailed:", *map(verbatim.message, lines), sep="\n  ", file=sys.stderr)
        print("What is finished is kept; the same command goes on from there.", file=sys.stderr)
    else:  # the graph itself: Snakemake says why
        tell_graph(log, graph)


def tell_graph(log: Path, graph: Graph) -> None:
    """Say why there is no graph to walk."""
    words = "\n".join(graph.complaints) or (log.read_text()[-3000:] if log.exists() else "")
    print(f"\nthe graph could not be walked; from {log}:\n{verbatim.lines(words)}", file=sys.stderr)


def tell_results(settings: dict, seconds: float, judged: bool) -> None:
    """Name the results of a round that ended, and the answers to the main questions if it judged claims."""
    out = folders.results_folder(settings)
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
    if judged and (found := answers(out)):
        print("answers, with the 95 % interval over seeds:", *map(verbatim.line, found), sep="\n  ")


def answers(out: Path) -> list[str]:
    """The answers to the main questions, as notebook 90 left them in a results folder."""
    if not (out / "claims.csv").exists():
        return []
    import pandas as pd

    from alignbook.workbook import start

    claims = pd.read_csv(out / "claims.csv", keep_default_na=False)
    return start.answers(claims, pd.read_csv(out / "contrasts.csv"))


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
