"""What the runs were planned to take, by data/budget.csv, and what they took."""

import json

import numpy as np
import pandas as pd

from alignbook import ROOT
from alignbook.core.names import BASE_MODEL
from alignbook.workbook import chapters
from alignbook.workbook.exhibits import EXHIBITS

# Core-seconds of a laptop run, by chapter.
ALLOWED = {"base": 600} | {paper: each.ALLOWED for paper, each in chapters.HOURS.items()}


def budget_table(book, timings: pd.DataFrame) -> pd.DataFrame:
    """What was planned for the profile's exhibits, and what the runs took.

    Parameters
    ----------
    timings : as `results.gather` returns it. A run that several arms share counts once, for the
        first exhibit of `EXHIBITS` it stands under, and the base model with the base models.

    Returns
    -------
    DataFrame
        exhibit, runs, core-seconds (of training) and seconds a step, each planned and measured,
        the ratio of the core-seconds, and a remark where it is above 1.5; NaN for what is on one
        side only.
    """
    planned = pd.read_csv(ROOT / "data" / "budget.csv")
    planned = planned[(planned.profile == book.profile.name) & (planned.data == book.kind)]
    own = timings[(timings.row != BASE_MODEL) | (timings.exhibit == "base-models")]
    own = own.sort_values("exhibit", key=lambda each: each.map(list(EXHIBITS).index), kind="stable")
    found = (
        own.drop_duplicates("run")
        .groupby("exhibit", sort=False)
        .agg(made=("run", "count"), spent=("training_seconds", "sum"), steps_made=("steps", "sum"))
    )
    both = planned.set_index("exhibit").join(found, how="outer")
    ratio = both.spent / both.core_seconds
    return pd.DataFrame(
        {
            "exhibit": both.index,
            "runs planned": both.runs,
            "runs": both.made,
            "core-seconds planned": both.core_seconds,
            "core-seconds": both.spent,
            "seconds a step planned": both.seconds_a_step,
            "seconds a step": both.spent / both.steps_made,
            "measured / planned": ratio,
            "": np.where(ratio > 1.5, "over budget", ""),
        }
    ).reset_index(drop=True)


def chapter_budget() -> pd.DataFrame:
    """Core-seconds that the laptop profile's chapters plan in the world, and what they may take."""
    planned = pd.read_csv(ROOT / "data" / "budget.csv")
    planned = planned[(planned.profile == "laptop") & (planned.data == "world")]
    spent = planned.groupby(planned.exhibit.str.partition("-")[0]).core_seconds.sum()
    return pd.DataFrame(
        {
            "chapter": spent.index,
            "core-seconds planned": spent.to_numpy(),
            "allowed": [ALLOWED[name] for name in spent.index],
            "": np.where(spent > [ALLOWED[name] for name in spent.index], "over", ""),
        }
    )


def made_with(runs: pd.DataFrame) -> pd.DataFrame:
    """On what devices, with which packages and when runs were computed: what, found.

    Parameters
    ----------
    runs : as `results.gather` returns it.
    """
    used = {f"{name} {n}": 0 for text in runs.versions for name, n in json.loads(text).items()}
    lines = [
        ("devices", ", ".join(sorted(set(runs.device)))),
        ("packages", ", ".join(used)),
        ("runs finished", f"{runs.finished.min()} to {runs.finished.max()}"),
    ]
    return pd.DataFrame(lines, columns=["what", "found"])
