"""Two training steps at full size: CHAN on 36 regions of 2,048 numbers, d = 1024, BERT-base;
CoV-Align on 196 patches of a ViT-Base-224, d = 512, BERT-base; GSL with alignments of 256 numbers,
d = 1024. They are taken again where the code behind them has changed (`remembered`).
"""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from alignbook.backbones import bert, region_features
from alignbook.backbones.inputs import Inputs
from alignbook.core import training
from alignbook.datasets import by_name, precomp
from alignbook.papers.chan import arms
from alignbook.papers.chan import model as chan
from alignbook.papers.covalign import model as covalign
from alignbook.papers.covalign.two_towers import Drawn
from alignbook.papers.gsl import arms as gsl_arms
from alignbook.store import runs
from alignbook.workbook import profiles
from remembered import remembered
from safetensors.torch import load_file

WORDS = [f"word{i}" for i in range(200)]
PREPARED = (
    "alignbook.workbook.profiles",
    "alignbook.datasets.by_name",
    "alignbook.datasets.precomp",
)


@pytest.fixture(autouse=True)
def keep_the_last(monkeypatch):
    """With so few pairs the first look may be the best on dev; what training made of it is wanted.
    A checkpoint of some gigabytes is not.
    """
    monkeypatch.setattr(training, "best_look", lambda dev: len(dev) - 1)
    monkeypatch.setattr(training, "CHECKPOINT_SECONDS", float("inf"))


def inputs(root) -> list:
    """Files as COCO's are published, of 100 training images, and a BERT-base of random weights."""
    from transformers import BertConfig, BertModel

    rng = np.random.default_rng(0)
    names = {
        "train": [f"t{i}" for i in range(100)],
        "dev": ["d"],
        "test": [f"e{i}" for i in range(5)],
    }
    captions = {
        name: [" ".join(rng.choice(WORDS, rng.integers(6, 18))) for _ in range(5)]
        for split in names.values()
        for name in split
    }
    arrays = {split: rng.random((len(each), 36, 2048), np.float32) for split, each in names.items()}
    precomp.write(root / "files", names, captions, arrays)
    torch.manual_seed(0)
    config = BertConfig()
    assert (config.hidden_size, config.num_hidden_layers, config.vocab_size) == (768, 12, 30522)
    BertModel(config, add_pooling_layer=False).save_pretrained(root / "bert-base")
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    pieces = special + WORDS + [f"##{i}" for i in range(config.vocab_size - len(special + WORDS))]
    (root / "bert-base/vocab.txt").write_text("\n".join(pieces))
    dataset = by_name.prepare(f"precomp={root / 'files'}", settings(), root / "data")
    named = bert.Pretrained(str(root / "bert-base"))
    return [dataset, region_features.Given(dataset), None, None, named]


def settings():
    return profiles.get("paper", "precomp=DIR", {"chan_steps": "2"})


def moved(folder, before: dict, names) -> dict[str, bool]:
    """Whether each parameter of some is finite after training, and another than before."""
    after = load_file(folder / "weights.safetensors")
    return {
        name: bool(torch.isfinite(after[name]).all()) and not torch.equal(after[name], before[name])
        for name in names(after)
    }


@pytest.mark.parametrize("arm", ["chan", "chan-bert"])
def test_two_steps_at_full_size(tmp_path, arm):
    """The paper profile's own arms, a sixteenth of a batch: all violations first, then the hardest,
    and both move.
    """
    plain = arms.arms("chan-T1", settings())[arm][0][0]
    assert (plain.dim, plain.regions, plain.batch) == (1024, 36, 128 if "bert" in arm else 384)

    def compute() -> dict:
        config = replace(plain, steps=2, all_violations=0.5, batch=plain.batch // 16)
        given = inputs(tmp_path) if "bert" in arm else inputs(tmp_path)[:2]
        torch.manual_seed(0)
        before, _ = chan.build(config, *given)
        found = config.compute(Inputs(*given), 0, tmp_path, "cpu")

        def names(after):
            text = [name for name in after if ".bert.encoder" in name or ".gru.weight" in name]
            return [*text, "image.project.weight"]

        return {
            "steps": found["steps"],
            "RSUM": found["test RSUM"],
            "losses": np.load(tmp_path / "loss.npy").tolist(),
            "moved": moved(tmp_path, before.state_dict(), names),
        }

    code = ("alignbook.papers.chan.arms", *PREPARED)
    found = remembered(f"full-size-{arm}", code, compute, arm, inputs, settings, moved)
    assert found["steps"] == 2 and 0 <= found["RSUM"] <= 600
    assert np.isfinite(found["losses"]).all()
    assert found["losses"][0] > found["losses"][1] > 0  # all of a batch, then 2 a pair
    assert len(found["moved"]) > 1 and all(found["moved"].values()), found["moved"]


def test_two_steps_of_gsl_at_full_size(tmp_path, monkeypatch):
    """The paper profile's own arm, on few pairs: a step of warm-up, then two, of which one is late."""
    monkeypatch.setattr(runs, "STORE", tmp_path / "store")
    (plain, *_), changes = gsl_arms.arms("gsl-F1", settings())["gsl-0.4"]
    assert (plain.dim, plain.sim_dim, plain.regions, plain.batch) == (1024, 256, 36, 128)
    assert (plain.similarity, plain.warm_up, plain.learning_rate) == ("sgr", "", 2e-4)

    def compute() -> dict:
        few = dict(images=8, test_images=2, batch=8, warm_up_epochs=1, epochs=2, epoch_steps=1)
        config = replace(plain, **changes, **few)
        found = config.compute(inputs(tmp_path)[:2], 0, tmp_path, "cpu")
        (warmed,) = (tmp_path / "store").glob("*/weights.safetensors")
        names = ("0.image.weight", "1.reason.steps.2.update.weight", "0.text.gru.weight_ih_l0")
        return {
            "steps": [found["warm-up steps"], found["steps"]],
            "RSUM": found["test RSUM"],
            "parameters": found["parameters"],
            "losses": np.load(tmp_path / "loss.npy").tolist(),
            "moved": moved(tmp_path, load_file(warmed), lambda after: names),
        }

    code = ("alignbook.papers.gsl.arms", *PREPARED)
    found = remembered("full-size-gsl", code, compute, inputs, settings, moved)
    assert found["steps"] == [1, 2] and 0 <= found["RSUM"] <= 600
    assert np.isfinite(found["losses"]).all() and found["parameters"] > 2 * 12e6
    assert len(found["moved"]) == 3 and all(found["moved"].values()), found["moved"]


def test_two_steps_of_covalign_at_full_size(tmp_path, monkeypatch):
    """Its preset, both towers of random weights because that was asked for; two pairs a step."""
    preset = covalign.PRESETS["paper"]
    assert (preset.dim, preset.queries, preset.batch, preset.tokens) == (512, 8, 128, "end-to-end")

    def compute() -> dict:
        rng = np.random.default_rng(0)
        captions = [" ".join(rng.choice(WORDS, rng.integers(6, 18))) for _ in range(20)]
        dataset = SimpleNamespace(
            name="drawn",
            images=rng.integers(0, 255, (4, 224, 224, 3), np.uint8),
            captions=captions,
            captions_per_image=5,
            captions_of=lambda split: captions[:10],
            splits={"train": np.arange(2), "dev": np.arange(2, 3), "test": np.arange(3, 4)},
        )
        build, before, seen = covalign.build, {}, {}

        def looked_at(*given):
            matcher = build(*given)
            seen.update(grid=matcher.source.grid, width=matcher.source.image_width)
            before.update((name, value.clone()) for name, value in matcher.state_dict().items())
            return matcher

        monkeypatch.setattr(covalign, "build", looked_at)
        config = replace(preset, steps=2)
        found = covalign.compute(config, [dataset, Drawn(), Drawn()], 0, tmp_path, "cpu")
        names = (
            "source.image.vit.embeddings.cls_token",
            "model.projection.of_queries.weight",
            "source.text.encoder.layer.11.output.dense.weight",
        )
        return seen | {
            "steps": found["steps"],
            "RSUM": found["test RSUM"],
            "parameters": found["parameters"],
            "losses": np.load(tmp_path / "loss.npy").tolist(),
            "moved": moved(tmp_path, before, lambda after: names),
        }

    code = ("alignbook.papers.covalign.two_towers", "alignbook.papers.covalign.model")
    found = remembered("full-size-covalign", code, compute, moved)
    assert (found["grid"], found["width"]) == ([14, 14], 768)
    assert found["steps"] == 2 and found["parameters"] > 170e6  # 86 M of the ViT, 86 M of BERT
    assert np.isfinite(found["losses"]).all() and 0 <= found["RSUM"] <= 600
    assert len(found["moved"]) == 3 and all(found["moved"].values()), found["moved"]
