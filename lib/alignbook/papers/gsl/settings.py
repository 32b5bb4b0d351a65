"""GSL's setting that names files: noise index files, which say whose captions are swapped."""

from collections.abc import Sequence
from pathlib import Path

from alignbook.papers.gsl import catalogue
from alignbook.store import contents

WORDS = {"gsl_noise_index": ("drawn",)}  # what a setting says that names files, but for these words


def held(name: str, value: str, profile, data: str) -> str:
    """Hash of what the files hold that are for some data."""
    kind = data.partition("=")[0]
    return contents.together(sorted(Path(value).expanduser().glob(f"{kind}_*.npy")))


def problem(name: str, profile, data: str, exhibits: Sequence[str] = ()) -> str:
    """What speaks against a folder of noise files for some exhibits, "" if nothing does."""
    kind, value = data.partition("=")[0], profile.gsl_noise_index
    if value == "drawn":
        return ""
    own = [each for each in exhibits if each in catalogue.EXHIBITS]
    rates = sorted(set().union(*map(catalogue.rates, own)))
    folder = Path(value).expanduser()
    missing = [file for rate in rates if not (file := folder / f"{kind}_{rate}.npy").is_file()]
    if folder.is_dir() and not missing:
        return ""
    return (
        f"{missing[0] if folder.is_dir() else folder} not found, "
        f"expected a folder with {kind}_RATE.npy for RATE = {', '.join(rates)}; or "
        "leave it out, and the noise is drawn"
    )
