"""The two networks that teach each other: built, compared on a split, loaded again."""

from types import SimpleNamespace

import numpy as np
import torch
from torch import nn

from alignbook.backbones import region_features
from alignbook.backbones.word_vectors import word_vectors
from alignbook.core import sgraf
from alignbook.papers.gsl.noisy_pairs import IMAGES, Bank, _first
from alignbook.store import progress

PHASES = ("training", "division", "correction", "dev", "test")  # whose seconds are counted


class Pair(nn.Module):
    """Two networks, and what is known of the N pairs: all that a checkpoint has to hold.

    `posterior` p(clean), `labels` as last corrected (NaN: never), both (2, N), a row a network;
    `record` (2, R, N); `dev` RSUM by epoch, that of the warm-up first; `curve` the loss of clean
    pairs by step; `seconds` by phase; `samples` that both trained on. `bank` (2, 2, M, d) holds the
    pooled vectors of images and captions of up to M clean pairs, `bank_rows` (2, M) which they are,
    −1 for none.
    """

    def __init__(self, networks: list, n: int, record: int, epochs: int, steps=0, bank=(0, 0)):
        super().__init__()
        self.networks = nn.ModuleList(networks)
        for name, value in dict(
            posterior=torch.ones(2, n),
            labels=torch.full((2, n), torch.nan),
            record=torch.full((2, record, n), torch.nan),
            dev=torch.full((epochs + 1,), torch.nan),
            curve=torch.full((steps,), torch.nan),
            bank=torch.zeros(2, 2, *bank),
            bank_rows=torch.full((2, bank[0]), -1),
            seconds=torch.zeros(len(PHASES), dtype=torch.float64),
            samples=torch.zeros((), dtype=torch.int64),
        ).items():
            self.register_buffer(name, value)

    def keep(self, k: int, rows: np.ndarray, vectors: torch.Tensor) -> None:
        """Put pairs `(M,)` into network k's bank in place of those before, as `Pairs.pooled` sees
        them."""
        self.bank_rows[k], m = -1, len(rows)
        self.bank_rows[k, :m], self.bank[k, :, :m] = torch.from_numpy(rows), vectors.cpu()

    def kept(self, k: int) -> Bank | None:
        """Network k's bank, None while it is empty."""
        m = int((self.bank_rows[k] >= 0).sum())
        device = next(self.networks.parameters()).device
        return Bank(*self.bank[k, :, :m].to(device), self.bank_rows[k, :m]) if m else None


def build(config, dataset, feature_run, base_run=None, home=None, *_):
    """Two untrained networks and their vocabulary; word vectors as CHAN's."""
    vectors, vocabulary = start_vectors(dataset, base_run, home)
    width = feature_run.metrics["width"]
    networks = [
        sgraf.build(
            config.similarity,
            width,
            vectors,
            dim=config.dim,
            sim_dim=config.sim_dim,
            regions=config.regions,
        )
        for _ in range(2)
    ]
    return networks, vocabulary


VECTORS = {}  # by base model and the data set it was trained on: reading one takes seconds


def start_vectors(dataset, base_run=None, home=None):
    """`word_vectors`; those of a base model are read once a process, without a random number of the
    run's.
    """
    if base_run is None:
        return word_vectors(dataset)
    key = base_run.key, (home or dataset).fingerprint
    if key not in VECTORS:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            VECTORS[key] = word_vectors(dataset, base_run, home)
    return VECTORS[key]


@torch.no_grad()
def similarities(networks, vocabulary, dataset, feature_run, config, split: str, images: int = 0):
    """Mean score of the networks, of a split's first images (0: all) with their captions:
    `(n, each·n) float` on the CPU [X]."""
    rows = _first(dataset, split, images)
    captions = dataset.captions_of(split)[: dataset.captions_per_image * len(rows)]
    ids, lengths = vocabulary.encode(captions)
    stored, total = feature_run.array("features"), 0
    for k, network in enumerate(networks):
        device, was = next(network.parameters()).device, network.training
        network.eval()
        words = network.encode_captions(ids.to(device), lengths)
        parts = []
        for start in range(0, len(rows), IMAGES):
            raw = region_features.batch(stored, rows[start : start + IMAGES], config.regions).to(
                device
            )
            parts.append(network.similarity(network.encode_images(raw), words).cpu())
            progress.show(
                f"comparing with the {split} captions",
                k * len(rows) + start + len(raw),
                len(networks) * len(rows),
            )
        total = total + torch.cat(parts)
        network.train(was)
    return total / len(networks)


def load(run, *inputs):
    """The two trained networks of a run, in evaluation mode, and their vocabulary."""
    networks, vocabulary = build(SimpleNamespace(**run.config), *inputs)
    both = nn.ModuleList(networks)
    both.load_state_dict(run.weights())
    return both.eval(), vocabulary
