"""The files that settings name, by what they hold.

Snakemake compares these instead of places: a file that was replaced counts as another setting, and
a folder that was moved as the same. Runs have keys of their own, made of the same hashes.
"""

import hashlib
import json
from pathlib import Path

from alignbook.errors import DataError
from alignbook.store import contents

# What a setting says that names files, but for these words.
WORDS = {
    "base": (),
    "bert": ("captions",),
    "covalign_vit": ("base",),
    "gsl_noise_index": ("drawn",),
    "parser": ("captions", "none"),
    "boxes": ("detector", "gold", "grid", "none"),
    "probes": ("none",),
    "comalign_source": ("",),
}
COMPARED = ("profile", "data", "seeds", "set", "device", "source")


def files(profile, data: str) -> dict[str, str]:
    """What the files hold that a profile's settings name, by setting; "" where they are not there.

    Parameters
    ----------
    profile : Profile
    data : "world" or "flickr8k=DIR" and the like.

    Returns
    -------
    dict
        Of settings that name files alone. A model's hash has its label before it, which stands in
        results.
    """
    found = {}
    for name, words in WORDS.items():
        value = getattr(profile, name)
        if value not in words and (name != "base" or ":" in value):
            try:
                found[name] = _hash(name, value, profile, data)
            except (DataError, OSError):
                found[name] = ""
    return found


def _hash(name: str, value: str, profile, data: str) -> str:
    kind, _, folder = data.partition("=")
    if name == "gsl_noise_index":
        return contents.together(sorted(Path(value).expanduser().glob(f"{kind}_*.npy")))
    if name == "comalign_source":
        from alignbook.datasets import by_name

        return f"{value.partition('=')[0]} {by_name.source(value, profile)}"
    if name == "parser":
        from alignbook.papers.comalign.components import parser

        treebank = parser.is_treebank(value)
        return (
            parser.Treebank(Path(value).expanduser()).key
            if treebank
            else parser.Named(value).fingerprint
        )
    if name == "probes":
        from alignbook.papers.comalign.components import probes

        return probes.Brought(Path(value).expanduser()).fingerprint
    if name == "boxes":
        from alignbook.papers.comalign.components import detector, vectors

        if value.endswith(".pt"):
            return detector.Weights(value).key
        if value == "instances":
            return vectors.instances_below(Path(folder)).fingerprint
        return vectors.Files((Path(value).expanduser(),)).fingerprint
    from alignbook.backbones import bert, pretrained
    from alignbook.papers.covalign import two_towers

    model = {"base": pretrained.parse, "bert": bert.Pretrained, "covalign_vit": two_towers.ViT}
    source = model[name](value)
    return f"{source.label} {source.key}"


def compared(settings: dict) -> dict:
    """Settings as settings.json has them, with hashes of files in the place of their names."""
    known = settings.get("files", {})
    kept = {name: settings.get(name) for name in COMPARED} | {"files": known}
    if settings.get("source"):
        kept["data"] = settings["data"].partition("=")[0]
    return kept | {"set": {k: v for k, v in settings["set"].items() if k not in known}}


def short(settings: dict) -> str:
    """Six digits that tell settings of one profile apart."""
    said = compared(settings)
    told = [said["data"], said["seeds"], said["set"], said["files"], said["source"]]
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:6]
