"""The files that settings name, by what they hold.

Snakemake compares these instead of places: a file that was replaced counts as another setting, and
a folder that was moved as the same. Runs have keys of their own, made of the same hashes.
"""

import hashlib
import json

from alignbook.errors import DataError
from alignbook.workbook import chapters, profiles

# What a setting says that names files, but for these words: those of all, and those of each paper.
SHARED = {"base": (), "bert": ("captions", "minilm")}
WORDS = SHARED | {name: words for each in chapters.SETTINGS for name, words in each.WORDS.items()}
COMPARED = ("profile", "data", "seeds", "set", "device", "source")
HOW = ("processes",)  # settings that say how something is computed, and not what


def files(profile, data: str) -> dict[str, str]:
    """What the files hold that a profile's settings name, by setting; "" where they are not there.

    Parameters
    ----------
    profile : Profile
    data : "world" or "flickr8k=DIR" and the like.

    Returns
    -------
    dict
        Only for settings that name files. A model's hash has its label before it, which stands in
        results.

    Raises
    ------
    DataError
        A file is there and can't be read: whether it was swapped would stay unknown.
    """
    found = {}
    for name, words in WORDS.items():
        value = getattr(profile, name)
        if value not in words and (name != "base" or ":" in value):
            try:
                found[name] = _hash(name, value, profile, data)
            except (DataError, FileNotFoundError, NotADirectoryError):
                found[name] = ""
            except OSError as error:
                told = f"{error.filename or value}: {error.strerror}"
                raise DataError(f"{told}, expected a file that can be read") from None
    return found


def _hash(name: str, value: str, profile, data: str) -> str:
    if name in chapters.SOURCES:
        return _of_source(name, value, profile, data)
    if name not in SHARED:
        return chapters.settings_of(name).held(name, value, profile, data)
    from alignbook.backbones import bert, pretrained

    source = {"base": pretrained.parse, "bert": bert.Pretrained}[name](value)
    return f"{source.label} {source.key}"


def _of_source(name: str, value: str, profile, data: str) -> str:
    """What data hold that a setting names, and the files that their own settings name."""
    chapter, there = chapters.settings_of(name), profiles.get(profile.name, value)
    own = {each: getattr(there, each) for each in chapter.OF_SOURCES}
    found = [chapter.held(name, value, profile, data)]
    found += [
        chapter.held(each, said, there, value)
        for each, said in own.items()
        if said not in WORDS[each]
    ]
    return " ".join(found)


def compared(settings: dict) -> dict:
    """Settings as settings.json has them, with hashes of files in the place of their names."""
    known = settings.get("files", {})
    kept = {name: settings.get(name) for name in COMPARED} | {"files": known}
    if settings.get("source"):
        kept["data"] = settings["data"].partition("=")[0]
    return kept | {"set": {k: v for k, v in settings["set"].items() if k not in (*known, *HOW)}}


def short(settings: dict) -> str:
    """Six digits that tell settings of one profile apart."""
    said = compared(settings)
    told = [said["data"], said["seeds"], said["set"], said["files"], said["source"]]
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:6]
