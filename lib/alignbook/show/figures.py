"""One style for every figure: colour-blind-safe, readable in print, its data saved beside it.

Each is shown with an alt text, for readers who hear a notebook or the report read out.
"""

import io
import textwrap
from base64 import b64encode
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.text import Text
from matplotlib.ticker import LogFormatter
from PIL import Image

from alignbook.show import outputs
from alignbook.show.alt_texts import describe
from alignbook.store import verbatim

# Okabe and Ito's palette: distinct for every common kind of colour vision.
INK, OURS, PAPER, ACCENT = "#222222", "#0072B2", "#D55E00", "#009E73"
ON_SCREEN, IN_PRINT = 110, 160  # dots an inch
NOTED = 17.5  # characters of a note in an inch
CONTENT = "Content"  # what a PNG says of itself: "numbers" or "pictures"


def use_style() -> None:
    """Set matplotlib's defaults for this process: a dollar sign is one, and begins no formula."""
    matplotlib.rcParams.update(
        {
            "figure.dpi": ON_SCREEN,
            "savefig.dpi": IN_PRINT,
            "savefig.bbox": "tight",
            "font.size": 9.5,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.edgecolor": "#888888",
            "axes.grid": True,
            "grid.color": "#e6e6e6",
            "axes.axisbelow": True,
            "axes.titlesize": 10.5,
            "axes.titleweight": "bold",
            "axes.titlelocation": "left",
            "svg.hashsalt": "alignbook",
            "svg.fonttype": "none",
            "legend.frameon": False,
            "text.parse_math": False,
        }
    )


def save(figure, folder: Path, name: str, data: pd.DataFrame | None = None) -> None:
    """Write a figure as SVG and PNG, and the plotted data as CSV, to `folder/figures`; show it.

    Each file is written whole or not at all. The figure's hold its alt text, too: `describe`'s, and
    where its numbers are; see `shows_pictures`.
    """
    target = Path(folder) / "figures"
    target.mkdir(parents=True, exist_ok=True)
    make_plain(figure)
    alt = describe(figure) + ("" if data is None else f" The numbers: figures/{name}.csv.")
    box = tight(figure)
    drawn = any(axis.images for axis in figure.axes)
    png = {"Software": None, "Description": alt, CONTENT: "pictures" if drawn else "numbers"}
    for kind, said in (("png", png), ("svg", {"Date": None, "Description": alt})):
        file = io.BytesIO()
        figure.savefig(file, format=kind, bbox_inches=box, metadata=said)
        outputs.write(target / f"{name}.{kind}", file.getvalue())
    if data is not None:
        outputs.write(target / f"{name}.csv", data.to_csv(index=False))
    plt.close(figure)  # else the notebook shows it again at the end of the cell
    show(target / f"{name}.png", alt)


def shows_pictures(png: Path) -> bool:
    """Whether a figure may hold pictures of the data: it does not say that it draws numbers alone."""
    with Image.open(png) as image:
        return image.info.get(CONTENT) != "numbers"


def make_plain(figure) -> None:
    """Name the characters in a figure's texts that would act instead of being read."""
    for axis in figure.axes:
        for way in (axis.xaxis, axis.yaxis):
            names = [each.get_text() for each in way.get_majorticklabels()]
            if names != (plain := [verbatim.lines(name) for name in names]):
                way.set_ticks(way.get_majorticklocs(), plain)
    for text in figure.findobj(Text):
        text.set_text(verbatim.lines(text.get_text()))


def log_scale(axis) -> None:
    """Make a panel's x axis logarithmic, its numbers written without TeX."""
    axis.set_xscale("log")
    axis.xaxis.set_major_formatter(Powers()), axis.xaxis.set_minor_formatter(Powers())


class Powers(LogFormatter):
    """Numbers of a logarithmic axis; which of them are written, matplotlib decides."""

    def __call__(self, x, pos=None):
        return power(x) if super().__call__(x, pos) else ""


def power(x: float) -> str:
    """A number of a logarithmic axis as it is read.

    >>> power(0.5), power(1e6), power(2e-7)
    ('0.5', '10⁶', '2·10⁻⁷')
    """
    digits, e, exponent = f"{x:g}".partition("e")
    if not e:
        return digits
    raised = str(int(exponent)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"{digits}·10{raised}".removeprefix("1·")


def tight(figure):
    """The part of a figure, in inches, that something is drawn in, and a margin: once for both files."""
    figure.dpi = IN_PRINT
    renderer = figure.canvas.get_renderer()
    if engine := figure.get_layout_engine():
        engine.execute(figure)
        figure.set_layout_engine(None)  # it is laid out now, for both
    return figure.get_tightbbox(renderer).padded(plt.rcParams["savefig.pad_inches"])


def show(png: Path, alt: str) -> None:
    """Show a saved figure in a notebook, in the size it was drawn for, with its alt text.

    Both stand where Lab, nbconvert and the report look for them: in the output's metadata.
    """
    from IPython import display, get_ipython

    if get_ipython():
        width = round(Image.open(png).width * ON_SCREEN / IN_PRINT)
        display.display(
            {"image/png": b64encode(png.read_bytes()).decode(), "text/plain": alt},
            raw=True,
            metadata={"image/png": {"alt": alt, "width": width}},
        )


BUTT = {"artist_kws": {"capstyle": "butt"}}  # seaborn's bars end where intervals do


def dots(
    lines: pd.DataFrame,
    title: str,
    note: str,
    label: str = "RSUM on test (sum of six recalls, %)",
    beyond: tuple[str, ...] = (),
    paper_label: str = "",
):
    """One line an arm: ours with seeds and interval on the left, the paper's value on the right.

    Parameters
    ----------
    lines : label, mean, low, high, values (one a seed), paper, and perhaps the published reference,
        of which `attrs["note"]` tells; top to bottom. What is NaN is left out; a line without any number
        is a heading.
    beyond : labels of lines, such as controls at chance, that do not set the axis: where one lies
        outside it, an arrow says its value.
    paper_label : what the paper's values are, if that is something else than `label` says.
    """
    import seaborn.objects as so

    lines = lines.reset_index(drop=True)  # of tables one below the other, whose rows have one name
    lines = lines.assign(y=-np.arange(len(lines)), value=lines["mean"], colour=OURS)
    seeds = lines[lines["values"].map(len) > 1].explode("values", ignore_index=True)
    seeds = seeds.assign(below=seeds.y - 0.27).astype({"values": float})
    small = so.Dot(color=INK, alpha=0.5, pointsize=3, edgewidth=0)
    ours = (
        so.Plot(lines, x="value", y="y")
        .add(so.Range(color=OURS, linewidth=2, **BUTT), xmin="low", xmax="high", orient="y")
        .add(small, data=seeds, x="values", y="below")
        .add(so.Dot(color=OURS, pointsize=6.6))
    )
    note = "Small dots: seeds. " * bool(len(seeds)) + note
    if "reference" in lines:
        told = lines.attrs.get("note") or "Reference: the published results."
        note = f"Diamonds: {told.removeprefix('Reference: ')} {note}"
    figure, left, right = _beside_the_paper(
        ours, lines.assign(name=lines.label), (8.6, 1.3), 1.25, note, label, "{:.1f}"
    )
    left.set_title(title)
    right.set_xlabel(paper_label or label)
    if "reference" in lines:
        left.scatter(
            lines.reference, lines.y, s=52, marker="D", facecolors="none", edgecolors=ACCENT, lw=1.3
        )
    right.locator_params(axis="x", nbins=5)  # values close to each other have long labels
    for axis, shown in ((left, lines.filter(["mean", "reference"])), (right, lines.paper)):
        if shown.isna().all(axis=None):
            axis.set_xticks([])
    _arrows(left, lines, lines.label.isin(beyond))
    _rows_not_run(left, lines[lines["mean"].isna() & lines.paper.notna()])
    return figure


def _rows_not_run(axis, lines: pd.DataFrame) -> None:
    """Say of lines that they were not run: at the left, or on that side of the reference that has room."""
    for each in lines.itertuples():
        at, place = 0.02, dict(xycoords=("axes fraction", "data"))
        if pd.notna(there := getattr(each, "reference", None)):
            side, ha = (7, "left") if there < np.mean(axis.get_xlim()) else (-7, "right")
            at, place = there, dict(xytext=(side, 0), textcoords="offset points", ha=ha)
        _not_run(axis, at, each.y, va="center", **place)


def _not_run(axis, x: float, y: float, **place) -> None:
    """Say at a place of a panel that nothing was run there."""
    box = dict(facecolor="white", lw=0, pad=0.6)
    axis.annotate("not run", (x, y), fontsize=7.5, color="#777777", bbox=box, **place)


def _arrows(axis, lines: pd.DataFrame, beyond: pd.Series) -> None:
    """Let the lines that are not `beyond` set the axis; tell at its edge where the others lie."""
    drawn = lines.columns.intersection(["mean", "low", "high", "reference"])
    known = lines.loc[~beyond, drawn].stack().dropna()
    if known.empty or not beyond.any():
        return
    room = 0.2 * np.ptp(known) or 1.0
    low, high = known.min() - room, known.max() + room
    axis.set_xlim(low, high)
    for each in lines[beyond & ~lines["mean"].fillna(low).between(low, high)].itertuples():
        at, said = (0.01, "← {:.1f}") if each.mean < low else (0.9, "{:.1f} →")
        place = dict(xycoords=("axes fraction", "data"), va="center", fontsize=8, color=OURS)
        axis.annotate(said.format(each.mean), (at, each.y), **place)


def _beside_the_paper(ours, lines, size, wide, note, label: str, form: str, keys: int = 0):
    """Seaborn's plot of ours in a panel `wide` times as wide as one of the paper's values.

    Rows of `lines` have name, value, paper, y and the colour in which the value is written, by
    `form`; the names of those without any are bold. The height in `size` is that of all but the
    rows. Beside the note there is room for so many keys of a legend.
    """
    use_style()
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(size[0], 0.42 * len(lines) + size[1]), sharey=True, width_ratios=(wide, 1)
    )
    ours.label(y="").on(left).plot()
    right.scatter(lines.paper, lines.y, s=44, facecolors="white", edgecolors=PAPER, lw=1.6)
    for axis, shown in ((left, lines), (right, lines.assign(value=lines.paper, colour=PAPER))):
        axis.set_xlabel(label)
        axis.tick_params(length=0)
        axis.margins(x=0.13)
        for each in shown[np.isfinite(shown.value)].itertuples():
            axis.annotate(
                form.format(each.value).replace("-", "−"),
                (each.value, each.y),
                (0, 7),
                textcoords="offset points",
                ha="center",
                fontsize=7.5,
                color=each.colour,
                bbox=dict(facecolor="white", lw=0, pad=0.6),
            )
    left.set_yticks(lines.y, lines.name)
    left.set_ylim(-len(lines) + 0.4, 0.6)
    for text, heading in zip(left.get_yticklabels(), lines.value.isna() & lines.paper.isna()):
        text.set_fontweight("bold" if heading else "normal")
    right.set_title("the paper's table")
    note = textwrap.wrap(note, round(NOTED * (figure.get_figwidth() - 1.2 * keys)))
    figure.text(0.01, 0.005, "\n".join(note), fontsize=8, color="#555555")
    below = 0.03 + 0.15 * (len(note) - 1) / figure.get_figheight()
    figure.set_layout_engine("tight", rect=(0, below, 1, 0.97))
    return figure, left, right


SHADES = {"holds": OURS, "reversed": PAPER, "open": "#777777", "not corrected": "#777777"}
SHAPES = {"holds": "o", "reversed": "X", "open": "s", "not corrected": "s"}


def forest(lines: pd.DataFrame, title: str, axis_label: str, note: str, places: int = 1):
    """Contrasts with two kinds of doubt: over seeds (thick) and over test images (thin, below).

    Parameters
    ----------
    lines : contrast, value, low, high, query_low, query_high, reading, paper, and the claimed range's
        ends, bottom and top. All of one unit, from above; without a value: a heading; NaN: left out.
    axis_label : what the values are; a "ratio …" is drawn on a logarithmic axis around 1.
    places : decimals of values that are written.
    """
    import seaborn.objects as so

    lines = lines.reset_index(drop=True).assign(y=-np.arange(len(lines)))
    ours = (
        so.Plot(lines[lines.value.notna()], x="value", y="y", color="reading")
        .add(so.Range(linewidth=2.4, **BUTT), xmin="low", xmax="high", orient="y", legend=False)
        .add(
            so.Range(color=INK, linewidth=0.9, **BUTT),
            y=lines.y - 0.2,
            xmin="query_low",
            xmax="query_high",
            color=None,
            orient="y",
        )
        .add(so.Dot(pointsize=6.6), marker="reading", legend=False)
        .scale(color=SHADES, marker=SHAPES)
    )
    ratio = axis_label.startswith("ratio")
    size = 6 + 0.065 * max(50, *lines.contrast.map(len)), 1.5
    form = f"{{:.{places}f}} ×" if ratio else f"{{:+.{places}f}}"
    readings = [each for each in SHADES if (lines.reading == each).any()]
    named = lines.assign(name=lines.contrast, colour=lines.reading.map(SHADES))
    more = [(lines.query_low, "-", "over test images"), (lines.bottom, ":", "end of the claim")]
    more = [each for each in more if each[0].notna().any()]
    figure, left, right = _beside_the_paper(
        ours, named, size, 1.7, note, axis_label, form, len(readings + more)
    )
    left.set_title(title)
    ends = lines.melt("y", ["bottom", "top"], value_name="end").dropna()
    for axis in (left, right) if (printed := lines.paper.notna().any()) else (left,):
        if ratio:
            log_scale(axis)
        axis.axvline(1 if ratio else 0, color=INK, lw=0.9, zorder=0.9)
        axis.vlines(ends.end, ends.y - 0.4, ends.y + 0.4, INK, ls=":", zorder=0.9)
    if not printed:
        right.set_axis_off()
        right.set_title("the paper prints no number of it", fontweight="normal")
    for name in readings:
        left.scatter([], [], color=SHADES[name], marker=SHAPES[name], s=30, label=name)
    for _, style, said in more:
        left.plot([], [], color=INK, lw=0.9, ls=style, label=said)
    if len(axis_label) > 30:  # the panel is narrow, and the left one says it
        right.set_xlabel("")
    figure.legend(loc="lower right", ncols=4, fontsize=8)
    return figure


MARKS = (("o", OURS), ("s", PAPER), ("^", ACCENT), ("D", INK), ("v", "#CC79A7"), ("P", "#56B4E9"))
MORE = (("X", "#777777"), ("*", "#999933"))  # where marks of their own tell as well


def curves(lines: pd.DataFrame, x: str, x_label: str, y_label: str, note: str, zero: float = 0):
    """Values against a size, a curve for each name in the first column, with intervals.

    Parameters
    ----------
    lines : a name, x, the value, low, high, in this order; bounds may be NaN, and the value of what
        was not run. Perhaps `mark`, what stands beside a point.
    zero : where on the axis, which is logarithmic, an x of 0 stands.
    """
    use_style()
    figure, axis = plt.subplots(figsize=(6.6, 3.6))
    _curves_on(axis, lines.assign(**{x: lines[x].where(lines[x] > 0, zero)}), x, zero)
    axis.set_xlabel(x_label), axis.set_ylabel(y_label)
    axis.legend()
    figure.text(0.01, 0.005, note, fontsize=8, color="#555555")
    figure.tight_layout(rect=(0, 0.04, 1, 1))
    return figure


def panels(lines: pd.DataFrame, x_label: str, note: str):
    """Curves of `lines` as in `curves`, on one scale: a panel for each name in a column before those."""
    use_style()
    panel, _, x, value = lines.columns[:4]
    names = lines[panel].unique()
    figure, axes = plt.subplots(1, len(names), figsize=(9.6, 3.2), sharey=True, squeeze=False)
    for name, axis in zip(names, axes[0]):
        _curves_on(axis, lines[lines[panel] == name].drop(columns=panel), x)
        axis.set(title=name, xlabel=x_label)
    axes[0][0].set_ylabel(value), axes[0][0].legend(fontsize=8)
    figure.text(0.01, 0.005, note, fontsize=8, color="#555555")
    figure.tight_layout(rect=(0, 0.05, 1, 1))
    return figure


def _curves_on(axis, lines: pd.DataFrame, x: str, zero: float = 0) -> None:
    name, value = lines.columns[0], lines.columns[2]
    for (label, curve), (mark, colour) in zip(lines.groupby(name, sort=False), MARKS):
        lacking = curve[value].isna()
        known = curve[~lacking].sort_values(x)
        axis.plot(known[x], known[value], marker=mark, color=colour, label=label)
        axis.vlines(known[x], known.low, known.high, color=colour, lw=2, alpha=0.5)
        for at, y, sign in zip(known[x], known[value], known.get("mark", [])):
            if sign:
                offset = {"xytext": (3, 4), "textcoords": "offset points"}
                axis.annotate(sign.strip(), (at, y), color=colour, **offset)
        for each in curve.loc[lacking, x]:
            _not_run(axis, each, 0.04, xycoords=("data", "axes fraction"), ha="center")
    axis.set_xscale("log", base=2)
    places = sorted(lines[x].unique())
    axis.set_xticks(places, ["0" if each == zero else f"{each:g}" for each in places])
    axis.minorticks_off()


def matrices(found: dict, title: str, note: str):
    """Matrices of numbers side by side on one scale of colours, each value written in its cell.

    Parameters
    ----------
    found : a name for each DataFrame, whose index and columns name rows and columns.
    """
    import seaborn

    use_style()
    figure, axes = plt.subplots(1, len(found), figsize=(4.4 * len(found) + 0.8, 4.4), squeeze=False)
    values = np.concatenate([matrix.to_numpy().ravel() for matrix in found.values()])
    low, high = values.min(), values.max()
    for axis, (name, matrix) in zip(axes[0], found.items()):
        seaborn.heatmap(
            matrix,
            vmin=low,
            vmax=high,
            cmap="cividis",
            square=True,
            cbar=False,
            annot=True,
            fmt=".2f",
            annot_kws={"fontsize": 9},
            ax=axis,
        )
        for (i, j), text in zip(np.ndindex(matrix.shape), axis.texts):
            dark = matrix.iat[i, j] < (low + high) / 2
            text.set(color="white" if dark else "black", fontweight="bold" if i == j else None)
        axis.set_xticks(axis.get_xticks(), matrix.columns, rotation=35, ha="right", fontsize=8)
        axis.set_yticks(axis.get_yticks(), matrix.index, rotation=0, fontsize=8)
        axis.set(title=name, xlabel="", ylabel="")
    figure.suptitle(title)
    figure.text(0.01, 0.005, note, fontsize=8, color="#555555")
    figure.tight_layout(rect=(0, 0.03, 1, 0.98))
    return figure


def pictures(images, titles, columns: int = 4, boxes=None, width: float = 2.2, captions=None):
    """A sheet of pictures `(N, H, W, 3) uint8` with titles above and boxes drawn in.

    Parameters
    ----------
    boxes : per picture a list of (x0, y0, x1, y1, colour), in pixels.
    captions : per picture a text below it.
    """
    use_style()
    rows = -(-len(images) // columns)
    below = 0.13 * max(text.count("\n") + 1 for text in captions) if captions else 0.0
    figure, axes = plt.subplots(
        rows, columns, figsize=(width * columns, (width + 0.35 + below) * rows), squeeze=False
    )
    for axis in axes.ravel()[len(images) :]:
        axis.axis("off")
    for i, (axis, image, title) in enumerate(zip(axes.ravel(), images, titles)):
        axis.imshow(image, interpolation="nearest")
        axis.set_title(title, fontsize=8, fontweight="normal", loc="left")
        axis.set_xticks([]), axis.set_yticks([])
        axis.grid(False)
        for x0, y0, x1, y1, colour in boxes[i] if boxes else ():
            axis.add_patch(
                plt.Rectangle(
                    (x0 - 0.5, y0 - 0.5), x1 - x0, y1 - y0, fill=False, color=colour, lw=1.3
                )
            )
        if captions:
            axis.set_xlabel(captions[i], fontsize=7, loc="left")
    figure.tight_layout()
    return figure


def trade_off(lines: pd.DataFrame, value: str, costs: list[str], note: str):
    """What is gained against what it costs: a mark a row with its seeds, a panel a kind of cost.

    Parameters
    ----------
    lines : row, seed, the columns `value` and `costs`; costs are positive and drawn on a log axis.
        With a column `curve`, the rows of a curve are named beside their marks and joined.
    """
    use_style()
    figure, axes = plt.subplots(1, len(costs), figsize=(4.2 * len(costs) + 2, 3.8), sharey=True)
    joined = "curve" in lines
    for axis, cost in zip(np.atleast_1d(axes), costs):
        groups = lines.groupby("curve" if joined else "row", sort=False)
        for (name, own), (mark, colour) in zip(groups, MARKS + MORE, strict=False):
            means = own.groupby("row", sort=False)[[cost, value]].mean()
            axis.scatter(own[cost], own[value], s=10, color=INK, alpha=0.5, linewidths=0, zorder=3)
            axis.plot(means[cost], means[value], marker=mark, color=colour, label=name)
            for i, (row, at) in enumerate(means.iterrows() if joined else ()):
                axis.annotate(  # by turns above and below: neighbours may be close
                    row,
                    at,
                    (0, -14 if i % 2 else 7),
                    textcoords="offset points",
                    ha="center",
                    fontsize=8,
                    bbox=dict(facecolor="white", lw=0, pad=0.4),
                )
        log_scale(axis)
        axis.margins(x=0.12, y=0.1)
        axis.set_xlabel(f"{cost} (less is better ←)")
    first = np.atleast_1d(axes)[0]
    first.set_ylabel(value)
    figure.text(0.01, 0.005, note, fontsize=8, color="#555555")
    figure.tight_layout(rect=(0, 0.04, 1 - 1.8 / figure.get_figwidth(), 1))
    figure.legend(*first.get_legend_handles_labels(), loc="center right", fontsize=8.5)
    return figure
