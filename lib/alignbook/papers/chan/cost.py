"""CHAN's Figures 3 and 4: what a similarity costs in time and memory, measured alone on the machine.

Two stages make an inference: every image and every caption is encoded once, then all pairs are
compared. The first grows with images plus captions, the second with their product.

SGR and SAF stand for the "other recent methods" that the paper compares its time with: their
networks are as wide as CHAN's and untrained, as no time depends on weights.
"""

import numpy as np
import pandas as pd
import torch

from alignbook.backbones import region_features
from alignbook.core import sgraf
from alignbook.core.similarity import hard_coding, soft_coding, unit
from alignbook.core.vocabulary import tokenize
from alignbook.evidence.entries import measurements
from alignbook.papers.chan import arms, model, rivals
from alignbook.store import runs, stopwatch

CAPTIONS = 100  # compared with all images of the test split; all captions are encoded
FEWER = 10  # of SGR and SAF, which take their time
BLOCK = 512, 8192  # words and regions of a block of the bare product, 16 MB of scores


def similarity_of(row: str, model):
    """The function of images, words and word lengths that a row is about.

    Cross-attention builds its attended vectors, as the paper's rival does, except in one row.
    """
    if not row.startswith("soft-") or row == "soft-gram":
        return model.similarity
    c = model.config
    return lambda images, words, word_lengths: rivals.attended_similarity(
        images, words, word_lengths, c.temperature, c.scale
    )


def load(row: str, key: str, book) -> tuple:
    """A stored model, the regions of all test images `(N, K, D)`, and their captions' ids and
    lengths: what `measure` takes.

    For SGR and SAF the key is that of CHAN's run whose sizes they get.
    """
    run = runs.stored(key)
    dataset, feature_run, *_ = inputs = book.inputs(with_bert=run.config["text"] == "bert")
    if row in sgraf.KINDS:
        torch.manual_seed(0)
        config = arms.as_rival(row, model.Config(**run.config))
        matcher, vocabulary = rivals.build(config, *inputs)
        matcher.eval()
    else:
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
    `comparing` seconds, `product` seconds of the bare matrix product that they take (NaN where
    there are no regions), and `memory`, the bytes that comparing took at its peak on top of what
    the vectors themselves take (NaN where the system doesn't tell: neither Linux nor a GPU).
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
    most = FEWER if row in sgraf.KINDS else CAPTIONS
    some, n = words[:most], lengths[:most]
    compare = similarity_of(row, model)
    comparing, scores = stopwatch.timed(lambda: compare(images, some, word_lengths=n), device)
    pairs, product = scores.numel(), np.nan
    if images.ndim == 3 and row not in sgraf.KINDS:
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
    """`measure` of an exhibit's rows, kept and made as `stopwatch.alone` does.

    Where there is a row "hard", SGR and SAF are measured beside each of its seeds, and then what
    `wide` returns.
    """

    def given(row, key):
        return row, book.device, *load(row, key, book)

    hard = listed[(listed.arm == "hard") & (listed.role == "report")]
    beside = [hard.assign(arm=kind) for kind in sgraf.KINDS]
    others = listed[~listed.arm.isin(sgraf.KINDS)]
    times = measurements(book.profile.name) if len(hard) else 1  # no claim asks of Figure 4's
    found = stopwatch.alone(book, pd.concat([others, *beside]), measure, given, times=times)
    if len(hard):
        wide(book)
    return found


# --- At the paper's width ------------------------------------------------------------------------

WIDTH, REGIONS, IMAGES, SENTENCES = 1024, 36, 64, 32  # of which SGR and SAF take `FEWER`
WIDE = ("hard", "soft-gram", "soft-attended", *sgraf.KINDS)


def compared_at(row: str, width: int):
    """What compares unit regions `(B1, K, d)` and words `(B2, L, d)` of that width, with the words'
    lengths `(B2,)`: SGR and SAF with alignments of a quarter of the width [X], τ = 1/9.
    """
    if row == "hard":
        return lambda v, t, n: hard_coding(v, t, word_lengths=n)
    if row == "soft-gram":
        return lambda v, t, n: soft_coding(v, t, word_lengths=n, temperature=1 / 9)
    if row == "soft-attended":
        return lambda v, t, n: rivals.attended_similarity(v, t, n, 1 / 9)
    sizes = dict(dim=width, sim_dim=width // 4, regions=REGIONS)
    net = sgraf.build(row, 1, torch.zeros(2, 1), **sizes).eval()

    def encoded(vectors, lengths=None):
        mean = unit(vectors.mean(1))
        return sgraf.Encoded(vectors, mean, mean, lengths)

    return lambda v, t, n: net.similarity(encoded(v), encoded(t, n))


@torch.inference_mode()
def measure_wide(row: str, lengths: list[int], width: int = WIDTH) -> dict:
    """Seconds of comparing random vectors of the paper's width, for captions of some lengths, on one
    thread of the CPU: pairs and `comparing`.
    """
    torch.set_num_threads(1)
    torch.manual_seed(0)
    n = torch.tensor(lengths)
    regions = unit(torch.randn(IMAGES, REGIONS, width))
    words = unit(torch.randn(len(n), max(lengths), width))
    compare = compared_at(row, width)
    comparing, scores = stopwatch.timed(lambda: compare(regions, words, n), "cpu")
    return {"pairs": scores.numel(), "comparing": comparing}


def wide(book) -> pd.DataFrame:
    """Milliseconds a pair of each way to compare at d = 1,024, K = 36 and the word counts of the
    test split's first captions, and as multiples of hard coding's: row, ms/pair, ÷ hard.
    """
    captions = book.dataset().captions_of("test")[:SENTENCES]
    lengths = [len(tokenize(text)) for text in captions]
    listed = pd.DataFrame({"arm": WIDE, "role": "report", "seed": 0, "key": f"d {WIDTH}"})
    listed = listed.assign(exhibit="chan-F3-wide")

    def given(row, _):
        return row, lengths[: FEWER if row in sgraf.KINDS else None]

    found = stopwatch.alone(book, listed, measure_wide, given)
    each = 1e3 * found.comparing / found.pairs
    return pd.DataFrame({"row": found.row, "ms/pair": each, "÷ hard": each / each[0]})


# --- What it comes to ----------------------------------------------------------------------------


TIMES = ["ms/pair", "ms/pair with encoding"]


def costs(measured: pd.DataFrame) -> pd.DataFrame:
    """Milliseconds a pair and memory of every row and turn, from what `table` returns.

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


def against_rsum(measured: pd.DataFrame, metrics: pd.DataFrame) -> pd.DataFrame:
    """`costs` of every row and turn with the RSUM of the seed of that number, NaN where there is none,
    and as multiples of the row "hard", if there is one: the columns of `TIMES` with " ÷ hard" appended.
    """
    found = costs(measured)
    own = metrics[metrics.column == "RSUM"].rename(columns={"value": "RSUM"})
    own = own[["exhibit", "row", "seed", "RSUM"]]
    found = found.merge(own, on=["exhibit", "row", "seed"], how="left")
    hard = found[found.row == "hard"].set_index("seed")
    for column in TIMES if len(hard) else ():
        found[f"{column} ÷ hard"] = found[column] / found.seed.map(hard[column])
    return found
