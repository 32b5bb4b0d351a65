"""The kernels against loops, against each other, and as operators of PyTorch."""

import math

import pytest
import torch

from alignbook import kernels


def packed(lengths, d, dtype=torch.float64, seed=0):
    """Vectors of sets with the given lengths, packed, and their offsets."""
    generator = torch.Generator().manual_seed(seed)
    offsets = torch.tensor([0, *lengths]).cumsum(0)
    return torch.randn(int(offsets[-1]), d, generator=generator, dtype=dtype), offsets


def slow_max(queries, codewords, offsets):
    """CHAN Eq. 5 and 6 as a loop over queries, groups and codewords."""
    out = torch.full((len(queries), len(offsets) - 1), -math.inf, dtype=torch.float64)
    for i, q in enumerate(queries.tolist()):
        for b in range(len(offsets) - 1):
            for j in range(int(offsets[b]), int(offsets[b + 1])):
                score = sum(x * y for x, y in zip(q, codewords[j].tolist()))
                out[i, b] = max(out[i, b].item(), score)
    return out


SHAPES = {  # queries, lengths of the groups, width
    "one": (1, [1], 1),
    "ragged": (7, [3, 1, 4, 2, 4], 5),
    "empty groups": (4, [0, 2, 0, 3, 0], 3),
    "uniform": (5, [6] * 7, 4),
    "many codewords": (3, [300, 2], 2),
}
IMPLEMENTATIONS = ("reference", "cpu")


@pytest.fixture(params=IMPLEMENTATIONS)
def implementation(request):
    with kernels.force_impl(request.param):
        yield request.param


@pytest.fixture
def small_blocks(monkeypatch):
    from alignbook.kernels import cpu

    monkeypatch.setattr(cpu, "TALL", 3)
    monkeypatch.setattr(cpu, "WIDE", 2)


@pytest.mark.parametrize("case", SHAPES)
def test_grouped_max_is_the_loop(case, implementation, small_blocks):
    n, lengths, d = SHAPES[case]
    codewords, offsets = packed(lengths, d)
    queries, _ = packed([n], d, seed=1)
    found = kernels.grouped_max(queries, codewords, offsets)
    torch.testing.assert_close(found, slow_max(queries, codewords, offsets))


@pytest.mark.parametrize("case", ("ragged", "empty groups", "uniform"))
def test_grouped_max_has_the_loop_s_gradient(case, implementation, small_blocks):
    n, lengths, d = SHAPES[case]
    codewords, offsets = packed(lengths, d)
    queries, _ = packed([n], d, seed=1)
    full = torch.tensor(lengths) > 0
    weights = torch.arange(1.0, n + 1, dtype=torch.float64)[:, None]

    def of_full(q, c):
        return kernels.grouped_max(q, c, offsets)[:, full] * weights

    assert torch.autograd.gradcheck(of_full, (queries.requires_grad_(), codewords.requires_grad_()))


def test_the_first_of_equal_codewords_gets_the_gradient(implementation):
    codewords = torch.ones(4, 2, requires_grad=True)
    kernels.grouped_max(torch.ones(3, 2), codewords, torch.tensor([0, 1, 4])).sum().backward()
    assert codewords.grad.tolist() == [[3, 3], [3, 3], [0, 0], [0, 0]]


def test_the_best_of_many_codewords_gets_the_gradient(implementation):
    codewords = torch.zeros(300, 2)
    codewords[290] = 1
    codewords.requires_grad_()
    kernels.grouped_max(torch.ones(1, 2), codewords, torch.tensor([0, 300])).sum().backward()
    assert codewords.grad.nonzero()[:, 0].tolist() == [290, 290]


def test_an_empty_group_gets_no_gradient_and_gives_none(implementation):
    codewords, offsets = torch.ones(2, 2, requires_grad=True), torch.tensor([0, 0, 1, 1, 2, 2])
    queries = torch.ones(1, 2, requires_grad=True)
    kernels.grouped_max(queries, codewords, offsets).sum().backward()
    assert codewords.grad.tolist() == [[1, 1], [1, 1]] and queries.grad.tolist() == [[2, 2]]


@pytest.mark.parametrize("size", (1, 7, 1023))
def test_odd_sizes_agree(size):
    codewords, offsets = packed([5, 1, 3] * size, 16, torch.float32)
    queries, _ = packed([size], 16, torch.float32, seed=1)
    with kernels.force_impl("reference"):
        expected = kernels.grouped_max(queries, codewords, offsets)
    torch.testing.assert_close(kernels.grouped_max(queries, codewords, offsets), expected)


def test_half_precision_comes_back_in_float32():
    codewords, offsets = packed([5, 1, 3], 16, torch.bfloat16)
    queries, _ = packed([4], 16, torch.bfloat16, seed=1)
    found = kernels.grouped_max(queries, codewords, offsets)
    assert found.dtype == torch.float32
    exact = slow_max(queries.double(), codewords.double(), offsets)
    torch.testing.assert_close(found.double(), exact, rtol=0.01, atol=0.01)


# --- Both directions of matching sets --------------------------------------------------------------

SETS = {  # lengths of x's sets, of y's, width
    "one": ([1], [1], 1),
    "ragged": ([3, 1, 4, 2], [2, 5, 1], 4),
    "empty sets": ([0, 2, 0, 3], [1, 0, 4], 3),
    "uniform": ([3] * 5, [3] * 4, 4),
    "many members": ([2], [1, 300], 2),
}


def slow_fgm(x, x_offsets, y, y_offsets):
    """ComAlign Eq. 5 and 6 as loops over the sets and their members."""
    size = len(x_offsets) - 1, len(y_offsets) - 1
    x_to_y, y_to_x = torch.zeros(2, *size, dtype=torch.float64)
    for b in range(size[0]):
        for c in range(size[1]):
            one = x[x_offsets[b] : x_offsets[b + 1]].tolist()
            other = y[y_offsets[c] : y_offsets[c + 1]].tolist()
            if one and other:
                scores = [[sum(p * q for p, q in zip(u, v)) for v in other] for u in one]
                x_to_y[b, c] = sum(max(row) for row in scores) / len(one)
                y_to_x[b, c] = sum(max(column) for column in zip(*scores)) / len(other)
    return x_to_y, y_to_x


@pytest.mark.parametrize("members", (4, 1024))
@pytest.mark.parametrize("case", SETS)
def test_fgm_is_the_loop(case, members, implementation, monkeypatch):
    monkeypatch.setattr(kernels.cpu, "MEMBERS", members)
    *lengths, d = SETS[case]
    arguments = *packed(lengths[0], d), *packed(lengths[1], d, seed=1)
    torch.testing.assert_close(kernels.fgm(*arguments), slow_fgm(*arguments))


@pytest.mark.parametrize("case", ("ragged", "empty sets", "uniform"))
def test_fgm_has_the_loop_s_gradient(case, implementation, monkeypatch):
    monkeypatch.setattr(kernels.cpu, "MEMBERS", 4)
    *lengths, d = SETS[case]
    (x, x_offsets), (y, y_offsets) = packed(lengths[0], d), packed(lengths[1], d, seed=1)

    def both(x, y):
        return kernels.fgm(x, x_offsets, y, y_offsets)

    assert torch.autograd.gradcheck(both, (x.requires_grad_(), y.requires_grad_()))


def test_the_first_of_equal_members_gets_fgm_s_gradient(implementation):
    x, y = torch.ones(3, 2, requires_grad=True), torch.ones(4, 2, requires_grad=True)
    x_to_y, y_to_x = kernels.fgm(x, torch.tensor([0, 1, 3]), y, torch.tensor([0, 1, 4]))
    (x_to_y.sum() + 10 * y_to_x.sum()).backward()
    # x_to_y: 1 to the first of each set of y, from two sets; y_to_x: a third of 10 thrice, or 10.
    torch.testing.assert_close(y.grad[:, 0], torch.tensor([2 + 20, 2 + 20 / 3, 20 / 3, 20 / 3]))
    torch.testing.assert_close(x.grad[:, 0], torch.tensor([2 + 20.0, 1 + 20.0, 1.0]))


# --- Cosine to what is attended to -----------------------------------------------------------------


def unit(vectors):
    return torch.nn.functional.normalize(vectors, dim=-1)


def slow_attention(queries, codewords, offsets, temperature):
    """CHAN Eq. 1, 2 and 4 as a loop, the attended vector written out."""
    out = torch.zeros(len(queries), len(offsets) - 1, dtype=torch.float64)
    for i, q in enumerate(queries.tolist()):
        for b in range(len(offsets) - 1):
            group = codewords[offsets[b] : offsets[b + 1]].tolist()
            if group:
                scores = [sum(x * y for x, y in zip(q, c)) for c in group]
                weights = [math.exp(s / temperature) for s in scores]
                mixture = [sum(w * x for w, x in zip(weights, column)) for column in zip(*group)]
                along = sum(x * y for x, y in zip(q, mixture))
                out[i, b] = along / math.hypot(*mixture) / math.hypot(*q)
    return out


@pytest.mark.parametrize("temperature", (0.02, 0.2, 5.0))
@pytest.mark.parametrize("case", SHAPES)
def test_soft_coding_is_the_loop(case, temperature, implementation, monkeypatch):
    monkeypatch.setattr(kernels.cpu, "SCORES", (3, 13))
    n, lengths, d = SHAPES[case]
    codewords, offsets = packed(lengths, d)
    arguments = unit(packed([n], d, seed=1)[0]), unit(codewords), offsets, temperature
    torch.testing.assert_close(kernels.soft_coding(*arguments), slow_attention(*arguments))


@pytest.mark.parametrize("temperature", (0.05, 1.0))
@pytest.mark.parametrize("case", ("ragged", "empty groups", "uniform"))
def test_soft_coding_has_the_loop_s_gradient(case, temperature, implementation, monkeypatch):
    monkeypatch.setattr(kernels.cpu, "SCORES", (3, 6))
    n, lengths, d = SHAPES[case]
    codewords, offsets = packed(lengths, d)

    def coding(q, c):
        return kernels.soft_coding(unit(q), unit(c), offsets, temperature)

    queries = packed([n], d, seed=1)[0].requires_grad_()
    assert torch.autograd.gradcheck(coding, (queries, codewords.requires_grad_()))


def test_codewords_that_cancel_give_a_number(implementation):
    """Their mixture is 0 up to rounding: no division by it, and a gradient that stays finite."""
    codewords = torch.tensor([[1.0, 0.0], [-1.0, 0.0]], requires_grad=True)
    query = torch.tensor([[0.0, 1.0]], requires_grad=True)
    found = kernels.soft_coding(query, codewords, torch.tensor([0, 2]), 1.0)
    found.sum().backward()
    assert found.item() == 0
    assert query.grad.isfinite().all() and codewords.grad.isfinite().all()


def test_the_clamp_has_the_reference_s_gradient():
    """Codewords that cancel all but for a rest below the clamp, where the length is a constant."""
    codewords, offsets = torch.tensor([[1.0, 1e-4], [-1.0, 1e-4]]), torch.tensor([0, 2])
    found = {}
    for name in ("reference", "cpu"):
        with kernels.force_impl(name):
            found[name] = torch.ops.alignbook.soft_coding_backward(
                torch.ones(1, 1), torch.tensor([[0.0, 1.0]]), codewords, offsets, 0.5
            )
    torch.testing.assert_close(found["cpu"], found["reference"])


@pytest.mark.parametrize("share", (1.0, 0.6, 0.1))
def test_pairs_without_a_gradient_are_left_out_of_nothing(share, monkeypatch):
    """Whatever share of the pairs has a gradient, in blocks of few queries and two groups."""
    monkeypatch.setattr(kernels.cpu, "SCORES", (3, 6))
    codewords, offsets = packed([3, 3, 0, 3, 2, 3], 4)
    queries = unit(packed([11], 4, seed=1)[0])
    grad = torch.randn(11, 6, dtype=torch.float64) * (torch.rand(11, 6) < share)
    found = {}
    for name in ("reference", "cpu"):
        with kernels.force_impl(name):
            found[name] = torch.ops.alignbook.soft_coding_backward(
                grad, queries, unit(codewords), offsets, 0.4
            )
    torch.testing.assert_close(found["cpu"], found["reference"])


def test_soft_coding_becomes_the_hard_one():
    codewords, offsets = packed([5, 1, 3], 8)
    queries, codewords = unit(packed([6], 8, seed=1)[0]), unit(codewords)
    soft = kernels.soft_coding(queries, codewords, offsets, 1e-5)
    torch.testing.assert_close(soft, kernels.grouped_max(queries, codewords, offsets))


def test_small_temperatures_do_not_overflow():
    queries, codewords = (unit(torch.randn(n, 4)) for n in (3, 8))
    found = kernels.soft_coding(queries, codewords, torch.tensor([0, 8]), 1e-4)
    assert found.isfinite().all()


# --- As operators of PyTorch, and what they refuse --------------------------------------------------


def test_pytorch_finds_no_fault_in_the_operators(implementation):
    codewords, offsets = packed([3, 1, 4], 5, torch.float32)
    queries, _ = packed([6], 5, torch.float32, seed=1)
    for wanted in (True, False):
        torch.library.opcheck(
            torch.ops.alignbook.grouped_max.default,
            (queries.requires_grad_(wanted), codewords.requires_grad_(wanted), offsets, wanted),
        )


def test_pytorch_finds_no_fault_in_fgm(implementation):
    (x, x_offsets), (y, y_offsets) = (
        packed(lengths, 5, torch.float32) for lengths in ([3, 0, 2], [1, 4])
    )
    for wanted in (True, False):
        arguments = x.requires_grad_(wanted), x_offsets, y.requires_grad_(wanted), y_offsets, wanted
        torch.library.opcheck(torch.ops.alignbook.fgm.default, arguments)


def test_pytorch_finds_no_fault_in_soft_coding(implementation):
    codewords, offsets = packed([3, 1, 4], 5, torch.float32)
    queries, _ = packed([6], 5, torch.float32, seed=1)
    for wanted in (True, False):
        torch.library.opcheck(
            torch.ops.alignbook.soft_coding.default,
            (queries.requires_grad_(wanted), codewords.requires_grad_(wanted), offsets, 0.3),
        )
