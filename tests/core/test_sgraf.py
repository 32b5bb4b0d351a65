"""SGR and SAF: all pairs together against the paper's steps for one pair after the other."""

import math

import pytest
import torch
from alignbook.core import sgraf
from alignbook.core.sgraf import Encoded
from torch import nn

KINDS = pytest.mark.parametrize("kind", ["sgr", "saf"])
LENGTHS = torch.tensor([3, 5, 1, 3, 4])
IDS = torch.tensor(
    [[2, 3, 4, 0, 0], [5, 6, 7, 8, 9], [3, 0, 0, 0, 0], [9, 2, 2, 0, 0], [4, 5, 4, 6, 0]]
)


def build(kind="sgr", dropout=0.0, **changes):
    """A small model in double precision whose every parameter is drawn, none left at 0 or 1.

    Graph reasoning is drawn more widely: otherwise after three steps all alignments would be the
    same.
    """
    torch.manual_seed(0)
    sizes = dict(dim=8, sim_dim=5, regions=4) | changes
    model = sgraf.build(kind, 6, torch.randn(10, 7), dropout=dropout, **sizes).double()
    for parameter in model.parameters():
        parameter.data += 0.3 * torch.randn_like(parameter)
    for step in model.reason.steps if kind == "sgr" else ():
        for layer, factor in ((step.query, 4), (step.key, 4), (step.update, 2)):
            layer.weight.data *= factor
    for name, buffer in model.named_buffers():
        if buffer.is_floating_point():
            buffer.data = torch.rand_like(buffer) + 0.5 * ("var" in name)
    return model


def inputs(images=3):
    torch.manual_seed(1)
    return torch.randn(images, 4, 6).double(), IDS, LENGTHS


def unit(x):
    return x / x.norm(dim=-1, keepdim=True)


# --- One pair after the other, as the paper puts it ----------------------------------------------


def normalised(x, norm, training, dims):
    """Batch normalisation, written out; x has its channels in the axis that `dims` leaves out."""
    if training:
        mean, variance = x.mean(dims, keepdim=True), x.var(dims, keepdim=True, correction=0)
    else:
        shape = [1 if d in dims else -1 for d in range(x.ndim)]
        mean, variance = norm.running_mean.view(shape), norm.running_var.view(shape)
    shape = [1 if d in dims else -1 for d in range(x.ndim)]
    return (x - mean) / (variance + 1e-5).sqrt() * norm.weight.view(shape) + norm.bias.view(shape)


def whole_images(module, local, training):
    """Weights of the regions from tanh(BN(W v_k)) ∘ tanh(BN(W mean))."""
    each = normalised(module.each[0](local), module.each[1], training, (0, 2)).tanh()
    every = normalised(module.all[0](local.mean(1)), module.all[1], training, (0,)).tanh()
    rows = []
    for k, v in enumerate(local):
        logits = torch.stack([(module.weigh.weight[0] * e * every[k]).sum() + 0.7 for e in each[k]])
        weights = logits.exp() / logits.exp().sum()
        rows.append(unit(sum(w * u for w, u in zip(weights, v))))
    return torch.stack(rows)


def whole_caption(module, words):
    every = module.all[0](words.mean(0)).tanh()
    logits = torch.stack(
        [(module.weigh.weight[0] * module.each[0](t).tanh() * every).sum() for t in words]
    )
    weights = logits.exp() / logits.exp().sum()
    return unit(sum(w * t for w, t in zip(weights, words)))


def attend(words, regions, scale=9.0):
    """Each word's mixture of the regions, from cosines that are normalised over the words."""
    cosines = [[float_leaky(v @ t) for t in words] for v in regions]  # [region][word]
    rows = []
    for i in range(len(words)):
        logits = [row[i] / torch.stack(row).square().sum().sqrt() * scale for row in cosines]
        total = sum(x.exp() for x in logits)
        rows.append(unit(sum(x.exp() / total * v for x, v in zip(logits, regions))))
    return torch.stack(rows)


def float_leaky(x):
    return x if x > 0 else 0.1 * x


def reason_by_graph(module, nodes):
    """All nodes in every step, with a bias of the keys, of which nothing depends."""
    key_bias = torch.linspace(-1, 1, nodes.shape[1]).double()
    for step in module.steps:
        queries, keys = step.query(nodes), step.key(nodes) + key_bias
        renewed = []
        for q in queries:
            logits = torch.stack([q @ k for k in keys])
            edges = logits.exp() / logits.exp().sum()
            renewed.append(step.update(sum(e * x for e, x in zip(edges, nodes))).clamp(min=0))
        nodes = torch.stack(renewed)
    return nodes[0]


def reason_by_filter(module, nodes, mean, variance):
    logits = [module.gate.weight[0] @ x for x in nodes]
    normal = [(z - mean) / (variance + 1e-5).sqrt() for z in logits]
    gates = [1 / (1 + (-module.weight * z - module.bias).exp()) for z in normal]
    return unit(sum(g * x for g, x in zip(gates, nodes)) / sum(gates))


def slow(model, regions, ids, lengths):
    """Similarities (B1, B2), and what the filter's logits of each caption are."""
    local = unit(model.image(regions))
    whole = whole_images(model.whole_image, local, model.training)
    columns, seen = [], []
    for caption, n in zip(ids, lengths.tolist()):
        words = unit(model.text(caption[None, :n], torch.tensor([n]))[0])
        about = whole_caption(model.whole_caption, words)
        every = []
        for image, image_whole in zip(local, whole):
            context = attend(words, image, model.scale)
            apart = model.align_whole((image_whole - about) ** 2)
            nodes = [unit(apart)]
            nodes += [unit(model.align_words((c - t) ** 2)) for c, t in zip(context, words)]
            every.append(torch.stack(nodes))
        if isinstance(model.reason, sgraf.SGR):
            vectors = [reason_by_graph(model.reason, nodes) for nodes in every]
        else:
            logits = torch.cat([nodes @ model.reason.gate.weight[0] for nodes in every])
            seen.append(logits)
            mean, variance = model.reason.mean, model.reason.variance
            if model.training:
                mean, variance = logits.mean(), logits.var(correction=0)
            vectors = [reason_by_filter(model.reason, nodes, mean, variance) for nodes in every]
        columns.append(torch.stack([1 / (1 + (-model.score(v)[0]).exp()) for v in vectors]))
    return torch.stack(columns, dim=1), seen


@KINDS
@pytest.mark.parametrize("training", [False, True])
def test_all_pairs_against_one_after_the_other(kind, training):
    model = build(kind).train(training)
    expected, _ = slow(model, *inputs())
    found = model(*inputs())
    assert found.shape == (3, 5) and found.std() > 1e-3
    assert torch.allclose(found, expected, atol=1e-9)
    assert ((found > 0) & (found < 1)).all()


@KINDS
def test_gradients_against_one_after_the_other(kind):
    model = build(kind).train()
    weights = torch.randn(3, 5).double()
    expected, _ = slow(model, *inputs())
    names, parameters = zip(*model.named_parameters())
    wanted = torch.autograd.grad((expected * weights).sum(), parameters, allow_unused=True)
    found = torch.autograd.grad((model(*inputs()) * weights).sum(), parameters, allow_unused=True)
    for name, a, b in zip(names, found, wanted):
        assert a is not None and b is not None, name
        assert torch.allclose(a, b, atol=1e-9), name
        assert a.abs().max() > 1e-8 or name.startswith("whole_image") and "0.bias" in name, name


@pytest.mark.parametrize("steps", [1, 2, 4])
def test_steps_of_graph_reasoning(steps):
    model = build(steps=steps).eval()
    assert len(model.reason.steps) == steps
    assert torch.allclose(model(*inputs()), slow(model, *inputs())[0], atol=1e-9)


def test_attention_by_hand():
    """Two regions, two words: cosines [[1, -0.6], [0, 0.8]], the negative one a tenth."""
    regions = torch.tensor([[[1.0, 0.0], [0.0, 1.0]]])
    words = torch.tensor([[[1.0, 0.0], [-0.6, 0.8]]])
    a, b = 1 / math.sqrt(1 + 0.06**2), -0.06 / math.sqrt(1 + 0.06**2)  # the first region's words
    expected = []
    for x, y in ((a, 0.0), (b, 1.0)):
        v = torch.tensor([math.exp(2 * x), math.exp(2 * y)])
        expected.append(v / v.norm())
    assert torch.allclose(
        sgraf.attended(words, regions, 2.0)[0, 0], torch.stack(expected), atol=1e-6
    )


def test_the_filter_by_hand():
    """Gates σ(2 · (x − 0.5) / 2 + 1), here of two alignments along one axis each."""
    saf = sgraf.SAF(2).eval()
    saf.gate.weight.data = torch.tensor([[1.0, -1.0]])
    saf.weight.data, saf.bias.data = torch.tensor(2.0), torch.tensor(1.0)
    saf.mean, saf.variance = torch.tensor(0.5), torch.tensor(4.0 - 1e-5)
    a, b = 1 / (1 + math.exp(-1.5)), 1 / (1 + math.exp(0.5))
    found = saf(torch.eye(2)[None, None])[0, 0]
    assert torch.allclose(found, torch.tensor([a, b]) / math.hypot(a, b), atol=1e-6)


def test_running_statistics_of_the_filter():
    """Each caption of a batch moves them alike, by 1 in 100; the variance is the unbiased one, and
    eval changes none.
    """
    model = build("saf").train()
    mean, variance = model.reason.mean.item(), model.reason.variance.item()
    _, seen = slow(model, *inputs())
    model(*inputs())
    kept, n = 0.99 ** len(seen), len(seen)
    mean = kept * mean + (1 - kept) * sum(x.mean().item() for x in seen) / n
    variance = kept * variance + (1 - kept) * sum(x.var().item() for x in seen) / n
    assert model.reason.mean.item() == pytest.approx(mean)
    assert model.reason.variance.item() == pytest.approx(variance)
    model(*inputs())
    mean = kept * mean + (1 - kept) * sum(x.mean().item() for x in seen) / n
    assert model.reason.mean.item() == pytest.approx(mean)
    model.eval()(*inputs())
    assert model.reason.mean.item() == pytest.approx(mean)


def test_statistics_without_spread_do_not_divide_by_zero():
    saf = sgraf.SAF(3).train()
    assert torch.isfinite(saf(torch.ones(2, 1, 4, 3))).all()


# --- Padding, blocks, order ----------------------------------------------------------------------


@KINDS
@pytest.mark.parametrize("training", [False, True])
def test_padding_never_changes_a_score(kind, training):
    model, (regions, ids, lengths) = build(kind).train(training), inputs()
    state = {name: value.clone() for name, value in model.state_dict().items()}
    expected = model(regions, ids, lengths)
    filled = torch.cat((ids, torch.zeros(5, 3, dtype=torch.int64)), dim=1)
    for row, n in enumerate(lengths.tolist()):
        filled[row, n:] = 1 + row
    model.load_state_dict(state)
    assert torch.allclose(model(regions, filled, lengths), expected, atol=1e-12)
    a, b = model.encode_captions(ids, lengths), model.encode_captions(filled, lengths)
    assert torch.allclose(a.pooled, b.pooled) and torch.allclose(a.whole, b.whole)
    for row, n in enumerate(lengths.tolist()):
        assert (b.local[row, n:] == 0).all()


def test_what_stands_behind_the_end_is_not_read():
    model, (regions, ids, lengths) = build().eval(), inputs()
    images, captions = model.encode_images(regions), model.encode_captions(ids, lengths)
    spoiled = captions.local.clone()
    for row, n in enumerate(lengths.tolist()):
        spoiled[row, n:] = math.nan
    expected = model.similarity(images, captions)
    assert torch.equal(model.similarity(images, captions._replace(local=spoiled)), expected)


def test_members_that_are_not_real_have_no_weight():
    attention = build().eval().whole_caption
    words, mean = torch.randn(2, 5, 8).double(), torch.randn(2, 8).double()
    real = torch.arange(5) < torch.tensor([[3], [5]])
    found = attention(words, mean, real)
    assert torch.allclose(found[:1], attention(words[:1, :3], mean[:1]))
    assert torch.allclose(found[1:], attention(words[1:], mean[1:]))


class Constant(nn.Module):
    """A text side that isn't zero after the end."""

    def forward(self, ids, lengths):
        return torch.ones(*ids.shape, 8).double()


def test_words_behind_the_end_of_any_text_side_are_hidden():
    model = build().eval()
    model.text = Constant()
    found = model.encode_captions(IDS, LENGTHS)
    for row, n in enumerate(LENGTHS.tolist()):
        assert (found.local[row, n:] == 0).all() and (found.local[row, :n] != 0).all()
    assert torch.allclose(found.pooled, torch.full_like(found.pooled, 1 / math.sqrt(8)))
    assert torch.allclose(found.whole, found.pooled)


@KINDS
@pytest.mark.parametrize("mixed", [0, 1, 10**9])
@pytest.mark.parametrize("size", [1, 100, 10**9])
def test_scores_do_not_depend_on_blocks(kind, size, mixed, monkeypatch):
    model = build(kind).eval()
    monkeypatch.setattr(sgraf, "MIXED", 0)
    expected = model(*inputs())
    monkeypatch.setattr(sgraf, "MIXED", mixed)
    monkeypatch.setattr(sgraf, "BLOCK", size)
    assert torch.allclose(model(*inputs()), expected, atol=1e-12)
    regions, ids, lengths = inputs()
    order = torch.tensor([4, 2, 0, 1, 3])
    turned = model(regions, ids[order], lengths[order])
    assert torch.allclose(turned, expected[:, order], atol=1e-12)
    assert torch.allclose(model(regions[1:], ids, lengths), expected[1:], atol=1e-12)


@KINDS
def test_captions_of_several_lengths_train_together_as_apart(kind, monkeypatch):
    """Scores, gradients of all parameters, and what SAF keeps of a batch."""
    found = []
    for mixed in (0, 10**9):
        monkeypatch.setattr(sgraf, "MIXED", mixed)
        model = build(kind).train()
        scores = model(*inputs())
        weights = torch.linspace(1, 2, scores.numel()).view_as(scores).double()
        (weights * scores).sum().backward()
        kept = {name: buffer.clone() for name, buffer in model.named_buffers() if "reason" in name}
        gradients = {name: p.grad for name, p in model.named_parameters()}
        found.append((scores.detach(), gradients, kept))
    lengths = inputs()[2]
    assert len(set(lengths.tolist())) > 2
    assert len(list(sgraf.blocks(lengths, 8, sgraf.BLOCK))) == 1
    torch.testing.assert_close(found[0], found[1], rtol=1e-9, atol=1e-12)


def test_blocks_of_several_lengths_are_small(monkeypatch):
    monkeypatch.setattr(sgraf, "MIXED", 30)
    found = list(sgraf.blocks(torch.tensor([2, 3, 2, 4, 3, 9]), 3, 40))
    assert [(rows.tolist(), n) for rows, n in found] == [
        ([0, 2, 1], 3),  # 3 × 3 words × 3 = 27
        ([4, 3], 4),  # 24
        ([5], 9),
    ]


def test_blocks_hold_each_caption_once(monkeypatch):
    monkeypatch.setattr(sgraf, "MIXED", 0)
    found = list(sgraf.blocks(torch.tensor([2, 3, 2, 2, 3, 9]), 3, 12))
    assert [(rows.tolist(), n) for rows, n in found] == [
        ([0, 2], 2),
        ([3], 2),
        ([1], 3),
        ([4], 3),
        ([5], 9),
    ]


# --- The sides -----------------------------------------------------------------------------------


def test_encoded_sides():
    model, (regions, ids, lengths) = build().eval(), inputs()
    images, captions = model.encode_images(regions), model.encode_captions(ids, lengths)
    assert images.local.shape == (3, 4, 8) and captions.local.shape == (5, 5, 8)
    assert torch.allclose(images.local, unit(model.image(regions)))
    assert torch.allclose(images.pooled, unit(images.local.mean(1)))
    for row, n in enumerate(lengths.tolist()):
        words = captions.local[row, :n]
        assert torch.allclose(words.norm(dim=1), torch.ones(n).double())
        assert torch.allclose(captions.pooled[row], unit(words.mean(0)))
        assert torch.allclose(captions.whole[row], whole_caption(model.whole_caption, words))
    assert torch.allclose(images.whole.norm(dim=1), torch.ones(3).double())
    assert images.lengths is None and torch.equal(captions.lengths, lengths)


def test_rows_of_encoded_sides():
    model, (regions, ids, lengths) = build().eval(), inputs()
    images, captions = model.encode_images(regions), model.encode_captions(ids, lengths)
    scores = model.similarity(images, captions)
    some = model.similarity(images.rows([2, 0]), captions.rows(lengths == 3))
    assert torch.allclose(some, scores[[2, 0]][:, [0, 3]], atol=1e-12)
    assert images.rows([1]).lengths is None


def test_dropout_and_batch_normalisation_in_training_alone():
    model, (regions, ids, lengths) = build(dropout=0.4), inputs()
    model.train()
    a, b = model.encode_captions(ids, lengths), model.encode_captions(ids, lengths)
    assert not torch.allclose(a.local[:, 0], b.local[:, 0])  # word vectors
    before = model.whole_image.each[1].running_mean.clone()
    a, b = model.encode_images(regions), model.encode_images(regions)
    assert not torch.allclose(a.whole, b.whole)
    assert not torch.allclose(model.whole_image.each[1].running_mean, before)
    model.eval()
    assert torch.equal(model(regions, ids, lengths), model(regions, ids, lengths))
    assert not any(isinstance(m, nn.BatchNorm1d) for m in model.whole_caption.modules())


def test_a_model_begins_as_the_code_does():
    torch.manual_seed(0)
    vectors = torch.randn(10, 7)
    model = sgraf.build("sgr", 6, vectors, dim=8, sim_dim=5, regions=4)
    assert torch.equal(model.text.vectors[0].weight, vectors) and model.scale == 9.0
    assert {m.p for m in model.modules() if isinstance(m, nn.Dropout)} == {0.4}
    for name, module in model.named_modules():
        if isinstance(module, nn.Linear):
            bound = math.sqrt(6 / sum(module.weight.shape))
            assert 0.4 * bound < module.weight.abs().max() <= bound, name
            assert module.bias is None or (module.bias == 0).all(), name
    assert len(model.reason.steps) == 3
    torch.manual_seed(0)
    again = sgraf.build("sgr", 6, torch.randn(10, 7), dim=8, sim_dim=5, regions=4)
    assert all(map(torch.equal, model.state_dict().values(), again.state_dict().values()))


def test_a_text_side_keeps_its_weights():
    """It may have been trained: weights by Xavier and biases of 0 are for the rest."""
    text = nn.Sequential(nn.Embedding(9, 3), nn.Linear(3, 8))
    before = {name: value.clone() for name, value in text.state_dict().items()}
    model = sgraf.SGRAF(text, sgraf.SAF(5), 6, 8, 5, 4)
    assert all(torch.equal(model.text.state_dict()[name], before[name]) for name in before)
    assert (before["1.bias"] != 0).any() and (model.image.bias == 0).all()


@KINDS
def test_it_learns_which_belong_together(kind):
    """By steps of 0.01 along the gradient's signs: torch.optim takes seconds to import."""
    torch.manual_seed(0)
    model = sgraf.build(kind, 6, torch.randn(12, 8), dim=16, sim_dim=8, regions=4, dropout=0.0)
    ids = torch.arange(2, 12).view(5, 2)
    regions, lengths = torch.randn(5, 4, 6), torch.full((5,), 2)
    for _ in range(20):
        loss = nn.functional.binary_cross_entropy(model(regions, ids, lengths), torch.eye(5))
        gradients = torch.autograd.grad(loss, list(model.parameters()))
        for parameter, gradient in zip(model.parameters(), gradients):
            parameter.data -= 1e-2 * gradient.sign()
    assert torch.equal(model(regions, ids, lengths).argmax(1), torch.arange(5))


# --- Bad input -----------------------------------------------------------------------------------


def test_bad_input_is_refused():
    model, (regions, ids, lengths) = build(), inputs()
    for wrong in (regions[:, :3], regions[..., :5], regions[0]):
        with pytest.raises(ValueError, match=r"regions must be \(B, 4, 6\), not \("):
            model.encode_images(wrong)
    with pytest.raises(ValueError, match="one image alone"):
        model.train().encode_images(regions[:1])
    assert model.eval()(regions[:1], ids, lengths).shape == (1, 5)
    with pytest.raises(ValueError, match=r"lengths must be \(5,\), not \(4,\)"):
        model.encode_captions(ids, lengths[:4])
    for wrong in (0, 6):
        changed = lengths.clone()
        changed[3] = wrong
        with pytest.raises(ValueError, match=rf"lengths\[3\] is {wrong}; it must be within 1..5"):
            model.encode_captions(ids, changed)


def test_exchanged_or_foreign_sides_are_refused():
    model = build().eval()
    regions, ids, lengths = inputs()
    images, captions = model.encode_images(regions), model.encode_captions(ids, lengths)
    for pair in ((captions, images), (images, images), (captions, captions)):
        with pytest.raises(ValueError, match="are the sides exchanged"):
            model.similarity(*pair)
    wide = Encoded(*(torch.cat((each, each), -1) for each in images[:3]))
    with pytest.raises(ValueError, match="images have d = 16 but captions d = 8"):
        model.similarity(wide, captions)


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"kind": "scan"}, "unknown kind 'scan'; known: sgr, saf"),
        ({"sim_dim": 0}, "sim_dim must be"),
        ({"regions": 0}, "regions must be"),
        ({"steps": 0}, "steps must be"),
        ({"dim": 0}, "dim must"),
    ],
)
def test_models_that_cannot_be_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        build(**changes)
