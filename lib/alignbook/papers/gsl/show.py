"""What GSL's notebooks show: noisy pairs, the pipeline of a run, noise, switches, time, retrievals.

Nothing is trained. Figures tell methods and classes apart by marks, dashes and hatches as well as
by colour. `listed` is always the runs of an exhibit, as `collect.arms` lists them.
"""

import json
import textwrap

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from matplotlib.patches import FancyBboxPatch

from alignbook.backbones import region_features
from alignbook.datasets import noise_index
from alignbook.evidence.statistics import t_interval
from alignbook.papers.gsl import coteaching, noise
from alignbook.papers.gsl import model as gsl
from alignbook.papers.gsl.cost import SCHEDULES
from alignbook.show import figures, run_tables
from alignbook.show.figures import ACCENT, INK, OURS, PAPER
from alignbook.show.tensor_grids import IMAGE, TEXT, Grid, draw, labelled
from alignbook.store import runs

NAMES = {
    "gsl": "GSL",
    "ncr": "NCR",
    "bicro": "BiCro",
    "gsc": "GSC",
    "triplet": "plain triplet",
    "warmed": "warm-up alone",
    "mean": "mean violations",
    "clean": "clean pairs alone",
}
LOSSES = {"mean": "mean violations", "hardest": "hardest negatives"}  # of a warm-up
NOT_REBUILT = "not reconstructable"  # ESC and SPS: no public code was found
# RSUM on Flickr30K by share of noise, as public notes of the paper have it, or as they and the
# supplement's differences give it: not in the supplement itself.
NOTES = {
    "GSL": {"0.2": 507.5, "0.4": 498.6, "0.6": 484.1},
    "NCR": {"0.2": 496.7},
    "BiCro": {"0.2": 504.7},
    "GSC": {"0.2": 502.5},
    "SPS": {"0.2": 502.9},
    "ESC": {"0.2": 500.0},
}
GAINS = {"GSL": 10.8, "ESC": 3.3, "SPS": 6.2, "BiCro": 8.0, "GSC": 5.8}  # supplement 2, its text
# What each arm of gsl-switches and of Figure 2 does otherwise.
CHANGES = {
    "gsl": "as we take it",
    "no-eq7": "no Eq. 7: cosines of the vectors themselves",
    "two-anchor-ratio": "Eq. 8–11 compare two anchors with each other, as the notes print it",
    "clamp-shift": "cosines as (1 + cos) / 2, not raised to 0.001",
    "anchors-of-batch": "one pair of anchors a mini-batch, not of its own for each pair",
    "clean-labels-1": "clean pairs keep the label 1 (line 12, not 15)",
    "inter-minus": "L_inter is subtracted",
    "sums": "losses are summed, not averaged",
    "notes": "both, as in the notes",
    "no-regularisers": "no L_intra, no L_inter",
    "own-split": "a network learns on its own division, not on the other's",
    "warm-up-hardest": "hardest negatives from the start (line 1)",
    "relabelled": "as we take it",
    "true-division": "clean and noisy by the truth",
    "score": "the network's own score, no anchor",
}
WHY = {
    "sign": "minus rewards asymmetry: tested as an arm",
    "reduction": "sums make every gradient one that the clip cuts: tested as an arm",
}


def first_run(listed: pd.DataFrame, arm: str, seed: int = 0):
    """The stored run of an arm and a seed."""
    found = listed[(listed.arm == arm) & (listed.role == "report") & (listed.seed == seed)]
    return runs.stored(found.key.iloc[0])


# --- The noise -----------------------------------------------------------------------------------


def wrong_pairs(dataset, index: np.ndarray, n: int = 4) -> pd.DataFrame:
    """Captions of the training split that are attached to another image: of each of its first `n`
    images that has such captions the first one.

    Returns
    -------
    DataFrame: caption (its number), text, its picture, attached to; pictures are rows of the split.
    """
    rows = np.flatnonzero(noise.mismatched(index, dataset.captions_per_image))
    rows = rows[np.unique(rows // dataset.captions_per_image, return_index=True)[1]][:n]
    captions = dataset.captions_of("train")
    return pd.DataFrame(
        {
            "caption": rows,
            "text": [captions[row] for row in rows],
            "its picture": rows // dataset.captions_per_image,
            "attached to": index[rows],
        }
    )


def wrong_pictures(dataset, wrong: pd.DataFrame):
    """The pictures of `wrong_pairs`: above those the captions tell of, below those attached; None
    where the data set has no pictures."""
    if dataset.images is None:
        return None
    rows = dataset.splits["train"]
    shown = [*wrong["its picture"], *wrong["attached to"]]
    titles = [f"its own: picture {i}" for i in wrong["its picture"]]
    titles += [f"✗ trained with: picture {i}" for i in wrong["attached to"]]
    said = [*[""] * len(wrong), *(_wrapped(text, 30) for text in wrong.text)]
    return figures.pictures(
        dataset.images[rows[shown]], titles, columns=len(wrong), width=2.1, captions=said
    )


def write_noise(book, listed: pd.DataFrame) -> pd.DataFrame:
    """Write `book.out/noise_index/<data>_<rate>.npy` of every rate, after a check that all methods
    and seeds had the same.

    Returns
    -------
    DataFrame: file, captions, picked and true share of wrong pairs in percent, runs compared.

    Raises
    ------
    ValueError
        Naming the runs, if two of one rate were trained with different indices.
    """
    found, lines = {}, []
    for line in listed[listed.role == "report"].itertuples():
        run = runs.stored(line.key)
        found.setdefault(run.config["noise"], []).append((f"{line.arm}, seed {line.seed}", run))
    for rate, group in sorted(found.items()):
        index = np.asarray(group[0][1].array("index"))
        for name, run in group[1:]:
            if not np.array_equal(index, run.array("index")):
                raise ValueError(f"{group[0][0]} and {name} were trained with different noise")
        if not rate:
            continue
        name = f"{book.kind}_{rate:g}.npy"
        noise_index.write(index, book.out / "noise_index" / name)
        true = noise.true_rate(index, book.dataset().captions_per_image)
        lines.append((name, len(index), 100 * rate, 100 * true, len(group)))
    columns = ["file", "captions", "picked (%)", "truly wrong (%)", "runs that had it"]
    return pd.DataFrame(lines, columns=columns)


# --- Figure 1: the pipeline of a run -------------------------------------------------------------


def pipeline_numbers(run, captions_per_image: int) -> pd.DataFrame:
    """What the figure of the pipeline says of a run of GSL: network ("A", "B", ""), what, value.

    The division is that of the last epoch, the labels as last corrected; clean and noisy in truth.
    """
    config, n = run.config, len(run.array("index"))
    wrong = noise.mismatched(run.array("index"), captions_per_image)
    config_of = gsl.Config(**config)
    early, late = (coteaching.steps_an_epoch(config_of, n, False, parts) for parts in (False, True))
    lines = [
        ("", "pairs", n),
        ("", "noisy pairs", wrong.sum()),
        ("", "steps of warm-up", early),
        ("", "steps an epoch", late),
        ("", "RSUM", run.metrics.get("test RSUM", np.nan)),
        ("", "best epoch", run.metrics["best epoch"]),
    ]
    for name, p, y in zip("AB", run.array("posterior"), run.array("labels")):
        noisy_ones = p <= config["delta"]
        known = ~np.isnan(y)
        lines += [
            (name, "divided as clean", (~noisy_ones).sum()),
            (name, "divided as noisy", noisy_ones.sum()),
            (name, "of them noisy in truth", (noisy_ones & wrong).sum()),
            (name, "mean label, clean", y[known & ~wrong].mean()),
            (name, "mean label, noisy", y[known & wrong].mean()),
        ]
    return pd.DataFrame(lines, columns=["network", "what", "value"])


SIZE = (11.6, 5.8)  # of the figure, and of its coordinates
MIDDLE, LANES = 2.9, {"A": 4.15, "B": 1.65}


def pipeline(run, captions_per_image: int):
    """Figure 1: Algorithm 1 as one run went through it; its numbers are `pipeline_numbers`."""
    figures.use_style()
    numbers = pipeline_numbers(run, captions_per_image)
    said = {(a, b): c for a, b, c in numbers.itertuples(index=False)}
    pairs, wrong = said["", "pairs"], said["", "noisy pairs"]
    figure = plt.figure(figsize=SIZE)
    axis = figure.add_axes((0, 0, 1, 1))
    axis.set_axis_off(), axis.set_xlim(0, SIZE[0]), axis.set_ylim(0, SIZE[1])
    _box(
        axis,
        0.1,
        MIDDLE,
        1.45,
        1.5,
        "Training pairs",
        f"{pairs:,.0f} captions,\n{wrong:,.0f} with a wrong\npicture ({100 * wrong / pairs:.1f} %)",
    )
    for k in range(2):
        _lane(axis, k, run, said)
        mismatched = noise.mismatched(run.array("index"), captions_per_image)
        _posterior(
            figure,
            run.array("posterior")[k],
            mismatched,
            run.config["delta"],
            (4.3, LANES["AB"[k]] - 0.2, 1.65, 0.85),
        )
    peers = "peers\nexchange" if run.config["split"] == "peer" else "own\ndivisions"
    white = dict(facecolor="white", lw=0, pad=1.5)
    axis.text(
        6.62,
        MIDDLE,
        peers,
        ha="center",
        va="center",
        fontsize=8.5,
        color=ACCENT,
        fontweight="bold",
        bbox=white,
    )
    for x, y, text in (
        (8.28, MIDDLE, "one step of Adam for both networks"),
        (
            6.7,
            5.62,
            f"again every epoch: {_counted(run.config['epochs'], 'epoch')} of "
            f"{_counted(said['', 'steps an epoch'], 'step')}",
        ),
    ):
        axis.text(x, y, text, ha="center", va="center", fontsize=8.5, bbox=white)
    _box(
        axis,
        10.05,
        MIDDLE,
        1.45,
        1.5,
        "Test",
        f"mean of A's and B's\nscores, epoch {said['', 'best epoch']:.0f}\n(best on dev):\n"
        f"RSUM {said['', 'RSUM']:.1f}",
    )
    axis.text(
        0.1,
        0.12,
        "Small panels: p(clean) of all pairs in the last epoch, from 0 to 1; "
        "filled: clean in truth, hatched: noisy in truth; line: δ. Mean labels: clean and "
        "noisy in truth.",
        fontsize=8,
        color="#555555",
    )
    return figure


def _lane(axis, k: int, run, said: dict) -> None:
    """Warm-up, division and training of network `k`, and the arrows from and to them."""
    config, name, other = run.config, "AB"[k], "BA"[k]
    peer, y, up = config["split"] == "peer", LANES["AB"[k]], 1 - 2 * k
    kind = LOSSES[config["warm_up"] or gsl.METHOD.warm_up]
    _box(
        axis,
        1.95,
        y,
        1.7,
        1.5,
        f"Warm-up of {name}",
        f"{_counted(config['warm_up_epochs'], 'epoch')} of\n"
        f"{_counted(said['', 'steps of warm-up'], 'step')},\n"
        f"{config['batch']} pairs a step,\n{kind}",
    )
    _box(axis, 4.05, y, 2.15, 2.15, f"Division by {name}", "")
    parts = [f"{said[name, f'divided as {kind}']:,.0f} {kind}" for kind in ("clean", "noisy")]
    axis.text(
        5.12,
        y - 0.5,
        f"L_SCT, beta mixture:\n{', '.join(parts)}",
        fontsize=8.5,
        ha="center",
        va="top",
        linespacing=1.4,
    )
    _box(
        axis,
        7.05,
        y,
        2.45,
        2.15,
        f"{name} learns on {other if peer else name}'s division",
        f"a step: {config['batch']} clean and\n{config['batch']} noisy pairs; anchors\n"
        "and labels, Eq. 7–11\n"
        f"(mean label: clean {said[name, 'mean label, clean']:.2f},\n"
        f"noisy {said[name, 'mean label, noisy']:.2f}); L_SCT with\nsoft margins, Eq. 13–17",
    )
    target = LANES[other if peer else name]
    _arrow(axis, (1.58, MIDDLE + 0.2 * up), (1.92, y - 0.4 * up))
    _arrow(axis, (3.68, y), (4.02, y))
    _arrow(axis, (6.23, y - 0.3 * up), (7.02, target + (0.3 if peer else -0.3) * up), ACCENT, 2)
    _arrow(axis, (9.53, y), (10.02, MIDDLE + 0.2 * up))
    _arrow(axis, (8.3, y + 1.12 * up), (5.1, y + 1.12 * up), bend=0.1 * up)


def _counted(n: float, what: str) -> str:
    """
    >>> _counted(1, "epoch"), _counted(2, "epoch")
    ('1 epoch', '2 epochs')
    """
    return f"{n:,.0f} {what}{'s' * (n != 1)}"


def _box(axis, x: float, middle: float, wide: float, high: float, title: str, text: str) -> None:
    """A box around its middle line: a title in bold and text below it."""
    axis.add_patch(
        FancyBboxPatch(
            (x + 0.06, middle - high / 2 + 0.06),
            wide - 0.12,
            high - 0.12,
            boxstyle="round,pad=0.06",
            facecolor="#f5f7f9",
            edgecolor="#777777",
        )
    )
    axis.text(
        x + wide / 2,
        middle + high / 2 - 0.1,
        title,
        fontsize=9,
        fontweight="bold",
        ha="center",
        va="top",
    )
    axis.text(
        x + wide / 2, middle - 0.12, text, fontsize=8.5, ha="center", va="center", linespacing=1.4
    )


def _arrow(axis, start, end, colour=INK, width=1.2, bend=0.0) -> None:
    style = dict(arrowstyle="-|>", color=colour, lw=width, connectionstyle=f"arc3,rad={bend}")
    axis.annotate("", end, start, arrowprops=style)


def _posterior(figure, p: np.ndarray, wrong: np.ndarray, delta: float, place: tuple) -> None:
    """A small histogram of p(clean), clean and noisy pairs stacked, the threshold marked."""
    x, y, wide, high = place
    inset = figure.add_axes((x / SIZE[0], y / SIZE[1], wide / SIZE[0], high / SIZE[1]))
    inset.hist(
        [p[~wrong], p[wrong]],
        bins=np.linspace(0, 1, 21),
        stacked=True,
        color=[OURS, "white"],
        edgecolor=PAPER,
        linewidth=0,
    )
    for bar in inset.containers[1]:
        bar.set(hatch="//////", edgecolor=PAPER, linewidth=0.5)
    inset.axvline(delta, color=INK, lw=1)
    inset.set_xticks([0, delta, 1], ["0", f"δ = {delta:g}", "1"], fontsize=7.5)
    inset.set_yticks([]), inset.grid(False)
    inset.tick_params(length=2, pad=2, labelfontfamily="DejaVu Sans")


# --- RSUM against noise --------------------------------------------------------------------------

STYLES = {  # mark, colour, dashes: methods whole, bounds dashed
    "GSL": ("o", OURS, "-"),
    "NCR": ("s", PAPER, "-"),
    "BiCro": ("^", ACCENT, "-"),
    "GSC": ("D", "#CC79A7", "-"),
    "plain triplet": ("v", INK, "--"),
    "warm-up alone": ("*", "#999933", ":"),
    "mean violations": ("P", "#777777", "--"),
    "clean pairs alone": ("X", "#56B4E9", ":"),
}


def noise_lines(metrics: pd.DataFrame, column: str = "RSUM") -> pd.DataFrame:
    """Rows such as "gsl-0.4" as curves: method, noise, the column's mean, low, high, seeds."""
    lines = []
    for row, values in metrics[metrics.column == column].groupby("row", sort=False)["value"]:
        method, _, rate = row.partition("-")
        lines.append((NAMES[method], float(rate), *t_interval(values.to_numpy()), len(values)))
    found = pd.DataFrame(lines, columns=["method", "noise", column, "low", "high", "seeds"])
    order = found.method.map(list(NAMES.values()).index)
    return (
        found.assign(order=order)
        .sort_values(["order", "noise"])
        .drop(columns="order")
        .reset_index(drop=True)
    )


def notes_table() -> pd.DataFrame:
    """`NOTES` for reading."""
    return pd.DataFrame(
        [
            {"method": name}
            | {f"{100 * float(rate):.0f} % noise": value for rate, value in own.items()}
            for name, own in NOTES.items()
        ]
    )


def sizes_table(book) -> pd.DataFrame:
    """What a profile makes of GSL: networks, schedule, and how much of the data."""
    p, splits = book.profile, book.dataset().splits
    kinds = {"sgr": "graph reasoning (SGR)", "saf": "attention filter (SAF)"}
    said = {
        "similarity": kinds[p.gsl_similarity],
        "regions an image": p.gsl_regions,
        "joint width": p.gsl_dim,
        "width of an alignment": p.gsl_sim_dim,
        "pairs a step": p.gsl_batch,
        "warm-up": f"{p.gsl_warm_up_epochs} epochs at {p.gsl_learning_rate:g}",
        "after it": f"{p.gsl_epochs} epochs at {p.gsl_learning_rate * p.gsl_after:g}",
        "steps an epoch": p.gsl_epoch_steps or "a pass",
    }
    for split in ("train", "dev", "test"):
        whole = len(splits[split])
        shown = (p.gsl_images if split == "train" else getattr(p, f"gsl_{split}_images")) or whole
        said[f"{split} images"] = f"the first {shown:,} of {whole:,}"
    return pd.DataFrame({"what": said.keys(), "here": map(str, said.values())})


def comparable(book) -> str:
    """Whether numbers may be held against the paper's: not those of a part of the data."""
    p, splits = book.profile, book.dataset().splits
    part = any(
        0 < some < len(splits[name])
        for name, some in (("train", p.gsl_images), ("test", p.gsl_test_images))
    )
    if book.kind == "world" or not part:
        return run_tables.comparable(book)
    return "A part of the data, so no value may be held against the paper's: compare the order."


def note_of(book, seeds: int = 0) -> str:
    """What stands by a table or figure of means, as `explore.note_of`."""
    return run_tables.note_of(book, seeds).replace(run_tables.comparable(book), comparable(book))


def noise_table(lines: pd.DataFrame) -> pd.DataFrame:
    """`noise_lines` as a table: a line a method, mean and half the interval's width by noise."""
    column = lines.columns[2]
    table = []
    for method, group in lines.groupby("method", sort=False):
        line = {"method": method}
        for each in group.itertuples(index=False):
            line[f"{100 * each.noise:.0f} %"] = getattr(each, column)
            line[f"± {100 * each.noise:.0f} %"] = (each.high - each.low) / 2
        known = group.set_index("noise")[column]
        line["from 0 to 60 %"] = known.get(0.6, np.nan) - known.get(0.0, np.nan)
        fewest, most = group.seeds.min(), group.seeds.max()
        table.append(line | {"seeds": f"{fewest}" if fewest == most else f"{fewest} or {most}"})
    found = pd.DataFrame(table)
    rates = sorted({f"{100 * each:.0f} %" for each in lines.noise}, key=lambda t: int(t[:-2]))
    shown = [name for rate in rates for name in (rate, f"± {rate}") if found[name].notna().any()]
    return found[["method", *shown, "from 0 to 60 %", "seeds"]]


def noise_figure(lines: pd.DataFrame, note: str):
    """RSUM against the noise, a curve a method; intervals stand a little beside each other."""
    figures.use_style()
    figure, axis = plt.subplots(figsize=(7.6, 4.2))
    column, names = lines.columns[2], list(dict.fromkeys(lines.method))
    for i, name in enumerate(names):
        curve, (mark, colour, dashes) = lines[lines.method == name], STYLES[name]
        x = 100 * curve.noise + 0.5 * (i - (len(names) - 1) / 2)
        axis.plot(x, curve[column], dashes, marker=mark, ms=6, color=colour, label=name)
        axis.vlines(x, curve.low, curve.high, color=colour, lw=2, alpha=0.5)
    places = sorted(lines.noise.unique())
    axis.set_xticks([100 * each for each in places], [f"{100 * each:.0f}" for each in places])
    axis.set_xlabel("captions picked to be given another picture (%)")
    axis.set_ylabel(f"{column} on test")
    axis.legend(
        loc="center left",
        bbox_to_anchor=(1.01, 0.5),
        fontsize=8.5,
        title="dashed: bounds",
        title_fontsize=8.5,
    )
    figure.text(0.01, 0.005, note, fontsize=8, color="#555555")
    figure.tight_layout(rect=(0, 0.04, 1, 1))
    return figure


# --- Switches and labels -------------------------------------------------------------------------

MEASURES = ("RSUM", "division AUC", "label AUC")


def apart(metrics: pd.DataFrame, column: str, row: str, base: str) -> tuple:
    """How far a row lies above the row `base`, over the seeds they share: mean, low, high, seeds.

    >>> m = pd.DataFrame({"row": ["a", "a", "b"], "column": "x", "seed": [0, 1, 0],
    ...                   "value": [3.0, 9.0, 1.0]})
    >>> apart(m, "x", "a", "b")
    (2.0, nan, nan, 1)
    """
    own = metrics[metrics.column == column].pivot_table(index="seed", columns="row", values="value")
    if row not in own or base not in own:
        return np.nan, np.nan, np.nan, 0
    both = (own[row] - own[base]).dropna()
    return (*t_interval(both), len(both)) if len(both) else (np.nan, np.nan, np.nan, 0)


def switch_table(metrics: pd.DataFrame, base: str = "gsl", measures=MEASURES) -> pd.DataFrame:
    """Every arm, what it does otherwise, and each measure with its difference from `base`.

    The difference is over the seeds that both have, whose number (of the first measure) is the last
    column; ± is half of its 95 % interval.
    """
    lines = []
    for row in sorted(set(metrics.row), key=list(CHANGES).index):
        line, mine = {"arm": row, "what is otherwise": CHANGES[row]}, metrics[metrics.row == row]
        for column in measures:
            line[column] = mine[mine.column == column]["value"].mean()
            mean, low, high, n = apart(metrics, column, row, base)
            unit = "" if column == "RSUM" else f" {column.split()[0]}"
            line[f"Δ{unit}"] = np.nan if row == base else mean
            line[f"±{unit}"] = np.nan if row == base else (high - low) / 2
            line.setdefault("seeds in common", n)
        lines.append(line)
    found = pd.DataFrame(lines)
    found = found[[*(c for c in found if c != "seeds in common"), "seeds in common"]]
    unknown = [c for c in found if c.startswith("±") and found[c].isna().all()]
    return found.drop(columns=unknown)


def complaints(listed: pd.DataFrame) -> pd.DataFrame:
    """What the mixtures of reported runs complained of: arm, seeds, divisions, of them with a
    complaint, and the last one of the first seed."""
    lines = []
    for arm, group in listed[listed.role == "report"].groupby("arm", sort=False):
        found = [runs.stored(key) for key in group.key]
        told = [
            json.loads(path.read_text()) if (path := run.folder / "problems.json").exists() else {}
            for run in found
        ]
        epochs = found[0].config["epochs"]
        last = list(told[0].items())[-1:]
        lines.append(
            (
                arm,
                len(found),
                2 * epochs * len(found),
                sum(map(len, told)),
                "".join(f"{place}: {what}" for place, what in last),
            )
        )
    columns = ["arm", "seeds", "divisions", "with a complaint", "such as"]
    found = pd.DataFrame(lines, columns=columns)
    return found[found["with a complaint"] > 0].reset_index(drop=True)


def moved(run, around: tuple = (0.4, 0.6)) -> pd.DataFrame:
    """How many pairs a threshold can move: network, share of pairs whose last p(clean) lies between
    two thresholds, and the shares that count as clean at both and at the run's own."""
    low, high = around
    delta, lines = run.config["delta"], []
    for name, p in zip("AB", np.asarray(run.array("posterior"))):
        lines.append(
            (
                name,
                *(100 * np.mean(p > each) for each in (low, delta, high)),
                100 * np.mean((p > low) & (p <= high)),
            )
        )
    columns = [
        "network",
        *(f"clean at {each:g} (%)" for each in (low, delta, high)),
        f"between {low:g} and {high:g} (%)",
    ]
    return pd.DataFrame(lines, columns=columns)


# --- Table 2: time -------------------------------------------------------------------------------


def increase(costs: pd.DataFrame, column: str, row: str) -> tuple[float, float]:
    """Percent by which a row takes longer than NCR, mean over seeds, and half its 95 % interval."""
    wide = costs.pivot(index="seed", columns="row", values=column)
    mean, low, high = t_interval((100 * (wide[row] / wide["ncr"] - 1)).dropna())
    return mean, (high - low) / 2


def cost_table(costs: pd.DataFrame, printed: pd.DataFrame, rows: tuple) -> pd.DataFrame:
    """Table 2 beside the paper's: seconds and the increase over NCR, at the own schedule and at
    equal steps, and what division and correction add.

    Parameters
    ----------
    costs : from `gsl_cost.costs`. rows : (group, the paper's row, our arm or None) triples.
    """
    paper, lines = printed.set_index(["row", "column"])["value"], []
    for _, name, arm in rows:
        line = {
            "method": name,
            "paper, seconds": paper[name, "seconds"],
            "paper, increase (%)": paper[name, "increase"],
        }
        if arm:
            mine = costs[costs.row == arm].mean(numeric_only=True)
            line |= {
                "ours, seconds": mine["seconds"],
                "ours, increase (%)": increase(costs, "seconds", arm)[0],
                "±": increase(costs, "seconds", arm)[1],
                "at equal steps (%)": increase(costs, "at equal steps", arm)[0],
                "division and correction (%)": mine["overhead"],
            }
        lines.append(line | {"": "" if arm else NOT_REBUILT})
    return pd.DataFrame(lines)


PARTS = ("warm-up", "training without correction", "correction", "division")


def time_lines(costs: pd.DataFrame) -> pd.DataFrame:
    """Where the seconds go, mean over seeds: method and `PARTS`, which add up to the whole."""
    own = costs.groupby("row", sort=False).mean(numeric_only=True)
    found = pd.DataFrame(
        {
            "warm-up": own["warm-up"],
            "training without correction": own["training"] - own["correction"],
            "correction": own["correction"],
            "division": own["division"],
        }
    )
    found.insert(0, "method", [NAMES[row] for row in found.index])
    return found.reset_index(drop=True)


def time_bars(lines: pd.DataFrame, note: str):
    """`time_lines` as stacked bars, each part with its share where there is room."""
    figures.use_style()
    figure, axis = plt.subplots(figsize=(8.6, 0.55 * len(lines) + 1.7))
    looks = {
        "warm-up": ("#999999", ""),
        "training without correction": (OURS, ""),
        "correction": (PAPER, "////"),
        "division": (ACCENT, "...."),
    }
    y, left, whole = -np.arange(len(lines)), np.zeros(len(lines)), lines[list(PARTS)].sum(axis=1)
    for part in PARTS:
        colour, hatch = looks[part]
        wide = lines[part].to_numpy()
        axis.barh(
            y, wide, 0.62, left=left, color=colour, hatch=hatch, edgecolor="white", label=part
        )
        for row in np.flatnonzero(wide > 0.06 * whole.max()):
            axis.text(
                left[row] + wide[row] / 2,
                y[row],
                f"{100 * wide[row] / whole[row]:.0f} %",
                ha="center",
                va="center",
                fontsize=8,
                bbox=dict(facecolor="white", lw=0, pad=1.2),
            )
        left = left + wide
    for row, total in enumerate(whole):
        axis.text(
            total,
            y[row],
            f"  {total:,.0f} s" if total >= 10 else f"  {total:.1f} s",
            va="center",
            fontsize=8.5,
        )
    axis.set_yticks(y, lines.method)
    axis.set_xlabel("seconds of training by the method's own schedule, one thread")
    axis.margins(x=0.1), axis.grid(axis="y", visible=False)
    figure.legend(*axis.get_legend_handles_labels(), loc="upper center", ncols=4, fontsize=8.5)
    figure.text(0.01, 0.005, note, fontsize=8, color="#555555")
    figure.tight_layout(rect=(0, 0.04, 1, 0.92))
    return figure


def schedule_table() -> pd.DataFrame:
    """The epochs of each method's own schedule, and where they are from."""
    return pd.DataFrame(
        [(NAMES[name], each.warm_up, each.epochs, each.source) for name, each in SCHEDULES.items()],
        columns=["method", "epochs of warm-up", "epochs after it", "from"],
    )


def gains_table(metrics: pd.DataFrame, rows: tuple) -> pd.DataFrame:
    """RSUM gained on NCR: the paper's text, and ours seed by seed with half a 95 % interval."""
    lines = []
    for _, name, arm in rows:
        if arm == "ncr":
            continue
        mean, low, high, n = apart(metrics, "RSUM", arm, "ncr")
        lines.append((name, GAINS[name], mean, (high - low) / 2, n, "" if arm else NOT_REBUILT))
    return pd.DataFrame(lines, columns=["method", "paper", "ours", "±", "seeds", " "])


# --- Table 3 and Figure 2: what is found ----------------------------------------------------------


def as_printed(metrics: pd.DataFrame, who: str = "mean", kind: str = "noisy") -> pd.DataFrame:
    """Metrics with Table 3's two columns added: precision and recall of a class, by network A, B or
    the mean of both."""
    names = {f"{who} {kind} {each}": each for each in ("precision", "recall")}
    found = metrics[metrics.column.isin(names)]
    return pd.concat([metrics, found.assign(column=found.column.map(names))], ignore_index=True)


def classes_table(metrics: pd.DataFrame) -> pd.DataFrame:
    """Precision and recall of both classes by each network and by their mean, and division AUC:
    means over seeds."""
    mean = metrics.groupby(["row", "column"])["value"].mean()
    lines = []
    for row in (each for each in NAMES if each in set(metrics.row)):
        for who in ("mean", "A", "B"):
            line = {"method": NAMES[row], "p(clean) of": "both, mean" if who == "mean" else who}
            for kind in ("noisy", "clean"):
                for each in ("precision", "recall"):
                    line[f"{kind}: {each}"] = mean.get((row, f"{who} {kind} {each}"), np.nan)
            line["division AUC"] = mean.get((row, "division AUC")) if who == "mean" else np.nan
            lines.append(line)
    return pd.DataFrame(lines)


def label_shares(run, captions_per_image: int, bins: int = 20) -> pd.DataFrame:
    """Figure 2 of a run: shares of its clean and of its noisy pairs by corrected label, in percent.

    A pair's label is the mean of what the networks gave it last; pairs without one are left out.

    Returns
    -------
    DataFrame: low, high (of the label), clean, noisy; each of the two adds up to 100.
    """
    labels = np.asarray(run.array("labels"))
    known = ~np.isnan(labels).all(0)
    mean = np.nanmean(labels[:, known], axis=0)
    wrong = noise.mismatched(run.array("index"), captions_per_image)[known]
    edges = np.linspace(0, 1, bins + 1)
    found = {"low": edges[:-1], "high": edges[1:]}
    for name, chosen in (("clean", ~wrong), ("noisy", wrong)):
        counts = np.histogram(mean[chosen], edges)[0]
        found[name] = 100 * counts / max(1, counts.sum())
    return pd.DataFrame(found)


def label_histograms(shares: dict[str, pd.DataFrame], note: str):
    """Figure 2: a panel a method, of `label_shares`; clean pairs filled, noisy ones hatched."""
    figures.use_style()
    figure, axes = plt.subplots(
        1, len(shares), figsize=(3.5 * len(shares), 3.3), sharex=True, sharey=True, squeeze=False
    )
    for axis, (name, each) in zip(axes[0], shares.items()):
        edges = [*each.low, each.high.iloc[-1]]
        axis.stairs(each.clean, edges, fill=True, color=OURS, alpha=0.55, label="clean in truth")
        axis.stairs(
            each.noisy,
            edges,
            fill=True,
            facecolor="none",
            edgecolor=PAPER,
            hatch="////",
            lw=1.4,
            label="noisy in truth",
        )
        axis.set_title(name)
        axis.set_xlabel("corrected label")
    axes[0, 0].set_ylabel("share of the class (%)")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="upper right", ncols=2, fontsize=8.5)
    figure.text(0.01, 0.005, note, fontsize=8, color="#555555")
    figure.tight_layout(rect=(0, 0.05, 1, 0.94))
    return figure


def label_auc_table(metrics: pd.DataFrame) -> pd.DataFrame:
    """Label AUC of the methods' own labels in training, with 95 % intervals, and how many pairs got
    one."""
    lines = []
    for row in (each for each in NAMES if each in set(metrics.row)):
        own = metrics[(metrics.row == row) & (metrics.column == "label AUC")]
        if len(own):
            lines.append((NAMES[row], *t_interval(own.value), int(own.n.mean()), len(own)))
    return pd.DataFrame(lines, columns=["method", "label AUC", "low", "high", "labelled", "seeds"])


def rules_table(metrics: pd.DataFrame) -> pd.DataFrame:
    """Label AUC of the rules that were tried on GSL's finished networks, with 95 % intervals, and
    the mean label of clean and of noisy pairs."""
    lines = []
    for row in (each for each in CHANGES if each in set(metrics.row) - {"gsl"}):
        own = metrics[metrics.row == row].groupby("column")["value"].apply(list)
        mean, low, high = t_interval(own["label AUC"])
        lines.append(
            (
                row,
                CHANGES[row],
                mean,
                low,
                high,
                np.mean(own["mean label, clean"]),
                np.mean(own.get("mean label, noisy", [np.nan])),
                len(own["label AUC"]),
            )
        )
    found = pd.DataFrame(
        lines,
        columns=[
            "rule",
            "what is otherwise",
            "label AUC",
            "low",
            "high",
            "mean label, clean",
            "mean label, noisy",
            "seeds",
        ],
    )
    found["order"] = found.rule != "relabelled"
    return found.sort_values("order", kind="stable").drop(columns="order").reset_index(drop=True)


# --- Figures 3 and 4: what is retrieved -----------------------------------------------------------


@torch.no_grad()
def scores(run, inputs, images: np.ndarray, captions: np.ndarray, device: str = "cpu"):
    """Mean score of a run's two networks, of some test images with some test captions.

    Parameters
    ----------
    images `(n,)`, captions `(m,)` : rows of the test split, from 0.

    Returns
    -------
    (n, m) float array
    """
    dataset, feature_run = inputs[:2]
    networks, vocabulary = coteaching.load(run, *inputs[:4])
    said = dataset.captions_of("test")
    ids, lengths = vocabulary.encode([said[i] for i in captions])
    total = 0
    for network in networks.to(device):
        words, parts = network.encode_captions(ids.to(device), lengths), []
        for start in range(0, len(images), coteaching.IMAGES):
            rows = dataset.splits["test"][images[start : start + coteaching.IMAGES]]
            raw = region_features.batch(feature_run.array("features"), rows, run.config["regions"])
            parts.append(network.similarity(network.encode_images(raw.to(device)), words).cpu())
        total = total + torch.cat(parts)
    return (total / len(networks)).numpy()


def retrieved(run, inputs, queries: int = 4, k: int = 3, device: str = "cpu") -> dict:
    """The top `k` of the first test queries, from the test images that the run was measured on.

    Returns
    -------
    dict of "captions", for the first images, and "images", for the first caption of each of them:
    DataFrames of query (a row of the test split), rank, found (likewise), score, right.
    """
    dataset = inputs[0]
    each, n = dataset.captions_per_image, run.config["test_images"] or len(dataset.splits["test"])
    first = np.arange(min(queries, n))
    return {
        "captions": top(
            scores(run, inputs, first, np.arange(each * n), device),
            k,
            first,
            lambda image, caption: caption // each == image,
        ),
        "images": top(
            scores(run, inputs, np.arange(n), each * first, device).T,
            k,
            each * first,
            lambda caption, image: caption // each == image,
        ),
    }


def top(found: np.ndarray, k: int, queries, is_right) -> pd.DataFrame:
    """The `k` largest of each row, the first of equals first: query, rank, found, score, right.

    >>> top(np.array([[0.1, 0.9, 0.4]]), 2, [7], lambda q, i: i == 2)[["found", "right"]].values
    array([[1, False],
           [2, True]], dtype=object)
    """
    lines = []
    for query, row in zip(queries, found):
        for rank, i in enumerate(np.argsort(-row, kind="stable")[:k], 1):
            lines.append((int(query), rank, int(i), float(row[i]), bool(is_right(query, i))))
    return pd.DataFrame(lines, columns=["query", "rank", "found", "score", "right"])


def shown_against_all(found: dict, listed: pd.DataFrame, named: dict[str, str]) -> pd.DataFrame:
    """How many of the queries shown have a right answer first or among the top, in percent, beside
    R@1 of all test queries and that of a random order.

    Parameters
    ----------
    found : `retrieved` of each method, by its name. named : the arm of each name.
    """
    lines = []
    for name, both in found.items():
        run = first_run(listed, named[name])
        n = len(run.array("ranks_i2t"))
        for way, kind, short in (
            ("image to text", "captions", "i2t"),
            ("text to image", "images", "t2i"),
        ):
            right = both[kind].groupby("query").right
            lines.append(
                (
                    name,
                    way,
                    right.ngroups,
                    100 * right.first().mean(),
                    100 * right.any().mean(),
                    run.metrics[f"test {short} R@1"],
                    100 / n,
                )
            )
    return pd.DataFrame(
        lines,
        columns=[
            "method",
            "direction",
            "queries shown",
            "right first (%)",
            "right among the top (%)",
            "R@1 of all (%)",
            "R@1 by chance (%)",
        ],
    )


def long_form(found: dict[str, dict], dataset, way: str) -> pd.DataFrame:
    """`retrieved` of several methods one below the other, with what was found in words: `way` is
    "captions" or "images"."""
    said, each = dataset.captions_of("test"), dataset.captions_per_image
    table = pd.concat([both[way].assign(method=name) for name, both in found.items()])
    if way == "captions":
        table["caption"] = [said[i] for i in table.found]
    else:
        table["asked"] = [said[i] for i in table["query"]]
        table["first caption"] = [said[each * i] for i in table.found]
    return table.sort_values(["query", "method", "rank"], ignore_index=True, kind="stable")


RIGHT, WRONG = ("✓", ACCENT), ("✗", PAPER)


def captions_figure(found: pd.DataFrame, dataset, note: str):
    """Figure 3: a test image a line, and the top captions of each method with their scores."""
    figures.use_style()
    queries, methods = list(dict.fromkeys(found["query"])), list(dict.fromkeys(found.method))
    figure, axes = plt.subplots(
        len(queries),
        1 + len(methods),
        figsize=(11, 1.75 * len(queries) + 0.7),
        squeeze=False,
        width_ratios=(1, *[3] * len(methods)),
    )
    for line, query in zip(axes, queries):
        _picture(line[0], dataset, query, f"test image {query}")
        for axis, method in zip(line[1:], methods):
            axis.set_axis_off()
            own = found[(found["query"] == query) & (found.method == method)]
            for i, each in enumerate(own.itertuples()):
                mark, colour = RIGHT if each.right else WRONG
                y = 0.9 - i / len(own)
                axis.text(
                    0.0,
                    y,
                    mark,
                    color=colour,
                    fontsize=13,
                    va="top",
                    fontweight="bold",
                    transform=axis.transAxes,
                )
                axis.text(
                    0.06,
                    y,
                    f"{each.score:.3f}",
                    fontsize=8.5,
                    va="top",
                    transform=axis.transAxes,
                    fontweight="bold",
                )
                axis.text(
                    0.18,
                    y,
                    _wrapped(each.caption, 52),
                    fontsize=8.5,
                    va="top",
                    transform=axis.transAxes,
                )
    for axis, method in zip(axes[0, 1:], methods):
        axis.set_title(method)
    figure.text(0.01, 0.005, _marks(note), fontsize=8, color="#555555")
    figure.tight_layout(rect=(0, 0.03, 1, 1))
    return figure


def images_figure(found: pd.DataFrame, dataset, note: str):
    """Figure 4: a caption a line, and the top images of each method with their scores."""
    figures.use_style()
    queries, methods = list(dict.fromkeys(found["query"])), list(dict.fromkeys(found.method))
    k = int(found["rank"].max())
    figure = plt.figure(figsize=(11, 2.15 * len(queries) + 0.7))
    grid = figure.add_gridspec(
        len(queries),
        k * len(methods) + len(methods) - 1,
        hspace=0.55,
        wspace=0.08,
        left=0.01,
        right=0.99,
        top=0.9,
        bottom=0.06,
        width_ratios=[*[1] * k, *[0.35, *[1] * k] * (len(methods) - 1)],
    )
    for r, query in enumerate(queries):
        for m, method in enumerate(methods):
            own = found[(found["query"] == query) & (found.method == method)]
            for c, each in enumerate(own.itertuples()):
                axis = figure.add_subplot(grid[r, m * (k + 1) + c])
                mark, colour = RIGHT if each.right else WRONG
                _picture(axis, dataset, each.found, f"{mark} {each.score:.3f}", colour)
                if not m + c:
                    axis.text(
                        0,
                        1.32,
                        f"“{own.asked.iloc[0]}”",
                        fontsize=9.5,
                        fontweight="bold",
                        transform=axis.transAxes,
                    )
                if not r + c:
                    axis.text(
                        0,
                        1.62,
                        method,
                        fontsize=11,
                        fontweight="bold",
                        color="#555555",
                        transform=axis.transAxes,
                    )
    figure.text(0.01, 0.005, _marks(note), fontsize=8, color="#555555")
    return figure


def _picture(axis, dataset, row: int, title: str, colour=None) -> None:
    """A test image, framed in a colour; its first caption where there are no pictures."""
    axis.set_xticks([]), axis.set_yticks([]), axis.grid(False)
    axis.set_title(
        title, fontsize=8.5, fontweight="bold" if colour else "normal", color=colour or INK
    )
    if dataset.images is None:
        said = dataset.captions_of("test")[row * dataset.captions_per_image]
        axis.text(0.04, 0.95, _wrapped(said, 22), fontsize=7.5, va="top", transform=axis.transAxes)
    else:
        axis.imshow(dataset.images[dataset.splits["test"][row]], interpolation="nearest")
    for spine in axis.spines.values():
        spine.set(visible=bool(colour), color=colour or INK, linewidth=3)


def _marks(note: str) -> str:
    return (
        "✓ belongs to the query, ✗ does not; the number is the mean score of both networks. " + note
    )


def _wrapped(text: str, width: int) -> str:
    return "\n".join(textwrap.wrap(text, width)[:3])


# --- Shapes of tensors -------------------------------------------------------------------------


def corrected_labels(images, captions, clean):
    """From cosines to a pair's corrected label, ours and as the notes print it (GSL Eq. 8–11).

    Cosines `(B, B)` of a mini-batch's images and of its captions, which of the pairs are `clean`
    `(B,) bool`; shown are those of the first pair, which needs two clean ones beside it.
    """
    s_i, s_t, others = images[0], captions[0], np.arange(1, len(clean))
    near = [others[clean[1:]][np.argsort(-each[others[clean[1:]]])[:2]] for each in (s_i, s_t)]
    chosen, pairs = np.concatenate(near), ("n", *labelled("p", others))
    names = tuple(f"{way} a{'₁₂'[i]}" for way in "IT" for i in range(2))
    inputs, at = [], []
    for name, row, s, of, colour in (
        ("images", "S_I", s_i, near[0], IMAGE),
        ("captions", "S_T", s_t, near[1], TEXT),
    ):
        framed = np.isin(np.arange(len(s)), of)[None]
        inputs.append(Grid(name, "(B, B)", s[None], colour, (row,), pairs, framed))
        at.append(Grid("to the anchors", "(B, 4)", s[chosen][None], colour, (row,), names))
    lanes = {
        "Ours: is the caption as near to the anchors' captions as the image to their images?": [
            tuple(inputs),
            "two clean\npairs each",
            *_likeness(tuple(at), s_t[chosen] / s_i[chosen], names),
        ],
        "As printed: one anchor against the other": _ratios(tuple(at), s_i[chosen], s_t[chosen]),
    }
    return draw(
        lanes,
        "n: the pair to be labelled, the other pairs are clean. I a₁, I a₂: the two nearest by "
        "images, T a₁, T a₂: by captions (framed). Sheets: the rest of the batch.",
    )


def _likeness(at: tuple, q, names: tuple) -> list:
    """The rest of our lane, from the similarities to the anchors and their quotients q `(4,)`."""
    likeness = np.minimum(q, 1 / q)
    return [
        at,
        "S_T / S_I",
        Grid("q", "(B, 4)", q[None], columns=names),
        "min(q, 1/q)",
        Grid("likeness", "(B, 4)", likeness[None], columns=names),
        "mean\nEq. 11",
        Grid("label ŷ", "(B,)", np.array([[likeness.mean()]])),
    ]


def _ratios(at: tuple, s_i, s_t) -> list:
    """The lane of the printed rule, from the similarities `(4,)` of images and of captions."""
    r_i, r_t, ways = s_i[::2] / s_i[1::2], s_t[::2] / s_t[1::2], ("I", "T")
    compared = np.array([r_i[0] / r_t[0], r_t[1] / r_i[1]])
    return [
        at,
        "a₁ over a₂\nEq. 8, 9",
        (
            Grid("R_I", "(B, 2)", r_i[None], IMAGE, columns=ways),
            Grid("R_T", "(B, 2)", r_t[None], TEXT, columns=ways),
        ),
        "R_I / R_T,\nR_T / R_I",
        Grid("Eq. 10", "(B, 2)", compared[None], columns=ways),
        "mean\nEq. 11",
        Grid("label ŷ", "(B,)", np.array([[compared.mean()]])),
    ]
