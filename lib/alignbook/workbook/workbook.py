"""A workbook: one profile on one data set, and the folder its results go to."""

import dataclasses
import json
import os
import shlex
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from alignbook import ROOT
from alignbook.workbook import profiles
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
    def base_seeds(self) -> range:
        """Seeds of the table of base models; the methods start from seed 0."""
        return range(self.profile.base_seeds)

    def dataset(self, domain: str = "A"):
        """The prepared data set; made on first use, memory-mapped afterwards.

        The world has two domains, "A" and "B"; photographs have one. What lies in a user's folder
        is looked at once a process.
        """
        return _prepared(self.data, self.profile, ROOT / "data", domain)

    def base(self, recipe: str = "", seed: int = 0):
        """The stored run of a base model, the profile's or that of a recipe; trained on first use.

        A pretrained one ("openclip:…", "checkpoint:…", "huggingface:…") is only measured. None
        where the data set comes with region features and no pictures.
        """
        from alignbook.backbones import base
        from alignbook.store import runs

        dataset = self.dataset()
        if dataset.images is None:
            return None
        if not recipe and ":" in self.profile.base:
            from alignbook.backbones import pretrained

            source = pretrained.parse(self.profile.base)
            pretrained.remember(source, runs.STORE)
            return runs.get(pretrained.Config(source.label), 0, dataset, source, device=self.device)
        config = base.configure(self.profile, recipe)
        start = [self.base("world-clip", seed)] if config.recipe == "world-negclip" else []
        return runs.get(config, seed, dataset, *start, device=self.device)

    def measured(self, recipe: str = "", seed: int = 0):
        """A base model's run with what it does on domain B and on swaps; photographs have none."""
        from alignbook.backbones import transfer
        from alignbook.store import runs

        run = self.base(recipe, seed)
        if self.kind != "world":
            return run
        homes = self.dataset("A"), self.dataset("B")
        return runs.get(transfer.Config(), seed, run, *homes, device=self.device)

    def features(self, domain: str = "A"):
        """The region features: the data set's own, or those of the base model, a stored run."""
        from alignbook.backbones import region_features as features
        from alignbook.store import runs

        dataset = self.dataset(domain)
        if dataset.regions is not None:
            return features.Given(dataset)
        home = self._home(domain)
        return runs.get(features.Config(), 0, dataset, self.base(), home, device=self.device)

    def bert(self):
        """The BERT of the captions: a small one pretrained on them, or the one that is named."""
        from alignbook.backbones import bert
        from alignbook.store import runs

        if self.profile.bert != "captions":
            return bert.Pretrained(self.profile.bert)
        config = bert.Config(steps=self.profile.bert_steps)
        return runs.get(config, 0, self.dataset(), device=self.device)

    def towers(self) -> list:
        """What CoV-Align's towers are made from: the base model, or a ViT that is named; BERT."""
        from alignbook.papers.covalign import two_towers

        named = self.profile.covalign_vit
        return [self.base() if named == "base" else two_towers.ViT(named), self.bert()]

    def tokens(self):
        """Patches and words of CoV-Align's towers before any training of them, a stored run."""
        from alignbook.papers.covalign import two_towers
        from alignbook.store import runs

        config = two_towers.Config(whitened=self.profile.covalign_vit == "base")
        return runs.get(config, 0, self.dataset(), *self.towers(), device=self.device)

    def source(self) -> "Workbook":
        """The workbook of the data that ComAlign's heads are trained on: this one unless named.

        The base model is that of these data, so that the target is never seen. Boxes are those that
        the profile has for these data, whatever the target's are.
        """
        spec = self.profile.comalign_source
        if not spec:
            return self
        boxes = profiles.get(self.profile.name, spec).boxes
        own = dataclasses.replace(self.profile, comalign_source="", boxes=boxes)
        return dataclasses.replace(self, data=spec, profile=own)

    def components(self, domain: str = "A", recipe: str = "", boxes: str = "") -> list:
        """A data set and its entities and relations as a base model sees them, a stored run.

        `recipe` names a base model of the world, `boxes` where boxes come from; the profile's
        unless told.
        """
        from alignbook.papers.comalign.components import said, vectors
        from alignbook.store import runs

        dataset, images = self.dataset(domain), self.profile.comalign_images
        phrases = runs.get(said.Config(images=images), 0, dataset, self.parser())
        kind, places = self.boxes(domain, boxes)
        inputs = dataset, *self._base_and_home(domain, recipe), places, phrases
        config = vectors.Config(boxes=kind, images=images)
        return [dataset, runs.get(config, 0, *inputs, device=self.device)]

    def _base_and_home(self, domain: str, recipe: str) -> tuple:
        source = self.source()
        home = self._home(domain) if source is self else source.dataset()
        return source.base(recipe), home

    def boxes(self, domain: str = "A", said: str = "") -> tuple:
        """The kind of boxes as `vectors.boxes_of` takes it, and where they come from.

        `said`, the profile's unless told, is "detector", "gold" (both the world's), "grid",
        "instances" (COCO's), a JSON file of detections, or YOLO weights, a .pt file.
        """
        from alignbook.papers.comalign.components import detector, vectors
        from alignbook.store import runs

        said, folder = said or self.profile.boxes, Path(self.data.partition("=")[2])
        if said == "detector":
            return said, self.detector(domain)
        if said == "instances":
            return said, vectors.instances_below(folder)
        if said.endswith(".json"):
            return "detections", vectors.Files((Path(said),), folder)
        if said.endswith(".pt"):
            dataset, weights = self.dataset(domain), detector.Weights(said)
            side = max(224, dataset.images.shape[1])
            config = detector.Config(size=-(-side // 32) * 32)
            return "detector", runs.get(config, 0, dataset, weights, device=self.device)
        return said, None

    def probes(self, recipe: str):
        """Components of compositional probes as a base model sees them, a stored run.

        The world's own; with photographs those in the folder that the profile names.
        """
        from alignbook.papers.comalign.components import probes
        from alignbook.store import runs

        named = self.profile.probes
        brought = None if self.kind == "world" else probes.Brought(Path(named).expanduser())
        kind, places = self.boxes("A", "detector" if brought is None else "")
        inputs = self.dataset(), *self._base_and_home("A", recipe), places, self.parser(), brought
        return runs.get(probes.Config(boxes=kind), 0, *inputs, device=self.device)

    def detector(self, domain: str = "A"):
        """The run of the world's detector on a domain: trained on A's gold boxes, it sees both."""
        from alignbook.store import runs

        trained = runs.get(self._detector(), 0, self.dataset(), None, device=self.device)
        if domain == "A":
            return trained
        return runs.get(self._detector(), 0, self.dataset(domain), trained, device=self.device)

    def _detector(self):
        from alignbook.papers.comalign.components import detector

        small = dict(images=200, epochs=6) if self.profile.name == "smoke" else {}
        return detector.Config(**small)

    def parser(self):
        """What parses the captions: the run of a parser trained on a treebank, or a `parser.Named`.

        The profile's `parser` is "captions", the world's own parses; a folder with a treebank of
        Universal Dependencies; or an installed pipeline, by its name or folder.
        """
        from alignbook.papers.comalign.components import parser
        from alignbook.store import runs

        if self.profile.parser == "captions":
            small = dict(steps=100) if self.profile.name == "smoke" else {}
            config = dataclasses.replace(parser.WORLD, **small)
            return runs.get(config, 0, self.dataset(), device=self.device)
        if not parser.is_treebank(self.profile.parser):
            return parser.Named(self.profile.parser)
        treebank = parser.Treebank(Path(self.profile.parser).expanduser())
        return runs.get(parser.TREEBANK, 0, treebank, device=self.device)

    def inputs(self, domain: str = "A", with_bert: bool = False) -> list:
        """What a method's runs start from; None for what there is not.

        Data set, region features, base model, the data set the base model was trained on where
        that is another, and BERT if a method takes it.
        """
        domain = domain if self.kind == "world" else "A"  # others have one
        bert = self.bert() if with_bert else None
        return [self.dataset(domain), self.features(domain), self.base(), self._home(domain), bert]

    def _home(self, domain: str):
        return self.dataset() if self.kind == "world" and domain != "A" else None


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
    """The workbook of a notebook's parameters.

    Parameters
    ----------
    profile, data : as on the command line. An empty profile is that of `most_complete`, with the
        settings that its results were computed with, but for those given here; smoke where there
        are none.
    seeds : how many; 0 means the profile's own number.
    settings : "key=value key=value", as `--set` takes them one by one; a value with a space in
        it in quotes.
    out : results folder; empty means `results/<data>-<profile>` of this project, and
        `results/<data>-<profile>-by-hand` where seeds or settings differ from the profile's.
    device : torch device; "auto" is cuda where there is one, else cpu.

    Examples
    --------
    >>> open("smoke", settings="chan_steps=5").profile.chan_steps
    5
    """
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
            said = json.loads((found / "settings.json").read_text())
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
    """The results folder of a data set in which most notebooks are done; of equal ones that of the
    largest profile. None where the main job has finished no notebook.
    """
    folders = [ROOT / "results" / f"{kind}-{name}" for name in profiles.NAMES]
    done = [len(list(folder.glob("notebooks/*.done"))) for folder in folders]
    best = max(range(len(folders)), key=lambda i: (done[i], i))
    return folders[best] if done[best] else None


def load(out: Path) -> Workbook:
    """The workbook whose settings the command line left in `out/settings.json`."""
    said = json.loads((Path(out) / "settings.json").read_text())
    settings = shlex.join(f"{k}={v}" for k, v in said["set"].items())
    return open(
        said["profile"], said["data"], said["seeds"] or 0, settings, os.fspath(out), said["device"]
    )
