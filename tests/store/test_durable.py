"""What was flipped, emptied, cut or lost is named, set aside and made again, with the same numbers."""

import contextlib
import json
import os
import re
import shutil
import sys
from base64 import urlsafe_b64encode
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from alignbook import ROOT
from alignbook.core import training
from alignbook.datasets import by_name
from alignbook.errors import DataError
from alignbook.explorer import stored_models
from alignbook.show import tables
from alignbook.store import contents, durable, runs
from alignbook.workbook import folders, start, workbook
from alignbook.workbook.packs import pack_choice
from alignbook.workbook.publishing import again, beside, published
from alignbook.workbook.reports import report, report_front, report_notebooks
from alignbook.workbook.running import main_job, salvage
from test_datasets import Settings

sys.path.insert(0, str(ROOT))  # benchmarks lies beside the library
from test_training import Stop, train

from benchmarks import kernels  # noqa: E402


def flip(file: Path) -> None:
    """Another byte in the middle; size and time of change stay."""
    stat, octets = file.stat(), bytearray(file.read_bytes())
    octets[len(octets) // 2] ^= 1
    file.write_bytes(octets)
    os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def empty(file: Path) -> None:
    file.write_bytes(b"")


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def zero(file: Path) -> None:
    """As a file whose size came to the disk before its content."""
    file.write_bytes(bytes(file.stat().st_size))


def lose(file: Path) -> None:
    file.unlink()


DAMAGE = [flip, empty, cut, zero, lose]
damaged = pytest.mark.parametrize("damage", DAMAGE, ids=lambda each: each.__name__)


@dataclass(frozen=True)
class Toy:
    width: int = 3

    def compute(self, inputs, seed, folder, device):
        return compute(self, inputs, seed, folder, device)


def compute(config, inputs, seed, folder, device):
    np.save(folder / "ranks_i2t.npy", np.arange(config.width))
    (folder / "weights.safetensors").write_bytes(b"weights" * config.width)
    return {"dev RSUM": 10.0 * config.width}


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setattr(runs, "STORE", tmp_path / "store")
    monkeypatch.setattr(runs, "code_hash", lambda *_: "code")
    monkeypatch.setattr(contents, "YOUNG", -3600.0)  # hashes are kept from the first moment on
    return tmp_path / "store"


def another_process():
    """What this process knows of runs is forgotten."""
    runs._sound.clear()


def content(run: Path) -> dict:
    return {path.name: path.read_bytes() for path in run.iterdir() if path.name != "run.json"}


FILES = ["run.json", "metrics.json", "ranks_i2t.npy", "weights.safetensors"]


@damaged
@pytest.mark.parametrize("name", FILES)
def test_a_run_that_is_not_as_it_was_written_is_computed_again(store, capsys, name, damage):
    run = runs.get(Toy(), 0)
    whole = content(run.folder)
    another_process()
    assert runs.get(Toy(), 0).key == run.key  # and hashes are kept
    damage(run.folder / name)
    another_process()
    assert not runs.is_stored(run.key)
    with pytest.raises(FileNotFoundError, match=f"{name}.*start ./run_all.sh again"):
        runs.stored(run.key)
    again = runs.get(Toy(), 0)
    told = capsys.readouterr().err
    assert told.count("\n") == 1 and name in told and "set aside, the run is computed again" in told
    assert again.key == run.key and content(again.folder) == whole
    assert sorted(path.name for path in (store / ".bad" / run.key).iterdir()) == sorted(
        {*FILES} - ({name} if damage is lose else set())
    )
    another_process()
    assert runs.is_stored(run.key) and not capsys.readouterr().err


@pytest.mark.parametrize("damage", [empty, cut, zero], ids=lambda each: each.__name__)
def test_what_an_owner_who_was_killed_had_noted_is_not_believed_where_it_is_cut(
    store, monkeypatch, capsys, damage
):
    """Complaints, which a method keeps in a file while it trains: they are begun anew."""
    seen = []

    def killed(config, inputs, seed, folder, device):
        (folder / "problems.json").write_text('{"epoch 1": "no pair is clean"}')
        raise KeyboardInterrupt

    def goes_on(config, inputs, seed, folder, device):
        seen.append({path.name for path in folder.iterdir()})
        return compute(config, inputs, seed, folder, device)

    for harmed in (False, True):
        monkeypatch.setattr(Toy, "compute", killed)
        with pytest.raises(KeyboardInterrupt):
            runs.get(Toy(3 + harmed), 0)
        if harmed:
            damage(next((store / ".partial").glob("*/problems.json")))
        monkeypatch.setattr(Toy, "compute", goes_on)
        run = runs.get(Toy(3 + harmed), 0)
        assert (run.folder / "problems.json").exists() == (not harmed)
        assert not (run.folder / ".bad").exists()
    assert seen == [{"problems.json"}, {".bad"}]
    told = capsys.readouterr().err
    assert told.count("problems.json: cut or altered; set aside, it is begun anew\n") == 1


def test_the_record_states_size_and_hash_of_every_file(store):
    run = runs.get(Toy(), 0)
    assert set(run.record["files"]) == {*FILES} - {"run.json"}
    assert run.record["files"]["weights.safetensors"]["size"] == 21


def test_a_run_without_hashes_is_of_another_version(store):
    run = runs.get(Toy(), 0)
    record = run.record.copy()
    del record["seal"], record["files"]
    (run.folder / "run.json").write_text(json.dumps(record))
    assert not runs.is_stored(run.key) and runs.fault(run.key) == runs.OTHER
    assert runs.is_stored(runs.get(Toy(), 0).key)


def test_a_record_with_another_number_is_no_record(store):
    """Its JSON is whole, its key and its files are right: the seal alone tells."""
    run = runs.get(Toy(), 0)
    record = run.record | {"seconds": -1.0}
    (run.folder / "run.json").write_text(json.dumps(record))
    assert not runs.is_stored(run.key) and "altered" in runs.fault(run.key)


def test_everything_is_on_the_disk_before_it_has_its_name(store, monkeypatch):
    """Every file, its folder, then the rename, then the folder that holds the name."""
    told, synced, renamed = [], os.fsync, os.replace

    def fsync(descriptor):
        told.append(os.path.basename(os.readlink(f"/proc/self/fd/{descriptor}")))
        synced(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "replace", lambda a, b: (told.append("renamed"), renamed(a, b)))
    monkeypatch.setattr(contents, "store", lambda *_: None)  # needs no disk
    if not os.path.exists("/proc/self/fd"):
        pytest.skip("needs /proc")
    run = runs.get(Toy(), 0)
    assert sorted(told[:5]) == sorted([*FILES, f"{run.key}.1"])
    assert told[5:] == ["renamed", "store"]
    told.clear()
    durable.write(store / "note", "x")
    assert told[0].startswith(".note") and told[1:] == ["renamed", "store"]


# --- Prepared data -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    return by_name.prepare("world", Settings(), tmp_path_factory.mktemp("data"))


PREPARED = ["images.npy", "captions.json", "splits.json", "names.json", "meta.json"]
PREPARED += ["objects.parquet", "gold/parses/*train*", "gold/images/test-000000.png"]


@damaged
@pytest.mark.parametrize("name", PREPARED)
def test_prepared_data_that_were_altered_are_prepared_again(
    prepared, tmp_path, capsys, name, damage
):
    folder = tmp_path / prepared.folder.name
    shutil.copytree(prepared.folder, folder)
    (file,) = folder.glob(name)
    damage(file)
    again = by_name.prepare("world", Settings(), tmp_path)
    told = capsys.readouterr().err.splitlines()
    assert sum("set aside" in line and file.name in line for line in told) == 1
    assert again.fingerprint == prepared.fingerprint and again.captions == prepared.captions
    assert np.array_equal(again.images, prepared.images)
    assert (tmp_path / ".bad" / folder.name).is_dir()
    by_name.prepare("world", Settings(), tmp_path)
    assert "set aside" not in capsys.readouterr().err


# --- Checkpoints ---------------------------------------------------------------------------------


@damaged
@pytest.mark.parametrize("name", ["checkpoint.pt", "checkpoint.best.pt"])
def test_training_begins_anew_where_a_checkpoint_is_not_whole(
    tmp_path, monkeypatch, capsys, name, damage
):
    monkeypatch.setattr(training, "CHECKPOINT_SECONDS", 0.0)
    for each in "ab":
        (tmp_path / each).mkdir()
    unbroken, whole = train(tmp_path / "a")
    with pytest.raises(Stop):
        train(tmp_path / "b", stop_at=7)
    training.keep({"of": 1}, tmp_path / "b/checkpoint.best.pt")
    damage(tmp_path / "b" / name)
    again, rest = train(tmp_path / "b")
    assert again == unbroken and rest["loss"] == whole["loss"]
    told = capsys.readouterr().err
    assert (f"{name}: cut or altered; set aside, training begins anew" in told) == (damage != lose)


def test_a_checkpoint_does_not_outlive_the_other_one(tmp_path, capsys):
    """Stopped again before its first checkpoint, training would go on from two that don't fit."""
    for name in ("checkpoint.pt", "checkpoint.best.pt"):
        training.keep({"of": 1}, tmp_path / name)
    assert training.are_whole(tmp_path)
    cut(tmp_path / "checkpoint.best.pt")
    assert not training.are_whole(tmp_path) and not list(tmp_path.glob("checkpoint.*"))


# --- Results -------------------------------------------------------------------------------------


def note(out: Path, *files: str) -> None:
    """What Snakemake keeps of files it had made."""
    for file in files:
        name = urlsafe_b64encode(file.encode()).decode()
        record = out / ".snakemake/metadata" / name
        record.parent.mkdir(parents=True, exist_ok=True)
        record.write_text(json.dumps({"rule": "arms", "params": [], "code": "x"}))


MADE = ["data.json", "base.json", "arms/chan-T3/hard.csv", "metrics.csv", "notebooks/10_chan.done"]
TABLES = ["summary.csv", "timings.csv", "runs.csv", "images.parquet", "benchmarks/kernels.csv"]
TABLES += ["efficiency/chan-F3.csv", "seeds/chan.csv"]  # and what else a job makes
WRITTEN = ["claims.csv", "contrasts.csv"]  # by a notebook
LEFT = [*WRITTEN, "figures/90-verdicts.png"]
SETTINGS = {"profile": "smoke", "data": "world", "seeds": None, "set": {}, "device": "cpu"}


@pytest.fixture
def out(store, tmp_path, monkeypatch, capsys):
    """A results folder, whole."""
    monkeypatch.setattr(salvage, "ROOT", tmp_path)
    run = runs.get(Toy(), 0)
    out = tmp_path / "results"
    listed = f"exhibit,arm,role,seed,key\nchan-T3,hard,report,0,{run.key}\n"
    data = json.dumps({"folder": "world-1", "images": {"test": 9}, "captions per image": 5})
    texts = [data, json.dumps({"base": run.key}), listed, "exhibit,row\n", ""]
    for file, text in zip(MADE, texts, strict=True):
        durable.write(out / file, text, sealed=not file.endswith(".done"))
    (out / "notebooks/10_chan.ipynb").write_text('{"cells": []}\n')
    folders.write_settings(out / "settings.json", SETTINGS)
    main_job.note_start(out, 1.0, 2, SimpleNamespace(finished=[]))
    note(out, *MADE)
    salvage.mend(out)
    assert all((out / file).exists() for file in MADE) and not any(capsys.readouterr())
    return out


# Of an executed notebook, which its reader may change, only the ends are looked at.
@pytest.mark.parametrize(
    "name, damage",
    [
        (name, damage)
        for name in (*MADE[:-1], "notebooks/10_chan.ipynb")
        for damage in DAMAGE[:-1]
        if not (name.endswith(".ipynb") and damage is flip)
    ],
)
def test_what_a_job_made_is_made_again_where_it_is_not_whole(out, capsys, name, damage):
    damage(out / name)
    salvage.mend(out)
    target = name.replace(".ipynb", ".done")
    assert [file for file in MADE if not (out / file).exists()] == [target]
    told = capsys.readouterr().err
    assert f"{name}: cut or altered; set aside, it is made again\n" in told
    assert told.count("\n") == 1


@pytest.mark.parametrize("damage", DAMAGE[:-1], ids=lambda each: each.__name__)
@pytest.mark.parametrize("name", TABLES)
def test_every_table_that_a_job_made_is_made_again_where_it_is_not_whole(out, capsys, name, damage):
    run = json.loads((out / "base.json").read_text())["base"]
    line = f"chan-T3,hard,report,3,{run}\n"
    durable.write(out / name, f"exhibit,arm,role,seed,key\n{line}", sealed=True)
    note(out, name)
    salvage.mend(out)
    assert (out / name).exists() and not any(capsys.readouterr())
    damage(out / name)
    salvage.mend(out)
    assert [file for file in (*MADE, name) if not (out / file).exists()] == [name]
    assert f"{name}: cut or altered; set aside, it is made again\n" in capsys.readouterr().err


def test_every_kind_of_file_that_a_job_makes_is_damaged_here():
    for pattern in salvage.MADE:
        assert any(Path(name).match(pattern) for name in (*MADE, *TABLES)), pattern


def test_times_of_the_kernels_are_sealed(tmp_path, monkeypatch):
    """By the program that measures them, which others run too."""
    monkeypatch.setattr(kernels, "measured", lambda *_: pd.DataFrame({"row": ["hard coding"]}))
    monkeypatch.setattr(kernels, "text", lambda table: "hard coding 1.1")
    out = tmp_path / "kernels.csv"
    kernels.main(["--size", "smoke", "--out", str(out)])
    assert durable.is_sound(out)
    flip(out)
    assert not durable.is_sound(out)


@pytest.fixture
def judged(out):
    """A results folder with verdicts."""
    table = pd.DataFrame({"claim": ["a"], "says": ["a says"], "verdict": ["reproduced"]})
    for name in WRITTEN:
        tables.write_csv(table, out / name, sealed=True)
    (out / "notebooks/90_claims.ipynb").write_text('{"cells": []}\n')
    figure = out / "figures/90-verdicts.png"
    durable.write(figure, b"\x89PNG and what follows")
    noted = {name: entry for name, entry in durable.described(out).items() if name in LEFT}
    assert [*noted] == sorted(LEFT)
    (out / "notebooks/90_claims.done").write_text(json.dumps(noted))
    note(out, "notebooks/90_claims.done")
    return out


@damaged
@pytest.mark.parametrize("name", LEFT)
def test_the_notebook_is_executed_again_of_which_a_file_is_not_whole(judged, capsys, name, damage):
    salvage.mend(judged)
    assert (judged / "notebooks/90_claims.done").exists() and not any(capsys.readouterr())
    damage(judged / name)
    salvage.mend(judged)
    made = [*MADE, *LEFT, "notebooks/90_claims.done"]
    assert [file for file in made if not (judged / file).exists()] == [name, made[-1]]
    told = capsys.readouterr().err
    assert told.startswith(f"  {judged / name}: ") and told.count("\n") == 1
    assert told.endswith("90_claims is executed again\n")
    assert (judged / name).parent.joinpath(".bad", Path(name).name).exists() == (damage != lose)
    salvage.mend(judged)
    assert not any(capsys.readouterr())


def test_the_notebook_that_writes_verdicts_seals_them():
    """Else nobody could tell that a byte of them is another."""
    cells = json.loads((ROOT / "notebooks/90_claims.ipynb").read_text(encoding="utf-8"))["cells"]
    code = "".join(line for cell in cells for line in cell["source"])
    for name in WRITTEN:
        assert re.search(rf'write_csv\(\w+, book.out / "{name}", sealed=True\)', code)


@damaged
def test_verdicts_of_other_data_that_are_not_whole_stand_beside_nothing(judged, damage):
    place = judged.rename(judged.with_name("flickr8k-laptop"))
    found = beside.others("world", "laptop", place.parent)
    assert found == {"flickr8k": place}
    damage(place / "claims.csv")
    assert beside.others("world", "laptop", place.parent) == {}


@pytest.mark.parametrize("damage", DAMAGE[:-1], ids=lambda each: each.__name__)
@pytest.mark.parametrize("name", FILES)
def test_a_list_that_names_a_damaged_run_is_made_again(out, capsys, name, damage):
    key = json.loads((out / "base.json").read_text())["base"]
    damage(runs.STORE / key / name)
    another_process()
    salvage.mend(out)
    assert [file for file in MADE if not (out / file).exists()] == MADE[1:3]
    told = capsys.readouterr().err
    assert name in told and "the run is computed again" in told and told.count("\n") == 3
    assert not (runs.STORE / key).exists()


def test_seeds_of_which_a_run_is_damaged_are_bought_again(out, capsys):
    """By all of the paper's buyers: the job that lists them would train alone."""
    run = runs.get(Toy(4), 0)
    listed = f"exhibit,arm,role,seed,key\nchan-T3,hard,report,3,{run.key}\n"
    durable.write(out / "seeds/chan.csv", listed, sealed=True)
    marks = [out / f"seeds/{name}.bought" for name in ("chan-0", "chan-1", "gsl-0")]
    for mark in marks:
        mark.touch()
    note(out, "seeds/chan.csv", *(f"seeds/{mark.name}" for mark in marks))
    salvage.mend(out)
    assert not capsys.readouterr().err and all(mark.exists() for mark in marks)
    flip(run.folder / FILES[1])
    another_process()
    salvage.mend(out)
    assert not (out / "seeds/chan.csv").exists() and all((out / file).exists() for file in MADE)
    assert [mark.exists() for mark in marks] == [False, False, True]


@pytest.mark.parametrize("damage", DAMAGE[1:], ids=lambda each: each.__name__)
def test_what_snakemake_has_no_record_of_is_made_again(out, capsys, damage):
    """Without one it takes what is there for up to date, whatever the settings are."""
    records = out / ".snakemake/metadata"
    damage(records / urlsafe_b64encode(b"arms/chan-T3/hard.csv").decode())
    salvage.mend(out)
    assert [file for file in MADE if not (out / file).exists()] == ["arms/chan-T3/hard.csv"]
    assert "hard.csv: no record of what it was made with" in capsys.readouterr().out
    shutil.rmtree(records)
    salvage.mend(out)
    assert not any((out / file).exists() for file in MADE)
    assert "and 3 more: no record" in capsys.readouterr().out


@pytest.mark.parametrize("name, stays", [("chan-F3", False), ("chan-F3-wide", True)])
def test_times_that_a_notebook_measured_need_no_record(out, name, stays):
    """Nothing else makes them again, other than those of an exhibit's job."""
    file = out / "efficiency" / f"{name}.csv"
    file.parent.mkdir()
    file.write_text("row,comparing\nhard,1\n")
    salvage.mend(out)
    assert file.exists() == stays


@pytest.mark.parametrize("damage", DAMAGE[:-1], ids=lambda each: each.__name__)
def test_settings_and_starts_are_begun_anew(out, capsys, damage):
    for name in ("settings.json", "starts.json"):
        damage(out / name)
    assert folders.whole_settings(out) is None
    main_job.note_start(out, 2.0, 2, SimpleNamespace(finished=[]))
    told = capsys.readouterr().err
    assert told.count("cut or altered; set aside, it is begun anew\n") == 2
    assert [each["seconds"] for each in json.loads((out / "starts.json").read_text())] == [2.0]
    salvage.mend(out)  # nobody knows any more with which settings the lists were made
    assert not (out / "arms/chan-T3/hard.csv").exists()
    folders.write_settings(out / "settings.json", SETTINGS)
    assert folders.whole_settings(out) == SETTINGS


def rename(settings: Path) -> None:
    """Another profile, in JSON that is whole: the seal alone tells."""
    settings.write_text(settings.read_text().replace('"profile": "', '"profile": "x'))


unread = pytest.mark.parametrize("damage", [*DAMAGE[:-1], rename], ids=lambda each: each.__name__)
# What reads the settings of the folder that it is asked for.
ASKED = {
    "book": report.build,
    "the report's stamp": report.made_from,
    "the report's workbook": report.opened,
    "the report's pages of the library": report_notebooks.has_api,
    "the map": lambda out: start.circumstances(SimpleNamespace(out=out, kind="world")),
    "load": workbook.load,
    "publish": lambda out: published.publish(out, out.parent / "reference", False),
    "what is published of it": published.about,
}


# What reads the starts of the folder that it is asked for.
STARTS = {
    "the front page": report_front.computed,
    "what is published of it": published.about,
    "once more": again.where,
}


@pytest.mark.parametrize("damage", DAMAGE[:-1], ids=lambda each: each.__name__)
@pytest.mark.parametrize("asked", [*STARTS, "a pack"])
def test_starts_and_bases_that_are_not_whole_are_named_where_they_are_asked_for(out, asked, damage):
    name = "base.json" if asked == "a pack" else "starts.json"
    ask = STARTS.get(asked, pack_choice.keys_of)
    (out / "runs.csv").write_text('run,versions\nx,"{""torch"": ""2""}"\n')
    assert ask(out)
    damage(out / name)
    with pytest.raises(DataError, match=rf"/{name}: cut or altered, .*\./run_all.sh again"):
        ask(out)
    (out / name).unlink()
    ask(out)  # none is none


def test_an_empty_table_is_not_whole(tmp_path):
    """Also one that nobody sealed, such as a disk that was full left it."""
    file = tmp_path / "claims.csv"
    assert not folders.is_whole(file)
    file.touch()
    assert not folders.is_whole(file)
    file.write_text("claim,verdict\n")
    assert folders.is_whole(file)


@pytest.mark.parametrize("damage", DAMAGE[:-1], ids=lambda each: each.__name__)
def test_tables_of_other_results_that_are_not_whole_count_nothing(judged, damage):
    """The map looks at every folder; a start mends its own alone."""
    place = judged.rename(judged.with_name("flickr8k-laptop"))
    shown = start.computed(place.parent).iloc[0]
    assert (shown.numbers, shown.verdicts) == (0, "1 reproduced")
    durable.write(place / "metrics.csv", "exhibit,row\nchan-T3,hard\n", sealed=True)
    assert start.computed(place.parent).numbers.item() == 1
    damage(place / "metrics.csv")
    damage(place / "claims.csv")
    shown = start.computed(place.parent).iloc[0]
    assert (shown.numbers, shown.verdicts) == (0, "–")


@unread
@pytest.mark.parametrize("asked", ASKED)
def test_settings_that_are_not_whole_are_named_where_they_are_asked_for(out, asked, damage):
    damage(out / "settings.json")
    octets = (out / "settings.json").read_bytes()
    with pytest.raises(DataError, match=r"/settings.json: cut or altered, .*\./run_all.sh again"):
        ASKED[asked](out)
    assert (out / "settings.json").read_bytes() == octets  # whoever only reads changes nothing


def test_settings_that_are_a_pipe_are_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "settings.json")
    with pytest.raises(DataError, match="/settings.json: cut or altered"):
        folders.settings_of(tmp_path)


def test_a_notebook_names_the_settings_it_cannot_read(out, monkeypatch):
    """One that is opened without a profile, whatever is changed in it."""
    empty(out / "settings.json")
    monkeypatch.setattr(workbook, "most_complete", lambda kind: out)
    for changed in ("", "chan_steps=3"):
        with pytest.raises(DataError, match="/settings.json: cut or altered"):
            workbook.open("", settings=changed)


def packed(root: Path) -> list[str]:
    return [each.name for each in pack_choice.referring(root)]


def side_by_side(root: Path) -> list[str]:
    own = SimpleNamespace(kind="coco", profile=SimpleNamespace(name="laptop"))
    own.out = root / "results/coco-laptop"
    return [label.replace(", ", "-") for label in beside.judged(own)]


def explored(root: Path) -> list[str]:
    return [each.out.name for each in stored_models.workbooks("laptop")]


@unread
@pytest.mark.parametrize("found", [packed, side_by_side, explored])
def test_other_results_whose_settings_are_not_whole_are_passed_over(
    tmp_path, monkeypatch, capsys, found, damage
):
    monkeypatch.setattr(stored_models, "ROOT", tmp_path)
    for kind in ("flickr8k", "world"):
        place = tmp_path / f"results/{kind}-laptop"
        said = {"profile": "laptop", "data": kind}
        folders.write_settings(place / "settings.json", SETTINGS | said)
        (place / "claims.csv").write_text("claim,says,verdict\n")
    assert sorted(found(tmp_path)) == ["flickr8k-laptop", "world-laptop"]
    file = tmp_path / "results/flickr8k-laptop/settings.json"
    damage(file)
    assert found(tmp_path) == ["world-laptop"] and file.exists()
    told = capsys.readouterr().err
    assert (f"passed over: {file}: cut or altered" in told) == (found is packed)


def test_what_is_of_other_code_or_was_removed_is_left(out, capsys):
    (run,) = runs.STORE.glob("[0-9a-f]*")
    record = json.loads((run / "run.json").read_text())
    del record["seal"]
    (run / "run.json").write_text(json.dumps(record))
    salvage.mend(out)
    shutil.rmtree(run)
    salvage.mend(out)
    assert all((out / file).exists() for file in MADE) and not any(capsys.readouterr())


def test_prepared_data_that_a_start_finds_damaged(out, tmp_path, capsys):
    (tmp_path / "data/world-1").mkdir(parents=True)
    (tmp_path / "data/world-1/meta.json").write_text("")
    salvage.mend(out)
    assert "meta.json: not a whole list of its files; set aside" in capsys.readouterr().err
    assert not (tmp_path / "data/world-1").exists()


@pytest.mark.parametrize("stop", range(4))
def test_a_sealed_file_is_sound_wherever_its_writer_is_killed(tmp_path, monkeypatch, stop):
    """The old or the new one, never one with the other's seal."""
    path, moves = tmp_path / "a.json", iter(range(9))
    durable.write(path, "old", sealed=True)
    replace = os.replace

    def killed(*where):
        if next(moves) == stop:
            raise KeyboardInterrupt
        replace(*where)

    monkeypatch.setattr(durable.os, "replace", killed)
    with contextlib.suppress(KeyboardInterrupt):
        durable.write(path, "new", sealed=True)
    assert path.read_text() == ("new" if stop else "old") and durable.is_sound(path)
    monkeypatch.undo()
    flip(path)
    assert durable.is_sound(path) == (stop < 2)  # as long as there is no seal it is believed


def test_a_file_that_is_written_while_it_is_looked_at_is_sound(tmp_path, monkeypatch):
    path, read = tmp_path / "a.json", Path.read_bytes
    durable.write(path, "old", sealed=True)

    def late(self):
        if self != path:  # its seal
            return read(self)
        monkeypatch.undo()
        durable.write(path, "new", sealed=True)
        return read(self)

    monkeypatch.setattr(Path, "read_bytes", late)
    assert durable.is_sound(path) and path.read_text() == "new"


# --- What is made aside ---------------------------------------------------------------------------


def left_by(path: Path, process: int, machine: str = "") -> Path:
    """What a process left aside that was making `path`, here or on another machine."""
    head, own, number, name = durable.aside(path).name.split("-", 3)
    assert int(number) == os.getpid()
    return path.with_name("-".join([head, machine or own, str(process), name]))


def test_what_the_dead_left_is_swept_and_the_living_are_let_be(tmp_path):
    dead, lives = left_by(tmp_path / "a", 999_999_999), left_by(tmp_path / "a", os.getppid())
    before, file = left_by(tmp_path / "b", os.getpid()), left_by(tmp_path / "c", 999_999_999)
    kept = tmp_path / ".making-7-mine"
    for folder in (dead / "deep", lives, before, kept):
        folder.mkdir(parents=True)
    file.touch()
    durable.sweep(tmp_path)
    assert {*tmp_path.iterdir()} == {lives, kept}


def test_what_cannot_be_removed_ends_nothing(tmp_path, monkeypatch):
    """Another user's, whose process is gone."""
    left = left_by(tmp_path / "a", 999_999_999)
    left.mkdir()

    def refused(*_, **__):
        raise PermissionError("not yours")

    monkeypatch.setattr(os, "rmdir", refused)
    durable.sweep(tmp_path)
    assert left.exists()


def test_another_machines_number_says_nothing_here(tmp_path):
    """Its process may live though there is none of that number here; after a day it doesn't."""
    there = left_by(tmp_path / "a", 999_999_999, "0123abcd")
    (there / "deep").mkdir(parents=True)
    (there / "deep/file").touch()
    durable.sweep(tmp_path)
    assert there.exists()
    long_ago = there.stat().st_mtime - 86_401
    for path in (there, there / "deep"):
        os.utime(path, (long_ago, long_ago))
    durable.sweep(tmp_path)
    assert there.exists()  # a file in it was changed just now
    os.utime(there / "deep/file", (long_ago, long_ago))
    durable.sweep(tmp_path)
    assert not there.exists()


def test_two_machines_never_share_a_name(tmp_path, monkeypatch):
    here = durable.aside(tmp_path / "a")
    monkeypatch.setattr(durable.owners, "host", lambda: "another")
    assert durable.aside(tmp_path / "a") != here
