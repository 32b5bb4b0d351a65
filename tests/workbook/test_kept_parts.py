"""Notebooks that were published before stay where a folder is published that has others."""

import gzip
import json
import shutil
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from alignbook.workbook import exhibits, workbook
from alignbook.workbook.publishing import again, kept_parts, parts, published
from test_published import metrics, out, without  # noqa: F401

ALL_OF = ("chan", "comalign", "covalign", "gsl")


@pytest.fixture
def publish(out, tmp_path, monkeypatch):  # noqa: F811
    """Publish a folder of which some papers are whole, with the numbers of those."""
    to = tmp_path / "reference/flickr8k-laptop"
    monkeypatch.setattr(published, "version", lambda root: "v1")
    done = {path.name for path in (out / "notebooks").glob("*.done")}
    shutil.rmtree(out / "figures"), (out / "figures").mkdir()
    (out / "efficiency/chan-F3.csv").unlink()

    def rows(exhibit, values):
        return metrics(values).assign(exhibit=exhibit, profile="laptop", learnt="learnt")

    numbers = {
        "gsl": rows("gsl-F1", {"gsl-0.4": [1.0, 2.0, 3.0], "ncr-0.4": [11.0, 12.1, 13.0]}),
        "chan": rows("chan-T3", {"visual-codebook": [9.0, 9.1, 9.3], "cross-attention": [1.0] * 3}),
    }

    def run(*papers, base, **said):
        for name in done:
            (out / "notebooks" / name).touch()
        without(out, *({*ALL_OF} - {*papers}))
        settings = json.loads((out / "settings.json").read_text()) | said
        (out / "settings.json").write_text(json.dumps(settings))
        some = [numbers[paper] for paper in papers] + [rows("base-models", base)]
        some = pd.concat(some).sort_values("exhibit", kind="stable")
        some.to_csv(out / "metrics.csv", index=False)
        runs = some[["exhibit", "row", "seed"]].assign(role="report", code="c", config="{}")
        runs = runs.assign(dev_rsum=1.0, learnt="learnt", run=runs.row, versions="{}")
        runs.to_csv(out / "runs.csv", index=False)
        for paper in papers:
            (out / f"tables/{paper}-T1.md").write_text(
                f"| {paper} | seeds |\n| - | - |\n| a | 3 |\n"
            )
            points = f"arm,seed,state,curve,step,value\n{paper},0,learnt,dev,1,2\n"
            (out / f"figures/{paper}-T1-training.csv").write_text(points)
        published.publish(out, to, False)
        return to

    return run


def of(*papers):
    """The notebooks of some papers that these data and settings have."""
    made = exhibits.resolve([], "flickr8k")
    return [
        name for name in exhibits.NOTEBOOKS if name in made and exhibits.chapter(name) in papers
    ]


def test_chapters_of_two_sittings_are_published_together(publish, out, monkeypatch):  # noqa: F811
    to = publish("gsl", base={"a": [5.0], "b": [6.0]})
    alone = pd.read_csv(to / "claims.csv")
    contrasts = pd.read_csv(to / "contrasts.csv")
    contrasts.loc[contrasts.claim == "gsl-against-ncr", kept_parts.QUERIES] = -11.0, -9.0
    contrasts.to_csv(to / "contrasts.csv", index=False)
    elsewhere = pd.DataFrame(
        {"claim": ["chan-hard-coding", "gsl-against-ncr"], "value": [1.0, 2.5]}
    )
    elsewhere.to_csv(to / again.FILE, index=False)
    for folder, said in ((to, "of before"), (out, "| new | seeds |\n| - | - |\n| a | 3 |\n")):
        (folder / "tables/base-models.md").write_text(said)
    (to / "benchmarks").mkdir()
    (to / "benchmarks/gsl-T2-x.csv").write_text("kept")
    starts = json.loads((out / "starts.json").read_text())
    (out / "starts.json").write_text(json.dumps([*starts, starts[0] | {"seconds": 8.0}]))
    monkeypatch.setattr(published, "version", lambda root: "v2")

    assert publish("chan", base={"b": [7.0], "c": [8.0]}) == to
    found = pd.read_csv(to / "metrics.csv")
    assert [*dict.fromkeys(found.exhibit)] == ["base-models", "chan-T3", "gsl-F1"]
    base = found[found.exhibit == "base-models"].set_index("row")["value"]
    assert base.to_dict() == {"a": 5.0, "b": 7.0, "c": 8.0}  # the new one's come first
    assert len(pd.read_csv(parts.table(to, "runs"))) == len(found)
    assert {*pd.read_csv(parts.table(to, "curves")).arm} == {"chan", "gsl"}
    assert (to / "tables/base-models.md").read_text().startswith("| new |")
    for name in ("chan-T1", "gsl-T1"):
        assert (to / f"tables/{name}.md").exists()
    assert (to / "benchmarks/gsl-T2-x.csv").read_text() == "kept"
    verdicts = pd.read_csv(to / "claims.csv").set_index("claim").verdict
    before = alone.set_index("claim").verdict
    assert before["gsl-against-ncr"] == verdicts["gsl-against-ncr"] == "contradicted"
    assert before["chan-hard-coding"] == "not run" != verdicts["chan-hard-coding"]
    found = pd.read_csv(to / "contrasts.csv").drop_duplicates("claim").set_index("claim")
    assert found.loc["gsl-against-ncr", kept_parts.QUERIES].tolist() == [-11.0, -9.0]
    assert np.isnan(found.loc["chan-hard-coding", "query_low"])
    told = pd.read_csv(to / again.FILE)
    assert told.claim.tolist() == ["gsl-against-ncr"] and told.value.tolist() == [2.5]
    about = json.loads((to / "about.json").read_text())
    assert about["notebooks"] == of("chan", "gsl")
    assert [each["seconds"] for each in about["starts"]] == [9.0, 8.0]  # each once
    assert about["version"] == "v2" and about["versions"] == dict.fromkeys(of("gsl"), "v1")
    earlier = dict.fromkeys(of("chan", "gsl"), ["windows"])
    (to / "about.json").write_text(json.dumps(about | {"earlier": earlier}))
    # and a third time, what was kept stays of its version, and of what it was given
    monkeypatch.setattr(published, "version", lambda root: "v3")
    about = json.loads((publish("chan", base={"b": [7.0]}) / "about.json").read_text())
    assert about["versions"] == dict.fromkeys(of("gsl"), "v1")
    assert about["earlier"] == dict.fromkeys(of("gsl"), ["windows"])
    assert about["notebooks"] == of("chan", "gsl")
    found = pd.read_csv(publish("gsl", base={"b": [7.0]}) / "metrics.csv")
    assert [*dict.fromkeys(found.exhibit)] == ["base-models", "chan-T3", "gsl-F1"]


@pytest.mark.parametrize("lacking", ["gsl", "chan"])
def test_what_has_no_curves_adds_nothing_to_those_of_others(publish, out, lacking):  # noqa: F811
    """Whichever is published first."""
    for paper in ("gsl", "chan"):
        to = publish(paper, base={"a": [5.0]})
        if paper == lacking:
            (out / f"figures/{paper}-T1-training.csv").unlink()
            published.publish(out, to, False)
        for path in (out / "figures").glob("*-training.csv"):
            path.unlink()
    (other,) = {"gsl", "chan"} - {lacking}
    assert gzip.decompress((to / "curves.csv.gz").read_bytes()).decode().splitlines() == [
        "exhibit,arm,seed,curve,step,value",
        f"{other}-T1,{other},0,dev,1,2",
    ]


def test_a_chapter_that_is_published_anew_is_not_kept(publish):
    to = publish("gsl", base={"a": [5.0]})
    (to / "tables/gsl-T9.md").write_text("of before")
    publish("gsl", base={"a": [5.5]})
    assert not (to / "tables/gsl-T9.md").exists()
    assert json.loads((to / "about.json").read_text()).get("versions", {}) == {}
    assert pd.read_csv(to / "metrics.csv").set_index("row").value["a"] == 5.5


def test_a_part_of_a_whole_run_is_renewed(publish, monkeypatch):
    """The rest stays, and it is whole still; the page of verdicts is made anew."""
    profile = SimpleNamespace(name="laptop", seeds=3)
    book = SimpleNamespace(kind="flickr8k", pretrained=True, profile=profile)
    monkeypatch.setattr(workbook, "load", lambda folder: book)
    to = publish("gsl", base={"a": [5.0]})
    about = json.loads((to / "about.json").read_text())
    (to / "about.json").write_text(json.dumps(about | {"notebooks": "all", "version": "v0"}))
    (to / "tables/claims.md").write_text("as it was judged before")
    publish("chan", base={"a": [5.0]})
    about = json.loads((to / "about.json").read_text())
    assert about["notebooks"] == "all" and about["version"] == "v1"
    assert about["versions"] == {
        name: "v0" for name in exhibits.NOTEBOOKS if name not in of("chan") and name != "90_claims"
    }
    assert {*pd.read_csv(to / "metrics.csv").exhibit} == {"base-models", "chan-T3", "gsl-F1"}
    assert (to / "tables/gsl-T1.md").exists() and not (to / "drawn").exists()
    table = (to / "tables/claims.md").read_text()
    assert table.startswith("**Claims, laptop profile on flickr8k**")
    (line,) = (each for each in table.splitlines() if each.startswith("| gsl-against-ncr "))
    assert " contradicted " in line and "Small pretrained towers" in table
    assert " reference " not in table
    drawn = sorted(path.name for path in (to / "figures").glob("*.png"))
    assert drawn and drawn == sorted(f"claims-{i}.png" for i in range(1, len(drawn) + 1))
    judged = pd.read_csv(to / "claims.csv").set_index("claim").verdict
    assert {judged["chan-hard-coding"], judged["gsl-against-ncr"]}.isdisjoint({"not run"})


def test_one_of_other_settings_is_not_replaced_by_a_part(publish):
    to = publish("gsl", base={"a": [5.0]})
    with pytest.raises(ValueError, match="of other settings: set {.*; remove it first"):
        publish("chan", base={"a": [5.0]}, set={"chan_steps": "6"})
    assert {path.name for path in to.parent.iterdir()} == {to.name}  # nothing half made
