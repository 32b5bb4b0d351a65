"""From patches to cohesive regions: queries, attention, mask, pooling, and the two losses of regions."""

import math
from typing import NamedTuple

import torch
from torch import nn
from torch.nn import functional as F

from alignbook.core.similarity import unit

TOLERANCE = 1e-3  # of an attention row's sum


def bilinear(places: torch.Tensor, grid: tuple[int, int]) -> tuple[torch.Tensor, torch.Tensor]:
    """How much of each column and of each row of patches a place reads.

    A patch (y, x) counts with the product of both: bilinear interpolation between the patches'
    centres. Beyond the outermost ones everything is zero [X].

    Parameters
    ----------
    places : (..., 2) float
        In [0, 1] of the picture's sides.
    grid : rows h and columns w of patches.

    Returns
    -------
    across, down : (..., w) and (..., h) float

    Examples
    --------
    >>> bilinear(torch.tensor([0.5, 0.375]), (2, 2))  # half way across, nearer to the upper row
    (tensor([0.5000, 0.5000]), tensor([0.7500, 0.2500]))
    """
    found = []
    for along, n in zip(places.unbind(-1), reversed(grid)):
        distance = along[..., None] * n - 0.5 - torch.arange(n, device=places.device)
        found.append((1 - distance.abs()).clamp(min=0))
    return tuple(found)


class DeformableSampling(nn.Module):
    """z_q becomes Σ_m W_m Σ_k A_mk F_v(p_q + Δp_mk): M heads of K points, bilinear [N].

    A_m = softmax_k and the offsets Δp are linear in z. The values are projected to d / M numbers a
    head before W_m, and the offsets begin as a star of M rays, k patches long [X].
    """

    def __init__(self, config, grid: tuple[int, int]):
        super().__init__()
        self.heads, self.points, self.grid = config.heads, config.points, grid
        number = config.heads * config.points
        self.values = nn.Linear(config.dim, config.dim, bias=False)
        self.outward = nn.Linear(config.dim, config.dim)
        self.offsets, self.shares = nn.Linear(config.dim, 2 * number), nn.Linear(config.dim, number)
        angles = torch.arange(config.heads) * (2 * math.pi / config.heads)
        rays = torch.stack((angles.cos(), angles.sin()), 1)[:, None]
        star = rays * torch.arange(1, config.points + 1)[:, None]
        for layer in (self.offsets, self.shares):
            nn.init.zeros_(layer.weight), nn.init.zeros_(layer.bias)
        self.offsets.bias.data.copy_(star.flatten())

    def weights(self, z, centres):
        """Queries z (B, N_q, d), centres (N_q, 2) → what each head reads of each patch,
        (B, M, N_q, P).
        """
        shape = *z.shape[:2], self.heads, self.points
        sides = z.new_tensor(self.grid).flip(0)
        places = centres[:, None, None] + self.offsets(z).view(*shape, 2) / sides
        across, down = bilinear(places, self.grid)
        shares = self.shares(z).view(shape).softmax(-1)
        return ((shares[..., None] * down).mT @ across).flatten(3).transpose(1, 2)

    def forward(self, z, patches, centres):
        """Queries (B, N_q, d), patches (B, P, d), centres (N_q, 2) → (B, N_q, d)."""
        weights = self.weights(z, centres)
        # Read, then project: M · N_q vectors are fewer than P, or hardly more.
        read = (weights.flatten(1, 2) @ patches).view(*weights.shape[:3], -1)
        values = self.values.weight.unflatten(0, (self.heads, -1))
        return self.outward(torch.einsum("bmqd,med->bqme", read, values).flatten(2))


class CrossAttention(nn.Module):
    """The ablation's: queries attend to all patches, whose places count for nothing [N]."""

    def __init__(self, config, grid: tuple[int, int]):
        super().__init__()
        self.heads = config.heads
        self.asked, self.keys, self.values, self.outward = (
            nn.Linear(config.dim, config.dim) for _ in range(4)
        )

    def forward(self, z, patches, centres):
        """Queries (B, N_q, d), patches (B, P, d) → (B, N_q, d)."""
        asked, keys, values = (
            layer(x).unflatten(2, (self.heads, -1)).transpose(1, 2)
            for layer, x in ((self.asked, z), (self.keys, patches), (self.values, patches))
        )
        read = F.scaled_dot_product_attention(asked, keys, values)
        return self.outward(read.transpose(1, 2).flatten(2))


class Queries(nn.Module):
    """The N_q learnable queries z [S], and the layers in which they gather patches.

    Each layer adds to z and normalises it; a query's centre p_q is learnt too, and begins anywhere
    in the picture [A].
    """

    def __init__(self, config, grid: tuple[int, int]):
        super().__init__()
        self.z = nn.Parameter(torch.randn(config.queries, config.dim))
        self.centres = nn.Parameter(torch.logit(torch.rand(config.queries, 2), eps=0.05))
        deformable = config.sampling == "deformable" and config.matching == "regions"
        kind = DeformableSampling if deformable else CrossAttention
        self.layers = nn.ModuleList(kind(config, grid) for _ in range(config.layers))
        self.norms = nn.ModuleList(nn.LayerNorm(config.dim) for _ in range(config.layers))
        if not deformable:
            self.centres = None

    def forward(self, patches: torch.Tensor) -> torch.Tensor:
        """Patches (B, P, d) → queries (B, N_q, d)."""
        z = self.z.expand(len(patches), -1, -1)
        centres = None if self.centres is None else self.centres.sigmoid()
        for layer, norm in zip(self.layers, self.norms):
            z = norm(z + layer(z, patches, centres))
        return z


class Projection(nn.Module):
    """W of Eq. 2, shared by queries and patches [S], or the ablation's W_q and W_k.

    W Wᵀ is symmetric and has no negative eigenvalue, and W_q, W_k have twice the parameters: so
    "separate-half" has d / 2 columns each, and "separate-same" begins with W_q = W_k.
    """

    def __init__(self, config):
        super().__init__()
        rank = config.dim // 2 if config.projection == "separate-half" else config.dim
        self.of_queries = nn.Linear(config.dim, rank, bias=False)
        shared = config.projection == "shared"
        self.of_patches = None if shared else nn.Linear(config.dim, rank, bias=False)
        if config.projection == "separate-same":
            self.of_patches.weight.data.copy_(self.of_queries.weight)
        self.cosine, self.temperature = config.logits == "cosine", config.temperature

    def forward(self, z: torch.Tensor, patches: torch.Tensor) -> torch.Tensor:
        """Queries (B, N_q, d), patches (B, P, d) → logits (B, N_q, P)."""
        asked, keys = self.of_queries(z), (self.of_patches or self.of_queries)(patches)
        if not self.cosine:
            return asked @ keys.mT
        return unit(asked) @ unit(keys).mT / self.temperature


@torch.no_grad()
def kept(values: torch.Tensor, threshold: float) -> torch.Tensor:
    """Which patches of a query stay: (v − min) / (max − min) ≥ ε of its row; no gradient [N].

    A row in which all are the same keeps all; the largest always stays.

    Parameters
    ----------
    values : (..., P) float
        Attention, or its logits.
    threshold : ε in [0, 1]

    Returns
    -------
    (..., P) bool

    Examples
    --------
    >>> kept(torch.tensor([[0.1, 0.5, 0.4], [0.2, 0.2, 0.2]]), 0.7)
    tensor([[False,  True,  True],
            [ True,  True,  True]])
    """
    low, high = values.amin(-1, keepdim=True), values.amax(-1, keepdim=True)
    return values - low >= threshold * (high - low)


class Regions(NamedTuple):
    """What an image is matched by."""

    vectors: torch.Tensor  # (B, N, d), of length 1
    attention: torch.Tensor | None = None  # (B, N_q, P), rows sum to 1, before the mask
    kept: torch.Tensor | None = None  # (B, N_q, P) bool


def pooled(attention, mask, values) -> torch.Tensor:
    """r̂_q = Σ_p Ā_q(p) v_p / Σ_p Ā_q(p), Ā the attention where the mask keeps it [N].

    Attention (B, N_q, P), mask (B, N_q, P) bool, values (B, P, d) → (B, N_q, d).
    """
    chosen = attention * mask
    return chosen @ values / chosen.sum(-1, keepdim=True)


def positions(grid: tuple[int, int], coordinates: str = "unit") -> torch.Tensor:
    """Centres of the patches (P, 2): x, y in [0, 1] of the picture's sides, or in "patches".

    >>> positions((1, 2))
    tensor([[0.2500, 0.5000],
            [0.7500, 0.5000]])
    """
    rows, columns = grid
    y, x = torch.meshgrid(torch.arange(rows) + 0.5, torch.arange(columns) + 0.5, indexing="ij")
    places = torch.stack((x.flatten(), y.flatten()), 1)
    return places / torch.tensor([columns, rows]) if coordinates == "unit" else places


def spatial_concentration(attention: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
    """L_conc = mean_{b,q} Σ_p a_q(p) ‖pos(p) − c_q‖ with the centre c_q = Σ_p a_q(p) pos(p) [N].

    Parameters
    ----------
    attention : (B, Q, P) float
        Each row sums to 1, up to 0.001: the softmax before the mask.
    positions : (P, 2) float
        Places of the patches, in any unit: the value is in the same.

    Returns
    -------
    () float
        How far, on average, attention is from its own centre; 0 where all of it is on one patch.

    Raises
    ------
    ValueError
        For shapes that do not fit, and a row that does not sum to 1, which is named.

    Examples
    --------
    >>> places = torch.tensor([[0.0, 0.0], [1.0, 0.0]])
    >>> spatial_concentration(torch.tensor([[[0.75, 0.25]]]), places)  # .75 · .25 + .25 · .75
    tensor(0.3750)
    """
    if attention.ndim != 3 or positions.shape != (attention.shape[-1], 2):
        raise ValueError(
            f"attention must be (B, Q, P) and positions (P, 2), not "
            f"{tuple(attention.shape)} and {tuple(positions.shape)}"
        )
    sums = attention.sum(-1)
    wrong = ~((sums - 1).abs() <= TOLERANCE)  # NaN is wrong too
    if wrong.any():
        b, q = wrong.nonzero()[0].tolist()
        raise ValueError(
            f"attention[{b}, {q}] sums to {float(sums[b, q]):.6g}, expected 1: "
            "take the softmax before the mask"
        )
    centres = attention @ positions
    distances = (positions - centres[..., None, :]).norm(dim=-1)
    return (attention * distances).sum(-1).mean()


def visual_contrast(regions: torch.Tensor, temperature: float) -> torch.Tensor:
    """−mean_i log( exp(r_i·r_i / τ1) / Σ_j exp(r_i·r_j / τ1) ) over the regions of each image [N].

    With r of length 1 the numerator is constant: nothing is drawn together. It is repulsion alone,
    0 or more, and 0 only in the limit of regions that are far apart.

    Parameters
    ----------
    regions : (B, Q, d) float
        Brought to length 1 here.
    temperature : τ1

    Returns
    -------
    () float

    Examples
    --------
    >>> visual_contrast(torch.tensor([[[1.0, 0.0], [1.0, 0.0]]]), 0.1)  # log 2: twice the same
    tensor(0.6931)
    """
    r = unit(regions)
    logits = r @ r.mT / temperature
    return (logits.logsumexp(-1) - logits.diagonal(dim1=1, dim2=2)).mean()
