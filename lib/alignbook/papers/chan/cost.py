"""CHAN's Figures 3 and 4: what a similarity costs in time and memory, measured alone on the machine.

Two stages make an inference: every image and every caption is encoded once, then all pairs are
compared. The first grows with images plus captions, the second with their product.
"""

import numpy as np
import pandas as pd
import torch

from alignbook.backbones import region_features
from alignbook.papers.chan import model, rivals
from alignbook.store import runs, stopwatch

CAPTIONS = 100  # compared with all images of the test split; all captions are encoded
BLOCK = 512, 8192  # words and regions of a block of the bare product, 16 MB of scores


def similarity_of(row: str, model):
    """The function of images, words and word lengths that a row is about.

    Cross-attention builds its attended vectors, as the paper's rival does, but for one row.
    """
    if not row.startswith("soft-") or row == "soft-gram":
        return model.similarity
    c = model.config
    return lambda images, words, word_lengths: rivals.attended_similarity(
        images, words, word_lengths, c.temperature, c.scale
    )


def load(key: str, book) -> tuple:
    """A stored model, the regions of all test images `(N, K, D)`, and their captions' ids and
    lengths: what `measure` takes.
    """
    run = runs.stored(key)
    dataset, feature_run, *_ = inputs = book.inputs(with_bert=run.config["text"] == "bert")
    matcher, vocabulary = (model if "coding" in run.config else rivals).load(run, *inputs)
    stored, rows = feature_run.array("features"), dataset.splits["test"]
    raw = region_features.batch(stored, rows, matcher.config.regions)
    return matcher, raw, *vocabulary.encode(dataset.captions_of("test"))


@torch.inference_mode()
def measure(row: str, device: str, model, raw, ids, lengths) -> dict:
    """Seconds and bytes of one model on the test split, on one thread of the CPU or on a GPU.

    Returns
    -------
    dict: images and words encoded (all captions), `encoding` seconds of both; pairs compared and
    `comparing` seconds, `product` seconds of the bare matrix product behind them (NaN where there
    are no regions), and `memory`, the bytes that comparing took at its peak on top of what the
    vectors themselves take (NaN where the system doesn't tell: neither Linux nor a GPU).
    """
    torch.set_num_threads(1)
    model.to(device)

    def encode():
        pictures = [model.image(part.to(device)) for part in raw.split(500)]
        words = [
            model.text(part[:, : int(n.max())].to(device), n)
            for part, n in zip(ids.split(1000), lengths.split(1000))
        ]
        return torch.cat(pictures), words[0]

    encoding, (images, words) = stopwatch.timed(encode, device)
    some, n = words[:CAPTIONS], lengths[:CAPTIONS]
    compare = similarity_of(row, model)
    comparing, scores = stopwatch.timed(lambda: compare(images, some, word_lengths=n), device)
    pairs, product = scores.numel(), np.nan
    if images.ndim == 3:
        queries = torch.cat([words[:length] for words, length in zip(some, n)])
        product, _ = stopwatch.timed(lambda: bare_product(images.flatten(0, 1), queries), device)
        del queries
    del scores
    watch = stopwatch.Peak(device)  # last: it makes allocating slower
    compare(images, some, word_lengths=n)
    return {
        "images": len(images),
        "captions": len(ids),
        "encoding": encoding,
        "pairs": pairs,
        "comparing": comparing,
        "product": product,
        "memory": watch.taken(),
    }


def bare_product(regions: torch.Tensor, words: torch.Tensor) -> int:
    """How many cosines `(R, d)` and `(W, d)` have; all are made, in blocks, and none is kept."""
    scores = words.new_empty(BLOCK)
    blocks = ((t, v) for t in words.split(BLOCK[0]) for v in regions.split(BLOCK[1]))
    return sum(torch.mm(t, v.T, out=scores[: len(t), : len(v)]).numel() for t, v in blocks)


def table(book, listed: pd.DataFrame) -> pd.DataFrame:
    """`measure` of an exhibit's rows and seeds, kept and made as `stopwatch.alone` does."""

    def given(row, key):
        return row, book.device, *load(key, book)

    return stopwatch.alone(book, listed, measure, given)


TIMES = ["ms/pair", "ms/pair with encoding"]


def costs(measured: pd.DataFrame) -> pd.DataFrame:
    """Milliseconds a pair and memory of every row and seed, from what `table` returns.

    `ms/pair` is the comparing alone. `ms/pair with encoding` is the whole of an inference divided
    by images × captions: the encoding of all of them, and comparing all pairs at the time of those
    that were compared. `× product` is the comparing in units of its matrix product.
    """
    m = measured
    alone = 1e3 * m.comparing / m.pairs
    return pd.DataFrame(
        {
            "exhibit": m.exhibit,
            "row": m.row,
            "seed": m.seed,
            "ms/pair": alone,
            "ms/pair with encoding": alone + 1e3 * m.encoding / (m.images * m.captions),
            "× product": m.comparing / m["product"],
            "MB": m.memory / 2**20,
        }
    )


def with_metrics(metrics: pd.DataFrame, measured: pd.DataFrame) -> pd.DataFrame:
    """Metrics and, below them, `costs` in the same form: exhibit, row, column, seed, value.

    Claims about them read both. They stand in efficiency/ alone, as metrics.csv is compared byte by
    byte between starts.
    """
    long = costs(measured).melt(["exhibit", "row", "seed"], var_name="column")
    return pd.concat([metrics, long], ignore_index=True)


def against_rsum(measured: pd.DataFrame, metrics: pd.DataFrame) -> pd.DataFrame:
    """`costs` of every row and seed with its RSUM, and as multiples of the row "hard", if there is
    one: the columns of `TIMES` with " ÷ hard" behind them.
    """
    found = costs(measured)
    own = metrics[metrics.column == "RSUM"].rename(columns={"value": "RSUM"})
    found = found.merge(own[["exhibit", "row", "seed", "RSUM"]], on=["exhibit", "row", "seed"])
    hard = found[found.row == "hard"].set_index("seed")
    for column in TIMES if len(hard) else ():
        found[f"{column} ÷ hard"] = found[column] / found.seed.map(hard[column])
    return found
