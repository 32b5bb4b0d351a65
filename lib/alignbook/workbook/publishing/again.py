"""The primary contrasts once more: trained on another machine, or with another matrix library, do
they read alike?

Rounding differs there, and after some thousand steps a seed has little in common with itself. What
must stay are the contrasts over seeds. ``./run_all.sh publish --again FOLDER`` keeps those of a results
folder from elsewhere in ``again.csv``, beside the published ones of the same name. They are judged from
its metrics.csv and runs.csv, so the exhibits of the primary claims are enough (`exhibits.FIRST`).
"""

import json
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

from alignbook.core.names import TARGETS
from alignbook.evidence import claims, verdicts
from alignbook.evidence.contrasts import Numbers
from alignbook.evidence.families import NO_DIFFERENCE
from alignbook.evidence.learnt import DID_NOT_TRAIN
from alignbook.store import durable
from alignbook.workbook import folders
from alignbook.workbook.publishing import judged, parts

FILE = "again.csv"
WHOLE = (NO_DIFFERENCE, DID_NOT_TRAIN)  # what a contrast reads as if its claim does, not by itself
# A contrast by itself, as the verdict on a claim of one contrast.
VERDICTS = {"holds": "reproduced", "reversed": "contradicted", "open": "undecided"}
# Of contrasts.csv, for both. A contrast reads as one of these two lists has it.
READ = ["seeds", "value", "low", "high", "reading"]
READ_AGAIN = [f"{name} again" for name in READ]
APART = ["difference", "difference low", "difference high"]


def keep(out: Path, published: Path) -> pd.DataFrame:
    """Write the primary contrasts of both folders to the published one; what is there now (`read`).

    Of claims that the folder from elsewhere has not measured, what was kept before stays.

    Parameters
    ----------
    out : the results folder from elsewhere; it need not be whole.

    Raises
    ------
    ValueError
        Nothing is published under its name, or the folder has no primary contrast.
    """
    for folder, verdict in ((published, ("claims", "contrasts")), (out, ())):
        for name in (*verdict, "metrics", "runs"):
            if not (file := parts.table(folder, name)).is_file():
                raise ValueError(f"{file}: not there; expected numbers of the primary claims")
    found = table(out, published)
    if found.empty:
        raise ValueError(f"{out}: no primary contrast")
    if (file := published / FILE).exists():
        before = pd.read_csv(file)
        both = pd.concat([before[~before.claim.isin(found.claim)], found])
        order = {claim.id: place for place, claim in enumerate(_primary())}
        found = both.sort_values("claim", key=lambda ids: ids.map(order), ignore_index=True)
    durable.write(published / FILE, found.to_csv(index=False, float_format="%.6g"))
    return read(published)


def table(out: Path, published: Path) -> pd.DataFrame:
    """Primary contrasts of a folder from elsewhere beside the published ones, and how far they lie apart.

    Returns
    -------
    DataFrame
        claim, contrast, unit; `READ` as published and, with " again" appended, of `out`; `APART`:
        the mean over seeds there less that here, and its 95 % interval by Welch's t, as the seeds
        of the two have nothing in common; where: what computed it. For a contrast that is not among
        the published ones, `READ` and `APART` are NaN.
    """
    both = [_Read(judged.of_folder(out, _primary())), _Read(_verdicts(published))]
    numbers = [Numbers(pd.read_csv(each / "metrics.csv")) for each in (out, published)]
    lines = []
    for claim in verdicts.there(_primary(), numbers[0]):
        for contrast in claim.contrasts:
            again, here = (each.line(claim.id, contrast.label) for each in both)
            if again is None:
                continue
            line = {"claim": claim.id, "contrast": contrast.label, "unit": contrast.unit}
            line |= dict.fromkeys([*READ, *APART], np.nan) | (here or {})
            line |= {f"{name} again": value for name, value in again.items()}
            if here is not None:
                values = [each.differences(contrast)[1] for each in numbers]
                apart = stats.ttest_ind(*values, equal_var=False).confidence_interval()
                line |= zip(APART, (values[0].mean() - values[1].mean(), *apart), strict=True)
            lines.append(line | {"where": where(out)})
    return pd.DataFrame(lines)


def _primary() -> list[claims.Claim]:
    return [claim for claim in claims.load() if claim.primary]


def _verdicts(published: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Claims and contrasts as they are published."""
    return pd.read_csv(published / "claims.csv"), pd.read_csv(published / "contrasts.csv")


class _Read:
    """How the primary contrasts of a folder read, by its claims and contrasts."""

    def __init__(self, known: tuple[pd.DataFrame, pd.DataFrame]):
        self.verdicts, self.contrasts = known[0].set_index("claim").verdict, known[1]

    def line(self, claim: str, contrast: str) -> dict | None:
        """What `READ` names of a contrast; None where it was not measured."""
        own = self.contrasts[
            (self.contrasts.claim == claim) & (self.contrasts.contrast == contrast)
        ]
        if not len(own):
            return None
        found, verdict = own.iloc[0][READ].to_dict(), self.verdicts.get(claim)
        return found | {"reading": verdict if verdict in WHOLE else VERDICTS[found["reading"]]}


def where(out: Path) -> str:
    """The machine of a results folder and the PyTorch that its runs were computed with."""
    machines = map(folders.machine_of, folders.starts_of(out))
    versions = pd.read_csv(out / "runs.csv").versions.map(lambda text: json.loads(text)["torch"])
    return "; ".join(dict.fromkeys([*machines, *(f"PyTorch {each}" for each in versions)]))


def read(published: Path) -> pd.DataFrame:
    """What was kept beside published results; empty where nothing was.

    Where other numbers have been published since, these stand there, `since` is True, and how far both
    lie apart is reckoned from their two intervals: the seeds of what was kept are not at hand.
    """
    file = published / FILE
    if not file.exists():
        return pd.DataFrame()
    numbers = dict.fromkeys([*READ[:-1], *APART], float)  # a column of whole ones takes others
    found = pd.read_csv(file, dtype=numbers).assign(since=False)
    here = _Read(_verdicts(published))
    for at, row in found.iterrows():
        if now := here.line(row.claim, row.contrast):
            found.loc[at, READ] = [now[name] for name in READ]
            if (now["seeds"], f"{now['value']:.6g}") != (row.seeds, f"{row.value:.6g}"):
                found.loc[at, APART] = _apart(found.loc[at])
                found.loc[at, "since"] = True
    return found


def _apart(row: pd.Series) -> tuple[float, float, float]:
    """`APART` from two means with their intervals (95 %, Student's t), by Welch's t."""
    seeds, squares = np.array([row["seeds again"], row.seeds], float), []
    for n, ends in zip(seeds, ("{} again", "{}")):
        half = (row[ends.format("high")] - row[ends.format("low")]) / 2
        squares.append((half / stats.t.ppf(0.975, n - 1)) ** 2)
    df = sum(squares) ** 2 / sum(each**2 / (n - 1) for each, n in zip(squares, seeds))
    half, apart = stats.t.ppf(0.975, df) * sum(squares) ** 0.5, row["value again"] - row.value
    return apart, apart - half, apart + half


def said(found: pd.DataFrame) -> str:
    """How many contrasts read alike, and how the others do, in words.

    >>> said(pd.DataFrame({"claim": ["a", "b"], "reading": ["undecided", "reproduced"], "seeds": [9, 9],
    ...     "reading again": ["undecided", "undecided"], "seeds again": [9, 3], "where": "X",
    ...     "difference low": [-1, 1], "difference high": [1, 2], "since": [False, True]}))
    'Once more on X: 1 of 2 primary contrasts read alike. Not alike: b (reproduced with 9 seeds, undecided with 3). \
1 of 2 differ by no more than chance (95 %). Beyond chance: b. Other numbers were published since: b.'
    """
    both = found.dropna(subset="reading")
    alike = both.reading == both["reading again"]
    chance = (both["difference low"] <= 0) & (both["difference high"] >= 0)
    others = [
        f"{row.claim} ({row.reading} with {row.seeds:.0f} seeds, {row.again} with {row.more:.0f})"
        for row in both[~alike]
        .rename(columns={"reading again": "again", "seeds again": "more"})
        .itertuples()
    ]
    apart = f" Not alike: {', '.join(others)}." if others else ""
    beyond = f" Beyond chance: {', '.join(both[~chance].claim)}." if not chance.all() else ""
    new = found[found.reading.isna()].claim
    alone = f" Only there: {', '.join(new)}." if len(new) else ""
    old = found[found.since].claim
    since = f" Other numbers were published since: {', '.join(old)}." if len(old) else ""
    return (
        f"Once more on {' and '.join(found['where'].unique())}: {alike.sum()} of {len(both)} primary contrasts read "
        f"alike.{apart} {chance.sum()} of {len(both)} differ by no more than chance (95 %).{beyond}{alone}{since}"
    )


def written(row: pd.Series, *names: str) -> str:
    """A number and its interval for reading, by the names of their columns; a dash for none.

    >>> row = pd.Series({"unit": "points", "a": -1.0, "b": -2.04, "c": 0.5, "d": float("nan")})
    >>> written(row, "a", "b", "c"), written(row, "d", "d", "d")
    ('−1.0 [−2.0, 0.5]', '–')
    """
    if pd.isna(row[names[0]]):
        return "–"
    value, low, high = (f"{row[name]:.{claims.DECIMALS.get(row.unit, 1)}f}" for name in names)
    return f"{value} [{low}, {high}]".replace("-", "−")


def read_with(row: pd.Series, *names: str) -> str:
    """The number, how many seeds it took and how it reads, by the columns of `READ`, and the target if
    it is of one alone (`Claim.on`); or a dash.
    """
    seeds, *value, reading = names
    if pd.isna(row[reading]):
        return "–"
    target = row.contrast.rpartition(", ")[2]
    alone = f" on {target} alone" * (target in TARGETS)
    return f"{written(row, *value)}, {row[seeds]:.0f} seeds{alone}: {row[reading]}"
