"""Patches of photographs: a cell of the packaged tower's finer map, and what its last map has there.

The paper's ViT has 196 patches, each of which has attended to the whole picture. EfficientNet's 196
cells of stride 16 know where something is and hardly what it is; the 49 of its last map know the
latter. So a patch here has both [A]. In a pilot on all of Flickr8k, one seed, mean patches and mean
words, trained as the method is overnight, come to an RSUM of 155 with the finer map alone, of 260 with
both.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional as F

from alignbook.backbones import extraction
from alignbook.store import progress

AT_ONCE = 64  # images
SAMPLE = 500  # training images that tell how the last map varies


@dataclass(frozen=True)
class Config:
    """Both maps of the tower, as patches."""

    components: int = 128  # of the last map's 1,280 numbers a cell, those that vary most [A]

    def compute(self, inputs, seed: int, folder: Path, device: str) -> dict:
        """What a run of it is: see `compute` below."""
        return compute(self, inputs, folder)


def principal(cells: torch.Tensor, components: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Mean of cells `(N, D)`, and the directions in which they vary most, `(D, components)`.

    A direction's sign is that in which its largest entry is positive.

    Examples
    --------
    >>> mean, axes = principal(torch.tensor([[1.0, 0.0], [3.0, 0.5], [5.0, 0.0]]), 1)
    >>> mean, axes.abs().round(decimals=3)
    (tensor([3.0000, 0.1667]), tensor([[1.],
            [0.]]))
    """
    mean = cells.mean(0)
    apart = (cells - mean).double()
    _, vectors = torch.linalg.eigh(apart.T @ apart / len(apart))  # the most varied is the last
    axes = vectors.flip(1)[:, :components]
    largest = axes.gather(0, axes.abs().argmax(0, keepdim=True))
    return mean, (axes * largest.sign()).float()


def finer(cells: torch.Tensor, side: int) -> torch.Tensor:
    """Cells of a square map, row by row `(B, P, D)`, at a finer one's centres: `(B, side², D)`.

    Bilinear; beyond the outermost centres a map goes on as it is there.

    Examples
    --------
    >>> finer(torch.tensor([[[0.0], [4.0], [0.0], [4.0]]]), 4)[0, :4, 0].tolist()
    [0.0, 1.0, 3.0, 4.0]
    """
    own = round(cells.shape[1] ** 0.5)
    maps = cells.mT.unflatten(2, (own, own))
    return F.interpolate(maps, (side, side), mode="bilinear", align_corners=False).flatten(2).mT


@torch.inference_mode()
def compute(config: Config, inputs, folder: Path) -> dict:
    """Patches of every image: `patches.npy` (N, 196, 120 + components) float16, row by row.

    Inputs are the data set and the run of `extraction.Images` on it.
    """
    dataset, seen = inputs
    torch.set_num_threads(1)
    stored, (side, _) = seen.array("patches"), seen.metrics["grid"]

    def last(rows):
        return torch.from_numpy(extraction.in_places(seen, rows).astype(np.float32))

    mean, axes = principal(last(dataset.splits["train"][:SAMPLE]).flatten(0, 1), config.components)
    n, cells, width = stored.shape
    shape = n, cells, width + axes.shape[1]
    patches = np.lib.format.open_memmap(folder / "patches.npy", "w+", np.float16, shape)
    for start in range(0, n, AT_ONCE):
        rows = np.arange(start, min(start + AT_ONCE, n))
        patches[rows, :, :width] = stored[rows]
        patches[rows, :, width:] = finer((last(rows) - mean) @ axes, side).numpy()
        progress.show(f"patches of {dataset.name}'s images", int(rows[-1]) + 1, n)
    patches.flush()
    return {"images": n, "width": shape[2], "grid": seen.metrics["grid"]}
