"""GSL's arms and what is measured with them: settings, label rules on a run's networks, time."""

import re
from dataclasses import asdict
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from alignbook.backbones.inputs import Inputs
from alignbook.datasets import noise_index
from alignbook.papers.gsl import (
    arms,
    catalogue,
    cost,
    coteaching,
    noisy_pairs,
    relabelling,
    settings,
    two_networks,
)
from alignbook.papers.gsl import model as gsl
from alignbook.show import run_tables
from alignbook.workbook import exhibits, profiles

LAPTOP = profiles.get("laptop")
OF_GSL = [name for name in exhibits.EXHIBITS if name.startswith("gsl")]


def chosen(exhibit, arm, profile=LAPTOP):
    """The settings of an arm's runs, as its first candidate has them."""
    candidates, changes = arms.arms(exhibit, profile)[arm]
    return {**asdict(candidates[0]), **changes}


# --- Arms ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("exhibit", OF_GSL)
def test_arms_are_those_of_the_exhibit(exhibit):
    known = exhibits.EXHIBITS[exhibit]
    assert tuple(arms.arms(exhibit, LAPTOP)) == known.names()
    for kind in ("world", "photographs"):
        later = {arm.name for arm in known.arms if kind in arm.later}
        assert {*known.names()} - {*known.names(kind, profile="laptop")} == later
        assert set(known.names(kind, profile="overnight")) == set(known.names()) > later
    assert known.names("world") == known.names("photographs") == known.names()
    with pytest.raises(KeyError):
        arms.arms("chan-T3", LAPTOP)


def test_methods_differ_in_nothing_but_what_they_are():
    """Same networks, noise, schedule and number of trials."""
    found = {arm: chosen("gsl-F1", arm) for arm in catalogue.NOISE}
    assert [(each["after"], each["epochs"]) for arm, each in found.items() if "warmed" in arm] == (
        [(0.0, 1)] * 4
    )  # nothing is learnt after the warm-up
    found = {arm: each for arm, each in found.items() if "warmed" not in arm}
    own = {
        "method",
        "noise",
        "warm_up",
        *(asdict(gsl.Config()).keys() - asdict(coteaching.Config())),
    }
    rest = [
        {name: value for name, value in each.items() if name not in own} for each in found.values()
    ]
    assert all(each == rest[0] for each in rest)
    assert {arm: each["noise"] for arm, each in found.items()} == {
        arm: float(arm.rpartition("-")[2]) for arm in found
    }
    methods = {arm.partition("-")[0]: each["method"] for arm, each in found.items()}
    assert methods == {
        "gsl": "gsl",
        "ncr": "ncr",
        "bicro": "bicro",
        "gsc": "gsc",
        "triplet": "hardest",
        "mean": "mean",
        "clean": "clean",
    }
    warm = {arm.partition("-")[0]: each["warm_up"] for arm, each in found.items()}
    assert [name for name, each in warm.items() if each == "mean"] == ["gsl", "bicro"]
    trials = {
        arm: len(candidates)
        for arm, (candidates, _) in arms.arms("gsl-F1", profiles.get("overnight")).items()
    }
    assert {arm.partition("-")[0] for arm, n in trials.items() if n != 5} == {"warmed"}
    for name in catalogue.LONGER:
        plain, longer = found[name.removesuffix("-long")], chosen("gsl-F1", name)
        epochs = {part: 4 * plain[part] for part in ("warm_up_epochs", "epochs")}
        assert longer == plain | epochs and epochs["epochs"] == 24


def test_all_methods_are_tried_at_the_same_rates():
    """A laptop's three have both ends: in the world NCR takes the highest, GSL the lowest."""
    for method in ("gsl", "ncr", "triplet"):
        for name, n in {"laptop": 3, "overnight": 5}.items():
            rates = [each.after for each in arms.trials(method, profiles.get(name))]
            assert rates == pytest.approx([0.03, 0.009, 0.3, 0.09, 0.003][:n])


def test_runs_are_shared_where_settings_are_the_same():
    assert chosen("gsl-T1", "0.5") == chosen("gsl-F1", "gsl-0.4")
    assert chosen("gsl-T1", "0.6") == chosen("gsl-F1", "gsl-0.4") | {"delta": 0.6}
    for method in ("gsl", "ncr", "bicro", "gsc"):
        assert chosen("gsl-T2", method) == chosen("gsl-F1", f"{method}-0.2")
        assert chosen("gsl-T3", method) == chosen("gsl-F1", f"{method}-0.4")
    assert chosen("gsl-F2", "score") == chosen("gsl-switches", "gsl") == chosen("gsl-T3", "gsl")


@pytest.mark.parametrize("arm, changes", arms.SWITCHES.items())
def test_a_switch_is_one_change(arm, changes):
    plain, found = chosen("gsl-T3", "gsl"), chosen("gsl-switches", arm)
    assert {name for name in found if found[name] != plain[name]} == set(changes)


def test_the_papers_own_settings_warm_up_by_each_methods_own():
    paper = profiles.get("paper", "f30k_precomp")
    for profile, expected in ((LAPTOP, ("mean", "mean", "")), (paper, ("", "", ""))):
        assert (
            tuple(
                chosen("gsl-F1", f"{method}-0.4", profile)["warm_up"]
                for method in ("gsl", "bicro", "gsc")
            )
            == expected
        )
    assert chosen("gsl-T3", "bicro-own") == chosen("gsl-T3", "bicro") | {"warm_up": ""}
    rates = {
        name: profiles.get(name, "f30k_precomp" if name == "paper" else "world")
        for name in profiles.PROFILES
    }
    found = {name: each.gsl_learning_rate * each.gsl_after for name, each in rates.items()}
    assert found == pytest.approx(
        {"smoke": 2.1e-4, "laptop": 2.1e-4, "overnight": 2.1e-4, "gpu": 1.5e-4, "paper": 2e-4}
    )  # the notes have 2e-4


def test_every_threshold_is_tuned_by_itself_and_switches_are_not():
    overnight = profiles.get("overnight")
    for arm, (candidates, changes) in arms.arms("gsl-T1", overnight).items():
        assert [each.delta for each in candidates] == [float(arm)] * 5 and not changes
    candidates, changes = arms.arms("gsl-switches", overnight)["sums"]
    assert candidates == arms.trials("gsl", overnight) and changes == {"reduction": "sum"}


def test_domains_and_rates(monkeypatch):
    asked = []
    monkeypatch.setattr(arms, "noise_of", lambda book, dataset, rate: asked.append(rate))
    book = SimpleNamespace(inputs=lambda domain: Inputs(domain, "features", "base", "home", "bert"))
    for exhibit, arm in (
        ("gsl-F1", "ncr-0.6"),
        ("gsl-T1", "0.6"),
        ("gsl-T2", "gsl"),
        ("gsl-T3", "gsl"),
        ("gsl-F2", "score"),
    ):
        domain = "A" if exhibit in ("gsl-T3", "gsl-F2") else "B"
        assert arms.inputs(book, exhibit, arm) == (domain, "features", "base", "home", None)
    assert asked == [0.6, 0.4, 0.2, 0.4, 0.4]
    arms.tuning_inputs(book, "gsl-F1", "ncr-0.6")
    assert asked[-1] == 0.4  # settings are chosen there, whatever the arm's rate is


def test_a_noise_index_is_read_from_the_folder_that_is_named(tmp_path):
    index = noise_index.make(60, 0.4, seed=1, captions_per_image=2)
    noise_index.write(index, tmp_path / "world_0.4.npy")
    dataset = SimpleNamespace(splits={"train": np.arange(60)}, captions_per_image=2)

    def book(**changes):
        settings = {"gsl_noise_index": str(tmp_path), "gsl_images": 0} | changes
        return SimpleNamespace(kind="world", profile=SimpleNamespace(**settings))

    np.testing.assert_array_equal(arms.noise_of(book(), dataset, 0.4).index, index)
    assert arms.noise_of(book(), dataset, 0.0) is None
    assert arms.noise_of(book(gsl_noise_index="drawn"), dataset, 0.4) is None
    with pytest.raises(ValueError, match="world_0.2.npy: file missing"):
        arms.noise_of(book(), dataset, 0.2)
    with pytest.raises(ValueError, match="for all 60 training images; .* first 30: say --set"):
        arms.noise_of(book(gsl_images=30), dataset, 0.4)
    few = noise_index.make(30, 0.4, seed=1, captions_per_image=2)  # as a run on few writes it
    noise_index.write(few, tmp_path / "world_0.4.npy")
    np.testing.assert_array_equal(arms.noise_of(book(gsl_images=30), dataset, 0.4).index, few)
    noise_index.write(np.arange(4), tmp_path / "world_0.6.npy")
    with pytest.raises(ValueError, match=r"world_0.6.npy: shape \(4,\)"):
        arms.noise_of(book(), dataset, 0.6)
    noise_index.write(index, tmp_path / "world_0.6.npy")
    with pytest.raises(ValueError, match="world_0.6.npy: 3.*% of its captions .* expected 60 %"):
        arms.noise_of(book(), dataset, 0.6)


def test_noise_files_are_looked_at_before_any_work(tmp_path):
    """Form, number of images and true rate, as far as they are known without the data."""

    def said(kind="world", exhibit="gsl-T3", **changes):
        sizes = {"gsl_noise_index": str(tmp_path), "gsl_images": 30, "train_images": 60} | changes
        profile = SimpleNamespace(**sizes)
        return settings.problem("gsl_noise_index", profile, kind, [exhibit])

    def put(index, name="world_0.4.npy"):
        noise_index.write(index, tmp_path / name)

    assert "world_0.4.npy not found" in said()
    put(noise_index.make(30, 0.4, seed=1))
    assert said() == ""
    assert "world_0.2.npy not found" in said(exhibit="gsl-T2")
    put(noise_index.make(30, 0.4, seed=1), "world_0.2.npy")
    wrong_rate = r"world_0.2.npy: 3\d\.\d % of its captions have a wrong image, expected 20 %"
    assert re.search(wrong_rate, said(exhibit="gsl-T2"))
    put(noise_index.make(60, 0.4, seed=1))
    told = (
        "world_0.4.npy: for 60 training images, expected the 30 that the profile takes: say --set"
    )
    assert f"{told} gsl_images=60 too" in said()
    assert said(gsl_images=0) == "" == said(gsl_images=0, train_images=0)  # not known before work
    put(np.arange(7))
    assert "for 7 training images, expected the 30" in said()
    put(np.random.default_rng(0).permutation(30))  # one row an image, every caption wrong
    assert "100.0 % of its captions have a wrong image, expected 40 %" in said()
    index = noise_index.make(30, 0.4, seed=1)
    index[3] = 30
    put(index)
    assert "row 3 holds 30" in said()
    (tmp_path / "world_0.4.npy").write_bytes(b"no array")
    assert "cannot be read" in said()
    put(noise_index.make(30, 0.4, seed=1), "f30k_precomp_0.4.npy")
    paper = said("f30k_precomp", gsl_images=0, train_images=0)
    assert "for 30 training images, expected the 29,000" in paper
    assert said("f30k_precomp", gsl_noise_index="drawn") == ""


def test_labels_by_other_rules_are_measured_on_the_trained_run(monkeypatch):
    from alignbook.store import runs

    monkeypatch.setattr(runs, "get", lambda config, seed, inputs, device: (config, inputs))
    book = SimpleNamespace(device="cpu")
    assert arms.measured(book, "gsl-F2", "gsl", "run", ["d"]) == "run"
    expected = {
        "relabelled": {},
        "no-eq7": {"eq7": False},
        "score": {"labels": "score"},
        "true-division": {"division": "true"},
        "clamp-shift": {"clamp": "shift"},
        "two-anchor-ratio": {"two_anchor_ratio": True},
        "anchors-in-batch": {"anchors": "sample"},
        "anchors-of-batch": {"anchors": "batch"},
    }
    assert set(expected) == set(catalogue.LABELS)
    for arm, changes in expected.items():
        config, inputs = arms.measured(book, "gsl-F2", arm, "run", ["d"])
        assert config == relabelling.Config(**changes) and inputs == ("run", "d")


# --- Labels by other rules -----------------------------------------------------------------------


def test_batches_hold_every_pair_once_clean_ones_first():
    clean = np.random.default_rng(0).random(50) < 0.7
    seen = []
    for rows, count in relabelling.batches(clean, 8):
        assert clean[rows[:count]].all() and not clean[rows[count:]].any() and count <= 8
        seen += rows.tolist()
    assert sorted(seen) == list(range(50))
    assert [count for _, count in relabelling.batches(np.zeros(5, bool), 3)] == [0, 0]


def look(size=6):
    draw = torch.Generator().manual_seed(0)
    vectors = torch.nn.functional.normalize(torch.rand(2, size, 5, generator=draw), dim=2)
    return noisy_pairs.Look(torch.rand(size, size, generator=draw), *vectors, torch.arange(size))


def test_labels_are_those_of_training_or_the_networks_score():
    seen, clean = look(), torch.tensor([True] * 4 + [False] * 2)
    bank = noisy_pairs.Bank(*look(9)[1:3], torch.arange(3, 12)).of(np.arange(6))
    of_bank = relabelling.labels_of(seen, 4, relabelling.Config(), bank)
    assert torch.equal(of_bank, gsl.correct(seen, clean, gsl.Config(), bank)[0])
    assert not torch.equal(of_bank, gsl.correct(seen, clean, gsl.Config())[0])
    for changes in ({}, {"eq7": False}, {"two_anchor_ratio": True}, {"anchors": "batch"}):
        found = relabelling.labels_of(seen, 4, relabelling.Config(**changes))
        assert torch.equal(found, gsl.correct(seen, clean, gsl.Config(**changes))[0])
    score = relabelling.Config(labels="score")
    assert torch.equal(relabelling.labels_of(seen, 4, score), seen.scores.diagonal())
    for wrong in ({"clamp": "none"}, {"division": "first"}, {"labels": "none"}):
        with pytest.raises(ValueError, match=f"unknown {next(iter(wrong))}"):
            relabelling.Config(**wrong)


@pytest.mark.parametrize("division, auc", [("true", 1.0), ("last", 0.0)])
def test_a_division_says_which_pairs_are_anchors(monkeypatch, tmp_path, division, auc):
    """Labels say here what counts as clean; the last division had it the wrong way round."""
    index = np.array([0, 1, 1, 0, 2, 2, 3, 3])
    wrong = index != np.arange(8) // 2
    pairs = SimpleNamespace(
        noisy=wrong,
        index=index,
        glance=lambda network, rows: rows,
        pooled=lambda network, rows: torch.zeros(2, len(rows), 4),
    )
    banks = []
    monkeypatch.setattr(
        two_networks,
        "load",
        lambda *inputs: (torch.nn.ModuleList([torch.nn.Identity(), torch.nn.Identity()]), None),
    )
    monkeypatch.setattr(noisy_pairs, "gather", lambda *inputs: Sized(pairs))
    monkeypatch.setattr(
        relabelling,
        "labels_of",
        lambda rows, count, config, bank: (
            banks.append((bank.rows, torch.from_numpy(rows), bank.own))
            or torch.tensor([1.0] * count + [0.0] * (len(rows) - count))
        ),
    )
    metrics = dict.fromkeys(relabelling.KEPT, 1)
    run = SimpleNamespace(
        config=asdict(gsl.Config(batch=3)),
        metrics=metrics,
        key="k",
        array=lambda name: np.where(wrong, 0.9, 0.1)[None].repeat(2, 0),
    )
    found = relabelling.compute(
        relabelling.Config(division=division), (run, *[None] * 5), 0, tmp_path, "cpu"
    )
    assert found["label AUC"] == auc and found["mean label, clean"] == auc
    assert found["asked"] == {"label AUC": 8, "mean label, clean": 8, "mean label, noisy": 8}
    assert np.load(tmp_path / "labels.npy").shape == (2, 8)
    for kept, rows, own in banks:
        assert kept.tolist() == np.flatnonzero(wrong == (division == "last")).tolist()
        assert torch.equal(own, rows[:, None] == kept)


class Sized:
    """Pairs that have a length."""

    def __init__(self, pairs):
        self.__dict__ = vars(pairs)

    def __len__(self):
        return len(self.index)


# --- Time ----------------------------------------------------------------------------------------


def test_seconds_of_a_schedule_by_hand():
    """GSL: 10 epochs of 4 warm-up steps, 40 of 3 steps; half early, half late."""
    own = {
        "warm-up": 1.0,
        "early": 2.0,
        "late": 4.0,
        "early correction": 0.2,
        "plain": 3.0,
        "late correction": 0.8,
        "division": 0.01,
        "pairs": 100,
        "warm-up steps": 4,
        "steps": 3,
    }
    lines = [{"row": row, "seed": 0} | own for row in ("gsl", "ncr", "gsc")]
    lines[1] |= {"late": 2.0, "division": 0.1, "plain": 2.0, "warm-up steps": 2, "steps": 5}
    found = cost.costs(pd.DataFrame(lines)).set_index("row")
    assert found.loc["gsl", "warm-up"] == 10 * 4 and found.loc["gsl", "training"] == 40 * 3 * 3
    assert found.loc["gsl", "division"] == pytest.approx(40 * 0.01 * 100)
    assert found.loc["gsl", "seconds"] == pytest.approx(40 + 360 + 40)
    assert found.loc["gsl", "correction"] == pytest.approx(40 * 3 * (0.2 + 0.8) / 2)
    assert found.loc["gsl", "overhead"] == pytest.approx(100 * (4 - 3 + 0.01 * 100 / 3) / 3)
    assert found.loc["gsl", "an epoch"] == pytest.approx(3 * 3 + 1)
    # NCR's own 5 × 2 and 40 × 5 steps, and as often divided.
    assert found.loc["gsl", "at equal steps"] == pytest.approx(10 + 200 * 3 + 40)
    # It predicts noisy pairs in early steps too, which takes 0.8 − 0.2 more.
    assert found.loc["ncr", "correction"] == pytest.approx(200 * 0.8)
    assert found.loc["ncr", "training"] == pytest.approx(200 * (2.6 + 2.0) / 2)
    assert found.loc["ncr", "an epoch"] == pytest.approx(5 * 2.3 + 10)
    assert found.loc["gsc", "seconds"] == pytest.approx(0 + 60 * 3 * 3 + 60)
    metrics = pd.DataFrame(
        {"exhibit": ["gsl-T2"], "row": ["gsl"], "column": ["RSUM"], "seed": [0], "value": [1.0]}
    )
    both = run_tables.with_costs(metrics, cost.costs(pd.DataFrame(lines)))
    assert both[both.column == "seconds"].value.tolist() == pytest.approx([440, 870, 600])


def test_the_first_pairs_of_all():
    pairs = noisy_pairs.Pairs(
        None, np.arange(3), np.arange(6) // 2, torch.arange(12).view(6, 2), torch.arange(6), 4, 2
    )
    some = cost.first_of(pairs, 4)
    assert len(some) == 4 and some.lengths.tolist() == [0, 1, 2, 3] and some.ids.shape == (4, 2)
    assert len(cost.first_of(pairs, 99)) == 6


def test_what_dev_chose_holds_for_a_method_wherever_photographs_show_it():
    """A rate that is chosen at one noise and not taken at another compares a method with itself."""
    for name in (each for each in exhibits.EXHIBITS if each.startswith("gsl-")):
        arms = exhibits.EXHIBITS[name].arms
        shown = [arm for arm in arms if "photographs" not in arm.later]
        assert shown, name
        assert {arm.name for arm in shown if arm.tuned != "always"} <= {"triplet-0.4"}, name
