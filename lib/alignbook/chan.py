"""CHAN: fine-grained image-text matching by a cross-modal hard aligning network (CVPR 2023).

In the order of the paper: text and region encoders (§3.3), coding and pooling (Eq. 1–6, 8, in
`similarity.py`), objective (Eq. 9, in `losses.py`), and the arms of its exhibits. What the text
leaves open follows the released code [C] or is our assumption [A].
"""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import nn

from alignbook import base, features, losses, retrieval, training
from alignbook.encoders import BiGRU, RegionEncoder
from alignbook.protocol import TUNING_SEED
from alignbook.similarity import hard_coding, soft_coding
from alignbook.vocabulary import Vocabulary


@dataclass(frozen=True)
class Config:
    """One arm of CHAN: λ is `scale`, α `margin`, τ `temperature`, K `regions`, d `dim`.

    The text gives no λ, α, τ, learning rate, batch or schedule. α and τ are tuned on dev, λ only
    in profiles with more than three trials.
    AdamW, the clip of the gradient's norm at 2, the region drop of 0.2 and beginning with all
    violations before the hardest negatives are the released code's [C]. Ours [A] are the linear
    warm-up and cosine of the learning rate, the weight decay, the word dropout, `all_violations`
    as a share of the steps (the code: the first epoch), and word vectors that start from the base
    model's, where the paper takes GloVe.
    """

    coding: str = "hard"
    codebook: str = "visual"
    pooling: str = "lse"
    scale: float = 10.0
    margin: float = 0.05
    temperature: float = 0.0
    regions: int = 36
    dim: int = 128
    steps: int = 500
    batch: int = 128
    learning_rate: float = 1e-3
    weight_decay: float = 1e-4
    region_drop: float = 0.2
    word_dropout: float = 0.1
    all_violations: float = 0.2
    clip: float = 2.0
    permute_captions: bool = False


class CHAN(nn.Module):
    """Regions and words into one space of width d (§3.3), then coding and pooling (Eq. 8)."""

    def __init__(self, config: Config, feature_dim: int, word_vectors: torch.Tensor):
        super().__init__()
        self.config = config
        self.image = RegionEncoder(feature_dim, config.dim)
        self.text = BiGRU(*word_vectors.shape, config.dim, word_dropout=config.word_dropout)
        self.text.vectors.weight.data.copy_(word_vectors)

    def similarity(self, regions, words, region_lengths=None, word_lengths=None) -> torch.Tensor:
        """Regions `(B1, K, d)`, words `(B2, L, d)` → `(B1, B2)`: Eq. 8, or Eq. 1–4 when soft."""
        c = self.config
        how = dict(
            region_lengths=region_lengths, word_lengths=word_lengths,
            codebook=c.codebook, pooling=c.pooling, scale=c.scale,
        )
        if c.coding == "hard":
            return hard_coding(regions, words, **how)
        return soft_coding(regions, words, temperature=c.temperature, **how)


def drop_regions(regions: torch.Tensor, rate: float) -> torch.Tensor:
    """Leave out a share of every image's regions at random [C]: `(B, K, D)` → `(B, K', D)`."""
    kept = max(1, round(regions.shape[1] * (1 - rate)))
    chosen = torch.rand(regions.shape[:2]).argsort(dim=1)[:, :kept].sort(1).values
    return regions.gather(1, chosen[..., None].expand(-1, -1, regions.shape[2]))


def compute(config: Config, seed: int, inputs, folder: Path, device: str) -> dict:
    """Train one arm; leave its weights in `folder`, return its recalls.

    A tuning seed is measured on dev, a reporting seed on test: no choice sees the test split.
    """
    dataset, feature_run, *base_run = inputs
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    model, vocabulary = build(config, dataset, feature_run, *base_run)
    model.to(device)
    rows, stored = dataset.splits["train"], feature_run.array("features")
    n, each = len(rows), dataset.captions_per_image
    ids, lengths = vocabulary.encode(dataset.captions_of("train"))
    if config.permute_captions:  # control: captions belong to other images, as blocks
        order = np.random.default_rng([seed, 2]).permutation(n)
        moved = torch.from_numpy((order[:, None] * each + np.arange(each)).ravel())
        ids, lengths = ids[moved], lengths[moved]
    size = min(config.batch, n)

    def loss_at(step):
        images, captions = training.pairs_in_batch(n, size, each, seed, step)
        raw = features.batch(stored, rows[images.numpy()], config.regions)
        regions = model.image(drop_regions(raw, config.region_drop).to(device))
        seen = lengths[captions]
        words = model.text(ids[captions, : int(seen.max())].to(device), seen)
        scores = model.similarity(regions, words, word_lengths=seen)
        if step < config.all_violations * config.steps:
            return losses.all_negatives_hinge(scores, config.margin)
        return losses.hardest_negative_hinge(scores, config.margin)  # Eq. 9

    optimizer = torch.optim.AdamW(
        model.parameters(), lr=config.learning_rate, weight_decay=config.weight_decay
    )
    schedule = training.warmup_cosine(optimizer, config.steps, warmup=0.05)
    label = f"CHAN {config.coding} {config.codebook} {config.pooling}, seed {seed}"
    outcome = training.fit(
        model, optimizer, schedule, config.steps, loss_at, folder, label, config.clip
    )
    split = "dev" if seed >= TUNING_SEED else "test"
    scores = evaluate(model, vocabulary, dataset, feature_run, split)
    for way, found in zip(("i2t", "t2i"), retrieval.ranks(scores, each)):
        np.save(folder / f"ranks_{way}.npy", found.astype(np.int32))
    return training.save(model, outcome, folder) | retrieval.evaluate(scores, each).named(split)


def build(config: Config, dataset, feature_run, base_run=None) -> tuple[CHAN, Vocabulary]:
    """An untrained model and its vocabulary: the base model's where there is one.

    Else (precomp features, or a pretrained base with a tokenizer of word pieces) the words said
    four times or more, and vectors of width 300 drawn from [-0.1, 0.1] [C].
    """
    base_model, vocabulary = base.load(base_run, dataset) if base_run else (None, None)
    if hasattr(base_model, "word_vectors"):
        vectors = base_model.word_vectors()[: len(vocabulary)]
    else:
        vocabulary = Vocabulary.build(dataset.captions_of("train"), min_count=4)
        vectors = torch.rand(len(vocabulary), 300) * 0.2 - 0.1
    return CHAN(config, feature_run.metrics["width"], vectors), vocabulary


def load(run, dataset, feature_run, base_run=None) -> tuple[CHAN, Vocabulary]:
    """The trained model of a run, in evaluation mode, and its vocabulary."""
    model, vocabulary = build(Config(**run.config), dataset, feature_run, base_run)
    model.load_state_dict(run.weights())
    return model.eval(), vocabulary


@torch.inference_mode()
def encode(model: CHAN, vocabulary: Vocabulary, dataset, feature_run, split: str):
    """Regions `(N, K, d)`, words `(5·N, L, d)` and word lengths `(5·N,)` of a split."""
    device = next(model.parameters()).device
    rows, stored = dataset.splits[split], feature_run.array("features")
    ids, lengths = vocabulary.encode(dataset.captions_of(split))
    regions = torch.cat([
        model.image(features.batch(stored, rows[i : i + 500], model.config.regions).to(device))
        for i in range(0, len(rows), 500)
    ])
    words = torch.cat([
        model.text(ids[i : i + 1000].to(device), lengths[i : i + 1000])
        for i in range(0, len(ids), 1000)
    ])
    return regions, words, lengths


def evaluate(model: CHAN, vocabulary: Vocabulary, dataset, feature_run, split: str):
    """Similarity of every image and caption of a split, `(N, 5·N) float`."""
    regions, words, lengths = encode(model, vocabulary, dataset, feature_run, split)
    with torch.inference_mode():
        return model.similarity(regions, words, word_lengths=lengths)


# --- Arms of the exhibits ------------------------------------------------------------------------

# Margins are in the units of each pooling: a sum over words spreads about ten times as wide.
LSE = ((10, 0.05), (10, 0.1), (10, 0.005), (5, 0.05), (20, 0.05), (20, 0.1))
# Which τ with which of the (λ, α) above: both are tuned, within the same number of trials.
TEMPERATURES = ((1 / 9, 0), (1 / 20, 0), (1 / 20, 1), (1 / 9, 1), (1 / 50, 0), (1 / 4, 0))
MARGINS = {"mean": (0.05, 0.1, 0.2, 0.02, 0.01, 0.3), "sum": (0.5, 1.0, 2.0, 0.2, 0.1, 3.0),
           "max": (0.05, 0.1, 0.2, 0.02, 0.01, 0.3)}


def arms(exhibit: str, profile) -> dict[str, list[Config]]:
    """Arms of an exhibit: for each, the candidates between which dev decides.

    Every arm gets the same number of trials, `profile.chan_trials`. Of Table 3, the LSE row of
    the pooling types is the visual codebook of the coding types: one arm. λ and α are tried for
    LSE and softmax pooling, α alone where there is no λ, τ, λ and α for cross-attention.
    """
    if exhibit != "chan-T3":
        raise KeyError(f"chan has no arms for {exhibit!r}")
    common = Config(
        regions=profile.chan_regions, dim=profile.chan_dim, steps=profile.chan_steps,
        batch=profile.chan_batch, learning_rate=profile.chan_learning_rate,
        all_violations=profile.chan_all_violations,
    )
    lse = [replace(common, scale=float(scale), margin=margin) for scale, margin in LSE]
    soft = [replace(c, coding="soft") for c in lse]
    found = {
        "cross-attention": [replace(soft[i], temperature=t) for t, i in TEMPERATURES],
        "cross-attention-1/9": [replace(c, temperature=1 / 9) for c in soft],
        "visual-codebook": lse,
        "textual-codebook": [replace(c, codebook="textual") for c in lse],
        "max": [replace(common, pooling="max", margin=m) for m in MARGINS["max"]],
        "average": [replace(common, pooling="mean", margin=m) for m in MARGINS["mean"]],
        "sum": [replace(common, pooling="sum", margin=m) for m in MARGINS["sum"]],
        "softmax": [replace(c, pooling="softmax") for c in lse],
        "permuted": [replace(common, permute_captions=True)],
    }
    return {name: configs[: profile.chan_trials] for name, configs in found.items()}
