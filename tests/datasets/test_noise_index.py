"""Noise index files: both forms, the protocol's noise, published files, and what is refused."""

import numpy as np
import pytest
from alignbook.datasets import noise_index
from alignbook.errors import DataError

CLEAN = np.arange(20) // 5


def saved(path, array):
    np.save(path, array)
    return path


def test_per_caption_and_per_image_files(tmp_path):
    """Per image, row i's five captions all get image index[i]: not the other way round."""
    per_caption = CLEAN[[0, 1, 2, 3, 7, 5, 6, 4, *range(8, 20)]]
    found = noise_index.read(saved(tmp_path / "a.npy", per_caption.astype(np.int32)), 4)
    assert found.dtype == np.int64 and (found == per_caption).all()
    found = noise_index.read(saved(tmp_path / "b.npy", np.array([2, 0, 1, 3])), 4)
    assert found.tolist() == [2] * 5 + [0] * 5 + [1] * 5 + [3] * 5
    assert noise_index.true_rate(found) == 0.75
    found = noise_index.read(saved(tmp_path / "c.npy", np.array([1, 0, 1, 0])), 2, 2)
    assert found.tolist() == [1, 0, 1, 0] and noise_index.true_rate(found, 2) == 0.5


def test_write_then_read_is_the_identity(tmp_path):
    index = noise_index.make(40, 0.4, seed=3)
    noise_index.write(index, tmp_path / "below" / "noise.npy")
    assert (noise_index.read(tmp_path / "below" / "noise.npy", 40) == index).all()
    assert [path.name for path in (tmp_path / "below").iterdir()] == ["noise.npy"]


@pytest.mark.parametrize("rate", [0.0, 0.2, 0.5, 1.0])
def test_noise_permutes_that_many_captions(rate):
    """int(rate * 5000) of 5,000 captions may move; 1 in 1,000 of these stays with its image."""
    index = noise_index.make(1000, rate, seed=1)
    assert index.dtype == np.int64 and index.shape == (5000,)
    assert (np.bincount(index) == 5).all()
    moved = (index != np.arange(5000) // 5).sum()
    assert rate * 5000 * 0.98 <= moved <= rate * 5000
    assert noise_index.true_rate(index) == moved / 5000
    assert (index == noise_index.make(1000, rate, seed=1)).all()
    assert rate == 0 or (index != noise_index.make(1000, rate, seed=2)).any()


def test_each_caption_is_as_likely_to_move():
    """Captions are drawn from all places of an image and of the list, and go anywhere."""
    moved, shift = np.zeros(100), 0
    for seed in range(300):
        index = noise_index.make(20, 0.4, seed)
        moved += index != np.arange(100) // 5
        shift += int(index[:50].max() >= 10)
    assert 60 < moved.min() and moved.max() < 165 and shift == 300  # 300 * 0.4 * 0.95 = 114


@pytest.mark.parametrize("images, rate", [(10, -0.1), (10, 1.1), (10, float("nan")), (0, 0.2)])
def test_make_refuses_impossible_noise(images, rate):
    with pytest.raises(ValueError, match="expected 0 to 1"):
        noise_index.make(images, rate, 0)


REFUSED = {
    "float": (CLEAN.astype(float), "type float64, expected whole numbers"),
    "bool": (CLEAN > 1, "type bool"),
    "wrong length": (CLEAN[:-1], r"shape \(19,\), expected \(20,\).* or \(4,\)"),
    "two dimensions": (CLEAN.reshape(4, 5), r"shape \(4, 5\)"),
    "row too large": (np.where(np.arange(20) == 7, 4, CLEAN), "row 7 holds 4 .*rows 0 to 3"),
    "negative row": (np.where(np.arange(20) == 7, -1, CLEAN), "row 7 holds -1"),
    "no permutation": (np.where(np.arange(20) == 7, 0, CLEAN), "image row 0 stands 6 times"),
    "an image twice": (np.array([0, 1, 1, 3]), "image row 1 stands 2 times|row 2 stands 0 times"),
    "counts of captions": (np.arange(20), r"row 4 holds 4 \(16 are out of range"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(tmp_path, case):
    array, message = REFUSED[case]
    with pytest.raises(DataError, match=f"bad.npy: .*({message})"):
        noise_index.read(saved(tmp_path / "bad.npy", array), 4)


def test_files_that_are_no_arrays_are_refused(tmp_path):
    path = tmp_path / "bad.npy"
    with pytest.raises(DataError, match="file missing.*noise_index.make"):
        noise_index.read(path, 4)
    np.save(path, np.array([{}, {}], object), allow_pickle=True)
    with pytest.raises(DataError, match="bad.npy: cannot be read .*no pickled objects"):
        noise_index.read(path, 4)
    whole = saved(path, CLEAN).read_bytes()
    for cut in (0, 5, 100, len(whole) - 1):
        path.write_bytes(whole[:cut])
        with pytest.raises(DataError, match="bad.npy: cannot be read"):
            noise_index.read(path, 4)
    path.write_text("0 1 2 3\n")
    with pytest.raises(DataError, match="bad.npy: cannot be read"):
        noise_index.read(path, 4)
    with pytest.raises(DataError, match="expected whole numbers"):
        noise_index.write(CLEAN / 2, path)


@pytest.mark.realdata
def test_published_files(realdata):
    """18 files: rates within 5 in 10,000 of their names', per image and per caption."""
    files = sorted((realdata / "noise_index").glob("*.npy"))
    for path in files:
        images = 113287 if "coco" in path.name else 29000
        index = noise_index.read(path, images)
        assert index.shape == (5 * images,)
        named = float(path.stem.rpartition("_")[2])
        assert named - 5e-4 < noise_index.true_rate(index) <= named
    assert len(files) == 18
