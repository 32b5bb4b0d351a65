"""Profiles and workbooks: what a name, a data set and single settings amount to."""

import json

import pytest

from alignbook import base, datasets, profiles, workbook


def test_a_setting_changes_one_number():
    plain, changed = profiles.get("smoke"), profiles.get("smoke", overrides={"chan_dim": "32"})
    assert changed.chan_dim == 32 and changed.chan_steps == plain.chan_steps


@pytest.mark.parametrize("key, text, words", [
    ("chan_dims", "3", "there are: .*chan_dim"),
    ("chan_dim", "wide", "expected a value of type int"),
    ("seeds", "0", "expected 1 or more"),
    ("chan_steps", "-1", "expected 1 or more"),
    ("test_images", "-1", "expected 0 or more"),
    ("chan_learning_rate", "nan", "above 0"),
    ("base", "photo-tower", "base model of this data is world-clip"),
    ("name", "x", "unknown setting"),
])  # fmt: skip
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
    assert base.configure(paper).recipe == "photo-tower"
    assert profiles.get("smoke", "flickr8k=DIR").train_images == 300
    assert (paper.chan_steps, paper.chan_all_violations) == (36875, 0.04)  # 25 epochs of 1,475
    assert profiles.get("paper", "f30k_precomp=DIR").chan_steps == 9425


def test_a_pretrained_base_looks_at_larger_photographs():
    loaded = {"base": "openclip:ViT-B-32-quickgelu/openai"}
    assert profiles.get("laptop", "flickr8k=DIR", loaded).size == 224
    assert profiles.get("laptop", "flickr8k=DIR", loaded | {"size": "336"}).size == 336
    assert profiles.get("laptop", "world", loaded).size == 64


def test_a_value_with_a_space_in_it_arrives_whole(tmp_path):
    said = {"profile": "smoke", "data": "world", "seeds": None, "device": "cpu",
            "set": {"base": "huggingface:/my models/clip"}}  # fmt: skip
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
    monkeypatch.setattr(datasets, "prepare", lambda *given: asked.append(given) or len(asked))
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


def test_the_command_lines_settings_are_read_back(tmp_path):
    said = {"profile": "smoke", "data": "flickr8k=/a b", "seeds": 2, "set": {"chan_steps": "4"},
            "device": "auto", "source": ""}  # fmt: skip
    (tmp_path / "settings.json").write_text(json.dumps(said))
    book = workbook.load(tmp_path)
    assert book.out == tmp_path and book.data == "flickr8k=/a b" and book.device in ("cpu", "cuda")
    assert (book.profile.seeds, book.profile.chan_steps, book.profile.size) == (2, 4, 80)
