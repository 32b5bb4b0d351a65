"""Pictures of tensor shapes: small grids with arrows between them, filled with a worked example.

What is drawn of a method stands in its paper's room.
"""

from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np

from alignbook.show.figures import ACCENT, INK, OURS, PAPER, use_style

IMAGE, TEXT, SCORE = OURS, ACCENT, "#666666"
CELL, ARROW, GAP = 0.62, 1.5, 1.1  # width of a cell and of an arrow, space between stacked grids
SHEETS = "Sheets behind a grid: the rest of the batch, of B₁ images and B₂ captions. "


@dataclass(frozen=True)
class Grid:
    """A tensor, shown as one of its matrices.

    ``cells`` `(R, C)` are its numbers, ``rows`` and ``columns`` their labels; ``marked`` `(R, C)
    bool` are framed. ``batch``: sheets behind it say that there are more of its kind. ``extra`` is
    drawn dashed: what the other method does without.
    """

    name: str
    shape: str
    cells: np.ndarray
    colour: str = SCORE
    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    marked: np.ndarray | None = None
    batch: bool = True
    extra: bool = False


def unit(x):
    """Rows of length 1."""
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def labelled(letter: str, rows) -> tuple[str, ...]:
    """A letter with the number of each row below it."""
    return tuple(letter + "₁₂₃₄₅₆₇₈₉"[i] for i in range(len(rows)))


def score_row(name, values, labels, shape="(B₁, B₂, L)") -> Grid:
    """A vector of scores as a matrix of one row."""
    return Grid(name, shape, values[None], columns=labels)


def draw(lanes: dict, note: str):
    """Lanes from above, each a list of grids, stacks of them (tuples) and labels of arrows."""
    use_style()
    heights = [
        max(_height(item) for item in lane if not isinstance(item, str)) + 0.8
        for lane in lanes.values()
    ]
    width = max(11.5, *(sum(map(_width, lane)) for lane in lanes.values()))
    whole = sum(heights) + 0.5
    figure = plt.figure(figsize=(0.6 * width, 0.6 * whole))
    axis = figure.add_axes((0, 0, 1, 1))
    axis.set_axis_off(), axis.set_xlim(-0.1, width - 0.1), axis.set_ylim(-whole, 0)
    top = 0.0
    for (title, lane), height in zip(lanes.items(), heights):
        axis.text(0, top - 0.25, title, fontsize=10.5, fontweight="bold", va="center")
        x, middle = 0.0, top - (height + 0.8) / 2
        for item in lane:
            if isinstance(item, str):
                _arrow(axis, x, middle, item)
            else:
                _stack(axis, x, middle, item if isinstance(item, tuple) else (item,))
            x += _width(item)
        top -= height
    axis.text(0, 0.15 - whole, note, fontsize=8, color="#555555")
    return figure


def _width(item) -> float:
    if isinstance(item, str):
        return ARROW
    return max(CELL * max(grid.cells.shape[1], 2) + 0.75 for grid in _tuple(item))


def _height(item) -> float:
    return sum(CELL * len(grid.cells) + GAP for grid in _tuple(item))


def _tuple(item) -> tuple:
    return item if isinstance(item, tuple) else (item,)


def _arrow(axis, x, y, text):
    axis.annotate(
        "",
        (x + ARROW - 0.15, y),
        (x + 0.1, y),
        arrowprops=dict(arrowstyle="-|>", color=INK, lw=1.2),
    )
    axis.text(x + ARROW / 2, y + 0.12, text, fontsize=8, ha="center", va="bottom")


def _stack(axis, x, middle, grids):
    """Grids below each other, around a line."""
    y = middle + _height(grids) / 2
    for grid in grids:
        _grid(axis, x + 0.45, y - GAP / 2 - 0.05, grid)
        y -= _height(grid)


def _grid(axis, x, y, grid):
    """One grid with its upper left corner at x, y; its name above, its shape below."""
    rows, columns = grid.cells.shape
    wide, high = CELL * columns, CELL * rows
    edge, style = (PAPER, "--") if grid.extra else (grid.colour, "-")
    for shift in (0.14, 0.07) if grid.batch else ():
        axis.add_patch(
            plt.Rectangle(
                (x + shift, y - high + shift), wide, high, facecolor="white", edgecolor=edge, lw=0.8
            )
        )
    for r, c in np.ndindex(rows, columns):
        value, corner = grid.cells[r, c], (x + c * CELL, y - (r + 1) * CELL)
        axis.add_patch(plt.Rectangle(corner, CELL, CELL, facecolor="white", lw=0))
        shade = 0.08 + 0.4 * np.clip(value, 0, 1)
        axis.add_patch(plt.Rectangle(corner, CELL, CELL, facecolor=grid.colour, alpha=shade, lw=0))
        axis.add_patch(
            plt.Rectangle(corner, CELL, CELL, fill=False, edgecolor=edge, lw=0.8, linestyle=style)
        )
        axis.text(
            corner[0] + CELL / 2,
            corner[1] + CELL / 2,
            f"{value:.2f}".replace("-", "−"),
            fontsize=7.5,
            ha="center",
            va="center",
        )
    if grid.marked is not None:
        for r, c in np.argwhere(grid.marked):
            axis.add_patch(
                plt.Rectangle(
                    (x + c * CELL, y - (r + 1) * CELL), CELL, CELL, fill=False, edgecolor=INK, lw=2
                )
            )
    for r, label in enumerate(grid.rows):
        axis.text(x - 0.1, y - (r + 0.5) * CELL, label, fontsize=8, ha="right", va="center")
    for c, label in enumerate(grid.columns):
        axis.text(x + (c + 0.5) * CELL, y + 0.2, label, fontsize=8, ha="center", va="bottom")
    above = 0.5 if grid.columns else 0.2
    axis.text(x, y + above, grid.name, fontsize=8.5, va="bottom")
    axis.text(
        x, y - high - 0.08, grid.shape, fontsize=8, color="#555555", va="top", family="monospace"
    )
