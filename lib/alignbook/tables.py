"""One style for every table: the paper's number beside ours, decimals aligned, intervals shown."""

from pathlib import Path

import numpy as np
import pandas as pd

from alignbook.collect import COLUMNS

HEADINGS = {
    "i2t R@1": "Image → Text R@1", "i2t R@5": "R@5", "i2t R@10": "R@10",
    "t2i R@1": "Text → Image R@1", "t2i R@5": "R@5 ", "t2i R@10": "R@10 ", "RSUM": "RSUM",
}  # fmt: skip


def beside_paper(summary: pd.DataFrame, printed: pd.DataFrame, rows: dict) -> pd.DataFrame:
    """Recalls of an exhibit in the paper's layout, ours beside the print.

    Parameters
    ----------
    summary : row, column, mean, low, high, seeds, of our arms.
    printed : group, row, column, value, as transcribed.
    rows : (group, the paper's row, our arm) triples in reading order; None where one side has none.

    Returns
    -------
    DataFrame, a line each; for every column `paper` and `ours`, and for RSUM half the width of
    ours' 95 % interval (NaN with one seed).
    """
    ours = summary.set_index(["row", "column"])
    paper = printed.set_index(["group", "row", "column"])["value"]
    lines = []
    for group, label, arm in rows:
        line = {("", "group"): group, ("", "row"): label}
        for column in COLUMNS:
            line[column, "paper"] = paper.get((group, label, column), np.nan)
            line[column, "ours"] = ours["mean"].get((arm, column), np.nan)
        low, high = (ours[bound].get((arm, "RSUM"), np.nan) for bound in ("low", "high"))
        line["RSUM", "±"] = (high - low) / 2
        line["", "seeds"] = ours["seeds"].get((arm, "RSUM"), 0)
        lines.append(line)
    table = pd.DataFrame(lines)
    table.columns = pd.MultiIndex.from_tuples(table.columns)
    return table


def show(table: pd.DataFrame, caption: str):
    """The table for a notebook: one decimal, the best of ours in bold, gaps as a dash."""
    numbers = [c for c in table.columns if c[1] in ("paper", "ours", "±")]
    plain = table.rename(columns=HEADINGS, level=0)
    numbers = [(HEADINGS.get(a, a), b) for a, b in numbers]
    seeds = ("", "seeds")
    return (
        plain.style.hide(axis="index")
        .format("{:.1f}", subset=numbers, na_rep="–")
        .format("{:.0f}", subset=[seeds])
        .set_caption(caption)
        .highlight_max(
            subset=[c for c in numbers if c[1] == "ours"], props="font-weight: bold", axis=0
        )
        .set_properties(
            subset=numbers, **{"text-align": "right", "font-variant-numeric": "tabular-nums"}
        )
        .set_properties(subset=[c for c in numbers if c[1] == "paper"], color="#8a5a00")
        .set_table_styles([
            {"selector": "caption", "props": "caption-side: top; text-align: left; padding: 4px"},
            {"selector": "th", "props": "text-align: right; font-weight: 600"},
        ])
    )  # fmt: skip


def save(table: pd.DataFrame, folder: Path, name: str) -> None:
    """Write a table to `folder/tables` as CSV (full precision) and Markdown (as shown)."""
    target = Path(folder) / "tables"
    target.mkdir(parents=True, exist_ok=True)
    flat = table.copy()
    flat.columns = [" ".join(part for part in column if part) for column in table.columns]
    flat.round(4).to_csv(target / f"{name}.csv", index=False)
    (target / f"{name}.md").write_text(markdown(flat))


def markdown(table: pd.DataFrame) -> str:
    """A table as Markdown with aligned decimals: one decimal, a dash for what is missing.

    >>> print(markdown(pd.DataFrame({"row": ["a"], "ours": [9.96]})), end="")
    | row | ours |
    | :-- | ---: |
    | a   | 10.0 |
    """
    cells = {}
    for name in table:
        column = table[name]
        numeric = pd.api.types.is_float_dtype(column)
        texts = [("–" if pd.isna(v) else f"{v:.1f}") if numeric else str(v) for v in column]
        width = max(map(len, (name, *texts)))
        right = pd.api.types.is_numeric_dtype(column)
        pad = str.rjust if right else str.ljust
        rule = "-" * (width - 1) + ":" if right else ":" + "-" * (width - 1)
        cells[name] = [pad(name, width), rule, *(pad(text, width) for text in texts)]
    return "".join(f"| {' | '.join(line)} |\n" for line in zip(*cells.values()))
