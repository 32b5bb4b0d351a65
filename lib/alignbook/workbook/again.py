"""The primary contrasts once more: trained on another machine, or with another matrix library, do they
read alike?

Rounding differs there, and after some thousand steps a seed has little in common with itself. What
must stay are the contrasts over seeds. ``./run_all.sh publish --again FOLDER`` keeps those of a results
folder from elsewhere in ``again.csv``, beside the published ones of the same name.
"""

import json
from pathlib import Path

import pandas as pd
from scipy import stats

from alignbook.evidence import claims, verdicts
from alignbook.evidence.contrasts import Numbers
from alignbook.store import durable

FILE = "again.csv"
READ = ["seeds", "value", "low", "high", "reading"]  # of contrasts.csv, for both
READ_AGAIN = [f"{name} again" for name in READ]
APART = ["difference", "difference low", "difference high"]


def keep(out: Path, published: Path) -> pd.DataFrame:
    """Write the primary contrasts of both folders to the published one; what was written.

    Parameters
    ----------
    out : the results folder from elsewhere; it need not be whole.

    Raises
    ------
    ValueError
        Nothing is published under its name, or the folder has no primary contrast of it.
    """
    for folder in (published, out):
        for name in ("contrasts", "metrics", "runs"):
            if not (folder / f"{name}.csv").is_file():
                raise ValueError(f"{folder / f'{name}.csv'}: not there; expected whole numbers")
    found = table(out, published)
    if found.empty:
        raise ValueError(f"{out}: no primary contrast that {published} has too")
    durable.write(published / FILE, found.to_csv(index=False, float_format="%.6g"))
    return found


def table(out: Path, published: Path) -> pd.DataFrame:
    """Primary contrasts of both, and by how much they lie apart.

    Returns
    -------
    DataFrame
        claim, contrast, unit; `READ` as published and, with " again" behind it, of `out`; `APART`:
        the mean over seeds there less that here, and its 95 % interval by Welch's t, as the seeds of
        the two have nothing in common; where: what computed it.
    """
    first, second = (pd.read_csv(folder / "contrasts.csv") for folder in (published, out))
    numbers = [Numbers(pd.read_csv(folder / "metrics.csv")) for folder in (published, out)]
    lines = []
    for claim in verdicts.there(claims.load(), numbers[0]):
        for contrast in claim.contrasts if claim.primary else ():
            here, there = (
                each[(each.claim == claim.id) & (each.contrast == contrast.label)]
                for each in (first, second)
            )
            if len(here) and len(there):
                told, again = here.iloc[0], there.iloc[0]
                values = [each.differences(contrast)[1] for each in reversed(numbers)]
                apart = stats.ttest_ind(*values, equal_var=False).confidence_interval()
                means = [each.mean() for each in values]
                lines.append(
                    {"claim": claim.id, "contrast": told.contrast, "unit": told.unit}
                    | {name: told[name] for name in READ}
                    | {f"{name} again": again[name] for name in READ}
                    | dict(zip(APART, (means[0] - means[1], *apart), strict=True))
                    | {"where": where(out)}
                )
    return pd.DataFrame(lines)


def where(out: Path) -> str:
    """The machine of a results folder and the PyTorch that its runs were computed with."""
    starts = json.loads((out / "starts.json").read_text()) if (out / "starts.json").exists() else []
    machines = [f"{each['machine']}, {each['cores']} cores" for each in starts]
    versions = pd.read_csv(out / "runs.csv").versions.map(lambda text: json.loads(text)["torch"])
    return "; ".join(dict.fromkeys([*machines, *(f"PyTorch {each}" for each in versions)]))


def read(published: Path) -> pd.DataFrame:
    """What was kept beside published results; empty where nothing was."""
    file = published / FILE
    return pd.read_csv(file) if file.exists() else pd.DataFrame()


def said(found: pd.DataFrame) -> str:
    """How many contrasts read alike, and how the others do, in words.

    >>> said(pd.DataFrame({"claim": ["a", "b"], "reading": ["open", "holds"], "seeds": [9, 9],
    ...     "reading again": ["open", "open"], "seeds again": [9, 3], "where": "X",
    ...     "difference low": [-1, 1], "difference high": [1, 2]}))
    'Once more on X: 1 of 2 primary contrasts read alike. Not alike: b (holds with 9 seeds, open with 3). \
1 of 2 differ by no more than chance (95 %).'
    """
    alike = found.reading == found["reading again"]
    chance = (found["difference low"] <= 0) & (found["difference high"] >= 0)
    others = [
        f"{row.claim} ({row.reading} with {row.seeds} seeds, {row.again} with {row.more})"
        for row in found[~alike]
        .rename(columns={"reading again": "again", "seeds again": "more"})
        .itertuples()
    ]
    apart = f" Not alike: {', '.join(others)}." if others else ""
    return (
        f"Once more on {found['where'].iloc[0]}: {alike.sum()} of {len(found)} primary contrasts read "
        f"alike.{apart} {chance.sum()} of {len(found)} differ by no more than chance (95 %)."
    )


def written(row: pd.Series, *names: str) -> str:
    """A number and its interval for reading, by the names of their columns."""
    value, low, high = (f"{row[name]:.{claims.DECIMALS.get(row.unit, 1)}f}" for name in names)
    return f"{value} [{low}, {high}]".replace("-", "−")
