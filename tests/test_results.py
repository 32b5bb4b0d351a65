"""From runs to files: intervals by hand, tables as shown, figures with their data."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from alignbook import basesheet, claims, collect, datasheet, exhibits, explore, figures, reported, tables


def test_t_interval_by_hand():
    # mean 2, standard error 1/√3, t(0.975, 2 degrees) = 4.302653
    mean, low, high = claims.t_interval([1, 2, 3])
    assert mean == 2
    assert low == pytest.approx(2 - 4.302653 / np.sqrt(3), abs=1e-5)
    assert high == pytest.approx(2 + 4.302653 / np.sqrt(3), abs=1e-5)


def test_one_seed_has_no_interval_and_bad_values_are_refused():
    mean, low, high = claims.t_interval([5.0])
    assert mean == 5 and np.isnan(low) and np.isnan(high)
    for bad in ([], [1, np.nan], [[1, 2]]):
        with pytest.raises(ValueError):
            claims.t_interval(bad)


def test_a_paired_difference_takes_seeds_in_pairs():
    first, second = [10.0, 20.0, 30.0], [9.0, 18.5, 29.5]
    mean, low, high = claims.paired_difference(first, second)
    assert mean == pytest.approx(1.0)  # 1.0, 1.5, 0.5: the seeds' own spread of 10 cancels
    assert high - low == pytest.approx(2 * 4.302653 * 0.5 / np.sqrt(3), abs=1e-5)
    with pytest.raises(ValueError):
        claims.paired_difference([1, 2], [1])


def metrics(rows=("visual-codebook", "cross-attention"), seeds=3):
    lines = [
        ("chan-T3", row, column, f"test {column}", seed, 10.0 * i + seed + j / 10, 100, "world",
         "smoke", "test", "p")
        for i, row in enumerate(rows) for j, column in enumerate(collect.COLUMNS)
        for seed in range(seeds)
    ]
    return pd.DataFrame(lines, columns=["exhibit", "row", "column", "metric", "seed", "value", "n",
                                        "dataset", "profile", "split", "protocol"])


def test_summary_is_mean_and_interval_over_seeds():
    summary = collect.summarise(metrics())
    line = summary[(summary.row == "cross-attention") & (summary.column == "RSUM")].iloc[0]
    assert line["mean"] == pytest.approx(11.6) and line.seeds == 3
    assert line.high - line["mean"] == pytest.approx(4.302653 / np.sqrt(3), abs=1e-3)


def test_the_table_puts_each_number_beside_its_own():
    printed = reported.table("chan-T3")
    table = tables.beside_paper(collect.summarise(metrics()), printed, exhibits.CHAN_TABLE_3)
    by_row = table.set_index([("", "group"), ("", "row")])
    hard = by_row.loc[("Coding Types", "Visual Codebook")]
    assert hard["RSUM", "paper"] == 433.4 and hard["RSUM", "ours"] == pytest.approx(1.6)
    assert hard["t2i R@1", "paper"] == 41.7 and hard["t2i R@1", "ours"] == pytest.approx(1.3)
    lse = by_row.loc[("Pooling Types", "LSE-Pooling")]
    assert lse["RSUM", "ours"] == hard["RSUM", "ours"]  # one run, two rows
    assert np.isnan(by_row.loc[("Pooling Types", "Max-Pooling")]["RSUM", "ours"])
    assert hard["RSUM", "±"] == pytest.approx(4.302653 / np.sqrt(3), abs=1e-3)


def test_the_printed_table_is_consistent_with_itself():
    printed = reported.table("chan-T3")
    wide = printed.pivot(index=["group", "row"], columns="column", values="value")
    six = wide[[c for c in collect.COLUMNS if c != "RSUM"]]
    assert wide.shape == (8, 7)
    assert (abs(six.sum(axis=1) - wide["RSUM"]) <= 0.3 + 1e-9).all()  # six roundings of 0.05
    assert (six["i2t R@1"] < six["i2t R@5"]).all() and (six["i2t R@5"] < six["i2t R@10"]).all()


def test_tables_are_saved_aligned(tmp_path):
    table = tables.beside_paper(collect.summarise(metrics()), reported.table("chan-T3"),
                                exhibits.CHAN_TABLE_3)
    tables.save(table, tmp_path, "t")
    lines = (tmp_path / "tables/t.md").read_text().splitlines()
    assert len({len(line) for line in lines}) == 1 and len(lines) == len(exhibits.CHAN_TABLE_3) + 2
    assert "433.4" in lines[3]
    saved = pd.read_csv(tmp_path / "tables/t.csv")
    assert saved["RSUM ours"][1] == pytest.approx(1.6)
    html = tables.show(table, "caption").to_html()
    assert "433.4" in html and "–" in html and "nan" not in html


def test_the_figure_keeps_its_data(tmp_path):
    lines = explore.dot_lines(metrics(), reported.table("chan-T3"), exhibits.CHAN_TABLE_3)
    assert list(lines.label[:3]) == ["Coding Types", "Cross-Attention", "Visual Codebook"]
    assert lines.loc[2, "paper"] == 433.4
    assert lines.loc[2, "values"] == pytest.approx([0.6, 1.6, 2.6])
    figure = figures.dots(lines, "title", "note")
    left, right = figure.axes
    means = [c.get_offsets()[0, 0] for c in left.collections if len(c.get_sizes()) and
             c.get_sizes()[0] == 44 and np.isfinite(np.ma.filled(c.get_offsets(), np.nan)).all()]
    assert means == pytest.approx([11.6, 1.6, 1.6])
    figures.save(figure, tmp_path, "f", lines)
    for ending in ("png", "svg", "csv"):
        assert (tmp_path / f"figures/f.{ending}").stat().st_size > 100


def test_figures_are_the_same_bytes_each_time(tmp_path):
    for name in ("a", "b"):
        lines = explore.dot_lines(metrics(), reported.table("chan-T3"), exhibits.CHAN_TABLE_3)
        figures.save(figures.dots(lines, "title", "note"), tmp_path, name)
    a, b = ((tmp_path / f"figures/{n}.svg").read_bytes() for n in "ab")
    assert a == b


def test_differences_say_which_arm_is_higher_or_that_it_is_open():
    values = metrics()
    table = explore.differences_table(values, [("cross-attention", "visual-codebook")])
    assert table.reading[0] == "cross-attention is higher" and table.difference[0] == 10
    values.loc[(values.row == "cross-attention") & (values.seed == 1), "value"] = -100.0
    table = explore.differences_table(values, [("cross-attention", "visual-codebook")])
    assert table.reading[0] == "open"
    one = explore.differences_table(metrics(seeds=1), [("cross-attention", "visual-codebook")])
    assert one.reading[0] == "one seed: open"


def test_permuted_captions_are_at_chance():
    from alignbook import retrieval

    n = 300
    scores = np.random.default_rng(0).normal(0, 0.1, (n, 5 * n)).astype(np.float32)
    scores[np.arange(5 * n) // 5, np.arange(5 * n)] += 1
    table = basesheet.recall_table(scores, 5)
    assert table.loc["base model", "RSUM"] == 600
    chance = retrieval.evaluate(np.random.default_rng(3).random((n, 5 * n))).rsum
    assert table.loc["captions permuted", "RSUM"] < 3 * chance
    assert table.loc["chance (random scores)", "RSUM"] < 3 * chance


def test_splits_that_share_a_picture_are_found():
    dataset = SimpleNamespace(
        splits={"train": np.array([0, 1]), "test": np.array([1])}, captions=["a"] * 10,
        images=np.zeros((2, 1)), captions_per_image=5, names=["a.jpg", "b.jpg"], folder="data/x",
    )
    with pytest.raises(ValueError, match="b.jpg is in two splits"):
        datasheet.check_splits(dataset)
