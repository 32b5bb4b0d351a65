"""Noise made for training captions, and its truth; the draw itself is tested with the files."""

import numpy as np
import pytest
from alignbook.datasets import noise_index
from alignbook.papers.gsl import noise


@pytest.mark.parametrize("ratio", [0.0, 0.2, 0.4, 0.6, 0.99])
def test_int_ratio_n_captions_at_most_get_another_image(ratio):
    """A permutation of the clean rows; of those picked, 1 in 500 images stays by chance."""
    index = noise.inject(2500, 5, ratio, seed=4)
    clean = np.arange(2500) // 5
    assert index.dtype == np.int64 and (np.sort(index) == clean).all()
    moved = int((index != clean).sum())
    assert int(ratio * 2500) * 0.97 <= moved <= int(ratio * 2500)
    assert noise.mismatched(index, 5).sum() == moved
    assert noise.true_rate(index, 5) == moved / 2500


def test_the_number_picked_is_rounded_down():
    """int(0.5 · 3) = 1 caption alone can't move; of int(0.9 · 4) = 3 some can."""
    assert all((noise.inject(3, 1, 0.5, seed) == np.arange(3)).all() for seed in range(50))
    most = max(int(noise.mismatched(noise.inject(4, 1, 0.9, seed), 1).sum()) for seed in range(50))
    assert most == 3


def test_noise_depends_on_the_seed_alone():
    first = noise.inject(500, 5, 0.4, seed=1)
    assert (first == noise.inject(500, 5, 0.4, seed=1)).all()
    assert (first != noise.inject(500, 5, 0.4, seed=2)).any()
    assert (first == noise_index.make(100, 0.4, 1)).all()  # the draw that files hold


def test_captions_are_counted_by_their_image():
    index = noise.inject(12, 3, 0.99, seed=0)
    assert np.bincount(index).tolist() == [3, 3, 3, 3]
    assert noise.mismatched(np.array([0, 0, 1, 1, 1, 0]), 3).tolist() == [
        False,
        False,
        True,
        False,
        False,
        True,
    ]


def test_files_of_both_forms_tell_the_same_truth(tmp_path):
    index = noise.inject(20, 5, 0.5, seed=3)
    noise_index.write(index, tmp_path / "a.npy")
    found = noise_index.read(tmp_path / "a.npy", 4)
    assert (noise.mismatched(found, 5) == noise.mismatched(index, 5)).all()
    np.save(tmp_path / "b.npy", np.array([1, 0, 2, 3]))
    found = noise_index.read(tmp_path / "b.npy", 4)
    assert noise.mismatched(found, 5).tolist() == [True] * 10 + [False] * 10


@pytest.mark.parametrize("captions, each", [(0, 5), (7, 5), (10, 0), (-5, 5)])
def test_captions_that_do_not_fit_are_refused(captions, each):
    with pytest.raises(ValueError, match=f"{captions} captions with {each} an image"):
        noise.inject(captions, each, 0.2, 0)


@pytest.mark.parametrize("ratio", [-0.1, 1.0, 1.01, float("nan")])
def test_ratios_below_zero_and_from_one_on_are_refused(ratio):
    with pytest.raises(ValueError, match="expected 0 or more, and less than 1"):
        noise.inject(10, 5, ratio, 0)
