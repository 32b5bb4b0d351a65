"""A workbook: one profile on one data set, and the folder its results go to."""

import dataclasses
import os
import shlex
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from alignbook import ROOT
from alignbook.backbones.inputs import Inputs
from alignbook.store import allocator
from alignbook.workbook import folders, profiles
from alignbook.workbook.profiles import Profile


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

    @property
    def kind(self) -> str:
        """The data set's name: "world", "flickr8k", …"""
        return self.data.partition("=")[0]

    @property
    def pretrained(self) -> bool:
        """Whether pictures and captions are seen and read by the packaged towers."""
        return self.profile.base == "photo-pretrained"

    @property
    def trained(self) -> dict[str, str]:
        """How `runs.get` has a model trained: on which device, in which precision."""
        return {"device": self.device, "precision": self.profile.precision}

    @property
    def base_seeds(self) -> range:
        """Seeds of the table of base models; the methods start from seed 0."""
        return range(self.profile.base_seeds)

    def arms(self, exhibit: str):
        """The runs of an exhibit's arms, a table: see `results.arms`."""
        from alignbook.workbook import results

        return results.arms(self, exhibit)

    def dataset(self, domain: str = "A"):
        """The prepared data set; made on first use, memory-mapped afterwards.

        The world has three domains: methods are trained and tested on "A" and "B", base models are
        pretrained on "W". Photographs have one. What lies in a user's folder is looked at once a
        process.
        """
        return _prepared(self.data, self.profile, ROOT / "data", domain)

    def base(self, recipe: str = "", seed: int = 0, dataset=None):
        """The stored run of a base model, the profile's or that of a recipe; trained on first use, on
        the profile's data unless told.

        The world's are trained on domain W, so that A and B are new to them. A pretrained one
        ("openclip:…", "checkpoint:…", "huggingface:…") is only measured. None where the data set
        comes with region features and no pictures.
        """
        from alignbook.backbones import base, locked
        from alignbook.store import runs

        dataset = dataset or self.dataset()
        if dataset.images is None:
            return None
        if not recipe and ":" in self.profile.base:
            from alignbook.backbones import pretrained

            source = pretrained.parse(self.profile.base)
            pretrained.remember(source, runs.STORE)
            return runs.get(
                pretrained.Config(source.label), 0, (dataset, source), device=self.device
            )
        if self.pretrained and not recipe:
            inputs = dataset, self.seen(), self.words()
            return runs.get(locked.configure(self.profile), seed, inputs, **self.trained)
        config = base.configure(self.profile, recipe)
        start = [self.base("world-clip", seed)] if config.recipe == "world-negclip" else []
        return runs.get(config, seed, (self.home() or dataset, *start), **self.trained)

    def measured(self, recipe: str = "", seed: int = 0):
        """A base model's run with what it does on A and B, new to it, and on swaps; in the world."""
        from alignbook.backbones import transfer
        from alignbook.store import runs

        run = self.base(recipe, seed)
        if self.kind != "world":
            return run
        away = self.dataset("A"), self.dataset("B")
        return runs.get(transfer.Config(), seed, (run, self.home(), *away), device=self.device)

    def features(self, domain: str = "A"):
        """The region features: the data set's own, or those of the base model, a stored run; of the
        packaged towers all that they make of the data.
        """
        from alignbook.backbones import region_features
        from alignbook.store import runs

        dataset = self.dataset(domain)
        if dataset.regions is not None:
            return region_features.Given(dataset)
        if self.pretrained:
            return self.seen(domain)
        home = self.home(domain)
        return runs.get(
            region_features.Config(), 0, (dataset, self.base(), home), device=self.device
        )

    def seen(self, domain: str = "A"):
        """What the packaged image tower makes of the pictures: a stored run."""
        from alignbook.backbones import extraction
        from alignbook.store import runs

        return runs.get(extraction.Images(), 0, (self.dataset(domain),), device=self.device)

    def words(self, domain: str = "A"):
        """What MiniLM, as it is, makes of the captions: a stored run."""
        from alignbook.backbones import extraction
        from alignbook.store import runs

        return runs.get(extraction.Captions(), 0, (self.dataset(domain),), device=self.device)

    def bert(self):
        """BERT: a small one pretrained on captions, in the world on those of W as the papers' is on
        other text than theirs; what MiniLM makes of the captions; or the one that is named.
        """
        from alignbook.backbones import bert
        from alignbook.store import runs

        if self.profile.bert == "minilm":
            return self.words()
        if self.profile.bert != "captions":
            return bert.Pretrained(self.profile.bert)
        config = bert.Config(steps=self.profile.bert_steps)
        return runs.get(config, 0, (self.home() or self.dataset(),), **self.trained)

    def on(self, data: str, *own: str, **changes) -> "Workbook":
        """The workbook of other data, with those fields of the profile that it has for these data."""
        there = profiles.get(self.profile.name, data)
        changes |= {field: getattr(there, field) for field in own}
        return dataclasses.replace(
            self, data=data, profile=dataclasses.replace(self.profile, **changes)
        )

    def home(self, domain: str = "A"):
        """The data set that base models and BERT were trained on where it is another than a domain:
        the world's W; None for W itself and for photographs.
        """
        return self.dataset("W") if self.kind == "world" and domain != "W" else None

    def inputs(self, domain: str = "A", with_bert: bool = False) -> Inputs:
        """What the runs of a method on region features start from, BERT if it takes one."""
        domain = domain if self.kind == "world" else "A"  # others have one
        bert = self.bert() if with_bert else None
        return Inputs(
            self.dataset(domain), self.features(domain), self.base(), self.home(domain), bert
        )


@cache
def _prepared(data: str, profile: Profile, folder: Path, domain: str):
    from alignbook.datasets import by_name

    return by_name.prepare(data, profile, folder, domain)


def open(
    profile: str = "laptop",
    data: str = "world",
    seeds: int = 0,
    settings: str = "",
    out: str = "",
    device: str = "auto",
) -> Workbook:
    """The workbook of a notebook's parameters. What its process frees stays with it from now on
    (`allocator.keep_freed`): cells may train step by step.

    Parameters
    ----------
    profile, data : as on the command line. An empty profile is that of `most_complete`, with the
        settings that its results were computed with, except those given here; smoke where there
        are none.
    seeds : how many; 0 means the profile's own number.
    settings : "key=value key=value", as `--set` takes them one by one; a value with a space in
        it in quotes.
    out : results folder; empty means `results/<data>-<profile>` of this project, and
        `results/<data>-<profile>-by-hand` where seeds or settings differ from the profile's.
    device : torch device; "auto" is cuda where there is one, otherwise cpu.

    Examples
    --------
    >>> open("smoke", settings="chan_steps=5").profile.chan_steps
    5
    """
    allocator.keep_freed()
    kind, overrides = data.partition("=")[0], {}
    if not profile:
        found = most_complete(kind)
        profile = found.name.rpartition("-")[2] if found else "smoke"
        print(
            f"profile {profile}: the most that is computed here"
            if found
            else "nothing is computed here yet, ./run_all.sh does it; this is the smoke profile, in small"
        )
        if found and not (seeds or settings or out):
            return dataclasses.replace(load(found), data=data)
        if found:
            said = folders.settings_of(found)
            overrides = said["set"] | ({"seeds": str(said["seeds"])} if said["seeds"] else {})
    overrides |= dict(pair.split("=", 1) for pair in shlex.split(settings))
    if seeds:
        overrides["seeds"] = str(seeds)
    by_hand = "-by-hand" if overrides else ""
    folder = Path(out) if out else ROOT / "results" / f"{kind}-{profile}{by_hand}"
    if device == "auto":
        import torch

        device = "cuda" if torch.cuda.is_available() else "cpu"
    return Workbook(profiles.get(profile, kind, overrides), data, folder, device)


def most_complete(kind: str) -> Path | None:
    """The results folder of a data set in which most notebooks are done; among equal ones that of
    the largest profile. None where the main job has finished no notebook.
    """
    folders = [ROOT / "results" / f"{kind}-{name}" for name in profiles.PROFILES]
    done = [len(list(folder.glob("notebooks/*.done"))) for folder in folders]
    best = max(range(len(folders)), key=lambda i: (done[i], i))
    return folders[best] if done[best] else None


def load(out: Path) -> Workbook:
    """The workbook whose settings the command line left in `out/settings.json`.

    Raises
    ------
    DataError
        That file is not there, or not as it was written.
    """
    said = folders.settings_of(out)
    settings = shlex.join(f"{k}={v}" for k, v in said["set"].items())
    return open(
        said["profile"], said["data"], said["seeds"] or 0, settings, os.fspath(out), said["device"]
    )
