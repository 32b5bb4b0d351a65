"""A run one can watch: on a terminal one live view, elsewhere one flushed line a step.

The main job starts its programs through a `View`, which reads what they and their jobs write, the
graph's events and the jobs' states. On a terminal it draws them in place: a head line, what is at
work, the last finished rows. Off a terminal it writes a line when a job begins, hands on what jobs
say, and is never silent for longer than `SILENCE`. Nothing that is shown moves the cursor or
colours the terminal, whatever a data set's names are: see `plain`.
"""

import os
import re
import selectors
import shutil
import subprocess
import sys
import time
from collections import deque
from contextlib import suppress
from pathlib import Path

from alignbook.store import progress, verbatim
from alignbook.store.progress import clock
from alignbook.workbook.running import timeleft
from alignbook.workbook.running.graph import Graph, Job

SILENCE = 28.0  # seconds: looked at every turn, so that a line comes at least every 30
TURN = 0.5  # seconds between two looks: what looks on takes a hundredth of a core
GUESS = 2.0  # seconds between two guesses of the time left
ESCAPES = re.compile(
    r"(\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|(\x1b\]|\x9d).*?(\x07|\x1b\\|\x9c)|\x1b[@-Z\\-_]"
)
BAR = re.compile(r"\d+%\|")  # a progress bar's last state


def plain(text: str) -> str:
    """What a program said without its colours and other orders to a terminal, on one line.

    >>> plain("a\\x1b[31m red\\x07 word\\n\\u202eafter")
    'a red word after'
    """
    shown = (each if each.isprintable() else " " for each in ESCAPES.sub("", text))
    return re.sub("  +", " ", "".join(shown)) if not text.isprintable() else text


def about(seconds: float) -> str:
    """The remaining time in words: rounded, as it is a guess.

    >>> about(20), about(100), about(1500), about(9000)
    ('under a minute left', 'about 2 min left', 'about 25 min left', 'about 2.5 h left')
    """
    if seconds < 50:
        return "under a minute left"
    if seconds < 5400:
        return f"about {round(seconds / 60)} min left"
    return f"about {seconds / 3600:.1f} h left"


class View:
    """What a person sees of a start; a context, after which the terminal is as it was.

    Parameters
    ----------
    out : the results folder. The jobs' words are kept in its jobs.log.
    plan : what the time left is guessed from.
    heading : what is at work, after the counts.
    part : which of several rounds this is, before the counts.
    far : whether jobs run elsewhere, so that a line for a job that ended is written here.
    """

    def __init__(
        self, out: Path, plan: timeleft.Plan, heading: str, part: str = "", far: bool = False
    ) -> None:
        self.far = far
        self.out, self.plan, self.heading, self.part = out, plan, heading, part
        self.graph = Graph(out / ".live/events.jsonl")
        self.began = time.time()
        self.doing = "the graph"  # while no job is at work
        self.left: float | None = None
        self._guessed = 0.0
        self._streams, self._halves = selectors.DefaultSelector(), {}

    def __enter__(self) -> "View":
        shutil.rmtree(self.graph.file.parent, ignore_errors=True)
        self.graph.file.parent.mkdir(parents=True)
        self._log = open(self.out / "jobs.log", "a", buffering=1, encoding="utf-8")
        on_terminal = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
        self.drawn = Screen(self) if on_terminal else Lines(self)
        return self

    def __exit__(self, *_) -> None:
        self.drawn.close()
        self._log.close()
        shutil.rmtree(self.graph.file.parent, ignore_errors=True)

    def start(self, command: list[str]) -> subprocess.Popen:
        """Start a program, in a session of its own, and show what it and its children say."""
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        for stream, wrong in ((child.stdout, False), (child.stderr, True)):
            os.set_blocking(stream.fileno(), False)
            self._streams.register(stream, selectors.EVENT_READ, wrong)
        return child

    def turn(self, seconds: float = TURN) -> None:
        """Wait a moment, hand on what was said, count what happened, draw."""
        end = time.monotonic() + seconds
        while self._hear(max(0.0, end - time.monotonic())) and time.monotonic() < end + 1:
            pass
        if not self._streams.get_map():  # it closed its output and is about to end
            time.sleep(min(seconds, 0.02))
        news = self.graph.read()
        now = time.time()
        if self.graph.total and (news or now > self._guessed + GUESS):
            self.left, self._guessed = timeleft.left(self.plan, self.graph, now), now
        for what, job in news:
            if what == "began":
                self.drawn.began(job)
            else:  # however it ended
                progress.state_file(self.out, job.words).unlink(missing_ok=True)
                if self.far and what == "finished":
                    self.say(f"  {job.seconds:6.1f} s  {verbatim.line(job.title)}")
        self.drawn.draw(now)

    def _hear(self, seconds: float) -> bool:
        """Read what is said within some seconds; whether there was anything."""
        ready = self._streams.select(seconds) if self._streams.get_map() else []
        for key, _ in ready:
            octets = key.fileobj.read()
            *lines, half = (self._halves.pop(key.fd, b"") + (octets or b"")).split(b"\n")
            if octets == b"":  # the end
                self._streams.unregister(key.fileobj)
                key.fileobj.close()
                lines += [half] if half else []
            else:
                self._halves[key.fd] = half
            for line in lines:
                self.say(line.decode(errors="replace"), key.data)
        return bool(ready)

    def say(self, line: str, wrong: bool = False) -> None:
        """Hand on a line that a job said; of bars drawn over each other only what stays."""
        over, _, line = line.rstrip("\r").rpartition("\r")
        if over and (not line.strip() or BAR.search(line)):
            return
        line = line[: len(line) - len(line.lstrip(" "))] + plain(line.lstrip(" "))
        self._log.write(line + "\n")
        self.drawn.say(line, wrong)

    def head(self, now: float) -> str:
        """ "37 of 134 · 12 min · about 25 min left"."""
        counts = [f"{len(self.graph.finished)} of {self.graph.total}"] * bool(self.graph.total)
        counts += [f"{len(self.graph.failed)} failed"] * bool(self.graph.failed)
        left = [about(self.left)] if self.left is not None else []
        return " · ".join(filter(None, [self.part, *counts, clock(now - self.began), *left]))

    def at_work(self, now: float) -> list[tuple[str, str, str, str, str]]:
        """For each job at work: its title, what it is doing, its step, its numbers, its seconds."""
        rows = []
        for job in self.graph.running.values():
            state = self.graph.state(job)
            step = f"{state['step']}/{state['steps']}" if "step" in state else ""
            numbers = progress.numbers(state.get("loss"), state.get("dev"))
            done, of = state.get("part") or (0, 0)
            part = f"{int(done)} of {of}" if of else ""
            what = ", ".join(filter(None, [part, verbatim.line(state.get("label", ""))]))
            rows.append((verbatim.line(job.title), what, step, numbers, clock(now - job.began)))
        return rows or [(self.doing, "", "", "", "")] * bool(self.doing)


class Lines:
    """Off a terminal: lines, each flushed."""

    def __init__(self, view: View) -> None:
        self.view = view
        self.last = view.began

    def say(self, line: str, wrong: bool) -> None:
        """A job's own line."""
        print(line, file=sys.stderr if wrong else sys.stdout, flush=True)
        self.last = time.time()

    def began(self, job: Job) -> None:
        """A line for a job that began."""
        self.say(f"{self.view.head(time.time())} · {verbatim.line(job.title)} …", False)

    def draw(self, now: float) -> None:
        """A line if there was none for `SILENCE`."""
        if now - self.last < SILENCE:
            return
        rows = [
            f"{title}: {' '.join(filter(None, said))}" if any(said) else title
            for title, *said, _ in self.view.at_work(now)
        ]
        self.say(" · ".join([f"… {self.view.head(now)}", *rows]), False)
        self.last = now

    def close(self) -> None:
        """Nothing to put back."""


class Screen:
    """On a terminal: one view in place, and above it only what went wrong."""

    def __init__(self, view: View, console=None) -> None:
        from rich.console import Console
        from rich.live import Live

        self.view, self.rows = view, deque(maxlen=50)
        self.console = console or Console(highlight=False)
        self.live = Live(
            console=self.console,
            auto_refresh=False,
            transient=True,
            vertical_overflow="crop",
            redirect_stderr=sys.stderr.isatty(),
        )
        self.width, self.drawn = self.console.width, []  # cells of each line that was drawn
        self.live.start()
        self.console.show_cursor(True)  # a view that is killed can't bring it back

    def say(self, line: str, wrong: bool) -> None:
        """A job's own line: a finished row, or above the view if something is wrong."""
        if not wrong:
            self.rows.append(line)
        elif self.live.is_started and sys.stderr.isatty():
            from rich.text import Text

            self.console.print(Text(line), soft_wrap=True)
        else:
            print(line, file=sys.stderr, flush=True)

    def began(self, job: Job) -> None:
        """Nothing: what is at work is in the view anyway."""

    def draw(self, now: float) -> None:
        """Draw the view anew, in the width that the terminal has now."""
        width = self.console.width
        if width < self.width:  # terminals wrap what was drawn before: the view begins further up
            wrapped = sum((max(length, 1) - 1) // width for length in self.drawn)
            self.console.file.write(f"\x1b[{wrapped}A\x1b[J" if wrapped else "")
        view, self.width = self.view_of(now), width
        lines = self.console.render_lines(view, pad=False)
        self.drawn = [sum(part.cell_length for part in line) for line in lines]
        self.live.update(view, refresh=True)

    def view_of(self, now: float):
        """Head, what is at work, the last rows, as many as the terminal's height has room for."""
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        def line(text: str, style: str = "") -> Text:
            return Text(text, style, no_wrap=True, overflow="ellipsis")

        room = max(3, self.console.height - 2)
        head = line("")
        head.append(self.view.head(now), "bold")
        head.append(f"  {self.view.heading}", "dim")
        table = Table.grid(padding=(0, 2))
        for i, style in enumerate(("cyan", "", "", "", "dim")):
            table.add_column(style=style, no_wrap=i > 1)  # names give way first, then numbers
        for row in self.view.at_work(now)[: room - 1]:
            table.add_row(*map(line, row))
        several = min(8, room - 2 - table.row_count)
        rows = list(self.rows)[-several:] if several > 0 else []
        return Group(head, table, *(line(each, "dim") for each in ["", *rows] if rows))

    def close(self) -> None:
        """Take the view away."""
        with suppress(OSError):  # the terminal is gone
            self.live.stop()
