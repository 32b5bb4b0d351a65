"""Region features looked at, every number of them, before any work starts.

A feature that is NaN, infinite or too large to be squared, or an image whose features are all zero,
shows hours later as a loss that is no number. To look takes seconds a GB. Which content was found
sound is kept, and that isn't read again; the marks are only for speed.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

from alignbook import ROOT
from alignbook.store import contents

LOOKED_AT = ROOT / ".cache/features"  # empty files, each named after a content that was looked at
LARGEST = 1e6  # of a feature: its square, summed over a region, is a number of float32
AT_ONCE = 1 << 23  # bytes of features looked at in one go


def largest(rows: np.ndarray) -> np.ndarray:
    """The largest size of a feature in each row of `(n, …)`, `(n,) float32`; NaN where one is.

    Without their signs, float16 and float32 are in the order of their bits, NaN last.

    Examples
    --------
    >>> largest(np.float16([[1, -3], [0, -0.0], [np.nan, 2], [-np.inf, 0]])).tolist()
    [3.0, 0.0, nan, inf]
    """
    flat = np.ascontiguousarray(rows).reshape(len(rows), -1)
    bits = np.dtype(f"u{flat.dtype.itemsize}").type
    sizes = (flat.view(bits) & bits(np.iinfo(bits).max >> 1)).max(axis=1)
    return sizes.view(flat.dtype).astype(np.float32)


def wrong(found: float, of: str = "") -> str:
    """What is wrong with features of which that is the largest, "" if nothing is.

    Examples
    --------
    >>> wrong(0.0), wrong(3.5)
    ('the largest feature is 0, expected one above 0 and up to 1e+06', '')
    """
    if not np.isfinite(found):
        return f"a feature{of} is not a finite number, expected whole features"
    if not 0 < found <= LARGEST:
        return f"the largest feature{of} is {found:g}, expected one above 0 and up to {LARGEST:g}"
    return ""


def once(part: Path | tuple[Path, int], how: object, look: Callable[[], Iterable[str]]) -> str:
    """The first problem that `look` finds in a file, "" if there is none; looked for once.

    Parameters
    ----------
    part : the file, or (file, bytes from its start): see `contents.sha256`.
    how : what else the answer depends on.
    """
    said = json.dumps([contents.sha256([part])[0], how, LARGEST])
    name = hashlib.sha256(said.encode()).hexdigest()
    with contextlib.suppress(OSError, ValueError):  # ValueError: no home is named
        if (LOOKED_AT / name).exists():
            return ""
    if problem := next(filter(None, look()), ""):
        return problem
    with contextlib.suppress(OSError, ValueError):  # without the mark it is looked at again
        LOOKED_AT.mkdir(parents=True, exist_ok=True)
        (LOOKED_AT / name).touch()
    return ""
