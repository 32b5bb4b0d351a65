"""CHAN's rivals on the same features: VSE++ and VSE∞ with one vector a side, SGR and SAF.

VSE++ (Faghri et al. 2017), the generalised pooling operator and VSE∞ (Chen et al. 2021), SGR and SAF
of `core.sgraf`, then what trains them; the loss, CHAN's Eq. 9, is VSE++'s own. Last comes
cross-attention with the attended vectors that `similarity.soft_coding` never builds. We hold none
of these papers. Tags are those of docs/README.md: here [X] is what they do, [C] VSE∞'s released
code.
"""

import math
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F

from alignbook.backbones.inputs import Inputs
from alignbook.backbones.word_vectors import word_vectors
from alignbook.core import gru, sgraf
from alignbook.core.vocabulary import PAD, UNKNOWN
from alignbook.papers.chan.model import fit, text_side

# Of a block's attended vectors: above 32 MB Linux fetches fresh pages for every tensor.
BLOCK_BYTES = 16 * 2**20


@dataclass(frozen=True)
class Config:
    """One arm of a rival. Defaults are those of CHAN, so that the model alone differs [A]."""

    method: str = "vse-inf"  # "vse++" [S], or "sgr" and "saf", which the paper's tables lack [A]
    text: str = "bigru"  # or "bert"; of VSE++ "bigru" is its one-directional GRU [X]
    margin: float = 0.05  # of a cosine, tuned on dev [A]; both papers have 0.2 [X]
    regions: int = 36  # of an image [X]
    dim: int = 128  # width of image and caption [A]
    images: int = 0  # the first so many of the training split, 0 for all [A]
    steps: int = 500  # of training [A]
    batch: int = 128  # images, one caption of each [A]
    learning_rate: float = 1e-3  # at its highest [A]
    schedule: str = "cosine"  # or "step" [A]
    weight_decay: float = 1e-4  # [A]
    region_drop: float = 0.2  # size augmentation of VSE∞ [X]
    word_dropout: float = 0.1  # share of the words that a step reads as unknown [A]
    all_violations: float = 0.2  # share of the steps before the hardest negatives [A]
    clip: float = 2.0  # largest norm of the gradient [A]
    permute_captions: bool = False  # a control: captions of other images [A]

    def compute(self, inputs: Inputs, seed: int, folder: Path, device: str) -> dict:
        """What a run of it is: see `compute` below."""
        return compute(self, inputs, seed, folder, device)


class ForwardGRU(nn.Module):
    """Word vectors that start from `vectors` `(V, D)`, then a one-directional GRU [X].

    `word_dropout` is as in `encoders.BiGRU`.
    """

    def __init__(self, vectors: torch.Tensor, dim: int, word_dropout: float = 0.0):
        super().__init__()
        self.vectors = nn.Embedding(*vectors.shape, padding_idx=PAD)
        self.vectors.weight.data.copy_(vectors)
        self.gru = nn.GRU(vectors.shape[1], dim, batch_first=True)
        self.word_dropout = word_dropout

    def forward(self, ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """ids `(B, L) int64`, lengths `(B,)` → states `(B, L, dim)`, zeros after the end."""
        if self.training and self.word_dropout:
            lost = torch.rand(ids.shape, device=ids.device) < self.word_dropout
            ids = ids.masked_fill(lost, UNKNOWN)
        return gru.states(self.gru, self.vectors(ids), lengths)[0]


def last_state(words: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """The state after a caption's last word: `(B, L, d)`, lengths `(B,)` → `(B, d)` [X]."""
    return words[torch.arange(len(words)), lengths - 1]


def bert_mean(words: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """In place of a last state, the mean of the words between [CLS] and [SEP], 0 of none [A]."""
    inner = _real(lengths - 1, words)
    inner[:, 0] = False
    return words.masked_fill(~inner, 0).sum(1) / inner.sum(1).clamp(min=1)


class VSEPlusPlus(nn.Module):
    """VSE++: images through a linear layer, captions through `words` and `pool`.

    The paper's image is one vector of a whole-image network [X]; ours the mean of its regions [A].
    """

    def __init__(self, config: Config, feature_dim: int, words: nn.Module, pool):
        super().__init__()
        self.config = config
        self.project = nn.Linear(feature_dim, config.dim)
        self.words, self.pool = words, pool

    def image(self, raw: torch.Tensor) -> torch.Tensor:
        """Region features `(B, K, D)` → unit vectors `(B, d)`."""
        return F.normalize(self.project(raw.mean(1)), dim=-1)

    def text(self, ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Word ids `(B, L)`, lengths `(B,)` → unit vectors `(B, d)`."""
        return F.normalize(self.pool(self.words(ids, lengths), lengths), dim=-1)

    def similarity(self, images, texts, word_lengths=None) -> torch.Tensor:
        """Images `(B1, d)`, captions `(B2, d)` → their cosines `(B1, B2)`."""
        return images @ texts.T


class GPO(nn.Module):
    """Generalised pooling operator: a learnt mixture of the largest, second largest, … value.

    In each dimension a set's values are sorted, largest first, and the k-th counts θ_k; Σ θ_k = 1.
    Equal θ are mean pooling, θ_1 = 1 is max pooling. θ depends on the set's size alone: a BiGRU of
    width 32 reads encodings of k = 1…n [X], the mean of its directions becomes one number,
    softmax at temperature 0.1 [C].
    """

    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(32, 32, batch_first=True, bidirectional=True)
        self.score = nn.Linear(32, 1, bias=False)  # a bias would vanish in the softmax

    def coefficients(self, sizes: torch.Tensor, longest: int) -> torch.Tensor:
        """θ of sets of the given sizes `(B,)` → `(B, longest)`, zeros beyond a set's size."""
        ranks = positions(longest).to(self.score.weight).expand(len(sizes), -1, -1)
        scores = self.score(gru.states(self.gru, ranks, sizes).mean(0)) / 0.1
        return scores.masked_fill(~_real(sizes, scores), -math.inf).softmax(1).squeeze(2)

    def forward(self, vectors: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Sets `(B, n, d)` of which `lengths` `(B,)` vectors are real → pooled `(B, d)`."""
        sizes, which = lengths.unique(return_inverse=True)  # sets of one size share their θ
        theta = self.coefficients(sizes, vectors.shape[1])[which.to(vectors.device)]
        real = _real(lengths, vectors)
        ranked = vectors.masked_fill(~real, -math.inf).sort(dim=1, descending=True).values
        return torch.einsum("bk,bkd->bd", theta, ranked.masked_fill(~real, 0))


def positions(longest: int, width: int = 32) -> torch.Tensor:
    """Sine and cosine of k / 10000^(2i/width), k = 1…longest, by turns: `(longest, width)` [X].

    >>> positions(1, 4)
    tensor([[0.8415, 0.5403, 0.0100, 0.9999]])
    """
    k = torch.arange(1.0, longest + 1)[:, None]
    angles = k / 10000 ** (torch.arange(0, width, 2) / width)
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)


class VSEInfinity(VSEPlusPlus):
    """VSE∞: GPO over regions and over words [X]. A region is a linear layer plus a two-layer
    perceptron of its features [X], half as wide inside and batch-normalised there [C].
    """

    def __init__(self, config: Config, feature_dim: int, words: nn.Module):
        super().__init__(config, feature_dim, words, GPO())
        half = config.dim // 2
        self.inner = nn.Linear(feature_dim, half, bias=False)  # the norm would subtract a bias
        self.norm, self.outer = nn.BatchNorm1d(half), nn.Linear(half, config.dim)
        self.pool_regions = GPO()

    def image(self, raw: torch.Tensor) -> torch.Tensor:
        """Region features `(B, K, D)` → unit vectors `(B, d)`."""
        hidden = self.norm(self.inner(raw).flatten(0, 1)).unflatten(0, raw.shape[:2])
        regions = self.project(raw) + self.outer(hidden.relu())
        sizes = torch.full(raw.shape[:1], raw.shape[1])
        return F.normalize(self.pool_regions(regions, sizes), dim=-1)


class Reasoning(nn.Module):
    """SGR or SAF: similarities by reasoning over a vector a word, of a quarter of the width [X].

    A side is one tensor: its pooled vector, its whole vector, then its fragments. All regions are
    there in every step: batch normalisation has a channel for each [C].
    """

    def __init__(self, config: Config, feature_dim: int, vectors: torch.Tensor):
        super().__init__()
        self.config = config
        sizes = dict(dim=config.dim, sim_dim=config.dim // 4, regions=config.regions)
        self.net = sgraf.build(config.method, feature_dim, vectors, **sizes)

    def image(self, raw: torch.Tensor) -> torch.Tensor:
        """Region features `(B, K, D)` → `(B, 2 + K, d)`."""
        return joined(self.net.encode_images(raw))

    def text(self, ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Word ids `(B, L)`, lengths `(B,)` → `(B, 2 + L, d)`."""
        return joined(self.net.encode_captions(ids, lengths))

    def similarity(self, images, texts, word_lengths=None) -> torch.Tensor:
        """Images `(B1, 2 + K, d)`, captions `(B2, 2 + L, d)` → `(B1, B2)` in (0, 1)."""
        return self.net.similarity(parted(images), parted(texts, word_lengths))


def joined(side: sgraf.Encoded) -> torch.Tensor:
    """Pooled, whole and local vectors one after the other: `(B, 2 + n, d)`."""
    return torch.cat((side.pooled[:, None], side.whole[:, None], side.local), dim=1)


def parted(side: torch.Tensor, lengths: torch.Tensor | None = None) -> sgraf.Encoded:
    """What `joined` was given; lengths `(B,)` of captions."""
    return sgraf.Encoded(side[:, 2:], side[:, 0], side[:, 1], lengths)


def _real(lengths: torch.Tensor, vectors: torch.Tensor) -> torch.Tensor:
    """Which of the vectors `(B, n, d)` stand before the end of their set, `(B, n, 1) bool`."""
    places = torch.arange(vectors.shape[1], device=vectors.device)
    return (places < lengths.to(vectors.device)[:, None])[..., None]


def build(config: Config, dataset, feature_run, base_run=None, home=None, bert_run=None):
    """An untrained model and its vocabulary, words as CHAN's; ValueError for an unknown method."""
    width = feature_run.metrics["width"]
    if config.text == "bigru" and config.method in ("vse++", *sgraf.KINDS):
        vectors, vocabulary = word_vectors(dataset, base_run, home)
        if config.method in sgraf.KINDS:
            return Reasoning(config, width, vectors), vocabulary
        words = ForwardGRU(vectors, config.dim, config.word_dropout)
        return VSEPlusPlus(config, width, words, last_state), vocabulary
    words, vocabulary = text_side(config, dataset, base_run, home, bert_run)
    if config.method == "vse++":
        return VSEPlusPlus(config, width, words, bert_mean), vocabulary
    if config.method == "vse-inf":
        return VSEInfinity(config, width, words), vocabulary
    raise ValueError(f"unknown method {config.method!r}; known: vse++, vse-inf, sgr, saf")


def compute(config: Config, inputs: Inputs, seed: int, folder: Path, device: str) -> dict:
    """Train one arm; leave its weights in `folder`, return its recalls (`model.fit`)."""
    torch.manual_seed(seed)
    model, vocabulary = build(config, *inputs)
    label = f"{config.method} {config.text}, seed {seed}"
    return fit(model, vocabulary, config, inputs, seed, folder, device, label)


def load(run, *inputs):
    """The trained model of a run, in evaluation mode, and its vocabulary."""
    model, vocabulary = build(Config(**run.config), *inputs)
    model.load_state_dict(run.weights())
    return model.eval(), vocabulary


def attended_similarity(regions, words, word_lengths, temperature, scale=10.0):
    """Cross-attention (CHAN Eq. 1 to 4) with its attended vectors, as SCAN's code computes it.

    Equal to `similarity.soft_coding` by visual codebook and LSE, but the t̂_i = Σ_j ω_ij v_j are
    built, a block of images and captions at a time: the cost that CHAN's Figure 3 compares with.

    Regions `(B1, K, d)`, words `(B2, L, d)`, word_lengths `(B2,)` → `(B1, B2)`; `temperature` is τ
    of Eq. 4, `scale` λ of Eq. 3. Raises ValueError for a temperature that is not positive.
    """
    if not temperature > 0:
        raise ValueError(f"temperature must be positive, not {temperature}")
    regions = F.normalize(regions, dim=-1)
    real = _real(word_lengths, words).squeeze(2)
    one = words.element_size() * words[0].numel()  # bytes that a pair's attended vectors take
    tall = min(len(regions), max(1, BLOCK_BYTES // one))
    if tall < len(regions):
        parts = regions.split(tall)
        return torch.cat(
            [attended_similarity(part, words, word_lengths, temperature, scale) for part in parts]
        )
    at_once = max(1, BLOCK_BYTES // (one * tall))
    least = torch.finfo(words.dtype).eps ** 0.5  # the shortest |t̂|, as in soft_coding
    columns = []
    for block, known in zip(words.split(at_once), real.split(at_once)):
        t = F.normalize(block[known], dim=-1)  # (Q, d), no padding
        attended = (t @ regions.mT / temperature).softmax(2) @ regions  # Eq. 4, 2: (B1, Q, d)
        cosines = torch.linalg.vecdot(attended, t) / attended.norm(dim=2).clamp(min=least)  # Eq. 1
        padded = cosines.new_full((len(regions), *known.shape), -math.inf)
        padded[:, known] = cosines
        columns.append(torch.logsumexp(scale * padded, dim=2) / scale)  # Eq. 3
    return torch.cat(columns, dim=1)
