"""One training loop for all methods: checkpoints, exact resume, progress, gradient sketches."""

import hashlib
import math
import os
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from alignbook.core import parallel, precision
from alignbook.store import allocator, durable, progress, ranks, runs

# Seconds between checkpoints; the tests that kill a run shorten them.
CHECKPOINT_SECONDS = float(os.environ.get("ALIGNBOOK_CHECKPOINT_SECONDS", "15"))
SKETCH_STEPS, SKETCH_SIZE = (0, 1, 3, 7, 15, 31), 2048
DEV_LOOKS = 5  # points of a dev curve, besides the one before the first step


def epoch_order(n: int, seed: int, epoch: int) -> torch.Tensor:
    """The order of an epoch's samples `(n,) int64`: a function of seed and epoch alone.

    Nothing about the order has to be saved, and a resumed run draws what an unbroken one drew.
    """
    return torch.from_numpy(np.random.default_rng([seed, epoch]).permutation(n))


def pairs_in_batch(n_images: int, batch: int, captions_per_image: int, seed: int, step: int):
    """The step's images `(batch,)` and one caption of each `(batch,)`, both int64.

    An epoch passes every image once; each pass draws another of an image's captions in turn, so
    that `captions_per_image` epochs see every pair once and no batch holds an image twice.
    """
    per_epoch = max(1, n_images // batch)
    epoch, i = divmod(step, per_epoch)
    images = epoch_order(n_images, seed, epoch)[i * batch : (i + 1) * batch]
    start = np.random.default_rng([seed, 1]).integers(captions_per_image, size=n_images)
    turn = torch.from_numpy((start + epoch) % captions_per_image)[images]
    return images, images * captions_per_image + turn


def warmup_cosine(optimizer, steps: int, warmup: float = 0.1):
    """Learning rate: linear rise over the first `warmup` of the steps, then half a cosine to 0."""
    rise = max(1, int(warmup * steps))

    def factor(step):
        if step < rise:
            return (step + 1) / rise
        return 0.5 * (1 + math.cos(math.pi * (step - rise) / max(1, steps - rise)))

    return torch.optim.lr_scheduler.LambdaLR(optimizer, factor)


def looks(steps: int) -> list[int]:
    """After how many steps dev is looked at: before the first, and each fifth of them.

    >>> looks(12), looks(3)
    ([0, 3, 5, 8, 10, 12], [0, 1, 2, 3])
    """
    return sorted({-(-steps * k // DEV_LOOKS) for k in range(DEV_LOOKS + 1)})


@dataclass(frozen=True)
class Descent:
    """How a model is trained: by which optimiser, at which learning rates, for how many steps."""

    optimizer: torch.optim.Optimizer
    scheduler: torch.optim.lr_scheduler.LRScheduler
    steps: int
    clip: float = 0.0  # largest norm of the gradient, 0 for none


def fit(
    model,
    descent: Descent,
    loss_at,
    folder: Path,
    label: str,
    dev_at=None,
    dev_steps=None,
    trivial_at=None,
) -> dict:
    """Train for the descent's steps; resume from `folder/checkpoint.pt` if a whole one is there.

    Parameters
    ----------
    loss_at : step → scalar loss; draws its batch from the step number alone.
    folder : where the checkpoint lies until the run is whole.
    label : what a progress bar says.
    dev_at : number of steps taken → the value on dev that selection goes by. The model is in
        evaluation mode, without gradients; training goes on as if nobody had looked.
    dev_steps : the numbers of steps at which it is asked; by default `looks(steps)`.
    trivial_at : step → the loss of the step's batch if all its scores were equal: what knowing
        nothing costs. It is asked of the last step, as `dev_at` is.

    Returns
    -------
    dict with `loss` and `rate` (the first group's learning rate), one value a step; `dev`, a pair
    (steps taken, value) a look; `seconds` (training time without looks) and `dev seconds`, both
    added over resumes; `trivial`, None without `trivial_at`; `best`, the weights at the best look;
    and `gradients` `(S, 2048) float32`, some of the gradient's entries at early steps, by which
    `runs.check_arms_differ` tells arms.

    Steps have the precision of the run at work. All ranks take them, if there are several; 0 writes.
    """
    _prepare_torch()
    course, steps = _Course(model, descent), descent.steps
    checkpoint = course.begin(folder)
    dev_steps = looks(steps) if dev_steps is None else dev_steps
    model.train()
    if 0 in dev_steps and dev_at and not course.losses:
        course.look(dev_at, 0)
    began = saved = time.perf_counter()
    for step in range(len(course.losses), steps):
        loss = course.take(step, loss_at)
        if not np.isfinite(loss):
            raise FloatingPointError(
                f"{label}: the loss is {loss} at step {step} of {steps}. "
                "Lower the learning rate (--set) or look at the inputs for non-finite values."
            )
        if step + 1 in dev_steps and dev_at:
            course.look(dev_at, step + 1)
        now = time.perf_counter()
        if now - saved > CHECKPOINT_SECONDS or (step + 1 == steps and saved > began):
            if ranks.rank() == 0:
                keep(course.state(now - began), checkpoint)
            saved = now
        progress.show(label, step + 1, steps, loss, dev=course.dev[-1][1] if course.dev else None)
    model.eval()
    spent = time.perf_counter() - began
    trivial = _look(model, trivial_at, steps - 1) if trivial_at else None
    return course.outcome(spent) | {"trivial": trivial}


def _prepare_torch() -> None:
    allocator.keep_freed()
    torch.backends.cudnn.deterministic = True
    # Float32 means float32.
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False


class _Course:
    """A training under way: what is trained, and what it has come to."""

    def __init__(self, model, descent: Descent):
        self.model, self.clip, self.best = model, descent.clip, None
        self.optimizer, self.scheduler = descent.optimizer, descent.scheduler
        self.losses, self.rates, self.sketches, self.dev = [], [], [], []
        self.before = self.looking = 0.0  # seconds of earlier starts, and of looks
        self.precision = runs.precision()
        device = next(model.parameters()).device
        self.accelerator = precision.accelerator(device, self.precision)

    def begin(self, folder: Path) -> Path:
        """Go on from a whole checkpoint, or begin, all ranks as rank 0; the checkpoint's path."""
        folder = ranks.told(lambda: folder)
        checkpoint = folder / "checkpoint.pt"
        if ranks.told(lambda: are_whole(folder)):
            self.resume(torch.load(checkpoint, map_location="cpu", weights_only=True))
        parallel.begin_alike(self.model)
        return checkpoint

    def take(self, step: int, loss_at) -> float:
        """Take a step; its loss."""
        self.optimizer.zero_grad(set_to_none=True)
        with precision.tf32(self.precision == "tf32"):
            with self.accelerator.autocast():
                loss = loss_at(step)
            self.accelerator.backward(loss)
        parallel.average_gradients(self.model, self.accelerator)
        if step in SKETCH_STEPS:
            self.sketches.append(_gradient_sketch(self.model))
        if self.clip:
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
        self.rates.append(self.optimizer.param_groups[0]["lr"])
        self.optimizer.step()
        self.scheduler.step()
        self.losses.append(loss.item())
        return self.losses[-1]

    def look(self, dev_at, steps: int) -> None:
        """Ask for the value on dev after so many steps; keep the weights if it is the best so far."""
        paused = time.perf_counter()
        self.dev.append((steps, _look(self.model, dev_at, steps)))
        if best_look(self.dev) == len(self.dev) - 1:
            self.best = {k: v.detach().cpu().clone() for k, v in self.model.state_dict().items()}
        self.looking += time.perf_counter() - paused

    def state(self, seconds: float) -> dict:
        """What a checkpoint holds, `seconds` after this start."""
        return {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "scheduler": self.scheduler.state_dict(),
            "rng": torch.get_rng_state(),
            "losses": self.losses,
            "seconds": self.before + seconds,
            "sketches": self.sketches,
            "rates": self.rates,
            "dev": self.dev,
            "best": self.best,
            "dev seconds": self.looking,
            "cuda": torch.cuda.get_rng_state() if torch.cuda.is_initialized() else None,
        }

    def resume(self, state: dict) -> None:
        """Go on from a checkpoint."""
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.scheduler.load_state_dict(state["scheduler"])
        torch.set_rng_state(state["rng"])
        if state["cuda"] is not None:  # of the device at work; other ranks take it over
            torch.cuda.set_rng_state(state["cuda"])
        self.losses, self.rates = state["losses"], state["rates"]
        self.sketches, self.dev, self.best = list(state["sketches"]), state["dev"], state["best"]
        self.before, self.looking = state["seconds"], state["dev seconds"]

    def outcome(self, seconds: float) -> dict:
        """What `fit` returns, `seconds` after this start."""
        return {
            "loss": self.losses,
            "rate": self.rates,
            "dev": self.dev,
            "best": self.best,
            "seconds": self.before + seconds - self.looking,
            "dev seconds": self.looking,
            "gradients": torch.stack(self.sketches).numpy(),
        }


def _look(model, dev_at, step: int) -> float:
    """The value on dev; model and random numbers are as they were."""
    modes = [(part, part.training) for part in model.modules()]
    devices = range(torch.cuda.device_count()) if torch.cuda.is_initialized() else []
    model.eval()
    with torch.random.fork_rng(devices), torch.no_grad():
        value = float(dev_at(step))
    value = ranks.told(lambda: value)  # all ranks look; by rounding they might choose another best
    for part, mode in modes:
        part.training = mode
    return value


def best_look(dev: list) -> int:
    """Which look at dev, a pair (steps taken, value) each, is the best; the first of equal ones.

    >>> best_look([(0, 3.2), (4, 90.0), (8, 95.0), (12, 95.0)])
    2
    """
    return max(range(len(dev)), key=lambda i: dev[i][1])


def take_best(model, outcome: dict, part: str = "") -> dict:
    """Give a model that was trained, or that `part` of it, its weights at the best look of `fit`.

    Every arm is reported so, whatever it learnt afterwards [X]. Returns which look at dev it was:
    "best step", the steps taken then. The outcome's "checksum" is of what training came to.
    """
    outcome["checksum"] = checksum(model)
    best = outcome["best"].items()
    model.load_state_dict({name.removeprefix(part): x for name, x in best if name.startswith(part)})
    return {"best step": outcome["dev"][best_look(outcome["dev"])][0]}


def keep(state: dict, checkpoint: Path) -> None:
    """Leave a checkpoint that outlasts a power cut, its hash after its end."""
    aside = checkpoint.with_suffix(".tmp")
    torch.save(state, aside)
    durable.seal(aside)
    durable.replace(aside, checkpoint)


def are_whole(folder: Path) -> bool:
    """Whether there is a checkpoint to go on from, and all that lie there are as `keep` left them.

    Otherwise they are set aside, and training begins anew.
    """
    there = sorted(folder.glob("checkpoint.*pt"))
    bad = [path for path in there if not durable.is_sealed(path)]
    for path in bad:
        durable.set_aside(path, f"{path}: cut or altered", "training begins anew")
    for path in there if bad else ():
        path.unlink(missing_ok=True)
    return not bad and (folder / "checkpoint.pt").exists()


def _gradient_sketch(model) -> torch.Tensor:
    gradient = torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None])
    at = (
        torch.arange(SKETCH_SIZE, device=gradient.device) * (len(gradient) - 1) // (SKETCH_SIZE - 1)
    )
    return gradient[at].float().cpu()


def checksum(model) -> str:
    """16 hex digits over every parameter and buffer, in the order of their names."""
    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()[:16]


def save(model, outcome: dict, folder: Path) -> dict:
    """Leave weights, curves and gradient sketch of a finished `fit` in `folder`.

    `loss` and `rate` `(steps,) float32`; `dev` `(L, 2) float64`, steps taken and value of a look.
    Returns the metrics every run has: steps, parameters, seconds, the checksum of the parameters as
    training left them, and the trivial level of the loss where it is known.
    """
    from safetensors.torch import save_file

    weights = {k: v.detach().cpu().contiguous() for k, v in model.state_dict().items()}
    save_file(weights, folder / "weights.safetensors")
    np.save(folder / "loss.npy", np.asarray(outcome["loss"], np.float32))
    np.save(folder / "rate.npy", np.asarray(outcome.get("rate", []), np.float32))
    np.save(folder / "dev.npy", np.asarray(outcome.get("dev", []), np.float64).reshape(-1, 2))
    np.save(folder / "gradients.npy", outcome["gradients"])
    known = outcome.get("trivial") is not None
    level = {"trivial loss": round(outcome["trivial"], 6)} if known else {}
    return level | {
        "steps": len(outcome["loss"]),
        "parameters": sum(p.numel() for p in model.parameters()),
        "training seconds": round(outcome["seconds"], 3),
        "dev seconds": round(outcome.get("dev seconds", 0.0), 3),
        "checksum": outcome.get("checksum") or checksum(model),
    }
