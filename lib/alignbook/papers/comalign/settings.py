"""ComAlign's settings that name files or data: where its components come from, and its source."""

from collections.abc import Sequence
from pathlib import Path

# What a setting says that names files, but for these words.
WORDS = {
    "parser": ("captions", "none"),
    "boxes": ("detector", "gold", "grid", "none"),
    "probes": ("none",),
    "comalign_source": ("",),
}
# The setting that names the data heads are trained on, and what the paper profile takes for a target.
SOURCES = {"comalign_source": {"coco": "flickr30k"}}
# Settings that the data of a source have for themselves, and of which some name files.
OF_SOURCES = ("boxes",)
# What the paper profile takes from below data/ where it was fetched: the same by its folder.
FETCHED = {"parser": "spacy/en_core_web_sm/en_core_web_sm-3.8.0"}


def held(name: str, value: str, profile, data: str) -> str:
    """Hash of what the files hold that a setting names; for a source with its name before it."""
    place = Path(value).expanduser()
    if name == "comalign_source":
        from alignbook.datasets import by_name

        return f"{value.partition('=')[0]} {by_name.source(value, profile)}"
    if name == "parser":
        from alignbook.backbones import pipelines
        from alignbook.papers.comalign.components import parser

        treebank = parser.is_treebank(value)
        return parser.Treebank(place).key if treebank else pipelines.Named(value).fingerprint
    if name == "probes":
        from alignbook.papers.comalign.components import probes

        return probes.Brought(place).fingerprint
    from alignbook.papers.comalign.components import detector, vectors

    if value.endswith(".pt"):
        return detector.Weights(value).key
    if value == "instances":
        return vectors.instances_below(Path(data.partition("=")[2])).fingerprint
    return vectors.Files((place,)).fingerprint


def problem(name: str, profile, data: str, exhibits: Sequence[str] = ()) -> str:
    """What speaks against a profile's "parser", "boxes" or "probes" on some data, "" if nothing."""
    from alignbook.papers.comalign.components import obstacles

    return obstacles.problem(name, profile, data)
