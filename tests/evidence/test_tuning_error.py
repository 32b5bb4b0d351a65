"""What the choice on dev adds to a contrast, by hand."""

import json

import numpy as np
import pandas as pd
import pytest
from alignbook.evidence import claims, statistics, tuning_error, verdicts
from alignbook.evidence.contrasts import Numbers
from scipy import stats

ENTRY = {"id": "some", "paper": "chan", "exhibit": "X", "says": "something", "where": "there"}


def trials(row="a", exhibit="X", target="", **candidates):
    """{candidate: dev RSUM by tuning seed}."""
    lines = [
        (exhibit, row, target, candidate, seed, value)
        for candidate, values in candidates.items()
        for seed, value in enumerate(values)
    ]
    columns = ["exhibit", "row", "target", "candidate", "seed", "dev_rsum"]
    return pd.DataFrame(lines, columns=columns)


def contrast(pairs=(("a", "b"),), test="greater", **entry):
    entry = ENTRY | {"test": test, "pairs": [list(pair) for pair in pairs]} | entry
    return claims.Entry(**entry).claim().contrasts[0]


# best: 300 in the mean. close: behind by 0, 2, 4, in the mean 2, with an error of 2/√3: too far.
# tied: behind by 6, −3, 0, in the mean 1, with an error of √21/√3 = 2.6: near.
TRIED = {"best": [300, 303, 297], "close": [300, 301, 293], "tied": [294, 306, 297]}


def test_near_tied_candidates_by_hand():
    found = tuning_error.choice_variances(trials(**TRIED))
    assert found == {("X", "a", ""): pytest.approx(0.5)}  # of 300 and 299
    with_error = TRIED | {"tied": [297, 306, 291]}  # behind by 3, −3, 6: 2, and its error is √7
    found = tuning_error.choice_variances(trials(**with_error))
    assert found["X", "a", ""] == pytest.approx(2.0)  # of 300 and 298
    three = TRIED | {"again": [299, 304, 297]}  # the third of 300, 299 and 300
    assert tuning_error.choice_variances(trials(**three))["X", "a", ""] == pytest.approx(1 / 3)


def test_a_single_tuning_seed_or_candidate_has_no_near_tie():
    for tried in ({"best": [300], "tied": [300]}, {"best": [300, 301]}):
        assert tuning_error.choice_variances(trials(**tried)) == {("X", "a", ""): 0.0}
    assert tuning_error.choice_variances(None) == {}
    assert tuning_error.choice_variances(trials()[:0]) == {}


def test_a_single_tuning_seed_borrows_the_spread_of_the_reported_ones():
    """By hand: an error of √2 · 2 = 2.8 lets 2.5 behind be near, and 3 not."""
    made, arm = trials(best=[300], near=[297.5], far=[297]), ("X", "a", "")
    found = tuning_error.choice_variances(made, {arm: 2.0})
    assert found[arm] == pytest.approx(np.var([300, 297.5], ddof=1))
    assert tuning_error.choice_variances(made, {("X", "b", ""): 2.0})[arm] == 0.0
    two = trials(best=[300, 300], near=[299, 299])  # its own seeds say that it lies behind
    assert tuning_error.choice_variances(two, {arm: 2.0})[arm] == 0.0
    lines = [
        ("X", "a", column, seed, value)
        for column, values in (("RSUM", [302.0, 298.0]), ("i2t R@1", [0.0, 90.0]))
        for seed, value in enumerate(values)
    ]
    known = pd.DataFrame(lines, columns=["exhibit", "row", "column", "seed", "value"])
    numbers = Numbers(known, trials=made)  # sd √8, times √2: 4
    assert numbers.choices[arm] == pytest.approx(np.var([300, 297.5, 297], ddof=1))


def test_a_candidate_of_other_seeds_is_compared_where_both_were_tried():
    made = trials(best=[300, 302, 304], other=[301, 299, 0])
    made = made[~((made.candidate == "other") & (made.seed == 2))]  # behind by −1 and 3: tied
    assert tuning_error.choice_variances(made)["X", "a", ""] == pytest.approx(2.0)  # 302 and 300
    alone = made[~((made.candidate == "other") & (made.seed > 0))]
    assert tuning_error.choice_variances(alone)["X", "a", ""] == 0.0


def test_a_table_that_lacks_a_column_is_refused():
    with pytest.raises(ValueError, match="trials: no column dev_rsum; there are: exhibit, row"):
        tuning_error.choice_variances(trials(**TRIED).drop(columns="dev_rsum"))
    old = trials(**TRIED).drop(columns="target")
    assert tuning_error.choice_variances(old) == {("X", "a", ""): pytest.approx(0.5)}


VARIANCES = {("X", "a", ""): 9.0, ("X", "b", ""): 16.0}


@pytest.mark.parametrize(
    "made, sides, expected",
    [
        (contrast(), (300, 280), 9 + 16),
        (contrast(columns=["5K RSUM"]), (300, 280), 25),
        (contrast(columns=["i2t R@5"]), (50, 40), 25 / 36),
        (contrast(columns=["seconds"]), (50, 40), 0),
        (contrast([("a", "c")]), (300, 280), 9),
        (contrast([("c", 5)]), (300, 5), 0),
        (contrast([(["a", "b"], "c")]), (300, 280), (9 + 16) / 4),
        (contrast([({"a": 1, "b": -2}, "c")]), (300, 280), 9 + 4 * 16),
        # the choice is the same for both of an arm's columns: their weights add up before the square
        (contrast([({"a @ i2t R@1": 0.5, "a @ t2i R@1": 0.5}, "c")]), (50, 40), 9 / 36),
        (contrast([("a", {"a": 1, "b": 1})]), (300, 500), 16),
        (contrast([("a", "b"), ("b", "a")], or_equal=True), (300, 300), 25 * (100 / 300) ** 2),
        (contrast(test="ratio", band=[1, 2]), (300, 200), 9 / 300**2 + 16 / 200**2),
    ],
)
def test_weights_are_squared_and_recalls_are_a_sixth(made, sides, expected):
    assert tuning_error.of_contrast(made, sides, VARIANCES) == pytest.approx(expected, rel=1e-6)
    assert tuning_error.of_contrast(made, sides, {}) == 0.0


def test_a_drop_in_percent_of_the_reference():
    made = contrast([("a", "b")], test="collapse")  # 100 (b − a) / b, of b = 320 and a = 300
    by_b, by_a = 100 * 300 / 320**2, 100 / 320
    found = tuning_error.of_contrast(made, (320, 300), VARIANCES)
    assert found == pytest.approx(16 * by_b**2 + 9 * by_a**2, rel=1e-6)


def test_an_arm_of_a_target_has_a_choice_of_its_own():
    found = tuning_error.choice_variances(
        pd.concat([trials(**TRIED, target="coco"), trials(**TRIED, target="f30k")])
    )
    assert set(found) == {("X", "a", "coco"), ("X", "a", "f30k")}
    sides = {"a @ coco i2t R@1": 0.5, "a @ f30k i2t R@1": 0.5}
    made = contrast([(sides, 10)])  # two choices: each weight is squared by itself
    assert tuning_error.of_contrast(made, (50, 10), found) == pytest.approx(2 * 0.25 * 0.5 / 36)
    assert tuning_error.of_contrast(contrast([("a", 5)]), (300, 5), found) == 0.0


def test_arms_of_one_choice_are_moved_together():
    """Their weights add up before the square: of a difference nothing is left, of a mean all."""
    one, same, other = (trials(row, **TRIED) for row in "abc")
    made = pd.concat([one, same.iloc[::-1], other]).assign(config="{}")
    made.loc[made.row == "c", "config"] = '{"other": 1}'
    shared, variances = tuning_error.shared(made), tuning_error.choice_variances(made)
    a, b, c = (("X", row, "") for row in "abc")
    assert shared == {a: a, b: a, c: c}
    assert tuning_error.shared(made.drop(columns="config")) == tuning_error.shared(None) == {}
    for pairs, expected in (
        ([("a", "b")], 0),
        ([("a", "c")], 0.5 + 0.5),
        ([(["a", "b"], "c")], 0.5 + 0.5),
        ([({"a": 1, "b": -2}, "d")], 0.5),
    ):
        found = tuning_error.of_contrast(contrast(pairs), (300, 280), variances, shared)
        assert found == pytest.approx(expected, abs=1e-9)
    with_choice = Numbers(metrics(), trials=made)
    assert with_choice.choice_variance(contrast(), [0, 1]) == pytest.approx(0, abs=1e-9)


def test_a_choice_at_the_edge_of_what_was_tried_is_named():
    tried = [
        dict(margin=margin, scale=10.0, coding="hard", divided=True) for margin in (0.05, 0.02, 0.1)
    ]
    made = trials(**{"0": [300, 301], "1": [302, 301], "2": [303, 290]})
    made["config"] = [json.dumps(tried[int(candidate)]) for candidate in made.candidate]
    found = tuning_error.choices(made)  # 301.5 is the best mean
    assert found == {("X", "a", ""): (tried[1], ["margin 0.02 of 0.02 to 0.1"])}
    inside = made.assign(dev_rsum=made.dev_rsum.where(made.candidate != "0", 310.0))
    assert tuning_error.choices(inside) == {("X", "a", ""): (tried[0], [])}
    assert tuning_error.choices(trials(**TRIED)) == {}  # nobody says which settings
    claim = claims.Entry(**ENTRY, test="greater", pairs=[["a", "b"]]).claim()
    told, _ = verdicts.judge(metrics(), "laptop", [claim], trials=made)
    assert told.why[0].endswith(
        "chosen at the edge of what was tried: a (margin 0.02 of 0.02 to 0.1)"
    )
    told, _ = verdicts.judge(metrics(), "laptop", [claim], trials=inside)
    assert "edge" not in told.why[0]
    both = pd.concat([made, made.assign(row="b")])  # said once
    told, _ = verdicts.judge(metrics(), "laptop", [claim], trials=both)
    assert told.why[0].endswith("of what was tried: a, b (margin 0.02 of 0.02 to 0.1)")


def test_sides_of_which_dev_chose_another_temperature_decide_nothing():
    """Where that moves what is measured by itself."""
    one, other = (
        trials(row, **{"0": values, "1": [290, 291]})
        for row, values in (("a", [300, 301]), ("b", [280, 281]))
    )
    made = pd.concat([one, other])
    made["config"] = made.candidate.map({"0": '{"temperature": 0.3}', "1": '{"temperature": 0.1}'})
    entry = ENTRY | {"test": "greater", "pairs": [["a", "b"]]}
    free, bound = (
        claims.Entry(**entry, **more).claim() for more in ({}, {"alike": ["temperature"]})
    )
    assert verdicts.judge(metrics(), "laptop", [free], trials=made)[0].verdict[0] == "reproduced"
    told, lines = verdicts.judge(metrics(), "laptop", [bound], trials=made)
    assert told.verdict[0] == "undecided" and len(lines) == 1
    assert told.why[0].endswith("on its two sides: temperature 0.3 (a), 0.1 (b)")
    alike = made.assign(dev_rsum=made.dev_rsum.where(made.candidate == "0", 200.0))
    for known in (alike, None):
        told, _ = verdicts.judge(metrics(), "laptop", [bound], trials=known)
        assert told.verdict[0] == "reproduced"
    with pytest.raises(ValueError, match="alike: expected a list"):
        claims.Entry(**entry, alike="temperature").claim()
    other = claims.Entry(**entry, alike=["warmth"]).claim()
    told, _ = verdicts.judge(metrics(), "laptop", [other], trials=made)
    assert told.verdict[0] == "reproduced"  # of runs that are older than the setting


A, B = np.array([310.0, 306, 311, 305, 308]), np.array([300.0, 299, 302, 297, 300])


def metrics():
    lines = [
        ("X", row, "RSUM", seed, value)
        for row, values in (("a", A), ("b", B))
        for seed, value in enumerate(values)
    ]
    return pd.DataFrame(lines, columns=["exhibit", "row", "column", "seed", "value"])


def test_interval_p_and_power_use_the_widened_error(monkeypatch):
    monkeypatch.setattr("alignbook.evidence.looks.looks", lambda seeds: ((seeds, 1.0),))
    claim = claims.Entry(**ENTRY, test="greater", pairs=[["a", "b"]]).claim()
    made = trials(**TRIED | {"tied": [297, 306, 291]})  # 2.0, by hand above
    line = verdicts.judge(metrics(), "laptop", [claim], None, made)[1].iloc[0]
    error = np.sqrt((A - B).var(ddof=1) / 5 + 2.0)
    t = (A - B).mean() / error
    assert line["p"] == pytest.approx(2 * stats.t.sf(t, 4))
    reach = stats.t.ppf(0.975, 4) * error
    assert (line["low"], line["high"]) == pytest.approx((t * error - reach, t * error + reach))
    spread = (A - B).std(ddof=1)
    assert line["detectable"] == pytest.approx(statistics.detectable(spread, 5, extra=2.0))
    assert line["detectable"] > statistics.detectable(spread, 5)
    choice = Numbers(metrics(), None, made).choice_variance(claim.contrasts[0], [0, 1])
    assert choice == pytest.approx(2.0)
    plain = verdicts.judge(metrics(), "laptop", [claim])[1].iloc[0]
    assert plain.p < line["p"] and plain.high < line["high"] and plain.needed <= line["needed"]


def test_power_with_a_choice_is_what_simulations_find():
    rng, n, spread, extra, effect = np.random.default_rng(3), 5, 1.0, 0.3, 2.0
    v = rng.normal(effect, spread, (20000, n)) + rng.normal(0, np.sqrt(extra), (20000, 1))
    t = v.mean(1) / np.sqrt(v.var(1, ddof=1) / n + extra)
    found = (np.abs(t) > stats.t.ppf(0.975, n - 1)).mean()
    assert statistics.power(effect, spread, n, 0.05, extra) == pytest.approx(found, abs=0.015)
    null = v - effect
    reach = stats.t.ppf(0.95, n - 1) * np.sqrt(null.var(1, ddof=1) / n + extra)
    within = (np.abs(null.mean(1)) + reach < 3).mean()
    expected = statistics.power_inside(0, -3, 3, spread, n, 0.05, extra)
    assert expected == pytest.approx(within, abs=0.015)
    false = np.abs(null.mean(1)) / np.sqrt(null.var(1, ddof=1) / n + extra)
    assert (false > stats.t.ppf(0.975, n - 1)).mean() <= 0.053
