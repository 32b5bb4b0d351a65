"""What a training step takes at the papers' own sizes, beside what the plan of the paper profile reckons.

    python -m benchmarks.steps [chan chan-bert gsl covalign] [--card H100] [--batch 0]

from the project folder, with `lib` on PYTHONPATH, on a GPU that nothing else uses. Pictures, features,
captions and the weights of BERT and ViT are random: nothing is learnt, and times do not depend on it.
A method is trained twice, for few steps and for three times as many: a step is the difference, so
that building, looks at dev and the test's recalls are in neither. `--batch` makes batches smaller,
to try this where there is no GPU.
"""

import argparse
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch

import numpy as np
import torch
from alignbook.backbones import bert, region_features
from alignbook.backbones.inputs import Inputs
from alignbook.core.precision import PRECISIONS
from alignbook.datasets import by_name, precomp
from alignbook.papers.chan import arms as chan_arms
from alignbook.papers.chan import hours as chan_hours
from alignbook.papers.covalign import hours as covalign_hours
from alignbook.papers.covalign import model as covalign
from alignbook.papers.covalign.two_towers import Drawn
from alignbook.papers.gsl import arms as gsl_arms
from alignbook.papers.gsl import hours as gsl_hours
from alignbook.show import gpu_hours
from alignbook.store import runs
from alignbook.workbook import profiles

FEW, TIMES = 4, 3  # steps, and how many times as many
WORDS = [f"word{i}" for i in range(2000)]
BATCHES = {"chan": 384, "chan-bert": 128, "gsl": 128, "covalign": 128}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("methods", nargs="*", default=list(BATCHES), metavar="METHOD")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--card", choices=gpu_hours.PEAK, default="H100", help="whose plan")
    parser.add_argument("--batch", type=int, default=0, help="pairs a step, 0 for the paper's")
    asked = parser.parse_args()
    if unknown := {*asked.methods} - {*METHODS}:
        parser.error(f"unknown {', '.join(sorted(unknown))}; there are {', '.join(METHODS)}")
    with tempfile.TemporaryDirectory() as folder, patch.object(runs, "STORE", Path(folder) / "s"):
        for name in asked.methods:
            batch = asked.batch or BATCHES[name]
            (own := Path(folder) / name).mkdir()
            method = METHODS[name](own, batch, asked.device)
            for kind in PRECISIONS:
                said = {"method": name, "batch": batch} | _row(kind, *method, asked)
                print(", ".join(f"{key} {value}" for key, value in said.items()), flush=True)


def _row(kind: str, train: Callable, work: gpu_hours.Work, asked: argparse.Namespace) -> dict:
    """A line of the table: milliseconds a step, measured and of the plan."""
    if asked.device == "cuda":
        torch.cuda.reset_peak_memory_stats()
    with runs._at_precision(kind):
        train(TIMES * FEW)  # kernels are compiled for these very shapes
        few, many = train(FEW), train(TIMES * FEW)
    took = (many[0] - few[0]) / max(1, many[1] - few[1])  # GSL takes pairs for noisy
    said = {"precision": kind, "ms a step": round(1e3 * took, 1)}
    if asked.device == "cuda":
        planned = 3600 * gpu_hours.hours(work._replace(steps=1), PLANNED[kind], asked.card)
        said["ms of the plan"] = round(1e3 * planned, 1)
        said["measured / plan"] = round(took / planned, 2)
        said["GB"] = round(torch.cuda.max_memory_allocated() / 2**30, 1)
    return said


PLANNED = dict(zip(PRECISIONS, gpu_hours.PRECISIONS))


# --- What is trained -----------------------------------------------------------------------------


def captions(count: int) -> list[str]:
    """Captions of 8 to 16 words."""
    rng = np.random.default_rng(0)
    return [" ".join(rng.choice(WORDS, rng.integers(8, 17))) for _ in range(count)]


def profile():
    return profiles.get("paper", "precomp=DIR")


def features(folder: Path, images: int, with_bert: bool = False) -> Inputs:
    """Files as they are published, of so many training images, and a BERT-Base if asked for."""
    rng, names = np.random.default_rng(0), {"train": [f"t{i}" for i in range(images)]}
    names |= {"dev": ["d0"], "test": [f"e{i}" for i in range(5)]}
    said = iter(captions(5 * (images + 6)))
    told = {each: [next(said) for _ in range(5)] for split in names.values() for each in split}
    arrays = {key: rng.random((len(each), 36, 2048), np.float32) for key, each in names.items()}
    precomp.write(folder / "files", names, told, arrays)
    dataset = by_name.prepare(f"precomp={folder / 'files'}", profile(), folder / "data")
    given = dataset, region_features.Given(dataset)
    read = bert.Pretrained(str(_bert(folder / "bert"))) if with_bert else None
    return Inputs(*given, None, None, read)


def _bert(folder: Path) -> Path:
    """A folder of a BERT-Base, its weights drawn."""
    from transformers import BertConfig, BertModel

    config = BertConfig()
    BertModel(config, add_pooling_layer=False).save_pretrained(folder)
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    more = config.vocab_size - len(special + WORDS)
    pieces = [*special, *WORDS, *(f"##{i}" for i in range(more))]
    (folder / "vocab.txt").write_text("\n".join(pieces), encoding="utf-8")
    return folder


# Steps → seconds of training and the steps that were taken; and the work of one.
Trained = tuple[Callable[[int], tuple[float, int]], gpu_hours.Work]


def of_chan(folder: Path, batch: int, device: str, arm: str = "chan") -> Trained:
    given = features(folder, batch, arm.endswith("-bert"))
    config = replace(chan_arms.arms("chan-T1", profile())[arm][0][0], batch=batch)

    def train(steps: int) -> tuple[float, int]:
        return _trained(replace(config, steps=steps), given, folder, device)

    work = chan_hours.work(replace(profile(), chan_batch=batch), config.regions, "bert" in arm)
    return train, work


def of_gsl(folder: Path, batch: int, device: str) -> Trained:
    """A step is one of an epoch that divides, trains both networks and looks at nothing else."""
    each, most = 5, TIMES * FEW
    given = features(folder, -(-most * batch // each))
    plain, changes = gsl_arms.arms("gsl-F1", profile())["gsl-0.4"]
    config = replace(plain[0], **changes, batch=batch, test_images=5, warm_up_epochs=1, epochs=1)

    def train(steps: int) -> tuple[float, int]:
        images = -(-steps * batch // each)
        return _trained(replace(config, images=images, epoch_steps=0), given, folder, device)

    return train, gsl_hours.work(replace(profile(), gsl_batch=batch), batch * each, 8)


def of_covalign(folder: Path, batch: int, device: str) -> Trained:
    """The end-to-end preset on pictures of 224 pixels."""
    pictures = batch + 4
    said, rows = captions(5 * pictures), np.split(np.arange(pictures), [batch, batch + 2])
    splits = dict(zip(("train", "dev", "test"), rows))
    dataset = SimpleNamespace(
        name="drawn",
        images=np.random.default_rng(0).integers(0, 255, (pictures, 224, 224, 3), np.uint8),
        captions=said,
        captions_per_image=5,
        captions_of=lambda split: said[: 5 * len(splits[split])],
        splits=splits,
    )
    preset = replace(covalign.PRESETS["paper"], batch=batch)

    def train(steps: int) -> tuple[float, int]:
        given = [dataset, Drawn(), Drawn()]
        return _trained(replace(preset, steps=steps), given, folder, device)

    work = covalign_hours.work(
        replace(profile(), covalign_batch=batch, covalign_tokens="end-to-end", covalign_dim=512)
    )
    return train, work


def _trained(config, given, folder: Path, device: str) -> tuple[float, int]:
    """Seconds of a training, looks at dev left out, and its steps: pairs that GSL takes for noisy
    are in none.
    """
    with tempfile.TemporaryDirectory(dir=folder) as aside:
        found = config.compute(given, 0, Path(aside), device)
    return found["training seconds"], found["steps"]


METHODS = {
    "chan": of_chan,
    "chan-bert": lambda *given: of_chan(*given, arm="chan-bert"),
    "gsl": of_gsl,
    "covalign": of_covalign,
}

if __name__ == "__main__":
    main()
