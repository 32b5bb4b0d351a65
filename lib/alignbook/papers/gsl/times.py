"""What GSL's notebook of costs shows: seconds by part of an epoch, beside the print (Table 2)."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from alignbook.evidence.statistics import t_interval
from alignbook.papers.gsl.cost import SCHEDULES
from alignbook.papers.gsl.show import LATER, NAMES, NOT_REBUILT
from alignbook.show import figures
from alignbook.show.figures import ACCENT, OURS, PAPER


def increase(costs: pd.DataFrame, column: str, row: str) -> tuple[float, float]:
    """Percent by which a row takes longer than NCR, mean over turns, and half its 95 % interval."""
    wide = costs.pivot(index="seed", columns="row", values=column)
    mean, low, high = t_interval((100 * (wide[row] / wide["ncr"] - 1)).dropna())
    return mean, (high - low) / 2


def cost_table(costs: pd.DataFrame, printed: pd.DataFrame, rows: tuple) -> pd.DataFrame:
    """Table 2 beside the paper's: seconds and the increase over NCR, at a method's own schedule and
    at equal steps, and what division and correction add.

    Parameters
    ----------
    costs : from `cost.costs`. rows : (group, the paper's row, our arm or None) triples.
    """
    paper, lines = printed.set_index(["row", "column"])["value"], []
    for _, name, arm in rows:
        line = {
            "method": name,
            "paper, seconds": paper[name, "seconds"],
            "paper, increase (%)": paper[name, "increase"],
        }
        if made := arm in set(costs.row):
            mine = costs[costs.row == arm].mean(numeric_only=True)
            line |= {
                "ours, seconds": mine["seconds"],
                "ours, seconds an epoch": mine["an epoch"],
                "ours, increase (%)": increase(costs, "seconds", arm)[0],
                "±": increase(costs, "seconds", arm)[1],
                "at equal steps (%)": increase(costs, "at equal steps", arm)[0],
                "division and correction (%)": mine["overhead"],
            }
        lines.append(line | {"": "" if made else LATER if arm else NOT_REBUILT})
    return pd.DataFrame(lines)


PARTS = {  # of an epoch's time, their colours and hatches
    "warm-up": ("#999999", ""),
    "training without correction": (OURS, ""),
    "correction": (PAPER, "////"),
    "division": (ACCENT, "...."),
}


def time_lines(costs: pd.DataFrame) -> pd.DataFrame:
    """Where the seconds go, mean over turns: method and `PARTS`, which add up to the whole."""
    own = costs.groupby("row", sort=False).mean(numeric_only=True)
    own["training without correction"] = own["training"] - own["correction"]
    found = own[[*PARTS]]
    found.insert(0, "method", [NAMES[row] for row in found.index])
    return found.reset_index(drop=True)


def time_bars(lines: pd.DataFrame, note: str):
    """`time_lines` as stacked bars, each part with its share where there is room."""
    figures.use_style()
    figure, axis = plt.subplots(figsize=(8.6, 0.55 * len(lines) + 1.7))
    y, left, whole = -np.arange(len(lines)), np.zeros(len(lines)), lines[list(PARTS)].sum(axis=1)
    for part, (colour, hatch) in PARTS.items():
        wide = lines[part].to_numpy()
        axis.barh(
            y, wide, 0.62, left=left, color=colour, hatch=hatch, edgecolor="white", label=part
        )
        for row in np.flatnonzero(wide > 0.06 * whole.max()):
            axis.text(
                left[row] + wide[row] / 2,
                y[row],
                f"{100 * wide[row] / whole[row]:.0f} %",
                ha="center",
                va="center",
                fontsize=8,
                bbox=dict(facecolor="white", lw=0, pad=1.2),
            )
        left = left + wide
    for row, total in enumerate(whole):
        axis.text(
            total,
            y[row],
            f"  {total:,.0f} s" if total >= 10 else f"  {total:.1f} s",
            va="center",
            fontsize=8.5,
        )
    axis.set_yticks(y, lines.method)
    axis.set_xlabel("seconds of training by the method's own schedule, one thread")
    axis.margins(x=0.1), axis.grid(axis="y", visible=False)
    figure.legend(*axis.get_legend_handles_labels(), loc="upper center", ncols=4, fontsize=8.5)
    figure.text(0.01, 0.005, note, fontsize=8, color="#555555")
    figure.tight_layout(rect=(0, 0.04, 1, 0.92))
    return figure


def schedule_table() -> pd.DataFrame:
    """The epochs of each method's own schedule, and where they are from."""
    return pd.DataFrame(
        [(NAMES[name], each.warm_up, each.epochs, each.source) for name, each in SCHEDULES.items()],
        columns=["method", "epochs of warm-up", "epochs after it", "from"],
    )
