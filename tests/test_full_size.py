"""Two training steps at full size: CHAN on 36 regions of 2,048 numbers, d = 1024, BERT-base;
CoV-Align on 196 patches of a ViT-Base-224, d = 512, BERT-base; GSL with alignments of 256 numbers,
d = 1024.
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
from safetensors.torch import load_file

WORDS = [f"word{i}" for i in range(200)]


@pytest.fixture(autouse=True)
def keep_the_last(monkeypatch):
    """With so few pairs the first look may be the best on dev; what training made of it is wanted.
    A checkpoint of some gigabytes is not.
    """
    monkeypatch.setattr(training, "best_look", lambda dev: len(dev) - 1)
    monkeypatch.setattr(training, "CHECKPOINT_SECONDS", float("inf"))


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """Files as COCO's are published, of 100 training images, and a BERT-base of random weights."""
    from transformers import BertConfig, BertModel

    root, rng = tmp_path_factory.mktemp("full"), np.random.default_rng(0)
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


@pytest.mark.parametrize("arm", ["chan", "chan-bert"])
def test_two_steps_at_full_size(inputs, tmp_path, arm):
    """The paper profile's own arms, a sixteenth of a batch: all violations first, then the hardest,
    and both move.
    """
    config = replace(arms.arms("chan-T1", settings())[arm][0][0], steps=2, all_violations=0.5)
    assert (config.dim, config.regions, config.batch) == (1024, 36, 128 if "bert" in arm else 384)
    config = replace(config, batch=config.batch // 16)
    given = inputs if "bert" in arm else inputs[:2]
    torch.manual_seed(0)
    before, _ = chan.build(config, *given)
    found = config.compute(Inputs(*given), 0, tmp_path, "cpu")
    assert found["steps"] == 2 and 0 <= found["test RSUM"] <= 600
    losses, after = np.load(tmp_path / "loss.npy"), load_file(tmp_path / "weights.safetensors")
    assert np.isfinite(losses).all() and losses[0] > losses[1] > 0  # all of a batch, then 2 a pair
    text = [name for name in after if ".bert.encoder" in name or ".gru.weight" in name]
    for name in [*text, "image.project.weight"]:
        assert torch.isfinite(after[name]).all()
        assert not torch.equal(after[name], before.state_dict()[name]), name


def test_two_steps_of_gsl_at_full_size(inputs, tmp_path, monkeypatch):
    """The paper profile's own arm, on few pairs: a step of warm-up, then two, of which one is late."""
    monkeypatch.setattr(runs, "STORE", tmp_path / "store")
    plain, changes = gsl_arms.arms("gsl-F1", settings())["gsl-0.4"]
    config = replace(plain[0], **changes)
    assert (config.dim, config.sim_dim, config.regions, config.batch) == (1024, 256, 36, 128)
    assert (config.similarity, config.warm_up, config.learning_rate) == ("sgr", "", 2e-4)
    config = replace(
        config, images=8, test_images=2, batch=8, warm_up_epochs=1, epochs=2, epoch_steps=1
    )
    found = config.compute(inputs[:2], 0, tmp_path, "cpu")
    assert (found["warm-up steps"], found["steps"]) == (1, 2) and 0 <= found["test RSUM"] <= 600
    assert np.isfinite(np.load(tmp_path / "loss.npy")).all() and found["parameters"] > 2 * 12e6
    after = load_file(tmp_path / "weights.safetensors")
    (warmed,) = (tmp_path / "store").glob("*/weights.safetensors")
    before = load_file(warmed)
    for name in ("0.image.weight", "1.reason.steps.2.update.weight", "0.text.gru.weight_ih_l0"):
        assert torch.isfinite(after[name]).all() and not torch.equal(after[name], before[name]), (
            name
        )


def test_two_steps_of_covalign_at_full_size(tmp_path, monkeypatch):
    """Its preset, both towers of random weights because that was asked for; two pairs a step."""
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
    preset = covalign.PRESETS["paper"]
    assert (preset.dim, preset.queries, preset.batch, preset.tokens) == (512, 8, 128, "end-to-end")
    config, build, before = replace(preset, steps=2), covalign.build, {}

    def seen(*given):
        matcher = build(*given)
        assert matcher.source.grid == (14, 14) and matcher.source.image_width == 768
        before.update((name, value.clone()) for name, value in matcher.state_dict().items())
        return matcher

    monkeypatch.setattr(covalign, "build", seen)
    found = covalign.compute(config, [dataset, Drawn(), Drawn()], 0, tmp_path, "cpu")
    assert found["steps"] == 2 and found["parameters"] > 170e6  # 86 M of the ViT, 86 M of BERT
    assert np.isfinite(np.load(tmp_path / "loss.npy")).all() and 0 <= found["test RSUM"] <= 600
    after = load_file(tmp_path / "weights.safetensors")
    for name in (
        "source.image.vit.embeddings.cls_token",
        "model.projection.of_queries.weight",
        "source.text.encoder.layer.11.output.dense.weight",
    ):
        assert torch.isfinite(after[name]).all()
        assert not torch.equal(after[name], before[name]), name
