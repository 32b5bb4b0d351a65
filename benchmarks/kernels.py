"""What the kernels take, as a multiple of the matrix product that they can't do without.

    python -m benchmarks.kernels [--size smoke|full] [--starts 5] [--threads 1 2] [--device cpu|cuda]
                                 [--widths 256 …]

from the project folder, with `lib` on PYTHONPATH. A *start* is a fresh process on cores of its own.
It makes the data, warms every row up (the slow ones in small), then takes the time of every row
once, and that of the row's *floor* before and after it: a ratio is to the mean of these two. Over
the starts the table has medians, and the 20th and 80th percentiles. Memory, beyond the inputs, is
looked at by the first start: of slow rows while they are timed, which takes them no longer, of the
others in a second pass, after all times. Every number of threads has starts and a table of its own.
"""

import argparse
import contextlib
import datetime
import multiprocessing
import os
import platform
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import torch
from alignbook import ROOT
from alignbook.core import kernels, losses, similarity
from alignbook.papers.chan import rivals
from alignbook.show import tables
from alignbook.store import allocator
from alignbook.store.stopwatch import Peak, settle
from torch.nn import functional as F

from benchmarks import peers

ROLES = {"ours": "ours", "peer": "peers", "floor": "floors", "quotient": "one row over another"}
ELSEWHERE = " on cuda"  # in a CPU's table
SCALE, TEMPERATURE, MARGIN = 10.0, 1 / 9, 0.05
COLUMNS = [
    "device",
    "threads",
    "dtype",
    "row",
    "role",
    "d",
    "starts",
    "ms",
    "ms_20",
    "ms_80",
    "ratio",
    "ratio_20",
    "ratio_80",
    "MB",
    "bar",
    "met",
    "note",
    "torch",
    "python",
    "date",
    "command",
]


@dataclass(frozen=True)
class Size:
    """How much is compared: images of `regions`, captions of `shortest` to `longest` words, at some
    widths; a training batch; and `sets` of `members` of width `set_width` for `kernels.fgm`.
    """

    images: int = 256
    captions: int = 512
    regions: int = 36
    shortest: int = 6
    longest: int = 18
    widths: tuple[int, ...] = (256, 1024)
    batch: int = 128
    sets: int = 1600
    members: int = 10
    set_width: int = 512

    @property
    def small(self) -> bool:
        """Too small for its times to mean anything."""
        return self.images < FULL["cpu"].images


FULL = {"cpu": Size(), "cuda": Size(images=1000, captions=5000)}
SMOKE = Size(images=16, captions=32, widths=(16, 32), batch=8, sets=40, set_width=24)
ROUNDS = {"cpu": 1, "cuda": 10}  # of one time: a product takes milliseconds on a GPU
CORES = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}


@dataclass(frozen=True)
class Row:
    """Something to be timed: a function of the data, beside its floor, another one.

    ``bars`` are by width the most that its time may be as a multiple of the floor's; ``most_mb``
    limits its memory as well.
    """

    name: str
    work: Callable
    floor: str = "product"
    role: str = "ours"
    bars: dict[int, float] = field(default_factory=dict)
    most_mb: float = np.inf
    dtype: str = "fp32"
    skip: str = ""  # why it isn't run here
    slow: bool = False  # on a CPU it is warmed up in small


@dataclass(frozen=True)
class Quotient:
    """The time of a row over that of another; at least, or at most, what its bars say by width."""

    above: str
    below: str
    bars: dict[int, float]
    at_least: bool = True

    @property
    def name(self) -> str:
        return f"{self.above} ÷ {self.below}"


# --- The data ------------------------------------------------------------------------------------


def pairs(size: Size, d: int, device: str) -> SimpleNamespace:
    """Regions and words of width d as an encoder leaves them; `unit` by type at length 1, packed
    too, with room for their product; and a batch whose gradient is wanted.
    """
    draw = torch.Generator().manual_seed(0)
    regions = torch.randn(size.images, size.regions, d, generator=draw).to(device)
    words = torch.randn(size.captions, size.longest, d, generator=draw).to(device)
    lengths = torch.randint(size.shortest, size.longest + 1, (size.captions,), generator=draw)
    s = SimpleNamespace(regions=regions, words=words, lengths=lengths.to(device), unit={})
    s.offsets = torch.arange(size.images + 1, device=device) * size.regions
    for name, dtype in DTYPES.items():
        unit_regions, unit_words = (F.normalize(x, dim=-1).to(dtype) for x in (regions, words))
        queries, _ = kernels.pack(unit_words, s.lengths)
        codewords = unit_regions.flatten(0, 1)
        scores = torch.empty(len(queries), len(codewords), device=device, dtype=dtype)
        s.unit[name] = SimpleNamespace(
            regions=unit_regions,
            words=unit_words,
            queries=queries,
            codewords=codewords,
            scores=scores,
        )
    some = [x[: size.batch].clone().requires_grad_() for x in (regions, words)]
    s.batch = SimpleNamespace(regions=some[0], words=some[1], lengths=s.lengths[: size.batch])
    return s


def sets(size: Size, d: int, device: str) -> SimpleNamespace:
    """Sets of the same number of members, of both sides, by type, and room for their product."""
    draw = torch.Generator().manual_seed(0)
    shape, s = (2, size.sets * size.members, d), SimpleNamespace(unit={})
    both = F.normalize(torch.randn(shape, generator=draw), dim=-1).to(device)
    for name, dtype in DTYPES.items():
        x, y = (each.to(dtype, copy=True).requires_grad_() for each in both)
        scores = torch.empty(len(x), len(y), device=device, dtype=dtype)
        s.unit[name] = SimpleNamespace(x=x, y=y, scores=scores)
    s.offsets = torch.arange(size.sets + 1, device=device) * size.members
    return s


# --- What is timed -------------------------------------------------------------------------------


def product(s, dtype="fp32"):
    v = s.unit[dtype]
    torch.mm(v.queries, v.codewords.T, out=v.scores)


def best_of_groups(s, dtype="fp32", places=False):
    v = s.unit[dtype]
    torch.ops.alignbook.grouped_max(v.queries, v.codewords, s.offsets, places)


def whole(coding, s):
    """A similarity of vectors of any length, padded: they are packed and normalised, and pooled."""
    coding(s.regions, s.words, word_lengths=s.lengths, scale=SCALE)


def dense_step(coding, s):
    """The gradient of all fragments where every pair has one."""
    regions, words = (x.detach().requires_grad_() for x in (s.regions, s.words))
    coding(regions, words, word_lengths=s.lengths, scale=SCALE).sum().backward()


def batch_loss(coding, s):
    b = s.batch
    scores = coding(b.regions, b.words, word_lengths=b.lengths, scale=SCALE)
    return losses.hardest_negative_hinge(scores, MARGIN)


def batch_forward(coding, s):
    with torch.no_grad():
        batch_loss(coding, s)


def batch_step(coding, s):
    s.batch.regions.grad = s.batch.words.grad = None
    batch_loss(coding, s).backward()


def sets_product(s, dtype="fp32"):
    v = s.unit[dtype]
    torch.mm(v.x.detach(), v.y.detach().T, out=v.scores)


def sets_forward(s, dtype="fp32"):
    v = s.unit[dtype]
    with torch.no_grad():
        kernels.fgm(v.x, s.offsets, v.y, s.offsets)


def sets_step(s, dtype="fp32"):
    """Both directions, a contrastive loss of each, and the gradient of all members."""
    v = s.unit[dtype]
    v.x.grad = v.y.grad = None
    both = kernels.fgm(v.x, s.offsets, v.y, s.offsets)
    sum(losses.info_nce(each, temperature=0.05) for each in both).backward()


def peer(compute, s, dtype="fp32"):
    """One of `peers` that gives maxima."""
    v = s.unit[dtype]
    if compute is peers.einsum:
        compute(v.words, s.lengths, v.regions)
    else:
        compute(v.queries, v.regions)


def gram(s):
    v = s.unit["fp32"]
    kernels.soft_coding(v.queries, v.codewords, s.offsets, TEMPERATURE)


def attended(s):
    rivals.attended_similarity(s.regions, s.words, s.lengths, TEMPERATURE, SCALE)


def shards(s):
    v = s.unit["fp32"]
    peers.padded_shards(v.regions, v.words, s.lengths, SCALE)


def caption_loop(s):
    v = s.unit["fp32"]
    peers.caption_loop(v.regions, v.words, s.lengths, TEMPERATURE, SCALE)


hard = similarity.hard_coding
soft = partial(similarity.soft_coding, temperature=TEMPERATURE)
in_half = {"dtype": "bf16"}
FLOORS = {
    "product": product,
    "product bf16": partial(product, **in_half),
    "forward, hard coding": partial(batch_forward, hard),
    "forward, soft coding": partial(batch_forward, soft),
    "product of sets": sets_product,
    "product of sets bf16": partial(sets_product, **in_half),
}
MAXIMA = {
    "blocked, amax": peers.blocked,
    "blocked, compiled": peers.compiled,
    "einsum, amax": peers.einsum,
}


def both(bar: float) -> dict[int, float]:
    """A bar for either width."""
    return dict.fromkeys(FULL["cpu"].widths, bar)


def rows_of_pairs(device: str, small: bool) -> list[Row]:
    """What is measured at every width, those of one floor together."""
    no_compiler = peers.no_compiler() if device == "cpu" else ""
    skip = "compiling takes longer than all the rest of a small run" if small else no_compiler

    def maxima(floor, **how):
        return [
            Row(
                f"{name}{' bf16' if how else ''}",
                partial(peer, compute, **how),
                floor,
                "peer",
                skip=skip * (compute is peers.compiled),
                **how,
            )
            for name, compute in MAXIMA.items()
        ]

    found = [
        Row("product bf16", FLOORS["product bf16"], role="floor", **in_half),
        Row("grouped_max", best_of_groups, bars=both(1.06)),
        Row("grouped_max, places kept", partial(best_of_groups, places=True)),
        Row("hard coding", partial(whole, hard), bars=both(1.15)),
        Row("hard coding, dense gradient", partial(dense_step, hard), slow=True),
        Row("soft coding, Gram", partial(whole, soft), bars={256: 1.8, 1024: 1.5}),
        Row("soft coding, dense gradient", partial(dense_step, soft), bars=both(4), slow=True),
        Row("kernels.soft_coding alone", gram),
        *maxima("product"),
        Row("padded shards, as released", shards, role="peer"),
        Row("attended vectors, blocks", attended, role="peer", slow=True),
        Row("attended vectors, caption loop", caption_loop, role="peer", slow=True),
        Row(
            "training step, hard coding",
            partial(batch_step, hard),
            "forward, hard coding",
            bars=both(1.25),
        ),
        Row("training step, soft coding", partial(batch_step, soft), "forward, soft coding"),
    ]
    if device == "cuda":  # the bars are a CPU's, and this product is a floor
        found = [replace(row, bars={}) for row in found[1:]]
        found += [
            Row(
                "grouped_max bf16",
                partial(best_of_groups, **in_half),
                "product bf16",
                bars=both(1.6),
                **in_half,
            ),
            *maxima("product bf16", **in_half),
        ]
    return found


def rows_of_sets(device: str) -> list[Row]:
    """What is measured of matching sets; on a GPU in bfloat16."""
    if device == "cuda":
        floor = "product of sets bf16"
        forward, step = (partial(work, **in_half) for work in (sets_forward, sets_step))
        return [
            Row("fgm bf16", forward, floor, bars={512: 2.2}, **in_half),
            Row("fgm bf16, with backward", step, floor, **in_half),
        ]
    return [
        Row("fgm", sets_forward, "product of sets", slow=True),
        Row(
            "fgm, with backward",
            sets_step,
            "product of sets",
            bars={512: 3.6},
            most_mb=1500,
            slow=True,
        ),
    ]


def quotients(device: str) -> list[Quotient]:
    """Rows that are compared with each other."""
    if device == "cuda":
        return [
            *(Quotient(f"{name} bf16", "grouped_max bf16", {1024: 1}) for name in MAXIMA),
            # at most 2.2 times the forward pass for the backward one
            Quotient("fgm bf16, with backward", "fgm bf16", {512: 3.2}, at_least=False),
        ]
    return [
        Quotient("attended vectors, caption loop", "hard coding", {256: 9, 1024: 12}),
        Quotient("attended vectors, blocks", "hard coding", both(2)),
        Quotient("soft coding, Gram", "hard coding", {}),
    ]


# --- A start -------------------------------------------------------------------------------------


def groups(size: Size, device: str):
    """Rows, what makes their data, and the width, one after the other."""
    for d in size.widths:
        yield rows_of_pairs(device, small=size.small), pairs, d
    yield rows_of_sets(device), sets, size.set_width


def start(size: Size, device: str, threads: int, with_memory: bool) -> list[dict]:
    """In a fresh process: every row once, see `interleaved`, with its width `d`. As in every process
    that trains, freed memory stays with it.
    """
    pin(threads)
    allocator.keep_freed()
    found = []
    for listed, make, d in groups(size, device):
        little = make(SMOKE, d, device)
        s = make(size, d, device)
        lines = interleaved(listed, little, s, device, with_memory)
        if with_memory:
            remember_memory(listed, lines, s, device)
        found += [{"d": d, **line} for line in lines]
        del s  # before the next ones are made
    return found


def pin(threads: int) -> None:
    """So many threads, on as many cores (where the system lets itself be told)."""
    torch.set_num_threads(threads)
    if CORES:
        os.sched_setaffinity(0, CORES[-threads:])


def interleaved(listed: list[Row], little, s, device: str = "cpu", with_memory=False) -> list[dict]:
    """Each row's `ms`, and `floor`, the mean of its floor's before and after; or a `note` on why
    there are none. Floors come last, with the mean of all their times. If asked to, slow rows have
    their `MB` as well.
    """
    found, spent = [], {row.floor: [] for row in listed}
    for floor in spent:
        with contextlib.suppress(Exception):  # told with its rows
            FLOORS[floor](s)  # touches the memory that it writes to
    broken = {row.name: row.skip or warmed(row, little, s, device) for row in listed}
    just = None  # the floor that was timed last

    def of_floor(name):
        spent[name].append(timed(FLOORS[name], s, device))
        return spent[name][-1]

    for row in listed:
        line = {"row": row.name, "note": broken[row.name]}
        found.append(line)
        if not line["note"]:
            try:
                before = spent[row.floor][-1] if just == row.floor else of_floor(row.floor)
                watch = Peak(device) if with_memory and row.slow and device == "cpu" else None
                ms = timed(row.work, s, device)
                line |= {"MB": watch.taken() / 2**20} if watch else {}
                after, just = of_floor(row.floor), row.floor
                line |= {"ms": ms, "floor": (before + after) / 2}
            except Exception as error:
                line["note"], just = reason(error), None
    means = {name: float(np.mean(times)) for name, times in spent.items() if times}
    return found + [{"row": name, "note": "", "ms": ms, "floor": ms} for name, ms in means.items()]


def warmed(row: Row, little, s, device: str) -> str:
    """Run a row, in small if it is slow, so that what happens once isn't timed; why that failed, if
    it did.
    """
    try:
        row.work(little if row.slow and device == "cpu" else s)
    except Exception as error:
        return reason(error)
    return ""


def reason(error: Exception) -> str:
    """An error in one line."""
    return f"not run: {type(error).__name__}: {str(error).partition(chr(10))[0][:200]}"


def timed(work: Callable, s, device: str) -> float:
    """Milliseconds of `work(s)`."""
    rounds = ROUNDS[device]
    settle(device)
    began = time.perf_counter()
    for _ in range(rounds):
        work(s)
    settle(device)
    return 1e3 * (time.perf_counter() - began) / rounds


def remember_memory(listed: list[Row], lines: list[dict], s, device: str) -> None:
    """Add to the lines of rows that could be timed how many MB they take beyond their inputs."""
    work = {row.name: row.work for row in listed}
    for line in lines:
        if "ms" in line and line["row"] in work and "MB" not in line:
            watch = Peak(device)
            work[line["row"]](s)
            line["MB"] = watch.taken() / 2**20


# --- The table -----------------------------------------------------------------------------------


def summary(starts: list[list[dict]], device: str, size: Size, stamp: dict) -> pd.DataFrame:
    """One line a row and width, see `COLUMNS`; what could not be measured says why."""
    every = pd.concat([pd.DataFrame(lines) for lines in starts])
    every = every.reindex(columns=["d", "row", "ms", "floor", "MB", "note"])
    lines = []
    for listed, _, d in groups(size, device):
        own = every[every.d == d].set_index("row")
        floors = [
            Row(name, FLOORS[name], name, "floor", dtype="bf16" if "bf16" in name else "fp32")
            for name in dict.fromkeys(row.floor for row in listed)
        ]
        lines += [
            stamp | row_line(row, d, own.loc[[row.name]], size.small)
            for row in [*floors, *listed]
            if row.name in own.index
        ]
        lines += [
            stamp | quotient_line(each, d, own, size.small)
            for each in quotients(device)
            if {each.above, each.below} <= {*own.index}
        ]
    if device == "cpu":
        lines += [stamp | line for line in not_run()]
    return pd.DataFrame(lines, columns=COLUMNS).fillna({"note": "", "bar": ""})


def row_line(row: Row, d: int, found: pd.DataFrame, small: bool) -> dict:
    """A row's medians over the starts, `found` with a line for each."""
    ratio, mb = found.ms / found.floor, found.MB.max()
    bar = np.nan if small else row.bars.get(d, np.nan)
    judged = met(ratio.median(), bar, at_least=False)
    if judged == "yes" and mb > row.most_mb:
        judged = "no"
    limit = f"and at most {row.most_mb:,.0f} MB" if np.isfinite(row.most_mb) else ""
    floor = "" if row.floor.startswith("product") or row.role == "floor" else f"floor: {row.floor}"
    notes = dict.fromkeys(note for note in [limit, floor, *found.note] if note)
    return {
        "dtype": row.dtype,
        "row": row.name,
        "role": row.role,
        "d": d,
        "starts": ratio.count(),
        **middle("ms", found.ms),
        **middle("ratio", ratio),
        "MB": mb,
        "bar": written(bar, at_least=False),
        "met": judged,
        "note": "; ".join(notes),
    }


def quotient_line(each: Quotient, d: int, own: pd.DataFrame, small: bool) -> dict:
    """The quotient of two rows, start by start."""
    ratio = pd.Series(own.loc[[each.above], "ms"].values / own.loc[[each.below], "ms"].values)
    bar = np.nan if small else each.bars.get(d, np.nan)
    return {
        "row": each.name,
        "role": "quotient",
        "d": d,
        "starts": ratio.count(),
        **middle("ratio", ratio),
        "bar": written(bar, each.at_least),
        "met": met(ratio.median(), bar, each.at_least),
    }


def not_run() -> list[dict]:
    """A GPU's rows that have a bar, and why a CPU's table has no numbers for them."""
    why = "there is no CUDA device" if not torch.cuda.is_available() else "this is the CPU's table"
    note = f"not run: {why}; python -m benchmarks.kernels --device cuda on one"
    listed = [(row, d, False) for rows, _, d in groups(FULL["cuda"], "cuda") for row in rows]
    listed += [(each, d, each.at_least) for each in quotients("cuda") for d in each.bars]
    return [
        {
            "device": "cuda",
            "threads": np.nan,
            "dtype": "bf16",
            "row": row.name + ELSEWHERE,
            "d": d,
            "role": "quotient" if isinstance(row, Quotient) else row.role,
            "starts": 0,
            "bar": written(row.bars[d], at_least),
            "met": "-",
            "note": note,
        }
        for row, d, at_least in listed
        if d in row.bars
    ]


def middle(name: str, values: pd.Series) -> dict:
    """Median and 20th and 80th percentile of what is there."""
    return {
        name: values.median(),
        f"{name}_20": values.quantile(0.2),
        f"{name}_80": values.quantile(0.8),
    }


def written(bar: float, at_least: bool) -> str:
    """A bar as the table has it.

    >>> written(1.06, False), written(9.0, True), written(np.nan, True)
    ('≤ 1.06', '≥ 9', '')
    """
    return "" if np.isnan(bar) else f"{'≥' if at_least else '≤'} {bar:g}"


def met(value: float, bar: float, at_least: bool) -> str:
    """Whether a value keeps to its bar; "-" where either is missing.

    >>> met(1.06, 1.06, False), met(8.99, 9, True), met(1.2, np.nan, False)
    ('yes', 'no', '-')
    """
    if np.isnan(value) or np.isnan(bar):
        return "-"
    return "yes" if (value >= bar if at_least else value <= bar) else "no"


def text(found: pd.DataFrame) -> str:
    """The table for a terminal, notes below their rows, and which bars are missed."""
    form = "{:<47} {:>4} {:>9} {:>19} {:>7} {:>7} {:>4}"
    stamp, elsewhere = found.iloc[0], found.row.str.endswith(ELSEWHERE)
    threads = f"{stamp.threads:g} thread{'' if stamp.threads == 1 else 's'}"
    lines = [
        f"{stamp.device}, {threads}, PyTorch {stamp.torch}, {stamp.date}",
        "",
        form.format("row", "d", "ms", "× floor (20–80 %)", "MB", "bar", "met"),
    ]
    for role, name in ROLES.items():
        own = found[(found.role == role) & ~elsewhere]
        lines += ["", f"{name}:"] * bool(len(own))
        for line in own.sort_values("d", kind="stable").itertuples():
            ratio = f"{line.ratio:.2f} ({line.ratio_20:.2f}–{line.ratio_80:.2f})"
            lines.append(
                form.format(
                    line.row,
                    line.d,
                    dash(line.ms, f"{line.ms:,.1f}"),
                    dash(line.ratio, ratio),
                    dash(line.MB, f"{line.MB:,.0f}"),
                    line.bar,
                    line.met,
                )
            )
            lines += [f"    {line.note}"] * bool(line.note)
    for note, own in found[elsewhere].groupby("note", sort=False):
        lines += ["", note]
        lines += [f"{each.row:<52} {each.d:>4} {each.bar:>7}" for each in own.itertuples()]
    judged, missed = found[found.met != "-"], found[found.met == "no"]
    names = ", ".join(f"{each.row} (d = {each.d})" for each in missed.itertuples())
    said = f"{len(judged) - len(missed)} of {len(judged)} bars met"
    if len(judged):
        lines += ["", f"{said}; missed: {names}" if names else said]
    return "\n".join(lines)


def dash(value: float, shown: str) -> str:
    """What is shown of a number; a dash of none."""
    return "–" if np.isnan(value) else shown


def device_name(device: str) -> str:
    """The processor's or the GPU's name."""
    if device == "cuda":
        return torch.cuda.get_device_name()
    file = Path("/proc/cpuinfo")
    lines = file.read_text().splitlines() if file.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


# --- The command ---------------------------------------------------------------------------------


def main(arguments: list[str]) -> int:
    """Measure, print, write; 2 where there is no such device."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.kernels",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--size", choices=("smoke", "full"), default="full")
    parser.add_argument("--widths", type=int, nargs="+", metavar="D", help="default: all")
    parser.add_argument("--starts", type=int, default=5)
    parser.add_argument("--threads", type=int, nargs="+", help="default: 1 2, of a GPU or --out 1")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--out", type=Path, help="default: results/benchmarks/<device>.csv")
    asked = parser.parse_args(arguments)
    if asked.device == "cuda" and not torch.cuda.is_available():
        print(
            "benchmarks: PyTorch finds no CUDA device here; --device cpu measures the CPU",
            file=sys.stderr,
        )
        return 2
    size = SMOKE if asked.size == "smoke" else FULL[asked.device]
    if unknown := {*(asked.widths or ())} - {*size.widths}:
        print(
            f"benchmarks: no width {min(unknown)}; there are: {', '.join(map(str, size.widths))}",
            file=sys.stderr,
        )
        return 2
    size = replace(size, widths=tuple(asked.widths or size.widths))
    usual = [1] if asked.out or asked.device == "cuda" else [1, 2]
    every = [measured(size, each, asked) for each in asked.threads or usual]
    out = asked.out or ROOT / f"results/benchmarks/{asked.device}.csv"
    tables.write_csv(pd.concat(every).drop_duplicates(), out, sealed=True)
    said = "\n\n".join(map(text, every))
    if asked.out:  # for another program: there is the table, and one line here
        shown = out.with_suffix(".txt")
        shown.write_text(said + "\n", encoding="utf-8")
        print(f"  table of the kernels: {os.path.relpath(shown)}", flush=True)
    else:
        print(f"\n{said}\n")
    return 0


def measured(size: Size, threads: int, asked: argparse.Namespace) -> pd.DataFrame:
    """The table of all starts with so many threads."""
    os.environ |= {"OMP_NUM_THREADS": str(threads), "TORCHINDUCTOR_COMPILE_THREADS": "1"}
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # as run_all.sh has it
    starts, count = [], 0 if size.small else asked.starts
    if size.small:  # its times mean nothing: no process of its own, to import everything again
        starts.append(start(size, asked.device, threads, with_memory=True))
    for i in range(count):
        began = time.monotonic()
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as fresh:
            job = fresh.submit(start, size, asked.device, threads, with_memory=i == 0)
            starts.append(job.result())
        done = f"start {i + 1} of {count}, {threads} thread{'s' * (threads > 1)}"
        print(f"  {time.monotonic() - began:6.1f} s  {done}", flush=True)
    options = {"size": asked.size, "starts": asked.starts, "threads": threads}
    options |= {"device": asked.device}
    options |= {"widths": " ".join(map(str, asked.widths))} if asked.widths else {}
    stamp = {
        "device": device_name(asked.device),
        "threads": threads,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "date": datetime.date.today().isoformat(),
        "command": " ".join(
            [
                "python -m benchmarks.kernels",
                *(f"--{name} {value}" for name, value in options.items()),
            ]
        ),
    }
    return summary(starts, asked.device, size, stamp)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
