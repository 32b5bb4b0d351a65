"""The kernels in Triton: compiled where there is a GPU, elsewhere in Triton's interpreter."""

import math
import os

import pytest
import torch

pytest.importorskip("triton")
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
if DEVICE == "cpu":
    os.environ.setdefault("TRITON_INTERPRET", "1")  # before anything imports the kernels

from alignbook.core import kernels  # noqa: E402
from alignbook.core.kernels import gpu, reference  # noqa: E402

# The interpreter multiplies the bits of bfloat16 as if they were whole numbers.
HALF = (torch.float16, torch.bfloat16) if DEVICE == "cuda" else (torch.float16,)
CLOSE = {
    torch.float32: {"rtol": 1e-5, "atol": 1e-5},
    torch.float16: {"rtol": 2e-3, "atol": 4e-3},
    torch.bfloat16: {"rtol": 2e-2, "atol": 4e-2},
}  # of gradients, which are rounded twice
SHAPES = {  # queries, lengths of the groups, width
    "one": (1, [1], 1),
    "ragged": (37, [3, 1, 0, 7, 2, 5, 0, 4, 6, 1] * 4, 40),
    "uniform": (65, [3] * 35, 16),
    "full tiles": (128, [4, 2] * 16, 32),
    "above 255": (3, [300, 2], 7),
    "whole width": (7, [2, 5, 1], 64),
    "only empty groups": (4, [0, 0], 3),
}


def packed(lengths, d, seed=0, dtype=torch.float32):
    """Vectors of sets with the given lengths, packed, and their offsets."""
    generator = torch.Generator().manual_seed(seed)
    offsets = torch.tensor([0, *lengths]).cumsum(0)
    x = torch.randn(int(offsets[-1]), d, generator=generator)
    return x.to(DEVICE, dtype), offsets.to(DEVICE)


def problem(case, dtype=torch.float32):
    n, lengths, d = SHAPES[case]
    return packed([n], d, 1, dtype)[0], *packed(lengths, d, dtype=dtype)


def random_like(x, seed=3):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(x.shape, generator=generator).to(DEVICE)


def in_float64(function, *arguments):
    """What the reference finds in double precision."""
    return function(
        *(x.double() if torch.is_tensor(x) and x.is_floating_point() else x for x in arguments)
    )


def assert_same(found, expected, dtype=torch.float32):
    torch.testing.assert_close(found.double(), expected.double(), **CLOSE[dtype])


@pytest.fixture(params=("small tiles", "own tiles"))
def tiles(request, monkeypatch):
    """Small ones, so that every problem has several, all different in height and width."""
    if request.param == "small tiles":
        monkeypatch.setattr(gpu, "MAXIMUM", dict.fromkeys((2, 4), (16, 32, 16, 4, 2)))
        monkeypatch.setattr(gpu, "GRADIENT", dict.fromkeys((2, 4), (32, 16, 16, 4, 2)))
        monkeypatch.setattr(gpu, "WHOLE", 0)
        monkeypatch.setattr(gpu, "BAND", 2)
        monkeypatch.setattr(gpu, "ROW", 4)


@pytest.mark.parametrize("dtype", (torch.float32, *HALF))
@pytest.mark.parametrize("case", SHAPES)
def test_maxima_and_places_are_the_reference_s(case, dtype, tiles):
    queries, codewords, offsets = problem(case, dtype)
    best, index = gpu.grouped_max(queries, codewords, offsets, True)
    expected = in_float64(reference.grouped_max, queries, codewords, offsets, True)
    assert best.dtype == torch.float32 and index.dtype == torch.int16
    assert_same(best, expected[0])  # half precision too: products of it are exact in float32
    assert torch.equal(index, expected[1])
    again, none = gpu.grouped_max(queries, codewords, offsets, False)
    assert torch.equal(again, best) and none.shape == (0,)


@pytest.mark.parametrize("case", SHAPES)
def test_of_equal_codewords_the_first_has_the_place(case, tiles):
    queries, codewords, offsets = (x if x.dtype == torch.int64 else x.sign() for x in problem(case))
    queries, codewords = queries[:, :3].contiguous(), codewords[:, :3].contiguous()
    found = gpu.grouped_max(queries, codewords, offsets, True)
    expected = reference.grouped_max(queries, codewords, offsets, True)
    for one, other in zip(found, expected):
        assert torch.equal(one, other)


@pytest.mark.parametrize("dtype", (torch.float32, *HALF))
@pytest.mark.parametrize("case", SHAPES)
def test_gradients_are_the_reference_s(case, dtype, tiles):
    queries, codewords, offsets = problem(case, dtype)
    best, index = reference.grouped_max(queries, codewords, offsets, True)
    given = random_like(best), queries, codewords, offsets, index
    found = gpu.grouped_max_backward(*given)
    for one, other, x in zip(
        found, in_float64(reference.grouped_max_backward, *given), (queries, codewords)
    ):
        assert one.dtype == dtype and one.shape == x.shape
        assert_same(one, other, dtype)


@pytest.mark.parametrize("shape", ((0, [2, 1]), (3, []), (0, [])), ids=str)
def test_nothing_in_nothing_out(shape):
    n, lengths = shape
    queries, (codewords, offsets) = packed([n], 5)[0], packed(lengths, 5)
    with kernels.force_impl("triton"):
        q, c = queries.requires_grad_(), codewords.requires_grad_()
        both = kernels.fgm(q, torch.tensor([0, n], device=DEVICE), c, offsets)
        for out in (
            kernels.grouped_max(q, c, offsets),
            kernels.soft_coding(q, c, offsets, 0.1),
            torch.stack(both).flatten(0, 1),
        ):
            assert out.shape[1] == len(lengths)
            found = torch.autograd.grad(out.sum(), (q, c), materialize_grads=True)
            assert [x.shape for x in found] == [q.shape, c.shape]
            assert not any(x.any() for x in found)


def test_what_is_not_a_number_stays_so():
    queries, codewords, offsets = problem("ragged")
    queries[5, 2] = codewords[1, 0] = math.nan
    expected = reference.grouped_max(queries, codewords, offsets, False)[0].isnan()
    assert expected[5].sum() and expected[:, 0].all() and not expected.all()
    for with_index in (False, True):
        found = gpu.grouped_max(queries, codewords, offsets, with_index)[0]
        assert torch.equal(found.isnan(), expected)


def test_vectors_and_gradients_need_not_be_contiguous():
    queries, codewords, offsets = problem("ragged")
    strided = queries.T.contiguous().T, codewords.T.contiguous().T
    found = gpu.grouped_max(*strided, offsets, True)
    assert_same(found[0], reference.grouped_max(queries, codewords, offsets, False)[0])
    grad = torch.ones((), device=DEVICE).expand(found[0].shape)
    gradients = gpu.grouped_max_backward(grad, *strided, offsets, found[1])
    expected = reference.grouped_max_backward(grad, queries, codewords, offsets, found[1])
    for one, other in zip(gradients, expected):
        assert_same(one, other)


SETS = {  # lengths of x's sets and of y's, width
    "one pair": ([1], [1], 1),
    "ragged": ([3, 0, 17, 2, 5, 1, 9], [2, 6, 0, 1, 4, 3, 9, 8, 5, 7, 2], 40),
    "uniform": ([5] * 9, [4] * 6, 16),
    "full tiles": ([4] * 16, [2] * 32, 32),
    "above 255": ([270, 2], [3, 1], 5),
    "x empty": ([0, 0], [2, 1], 3),
    "y empty": ([2, 1], [0], 3),
}


def sets(case, dtype=torch.float32):
    x_lengths, y_lengths, d = SETS[case]
    return *packed(x_lengths, d, 1, dtype), *packed(y_lengths, d, 2, dtype)


@pytest.mark.parametrize("dtype", (torch.float32, *HALF))
@pytest.mark.parametrize("case", SETS)
def test_fgm_both_ways_is_the_reference_s(case, dtype, tiles):
    given = sets(case, dtype)
    found = gpu.fgm(*given, True)
    expected = in_float64(reference.fgm, *given, True)
    for one, other in zip(found[:2], expected[:2]):
        assert one.dtype == torch.float32 and one.is_contiguous()
        assert_same(one, other)
    for one, other in zip(found[2:], expected[2:]):
        assert torch.equal(one, other)
    assert [x.shape for x in gpu.fgm(*given, False)[2:]] == [(0,), (0,)]


@pytest.mark.parametrize("dtype", (torch.float32, *HALF))
@pytest.mark.parametrize("case", SETS)
def test_fgm_s_gradients_are_the_reference_s(case, dtype, tiles):
    x, x_offsets, y, y_offsets = sets(case, dtype)
    x_to_y, y_to_x, *indices = reference.fgm(x, x_offsets, y, y_offsets, True)
    given = (random_like(x_to_y), random_like(y_to_x, 4), x, x_offsets, y, y_offsets, *indices)
    found = gpu.fgm_backward(*given)
    for one, other, vectors in zip(found, in_float64(reference.fgm_backward, *given), (x, y)):
        assert one.dtype == dtype and one.shape == vectors.shape
        assert_same(one, other, dtype)


@pytest.mark.parametrize("dtype", (torch.float32, *HALF))
@pytest.mark.parametrize("scores", ((1, 1), (5, 10), gpu.SCORES))
@pytest.mark.parametrize("case", ("one", "ragged", "above 255", "only empty groups"))
def test_soft_coding_is_the_reference_s(case, scores, dtype, monkeypatch):
    monkeypatch.setattr(gpu, "SCORES", scores)
    queries, codewords, offsets = problem(case)
    queries, codewords = (torch.nn.functional.normalize(x).to(dtype) for x in (queries, codewords))
    found, _ = gpu.soft_coding(queries, codewords, offsets, 0.2)
    assert found.dtype == torch.float32
    expected, _ = in_float64(reference.soft_coding, queries, codewords, offsets, 0.2)
    assert_same(found, expected)
    given = random_like(found), queries, codewords, offsets, 0.2
    for one, other in zip(
        gpu.soft_coding_backward(*given), in_float64(reference.soft_coding_backward, *given)
    ):
        assert one.dtype == dtype
        assert_same(one, other, dtype)


def test_codewords_that_cancel_are_0_and_get_the_reference_s_gradient():
    codewords = torch.tensor([[1.0, 0.0], [-1.0, 0.0]], device=DEVICE)
    offsets = torch.tensor([0, 2], device=DEVICE)
    queries = torch.tensor([[0.0, 1.0], [2e-4, 1.0]], device=DEVICE)  # |ĉ|² = 0, and below 1e-7
    found, _ = gpu.soft_coding(queries, codewords, offsets, 1.0)
    assert found[0] == 0 and 0 < found[1] < 1e-3
    for n in (1, 2):
        given = torch.ones(n, 1, device=DEVICE), queries[:n], codewords, offsets, 1.0
        for one, other in zip(
            gpu.soft_coding_backward(*given), reference.soft_coding_backward(*given)
        ):
            torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-4)


def through_autograd(name, *arguments):
    """Result of the public function and its gradients, all in one list."""
    vectors = [x for x in arguments if torch.is_tensor(x) and x.is_floating_point()]
    for x in vectors:
        x.requires_grad_()
    found = getattr(kernels, name)(*arguments)
    found = found if isinstance(found, tuple) else (found,)
    total = sum((x.nan_to_num(neginf=0) * random_like(x, i)).sum() for i, x in enumerate(found))
    return [*found, *torch.autograd.grad(total, vectors)]


@pytest.mark.parametrize("name", ("grouped_max", "fgm", "soft_coding"))
def test_public_functions_agree(name):
    arguments = {
        "grouped_max": problem("ragged"),
        "fgm": sets("ragged"),
        "soft_coding": (*problem("ragged"), 3.0),
    }[name]
    results = []
    for implementation in ("triton", "reference"):
        with kernels.force_impl(implementation):
            results.append(through_autograd(name, *arguments))
    for one, other in zip(*results, strict=True):
        assert_same(one, other)


@pytest.mark.parametrize("name", ("grouped_max", "fgm", "soft_coding"))
@pytest.mark.parametrize("wanted", (True, False))
def test_pytorch_finds_no_fault_in_the_operators(name, wanted):
    x, x_offsets = packed([3, 1, 4], 5)
    y, y_offsets = packed([2, 6], 5, seed=1)
    x, y = x.requires_grad_(wanted), y.requires_grad_(wanted)
    arguments = {
        "grouped_max": (x, y, y_offsets, wanted),
        "soft_coding": (x, y, y_offsets, 0.1, False),
        "fgm": (x, x_offsets, y, y_offsets, wanted),
    }[name]
    with kernels.force_impl("triton"):
        torch.library.opcheck(getattr(torch.ops.alignbook, name).default, arguments)
