"""A progress bar for work that takes more than two seconds, and times for reading."""

import os

BAR = {}


def show(label: str, done: int, total: int, loss: float | None = None) -> None:
    """Move the bar of some work; it appears after two seconds and goes when all is done.

    Where several jobs share the terminal (the main job's), only the jobs' own lines are shown.
    """
    if "ALIGNBOOK_LIFELINE" in os.environ and "JPY_PARENT_PID" not in os.environ:
        return
    if label in BAR and done <= BAR[label].n:  # started again after an interrupt, in another cell
        BAR.pop(label).close()
    if label not in BAR:
        from tqdm.auto import tqdm

        BAR.clear()
        BAR[label] = tqdm(
            total=total, desc=label, initial=done - 1, delay=2, leave=False, mininterval=0.5
        )
    bar = BAR[label]
    if loss is not None:
        bar.set_postfix_str(f"loss {loss:.3f}", refresh=False)
    bar.update(done - bar.n)
    if done == total:
        BAR.pop(label).close()


def clock(seconds: float) -> str:
    """Seconds for reading: 42 s, 3 min 5 s.

    >>> clock(185.2)
    '3 min 5 s'
    """
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
