"""The primary claim, those after it, and the seeds that could still decide a claim.

By hand, and by papers whose truth is known.
"""

import time
from dataclasses import replace

import looking
import numpy as np
import pandas as pd
import pytest
from alignbook.evidence import claims, contrasts, families, sequential, statistics, verdicts
from scipy import stats
from simulated_papers import LOOKS, false_alarms, told, took
from simulated_papers import contrasts as drawn

ENTRY = {"paper": "chan", "exhibit": "X", "says": "something", "where": "there"}
TIMES = 2000
SLACK = 3 * np.sqrt(0.05 * 0.95 / TIMES)  # three standard errors of a rate of 5 %: 1.5 %


def claim(id="other", test="greater", **entry):
    entry = {"pairs": [["a", "c"]]} | entry if test == "greater" else entry
    return claims.Entry(**ENTRY, id=id, test=test, **entry).claim()


def first(**entry):
    return claim("first", pairs=[["a", "b"]], primary=True, **entry)


def exactly(mean, spread, seeds, seed=0):
    """Values with this mean and standard deviation at the first look, and about so at all."""
    z = np.random.default_rng([seed, seeds]).normal(size=seeds)
    return mean + spread * (z - z.mean()) / z.std(ddof=1)


def table(**differences):
    """Metrics of an arm a, and of others which it is so much better than, seed by seed."""
    seeds = len(next(iter(differences.values())))
    a = 400 + np.random.default_rng(1).normal(0, 5, seeds)
    arms = {"a": a} | {row: a - values for row, values in differences.items()}
    lines = [("X", r, "RSUM", s, float(v)) for r, of in arms.items() for s, v in enumerate(of)]
    return pd.DataFrame(lines, columns=["exhibit", "row", "column", "seed", "value"])


def judged(metrics, *chosen, trials=None):
    return verdicts.judge(metrics, "laptop", chosen, trials=trials)[0].set_index("claim")


# --- The primary claim, and those after it -------------------------------------------------------

CLEAR, NONE = [10.0, 10.2, 9.9, 10.1, 10.0], [0.5, -2.0, 1.5, -0.5, 0.6]


@pytest.mark.parametrize(
    "difference, expected", [(10, "reproduced"), (-10, "contradicted"), (0, "undecided")]
)
def test_the_primary_claim_is_not_corrected_for_the_others(difference, expected):
    noise = np.array(NONE)
    metrics = table(b=difference + noise, c=noise)
    many = [claim(f"other {i}") for i in range(30)]
    found = judged(metrics, first(), *many).loc["first"]
    assert found.verdict == expected and found.holm == pytest.approx(min(1, found.p / 0.8))
    _, lines = verdicts.judge(metrics, "laptop", [first()])
    assert lines.holm.item() == pytest.approx(found.holm)
    alone = judged(metrics, first()).loc["first"]
    pd.testing.assert_series_equal(found, alone)


def test_the_primary_claim_is_tested_at_four_fifths():
    """p of 4.5 % would do for a claim that is not primary."""
    values = exactly(1.0, 1.0, 3)
    scale = stats.t.isf(0.0045 / 2, 2) / np.sqrt(3)  # p of 0.45 %, over a tenth of the error
    for factor, expected in ((1.0, "undecided"), (1.07, "reproduced")):
        metrics = table(b=values - values.mean() + factor * scale * values.std(ddof=1))
        found = judged(metrics, first()).loc["first"]
        assert found.p == pytest.approx(0.045, rel=0.2) and found.verdict == expected
        assert judged(metrics, claim(pairs=[["a", "b"]])).verdict.item() == "reproduced"


def test_while_the_primary_claim_is_open_the_others_have_a_fifth():
    metrics = table(b=NONE, c=CLEAR)
    found, lines = verdicts.judge(metrics, "laptop", [claim(), first()])
    found, alone = found.set_index("claim"), judged(metrics, claim())
    assert dict(found.verdict) == {"other": "reproduced", "first": "undecided"}
    assert found.holm["other"] == pytest.approx(5 * alone.holm["other"])
    assert dict(zip(lines.claim, lines.reading)) == {"other": "holds", "first": "open"}
    weak = table(b=NONE, c=exactly(3.0, 1.0, 5))
    assert 0.01 < judged(weak, claim()).holm["other"] < 0.05  # enough without, not with the primary
    assert judged(weak, claim()).verdict["other"] == "reproduced"
    assert judged(weak, claim(), first()).verdict["other"] == "undecided"
    for sign in (1, -1):
        b = sign * np.array(CLEAR)
        found = judged(table(b=b, c=exactly(3.0, 1.0, 5)), claim(), first())
        assert found.verdict["other"] == "reproduced"
        assert found.holm["other"] == pytest.approx(judged(weak, claim()).holm["other"])
    elsewhere = replace(first(), paper="gsl")
    assert judged(weak, claim(), elsewhere).verdict["other"] == "reproduced"


def test_holm_counts_the_others_alone():
    noisy = np.array([1.0, 3.0, 2.0, 1.5, 2.8])
    metrics = table(b=CLEAR, c=noisy, d=noisy + 0.5)
    others = [claim("0"), claim("1", pairs=[["a", "d"]])]
    with_it, without = judged(metrics, first(), *others), judged(metrics, *others)
    pd.testing.assert_frame_equal(with_it.loc[["0", "1"]], without)


def test_a_primary_claim_that_may_come_later_passes_nothing_on():
    """Not so far: its arms are missing, did not train, have one seed, or no number. Never: it needs a
    longer profile, or what can't be had.
    """
    metrics = table(b=CLEAR, c=exactly(3.0, 1.0, 5))
    alone = judged(metrics, claim()).holm["other"]
    is_b = metrics.row == "b"
    later = {
        "not run": [metrics[~is_b], metrics[~is_b | (metrics.seed == 0)]],
        "did not train": [metrics.assign(learnt=np.where(is_b, "did not train", "learnt"))],
    }
    later["not run"].append(metrics.assign(value=metrics.value.where(~is_b, np.nan)))
    for verdict, tables in later.items():
        for each in tables:
            found = judged(each, first(), claim())
            assert list(found.verdict) == [verdict, "undecided"]
            assert found.holm["other"] == pytest.approx(5 * alone)
    for never in ({"least": "overnight"}, {"untestable": "so"}):
        found = judged(metrics[~is_b], replace(first(), **never), claim())
        assert found.verdict["other"] == "reproduced"
        assert found.holm["other"] == pytest.approx(alone)


@pytest.mark.parametrize(
    "band, middle, expected",
    [
        ({"no_difference": 1.0}, 0.0, "no difference"),  # ±1 % of 400: ±4
        ({"no_difference_points": 4.0}, 0.0, "no difference"),
        ({"no_difference_points": 0.4}, 0.0, "undecided"),
        ({}, 0.0, "undecided"),
        ({"no_difference_points": 4.0}, 10.0, "reproduced"),
        ({"no_difference_points": 4.0}, -10.0, "contradicted"),
        ({"no_difference_points": 30.0}, 10.0, "reproduced"),  # smaller than the band, but there
    ],
)
def test_no_difference_by_hand(band, middle, expected):
    metrics = table(b=middle + np.array([0.3, -0.4, 0.2, -0.2, 0.1]), c=CLEAR)
    found = judged(metrics, first(**band), claim()).loc["first"]
    assert found.verdict == expected
    if expected == "no difference":
        unit = "1 %" if "no_difference" in band else "4 points"
        assert found.why == f"surely within ±{unit}, the band named beforehand"
    elif band == {"no_difference_points": 30.0}:
        assert found.why == "it holds; surely within ±30 points, the band named beforehand"
    else:
        assert "surely within" not in found.why


def test_p_of_no_difference_is_of_two_one_sided_tests_at_each_look():
    values = np.array([0.3, -0.4, 0.2, -0.2, 0.1])
    found = judged(table(b=values), first(no_difference_points=2)).loc["first"]
    p = [statistics.inside(values[:3], -2, 2)[0] / 0.1, statistics.inside(values, -2, 2)[0] / 0.2]
    assert found.p == pytest.approx(min(1, *p)) and found.took == 5
    narrow = judged(table(b=values), first(no_difference_points=1)).loc["first"]
    assert narrow.verdict == "no difference" or narrow.needed >= 5


def test_the_first_look_that_decides_ends_the_test():
    """Surely within the band after five seeds, and after twelve a difference, which is too late."""
    values = np.array([0.3, -0.4, 0.2, -0.2, 0.1] + [0.5] * 7)
    metrics = table(b=values, c=[10.0 + x for x in values])
    early = judged(metrics[metrics.seed < 5], first(no_difference_points=2), claim())
    late = judged(metrics, first(no_difference_points=2), claim())
    assert (
        list(early.took) == list(late.took)[:1] + [early.took["other"]] and late.took["first"] == 5
    )
    assert late.verdict["first"] == early.verdict["first"] == "no difference"
    assert late.seeds["first"] == 12 and early.seeds["first"] == 5
    # the others have seven tenths of its part, which the looks at 8 and 12 seeds would have spent
    alone = judged(metrics, claim())
    assert late.holm["other"] == pytest.approx(alone.holm["other"] / (0.2 + 0.8 * 0.7))


def test_no_difference_passes_nothing_on_after_the_last_look(monkeypatch):
    monkeypatch.setattr(families.looks, "looks", lambda seeds: ((seeds, 1.0),))
    metrics = table(b=np.array(NONE) / 10, c=CLEAR)
    found = judged(metrics, first(no_difference_points=2), claim())
    assert found.verdict["first"] == "no difference"
    assert found.holm["other"] == pytest.approx(5 * judged(metrics, claim()).holm["other"])


def test_seeds_that_a_verdict_took():
    quiet, loud = np.array([10.0, 10.01, 9.99, 10, 10]), np.array([2.0, 3.1, 1.2, 2.4, 1.9])
    metrics = table(b=quiet, c=loud, d=quiet)
    chosen = first(), claim(), claim("both", pairs=[["a", "c"], ["a", "d"]])
    found = judged(metrics, *chosen)
    assert dict(found.took) == {"first": 3, "other": 5, "both": 5} and set(found.seeds) == {5}
    assert set(found.verdict) == {"reproduced"}


def test_needed_is_at_the_share_of_the_last_look_and_may_be_for_no_difference():
    loud = exactly(1.0, 1.0, 3)
    found = judged(table(b=loud, c=loud), first()).loc["first"]

    def fewest(power):
        shares = [(3, 0.1), (5, 0.2), (8, 0.3), (200, 0.4)]
        return next(
            n
            for n in range(2, 200)
            if power(n, 0.04 * next(part for most, part in shares if n <= most)) >= 0.8
        )

    assert found.needed == fewest(lambda n, level: statistics.power(1.0, 1.0, n, level))
    tiny = exactly(0.05, 1.0, 3)
    by_band = judged(table(b=tiny), first(no_difference_points=2)).loc["first"]
    inside = fewest(lambda n, level: statistics.power_inside(0.05, -2, 2, 1.0, n, level))
    assert by_band.needed == inside < judged(table(b=tiny), first()).needed.iloc[0]


# --- What the buyer of seeds is told -------------------------------------------------------------


def standing(metrics, *chosen, most=12, **more):
    found = sequential.standing(metrics, "laptop", chosen, most, **more)
    assert all((each.seeds > 0) == bool(each.arms) for each in found.values())
    wanted = looking.wanted(metrics, "laptop", chosen, most, **more)
    return {id: each.said for id, each in found.items()}, wanted


def test_an_open_claim_takes_the_next_look():
    for seeds, following in ((2, 3), (3, 5), (4, 5), (5, 8), (8, 12)):
        said, wanted = standing(table(b=exactly(0.6, 1, seeds), c=exactly(0, 1, seeds)), first())
        assert said == {"first": f"open after {seeds} seeds"}
        assert wanted == {("X", "a"): following, ("X", "b"): following}
    said, wanted = standing(table(b=exactly(0.6, 1, 5)), first(), most=6)
    assert set(wanted.values()) == {6}


def test_a_first_look_needs_nothing_but_seeds():
    metrics = table(b=[1.0], c=[2.0])
    assert standing(metrics, first())[1] == {("X", "a"): 3, ("X", "b"): 3}
    assert standing(metrics, first(), most=2)[1] == {("X", "a"): 2, ("X", "b"): 2}
    assert standing(metrics, first(), most=1) == ({"first": verdicts.FEW_SEEDS}, {})
    missing = metrics[metrics.row != "b"]
    assert standing(missing, first()) == ({"first": "missing: X b RSUM"}, {})
    idle = table(b=NONE).assign(learnt="did not train")
    said, wanted = standing(idle, first())
    assert said["first"].startswith("rests on what did not train") and not wanted


def test_a_decided_claim_takes_no_more():
    quiet = np.array([10.0, 10.01, 9.99, 10, 10])
    for values in (quiet, -quiet):
        assert standing(table(b=values), first()) == ({"first": "decided after 3 seeds"}, {})
    same = exactly(0, 0.1, 5)
    said, wanted = standing(table(b=same), first(no_difference_points=2))
    assert said["first"].startswith("decided after") and not wanted


def test_the_most_seeds_are_the_last():
    assert standing(table(b=exactly(0.1, 1, 12)), first()) == ({"first": "12 seeds taken"}, {})
    assert standing(table(b=exactly(0.1, 1, 5)), first(), most=5)[1] == {}
    same = table(b=[1.0] * 3)
    said, wanted = standing(same, first())
    assert "no spread" in said["first"] and not wanted


@pytest.mark.parametrize("factor, bought", [(2.0, 5), (0.5, 0)])
def test_what_is_counted_buys_no_seeds_and_holds_up_none(factor, bought):
    """Seeds that seconds lack are bought, unless megabytes have decided the claim."""
    time, none = table(b=exactly(-60, 60, 3)), table(b=[0.0] * 3)
    memory = none.assign(value=np.where(none.row == "b", factor, 1.0))
    metrics = pd.concat([time.assign(column="ms/pair"), memory.assign(column="MB")])
    cost = claim("cost", "ratio", pairs=[["b", "a"]], columns=["ms/pair", "MB"], band=[1, np.inf])
    said, wanted = standing(metrics, cost)
    assert set(wanted.values()) == {bought} - {0}
    assert said["cost"].startswith("open after 3 seeds" if bought else "decided after 3 seeds")


def test_what_is_futile_at_a_fifth_may_have_its_turn_later():
    faint, three = exactly(0.0, 1.0, 8), [claim(name) for name in "123"]
    said, wanted = standing(table(b=exactly(0.6, 1, 8), c=faint), first(), *three)
    power = statistics.power(statistics.t_interval(faint)[2], 1.0, 12, 0.05 * 0.2 * 0.4 / 3)
    assert power < 0.2 and said["first"] == "open after 8 seeds"
    assert said["1"] == f"futile after 8 seeds: 12 would find it with {100 * power:.0f} %"
    assert wanted == {("X", "a"): 12, ("X", "b"): 12}
    decided = table(b=[10.0, 10.01, 9.99] + [10.0] * 5, c=faint)
    said, wanted = standing(decided, first(), *three)
    assert said["first"] == "decided after 3 seeds" and said["1"] == "open after 8 seeds"
    assert wanted == {("X", "a"): 12, ("X", "c"): 12}


def test_futile_by_hand():
    """Three contrasts have to hold and one will not: it is measured, loudly, far the other way."""
    loud = {"c": exactly(3.0, 1.0, 8), "d": exactly(3.0, 1.0, 8, 1), "e": exactly(-0.95, 1.0, 8)}
    metrics = table(b=[10.0, 10.01, 9.99] + [10.0] * 5, **loud)
    three = claim(pairs=[["a", "c"], ["a", "d"], ["a", "e"]])
    said, wanted = standing(metrics, first(), three)
    # it is open: with twelve seeds it may well be reversed
    assert said["other"] == "open after 8 seeds" and ("X", "e") in wanted
    near = exactly(0.0, 1.0, 8)  # at best 0.84 either way: one of 40 claims at a look's level
    many = [claim(f"{i}") for i in range(40)]
    said, wanted = standing(table(b=[10.0, 10.01, 9.99] + [10.0] * 5, c=near), first(), *many)
    half = statistics.t_interval(near)[2]
    power = statistics.power(half, 1.0, 12, 0.05 * 0.4 / 40)
    assert power < 0.2
    assert said["0"] == f"futile after 8 seeds: 12 would find it with {100 * power:.0f} %"
    assert not wanted


@pytest.mark.parametrize("test, more", [("flat", {"rows": ["a", "c"]}), ("greater", {})])
def test_the_likeliest_end_of_an_interval(test, more):
    """The favourable effect of a band is the nearest to its middle, of a bound the farthest."""
    values = exactly(1.8, 1.2, 5)
    chosen = claim(test=test, **more)
    numbers = contrasts.Numbers(table(c=values))
    line = contrasts.measured(chosen.contrasts[0], numbers)
    found = sequential.likely(families.Member(chosen, [line], None), 0.05, 12)
    mean, half, spread = -line["from_low"] + chosen.contrasts[0].low, line["half"], line["spread"]
    percent = contrasts.Numbers(table(c=values)).differences(chosen.contrasts[0])[1]
    interval = statistics.t_interval(percent, {"flat": 0.9, "greater": 0.95}[test])
    assert half == pytest.approx(interval[2] - interval[0])  # two one-sided tests go with 90 %
    if test == "greater":
        mean = line["value"]
        expected = statistics.power(mean + half, spread, 12, 0.05 * 0.4)
    else:
        mean = line["value"]
        away = statistics.power(abs(mean) + half - 0.5, spread, 12, 0.05 * 0.4)
        nearest = np.sign(mean) * max(abs(mean) - half, 0)
        inside = statistics.power_inside(nearest, -0.5, 0.5, spread, 12, 0.05 * 0.4)
        expected = max(away, inside)
    assert found == pytest.approx(expected)


def test_a_choice_on_dev_makes_a_claim_futile_that_seeds_cannot_mend():
    metrics = table(b=exactly(0.5, 1.0, 8))
    trials = pd.DataFrame(
        {
            "exhibit": "X",
            "row": "b",
            "candidate": [0, 0, 1, 1],
            "seed": [0, 1, 0, 1],
            "dev_rsum": [300.0, 304.0, 303.0, 295.0],  # 302 and 299: behind by −3 and 9
        }
    )
    assert standing(metrics, first())[0]["first"] == "open after 8 seeds"
    trials.dev_rsum *= 10
    said, wanted = standing(metrics, first(), trials=trials)
    assert said["first"].startswith("futile after 8 seeds: 12 would find it with") and not wanted


def test_all_claims_of_all_papers_are_asked_quickly():
    chosen = [c for c in claims.load() if not c.untestable and not c.print_only]
    terms = dict.fromkeys(t for c in chosen for x in c.contrasts for t in x.terms)
    rng = np.random.default_rng(0)
    lines = [
        (term.exhibit, term.row, term.column, seed, 300 + rng.normal(0, 1))
        for term in terms
        for seed in range(5)
    ]
    metrics = pd.DataFrame(lines, columns=["exhibit", "row", "column", "seed", "value"])
    begun = time.process_time()
    found = sequential.standing(metrics, "paper", None)
    assert time.process_time() - begun < 2 and set(found) == {c.id for c in claims.load()}


# --- Papers whose truth is known -----------------------------------------------------------------


@pytest.mark.parametrize("band", [None, 0.5, 1.0, 1.5, 3.0])
@pytest.mark.parametrize("others", [0, 4, 11])
def test_false_alarms_of_a_paper_without_any_effect(others, band):
    """Over all looks and claims; also where the primary claim is rightly found to be the same."""
    effects = [0.0] * (1 + others)
    said = told(drawn(effects, TIMES, seed=others), band)
    assert false_alarms(said, effects).mean() <= 0.05 + SLACK
    if band == 3.0:
        assert (said[-1, 0] == "same").mean() > 0.95


def test_an_effect_of_two_deviations_is_found_and_soon():
    effects = [2.0, 0, 0, 0, 0]
    said = told(drawn(effects, TIMES, seed=5), band=1.0)
    assert (said[-1, 0] == "holds").mean() >= 0.80 and took(said).mean() <= 8
    assert (said[LOOKS.index(8), 0] == "holds").mean() >= 0.80
    assert false_alarms(said, effects).mean() <= 0.05 + SLACK


@pytest.mark.parametrize("band", [0.5, 1.0, 2.0])
def test_no_difference_at_the_edge_of_the_band(band):
    said = told(drawn([band], TIMES, seed=6), band)
    assert (said[-1, 0] == "same").mean() <= 0.05 + SLACK


def paper(values, times):
    """Metrics and claims of some repetitions, as papers of their own."""
    lines, chosen = [], []
    for i in range(times):
        name = f"X{i}"
        arms = np.concatenate([np.zeros((1, values.shape[2])), -values[:, i]])
        lines += [
            (name, f"a{k}", "RSUM", seed, 400 + value)
            for k, of_arm in enumerate(arms)
            for seed, value in enumerate(of_arm)
        ]
        for k in range(1, len(arms)):
            band = {"primary": True, "no_difference_points": 1.5} if k == 1 else {}
            entry = ENTRY | {"paper": f"paper {i}", "exhibit": name, "id": f"{i} {k}"} | band
            chosen.append(claims.Entry(test="greater", pairs=[["a0", f"a{k}"]], **entry).claim())
    columns = ["exhibit", "row", "column", "seed", "value"]
    return pd.DataFrame(lines, columns=columns), chosen


def test_the_engine_and_the_buyer_do_as_the_simulations(monkeypatch):
    """Seed by seed as they are bought, until nothing is wanted any more."""
    monkeypatch.setattr(statistics, "seeds_needed", lambda found: np.nan)
    words = {"holds": "reproduced", "reversed": "contradicted", "same": "no difference"}
    times, effects = 24, [1.2, 0.0, 2.5, 0.8]
    values = drawn(effects, times, seed=7)
    values[:, times // 2 :] -= np.array(effects)[:, None, None]  # half of them without an effect
    expected = told(values, 1.5)
    metrics, chosen = paper(values, times)
    for i, seeds in enumerate(LOOKS):
        found, _ = verdicts.judge(metrics[metrics.seed < seeds], "laptop", chosen)
        said = [words.get(word, "undecided") for word in expected[i].T.ravel()]
        assert list(found.verdict) == said
    bought = {}
    while True:
        have = [bought.get((e, r), 3) for e, r in zip(metrics.exhibit, metrics.row)]
        there = metrics[metrics.seed < np.array(have)]
        more = looking.wanted(there, "laptop", chosen)
        if not more:
            break
        assert any(bought.get(arm, 3) < seeds for arm, seeds in more.items())
        bought |= {arm: max(seeds, bought.get(arm, 3)) for arm, seeds in more.items()}
    final = verdicts.judge(there, "laptop", chosen)[0].set_index("claim")
    for i in range(times):
        first_ = final.loc[f"{i} 1"]
        assert first_.verdict == words.get(expected[-1, 0, i], "undecided")
        assert first_.took == (took(expected)[i] if expected[-1, 0, i] else 0)
    assert {3, 5, 8, 12} & set(bought.values()) and max(bought.values()) <= 12
