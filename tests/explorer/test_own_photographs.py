"""Photographs of one's own in the explorer: no captions, a matcher trained elsewhere, nothing lost."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from alignbook import ROOT
from alignbook.backbones import extraction, locked
from alignbook.backbones.inputs import Inputs
from alignbook.datasets import picture_folder
from alignbook.explorer import matching, own_photographs, stills, stored_models, widget, wording
from alignbook.explorer.stored_models import HARD, SOFT
from alignbook.papers.chan import model as chan
from alignbook.papers.chan import rivals
from alignbook.store import durable, progress, runs
from alignbook.workbook import command, lab
from PIL import Image
from test_explorer import CODINGS, IDS, inputs, send, small_gallery  # noqa: F401, a fixture

COLOURS = {"red": (200, 30, 30), "blue": (30, 30, 200), "green": (30, 160, 30)}
FILES = ["a <b>red.jpg", "b/blue.png", "c 'green'.webp", "d red.jpg", "e blue.jpg"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Five pictures of one colour each, and a file that is none."""
    folder = tmp_path_factory.mktemp("mine")
    (folder / "b").mkdir()
    for name in FILES:
        colour = next(rgb for word, rgb in COLOURS.items() if word in name)
        noise = np.random.default_rng(len(name)).integers(0, 30, (240, 320, 3), np.uint8)
        Image.fromarray(np.array(colour, np.uint8) + noise).save(folder / name)
    (folder / "broken.jpg").write_text("no picture")
    return folder


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A store with two matchers of photographs in colours, and a results folder that lists them."""
    rng = np.random.default_rng(0)
    words = [list(COLOURS)[i % 3] for i in range(24)]
    noise = rng.integers(0, 30, (24, 224, 224, 3), np.uint8)
    said = [f"{start} {word}" for word in words for start in ("a", "one", "a dog", "so", "very")]
    dataset = SimpleNamespace(
        name="colours",
        images=np.array([COLOURS[word] for word in words], np.uint8)[:, None, None] + noise,
        captions=said,
        captions_per_image=5,
        splits={"train": np.arange(16), "dev": np.arange(16, 20), "test": np.arange(20, 24)},
        fingerprint="colours",
        objects=None,
    )
    dataset.captions_of = lambda split: [
        said[5 * i + k] for i in dataset.splits[split] for k in range(5)
    ]
    root = tmp_path_factory.mktemp("root")
    store, runs.STORE = runs.STORE, root / "results/store"
    seen = runs.get(extraction.Images(), 0, (dataset,))
    read = runs.get(extraction.Captions(), 0, (dataset,))
    base = runs.get(locked.Config(epochs=1, batch=8, dim=8, min_count=2), 0, (dataset, seen, read))
    out = root / "results/flickr8k-smoke"
    arms = out / "arms/chan-T3"
    arms.mkdir(parents=True)
    keys = {}
    for arm, coding in (("visual-codebook", "hard"), ("cross-attention", "soft")):
        config = chan.Config(coding=coding, dim=8, steps=2, batch=8, temperature=0.1)
        keys[arm] = runs.get(config, 0, Inputs(dataset, seen, base)).key
        line = dict(exhibit="chan-T3", arm=arm, role="report", seed=0, key=keys[arm])
        pd.DataFrame([line]).to_csv(arms / f"{arm}.csv", index=False)
    settings = dict(profile="smoke", data="flickr8k=/gone", seeds=None, set={}, device="cpu")
    (out / "settings.json").write_text(json.dumps(settings))
    yield SimpleNamespace(root=root, out=out, keys=keys, seen=seen, base=base)
    runs.STORE = store


@pytest.fixture
def mine(trained, folder, monkeypatch):
    """Lab was started with the folder."""
    monkeypatch.setenv(lab.PHOTOS, str(folder))
    monkeypatch.setattr(stored_models, "ROOT", trained.root)
    own_photographs._inputs.cache_clear()
    stored_models.opened.cache_clear()
    return trained


OTHER = SimpleNamespace(
    pretrained=False, profile=SimpleNamespace(fit="squash", size=64, name="smoke"), out=Path("x")
)


# --- Which models, which pictures ----------------------------------------------------------------


def test_your_photographs_are_a_place(mine, folder):
    place = own_photographs.places(OTHER)["my photographs"]
    assert place.methods == {
        HARD: {0: mine.keys["visual-codebook"]},
        SOFT: {0: mine.keys["cross-attention"]},
    }
    assert place.book == own_photographs.OwnPhotographs(folder, mine.out, mine.base.key)
    assert own_photographs.book().out == mine.out and own_photographs.book("coco=/x") is None


def test_whose_models_look_and_whether_they_are_small(mine, capsys):
    own_photographs.places(OTHER)
    said = capsys.readouterr().out
    assert "the models of flickr8k-smoke." in said and own_photographs.SMALL in said
    settings = json.loads((mine.out / "settings.json").read_text()) | {"profile": "laptop"}
    other = mine.root / "results/flickr8k-laptop"
    shutil.copytree(mine.out, other)
    try:
        (other / "settings.json").write_text(json.dumps(settings))
        own_photographs.places(OTHER)
    finally:
        shutil.rmtree(other)
    said = capsys.readouterr().out
    assert "the models of flickr8k-laptop." in said and own_photographs.SMALL not in said


def test_without_a_folder_there_is_no_place(mine, monkeypatch, capsys):
    monkeypatch.delenv(lab.PHOTOS)
    assert own_photographs.places(OTHER) == {} and own_photographs.book() is None
    assert capsys.readouterr().out == ""


def test_a_job_keeps_to_its_own_workbook(mine, monkeypatch):
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    monkeypatch.setenv("ALIGNBOOK_LIFELINE", "x")
    assert own_photographs.book() is None


def test_without_a_model_a_line_says_how_to_train_one(mine, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(stored_models, "ROOT", tmp_path)
    assert own_photographs.book() is None and own_photographs.places(OTHER) == {}
    assert "./run_all.sh --data flickr8k=DIR --profile smoke chan-T3" in capsys.readouterr().out


@pytest.mark.parametrize("change", [dict(fit="squash"), dict(size=80), dict(base="photo-tower")])
def test_models_of_photographs_seen_otherwise_are_left_out(mine, change):
    book = own_photographs.book()
    other = replace(book, profile=replace(book.profile, **change))
    assert own_photographs._suited(book) and own_photographs._suited(other) is None


def test_features_of_another_tower_or_code_are_left_out(mine, monkeypatch):
    assert own_photographs._is_seen_alike(mine.seen.key)
    assert not own_photographs._is_seen_alike(mine.base.key)
    assert not own_photographs._is_seen_alike("gone") and not own_photographs._is_seen_alike(
        "f" * 64
    )
    with monkeypatch.context() as other:
        other.setattr(runs, "is_of_this_code", lambda run: False)
        assert not own_photographs._is_seen_alike(mine.seen.key)
    monkeypatch.setattr(extraction, "Images", lambda: extraction.Captions())
    assert not own_photographs._is_seen_alike(mine.seen.key)


def test_pictures_are_seen_in_order_and_kept_in_the_results_folder(mine, folder, capsys):
    before = sorted(folder.rglob("*"))
    own = own_photographs.places(OTHER)["my photographs"].book
    dataset, features, base = own.inputs()[:3]
    said = capsys.readouterr().out
    assert "my photographs: 5 pictures; skipped 1 of 6 files:" in said and "broken.jpg: no" in said
    assert dataset.names == FILES and base.key == mine.base.key
    assert dataset.folder.parent == mine.out / "photos" and sorted(folder.rglob("*")) == before
    assert features.array("features").shape == (5, 49, 1280) and features.metrics["side"] == 7
    mean = features.array("features").astype(np.float32).mean(1)
    alike = np.corrcoef(mean)
    assert alike[0, 3] > alike[0, [1, 2, 4]].max() and alike[1, 4] > alike[1, [0, 2, 3]].max()
    assert own.inputs() is own.inputs() and capsys.readouterr().out == ""


def test_extraction_goes_on_where_it_was_interrupted(mine, folder, monkeypatch):
    dataset = picture_folder.prepare(folder, mine.out / "photos", 224)
    dataset = replace(dataset, fingerprint="interrupted")
    monkeypatch.setattr(extraction, "AT_ONCE", 2)
    with monkeypatch.context() as broken:

        def stop(label, step, steps):
            if step == 4:
                raise KeyboardInterrupt

        broken.setattr(progress, "show", stop)
        with pytest.raises(KeyboardInterrupt):
            runs.get(extraction.Images(), 0, (dataset,))
    steps = []
    monkeypatch.setattr(progress, "show", lambda label, step, steps_: steps.append(step))
    run = runs.get(extraction.Images(), 0, (dataset,))
    assert steps == [5]
    whole = own_photographs.places(OTHER)["my photographs"].book.inputs().features
    assert np.allclose(run.array("features"), whole.array("features"), atol=1e-2)


def test_a_store_of_features_that_fits_is_asked_for(mine, trained):
    files = durable.described(trained.seen.folder)
    arrays = sum(files[f"{name}.npy"]["size"] - 128 for name in ("features", "order", "patches"))
    assert arrays == 24 * own_photographs.STORED


def test_the_notebook_opens_the_explorer_before_what_the_models_were_tested_on():
    """These pictures may have gone; the figures below the explorer take them."""
    cells = json.loads((ROOT / "notebooks/60_explorer.ipynb").read_text(encoding="utf-8"))["cells"]
    code = ["".join(each["source"]) for each in cells if each["cell_type"] == "code"]
    (shown,) = (i for i, source in enumerate(code) if "widget.show(" in source)
    takes = [i for i, source in enumerate(code) if "side_by_side(" in source or "galler" in source]
    assert takes and min(takes) > shown


# --- A gallery without captions -------------------------------------------------------------------


@pytest.fixture
def silent(inputs):  # noqa: F811
    """The sample without its captions, and with names of files."""
    inputs[0].captions, inputs[0].captions_per_image = [], 0
    inputs[0].objects, inputs[0].names = None, [f"{i} <i>\udcff.jpg" for i in range(7)]  # no UTF-8
    return inputs


@pytest.mark.parametrize("settings", CODINGS, ids=IDS)
def test_scores_are_the_models_without_captions_too(silent, settings):
    found = small_gallery(silent, **settings)
    vectors = matching.encode(found, ["a", "red", "star"])
    whole = found.model.similarity(found.images, vectors[None])[:, 0].detach().numpy()
    assert matching.image_scores(found, vectors) == pytest.approx(whole, abs=1e-5)
    look = matching.look(found, -1, ["a", "red", "star"])
    assert look.image == whole.argmax() and look.rank == 1
    assert look.pair.score == pytest.approx(whole.max(), abs=1e-5)


def test_every_view_of_captions_is_empty_without_them(silent):
    found = small_gallery(silent)
    assert found.captions(3) == [] and found.title(3) == "5 <i>\\udcff.jpg"
    assert matching.caption_scores(found, 0).shape == (0,)
    table = matching.ranked_captions(found, 0)
    assert len(table) == 0 and table.attrs["rank"] is None
    assert wording.example(found) == (0, ["a", "red", "star"], 0)
    assert wording.exchanges(found, "red") == ["green", "blue", "purple"]
    assert len(stills.captions_table({HARD: found}, 0)) == 0
    assert len(stills.swaps_table({HARD: found}, 0, ["a", "red", "star"], 1, ["blue"])) == 2
    assert len(stills.words_figure({HARD: found}, 0, ["a", "star"])[1]) == 2
    with pytest.raises(ValueError, match="there is no word"):
        wording.read("", found.vocabulary)


def test_a_picture_of_one_vector_without_captions(silent):
    config = rivals.Config(method="vse++", dim=8, regions=5)
    words = rivals.ForwardGRU(torch.rand(14, 6), 8)
    model = rivals.VSEPlusPlus(config, 7, words, rivals.last_state).eval()
    found = stored_models.encoded(model, small_gallery(silent).vocabulary, silent)
    assert (
        found.words.shape == (0, 8) and matching.look(found, 2, ["a", "star"]).pair.weights is None
    )
    assert len(matching.ranked_captions(found, 2)) == 0


@pytest.mark.parametrize("cells, pixels", [(7, 63), (8, 64), (10, 60), (64, 64), (65, 65), (0, 64)])
def test_a_cell_has_whole_pixels(silent, cells, pixels):
    assert matching.side(replace(small_gallery(silent), cells=cells)) == pixels


def test_start_is_known_to_the_model():
    known = SimpleNamespace(words=("a", "and", "dog", "people", "two"))
    assert wording.start(known) == "two people and a dog"


# --- The page ------------------------------------------------------------------------------------


@pytest.fixture
def view(mine, monkeypatch):
    monkeypatch.setattr(stored_models, "places", lambda book: {})
    return widget.Explorer(OTHER)


def test_it_opens_on_your_photographs(view):
    shown = view.shown
    assert view.data == "my photographs" and view.caption in wording.STARTS and not view.note
    assert (shown["images"], shown["captions"], shown["own"]) == (5, [], False)
    assert shown["title"] == FILES[0] and shown["picture"].startswith("data:image/png;base64,")
    for panel in shown["panels"]:
        assert panel["ranked"] == [] and panel["own rank"] is None and panel["mapped"]
        assert [top["title"] for top in panel["top"]] == [
            FILES[top["image"]] for top in panel["top"]
        ]
    assert json.loads(json.dumps(shown)) == shown


def test_edges_of_maps_are_those_of_the_cells(view):
    send(view, caption="a red dog")
    maps = np.frombuffer(view.maps, np.uint8).reshape(2, 3, 63, 63)
    cells = maps[..., ::9, ::9]
    assert (maps == cells.repeat(9, 2).repeat(9, 3)).all()  # nothing between two cells
    assert set(cells[0].ravel()) == {0, 255} and (cells[0] == 255).sum((1, 2)).tolist() == [1, 1, 1]
    assert ((cells[1] > 0).sum((1, 2)) <= 36).all()
    for place, (x0, y0, _, _) in enumerate(view.shown["panels"][0]["boxes"]):
        assert cells[0, place, round(7 * y0), round(7 * x0)] == 255


def test_a_typed_caption_stays_as_pictures_pass(view):
    shown = send(view, caption="a green dog", image=-1)
    best = shown["image"]
    assert shown["panels"][0]["rank"] == 1
    shown = send(view, caption=None, image=(best + 1) % 5)
    assert view.caption == "a green dog" and shown["title"] == FILES[(best + 1) % 5]
    shown = send(view, swap=[1, "red"])
    assert shown["words"] == ["a", "red", "dog"] and shown["panels"][1]["before"]
    send(view, caption="  ")
    assert "there is no word" in view.note and view.caption == "a green dog"
    send(view, image=5)
    assert view.note == "no picture 6: there are 1 to 5"


def test_names_of_files_are_text_on_the_page():
    page = (widget.HERE / "explorer.js").read_text(encoding="utf-8")
    assert not re.search("innerHTML|outerHTML|insertAdjacent|document.write", page)
    titles = re.findall(r"\S*\(?\b(?:shown|each)\.title\b", page)
    assert len(titles) == 2 and all(each.startswith("plain(") for each in titles)


# --- ./run_all.sh lab --photos --------------------------------------------------------------------


@pytest.fixture
def started(monkeypatch):
    """What Lab is started with."""
    found = []
    monkeypatch.setattr(lab, "hand_over", lambda *words: found.append(words))
    monkeypatch.delenv(lab.PHOTOS, raising=False)
    monkeypatch.setenv(lab.PHOTOS, "")
    return found


@pytest.mark.parametrize("form", [["--photos", "{}"], ["--photos={}"]])
def test_lab_opens_on_the_explorer(started, folder, form):
    lab.lab(["--no-browser", *(each.format(folder) for each in form)])
    assert "--LabApp.default_url=/lab/tree/notebooks/60_explorer.ipynb" in started[0]
    assert started[0][-1] == "--no-browser" and not any("photos" in each for each in started[0])
    assert lab.os.environ[lab.PHOTOS] == str(folder)


def test_lab_opens_on_the_map_without(started):
    lab.lab(["--no-browser"])
    assert "--LabApp.default_url=/lab/tree/notebooks/00_start_here.ipynb" in started[0]
    assert lab.os.environ[lab.PHOTOS] == ""


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["--photos"], "0 folders named, expected one: --photos DIR"),
        (["--photos="], "0 folders named"),
        (["--photos", "a", "--photos=b"], "2 folders named, expected one"),
        (["--photos", "gone"], "gone: no such folder, expected one of pictures; name a folder"),
        (["--photos", "{}"], "0 pictures, expected 1 to 20,000; name a folder with JPEG"),
    ],
)
def test_lab_is_not_opened_on_no_pictures(started, tmp_path, capsys, arguments, words):
    assert command.main(["lab", *(each.format(tmp_path) for each in arguments)]) == 2
    said = capsys.readouterr().err
    assert said.startswith("run_all.sh: lab --photos: ") and words in said and not started
