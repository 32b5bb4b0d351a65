"""Base models: what a cell shows, how pixels are cut, which token is read."""

import numpy as np
import pandas as pd
import pytest
import torch

from alignbook import base, features
from alignbook.encoders import BiGRU
from alignbook.vocabulary import PAD, UNKNOWN, Vocabulary, tokenize


def objects(*rows):
    columns = "image object x0 y0 x1 y1 shape colour size texture".split()
    return pd.DataFrame(rows, columns=columns)


def test_cell_labels_by_hand():
    table = objects(
        (7, 0, 0, 0, 32, 16, "star", "red", "big", "solid"),  # the upper left quarter's top half
        (7, 1, 0, 0, 64, 64, "ring", "blue", "big", "solid"),  # everything behind it
        (9, 0, 48, 48, 64, 64, "star", "blue", "big", "solid"),
    )
    labels = base.cell_labels(table, np.array([9, 7]), size=64, grid=4)
    star, ring = 2, 1  # categories in alphabetical order, from 1; 0 is background
    assert labels["shape"][1].tolist() == [[star, star, ring, ring]] + [[ring] * 4] * 3
    assert labels["shape"][0, 3, 3] == star and labels["shape"][0].sum() == star
    assert labels["colour"][1, 0, 0] == 2 and labels["colour"][1, 3, 0] == 1


def test_augment_cuts_windows_and_flips():
    torch.manual_seed(0)
    image = torch.arange(36.0).view(1, 1, 6, 6).expand(64, 3, 6, 6)
    out = base.augment(image, 4)
    assert out.shape == (64, 3, 4, 4)
    rows = out[:, 0, 0]
    steps = rows[:, 1] - rows[:, 0]
    assert set(steps.tolist()) == {1.0, -1.0}  # some flipped left to right, none top to bottom
    assert (out[:, 0, 1, 0] - out[:, 0, 0, 0] == 6).all()
    assert len({row[0].item() for row in rows}) > 5


def test_to_float_maps_bytes_to_minus_one_and_one():
    pixels = np.zeros((1, 2, 2, 3), np.uint8)
    pixels[0, 0, 1, 2] = 255
    out = base.to_float(pixels)
    assert out.shape == (1, 3, 2, 2) and out[0, 2, 0, 1] == 1 and out[0, 0, 0, 0] == -1


@pytest.fixture(scope="module")
def clip():
    torch.manual_seed(0)
    vocabulary = Vocabulary.build(["a red star", "a blue ring"])
    return base.WorldCLIP(vocabulary, {"shape": 2}).eval(), vocabulary


@torch.no_grad()
def test_the_text_embedding_is_read_at_the_end_token(clip):
    model, vocabulary = clip
    ids, lengths = vocabulary.encode(["a red star", "a red star", "a blue ring"])
    out = model.encode_text(ids, lengths)
    assert torch.allclose(out[0], out[1]) and not torch.allclose(out[0], out[2], atol=1e-3)
    padded = torch.nn.functional.pad(ids, (0, 5), value=PAD)
    assert torch.allclose(model.encode_text(padded, lengths), out, atol=1e-6)
    last = ids.clone()
    last[0, 2] = vocabulary.words.index("ring") + 2  # the last word counts
    assert not torch.allclose(model.encode_text(last, lengths)[0], out[0], atol=1e-3)


@torch.no_grad()
def test_a_caption_longer_than_the_context_is_cut(clip):
    model, vocabulary = clip
    ids, lengths = vocabulary.encode(["red " * 60], max_words=60)
    assert torch.isfinite(model.encode_text(ids, lengths)).all()


@torch.no_grad()
@pytest.mark.parametrize("recipe", base.MODELS)
def test_embeddings_are_normalised_and_maps_have_their_width(recipe):
    vocabulary = Vocabulary.build(["a red star"])
    model = base.MODELS[recipe](vocabulary, {"shape": 2}).eval()
    images = torch.rand(2, 3, 64, 64)
    assert torch.allclose(model.encode_image(images).norm(dim=1), torch.ones(2), atol=1e-5)
    assert model.region_map(images).shape == (2, model.region_dim, 8, 8)
    assert model.word_vectors().shape[0] >= len(vocabulary)


def test_too_many_words_for_the_clip_are_refused():
    vocabulary = Vocabulary(tuple(f"w{i}" for i in range(600)))
    with pytest.raises(ValueError, match="vocab_size"):
        base.WorldCLIP(vocabulary, {})


def test_clip_loss_with_one_caption_is_open_clips():
    from open_clip.loss import ClipLoss

    torch.manual_seed(0)
    image, text = (torch.nn.functional.normalize(torch.randn(5, 7), dim=1) for _ in "ab")
    ours, theirs = base.clip_loss(image, text, 9.0), ClipLoss()(image, text, 9.0)
    assert ours.item() == pytest.approx(theirs.item(), abs=1e-6)


def test_clip_loss_with_two_captions_against_a_loop():
    torch.manual_seed(0)
    image = torch.nn.functional.normalize(torch.randn(3, 4), dim=1).double()
    text = torch.nn.functional.normalize(torch.randn(6, 4), dim=1).double()
    s = (5.0 * image @ text.T).exp()
    to_image = [-torch.log(s[c // 2, c] / s[:, c].sum()) for c in range(6)]
    to_text = []
    for c in range(6):
        others = [s[c // 2, o] for o in range(6) if o // 2 != c // 2]
        to_text.append(-torch.log(s[c // 2, c] / (s[c // 2, c] + sum(others))))
    expected = (sum(to_image) + sum(to_text)) / 12
    assert base.clip_loss(image, text, 5.0).item() == pytest.approx(expected.item(), abs=1e-9)


# --- features ------------------------------------------------------------------------------------


@pytest.mark.parametrize("side", [8, 10])
def test_windows_are_what_is_pooled(side):
    torch.manual_seed(0)
    grid = torch.rand(2, 3, side, side)
    levels = features.Config().levels
    means = features.pool_windows(grid, levels, maximum=False)
    both = features.pool_windows(grid, levels, maximum=True)
    boxes = np.rint(features.windows(levels, side) * side).astype(int)
    assert len(boxes) == means.shape[1]
    for region, (x0, y0, x1, y1) in enumerate(boxes):
        cut = grid[:, :, y0:y1, x0:x1]
        assert torch.allclose(means[:, region], cut.mean((2, 3)), atol=1e-6)
        assert torch.allclose(both[:, region], cut.mean((2, 3)) + cut.amax((2, 3)), atol=1e-6)


def test_more_regions_than_stored_are_refused():
    stored = np.zeros((2, 5, 3), np.float16)
    assert features.batch(stored, np.array([1]), 5).shape == (1, 5, 3)
    with pytest.raises(ValueError, match="6 regions"):
        features.batch(stored, np.array([1]), 6)


def test_at_least_a_hundred_regions():
    config = features.Config()
    assert len(features.windows(config.levels, 8)) >= config.kept >= 100


def test_the_odd_region_is_the_salient_one():
    regions = torch.zeros(1, 5, 2)
    regions[0, 3] = torch.tensor([3.0, 4.0])
    assert features.saliency(regions).argmax() == 3


# --- encoders ------------------------------------------------------------------------------------


def test_vocabulary_drops_rare_words_and_keeps_order():
    vocabulary = Vocabulary.build(["a dog, a cat", "a dog"], min_count=2)
    assert vocabulary.words == ("a", "dog") and len(vocabulary) == 4
    ids, lengths = vocabulary.encode(["A dog!", "cat", "..."])
    assert ids.tolist() == [[2, 3], [UNKNOWN, PAD], [UNKNOWN, PAD]]
    assert lengths.tolist() == [2, 1, 1]


def test_tokenize_keeps_apostrophes_and_numbers():
    assert tokenize("The man's 2 dogs.") == ["the", "man's", "2", "dogs"]


def test_bigru_is_the_mean_of_both_directions_and_ignores_padding():
    torch.manual_seed(0)
    text = BiGRU(10, 4, 3).eval()
    ids = torch.tensor([[2, 3, 4], [5, 6, 0]])
    lengths = torch.tensor([3, 2])
    states = text(ids, lengths)
    alone, _ = text.gru(text.vectors(ids[1:, :2]))  # the short caption on its own, no padding
    expected = (alone[0, :, :3] + alone[0, :, 3:]) / 2
    assert torch.allclose(states[1, :2], expected, atol=1e-6)
    assert (states[1, 2] == 0).all()


def test_word_dropout_acts_in_training_only():
    torch.manual_seed(0)
    text = BiGRU(10, 4, 3, word_dropout=0.9)
    ids, lengths = torch.tensor([[2, 3, 4, 5]]), torch.tensor([4])
    assert not torch.allclose(text(ids, lengths), text(ids, lengths))
    text.eval()
    assert torch.allclose(text(ids, lengths), text(ids, lengths))
