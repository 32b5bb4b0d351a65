"""What CoV-Align's notebooks show: ladder, cost, the loss's scale, N_q, spread, maps of attention.

Nothing is trained. `metrics` are an exhibit's as `results.gather` returns them, `listed` its runs
as `results.arms` lists them. A spread is `regions.spatial_concentration` in picture's sides.
"""

from itertools import cycle, islice

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch

from alignbook.evidence.statistics import t_interval
from alignbook.papers.covalign import arms, model, phrases, two_towers
from alignbook.papers.covalign.catalogue import EXHIBITS, ROWS
from alignbook.papers.covalign.inputs import parsed_by
from alignbook.show import figures, tables
from alignbook.show.datasheet import wrapped
from alignbook.show.figures import BUTT, INK, MARKS, PAPER
from alignbook.show.tensor_grids import IMAGE, SHEETS, TEXT, Grid, draw, labelled, unit
from alignbook.store import runs

# --- The ladder ----------------------------------------------------------------------------------

# Public notes of the paper, not its supplement: R@1 both ways, in their order [N].
NOTED = {
    "first step": (70.4, 59.4),
    "second step": (73.9, 62.1),
    "third step": (75.4, 62.6),
    "the whole method": (78.5, 63.3),
    # Of one R@1 the notes don't say which. It stands beside the method's 78.5, image to text.
    "no mask (ε = 0)": (74.5,),
}
FOUR_REGIONS = 72.7  # likewise, of N_q = 4 [N]
NAMES = {arm: name for _, name, arm in ROWS["covalign-ladder"] if arm}  # in the tables, by arm


def noted() -> pd.DataFrame:
    """The notes' ladder as `printed_tables.table` gives the papers' tables, without digits."""
    groups = {name: group for group, name, _ in ROWS["covalign-ladder"]}
    lines = [
        (groups[name], name, column, value, "")
        for name, both in NOTED.items()
        for column, value in zip(("i2t R@1", "t2i R@1"), both)
    ]
    return pd.DataFrame(lines, columns=["group", "row", "column", "value", "mark"])


def differences(metrics: pd.DataFrame, column: str, pairs) -> pd.DataFrame:
    """How far rows lie above others in a column, seed by seed: pairs of (row, the other).

    Returns
    -------
    DataFrame: row, minus, difference and its 95 % interval (low, high), seeds that both have; no
    line for a pair that shares none.

    Examples
    --------
    >>> m = pd.DataFrame({"row": ["a", "a", "b"], "column": "x", "seed": [0, 1, 0],
    ...                   "value": [3.0, 9.0, 1.0]})
    >>> differences(m, "x", [("a", "b")]).values.tolist()
    [['a', 'b', 2.0, nan, nan, 1]]
    """
    wide = metrics[metrics.column == column].pivot(index="seed", columns="row", values="value")
    lines = []
    for row, other in pairs:
        if {row, other} <= set(wide) and len(apart := (wide[row] - wide[other]).dropna()):
            lines.append((row, other, *t_interval(apart.to_numpy()), len(apart)))
    return pd.DataFrame(lines, columns=["row", "minus", "difference", "low", "high", "seeds"])


def ladder_differences(metrics: pd.DataFrame, column: str = "RSUM") -> pd.DataFrame:
    """`differences` of every other line of the ladder from the whole method, in words."""
    found = differences(metrics, column, [(arm, "regions") for arm in NAMES if arm != "regions"])
    marks = tables.marks(metrics)
    names = {arm: name + marks.get(arm, "") for arm, name in NAMES.items()}
    return found.assign(row=found.row.map(names), minus=found.minus.map(names))


def mask_table(metrics: pd.DataFrame, names: dict[str, str]) -> pd.DataFrame:
    """What the mask leaves of every arm's regions: means over seeds.

    Returns
    -------
    DataFrame, a line an arm that has regions: its name by `names`, patches kept a region, their
    percent of all, percent of the regions with fewer than `model.FEWEST`, and a remark where the
    mean is below it or more than a third of the regions have so few.
    """
    wide = metrics.pivot_table(index="row", columns="column", values="value", sort=False)
    wide = wide.reindex(columns=list(model.OF_REGIONS)).dropna()
    few, share = wide["kept a region"] < model.FEWEST, wide["regions under 3"]
    many = np.where(share > 100 / 3, share.map("{:.0f} % are hardly regions".format), "")
    found = {
        "arm": [names.get(arm, arm) for arm in wide.index],
        "patches kept": wide["kept a region"],
        "of all (%)": 100 * wide["patches kept"],
        "regions under 3 (%)": share,
        "": np.where(few, "hardly regions", many),
    }
    return pd.DataFrame(found).reset_index(drop=True)


# Settings by which trials differ, and what their table shows besides RSUM.
TRIED = {"temperature": "τ", "placed": "places", "learning_rate": "learning rate"}
KEPT = {"kept a region": "patches kept", "spread": "spread"}

COSTS = ("ms/step", "MB/step", "ms/pair", "MB")


def cost_table(costs: pd.DataFrame) -> pd.DataFrame:
    """`cost.costs` as a table: means over measurements; ratios with half their 95 % interval."""
    lines = []
    for row, own in costs.groupby("row", sort=False):
        line = {"method": NAMES[row]} | {name: own[name].mean() for name in COSTS}
        for name in (*(f"{each} ÷ patches" for each in COSTS), "step ÷ towers"):
            known = own[name].dropna().to_numpy()
            mean, low, high = t_interval(known) if len(known) else (np.nan,) * 3
            line |= {name: mean, f"± {name}": (high - low) / 2}
        lines.append(line | {"measured": len(own)})
    found = pd.DataFrame(lines)
    order = found.method.map(list(NAMES.values()).index).sort_values().index
    return found.loc[order].dropna(axis="columns", how="all").reset_index(drop=True)


# --- Table 5: the loss's scale -------------------------------------------------------------------

SCALES = (
    ("global-2", "concentration-5"),
    ("global-2", "global-2-halved"),
    ("sgd-global-2", "sgd"),
    ("sgd-global-2", "sgd-global-2-halved"),
)


def scale_table(metrics: pd.DataFrame, rows: tuple) -> pd.DataFrame:
    """RSUM at λ_g = 2 against λ_g = 1 and against the same weights halved, with Adam and with SGD.

    `rows` are (group, row, arm) triples, whose rows name the weights.
    """
    weights = {arm: row for _, row, arm in rows}
    found = differences(metrics, "RSUM", SCALES)
    optimizer = ["SGD" if row.startswith("sgd") else "Adam" for row in found.row]
    found = found.assign(row=found.row.map(weights), minus=found.minus.map(weights))
    found.insert(0, "optimizer", optimizer)
    return found


# --- Table 3: regions ----------------------------------------------------------------------------


def region_lines(metrics: pd.DataFrame) -> pd.DataFrame:
    """RSUM against N_q for `figures.curves`, from rows such as "regions-8"; the seeds, and the mark of
    what did not simply learn. What was not run is NaN.
    """
    marks = tables.marks(metrics)
    lines, known = [], metrics[metrics.column == "RSUM"].groupby("row")["value"]
    for row in EXHIBITS["covalign-T3"].names():
        values = known.get_group(row) if row in known.groups else pd.Series(dtype=float)
        interval = t_interval(values.to_numpy()) if len(values) else (np.nan,) * 3
        n_q = int(row.rpartition("-")[2])
        lines.append(("CoV-Align", n_q, *interval, len(values), marks.get(row, "")))
    return pd.DataFrame(lines, columns=["method", "N_q", "RSUM", "low", "high", "seeds", "mark"])


def region_table(metrics: pd.DataFrame, reference: pd.DataFrame | None = None) -> pd.DataFrame:
    """`region_lines` with R@1 image to text beside the notes', the spread of a region, and the share
    of patches that its mask keeps; and what the `reference` has of both, see `tables.with_reference`.
    """
    found = region_lines(metrics).drop(columns="method")
    for column in ("i2t R@1", "spread", "patches kept"):
        own = metrics[metrics.column == column].groupby("row")["value"].mean()
        found[column] = [own.get(f"regions-{n}", np.nan) for n in found["N_q"]]
    notes = {4: FOUR_REGIONS, 8: NOTED["the whole method"][0]}
    arms, after = [f"regions-{n}" for n in found["N_q"]], list(found).index("i2t R@1") + 1
    of_recall = tables.with_reference(found, arms, reference, "i2t R@1")
    if reference is not None:
        found.insert(after, "R@1 reference", of_recall["reference"])
    found.insert(after, "notes", found["N_q"].map(notes))
    return tables.with_reference(found, arms, reference).rename(
        columns={"reference": "RSUM reference"}
    )


# --- Figure 5: spread ----------------------------------------------------------------------------


def even_spread(grid: tuple[int, int]) -> float:
    """The spread of attention that is the same everywhere.

    >>> round(even_spread((1, 2)), 4)  # both patches ¼ of the side from the middle
    0.25
    """
    grid = int(grid[0]), int(grid[1])
    n = grid[0] * grid[1]
    return float(model.spatial_concentration(torch.full((1, 1, n), 1 / n), model.positions(grid)))


def spread_lines(metrics: pd.DataFrame, rows: tuple) -> pd.DataFrame:
    """Spread of every arm: projection (its row among the triples, with the mark of what did not simply
    learn), arm, mean, low, high, values.
    """
    lines, marks = [], tables.marks(metrics)
    for _, label, arm in rows:
        values = metrics[(metrics.row == arm) & (metrics.column == "spread")]["value"].to_list()
        if values:
            lines.append((label + marks.get(arm, ""), arm, *t_interval(values), values))
    return pd.DataFrame(lines, columns=["projection", "arm", "mean", "low", "high", "values"])


def inside_table(metrics: pd.DataFrame, rows: tuple) -> pd.DataFrame:
    """How much of a phrase's attention lies in its gold box, in percent, of every arm.

    Returns
    -------
    DataFrame: projection with its mark, mean over seeds with its 95 % interval, seeds; "even", what
    attention that is the same everywhere has in the boxes, and "times even". None without gold boxes.
    """
    lines, marks = [], tables.marks(metrics)
    for _, label, arm in rows:
        own = metrics[metrics.row == arm].set_index("column")["value"]
        if "inside" in own.index:
            values, even = np.atleast_1d(own["inside"]), float(np.mean(own["box"]))
            mean, low, high = t_interval(values)
            name = label + marks.get(arm, "")
            lines.append((name, mean, low, high, len(values), even, mean / even))
    columns = ["projection", "inside (%)", "low", "high", "seeds", "even (%)", "times even"]
    return pd.DataFrame(lines, columns=columns)


def spread_figure(lines: pd.DataFrame, even: float, note: str):
    """Figure 5 in a number: mean spread, its interval, seeds as dots; even attention a line."""
    import seaborn.objects as so

    figures.use_style()
    figure, axis = plt.subplots(figsize=(7.6, 0.55 * len(lines) + 1.5))
    lines = lines.assign(y=-np.arange(len(lines)))
    marks, colours = (dict(zip(lines.arm, each)) for each in zip(*islice(cycle(MARKS), len(lines))))
    seeds = lines[lines["values"].map(len) > 1].explode("values", ignore_index=True)
    seeds = seeds.assign(below=seeds.y - 0.25).astype({"values": float})
    small = so.Dot(color=INK, alpha=0.5, pointsize=3, edgewidth=0)
    (
        so.Plot(lines, x="mean", y="y", color="arm")
        .add(so.Range(linewidth=2.4, **BUTT), xmin="low", xmax="high", orient="y", legend=False)
        .add(small, data=seeds, x="values", y="below", color=None)
        .add(so.Dot(pointsize=7), marker="arm", legend=False)
        .scale(color=colours, marker=marks)
        .label(y="")
        .on(axis)
        .plot()
    )
    for line in lines.itertuples():
        axis.annotate(
            f"{line.mean:.3f}",
            (line.mean, line.y),
            (0, 7),
            textcoords="offset points",
            ha="center",
            fontsize=8,
            color=colours[line.arm],
        )
    axis.axvline(even, color=PAPER, lw=1.2, ls="--")
    axis.annotate(
        "even attention",
        (even, 0.45),
        (-4, 0),
        textcoords="offset points",
        ha="right",
        fontsize=8,
        color=PAPER,
    )
    axis.set_yticks(lines.y, lines.projection)
    axis.set_ylim(-len(lines) + 0.4, 0.8), axis.margins(x=0.08)
    axis.tick_params(length=0)
    axis.set_xlabel("mean distance of attention from its centre, by the picture's side")
    note = "Small dots: seeds. " * bool(len(seeds)) + note
    figure.text(0.01, 0.005, note, fontsize=8, color="#555555")
    figure.tight_layout(rect=(0, 0.05, 1, 1))
    return figure


# --- Figure 5: maps ------------------------------------------------------------------------------


def phrase_maps(book, listed: pd.DataFrame, n: int = 4, seed: int = 0) -> pd.DataFrame:
    """Attention of the region that matches a phrase best, under both projections.

    The first phrase that `phrases.of` finds of the first `n` test pictures, none chosen; the
    captions of photographs are parsed by what `inputs.parsed_by` says. `listed` are the trained
    runs, Table 6's.

    Returns
    -------
    DataFrame, a line a patch: picture (row of the data set), caption, phrase, box (empty where it is
    not known), projection, region (from 0), cosine, spread, inside (percent of the attention in the
    box, NaN without one), y, x (of the patch), attention, kept.
    """
    (exhibit,) = listed.exhibit.unique()
    dataset = book.dataset()
    found = phrases.of(dataset, dataset.splits["test"][:n], parsed_by(book))
    first = list({each.image: each for each in reversed(found)}.values())[::-1]
    parts = []
    for arm in ("shared", "separate"):
        own = listed[(listed.arm == arm) & (listed.role == "report") & (listed.seed == seed)]
        _, *sources = arms.inputs(book, exhibit, arm)
        matcher = model.load(runs.stored(own.key.iloc[0]), dataset, *sources)
        words = two_towers.text_tower(book.bert(), dataset)[1].tokenizer
        looked, grid = phrases.looks(matcher, words, dataset, first), matcher.source.grid
        parts += [
            _map(dataset, phrase, phrases.Look(*(part[i] for part in looked)), grid, arm)
            for i, phrase in enumerate(first)
        ]
    return pd.concat(parts, ignore_index=True)


def _map(dataset, phrase, look, grid: tuple[int, int], arm: str) -> pd.DataFrame:
    """The lines of one phrase under one projection."""
    attention, (y, x) = look.attention, np.divmod(np.arange(grid[0] * grid[1]), grid[1])
    spread = model.spatial_concentration(attention[None, None], model.positions(grid))
    share = np.nan
    if phrase.box:
        in_box = phrases.inside(torch.tensor([phrase.box]), grid)[0]
        share = 100 * float((attention * in_box).sum())
    return pd.DataFrame(
        {
            "picture": phrase.image,
            "caption": dataset.captions[phrase.caption],
            "phrase": phrase.text,
            "box": " ".join(f"{side:.4f}" for side in phrase.box),
            "projection": arm,
            "region": int(look.region),
            "cosine": float(look.cosine),
            "spread": float(spread),
            "inside": share,
            "y": y,
            "x": x,
            "attention": attention.numpy(),
            "kept": look.kept.numpy(),
        }
    )


def maps_figure(dataset, maps: pd.DataFrame, note: str):
    """Figure 5: a line a picture, itself and the maps of `phrase_maps`, on one scale of colours."""
    figures.use_style()
    pictures, projections = maps.picture.unique(), maps.projection.unique()
    figure, axes = plt.subplots(
        len(pictures),
        1 + len(projections),
        squeeze=False,
        layout="constrained",
        figsize=(2.5 * (1 + len(projections)) + 0.7, 2.95 * len(pictures)),
    )
    most = maps.attention.max()
    for line, picture in zip(axes, pictures):
        image, of_it = dataset.images[picture], maps[maps.picture == picture]
        line[0].imshow(image, interpolation="nearest")
        _frame(line[0], of_it.box.iloc[0], image.shape[:2])
        line[0].set_title(f"“{of_it.phrase.iloc[0]}”", fontsize=9)
        said = wrapped(of_it.caption.iloc[0], 40, 3)
        line[0].set_xlabel(said, fontsize=7.5, loc="left")
        for axis, arm in zip(line[1:], projections):
            own = of_it[of_it.projection == arm]
            heat = _overlay(axis, image, own, most)
            _frame(axis, own.box.iloc[0], image.shape[:2])
            axis.set_title(arm, fontsize=9, fontweight="normal")
            first = own.iloc[0]
            axis.set_xlabel(
                f"region {first.region + 1}, spread {first.spread:.3f},\ncosine {first.cosine:.2f}",
                fontsize=7.5,
                loc="left",
            )
        for axis in line:
            axis.set_xticks([]), axis.set_yticks([]), axis.grid(False)
    bar = figure.colorbar(heat, ax=axes, shrink=0.5, aspect=30)
    said = "attention of a patch, %. White frames: kept by the mask; orange: the phrase's gold box"
    bar.set_label(said if maps.box.any() else said.partition(";")[0], fontsize=8)
    figure.supxlabel(note, fontsize=8, color="#555555", x=0.01, ha="left")
    return figure


def _frame(axis, box: str, size: tuple[int, int]) -> None:
    """The box of `phrase_maps` on a picture of that height and width; none where it is empty."""
    if box:
        x0, y0, x1, y1 = np.array(box.split(), float) * (size * 2)[::-1] - 0.5
        how = dict(fill=False, color="#e69f00", lw=1.6, gid="gold")
        axis.add_patch(plt.Rectangle((x0, y0), x1 - x0, y1 - y0, **how))


def _overlay(axis, image: np.ndarray, own: pd.DataFrame, most: float):
    """A map over the picture in grey; what the mask keeps is framed."""
    high, wide = image.shape[:2]
    rows, columns = own.y.max() + 1, own.x.max() + 1
    axis.imshow(image.mean(-1), cmap="gray", vmin=-60, vmax=255)
    heat = axis.imshow(
        100 * own.pivot(index="y", columns="x", values="attention").to_numpy(),
        cmap="viridis",
        vmin=0,
        vmax=100 * most,
        alpha=0.65,
        interpolation="nearest",
        extent=(-0.5, wide - 0.5, high - 0.5, -0.5),
    )
    tall, broad = high / rows, wide / columns
    for each in own[own.kept].itertuples():
        axis.add_patch(
            plt.Rectangle(
                (each.x * broad - 0.5, each.y * tall - 0.5),
                broad,
                tall,
                fill=False,
                color="white",
                lw=0.8,
            )
        )
    return heat


def map_table(maps: pd.DataFrame) -> pd.DataFrame:
    """A line a picture and projection of `phrase_maps`: phrase, region, cosine, spread, percent of
    the attention inside the box, patches kept in percent."""
    keys = ["picture", "phrase", "projection", "region", "cosine", "spread", "inside"]
    found = maps.groupby(keys, sort=False, dropna=False)["kept"].mean().mul(100).reset_index()
    found = found.rename(columns={"kept": "patches kept (%)", "inside": "inside (%)"})
    return found.assign(region=found.region + 1)


# --- Shapes of tensors -------------------------------------------------------------------------


def cohesive_regions(queries, patches, words, temperature: float, threshold: float):
    """From patches to regions, and from these to the similarity with a caption (CoV-Align, steps 2
    to 4 and 7).

    Queries `(N_q, d)` and patches `(P, d)` of one image, words `(L, d)` of one caption. W, V and the
    regions' linear map leave everything as it is.
    """
    z, f, w = unit(queries), unit(patches), unit(words)
    logits = z @ f.T / temperature
    attention = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    low, high = logits.min(1, keepdims=True), logits.max(1, keepdims=True)
    kept = logits - low >= threshold * (high - low)
    r = unit((attention * kept) @ patches)
    cosines, of_z, of_r = r @ w.T, labelled("z", z), labelled("r", r)
    of_f, of_w = labelled("p", f), labelled("w", w)
    regions = Grid("regions", "(B₁, N_q, d)", r, IMAGE, rows=of_r)
    best = (
        Grid("best word", "(B₁, B₂, N_q)", cosines.max(1)[None], columns=of_r),
        Grid("best region", "(B₁, B₂, L)", cosines.max(0)[None], columns=of_w),
    )
    whole = np.array([[cosines.max(1).mean() + cosines.max(0).mean()]])
    return draw(
        {
            "Without a caption: queries gather patches that hold together": [
                (
                    Grid("queries z W", "(B₁, N_q, d)", z, PAPER, rows=of_z),
                    Grid("patches F W", "(B₁, P, d)", f, IMAGE, rows=of_f),
                ),
                "cosine / τ,\nsoftmax, Eq. 2",
                Grid(
                    "attention a", "(B₁, N_q, P)", attention, rows=of_z, columns=of_f, marked=kept
                ),
                "mean of what\nis kept",
                regions,
            ],
            "With one: regions and words, both ways": [
                (regions, Grid("words", "(B₂, L, d)", w, TEXT, rows=of_w)),
                "cosine",
                Grid("cosines s", "(B₁, B₂, N_q, L)", cosines, rows=of_r, columns=of_w),
                "max over L,\nmax over N_q",
                best,
                "two means,\nadded",
                Grid("similarity S", "(B₁, B₂)", whole),
            ],
        },
        SHEETS
        + f"Vectors have length 1. Framed: what the mask keeps, {threshold:g} or more when a "
        "row's cosines are scaled from 0 to 1.",
    )
