"""One style for every table: the paper's number beside ours, decimals aligned, intervals shown."""

from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from alignbook.core.names import COLUMNS
from alignbook.evidence import learnt, printed_tables
from alignbook.show import outputs
from alignbook.show.figures import PAPER
from alignbook.store import verbatim

HEADINGS = {
    "i2t R@1": "Image → Text R@1",
    "i2t R@5": "R@5",
    "i2t R@10": "R@10",
    "t2i R@1": "Text → Image R@1",
    "t2i R@5": "R@5 ",
    "t2i R@10": "R@10 ",
    "RSUM": "RSUM",
}
ENSEMBLE = (
    "in the paper an ensemble of two models; of ours SGRAF alone is one, others are not comparable"
)
# After a row's name: the print's star; the worst of its seeds counts, see `learnt`.
MARKS = {ENSEMBLE: " *", learnt.DID_NOT_TRAIN: " ‡", learnt.STILL_LEARNING: " †"}


def beside_paper(
    summary: pd.DataFrame,
    printed: pd.DataFrame,
    rows: tuple,
    prefix: str = "",
    columns: tuple = COLUMNS,
    claimed: tuple = (),
    reference: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Recalls of an exhibit in the paper's layout, ours beside the print.

    Parameters
    ----------
    summary : row, column, mean, low, high, seeds, of our arms.
    printed : group, row, column, value, mark, as transcribed.
    rows : (group, the paper's row, our arm) triples in reading order; None where one side has none.
    prefix : of the columns that are wanted, such as "5K ", where a table has several test sets.
    columns : recalls, or what else a table has.
    claimed : those of the recalls that a claim rests on, which have an interval too.
    reference : `summary` of the exhibit's published runs (`published.numbers`), if there are any;
        its `attrs["note"]` becomes the table's, which `show` and `save` add to theirs.

    Returns
    -------
    DataFrame, a line each; for every column `paper` and `ours`, and half the width of ours' 95 %
    interval (NaN with one seed) and the `reference`: for RSUM and what is `claimed`, without recalls
    for every column. The print's columns of words stand before them, its stars after names.
    """
    known = None if reference is None else reference.set_index(["row", "column"])["mean"]
    ours = summary.set_index(["row", "column"])
    states = summary.groupby("row")["learnt"].agg(learnt.of_row) if "learnt" in summary else {}
    paper = printed.set_index(["group", "row", "column"])["value"]
    words, starred = printed_tables.words(printed), printed_tables.ensembles(printed)
    lines = []
    for group, label, arm in rows:
        star = MARKS[ENSEMBLE] if (group, label) in starred else ""
        line = {("", "group"): group, ("", "row"): label + star + MARKS.get(states.get(arm), "")}
        line |= {("", name): said.get((group, label), "") for name, said in words.items()}
        for column in columns:
            line[column, "paper"] = paper.get((group, label, prefix + column), np.nan)
            line[column, "ours"] = ours["mean"].get((arm, prefix + column), np.nan)
            if column in claimed or column not in COLUMNS[:-1]:
                low, high = (ours[b].get((arm, prefix + column), np.nan) for b in ("low", "high"))
                line[column, "±"] = (high - low) / 2
                if known is not None:
                    line[column, "reference"] = known.get((arm, prefix + column), np.nan)
        line["", "seeds"] = ours["seeds"].get((arm, prefix + columns[-1]), 0)
        lines.append(line)
    table = pd.DataFrame(lines)
    table.columns = pd.MultiIndex.from_tuples(table.columns)
    table.attrs["note"] = "" if reference is None else reference.attrs.get("note", "")
    return table


def show(table: pd.DataFrame, caption: str, note: str = ""):
    """A table beside the paper's, for a notebook: one decimal, the best of ours in bold."""
    note = with_legend(table["", "row"], _noted(table, note))
    numbers = [c for c in table.columns if c[1] in ("paper", "ours", "±", "reference")]
    words = [c for c in table.columns if c not in numbers and c[1] != "seeds"]
    plain = table.rename(columns=HEADINGS, level=0)
    numbers = [(HEADINGS.get(a, a), b) for a, b in numbers]
    styled = (
        plain.style.format("{:.1f}", subset=numbers, na_rep="–")
        .format("{:.0f}", subset=[("", "seeds")])
        .format(verbatim.html, subset=words)
        .highlight_max(
            subset=[c for c in numbers if c[1] == "ours"], props="font-weight: bold", axis=0
        )
        .set_properties(subset=[c for c in numbers if c[1] == "paper"], color=PAPER)
    )
    return _dressed(styled, numbers, caption, note)


def marks(metrics: pd.DataFrame) -> dict[str, str]:
    """What follows the name of each arm that did not simply learn, by its row."""
    if "learnt" not in metrics:
        return {}
    states = metrics.groupby("row").learnt.agg(learnt.of_row)
    return {row: MARKS[state] for row, state in states.items() if state in MARKS}


def with_reference(
    table: pd.DataFrame, rows: list, reference: pd.DataFrame | None, column: str = "RSUM"
) -> pd.DataFrame:
    """A table with the published mean of one of its columns in the last, where there is one.

    Parameters
    ----------
    rows : the arm that each line is of.
    reference : see `beside_paper`.
    """
    if reference is None:
        return table
    known = reference[reference.column == column].set_index("row")["mean"]
    found = table.assign(reference=[known.get(row, np.nan) for row in rows])
    found.attrs["note"] = reference.attrs.get("note", "")
    return found


def _noted(table: pd.DataFrame, note: str) -> str:
    none = "" if len(table) else "No row: there is none of it in this run."
    return " ".join(filter(None, (note, table.attrs.get("note", ""), none)))


def with_legend(rows: pd.Series, note: str) -> str:
    """A note, and what the marks after its table's rows mean, unless it says so already.

    >>> said = with_legend(pd.Series(["a ‡", "b"]), "One seed.")
    >>> said, with_legend(pd.Series(["a ‡", "b"]), said) == said
    ('One seed. ‡ did not train.', True)
    """
    told = "".join(rows.astype(str))
    meant = [f"{mark.strip()} {state}." for state, mark in MARKS.items() if mark in told]
    return " ".join([note, *(each for each in meant if each not in note)]).strip()


def plain(table: pd.DataFrame, caption: str = "", note: str = "", decimals: int | dict = 1):
    """Any other table for a notebook: numbers right-aligned with even decimals, text left.

    Parameters
    ----------
    decimals : of columns of floats; a number for all, or by column (1 where a column is not named).
    """
    note = _noted(table, note)
    numbers = [c for c in table if pd.api.types.is_numeric_dtype(table[c])]
    words = [c for c in table if c not in numbers]
    formats = {c: partial(written, decimals=_decimals(table, c, decimals)) for c in numbers}
    styled = table.style.format(formats | dict.fromkeys(words, verbatim.html)).set_properties(
        subset=words, **{"text-align": "left", "max-width": "34em", "white-space": "normal"}
    )
    return _dressed(styled, numbers, caption, note)


def _dressed(styled, numbers: list, caption: str, note: str):
    """The look that all tables share; the note stands in small type below the caption.

    Nothing in a table is TeX, for which Lab and nbviewer look between dollar signs.
    """
    small = f"<br><span style='font-weight: 400; font-size: 90%'>{verbatim.html(note)}</span>"
    return (
        styled.hide(axis="index")
        .format_index(verbatim.html, axis="columns")
        .set_table_attributes('class="tex2jax_ignore mathjax_ignore"')
        .set_caption(verbatim.html(caption) + (small if note else ""))
        .set_properties(
            subset=numbers, **{"text-align": "right", "font-variant-numeric": "tabular-nums"}
        )
        .set_table_styles(
            [
                {
                    "selector": "caption",
                    "props": "caption-side: top; text-align: left; padding: 4px; "
                    "font-weight: 600; color: inherit",
                },
                {"selector": "th", "props": "text-align: right; font-weight: 600"},
                {"selector": "td, th", "props": "vertical-align: top; padding: 2px 8px"},
            ]
        )
    )


def _decimals(table: pd.DataFrame, column, decimals: int | dict) -> int:
    """Decimals of a column of numbers: none for whole ones, 1 unless told."""
    if not pd.api.types.is_float_dtype(table[column]):
        return 0
    return decimals.get(column, 1) if isinstance(decimals, dict) else decimals


def written(value, decimals: int) -> str:
    """A number as every table shows it: a dash for none, a true minus, ∞, commas at thousands.

    >>> [written(v, 1) for v in (-1234.56, float("nan"), float("inf"))]
    ['−1,234.6', '–', '∞']
    """
    if pd.isna(value):
        return "–"
    return f"{value:,.{decimals}f}".replace("-", "−").replace("inf", "∞")


def save(
    table: pd.DataFrame,
    folder: Path,
    name: str,
    caption: str = "",
    note: str = "",
    decimals: int | dict = 1,
) -> None:
    """Write a table to `folder/tables` as CSV (8 significant digits) and Markdown (as shown)."""
    target = Path(folder) / "tables"
    target.mkdir(parents=True, exist_ok=True)
    flat = table.copy()
    if table.columns.nlevels > 1:
        flat.columns = [" ".join(part for part in column if part) for column in table.columns]
    write_csv(flat, target / f"{name}.csv")
    heading = f"**{verbatim.markdown(caption)}**" if caption else ""
    note = _noted(table, note)
    note = verbatim.markdown(with_legend(flat["row"], note) if "row" in flat else note)
    said = "".join(f"{text}\n\n" for text in (heading, note) if text)
    plain = flat.rename(columns=verbatim.markdown).apply(_marked)
    if isinstance(decimals, dict):
        decimals = {verbatim.markdown(column): places for column, places in decimals.items()}
    outputs.write(target / f"{name}.md", said + markdown(plain, decimals))


def _marked(column: pd.Series) -> pd.Series:
    """A column for `markdown`: text that marks nothing."""
    return column if pd.api.types.is_numeric_dtype(column) else column.map(verbatim.markdown)


def write_csv(table: pd.DataFrame, path: Path, sealed: bool = False) -> None:
    """Write a table whole or not at all, at 8 significant digits; `sealed`: see `durable.write`."""
    outputs.write(path, table.to_csv(index=False, float_format="%.8g"), sealed)


def markdown(table: pd.DataFrame, decimals: int | dict = 1) -> str:
    """A table of Markdown with aligned decimals, a dash for what is missing.

    >>> print(markdown(pd.DataFrame({"row": ["a"], "ours": [9.96]})), end="")
    | row | ours |
    | :-- | ---: |
    | a   | 10.0 |
    """
    cells = {}
    for name in table:
        column = table[name]
        right = pd.api.types.is_numeric_dtype(column)
        places = _decimals(table, name, decimals)
        texts = [written(v, places) if right else str(v) for v in column]
        width = max(2, *map(len, (name, *texts)))
        pad = str.rjust if right else str.ljust
        rule = "-" * (width - 1) + ":" if right else ":" + "-" * (width - 1)
        cells[name] = [pad(name, width), rule, *(pad(text, width) for text in texts)]
    return "".join(f"| {' | '.join(line)} |\n" for line in zip(*cells.values()))
