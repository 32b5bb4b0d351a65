"""What a method that works on region features starts from."""

from typing import NamedTuple

from alignbook.datasets.prepared import Dataset
from alignbook.store.runs import Stored


class Inputs(NamedTuple):
    """The inputs of one run, in the order in which their keys enter its own.

    Attributes
    ----------
    dataset : captions, splits, and pictures where there are any.
    features : region features, array "features" `(N, K, D)`, metrics "width" D.
    base : run of the base model, whose word vectors are taken; None where there are no pictures.
    home : the data set that the base model was trained on, where that is another.
    text : run of the BERT of the captions, for a method that takes one.
    """

    dataset: Dataset
    features: Stored
    base: Stored | None = None
    home: Dataset | None = None
    text: Stored | None = None
