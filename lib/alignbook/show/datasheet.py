"""What notebook 02 shows of a data set: pictures with boxes, words, relations, duplicates, gold."""

import hashlib
import textwrap
from collections import Counter

import numpy as np
import pandas as pd

from alignbook.core.vocabulary import tokenize
from alignbook.show import figures


def splits_table(dataset) -> pd.DataFrame:
    """Pictures, captions and distinct captions of each split."""
    lines = []
    for split, rows in dataset.splits.items():
        captions = dataset.captions_of(split)
        lines.append((split, len(rows), len(captions), len(set(captions))))
    return pd.DataFrame(lines, columns=["split", "pictures", "captions", "distinct captions"])


def check_splits(dataset) -> None:
    """Raise unless splits share no picture, every picture has its captions, and none is empty."""
    rows = np.concatenate(list(dataset.splits.values()))
    names = np.array([dataset.names[row] for row in rows])
    shared, counts = np.unique(names, return_counts=True)
    if (counts > 1).any():
        name = shared[counts > 1][0]
        raise ValueError(f"{dataset.folder}: picture {name} is in two splits; read the data anew")
    expected = len(dataset.names) * dataset.captions_per_image
    if len(dataset.captions) != expected:
        raise ValueError(f"{dataset.folder}: {len(dataset.captions)} captions, not {expected}")
    if empty := [i for i, caption in enumerate(dataset.captions) if not caption.strip()]:
        raise ValueError(f"{dataset.folder}: caption {empty[0]} is empty; read the data anew")


def picture_sheet(dataset, split: str, n: int, caption: int = 0, whose: str = ""):
    """The first pictures of a split, each with its first or another caption, with gold boxes where
    there are any; `whose` begins their titles.
    """
    rows = dataset.splits[split][:n]
    boxes = [gold_boxes(dataset, row) for row in rows]
    said = [wrapped(dataset.captions[row * dataset.captions_per_image + caption]) for row in rows]
    titles = [f"{whose}{split} {i}" for i in range(n)]
    return figures.pictures(dataset.images[rows], titles, boxes=boxes, captions=said)


def gold_boxes(dataset, row: int) -> list[tuple]:
    """Boxes of a picture's objects for `figures.pictures`; empty for photographs."""
    if dataset.objects is None:
        return []
    mine = dataset.objects[dataset.objects.image == row]
    return [(*box, figures.PAPER) for box in mine[["x0", "y0", "x1", "y1"]].itertuples(index=False)]


def wrapped(text: str, width: int = 30, most: int = 4) -> str:
    """A caption in short lines, to stand below a picture."""
    return "\n".join(textwrap.wrap(text, width)[:most])


def caption_statistics(dataset):
    """Histogram of caption lengths in words, and its data (length, captions, split)."""
    import matplotlib.pyplot as plt

    figures.use_style()
    lines = []
    for split in dataset.splits:
        lengths = [len(tokenize(caption)) for caption in dataset.captions_of(split)]
        counts = np.bincount(lengths)
        lines += [(i, int(c), split) for i, c in enumerate(counts) if c]
    data = pd.DataFrame(lines, columns=["words", "captions", "split"])
    train = data[data.split == "train"]
    figure, axis = plt.subplots(figsize=(6, 2.4))
    axis.bar(train.words, train.captions, color=figures.OURS)
    axis.set_xlabel("words in a caption"), axis.set_ylabel("captions")
    axis.set_title("Caption lengths, training split")
    axis.grid(axis="x", visible=False), axis.xaxis.get_major_locator().set_params(integer=True)
    return figure, data


def vocabulary_table(dataset, min_count: int, n: int = 12) -> pd.DataFrame:
    """The most frequent training words, and how much of the test captions the models don't know.

    A word is known with at least `min_count` occurrences in the training captions.
    """
    words = pd.Series([w for c in dataset.captions_of("train") for w in tokenize(c)])
    counts = words.value_counts()
    counts = counts[counts >= min_count]
    tests = [w for c in dataset.captions_of("test") for w in tokenize(c)]
    unknown = 100 * np.mean([w not in counts.index for w in tests])
    print(f"{len(counts)} words in all; {unknown:.2f} % of the words in test captions are unknown")
    return counts.head(n).rename_axis("word").reset_index(name="in training captions")


def duplicates_table(dataset) -> pd.DataFrame:
    """Equal pictures and equal captions within each split and between it and training.

    Features without pictures are told apart by their captions alone.
    """
    columns = {}
    if dataset.images is not None:
        columns["pictures"] = {
            split: [
                hashlib.sha256(np.ascontiguousarray(dataset.images[row])).digest() for row in rows
            ]
            for split, rows in dataset.splits.items()
        }
    columns["captions"] = {split: dataset.captions_of(split) for split in dataset.splits}
    lines = []
    for split in dataset.splits:
        line = {"split": split}
        for what, all_of in columns.items():
            mine, trained = all_of[split], set(all_of["train"])
            line[f"{what} twice"] = len(mine) - len(set(mine))
            line[f"{what} also in train"] = (
                "–" if split == "train" else sum(each in trained for each in mine)
            )
        lines.append(line)
    return pd.DataFrame(lines)


def popularity(dataset) -> pd.Series:
    """How often SVO-Probes are answered by a prior without words, in percent, by kind.

    The prior takes the picture whose replaced thing, as a coloured shape, is the more frequent one
    in training; ties count as one half. A model that doesn't understand the sentence gets this far.
    """
    from alignbook.datasets import swaps

    table, _, _ = swaps.image_probes(dataset)
    trained = dataset.objects[dataset.objects.image.isin(set(dataset.splits["train"]))]
    seen = Counter(zip(trained.colour, trained["shape"], strict=True))
    right = {}
    for row in table.itertuples():
        if row.kind == "verb":  # the same things in both pictures
            right.setdefault("verb", []).append(0.5)
            continue
        first, second = row.caption.removeprefix("the ").split(" the ")
        colour = {"subject": first, "object": second}[row.kind].split()[0]
        was, now = (seen[colour, getattr(row, f"{which}{row.kind}")] for which in ("", "negative_"))
        right.setdefault(row.kind, []).append((was > now) + (was == now) / 2)
    return pd.Series({kind: 100 * np.mean(right[kind]) for kind in ("subject", "verb", "object")})


def relations_table(dataset) -> pd.DataFrame:
    """How many pictures of each split draw a relation; the gold holds further spatial ones."""
    drawn = dataset.relations.drop_duplicates("image")
    counts = {
        split: drawn.relation[drawn.image.isin(rows)].value_counts()
        for split, rows in dataset.splits.items()
    }
    table = pd.DataFrame(counts).fillna(0).astype(int)
    return table.rename_axis("relation").reset_index()


def attributes_table(*datasets) -> pd.DataFrame:
    """Share of each value of each attribute among the objects, in percent, by domain."""
    lines = []
    for attribute in datasets[0].objects.columns[6:]:
        shares = [d.objects[attribute].value_counts(normalize=True) * 100 for d in datasets]
        lines += [
            (attribute, value, *(share.get(value, 0.0) for share in shares))
            for value in shares[0].index
        ]
    names = [f"{d.meta['domain']} %" for d in datasets]
    return pd.DataFrame(lines, columns=["attribute", "value", *names])


def parse_table(dataset, number: int) -> pd.DataFrame:
    """The gold parse of a test caption: word, part of speech, label, head."""
    from alignbook.datasets import conllu

    tokens = conllu.read(dataset.folder / "gold/parses/captions_test.conllu")[number]
    return pd.DataFrame(
        [(t.form, t.upos, t.deprel, tokens[t.head - 1].form if t.head else "–") for t in tokens],
        columns=["word", "part of speech", "label", "head"],
    )


def swap_sheet(dataset, n: int = 2):
    """Probes with one picture and two captions, cut to their boxes: the first is true."""
    from alignbook.datasets import swaps

    images, titles, captions = [], [], []
    for kind in ("attribute", "relation"):
        table, pictures = swaps.caption_probes(dataset, kind)
        for i in np.linspace(0, len(table) - 1, n).astype(int):
            images.append(pictures[i])
            titles.append(f"{kind} swap")
            row = table.iloc[i]
            captions.append(f"true: {wrapped(row.caption)}\nfalse: {wrapped(row.negative)}")
    return figures.pictures(np.stack(images), titles, captions=captions)


def svo_sheet(dataset):
    """Probes with one sentence and two pictures, one of each kind: the left picture is meant."""
    from alignbook.datasets import swaps

    table, right, wrong = swaps.image_probes(dataset)
    images, titles, captions = [], [], []
    for kind in ("subject", "verb", "object"):
        i = int(np.flatnonzero(table.kind == kind)[0])
        images += [right[i], wrong[i]]
        titles += [f"{kind}: meant", "not meant"]
        captions += [wrapped(table.caption[i], 26), ""]
    return figures.pictures(np.stack(images), titles, columns=6, width=1.5, captions=captions)


def chance(images: int, each: int = 5) -> float:
    """Expected RSUM of random scores.

    >>> round(chance(5), 1)  # five pictures: text to picture 20 + 100 + 100, to text 185.2
    405.2
    """
    from math import comb

    to_text = [1 - comb(images * each - each, k) / comb(images * each, k) for k in (1, 5, 10)]
    to_image = [min(k / images, 1.0) for k in (1, 5, 10)]
    return 100 * (sum(to_text) + sum(to_image))


def ceiling_and_floor(*datasets) -> pd.DataFrame:
    """RSUM of an oracle that knows the scenes, and of scores that never look at a picture."""
    from alignbook import world
    from alignbook.core import retrieval

    lines = []
    for dataset in datasets:
        meta, rows = dataset.meta, dataset.splits["test"]
        config = world.Config(domain=meta["domain"], size=meta["size"], seed=meta["seed"])
        scenes = [world.scene(config, "test", i) for i in range(len(rows))]
        ceiling = retrieval.evaluate(world.oracle_scores(scenes), dataset.captions_per_image)
        words = pd.Series([w for c in dataset.captions_of("train") for w in tokenize(c)])
        share = words.value_counts(normalize=True)
        known = [
            np.mean([share.get(w, 0.0) for w in tokenize(c)]) for c in dataset.captions_of("test")
        ]
        # The same for every picture: the ties in a column count as they would at random.
        blind = np.tile(np.array(known), (len(rows), 1))
        floor = retrieval.evaluate(blind, dataset.captions_per_image).expected
        lines.append((meta["domain"], ceiling.rsum, floor.rsum, chance(len(rows))))
    return pd.DataFrame(lines, columns=["domain", "oracle", "without pixels", "chance"])
