"""The embedded world: captioned scenes that are made, not downloaded.

Examples
--------
>>> from alignbook import world
>>> config = world.Config(seed=1)
>>> scene = world.scene(config, "test", 3)
>>> world.picture(scene).shape, len(world.sentences(scene))
((64, 64, 3), 5)
"""

from __future__ import annotations

from alignbook.world.captions import KINDS, Caption, Mention, holds, oracle_scores, sentences, write
from alignbook.world.mentions import phrases
from alignbook.world.negatives import attribute_swaps, relation_swaps, svo
from alignbook.world.parses import Token, parse
from alignbook.world.render import picture
from alignbook.world.scenes import (
    BACKGROUNDS,
    COLOURS,
    DOMAINS,
    MATERIALS,
    RELATIONS,
    SPLITS,
    TEXTURES,
    Config,
    Scene,
    Thing,
)
from alignbook.world.scenes import make as scene
from alignbook.world.shapes import SHAPES, SIZES

__all__ = [
    "BACKGROUNDS",
    "COLOURS",
    "DOMAINS",
    "KINDS",
    "MATERIALS",
    "RELATIONS",
    "SHAPES",
    "SIZES",
    "SPLITS",
    "TEXTURES",
    "Caption",
    "Config",
    "Mention",
    "Scene",
    "Thing",
    "Token",
    "attribute_swaps",
    "gold",
    "holds",
    "oracle_scores",
    "parse",
    "phrases",
    "picture",
    "relation_swaps",
    "scene",
    "sentences",
    "svo",
    "write",
]


def gold(scenes: list[Scene]):
    """Gold boxes and relations of a list of scenes, image numbers counted from 0.

    Returns
    -------
    objects : pandas.DataFrame
        One row an object: image, object, x0, y0, x1, y1 (pixels, half-open), shape, colour,
        size, texture, material.
    relations : pandas.DataFrame
        One row a true relation: image, subject, relation, object; an image's first row is the
        relation that was drawn, the others are spatial.
    """
    import pandas

    objects = [
        (i, j, t.x0, t.y0, t.x1, t.y1, *t.attributes)
        for i, scene in enumerate(scenes)
        for j, t in enumerate(scene.things)
    ]
    relations = [(i, *relation) for i, scene in enumerate(scenes) for relation in scene.relations]
    columns = "image object x0 y0 x1 y1 shape colour size texture material".split()
    return (
        pandas.DataFrame(objects, columns=columns),
        pandas.DataFrame(relations, columns="image subject relation object".split()),
    )
