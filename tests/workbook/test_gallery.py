"""The gallery and the answers in README.md: what is told, and that both are of the references."""

import json
import math
import re
import shutil

import pandas as pd
import pytest
from alignbook import ROOT
from alignbook.store.fingerprint import code_hash
from alignbook.workbook.publishing import answers, gallery, reference_results
from PIL import Image

EDGE = "; chosen at the edge of what was tried: a (b)"
NAN = float("nan")
FIRST = (9.0, 8.0, 10.0, 5, 0.01), (2.04, 1.0, 3.0, 5, 0.02), (NAN, NAN, NAN, 5, NAN)
CLAIMS = {  # by claim: exhibit, verdict; value, low, high, seeds and p of contrasts
    "chan-hard-coding": ("chan-T3", "reproduced", *FIRST),
    "comalign-clip": ("comalign-TI", "undecided", (-0.5, NAN, NAN, 1, NAN)),
    "gsl-against-ncr": ("gsl-F1", "not run"),
}


@pytest.fixture
def root(tmp_path):
    """A checkout with two references, of which the second has judged nothing."""
    for name in ("world-laptop", "flickr8k-laptop"):
        folder = tmp_path / "results/reference" / name
        for each in ("figures", "tables"):
            (folder / each).mkdir(parents=True)
        data, _, profile = name.partition("-")
        told = {"data": data, "profile": profile, "set": {"chan_steps": "5"}, "version": "v1"}
        told["starts"] = [{"seconds": 5400, "cores": 2, "machine": "Linux x86_64"}] * 2
        (folder / "about.json").write_text(json.dumps(told))
        known = CLAIMS if data == "world" else {}
        claims = [(key, f"{key} | said", *each[:2]) for key, each in known.items()]
        why = {"reproduced": "it holds; chosen at the edge of what was tried: a (b)"}
        claims = [
            (*each, why.get(each[3], "so"), "inf" * (each[3] == "undecided"), 5) for each in claims
        ]
        columns = ["claim", "says", "exhibit", "verdict", "why", "needed", "seeds"]
        pd.DataFrame(claims, columns=columns).to_csv(folder / "claims.csv", index=False)
        lines = [(key, "points", *x) for key, each in known.items() for x in each[2:]]
        columns = ["claim", "unit", "value", "low", "high", "seeds", "p"]
        lines = pd.DataFrame(lines, columns=columns).assign(
            contrast="a − b", reading="open", query_low=NAN, query_high=NAN, needed=NAN
        )
        lines.to_csv(folder / "contrasts.csv", index=False)
    timed = pd.DataFrame(
        [("chan-T3", row, "report", 0, row, 9, 30.0, 90.0) for row in ("visual-codebook", "max")],
        columns="exhibit row role seed run steps training_seconds seconds".split(),
    )
    timed.to_csv(tmp_path / "results/reference/world-laptop/timings.csv", index=False)
    for name in ("chan-T3", "chan-T3-training", "01-number-of-pictures"):
        image = tmp_path / f"results/reference/world-laptop/figures/{name}.png"
        Image.new("RGB", (9, 9)).save(image)
    tables = tmp_path / "results/reference/world-laptop/tables"
    (tables / "chan-T3.md").write_text(
        "**T3**\n\n| a   |   b |\n| :-- | ----: |\n| -1  |     2 |\n"
    )
    (tables / "chan-T3-differences.md").write_text("| a |\n")
    (tmp_path / "notebooks").symlink_to(ROOT / "notebooks")
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text(f"# a\n\n{gallery.BEGIN}\nold\n{gallery.END}\n\nrest\n")
    return tmp_path


def test_verdicts_are_counted_and_the_data_held_against_each_other(root):
    found = reference_results.references(root / "results/reference")
    head, _, *lines, _, both, _, apart = gallery._counted(found).splitlines()
    assert head == "| verdict | the synthetic world, laptop profile |"
    counted = f"claims that can be tested here. {gallery.COUNTED}"
    none = "Judged on no data so far: gsl-against-ncr."
    assert both == f"Decided on some data: 1 of 3 {counted} {none}"
    assert lines == ["| reproduced | 1 |", "| undecided | 1 |"]  # "not run" is no verdict
    assert apart.endswith("and not on Flickr8k: chan-hard-coding (reproduced; there not judged).")
    found[1].claims = found[0].claims.replace("reproduced", "contradicted")
    found[1].contrasts = found[0].contrasts
    head, _, *lines, _, both, _, said = gallery._counted(found).splitlines()
    world, photographs = "the synthetic world", "Flickr8k"
    assert head == f"| verdict | {world}, laptop profile | {photographs}, laptop profile |"
    assert lines == ["| reproduced | 1 | 0 |", "| undecided | 1 | 1 |", "| contradicted | 0 | 1 |"]
    assert said == (
        f"Decided on both {world} and {photographs}: 1 claim, 0 alike. Not alike: chan-hard-coding "
        f"(reproduced on {world}, contradicted on {photographs})."
    )
    assert gallery._counted(found[:1]).endswith(f"{gallery.COUNTED} {none}")  # one data set alone


def test_the_largest_profile_speaks_for_its_data(root):
    """A claim that the laptop decided and overnight leaves open is open; what overnight has not
    judged, the laptop's verdict counts for.
    """
    small, large = reference_results.references(root / "results/reference")
    large.about |= {
        "data": "world",
        "profile": "overnight",
        "notebooks": ["20_comalign", "40_gsl", "42_gsl_cost"],
    }
    assert answers.largest([small, large], "chan-hard-coding") == [small]
    large.claims, large.contrasts = small.claims.copy(), small.contrasts
    assert answers.largest([small, large], "chan-hard-coding") == [large]
    large.earlier = lambda claim: ["mask"]  # a method that has other settings today
    assert answers.largest([small, large], "chan-hard-coding") == [small]
    assert answers.largest([large], "chan-hard-coding") == [large]
    assert "(with earlier settings (mask)" in answers._told(large, "chan-hard-coding", [large])
    small.claims.loc[small.claims.claim == "chan-hard-coding", ["verdict", "why"]] = (
        "did not train",
        "rests on what did not train: a",
    )
    assert answers.largest([small, large], "chan-hard-coding") == [small]  # today's all the same
    small.claims = large.claims.copy()
    del large.earlier
    # what had not learnt does not speak, unless nothing else does
    for state, why in (
        ("did not train", "rests on what did not train: a"),
        ("undecided", "not trained: four times the steps raise a by 10 %"),
        ("undecided", "it points the right way, but not counted; four times the steps move a − b"),
        (
            "undecided",
            "it points the right way, but not counted; may turn, as the arm behind was still learning: a",
        ),
    ):
        large.claims.loc[large.claims.claim == "chan-hard-coding", ["verdict", "why"]] = state, why
        assert answers.largest([small, large], "chan-hard-coding") == [small]
        assert answers.largest([large], "chan-hard-coding") == [large]
    large.claims = small.claims.copy()
    large.claims["verdict"] = ["undecided", "reproduced", "not testable here"]
    said = f"Decided on some data: {{}} of 3 claims that can be tested here. {gallery.COUNTED}"
    other = " Other profiles decide otherwise: chan-hard-coding (reproduced on the synthetic "
    other += "world, laptop profile)."
    none = " Judged on no data so far: gsl-against-ncr."
    assert gallery._decided([small, large]) == said.format(1) + other + none
    large.claims.loc[1, ["verdict", "why"]] = "reproduced", "it holds; surely within ±2 %, the band"
    told = (
        "alone, within the claim's band: comalign-clip (reproduced on the synthetic world). Other"
    )
    assert told in gallery._decided([small, large])
    large.claims["verdict"] = ["not run", "reproduced", "not run"]
    large.claims["why"] = "so"
    assert gallery._decided([small, large]) == said.format(2) + none  # the laptop's too
    none = none.replace("gsl", "chan-hard-coding, gsl")
    assert gallery._decided([large]) == said.format(1) + none
    small.claims["verdict"] = large.claims["verdict"] = "on paper only"
    assert gallery._decided([small, large]).startswith("Decided on some data: 0 of 0 ")
    assert gallery._made(large).endswith(
        " at version v1, chan_steps = 5; so far only ComAlign (20), GSL (40, 42)"
    )
    assert "only" not in gallery._made(small)


def test_page_and_readme_are_written_once(root):
    assert gallery.write(root) == [root / "docs/gallery.md", root / "README.md"]
    assert gallery.write(root) == []
    readme = (root / "README.md").read_text()
    assert readme.startswith("# a\n\n<!--") and readme.endswith("-->\n\nrest\n")
    assert "old" not in readme
    assert (
        "profile: **reproduced**, +2.0 points [1.0, 3.0], 5 seeds (a − b: the least sure" in readme
    )
    page = (root / "docs/gallery.md").read_text()
    (row,) = [line for line in page.splitlines() if line.startswith("| chan-hard-coding")]
    value = f"**reproduced** +2.0 points [1.0, 3.0], 5 seeds (a − b: the least sure of 2 differences), 2 core-min{EDGE}"
    assert row == rf"| chan-hard-coding \| said `chan-hard-coding` | {value} | – |"
    assert "undecided −0.5 points, one seed; more than 200 seeds would be needed | – |" in page
    assert "| not run | – |" in page  # and where something was measured all the same
    lines = pd.read_csv(root / "results/reference/world-laptop/contrasts.csv")
    lines["claim"] = "gsl-against-ncr"
    lines.to_csv(root / "results/reference/world-laptop/contrasts.csv", index=False)
    gallery.write(root)
    assert "| run in part −0.5 points" in (root / "docs/gallery.md").read_text()
    (one, _) = reference_results.references(root / "results/reference")
    one.claims.loc[0, ["verdict", "why", "needed"]] = "undecided", "so", "8.0"
    one.hours = {"chan-hard-coding": 1.26}  # as `budget.to_decide` counts them
    told = gallery._claims(("chan-T3",), [one])
    assert told.endswith("undecided; about 8 seeds would decide it, 1.3 core-hours more |")
    one.claims.loc[0, "needed"], one.hours = "inf", {"chan-hard-coding": math.inf}
    assert "core-hours" not in gallery._claims(("chan-T3",), [one])
    one.hours = {"chan-hard-coding": 1.26}
    one.claims.loc[0, "verdict"] = "contradicted"
    assert "core-hours" not in gallery._claims(("chan-T3",), [one])
    one = reference_results.references(root / "results/reference")[0]
    assert one.found("gsl-against-ncr").endswith(
        "one seed (a − b: the least sure of 3 differences)"
    )  # no p, no certainty
    one.claims["verdict"] = "contradicted"
    assert one.found("gsl-against-ncr").endswith("one seed (a − b: the surest of 3 differences)")
    one.contrasts = one.contrasts.dropna(subset="p")
    assert one.found("gsl-against-ncr").startswith("+9.0 points")
    folder = "../results/reference/world-laptop"
    assert f"laptop profile]({folder}/figures/chan-T3.png)\n" in page
    of_curves = f": [chan-T3-training]({folder}/figures/chan-T3-training.png), "
    assert f"{of_curves}[chan-T3-differences]({folder}/tables/chan-T3-differences.md)." in page
    summary = "<details><summary>Table: chan-T3 on the synthetic world, laptop profile</summary>"
    table = "**T3**\n\n|a|b|\n|:--|--:|\n|-1|2|"
    assert f"\n\n{summary}\n\n{table}\n\n</details>\n\n" in page
    assert f": [01-number-of-pictures]({folder}/figures/01-number-of-pictures.png)." in page
    assert page.index("## 01 ") < page.index("## 11 ") and "## 12 " not in page
    assert "Linux x86_64, 2 cores, 3.0 hours, published at version v1, chan_steps = 5" in page


def test_contrasts_from_elsewhere_stand_beside_the_published_ones(root):
    (one, _) = reference_results.references(root / "results/reference")
    assert gallery._again(one) == ""
    numbers = {"value": -2.04, "low": -3.0, "high": -1.0, "seeds": 5, "reading": "contradicted"}
    again = {"value": 0.5, "low": -1.0, "high": 2.0, "seeds": 3, "reading": "undecided"}
    apart = {
        "difference": 2.54,
        "difference low": -0.1,
        "difference high": 4.0,
        "where": "X, 16 cores",
    }
    line = (
        {"claim": "a", "contrast": "b − c", "unit": "points"}
        | numbers
        | {f"{k} again": v for k, v in again.items()}
    )
    pd.DataFrame([line | apart]).to_csv(one.folder / "again.csv", index=False)
    said, _, head, _, row = gallery._again(one).splitlines()
    assert said.startswith(
        "Once more on X, 16 cores: 0 of 1 primary contrasts read alike. Not alike: a"
    )
    assert head == "| claim | the synthetic world, laptop profile | once more | apart by |"
    assert row == (
        "| a | −2.0 [−3.0, −1.0], 5 seeds: contradicted | 0.5 [−1.0, 2.0], 3 seeds: undecided | "
        "2.5 [−0.1, 4.0] |"
    )
    pd.DataFrame([line | apart | {"claim": "comalign-clip"}]).to_csv(one.folder / "again.csv")
    gallery.write(root)
    assert said.replace(" a (", " comalign-clip (") in (root / "docs/gallery.md").read_text()
    told = "; rerun: 0.5 [−1.0, 2.0], 3 seeds: undecided"
    assert (root / "docs/gallery.md").read_text().count(told) == 1
    assert told not in (root / "README.md").read_text()  # it reads alike


def test_levels_by_hand(root):
    found = reference_results.references(root / "results/reference")
    assert gallery._levels(found) == ""
    columns = ["exhibit", "row", "column", "seeds", "mean", "low", "high", "learnt"]
    lines = [
        ("chan-T3", "max", "RSUM", 1, 240.0, NAN, NAN, "still learning"),
        ("gsl-F1", "ncr-0.4", "RSUM", 5, 230.04, 220.0, 240.0, "did not train"),
        ("comalign-TI", "clip", "coco RSUM", 3, 240.0, 240.0, 240.0, "learnt"),
        ("base-models", "world-clip", "RSUM", 1, 250.0, NAN, NAN, "learnt"),
        ("chan-F4", "hard-4", "RSUM", 1, 250.0, NAN, NAN, "learnt"),
    ]
    pd.DataFrame(lines, columns=columns).to_csv(found[0].folder / "summary.csv", index=False)
    lines = [("chan-T3", "sum", "RSUM", 1, 250.0, NAN, NAN, "learnt")]
    pd.DataFrame(lines, columns=columns).to_csv(found[1].folder / "summary.csv", index=False)
    told = ["world test, 1400 images x 5 captions", "world B test, 30 images", "the higher of two"]
    metrics = pd.DataFrame({"protocol": told, "column": ["a", "b", "c"]}).assign(
        exhibit="chan-T3", row="max", value=1.0, seed=0
    )
    metrics.to_csv(found[0].folder / "metrics.csv", index=False)
    said, _, head, _, *rows = gallery._levels(
        reference_results.references(root / "results/reference")
    ).splitlines()
    assert said == gallery.LEVELS
    assert head.startswith("| RSUM on test | arm | the synthetic world, laptop profile | Flickr8k")
    assert rows == [
        "| base-models | *test pictures* | – | – |",
        "| base-models | world-clip | 250.0, 1 seed | – |",
        "| chan-T3 | *test pictures* | *1,400 of world A, 30 of world B* | – |",
        "| chan-T3 | max | 240.0†, 1 seed | – |",
        "| chan-T3 | sum | – | 250.0, 1 seed |",
        "| comalign-TI | *test pictures* | – | – |",
        "| comalign-TI | clip → coco | 240.0, one model | – |",
        "| gsl-F1 | *test pictures* | – | – |",
        "| gsl-F1 | ncr-0.4 | 230.0‡ [220.0, 240.0], 5 seeds | – |",
    ]


def test_runs_of_other_code_are_counted(root):
    (one, _) = reference_results.references(root / "results/reference")
    codes = [code_hash("alignbook.papers.chan.model")[:16], "of before", "of before"]
    pd.DataFrame({"run": list("abb"), "code": codes}).to_csv(one.folder / "runs.csv", index=False)
    assert gallery._made(one).endswith("; 1 of 2 runs are of other code than this version's")
    marks = f"{gallery.BEGIN}\n{gallery.END}"
    said = "by earlier versions of the code, in part or whole: the synthetic world, laptop profile."
    assert said in gallery.with_answers(marks, [one])
    pd.DataFrame({"run": ["a"], "code": codes[:1]}).to_csv(one.folder / "runs.csv", index=False)
    assert gallery._made(one).endswith("chan_steps = 5")
    assert "earlier" not in gallery.with_answers(marks, [one])


def test_of_a_data_set_the_largest_profile_is_the_last(root):
    folder = root / "results/reference"
    for name in ("world-overnight", ".world-laptop-new"):
        shutil.copytree(folder / "world-laptop", folder / name)
    told = json.loads((folder / "world-overnight/about.json").read_text())
    (folder / "world-overnight/about.json").write_text(json.dumps(told | {"profile": "overnight"}))
    found = [one.folder.name for one in reference_results.references(folder)]
    assert found == ["world-laptop", "world-overnight", "flickr8k-laptop"]


@pytest.mark.parametrize("marks", ("", gallery.BEGIN, gallery.END, 2 * gallery.BEGIN + gallery.END))
def test_a_readme_without_its_marks_is_left_alone(root, marks):
    (root / "README.md").write_text(f"# a\n{marks}\nrest\n")
    with pytest.raises(ValueError, match="README.md: expected"):
        gallery.write(root)
    assert (root / "README.md").read_text() == f"# a\n{marks}\nrest\n"


def test_without_a_reference_nothing_is_written(root):
    for file in root.glob("results/reference/*/claims.csv"):
        file.unlink()
    assert gallery.write(root) == [] and not (root / "docs/gallery.md").exists()


def test_the_repository_s_gallery_is_of_its_references():
    """`python -m alignbook.workbook.publishing.gallery` mends it."""
    found = reference_results.references()
    for data in {one.about["data"] for one in found}:
        own = [one.folder for one in found if one.about["data"] == data]
        files = [path for folder in own for path in folder.rglob("*") if path.is_file()]
        assert sum(path.stat().st_size for path in files) <= 6e6, data
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert readme.count(gallery.BEGIN) == readme.count(gallery.END) == 1
    assert (ROOT / gallery.PAGE).exists() == bool(found)
    if found:
        page = (ROOT / gallery.PAGE).read_text(encoding="utf-8")
        assert page == gallery.page(found) and readme == gallery.with_answers(readme, found)
        for link in re.findall(r"\]\((\.\./[^)]+)\)", page):
            assert (ROOT / "docs" / link).exists(), link


def test_what_no_profile_makes_on_some_data_is_said(root):
    world, photographs = reference_results.references(root / "results/reference")
    for one in (world, photographs):
        one.claims = world.claims.head(1).assign(
            claim="chan-more-regions", exhibit="chan-F4", verdict="not run", why="missing"
        )
    (row,) = gallery._claims(("chan-F4",), [world, photographs]).splitlines()[2:]
    assert row.endswith("| not run | not made on these data |")
    photographs.contrasts = world.contrasts.head(1).assign(claim="chan-more-regions")
    (row,) = gallery._claims(("chan-F4",), [photographs]).splitlines()[2:]
    assert "| not made whole on these data +" in row


def test_figures_that_compare_something_are_shown_and_the_others_linked(root):
    folder = root / "results/reference/world-laptop"
    for name in ("gsl-noise", "chan-shapes", "chan-F4", "comalign-F6"):
        shutil.copy(folder / "figures/chan-T3.png", folder / f"figures/{name}.png")
    rows = [("chan-F4", "hard-4"), ("comalign-F6", "comalign"), ("chan-T3", "a"), ("chan-T3", "b")]
    for name in ("chan-T3-5K", "chan-T3-more", "chan-F4"):  # the last with one arm
        shutil.copy(folder / "tables/chan-T3.md", folder / f"tables/{name}.md")
    metrics = pd.DataFrame(rows, columns=["exhibit", "row"])
    metrics.assign(column="RSUM", seed=0, value=1.0, protocol="").to_csv(folder / "metrics.csv")
    page = gallery.page(reference_results.references(root / "results/reference"))
    assert re.findall(r"!\[(\S+) on", page) == ["chan-T3", "comalign-F6", "gsl-noise"]
    linked = {"chan-F4", "chan-shapes", "chan-T3-training", "01-number-of-pictures"}
    linked |= {"chan-T3-differences", "chan-T3-more"}
    assert re.findall(r"<summary>Table: (\S+) on", page) == ["chan-T3-5K", "chan-T3"]
    assert {*re.findall(r"(?<!!)\[([^] ]+)\]\(\S+laptop/\S+\)", page)} == linked
