"""Components of compositional probes: one picture, two captions, which of them fits?

The world has its own probes; those of photographs are the published files that a user brings. Kept
as files, as `vectors` keeps those of a data set: every method on a base model reads the same.
"""

import hashlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch

from alignbook.backbones import base
from alignbook.datasets import aro, prepared, sugarcrepe, svo, swaps
from alignbook.errors import DataError
from alignbook.papers.comalign.components import detector, image, parser, said, text, vectors
from alignbook.store import contents


@dataclass(frozen=True)
class Config:
    """What is taken of probes, as `vectors.Config` has it."""

    entities: int = 10  # N, of each caption at most [S]
    relations: int = 10  # M, likewise [S]
    prepositions: bool = True  # "a star above a ring" is a relation too, without a verb [A]
    bare: bool = True  # "a red star" is the entity "star" too [A]; False: "red star" alone
    # Pictures that are in no data set have those of a grid.
    boxes: str = "detector"  # where they come from, see `vectors.boxes_of` [A]

    def compute(self, inputs, seed: int, folder: Path, device: str) -> dict:
        """What a run of it is: see `compute` below."""
        return compute(self, inputs, seed, folder, device)


@dataclass(frozen=True)
class Brought:
    """A folder with published benchmarks, each in a folder of its own; any of them may be missing.

    aro/visual_genome_{relation,attribution}*.json, aro/images/
    svo_probes/svo_probes.csv, svo_probes/images/
    sugarcrepe/{add_att, …}.json, whose pictures are those of the data set, COCO
    """

    folder: Path

    @property
    def files(self) -> list[Path]:
        """The tables that are there. DataError if there is none."""
        names = ("aro/visual_genome_*.json", "svo_probes/svo_probes.csv", "sugarcrepe/*.json")
        found = [path for name in names for path in sorted(Path(self.folder).glob(name))]
        if not found:
            raise DataError(
                f"{self.folder}: no {', no '.join(names)}, expected one of these "
                "benchmarks: name the folder that holds their folders"
            )
        return found

    @cached_property
    def fingerprint(self) -> str:
        """64 hex digits of what the tables hold, and their pictures."""
        digest = hashlib.sha256()
        found = [*self.files, *sorted(Path(self.folder).glob("*/images/**/*"))]
        files = [path for path in found if path.is_file()]
        for path, content in zip(files, contents.sha256(files), strict=True):
            digest.update(f"{path.relative_to(self.folder)} {content}\n".encode())
        return digest.hexdigest()


class Benchmark(NamedTuple):
    """Items with their pictures: ``table`` (caption, negative, kind; row i is of picture
    ``shown[i]``), ``pictures (P, H, W, 3) uint8``, their boxes, how many items have no picture."""

    name: str
    table: pd.DataFrame
    shown: np.ndarray
    pictures: np.ndarray
    things: image.Boxes
    without: int


def of_world(dataset, found, device: str):
    """The world's probes, with the boxes that the detector of a run finds.

    SVO-Probes are those of ComAlign's Table II, two items a probe; see `svo.as_modified`.
    """
    model, how = detector.load(found), detector.Config(**found.config)
    for name, kind in (("VG-Relation", "relation"), ("VG-Attribution", "attribute")):
        table, pictures = swaps.caption_probes(dataset, kind)
        things = detector.detect(model, pictures, how, device)
        yield Benchmark(name, table, np.arange(len(table)), pictures, things, 0)
    table, pictures, others = swaps.image_probes(dataset)
    both = svo.as_modified(table)
    place = {name: i for i, name in enumerate([*table.image, *table.negative_image])}
    rows, pictures = both.image.map(place).to_numpy(), np.concatenate([pictures, others])
    things = detector.detect(model, pictures, how, device)
    yield Benchmark("SVO-Probes", both, rows, pictures, things, 0)


def of_files(brought: Brought, dataset, things: image.Boxes):
    """The benchmarks of a user's folder, items without their picture left out and counted.

    SugarCrepe's pictures are looked up in the data set's test split, whose boxes are `things`. The
    others count as missing: heads were trained on them, or chosen.
    """
    folder, size = Path(brought.folder), dataset.images.shape[1]
    for path in brought.files:
        where = path.parent / "images"
        if path.parent.name == "aro":
            kind = "attribution" if "attribution" in path.stem else "relation"
            table, name, lost = aro.read(path, kind), f"VG-{kind.capitalize()}", 0
        elif path.parent.name == "svo_probes":
            probes = svo.read(path, where if where.is_dir() else None)
            table, name = svo.as_modified(probes), "SVO-Probes"
            lost = 2 * probes.attrs["counts"]["picture missing"]
        else:
            continue
        there = np.array([(where / each).is_file() for each in table.image], bool)
        kept = table[there].reset_index(drop=True)
        pictures = np.empty((len(kept), size, size, 3), np.uint8)
        prepared.decode(
            where, list(kept.image), pictures, kept[["x0", "y0", "x1", "y1"]].to_numpy()
        )
        yield Benchmark(
            name,
            kept,
            np.arange(len(kept)),
            pictures,
            image.grid(len(kept)),
            lost + int((~there).sum()),
        )
    if (folder / "sugarcrepe").is_dir():
        table = sugarcrepe.read(folder / "sugarcrepe")
        unseen = dataset.splits["test"].tolist()
        # "000000006818.jpg", or before 2017 "COCO_val2014_000000006818.jpg"
        row_of = {dataset.names[row].rpartition("/")[2].rpartition("_")[2]: row for row in unseen}
        rows = table.image.map(row_of)
        kept = table[rows.notna()].reset_index(drop=True)
        yield Benchmark(
            "SugarCrepe",
            kept,
            rows.dropna().to_numpy(int),
            dataset.images,
            things,
            int(rows.isna().sum()),
        )


def compute(config: Config, inputs, seed: int, folder: Path, device: str) -> dict:
    """Components of all probes, as a base model sees them.

    The inputs are the data set, the base model's run, the data set that model was trained on if it
    is another, the source of boxes as in `vectors.boxes_of`, the parser, and what is `Brought`,
    None in the world. Left in the folder: `images.npy` `(P, S, d)`, `boxes.npy` `(P, S, 4)`,
    `phrases.npy` `(U, d)`, `captions.npy` `(P, 2, S) int32`, the right caption and the wrong one,
    as `vectors` has them; `probes.csv`: probe, kind.

    Raises
    ------
    DataError
        No item of any benchmark has its picture.
    """
    dataset, base_run, home, source, pipeline, brought = inputs
    torch.set_num_threads(1)
    model, vocabulary = base.load(base_run, home or dataset)
    model.to(device)
    if brought is None:
        benchmarks = of_world(dataset, source, device)
    else:
        benchmarks = of_files(brought, dataset, vectors.boxes_of(config.boxes, dataset, source))
    slots = vectors.Config(config.entities, config.relations)
    seen, boxes, listed, without = [], [], [], {}
    for each in benchmarks:
        without[f"{each.name} without a picture"] = each.without
        if not len(each.table):
            continue
        found = image.components(each.things, config.entities, config.relations)
        shown, of_item = np.unique(each.shown, return_inverse=True)
        placed = vectors.slots_of(found, slots)[shown]
        seen.append(vectors.encode_images(model, each.pictures, shown, placed)[of_item])
        boxes.append(placed[of_item])
        listed.append(each.table[["caption", "negative", "kind"]].assign(probe=each.name))
    if not listed:
        raise DataError(
            f"{brought.folder}: none of its items has its picture ({without}), expected "
            "some in aro/images, svo_probes/images or, of SugarCrepe, in the test "
            f"split of {dataset.name}: put the pictures there"
        )
    table = pd.concat(listed, ignore_index=True)
    captions = [*table.caption, *table.negative]
    kinds = config.prepositions, config.bare
    most = config.entities, config.relations
    found = text.components(parser.load(pipeline), captions, *kinds, *most)
    phrases, places = said.with_wholes(found, captions)
    np.save(folder / "images.npy", np.concatenate(seen))
    np.save(folder / "boxes.npy", np.concatenate(boxes))
    np.save(folder / "phrases.npy", vectors.encode_phrases(model, vocabulary, phrases))
    np.save(folder / "captions.npy", np.stack(np.split(places, 2), axis=1))
    table[["probe", "kind"]].to_csv(folder / "probes.csv", index=False)
    return {
        "probes": len(table),
        **without,
        "entities": config.entities,
        "relations": config.relations,
        **found.counts,
    }
