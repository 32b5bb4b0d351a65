"""SGR and SAF: similarity by reasoning over one alignment vector a word (SGRAF, AAAI 2021).

A rival of fine-grained matching, and the backbone of the methods for noisy correspondence. Both
encoders, the vector of a whole image or caption, the alignments of words and regions, then graph
reasoning (SGR) or the attention filter (SAF). We don't hold the paper. Tags are those of
docs/README.md: here [X] is what its relatives say of it, [C] the code that those methods share.

That code goes through the captions one by one. Here captions of one length are compared together,
without a word of padding; and where calls would take longer than products, captions of several
lengths, with what follows their ends hidden. No score depends on it.
"""

from typing import NamedTuple

import torch
from torch import nn
from torch.nn import functional as F

from alignbook.core.encoders import BiGRU
from alignbook.core.precision import in_float32, product
from alignbook.core.similarity import unit

KINDS = ("sgr", "saf")
# Numbers in a block's attended vectors: 4 MB, as larger ones leave a processor's caches; on a GPU,
# which takes as long to begin with a small block as with a large one, 256 MB.
BLOCK, BLOCK_ON_GPU = 2**20, 2**26
MIXED = 2**18  # of a block whose captions are of several lengths


class Encoded(NamedTuple):
    """Images or captions as the similarity takes them; d is the joint width.

    `local` `(B, K, d)`: unit vectors of the regions, or of the words, zeros after a caption's end.
    `pooled` `(B, d)`: their mean, of length 1; its cosines compare images with images, captions
    with captions and both with each other. `whole` `(B, d)`: the vector that self-attention makes
    of them. `lengths` `(B,)`: words of each caption; None for images.
    """

    local: torch.Tensor
    pooled: torch.Tensor
    whole: torch.Tensor
    lengths: torch.Tensor | None = None

    def rows(self, rows) -> "Encoded":
        """Those of some rows: indices or a mask."""
        return Encoded(*(None if each is None else each[rows] for each in self))

    @staticmethod
    def joined(parts: list["Encoded"]) -> "Encoded":
        """Those of all parts, one after another."""
        return Encoded(*(None if each[0] is None else torch.cat(each) for each in zip(*parts)))


class SGRAF(nn.Module):
    """Region features and captions → similarities in (0, 1); `build` makes one.

    Parameters
    ----------
    text : module, ids `(B, L)` and lengths `(B,)` → `(B, L, dim)`.
    reason : module, alignments `(…, 1 + L, sim_dim)` → `(…, sim_dim)`.
    feature_dim, dim, sim_dim : widths of a region's features, the joint space, an alignment.
    regions : regions of an image, K: batch normalisation has one channel for each [C].
    scale : λ of the softmax over regions; 9 [C].
    dropout : of the self-attentions; 0.4 [C].
    """

    def __init__(self, text, reason, feature_dim, dim, sim_dim, regions, scale=9.0, dropout=0.4):
        super().__init__()
        self.image = nn.Linear(feature_dim, dim)
        self.text = text
        self.whole_image = SelfAttention(dim, dropout, regions)
        self.whole_caption = SelfAttention(dim, dropout)
        self.align_words, self.align_whole = nn.Linear(dim, sim_dim), nn.Linear(dim, sim_dim)
        self.reason = reason
        self.score = nn.Linear(sim_dim, 1)
        self.regions, self.scale = regions, scale
        for name, module in self.named_modules():
            if isinstance(module, nn.Linear) and not name.startswith("text."):  # [C]
                nn.init.xavier_uniform_(module.weight)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)

    def encode_images(self, regions: torch.Tensor) -> Encoded:
        """Region features `(B, K, feature_dim)` → `Encoded`.

        ValueError for another shape, and for one image alone in training: no batch to normalise by.
        """
        wanted = (self.regions, self.image.in_features)
        if regions.ndim != 3 or regions.shape[1:] != wanted:
            raise ValueError(
                f"regions must be (B, {wanted[0]}, {wanted[1]}), not {tuple(regions.shape)}"
            )
        if self.training and len(regions) == 1:
            raise ValueError("one image alone cannot be trained on: batch normalisation needs two")
        local = unit(self.image(regions))
        mean = local.mean(1)
        return Encoded(local, unit(mean), self.whole_image(local, mean))

    def encode_captions(self, ids: torch.Tensor, lengths: torch.Tensor) -> Encoded:
        """Word ids `(B, L) int64`, lengths `(B,) int64` → `Encoded`.

        ValueError for lengths that are not one a caption or not within 1…L.
        """
        if lengths.shape != ids.shape[:1]:
            raise ValueError(f"lengths must be ({len(ids)},), not {tuple(lengths.shape)}")
        wrong = ((lengths < 1) | (lengths > ids.shape[1])).nonzero()
        if len(wrong):
            row = int(wrong[0])
            raise ValueError(
                f"lengths[{row}] is {int(lengths[row])}; it must be within 1..{ids.shape[1]}"
            )
        n = lengths.to(ids.device)[:, None]
        real = torch.arange(ids.shape[1], device=ids.device) < n
        local = unit(self.text(ids, lengths)).masked_fill(~real[..., None], 0)
        mean = local.sum(1) / n
        return Encoded(local, unit(mean), self.whole_caption(local, mean, real), lengths)

    def similarity(self, images: Encoded, captions: Encoded) -> torch.Tensor:
        """All images with all captions: `(B1, B2)` in (0, 1), rows images.

        In `blocks` of captions; a score doesn't depend on what else is in its block.
        ValueError where the sides are exchanged or their widths differ.
        """
        if captions.lengths is None or images.lengths is not None:
            raise ValueError("captions have lengths and images none: are the sides exchanged?")
        if images.pooled.shape[1] != captions.pooled.shape[1]:
            raise ValueError(
                f"images have d = {images.pooled.shape[1]} but captions d = "
                f"{captions.pooled.shape[1]}"
            )
        parts, order = [], []
        most = BLOCK_ON_GPU if images.pooled.is_cuda else BLOCK
        for rows, length in blocks(captions.lengths, images.pooled.numel(), most):
            some, real = ended(captions.rows(rows), length)
            nodes = self.alignments(images, some)
            parts.append(self.score(self.reason(nodes, real)).squeeze(2))
            order.append(rows)
        if isinstance(self.reason, SAF):
            self.reason.remember()
        back = torch.cat(order).argsort().to(parts[0].device)
        return torch.cat(parts, dim=1)[:, back].sigmoid()

    def alignments(self, images: Encoded, captions: Encoded) -> torch.Tensor:
        """Images with captions of L words: `(B1, B2, 1 + L, sim_dim)`, the whole ones first.

        Two vectors are compared by (x − y)², in each dimension, through a linear layer [X].
        """
        context = attended(captions.local, images.local, self.scale)
        words = unit(self.align_words((context - captions.local).square()))
        apart = (images.whole[:, None] - captions.whole).square()
        return torch.cat((unit(self.align_whole(apart))[:, :, None], words), dim=2)

    def forward(self, regions, ids, lengths) -> torch.Tensor:
        """Regions `(B1, K, feature_dim)`, ids `(B2, L)`, lengths `(B2,)` → `(B1, B2)`."""
        return self.similarity(self.encode_images(regions), self.encode_captions(ids, lengths))


def blocks(lengths: torch.Tensor, each: int, most: int):
    """Captions as rows `(n,) int64` and the length of the longest, a block at a time, the shortest
    first.

    `each` numbers a word of a caption. A block of one length has at most `most` of them, one of
    several lengths `MIXED`, with each caption as long as the longest; or it is one caption.

    >>> [(rows.tolist(), n) for rows, n in blocks(torch.tensor([3, 2, 3]), 2**16, 2**20)]
    [([1], 2), ([0, 2], 3)]
    """
    order = lengths.cpu().argsort(stable=True)
    sizes, start = lengths.cpu()[order].tolist(), 0
    while start < len(sizes):
        stop = start + 1
        while stop < len(sizes):
            length = sizes[stop]
            limit = most if length == sizes[start] else min(most, MIXED)
            if (stop + 1 - start) * length * each > limit:
                break
            stop += 1
        yield order[start:stop], sizes[stop - 1]
        start = stop


def ended(captions: Encoded, length: int) -> tuple[Encoded, torch.Tensor | None]:
    """Captions of at most `length` words without what follows, and which of their alignments are
    real, `(B2, 1 + L) bool`; None where all are.
    """
    lengths = captions.lengths
    captions = captions._replace(local=captions.local[:, :length])
    if (lengths == length).all():
        return captions, None
    device = captions.local.device
    real = torch.arange(1 + length, device=device) <= lengths.to(device)[:, None]
    return captions._replace(local=captions.local.masked_fill(~real[:, 1:, None], 0)), real


@in_float32
def attended(words: torch.Tensor, regions: torch.Tensor, scale: float) -> torch.Tensor:
    """For each word the mixture of an image's regions it attends to: unit vectors.

    Words `(B2, L, d)`, zeros after a caption's end, regions `(B1, K, d)` → `(B1, B2, L, d)`. The
    cosines, through a leaky ReLU, are normalised over a caption's words before the softmax over the
    regions [C].
    """
    n, length, d = words.shape
    cosines = F.leaky_relu(words.flatten(0, 1) @ regions.flatten(0, 1).T, 0.1).view(n, length, -1)
    cosines = cosines / (cosines.square().sum(1, keepdim=True) + 1e-16).sqrt()
    weights = (scale * cosines.view(n * length, *regions.shape[:2])).softmax(dim=2)
    return unit((weights.transpose(0, 1) @ regions).view(-1, n, length, d))


class SelfAttention(nn.Module):
    """One vector of a set: its members weighed by how they agree with their mean [X].

    Only images' layers are batch-normalised, one channel a region or a dimension [C].
    """

    def __init__(self, dim: int, dropout: float, regions: int | None = None):
        super().__init__()

        def layer(channels):
            norm = nn.BatchNorm1d(channels) if regions else nn.Identity()
            return nn.Sequential(nn.Linear(dim, dim), norm, nn.Tanh(), nn.Dropout(dropout))

        self.each, self.all = layer(regions), layer(dim)
        self.weigh = nn.Linear(dim, 1, bias=False)  # a bias would vanish in the softmax

    def forward(self, local, mean, real=None) -> torch.Tensor:
        """Sets `(B, n, d)`, means `(B, d)`, which members are real `(B, n) bool` → `(B, d)`."""
        logits = self.weigh(self.each(local) * self.all(mean)[:, None]).squeeze(2)
        if real is not None:
            logits = logits.masked_fill(~real, -torch.inf)
        return unit((logits.softmax(1)[:, None] @ local).squeeze(1))


class SGR(nn.Module):
    """Similarity graph reasoning: `steps` times each alignment looks at all; the whole's counts."""

    def __init__(self, sim_dim: int, steps: int = 3):
        super().__init__()
        self.steps = nn.ModuleList(GraphStep(sim_dim) for _ in range(steps))

    def forward(self, nodes: torch.Tensor, real: torch.Tensor | None = None) -> torch.Tensor:
        """`(…, B2, 1 + L, sim_dim)`, which are real `(B2, 1 + L) bool` → `(…, B2, sim_dim)`."""
        *early, last = self.steps
        for step in early:
            nodes = step(nodes, nodes, real)
        return last(nodes[..., :1, :], nodes, real).squeeze(-2)  # of the others nothing is read


class GraphStep(nn.Module):
    """Nodes i ← ReLU(W_r Σ_j softmax_j((W_q x_i) · (W_k x_j)) x_j) [X]."""

    def __init__(self, sim_dim: int):
        super().__init__()
        self.query = nn.Linear(sim_dim, sim_dim)
        self.key = nn.Linear(sim_dim, sim_dim, bias=False)  # it would vanish in the softmax
        self.update = nn.Linear(sim_dim, sim_dim)

    def forward(
        self, own: torch.Tensor, nodes: torch.Tensor, real: torch.Tensor | None = None
    ) -> torch.Tensor:
        """Nodes to renew `(…, B2, M, sim_dim)`, all nodes `(…, B2, N, sim_dim)`, which of these are
        real `(B2, N) bool` → `(…, B2, M, sim_dim)`.
        """
        key = self.key.weight.T  # (W_q x + b) · (W_k y) = (W_kᵀ W_q x + W_kᵀ b) · y: half the work
        query = F.linear(own, key @ self.query.weight, key @ self.query.bias)
        logits = product(query, nodes.mT)
        if real is not None:
            logits = logits.masked_fill(~real[:, None], -torch.inf)
        return self.update(product(logits.softmax(dim=-1), nodes)).relu()


class SAF(nn.Module):
    """Similarity attention filter: alignments weighed by a sigmoid gate, which sums to 1 [X].

    In training the gate's logits are normalised over one caption's alignments with all images,
    afterwards by running statistics [C]. `remember` moves these: by 1 in 100 for each caption, all
    of a batch alike [A]; in the code by 1 in 10, which remembers only a batch's last captions.
    """

    def __init__(self, sim_dim: int):
        super().__init__()
        self.gate = nn.Linear(sim_dim, 1, bias=False)  # it would vanish in the normalisation
        self.weight, self.bias = nn.Parameter(torch.ones(())), nn.Parameter(torch.zeros(()))
        self.register_buffer("mean", torch.zeros(()))
        self.register_buffer("variance", torch.ones(()))
        self.seen = []  # mean and variance of each caption, by block, since the last `remember`

    def forward(self, nodes: torch.Tensor, real: torch.Tensor | None = None) -> torch.Tensor:
        """`(B1, B2, 1 + L, sim_dim)`, which are real `(B2, 1 + L) bool` → unit vectors
        `(B1, B2, sim_dim)`.
        """
        logits = self.gate(nodes).squeeze(3)
        hidden = None if real is None else ~real
        mean, variance = self.mean, self.variance
        if self.training:
            n, mean, variance = _moments(logits, hidden)
            unbiased = variance * n / (n - 1)
            self.seen.append(torch.stack((mean.detach(), unbiased.detach())).flatten(1))
        normal = (logits - mean) * (variance + 1e-5).rsqrt()
        gates = (self.weight * normal + self.bias).sigmoid()
        if hidden is not None:
            gates = gates.masked_fill(hidden, 0)
        return unit((F.normalize(gates, p=1, dim=2)[:, :, None] @ nodes).squeeze(2))

    @torch.no_grad()
    def remember(self) -> None:
        """Move the running statistics by the captions that were seen in training since the last time."""
        if self.seen:
            found = torch.cat(self.seen, dim=1)
            kept, (mean, variance) = 0.99 ** found.shape[1], found.mean(1)
            self.mean.mul_(kept).add_((1 - kept) * mean)
            self.variance.mul_(kept).add_((1 - kept) * variance)
            self.seen.clear()


def _moments(logits: torch.Tensor, hidden: torch.Tensor | None) -> tuple:
    """How many logits of `(B1, B2, N)` each caption has, those `hidden` `(B2, N)` left out, their
    mean and their variance, `(1, B2, 1)` or one number.
    """
    if hidden is None:
        variance, mean = torch.var_mean(logits, dim=(0, 2), correction=0, keepdim=True)
        return logits.numel() // logits.shape[1], mean, variance
    n = (len(logits) * (~hidden).sum(1))[:, None]
    mean = logits.masked_fill(hidden, 0).sum((0, 2))[:, None] / n
    apart = (logits - mean).masked_fill(hidden, 0)
    return n, mean, apart.square().sum((0, 2))[:, None] / n


def build(
    kind: str,
    feature_dim: int,
    word_vectors: torch.Tensor,
    *,
    dim=1024,
    sim_dim=256,
    regions=36,
    steps=3,
    dropout=0.4,
) -> SGRAF:
    """An untrained model; its random numbers come from torch's generator.

    Parameters
    ----------
    kind : "sgr" or "saf"
    feature_dim : width of a region's features.
    word_vectors : (V, width) float
        What the vocabulary's word vectors start from, as `backbones.word_vectors` gives them.
    dim, sim_dim, regions : widths of the joint space and of an alignment; regions of an image.
    steps : of graph reasoning; SAF has none.
    dropout : of word vectors and self-attentions; 0.4 [C].

    Raises ValueError for an unknown kind and sizes below 1.

    >>> model = build("sgr", 7, torch.rand(9, 4), dim=8, sim_dim=5, regions=3)
    >>> ids, lengths = torch.tensor([[2, 3], [4, 0]]), torch.tensor([2, 1])
    >>> model(torch.rand(6, 3, 7), ids, lengths).shape
    torch.Size([6, 2])
    """
    if kind not in KINDS:
        raise ValueError(f"unknown kind {kind!r}; known: {', '.join(KINDS)}")
    sizes = {"dim": dim, "sim_dim": sim_dim, "regions": regions, "steps": steps}
    for name, size in sizes.items():
        if size < 1:
            raise ValueError(f"{name} must be at least 1, not {size}")
    text = BiGRU(*word_vectors.shape, dim)
    text.vectors.weight.data.copy_(word_vectors)
    text.vectors = nn.Sequential(text.vectors, nn.Dropout(dropout))  # [C]
    reason = SGR(sim_dim, steps) if kind == "sgr" else SAF(sim_dim)
    return SGRAF(text, reason, feature_dim, dim, sim_dim, regions, dropout=dropout)
