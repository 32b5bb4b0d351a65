"""Verdicts on other data beside a workbook's own."""

import json
from types import SimpleNamespace

import pandas as pd
import pytest
from alignbook.workbook.publishing import beside


@pytest.fixture
def results(tmp_path):
    """Results folders with verdicts: {folder: {claim: verdict}}."""

    def write(**folders):
        for name, verdicts in folders.items():
            folder = tmp_path / name.replace("_", "-")
            folder.mkdir()
            lines = [(claim, f"{claim} says", verdict) for claim, verdict in verdicts.items()]
            table = pd.DataFrame(lines, columns=["claim", "says", "verdict"])
            table.to_csv(folder / "claims.csv", index=False)
        return tmp_path

    return write


def book(out, kind="world", profile="laptop"):
    own = SimpleNamespace(name=profile)
    return SimpleNamespace(kind=kind, profile=own, out=out / f"{kind}-{profile}")


WORLD = {"a": "reproduced", "b": "contradicted", "c": "undecided", "d": "not run"}
PHOTOGRAPHS = {"a": "reproduced", "b": "no difference", "c": "reproduced", "d": "not run"}


def test_verdicts_stand_side_by_side(results):
    out = results(world_laptop=WORLD, flickr8k_laptop=PHOTOGRAPHS, flickr8k_smoke={"a": "not run"})
    found = beside.table(book(out))
    assert list(found) == ["claim", "says", "world, laptop", "flickr8k, laptop"]
    assert found.claim.tolist() == ["a", "b", "c"]  # nobody judged d
    told = beside.said(found)
    assert "2 claims, 1 alike" in told  # c is open in the world
    assert "b (contradicted on world, laptop, no difference on flickr8k, laptop)" in told
    other_way = beside.table(book(out, "flickr8k"))
    assert list(other_way)[2:] == ["flickr8k, laptop", "world, laptop"]


def test_the_same_profile_goes_before_a_larger_one_and_smoke_stands_nowhere(results):
    out = results(
        world_laptop=WORLD, flickr8k_overnight={"a": "contradicted"}, coco_smoke={"a": "reproduced"}
    )
    found = beside.table(book(out))
    assert list(found)[2:] == ["world, laptop", "flickr8k, overnight"]
    assert found.set_index("claim").at["b", "flickr8k, overnight"] == "–"  # it is not known there
    results(flickr8k_laptop=PHOTOGRAPHS)
    assert list(beside.table(book(out)))[2:] == ["world, laptop", "flickr8k, laptop"]


def test_published_verdicts_stand_where_there_are_no_others(results, tmp_path):
    out = results(world_laptop=WORLD)
    results(flickr8k_laptop=PHOTOGRAPHS, world_overnight=WORLD)
    (out / "reference").mkdir()
    for name in ("flickr8k-laptop", "world-overnight"):
        (out / name).rename(out / "reference" / name)
    found = beside.table(book(out))
    assert list(found)[2:] == ["world, laptop", "flickr8k, laptop, published"]
    results(flickr8k_overnight=PHOTOGRAPHS)  # of another profile, but one's own
    assert list(beside.table(book(out)))[2:] == ["world, laptop", "flickr8k, overnight"]


def test_a_part_does_not_speak_for_its_data(results):
    """Of published chapters the whole run of a smaller profile is taken."""
    out = results(world_overnight=WORLD)
    results(flickr8k_laptop=PHOTOGRAPHS, flickr8k_overnight=PHOTOGRAPHS)
    (out / "reference").mkdir()
    for name in ("flickr8k-laptop", "flickr8k-overnight"):
        (out / name).rename(out / "reference" / name)
    about = out / "reference/flickr8k-overnight/about.json"
    for notebooks, expected in (("all", "overnight"), (["40_gsl"], "laptop")):
        about.write_text(json.dumps({"notebooks": notebooks}))
        found = beside.others("world", "overnight", out)
        assert found == {"flickr8k": out / f"reference/flickr8k-{expected}"}


def test_other_settings_are_named(results):
    out = results(world_laptop=WORLD, flickr8k_laptop=PHOTOGRAPHS)
    for kind, changed in (("flickr8k", {"base": "photo-tower"}), ("world", {"chan_steps": "7"})):
        said = {"profile": "laptop", "data": kind, "seeds": None, "set": changed}
        (out / f"{kind}-laptop/settings.json").write_text(json.dumps(said))
    found = beside.table(book(out))
    assert list(found)[2:] == ["world, laptop", "flickr8k, laptop, base=photo-tower"]


def test_alone_there_is_nothing_beside(results):
    out = results(world_laptop=WORLD, flickr8k_smoke=PHOTOGRAPHS)
    assert beside.table(book(out)).empty
    assert beside.said(beside.table(book(out))) == "Other data than these were not judged here."
    assert beside.table(book(out, "flickr8k", "smoke")).empty  # smoke has nothing to say of itself


def test_all_alike_is_said_without_a_list(results):
    out = results(world_laptop={"a": "reproduced"}, flickr8k_laptop={"a": "reproduced"})
    told = beside.said(beside.table(book(out)))
    assert told.endswith("1 claim, 1 alike.") and "Not alike" not in told


def test_what_one_data_set_decides_and_the_other_does_not_is_said(results):
    out = results(
        world_laptop={"a": "reproduced", "b": "undecided", "c": "contradicted"},
        flickr8k_laptop={"a": "undecided", "b": "undecided"},
    )
    told = beside.said(beside.table(book(out, "flickr8k")))
    assert told == (
        "No claim is decided on both flickr8k, laptop and world, laptop. Decided on world, laptop and not "
        "on flickr8k, laptop: a (reproduced; there undecided), c (contradicted; there not judged)."
    )
    assert "Decided on world, laptop and not on flickr8k, laptop: a" in beside.said(
        beside.table(book(out))
    )


def test_a_folder_of_another_name_has_its_own_verdicts(results):
    out = results(mine=WORLD, flickr8k_laptop=PHOTOGRAPHS)
    own = SimpleNamespace(kind="world", profile=SimpleNamespace(name="laptop"), out=out / "mine")
    assert list(beside.table(own))[2:] == ["world, laptop", "flickr8k, laptop"]


def test_the_places_of_other_data(results):
    out = results(world_laptop=WORLD, world_overnight=WORLD, flickr8k_gpu=WORLD, coco_smoke=WORLD)
    assert beside.others("world", "laptop", out) == {"flickr8k": out / "flickr8k-gpu"}
    assert beside.others("flickr8k", "laptop", out) == {"world": out / "world-laptop"}
