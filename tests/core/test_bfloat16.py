"""Products of bfloat16 with float32's recalls: the bound, and what is scored once more."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from alignbook.core import bfloat16, kernels, retrieval, similarity
from alignbook.papers.chan import model as chan
from alignbook.papers.chan import rivals
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F

CONFIG = chan.Config(evaluation="mixed")


def packed(sets, each, d, seed=0):
    """Vectors of sets with one to `each` members."""
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.randint(1, each + 1, (sets,), generator=generator)
    vectors = torch.randn(int(lengths.sum()), d, generator=generator)
    return kernels.Packed(vectors, F.pad(lengths.cumsum(0), (1, 0)))


def halfway(sets):
    """The same directions, every component halfway between two numbers of bfloat16."""
    exact = F.normalize(sets.vectors, dim=-1)
    below = (exact.view(torch.int32) & ~0xFFFF).view(torch.float32)
    step = torch.ldexp(torch.ones_like(exact), exact.frexp().exponent - 8)
    return sets._replace(vectors=below + step * (0.5 - 2**-10) * exact.sign())


# --- The bound -----------------------------------------------------------------------------------


@pytest.mark.parametrize("adversary", (False, True))
@pytest.mark.parametrize("pooling", bfloat16.POOLINGS)
@pytest.mark.parametrize("codebook", similarity.CODEBOOKS)
@pytest.mark.parametrize("d", (3, 64, 1000))
def test_no_score_is_further_away_than_the_bound(d, codebook, pooling, adversary):
    regions, words = packed(20, 9, d), packed(30, 6, d, seed=1)
    words.vectors[0] = regions.vectors[0]  # a score of 1
    if adversary:
        regions, words = halfway(regions), halfway(words)
    config = replace(CONFIG, codebook=codebook, pooling=pooling)
    (halves, of_regions), (other, of_words) = bfloat16.rounded(regions), bfloat16.rounded(words)
    scores, rest = bfloat16.similarity(halves, other, config)
    exact = similarity.hard_coding(regions, words, codebook=codebook, pooling=pooling)
    far, bound = (scores - exact).abs(), bfloat16.bound(of_regions, of_words, rest)
    assert far.shape == bound.shape == (20, 30) and (far <= bound).all()
    assert far.max() > 1e-4 and bound.max() < 0.02  # neither idle nor vacuous


def test_rounding_errors_are_those_of_the_worst_member():
    vectors = torch.tensor([[1.0, 0.0], [0.6, 0.8], [4.0, 0.0], [0.0, 2.0]])
    half, moved = bfloat16.rounded(kernels.Packed(vectors, torch.tensor([0, 1, 3, 4])))
    assert half.vectors.dtype == torch.bfloat16
    # 0.6 becomes 0.6015625 and 0.8 becomes 0.80078125.
    torch.testing.assert_close(moved, torch.tensor([0.0, math.hypot(0.0015625, 0.00078125), 0.0]))


def test_it_applies_where_an_error_does_not_grow():
    assert bfloat16.applies(CONFIG) and not bfloat16.applies(chan.Config())
    assert not bfloat16.applies(rivals.Config())
    for change in ({"coding": "soft"}, {"pooling": "sum"}, {"pooling": "softmax"}):
        assert not bfloat16.applies(replace(CONFIG, **change))


# --- What is scored once more --------------------------------------------------------------------


def all_recalls(scores, each, folds):
    found = [retrieval.evaluate(scores, each), retrieval.evaluate(scores, each, folds)]
    return [(rule.i2t, rule.t2i) for one in found for rule in (one, one.optimistic, one.expected)]


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(1, 3),
    st.sampled_from((1, 2, 5)),
    st.sampled_from((0.0, 0.01, 0.3)),
    st.sampled_from((8, 40, 1000)),
)
def test_sharpened_scores_have_the_exact_ones_recalls(seed, each, folds, slack, levels):
    """Scores of few levels have many ties, and noise of a level's height breaks them all."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bfloat16, "ROWS", 16)
        patch.setattr(bfloat16, "MOST", 1.0)
        sharpened_like_exact(seed, each, folds, slack, levels)


def sharpened_like_exact(seed, each, folds, slack, levels):
    rng = np.random.default_rng(seed)
    n = 40
    exact = torch.from_numpy(rng.integers(0, levels, (n, n * each)) / levels).float()
    exact[np.arange(n * each) // each, np.arange(n * each)] += 0.2
    noise = torch.from_numpy(rng.uniform(-1, 1, exact.shape)).float()
    scores, asked = exact + slack * noise, []

    def again(images, captions):
        asked.append(len(images))
        return exact[images, captions]

    reach = slack * noise.abs().amax(1, keepdim=True) + 1e-6
    share = bfloat16.sharpen(scores, lambda a, b: reach[a:b], again, each, folds)
    assert all_recalls(scores, each, folds) == all_recalls(exact, each, folds)
    assert asked[0] == n * each and round(share * exact.numel()) == sum(asked[1:])


def test_only_pairs_that_matter_are_scored_again():
    """Query 0's item is beyond help, query 1's is sure, query 2's hangs on one pair."""
    exact = torch.eye(30)
    exact[1:, 0], exact[0, 0], exact[0, 10:25] = -0.5, 0.0, 0.9
    exact[2, 7] = 0.995
    asked = []
    scores = exact.clone()

    def again(images, captions):
        asked.append(list(zip(images.tolist(), captions.tolist())))
        return exact[images, captions]

    assert bfloat16.sharpen(scores, lambda a, b: 0.01, again, 1) == 1 / 900
    assert asked == [[(i, i) for i in range(30)], [(2, 7)]]


def near_ties(n=30, d=64, gap=2e-5):
    """Regions and words whose best scores differ by less than bfloat16 can tell."""
    generator = torch.Generator().manual_seed(4)
    common = F.normalize(torch.randn(d, generator=generator), dim=0)
    aside = F.normalize(torch.randn(n, d, generator=generator), dim=1)
    regions = (common + 0.02 * aside)[:, None].repeat(1, 3, 1)
    words = common + gap * 200 * aside.repeat_interleave(5, dim=0)
    return regions, words[:, None].repeat(1, 2, 1)


class Matcher:
    """CHAN after its encoders; counts the pairs it is asked for."""

    def __init__(self, config):
        self.config, self.pairs = config, 0

    def similarity(self, regions, words, word_lengths=None, pairs=None):
        self.pairs += 0 if pairs is None else len(pairs[0])
        return chan.CHAN.similarity(self, regions, words, word_lengths=word_lengths, pairs=pairs)


@pytest.mark.parametrize("most", (1.0, bfloat16.MOST))
@pytest.mark.parametrize("divided", (True, False))
@pytest.mark.parametrize("codebook", similarity.CODEBOOKS)
def test_near_ties_rank_as_in_float32(codebook, divided, most, monkeypatch):
    """One by one; and, as they are so many, all pairs at once."""
    monkeypatch.setattr(bfloat16, "MOST", most)
    regions, words = near_ties()
    lengths = torch.full((len(words),), 2)
    model = Matcher(replace(CONFIG, codebook=codebook, divided=divided))
    exact = model.similarity(regions, words, word_lengths=lengths)
    parts = [(words[:70], lengths[:70]), (words[70:], lengths[70:])]
    scores = bfloat16.evaluate(model, regions, iter(parts), 5, "comparing")
    assert all_recalls(scores, 5, 5) == all_recalls(exact, 5, 5)
    assert (model.pairs > len(words)) == (most == 1)
    assert torch.equal(scores, exact) == (most < 1)
    halves = [
        bfloat16.rounded(kernels.pack(x, torch.full((len(x),), x.shape[1])))[0]
        for x in (regions, words)
    ]
    rough = bfloat16.similarity(*halves, model.config)[0]
    assert all_recalls(rough, 5, 5) != all_recalls(exact, 5, 5)  # or this would show nothing


@pytest.mark.parametrize("codebook", similarity.CODEBOOKS)
def test_exact_ties_stay_ties(codebook, monkeypatch):
    """Pairs of images have the same captions, one very long: a tie, whatever it is scored with."""
    monkeypatch.setattr(bfloat16, "MOST", 1.0)
    monkeypatch.setattr(bfloat16, "PAIR_BYTES", 2**18)  # a few pairs at a time
    generator = torch.Generator().manual_seed(1)
    regions = torch.randn(10, 36, 64, generator=generator).repeat_interleave(2, dim=0)
    lengths = torch.randint(2, 9, (50,), generator=generator)
    words = torch.randn(50, 40, 64, generator=generator)
    lengths[3] = 40
    pairs = torch.arange(20).view(10, 2).repeat_interleave(5, dim=0)  # an image and its twin
    columns = (5 * pairs + torch.arange(50)[:, None] % 5).T.flatten()
    words, lengths = (
        torch.cat((words, words))[columns.argsort()],
        lengths.repeat(2)[columns.argsort()],
    )
    model = Matcher(replace(CONFIG, codebook=codebook))
    exact = model.similarity(regions, words, word_lengths=lengths)
    scores = bfloat16.evaluate(model, regions, iter([(words, lengths)]), 5, "comparing")
    assert (
        retrieval.evaluate(exact).i2t != retrieval.evaluate(exact).optimistic.i2t
    )  # ties there are
    assert all_recalls(scores, 5, 5) == all_recalls(exact, 5, 5)


def test_pairs_far_apart_are_not_asked_for():
    regions = torch.eye(40)[:, None]
    words = regions.repeat_interleave(5, dim=0)
    model = Matcher(CONFIG)
    scores = bfloat16.evaluate(model, regions, iter([(words, torch.ones(200, dtype=int))]), 5, "c")
    assert retrieval.evaluate(scores).rsum == 600 and model.pairs == 200


def test_the_bound_holds_where_a_score_rounds_down_to_a_power_of_two():
    """0.5 + 2⁻⁹ of two numbers of bfloat16 becomes 0.5, half of that interval's unit away."""
    v = torch.zeros(1, 512)
    v[0, 0] = 1
    t = torch.zeros(1, 512)
    t[0, 0], t[0, 1:] = 0.50195, (1 - 0.50195**2) ** 0.5 / 511**0.5
    sets = [kernels.Packed(x, torch.tensor([0, 1])) for x in (v, t)]
    (halves, of_regions), (other, of_words) = map(bfloat16.rounded, sets)
    rough, rest = bfloat16.similarity(halves, other, replace(CONFIG, pooling="max"))
    exact = similarity.hard_coding(*sets, pooling="max")
    assert (rough - exact).abs() <= bfloat16.bound(of_regions, of_words, rest)
    assert rest >= 2**-9 or kernels.choice()[0] != "cpu"


def test_the_largest_score_of_all_blocks_counts(monkeypatch):
    monkeypatch.setattr(similarity, "BLOCK", 1)
    regions = kernels.Packed(torch.eye(4)[:1], torch.tensor([0, 1]))
    for values in ((0.9, 0.1), (0.1, -0.9)):
        words = torch.tensor([[x, (1 - x * x) ** 0.5, 0, 0] for x in values])
        words = kernels.Packed(words, torch.tensor([0, 1, 2]))
        rest = bfloat16.similarity(
            bfloat16.rounded(regions)[0], bfloat16.rounded(words)[0], CONFIG
        )[1]
        assert rest >= 2**-9


def test_the_rounding_of_sums_has_its_part():
    """Of 300 queries and a small width the mean in float32 is what rounds most."""
    config = replace(CONFIG, pooling="lse", scale=0.01)
    regions = kernels.Packed(torch.eye(4), torch.tensor([0, 4]))
    words = kernels.Packed(torch.eye(4)[torch.arange(300) % 4], torch.tensor([0, 300]))
    rest = bfloat16.similarity(bfloat16.rounded(regions)[0], bfloat16.rounded(words)[0], config)[1]
    assert rest >= 2**-8 + 16 * 2**-23 + 2 * 300 / 0.01 * 2**-23


def test_vectors_of_almost_no_length_and_none():
    regions, words = packed(6, 4, 8), packed(9, 3, 8, seed=1)
    words.vectors[:2] = 0
    words.vectors[2:4] *= 1e-13
    (halves, of_regions), (other, of_words) = bfloat16.rounded(regions), bfloat16.rounded(words)
    rough, rest = bfloat16.similarity(halves, other, CONFIG)
    far = (rough - similarity.hard_coding(regions, words)).abs()
    assert (far <= bfloat16.bound(of_regions, of_words, rest)).all()


def test_what_is_not_a_number_is_told_of():
    regions, words = near_ties(10, 8)
    words[7, 0, 0] = math.nan
    parts = iter([(words, torch.full((50,), 2))])
    with pytest.raises(ValueError, match=r"similarity\[0, 7\] is nan"):
        retrieval.evaluate(bfloat16.evaluate(Matcher(CONFIG), regions, parts, 5, "comparing"))


def test_every_image_has_its_own_slack(monkeypatch):
    """The first ten images' vectors are numbers of bfloat16, the others' are not."""
    regions, words = (torch.randn(n, 2, 16) for n in (20, 100))
    regions[:10] = torch.eye(16)[:2]
    given = []
    monkeypatch.setattr(bfloat16, "sharpen", lambda *x: given.append(x) or 0.0)
    model, lengths = Matcher(replace(CONFIG, divided=False)), torch.full((100,), 2)
    scores = bfloat16.evaluate(model, regions, iter([(words, lengths)]), 5, "comparing")
    slack, exact, each, folds = given[0][1:]
    far = (scores - model.similarity(regions, words, word_lengths=lengths)).abs()
    assert (far[15:20] <= slack(15, 20)).all() and (slack(15, 20) > slack(0, 5)).all()
    assert slack(10, 15).max() < 0.2 and (each, folds) == (5, 5)
    rows, columns = torch.tensor([3, 19, 0]), torch.tensor([99, 0, 7])
    expected = model.similarity(regions, words, word_lengths=lengths)[rows, columns]
    monkeypatch.setattr(bfloat16, "PAIR_BYTES", 1)  # one at a time
    torch.testing.assert_close(exact(rows, columns), expected)


def test_chan_takes_it_where_it_applies(monkeypatch):
    regions, words = near_ties(10, 8)
    called = []
    monkeypatch.setattr(chan, "encode_images", lambda *_: regions)
    monkeypatch.setattr(chan, "encode_captions", lambda *_: iter([(words, torch.full((50,), 2))]))
    monkeypatch.setattr(bfloat16, "evaluate", lambda *x: called.append(x) or "mixed")
    dataset = SimpleNamespace(captions_of=lambda split: range(50), captions_per_image=5)
    for change, expected in (({}, True), ({"pooling": "sum"}, False)):
        model = Matcher(replace(CONFIG, **change))
        found = chan.evaluate(model, None, dataset, None, "test")
        assert (isinstance(found, str)) == expected
    assert called[0][3] == 5
