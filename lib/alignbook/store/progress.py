"""How far some work is: a bar by hand and in a notebook, a file that the main job reads.

Jobs of the main job share its terminal, so none of them draws a bar there. Each keeps a small file
`results/<…>/.live/<name>.json` instead, which the main job shows (`live`): what is at work, its
step, its loss. Files work wherever a job runs: forked, started by a shell or on another machine.
"""

import hashlib
import json
import os
import time
from contextlib import contextmanager
from pathlib import Path

from alignbook.store import ranks

BAR = {}
VARIABLE = "ALIGNBOOK_LIVE"  # the file of this job; in the environment of all it starts
BETWEEN = 0.5  # seconds between two writes
TRAINED = 0.95  # of a part are its trainings; the rest is what comes after them
_told = {
    "at": float("-inf"),
    "part": None,
    "kept": 0,
    "shown": False,
    "trainings": (0, 0),
    "step": 0.0,
}


def show(label: str, step: int, steps: int, loss: float | None = None, dev: float | None = None):
    """Move the bar of some work; it appears after two seconds and goes when all is done.

    Parameters
    ----------
    label : what is at work; a training's own name.
    step, steps : how many steps are done, of how many.
    loss, dev : the last step's loss, and the last value on dev where one is known.
    """
    _told["shown"] = True
    if loss is not None:  # a training may have several stages: it is as far as its furthest
        _told["step"] = max(_told["step"], step / steps)
    _tell(label=label, step=step, steps=steps, loss=loss, dev=dev)
    if is_shared() or ranks.rank():
        return
    if label in BAR and step <= BAR[label].n:  # started again after an interrupt, in another cell
        BAR.pop(label).close()
    if label not in BAR:
        from tqdm.auto import tqdm

        BAR.clear()
        BAR[label] = tqdm(
            total=steps, desc=label, initial=step - 1, delay=2, leave=False, mininterval=0.5
        )
    bar = BAR[label]
    if words := numbers(loss, dev):
        bar.set_postfix_str(words, refresh=False)
    bar.update(step - bar.n)
    if step == steps:
        BAR.pop(label).close()


def numbers(loss: float | None, dev: float | None) -> str:
    """What is known of a training, for reading.

    >>> numbers(12.34567, None), numbers(0.5, 71.04), numbers(None, None)
    ('loss 12.346', 'loss 0.500, dev 71.0', '')
    """
    known = (("loss", loss, 3), ("dev", dev, 1))
    return ", ".join(f"{name} {x:.{digits}f}" for name, x, digits in known if x is not None)


def is_shared() -> bool:
    """Whether this process writes to the main job's terminal, where no bars are drawn."""
    return "ALIGNBOOK_LIFELINE" in os.environ and "JPY_PARENT_PID" not in os.environ


@contextmanager
def told(out: Path, words: list[str]):
    """While this lasts, what this process and those it starts `show` reaches the main job.

    Parameters
    ----------
    out : the results folder. Without a main job at work there nothing is told.
    words : the job's kind and names, as on its command line.
    """
    file = state_file(out, words).resolve()
    if not file.parent.is_dir():
        yield
        return
    os.environ[VARIABLE] = str(file)
    try:
        yield
    finally:
        del os.environ[VARIABLE]
        file.unlink(missing_ok=True)


def state_file(out: Path, words: list[str]) -> Path:
    """Where a job says how far it is."""
    name = hashlib.sha256("\0".join(words).encode()).hexdigest()[:16]
    return Path(out) / ".live" / f"{name}.json"


def part(done: int, of: int, trainings: int = 0) -> None:
    """So many of the parts that a job has are done, and the next has so many trainings.

    Parts and trainings before the first that had anything to `show` were kept: an earlier start made
    them.
    """
    if not done:
        _told["shown"] = False
    _told.update(part=(done, of), trainings=(0, trainings), step=0.0)
    _move()


def trained() -> None:
    """One more training of the part at work is there."""
    done, of = _told["trainings"]
    if of:
        _told.update(trainings=(min(done + 1, of), of), step=0.0)
        _move()


def _move() -> None:
    if not _told["shown"]:
        _told["kept"] = _place()
    _tell()


def _place() -> float:
    """How many parts are done, that at work by its trainings."""
    parts, (done, of) = _told["part"][0], _told["trainings"]
    return parts + TRAINED * min(done + _told["step"], of) / of if of else parts


def _tell(**state) -> None:
    now = time.monotonic()
    if VARIABLE not in os.environ or ranks.rank() or now < _told["at"] + BETWEEN:
        return
    _told["at"] = now
    file = Path(os.environ[VARIABLE])
    state = {
        name: value if isinstance(value, (str, int)) else float(value)
        for name, value in state.items()
        if value is not None
    }
    aside = file.with_suffix(f".{os.getpid()}")
    try:
        far = _told["part"] and (_place(), _told["part"][1])
        aside.write_text(json.dumps({**state, "part": far, "kept": _told["kept"]}))
        os.replace(aside, file)
    except OSError:  # nobody looks any more, or the disk is full: no reason to stop the work
        pass


def clock(seconds: float) -> str:
    """Seconds for reading: 42 s, 3 min 5 s.

    >>> clock(185.2)
    '3 min 5 s'
    """
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
