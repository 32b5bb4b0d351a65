"""Time and memory of CHAN's Figure 3: what is counted, what is divided by what, what is kept."""

import itertools
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch

from alignbook import baselines, chan, claims, efficiency, profiles, verdicts

MEASURED = pd.DataFrame({
    "row": ["hard", "soft-attended", "vse++"], "seed": 0, "run": ["a", "b", "c"],
    "images": 100, "captions": 500, "encoding": [0.5, 0.5, 0.25], "pairs": 25000,
    "comparing": [0.05, 0.2, 0.0005], "product": [0.04, 0.05, np.nan],
    "memory": [3 * 2.0**20, 2.0**20, np.nan],
})  # fmt: skip


def test_nothing_is_trained_for_it():
    profile = profiles.get("laptop")
    found = efficiency.arms("chan-F3", profile)
    table_1, table_3 = baselines.arms("chan-T1", profile), chan.arms("chan-T3", profile)
    assert found["hard"] == table_3["visual-codebook"] == table_1["chan"]
    assert found["soft-gram"] == found["soft-attended"] == table_3["cross-attention"]
    assert (found["vse++"], found["vse-inf"]) == (table_1["vse++"], table_1["vse-inf"])
    with pytest.raises(KeyError, match="chan-T1"):
        efficiency.arms("chan-T1", profile)


def test_costs_by_hand():
    # hard: 50 ms over 25,000 pairs = 0.002 ms; 500 ms of encoding over 100 · 500 pairs = 0.01 ms.
    found = efficiency.costs(MEASURED).set_index("row")
    assert found["ms/pair"].tolist() == pytest.approx([0.002, 0.008, 2e-5])
    assert found["ms/pair with encoding"].tolist() == pytest.approx([0.012, 0.018, 0.00502])
    assert found["× product"].tolist()[:2] == pytest.approx([1.25, 4.0])
    assert found["MB"].tolist()[:2] == [3, 1]
    assert found.loc["vse++", ["× product", "MB"]].isna().all()


def test_the_claims_are_asked_of_comparing_alone():
    metrics = pd.DataFrame([("chan-F3", row, "RSUM", seed, value) for seed in (0, 1, 2)
                            for row, value in (("hard", 300.0 + seed), ("soft-attended", 280.0))],
                           columns=["exhibit", "row", "column", "seed", "value"])
    measured = pd.concat([MEASURED.assign(seed=seed) for seed in (0, 1, 2)])
    measured.loc[measured.seed == 1, "comparing"] *= 1.0001  # intervals need some spread
    measured.loc[(measured.row == "hard") & (measured.seed == 2), "comparing"] *= 1.0001
    chosen = [c for c in claims.load() if c.id in ("chan-faster", "chan-faster-and-better")]
    numbers = efficiency.with_metrics(metrics, measured)
    found, contrasts = verdicts.judge(numbers, "laptop", chosen)
    assert list(found.verdict) == ["reproduced", "reproduced"]
    assert contrasts.value.tolist() == pytest.approx([4.0, 21.0], rel=1e-3)
    assert efficiency.rsum(metrics).groupby("row").RSUM.mean().tolist() == [301.0, 280.0]


def test_the_product_makes_every_cosine_in_blocks(monkeypatch):
    monkeypatch.setattr(efficiency, "BLOCK_BYTES", 4 * 3 * 7)
    monkeypatch.setattr(efficiency, "MIN_ROWS", 3)
    assert efficiency.bare_product(torch.randn(23, 5), torch.randn(10, 5)) == 230


def test_the_median_of_rounds_after_one_that_is_not_counted(monkeypatch):
    spent = iter([9.0, 1.0, 5.0, 2.0])  # the first warms up
    clock = itertools.count()
    now = 0.0

    def work():
        nonlocal now
        now += next(spent)
        return next(clock)

    monkeypatch.setattr(efficiency.time, "perf_counter", lambda: now)
    assert efficiency.timed(work, "cpu", rounds=3) == (2.0, 3)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells")
def test_the_peak_counts_what_was_freed_again():
    watch = efficiency.Peak("cpu")
    torch.ones(16 * 2**20)  # 64 MB of float32, gone at once
    assert 60e6 < watch.taken() < 120e6
    kept = torch.ones(8 * 2**20)
    assert efficiency.Peak("cpu").taken() < 30e6 < kept.numel() * 4


# --- A model measured ----------------------------------------------------------------------------


class Vocabulary:
    def encode(self, captions):
        return torch.arange(len(captions) * 4).view(-1, 4), torch.tensor([4, 2, 3, 1, 4, 4])


class Net(torch.nn.Module):
    config = SimpleNamespace(regions=3, temperature=0.2, scale=10.0)

    def image(self, raw):
        return raw

    def text(self, ids, lengths):
        torch.manual_seed(0)
        return torch.randn(*ids.shape, 8)

    def similarity(self, images, words, word_lengths):
        from alignbook.similarity import soft_coding

        return soft_coding(images, words, word_lengths=word_lengths, temperature=0.2)


@pytest.fixture
def book(monkeypatch, tmp_path):
    stored = np.random.default_rng(0).normal(size=(4, 5, 8)).astype(np.float16)
    dataset = SimpleNamespace(splits={"test": np.array([1, 3])}, captions_of=lambda split: "abcdef")
    run = SimpleNamespace(array=lambda name: stored)
    monkeypatch.setattr(efficiency, "CAPTIONS", 5)
    monkeypatch.setattr(efficiency.runs, "stored", lambda key: SimpleNamespace(config={key: 1}))
    monkeypatch.setattr(efficiency.chan, "load", lambda run, *inputs: (Net(), Vocabulary()))
    return SimpleNamespace(inputs=lambda: [dataset, run], device="cpu", out=tmp_path)


def test_a_model_is_measured_on_all_images_and_some_captions(book):
    found = efficiency.measure("soft-gram", "coding", book)
    assert (found["images"], found["captions"], found["pairs"]) == (2, 6, 10)
    assert min(found["encoding"], found["comparing"], found["product"]) > 0
    assert found["memory"] >= 0 or sys.platform != "linux"


def test_attended_vectors_and_gram_matrices_give_the_same_scores():
    net = Net()
    images, words, n = torch.randn(3, 4, 8), torch.randn(5, 6, 8), torch.tensor([6, 1, 3, 4, 6])
    one, other = (efficiency.similarity_of(row, net)(images, words, word_lengths=n)
                  for row in ("soft-attended", "soft-gram"))
    assert torch.allclose(one, other, atol=1e-5)
    assert efficiency.similarity_of("soft-gram", net) == net.similarity
    assert efficiency.similarity_of("soft-attended", net) != net.similarity


def test_what_was_measured_is_kept_until_the_runs_are_others(book, monkeypatch):
    calls = []

    class Fresh:
        def __init__(self, workers, context):
            assert workers == 1 and context.get_start_method() == "forkserver"

        __enter__ = lambda self: self
        __exit__ = lambda self, *error: None

        def submit(self, work, row, key, given):
            assert work is efficiency.measure and given is book
            calls.append((row, key))
            line = MEASURED.iloc[0, 3:].to_dict()
            return SimpleNamespace(result=lambda: line)

    monkeypatch.setattr(efficiency, "ProcessPoolExecutor", Fresh)
    lines = [("hard", "trial", 9, "t"), ("hard", "report", 0, "a"), ("hard", "report", 1, "b"),
             ("vse++", "report", 0, "c"), ("vse++", "report", 1, "d")]
    arms = pd.DataFrame(lines, columns=["arm", "role", "seed", "key"])
    first = efficiency.table(book, arms)
    assert calls == [("hard", "a"), ("vse++", "c"), ("hard", "b"), ("vse++", "d")]  # by turns
    assert efficiency.table(book, arms).equals(pd.read_csv(book.out / "efficiency.csv"))
    assert len(calls) == 4 and first[["row", "seed"]].values.tolist()[1] == ["vse++", 0]
    efficiency.table(book, arms.replace("d", "e"))
    assert len(calls) == 8 and [file.name for file in book.out.iterdir()] == ["efficiency.csv"]
