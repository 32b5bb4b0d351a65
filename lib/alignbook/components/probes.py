"""Components of compositional probes: one picture, two captions, which of them fits?

The pictures of probes are in no data set, so their boxes are a detector's. Kept as files, as
`vectors` keeps those of a data set: every method on a base model reads the same.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from alignbook import base
from alignbook.components import detector, image, parser, text, vectors
from alignbook.datasets import gold, svo


@dataclass(frozen=True)
class Config:
    """As `vectors.Config`."""

    entities: int = 10
    relations: int = 10
    prepositions: bool = True


def tables(dataset):
    """The world's probes: (name, table of caption, negative and kind, pictures) of each benchmark.

    SVO-Probes are those of ComAlign's Table II, two items a probe; see `svo.as_comalign`.
    """
    for name, kind in (("VG-Relation", "relation"), ("VG-Attribution", "attribute")):
        yield name, *gold.caption_probes(dataset, kind)
    table, pictures, others = gold.image_probes(dataset)
    both = svo.as_comalign(table)
    place = {name: i for i, name in enumerate([*table.image, *table.negative_image])}
    shown = [place[name] for name in both.image]
    yield "SVO-Probes", both, np.concatenate([pictures, others])[shown]


def compute(config: Config, seed: int, inputs, folder: Path, device: str) -> dict:
    """Components of all probes of a data set, as a base model sees them.

    The inputs are the data set, the base model's run, the data set that model was trained on if it
    is another, the detector's run, and the parser. Left in the folder: `images.npy` `(P, S, d)`,
    `boxes.npy` `(P, S, 4)`, `phrases.npy` `(U, d)`, `captions.npy` `(P, 2, S) int32`, the right
    caption and the wrong one, as `vectors` has them; `probes.csv`: probe, kind.
    """
    dataset, base_run, home, found, pipeline = inputs
    torch.set_num_threads(1)
    model, vocabulary = base.load(base_run, home or dataset)
    model.to(device)
    looks, how = detector.load(found), detector.Config(**found.config)
    slots = vectors.Config(config.entities, config.relations, config.prepositions)
    seen, boxes, listed = [], [], []
    for name, table, pictures in tables(dataset):
        things = detector.detect(looks, pictures, how, device)
        placed = vectors.slots_of(
            image.components(things, config.entities, config.relations), slots
        )
        seen.append(vectors.encode_images(model, pictures, np.arange(len(pictures)), placed))
        boxes.append(placed)
        listed.append(table[["caption", "negative", "kind"]].assign(probe=name))
    table = pd.concat(listed, ignore_index=True)
    captions = [*table.caption, *table.negative]
    said = text.components(parser.load(pipeline), captions, config.prepositions, config.entities,
                           config.relations)  # fmt: skip
    phrases, places = vectors.with_wholes(said, captions)
    told = base.embed_captions(model, vocabulary, phrases).cpu().numpy()
    np.save(folder / "images.npy", np.concatenate(seen))
    np.save(folder / "boxes.npy", np.concatenate(boxes))
    np.save(folder / "phrases.npy", told.astype(np.float16))
    np.save(folder / "captions.npy", np.stack(np.split(places, 2), axis=1))
    table[["probe", "kind"]].to_csv(folder / "probes.csv", index=False)
    return {"probes": len(table), "entities": config.entities, "relations": config.relations,
            **said.counts}  # fmt: skip
