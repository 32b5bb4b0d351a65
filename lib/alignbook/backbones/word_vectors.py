"""The word vectors that a matcher of regions and words starts from: a base model's, if it has any."""

import torch

from alignbook.backbones import base, locked
from alignbook.core.vocabulary import Vocabulary


def word_vectors(dataset, base_run=None, home=None) -> tuple[torch.Tensor, Vocabulary]:
    """Vectors `(V, width)` to start from and their vocabulary: the base model's where it has them.

    `home` is the data set that model was trained on, if it is another. Without such a model
    (precomp features, or a pretrained one with a tokenizer of word pieces) the words said four times
    or more, and vectors of width 300 drawn from [-0.1, 0.1] [C].
    """
    if base_run is not None and base_run.has("word_vectors"):
        return locked.word_vectors(base_run)
    base_model, vocabulary = base.load(base_run, home or dataset) if base_run else (None, None)
    if hasattr(base_model, "word_vectors"):
        return base_model.word_vectors()[: len(vocabulary)], vocabulary
    vocabulary = Vocabulary.build(dataset.captions_of("train"), min_count=4)
    return torch.rand(len(vocabulary), 300) * 0.2 - 0.1, vocabulary
