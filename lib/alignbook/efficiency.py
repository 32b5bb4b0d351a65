"""CHAN's Figure 3: what a similarity costs in time and memory, measured alone on the machine.

Two stages make an inference: every image and every caption is encoded once, then all pairs are
compared. The first grows with images plus captions, the second with their product.
"""

import multiprocessing
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from alignbook import baselines, chan, features, progress, runs
from alignbook.similarity import BLOCK_BYTES, MIN_ROWS

EXHIBIT = "chan-F3"
CAPTIONS = 250  # compared with all images of the test split; all captions are encoded
ROUNDS = 3  # of which the median counts; one more before them warms up and shows the memory


def arms(exhibit: str, profile) -> dict[str, tuple[list, dict]]:
    """Five matchers, none of them trained for this: the runs are those of Tables 1 and 3.

    SCAN stands twice, with its attended vectors and by Gram matrices: the same model and, up to
    rounding, the same scores.
    """
    if exhibit != EXHIBIT:
        raise KeyError(f"efficiency has no arms for {exhibit!r}")
    table_1, table_3 = baselines.arms("chan-T1", profile), chan.arms("chan-T3", profile)
    scan = table_3["cross-attention"]
    return {"vse++": table_1["vse++"], "vse-inf": table_1["vse-inf"], "soft-attended": scan,
            "soft-gram": scan, "hard": table_3["visual-codebook"]}  # fmt: skip


def similarity_of(row: str, model):
    """The function of images, words and word lengths that a row is about."""
    if row != "soft-attended":
        return model.similarity
    c = model.config
    return lambda images, words, word_lengths: baselines.attended_similarity(
        images, words, word_lengths, c.temperature, c.scale
    )


@torch.inference_mode()
def measure(row: str, key: str, book) -> dict:
    """Seconds and bytes of one model on the test split, on one thread of the CPU or on a GPU.

    Returns
    -------
    dict: images and words encoded (all captions), `encoding` seconds of both; pairs compared and
    `comparing` seconds, `product` seconds of the bare matrix product behind them (NaN where there
    are no regions), and `memory`, the bytes that comparing took at its peak on top of what the
    vectors themselves take (NaN where the system doesn't tell: neither Linux nor a GPU).
    """
    torch.set_num_threads(1)
    dataset, feature_run, *_ = inputs = book.inputs()
    device = book.device
    run = runs.stored(key)
    model, vocabulary = (chan if "coding" in run.config else baselines).load(run, *inputs)
    model.to(device)
    rows, stored = dataset.splits["test"], feature_run.array("features")
    ids, lengths = vocabulary.encode(dataset.captions_of("test"))
    raw = features.batch(stored, rows, model.config.regions)

    def encode():
        pictures = [model.image(part.to(device)) for part in raw.split(500)]
        words = [model.text(part[:, : int(n.max())].to(device), n)
                 for part, n in zip(ids.split(1000), lengths.split(1000))]  # fmt: skip
        return torch.cat(pictures), words[0]

    encoding, (images, words) = timed(encode, device)
    some, n = words[:CAPTIONS], lengths[:CAPTIONS]
    compare = similarity_of(row, model)
    watch = Peak(device)
    compare(images, some, word_lengths=n)
    memory = watch.taken()
    comparing, scores = timed(lambda: compare(images, some, word_lengths=n), device)
    product = np.nan
    if images.ndim == 3:
        queries = torch.cat([words[:length] for words, length in zip(some, n)])
        product, _ = timed(lambda: bare_product(images.flatten(0, 1), queries), device)
    return {
        "images": len(images), "captions": len(ids), "encoding": encoding, "pairs": scores.numel(),
        "comparing": comparing, "product": product, "memory": memory,
    }  # fmt: skip


def bare_product(regions: torch.Tensor, words: torch.Tensor) -> int:
    """How many cosines `(R, d)` and `(W, d)` have; all are made, in the blocks of `similarity`, and
    none is kept.
    """
    wide = BLOCK_BYTES // (MIN_ROWS * words.element_size())
    blocks = ((t, v) for t in words.split(MIN_ROWS) for v in regions.split(wide))
    return sum((t @ v.T).numel() for t, v in blocks)


def timed(work, device: str, rounds: int = ROUNDS):
    """Median seconds of `work()` over some rounds, after one that isn't counted, and its result."""
    spent, result = [], work()
    for _ in range(rounds):
        settle(device)
        began = time.perf_counter()
        result = work()
        settle(device)
        spent.append(time.perf_counter() - began)
    return float(np.median(spent)), result


def settle(device: str) -> None:
    """Wait for what a GPU was given to do."""
    if device != "cpu":
        torch.cuda.synchronize()


class Peak:
    """The most memory a process takes from here on, less what it has here."""

    def __init__(self, device: str):
        self.device = device
        if device != "cpu":
            torch.cuda.reset_peak_memory_stats()
            self.before = torch.cuda.memory_allocated()
        elif (clear := Path("/proc/self/clear_refs")).exists():
            clear.write_text("5")  # from now on VmHWM is the peak since now
            self.before = resident("VmRSS")

    def taken(self) -> float:
        """Bytes; NaN where neither Linux nor a GPU counts them."""
        if self.device != "cpu":
            return float(torch.cuda.max_memory_allocated() - self.before)
        if not hasattr(self, "before"):
            return np.nan
        return float(resident("VmHWM") - self.before)


def resident(what: str) -> int:
    """Bytes that Linux states for this process under "VmRSS" (now) or "VmHWM" (at the most)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(what))


def table(book, listed: pd.DataFrame) -> pd.DataFrame:
    """Measurements of all rows and seeds: `book.out/efficiency.csv`, made if it isn't of these runs.

    Every model has a process of its own, one after the other, the rows by turns; nothing else
    should run meanwhile.

    Parameters
    ----------
    listed : the runs of chan-F3, as `collect.arms` lists them.
    """
    file = book.out / "efficiency.csv"
    reported = listed[listed.role == "report"].sort_values("seed", kind="stable")
    wanted = reported[["arm", "seed", "key"]].rename(columns={"arm": "row", "key": "run"})
    if file.exists():
        found = pd.read_csv(file)
        if found[["row", "seed", "run"]].values.tolist() == wanted.values.tolist():
            return found
    lines, context = [], multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])  # PyTorch is imported once; nothing ran there yet
    for i, (row, seed, key) in enumerate(wanted.itertuples(index=False), 1):
        with ProcessPoolExecutor(1, context) as fresh:
            measured = fresh.submit(measure, row, key, book).result()
        lines.append({"row": row, "seed": seed, "run": key} | measured)
        progress.show("time and memory", i, len(wanted))
    found = pd.DataFrame(lines)
    aside = file.with_suffix(".tmp")
    file.parent.mkdir(parents=True, exist_ok=True)
    found.to_csv(aside, index=False)
    aside.rename(file)
    return found


def costs(measured: pd.DataFrame) -> pd.DataFrame:
    """Milliseconds a pair and memory of every row and seed, from what `table` returns.

    `ms/pair` is the comparing alone. `ms/pair with encoding` is the whole of an inference divided
    by images × captions: the encoding of all of them, and comparing all pairs at the time of those
    that were compared. `× product` is the comparing in units of its matrix product.
    """
    m = measured
    alone = 1e3 * m.comparing / m.pairs
    return pd.DataFrame({
        "row": m.row, "seed": m.seed, "ms/pair": alone,
        "ms/pair with encoding": alone + 1e3 * m.encoding / (m.images * m.captions),
        "× product": m.comparing / m["product"], "MB": m.memory / 2**20,
    })  # fmt: skip


def with_metrics(metrics: pd.DataFrame, measured: pd.DataFrame) -> pd.DataFrame:
    """Metrics and, below them, `costs` in the same form: exhibit, row, column, seed, value.

    Claims about them read both. They stand in efficiency.csv alone, as metrics.csv is compared byte
    by byte between starts.
    """
    long = costs(measured).melt(["row", "seed"], var_name="column").assign(exhibit=EXHIBIT)
    return pd.concat([metrics, long], ignore_index=True)


def rsum(metrics: pd.DataFrame) -> pd.DataFrame:
    """RSUM of every row and seed of the figure: row, seed, RSUM."""
    own = metrics[(metrics.exhibit == EXHIBIT) & (metrics.column == "RSUM")]
    return own.rename(columns={"value": "RSUM"})[["row", "seed", "RSUM"]]
