"""Recalls and ranks against numbers worked by hand, and against sorting in Python."""

import math
import os
import subprocess
import sys
from itertools import permutations

import numpy as np
import pytest
import torch
from alignbook.core import retrieval
from alignbook.core.protocol import Protocol
from alignbook.core.retrieval import evaluate, ranks
from hypothesis import given, settings
from hypothesis import strategies as st

# Three images of two captions: image 0 owns columns 0 and 1, image 1 columns 2 and 3, ...
#            own                         best   negatives above it      tied negatives
# image 0    0.9 and 0.1                 0.9    none                    one (column 4)
# image 1    0.5 and 0.3                 0.5    three: 0.6, 0.7, 0.8    none
# image 2    0.6 and 0.6 (both best)     0.6    none                    one (column 0)
SIMILARITY = np.array(
    [[0.9, 0.1, 0.2, 0.3, 0.9, 0.0], [0.6, 0.7, 0.5, 0.3, 0.8, 0.4], [0.6, 0.2, 0.5, 0.5, 0.6, 0.6]]
)
# column     own (image)    others          above   tied
# 0          0.9 (0)        0.6 0.6         0       0
# 1          0.1 (0)        0.7 0.2         2       0
# 2          0.5 (1)        0.2 0.5         0       1
# 3          0.3 (1)        0.3 0.5         1       1
# 4          0.6 (2)        0.9 0.8         2       0
# 5          0.6 (2)        0.0 0.4         0       0


def test_ranks_by_hand():
    images, captions = ranks(SIMILARITY, captions_per_image=2)
    assert images.tolist() == [2, 4, 2]
    assert captions.tolist() == [1, 3, 2, 3, 3, 1]


def test_recalls_by_hand():
    result = evaluate(SIMILARITY, captions_per_image=2)
    assert result.i2t == pytest.approx({1: 0.0, 5: 100.0, 10: 100.0})
    assert result.t2i == pytest.approx({1: 100 * 2 / 6, 5: 100.0, 10: 100.0})
    assert result.rsum == pytest.approx(400 + 200 / 6)
    assert result.median_rank_i2t == 2.0  # of 2, 4, 2
    assert result.median_rank_t2i == 2.5  # of 1, 3, 2, 3, 3, 1
    assert (result.n_images, result.n_captions) == (3, 6)
    assert result.optimistic.i2t[1] == pytest.approx(200 / 3)  # images 0 and 2
    assert result.optimistic.t2i[1] == pytest.approx(300 / 6)  # columns 0, 2 and 5
    # Image 0: one of two comes first, 1/2; image 2: two of three correct, 2/3; image 1: never.
    assert result.expected.i2t[1] == pytest.approx(100 * (1 / 2 + 2 / 3) / 3)
    assert result.expected.t2i[1] == pytest.approx(100 * (1 + 1 / 2 + 1) / 6)
    assert result.expected.rsum == pytest.approx(400 + 100 * (1 / 2 + 2 / 3) / 3 + 250 / 6)


def test_recall_within_exactly_k():
    """A caption at rank 5 counts within 5 and not within 4, and likewise for 10."""
    for rank, within in (
        (1, (1, 5, 10)),
        (2, (5, 10)),
        (5, (5, 10)),
        (6, (10,)),
        (10, (10,)),
        (11, ()),
    ):
        similarity = np.zeros((20, 20))
        similarity[0, 1:rank] = 2.0  # rank - 1 negatives above image 0's caption
        similarity[0, 0] = 1.0
        np.fill_diagonal(similarity[1:, 1:], 3.0)
        result = evaluate(similarity, captions_per_image=1)
        assert result.i2t == {k: 100.0 if k in within else 95.0 for k in (1, 5, 10)}
        assert ranks(similarity, 1)[0].tolist() == [rank] + [1] * 19
        transposed = evaluate(similarity.T, captions_per_image=1)
        assert transposed.t2i == result.i2t and transposed.i2t == result.t2i


def test_all_scores_equal():
    # 40 images of 5 captions: 195 tied negatives for an image, 39 for a caption.
    result = evaluate(np.zeros((40, 200)))
    assert result.rsum == 0.0
    assert result.optimistic.rsum == 600.0
    assert result.median_rank_i2t == 196.0 and result.median_rank_t2i == 40.0
    for k in (1, 5, 10):
        # All of the first k drawn from 5 own and 195 others are others; a caption's image is
        # equally likely at each of 40 places.
        none = math.comb(195, k) / math.comb(200, k)
        assert result.expected.i2t[k] == pytest.approx(100 * (1 - none))
        assert result.expected.t2i[k] == pytest.approx(100 * k / 40)


def test_folds_are_consecutive_blocks():
    similarity = np.random.default_rng(0).normal(size=(15, 30))
    result = evaluate(similarity, captions_per_image=2, folds=5)
    parts = [
        evaluate(similarity[3 * f : 3 * f + 3, 6 * f : 6 * f + 6], captions_per_image=2)
        for f in range(5)
    ]
    for rule in (lambda r: r, lambda r: r.optimistic, lambda r: r.expected):
        for side in ("i2t", "t2i"):
            for k in (1, 5, 10):
                assert getattr(rule(result), side)[k] == pytest.approx(
                    np.mean([getattr(rule(part), side)[k] for part in parts])
                )
        assert rule(result).rsum == pytest.approx(np.mean([rule(part).rsum for part in parts]))
    pooled = [ranks(similarity[3 * f : 3 * f + 3, 6 * f : 6 * f + 6], 2) for f in range(5)]
    assert result.median_rank_i2t == np.median(np.concatenate([r for r, _ in pooled]))
    assert result.median_rank_t2i == np.median(np.concatenate([r for _, r in pooled]))
    assert (result.n_images, result.n_captions) == (15, 30)
    assert result.i2t[1] != evaluate(similarity, captions_per_image=2).i2t[1]


def slow(similarity, captions_per_image):
    """(above, tied, correct) of every image and every caption, one score at a time."""
    images, captions = [], []
    for i, row in enumerate(similarity):
        own = range(captions_per_image * i, captions_per_image * (i + 1))
        best = max(row[c] for c in own)
        others = [x for c, x in enumerate(row) if c not in own]
        images.append(
            (
                sum(x > best for x in others),
                sum(x == best for x in others),
                sum(row[c] == best for c in own),
            )
        )
    for c in range(similarity.shape[1]):
        mine = similarity[c // captions_per_image, c]
        others = [x for i, x in enumerate(similarity[:, c]) if i != c // captions_per_image]
        captions.append((sum(x > mine for x in others), sum(x == mine for x in others), 1))
    return images, captions


def chance(above, tied, correct, k):
    """P(rank <= k): walk through every order of the tie."""
    orders = set(permutations([0] * tied + [1] * correct))
    return sum(above + order.index(1) + 1 <= k for order in orders) / len(orders)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 5), st.integers(1, 3), st.integers(1, 6), st.integers(0, 10**6))
def test_counting_and_chance_one_by_one(images, captions_per_image, values, seed):
    similarity = (
        np.random.default_rng(seed).integers(0, values, size=(images, captions_per_image * images))
        / 4
    )
    # Few values, so many ties; small ties, so that all their orders can be walked through.
    counts = slow(similarity, captions_per_image)
    result = evaluate(similarity, captions_per_image)
    for side, (queries, found) in enumerate(zip(counts, ranks(similarity, captions_per_image))):
        assert found.tolist() == [1 + above + tied for above, tied, _ in queries]
        for k in (1, 5, 10):
            worst, best, mean = (
                (r.i2t, r.t2i)[side][k] for r in (result, result.optimistic, result.expected)
            )
            assert worst == pytest.approx(100 * np.mean([a + t < k for a, t, _ in queries]))
            assert best == pytest.approx(100 * np.mean([a < k for a, _, _ in queries]))
            assert worst - 1e-9 <= mean <= best + 1e-9
            if max(tied for _, tied, _ in queries) <= 5:
                assert mean == pytest.approx(100 * np.mean([chance(*q, k) for q in queries]))


def test_blocks_of_rows_change_nothing(monkeypatch):
    similarity = np.random.default_rng(1).integers(0, 9, size=(300, 600)).astype(np.float32)
    whole = evaluate(similarity, captions_per_image=2)  # 300 rows: three blocks already
    for rows in (1, 7, 255):
        monkeypatch.setattr(retrieval, "ROWS", rows)
        assert evaluate(similarity, captions_per_image=2) == whole
    monkeypatch.setattr(retrieval, "ROWS", 64)
    images, captions = slow(similarity[:70, :140], 2)
    found = ranks(similarity[:70, :140], 2)
    assert found[0].tolist() == [1 + a + t for a, t, _ in images]
    assert found[1].tolist() == [1 + a + t for a, t, _ in captions]


def test_random_scores_are_at_chance():
    result = evaluate(np.random.default_rng(2).normal(size=(500, 2500)).astype(np.float32))
    # t2i at 10: 10/500 = 2 %, standard error 0.28 %; i2t at 10: about 5 * 10/2500 = 2 %, 0.63 %.
    assert 1.0 < result.t2i[10] < 3.0 and result.i2t[10] < 4.6
    assert 225 < result.median_rank_t2i < 275


def test_half_precision_ties_are_seen():
    fine = np.array([[0.70001, 0.70002], [0.1, 0.9]])
    assert evaluate(fine, 1).optimistic.i2t[1] == 50.0
    for half in (fine.astype(np.float16), torch.tensor(fine).half(), torch.tensor(fine).bfloat16()):
        result = evaluate(half, 1)
        assert (result.i2t[1], result.expected.i2t[1], result.optimistic.i2t[1]) == (50, 75, 100)


def test_arrays_and_tensors_of_every_type_agree():
    similarity = np.random.default_rng(3).integers(0, 50, size=(12, 60)) / 64  # exact in half
    expected = evaluate(similarity)
    for dtype in (np.float16, np.float32, np.longdouble):
        assert evaluate(similarity.astype(dtype)) == expected
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        assert evaluate(torch.tensor(similarity, dtype=dtype, requires_grad=True)) == expected
    assert evaluate(np.asfortranarray(similarity)) == expected


def test_increasing_functions_of_the_scores_change_nothing():
    similarity = np.random.default_rng(4).normal(size=(20, 100))
    assert evaluate(np.exp(similarity)) == evaluate(similarity)
    assert evaluate(similarity).rsum != evaluate(-similarity).rsum


def test_perfect_and_hopeless():
    perfect = np.kron(np.eye(30), np.ones((1, 5)))
    assert evaluate(perfect).rsum == evaluate(perfect).expected.rsum == 600.0
    assert evaluate(perfect).median_rank_i2t == evaluate(perfect).median_rank_t2i == 1.0
    hopeless = evaluate(-perfect)
    assert hopeless.rsum == hopeless.expected.rsum == hopeless.optimistic.rsum == 0.0


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("kind", [np.float32, np.float16, torch.float16])
def test_not_a_number_is_an_error_that_names_the_row(bad, kind):
    similarity = np.zeros((150, 300))
    similarity[140, 7] = similarity[149, 299] = bad  # in the second block of rows
    similarity = (
        torch.tensor(similarity, dtype=kind)
        if isinstance(kind, torch.dtype)
        else similarity.astype(kind)
    )
    for folds in (1, 5):  # outside of the folds' blocks, too
        with pytest.raises(ValueError, match=r"similarity\[140, 7\] is -?(nan|inf) and 2 of"):
            evaluate(similarity, captions_per_image=2, folds=folds)
    with pytest.raises(ValueError, match="not finite"):
        ranks(similarity, captions_per_image=2)


def test_shapes_that_do_not_fit_are_refused():
    for shape in ((10, 49), (10, 10), (50, 10), (0, 0), (0, 5), (10,), (2, 5, 2), ()):
        with pytest.raises(ValueError, match=r"must be \(N, 5 \* N\)"):
            evaluate(np.zeros(shape))
        with pytest.raises(ValueError, match=r"must be \(N, 5 \* N\)"):
            ranks(torch.zeros(shape))
    with pytest.raises(ValueError, match="10 images do not divide into 3 folds"):
        evaluate(np.zeros((10, 50)), folds=3)
    for options in ({"captions_per_image": 0}, {"folds": 0}, {"captions_per_image": -5}):
        with pytest.raises(ValueError, match="at least 1"):
            evaluate(np.zeros((10, 50)), **options)
    with pytest.raises(ValueError, match="real numbers"):
        evaluate(np.zeros((1, 5), dtype=complex))


def test_protocols_are_told_apart():
    protocol = Protocol("coco", "test", folds=5, images=5000)
    assert str(protocol) == (
        "coco test, 5000 images x 5 captions, mean of 5 folds, pessimistic on ties"
    )
    assert str(Protocol("world", "dev")) == (
        "world dev, all images x 5 captions, pessimistic on ties"
    )
    others = [
        Protocol("coco", "test"),
        Protocol("coco", "dev", folds=5, images=5000),
        Protocol("coco", "test", folds=5, images=5000, tie_rule="expected"),
        Protocol("coco", "test", folds=5, images=5000, captions_per_image=1),
        Protocol("coco", "test", folds=5, images=1000),
    ]
    ids = {p.id for p in [protocol, *others]}
    assert len(ids) == 6 and all(len(id) == 8 and int(id, 16) >= 0 for id in ids)
    other_process = subprocess.run(
        [
            sys.executable,
            "-c",
            "from alignbook.core.protocol import Protocol;"
            "print(Protocol('coco', 'test', folds=5, images=5000).id)",
        ],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONHASHSEED": "1"},
    )
    assert other_process.stdout.strip() == protocol.id
    for wrong in ({"tie_rule": "random"}, {"folds": 0}, {"captions_per_image": 0}, {"images": -1}):
        with pytest.raises(ValueError):
            Protocol("coco", "test", **wrong)
