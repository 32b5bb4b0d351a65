"""CHAN from other inputs than the world's own: precomp files, a pretrained base model."""

import json

import numpy as np
import pytest

from alignbook import collect, jobs, pretrained, runs, workbook
from alignbook.datasets import DataError, precomp
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
    assert book.base() is None and len(book.inputs()) == 2
    read = book.features()
    rows = book.dataset().splits["test"]
    expected = features[dataset.splits["test"]].astype(np.float32)
    assert np.array_equal(read.array("features")[rows], expected)
    assert book.dataset().captions_of("test") == dataset.captions_of("test")

    listed = collect.arm(book, "chan-T3", "visual-codebook")
    run = runs.stored(listed.key.iloc[-1])
    assert np.isfinite(run.metrics["test RSUM"]) and run.metrics["steps"] == 3
    metrics = collect.gather(book, listed)["metrics"]
    assert set(metrics.dataset) == {"precomp"} and (metrics.n > 0).all()
    jobs.base(book)
    assert json.loads((book.out / "base.json").read_text())["base"] is None


def test_a_pretrained_model_is_the_base_of_a_workbook(place, huggingface):  # noqa: F811
    book = workbook.open("smoke", settings=f"{SMALL} 'base=huggingface:{huggingface}'")
    run, features = book.base(), book.features()
    assert run.metrics["steps"] == 0 and run.metrics["parameters"] > 0
    assert run.config == {"model": f"huggingface:{huggingface.name}"}
    assert str(huggingface) not in json.dumps(run.record)  # a key knows no place of this machine
    assert features.array("features").shape[1:] == (100, 12)  # its projection's width
    model, tokenizer = pretrained.restore(run)
    images = book.dataset().images[:2]
    cells = model.region_map(model.preprocess(images)).flatten(2)  # windows 1 to 4 of a 2 × 2 map
    for image, order in enumerate(features.array("order")[:2].tolist()):
        window = next(each for each in order if each in (1, 2, 3, 4))
        found = features.array("features")[image, order.index(window)]
        assert np.allclose(found, cells[image, :, window - 1], atol=2e-3)
    listed = collect.arm(book, "chan-T3", "visual-codebook")
    assert np.isfinite(runs.stored(listed.key.iloc[-1]).metrics["test RSUM"])

    file = huggingface / "preprocessor_config.json"
    text = file.read_text()
    try:
        file.write_text(text.replace("0.4", "0.45"))
        with pytest.raises(DataError, match="changed since run .*start ./run_all.sh again"):
            pretrained.restore(run)
        assert book.base().key != run.key
    finally:
        file.write_text(text)
