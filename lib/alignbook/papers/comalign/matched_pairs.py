"""ComAlign looked into: diagonals of similarity matrices (Figures 4, 5), weights (Figure 6), and
both directions on dev of the target (Figure 7).

Nothing is trained. A diagonal needs to know which region a phrase belongs to. The world does: its
captions that describe a scene in full name things by words that, where no other thing in the picture
is called so, belong to one gold box, and a relation to the box around two.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from alignbook.papers.comalign.components import vectors
from alignbook.papers.comalign.inference import WEIGHTS, frozen_of, recalls, weighted
from alignbook.papers.comalign.model import compare, evaluate, load
from alignbook.world.captions import KINDS, PLURALS, SYNONYMS

BLOCK = 5  # pairs of a matrix, as in the figures
FULL = KINDS.index("relational")  # the caption that describes its scene in full


@dataclass(frozen=True)
class Config:
    """What is measured of matched pairs."""

    kind: str  # "entity", "relation", "weights", or "dev"

    def compute(self, inputs, seed: int, folder: Path, device: str) -> dict:
        """What a run of it is: see `compute` below."""
        return compute(self, inputs, seed, folder, device)


def compute(config: Config, inputs, seed: int, folder: Path, device: str) -> dict:
    """What a run of `comalign` does to pairs of a region and a phrase, or to recalls by its weights.

    The inputs are that run, and its own inputs: source, its components, target, its components.
    """
    head, source, source_run, target, target_run = inputs
    torch.set_num_threads(1)
    model = load(head, source_run)
    kept = {
        name: head.metrics[name]
        for name in ("steps", "training seconds", "parameters", "checksum", "dev RSUM")
    }
    kept["head"] = head.key
    if config.kind == "weights":
        return kept | weighed(model, frozen_of(head), source, source_run)
    if config.kind == "dev":
        return kept | both_ways(model, frozen_of(head), target, target_run)
    images, slots, places = pairs(config.kind, target, target_run, target.splits["test"])
    x, y = encoded(model, target_run, images, images * target.captions_per_image + FULL)
    at = np.arange(len(images))
    found = diagonal(x[at, slots], y[at, places])
    np.save(folder / "pairs.npy", np.stack([images, slots, places], axis=1))
    return (
        kept
        | found
        | {
            "asked": dict.fromkeys(found, len(images)),
            "how": "regions and phrases that belong together by the gold scenes",
        }
    )


# --- Figures 4 and 5 -----------------------------------------------------------------------------


def shape_of(word: str) -> str:
    """The shape that a noun of the world names, "" for another noun.

    >>> shape_of("rings"), shape_of("hoop"), shape_of("picture")
    ('ring', 'ring', '')
    """
    singular = {plural: shape for shape, plural in PLURALS.items()}
    said = {name: shape for shape in PLURALS for name in (shape, *SYNONYMS[shape])}
    return singular.get(word, said.get(word, ""))


def pairs(kind: str, dataset, run, rows: np.ndarray):
    """Regions and phrases of some images that are known to belong together.

    A noun belongs to a thing if it names a shape that only one of the picture's things has.

    Returns
    -------
    images `(P,)`, the image of each pair; slots `(P,)` of its region; places `(P,)`, the slot of its
    phrase in the image's full caption. One phrase an image: the first.
    """
    phrases = vectors.phrases_of(run)
    captions, boxes = run.array("captions"), run.array("boxes")
    n, side = run.metrics["entities"], dataset.images.shape[1]
    slots = range(1, 1 + n) if kind == "entity" else range(1 + n, captions.shape[1])
    things = dict(list(dataset.objects.groupby("image")))
    found = []
    for row in rows:
        mine = things[row]
        box_of = mine[["x0", "y0", "x1", "y1"]].to_numpy() / side
        counts = mine["shape"].value_counts()
        only = {shape: box_of[i] for i, shape in enumerate(mine["shape"]) if counts[shape] == 1}
        for place in slots:
            said = captions[row * dataset.captions_per_image + FULL, place]
            words = phrases[said].split() if said >= 0 else []
            nouns = words[-1:] if kind == "entity" else [*words[:1], *words[-1:]]
            named = [only.get(shape_of(noun)) for noun in nouns]
            if named and all(each is not None for each in named):
                whole = np.concatenate([np.min(named, 0)[:2], np.max(named, 0)[2:]])
                near = np.abs(boxes[row, slots] - whole).max(1) < 1e-4
                if near.any():
                    found.append((row, slots[int(near.argmax())], place))
                    break
    return np.array(found, int).reshape(-1, 3).T


@torch.inference_mode()
def encoded(model, run, images: np.ndarray, captions: np.ndarray):
    """Vectors of all slots after the encoders, `(P, S, d)` twice, of length 1."""
    x = model.encode(vectors.images_of(run, images, trim=False), "image").vectors
    y = model.encode(vectors.captions_of(run, captions, trim=False), "text").vectors
    unit = torch.nn.functional.normalize
    return unit(x, dim=-1), unit(y, dim=-1)


def diagonal(x: torch.Tensor, y: torch.Tensor) -> dict:
    """How alike regions `(P, d)` and their phrases `(P, d)` are, and others of the same block of five.

    "diagonal" and "off the diagonal" are mean cosines; "first" the percent of phrases whose own
    region is the most similar of five. A rise of the diagonal alone could be one of all cosines.
    """
    whole = len(x) // BLOCK * BLOCK
    s = x[:whole].view(-1, BLOCK, x.shape[1]) @ y[:whole].view(-1, BLOCK, x.shape[1]).mT
    own = s.diagonal(dim1=1, dim2=2)
    off = (s.sum((1, 2)) - own.sum(1)) / (BLOCK * (BLOCK - 1))
    first = s.argmax(1) == torch.arange(BLOCK)
    return {
        "diagonal": own.mean().item(),
        "off the diagonal": off.mean().item(),
        "above the rest": (own.mean() - off.mean()).item(),
        "first of five": 100 * first.float().mean().item(),
    }


# --- Figure 6 ------------------------------------------------------------------------------------


def weighed(model, frozen, source, source_run) -> dict:
    """Sums of recalls on dev, of α1, α2 and β1 one at a time around what was chosen.

    Returns
    -------
    dict
        "α1 = 0.1" and so on: R@1 + R@5 + R@10 image to text for α, text to image for β1.
    """
    each = source.captions_per_image
    compared = compare(model, source, source_run, "dev")
    found = {}
    for k, name in enumerate(("α1", "α2", "β1")):
        way = "t2i" if name == "β1" else "i2t"
        for weight in WEIGHTS:
            weights = tuple(weight if i == k else w for i, w in enumerate(frozen.weights))
            both = weighted(*compared, frozen._replace(weights=weights))
            own = recalls(*both, each, "dev")
            found[f"{name} = {weight:g}"] = sum(v for n, v in own.items() if way in n)
    n = len(source.splits["dev"])
    return found | {
        "asked": {name: n if name[0] == "α" else n * each for name in found},
        "how": "dev of the source, sum of three recalls",
    }


# --- Figure 7 ------------------------------------------------------------------------------------


def both_ways(model, frozen, target, target_run) -> dict:
    """R@1 + R@5 + R@10 on dev of the target: "image to text" and "text to image"."""
    each = target.captions_per_image
    own = recalls(*evaluate(model, frozen, target, target_run, "dev"), each, "dev")
    n = len(target.splits["dev"])
    asked = {"image to text": ("i2t", n), "text to image": ("t2i", n * each)}
    found = {
        k: sum(v for name, v in own.items() if f"{w} R@" in name) for k, (w, _) in asked.items()
    }
    return found | {
        "asked": {name: queries for name, (_, queries) in asked.items()},
        "how": "dev of the target, sum of three recalls",
    }
