"""The kernel benchmarks: peers compute what the library does; ratios, bars; a guard on speed."""

import os
import subprocess
import sys
import time
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from conftest import ROOT
from torch.nn import functional as F

sys.path.insert(0, str(ROOT))  # benchmarks lies beside the library
from alignbook.core import kernels, similarity
from alignbook.show import kernel_benchmark  # noqa: E402

from benchmarks import kernels as bench  # noqa: E402
from benchmarks import peers  # noqa: E402
from benchmarks.kernels import Quotient, Row  # noqa: E402

# --- Peers ---------------------------------------------------------------------------------------


def unit(*shape, seed):
    return F.normalize(torch.randn(shape, generator=torch.Generator().manual_seed(seed)), dim=-1)


@pytest.fixture(params=[(1, 1, 1), (5, 3, 7), (9, 4, 11)], ids=str)
def vectors(request):
    """Regions (B1, K, 7) and padded words (B2, L, 7) with lengths, padding that would win."""
    images, each, captions = request.param
    regions, words = unit(images, each, 7, seed=0), unit(captions, 5, 7, seed=1)
    lengths = torch.arange(captions) % 5 + 1
    words[torch.arange(5) >= lengths[:, None]] = regions[0, 0]
    return regions, words, lengths


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(peers, "WORDS", 4)
    monkeypatch.setattr(peers, "SHARD", 2)


def test_maxima_of_peers_are_the_kernels(vectors, small_blocks):
    regions, words, lengths = vectors
    queries = kernels.pack(words, lengths).vectors
    packed = kernels.pack(regions, torch.full((len(regions),), regions.shape[1]))
    expected = kernels.grouped_max(queries, *packed)
    torch.testing.assert_close(peers.blocked(queries, regions), expected)
    torch.testing.assert_close(peers.einsum(words, lengths, regions), expected)
    assert peers.compiled.__doc__ and torch.equal(
        peers.blocked(queries, regions, peers.block_maxima), peers.blocked(queries, regions)
    )


def test_similarities_of_peers_are_the_librarys(vectors, small_blocks):
    regions, words, lengths = vectors
    how = dict(word_lengths=lengths, scale=6)
    torch.testing.assert_close(
        peers.padded_shards(regions, words, lengths, 6),
        similarity.hard_coding(regions, words, **how),
    )
    torch.testing.assert_close(
        peers.caption_loop(regions, words, lengths, 0.2, 6),
        similarity.soft_coding(regions, words, temperature=0.2, **how),
    )


def test_without_a_compiler_the_row_says_so(monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CXX", raising=False)
    (row,) = (each for each in bench.rows_of_pairs("cpu", small=False) if "compiled" in each.name)
    assert row.skip == "there is no C++ compiler"


# --- Times, ratios, bars -------------------------------------------------------------------------


@pytest.fixture
def clock(monkeypatch):
    """Work that takes so many seconds of a clock that nothing else moves."""
    now = SimpleNamespace(seconds=0.0)
    monkeypatch.setattr(time, "perf_counter", lambda: now.seconds)

    def work(*durations):
        waiting = list(durations)

        def spend(s):
            now.seconds += waiting.pop(0) if len(waiting) > 1 else waiting[0]

        return spend

    return work


def test_a_ratio_is_to_the_rows_own_floor_before_and_after(clock, monkeypatch):
    floors = {"a": clock(9, 1, 3, 5), "b": clock(9, 10, 20)}  # 9: touched first, not counted
    monkeypatch.setattr(bench, "FLOORS", floors)
    listed = [
        Row("one", clock(7, 4), "a"),
        Row("two", clock(7, 8), "a"),
        Row("three", clock(7, 30), "b"),
    ]  # 7: warmed up
    found = {line["row"]: line for line in bench.interleaved(listed, None, None)}
    assert (found["one"]["ms"], found["one"]["floor"]) == (4000, 2000)
    assert (found["two"]["ms"], found["two"]["floor"]) == (8000, 4000)  # 3 is after one, before two
    assert (found["three"]["ms"], found["three"]["floor"]) == (30000, 15000)
    assert found["a"]["ms"] == found["a"]["floor"] == 3000 and found["b"]["ms"] == 15000


def test_a_slow_row_is_looked_at_while_it_is_timed(monkeypatch):
    calls = []
    monkeypatch.setattr(bench, "FLOORS", {"a": lambda s: None})
    rows = [
        Row("slow", lambda s: calls.append("slow"), "a", slow=True),
        Row("quick", lambda s: calls.append("quick"), "a"),
    ]
    lines = bench.interleaved(rows, None, None, "cpu", with_memory=True)
    bench.remember_memory(rows, lines, None, "cpu")
    assert [("MB" in line) for line in lines] == [True, True, False]  # the last is the floor
    assert (calls.count("slow"), calls.count("quick")) == (2, 3)  # warmed, timed; and looked at


def test_a_row_that_fails_says_why_and_the_others_go_on(clock, monkeypatch):
    monkeypatch.setattr(bench, "FLOORS", {"a": clock(1)})

    def fail(s):
        raise MemoryError("no room\nat all")

    def fail_at_size(s):
        if s == "large":
            fail(s)

    listed = [
        Row("in small", fail, "a"),
        Row("in large", fail_at_size, "a"),
        Row("skipped", fail, "a", skip="no g++"),
        Row("last", clock(2), "a"),
    ]
    lines = bench.interleaved(listed, "little", "large")
    notes = {line["row"]: line["note"] for line in lines}
    assert notes["in small"] == notes["in large"] == "not run: MemoryError: no room"
    assert notes["skipped"] == "no g++" and notes["last"] == ""
    assert [line["row"] for line in lines if "ms" in line] == ["last", "a"]
    for row in listed[:3]:
        own = pd.DataFrame(lines).assign(MB=np.nan)
        told = bench.row_line(row, 16, own[own.row == row.name], small=False)
        assert np.isnan(told["ratio"]) and told["starts"] == 0 and told["met"] == "-"
        assert notes[row.name] in told["note"]


def test_medians_and_percentiles_over_starts(monkeypatch):
    row = Row("x", None, "product", bars={8: 2.0}, most_mb=10)
    monkeypatch.setattr(bench, "groups", lambda size, device: [([row], None, 8)])
    monkeypatch.setattr(
        bench,
        "quotients",
        lambda device: [Quotient("x", "product", {8: 3.0}), Quotient("x", "elsewhere", {})],
    )
    starts = [
        [
            {"d": 8, "row": "x", "note": "", "ms": ms, "floor": floor, "MB": mb},
            {"d": 8, "row": "product", "note": "", "ms": other, "floor": other},
        ]
        for ms, floor, mb, other in ((2, 1, 9, 0.5), (6, 2, np.nan, 1), (40, 10, np.nan, 5))
    ]
    found = bench.summary(starts, "cuda", bench.FULL["cuda"], {"device": "some"})
    assert list(found.row) == ["product", "x", "x ÷ product"]
    assert list(found.columns) == bench.COLUMNS
    line = found.iloc[1]  # ratios 2, 3, 4
    assert (line.ms, line.ratio, line.MB, line.met, line.starts) == (6, 3, 9, "no", 3)
    assert (line.ratio_20, line.ratio_80) == pytest.approx((2.4, 3.6))
    assert (line.bar, line.note) == ("≤ 2", "and at most 10 MB")
    assert (found.ratio[2], found.met[2], found.bar[2]) == (6, "yes", "≥ 3")  # 4, 6, 8


@pytest.mark.parametrize(
    "value, bar, at_least, expected",
    [
        (1.06, 1.06, False, "yes"),
        (1.0601, 1.06, False, "no"),
        (0.2, 0.5, False, "yes"),
        (9.0, 9, True, "yes"),
        (8.999, 9, True, "no"),
        (20, 9, True, "yes"),
        (np.nan, 9, True, "-"),
        (1.0, np.nan, False, "-"),
    ],
)
def test_bars(value, bar, at_least, expected):
    assert bench.met(value, bar, at_least) == expected


def test_memory_is_a_bar_too():
    row = Row("x", None, bars={8: 2.0}, most_mb=10)
    for mb, expected in ((10.0, "yes"), (10.1, "no"), (np.nan, "yes")):
        own = pd.DataFrame({"row": ["x"], "ms": 1.0, "floor": 1.0, "MB": mb, "note": ""})
        assert bench.row_line(row, 8, own, small=False)["met"] == expected
        assert bench.row_line(row, 8, own, small=True)["met"] == "-"


# --- The command and what is shown of it ---------------------------------------------------------


@pytest.fixture(scope="module")
def smoke(tmp_path_factory):
    """The table of the command's smoke size, as a file and for reading, and its seconds."""
    out = tmp_path_factory.mktemp("benchmarks") / "new/kernels.csv"
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.kernels", "--size", "smoke", "--out", str(out)],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    made = {path.name for path in out.parent.iterdir()}
    assert made == {"kernels.csv", ".kernels.csv.sha256", "kernels.txt"}
    assert done.stdout.splitlines() == [
        f"  table of the kernels: {os.path.relpath(out.with_suffix('.txt'), ROOT)}"
    ]
    return out, out.with_suffix(".txt").read_text("utf-8"), time.monotonic() - began


def test_the_command_in_small(smoke):
    file, said, seconds = smoke
    assert seconds < 30
    assert max(map(len, said.splitlines())) <= 110
    found = kernel_benchmark.read(file)
    assert list(found.columns) == bench.COLUMNS and not found.duplicated(["row", "d"]).any()
    here = found[~found.row.str.endswith(kernel_benchmark.ELSEWHERE)]
    assert (here.met == "-").all() and (here.bar == "").all()
    assert (here.ratio.notna() | (here.note != "")).all()
    for row in bench.rows_of_pairs("cpu", True) + bench.rows_of_sets("cpu"):
        assert row.name in said
    assert (found.ratio[found.row == "product"] == 1).all()


@pytest.mark.skipif(torch.cuda.is_available(), reason="asks what is said without a GPU")
def test_without_a_gpu(smoke, capsys):
    assert bench.main(["--device", "cuda"]) == 2
    assert "no CUDA device" in capsys.readouterr().err
    found = kernel_benchmark.read(smoke[0])
    there = found[found.row.str.endswith(kernel_benchmark.ELSEWHERE)]
    assert (
        there.note == "not run: there is no CUDA device; "
        "python -m benchmarks.kernels --device cuda on one"
    ).all()
    assert set(there.bar) == {"≤ 1.6", "≤ 2.2", "≤ 3.2", "≥ 1"}
    assert list(found.index[-len(there) :]) == list(there.index)


def test_a_width_that_is_none_is_refused(capsys):
    assert bench.main(["--widths", "256", "7"]) == 2
    assert "no width 7; there are: 256, 1024" in capsys.readouterr().err


TABLE = pd.DataFrame(
    [
        ("ours", "grouped_max", 256, 1.04, "≤ 1.06", "yes", ""),
        ("ours", "step", 256, 1.3, "≤ 1.25", "no", "floor: forward, hard coding"),
        ("peer", "loop", 256, 12.0, "", "-", ""),
        ("ours", "grouped_max", 1024, 1.02, "≤ 1.06", "yes", ""),
        ("peer", "loop", 1024, np.nan, "", "-", "not run: no room"),
        ("ours", "fgm", 512, 3.0, "", "-", ""),
        ("quotient", "loop ÷ hard coding", 256, 9.5, "≥ 9", "yes", ""),
        ("quotient", "blocks ÷ hard coding", 256, 2.5, "≥ 2", "yes", ""),
        ("quotient", "a ÷ b", 256, 1.0, "", "-", ""),
    ],
    columns=["role", "row", "d", "ratio", "bar", "met", "note"],
).assign(
    ms=1.0,
    MB=2.0,
    ratio_20=1.0,
    ratio_80=1.5,
    starts=5,
    device="some",
    threads=1,
    torch="2",
    date="now",
)


def test_what_a_notebook_shows_of_it():
    shown = kernel_benchmark.measured(TABLE, "ours", "peer")
    assert shown[["row", "d"]].values.tolist() == [
        ["grouped_max", 256],
        ["step", 256],
        ["fgm", 512],
        ["grouped_max", 1024],
        ["loop", 256],
    ]
    assert shown["20–80 %"][0] == "1.00–1.50"
    assert list(kernel_benchmark.remarks(TABLE).row) == ["step", "loop"]
    assert kernel_benchmark.verdict(TABLE) == "4 of 5 bars met (step, d = 256: 1.30 for ≤ 1.25)"
    assert kernel_benchmark.verdict(TABLE[TABLE.met == "-"]) == "no bar is asked of so small a run"
    assert kernel_benchmark.device_of(TABLE) == "some, 1 thread, 5 starts, PyTorch 2, now"
    ways = kernel_benchmark.times_hard_coding(TABLE)
    assert list(ways.columns) == ["d", "blocks", "loop"]
    assert ways.values.tolist() == [[256, 2.5, 9.5]]


def test_the_figure_has_its_bars_and_theirs():
    lines = kernel_benchmark.plotted(TABLE)
    assert list(lines.label) == ["grouped_max", "step ÷ forward", "loop", "grouped_max"]
    assert lines.limit.tolist()[:2] == [1.06, 1.25] and lines.limit.isna().sum() == 1
    figure = kernel_benchmark.against_floor(lines, "note")
    left, right = figure.axes
    ends = [patch.get_width() + patch.get_x() for patch in left.patches]
    assert ends == pytest.approx([1.04, 1.3, 12])
    assert [text.get_text() for text in left.texts] == ["1.04", "1.30", "12.00"]
    assert len(right.patches) == 1 and left.get_xscale() == "log"
    colours = [patch.get_facecolor() for patch in left.patches]
    assert colours[0] == colours[1] != colours[2]


def test_tables_of_other_machines(tmp_path):
    assert kernel_benchmark.kept(tmp_path).empty
    for name in ("a", "b"):
        TABLE.assign(device=name, dtype="fp32").to_csv(tmp_path / f"{name}.csv", index=False)
    found = kernel_benchmark.kept(tmp_path)
    assert list(found.device.unique()) == ["a", "b"] and (found.note == "").sum() == 14


def test_the_table_is_measured_once_and_a_failure_told(tmp_path, monkeypatch):
    commands = []

    def run(command, cwd):
        commands.append(command[1:-2])
        file = tmp_path / "benchmarks/kernels.csv"
        file.parent.mkdir(exist_ok=True)
        TABLE.assign(dtype="fp32").to_csv(file, index=False)
        return SimpleNamespace(returncode=len(commands) - 1)

    monkeypatch.setattr(kernel_benchmark.subprocess, "run", run)
    book = SimpleNamespace(out=tmp_path, profile=SimpleNamespace(name="smoke"))
    assert len(kernel_benchmark.table(book)) == len(kernel_benchmark.table(book)) == len(TABLE)
    assert commands == [["-m", "benchmarks.kernels", "--size", "smoke"]]
    book.profile.name = "laptop"
    with pytest.raises(ValueError, match="benchmarks.kernels ended with 1"):
        kernel_benchmark.measure(book)
    book.profile.name = "overnight"
    with pytest.raises(ValueError, match="benchmarks.kernels ended with 2"):
        kernel_benchmark.measure(book)
    laptop, overnight = (command[3:] for command in commands[1:])
    assert laptop == ["full", "--widths", "256", "--starts", "1"] and overnight == ["full"]


# --- The guard -----------------------------------------------------------------------------------


def test_the_best_of_groups_takes_no_longer_than_its_product_and_a_look_at_the_scores():
    """At most 1.05 times: the best of some tries, each between two products. (What a look costs
    depends on the machine's memory: a quarter of the product where this was written.)
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        s = bench.pairs(bench.Size(images=128, captions=256), 256, "cpu")
        rows = [
            Row("grouped_max", bench.best_of_groups),
            Row("look", lambda s: s.unit["fp32"].scores.amax(0)),
        ]
        ratios = []
        while len(ratios) < 20 and min(ratios, default=9) > 1:
            ours, look, _ = bench.interleaved(rows, bench.pairs(bench.SMOKE, 256, "cpu"), s)
            ratios.append(ours["ms"] / (ours["floor"] + look["ms"]))
        assert min(ratios) <= 1.05, sorted(ratios)[:5]
    finally:
        torch.set_num_threads(threads)


# --- An epoch of ComAlign's heads ----------------------------------------------------------------


def test_heads_epoch_is_counted_from_its_steps(tmp_path, monkeypatch):
    from benchmarks import heads

    monkeypatch.setattr(heads, "PHRASES", 50)
    run = heads.features(tmp_path, width=8, pairs=64)
    assert run.array("images").shape == (64, 21, 8)
    there = run.array("boxes")[..., 2] > 0
    assert (
        there[:, 0].all() and 2 <= there[:, 1:11].sum(1).min() <= there[:, 1:11].sum(1).max() <= 10
    )
    assert run.array("captions").max() < 50 and (run.array("captions")[:, :2] >= 0).all()
    ticks = iter(range(10**6))
    monkeypatch.setattr(heads.time, "perf_counter", lambda: next(ticks))
    found = heads.epoch(run, "both", "cpu", pairs=64, batch=16, steps=2)
    assert found.pop("MB") > 0
    assert found == dict.fromkeys(("read", "forward", "backward", "update"), 64 // 16 * 1.0)
