"""What notebook 03 shows of base models: how they learnt, what they retrieve, what they confuse."""

from collections import Counter

import numpy as np
import pandas as pd

from alignbook.core.vocabulary import tokenize
from alignbook.evidence.statistics import t_interval
from alignbook.show import figures, tables
from alignbook.show.datasheet import wrapped

RECALLS = {"RSUM": "W, as trained", "A RSUM": "A, never seen", "B RSUM": "B, never seen"}
PROBES = ("attribute swap", "relation swap", "svo subject", "svo verb", "svo object")
FINDS = (" finds its box", ", chance")

# Flickr8k's official split: R@1, 5, 10 of pictures, then of captions, in percent.
PUBLISHED = (
    (
        "DeFrag (2014)",
        "embeddings of detected regions and of dependency relations",
        (12.6, 32.9, 44.0, 9.7, 29.6, 42.5),
    ),
    (
        "MNLM, OxfordNet (2014)",
        "a map of frozen features, and an LSTM",
        (18.0, 40.9, 55.0, 12.5, 37.0, 51.5),
    ),
    (  # Klein et al., as github.com/btaba/text-image-embedding quotes them
        "CCA of mean vectors (2015)",
        "canonical correlations of frozen features and of mean word vectors",
        (22.6, 48.8, 61.2, 19.1, 45.3, 60.4),
    ),
)


def loss_curve(run):
    """The training loss by step, smoothed over 10 steps, and its data."""
    import matplotlib.pyplot as plt

    figures.use_style()
    loss = pd.Series(run.array("loss"))
    data = pd.DataFrame({"step": loss.index + 1, "loss": loss.rolling(10, min_periods=1).mean()})
    figure, axis = plt.subplots(figsize=(6, 2.4))
    axis.plot(data.step, data.loss, color=figures.OURS)
    axis.set_xlabel("step"), axis.set_ylabel("loss"), axis.set_title("Training loss")
    return figure, data


def base_similarity(run, dataset, split: str) -> np.ndarray:
    """Cosines between whole pictures and whole captions under the base model, `(N, 5·N)`."""
    from alignbook.backbones import base, locked

    if run.has("word_vectors"):
        return locked.similarity(run, dataset, split).numpy()
    model, vocabulary = base.load(run, dataset)
    return base.similarity(model, vocabulary, dataset, split).numpy()


def recall_table(scores: np.ndarray, captions_per_image: int) -> pd.DataFrame:
    """Recalls of a similarity matrix, of the same with captions permuted, and of chance."""
    from alignbook.core import retrieval

    n = len(scores)
    order = np.random.default_rng(0).permutation(n)
    columns = (order[:, None] * captions_per_image + np.arange(captions_per_image)).ravel()
    rng = np.random.default_rng(1)
    lines = {
        "base model": scores,
        "captions permuted": scores[:, columns],
        "chance (random scores)": rng.random(scores.shape, np.float32),
    }
    found = {k: retrieval.evaluate(v, captions_per_image).named("") for k, v in lines.items()}
    table = pd.DataFrame(found).T
    return table.rename(columns=str.strip).round(1)


def orientation_table(found: pd.Series) -> pd.DataFrame:
    """Recalls beside those that were published for Flickr8k's official split, `PUBLISHED`.

    Parameters
    ----------
    found : a line of `recall_table`.
    """
    ours = ("this base model", "pretrained towers, frozen; a linear map each", *found)
    lines = [ours, *((name, how, *values, sum(values)) for name, how, values in PUBLISHED)]
    return pd.DataFrame(lines, columns=["model", "what is trained", *found.index])


def retrieved(dataset, scores: np.ndarray, split: str, queries: int):
    """For some captions the query's own picture and the four that the model ranks first."""
    from alignbook.core import retrieval

    rows, each = dataset.splits[split], dataset.captions_per_image
    _, ranks = retrieval.ranks(scores, each)
    chosen = np.linspace(0, len(rows) - 1, queries).astype(int)
    images, titles, boxes, captions = [], [], [], []
    for image in chosen:
        order = np.argsort(-scores[:, image * each], kind="stable")
        rank = ranks[image * each]
        for place, found in enumerate((image, *order[:4])):
            side = dataset.images.shape[1]
            frame = (1, 1, side - 1, side - 1, figures.ACCENT)
            images.append(dataset.images[rows[found]])
            titles.append(f"its picture: rank {rank}" if not place else f"rank {place}")
            boxes.append([frame] if found == image else [])
            captions.append("" if place else wrapped(dataset.captions[rows[image] * each], 26))
    return figures.pictures(
        np.stack(images), titles, columns=5, boxes=boxes, width=1.7, captions=captions
    )


def region_sheet(dataset, feature_run, split: str, n: int, regions: int):
    """The first pictures of a split with their most salient windows."""
    from alignbook.backbones import region_features

    rows, side = dataset.splits[split][:n], dataset.images.shape[1]
    levels, cells = tuple(feature_run.config["levels"]), feature_run.metrics["side"]
    windows = region_features.windows(levels, cells) * side
    order = feature_run.array("order")
    boxes = [
        [(*windows[w], figures.OURS) for w in order[r, 1:regions]]
        + [(*windows[order[r, 0]], figures.PAPER)]
        for r in rows
    ]
    titles = [f"{split} {i}, most salient in orange" for i in range(n)]
    return figures.pictures(dataset.images[rows], titles, boxes=boxes)


def models_table(metrics: pd.DataFrame, reference: pd.DataFrame | None = None) -> pd.DataFrame:
    """Base models by recall on W, A and B and accuracy on A's swaps: mean over seeds, in percent.

    W is what they were trained on. From two seeds on, with half the width of RSUM's 95 % t interval
    over seeds. What did not simply learn is marked. In the last column W's RSUM of the `reference`,
    see `tables.with_reference`.
    """
    mine = metrics[metrics.exhibit == "base-models"]
    table = mine.pivot_table(index="row", columns="column", values="value", sort=False)
    shown = [*RECALLS, *(f"A {probe}" for probe in PROBES)]
    found = table[[name for name in shown if name in table]]
    found = found.assign(seeds=mine[mine.column == "RSUM"].groupby("row").seed.count())
    for column in RECALLS:
        if column in found and found.seeds.min() > 1:
            values = mine[mine.column == column].groupby("row").value
            mean, _, high = zip(
                *(t_interval(values.get_group(row)) for row in found.index), strict=True
            )
            found.insert(found.columns.get_loc(column) + 1, f"{column} ±", np.subtract(high, mean))
    names, marks = list(found.index), tables.marks(mine)
    found.index = [name + marks.get(name, "") for name in names]
    found = found.rename_axis("base model").reset_index()
    return tables.with_reference(found, names, reference)


def models_figure(metrics: pd.DataFrame):
    """RSUM of each base model on each domain, a dot a seed, and its data."""
    import matplotlib.pyplot as plt
    import seaborn

    figures.use_style()
    mine = metrics[(metrics.exhibit == "base-models") & metrics.column.isin(RECALLS)]
    names = list(dict.fromkeys(mine.row))[::-1]
    figure, axis = plt.subplots(figsize=(6.4, 0.5 * len(names) + 1.1))
    seaborn.scatterplot(
        x=mine.value,
        y=mine.row.map(names.index),
        hue=mine.column.map(RECALLS),
        palette=dict(zip(RECALLS.values(), (figures.OURS, figures.PAPER, figures.ACCENT))),
        hue_order=[each for column, each in RECALLS.items() if column in set(mine.column)],
        s=50,
        linewidth=0,
        ax=axis,
    )
    axis.set_ylabel("")
    axis.set_yticks(range(len(names)), names)
    axis.set_ylim(-0.6, len(names) - 0.4)
    axis.set_xlim(0, 1.06 * mine.value.max()), axis.set_xlabel("RSUM on the test split")
    axis.legend(loc="upper left", bbox_to_anchor=(1, 1))
    axis.set_title("Base models at home and abroad")
    return figure, mine[["row", "column", "seed", "value"]]


def swaps_figure(metrics: pd.DataFrame, prior: pd.Series):
    """Accuracy of each base model on each probe, mean over seeds, with chance at a half.

    The bars' lines are the 95 % interval that as many fair coins would give around it; a dashed
    line is what a `prior` without words gets, in percent by "subject", "verb" and "object". The
    figure and its data.
    """
    import matplotlib.pyplot as plt

    figures.use_style()
    mine = metrics[metrics.exhibit == "base-models"]
    mine = mine.assign(column=mine.column.str.removeprefix("A "))[
        mine.column.isin([f"A {probe}" for probe in PROBES])
    ]
    data = mine.groupby(["row", "column"], sort=False)[["value", "n"]].mean().reset_index()
    names = list(dict.fromkeys(data.row))
    figure, axis = plt.subplots(figsize=(7.6, 2.9))
    colours = (figures.OURS, figures.PAPER, figures.ACCENT, "#CC79A7")
    for i, (name, colour) in enumerate(zip(names, colours, strict=False)):
        own = data[data.row == name].set_index("column").reindex(PROBES)
        values, spread = own.value, 1.96 * 50 / np.sqrt(own.n)
        places = np.arange(len(PROBES)) + (i - (len(names) - 1) / 2) * 0.19
        axis.bar(places, values - 50, 0.17, bottom=50, color=colour, label=name)
        axis.errorbar(places, values, spread, fmt="none", ecolor=figures.INK, lw=0.7)
    axis.axhline(50, color=figures.INK, lw=0.8)
    for kind, value in prior.items():
        place = PROBES.index(f"svo {kind}")
        label = "without words" if kind == prior.index[0] else None
        axis.hlines(
            value, place - 0.42, place + 0.42, color=figures.INK, ls="--", lw=1, label=label
        )
    axis.annotate("chance", (len(PROBES) - 0.5, 50), (2, 2), textcoords="offset points", fontsize=8)
    axis.set_xticks(range(len(PROBES)), PROBES), axis.grid(axis="x", visible=False)
    axis.set_ylabel("right, %"), axis.legend(loc="upper left", bbox_to_anchor=(1, 1))
    axis.set_title("Which of two fits? Domain A, test")
    return figure, data


def components_table(run) -> pd.DataFrame:
    """What a measured base model makes of phrases and gold boxes by themselves, a line a domain."""
    asked = [f"{phrase}{what}" for phrase in ("full phrase", "bare noun") for what in FINDS]
    asked.append("entities alone R@1")
    lines = [(domain, *(run.metrics[f"{domain} test {name}"] for name in asked)) for domain in "AB"]
    return pd.DataFrame(lines, columns=["domain", *asked])


def overlap_table(dataset, scores: np.ndarray, split: str) -> pd.DataFrame:
    """What a wrongly first picture has in common with the right one, beside any other picture.

    For every caption whose first picture is wrong: the share of the right picture's objects whose
    shape (colour, …) the wrong picture has too, and whether it draws the same relation. The last
    column is the same for a picture picked at random.
    """
    rows, each = dataset.splits[split], dataset.captions_per_image
    first = scores.argmax(0)
    owner = np.arange(scores.shape[1]) // each
    wrong = np.flatnonzero(first != owner)
    other = (owner[wrong] + np.random.default_rng(0).integers(1, len(rows), len(wrong))) % len(rows)
    lines = []
    drawn = dataset.relations.drop_duplicates("image").set_index("image").relation
    for name in [*dataset.objects.columns[6:], "relation"]:
        values = drawn if name == "relation" else dataset.objects.groupby("image")[name].apply(list)
        sets = [values[row] for row in rows]

        def share(a: int, b: int) -> float:
            if name == "relation":
                return float(sets[a] == sets[b])
            return np.mean([value in sets[b] for value in sets[a]])

        found = [
            100 * np.mean([share(a, b) for a, b in zip(owner[wrong], there, strict=True)])
            for there in (first[wrong], other)
        ]
        lines.append((name, *found, found[0] - found[1]))
    print(f"{len(wrong):,} of {len(owner):,} captions find another picture first")
    return pd.DataFrame(lines, columns=["shared", "wrong first %", "any other %", "difference"])


def lost_words(dataset, scores: np.ndarray, split: str, least: int = 30, n: int = 12):
    """The words that retrieval overlooks most: wrong first pictures have them no more than others.

    Counted over captions whose first picture is wrong, and words said there at least `least`
    times: the share of these first pictures one of whose captions says the word, beside the share
    of all pictures. A dot figure of the `n` words with the lowest ratio, and the data of all
    (word, said, first %, any %).
    """
    import matplotlib.pyplot as plt
    import seaborn.objects as so

    figures.use_style()
    rows, each = dataset.splits[split], dataset.captions_per_image
    captions = dataset.captions_of(split)
    known = [
        {w for text in captions[each * i : each * (i + 1)] for w in tokenize(text)}
        for i in range(len(rows))
    ]
    said, kept = Counter(), Counter()
    for caption, found in enumerate(scores.argmax(0)):
        if found != caption // each:
            words = set(tokenize(captions[caption]))
            said.update(words), kept.update(words & known[found])
    every = Counter(word for words in known for word in words)
    data = pd.DataFrame(
        [
            (w, c, 100 * kept[w] / c, 100 * every[w] / len(rows))
            for w, c in said.items()
            if c >= least
        ],
        columns=["word", "said", "first %", "any %"],
    )
    data["ratio"] = data["first %"] / data["any %"]
    data = data.sort_values(["ratio", "word"]).drop(columns="ratio")
    top = data.head(n)[::-1].reset_index(drop=True)
    figure, axis = plt.subplots(figsize=(5.6, 0.24 * len(top) + 1.1))
    above = dict(pointsize=5.6, edgewidth=1, artist_kws={"zorder": 3})  # the lines between
    (
        so.Plot(top, y=top.index)
        .add(so.Range(color=figures.OURS, linewidth=1), xmin="any %", xmax="first %", orient="y")
        .add(so.Dot(color=figures.OURS, **above), x="first %")
        .add(so.Dot(color="white", edgecolor=figures.INK, **above), x="any %")
        .label(x="pictures with a caption that says the word, %", y="")
        .on(axis)
        .plot()
    )
    axis.set_yticks(top.index, top.word)
    axis.set_xlim(left=0), axis.set_title("Words that get lost")
    _, first, every = axis.collections
    axis.legend(
        [first, every],
        ["the wrong first picture", "any picture"],
        loc="upper left",
        bbox_to_anchor=(1, 1),
    )
    return figure, data


def written_captions(run, dataset, split: str, n: int = 4):
    """Pictures with the caption that CoCa's decoder writes and one of their own."""
    from alignbook.backbones import base

    model, vocabulary = base.load(run, dataset)
    rows = dataset.splits[split][:n]
    said = model.write(model.pixels(dataset.images[rows]), vocabulary.words)
    own = [dataset.captions[row * dataset.captions_per_image + 4] for row in rows]
    texts = [f"written: {wrapped(a)}\nits own: {wrapped(b)}" for a, b in zip(said, own)]
    return figures.pictures(
        dataset.images[rows], [f"{split} {i}" for i in range(n)], captions=texts
    )
