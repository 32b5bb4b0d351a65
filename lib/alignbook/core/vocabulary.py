"""Words of captions as numbers."""

import re
from collections import Counter
from dataclasses import dataclass

import torch

PAD, UNKNOWN = 0, 1


def tokenize(caption: str) -> list[str]:
    """Lower-case words of a caption, punctuation dropped.

    >>> tokenize("Two dogs, a man's bike.")
    ['two', 'dogs', 'a', "man's", 'bike']
    """
    return re.findall(r"[a-z0-9]+(?:'[a-z]+)?", caption.lower())


@dataclass(frozen=True)
class Vocabulary:
    """The words a model knows; id 0 is padding, id 1 every other word.

    It is built on training captions only, otherwise test words would leak into the model.

    >>> v = Vocabulary.build(["a dog", "a cat"], min_count=2)
    >>> v.words, v.encode(["a cow"])[0].tolist()
    (('a',), [[2, 1]])
    """

    words: tuple[str, ...]

    @classmethod
    def build(cls, captions: list[str], min_count: int = 1) -> "Vocabulary":
        """Words seen at least `min_count` times, the most frequent first, ties in ASCII order."""
        counts = Counter(word for caption in captions for word in tokenize(caption))
        kept = [word for word, n in counts.items() if n >= min_count]
        return cls(tuple(sorted(kept, key=lambda word: (-counts[word], word))))

    def __len__(self) -> int:
        return len(self.words) + 2

    def encode(self, captions: list[str], max_words: int = 40) -> tuple[torch.Tensor, torch.Tensor]:
        """Word ids `(N, L) int64`, padded with 0 and cut at `max_words`, and lengths `(N,) int64`.

        A caption without a single word becomes one unknown word, so that no length is 0.
        """
        index = {word: i + 2 for i, word in enumerate(self.words)}
        rows = [
            [index.get(word, UNKNOWN) for word in tokenize(caption)[:max_words]] or [UNKNOWN]
            for caption in captions
        ]
        lengths = torch.tensor([len(row) for row in rows])
        ids = torch.full((len(rows), int(lengths.max())), PAD)
        for i, row in enumerate(rows):
            ids[i, : len(row)] = torch.tensor(row)
        return ids, lengths
