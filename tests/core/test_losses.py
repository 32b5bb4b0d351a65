"""The losses against numbers worked by hand, and against loops written from the formulas."""

import math

import pytest
import torch
from alignbook.core.losses import all_negatives_hinge, hardest_negative_hinge, info_nce
from hypothesis import given, settings
from hypothesis import strategies as st

# Rows images, columns captions. It is not symmetric, so that an exchange of the directions shows.
SIMILARITY = torch.tensor([[0.9, 0.8, 0.3], [0.2, 0.5, 0.45], [0.1, 0.9, 0.7]], dtype=torch.float64)
# margin 0.25         image -> text (row)              text -> image (column)
# pair 0   hardest 0.8 : 0.25 + 0.8 - 0.9 = 0.15  | 0.2  : 0.25 + 0.2 - 0.9 < 0  -> 0
#          the other 0.3 : < 0                    | 0.1  : < 0
# pair 1   hardest 0.45: 0.25 + .45 - .5 = 0.2    | 0.9  : 0.25 + 0.9 - 0.5 = 0.65
#          the other 0.2 : < 0                    | 0.8  : 0.25 + 0.8 - 0.5 = 0.55
# pair 2   hardest 0.9 : 0.25 + 0.9 - 0.7 = 0.45  | 0.45 : 0.25 + 0.45 - 0.7 = 0
#          the other 0.1 : < 0                    | 0.3  : < 0


def close(actual, expected):
    torch.testing.assert_close(actual, torch.as_tensor(expected, dtype=actual.dtype))


def test_hardest_by_hand():
    close(hardest_negative_hinge(SIMILARITY, 0.25, reduction="none"), [0.15, 0.85, 0.45])
    close(hardest_negative_hinge(SIMILARITY, 0.25), 1.45)
    close(hardest_negative_hinge(SIMILARITY, 0.25, reduction="mean"), 1.45 / 3)


def test_all_negatives_by_hand():
    close(all_negatives_hinge(SIMILARITY, 0.25, reduction="none"), [0.15, 1.4, 0.45])
    close(all_negatives_hinge(SIMILARITY, 0.25), 2.0)
    close(all_negatives_hinge(SIMILARITY, 0.25, reduction="mean"), 2.0 / 3)


def test_a_margin_a_pair_goes_by_row_and_by_column():
    # margins     image -> text                        text -> image
    # 0.0         max(0, 0.8 - 0.9) = 0                max(0, 0.2 - 0.9) = 0
    # 0.1         0.1 + 0.45 - 0.5 = 0.05              0.1 + 0.9 - 0.5 = 0.5
    # 1.0         1.0 + 0.9 - 0.7 = 1.2                1.0 + 0.45 - 0.7 = 0.75
    margin = torch.tensor([0.0, 0.1, 1.0], dtype=torch.float64)
    close(hardest_negative_hinge(SIMILARITY, margin, reduction="none"), [0.0, 0.55, 1.95])
    # all: the others of pair 1: row 0.1 + 0.2 - 0.5 < 0, column 0.1 + 0.8 - 0.5 = 0.4;
    #      the others of pair 2: row 1 + 0.1 - 0.7 = 0.4, column 1 + 0.3 - 0.7 = 0.6
    close(all_negatives_hinge(SIMILARITY, margin, reduction="none"), [0.0, 0.95, 2.95])


def test_the_two_directions_may_have_their_own_margins():
    rows = torch.tensor([0.0, 0.1, 1.0], dtype=torch.float64)
    # rows as above, columns with 0.25
    for loss, expected in (
        (hardest_negative_hinge, [0.0, 0.05 + 0.65, 1.2]),
        (all_negatives_hinge, [0.0, 0.05 + 1.2, 1.6]),
    ):
        close(loss(SIMILARITY, (rows, 0.25), reduction="none"), expected)
    # rows with 0.25, columns as above
    close(
        hardest_negative_hinge(SIMILARITY, (0.25, rows), reduction="none"),
        [0.15, 0.2 + 0.5, 0.45 + 0.75],
    )
    # A list of two tensors is a pair; a tensor of two margins is one margin a pair.
    two = SIMILARITY[:2, :2]
    close(
        hardest_negative_hinge(two, torch.tensor([0.0, 1.0]), reduction="none"),
        [0.0, (1 + 0.2 - 0.5) + (1 + 0.8 - 0.5)],
    )
    close(
        hardest_negative_hinge(two, [0.0, 1.0], reduction="none"),
        [0.0 + 1 + 0.2 - 0.9, 0.0 + 1 + 0.8 - 0.5],
    )


def test_pairs_of_one_image_are_not_negatives():
    # Pairs 1 and 2 share their image. Pair 0 keeps both others; pairs 1 and 2 keep pair 0 only.
    # pair 1: row 0.2 -> 0, column 0.8 -> 0.55; pair 2: row 0.1 -> 0, column 0.3 -> 0
    for ids in ([5, 7, 7], torch.tensor([5, 7, 7])):
        close(
            hardest_negative_hinge(SIMILARITY, 0.25, image_ids=ids, reduction="none"),
            [0.15, 0.55, 0.0],
        )
        close(
            all_negatives_hinge(SIMILARITY, 0.25, image_ids=ids, reduction="none"),
            [0.15, 0.55, 0.0],
        )
    same = [1, 1, 1]
    close(hardest_negative_hinge(SIMILARITY, 5.0, image_ids=same), 0.0)
    close(all_negatives_hinge(SIMILARITY, 5.0, image_ids=same), 0.0)
    close(info_nce(SIMILARITY, image_ids=same), 0.0)


def test_info_nce_by_hand():
    # [[ln 2, 0], [ln 3, 0]]: row softmax of the diagonal 2/3 and 1/4; columns 2/5 and 1/2.
    similarity = torch.tensor([[math.log(2), 0.0], [math.log(3), 0.0]], dtype=torch.float64)
    rows = -(math.log(2 / 3) + math.log(1 / 4)) / 2
    columns = -(math.log(2 / 5) + math.log(1 / 2)) / 2
    close(info_nce(similarity), (rows + columns) / 2)
    close(info_nce(similarity * 0.07, temperature=0.07), (rows + columns) / 2)
    close(
        info_nce(similarity * 0.07, temperature=torch.tensor(0.07, dtype=torch.float64)),
        (rows + columns) / 2,
    )


def test_info_nce_leaves_out_pairs_of_one_image():
    # Pairs 1 and 2 are one image's: row 1 then holds columns 0 and 1, row 2 columns 0 and 2.
    similarity = torch.log(
        torch.tensor([[4.0, 1.0, 3.0], [1.0, 2.0, 9.0], [2.0, 9.0, 5.0]], dtype=torch.float64)
    )
    rows = [4 / 8, 2 / 3, 5 / 7]
    columns = [4 / 7, 2 / 3, 5 / 8]
    expected = -sum(math.log(p) for p in rows + columns) / 6
    close(info_nce(similarity, image_ids=[0, 1, 1]), expected)


def test_chance_level_of_info_nce():
    for size in (1, 2, 7):
        close(info_nce(torch.zeros(size, size)), math.log(size))


def test_one_pair_has_no_negative():
    one = torch.tensor([[0.3]], requires_grad=True)
    for loss in (hardest_negative_hinge, all_negatives_hinge):
        value = loss(one, 0.2)
        assert value == 0
        value.backward()
        assert (one.grad == 0).all()
    assert info_nce(one) == 0


def slow_hinge(similarity, rows, columns, ids, pick):
    """CHAN Eq. 9 one pair at a time; `pick` is max (hardest) or sum (all) over the violations."""
    size = len(similarity)
    losses = []
    for i in range(size):
        others = [j for j in range(size) if ids[j] != ids[i]]
        row = [max(0.0, rows[i] + float(similarity[i, j] - similarity[i, i])) for j in others]
        column = [max(0.0, columns[i] + float(similarity[j, i] - similarity[i, i])) for j in others]
        losses.append((pick(row) + pick(column)) if others else 0.0)
    return losses


def slow_info_nce(similarity, temperature, ids):
    total = 0.0
    for i in range(len(similarity)):
        kept = [j for j in range(len(similarity)) if j == i or ids[j] != ids[i]]
        e = torch.exp(similarity / temperature)
        total -= math.log(e[i, i] / sum(e[i, j] for j in kept))
        total -= math.log(e[i, i] / sum(e[j, i] for j in kept))
    return total / (2 * len(similarity))


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 7), st.integers(0, 10**6), st.integers(1, 7))
def test_the_loops(size, seed, images):
    generator = torch.Generator().manual_seed(seed)
    similarity = torch.rand(size, size, generator=generator, dtype=torch.float64)
    rows, columns = torch.rand(2, size, generator=generator, dtype=torch.float64)
    ids = torch.randint(images, (size,), generator=generator)
    for loss, pick in ((hardest_negative_hinge, max), (all_negatives_hinge, sum)):
        expected = slow_hinge(similarity, rows, columns, ids, pick)
        close(loss(similarity, (rows, columns), image_ids=ids, reduction="none"), expected)
        close(loss(similarity, (rows, columns), image_ids=ids), sum(expected))
    close(info_nce(similarity, temperature=0.4, image_ids=ids), slow_info_nce(similarity, 0.4, ids))


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 6), st.integers(0, 10**6))
def test_the_order_of_pairs_does_not_matter(size, seed):
    generator = torch.Generator().manual_seed(seed)
    similarity = torch.rand(size, size, generator=generator, dtype=torch.float64)
    ids = torch.randint(3, (size,), generator=generator)
    order = torch.randperm(size, generator=generator)
    shuffled = similarity[order][:, order]
    for loss in (
        lambda s, i: hardest_negative_hinge(s, 0.3, image_ids=i),
        lambda s, i: all_negatives_hinge(s, 0.3, image_ids=i),
        lambda s, i: info_nce(s, image_ids=i),
    ):
        close(loss(shuffled, ids[order]), loss(similarity, ids))
        close(loss(similarity.T, ids), loss(similarity, ids))  # both directions count alike


def test_gradients():
    generator = torch.Generator().manual_seed(0)
    similarity = torch.rand(5, 5, generator=generator, dtype=torch.float64, requires_grad=True)
    margin = torch.rand(5, generator=generator, dtype=torch.float64, requires_grad=True)
    temperature = torch.tensor(0.3, dtype=torch.float64, requires_grad=True)
    ids = [0, 1, 2, 2, 3]
    for loss in (hardest_negative_hinge, all_negatives_hinge):
        assert torch.autograd.gradcheck(
            lambda s, m: loss(s, m, image_ids=ids), (similarity, margin)
        )
    assert torch.autograd.gradcheck(
        lambda s, t: info_nce(s, temperature=t, image_ids=ids), (similarity, temperature)
    )


def test_gradient_by_hand():
    # As worked at the top: pair 0's row, pair 1's row and column, pair 2's row violate.
    similarity = SIMILARITY.clone().requires_grad_()
    hardest_negative_hinge(similarity, 0.2499).backward()
    close(similarity.grad, [[-1.0, 1.0, 0.0], [0.0, -2.0, 1.0], [0.0, 2.0, -1.0]])


def test_types():
    for dtype in (torch.float16, torch.bfloat16, torch.float32):
        similarity = SIMILARITY.to(dtype)
        assert hardest_negative_hinge(similarity, 0.2).dtype == dtype
        assert all_negatives_hinge(similarity, torch.tensor([0.1, 0.2, 0.3])).dtype == dtype
        assert info_nce(similarity).dtype == dtype


def test_what_does_not_fit_is_refused():
    for loss in (
        lambda s, **o: hardest_negative_hinge(s, 0.2, **o),
        lambda s, **o: all_negatives_hinge(s, 0.2, **o),
        info_nce,
    ):
        for wrong in (torch.zeros(2, 3), torch.zeros(3), torch.zeros(0, 0), torch.zeros(2, 2, 2)):
            with pytest.raises(ValueError, match="must be square"):
                loss(wrong)
        with pytest.raises(ValueError, match="image_ids must be 3 ids"):
            loss(SIMILARITY, image_ids=[1, 2])
    for loss in (hardest_negative_hinge, all_negatives_hinge):
        with pytest.raises(ValueError, match="one number or 3, one a pair"):
            loss(SIMILARITY, torch.tensor([0.1, 0.2]))
        with pytest.raises(ValueError, match=r"\(row, column\) pair, not 3"):
            loss(SIMILARITY, (0.1, 0.2, 0.3))
        with pytest.raises(ValueError, match="unknown reduction 'max'; known: sum, mean, none"):
            loss(SIMILARITY, 0.2, reduction="max")
    for temperature in (0.0, -0.1, math.nan):
        with pytest.raises(ValueError, match="temperature must be positive"):
            info_nce(SIMILARITY, temperature=temperature)
    with pytest.raises(ValueError, match="temperature must be one number"):
        info_nce(SIMILARITY, temperature=torch.tensor([0.1, 0.2]))
