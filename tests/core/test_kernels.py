"""The kernels against loops, against each other, and as operators of PyTorch."""

import math
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier, get_ident

import pytest
import torch
from alignbook.core import kernels
from alignbook.core.kernels import threads
from hypothesis import given
from hypothesis import strategies as st
from torch.utils._python_dispatch import TorchDispatchMode


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
    from alignbook.core.kernels import cpu

    monkeypatch.setattr(cpu, "AREA", 18)
    monkeypatch.setattr(cpu, "DEEP", 6)


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
    """ComAlign Eq. 2 as loops over the sets and their members, both ways."""
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


@pytest.mark.parametrize("chunks", (1, 8))
@pytest.mark.parametrize("case", ("ragged", "empty sets", "uniform"))
def test_fgm_has_the_loop_s_gradient(case, chunks, implementation, monkeypatch):
    """Of several blocks in one sum, and of several sums."""
    monkeypatch.setattr(kernels.cpu, "MEMBERS", 4)
    monkeypatch.setattr(threads, "CHUNKS", chunks)
    *lengths, d = SETS[case]
    (x, x_offsets), (y, y_offsets) = packed(lengths[0], d), packed(lengths[1], d, seed=1)

    def both(x, y):
        return kernels.fgm(x, x_offsets, y, y_offsets)

    assert torch.autograd.gradcheck(both, (x.requires_grad_(), y.requires_grad_()))


@pytest.mark.parametrize("n", (0, 1, 8, 9, 33))
def test_chunks_hold_every_block_once(n):
    found = threads.chunks(list(range(n)))
    assert sum(found, []) == list(range(n)) and len(found) == min(
        n, -(-n // -(-n // 8)) if n else 0
    )


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
                torch.ones(1, 1),
                torch.tensor([[0.0, 1.0]]),
                codewords,
                offsets,
                0.5,
                torch.empty(0),
                name,
            )
    torch.testing.assert_close(found["cpu"], found["reference"])


@pytest.mark.parametrize("small", (0, 2**21))
@pytest.mark.parametrize("share", (1.0, 0.6, 0.1))
def test_pairs_without_a_gradient_are_left_out_of_nothing(share, small, monkeypatch):
    """Whatever share of the pairs has a gradient, in blocks of few queries and two groups."""
    monkeypatch.setattr(kernels.cpu, "SCORES", (3, 6))
    monkeypatch.setattr(kernels.cpu, "SMALL", small)
    codewords, offsets = packed([3, 3, 0, 3, 2, 3], 4)
    queries = unit(packed([11], 4, seed=1)[0])
    grad = torch.randn(11, 6, dtype=torch.float64) * (torch.rand(11, 6) < share)
    found = {}
    for name in ("reference", "cpu"):
        with kernels.force_impl(name):
            found[name] = torch.ops.alignbook.soft_coding_backward(
                grad, queries, unit(codewords), offsets, 0.4, torch.empty(0), name
            )
    torch.testing.assert_close(found["cpu"], found["reference"])


def test_scores_that_were_kept_are_as_good_as_new_ones(monkeypatch):
    monkeypatch.setattr(kernels.cpu, "SCORES", (3, 6))
    codewords, offsets = packed([3, 1, 0, 3, 2, 7], 4)
    given = unit(packed([11], 4, seed=1)[0]), unit(codewords), offsets, 0.4
    cosines, kept = torch.ops.alignbook.soft_coding(*given, True)
    grad = torch.randn(cosines.shape, dtype=torch.float64)
    backward = torch.ops.alignbook.soft_coding_backward
    for one, other in zip(
        backward(grad, *given, kept, "cpu"), backward(grad, *given, torch.empty(0), "reference")
    ):
        torch.testing.assert_close(one, other)
    of_zeros = backward(grad, *given, torch.zeros_like(kept), "cpu")[1]
    assert not torch.allclose(of_zeros, other)  # they are looked at


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


@pytest.mark.parametrize("dtype", (torch.bfloat16, torch.float16))
def test_half_precision_has_a_gradient_in_its_own_type(dtype, implementation):
    (x, x_offsets), (y, y_offsets) = packed([4], 8, dtype), packed([5, 1, 3], 8, dtype, seed=1)
    for kernel in (
        lambda x, y: kernels.grouped_max(x, y, y_offsets),
        lambda x, y: torch.stack(kernels.fgm(x, x_offsets, y, y_offsets)),
        lambda x, y: kernels.soft_coding(x, y, y_offsets, 1.0),
    ):
        found = {}
        for own in (dtype, torch.float64):
            a, b = (each.clone().to(own).requires_grad_() for each in (x, y))
            out = kernel(a, b)
            (out * torch.arange(1.0, 1 + out.shape[-1])).sum().backward()
            assert (a.grad.dtype, b.grad.dtype) == (own, own)
            found[own] = a.grad.double(), b.grad.double()
        for one, other in zip(found[dtype], found[torch.float64]):
            torch.testing.assert_close(one, other, rtol=0.05, atol=0.05)


def test_what_is_computed_by_one_is_differentiated_by_it():
    """Implementations keep the places of the best in orders of their own."""
    lengths = [3, 1, 4, 2], [2, 5, 1]
    found = []
    for forward, backward in (("reference",) * 2, ("cpu", "reference"), ("reference", "cpu")):
        (x, x_offsets), (y, y_offsets) = (packed(each, 4, seed=i) for i, each in enumerate(lengths))
        with kernels.force_impl(forward):
            out = torch.stack(kernels.fgm(x.requires_grad_(), x_offsets, y, y_offsets))
        with kernels.force_impl(backward):
            (out * torch.arange(24.0).view(2, 4, 3)).sum().backward()
        found.append(x.grad)
    torch.testing.assert_close(found[1], found[0])
    torch.testing.assert_close(found[2], found[0])


def test_forcing_an_implementation_ends_with_its_block():
    usual = kernels.choice()[0]
    with kernels.force_impl("reference"):
        assert kernels.choice("cpu") == ("reference", "forced")
        with kernels.force_impl("cpu"):
            assert kernels.choice("cpu")[0] == "cpu"
        assert kernels.choice("cpu")[0] == "reference"
        with ThreadPoolExecutor(1) as other:
            assert other.submit(kernels.choice).result()[0] == usual
    assert kernels.choice()[0] == usual
    with pytest.raises(ValueError, match="no implementation 'cuda'; there are: reference, cpu"):
        kernels.force_impl("cuda").__enter__()


def test_float64_on_a_gpu_is_the_reference_s():
    codewords, offsets = packed([3, 2], 4)
    queries, _ = packed([3], 4, seed=1)
    with kernels.force_impl("triton"):
        found = kernels.grouped_max(queries, codewords, offsets)
    torch.testing.assert_close(found, slow_max(queries, codewords, offsets))


def test_autocast_lowers_no_precision():
    (x, x_offsets), (y, y_offsets) = (packed([4, 3], 64, torch.float32, seed=i) for i in (0, 1))
    x, y = unit(x), unit(y)
    kinds = (
        lambda: kernels.grouped_max(x, y, y_offsets),
        lambda: kernels.fgm(x, x_offsets, y, y_offsets)[0],
        lambda: kernels.soft_coding(x, y, y_offsets, 0.5),
    )
    for kernel in kinds:
        with torch.autocast("cpu", torch.bfloat16):
            found = kernel()
        assert torch.equal(found, kernel()) and found.dtype == torch.float32


def test_nothing_at_all_is_an_empty_result(implementation):
    none, one = packed([], 3), packed([2], 3)
    assert kernels.grouped_max(one[0], *none).shape == (2, 0)
    assert kernels.grouped_max(none[0], *one).shape == (0, 1)
    assert kernels.fgm(*none, *one)[0].shape == (0, 1)
    assert kernels.soft_coding(none[0], *one, 1.0).shape == (0, 1)


def test_a_gradient_that_is_no_number_stays_with_its_group(implementation):
    codewords, offsets = packed([2, 0, 2, 0], 3)
    queries, _ = packed([2], 3, seed=1)
    queries.requires_grad_(), codewords.requires_grad_()
    out = kernels.grouped_max(queries, codewords, offsets)
    grad = torch.ones_like(out)
    grad[:, [1, 3]] = math.nan
    out.backward(grad)
    assert queries.grad.isfinite().all() and codewords.grad.isfinite().all()


def test_a_full_and_a_padded_row_are_not_mistaken_for_two_full_ones():
    padded = torch.arange(6.0).view(2, 3, 1)
    packed_rows = kernels.pack(padded, torch.tensor([3, 2]))
    assert packed_rows.vectors[:, 0].tolist() == [0, 1, 2, 3, 4]
    assert packed_rows.offsets.tolist() == [0, 3, 5]
    assert kernels.pack(padded, torch.tensor([3, 3])).vectors.shape == (6, 1)


def test_inputs_that_do_not_fit():
    codewords, offsets = packed([3, 2], 4)
    queries, _ = packed([3], 4, seed=1)
    for message, change in (
        ("offsets must rise from 0", {"offsets": offsets + 1}),
        ("offsets must rise from 0", {"offsets": torch.tensor([0, 3, 4])}),
        ("offsets must rise from 0", {"offsets": torch.tensor([0, 5, 3, 5])}),
        (r"offsets must be \(B \+ 1,\) int64", {"offsets": offsets.int()}),
        (r"codewords must be \(N, d\)", {"codewords": codewords[None]}),
        (r"queries must be \(N, d\) of floats", {"queries": queries.long()}),
        ("queries have d = 3 but codewords d = 4", {"queries": queries[:, :3]}),
        ("make them of one type", {"queries": queries.float()}),
    ):
        arguments = {"queries": queries, "codewords": codewords, "offsets": offsets} | change
        with pytest.raises(ValueError, match=message):
            kernels.grouped_max(**arguments)
        with pytest.raises(ValueError, match=message):
            kernels.soft_coding(**arguments, temperature=1.0)
    for temperature in (0.0, -1.0, math.nan):
        with pytest.raises(ValueError, match="temperature must be positive"):
            kernels.soft_coding(queries, codewords, offsets, temperature)
    with pytest.raises(ValueError, match="to the 5 y"):
        kernels.fgm(queries, torch.tensor([0, 3]), codewords, torch.tensor([0, 2]))
    many = torch.zeros(kernels.MOST + 1, 1)
    with pytest.raises(ValueError, match="by 32768 at most"):
        kernels.grouped_max(many[:1], many, torch.tensor([0, len(many)]))


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
        arguments = queries.requires_grad_(wanted), codewords.requires_grad_(wanted), offsets, 0.3
        keep = wanted and implementation == "cpu"
        torch.library.opcheck(torch.ops.alignbook.soft_coding.default, (*arguments, keep))


# --- Threads -----------------------------------------------------------------------------------------


@pytest.fixture
def set_threads():
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


@pytest.mark.parametrize("name", ("grouped_max", "fgm", "soft_coding"))
def test_results_are_the_same_on_any_number_of_threads(name, set_threads, monkeypatch):
    for constant, value in (("AREA", 2048), ("DEEP", 32), ("MEMBERS", 40), ("SCORES", (64, 32))):
        monkeypatch.setattr(kernels.cpu, constant, value)
    (x, x_offsets), (y, y_offsets) = (
        packed([7, 3, 9, 0, 1, 12] * 8, 64, torch.float32, seed) for seed in (0, 1)
    )
    arguments = {
        "grouped_max": (x, y, y_offsets),
        "fgm": (x, x_offsets, y, y_offsets),
        "soft_coding": (unit(x), unit(y), y_offsets, 0.2),
    }[name]
    vectors = [
        each.requires_grad_() for each in arguments if torch.is_tensor(each) and each.ndim > 1
    ]
    found = []
    for count in (1, 2, 3):
        set_threads(count)
        out = getattr(kernels, name)(*arguments)
        out = out if name == "fgm" else (out,)
        total = sum((each.nan_to_num(neginf=0) ** 2).sum() for each in out)
        found.append((*out, *torch.autograd.grad(total, vectors)))
        with torch.inference_mode():
            getattr(kernels, name)(*arguments)  # whose tensors other threads write to
    for others in found[1:]:
        assert all(map(torch.equal, found[0], others))


def test_sums_have_their_order_whoever_comes_first():
    total, parts = torch.zeros(1), {0: 1e8, 1: -1e8, 2: 1.0}
    add = threads.in_order([total])
    after = []
    for number in (2, 0, 1):
        add(number, [torch.full((1,), parts[number])])
        after.append(total.item())
    assert after == [0, 1e8, 1]  # added as it came, the 1 would be lost


def test_every_block_is_one_thread_s_and_the_caller_keeps_its_threads(set_threads):
    set_threads(2)
    met, both = [], Barrier(2, timeout=20)

    def work(blocks):
        both.wait()  # passes only where two are at work
        for block in blocks:
            met.append((block, get_ident(), torch.get_num_threads(), torch.is_grad_enabled()))

    threads.on_all(work, range(50))
    assert sorted(block for block, *_ in met) == list(range(50))
    assert get_ident() not in {ident for _, ident, *_ in met}
    assert {tuple(how) for _, _, *how in met} == {(1, False)}
    assert torch.get_num_threads() == 2
    with pytest.raises(ZeroDivisionError):
        threads.on_all(lambda blocks: [1 // block for block in blocks], [1, 0, 2])
    assert torch.get_num_threads() == 2


def test_one_thread_is_enough_for_what_is_little(set_threads):
    set_threads(2)
    met = []

    def work(blocks):
        for block in blocks:
            met.append((block, get_ident(), torch.get_num_threads()))
            time.sleep(0.005)  # another thread would take the next one

    threads.on_all(work, range(9), most=1)
    assert [block for block, *_ in met] == list(range(9))
    assert len({ident for _, ident, _ in met}) == 1 and {count for *_, count in met} == {1}
    assert torch.get_num_threads() == 2


@pytest.mark.parametrize(
    "sizes, wide, expected",
    (
        ([36] * 256, 2048, [1152] * 8),  # not four of 2016 rows and one of 1152
        ([36] * 128, 2048, [1152] * 4),
        ([36] * 56, 2048, [2016]),
        ([36] * 512, 1300, [1152] * 16),
        ([5, 3, 2, 0, 0], 4, [5, 5]),
        ([0, 0], 4, []),
        ([], 4, []),
    ),
)
def test_tiles_can_be_shared_out_evenly(sizes, wide, expected):
    found = kernels.cpu._even_tiles(sizes, wide, "cpu")
    assert [tile.rows.stop - tile.rows.start for tile in found] == expected


@given(st.lists(st.integers(1, 40), min_size=1, max_size=300), st.integers(1, 500))
def test_no_chunk_has_much_more_than_its_share(sizes, wide):
    """A few rows more than an eighth, or one tile of at most about `wide`."""
    tiles = kernels.cpu._even_tiles(sorted(sizes, reverse=True), wide, "cpu")
    rows = [
        sum(tile.rows.stop - tile.rows.start for tile in each) for each in threads.chunks(tiles)
    ]
    assert sum(rows) == sum(sizes) and len(rows) <= 8
    one = max(tile.rows.stop - tile.rows.start for tile in tiles)
    assert one < wide + max(sizes)
    count = -(-len(tiles) // 8)
    assert max(rows) <= max(sum(sizes) / 8 + count * max(sizes), wide + max(sizes))


@pytest.mark.parametrize(
    "caches, expected",
    [
        ({"index0": ("1", "32K"), "index2": ("2", "512K"), "index3": ("3", "32M")}, 2**19),
        ({"index1": ("1", "64K"), "index2": ("2", "2M")}, 2**21),
        ({"index2": ("2", "none")}, 2**20),
        ({"index2": ("3", "8M")}, 2**20),
        ({}, 2**20),
    ],
)
def test_blocks_are_for_the_cache_that_is_there(caches, expected, monkeypatch, tmp_path):
    for name, (level, size) in caches.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "level").write_text(f"{level}\n")
        (tmp_path / name / "size").write_text(f"{size}\n")
    (tmp_path / "index9").mkdir()  # nothing is said of it
    monkeypatch.setattr(kernels.cpu, "CACHES", tmp_path)
    assert kernels.cpu._cache() == expected


@pytest.mark.parametrize(
    "cache, scores", [("512K", 2**18), ("1M", 2**18), ("2M", 2**19), ("1M8", 2**18), ("64M", 2**19)]
)
def test_every_block_follows_the_cache(cache, scores, tmp_path):
    """As the module finds it when it is loaded: a quarter of its bytes in scores, within bounds."""
    (tmp_path / "index2").mkdir()
    (tmp_path / "index2/level").write_text("2")
    (tmp_path / "index2/size").write_text(cache)
    code = Path(kernels.cpu.__file__).read_text(encoding="utf-8")
    assert code.count(str(kernels.cpu.CACHES)) == 1
    found = {"__name__": "elsewhere"}
    exec(code.replace(str(kernels.cpu.CACHES), str(tmp_path)), found)
    assert found["AREA"] == scores
    assert found["MEMBERS"] ** 2 <= 8 * scores < (found["MEMBERS"] + 1) ** 2
    assert found["SCORES"][0] * found["SCORES"][1] == 2 * scores


def test_what_is_kept_has_no_gradient_as_large_as_itself():
    """Zeros for it would cost a pass over memory for every score."""
    codewords, offsets = packed([3, 2], 4)
    queries = packed([5], 4)[0].requires_grad_()
    cosines, kept = torch.ops.alignbook.soft_coding(queries, unit(codewords), offsets, 0.4, True)

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            found = function(*args, **(kwargs or {}))
            made.append((function, getattr(found, "shape", None)))
            return found

    made = []
    with Watch():
        cosines.sum().backward()
    assert made and (torch.ops.aten.zeros.default, kept.shape) not in made
