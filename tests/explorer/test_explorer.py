"""The explorer: its numbers against slow loops and retrieval, its moves without a browser."""

import base64
import io
import json
import math
import shutil
import tomllib
from dataclasses import replace
from fnmatch import fnmatch
from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import torch
from alignbook.core import retrieval
from alignbook.core.encoders import BiGRU
from alignbook.core.names import BASE_MODEL
from alignbook.core.similarity import pool
from alignbook.core.vocabulary import Vocabulary
from alignbook.explorer import matching, stills, stored_models, widget, wording
from alignbook.explorer.matching import SIDE
from alignbook.explorer.stored_models import HARD, SOFT
from alignbook.papers.chan import model as chan
from alignbook.papers.chan import rivals
from alignbook.store import runs
from alignbook.workbook import exhibits, results
from conftest import ROOT
from PIL import Image

WORDS = (
    "a",
    "red",
    "blue",
    "green",
    "scarlet",
    "star",
    "ring",
    "and",
    "above",
    "the",
    "big",
    "purple",
)
CAPTIONS = [
    "a red star",
    "a star above the ring",
    "a blue ring",
    "the ring and a star",
    "a big red ring",
    "a ring",
    "a star and a star",
    "a blue star above a big red ring",
    "the green star",
    "a green ring",
]
PICTURES, EACH, REGIONS, WIDTH = 5, 2, 5, 7


class Sample(SimpleNamespace):
    """A data set small enough to count by hand; its test pictures are rows 2 to 6."""

    captions_per_image = EACH

    def captions_of(self, split):
        n = self.captions_per_image
        return [self.captions[n * i + k] for i in self.splits[split] for k in range(n)]


@pytest.fixture
def inputs():
    rng = np.random.default_rng(0)
    rows = PICTURES + 2
    objects = pd.DataFrame(
        [
            (0, "star", "red", "big", "solid", "matte"),
            (1, "ring", "blue", "small", "solid", "matte"),
            (2, "star", "green", "big", "solid", "matte"),
        ],
        columns=["image", "shape", "colour", "size", "texture", "material"],
    )
    dataset = Sample(
        name="sample",
        captions=["a star"] * 2 * EACH + CAPTIONS,
        objects=objects,
        images=rng.integers(0, 255, (rows, 16, 16, 3)).astype(np.uint8),
        splits={"test": np.arange(2, rows)},
    )
    stored = {
        "features": rng.normal(size=(rows, REGIONS, WIDTH)).astype(np.float16),
        "order": np.stack([rng.permutation(5) for _ in range(rows)]).astype(np.uint8),
    }
    features = SimpleNamespace(
        array=stored.get, metrics={"width": WIDTH, "side": 4}, config={"levels": [1, 2]}
    )
    return [dataset, features]


def small_gallery(inputs, **settings):
    """An untrained CHAN of the sample."""
    torch.manual_seed(1)
    vocabulary = Vocabulary(WORDS)
    config = chan.Config(**dict(dim=8, regions=REGIONS, temperature=0.1) | settings)
    model = chan.CHAN(
        config, inputs[1].metrics["width"], BiGRU(len(vocabulary), 6, config.dim)
    ).eval()
    return stored_models.encoded(model, vocabulary, inputs)


CODINGS = [
    dict(coding=coding, codebook=codebook, pooling=pooling, divided=divided)
    for coding, codebook in (("hard", "visual"), ("soft", "visual"), ("hard", "textual"))
    for pooling in ("lse", "mean", "sum", "max", "softmax")
    for divided in ((True, False) if pooling == "lse" else (True,))
]
IDS = ["-".join(map(str, each.values())) for each in CODINGS]


# --- Words and scores ----------------------------------------------------------------------------


def slow_pair(config, regions, words):
    """Score of a caption and what each word adds, word by word and region by region."""

    def cosine(x, y):
        return float(x @ y / (x.norm() * y.norm()))

    visual = config.codebook == "visual"
    queries, codewords = (words, regions) if visual else (regions, words)
    scores, best = [], []
    for query in queries:
        cosines = [cosine(query, code) for code in codewords]
        best.append(max(range(len(cosines)), key=cosines.__getitem__))
        if config.coding == "hard":
            scores.append(max(cosines))
        else:
            weights = [math.exp(each / config.temperature) for each in cosines]
            mixture = sum(w / sum(weights) * c / c.norm() for w, c in zip(weights, codewords))
            scores.append(cosine(query, mixture))
    grown = [math.exp(config.scale * each) for each in scores]
    shares = [each / sum(grown) for each in grown]
    lse = math.log(sum(grown)) / (config.scale if config.divided else 1)
    parts = {
        "lse": [share * lse for share in shares],
        "mean": [s / len(scores) for s in scores],
        "sum": scores,
        "softmax": [share * s for share, s in zip(shares, scores)],
        "max": [s if s == max(scores) else 0 for s in scores],
    }[config.pooling]
    if not visual:
        parts = [sum(p for p, j in zip(parts, best) if j == i) for i in range(len(words))]
    return sum(parts), parts


@pytest.mark.parametrize("settings", CODINGS, ids=IDS)
def test_a_pair_is_that_of_a_slow_loop_and_of_the_model(inputs, settings):
    found = small_gallery(inputs, **settings)
    for image in range(PICTURES):
        for text in CAPTIONS[:4]:
            vectors = matching.encode(found, text.split())
            pair = matching.pair_of(found, image, vectors)
            score, parts = slow_pair(found.config, found.images[image], vectors)
            assert pair.score == pytest.approx(score, abs=1e-5)
            assert pair.contributions == pytest.approx(parts, abs=1e-5)
            whole = found.model.similarity(found.images[[image]], vectors[None])
            assert pair.contributions.sum() == pytest.approx(whole.item(), abs=1e-5)


@pytest.mark.parametrize("settings", CODINGS, ids=IDS)
def test_a_pair_is_one_of_directions(inputs, settings):
    found = small_gallery(inputs, **settings)
    regions, words = found.images[1], matching.encode(found, ["a", "red", "star"])
    lengths = torch.linspace(0.5, 3.0, len(regions))[:, None]
    score, parts = slow_pair(found.config, lengths * regions, words)
    pair = matching.pair(found.config, lengths * regions, 2 * words)
    assert pair.score == pytest.approx(score, abs=1e-5)
    assert pair.contributions == pytest.approx(parts, abs=1e-5)


@pytest.mark.parametrize("pooling", ["lse", "mean", "sum", "max", "softmax"])
def test_contributions_add_up_to_what_pooling_gives(pooling):
    scores = torch.tensor([0.3, -0.2, 0.31, 0.05])
    parts = matching.contributions(scores, pooling, 7.0)
    whole = pool(scores[:, None], torch.tensor([0, 4]), pooling, 7.0).item()
    assert parts.sum().item() == pytest.approx(whole, abs=1e-6)


def test_a_share_of_logsumexp_is_the_scores_slope():
    scores = torch.tensor([0.3, -0.2, 0.31], requires_grad=True)
    score = pool(scores[:, None], torch.tensor([0, 3]), "lse", 9.0)[0, 0]
    score.backward()
    parts = matching.contributions(scores.detach(), "lse", 9.0)
    torch.testing.assert_close(parts / parts.sum(), scores.grad)


def test_hard_coding_looks_at_its_best_region_alone(inputs):
    found = small_gallery(inputs)
    vectors = matching.encode(found, ["a", "red", "star"])
    pair = matching.pair_of(found, 3, vectors)
    cosines = torch.cosine_similarity(vectors[:, None], found.images[3][None], dim=2)
    assert pair.best.tolist() == cosines.argmax(1).tolist()
    assert pair.weights.tolist() == np.eye(REGIONS)[pair.best].tolist()
    drawn = matching.maps(pair, found.boxes[3])
    assert drawn.shape == (3, SIDE, SIDE)
    for one, best in zip(drawn, pair.best, strict=True):
        x0, y0, x1, y1 = (SIDE * found.boxes[3][best]).astype(int)
        expected = np.zeros((SIDE, SIDE))
        expected[y0:y1, x0:x1] = 1
        assert (one == expected).all()


def test_cross_attention_spreads_by_its_temperature(inputs):
    found = small_gallery(inputs, coding="soft")
    vectors = matching.encode(found, ["a", "red", "star"])
    pair = matching.pair_of(found, 1, vectors)
    cosines = torch.cosine_similarity(vectors[:, None], found.images[1][None], dim=2)
    assert pair.weights == pytest.approx((cosines / 0.1).softmax(1).numpy(), abs=1e-5)
    assert pair.scores.tolist() != cosines.amax(1).tolist()


def test_with_the_textual_codebook_a_words_regions_are_those_that_chose_it(inputs):
    found = small_gallery(inputs, codebook="textual")
    vectors = matching.encode(found, ["a", "red", "star", "above", "the", "ring"])
    pair = matching.pair_of(found, 2, vectors)
    chosen = torch.cosine_similarity(vectors[:, None], found.images[2][None], dim=2).argmax(0)
    for word in range(6):
        own = (chosen == word).numpy()
        assert ((pair.weights[word] > 0) == own).all()
        assert pair.weights[word].sum() == pytest.approx(float(own.any()))
        assert np.isnan(pair.scores[word]) == (not own.any())
    assert len(set(chosen.tolist())) < 6  # some word has none


@pytest.mark.parametrize("settings", CODINGS, ids=IDS)
def test_ranks_are_retrievals(inputs, settings):
    """Captions that say the same tie; and the sample has such."""
    inputs[0].captions[-1] = CAPTIONS[0]
    found = small_gallery(inputs, **settings)
    scores = np.stack([matching.caption_scores(found, i) for i in range(PICTURES)])
    whole = found.model.similarity(found.images, found.words).numpy()
    assert scores == pytest.approx(whole, abs=1e-5)
    of_images, of_captions = retrieval.ranks(scores, EACH)
    for image in range(PICTURES):
        table = matching.ranked_captions(found, image, k=PICTURES * EACH)
        assert table.attrs["rank"] == of_images[image]
        assert table[table.own]["rank"].iloc[0] == of_images[image]
        assert table.score.tolist() == sorted(scores[image], reverse=True)
        for line in table.itertuples():
            assert line.words == inputs[0].captions_of("test")[line.caption].split()
            assert line.own == (line.caption // EACH == image)
            assert line.contributions.sum() == pytest.approx(line.score, abs=1e-5)
    for caption in range(PICTURES * EACH):
        words = inputs[0].captions_of("test")[caption].split()
        look = matching.look(found, caption // EACH, words, k=PICTURES)
        assert look.rank == of_captions[caption]
        assert look.top.tolist() == sorted(look.top, reverse=True)
        assert look.pair.score == pytest.approx(scores[caption // EACH, caption], abs=1e-5)
        best = matching.look(found, -1, words)
        assert best.image == scores[:, caption].argmax() and best.rank == 1


def test_of_a_tie_ones_own_comes_last():
    scores, own = np.array([0.5, 0.9, 0.5, 0.5]), np.array([True, False, False, False])
    assert matching.best_first(scores, own, 4).tolist() == [1, 2, 3, 0]
    assert matching.rank(scores, own) == 4
    assert matching.best_first(scores, own, 2).tolist() == [1, 2]


def test_a_method_of_one_vector_has_a_score_alone(inputs):
    torch.manual_seed(2)
    config = rivals.Config(method="vse++", dim=8, regions=REGIONS)
    words = rivals.ForwardGRU(torch.rand(len(WORDS) + 2, 6), 8)
    model = rivals.VSEPlusPlus(config, WIDTH, words, rivals.last_state).eval()
    found = stored_models.encoded(model, Vocabulary(WORDS), inputs)
    look = matching.look(found, 2, ["a", "red", "star"])
    vectors = matching.encode(found, ["a", "red", "star"])
    assert look.pair.score == pytest.approx((found.images @ vectors)[2].item(), abs=1e-6)
    assert look.pair.weights is None and found.boxes is None
    table = stills.captions_table({"one": found}, 2)
    assert table.iloc[0, -1] == " · ".join(matching.ranked_captions(found, 2).words[0])


# --- Captions and exchanges ----------------------------------------------------------------------


def test_unknown_words_are_named_with_what_is_near():
    said = wording.read("A purpel star; a zzz, a purpel!", Vocabulary(WORDS))
    assert said.words == ["a", "purpel", "star", "a", "zzz", "a", "purpel"]
    assert said.unknown == [False, True, False, False, True, False, True]
    assert said.notes == [
        "not in the vocabulary: purpel (the nearest known: purple); read as “some word”",
        "not in the vocabulary: zzz (nothing known is near); read as “some word”",
    ]


@pytest.mark.parametrize("text", ["", "   ", "…?!"])
def test_a_caption_without_a_word_is_refused(text):
    with pytest.raises(ValueError, match="there is no word in this caption: type some"):
        wording.read(text, Vocabulary(WORDS))


def test_a_long_caption_is_cut_where_the_model_cuts_it():
    vocabulary = Vocabulary(WORDS)
    assert wording.read("a " * 40, vocabulary).notes == []
    said = wording.read("a " * 41 + "star", vocabulary)
    assert len(said.words) == 40 and said.notes == ["cut after 40 of 42 words: models read no more"]
    assert vocabulary.encode(["a " * 42])[1].tolist() == [40]


def test_an_exchange_changes_one_word():
    words = ["a", "red", "star", "and", "a", "red", "ring"]
    assert wording.exchanged(words, 1, "blue") == ["a", "blue", "star", "and", "a", "red", "ring"]
    assert words[1] == "red"
    for place in (-1, 7):
        with pytest.raises(ValueError, match=f"no word in place {place}.*0 to 6"):
            wording.exchanged(words, place, "blue")


def test_what_a_word_can_be_exchanged_for(inputs):
    found = small_gallery(inputs)
    assert wording.exchanges(found, "red") == ["blue", "green"]  # scarlet means the same
    assert wording.exchanges(found, "scarlet") == ["blue", "green"]
    assert wording.exchanges(found, "star") == ["ring"]
    assert wording.exchanges(found, "the") == []
    inputs[0].objects = None
    found = small_gallery(inputs)
    assert wording.exchanges(found, "red") == ["green", "blue", "purple"]  # all that are known
    assert wording.exchanges(found, "star") == []


def test_words_of_photographs_are_exchanged_for_what_the_model_holds_near(inputs, monkeypatch):
    """Other words than those of a row; the forms of the word itself are left out."""
    inputs[0].objects = None
    found = small_gallery(inputs)
    words = ("the", "beach", "beaches", "sea", "red", "shore")
    near = torch.tensor([[9, 9], [9, 9], [5, 5], [2, 1], [2, 1.01], [1, 1], [1.0, -1], [3, 0]])
    table = torch.nn.Embedding.from_pretrained(near)
    model = SimpleNamespace(modules=lambda: iter([torch.nn.Linear(2, 2), table]))
    found = replace(found, model=model, vocabulary=Vocabulary(words))
    monkeypatch.setattr(wording, "SAID_MOST", 1)
    monkeypatch.setattr(wording, "OFFERED", 3)
    assert wording.exchanges(found, "beach") == ["the", "sea", "shore"]
    assert wording.exchanges(found, "the") == [] == wording.exchanges(found, "sky")
    inputs[0].objects = "the world's"
    monkeypatch.setattr(wording, "_lexicon", lambda gallery: {})
    assert wording.exchanges(found, "beach") == []


def test_the_example_is_the_first_caption_with_a_colour(inputs):
    assert wording.example(small_gallery(inputs)) == (0, ["a", "red", "star"], 1)
    inputs[0].captions[2 * EACH] = "a star"
    assert wording.example(small_gallery(inputs)) == (1, ["a", "blue", "ring"], 1)
    inputs[0].captions = ["a star"] * len(inputs[0].captions)
    assert wording.example(small_gallery(inputs)) == (0, ["a", "star"], 0)


# --- Static forms --------------------------------------------------------------------------------


@pytest.fixture
def both(inputs):
    return {HARD: small_gallery(inputs), SOFT: small_gallery(inputs, coding="soft")}


def test_words_as_a_figure(both):
    words = ["a", "red", "star", "above", "the", "ring"]
    figure, data = stills.words_figure(both, 1, words, k=3)
    looks = {name: matching.look(each, 1, words) for name, each in both.items()}
    assert len(data) == 12 and data.method.unique().tolist() == [HARD, SOFT]
    for name, lines in data.groupby("method"):
        assert lines.word.tolist() == words
        assert lines.contribution.sum() == pytest.approx(lines["caption score"].iloc[0], abs=1e-5)
        assert set(lines["picture's rank"]) == {looks[name].rank}
        boxes = both[name].boxes[1][looks[name].pair.best]
        assert lines[["x0", "y0", "x1", "y1"]].to_numpy() == pytest.approx(boxes)
    mean = data.groupby("place").contribution.mean()
    shown = sorted(mean.sort_values(ascending=False).index[:3])
    titles = [axis.get_title(loc="left") or axis.get_title() for axis in figure.axes[:8]]
    quoted = [f"“{words[i]}”" for i in shown]
    assert titles == [HARD, *quoted, SOFT, *quoted]
    drawn = np.asarray(figure.axes[1].images[1].get_array())
    own = matching.maps(looks[HARD].pair, both[HARD].boxes[1])[shown[0]]
    assert drawn == pytest.approx(100 * own)
    assert figure.axes[1].images[1].get_clim() == figure.axes[5].images[1].get_clim() == (0, 100)
    plt.close(figure)


def test_without_pictures_there_is_no_figure(inputs):
    inputs[0].images = None
    found = small_gallery(inputs)
    figure, data = stills.words_figure({HARD: found}, 1, ["a", "star"])
    assert figure is None and data.x0.isna().all() and len(data) == 2
    assert stored_models.picture_of(found, 1) is None


def test_captions_as_a_table(both):
    table = stills.captions_table(both, 2, k=4)
    assert table.method.tolist() == [HARD] * 4 + [SOFT] * 4
    plain = matching.ranked_captions(both[SOFT], 2, k=4)
    assert (table.own[4:] == "✓").tolist() == plain.own.tolist()
    first = plain.iloc[0]
    told = [f"{w} {c:.2f}" for w, c in zip(first.words, first.contributions)]
    assert table.iloc[4, -1] == " · ".join(told)


def test_exchanges_as_a_table(both):
    words = ["a", "red", "star"]
    table = stills.swaps_table(both, 0, words, 1, ["blue", "green"])
    assert table.word.tolist() == ["red", "blue", "green"] * 2
    assert table.change[[0, 3]].tolist() == [0, 0]
    for line in table.itertuples():
        found = matching.look(both[line.method], 0, ["a", line.word, "star"])
        assert line.score == found.pair.score and line[5] == found.rank
        before = matching.look(both[line.method], 0, words).pair.score
        assert line.change == pytest.approx(found.pair.score - before)


# --- What there is to look at --------------------------------------------------------------------


@pytest.fixture
def book(tmp_path, monkeypatch):
    """A workbook whose results folder lists some arms, and a store with their runs."""
    made = {}

    def list_arm(exhibit, arm, *keys, code="new"):
        folder = tmp_path / "out/arms" / exhibit
        folder.mkdir(parents=True, exist_ok=True)
        lines = [(exhibit, arm, "trial", 1000, "trial")]
        lines += [(exhibit, arm, "report", seed, key) for seed, key in enumerate(keys)]
        table = pd.DataFrame(lines, columns=["exhibit", "arm", "role", "seed", "key"])
        table.to_csv(folder / f"{arm.replace('/', '-of-')}.csv", index=False)
        made.update({key: code for key in keys})
        return table

    monkeypatch.setattr(runs, "is_stored", lambda key: key in made)
    monkeypatch.setattr(
        runs,
        "stored",
        lambda key: SimpleNamespace(
            record={"module": "alignbook.papers.chan.model", "code": made[key]}
        ),
    )
    monkeypatch.setattr(runs, "code_hash", lambda module: "new")
    monkeypatch.setattr(stored_models, "ROOT", tmp_path)
    profile = SimpleNamespace(name="smoke")
    return SimpleNamespace(kind="world", profile=profile, out=tmp_path / "out", list_arm=list_arm)


def test_methods_are_what_the_results_folder_lists(book):
    book.list_arm("chan-T3", "cross-attention", "00", "01")
    book.list_arm("chan-T3", "cross-attention-1/9", "old", code="old")
    book.list_arm("chan-T3", "visual-codebook", "10")
    book.list_arm("chan-T1", "chan", "10")
    book.list_arm("chan-T1", "vse++", "1e3")  # not a number
    book.list_arm("chan-T2", "chan", "20")
    found = stored_models.methods(book)
    assert found == {
        HARD: {0: "10"},
        SOFT: {0: "00", 1: "01"},
        "VSE++, one vector a picture": {0: "1e3"},
    }
    assert list(found)[:2] == [HARD, SOFT]
    assert stored_models.methods(book, "B") == {HARD: {0: "20"}}
    assert list(stored_models.places(book)) == ["world A", "world B"]


def test_results_of_another_version_are_passed_over(book, tmp_path):
    """With a setting that is none any more; those that can be read are still there."""
    book.list_arm("chan-T3", "visual-codebook", "10")
    book.list_arm("chan-T3", "cross-attention", "00")
    for name, changes in (("coco-smoke", {"no_such_key": "1"}), ("flickr8k-smoke", {"seeds": "2"})):
        folder = tmp_path / "results" / name
        shutil.copytree(book.out, folder)
        said = {
            "profile": "smoke",
            "data": f"{name.partition('-')[0]}=/here",
            "seeds": None,
            "set": changes,
            "device": "cpu",
        }
        (folder / "settings.json").write_text(json.dumps(said))
    assert list(stored_models.places(book)) == ["world A", "flickr8k"]


def test_only_the_two_to_begin_with_are_trained(book, monkeypatch):
    asked = []
    monkeypatch.setattr(
        results,
        "arm",
        lambda book, exhibit, arm: asked.append((exhibit, arm)) or book.list_arm(exhibit, arm, arm),
    )
    assert stored_models.methods(book) == {} and asked == []
    assert stored_models.methods(book, train=True) == {
        HARD: {0: "visual-codebook"},
        SOFT: {0: "cross-attention"},
    }
    assert asked == [("chan-T3", "visual-codebook"), ("chan-T3", "cross-attention")]
    assert stored_models.methods(book, train=True) and len(asked) == 2


def test_what_is_listed_but_of_other_code_is_trained_anew(book, monkeypatch):
    book.list_arm("chan-T3", "visual-codebook", "old", code="old")
    book.list_arm("chan-T3", "cross-attention", "00")
    book.list_arm("chan-T3", "max", "30")
    monkeypatch.setattr(
        results, "arm", lambda book, exhibit, arm: book.list_arm(exhibit, arm, f"new {arm}")
    )
    assert stored_models.methods(book) == {SOFT: {0: "00"}, f"{HARD}, max pooling": {0: "30"}}
    found = stored_models.methods(book, train=True)
    assert found[HARD] == {0: "new visual-codebook"} and found[SOFT] == {0: "new cross-attention"}
    assert found[f"{HARD}, max pooling"] == {0: "30"}


def test_every_arm_of_table_3_has_a_label():
    arms = {arm for arm in exhibits.EXHIBITS["chan-T3"].names()}
    assert arms - {BASE_MODEL} <= set(stored_models.LABELS)


# --- The widget, without a browser ---------------------------------------------------------------


@pytest.fixture
def view(inputs, monkeypatch):
    """The explorer over three untrained models, on two data sets."""
    models = {
        "h": small_gallery(inputs),
        "h1": small_gallery(inputs, scale=5.0),
        "s": small_gallery(inputs, coding="soft"),
        "t": small_gallery(inputs, codebook="textual"),
    }
    monkeypatch.setattr(
        stored_models,
        "places",
        lambda book: {
            "world A": stored_models.Place(
                book, "A", {HARD: {0: "h", 1: "h1"}, SOFT: {0: "s", 1: "s"}, "textual": {0: "t"}}
            ),
            "world B": stored_models.Place(book, "B", {HARD: {0: "t"}, SOFT: {0: "s"}}),
        },
    )
    monkeypatch.setattr(stored_models, "opened", lambda book, domain, key: models[key])
    view = widget.Explorer("book")
    view.models = models
    return view


def send(view, **changes):
    """What the page sends when something is moved."""
    view.set_state(changes)
    return view.shown


def panels(view):
    return [(panel["method"], panel["score"], panel["rank"]) for panel in view.shown["panels"]]


def test_it_opens_on_the_first_caption_of_the_first_picture(view, inputs):
    shown, words = view.shown, ["a", "red", "star"]
    assert view.caption == "a red star" and shown["words"] == words and view.note == ""
    looks = [matching.look(view.models[key], 0, words) for key in "hs"]
    assert panels(view) == [
        (name, look.pair.score, look.rank) for name, look in zip((HARD, SOFT), looks)
    ]
    assert shown["captions"] == CAPTIONS[:2] and (shown["image"], shown["images"]) == (0, 5)
    maps = np.frombuffer(view.maps, np.uint8).reshape(2, 3, SIDE, SIDE)
    for drawn, look, key in zip(maps, looks, "hs", strict=True):
        expected = 255 * matching.maps(look.pair, view.models[key].boxes[0])
        assert abs(drawn - expected).max() <= 0.5 + 1e-6
    assert view.get_state()["maps"] == view.maps
    assert len(view.colours) == 3 * 256


def test_a_typed_caption_finds_its_picture(view):
    shown = send(view, caption="The big purpel ring", image=-1)
    best = matching.look(view.models["h"], -1, ["the", "big", "purpel", "ring"])
    assert view.image == shown["image"] == best.image
    assert shown["unknown"] == [False, False, True, False]
    assert shown["notes"][0].startswith("not in the vocabulary: purpel")
    assert shown["panels"][0]["rank"] == 1


def test_a_typed_caption_is_held_against_the_picture_in_view(view):
    best = send(view, caption="a big red ring", image=-1)["image"]
    here = (best + 1) % PICTURES
    shown = send(view, caption="a big red ring", image=here)
    assert (shown["image"], view.caption, shown["words"]) == (
        here,
        "a big red ring",
        ["a", "big", "red", "ring"],
    )
    assert shown["panels"][0]["rank"] > 1


def test_exchanges_follow_one_another(view):
    send(view, swap=[1, "blue"])
    shown = send(view, caption="a blue star", swap=[2, "ring"])  # as the page sends the second
    look = matching.look(view.models["h"], 0, ["a", "blue", "star"])
    assert shown["words"] == ["a", "blue", "ring"]
    assert shown["panels"][0]["before"] == {"score": look.pair.score, "rank": look.rank}


def test_pictures_that_are_found_are_sent_small(view, inputs, monkeypatch):
    def size(url):
        return Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2]))).size

    large = np.zeros((7, 300, 200, 3), np.uint8)
    monkeypatch.setattr(inputs[0], "images", large)
    widget._png.cache_clear()
    shown = send(view, caption="the ring", image=2)
    assert size(shown["picture"]) == (200, 300)
    assert {size(top["picture"]) for panel in shown["panels"] for top in panel["top"]} == {
        (69, 104)
    }


def test_a_picture_comes_with_its_own_captions(view):
    shown = send(view, image=3, caption=None)
    assert view.caption == CAPTIONS[6] and shown["captions"] == CAPTIONS[6:8]
    kept = send(view, image=1)  # the same caption on another picture
    assert kept["image"] == 1 and view.caption == CAPTIONS[6]
    assert kept["panels"][0]["ranked"] == widget._ranked(view.models["h"], 1)


def test_an_exchange_moves_the_score_and_can_be_undone(view):
    before = panels(view)
    shown = send(view, swap=[1, "blue"])
    assert shown["words"] == ["a", "blue", "star"] and shown["was"] == ["a", "red", "star"]
    assert shown["image"] == 0
    for panel, (_, score, rank), key in zip(shown["panels"], before, "hs"):
        look = matching.look(view.models[key], 0, ["a", "blue", "star"])
        assert (panel["score"], panel["rank"]) == (look.pair.score, look.rank)
        assert panel["before"] == {"score": score, "rank": rank}
    assert send(view, swap=[])["panels"][0]["before"] is None and panels(view) == before


def test_methods_seed_and_data_are_switched(view):
    wanted = {
        key: matching.look(found, 0, ["a", "red", "star"]).pair.score
        for key, found in view.models.items()
    }
    assert len(set(wanted.values())) == 4
    send(view, left="textual")
    assert panels(view)[0][:2] == ("textual", wanted["t"])
    send(view, left=HARD, seed=1)
    assert panels(view)[0][1] == wanted["h1"]
    send(view, left="textual")  # which has the first seed only
    assert view.seed == 0 and view.note == ""
    send(view, data="world B")
    assert (view.left, view.right) == (HARD, SOFT)
    assert panels(view)[0][1] == wanted["t"]


@pytest.mark.parametrize(
    "changes, words",
    [
        (dict(caption="  "), "there is no word in this caption"),
        (dict(image=5), "no picture 6: there are 1 to 5"),
        (dict(image=-2), "no picture -1: there are 1 to 5"),
        (dict(swap=[9, "blue"]), "no word in place 9"),
        (dict(data="mars"), "no results of 'mars'; there are: world A, world B"),
    ],
)
def test_what_cannot_be_done_is_told_and_nothing_else_changes(view, changes, words):
    shown = view.shown
    send(view, **changes)
    assert words in view.note and view.shown is shown and view.answered == 2
    assert (view.caption, view.image, view.swap) == ("a red star", 0, [])
    assert view.data == "world A"
    send(view, caption="a ring", image=0, swap=[], data="world A")
    assert view.note == "" and view.shown["words"] == ["a", "ring"]
    assert view.answered == 3


def test_a_fault_of_ours_is_told_and_logged_and_the_page_goes_on(view, monkeypatch, caplog):
    shown = view.shown
    with monkeypatch.context() as broken:
        broken.setattr(matching, "look", lambda *_, **__: {}["gone"])
        send(view, caption="a ring")
    assert view.note == "KeyError: 'gone'" and "Traceback" in caplog.text
    assert view.shown is shown and view.caption == "a red star" and view.answered == 2
    assert send(view, caption="a ring")["words"] == ["a", "ring"]


def test_a_word_to_look_at_stays_within_the_caption(view):
    send(view, word=2)
    assert send(view, caption="a ring")["words"] == ["a", "ring"] and view.word == 1


def test_one_message_is_one_computation(view, monkeypatch):
    asked, found = [], widget.Explorer._found
    monkeypatch.setattr(widget.Explorer, "_found", lambda self: asked.append(0) or found(self))
    send(view, caption=None, image=2, swap=[], word=0)
    send(view, word=1)
    assert len(asked) == 1


def test_in_a_batch_run_there_is_a_line_instead(monkeypatch):
    monkeypatch.setenv("ALIGNBOOK_LIFELINE", "x")
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    assert "Its views follow as figures" in widget.show(None).data
    monkeypatch.setattr(widget, "Explorer", lambda book: f"explorer of {book}")
    monkeypatch.setenv("JPY_SESSION_NAME", "60_explorer.ipynb")
    assert widget.show("b") == "explorer of b"


def test_the_page_needs_nothing_from_elsewhere():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    packed = project["tool"]["setuptools"]["package-data"]["alignbook.explorer"]
    for name in ("explorer.js", "explorer.css"):
        text = (ROOT / "lib/alignbook/explorer" / name).read_text(encoding="utf-8")
        assert "://" not in text and "import " not in text and "url(" not in text
        assert any(fnmatch(name, pattern) for pattern in packed)


def test_the_divided_score_is_in_the_models_units(inputs):
    found = small_gallery(inputs, divided=False)
    divided = replace(found.config, divided=True)
    same = replace(found, model=chan.CHAN(divided, WIDTH, found.model.text))
    same.model.load_state_dict(found.model.state_dict())
    ratio = matching.caption_scores(found, 0) / matching.caption_scores(same, 0)
    assert ratio == pytest.approx(np.full(10, 10.0))
