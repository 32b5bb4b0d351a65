"""Processes that compute together, for tests: `on_ranks` forks them, and torchrun starts this file.

And toy trainings, by name. But for GSL's none draws dropout: W ranks then differ from one process
by rounding.
"""

import os
import signal
import socket
import sys
import time
import traceback
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch

import numpy as np
import torch
from alignbook.backbones.inputs import Inputs
from alignbook.core import training
from alignbook.core.encoders import BiGRU
from alignbook.papers.chan import model as chan
from alignbook.papers.comalign import model as comalign
from alignbook.papers.covalign import model as covalign
from alignbook.papers.gsl import model as gsl
from alignbook.papers.gsl import two_networks
from alignbook.store import ranks, runs

IMAGES, EACH, SPLITS = 40, 5, {"train": 24, "dev": 8, "test": 8}
STEPS, BATCH = 6, 8
VECTORS = torch.rand(14, 5, generator=torch.Generator().manual_seed(7)) - 0.5
MOST = 7  # words of a caption
DEVICE = "cpu"


class Words:
    """A vocabulary: a caption is a list of word ids."""

    def encode(self, captions):
        ids = torch.zeros(len(captions), max(map(len, captions)), dtype=torch.int64)
        for row, caption in enumerate(captions):
            ids[row, : len(caption)] = torch.tensor(caption)
        return ids, torch.tensor([len(caption) for caption in captions])


def data():
    """Images of four regions, captions that name two of them and say more or less besides."""
    draw = np.random.default_rng(0)
    things = np.stack([draw.choice(12, 4, replace=False) for _ in range(IMAGES)])
    stored = np.eye(12, 6)[things] + 0.3 * draw.normal(size=(IMAGES, 4, 6))
    captions = [
        [*(2 + draw.permutation(shown)[:2]), *draw.integers(2, 14, draw.integers(0, MOST - 1))]
        for shown in things
        for _ in range(EACH)
    ]
    rows = np.split(np.arange(IMAGES), np.cumsum([*SPLITS.values()])[:-1])
    splits = dict(zip(SPLITS, rows))
    dataset = SimpleNamespace(
        name="toy",
        splits=splits,
        captions=captions,
        captions_per_image=EACH,
        fingerprint="toy",
        captions_of=lambda split: [
            captions[i * EACH + k] for i in splits[split] for k in range(EACH)
        ],
    )
    run = SimpleNamespace(
        metrics={"width": 6}, key="toy", array=lambda name: stored.astype(np.float16)
    )
    return dataset, run


def of_chan(folder, batch=BATCH, **changes):
    quiet = dict(region_drop=0.0, word_dropout=0.0) | changes
    config = chan.Config(
        steps=STEPS, batch=batch, regions=4, dim=8, all_violations=0.5, margin=0.2, **quiet
    )
    model = chan.CHAN(config, 6, BiGRU(*VECTORS.shape, 8, config.word_dropout))
    return chan.fit(model, Words(), config, Inputs(*data()), 0, folder, DEVICE, "toy")


def of_comalign(folder):
    from test_comalign import stored

    config = comalign.Config(heads=2, steps=STEPS, batch=BATCH, dropout=0.0)
    return comalign.compute(config, [*stored(1), *stored(2)], 0, folder, DEVICE)


class Towers(torch.nn.Module):
    """Towers that are trained: a linear layer over features, and word vectors."""

    grid, cut, image_width, text_width = (2, 2), 0, 6, 5

    def __init__(self):
        super().__init__()
        self.dataset, self.run = data()
        self.image, self.text = (
            torch.nn.Linear(6, 6),
            torch.nn.Embedding.from_pretrained(VECTORS.clone()),
        )
        self.text.weight.requires_grad_()

    def patches(self, rows):
        found = torch.from_numpy(self.run.array("")[rows].astype(np.float32))
        return self.image(found.to(self.image.weight.device))

    def words(self, numbers):
        ids, _ = Words().encode([self.dataset.captions[i] for i in numbers])
        ids = ids.to(self.text.weight.device)
        return self.text(ids), ids > 0


def of_covalign(folder):
    config = covalign.Config(
        dim=8, heads=2, points=2, queries=3, layers=1, steps=STEPS, batch=BATCH
    )
    with patch.object(covalign.two_towers, "source", lambda *given: Towers()):
        return covalign.compute(config, [data()[0]], 0, folder, DEVICE)


def of_gsl(folder):
    config = gsl.Config(
        **dict(regions=4, dim=8, sim_dim=4, batch=BATCH, epochs=2, epoch_steps=3, noise=0.3)
    )
    with patch.object(two_networks, "word_vectors", lambda *given: (VECTORS.clone(), Words())):
        return config.compute([*data()], 0, folder, DEVICE)


@dataclass(frozen=True)
class Toy:
    """A run of CHAN that may kill itself: `die` says on which rank and at which step."""

    drop: float = 0.2

    together = True

    def compute(self, inputs, seed, folder, device):
        pairs, die = training.pairs_in_batch, os.environ.get("DIE", "")

        def at(n, batch, each, seed, step):
            if die == f"{ranks.rank()} {step}":
                os.kill(os.getpid(), signal.SIGKILL)
            return pairs(n, batch, each, seed, step)

        chan.training.pairs_in_batch = at
        torch.manual_seed(seed)
        return of_chan(folder, region_drop=self.drop, word_dropout=0.2)


def on_ranks(count, folder, work, seconds=200):
    """What `work()` returns on each of so many ranks, forks of this process; fails if one does."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = str(free.getsockname()[1])
    children = []
    for rank in range(count):
        if child := os.fork():
            children.append(child)
            continue
        try:
            torch.set_num_threads(
                1
            )  # those that the parent had are not there: they would be waited for
            os.environ |= dict(
                TORCHELASTIC_RUN_ID="test",
                WORLD_SIZE=str(count),
                LOCAL_WORLD_SIZE=str(count),
                RANK=str(rank),
                LOCAL_RANK=str(rank),
                MASTER_ADDR="localhost",
                MASTER_PORT=port,
                OMP_NUM_THREADS="1",
            )
            ranks.join()
            # Rank 0 holds the store by which the others join: it must not be done before they have.
            torch.distributed.barrier()
            torch.save(work(), folder / f"rank-{rank}.pt")
            os._exit(0)
        except BaseException:
            traceback.print_exc()
        os._exit(1)
    left, until = set(children), time.monotonic() + seconds
    while left and time.monotonic() < until:
        for child in list(left):
            pid, status = os.waitpid(child, os.WNOHANG)
            if pid:
                left.remove(child)
                until = 0 if status else until  # the others may wait for it forever
        time.sleep(0.02)
    for child in left:
        os.kill(child, signal.SIGKILL), os.waitpid(child, 0)
    found = [folder / f"rank-{rank}.pt" for rank in range(count)]
    assert all(path.exists() for path in found), "a rank failed, or waited for another"
    return [torch.load(path, weights_only=False) for path in found]


def trained(case, folder):
    """A case's losses, gradients of the first step and metrics."""
    own = folder / f"{case}-{ranks.rank()}"
    own.mkdir(parents=True)
    first, sketch = {}, training._gradient_sketch
    torch.manual_seed(0)

    def keep(model):
        if not first:
            named = model.named_parameters()
            first.update({name: p.grad.clone() for name, p in named if p.grad is not None})
        return sketch(model)

    store = patch.object(runs, "STORE", folder / "store")  # of GSL's warm-up
    with store, patch.object(training, "_gradient_sketch", keep):
        metrics = globals()[f"of_{case}"](own)
    losses = torch.from_numpy(np.load(own / "loss.npy"))
    return {"loss": losses, "gradients": first, "metrics": metrics}


def main(folder):
    """The run of `Toy` in a store, as a job does it."""
    ranks.join()
    runs.STORE, runs.code_hash = folder / "store", lambda module: "toy"
    run = runs.get(Toy(), 0, ())
    if ranks.rank() == 0:
        (folder / "key").write_text(run.key)


for paper in ("chan", "comalign", "covalign", "gsl"):
    sys.path.append(str(Path(__file__).parent / "papers" / paper))

if __name__ == "__main__":
    main(Path(sys.argv[1]))
