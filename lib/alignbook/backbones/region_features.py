"""Frozen region features: a pyramid of windows over the base model's region map, kept as files.

They stand for the bottom-up-attention features of the papers: a fixed set of boxes an image, the
most salient first, so that "the top K regions" are the first K.
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional as F

from alignbook.backbones import base
from alignbook.store import progress

BATCH = 64  # images at a time: a large model's pixels and maps stay below a gigabyte


@dataclass(frozen=True)
class Config:
    """Windows of grids over a picture, the most salient of which are stored."""

    levels: tuple[int, ...] = (1, 2, 3, 4, 5, 6, 7, 8)  # each a grid of so many windows a side [A]
    kept: int = 100  # windows stored, at most [A]

    def compute(self, inputs, seed: int, folder: Path, device: str) -> dict:
        """What a run of it is: see `compute` below."""
        return compute(self, inputs, seed, folder, device)


def windows(levels: tuple[int, ...], side: int) -> np.ndarray:
    """Boxes of all windows of a region map of `side` cells a side, coarse first, none of them twice.

    Returns
    -------
    `(R, 4) float32`: x0, y0, x1, y1 as fractions of the picture's side. Where a grid does not
    divide the map, neighbouring windows share cells, as in adaptive pooling.

    >>> windows((1, 2), 8)[:2].tolist()
    [[0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 0.5, 0.5]]
    """
    return (np.asarray([*_first_of_each(levels, side)]) / side).astype(np.float32)


def _first_of_each(levels: tuple[int, ...], side: int) -> dict[tuple, int]:
    """Each box in cells, and the number of the first window that is it: grids share many."""
    boxes = []
    for g in levels:
        edges = [(i * side // g, -(-(i + 1) * side // g)) for i in range(g)]
        boxes += [(x0, y0, x1, y1) for y0, y1 in edges for x0, x1 in edges]
    return {box: boxes.index(box) for box in boxes}


def pool_windows(region_map: torch.Tensor, levels: tuple[int, ...], maximum: bool) -> torch.Tensor:
    """Region map `(B, D, s, s)` → one vector a window `(B, R, D)`: its mean, plus its maximum."""
    pooled = []
    for g in levels:
        level = F.adaptive_avg_pool2d(region_map, g)
        if maximum:
            level = level + F.adaptive_max_pool2d(region_map, g)
        pooled.append(level.flatten(2))
    first = [*_first_of_each(levels, region_map.shape[-1]).values()]
    return torch.cat(pooled, dim=2)[:, :, first].transpose(1, 2)


def saliency(regions: torch.Tensor) -> torch.Tensor:
    """How far a region is from the mean of its image's regions, `(B, R)`: our objectness [A]."""
    return (regions - regions.mean(1, keepdim=True)).norm(dim=-1)


@torch.inference_mode()
def compute(config: Config, inputs, seed: int, folder: Path, device: str) -> dict:
    """Features of every image, streamed to `features.npy` `(N, kept, D) float16`.

    `order.npy` `(N, kept) uint8` says which of the `windows` each region is. The inputs are the
    data set, the base model's run, and the data set that model was trained on, if another.
    """
    dataset, base_run, home = inputs
    torch.set_num_threads(1)
    model, _ = base.load(base_run, home or dataset)
    model.to(device)
    n, first = len(dataset.images), model.pixels(dataset.images[:1]).to(device)
    side = model.region_map(first).shape[-1]
    kept = min(config.kept, len(windows(config.levels, side)))  # a small map has fewer
    features = np.lib.format.open_memmap(
        folder / "features.npy", "w+", np.float16, (n, kept, model.region_dim)
    )
    order = np.lib.format.open_memmap(folder / "order.npy", "w+", np.uint8, (n, kept))
    for start in range(0, n, BATCH):
        pixels = model.pixels(dataset.images[start : start + BATCH]).to(device)
        grid = model.region_map(pixels)
        regions = pool_windows(grid, config.levels, model.region_maximum)
        ranked = saliency(regions).argsort(dim=1, descending=True, stable=True)[:, :kept]
        chosen = regions.gather(1, ranked[..., None].expand(-1, -1, regions.shape[2]))
        if not torch.isfinite(chosen).all() or chosen.abs().max() > 65000:
            raise FloatingPointError(f"features of images {start}… do not fit into float16")
        features[start : start + BATCH] = chosen.cpu().numpy()
        order[start : start + BATCH] = ranked.cpu().numpy()
        progress.show(f"regions of {dataset.name}'s images", start + len(pixels), n)
    features.flush(), order.flush()
    return {"images": n, "regions": kept, "width": model.region_dim, "side": side}


@dataclass(frozen=True)
class Given:
    """Region features that came with a data set, such as precomp files; read like a run's."""

    dataset: object

    @property
    def key(self) -> str:
        return self.dataset.fingerprint

    @cached_property
    def metrics(self) -> dict:
        images, regions, width = self.dataset.regions.shape
        return {"images": images, "regions": regions, "width": width}

    def array(self, name: str):
        """`features`: an object of shape `(N, K, D)` that reads the rows asked for."""
        return {"features": self.dataset.regions}[name]


def batch(features: np.ndarray, rows: np.ndarray, regions: int) -> torch.Tensor:
    """The first `regions` regions of some images, `(B, regions, D) float32`.

    Raises ValueError if fewer are stored.
    """
    if regions > features.shape[1]:
        raise ValueError(f"{regions} regions asked for, {features.shape[1]} are stored an image")
    return torch.from_numpy(features[rows, :regions].astype(np.float32, copy=False))
