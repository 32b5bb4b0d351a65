"""What the graph's jobs are doing: Snakemake's events and the jobs' own files, for the main job.

`events` writes the one and `progress` the other, both to `results/<…>/.live`, which is there only
while a main job is at work. Standard library only.
"""

import json
import shlex
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from alignbook.store import progress


@dataclass
class Job:
    """A job that began: its kind and names as on its command line, and the files it makes.

    `seconds` is how long it took, None while it is at work; `kept` of its parts were made by an
    earlier start; `logs` are those of one that failed, and `told` is what the executor says of it.
    """

    words: list[str]
    made: list[str]
    reason: str
    began: float  # seconds since 1970
    seconds: float | None = None
    kept: int = 0
    logs: list[str] = field(default_factory=list)
    told: str = ""

    @property
    def title(self) -> str:
        """Its name for reading."""
        return title(self.words)


class Graph:
    """The jobs of one start, as far as Snakemake spoke of them.

    Attributes
    ----------
    total : jobs that this start has to do; 0 if there is nothing to do.
    waiting : those that have not begun, by rule.
    running : those at work, by Snakemake's number.
    finished, failed : in the order in which they ended.
    listed : all that began, or would in a dry run.
    complaints : what Snakemake says is wrong.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        self.total, self.waiting = 0, Counter()
        self.running: dict[int, Job] = {}
        self.finished, self.failed, self.listed = [], [], []
        self.complaints: list[str] = []
        self._at = 0  # bytes of the file that were read

    def read(self) -> list[tuple[str, Job]]:
        """Read the events that are new: jobs that "began", "finished" or "failed"."""
        try:
            with open(self.file, "rb") as file:
                file.seek(self._at)
                lines = file.read().splitlines(keepends=True)
        except FileNotFoundError:
            return []
        news = []
        for line in lines:
            if line.endswith(b"\n"):  # the last one may be half there
                self._at += len(line)
                news += self.take(json.loads(line))
        return news

    def take(self, event: dict) -> list[tuple[str, Job]]:
        """Count an event in; what it says of a job that makes something."""
        what, when = event["event"], event["time"]
        if what == "run_info":
            self.waiting = Counter(event["stats"])
            self.total = self.waiting.pop("total", 0) - self.waiting.pop("all", 0)
        elif what == "job_info" and event["output"]:
            words = command(event["shellcmd"]) or [event["rule_name"]]
            made = [name.removesuffix(" (update)") for name in event["output"]]
            job = Job(words, made, event["reason"], when)
            self.waiting -= Counter([event["rule_name"]])
            self.running[event["jobid"]] = job
            self.listed.append(job)
            return [("began", job)]
        elif what == "job_finished" and event["job_id"] in self.running:
            job = self.running.pop(event["job_id"])
            job.seconds = when - job.began
            self.finished.append(job)
            return [("finished", job)]
        elif what == "job_error":
            job = self.running.pop(event["jobid"], None)
            job = job or Job([event["rule_name"]], event["output"], "", when)
            job.logs, job.told = event.get("log") or [], event.get("rule_msg") or ""
            self.failed.append(job)
            return [("failed", job)]
        elif what == "error":
            self.complaints.append(event["text"])
        return []

    def state(self, job: Job) -> dict:
        """What a job at work says of itself: label, step, steps, loss, dev, part, kept; may be empty."""
        try:
            found = json.loads(progress.state_file(self.file.parent.parent, job.words).read_text())
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}


def command(line: str | None) -> list[str]:
    """Kind and names of the job that a shell command starts; empty if it starts none.

    >>> command("exec python -m alignbook.workbook.warm alignbook.workbook.running.jobs arms chan-T3 'a b' --out .")
    ['arms', 'chan-T3', 'a b']
    """
    words = shlex.split(line or "")
    if "alignbook.workbook.running.jobs" not in words or "--out" not in words:
        return []
    return words[words.index("alignbook.workbook.running.jobs") + 1 : words.index("--out")]


def title(words: list[str]) -> str:
    """A job's name for reading.

    >>> title(["notebook", "02_data"]), title(["arms", "chan-T3", "hard"])
    ('notebook 02_data', 'chan-T3 hard')
    >>> title(["training", "chan-T3", "hard", "trial", "0"])
    'chan-T3 hard, trial 0'
    >>> title(["buy", "chan", "0", "chan-T3"]), title(["seeds", "chan", "chan-T3"])
    ('chan, more seeds (1)', 'chan, all seeds')
    >>> title(["whole", "arms/chan-T3/hard.csv", "arms/chan-T3/soft.csv"])
    'chan, 2 arms'
    """
    kind, *names = words
    if kind == "whole":
        chapter = Path(names[0]).parent.name.partition("-")[0]
        return f"{chapter}, {len(names)} arm{'s' * (len(names) > 1)}"
    if kind == "seeds":
        return f"{names[0]}, all seeds"
    if kind == "buy":
        return f"{names[0]}, more seeds ({int(names[1]) + 1})"
    if kind == "training":
        exhibit, arm, role, number = names
        return f"{exhibit} {arm}, {'seed' if role == 'report' else role} {number}"
    if kind == "arms":
        more = f" and {len(names) - 2} more" if len(names) > 2 else ""
        return " ".join(names[:2]) + more
    if kind == "efficiency":
        return f"{names[0]}, time and memory"
    known = {
        "data": "data",
        "base": "base model",
        "benchmark": "time of the kernels",
        "collect": "all numbers",
    }
    return known.get(kind) or " ".join(words)
