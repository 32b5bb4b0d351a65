"""Bad input: what every reader refuses, and how it says so. One table; read it as documentation.

A reader of `GOOD` writes good input into a folder and takes it. A row of `CASES` breaks one thing
in a copy of that, and says what must be told of it: file and row, what was found, what was expected
and the remedy. A row without words is odd input that is taken all the same.

Every row passes only if the good input is taken, the error is the project's own, what a check finds
before the work is what the work would say, nothing is left that could pass for whole, and the same
call succeeds once the good input is back.
"""

import gzip
import io
import itertools
import json
import os
import pickle
import re
import shlex
import shutil
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest
from alignbook.backbones import pretrained, region_features
from alignbook.datasets import (
    archives,
    aro,
    by_name,
    captions_csv,
    coco,
    conllu,
    flickr8k,
    karpathy,
    noise_index,
    precomp,
    regions,
    sugarcrepe,
    svo,
    visual_genome,
)
from alignbook.errors import DataError
from alignbook.store import durable, runs
from alignbook.workbook import checks, command, folders
from alignbook.workbook.packs import pack_archive, pack_choice
from alignbook.workbook.running import main_job
from PIL import Image
from safetensors.numpy import save_file

ALL = SimpleNamespace(
    size=8, fit="squash", train_images=0, dev_images=0, test_images=0, data_seed=0
)
SPLITS = {"train": ["a.jpg", "b.jpg"], "dev": ["c.jpg"], "test": ["d.jpg"]}
SIZES = {"train": 2, "dev": 1, "test": 1}  # stand for the published ones
PHOTOS = [name for listed in SPLITS.values() for name in listed]
CAPTIONS = {name: [f"Café {k} of {name} ." for k in range(5)] for name in PHOTOS}

PAGE = b"<!DOCTYPE html>\n<html><body>Sign in to download</body></html>\n"
POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"4d7a" * 16 + b"\nsize 9\n"
ZIP = b"PK\x03\x04" + bytes(60)  # begins like one, and ends too early


@pytest.fixture(autouse=True, scope="module")
def published_sizes():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(flickr8k.read, "__defaults__", (SIZES,))
        patch.setattr(karpathy, "SIZES", dict.fromkeys(karpathy.SIZES, SIZES))
        published = {split: (n,) for split, n in SIZES.items()}
        patch.setitem(precomp.SIZES, "f30k_precomp", published)
        yield


# --- Good input ----------------------------------------------------------------------------------


class Good(NamedTuple):
    """What a reader takes: `write(folder)` makes it, `read(folder, made)` reads all of it.

    `check(folder)` lists what stands in the way before any work; `remedy` is what refusals advise;
    `raises` the error that is documented.
    """

    write: Callable
    read: Callable
    remedy: str
    check: Callable | None = None
    raises: type = DataError


def photographs(folder, names=PHOTOS):
    for name in names:
        pixels = np.random.default_rng(zlib.crc32(name.encode())).integers(
            0, 256, (30, 40, 3), np.uint8
        )
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels).save(folder / name)


def collection(spec, write, remedy):
    def check(folder):
        return by_name.check(f"{spec}={folder}")

    def read(folder, made):
        found = by_name.prepare(f"{spec}={folder}", ALL, made)
        rows = np.arange(len(found.names))
        numbers = None if found.regions is None else found.regions[rows].tolist()
        return found.names, found.captions, numbers

    return Good(write, read, remedy, check)


def write_flickr8k(folder):
    photographs(folder / "Images")
    flickr8k.write(folder, SPLITS, CAPTIONS)


def write_karpathy(folder):
    photographs(folder / "Images")
    karpathy.write(folder, SPLITS, CAPTIONS)


def write_partial(folder):
    photographs(folder / "Images", ["1.jpg", "3.jpg", "4.jpg"])
    karpathy.write(folder, SPLITS, CAPTIONS, "flickr30k")
    photo_of = {"a.jpg": "1.jpg", "c.jpg": "3.jpg", "d.jpg": "4.jpg"}
    (folder / karpathy.PARTIAL).write_text(json.dumps(photo_of))


def write_table(name):
    def write(folder):
        photographs(folder / "Images")
        captions_csv.write(folder, SPLITS, CAPTIONS, name)
        for path in folder.glob("Flickr_*"):  # the re-uploads have no lists
            path.unlink()

    return write


def write_coco(folder):
    coco.write(folder, SPLITS, CAPTIONS)
    for split, file in zip(SPLITS, ("train", "val", "test"), strict=True):
        photographs(folder / f"{file}2017", SPLITS[split])


def write_regions_beside(folder):
    write_karpathy(folder)
    regions.write(folder / "regions.npz", found_regions(PHOTOS))


def found_regions(names):
    """Two regions of every image."""
    boxes = np.tile([[0, 0, 5, 5], [1.5, 2, 3, 4]], (len(names), 1))
    numbers = np.arange(6 * len(names)).reshape(-1, 3)
    return regions.Regions(list(names), boxes, numbers, np.full(len(names), 2))


def read_regions(file):
    def read(folder, made):
        return [np.asarray(part).tolist() for part in regions.read(folder / file)]

    return read


def write_precomp(folder):
    arrays = {s: np.arange(12 * n, dtype=np.float32).reshape(n, 4, 3) for s, n in SIZES.items()}
    precomp.write(folder, SPLITS, CAPTIONS, arrays)


def write_json(file, value):
    def write(folder):
        (folder / file).write_text(json.dumps(value))

    return write


def table(read):
    """A reader that gives a DataFrame, or several."""

    def lists(folder, made):
        found = read(folder)
        frames = found if isinstance(found, tuple) else [found]
        return [frame.to_numpy().tolist() for frame in frames]

    return lists


BOXES = {
    "images": [{"id": 7, "file_name": "a.jpg", "width": 40, "height": 30}],
    "annotations": [
        {"id": 1, "image_id": 7, "category_id": 3, "bbox": [1, 2, 10, 10], "iscrowd": 0},
        {"id": 2, "image_id": 7, "category_id": 3, "bbox": [20, 2, 10, 9], "iscrowd": 0},
    ],
    "categories": [{"id": 3, "name": "dog"}],
}
DETECTIONS = [
    {"image": "a.jpg", "boxes": [[0, 0, 5, 5]], "labels": ["dog"], "scores": [0.9]},
    {"image": "b.jpg", "boxes": [[0, 0, 5, 5]], "labels": ["cat"], "scores": [0.8]},
]
GENOME = {
    "image_data": [
        {"image_id": 5, "width": 80, "height": 60},
        {"image_id": 6, "width": 80, "height": 60},
    ],
    "objects": [
        {
            "image_id": 5,
            "objects": [
                {"object_id": 90, "names": ["cat"], "x": 3, "y": 5, "w": 20, "h": 10},
                {"object_id": 91, "names": ["mat"], "x": 0, "y": 9, "w": 50, "h": 20},
            ],
        }
    ],
    "attributes": [{"image_id": 5, "attributes": [{"object_id": 90, "attributes": ["red"]}]}],
    "relationships": [
        {
            "image_id": 5,
            "relationships": [
                {"predicate": "on", "subject": {"object_id": 90}, "object": {"object_id": 91}}
            ],
        }
    ],
}
SWAP = {
    "image_path": "7.jpg",
    "true_caption": "the cat is on the mat",
    "false_caption": "the mat is on the cat",
    "bbox_x": 3,
    "bbox_y": 5,
    "bbox_w": 20,
    "bbox_h": 10,
    "relation_name": "on",
}
CREPE = {
    "0": {"filename": "a.jpg", "caption": "A dog", "negative_caption": "A cat"},
    "1": {"filename": "b.jpg", "caption": "A hat", "negative_caption": "A bat"},
}
SVO = """\
sentence,pos_triplet,neg_triplet,pos_url,neg_url,pos_image_id,neg_image_id,subj_neg,verb_neg,obj_neg
A café sells tea.,"café,sell,tea","café,buy,tea",,,11,12,FALSE,TRUE,FALSE
"Yes, women chase dogs.","woman,chase,dog","man,chase,dog",,,13,11,TRUE,FALSE,FALSE
"""
CONLLU = """\
# text = Dogs chase cafés
1\tDogs\tdog\tNOUN\tNNS\t_\t2\tnsubj\t_\t_
2\tchase\tchase\tVERB\tVB\t_\t0\troot\t_\t_
3\tcafés\tcafé\tNOUN\tNNS\t_\t2\tobj\t_\t_

"""


def write_genome(folder):
    for name, value in GENOME.items():
        (folder / f"{name}.json").write_text(json.dumps(value))


def write_svo(folder):
    (folder / "svo_probes.csv").write_text(SVO, "utf-8", newline="")
    photographs(folder / "images", ["11.jpg", "12.jpg", "13.jpg"])


def write_crepe(folder):
    for kind in sugarcrepe.KINDS:
        (folder / f"{kind}.json").write_text(json.dumps(CREPE))


def write_zip(folder):
    with zipfile.ZipFile(folder / "photos.zip", "w") as archive:
        for name in ("Images/a.jpg", "Images/b.jpg"):
            archive.writestr(name, name * 99)


def write_tar(folder, *more):
    files = [("Images/a.jpg", b"1" * 600), ("Images/b.jpg", b"2" * 600)]
    with tarfile.open(folder / "photos.tar.gz", "w:gz") as archive:
        for file in [*files, *more]:
            add(archive, *file)


def add(archive, name, content=b"", kind=tarfile.REGTYPE, link=""):
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size = kind, link, len(content)
    archive.addfile(info, io.BytesIO(content))


def unpacked(file):
    def read(folder, made):
        archives.unpack(folder / file, made)
        return {str(p.relative_to(made)): p.read_bytes() for p in made.rglob("*.jpg")}

    return read


RECORD = {
    "module": "alignbook.papers.chan.model",
    "config": {"steps": 1},
    "seed": 0,
    "inputs": [],
    "device": "cpu",
    "dtype": "float32",
    "format": 1,
    "code": "c" * 64,
    "versions": {"torch": "1"},
    "finished": "now",
    "seconds": 1.5,
    "asked": [],
}
RUN = runs.key_of(RECORD)
STORED = f"{RUN}/weights.safetensors"


def write_pack(folder):
    store = folder / "store"
    (store / RUN).mkdir(parents=True)
    measured = {"steps": 1, "parameters": 1, "checksum": "d" * 16, "training seconds": 1.5}
    (store / RUN / "metrics.json").write_text(json.dumps(measured))
    save_file({"w": np.zeros(621, np.uint8)}, store / STORED)
    record = RECORD | {"key": RUN, "files": durable.described(store / RUN)}
    (store / RUN / "run.json").write_text(json.dumps(runs.sealed(record)))
    pack_archive.write(
        folder / "runs.tar.gz", pack_archive.describe(store, pack_choice.Choice([RUN])), store
    )
    shutil.rmtree(store)


def read_pack(folder, made):
    pack_archive.read(folder / "runs.tar.gz", made)
    return {str(path.relative_to(made)): path.read_bytes() for path in made.rglob("*.*")}


BIN, CONFIG = "open_clip_model.safetensors", "open_clip_config.json"
VISION = {"image_size": 32, "patch_size": 16, "width": 16, "head_width": 8, "layers": 1}
TEXT = {"context_length": 10, "width": 8, "heads": 1, "layers": 1}
CLIP = {"embed_dim": 12, "quick_gelu": True, "vision_cfg": VISION, "text_cfg": TEXT}
SETTINGS = {"model_cfg": CLIP, "preprocess_cfg": {"mean": [0.5] * 3, "std": [0.2] * 3}}


def state_dict():
    import torch
    from open_clip.model import CLIP as Model

    torch.manual_seed(0)
    return Model(12, dict(VISION), dict(TEXT), quick_gelu=True).state_dict()


def write_weights(folder):
    from safetensors.torch import save_file

    save_file(state_dict(), folder / BIN)
    (folder / CONFIG).write_text(json.dumps(SETTINGS))


def saved(content, folder):
    import torch

    torch.save(content, folder / "clip.pt")


def write_checkpoint(folder):
    saved({"epoch": 3, "state_dict": state_dict()}, folder)
    sidecar = SETTINGS | {"tag": "ViT-B-32-quickgelu/openai"}
    (folder / "clip.pt.json").write_text(json.dumps(sidecar))


def model(form, file, write):
    def check(folder):
        return pretrained.problems(f"{form}:{folder / file}")

    def read(folder, made):
        found = pretrained.load(f"{form}:{folder / file}")
        sizes = [round(value.abs().mean().item(), 2) for value in found.parameters()]
        return found.activation, sizes

    return Good(write, read, "take the one that belongs to the weights", check)


def write_command(folder):
    (folder / "command").write_text(
        "--profile smoke --set chan_steps=5 --data flickr8k={folder} chan"
    )
    write_flickr8k(folder)


def read_command(folder, made):
    """The command line as it stands in a file; {folder} is where that lies."""
    words = shlex.split((folder / "command").read_text().replace("{folder}", str(folder)))
    with pytest.MonkeyPatch.context() as patch:
        for module in (folders, main_job):
            patch.setattr(module, "ROOT", made)
        enough = folder / "enough"  # images of a split; the good input has fewer than usual
        patch.setattr(by_name, "FEWEST", int(enough.read_text()) if enough.is_file() else 1)
        made.mkdir(exist_ok=True)
        notebooks, settings = checks.check(command.parser().parse_args(words))
    return settings["profile"], settings["set"]


def read_world(folder, made):
    settings = SimpleNamespace(**json.loads((folder / "settings.json").read_text()))
    found = by_name.prepare("world", settings, made)
    return found.names, found.captions


def read_first_regions(folder, made):
    stored = np.load(folder / "features.npy")
    return region_features.batch(stored, np.array([1, 0]), 36).shape


def real_flickr8k(folder, realdata):
    source = flickr8k.read(realdata / "flickr8k")
    splits = {split: source.splits[split][:n] for split, n in SIZES.items()}
    flickr8k.write(folder, splits, source.captions)
    (folder / "Images").mkdir()
    for name, like in zip(sum(splits.values(), []), PHOTOS, strict=True):
        shutil.copy(realdata / "flickr8k" / "Images" / name, folder / "Images" / like)
    for path in (folder / "Flickr8k_text").iterdir():  # called a.jpg and so on, for the table
        text = path.read_text("utf-8")
        for name, like in zip(sum(splits.values(), []), PHOTOS, strict=True):
            text = text.replace(name, like)
        path.write_text(text, "utf-8")


def real(*names):
    def write(folder, realdata):
        for name in names:
            shutil.copy(realdata / name, folder / Path(name).name)

    return write


GOOD = {
    "flickr8k": collection("flickr8k", write_flickr8k, "take the released file again"),
    "Karpathy": collection("flickr8k", write_karpathy, "caption_datasets archive"),
    "part of flickr30k": collection("flickr30k", write_partial, "or take it away"),
    "captions.txt": collection("flickr8k", write_table("flickr8k"), "from the re-upload"),
    "results.csv": collection("flickr30k", write_table("flickr30k"), "from the re-upload"),
    "COCO captions": collection("coco", write_coco, "on the COCO site"),
    "COCO instances": Good(
        write_json("instances.json", BOXES),
        table(lambda folder: coco.read_instances(folder / "instances.json")),
        "on the COCO site",
    ),
    "precomp": collection("f30k_precomp", write_precomp, "data.zip of SCAN's authors"),
    "regions beside": collection("flickr8k", write_regions_beside, "write it again"),
    "regions.npz": Good(
        lambda folder: regions.write(folder / "regions.npz", found_regions(["a.jpg", "é.jpg"])),
        read_regions("regions.npz"),
        "write it again with alignbook.datasets.regions.write",
    ),
    "regions.parquet": Good(
        lambda folder: regions.write(folder / "regions.parquet", found_regions(["a.jpg", "b.jpg"])),
        read_regions("regions.parquet"),
        "write it again",
    ),
    "detections": Good(
        write_json("found.json", DETECTIONS),
        table(lambda folder: regions.read_detections(folder / "found.json")),
        "write the file again",
    ),
    "Visual Genome": Good(
        write_genome, table(visual_genome.read), "again from Visual Genome's site"
    ),
    "ARO": Good(
        write_json("visual_genome_relation.json", [SWAP, SWAP | {"image_path": "8.jpg"}]),
        table(lambda folder: aro.read(folder, "relation")),
        "again from where the repository of ARO",
    ),
    "SVO-Probes": Good(
        write_svo,
        table(lambda folder: svo.read(folder, folder / "images")),
        "take svo_probes.csv (36,841 rows) again",
    ),
    "SugarCrepe": Good(write_crepe, table(sugarcrepe.read), "take the seven files"),
    "noise index": Good(
        lambda folder: noise_index.write(noise_index.make(4, 0.5, seed=1), folder / "noise.npy"),
        lambda folder, made: noise_index.read(folder / "noise.npy", 4).tolist(),
        "take the file of this data set and rate again",
    ),
    "CoNLL-U": Good(
        lambda folder: (folder / "dev.conllu").write_text(CONLLU, "utf-8", newline=""),
        lambda folder, made: conllu.read(folder / "dev.conllu"),
        "take the treebank's file again",
    ),
    "zip": Good(write_zip, unpacked("photos.zip"), "don't use this archive"),
    "tar": Good(write_tar, unpacked("photos.tar.gz"), "don't use this archive"),
    "pack": Good(write_pack, read_pack, "copy the pack again"),
    "weights": model("openclip", "", write_weights),
    "checkpoint": model("checkpoint", "clip.pt", write_checkpoint),
    "world": Good(
        write_json(
            "settings.json",
            vars(ALL) | {"size": 48, "train_images": 2, "dev_images": 1, "test_images": 1},
        ),
        read_world,
        "",
    ),
    "command line": Good(write_command, read_command, "", raises=checks.Refused),
    "regions asked for": Good(
        lambda folder: np.save(folder / "features.npy", np.ones((2, 36, 3), np.float16)),
        read_first_regions,
        "",
        raises=ValueError,
    ),
    "real flickr8k": collection("flickr8k", real_flickr8k, "put a fresh copy"),
    "real noise index": Good(
        real("noise_index/RCL_f30k_noise_inx_0.2.npy"),
        lambda folder, made: len(noise_index.read(folder / "RCL_f30k_noise_inx_0.2.npy", 29000)),
        "take the file of this data set and rate again",
    ),
    "real SugarCrepe": Good(
        real("sugarcrepe/swap_obj.json"),
        table(lambda folder: sugarcrepe.read(folder, ["swap_obj"])),
        "take the seven files",
    ),
    "real CoNLL-U": Good(
        real("ud_english_ewt/en_ewt-ud-dev.conllu"),
        lambda folder, made: len(conllu.read(folder / "en_ewt-ud-dev.conllu")),
        "take the treebank's file again",
    ),
}


# --- Ways to break one thing ---------------------------------------------------------------------


def change(file, old, new):
    """Put other text, or other octets, in the place of what stands in a file once or first."""

    def spoil(folder):
        octets, before, after = (folder / file).read_bytes(), old, new
        if isinstance(old, str):
            before, after = old.encode(), new.encode()
        assert before in octets, f"{before} is not in {file}"
        (folder / file).write_bytes(octets.replace(before, after, 1))

    return spoil


def rewrite(file, how):
    """Other octets, made of the ones that are there."""
    return lambda folder: (folder / file).write_bytes(how((folder / file).read_bytes()))


def put(file, octets):
    return rewrite(file, lambda _: octets)


def half(file):
    return rewrite(file, lambda octets: octets[: len(octets) // 2])


def recode(file, encoding):
    return rewrite(file, lambda octets: octets.decode().encode(encoding))


def windows(file):
    """With a byte order mark and Windows line ends."""
    return rewrite(file, lambda octets: b"\xef\xbb\xbf" + octets.replace(b"\n", b"\r\n"))


def lose(file):
    def spoil(folder):
        path = folder / file
        shutil.rmtree(path) if path.is_dir() else path.unlink()

    return spoil


def instead(file, make):
    """Something else under a file's name."""

    def spoil(folder):
        lose(file)(folder)
        make(folder / file)

    return spoil


def folder_instead(file):
    return instead(file, Path.mkdir)


def failing_disk(file):
    """A file that is there and can't be read, not even by root."""
    memory = Path("/proc/self/mem")

    def spoil(folder):
        if not memory.is_file():
            pytest.skip("needs a file that no one can read from its start")
        instead(file, lambda path: path.symlink_to(memory))(folder)

    return spoil


def forbidden(file):
    def spoil(folder):
        (folder / file).chmod(0)
        if os.access(folder / file, os.R_OK):
            pytest.skip("who runs this may read everything")

    return spoil


def swap(one, other):
    def spoil(folder):
        (folder / one).rename(folder / "aside")
        (folder / other).rename(folder / one)
        (folder / "aside").rename(folder / other)

    return spoil


def files_of(place, *names):
    """Files that begin like JSON and are none, in a folder of their own."""

    def spoil(folder):
        (folder / place).mkdir(exist_ok=True)
        for name in names:
            (folder / place / name).write_text("{bad")

    return spoil


def strange(octets):
    """Captions of Latin letters, of which no word comes again."""
    number = itertools.count()
    return re.sub(rb"Caf.*", lambda _: f"word{next(number)}".encode(), octets)


def each(*spoilers):
    return lambda folder: [spoil(folder) for spoil in spoilers]


def entry(file, *way):
    """Set what a way of keys leads to in a JSON file to the way's last part; `...` takes it out."""

    def spoil(folder):
        stored = place = json.loads((folder / file).read_bytes())
        *keys, last, new = way
        for key in keys:
            place = place[key]
        if new is ...:
            del place[last]
        else:
            place[last] = new
        (folder / file).write_text(json.dumps(stored))

    return spoil


def array(file, how):
    """Change an array; objects are stored as a pickle."""

    def spoil(folder):
        np.save(folder / file, how(np.load(folder / file)), allow_pickle=True)

    return spoil


def value(place, new):
    """How to change one number of an array."""

    def how(stored):
        stored[place] = new
        return stored

    return how


def number(file, place, new):
    return array(file, value(place, new))


def member(file, **arrays):
    """Change arrays of an .npz file, by functions; None takes one out."""

    def spoil(folder):
        with np.load(folder / file) as stored:
            members = dict(stored)
        for name, how in arrays.items():
            members[name] = how and how(members[name].copy())
        np.savez(folder / file, **{k: v for k, v in members.items() if v is not None})

    return spoil


def column(file, name, place, new):
    """Change a cell, or a slice of cells, of a Parquet file; `...` takes the column out."""

    def spoil(folder):
        import pandas

        stored = pandas.read_parquet(folder / file)
        if new is ...:
            del stored[name]
        else:
            cells = stored[name].tolist()
            cells[place] = new
            stored[name] = cells
        stored.to_parquet(folder / file)

    return spoil


def tar_more(*member):
    """One member more in photos.tar.gz."""
    return lambda folder: write_tar(folder, member)


def zip_more(name, mode=0):
    """One member more in photos.zip; a mode makes it a link."""

    def spoil(folder):
        info = zipfile.ZipInfo(name)
        info.external_attr = mode << 16
        with zipfile.ZipFile(folder / "photos.zip", "a") as archive:
            archive.writestr(info, "/etc/passwd")

    return spoil


def repack(how):
    """Change the members of a pack, a dict of name → content, in place."""

    def spoil(folder):
        with tarfile.open(folder / "runs.tar.gz") as archive:
            members = {info.name: archive.extractfile(info).read() for info in archive}
        how(members)
        with tarfile.open(folder / "runs.tar.gz", "w:gz") as archive:
            for name, content in members.items():
                add(archive, name, content)

    return spoil


def manifest(how):
    """Change the manifest of a pack."""

    def change_it(members):
        told = json.loads(members["MANIFEST.json"])
        how(told)
        members["MANIFEST.json"] = json.dumps(told).encode()

    return repack(change_it)


def tensor(name, how):
    """Change one tensor of the weights; None takes it out."""

    def spoil(folder):
        from safetensors.torch import load_file, save_file

        stored = load_file(folder / BIN)
        stored[name] = how(stored[name])
        save_file({k: v for k, v in stored.items() if v is not None}, folder / BIN)

    return spoil


class Code:
    """Unpickled, it would run code."""

    def __reduce__(self):
        return os.system, ("false",)


def picture(how):
    """Another picture under the name a.jpg."""
    return lambda folder: how(folder / "Images/a.jpg")


def deep_grey(path):
    grey = np.arange(0, 60000, 50, np.uint16).reshape(30, 40)
    Image.fromarray(grey).save(path, format="PNG")


def post_script(path):
    Image.new("RGB", (40, 30)).save(path, format="EPS")


def header(text):
    """A .npy file of nothing but a header."""
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode()


def words(line):
    return put("command", line.encode())


def pipe(file):
    """A named pipe, which nobody writes to: reading it would never end."""
    return instead(file, os.mkfifo)


def claims(width, height):
    """A PNG whose header says so many pixels."""

    def spoil(path):
        octets = io.BytesIO()
        Image.new("L", (4, 4)).save(octets, "PNG")
        size = b"IHDR" + struct.pack(">II", width, height) + octets.getvalue()[24:29]
        path.write_bytes(
            octets.getvalue()[:12]
            + size
            + struct.pack(">I", zlib.crc32(size))
            + octets.getvalue()[33:]
        )

    return spoil


def long_header(folder):
    """A tar whose header for extended names has 80 MB, in 80 kB."""
    info = tarfile.TarInfo("./PaxHeaders/a")
    info.type, info.size = tarfile.XHDTYPE, 80 * 2**20
    with gzip.open(folder / "photos.tar.gz", "wb", compresslevel=1) as file:
        file.write(info.tobuf(tarfile.USTAR_FORMAT) + bytes(info.size + 1024))


def endless(path):
    """A tar with a member of 200 MB of zeros, in 1 MB."""
    info = tarfile.TarInfo("a.jpg")
    info.size = 200 * 2**20
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(info.tobuf())
        for _ in range(202):
            file.write(bytes(2**20))


def zip_of(folder, content):
    with zipfile.ZipFile(
        folder / "photos.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=1
    ) as archive:
        archive.writestr("a.jpg", content)


def long_member(folder):
    """Regions whose features begin with a header of 80 MB, in 80 kB."""
    with zipfile.ZipFile(folder / "regions.npz") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members["features.npy"] = (
        b"\x93NUMPY\x02\x00" + struct.pack("<I", 80 * 2**20) + bytes(80 * 2**20)
    )
    with zipfile.ZipFile(
        folder / "regions.npz", "w", zipfile.ZIP_DEFLATED, compresslevel=1
    ) as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def npy(stored):
    octets = io.BytesIO()
    np.save(octets, stored)
    return octets.getvalue()


def zipped(path):
    content = path.read_bytes()
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("photo.jpg", content)


def saved_as(path, mode, form="JPEG"):
    with Image.open(path) as opened:
        converted = opened.convert(mode)
    converted.save(path, format=form)


# --- Bad input -----------------------------------------------------------------------------------


class Row(NamedTuple):
    """What is broken, and what is said: `where` (file below the folder, and place in it), what was
    `found`, what was `expected`, and the `remedy` where it isn't the reader's usual one.

    Without `found`, it is taken all the same. `late`: no check before the work can tell.
    """

    name: str
    spoil: Callable
    where: str = ""
    found: str = ""
    expected: str = ""
    remedy: str = ""
    late: bool = False


PROBED = "--profile smoke --data flickr8k={folder} --set probes={folder} --set comalign_images=0"
PROBED += " 21_comalign_compositional"
TOKENS = "Flickr8k_text/Flickr8k.token.txt"
TRAIN_COCO = "annotations/captions_train2017.json"
TRAIN, DEV, TEST = (f"Flickr8k_text/Flickr_8k.{split}Images.txt" for split in SPLITS)
JSON = "dataset_flickr8k.json"
UNPACK = "unpack the archive of photographs there"
FRESH = "put a fresh copy from the data set's archive in its place"
WHOLE = "expected a whole image file"
INSTANCES = ("instances.json", "annotations", 1)
NPY = "(images, regions, width) of float32"
OUTSIDE = "expected a path below it"
ARO_FILE = "visual_genome_relation.json"

CASES = {
    "flickr8k": [
        Row(
            "a pipe where a split file of another form would be",
            lambda folder: os.mkfifo(folder / JSON),
            JSON,
            "no regular file",
            "expected one, or nothing of that name",
            "put it there or remove it",
        ),
        Row(
            "a photograph is missing",
            lose("Images/a.jpg"),
            f"{TRAIN}, row 1",
            "Images/a.jpg missing (1 of 4 are)",
            "every image listed",
            UNPACK,
        ),
        Row(
            "a photograph is a link to nowhere",
            instead("Images/a.jpg", lambda path: path.symlink_to("gone.jpg")),
            f"{TRAIN}, row 1",
            "Images/a.jpg missing (1 of 4 are)",
            "every image listed",
            UNPACK,
        ),
        Row(
            "a photograph of zero bytes",
            put("Images/a.jpg", b""),
            "Images/a.jpg",
            "cannot identify image file",
            WHOLE,
            FRESH,
            late=True,
        ),
        Row(
            "a zip saved as .jpg",
            put("Images/a.jpg", ZIP),
            "Images/a.jpg",
            "cannot identify image file",
            WHOLE,
            FRESH,
            late=True,
        ),
        Row(
            "a page of the web saved as .jpg",
            put("Images/a.jpg", PAGE),
            "Images/a.jpg",
            "cannot identify image file",
            WHOLE,
            FRESH,
            late=True,
        ),
        Row(
            "a JPEG cut short",
            half("Images/a.jpg"),
            "Images/a.jpg",
            "image file is truncated",
            WHOLE,
            FRESH,
            late=True,
        ),
        Row(
            "a folder in the place of a photograph",
            folder_instead("Images/a.jpg"),
            "Images/a.jpg",
            "Is a directory",
            WHOLE,
            FRESH,
            late=True,
        ),
        Row(
            "a grey picture of 16 bits, which would become white",
            picture(deep_grey),
            "Images/a.jpg",
            "more than 8 bits a pixel",
            WHOLE,
            FRESH,
            late=True,
        ),
        Row("a grey picture", picture(Image.new("L", (40, 30), 99).save)),
        Row("a picture for print, CMYK", picture(Image.new("CMYK", (40, 30)).save)),
        Row(
            "an empty caption",
            change(TOKENS, "Café 0 of a.jpg .", " "),
            f"{TOKENS}, row 1",
            "caption of a.jpg#0 is empty",
            "a sentence",
        ),
        Row(
            "a caption line that is empty",
            change(TOKENS, "a.jpg#3\tCafé 3 of a.jpg .", ""),
            f"{TRAIN}, row 1",
            "a.jpg has 4 captions",
            "expected 5",
        ),
        Row(
            "one caption instead of five",
            each(*(change(TOKENS, f"a.jpg#{k}\tCafé {k} of a.jpg .\n", "") for k in range(1, 5))),
            f"{TRAIN}, row 1",
            "a.jpg has 1 captions",
            "expected 5",
        ),
        Row(
            "a caption twice",
            change(TOKENS, "a.jpg#1", "a.jpg#0"),
            f"{TOKENS}, row 2",
            "a.jpg#0 stands twice",
            "expected once",
        ),
        Row(
            "a sixth caption",
            change(TOKENS, "a.jpg#4", "a.jpg#5"),
            f"{TOKENS}, row 5",
            "a.jpg#5",
            "expected numbers 0 to 4",
        ),
        Row(
            "a negative caption number",
            change(TOKENS, "a.jpg#0", "a.jpg#-1"),
            f"{TOKENS}, row 1",
            "'a.jpg#-1\\tCafé",
            "expected name.jpg#number",
        ),
        Row(
            "captions of other photographs",
            rewrite(TOKENS, lambda octets: octets.replace(b".jpg#", b".png#")),
            TOKENS,
            "captions of none of the 4 photographs",
            "expected five of each",
        ),
        Row(
            "a caption file of zero bytes",
            put(TOKENS, b""),
            TOKENS,
            "captions of none of the 4 photographs",
            "expected five of each",
        ),
        Row(
            "a caption file in Latin-1",
            recode(TOKENS, "latin-1"),
            f"{TOKENS}, row 1",
            "not UTF-8",
            "expected UTF-8 text",
        ),
        Row(
            "a caption file in UTF-16",
            recode(TOKENS, "utf-16"),
            f"{TOKENS}, row 1",
            "not UTF-8",
            "expected UTF-8 text",
        ),
        Row("a caption file from Windows", windows(TOKENS)),
        Row("a list from Windows", windows(TRAIN)),
        Row(
            "a Git LFS pointer as caption file",
            put(TOKENS, POINTER),
            f"{TOKENS}, row 1",
            "'version https://git-lfs",
            "expected name.jpg#number",
        ),
        Row(
            "a folder in the place of the caption file",
            folder_instead(TOKENS),
            TOKENS,
            "file missing",
        ),
        Row(
            "a caption file the disk can't read",
            failing_disk(TOKENS),
            TOKENS,
            "cannot be read (Input/output error)",
            "a file that you may read",
        ),
        Row(
            "a caption file that may not be read",
            forbidden(TOKENS),
            TOKENS,
            "cannot be read (Permission denied)",
            "a file that you may read",
        ),
        Row("a list is missing", lose(DEV), DEV, "file missing"),
        Row(
            "the folder of photographs is missing",
            lose("Images"),
            "",
            "no folder of photographs",
            "expected Images or Flicker8k_Dataset",
        ),
        Row(
            "train and dev swapped",
            swap(TRAIN, DEV),
            f"{TRAIN}, row 1",
            "1 images in split train",
            "expected 2",
        ),
        Row(
            "a list one image short",
            change(TRAIN, "b.jpg\n", ""),
            f"{TRAIN}, row 1",
            "1 images in split train",
            "expected 2",
        ),
        Row("no image in a list", put(DEV, b"\n"), TOKENS, "0 images in split dev", "expected 1"),
        Row(
            "an image in two splits",
            change(DEV, "c.jpg", "a.jpg"),
            f"{DEV}, row 1",
            "a.jpg stands in split dev and before in train",
            "expected once",
        ),
        Row(
            "an image twice in a list",
            change(TRAIN, "b.jpg", "a.jpg"),
            f"{TRAIN}, row 2",
            "a.jpg stands in split train and before",
            "expected once",
        ),
        Row(
            "a path upwards",
            change(TRAIN, "a.jpg", "../a.jpg"),
            f"{TRAIN}, row 1",
            "'../a.jpg' leaves the folder",
            OUTSIDE,
        ),
        Row(
            "an absolute path",
            change(TRAIN, "a.jpg", "/etc/a.jpg"),
            f"{TRAIN}, row 1",
            "'/etc/a.jpg' leaves the folder",
            OUTSIDE,
        ),
        Row(
            "a named pipe as photograph",
            pipe("Images/a.jpg"),
            f"{TRAIN}, row 1",
            "Images/a.jpg is a named pipe",
            "a regular file",
            "put the photograph",
        ),
        Row(
            "a link to a device as photograph",
            instead("Images/a.jpg", lambda path: path.symlink_to("/dev/zero")),
            f"{TRAIN}, row 1",
            "Images/a.jpg is a device",
            "a regular file",
            "put the photograph",
        ),
        Row("a named pipe as list", pipe(TRAIN), TRAIN, "file missing"),
        Row(
            "PostScript saved as .jpg",
            picture(post_script),
            "Images/a.jpg",
            "cannot identify image file",
            WHOLE,
            FRESH,
            late=True,
        ),
        Row(
            "more pixels than memory holds",
            picture(claims(13_000, 13_000)),
            "Images/a.jpg",
            "13,000 × 13,000 pixels, 64,000,000 at most",
            WHOLE,
            FRESH,
            late=True,
        ),
        Row(
            "a caption with a character that ends texts",
            change(TOKENS, "Café 0 of a.jpg", "Café\0 0 of a.jpg"),
            f"{TRAIN}, row 1",
            "a caption of a.jpg holds the control character '\\x00'",
            "expected text",
        ),
        Row(
            "a caption of a million characters",
            change(TOKENS, "Café 0 of a.jpg", "word " * 200_000),
            f"{TRAIN}, row 1",
            "a caption of a.jpg has 1,000,002 characters",
            "expected 2,000 at most",
        ),
        Row(
            "a caption in letters that no model here reads",
            change(TOKENS, "Café 0 of a.jpg .", "两只狗 在 雪地 里"),
            f"{TRAIN}, row 1",
            "a caption of a.jpg is '两只狗 在 雪地 里'",
            "a word in Latin letters",
        ),
        Row(
            "a name no file can have",
            each(
                change(TRAIN, "a.jpg", "a\0.jpg"),
                rewrite(TOKENS, lambda octets: octets.replace(b"a.jpg#", b"a\0.jpg#")),
            ),
            f"{TRAIN}, row 1",
            r"Images/a\x00.jpg missing",
            "every image listed",
            UNPACK,
        ),
    ],
    "Karpathy": [
        Row(
            "the file is missing",
            lose(JSON),
            "Flickr8k_text/Flickr8k.token.txt",
            "file missing",
            remedy="take the released file again",
        ),
        Row(
            "a page of the web saved as .json",
            put(JSON, PAGE),
            f"{JSON}, row 1",
            "not JSON (Expecting value at '<!DOCTYPE html>",
            "a whole JSON file",
        ),
        Row(
            "a Git LFS pointer",
            put(JSON, POINTER),
            f"{JSON}, row 1",
            "not JSON (Expecting value at 'version https:",
            "a whole JSON file",
        ),
        Row(
            "JSON cut off in the middle",
            half(JSON),
            f"{JSON}, row",
            "not JSON",
            "a whole JSON file",
        ),
        Row(
            "zero bytes",
            put(JSON, b""),
            f"{JSON}, row 1",
            "not JSON (Expecting value at its end)",
            "a whole JSON file",
        ),
        Row("JSON without end", put(JSON, b"[" * 100_000), JSON, "not JSON", "a whole JSON file"),
        Row("an empty list", put(JSON, b"[]"), JSON, "list", "expected a dict with entries"),
        Row(
            "another schema",
            change(JSON, '"images"', '"pictures"'),
            JSON,
            "no list 'images'",
            "expected Karpathy's schema",
        ),
        Row("not UTF-8", recode(JSON, "latin-1"), f"{JSON}, byte", "not UTF-8", "expected UTF-8"),
        Row(
            "a name that is a number",
            entry(JSON, "images", 1, "filename", 7),
            f"{JSON}, image 1",
            "filename is 7",
            "expected filename, split and sentences",
        ),
        Row(
            "a name that is a list",
            entry(JSON, "images", 1, "filename", ["a.jpg"]),
            f"{JSON}, image 1",
            "filename is ['a.jpg']",
            "expected filename, split and sentences",
        ),
        Row("from Windows", windows(JSON)),
        Row("UTF-16, which JSON may be", recode(JSON, "utf-16")),
        Row(
            "zero images", entry(JSON, "images", []), JSON, "0 images in split train", "expected 2"
        ),
        Row(
            "a split misspelt",
            entry(JSON, "images", 0, "split", "trian"),
            f"{JSON}, image 1",
            "1 images in split train",
            "expected 2",
        ),
        Row(
            "an image without split",
            entry(JSON, "images", 1, "split", ...),
            f"{JSON}, image 1",
            "KeyError('split')",
            "expected filename, split and sentences",
        ),
        Row(
            "one sentence",
            entry(JSON, "images", 1, "sentences", [{"raw": "One."}]),
            f"{JSON}, image 1",
            "b.jpg has 1 captions",
            "expected 5",
        ),
        Row(
            "an empty sentence",
            entry(JSON, "images", 1, "sentences", 2, "raw", " "),
            f"{JSON}, image 1",
            "sentence 2 of b.jpg is empty",
            "expected a sentence",
        ),
        Row(
            "a sentence that is a number",
            entry(JSON, "images", 1, "sentences", 2, "raw", 5),
            f"{JSON}, image 1",
            "AttributeError",
            "sentences with their raw text",
        ),
        Row(
            "half a character",
            entry(JSON, "images", 1, "sentences", 2, "raw", "\ud83d"),
            f"{JSON}, image 1",
            "'\\ud83d', half a character",
            "expected whole ones",
        ),
        Row(
            "an image twice",
            entry(JSON, "images", 1, "filename", "a.jpg"),
            f"{JSON}, image 1",
            "a.jpg stands in split train and before",
            "expected once",
        ),
        Row(
            "a path upwards",
            entry(JSON, "images", 1, "filepath", "../.."),
            f"{JSON}, image 1",
            "'../../b.jpg' leaves the folder",
            OUTSIDE,
        ),
        Row(
            "a file name that is none",
            entry(JSON, "images", 1, "filename", None),
            f"{JSON}, image 1",
            "filename is None",
            "expected filename, split and sentences",
        ),
    ],
    "part of flickr30k": [
        Row(
            "an image that has no captions",
            entry(karpathy.PARTIAL, "z.jpg", "9.jpg"),
            karpathy.PARTIAL,
            "'z.jpg' is no image of flickr30k",
            "expected one",
        ),
        Row(
            "a photograph for two images",
            entry(karpathy.PARTIAL, "b.jpg", "1.jpg"),
            karpathy.PARTIAL,
            "'1.jpg' stands for 'a.jpg' and for 'b.jpg'",
            "expected one",
        ),
        Row(
            "a split without images",
            entry(karpathy.PARTIAL, "d.jpg", ...),
            karpathy.PARTIAL,
            "0 images of split test",
            "expected at least one",
        ),
        Row(
            "a list",
            put(karpathy.PARTIAL, b'["1.jpg"]'),
            karpathy.PARTIAL,
            "list",
            "expected a dict with entries",
        ),
    ],
    "captions.txt": [
        Row(
            "no header",
            change("captions.txt", "image,caption\n", ""),
            "captions.txt, row 1",
            "header 'a.jpg,Café 0",
            "expected image,caption",
        ),
        Row(
            "semicolons",
            rewrite("captions.txt", lambda octets: octets.replace(b",", b";")),
            "captions.txt, row 1",
            "header 'image;caption'",
            "expected image,caption",
        ),
        Row(
            "a page of the web",
            put("captions.txt", PAGE),
            "captions.txt, row 1",
            "header '<!DOCTYPE html>'",
            "expected image,caption",
        ),
        Row(
            "zero bytes",
            put("captions.txt", b""),
            "captions.txt, row 1",
            "header ''",
            "expected image,caption",
        ),
        Row(
            "an empty caption",
            change("captions.txt", "a.jpg,Café 1 of a.jpg .", "a.jpg,"),
            "captions.txt, row 3",
            "caption of a.jpg is empty",
            "expected a sentence",
        ),
        Row(
            "a quote left open",
            change("captions.txt", ",Café 1 of", ',"Café 1 of'),
            "captions.txt, row 3",
            'a.jpg,"Café 1',
            "with whole quotes",
        ),
        Row(
            "a caption lost",
            change("captions.txt", "b.jpg,Café 1 of b.jpg .\n", ""),
            "captions.txt, row 7",
            "b.jpg has 4 captions",
            "expected 5",
        ),
        Row(
            "too few images",
            rewrite("captions.txt", lambda octets: octets[: octets.index(b"\nd.")]),
            "captions.txt",
            "3 images",
            "expected at least 4",
        ),
        Row(
            "not UTF-8",
            recode("captions.txt", "latin-1"),
            "captions.txt, row 2",
            "not UTF-8",
            "expected UTF-8 text",
        ),
        Row("from Windows", windows("captions.txt")),
        Row(
            "a hundred thousand columns",
            change("captions.txt", "image,caption", "image" + ",caption" * 100_000),
            "captions.txt, row 1",
            "header 'image,caption,caption",
            "expected image,caption",
        ),
    ],
    "results.csv": [
        Row(
            "a caption twice",
            change("results.csv", "a.jpg| 1|", "a.jpg| 0|"),
            "results.csv, row 3",
            "caption 0 of a.jpg after 1 others",
            "expected 0 to 4 in order",
        ),
        Row(
            "a number that is none",
            change("results.csv", "a.jpg| 1|", "a.jpg| one|"),
            "results.csv, row 3",
            "'a.jpg| one| Café",
            "expected image, number and caption",
        ),
        Row(
            "a comment that is empty",
            change("results.csv", "| Café 1 of a.jpg .", "|"),
            "results.csv, row 3",
            "caption of a.jpg is empty",
            "expected a sentence",
        ),
        Row("from Windows", windows("results.csv")),
    ],
    "COCO captions": [
        Row(
            "a caption of no image",
            entry(TRAIN_COCO, "annotations", 3, "image_id", 999),
            f"{TRAIN_COCO}, annotation 3",
            "KeyError(999)",
            "expected a known image_id",
        ),
        Row(
            "an image twice",
            entry(TRAIN_COCO, "images", 1, "id", 1),
            f"{TRAIN_COCO}, image 1",
            "id 1 stands twice",
            "expected once",
        ),
        Row(
            "a caption twice",
            entry(TRAIN_COCO, "annotations", 3, "id", 7),
            f"{TRAIN_COCO}, annotation 3",
            "id 7 stands twice",
            "expected once",
        ),
        Row(
            "ids of two types",
            entry(TRAIN_COCO, "annotations", 3, "id", "8"),
            TRAIN_COCO,
            "TypeError",
            "'annotations' of id and image_id",
        ),
        Row(
            "an empty caption",
            entry(TRAIN_COCO, "annotations", 3, "caption", ""),
            f"{TRAIN_COCO}, annotation 3",
            "caption is empty",
            "expected a sentence",
        ),
        Row(
            "four captions",
            entry(TRAIN_COCO, "annotations", 3, ...),
            f"{TRAIN_COCO}, image 0",
            "train2017/a.jpg has 4 captions",
            "expected 5",
        ),
        Row(
            "a path upwards",
            entry(TRAIN_COCO, "images", 1, "file_name", "../../b.jpg"),
            f"{TRAIN_COCO}, image 1",
            "'../../b.jpg' leaves the folder",
            OUTSIDE,
        ),
        Row(
            "instances in the place of captions",
            put(TRAIN_COCO, json.dumps(BOXES).encode()),
            f"{TRAIN_COCO}, annotation 0",
            "KeyError('caption')",
            "a known image_id and a caption",
        ),
        Row(
            "zero images",
            put(TRAIN_COCO, b'{"images": [], "annotations": []}'),
            TRAIN_COCO,
            "0 images in split train",
            "expected at least one",
        ),
        Row(
            "train and val swapped",
            swap(TRAIN_COCO, TRAIN_COCO.replace("train", "val")),
            f"{TRAIN_COCO}, image 0",
            "train2017/c.jpg missing",
            "every image listed",
            UNPACK,
        ),
        Row(
            "the file of another year",
            instead(
                TRAIN_COCO, lambda path: path.with_name("captions_train2014.json").write_text("{}")
            ),
            "dataset_coco.json",
            "file missing",
            remedy="caption_datasets archive",
        ),
        Row(
            "cut off in the middle",
            half(TRAIN_COCO),
            f"{TRAIN_COCO}, row",
            "not JSON",
            "a whole JSON file",
        ),
    ],
    "COCO instances": [
        Row(
            "a box with x1 < x0",
            entry(*INSTANCES, "bbox", [20, 2, -10, 9]),
            "instances.json, annotation 1",
            "bbox [20, 2, -10, 9]",
            "a width and height above 0",
        ),
        Row(
            "a box that is NaN",
            entry(*INSTANCES, "bbox", [20, 2, float("nan"), 9]),
            "instances.json, annotation 1",
            "bbox [20, 2, nan, 9]",
            "expected numbers",
        ),
        Row(
            "a box outside its picture",
            entry(*INSTANCES, "bbox", [50, 2, 9, 9]),
            "instances.json, annotation 1",
            "outside its picture of 40 × 30",
            "one inside",
        ),
        Row(
            "a box of three numbers",
            entry(*INSTANCES, "bbox", [50, 2, 9]),
            "instances.json, annotation 1",
            "ValueError",
            "bbox x, y, width, height",
        ),
        Row(
            "a category that isn't listed",
            entry(*INSTANCES, "category_id", 4),
            "instances.json, annotation 1",
            "KeyError(4)",
            "a known image_id and category_id",
        ),
        Row(
            "an image that isn't listed",
            entry(*INSTANCES, "image_id", -7),
            "instances.json, annotation 1",
            "KeyError(-7)",
            "a known image_id and category_id",
        ),
        Row(
            "a picture without width",
            entry("instances.json", "images", 0, "width", None),
            "instances.json, annotation 0",
            "TypeError",
            "its picture's width and height",
        ),
        Row(
            "a crowd that is a word",
            entry(*INSTANCES, "iscrowd", "yes"),
            "instances.json, annotation 1",
            "ValueError",
            "numbers as iscrowd",
        ),
        Row(
            "no categories",
            entry("instances.json", "categories", ...),
            "instances.json",
            "no list 'categories'",
            "expected COCO's schema",
        ),
    ],
    "precomp": [
        Row(
            "a named pipe as features",
            pipe("train_ims.npy"),
            "train_ims.npy",
            "a named pipe, no regular file",
            NPY,
        ),
        Row(
            "features that are all zero",
            array("dev_ims.npy", lambda a: 0 * a),
            "dev_ims.npy, image row 0",
            "the largest feature is 0",
            "expected one above 0",
        ),
        Row(
            "a feature whose square is no number",
            number("dev_ims.npy", (0, 1, 2), 3e38),
            "dev_ims.npy, image row 0",
            "the largest feature is 3e+38",
            "up to 1e+06",
        ),
        Row(
            "a caption in letters that no model here reads",
            change("dev_caps.txt", "Café 0 of c.jpg .", "两只狗"),
            "dev_caps.txt, row 1",
            "a caption that is '两只狗'",
            "a word in Latin letters",
        ),
        Row(
            "a feature that is NaN",
            number("test_ims.npy", (0, 2, 1), np.nan),
            "test_ims.npy, image row 0",
            "not a finite number",
            "expected whole features",
        ),
        Row(
            "a feature that is infinite",
            number("train_ims.npy", (1, 2, 1), -np.inf),
            "train_ims.npy, image row 1",
            "not a finite number",
            "expected whole features",
        ),
        Row("a Git LFS pointer", put("dev_ims.npy", POINTER), "dev_ims.npy", "got b'versio'", NPY),
        Row(
            "a page of the web saved as .npy",
            put("dev_ims.npy", PAGE),
            "dev_ims.npy",
            "got b'<!DOCT'",
            NPY,
        ),
        Row(
            "a pickle of objects",
            array("dev_ims.npy", lambda a: a.astype(object)),
            "dev_ims.npy",
            "Python objects in dtype",
            NPY,
        ),
        Row(
            "a bare pickle",
            put("dev_ims.npy", pickle.dumps([1.0])),
            "dev_ims.npy",
            "got b'\\x80",
            NPY,
        ),
        Row(
            "an archive of arrays cut short",
            put("dev_ims.npy", ZIP),
            "dev_ims.npy",
            "got b'PK",
            NPY,
        ),
        Row(
            "a header cut short",
            put("dev_ims.npy", header("{'descr': '<f4', 'shape': (1, 2")),
            "dev_ims.npy",
            "not a whole .npy file",
            NPY,
        ),
        Row("zero bytes", put("dev_ims.npy", b""), "dev_ims.npy", "not a whole .npy file", NPY),
        Row("cut short", half("dev_ims.npy"), "dev_ims.npy", "not a whole .npy file", NPY),
        Row(
            "names on a disk that is not there",
            instead("dev_ids.txt", lambda path: path.symlink_to(path.with_name("nowhere.txt"))),
            "dev_ids.txt",
            "no regular file",
            "expected one, or nothing of that name",
        ),
        Row(
            "a folder in the place of the features",
            folder_instead("dev_ims.npy"),
            "dev_ims.npy",
            "Is a directory",
            NPY,
        ),
        Row(
            "the disk can't read it",
            failing_disk("dev_ims.npy"),
            "dev_ims.npy",
            "Input/output error",
            NPY,
        ),
        Row("the features are missing", lose("dev_ims.npy"), "dev_ims.npy", "file missing"),
        Row(
            "doubles",
            array("dev_ims.npy", lambda a: a.astype(float)),
            "dev_ims.npy",
            "float64",
            NPY,
        ),
        Row(
            "whole numbers",
            array("dev_ims.npy", lambda a: a.astype(int)),
            "dev_ims.npy",
            "int64",
            NPY,
        ),
        Row("splits of float16 and float32", array("dev_ims.npy", lambda a: a.astype(np.float16))),
        Row(
            "features of another width",
            array("dev_ims.npy", lambda a: a[:, :, :2]),
            "dev_ims.npy",
            "regions and width (4, 2)",
            "expected (4, 3) as in train_ims.npy",
        ),
        Row(
            "fewer regions than the other splits have",
            array("dev_ims.npy", lambda a: a[:, :3]),
            "dev_ims.npy",
            "regions and width (3, 3)",
            "expected (4, 3) as in train_ims.npy",
        ),
        Row(
            "one vector an image",
            array("dev_ims.npy", lambda a: a[:, 0]),
            "dev_ims.npy",
            "shape (1, 3)",
            NPY,
        ),
        Row(
            "zero images",
            array("dev_ims.npy", lambda a: a[:0]),
            "dev_ims.npy",
            "shape (0, 4, 3)",
            NPY,
        ),
        Row(
            "one image too many",
            array("dev_ims.npy", lambda a: np.repeat(a, 2, 0)),
            "dev_caps.txt",
            "5 captions for 2 rows of dev_ims.npy",
            "expected 10",
        ),
        Row(
            "an empty caption line",
            change("dev_caps.txt", "Café 2 of c.jpg .", ""),
            "dev_caps.txt, row 3",
            "empty caption, which shifts every pair",
            "a sentence a row",
        ),
        Row(
            "a caption lost",
            change("dev_caps.txt", "Café 2 of c.jpg .\n", ""),
            "dev_caps.txt",
            "4 captions for 1 rows of dev_ims.npy",
            "expected 5",
        ),
        Row(
            "captions not UTF-8",
            recode("dev_caps.txt", "latin-1"),
            "dev_caps.txt, row 1",
            "not UTF-8",
            "expected UTF-8",
        ),
        Row("captions from Windows", windows("dev_caps.txt")),
        Row(
            "train and dev swapped",
            each(
                *(swap(f"train_{end}", f"dev_{end}") for end in ("ims.npy", "caps.txt", "ids.txt"))
            ),
            "train_ims.npy",
            "1 images",
            "expected 2",
        ),
        Row(
            "features of train and dev swapped",
            swap("train_ims.npy", "dev_ims.npy"),
            "train_caps.txt",
            "10 captions for 1 rows of train_ims.npy",
            "expected 5",
        ),
        Row(
            "an id twice",
            change("train_ids.txt", "b.jpg", "a.jpg"),
            "train_ids.txt, row 2",
            "id 'a.jpg'",
            "each once",
        ),
        Row(
            "an id lost",
            change("train_ids.txt", "b.jpg\n", ""),
            "train_ids.txt",
            "1 ids for 2 images",
            "one an image or one a caption",
        ),
    ],
    "regions beside": [
        Row(
            "a photograph without regions",
            member("regions.npz", names=value(0, "z.jpg")),
            "regions.npz",
            "no regions of a.jpg (1 of 4 have none)",
            "some of every photograph",
        ),
        Row(
            "a feature that is NaN",
            member("regions.npz", features=value((5, 1), np.nan)),
            "regions.npz, region 5",
            "a feature of c.jpg is not a finite number",
            "whole features",
            late=True,
        ),
        Row(
            "zero bytes",
            put("regions.npz", b""),
            "regions.npz",
            "not a whole file of regions",
            "expected names, counts, boxes, features",
        ),
    ],
    "regions.npz": [
        Row(
            "a header that goes on and on",
            long_member,
            "regions.npz",
            "unpack to more than 200 times",
            "",
            "don't use this archive",
        ),
        Row(
            "a feature that is NaN",
            member("regions.npz", features=value((3, 1), np.nan)),
            "regions.npz, region 3",
            "a feature of é.jpg is not a finite number",
            "whole features",
        ),
        Row(
            "a box with x1 < x0",
            member("regions.npz", boxes=value((2, 2), -1)),
            "regions.npz, region 2",
            "box [0.0, 0.0, -1.0, 5.0]",
            "x0 < x1 and y0 < y1",
        ),
        Row(
            "counts that don't add up",
            member("regions.npz", counts=value(1, 3)),
            "regions.npz",
            "with sum 5",
            "int with sum 4",
        ),
        Row(
            "a negative count",
            member("regions.npz", counts=lambda _: np.array([5, -1])),
            "regions.npz, item 1",
            "é.jpg has -1 regions",
            "at least one",
        ),
        Row(
            "counts with fractions",
            member("regions.npz", counts=lambda counts: counts / 1),
            "regions.npz",
            "counts (2,) float64",
            "(2,) int",
        ),
        Row(
            "an image twice",
            member("regions.npz", names=value(1, "a.jpg")),
            "regions.npz, item 1",
            "name 'a.jpg'",
            "one that stands once",
        ),
        Row(
            "names as a pickle",
            member("regions.npz", names=lambda names: names.astype(object)),
            "regions.npz",
            "Object arrays cannot be loaded",
            "expected names, counts",
        ),
        Row(
            "features of whole numbers",
            member("regions.npz", features=lambda f: f.astype(int)),
            "regions.npz",
            "features (4, 3) int64",
            "(4, D) of float32",
        ),
        Row(
            "fewer features than boxes",
            member("regions.npz", features=lambda f: f[:3]),
            "regions.npz",
            "features (3, 3) float32",
            "(4, D) of float32",
        ),
        Row(
            "no boxes",
            member("regions.npz", boxes=None),
            "regions.npz",
            "'boxes is not a file in the archive'",
            "expected names, counts, boxes",
        ),
        Row(
            "a Git LFS pointer",
            put("regions.npz", POINTER),
            "regions.npz",
            "File is not a zip file",
            "expected names, counts, boxes",
        ),
        Row(
            "cut short",
            half("regions.npz"),
            "regions.npz",
            "File is not a zip file",
            "expected names, counts, boxes",
        ),
        Row("missing", lose("regions.npz"), "regions.npz", "file missing"),
    ],
    "regions.parquet": [
        Row(
            "a feature that is infinite",
            column("regions.parquet", "feature", 3, [1.0, np.inf, 2.0]),
            "regions.parquet, region 3",
            "a feature of b.jpg is not a finite",
            "whole features",
        ),
        Row(
            "a feature of another width",
            column("regions.parquet", "feature", 3, [1.0]),
            "regions.parquet, region 3",
            "1 numbers in its feature",
            "expected 3",
        ),
        Row(
            "the less confident first",
            column("regions.parquet", "score", 3, 2.0),
            "regions.parquet, region 3",
            "score 2.0 of b.jpg",
            "scores falling",
            "sort its regions",
        ),
        Row(
            "a score that is infinite",
            column("regions.parquet", "score", 2, np.inf),
            "regions.parquet, region 2",
            "score inf of b.jpg",
            "scores falling",
            "sort its regions",
        ),
        Row(
            "an image in two places",
            each(
                column("regions.parquet", "name", 1, "b.jpg"),
                column("regions.parquet", "name", 2, "a.jpg"),
                column("regions.parquet", "score", slice(None), [1.0] * 4),
            ),
            "regions.parquet, item 2",
            "name 'a.jpg'",
            "its regions together",
        ),
        Row(
            "a column lost",
            column("regions.parquet", "score", None, ...),
            "regions.parquet",
            "no column score",
            "expected name, x0, y0, x1, y1, score, feature",
        ),
        Row(
            "a page of the web",
            put("regions.parquet", PAGE),
            "regions.parquet",
            "not a whole file of regions",
            "the columns name, x0",
        ),
    ],
    "detections": [
        Row(
            "a named pipe",
            pipe("found.json"),
            "found.json",
            "cannot be read (a named pipe",
            "a file that you may read",
        ),
        Row(
            "a box with x1 < x0",
            entry("found.json", 1, "boxes", [[5, 0, 0, 5]]),
            "found.json, item 1",
            "box [5.0, 0.0, 0.0, 5.0]",
            "x0 < x1 and y0 < y1",
        ),
        Row(
            "an infinite score",
            entry("found.json", 1, "scores", [float("inf")]),
            "found.json, item 1",
            "with score inf",
            "expected numbers",
        ),
        Row(
            "a label lost",
            entry("found.json", 1, "labels", []),
            "found.json, item 1",
            "1 boxes, 0 labels and 1 scores of b.jpg",
            "as many of each",
        ),
        Row(
            "an image twice",
            entry("found.json", 1, "image", "a.jpg"),
            "found.json, item 1",
            "image 'a.jpg'",
            "a name that stands once",
        ),
        Row(
            "a number beyond all",
            entry("found.json", 1, "scores", [10**400]),
            "found.json, item 1",
            "OverflowError",
            'expected [{"image", "boxes"',
        ),
        Row(
            "an empty list",
            put("found.json", b"[]"),
            "found.json",
            "an empty list",
            "a list with entries",
        ),
        Row(
            "an object",
            put("found.json", b'{"a.jpg": []}'),
            "found.json",
            "dict",
            "expected a list",
        ),
    ],
    "Visual Genome": [
        Row("a file is missing", lose("attributes.json"), "attributes.json", "file missing"),
        Row(
            "a folder in the place of a file",
            folder_instead("objects.json"),
            "objects.json",
            "cannot be read (Is a directory)",
            "a file that you may read",
        ),
        Row(
            "cut off in the middle",
            half("objects.json"),
            "objects.json, row 1",
            "not JSON",
            "a whole JSON file",
        ),
        Row(
            "objects of an image that isn't listed",
            entry("objects.json", 0, "image_id", 99),
            "objects.json, entry 0",
            "image 99 is not in image_data.json",
            "an image's objects",
        ),
        Row(
            "an object twice",
            entry("objects.json", 0, "objects", 1, "object_id", 90),
            "objects.json, image 5, objects 1",
            "object 90 stands there twice",
            "object_id, names",
        ),
        Row(
            "an object without name",
            entry("objects.json", 0, "objects", 1, "names", []),
            "objects.json, image 5, objects 1",
            "names is None",
            "object_id, names",
        ),
        Row(
            "a coordinate as text",
            entry("objects.json", 0, "objects", 1, "x", "3"),
            "objects.json, image 5, objects 1",
            "x is '3', not a whole number",
            "x, y, w and h",
        ),
        Row(
            "an attribute of no object",
            entry("attributes.json", 0, "attributes", 0, "object_id", -1),
            "attributes.json, image 5, attributes 0",
            "object -1 is not among",
            "one of the image's objects",
        ),
        Row(
            "a relationship with no object",
            entry("relationships.json", 0, "relationships", 0, "object", "object_id", 7),
            "relationships.json, image 5, relationships 0",
            "object 7 is not among",
            "a predicate",
        ),
        Row(
            "an image twice",
            entry("image_data.json", 1, "image_id", 5),
            "image_data.json, entry 1",
            "image 5 of 80 by 60 pixels stands there twice",
            "expected image_id",
        ),
        Row(
            "swapped files",
            swap("objects.json", "attributes.json"),
            "objects.json, entry 0",
            "no field 'objects'",
            "an image's objects",
        ),
    ],
    "ARO": [
        Row(
            "a box with x1 < x0",
            entry(ARO_FILE, 1, "bbox_w", -20),
            f"{ARO_FILE}, item 1",
            "its box is -20 by 10 pixels",
            "an item of relation",
        ),
        Row(
            "a coordinate that is NaN",
            entry(ARO_FILE, 1, "bbox_x", float("nan")),
            f"{ARO_FILE}, item 1",
            "bbox_x is nan, not a whole number",
            "an item of relation",
        ),
        Row(
            "a path upwards",
            entry(ARO_FILE, 1, "image_path", "../8.jpg"),
            f"{ARO_FILE}, item 1",
            "'../8.jpg' leaves the folder",
            "an item of relation",
        ),
        Row(
            "an empty caption",
            entry(ARO_FILE, 1, "false_caption", ""),
            f"{ARO_FILE}, item 1",
            "false_caption is '', not a text",
            "an item of relation",
        ),
        Row(
            "attributions in the place of relations",
            entry(ARO_FILE, 0, "relation_name", ...),
            f"{ARO_FILE}, item 0",
            "no field 'relation_name'",
            "expected relation's fields",
        ),
        Row(
            "an empty list", put(ARO_FILE, b"[]"), ARO_FILE, "an empty list", "a list with entries"
        ),
        Row(
            "a folder in the place of the file",
            folder_instead(ARO_FILE),
            ARO_FILE,
            "cannot be read (Is a directory)",
            "a file that you may read",
        ),
        Row("from Windows", windows(ARO_FILE)),
    ],
    "SVO-Probes": [
        Row(
            "a column lost",
            change("svo_probes.csv", "verb_neg", "verb"),
            "svo_probes.csv, row 1",
            "no column verb_neg",
            "expected sentence, pos_triplet",
        ),
        Row(
            "a hundred thousand columns",
            change("svo_probes.csv", "TRUE,FALSE\n", "TRUE,FALSE" + ",x" * 100_000 + "\n"),
            "svo_probes.csv, row 2",
            "100010 columns",
            "expected 10",
        ),
        Row(
            "two places differ",
            change("svo_probes.csv", "TRUE,FALSE,FALSE", "TRUE,TRUE,FALSE"),
            "svo_probes.csv, row 3",
            "2 of subj_neg, verb_neg, obj_neg are TRUE",
            "expected one",
        ),
        Row(
            "a triplet of two",
            change("svo_probes.csv", '"man,chase,dog', '"man,dog'),
            "svo_probes.csv, row 3",
            "neg_triplet is 'man,dog'",
            "expected subject,verb,object",
        ),
        Row(
            "an empty sentence",
            change("svo_probes.csv", "A café sells tea.", ""),
            "svo_probes.csv, row 2",
            "sentence is '', not a text",
        ),
        Row(
            "an open quote",
            change("svo_probes.csv", 'dogs."', "dogs."),
            "svo_probes.csv, row 3",
            "no CSV",
            "every quote closed",
        ),
        Row(
            "not UTF-8",
            recode("svo_probes.csv", "latin-1"),
            "svo_probes.csv, byte",
            "not UTF-8",
            "expected UTF-8",
        ),
        Row(
            "zero bytes",
            put("svo_probes.csv", b""),
            "svo_probes.csv, row 1",
            "no column sentence",
            "expected sentence, pos_triplet",
        ),
        Row(
            "a header alone",
            put("svo_probes.csv", SVO.partition("\n")[0].encode()),
            "svo_probes.csv",
            "no rows below the header",
            "expected probes",
        ),
        Row(
            "a path upwards",
            change("svo_probes.csv", ",13,", ",../13,"),
            "svo_probes.csv, row 3",
            "'../13' leaves the folder of pictures",
        ),
        Row(
            "no pictures",
            each(*(lose(f"images/{name}.jpg") for name in (11, 12, 13))),
            "images",
            "pictures of none of the 2 rows",
            "expected <image id>.jpg",
        ),
        Row(
            "a folder in the place of the file",
            folder_instead("svo_probes.csv"),
            "svo_probes.csv",
            "cannot be read (Is a directory)",
            "a file that you may read",
        ),
        Row("from Windows", windows("svo_probes.csv")),
    ],
    "SugarCrepe": [
        Row("one of the seven missing", lose("swap_att.json"), "swap_att.json", "file missing"),
        Row(
            "an item twice",
            change("swap_att.json", '"1":', '"0":'),
            "swap_att.json",
            "key '0' stands twice",
            "expected once",
        ),
        Row(
            "a negative key",
            change("swap_att.json", '"1":', '"-1":'),
            "swap_att.json, item '-1'",
            "its key is not a number",
            "a numbered item",
        ),
        Row(
            "a field lost",
            entry("swap_att.json", "1", "negative_caption", ...),
            "swap_att.json, item '1'",
            "no field 'negative_caption'",
            "expected filename, caption",
        ),
        Row(
            "an empty caption",
            entry("swap_att.json", "1", "caption", " "),
            "swap_att.json, item '1'",
            "caption is ' ', not a text",
            "a numbered item",
        ),
        Row(
            "an absolute path",
            entry("swap_att.json", "1", "filename", "/etc/b.jpg"),
            "swap_att.json, item '1'",
            "'/etc/b.jpg' leaves the folder",
            "a numbered item",
        ),
        Row("a list", put("swap_att.json", b"[1]"), "swap_att.json", "list", "expected a dict"),
        Row(
            "the disk can't read it",
            failing_disk("swap_att.json"),
            "swap_att.json",
            "cannot be read (Input/output error)",
            "a file that you may read",
        ),
        Row(
            "may not be read",
            forbidden("swap_att.json"),
            "swap_att.json",
            "cannot be read (Permission denied)",
            "a file that you may read",
        ),
    ],
    "noise index": [
        Row(
            "a named pipe",
            pipe("noise.npy"),
            "noise.npy",
            "a named pipe, no regular file",
            "a .npy file of whole numbers",
        ),
        Row(
            "an index out of range",
            number("noise.npy", 7, 4),
            "noise.npy",
            "row 7 holds 4 (1 are out of range)",
            "image rows 0 to 3",
        ),
        Row(
            "a negative index",
            number("noise.npy", 7, -1),
            "noise.npy",
            "row 7 holds -1 (1 are out of range)",
            "image rows 0 to 3",
        ),
        Row(
            "no permutation",
            array("noise.npy", lambda index: np.zeros_like(index)),
            "noise.npy",
            "image row 0 stands 20 times",
            "expected 5, as the noise only permutes",
        ),
        Row(
            "counts of captions",
            array("noise.npy", lambda index: np.arange(20)),
            "noise.npy",
            "row 4 holds 4 (16 are out of range)",
            "image rows 0 to 3",
        ),
        Row(
            "of another data set",
            array("noise.npy", lambda index: np.arange(30) // 5),
            "noise.npy",
            "shape (30,)",
            "expected (20,), one image row a caption, or (4,)",
        ),
        Row(
            "fractions",
            array("noise.npy", lambda index: index / 1),
            "noise.npy",
            "type float64",
            "whole numbers (int64)",
        ),
        Row(
            "a pickle",
            array("noise.npy", lambda index: index.astype(object)),
            "noise.npy",
            "Object arrays cannot be loaded",
            "no pickled objects",
        ),
        Row(
            "a Git LFS pointer",
            put("noise.npy", POINTER),
            "noise.npy",
            "got b'versio'",
            "a .npy file of whole numbers",
        ),
        Row(
            "a header cut short",
            put("noise.npy", header("{'descr': '<i8', 'shape': (20")),
            "noise.npy",
            "cannot be read",
            "a .npy file of whole numbers",
        ),
        Row("cut short", half("noise.npy"), "noise.npy", "cannot be read", "a .npy file"),
        Row("missing", lose("noise.npy"), "noise.npy", "file missing", "a .npy file there"),
    ],
    "CoNLL-U": [
        Row(
            "a head out of range",
            change("dev.conllu", "\t2\tobj", "\t9\tobj"),
            "dev.conllu, row 2",
            "word 3 has head 9",
            "heads within the sentence",
        ),
        Row(
            "a negative head",
            change("dev.conllu", "\t2\tobj", "\t-2\tobj"),
            "dev.conllu, row 4",
            "head '-2'",
            "the number of a word, or 0",
        ),
        Row(
            "a word twice",
            change("dev.conllu", "\n3\t", "\n2\t"),
            "dev.conllu, row 4",
            "word 2",
            "expected word 3",
        ),
        Row(
            "two roots",
            change("dev.conllu", "\t2\tobj", "\t0\tobj"),
            "dev.conllu, row 2",
            "a sentence with 2 roots",
            "one word with head 0",
        ),
        Row(
            "nine columns",
            change("dev.conllu", "obj\t_\t_", "obj\t_"),
            "dev.conllu, row 4",
            "9 columns",
            "expected ten",
        ),
        Row(
            "a hundred thousand columns",
            change("dev.conllu", "obj\t_\t_", "obj" + "\t_" * 99_993),
            "dev.conllu, row 4",
            "100001 columns",
            "expected ten",
        ),
        Row(
            "cut off in the middle",
            half("dev.conllu"),
            "dev.conllu, row 3",
            "the file ends within a sentence",
            "an empty line after the last",
        ),
        Row(
            "not UTF-8",
            recode("dev.conllu", "latin-1"),
            "dev.conllu, row 1",
            "not UTF-8",
            "expected UTF-8",
        ),
        Row("zero bytes", put("dev.conllu", b""), "dev.conllu, row 1", "no sentence", "sentences"),
        Row(
            "a folder in the place of the file",
            folder_instead("dev.conllu"),
            "dev.conllu",
            "file missing",
            "expected CoNLL-U",
        ),
        Row(
            "the disk can't read it",
            failing_disk("dev.conllu"),
            "dev.conllu",
            "cannot be read (Input/output error)",
            "a file that you may read",
        ),
        Row("from Windows", windows("dev.conllu")),
    ],
    "zip": [
        Row(
            "zeros without end",
            lambda folder: zip_of(folder, bytes(65 * 2**20)),
            "photos.zip",
            "unpack to more than 200 times",
            "which no data does",
        ),
        Row(
            "a path upwards",
            zip_more("Images/../../x"),
            "photos.zip, member 3 'Images/../../x'",
            "leaves the folder",
            OUTSIDE,
        ),
        Row(
            "an absolute path",
            zip_more("/etc/x"),
            "photos.zip, member 3 '/etc/x'",
            "leaves the folder",
            OUTSIDE,
        ),
        Row(
            "a path of Windows",
            zip_more("C:\\x"),
            "photos.zip, member 3",
            "leaves the folder",
            OUTSIDE,
        ),
        Row(
            "a link out",
            zip_more("Images/c.jpg", 0o120777),
            "photos.zip, member 3 'Images/c.jpg'",
            "is a link",
            "expected files and folders only",
            "pack it again",
        ),
        Row(
            "a name twice",
            zip_more("./Images/a.jpg"),
            "photos.zip, member 3",
            "stands there twice",
            "each name once",
            "pack it again",
        ),
        Row(
            "encrypted",
            rewrite(
                "photos.zip",
                lambda octets: octets.replace(
                    b"PK\x01\x02\x14\x03\x14\x00\x00", b"PK\x01\x02\x14\x03\x14\x00\x01"
                ),
            ),
            "photos.zip",
            "encrypted",
            "a whole archive that isn't encrypted",
            "fetch it again",
        ),
        Row(
            "a page of the web",
            put("photos.zip", PAGE),
            "photos.zip",
            "neither zip nor tar (62 bytes that begin with b'<!DO')",
            "expected an archive",
            "fetch it again",
        ),
        Row(
            "cut short",
            half("photos.zip"),
            "photos.zip",
            "neither zip nor tar",
            "expected an archive",
            "fetch it again",
        ),
        Row(
            "a byte changed",
            change("photos.zip", "b.jpgImages", "b.jpgimages"),
            "photos.zip",
            "Bad CRC-32",
            "a whole archive",
            "fetch it again",
        ),
        Row(
            "missing",
            lose("photos.zip"),
            "photos.zip",
            "file missing",
            "expected a zip or tar archive",
            "put it there",
        ),
    ],
    "tar": [
        Row(
            "a header that goes on and on",
            long_header,
            "photos.tar.gz",
            "a header of 83,886,080 bytes",
            "a whole archive",
            "fetch it again",
        ),
        Row(
            "zeros without end",
            lambda folder: endless(folder / "photos.tar.gz"),
            "photos.tar.gz",
            "unpack to more than 200 times",
            "which no data does",
        ),
        Row(
            "a path upwards",
            tar_more("../x"),
            "photos.tar.gz, member 3 '../x'",
            "leaves the folder",
            OUTSIDE,
        ),
        Row(
            "an absolute path",
            tar_more("/etc/x"),
            "photos.tar.gz, member 3 '/etc/x'",
            "leaves the folder",
            OUTSIDE,
        ),
        Row(
            "a link out",
            tar_more("Images/c", b"", tarfile.SYMTYPE, "/etc"),
            "photos.tar.gz, member 3 'Images/c'",
            "is a link",
            "expected files and folders only",
            "pack it again",
        ),
        Row(
            "a hard link out",
            tar_more("Images/c", b"", tarfile.LNKTYPE, "../../x"),
            "photos.tar.gz, member 3 'Images/c'",
            "is a link",
            "expected files and folders only",
            "pack it again",
        ),
        Row(
            "a device",
            tar_more("Images/c", b"", tarfile.CHRTYPE),
            "photos.tar.gz, member 3",
            "is a special file",
            "files and folders only",
            "pack it again",
        ),
        Row(
            "cut short",
            half("photos.tar.gz"),
            "photos.tar.gz",
            "cannot be unpacked",
            "expected a whole archive",
            "fetch it again",
        ),
        Row(
            "the disk can't read it",
            failing_disk("photos.tar.gz"),
            "photos.tar.gz",
            "Input/output error",
            "expected a whole archive",
            "fetch it again",
        ),
    ],
    "pack": [
        Row(
            "a named pipe",
            pipe("runs.tar.gz"),
            "runs.tar.gz",
            "a named pipe",
            "expected a file that ./run_all.sh pack has made",
        ),
        Row(
            "a tampered file",
            repack(lambda members: members.update({STORED: b"WEIGHTS" * 99})),
            "runs.tar.gz",
            f"{STORED} was altered",
            "its hash is not the one in MANIFEST.json",
        ),
        Row(
            "a file cut short",
            repack(lambda members: members.update({STORED: b"weights"})),
            "runs.tar.gz",
            f"{STORED} has 7 bytes",
            "expected 693",
        ),
        Row(
            "a file lost",
            repack(lambda members: members.pop(f"{RUN}/metrics.json")),
            "runs.tar.gz",
            "ends early, 1 files are missing",
            f"{RUN}/metrics.json first",
        ),
        Row(
            "a path upwards",
            repack(lambda members: members.update({"../x.json": b""})),
            "runs.tar.gz",
            "holds '../x.json'",
            "expected what MANIFEST.json names",
            "unpack only packs you trust",
        ),
        Row(
            "a path upwards in the manifest",
            manifest(lambda told: told["runs"][RUN]["files"].update({"../../x.json": {}})),
            "runs.tar.gz",
            "MANIFEST.json cannot be read (runs",
            "expected the one that ./run_all.sh",
        ),
        Row(
            "a pickle",
            manifest(lambda told: told["runs"][RUN]["files"].update({"x.pkl": {}})),
            "runs.tar.gz",
            "MANIFEST.json cannot be read (runs",
            "expected the one that ./run_all.sh",
        ),
        Row(
            "another format",
            manifest(lambda told: told.update(format=9)),
            "runs.tar.gz",
            "a pack of format 9",
            "expected 1",
            "take the version of this folder",
        ),
        Row(
            "half a run",
            manifest(lambda told: told["runs"][RUN]["files"].pop("metrics.json")),
            "runs.tar.gz",
            f"run {RUN} is not whole",
            "./run_all.sh pack has written",
        ),
        Row(
            "an archive of photographs",
            lambda folder: (
                write_tar(folder),
                (folder / "photos.tar.gz").rename(folder / "runs.tar.gz"),
            ),
            "runs.tar.gz",
            "begins with 'Images/a.jpg'",
            "expected MANIFEST.json",
            "give a file that ./run_all.sh pack has made",
        ),
        Row(
            "cut short",
            half("runs.tar.gz"),
            "runs.tar.gz",
            "not a whole pack",
            "./run_all.sh pack has made",
            "copy it again",
        ),
        Row(
            "a page of the web",
            put("runs.tar.gz", PAGE),
            "runs.tar.gz",
            "not a whole pack",
            "./run_all.sh pack has made",
            "copy it again",
        ),
        Row(
            "zero bytes",
            put("runs.tar.gz", b""),
            "runs.tar.gz",
            "not a whole pack",
            "./run_all.sh pack has made",
            "copy it again",
        ),
    ],
    "weights": [
        Row(
            "missing",
            lose(BIN),
            BIN,
            "not found, and nothing is downloaded",
            "about 2 MB in float32",
            "put there the file beside open_clip_config.json",
        ),
        Row("zero bytes", put(BIN, b""), BIN, "empty", remedy="put a fresh copy of the release"),
        Row("cut short", half(BIN), BIN, "damaged or cut short at", remedy="put a fresh copy"),
        Row(
            "a page of the web",
            put(BIN, PAGE),
            BIN,
            "damaged or cut short at 62 bytes",
            remedy="put a fresh copy",
        ),
        Row(
            "a Git LFS pointer",
            put(BIN, POINTER),
            BIN,
            "damaged or cut short at 126 bytes",
            remedy="put a fresh copy",
        ),
        Row(
            "a pickle under the name of weights",
            put(BIN, pickle.dumps({"a": 1})),
            BIN,
            "damaged or cut short",
            remedy="put a fresh copy",
        ),
        Row(
            "a tensor lost",
            tensor("visual.proj", lambda _: None),
            BIN,
            "1 missing: visual.proj",
            "of this architecture",
        ),
        Row(
            "of another model",
            entry(CONFIG, "model_cfg", "embed_dim", 8),
            BIN,
            "text_projection is (8, 12), in the model (8, 8)",
            "of this architecture",
        ),
        Row(
            "a tensor that is NaN",
            tensor("visual.proj", lambda values: values * np.nan),
            BIN,
            "visual.proj holds numbers that are not finite",
            "",
            "put a fresh copy",
            late=True,
        ),
        Row(
            "a tensor of eight bits",
            tensor("visual.proj", lambda values: values.char()),
            BIN,
            "visual.proj is of torch.int8",
            "expected floating point",
            "take the release itself",
            late=True,
        ),
        Row("some tensors in float16", tensor("visual.proj", lambda values: values.half())),
        Row(
            "settings cut off", half(CONFIG), CONFIG, "no JSON", remedy="it comes with the weights"
        ),
        Row(
            "settings missing",
            lose(CONFIG),
            CONFIG,
            "not found",
            remedy="it comes with the weights",
        ),
        Row(
            "settings that are a list",
            put(CONFIG, b"[]"),
            CONFIG,
            "found list",
            "expected a JSON object",
            "it comes with the weights",
        ),
        Row(
            "settings without end",
            put(CONFIG, b"[" * 100_000),
            CONFIG,
            "no JSON",
            remedy="it comes with the weights",
        ),
        Row(
            "a mean of two numbers",
            entry(CONFIG, "preprocess_cfg", "mean", [0.5, 0.5]),
            CONFIG,
            "mean is [0.5, 0.5]",
            "expected three numbers",
        ),
        Row(
            "pictures of another size",
            entry(CONFIG, "preprocess_cfg", "size", 224),
            CONFIG,
            "makes pictures of 224 pixels",
            "the model takes 32×32",
        ),
        Row(
            "another tokenizer",
            entry(CONFIG, "model_cfg", "text_cfg", "vocab_size", 100),
            CONFIG,
            "tokenizer mismatch",
            "49408 in the tokenizer, 100 in the model",
        ),
    ],
    "checkpoint": [
        Row(
            "a named pipe", pipe("clip.pt"), "clip.pt", "not found", "", "put there the checkpoint"
        ),
        Row(
            "code instead of weights",
            put("clip.pt", pickle.dumps(Code(), 2)),
            "clip.pt",
            "holds more than weights",
            "",
            "take the release as safetensors",
            late=True,
        ),
        Row(
            "a state dict that is text",
            lambda folder: saved({"state_dict": "none"}, folder),
            "clip.pt",
            "no state dict",
            "expected named tensors",
            "alone or as state_dict",
            late=True,
        ),
        Row(
            "trained with another activation",
            entry("clip.pt.json", "model_cfg", "quick_gelu", False),
            "clip.pt",
            "activation mismatch: gelu in",
            "expected quick_gelu (for OpenAI's weights",
            "see the model card",
        ),
        Row(
            "an activation that isn't stated",
            entry("clip.pt.json", "model_cfg", "quick_gelu", ...),
            "clip.pt",
            "activation mismatch: gelu in",
            "expected quick_gelu",
            "see the model card",
        ),
        Row(
            "a release that there is not",
            entry("clip.pt.json", "tag", "ViT-B-32/none"),
            "clip.pt",
            "ViT-B-32 has no tag 'none'",
            "expected one of openai",
            "laion",
        ),
        Row(
            "no file beside it",
            lose("clip.pt.json"),
            "clip.pt.json",
            "not found",
            "'quick_gelu': True",
            "writes it for a ViT-B-32",
        ),
        Row(
            "may not be read",
            forbidden("clip.pt"),
            "clip.pt",
            "cannot be read (Permission denied)",
            "a file that you may read",
            "change its permissions",
        ),
    ],
    "world": [
        Row(
            "zero images",
            entry("settings.json", "dev_images", 0),
            "",
            "0 images in dev",
            "expected 1 or more",
            "set dev_images",
        ),
        Row(
            "a negative number of images",
            entry("settings.json", "dev_images", -1),
            "",
            "dev_images=-1",
            "must not be negative",
        ),
        Row(
            "pictures too small",
            entry("settings.json", "size", 8),
            "",
            "world size 8 pixels",
            "need 48 or more",
        ),
    ],
    "command line": [
        Row(
            "an empty profile", words("--profile ''"), "", "unknown profile ''", "there are: smoke"
        ),
        Row(
            "noise files that aren't there",
            words("--set gsl_noise_index={folder}/none gsl"),
            "none",
            "not found",
            "expected a folder with world_RATE.npy",
            "or leave it out",
        ),
        Row(
            "a folder without a noise file",
            words("--set gsl_noise_index={folder} gsl-F1"),
            "world_0.2.npy",
            "not found",
            "for RATE = 0.2, 0.4, 0.6",
            "or leave it out",
        ),
        Row(
            "a ViT that isn't there",
            words("--set covalign_vit={folder}/none"),
            "none",
            "not found",
            "",
            "put there settings",
        ),
        Row(
            "a ViT that is none",
            each(
                words("--set covalign_vit={folder}/vit"),
                files_of("vit", "config.json", "preprocessor_config.json", "model.safetensors"),
            ),
            "vit/config.json",
            "no JSON",
            "",
            "take the one that belongs to the weights",
        ),
        Row(
            "boxes that are none",
            each(
                words("--profile smoke --set boxes={folder}/b.json 20_comalign"),
                files_of(".", "b.json"),
            ),
            "b.json",
            "JSON",
            "",
            "write the file again",
        ),
        Row(
            "probes that are none",
            each(words(PROBED), files_of("sugarcrepe", "add_att.json")),
            "sugarcrepe/add_att.json",
            "JSON",
            "expected the table as it is published",
            "take the file again",
        ),
        Row(
            "probes that never end",
            each(
                words(PROBED),
                files_of("sugarcrepe"),
                lambda folder: os.mkfifo(folder / "sugarcrepe/add_att.json"),
            ),
            "sugarcrepe/add_att.json",
            "named pipe",
            "expected a regular file",
        ),
        Row(
            "regions that never end",
            lambda folder: os.mkfifo(folder / "regions.npz"),
            "regions.npz",
            "no regular file, expected one",
        ),
        Row(
            "regions on a disk that is not there",
            lambda folder: (folder / "regions.npz").symlink_to(folder / "nowhere.npz"),
            "regions.npz",
            "no regular file, expected one",
        ),
        Row(
            "a batch of one", words("--set chan_batch=1"), "", "chan_batch=1", "expected 2 or more"
        ),
        Row(
            "a setting twice",
            words("--set chan_steps=5 --set chan_steps=6"),
            "",
            "chan_steps is 5 before",
            "say one of them",
        ),
        Row(
            "a setting twice alike",
            words(
                "--profile smoke --set chan_steps=5 --set chan_steps=5 --data flickr8k={folder} chan"
            ),
        ),
        Row(
            "a billion images",
            words("--set train_images=1000000000"),
            "",
            "train_images=1000000000",
            "expected 10000000 at most",
        ),
        Row(
            "pictures too large for the disk",
            words("--set size=4096 --set train_images=10000000"),
            "",
            "10,000,",
            "MB at most, which are free",
        ),
        Row(
            "pictures of a million pixels a side",
            words("--set size=1000000"),
            "",
            "size=1000000",
            "expected 4096 at most",
        ),
        Row(
            "a width that no four heads share",
            words("--set chan_dim=3"),
            "",
            "chan_dim=3",
            "a multiple of 4",
        ),
        Row(
            "more than all of the steps",
            words("--set chan_all_violations=5"),
            "",
            "chan_all_violations=5",
            "expected 1 at most",
        ),
        Row(
            "the same picture in train and test",
            lambda folder: shutil.copy(folder / "Images/a.jpg", folder / "Images/d.jpg"),
            f"{TEST}, row 1",
            "d.jpg of split test is the same picture as a.jpg of split train (1 are",
            "other pictures to be tested on",
            "take one of them out",
        ),
        Row(
            "the same picture twice in train",
            lambda folder: shutil.copy(folder / "Images/a.jpg", folder / "Images/b.jpg"),
        ),
        Row(
            "no word comes again",
            rewrite(TOKENS, strange),
            TOKENS,
            "no word stands four times in the 10 training captions",
            "words that come again",
            "give more captions",
        ),
        Row(
            "images too few to choose by",
            each(
                words("--profile smoke --data flickr8k={folder}"),
                lambda folder: (folder / "enough").write_text("11"),
            ),
            "Images",
            "1 images in split dev, expected 11 or more",
            "among 10",
            "more images",
        ),
        Row(
            "images of the world too few to choose by",
            each(
                words("--profile smoke --set test_images=10 chan"),
                lambda folder: (folder / "enough").write_text("11"),
            ),
            "",
            "data world: 10 images in split test, expected 11 or more",
            "among 10",
            "say --set test_images=11 or more",
        ),
        Row(
            "fewer images of dev than are measured",
            words("--profile smoke --set dev_images=5 gsl"),
            "",
            "data world: 5 images in split dev",
            "expected the 10 of gsl_dev_images or more",
            "say --set gsl_dev_images=5, or 0 for all",
        ),
        Row(
            "fewer images to train on than are asked for",
            words("--profile smoke --set gsl_images=400 90_claims"),
            "",
            "data world: 150 images in split train",
            "expected the 400 of gsl_images or more",
            "say --set gsl_images=150, or 0 for all",
        ),
        Row(
            "fewer photographs than are measured",
            words("--profile smoke --data flickr8k={folder} covalign"),
            "Images",
            "1 images in split test",
            "expected the 40 of covalign_test_images or more",
            "say --set covalign_test_images=1, or 0 for all",
        ),
        Row(
            "fewer photographs than the smoke profile measures, which goes first",
            words(
                "--set gsl_images=0 --set gsl_dev_images=0 --set gsl_test_images=0 "
                "--set covalign_images=0 --set covalign_dev_images=0 --set covalign_test_images=0 "
                "--data flickr8k={folder}"
            ),
            "Images",
            "1 images in split test",
            "expected the 40 of covalign_test_images or more",
            "for --profile smoke, which goes first: start that by itself with --set covalign_test_images=1",
        ),
        Row(
            "more regions than a base model makes",
            words("--profile smoke --set chan_regions=120 chan"),
            "",
            "data world: 100 regions an image",
            "expected 120 or more",
            "say --set chan_regions=100",
        ),
        Row(
            "photographs of another size than pretrained towers see",
            words("--profile smoke --data flickr8k={folder} --set size=64 chan"),
            "",
            "settings size=64 and fit=crop: the towers of photo-pretrained see other pictures",
            "expected size=224 and fit=crop",
            "leave both out, or say base=photo-tower as well",
        ),
        Row(
            "photographs that are squashed where pretrained towers see them cropped",
            words("--profile smoke --data flickr8k={folder} --set fit=squash chan"),
            "",
            "settings size=224 and fit=squash: the towers of photo-pretrained see other pictures",
            "expected size=224 and fit=crop",
            "leave both out",
        ),
        Row(
            "features of one image a split",
            each(
                words("--profile smoke --data f30k_precomp={folder} chan"),
                write_precomp,
                lambda folder: (folder / "enough").write_text("11"),
            ),
            "",
            "images in split dev, expected 11 or more",
            "among 10",
            "more images",
        ),
        Row(
            "features of four regions",
            each(words("--profile smoke --data f30k_precomp={folder} chan"), write_precomp),
            "",
            "4 regions an image",
            "expected 36 or more",
            "say --set chan_regions=4",
        ),
        Row(
            "regions too few beside the photographs",
            each(
                words("--profile smoke --data flickr8k={folder} chan"),
                lambda folder: regions.write(folder / "regions.npz", found_regions(PHOTOS)),
            ),
            "regions.npz",
            "2 regions an image",
            "expected 36 or more",
            "say --set chan_regions=2",
        ),
        Row(
            "a feature that is NaN, beside the photographs",
            each(
                words("--profile smoke --set chan_regions=2 --data flickr8k={folder} chan"),
                lambda folder: regions.write(folder / "regions.npz", found_regions(PHOTOS)),
                member("regions.npz", features=value((5, 1), np.nan)),
            ),
            "regions.npz, region 5",
            "a feature of c.jpg is not a finite number",
            "whole features",
            "write it again",
        ),
        Row(
            "an image whose features are all zero, beside the photographs",
            each(
                words("--profile smoke --set chan_regions=2 --data flickr8k={folder} chan"),
                lambda folder: regions.write(folder / "regions.npz", found_regions(PHOTOS)),
                member("regions.npz", features=value(slice(4, 6), 0)),
            ),
            "regions.npz, region 4",
            "the largest feature of c.jpg is 0",
            "expected one above 0",
            "write it again",
        ),
        Row(
            "pictures too small for a shape",
            words("--profile smoke --set size=32"),
            "",
            "world size 32 pixels",
            "shapes need 48 or more",
            "take 64",
        ),
        Row(
            "an unknown profile",
            words("--profile smok"),
            "",
            "unknown profile 'smok'",
            "did you mean smoke?",
        ),
        Row(
            "an unknown setting",
            words("--set chan_step=5"),
            "",
            "unknown setting 'chan_step'",
            "there are: seeds, seeds_most",
        ),
        Row(
            "a setting of another type",
            words("--set chan_steps=many"),
            "",
            "chan_steps='many'",
            "expected a value of type int",
        ),
        Row(
            "a negative setting",
            words("--set chan_steps=-5"),
            "",
            "chan_steps=-5",
            "expected 1 or more",
        ),
        Row(
            "a setting that is NaN",
            words("--set chan_learning_rate=nan"),
            "",
            "chan_learning_rate=nan",
            "expected a number above 0",
        ),
        Row(
            "a setting without value", words("--set seeds"), "", "--set seeds", "expected key=value"
        ),
        Row("an unknown table", words("chan-T9"), "", "unknown target 'chan-T9'", "chan-T3"),
        Row(
            "an unknown device",
            words("--device tpu"),
            "",
            "unknown device 'tpu'",
            "auto, cpu, cuda",
        ),
        Row(
            "unknown data",
            words("--data flickr9k={folder}"),
            "",
            "data 'flickr9k=",
            "expected world or one of flickr8k=DIR",
        ),
        Row(
            "data without folder",
            words("--data flickr8k"),
            "",
            "'flickr8k'",
            "expected flickr8k=DIR",
        ),
        Row(
            "a folder that isn't there",
            words("--data flickr8k={folder}/none"),
            "none",
            "no such folder",
            "expected the one that holds flickr8k",
        ),
        Row(
            "a file in the place of the folder",
            words("--data flickr8k={folder}/command"),
            "command",
            "a file",
            "expected the folder that holds flickr8k",
        ),
        Row(
            "data with a photograph missing",
            lose("Images/d.jpg"),
            f"{TEST}, row 1",
            "Images/d.jpg missing",
            "expected every image listed",
            UNPACK,
        ),
        Row(
            "a base model that isn't there",
            words("--set base=checkpoint:{folder}/none.pt"),
            "none.pt",
            "not found",
            "nothing is downloaded here",
            "put there the checkpoint",
        ),
    ],
    "regions asked for": [
        Row(
            "fewer regions than asked for",
            array("features.npy", lambda a: a[:, :10]),
            "",
            "10 are stored an image",
            "36 regions asked for",
        )
    ],
    "real flickr8k": [
        Row(
            "a photograph cut short",
            half("Images/a.jpg"),
            "Images/a.jpg",
            "image file is truncated",
            WHOLE,
            late=True,
        ),
        Row(
            "a photograph without its last bytes",
            rewrite("Images/c.jpg", lambda octets: octets[:-200]),
            "Images/c.jpg",
            "image file is truncated",
            WHOLE,
            late=True,
        ),
        Row(
            "a photograph within a zip",
            lambda folder: zipped(folder / "Images/b.jpg"),
            "Images/b.jpg",
            "cannot identify image file",
            WHOLE,
            late=True,
        ),
        Row("a photograph saved as CMYK", picture(lambda path: saved_as(path, "CMYK"))),
        Row("a photograph saved as PNG", picture(lambda path: saved_as(path, "RGB", "PNG"))),
    ],
    "real noise index": [
        Row(
            "of COCO",
            rewrite("RCL_f30k_noise_inx_0.2.npy", lambda _: npy(np.arange(113_287))),
            "RCL_f30k_noise_inx_0.2.npy",
            "shape (113287,)",
            "expected (145000,)",
        ),
        Row(
            "cut short",
            half("RCL_f30k_noise_inx_0.2.npy"),
            "RCL_f30k_noise_inx_0.2.npy",
            "cannot be read",
            "a .npy file of whole numbers",
        ),
    ],
    "real SugarCrepe": [
        Row(
            "cut off in the middle",
            half("swap_obj.json"),
            "swap_obj.json, row",
            "not JSON",
            "a whole JSON file",
        )
    ],
    "real CoNLL-U": [
        Row(
            "cut off in the middle",
            half("en_ewt-ud-dev.conllu"),
            "en_ewt-ud-dev.conllu, row",
            "the file ends within a sentence",
            "an empty line",
        )
    ],
}


# --- The test ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def good_input(tmp_path_factory):
    """Where a reader's good input lies, and what is read of it: made, and taken, once."""
    found = {}

    def make(name, *realdata):
        if name not in found:
            folder = tmp_path_factory.mktemp("good") / "input"
            folder.mkdir()
            GOOD[name].write(folder, *realdata)
            if GOOD[name].check:
                assert GOOD[name].check(folder) == []
            found[name] = folder, GOOD[name].read(folder, folder.parent / "made")
        return found[name]

    return make


def everything(folder):
    """Names, sizes and link targets of all below a folder."""
    return {
        path.relative_to(folder): (path.is_symlink() and os.readlink(path), path.lstat().st_size)
        for path in folder.rglob("*")
    }


@pytest.mark.parametrize(
    "name, row",
    [
        pytest.param(
            name,
            row,
            id=f"{name}: {row.name}",
            marks=[pytest.mark.realdata] if name.startswith("real ") else [],
        )
        for name, listed in CASES.items()
        for row in listed
    ],
)
def test_bad_input(name, row, good_input, tmp_path, request):
    good = GOOD[name]
    realdata = [request.getfixturevalue("realdata")] if name.startswith("real ") else []
    source, content = good_input(name, *realdata)
    folder, made = tmp_path / "input", tmp_path / "made"
    shutil.copytree(source, folder, symlinks=True)
    row.spoil(folder)

    if not row.found:  # odd, and taken all the same
        assert good.read(folder, made) == content
        return

    before = everything(folder)
    problems = good.check(folder) if good.check else []
    with pytest.raises(Exception) as caught:
        good.read(folder, made)
    text = str(caught.value)
    assert type(caught.value) is good.raises, repr(caught.value)
    if good.check:
        assert bool(problems) != row.late
        assert row.late or text.startswith(problems[0])
        text = text if row.late else problems[0]
    for told in (
        str(folder / row.where) if row.where else "",
        row.found,
        row.expected,
        row.remedy or good.remedy,
    ):
        assert told in text
    assert everything(folder) == before
    assert not made.exists() or not everything(made)

    shutil.rmtree(folder)
    shutil.copytree(source, folder, symlinks=True)
    assert good.read(folder, made) == content


@dataclass(frozen=True)
class EndsIn:
    """The settings of a run that leaves a checkpoint and ends in an error."""

    error: str

    def compute(self, inputs, seed, folder, device):
        (folder / "checkpoint.pt").write_bytes(b"half")
        raise {error.__name__: error for error in ENDS}[self.error]("told")


ENDS = {  # what input can end a run in leaves nothing; what else happens, a checkpoint to go on from
    DataError: False,
    ValueError: False,
    FloatingPointError: False,
    RuntimeError: True,
    OSError: True,
    KeyboardInterrupt: True,
}


@pytest.mark.parametrize("error", ENDS, ids=lambda error: error.__name__)
def test_nothing_is_left_of_a_run_that_its_input_ends(tmp_path, monkeypatch, error):
    monkeypatch.setattr(runs, "STORE", tmp_path)
    monkeypatch.setattr(runs, "code_hash", lambda module: "code")
    with pytest.raises(error, match="told"):
        runs.get(EndsIn(error.__name__), 0)
    assert bool(list((tmp_path / ".partial").iterdir())) == ENDS[error]


def test_the_table_names_every_reader():
    assert set(CASES) == set(GOOD)
    assert all(any(row.found for row in listed) for listed in CASES.values())
