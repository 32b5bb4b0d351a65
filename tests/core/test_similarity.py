"""Hard and soft coding against numbers worked by hand, and against loops written from the paper."""

import math

import numpy as np
import pytest
import torch
from alignbook.core import kernels, similarity
from alignbook.core.similarity import (
    CODEBOOKS,
    POOLINGS,
    fine_grained_matching,
    hard_coding,
    pool,
    soft_coding,
)
from hypothesis import given, settings
from hypothesis import strategies as st

# One image of three regions, one caption of two words; lengths differ from 1 on purpose.
# cosines        region 0   region 1   region 2
#   word 0          1          0         -1          best region: 1
#   word 1         0.6        0.8       -0.6         best region: 0.8
#   best word       1         0.8       -0.6
REGIONS = torch.tensor([[[2.0, 0.0], [0.0, 0.5], [-3.0, 0.0]]], dtype=torch.float64)
WORDS = torch.tensor([[[7.0, 0.0], [3.0, 4.0]]], dtype=torch.float64)


def close(actual, expected, **tolerance):
    expected = torch.as_tensor(expected, dtype=actual.dtype)
    torch.testing.assert_close(actual, expected, **tolerance)


def example(images, captions, k, longest, d, seed=0, ragged=True):
    """Random regions and words with their lengths, padded with zeros."""
    generator = torch.Generator().manual_seed(seed)
    regions = torch.randn(images, k, d, generator=generator, dtype=torch.float64)
    words = torch.randn(captions, longest, d, generator=generator, dtype=torch.float64)
    region_lengths = torch.full((images,), k)
    word_lengths = torch.full((captions,), longest)
    if ragged:
        region_lengths = torch.randint(1, k + 1, (images,), generator=generator)
        word_lengths = torch.randint(1, longest + 1, (captions,), generator=generator)
    return regions, words, region_lengths, word_lengths


def coded(temperature, *arguments, **options):
    if temperature is None:
        return hard_coding(*arguments, **options)
    return soft_coding(*arguments, temperature=temperature, **options)


@pytest.mark.parametrize(
    "pooling, expected",
    [
        ("mean", 0.9),  # (1 + 0.8) / 2
        ("sum", 1.8),
        ("max", 1.0),
        ("lse", math.log(math.exp(2) + math.exp(1.6)) / 2),
        ("softmax", (math.exp(2) + 0.8 * math.exp(1.6)) / (math.exp(2) + math.exp(1.6))),
    ],
)
def test_hard_visual_by_hand(pooling, expected):
    close(hard_coding(REGIONS, WORDS, pooling=pooling, scale=2.0), [[expected]])


@pytest.mark.parametrize(
    "pooling, expected",
    [
        ("mean", 0.4),  # (1 + 0.8 - 0.6) / 3
        ("sum", 1.2),
        ("max", 1.0),
        ("lse", math.log(math.exp(2) + math.exp(1.6) + math.exp(-1.2)) / 2),
        (
            "softmax",
            (math.exp(2) + 0.8 * math.exp(1.6) - 0.6 * math.exp(-1.2))
            / (math.exp(2) + math.exp(1.6) + math.exp(-1.2)),
        ),
    ],
)
def test_hard_textual_by_hand(pooling, expected):
    close(hard_coding(REGIONS, WORDS, codebook="textual", pooling=pooling, scale=2.0), [[expected]])


def test_soft_by_hand():
    # cosines 1 and 0, temperature 1/ln 3: weights 3/4 and 1/4, mixture (0.75, 0.25) of the
    # normalised codewords, its length sqrt(0.625), so the cosine is 0.75 / sqrt(0.625).
    codewords = torch.tensor([[[5.0, 0.0], [0.0, 0.1]]])
    query = torch.tensor([[[2.0, 0.0]]])
    expected = [[0.75 / math.sqrt(0.625)]]
    close(soft_coding(codewords, query, temperature=1 / math.log(3)), expected)
    close(soft_coding(query, codewords, codebook="textual", temperature=1 / math.log(3)), expected)


def test_the_defaults_are_the_papers():
    # Eq. 8 with the visual codebook, and a scaling factor of 10.
    close(hard_coding(REGIONS, WORDS), [[math.log(math.exp(10) + math.exp(8)) / 10]])
    close(
        soft_coding(REGIONS, WORDS, temperature=1e-3), [[math.log(math.exp(10) + math.exp(8)) / 10]]
    )


def test_rows_are_images_and_columns_captions():
    regions = torch.tensor([[[1.0, 0.0]], [[0.0, 1.0]], [[-1.0, 0.0]]])  # three images
    words = torch.tensor([[[1.0, 0.0]], [[0.6, 0.8]]])  # two captions
    expected = [[1.0, 0.6], [0.0, 0.8], [-1.0, -0.6]]
    for codebook in CODEBOOKS:
        close(hard_coding(regions, words, codebook=codebook), expected)
        close(soft_coding(regions, words, codebook=codebook, temperature=0.3), expected)


def test_padding_never_wins_a_maximum():
    # Every cosine is -1: a zero vector, or a score of 0 for a padded one, would beat them all.
    regions = torch.tensor([[[-1.0, 0.0], [0.0, 0.0]], [[-1.0, 0.0], [-1.0, 0.0]]])
    words = torch.tensor([[[1.0, 0.0], [0.0, 0.0]], [[1.0, 0.0], [1.0, 0.0]]])
    for codebook in CODEBOOKS:
        for pooling in ("mean", "max", "softmax"):
            close(
                hard_coding(
                    regions,
                    words,
                    region_lengths=[1, 2],
                    word_lengths=[1, 2],
                    codebook=codebook,
                    pooling=pooling,
                ),
                -torch.ones(2, 2),
            )
            for temperature in (1.0, 1e-3):  # near 0, all the weight goes to the best codeword
                close(
                    soft_coding(
                        regions,
                        words,
                        region_lengths=[1, 2],
                        word_lengths=[1, 2],
                        codebook=codebook,
                        pooling=pooling,
                        temperature=temperature,
                    ),
                    -torch.ones(2, 2),
                )


def test_soft_becomes_hard():
    regions, words, *_ = example(4, 5, 6, 3, 8, seed=3)
    for codebook in CODEBOOKS:
        hard = hard_coding(regions, words, codebook=codebook)
        close(
            soft_coding(regions, words, codebook=codebook, temperature=1e-5),
            hard,
            rtol=1e-6,
            atol=1e-6,
        )


def test_soft_becomes_the_mean_codeword():
    regions, words, *_ = example(4, 5, 6, 1, 8, seed=4)
    mean = torch.nn.functional.normalize(regions, dim=2).mean(dim=1)
    expected = torch.nn.functional.cosine_similarity(mean[:, None], words[None, :, 0], dim=2)
    for temperature in (1e9, math.inf):
        close(soft_coding(regions, words, temperature=temperature), expected)


def test_lse_depends_on_the_number_of_words():
    # Eight equal words score log(8)/scale above one of them; Eq. 3 has no mean.
    one = hard_coding(REGIONS, WORDS[:, :1], scale=5.0)
    close(hard_coding(REGIONS, WORDS[:, :1].expand(1, 8, 2), scale=5.0), one + math.log(8) / 5)


@pytest.mark.parametrize("temperature", [None, 0.3])
def test_zero_vectors_score_zero_with_tame_gradients(temperature):
    regions = torch.zeros(2, 3, 4)
    regions[1, 0] = 1.0
    words = torch.zeros(2, 2, 4)
    words[1, 1] = 1.0
    regions.requires_grad_()
    words.requires_grad_()
    scores = coded(temperature, regions, words, pooling="sum")
    scores.sum().backward()
    close(scores.detach()[0], [0.0, 0.0])
    assert scores[1, 1].item() == pytest.approx(1.0)
    for gradient in (regions.grad, words.grad):
        assert gradient.isfinite().all() and gradient.abs().max() < 1e4


def test_codewords_that_cancel_score_zero():
    codewords = torch.tensor([[[1.0, 0.0], [-1.0, 0.0]]], requires_grad=True)
    scores = soft_coding(codewords, torch.tensor([[[0.0, 1.0]]]), temperature=1.0)
    scores.sum().backward()
    close(scores.detach(), [[0.0]], rtol=0, atol=1e-6)
    assert codewords.grad.isfinite().all()


def test_a_repeated_codeword_shares_no_gradient():
    # max picks one of two equal regions; the gradient must not be doubled.
    regions = torch.tensor([[[1.0, 0.0], [1.0, 0.0]]], requires_grad=True)
    hard_coding(regions, torch.tensor([[[0.6, 0.8]]]), pooling="sum").sum().backward()
    close(regions.grad.sum(dim=1), [[0.0, 0.8]])  # the part of the word across the region


def test_types():
    regions, words, *_ = example(2, 3, 4, 5, 6, ragged=False)
    expected = hard_coding(regions, words)
    assert expected.dtype == torch.float64
    assert hard_coding(regions.float(), words.float()).dtype == torch.float32
    assert hard_coding(regions.float(), words).dtype == torch.float64
    for dtype in (torch.float16, torch.bfloat16):
        half = hard_coding(regions.to(dtype), words.to(dtype))
        assert half.dtype == torch.float32
        close(half, hard_coding(regions.to(dtype).float(), words.to(dtype).float()))


def test_lengths_may_be_lists_tensors_or_missing():
    regions, words, *_ = example(2, 3, 4, 5, 6)
    expected = hard_coding(regions, words[:, :2])
    for lengths in ([2, 2, 2], torch.tensor([2, 2, 2]), torch.tensor([2, 2, 2], dtype=torch.int16)):
        close(hard_coding(regions, words, word_lengths=lengths), expected)
    close(hard_coding(regions, words, word_lengths=[5, 5, 5]), hard_coding(regions, words))
    close(hard_coding(regions, words, region_lengths=[1, 1]), hard_coding(regions[:, :1], words))


def test_what_does_not_fit_is_refused():
    regions, words, *_ = example(2, 3, 4, 5, 6)
    for message, change in {
        r"word_lengths\[1\] is 0": {"word_lengths": [5, 0, 1]},
        r"word_lengths\[2\] is 6; it must be within 1..5": {"word_lengths": [5, 1, 6]},
        r"region_lengths\[0\] is -1": {"region_lengths": [-1, 4]},
        "region_lengths must be 2 integers": {"region_lengths": [1, 2, 3]},
        "word_lengths must be 3 integers": {"word_lengths": [1.0, 2.0, 3.0]},
        "unknown codebook 'image'; known: visual, textual": {"codebook": "image"},
        "unknown pooling 'average'; known: lse, mean": {"pooling": "average"},
        "scale must be positive": {"scale": 0.0},
        "scale must be .*finite": {"scale": math.inf},
    }.items():
        with pytest.raises(ValueError, match=message):
            hard_coding(regions, words, **change)
        with pytest.raises(ValueError, match=message):
            soft_coding(regions, words, temperature=1.0, **change)
    for temperature in (0.0, -1.0, math.nan):
        with pytest.raises(ValueError, match="temperature must be positive"):
            soft_coding(regions, words, temperature=temperature)
    for message, left, right in [
        ("regions have d = 6 but words d = 5", regions, words[..., :5]),
        (r"regions must be \(B1, K, d\), not of shape", regions[0], words),
        (r"words must be \(B2, L, d\), not of shape", regions, words[0]),
        ("nothing empty", regions[:0], words),
        ("nothing empty", regions, words[:, :0]),
        ("floating point", regions, words.long()),
    ]:
        with pytest.raises(ValueError, match=message):
            hard_coding(left, right)


def slow(regions, words, region_lengths, word_lengths, codebook, pooling, scale, temperature=None):
    """CHAN Eq. 1 to 6 and 8, literally, in float64."""

    def unit(x):
        return x / np.linalg.norm(x)

    out = np.empty((len(regions), len(words)))
    for a, image in enumerate(regions):
        for b, caption in enumerate(words):
            v = [unit(x) for x in image[: region_lengths[a]]]
            t = [unit(x) for x in caption[: word_lengths[b]]]
            queries, codewords = (t, v) if codebook == "visual" else (v, t)
            s = []
            for query in queries:
                s_ij = [float(query @ codeword) for codeword in codewords]
                if temperature is None:  # Eq. 5
                    omega = [1.0 if j == int(np.argmax(s_ij)) else 0.0 for j in range(len(s_ij))]
                else:  # Eq. 4
                    omega = [math.exp(x / temperature) for x in s_ij]
                    omega = [x / sum(omega) for x in omega]
                attended = sum(w * codeword for w, codeword in zip(omega, codewords))  # Eq. 2
                s.append(float(query @ attended / np.linalg.norm(attended)))  # Eq. 1, 6
            exps = [math.exp(scale * x) for x in s]
            out[a, b] = {
                "lse": math.log(sum(exps)) / scale,  # Eq. 3, 8
                "mean": sum(s) / len(s),
                "sum": sum(s),
                "max": max(s),
                "softmax": sum(e * x for e, x in zip(exps, s)) / sum(exps),
            }[pooling]
    return out


@pytest.mark.parametrize("temperature", [None, 0.2, 1.0])
@pytest.mark.parametrize("codebook", CODEBOOKS)
@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize("shape", [(3, 5, 4, 6, 8), (1, 1, 1, 1, 1), (7, 2, 1, 7, 3)])
def test_the_loop_of_the_paper(shape, pooling, codebook, temperature):
    for ragged in (True, False):
        regions, words, region_lengths, word_lengths = example(*shape, ragged=ragged)
        expected = slow(
            regions.numpy(),
            words.numpy(),
            region_lengths,
            word_lengths,
            codebook,
            pooling,
            3.0,
            temperature,
        )
        actual = coded(
            temperature,
            regions,
            words,
            region_lengths=region_lengths,
            word_lengths=word_lengths,
            codebook=codebook,
            pooling=pooling,
            scale=3.0,
        )
        close(actual, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("temperature", [None, 0.5])
@pytest.mark.parametrize("codebook", CODEBOOKS)
@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize("poison", [math.nan, math.inf, 1e30])
def test_padding_may_hold_anything(poison, pooling, codebook, temperature):
    regions, words, region_lengths, word_lengths = example(3, 4, 5, 6, 7, seed=1)
    options = {
        "region_lengths": region_lengths,
        "word_lengths": word_lengths,
        "codebook": codebook,
        "pooling": pooling,
    }
    expected = coded(temperature, regions, words, **options)
    real_regions = torch.arange(5) < region_lengths[:, None]
    real_words = torch.arange(6) < word_lengths[:, None]
    regions[~real_regions] = poison
    words[~real_words] = poison
    regions.requires_grad_()
    words.requires_grad_()
    actual = coded(temperature, regions, words, **options)
    close(actual.detach(), expected)
    actual.sum().backward()
    for x, real in ((regions, real_regions), (words, real_words)):
        assert (x.grad[~real] == 0).all()
        assert x.grad.isfinite().all() and (x.grad[real] != 0).any()


@pytest.mark.parametrize("temperature", [None, 0.5])
@pytest.mark.parametrize("codebook", CODEBOOKS)
def test_blocks_change_nothing(monkeypatch, codebook, temperature):
    """One pass and blocks of few queries agree; a set larger than a block is one of its own."""

    def run():
        regions, words, region_lengths, word_lengths = example(7, 9, 5, 6, 4, seed=2)
        regions.requires_grad_()
        words.requires_grad_()
        scores = coded(
            temperature,
            regions,
            words,
            region_lengths=region_lengths,
            word_lengths=word_lengths,
            codebook=codebook,
        )
        (scores * torch.arange(63.0).view(7, 9)).sum().backward()
        return scores.detach(), regions.grad, words.grad

    sizes = []
    for name in ("grouped_max", "soft_coding"):
        kernel = getattr(kernels, name)

        def watched(queries, *others, kernel=kernel):
            sizes.append(len(queries))
            return kernel(queries, *others)

        monkeypatch.setattr(kernels, name, watched)
    whole = run()
    assert len(sizes) == 1
    for block in (8, 3):
        monkeypatch.setattr(similarity, "BLOCK", block)
        sizes.clear()
        for actual, expected in zip(run(), whole):
            close(actual, expected)
        assert len(sizes) > 2 and max(sizes) <= max(block, 6)


@pytest.mark.parametrize("temperature", [None, 0.5])
@pytest.mark.parametrize("codebook", CODEBOOKS)
def test_packed_fragments_are_padded_ones(codebook, temperature):
    regions, words, region_lengths, word_lengths = example(3, 4, 5, 6, 7, seed=3)
    packed = kernels.pack(regions, region_lengths), kernels.pack(words, word_lengths)
    expected = coded(
        temperature,
        regions,
        words,
        region_lengths=region_lengths,
        word_lengths=word_lengths,
        codebook=codebook,
    )
    close(coded(temperature, *packed, codebook=codebook), expected)


def test_packed_fragments_that_do_not_fit():
    regions, words, _, word_lengths = example(2, 3, 4, 5, 6)
    packed = kernels.pack(words, word_lengths)
    with pytest.raises(ValueError, match="word_lengths must be None"):
        hard_coding(regions, packed, word_lengths=word_lengths)
    for offsets in ([0, 2, 5], [3, 5, 10], [0, 2, 50]):
        for codebook in CODEBOOKS:
            with pytest.raises(ValueError, match="to the .* words"):
                hard_coding(
                    regions, packed._replace(offsets=torch.tensor(offsets)), codebook=codebook
                )
    with pytest.raises(ValueError, match="without any fragment"):
        hard_coding(regions, kernels.pack(words, torch.tensor([2, 0, 1])))
    with pytest.raises(ValueError, match=r"packed \(N, d\)"):
        hard_coding(regions, packed._replace(vectors=words))
    with pytest.raises(ValueError, match="regions have d = 6 but words d = 3"):
        hard_coding(regions, packed._replace(vectors=packed.vectors[:, :3]))


def test_pool_of_packed_queries():
    """Sets of one and of two queries; unequal lengths must not see each other's padding."""
    scores = torch.tensor([[0.2, -0.4], [0.6, 0.0], [1.0, -0.9]], dtype=torch.float64)
    offsets = torch.tensor([0, 2, 3])
    close(pool(scores, offsets, "mean"), [[0.4, -0.2], [1.0, -0.9]])
    close(pool(scores, offsets, "sum"), [[0.8, -0.4], [1.0, -0.9]])
    close(pool(scores, offsets, "max"), [[0.6, 0.0], [1.0, -0.9]])
    first = math.log(math.exp(0.4) + math.exp(1.2)) / 2
    close(pool(scores, offsets, "lse", 2.0)[:, 0], [first, 1.0])


@settings(max_examples=30, deadline=None)
@given(
    st.integers(0, 10**6),
    st.sampled_from(POOLINGS),
    st.sampled_from(CODEBOOKS),
    st.sampled_from([None, 0.3]),
    st.integers(1, 4),
    st.integers(1, 4),
    st.integers(1, 5),
    st.integers(1, 5),
)
def test_order_and_length_of_vectors_do_not_matter(
    seed, pooling, codebook, temperature, images, captions, k, longest
):
    regions, words, *_ = example(images, captions, k, longest, 5, seed=seed)
    options = {"pooling": pooling, "codebook": codebook}
    expected = coded(temperature, regions, words, **options)
    rows, columns = torch.randperm(images), torch.randperm(captions)
    shuffled = coded(
        temperature,
        3.7 * regions[rows][:, torch.randperm(k)],
        0.01 * words[columns][:, torch.randperm(longest)],
        **options,
    )
    close(shuffled, expected[rows][:, columns])


@pytest.mark.parametrize("temperature", [None, 0.3])
@pytest.mark.parametrize("codebook", CODEBOOKS)
@pytest.mark.parametrize("pooling", POOLINGS)
def test_gradients(pooling, codebook, temperature):
    regions, words, region_lengths, word_lengths = example(2, 3, 3, 4, 3, seed=5)

    def function(regions, words):
        return coded(
            temperature,
            regions,
            words,
            region_lengths=region_lengths,
            word_lengths=word_lengths,
            codebook=codebook,
            pooling=pooling,
            scale=2.0,
        )

    assert torch.autograd.gradcheck(function, (regions.requires_grad_(), words.requires_grad_()))


# --- Fine-grained matching -----------------------------------------------------------------------


def slow_matching(x, y, x_mask, y_mask):
    """ComAlign Eq. 2 as a loop, both ways."""
    both = np.zeros((2, len(x), len(y)))
    for a in range(len(x)):
        for b in range(len(y)):
            scores = x[a][x_mask[a]].numpy() @ y[b][y_mask[b]].numpy().T
            if scores.size:
                both[:, a, b] = scores.max(axis=1).mean(), scores.max(axis=0).mean()
    return both


def test_matching_by_hand():
    """Two against two: scores 3 1 / 0 2; one direction's maxima 3 and 2, the other's 3 and 2."""
    x = torch.tensor([[[1.0, 0.0], [0.0, 1.0]]])
    y = torch.tensor([[[3.0, 0.0], [1.0, 2.0]], [[-1.0, 1.0], [9.0, 9.0]]])
    x_to_y, y_to_x = fine_grained_matching(x, y, y_mask=torch.tensor([[True, True], [True, False]]))
    close(x_to_y, [[2.5, 0.0]])  # of the second, (-1 + 1) / 2
    close(y_to_x, [[2.5, 1.0]])


@pytest.mark.parametrize("poison", [math.nan, math.inf])
def test_matching_is_the_loop_and_masked_vectors_do_not_matter(poison):
    x, y, *_ = example(4, 5, 3, 6, 7, seed=8)
    x_mask, y_mask = torch.rand(4, 3) < 0.6, torch.rand(5, 6) < 0.6
    x_mask[1], y_mask[2] = False, False  # sets without anything
    expected = slow_matching(x, y, x_mask, y_mask)
    x[~x_mask], y[~y_mask] = poison, poison
    x.requires_grad_()
    y.requires_grad_()
    x_to_y, y_to_x = fine_grained_matching(x, y, x_mask, y_mask)
    close(x_to_y.detach(), expected[0])
    close(y_to_x.detach(), expected[1])
    (x_to_y.sum() + y_to_x.sum()).backward()
    for each, mask in ((x.grad, x_mask), (y.grad, y_mask)):
        assert (each[~mask] == 0).all() and each.isfinite().all() and (each[mask] != 0).any()


def test_matching_in_half_precision_and_what_does_not_fit():
    x, y, *_ = example(2, 3, 4, 5, 6)
    found = fine_grained_matching(x.half(), y.half())[0]
    assert found.dtype == torch.float32
    close(found, fine_grained_matching(x.half().float(), y.half().float())[0])
    with pytest.raises(ValueError, match="x_mask must be"):
        fine_grained_matching(x, y, x_mask=torch.ones(2, 4))
    with pytest.raises(ValueError, match=r"y must be \(B, N, d\)"):
        fine_grained_matching(x, y[0])
    with pytest.raises(ValueError, match="x have d = 6 but y d = 5"):
        fine_grained_matching(x, y[..., :5])
