"""Profiles and workbooks: what a name, a data set and single settings amount to."""

import json
from types import SimpleNamespace

import pytest
from alignbook.backbones import base, extraction, region_features
from alignbook.datasets import by_name
from alignbook.store import runs
from alignbook.workbook import exhibits, profiles, start, workbook


def test_a_setting_changes_one_number():
    plain, changed = profiles.get("smoke"), profiles.get("smoke", overrides={"chan_dim": "32"})
    assert changed.chan_dim == 32 and changed.chan_steps == plain.chan_steps


@pytest.mark.parametrize(
    "key, text, words",
    [
        ("chan_dims", "3", "there are: .*chan_dim"),
        ("chan_dim", "wide", "expected a value of type int"),
        ("comalign_bare", "maybe", "setting comalign_bare=maybe: expected yes or no"),
        ("seeds", "0", "expected 1 or more"),
        ("chan_steps", "-1", "expected 1 or more"),
        ("test_images", "-1", "expected 0 or more"),
        ("chan_learning_rate", "nan", "above 0"),
        ("base", "photo-tower", "base model of this data is world-clip"),
        ("name", "x", "unknown setting"),
    ],
)
def test_bad_settings_are_refused(key, text, words):
    with pytest.raises(ValueError, match=words):
        profiles.get("laptop", overrides={key: text})


def test_unknown_profiles_and_paper_without_its_data_are_refused():
    with pytest.raises(ValueError, match="smoke, laptop"):
        profiles.get("lap")
    with pytest.raises(ValueError, match="coco_precomp=DIR"):
        profiles.get("paper")


def test_photographs_keep_the_papers_sizes_in_the_paper_profile():
    paper = profiles.get("paper", "coco=DIR")
    assert (paper.chan_dim, paper.chan_batch, paper.train_images) == (1024, 384, 0)
    assert (paper.base, paper.bert) == ("photo-pretrained", "bert-base-uncased")
    assert profiles.get("smoke", "flickr8k=DIR").train_images == 150
    assert (paper.chan_steps, paper.chan_all_violations) == (36875, 0.04)  # 25 epochs of 1,475
    assert profiles.get("paper", "f30k_precomp=DIR").chan_steps == 9425


def test_photographs_may_have_a_tower_from_scratch():
    scratch = profiles.get("laptop", "flickr8k=DIR", {"base": "photo-tower"})
    assert (scratch.size, scratch.fit, scratch.bert) == (80, "squash", "captions")
    assert (scratch.base_epochs, scratch.base_batch) == (36, 64)
    assert base.configure(scratch).recipe == "photo-tower"
    usual = profiles.get("laptop", "flickr8k=DIR")
    assert (usual.size, usual.fit, usual.bert) == (224, "crop", "minilm")
    with pytest.raises(ValueError, match="is photo-pretrained, or photo-tower; or openclip:NAME"):
        profiles.get("laptop", "flickr8k=DIR", {"base": "world-clip"})


def test_a_pretrained_base_looks_at_larger_photographs():
    loaded = {"base": "openclip:ViT-B-32-quickgelu/openai"}
    assert profiles.get("laptop", "flickr8k=DIR", loaded).size == 224
    assert profiles.get("laptop", "flickr8k=DIR", loaded | {"size": "336"}).size == 336
    assert profiles.get("laptop", "world", loaded).size == 64


def test_a_value_with_a_space_in_it_arrives_whole(tmp_path):
    said = {
        "profile": "smoke",
        "data": "world",
        "seeds": None,
        "device": "cpu",
        "set": {"base": "huggingface:/my models/clip"},
    }
    (tmp_path / "settings.json").write_text(json.dumps(said))
    assert workbook.load(tmp_path).profile.base == "huggingface:/my models/clip"


def test_the_architecture_file_is_part_of_the_key(monkeypatch, tmp_path):
    before = base.configure(profiles.get("smoke"))
    text = (base.towers.CONFIGS / "world-clip.json").read_text()
    (tmp_path / "world-clip.json").write_text(text.replace('"layers": 2', '"layers": 3'))
    monkeypatch.setattr(base.towers, "CONFIGS", tmp_path)
    assert base.configure(profiles.get("smoke")) != before


def test_data_are_looked_at_once_a_process(monkeypatch):
    """Checking 8,000 photographs takes a second, and every run of a thousand asks for them."""
    asked = []
    monkeypatch.setattr(by_name, "prepare", lambda *given: asked.append(given) or len(asked))
    smoke, laptop = workbook.open("smoke"), workbook.open("laptop")
    assert [smoke.dataset(), smoke.dataset("B"), laptop.dataset()] == [1, 2, 3]
    again = workbook.open("smoke")
    assert [again.dataset(), again.dataset("B"), laptop.dataset()] == [1, 2, 3]
    assert workbook.open("smoke", "flickr8k=here").dataset() == 4
    assert asked[1] == ("world", smoke.profile, workbook.ROOT / "data", "B")


def test_changes_by_hand_do_not_overwrite_the_main_jobs_results():
    plain = workbook.open("smoke")
    assert plain.out.name == "world-smoke" and list(plain.seeds) == [0]
    by_hand = workbook.open("smoke", seeds=2, settings="chan_steps=3 chan_dim=8")
    assert by_hand.out.name == "world-smoke-by-hand" and list(by_hand.seeds) == [0, 1]
    assert by_hand.profile.chan_steps == 3 and by_hand.profile.chan_dim == 8


def results(root, name, notebooks, **said):
    """A results folder with so many notebooks done."""
    folder = root / "results" / name
    (folder / "notebooks").mkdir(parents=True)
    for number in range(notebooks):
        (folder / f"notebooks/{number}.done").touch()
    said = {
        "profile": name.rpartition("-")[2],
        "data": "world",
        "seeds": None,
        "set": {},
        "device": "cpu",
    } | said
    (folder / "settings.json").write_text(json.dumps(said))


def test_no_profile_means_what_is_computed(tmp_path, monkeypatch, capsys):
    """With its settings; of equally many notebooks the larger profile's."""
    monkeypatch.setattr(workbook, "ROOT", tmp_path)
    assert workbook.open("").profile.name == "smoke"
    assert "nothing is computed here yet" in capsys.readouterr().out
    results(tmp_path, "world-smoke", 3)
    results(tmp_path, "world-laptop", 1)
    results(
        tmp_path, "flickr8k-overnight", 9, data="flickr8k=/there", set={"chan_steps": "7"}, seeds=4
    )
    assert workbook.open("").profile.name == "smoke"
    assert capsys.readouterr().out == "profile smoke: the most that is computed here\n"
    for number in range(3):
        (tmp_path / f"results/world-laptop/notebooks/{number}.done").touch()
    book = workbook.open("")
    assert (book.profile.name, book.out) == ("laptop", tmp_path / "results/world-laptop")
    book = workbook.open("", settings="chan_steps=3")
    assert (book.profile.name, book.out.name) == ("laptop", "world-laptop-by-hand")
    with_seven = "flickr8k=/here"  # steps: a change is one of what is computed
    book = workbook.open("", with_seven, settings="chan_dim=8")
    assert (book.profile.chan_steps, book.profile.chan_dim, len(book.seeds)) == (7, 8, 4)
    assert workbook.open("", with_seven, settings="chan_steps=3").profile.chan_steps == 3
    for given in ({"seeds": 2}, {"settings": "seeds=2"}):
        assert list(workbook.open("", with_seven, **given).seeds) == [0, 1]
    book = workbook.open("", "flickr8k=/here")
    assert (book.profile.name, book.profile.chan_steps, book.data) == (
        "overnight",
        7,
        "flickr8k=/here",
    )


def test_the_map_says_what_is_computed(tmp_path, monkeypatch):
    monkeypatch.setattr(workbook, "ROOT", tmp_path)
    assert start.computed(tmp_path / "results").empty
    results(tmp_path, "world-laptop", 2)
    results(tmp_path, "world-smoke", 3)
    results(tmp_path, "world-overnight", 0)
    results(tmp_path, "world-smoke-2da7cf", 1)  # a part with settings of its own
    folder = tmp_path / "results/world-smoke"
    (folder / "metrics.csv").write_text("exhibit,value\nchan-T3,1\nchan-T3,2\n")
    (folder / "claims.csv").write_text(
        "claim,exhibit,verdict,why,needed\n"
        "gsl-against-ncr,gsl-F1,undecided,so; not trained: a,15.0\n"
        "chan-hard-coding,chan-T3,reproduced,it holds,3.0\n"
        "c,chan-T3,undecided,,\nd,chan-T3,not run,,\n"
    )
    (folder / "contrasts.csv").write_text(
        "claim,contrast,unit,value,low,high,query_low,query_high,needed\n"
        "chan-hard-coding,x,AUC,2,1,3,,,3\n"
        "gsl-against-ncr,y,points,5,-1,11,0,9,inf\ngsl-against-ncr,z,points,7,1,2,3,4,9\n"
    )
    found = start.computed(tmp_path / "results")
    of = len(exhibits.NOTEBOOKS) - 1  # the map itself counts for nothing
    assert found[["results", "notebooks", "numbers", "verdicts"]].values.tolist() == [
        ["world-smoke", f"3 of {of}", 2, "1 reproduced, 2 undecided"],
        ["world-laptop", f"2 of {of}", 0, "–"],
        ["world-smoke-2da7cf", f"1 of {of}", 0, "–"],
    ]
    book = workbook.open("")
    first, second = start.in_short(book).splitlines()[2:]  # a line a question
    told = [each.strip() for each in first.split("|")[2:-1]]
    assert told == ["x", "+2.000 AUC", r"\[1.000, 3.000\]", "–", "**reproduced**"]
    undecided = "**undecided**; not trained: a; about 15 seeds would show that any difference is "
    undecided += "within ±1.08 %"
    told = [each.strip() for each in second.split("|")[2:-1]]
    assert told == ["y", "+5.0 points", r"\[−1.0, 11.0\]", r"\[0.0, 9.0\]", undecided]
    assert "(11_chan_ablations.ipynb)" not in first  # which has not been executed
    (folder / "notebooks/02_data.done").touch()
    broken = {
        "cells": [
            {
                "metadata": {},
                "outputs": [{"output_type": "error", "ename": "ValueError", "evalue": "why"}],
            }
        ]
    }
    (folder / "notebooks/11_chan_ablations.ipynb").write_text(json.dumps(broken))
    here = start.notebooks(book).set_index("notebook").here
    assert here["02_data"] == "done" and here["10_chan"] == "not yet"
    assert here["11_chan_ablations"] == "cell 1: ValueError: why"
    assert "00_start_here" not in here and len(here) == of
    (folder / "claims.csv").unlink()
    assert "has not been run" in start.in_short(book)


def test_the_command_lines_settings_are_read_back(tmp_path):
    said = {
        "profile": "smoke",
        "data": "flickr8k=/a b",
        "seeds": 2,
        "set": {"chan_steps": "4"},
        "device": "auto",
        "source": "",
    }
    (tmp_path / "settings.json").write_text(json.dumps(said))
    book = workbook.load(tmp_path)
    assert book.out == tmp_path and book.data == "flickr8k=/a b" and book.device in ("cpu", "cuda")
    assert (book.profile.seeds, book.profile.chan_steps, book.profile.size) == (2, 4, 224)


def test_photographs_with_features_of_their_own_are_seen_all_the_same(monkeypatch):
    """Matchers take the features that came along; the base model's maps are of the tower's."""
    brought = SimpleNamespace(images="pictures", regions="regions", fingerprint="f")
    monkeypatch.setattr(workbook.Workbook, "dataset", lambda self, domain="A": brought)
    monkeypatch.setattr(runs, "get", lambda config, seed, given, **how: (config, given))
    book = workbook.Workbook(profiles.get("smoke", "flickr8k"), "flickr8k=here", None)
    assert isinstance(book.features(), region_features.Given)
    _, (_, seen, read) = book.base()
    assert seen[0] == extraction.Images() and read[0] == extraction.Captions()
    assert book.bert()[0] == extraction.Captions()
