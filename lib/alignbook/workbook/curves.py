"""Curves of training: loss and dev of every reported run, as figures of the report and as numbers.

Figures are written as SVG line by line: there are dozens of panels, and the report is made often.
"""

import csv
import io
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from alignbook.evidence import learnt
from alignbook.show.figures import INK, MARKS
from alignbook.store import runs, verbatim
from alignbook.workbook import exhibits

BLOCKS = 60  # points of a loss curve: each the mean of a block of steps
COLOURS = [colour for _, colour in MARKS]  # of arms in one panel: distinct for every colour vision
COLUMNS = ("exhibit", "row", "seed", "run", "curve", "step", "value")
WIDTH, HEIGHT, LEFT, GAP, PLOT, TOP = 900, 190, 52, 58, 275, 30  # of a row of panels, in pixels
SAYS = """\
# Curves of training

For every exhibit the arms that were trained for it, at most six in a row of panels and a line for
each seed that is reported. Left: the loss, each point the mean of a block of steps; arms differ in
its unit, so that heights compare only within an arm. Where it spans more than a factor of ten its
axis is logarithmic. Right: RSUM (the sum of six recalls, %) on the first third of dev's images, at
most 100, after each fifth of the steps; GSL and its rivals are measured after each epoch, on the dev
images that the epoch is chosen by. A curve that still rises at its end belongs to an arm that has not
learnt all it can. Steps before 0 are those of a warm-up, which is a run of its own and may have
another loss. The numbers: `figures/curves-….csv` in the results folder."""


@dataclass(frozen=True)
class Curve:
    """A run's loss or learning rate `(n, 2)` or dev `(L, 2)`: steps taken, value."""

    row: str
    seed: int
    run: str
    kind: str
    points: np.ndarray


def of_run(run: runs.Run) -> dict[str, np.ndarray]:
    """The curves of a trained run, `(n, 2)` each; those of its warm-up, if it had one, before 0."""
    loss, rate, dev = (np.array(run.array(name), float) for name in ("loss", "rate", "dev"))
    steps = np.arange(1, len(loss) + 1)
    found = {"loss": np.stack([steps, loss], 1), "rate": np.stack([steps, rate], 1), "dev": dev}
    if "warm_up_epochs" in run.config:
        for each in map(runs.stored, run.record["asked"]):
            before = of_run(each)
            first = len(before["loss"])
            found = {
                name: np.concatenate([points - [first, 0], found[name]])
                for name, points in before.items()
            }
    return found


def of_exhibits(out: Path) -> dict[str, list[Curve]]:
    """The curves of a results folder's reported runs, exhibits and rows in the workbook's order.

    Runs that are no longer stored, or whose arm trains nothing, are left out.
    """
    with open(out / "runs.csv", encoding="utf-8", newline="") as file:
        listed = [line for line in csv.DictReader(file) if line["role"] == "report"]
    known, found = {}, {}
    order = {name: i for i, name in enumerate(exhibits.EXHIBITS)}
    for line in sorted(listed, key=lambda line: order.get(line["exhibit"], 0)):
        key = line["run"]
        if key not in known:
            run = learnt.trained(runs.stored(key)) if runs.is_stored(key) else None
            known[key] = (run.key, of_run(run)) if run and len(run.array("loss")) else None
        if known[key]:
            name, curves = known[key]
            found.setdefault(line["exhibit"], []).extend(
                Curve(line["row"], int(line["seed"]), name, kind, points)
                for kind, points in curves.items()
            )
    for exhibit, curves in found.items():
        arms = exhibits.EXHIBITS[exhibit].names()
        place = {arm: i for i, arm in enumerate(arms)}
        curves.sort(
            key=lambda curve: place.get(curve.row, len(arms))
        )  # stable: seeds stay in order
    return found


def blocks(points: np.ndarray, most: int = BLOCKS) -> np.ndarray:
    """Means of at most so many blocks of a curve: `(n, 2)` → `(≤ most, 2)`.

    >>> blocks(np.array([[1.0, 8], [2, 4], [3, 2], [4, 0]]), 2).tolist()
    [[1.5, 6.0], [3.5, 1.0]]
    """
    if len(points) <= most:
        return points
    return np.array([part.mean(0) for part in np.array_split(points, most)])


# --- The page and its files ----------------------------------------------------------------------


def write_page(out: Path, target: Path) -> bool:
    """Write the report's page `curves.md` and its figures to `target`, and each figure with its
    numbers to `out/figures`; False where no run left curves.
    """
    from alignbook.evidence.printed_tables import PAPERS

    if not (out / "runs.csv").exists() or not (found := of_exhibits(out)):
        return False
    parts, chapter, drawn = [SAYS], "", {}
    (out / "figures").mkdir(exist_ok=True)
    for exhibit, curves in found.items():
        own = exhibits.chapter(exhibits.EXHIBITS[exhibit].notebook)
        if own != chapter:
            parts.append(f"## {PAPERS.get(own, 'Base models')}")
            chapter = own
        parts.append(f"### {exhibit}")
        curves = [
            Curve(c.row, c.seed, c.run, c.kind, blocks(c.points) if c.kind == "loss" else c.points)
            for c in curves
            if c.kind != "rate"
        ]
        drawing, name = draw(exhibit, curves), f"curves-{exhibit}"
        (out / "figures" / f"{name}.svg").write_text(drawing, "utf-8")
        (out / "figures" / f"{name}.csv").write_text(as_csv(exhibit, curves), "utf-8")
        keys = {curve.run for curve in curves}
        if shown := next((other for other, its in drawn.items() if keys <= its), None):
            parts.append(f"Its runs are among those of {shown}, above.")
            continue
        drawn[exhibit] = keys
        (target / f"{name}.svg").write_text(drawing, "utf-8")
        alt = verbatim.markdown(describe(exhibit, curves))
        parts.append(f"![{alt}]({name}.svg)")
    (target / "curves.md").write_text("\n\n".join(parts) + "\n", "utf-8")
    return True


def as_csv(exhibit: str, curves: list[Curve]) -> str:
    """The points of a figure's curves, a line each."""
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(COLUMNS)
    for c in curves:
        for step, value in c.points.tolist():
            lines.writerow((exhibit, c.row, c.seed, c.run, c.kind, f"{step:.10g}", f"{value:.6g}"))
    return text.getvalue()


def describe(exhibit: str, curves: list[Curve]) -> str:
    """What a figure shows, for those who don't see it."""
    ends = {}
    for c in curves:
        if c.kind == "dev" and len(c.points):
            ends.setdefault(c.row, []).append(c.points[-1, 1])
    said = ", ".join(f"{row} {np.mean(values):.0f}" for row, values in ends.items())
    return f"Figure: loss and dev RSUM of {exhibit} by step; dev RSUM at the end: {said or 'none'}."


# --- Drawing -------------------------------------------------------------------------------------


def draw(exhibit: str, curves: list[Curve]) -> str:
    """Rows of two panels, loss and dev, for at most six arms each: an SVG document."""
    rows = list(dict.fromkeys(curve.row for curve in curves))
    count = math.ceil(len(rows) / len(COLOURS))
    groups = [rows[i * len(rows) // count : (i + 1) * len(rows) // count] for i in range(count)]
    height = HEIGHT * count + 10
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
        f'height="{height}" font-family="DejaVu Sans, Verdana, sans-serif" font-size="11" '
        f'fill="{INK}" role="img"><title>{verbatim.html(describe(exhibit, curves))}</title>'
        '<rect width="100%" height="100%" fill="white"/>'
    ]
    last = count - 1
    for i, group in enumerate(groups):
        colour = dict(zip(group, COLOURS))
        top = HEIGHT * i + TOP
        for kind, left, title in (
            ("loss", LEFT, "loss"),
            ("dev", LEFT + PLOT + GAP, "RSUM on dev"),
        ):
            mine = [c for c in curves if c.kind == kind and c.row in colour and len(c.points)]
            on_axis = mine if kind == "loss" else [c for c in curves if c.kind == "dev"]
            parts += panel(mine, on_axis, colour, left, top, title, "step" if i == last else "")
        for k, row in enumerate(group):
            x, y = LEFT + 2 * PLOT + GAP + 16, top + 8 + 17 * k
            parts.append(
                f'<path d="M{x} {y}h16" stroke="{colour[row]}" stroke-width="2.5"/>'
                f'<text x="{x + 21}" y="{y + 4}">{verbatim.html(row)}</text>'
            )
    return "\n".join([*parts, "</svg>", ""])


def panel(
    curves, on_axis, colour: dict, left: float, top: float, title: str, below: str
) -> list[str]:
    """Lines of some curves; the vertical axis is for all of `on_axis`, so that panels compare."""
    tall = HEIGHT - TOP - 34
    parts = [f'<text x="{left}" y="{top - 8}" font-weight="bold">{title}</text>']
    if not curves:
        return [*parts, f'<text x="{left + 8}" y="{top + tall / 2}">not recorded</text>']
    steps = np.concatenate([c.points[:, 0] for c in curves])
    values = np.concatenate([c.points[:, 1] for c in on_axis if len(c.points)])
    low, high = values.min(), values.max()
    logarithmic = title == "loss" and low > 0 and high > 10 * low
    x_of, x_ticks = scale(min(0, steps.min()), steps.max(), left, PLOT)
    y_of, y_ticks = scale(low, high, top + tall, -tall, logarithmic)
    for tick in y_ticks:
        y = y_of(tick)
        parts.append(
            f'<path d="M{left} {y:.1f}h{PLOT}" stroke="#e6e6e6"/><text x="{left - 5}" '
            f'y="{y + 4:.1f}" text-anchor="end">{tick:g}</text>'
        )
    for tick in x_ticks:
        x = x_of(tick)
        parts.append(
            f'<path d="M{x:.1f} {top}v{tall}" stroke="#e6e6e6"/><text x="{x:.1f}" '
            f'y="{top + tall + 14}" text-anchor="middle">{tick:g}</text>'
        )
    parts.append(f'<path d="M{left} {top}v{tall}h{PLOT}" fill="none" stroke="#888888"/>')
    if below:
        parts.append(
            f'<text x="{left + PLOT}" y="{top + tall + 27}" text-anchor="end">{below}</text>'
        )
    for c in curves:
        places = [(x_of(x), y_of(y)) for x, y in c.points.tolist()]
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
        parts.append(f'<path d="M{path}" fill="none" stroke="{colour[c.row]}" stroke-width="1.4"/>')
        if c.kind == "dev":
            parts += [
                f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.4" fill="{colour[c.row]}"/>'
                for x, y in places
            ]
    return parts


def scale(low: float, high: float, start: float, length: float, logarithmic: bool = False):
    """Where a value stands in a drawing, and at most six round values to mark.

    >>> place, marks = scale(0, 300, 50, 100)
    >>> place(150), marks
    (100.0, [0, 100, 200, 300])
    """
    if logarithmic:
        first, last = math.log10(low), math.log10(high)
        powers = range(math.floor(first), math.ceil(last) + 1)
        ticks = [m * 10.0**k for k in powers for m in ((1,) if last - first > 2 else (1, 2, 5))]
        ticks = [tick for tick in ticks if low <= tick <= high]
        return lambda v: start + length * (math.log10(v) - first) / (last - first), ticks[-6:]
    if high == low:
        low, high = low - 0.5, high + 0.5
    step = 10.0 ** math.floor(math.log10(high - low))
    step = next(step * m for m in (0.1, 0.2, 0.5, 1, 2) if (high - low) / (step * m) <= 5)
    whole = range(math.ceil(low / step), math.floor(high / step) + 1)
    ticks = [round(k * step, 10) if step < 1 else round(k * step) for k in whole]
    return lambda v: start + length * (v - low) / (high - low), ticks
