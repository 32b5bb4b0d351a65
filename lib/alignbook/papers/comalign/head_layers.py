"""ComAlign's heads: a small transformer or fully connected layers on frozen vectors (§III-B, Eq. 1)."""

import torch
from torch import nn

from alignbook.papers.comalign.components.vectors import Components


def sinusoidal(slots: int, dim: int, kind: str = "sinusoidal") -> torch.Tensor:
    """Position codes `(slots, dim)` of the transformer's paper, a sine and a cosine of each of D/2
    exponents; "official" [C] takes the exponent 2i/D over all i, a cosine first and then a sine, and
    the whole comes last.

    >>> sinusoidal(2, 4)[1]  # sin 1, cos 1, sin 0.01, cos 0.01
    tensor([0.8415, 0.5403, 0.0100, 0.9999])
    """
    places, i = torch.arange(slots)[:, None].double(), torch.arange(dim).double()
    if kind == "official":
        angles = places / 10000 ** (2 * i / dim)
        return torch.where(i % 2 == 0, angles.cos(), angles.sin()).float().roll(1, dims=0)
    angles = places / 10000 ** (2 * (i // 2) / dim)
    return torch.where(i % 2 == 0, angles.sin(), angles.cos()).float()


class Dropout(nn.Module):
    """`nn.Dropout` of 16 random bits a number, which a CPU draws six times as fast: p is met to
    1/65,536.
    """

    def __init__(self, p: float):
        super().__init__()
        self.p = p

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if not (self.training and self.p):
            return x
        four = torch.empty(-(-x.numel() // 4), dtype=torch.int64, device=x.device)
        bits = four.random_(torch.iinfo(torch.int64).min, None).view(torch.int16)
        kept = bits[: x.numel()].view(x.shape) >= round(self.p * 2**16) - 2**15
        return x * (kept / (1 - self.p))


class Layer(nn.Module):
    """A transformer's layer, normalised after each part; only attention sees padding.

    The same as `nn.TransformerEncoderLayer` with a feedforward part of width d and a mask, which
    multiplies the absent components too: more than half of them.
    """

    def __init__(self, dim: int, heads: int, dropout: float):
        super().__init__()
        self.heads, self.drop = heads, Dropout(dropout)
        self.inward, self.outward = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.feedforward = nn.Sequential(
            nn.Linear(dim, dim), nn.ReLU(), Dropout(dropout), nn.Linear(dim, dim)
        )
        self.norms = nn.ModuleList([nn.LayerNorm(dim), nn.LayerNorm(dim)])
        nn.init.xavier_uniform_(self.inward.weight)
        nn.init.zeros_(self.inward.bias), nn.init.zeros_(self.outward.bias)

    def forward(self, x: torch.Tensor, seen: torch.Tensor) -> torch.Tensor:
        """The components seen `(T, d)`, set by set, and where they stand, `(B, S) bool` → `(T, d)`."""
        inward = self.inward(x)
        padded = inward.new_zeros(*seen.shape, 3 * x.shape[1])
        padded[seen] = inward
        q, k, v = padded.unflatten(2, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        # A set of which nothing is seen has no row of x; it attends to its zeros.
        mask = (seen | ~seen.any(1, keepdim=True))[:, None, None]
        logits = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(~mask, -torch.inf)
        mixed = self.drop(logits.softmax(dim=-1)) @ v
        mixed = self.outward(mixed.transpose(1, 2).flatten(2)[seen])
        x = self.norms[0](x + self.drop(mixed))
        return self.norms[1](x + self.drop(self.feedforward(x)))


class Encoder(nn.Module):
    """F_θI or G_θT of Eq. 1: a set's components in context."""

    def __init__(self, config, dim: int, slots: int):
        super().__init__()
        self.config = config
        self.drop = Dropout(config.position_dropout)
        self.project = nn.Sequential(nn.Linear(dim, dim), nn.ReLU()) if config.projected else None
        if config.network == "transformer":
            codes = sinusoidal(slots, dim, config.positions)
            self.register_buffer("codes", codes, persistent=False)
            self.layers = nn.ModuleList(
                Layer(dim, config.heads, config.dropout) for _ in range(config.layers)
            )
        else:  # [A] as many hidden layers, each with a ReLU, and a last one without
            self.coarse = fully_connected(dim, config.layers)
            separate = config.network == "fc-separate"
            self.fine = fully_connected(dim, config.layers) if separate else None

    def forward(self, h: Components) -> torch.Tensor:
        """Vectors `(B, S, d)` of components → z `(B, S, d)`; those of absent ones mean nothing."""
        x = h.vectors
        if self.config.network != "transformer":
            fine = self.fine or self.coarse
            return torch.cat([self.coarse(x[:, :1]), fine(x[:, 1:])], dim=1)
        there = h.present if self.config.masked else torch.ones_like(h.present)
        seen = there & h.chosen(self.config.features)
        places = self.codes[h.slots].expand_as(x)[seen]
        packed = x[seen] * x.shape[-1] ** 0.5 if self.config.lengthened else x[seen]
        packed = self.drop((self.project(packed) if self.project else packed) + places)
        for layer in self.layers:
            packed = layer(packed, seen)
        z = torch.zeros_like(x)
        z[seen] = packed
        return z


def fully_connected(dim: int, layers: int) -> nn.Sequential:
    """`layers` hidden layers and a linear one, all `dim` wide."""
    hidden = [part for _ in range(layers) for part in (nn.Linear(dim, dim), nn.ReLU())]
    return nn.Sequential(*hidden, nn.Linear(dim, dim))
