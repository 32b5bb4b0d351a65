"""Packs: what goes in, the same bytes, back unchanged; altered, foreign or cut, nothing is left."""

import gzip
import hashlib
import io
import json
import os
import struct
import tarfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from alignbook.errors import DataError
from alignbook.store import durable
from alignbook.store.runs import key_of, sealed
from alignbook.workbook import folders
from alignbook.workbook.packs import pack, pack_archive, pack_choice, pack_manifest, pack_members
from safetensors.numpy import save

WORLD, PHOTOS = "a" * 64, "b" * 64
STALE, PHOTO_BASE, PHOTO_FEATURES, PHOTO_ARM = (digit * 16 for digit in "5678")


def record_of(inputs, module="alignbook.papers.chan.model", seed=0, seconds=1.5) -> dict:
    """Where a run comes from, and its key."""
    record = {
        "module": module,
        "config": {"steps": 1, "rates": [0.1, 1.0]},
        "seed": seed,
        "inputs": list(inputs),
        "device": "cpu",
        "dtype": "float32",
        "format": 1,
        "code": "c" * 64,
        "versions": {"torch": "1", "numpy": "2"},
        "finished": "now",
        "seconds": seconds,
        "asked": [],
    }
    return record | {"key": key_of(record)}


BASE = record_of([WORLD], "alignbook.backbones.base")["key"]
FEATURES = record_of([WORLD, BASE], "alignbook.backbones.region_features")["key"]
ARM, SMALL = (record_of([WORLD, FEATURES, BASE], seed=seed)["key"] for seed in (0, 1))
PACKED = sorted([BASE, FEATURES, ARM, SMALL])


def metrics_of(seconds: float) -> dict:
    """What a run with weights always has."""
    told = dict.fromkeys(pack_members.TRAINED, 1)
    return told | {"checksum": "d" * 16, "training seconds": seconds}


def add_run(root: Path, key: str, inputs, module="alignbook.papers.chan.model", seconds=1.5):
    """A run as the store keeps it: weights, metrics, features, record."""
    folder = root / "results/store" / key
    folder.mkdir(parents=True)
    (folder / "metrics.json").write_text(json.dumps(metrics_of(seconds)))
    if module.endswith("region_features"):
        name = "patches" if PHOTOS in inputs else "features"  # whatever they are called
        np.save(folder / f"{name}.npy", np.arange(6.0).reshape(2, 3))
    else:
        np.save(folder / "loss.npy", np.arange(3.0))
        (folder / "weights.safetensors").write_bytes(
            save({"w": np.frombuffer(key.encode() * 99, np.uint8)})
        )
    record = record_of(inputs, module, int(key == SMALL), seconds) | {"key": key}
    write_record(folder, record)


def write_record(folder: Path, record: dict) -> None:
    """A run's record, with the sizes and hashes of its files and its seal."""
    (folder / "run.json").unlink(missing_ok=True)
    record = record | {"files": durable.described(folder)}
    record.pop("seal", None)
    (folder / "run.json").write_text(json.dumps(sealed(record)))


def add_results(root: Path, folder: str, base: list[str], arms: list[str]):
    """What a results folder says of its data and runs."""
    out = root / "results" / folder
    (out / "arms/chan-T3").mkdir(parents=True)
    data, _, profile = folder.partition("-")
    spec = data if data == "world" else f"{data}=/some/where"
    said = {"profile": profile, "data": spec, "seeds": None, "set": {}, "device": "auto"}
    (out / "settings.json").write_text(json.dumps(said))
    (out / "base.json").write_text(json.dumps(dict(zip(("base", "features"), base, strict=False))))
    lines = "".join(f"chan-T3,max,report,0,{key}\n" for key in arms[:1])
    (out / "runs.csv").write_text("exhibit,row,role,seed,run\n" + lines)
    lines = "".join(f"chan-T3,max,report,0,{key}\n" for key in arms[1:])
    (out / "arms/chan-T3/max.csv").write_text("exhibit,arm,role,seed,key\n" + lines)


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A project folder with the world's and a photograph collection's results."""
    root = tmp_path / "here"
    add_run(root, BASE, [WORLD], "alignbook.backbones.base")
    add_run(root, FEATURES, [WORLD, BASE], "alignbook.backbones.region_features")
    add_run(root, ARM, [WORLD, FEATURES, BASE])
    add_run(root, SMALL, [WORLD, FEATURES, BASE])
    add_run(root, STALE, [WORLD])
    add_run(root, PHOTO_BASE, [PHOTOS], "alignbook.backbones.base")
    add_run(root, PHOTO_FEATURES, [PHOTOS, PHOTO_BASE], "alignbook.backbones.region_features")
    add_run(root, PHOTO_ARM, [PHOTOS, PHOTO_FEATURES, PHOTO_BASE])
    add_results(root, "world-laptop", [BASE, FEATURES], [ARM])
    add_results(root, "world-smoke", [BASE, FEATURES], [ARM, SMALL])
    add_results(root, "flickr8k-laptop", [PHOTO_BASE, PHOTO_FEATURES], [PHOTO_ARM])
    monkeypatch.setattr(pack, "ROOT", root)
    return root


def packed(root: Path, **asked) -> Path:
    """A pack of a project folder's runs."""
    choice = pack_choice.choose(root, **asked)
    target = root.parent / f"pack-{len(list(root.parent.glob('pack-*')))}.tar.gz"
    pack_archive.write(
        target, pack_archive.describe(root / "results/store", choice), root / "results/store"
    )
    return target


def contents(store: Path) -> dict[str, bytes]:
    """Every file below a folder."""
    return {str(f.relative_to(store)): f.read_bytes() for f in store.rglob("*") if f.is_file()}


def unpacked(path: Path) -> list[tuple[tarfile.TarInfo, bytes]]:
    """Members of a pack, to be changed."""
    with tarfile.open(path) as tar:
        return [(info, tar.extractfile(info).read()) for info in tar]


def repacked(path: Path, members) -> Path:
    """A pack of other members."""
    with gzip.open(path, "wb") as zipped, tarfile.open(fileobj=zipped, mode="w") as tar:
        for info, content in members:
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return path


# --- What goes in --------------------------------------------------------------------------------


def test_what_results_refer_to_is_packed_with_its_inputs(root):
    choice = pack_choice.choose(root)
    assert choice.keys == PACKED
    assert [each["folder"] for each in choice.results] == ["world-laptop", "world-smoke"]
    reasons = " ".join(pack_choice.stays(choice))
    assert "3 runs on flickr8k" in reasons and "1 run that no results folder" in reasons
    assert "/some/where" not in json.dumps(choice.results)  # where photographs lie is private


def test_inputs_come_along_though_no_results_folder_names_them(root):
    (root / "results/world-laptop/base.json").unlink()
    (root / "results/world-smoke/base.json").unlink()
    assert pack_choice.choose(root, ["laptop"]).keys == sorted([BASE, FEATURES, ARM])


def test_results_that_nobody_asked_for_may_be_damaged(root, capsys):
    """One that is asked for is named, as what belongs to it would be guessed."""
    before = pack_choice.choose(root, ["laptop"]).keys
    (root / "results/world-smoke/base.json").write_text('{"base": ')
    assert pack_choice.choose(root, ["laptop"]).keys == before
    assert "passed over: " in (told := capsys.readouterr().err) and "base.json: cut" in told
    with pytest.raises(DataError, match="world-smoke/base.json: cut or altered"):
        pack_choice.choose(root, ["smoke"])


def test_what_a_run_asked_for_while_it_was_computed_comes_along(root):
    """A warm-up that several runs share, for one."""
    warm_up, own = "9" * 16, root / "results/store" / ARM / "run.json"
    add_run(root, warm_up, [WORLD, FEATURES, BASE])
    assert warm_up not in pack_choice.choose(root).keys
    write_record(own.parent, json.loads(own.read_text()) | {"asked": [warm_up]})
    assert pack_choice.choose(root, ["laptop"]).keys == sorted([BASE, FEATURES, ARM, warm_up])


def test_only_the_results_asked_for(root):
    choice = pack_choice.choose(root, profiles=["laptop"])
    assert choice.keys == sorted([BASE, FEATURES, ARM])
    assert "1 run of other results" in " ".join(pack_choice.stays(choice))
    with pytest.raises(DataError, match="overnight.*world-laptop"):
        pack_choice.choose(root, profiles=["overnight"])
    with pytest.raises(DataError, match="coco"):
        pack_choice.choose(root, kinds=["coco"])


def test_for_a_class_go_published_results(root):
    with pytest.raises(DataError, match="no results of results/reference/ to pack; there are: fl"):
        pack_choice.choose(root, published=True)
    for name in ("world-laptop", "flickr8k-laptop"):
        (root / "results/reference" / name).mkdir(parents=True)
    choice = pack_choice.choose(root, published=True)
    assert choice.keys == sorted(
        [BASE, FEATURES, ARM]
    )  # and not SMALL, which smoke alone refers to
    assert [each["folder"] for each in choice.results] == ["world-laptop"]
    assert pack_choice.choose(root, ["smoke"]).keys == PACKED  # otherwise others' come along


@pytest.mark.parametrize(
    "over, stay",
    [
        (0, []),
        (1, ["1" * 16]),
        (5001, ["1" * 16, "3" * 16]),
        (99999, ["1" * 16, "2" * 16, "3" * 16, FEATURES]),
    ],
)
def test_a_class_is_handed_so_much_and_of_features_the_smallest(root, monkeypatch, over, stay):
    """Four runs of features, and a trained one that is larger than any of them."""
    (root / "results/reference/world-laptop").mkdir(parents=True)
    sizes = {"1" * 16: 5000, "2" * 16: 3000, "3" * 16: 4000}
    for key, size in sizes.items():
        add_run(root, key, [WORLD], "alignbook.backbones.region_features")
        (root / "results/store" / key / "features.npy").write_bytes(bytes(size))
    with open(root / "results/world-laptop/arms/chan-T3/max.csv", "a") as file:
        file.writelines(f"chan-T3,max,report,0,{key}\n" for key in sizes)
    (root / "results/store" / ARM / "weights.safetensors").write_bytes(bytes(9000))
    packed = [BASE, FEATURES, ARM, *sizes]
    files = [file for key in packed for file in (root / "results/store" / key).iterdir()]
    whole = sum(file.stat().st_size for file in files)
    monkeypatch.setattr(pack_choice, "MOST", whole - over)
    choice = pack_choice.choose(root, published=True)
    assert set(packed) - set(choice.keys) == set(stay)
    said = "with features of the world: the other machine makes them in seconds"
    assert choice.left[said] == len(stay)
    assert set(packed) <= set(pack_choice.choose(root, ["laptop"]).keys)  # without a limit


def test_all_means_stale_runs_too_but_no_photographs(root):
    add_run(root, "0" * 16, ["d" * 64])  # of a data set prepared here that no results are on
    add_run(root, "9" * 16, ["e" * 64])
    for name, digit in (("world", "d"), ("coco", "e")):
        (root / f"data/{name}-1").mkdir(parents=True)
        told = json.dumps({"name": name, "fingerprint": digit * 64})
        (root / f"data/{name}-1/meta.json").write_text(told)
    choice = pack_choice.choose(root, everything=True)
    assert choice.keys == sorted(["0" * 16, *PACKED, STALE])
    assert "1 run on coco" in " ".join(pack_choice.stays(choice))


def test_weights_of_photographs_travel_if_asked_and_their_features_never(root):
    choice = pack_choice.choose(root, kinds=["flickr8k"])
    assert choice.keys == [PHOTO_BASE, PHOTO_ARM]
    assert "features of photographs" in " ".join(pack_choice.stays(choice))


def test_runs_on_unknown_data_stay(root):
    add_run(root, "9" * 16, ["f" * 64])
    add_run(root, "0" * 16, ["e" * 16])  # its input is gone
    assert pack_choice.choose(root, everything=True).keys == sorted([*PACKED, STALE])


def test_half_a_run_is_not_packed(root):
    (root / "results/store" / SMALL / "run.json").unlink()
    choice = pack_choice.choose(root)
    assert SMALL not in choice.keys
    assert "1 run that results folders name but the store lacks" in " ".join(
        pack_choice.stays(choice)
    )


def test_a_pickle_is_refused(root):
    (root / "results/store" / ARM / "checkpoint.pt").write_bytes(b"x")
    with pytest.raises(DataError, match=f"{ARM}/checkpoint.pt: a pack holds only"):
        packed(root)


# --- There and back ------------------------------------------------------------------------------


def test_runs_come_back_as_they_were(root, tmp_path):
    store = tmp_path / "there/store"
    store.parent.mkdir()
    manifest, new = pack_archive.read(packed(root), store)
    assert new == PACKED
    before = contents(root / "results/store")
    assert contents(store) == {name: before[name] for name in before if name[:16] in new}
    assert sorted(each.name for each in store.iterdir()) == new  # nothing beside them
    assert manifest["devices"] == ["cpu"]
    entry = manifest["runs"][ARM]["files"]["weights.safetensors"]
    weights = before[f"{ARM}/weights.safetensors"]
    assert entry == {"size": len(weights), "sha256": hashlib.sha256(weights).hexdigest()}


def test_the_same_runs_give_the_same_bytes(root):
    first = packed(root)
    for file in (root / "results/store").rglob("*.json"):
        file.touch()
    assert first.read_bytes() == packed(root).read_bytes()
    assert first.read_bytes()[3:8] == bytes(5)  # gzip's header: no name, no time


def test_the_manifest_comes_first_and_members_are_nobodys(root):
    infos = [info for info, _ in unpacked(packed(root))]
    assert infos[0].name == "MANIFEST.json"
    assert {(info.uid, info.uname, info.mtime, info.mode) for info in infos} == {(0, "", 0, 0o644)}


def test_unpacking_again_changes_nothing(root, tmp_path):
    path = packed(root)
    pack_archive.read(path, tmp_path / "store")
    before = contents(tmp_path / "store")
    assert pack_archive.read(path, tmp_path / "store")[1] == []
    assert contents(tmp_path / "store") == before


def test_a_run_computed_here_too_is_kept_though_it_took_another_time(root, tmp_path):
    add_run(tmp_path / "there", ARM, [WORLD, FEATURES, BASE], seconds=99)
    store = tmp_path / "there/results/store"
    before = contents(store / ARM)
    assert pack_archive.read(packed(root), store)[1] == sorted([BASE, FEATURES, SMALL])
    assert contents(store / ARM) == before


@pytest.mark.parametrize("file", ["weights.safetensors", "metrics.json", "more.safetensors"])
def test_another_result_under_the_same_key_is_named(root, tmp_path, file):
    add_run(tmp_path / "there", ARM, [WORLD, FEATURES, BASE])
    store = tmp_path / "there/results/store"
    (store / ARM / file).write_bytes(b'{"steps": 2}')
    before = contents(store)
    with pytest.raises(DataError, match=f"another result for 1 runs.*\n.*{ARM}: {file}$"):
        pack_archive.read(packed(root), store)
    assert contents(store) == before


def test_half_a_run_makes_room_for_the_packed_one(root, tmp_path):
    (tmp_path / "store" / ARM).mkdir(parents=True)
    (tmp_path / "store" / ARM / "half").touch()
    assert ARM in pack_archive.read(packed(root), tmp_path / "store")[1]
    assert not (tmp_path / "store" / ARM / "half").exists()


# --- What is refused -----------------------------------------------------------------------------


def renamed(members, name, **changes):
    """One member more, called `name`."""
    info = tarfile.TarInfo(name)
    for key, value in changes.items():
        setattr(info, key, value)
    return [*members, (info, b"")]


def with_manifest(members, change):
    """The manifest changed by a function."""
    manifest = json.loads(members[0][1])
    change(manifest)
    return [(members[0][0], json.dumps(manifest).encode()), *members[1:]]


def with_file(members, name, content):
    """A file with other content, which manifest and record describe rightly."""
    entry = {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    key, _, file = name.partition("/")
    there = [info.name for info, _ in members]
    members = [(info, content if info.name == name else old) for info, old in members]
    members += [] if name in there else [(tarfile.TarInfo(name), content)]
    if file != "run.json":
        members = with_record(members, lambda record: record["files"].update({file: entry}), key)
    return with_manifest(members, lambda told: told["runs"][key]["files"].update({file: entry}))


def with_record(members, change, key=ARM, seal=True):
    """The record of a run changed by a function, and sealed again."""
    name = f"{key}/run.json"
    (record,) = (json.loads(content) for info, content in members if info.name == name)
    if seal:
        del record["seal"]
    change(record)
    record = sealed(record) if seal else record
    return with_file(members, name, json.dumps(record).encode())


def with_metrics(**changes):
    """The metrics of an arm with some others; without those that are None."""
    told = metrics_of(1.5) | changes
    content = json.dumps({name: value for name, value in told.items() if value is not None})
    return lambda members: with_file(members, f"{ARM}/metrics.json", content.encode())


def nested(levels: int):
    """Lists in lists."""
    return [nested(levels - 1)] if levels else []


def listed(name):
    """A file more in the manifest."""

    def change(manifest):
        manifest["runs"][ARM]["files"][name] = {"size": 0, "sha256": hashlib.sha256().hexdigest()}

    return change


def array(octets: bytes = b"", **header) -> bytes:
    """A .npy file, whatever its header says."""
    told = {"descr": "<f8", "fortran_order": False, "shape": (2,)} | header
    head = repr(told).encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + octets


def weights(octets: bytes = bytes(8), length: int | None = None, **entry) -> bytes:
    """A .safetensors file, whatever its header says."""
    head = json.dumps({"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]} | entry})
    return struct.pack("<Q", len(head) if length is None else length) + head.encode() + octets


def pickled() -> bytes:
    """An array of objects, which NumPy would unpickle."""
    file = io.BytesIO()
    np.save(file, np.array([None, {}], object), allow_pickle=True)
    return file.getvalue()


WEIGHTS, ARRAY = f"{ARM}/weights.safetensors", f"{FEATURES}/features.npy"
BELYING = {  # what is in a file, and what is said of it
    "objects": (ARRAY, pickled(), "an array of object, expected numbers"),
    "text for numbers": (ARRAY, array(bytes(16), descr="<U2"), "an array of <U2"),
    "several fields": (ARRAY, array(bytes(16), descr=[("a", "<f8")]), "expected numbers"),
    "less than its shape": (ARRAY, array(bytes(8)), "expected another size"),
    "more than its shape": (ARRAY, array(bytes(24)), "expected another size"),
    "a shape beyond all bounds": (ARRAY, array(shape=(2**40, 2**40)), "expected another size"),
    "a shape below nothing": (ARRAY, array(shape=(-1, -1), octets=bytes(8)), "another size"),
    "a shape of words": (ARRAY, array(bytes(16), shape="two"), "no array as NumPy writes it"),
    "no header": (ARRAY, b"numbers", "no array as NumPy writes it"),
    "an empty array": (ARRAY, b"", "no array as NumPy writes it"),
    "a header without end": (ARRAY, array(bytes(16))[:40], "no array as NumPy writes it"),
    "a header of brackets": (
        ARRAY,
        b"\x93NUMPY\x01\x00\x00\x20" + b"(" * 8192,
        "no array as NumPy writes it",
    ),
    "a header too long": (
        ARRAY,
        b"\x93NUMPY\x02\x00\x00\x00\x10\x00" + b" " * 2**20,
        "no array as NumPy writes it",
    ),
    "weights cut": (WEIGHTS, weights(bytes(4)), "no weights as safetensors writes them"),
    "weights and more": (WEIGHTS, weights(bytes(12)), "not fully covered"),
    "a header longer than the file": (WEIGHTS, weights(length=10**6), "invalid header length"),
    "a header as long as the disk": (WEIGHTS, weights(length=2**62), "header too large"),
    "other shapes": (WEIGHTS, weights(shape=[3]), "invalid shape"),
    "an order to the terminal": (WEIGHTS, weights(dtype="\x1b[31m"), r"\\x1b\[31m"),
    "no weights": (WEIGHTS, b"weights", "header too small"),
    "phrases that are none": (f"{ARM}/phrases.json", b"{", "phrases.json is not what"),
    "phrases nested too deeply": (
        f"{ARM}/phrases.json",
        b"[" * 10**5 + b"]" * 10**5,
        "phrases.json is not what .*nested too deeply",
    ),
}
MEASURED = {  # metrics, and what is said of them
    "a metric not a number": (with_metrics(steps=float("nan")), "'steps' is nan, expected a fin"),
    "a metric beyond bounds": (with_metrics(parameters=float("inf")), "'parameters' is inf"),
    "a metric of more digits": (with_metrics(steps=10**30), "'steps' is 1000.*a finite number"),
    "a metric true": (with_metrics(steps=True), "'steps' is True, expected a finite number"),
    "a metric in words": (with_metrics(steps="many"), "'steps' is 'many', expected a finite"),
    "metrics in a metric": (with_metrics(steps={"a": 1}), "'steps' is an object, expected a fin"),
    "a list in a metric": (with_metrics(steps=[1]), "'steps' is a list, expected a finite number"),
    "a metric that lacks": (with_metrics(steps=None), "lacks 'steps', which every trained run"),
    "a name that acts": (
        with_metrics(**{"dev\x1b[1m RSUM": 1}),
        r"'dev\\x1b\[1m RSUM' is no name of a metric",
    ),
    "a checksum of words": (with_metrics(checksum="\x1b[31m"), "'checksum' is .*16 hex digits"),
}
ALTERED = [
    *((name, words, change) for name, (change, words) in MEASURED.items()),
    *(
        (name, words, lambda m, file=file, content=content: with_file(m, file, content))
        for name, (file, content, words) in BELYING.items()
    ),
    *(
        (
            f"a record without its {name}",
            f"run.json is not what .*it lacks '{name}', as only older versions",
            lambda m, name=name: with_record(
                m, lambda record: record.pop(name), seal=name != "seal"
            ),
        )
        for name in ("files", "seal")
    ),
    (
        "a byte of the weights",
        "weights.safetensors was altered",
        lambda m: [(i, c[:-1] + b"?" if i.name == WEIGHTS else c) for i, c in m],
    ),
    (
        "weights cut short",
        "weights.safetensors has .* bytes, expected",
        lambda m: [(i, c[:-1] if i.name == WEIGHTS else c) for i, c in m],
    ),
    (
        "a member missing",
        f"ends early.*{ARM}/weights",
        lambda m: [(i, c) for i, c in m if i.name != WEIGHTS],
    ),
    ("a member twice", "holds '.*, once", lambda m: [*m, m[-1]]),
    ("a member more", "holds 'x.json'", lambda m: renamed(m, "x.json")),
    ("a path that leads out", "holds '../x.json'", lambda m: renamed(m, "../x.json")),
    (
        "a link",
        "holds",
        lambda m: renamed(
            with_manifest(m, listed("l.npy")), f"{ARM}/l.npy", type=tarfile.SYMTYPE, linkname="/etc"
        ),
    ),
    (
        "a way out in the manifest",
        "is '../../x.json', expected a name",
        lambda m: renamed(with_manifest(m, listed("../../x.json")), f"{ARM}/../../x.json"),
    ),
    (
        "a folder in the manifest",
        "is 'a/x.json', expected a name",
        lambda m: renamed(with_manifest(m, listed("a/x.json")), f"{ARM}/a/x.json"),
    ),
    (
        "a pickle",
        "is 'x.pkl', expected a name",
        lambda m: renamed(with_manifest(m, listed("x.pkl")), f"{ARM}/x.pkl"),
    ),
    (
        "a checkpoint",
        "is 'x.pt', expected a name",
        lambda m: renamed(with_manifest(m, listed("x.pt")), f"{ARM}/x.pt"),
    ),
    (
        "another format",
        "format 2, expected 1",
        lambda m: with_manifest(m, lambda manifest: manifest.update(format=2)),
    ),
    (
        "a truth value for a format",
        "format is True, expected a whole number",
        lambda m: with_manifest(m, lambda manifest: manifest.update(format=True)),
    ),
    (
        "no format",
        "MANIFEST.json cannot be read",
        lambda m: with_manifest(m, lambda manifest: manifest.pop("format")),
    ),
    (
        "half a run",
        "is not whole",
        lambda m: with_manifest(m, lambda manifest: manifest["runs"][ARM]["files"].pop("run.json")),
    ),
    (
        "a record of another run",
        "of another run",
        lambda m: with_manifest(
            [(i, c) for i, c in m if not i.name.startswith(SMALL)]
            + [(tarfile.TarInfo(i.name.replace(ARM, SMALL)), c) for i, c in m if ARM in i.name],
            lambda manifest: manifest["runs"].update({SMALL: manifest["runs"][ARM]}),
        ),
    ),
    (
        "a record as long as the disk",
        f"{ARM}/metrics.json has more than 16 MB",
        lambda m: with_manifest(
            m, lambda manifest: manifest["runs"][ARM]["files"]["metrics.json"].update(size=2**40)
        ),
    ),
    (
        "other settings under the key",
        "of another run: its key comes to",
        lambda m: with_record(m, lambda record: record["config"].update(steps=2)),
    ),
    (
        "settings nested too deeply",
        "run.json is not what .*nested too deeply",
        lambda m: with_record(m, lambda record: record["config"].update(x=nested(900)), seal=False),
    ),
    (
        "a record nested too deeply",
        "run.json is not what .*nested too deeply",
        lambda m: with_file(m, f"{ARM}/run.json", b"[" * 10**5 + b"]" * 10**5),
    ),
    (
        "metrics nested too deeply",
        "metrics.json is not what .*nested too deeply",
        lambda m: with_file(m, f"{ARM}/metrics.json", b'{"a":' * 10**5 + b"1" + b"}" * 10**5),
    ),
    (
        "metrics that are a list",
        "a list instead of an object",
        lambda m: with_file(m, f"{ARM}/metrics.json", b"[]"),
    ),
    (
        "other files than the record says",
        "other sizes or hashes",
        lambda m: with_record(
            m,
            lambda record: record.update(
                files={"weights.safetensors": {"size": 1, "sha256": "0" * 64}}
            ),
        ),
    ),
    (
        "a seal of another record",
        "its seal is not that",
        lambda m: with_record(m, lambda record: record.update(seal="0" * 16), seal=False),
    ),
    (
        "a module of another name in the manifest",
        r"module is .*chan\.model', the manifest",
        lambda m: with_manifest(
            m, lambda manifest: manifest["runs"][ARM].update(module="alignbook.papers.gsl.model")
        ),
    ),
    (
        "a manifest nested too deeply",
        "cannot be read .nested too deeply",
        lambda m: [(m[0][0], b"[" * 10**5 + b"]" * 10**5), *m[1:]],
    ),
    ("no JSON", "MANIFEST.json cannot be read", lambda m: [(m[0][0], b"{"), *m[1:]]),
    ("a list", "MANIFEST.json cannot be read", lambda m: [(m[0][0], b"[]"), *m[1:]]),
    ("the manifest last", "expected MANIFEST.json", lambda m: [*m[1:], m[0]]),
    ("nothing", "not a whole pack|begins with", lambda m: []),
]


@pytest.mark.parametrize(
    "words, change", [each[1:] for each in ALTERED], ids=[each[0] for each in ALTERED]
)
def test_altered_packs_are_refused_and_nothing_is_left(root, tmp_path, words, change):
    path = packed(root)
    repacked(path, change(unpacked(path)))
    around = contents(tmp_path)
    with pytest.raises(DataError, match=words) as refused:
        pack_archive.read(path, tmp_path / "store")
    assert str(path) in str(refused.value)
    assert contents(tmp_path) == around
    assert not list((tmp_path / "store").iterdir() if (tmp_path / "store").exists() else [])


ODD = (
    None,
    True,
    -1,
    1.5,
    10**30,
    "",
    "a\x1b[31m",
    "\ud800",
    "../a",
    [],
    [None],
    [["a"]],
    {},
    {"a": 1},
    {"": None},
    nested(99),
)


def places(told, place=()):
    """Where something lies in what was parsed from JSON."""
    several = isinstance(told, (dict, list))
    for name, value in (
        (told.items() if isinstance(told, dict) else enumerate(told)) if several else ()
    ):
        yield (*place, name)
        yield from places(value, (*place, name))


def changed(told, place, value):
    """What was parsed from JSON with another value at a place; without it if that is `...`."""
    told = json.loads(json.dumps(told))
    around = told
    for name in place[:-1]:
        around = around[name]
    if value is ...:
        del around[place[-1]]
    else:
        around[place[-1]] = value
    return told


def test_a_manifest_of_other_types_is_refused_or_does_no_harm(root, tmp_path, monkeypatch, capsys):
    """Whatever stands in place of each of its fields: nothing is written, or all of it."""
    monkeypatch.setattr(pack, "other_device", lambda manifest: None)
    monkeypatch.setattr(pack, "code_here", lambda module: "c" * 64)
    path = packed(root, profiles=["laptop"])
    members = unpacked(path)
    manifest = json.loads(members[0][1])
    refused = 0
    for place in places(manifest):
        for value in (*ODD, ...):
            octets = json.dumps(changed(manifest, place, value)).encode()
            try:
                pack_manifest.read(octets)
            except ValueError as error:
                refused += 1
                assert str(error).isprintable() and len(str(error)) < 250
                continue
            monkeypatch.setattr(pack, "ROOT", tmp_path / f"{place} {value}".replace("/", "_")[:200])
            pack.ROOT.mkdir()
            repacked(path, [(members[0][0], octets), *members[1:]])
            code = pack.main(["unpack", str(path)])
            said = capsys.readouterr()
            assert (said.out + said.err).replace("\n", "").isprintable()
            found = [each.name for each in (pack.ROOT / "results").glob("store/*")]
            assert (code, sorted(found)) in ((0, sorted([BASE, FEATURES, ARM])), (2, []))
    assert refused > 500


@pytest.mark.parametrize("content", (b"other", None))
def test_what_is_not_as_it_was_written_is_not_packed(root, content):
    store = root / "results/store"
    pack_archive.describe(store, pack_choice.choose(root))
    weights = store / ARM / "weights.safetensors"
    weights.write_bytes(content) if content else weights.unlink()
    with pytest.raises(DataError, match="weights.safetensors: not as it was written"):
        pack_archive.describe(store, pack_choice.choose(root))


def test_a_record_of_other_types_is_refused_or_does_no_harm(root):
    """A record that is taken has the run's name for its key."""
    manifest = pack_archive.describe(root / "results/store", pack_choice.choose(root))
    folder, run = root / "results/store" / ARM, manifest["runs"][ARM]
    record, taken = json.loads((folder / "run.json").read_bytes()), set()
    pack_manifest.check_run(ARM, run, json.dumps(record).encode())
    for place in places(record):
        for value in (*ODD, ...):
            told = changed(record, place, value)
            if place != ("seal",):
                del told["seal"]
                told = sealed(told)
            try:
                pack_manifest.check_run(ARM, run, json.dumps(told).encode())
            except ValueError as error:
                assert str(error).isprintable()
                continue
            taken.add(place[0])
    assert taken == {"asked", "finished", "seconds"}


def test_what_runs_measure_is_taken():
    """The kinds of metrics that are neither numbers nor everywhere."""
    trained = metrics_of(1.5)
    for more in (
        {"test 1K t2i R@10": 9.5, "dev RSUM": 1, "dev seconds": 0.0},
        {"B test RSUM": 1.0, "asked": {"B test RSUM": 3}},
        {"SVO-Probes, verb": 50.0, "head": "e" * 16},
        {"α1 = 0.03": 2.0, "head": "e" * 16},
        {"mean label, noisy": 0.5, "asked of": "train", "how": "labels; all"},
    ):
        pack_members.check_metrics(trained | more, trained=True)
    grid = {"grid": [8, 8], "captions cut": 0, "images": 2}
    pack_members.check_metrics(grid, trained=False)
    for more in ({"asked": {"fame": 1}}, {"asked": {"steps": 1.5}}, {"how": "\x1b"}, {"how": 1}):
        with pytest.raises(ValueError, match=next(iter(more))):
            pack_members.check_metrics(trained | more, trained=True)
    for more in ({"grid": [8]}, {"grid": 8}, {"grid": [8, 0.5]}):
        with pytest.raises(ValueError, match="two whole numbers"):
            pack_members.check_metrics(grid | more, trained=False)


def test_what_no_machine_would_take_is_not_packed(root):
    """Nothing of older versions is packed; what an array belies is told where it lies."""
    store = root / "results/store"
    record = json.loads((store / SMALL / "run.json").read_bytes())
    del record["seal"]
    (store / SMALL / "run.json").write_text(json.dumps(record))
    choice = pack_choice.choose(root)
    assert SMALL not in choice.keys
    assert "1 run that are not whole, or of an older" in " ".join(pack_choice.stays(choice))
    (store / FEATURES / "features.npy").write_bytes(pickled())
    write_record(store / FEATURES, json.loads((store / FEATURES / "run.json").read_bytes()))
    with pytest.raises(DataError, match=f"{FEATURES}/features.npy is not .*remove the folder"):
        pack_archive.describe(store, choice)


def test_an_unpacking_that_was_interrupted_is_finished_by_the_next(root, tmp_path, monkeypatch):
    path, moved, replace = packed(root), [], os.replace

    def twice(old, new):
        if len(moved) == 2:
            raise KeyboardInterrupt
        moved.append(Path(new).name)
        replace(old, new)

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(os, "replace", twice)
        pack_archive.read(path, tmp_path / "store")
    assert sorted(each.name for each in (tmp_path / "store").iterdir()) == moved
    assert sorted(moved + pack_archive.read(path, tmp_path / "store")[1]) == PACKED
    before = contents(root / "results/store")
    expected = {name: before[name] for name in before if name[:16] in PACKED}
    assert contents(tmp_path / "store") == expected


def test_an_endless_manifest_is_not_read(root, tmp_path, monkeypatch):
    monkeypatch.setattr(pack_manifest, "LONGEST", 1000)
    with pytest.raises(DataError, match="MANIFEST.json has .* at most"):
        pack_archive.read(packed(root), tmp_path / "store")


def test_a_header_without_end_is_not_read(root, tmp_path):
    """A name of 4 MB, in two bytes of which a thousand are stored."""
    path = packed(root)
    info = tarfile.TarInfo("x")
    info.type = tarfile.XHDTYPE
    for members in ([(info, bytes(1 << 22))], [*unpacked(path), (info, bytes(1 << 22))]):
        repacked(path, members)
        with pytest.raises(DataError, match="not a whole pack .a header of 4,194,304 bytes"):
            pack_archive.read(path, tmp_path / "store")
        assert not (tmp_path / "store").exists()


def test_packs_cut_anywhere_are_refused(root, tmp_path):
    path = packed(root)
    whole = path.read_bytes()
    for size in [*range(12), *range(12, len(whole) - 200, 97)]:
        path.write_bytes(whole[:size])
        with pytest.raises(DataError, match="copy (it|the pack) again"):
            pack_archive.read(path, tmp_path / "store")
    assert contents(tmp_path / "store") == {}


@pytest.mark.parametrize("content", [b"", b"hello", b"\x1f\x8b" + b"x" * 99])
def test_what_is_no_archive_is_refused(tmp_path, content):
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(DataError, match="x: not a whole pack"):
        pack_archive.read(tmp_path / "x", tmp_path / "store")


def test_a_full_disk_is_told_beforehand(root, tmp_path, monkeypatch):
    path = packed(root)
    monkeypatch.setattr(pack_archive.shutil, "disk_usage", lambda where: SimpleNamespace(free=1000))
    with pytest.raises(DataError, match="0 MB free, .* needed: make room"):
        pack_archive.read(path, tmp_path / "store")
    with pytest.raises(DataError, match="0 MB free, .* needed: make room"):
        packed(root)
    assert contents(tmp_path / "store") == {}


def test_a_disk_that_fills_up_leaves_nothing(root, tmp_path, monkeypatch, capsys):
    path = packed(root)

    class Full(io.BytesIO):
        def write(self, octets):
            raise OSError(pack.errno.ENOSPC, "No space left on device")

    def full(file, mode):
        return Full() if mode == "xb" else open(file, mode)

    monkeypatch.setattr(pack_archive, "open", full, raising=False)
    assert pack.main(["unpack", str(path)]) == 2
    assert "No space left on device: make room" in capsys.readouterr().err
    assert not list((root / "results/store").glob(".making-*"))


def test_a_failed_pack_leaves_no_file(root, tmp_path, monkeypatch):
    manifest = pack_archive.describe(root / "results/store", pack_choice.choose(root))
    (root / "results/store" / SMALL / "weights.safetensors").unlink()
    before = set(tmp_path.iterdir())
    with pytest.raises(FileNotFoundError):
        pack_archive.write(tmp_path / "new.tar.gz", manifest, root / "results/store")
    assert set(tmp_path.iterdir()) == before


def test_leftovers_of_a_killed_unpacking_are_removed(root, tmp_path):
    own = durable.aside(tmp_path / "store/pack").name
    dead = tmp_path / "store" / own.replace(str(os.getpid()), "999999999")
    (dead / ARM).mkdir(parents=True)
    other = tmp_path / "store" / own.replace(str(os.getpid()), str(os.getppid()))  # at work
    other.mkdir()
    pack_archive.read(packed(root), tmp_path / "store")
    assert not dead.exists() and other.exists()


# --- The command line ----------------------------------------------------------------------------


def test_the_command_line_tells_what_to_do_next(root, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(
        pack_archive, "version_here", lambda name: {"torch": "1", "numpy": "2"}.get(name, "0")
    )
    monkeypatch.setattr(pack, "code_here", lambda module: "c" * 64)
    monkeypatch.setattr(pack, "other_device", lambda manifest: None)
    file = tmp_path / "runs.tar.gz"
    assert pack.main(["pack", str(file), "--profile", "smoke"]) == 0
    said = capsys.readouterr().out
    assert "4 runs (world-smoke)" in said and "left out: 3 runs of other results" in said
    assert "./run_all.sh unpack runs.tar.gz" in said and "changed" not in said
    assert pack.main(["pack", str(file)]) == 2
    assert "exists already" in capsys.readouterr().err

    monkeypatch.setattr(pack, "ROOT", tmp_path / "there")
    (tmp_path / "there").mkdir()
    assert pack.main(["unpack", str(file)]) == 0
    assert not list(tmp_path.glob("there/results/world-*"))  # of a part
    said = capsys.readouterr().out
    assert "4 runs of 4 are new here" in said and "nothing to train" in said
    assert "./run_all.sh --profile smoke " in said and "NOT" not in said

    monkeypatch.setattr(pack, "other_device", lambda manifest: "cpu")
    monkeypatch.setattr(pack_archive, "version_here", {"torch": "7", "numpy": "2"}.get)
    monkeypatch.setattr(
        pack, "code_here", lambda m: "c" * 64 if m == "alignbook.papers.chan.model" else "none"
    )
    assert pack.main(["unpack", str(file)]) == 0
    said = capsys.readouterr().out
    assert "torch: 1 in the pack, 7 here" in said and "numpy" not in said
    assert (
        "the code behind alignbook.backbones.base, alignbook.backbones.region_features; take"
        in said
    )
    assert "would train everything anew" in said and "nothing to train" not in said
    assert "./run_all.sh --profile smoke --device cpu" in said


def test_a_class_is_not_handed_a_large_file_unawares(root, tmp_path, monkeypatch, capsys):
    (root / "results/reference/world-laptop").mkdir(parents=True)
    for name, most, told in (("a", 1e9, False), ("b", 9, True)):
        monkeypatch.setattr(pack, "HANDED", most)
        assert pack.main(["pack", str(tmp_path / f"{name}.tar.gz"), "--reference"]) == 0
        assert ("that a class is handed: --data or --profile" in capsys.readouterr().out) == told


def test_whose_runs_are_there_tries_nothing_in_small_first(root, tmp_path, monkeypatch):
    (root / "results/world-laptop/notebooks").mkdir()
    (root / "results/world-laptop/notebooks/00_start_here.done").touch()
    assert pack.main(["pack", str(tmp_path / "a.tar.gz"), "--profile", "laptop"]) == 0
    for module in (pack, folders):
        monkeypatch.setattr(module, "ROOT", tmp_path / "there")
    asked = {"data": "world", "profile": "laptop"}
    assert not folders.rehearsed(asked)
    (tmp_path / "there").mkdir()
    assert pack.main(["unpack", str(tmp_path / "a.tar.gz")]) == 0
    assert folders.rehearsed(asked)


@pytest.mark.parametrize("apart", [[], ["torch: 1 in the pack, 7 here"]])
def test_published_times_are_lent_where_the_runs_are_found(root, tmp_path, monkeypatch, apart):
    (root / "results/world-laptop/notebooks").mkdir()
    (root / "results/world-laptop/notebooks/00_start_here.done").touch()
    assert pack.main(["pack", str(tmp_path / "a.tar.gz"), "--profile", "laptop"]) == 0
    monkeypatch.setattr(pack, "ROOT", tmp_path / "there")
    monkeypatch.setattr(pack, "differences", lambda manifest: apart)
    monkeypatch.setattr(pack, "other_device", lambda manifest: None)
    reference = tmp_path / "there/results/reference/world-laptop"
    durable.write(reference / "about.json", '{"starts": []}')
    durable.write(reference / "efficiency/chan-F3.csv", "row,run\n")
    assert pack.main(["unpack", str(tmp_path / "a.tar.gz")]) == 0
    ready = tmp_path / "there/results/world-laptop/.unpacked/efficiency/chan-F3.csv"
    assert ready.exists() == (not apart)


def test_runs_of_changed_code_are_told_at_packing(root, tmp_path, capsys):
    assert pack.main(["pack", str(tmp_path / "runs.tar.gz")]) == 0
    assert "Start ./run_all.sh, then pack again" in capsys.readouterr().out


def test_nothing_to_pack_and_nothing_to_unpack(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(pack, "ROOT", tmp_path)
    assert pack.main(["pack", str(tmp_path / "p")]) == 2
    assert "nothing to pack" in capsys.readouterr().err
    assert pack.main(["unpack", str(tmp_path / "p")]) == 2
    assert f"{tmp_path}/p: No such file" in capsys.readouterr().err
    assert pack.main(["unpack", str(tmp_path)]) == 2
    assert "directory" in capsys.readouterr().err


def test_of_a_part_its_notebooks_are_named(root):
    notebooks = root / "results/world-smoke/notebooks"
    notebooks.mkdir()
    for name, part in (
        ("11_chan_ablations", ["11_chan_ablations"]),
        ("10_chan", ["10_chan", "11_chan_ablations"]),
        ("00_start_here", []),
    ):
        (notebooks / f"{name}.done").touch()
        (entry,) = pack_choice.choose(root, ["smoke"], ["world"]).results
        assert entry["part"] == part
        ((command, _),) = pack.commands({"results": [entry]})
        assert command == " ".join(["./run_all.sh --profile smoke", *part])


def test_words_from_a_pack_are_no_commands():
    entry = {"folder": "f", "profile": "x; rm", "data": "world", "seeds": None, "set": {}}
    ((command, _),) = pack.commands({"results": [entry]})
    assert command == "./run_all.sh --profile 'x; rm'"
