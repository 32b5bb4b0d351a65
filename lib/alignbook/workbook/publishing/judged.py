"""The verdicts of a results folder, by what is there of it: it need not be whole.

Notebook 90 judges a whole folder; what is published of a part, or was trained once more elsewhere, is
judged here, from the same numbers.
"""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from alignbook.evidence import claims, verdicts
from alignbook.show import figures, run_tables, tables
from alignbook.workbook import chapters, exhibits, results
from alignbook.workbook.publishing import parts


def of_folder(
    out: Path, some: Sequence[claims.Claim] | None = None, images: Path | None = None
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """What `verdicts.judge` says of some claims, of all by default.

    Parameters
    ----------
    out : a folder with metrics.csv and runs.csv; times count where they are there.
    images : a file as images.parquet; without it there is no interval over images.

    Raises
    ------
    ValueError
        metrics.csv has no line.
    """
    numbers, made = (pd.read_csv(parts.table(out, name)) for name in ("metrics", "runs"))
    if numbers.empty:
        raise ValueError(f"{out / 'metrics.csv'}: no numbers; expected those of claims")
    (profile,) = numbers.profile.unique()
    for name, each in exhibits.EXHIBITS.items():
        if each.timed and (file := out / f"efficiency/{name}.csv").exists():
            costs = chapters.cost_of(name).costs(pd.read_csv(file))
            numbers = run_tables.with_costs(numbers, costs)
    drawn = None if images is None else pd.read_parquet(images)
    return verdicts.judge(numbers, profile, some, drawn, results.trials(made))


def draw(book, published: Path, to: Path) -> None:
    """The table and figures of notebook 90 in `to`, from a published folder's claims.csv and
    contrasts.csv. The table has no column of the reference, which it is itself.
    """
    verdict, contrasts = (
        pd.read_csv(published / f"{each}.csv") for each in ("claims", "contrasts")
    )
    on_paper, printed = verdicts.on_paper()
    table = run_tables.verdict_table(verdict.fillna({"why": ""}), on_paper)
    title = f"Claims, {book.profile.name} profile on {book.kind}"
    tables.save(table, to, "claims", title, run_tables.comparable(book))
    once = contrasts[contrasts.same_as.isna()].fillna({"column": ""})
    groups = run_tables.forest_groups(once, printed)
    for i, ((paper, what, places), lines) in enumerate(groups.items(), 1):
        named = f"{paper}: ours, {book.kind}"
        figure = figures.forest(lines, named, what, run_tables.note_of(book), places)
        figures.save(figure, to, f"claims-{i}", lines)
