"""Text and region encoders shared by the papers: vocabulary, BiGRU, region projection."""

import re
from collections import Counter
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

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

    Built on training captions only, else test words would leak into the model.

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


class BiGRU(nn.Module):
    """Word vectors, then a bidirectional GRU; a word is the mean of both directions (CHAN §3.3).

    Parameters
    ----------
    n_words, word_dim, dim : vocabulary size, width of a word vector, width of a state.
    word_dropout : probability that a training word is replaced by the unknown word.
    dropout : probability on the word vectors.
    """

    def __init__(self, n_words, word_dim, dim, word_dropout=0.0, dropout=0.0):
        super().__init__()
        self.vectors = nn.Embedding(n_words, word_dim, padding_idx=PAD)
        self.gru = nn.GRU(word_dim, dim, batch_first=True, bidirectional=True)
        self.word_dropout, self.dropout = word_dropout, nn.Dropout(dropout)

    def forward(self, ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """ids `(B, L) int64`, lengths `(B,)` → states `(B, L, dim) float`, zeros behind the end."""
        if self.training and self.word_dropout:
            lost = torch.rand(ids.shape, device=ids.device) < self.word_dropout
            ids = ids.masked_fill(lost, UNKNOWN)
        vectors = self.dropout(self.vectors(ids))
        packed = pack_padded_sequence(
            vectors, lengths.cpu(), batch_first=True, enforce_sorted=False
        )
        states, _ = pad_packed_sequence(
            self.gru(packed)[0], batch_first=True, total_length=ids.shape[1]
        )
        forward, backward = states.chunk(2, dim=-1)
        return (forward + backward) / 2


class RegionEncoder(nn.Module):
    """Regions into the joint space: one linear layer, then one self-attention layer (CHAN §3.3).

    The residual sum around the attention is our assumption [A]: the paper only says that a
    self-attention layer is added. `attention=False` leaves it out (the released BERT script).
    """

    def __init__(self, feature_dim, dim, heads=4, attention=True):
        super().__init__()
        self.project = nn.Linear(feature_dim, dim)
        self.attention = nn.MultiheadAttention(dim, heads, batch_first=True) if attention else None

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """features `(B, K, feature_dim) float` → regions `(B, K, dim) float`."""
        regions = self.project(features)
        if self.attention is None:
            return regions
        context, _ = self.attention(regions, regions, regions, need_weights=False)
        return regions + context
