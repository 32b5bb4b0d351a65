"""Reference results: what lies outside of a rerun's interval, and what may be published."""

import gzip
import io
import json
import math
import os
import re
import shutil
import subprocess
from types import SimpleNamespace

import pandas as pd
import pytest
from alignbook.evidence import learnt
from alignbook.show import curves, figures, tables
from alignbook.store import runs
from alignbook.workbook import chapters, exhibits, results
from alignbook.workbook.publishing import compared, judged, parts, published
from PIL import Image, PngImagePlugin

FOLDERS = sorted(published.REFERENCE.glob("[!.]*/"))
T = 4.302653  # Student's t of 2 degrees of freedom at 97.5 %


def metrics(values: dict, n: int = 1000) -> pd.DataFrame:
    """metrics.csv of rows of chan-T3: RSUM by seed."""
    lines = [
        ("chan-T3", row, "RSUM", "test RSUM", seed, value, n)
        for row, seeds in values.items()
        for seed, value in enumerate(seeds)
    ]
    return pd.DataFrame(lines, columns=[*compared.ROW, "metric", "seed", "value", "n"])


def test_a_folder_without_numbers_is_named(tmp_path):
    (tmp_path / "metrics.csv").write_text("exhibit,profile\n")
    (tmp_path / "runs.csv").write_text("exhibit,arm\n")
    with pytest.raises(ValueError, match=r"metrics\.csv: no numbers"):
        judged.of_folder(tmp_path)


def test_the_interval_of_a_rerun_by_hand():
    """Three seeds of mean 2 and s = 1 there: one seed here lies within 2 ± 4.30 · √(1/3 + 1)."""
    there = metrics({"sum": [1.0, 2.0, 3.0]})
    (line,) = compared.compare(metrics({"sum": [2.0]}), there).itertuples()
    half = T * math.sqrt(1 / 3 + 1)
    assert (line.low, line.high) == pytest.approx((2 - half, 2 + half), abs=1e-4)
    for value, outside in (
        (2 + half - 0.01, False),
        (2 + half + 0.01, True),
        (2 - half - 0.01, True),
    ):
        assert compared.compare(metrics({"sum": [value]}), there).outside.item() is outside
    (line,) = compared.compare(metrics({"sum": [2.0, 2.0, 2.0]}), there).itertuples()
    assert line.high == pytest.approx(2 + T * math.sqrt(2 / 3), abs=1e-4)


def test_more_numbers_have_wider_intervals():
    one = compared.compare(metrics({"a": [0.0]}), metrics({"a": [1.0, 2.0, 3.0]}))
    many = {name: [1.0, 2.0, 3.0] for name in "abcde"}
    five = compared.compare(metrics({name: [0.0] for name in "abcde"}), metrics(many))
    assert (five.high > one.high.item()).all()


def test_a_query_is_no_difference_and_two_are():
    """Where nothing is random all seeds are equal; another machine may exchange two neighbours. Of
    RSUM a sixth of the queries are images: one of 100 moves a recall, and so the sum, by a point.
    """
    for column, there, one, two in (
        ("RSUM", 50.0, 51.0, 52.0),
        ("t2i R@1", 50.0, 50.16, 50.34),
        ("AUC", 0.5, 0.5016, 0.5034),
    ):
        same = metrics({"base": [there] * 3}, n=600).assign(column=column)
        for value, outside in ((one, False), (two, True)):
            ours = metrics({"base": [value]}, n=600).assign(column=column)
            assert compared.compare(ours, same).outside.item() is outside


def test_what_one_side_lacks_or_knows_of_one_seed_is_not_compared():
    there = metrics({"a": [1.0, 2.0], "once": [1.0], "theirs": [1.0, 2.0]})
    found = compared.compare(metrics({"a": [1.0], "once": [9.0], "ours": [9.0]}), there)
    assert list(found.row) == ["a"]


@pytest.fixture
def out(tmp_path):
    """A whole results folder in small."""
    out = tmp_path / "results/flickr8k-laptop"
    for name in ("notebooks", "tables", "figures", "efficiency"):
        (out / name).mkdir(parents=True)
    for name in exhibits.resolve([], "flickr8k"):
        (out / f"notebooks/{name}.done").touch()
    for name in (*published.NUMBERS, *published.VERDICTS):
        metrics({"sum": [1.0, 2.0, 3.0]}).to_csv(out / f"{name}.csv", index=False)
    (out / "efficiency/chan-F3.csv").write_text("model,ms\nhard,2\n")
    rows = "| row | seeds |\n| :-- | ----: |\n| a | {} |\n"
    (out / "tables/chan-T3.md").write_text(rows.format(3))
    (out / "tables/chan-F4.md").write_text(rows.format(0))
    shown = "| caption |\n| --- |\n" + r"| a \*dog runs over the green\_grass\. |"
    (out / "tables/02-captions.md").write_text(shown)
    (out / "tables/44.md").write_text("a 0.03 · dog 0.10 · runs 0.30 · over 0.0 · the −0.1 · …")
    (out / "tables/explorer-captions.md").write_text("green grass")
    (out / "tables/maps.md").write_text(
        "| picture | phrase      |\n| --- | --- |\n| 1 | green grass |\n"
    )
    for name in ("chan-T3", "02-pictures", "chan-F5", "chan-F4", "chan-F3"):
        said = PngImagePlugin.PngInfo()
        if name != "chan-F3":  # of an earlier version
            said.add_text(figures.CONTENT, "pictures" if "pictures" in name else "numbers")
        image = Image.new("RGB", (1800, 400), "white")
        image.save(out / f"figures/{name}.png", pnginfo=said)
        (out / f"figures/{name}.csv").write_text("x,y\n1,2\n")
    for name, value in (("chan-T3", 2 / 3), ("chan-T1", 12345.678)):
        points = f"arm,seed,state,curve,step,value\nhard,0,learnt,dev,17.5,{value}\n"
        (out / f"figures/{name}-training.csv").write_text(points)
    (out / "figures/chan-F5.csv").write_text("A dog runs over the green grass .,1\n")
    (out / "figures/chan-F4.csv").unlink()
    shutil.copy(out / "figures/chan-T3.png", out / "figures/gsl-T1.png")
    (out / "figures/gsl-T1.csv").write_text("label,mean,paper\nx,,1\n")
    said = {"profile": "laptop", "data": "flickr8k=/home/somebody/flickr8k", "seeds": None}
    said["set"] = {"bert": "/home/somebody/weights", "chan_steps": "5"}
    (out / "settings.json").write_text(json.dumps(said))
    start = {"seconds": 9.0, "cores": 2, "machine": "Linux x86_64", "jobs": {}}
    (out / "starts.json").write_text(json.dumps([start]))
    return out


CAPTIONS = ["A dog runs over the green grass .", "A dog ."]


def test_numbers_tables_and_drawn_numbers_are_published(out, tmp_path):
    to = tmp_path / "reference/flickr8k-laptop"
    left = published.publish(out, to, True, CAPTIONS)
    there = {str(path.relative_to(to)) for path in to.rglob("*") if path.is_file()}
    wanted = {f"{name}.csv" for name in (*published.NUMBERS, *published.VERDICTS)} - {"runs.csv"}
    wanted |= {"about.json", "curves.csv.gz", "runs.csv.gz"}
    wanted |= {"efficiency/chan-F3.csv", "tables/chan-T3.md"}
    assert there == wanted | {"figures/chan-T3.png", "figures/chan-F4.png"}
    assert left == [
        "tables/02-captions.md: captions",
        "tables/44.md: captions",
        "tables/chan-F4.md: no number of ours",
        "tables/explorer-captions.md: captions",
        "tables/maps.md: captions",
        "figures/02-pictures.png: pictures",
        "figures/chan-F3.png: pictures",
        "figures/chan-F5.png: captions",
        "figures/gsl-T1.png: no number of ours",
    ]
    assert gzip.decompress((to / "curves.csv.gz").read_bytes()).decode().splitlines() == [
        "exhibit,arm,seed,curve,step,value",
        "chan-T1,hard,0,dev,17.5,12346",
        "chan-T3,hard,0,dev,17.5,0.66667",
    ]
    with Image.open(to / "figures/chan-T3.png") as image:
        assert image.size == (800, 178)
    told = (to / "about.json").read_text()
    assert "somebody" not in told and json.loads(told)["data"] == "flickr8k"
    assert json.loads(told)["set"] == {"bert": "weights", "chan_steps": "5"}
    assert json.loads(told)["notebooks"] == "all"


def test_of_the_world_pictures_are_published_too(out, tmp_path):
    to = tmp_path / "reference/world-laptop"
    (out / "figures/gsl-T1.csv").write_text("label,mean,paper\nx,,1\ny,2,1\n")
    left = published.publish(out, to, False, CAPTIONS)
    assert left == ["tables/chan-F4.md: no number of ours"]
    assert (to / "figures/02-pictures.png").exists() and (to / "tables/02-captions.md").exists()


def test_what_may_not_be_published_leaves_what_was_there(out, tmp_path, monkeypatch):
    to = tmp_path / "reference/flickr8k-laptop"
    published.publish(out, to, False)
    (to / "mark").touch()

    def refused(said):
        with pytest.raises(ValueError, match=said):
            published.publish(out, to, False)
        assert (to / "mark").exists() and [*to.parent.iterdir()] == [to]

    monkeypatch.setattr(published, "MOST", 1000)
    refused("MB with what else is published")
    monkeypatch.undo()
    (out / "tables/chan-T3.md").write_text(
        "Reference: the published results of the laptop profile, or else of the overnight profile "
        "(1,000 test images)."
    )
    refused("chan-T3.md shows the reference that this would replace; remove")
    (out / "tables/chan-T3.md").write_text(
        "Reference: the published results of the overnight profile."
    )
    for path in (out / "notebooks").glob("*.done"):
        if parts.paper(path.stem):
            path.unlink()
    refused("no notebook of a paper is done")
    said = json.loads((out / "settings.json").read_text())
    (out / "settings.json").write_text(json.dumps(said | {"profile": "overnight"}))
    refused("expected results/flickr8k-overnight")
    (out / "settings.json").write_text(json.dumps(said | {"profile": "smoke"}))
    out = out.rename(out.with_name("flickr8k-smoke"))
    refused("expected results/flickr8k-smoke, of a profile that decides something")


def without(out, *papers):
    """Take away that notebooks of some papers, and those of all of them, are done."""
    for path in (out / "notebooks").glob("*.done"):
        if exhibits.chapter(path.stem) in (*papers, "claims", "start"):
            path.unlink()


def numbers_of(out):
    """GSL's primary contrast, reversed, and an exhibit of CHAN that is there by itself."""
    lines = metrics({"gsl-0.4": [1.0, 2.0, 3.0], "ncr-0.4": [11.0, 12.1, 13.0]})
    lines = lines.assign(exhibit="gsl-F1")
    lines = pd.concat(
        [lines, metrics({"visual-codebook": [9.0, 9.1], "cross-attention": [1.0, 1.2]})]
    )
    lines.assign(profile="laptop", learnt="learnt").to_csv(out / "metrics.csv", index=False)
    columns = ["exhibit", "row", "role", "seed", "dev_rsum", "learnt", "config"]
    pd.DataFrame(columns=columns).to_csv(out / "runs.csv", index=False)
    for exhibit in ("gsl-F1", "chan-T3"):
        (out / "arms" / exhibit).mkdir(parents=True)
        for path in (out / "arms" / exhibit / "a.csv", out / "metrics.csv"):
            path.touch()


def test_chapters_are_published_before_the_whole(out, tmp_path):
    """By what is there of them: claims.csv and the rest of the folder may be an earlier start's."""
    for name in ("claims.csv", "contrasts.csv"):  # notebook 90 has not judged yet
        (out / name).unlink(missing_ok=True)
    to = tmp_path / "reference/flickr8k-laptop"
    without(out, "chan", "comalign", "covalign")
    numbers_of(out)
    shutil.copy(out / "tables/chan-T3.md", out / "tables/gsl-T1.md")
    shutil.copy(out / "tables/chan-T3.md", out / "tables/claims.md")
    (out / "timings.csv").write_text("exhibit,seconds\nchan-T3,1\ngsl-F1,0.10\n")
    (out / "tables/gsl-T1-quoted.md").write_text("A dog runs over the green grass")
    left = published.publish(out, to, True, CAPTIONS)
    assert left == ["tables/gsl-T1-quoted.md: captions", "figures/gsl-T1.png: no number of ours"]
    there = {str(path.relative_to(to)) for path in to.rglob("*") if path.is_file()}
    wanted = {f"{name}.csv" for name in (*published.NUMBERS, *published.VERDICTS)} - {"runs.csv"}
    packed = {"curves.csv.gz", "runs.csv.gz"}
    assert there == wanted | packed | {"about.json", "tables/gsl-T1.md"}
    assert {*pd.read_csv(to / "metrics.csv").exhibit} == {"gsl-F1"}
    assert (to / "timings.csv").read_text() == "exhibit,seconds\ngsl-F1,0.10\n"
    assert gzip.decompress((to / "curves.csv.gz").read_bytes()) == b""
    made = json.loads((to / "about.json").read_text())["notebooks"]
    assert made == parts.of_folder(out) and {*map(parts.paper, made)} == {"gsl"}
    said = pd.read_csv(to / "claims.csv").set_index("claim").verdict
    assert said["gsl-against-ncr"] == "contradicted" and said["chan-hard-coding"] == "not run"
    contrasts = pd.read_csv(to / "contrasts.csv")
    (line,) = contrasts[contrasts.claim == "gsl-against-ncr"].itertuples()
    assert line.seeds == 3 and line.value == pytest.approx(-10.0333, abs=1e-4)


def test_numbers_of_an_earlier_start_are_not_published(out, tmp_path):
    to = tmp_path / "reference/flickr8k-laptop"
    without(out, "chan", "comalign", "covalign")
    numbers_of(out)
    published.publish(out, to, False)

    def refused(said):
        with pytest.raises(ValueError, match=f"{said}; ./run_all.sh 40_gsl 41.* gathers them"):
            published.publish(out, to, False)
        assert (to / "claims.csv").exists()

    (out / "arms/gsl-T1").mkdir()
    refused("no number of gsl-T1 in metrics.csv")
    (out / "arms/gsl-T1").rename(out / "arms/chan-T1")  # of a chapter that is not whole
    published.publish(out, to, False)
    (out / "arms/base-models").mkdir()  # trained for others, and not shown
    published.publish(out, to, False)
    later = (out / "metrics.csv").stat().st_mtime + 5
    os.utime(out / "arms/gsl-F1/a.csv", (later, later))
    refused("metrics.csv is older than the runs of gsl-F1")
    (out / "metrics.csv").unlink()
    refused("metrics.csv missing")


def test_a_chapter_is_whole_without_what_its_settings_leave_out(out):
    """comalign-TII, which notebook 21 shows, needs probes."""
    (out / "notebooks/21_comalign_compositional.done").unlink()
    assert parts.is_whole(out)
    assert [*dict.fromkeys(map(parts.paper, parts.of_folder(out)))] == [*chapters.PAPERS]
    (out / "notebooks/21_comalign_compositional.done").touch()  # of other settings, before
    assert "21_comalign_compositional" not in parts.of_folder(out)
    (out / "notebooks/21_comalign_compositional.done").unlink()
    said = json.loads((out / "settings.json").read_text())
    said["set"]["probes"] = "svo=somewhere"
    (out / "settings.json").write_text(json.dumps(said))
    assert not parts.is_whole(out)
    assert "21_comalign_compositional" not in parts.of_folder(out)
    assert "20_comalign" in parts.of_folder(out)


def test_all_that_is_published_of_a_data_set_counts(out, tmp_path, monkeypatch):
    to = tmp_path / "reference/flickr8k-laptop"
    published.publish(out, to, False)
    monkeypatch.setattr(published, "MOST", int(1.5 * published._size(to)))
    published.publish(out, to, False)  # instead of itself
    to.rename(to.with_name("world-laptop"))
    published.publish(out, to, False)
    to.rename(to.with_name("flickr8k-overnight"))
    with pytest.raises(ValueError, match="MB with what else is published of flickr8k"):
        published.publish(out, to, False)


def test_the_command_lists_what_lies_outside(tmp_path, capsys):
    here, there = tmp_path / "here", tmp_path / "there"
    for folder, value in ((here, 2.0), (there, 0.0)):
        folder.mkdir()
        found = {"sum": [1.0 + value, 2.0, 3.0], "max": [50 + 30 * value, 50.1, 50.2]}
        metrics(found).to_csv(folder / "metrics.csv", index=False)
    assert compared.compare_main([str(here), "--reference", str(there)]) == 1
    said = capsys.readouterr().out
    assert "max" in said and "sum" not in said and "1 of 2 numbers lie outside" in said
    assert compared.compare_main([str(there), "--reference", str(there)]) == 0
    assert compared.compare_main([str(there), "--reference", str(tmp_path / "none")]) == 2
    assert "metrics.csv: not there" in capsys.readouterr().err
    for folder, codes in ((here, "abx"), (there, "abc")):
        told = [("chan-T3", "sum", "report", seed, code) for seed, code in enumerate(codes)]
        columns = ["exhibit", "row", "role", "seed", "code"]
        pd.DataFrame(told, columns=columns).to_csv(folder / "runs.csv", index=False)
    (there / "about.json").write_text('{"version": "v7"}')
    for folder, verdicts_ in ((here, "reproduced undecided not_run"), (there, "undecided " * 3)):
        said = [each.replace("_", " ") for each in verdicts_.split()]
        told = pd.DataFrame({"claim": ["first", "second", "third"], "verdict": said})
        told.to_csv(folder / "claims.csv", index=False)
    assert compared.compare_main([str(here), "--reference", str(there)]) == 1
    told = capsys.readouterr().out
    assert "1 of 3 runs are of other code than the reference's, which is of version v7" in told
    assert "another verdict here: 1 of the claims" in told and "second" not in told
    assert "first undecided reproduced" in " ".join(told.split())
    same = ["--reference", str(there)]
    assert compared.compare_main([str(there), *same]) == 0  # verdicts differ from nothing here
    assert "one seed" not in capsys.readouterr().out
    lines = pd.read_csv(there / "metrics.csv")
    lines.drop(lines.index[lines.row == "max"][1:]).to_csv(there / "metrics.csv", index=False)
    assert compared.compare_main([str(here), *same]) == 0
    assert "0 of 1 numbers lie outside" in (told := capsys.readouterr().out)
    assert "; 1 more have one seed there" in told
    (there / "metrics.csv").write_text("a,b\n1,2\n")
    assert compared.compare_main([str(here), *same]) == 2
    assert "without" in capsys.readouterr().err


def test_results_without_a_reference_of_their_name_are_told_which_there_are(
    tmp_path, monkeypatch, capsys
):
    (tmp_path / "reference/world-laptop").mkdir(parents=True)
    monkeypatch.setattr(compared, "REFERENCE", tmp_path / "reference")
    assert compared.compare_main([str(tmp_path / "world-smoke")]) == 2
    told = capsys.readouterr().err
    assert "world-smoke: nothing is published under this name; there are: world-laptop." in told


def test_the_reference_s_verdicts_are_those_of_the_profile_or_of_a_larger_one(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(published, "REFERENCE", tmp_path)
    book = SimpleNamespace(kind="world", profile=SimpleNamespace(name="laptop"), out=tmp_path / "-")
    assert published.verdicts(book) == {}
    for name, told in (
        ("world-laptop", {"a": "undecided", "b": "not run", "c": "not run"}),
        ("world-overnight", {"a": "reproduced", "b": "contradicted", "c": "not run"}),
        ("flickr8k-laptop", {"c": "reproduced"}),
    ):
        before = published.verdicts(book)
        (tmp_path / name).mkdir()
        (tmp_path / name / "summary.csv").write_text("")
        assert published.verdicts(book) == before  # numbers without verdicts
        lines = pd.DataFrame({"claim": told.keys(), "verdict": told.values()})
        lines.to_csv(tmp_path / name / "claims.csv", index=False)
    assert published.verdicts(book) == {"a": "undecided", "b": "contradicted"}
    book.profile.name = "smoke"
    assert published.verdicts(book) == {"a": "reproduced", "b": "contradicted"}


def test_published_differences_stand_after_ours(tmp_path, monkeypatch):
    """Each from its profile's folder, or else from a larger one's; what is not asked for tells nothing."""
    monkeypatch.setattr(published, "REFERENCE", tmp_path)
    book = SimpleNamespace(kind="world", profile=SimpleNamespace(name="laptop"))
    asked = [("a", "x − y"), ("a", "y − z"), ("b", "x − y")]
    ours = pd.DataFrame(asked, columns=["claim", "contrast"]).assign(value=9.0, p=0.5)
    assert published.differences(book, ours) is ours
    for name, lines in (
        ("laptop", [("a", "x − y", 1.0), ("a", "y − z", math.nan), ("c", "x − y", 7.0)]),
        ("overnight", [("a", "x − y", 2.0), ("a", "y − z", 3.0), ("b", "x − y", 60.0)]),
        ("gpu", [("c", "x − y", 4.0)]),
    ):
        (tmp_path / f"world-{name}").mkdir()
        (tmp_path / f"world-{name}/summary.csv").touch()
        told = pd.DataFrame(lines, columns=["claim", "contrast", "value"])
        told["unit"] = told.claim.map({"b": "s"}).fillna("points")
        told.to_csv(tmp_path / f"world-{name}/contrasts.csv", index=False)
    found = published.differences(book, ours)
    assert list(found) == ["claim", "contrast", "value", "reference", "p"]
    assert found.reference.tolist()[:2] == [1.0, 3.0] and math.isnan(found.reference[2])
    assert found.attrs["note"] == (
        "Reference: the published results of the laptop profile, or else of the overnight profile."
    )
    assert "reference" not in ours


def test_the_reference_of_an_exhibit_is_that_of_its_profile(tmp_path, monkeypatch):
    """And in smoke of the largest."""
    monkeypatch.setattr(published, "REFERENCE", tmp_path)
    book = SimpleNamespace(kind="world", profile=SimpleNamespace(name=""), out=tmp_path / "-")

    def numbers(profile, exhibit="chan-T3", kind="world"):
        book.kind, book.profile.name = kind, profile
        found = published.numbers(book, exhibit)
        return None if found is None else found["mean"].tolist()

    assert numbers("laptop") is None
    for name, mean in (("smoke", 0.0), ("laptop", 1.0), ("overnight", 2.0)):
        (tmp_path / f"world-{name}").mkdir()
        lines = [("chan-T3", "sum", "RSUM", mean), ("chan-T1", "sum", "RSUM", 9.0)]
        told = pd.DataFrame(lines, columns=["exhibit", "row", "column", "mean"])
        told.to_csv(tmp_path / f"world-{name}/summary.csv", index=False)
    assert numbers("laptop") == [1.0] and numbers("smoke") == numbers("overnight") == [2.0]
    assert numbers("gpu") is None
    lines = [("chan-F3", "sum", "RSUM", 5.0)]
    told = pd.DataFrame(lines, columns=["exhibit", "row", "column", "mean"])
    told.to_csv(tmp_path / "world-overnight/summary.csv", index=False)  # a part
    assert numbers("smoke") == [1.0] and numbers("smoke", "chan-F3") == [5.0]
    assert numbers("overnight") is None
    assert numbers("laptop", "chan-F3") == [5.0]  # which it trains nothing for
    assert numbers("laptop", "chan-F4") is None and numbers("laptop", kind="flickr8k") is None
    lines = [("chan-T3", row, "RSUM", mean) for row, mean in (("sum", 3.0), ("max", 4.0))]
    told = pd.DataFrame(lines, columns=["exhibit", "row", "column", "mean"])
    told.to_csv(tmp_path / "world-overnight/summary.csv", index=False)
    assert numbers("laptop") == [1.0, 4.0] and numbers("smoke") == [3.0, 4.0]
    book.profile.name = "laptop"
    found = published.numbers(book, "chan-T3")
    assert found.attrs["note"] == (
        "Reference: the published results of the laptop profile, or else of the overnight profile."
    )
    protocols = ("world test, 1000 images x 5 captions, ties", "world B test, 400 images x 5")
    told = pd.DataFrame({"exhibit": ["chan-T3", "chan-T1"], "protocol": protocols})
    told.to_csv(tmp_path / "world-overnight/metrics.csv", index=False)
    found = published.numbers(book, "chan-T3")  # another exhibit's test set is no matter
    assert found.attrs["note"].endswith(", or else of the overnight profile (1,000 test images).")
    table = tables.beside_paper(
        pd.DataFrame(columns=["row", "column", "mean", "low", "high", "seeds"]),
        pd.DataFrame(columns=["group", "row", "column", "value", "mark"]),
        (("", "sum", "sum"), ("", "max", "max")),
        columns=("RSUM",),
        reference=found,
    )
    assert table["RSUM", "reference"].tolist() == [1.0, 4.0]
    tables.save(table, tmp_path, "chan-T3", "caption", "Note.")
    assert f"Note. {found.attrs['note']}\n" in (tmp_path / "tables/chan-T3.md").read_text()
    assert f"Note. {found.attrs['note']}" in tables.show(table, "caption", "Note.").to_html()


def test_what_the_report_says_of_the_reference(tmp_path, monkeypatch):
    monkeypatch.setattr(published, "REFERENCE", tmp_path / "reference")
    there, out = tmp_path / "reference/world-laptop", tmp_path / "world-laptop"
    there.mkdir(parents=True), out.mkdir()
    for name in ("summary", "metrics"):
        metrics({"sum": [1.0, 2.0, 3.0]}).to_csv(there / f"{name}.csv", index=False)
    book = SimpleNamespace(kind="world", profile=SimpleNamespace(name="laptop"), out=out)
    assert published.said(book) == ""  # nothing of ours so far
    for value, outside in ((2.0, 0), (99.0, 1)):
        metrics({"sum": [value]}).to_csv(out / "metrics.csv", index=False)
        assert 'href="../../reference/world-laptop/"' in published.said(book)
        assert "Of 1 numbers" in published.said(book) and f", {outside} lie" in published.said(book)
    book.profile.name = "smoke"
    assert "of the laptop profile" in published.said(book)
    shutil.copytree(there, there.with_name("world-overnight"))
    assert "of the overnight or else the laptop profile" in published.said(book)
    book.profile.name, book.out = "laptop", tmp_path / "world-laptop-1a2b3c"  # other settings
    out.rename(book.out)
    assert published.said(book) == ""


def test_published_numbers_are_those_of_the_stored_runs():
    """Where a run is at hand under the key that the reference names, each number is compared."""
    checked = 0
    for folder in published.REFERENCE.glob("*/"):
        made = pd.read_csv(parts.table(folder, "runs"))
        keys = made[made.role == "report"].set_index(["exhibit", "row", "seed"])["run"]
        for line in pd.read_csv(folder / "metrics.csv").itertuples():
            for row in (line.row, f"{line.row} → {line.column.split()[0]}"):
                key = keys.get((line.exhibit, row, line.seed))
                if isinstance(key, str) and runs.is_stored(key):
                    metrics = runs.stored(key).metrics
                    if line.metric in metrics:
                        assert round(metrics[line.metric], 6) == line.value, (key, line)
                        checked += 1
        checked += curves_of_stored_runs(folder, keys)
    if not checked:
        pytest.skip("no run of a reference is in this store")


def curves_of_stored_runs(folder, keys) -> int:
    """How many published curves are those of runs that are at hand."""
    found = pd.read_csv(parts.table(folder, "curves")).groupby(["exhibit", "arm", "seed", "curve"])
    checked = 0
    for (*which, curve), points in found:
        key = keys.get(tuple(which))
        run = learnt.trained(runs.stored(key)) if key and runs.is_stored(key) else None
        if run is not None:
            own = curves.of_run(run)[curve]
            own = own if curve == "dev" else curves.blocks(own)
            assert points[["step", "value"]].to_numpy() == pytest.approx(own, rel=1e-4), (
                key,
                which,
            )
            checked += 1
    return checked


def test_the_version_counts_code_alone(tmp_path):
    """A reference is taken away before its results are made anew; that is no change of code."""

    def git(*words):
        own = "-c", "user.name=x", "-c", "user.email=x@example.org"
        subprocess.run(["git", *own, *words], cwd=tmp_path, check=True, capture_output=True)

    for name in ("lib/code.py", "results/reference/metrics.csv"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text("1")
    git("init", "-q"), git("add", "."), git("commit", "-qm", "one")
    (tmp_path / "results/reference/metrics.csv").unlink()
    plain = published.version(tmp_path)
    assert re.fullmatch("[0-9a-f]{7,}", plain)
    (tmp_path / "lib/code.py").write_text("2")
    assert published.version(tmp_path) == f"{plain}-dirty"


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_means_contrasts_and_verdicts_follow_from_the_published_numbers(folder):
    """What a reader can do without a store; intervals over images alone need each image's recalls."""
    claims, contrasts = judged.of_folder(folder)
    summary = results.summarise(pd.read_csv(folder / "metrics.csv"))
    for name, made in (("summary", summary), ("claims", claims), ("contrasts", contrasts)):
        told = pd.read_csv(folder / f"{name}.csv")
        told = told.drop(columns=["query_low", "query_high"], errors="ignore")
        made = pd.read_csv(io.StringIO(made[told.columns].to_csv(index=False)))
        pd.testing.assert_frame_equal(made, told, rtol=1e-5, check_dtype=False)


# What is asked for on photographs: test RSUM of matchers, and of two methods the share of clean
# training's that they keep at 40 % noise.
ASKED = {"base-model": 255, "vse++": 240, "vse-inf": 240, "scan": 220, "chan": 220}
ASKED |= {"vse++-bert": 240, "vse-inf-bert": 240, "scan-bert": 220, "chan-bert": 220}
ASKED |= {"ncr, kept": 0.85, "gsl, kept": 0.85}
# And what is missed so far, at least so much: CHAN with MiniLM has one seed that dev did not tune.
MISSED = {"chan-bert": 219, "ncr, kept": 0.82, "gsl, kept": 0.77}
SWEPT = ("comalign-F7", "learning rate ×4")  # a setting of a sweep may be too high


def test_on_the_world_a_laptops_arms_have_learnt_but_for_controls():
    """The base model and four others still learn, which stand in several tables."""
    found = pd.read_csv(published.REFERENCE / "world-laptop/summary.csv")
    idle, early = (found[found.learnt == state] for state in ("did not train", "still learning"))
    assert {*zip(idle.exhibit, idle.row)} <= {("chan-T3", "permuted"), ("gsl-F1", "ncr-0.4-long")}
    some = {"world-clip", "base-model", "vse++", "textual-codebook", "global", "patches"}
    assert {*early.row} <= some


def test_methods_on_photographs_are_as_good_as_was_asked_for_but_for_what_is_named():
    found = pd.read_csv(published.REFERENCE / "flickr8k-laptop/summary.csv")
    idle = found[found.learnt == "did not train"]
    assert {*zip(idle.exhibit, idle.row)} <= {("chan-T3", "permuted"), SWEPT}
    rsum = found[found.column == "RSUM"].set_index(["exhibit", "row"])["mean"]
    own = rsum["base-models"].to_dict() | rsum["chan-T2"].to_dict()
    for method in ("ncr", "gsl"):
        own[f"{method}, kept"] = rsum["gsl-F1", f"{method}-0.4"] / rsum["gsl-F1", f"{method}-0"]
    assert {name for name, least in ASKED.items() if own[name] < least} == {*MISSED}
    assert {name: own[name] for name, least in MISSED.items() if own[name] < least} == {}
    assert rsum["chan-T3", "permuted"] < 2 * 3.2  # chance, of 1,000 images with five captions each
    heads = found[found.exhibit == "comalign-TI"].set_index(["row", "column"])["mean"]
    assert heads["clip+comalign", "f30k RSUM"] >= heads["clip", "f30k RSUM"] >= 255
