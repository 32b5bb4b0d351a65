"""Base models: what a cell shows, how pixels are cut, which token is read."""

import copy
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from alignbook import world
from alignbook.backbones import base, region_features, towers
from alignbook.core.encoders import BiGRU
from alignbook.core.vocabulary import PAD, UNKNOWN, Vocabulary, tokenize


def objects(*rows):
    columns = "image object x0 y0 x1 y1 shape colour size texture material".split()
    return pd.DataFrame(rows, columns=columns)


def test_cell_labels_by_hand():
    table = objects(
        (
            7,
            0,
            0,
            0,
            32,
            16,
            "star",
            "red",
            "big",
            "solid",
            "matte",
        ),  # the upper left quarter's top half
        (7, 1, 0, 0, 64, 64, "ring", "blue", "big", "solid", "matte"),  # everything after it
        (9, 0, 48, 48, 64, 64, "star", "blue", "big", "solid", "matte"),
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
    out = towers.to_float(pixels)
    assert out.shape == (1, 3, 2, 2) and out[0, 2, 0, 1] == 1 and out[0, 0, 0, 0] == -1


@pytest.fixture(scope="module")
def clip():
    torch.manual_seed(0)
    vocabulary = Vocabulary.build(["a red star", "a blue ring"])
    return towers.WorldCLIP(vocabulary, {"shape": 2}).eval(), vocabulary


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


@pytest.mark.parametrize(
    "lengths", [[3, 1, 5], [2, 40, 27], [27, 27, 27], [9, 2, 40, 3, 27, 1, 5, 12, 30]]
)
@pytest.mark.parametrize("name", ["clip", "coca"])
def test_texts_are_embedded_as_open_clip_does_it(name, lengths, request):
    """Although it sees them, in parts of like length, without what stands after the longest one's end;
    gradients too.
    """
    model, _ = request.getfixturevalue(name)
    shape = len(lengths), max(lengths)
    ids = torch.randint(2, 400, shape, generator=torch.Generator().manual_seed(1))
    lengths = torch.tensor(lengths)
    ids[torch.arange(max(lengths)) >= lengths[:, None]] = PAD
    expected = model.clip.encode_text(model.tokens(ids, lengths), normalize=True)
    found = model.encode_text(ids, lengths)
    torch.testing.assert_close(found, expected, atol=1e-6, rtol=0)
    way = torch.randn(found.shape, generator=torch.Generator().manual_seed(2))
    parts = list(model.clip.transformer.parameters()) + [model.clip.token_embedding.weight]
    ours, theirs = (torch.autograd.grad((each * way).sum(), parts) for each in (found, expected))
    for one, other in zip(ours, theirs):
        torch.testing.assert_close(one, other, atol=1e-4, rtol=1e-4)


@torch.no_grad()
def test_a_caption_longer_than_the_context_is_cut(clip):
    model, vocabulary = clip
    ids, lengths = vocabulary.encode(["red " * 60], max_words=60)
    assert torch.isfinite(model.encode_text(ids, lengths)).all()


@torch.no_grad()
@pytest.mark.parametrize("recipe", base.TOWERS)
def test_embeddings_are_normalised_and_maps_have_their_width(recipe):
    vocabulary = Vocabulary.build(["a red star"])
    model = base.TOWERS[recipe](vocabulary, {"shape": 2}).eval()
    images = torch.rand(2, 3, 64, 64)
    assert torch.allclose(model.encode_image(images).norm(dim=1), torch.ones(2), atol=1e-5)
    assert model.region_map(images).shape == (2, model.region_dim, 8, 8)
    assert model.word_vectors().shape[0] >= len(vocabulary)


@torch.no_grad()
def test_larger_pictures_have_larger_maps():
    model = towers.WorldCLIP(Vocabulary.build(["a red star"]), {"shape": 2}, 96).eval()
    image, _, regions = model.encode(
        torch.rand(1, 3, 96, 96), torch.tensor([[2]]), torch.tensor([1])
    )
    assert image.shape == (1, 128) and regions.shape == (1, 128, 12, 12)


def test_too_many_words_for_the_clip_are_refused():
    with pytest.raises(ValueError, match="vocab_size"):
        towers.WorldCLIP(Vocabulary(tuple(f"w{i}" for i in range(509))), {})
    towers.WorldCLIP(Vocabulary(tuple(f"w{i}" for i in range(508))), {})


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


def test_clip_loss_with_negatives_against_a_loop():
    torch.manual_seed(0)
    image, text, swaps = (
        torch.nn.functional.normalize(torch.randn(n, 4), dim=1).double() for n in (3, 3, 2)
    )
    s, t = (3.0 * image @ text.T).exp(), (3.0 * image @ swaps.T).exp()
    to_image = sum(-torch.log(s[i, i] / s[:, i].sum()) for i in range(3))
    to_text = sum(-torch.log(s[i, i] / (s[i].sum() + t[i].sum())) for i in range(3))
    ours = base.clip_loss(image, text, 3.0, swaps).item()
    assert ours == pytest.approx(((to_image + to_text) / 6).item(), abs=1e-9)


# --- NegCLIP and CoCa ----------------------------------------------------------------------------

TOLD = {
    **{word: ("colour", "red") for word in ("red", "scarlet")},
    "blue": ("colour", "blue"),
    "orange": ("colour", "orange"),
    "star": ("shape", "star"),
    "ring": ("shape", "ring"),
    **{word: ("shape", "bar") for word in ("bar", "stick")},
    "big": ("size", "big"),
    "small": ("size", "small"),
}


def swaps(caption):
    rng = np.random.default_rng(0)
    return {base.swapped(caption, TOLD, rng) for _ in range(60)}


def test_swaps_exchange_words_of_one_class_or_whole_descriptions():
    assert swaps("the red star is above the blue ring") == {
        "the blue star is above the red ring",
        "the red ring is above the blue star",
        "the blue ring is above the red star",
    }
    # Around "and" the whole descriptions say the same either way round.
    assert swaps("a red star and a blue ring") == {
        "a blue star and a red ring",
        "a red ring and a blue star",
    }
    assert swaps("a big star above a red ring") == {
        "a big ring above a red star",
        "a red ring above a big star",
    }
    # A third thing between the two is no relation between them.
    assert "a ring and a blue bar and a red star" not in swaps(
        "a red star and a blue bar and a ring"
    )


def test_swaps_know_synonyms_and_what_says_the_same():
    assert swaps("a scarlet star and a small red ring") == {
        "a scarlet ring and a small red star"
    }  # not scarlet for red
    assert swaps("a big bar above a stick") == {""}  # the one is part of the other
    assert swaps("a bar above a big stick") == {""}
    assert swaps("a red star and a blue star") == {""}  # the same two things again
    assert swaps("a red star above a blue star") == {"a blue star above a red star"}


def test_swaps_leave_words_that_describe_no_single_thing():
    assert swaps("two red stars and a blue ring") == {""}
    assert swaps("a red thing above a blue star") == {""}


def test_swaps_of_the_world_are_sentences_and_hardly_ever_true():
    """Each description ends in its one shape; true ones: where the caption leaves things unsaid."""
    config = world.Config()
    scenes = [world.scene(config, "train", i) for i in range(600)]
    told = base.lexicon(world.gold(scenes)[0])
    rng = np.random.default_rng(0)
    plain, true, shapes = 0, 0, {w for w, (a, _) in told.items() if a == "shape"}
    for scene in scenes:
        for caption in world.write(scene):
            text = base.swapped(caption.text, told, rng)
            if not text:
                continue
            assert text != caption.text and sorted(text.replace("an ", "a ").split()) == sorted(
                caption.text.replace("an ", "a ").split()
            )
            runs, run = [], []
            for word in [*text.split(), "."]:
                if word in told:
                    run.append(word)
                elif run:
                    runs, run = [*runs, run], []
            ends = [run[-1] in shapes for run in runs]
            assert sum(word in shapes for run in runs for word in run) == sum(ends)
            if all(ends) and len(runs) == len(caption.mentions) and not caption.twins:
                plain += 1
                said = [dict(told[word] for word in run) for run in runs]
                mentions = tuple(world.Mention(0, **each) for each in said)
                true += world.holds(replace(caption, mentions=mentions), scene)
    assert plain > 2000 and true / plain < 0.015


def test_swaps_mend_the_article_and_leave_what_is_the_same():
    assert swaps("a red star above an orange star") == {"an orange star above a red star"}
    assert swaps("a red star above a red star") == {""} and swaps("nothing here") == {""}


def test_a_batch_with_neighbours_holds_no_image_twice_and_its_own_captions():
    near = torch.tensor([[1, 1], [0, 0], [9, 9], *[[8, 8]] * 7])
    for seed in range(5):
        rng = np.random.default_rng(seed)
        images, captions = base.with_neighbours(torch.tensor([0, 1, 2, 3, 4, 5]), near, 5, rng)
        assert images.tolist() == [0, 1, 2, 9]  # the neighbours of 0 and 1 are there already
        assert (captions // 5 == images).all()


class Flat(torch.nn.Module):
    """A model whose embedding of a picture is the direction of its first two channels."""

    def __init__(self):
        super().__init__()
        self.one = torch.nn.Parameter(torch.ones(1))

    def pixels(self, images):
        return towers.to_float(images)

    def encode_image(self, images):
        return torch.nn.functional.normalize(images[:, :2, 0, 0], dim=1)


def test_neighbours_are_the_most_alike_of_the_split_and_never_oneself():
    from types import SimpleNamespace

    angles = np.deg2rad([0, 45, 10, 90])
    images = np.zeros((5, 2, 2, 3), np.uint8)
    images[1:, :, :, 0] = np.rint(127.5 + 127 * np.cos(angles))[:, None, None]
    images[1:, :, :, 1] = np.rint(127.5 + 127 * np.sin(angles))[:, None, None]
    dataset = SimpleNamespace(images=images, splits={"train": np.arange(1, 5)})
    near = base.neighbours(Flat(), dataset, "train", count=2)
    assert near.tolist() == [[2, 1], [2, 3], [0, 1], [1, 2]]


@pytest.fixture(scope="module")
def coca():
    torch.manual_seed(0)
    vocabulary = Vocabulary.build(["a red star", "a blue ring above a star"])
    return towers.WorldCoCa(vocabulary, {"shape": 2}).eval(), vocabulary


def test_coca_reads_a_start_token_the_words_and_an_end_token(coca):
    model, vocabulary = coca
    ids, lengths = vocabulary.encode(["a red star", "a"])
    tokens = model.tokens(ids, lengths)[:, :6].tolist()
    a, red, star = (vocabulary.words.index(w) + 2 for w in ("a", "red", "star"))
    assert tokens == [[510, a, red, star, 511, 0], [510, a, 511, 0, 0, 0]]


@torch.no_grad()
def test_coca_predicts_a_word_from_those_before_it_and_from_the_picture(coca):
    model, vocabulary = coca
    ids, lengths = vocabulary.encode(["a red star"])
    tokens = model.tokens(ids, lengths)[:, :5]
    regions = torch.randn(1, 128, 8, 8)
    logits = model.caption_logits(regions, tokens)
    later = tokens.clone()
    later[0, 3] = 7
    changed = model.caption_logits(regions, later)
    assert torch.allclose(logits[:, :3], changed[:, :3], atol=1e-5)
    assert not torch.allclose(logits[:, 3], changed[:, 3], atol=1e-3)
    assert not torch.allclose(logits, model.caption_logits(-regions, tokens), atol=1e-3)


@torch.no_grad()
def test_caption_loss_is_the_mean_over_words_and_end_tokens(coca):
    model, vocabulary = coca
    ids, lengths = vocabulary.encode(["a red star", "a star"])
    regions = torch.randn(2, 128, 8, 8)
    tokens, terms = model.tokens(ids, lengths), []
    for i, length in enumerate(lengths.tolist()):
        for k in range(length + 1):
            logits = model.caption_logits(regions[i : i + 1], tokens[i : i + 1, : k + 1])[0, -1]
            terms.append(-logits.log_softmax(0)[tokens[i, k + 1]])
    ours = model.caption_loss(regions, ids, lengths).item()
    assert len(terms) == 7 and ours == pytest.approx((sum(terms) / 7).item(), abs=1e-5)
    level = model.caption_loss(regions, ids, lengths, times=0.0).item()
    assert level == pytest.approx(math.log(logits.shape[0]), rel=1e-6)  # of equal logits


def test_coca_learns_to_write_two_captions(coca):
    model, vocabulary = copy.deepcopy(coca)
    captions = ["a red star", "a blue ring above a star"]
    ids, lengths = vocabulary.encode(captions)
    images = torch.stack([torch.full((3, 64, 64), v) for v in (-1.0, 1.0)])
    optimizer = torch.optim.Adam(model.parameters(), 2e-3)
    for _ in range(40):
        optimizer.zero_grad()
        model.caption_loss(model.region_map(images), ids, lengths).backward()
        optimizer.step()
    assert model.write(images, vocabulary.words) == captions


# --- features ------------------------------------------------------------------------------------


@pytest.mark.parametrize("side", [8, 10])
def test_windows_are_what_is_pooled(side):
    torch.manual_seed(0)
    grid = torch.rand(2, 3, side, side)
    levels = region_features.Config().levels
    means = region_features.pool_windows(grid, levels, maximum=False)
    both = region_features.pool_windows(grid, levels, maximum=True)
    boxes = np.rint(region_features.windows(levels, side) * side).astype(int)
    assert len(boxes) == means.shape[1] == len({*map(tuple, boxes)})
    for region, (x0, y0, x1, y1) in enumerate(boxes):
        cut = grid[:, :, y0:y1, x0:x1]
        assert torch.allclose(means[:, region], cut.mean((2, 3)), atol=1e-6)
        assert torch.allclose(both[:, region], cut.mean((2, 3)) + cut.amax((2, 3)), atol=1e-6)


def test_no_window_comes_twice():
    """By hand: on 4 cells grids of 2 and of 3 have the windows 0–2 and 2–4 in common, on 8 none."""
    boxes = (region_features.windows((2, 3), 4) * 4).tolist()
    assert len(boxes) == 9 and boxes[:4] == [[0, 0, 2, 2], [2, 0, 4, 2], [0, 2, 2, 4], [2, 2, 4, 4]]
    assert boxes[4:] == [[1, 0, 3, 2], [0, 1, 2, 3], [1, 1, 3, 3], [2, 1, 4, 3], [1, 2, 3, 4]]
    assert len(region_features.windows((2, 3), 8)) == 4 + 9
    cells = region_features.pool_windows(torch.arange(16.0).view(1, 1, 4, 4), (2, 3), maximum=False)
    assert cells[0, :, 0].tolist() == [2.5, 4.5, 10.5, 12.5, 3.5, 6.5, 7.5, 8.5, 11.5]


def test_more_regions_than_stored_are_refused():
    stored = np.zeros((2, 5, 3), np.float16)
    assert region_features.batch(stored, np.array([1]), 5).shape == (1, 5, 3)
    with pytest.raises(ValueError, match="6 regions"):
        region_features.batch(stored, np.array([1]), 6)


def test_at_least_a_hundred_regions():
    config = region_features.Config()
    assert len(region_features.windows(config.levels, 8)) >= config.kept >= 100


def test_the_odd_region_is_the_salient_one():
    regions = torch.zeros(1, 5, 2)
    regions[0, 3] = torch.tensor([3.0, 4.0])
    assert region_features.saliency(regions).argmax() == 3


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
