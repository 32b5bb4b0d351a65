"""VSE++, GPO, VSE∞ and attended vectors against loops written from their definitions."""

import math
from dataclasses import fields, replace
from types import SimpleNamespace

import pytest
import torch
from alignbook.core import losses
from alignbook.core.encoders import BiGRU
from alignbook.core.similarity import soft_coding
from alignbook.papers.chan import model as chan
from alignbook.papers.chan import rivals
from alignbook.papers.chan.rivals import (
    GPO,
    Config,
    ForwardGRU,
    attended_similarity,
    bert_mean,
    last_state,
)
from torch.nn import functional as F

IDS, LENGTHS = torch.tensor([[2, 3, 4, 5], [6, 7, 0, 0], [8, 9, 10, 0]]), torch.tensor([4, 2, 3])
VECTORS = torch.randn(12, 5, generator=torch.Generator().manual_seed(0))


def close(found, expected, tolerance=1e-5):
    torch.testing.assert_close(found, expected, atol=tolerance, rtol=tolerance)


def word_encoder(dim=8):
    words = BiGRU(*VECTORS.shape, dim)
    words.vectors.weight.data.copy_(VECTORS)
    return words


def plus_plus(feature_dim=6, dim=8, **changes):
    torch.manual_seed(1)
    config = Config(method="vse++", dim=dim, regions=5, **changes)
    words = ForwardGRU(VECTORS, dim, config.word_dropout)
    return rivals.VSEPlusPlus(config, feature_dim, words, last_state)


def infinity(feature_dim=6, dim=8, **changes):
    torch.manual_seed(1)
    config = Config(dim=dim, regions=5, **changes)
    return rivals.VSEInfinity(config, feature_dim, word_encoder(dim))


BOTH = pytest.mark.parametrize("model", [plus_plus, infinity])


# --- VSE++ ---------------------------------------------------------------------------------------


@torch.no_grad()
def test_the_last_state_is_that_of_the_last_word():
    torch.manual_seed(0)
    encoder = ForwardGRU(VECTORS, 3).eval()
    gru = encoder.gru
    states = last_state(encoder(IDS, LENGTHS), LENGTHS)
    for ids, length, found in zip(IDS, LENGTHS, states):
        h = torch.zeros(3)
        for word in ids[:length]:
            of_word = gru.weight_ih_l0 @ VECTORS[word] + gru.bias_ih_l0
            of_state = gru.weight_hh_l0 @ h + gru.bias_hh_l0
            reset, update = ((of_word + of_state)[i : i + 3].sigmoid() for i in (0, 3))
            new = (of_word[6:] + reset * of_state[6:]).tanh()
            h = (1 - update) * new + update * h
        close(found, h)


def test_word_vectors_start_from_those_given_and_leave_them_alone():
    vectors = VECTORS.clone()
    encoder = ForwardGRU(vectors, 3)
    assert torch.equal(encoder.vectors.weight, VECTORS) and encoder.vectors.weight.requires_grad
    encoder.vectors.weight.data.zero_()
    assert torch.equal(vectors, VECTORS)


@torch.no_grad()
def test_words_are_dropped_in_training_only():
    torch.manual_seed(0)
    encoder = ForwardGRU(VECTORS, 3, word_dropout=1.0)
    unknown = torch.ones_like(IDS)
    close(encoder(IDS, LENGTHS), encoder.eval()(unknown, LENGTHS))
    assert not torch.allclose(encoder(IDS, LENGTHS), encoder(unknown, LENGTHS))
    kept = ForwardGRU(VECTORS, 3, word_dropout=0.0)
    close(kept(IDS, LENGTHS), kept.eval()(IDS, LENGTHS))


def test_the_mean_of_berts_words_leaves_marks_and_padding_out():
    words = torch.full((3, 4, 2), 100.0)  # [CLS] first, [SEP] at the end of each
    words[0, 1:3] = torch.tensor([[1.0, 2.0], [3.0, 6.0]])
    words[1, 1], words[1, 3] = 5.0, math.nan
    words[2, 2:] = math.inf
    words.requires_grad_()
    found = bert_mean(words, torch.tensor([4, 3, 2]))
    assert found.tolist() == [[2.0, 4.0], [5.0, 5.0], [0.0, 0.0]]
    found.sum().backward()
    assert words.grad[:, :, 0].tolist() == [[0, 0.5, 0.5, 0], [0, 1, 0, 0], [0, 0, 0, 0]]


@torch.no_grad()
def test_the_image_of_vse_plus_plus_is_the_projected_mean_of_its_regions():
    net, raw = plus_plus(), torch.randn(2, 5, 6)
    for regions, found in zip(raw, net.image(raw)):
        mean = sum(regions) / 5
        image = net.project.weight @ mean + net.project.bias
        close(found, image / image.norm())


@torch.no_grad()
def test_the_text_of_vse_plus_plus_is_the_last_state():
    net = plus_plus().eval()
    states = torch.stack([net.words(IDS, LENGTHS)[i, n - 1] for i, n in enumerate(LENGTHS)])
    close(net.text(IDS, LENGTHS), states / states.norm(dim=1, keepdim=True))


# --- The generalised pooling operator ------------------------------------------------------------


def slow_pool(gpo, values):
    """GPO of one set `(n, d)`, from the formula."""
    n, width = len(values), 32
    encodings = torch.zeros(n, width)
    for k in range(1, n + 1):
        for i in range(width // 2):
            encodings[k - 1, 2 * i] = math.sin(k / 10000 ** (2 * i / width))
            encodings[k - 1, 2 * i + 1] = math.cos(k / 10000 ** (2 * i / width))
    states = gpo.gru(encodings[None])[0][0]
    scores = [gpo.score.weight[0] @ (h[:width] + h[width:]) / 2 / 0.1 for h in states]
    total = sum(math.exp(s) for s in scores)
    theta = [math.exp(s) / total for s in scores]
    pooled = []
    for column in values.T.tolist():
        pooled.append(sum(t * v for t, v in zip(theta, sorted(column, reverse=True))))
    return torch.tensor(pooled)


@torch.no_grad()
@pytest.mark.parametrize("lengths", [[5, 2, 1, 5, 3, 2], [7], [6, 7]])
def test_gpo_is_its_formula(lengths):
    torch.manual_seed(0)
    gpo = GPO()
    gpo.score.weight *= 3  # otherwise the coefficients are close to a mean's
    sets = torch.randn(len(lengths), 7, 4)
    found = gpo(sets, torch.tensor(lengths))
    for values, length, pooled in zip(sets, lengths, found):
        close(pooled, slow_pool(gpo, values[:length]))


@torch.no_grad()
def test_gpo_by_hand():
    gpo = GPO()
    gpo.coefficients = lambda sizes, longest: torch.tensor([[0.5, 0.3, 0.2]])
    sets = torch.tensor([[[1.0, -3.0], [4.0, -1.0], [2.0, -2.0]]])
    # 0.5·4 + 0.3·2 + 0.2·1 and 0.5·(−1) + 0.3·(−2) + 0.2·(−3)
    close(gpo(sets, torch.tensor([3])), torch.tensor([[2.8, -1.7]]))


@torch.no_grad()
def test_gpo_can_be_the_mean_and_the_maximum():
    torch.manual_seed(0)
    sets, lengths = torch.randn(3, 5, 4), torch.tensor([5, 2, 4])
    mean = GPO()
    mean.score.weight.zero_()
    maximum = GPO()
    maximum.coefficients = lambda sizes, longest: F.one_hot(sizes * 0, longest).float()
    for i, n in enumerate(lengths):
        close(mean(sets, lengths)[i], sets[i, :n].mean(0))
        close(maximum(sets, lengths)[i], sets[i, :n].max(0).values)


@torch.no_grad()
def test_coefficients_sum_to_one_and_are_zero_behind_the_end():
    torch.manual_seed(0)
    theta = GPO().coefficients(torch.tensor([2, 4, 1]), 5)
    close(theta.sum(1), torch.ones(3))
    assert (theta > 0).sum(1).tolist() == [2, 4, 1]
    assert (theta[:, 1:] > 0).tolist()[2] == [False] * 4


def test_gpo_hears_nothing_of_padding():
    torch.manual_seed(0)
    gpo, lengths = GPO(), torch.tensor([3, 2])
    sets = torch.randn(2, 4, 6)
    dirty = sets.clone()
    dirty[0, 3:], dirty[1, 2:] = math.nan, 100.0
    dirty.requires_grad_()
    found = gpo(dirty, lengths)
    close(found, gpo(sets, lengths))
    close(found[:1], gpo(sets[:1, :3], lengths[:1]))
    found.square().sum().backward()
    assert (dirty.grad[0, 3:] == 0).all() and (dirty.grad[1, 2:] == 0).all()
    assert (dirty.grad[0, :3] != 0).any() and dirty.grad.isfinite().all()


@torch.no_grad()
def test_gpo_gradients_go_to_the_values_in_their_places():
    gpo = GPO()
    gpo.coefficients = lambda sizes, longest: torch.tensor([[0.7, 0.2, 0.1]])
    sets = torch.tensor([[[1.0], [4.0], [2.0]]], requires_grad=True)
    with torch.enable_grad():
        gpo(sets, torch.tensor([3])).sum().backward()
    close(sets.grad[0, :, 0], torch.tensor([0.1, 0.7, 0.2]))


@pytest.mark.parametrize("kind", ["sgr", "saf"])
def test_reasoning_as_a_matcher_scores_as_the_network_itself(kind):
    torch.manual_seed(0)
    config = rivals.Config(method=kind, dim=8, regions=3)
    matcher = rivals.Reasoning(config, 5, torch.randn(9, 4)).eval()
    raw, ids, lengths = torch.randn(4, 3, 5), torch.tensor([[2, 3, 4], [5, 6, 0]]), [3, 2]
    lengths = torch.tensor(lengths)
    images, words = matcher.image(raw), matcher.text(ids, lengths)
    assert images.shape == (4, 5, 8) and words.shape == (2, 5, 8)
    found = matcher.similarity(images, words, word_lengths=lengths)
    assert torch.allclose(found, matcher.net(raw, ids, lengths)) and found.shape == (4, 2)
    assert matcher.net.align_words.out_features == 2


def test_sets_of_one_size_share_one_run_of_the_generator(monkeypatch):
    gpo, seen, states = GPO(), [], rivals.gru.states

    def watched(layer, ranks, sizes):
        seen.append(sizes)
        return states(layer, ranks, sizes)

    monkeypatch.setattr(rivals.gru, "states", watched)
    gpo(torch.randn(6, 4, 3), torch.tensor([3, 4, 3, 3, 4, 3]))
    assert [sizes.tolist() for sizes in seen] == [[3, 4]]


# --- VSE∞ ----------------------------------------------------------------------------------------


@torch.no_grad()
def test_the_image_of_vse_infinity_is_gpo_of_a_residual_perceptron():
    net, raw = infinity(), torch.randn(3, 5, 6)
    net.image(torch.randn(20, 5, 6) * 2 + 1)  # running statistics that are not 0 and 1
    net.eval()
    norm = net.norm
    for regions, found in zip(raw, net.image(raw)):
        rows = []
        for x in regions:
            hidden = net.inner.weight @ x
            hidden = (hidden - norm.running_mean) / (norm.running_var + norm.eps).sqrt()
            hidden = (hidden * norm.weight + norm.bias).clamp(min=0)
            straight = net.project.weight @ x + net.project.bias
            rows.append(straight + net.outer.weight @ hidden + net.outer.bias)
        pooled = slow_pool(net.pool_regions, torch.stack(rows))
        close(found, pooled / pooled.norm())


@torch.no_grad()
def test_the_text_of_vse_infinity_is_gpo_of_its_words():
    net = infinity().eval()
    words = net.words(IDS, LENGTHS)
    for row, length, found in zip(words, LENGTHS, net.text(IDS, LENGTHS)):
        pooled = slow_pool(net.pool, row[:length])
        close(found, pooled / pooled.norm())


# --- Both matchers -------------------------------------------------------------------------------


@BOTH
@torch.no_grad()
def test_vectors_have_length_one(model):
    net = model()
    close(net.image(torch.randn(4, 5, 6) * 7).norm(dim=1), torch.ones(4))
    close(net.text(IDS, LENGTHS).norm(dim=1), torch.ones(3))


@BOTH
@torch.no_grad()
def test_the_order_of_regions_does_not_matter(model):
    net, raw = model().eval(), torch.randn(3, 5, 6)
    close(net.image(raw[:, [3, 0, 4, 1, 2]]), net.image(raw))


@BOTH
@torch.no_grad()
def test_nothing_behind_the_end_of_a_caption_matters(model):
    net = model().eval()
    behind = torch.arange(6) >= LENGTHS[:, None]
    found = net.text(F.pad(IDS, (0, 2)).masked_fill(behind, 11), LENGTHS)
    close(found, net.text(IDS, LENGTHS))
    for i, length in enumerate(LENGTHS):  # nor who stands beside it
        close(found[i : i + 1], net.text(IDS[i : i + 1, :length], LENGTHS[i : i + 1]))


@BOTH
@torch.no_grad()
def test_the_order_of_words_matters(model):
    net = model().eval()
    assert not torch.allclose(net.text(IDS, LENGTHS)[0], net.text(IDS.flip(1), LENGTHS)[0])


@BOTH
@torch.no_grad()
def test_in_evaluation_an_image_does_not_depend_on_its_batch(model):
    net, raw = model().eval(), torch.randn(3, 5, 6)
    close(net.image(raw)[1:2], net.image(raw[1:2]))


@BOTH
@torch.no_grad()
def test_rows_of_the_similarity_are_images(model):
    net = model().eval()
    images, texts = net.image(torch.randn(2, 5, 6)), net.text(IDS, LENGTHS)
    found = net.similarity(images, texts, word_lengths=LENGTHS)
    assert found.shape == (2, 3)
    assert found[0, 2].item() == pytest.approx(float(sum(images[0] * texts[2])), abs=1e-6)


@BOTH
def test_gradients_reach_every_parameter(model):
    net = model(word_dropout=0.0)
    scores = net.similarity(net.image(torch.randn(3, 5, 6)), net.text(IDS, LENGTHS))
    scores.diagonal().sum().backward()
    for name, parameter in net.named_parameters():
        assert parameter.grad is not None and parameter.grad.abs().max() > 1e-4, name


@BOTH
def test_a_planted_problem_is_learnt(model):
    """Every image shows two of ten things, its caption names them among other words."""
    torch.manual_seed(0)
    pairs = torch.combinations(torch.arange(10))[torch.randperm(45)]
    things = torch.randn(10, 16)
    ids = torch.ones(45, 4, dtype=torch.int64)
    ids[:, [0, 2]] = pairs + 2
    lengths = torch.full((45,), 4)
    lengths[::2] = 3
    raw = torch.randn(45, 5, 16) * 0.5
    raw[:, 1] += things[pairs[:, 0]] * 2
    raw[:, 3] += things[pairs[:, 1]] * 2
    net = model(feature_dim=16, dim=16)
    images, captions = net.image(raw), net.text(ids, lengths)
    untrained = net.similarity(images, captions).argmax(1)
    assert (untrained == torch.arange(45)).float().mean() < 0.2
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)
    for step in range(80):
        scores = net.similarity(net.image(raw), net.text(ids, lengths))
        hinge = losses.all_negatives_hinge if step < 20 else losses.hardest_negative_hinge
        optimizer.zero_grad()
        hinge(scores, 0.2).backward()
        optimizer.step()
    net.eval()
    scores = net.similarity(net.image(raw), net.text(ids, lengths))
    for best in (scores.argmax(1), scores.argmax(0)):
        assert (best == torch.arange(45)).float().mean() > 0.5


# --- Building, training, loading -----------------------------------------------------------------

FEATURES = SimpleNamespace(metrics={"width": 6})


@pytest.fixture
def sides(monkeypatch):
    """CHAN's text sides, replaced; the calls they got."""
    calls = []

    def word_vectors(*inputs):
        calls.append(("word_vectors", *inputs))
        return VECTORS, "vocabulary of vectors"

    def text_side(config, *inputs):
        calls.append(("text_side", *inputs))
        return word_encoder(config.dim), f"vocabulary of {config.text}"

    monkeypatch.setattr(rivals, "word_vectors", word_vectors)
    monkeypatch.setattr(rivals, "text_side", text_side)
    return calls


def test_build_takes_the_text_side_of_the_arm(sides):
    inputs = ("data", FEATURES, "base", "home", "bert")
    net, vocabulary = rivals.build(Config(method="vse++", word_dropout=0.3), *inputs)
    assert isinstance(net.words, ForwardGRU) and net.pool is last_state
    assert net.words.word_dropout == 0.3 and net.words.gru.hidden_size == 128
    assert vocabulary == "vocabulary of vectors" and net.project.in_features == 6
    net, vocabulary = rivals.build(Config(method="vse++", text="bert"), *inputs)
    assert type(net) is rivals.VSEPlusPlus and net.pool is bert_mean
    assert vocabulary == "vocabulary of bert"
    net, vocabulary = rivals.build(Config(), *inputs)
    assert isinstance(net, rivals.VSEInfinity) and vocabulary == "vocabulary of bigru"
    net, vocabulary = rivals.build(Config(text="bert"), *inputs)
    assert isinstance(net, rivals.VSEInfinity) and vocabulary == "vocabulary of bert"
    words = ("word_vectors", "data", "base", "home")
    side = ("text_side", "data", "base", "home", "bert")
    assert sides == [words, side, side, side]


def test_an_unknown_method_is_refused(sides):
    with pytest.raises(ValueError, match="'vse'; known: vse.., vse-inf"):
        rivals.build(Config(method="vse"), "data", FEATURES)


def test_compute_trains_what_build_builds(sides, monkeypatch, tmp_path):
    def fit(model, vocabulary, *rest):
        return {"model": model, "vocabulary": vocabulary, "rest": rest}

    monkeypatch.setattr(rivals, "fit", fit)
    config, inputs = Config(dim=8), ("data", FEATURES, "base", "home", "bert")
    found = [rivals.compute(config, inputs, s, tmp_path, "cpu") for s in (3, 3, 4)]
    label = "vse-inf bigru, seed 3"
    assert found[0]["rest"] == (config, inputs, 3, tmp_path, "cpu", label)
    assert found[0]["vocabulary"] == "vocabulary of bigru"
    first, again, other = (run["model"].project.weight for run in found)
    assert torch.equal(first, again) and not torch.equal(first, other)


def test_load_gives_the_trained_model_back(sides):
    trained = rivals.build(Config(dim=8), "data", FEATURES)[0]
    trained.image(torch.randn(4, 5, 6))  # moves the running statistics
    config = {f.name: getattr(trained.config, f.name) for f in fields(Config)}
    run = SimpleNamespace(config=config, weights=trained.state_dict)
    net, vocabulary = rivals.load(run, "data", FEATURES)
    assert not net.training and vocabulary == "vocabulary of bigru"
    raw = torch.randn(2, 5, 6)
    close(net.image(raw), trained.eval().image(raw))


def test_rivals_have_chans_settings():
    rival, own = Config(), chan.Config()
    shared = {f.name for f in fields(Config)} - {"method", "text"}
    assert shared <= {f.name for f in fields(chan.Config)}
    for name in shared:
        assert getattr(rival, name) == getattr(own, name), name
    assert replace(rival, method="vse++") == Config("vse++")


# --- Attended vectors ----------------------------------------------------------------------------


def fragments(dtype=torch.float32):
    generator = torch.Generator().manual_seed(0)
    regions = torch.randn(4, 6, 5, generator=generator, dtype=dtype)
    words = torch.randn(7, 9, 5, generator=generator, dtype=dtype)
    return regions, words, torch.tensor([9, 1, 3, 9, 5, 2, 8])


@pytest.mark.parametrize("bytes_of_a_block", [1, 2000, 2**24])
@pytest.mark.parametrize("temperature, scale", [(1 / 9, 10.0), (1.0, 3.0), (0.02, 20.0)])
def test_attended_vectors_give_soft_coding(monkeypatch, temperature, scale, bytes_of_a_block):
    monkeypatch.setattr(rivals, "BLOCK_BYTES", bytes_of_a_block)
    regions, words, lengths = fragments()
    gradients = []
    for similarity in (attended_similarity, soft_coding):
        v, t = regions.clone().requires_grad_(), words.clone().requires_grad_()
        scores = similarity(v, t, word_lengths=lengths, temperature=temperature, scale=scale)
        (scores * torch.arange(28.0).view(4, 7)).sum().backward()
        gradients.append((scores.detach(), v.grad, t.grad))
    for found, expected in zip(*gradients):
        close(found, expected, 1e-5 * float(expected.abs().max().clamp(min=1)))


@torch.no_grad()
def test_attended_vectors_from_the_formula():
    regions, words, lengths = fragments(torch.float64)
    regions, words = F.normalize(regions, dim=2), F.normalize(words, dim=2)
    found = attended_similarity(3 * regions, 0.5 * words, lengths, temperature=0.2, scale=4.0)
    for i, v in enumerate(regions):
        for j, t in enumerate(words):
            total = 0.0
            for word in t[: lengths[j]]:
                weights = [math.exp(float(word @ region) / 0.2) for region in v]
                mixed = sum(w * region for w, region in zip(weights, v)) / sum(weights)
                total += math.exp(4 * float(word @ mixed / mixed.norm()))
            assert found[i, j].item() == pytest.approx(math.log(total) / 4, abs=1e-9)


def test_attended_vectors_hear_nothing_of_padding():
    regions, words, lengths = fragments()
    behind = (torch.arange(9) >= lengths[:, None])[..., None]
    dirty = words.masked_fill(behind, math.nan).requires_grad_()
    found = attended_similarity(regions, dirty, lengths, temperature=0.1)
    close(found, attended_similarity(regions, words, lengths, temperature=0.1))
    found.sum().backward()
    assert (dirty.grad[behind.squeeze(2)] == 0).all() and dirty.grad.isfinite().all()


def test_codewords_that_cancel_do_no_harm():
    regions = torch.tensor([[[1.0, 0.0], [-1.0, 0.0]]], requires_grad=True)
    one = torch.tensor([1])
    scores = attended_similarity(regions, torch.tensor([[[0.0, 1.0]]]), one, temperature=1.0)
    scores.sum().backward()
    assert scores.item() == 0 and regions.grad.isfinite().all()


@pytest.mark.parametrize("temperature", [0.0, -1.0, math.nan])
def test_a_temperature_that_is_not_positive_is_refused(temperature):
    with pytest.raises(ValueError, match="temperature must be positive"):
        attended_similarity(*fragments(), temperature=temperature)
