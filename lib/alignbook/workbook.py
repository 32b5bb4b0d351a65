"""A workbook: one profile on one data set, and the folder its results go to."""

import json
import os
from dataclasses import dataclass
from pathlib import Path

from alignbook import ROOT, profiles
from alignbook.profiles import Profile


@dataclass(frozen=True)
class Workbook:
    """What every notebook and job starts from.

    Attributes
    ----------
    profile : sizes, steps, seeds.
    data : "world" or "flickr8k=DIR" and the like.
    out : results folder, `results/<data>-<profile>`.
    device : torch device the models run on.
    """

    profile: Profile
    data: str
    out: Path
    device: str = "cpu"

    @property
    def seeds(self) -> range:
        """Reporting seeds, 0 to n-1; tuning uses seeds from 1000 on."""
        return range(self.profile.seeds)

    def dataset(self):
        """The prepared data set; made on first use, memory-mapped afterwards."""
        from alignbook import datasets

        return datasets.prepare(self.data, self.profile, ROOT / "data")

    def base(self):
        """The stored run of the base model; trained on first use."""
        from alignbook import base, runs

        config = base.configure(self.profile)
        return runs.get(config, 0, self.dataset(), device=self.device)

    def features(self):
        """The stored run of the frozen region features; computed on first use."""
        from alignbook import features, runs

        return runs.get(features.Config(), 0, self.dataset(), self.base(), device=self.device)


def open(profile: str = "laptop", data: str = "world", seeds: int = 0, settings: str = "",
         out: str = "", device: str = "auto") -> Workbook:
    """The workbook of a notebook's parameters.

    Parameters
    ----------
    profile, data : as on the command line.
    seeds : how many; 0 means the profile's own number.
    settings : "key=value key=value", as `--set` takes them one by one.
    out : results folder; empty means `results/<data>-<profile>` of this project, and
        `results/<data>-<profile>-by-hand` where seeds or settings differ from the profile's.
    device : torch device; "auto" is cuda where there is one, else cpu.

    Examples
    --------
    >>> open("smoke", settings="chan_steps=5").profile.chan_steps
    5
    """
    overrides = dict(pair.split("=", 1) for pair in settings.split())
    if seeds:
        overrides["seeds"] = str(seeds)
    kind = data.partition("=")[0]
    by_hand = "-by-hand" if overrides else ""
    folder = Path(out) if out else ROOT / "results" / f"{kind}-{profile}{by_hand}"
    if device == "auto":
        import torch

        device = "cuda" if torch.cuda.is_available() else "cpu"
    return Workbook(profiles.get(profile, kind, overrides), data, folder, device)


def load(out: Path) -> Workbook:
    """The workbook whose settings the command line left in `out/settings.json`."""
    said = json.loads((Path(out) / "settings.json").read_text())
    settings = " ".join(f"{k}={v}" for k, v in said["set"].items())
    return open(said["profile"], said["data"], said["seeds"] or 0, settings,
                os.fspath(out), said["device"])
