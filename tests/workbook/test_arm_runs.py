"""An arm's trainings one by one: by hand, shared, and trained as the arm trains them."""

from types import SimpleNamespace

import pytest
from alignbook.core.names import BASE_MODEL
from alignbook.core.protocol import TUNING_SEED
from alignbook.store import runs
from alignbook.workbook import arm_runs, chapters, exhibits, profiles, results
from alignbook.workbook.arm_runs import of_arm

SIZES = {"chan_trials": "2", "tuning_seeds": "2", "seeds": "3"}
LAPTOP = profiles.get("laptop", overrides=SIZES)


def listed(exhibit: str, arm: str, profile=LAPTOP, data: str = "world") -> list[tuple[str, int]]:
    """Role and number of an arm's trainings."""
    return [(each.role, each.number) for each in of_arm(exhibit, arm, profile, data).values()]


def test_an_arm_s_trainings_by_hand():
    """Two candidates on two tuning seeds, then three seeds; a control has the trials and one seed."""
    tried = [("trial", 0), ("trial", 1), ("trial", 2), ("trial", 3)]
    seeds = [("report", 0), ("report", 1), ("report", 2)]
    assert listed("chan-T1", "chan") == tried + seeds
    assert listed("chan-T3", "visual-codebook-long") == tried + seeds[:1]
    settings = arm_runs.trials("chan-T1", "chan", LAPTOP)
    assert [seed for _, seed in settings] == [TUNING_SEED, TUNING_SEED + 1] * 2
    assert settings[0][0] == settings[1][0] != settings[2][0] == settings[3][0]


def test_what_trains_nothing_has_none():
    assert listed("comalign-TI", "clip → coco") == []
    assert listed("chan-T3", BASE_MODEL) == []


@pytest.mark.parametrize("name, data", [("gpu", "world"), ("paper", "coco")])
def test_epochs_that_are_passes_over_the_data_are_trainings(name, data):
    """How many steps a pass has is not said by the settings; on a cluster each is a job all the same."""
    profile = profiles.get(name, data)
    assert profile.gsl_epoch_steps == 0
    for arm in ("gsl-0.4", "warmed-0.4"):
        reported = [
            number for role, number in listed("gsl-F1", arm, profile, data) if role == "report"
        ]
        assert reported == list(range(profile.seeds)), arm


def test_base_models_of_further_seeds_are_jobs_of_their_own():
    night = profiles.get("overnight", overrides=SIZES | {"base_seeds": "3"})
    assert listed("base-models", "world-clip") == []
    assert listed("base-models", "world-clip", night) == [("report", 1), ("report", 2)]
    book = SimpleNamespace(measured=lambda name, seed: (name, seed))
    two = arm_runs.Training("base-models", "world-clip", "report", 2)
    assert results.train(book, two) == ("world-clip", 2)  # what the arm's own job asks for


def test_one_candidate_is_not_tried():
    one = profiles.get("laptop", overrides=SIZES | {"chan_trials": "1"})
    assert listed("chan-T1", "chan", one) == [("report", 0), ("report", 1), ("report", 2)]


def names(exhibit: str, arm: str, role: str, data: str = "world") -> set[str]:
    return {n for n, each in of_arm(exhibit, arm, LAPTOP, data).items() if each.role == role}


def test_arms_that_show_the_same_run_share_it():
    assert names("chan-T1", "chan", "report") == names("chan-T3", "visual-codebook", "report")
    assert names("chan-T1", "chan", "trial") == names("chan-T3", "visual-codebook-long", "trial")


def test_others_do_not():
    """Not the control, which has other steps; nor the other coding; nor the other domain."""
    own = names("chan-T3", "visual-codebook", "report")
    assert own.isdisjoint(names("chan-T3", "visual-codebook-long", "report"))
    assert own.isdisjoint(names("chan-T3", "cross-attention", "report"))
    there = names("comalign-TI", "clip+comalign → coco", "report")
    assert there.isdisjoint(names("comalign-TI", "clip+comalign → f30k", "report"))
    assert len(own) == 3
    night = profiles.get("overnight", overrides=SIZES | {"base_seeds": "3"})
    here, there = ({*of_arm(name, "vse++", night, "world")} for name in ("chan-T1", "chan-T2"))
    assert here.isdisjoint(there)  # the same settings, on another domain
    photographs = [{*of_arm(name, "vse++", night, "coco")} for name in ("chan-T1", "chan-T2")]
    assert photographs[0] == photographs[1]


def test_a_chosen_arm_is_not_the_first_candidate_s():
    """What dev chooses between tells arms apart: another list of candidates may end in another."""
    more = profiles.get("laptop", overrides=SIZES | {"chan_trials": "3"})
    both = [
        {n for n, each in of_arm("chan-T1", "chan", profile, "world").items() if each.role == role}
        for role in ("trial", "report")
        for profile in (LAPTOP, more)
    ]
    assert both[0] < both[1]  # the first two candidates are the same
    assert both[2].isdisjoint(both[3])


def test_places_tell_all_trainings_of_a_profile_apart():
    profile = profiles.get("smoke")
    found = {}
    for exhibit in exhibits.EXHIBITS:
        for arm in exhibits.arms(exhibit, "world", profile):
            found |= of_arm(exhibit, arm, profile, "world")
    assert len({each.place for each in found.values()}) == len(found) > 50


class Trained(SimpleNamespace):
    """A store in which runs are what they were asked for: (settings, seed, inputs)."""

    def get(self, config, seed, inputs=(), device="cpu", wait=True, precision=""):
        self.asked.append((config, seed, inputs))
        return SimpleNamespace(
            key=repr((config, seed, inputs)), metrics={"dev RSUM": -config.after}
        )


@pytest.fixture
def trained(monkeypatch) -> Trained:
    own = Trained(asked=[])
    monkeypatch.setattr(runs, "get", own.get)
    monkeypatch.setattr("alignbook.evidence.learnt.of_run", lambda run: "learnt")
    arms = chapters.arms_of("gsl-F1")
    monkeypatch.setattr(arms, "inputs", lambda book, exhibit, name: ("at its rate",))
    monkeypatch.setattr(arms, "tuning_inputs", lambda book, exhibit, name: ("at 0.4",))
    return own


def test_one_by_one_they_are_what_the_arm_trains(trained):
    """The arm's own job asks for the same settings, seeds and inputs, and for no other."""
    sizes = {"gsl_trials": "2", "tuning_seeds": "2", "seeds": "3"}
    profile = profiles.get("overnight", overrides=sizes)
    book = SimpleNamespace(profile=profile, trained={"device": "cpu"})
    alone = [
        results.train(book, one).key
        for one in of_arm("gsl-F1", "gsl-0.2", profile, "world").values()
    ]
    trained.asked.clear()
    found = results.arm(book, "gsl-F1", "gsl-0.2")
    assert list(found.key) == alone
    assert list(found.role) == ["trial"] * 4 + ["report"] * 3
    asked = {seed: (config, inputs) for config, seed, inputs in trained.asked}
    assert asked[TUNING_SEED + 1][1] == ("at 0.4",) and asked[2][1] == ("at its rate",)
    # dev prefers the second candidate here, of the smaller rate
    least = min(config.after for config, *_ in trained.asked)
    assert asked[0][0].after == least and asked[0][0].noise == 0.2
