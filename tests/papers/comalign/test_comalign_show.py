"""What ComAlign's notebooks show: the library's numbers in a picture, gains, and Figure 7."""

import math

import pandas as pd
import pytest
import torch
from alignbook.core.similarity import fine_grained_matching, unit
from alignbook.evidence import printed_tables
from alignbook.papers.comalign import catalogue, show
from alignbook.show import figures, run_tables, tables
from alignbook.workbook import results


def texts(figure):
    return [text.get_text() for text in figure.axes[0].texts]


def test_the_picture_of_matching_has_the_librarys_numbers():
    regions = torch.tensor([[3.0, 4.0], [1.0, 0.0], [0.0, 2.0]])
    phrases = torch.tensor([[4.0, 3.0], [1.0, 5.0]])
    drawn = texts(show.matching(regions.numpy(), phrases.numpy()))
    there, back = fine_grained_matching(unit(regions)[None], unit(phrases)[None])
    assert there.item() != back.item()
    assert f"{there.item():.2f}" in drawn and f"{back.item():.2f}" in drawn
    assert "(B₁, B₂, C, C′)" in drawn and "mean over C′\nEq. 2" in drawn


def metrics_of(rows) -> pd.DataFrame:
    """Metrics of Table I from (row, seed, value), of one column."""
    made = pd.DataFrame(rows, columns=["row", "seed", "value"])
    return made.assign(exhibit="comalign-TI", column="coco i2t R@1")


def test_gains_are_over_the_one_base_model_seed_by_seed():
    rows = [("clip", 0, 50.0), ("clip", 1, 50.0), ("clip+comalign", 0, 55.0)]
    rows += [("clip+comalign", 1, 58.0), ("coca", 0, 60.0)]
    found = show.with_gains(metrics_of(rows))
    gains = found[found.row.str.endswith(" gain")]
    assert gains[["row", "seed", "value"]].values.tolist() == [
        ["clip gain", 0, 5.0],
        ["clip gain", 1, 8.0],
    ]
    assert len(found) == len(rows) + 2
    published = metrics_of(rows).rename(columns={"value": "mean"})
    published.attrs["note"] = "Published."
    known = show.with_gains(published, "mean")
    assert known[known.row == "clip gain"]["mean"].tolist() == [5.0, 8.0]
    assert known.attrs == {"note": "Published."}


def test_table_1_has_gains_the_rival_and_an_interval_where_a_claim_rests():
    printed = printed_tables.table("comalign-TI")
    rows = run_tables.with_the_rest(printed, catalogue.ROWS["comalign-TI"])
    rows_of = [("clip", 0, 50.0), ("clip+comalign", 0, 55.0), ("clip+comalign", 1, 59.0)]
    summary = results.summarise(show.with_gains(metrics_of(rows_of)))
    claimed = ("i2t R@1", "t2i R@1")
    table = tables.beside_paper(summary, printed, rows, prefix="coco ", claimed=claimed)
    lines = table.set_index(("", "row"))
    gain = lines.loc["CLIP-ViT-B/32 relative gain", "i2t R@1"]
    assert gain["paper"] == 5.6 and gain["ours"] == 7
    assert gain["±"] == pytest.approx(12.7062 * 8**0.5 / 2**0.5)  # t of one degree, two seeds
    rival = lines.loc["PyramidCLIP-ViT-B/32", "t2i R@1"]
    assert rival["paper"] == 39.64 and math.isnan(rival["ours"])
    assert ("i2t R@5", "±") not in table and ("t2i R@1", "±") in table


def test_figure_7_has_a_panel_a_setting_and_both_directions_in_it():
    rows = ["×1", "coefficient ×4", "learning rate ×0.5", "steps ×2", "batch ×2"]
    lines = [(row, way, 0, 10.0) for row in rows for way in ("image to text", "text to image")]
    found = pd.DataFrame(lines, columns=["row", "column", "seed", "value"])
    found.loc[found.row == "steps ×2", "value"] = 30.0
    found["learnt"] = found.row.map({"batch ×2": "did not train"}).fillna("learnt")
    drawn = show.setting_lines(found)
    assert len(drawn) == 2 * (4 + 4)
    assert drawn[drawn.mark == " ‡"][["setting", "factor"]].values.tolist() == [["batch", 2]] * 2
    steps = drawn[(drawn.setting == "steps") & (drawn.direction == "text to image")]
    assert steps[["factor", "sum of recalls on dev"]].values.tolist() == [[1, 10.0], [2, 30.0]]
    figure = figures.panels(drawn, "times the profile's own", "")
    assert [axis.get_title("left") for axis in figure.axes] == list(drawn.setting.unique())
    assert all(len(axis.lines) == 2 for axis in figure.axes)
    marked = [
        (axis.get_title("left"), text.get_text()) for axis in figure.axes for text in axis.texts
    ]
    assert marked == [("batch", "‡")] * 2
