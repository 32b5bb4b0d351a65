"""What GSL's notebooks show: counts by hand, the numbers in figures, retrievals as the library's."""

import json
from dataclasses import replace
from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import torch
from alignbook.datasets import noise_index
from alignbook.evidence import printed_tables
from alignbook.evidence.statistics import t_interval
from alignbook.papers.gsl import (
    catalogue,
    epochs,
    found_answers,
    found_noise,
    label_drawing,
    pipeline_drawing,
    show,
    times,
    two_networks,
)
from alignbook.papers.gsl import model as gsl
from alignbook.show import figures
from alignbook.store import runs
from alignbook.workbook import exhibits, profiles


@pytest.fixture(autouse=True)
def closed():
    """No figure stays open."""
    yield
    plt.close("all")


class Run(SimpleNamespace):
    """A stored run by its arrays."""

    def array(self, name):
        return self.arrays[name]


def words(figure):
    """Every text of a figure."""
    axes = [text.get_text() for axis in figure.axes for text in (*axis.texts, axis.title)]
    titles = [axis.get_title(loc=where) for axis in figure.axes for where in ("left", "center")]
    return [*axes, *titles, *(text.get_text() for text in figure.texts)]


def long(rows):
    """(row, column, seed, value) lines as metrics."""
    return pd.DataFrame(rows, columns=["row", "column", "seed", "value"]).assign(exhibit="gsl")


# --- The noise -----------------------------------------------------------------------------------


@pytest.fixture
def three():
    """Three training pictures of two captions; caption 1 is attached to picture 2, 4 and 5 to 0, 1."""
    images = np.arange(3 * 2 * 2 * 3, dtype=np.uint8).reshape(3, 2, 2, 3)
    said = ["a", "b", "c", "d", "e", "f"]
    dataset = SimpleNamespace(
        captions_per_image=2,
        images=images,
        splits={"train": np.array([2, 0, 1])},
        captions_of=lambda split: said,
    )
    return dataset, np.array([0, 2, 1, 1, 0, 2])


def test_wrong_pairs_one_of_each_picture(three):
    dataset, index = three
    found = show.wrong_pairs(dataset, np.array([1, 2, 1, 1, 0, 0]))
    assert found.values.tolist() == [[0, "a", 0, 1], [4, "e", 2, 0]]
    found = show.wrong_pairs(dataset, index)
    assert found.values.tolist() == [[1, "b", 0, 2], [4, "e", 2, 0]]
    figure = show.wrong_pictures(dataset, found)
    shown = [axis.images[0].get_array() for axis in figure.axes]
    for image, row in zip(shown, (2, 1, 1, 2)):  # pictures 0, 2, then 2, 0 of the training split
        assert np.array_equal(image, dataset.images[row])
    dataset.images = None
    assert show.wrong_pictures(dataset, found) is None


@pytest.fixture
def listed(monkeypatch):
    """Two methods at noise 0.5 and one without noise, as `collect.arms` lists them."""
    index = np.array([0, 2, 1, 1, 0, 2])
    stored = {
        "k0": Run(config={"noise": 0.0}, arrays={"index": np.arange(6) // 2}),
        "k1": Run(config={"noise": 0.5}, arrays={"index": index}),
        "k2": Run(config={"noise": 0.5}, arrays={"index": index.copy()}),
    }
    monkeypatch.setattr(runs, "stored", stored.__getitem__)
    lines = [
        ("gsl-0", "report", 0, "k0"),
        ("gsl-0.5", "report", 0, "k1"),
        ("ncr-0.5", "report", 0, "k2"),
        ("ncr-0.5", "trial", 1000, "none"),
    ]
    return pd.DataFrame(lines, columns=["arm", "role", "seed", "key"]), stored


def test_noise_is_written_once_a_rate(listed, three, tmp_path):
    table, stored = listed
    book = SimpleNamespace(kind="world", out=tmp_path, dataset=lambda: three[0])
    found = show.write_noise(book, table)
    assert found.values.tolist() == [["world_0.5.npy", 6, 50.0, pytest.approx(100 / 3), 2]]
    assert [path.name for path in (tmp_path / "noise_index").iterdir()] == ["world_0.5.npy"]
    read = noise_index.read(tmp_path / "noise_index/world_0.5.npy", 3, 2)
    assert read.tolist() == [0, 2, 1, 1, 0, 2]
    stored["k2"].arrays["index"] = np.array([2, 0, 1, 1, 0, 2])
    with pytest.raises(ValueError, match="gsl-0.5, seed 0 and ncr-0.5, seed 0 were trained with"):
        show.write_noise(book, table)
    assert show.first_run(table, "ncr-0.5") is stored["k2"]


# --- Figure 1 ------------------------------------------------------------------------------------


def small_run(**changes):
    """Four pairs, of which captions 1 and 3 are wrong; three of them with labels by A."""
    config = vars(gsl.Config(warm_up="mean", noise=0.5, batch=2, warm_up_epochs=3, epochs=5))
    return Run(
        config=config | changes,
        metrics={"test RSUM": 123.4, "best epoch": 2},
        arrays={
            "index": np.array([0, 1, 1, 0]),
            "posterior": np.array([[0.9, 0.1, 0.8, 0.7], [0.9, 0.2, 0.5, 0.4]]),
            "labels": np.array([[0.8, np.nan, 0.6, 0.1], [0.5, 0.3, 0.7, 0.1]]),
        },
    )


def test_numbers_of_the_pipeline():
    found = pipeline_drawing.pipeline_numbers(small_run(), 2).set_index(["network", "what"]).value
    assert found[""].to_dict() == {
        "pairs": 4,
        "noisy pairs": 2,
        "steps of warm-up": 2,
        "steps an epoch": 1,
        "RSUM": 123.4,
        "best epoch": 2,
    }
    assert found["A"].tolist() == pytest.approx([3, 1, 1, 0.7, 0.1])
    assert found["B"].tolist() == pytest.approx([1, 3, 2, 0.6, 0.2])  # p = δ is noisy


@pytest.mark.parametrize(
    "split, heading", [("peer", "A learns on B's division"), ("own", "A learns on A's division")]
)
def test_the_pipeline_says_them(split, heading):
    figure = pipeline_drawing.pipeline(small_run(split=split), 2)
    said = words(figure)
    whole = "\n".join(said)
    assert heading in said
    for part in (
        "4 captions,\n2 with a wrong\npicture (50.0 %)",
        "3 clean, 1 noisy",
        "1 clean, 3 noisy",
        "3 epochs of\n2 steps",
        "5 epochs of 1 step",
        "RSUM 123.4",
        "clean 0.70,\nnoisy 0.10",
        "mean violations",
    ):
        assert part in whole, part
    counts = [
        sum(bar.get_height() for bars in axis.containers for bar in bars)
        for axis in figure.axes[1:]
    ]
    assert counts == [4, 4]


def test_the_picture_of_labels_has_the_librarys_numbers():
    s_i, s_t = torch.eye(5), torch.eye(5)
    s_i[0], s_t[0] = torch.tensor([1, 0.8, 0.4, 0.9, 0.5]), torch.tensor([1, 0.2, 0.5, 0.9, 0.4])
    clean = torch.tensor([False, True, True, False, True])
    chosen = gsl.anchors(s_i, s_t, clean)
    figure = label_drawing.corrected_labels(s_i.numpy(), s_t.numpy(), clean.numpy())
    drawn = [text.get_text() for text in figure.axes[0].texts]
    ours = gsl.soft_labels(s_i, s_t, clean, chosen)[0].item()
    assert ours == pytest.approx(0.6625) and f"{ours:.2f}" in drawn
    ratio = (s_t / s_i)[0][chosen.index[0]]
    across = [(ratio[1] / ratio[0]).item(), (ratio[2] / ratio[3]).item()]
    assert f"{across[0]:.2f}" in drawn and f"{sum(across) / 2:.2f}" in drawn  # 3.20 and 2.38
    assert {"(B, B)", "(B, 4)", "(B, 2)", "(B,)"} <= set(drawn)


# --- RSUM against noise --------------------------------------------------------------------------


def test_curves_by_noise():
    metrics = long(
        [
            ("ncr-0.2", "RSUM", 0, 90),
            ("gsl-0.6", "RSUM", 0, 70),
            ("gsl-0", "RSUM", 0, 100),
            ("gsl-0", "RSUM", 1, 110),
            ("gsl-0", "label AUC", 0, 0.5),
            ("ncr-0.4-long", "RSUM", 0, 200),
        ]
    ).assign(learnt=["still learning", "did not train", *["learnt"] * 3, "did not train"])
    lines = show.noise_lines(metrics)
    assert lines[["method", "noise", "RSUM", "seeds"]].values.tolist() == [
        ["GSL", 0.0, 105.0, 2],
        ["GSL", 0.6, 70.0, 1],
        ["NCR", 0.2, 90.0, 1],
    ]
    assert lines.loc[0, ["low", "high"]].tolist() == pytest.approx(t_interval([100, 110])[1:])
    table = show.noise_table(lines).set_index("method")
    assert list(table.columns) == [
        "0 %",
        "± 0 %",
        "20 %",
        "60 %",
        "from 0 to 60 %",
        "seeds",
        "state",
    ]
    assert table.state.tolist() == ["did not train at 60 %", "still learning at 20 %"]
    assert table.loc["GSL", "from 0 to 60 %"] == -35 and table.loc["GSL", "seeds"] == "1 or 2"
    assert np.isnan(table.loc["NCR", "from 0 to 60 %"])
    reference = pd.DataFrame(
        [("gsl-0", "RSUM", 101.0), ("gsl-0.4-long", "RSUM", 1.0), ("ncr-0.2", "RSUM", 99.0)],
        columns=["row", "column", "mean"],
    )
    reference.attrs["note"] = "Published."
    beside = show.noise_table(lines, reference)
    assert beside.attrs["note"] == "Published." and "reference 60 %" not in beside
    assert beside.set_index("method")["reference 0 %"].tolist()[:1] == [101.0]
    assert beside.set_index("method")["reference 20 %"].tolist()[1:] == [99.0]
    figure = show.noise_figure(lines, "One note.")
    axis = figure.axes[0]
    assert axis.get_xscale() == "linear"
    marks = {tuple(each.xy): each.get_text().strip() for each in axis.texts}
    assert [mark for (_, value), mark in marks.items() if value == 70] == ["‡"]
    assert sorted(marks.values()) == ["", "†", "‡"]
    assert figure.texts[0].get_text() == "One note. ‡ did not train. † still learning."
    assert [line.get_ydata().tolist() for line in axis.lines] == [[105, 70], [90]]
    assert [line.get_label() for line in axis.lines] == ["GSL", "NCR"]
    assert np.abs(axis.lines[0].get_xdata() - [0, 60]).max() < 2


def test_whether_training_added_to_the_warm_up(monkeypatch):
    def run(dev, after=0.3, warm_up=5):
        looks = np.array([(10 * i, value) for i, value in enumerate(dev)], float)
        return SimpleNamespace(
            config={"epochs": len(dev) - 1, "warm_up_epochs": warm_up, "after": after},
            record={"asked": []},
            array={"dev": looks, "loss": np.full(20, 0.3)}.__getitem__,
            metrics={"trivial loss": 1.0},
            has=lambda name: name == "loss",
        )

    known = {
        "a": run([100, 120, 130]),
        "b": run([100, 130, 128]),
        "c": run([100, 90, 80]),
        "d": run([100, 110, 81]),
        "e": run([100, 101, 104]),
        "f": run([100, 101], after=0.0),
        "g": run([100, 101], warm_up=0),
    }
    monkeypatch.setattr(show.runs, "stored", known.__getitem__)
    arms = ["x-0.4"] * 2 + ["y-0.4"] * 2 + ["z-0.4", "warmed-0.4", "w-0.4"]
    listed = pd.DataFrame({"arm": arms, "role": "report", "seed": 0, "key": [*known]})
    found = show.above_warm_up(listed).set_index("arm")
    assert list(found.index) == ["x-0.4", "y-0.4", "z-0.4"]
    assert found["ends above its warm-up"].tolist() == ["yes", "no", "open"]
    assert found.loc["x-0.4", ["warm-up", "best", "last"]].tolist() == [100, 130, 129]
    assert found["last − warm-up"].tolist() == [29, -19.5, 4]
    assert found.chosen.tolist() == ["2, 1", "0, 1", "2"] and found.epochs.tolist() == [2, 2, 2]
    assert found.state.tolist() == ["learnt", "learnt", "still learning"]  # one of x's two seeds


def test_the_course_of_methods_epoch_by_epoch(monkeypatch):
    def run(start, after=0.3):
        told = np.arange(24.0).reshape(3, 8) + start
        told[0, :5] = np.nan
        dev = np.array([[0, start], [5, 2 * start], [10, 3 * start]], float)
        arrays = {"dev": dev, "course": told}
        return SimpleNamespace(config={"after": after}, array=arrays.__getitem__)

    known = {"a": run(10), "b": run(30), "c": run(0), "d": run(0, after=0.0)}
    known |= {each: run(0) for each in "efg"}
    monkeypatch.setattr(epochs.runs, "stored", known.__getitem__)
    listed = pd.DataFrame(
        {
            "arm": "gsl-0.4 gsl-0.4 triplet-0.4 warmed-0.4 gsl-0.6 gsl-0.4-long gsl-0.4".split(),
            "role": ["report"] * 6 + ["tuning"],
            "key": [*known],
        }
    )
    table = epochs.course(listed)
    assert table.method.tolist() == ["GSL"] * 3 + ["plain triplet"] * 3
    assert table.epoch.tolist() == [0, 1, 2] * 2 and table.seeds.tolist() == [2] * 3 + [1] * 3
    gsl_after_one = table.iloc[1].drop(["method", "epoch", "seeds"])
    # the numbers 8 to 15 of both runs, 20 more on the mean; own − others is 13 − 14
    assert gsl_after_one.to_dict() == {
        "RSUM on dev": 40,
        "noise found": 30,
        "clean kept": 29,
        "division AUC": 28,
        "label, clean": 31,
        "label, noisy": 32,
        "own − others": -1,
        "spread": 35,
    }
    assert table.iloc[0][["noise found", "label, noisy"]].isna().all()
    figure = epochs.course_figure(table, "A note.")
    dev, found, kept, apart = figure.axes
    assert dev.lines[0].get_ydata().tolist() == [20, 40, 60]
    assert found.lines[0].get_ydata()[1:].tolist() == [30, 38]
    assert kept.lines[1].get_ydata()[1:].tolist() == [9, 17]
    assert apart.lines[0].get_ydata().tolist() == [-1, -1, -1]
    assert [line.get_label() for line in dev.lines] == ["GSL", "plain triplet"]
    assert apart.get_ylim()[0] <= -1
    assert epochs.course(listed[:0]).empty


def test_a_part_of_the_data_is_never_called_comparable():
    splits = {"train": range(100), "dev": range(10), "test": range(20)}

    def book(kind, **sizes):
        profile = replace(profiles.get("laptop"), gsl_dev_images=0, **sizes)
        return SimpleNamespace(
            kind=kind,
            profile=profile,
            pretrained=profile.base == "photo-pretrained",
            dataset=lambda: SimpleNamespace(splits=splits),
        )

    whole = book("f30k_precomp", gsl_images=0, gsl_test_images=0)
    assert "may be compared" in show.note_of(whole)
    for sizes in (
        {"gsl_images": 50, "gsl_test_images": 0},
        {"gsl_images": 0, "gsl_test_images": 5},
    ):
        told = show.note_of(book("f30k_precomp", **sizes))
        assert told.startswith("Mean") and "no value may be held" in told
    towers = book("flickr8k", base="photo-pretrained", gsl_images=50, gsl_test_images=5)
    told = "Small pretrained towers, frozen, and a part of the data: compare the order."
    assert show.note_of(towers).endswith(told)
    assert "World numbers" in show.note_of(book("world", gsl_images=50, gsl_test_images=5))
    table = show.sizes_table(book("world", gsl_images=50, gsl_test_images=0)).set_index("what")
    assert table.here["train images"] == "the first 50 of 100"
    assert table.here["test images"] == "the first 20 of 20"
    assert table.here["after it"] == "6 epochs at 0.00021"


def test_every_arm_has_a_name():
    assert {name.partition("-")[0] for name in catalogue.NOISE} == set(show.NAMES)
    assert set(show.NAMES.values()) == set(show.STYLES)
    assert {*catalogue.SWITCHES, *catalogue.LABELS} == set(show.CHANGES)
    looks = list(show.STYLES.values())
    assert len({mark for mark, _, _ in looks}) == len(looks)  # not by colour alone


# --- Switches ------------------------------------------------------------------------------------


def test_switches_against_the_base_over_common_seeds():
    metrics = long(
        [
            ("gsl", "RSUM", 0, 100),
            ("gsl", "RSUM", 1, 110),
            ("gsl", "RSUM", 2, 200),
            ("no-eq7", "RSUM", 0, 90),
            ("no-eq7", "RSUM", 1, 104),
            ("sums", "RSUM", 1, 111),
            ("gsl", "label AUC", 0, 0.7),
            ("no-eq7", "label AUC", 0, 0.6),
        ]
    )
    found = show.switch_table(metrics, measures=("RSUM", "label AUC")).set_index("arm")
    assert list(found.index) == ["gsl", "no-eq7", "sums"]
    mean, low, high = t_interval([-10, -6])
    assert found.loc["no-eq7", ["Δ", "±"]].tolist() == pytest.approx([mean, (high - low) / 2])
    assert found.loc["sums", "Δ"] == 1 and np.isnan(found.loc["sums", "±"])
    assert found.loc["no-eq7", "Δ label"] == pytest.approx(-0.1)
    assert np.isnan(found.loc["gsl", "Δ"]) and np.isnan(found.loc["sums", "Δ label"])
    assert "± label" not in found  # nothing is known of it
    assert found.loc["gsl", "RSUM"] == pytest.approx(410 / 3)
    assert found["seeds in common"].tolist() == [3, 2, 1]
    idle = metrics.assign(learnt=np.where(metrics.row == "sums", "did not train", "learnt"))
    assert show.switch_table(idle).arm.tolist() == ["gsl", "no-eq7", "sums ‡"]
    known = pd.DataFrame([("sums", "RSUM", 120.0), ("sums", "label AUC", 0.8)])
    known.columns = ["row", "column", "mean"]
    beside = show.switch_table(idle, reference=known)
    assert list(beside)[-1] == "reference" and beside.reference.isna().tolist() == [
        True,
        True,
        False,
    ]
    assert beside.reference[2] == 120.0


def test_seeds_in_common_are_those_of_rsum():
    metrics = long([("gsl", "RSUM", 0, 1.0), ("sums", "RSUM", 0, 2.0), ("gsl", "label AUC", 0, 1)])
    found = show.switch_table(metrics).set_index("arm")
    assert found["seeds in common"].tolist() == [1, 1]
    assert "Δ division" in found and found["Δ division"].isna().all()


def test_complaints_of_mixtures_are_counted(monkeypatch, tmp_path):
    stored = {}
    for key, told in (
        ("a", {"epoch 1, network A": "flat", "epoch 2, network B": "upside down"}),
        ("b", {"epoch 1, network A": "flat"}),
        ("c", None),
    ):
        stored[key] = SimpleNamespace(folder=tmp_path / key, config={"epochs": 2})
        stored[key].folder.mkdir()
        if told is not None:
            (tmp_path / key / "problems.json").write_text(json.dumps(told))
    monkeypatch.setattr(runs, "stored", stored.__getitem__)
    table = pd.DataFrame(
        [("x", "report", "a"), ("x", "report", "b"), ("y", "report", "c"), ("y", "trial", "a")],
        columns=["arm", "role", "key"],
    )
    found = show.complaints(table)
    assert found.values.tolist() == [["x", 2, 8, 3, "epoch 2, network B: upside down"]]


def test_pairs_that_a_threshold_moves():
    run = small_run()
    run.arrays["posterior"] = np.array([[0.4, 0.45, 0.6, 0.61], [0.1, 0.2, 0.9, 0.5]])
    found = show.moved(run)
    assert found.values.tolist() == [["A", 75, 50, 25, 50], ["B", 50, 25, 25, 25]]
    assert list(found.columns)[1:] == [
        "clean at 0.4 (%)",
        "clean at 0.5 (%)",
        "clean at 0.6 (%)",
        "between 0.4 and 0.6 (%)",
    ]


# --- Table 2 -------------------------------------------------------------------------------------


@pytest.fixture
def costs():
    lines = [
        ("ncr", 0, 100, 100, 10, 80, 30, 10),
        ("ncr", 1, 200, 200, 20, 160, 60, 20),
        ("gsl", 0, 150, 120, 10, 110, 5, 30),
        ("gsl", 1, 260, 240, 10, 220, 5, 30),
    ]
    names = [
        "row",
        "seed",
        "seconds",
        "at equal steps",
        "warm-up",
        "training",
        "correction",
        "division",
    ]
    found = pd.DataFrame(lines, columns=names).assign(overhead=50.0)
    return found.assign(**{"an epoch": (found.training + found.division) / 40})


def test_costs_beside_the_papers(costs):
    rows = [row for row in exhibits.ROWS["gsl-T2"] if row[2] in ("ncr", "gsl", "gsc", None)]
    found = times.cost_table(costs, printed_tables.table("gsl-T2"), rows).set_index("method")
    assert list(found.index) == ["NCR", "GSC", "ESC", "SPS", "GSL"]
    assert found.loc["GSC", ""] == "in longer profiles" and found.loc["GSL", ""] == ""
    assert found.loc["GSL", "ours, seconds an epoch"] == pytest.approx((140 + 250) / 2 / 40)
    assert found.loc["GSL", "paper, increase (%)"] == 46.55
    assert found.loc["GSL", "ours, seconds"] == 205
    assert found.loc["GSL", "ours, increase (%)"] == pytest.approx((50 + 30) / 2)
    mean, low, high = t_interval([50, 30])
    assert found.loc["GSL", "±"] == pytest.approx((high - low) / 2)
    assert found.loc["GSL", "at equal steps (%)"] == pytest.approx(20)
    assert found.loc["GSL", "division and correction (%)"] == 50
    assert found.loc["NCR", "ours, increase (%)"] == 0
    for name in ("ESC", "SPS"):
        assert found.loc[name, ""] == "not reconstructable"
        assert np.isnan(found.loc[name, "ours, seconds"])
        assert found.loc[name, "paper, seconds"] > 3900


def test_parts_of_the_time_add_up(costs):
    costs["seconds"] = costs["warm-up"] + costs["training"] + costs["division"]
    lines = times.time_lines(costs).set_index("method")
    assert lines.loc["GSL"].tolist() == [10, 160, 5, 30]
    assert lines.sum(axis=1)["NCR"] == costs[costs.row == "ncr"].seconds.mean()
    axis = times.time_bars(lines.reset_index(), "note").axes[0]
    wide = [[bar.get_width() for bar in bars] for bars in axis.containers]
    assert np.allclose(np.sum(wide, axis=0), lines.sum(axis=1))
    left = [[bar.get_x() for bar in bars] for bars in axis.containers]
    assert np.allclose(left[3], lines.sum(axis=1) - lines["division"])
    assert {"78 %", "15 %", "  205 s"} <= {text.get_text() for text in axis.texts}


def test_gains_over_ncr():
    metrics = long(
        [
            ("ncr", "RSUM", 0, 50),
            ("ncr", "RSUM", 1, 60),
            ("gsl", "RSUM", 0, 53),
            ("gsl", "RSUM", 1, 65),
        ]
    )
    found = show.gains_table(metrics, exhibits.ROWS["gsl-T2"]).set_index("method")
    assert found.loc["GSL", ["paper", "ours", "seeds"]].tolist() == [10.8, 4.0, 2]
    assert found.loc["ESC", " "] == "not reconstructable" and np.isnan(found.loc["ESC", "ours"])
    assert "NCR" not in found.index and found.loc["GSC", "paper"] == 5.8
    reference = pd.DataFrame([("gsl", 71.0), ("ncr", 60.0)], columns=["row", "mean"])
    reference = reference.assign(column="RSUM")
    beside = show.gains_table(metrics, exhibits.ROWS["gsl-T2"], reference).set_index("method")
    assert beside.loc["GSL", "reference"] == 11.0 and np.isnan(beside.loc["GSC", "reference"])
    early = metrics.assign(learnt=np.where(metrics.row == "gsl", "still learning", "learnt"))
    told = show.gains_table(early, exhibits.ROWS["gsl-T2"]).method
    assert "GSL †" in [*told] and "GSC" in [*told]


def test_schedules_are_those_that_are_timed():
    found = times.schedule_table().set_index("method")
    assert found.loc["GSC"].tolist()[:2] == [0, 60] and len(found) == 4


# --- Table 3 and Figure 2 ------------------------------------------------------------------------


def test_table_3_has_the_class_that_is_asked_for():
    metrics = long(
        [
            ("gsl", "mean noisy precision", 0, 80),
            ("gsl", "mean noisy recall", 0, 70),
            ("gsl", "A clean recall", 0, 60),
            ("gsl", "A clean precision", 0, 50),
            ("gsl", "division AUC", 0, 0.9),
            ("gsl", "RSUM", 0, 1),
        ]
    )
    found = found_noise.as_printed(metrics)
    assert len(found) == len(metrics) + 2
    assert found.tail(2)[["column", "value"]].values.tolist() == [["precision", 80], ["recall", 70]]
    other = found_noise.as_printed(metrics, "A", "clean").tail(2)
    assert other["value"].tolist() == [60, 50]
    table = found_noise.classes_table(metrics)
    assert table["p(clean) of"].tolist() == ["both, mean", "A", "B"]
    assert table.loc[0, ["noisy: precision", "noisy: recall", "division AUC"]].tolist() == [
        80,
        70,
        0.9,
    ]
    assert table.loc[1, "clean: recall"] == 60 and table.loc[2].isna().sum() == 5


def test_labels_as_shares_of_their_class():
    run = Run(
        arrays={
            "index": np.array([0, 0, 1, 0, 1, 2]),  # captions 3 and 4 are wrong
            "labels": np.array(
                [[0.1, 0.9, np.nan, 0.1, 0.2, 1.0], [0.3, 0.9, np.nan, np.nan, 0.4, 1.0]]
            ),
        }
    )
    found = found_noise.label_shares(run, 2, bins=2)
    assert found.low.tolist() == [0, 0.5] and found.high.tolist() == [0.5, 1]
    assert found.clean.tolist() == pytest.approx([100 / 3, 200 / 3])  # 0.2 | 0.9 and 1.0
    assert found.noisy.tolist() == [100, 0]
    figure = found_noise.label_histograms({"a": found, "b": found}, "note")
    steps = [patch.get_data().values.tolist() for patch in figure.axes[1].patches]
    assert steps == [found.clean.tolist(), found.noisy.tolist()]
    assert figure.axes[0].patches[1].get_hatch() and not figure.axes[0].patches[0].get_hatch()


def test_rules_of_labels():
    lines = [
        ("score", "label AUC", 0.6),
        ("score", "mean label, clean", 0.8),
        ("score", "mean label, noisy", 0.2),
        ("relabelled", "mean label, clean", 0.5),
        ("relabelled", "mean label, noisy", 0.1),
        ("gsl", "label AUC", 0.9),
        ("ncr", "RSUM", 1.0),
    ]
    metrics = long(
        [(a, b, 0, c) for a, b, c in lines]
        + [("relabelled", "label AUC", s, v) for s, v in ((0, 0.7), (1, 0.9))]
    )
    found = found_noise.rules_table(metrics)
    assert found.rule.tolist() == ["relabelled", "score"]
    assert found.loc[0, ["label AUC", "low"]].tolist() == pytest.approx(t_interval([0.7, 0.9])[:2])
    assert found.loc[1, ["mean label, clean", "mean label, noisy"]].tolist() == [0.8, 0.2]
    known = pd.DataFrame([("score", "label AUC", 0.65), ("score", "RSUM", 99.0)])
    known.columns = ["row", "column", "mean"]
    beside = found_noise.rules_table(metrics, known).reference
    assert np.isnan(beside[0]) and beside[1] == 0.65
    own = found_noise.label_auc_table(metrics.assign(n=40))
    assert own[["method", "label AUC", "labelled", "seeds"]].values.tolist() == [
        ["GSL", 0.9, 40, 1]
    ]


# --- Figures 3 and 4 -----------------------------------------------------------------------------


@pytest.fixture
def trained(monkeypatch):
    """Two networks that score by a table: images 0 to 4 with two captions each."""
    stored = np.arange(6, dtype=np.float32).reshape(6, 1, 1)
    table = torch.rand(2, 6, 12, generator=torch.Generator().manual_seed(0))

    class Network(torch.nn.Module):
        def __init__(self, which):
            super().__init__()
            self.which, self.one = which, torch.nn.Parameter(torch.ones(1))

        def encode_images(self, raw):
            return raw[:, 0, 0].long()

        def encode_captions(self, ids, lengths):
            return ids[:, 0]

        def similarity(self, images, captions):
            return table[self.which][images][:, captions]

    def encode(captions):
        return torch.tensor([[int(text)] for text in captions]), torch.ones(len(captions)).long()

    rows = np.array([5, 1, 0, 3, 2])
    dataset = SimpleNamespace(
        captions_per_image=2,
        images=None,
        splits={"test": rows},
        captions_of=lambda split: [str(2 * row + k) for row in rows for k in range(2)],
    )
    networks = torch.nn.ModuleList([Network(0), Network(1)]).eval()
    vocabulary = SimpleNamespace(encode=encode)
    monkeypatch.setattr(two_networks, "load", lambda run, *inputs: (networks, vocabulary))
    run = Run(config={"test_images": 4, "regions": 1})
    features = SimpleNamespace(array=lambda name: stored)
    config = SimpleNamespace(regions=1)
    whole = two_networks.similarities(
        networks, vocabulary, dataset, features, config, "test"
    ).numpy()
    return run, [dataset, features, None, None, None], whole


def test_scores_are_those_of_the_whole_test(trained, monkeypatch):
    run, inputs, whole = trained
    monkeypatch.setattr(found_answers.noisy_pairs, "IMAGES", 2)
    found = found_answers.scores(run, inputs, np.arange(5), np.arange(10))
    assert np.allclose(found, whole)
    some = found_answers.scores(run, inputs, np.array([3, 1, 4]), np.array([8, 0]))
    assert np.allclose(some, whole[[3, 1, 4]][:, [8, 0]])


def test_the_first_queries_are_ranked_among_the_tested(trained):
    run, inputs, whole = trained
    both = found_answers.retrieved(run, inputs, queries=3, k=2)
    captions, images = both["captions"], both["images"]
    assert captions["query"].tolist() == [0, 0, 1, 1, 2, 2]
    assert images["query"].tolist() == [0, 0, 2, 2, 4, 4]  # the first caption of each image
    for line in captions.itertuples():
        own = np.sort(whole[line.query, :8])[::-1]
        assert line.score == pytest.approx(own[line.rank - 1]) and line.found < 8
        assert line.right == (line.found // 2 == line.query)
    for line in images.itertuples():
        own = np.sort(whole[:4, line.query])[::-1]
        assert line.score == pytest.approx(own[line.rank - 1]) and line.found < 4
        assert line.right == (line.found == line.query // 2)
    run.config["test_images"] = 0
    assert len(found_answers.retrieved(run, inputs, queries=9)["captions"]) == 3 * 5


@pytest.mark.parametrize("pictures", [False, True])
def test_retrievals_are_marked_and_kept(trained, tmp_path, pictures):
    run, inputs, _ = trained
    dataset = inputs[0]
    if pictures:
        dataset.images = np.random.default_rng(0).integers(0, 255, (6, 4, 4, 3), np.uint8)
    found = {name: found_answers.retrieved(run, inputs, queries=2) for name in ("one", "other")}
    for way, draw in (
        ("captions", found_answers.captions_figure),
        ("images", found_answers.images_figure),
    ):
        data = found_answers.long_form(found, dataset, way)
        assert len(data) == 2 * 2 * 3 and set(data.method) == {"one", "other"}
        said = words(draw(data, dataset, "the note"))
        marks = [text[0] for text in said if text[:1] in ("✓", "✗") and "belongs" not in text]
        assert len(marks) == len(data)
        assert marks.count("✓") == data.right.sum()
        for score in data.score:
            assert any(f"{score:.3f}" in text for text in said)
        assert any("the note" in text for text in said)
        figures.save(plt.gcf(), tmp_path, f"figure-{way}", data)
        assert len(pd.read_csv(tmp_path / f"figures/figure-{way}.csv")) == len(data)
        if way == "captions":
            assert data.caption.tolist() == [dataset.captions_of("test")[i] for i in data.found]
        else:
            assert data.asked.iloc[0] == dataset.captions_of("test")[0]


def test_queries_shown_beside_all():
    top = pd.DataFrame({"query": [0, 0, 1, 1], "right": [True, False, False, True]})
    run = Run(
        metrics={"test i2t R@1": 40.0, "test t2i R@1": 30.0},
        arrays={"ranks_i2t": np.ones(50), "dev": np.array([(0, 50.0), (30, 52.0), (60, 51.0)])},
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(found_answers, "first_run", lambda listed, arm: run)
        found = found_answers.shown_against_all(
            {"GSL": {"captions": top, "images": top}}, None, {"GSL": "gsl-0.4"}
        )
    assert found.values.tolist() == [
        ["GSL", "image to text", 2, 50, 100, 40, 2, 1],
        ["GSL", "text to image", 2, 50, 100, 30, 2, 1],
    ]


def test_pairs_seen_are_those_a_run_counted(monkeypatch):
    from alignbook.show import run_tables

    metrics = {"steps": 5, "parameters": 7, "training seconds": 1.0}
    stored = {
        "a": SimpleNamespace(metrics=metrics | {"samples": 44}, config={"batch": 3}),
        "b": SimpleNamespace(metrics=metrics | {"trivial loss": 4.0}, config={"batch": 3}),
    }
    arrays = {"loss": np.full(20, 3.8), "dev": np.array([(80, 90.0), (100, 100.0)])}
    for run in stored.values():
        run.has, run.array = arrays.__contains__, arrays.__getitem__
    monkeypatch.setattr(runs, "stored", stored.__getitem__)
    lines = [("x", "report", 0, "a"), ("y", "report", 0, "b")]
    table = run_tables.effort_table(pd.DataFrame(lines, columns=["arm", "role", "seed", "key"]))
    assert table["pairs seen"].tolist() == [44, 15]
    assert table["state"].tolist() == ["still learning", "did not train"]
    assert table["loss, % of trivial"].tolist()[1] == pytest.approx(95)
    assert table["gain, %"].tolist() == pytest.approx([10, 10])
