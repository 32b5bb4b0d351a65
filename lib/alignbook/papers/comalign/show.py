"""What ComAlign's notebooks show: components of a picture, matrices of Figures 4 and 5, curves."""

import numpy as np
import pandas as pd

from alignbook.evidence.statistics import t_interval
from alignbook.papers.comalign import arms, matched_pairs
from alignbook.papers.comalign.catalogue import BASES
from alignbook.papers.comalign.components import vectors
from alignbook.papers.comalign.model import load
from alignbook.show import figures, tables
from alignbook.show.tensor_grids import IMAGE, SHEETS, TEXT, Grid, draw, labelled, score_row, unit
from alignbook.store import runs


def component_boxes(run, image: int, side: int) -> dict[str, list]:
    """Boxes of a picture's components in pixels, for `figures.pictures`: entities, relations."""
    placed, n = run.array("boxes")[image], run.metrics["entities"]
    kinds = {
        "entities": (placed[1 : 1 + n], figures.OURS),
        "relations": (placed[1 + n :], figures.ACCENT),
    }
    return {
        kind: [(*(side * box), colour) for box in boxes if box[2] > 0]
        for kind, (boxes, colour) in kinds.items()
    }


def phrases_of(run, captions) -> list[str]:
    """The phrases of some captions, by their number in the data set, joined for reading."""
    phrases = vectors.phrases_of(run)
    rows = run.array("captions")[captions, 1:]
    return ["; ".join(phrases[place] for place in row if place >= 0) for row in rows]


def matrices(book, listed: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The first five pairs of Figure 4 or 5 as matrices of cosines, of seed 0: by row of the exhibit.

    `listed` are the exhibit's runs, as `results.arms` lists them.
    """
    exhibit, found = listed.exhibit.iloc[0], {}
    for line in listed[(listed.role == "report") & (listed.seed == 0)].itertuples():
        given = arms.inspected(book, arms.inputs(book, exhibit, line.arm))
        _, source_run, target, target_run = given
        shown = runs.stored(line.key)
        model = load(runs.stored(shown.metrics["head"]), source_run)
        images, slots, places = shown.array("pairs")[: matched_pairs.BLOCK].T.copy()
        captions = images * target.captions_per_image + matched_pairs.FULL
        x, y = matched_pairs.encoded(model, target_run, images, captions)
        at = np.arange(len(images))
        cosines = (x[at, slots] @ y[at, places].T).numpy()
        phrases = vectors.phrases_of(target_run)
        said = [phrases[target_run.array("captions")[c, p]] for c, p in zip(captions, places)]
        found[line.arm] = pd.DataFrame(cosines, index=[f"region {i + 1}" for i in at], columns=said)
    return found


def long_form(found: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Matrices as lines: model, region, phrase, cosine."""
    return pd.concat(
        matrix.rename_axis("region")
        .reset_index()
        .melt("region", var_name="phrase", value_name="cosine")
        .assign(model=name)[["model", "region", "phrase", "cosine"]]
        for name, matrix in found.items()
    )


def with_gains(metrics: pd.DataFrame, value: str = "value") -> pd.DataFrame:
    """Metrics of Table I or II with rows such as "clip gain": what ComAlign adds, seed by seed; of a
    summary (`value` "mean") that of the means.

    A base model is one run, of which every seed shows the same. A model of which either row was not
    made has no such row.
    """
    gains = [metrics]
    for base in BASES:
        before = metrics[metrics.row == base].groupby(["exhibit", "column"])[value].mean()
        after = metrics[metrics.row == f"{base}+comalign"]
        after = after.join(before.rename("before"), on=["exhibit", "column"]).dropna(
            subset="before"
        )
        gain = after.assign(row=f"{base} gain", **{value: after[value] - after["before"]})
        gains.append(gain.drop(columns="before"))
    found = pd.concat([each for each in gains if len(each)], ignore_index=True)
    found.attrs = metrics.attrs
    return found


def weight_lines(metrics: pd.DataFrame) -> pd.DataFrame:
    """Figure 6's curves for `figures.curves`: which weight, its value, sum of recalls, low, high."""
    lines = []
    for column, group in metrics.groupby("column", sort=False):
        name, _, value = column.partition(" = ")
        lines.append((name, float(value), *t_interval(group["value"].to_numpy())))
    return pd.DataFrame(lines, columns=["weight", "value", "sum of recalls on dev", "low", "high"])


def setting_lines(metrics: pd.DataFrame) -> pd.DataFrame:
    """Figure 7 for `figures.panels`: setting, direction, factor, sum of recalls on dev, low, high,
    the mark of what did not simply learn.

    `metrics` are those of its runs. The row "×1" stands in every panel.
    """
    lines, marks = [], tables.marks(metrics)
    for (row, column), group in metrics.groupby(["row", "column"], sort=False):
        name, _, factor = row.rpartition("×")
        names = [name.strip()] if name else ["coefficient", "learning rate", "steps", "batch"]
        values = t_interval(group["value"].to_numpy())
        lines += [(each, column, float(factor), *values, marks.get(row, "")) for each in names]
    said = ["setting", "direction", "factor", "sum of recalls on dev", "low", "high", "mark"]
    return pd.DataFrame(lines, columns=said)


# --- Shapes of tensors -------------------------------------------------------------------------


def matching(regions, phrases):
    """Fine-grained matching of an image's and a caption's entities, both ways (ComAlign Eq. 2).

    Regions `(C, d)` and phrases `(C′, d)` of one image and one caption.
    """
    x, y = unit(regions), unit(phrases)
    cosines, of_x, of_y = x @ y.T, labelled("x", x), tuple(f"{n}′" for n in labelled("x", y))
    shape = "(B₁, B₂, C, C′)"
    inputs = (
        Grid("image's x", "(B₁, C, d)", x, IMAGE, rows=of_x),
        Grid("caption's x′", "(B₂, C′, d)", y, TEXT, rows=of_y),
    )
    lanes = {}
    for title, axis, over, left, labels, equation in (
        ("Image to text: each region's best phrase", 1, "C′", "C", of_x, "Eq. 2"),
        ("Text to image: each phrase's best region", 0, "C", "C′", of_y, "Eq. 2"),
    ):
        best = cosines.max(axis)
        grid = Grid(
            "cosines",
            shape,
            cosines,
            rows=of_x,
            columns=of_y,
            marked=cosines == np.expand_dims(best, axis),
        )
        whole = Grid("similarity", "(B₁, B₂)", np.array([[best.mean()]]))
        lanes[title] = [
            inputs,
            "cosine",
            grid,
            f"max over {over}\nEq. 2",
            score_row("best", best, labels, f"(B₁, B₂, {left})"),
            f"mean over {left}\n{equation}",
            whole,
        ]
    return draw(lanes, SHEETS + "Vectors have length 1. Framed: the largest.")
