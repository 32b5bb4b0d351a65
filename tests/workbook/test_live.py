"""A run one can watch: what is counted, drawn, said and guessed."""

import collections
import dataclasses
import io
import json
import math
import os
import pty
import random
import re
import shlex
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest
import recorder
from alignbook.evidence import entries
from alignbook.store import progress
from alignbook.workbook import arm_runs, chapters, exhibits, profiles
from alignbook.workbook.running import graph, live, timeleft, walker
from conftest import ROOT
from rich.console import Console

START = 1_700_000_000.0
PLAN = timeleft.Plan(profiles.get("smoke"), "world", list(exhibits.NOTEBOOKS), "chapter", 2, {})
HOSTILE = "a\x1b[2J\x1b]0;t\x07b\rc\u202ed\x9b31m"


def shell(*words: str) -> str:
    """A job's command, as the Snakefile has it."""
    return f"exec python -m alignbook.workbook.warm alignbook.workbook.running.jobs {shlex.join(words)} --out ."


def info(number: int, when: float, *words: str, rule: str = "") -> dict:
    """Snakemake's word of a job that begins."""
    return {
        "event": "job_info",
        "time": START + when,
        "jobid": number,
        "rule_name": rule or words[0],
        "output": [f"{'-'.join(words)}.done"],
        "shellcmd": shell(*words),
        "reason": "Missing output files: x",
    }


def finished(number: int, when: float) -> dict:
    return {"event": "job_finished", "time": START + when, "job_id": number}


def failed(number: int, when: float) -> dict:
    return {
        "event": "job_error",
        "time": START + when,
        "jobid": number,
        "rule_name": "notebook",
        "output": ["notebooks/02_data.done"],
    }


STATS = {"data": 1, "base": 1, "notebook": 3, "all": 1, "total": 6}
RUN = {"event": "run_info", "time": START, "stats": STATS}


@pytest.fixture
def clock(monkeypatch):
    """The time, which passes by `clock.now += …`."""
    clock = SimpleNamespace(now=START)
    here = SimpleNamespace(time=lambda: clock.now, monotonic=time.monotonic, sleep=time.sleep)
    monkeypatch.setattr(live, "time", here)
    return clock


@pytest.fixture
def view(tmp_path, clock):
    """A view off a terminal, of a run that is fed by `view.happens`."""
    with live.View(tmp_path, PLAN, "world, smoke profile") as view:

        def happens(*events: dict) -> None:
            with open(view.graph.file, "a") as file:
                file.writelines(json.dumps(event) + "\n" for event in events)
            view.turn(0)

        view.happens = happens
        yield view


def tells(view, *words: str, **state) -> None:
    """A job at work writes down how far it is."""
    progress.state_file(view.out, list(words)).write_text(json.dumps(state))


def drawn(view, width: int, height: int = 24) -> list[str]:
    """The lines of a view on a terminal."""
    text = io.StringIO()
    console = Console(
        file=text,
        force_terminal=True,
        width=width,
        height=height,
        color_system=None,
        highlight=False,
        _environ={},
    )
    screen = live.Screen(view, console)
    screen.rows.extend(f"  {i}.0 s  notebook {i}" for i in range(20))
    shown = screen.view_of(live.time.time())
    screen.close()
    text.truncate(text.seek(0))
    console.print(shown)
    return text.getvalue().splitlines()


def test_jobs_are_counted_as_snakemake_tells_them(tmp_path):
    file = tmp_path / "events.jsonl"
    read = graph.Graph(file)
    assert read.read() == [] and read.total == 0
    events = [
        RUN,
        info(1, 1, "data"),
        finished(1, 4),
        info(2, 5, "notebook", "02_data"),
        info(3, 5, "notebook", "01_reported_numbers"),
        failed(2, 9),
        {"event": "error", "time": START, "text": "why"},
    ]
    words = "".join(json.dumps(event) + "\n" for event in events)
    cut = len(words) - 30
    file.write_text(words[:cut])  # the last one is being written
    assert [what for what, _ in read.read()] == ["began", "finished", "began", "began", "failed"]
    assert read.complaints == []
    file.write_text(words)
    assert read.read() == [] and read.complaints == ["why"]
    assert read.total == 5 and +read.waiting == {"base": 1, "notebook": 1}
    assert [(job.title, job.seconds) for job in read.finished] == [("data", 3.0)]
    assert [job.title for job in read.failed] == ["notebook 02_data"]
    assert [job.title for job in read.running.values()] == ["notebook 01_reported_numbers"]


SNAKEFILE = """\
rule all:
    input: "a b", "c"
rule one:
    output: "a b"
    shell: ": alignbook.workbook.running.jobs arms x 'y z' --out . ; touch {output:q}"
rule two:
    output: "c"
    shell: "exit 3"
"""


def test_snakemake_writes_its_events_down(tmp_path):
    (tmp_path / "Snakefile").write_text(SNAKEFILE)
    (tmp_path / "settings.json").write_text("{}")
    here, settings = tmp_path, tmp_path / "settings.json"
    command = walker.snakemake(settings, here, here / "log", here / "events", [], "arm", 1)
    command[command.index("--snakefile") + 1] = str(tmp_path / "Snakefile")
    assert subprocess.run(command, capture_output=True).returncode == 1
    read = graph.Graph(tmp_path / "events")
    read.read()
    assert read.total == 2 and not read.running and not +read.waiting
    assert [job.words for job in read.finished] == [["arms", "x", "y z"]]
    assert [job.made for job in read.failed] == [["c"]]
    assert "Missing output files" in read.failed[0].reason
    assert any("exit status 3" in words for words in read.complaints)
    assert "Error in rule two" in (tmp_path / "log").read_text()  # Snakemake's own words are kept


def test_a_job_tells_how_far_it_is_twice_a_second_at_most(tmp_path, monkeypatch):
    now, writes = [0.0], []
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(progress, "_told", {**progress._told, "at": -9.0})
    monkeypatch.setenv("ALIGNBOOK_LIFELINE", "x")
    replace = os.replace
    monkeypatch.setattr(progress.os, "replace", lambda *of: (writes.append(now[0]), replace(*of)))
    words = ["arms", "chan-T3", "hard", "soft"]
    with progress.told(tmp_path, words):
        progress.show("nobody looks", 1, 2)
    assert writes == [] and list(tmp_path.iterdir()) == []
    (tmp_path / ".live").mkdir()
    with progress.told(tmp_path, words):
        progress.part(1, 2)
        for step in range(100):
            now[0] += 0.1
            progress.show("training", step + 1, 100, loss=0.5, dev=71.25)
        file = progress.state_file(tmp_path, words)
        said = json.loads(file.read_text())
        assert said["part"] == [1, 2] and said["label"] == "training" and said["step"] >= 95
        assert (said["steps"], said["loss"], said["dev"]) == (100, 0.5, 71.25)
    assert 15 <= len(writes) <= 21 and min(b - a for a, b in zip(writes, writes[1:])) > 0.49
    assert list((tmp_path / ".live").iterdir()) == []
    progress.show("training", 1, 2)  # afterwards: nobody is told
    assert list((tmp_path / ".live").iterdir()) == [] and progress.BAR == {}


def test_parts_before_the_first_that_showed_anything_were_kept(tmp_path, monkeypatch):
    """The first two of parts 0 to 4 are stored, the third is trained, the fourth is shared."""
    monkeypatch.setattr(progress, "BETWEEN", 0)
    monkeypatch.setattr(progress, "_told", {**progress._told, "shown": True, "kept": 7})
    (tmp_path / ".live").mkdir()
    words, kept = ["arms", "chan-T3", "a", "b", "c", "d", "e"], []
    with progress.told(tmp_path, words):
        for done in range(5):
            progress.part(done, 5)
            if done in (2, 4):
                progress.show("training", 1, 2)
            kept.append(json.loads(progress.state_file(tmp_path, words).read_text())["kept"])
    assert kept == [0, 1, 2, 2, 2]


def test_a_part_is_as_far_as_its_trainings(tmp_path, monkeypatch):
    """One part is kept and half of the next one's four; the third is at work, in two stages."""
    monkeypatch.setattr(progress, "BETWEEN", 0)
    monkeypatch.setattr(progress, "_told", dict(progress._told))
    (tmp_path / ".live").mkdir()
    words, places = ["arms", "chan-T3", "a", "b"], []

    def tell(what, *numbers, **more):
        what(*numbers, **more)
        said = json.loads(progress.state_file(tmp_path, words).read_text())
        places.append((*said["part"], said["kept"]))

    with progress.told(tmp_path, words):
        tell(progress.part, 0, 2, trainings=3)
        tell(progress.part, 1, 2, trainings=4)
        tell(progress.trained)
        tell(progress.trained)
        tell(progress.show, "first stage", 4, 5, loss=0.5)
        tell(progress.show, "second stage", 1, 5, loss=0.5)
        tell(progress.show, "comparing", 5, 5)
        tell(progress.trained)
        tell(progress.trained)
        tell(progress.trained)  # one more than was said
    half = 1 + 0.5 * progress.TRAINED
    at = 1 + 0.7 * progress.TRAINED
    near = [1 + share * progress.TRAINED for share in (0.75, 1, 1)]
    expected = [(0, 2, 0), (1, 2, 1), (1 + progress.TRAINED / 4, 2, 1 + progress.TRAINED / 4)]
    expected += [(half, 2, half), *[(at, 2, half)] * 3, *[(place, 2, half) for place in near]]
    assert np.array(places) == pytest.approx(np.array(expected))


def test_on_a_terminal_head_work_and_last_rows_are_drawn(view, clock):
    view.happens(
        RUN,
        info(1, 0, "data"),
        finished(1, 4),
        info(2, 5, "base"),
        info(3, 60, "arms", "chan-T3", "hard", rule="arms_chan_T3_0"),
    )
    tells(
        view,
        "arms",
        "chan-T3",
        "hard",
        label="chan hard seed 1",
        step=240,
        steps=300,
        loss=12.3456,
        dev=71.04,
        part=[0, 1],
    )
    tells(view, "base", label=f"base {HOSTILE}", step=3, steps=9)
    clock.now += 75
    view.turn(0)
    lines = drawn(view, width=100)
    assert lines[0].startswith("1 of 5 · 1 min 15 s · ")
    assert "left  world, smoke profile" in lines[0]
    base, arm = lines[1:3]
    assert re.search(r"^base model +base a\\x1b\[2J.* 3/9 +1 min 10 s *$", base)
    numbers = r"240/300 +loss 12.346, dev 71.0 +15 s"
    assert re.search(rf"^chan-T3 hard +0 of 1, chan hard seed 1 +{numbers}", arm)
    assert [line.strip() for line in lines[4:]] == [f"{i}.0 s  notebook {i}" for i in range(12, 20)]
    assert all(each.isprintable() for line in lines for each in line)
    base, arm = drawn(view, width=64)[1:3]
    assert "…" in arm and arm.rstrip().endswith("240/300  loss 12.346, dev 71.0  15 s")
    for width, height in ((30, 24), (12, 8), (60, 4)):
        lines = drawn(view, width, height)
        assert len(lines) < height and max(map(len, lines)) <= width
        assert lines[0].startswith("1 of 5 · 1")


def test_a_file_that_is_brought_up_to_date_is_called_by_its_name(tmp_path):
    read = graph.Graph(tmp_path / "events")
    read.take({**info(1, 0, "seeds", "chan"), "output": ["seeds/chan.csv (update)"]})
    assert read.listed[0].made == ["seeds/chan.csv"]


def test_a_terminal_made_narrower_keeps_nothing_of_the_view_before(view):
    view.happens(RUN, info(1, 0, "data"))
    text = io.StringIO()
    console = Console(
        file=text,
        force_terminal=True,
        width=60,
        height=24,
        highlight=False,
        color_system=None,
        _environ={},
    )
    screen = live.Screen(view, console)
    screen.say("x" * 50, False)
    screen.draw(START)
    head, job, *rest = screen.drawn  # cells of each line
    assert 40 < head <= 60 and job <= 20 and rest == [0, 50]
    text.truncate(text.seek(0))
    console.width = 20
    screen.draw(START)
    assert text.getvalue().startswith("\x1b[4A\x1b[J\r\x1b[2K")  # two lines of three rows now
    text.truncate(text.seek(0))
    console.width = 40
    screen.draw(START)
    assert "\x1b[J" not in text.getvalue()
    screen.close()


def test_a_job_that_was_killed_is_shown_no_more(view, clock):
    view.happens(RUN, info(2, 0, "notebook", "02_data"))
    tells(view, "notebook", "02_data", label="boxes", step=1, steps=9)
    assert view.at_work(START)[0][:3] == ("notebook 02_data", "boxes", "1/9")
    view.happens(failed(2, 3))
    assert [row[0] for row in view.at_work(START)] == ["the graph"]
    assert view.head(START + 9).startswith("0 of 5 · 1 failed · 9 s")
    assert [path.name for path in view.graph.file.parent.iterdir()] == ["events.jsonl"]
    again = live.View(view.out, PLAN, "")  # what a killed main job left is gone with the next
    (view.out / ".live/left.json").write_text("{}")
    with again:
        assert list((view.out / ".live").iterdir()) == []
    assert not (view.out / ".live").exists()


def test_off_a_terminal_a_line_a_step_and_one_every_half_minute(view, clock, capsys, monkeypatch):
    flushed = []
    flush = sys.stdout.flush
    monkeypatch.setattr(sys.stdout, "flush", lambda: (flushed.append(1), flush()))
    view.happens(RUN, info(1, 0, "data"))
    view.say("  4.0 s  data world")
    view.happens(finished(1, 4), info(2, 5, "arms", "chan-T3", "hard", rule="arms_chan_T3_0"))
    tells(view, "arms", "chan-T3", "hard", label="chan hard", step=240, steps=300, loss=12.3)
    for _ in range(130):
        clock.now += 0.5
        view.turn(0)
    count = len(flushed)
    begun, data, arm, *beats = capsys.readouterr().out.splitlines()
    assert begun.startswith("0 of 5 · 0 s · ") and begun.endswith(" · data …")
    assert data == "  4.0 s  data world"
    assert arm.startswith("1 of 5 · 0 s · ") and arm.endswith(" · chan-T3 hard …")
    assert len(beats) == 2 and count == 5
    assert re.fullmatch(
        r"… 1 of 5 · 28 s · .* left · chan-T3 hard: chan hard 240/300 loss 12.300", beats[0]
    )
    assert beats[1].startswith("… 1 of 5 · 56 s")
    assert live.SILENCE + 2 * live.TURN <= 30  # a turn may take another one's time
    view.doing = "the report"
    view.happens(finished(2, 70))
    clock.now += 30
    view.turn(0)
    assert capsys.readouterr().out.splitlines()[-1].endswith(" · the report")


def test_bars_and_control_characters_of_jobs_reach_nobody(view, capsys):
    for line in (
        "ä bar:  10%|#  | 1/9\r bar: 100%|###| 9/9",
        "x\r        \r",
        "  1.0 s  done\r",
        "Loading: 5%\rready",
        HOSTILE,
        "",
        "  tab\there",
    ):
        view.say(line)
    view.say("failed: \x1b[1mwhy", wrong=True)
    told = capsys.readouterr()
    assert told.out == "  1.0 s  done\nready\nc d\n\n  tab here\n"
    assert told.err == "failed: why\n"
    assert (view.out / "jobs.log").read_text() == told.out + told.err


SAYS = """\
import os, sys, time
print("  first", flush=True)
os.write(1, b"  ha"); time.sleep(0.3); os.write(1, b"lf\\n")
print("wrong", file=sys.stderr)
os.write(1, b"  no line's end")
raise SystemExit(5)
"""


def test_what_a_child_says_comes_when_it_is_said_and_its_code_is_returned(tmp_path, capsys):
    with live.View(tmp_path, PLAN, "") as view:
        assert walker.finish([sys.executable, "-c", SAYS], view) == 5
        assert walker.finish([sys.executable, "-c", "import os; os.abort()"], view) == -6
    told = capsys.readouterr()
    assert told.out == "  first\n  half\n  no line's end\n" and told.err == "wrong\n"


# A run on a terminal, of a job that never ends.
WATCHED = """\
import sys
from pathlib import Path
from test_live import PLAN, RUN, info, json, live, walker

try:
    with live.View(Path(sys.argv[1]), PLAN, "world") as view:
        view.graph.file.write_text("".join(json.dumps(each) + "\\n" for each in (
            RUN, info(1, 0, "data"), info(2, 0, "notebook", "02_data"))))
        walker.finish([sys.executable, "-c", sys.argv[2]], view)
except KeyboardInterrupt:
    print("stopped", file=sys.stderr)
    raise SystemExit(130)
"""


def test_ctrl_c_leaves_the_terminal_as_it_was(tmp_path):
    (tmp_path / "watched.py").write_text(WATCHED)
    waits = "import sys, time; print('it failed', file=sys.stderr, flush=True); time.sleep(60)"
    top, terminal = pty.openpty()
    paths = os.pathsep.join([str(ROOT / "lib"), str(ROOT / "tests"), str(ROOT / "tests/workbook")])
    child = subprocess.Popen(
        [sys.executable, str(tmp_path / "watched.py"), str(tmp_path), waits],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": paths, "TERM": "xterm-256color", "COLUMNS": "70"},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    os.close(terminal)
    seen, end = b"", time.monotonic() + 60
    while seen.count(b"notebook 02_data") < 2 and time.monotonic() < end:
        seen += os.read(top, 65536)
    child.send_signal(signal.SIGINT)
    try:
        while more := os.read(top, 65536):
            seen += more
    except OSError:  # nobody has the terminal open any more
        pass
    os.close(top)
    assert child.wait(20) == 130
    text = seen.decode()
    assert "0 of 5" in text and text.count("it failed") == 1 and "stopped" in text
    hidden, shown = text.rindex("\x1b[?25l"), text.rindex("\x1b[?25h")
    assert hidden < shown < text.rindex("stopped")
    assert text.index("\x1b[?25h") < text.index("notebook 02_data")  # also if it's killed
    assert "notebook 02_data" not in text[shown:]  # the view is gone


# --- The time left -------------------------------------------------------------------------------


def replayed(plan, events: list[dict], state, folder, end: float, moments=20) -> list[tuple]:
    """What was guessed at moments of a run: share of its time that is gone, seconds left, guess.

    Parameters
    ----------
    events : Snakemake's, in order; state(job, now) : what a job at work says of itself.
    end : when the report was there.
    """
    guesses, start, read = [], events[0]["time"], graph.Graph(folder / "none")
    waiting = list(events)
    for share in range(1, moments):
        now = start + share / moments * (end - start)
        while waiting and waiting[0]["time"] <= now:
            read.take(waiting.pop(0))
        read.state = lambda job, now=now: state(job, now)
        guesses.append((share / moments, end - now, timeleft.left(plan, read, now)))
    return guesses


def walked(plan, seconds: dict, chance) -> tuple[list[dict], float]:
    """Events and end of a run whose jobs take `seconds[words]`: what Snakemake does, on paper."""
    chosen = dict.fromkeys(
        name
        for book in plan.notebooks
        for name in (exhibits.NOTEBOOKS[book].exhibits + exhibits.NOTEBOOKS[book].reads)
    )
    arms = {
        f"arms_{name.replace('-', '_')}_{i}": ["arms", name, *some]
        for name in chosen
        for i, some in enumerate(exhibits.jobs(name, plan.data, plan.profile, "arm"))
    }
    others = [["data"], ["base"], ["collect"], ["benchmark"]]
    made = [name for name in chosen if exhibits.arms(name, plan.data, plan.profile)]
    others += [["efficiency", name] for name in made if exhibits.EXHIBITS[name].timed]
    others += [["notebook", name] for name in plan.notebooks]
    of_papers = {exhibits.paper(words[1]) for words in arms.values()} - {"base"}
    rules = {tuple(words): rule for rule, words in arms.items()}
    for rule in (f"{kind}_{paper}" for paper in sorted(of_papers) for kind in ("buy", "seeds")):
        rules |= {tuple(words): rule for words in plan._of_rule(rule)}
    waiting = [*map(list, rules), *others]
    chance.shuffle(waiting)
    waiting.sort(key=timeleft.rank)
    stats, events, running, now, number = {}, [], [], 0.0, 0
    while waiting or running:
        lacking = set().union(
            *(timeleft.makes(words) for words in [*waiting, *(w for _, w in running)])
        )
        for words in [w for w in waiting if timeleft.needs(plan, w).isdisjoint(lacking)]:
            alone = any(timeleft._alone(plan, each) for each in (words, *(w for _, w in running)))
            if len(running) < (1 if alone else plan.cores):
                waiting.remove(words)
                number += 1
                rule = rules.get(tuple(words), words[0])
                stats[rule] = stats.get(rule, 0) + 1
                ends = now + seconds[tuple(words)]
                running.append((ends, words))
                events += [info(number, now, *words, rule=rule), finished(number, ends)]
        running.sort()
        now = running.pop(0)[0]
    events.sort(key=lambda event: event["time"])
    stats["total"] = number
    return [{**RUN, "stats": stats}, *events], START + now + timeleft.OTHERS["report"]


@pytest.mark.parametrize(
    "slower, chapters, least",
    [
        (1.0, {}, 0.95),
        (2.5, {}, 0.95),
        (0.4, {"chan": 1.6}, 0.92),
        (1.0, {"gsl": 1.6, "notebook": 0.5}, 0.83),  # the first chapter, buying included
        (1.0, {"efficiency": 1.3}, 0.95),
    ],
)
def test_the_time_left_of_a_laptop_run_is_right_within_three_tenths(
    slower, chapters, least, tmp_path, monkeypatch
):
    """From the first third on, at a share of the moments of twelve simulated runs, whose seeds are
    bought as the budget has them.
    """
    monkeypatch.setattr(timeleft, "PUBLISHED", tmp_path)
    wrong = []
    for seed in range(1, 13):
        wrong += one_run(seed, slower, chapters, tmp_path)
    assert len(wrong) >= 120 and np.mean(np.abs(wrong) < 0.3) >= least
    assert np.mean(np.abs(wrong) < 0.5) >= 0.99


def one_run(seed: int, slower: float, chapters: dict, folder) -> list[float]:
    """By what share the time left was guessed wrong at moments of a simulated run."""
    plan = timeleft.Plan(profiles.get("laptop"), "world", list(exhibits.NOTEBOOKS), "arm", 2, {})
    chance = random.Random(seed)

    class Seconds(dict):
        def __missing__(self, words):
            if words[0] == "buy" and words[2] != "0":  # a paper's share the work, and end together
                return self["buy", words[1], "0", *words[3:]]
            usual = slower * chapters.get(timeleft.kind(words), 1) * chance.lognormvariate(0, 0.25)
            self[words] = plan.seconds(words) * usual
            return self[words]

    def state(job, now):
        gone = (now - job.began) / seconds[tuple(job.words)]
        if job.words[0] == "efficiency":
            return {"step": int(100 * gone), "steps": 100}
        if job.words[0] == "buy":
            return {"part": [int(10 * gone), 10]}
        if job.words[0] != "arms":
            return {}
        return {"part": [place(plan, job.words, gone), len(job.words) - 2]}

    events, end = walked(plan, seconds := Seconds(), chance)
    guesses = replayed(plan, events, state, folder, end)
    return [guess / true - 1 for share, true, guess in guesses if 1 / 3 <= share <= 0.9]


def test_where_what_ended_was_stored_the_rest_is_expected_to_be(tmp_path):
    """As in a class, which got all runs: a run planned for 1.5 hours takes some minutes."""
    timed = (name for name, each in exhibits.EXHIBITS.items() if each.timed)
    lent = {graph.title(["efficiency", name]): 2.0 for name in timed}  # as main_job tells it
    plan = timeleft.Plan(profiles.get("laptop"), "world", list(exhibits.NOTEBOOKS), "arm", 2, lent)
    seconds = collections.defaultdict(lambda: 5.0)
    for words in ["data"], ["base"], *(["notebook", name] for name in plan.notebooks):
        seconds[tuple(words)] = plan.seconds(words)
    events, end = walked(plan, seconds, random.Random(1))
    guesses = replayed(plan, events, lambda job, now: {}, tmp_path, end, moments=40)
    assert guesses[0][2] > 60 * 60 and end - START < 10 * 60
    arms = START + seconds["data",] + seconds["base",] + 10  # two of them are there
    late = [round(guess / true, 2) for _, true, guess in guesses if end - true > arms]
    assert len(late) > 20 and max(late) < 2.5, late


def test_a_start_that_trained_a_job_is_planned_with_and_not_one_that_found_it_stored():
    trained = {"machine": "Linux", "cores": 2, "jobs": {"chan-T3 hard": 90.0}}
    stored, elsewhere = trained | {"jobs": {"chan-T3 hard": 1.2}}, trained | {"cores": 8}
    elsewhere = elsewhere | {"jobs": {"chan-T3 hard": 300.0}}
    starts = [stored, trained, stored, elsewhere]
    assert timeleft.earlier(starts, "Linux", 2) == {"chan-T3 hard": 90.0}


def test_seeds_are_planned_as_the_published_run_bought_them(tmp_path, monkeypatch):
    plan = timeleft.Plan(profiles.get("laptop"), "world", ["11_chan_ablations"], "arm", 2, {})
    monkeypatch.setattr(timeleft, "PUBLISHED", tmp_path)
    jobs = [["buy", paper, "0"] for paper in ("chan", "gsl")]
    chan, gsl = map(plan.seconds, jobs)  # six seeds instead of three
    (tmp_path / "world-laptop").mkdir()
    lines = "claim,seeds\nchan-hard-coding,12\nchan-codings,20\ngsl-against-ncr,3\n"
    (tmp_path / "world-laptop/contrasts.csv").write_text(lines, encoding="utf-8")
    assert list(map(plan.seconds, jobs)) == [3 * chan, 1.0] and gsl > 1
    other = timeleft.Plan(profiles.get("laptop", "flickr8k"), "flickr8k", [], "arm", 2, {})
    assert other.seconds(jobs[1]) > 1  # of other data nothing is published


@pytest.mark.parametrize("spread", ["seed", "arm"])
@pytest.mark.parametrize(
    "profile, data",
    [("overnight", "world"), ("overnight", "flickr8k"), ("gpu", "coco"), ("paper", "coco_precomp")],
)
def test_any_profile_has_a_time_left(profile, data, spread, tmp_path):
    """More than none until the end, whichever jobs are at work."""
    resolved = profiles.get(profile, data)
    plan = timeleft.Plan(resolved, data, list(exhibits.NOTEBOOKS), spread, 2, {})
    plain = collections.defaultdict(lambda: 60.0)
    events, end = walked(plan, plain, random.Random(1))
    guesses = replayed(plan, events, lambda job, now: {}, tmp_path, end, moments=6)
    assert len(guesses) == 5 and all(math.isfinite(guess) and guess > 0 for *_, guess in guesses)


def place(plan, words: list[str], gone: float) -> float:
    """How many arms of a job are done when a share of its time is gone, whole trainings alone."""
    parts = plan.parts(words)
    ended = sum(sum(parts[: i + 1]) <= gone * sum(parts) for i in range(len(parts)))
    of = arm_runs.count(*words[1:2], words[2 + ended], plan.profile) if ended < len(parts) else 0
    if not of:
        return ended
    share = (gone * sum(parts) - sum(parts[:ended])) / parts[ended]
    return ended + progress.TRAINED * int(share * of) / of


def test_what_an_earlier_start_kept_says_nothing_of_the_speed(tmp_path):
    """A job of four arms of 10 s each finds three stored and is at the fourth for 5 s."""
    words = ["arms", "chan-T3", "a", "b", "c", "d"]
    plan = Ten(PLAN.profile, "world", [], "arm", 2, {})
    state = {"part": [3, 4], "kept": 3, "step": 1, "steps": 2, "loss": 0.5}
    assert plan.new(words, 3) == 0.25 and plan.new(words, 0) == plan.new(["base"], 3) == 1
    assert plan.share(words, state) == 0 and plan.share(words, state | {"part": [4, 4]}) == 1
    assert plan.share(words, {"part": [2, 4]}) == 0.5
    half = {"part": [3.5, 4], "kept": 3.2}
    assert plan.share(words, half) == pytest.approx(0.3 / 0.8)
    assert plan.new(words, 3.2) == pytest.approx(0.2)
    read = graph.Graph(tmp_path / "none")
    read.take({**RUN, "stats": {"total": 1}})
    read.take(info(1, 0, *words))
    read.state = lambda job: state
    report = timeleft.OTHERS["report"]
    assert timeleft.left(plan, read, START + 5) == pytest.approx(timeleft.still(10, 5) + report)
    read.take(finished(1, 10))  # in time: the report's plan stays as it is
    assert timeleft.left(plan, read, START + 10) == pytest.approx(report)


def test_an_arm_has_its_own_trainings_planned(monkeypatch):
    """One of two arms trains what both show; another trains by itself."""
    known = {("chan-T3", "a"): (90.0, 90.0), ("chan-T3", "b-to-c"): (90.0, 0.0)}
    known |= {("chan-T3", "d"): (9.5, 9.5), ("base-models", "world-clip"): (40.0, 40.0)}
    monkeypatch.setattr(timeleft, "_planned_arms", lambda *_: known)
    plan = timeleft.Plan(profiles.get("laptop"), "world", [], "arm", 2, {})
    words = ["arms", "chan-T3", "a", "b → c", "d", "e"]
    besides = timeleft.besides(words)["arm"]
    assert plan.parts(words) == [90 + besides, besides, 9.5 + besides, besides]
    assert plan.parts(words, alone=True)[:2] == [90 + besides] * 2
    assert plan.seconds(words) == pytest.approx(99.5 + 4 * besides)
    base = ["arms", "base-models", "world-clip"]  # the job `base` makes it
    assert plan.parts(base) == [timeleft.besides(base)["arm"]]
    monkeypatch.setattr(timeleft, "_planned_arms", lambda *_: {})
    assert plan.parts(words) == [timeleft.OTHERS["arms"] + besides] * 4


@pytest.mark.parametrize(
    "shown, new",
    [
        (("gsl-F1", "gsl-T2", "gsl-T3"), (100, 10, 0, 20)),
        ((), (100, 10, 0, 20)),  # all of them
        (("gsl-T2", "gsl-T3"), (100, 10, 60, 20)),
        (("gsl-T3",), (100, 10, 60, 70)),
    ],
)
def test_what_others_train_is_new_where_they_are_not_asked_for(monkeypatch, shown, new):
    lines = [("gsl-F1", "gsl-0", 100, 100, "1=50"), ("gsl-F1", "gsl-0.2", 10, 10, "2=10")]
    lines += [("gsl-T2", "gsl", 60, 0, "1=50;2=10"), ("gsl-T3", "gsl", 70, 20, "1=50")]
    columns = ("exhibit", "arm", "core_seconds", "new_seconds", "shared")
    rows = [dict(zip(columns, map(str, line))) for line in lines]
    monkeypatch.setattr(timeleft, "_rows", lambda *_: rows)
    timeleft._planned_arms.cache_clear()
    found = timeleft._planned_arms("overnight", "world", shown)
    timeleft._planned_arms.cache_clear()
    assert [found[line[:2]] for line in lines] == [(line[2], n) for line, n in zip(lines, new)]


class Ten(timeleft.Plan):
    """Ten seconds an arm."""

    def parts(self, words, alone=False):
        return [10.0] * len(words[2:])


def test_jobs_wait_for_what_they_need_and_some_are_alone():
    chain = [
        ["notebook", "00_start_here"],
        ["notebook", "13_chan_efficiency"],
        ["efficiency", "chan-F3"],
        ["arms", "chan-F3", "hard"],
        ["base"],
        ["data"],
    ]
    assert timeleft._walk(PLAN, [], [(10, words) for words in chain]) == 60
    free = [["notebook", "01_reported_numbers"], ["benchmark"], ["notebook", "02_data"]]
    two = [(10, words) for words in free]
    assert timeleft._walk(PLAN, [(5, ["notebook", "60_explorer"])], two) == 20
    alone = dataclasses.replace(PLAN, profile=profiles.get("laptop"))
    assert timeleft._walk(alone, [(5, ["notebook", "60_explorer"])], two) == 25


@pytest.mark.parametrize(
    "name, base, images",
    [("smoke", None, 225), ("laptop", None, 8000), ("laptop", "photo-tower", 0)],
)
def test_pretrained_towers_see_each_photograph_before_the_base_model(name, base, images):
    plan = timeleft.Plan(
        profiles.get(name, "flickr8k", {"base": base} if base else None),
        "flickr8k",
        [],
        "arm",
        2,
        {},
    )
    (seconds, arms, _) = timeleft._planned(name, "flickr8k")["base-models"]
    expected = seconds / arms + timeleft.BASE + 0.05 * images
    assert plan.seconds(["base"]) == pytest.approx(expected)


def test_a_reader_that_is_gone_ends_the_run_quietly():
    code = (
        "import sys; from alignbook.workbook import command\n"
        "from alignbook.workbook.running import main_job\n"
        "main_job.run = lambda _: print('x')\nsys.exit(command.main([]))"
    )
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([sys.executable, "-c", code], stdout=write, stderr=subprocess.PIPE)
    os.close(write)
    assert done.returncode == 141 and done.stderr == b""


RECORDED = sorted((ROOT / "tests/expected").glob("*_run*.json"))  # recorder.py adds one


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_the_time_left_of_a_recorded_run_is_right_within_three_tenths(path, tmp_path, monkeypatch):
    """Runs on two cores: smoke alone, with others at work there, three times as long, and gone on
    with; and the laptop profile. The files hold the jobs, when they began and how long they took,
    and what they told of themselves; and how many seeds had been published. From a third of the run
    to its very end nine of ten moments are right.
    """
    assert path.stat().st_size <= 100_000 and len(RECORDED) >= 4
    ran = json.loads(path.read_text())
    known = tmp_path / f"{ran.get('data', 'world')}-{ran.get('profile', 'smoke')}/contrasts.csv"
    known.parent.mkdir()
    lines = [f"{claim},{seeds}" for claim, seeds in ran.get("published", {}).items()]
    known.write_text("\n".join(["claim,seeds", *lines]))
    monkeypatch.setattr(timeleft, "PUBLISHED", tmp_path)
    monkeypatch.setattr(entries, "MEASUREMENTS", 3)  # as there were, GSL's alone one
    monkeypatch.setattr(chapters.HOURS["gsl"], "measured", lambda exhibit, arms, profile: len(arms))
    plan = dataclasses.replace(
        PLAN,
        profile=profiles.get(ran.get("profile", "smoke"), ran.get("data", "world")),
        data=ran.get("data", "world"),
        notebooks=ran.get("notebooks", PLAN.notebooks),
        spread=ran.get("spread", "chapter"),
        cores=ran.get("cores", 2),
    )
    jobs, events = ran["jobs"], []
    for number, job in enumerate(jobs):
        events += [
            info(number, job["began"], *job["words"], rule=job["rule"]),
            finished(number, job["began"] + job["seconds"]),
        ]
    events.sort(key=lambda event: event["time"])
    said = {tuple(job["words"]): job["said"] for job in jobs}

    def state(job, now):
        told = [each for when, each in said[tuple(job.words)] if when <= now - START]
        return told[-1] if told else {}

    first = {**RUN, "stats": ran["stats"]}
    guesses = replayed(plan, [first, *events], state, tmp_path, START + ran["end"], moments=200)
    late = [each for each in guesses if 1 / 3 <= each[0]]
    wrong = {
        share: round(guess / true, 2)
        for share, true, guess in late
        if abs(guess - true) >= 0.3 * true
    }
    assert len(wrong) <= len(late) / 10, wrong


def test_a_run_is_recorded_as_it_is_replayed(tmp_path):
    """Jobs with their times since the first, and of what they told as much as guesses use."""
    events = [
        {**RUN, "stats": STATS},
        info(0, 0.0, "data"),
        finished(0, 2.0),
        info(1, 2.0, "base"),
        finished(1, 9.5),
        info(2, 9.5, "arms", "chan-T3", "max"),
        failed(2, 11.0),
    ]
    told = [
        (START + 2 + i / 50, {"label": "x", "step": i, "steps": 300, "loss": 0.5, "part": None})
        for i in range(1, 300)
    ]
    said = {progress.state_file(tmp_path, ["base"]).stem: told}
    found = recorder.recording(events, said, START + 20)
    assert found["end"] == 20 and found["stats"] == STATS
    data, base = found["jobs"]  # what failed is none
    assert data == {"rule": "data", "words": ["data"], "began": 0.0, "seconds": 2.0, "said": []}
    assert (base["words"], base["began"], base["seconds"]) == (["base"], 2.0, 7.5)
    assert 20 < len(base["said"]) <= recorder.POINTS
    assert base["said"][-1] == [round(2 + 299 / 50, 1), {"step": 299, "steps": 300, "loss": 0}]
