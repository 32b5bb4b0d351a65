"""A file that a setting names, or that the library reads, is swapped: another run, other numbers.

What Snakemake compares is looked at in `test_stale`, on files that stand for models; these are read.
"""

import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
import torch
from alignbook.backbones import base, bert, pipelines, pretrained, towers
from alignbook.datasets import aro, by_name, coco, conllu, karpathy, noise_index
from alignbook.papers.comalign.components import detector, image, parser, probes, vectors
from alignbook.papers.covalign import two_towers
from alignbook.papers.gsl.noisy_pairs import GivenNoise
from alignbook.store import runs
from alignbook.workbook import profiles
from PIL import Image
from safetensors.torch import load_file, save_file
from test_stale import (
    EXCHANGED,
    TABLE,
    at_once,
    brought,
    features,
    partly,
    photographs,
    put,
    write_regions,
)

__all__ = ["at_once"]  # for every test here, too


class Sizes(NamedTuple):
    """What preparing photographs and features asks a profile."""

    size: int = 32
    fit: str = "squash"
    train_images: int = 0
    dev_images: int = 0
    test_images: int = 0


CAPTIONS = ["a red dog runs", "a dog"]
PICTURES = np.random.default_rng(0).integers(0, 256, (3, 32, 32, 3), np.uint8)
PIECES = [*bert.SPECIAL, "a", "red", "dog", "runs"]
TOWER = dict(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16)
OPEN_CLIP = {
    "embed_dim": 8,
    "quick_gelu": False,
    "vision_cfg": {"image_size": 32, "patch_size": 16, "width": 16, "head_width": 8, "layers": 1},
    "text_cfg": {"context_length": 10, "width": 16, "heads": 2, "layers": 1, "vocab_size": 49408},
}


def saved_bert(folder: Path) -> Path:
    from tokenizers import BertWordPieceTokenizer
    from transformers import BertConfig, BertModel

    torch.manual_seed(0)
    BertModel(BertConfig(vocab_size=len(PIECES), **TOWER)).save_pretrained(folder)
    BertWordPieceTokenizer({each: i for i, each in enumerate(PIECES)}).save(
        str(folder / "tokenizer.json")
    )
    return folder


def states(source):
    model, pieces = source.load()
    with torch.no_grad():
        return bert.last_layer(model, *pieces.encode(CAPTIONS))


def saved_vit(folder: Path) -> Path:
    from transformers import ViTConfig, ViTModel

    torch.manual_seed(0)
    config = ViTConfig(**TOWER, image_size=32, patch_size=16)
    ViTModel(config, add_pooling_layer=False).save_pretrained(folder)
    told = json.dumps({"image_mean": [0.5] * 3, "image_std": [0.5] * 3})
    return put(folder, preprocessor_config_DOT_json=told)


def patches(source):
    tower = source.load(32)
    with torch.no_grad():
        return tower(tower.pixels(PICTURES))


def saved_clip(folder: Path, weights: str, settings: str) -> Path:
    """A CLIP of open_clip's, in the files of a checkpoint or of its hub."""
    from open_clip.model import CLIP

    torch.manual_seed(0)
    state = CLIP(**OPEN_CLIP).state_dict()
    folder.mkdir()
    if weights.endswith(".pt"):
        torch.save(state, folder / weights)
    else:
        save_file(state, folder / weights)
    said = {"model_cfg": OPEN_CLIP, "preprocess_cfg": {"mean": [0.4] * 3, "std": [0.2] * 3}}
    (folder / settings).write_text(json.dumps(said))
    return folder


def saved_hub(folder: Path) -> Path:
    from test_pretrained import WORDS, tokenizer
    from transformers import CLIPConfig, CLIPModel

    torch.manual_seed(0)
    text = dict(vocab_size=len(WORDS), max_position_embeddings=10, eos_token_id=3, pad_token_id=0)
    config = CLIPConfig(
        text_config=TOWER | text,
        vision_config=TOWER | dict(image_size=32, patch_size=16),
        projection_dim=8,
    )
    CLIPModel(config).save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    sides = {"crop_size": {"height": 32, "width": 32}, "size": {"shortest_edge": 32}}
    said = sides | {"image_mean": [0.4] * 3, "image_std": [0.2] * 3, "resample": 3}
    return put(folder, preprocessor_config_DOT_json=json.dumps(said))


def embeddings(source):
    model = pretrained.load(source.spec)
    with torch.no_grad():
        images = base.embed_images(model, [PICTURES])
        return torch.cat([images, base.embed_captions(model, model.tokenizer, CAPTIONS)])


def sentence(*words: str) -> list[conllu.Token]:
    """A noun last, which all others hang on."""
    last = len(words)
    return [
        conllu.Token(i, word, word, "X", "XX"[: 1 + i % 2], last * (i < last), "dep")
        for i, word in enumerate(words, 1)
    ]


TREES = [sentence("a", "red", "dog"), sentence("a", "big", "star")]


def saved_treebank(folder: Path) -> Path:
    folder.mkdir()
    conllu.write(TREES, folder / "en_train.conllu")
    conllu.write(TREES[1:], folder / "en_dev.conllu")
    return folder


@cache
def trained(sentences: tuple, steps: int = 2):
    """A parser that has seen some sentences; nobody changes it."""
    sizes = dict(width=8, depth=1, rows=20, hidden=8, words=10, made=0.0, rare=1)
    return parser.train(parser.Config(**sizes, steps=steps), 0, list(map(list, sentences)))


def parsed(source):
    """How a parser that learnt from a treebank tags, and how well."""
    nlp = trained(tuple(map(tuple, source.sentences("train"))))
    return [*tag_scores(nlp), *parser.accuracy(nlp, source.sentences("dev")).values()]


def saved_pipeline(folder: Path, steps: int = 2) -> Path:
    trained(tuple(map(tuple, TREES)), steps).to_disk(folder)
    return folder


def tag_scores(nlp):
    doc = nlp.make_doc("a red dog")
    doc.tensor = nlp.get_pipe("tok2vec").predict([doc])[0]
    return nlp.get_pipe("tagger").model.predict([doc])[0].ravel()


def dataset_of(kind: str, folder: Path):
    return by_name.prepare(f"{kind}={folder}", Sizes(), folder.parent / "prepared")


def seen(source):
    """Pictures and captions, or features, of a prepared data set."""
    shown = source.regions if source.images is None else source.images
    return [
        *np.asarray(shown, float).ravel(),
        *map(len, source.captions),
        *"".join(source.captions).encode(),
    ]


def with_boxes(folder: Path) -> Path:
    """Photographs with what a detector found on them, and with COCO's instances."""
    photographs(folder)
    items = [
        {"image": f"{i}.jpg", "width": 40, "height": 30, "boxes": [[i, 2, 20, 20]]}
        | {"labels": ["thing"], "scores": [0.5]}
        for i in range(6)
    ]
    put(folder, found_DOT_json=json.dumps(items))
    for split in ("train", "val"):
        write_instances(folder / f"annotations/instances_{split}2017.json")
    return folder


def write_instances(file: Path, top: int = 2) -> None:
    """A thing on each of the first three photographs, or of the others."""
    shown = [f"{i}.jpg" for i in (range(3) if "train" in file.name else range(3, 6))]
    table = [(name, 1, top, 20, 20, "thing") for name in shown]
    columns = "image x0 y0 x1 y1 category".split()
    sizes = dict.fromkeys(shown, (40, 30))
    coco.write_instances(file, pd.DataFrame(table, columns=columns), sizes)


def placed(kind: str):
    def boxes(source):
        folder = source.paths[0].parent
        folder = folder.parent if folder.name == "annotations" else folder
        found = vectors.boxes_of(kind, dataset_of("flickr8k", folder), source)
        return [*found.boxes.ravel(), *found.scores]

    return boxes


def saved_yolo(folder: Path) -> Path:
    from test_components_image import checkpoint

    folder.mkdir()
    checkpoint(detector._library(folder.parent / "library"), folder / "yolo.pt")
    return folder


def found_by(source):
    model, _ = detector.given(detector._library(Path(source.name).parent), source, 32, "cpu")
    config = detector.Config(size=32, confidence=1e-4, boxes=5)
    found = detector.detect(model, PICTURES, config, "cpu")
    return [*found.boxes.ravel(), *found.scores]


def saved_probes(folder: Path) -> Path:
    (folder / "aro/images").mkdir(parents=True)
    Image.new("RGB", (8, 4), (200, 9, 9)).save(folder / "aro/images/a.png")
    told = [("a.png", "a cat on a mat", "a mat on a cat", "on", 0, 0, 8, 4, 0)]
    table = pd.DataFrame(told, columns=list(aro.COLUMNS))
    aro.write(table, folder / "aro/visual_genome_relation.json", "relation")
    return folder


def asked(source):
    pictured = SimpleNamespace(images=PICTURES)
    (found,) = probes.of_files(source, pictured, image.grid(3))
    return [
        *found.pictures.ravel(),
        *"".join([*found.table.caption, *found.table.negative]).encode(),
    ]


# --- Swaps ---------------------------------------------------------------------------------------


def word(old: str, new: str):
    """A word of a file for another."""

    def swap(file: Path) -> None:
        text = file.read_text(encoding="utf-8")
        assert old in text
        file.write_text(text.replace(old, new, 1), encoding="utf-8")

    return swap


def tensors(file: Path) -> None:
    """Weights for others of the same shapes."""
    torch.manual_seed(1)
    pickled = file.suffix == ".pt"
    state = torch.load(file) if pickled else load_file(file)
    state = {
        name: torch.randn_like(value) if value.is_floating_point() else value
        for name, value in state.items()
    }
    if pickled:
        torch.save(state, file)
    else:
        save_file(state, file, {"format": "pt"})


def picture(file: Path) -> None:
    width, height = Image.open(file).size
    Image.new("RGB", (width, height), (9, 200, 9)).save(file)


def array(file: Path) -> None:
    np.save(file, np.load(file)[..., ::-1])


def other_noise(file: Path) -> None:
    noise_index.write(np.roll(np.arange(40) // 5, 1), file)


def other_tagger(file: Path) -> None:
    shutil.copy(saved_pipeline(file.parents[2] / "other", 3) / "tagger/model", file)


def other_yolo(file: Path) -> None:
    from test_components_image import checkpoint

    checkpoint(detector._library(file.parent / "library"), file, nc=4)


class Row(NamedTuple):
    """How a folder is made, what stands for it in a run's key, what is read, how files are swapped."""

    made: Callable
    source: Callable
    read: Callable
    swaps: dict[str, Callable]


def noisy(folder: Path) -> Path:
    noise_index.write(np.arange(40) // 5, folder / "world_0.4.npy")
    return folder


PHOTOGRAPHS = Row(
    photographs,
    lambda folder: dataset_of("flickr8k", folder),
    seen,
    {"Images/0.jpg": picture, "dataset_flickr8k.json": word("Caption 0", "Legend 0")},
)
INSTANCES = Row(
    with_boxes,
    vectors.instances_below,
    placed("instances"),
    {
        f"annotations/instances_{split}2017.json": lambda file: write_instances(file, 5)
        for split in ("train", "val")
    },
)
ROWS = {
    "noise": Row(
        noisy,
        lambda folder: GivenNoise(noise_index.read(folder / "world_0.4.npy", 8, 5)),
        lambda source: source.index,
        {"world_0.4.npy": other_noise},
    ),
    "BERT": Row(
        saved_bert,
        lambda folder: bert.Pretrained(str(folder)),
        states,
        {
            "config.json": word('"layer_norm_eps": 1e-12', '"layer_norm_eps": 0.5'),
            "model.safetensors": tensors,
            "tokenizer.json": word('"red"', '"tan"'),
        },
    ),
    "ViT": Row(
        saved_vit,
        lambda folder: two_towers.ViT(str(folder)),
        patches,
        {
            "config.json": word('"layer_norm_eps": 1e-12', '"layer_norm_eps": 0.5'),
            "model.safetensors": tensors,
            "preprocessor_config.json": word("0.5", "0.4"),
        },
    ),
    "checkpoint": Row(
        lambda folder: saved_clip(folder, "clip.pt", "clip.pt.json"),
        lambda folder: pretrained.parse(f"checkpoint:{folder}/clip.pt"),
        embeddings,
        {"clip.pt": tensors, "clip.pt.json": word("0.4", "0.5")},
    ),
    "open_clip": Row(
        lambda folder: saved_clip(folder, "open_clip_model.safetensors", "open_clip_config.json"),
        lambda folder: pretrained.parse(f"openclip:{folder}"),
        embeddings,
        {"open_clip_model.safetensors": tensors, "open_clip_config.json": word("0.4", "0.5")},
    ),
    "transformers": Row(
        saved_hub,
        lambda folder: pretrained.parse(f"huggingface:{folder}"),
        embeddings,
        {
            "config.json": word('"layer_norm_eps": 1e-05', '"layer_norm_eps": 0.5'),
            "model.safetensors": tensors,
            "preprocessor_config.json": word("0.4", "0.5"),
            "tokenizer.json": word('"red"', '"tan"'),
        },
    ),
    "treebank": Row(
        saved_treebank,
        parser.Treebank,
        parsed,
        {"en_train.conllu": word("red", "blue"), "en_dev.conllu": word("XX", "Y")},
    ),
    "pipeline": Row(
        saved_pipeline,
        lambda folder: pipelines.Named(str(folder)),
        lambda source: tag_scores(parser.load(source)),
        {"tagger/model": other_tagger, "meta.json": word('"en"', '"en" ')},
    ),
    "detections": Row(
        with_boxes,
        lambda folder: vectors.Files((folder / "found.json",), folder),
        placed("detections"),
        {"found.json": word("[0, 2, 20, 20]", "[1, 2, 20, 20]")},
    ),
    "YOLO": Row(
        saved_yolo,
        lambda folder: detector.Weights(str(folder / "yolo.pt")),
        found_by,
        {"yolo.pt": other_yolo},
    ),
    "instances": INSTANCES,
    "boxes of the source": INSTANCES,
    "probes": Row(
        saved_probes,
        probes.Brought,
        asked,
        {
            "aro/visual_genome_relation.json": word("a mat on a cat", "a hat on a cat"),
            "aro/images/a.png": picture,
        },
    ),
    "source": PHOTOGRAPHS,
    "photographs": PHOTOGRAPHS,
    "photographs of another collection": Row(
        partly,
        lambda folder: dataset_of("flickr30k", folder),
        seen,
        {
            "flickr8k/Images/0.jpg": picture,
            "dataset_flickr30k.json": word("Caption 0", "Legend 0"),
            karpathy.PARTIAL: word(*EXCHANGED),
            "flickr8k/dataset_flickr8k.json": word('"train"', '"test"'),
        },
    ),
    "regions": Row(
        brought,
        lambda folder: dataset_of("flickr8k", folder),
        lambda source: np.array(source.regions),
        {"regions.npz": lambda file: write_regions(file, 1)},
    ),
    "features": Row(
        features,
        lambda folder: dataset_of("precomp", folder),
        seen,
        {"train_ims.npy": array, "dev_ims.npy": array, "dev_caps.txt": word("a dev", "one dev")},
    ),
}
# What no number rests on: who made a pipeline is said in its meta.json, and counts all the same.
ALIKE = {("pipeline", "meta.json")}


@dataclass(frozen=True)
class Reading:
    """A run that reads what it is given by the library's own reader."""

    case: str

    def compute(self, inputs, seed, folder, device):
        found = np.asarray(ROWS[self.case].read(*inputs), np.float64)
        return {"numbers": hashlib.sha256(np.ascontiguousarray(found)).hexdigest()}


def test_every_row_is_here():
    assert ROWS.keys() == TABLE.keys()


@pytest.mark.parametrize(
    "case, name", [(case, name) for case, row in ROWS.items() for name in row.swaps]
)
def test_a_swapped_file_is_another_run_with_other_numbers(case, name, tmp_path, monkeypatch):
    monkeypatch.setattr(runs, "STORE", tmp_path / "store")
    monkeypatch.setattr(runs, "code_hash", lambda module: "code")
    row = ROWS[case]
    folder = row.made(tmp_path / "named")

    def run():
        return runs.get(Reading(case), 0, (row.source(folder),))

    before = run()
    assert run().key == before.key
    row.swaps[name](folder / name)
    after = run()
    assert after.key != before.key
    assert (after.metrics != before.metrics) == ((case, name) not in ALIKE)


@pytest.mark.parametrize("recipe", ["world-clip", "world-clip-large"])
def test_a_swapped_configuration_of_the_librarys_is_another_run(recipe, tmp_path, monkeypatch):
    import open_clip

    built, profile = base.TOWERS[recipe], profiles.get("smoke")
    before = base.configure(profile, recipe), built(["a"], {})
    kept = towers.CONFIGS
    monkeypatch.setattr(towers, "CONFIGS", Path(shutil.copytree(kept, tmp_path / "configs")))
    file = towers.CONFIGS / f"{recipe}.json"
    said = json.loads(file.read_text())
    said["text_cfg"]["layers"] += 1
    file.write_text(json.dumps(said))
    after = base.configure(profile, recipe), built(["a"], {})
    open_clip.add_model_config(kept)
    assert before[0] != after[0]  # all of which is in the key
    sizes = [sum(p.numel() for p in model.parameters()) for _, model in (before, after)]
    assert sizes[0] < sizes[1]
