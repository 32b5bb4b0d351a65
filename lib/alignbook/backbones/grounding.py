"""How well a base model embeds components: phrases against the gold boxes of the world's pictures."""

import numpy as np
import torch

from alignbook.backbones import base
from alignbook.backbones.crops import crops
from alignbook.core import retrieval

BLOCK = 250  # crops at a time


def components(model, vocabulary, dataset, split: str) -> dict[str, float]:
    """What a model makes of crops and noun phrases by themselves, in percent.

    "full phrase finds its box" and "bare noun finds its box": the gold box of its picture that fits
    a phrase best shows what the phrase says, `chance` being boxes picked at random. "entities alone
    R@1": a caption finds its picture by the mean over its noun phrases of the best box (ComAlign
    Eq. 2, entities by themselves).
    """
    rows = dataset.splits[split]
    place = np.full(len(dataset.images), -1)
    place[rows] = np.arange(len(rows))
    things = _of(dataset.objects, place)
    edges = np.searchsorted(things.image, np.arange(len(rows) + 1))
    boxes = things[["x0", "y0", "x1", "y1"]].to_numpy() / dataset.images.shape[1]
    shown = crops(dataset.images, rows[things.image], boxes, dataset.images.shape[1])
    vectors = base.embed_images(model, (shown[i : i + BLOCK] for i in range(0, len(shown), BLOCK)))
    told = _of(dataset.phrases[dataset.phrases.kind == "noun"], place)
    words_for = base.lexicon(dataset.objects)
    columns = {a: things[a].to_numpy() for a in base.ATTRIBUTES}
    found = {}
    for name, column in (("full phrase", "text"), ("bare noun", "bare")):
        number = {text: i for i, text in enumerate(dict.fromkeys(told[column]))}
        scores = vectors @ base.embed_captions(model, vocabulary, list(number)).T
        true = np.stack([_fits(text, columns, words_for) for text in number], axis=1)
        right = chance = 0.0
        for image, text in zip(told.image, told[column].map(number), strict=True):
            mine = slice(edges[image], edges[image + 1])
            right += true[mine][int(scores[mine, text].argmax()), text]
            chance += true[mine, text].mean()
        found[f"{name} finds its box"] = 100 * right / len(told)
        found[f"{name}, chance"] = 100 * chance / len(told)
        if column == "text":
            each = dataset.captions_per_image
            said = (told.image * each + told.caption).to_numpy(), told.text.map(number).to_numpy()
            alone = _entities(scores, edges, *said, each)
            found["entities alone R@1"] = retrieval.evaluate(alone, each).t2i[1]
    return found


def _of(table, place: np.ndarray):
    """The rows of some images, ordered by and numbered as these."""
    image = place[table.image]
    table = table.assign(image=image)[image >= 0]
    return table.sort_values("image", kind="stable")


def _fits(text: str, columns: dict[str, np.ndarray], words_for: dict) -> np.ndarray:
    """Which things are as a noun phrase says, `(R,) bool`."""
    said = [words_for[word] for word in text.split()]
    return np.all([columns[attribute] == value for attribute, value in said], axis=0)


def _entities(scores, edges: np.ndarray, captions: np.ndarray, phrases: np.ndarray, each: int):
    """Pictures against captions `(N, each · N)`: the mean over phrases of the best box, 0 without.

    scores `(R, U)` of boxes, from `edges[i]` on those of picture i, and phrases; `captions` and
    `phrases`, side by side, who says what.
    """
    best = torch.stack([scores[a:b].max(0).values for a, b in zip(edges, edges[1:])])
    share = np.zeros((len(phrases), each * len(best)), np.float32)
    share[np.arange(len(phrases)), captions] = 1 / np.bincount(captions)[captions]
    return best.cpu().numpy()[:, phrases] @ share
