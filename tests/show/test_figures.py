"""Figures: shown once with an alt text, saved with what they plot, alike for all arms."""

from base64 import b64decode
from types import SimpleNamespace

import matplotlib.pyplot as plt
import nbformat
import numpy as np
import pandas as pd
import pytest
import seaborn
import seaborn.objects
from alignbook.papers.chan import show
from alignbook.papers.covalign.show import maps_figure
from alignbook.papers.gsl import found_noise
from alignbook.show import alt_texts, figures, kernel_benchmark
from alignbook.store import durable
from alignbook.workbook.running import execute
from matplotlib.collections import LineCollection
from PIL import Image

NAN = float("nan")
DOTS = pd.DataFrame(
    [
        ("Coding types", NAN, NAN, NAN, [], NAN),
        ("hard", 50.5, 45.0, 56.0, [49.0, 52.0], 433.4),
        ("soft", 48.25, 40.0, 52.0, [47.5, 49.0], NAN),
    ],
    columns=["label", "mean", "low", "high", "values", "paper"],
)
FOREST = pd.DataFrame(
    [
        ("chan-codings", *[NAN] * 5, "", NAN, NAN, NAN),
        ("hard − soft", 3.5, 1.0, 6.0, -2.0, 9.0, "holds", 14.8, 2.0, NAN),
    ],
    columns=["contrast", "value", "low", "high", "query_low", "query_high", "reading", "paper"]
    + ["bottom", "top"],
)
CURVES = pd.DataFrame(
    [("hard", 4, 30.0, 28.0, 32.0), ("hard", 36, 33.0, 31.0, 35.0), ("soft", 4, 29.0, NAN, NAN)],
    columns=["coding", "K", "RSUM", "low", "high"],
)
COSTS = pd.DataFrame(
    [("CHAN", 0, 50.0, 0.5, 100.0), ("CHAN", 1, 52.0, 0.7, 100.0), ("SCAN", 0, 49.0, 2.0, 300.0)],
    columns=["row", "seed", "RSUM", "ms/pair", "MB"],
)


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


# --- Files ---------------------------------------------------------------------------------------


def test_files_hold_all_that_is_drawn_and_a_margin(tmp_path):
    """Also what lies outside of the figure it is drawn in."""
    figures.use_style()
    figure, axis = plt.subplots(figsize=(2, 1.5))
    axis.set_axis_off()
    axis.add_patch(plt.Rectangle((-1, 0), 3, 1, color="black", clip_on=False, lw=0))
    figures.save(figure, tmp_path, "wide")
    place = {
        side: plt.rcParams[f"figure.subplot.{side}"] for side in ("left", "right", "bottom", "top")
    }
    width, height = place["right"] - place["left"], place["top"] - place["bottom"]
    dark = np.asarray(Image.open(tmp_path / "figures/wide.png").convert("L")) < 128
    rows, columns = np.flatnonzero(dark.any(1)), np.flatnonzero(dark.any(0))
    around = plt.rcParams["savefig.pad_inches"] * figures.IN_PRINT
    for inked, size in ((rows, dark.shape[0]), (columns, dark.shape[1])):
        assert [inked[0], size - 1 - inked[-1]] == pytest.approx([around, around], abs=2)
    assert len(columns) == pytest.approx(3 * 2 * width * figures.IN_PRINT, rel=0.02)
    assert len(rows) == pytest.approx(1.5 * height * figures.IN_PRINT, rel=0.02)


def test_a_forest_shows_where_a_claimed_range_ends():
    """At 2 on the second line, in both panels; nowhere if it ends at the axis's own line."""
    figure = figures.forest(FOREST, "ours", "ratio of ms", "Note.")
    for axis in figure.axes[:2]:
        bars = [each for each in axis.collections if isinstance(each, LineCollection)]
        ends = [part.tolist() for each in bars for part in each.get_segments()]
        assert [[2.0, -1.4], [2.0, -0.6]] in ends
    assert "end of the claim" in figures.describe(figure)
    figure = figures.forest(FOREST.assign(bottom=NAN), "ours", "ratio of ms", "Note.")
    assert "end of the claim" not in figures.describe(figure)
    left, right = figures.forest(FOREST.assign(paper=NAN), "ours", "ratio of ms", "Note.").axes
    assert [each.get_text() for each in left.get_yticklabels()] == ["chan-codings", "hard − soft"]
    assert not right.axison and not right.lines
    assert not any(isinstance(each, LineCollection) for each in right.collections)


# --- Alt texts -----------------------------------------------------------------------------------


def test_an_alt_text_names_what_is_drawn():
    said = figures.describe(figures.dots(DOTS, "ours, world", "One seed."))
    assert said == (
        "Figure: ours, world (x axis: RSUM on test (sum of six recalls, %); rows: Coding types, "
        "hard, soft); the paper's table (x axis: RSUM on test (sum of six recalls, %)). "
        "Small dots: seeds. One seed."
    )
    said = figures.describe(figures.forest(FOREST, "ours", "difference, points", "Note."))
    assert "rows: chan-codings, hard − soft" in said and "marked: holds" in said
    said = figures.describe(figures.forest(FOREST, "ours", "ratio of ms", "Note.", 2))
    assert "ratio of ms" in said and "mathdefault" not in said and "$" not in said
    said = figures.describe(figures.curves(CURVES, "K", "regions", "RSUM", "Note."))
    assert said == "Figure: x axis: regions; y axis: RSUM; marked: hard, soft. Note."
    said = figures.describe(figures.trade_off(COSTS, "RSUM", ["ms/pair", "MB"], "Note."))
    assert "y axis: RSUM" in said and "x axis: MB" in said and "marked: CHAN, SCAN" in said


def test_what_was_not_run_keeps_its_place_on_the_axis():
    more = pd.DataFrame([("hard", 12, np.nan, np.nan, np.nan)], columns=CURVES.columns)
    figure = figures.curves(pd.concat([CURVES, more]), "K", "regions", "RSUM", "Note.")
    (axis,) = figure.axes
    assert axis.get_xticks().tolist() == sorted({*CURVES["K"], 12})
    assert [(text.get_text(), text.xy[0]) for text in axis.texts] == [("not run", 12)]
    assert axis.lines[0].get_xdata().tolist() == [4, 36]  # one line, over what was not run
    plain = figures.curves(CURVES, "K", "regions", "RSUM", "Note.")
    assert not plain.axes[0].texts


def test_an_alt_text_of_pictures_has_titles_captions_and_no_numbers_of_cells():
    sheet = figures.pictures(
        np.zeros((2, 4, 4, 3), np.uint8), ["✓ found", "wrong"], captions=["a red\nstar", "a bar"]
    )
    assert figures.describe(sheet) == "Figure: ✓ found (a red star); wrong (a bar)."
    cells = pd.DataFrame([[0.25, 0.75]], index=["a star"], columns=["star", "bar"])
    said = figures.describe(figures.matrices({"before": cells, "after": cells}, "Cosines", "Note."))
    assert said == (
        "Figure: Cosines; before (columns: star, bar; rows: a star); after (columns: star, bar; "
        "rows: a star). Note."
    )


def test_an_alt_text_of_a_drawing_has_its_words_and_none_is_endless():
    figure, axis = plt.subplots()
    axis.set_axis_off()
    axis.text(0, 0, "word scores"), axis.text(0, 1, "max over K"), axis.text(0, 2, "0.25")
    assert figures.describe(figure) == "Figure: word scores, max over K."
    titles = [f"picture {i} " + "very " * 30 for i in range(100)]
    figure = figures.pictures(np.zeros((100, 2, 2, 3), np.uint8), titles)
    said = figures.describe(figure)
    assert len(said) <= alt_texts.LONGEST + 1 and said.startswith("Figure: picture 0 very")


def test_files_and_notebooks_hold_the_alt_text_and_a_figure_is_shown_once(tmp_path):
    cell = nbformat.v4.new_code_cell
    source = f"""\
from alignbook.show import alt_texts, figures
import pandas as pd
for name in ("one", "two"):
    lines = pd.DataFrame([(name, 1, 2.0, 1.0, 3.0)], columns=["row", "K", "RSUM", "low", "high"])
    figure = figures.curves(lines, "K", "regions", "RSUM of " + name, "")
    figures.save(figure, {str(tmp_path)!r}, name, lines)"""
    parameters = cell("seeds = 1", metadata={"tags": ["parameters"]})
    notebook = nbformat.v4.new_notebook(cells=[parameters, cell(source)])
    nbformat.write(notebook, tmp_path / "a.ipynb")
    execute.run_notebook(tmp_path / "a.ipynb", tmp_path / "out/a.ipynb", {})
    outputs = nbformat.read(tmp_path / "out/a.ipynb", as_version=4).cells[-1].outputs
    alts = [each.metadata["image/png"]["alt"] for each in outputs if "image/png" in each.data]
    expected = [
        "Figure: x axis: regions; y axis: RSUM of {0}; marked: {0}. "
        "The numbers: figures/{0}.csv.".format(name)
        for name in ("one", "two")
    ]
    assert alts == expected
    assert Image.open(tmp_path / "figures/one.png").info["Description"] == expected[0]
    assert expected[1] in (tmp_path / "figures/two.svg").read_text()


def test_what_is_saved_and_shown_has_the_alt_text(tmp_path, monkeypatch):
    """In this process, where wrong versions of the library are tried."""
    shown = []
    monkeypatch.setattr("IPython.get_ipython", lambda: True)
    monkeypatch.setattr("IPython.display.display", lambda data, **how: shown.append((data, how)))
    figures.save(figures.curves(CURVES, "K", "regions", "RSUM", ""), tmp_path, "f", CURVES)
    alt = "Figure: x axis: regions; y axis: RSUM; marked: hard, soft. The numbers: figures/f.csv."
    ((data, how),) = shown
    assert how["raw"] and how["metadata"]["image/png"]["alt"] == alt
    assert b64decode(data["image/png"]) == (tmp_path / "figures/f.png").read_bytes()
    wide = Image.open(tmp_path / "figures/f.png").width / figures.IN_PRINT  # inches
    assert how["metadata"]["image/png"]["width"] == pytest.approx(110 * wide, abs=1)
    assert Image.open(tmp_path / "figures/f.png").info["Description"] == alt
    assert alt in (tmp_path / "figures/f.svg").read_text()


def test_a_figures_files_are_on_the_disk_before_they_have_their_names(tmp_path, monkeypatch):
    """A power cut leaves no empty file that a notebook's mark says is there."""
    settled, replace = [], durable.replace
    monkeypatch.setattr(
        durable, "replace", lambda aside, path: (settled.append(path.name), replace(aside, path))
    )
    figures.save(figures.curves(CURVES, "K", "regions", "RSUM", ""), tmp_path, "f", CURVES)
    assert settled == ["f.png", "f.svg", "f.csv"]
    assert sorted(path.name for path in (tmp_path / "figures").iterdir()) == sorted(settled)


def test_a_figure_is_laid_out_once_for_both_its_files(tmp_path, monkeypatch):
    laid, drawn = [], []
    draw = plt.Figure.draw
    monkeypatch.setattr(plt.Figure, "draw", lambda self, r: (drawn.append(self), draw(self, r)))
    figure, axis = plt.subplots(layout="constrained")
    engine, before = figure.get_layout_engine(), axis.get_position().bounds
    execute = engine.execute
    monkeypatch.setattr(engine, "execute", lambda figure: (laid.append(figure), execute(figure)))
    axis.set_title("a title that needs its place")
    figures.save(figure, tmp_path, "one")
    assert len(laid) == 1 and axis.get_position().bounds != before
    assert len(drawn) == 2  # as PNG, as SVG


def test_a_saved_figure_is_closed_and_nothing_is_shown_outside_notebooks(tmp_path, capsys):
    before = plt.get_fignums()
    figures.save(figures.curves(CURVES, "K", "regions", "RSUM", ""), tmp_path, "f")
    assert plt.get_fignums() == before and capsys.readouterr().out == ""


# --- What is saved is what is drawn --------------------------------------------------------------


def marks(axis) -> set[tuple[float, float]]:
    """Points that are drawn on a panel, as lines or as dots."""
    found = {tuple(point) for line in axis.lines for point in line.get_xydata()}
    for dots in axis.collections:
        if hasattr(dots, "get_sizes"):
            found |= {tuple(point) for point in np.ma.filled(dots.get_offsets(), np.nan)}
    return {(round(float(x), 6), round(float(y), 6)) for x, y in found if np.isfinite([x, y]).all()}


@pytest.mark.parametrize(
    "drawn, lines, x, y",
    [
        (lambda each: figures.dots(each, "t", "n"), DOTS, "mean", None),
        (lambda each: figures.forest(each, "t", "points", "n"), FOREST, "value", None),
        (lambda each: figures.curves(each, "K", "K", "RSUM", "n"), CURVES, "K", "RSUM"),
        (
            lambda each: figures.trade_off(each, "RSUM", ["ms/pair", "MB"], "n"),
            COSTS,
            "ms/pair",
            "RSUM",
        ),
    ],
    ids=["dots", "forest", "curves", "trade_off"],
)
def test_the_numbers_beside_a_figure_are_those_it_draws(tmp_path, drawn, lines, x, y):
    # Of tables one below the other rows have the same name.
    figure = drawn(lines if y else lines.set_axis([0] * len(lines)))
    points = marks(figure.axes[0])
    figures.save(figure, tmp_path, "f", lines)
    saved = pd.read_csv(tmp_path / "figures/f.csv")
    assert list(saved) == list(lines)
    kept = saved[saved[x].notna()]
    assert len(kept) == lines[x].notna().sum() > 0
    for i, line in kept.iterrows():
        assert (round(line[x], 6), round(line[y], 6) if y else -i) in points


# --- The same limits for all arms ----------------------------------------------------------------


def colour_limits(axes) -> set:
    drawn = [
        each
        for axis in axes
        for each in (*axis.images, *axis.collections)
        if each.get_array() is not None
    ]
    return {each.get_clim() for each in drawn if each.cmap.name != "gray"}


def test_arms_side_by_side_have_the_same_limits():
    one, two = (pd.DataFrame([[low, high]]) for low, high in ((0.0, 0.2), (0.5, 0.9)))
    assert colour_limits(figures.matrices({"a": one, "b": two}, "t", "n").axes) == {(0.0, 0.9)}

    costs = COSTS.assign(curve=["hard", "hard", "soft"], MB=[100.0, 100.0, NAN])
    assert (
        len(
            {
                axis.get_ylim()
                for axis in figures.trade_off(costs, "RSUM", ["ms/pair", "MB"], "n").axes
            }
        )
        == 1
    )

    shares = [
        pd.DataFrame(
            {
                "low": [0.0, high / 2],
                "high": [high / 2, high],
                "clean": [20.0, 80.0 * high],
                "noisy": [60.0, 40.0],
            }
        )
        for high in (1.0, 0.6)
    ]
    panels = found_noise.label_histograms(dict(zip("ab", shares)), "n").axes
    assert len({(axis.get_xlim(), axis.get_ylim()) for axis in panels}) == 1

    measured = pd.DataFrame(
        [
            {
                "label": "hard coding",
                "role": "ours",
                "d": d,
                "ratio": d / 64,
                "ratio_20": d / 65,
                "ratio_80": d / 60,
                "limit": NAN,
            }
            for d in (64, 256)
        ]
    )
    panels = kernel_benchmark.against_floor(measured, "n").axes
    assert len({(axis.get_xlim(), axis.get_ylim()) for axis in panels}) == 1


def test_maps_of_arms_share_one_scale_of_colours():
    images = np.zeros((1, 8, 8, 3), np.uint8)
    maps = pd.concat(
        [
            pd.DataFrame(
                {
                    "picture": 0,
                    "phrase": "a star",
                    "caption": "a star",
                    "box": "",
                    "projection": arm,
                    "region": 0,
                    "cosine": 0.5,
                    "spread": 0.1,
                    "y": [0, 0, 1, 1],
                    "x": [0, 1, 0, 1],
                    "kept": True,
                    "attention": most * np.array([0.1, 0.2, 0.3, 1.0]),
                }
            )
            for arm, most in (("shared", 0.9), ("separate", 0.3))
        ]
    )
    figure = maps_figure(SimpleNamespace(images=images), maps, "n")
    assert colour_limits(figure.axes[1:3]) == {(0.0, 90.0)}

    words = pd.DataFrame(
        {
            "picture": [0],
            "caption": [0],
            "place": [1],
            "word": ["star"],
            "kind": ["noun"],
            "box": [None],
        }
    )
    dataset = SimpleNamespace(
        images=images, splits={"test": np.array([0])}, captions_of=lambda split: ["a star"]
    )
    codings = {"hard": np.array([[1.0, 0.0]]), "soft": np.array([[0.6, 0.4]])}
    boxes = np.array([[[0, 0, 0.5, 1], [0.5, 0, 1, 1]]])
    figure, data = show.sheet(dataset, words, codings, boxes)
    assert colour_limits(figure.axes[1:3]) == {(0, 100)}
    assert list(data["best share"]) == [100, 60]


def test_what_the_paper_prints_may_be_another_number_than_ours():
    plain, other = (figures.dots(DOTS, "t", "n", **how) for how in ({}, {"paper_label": "R@1 (%)"}))
    assert [axis.get_xlabel() for axis in other.axes] == [plain.axes[0].get_xlabel(), "R@1 (%)"]
    assert plain.axes[0].get_xlabel() == plain.axes[1].get_xlabel()


def test_dots_forests_and_matrices_are_seaborns_in_the_houses_style(monkeypatch):
    drawn = []

    def spy(holder, name):
        own = getattr(holder, name)

        def spied(*given, **named):
            drawn.append(name)
            return own(*given, **named)

        monkeypatch.setattr(holder, name, spied)

    spy(seaborn.objects.Plot, "on")
    spy(seaborn, "heatmap")
    matrix = pd.DataFrame([[1.0, 0.5], [0.5, 1.0]])
    made = [
        figures.dots(DOTS, "t", "n"),
        figures.forest(FOREST, "t", "points", "n"),
        figures.matrices({"one": matrix}, "t", "n"),
    ]
    assert drawn == ["on", "on", "heatmap"]
    for figure in made:
        spines = figure.axes[0].spines
        assert not spines["top"].get_visible() and not spines["right"].get_visible()


def test_what_only_the_paper_has_is_said_not_to_be_run():
    """A heading has no number at all, and a row of ours may lack the paper's."""
    paper = pd.DataFrame([("max", NAN, NAN, NAN, [], 311.7)], columns=DOTS.columns)
    left, right = figures.dots(pd.concat([DOTS, paper]), "t", "n").axes
    (said,) = [each for each in left.texts if each.get_text() == "not run"]
    assert said.xy[1] == -3 and "not run" not in [each.get_text() for each in right.texts]
    assert len(left.get_xticks())
    left, right = figures.dots(paper, "t", "n").axes  # none of ours: no axis of made-up numbers
    assert not len(left.get_xticks()) and len(right.get_xticks())


@pytest.mark.parametrize("value, side", ((41.0, "left"), (55.0, "right")))
def test_not_run_stands_beside_the_reference_and_not_on_it(value, side):
    """On the side that has room: the other lines go from 40 to 56."""
    lacking = pd.DataFrame([("max", NAN, NAN, NAN, [], 311.7)], columns=DOTS.columns)
    lines = pd.concat([DOTS, lacking], ignore_index=True)
    lines["reference"] = [NAN] * len(DOTS) + [value]
    left, _ = figures.dots(lines, "t", "n").axes
    (said,) = [each for each in left.texts if each.get_text() == "not run"]
    assert said.xy == (value, -len(DOTS)) and said.get_horizontalalignment() == side
    assert said.get_position() == ({"left": 7, "right": -7}[side], 0)
    left, _ = figures.dots(lines.tail(1), "t", "n").axes  # what has a diamond has an axis
    assert len(left.get_xticks())


def test_a_legend_beside_a_note_does_not_lie_on_it():
    note = "Means over the seeds a row has, 95 % intervals. " * 4
    figure = figures.forest(FOREST, "t", "points", note)
    figure.canvas.draw()
    (legend,), (text,) = figure.legends, figure.texts
    drawn = [each.get_window_extent() for each in (legend, text)]
    assert not drawn[0].overlaps(drawn[1])
    assert len(legend.get_texts()) == 3 and text.get_text().count("\n") >= 1


def test_controls_far_off_stand_at_the_edge_and_the_others_set_the_axis():
    control = pd.DataFrame([("permuted", 9.0, 8.0, 10.0, [9.0], np.nan)], columns=DOTS.columns)
    lines = pd.concat([DOTS, control], ignore_index=True)
    plain, off = (
        figures.dots(lines, "t", "n", beyond=beyond).axes[0] for beyond in ((), ("permuted",))
    )
    low, high = off.get_xlim()
    known = lines["mean"].dropna().drop(lines.index[-1])
    assert plain.get_xlim()[0] < 9 < low < known.min() and known.max() < high
    assert "← 9.0" in [text.get_text() for text in off.texts]
    assert not any("←" in text.get_text() for text in plain.texts)
    near = figures.dots(lines.assign(mean=known.mean()), "t", "n", beyond=("permuted",)).axes[0]
    assert not any("←" in text.get_text() for text in near.texts)


def test_a_figure_says_whether_it_shows_pictures(tmp_path):
    """Those of photographs stay out of the repository: what does not say counts as one."""
    for name, image in (("numbers", False), ("pictures", True)):
        figure, axes = plt.subplots(1, 2)
        axes[0].plot([1, 2])
        if image:
            axes[1].imshow(np.zeros((2, 2, 3)))
        figures.save(figure, tmp_path, name, pd.DataFrame({"x": [1]}))
        assert figures.shows_pictures(tmp_path / f"figures/{name}.png") is image
    Image.new("RGB", (2, 2)).save(tmp_path / "earlier.png")
    assert figures.shows_pictures(tmp_path / "earlier.png")
