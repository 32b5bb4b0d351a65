"""Text and region encoders that several papers share."""

import torch
from torch import nn

from alignbook.core import gru
from alignbook.core.vocabulary import PAD, UNKNOWN


class BiGRU(nn.Module):
    """Word vectors, then a bidirectional GRU; a word is the mean of both directions (CHAN §3.3).

    Parameters
    ----------
    n_words, word_dim, dim : vocabulary size, width of a word vector, width of a state.
    word_dropout : probability that a training word is replaced by the unknown word.
    """

    def __init__(self, n_words, word_dim, dim, word_dropout=0.0):
        super().__init__()
        self.vectors = nn.Embedding(n_words, word_dim, padding_idx=PAD)
        self.gru = nn.GRU(word_dim, dim, batch_first=True, bidirectional=True)
        self.word_dropout = word_dropout

    def forward(self, ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """ids `(B, L) int64`, lengths `(B,)` → states `(B, L, dim) float`, zeros after the end."""
        if self.training and self.word_dropout:
            lost = torch.rand(ids.shape, device=ids.device) < self.word_dropout
            ids = ids.masked_fill(lost, UNKNOWN)
        return gru.states(self.gru, self.vectors(ids), lengths).mean(0)


class RegionEncoder(nn.Module):
    """Regions into the joint space: one linear layer, then one self-attention layer (CHAN §3.3).

    The residual sum around the attention and its number of heads are our assumptions [A]: the
    paper only says that a self-attention layer is added. The released code's BERT models go
    without (`attention`).
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
