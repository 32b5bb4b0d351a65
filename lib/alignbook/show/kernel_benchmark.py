"""What the kernels were measured to take, for notebook 50: reading, tables, the figure.

The measuring itself is `benchmarks/kernels.py`, beside the library.
"""

import subprocess
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.ticker import LogLocator

from alignbook import PACKAGE, ROOT
from alignbook.show import run_tables
from alignbook.show.figures import INK, OURS, PAPER, use_style
from alignbook.store import home

KEPT = PACKAGE / "show/hardware"  # tables of other machines, as they were printed there
ELSEWHERE = " on cuda"  # rows of a CPU's table that need a GPU
PEER = "#9a9a9a"
WORDS = ["dtype", "bar", "met", "note"]  # columns of text, which may be empty


def measure(book) -> None:
    """Start the benchmark as a process of its own; its table goes to `book.out/benchmarks`.

    A laptop starts it once and for one width, which takes a minute; larger profiles five times and
    for all. Raises ValueError if it fails; its own message is printed before.
    """
    home.needs_checkout("the benchmark")
    once = ["--size", "full", "--widths", "256", "--starts", "1"]
    asked = {"smoke": ["--size", "smoke"], "laptop": once}
    how = asked.get(book.profile.name, ["--size", "full"])
    command = ["-m", "benchmarks.kernels", *how, "--out", str(_file(book))]
    if code := subprocess.run([sys.executable, *command], cwd=ROOT).returncode:
        raise ValueError(f"benchmarks.kernels ended with {code}; its message stands above")


def table(book) -> pd.DataFrame:
    """The benchmark's table; measured now if it isn't there."""
    if not _file(book).exists():
        measure(book)
    return read(_file(book))


def kept(folder: Path = KEPT) -> pd.DataFrame:
    """Tables kept from other machines, one below the other; empty where there are none."""
    files = sorted(Path(folder).glob("*.csv"))
    return pd.concat([read(file) for file in files], ignore_index=True) if files else pd.DataFrame()


def read(file: Path) -> pd.DataFrame:
    """A table as `benchmarks.kernels` writes it."""
    return pd.read_csv(file).fillna(dict.fromkeys(WORDS, ""))


def _file(book) -> Path:
    return Path(book.out).resolve() / "benchmarks/kernels.csv"


def measured(found: pd.DataFrame, *roles: str) -> pd.DataFrame:
    """Rows of some roles that have numbers, role by role and width by width, for a notebook."""
    own = pd.concat([found[(found.role == role) & found.ratio.notna()] for role in roles])
    own = own.sort_values("d", kind="stable")
    own = pd.concat([own[own.role == role] for role in roles])
    spread = [f"{low:.2f}–{high:.2f}" for low, high in zip(own.ratio_20, own.ratio_80)]
    return pd.DataFrame(
        {
            "row": own.row,
            "d": own.d,
            "ms": own.ms,
            "× floor": own.ratio,
            "20–80 %": spread,
            "MB": own.MB,
            "bar": own.bar,
            "met": own.met,
        }
    ).reset_index(drop=True)


def remarks(found: pd.DataFrame) -> pd.DataFrame:
    """What the rows say of themselves: another floor than a product, or why they weren't run."""
    return found[found.note != ""][["row", "d", "bar", "note"]].reset_index(drop=True)


def verdict(found: pd.DataFrame) -> str:
    """How many bars are met, and which are not."""
    judged, missed = found[found.met != "-"], found[found.met == "no"]
    if judged.empty:
        return "no bar is asked of so small a run"
    names = "; ".join(
        f"{line.row}, d = {line.d}: {line.ratio:.2f} for {line.bar}" for line in missed.itertuples()
    )
    return f"{len(judged) - len(missed)} of {len(judged)} bars met" + f" ({names})" * bool(names)


def times_hard_coding(found: pd.DataFrame) -> pd.DataFrame:
    """How many times hard coding's time the other ways to a similarity take, a line a width."""
    own = found[(found.role == "quotient") & found.row.str.endswith(" ÷ hard coding")]
    lines = own.assign(way=own.row.str.removesuffix(" ÷ hard coding"))
    order = dict.fromkeys(lines.sort_values("ratio").way)
    return lines.pivot(index="d", columns="way", values="ratio")[list(order)].reset_index()


def device_of(found: pd.DataFrame) -> str:
    """What a table was measured on, with what, and when."""
    first = found.iloc[0]
    threads = f"{first.threads:g} thread{'' if first.threads == 1 else 's'}"
    starts = f"{found.starts.max()} start{'' if found.starts.max() == 1 else 's'}"
    said = f"{first.device}, {threads}, {starts}, PyTorch {first.torch}, {first.date}"
    where = run_tables.measured_on(found)
    return f"{said}; measured on {where}" if where else said


def plotted(found: pd.DataFrame) -> pd.DataFrame:
    """What `against_floor` draws: ours and peers at the widths that most rows have."""
    own = found[found.role.isin(["ours", "peer"]) & ~found.row.str.endswith(ELSEWHERE)]
    rows = own.groupby("d").size()
    own = own[own.d.isin(rows.index[rows > rows.max() / 2]) & own.ratio.notna()]
    forward = own.note.str.contains("floor: forward")
    label = own.row + np.where(forward, " ÷ forward", "")
    limit = own.bar.str.extract(r"([\d.]+)$", expand=False).astype(float)
    return own.assign(label=label, limit=limit).sort_values(["d", "role"], kind="stable")


def against_floor(lines: pd.DataFrame, note: str):
    """Horizontal bars from the floor at 1, a panel for each width; log axis.

    Parameters
    ----------
    lines : label, role, d, ratio, ratio_20, ratio_80 and limit (the bar set, or NaN), as `plotted`.
    """
    use_style()
    labels, widths = list(dict.fromkeys(lines.label)), sorted(lines.d.unique())
    size = (4.1 * len(widths) + 1.6, 0.34 * len(labels) + 1.3)
    figure, axes = plt.subplots(
        1, len(widths), figsize=size, sharex=True, sharey=True, squeeze=False
    )
    for axis, d in zip(axes[0], widths):
        for line in lines[lines.d == d].itertuples():
            y = -labels.index(line.label)
            colour = OURS if line.role == "ours" else PEER
            axis.barh(y, line.ratio - 1, left=1, height=0.62, color=colour)
            axis.plot([line.ratio_20, line.ratio_80], [y, y], color=INK, lw=1)
            right = line.ratio >= 1
            end = (
                np.nanmax([line.ratio_80, line.limit])
                if right
                else (np.nanmin([line.ratio_20, line.limit]))
            )
            axis.annotate(
                f"{line.ratio:.2f}",
                (end, y),
                (4 if right else -4, 0),
                textcoords="offset points",
                fontsize=7.5,
                va="center",
                ha="left" if right else "right",
            )
            axis.vlines(line.limit, y - 0.45, y + 0.45, color=PAPER, lw=2, zorder=5)
        axis.axvline(1, color=INK, lw=0.9)
        axis.set_xscale("log")
        axis.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.xaxis.set_major_formatter("{x:g}")
        axis.xaxis.set_minor_formatter("")
        axis.margins(x=0.16)
        axis.set_title(f"d = {d}")
        axis.set_xlabel("time as a multiple of the floor's")
        axis.tick_params(length=0, which="both")
        axis.grid(False, axis="y")
    axes[0, 0].set_yticks([-i for i in range(len(labels))], labels)
    axes[0, 0].set_ylim(-len(labels) + 0.3, 0.7)
    handles = [
        plt.Rectangle((0, 0), 1, 1, color=OURS),
        plt.Rectangle((0, 0), 1, 1, color=PEER),
        plt.Line2D([], [], color=PAPER, lw=2),
    ]
    figure.legend(
        handles, ["ours", "peers", "bar set by the project"], loc="upper right", ncols=3, fontsize=8
    )
    figure.text(0.01, 0.005, note, fontsize=8, color="#555555")
    figure.tight_layout(rect=(0, 0.03, 1, 0.97))
    return figure
