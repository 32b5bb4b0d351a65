"""Noise index files: which image each training caption is paired with, as rivals publish them.

A .npy file of whole numbers, in one of two forms:

- per caption, ``(5N,)``: the image row of each caption; without noise ``arange(5N) // 5``;
- per image, ``(N,)``: the image row that all five captions of row i are paired with.

In every published file the rows are permuted among themselves, so that each image row stands there
as often as without noise; a file in which one doesn't is refused.
"""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np

from alignbook.datasets.files import check_regular, put
from alignbook.datasets.prepared import CAPTIONS_PER_IMAGE
from alignbook.errors import DataError


def read(path: Path, images: int, captions_per_image: int = CAPTIONS_PER_IMAGE) -> np.ndarray:
    """Image row of each caption, ``(captions_per_image * images,) int64``.

    Parameters
    ----------
    path : Path
        A .npy file of either form.
    images : int
        Images of the training split: 29,000 for Flickr30K, 113,287 for COCO.
    captions_per_image : int

    Raises
    ------
    DataError
        The file is missing or no .npy file, holds Python objects, other than whole numbers, or
        more than one dimension; its length fits neither form; a row is out of range, or the rows
        are no permutation of those without noise.
    """
    path = Path(path)
    captions = captions_per_image * images
    remedy = (
        "take the file of this data set and rate again from the repository that publishes it, or "
        "make one with noise_index.make"
    )

    def wrong(what: str, expected: str) -> DataError:
        return DataError(f"{path}: {what}, expected {expected}; {remedy}")

    try:
        check_regular(path)
        with path.open("rb") as file:
            index = np.lib.format.read_array(file, allow_pickle=False)
    except FileNotFoundError:
        raise wrong("file missing", "a .npy file there") from None
    except Exception as error:  # a damaged header: whatever the parsers say
        raise wrong(
            f"cannot be read ({error})", "a .npy file of whole numbers, no pickled objects"
        ) from None
    if index.dtype.kind not in "iu":
        raise wrong(f"type {index.dtype}", "whole numbers (int64)")
    if index.shape not in ((captions,), (images,)):
        raise wrong(
            f"shape {index.shape}",
            f"({captions},), one image row a caption, or ({images},), one an image",
        )
    outside = np.flatnonzero((index < 0) | (index >= images))
    if outside.size:
        raise wrong(
            f"row {outside[0]} holds {index[outside[0]]} ({outside.size:,} are out of range)",
            f"image rows 0 to {images - 1}",
        )
    index = index.astype(np.int64)
    times = np.bincount(index, minlength=images)
    if (uneven := np.flatnonzero(times != len(index) // images)).size:
        raise wrong(
            f"image row {uneven[0]} stands {times[uneven[0]]} times",
            f"{len(index) // images}, as the noise only permutes",
        )
    return np.repeat(index, captions // len(index))


def true_rate(index: np.ndarray, captions_per_image: int = CAPTIONS_PER_IMAGE) -> float:
    """Share of captions whose image is not their own: a little below the rate asked for.

    Examples
    --------
    >>> true_rate(np.array([0, 1, 1, 0]), captions_per_image=2)
    0.5
    """
    return float(np.mean(np.asarray(index) != np.arange(len(index)) // captions_per_image))


def make(
    images: int, rate: float, seed: int, captions_per_image: int = CAPTIONS_PER_IMAGE
) -> np.ndarray:
    """Permute the image rows of ``int(rate * captions)`` captions among themselves.

    A few stay in place, or get another caption's image that is their own: state `true_rate`.

    Returns
    -------
    numpy.ndarray
        ``(captions_per_image * images,) int64``. Save it with `write` and use that one file for
        every method: numpy doesn't promise the same draw in every version.

    Raises
    ------
    ValueError
        The rate is not in [0, 1], or there is no image.

    Examples
    --------
    >>> index = make(200, 0.4, seed=0)
    >>> len(index), sorted(set(np.bincount(index).tolist()))
    (1000, [5])
    >>> 0.38 < true_rate(index) <= 0.4
    True
    """
    if not 0 <= rate <= 1 or images < 1:
        raise ValueError(f"rate {rate} and {images} images, expected 0 to 1 and at least one")
    index = np.arange(captions_per_image * images, dtype=np.int64) // captions_per_image
    random = np.random.default_rng(seed)
    chosen = random.choice(len(index), int(rate * len(index)), replace=False)
    index[chosen] = index[random.permutation(chosen)]
    return index


def write(index: np.ndarray, path: Path) -> None:
    """Save image rows as int64, aside first.

    Raises
    ------
    DataError
        The rows are not whole numbers.
    """
    index = np.asarray(index)
    if index.dtype.kind not in "iu" or index.ndim != 1:
        raise DataError(
            f"{path}: {index.dtype} of shape {index.shape}, expected whole numbers in one dimension"
        )
    buffer = io.BytesIO()
    np.save(buffer, index.astype(np.int64), allow_pickle=False)
    put(Path(path), buffer.getvalue())
