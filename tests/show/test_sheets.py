"""What notebooks 02 and 03 count: duplicates, popular things, lost words, shared things."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from alignbook.core import retrieval
from alignbook.evidence.statistics import t_interval
from alignbook.show import base_models, datasheet, figures
from matplotlib.colors import to_hex


class Sample(SimpleNamespace):
    """A data set small enough to count by hand."""

    captions_per_image = 2

    def captions_of(self, split):
        return [self.captions[2 * i + k] for i in self.splits[split] for k in (0, 1)]


@pytest.fixture
def four():
    """Two training pictures, the same, and two test pictures, of which one is in training too."""
    images = np.zeros((4, 2, 2, 3), np.uint8)
    images[2] = 9
    objects = pd.DataFrame(
        [
            (0, "star", "red"),
            (0, "ring", "blue"),
            (1, "star", "red"),
            (2, "star", "red"),
            (2, "bar", "red"),
            (3, "ring", "blue"),
            (3, "bar", "red"),
        ],
        columns=["image", "shape", "colour"],
    )
    boxes = dict.fromkeys(("object", "x0", "y0", "x1", "y1"), 0)
    objects = objects.assign(**boxes)[["image", *boxes, "shape", "colour"]]
    return Sample(
        images=images,
        names=list("abcd"),
        objects=objects,
        folder="data/x",
        relations=pd.DataFrame({"image": range(4), "relation": ["on", "above", "on", "on"]}),
        splits={"train": np.array([0, 1]), "test": np.array([2, 3])},
        captions=[
            "a star",
            "a ring",
            "a star",
            "a star",
            "a red star",
            "a bar",
            "a star",
            "a ring",
        ],
    )


def test_duplicates_within_a_split_and_in_training(four):
    table = datasheet.duplicates_table(four).set_index("split")
    assert table.loc["train"].tolist() == [1, "–", 2, "–"]
    assert table.loc["test"].tolist() == [0, 1, 0, 2]
    four.images = None
    table = datasheet.duplicates_table(four).set_index("split")
    assert table.loc["test"].tolist() == [0, 2]


def test_an_empty_caption_and_a_lost_one_are_found(four):
    datasheet.check_splits(four)
    four.captions[5] = "  "
    with pytest.raises(ValueError, match="caption 5 is empty"):
        datasheet.check_splits(four)
    four.captions.pop()
    with pytest.raises(ValueError, match="7 captions, not 8"):
        datasheet.check_splits(four)


def test_popular_things_answer_without_words(four, monkeypatch):
    """In training: two red stars, one blue ring, nothing else."""
    probes = [
        ("subject", "the red star is on the blue ring", "star", "bar", "ring", "ring"),  # 2 > 0
        ("subject", "the blue star is on the red star", "star", "ring", "star", "star"),  # 0 < 1
        ("object", "the red bar is on the green ring", "bar", "bar", "ring", "star"),  # 0 = 0
        (
            "object",
            "the red bar is in front of the red star",
            "bar",
            "bar",
            "star",
            "ring",
        ),  # 2 > 0
        ("verb", "the red star is on the blue ring", "star", "star", "ring", "ring"),
    ]
    columns = ["kind", "caption", "subject", "negative_subject", "object", "negative_object"]
    table = pd.DataFrame(probes, columns=columns)
    monkeypatch.setattr("alignbook.datasets.swaps.image_probes", lambda dataset: (table, 0, 0))
    assert datasheet.popularity(four).to_dict() == {"subject": 50.0, "verb": 50.0, "object": 75.0}


def test_chance_is_what_random_scores_get():
    rng = np.random.default_rng(0)
    found = [retrieval.evaluate(rng.random((30, 150))).rsum for _ in range(300)]
    assert datasheet.chance(30) == pytest.approx(np.mean(found), abs=1.5)


def test_words_the_first_picture_lacks(four):
    """Captions 0, 2 and 3 of test find the other picture; its captions are known."""
    scores = np.array([[0.0, 1, 1, 1], [1.0, 0, 0, 0]])
    figure, data = base_models.lost_words(four, scores, "test", least=1)
    found = data.set_index("word")
    # Picture c says a, red, star, bar; picture d says a, star, ring.
    assert found.loc["red"].tolist() == [1, 0.0, 50.0]  # in caption 0 only; d lacks it
    assert found.loc["star"].tolist() == [2, 100.0, 100.0]  # captions 0 and 2
    assert found.loc["ring"].tolist() == [1, 0.0, 50.0]  # caption 3; c lacks it
    assert list(data.word[:2]) == ["red", "ring"] and "bar" not in found.index
    assert len(figure.axes[0].collections) == 3


def test_what_the_wrong_picture_shares(four):
    scores = np.array([[0.0, 1, 1, 1], [1.0, 0, 0, 0]])
    table = base_models.overlap_table(four, scores, "test").set_index("shared")
    # Pictures c (red star, red bar) and d (blue ring, red bar) for each other: 1 of 2 shapes,
    # colours: c's two reds are both in d, of d's blue and red one is in c. Once d for c, twice c.
    assert table.iloc[0, 0] == 50.0
    assert table.loc["colour"].iloc[0] == pytest.approx(100 * (1.0 + 0.5 + 0.5) / 3)
    assert table.loc["relation"].iloc[0] == 100.0


def test_models_and_their_intervals():
    values = {"a": (200.0, 210.0, 230.0), "b": (190.0, 200.0, 240.0)}
    rows = [
        ("base-models", name, column, value - (20 if column == "B RSUM" else 0), seed)
        for name, three in values.items()
        for seed, value in enumerate(three)
        for column in ("RSUM", "B RSUM", "A svo verb")
    ]
    metrics = pd.DataFrame(rows, columns=["exhibit", "row", "column", "value", "seed"])
    table = base_models.models_table(metrics).set_index("base model")
    assert list(table.columns) == ["RSUM", "RSUM ±", "B RSUM", "B RSUM ±", "A svo verb", "seeds"]
    mean, low, high = t_interval(values["b"])
    assert table.loc["b", "RSUM"] == pytest.approx(mean)
    assert table.loc["b", "RSUM ±"] == pytest.approx((high - low) / 2)
    assert table.loc["a", "B RSUM"] == pytest.approx(np.mean(values["a"]) - 20)
    reference = pd.DataFrame([("b", "RSUM", 211.0)], columns=["row", "column", "mean"])
    state = np.where(metrics.row == "a", "still learning", "learnt")
    beside = base_models.models_table(metrics.assign(learnt=state), reference)
    assert beside["base model"].tolist() == ["a †", "b"]
    assert beside.reference.fillna(0).tolist() == [0, 211.0]
    alone = base_models.models_table(metrics[metrics.seed == 0])
    assert "RSUM ±" not in alone and set(alone.seeds) == {1}
    figure, data = base_models.models_figure(metrics)
    (dots,) = figure.axes[0].collections
    drawn = {(*at, to_hex(colour).upper()) for at, colour in zip(dots.get_offsets(), dots.get_fc())}
    colours = {"RSUM": figures.OURS, "B RSUM": figures.ACCENT}
    rows = {"b": 0, "a": 1}  # the first is on top
    assert drawn == {(x.value, rows[x.row], colours[x.column]) for x in data.itertuples()}
    assert "marked: W, as trained, B, never seen" in figures.describe(figure)
