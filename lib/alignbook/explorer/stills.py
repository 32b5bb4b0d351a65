"""The explorer's static forms: a figure of a caption's words, tables of captions and exchanges."""

import numpy as np
import pandas as pd

from alignbook.explorer import matching
from alignbook.explorer.stored_models import picture_of
from alignbook.explorer.wording import exchanged
from alignbook.papers.chan.show import WARM, YELLOW
from alignbook.show import figures


def telling(looks: dict, k: int = 6) -> list[int]:
    """Places of the k words that add most, by the mean over methods, in the caption's order."""
    parts = np.mean([found.pair.contributions for found in looks.values()], axis=0)
    return sorted(np.argsort(-parts, kind="stable")[:k].tolist())


def words_figure(galleries: dict, image: int, words: list[str], k: int = 6):
    """A caption's words on a picture, a row a method: maps, best regions, what each word adds.

    Parameters
    ----------
    galleries : name of a method → `Gallery`, all of one data set, with regions.

    Returns
    -------
    The figure and its data: method, word, place, word's score, contribution, best region's share
    and box, the caption's score and the picture's place. Without pictures the figure is None.
    """
    looks = {name: matching.look(each, image, words) for name, each in galleries.items()}
    shown, first = telling(looks, k), next(iter(galleries.values()))
    data = _words_table(galleries, looks, image, words)
    if first.boxes is None:
        return None, data
    return _words_figure(galleries, looks, image, words, shown), data


def _words_table(galleries: dict, looks: dict, image: int, words: list[str]) -> pd.DataFrame:
    lines = []
    for name, found in looks.items():
        p, boxes = found.pair, galleries[name].boxes
        for i, word in enumerate(words):
            box = [None] * 4 if boxes is None else boxes[image][p.best[i]]
            lines.append(
                {
                    "method": name,
                    "word": word,
                    "place": i,
                    "word score": p.scores[i],
                    "contribution": p.contributions[i],
                    "best share": p.weights[i].max(),
                    **dict(zip(("x0", "y0", "x1", "y1"), box, strict=True)),
                    "caption score": p.score,
                    "picture's rank": found.rank,
                }
            )
    return pd.DataFrame(lines)


def _words_figure(galleries, looks, image, words, shown):
    import matplotlib.pyplot as plt
    from matplotlib import patheffects

    figures.use_style()
    first = next(iter(galleries.values()))
    picture, side = picture_of(first, image), matching.side(first)
    n, columns, wide = len(looks), 1 + len(shown), 1.5
    high = wide * (1.5 * n - 0.5)
    figure, axes = plt.subplots(
        n,
        columns,
        figsize=(wide * columns, high),
        squeeze=False,
        gridspec_kw=dict(hspace=0.5, wspace=0.06, left=0, right=1, bottom=0, top=1),
    )
    halo = [patheffects.withStroke(linewidth=4, foreground=figures.INK)]
    extent = (0, side, side, 0)
    for line, (name, found) in zip(axes, looks.items(), strict=True):
        line[0].imshow(picture, extent=extent)
        line[0].set_title(name, fontsize=8.5)
        rank_of = f"rank {found.rank:,} of {len(galleries[name].images):,}"
        told = f"score {found.pair.score:.3f}\n{rank_of}"
        line[0].set_xlabel(told, fontsize=7.5, loc="left")
        boxes = galleries[name].boxes[image]
        drawn = matching.maps(found.pair, boxes, side)
        for axis, i in zip(line[1:], shown):
            axis.imshow(picture.mean(-1), cmap="gray", vmin=-60, vmax=255, extent=extent)
            heat = axis.imshow(
                100 * drawn[i], cmap=WARM, vmin=0, vmax=100, alpha=0.6, extent=extent
            )
            x0, y0, x1, y1 = side * boxes[found.pair.best[i]]
            axis.add_patch(
                plt.Rectangle(
                    (x0, y0),
                    x1 - x0,
                    y1 - y0,
                    fill=False,
                    clip_on=False,
                    color=YELLOW,
                    lw=1.8,
                    path_effects=halo,
                )
            )
            axis.set_title(f"“{words[i]}”", fontsize=8.5)
            share = 100 * found.pair.weights[i].max()
            axis.set_xlabel(
                f"adds {found.pair.contributions[i]:.3f}\nbest region {share:.0f} %",
                fontsize=7.5,
                loc="left",
            )
        for axis in line:
            axis.set_xticks([]), axis.set_yticks([]), axis.grid(False)
    bar = figure.add_axes((0.4, -0.7 / high, 0.6, 0.09 / high))
    figure.colorbar(heat, cax=bar, orientation="horizontal")
    bar.set_xlabel(
        "attention in regions that cover the pixel, %. Yellow: the best region", fontsize=8
    )
    return figure


def captions_table(galleries: dict, image: int, k: int = 5) -> pd.DataFrame:
    """`ranked_captions` of each method for reading: own ones marked, numbers after the words."""
    lines = []
    for name, each in galleries.items():
        for line in matching.ranked_captions(each, image, k).itertuples():
            parts = line.contributions
            said = (
                line.words
                if parts is None
                else [f"{word} {part:.2f}" for word, part in zip(line.words, parts, strict=True)]
            )
            lines.append((name, line.rank, "✓" if line.own else "", line.score, " · ".join(said)))
    return pd.DataFrame(
        lines, columns=["method", "rank", "own", "score", "caption: what each word adds"]
    )


def swaps_table(
    galleries: dict, image: int, words: list[str], place: int, others: list[str]
) -> pd.DataFrame:
    """Score and rank of a picture as one word of the caption is exchanged; each method, each word.

    Returns
    -------
    DataFrame: method, the word in the place, score, change against the caption as it was, the
    picture's rank.
    """
    lines = []
    for name, each in galleries.items():
        before = matching.look(each, image, words)
        for other in (words[place], *others):
            found = matching.look(each, image, exchanged(words, place, other))
            change = found.pair.score - before.pair.score
            lines.append((name, other, found.pair.score, change, found.rank))
    return pd.DataFrame(lines, columns=["method", "word", "score", "change", "picture's rank"])
