"""What CoV-Align's notebooks show: ladder, cost, the loss's scale, N_q, spread, maps of attention.

Nothing is trained. `metrics` are an exhibit's as `results.gather` returns them, `listed` its runs
as `results.arms` lists them. A spread is `regions.spatial_concentration` in picture's sides.
"""

import textwrap
from itertools import cycle, islice

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch

from alignbook.backbones import bert
from alignbook.evidence.statistics import t_interval
from alignbook.papers.covalign import model
from alignbook.papers.covalign.arms import inputs as inputs_of
from alignbook.show import figures
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
}
STEPS, NOTES = "With regions", "The notes' other steps"
LADDER = (  # (group, row, arm), None where the notes don't say enough to build it
    ("Baselines", "mean patch and mean word", "global"),
    ("Baselines", "every patch with every word", "patches"),
    ("Baselines", "object queries", "queries"),
    (STEPS, "the whole method", "regions"),
    (STEPS, "no L_vis, no L_conc", "no-losses"),
    (STEPS, "no L_conc", "no-concentration"),
    (STEPS, "no L_vis", "no-visual"),
    (STEPS, "no mask (ε = 0)", "unmasked"),
    (STEPS, "plain cross-attention", "cross-attention"),
    (STEPS, "mask of the logits", "logits-mask"),
    (STEPS, "places in patches", "patch-units"),
    (STEPS, "inner products for cosines", "dot-product"),
    (STEPS, "towers trained too", "end-to-end"),
    *((NOTES, name, None) for name in list(NOTED)[:3]),
)


def noted() -> pd.DataFrame:
    """The notes' ladder as `printed_tables.table` gives the papers' tables: group, row, column, value."""
    return pd.DataFrame(
        [
            (STEPS if name == "the whole method" else NOTES, name, column, value)
            for name, both in NOTED.items()
            for column, value in zip(("i2t R@1", "t2i R@1"), both)
        ],
        columns=["group", "row", "column", "value"],
    )


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
    named = {arm: name for _, name, arm in LADDER if arm}
    found = differences(metrics, column, [(arm, "regions") for arm in named if arm != "regions"])
    return found.assign(row=found.row.map(named), minus=found.minus.map(named))


COSTS = ("ms/step", "MB/step", "ms/pair", "MB")


def cost_table(costs: pd.DataFrame) -> pd.DataFrame:
    """`cost.costs` as a table: means over seeds; ratios with half their 95 % interval."""
    named, lines = {arm: name for _, name, arm in LADDER if arm}, []
    for row, own in costs.groupby("row", sort=False):
        line = {"method": named[row]} | {name: own[name].mean() for name in COSTS}
        for name in (*(f"{each} ÷ patches" for each in COSTS), "step ÷ towers"):
            known = own[name].dropna().to_numpy()
            mean, low, high = t_interval(known) if len(known) else (np.nan,) * 3
            line |= {name: mean, f"± {name}": (high - low) / 2}
        lines.append(line | {"seeds": len(own)})
    found = pd.DataFrame(lines)
    order = found.method.map(list(named.values()).index).sort_values().index
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
    """RSUM against N_q for `figures.curves`, from rows such as "regions-8"; and the seeds."""
    lines = []
    for row, values in metrics[metrics.column == "RSUM"].groupby("row", sort=False)["value"]:
        n = int(row.rpartition("-")[2])
        lines.append(("CoV-Align", n, *t_interval(values.to_numpy()), len(values)))
    found = pd.DataFrame(lines, columns=["method", "N_q", "RSUM", "low", "high", "seeds"])
    return found.sort_values("N_q", ignore_index=True)


def region_table(metrics: pd.DataFrame) -> pd.DataFrame:
    """`region_lines` with the spread of a region and the share of patches that its mask keeps."""
    found = region_lines(metrics).drop(columns="method")
    for column in ("spread", "patches kept"):
        own = metrics[metrics.column == column].groupby("row")["value"].mean()
        found[column] = [own.get(f"regions-{n}", np.nan) for n in found["N_q"]]
    return found


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
    """Spread of every arm: projection (its row among the triples), arm, mean, low, high, values."""
    lines = []
    for _, label, arm in rows:
        values = metrics[(metrics.row == arm) & (metrics.column == "spread")]["value"].to_list()
        if values:
            lines.append((label, arm, *t_interval(values), values))
    return pd.DataFrame(lines, columns=["projection", "arm", "mean", "low", "high", "values"])


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
    axis.set_xlabel("mean distance of attention from its centre, in picture's sides")
    note = "Small dots: seeds. " * bool(len(seeds)) + note
    figure.text(0.01, 0.005, note, fontsize=8, color="#555555")
    figure.tight_layout(rect=(0, 0.05, 1, 1))
    return figure


# --- Figure 5: maps ------------------------------------------------------------------------------

ENDS = {
    "is",
    "are",
    "was",
    "were",
    "in",
    "on",
    "at",
    "with",
    "and",
    "of",
    "to",
    "by",
    "near",
    "who",
    "that",
    "while",
    "as",
    "from",
    "over",
    "under",
    "through",
    "into",
    "above",
    "below",
    "has",
    "have",
    "next",
    "behind",
    "beside",
    "wearing",
}
LONGEST = 5  # words


def first_phrase(caption: str) -> str:
    """The words of a caption before the first that ends its first noun phrase [A]: a rough rule.

    >>> first_phrase("A red star is on a ring."), first_phrase("Two dogs running")
    ('A red star', 'Two dogs')
    """
    words = caption.replace(",", " , ").replace(".", " ").split()
    for i, word in enumerate(words):
        ends = word.lower() in ENDS or word == "," or (i > 1 and word.lower().endswith("ing"))
        if i and ends or i == LONGEST:
            return " ".join(words[:i])
    return " ".join(words)


@torch.inference_mode()
def phrase_maps(book, listed: pd.DataFrame, n: int = 4, seed: int = 0) -> pd.DataFrame:
    """Attention of the region that matches a phrase best, under both projections.

    Of the first `n` test pictures, none chosen, the first phrase of the first caption. Its words
    are encoded within their caption; the region is that with the largest mean cosine to them.

    Returns
    -------
    DataFrame, a line a patch: picture (row of the data set), caption, phrase, projection, region
    (from 0), cosine, spread, y, x (of the patch), attention, kept.
    """
    dataset, (exhibit,) = book.dataset(), listed.exhibit.unique()
    rows = dataset.splits["test"][:n]
    numbers = rows * dataset.captions_per_image
    captions = [dataset.captions[number] for number in numbers]
    phrases = [first_phrase(caption) for caption in captions]
    lengths = bert.load(book.bert(), dataset)[1].encode(phrases)[1] - 2  # without [CLS] and [SEP]
    parts = []
    for arm in ("shared", "separate"):
        own = listed[(listed.arm == arm) & (listed.role == "report") & (listed.seed == seed)]
        inputs = inputs_of(book, exhibit, arm)
        matcher = model.load(runs.stored(own.key.iloc[0]), *inputs)
        regions, grid = model.encode_images(matcher, rows), matcher.source.grid
        words, _ = matcher.model.text(*matcher.words(numbers))
        places = model.positions(grid)
        y, x = np.divmod(np.arange(grid[0] * grid[1]), grid[1])
        for i, length in enumerate(lengths.tolist()):
            cosines = (regions.vectors[i] @ words[i, 1 : 1 + length].T).mean(1)
            q = int(cosines.argmax())
            attention = regions.attention[i, q]
            spread = float(model.spatial_concentration(attention[None, None], places))
            parts.append(
                pd.DataFrame(
                    {
                        "picture": rows[i],
                        "caption": captions[i],
                        "phrase": phrases[i],
                        "projection": arm,
                        "region": q,
                        "cosine": float(cosines[q]),
                        "spread": spread,
                        "y": y,
                        "x": x,
                        "attention": attention.numpy(),
                        "kept": regions.kept[i, q].numpy(),
                    }
                )
            )
    return pd.concat(parts, ignore_index=True)


def maps_figure(dataset, maps: pd.DataFrame, note: str):
    """Figure 5: a line a picture, itself and the maps of `phrase_maps`, on one scale of colours."""
    figures.use_style()
    pictures, arms = maps.picture.unique(), maps.projection.unique()
    figure, axes = plt.subplots(
        len(pictures),
        1 + len(arms),
        squeeze=False,
        layout="constrained",
        figsize=(2.5 * (1 + len(arms)) + 0.7, 2.95 * len(pictures)),
    )
    most = maps.attention.max()
    for line, picture in zip(axes, pictures):
        image, of_it = dataset.images[picture], maps[maps.picture == picture]
        line[0].imshow(image, interpolation="nearest")
        line[0].set_title(f"“{of_it.phrase.iloc[0]}”", fontsize=9)
        said = "\n".join(textwrap.wrap(of_it.caption.iloc[0], 40)[:3])
        line[0].set_xlabel(said, fontsize=7.5, loc="left")
        for axis, arm in zip(line[1:], arms):
            own = of_it[of_it.projection == arm]
            heat = _overlay(axis, image, own, most)
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
    bar.set_label("attention of a patch, %. White frames: kept by the mask", fontsize=8)
    figure.supxlabel(note, fontsize=8, color="#555555", x=0.01, ha="left")
    return figure


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
    """A line a picture and projection of `phrase_maps`: phrase, region, cosine, spread, patches
    kept in percent."""
    keys = ["picture", "phrase", "projection", "region", "cosine", "spread"]
    found = maps.groupby(keys, sort=False)["kept"].mean().mul(100).reset_index()
    return found.rename(columns={"kept": "patches kept (%)"}).assign(region=found.region + 1)


# --- Shapes of tensors -------------------------------------------------------------------------


def cohesive_regions(queries, patches, words, temperature: float, threshold: float):
    """From patches to regions, and from these to the similarity with a caption (CoV-Align, steps 2
    to 4 and 7).

    Queries `(N_q, d)` and patches `(P, d)` of one image, words `(L, d)` of one caption. W, V and the
    regions' linear map leave everything as it is.
    """
    z, f, w = unit(queries), unit(patches), unit(words)
    powers = np.exp(z @ f.T / temperature)
    attention = powers / powers.sum(1, keepdims=True)
    low, high = attention.min(1, keepdims=True), attention.max(1, keepdims=True)
    kept = attention - low >= threshold * (high - low)
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
        "row is scaled from 0 to 1.",
    )
