"""The world's gold in the formats of the field, so that one reader serves world and real data.

gold/images/*.png                                  test pictures, and the probes' other ones
gold/dataset_world.json                            Karpathy's schema: all captions and splits
gold/coco/annotations/captions_*, instances_*      COCO
gold/visual_genome/*.json                          Visual Genome's four files
gold/aro/visual_genome_{relation,attribution}.json ARO, on the test pictures
gold/svo/svo_probes.csv                            SVO-Probes, on the test pictures
gold/probes/*.parquet                              both once more as tables; see `swaps`
gold/parses/*.conllu                               the parse of every caption, CoNLL-U
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from alignbook.datasets import aro, coco, conllu, karpathy, svo, swaps, visual_genome
from alignbook.datasets.prepared import SPLITS

COCO_SPLITS = {"train": "train", "dev": "val", "test": "test"}


def write(folder: Path, splits: dict[str, list[str]], scenes: list, images) -> None:
    """Write everything above for a world that was drawn.

    Parameters
    ----------
    folder : Path
        The new folder; the caller moves its parent into place when all is written.
    splits : dict
        Names of the images of each split; ``scenes`` and ``images`` are in that order.
    images : ``(N, size, size, 3) uint8``.
    """
    from alignbook import world

    size, names = scenes[0].size, [f"{name}.png" for split in SPLITS for name in splits[split]]
    told = [world.write(scene) for scene in scenes]
    captions = {n: [each.text for each in said] for n, said in zip(names, told, strict=True)}
    named = {split: [f"{name}.png" for name in splits[split]] for split in SPLITS}
    karpathy.write(folder, named, captions, "world")
    coco.write(folder / "coco", named, captions)

    objects, relations = world.gold(scenes)
    boxes = objects.assign(image=np.array(names)[objects.image], category=objects["shape"])
    for split, file in COCO_SPLITS.items():
        mine, extent = set(named[split]), dict.fromkeys(named[split], (size, size))
        path = folder / f"coco/annotations/instances_{file}2017.json"
        coco.write_instances(path, boxes[boxes.image.isin(mine)], extent)
    tables = visual_genome.from_world(objects, relations, size, size)
    visual_genome.write(tables, folder / "visual_genome")

    first = len(names) - len(named["test"])
    shown = scenes[first:]
    test_names = np.array(named["test"])
    relation, attribute = (
        table.assign(image=test_names[table.image])[list(aro.COLUMNS)]
        for table in (world.relation_swaps(shown), world.attribute_swaps(shown))
    )
    aro.write(relation, folder / "aro/visual_genome_relation.json", "relation")
    aro.write(attribute, folder / "aro/visual_genome_attribution.json", "attribution")
    probes, others = world.svo(shown)
    other_names = np.array([f"negative-{i:06}.png" for i in range(len(others))])
    probes = probes.assign(
        image=test_names[probes.image], negative_image=other_names[probes.negative_image]
    )[list(svo.COLUMNS)]
    svo.write(probes, folder / "svo/svo_probes.csv")
    swaps.write(folder, relation, attribute, probes)
    pictures = [*images[first:], *(world.picture(scene) for scene in others)]
    _save(folder / "images", [*named["test"], *other_names], pictures)

    start = 0
    for split in SPLITS:
        mine = told[start : start + len(splits[split])]
        start += len(mine)
        sentences = [_tokens(world.parse(each)) for said in mine for each in said]
        conllu.write(sentences, folder / f"parses/captions_{split}.conllu")


def _save(folder: Path, names: list[str], pictures: list[np.ndarray]) -> None:
    from PIL import Image

    folder.mkdir(parents=True)
    for name, picture in zip(names, pictures, strict=True):
        Image.fromarray(picture).save(folder / name, compress_level=1)


def _tokens(parse) -> list[conllu.Token]:
    return [
        conllu.Token(
            i, t.text, t.lemma, t.pos, t.tag, 0 if t.head == i - 1 else t.head + 1, t.label
        )
        for i, t in enumerate(parse, 1)
    ]
