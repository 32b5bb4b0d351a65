"""What an epoch of ComAlign's heads takes on 80,000 pairs of kept features, in batches of 1,600.

    python -m benchmarks.heads [--width 128] [--trained both|image] [--threads 2] [--device cpu|cuda]

from the project folder, with `lib` on PYTHONPATH. The features are random, as many of a picture and
a caption as the photographs and marked captions of the tests have; they lie on disk, as those of a
run do. A few steps are timed, one is not: an epoch is 50 of them.
"""

import argparse
import resource
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import torch
from alignbook.papers.comalign import model

PAIRS, BATCH, SLOTS, PHRASES = 80_000, 1600, 21, 200_000


def features(folder: Path, width: int, pairs: int = PAIRS) -> SimpleNamespace:
    """Components of `pairs` pictures, a caption each, as a run of `components.vectors` has them."""
    rng = np.random.default_rng(0)

    def unit(*shape):
        drawn = rng.standard_normal((*shape, width), dtype=np.float32)
        return drawn / np.linalg.norm(drawn, axis=-1, keepdims=True)

    things, entities, actions = (
        rng.integers(2, 11, pairs),
        rng.poisson(4, pairs),
        rng.poisson(1.2, pairs),
    )
    counts = {
        "boxes": (things, things * (things - 1) // 2),
        "captions": (entities.clip(1), actions),
    }
    images = np.lib.format.open_memmap(
        folder / "images.npy", "w+", np.float16, (pairs, SLOTS, width)
    )
    for start in range(0, pairs, 2000):
        images[start : start + 2000] = unit(len(images[start : start + 2000]), SLOTS)
    there = {
        name: np.concatenate(
            [np.ones((pairs, 1), bool), *(np.arange(10) < n[:, None] for n in both)], axis=1
        )
        for name, both in counts.items()
    }
    np.save(folder / "boxes.npy", there["boxes"][..., None] * np.float32([0, 0, 1, 1]))
    places = rng.integers(0, PHRASES, (pairs, SLOTS))
    np.save(folder / "captions.npy", np.where(there["captions"], places, -1).astype(np.int32))
    np.save(folder / "phrases.npy", unit(PHRASES).astype(np.float16))
    return SimpleNamespace(
        metrics={"width": width, "entities": 10, "relations": 10},
        array=lambda name: np.load(folder / f"{name}.npy", mmap_mode="r"),
    )


def epoch(run, trained: str, device: str, pairs: int = PAIRS, batch: int = BATCH, steps: int = 3):
    """Seconds of an epoch by its parts, and MB at the peak: of the process, on a GPU of its memory."""
    config = model.Config(batch=batch, trained=trained)
    torch.manual_seed(0)
    heads = model.build(config, run).to(device)
    optimizer = torch.optim.AdamW(heads.parameters(), lr=config.learning_rate)
    order = np.random.default_rng(1).permutation(pairs)
    spent = dict.fromkeys(("read", "forward", "backward", "update"), 0.0)

    def part(name, before, timed):
        if device == "cuda":
            torch.cuda.synchronize()
        now = time.perf_counter()
        spent[name] += timed * (now - before)
        return now

    for step in range(steps + 1):
        rows, now = np.sort(order[step * batch : (step + 1) * batch]), time.perf_counter()
        sides = [model.to(side, device) for side in model.batches(config, run, rows, rows)]
        now = part("read", now, step > 0)
        loss = model.loss(heads, *sides)
        now = part("forward", now, step > 0)
        loss.backward()
        now = part("backward", now, step > 0)
        optimizer.step(), optimizer.zero_grad()
        part("update", now, step > 0)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    if device == "cuda":
        peak = torch.cuda.max_memory_allocated() / 2**20
    whole = pairs // batch / steps
    return {name: seconds * whole for name, seconds in spent.items()} | {"MB": peak}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--trained", choices=("both", "image"), default="both")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    asked = parser.parse_args()
    torch.set_num_threads(asked.threads)
    with tempfile.TemporaryDirectory() as folder:
        found = epoch(features(Path(folder), asked.width), asked.trained, asked.device)
    peak, seconds = found.pop("MB"), sum(found.values())
    told = ", ".join(f"{name} {took:.1f}" for name, took in found.items())
    print(
        f"width {asked.width}, {asked.trained} trained, {asked.device}: {seconds:.0f} s an epoch "
        f"({told}), {peak:,.0f} MB at the peak"
    )


if __name__ == "__main__":
    main()
