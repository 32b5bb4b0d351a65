"""English pipelines of spaCy by their name or folder: a tagger and a parser of captions.

Nothing is downloaded, and nothing in a pipeline's files is executed.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from pathlib import Path

from alignbook.errors import DataError
from alignbook.store import contents

NEEDED = ("tok2vec", "tagger", "parser")
SETTINGS = "config.cfg"  # of a pipeline's folder


@dataclass(frozen=True)
class Named:
    """A pipeline by its name or folder; an input of the runs that parse with it."""

    name: str

    @property
    def is_there(self) -> bool:
        """Whether such a pipeline is installed, or lies in that folder; not whether it is whole."""
        return (located(self.name) / SETTINGS).is_file()

    @cached_property
    def fingerprint(self) -> str:
        """64 hex digits of the pipeline's files and spaCy's version, for a run's key."""
        digest = hashlib.sha256(f"spacy {version('spacy')}".encode())
        place = located(self.name)
        files = sorted(each for each in place.rglob("*") if each.is_file())
        for path, found in zip(files, contents.sha256(files), strict=True):
            digest.update(f"{path.relative_to(place)} {found}\n".encode())
        return digest.hexdigest()


def located(name: Path | str) -> Path:
    """The folder of a pipeline, or of an installed one by its name; which need not be there."""
    import spacy

    place = Path(name).expanduser()
    if not place.is_dir() and spacy.util.is_package(str(name)):
        about = spacy.util.get_package_path(str(name))
        meta = spacy.util.get_model_meta(about)
        place = about / f"{meta['lang']}_{meta['name']}-{meta['version']}"
    return place


def load(source):
    """The pipeline of a folder, or an installed one by its name; `source` is that, or a `Named`.

    Only its tok2vec, tagger and parser are loaded; their files hold numbers and plain values, no
    code.

    Raises
    ------
    DataError
        There is no such pipeline, it cannot be read, or it has no tagger or no parser.
    """
    import spacy

    source = source.name if isinstance(source, Named) else source
    place = located(source)
    if not (place / SETTINGS).is_file():
        raise DataError(
            f"{source}: neither an installed spaCy pipeline nor a folder of one (with "
            "config.cfg), and nothing is downloaded here; install the pipeline, or "
            "name its folder"
        )
    try:
        stated = spacy.util.load_config(place / SETTINGS)["components"]
        kinds = {name: stated[name]["factory"] for name in stated}
    except Exception as error:  # whatever a foreign configuration makes the library say
        raise DataError(
            f"{place / 'config.cfg'}: no pipeline ({_brief(error)}); take the pipeline again"
        ) from error
    if missing := [name for name in ("tagger", "parser") if name not in kinds.values()]:
        raise DataError(
            f"{source}: a pipeline of {', '.join(kinds) or 'nothing'} without a "
            f"{' and a '.join(missing)}, expected both; take another"
        )
    if heavy := [name for name in kinds if "transformer" in kinds[name]]:
        raise DataError(
            f"{source}: its tagger and parser rest on {heavy[0]!r}, expected ones of "
            "their own or on a tok2vec; take one without a transformer"
        )
    try:
        return spacy.load(place, exclude=[name for name in kinds if kinds[name] not in NEEDED])
    except Exception as error:
        raise DataError(
            f"{place}: the pipeline cannot be read ({_brief(error)}); take it again, "
            "of a version for spaCy 3"
        ) from error


def _brief(error: Exception) -> str:
    return " ".join(str(error).split())[:200]
