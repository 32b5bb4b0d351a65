"""The run store: every expensive result is kept under a key of all it depends on.

`get(config, seed, inputs)` returns at once if the result is stored and computes it otherwise, by
`config.compute`. A run is written aside, brought to the disk and renamed when whole. Its record
states the size and hash of each of its files: a run that is no longer as it was written is set
aside and computed again.
"""

import contextlib
import dataclasses
import json
import shutil
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Protocol

import numpy as np

from alignbook import ROOT
from alignbook.store import durable, owners, progress, ranks
from alignbook.store.fingerprint import code_hash, key

STORE = ROOT / "results" / "store"
VERSIONS = ("torch", "numpy", "timm", "open_clip_torch", "transformers")
FORMAT = 1  # of what lies in a run's folder; where it is another, runs are computed anew
# What a key is made of; the other fields of a record say how its computation went.
ORIGIN = ("module", "config", "seed", "inputs", "device", "dtype", "versions", "code", "format")


@dataclass(frozen=True)
class Run:
    """A stored result: its key, its folder, and what lies in it."""

    key: str
    folder: Path

    @cached_property
    def record(self) -> dict:
        """Config, seed, inputs, versions, code, device, seconds: where the result comes from."""
        return json.loads((self.folder / "run.json").read_text())

    @property
    def config(self) -> dict:
        return self.record["config"]

    @cached_property
    def metrics(self) -> dict:
        return json.loads((self.folder / "metrics.json").read_text())

    def array(self, name: str) -> np.ndarray:
        """An array of the run, memory-mapped."""
        return np.load(self.folder / f"{name}.npy", mmap_mode="r")

    def has(self, name: str) -> bool:
        """Whether the run left such an array."""
        return (self.folder / f"{name}.npy").exists()

    def weights(self) -> dict:
        from safetensors.torch import load_file

        return load_file(self.folder / "weights.safetensors")


class Stored(Protocol):
    """What a method asks of a result it starts from: a `Run`, or what stands in for one."""

    @property
    def key(self) -> str: ...

    @property
    def metrics(self) -> dict: ...

    def array(self, name: str) -> np.ndarray:
        """An array that was left, memory-mapped."""


class Config(Protocol):
    """A frozen dataclass of settings that says how its run is computed.

    With several ranks (`ranks`) the first computes it while the others wait, unless its `together`
    is true: then all call `compute`, and what the others leave in their folders goes.
    """

    def compute(self, inputs: Sequence, seed: int, folder: Path, device: str) -> dict:
        """Do the work, leave files in `folder`, return the metrics."""


def get(
    config: Config,
    seed: int,
    inputs: Sequence = (),
    device: str = "cpu",
    wait: bool = True,
    precision: str = "",
) -> Run:
    """The run of a config and a seed on its inputs, computed if it is not stored.

    Parameters
    ----------
    config : its fields, and the code of its module, are part of the key.
    inputs : data sets and other runs the computation reads, None where it goes without; their
        keys are part of the key.
    wait : for another process that computes it; otherwise BlockingIOError.
    precision : of training, part of the key: "float32", "tf32" or "bf16" (`core.precision`). Empty
        means that of the run at work here that asks for this one, and float32 where there is none.

    Returns
    -------
    Run
    """
    module, kind = type(config).__module__, precision or _precisions[-1]
    origin = {
        "module": module,
        "config": dataclasses.asdict(config),
        "seed": seed,
        "inputs": [getattr(i, "key", None) or i.fingerprint for i in inputs if i is not None],
        "device": device.partition(":")[0],
        "dtype": kind,
        "versions": _versions(),
        "code": code_hash(module),
        "format": FORMAT,
    }
    name = key(origin)
    run = Run(name, STORE / name)
    if _computing:
        _computing[-1].append(name)
    if ranks.told(lambda: is_stored(name)):
        return run
    with contextlib.ExitStack() as held:
        taking = owners.claimed(STORE / ".locks", name, wait)
        claim = ranks.told(lambda: held.enter_context(taking))
        if not ranks.told(lambda: is_stored(name)):
            with _at_precision(kind):
                _compute_with_all(config, seed, inputs, device, origin, run, claim)
    return run


_precisions = ["float32"]  # of each run at work here, after what holds where there is none


def precision() -> str:
    """In what precision the run at work here is trained, float32 outside of any."""
    return _precisions[-1]


@contextlib.contextmanager
def _at_precision(kind: str):
    _precisions.append(kind)
    try:
        yield
    finally:
        _precisions.pop()


def key_of(record: dict) -> str:
    """The key of a run, computed again from its record."""
    return key({name: record[name] for name in ORIGIN})


@cache
def _versions() -> dict[str, str]:
    """Asked once a process: each answer is read from a file, and there are thousands of keys."""
    return {name: version(name) for name in VERSIONS}


def is_stored(name: str) -> bool:
    """Whether a key's run is there, every file of it as it was written."""
    return (STORE / name / "run.json").exists() and not fault(name)


OTHER = "a run of another version of the workbook"
_sound: dict[Path, tuple] = {}  # runs that were looked at here, and how their record looked


def fault(name: str) -> str:
    """What is wrong with a run that is there, "" if nothing is; its files are read once a process,
    and not even once where they look as they did when another process read them.
    """
    folder = STORE / name
    try:
        stat = (folder / "run.json").stat()
        looks = stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino
        if _sound.get(folder) == looks:
            return ""
        record = json.loads((folder / "run.json").read_bytes())
        said = dict(record)
        if "seal" not in said:
            return OTHER
        if said.pop("seal") != key(said) or said["key"] != name:
            return f"{folder / 'run.json'}: altered, it is not as it was written"
        wrong = durable.fault(folder, said["files"], STORE / ".hashes" / f"{name}.json")
    except (OSError, ValueError, TypeError, AttributeError, KeyError) as error:
        told = error.strerror if isinstance(error, OSError) else "not a whole record of a run"
        return f"{folder / 'run.json'}: {told}"
    if not wrong:
        _sound[folder] = looks
    return wrong


def drop(name: str) -> bool:
    """Set a run aside if anything is wrong with it, and say so; whether that was so."""
    if not (STORE / name).exists():
        return False
    wrong = fault(name)
    if wrong:
        durable.set_aside(STORE / name, f"run {name}: {wrong}", "the run is computed again")
    return bool(wrong)


def is_of_this_code(run: Run) -> bool:
    """Whether a run was computed by the code as it is now."""
    return run.record["code"] == code_hash(run.record["module"])


def stored(name: str) -> Run:
    """The run of a key that is known to be stored."""
    run = Run(name, STORE / name)
    if not is_stored(name):
        raise FileNotFoundError(
            f"run {name} is not in {STORE}, or no longer as it was written "
            f"({fault(name)}): start ./run_all.sh again"
        )
    return run


_computing: list[list[str]] = []  # of each run at work here, the runs that it asked for


def _compute_with_all(config, seed, inputs, device, *what) -> None:
    """`_compute` on rank 0, while other ranks help or wait. An error of rank 0 ends it, and by
    torchrun the others.
    """
    together = getattr(config, "together", False)
    if ranks.rank() == 0:
        with contextlib.nullcontext() if together else ranks.alone():
            _compute(config, seed, inputs, device, *what)
    elif together:
        with tempfile.TemporaryDirectory() as aside:
            config.compute(inputs, seed, Path(aside), device)
    ranks.told(lambda: None)  # the run is whole


def _compute(config, seed, inputs, device, origin, run: Run, claim: owners.Claim) -> None:
    drop(run.key)
    partial = _begun(claim, run.key)
    began = time.time()
    _computing.append([])
    try:
        metrics = config.compute(inputs, seed, partial, device)
    except (ValueError, ArithmeticError):  # of the input: to go on would end in the same
        shutil.rmtree(partial, ignore_errors=True)
        raise
    except OSError:
        claim.check()  # the folder went with the run
        raise
    finally:
        asked = _computing.pop()
    (partial / "metrics.json").write_text(json.dumps(metrics, indent=1))
    for left in partial.glob("checkpoint.*"):
        left.unlink()
    shutil.rmtree(partial / ".bad", ignore_errors=True)  # checkpoints that were set aside
    (partial / "run.json").unlink(missing_ok=True)
    record = origin | {
        "key": run.key,
        "asked": asked,
        "ranks": ranks.count(),
        "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "seconds": round(time.time() - began, 2),
        "files": durable.described(partial),
    }
    (partial / "run.json").write_text(json.dumps(sealed(record), indent=1))
    claim.check()
    durable.replace(partial, run.folder)


def _begun(claim: owners.Claim, name: str) -> Path:
    """The folder in which a claim's owner works, with what owners before it left.

    It has the claim's number: one who lost the run finds no folder to write to.
    """
    parts = STORE / ".partial"
    own = parts / f"{name}.{claim.number}"
    parts.mkdir(parents=True, exist_ok=True)
    before = [each for each in parts.glob(f"{name}.*") if each != own]
    for left in sorted(before, key=lambda each: int(each.suffix[1:]), reverse=True):
        if own.exists():
            shutil.rmtree(left, ignore_errors=True)
        else:
            left.replace(own)
    own.mkdir(exist_ok=True)
    for left in own.glob("*.json"):  # such as complaints so far; a disk may have lost them
        try:
            json.loads(left.read_bytes())
        except ValueError:
            durable.set_aside(left, f"{left}: cut or altered", "it is begun anew")
    return own


def sealed(record: dict) -> dict:
    """A run's record with a hash of itself, by which `fault` knows that nobody altered it."""
    return record | {"seal": key(record)}


def several(
    wanted: list[tuple], inputs: Sequence = (), device: str = "cpu", precision: str = ""
) -> list[Run]:
    """The runs of some (config, seed) on the same inputs.

    One that another process is at work on is left for later: two that want the same share the work.
    """
    left = list(wanted)
    while left:
        done = next(
            (each for each in left if _unless_at_work(*each, inputs, device, precision)), None
        )
        if not done:  # others are at work on all of them
            done = left[0]
            get(*done, inputs, device, precision=precision)
        left.remove(done)
        progress.trained()
    return [get(config, seed, inputs, device, precision=precision) for config, seed in wanted]


def _unless_at_work(config, seed: int, inputs: Sequence, device: str, precision: str) -> Run | None:
    """`get`, or None where another process computes it."""
    with contextlib.suppress(BlockingIOError):
        return get(config, seed, inputs, device, wait=False, precision=precision)


class ArmsIdentical(ValueError):
    """Two arms of a sweep trained the same model: what tells them apart had no effect."""


def check_arms_differ(arms: dict[str, Run], least: float = 1e-4) -> dict[tuple[str, str], float]:
    """Make sure that the arms of a training sweep trained different models.

    Parameters
    ----------
    arms : runs of one seed by arm name.
    least : the relative difference of early gradients that two arms must exceed.

    Returns
    -------
    The relative gradient difference of every pair of arms.

    Raises
    ------
    ArmsIdentical
        Naming a pair whose parameters after training are equal, or whose gradients within the
        first steps nowhere differ by more than `least`.
    """
    names, found = list(arms), {}
    for i, a in enumerate(names):
        for b in names[i + 1 :]:
            if arms[a].metrics["checksum"] == arms[b].metrics["checksum"]:
                raise ArmsIdentical(f"arms {a!r} and {b!r} ended with the same parameters")
            ga, gb = arms[a].array("gradients"), arms[b].array("gradients")
            if ga.shape != gb.shape:
                found[a, b] = np.inf
                continue
            size = np.maximum(np.linalg.norm(ga, axis=1), np.linalg.norm(gb, axis=1))
            apart = np.linalg.norm(ga - gb, axis=1) / np.maximum(size, 1e-30)
            found[a, b] = float(apart.max())
            if found[a, b] <= least:
                raise ArmsIdentical(
                    f"arms {a!r} and {b!r}: early gradients differ by {found[a, b]:.1e} "
                    f"relative, at least {least:.0e} is expected of arms that train differently"
                )
    return found
