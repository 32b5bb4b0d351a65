"""Time and memory of CHAN's Figure 3: what is counted, what is divided by what, what is kept."""

import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from alignbook.evidence import claims, verdicts
from alignbook.papers.chan import arms as chan_arms
from alignbook.papers.chan import cost
from alignbook.workbook import profiles

MEASURED = pd.DataFrame(
    {
        "exhibit": "chan-F3",
        "row": ["hard", "soft-attended", "vse++"],
        "seed": 0,
        "run": ["a", "b", "c"],
        "images": 100,
        "captions": 500,
        "encoding": [0.5, 0.5, 0.25],
        "pairs": 25000,
        "comparing": [0.05, 0.2, 0.0005],
        "product": [0.04, 0.05, np.nan],
        "memory": [3 * 2.0**20, 2.0**20, np.nan],
    }
)


def test_nothing_is_trained_for_it():
    profile = profiles.get("laptop")
    found = chan_arms.arms("chan-F3", profile)
    table_1, table_3 = chan_arms.arms("chan-T1", profile), chan_arms.arms("chan-T3", profile)
    assert found["hard"] == table_3["visual-codebook"] == table_1["chan"]
    assert found["soft-gram"] == found["soft-attended"] == table_3["cross-attention"]
    assert (found["vse++"], found["vse-inf"]) == (table_1["vse++"], table_1["vse-inf"])
    assert found["hard-bert"] == table_1["chan-bert"]


def test_costs_by_hand():
    # hard: 50 ms over 25,000 pairs = 0.002 ms; 500 ms of encoding over 100 · 500 pairs = 0.01 ms.
    found = cost.costs(MEASURED).set_index("row")
    assert found["ms/pair"].tolist() == pytest.approx([0.002, 0.008, 2e-5])
    assert found["ms/pair with encoding"].tolist() == pytest.approx([0.012, 0.018, 0.00502])
    assert found["× product"].tolist()[:2] == pytest.approx([1.25, 4.0])
    assert found["MB"].tolist()[:2] == [3, 1]
    assert found.loc["vse++", ["× product", "MB"]].isna().all()


def test_the_claims_are_asked_of_the_whole_inference():
    metrics = pd.DataFrame(
        [
            ("chan-F3", row, "RSUM", seed, value)
            for seed in (0, 1, 2)
            for row, value in (("hard", 300.0 + seed), ("soft-attended", 280.0))
        ],
        columns=["exhibit", "row", "column", "seed", "value"],
    )
    measured = pd.concat([MEASURED.assign(seed=seed) for seed in (0, 1, 2)])
    measured["encoding"] /= 100  # 0.0001 ms a pair
    measured.loc[(measured.row == "hard") & (measured.seed == 2), "comparing"] *= 1.0001
    chosen = [c for c in claims.load() if c.id in ("chan-faster", "chan-faster-and-better")]
    numbers = cost.with_metrics(metrics, measured)
    found, contrasts = verdicts.judge(numbers, "laptop", chosen)
    assert list(found.verdict) == ["reproduced", "reproduced"]
    assert contrasts.value.tolist() == pytest.approx([0.0081 / 0.0021, 21.0], rel=1e-3)
    points = cost.against_rsum(measured, metrics).set_index(["row", "seed"])
    assert points.loc[("soft-attended", 0), "ms/pair ÷ hard"] == pytest.approx(4)
    assert points.loc[("hard", 2), "ms/pair with encoding ÷ hard"] == 1
    assert points.loc[("hard", 2), "RSUM"] == 302 and "vse++" not in points.index
    sizes = measured.replace({"chan-F3": "chan-F4", "hard": "hard-36"})
    named = metrics.replace({"chan-F3": "chan-F4", "hard": "hard-36"})
    assert "ms/pair ÷ hard" not in cost.against_rsum(sizes, named)


def test_the_product_makes_every_cosine_in_blocks(monkeypatch):
    monkeypatch.setattr(cost, "BLOCK", (3, 7))
    assert cost.bare_product(torch.randn(23, 5), torch.randn(10, 5)) == 230


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
        from alignbook.core.similarity import soft_coding

        return soft_coding(images, words, word_lengths=word_lengths, temperature=0.2)


@pytest.fixture
def book(monkeypatch, tmp_path):
    stored = np.random.default_rng(0).normal(size=(4, 5, 8)).astype(np.float16)
    dataset = SimpleNamespace(splits={"test": np.array([1, 3])}, captions_of=lambda split: "abcdef")
    run = SimpleNamespace(array=lambda name: stored)
    monkeypatch.setattr(cost, "CAPTIONS", 5)
    monkeypatch.setattr(
        cost.runs, "stored", lambda key: SimpleNamespace(config={key: 1, "text": "bigru"})
    )
    monkeypatch.setattr(cost.model, "load", lambda run, *inputs: (Net(), Vocabulary()))

    def inputs(with_bert):
        assert with_bert is False
        return [dataset, run]

    return SimpleNamespace(inputs=inputs, device="cpu", out=tmp_path)


def test_a_model_is_measured_on_all_images_and_some_captions(book):
    found = cost.measure("soft-gram", "cpu", *cost.load("coding", book))
    assert (found["images"], found["captions"], found["pairs"]) == (2, 6, 10)
    assert min(found["encoding"], found["comparing"], found["product"]) > 0
    assert found["memory"] < 50e6 or sys.platform != "linux"


def test_attended_vectors_and_gram_matrices_give_the_same_scores():
    net = Net()
    images, words, n = torch.randn(3, 4, 8), torch.randn(5, 6, 8), torch.tensor([6, 1, 3, 4, 6])
    one, other = (
        cost.similarity_of(row, net)(images, words, word_lengths=n)
        for row in ("soft-attended", "soft-gram")
    )
    assert torch.allclose(one, other, atol=1e-5)
    assert cost.similarity_of("soft-gram", net) == net.similarity
    assert cost.similarity_of("hard-100", net) == net.similarity
    assert cost.similarity_of("soft-attended", net) != net.similarity
    assert cost.similarity_of("soft-36", net) != net.similarity


def test_what_was_measured_is_kept_until_the_runs_are_others(book, monkeypatch):
    calls = []

    def fresh(work, row, device, key):
        assert work is cost.measure and device == "cpu"
        calls.append((row, key))
        return MEASURED.iloc[0, 4:].to_dict()

    monkeypatch.setattr(cost.stopwatch, "in_fresh_process", fresh)
    monkeypatch.setattr(cost, "load", lambda key, given: (key,))
    lines = [
        ("hard", "trial", 9, "t"),
        ("hard", "report", 0, "a"),
        ("hard", "report", 1, "b"),
        ("vse++", "report", 0, "c"),
        ("vse++", "report", 1, "d"),
    ]
    arms = pd.DataFrame(lines, columns=["arm", "role", "seed", "key"]).assign(exhibit="chan-F4")
    first = cost.table(book, arms)
    assert calls == [("hard", "a"), ("vse++", "c"), ("hard", "b"), ("vse++", "d")]  # by turns
    kept = book.out / "efficiency/chan-F4.csv"
    assert cost.table(book, arms).equals(pd.read_csv(kept))
    assert len(calls) == 4 and first[["row", "seed"]].values.tolist()[1] == ["vse++", 0]
    cost.table(book, arms.replace("d", "e"))
    assert len(calls) == 8 and [path for path in kept.parent.iterdir() if path.name[0] != "."] == [
        kept
    ]
