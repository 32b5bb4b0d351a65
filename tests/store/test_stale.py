"""A file that a setting names, or that the library reads, counts by what it holds: one that was
replaced is another setting and another run, one that was moved or touched is the same."""

import dataclasses
import hashlib
import json
import os
import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from alignbook import ROOT
from alignbook.backbones import bert, pretrained
from alignbook.datasets import by_name, karpathy, noise_index, precomp, regions
from alignbook.store import contents, fingerprint, runs
from alignbook.workbook import checks, folders, named_files, profiles, workbook
from alignbook.workbook.running import main_job
from PIL import Image


@pytest.fixture(autouse=True)
def at_once(tmp_path, monkeypatch):
    """Hashes are kept from the first moment on, in a folder that is empty."""
    monkeypatch.setattr(contents, "KNOWN", tmp_path / "known")
    monkeypatch.setattr(contents, "YOUNG", -3600.0)
    monkeypatch.setattr(karpathy, "SIZES", dict.fromkeys(karpathy.SIZES, {}))


def put(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_DOT_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def photographs(folder: Path) -> Path:
    """Six photographs with Karpathy's split file, and region features that aren't looked at."""
    (folder / "Images").mkdir(parents=True)
    entries = []
    for i, split in enumerate(("train", "train", "train", "val", "test", "test")):
        Image.new("RGB", (40, 30), (40 * i, 9, 7)).save(folder / f"Images/{i}.jpg")
        said = [{"raw": f"Caption {k} of picture {i}."} for k in range(5)]
        entries.append({"filename": f"{i}.jpg", "split": split, "sentences": said})
    (folder / "dataset_flickr8k.json").write_text(json.dumps({"images": entries}))
    return folder


def partly(folder: Path) -> Path:
    """Flickr30K's captions of five of Flickr8k's photographs, which are split as those are."""
    photographs(folder / "flickr8k")
    listed = json.loads((folder / "flickr8k/dataset_flickr8k.json").read_text())["images"]
    listed = [entry | {"filename": f"30k-{entry['filename']}"} for entry in listed]
    (folder / "dataset_flickr30k.json").write_text(json.dumps({"images": listed}))
    photo_of = {f"30k-{i}.jpg": f"{i}.jpg" for i in range(5)}
    (folder / karpathy.PARTIAL).write_text(json.dumps(photo_of))
    return folder


def brought(folder: Path) -> Path:
    """Photographs with region features of one's own."""
    write_regions(photographs(folder) / "regions.npz")
    return folder


def write_regions(file: Path, seed: int = 0) -> None:
    """Two regions of each of six photographs."""
    boxes = np.tile([0.0, 0.0, 9.0, 9.0], (12, 1))
    drawn = np.random.default_rng(seed).random((12, 4))
    names = [f"{i}.jpg" for i in range(6)]
    regions.write(file, regions.Regions(names, boxes, drawn, np.full(6, 2)))


def features(folder: Path) -> Path:
    splits = {"train": 4, "dev": 2, "test": 2}
    names = {split: [f"{split}{i}" for i in range(n)] for split, n in splits.items()}
    captions = {
        each: [f"a {each} {k}" for k in range(5)] for some in names.values() for each in some
    }
    draw = np.random.default_rng(0)
    precomp.write(
        folder,
        names,
        captions,
        {split: draw.random((n, 36, 4), np.float32) for split, n in splits.items()},
    )
    return folder


MODEL = dict(
    config_DOT_json="{}",
    model_DOT_safetensors="weights",
    tokenizer_DOT_json="{}",
    preprocessor_config_DOT_json="{}",
)
CLIP = json.dumps({"model_cfg": {"vision_cfg": {}, "text_cfg": {}}, "preprocess_cfg": {}})
HUB = json.dumps({"vision_config": {}, "text_config": {}})


def model(folder):
    return put(folder, **MODEL)


def checkpoint(folder):
    return put(folder, clip_DOT_pt="weights", clip_DOT_pt_DOT_json=CLIP)


def open_clip(folder):
    return put(folder, open_clip_config_DOT_json=CLIP, open_clip_model_DOT_safetensors="w")


def hub(folder):
    return put(folder, config_DOT_json=HUB, model_DOT_safetensors="w", vocab_DOT_json="{}")


def noise(folder):
    noise_index.write(np.arange(40) // 5, folder / "world_0.4.npy")
    (folder / "world_old.npy").symlink_to("gone")  # nobody reads it
    return put(folder, flickr8k_0_DOT_4_DOT_npy="of other data")


def treebank(folder):
    return put(folder, en_train_DOT_conllu="1\ta", en_dev_DOT_conllu="1\tb")


def pipeline(folder):
    return put(folder, config_DOT_cfg="[nlp]", meta_DOT_json="{}", tagger__model="w")


def boxes(folder):
    return put(folder, found_DOT_json="[]", yolo_DOT_pt="w")


def instances(folder):
    return put(
        folder,
        **{f"annotations__instances_{split}2017_DOT_json": "{}" for split in ("train", "val")},
    )


def boxed(folder):
    """Photographs by Karpathy's file of COCO, with instances, whose boxes COCO's are by default."""
    photographs(folder)
    (folder / "dataset_flickr8k.json").rename(folder / "dataset_coco.json")
    return instances(folder)


def probes(folder):
    return put(
        folder,
        sugarcrepe__add_att_DOT_json="{}",
        aro__images__a_DOT_jpg="a",
        aro__visual_genome_relation_DOT_json="[]",
    )


# What is in the folder, the setting with {} for the folder, the data with {} for it, files whose
# content counts, and files whose content does not. Most only stand for models: what Snakemake
# compares is looked at here; that numbers change with them is seen of real ones, in `test_swapped`.
TABLE = {
    "noise": (noise, {"gsl_noise_index": "{}"}, "world", ["world_0.4.npy"], ["flickr8k_0.4.npy"]),
    "BERT": (
        model,
        {"bert": "{}"},
        "world",
        ["config.json", "model.safetensors", "tokenizer.json"],
        ["preprocessor_config.json"],
    ),
    "ViT": (
        model,
        {"covalign_vit": "{}"},
        "world",
        ["config.json", "model.safetensors", "preprocessor_config.json"],
        ["tokenizer.json"],
    ),
    "checkpoint": (
        checkpoint,
        {"base": "checkpoint:{}/clip.pt"},
        "world",
        ["clip.pt", "clip.pt.json"],
        [],
    ),
    "open_clip": (
        open_clip,
        {"base": "openclip:{}"},
        "world",
        ["open_clip_config.json", "open_clip_model.safetensors"],
        [],
    ),
    "transformers": (
        hub,
        {"base": "huggingface:{}"},
        "world",
        ["config.json", "model.safetensors", "vocab.json"],
        [],
    ),
    "treebank": (treebank, {"parser": "{}"}, "world", ["en_train.conllu", "en_dev.conllu"], []),
    "pipeline": (pipeline, {"parser": "{}"}, "world", ["meta.json", "tagger/model"], []),
    "detections": (boxes, {"boxes": "{}/found.json"}, "world", ["found.json"], ["yolo.pt"]),
    "YOLO": (boxes, {"boxes": "{}/yolo.pt"}, "world", ["yolo.pt"], ["found.json"]),
    "instances": (
        instances,
        {},
        "coco={}",
        ["annotations/instances_train2017.json", "annotations/instances_val2017.json"],
        [],
    ),
    "probes": (
        probes,
        {"probes": "{}"},
        "world",
        ["sugarcrepe/add_att.json", "aro/images/a.jpg"],
        [],
    ),
    "source": (
        photographs,
        {"comalign_source": "flickr8k={}"},
        "coco_precomp=/elsewhere",
        ["Images/0.jpg", "dataset_flickr8k.json"],
        [],
    ),
    "boxes of the source": (
        boxed,
        {"comalign_source": "coco={}"},
        "flickr30k=/elsewhere",
        ["annotations/instances_train2017.json", "annotations/instances_val2017.json"],
        [],
    ),
    "photographs": (
        photographs,
        {"test_images": "1"},
        "flickr8k={}",
        ["Images/0.jpg", "Images/4.jpg", "dataset_flickr8k.json"],
        ["Images/5.jpg"],
    ),
    "photographs of another collection": (
        partly,
        {},
        "flickr30k={}",
        [
            "flickr8k/Images/0.jpg",
            "dataset_flickr30k.json",
            karpathy.PARTIAL,
            "flickr8k/dataset_flickr8k.json",
        ],
        ["flickr8k/Images/5.jpg"],
    ),
    "regions": (brought, {"test_images": "1"}, "flickr8k={}", ["regions.npz"], ["Images/5.jpg"]),
    "features": (
        features,
        {"test_images": "1"},
        "precomp={}",
        ["train_ims.npy", "dev_ims.npy", "dev_caps.txt"],
        ["test_ims.npy"],
    ),
}

# Photographs of two splits that exchange their captions: each is still there, at its place.
EXCHANGED = ('"2.jpg", "30k-3.jpg": "3.jpg"', '"3.jpg", "30k-3.jpg": "2.jpg"')
# Files that are read here, by name: what in them is exchanged for what.
WORDS = {
    "dataset_flickr8k.json": (b"picture", b"PICTURE"),
    "dataset_flickr30k.json": (b"picture", b"PICTURE"),
    karpathy.PARTIAL: [text.encode() for text in EXCHANGED],
}


def compared(folder: Path, settings: dict, data: str) -> dict:
    """What Snakemake compares, of the smoke profile with some settings on some data."""
    said = {
        "profile": "smoke",
        "data": data.format(folder),
        "seeds": None,
        "device": "cpu",
        "set": {name: value.format(folder) for name, value in settings.items()},
    }
    profile = profiles.get("smoke", said["data"].partition("=")[0], said["set"])
    source = "no photograph is looked at here"
    if data.partition("=")[0] in ("flickr8k", "flickr30k", "precomp") and "/elsewhere" not in data:
        source = by_name.source(said["data"], profile)
    return named_files.compared(
        said | {"source": source, "files": named_files.files(profile, said["data"])}
    )


def alter(file: Path) -> None:
    """Change the last byte of a file, and neither its size nor its time."""
    stat, octets = file.stat(), file.read_bytes()
    file.write_bytes(octets[:-1] + bytes([octets[-1] ^ 1]))
    os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))


@pytest.mark.parametrize("case", TABLE)
def test_a_file_counts_by_what_it_holds(case, tmp_path):
    made, settings, data, count, others = TABLE[case]
    folder = made(tmp_path / "named")
    before = compared(folder, settings, data)
    assert str(tmp_path) not in json.dumps(before)
    assert compared(folder, settings, data) == before
    for name in others:
        alter(folder / name)
        assert compared(folder, settings, data) == before, name
    for name in count:
        os.utime(folder / name, (1, 1))  # touched only
        assert compared(folder, settings, data) == before, name
        kept = (folder / name).read_bytes()
        if name.startswith("config") or name.endswith(".json") and b"cfg" in kept:
            (folder / name).write_bytes(
                kept + b" " if case == "BERT" else kept.replace(b"{}", b'{"layers": 1}', 1)
            )  # still settings of a model
        elif words := WORDS.get(Path(name).name):
            (folder / name).write_bytes(kept.replace(*words, 1))
        else:
            alter(folder / name)
        after = compared(folder, settings, data)
        assert after != before, name
        (folder / name).write_bytes(kept)
        assert compared(folder, settings, data) == before, name
    moved = tmp_path / "elsewhere/named"  # a model is shown by the name of its folder
    moved.parent.mkdir()
    shutil.move(folder, moved)
    assert compared(moved, settings, data) == before


def test_every_setting_that_names_files_is_looked_at():
    """A new setting of text is a choice of words, or is in the table of settings that name files."""
    words = {"name", "fit", "covalign_tokens", "gsl_similarity", "gsl_warm_up"}
    texts = {field.name for field in dataclasses.fields(profiles.Profile) if field.type is str}
    assert texts - words == set(named_files.WORDS)
    assert {name for _, settings, *_ in TABLE.values() for name in settings} >= set(
        named_files.WORDS
    )


def test_snakemake_compares_all_of_it():
    """Every rule that works on data or settings has them, by content, among its params."""
    graph = (ROOT / "Snakefile").read_text()
    assert "\nSETTINGS = named_files.compared(config)\n" in graph
    for rule in graph.split("rule ")[1:]:
        others = rule.startswith(("all:", "benchmark:"))  # which read no setting that names files
        assert others or "settings=SETTINGS," in rule or "rule:" in rule.split()[-1], rule


def test_words_name_no_files():
    assert named_files.files(profiles.get("smoke"), "world") == {}


def test_a_missing_file_is_no_file_that_was_there(tmp_path):
    folder = noise(tmp_path / "noise")
    before = compared(folder, {"gsl_noise_index": "{}"}, "world")
    (folder / "world_0.4.npy").unlink()
    assert compared(folder, {"gsl_noise_index": "{}"}, "world") != before


def test_a_place_counts_from_where_one_stands(tmp_path, monkeypatch):
    for name in ("noise", "vit", "grid", "tree"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path)
    said = {
        "gsl_noise_index": "noise",
        "covalign_vit": "./vit",
        "boxes": "grid",
        "parser": "tree",
        "bert": "bert-base-uncased",
        "probes": "none",
    }
    checks.make_absolute(said)
    assert said == {
        "gsl_noise_index": f"{tmp_path}/noise",
        "covalign_vit": f"{tmp_path}/vit",
        "boxes": "grid",
        "parser": f"{tmp_path}/tree",
        "bert": "bert-base-uncased",
        "probes": "none",
    }


def test_a_model_or_data_set_counts_from_where_one_stands(tmp_path, monkeypatch):
    for name in ("weights", "coco"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path)
    nothing = SimpleNamespace(problems=lambda *_: [], image_size=(224, 224))
    monkeypatch.setattr(by_name, "check", lambda spec, asked: [])
    monkeypatch.setattr(bert, "Pretrained", lambda spec: nothing)
    monkeypatch.setattr(pretrained, "problems", nothing.problems)
    monkeypatch.setattr(pretrained, "parse", lambda spec: nothing)
    assert checks.check_data("coco=coco") == f"coco={tmp_path}/coco"
    assert checks.check_bert("weights") == f"{tmp_path}/weights"
    assert checks.check_bert("bert-base-uncased") == "bert-base-uncased"
    for form in ("checkpoint", "huggingface", "openclip"):
        assert checks.check_base(f"{form}:weights") == (f"{form}:{tmp_path}/weights", 224)
    assert checks.check_base("openclip:ViT-B-32/openai")[0] == "openclip:ViT-B-32/openai"
    monkeypatch.setattr(
        checks.chapters, "settings_of", lambda _: SimpleNamespace(problem=lambda *_: "")
    )
    made = profiles.get("smoke", "flickr8k")
    told = checks.check_source("comalign_source", "coco=coco", "flickr8k", made)
    assert told == f"coco={tmp_path}/coco"


def test_a_part_made_with_other_files_goes_to_a_folder_of_its_own(tmp_path, monkeypatch, capsys):
    for module in (folders, main_job):
        monkeypatch.setattr(module, "ROOT", tmp_path)
    out = tmp_path / "results/world-smoke"
    (out / "notebooks").mkdir(parents=True)
    (out / "notebooks/40_gsl.done").touch()
    said = {
        "profile": "smoke",
        "data": "world",
        "seeds": None,
        "device": "auto",
        "source": "",
        "set": {"gsl_noise_index": "/here"},
        "files": {"gsl_noise_index": "one"},
    }
    (out / "settings.json").write_text(json.dumps(said))
    moved = said | {"set": {"gsl_noise_index": "/there"}}
    assert folders.set_apart(moved, ["40_gsl"]) == moved
    replaced = said | {"files": {"gsl_noise_index": "two"}}
    assert folders.set_apart(replaced, ["40_gsl"])["apart"] == f"-{named_files.short(replaced)}"


# --- Hashes that are kept ------------------------------------------------------------------------


def test_a_file_that_looks_as_it_did_is_read_once(tmp_path, monkeypatch):
    file, read = put(tmp_path, a="one") / "a", []
    as_ever = contents.hash_of
    monkeypatch.setattr(contents, "hash_of", lambda *each: read.append(each) or as_ever(*each))
    first = contents.sha256([file])
    assert contents.sha256([file]) == first and len(read) == 1
    alter(file)
    assert contents.sha256([file]) != first and len(read) == 2
    known = next(contents.KNOWN.iterdir())
    for octets in (b"", b"[]", known.read_bytes()[:20], b'{"x": 1}', b"\xff"):
        known.write_bytes(octets)  # a list that is broken is begun anew
        assert contents.sha256([file, (file, 2)])[0] == as_ever(file)
    known.unlink()
    shutil.rmtree(contents.KNOWN)
    contents.KNOWN.write_text("a file where the folder should be: nothing is kept")
    assert contents.sha256([file]) == [as_ever(file)]


def test_a_file_that_may_still_change_unseen_is_read_again(tmp_path, monkeypatch):
    monkeypatch.setattr(contents, "YOUNG", 2.0)
    contents.sha256([put(tmp_path, a="one") / "a"])
    assert not contents.KNOWN.exists()


def test_the_start_of_a_file(tmp_path):
    file = put(tmp_path, a="one two") / "a"
    assert contents.sha256([(file, 3)]) == contents.sha256([put(tmp_path, b="one") / "b"])


# --- Files of the library ------------------------------------------------------------------------


def test_files_that_are_no_code_belong_to_the_code_that_names_them(tmp_path, monkeypatch):
    package = put(
        tmp_path / "alignbook",
        __init___DOT_py="",
        alone_DOT_py="FILE = 'words.csv'",
        folder_DOT_py="PLACE = HERE / 'sizes'",
        user_DOT_py="import alignbook.folder",
        other_DOT_py="x = 1",
        words_DOT_csv="a",
        sizes__small_DOT_json="{}",
        sizes__note_DOT_json_TILDE="",
    )
    (package / "__init__.py").touch()
    monkeypatch.setattr(fingerprint, "PACKAGE", package)

    def hashes():
        for kept in (
            fingerprint._read,
            fingerprint._looks,
            fingerprint.code_hash,
            fingerprint._not_python,
        ):
            kept.cache_clear()
        return {
            name: fingerprint.code_hash(f"alignbook.{name}")
            for name in ("alone", "folder", "user", "other")
        }

    before = hashes()
    put(package, sizes__small_DOT_json="{ }")
    after = hashes()
    assert {name for name in before if before[name] != after[name]} == {"folder", "user"}
    put(package, words_DOT_csv="b")
    assert {name for name in before if hashes()[name] != after[name]} == {"alone"}
    monkeypatch.undo()
    hashes_of_the_package()


def hashes_of_the_package():
    for kept in (
        fingerprint._read,
        fingerprint._looks,
        fingerprint.code_hash,
        fingerprint._not_python,
    ):
        kept.cache_clear()


def test_every_file_of_the_package_is_named_by_some_code():
    """None is read that no code hash holds."""
    package = fingerprint.PACKAGE
    names = (path.relative_to(package).with_suffix("") for path in package.rglob("[a-z]*.py"))
    everything = fingerprint.modules_behind(
        *(f"alignbook.{'.'.join(name.parts)}" for name in names), counts=bool
    )
    held = "".join(fingerprint._read(name)[0] for name in everything)
    lost = [
        path
        for path, _, digest in fingerprint._not_python(fingerprint.PACKAGE)
        if f"\n{path} {digest}" not in held
    ]
    # What marks the types; and what print says, which the graph compares for each notebook.
    assert not [path for path in lost if path != "py.typed" and "/printed/" not in path]
    base = fingerprint.modules_behind("alignbook.backbones.base")
    assert "base_configs/world-clip.json" in "".join(fingerprint._read(name)[0] for name in base)


# --- And the numbers -----------------------------------------------------------------------------

SMALL = (
    "train_images=20 dev_images=10 test_images=10 base_epochs=1 gsl_images=0 gsl_dev_images=10 "
    "gsl_test_images=10 gsl_epoch_steps=1 gsl_epochs=1 gsl_regions=4 gsl_dim=8"
)


def test_other_noise_gives_other_numbers(tmp_path, monkeypatch):
    monkeypatch.setattr(workbook, "ROOT", tmp_path)
    monkeypatch.setattr(runs, "STORE", tmp_path / "store")
    from alignbook.papers.gsl import arms, rivals

    file, found = tmp_path / "noise/world_0.4.npy", []
    for seed in (1, 2, 1):
        noise_index.write(noise_index.make(20, 0.4, seed), file)
        book = workbook.open("smoke", settings=f"{SMALL} gsl_noise_index={file.parent}")
        dataset = book.dataset()
        given = arms.noise_of(book, dataset, 0.4)
        config = rivals.Config(
            method="mean",
            noise=0.4,
            images=0,
            dev_images=10,
            test_images=10,
            regions=4,
            dim=8,
            sim_dim=4,
            batch=10,
            warm_up_epochs=0,
            epochs=1,
            epoch_steps=2,
        )
        run = runs.get(config, 0, (dataset, book.features(), book.base(), None, given))
        found.append(
            (
                run.key,
                run.metrics["checksum"],
                named_files.files(book.profile, book.data)["gsl_noise_index"],
            )
        )
    assert found[0] == found[2]
    assert all(one != other for one, other in zip(found[0], found[1]))


def test_what_takes_long_to_read_says_so_off_a_terminal(tmp_path, monkeypatch, capsys):
    for name in ("one", "two"):
        (tmp_path / name).write_bytes(bytes(5 << 20))
    monkeypatch.setattr(contents, "MUCH", 1 << 20)
    monkeypatch.setattr(contents, "QUIET", 0.0)
    monkeypatch.delenv("JPY_PARENT_PID", raising=False)
    found = contents.sha256([tmp_path / "one", (tmp_path / "two", 3 << 20)])
    assert found == [hashlib.sha256(bytes(n << 20)).hexdigest() for n in (5, 3)]
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "  1 of 8 MB of files looked at" and said[-1].startswith("  8 of 8 MB")
    assert not any("\r" in line for line in said)


def test_a_named_pipe_is_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="not a regular file.*pipe"):
        contents.sha256([tmp_path / "pipe"])


@pytest.mark.parametrize("error, known", [(FileNotFoundError, True), (PermissionError, False)])
def test_a_file_that_can_not_be_read_is_refused_and_one_that_is_not_there_is_empty(
    error, known, monkeypatch
):
    def fails(*_):
        raise error(13, "Permission denied", "noise/world_0.4.npy")

    monkeypatch.setattr(named_files, "_hash", fails)
    settings = {"profile": "smoke", "data": "world", "set": {"gsl_noise_index": "noise"}}
    if known:
        assert checks.read_from(settings)["files"] == {"gsl_noise_index": ""}
        return
    with pytest.raises(checks.Refused, match="noise/world_0.4.npy: Permission denied, expected"):
        checks.read_from(settings)
