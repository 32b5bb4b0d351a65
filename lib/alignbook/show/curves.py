"""Curves of training in a chapter's notebook: has an arm learnt, and would it learn more?"""

import math

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from alignbook.evidence import learnt
from alignbook.show import figures, tables
from alignbook.store import runs

BLOCKS = 60  # points of a loss curve: each the mean of a block of steps
A_ROW = len(figures.MARKS)  # arms in one row of panels: colours are distinct for every vision
# Shares of the trivial loss: with any above this, such as those of an earlier loss, the axis is
# logarithmic.
MOST = 1.5
NOTE = (
    "Lines: means over seeds; shades: all seeds. Left: the loss divided by what a model costs that knows "
    "nothing;\nabove the dashed line an arm did not train (‡), unless dev rose five times and above 100. "
    "Right: RSUM on images of dev;\na run is measured as its best look saw it; one that ends below half of that "
    "did not train either. † still learning."
)
OTHER_LOSS = (
    "\nLeft, on a logarithmic scale: where training begins with another loss, the trivial level is "
    "the last one's."
)


WARM_UP = "\nSteps below 0 are a warm-up, with a loss of its own."


def show(book, exhibit: str) -> None:
    """Draw the curves of an exhibit's arms, save and show them; say so where nothing was trained.

    Parameters
    ----------
    book : Workbook
    exhibit : such as "chan-T3".
    """
    points = table(book.arms(exhibit))
    if not len(points):
        print(f"{exhibit}: none of its arms is trained in the {book.profile.name} profile")
        return
    figures.save(draw(points), book.out, f"{exhibit}-training", points)


def of_run(run: runs.Run) -> dict[str, np.ndarray]:
    """The curves of a trained run, `(n, 2)` each: steps taken, value; of its warm-up before 0.

    "loss" and "rate" have a value a step, "share" is the loss by its trivial level where that is
    known, "dev" has one a look.
    """
    loss, rate, dev = (np.array(run.array(name), float) for name in ("loss", "rate", "dev"))
    steps = np.arange(1, len(loss) + 1)
    share = loss / (run.metrics.get("trivial loss") or np.nan)  # of no labels it is 0
    found = {
        name: np.stack([steps, values], 1)
        for name, values in (("loss", loss), ("rate", rate), ("share", share))
        if len(values) == len(steps) and not np.isnan(values).all()
    } | {"dev": dev.reshape(-1, 2)}
    if "warm_up_epochs" in run.config:
        for before in map(of_run, map(runs.stored, run.record["asked"])):
            first = len(before["loss"])
            for name in before.keys() & found.keys():
                points, own = before[name] - [first, 0], found[name]
                early = points[:, 0] < own[0, 0]  # both may have looked at dev at step 0
                found[name] = np.concatenate([points[early], own])
    return found


def table(arms: pd.DataFrame) -> pd.DataFrame:
    """The points of the curves of reported runs: arm, seed, state, curve, step, value.

    If there are more than `BLOCKS` points, means of blocks are shown, except of "dev". A run that
    measured another stands with that one's curves; arms that train nothing are left out.
    """
    lines = []
    for row in arms[arms.role == "report"].itertuples():
        run = learnt.trained(runs.stored(row.key))
        if run is None or not len(run.array("loss")):
            continue
        state = learnt.of_run(runs.stored(row.key))
        for kind, points in of_run(run).items():
            points = points if kind == "dev" else blocks(points)
            if kind in ("share", "dev"):
                lines += [(row.arm, row.seed, state, kind, *point) for point in points.tolist()]
    return pd.DataFrame(lines, columns=["arm", "seed", "state", "curve", "step", "value"])


def blocks(points: np.ndarray, most: int = BLOCKS) -> np.ndarray:
    """Means of at most so many blocks of a curve: `(n, 2)` → `(≤ most, 2)`.

    >>> blocks(np.array([[1.0, 8], [2, 4], [3, 2], [4, 0]]), 2).tolist()
    [[1.5, 6.0], [3.5, 1.0]]
    """
    if len(points) <= most:
        return points
    return np.array([part.mean(0) for part in np.array_split(points, most)])


def draw(points: pd.DataFrame):
    """A row of two panels, loss and dev, for at most six arms each."""
    figures.use_style()
    names = list(dict.fromkeys(points.arm))
    count = math.ceil(len(names) / A_ROW)
    groups = [names[i * len(names) // count : (i + 1) * len(names) // count] for i in range(count)]
    figure, panels = plt.subplots(
        count, 2, figsize=(8.6, 2.5 * count + 0.5), squeeze=False, layout="constrained"
    )
    other = bool((points[points.curve == "share"]["value"] > MOST).any())
    for (left, right), group in zip(panels, groups):
        for name, (_, colour) in zip(group, figures.MARKS):
            own = points[points.arm == name]
            label = name + tables.MARKS.get(learnt.of_row(own.state), "")
            _line(left, own[own.curve == "share"], colour, label)
            _line(right, own[own.curve == "dev"], colour, label, marker="o", ms=3)
        left.axhline(learnt.SHARE, color=figures.INK, lw=0.8, ls="--")
        left.set(ylabel="loss, share of trivial", xlabel="step")
        if other:
            left.set_yscale("log")
            left.yaxis.set_major_formatter("{x:g}")
            left.yaxis.set_minor_formatter("")
        else:
            left.set_ylim(0)
        right.set(ylabel="RSUM on dev", xlabel="step")
        shown = right if right.get_legend_handles_labels()[0] else left
        right.legend(
            *shown.get_legend_handles_labels(),
            loc="center left",
            bbox_to_anchor=(1.01, 0.5),
            fontsize=8,
        )
    note = NOTE + OTHER_LOSS * other + WARM_UP * bool((points.step < 0).any())
    figure.supxlabel(note, fontsize=8, color="#555555", x=0.01, ha="left")
    return figure


def _line(axis, own: pd.DataFrame, colour: str, label: str, **marks) -> None:
    """The mean over seeds at each step, and what all seeds span."""
    if not len(own):
        return
    seeds = own.groupby("step")["value"].agg(["mean", "min", "max"])
    axis.plot(seeds.index, seeds["mean"], color=colour, lw=1.4, label=label, **marks)
    axis.fill_between(seeds.index, seeds["min"], seeds["max"], color=colour, alpha=0.18, lw=0)
