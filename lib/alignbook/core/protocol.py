"""What a recall was measured on: two numbers may be compared when their protocols are equal."""

import hashlib
import json
from dataclasses import asdict, dataclass

TUNING_SEED = 1000  # runs from this seed on are trials, measured on dev; reports use 0, 1, 2, …
TIE_RULES = ("pessimistic", "optimistic", "expected")


def looked_at(images: int) -> int:
    """How many of dev's first images, of so many, looks in training compare: at most 300 [A].

    The best look is what an arm is reported with. With a hundred images chance chose it: their
    recalls come near their final level long before those of a thousand do.

    >>> looked_at(300), looked_at(60), looked_at(5000)
    (300, 60, 300)
    """
    return min(images, 300)


@dataclass(frozen=True)
class Protocol:
    """The candidates and the rules behind a table's recalls.

    Parameters
    ----------
    dataset, split : str
        For example "flickr8k" and "test".
    captions_per_image : int
        Captions that count as correct for an image.
    folds : int
        Consecutive blocks of images evaluated apart and averaged (5 for COCO's "1K" protocol).
    tie_rule : "pessimistic", "optimistic" or "expected"
        The place of a correct item among negatives of exactly its score.
    images : int
        Images of the split that take part; 0 for all of them.

    Examples
    --------
    >>> print(Protocol("coco", "test", folds=5, images=5000))
    coco test, 5000 images x 5 captions, mean of 5 folds, pessimistic on ties
    """

    dataset: str
    split: str
    captions_per_image: int = 5
    folds: int = 1
    tie_rule: str = "pessimistic"
    images: int = 0

    def __post_init__(self):
        if self.tie_rule not in TIE_RULES:
            raise ValueError(f"unknown tie rule {self.tie_rule!r}; known: {', '.join(TIE_RULES)}")
        if self.captions_per_image < 1 or self.folds < 1 or self.images < 0:
            raise ValueError(
                "captions_per_image and folds must be at least 1 and images at "
                f"least 0 (all), not {asdict(self)}"
            )

    @property
    def id(self):
        """8 hex digits, the same in every process, different for different protocols."""
        text = json.dumps(asdict(self), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:8]

    def __str__(self):
        images = f"{self.images} images" if self.images else "all images"
        folds = "" if self.folds == 1 else f", mean of {self.folds} folds"
        return (
            f"{self.dataset} {self.split}, {images} x {self.captions_per_image} captions"
            f"{folds}, {self.tie_rule} on ties"
        )
