"""What CHAN's notebooks show: codebook sizes, the curve of τ, pictures of shapes as the library's."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from alignbook.core.similarity import hard_coding, soft_coding
from alignbook.papers.chan import show


def test_sizes_are_read_from_the_arms_names():
    lines = [
        (arm, "RSUM", 10.0 * i + seed)
        for i, arm in enumerate(("hard-100", "hard-36", "soft-9"))
        for seed in range(3)
    ]
    metrics = pd.DataFrame(lines, columns=["row", "column", "value"])
    table = show.sizes_table(metrics)
    assert list(zip(table.coding, table.K)) == [
        ("hard coding", 36),
        ("hard coding", 100),
        ("cross-attention", 9),
    ]
    assert table.RSUM[0] == pytest.approx(11) and table.seeds[0] == 3
    assert table.mark.tolist() == ["", "", ""] and "reference" not in table
    reference = pd.DataFrame([("hard-4", 7.0), ("soft-9", 8.0)], columns=["row", "mean"])
    state = np.where(metrics.row == "hard-36", "still learning", "learnt")
    table = show.sizes_table(metrics.assign(learnt=state), reference.assign(column="RSUM"))
    assert table.K.tolist() == [4, 36, 100, 9] and table.mark.tolist() == ["", " †", "", ""]
    assert table.reference.fillna(0).tolist() == [7, 0, 0, 8] and table.seeds.tolist() == [
        0,
        3,
        3,
        3,
    ]
    assert np.isnan(table.RSUM[0])  # not run here


def test_the_curve_of_tau_holds_everything_else_still(monkeypatch):
    plain = {"coding": "soft", "scale": 10.0, "margin": 0.05, "steps": 250}
    made = {
        "τ=1/1": plain | {"temperature": 1.0},
        "τ=1/4": plain | {"temperature": 0.25},
        "cross-attention": plain | {"temperature": 0.05, "scale": 5.0},
        "cross-attention-long": plain | {"temperature": 0.05, "steps": 1000},
        "visual-codebook": plain | {"coding": "hard", "temperature": 0.0},
        "base-model": {"recipe": "world-clip"},
    }
    stored = {
        name: SimpleNamespace(config=config, metrics={"test RSUM": float(i)})
        for i, (name, config) in enumerate(made.items())
    }
    monkeypatch.setattr(show.runs, "stored", stored.get)
    arms = pd.DataFrame({"role": "report", "seed": 0, "arm": list(made), "key": list(made)})
    curve = show.tau_table(arms)
    assert list(zip(curve["1/τ"], curve.RSUM)) == [(1, 0), (4, 1), (1, 4), (4, 4)]
    stored["visual-codebook"].config["margin"] = 0.1  # dev chose another one
    assert set(show.tau_table(arms).coding) == {"cross-attention"}


# --- Pictures of shapes --------------------------------------------------------------------------


def texts(figure):
    return [text.get_text() for text in figure.axes[0].texts]


def test_the_picture_of_coding_has_the_librarys_numbers():
    regions = torch.tensor([[[3.0, 4.0], [1.0, 0.0], [0.0, 2.0]]])
    words = torch.tensor([[[4.0, 3.0], [1.0, 5.0]]])
    drawn = texts(show.coding(regions[0].numpy(), words[0].numpy(), temperature=0.2, scale=5))
    for coded, more in ((hard_coding, {}), (soft_coding, {"temperature": 0.2})):
        assert f"{coded(regions, words, scale=5, **more).item():.2f}" in drawn
        for word in words[0]:
            one = coded(regions, word[None, None], pooling="mean", **more).item()
            assert f"{one:.2f}" in drawn
    for shape in ("(B₁, K, d)", "(B₂, L, d)", "(B₁, B₂, K, L)", "(B₁, B₂, L, d)", "(B₁, B₂)"):
        assert shape in drawn


def test_the_picture_of_codebooks_has_the_librarys_numbers():
    regions, words = torch.eye(3)[None], torch.tensor([[[2.0, 0.0, 1.0], [-0.6, 0.8, 0.3]]])
    cosines = torch.cosine_similarity(regions[0][:, None], words[0][None], dim=-1)
    drawn = texts(show.codebooks(cosines.numpy(), scale=3))
    for codebook in ("visual", "textual"):
        found = hard_coding(regions, words, codebook=codebook, scale=3).item()
        assert f"{found:.2f}" in drawn
    assert "(B₁, B₂, L)" in drawn and "(B₁, B₂, K)" in drawn


def test_the_picture_of_a_map_adds_up():
    inside = np.array([[[1, 0], [1, 0]], [[1, 1], [0, 0]], [[0, 0], [0, 1]]])
    drawn = texts(show.attention_map(np.array([0.72, 0.2, 0.08]), inside))
    assert drawn.count("0.92") == 1 and drawn.count("0.72") == 2 and drawn.count("0.20") == 2
