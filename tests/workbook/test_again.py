"""The primary contrasts once more: which are kept, how far they lie apart, and what is said of them."""

import gzip
import json

import numpy as np
import pandas as pd
import pytest
from alignbook.workbook.publishing import again, published
from scipy import special, stats

# RSUM of a seed after another, of what the primary claims of GSL and CoV-Align compare, and of what
# a claim of CHAN does that is not its primary one.
CODED = {("chan-T3", "cross-attention"): [1.0, 2.0], ("chan-T3", "textual-codebook"): [0.0, 3.0]}
HERE = CODED | {
    ("gsl-F1", "gsl-0.4"): [10.0, 12.0, 14.0, 20.0],
    ("gsl-F1", "ncr-0.4"): [20.0, 21.0, 22.0, 23.0],
    ("covalign-T6", "shared"): [5.0, 6.0],
    ("covalign-T6", "separate"): [4.0, 7.0],
}
THERE = CODED | {
    ("gsl-F1", "gsl-0.4"): [30.0, 31.0, 35.0],
    ("gsl-F1", "ncr-0.4"): [31.0, 30.0, 31.0],
}
CONTRASTS = {
    "gsl-F1": ("gsl-against-ncr", "gsl-0.4 − ncr-0.4"),
    "covalign-T6": ("covalign-one-projection", "shared − separate"),
    "chan-T3": ("chan-codings", "cross-attention − textual-codebook"),
}


def folder(place, values):
    """A results folder with some metrics and without trials."""
    place.mkdir(parents=True, exist_ok=True)
    lines = [
        (*which, "RSUM", seed, value, "laptop", "learnt")
        for which, seeds in values.items()
        for seed, value in enumerate(seeds)
    ]
    columns = ["exhibit", "row", "column", "seed", "value", "profile", "learnt"]
    pd.DataFrame(lines, columns=columns).to_csv(place / "metrics.csv", index=False)
    versions = json.dumps({"torch": "2.1", "numpy": "2.0"})
    columns = ["exhibit", "row", "role", "seed", "dev_rsum", "learnt", "config", "versions"]
    own = ("gsl-F1", "gsl-0.4", "report", 0, 1.0, "learnt", "{}", versions)
    pd.DataFrame([own, own], columns=columns).to_csv(place / "runs.csv", index=False)
    return place


def judged(place, values, readings):
    """The verdicts of a published folder; the second line of a claim is another's."""
    rows = []
    for exhibit, reading in readings.items():
        first, second = (np.array(v) for (name, _), v in values.items() if name == exhibit)
        claim, label = CONTRASTS[exhibit]
        told = (len(first), (first - second).mean(), -9.0, 9.0, reading)
        rows += [(claim, label, "points", *told), ("gsl-threshold", label, "points", *told)]
    columns = ["claim", "contrast", "unit", *again.READ]
    pd.DataFrame(rows, columns=columns).to_csv(place / "contrasts.csv", index=False)
    told = pd.DataFrame({"claim": [row[0] for row in rows], "verdict": "undecided"})
    told.drop_duplicates().to_csv(place / "claims.csv", index=False)


@pytest.fixture
def both(tmp_path):
    """A published folder with two primary contrasts, and one from elsewhere with the first of them."""
    kept, out = (
        folder(tmp_path / "reference/world-laptop", HERE),
        folder(tmp_path / "world-laptop", THERE),
    )
    judged(kept, HERE, {"gsl-F1": "reversed", "covalign-T6": "open", "chan-T3": "open"})
    start = {"machine": "Linux x86_64", "cores": 16, "seconds": 9.0}
    (out / "starts.json").write_text(json.dumps([start, start]))
    return out, kept


def test_the_contrasts_of_both_and_their_distance_by_hand(both):
    (row,) = again.table(*both).to_dict("records")
    assert row["claim"] == "gsl-against-ncr" and row["contrast"] == "gsl-0.4 − ncr-0.4"
    assert (row["seeds"], row["value"], row["reading"]) == (4, -7.5, "contradicted")
    assert (row["seeds again"], row["reading again"]) == (3, "undecided")
    # Welch by hand: differences −10, −9, −8, −3 there and −1, 1, 4 here.
    first, second = np.array([-10.0, -9, -8, -3]), np.array([-1.0, 1, 4])
    parts = first.var(ddof=1) / 4, second.var(ddof=1) / 3
    df = sum(parts) ** 2 / (parts[0] ** 2 / 3 + parts[1] ** 2 / 2)
    half = special.stdtrit(df, 0.975) * sum(parts) ** 0.5
    assert row["difference"] == pytest.approx(4 / 3 + 7.5)
    assert row["difference low"] == pytest.approx(4 / 3 + 7.5 - half)
    assert row["difference high"] == pytest.approx(4 / 3 + 7.5 + half)
    assert row["where"] == "Linux x86_64, 16 cores; PyTorch 2.1"


def test_what_is_surely_alike_or_not_published_is_kept_too(both):
    out, kept = both
    ncr = "gsl-F1", "ncr-0.4"
    near = THERE | {ncr: [30.02, 30.98, 35.0]}
    for verdict, values, learnt in (
        ("contradicted", THERE | {ncr: [41.0, 42.5, 45.0]}, "learnt"),
        ("did not train", THERE, "did not train"),
        ("no difference", near, "learnt"),
    ):
        metrics = pd.read_csv(folder(out, values) / "metrics.csv")
        metrics.assign(learnt=learnt).to_csv(out / "metrics.csv", index=False)
        (row,) = again.table(out, kept).to_dict("records")
        assert (row["reading"], row["reading again"]) == ("contradicted", verdict)
    lines = pd.read_csv(kept / "contrasts.csv")
    lines[lines.claim != "gsl-against-ncr"].to_csv(kept / "contrasts.csv", index=False)
    found = again.keep(out, kept)
    assert found[[*again.READ, *again.APART]].isna().to_numpy().all()
    assert again.said(again.read(kept)) == (
        "Once more on Linux x86_64, 16 cores; PyTorch 2.1: 0 of 0 primary contrasts read alike. 0 of 0 "
        "differ by no more than chance (95 %). Only there: gsl-against-ncr."
    )
    (line,) = (each for _, each in again.read(kept).iterrows())
    assert again.read_with(line, *again.READ) == again.written(line, *again.APART) == "–"
    assert again.read_with(line, *again.READ_AGAIN) == "0.0 [−0.0, 0.0], 3 seeds: no difference"
    line.contrast = "a, mean of 2 columns − b, mean of 2 columns, f30k"
    assert again.read_with(line, *again.READ_AGAIN).endswith(
        " 3 seeds on f30k alone: no difference"
    )


def test_what_was_kept_of_other_claims_stays(both):
    """A rerun may come in parts; the new one speaks for what it measured. Published runs are packed."""
    out, kept = both
    plain = kept / "runs.csv"
    (kept / "runs.csv.gz").write_bytes(gzip.compress(plain.read_bytes()))
    plain.unlink()
    first = again.keep(out, kept)
    other = first.assign(claim="chan-hard-coding", where="there")
    pd.concat([first.assign(where="old"), other]).to_csv(kept / again.FILE, index=False)
    found = again.keep(out, kept)
    assert found.claim.tolist() == ["chan-hard-coding", "gsl-against-ncr"]  # as papers come
    assert found["where"].tolist() == ["there", first["where"][0]]
    assert "Once more on there and Linux x86_64" in again.said(again.read(kept))


def test_what_dev_could_not_tell_apart_is_in_the_doubt(both):
    out, kept = both
    folder(out, THERE | {("gsl-F1", "ncr-0.4"): [41.0, 42.5, 45.0]})
    made = pd.read_csv(out / "runs.csv")
    tried = [
        made.iloc[0].to_dict() | {"role": "trial", "seed": seed, "config": config, "dev_rsum": rsum}
        for config, all_ in (
            ('{"margin": 0.1}', (10.0, 90.0, 50.0)),
            ('{"margin": 0.2}', (80.0, 0.0, 10.0)),
        )
        for seed, rsum in enumerate(all_, 1000)
    ]
    (before,) = again.table(out, kept).to_dict("records")
    pd.concat([made, pd.DataFrame(tried)]).to_csv(out / "runs.csv", index=False)
    (row,) = again.table(out, kept).to_dict("records")
    assert (before["reading again"], row["reading again"]) == ("contradicted", "undecided")
    assert row["low again"] < before["low again"] and row["value again"] == before["value again"]


def test_what_is_said(both):
    out, kept = both
    found = again.keep(out, kept)
    assert again.said(found) == (
        "Once more on Linux x86_64, 16 cores; PyTorch 2.1: 0 of 1 primary contrasts read alike. Not "
        "alike: gsl-against-ncr (contradicted with 4 seeds, undecided with 3). 0 of 1 differ by no "
        "more than chance (95 %). Beyond chance: gsl-against-ncr."
    )
    same = found.assign(**{"reading again": "contradicted", "difference low": -0.0})
    assert "1 of 1 primary contrasts read alike. 1 of 1 differ by no more" in again.said(same)
    pd.testing.assert_frame_equal(again.read(kept), found, rtol=1e-5, check_dtype=False)
    assert again.read(out).empty


def test_what_was_published_since_stands_beside_what_was_kept(both):
    """The same numbers in other words: their distance is that of both runs' seeds."""
    out, kept = both
    before = again.keep(out, kept)
    stale = before.assign(value=3.0, seeds=9, reading="undecided", difference=-7.0)
    stale["low again"], stale["high again"] = stats.t.interval(
        0.95, 2, before["value again"], np.std([-1.0, 1, 4], ddof=1) / 3**0.5
    )
    stale.to_csv(kept / again.FILE, index=False)
    lines = pd.read_csv(kept / "contrasts.csv")
    first = np.array([-10.0, -9, -8, -3])
    low, high = stats.t.interval(0.95, 3, -7.5, first.std(ddof=1) / 2)
    own = lines.claim == "gsl-against-ncr"
    lines.assign(low=low * own, high=high * own).to_csv(kept / "contrasts.csv", index=False)
    found = again.read(kept)
    assert (before.since.tolist(), found.since.tolist()) == ([False], [True])
    assert again.said(found).endswith(" Other numbers were published since: gsl-against-ncr.")
    told = pd.read_csv(kept / "contrasts.csv").replace("reversed", "open")
    told.to_csv(kept / "contrasts.csv", index=False)  # the same numbers, another verdict
    assert again.read(kept).reading.tolist() == ["undecided"]
    assert found[["seeds", "value", "reading"]].to_numpy().tolist() == [[4, -7.5, "contradicted"]]
    assert found[again.APART].to_numpy() == pytest.approx(before[again.APART].to_numpy(), rel=1e-4)


@pytest.mark.parametrize(
    "change, told",
    (
        (
            lambda out, kept: (kept / "contrasts.csv").unlink(),
            "reference/world-laptop/contrasts.csv",
        ),
        (lambda out, kept: (out / "runs.csv").unlink(), "world-laptop/runs.csv: not there"),
        (lambda out, kept: folder(out, CODED), "no primary contrast"),
        (lambda out, kept: folder(out, {}), "world-laptop/metrics.csv: no numbers"),
    ),
    ids=("not published", "no runs", "none of them", "none at all"),
)
def test_what_cannot_be_kept_leaves_nothing(both, change, told):
    out, kept = both
    change(out, kept)
    with pytest.raises(ValueError, match=told):
        again.keep(out, kept)
    assert not (kept / again.FILE).exists()


def test_the_command_keeps_it_and_writes_the_gallery(both, monkeypatch, capsys):
    out, kept = both
    monkeypatch.setattr(published, "REFERENCE", kept.parent)
    written = []
    monkeypatch.setattr(published.gallery, "write", lambda: written.append(1) or [])
    assert published.publish_main(["--again", str(out)]) == 0
    assert (kept / again.FILE).exists() and written == [1]
    assert capsys.readouterr().out.startswith("Once more on Linux x86_64, 16 cores")
    (kept / "metrics.csv").unlink()
    assert published.publish_main(["--again", str(out)]) == 2
    assert "metrics.csv: not there" in capsys.readouterr().err
