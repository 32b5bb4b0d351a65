"""CHAN from other inputs than the world's own: precomp files, a pretrained base model."""

import json
import shutil

import numpy as np
import pandas as pd
import pytest
from alignbook.backbones import pretrained
from alignbook.datasets import precomp
from alignbook.datasets.prepared import decode
from alignbook.errors import DataError
from alignbook.show import datasheet
from alignbook.store import runs
from alignbook.workbook import results, workbook
from alignbook.workbook.packs import pack_choice
from alignbook.workbook.running import jobs
from open_clip.transform import PreprocessCfg, image_transform_v2
from PIL import Image
from test_pretrained import huggingface  # noqa: F401  a folder as transformers saves it

SMALL = "train_images=60 dev_images=20 test_images=20 chan_steps=3 chan_batch=16 chan_trials=1"


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Prepared data and runs go to an empty folder."""
    monkeypatch.setattr(workbook, "ROOT", tmp_path)
    monkeypatch.setattr(runs, "STORE", tmp_path / "store")
    return tmp_path


def test_features_written_as_precomp_give_the_same_recalls(place):
    """The world's own features and captions, by the way of files: the same data, the same CHAN."""
    settings = f"{SMALL} base_epochs=1"
    world = workbook.open("smoke", settings=settings)
    dataset, features = world.dataset(), world.features().array("features")
    precomp.write_dataset(place / "files", dataset, features)

    book = workbook.open("smoke", f"precomp={place / 'files'}", settings=SMALL)
    assert book.base() is None and book.inputs()[2:] == (None,) * 3
    read = book.features()
    rows = book.dataset().splits["test"]
    expected = features[dataset.splits["test"]].astype(np.float32)
    assert np.array_equal(read.array("features")[rows], expected)
    assert book.dataset().captions_of("test") == dataset.captions_of("test")

    listed = results.arm(book, "chan-T3", "visual-codebook")
    run = runs.stored(listed.key.iloc[-1])
    assert np.isfinite(run.metrics["test RSUM"]) and run.metrics["steps"] == 3
    metrics = results.gather(book, listed)["metrics"]
    assert set(metrics.dataset) == {"precomp"} and (metrics.n > 0).all()
    jobs.base(book)
    assert json.loads((book.out / "base.json").read_text())["base"] is None


def test_a_pretrained_model_is_the_base_of_a_workbook(place, huggingface):  # noqa: F811
    few = "chan_regions=9"  # a map of 2 × 2 cells has no more windows
    book = workbook.open("smoke", settings=f"{SMALL} {few} 'base=huggingface:{huggingface}'")
    run, features = book.base(), book.features()
    assert run.metrics["steps"] == 0 and run.metrics["parameters"] > 0
    assert run.config == {"model": f"huggingface:{huggingface.name}"}
    assert str(huggingface) not in json.dumps(run.record)  # a key knows no place of this machine
    assert features.array("features").shape[1:] == (9, 12)  # its projection's width
    assert not any(
        str(huggingface) in path.read_text(errors="replace")
        for path in run.folder.rglob("*")
        if path.is_file()
    )
    model, tokenizer = pretrained.restore(run)
    images = book.dataset().images[:2]
    cells = model.region_map(model.preprocess(images)).flatten(2)  # windows 1 to 4 of a 2 × 2 map
    for image, order in enumerate(features.array("order")[:2].tolist()):
        window = next(each for each in order if each in (1, 2, 3, 4))
        found = features.array("features")[image, order.index(window)]
        assert np.allclose(found, cells[image, :, window - 1], atol=2e-3)
    listed = results.arm(book, "chan-T3", "visual-codebook")
    assert np.isfinite(runs.stored(listed.key.iloc[-1]).metrics["test RSUM"])

    moved = place / "elsewhere"
    shutil.copytree(huggingface, moved)
    again = workbook.open("smoke", settings=f"{SMALL} base=huggingface:{moved}")
    assert again.profile.base != book.profile.base  # a folder of another name is another label
    here = place / "other" / huggingface.name
    shutil.copytree(huggingface, here)
    again = workbook.open("smoke", settings=f"{SMALL} base=huggingface:{here}")
    assert again.base().key == run.key  # computed once, found where it lies now
    assert pretrained.restore(run)[0].name == f"huggingface:{here}"

    file = here / "preprocessor_config.json"
    file.write_text(file.read_text().replace("0.4", "0.45"))
    with pytest.raises(DataError, match="changed since run .*start ./run_all.sh again"):
        pretrained.restore(run)
    assert again.base().key != run.key
    (runs.STORE / ".models" / run.record["inputs"][1]).unlink()
    with pytest.raises(DataError, match=r"wasn't used here yet: name its place, --set base="):
        pretrained.restore(run)


@pytest.mark.realdata
def test_photographs_are_prepared_as_the_model_prepares_them(realdata, tmp_path):
    """Shortest side, then the middle: squashed ones would look different to the model."""
    images = realdata / "coco" / "train2017"
    names = sorted(images.glob("*.jpg"))[:12]
    assert len(names) == 12
    transform = image_transform_v2(PreprocessCfg(size=224, interpolation="bicubic"), False)
    apart = {}
    for fit in ("crop", "squash"):
        prepared = np.zeros((len(names), 224, 224, 3), np.uint8)
        decode(images, [str(p.relative_to(images)) for p in names], prepared, fit=fit)
        ours = [transform(Image.fromarray(picture)) for picture in prepared]
        own = [transform(Image.open(p).convert("RGB")) for p in names]
        apart[fit] = np.mean([(a - b).abs().mean().item() for a, b in zip(ours, own, strict=True)])
    assert apart["crop"] < 1e-3 and apart["squash"] > 0.2


def test_photographs_of_another_size_are_refused(place, huggingface):  # noqa: F811
    class Photographs:
        name, images = "flickr8k", np.zeros((2, 224, 224, 3), np.uint8)

    source = pretrained.parse(f"huggingface:{huggingface}")
    with pytest.raises(DataError, match="224 × 224 pixels, .* looks at 32 × 32: .*--set size=32"):
        pretrained.compute(pretrained.Config(""), (Photographs, source), 0, place, "cpu")


def test_tables_and_numbers_of_precomp_files(place):
    world = workbook.open("smoke", settings=f"{SMALL} base_epochs=1")
    precomp.write_dataset(place / "files", world.dataset(), world.features().array("features"))
    book = workbook.open("smoke", f"precomp={place / 'files'}", settings=SMALL)
    datasheet.check_splits(book.dataset())
    table = datasheet.duplicates_table(book.dataset())
    assert list(table.columns) == ["split", "captions twice", "captions also in train"]
    assert results.arms(book, "base-models").empty
    jobs.collect(book, "base-models", "chan-T3")
    assert set(pd.read_csv(book.out / "metrics.csv").exhibit) == {"chan-T3"}
    jobs.base(book)
    assert pack_choice.keys_of(book.out) == set(pd.read_csv(book.out / "runs.csv").run)
