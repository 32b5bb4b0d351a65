"""What GSL's networks retrieve, both ways (Figures 3 and 4)."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch

from alignbook.backbones import region_features
from alignbook.papers.gsl import noisy_pairs, two_networks
from alignbook.papers.gsl.show import RIGHT, WRONG, first_run
from alignbook.show import figures
from alignbook.show.datasheet import wrapped
from alignbook.show.figures import INK


@torch.no_grad()
def scores(run, inputs, images: np.ndarray, captions: np.ndarray, device: str = "cpu"):
    """Mean score of a run's two networks, of some test images with some test captions.

    Parameters
    ----------
    images `(n,)`, captions `(m,)` : rows of the test split, from 0.

    Returns
    -------
    (n, m) float array
    """
    dataset, feature_run = inputs[:2]
    networks, vocabulary = two_networks.load(run, *inputs[:4])
    said = dataset.captions_of("test")
    ids, lengths = vocabulary.encode([said[i] for i in captions])
    total = 0
    for network in networks.to(device):
        words, parts = network.encode_captions(ids.to(device), lengths), []
        for start in range(0, len(images), noisy_pairs.IMAGES):
            rows = dataset.splits["test"][images[start : start + noisy_pairs.IMAGES]]
            raw = region_features.batch(feature_run.array("features"), rows, run.config["regions"])
            parts.append(network.similarity(network.encode_images(raw.to(device)), words).cpu())
        total = total + torch.cat(parts)
    return (total / len(networks)).numpy()  # type: ignore[attr-defined]


def retrieved(run, inputs, queries: int = 4, k: int = 3, device: str = "cpu") -> dict:
    """The top `k` of the first test queries, from the test images that the run was measured on.

    Returns
    -------
    dict of "captions", for the first images, and "images", for the first caption of each of them:
    DataFrames of query (a row of the test split), rank, found (likewise), score, right.
    """
    dataset = inputs[0]
    each, n = dataset.captions_per_image, run.config["test_images"] or len(dataset.splits["test"])
    first = np.arange(min(queries, n))
    return {
        "captions": top(
            scores(run, inputs, first, np.arange(each * n), device),
            k,
            first,
            lambda image, caption: caption // each == image,
        ),
        "images": top(
            scores(run, inputs, np.arange(n), each * first, device).T,
            k,
            each * first,
            lambda caption, image: caption // each == image,
        ),
    }


def top(found: np.ndarray, k: int, queries, is_right) -> pd.DataFrame:
    """The `k` largest of each row, the first of equals first: query, rank, found, score, right.

    >>> top(np.array([[0.1, 0.9, 0.4]]), 2, [7], lambda q, i: i == 2)[["found", "right"]].values
    array([[1, False],
           [2, True]], dtype=object)
    """
    lines = []
    for query, row in zip(queries, found):
        for rank, i in enumerate(np.argsort(-row, kind="stable")[:k], 1):
            lines.append((int(query), rank, int(i), float(row[i]), bool(is_right(query, i))))
    return pd.DataFrame(lines, columns=["query", "rank", "found", "score", "right"])


def shown_against_all(found: dict, listed: pd.DataFrame, named: dict[str, str]) -> pd.DataFrame:
    """How many of the queries shown have a right answer first or among the top, in percent, beside
    R@1 of all test queries and that of a random order; and the epoch that dev chose, 0 for the warm-up.

    Parameters
    ----------
    found : `retrieved` of each method, by its name. named : the arm of each name.
    """
    lines = []
    for name, both in found.items():
        run = first_run(listed, named[name])
        n, chosen = len(run.array("ranks_i2t")), int(run.array("dev")[:, 1].argmax())
        for way, kind, short in (
            ("image to text", "captions", "i2t"),
            ("text to image", "images", "t2i"),
        ):
            right = both[kind].groupby("query").right
            lines.append(
                (
                    name,
                    way,
                    right.ngroups,
                    100 * right.first().mean(),
                    100 * right.any().mean(),
                    run.metrics[f"test {short} R@1"],
                    100 / n,
                    chosen,
                )
            )
    return pd.DataFrame(
        lines,
        columns=[
            "method",
            "direction",
            "queries shown",
            "right first (%)",
            "right among the top (%)",
            "R@1 of all (%)",
            "R@1 by chance (%)",
            "epoch (0: the warm-up)",
        ],
    )


def long_form(found: dict[str, dict], dataset, way: str) -> pd.DataFrame:
    """`retrieved` of several methods one below the other, with what was found in words: `way` is
    "captions" or "images"."""
    said, each = dataset.captions_of("test"), dataset.captions_per_image
    table = pd.concat([both[way].assign(method=name) for name, both in found.items()])
    if way == "captions":
        table["caption"] = [said[i] for i in table.found]
    else:
        table["asked"] = [said[i] for i in table["query"]]
        table["first caption"] = [said[each * i] for i in table.found]
    return table.sort_values(["query", "method", "rank"], ignore_index=True, kind="stable")


def captions_figure(found: pd.DataFrame, dataset, note: str):
    """Figure 3: a test image a line, and the top captions of each method with their scores."""
    figures.use_style()
    queries, methods = list(dict.fromkeys(found["query"])), list(dict.fromkeys(found.method))
    figure, axes = plt.subplots(
        len(queries),
        1 + len(methods),
        figsize=(11, 1.75 * len(queries) + 0.7),
        squeeze=False,
        width_ratios=(1, *[3] * len(methods)),
    )
    for line, query in zip(axes, queries):
        _picture(line[0], dataset, query, f"test image {query}")
        for axis, method in zip(line[1:], methods):
            axis.set_axis_off()
            own = found[(found["query"] == query) & (found.method == method)]
            for i, each in enumerate(own.itertuples()):
                mark, colour = RIGHT if each.right else WRONG
                for x, said, looks in (
                    (0.0, mark, dict(color=colour, fontsize=13, fontweight="bold")),
                    (0.06, f"{each.score:.3f}", dict(fontweight="bold")),
                    (0.18, wrapped(each.caption, 52, 3), {}),
                ):
                    how = dict(fontsize=8.5, va="top", transform=axis.transAxes) | looks
                    axis.text(x, 0.9 - i / len(own), said, **how)
    for axis, method in zip(axes[0, 1:], methods):
        axis.set_title(method)
    figure.text(0.01, 0.005, _marks(note), fontsize=8, color="#555555")
    figure.tight_layout(rect=(0, 0.03, 1, 1))
    return figure


def images_figure(found: pd.DataFrame, dataset, note: str):
    """Figure 4: a caption a line, and the top images of each method with their scores."""
    figures.use_style()
    queries, methods = list(dict.fromkeys(found["query"])), list(dict.fromkeys(found.method))
    k = int(found["rank"].max())
    figure = plt.figure(figsize=(11, 2.15 * len(queries) + 0.7))
    grid = figure.add_gridspec(
        len(queries),
        k * len(methods) + len(methods) - 1,
        hspace=0.55,
        wspace=0.08,
        left=0.01,
        right=0.99,
        top=0.9,
        bottom=0.06,
        width_ratios=[*[1] * k, *[0.35, *[1] * k] * (len(methods) - 1)],
    )
    for r, query in enumerate(queries):
        for m, method in enumerate(methods):
            own = found[(found["query"] == query) & (found.method == method)]
            for c, each in enumerate(own.itertuples()):
                axis = figure.add_subplot(grid[r, m * (k + 1) + c])
                mark, colour = RIGHT if each.right else WRONG
                _picture(axis, dataset, each.found, f"{mark} {each.score:.3f}", colour)
                how = dict(fontweight="bold", transform=axis.transAxes)
                if not m + c:
                    axis.text(0, 1.32, f"“{own.asked.iloc[0]}”", fontsize=9.5, **how)
                if not r + c:
                    axis.text(0, 1.62, method, fontsize=11, color="#555555", **how)
    figure.text(0.01, 0.005, _marks(note), fontsize=8, color="#555555")
    return figure


def _picture(axis, dataset, row: int, title: str, colour=None) -> None:
    """A test image, framed in a colour; its first caption where there are no pictures."""
    axis.set_xticks([]), axis.set_yticks([]), axis.grid(False)
    axis.set_title(
        title, fontsize=8.5, fontweight="bold" if colour else "normal", color=colour or INK
    )
    if dataset.images is None:
        said = dataset.captions_of("test")[row * dataset.captions_per_image]
        axis.text(
            0.04, 0.95, wrapped(said, 22, 3), fontsize=7.5, va="top", transform=axis.transAxes
        )
    else:
        axis.imshow(dataset.images[dataset.splits["test"][row]], interpolation="nearest")
    for spine in axis.spines.values():
        spine.set(visible=bool(colour), color=colour or INK, linewidth=3)


def _marks(note: str) -> str:
    return (
        "✓ belongs to the query, ✗ does not; the number is the mean score of both networks. " + note
    )
