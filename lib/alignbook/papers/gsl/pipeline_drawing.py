"""GSL's pipeline, drawn from a run: what was divided, corrected and learnt, epoch by epoch (Figure 1)."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.patches import FancyBboxPatch

from alignbook.papers.gsl import model, noise, noisy_pairs
from alignbook.papers.gsl.show import LANES, LOSSES, MIDDLE
from alignbook.show import figures
from alignbook.show.figures import ACCENT, INK, OURS, PAPER


def pipeline_numbers(run, captions_per_image: int) -> pd.DataFrame:
    """What the figure of the pipeline says of a run of GSL: network ("A", "B", ""), what, value.

    The division is that of the last epoch, the labels as last corrected; clean and noisy in truth.
    """
    config, n = run.config, len(run.array("index"))
    wrong = noise.mismatched(run.array("index"), captions_per_image)
    config_of = model.Config(**config)
    early, late = (
        noisy_pairs.steps_an_epoch(config_of, n, False, parts) for parts in (False, True)
    )
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


def pipeline(run, captions_per_image: int):
    """Figure 1: Algorithm 1 as one run went through it; its numbers are `pipeline_numbers`."""
    figures.use_style()
    numbers = pipeline_numbers(run, captions_per_image)
    said = {(a, b): c for a, b, c in numbers.itertuples(index=False)}
    figure = plt.figure(figsize=SIZE)
    axis = figure.add_axes((0, 0, 1, 1))
    axis.set_axis_off(), axis.set_xlim(0, SIZE[0]), axis.set_ylim(0, SIZE[1])
    _training_pairs(axis, said)
    mismatched = noise.mismatched(run.array("index"), captions_per_image)
    for k in range(2):
        _lane(axis, k, run, said)
        place = (4.3, LANES["AB"[k]] - 0.2, 1.65, 0.85)
        _posterior(figure, run.array("posterior")[k], mismatched, run.config["delta"], place)
    _between_lanes(axis, run.config, said)
    _test(axis, said)
    _how_to_read(axis)
    return figure


def _training_pairs(axis, said: dict) -> None:
    """What both networks start from."""
    pairs, wrong = said["", "pairs"], said["", "noisy pairs"]
    text = (
        f"{pairs:,.0f} captions,\n{wrong:,.0f} with a wrong\npicture ({100 * wrong / pairs:.1f} %)"
    )
    _box(axis, 0.1, MIDDLE, 1.45, 1.5, "Training pairs", text)


def _between_lanes(axis, config: dict, said: dict) -> None:
    """Whose division counts, what both networks do together, and how often."""
    middle, white = (
        dict(ha="center", va="center", fontsize=8.5),
        dict(facecolor="white", lw=0, pad=1.5),
    )
    peers = "peers\nexchange" if config["split"] == "peer" else "own\ndivisions"
    axis.text(6.62, MIDDLE, peers, color=ACCENT, fontweight="bold", bbox=white, **middle)
    axis.text(8.28, MIDDLE, "one step of Adam for both networks", bbox=white, **middle)
    epochs, steps = (
        _counted(config["epochs"], "epoch"),
        _counted(said["", "steps an epoch"], "step"),
    )
    axis.text(6.7, 5.62, f"again every epoch: {epochs} of {steps}", bbox=white, **middle)


def _test(axis, said: dict) -> None:
    """What is measured at the end."""
    best = said["", "best epoch"]
    text = (
        f"mean of A's and B's\nscores, {f'epoch {best:.0f}' if best else 'the warm-up'}\n"
        "(best on dev):\n"
        f"RSUM {said['', 'RSUM']:.1f}"
    )
    _box(axis, 10.05, MIDDLE, 1.45, 1.5, "Test", text)


def _how_to_read(axis) -> None:
    text = (
        "Small panels: p(clean) of all pairs in the last epoch, from 0 to 1; "
        "filled: clean in truth, hatched: noisy in truth; line: δ. Mean labels: clean and "
        "noisy in truth."
    )
    axis.text(0.1, 0.12, text, fontsize=8, color="#555555")


def _lane(axis, k: int, run, said: dict) -> None:
    """Warm-up, division and training of network `k`, and the arrows from and to them."""
    config, name, other = run.config, "AB"[k], "BA"[k]
    peer, y, up = config["split"] == "peer", LANES["AB"[k]], 1 - 2 * k
    kind = LOSSES[config["warm_up"] or model.METHOD.warm_up]
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
