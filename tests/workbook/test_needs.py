"""The paper profile's list: what is there, missing or cut short, and what it would cost."""

import dataclasses
import subprocess
import sys
from types import SimpleNamespace

import pytest
from alignbook import ROOT
from alignbook.datasets import by_name
from alignbook.show import gpu_hours
from alignbook.workbook import exhibits, needs, plan, profiles
from alignbook.workbook.needs import File, Needs, Resource

CHAN = ["11_chan_ablations"]


# --- The tables ----------------------------------------------------------------------------------


def test_every_notebook_has_its_needs_and_every_need_is_known():
    assert list(needs.NOTEBOOKS) == list(exhibits.NOTEBOOKS)
    fields = {field.name for field in dataclasses.fields(profiles.Profile)}
    for each in needs.NOTEBOOKS.values():
        assert {*each.named} - {""} <= set(needs.RESOURCES)
        if each.data:  # what a notebook of printed numbers alone has not
            assert each.data in needs.RESOURCES and each.data in by_name.NAMES
        assert set(each.settings) <= fields


def test_every_exhibit_has_a_cost():
    for name in exhibits.EXHIBITS:
        assert plan.hours(cost(name, profiles.get("paper", "coco"), "coco").new) >= 0, name


def test_every_resource_says_where_it_is_had_and_what_for():
    used = {name for each in needs.NOTEBOOKS.values() for name in each.named}
    for name, known in needs.RESOURCES.items():
        assert known.where and known.files and name in used, name
        assert "://" not in known.where and "www" not in known.where
        assert all(0 < file.least <= file.size for file in known.files), name


def test_sizes_of_features_are_computed():
    files = {
        f"{name} {file.name}": file
        for name in ("coco_precomp", "f30k_precomp", "noise_index")
        for file in needs.RESOURCES[name].files
    }
    assert files["coco_precomp train_ims.npy"].size == 113287 * 36 * 2048 * 4 + 128
    assert files["coco_precomp testall_ims.npy"].least == 5000 * 36 * 2048 * 4 + 128
    assert files["coco_precomp dev_ims.npy"].least == 1000 * 36 * 2048 * 4 + 128
    assert files["f30k_precomp train_ims.npy"].size == 29000 * 36 * 2048 * 4 + 128
    assert files["noise_index f30k_precomp_0.4.npy"].size == 1160128  # as published


@pytest.mark.realdata
def test_sizes_fit_the_files_there_are(realdata):
    for name in ("coco_precomp", "f30k_precomp", "sugarcrepe"):
        for file in needs.RESOURCES[name].files:
            path = realdata / name / file.name
            assert not path.exists() or path.stat().st_size >= file.least, path


# --- The cost ------------------------------------------------------------------------------------


def cost(exhibit, profile, data) -> plan.Made:
    """An exhibit by itself."""
    return plan.add(exhibit, data, profile, {})


def in_words(exhibit, profile, data) -> str:
    return plan.cost(exhibit, cost(exhibit, profile, data)).partition(" = ")[2]


def test_cost_of_table_3_by_hand():
    profile = profiles.get(
        "paper",
        "coco_precomp",
        {
            "seeds": "2",
            "chan_trials": "3",
            "chan_steps": "3600",
            "chan_batch": "10",
            "chan_dim": "100",
            "chan_regions": "4",
        },
    )
    # Eight arms of three trials and two seeds, and nine controls once, two of them four times as
    # long.
    pairs, images, texts = 10 * 10 * 4 * 25 * 100, 10 * 4 * 100 * 2448, 10 * 25 * 6 * 100 * 400
    found = cost("chan-T3", profile, "coco_precomp").new
    assert len(found) == 49
    each = 6 * (pairs + images + texts) / 1e13 + 0.065  # hours of 3,600 steps
    assert plan.hours(found) == pytest.approx((49 + 2 * 3) * each)
    basis = in_words("chan-T3", profile, "coco_precomp")
    assert basis.startswith("47 trainings with BiGRU × 3,600 steps") and "BERT" not in basis
    assert "2 trainings with BiGRU × 14,400 steps" in basis


def test_bert_arms_are_reckoned_with_their_own_batches():
    profile = profiles.get(
        "paper",
        "coco_precomp",
        {"seeds": "2", "chan_trials": "3", "chan_steps": "100", "chan_batch": "256"},
    )
    # Four matchers of five runs, and one official arm, with either text encoder; SGR and SAF once.
    basis = in_words("chan-T1", profile, "coco_precomp")
    assert "23 trainings with BiGRU × 100 steps" in basis
    assert "21 trainings with BERT × 200 steps" in basis


def test_what_is_not_made_on_the_data_costs_nothing():
    text = needs.plan(["10_chan"], "world").text
    assert "chan-T1: " in text and "chan-T2: " not in text
    # Figure 4 has K up to 36 where the published features end: 4, 9, 18 and 36, for two codings.
    plain = profiles.get("paper", "coco_precomp", {"seeds": "1", "chan_trials": "1"})
    assert len(cost("chan-F4", plain, "coco_precomp").new) == 8


def test_one_trial_is_none():
    one = profiles.get("paper", "coco_precomp", {"seeds": "2", "chan_trials": "1"})
    assert len(cost("chan-T3", one, "coco_precomp").new) == 25  # nothing to choose between


def test_what_another_exhibit_has_costs_nothing_more():
    text = needs.plan(["11_chan_ablations", "13_chan_efficiency"], "coco_precomp=none").text
    assert "chan-F3: 0.0 GPU hours" not in text  # its rivals are Table 1's
    text = needs.plan(["10_chan", "13_chan_efficiency"], "coco_precomp=none").text
    assert "chan-F3: 0.0 GPU hours = nothing is trained that no exhibit above has" in text


# --- What is there -------------------------------------------------------------------------------


@pytest.fixture
def small(tmp_path, monkeypatch):
    """The tables in small, and a project folder to put things into."""
    three = (File("a.npy", 10, 10), File("b.bin|c.bin", 5e9, 2), File("pictures/|Images/", 1e6))
    monkeypatch.setattr(needs, "ROOT", tmp_path)
    monkeypatch.setattr(
        needs,
        "RESOURCES",
        {
            "coco_precomp": Resource("features", "coco_precomp", three, "in a cupboard"),
            "coco": Resource("photographs", "coco", (File("x", 1),), "in a drawer"),
            "model": Resource(
                "weights",
                "weights",
                (File("m.bin", 2e9),),
                "in a safe",
                weights="checkpoint:{folder}/m.bin",
            ),
            "words": Resource("vectors", "words", (File("w.txt", 3e9),), "on a shelf"),
            "late": Resource("a late thing", "late", (File("l", 4e9),), "elsewhere"),
        },
    )
    monkeypatch.setattr(
        needs,
        "NOTEBOOKS",
        {
            "02_data": Needs("coco_precomp"),
            "03_base_models": Needs("coco", others=("model",), pictures=True),
            "11_chan_ablations": Needs("coco_precomp", optional=("words",), settings=("chan_dim",)),
            "99_late": Needs(also=("coco_precomp", "late")),
        },
    )
    monkeypatch.setattr(by_name, "check", lambda spec: [])
    return tmp_path


def fill(folder, *names):
    """Files of ten bytes and folders with one in them."""
    for name in names:
        path = folder / name
        if name.endswith("/"):
            path /= "0.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"0123456789")


def wrong(found) -> dict[str, str]:
    return {file.name.partition("|")[0]: why for file, why in found.files if why}


def test_files_are_there_missing_or_cut_short(small):
    folder = small / "data/coco_precomp"
    assert wrong(needs.look("coco_precomp")) == dict.fromkeys(
        ("a.npy", "b.bin", "pictures/"), "missing"
    )
    fill(folder, "a.npy", "c.bin", "Images/")
    assert needs.look("coco_precomp").ready and needs.look("coco_precomp").missing == 0
    (folder / "a.npy").write_bytes(b"012345678")
    (folder / "Images/0.jpg").unlink()
    found = needs.look("coco_precomp")
    assert wrong(found) == {"a.npy": "cut short: 0 KB there", "pictures/": "empty folder"}
    assert not found.ready and found.missing == 10 + 1e6


def test_a_data_set_that_is_there_is_read_too(small, monkeypatch):
    checked = []
    monkeypatch.setattr(by_name, "check", lambda spec: checked.append(spec) or ["row 7 is bad"])
    needs.look("coco_precomp")
    assert checked == []  # not before its files are there
    fill(small / "else", "a.npy", "b.bin", "pictures/")
    found = needs.look("coco_precomp", small / "else")
    assert checked == [f"coco_precomp={small}/else"]
    assert not found.ready and found.problems == ("row 7 is bad",)
    assert "row 7 is bad" in needs.plan(CHAN, f"coco_precomp={small}/else").text


def test_weights_that_are_there_are_looked_into(small, monkeypatch):
    asked = []
    model = SimpleNamespace(problems=lambda spec: asked.append(spec) or ["another activation"])
    monkeypatch.setitem(sys.modules, "alignbook.backbones.pretrained", model)
    monkeypatch.setattr("alignbook.backbones.pretrained", model, raising=False)
    assert not needs.look("model").ready and asked == []
    fill(small / "data/weights", "m.bin")
    assert needs.look("model").problems == ("another activation",)
    assert asked == [f"checkpoint:{small}/data/weights/m.bin"]


# --- The list ------------------------------------------------------------------------------------


def test_what_is_missing_is_told_with_size_place_and_source(small):
    plan = needs.plan(CHAN)
    assert plan.data is None
    lines = plan.text.splitlines()
    head = next(line for line in lines if line.startswith("11_chan"))
    assert head.endswith("✗ coco_precomp missing")
    assert "✗ b.bin or c.bin, 5.0 GB, missing" in plan.text
    assert "data/coco_precomp/, or give --data coco_precomp=DIR; usually had: in a" in plan.text
    assert "for 11_chan_ablations, 02_data, 99_late" in plan.text
    assert "– words (runs without)" in plan.text and "chan_dim=1024" in plan.text
    assert "✗ late" in plan.text and "for 99_late" in plan.text
    # 5 GB of coco_precomp; 2 + 3 + 4 GB of the others
    assert "missing: 5.0 GB for these notebooks, 14.0 GB for all four papers" in lines[-1]


def test_what_can_be_fetched_is_told_with_the_command():
    text = " ".join(needs.plan(["10_chan"], "coco_precomp=none").text.split())
    assert "./run_all.sh fetch bert, or by hand: put into data/weights/bert-base-uncased/;" in text
    assert "fetch coco_precomp" not in text  # which is had by hand alone


def test_with_its_data_a_notebook_is_ready_and_can_start(small):
    fill(small / "data/coco_precomp", "a.npy", "b.bin", "Images/")
    plan = needs.plan(CHAN)
    assert plan.data == f"coco_precomp={small}/data/coco_precomp"
    assert "✓ ready" in plan.text and "✓ coco_precomp" in plan.text
    assert "missing: 0 KB for these notebooks" in plan.text
    assert needs.plan(["02_data", *CHAN]).data == plan.data


def test_data_elsewhere(small):
    fill(small / "else", "a.npy", "b.bin", "Images/")
    assert needs.plan(CHAN, f"coco_precomp={small}/else").data == f"coco_precomp={small}/else"
    assert needs.plan(CHAN).data is None
    other = needs.plan(CHAN, f"coco_precomp={small}/other")
    assert other.data is None and f"put into {small}/other/" in other.text


def test_data_of_ones_own_stands_in_but_not_for_pictures(small):
    (small / "photos").mkdir()
    plan = needs.plan(CHAN, f"flickr8k={small}/photos")
    assert plan.data == f"flickr8k={small}/photos"
    fill(small / "else", "a.npy", "b.bin", "Images/")
    plan = needs.plan(["03_base_models"], f"coco_precomp={small}/else")
    assert plan.data is None and "✗ coco, model missing" in plan.text


def test_notebooks_on_different_data_start_one_by_one(small, monkeypatch):
    model = SimpleNamespace(problems=lambda spec: [])
    monkeypatch.setitem(sys.modules, "alignbook.backbones.pretrained", model)
    monkeypatch.setattr("alignbook.backbones.pretrained", model, raising=False)
    fill(
        small / "data",
        "coco_precomp/a.npy",
        "coco_precomp/b.bin",
        "coco_precomp/Images/",
        "coco/x",
        "weights/m.bin",
    )
    plan = needs.plan(["03_base_models", *CHAN])
    assert plan.text.count("✓ ready") == 2 and plan.data is None
    assert "start them one by one" in plan.text
    assert needs.plan(["03_base_models"]).data == f"coco={small}/data/coco"


def test_settings_are_the_profiles_with_what_is_changed(small):
    assert "chan_dim=8" in needs.plan(CHAN, overrides={"chan_dim": "8"}).text
    with pytest.raises(ValueError, match="zzz"):
        needs.plan(CHAN, overrides={"zzz": "7"})
    with pytest.raises(ValueError, match="nodata"):
        needs.plan(CHAN, "nodata=here")


def test_the_list_fits_a_terminal_and_names_no_address():
    text = needs.plan(list(exhibits.NOTEBOOKS)).text
    assert max(map(len, text.splitlines())) <= 100
    assert "://" not in text and str(ROOT) not in text
    for name in (*exhibits.NOTEBOOKS, *needs.RESOURCES):
        assert name in text


@pytest.mark.parametrize(
    "base, hours, said",
    [
        # 113,287 / 16 s and 566,435 / 250 s
        ("photo-pretrained", (7080.4 + 2265.7) / 3600, "through the packaged towers"),
        ("photo-tower", 80 * 113287 / 5000 / 3600, "80 epochs × 113,287"),
        ("openclip:ViT-B-32-quickgelu/openai", 0.1, "untrained"),
    ],
)
def test_a_base_costs_what_is_done_for_it(base, hours, said):
    (found,) = plan.base_models(profiles.get("paper", "coco", {"base": base}))
    assert gpu_hours.hours(found.work) == pytest.approx(hours, rel=1e-3)
    assert said in gpu_hours.said([found])


def test_the_list_needs_nothing_heavy():
    code = (
        "import sys; from alignbook.workbook import needs; needs.plan(list(needs.NOTEBOOKS)); "
        "print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    loaded = set(done.stdout.split())
    assert "alignbook.workbook.needs" in loaded, done.stderr
    assert not loaded & {"torch", "pandas", "PIL", "open_clip", "transformers"}
