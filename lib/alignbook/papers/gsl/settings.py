"""GSL's setting that names files: noise index files, which say whose captions are swapped."""

from collections.abc import Sequence
from pathlib import Path

from alignbook.papers.gsl import catalogue
from alignbook.store import contents

WORDS = {"gsl_noise_index": ("drawn",)}  # what a setting says that names files, but for these words


def held(name: str, value: str, profile, data: str) -> str:
    """Hash of what the files hold that runs on some data read; others may lie beside them."""
    kind, folder = data.partition("=")[0], Path(value).expanduser()
    rates = sorted(set().union(*map(catalogue.rates, catalogue.EXHIBITS)))
    files = [folder / f"{kind}_{rate}.npy" for rate in rates]
    return contents.together([file for file in files if file.is_file()])


def problem(name: str, profile, data: str, exhibits: Sequence[str] = ()) -> str:
    """What speaks against a folder of noise files for some exhibits, "" if nothing does."""
    kind, value = data.partition("=")[0], profile.gsl_noise_index
    if value == "drawn":
        return ""
    own = [each for each in exhibits if each in catalogue.EXHIBITS]
    rates = sorted(set().union(*map(catalogue.rates, own)))
    folder = Path(value).expanduser()
    files = {rate: folder / f"{kind}_{rate}.npy" for rate in rates}
    missing = [file for file in files.values() if not file.is_file()]
    if folder.is_dir() and not missing:
        said = (wrong(file, float(rate), profile, kind) for rate, file in files.items())
        return next(filter(None, said), "")
    return (
        f"{missing[0] if folder.is_dir() else folder} not found, "
        f"expected a folder with {kind}_RATE.npy for RATE = {', '.join(rates)}; or "
        "leave it out, and the noise is drawn"
    )


def wrong(file: Path, rate: float, profile, kind: str) -> str:
    """What speaks against a noise file, "" if nothing does: its form, the number of its images
    where the profile or the data's kind says how many there are, and its true rate.
    """
    from alignbook.datasets import noise_index
    from alignbook.errors import DataError

    taken = _training_images(profile, kind)
    try:
        held = _images_of(file, taken)
        index = noise_index.read(file, held)
    except DataError as error:
        return str(error)
    if taken and held != taken:
        return (
            f"{file}: for {held:,} training images, expected the {taken:,} that the profile takes: "
            f"say --set gsl_images={held} too, or give a file for so many"
        )
    return catalogue.other_rate(file, noise_index.true_rate(index), rate)


def _images_of(file: Path, taken: int) -> int:
    """For how many images a file is: as many as are taken where its length says so, otherwise by
    its largest row, as every image stands there.
    """
    import numpy as np

    from alignbook.datasets.prepared import CAPTIONS_PER_IMAGE

    try:
        index = np.load(file, mmap_mode="r", allow_pickle=False)
        if taken and index.shape in ((taken,), (CAPTIONS_PER_IMAGE * taken,)):
            return taken
        return int(index.max()) + 1
    except (OSError, ValueError, TypeError):  # no such array: reading it says what is wrong
        return taken or 1


def _training_images(profile, kind: str) -> int:
    """How many training images a profile takes of data that nobody looked at, 0 if unknown."""
    from alignbook.datasets import precomp

    published = precomp.SIZES[kind]["train"][0] if kind in precomp.SIZES else 0
    whole = min(filter(None, (profile.train_images, published)), default=0)
    return profile.gsl_images or whole
