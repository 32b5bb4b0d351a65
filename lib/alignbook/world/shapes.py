"""The sixteen shapes: their boxes and their masks, upright or turned, in integer arithmetic.

Outlines are polygons on a grid of 60 x 60 (round shapes are formulas), sampled 4 x 4 times a
pixel once per process. A *form* is (shape, size) or (shape, size, turn).
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

SHAPES = (
    "circle",
    "square",
    "triangle",
    "star",
    "heart",
    "diamond",
    "cross",
    "ring",
    "crescent",
    "arrow",
    "bar",
    "dome",
    "hourglass",
    "fish",
    "bolt",
    "stair",
)
SIZES = ("small", "medium", "big")
SIDES = (12, 16, 21)  # pixels of small, medium and big things on a canvas of 64
GRID, FINE = 60, 4  # coordinates of the outlines below; samples a pixel and side
SEEN = 8  # coverage of 16 from which a pixel counts as the thing's
TURNS = {  # degrees clockwise: cosine and sine in 1024ths
    -28: (904, -481),
    -14: (994, -248),
    -7: (1016, -125),
    0: (1024, 0),
    7: (1016, 125),
    14: (994, 248),
    28: (904, 481),
}

# Outlines on the grid, x to the right and y down; round shapes are formulas in _inside.
OUTLINES = {
    "square": [(0, 0), (60, 0), (60, 60), (0, 60)],
    "bar": [(0, 0), (60, 0), (60, 60), (0, 60)],
    "triangle": [(30, 0), (60, 60), (0, 60)],
    "diamond": [(30, 0), (60, 30), (30, 60), (0, 30)],
    "star": [
        (30, 0),
        (38, 21),
        (60, 22),
        (43, 36),
        (49, 60),
        (30, 46),
        (11, 60),
        (17, 36),
        (0, 22),
        (22, 21),
    ],
    "cross": [
        (20, 0),
        (40, 0),
        (40, 20),
        (60, 20),
        (60, 40),
        (40, 40),
        (40, 60),
        (20, 60),
        (20, 40),
        (0, 40),
        (0, 20),
        (20, 20),
    ],
    "arrow": [(0, 19), (28, 19), (28, 0), (60, 30), (28, 60), (28, 41), (0, 41)],
    "hourglass": [(0, 0), (60, 0), (36, 30), (60, 60), (0, 60), (24, 30)],
    "bolt": [(28, 0), (56, 0), (40, 22), (60, 22), (14, 60), (24, 34), (2, 34)],
    "stair": [(0, 0), (20, 0), (20, 20), (40, 20), (40, 40), (60, 40), (60, 60), (0, 60)],
}


def shape_box(canvas: int, shape: str, size: str, turn: int = 0) -> tuple[int, int]:
    """Width and height in pixels of a form on a square canvas."""
    height, width, _ = mask(canvas, shape, size, turn).shape
    return width, height


def _upright(canvas: int, shape: str, size: str) -> tuple[int, int]:
    """Width and height before turning; bars and domes are not square."""
    long = SIDES[SIZES.index(size)] * canvas // 64
    if shape == "bar":
        return long, long * 2 // 5
    if shape == "dome":
        return long, long * 3 // 5
    if shape == "fish":
        return long, long * 3 // 4
    return (long * 3 // 4, long) if shape in ("hourglass", "crescent") else (long, long)


def _inside(shape: str, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Which sample points lie in a shape; coordinates are 8 times those of the grid."""
    x, y = x.astype(np.int64), y.astype(np.int64)
    u, v, radius = x - 240, y - 240, 240
    square = u * u + v * v
    if shape == "circle":
        return square <= radius**2
    if shape == "ring":
        return (square <= radius**2) & (square >= 125**2)
    if shape == "crescent":  # a disc less one to the right: its horns end at 365 of 480
        u = x * 365 // 480 - 240
        square = u * u + v * v
        return (square <= radius**2) & ((u - 130) ** 2 + v * v >= 205**2)
    if shape == "dome":
        return u * u * 4 + (y - 480) ** 2 <= 4 * radius**2
    if shape == "heart":
        lobes = (abs(u) - 120) ** 2 + (y - 125) ** 2 <= 125**2
        point = (y >= 125) & (abs(u) * 355 <= (480 - y) * 243)
        return lobes | point
    if shape == "fish":  # an oval body with a tail on the right
        body = (x - 190) ** 2 * 240**2 + v * v * 190**2 <= (190 * 240) ** 2
        tail = (x >= 300) & (abs(v) * 180 <= (x - 300) * 210)
        return body | tail
    crossings = np.zeros(np.broadcast_shapes(x.shape, y.shape), bool)
    corners = [(8 * a, 8 * b) for a, b in OUTLINES[shape]]
    for (ax, ay), (bx, by) in zip(corners, corners[1:] + corners[:1], strict=True):
        if ay > by:
            ax, ay, bx, by = bx, by, ax, ay
        crossings ^= (ay <= y) & (y < by) & ((x - ax) * (by - ay) < (bx - ax) * (y - ay))
    return crossings


def turned(x: np.ndarray, y: np.ndarray, turn: int) -> tuple[np.ndarray, np.ndarray]:
    """Where points of a thing turned clockwise stood before, about the origin."""
    cosine, sine = TURNS[turn]
    return x * cosine + y * sine >> 10, y * cosine - x * sine >> 10


@lru_cache(maxsize=None)
def mask(canvas: int, shape: str, size: str, turn: int = 0) -> np.ndarray:
    """Coverage of a form's box, ``(h, w, 1) int32`` in 0..16; no empty border."""
    width, height = _upright(canvas, shape, size)
    across, down = (width + height, width + height) if turn else (width, height)
    # Samples about the centre, in halves of their distance: odd numbers.
    x = 2 * np.arange(across * FINE) + 1 - across * FINE
    y = 2 * np.arange(down * FINE) + 1 - down * FINE
    x, y = turned(x[None, :], y[:, None], turn)
    x = (x + width * FINE) * (4 * GRID) // (width * FINE)  # eighths of the grid's unit
    y = (y + height * FINE) * (4 * GRID) // (height * FINE)
    fine = _inside(shape, x, y) & (x >= 0) & (y >= 0) & (x < 8 * GRID) & (y < 8 * GRID)
    coverage = fine.astype(np.int32).reshape(down, FINE, across, FINE).sum((1, 3), dtype=np.int32)
    if turn:
        rows, columns = np.nonzero(coverage.max(1) >= 4)[0], np.nonzero(coverage.max(0) >= 4)[0]
        coverage = coverage[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    for axis in (0, 1):  # tips thinner than a sample must still reach the box
        line = coverage.max(1 - axis)
        for edge in (0, -1):
            if line[edge] < 4:
                where = (
                    (edge, coverage[edge].argmax())
                    if axis == 0
                    else (coverage[:, edge].argmax(), edge)
                )
                coverage[where] = 8
    coverage[coverage < 2] = 0
    return coverage[:, :, None]


@lru_cache(maxsize=None)
def _edges(canvas: int, *form) -> tuple[np.ndarray, np.ndarray]:
    """For each column of a form's box: empty rows above it, empty rows below it."""
    seen = mask(canvas, *form)[:, :, 0] >= SEEN
    far = np.where(seen.any(0), 0, 10**6)
    return seen.argmax(0) + far, seen[::-1].argmax(0) + far


def drop(canvas: int, upper: tuple, lower: tuple, x: int) -> int:
    """Rows by which one form can sink until it touches another.

    Parameters
    ----------
    canvas : int
        Side of the picture in pixels.
    upper, lower : form
        The upper one's box stands on the lower one's.
    x : int
        Left edge of the upper box, counted from the lower's.
    """
    below, above = _edges(canvas, *upper)[1], _edges(canvas, *lower)[0]
    start, stop = max(x, 0), min(x + len(below), len(above))
    return int((below[start - x : stop - x] + above[start:stop]).min())


def hidden(canvas: int, front: tuple, back: tuple, x: int, y: int) -> int:
    """Percentage of a form's pixels behind another whose box starts at ``(x, y)`` in its own."""
    a, b = (mask(canvas, *form)[:, :, 0] >= SEEN for form in (front, back))
    top, bottom = max(y, 0), min(y + a.shape[0], b.shape[0])
    left, right = max(x, 0), min(x + a.shape[1], b.shape[1])
    if top >= bottom or left >= right:
        return 0
    both = b[top:bottom, left:right] & a[top - y : bottom - y, left - x : right - x]
    return 100 * int(both.sum()) // int(b.sum())
