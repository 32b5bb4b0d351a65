"""What GSL's notebooks show: noisy pairs, the pipeline of a run, noise, switches, time, retrievals.

Nothing is trained. Figures tell methods and classes apart by marks, dashes and hatches as well as
by colour. `listed` is always the runs of an exhibit, as `results.arms` lists them.
"""

import json

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from alignbook.datasets import noise_index
from alignbook.evidence import learnt
from alignbook.evidence.statistics import t_interval
from alignbook.papers.gsl import noise
from alignbook.papers.gsl.catalogue import NOISE, method_and_rate
from alignbook.show import figures, run_tables, tables
from alignbook.show.datasheet import wrapped
from alignbook.show.figures import ACCENT, INK, OURS, PAPER
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
LATER = "in longer profiles"  # arms that a laptop's does not make
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
# What each arm of gsl-switches and of Figure 2 does differently.
CHANGES = {
    "gsl": "as we take it",
    "relabelled": "as we take it",
    "no-eq7": "no Eq. 7: cosines of the vectors themselves",
    "two-anchor-ratio": "Eq. 8–11 compare two anchors with each other, as the notes print it",
    "clamp-shift": "cosines as (1 + cos) / 2, not raised to 0.001",
    "anchors-in-batch": "anchors among the clean pairs of the mini-batch, not among all",
    "anchors-of-batch": "two anchors a mini-batch, not of its own for each pair (line 13)",
    "noisy-out": "noisy pairs stay out of the first half of the steps",
    "normal-mixture": "normal distributions over the losses, as NCR has them (lines 6 and 7)",
    "clean-labels-1": "clean pairs keep the label 1 (line 12, not 15)",
    "inter-minus": "L_inter is subtracted",
    "sums": "losses are summed, not averaged",
    "notes": "both, as in the notes",
    "no-regularisers": "no L_intra, no L_inter",
    "own-split": "a network learns on its own division, not on the other's",
    "warm-up-hardest": "hardest negatives from the start (line 1)",
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
    """Captions of the training split that are attached to another image: the first one of each of
    its first `n` images that has some.

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
    """The pictures of `wrong_pairs`: those that the captions tell of above, those attached below;
    None where the data set has no pictures."""
    if dataset.images is None:
        return None
    rows = dataset.splits["train"]
    shown = [*wrong["its picture"], *wrong["attached to"]]
    titles = [f"its own: picture {i}" for i in wrong["its picture"]]
    titles += [f"✗ trained with: picture {i}" for i in wrong["attached to"]]
    said = [*[""] * len(wrong), *(wrapped(text, most=3) for text in wrong.text)]
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


MIDDLE, LANES = 2.9, {"A": 4.15, "B": 1.65}


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
    """Rows such as "gsl-0.4" as curves: method, noise, the column's mean, low, high, seeds, state.
    Controls of four times the steps are no points of a curve.
    """
    known, lines = metrics[metrics.column == column].groupby("row"), []
    for row in (each for each in NOISE if each in known.groups):
        own, (method, rate) = known.get_group(row), method_and_rate(row)
        interval, state = t_interval(own["value"].to_numpy()), learnt.of_row(own["learnt"])
        lines.append((NAMES[method], float(rate), *interval, len(own), state))
    columns = ["method", "noise", column, "low", "high", "seeds", "state"]
    return pd.DataFrame(lines, columns=columns)


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
    """Whether numbers may be compared with the paper's: not those of a part of the data or of pretrained
    towers.
    """
    p, splits = book.profile, book.dataset().splits
    part = any(
        0 < some < len(splits[name])
        for name, some in (("train", p.gsl_images), ("test", p.gsl_test_images))
    )
    if book.kind == "world" or not part:
        return run_tables.comparable(book)
    if book.pretrained:
        return "Small pretrained towers, frozen, and a part of the data: compare the order."
    return "A part of the data, so no value may be held against the paper's: compare the order."


def note_of(book, seeds: int = 0) -> str:
    """What stands by a table or figure of means, as `run_tables.note_of`."""
    return run_tables.note_of(book, seeds).replace(run_tables.comparable(book), comparable(book))


def noise_table(lines: pd.DataFrame, reference: pd.DataFrame | None = None) -> pd.DataFrame:
    """`noise_lines` as a table: a line a method, mean and half the interval's width by noise, and the
    mean of the `reference` (see `tables.with_reference`); and at which noise it was not simply learnt.
    """
    column, table = lines.columns[2], []
    named = {name: method for method, name in NAMES.items()}
    rows = [f"{named[each.method]}-{each.noise:g}" for each in lines.itertuples()]
    lines = tables.with_reference(lines.assign(reference=np.nan), rows, reference, column)
    for method, group in lines.groupby("method", sort=False):
        line = {"method": method}
        for each in group.itertuples(index=False):
            line[f"{100 * each.noise:.0f} %"] = getattr(each, column)
            line[f"± {100 * each.noise:.0f} %"] = (each.high - each.low) / 2
            line[f"reference {100 * each.noise:.0f} %"] = each.reference
        known = group.set_index("noise")[column]
        line["from 0 to 60 %"] = known.get(0.6, np.nan) - known.get(0.0, np.nan)
        fewest, most = group.seeds.min(), group.seeds.max()
        line["seeds"] = f"{fewest}" if fewest == most else f"{fewest} or {most}"
        marked = group[group.state.isin(tables.MARKS)].groupby("state", sort=False)["noise"]
        said = (f"{state} at {_percents(noises)} %" for state, noises in marked)
        table.append(line | {"state": "; ".join(said)})
    found = pd.DataFrame(table)
    rates = sorted({f"{100 * each:.0f} %" for each in lines.noise}, key=lambda t: int(t[:-2]))
    shown = [
        name
        for rate in rates
        for name in (rate, f"± {rate}", f"reference {rate}")
        if found[name].notna().any()
    ]
    found = found[["method", *shown, "from 0 to 60 %", "seeds", "state"]]
    found.attrs["note"] = lines.attrs.get("note", "")
    return found


def _percents(shares) -> str:
    return ", ".join(f"{100 * each:.0f}" for each in shares)


def above_warm_up(listed: pd.DataFrame) -> pd.DataFrame:
    """Whether what follows a warm-up adds to it: every arm's RSUM on dev as the warm-up left it, at
    the best epoch and after the last, means over reported seeds, and the epochs that dev chose.

    The last minus the warm-up has ± half of its 95 % interval; "yes" and "no" say on which side of
    0 it lies, "open" that it holds 0 or that a seed alone has none. Arms that learn nothing after
    the warm-up are left out, and those without any.
    """
    lines = []
    for arm, group in listed[listed.role == "report"].groupby("arm", sort=False):
        found = [runs.stored(key) for key in group.key]
        config = found[0].config
        if not config["warm_up_epochs"] or not config["after"]:
            continue
        dev = np.stack([run.array("dev")[:, 1] for run in found])
        added, low, high = t_interval(dev[:, -1] - dev[:, 0])
        told = {"arm": arm, "warm-up": dev[:, 0].mean(), "best": dev.max(1).mean()}
        told |= {"last": dev[:, -1].mean(), "last − warm-up": added, "±": (high - low) / 2}
        told["ends above its warm-up"] = "yes" if low > 0 else "no" if high < 0 else "open"
        told |= {"epochs": config["epochs"], "chosen": ", ".join(map(str, dev.argmax(1)))}
        state = learnt.of_row(map(learnt.of_run, found))
        lines.append(told | {"state": state, "seeds": len(found)})
    return pd.DataFrame(lines)


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
        for at, value, state in zip(x, curve[column], curve.state):
            axis.annotate(
                tables.MARKS.get(state, ""),
                (at, value),
                xytext=(2, 5),
                textcoords="offset points",
                color=colour,
            )
    places = sorted(lines.noise.unique())
    axis.set_xticks([100 * each for each in places], [f"{100 * each:.0f}" for each in places])
    axis.set_xlim(100 * places[0] - 6, 100 * places[-1] + 6)
    axis.set_xlabel("captions picked to be given another picture (%)")
    axis.set_ylabel(f"{column} on test")
    axis.legend(
        loc="center left",
        bbox_to_anchor=(1.01, 0.5),
        fontsize=8.5,
        title="dashed: bounds" if any(STYLES[name][2] != "-" for name in names) else None,
        title_fontsize=8.5,
    )
    note = tables.with_legend(lines.state.map(tables.MARKS).fillna(""), note)
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


def switch_table(
    metrics: pd.DataFrame,
    base: str = "gsl",
    measures=MEASURES,
    reference: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Every arm, what it does differently, and each measure with its difference from `base`.

    The difference is over the seeds that both have, whose number (of the first measure) comes after
    them; ± is half of its 95 % interval. Last is RSUM's `reference`, see `tables.with_reference`.
    """
    lines, marks = [], tables.marks(metrics)
    rows = sorted(set(metrics.row), key=list(CHANGES).index)
    for row in rows:
        mine, name = metrics[metrics.row == row], row + marks.get(row, "")
        line = {"arm": name, "what is otherwise": CHANGES[row]}
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
    return tables.with_reference(found.drop(columns=unknown), rows, reference)


def complaints(listed: pd.DataFrame) -> pd.DataFrame:
    """What the mixtures of reported runs complained of: arm, seeds, divisions, those with a
    complaint, and the last one of the first seed.
    """
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


def gains_table(
    metrics: pd.DataFrame, rows: tuple, reference: pd.DataFrame | None = None
) -> pd.DataFrame:
    """RSUM gained on NCR: the paper's text, and ours seed by seed with half a 95 % interval; and by
    the means of the `reference`, see `tables.with_reference`.
    """
    lines, marks = [], tables.marks(metrics)
    for _, name, arm in rows:
        if arm == "ncr":
            continue
        mean, low, high, n = apart(metrics, "RSUM", arm, "ncr")
        why = "" if n else LATER if arm else NOT_REBUILT
        lines.append((name + marks.get(arm, ""), GAINS[name], mean, (high - low) / 2, n, why))
    found = pd.DataFrame(lines, columns=["method", "paper", "ours", "±", "seeds", " "])
    arms = [arm for *_, arm in rows if arm != "ncr"]
    found = tables.with_reference(found, arms, reference)
    if reference is not None:
        found["reference"] -= tables.with_reference(found[:1], ["ncr"], reference)[
            "reference"
        ].iloc[0]
    return found


RIGHT, WRONG = ("✓", ACCENT), ("✗", PAPER)
