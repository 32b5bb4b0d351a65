"""Numbers of a results folder beside the reference's: which lie where no rerun would lie, and which claims
have another verdict (``./run_all.sh compare``).
"""

import argparse
import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import special

from alignbook import ROOT
from alignbook.evidence.verdicts import JUDGED
from alignbook.store import verbatim
from alignbook.workbook import folders
from alignbook.workbook.once import Once
from alignbook.workbook.publishing import parts
from alignbook.workbook.publishing.reference_results import REFERENCE

ROW = ["exhibit", "row", "column"]
LEVEL = 0.05  # share of reruns that are called different though nothing is


def compare(ours: pd.DataFrame, reference: pd.DataFrame) -> pd.DataFrame:
    """Our numbers beside the reference's: where would the mean of so many seeds lie?

    Parameters
    ----------
    ours, reference : metrics.csv, as `results.gather` returns it.

    Returns
    -------
    DataFrame
        exhibit, row, column, seeds and mean of both, low and high, outside: a row for each number
        that both have and the reference has with at least two seeds. The bounds are those of a
        prediction interval, mean ± t · s · √(1/m + 1/n) for m seeds there and n here, at 5 % for
        all numbers together (Bonferroni), and at least a query of the test set wide: rounding on
        another machine may exchange two neighbours.
    """
    here = _means(ours).add_suffix(" here")
    both = _means(reference).add_suffix(" there").join(here, how="inner")
    both = both[both["seeds there"] > 1]
    m, n = both["seeds there"], both["seeds here"]
    t = special.stdtrit(m - 1, 1 - LEVEL / max(1, len(both)) / 2)
    half = np.maximum(t * both["sd there"] * np.sqrt(1 / m + 1 / n), _of_a_query(both))
    low, high = both["mean there"] - half, both["mean there"] + half
    outside = (both["mean here"] < low) | (both["mean here"] > high)
    found = both[["seeds there", "mean there", "seeds here", "mean here"]]
    return found.assign(low=low, high=high, outside=outside).reset_index()


def other_verdicts(ours: pd.DataFrame, reference: pd.DataFrame) -> pd.DataFrame:
    """Claims that were judged in both, as claims.csv has them, and not alike: claim, there, here."""
    here, there = (each.set_index("claim").verdict for each in (ours, reference))
    both = pd.DataFrame({"there": there, "here": here}).loc[lambda x: x.isin(JUDGED).all(axis=1)]
    return both[both.there != both.here].reset_index()


def of_other_code(ours: pd.DataFrame, reference: pd.DataFrame) -> pd.Series:
    """For each run that both lists have, as runs.csv does, whether other code computed it there."""
    which = ["exhibit", "row", "role", "seed"]
    here = ours.drop_duplicates(which).set_index(which)["code"]
    there = reference.drop_duplicates(which).set_index(which)["code"]
    both = here.index.intersection(there.index)
    return here[both] != there[both]


def _of_a_query(both: pd.DataFrame) -> np.ndarray:
    """What one query more changes: a recall in percent by 100 / n, a share by 1 / n. The n of RSUM
    counts images and captions; images are a sixth of them, and one changes RSUM the most.
    """
    sums = both.index.get_level_values("column").str.endswith("RSUM")
    shares = both["mean there"].abs() <= 1
    return np.where(sums, 600, np.where(shares, 1, 100)) / both["n there"]


def _means(metrics: pd.DataFrame) -> pd.DataFrame:
    """Seeds, mean, standard deviation and queries of each number."""
    groups = metrics.groupby(ROW, sort=False)
    found = groups["value"].agg(seeds="count", mean="mean", sd="std")
    return found.assign(sd=found.sd.fillna(0.0), n=groups["n"].first())


def compare_main(arguments: list[str]) -> int:
    """``compare [FOLDER] [--reference DIR]``: 0 if no number lies outside, 1 if one does, 2 for bad input.

    Another verdict alone is told and is no 1: it may turn on the last seed.
    """
    parser = argparse.ArgumentParser(
        prog="run_all.sh compare",
        description="Set the numbers of a results folder beside the reference's, and list those "
        "that lie outside of where a rerun would lie, and claims with another verdict.",
    )
    parser.add_argument("folder", nargs="?", type=Path, help="default: the newest results")
    parser.add_argument(
        "--reference", action=Once, type=Path, help="default: results/reference/<its name>"
    )
    asked = parser.parse_args(arguments)
    try:
        out = asked.folder or folders.newest(ROOT / "results")
        there = asked.reference or _of_its_name(out)
        both = [metrics(folder) for folder in (out, there)]
        found = compare(*both)
        apart, verdicts = _code(out, there), _verdicts(out, there)
    except (ValueError, OSError) as error:
        print(f"run_all.sh: {verbatim.message(error)}", file=sys.stderr)
        return 2
    outside = found[found.outside]
    columns = [*ROW, "mean there", "low", "high", "mean here"]
    if len(outside):
        print(outside[columns].round(2).to_string(index=False))
    if len(verdicts):
        print(verdicts.to_string(index=False))
        print(f"another verdict here: {len(verdicts)} of the claims")
    print(
        f"{len(outside)} of {len(found)} numbers lie outside of where a rerun would lie "
        f"({LEVEL:.0%} for all of them together){_alone(*both)}{apart}"
    )
    return int(len(outside) > 0)


def _of_its_name(out: Path) -> Path:
    """The reference of a results folder; ValueError where none is published."""
    there = REFERENCE / out.resolve().name
    if not there.is_dir():
        known = ", ".join(sorted(each.name for each in REFERENCE.iterdir())) or "none"
        raise ValueError(
            f"{out}: nothing is published under this name; there are: {known}. Name one of them "
            "(--reference results/reference/NAME) or results of one: ./run_all.sh compare results/NAME"
        )
    return there


def _alone(ours: pd.DataFrame, reference: pd.DataFrame) -> str:
    """How many numbers of both the reference has of one seed alone, in words."""
    here, there = (each.groupby(ROW).size() for each in (ours, reference))
    count = int((there[there.index.intersection(here.index)] == 1).sum())
    return f"; {count} more have one seed there, which tells of no range" * bool(count)


def _verdicts(out: Path, there: Path) -> pd.DataFrame:
    """`other_verdicts` of two folders; none where one has not judged."""
    files = [folder / "claims.csv" for folder in (out, there)]
    if not all(file.exists() for file in files):
        return pd.DataFrame()
    return other_verdicts(*(pd.read_csv(file, keep_default_na=False) for file in files))


def _code(out: Path, there: Path) -> str:
    """How many runs are of other code than the reference's, in words; "" where that is not known."""
    files = [parts.table(folder, "runs") for folder in (out, there)]
    if not all(file.exists() for file in files):
        return ""
    apart = of_other_code(*map(pd.read_csv, files))
    if not apart.any():
        return ""
    about = there / "about.json"
    version = (
        json.loads(about.read_text(encoding="utf-8"))["version"]
        if about.exists()
        else "another one"
    )
    return (
        f"; {apart.sum()} of {len(apart)} runs are of other code than the reference's, which is of "
        f"version {version}"
    )


def metrics(folder: Path) -> pd.DataFrame:
    file = folder / "metrics.csv"
    if not file.is_file():
        raise ValueError(f"{file}: not there; expected the numbers of a results folder")
    found = pd.read_csv(file)
    if lacking := {*ROW, "seed", "value", "n"} - {*found}:
        raise ValueError(f"{file}: without {', '.join(sorted(lacking))}; expected a metrics.csv")
    return found
