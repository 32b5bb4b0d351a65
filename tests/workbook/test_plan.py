"""What the papers' own settings cost: equal trainings once, precisions, days, and what comes first."""

from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import pytest
from alignbook import ROOT
from alignbook.core.protocol import TUNING_SEED
from alignbook.papers.chan import hours as chan_hours
from alignbook.papers.covalign import hours as covalign_hours
from alignbook.papers.gsl import hours as gsl_hours
from alignbook.show import gpu_hours
from alignbook.show.gpu_hours import Training, Work, of_arm
from alignbook.workbook import chapters, exhibits, first, needs, plan, profiles

ALL = list(needs.NOTEBOOKS)
PAPER = profiles.get("paper", "precomp")
END_TO_END = replace(PAPER, covalign_tokens="end-to-end", covalign_batch=128, covalign_dim=512)


@pytest.fixture(scope="module")
def made():
    return needs.costed(ALL)


def whole(made) -> plan.Trainings:
    return {key: each for one in made.values() for key, each in one.new.items()}


# --- Trainings -----------------------------------------------------------------------------------


def runs_of(exhibit: str, arm: str, profile) -> dict[tuple, int]:
    """What `results.arm` would compute, with its steps, whatever dev chooses."""
    own = exhibits.EXHIBITS[exhibit].arm(arm)
    if not own.trained:
        return {}
    candidates, changes = chapters.arms_of(exhibit).arms(exhibit, profile)[arm]
    found = []
    tried = len(candidates) > 1 and not own.untuned(profile.name)
    if tried:
        found += [
            (config, (repr(config),), TUNING_SEED + i)
            for config in candidates
            for i in range(profile.tuning_seeds)
        ]
    between = [replace(each, **changes) for each in candidates[: None if tried else 1]]
    settings = tuple(map(repr, [*between, *candidates[: len(between)]]))
    reported = range(1 if own.single(profile.name) else profile.seeds)
    found += [(between[0], settings, seed) for seed in reported]
    runs = {(which, seed): chapters.steps(exhibit, config) for config, which, seed in found}
    if exhibit.startswith("gsl"):
        from alignbook.papers.gsl import model, rivals
        from alignbook.papers.gsl.warm_up import warm_up_of

        for config, _, seed in found:
            method = rivals.METHODS.get(config.method, model.METHOD)
            runs[repr(warm_up_of(method, config)), seed] = 0
    return runs


@pytest.mark.parametrize("overrides", [{}, {"seeds": "3", "chan_trials": "2", "gsl_trials": "1"}])
def test_equal_runs_of_the_store_are_one_training(overrides):
    """Arm by arm as many new ones as there are new settings and seeds."""
    known: set = set()
    seen: set = set()
    for exhibit, (data, _, _) in needs.costed(ALL).items():
        if exhibit == "base-models":
            continue
        profile = profiles.get("paper", data, overrides)
        for arm in exhibits.arms(exhibit, data):
            if arm == "base-model":
                continue
            found = plan.trainings(exhibit, data, profile, [arm])
            expected = runs_of(exhibit, arm, profile)
            expected = {(data, *which): steps for which, steps in expected.items()}
            new = {key: found[key] for key in found if key not in seen and "components" not in key}
            assert len(new) == len(expected.keys() - known), (exhibit, arm)
            if not exhibit.startswith("gsl") and exhibit != "comalign-F7":  # whose arms vary them
                steps = sorted(each.work.steps for each in new.values())
                assert steps == sorted(expected[key] for key in expected.keys() - known), arm
            known, seen = known | expected.keys(), seen | found.keys()


def test_what_comes_before_is_there(made):
    everything = whole(made)
    for (data, paper, name), each in everything.items():
        assert name not in each.after
        assert all((data, paper, before) in everything for before in each.after)


def test_trials_end_before_seeds_and_a_warm_up_before_both():
    profile = profiles.get("paper", "f30k_precomp", {"seeds": "1"})
    found = plan.trainings("gsl-F1", "f30k_precomp", profile, ["gsl-0.2"])
    by_name = {name: each for (_, _, name), each in found.items()}
    trials = [f"gsl {i} at 0.4, seed 1000" for i in range(3)]
    assert by_name["gsl at 0.2, seed 0"].after == (*trials, "warm-up, hardest at 0.2, seed 0")
    assert {by_name[name].after for name in trials} == {("warm-up, hardest at 0.4, seed 1000",)}
    assert len(by_name) == 3 + 1 + 1 + 1


def test_a_control_trains_four_times_as_long():
    found = of_arm("long", 1, Work(10, 1e12), ["a", "b"], longer=4)
    assert [each.work.steps for each in found] == [10, 10, 40]
    assert [each.name for each in of_arm("one", 1, Work(1, 1), ["a"])] == ["one, seed 0"]


# --- Precisions ----------------------------------------------------------------------------------


def test_only_layers_products_gain_by_a_precision():
    work, waits = Work(3600, 9e12, 1e12), 0.065  # of each step
    assert gpu_hours.hours(work) == pytest.approx(1.0 + waits)
    assert gpu_hours.hours(work, "TF32") == pytest.approx(9 / (0.3 * 15.6) / 10 + 0.1 + waits)
    assert gpu_hours.hours(work, "bf16") == pytest.approx(9 / (0.3 * 31.2) / 10 + 0.1 + waits)
    assert gpu_hours.hours(Work(0, 0, 0, 7200), "bf16") == 2  # what no precision changes
    # The H100's plain float32 is 67 / 19.5 as fast.
    assert gpu_hours.hours(work, card="H100") == pytest.approx(19.5 / 67 + waits)


@pytest.mark.parametrize(
    "work, kind, measured",
    [  # milliseconds a step on an H100, by benchmarks/steps.py
        (chan_hours.work(PAPER, 36, False), "float32", 319),
        (chan_hours.work(PAPER, 36, False), "TF32", 92),
        (chan_hours.work(PAPER, 36, False), "bf16", 98),
        (chan_hours.work(PAPER, 36, True), "float32", 74),
        (chan_hours.work(PAPER, 36, True), "TF32", 80),
        (covalign_hours.work(END_TO_END), "float32", 499),
        (covalign_hours.work(END_TO_END), "TF32", 173),
        (covalign_hours.work(END_TO_END), "bf16", 123),
        (gsl_hours.work(PAPER, 5 * PAPER.gsl_batch, 8), "float32", 417),
    ],
)
def test_what_was_measured_lies_within_the_factor_of_three_that_the_plan_names(
    work, kind, measured
):
    planned = 3.6e6 * gpu_hours.hours(work._replace(steps=1), kind, "H100")
    assert measured / 3 < planned < measured * 3


def test_shares_of_products_by_hand():
    profile = profiles.get(
        "paper", "f30k_precomp", {"gsl_dim": "10", "gsl_sim_dim": "4", "gsl_regions": "2"}
    )
    (warm, *_) = plan.trainings("gsl-F1", "f30k_precomp", profile, ["warmed-0"]).values()
    words = 2 * 128 * 128 * 25
    assert warm.work.products == 6 * words * (2 * 10 * 4 + 3 * 2 * 16)
    assert warm.work.others == 6 * words * (4 * 2 * 10 + 3 * 4 * 25 * 4)


# --- Wall-clock ----------------------------------------------------------------------------------


def jobs(*hours, after=()):
    return {f"{i}": (each, after) for i, each in enumerate(hours)}


def test_the_longest_job_begins_first():
    assert plan.schedule(jobs(2, 2, 2, 3, 3), 2) == 7  # 3 2 2 | 3 2
    assert plan.schedule(jobs(1, 1, 1, 1, 4), 2) == 4
    assert plan.schedule(jobs(2, 3), 1) == 5 and plan.schedule(jobs(2, 3), 64) == 3
    assert plan.schedule({}, 8) == 0


def test_a_job_waits_for_those_before_it():
    trials = jobs(1, 1, 2)
    seeds = {f"seed {i}": (3, list(trials)) for i in range(2)}
    assert plan.schedule(trials | seeds, 2) == plan.schedule(trials | seeds, 64) == 2 + 3
    assert plan.schedule(seeds | trials, 2) == 5  # in whatever order they are listed
    assert plan.schedule(seeds, 2) == 3  # trials of an earlier start have ended


def test_more_gpus_never_make_it_less_work(made):
    everything = whole(made)
    spent = plan.hours(everything, "bf16")
    taken = [plan.wall_clock(everything, gpus) for gpus in plan.GPUS]
    assert taken[0] == pytest.approx(spent)
    for gpus, each in zip(plan.GPUS, taken):
        assert spent / gpus <= each * 1.0001
    assert all(more < less for less, more in pairwise(taken))


# --- What to run first ---------------------------------------------------------------------------


def test_the_cheapest_primary_claim_comes_first_by_hand(monkeypatch):
    needed = {"dear": "ab", "cheap": "b", "same": "b", "fits": "c", "too much": "d"}
    hours = {"a": 30, "b": 10, "c": 2, "d": 4}
    found = [SimpleNamespace(id=name, primary=name in ("dear", "cheap")) for name in needed]
    trainings = {
        name: {
            ("coco", "x", each): Training(each, Work(0, 0, 0, 3600 * hours[each])) for each in own
        }
        for name, own in needed.items()
    }
    monkeypatch.setattr(first, "claims", lambda: found)
    monkeypatch.setattr(first, "needed", lambda claim, made: trainings[claim.id])
    chosen, over = first.first({}, 42)
    told = [(each.claim, each.hours) for each in chosen]
    assert told == [("cheap", 10), ("dear", 30), ("same", 0), ("fits", 2)] and not over
    chosen, over = first.first({}, 12)
    assert [each.claim for each in chosen] == ["cheap", "same", "fits"]
    assert [(each.claim, each.hours) for each in over] == [("dear", 30)]


@pytest.mark.parametrize("budget", [1, 100, 2000])
def test_first_come_primary_claims_within_the_budget(made, budget):
    chosen, over = first.first(made, budget)
    assert sum(each.hours for each in chosen) <= budget
    kinds = [each.primary for each in chosen]
    assert kinds == sorted(kinds, reverse=True)
    assert sum(kinds) + len(over) == len(chapters.PAPERS)
    assert not over or budget < 200


def test_what_is_trained_already_costs_nothing_more(made):
    chosen, _ = first.first(made, 2000)
    by_claim = {each.id: each for each in first.claims()}
    known: plan.Trainings = {}
    for each in chosen:
        found = first.needed(by_claim[each.claim], made)
        new = {key: found[key] for key in found if key not in known}
        assert each.hours == pytest.approx(plan.hours(new, "bf16"))
        known |= found
    assert any(each.hours == 0 for each in chosen)


def test_what_is_not_made_on_the_data_is_not_promised(made):
    by_claim = {each.id: each for each in first.claims()}
    assert first.needed(by_claim["chan-more-regions"], made) is None  # beyond 36 published regions
    assert first.needed(by_claim["covalign-on-the-thing"], made) is None  # without gold boxes
    assert first.needed(by_claim["chan-hard-coding"], {}) is None
    both = first.needed(by_claim["comalign-clip"], made)
    assert {data for data, _, _ in both} == {"coco", "flickr30k"}


# --- In words ------------------------------------------------------------------------------------


def test_the_total_is_the_sum_of_the_lines(made):
    text = needs.plan(ALL).text
    _, _, rest = text.partition(plan.HEAD)
    lines = [line.split() for line in rest.partition("\n\n")[2].partition("\n\n")[0].splitlines()]
    rows = {
        line[0]: [float(each.replace(",", "")) for each in line[1:5]]
        for line in lines[2:]
        if len(line) > 3 and line[0] != "on"  # H100s
    }
    total = rows.pop("total")
    for i in range(4):
        assert sum(row[i] for row in rows.values()) == pytest.approx(total[i], abs=1)
    assert text.endswith(f"cost: about {plan.hours(whole(made)):.0f} GPU hours")
    assert max(map(len, text.splitlines())) <= 100


def test_the_page_has_the_table_of_today(made):
    page = (ROOT / "docs/at-scale.md").read_text(encoding="utf-8")
    assert plan.HEAD in page
    assert first.renewed(page, first.said(made)) == page, (
        "the table is of another state: python -m alignbook.workbook.needs writes it anew"
    )


def test_what_brings_the_hours_down_is_of_today_too(made):
    page = " ".join((ROOT / "docs/at-scale.md").read_text(encoding="utf-8").split())
    apart = [plan.trainings(name, one.data, one.profile) for name, one in made.items()]
    once = [one.new for one in made.values()]
    longest = max(plan.hours({key: each}) for some in once for key, each in some.items())
    for said, hours in (
        ("in float32, it would be {} hours", sum(map(plan.hours, apart))),
        ("among them, it is {};", sum(map(plan.hours, once))),
        ("with bf16 {}.", sum(plan.hours(each, "bf16") for each in once)),
        ("takes {} hours in float32", longest),
    ):
        assert said.format(f"{hours:,.0f}") in page, (said, hours)
