"""What is remembered: as long as nothing behind it has changed, and no longer."""

import json

import pytest
import remembered

CODE = ("alignbook.errors",)


def behind():
    """Its source counts."""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(remembered, "FOLDER", tmp_path)
    monkeypatch.setenv("ALIGNBOOK_REMEMBER", "changed")
    monkeypatch.delenv("ALIGNBOOK_MUTANT", raising=False)
    return tmp_path


def test_it_is_found_out_once(folder):
    times = []

    def compute():
        times.append(1)
        return {"pair": (1, 2.5), "n": len(times)}

    first = remembered.remembered("some", CODE, compute, "behind", behind)
    assert first == {"pair": [1, 2.5], "n": 1} and (folder / "some.json").exists()
    assert remembered.remembered("some", CODE, compute, "behind", behind) == first
    assert len(times) == 1


@pytest.mark.parametrize("what", ("others", "code", "source", "lock", "mutant", "all"))
def test_and_anew_where_something_has_changed(folder, monkeypatch, what):
    (folder / "lock").write_text("torch==1")
    monkeypatch.setattr(remembered, "LOCK", folder / "lock")
    monkeypatch.setattr(remembered, "code_hash", lambda *modules, counts: modules[0])

    def compute():
        return 1

    def otherwise():
        return 2

    asked = {"name": "some", "modules": CODE, "compute": compute}
    remembered.remembered(*asked.values(), "behind")
    before = json.loads((folder / "some.json").read_text())
    file = folder / "some.json"
    file.write_text(json.dumps(before | {"found": "old"}))
    assert remembered.remembered(*asked.values(), "behind") == "old"
    others = "in front" if what == "others" else "behind"
    if what == "code":
        asked["modules"] = ("alignbook.store",)
    if what == "source":
        asked["compute"] = otherwise
    if what == "lock":
        (folder / "lock").write_text("torch==2")
    if what == "mutant":
        monkeypatch.setenv("ALIGNBOOK_MUTANT", "a")
    if what == "all":
        monkeypatch.setenv("ALIGNBOOK_REMEMBER", "all")
    assert remembered.remembered(*asked.values(), others) == (2 if what == "source" else 1)
    written = json.loads(file.read_text())["found"]
    assert written == ("old" if what == "mutant" else 2 if what == "source" else 1)


def test_nothing_is_written_unasked(folder, monkeypatch):
    monkeypatch.delenv("ALIGNBOOK_REMEMBER")
    assert remembered.remembered("some", CODE, lambda: [1]) == [1]
    assert not list(folder.iterdir())


def test_all_of_the_library_behind_a_name_counts(folder, monkeypatch):
    """Rooms that never change a number count here: verdicts are what is asked about."""
    seen = {}
    monkeypatch.setattr(
        remembered, "code_hash", lambda *modules, counts: seen.update(counts=counts) or ""
    )
    remembered.remembered("some", CODE, lambda: 1)
    assert seen["counts"]("alignbook.evidence.looks") and seen["counts"]("alignbook.core.losses")
