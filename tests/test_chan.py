"""CHAN: the model against the equations written as loops, and its switches."""

import math
from dataclasses import replace

import pytest
import torch

from alignbook import chan, profiles
from alignbook.encoders import RegionEncoder


def cosine(a, b):
    lengths = math.sqrt(sum(x * x for x in a) * sum(y * y for y in b))
    return sum(x * y for x, y in zip(a, b)) / lengths


def model(**changes):
    torch.manual_seed(1)
    config = chan.Config(dim=8, regions=5, **changes)
    return chan.CHAN(config, feature_dim=6, word_vectors=torch.randn(12, 4)).double().eval()


@torch.no_grad()
def test_the_model_computes_equation_8():
    net = model(scale=7.0)
    regions = net.image(torch.randn(2, 5, 6).double())
    lengths = torch.tensor([3, 2])
    words = net.text(torch.tensor([[2, 3, 4], [5, 6, 0]]), lengths)
    scores = net.similarity(regions, words, word_lengths=lengths)
    for i in range(2):
        for j in range(2):
            total = 0.0
            for t in words[j, : lengths[j]].tolist():
                total += math.exp(7.0 * max(cosine(t, v) for v in regions[i].tolist()))
            assert scores[i, j].item() == pytest.approx(math.log(total) / 7.0, abs=1e-9)


@torch.no_grad()
def test_the_model_computes_cross_attention():
    tau = 0.3
    net = model(coding="soft", temperature=tau, pooling="mean")
    regions, lengths = net.image(torch.randn(1, 5, 6).double()), torch.tensor([2])
    words = net.text(torch.tensor([[2, 3]]), lengths)
    scores = []
    for t in words[0].tolist():
        unit = [[x / math.sqrt(sum(y * y for y in v)) for x in v] for v in regions[0].tolist()]
        weights = [math.exp(cosine(t, v) / tau) for v in unit]
        mixed = [sum(w * v[d] for w, v in zip(weights, unit)) / sum(weights) for d in range(8)]
        scores.append(cosine(t, mixed))
    found = net.similarity(regions, words, word_lengths=lengths).item()
    assert found == pytest.approx(sum(scores) / 2, abs=1e-9)


def test_word_vectors_start_from_those_given():
    vectors = torch.randn(12, 4)
    net = chan.CHAN(chan.Config(dim=8), 6, vectors)
    assert torch.equal(net.text.vectors.weight, vectors)
    assert net.text.vectors.weight.requires_grad


def test_drop_regions_leaves_the_rest_in_order():
    torch.manual_seed(0)
    regions = torch.arange(10.0).view(1, 10, 1).expand(50, 10, 3)
    kept = chan.drop_regions(regions, 0.2)
    assert kept.shape == (50, 8, 3)
    assert (kept[:, 1:, 0] > kept[:, :-1, 0]).all()
    assert len({tuple(row) for row in kept[:, :, 0].tolist()}) > 10  # not the same ones each time
    assert torch.equal(chan.drop_regions(regions, 0.0), regions)


@torch.no_grad()
def test_the_region_encoder_adds_attention_to_a_projection():
    torch.manual_seed(0)
    encoder = RegionEncoder(6, 8).eval()
    features = torch.randn(2, 5, 6)
    projected = encoder.project(features)
    context = encoder.attention(projected, projected, projected)[0]
    assert torch.allclose(encoder(features), projected + context, atol=1e-6)


def test_an_unknown_exhibit_is_refused():
    with pytest.raises(KeyError, match="chan-T9"):
        chan.arms("chan-T9", profiles.get("smoke"))


def test_only_what_an_arm_is_about_differs_between_arms():
    arms = chan.arms("chan-T3", profiles.get("laptop"))
    first = arms["visual-codebook"][0]
    assert arms["textual-codebook"][0].codebook == "textual"
    assert replace(arms["textual-codebook"][0], codebook="visual") == first
    assert replace(arms["softmax"][0], pooling="lse") == first
    assert replace(arms["cross-attention-1/9"][0], coding="hard", temperature=0.0) == first
    assert replace(arms["permuted"][0], permute_captions=False, margin=first.margin) == first
    assert [arms[a][0].pooling for a in ("max", "average", "sum", "softmax")] == [
        "max", "mean", "sum", "softmax"]
    assert first.coding == "hard" and arms["cross-attention"][0].coding == "soft"
    assert all(c.temperature == 1 / 9 for c in arms["cross-attention-1/9"])
