"""What becomes of a warm-up: division, labels and scores of GSL and its rivals, epoch by epoch.

A network that has undone its warm-up scores all pairs alike: then no loss tells clean pairs from
noisy ones, and no division can.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from alignbook.papers.gsl.catalogue import LONGER, method_and_rate
from alignbook.papers.gsl.identification import COURSE
from alignbook.papers.gsl.show import NAMES, STYLES
from alignbook.show import figures
from alignbook.store import runs

APART = "own − others"  # of dev's scores: an image with its own captions, and with others


def course(listed: pd.DataFrame, rate: str = "0.4") -> pd.DataFrame:
    """Runs at a rate of noise by epoch, 0 for the warm-up: a line a method and epoch, means over the
    reported seeds; NaN where there is no division, or no label.

    Controls of four times the steps and what learns nothing after the warm-up are left out.

    Returns
    -------
    DataFrame: method, epoch, seeds; RSUM on dev; shares in percent of the noisy pairs that are found
    and of the clean ones that are kept; division AUC; mean labels of both; own − others, and the
    spread of the others, of dev's scores.
    """
    lines = []
    for arm, group in listed[listed.role == "report"].groupby("arm", sort=False):
        method, share = method_and_rate(arm)
        found = [runs.stored(key) for key in group.key]
        if share != rate or arm in LONGER or not found[0].config["after"]:
            continue
        dev = np.mean([run.array("dev")[:, 1] for run in found], axis=0)
        told = pd.DataFrame(np.mean([run.array("course") for run in found], axis=0), columns=COURSE)
        told[APART] = told["own score"] - told["other scores"]
        first = {"method": NAMES[method], "epoch": range(len(told)), "seeds": len(found)}
        lines.append(told.assign(**first, **{"RSUM on dev": dev}))
    shown = ["noise found", "clean kept", "division AUC", "label, clean", "label, noisy"]
    columns = ["method", "epoch", "seeds", "RSUM on dev", *shown, APART, "spread"]
    return pd.concat(lines, ignore_index=True)[columns] if lines else pd.DataFrame(columns=columns)


def course_figure(table: pd.DataFrame, note: str):
    """`course` in four panels: dev, noise that is found, clean pairs that are kept, and how far apart
    the scores are of what belongs together and of what does not. A curve a method."""
    figures.use_style()
    figure, axes = plt.subplots(1, 4, figsize=(12.5, 3.4), sharex=True)
    panels = {
        "RSUM on dev": "dev: RSUM",
        "noise found": "division: wrong pairs found (%)",
        "clean kept": "division: clean pairs kept (%)",
        APART: "scores: right pairs minus others",
    }
    for axis, (column, title) in zip(axes, panels.items()):
        for name, own in table.groupby("method", sort=False):
            mark, colour, dashes = STYLES[name]
            axis.plot(own.epoch, own[column], dashes, marker=mark, color=colour, label=name)
        axis.set_title(title, fontsize=10)
        axis.set_xlabel("epoch (0: the warm-up)")
        axis.xaxis.get_major_locator().set_params(integer=True)
    for axis in axes[1:3]:
        axis.set_ylim(-3, 103)
    axes[3].set_ylim(bottom=min(0, axes[3].get_ylim()[0]))
    figure.legend(*axes[0].get_legend_handles_labels(), loc="upper right", ncols=6, fontsize=8.5)
    figure.text(0.01, 0.005, note, fontsize=8, color="#555555")
    figure.tight_layout(rect=(0, 0.05, 1, 0.92))
    return figure
