"""Pictures of tensor shapes: small grids with arrows between them, filled with a worked example."""

from dataclasses import dataclass, replace

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
    bool` are framed. ``batch``: sheets behind it say that there are more of its kind. ``extra``
    is drawn dashed: what the other method does without.
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


def coding(regions, words, temperature: float, scale: float):
    """Hard coding and cross-attention side by side, step by step (CHAN Eq. 1 to 6 and 8).

    Regions `(K, d)` and words `(L, d)` of one image and one caption.
    """
    v, t = _unit(regions), _unit(words)
    s = v @ t.T
    omega = np.exp(s / temperature) / np.exp(s / temperature).sum(0)
    attended = omega.T @ v
    hard, soft = s.max(0), (_unit(attended) * t).sum(1)
    of_regions, of_words = _labels("v", v), _labels("t", t)
    inputs = (
        Grid("regions V", "(B₁, K, d)", v, IMAGE, rows=of_regions),
        Grid("words T", "(B₂, L, d)", t, TEXT, rows=of_words),
    )
    shape, labels = "(B₁, B₂, K, L)", dict(rows=of_regions, columns=of_words)
    cosines = Grid("cosines s", shape, s, **labels)
    compared = replace(cosines, marked=s == hard)
    weights = Grid("weights ω", shape, omega, **labels, extra=True)
    mixtures = Grid(r"attended $\hat{t}$", "(B₁, B₂, L, d)", attended, rows=of_words, extra=True)
    return _draw(
        {
            "Hard coding: a word counts for as much as its best region": [
                inputs,
                "cosine",
                compared,
                "max over K\nEq. 6",
                _scores("word scores", hard, of_words),
                "LSE over L\nEq. 8",
                _pooled(hard, scale),
            ],
            "Cross-attention: a word is compared with its mixture of all regions": [
                inputs,
                "cosine",
                cosines,
                "softmax\nover K, Eq. 4",
                weights,
                "Σ ω v\nEq. 2",
                mixtures,
                "cosine with t\nEq. 1",
                _scores("word scores", soft, of_words),
                "LSE over L\nEq. 3",
                _pooled(soft, scale),
            ],
        },
        SHEETS + "Vectors have length 1. Framed: the largest. "
        "Dashed: what hard coding does without.",
    )


def codebooks(cosines, scale: float):
    """The same cosines `(K, L)` under the visual and under the textual codebook (CHAN Table 3)."""
    of_regions, of_words = _labels("v", cosines), _labels("t", cosines.T)
    lanes = {}
    for title, axis, over, left, name, labels in (
        ("Visual codebook: each word's best region", 0, "K", "L", "word scores", of_words),
        ("Textual codebook: each region's best word", 1, "L", "K", "region scores", of_regions),
    ):
        best = cosines.max(axis)
        grid = Grid(
            "cosines s",
            "(B₁, B₂, K, L)",
            cosines,
            rows=of_regions,
            columns=of_words,
            marked=cosines == np.expand_dims(best, axis),
        )
        scores = _scores(name, best, labels, f"(B₁, B₂, {left})")
        lanes[title] = [
            grid,
            f"max over {over}\nEq. 6",
            scores,
            f"LSE over {left}\nEq. 3",
            _pooled(best, scale),
        ]
    return _draw(lanes, SHEETS + "Framed: the largest.")


def matching(regions, phrases):
    """Fine-grained matching of an image's and a caption's entities, both ways (ComAlign Eq. 2–4).

    Regions `(C, d)` and phrases `(C′, d)` of one image and one caption.
    """
    x, y = _unit(regions), _unit(phrases)
    cosines, of_x, of_y = x @ y.T, _labels("x", x), tuple(f"{n}′" for n in _labels("x", y))
    shape = "(B₁, B₂, C, C′)"
    inputs = (
        Grid("image's x", "(B₁, C, d)", x, IMAGE, rows=of_x),
        Grid("caption's x′", "(B₂, C′, d)", y, TEXT, rows=of_y),
    )
    lanes = {}
    for title, axis, over, left, labels, equation in (
        ("Image to text: each region's best phrase", 1, "C′", "C", of_x, "Eq. 3"),
        ("Text to image: each phrase's best region", 0, "C", "C′", of_y, "Eq. 4"),
    ):
        best = cosines.max(axis)
        grid = Grid(
            "cosines",
            shape,
            cosines,
            rows=of_x,
            columns=of_y,
            marked=cosines == np.expand_dims(best, axis),
        )
        whole = Grid("similarity", "(B₁, B₂)", np.array([[best.mean()]]))
        lanes[title] = [
            inputs,
            "cosine",
            grid,
            f"max over {over}\nEq. 2",
            _scores("best", best, labels, f"(B₁, B₂, {left})"),
            f"mean over {left}\n{equation}",
            whole,
        ]
    return _draw(lanes, SHEETS + "Vectors have length 1. Framed: the largest.")


def cohesive_regions(queries, patches, words, temperature: float, threshold: float):
    """From patches to regions, and from these to the similarity with a caption (CoV-Align, steps 2
    to 4 and 7).

    Queries `(N_q, d)` and patches `(P, d)` of one image, words `(L, d)` of one caption. W, V and the
    regions' linear map leave everything as it is.
    """
    z, f, w = _unit(queries), _unit(patches), _unit(words)
    powers = np.exp(z @ f.T / temperature)
    attention = powers / powers.sum(1, keepdims=True)
    low, high = attention.min(1, keepdims=True), attention.max(1, keepdims=True)
    kept = attention - low >= threshold * (high - low)
    r = _unit((attention * kept) @ patches)
    cosines, of_z, of_r = r @ w.T, _labels("z", z), _labels("r", r)
    of_f, of_w = _labels("p", f), _labels("w", w)
    regions = Grid("regions", "(B₁, N_q, d)", r, IMAGE, rows=of_r)
    best = (
        Grid("best word", "(B₁, B₂, N_q)", cosines.max(1)[None], columns=of_r),
        Grid("best region", "(B₁, B₂, L)", cosines.max(0)[None], columns=of_w),
    )
    whole = np.array([[cosines.max(1).mean() + cosines.max(0).mean()]])
    return _draw(
        {
            "Without a caption: queries gather patches that hold together": [
                (
                    Grid("queries z W", "(B₁, N_q, d)", z, PAPER, rows=of_z),
                    Grid("patches F W", "(B₁, P, d)", f, IMAGE, rows=of_f),
                ),
                "cosine / τ,\nsoftmax, Eq. 2",
                Grid(
                    "attention a", "(B₁, N_q, P)", attention, rows=of_z, columns=of_f, marked=kept
                ),
                "mean of what\nis kept",
                regions,
            ],
            "With one: regions and words, both ways": [
                (regions, Grid("words", "(B₂, L, d)", w, TEXT, rows=of_w)),
                "cosine",
                Grid("cosines s", "(B₁, B₂, N_q, L)", cosines, rows=of_r, columns=of_w),
                "max over L,\nmax over N_q",
                best,
                "two means,\nadded",
                Grid("similarity S", "(B₁, B₂)", whole),
            ],
        },
        SHEETS
        + f"Vectors have length 1. Framed: what the mask keeps, {threshold:g} or more when a "
        "row is scaled from 0 to 1.",
    )


def corrected_labels(images, captions, clean):
    """From cosines to a pair's corrected label, ours and as the notes print it (GSL Eq. 8–11).

    Cosines `(B, B)` of a mini-batch's images and of its captions, which of the pairs are `clean`
    `(B,) bool`; shown are those of the first pair, which needs two clean ones beside it.
    """
    s_i, s_t, others = images[0], captions[0], np.arange(1, len(clean))
    near = [others[clean[1:]][np.argsort(-each[others[clean[1:]]])[:2]] for each in (s_i, s_t)]
    chosen = np.concatenate(near)
    names = tuple(f"{way} a{'₁₂'[i]}" for way in "IT" for i in range(2))
    pairs = ("n", *_labels("p", others))
    inputs = (
        Grid(
            "images",
            "(B, B)",
            s_i[None],
            IMAGE,
            rows=("S_I",),
            columns=pairs,
            marked=np.isin(np.arange(len(s_i)), near[0])[None],
        ),
        Grid(
            "captions",
            "(B, B)",
            s_t[None],
            TEXT,
            rows=("S_T",),
            columns=pairs,
            marked=np.isin(np.arange(len(s_t)), near[1])[None],
        ),
    )
    at = (
        Grid("to the anchors", "(B, 4)", s_i[chosen][None], IMAGE, rows=("S_I",), columns=names),
        Grid("to the anchors", "(B, 4)", s_t[chosen][None], TEXT, rows=("S_T",), columns=names),
    )
    q = s_t[chosen] / s_i[chosen]
    likeness = np.minimum(q, 1 / q)
    r_i, r_t = s_i[chosen][::2] / s_i[chosen][1::2], s_t[chosen][::2] / s_t[chosen][1::2]
    ways = ("I", "T")
    compared = np.array([r_i[0] / r_t[0], r_t[1] / r_i[1]])
    return _draw(
        {
            "Ours: is the caption as near to the anchors' captions as the image to their images?": [
                inputs,
                "two clean\npairs each",
                at,
                "S_T / S_I",
                Grid("q", "(B, 4)", q[None], columns=names),
                "min(q, 1/q)",
                Grid("likeness", "(B, 4)", likeness[None], columns=names),
                "mean\nEq. 11",
                Grid("label ŷ", "(B,)", np.array([[likeness.mean()]])),
            ],
            "As printed: one anchor against the other": [
                at,
                "a₁ over a₂\nEq. 8, 9",
                (
                    Grid("R_I", "(B, 2)", r_i[None], IMAGE, columns=ways),
                    Grid("R_T", "(B, 2)", r_t[None], TEXT, columns=ways),
                ),
                "R_I / R_T,\nR_T / R_I",
                Grid("Eq. 10", "(B, 2)", compared[None], columns=ways),
                "mean\nEq. 11",
                Grid("label ŷ", "(B,)", np.array([[compared.mean()]])),
            ],
        },
        "n: the pair to be labelled, the other pairs are clean. I a₁, I a₂: the two nearest by "
        "images, T a₁, T a₂: by captions (framed). Sheets: the rest of the batch.",
    )


def attention_map(omega, inside):
    """From a word's weights to its map (CHAN §4.4).

    Weights `(K,)`; `inside` `(K, H, W)`: the share of each pixel that lies in each region's box.
    """
    names = _labels("v", omega)
    word = Grid(
        "weights ω of a word",
        "(K,) of (L, K)",
        omega[:, None],
        rows=names,
        marked=(omega == omega.max())[:, None],
        batch=False,
    )
    boxes = tuple(
        Grid(f"box of {name}", "(H, W)", box, IMAGE, batch=False)
        for name, box in zip(names, inside)
    )
    pixels = Grid("map", "(H, W)", np.einsum("k,khw->hw", omega, inside), PAPER, batch=False)
    return _draw(
        {
            "A word's map: each pixel adds up the weights of the boxes it is in": [
                word,
                "each times\nits box",
                boxes,
                "sum over K\n§4.4",
                pixels,
            ]
        },
        "Framed: the largest weight; its box is the one outlined in the figure.",
    )


def _unit(x):
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def _labels(letter: str, rows) -> tuple[str, ...]:
    return tuple(letter + "₁₂₃₄₅₆₇₈₉"[i] for i in range(len(rows)))


def _scores(name, values, labels, shape="(B₁, B₂, L)") -> Grid:
    return Grid(name, shape, values[None], columns=labels)


def _pooled(scores, scale) -> Grid:
    pooled = np.log(np.exp(scale * scores).sum()) / scale
    return Grid("similarity", "(B₁, B₂)", np.array([[pooled]]))


def _draw(lanes: dict, note: str):
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
