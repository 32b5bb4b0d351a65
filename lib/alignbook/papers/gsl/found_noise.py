"""What GSL's notebook of identification shows: what was found noisy, and the corrected labels (Table 3, Figure 2)."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from alignbook.evidence.statistics import t_interval
from alignbook.papers.gsl import noise
from alignbook.papers.gsl.show import CHANGES, NAMES
from alignbook.show import figures, tables
from alignbook.show.figures import OURS, PAPER


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


def rules_table(metrics: pd.DataFrame, reference: pd.DataFrame | None = None) -> pd.DataFrame:
    """Label AUC of the rules that were tried on GSL's finished networks, with 95 % intervals, and
    the mean label of clean and of noisy pairs; and the AUC's `reference`, see `tables.with_reference`.
    """
    lines = []
    for row in (each for each in CHANGES if each in set(metrics.row) - {"gsl"}):
        own = metrics[metrics.row == row].groupby("column")["value"].apply(list)
        line = {"rule": row, "what is otherwise": CHANGES[row]}
        line |= dict(zip(("label AUC", "low", "high"), t_interval(own["label AUC"])))
        for kind in ("clean", "noisy"):
            line[f"mean label, {kind}"] = np.mean(own.get(f"mean label, {kind}", [np.nan]))
        lines.append(line | {"seeds": len(own["label AUC"])})
    heads = ["label AUC", "low", "high", "mean label, clean", "mean label, noisy", "seeds"]
    found = pd.DataFrame(lines, columns=["rule", "what is otherwise", *heads])
    return tables.with_reference(found, list(found.rule), reference, "label AUC")
