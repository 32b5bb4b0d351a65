"""Seeds that are bought: who gets them, when buying ends, and what readers make of the list."""

import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from alignbook import ROOT
from alignbook.evidence import claims, sequential, tuning_error
from alignbook.store import durable, runs
from alignbook.workbook import arm_runs, exhibits, profiles, results
from alignbook.workbook.running import buying, jobs

PAIR = "visual-codebook", "cross-attention"


def listed_of(seeds_of_arms):
    lines = [
        ("chan-T3", arm, "report", seed, f"{arm}-{seed}")
        for arm, count in seeds_of_arms.items()
        for seed in range(count)
    ]
    return pd.DataFrame(lines, columns=results.LISTED)


@pytest.fixture
def book(monkeypatch):
    """A workbook whose runs cost nothing; it counts the looks, and what each was asked of."""
    own = SimpleNamespace(
        profile=profiles.get("laptop"), kind="world", looks=[], trained=[], others=()
    )
    names = (*PAIR, "max", "base-model")

    def arms(asked, exhibit, seeds):
        assert asked is own and exhibit == "chan-T3"
        return listed_of({arm: seeds.get((exhibit, arm), 3) for arm in names})

    def gather(asked, listed):
        own.looks.append(listed[listed.role == "report"].groupby("arm").size().to_dict())
        timings = pd.DataFrame({"run": listed.key, "steps": 100.0})
        return {"metrics": None, "images": None, "runs": None, "timings": timings}

    monkeypatch.setattr(results, "arms", arms)
    monkeypatch.setattr(results, "gather", gather)

    def train(asked, one, wait=True):
        assert asked is own and one.role == "report"
        own.trained.append((one.arm, one.number, wait))
        if one.number in own.others and not wait:
            raise BlockingIOError("another process is at work on it")

    monkeypatch.setattr(results, "trials", lambda made: None)
    monkeypatch.setattr(results, "train", train)
    own.told = []
    monkeypatch.setattr(buying.progress, "part", lambda *told, trainings: own.told.append(told))
    return own


(PRIMARY,) = [each.id for each in claims.load() if each.paper == "chan" and each.primary]


def bought(monkeypatch, book, answers, needed=()):
    """What is bought where each look is answered by the next of these: by claim, the seeds that each of
    its arms' next look takes; `needed` are the seeds that would decide it.
    """
    waiting, asked = list(answers), []

    def standing(metrics, profile, chosen, most, trials):
        asked.append((profile, [claim.id for claim in chosen], most))
        return {
            claim: sequential.Standing("", max(arms.values(), default=0), frozenset(arms))
            for claim, arms in waiting.pop(0).items()
        }

    def judge(metrics, profile, chosen, trials):
        return (pd.DataFrame({"claim": [*dict(needed)], "needed": [*dict(needed).values()]}),)

    monkeypatch.setattr(buying.sequential, "standing", standing)
    monkeypatch.setattr(buying.verdicts, "judge", judge)
    return buying.buy(book, "chan", ["chan-T3"]), asked


def look(seeds, *arms):
    """A claim's arms, each of which takes so many seeds."""
    return {("chan-T3", arm): seeds for arm in arms}


def test_looks_go_on_until_nothing_is_wanted(book, monkeypatch):
    looks = [{PRIMARY: look(seeds, *PAIR)} for seeds in (5, 8)] + [{PRIMARY: {}}]
    found, asked = bought(monkeypatch, book, looks)
    assert [each["visual-codebook"] for each in book.looks] == [3, 5, 8]
    assert {each["max"] for each in book.looks} == {3}  # others keep the first look's seeds
    assert sorted(found.seed) == sorted([*range(3, 8)] * 2) and {*found.arm} == {*PAIR}
    assert list(found.columns) == results.LISTED and {*found.role} == {"report"}
    (profile, chosen, most), *_ = asked
    primary = [each.id for each in claims.load() if each.paper == "chan" and each.primary]
    assert (profile, chosen, most) == ("laptop", primary, 12)


def test_each_look_trains_its_new_seeds(book, monkeypatch):
    bought(monkeypatch, book, [{PRIMARY: look(5, *PAIR)}, {PRIMARY: look(8, PAIR[0])}, {}])
    expected = [(arm, seed, False) for arm in sorted(PAIR) for seed in (3, 4)]
    assert book.trained == expected + [(PAIR[0], seed, False) for seed in (5, 6, 7)]
    # how many are done of all up to the end of a look
    assert book.told == [(0, 4), (1, 4), (2, 4), (3, 4), (2, 5), (3, 5), (4, 5)]


@pytest.mark.parametrize("number, order", [(0, [4, 6]), (1, [6, 4]), (2, [4, 6])])
def test_a_buyer_waits_for_others_once_nothing_is_left_to_train(book, number, order):
    """Each in an order of its own: two don't take over the same training of a dead machine."""
    book.others = (4, 6)
    buying._train(book, {("chan-T3", PAIR[0]): 8}, {}, number)
    tried, waited = book.trained[:5], book.trained[5:]
    assert tried == [(PAIR[0], seed, False) for seed in range(3, 8)]
    assert waited == [(PAIR[0], seed, True) for seed in order]


def test_a_seed_of_a_later_look_is_known_as_those_of_the_first_are():
    profile = profiles.get("laptop")
    more = arm_runs.of_arm("chan-T3", "visual-codebook", profile, "world", range(3, 5))
    reported = {name: one for name, one in more.items() if one.role == "report"}
    assert [one.number for one in reported.values()] == [3, 4]
    first = arm_runs.of_arm("chan-T3", "visual-codebook", profile, "world")
    assert [each.number for each in first.values() if each.role == "report"] == [0, 1, 2]
    assert not {*reported} & {*first}
    again = arm_runs.of_arm("chan-T3", "visual-codebook", profile, "world", range(1, 4))
    assert {*reported} & {*again} and {*first} & {*again}  # known by what it is, not by the look


def test_a_control_of_one_seed_gets_those_that_it_lacks_and_no_other_single_arm(book, monkeypatch):
    names = ("visual-codebook", "visual-codebook-long", "permuted")
    ones = dict.fromkeys(names[1:], 1)

    def arms(asked, exhibit, seeds):
        return listed_of({arm: seeds.get((exhibit, arm), ones.get(arm, 3)) for arm in names})

    monkeypatch.setattr(results, "arms", arms)
    three = {PRIMARY: look(3, *names)}
    found, _ = bought(monkeypatch, book, [three, three])  # the second has them
    assert list(zip(found.arm, found.seed)) == [
        ("visual-codebook-long", 1),
        ("visual-codebook-long", 2),
    ]


def test_a_long_profile_buys_for_all_claims(book, monkeypatch):
    book.profile = profiles.get("overnight")
    _, asked = bought(monkeypatch, book, [{}])
    assert len(asked[0][1]) == sum(each.paper == "chan" for each in claims.load()) > 5


def test_what_takes_least_to_decide_comes_first_as_far_as_the_share_goes(book, monkeypatch):
    """12 runs of 100 steps are there: half of these steps are six seeds more, the primary's too."""
    monkeypatch.setattr(buying, "SHARE", 0.5)
    book.profile = profiles.get("overnight")
    hard, soft, top, base = *PAIR, "max", "base-model"
    claims_ = {PRIMARY: look(5, hard), "near": look(5, top), "far": look(5, soft, base)}
    needed = {PRIMARY: 200.0, "near": 6.0, "far": 9.0}

    def seeds_after(needed, *looks):
        book.looks, book.trained = [], []
        bought(monkeypatch, book, [*looks, {}], needed)
        return book.looks[-1]

    first = {hard: 5, top: 5, soft: 3, base: 3}
    assert seeds_after(needed, claims_) == first  # "far" would take four more, two are left
    second = {"near": look(8, top), "far": look(5, soft)}
    assert seeds_after(needed, claims_, second) == first | {soft: 5}
    assert seeds_after(needed | {"near": np.inf}, claims_) == {hard: 5, top: 3, soft: 5, base: 5}
    one = {PRIMARY: look(5, hard), "near": look(5, hard, top), "far": look(5, soft)}
    assert seeds_after(needed, one) == {hard: 5, top: 5, soft: 5, base: 3}  # hard is paid once
    primary_alone = {PRIMARY: look(12, *PAIR), "near": look(5, top)}
    assert seeds_after(needed, primary_alone) == {hard: 12, soft: 12, top: 3, base: 3}
    unjudged = {"far": look(5, soft, base), "near": look(5, top), "new": look(5, hard)}
    assert seeds_after({"far": 5.0}, unjudged) == {hard: 5, top: 5, soft: 3, base: 3}


def test_what_is_not_trained_costs_nothing(book, monkeypatch):
    monkeypatch.setattr(buying, "SHARE", 0.0)
    book.profile = profiles.get("overnight")
    gather = results.gather

    def untrained(asked, listed):
        found = gather(asked, listed)
        found["timings"].loc[found["timings"].run.str.startswith("base"), "steps"] = 0.0
        return found

    monkeypatch.setattr(results, "gather", untrained)
    bought(monkeypatch, book, [{"free": look(5, "base-model"), "dear": look(5, "max")}, {}])
    assert book.looks[-1] == {**dict.fromkeys([*PAIR, "max"], 3), "base-model": 5}


def test_who_says_how_many_seeds_buys_none():
    assert profiles.get("laptop", overrides={"seeds": "4"}).seeds_most == 4
    assert profiles.get("laptop", overrides={"seeds": "5", "seeds_most": "9"}).seeds_most == 9
    assert profiles.get("smoke").seeds_most == profiles.get("smoke").seeds == 1


def test_the_graph_keeps_the_list_of_an_earlier_start():
    """Snakemake removes what a job makes before it begins, unless the rule says that it updates it."""
    rule = (ROOT / "Snakefile").read_text(encoding="utf-8").partition('f"seeds_{whose}"')[2]
    assert "\n            update(each)," in rule.partition("shell:")[0]


@pytest.mark.parametrize("seeds, most", [(4, 9), (3, 20), (1, 12)])
def test_seeds_are_bought_between_looks_alone(seeds, most):
    """Otherwise the looks would spend more than the whole error."""
    with pytest.raises(ValueError, match=f"seeds={seeds} and seeds_most={most}.*3, 5, 8, 12"):
        profiles.get("laptop", overrides={"seeds": str(seeds), "seeds_most": str(most)})


@pytest.fixture
def out(tmp_path, monkeypatch):
    """A results folder and stored runs: one of the first look and four that were bought, one of them
    with other settings, one of other code, one on other data.
    """
    monkeypatch.setattr(runs, "STORE", tmp_path / "store")
    said = {"hard-0": (1, "a", "w0"), "hard-3": (1, "a", "w3"), "hard-4": (2, "a", "w0")}
    said |= {"hard-5": (1, "b", "w0"), "hard-7": (1, "a", "other data")}
    said |= {"w0": (9, "c", "data"), "w3": (9, "c", "data")}  # a warm-up each
    for key, (steps, code, data) in said.items():
        folder = tmp_path / "store" / key
        folder.mkdir(parents=True)
        np.save(folder / "x.npy", np.zeros(1))
        record = {"key": key, "config": {"steps": steps}, "code": code, "inputs": [data]}
        record["files"] = durable.described(folder)
        (folder / "run.json").write_text(json.dumps(runs.sealed(record)))
    own = [key for key in said if key.startswith("hard")]
    lines = [("chan-T3", "hard", "report", int(key[-1]), key) for key in own]
    lines += [("chan-T3", "hard", "report", 6, "gone"), ("chan-T3", "soft", "report", 3, "hard-3")]
    made = pd.DataFrame(lines, columns=results.LISTED)
    (tmp_path / "seeds").mkdir()
    made.to_csv(tmp_path / "seeds/chan.csv", index=False)
    return tmp_path


def test_readers_take_bought_runs_of_the_same_settings_and_code(out):
    first = pd.DataFrame([("chan-T3", "hard", "report", 0, "hard-0")], columns=results.LISTED)
    book = SimpleNamespace(out=out, profile=profiles.get("laptop"))
    found = results.with_bought(book, first)
    assert list(zip(found.arm, found.seed, found.key)) == [
        ("hard", 0, "hard-0"),
        ("hard", 3, "hard-3"),
    ]
    of_gsl = first.assign(exhibit="gsl-F1")
    assert len(results.with_bought(book, of_gsl)) == 1
    # who buys none, or fewer, takes nothing of an earlier start
    for seeds, most in (("5", "5"), ("3", "3")):
        book.profile = profiles.get("laptop", overrides={"seeds": seeds, "seeds_most": most})
        assert len(results.with_bought(book, first)) == 1


def test_a_start_of_a_part_keeps_what_was_bought_for_others(tmp_path, monkeypatch, capsys):
    made = {"chan-T3": listed_of({"hard": 4}), "chan-T1": listed_of({}).iloc[:0]}
    monkeypatch.setattr(buying, "buy", lambda book, paper, names: made[names[0]])
    monkeypatch.setattr(buying, "answers", lambda book, paper, names: [f"{paper}: {names[0]}"])
    book = SimpleNamespace(out=tmp_path)
    for name in ("chan-T3", "chan-T1", "chan-T3"):
        jobs.seeds(book, "chan", name)
        assert len(pd.read_csv(tmp_path / "seeds/chan.csv")) == 4
        *_, said = capsys.readouterr().out.splitlines()
        assert said.strip() == f"chan: {name}"  # the answer, below what was bought


def test_an_answer_is_the_verdict_on_the_primary_claim(monkeypatch):
    """In twelve paired seeds one arm is better by 2 or 3; no other claim of the paper is asked."""
    lines = [
        ("chan-T3", arm, "RSUM", seed, 100.0 + seed + (2 + seed % 2) * (arm == PAIR[1]), "learnt")
        for arm in (*PAIR, "textual-codebook")
        for seed in range(12)
    ]
    columns = ["exhibit", "row", "column", "seed", "value", "learnt"]
    made = {"metrics": pd.DataFrame(lines, columns=columns), "runs": None}
    monkeypatch.setattr(results, "arms", lambda book, name: listed_of({arm: 12 for arm in PAIR}))
    monkeypatch.setattr(results, "gather", lambda book, listed: made)
    monkeypatch.setattr(results, "trials", lambda runs: None)
    book = SimpleNamespace(profile=profiles.get("laptop"))
    (said,) = buying.answers(book, "chan", ["chan-T3"])
    question = exhibits.QUESTIONS["chan-hard-coding"]
    assert said.startswith(f"CHAN: {question} contradicted: visual-codebook − cross-attention −")
    assert said.endswith(", 12 seeds")


def test_candidates_are_told_apart_by_their_settings():
    made = pd.DataFrame(
        {
            "exhibit": "comalign-TI",
            "row": "clip+comalign → coco",
            "role": ["trial"] * 4 + ["report"],
            "seed": [1000, 1001, 1000, 1001, 0],
            "config": ["{1}", "{1}", "{2}", "{2}", "{2}"],
            "dev_rsum": [100.0, 101.0, 200.0, 201.0, np.nan],
            "learnt": "learnt",
        }
    )
    found = results.trials(made)
    assert found.candidate.tolist() == [0, 0, 1, 1] and found.dev_rsum.tolist()[-1] == 201
    assert {*found.row} == {"clip+comalign"} and {*found.target} == {"coco"}
    assert len(results.trials(made[4:])) == 0
    idle = made.assign(learnt=["learnt", "did not train", *["learnt"] * 3])
    found = results.trials(idle)
    assert found.candidate.tolist() == [0, 0, 1, 1]
    assert found.dev_rsum.fillna(0).tolist() == [0, 0, 200, 201]
    assert results.trials(made.assign(learnt="did not train")).dev_rsum.notna().all()  # none did


def test_an_edge_is_one_of_all_that_were_tried():
    """A candidate that did not train is not chosen, but something was tried beyond the next one."""
    tried = [{"margin": margin} for margin in (0.02, 0.05, 0.1, 0.2)]
    made = pd.DataFrame(
        {
            "exhibit": "chan-T3",
            "row": "max",
            "role": "trial",
            "seed": 1000,
            "config": [json.dumps(each) for each in tried],
            "dev_rsum": [300.0, 301.0, 303.0, 310.0],
            "learnt": ["learnt"] * 3 + ["did not train"],
        }
    )
    ((_, found),) = tuning_error.choices(results.trials(made)).values()
    assert found == [] and tuning_error.at_edge(tried, tried[2]) == []
    found = tuning_error.choices(results.trials(made.assign(learnt="learnt")))
    assert found == {("chan-T3", "max", ""): (tried[3], ["margin 0.2 of 0.02 to 0.2"])}
