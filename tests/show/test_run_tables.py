"""Tables of an exhibit's runs: what dev decided between."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from alignbook.show import run_tables
from alignbook.store import runs

TRIED = {"temperature": "τ", "margin": "margin", "learning_rate": "learning rate"}


@pytest.fixture
def stored(monkeypatch):
    """Runs whose key says what they are: arm, τ, margin, steps and seed."""

    def run(key):
        arm, temperature, margin, steps, seed = key.split()
        config = {"temperature": float(temperature), "margin": float(margin)}
        config |= {"learning_rate": 0.1, "steps": int(steps)}
        metrics = {"dev RSUM": 100 * config["temperature"] + 1000 * config["margin"] + int(seed)}
        metrics |= {"kept a region": 4.0} if arm == "shared" else {}
        return SimpleNamespace(config=config, metrics=metrics)

    monkeypatch.setattr(runs, "stored", run)
    return lambda *lines: pd.DataFrame(lines, columns=["arm", "role", "key"])


def test_trials_are_means_over_tuning_seeds_and_the_chosen_one_is_marked(stored):
    """A reported run may have more steps than the trials that chose its settings."""
    keys = [f"shared {temperature} 0.2 7 {seed}" for temperature in (0.1, 0.3) for seed in (0, 2)]
    lines = [("shared", "trial", key) for key in keys]
    lines += [("shared", "report", "shared 0.3 0.2 14 9")]
    lines += [("global", "trial", "global 0.0 0.2 7 1"), ("global", "report", "global 0.0 0.2 7 7")]
    lines += [("untuned", "report", "shared 0.3 0.2 7 9")]
    found = run_tables.trials_table(stored(*lines), TRIED, {"kept a region": "patches kept"})
    columns = ["arm", "τ", "dev RSUM", "sd", "patches kept", "chosen"]  # others never vary
    assert found.columns.tolist() == columns
    assert found.arm.tolist() == ["shared", "shared", "global"]
    assert found["τ"].tolist()[:2] == [0.1, 0.3] and np.isnan(found["τ"][2])
    assert found["dev RSUM"].tolist() == [211.0, 231.0, 201.0]
    assert found.sd.tolist()[:2] == pytest.approx([2**0.5] * 2) and np.isnan(found.sd[2])
    assert found.chosen.tolist() == ["", "←", "←"]
    assert found["patches kept"].tolist()[:2] == [4, 4] and np.isnan(found["patches kept"][2])


@pytest.mark.parametrize("chosen, mark", [("0.05", "← at the edge"), ("0.1", "←")])
def test_a_choice_at_the_edge_of_three_values_is_told(stored, chosen, mark):
    values = ("0.05", "0.1", "0.2")
    lines = [("a", "trial", f"a 0.3 {margin} 7 0") for margin in values]
    found = run_tables.trials_table(stored(*lines, ("a", "report", f"a 0.3 {chosen} 7 9")), TRIED)
    assert found.columns.tolist() == ["arm", "margin", "dev RSUM", "chosen"]  # one tuning seed
    assert found.chosen.tolist() == [mark * (margin == chosen) for margin in values]


def test_an_arm_s_lines_say_what_its_own_candidates_vary(stored):
    """The margin is one of τ's trials, and τ of the margin's; who has one candidate shows all of it."""
    lines = [("a", "trial", f"a {t} 0.2 7 0") for t in (0.1, 0.3)]
    lines += [("b", "trial", f"b 0.3 {margin} 7 0") for margin in (0.05, 0.1)]
    lines += [("c", "trial", "c 0.5 0.2 7 0"), ("c", "report", "c 0.5 0.2 7 9")]
    lines += [("a", "report", "a 0.1 0.2 7 9"), ("b", "report", "b 0.3 0.1 7 9")]
    found = run_tables.trials_table(stored(*lines), TRIED)
    assert found["τ"].tolist() == pytest.approx([0.1, 0.3, np.nan, np.nan, 0.5], nan_ok=True)
    assert found.margin.tolist() == pytest.approx([np.nan, np.nan, 0.05, 0.1, 0.2], nan_ok=True)


def test_what_is_yes_or_no_has_a_dash_where_it_does_not_vary(stored, monkeypatch):
    plain = runs.stored

    def placed(key):
        run = plain(key)
        run.config["placed"] = run.config["temperature"] == 1
        return run

    monkeypatch.setattr(runs, "stored", placed)
    lines = [("a", "trial", f"a {t} 0.2 7 0") for t in (0.3, 1)]
    lines += [("b", "trial", f"b 0.3 {margin} 7 0") for margin in (0.05, 0.1)]
    lines += [("a", "report", "a 1 0.2 7 9"), ("b", "report", "b 0.3 0.1 7 9")]
    found = run_tables.trials_table(stored(*lines), TRIED | {"placed": "places"})
    assert found.places.tolist() == [False, True, "–", "–"]


def test_a_control_of_more_steps_does_not_tell_the_trials_again(stored):
    """But one whose own arm is not there does."""
    lines = [(arm, "trial", f"a {t} 0.2 7 0") for arm in ("a", "a-long", "b-long") for t in (1, 3)]
    lines += [(arm, "report", "a 3 0.2 28 9") for arm in ("a", "a-long", "b-long")]
    found = run_tables.trials_table(stored(*lines), TRIED)
    assert found.arm.tolist() == ["a", "a", "b-long", "b-long"]


def test_without_trials_there_is_nothing_to_tell(stored):
    assert run_tables.trials_table(stored(("a", "report", "a 0.3 0.2 7 9")), TRIED).empty
