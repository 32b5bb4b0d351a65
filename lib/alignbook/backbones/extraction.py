"""What the packaged towers make of photographs and captions: one pass, kept in files.

Everything downstream reads these files: regions of the methods, patches and words of CoV-Align, and
the vectors of wholes of which the base model learns its maps.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from alignbook.backbones import bert, packaged, region_features
from alignbook.store import progress
from alignbook.store.shelf import Shelf

AT_ONCE, SAID_AT_ONCE = 64, 512  # images and captions
SIDE = packaged.PIXELS // 32  # cells of the last map, either way


@dataclass(frozen=True)
class Images:
    """The image tower over a data set's pictures."""

    vision: str = packaged.VISION.sha256  # weights of the tower [A]
    # Sides of the maps whose cells are regions, see `region_features.windows` [A].
    levels: tuple[int, ...] = (SIDE,)

    def compute(self, inputs, seed: int, folder: Path, device: str) -> dict:
        """What a run of it is: see `images` below."""
        return images(inputs[0], folder, device)


@dataclass(frozen=True)
class Captions:
    """The text tower over a data set's captions."""

    text: str = packaged.TEXT.sha256  # weights of the tower [A]
    context: int = 40  # word pieces of a caption at most, its two marks among them [A]

    def compute(self, inputs, seed: int, folder: Path, device: str) -> dict:
        """What a run of it is: see `captions` below."""
        return captions(self, inputs[0], folder, device)


@torch.inference_mode()
def images(dataset, folder: Path, device: str) -> dict:
    """All N pictures, from where a start was interrupted.

    Left in the folder, floats as float16: `features.npy` `(N, 49, 1280)`, the most salient cell
    first, and `order.npy` `(N, 49) uint8`, which cell each is; `patches.npy` `(N, 196, 120)`, cells
    of stride 16 row by row.
    """
    torch.set_num_threads(1)
    tower, n = packaged.ImageTower().to(device), len(dataset.images)
    cells, half = SIDE**2, np.float16
    shapes = {
        "features": (half, (n, cells, packaged.REGION_WIDTH)),
        "order": (np.uint8, (n, cells)),
        "patches": (half, (n, 4 * cells, packaged.PATCH_WIDTH)),
    }
    shelf = Shelf(folder, "images", shapes)
    for start in range(0, n, AT_ONCE):
        rows = np.arange(start, min(start + AT_ONCE, n))
        if shelf.holds(features=rows, patches=rows, order=rows):
            continue
        fine, last = tower(tower.pixels(dataset.images[rows]).to(device))
        regions = last.flatten(2).mT
        order = region_features.saliency(regions).argsort(dim=1, descending=True, stable=True)
        chosen = regions.gather(1, order[..., None].expand_as(regions))
        shelf.fill(
            features=_half(chosen, f"regions of images {start}…"),
            patches=_half(fine.flatten(2).mT, f"patches of images {start}…"),
            order=order.cpu().numpy(),
        )
        progress.show(f"towers over {dataset.name}'s images", int(rows[-1]) + 1, n)
    width = packaged.REGION_WIDTH
    return {"images": n, "regions": cells, "width": width, "side": SIDE, "grid": [2 * SIDE] * 2}


@torch.inference_mode()
def captions(config: Captions, dataset, folder: Path, device: str) -> dict:
    """All M captions, from where a start was interrupted.

    Left in the folder, floats as float16, W word pieces: `words.npy` `(W, 384)`, one caption after
    another, and `ends.npy` `(M,) int64`, where each ends; `captions.npy` `(M, 384)`, their means.
    """
    torch.set_num_threads(1)
    model, pieces = packaged.text_tower()
    model.to(device)
    ids, lengths = pieces.encode(dataset.captions, config.context)
    _, uncut = pieces.encode(dataset.captions, pieces.positions)
    ends, m = lengths.numpy().cumsum(), len(ids)
    np.save(folder / "ends.npy", ends)
    shapes = {
        "words": (np.float16, (int(ends[-1]), packaged.WORD_WIDTH)),
        "captions": (np.float16, (m, packaged.WORD_WIDTH)),
    }
    shelf, by_length = Shelf(folder, "captions", shapes), lengths.argsort(stable=True)
    for start in range(0, m, SAID_AT_ONCE):
        numbers = by_length[start : start + SAID_AT_ONCE]
        own = lengths[numbers]
        longest = torch.arange(int(own.max()))
        real = longest < own[:, None]
        firsts = ends[numbers] - own.numpy()
        places = (firsts[:, None] + longest.numpy())[real.numpy()]
        if shelf.holds(words=places, captions=numbers.numpy()):
            continue
        states = bert.last_layer(model, ids[numbers, : len(longest)].to(device), own).cpu()
        what = f"words of caption {int(numbers[0])}…"
        whole = _half(packaged.mean_words(states, own), what)
        shelf.fill(words=_half(states[real], what), captions=whole)
        progress.show(f"words of {dataset.name}'s captions", min(start + SAID_AT_ONCE, m), m)
    return {"captions": m, "words": int(ends[-1]), "captions cut": int((uncut > lengths).sum())}


def _half(tokens: torch.Tensor, what: str) -> np.ndarray:
    if not torch.isfinite(tokens).all() or tokens.abs().max() > 65000:
        raise FloatingPointError(f"{what} do not fit into float16")
    return tokens.cpu().numpy().astype(np.float16)


def in_places(run, rows) -> np.ndarray:
    """Regions of some images in the order of the map's cells, row by row: `(B, 49, 1280) float16`."""
    regions, order = run.array("features")[rows], run.array("order")[rows].astype(int)
    return np.take_along_axis(regions, order.argsort(1)[..., None], axis=1)
