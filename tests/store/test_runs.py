"""The run store: what is stored is not computed again, what changed is, half is never whole."""

import contextlib
import json
import sys
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest
from alignbook.core.names import BASE_MODEL
from alignbook.errors import DataError
from alignbook.papers.chan import catalogue
from alignbook.store import owners, progress, runs

CALLS = []


@dataclass(frozen=True)
class Toy:
    width: int = 3

    def compute(self, inputs, seed, folder, device):
        return compute(self, inputs, seed, folder, device)


def compute(config, inputs, seed, folder, device):
    CALLS.append((config, seed))
    np.save(folder / "gradients.npy", np.full((2, 4), float(config.width + seed)))
    if config.width == -2:
        raise DataError("refused")
    if config.width < 0:
        raise RuntimeError("broken half way")
    return {"dev RSUM": 10.0 * config.width, "checksum": str(config.width)}


@pytest.fixture
def store(tmp_path, monkeypatch):
    CALLS.clear()
    monkeypatch.setattr(runs, "STORE", tmp_path)
    monkeypatch.setattr(runs, "code_hash", lambda module: "code")
    return tmp_path


def data(fingerprint="d"):
    return SimpleNamespace(fingerprint=fingerprint)


def test_a_stored_run_is_not_computed_again(store):
    first = runs.get(Toy(), 0, (data(),))
    again = runs.get(Toy(), 0, (data(),))
    assert first.key == again.key and len(CALLS) == 1
    assert again.metrics["dev RSUM"] == 30 and again.config == {"width": 3}
    assert again.array("gradients").shape == (2, 4)


def test_nothing_is_left_of_input_that_is_refused(store):
    with pytest.raises(DataError):
        runs.get(Toy(-2), 0, (data(),))
    assert not list((store / ".partial").iterdir())
    with pytest.raises(RuntimeError):
        runs.get(Toy(-1), 0, (data(),))  # what a crash leaves is gone on with
    assert len(list((store / ".partial").iterdir())) == 1


def test_whatever_the_result_depends_on_changes_the_key(store, monkeypatch):
    keys = {
        runs.get(Toy(), 0, (data(),)).key,
        runs.get(Toy(4), 0, (data(),)).key,
        runs.get(Toy(), 1, (data(),)).key,
        runs.get(Toy(), 0, (data("other"),)).key,
        runs.get(Toy(), 0, (data(),), device="cuda:0").key,
    }
    monkeypatch.setattr(runs, "code_hash", lambda module: "changed")
    keys.add(runs.get(Toy(), 0, (data(),)).key)
    monkeypatch.setattr(runs, "_versions", lambda: {"torch": "0"})
    keys.add(runs.get(Toy(), 0, (data(),)).key)
    assert len(keys) == 7


def test_the_key_holds_the_key_of_an_input_run(store):
    a, b = runs.get(Toy(1), 0, (data(),)), runs.get(Toy(2), 0, (data(),))
    assert runs.get(Toy(), 0, (a,)).key != runs.get(Toy(), 0, (b,)).key


def test_a_broken_run_is_not_taken_for_whole(store):
    with pytest.raises(RuntimeError):
        runs.get(Toy(-1), 0, (data(),))
    assert not [p for p in store.iterdir() if not p.name.startswith(".")]
    with pytest.raises(RuntimeError):  # tried again, not found
        runs.get(Toy(-1), 0, (data(),))


def test_a_missing_run_says_what_to_do(store):
    with pytest.raises(FileNotFoundError, match="run_all.sh"):
        runs.stored("0123456789abcdef")


def test_the_record_says_where_a_result_comes_from(store):
    record = runs.get(Toy(), 5, (data(),)).record
    assert (
        record["format"] == runs.FORMAT
        and record["seed"] == 5
        and record["inputs"] == ["d"]
        and "torch" in record["versions"]
    )
    json.dumps(record)


def test_the_record_names_the_runs_that_a_run_asked_for(store, monkeypatch):
    module = sys.modules[__name__]
    alone = module.compute

    def compute_with_another(config, inputs, seed, folder, device):
        if config.width < 10:
            return alone(config, inputs, seed, folder, device)
        asked.append(runs.get(Toy(config.width // 10), seed, inputs).key)
        return {"dev RSUM": 0.0}

    monkeypatch.setattr(module, "compute", compute_with_another)
    asked = []
    whole = runs.get(Toy(555), 0, (data(),))  # asks for 55, which asks for 5
    fifth, fiftieth = (runs.get(Toy(width), 0, (data(),)) for width in (5, 55))
    assert asked == [fifth.key, fiftieth.key]
    assert whole.record["asked"] == [fiftieth.key]
    assert fiftieth.record["asked"] == [fifth.key] and fifth.record["asked"] == []
    assert runs.get(Toy(551), 0, (data(),)).record["asked"] == [fiftieth.key]  # stored already
    with pytest.raises(RuntimeError):
        runs.get(Toy(-1), 0, (data(),))
    assert runs.get(Toy(6), 0, (data(),)).record["asked"] == []


def test_what_another_process_computes_comes_last(store):
    """Two that want the same runs share them; each has all of them in the order asked for, and
    counts what the other has done as soon as it is back from a run of its own.
    """
    elsewhere = runs.get(Toy(4), 0, (data(),))
    (elsewhere.folder / "run.json").rename(store / "kept")
    CALLS.clear()
    as_ever = compute
    with contextlib.ExitStack() as held:
        held.enter_context(owners.claimed(store / ".locks", elsewhere.key))
        with pytest.raises(BlockingIOError):
            runs.get(Toy(4), 0, (data(),), wait=False)

        def compute_and_see(config, inputs, seed, folder, device):
            if config.width == 5:  # the other process is done with its run meanwhile
                (store / "kept").rename(elsewhere.folder / "run.json")
                held.close()
            return as_ever(config, inputs, seed, folder, device)

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(sys.modules[__name__], "compute", compute_and_see)
            patched.setattr(progress, "trained", lambda: CALLS.append("one more"))
            found = runs.several([(Toy(width), 0) for width in (4, 2, 5, 6)], (data(),))
    assert [run.config["width"] for run in found] == [4, 2, 5, 6]
    assert [each if each == "one more" else each[0].width for each in CALLS] == [
        *(2, "one more"),
        *(5, "one more", "one more"),
        *(6, "one more"),
    ]


@pytest.mark.parametrize("writes", [True, False])
def test_who_lost_a_run_stores_nothing(store, monkeypatch, writes):
    """Its machine slept; another one took the run over, and the folder with it."""
    as_ever = compute

    def compute_asleep(config, inputs, seed, folder, device):
        found = as_ever(config, inputs, seed, folder, device)
        name = folder.stem
        assert folder.name == f"{name}.1"
        (store / ".locks" / f"{name}.1").rename(store / ".locks" / f"{name}.2")
        if writes:
            folder.rename(folder.with_name(f"{name}.2"))
            np.save(folder / "more.npy", np.zeros(1))
        return found

    monkeypatch.setattr(sys.modules[__name__], "compute", compute_asleep)
    with pytest.raises(owners.Lost, match="was taken over"):
        runs.get(Toy(), 0, (data(),))
    assert not list(store.glob("*/run.json"))


def test_the_next_owner_goes_on_with_the_latest_folder(store):
    key = runs.get(Toy(), 0, (data(),)).key
    for number, text in ((1, "old"), (2, "new")):
        folder = store / ".partial" / f"{key}.{number}"
        folder.mkdir()
        (folder / "checkpoint").write_text(text)
    claim = owners.Claim(store / ".locks" / f"{key}.3", 3)
    own = runs._begun(claim, key)
    assert own.name == f"{key}.3" and (own / "checkpoint").read_text() == "new"
    assert [each.name for each in (store / ".partial").iterdir()] == [own.name]
    assert runs._begun(claim, key) == own and (own / "checkpoint").read_text() == "new"


def arm(checksum, gradients):
    gradients = np.asarray(gradients, float)
    return SimpleNamespace(metrics={"checksum": checksum}, array=lambda name: gradients)


def test_arms_that_trained_the_same_model_are_found():
    a = arm("x", [[1, 0], [0, 2]])
    with pytest.raises(runs.ArmsIdentical, match="'a' and 'b'"):
        runs.check_arms_differ({"a": a, "b": arm("x", [[1, 0], [0, 3]])})
    with pytest.raises(runs.ArmsIdentical, match="gradients"):  # noise in the last bits only
        runs.check_arms_differ({"a": a, "b": arm("y", [[1, 0], [0, 2.0000001]])})


def test_arms_that_differ_at_some_early_step_pass():
    found = runs.check_arms_differ(
        {"a": arm("x", [[1, 0], [0, 2]]), "b": arm("y", [[1, 0], [0, 1]])}
    )
    assert found["a", "b"] == pytest.approx(0.5)  # ‖(0,2) − (0,1)‖ / 2


def test_table_3_rows_and_arms_name_each_other():
    from alignbook.papers.chan.arms import arms
    from alignbook.workbook import exhibits, profiles

    for name in profiles.PROFILES:
        profile = profiles.get(name, "coco" if name == "paper" else "world")
        listed = arms("chan-T3", profile)
        assert {*listed, BASE_MODEL} == set(exhibits.EXHIBITS["chan-T3"].names())
        untuned = {*catalogue.CONTROLS, *catalogue.CURVE}  # the curve's τ are what is shown
        trials = {len(c) for a, (c, _) in listed.items() if a not in untuned}
        assert trials == {profile.chan_trials}  # equal numbers for every method
        for candidates, changes in listed.values():
            assert len(set(candidates)) == len(candidates) and set(changes) <= {"steps"}
    shown = {arm for _, _, arm in exhibits.ROWS["chan-T3"]}
    assert {*listed, BASE_MODEL} - shown == set(catalogue.CURVE)
