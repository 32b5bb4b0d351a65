"""The world's compositional probes as plain tables, and their pictures: what base models are asked.

    gold/probes/{relation,attribute}.parquet   a picture and two captions, `aro.COLUMNS`
    gold/probes/svo.parquet                    a sentence and two pictures, `svo.COLUMNS`

The same stands in gold/ in the formats of the field. The readers of those serve published files:
what is measured on the world doesn't depend on them.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from alignbook.datasets import prepared


def write(folder: Path, relation, attribute, svo) -> None:
    """Write the three tables, whose pictures are named, below the folder gold/."""
    (folder / "probes").mkdir(parents=True)
    for name, table in (("relation", relation), ("attribute", attribute), ("svo", svo)):
        table.to_parquet(folder / f"probes/{name}.parquet")


def caption_probes(dataset, kind: str):
    """Probes of one picture and two captions: the table and the pictures, cut to their boxes.

    Parameters
    ----------
    kind : "relation" or "attribute".

    Returns
    -------
    pandas.DataFrame, ``(M, size, size, 3) uint8``
        Row i of the pictures belongs to row i of the table; see `aro.read`.
    """
    table = _read(dataset, kind)
    boxes = table[["x0", "y0", "x1", "y1"]].to_numpy()
    return table, _open(dataset, list(table.image), boxes)


def image_probes(dataset):
    """Probes of one sentence and two pictures: the table, the right pictures, the wrong ones."""
    table = _read(dataset, "svo")
    return table, _open(dataset, list(table.image)), _open(dataset, list(table.negative_image))


def _read(dataset, name: str):
    import pandas

    return pandas.read_parquet(dataset.folder / f"gold/probes/{name}.parquet")


def _open(dataset, names: list[str], boxes=None) -> np.ndarray:
    size = dataset.images.shape[1]
    pictures = np.empty((len(names), size, size, 3), np.uint8)
    prepared.decode(dataset.folder / "gold/images", names, pictures, boxes)
    return pictures
