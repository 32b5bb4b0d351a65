"""Hard negatives: captions and pictures that differ from the true ones in one thing only.

Three kinds, as the field has them: attributes exchanged (VG-Attribution), subject and object
exchanged (VG-Relation), and another picture for the same sentence in which the subject, the verb or
the object differs (SVO-Probes). Every negative is checked against the scene.

Words alone don't tell which of two captions is true: both are made of the same words, and what is
exchanged was drawn independently of what it is said of. Colours are therefore exchanged only
between things beyond the theme, since a theme's shapes go with its colours in many scenes; and
sizes never, since what finds a place depends on size and shape together.
"""

from __future__ import annotations

from dataclasses import replace

from alignbook.world.captions import ACTIVE, Caption, Mention, holds
from alignbook.world.scenes import RELATIONS, SPLITS, Dice, Scene, limit, place, side, signature

PLACES = ("subject", "verb", "object")
TRIES = 20  # to find a place for everything in a negative scene


def attribute_swaps(scenes: list[Scene]):
    """Captions such as "the red star and the blue ring", and the same with exchanged attributes.

    Returns
    -------
    pandas.DataFrame
        Caption probes, up to two an image: image (row of ``scenes``), caption, negative, kind
        (the two attributes, sorted: "blue_red"), x0, y0, x1, y1 (int pixels, half-open: holds
        both things), item, and attribute_1, object_1, attribute_2, object_2 as in the caption.
    """
    rows = []
    for image, scene in enumerate(scenes):
        dice = Dice(*scene.key, 3)
        theme = {thing.shape for thing in scene.things[:2]}
        beyond = [i for i, thing in enumerate(scene.things) if i > 1 and thing.shape not in theme]
        for things, names in (
            (beyond, ("colour",)),
            (list(range(len(scene.things))), ("texture", "material")),
        ):
            rows += _attribute_swap(dice, scene, image, things, names)
    columns = "attribute_1 object_1 attribute_2 object_2"
    return _table(rows, f"image caption negative kind x0 y0 x1 y1 {columns}")


def _attribute_swap(dice, scene, image, things, names):
    """One row or none."""
    options = [
        (i, a, j, b)
        for i in things
        for j in things
        for a in names
        for b in names
        if scene.things[i].shape != scene.things[j].shape
    ]
    while options:
        i, a, j, b = options.pop(dice.below(len(options)))
        first, second = scene.things[i], scene.things[j]
        one, two = getattr(first, a), getattr(second, b)
        true = Mention(i, first.shape, **{a: one}), Mention(j, second.shape, **{b: two})
        false = Mention(i, first.shape, **{b: two}), Mention(j, second.shape, **{a: one})
        if not holds(Caption("", "", false), scene) and holds(Caption("", "", true), scene):
            break
    else:
        return []
    said = (one, first.shape, two, second.shape)
    swapped = (two, first.shape, one, second.shape)
    text = "the {} {} and the {} {}"
    return [
        (
            image,
            text.format(*said),
            text.format(*swapped),
            "_".join(sorted((one, two))),
            *_box(scene, i, j),
            *said,
        )
    ]


def relation_swaps(scenes: list[Scene]):
    """Captions such as "the red star is above the blue ring", and with the two exchanged.

    Returns
    -------
    pandas.DataFrame
        Caption probes, at most one an image: image (row of ``scenes``), caption, negative, kind
        (the relation), x0, y0, x1, y1 (int pixels, half-open: holds both things and what shows
        the relation), item, and subject, object (noun phrases of the true caption).
    """
    rows = []
    for image, scene in enumerate(scenes):
        dice = Dice(*scene.key, 4)
        subject, name, other = scene.relation
        claim, phrases = _claim(scene)
        backwards = Caption("", "", claim.mentions, (1, name, 0))
        if holds(backwards, scene):  # two things that words don't tell apart
            continue
        text = f"the {{}} is {dice.choice(ACTIVE[name])} the {{}}"
        # Strokes behind one that chases reach beyond it, beams and ropes hardly do.
        margin = scene.size // 8 + 1 if name == "chasing" else scene.size // 16
        rows.append(
            (
                image,
                text.format(*phrases),
                text.format(*phrases[::-1]),
                name,
                *_box(scene, subject, other, margin),
                *phrases,
            )
        )
    return _table(rows, "image caption negative kind x0 y0 x1 y1 subject object")


def svo(scenes: list[Scene]):
    """Sentences with the picture they are true of and one in which a part of them is another.

    A negative scene has the same things but for the replaced shape, or the same things in another
    relation; all of them are placed anew. Its signature belongs to its source's split. The sentence
    is the same for both pictures, so words can't tell; but a prior that knows which coloured shapes
    are frequent in training, and no words, is right on two thirds of replaced shapes.

    Returns
    -------
    probes : pandas.DataFrame
        Image probes, at most one an image: caption, image (row of ``scenes``), negative_image (row
        of ``negatives``), kind ("subject", "verb" or "object": what differs), subject, verb,
        object, negative_subject, negative_verb, negative_object (shapes and relations), item.
    negatives : list of Scene
        To be drawn with `picture`.
    """
    rows, negatives = [], []
    for image, scene in enumerate(scenes):
        dice = Dice(*scene.key, 5)
        claim, phrases = _claim(scene)
        kinds = list(PLACES)
        while kinds:
            kind = kinds.pop(dice.below(len(kinds)))
            other = _altered(dice, scene, kind, claim)
            if other:
                text = "the {} is {} the {}".format(phrases[0], scene.relation[1], phrases[1])
                rows.append((text, image, len(negatives), kind, *_triplet(scene), *_triplet(other)))
                negatives.append(other)
                break
    columns = " ".join((*PLACES, *(f"negative_{place}" for place in PLACES)))
    return _table(rows, f"caption image negative_image kind {columns}"), negatives


def _altered(dice, scene, kind, claim):
    """The scene with another subject, verb or object, or None if the split has no such scene."""
    subject, name, other = scene.relation
    key = (*scene.key, 1 + PLACES.index(kind))  # of clutter, noise and captions of its own
    changed = {"subject": subject, "object": other}.get(kind)
    now = name if kind == "verb" else scene.things[changed].shape
    options = RELATIONS if kind == "verb" else scene.style.shapes
    options = [option for option in options if option != now]
    while options:
        option = dice.choice(options)
        options = [each for each in options if each != option]
        things, relation = scene.things, scene.relation
        if kind == "verb":
            relation = (subject, option, other)
        else:
            thing = things[changed]
            thing = replace(thing, shape=option, turn=limit(option, thing.turn))
            things = (*things[:changed], thing, *things[changed + 1 :])
        if side(signature(things, relation)) != SPLITS[scene.key[2]]:
            continue
        for _ in range(TRIES):
            placed = place(dice, things, relation, scene.size)
            if placed is None:
                continue
            things, relations, mirrored = placed
            made = replace(
                scene,
                things=things,
                relation=relation,
                relations=relations,
                mirrored=mirrored,
                key=key,
            )
            if not holds(claim, made) and not holds(_claim(made)[0], scene):
                return made
    return None


def _claim(scene: Scene):
    """What the drawn relation claims of a coloured shape and another, and their noun phrases."""
    subject, name, other = scene.relation
    pair = scene.things[subject], scene.things[other]
    mentions = tuple(
        Mention(i, thing.shape, thing.colour)
        for i, thing in zip((subject, other), pair, strict=True)
    )
    phrases = tuple(f"{thing.colour} {thing.shape}" for thing in pair)
    return Caption("", "", mentions, (0, name, 1)), phrases


def _triplet(scene: Scene) -> tuple[str, str, str]:
    subject, name, other = scene.relation
    return scene.things[subject].shape, name, scene.things[other].shape


def _box(scene: Scene, i: int, j: int, margin: int = 0) -> tuple[int, int, int, int]:
    """The union of two boxes, ``margin`` pixels wider on each side but within the picture."""
    a, b = scene.things[i], scene.things[j]
    return (
        max(min(a.x0, b.x0) - margin, 0),
        max(min(a.y0, b.y0) - margin, 0),
        min(max(a.x1, b.x1) + margin, scene.size),
        min(max(a.y1, b.y1) + margin, scene.size),
    )


def _table(rows, columns: str):
    import pandas

    table = pandas.DataFrame(rows, columns=columns.split())
    return table.assign(item=range(len(table)))
