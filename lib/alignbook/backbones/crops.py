"""Parts of pictures with what is said of them, which base models see beside whole pictures."""

from typing import NamedTuple

import numpy as np
import torch

from alignbook.core.vocabulary import Vocabulary

ATTRIBUTES = ("shape", "colour", "size", "texture", "material")


def crops(images: np.ndarray, rows: np.ndarray, boxes: np.ndarray, size: int) -> np.ndarray:
    """What boxes show, squashed to squares.

    Parameters
    ----------
    images : ``(N, H, W, 3) uint8``; a memory map is read one picture at a time.
    rows : ``(R,) int``, the picture of each box.
    boxes : ``(R, 4)`` fractions; one narrower than a pixel is widened to a pixel.

    Returns
    -------
    ``(R, size, size, 3) uint8``. Bilinear with antialiasing (PIL's, as photographs are prepared),
    exact for fractions of a pixel; at a box's border the pixel beyond it counts, too.
    """
    from PIL import Image

    side = np.array(images.shape[2:0:-1], float)
    low, high = boxes[:, :2] * side, boxes[:, 2:] * side
    low = np.clip(np.where(high - low < 1, (low + high - 1) / 2, low), 0, side - 1)
    high = np.minimum(np.maximum(high, low + 1), side)
    shown = np.empty((len(rows), size, size, 3), np.uint8)
    last = None
    for k, (row, box) in enumerate(zip(rows, np.hstack([low, high]).tolist(), strict=True)):
        if row != last:
            picture, last = Image.fromarray(images[row]), row
        shown[k] = picture.resize((size, size), Image.Resampling.BILINEAR, box=box)
    return shown


class Drawn(NamedTuple):
    """Crops of B images, two phrases of each, and what else they show."""

    pictures: np.ndarray  # (B, size, size, 3) uint8
    ids: torch.Tensor  # (2 B, L) int64: the phrase as it is said, and bare
    lengths: torch.Tensor  # (2 B,) int64
    true: torch.Tensor  # (B, 2 B) bool: which phrases are true of a crop, its own among them
    cells: np.ndarray  # (B, 5, grid, grid) int64: which value of each attribute a cell shows, or 0


class Phrases:
    """The noun and relation phrases of some images, with the gold boxes that they speak of."""

    def __init__(self, dataset, rows: np.ndarray, vocabulary: Vocabulary, words_for: dict):
        told = dataset.phrases[dataset.phrases.kind != "plural"]
        place = np.full(len(dataset.images), -1)
        place[rows] = np.arange(len(rows))
        told = told[place[told.image] >= 0]
        told = told.iloc[np.argsort(place[told.image], kind="stable")]
        self.images, self.rows, self.size = dataset.images, rows, dataset.images.shape[1]
        self.starts = np.searchsorted(place[told.image], np.arange(len(rows) + 1))
        self._place(dataset.objects, told)
        number = {text: i for i, text in enumerate(dict.fromkeys([*told.text, *told.bare]))}
        self.said = np.stack([told[each].map(number) for each in ("text", "bare")], axis=1)
        self.ids, self.lengths = vocabulary.encode(list(number))
        values = {
            a: {v: i for i, v in enumerate(values_of(dataset.objects, a), 1)} for a in ATTRIBUTES
        }
        self.asked = np.zeros((len(number), len(ATTRIBUTES)), np.int64)  # 0: nothing is said
        for text, i in number.items():
            for attribute, value in (words_for.get(word, ("", "")) for word in text.split()):
                if attribute:
                    self.asked[i, ATTRIBUTES.index(attribute)] = values[attribute][value]
        self.asked[self.said[(told.kind == "relation").to_numpy()]] = -1  # true where it is said

    def _place(self, objects, told) -> None:
        """Boxes `(P, 2, 4)` in pixels of the one or two objects, and their `looks` `(P, 2, 5)`."""
        row = {(i, n): k for k, (i, n) in enumerate(zip(objects.image, objects.object))}
        pair = np.array(
            [[row[i, a], row[i, b]] for i, a, b in zip(told.image, told.object, told.other)]
        )
        codes = [objects[a].astype("category").cat.codes + 1 for a in ATTRIBUTES]
        self.boxes = objects[["x0", "y0", "x1", "y1"]].to_numpy()[pair]
        self.looks = np.stack(codes, axis=1).astype(np.int64)[pair]

    def draw(self, images: np.ndarray, rng: np.random.Generator, grid: int) -> Drawn:
        """A phrase of each image, by its place among the rows, and the box that it speaks of."""
        chosen = rng.integers(self.starts[images], self.starts[images + 1])
        said = self.said[chosen].ravel()
        boxes, looks = self.boxes[chosen], self.looks[chosen]
        around = np.hstack([boxes[:, :, :2].min(1), boxes[:, :, 2:].max(1)])
        shown = crops(self.images, self.rows[images], around / self.size, self.size)
        fits = (self.asked[said] == 0) | (self.asked[said] == looks[:, :, None])
        true = fits.all(-1).any(1) | (said == self.said[chosen][:, :, None]).any(1)
        cells = cells_of(boxes, looks, around, grid)
        return Drawn(shown, self.ids[said], self.lengths[said], torch.from_numpy(true), cells)


def values_of(objects, attribute: str) -> list[str]:
    """The values of an attribute in the order of their numbers, which count from 1."""
    return list(objects[attribute].astype("category").cat.categories)


def cells_of(boxes: np.ndarray, looks: np.ndarray, around: np.ndarray, grid: int) -> np.ndarray:
    """What the cells of crops show, `(B, A, grid, grid) int64`, 0 for nothing that is spoken of.

    A cell shows the object whose box `(B, 2, 4)` holds its centre, the smaller where both do. The
    crop is the box `around` `(B, 4)`, `looks` `(B, 2, A)` are the numbers of the objects' values.
    """
    steps = (np.arange(grid) + 0.5) / grid
    centres = around[:, None, :2] + steps[:, None] * (around[:, None, 2:] - around[:, None, :2])
    cells = np.zeros((len(boxes), looks.shape[2], grid, grid), np.int64)
    area = (boxes[:, :, 2:] - boxes[:, :, :2]).prod(-1)
    for k, order in enumerate(np.argsort(-area, axis=1)):
        for thing in order:
            low, high = boxes[k, thing, :2], boxes[k, thing, 2:]
            inside = (centres[k] >= low) & (centres[k] < high)
            cells[k][:, inside[:, 1, None] & inside[:, 0]] = looks[k, thing][:, None]
    return cells
