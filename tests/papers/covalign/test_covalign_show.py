"""What CoV-Align's notebooks show: by-hand tables, paired differences, spreads, maps of phrases."""

from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import torch
from alignbook.backbones import bert
from alignbook.core.similarity import unit
from alignbook.evidence.statistics import t_interval
from alignbook.papers.covalign import model as covalign
from alignbook.papers.covalign import phrases, show
from alignbook.papers.covalign.phrases import Phrase
from alignbook.store import runs
from alignbook.workbook import exhibits


@pytest.fixture(autouse=True)
def closed():
    """No figure stays open."""
    yield
    plt.close("all")


def long(rows):
    """(row, column, seed, value) lines as metrics."""
    return pd.DataFrame(rows, columns=["row", "column", "seed", "value"])


# --- The ladder ----------------------------------------------------------------------------------


def test_every_arm_of_the_ladder_has_one_line():
    rows = exhibits.ROWS["covalign-ladder"]
    arms = [arm for _, _, arm in rows if arm]
    assert sorted(arms) == sorted(exhibits.EXHIBITS["covalign-ladder"].names())
    noted = show.noted()
    lines = {line[:2] for line in rows}
    assert set(zip(noted.group, noted.row)) <= lines
    whole = noted[noted.row == "the whole method"].set_index("column").value
    assert whole["i2t R@1"] == 78.5 and whole["t2i R@1"] == 63.3


def test_differences_are_paired_by_seed():
    metrics = long(
        [("a", "x", seed, value) for seed, value in enumerate((3.0, 5.0, 10.0))]
        + [("b", "x", seed, value) for seed, value in enumerate((1.0, 4.0, 4.0))]
        + [("b", "y", 0, 99.0), ("c", "x", 7, 1.0)]
    )
    found = show.differences(metrics, "x", [("a", "b"), ("b", "a"), ("a", "c"), ("a", "d")])
    assert list(zip(found.row, found.minus, found.seeds)) == [("a", "b", 3), ("b", "a", 3)]
    assert found.loc[0, ["difference", "low", "high"]].tolist() == pytest.approx(
        t_interval(np.array([2.0, 1.0, 6.0]))
    )
    assert found.difference[1] == pytest.approx(-3.0)


def test_the_ladder_s_differences_are_from_the_whole_method_in_words():
    metrics = long(
        [
            (arm, "RSUM", 0, value)
            for arm, value in (("regions", 200.0), ("global", 190.0), ("no-losses", 205.0))
        ]
    )
    found = show.ladder_differences(metrics)
    assert list(zip(found.row, found.difference)) == [
        ("mean patch and mean word", -10.0),
        ("no L_vis, no L_conc", 5.0),
    ]
    assert set(found.minus) == {"the whole method"}
    early = metrics.assign(learnt=np.where(metrics.row == "no-losses", "learnt", "still learning"))
    told = show.ladder_differences(early)
    assert told.row.tolist() == ["mean patch and mean word †", "no L_vis, no L_conc"]
    assert set(told.minus) == {"the whole method †"}


def test_costs_are_means_over_seeds_in_the_ladder_s_order():
    columns = list(show.COSTS)
    costs = pd.DataFrame({"row": ["regions", "regions", "patches"], "seed": [0, 1, 0]})
    for i, name in enumerate(columns):
        costs[name] = [1.0 + i, 3.0 + i, 10.0]
        costs[f"{name} ÷ patches"] = [0.2, 0.4, np.nan]
    costs["step ÷ towers"] = np.nan
    table = show.cost_table(costs)
    assert table.method.tolist() == ["every patch with every word", "the whole method"]
    assert table.measured.tolist() == [1, 2] and table["MB/step"].tolist() == [10.0, 3.0]
    assert table["ms/step ÷ patches"][1] == pytest.approx(0.3)
    low, high = t_interval(np.array([0.2, 0.4]))[1:]
    assert table["± ms/step ÷ patches"][1] == pytest.approx((high - low) / 2)
    assert "step ÷ towers" not in table  # nobody has one


# --- Table 5, Table 3 ----------------------------------------------------------------------------


def test_the_scale_is_judged_with_both_optimizers():
    values = {
        "global-2": 10.0,
        "concentration-5": 7.0,
        "global-2-halved": 9.0,
        "sgd": 1.0,
        "sgd-global-2": 5.0,
        "sgd-global-2-halved": 3.0,
    }
    metrics = long([(arm, "RSUM", 0, value) for arm, value in values.items()])
    rows = tuple(("", f"λ of {arm}", arm) for arm in values)
    found = show.scale_table(metrics, rows)
    assert found.optimizer.tolist() == ["Adam", "Adam", "SGD", "SGD"]
    assert found.difference.tolist() == [3.0, 1.0, 4.0, 2.0]
    assert found.row[0] == "λ of global-2" and found.minus[3] == "λ of sgd-global-2-halved"


def test_regions_stand_in_the_order_of_their_number():
    metrics = long(
        [(f"regions-{n}", "RSUM", seed, 100.0 + n + seed) for n in (16, 4, 8) for seed in (0, 2)]
        + [("regions-4", "spread", 0, 0.25), ("regions-4", "patches kept", 0, 40.0)]
        + [("regions-8", "i2t R@1", seed, 20.0 + seed) for seed in (0, 2)]
    )
    lines = show.region_lines(metrics)
    assert lines["N_q"].tolist() == [4, 8, 12, 16] and lines.seeds.tolist() == [2, 2, 0, 2]
    assert lines.loc[2, ["RSUM", "low", "high"]].isna().all()  # not run
    run = lines.drop(2)
    assert run.RSUM.tolist() == [105.0, 109.0, 117.0] and (run.low < run.RSUM).all()
    table = show.region_table(metrics)
    assert table.spread[0] == 0.25 and table["patches kept"][0] == 40.0
    assert table.spread[1:].isna().all()
    assert table["i2t R@1"].tolist()[1] == 21.0
    assert table.notes[:2].tolist() == [72.7, 78.5] and table.notes[2:].isna().all()
    known = [("regions-8", "RSUM", 101.0), ("regions-4", "i2t R@1", 6.0)]
    reference = pd.DataFrame(known, columns=["row", "column", "mean"])
    reference.attrs["note"] = "Published."
    state = np.where(metrics.row == "regions-16", "did not train", "learnt")
    table = show.region_table(metrics.assign(learnt=state), reference)
    assert table["RSUM reference"].fillna(0).tolist() == [0, 101.0, 0, 0]
    assert table["R@1 reference"].fillna(0).tolist() == [6.0, 0, 0, 0]
    assert table.attrs["note"] == "Published."
    assert table.mark.tolist() == ["", "", "", " ‡"]


def test_a_mask_that_leaves_hardly_a_patch_is_marked():
    values = {"spread": 0.1, "patches kept": 0.05, "kept a region": 2.0, "regions under 3": 60.0}
    metrics = long(
        [("regions", column, seed, value) for column, value in values.items() for seed in (0, 1)]
        + [("unmasked", column, 0, value + 3) for column, value in values.items()]
        + [("patches", "RSUM", 0, 9.0)]
    )
    found = show.mask_table(metrics, {"regions": "the whole method"})
    assert found.arm.tolist() == ["the whole method", "unmasked"]
    assert found[""].tolist() == ["hardly regions", "63 % are hardly regions"]
    assert found["of all (%)"][0] == pytest.approx(5) and found["patches kept"].tolist() == [2, 5]


def test_a_mask_that_leaves_hardly_a_patch_to_many_regions_is_marked_too():
    """42, 33.4 and 33 of 100 regions have fewer than three patches, means of two seeds."""
    shares = {"many": (40.0, 44.0), "just": (33.0, 33.8), "a third": (32.0, 34.0)}
    lines = [("fewer", "kept a region", 0, 2.9), ("fewer", "regions under 3", 0, 50.0)]
    for arm, known in shares.items():
        lines += [(arm, "kept a region", seed, 3.2) for seed in (0, 1)]
        lines += [(arm, "regions under 3", seed, known[seed]) for seed in (0, 1)]
    others = [
        (arm, column, 0, 0.1) for arm in ["fewer", *shares] for column in ("spread", "patches kept")
    ]
    found = show.mask_table(long(lines + others), {}).set_index("arm")
    assert found.loc["fewer", ""] == "hardly regions"
    assert found.loc["many", ""] == "42 % are hardly regions"
    assert found.loc["just", ""] == "33 % are hardly regions"
    assert found.loc["a third", ""] == ""


# --- Figure 5 ------------------------------------------------------------------------------------


def test_even_attention_is_spread_over_the_picture():
    """Four patches in a square: each half the diagonal of a quarter away from the middle."""
    assert show.even_spread((2, 2)) == pytest.approx(np.hypot(0.25, 0.25))
    assert show.even_spread((1, 1)) == 0.0
    large = show.even_spread((60, 60))  # the mean distance of a square from its centre
    assert large == pytest.approx((np.sqrt(2) + np.log(1 + np.sqrt(2))) / 6, abs=1e-3)


def test_spreads_have_a_dot_a_seed(tmp_path):
    metrics = long(
        [("shared", "spread", seed, 0.2 + 0.01 * seed) for seed in range(3)]
        + [("separate", "spread", 0, 0.3), ("shared", "RSUM", 0, 99.0)]
    )
    rows = (("", "one map", "shared"), ("", "two maps", "separate"), ("", "none", "missing"))
    lines = show.spread_lines(metrics, rows)
    assert lines.projection.tolist() == ["one map", "two maps"]
    assert lines["mean"][0] == pytest.approx(0.21) and len(lines["values"][0]) == 3
    figure = show.spread_figure(lines, 0.36, "a note")
    axis = figure.axes[0]
    assert [label.get_text() for label in axis.get_yticklabels()] == ["one map", "two maps"]
    said = [text.get_text() for text in axis.texts]
    assert {"0.210", "0.300", "even attention"} == set(said)
    dots = [c.get_offsets()[:, 0].tolist() for c in axis.collections if len(c.get_offsets()) == 3]
    assert dots == [pytest.approx([0.2, 0.21, 0.22])]
    assert figure.texts[0].get_text() == "Small dots: seeds. a note"
    early = metrics.assign(learnt=np.where(metrics.row == "separate", "still learning", "learnt"))
    assert show.spread_lines(early, rows).projection.tolist() == ["one map", "two maps †"]


GRID = (2, 2)


def test_attention_inside_boxes_is_held_against_even_attention():
    metrics = long(
        [("shared", "inside", seed, 20.0 + seed) for seed in (0, 2)]
        + [("shared", "box", seed, 7.0) for seed in (0, 2)]
        + [("separate", "inside", 0, 14.0), ("separate", "box", 0, 7.0)]
        + [("separate-half", "spread", 0, 1.0)]
    )
    rows = (("", "one", "shared"), ("", "two", "separate"), ("", "half", "separate-half"))
    found = show.inside_table(metrics, rows)
    assert found.projection.tolist() == ["one", "two"] and found.seeds.tolist() == [2, 1]
    assert found["inside (%)"].tolist() == [21.0, 14.0]
    assert found["times even"].tolist() == [3.0, 2.0]
    assert not len(show.inside_table(metrics[metrics.column == "spread"], rows))
    idle = metrics.assign(learnt=np.where(metrics.row == "shared", "did not train", "learnt"))
    assert show.inside_table(idle, rows).projection.tolist() == ["one ‡", "two"]


@pytest.fixture
def book(monkeypatch):
    """Two test pictures with a gold box each; what the regions of both projections look at."""
    dataset = SimpleNamespace(
        splits={"test": np.array([5, 3, 4])},
        captions=[f"a thing {i} is here" for i in range(12)],
        images=np.random.default_rng(0).integers(0, 255, (6, 8, 8, 3), np.uint8),
    )
    known = [
        Phrase(row, 2 * row + k, f"thing {2 * row + k}", (1, 2), (0.0, 0.0, 0.25, 1.0))
        for row in (5, 3)
        for k in range(2)
    ]
    one, all_ = torch.tensor([1.0, 0, 0, 0]), torch.full((4,), 0.25)

    def of(given, rows, parser):
        assert given is dataset and rows.tolist() == [5, 3] and parser == "parser"
        return known

    def looks(matcher, words, given, asked):
        assert asked == [known[0], known[2]] and words == "pieces"  # the first of each picture
        attention = torch.stack([one if matcher.arm == "shared" else all_] * 2)
        region = torch.tensor([0, 1])
        return phrases.Look(region, torch.tensor([1.0, 0.6]), attention, attention > 0.5)

    monkeypatch.setattr(phrases, "of", of)
    monkeypatch.setattr(show, "parsed_by", lambda book: "parser")
    monkeypatch.setattr(phrases, "looks", looks)
    source = SimpleNamespace(grid=GRID)
    monkeypatch.setattr(
        covalign, "load", lambda run, *inputs: SimpleNamespace(arm=run.arm, source=source)
    )
    monkeypatch.setattr(show.arms, "inputs", lambda *_: [dataset])
    monkeypatch.setattr(bert, "load", lambda *_: (None, SimpleNamespace(tokenizer="pieces")))
    monkeypatch.setattr(runs, "stored", lambda key: SimpleNamespace(arm=key))
    return SimpleNamespace(dataset=lambda: dataset, bert=lambda: None)


def listed():
    return pd.DataFrame(
        [("covalign-T6", arm, "report", 0, arm) for arm in ("shared", "separate")]
        + [
            ("covalign-T6", "shared", "trial", 0, "no"),
            ("covalign-T6", "shared", "report", 1, "no"),
        ],
        columns=["exhibit", "arm", "role", "seed", "key"],
    )


def test_a_phrase_s_map_is_that_of_the_region_nearest_to_its_words(book):
    maps = show.phrase_maps(book, listed(), n=2)
    table = show.map_table(maps)
    assert table.picture.tolist() == [5, 3, 5, 3]
    by = table.set_index(["picture", "projection"])
    assert by.loc[(5, "shared"), "phrase"] == "thing 10"
    assert by.loc[(5, "shared"), "region"] == 1  # counted from 1
    assert by.loc[(5, "shared"), "cosine"] == pytest.approx(1.0)
    assert by.loc[(5, "shared"), "spread"] == 0.0
    assert by.loc[(5, "shared"), "inside (%)"] == 50.0  # half the patch is in the box
    assert by.loc[(5, "shared"), "patches kept (%)"] == 25.0
    assert by.loc[(3, "separate"), "region"] == 2
    assert by.loc[(3, "separate"), "cosine"] == pytest.approx(0.6)
    assert by.loc[(3, "separate"), "spread"] == pytest.approx(show.even_spread(GRID))
    assert by.loc[(3, "separate"), "inside (%)"] == 25.0
    assert by.loc[(3, "separate"), "patches kept (%)"] == 0.0
    own = maps[(maps.picture == 5) & (maps.projection == "shared")]
    assert own.attention.tolist() == [1.0, 0.0, 0.0, 0.0]
    assert list(zip(own.y, own.x)) == [(0, 0), (0, 1), (1, 0), (1, 1)]


def test_maps_are_drawn_beside_their_picture_on_one_scale(book):
    maps = show.phrase_maps(book, listed(), n=2)
    figure = show.maps_figure(book.dataset(), maps, "a note")
    *axes, bar = figure.axes
    assert len(axes) == 6 and "attention of a patch" in bar.get_ylabel()
    titles = [axis.get_title(loc="left") for axis in axes]
    assert titles == ["“thing 10”", "shared", "separate", "“thing 6”", "shared", "separate"]
    heats = [axis.images[1] for axis in axes if len(axis.images) == 2]
    assert {heat.get_clim() for heat in heats} == {(0, 100.0)}
    assert np.asarray(heats[0].get_array()).tolist() == [[100.0, 0.0], [0.0, 0.0]]
    assert np.asarray(heats[1].get_array()).tolist() == [[25.0, 25.0], [25.0, 25.0]]
    frame, gold = axes[1].patches  # of the one patch that the mask keeps, on 8 × 8 pixels
    assert frame.get_xy() == (-0.5, -0.5) and frame.get_width() == frame.get_height() == 4.0
    assert (gold.get_gid(), gold.get_xy()) == ("gold", (-0.5, -0.5))
    assert (gold.get_width(), gold.get_height()) == (2.0, 8.0)
    assert [len(axis.patches) for axis in axes] == [1, 2, 1] * 2
    photographs = show.maps_figure(book.dataset(), maps.assign(box=""), "a note")
    assert [len(axis.patches) for axis in photographs.axes[:-1]] == [0, 1, 0] * 2
    assert "gold" not in photographs.axes[-1].get_ylabel()


# --- The picture of shapes ----------------------------------------------------------------------


def texts(figure):
    return [text.get_text() for text in figure.axes[0].texts]


def test_the_picture_of_regions_has_the_librarys_numbers():
    queries, words = torch.tensor([[1.0, 0], [0, 1]]), torch.tensor([[4.0, 3], [0, 1], [-1, 0]])
    patches = torch.tensor([[1.0, 0], [0.96, 0.28], [0, 1], [-0.6, 0.8]])
    figure = show.cohesive_regions(*(x.numpy() for x in (queries, patches, words)), 0.2, 0.7)
    logits = queries @ patches.T / 0.2
    attention, kept = logits.softmax(1), covalign.kept(logits, 0.7)
    assert kept.tolist() == [[True, True, False, False], [False, False, True, True]]
    regions = unit(covalign.pooled(attention[None], kept[None], patches[None]))
    found = covalign.two_way_similarity(regions, unit(words)[None])
    for number in (*attention.flatten(), *regions.flatten(), found):
        assert f"{float(number):.2f}".replace("-", "−") in texts(figure)
    for shape in ("(B₁, N_q, d)", "(B₁, P, d)", "(B₁, N_q, P)", "(B₂, L, d)", "(B₁, B₂, N_q, L)"):
        assert shape in texts(figure)
