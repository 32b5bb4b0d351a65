"""Noisy correspondence: training captions that are attached to other images.

Here noise is made and its truth told; `datasets.noise_index` is the format's side: it draws, reads
and writes the index files, those that rivals publish among them. An index `(N,) int64` says which
image row each caption of the training split is trained with; without noise it is
``arange(N) // captions_per_image``. Dev and test captions always stay with their images.
"""

import numpy as np

from alignbook.datasets import noise_index
from alignbook.datasets.noise_index import true_rate  # noqa: F401  the share that `mismatched` finds


def inject(n_captions: int, captions_per_image: int, ratio: float, seed: int) -> np.ndarray:
    """Pick int(ratio · N) captions and permute their image rows among themselves.

    Returns
    -------
    (n_captions,) int64
        Image row of each caption. A few of those picked keep their image: state `true_rate`.

    Raises
    ------
    ValueError
        The ratio is not in [0, 1), or the captions are not `captions_per_image` for every image.

    Examples
    --------
    >>> inject(6, 2, 0.0, seed=0)
    array([0, 0, 1, 1, 2, 2])
    >>> noisy = inject(1000, 5, 0.4, seed=0)
    >>> 0.38 < true_rate(noisy, 5) <= 0.4
    True
    """
    if captions_per_image < 1 or n_captions < 1 or n_captions % captions_per_image:
        raise ValueError(
            f"{n_captions} captions with {captions_per_image} an image: expected at "
            "least one image and equally many captions for each"
        )
    if not 0 <= ratio < 1:
        raise ValueError(f"ratio {ratio}: expected 0 or more, and less than 1")
    return noise_index.make(n_captions // captions_per_image, ratio, seed, captions_per_image)


def mismatched(index: np.ndarray, captions_per_image: int) -> np.ndarray:
    """Which captions are attached to an image that isn't theirs, `(N,) bool`: the truth of T3.

    >>> mismatched(np.array([0, 1, 1, 0]), 2)
    array([False,  True, False,  True])
    """
    return np.asarray(index) != np.arange(len(index)) // captions_per_image
