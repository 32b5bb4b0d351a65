"""A detector's boxes for every picture of a data set: a small YOLO trained on gold boxes, or given.

ComAlign takes its boxes from a pretrained YOLOv9. If you have such weights, name the file; where
there are none, a YOLO of 0.2 M parameters learns the world's gold boxes, all of one class,
"object".

This is the only module that imports ultralytics, whose licence is AGPL-3.0, not this workbook's:
whoever hands on a work that contains it, or offers it over a network, is bound by that licence. The
library's models and loss are used, its trainer is not: that writes settings, asks the network and
can't be continued exactly. Training is `training.fit`'s: a run that was killed goes on from its
last checkpoint, and finds its boxes anew. A seed gives the same boxes again on a CPU; on CUDA some
sums of the loss are in no fixed order.
"""

import math
import os
import shutil
import tempfile
import time
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import torch
from torch.nn import functional as F

from alignbook import ROOT
from alignbook.core import training
from alignbook.errors import DataError
from alignbook.papers.comalign.components import image
from alignbook.store import contents, progress
from alignbook.store.runs import Run

WEIGHTS = ROOT / "data" / "weights"
COSTS = ("steps", "training seconds", "parameters", "checksum")
BATCH = 64  # pictures at a time, once trained
GAINS = {"box": 7.5, "cls": 0.5, "dfl": 1.5}  # of the three losses, as ultralytics' defaults have

# YOLOv8 with two levels instead of three, of cells of 4 and 8 pixels: the world's things are 10 to
# 30 pixels large. A row is the layers it reads, its number, and its kind with channels, kernel, …
NETWORK = {
    "nc": 1,
    "reg_max": 8,  # an edge is at most 7 cells from the middle of the cell that answers for it
    "backbone": [
        [-1, 1, "Conv", [16, 3, 2]],
        [-1, 1, "Conv", [32, 3, 2]],
        [-1, 1, "C2f", [32, True]],
        [-1, 1, "Conv", [64, 3, 2]],
        [-1, 1, "C2f", [64, True]],
        [-1, 1, "SPPF", [64, 5]],
    ],
    "head": [
        [-1, 1, "nn.Upsample", [None, 2, "nearest"]],
        [[-1, 2], 1, "Concat", [1]],
        [-1, 1, "C2f", [32]],
        [-1, 1, "Conv", [32, 3, 2]],
        [[-1, 5], 1, "Concat", [1]],
        [-1, 1, "C2f", [64]],
        [[8, 11], 1, "Detect", ["nc"]],
    ],
}


def _release() -> str:
    """Which ultralytics is installed. Raises DataError if none is."""
    try:
        return version("ultralytics")
    except PackageNotFoundError:
        raise DataError(
            "a detector needs ultralytics (AGPL-3.0), which is not installed: pip "
            "install ultralytics"
        ) from None


@dataclass(frozen=True)
class Config:
    """How a detector looks and, unless its weights are given, learns; the paper says nothing."""

    size: int = 64  # pixels a side: a multiple of 8, of given weights of 32 [A]
    images: int = 2000  # of the training split that are learnt [A]
    epochs: int = 8  # passes over them [A]
    batch: int = 16  # images of a step [A]
    learning_rate: float = 4e-3  # at its highest [A]
    confidence: float = 0.25  # which that of a box has to exceed [A]
    overlap: float = 0.7  # that a box may have at most with a surer one [A]
    boxes: int = 50  # of a picture, at most [A]
    ultralytics: str = field(default_factory=_release)  # the library's release

    def compute(self, inputs, seed: int, folder: Path, device: str) -> dict:
        """What a run of it is: see `compute` below."""
        return compute(self, inputs, seed, folder, device)


@dataclass(frozen=True)
class Weights:
    """YOLO weights in a file of this machine, such as yolov9c.pt; nothing is ever downloaded.

    `name` is a path, or a file's name in data/weights. Such a .pt is a pickle, which can name code
    to run when it is opened. It is opened by ultralytics' list of permitted classes, which refuses
    any other; all the same, take weights only from those you trust.
    """

    name: str

    @cached_property
    def path(self) -> Path:
        """Where the file lies. Raises DataError if there is none."""
        places = Path(self.name).expanduser(), WEIGHTS / self.name
        for place in places:
            if place.is_file():
                return place.resolve()
        raise DataError(
            f"{places[-1]}: file missing, and no {places[0]} either; expected YOLO "
            "weights such as yolov9c.pt, which are had from the releases of the "
            "repository ultralytics/assets on GitHub: put the file there"
        )

    @cached_property
    def key(self) -> str:
        """What stands for the weights in a run's key: their content."""
        return contents.sha256([self.path])[0][:16]


def compute(config: Config, inputs, seed: int, folder: Path, device: str) -> dict:
    """Boxes of all pictures, to boxes.npy, scores.npy and offsets.npy: see `image.found`.

    The inputs are the data set and what finds its things: a run of this module that was trained,
    `Weights`, or a data set with gold boxes to learn; None: its own gold boxes. Returns what
    training cost, images a second, and where there is gold "dev AP50", "dev recall", "test AP50"
    and "test recall", in [0, 1].
    """
    dataset, source = inputs
    torch.set_num_threads(1)
    tasks = _library(folder)
    if isinstance(source, Weights):
        model, metrics = given(tasks, source, config.size, device)
    elif isinstance(source, Run):
        model = load(source).to(device)
        metrics = {name: source.metrics[name] for name in COSTS}
    else:
        model, metrics = train(tasks, config, seed, source or dataset, folder, device)
    began = time.perf_counter()
    things = detect(model, dataset.images, config, device)
    metrics["images"], metrics["boxes"] = len(dataset.images), len(things.boxes)
    metrics["images/s"] = round(len(dataset.images) / (time.perf_counter() - began), 1)
    for name, array in things._asdict().items():
        np.save(folder / f"{name}.npy", array)
    if dataset.objects is not None:
        truth = image.gold(dataset)
        for split in ("dev", "test"):
            quality = image.detection_quality(things, truth, dataset.splits[split])
            metrics[f"{split} AP50"], metrics[f"{split} recall"] = quality
    return metrics


def load(run: Run):
    """The detector that a run of this module trained; see `detect`."""
    with tempfile.TemporaryDirectory() as folder:
        tasks = _library(Path(folder))
    model = tasks.DetectionModel(deepcopy(NETWORK), verbose=False)
    model.load_state_dict(run.weights())
    return model


def train(tasks, config: Config, seed: int, dataset, folder: Path, device: str):
    """A small model of one class, trained on a data set's gold boxes, and what that cost.

    Half of the pictures of a batch are mirrored. The losses are YOLOv8's, on boxes and class.
    """
    from ultralytics.utils.loss import v8DetectionLoss

    torch.manual_seed(seed)
    truth, rows = image.gold(dataset), dataset.splits["train"][: config.images or None]
    model = tasks.DetectionModel(deepcopy(NETWORK), verbose=False).to(device)
    _check_size(model, config.size)
    _for_short_training(model, config.size)
    model.args = SimpleNamespace(**GAINS)
    criterion = v8DetectionLoss(model)
    batch = min(config.batch, len(rows))
    per_epoch = len(rows) // batch
    steps = config.epochs * per_epoch
    decay = dict(lr=config.learning_rate, weight_decay=0.01, fused=True)
    optimizer = torch.optim.AdamW(model.parameters(), **decay)
    schedule = training.warmup_cosine(optimizer, steps)

    def loss_at(step):
        epoch, i = divmod(step, per_epoch)
        chosen = training.epoch_order(len(rows), seed, epoch).numpy()[i * batch : (i + 1) * batch]
        mirrored = np.random.default_rng([seed, 2, step]).random(batch) < 0.5
        pixels, targets = examples(dataset.images, truth, rows[chosen], mirrored, config.size)
        targets = {name: value.to(device) for name, value in targets.items()}
        losses, _ = criterion(model(pixels.to(device)), targets)
        return losses.sum() / batch

    descent = training.Descent(optimizer, schedule, steps, clip=10.0)
    outcome = training.fit(model, descent, loss_at, folder, f"detector seed {seed}")
    return model, training.save(model, outcome, folder)


def _for_short_training(model, size: int) -> None:
    """Start as if five things were in a picture of this size, where the library thinks of 640
    pixels; and let batch normalisation's means follow faster than its 0.03 a step.
    """
    for classes, cell in zip(model.model[-1].cv3, model.stride, strict=True):
        torch.nn.init.constant_(classes[-1].bias, math.log(5 * float(cell / size) ** 2))
    for layer in model.modules():
        if isinstance(layer, torch.nn.BatchNorm2d):
            layer.momentum = 0.1


def examples(images, truth: image.Boxes, rows, mirrored, size: int):
    """Pixels `(B, 3, size, size)` of some pictures, those `mirrored (B,) bool` from left to right,
    and their boxes in YOLO's form: batch_idx (the picture), cls, and bboxes as middle and extent.
    """
    pictures = images[rows]
    pictures[mirrored] = pictures[mirrored, :, ::-1]
    mine = [truth.boxes[truth.offsets[row] : truth.offsets[row + 1]] for row in rows]
    owner = np.repeat(np.arange(len(rows)), [len(each) for each in mine])
    x0, y0, x1, y1 = np.concatenate(mine).T
    x = np.where(mirrored[owner], 2 - x0 - x1, x0 + x1) / 2
    boxes = np.stack([x, (y0 + y1) / 2, x1 - x0, y1 - y0], axis=1)
    targets = {"batch_idx": owner, "cls": np.zeros(len(owner)), "bboxes": boxes}
    tensors = {name: torch.from_numpy(each).float() for name, each in targets.items()}
    return _pixels(pictures, size), tensors


def given(tasks, weights: Weights, size: int, device: str):
    """A model of given weights; whatever its classes, a box is a thing.

    Raises
    ------
    DataError
        No YOLO weights, of another task than detection, or holding more than weights.
    ValueError
        A size that its cells don't divide.
    """
    path = weights.path
    try:
        model, _ = tasks.load_checkpoint(path, device=device)
    except Exception as error:  # the library's and pickle's own kinds
        raise DataError(
            f"{path}: not opened as YOLO weights ({str(error)[:200]}); expected a "
            "release of ultralytics: take the file again"
        ) from None
    if model.task != "detect" or not isinstance(model.model[-1], tasks.Detect):
        raise DataError(
            f"{path}: a {type(model).__name__} for the task {model.task}, expected a "
            "YOLO that detects: take yolov8 to yolo26 without -seg, -cls, -pose or "
            "-obb in the name"
        )
    _check_size(model, size)
    parameters = sum(p.numel() for p in model.parameters())
    return model, {
        "steps": 0,
        "training seconds": 0.0,
        "parameters": parameters,
        "checksum": weights.key,
    }


@torch.inference_mode()
def detect(model, images: np.ndarray, config: Config, device: str) -> image.Boxes:
    """Boxes that a model finds in ``images (N, H, W, 3) uint8``."""
    from torchvision.ops import nms

    model = model.fuse(verbose=False).eval()
    rows, boxes, scores = [], [], []
    for start in range(0, len(images), BATCH):
        pixels = _pixels(images[start : start + BATCH], config.size).to(device)
        for row, (corners, sure) in enumerate(zip(*_decoded(model, pixels)), start):
            corners = corners.clamp(0, config.size)
            whole = (sure > config.confidence) & (corners[:, :2] < corners[:, 2:]).all(1)
            corners, sure = corners[whole], sure[whole]
            kept = nms(corners, sure, config.overlap)[: config.boxes]
            rows.append(np.full(len(kept), row))
            boxes.append(corners[kept].cpu().numpy() / config.size)
            scores.append(sure[kept].cpu().numpy())
        progress.show("boxes of all pictures", start + len(pixels), len(images))
    return image.pack(*map(np.concatenate, (rows, boxes, scores)), len(images))


def _decoded(model, pixels: torch.Tensor):
    """Corners `(B, A, 4)` in pixels and confidence `(B, A)`, that of the likeliest class."""
    found = model(pixels)[0]
    if model.end2end:  # (B, A, 6), already corners, confidence, class
        return found[..., :4], found[..., 4]
    middle, extent, classes = found.transpose(1, 2).split((2, 2, found.shape[1] - 4), dim=2)
    return torch.cat([middle - extent / 2, middle + extent / 2], dim=2), classes.amax(2)


def _check_size(model, size: int) -> None:
    cell = int(model.stride.max())
    if size % cell:
        raise ValueError(f"size {size}: expected a multiple of {cell}, the detector's largest cell")


def _pixels(pictures: np.ndarray, size: int) -> torch.Tensor:
    """``(B, H, W, 3) uint8`` → `(B, 3, size, size) float32` in [0, 1], as YOLO takes them."""
    pixels = torch.from_numpy(np.array(pictures)).permute(0, 3, 1, 2).float() / 255
    if pixels.shape[2:] != (size, size):
        pixels = F.interpolate(pixels, (size, size), mode="bilinear", antialias=True)
    return pixels


def _library(folder: Path):
    """ultralytics' models, the library imported so that it asks no network, says nothing, and
    leaves nothing: its settings go into `folder` and are removed, what it changes is put back.
    """
    from PIL import Image

    place = folder / "ultralytics"
    _release()
    os.environ |= {
        "YOLO_OFFLINE": "true",
        "YOLO_VERBOSE": "false",
        "YOLO_CONFIG_DIR": str(place),
        "ULTRALYTICS_SAFE_LOAD": "true",
    }
    options, opened, saved = np.get_printoptions(), Image.open, torch.save
    from ultralytics.nn import tasks

    Image.open, torch.save = opened, saved  # it changes these for everybody, and these two
    np.set_printoptions(**options), torch.set_printoptions(profile="default")
    shutil.rmtree(place, ignore_errors=True)
    return tasks
