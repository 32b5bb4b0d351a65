"""ComAlign's inference (§III-D, Eq. 10, 11): similarities weighed, and what validation data decide.

Tags are those of docs/README.md.
"""

from typing import NamedTuple

import numpy as np
import torch

from alignbook.core import retrieval

# What dev chooses α1, α2 and β1 from [A]; at 100 the base model's similarity hardly counts.
WEIGHTS = (0.0, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0)
UNDIVIDED = dict.fromkeys(("base", "G", "fine i2t", "fine t2i"), 1.0)  # divisors of `parts_of`


class Term(NamedTuple):
    """One of Eq. 3–5: similarities of every image and caption, and who has such components."""

    i2t: torch.Tensor  # (B1, B2)
    t2i: torch.Tensor  # (B1, B2), rows images as well
    images: torch.Tensor  # (B1,) bool
    captions: torch.Tensor  # (B2,) bool

    @property
    def both(self) -> torch.Tensor:
        """Pairs in which both sides have them, `(B1, B2) bool`."""
        return self.images[:, None] & self.captions


Similarities = dict[str, Term]


class Frozen(NamedTuple):
    """What inference takes from validation data: α1, α2, β1; for E and R in each direction the mean
    over matching pairs, which stands in for an absent one [A]; the divisors, all 1 without [C].
    """

    weights: tuple[float, float, float]
    means: dict[str, float]
    divisors: dict[str, float]


class Sums(NamedTuple):
    """What Eq. 10 and 11 weigh, each `(B1, B2)` and added once for all weights."""

    base: torch.Tensor  # h^I·h^T
    i2t: torch.Tensor  # G + E + R, image to text
    fine: torch.Tensor  # E + R, text to image
    t2i: torch.Tensor  # G + E + R, text to image


def weighted(base_similarity, found: Similarities, frozen: Frozen):
    """Eq. 10 and 11: similarities for image-to-text and for text-to-image retrieval, `(B1, B2)`."""
    sums = added(parts_of(base_similarity, found, frozen.means), frozen.divisors)
    return image_to_text(sums, *frozen.weights[:2]), text_to_image(sums, frozen.weights[2])


def image_to_text(sums: Sums, a1: float, a2: float) -> torch.Tensor:
    """Eq. 10: s^I2T = h^I·h^T + α1 (G + E + R, image to text) + α2 (E + R, text to image)."""
    return sums.base + a1 * sums.i2t + a2 * sums.fine


def text_to_image(sums: Sums, b1: float) -> torch.Tensor:
    """Eq. 11: s^T2I = h^I·h^T + β1 (G + E + R, text to image)."""
    return sums.base + b1 * sums.t2i


def parts_of(base_similarity, found: Similarities, means: dict) -> dict[str, torch.Tensor]:
    """By the names of their divisors: the base model's similarity, that of the wholes, and E + R in
    each direction, with the mean where a term is absent; 0 for what the config leaves out.
    """
    none = torch.zeros_like(base_similarity)
    parts = {"base": base_similarity, "G": found["G"].i2t if "G" in found else none}
    for way in ("i2t", "t2i"):
        parts[f"fine {way}"] = sum(
            (
                torch.where(value.both, getattr(value, way), means[f"{term} {way}"])
                for term, value in found.items()
                if term != "G"
            ),
            none,
        )
    return parts


def added(parts: dict, divisors: dict) -> Sums:
    """The sums of Eq. 10 and 11 of parts that are divided first."""
    base, whole, i2t, t2i = (part / divisors[name] for name, part in parts.items())
    return Sums(base, whole + i2t, t2i, whole + t2i)


def divisor(name: str, part: torch.Tensor) -> float:
    """The mean over queries of a part's largest similarity [C]: queries are captions where E + R
    goes from text to image, otherwise images. A part without any is divided by 1.
    """
    return abs(float(part.max(0 if name == "fine t2i" else 1).values.mean())) or 1.0


def freeze(
    base_similarity, found: Similarities, each: int, weights=(), divided=False, one=False
) -> Frozen:
    """What inference needs, from the similarities of validation images and captions.

    α1 and α2 are those of `WEIGHTS` with the largest sum of image-to-text recalls, β1 that with the
    largest of text-to-image: a tie goes to the smallest.

    Parameters
    ----------
    base_similarity : (N, each · N) float, and those of `found` likewise.
    each : captions an image.
    weights : α1, α2, β1 where they are fixed [C]; otherwise they are chosen.
    divided : with divisors [C], see `divisor`.
    one : try α1 = α2 alone, a quarter of the work.
    """
    own = torch.arange(base_similarity.shape[1], device=base_similarity.device) // each
    at = (own, torch.arange(len(own), device=own.device))
    means = {}
    for term, value in found.items():
        for way, s in (("i2t", value.i2t), ("t2i", value.t2i)):
            present = value.both[at]
            means[f"{term} {way}"] = float(s[at][present].mean()) if present.any() else 0.0
    parts = parts_of(base_similarity, found, means)
    divisors = {k: divisor(k, part) for k, part in parts.items()} if divided else UNDIVIDED
    if weights:
        return Frozen(tuple(weights), means, divisors)

    sums = added(parts, divisors)
    pairs = [(a1, a2) for a1 in WEIGHTS for a2 in ((a1,) if one else WEIGHTS)]
    i2t = [sum(retrieval.evaluate(image_to_text(sums, *a), each).i2t.values()) for a in pairs]
    t2i = [sum(retrieval.evaluate(text_to_image(sums, b), each).t2i.values()) for b in WEIGHTS]
    best, b1 = pairs[int(np.argmax(i2t))], WEIGHTS[int(np.argmax(t2i))]
    return Frozen((*best, b1), means, divisors)


def recalls(i2t, t2i, each: int, split: str) -> dict:
    """Recalls by name: image-to-text of Eq. 10's similarities, text-to-image of Eq. 11's."""
    first, second = retrieval.evaluate(i2t, each), retrieval.evaluate(t2i, each)
    found = {f"{split} i2t R@{k}": value for k, value in first.i2t.items()}
    found |= {f"{split} t2i R@{k}": value for k, value in second.t2i.items()}
    return found | {f"{split} RSUM": sum(found.values())}


# --- What a run keeps of it ------------------------------------------------------------------------


def metrics_of(frozen: Frozen) -> dict:
    """What was taken from validation data, as a run's metrics have it."""
    found = dict(zip(("alpha1", "alpha2", "beta1"), frozen.weights, strict=True))
    found |= {f"mean {name}": value for name, value in frozen.means.items()}
    return found | {f"divisor {name}": value for name, value in frozen.divisors.items()}


def frozen_of(run) -> Frozen:
    """What a run's inference took from validation data."""
    m = run.metrics

    def of(kind):
        return {k.removeprefix(kind): v for k, v in m.items() if k.startswith(kind)}

    return Frozen((m["alpha1"], m["alpha2"], m["beta1"]), of("mean "), of("divisor "))
