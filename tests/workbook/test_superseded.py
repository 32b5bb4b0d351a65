"""Which settings of published runs are other today."""

import json
from dataclasses import asdict

import pandas as pd
import pytest
from alignbook.papers.covalign import arms
from alignbook.workbook import profiles
from alignbook.workbook.publishing import parts, superseded

T6 = "covalign-T6"


@pytest.fixture
def folder(tmp_path):
    """Shared and separate as today's second trial has them, but for what one of them lacks or has
    otherwise; a run that measured another; and one of no exhibit.
    """
    made = arms.arms(T6, profiles.get("laptop"))
    shared, separate = (asdict(made[name][0][1]) for name in ("shared", "separate"))
    del shared["placed"]
    configs = [
        (T6, "separate", "trial", 1000, separate | {"mask": "none"}),
        (T6, "shared", "report", 0, shared | {"mask": "attention"}),
        (T6, "separate", "report", 0, separate),
        (T6, "shared-long", "report", 0, shared | {"placed": True}),  # without its change
        ("covalign-F5", "shared", "report", 0, {"phrases": 3}),
        ("covalign-T99", "shared", "report", 0, {}),
        ("comalign-TI", "clip+comalign → coco", "report", 0, None),
    ]
    lines = [(*each[:4], each[4] if each[4] is None else json.dumps(each[4])) for each in configs]
    table = pd.DataFrame(lines, columns=["exhibit", "row", "role", "seed", "config"])
    table.to_csv(parts.table(tmp_path, "runs"), index=False)
    about = {"data": "world", "profile": "laptop", "set": {}}
    (tmp_path / "about.json").write_text(json.dumps(about))
    return tmp_path


def test_settings_that_no_candidate_has_today_are_named(folder):
    rows = [(T6, "shared"), (T6, "separate"), ("covalign-F5", "shared"), ("chan-T3", "average")]
    assert superseded.settings(folder, frozenset([(T6, "shared-long")])) == ["steps"]
    found = [superseded.settings(folder, frozenset([row])) for row in rows]
    assert found == [["placed", "mask"], [], [], []]
    assert superseded.settings(folder, frozenset(rows)) == ["placed", "mask"]
    assert superseded.told(["placed", "mask"]) == "with earlier settings (placed, mask)"
    assert superseded.told([]) == ""


def test_what_arms_were_given_is_said_by_notebook(folder):
    file = folder / "about.json"
    about = json.loads(file.read_text())
    earlier = {"33_covalign_projection": ["patches"], "30_covalign": ["words"]}
    file.write_text(json.dumps(about | {"earlier": earlier}))
    superseded._of_folder.cache_clear()
    rows = [(T6, "shared"), (T6, "separate")]
    found = [superseded.settings(folder, frozenset([row])) for row in rows]
    assert found == [["patches", "placed", "mask"], ["patches"]]


def test_a_setting_that_came_in_as_it_had_been_is_no_other():
    today = [{"mixture": "beta", "steps": 9, "batch": 8}]
    assert superseded._other({"steps": 9, "batch": 8}, today) == []
    assert superseded._other({"steps": 9, "batch": 8, "mixture": "normal"}, today) == ["mixture"]
    assert superseded._other({"steps": 9, "batch": 8}, [today[0] | {"mixture": "normal"}]) != []


def test_contrasts_are_of_their_arms(folder):
    asked = {("covalign-one-projection", "shared − separate"): 1.0}
    assert superseded.of_contrasts(folder, asked) == ["placed", "mask"]
    assert superseded.of_contrasts(folder, {("chan-codings", "max − sum"): 1.0}) == []


def test_a_folder_without_runs_says_nothing(folder):
    parts.table(folder, "runs").unlink()
    superseded._of_folder.cache_clear()
    assert superseded.settings(folder, frozenset([(T6, "shared")])) == []
