"""The tensors behind GSL's corrected labels, drawn."""

import numpy as np

from alignbook.show.tensor_grids import IMAGE, TEXT, Grid, draw, labelled


def corrected_labels(images, captions, clean):
    """From cosines to a pair's corrected label, ours and as the notes print it (GSL Eq. 8–11).

    Cosines `(B, B)` of a mini-batch's images and of its captions, which of the pairs are `clean`
    `(B,) bool`; shown are those of the first pair, which needs two clean ones beside it.
    """
    s_i, s_t, others = images[0], captions[0], np.arange(1, len(clean))
    near = [others[clean[1:]][np.argsort(-each[others[clean[1:]]])[:2]] for each in (s_i, s_t)]
    chosen, pairs = np.concatenate(near), ("n", *labelled("p", others))
    names = tuple(f"{way} a{'₁₂'[i]}" for way in "IT" for i in range(2))
    inputs, at = [], []
    for name, row, s, of, colour in (
        ("images", "S_I", s_i, near[0], IMAGE),
        ("captions", "S_T", s_t, near[1], TEXT),
    ):
        framed = np.isin(np.arange(len(s)), of)[None]
        inputs.append(Grid(name, "(B, B)", s[None], colour, (row,), pairs, framed))
        at.append(Grid("to the anchors", "(B, 4)", s[chosen][None], colour, (row,), names))
    lanes = {
        "Ours: is the caption as near to the anchors' captions as the image to their images?": [
            tuple(inputs),
            "two clean\npairs each",
            *_likeness(tuple(at), s_t[chosen] / s_i[chosen], names),
        ],
        "As the notes print it: one anchor against the other": _ratios(
            tuple(at), s_i[chosen], s_t[chosen]
        ),
    }
    return draw(
        lanes,
        "n: the pair to be labelled, the other pairs are clean. I a₁, I a₂: the two nearest by "
        "images, T a₁, T a₂: by captions (framed). Sheets: the rest of the batch.",
    )


def _likeness(at: tuple, q, names: tuple) -> list:
    """The rest of our lane, from the similarities to the anchors and their quotients q `(4,)`."""
    likeness = np.minimum(q, 1 / q)
    return [
        at,
        "S_T / S_I",
        Grid("q", "(B, 4)", q[None], columns=names),
        "min(q, 1/q)",
        Grid("likeness", "(B, 4)", likeness[None], columns=names),
        "mean\nEq. 11",
        Grid("label ŷ", "(B,)", np.array([[likeness.mean()]])),
    ]


def _ratios(at: tuple, s_i, s_t) -> list:
    """The lane of the printed rule, from the similarities `(4,)` of images and of captions."""
    r_i, r_t, ways = s_i[::2] / s_i[1::2], s_t[::2] / s_t[1::2], ("I", "T")
    compared = np.array([r_i[0] / r_t[0], r_t[1] / r_i[1]])
    return [
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
    ]
