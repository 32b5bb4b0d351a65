"""Scenes of the embedded world: which things there are, where they stand, what they do.

A scene is two to five things and one drawn relation. Everything is drawn from raw PCG64 words
with integer arithmetic, so that a seed means the same scenes on every machine and with every
NumPy: distributions of ``numpy.random.Generator`` carry no such promise, bit streams do.

Whether a scene may stand in training, dev or test is decided by a hash of its *signature* (its
things with their attributes, and its relation). So no signature can stand in two splits, no
matter how many images are made, in which order, or by how many workers.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from alignbook.world.shapes import SHAPES, SIZES, drop, hidden, shape_box

COLOURS = (
    "red",
    "orange",
    "yellow",
    "lime",
    "green",
    "cyan",
    "blue",
    "purple",
    "pink",
    "brown",
    "black",
    "white",
)
TEXTURES = ("solid", "striped", "dotted", "checked")
MATERIALS = ("matte", "glossy", "metallic")
BACKGROUNDS = (
    "paper",
    "slate",
    "sky",
    "dusk",
    "sand",
    "grass",
    "tiles",
    "boards",
    "evening",
    "brick",
    "moss",
    "gravel",
    "plaid",
    "water",
    "dunes",
    "snow",
    "cork",
    "denim",
    "marble",
    "lawn",
    "mesh",
    "fog",
    "planks",
    "rain",
)
SPATIAL = ("left of", "right of", "above", "below")
ACTIONS = ("on", "chasing", "pulling", "lighting", "in front of")
RELATIONS = SPATIAL + ACTIONS
SPLITS = ("train", "dev", "test")

THEMES = 160  # pairs of kinds that many scenes share: words alone must not name the image


@dataclass(frozen=True)
class Style:
    """What sets a domain apart, in statistics, words and renderer."""

    backgrounds: tuple[str, ...]
    shapes: tuple[str, ...]  # each as often as its frequency
    turns: tuple[int, ...]  # degrees by which things are turned
    synonym: int  # percentage of other words in synonym captions
    elsewhere: int  # and in the other captions
    passive: int  # percentage of relations told in the passive, besides passive captions
    jitter: int  # of a thing's colour and of the light, at most, of 255
    shadows: bool
    noise: int  # of a pixel, at most, of 255


# Triangles, crosses, bars and bolts five times as often as squares, diamonds, arrows and fish.
SKEWED = tuple(s for i, s in enumerate(SHAPES) for _ in range((3, 1, 5, 2)[i % 4]))
# The other way round, but only a little.
EVEN = tuple(s for i, s in enumerate(SHAPES) for _ in range((3, 4, 2, 3)[i % 4]))
STYLES = {
    "A": Style(
        BACKGROUNDS[:8],
        SHAPES,
        turns=(0,),
        synonym=75,
        elsewhere=4,
        passive=8,
        jitter=0,
        shadows=False,
        noise=7,
    ),
    "B": Style(
        BACKGROUNDS[8:16],
        SKEWED,
        turns=(-28, -14, 0, 14, 28),
        synonym=90,
        elsewhere=35,
        passive=45,
        jitter=8,
        shadows=True,
        noise=14,
    ),
    "W": Style(
        BACKGROUNDS[16:],
        EVEN,
        turns=(-14, -7, 0, 7, 14),
        synonym=80,
        elsewhere=18,
        passive=25,
        jitter=4,
        shadows=False,
        noise=10,
    ),
}
DOMAINS = tuple(STYLES)


@dataclass(frozen=True)
class Config:
    """What a world is made of: same config, same bytes.

    Parameters
    ----------
    domain : str
        Family of renderer and statistics: "A" and "B", which methods are trained and tested on,
        or "W", on which base models are pretrained; their words are the same.
    size : int
        Side of the square images in pixels, at least 48.
    train_images, dev_images, test_images : int
        Images a split holds. Image ``i`` of a split does not depend on these.
    seed : int
        Non-negative; another seed, another world.
    """

    domain: str = "A"
    size: int = 64
    train_images: int = 8000
    dev_images: int = 1000
    test_images: int = 1000
    seed: int = 0

    def __post_init__(self):
        if self.domain not in DOMAINS:
            raise ValueError(f"world domain {self.domain!r}: expected one of {DOMAINS}")
        if self.size < 48:
            raise ValueError(f"world size {self.size} pixels: shapes need 48 or more, take 64")
        if min(self.train_images, self.dev_images, self.test_images, self.seed) < 0:
            raise ValueError(f"{self}: counts and seed must not be negative")

    def count(self, split: str) -> int:
        """Number of images in a split."""
        return {"train": self.train_images, "dev": self.dev_images, "test": self.test_images}[split]


@dataclass(frozen=True)
class Thing:
    """One object: its five attributes, its box in pixels (half-open, tight), and its turn."""

    shape: str
    colour: str
    size: str
    texture: str
    material: str
    x0: int = 0
    y0: int = 0
    x1: int = 0
    y1: int = 0
    turn: int = 0

    @property
    def attributes(self) -> tuple[str, str, str, str, str]:
        return self.shape, self.colour, self.size, self.texture, self.material

    @property
    def form(self) -> tuple[str, str, int]:
        """What the mask depends on."""
        return self.shape, self.size, self.turn


@dataclass(frozen=True)
class Scene:
    """A scene: its things, the drawn relation ``(subject, name, object)``, its background.

    ``relations`` holds the drawn relation first, then every spatial relation that is plainly
    true of two things; ``key`` are the words that seed clutter, noise and captions.
    """

    things: tuple[Thing, ...]
    relation: tuple[int, str, int]
    relations: tuple[tuple[int, str, int], ...]
    mirrored: bool
    background: str
    size: int
    key: tuple[int, ...]
    domain: str = "A"

    @property
    def style(self) -> Style:
        return STYLES[self.domain]

    @property
    def signature(self) -> str:
        return signature(self.things, self.relation)


class Dice:
    """Random integers from the raw words of PCG64, seeded by a tuple of words."""

    def __init__(self, *key: int):
        self._bits = np.random.PCG64(np.random.SeedSequence(key))
        self._words: list[int] = []

    def below(self, n: int) -> int:
        """An integer in [0, n)."""
        if not self._words:
            self._words = self._bits.random_raw(48).tolist()
        return self._words.pop() % n

    def between(self, low: int, high: int) -> int:
        """An integer in [low, high]."""
        return low + self.below(high - low + 1)

    def chance(self, percent: int) -> bool:
        return self.below(100) < percent

    def choice(self, options):
        return options[self.below(len(options))]

    def octets(self, n: int) -> np.ndarray:
        """``(n,) uint8`` uniform octets, the same on either byte order."""
        return self._bits.random_raw(-(-n // 8)).astype("<u8").view(np.uint8)[:n]


def signature(things: tuple[Thing, ...], relation: tuple[int, str, int]) -> str:
    """Canonical text of a scene: the multiset of its things, and its relation.

    "a left of b" and "b right of a" are one relation, hence one signature.
    """
    words = [" ".join(thing.attributes) for thing in things]
    subject, name, other = relation
    if name in ("right of", "below"):
        subject, name, other = other, inverse(name), subject
    return "; ".join(sorted(words)) + f" | {words[subject]} {name} {words[other]}"


def inverse(name: str) -> str:
    """The spatial relation seen from the other side: "left of" for "right of"."""
    return {"left of": "right of", "right of": "left of", "above": "below", "below": "above"}[name]


def side(text: str) -> str:
    """The one split in which a signature may stand: half of all train, a quarter each other."""
    octet = hashlib.blake2b(text.encode(), digest_size=1).digest()[0]
    return ("train", "train", "dev", "test")[octet % 4]


def make(config: Config, split: str, index: int) -> Scene:
    """Scene ``index`` of a split.

    Draws until the signature belongs to the split and everything finds a place; each draw
    continues the same stream, so the result depends on the four words of the key alone.
    """
    key = (config.seed, DOMAINS.index(config.domain), SPLITS.index(split), index)
    dice = Dice(*key, 0)
    while True:
        things, relation = _cast(dice, config)
        if side(signature(things, relation)) != split:
            continue
        placed = place(dice, things, relation, config.size)
        if placed is None:
            continue
        things, relations, mirrored = placed
        return Scene(
            things,
            relation,
            relations,
            mirrored,
            dice.choice(STYLES[config.domain].backgrounds),
            config.size,
            key,
            config.domain,
        )


def spatial_relations(things: tuple[Thing, ...]) -> list[tuple[int, str, int]]:
    """Every plainly true ``(subject, spatial relation, object)``.

    Plainly: the boxes don't share a column (or row), and the centres are at least twice as far
    apart along that direction as across it.
    """
    found = []
    for i, a in enumerate(things):
        for j, b in enumerate(things):
            right = abs(b.x0 + b.x1 - a.x0 - a.x1)
            down = abs(b.y0 + b.y1 - a.y0 - a.y1)
            if a.x1 <= b.x0 and right >= 2 * down:
                found += [(i, "left of", j), (j, "right of", i)]
            if a.y1 <= b.y0 and down >= 2 * right:
                found += [(i, "above", j), (j, "below", i)]
    return found


@lru_cache(maxsize=None)
def _theme(seed: int, domain: str, number: int) -> tuple[tuple[str, str], tuple[str, str]]:
    dice = Dice(seed, DOMAINS.index(domain), len(SPLITS), number)
    shapes = STYLES[domain].shapes
    first = dice.choice(shapes)
    second = dice.choice([shape for shape in shapes if shape != first])
    return (first, dice.choice(COLOURS)), (second, dice.choice(COLOURS))


def _cast(dice: Dice, config: Config) -> tuple[tuple[Thing, ...], tuple[int, str, int]]:
    """Who plays: two kinds of a theme, up to three more, and the drawn relation."""
    style = STYLES[config.domain]
    kinds = list(_theme(config.seed, config.domain, dice.below(THEMES)))
    count = dice.choice((2, 2, 3, 3, 3, 3, 4, 4, 4, 5))
    if count > 2 and dice.chance(40):  # a twin, so that there is something to say in the plural
        shape, colour = dice.choice(kinds)
        kinds.append((shape, colour if dice.chance(50) else dice.choice(COLOURS)))
    while len(kinds) < count:
        kind = dice.choice(style.shapes), dice.choice(COLOURS)
        if kind not in kinds:
            kinds.append(kind)
    things = tuple(
        Thing(
            *kind,
            dice.choice(SIZES),
            dice.choice(TEXTURES),
            dice.choice(MATERIALS),
            turn=limit(kind[0], dice.choice(style.turns)),
        )
        for kind in kinds
    )
    pair = (0, 1) if count == 2 or dice.chance(70) else (dice.below(2), dice.between(2, count - 1))
    subject, other = pair if dice.chance(50) else pair[::-1]
    return things, (subject, dice.choice(RELATIONS), other)


def limit(shape: str, turn: int) -> int:
    """A turn that leaves a shape itself: a diamond is a square turned by 45 degrees."""
    return turn // 2 if shape in ("square", "diamond") and abs(turn) > 14 else turn


def place(dice, things, relation, size):
    """Find room for all things: first the related pair as a group, then the others.

    Returns
    -------
    (things with boxes, all true relations, mirrored), or None if the dice found no room.
    """
    subject, name, other = relation
    group = _pair(dice, name, things[subject], things[other], size)
    if group is None:
        return None
    pair, reserved, mirrored = group
    left = min(box[0] for box in reserved)
    top = min(box[1] for box in reserved)
    width = max(box[2] for box in reserved) - left
    height = max(box[3] for box in reserved) - top
    if max(width, height) > size - 2:
        return None
    dx = dice.between(1, size - 1 - width) - left
    dy = dice.between(1, size - 1 - height) - top
    taken = [(a + dx, b + dy, c + dx, d + dy) for a, b, c, d in reserved]
    boxes = {
        i: (a + dx, b + dy, c + dx, d + dy)
        for i, (a, b, c, d) in zip((subject, other), pair, strict=True)
    }
    margin = size * 3 // 64
    for i, thing in enumerate(things):
        if i in boxes:
            continue
        w, h = shape_box(size, *thing.form)
        for _ in range(20):
            x, y = dice.between(1, size - 1 - w), dice.between(1, size - 1 - h)
            if all(
                x + w + margin <= a or c + margin <= x or y + h + margin <= b or d + margin <= y
                for a, b, c, d in taken
            ):
                break
        else:
            return None
        boxes[i] = (x, y, x + w, y + h)
        taken.append(boxes[i])
    placed = tuple(
        Thing(*thing.attributes, *boxes[i], thing.turn) for i, thing in enumerate(things)
    )
    seen = [relation] + [each for each in spatial_relations(placed) if each != relation]
    return placed, tuple(seen), mirrored


def _pair(dice, name, subject, other, size):
    """Boxes of subject and object about any origin, what they reserve, and whether mirrored.

    Mirrored means that the subject of a horizontal action stands on the right. None if the dice
    found no place.
    """
    aw, ah = shape_box(size, *subject.form)
    bw, bh = shape_box(size, *other.form)
    unit = size // 16  # a sixteenth of the canvas: 4 pixels of 64
    forms = subject.form, other.form
    mirrored = name == "right of" or (name in ACTIONS and dice.chance(50))
    if name == "on":
        x = (bw - aw) // 2 + dice.between(-1, 1)
        sunk = drop(size, *forms, x)
        if sunk > unit:  # inside rather than on
            return None
        y = sunk - ah
    elif name in ("above", "below"):
        gap = dice.between(unit, 3 * unit)
        x = (bw - aw) // 2 + dice.between(-unit, unit)
        y = -ah - gap if name == "above" else bh + gap
    elif name == "in front of":
        for _ in range(12):
            x, y = dice.between(1 - aw, bw - 1), dice.between(1 - ah, bh - 1)
            if 12 <= hidden(size, *forms, x, y) <= 45:
                break
        else:
            return None
    else:  # side by side
        low, high = {"chasing": (1, 2), "pulling": (2, 3), "lighting": (2, 3)}.get(name, (1, 3))
        gap = dice.between(low * unit, high * unit)
        x = bw + gap if mirrored else -aw - gap
        y = (bh - ah) // 2 + dice.between(-(unit // 2), unit // 2)
    boxes = (x, y, x + aw, y + ah), (0, 0, bw, bh)
    if name not in ("chasing", "pulling", "lighting"):
        return boxes, boxes, mirrored
    # Room for what shows the action: between the two, and for strokes behind the one that chases.
    tail = 2 * unit if name == "chasing" else 0
    whole = [
        min(x - tail * (not mirrored), 0),
        min(y, 0),
        max(x + aw + tail * mirrored, bw),
        max(y + ah, bh),
    ]
    return boxes, (tuple(whole),), mirrored
