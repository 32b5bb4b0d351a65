"""What the notebooks show of data, models and runs: small tables and sheets of pictures."""

import numpy as np
import pandas as pd

from alignbook import exhibits, figures, runs
from alignbook.vocabulary import tokenize

# --- 02: data ------------------------------------------------------------------------------------


def splits_table(dataset) -> pd.DataFrame:
    """Pictures, captions and distinct captions of each split."""
    lines = []
    for split, rows in dataset.splits.items():
        captions = dataset.captions_of(split)
        lines.append((split, len(rows), len(captions), len(set(captions))))
    return pd.DataFrame(lines, columns=["split", "pictures", "captions", "distinct captions"])


def check_splits(dataset) -> None:
    """Raise unless splits share no picture and every picture has its captions."""
    rows = np.concatenate(list(dataset.splits.values()))
    shared, counts = np.unique(rows, return_counts=True)
    if (counts > 1).any():
        name = dataset.names[shared[counts > 1][0]]
        raise ValueError(f"{dataset.folder}: picture {name} is in two splits; read the data anew")
    expected = len(dataset.images) * dataset.captions_per_image
    if len(dataset.captions) != expected:
        raise ValueError(f"{dataset.folder}: {len(dataset.captions)} captions, not {expected}")


def picture_sheet(dataset, split: str, n: int):
    """The first pictures of a split with a caption each, with gold boxes where there are any."""
    rows = dataset.splits[split][:n]
    boxes = [gold_boxes(dataset, row) for row in rows]
    captions = [wrapped(dataset.captions[row * dataset.captions_per_image]) for row in rows]
    return figures.pictures(
        dataset.images[rows], [f"{split} {i}" for i in range(n)], boxes=boxes, captions=captions
    )


def gold_boxes(dataset, row: int) -> list[tuple]:
    """Boxes of a picture's objects for `figures.pictures`; empty for photographs."""
    if dataset.objects is None:
        return []
    mine = dataset.objects[dataset.objects.image == row]
    return [(*box, figures.PAPER) for box in mine[["x0", "y0", "x1", "y1"]].itertuples(index=False)]


def wrapped(text: str, width: int = 30) -> str:
    """A caption in short lines, to stand below a picture."""
    import textwrap

    return "\n".join(textwrap.wrap(text, width)[:4])


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
    axis.grid(axis="x", visible=False)
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


# --- 03: base model and features -----------------------------------------------------------------


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
    from alignbook import base

    model, vocabulary = base.load(run, dataset)
    return base.similarity(model, vocabulary, dataset, split).numpy()


def recall_table(scores: np.ndarray, captions_per_image: int) -> pd.DataFrame:
    """Recalls of a similarity matrix, of the same with captions permuted, and of chance."""
    from alignbook import retrieval

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


def retrieved(dataset, scores: np.ndarray, split: str, queries: int):
    """For some captions the query's own picture and the four that the model ranks first."""
    from alignbook import retrieval

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
    from alignbook import features

    rows, side = dataset.splits[split][:n], dataset.images.shape[1]
    levels, cells = tuple(feature_run.config["levels"]), feature_run.metrics["side"]
    windows = features.windows(levels, cells) * side
    order = feature_run.array("order")
    boxes = [
        [(*windows[w], figures.OURS) for w in order[r, 1:regions]]
        + [(*windows[order[r, 0]], figures.PAPER)]
        for r in rows
    ]
    titles = [f"{split} {i}, most salient in orange" for i in range(n)]
    return figures.pictures(dataset.images[rows], titles, boxes=boxes)


# A row below a paper's own: what the base model does without any fine-grained matching.
BASE_ROW = ("Controls (ours)", "Base model, whole against whole", exhibits.BASE_MODEL)

# --- exhibits ------------------------------------------------------------------------------------


def check_trials(arms: pd.DataFrame, strict: bool) -> str:
    """Compare the trials of each arm: settings that are tried must train different models.

    Returns a line that says what was found; raises `runs.ArmsIdentical` if `strict` and two trials
    ended with the same parameters.
    """
    trials = arms[arms.role == "trial"].drop_duplicates("key")
    for name, group in trials.groupby("arm", sort=False):
        models = {f"{name}, trial {i}": runs.stored(k) for i, k in enumerate(group.key, 1)}
        try:
            runs.check_arms_differ(models)
        except runs.ArmsIdentical as error:
            if strict:
                raise
            return f"too few steps for the settings to matter: {error}"
    return f"{len(trials)} trials, within each arm all different"


def effort_table(arms: pd.DataFrame) -> pd.DataFrame:
    """What each arm cost: dev trials, parameters, steps, pairs seen, seconds of training a run."""
    lines = []
    for arm, group in arms.groupby("arm", sort=False):
        found = [runs.stored(key) for key in group[group.role == "report"].key]
        metrics, config = found[0].metrics, found[0].config
        seconds = np.mean([run.metrics["training seconds"] for run in found])
        pairs = metrics["steps"] * config["batch"] * config.get("captions", 1)
        lines.append((arm, int((group.role == "trial").sum()), len(found), metrics["parameters"],
                      metrics["steps"], pairs, seconds))  # fmt: skip
    columns = ["arm", "dev trials", "seeds", "parameters", "steps", "pairs seen", "seconds a run"]
    return pd.DataFrame(lines, columns=columns)


def dot_lines(metrics: pd.DataFrame, printed: pd.DataFrame, rows: tuple) -> pd.DataFrame:
    """RSUM of every line of a table for `figures.dots`, with a heading above each group."""
    from alignbook.claims import t_interval

    ours = metrics[metrics.column == "RSUM"].groupby("row")["value"].apply(list)
    paper = printed[printed.column == "RSUM"].set_index(["group", "row"])["value"]
    lines, nothing = [], (np.nan, np.nan, np.nan, [], np.nan)
    for i, (group, label, arm) in enumerate(rows):
        if not i or rows[i - 1][0] != group:
            lines.append((group, *nothing))
        values = ours.get(arm, [])
        interval = t_interval(values) if values else nothing[:3]
        lines.append((label, *interval, values, paper.get((group, label), np.nan)))
    return pd.DataFrame(lines, columns=["label", "mean", "low", "high", "values", "paper"])


def note_of(book) -> str:
    """What stands below a figure: how to read it, and what may be compared."""
    seeds = book.profile.seeds
    what = f"{seeds} seeds (dots), mean and 95 % interval. " if seeds > 1 else "One seed. "
    if book.data == "world":
        return what + "World numbers are not comparable with the paper's values: compare the order."
    return what + "Another data set than the paper's: compare the order."


def differences_table(metrics: pd.DataFrame, pairs: list[tuple[str, str]]) -> pd.DataFrame:
    """RSUM differences between arms, seed by seed: first, second, seeds, difference, interval."""
    from alignbook.claims import paired_difference

    values = metrics[metrics.column == "RSUM"].pivot(index="seed", columns="row", values="value")
    lines = []
    for first, second in pairs:
        both = values[[first, second]].dropna()
        mean, low, high = paired_difference(both[first], both[second])
        reading = "one seed: open" if np.isnan(low) else (
            f"{first} is higher" if low > 0 else f"{second} is higher" if high < 0 else "open"
        )
        lines.append((first, second, len(both), mean, low, high, reading))
    columns = ["first", "second", "seeds", "difference", "low", "high", "reading"]
    return pd.DataFrame(lines, columns=columns)


def trials_table(arms: pd.DataFrame) -> pd.DataFrame:
    """Settings and dev RSUM of every trial; the arm's chosen one is marked."""
    lines = []
    for arm, group in arms.groupby("arm", sort=False):
        chosen = runs.stored(group[group.role == "report"].key.iloc[0]).config
        for key in group[group.role == "trial"].key:
            run = runs.stored(key)
            c = run.config
            lines.append((arm, c["scale"], c["margin"], c["temperature"] or np.nan,
                          run.metrics["dev RSUM"], "←" if c == chosen else ""))  # fmt: skip
    columns = ["arm", "λ", "margin", "τ", "dev RSUM", "chosen"]
    return pd.DataFrame(lines, columns=columns)
