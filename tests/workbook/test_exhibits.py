"""Which arms exhibits have, which of them begin first, and for which seeds are bought."""

from types import SimpleNamespace

import pytest
from alignbook.core.names import BASE_MODEL, row_and_target
from alignbook.evidence import claims, entries, looks
from alignbook.workbook import chapters, exhibits, profiles, start
from alignbook.workbook.running import timeleft

PROFILES = ("smoke", "laptop", "overnight", "gpu")


@pytest.mark.parametrize("exhibit", [name for name in exhibits.EXHIBITS if name != "base-models"])
def test_a_paper_makes_the_arms_that_its_catalogue_names(exhibit):
    """But for the base model itself, which no paper trains."""
    named = {*exhibits.EXHIBITS[exhibit].names()} - {BASE_MODEL}
    for profile in map(profiles.get, PROFILES):
        assert {*chapters.arms_of(exhibit).arms(exhibit, profile)} == named, profile.name


def test_what_the_primary_claims_rest_on_begins_first():
    primary = {each.paper: each.exhibit for each in claims.load() if each.primary}
    assert exhibits.FIRST == tuple(primary[paper] for paper in chapters.PAPERS)
    for claim in (each for each in claims.load() if each.primary):  # what buys asks of one exhibit
        assert {term.exhibit for each in claim.contrasts for term in each.terms} == {claim.exhibit}
    order = exhibits.begun()
    assert sorted(order) == sorted(exhibits.EXHIBITS)
    assert order[0] == "base-models" and order[1:5] == list(reversed(exhibits.FIRST))
    papers = [exhibits.paper(name) for name in order[5:]]
    assert list(dict.fromkeys(papers)) == list(reversed(chapters.PAPERS))
    assert papers == sorted(papers, key=[*reversed(chapters.PAPERS)].index)  # one after another
    ranks = [timeleft.rank(["arms", name, "any"]) for name in order]
    assert ranks == sorted(ranks) and len({*ranks}) == len(ranks)
    assert timeleft.rank(["buy", "chan"]) < ranks[0] and ranks[-1] < timeleft.rank(["efficiency"])


def test_before_overnight_seeds_are_bought_for_primary_claims_alone():
    def bought(profile, data="world", **settings):
        chosen = profiles.get(profile, data, overrides=settings)
        return exhibits.with_seeds(exhibits.EXHIBITS, data, chosen)

    assert (
        sorted(bought("laptop")) == sorted(exhibits.FIRST) == sorted(bought("laptop", "flickr8k"))
    )
    long = bought("overnight")
    assert {*exhibits.FIRST} < {*long} and "base-models" not in long
    assert "chan-T1" in long and "chan-T1" not in bought("overnight", "flickr8k")  # not made there
    assert bought("smoke") == bought("laptop", seeds="4") == []


def test_overnight_has_seeds_of_what_claims_rest_on():
    """But for CHAN's SGR and SAF, of which only times are asked: these take no training."""
    rested = {
        (term.exhibit, term.row)
        for claim in claims.load()
        if not claim.untestable
        for contrast in claim.contrasts
        for term in contrast.terms
    }
    arms = [(name, arm) for name, each in exhibits.EXHIBITS.items() for arm in each.arms]
    once = {(name, row_and_target(arm.name)[0]) for name, arm in arms if arm.single("overnight")}
    assert once & rested == {("chan-F3", "sgr"), ("chan-F3", "saf")}
    assert {name for name, _ in once - rested} > {"chan-T2", "covalign-ladder", "gsl-switches"}
    assert not [arm for _, arm in arms if arm.single("gpu") and arm.seeds != "first"]


def test_overnight_tries_no_settings_of_gsl_s_bounds():
    """Nor of any other's than theirs: the switch "clean-labels-1" is none."""
    untuned = {arm.name for arm in exhibits.EXHIBITS["gsl-F1"].arms if arm.untuned("overnight")}
    assert untuned == {"mean-0.4", "mean-0.6", "clean-0.4", "clean-0.6"}
    others = exhibits.EXHIBITS["gsl-switches"].arms + exhibits.EXHIBITS["gsl-T3"].arms
    assert not any(arm.untuned("overnight") for arm in others)


def test_times_are_measured_as_often_as_a_look_at_a_claim_asks():
    assert entries.measurements("smoke") == 1
    assert {*map(entries.measurements, PROFILES[1:])} <= {*looks.LOOKS}


def test_a_claim_on_times_counts_measurements():
    measured = {each.id for each in claims.load() if each.measured}
    of_exhibits = {each.exhibit for each in claims.load() if each.measured}
    assert measured > {"chan-faster", "chan-ten-times", "covalign-regions-cheaper"}
    assert {"chan-faster-and-better", "covalign-regions-better", "gsl-gains"}.isdisjoint(measured)
    assert all(exhibits.EXHIBITS[name].timed for name in of_exhibits)
    said = {
        each: start.doubts(SimpleNamespace(claim=each, verdict="undecided", why="", needed="9.0"))
        for each in ("chan-faster", "gsl-gains")
    }
    assert said == {
        "chan-faster": "; about 9 measurements would decide it",
        "gsl-gains": "; about 9 seeds would decide it",
    }
