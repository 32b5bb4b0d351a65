"""What CHAN's notebooks show: attention to known and drawn words, codebook sizes, τ, tensor shapes."""

from collections import Counter, defaultdict
from dataclasses import replace

import numpy as np
import pandas as pd

from alignbook.core.vocabulary import tokenize
from alignbook.datasets import conllu
from alignbook.evidence.statistics import t_interval
from alignbook.papers.chan.attention_maps import (
    BESIDE,
    ELSEWHERE,
    MEASURES,
    NAMED,
    entropy,
    measure,
    pixel_map,
)
from alignbook.show import figures, tables
from alignbook.show.datasheet import wrapped
from alignbook.show.figures import PAPER
from alignbook.show.tensor_grids import IMAGE, SHEETS, TEXT, Grid, draw, labelled, score_row, unit
from alignbook.store import runs
from alignbook.world import SHAPES
from alignbook.world.captions import ACTIVE, PASSIVE, PLURALS, SYNONYMS
from alignbook.world.scenes import ACTIONS

KINDS = ("thing", "one of several", "relation", "plural")
COLUMNS = ["kind", "picture", "caption", "place", "word", "box", "beside"]
EDGES = ("x0", "y0", "x1", "y1")
# Settings by which trials differ.
TRIED = {"scale": "λ", "margin": "margin", "temperature": "τ", "learning_rate": "learning rate"}
TRIED |= {"all_violations": "all violations"}
YELLOW, WARM = "#F0E442", "OrRd"  # Okabe and Ito's yellow; darker and warmer the larger


def mentions(dataset, split: str = "test") -> pd.DataFrame:
    """Words of the world's captions that stand for things of their picture, by the gold parses.

    Returns
    -------
    DataFrame, a line a word: kind, picture and caption (within the split), place (in the caption),
    word, box (the smallest around its things), beside (the box of another thing of the picture).
    Kinds are "thing" (a noun that, with the attributes said of it, fits one thing alone), "one of
    several" (likewise, but others have its shape), "plural" (all things of a shape) and "relation"
    (the verb of the drawn action: both its things).
    """
    meaning = {said: value for value, more in SYNONYMS.items() for said in (value, *more)}
    meaning |= {plural: shape for shape, plural in PLURALS.items()}
    spoken = {name: set(" ".join(ACTIVE[name] + PASSIVE[name]).split()) for name in ACTIONS}
    scenes, drawn = defaultdict(list), {}
    for row, _, x0, y0, x1, y1, *attributes in dataset.objects.itertuples(index=False):
        scenes[row].append((np.array([x0, y0, x1, y1]) / dataset.images.shape[1], attributes))
    for relation in dataset.relations.itertuples():
        drawn.setdefault(relation.image, relation)  # the first one of an image
    sentences = conllu.read(dataset.folder / f"gold/parses/captions_{split}.conllu")
    lines, each = [], dataset.captions_per_image
    for picture, row in enumerate(dataset.splits[split]):
        boxes, attributes = (list(part) for part in zip(*scenes[row], strict=True))
        boxes, relation = np.stack(boxes), drawn[row]
        for caption in range(each * picture, each * (picture + 1)):
            for token in sentences[caption]:
                kind, found = "", []
                if token.upos == "NOUN" and meaning.get(token.form) in SHAPES:
                    said = {
                        meaning[other.form]
                        for other in sentences[caption]
                        if other.head == token.id and other.deprel == "amod"
                    }
                    shape = meaning[token.form]
                    found = [i for i, own in enumerate(attributes) if {shape, *said} <= set(own)]
                    alike = sum(shape in own for own in attributes)
                    kind = "plural" if token.xpos == "NNS" else KINDS[alike > 1]
                    if kind != "plural" and len(found) != 1:
                        continue
                elif token.upos == "VERB" and token.form in spoken.get(relation.relation, ()):
                    kind, found = "relation", [relation.subject, relation.object]
                if kind:
                    own, beside = boxes[found], boxes[(found[-1] + 1) % len(boxes)]
                    box = (*own[:, :2].min(0), *own[:, 2:].max(0))
                    place = token.id - 1
                    lines.append((kind, picture, caption, place, token.form, box, tuple(beside)))
    return pd.DataFrame(lines, columns=COLUMNS)


def first_of_each_kind(words: pd.DataFrame) -> pd.DataFrame:
    """The first word of each kind that `mentions` knows, each from another picture."""
    chosen = words[:0]
    for kind in KINDS:
        free = words[(words.kind == kind) & ~words.picture.isin(chosen.picture)]
        chosen = pd.concat([chosen, free.head(1)])
    return chosen


def agreed_nouns(dataset, vocabulary, split: str = "test", n: int = 4) -> pd.DataFrame:
    """Nouns to draw where nothing is known of the words; the first of a split, as `mentions`.

    A rule of ours [A]: words of the vocabulary that in a fifth of their places in the training
    captions stand between an article and a function word or the end, and in four of the five
    captions of a picture. Each word once, and one from a picture.
    """
    before, behind = {"a", "an", "the", "two"}, {"", "in", "on", "is", "are", "with", "of", "and"}
    said, alone = Counter(), Counter()
    for caption in dataset.captions_of("train"):
        tokens = [*tokenize(caption), ""]
        said.update(tokens)
        pairs = zip(tokens, tokens[1:], tokens[2:], strict=False)
        alone.update(word for a, word, b in pairs if a in before and b in behind)
    nouns = {word for word in vocabulary.words if 0 < said[word] <= 5 * alone[word]}
    captions, each, lines = dataset.captions_of(split), dataset.captions_per_image, {}
    for picture in range(len(captions) // each):
        own = [tokenize(text)[:40] for text in captions[each * picture : each * (picture + 1)]]
        times = Counter(word for tokens in own for word in set(tokens) & nouns)
        agreed = [w for w in dict.fromkeys(sum(own, [])) if times[w] > 3 and w not in lines]
        if agreed and len(lines) < n:
            k = next(k for k, tokens in enumerate(own) if agreed[0] in tokens)
            lines[agreed[0]] = ("noun", picture, each * picture + k, own[k].index(agreed[0]))
    return pd.DataFrame(
        [(*line, word, None, None) for word, line in lines.items()], columns=COLUMNS
    )


def spread(seen: dict) -> pd.DataFrame:
    """How far words spread their attention: coding, the best region's share, entropy, its maximum.

    Parameters
    ----------
    seen : coding → weights and lengths, first of what `attention_maps.look` returns.
    """
    lines = []
    for name, (weights, lengths, *_) in seen.items():
        real = weights[np.arange(weights.shape[1]) < lengths[:, None]]
        most = np.log2(real.shape[1])
        lines.append((name, len(real), 100 * real.max(1).mean(), entropy(real).mean(), most))
    columns = ["coding", "words", "best region's share, %", "entropy, bits", "if all are alike"]
    return pd.DataFrame(lines, columns=columns)


def sheet(dataset, words: pd.DataFrame, codings: dict, boxes, split: str = "test"):
    """CHAN's Figure 5: a line a word, the picture and the word's map under each coding.

    Parameters
    ----------
    words : W lines as `mentions` has them. codings : name → (W, K). boxes : (W, K, 4).

    Returns
    -------
    The figure and its data: word, coding, best region's share and box, and `measure` where the
    word's box is known.
    """
    import matplotlib.pyplot as plt

    figures.use_style()
    n, columns = len(words), 1 + len(codings)
    figure, axes = plt.subplots(
        n,
        columns,
        figsize=(2.7 * columns, 3.3 * n),
        squeeze=False,
        gridspec_kw=dict(hspace=0.33, wspace=0.05, left=0, right=1, bottom=0, top=1),
    )
    data = []
    for i, word in enumerate(words.itertuples()):
        image = dataset.images[dataset.splits[split][word.picture]]
        _said(axes[i, 0], image, dataset.captions_of(split)[word.caption], word)
        for axis, (name, weights) in zip(axes[i, 1:], codings.items(), strict=True):
            line = {"word": word.word, "coding": name} | attended(word, weights[i], boxes[i])
            heat = _heat(axis, image, weights[i], boxes[i])
            _say_attended(axis, name, line, len(image))
            data.append(line)
        for axis in axes[i]:
            axis.set_xticks([]), axis.set_yticks([]), axis.grid(False)
            if word.box is not None:
                _outline(axis, word.box, len(image), color=figures.OURS, lw=1.3, ls=(0, (3, 2)))
    bar = figure.add_axes((0.35, -0.08 * 4 / n, 0.65, 0.012 * 4 / n))
    figure.colorbar(heat, cax=bar, orientation="horizontal")
    dashed = ". Dashed: what the word names" if words.box.notna().any() else ""
    bar.set_xlabel(
        "attention in regions that cover the pixel, %. Yellow: the best region" + dashed, fontsize=8
    )
    return figure, pd.DataFrame(data)


def attended(word, weights: np.ndarray, boxes: np.ndarray) -> dict:
    """Share and box of the region that a word attends to most; `measure` where its box is known.

    Weights `(K,)`, boxes `(K, 4)`.
    """
    best = boxes[weights.argmax()]
    line = {"best share": 100 * weights.max()}
    line |= dict(zip(EDGES, best, strict=True))
    if word.box is not None:
        line |= measure(weights[None], boxes[None], [word.box]).iloc[0]
    return line


def _said(axis, image: np.ndarray, caption: str, word) -> None:
    """The picture, the word above it, and below it the caption with the word marked."""
    said = tokenize(caption)
    said[word.place] = f"[{word.word}]"
    axis.imshow(image)
    axis.set_title(f"“{word.word}” · {word.kind}")
    axis.set_xlabel(wrapped(" ".join(said), 40), fontsize=7.5, loc="left")


def _heat(axis, image: np.ndarray, weights: np.ndarray, boxes: np.ndarray):
    """A word's map over the picture in grey."""
    axis.imshow(image.mean(-1), cmap="gray", vmin=-60, vmax=255)
    shares = 100 * pixel_map(weights, boxes, len(image))
    return axis.imshow(shares, cmap=WARM, vmin=0, vmax=100, alpha=0.6)


def _say_attended(axis, name: str, line: dict, side: int) -> None:
    """The coding above the map, the best region outlined, what `attended` says below."""
    import matplotlib.patheffects as effects

    halo = [effects.withStroke(linewidth=4.5, foreground=figures.INK)]
    _outline(axis, [line[edge] for edge in EDGES], side, color=YELLOW, lw=2, path_effects=halo)
    text = f"best region: {line['best share']:.0f} % of the attention"
    if "mass" in line:
        text += f"\n{line['mass']:.0f} % of the map in the dashed box, "
        text += f"IoU {line['iou'] / 100:.2f}"
    axis.set_title(name, fontweight="normal")
    axis.set_xlabel(text, fontsize=7.5, loc="left")


def _outline(axis, box, side: int, **how) -> None:
    """The rim of a box, given in shares of the picture's side."""
    import matplotlib.pyplot as plt

    x0, y0, x1, y1 = (side * edge - 0.5 for edge in box)
    axis.add_patch(plt.Rectangle((x0, y0), x1 - x0, y1 - y0, fill=False, clip_on=False, **how))


def measures_figure(table: pd.DataFrame):
    """What `attention_maps.summary` says of each coding, with 95 % intervals over pictures."""
    import matplotlib.pyplot as plt
    import seaborn.objects as so

    figures.use_style()
    names, shown = list(dict.fromkeys(table.coding)), list(MEASURES.values())[:3]
    looks = {
        NAMED: (figures.OURS, "o", 7),
        BESIDE: (figures.PAPER, "X", 7),
        ELSEWHERE: ("#777777", "|", 11),
    }
    figure, axes = plt.subplots(1, len(shown), figsize=(9.4, 0.36 * len(names) + 1.3), sharey=True)
    table = table.assign(y=[-names.index(name) for name in table.coding])
    there = [each for each in looks if (table.against == each).any()]
    for axis, title in zip(axes, shown, strict=True):
        lines = table.assign(
            low=table[title] - table[f"{title} ±"], high=table[title] + table[f"{title} ±"]
        )
        plot = so.Plot(lines, x=title, y="y")
        for against in there:
            colour, mark, size = looks[against]
            own = lines[lines.against == against]
            interval = so.Range(color=colour, linewidth=1.5, **figures.BUTT)
            dot = so.Dot(color=colour, marker=mark, pointsize=size, stroke=1)
            plot = plot.add(interval, data=own, xmin="low", xmax="high", orient="y")
            plot = plot.add(dot, data=own)
        plot.label(x="", y="").on(axis).plot()
        axis.set_title(title), axis.set_xlim(-2, 102)
        axis.tick_params(length=0, labelleft=axis is axes[0])
    axes[0].set_yticks(range(0, -len(names), -1), names)
    marks = list(zip(axes[0].collections[::2], axes[0].collections[1::2]))  # interval and dot
    figure.legend(marks, there, loc="lower center", ncols=3, fontsize=8)
    figure.tight_layout(rect=(0, 0.07, 1, 1))
    return figure


def reading(gaps: pd.DataFrame) -> list[str]:
    """What `attention_maps.differences` says of each measure, in a sentence.

    They are judged by the 95 % interval over seeds; with a single seed by that over pictures, which
    knows nothing of another training.
    """
    sentences = []
    for title, group in gaps.groupby("measure", sort=False):
        *seeds, mean = group.itertuples()
        line = mean if len(seeds) > 1 else seeds[0]
        over = f"{len(seeds)} seeds" if len(seeds) > 1 else "pictures, with one seed"
        side = "above zero" if line.low > 0 else "below zero" if line.high < 0 else "open"
        agree = sum(seed.value * line.value > 0 for seed in seeds)
        said = (
            f"{title}: {line.value:+.1f}, from {line.low:+.1f} to {line.high:+.1f} over {over}: "
            f"{side}; {agree} of {len(seeds)} seeds on this side"
        )
        sentences.append(said.replace("-", "−"))
    return sentences


# --- Codebook sizes, τ ---------------------------------------------------------------------------

CODINGS = {"hard": "hard coding", "soft": "cross-attention"}


def sizes_table(metrics: pd.DataFrame, reference: pd.DataFrame | None = None) -> pd.DataFrame:
    """RSUM by coding and codebook size K, from arms named "hard-36": coding, K, mean, interval, the
    mark of what did not simply learn; and the `reference`, see `tables.with_reference`, also of arms
    that were not run.
    """
    own, marks = metrics[metrics.column == "RSUM"].groupby("row")["value"], tables.marks(metrics)
    arms = dict.fromkeys([*own.groups, *([] if reference is None else reference.row)])
    lines = []
    for arm in arms:
        coding, size = arm.rsplit("-", 1)
        values = own.get_group(arm).to_numpy() if arm in own.groups else np.array([])
        interval = t_interval(values) if len(values) else (np.nan,) * 3
        lines.append((CODINGS[coding], int(size), *interval, len(values), marks.get(arm, "")))
    found = pd.DataFrame(lines, columns=["coding", "K", "RSUM", "low", "high", "seeds", "mark"])
    found = tables.with_reference(found, list(arms), reference)
    return found.sort_values(["coding", "K"], ascending=[False, True], ignore_index=True)


def tau_table(arms: pd.DataFrame) -> pd.DataFrame:
    """Test RSUM of cross-attention by 1/τ, first seed, where τ alone differs.

    The settings are those of the arm "τ=1/1"; runs with others, which dev may have preferred, are left
    out. Hard coding is a line beside them if dev gave it the same λ and α. No line where the profile
    has no curve.
    """
    report = arms[(arms.role == "report") & (arms.seed == 0)]
    found = {arm: runs.stored(key) for arm, key in zip(report.arm, report.key)}
    columns = ["coding", "1/τ", "RSUM", "low", "high"]
    if "τ=1/1" not in found:
        return pd.DataFrame(columns=columns)
    hard, plain = found["visual-codebook"], found["τ=1/1"].config

    def same(run):
        free = {"temperature", "coding"}
        return all(run.config.get(name) == plain[name] for name in plain.keys() - free)

    points = {
        1 / run.config["temperature"]: run.metrics["test RSUM"]
        for run in found.values()
        if same(run) and run.config["coding"] == "soft"
    }
    lines = [("cross-attention", x, y, np.nan, np.nan) for x, y in sorted(points.items())]
    if same(hard):
        limit = hard.metrics["test RSUM"]
        lines += [("hard coding (τ → 0)", x, limit, np.nan, np.nan) for x in sorted(points)]
    return pd.DataFrame(lines, columns=columns)


# --- Shapes of tensors -------------------------------------------------------------------------


def coding(regions, words, temperature: float, scale: float):
    """Hard coding and cross-attention side by side, step by step (CHAN Eq. 1 to 6 and 8).

    Regions `(K, d)` and words `(L, d)` of one image and one caption.
    """
    v, t = unit(regions), unit(words)
    s = v @ t.T
    omega = np.exp(s / temperature) / np.exp(s / temperature).sum(0)
    attended = omega.T @ v
    hard, soft = s.max(0), (unit(attended) * t).sum(1)
    of_regions, of_words = labelled("v", v), labelled("t", t)
    inputs = (
        Grid("regions V", "(B₁, K, d)", v, IMAGE, rows=of_regions),
        Grid("words T", "(B₂, L, d)", t, TEXT, rows=of_words),
    )
    shape, labels = "(B₁, B₂, K, L)", dict(rows=of_regions, columns=of_words)
    cosines = Grid("cosines s", shape, s, **labels)
    compared = replace(cosines, marked=s == hard)
    weights = Grid("weights ω", shape, omega, **labels, extra=True)
    mixtures = Grid("attended t̂", "(B₁, B₂, L, d)", attended, rows=of_words, extra=True)
    return draw(
        {
            "Hard coding: a word counts for as much as its best region": [
                inputs,
                "cosine",
                compared,
                "max over K\nEq. 6",
                score_row("word scores", hard, of_words),
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
                score_row("word scores", soft, of_words),
                "LSE over L\nEq. 3",
                _pooled(soft, scale),
            ],
        },
        SHEETS + "Vectors have length 1. Framed: the largest. "
        "Dashed: what hard coding does without.",
    )


def codebooks(cosines, scale: float):
    """The same cosines `(K, L)` under the visual and under the textual codebook (CHAN Table 3)."""
    of_regions, of_words = labelled("v", cosines), labelled("t", cosines.T)
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
        scores = score_row(name, best, labels, f"(B₁, B₂, {left})")
        lanes[title] = [
            grid,
            f"max over {over}\nEq. 6",
            scores,
            f"LSE over {left}\nEq. 3",
            _pooled(best, scale),
        ]
    return draw(lanes, SHEETS + "Framed: the largest.")


def attention_map(omega, inside):
    """From a word's weights to its map (CHAN §4.4).

    Weights `(K,)`; `inside` `(K, H, W)`: the share of each pixel that lies in each region's box.
    """
    names = labelled("v", omega)
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
    return draw(
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


def _pooled(scores, scale) -> Grid:
    pooled = np.log(np.exp(scale * scores).sum()) / scale
    return Grid("similarity", "(B₁, B₂)", np.array([[pooled]]))
