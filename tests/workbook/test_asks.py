"""What jobs ask for, by the budget and by the papers' GPU hours."""

import csv
import math

import pytest
from alignbook import ROOT
from alignbook.workbook import asks, exhibits, gpus, needs, profiles, timeleft, trainings

LAPTOP = asks.Asks(profiles.get("laptop"), "world", "cpu")
PAPER = asks.Asks(profiles.get("paper", "coco_precomp"), "coco_precomp", "cuda")


def planned(exhibit: str) -> tuple[float, int, int]:
    with open(ROOT / "data/budget.csv", newline="", encoding="utf-8") as file:
        row = next(
            row
            for row in csv.DictReader(file)
            if (row["profile"], row["data"], row["exhibit"]) == ("laptop", "world", exhibit)
        )
    return float(row["core_seconds"]), int(row["arms"]), int(row["runs"])


def test_time_follows_the_budget():
    """Half an hour, and four times what is planned, in minutes."""
    seconds, arms, runs = planned("chan-T1")
    besides = timeleft.besides(["arms", "chan-T1"])["arm"]
    asked = LAPTOP.of("arms", "chan-T1", "chan", "scan")["runtime"]
    assert asked == 30 + math.ceil(4 * 2 * (seconds / arms + besides) / 60)
    one = LAPTOP.of("training", "chan-T1", "chan", "trial", "0")["runtime"]
    assert one == 30 + math.ceil(4 * (seconds / runs + besides) / 60) < asked
    assert LAPTOP.of("arms", "chan-T1", "chan", trained=True)["runtime"] == 30


def test_of_the_papers_settings_it_follows_gpu_hours():
    hours, _ = needs.cost("chan-T3", PAPER.profile, "coco_precomp")
    arms = exhibits.arms("chan-T3", "coco_precomp", PAPER.profile)
    assert PAPER.of("arms", "chan-T3", arms[0])["runtime"] == min(
        30 + math.ceil(4 * 60 * hours / len(arms)), asks.MOST
    )
    every = {
        name
        for arm in arms
        for name in trainings.of_arm("chan-T3", arm, PAPER.profile, "coco_precomp")
    }
    one = PAPER.of("training", "chan-T3", arms[0], "report", "0")["runtime"]
    assert one == 30 + math.ceil(4 * 60 * hours / len(every)) < asks.MOST


def test_none_asks_for_more_than_a_day():
    assert PAPER.of("training", "gsl-F1", "gsl-0.4", "report", "0")["runtime"] == asks.MOST
    assert PAPER.of("seeds", "gsl", "gsl-F1")["runtime"] == asks.MOST


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
    monkeypatch.setenv(gpus.VISIBLE, "")
    assert auto.of(*words)["gpu"] == 0
    monkeypatch.setenv(gpus.VISIBLE, "0")
    assert auto.of(*words)["gpu"] == gpu


def test_a_rule_with_wildcards_asks_for_the_same():
    by = LAPTOP.by(lambda wildcards: ["arms", "chan-T1", wildcards])
    assert {name: ask("chan") for name, ask in by.items()} == LAPTOP.of("arms", "chan-T1", "chan")


def test_larger_profiles_ask_for_more_memory():
    sizes = [asks.MEMORY[name] for name in profiles.NAMES]
    assert sizes == sorted(sizes) and len(sizes) == len(profiles.NAMES)
