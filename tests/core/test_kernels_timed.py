"""What the kernels take, as multiples of the product that they can't do without: one and two threads."""

import os
import sys
import time
from functools import partial

import pytest
import torch
from conftest import ROOT, skip_unless_required

sys.path.insert(0, str(ROOT))  # benchmarks lies beside the library
from benchmarks import kernels as bench  # noqa: E402

MOST = 8  # rounds; a machine that others use is given as many
DRAWS = (
    4  # of the data: where its memory happens to lie makes a fifth, for as long as it lies there
)
# By threads. With one, on cores with 512 KB of second cache, hard coding at d = 256 takes 1.14 to 1.17
# of its 1.15. With two, of so few pairs and where waiting threads spin, it takes up to 1.4; as
# run_all.sh starts it 1.05 to 1.21. The benchmark tells misses: this keeps them from growing.
ROOM, SPINNING = {1: 1.08, 2: 1.14}, 1.25
# What lies between a bar and the product is passes over memory. Where one takes more of a product than
# this (`passes`), as where others use memory up, what lies between may be as many times larger.
QUICK, AT_MOST = 0.18, 2.0
# What is asked, by width: the work, the most that it may take, the data.
SMALL, SETS = bench.Size(images=128, captions=128), bench.Size(sets=800)
WORK = {
    "hard coding": (partial(bench.whole, bench.hard), bench.product, {256: 1.15, 1024: 1.15}),
    "soft coding": (partial(bench.whole, bench.soft), bench.product, {256: 1.8, 1024: 1.5}),
    # The benchmark's bar is 4, met at d = 1024. These keep what was reached where others compute too.
    "soft coding, dense": (
        partial(bench.dense_step, bench.soft),
        bench.product,
        {256: 4.8, 1024: 4.0},
    ),
    "fgm with backward": (bench.sets_step, bench.sets_product, {512: 3.6}),
}
CASES = [(name, d) for name, (*_, bars) in WORK.items() for d in bars]


@pytest.fixture(params=(1, 2), ids=("one thread", "two threads"))
def threads(request):
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


def spent(work, data, threads) -> float:
    """Seconds; of one thread its own alone, so that what others do counts less."""
    clock = time.thread_time if threads == 1 else time.perf_counter
    began = clock()
    work(data)
    return clock() - began


def passes(threads) -> float:
    """A pass over 128 MB and back, in units of a product: how slow memory is beside arithmetic."""
    left, right, many = torch.randn(2048, 256), torch.randn(8192, 256), torch.randn(2**25)
    result = torch.empty_like(many)
    memory = min(spent(lambda out: torch.mul(many, 2, out=out), result, threads) for _ in range(5))
    product = min(spent(lambda each: each @ right.T, left, threads) for _ in range(5))
    return memory / product


def busy(data, product) -> float:
    """How much sooner two threads are done with a product than one: about 2 where there are cores."""
    alone, both = [], []
    for _ in range(3):
        for count, found in ((1, alone), (2, both)):
            torch.set_num_threads(count)
            found.append(spent(product, data, 2))
    return min(alone) / min(both)


@pytest.mark.timed
@pytest.mark.parametrize(("name", "d"), CASES)
def test_a_kernel_takes_no_more_than_its_bar(name, d, threads):
    """The quotient of the best, or of the middle ones, of some rounds, each after a product."""
    work, product, bars = WORK[name]
    draw = partial(bench.sets, SETS) if name.startswith("fgm") else partial(bench.pairs, SMALL)
    data = draw(d, "cpu")
    if threads == 2 and (os.cpu_count() < 2 or busy(data, product) < 1.6):
        skip_unless_required("cores", "two threads have no two free cores here")
    room = SPINNING if (name, threads) == ("hard coding", 2) else ROOM[threads]
    slower = min(max(passes(threads) / QUICK, 1.0), AT_MOST)
    most, found = 1 + slower * (room * bars[d] - 1), []
    for data in (draw(d, "cpu") for _ in range(DRAWS)):
        ours, floors = [], []
        while len(ours) < MOST:
            floors.append(spent(product, data, threads))
            ours.append(spent(work, data, threads))
            if len(ours) > 1 and ratio(ours, floors) <= most:
                return
        found.append(f"{ratio(ours, floors):.2f}")
    raise AssertionError(f"{', '.join(found)} times its product; at most {most:.2f}")


def ratio(ours, floors) -> float:
    """The less of two: least to least, middle to middle."""
    least, middle = (pick(ours) / pick(floors) for pick in (min, lambda x: sorted(x)[len(x) // 2]))
    return min(least, middle)


def test_of_two_quotients_the_less_counts():
    assert ratio([3, 2, 9], [2, 1, 3]) == 1.5 and ratio([1, 9, 9], [2, 1, 1]) == 1
