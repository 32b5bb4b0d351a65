"""What the packaged towers make of photographs and captions: one pass, kept in files.

Everything behind it reads these files: regions of the methods, patches and words of CoV-Align,
and the vectors of wholes of which the base model learns its maps.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from alignbook.backbones import bert, packaged, region_features
from alignbook.store import durable, progress

AT_ONCE, SAID_AT_ONCE = 64, 512  # images and captions
SIDE = packaged.PIXELS // 32  # cells of the last map, either way


@dataclass(frozen=True)
class Images:
    """The image tower over a data set's pictures."""

    vision: str = packaged.VISION.sha256
    levels: tuple[int, ...] = (SIDE,)  # each cell is a region, see `region_features.windows`

    def compute(self, inputs, seed: int, folder: Path, device: str) -> dict:
        """What a run of it is: see `images` below."""
        return images(inputs[0], folder, device)


@dataclass(frozen=True)
class Captions:
    """The text tower over a data set's captions."""

    text: str = packaged.TEXT.sha256
    context: int = 40  # word pieces of a caption at the most, its two marks among them [A]

    def compute(self, inputs, seed: int, folder: Path, device: str) -> dict:
        """What a run of it is: see `captions` below."""
        return captions(self, inputs[0], folder, device)


class Shelf:
    """Arrays in a folder, filled from the front; what is filled outlasts a kill.

    Parameters
    ----------
    name : of the part, in `checkpoint.<name>`, which holds how many rows are done.
    shapes : {file: (dtype, shape)}.
    """

    def __init__(self, folder: Path, name: str, shapes: dict):
        self.note = folder / f"checkpoint.{name}"
        self.done = json.loads(self.note.read_text()) if self.note.exists() else 0
        mode = "r+" if self.done else "w+"
        self.arrays = {
            file: np.lib.format.open_memmap(folder / f"{file}.npy", mode, dtype, shape)
            for file, (dtype, shape) in shapes.items()
        }

    def keep(self, done: int) -> None:
        """Note that so many rows are filled, once they are on the disk."""
        for array in self.arrays.values():
            array.flush()
        durable.write(self.note, str(done))


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
    for start in range(shelf.done, n, AT_ONCE):
        rows = np.arange(start, min(start + AT_ONCE, n))
        fine, last = tower(tower.pixels(dataset.images[rows]).to(device))
        regions = last.flatten(2).mT
        order = region_features.saliency(regions).argsort(dim=1, descending=True, stable=True)
        chosen = regions.gather(1, order[..., None].expand_as(regions))
        shelf.arrays["features"][rows] = _half(chosen, f"regions of images {start}…")
        shelf.arrays["patches"][rows] = _half(fine.flatten(2).mT, f"patches of images {start}…")
        shelf.arrays["order"][rows] = order.cpu().numpy()
        shelf.keep(int(rows[-1]) + 1)
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
    _, whole = pieces.encode(dataset.captions, pieces.positions)
    ends, m = lengths.numpy().cumsum(), len(ids)
    np.save(folder / "ends.npy", ends)
    shapes = {
        "words": (np.float16, (int(ends[-1]), packaged.WORD_WIDTH)),
        "captions": (np.float16, (m, packaged.WORD_WIDTH)),
    }
    shelf, by_length = Shelf(folder, "captions", shapes), lengths.argsort(stable=True)
    for start in range(shelf.done, m, SAID_AT_ONCE):
        numbers = by_length[start : start + SAID_AT_ONCE]
        own = lengths[numbers]
        states = bert.last_layer(model, ids[numbers, : int(own.max())].to(device), own).cpu()
        real = torch.arange(states.shape[1]) < own[:, None]
        firsts = ends[numbers] - own.numpy()
        places = (firsts[:, None] + np.arange(states.shape[1]))[real.numpy()]
        what = f"words of caption {int(numbers[0])}…"
        shelf.arrays["words"][places] = _half(states[real], what)
        shelf.arrays["captions"][numbers.numpy()] = _half(packaged.mean_words(states, own), what)
        shelf.keep(min(start + SAID_AT_ONCE, m))
        progress.show(f"words of {dataset.name}'s captions", min(start + SAID_AT_ONCE, m), m)
    return {"captions": m, "words": int(ends[-1]), "captions cut": int((whole > lengths).sum())}


def _half(tokens: torch.Tensor, what: str) -> np.ndarray:
    if not torch.isfinite(tokens).all() or tokens.abs().max() > 65000:
        raise FloatingPointError(f"{what} do not fit into float16")
    return tokens.cpu().numpy().astype(np.float16)


def in_places(run, rows) -> np.ndarray:
    """Regions of some images in the order of the map's cells, row by row: `(B, 49, 1280) float16`."""
    regions, order = run.array("features")[rows], run.array("order")[rows].astype(int)
    return np.take_along_axis(regions, order.argsort(1)[..., None], axis=1)
