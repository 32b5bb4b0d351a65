"""Your own photographs in the explorer: a folder without captions, seen by a trained matcher.

`./run_all.sh lab --photos DIR` names the folder. The matchers are those of the results folder with
the most of them whose training photographs were seen by the packaged image tower. What they need
besides is in the run store, so the photographs that they were trained on may have gone.
"""

import os
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from alignbook.backbones import extraction, packaged
from alignbook.backbones.inputs import Inputs
from alignbook.core.names import PROFILES
from alignbook.datasets import picture_folder
from alignbook.explorer import stored_models
from alignbook.explorer.stored_models import Place
from alignbook.store import fingerprint, runs
from alignbook.workbook.lab import PHOTOS

# Bytes a picture in the run store: regions, patches and the regions' order.
STORED = 2 * (49 * packaged.REGION_WIDTH + 196 * packaged.PATCH_WIDTH) + 49
MISSING = (
    "Your photographs are not shown yet: no model here is trained on photographs. "
    "./run_all.sh --data flickr8k=DIR --profile smoke chan-T3 trains some within minutes, "
    "--profile laptop better ones; then start ./run_all.sh lab --photos again."
)
SMALL = (
    " They trained for a few steps only and find little: ./run_all.sh --data flickr8k=DIR chan-T3 "
    "trains better ones, within an hour."
)


@dataclass(frozen=True)
class OwnPhotographs:
    """A folder of pictures; to the explorer what a workbook is.

    Attributes
    ----------
    folder : whose pictures these are. Nothing is written there.
    out : results folder whose matchers look at them; the pictures are kept in its `photos`.
    base : key of the run that has the matchers' word vectors.
    device : torch device that the image tower runs on.
    """

    folder: Path
    out: Path
    base: str
    device: str = "cpu"

    def inputs(self, domain: str = "A") -> Inputs:
        """The pictures, decoded, and their region features: made on first use, with a bar.

        Prints how many pictures there are, and which files are skipped and why.
        """
        return _inputs(self)


@cache
def _inputs(own: OwnPhotographs) -> Inputs:
    root = own.out / "photos"
    dataset = picture_folder.prepare(own.folder, root, packaged.PIXELS, STORED)
    print(*picture_folder.skipped(dataset), sep="\n")
    features = runs.get(extraction.Images(), 0, (dataset,), device=own.device)
    return Inputs(dataset, features, runs.stored(own.base))


def book(data: str = "world"):
    """The workbook whose matchers look at your photographs; None where Lab was started without any,
    where there are no such matchers, or the notebook asks for other data than it comes with.

    A job of the main job, which may have been started from a terminal of Lab, looks at none.
    """
    if data != "world" or stored_models.in_batch() or not os.environ.get(PHOTOS):
        return None
    found = _models()
    return found[0] if found else None


def places(book) -> dict[str, Place]:
    """Your photographs as a place to look at, by name; {} where Lab was started without any.

    Where nothing is trained that could look at them a line says how to do it.
    """
    folder = os.environ.get(PHOTOS)
    if not folder:
        return {}
    found = _models(book)
    if not found:
        print(MISSING)
        return {}
    trained, base, methods = found
    small = SMALL * (trained.profile.name == "smoke")
    print(f"Your photographs are looked at by the models of {trained.out.name}.{small}")
    own = OwnPhotographs(Path(folder).resolve(), trained.out, base, trained.device)
    return {picture_folder.NAME: Place(own, "A", methods)}


def _models(*first) -> tuple | None:
    """Workbook, key of its base model and its methods (label → seed → key) that suit. If
    several workbooks suit, the given one is taken, otherwise the one with most methods; ties go to
    the largest profile.
    """
    found = []
    for each in (*first, *stored_models.workbooks()):
        if (suits := _suited(each)) and (
            each in first or each.out not in [f[0].out for f in found]
        ):
            found.append((each, *suits))
    return max(
        found,
        key=lambda f: (f[0] in first, len(f[2]), PROFILES.index(f[0].profile.name)),
        default=None,
    )


def _suited(book) -> tuple[str, dict] | None:
    """Key of the base model and the methods of a workbook whose photographs were cut, and seen by
    the same tower, as these are; None where there are none.
    """
    profile = book.profile
    if not book.pretrained or (profile.fit, profile.size) != ("crop", packaged.PIXELS):
        return None
    suited, bases = {}, []
    for label, keys in stored_models.methods(book).items():
        for seed, key in keys.items():
            inputs = runs.stored(key).record["inputs"]
            if len(inputs) == 3 and _is_seen_alike(inputs[1]) and runs.is_stored(inputs[2]):
                bases.append(inputs[2])
                if inputs[2] == bases[0]:
                    suited.setdefault(label, {})[seed] = key
    return (bases[0], suited) if suited else None


def _is_seen_alike(features: str) -> bool:
    """Whether a run of region features is of the tower, its cells and its code as they are now."""
    run = runs.Run(features, runs.STORE / features)  # its record alone, not its gigabyte
    try:
        of_tower = run.record["module"] == extraction.__name__
        return (
            of_tower
            and runs.is_of_this_code(run)
            and fingerprint.key(run.config) == fingerprint.key(asdict(extraction.Images()))
        )
    except (OSError, ValueError, KeyError):  # gone, or no run but features that came with the data
        return False
