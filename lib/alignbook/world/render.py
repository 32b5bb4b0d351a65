"""Pixels of a scene, in integer arithmetic only: the same bytes on every machine.

Masks, textures, materials and backgrounds are made once per process; drawing a thing blends a
small patch. Domain B draws the same things in another light: turned, with shadows, in colours
that vary, under more noise. Domain W has backgrounds of its own, slightly turned things, and half
of B's changes of colour.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from alignbook.world.scenes import BACKGROUNDS, Dice, Scene, Thing
from alignbook.world.shapes import SEEN, mask, turned

PALETTE = {
    "red": (214, 32, 38),
    "orange": (250, 132, 22),
    "yellow": (250, 222, 40),
    "lime": (150, 232, 50),
    "green": (20, 118, 48),
    "cyan": (56, 206, 222),
    "blue": (36, 72, 206),
    "purple": (128, 44, 168),
    "pink": (255, 140, 190),
    "brown": (112, 66, 30),
    "black": (18, 18, 20),
    "white": (250, 250, 250),
}
BANDS = (0, 2, 8, 13, 9, 3, 0, -5, -10, -11, -7, -3, 0, 0, 0, 0)  # of metal, left to right
SHADOW = 6  # of 16
ROPE, KNOT, STROKE, BEAM = (96, 72, 50), (40, 26, 16), (246, 246, 246), (255, 236, 90)
BLACK = np.zeros(3, np.int32)


@lru_cache(maxsize=None)
def _pattern(texture: str, height: int, width: int, canvas: int, turn: int) -> np.ndarray:
    """Where the second shade of a texture shows, ``(h, w, 1) bool``; it turns with its thing."""
    y, x = np.indices((height, width))
    x, y = turned(x * 64 // canvas, y * 64 // canvas, turn)
    if texture == "striped":
        shown = y % 4 >= 2
    elif texture == "dotted":
        shown = ((x + 2 * (y // 2 % 2)) % 4 == 1) & (y % 2 == 1)
    elif texture == "checked":
        shown = (x // 3 + y // 3) % 2 == 1
    else:
        shown = np.zeros((height, width), bool)
    return shown[:, :, None]


@lru_cache(maxsize=None)
def _sheen(material: str, canvas: int, form: tuple) -> tuple[np.ndarray, np.ndarray]:
    """What light makes of a colour c: ``c * keep / 16 + add``, both ``(h, w, 1) int32``.

    Glossy things have a bright rim towards the light, up on the left, and a dark rim on the other
    side; a broad band of light and one of shade run across metallic things. So a material shows on
    black as on white, on every texture, and on the thinnest shape.
    """
    seen = mask(canvas, *form)[:, :, 0] >= SEEN
    height, width = seen.shape
    light = np.zeros((height, width), np.int32)  # white in 16ths, or minus black
    if material == "glossy":
        rim = max(1, min(height, width) // 10)
        far = np.pad(seen, rim + 1)
        dark = ~far[2 * rim + 2 :, 2 * rim + 2 :]
        light[dark] = -10
        light[~far[1 : 1 + height, 1 : 1 + width]] = 12
    elif material == "metallic":
        light += np.array(BANDS)[np.arange(width) * len(BANDS) // width].astype(np.int32)
    light = light[:, :, None]
    return 16 - abs(light), np.maximum(light, 0) * 255 // 16


def _second(colour: tuple[int, int, int]) -> tuple[int, int, int]:
    """The second shade: darker; for black a grey darker than every background."""
    if sum(colour) > 100:
        return tuple(c * 2 // 5 for c in colour)
    return tuple(c + 76 for c in colour)


SHADES = {
    name: (np.array(rgb, np.int32), np.array(_second(rgb), np.int32))
    for name, rgb in PALETTE.items()
}


@lru_cache(maxsize=None)
def background(name: str, size: int) -> np.ndarray:
    """One of the muted backgrounds, ``(size, size, 3) int32``."""
    y, x = np.indices((size, size)) * 64 // size
    flat = np.zeros((size, size), np.int64)
    grain = Dice(7, BACKGROUNDS.index(name)).octets(size * size).reshape(size, size).astype(int)
    shade, base = {
        "paper": (flat, (192, 188, 178)),
        "slate": (flat, (124, 130, 136)),
        "sky": (y // 2 - 16, (156, 172, 188)),
        "dusk": (16 - y // 2, (150, 138, 152)),
        "sand": (grain // 11 - 12, (184, 172, 146)),
        "grass": (grain // 9 - 14, (138, 154, 128)),
        "tiles": (np.where((x % 16 == 0) | (y % 16 == 0), -26, 0), (176, 176, 182)),
        "boards": (np.where(y % 12 == 0, -30, 4 * (y // 12 % 2)), (168, 154, 140)),
        "evening": (8 - y // 4, (122, 126, 142)),
        "brick": (
            np.where((y % 8 == 0) | ((x + 8 * (y // 8 % 2)) % 16 == 0), 20, 0),
            (160, 138, 132),
        ),
        "moss": (grain // 10 - 12, (124, 134, 118)),
        "gravel": (grain // 8 - 16, (146, 144, 140)),
        "plaid": (8 * (x // 6 % 2) + 8 * (y // 6 % 2) - 8, (162, 152, 166)),
        "water": (np.where((y + (x // 4 % 2)) % 6 < 2, 12, -4), (126, 146, 160)),
        "dunes": ((x + 2 * y) % 24 * 2 // 3 - 8, (178, 168, 148)),
        "snow": (grain // 14 - 9, (194, 198, 202)),
        "cork": (np.where(grain < 40, -22, grain // 16 - 8), (172, 148, 128)),
        "denim": (6 * ((x + y) % 4 // 2) - 3, (118, 130, 154)),
        "marble": (np.where((x + y // 3 + grain // 64) % 21 < 2, -20, 0), (186, 186, 190)),
        "lawn": (10 * ((x // 2 + y // 3) % 3) - 10, (132, 150, 134)),
        "mesh": (np.where((x + y) % 10 * ((x - y) % 10) == 0, -18, 0), (160, 166, 170)),
        "fog": (x // 3 - 10, (164, 168, 174)),
        "planks": (np.where(x % 13 == 0, -26, 3 * (x // 13 % 3)), (160, 146, 138)),
        "rain": (np.where((x + grain // 86) % 9 == 0, 14, -2), (134, 142, 148)),
    }[name]
    return (shade[:, :, None] + np.array(base)).astype(np.int32)


def _blend(canvas, x0, y0, colour, alpha):
    """Lay ``colour`` over the canvas with ``alpha`` in 0..16, at a corner."""
    patch = canvas[y0 : y0 + alpha.shape[0], x0 : x0 + alpha.shape[1]]
    patch += (colour - patch) * alpha[: patch.shape[0], : patch.shape[1]] >> 4


def draw(canvas: np.ndarray, thing: Thing, tint=0) -> None:
    """Draw one thing on a canvas ``(H, W, 3) int32``; touches exactly its tight box.

    ``tint``, ``(3,) int32`` or 0, is added to its colours.
    """
    size = canvas.shape[0]
    colour, second = SHADES[thing.colour]
    if thing.texture != "solid":
        height, width = thing.y1 - thing.y0, thing.x1 - thing.x0
        colour = np.where(_pattern(thing.texture, height, width, size, thing.turn), second, colour)
    colour = colour + tint
    if thing.material != "matte":
        keep, add = _sheen(thing.material, size, thing.form)
        colour = (colour * keep >> 4) + add
    _blend(canvas, thing.x0, thing.y0, colour, mask(size, *thing.form))


def _shadow(canvas, thing):
    """Darken what lies beneath a thing, down on the right of it."""
    size = canvas.shape[0]
    away = size * 3 // 64
    _blend(canvas, thing.x0 + away, thing.y0 + away, BLACK, mask(size, *thing.form) * SHADOW >> 4)


def _action(canvas, scene):
    """What shows an action besides the two things: strokes, rope or beam, beneath them."""
    subject, name, other = scene.relation
    a, b = scene.things[subject], scene.things[other]
    unit = scene.size // 16
    if name == "chasing":  # strokes behind the subject
        for k in (1, 2, 3):
            y = a.y0 + (a.y1 - a.y0) * k // 4
            x = a.x1 + 1 if scene.mirrored else a.x0 - unit - 2 - unit // 2 * (k == 2)
            canvas[y, x : x + unit + 1 + unit // 2 * (k == 2)] = STROKE
    elif name in ("pulling", "lighting"):
        left, right = (b, a) if scene.mirrored else (a, b)
        x0, x1 = (left.x0 + left.x1) // 2, (right.x0 + right.x1) // 2
        y0, y1 = (left.y0 + left.y1) // 2, (right.y0 + right.y1) // 2
        x = np.arange(x0, x1)
        middle = y0 + (y1 - y0) * (x - x0) // (x1 - x0)
        if name == "pulling":  # a rope, tied with a dark knot at the thing that is pulled
            canvas[middle, x] = ROPE
            canvas[middle + 1, x] = ROPE
            knot = b.x1 + 1 if scene.mirrored else b.x0 - unit + 1
            y = middle[knot - x0]
            canvas[y - 1 : y + 3, knot : knot + unit - 1] = KNOT
        else:  # a beam that widens from the subject to the height of the thing that is lit
            steps = x1 - x if scene.mirrored else x - x0
            half = 1 + (b.y1 - b.y0) * steps // (2 * (x1 - x0))
            rows = np.arange(scene.size)[:, None]
            lit = (abs(rows - middle) <= half).astype(np.int32)[:, :, None]
            _blend(canvas, x0, 0, np.array(BEAM, np.int32), lit * 11)


def picture(scene: Scene) -> np.ndarray:
    """The picture of a scene.

    Returns
    -------
    numpy.ndarray
        ``(size, size, 3) uint8``, RGB.

    Examples
    --------
    >>> from alignbook import world
    >>> world.picture(world.scene(world.Config(), "train", 0)).shape
    (64, 64, 3)
    """
    dice, style = Dice(*scene.key, 1), scene.style
    size = scene.size
    canvas = background(scene.background, size) + (dice.below(25) - 12)
    for _ in range(dice.between(4, 9)):  # clutter: grey specks and short strokes
        x, y, long = dice.below(size), dice.below(size), dice.between(1, 4)
        grey = dice.choice((96, 112, 198, 212))
        if dice.chance(50):
            canvas[y, x : x + long] = grey
        else:
            canvas[y : y + long, x] = grey
    _action(canvas, scene)
    subject = scene.relation[0]
    for i in sorted(range(len(scene.things)), key=lambda i: i == subject):  # the front one last
        if style.shadows:
            _shadow(canvas, scene.things[i])
        draw(canvas, scene.things[i], _jitter(dice, style.jitter))
    if style.jitter:
        canvas += _jitter(dice, style.jitter)
    octets = dice.octets(canvas.size).reshape(canvas.shape)
    noise = (octets & 7).astype(np.int32) + (octets >> 4 & 7) - 7  # triangular in -7..7
    canvas += noise * style.noise // 7
    return np.clip(canvas, 0, 255, out=canvas).astype(np.uint8)


def _jitter(dice, most):
    """A random change of red, green and blue."""
    if not most:
        return 0
    return np.array([dice.between(-most, most) for _ in range(3)], np.int32)
