"""What a data set's captions say: their phrases, kept once for every base model that reads them.

A caption is a set of *slots* in the order of ComAlign's Eq. 1: slot 0 the whole, slots 1 … N its
entities, N + 1 … N + M its relations. Phrases are said again and again, so captions point to them.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from alignbook.papers.comalign.components import parser, text


@dataclass(frozen=True)
class Config:
    """What is taken of captions. The paper speaks of actions, and of "a specific relationship"."""

    entities: int = 10  # N, of each caption at most [S]
    relations: int = 10  # M, likewise [S]
    prepositions: bool = True  # "a star above a ring" is a relation too, without a verb [A]
    bare: bool = True  # "a red star" is the entity "star" too [A]; False: "red star" alone
    images: int = 0  # the first so many of the training split, 0 for all; of others all [A]

    def compute(self, inputs, seed: int, folder: Path, device: str) -> dict:
        """What a run of it is: see `compute` below."""
        return compute(self, inputs, seed, folder, device)


def compute(config: Config, inputs, seed: int, folder: Path, device: str) -> dict:
    """Phrases of a data set's captions.

    The inputs are the data set and the parser: its run, or its name. Left in the folder:
    `phrases.json`, and `captions.npy` `(c, 1 + N + M) int32`, the phrases of each caption, −1 for
    none.
    """
    dataset, pipeline = inputs
    each = dataset.captions_per_image
    numbers = (rows_of(dataset, config)[:, None] * each + np.arange(each)).ravel()
    captions = [dataset.captions[i] for i in numbers]
    kinds = config.prepositions, config.bare
    most = config.entities, config.relations
    said = text.components(parser.load(pipeline), captions, *kinds, *most)
    phrases, places = with_wholes(said, captions)
    of_all = np.full((len(dataset.captions), places.shape[1]), -1, np.int32)
    of_all[numbers] = places
    np.save(folder / "captions.npy", of_all)
    (folder / "phrases.json").write_text(json.dumps(phrases))
    return {"captions": len(captions), "phrases": len(phrases), **said.counts}


def rows_of(dataset, config) -> np.ndarray:
    """The images that are looked at: some of the training split, and all others, `(n,) int64`."""
    splits = dataset.splits
    return np.concatenate([splits["train"][: config.images or None], splits["dev"], splits["test"]])


def with_wholes(said: text.Components, captions: list[str]) -> tuple[list[str], np.ndarray]:
    """Phrases and whole captions, and places `(c, 1 + N + M) int32` with the whole one first."""
    whole = list(dict.fromkeys(captions))
    place = {caption: len(said.texts) + i for i, caption in enumerate(whole)}
    first = np.array([place[caption] for caption in captions], np.int32)[:, None]
    return [*said.texts, *whole], np.concatenate([first, said.entities, said.relations], axis=1)
