"""CoV-Align's towers: their tokens, frozen or not, and what they refuse."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from alignbook.backbones import base, bert
from alignbook.core import training
from alignbook.errors import DataError
from alignbook.papers.covalign import model as covalign
from alignbook.papers.covalign import two_towers
from alignbook.papers.covalign.two_towers import (
    Cells,
    Config,
    Drawn,
    Frozen,
    Towers,
    VisionTransformer,
    ViT,
)
from torch.nn import functional as F

WORDS = ["a", "red", "blue", "star", "ring", "above", "below", "striped", "small"]


class Map(torch.nn.Module):
    """A base model with a region map of 8-pixel cells, and a text side that no patch depends on."""

    def __init__(self):
        super().__init__()
        self.trunk, self.norm = torch.nn.Conv2d(3, 6, 8, 8), torch.nn.BatchNorm2d(6)
        self.text = torch.nn.Linear(2, 2)

    def pixels(self, images):
        return torch.from_numpy(np.array(images, np.float32).transpose(0, 3, 1, 2)) / 255

    def region_map(self, images):
        return self.norm(self.trunk(images))


def vit_of(**changes):
    from transformers import ViTConfig, ViTModel

    torch.manual_seed(0)
    sizes = dict(
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        image_size=32,
        patch_size=8,
    )
    return ViTModel(ViTConfig(**sizes | changes), add_pooling_layer=False).eval()


@pytest.fixture
def dataset():
    rng = np.random.default_rng(0)
    captions = [" ".join(rng.choice(WORDS, rng.integers(3, 9))) for _ in range(60)]
    return SimpleNamespace(
        name="toy",
        images=rng.integers(0, 255, (12, 32, 32, 3), np.uint8),
        captions=captions,
        captions_per_image=5,
        fingerprint="0" * 64,
        splits={"train": np.arange(3, 9), "dev": np.arange(3), "test": np.arange(9, 12)},
        captions_of=lambda split: captions[15:45] if split == "train" else [],
    )


@pytest.fixture
def sources(dataset, monkeypatch):
    """A base model's run and a BERT's, as `base.load` and `bert.load` open them."""
    from transformers import BertModel

    torch.manual_seed(0)
    model = Map().eval()
    settings = bert.Config(layers=1, width=8, heads=2, feed_forward=8)
    pieces = bert.WordPieces(bert.word_pieces(dataset.captions, 100), 20)
    text = BertModel(bert.architecture(settings, len(pieces)), add_pooling_layer=False).eval()
    monkeypatch.setattr(base, "load", lambda run, data: (model, None))
    monkeypatch.setattr(bert, "load", lambda run, data: (text, pieces))
    return "the base model's run", "BERT's run"


def frozen_run(folder, dataset, sources, **changes):
    config = Config(**changes)
    metrics = two_towers.compute(config, [dataset, *sources], 0, folder, "cpu")
    return SimpleNamespace(
        metrics=json.loads(json.dumps(metrics)),
        config=dict(vars(config)),
        array=lambda name: np.load(folder / f"{name}.npy", mmap_mode="r"),
    )


# --- Pictures ------------------------------------------------------------------------------------


def test_cells_are_the_region_map_row_by_row():
    model, images = Map(), np.random.default_rng(0).integers(0, 255, (2, 32, 32, 3), np.uint8)
    tower = Cells(model, 32)
    assert (tower.grid, tower.width) == ((4, 4), 6)
    cells = model.region_map(model.pixels(images))
    found = tower(tower.pixels(images))
    assert found.shape == (2, 16, 6) and torch.equal(found[1, 6], cells[1, :, 1, 2])


def test_a_large_map_is_pooled_to_ten_a_side():
    tower = Cells(Map(), 160)
    assert tower.grid == (10, 10)
    images = np.random.default_rng(0).integers(0, 255, (1, 160, 160, 3), np.uint8)
    cells = tower.model.region_map(tower.pixels(images))
    assert torch.allclose(
        tower(tower.pixels(images))[0, 1], cells[0, :, :2, 2:4].mean((1, 2)), atol=1e-5
    )


def test_a_vit_gives_its_patches_without_the_class_token():
    vit = vit_of()
    tower = VisionTransformer(vit, 32, mean=(0.1, 0.2, 0.3), std=(0.5, 0.6, 0.7))
    assert (tower.grid, tower.width) == ((4, 4), 16)
    images = np.random.default_rng(0).integers(0, 255, (2, 32, 32, 3), np.uint8)
    pixels = torch.from_numpy(images.astype(np.float32) / 255).permute(0, 3, 1, 2)
    scaled = (pixels - torch.tensor([0.1, 0.2, 0.3])[:, None, None]) / torch.tensor(
        [0.5, 0.6, 0.7]
    )[:, None, None]
    with torch.no_grad():
        states = vit(scaled).last_hidden_state
        assert states.shape[1] == 17
        assert torch.allclose(tower(tower.pixels(images)), states[:, 1:], atol=1e-5)


def test_pictures_of_another_size_are_brought_to_the_vits():
    tower = VisionTransformer(vit_of(), 48)
    even = np.full((1, 48, 48, 3), 100, np.uint8)
    pixels = tower.pixels(even)
    assert pixels.shape == (1, 3, 32, 32) and torch.allclose(pixels, torch.tensor(100 / 255))


def test_pictures_smaller_than_the_patch_grid_are_refused():
    with pytest.raises(ValueError, match="3 × 3 pixels are smaller than the patch grid of 4 × 4"):
        VisionTransformer(vit_of(), 3)
    VisionTransformer(vit_of(), 4)
    with pytest.raises(ValueError, match="7 × 7 pixels are smaller than the patch grid of 1 × 1"):
        Cells(Map(), 7)
    assert Cells(Map(), 8).grid == (1, 1)


def test_a_vit_of_ones_own_is_loaded_from_its_folder(tmp_path):
    folder = tmp_path / "vit"
    vit = vit_of()
    vit.save_pretrained(folder)
    with pytest.raises(DataError, match="preprocessor_config.json: not found, and nothing is down"):
        ViT(str(folder)).load(32)
    (folder / "preprocessor_config.json").write_text(
        json.dumps({"image_mean": [0.1, 0.2, 0.3], "image_std": [0.5, 0.6, 0.7]})
    )
    tower = ViT(str(folder)).load(32)
    assert tower.mean.flatten().tolist() == pytest.approx([0.1, 0.2, 0.3])
    assert tower.std.flatten().tolist() == pytest.approx([0.5, 0.6, 0.7])
    for name, value in tower.vit.state_dict().items():
        assert torch.equal(value, vit.state_dict()[name]), name
    assert ViT(str(folder)).label == "vit:vit"
    key = ViT(str(folder)).key
    settings = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(settings | {"layer_norm_eps": 1e-3}))
    assert ViT(str(folder)).key != key
    (folder / "config.json").write_text(json.dumps(settings | {"model_type": "bert"}))
    with pytest.raises(DataError, match="model_type 'bert', expected 'vit'"):
        ViT(str(folder)).load(32)
    for other, said in (
        (dict(hidden_size=32), "no ViT can be built"),
        (dict(num_hidden_layers=2), "[0-9]+ of its weights are missing"),
    ):
        (folder / "config.json").write_text(json.dumps(settings | other))
        with pytest.raises(DataError, match=f"model.safetensors: .*{said}"):
            ViT(str(folder)).load(32)


# --- Words ---------------------------------------------------------------------------------------


def test_captions_over_the_context_are_cut_and_counted(dataset):
    pieces = bert.WordPieces(bert.word_pieces(dataset.captions, 100), 20)
    captions = ["a red star", "a red star above a ring", "a ring below a red"]
    counts = [len(pieces.encode([caption])[0][0]) - 2 for caption in captions]
    ids, lengths, cut = two_towers.encode(pieces, captions, counts[0] + 2)
    assert cut == sum(n > counts[0] for n in counts) > 0 and lengths.max() == counts[0] + 2
    _, lengths, cut = two_towers.encode(pieces, captions, 40)
    assert cut == 0 and lengths.tolist() == [n + 2 for n in counts]
    pieces.positions = counts[0] + 2  # as many as BERT has
    assert two_towers.encode(pieces, captions, 40)[2] == sum(n > counts[0] for n in counts)


def test_a_cut_caption_is_counted_in_the_metrics(dataset, sources, tmp_path):
    run = frozen_run(tmp_path, dataset, sources, context=6)
    long = sum(len(caption.split()) > 4 for caption in dataset.captions)
    assert 0 < long <= run.metrics["captions cut"] <= 60
    assert Towers(dataset, *sources, 6, True).cut == run.metrics["captions cut"]
    config = covalign.Config(dim=8, heads=2, context=6, steps=1, batch=4)
    found = covalign.compute(config, [dataset, run], 0, tmp_path, "cpu")
    assert found["captions cut"] == run.metrics["captions cut"]


# --- Tokens --------------------------------------------------------------------------------------


def test_tokens_of_towers_are_those_of_their_models(dataset, sources):
    towers = Towers(dataset, *sources, 40, False).eval()
    assert (towers.grid, towers.image_width, towers.text_width) == ((4, 4), 6, 8)
    rows, numbers = np.array([7, 2]), np.array([31, 4, 17])
    images = dataset.images[rows]
    assert torch.equal(towers.patches(rows), towers.image(towers.image.pixels(images)))
    words, mask = towers.words(numbers)
    for i, number in enumerate(numbers):
        n = int(mask[i].sum())
        assert n == towers.lengths[number]
        alone = towers.text(towers.ids[[number], :n]).last_hidden_state[0]
        assert torch.allclose(words[i, :n], alone, atol=1e-5)


def test_weights_that_no_token_depends_on_are_not_trained(dataset, sources):
    towers = Towers(dataset, *sources, 40, True)
    trained = {name for name, p in towers.named_parameters() if p.requires_grad}
    assert not any("image.model.text" in name for name in trained)
    assert {"image.model.trunk.weight", "image.model.norm.weight"} <= trained
    assert any(name.startswith("text.encoder") for name in trained)


def test_whitened_tokens_have_mean_0_and_nearly_covariance_1():
    torch.manual_seed(0)
    tokens = torch.randn(5000, 4) @ torch.randn(4, 4) + 3
    white = two_towers.Whitening(4)
    assert torch.equal(white(tokens), tokens)
    white.fit(tokens)
    found = white(tokens)
    assert torch.allclose(found.mean(0), torch.zeros(4), atol=1e-4)
    values = torch.linalg.eigvalsh(torch.cov(tokens.T, correction=0))
    expected = values / (values + 0.1 * values.mean())
    assert torch.allclose(
        torch.linalg.eigvalsh(torch.cov(found.T, correction=0)), expected, atol=1e-3
    )
    assert torch.allclose(
        white.matrix, white.matrix.T, atol=1e-5
    )  # as near to the tokens as can be


def test_whitening_is_that_of_the_training_tokens(dataset, sources):
    plain, white = (Towers(dataset, *sources, 40, whitened).eval() for whitened in (False, True))
    rows = dataset.splits["train"]
    with torch.no_grad():
        patches = plain.patches(rows).flatten(0, 1)
        assert torch.allclose(white.whiten["patches"].mean, patches.mean(0), atol=1e-5)
        words, mask = plain.words(rows * 5)
        assert torch.allclose(white.whiten["words"].mean, words[mask].mean(0), atol=1e-5)
        expected = white.whiten["patches"](plain.patches(np.arange(2)))
        assert torch.allclose(white.patches(np.arange(2)), expected, atol=1e-5)
        words, mask = plain.words(np.arange(2))
        assert torch.allclose(
            white.words(np.arange(2))[0][mask], white.whiten["words"](words)[mask], atol=1e-5
        )


def test_whitened_towers_stay_in_evaluation_mode(dataset, sources):
    for whitened in (True, False):
        matcher = covalign.Matcher(Towers(dataset, *sources, 40, whitened), torch.nn.Dropout())
        modes = {part.training for part in matcher.train().source.modules()}
        assert modes == {not whitened} and matcher.model.training
        assert not any(part.training for part in matcher.eval().modules())
        assert any(p.requires_grad for p in matcher.source.parameters())


@pytest.mark.parametrize("whitened", [True, False])
def test_frozen_tokens_are_the_towers(dataset, sources, tmp_path, whitened):
    run = frozen_run(tmp_path, dataset, sources, whitened=whitened)
    towers = Towers(dataset, *sources, 40, whitened).eval()
    frozen = Frozen(run, 40, whitened)
    assert (frozen.grid, frozen.image_width, frozen.text_width) == (
        towers.grid,
        towers.image_width,
        towers.text_width,
    )
    rows, numbers = np.array([11, 0, 5]), np.array([0, 59, 12, 13, 30])
    with torch.no_grad():
        assert torch.allclose(frozen.patches(rows), towers.patches(rows), rtol=1e-2, atol=1e-2)
        words, mask = towers.words(numbers)
    found, there = frozen.words(numbers)
    assert torch.equal(there, mask) and found.dtype == torch.float32
    assert torch.allclose(found[mask], words[mask], rtol=1e-2, atol=1e-2)
    assert (found[~mask] == 0).all()
    assert run.metrics == {"images": 12, "captions": 60, "captions cut": 0, "grid": [4, 4]}


def test_frozen_tokens_must_be_those_asked_for(dataset, sources, tmp_path):
    run = frozen_run(tmp_path, dataset, sources)
    for asked in (dict(context=30), dict(whitened=False)):
        with pytest.raises(ValueError, match="frozen tokens made with .* expected the same"):
            Frozen(run, **dict(context=40, whitened=True) | asked)
    config = covalign.Config()
    with pytest.raises(ValueError, match="2 sources for frozen tokens, expected 1"):
        two_towers.source(config, dataset, *sources)
    with pytest.raises(ValueError, match="1 sources for end-to-end tokens, expected 2"):
        two_towers.source(replace(config, tokens="end-to-end"), dataset, run)


def test_tokens_that_half_precision_cannot_hold_are_refused():
    assert two_towers._half(lambda: torch.tensor([64000.0]), "tokens").dtype == np.float32
    for value in (66000.0, -66000.0, torch.nan):
        with pytest.raises(FloatingPointError, match="patches of image 3 do not fit into float16"):
            two_towers._half(lambda: torch.tensor([1.0, value]), "patches of image 3")


def test_end_to_end_the_towers_learn_too(dataset, sources, tmp_path, monkeypatch):
    monkeypatch.setattr(training, "best_look", lambda dev: len(dev) - 1)
    config = covalign.Config(
        dim=8, heads=2, queries=4, layers=1, tokens="end-to-end", steps=3, batch=4
    )
    torch.manual_seed(0)
    before = {
        k: v.clone() for k, v in covalign.build(config, dataset, *sources).state_dict().items()
    }
    found = covalign.compute(config, [dataset, *sources], 0, tmp_path, "cpu")
    from safetensors.torch import load_file

    after = load_file(tmp_path / "weights.safetensors")
    assert not torch.equal(
        after["source.image.model.trunk.weight"], before["source.image.model.trunk.weight"]
    )
    assert torch.equal(
        after["source.image.model.text.weight"], before["source.image.model.text.weight"]
    )
    text = [name for name in after if name.startswith("source.text.encoder")]
    assert any(not torch.equal(after[name], before[name]) for name in text)
    for kind in ("patches", "words"):  # fixed before training
        assert torch.equal(
            after[f"source.whiten.{kind}.matrix"], before[f"source.whiten.{kind}.matrix"]
        )
    idle = sum(p.numel() for p in Map().text.parameters())
    assert (
        found["parameters"]
        == sum(p.numel() for p in covalign.build(config, dataset, *sources).parameters()) - idle
    )
    run = SimpleNamespace(config=dict(vars(config)), weights=lambda: after)
    matcher = covalign.load(run, dataset, *sources)
    assert (
        not matcher.training
        and torch.isfinite(covalign.evaluate(matcher, dataset, "test")[0]).all()
    )


def test_towers_drawn_at_random_are_of_base_size(dataset, monkeypatch):
    """Their architectures alone; two steps of them: test_full_size.py."""
    import transformers

    for name in ("ViTModel", "BertModel"):
        monkeypatch.setattr(
            transformers, name, lambda config, add_pooling_layer: SimpleNamespace(config=config)
        )
    monkeypatch.setattr(two_towers, "VisionTransformer", lambda vit, side: (vit.config, side))
    config, side = two_towers.image_tower(Drawn(), dataset)
    assert (config.hidden_size, config.num_hidden_layers, config.image_size) == (768, 12, 224)
    assert (config.patch_size, side) == (16, 32)
    text, pieces = two_towers.text_tower(Drawn(), dataset)
    assert (text.config.hidden_size, text.config.num_hidden_layers) == (768, 12)
    assert text.config.vocab_size >= len(pieces) and pieces.positions == 512
    assert Drawn().key == Drawn().label == "drawn at random"


def test_flat_pictures_count_by_their_shorter_side(sources):
    flat = SimpleNamespace(images=np.zeros((1, 32, 4, 3), np.uint8))
    with pytest.raises(ValueError, match="4 × 4 pixels"):
        two_towers.image_tower("run", flat)


def test_features_without_pictures_are_refused():
    with pytest.raises(ValueError, match="toy has region features and no pictures"):
        two_towers.image_tower("run", SimpleNamespace(name="toy", images=None))


def test_words_of_a_caption_behind_the_longest_are_zeros(dataset, sources, tmp_path):
    frozen = Frozen(frozen_run(tmp_path, dataset, sources), 40, True)
    lengths = np.diff(np.concatenate([[0], frozen.ends]))
    pair = np.array([int(lengths.argmax()), int(lengths.argmin())])
    found, mask = frozen.words(pair)
    assert found.shape[1] == lengths.max() and mask.sum(1).tolist() == lengths[pair].tolist()
    assert F.cosine_similarity(found[1, 0], frozen.words(pair[1:])[0][0, 0], dim=0) > 0.999
