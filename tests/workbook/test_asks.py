"""What jobs ask for, by the budget and by the papers' GPU hours."""

import csv
import math
import re

import pytest
from alignbook import ROOT
from alignbook.show import gpu_hours
from alignbook.workbook import asks, plan, profiles
from alignbook.workbook.running import gpu_locks, timeleft

LAPTOP = asks.Asks(profiles.get("laptop"), "world", "cpu")
PAPER = asks.Asks(profiles.get("paper", "coco_precomp"), "coco_precomp", "cuda")


def planned(exhibit: str, file: str = "budget") -> list[dict]:
    with open(ROOT / f"data/{file}.csv", newline="", encoding="utf-8") as lines:
        return [
            row
            for row in csv.DictReader(lines)
            if (row["profile"], row["data"], row["exhibit"]) == ("laptop", "world", exhibit)
        ]


def test_time_follows_the_budget():
    """Half an hour, and four times what is planned, in minutes; who shares runs may train them."""
    besides = timeleft.besides(["arms", "chan-T1"])["arm"]
    arms = {row["arm"]: row for row in planned("chan-T1", "budget_arms")}
    both = sum(float(arms[name]["core_seconds"]) + besides for name in ("chan", "vse++"))
    assert float(arms["chan"]["new_seconds"]) == 0 < float(arms["chan"]["core_seconds"])
    asked = LAPTOP.of("arms", "chan-T1", "chan", "vse++")["runtime"]
    assert asked == 30 + math.ceil(4 * both / 60)
    (row,) = planned("chan-T1")
    seconds, runs = float(row["core_seconds"]), int(row["runs"])
    one = LAPTOP.of("training", "chan-T1", "chan", "trial", "0")["runtime"]
    assert one == 30 + math.ceil(4 * (seconds / runs + besides) / 60) < asked
    listing = PAPER.of("arms", "gsl-T3", "gsl", trained=True)["runtime"]
    assert listing == asks.LISTED < PAPER.of("arms", "gsl-T3", "gsl")["runtime"]
    assert PAPER.of("base")["runtime"] == asks.MOST  # of which nothing is planned


def test_of_the_papers_settings_it_follows_gpu_hours():
    """An arm all its trainings, a training the longest of its arm's."""
    arm = "visual-codebook-long"
    found = plan.trainings("chan-T3", "coco_precomp", PAPER.profile, [arm]).values()
    each = [gpu_hours.hours(one.work) for one in found]
    assert max(each) == pytest.approx(4 * min(each))  # its seeds have four times the steps
    assert PAPER.of("training", "chan-T3", arm, "report", "0")["runtime"] == asks.MOST
    plain = PAPER.of("training", "chan-T3", arm.removesuffix("-long"), "report", "0")["runtime"]
    assert plain == 30 + math.ceil(4 * 60 * min(each)) < asks.MOST
    few = asks.Asks(profiles.get("paper", "coco", {"seeds": "1"}), "coco", "cuda")
    arms = ("all", "global")
    both = plan.trainings("comalign-TIII", "coco", few.profile, arms).values()
    hours = sum(gpu_hours.hours(one.work) for one in both)
    assert few.of("arms", "comalign-TIII", *arms)["runtime"] == 30 + math.ceil(4 * 60 * hours)


def test_none_asks_for_more_than_a_day():
    assert PAPER.of("training", "gsl-F1", "gsl-0.4", "report", "0")["runtime"] == asks.MOST
    assert PAPER.of("buy", "gsl", "0", "gsl-F1")["runtime"] == asks.MOST
    assert PAPER.of("seeds", "gsl", "gsl-F1")["runtime"] == asks.LISTED  # what those have trained


@pytest.mark.parametrize(
    "words, gpu",
    [
        (("data",), 0),
        (("collect",), 0),
        (("base",), 1),
        (("training", "chan-T3", "sum", "report", "0"), 1),
        (("efficiency", "chan-F3"), 1),
        (("notebook", "10_chan"), 1),
    ],
)
def test_who_asks_for_a_gpu(words, gpu, monkeypatch):
    assert PAPER.of(*words)["gpu"] == gpu
    assert LAPTOP.of(*words)["gpu"] == 0
    auto = asks.Asks(LAPTOP.profile, "world", "auto")
    monkeypatch.setattr(gpu_locks, "has_libraries", lambda: True)
    monkeypatch.setenv(gpu_locks.VISIBLE, "")
    assert auto.of(*words)["gpu"] == 0
    monkeypatch.setenv(gpu_locks.VISIBLE, "0")
    assert auto.of(*words)["gpu"] == gpu


def test_processes_that_train_together_ask_for_a_gpu_each():
    eight = profiles.get("paper", "coco", {"processes": "8"})
    asked = asks.Asks(eight, "coco", "cuda")
    assert asked.of("arms", "comalign-TIII", "all")["gpu"] == 8
    assert asked.of("base")["gpu"] == 1 and asked.of("data")["gpu"] == 0
    assert asked.of("arms", "comalign-TIII", "all")["nodes"] == 1  # all of them on one
    assert asked.by(lambda wildcards: ["arms", "comalign-TIII", "all"])["nodes"]("") == 1
    assert "nodes" not in PAPER.of("arms", "comalign-TIII", "all")


def test_a_rule_with_wildcards_asks_for_the_same():
    by = LAPTOP.by(lambda wildcards: ["arms", "chan-T1", wildcards])
    assert {name: ask("chan") for name, ask in by.items()} == LAPTOP.of("arms", "chan-T1", "chan")


def test_larger_profiles_ask_for_more_memory():
    sizes = [asks.MEMORY[name] for name in profiles.PROFILES]
    assert sizes == sorted(sizes) and len(sizes) == len(profiles.PROFILES)


def test_every_rule_says_what_it_asks_for():
    words = (ROOT / "Snakefile").read_text(encoding="utf-8")
    rules = re.split(r"(?m)^ *(?:rule|checkpoint)\b", words)[1:]
    without = [rule.split(":")[0].strip() for rule in rules if "resources:" not in rule]
    assert len(rules) > 8 and without == ["all"]
