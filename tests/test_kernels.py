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

    def of_full(q, c):
        return kernels.grouped_max(q, c, offsets)[:, full]

    assert torch.autograd.gradcheck(of_full, (queries.requires_grad_(), codewords.requires_grad_()))


def test_the_first_of_equal_codewords_gets_the_gradient(implementation):
    codewords = torch.ones(4, 2, requires_grad=True)
    kernels.grouped_max(torch.ones(3, 2), codewords, torch.tensor([0, 1, 4])).sum().backward()
    assert codewords.grad.tolist() == [[3, 3], [3, 3], [0, 0], [0, 0]]


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


def test_pytorch_finds_no_fault_in_the_operators(implementation):
    codewords, offsets = packed([3, 1, 4], 5, torch.float32)
    queries, _ = packed([6], 5, torch.float32, seed=1)
    for wanted in (True, False):
        torch.library.opcheck(
            torch.ops.alignbook.grouped_max.default,
            (queries.requires_grad_(wanted), codewords.requires_grad_(wanted), offsets, wanted),
        )
