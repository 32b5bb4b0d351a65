"""CoV-Align: cohesive visual regions before matching; rebuilt, as we hold its supplement alone.

The method has eight steps. `regions` holds the first six: sampling of patches by learnable queries,
attention (Eq. 2), mask, regions, spatial concentration, visual contrast. Here are matching with words
and the whole loss; then training. Tags are those of docs/README.md. Patches and words come from
`two_towers`.

Everywhere B images of P patches, a grid read row by row, N_q queries or regions, captions of at
most L words, and a joint width d. A place is (x, y), from the upper left corner.
"""

import math
import time
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import nn

from alignbook.core import losses, parallel, retrieval, training
from alignbook.core.precision import full, in_float32
from alignbook.core.protocol import TUNING_SEED, looked_at
from alignbook.core.similarity import fine_grained_matching, unit
from alignbook.errors import DataError
from alignbook.papers.covalign import two_towers
from alignbook.papers.covalign.regions import (
    Projection,
    Queries,
    Regions,
    kept,
    pooled,
    positions,
    spatial_concentration,
    visual_contrast,
)
from alignbook.store import progress

KNOWN = {
    "matching": ("regions", "global", "patches", "queries"),
    "sampling": ("deformable", "cross-attention"),
    "projection": ("shared", "separate", "separate-half", "separate-same"),
    "logits": ("cosine", "dot"),
    "mask": ("attention", "logits"),
    "coordinates": ("unit", "patches"),
    "optimizer": ("adam", "sgd"),
    "tokens": two_towers.MODES,
}
PLACE = 0.02  # the standard deviation with which vectors of places begin, as a ViT's [X]
COLDEST = 0.01  # of the learnt τ_g, as CLIP bounds its own [X]
FEWEST = 3  # patches that make a region; fewer hardly do [A]


@dataclass(frozen=True)
class Config:
    """One arm of CoV-Align, or of a baseline, which has the global loss alone.

    Among the baselines "global" compares the mean patch with the mean word [A], "patches" every
    patch with every word, "queries" what object queries gather by plain cross-attention. The
    learning rate rises over the first tenth of the steps [A], then falls as a cosine [N].
    """

    matching: str = "regions"  # CoV-Align [S], or a baseline: "global", "patches", "queries"
    dim: int = 128  # d [A]; the notes have 512 [N]
    placed: bool = False  # a vector of its place is learnt for each patch, as in a ViT [A]
    queries: int = 8  # N_q [S]
    # Step 1
    sampling: str = "deformable"  # [N]; "cross-attention" in the ablation [N]
    layers: int = 3  # of the queries [A]
    heads: int = 8  # M [A]
    points: int = 4  # K [A]
    # Step 2: other than "shared", W_q and W_k at full rank, at half, or alike to begin with.
    projection: str = "shared"  # W [S]; "separate", "separate-half", "separate-same"
    logits: str = "cosine"  # over τ [A]; "dot": z W · F W as it is
    temperature: float = 0.3  # τ [A]; trials compare it with 0.1 and 1
    # Step 3
    mask: str = "logits"  # what is scaled before it is masked [A], or the "attention"
    threshold: float = 0.7  # ε [N]
    # Step 5
    coordinates: str = "unit"  # in units of the picture's side [A], or in "patches"
    # Step 6
    visual_temperature: float = 0.1  # τ₁ [A]
    # Step 7
    global_temperature: float = 0.07  # where the learnt τ_g begins [A]
    # Step 8
    lambda_g: float = 1.0  # λ_g, weight of the global loss [S]
    lambda_v: float = 1.0  # λ_v, weight of the visual loss [S]
    lambda_c: float = 5.0  # λ_c, weight of the concentration [S]
    # Towers and training
    tokens: str = "frozen"  # towers are not trained [A]; "end-to-end": they are
    backbone: float = 0.1  # share of the learning rate that the towers have [X]
    context: int = 40  # words of a caption at most, the two marks of BERT among them [A]
    whitened: bool = True  # the towers' tokens are brought to covariance 1 [A]
    images: int = 0  # the first so many of the training split, 0 for all [A]
    steps: int = 100  # of training [A]
    batch: int = 64  # images, one caption of each [A]
    optimizer: str = "adam"  # [N]; "sgd" with momentum 0.9 [A]
    learning_rate: float = 3e-3  # at its highest [A]
    weight_decay: float = 1e-4  # [N]
    clip: float = 0.0  # largest norm of the gradient [A], 0 for none
    dev_images: int = 0  # the first so many of dev are measured, 0 for all [A]
    test_images: int = 0  # and of test [A]

    together = True  # several ranks train it, each on its part of every batch

    def __post_init__(self):
        for name, known in KNOWN.items():
            if getattr(self, name) not in known:
                raise ValueError(
                    f"unknown {name} {getattr(self, name)!r}; known: {', '.join(known)}"
                )
        for name in ("dim", "queries", "layers", "heads", "points", "steps", "batch"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, not {getattr(self, name)}")
        for name in ("temperature", "visual_temperature", "global_temperature", "learning_rate"):
            if not 0 < getattr(self, name) < math.inf:
                raise ValueError(f"{name} must be positive, not {getattr(self, name)}")
        for name in (
            "lambda_g",
            "lambda_v",
            "lambda_c",
            "backbone",
            "weight_decay",
            "clip",
            "dev_images",
            "test_images",
        ):
            if not 0 <= getattr(self, name) < math.inf:
                raise ValueError(f"{name} must be 0 or more, not {getattr(self, name)}")
        if not 0 <= self.threshold <= 1:
            raise ValueError(f"threshold must be within 0..1, not {self.threshold}")
        if self.context < 3:
            raise ValueError(
                f"context must be at least 3, two marks and a word, not {self.context}"
            )
        if self.dim % self.heads or self.dim % 2:
            raise ValueError(
                f"dim must be even and a multiple of {self.heads}, the heads, not {self.dim}"
            )

    def compute(self, inputs, seed: int, folder: Path, device: str) -> dict:
        """What a run of it is: see `compute` below."""
        return compute(self, inputs, seed, folder, device)


# --- 1. to 6., from sampling to the visual contrast, are `regions` ---------------------------------


# --- 7. Matching with words ----------------------------------------------------------------------


def two_way_similarity(regions, words, word_mask=None) -> torch.Tensor:
    """S(I, T) = mean_i max_j s_ij + mean_j max_i s_ij, s_ij = r_i · w_j [N].

    Parameters
    ----------
    regions : (B1, N, d) float
        Of length 1, as the words.
    words : (B2, L, d) float
    word_mask : (B2, L) bool, optional
        Which words are real; the others' content never matters. None means that all are real.

    Returns
    -------
    (B1, B2) float
        Rows images, columns captions; in [−2, 2] for vectors of length 1.

    Examples
    --------
    >>> regions, words = torch.tensor([[[1.0, 0.0], [0.0, 1.0]]]), torch.tensor([[[0.6, 0.8]]])
    >>> two_way_similarity(regions, words)  # (0.6 + 0.8) / 2 + 0.8
    tensor([[1.5000]])
    """
    of_regions, of_words = fine_grained_matching(regions, words, None, word_mask)
    return of_regions + of_words


# --- 8. The whole --------------------------------------------------------------------------------


class CoVAlign(nn.Module):
    """From patches and words of the towers to similarities and the loss.

    Parameters
    ----------
    config : Config
    image_width, text_width : of a patch and of a word as the towers give them.
    grid : rows and columns of patches.

    Raises
    ------
    ValueError
        More queries than there are patches.
    """

    def __init__(self, config: Config, image_width: int, text_width: int, grid: tuple[int, int]):
        super().__init__()
        patches = grid[0] * grid[1]
        if config.matching in ("regions", "queries") and config.queries > patches:
            raise ValueError(
                f"{config.queries} queries for {patches} patches, {grid[0]} × "
                f"{grid[1]}: expected as many at most"
            )
        self.config, d = config, config.dim
        self.patches, self.words = nn.Linear(image_width, d), nn.Linear(text_width, d)
        self.places = nn.Parameter(PLACE * torch.randn(patches, d)) if config.placed else 0
        if config.matching in ("regions", "queries"):
            self.queries, self.outward = Queries(config, grid), nn.Linear(d, d)
        if config.matching == "regions":
            self.projection, self.values = Projection(config), nn.Linear(d, d, bias=False)
            places = positions(grid, config.coordinates)
            self.register_buffer("positions", places, persistent=False)
        self.log_temperature = nn.Parameter(torch.tensor(math.log(config.global_temperature)))

    def image(self, tokens: torch.Tensor) -> Regions:
        """Patches of the tower (B, P, ·) → what the images are matched by."""
        c, patches = self.config, self.patches(tokens) + self.places
        if c.matching == "global":
            return Regions(unit(patches.mean(1, keepdim=True)))
        if c.matching == "patches":
            return Regions(unit(patches))
        z = self.queries(patches)
        if c.matching == "queries":
            return Regions(unit(self.outward(z)))
        logits = self.projection(z, patches)
        attention = full(logits).softmax(-1)  # Eq. 2
        mask = kept(attention if c.mask == "attention" else logits, c.threshold)
        regions = self.values(pooled(attention, mask, patches))  # linear: the same as of each patch
        return Regions(unit(self.outward(regions)), attention, mask)

    def text(self, tokens: torch.Tensor, mask: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Words of the tower (B, L, ·) and which are real → those matched, and which are real."""
        words = self.words(tokens)
        if self.config.matching != "global":
            return unit(words), mask
        there = mask[..., None]
        mean = (words * there).sum(1, keepdim=True) / there.sum(1, keepdim=True)
        return unit(mean), mask[:, :1]

    def temperature(self) -> torch.Tensor:
        """τ_g, learnt, at least 0.01."""
        return self.log_temperature.exp().clamp(min=COLDEST)

    @in_float32
    def terms(self, regions: Regions, words, word_mask, image_ids) -> dict[str, torch.Tensor]:
        """The losses before their weights: "g" is (L_t2v + L_v2t) / 2; "v" and "c" are of regions
        alone, and only where they have a weight.
        """
        c = self.config
        scores = two_way_similarity(regions.vectors, words, word_mask)
        found = {"g": losses.info_nce(scores, temperature=self.temperature(), image_ids=image_ids)}
        if c.matching == "regions" and c.lambda_v:
            found["v"] = visual_contrast(regions.vectors, c.visual_temperature)
        if c.matching == "regions" and c.lambda_c:
            found["c"] = spatial_concentration(regions.attention, self.positions)
        return found

    def loss(self, patches, words, word_mask, image_ids=None) -> torch.Tensor:
        """L = (λ_g / 2)(L_t2v + L_v2t) + λ_v L_vis + λ_c L_conc of a batch of matching pairs [N].

        Parameters
        ----------
        patches : (B, P, ·) float
        words : (B, L, ·) float
        word_mask : (B, L) bool
        image_ids : (B,) int, optional
            Captions of one image are no negatives of each other [X].
        """
        return self.weighed(self.terms(*self.encoded(patches, words, word_mask, image_ids)))

    def encoded(self, patches, words, word_mask, image_ids):
        """Regions, words and which are real, and images of a batch, of which each rank has a part."""
        regions, sides = self.image(patches), (*self.text(words, word_mask), image_ids)
        *regions, words, mask, ids = parallel.gathered(*regions, *sides)  # negatives of all ranks
        return Regions(*regions), words, mask, ids

    def trivial_loss(self, patches, words, word_mask, image_ids=None) -> torch.Tensor:
        """The loss if all scores of regions and words were equal: λ_g · ln B, and the terms of
        regions alone as they are.
        """
        regions, words, mask, ids = self.encoded(patches, words, word_mask, image_ids)
        equal = losses.info_nce(torch.zeros(len(words), len(words)), image_ids=ids)
        return self.weighed(self.terms(regions, words, mask, ids) | {"g": equal})

    def weighed(self, found: dict[str, torch.Tensor]) -> torch.Tensor:
        """The sum of the terms by their λ."""
        return sum(getattr(self.config, f"lambda_{name}") * value for name, value in found.items())


# --- Training ------------------------------------------------------------------------------------


class Matcher(nn.Module):
    """Where patches and words come from, and the model that matches them."""

    def __init__(self, source, model: CoVAlign):
        super().__init__()
        self.source, self.model = source, model

    def patches(self, rows: np.ndarray) -> torch.Tensor:
        """Tokens of images by their rows in the data set, `(B, P, ·)`, where the model is."""
        return self.source.patches(rows).to(self.model.log_temperature.device)

    def words(self, numbers: np.ndarray) -> list[torch.Tensor]:
        """Tokens of captions by their numbers there, `(B, L, ·)`, and which are real, `(B, L)`."""
        return [x.to(self.model.log_temperature.device) for x in self.source.words(numbers)]


def build(config: Config, dataset, *sources) -> Matcher:
    """An untrained matcher; `sources` are the run of frozen tokens, or what makes both towers."""
    source = two_towers.source(config, dataset, *sources)
    return Matcher(source, CoVAlign(config, source.image_width, source.text_width, source.grid))


def load(run, dataset, *sources) -> Matcher:
    """The trained matcher of a run, in evaluation mode."""
    matcher = build(Config(**run.config), dataset, *sources)
    matcher.load_state_dict(run.weights())
    return matcher.eval()


def compute(config: Config, inputs, seed: int, folder: Path, device: str) -> dict:
    """Train one arm and measure it: a tuning seed on dev, a reporting seed on test.

    Inputs: the data set, and the run of `two_towers` or, end to end, both towers' sources.

    Returns
    -------
    dict: recalls; "parameters" that are trained; "evaluation seconds"; "captions cut" of the data
    set; of regions what `known_of` says of the images measured, and how many regions these have,
    "asked". `folder` gets the weights and the test ranks. The last look at dev warns of a mask that
    leaves regions fewer patches than `FEWEST` in the mean.
    """
    dataset, *sources = inputs
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    matcher = build(config, dataset, *sources).to(device)
    rows = dataset.splits["train"][: config.images or None]
    size, each = min(config.batch, len(rows)), dataset.captions_per_image

    def batch_at(step):
        pairs = training.pairs_in_batch(len(rows), size, each, seed, step)
        images, captions = parallel.part(seed, step, *pairs)
        pictures = rows[images.numpy()]
        numbers = pictures * each + captions.numpy() % each
        return matcher.patches(pictures), *matcher.words(numbers), images

    def loss_at(step):
        return matcher.model.loss(*batch_at(step))

    def trivial_at(step):
        return matcher.model.trivial_loss(*batch_at(step))

    optimizer = optimizer_of(config, matcher)
    schedule = training.warmup_cosine(optimizer, config.steps)
    some = looked_at(len(dataset.splits["dev"]))

    def dev_at(step):
        scores, known = evaluate(matcher, dataset, "dev", some)
        if step == config.steps:
            warn_of_mask(known, label(config, seed))
        return retrieval.evaluate(scores, each).rsum

    descent = training.Descent(optimizer, schedule, config.steps, config.clip)
    outcome = training.fit(
        matcher, descent, loss_at, folder, label(config, seed), dev_at, trivial_at=trivial_at
    )
    best = training.take_best(matcher, outcome)
    split = "dev" if seed >= TUNING_SEED else "test"
    began = time.perf_counter()
    scores, found = evaluate(matcher, dataset, split)
    found |= best | {"evaluation seconds": round(time.perf_counter() - began, 3)}
    found |= retrieval.evaluate(scores, each).named(split)
    if split == "test":
        for way, ranks in zip(("i2t", "t2i"), retrieval.ranks(scores, each)):
            np.save(folder / f"ranks_{way}.npy", ranks.astype(np.int32))
    if "spread" in found:
        asked = dict.fromkeys(OF_REGIONS, len(scores) * config.queries)
        found |= {"asked": asked, "how": "mean over the regions of all images measured"}
    found |= {"parameters": sum(p.numel() for p in matcher.parameters() if p.requires_grad)}
    return training.save(matcher, outcome, folder) | found | {"captions cut": matcher.source.cut}


def label(config: Config, seed: int) -> str:
    """What a progress bar says."""
    what = config.projection if config.matching == "regions" else ""
    return f"CoV-Align {config.matching} {what} {config.tokens}, seed {seed}"


def optimizer_of(config: Config, matcher: Matcher) -> torch.optim.Optimizer:
    """Adam [N], or SGD; the towers' learning rate is `backbone` times the others' [X]."""
    named = [(name, p) for name, p in matcher.named_parameters() if p.requires_grad]
    groups = [{"params": [p for name, p in named if not name.startswith("source.")]}]
    if towers := [p for name, p in named if name.startswith("source.")]:
        groups.append({"params": towers, "lr": config.backbone * config.learning_rate})
    how = dict(lr=config.learning_rate, weight_decay=config.weight_decay)
    if config.optimizer == "sgd":
        return torch.optim.SGD(groups, momentum=0.9, **how)
    return torch.optim.Adam(groups, fused=True, **how)


@torch.inference_mode()
def encode_images(matcher: Matcher, rows: np.ndarray) -> Regions:
    """What some images are matched by: computed once, however many captions they meet."""
    parts = [
        matcher.model.image(matcher.patches(rows[i : i + 250])) for i in range(0, len(rows), 250)
    ]
    return Regions(*(None if x[0] is None else torch.cat(x) for x in zip(*parts)))


@torch.inference_mode()
def evaluate(matcher: Matcher, dataset, split: str, first: int = 0) -> tuple[torch.Tensor, dict]:
    """Similarities of every image and caption measured of a split, `(N, 5·N) float`, and what is
    known of the regions. With `first`, of no more images than that.
    """
    config, each = matcher.model.config, dataset.captions_per_image
    rows = dataset.splits[split]
    most = config.dev_images if split == "dev" else config.test_images
    if most > len(rows):
        raise DataError(
            f"{most} {split} images asked for, there are {len(rows)}: say "
            f"--set covalign_{split}_images={len(rows)}"
        )
    rows = rows[: most or None][: first or None]
    regions = encode_images(matcher, rows)
    numbers = (rows[:, None] * each + np.arange(each)).ravel()
    scores = regions.vectors.new_full((len(rows), len(numbers)), torch.nan)
    for start in range(0, len(numbers), 1000):
        part = slice(start, start + 1000)
        words = matcher.model.text(*matcher.words(numbers[part]))
        scores[:, part] = two_way_similarity(regions.vectors, *words)
        done = min(part.stop, len(numbers))
        if not first:  # a look is short, and the bar at hand is the training's
            progress.show(f"comparing with the {split} captions", done, len(numbers))
    return scores, known_of(regions, matcher.source.grid)


OF_REGIONS = ("spread", "patches kept", "kept a region", "regions under 3")


def known_of(regions: Regions, grid: tuple[int, int]) -> dict[str, float]:
    """What is known of the regions of some images; nothing where there are none.

    Returns
    -------
    dict: "spread", the `spatial_concentration` in units of the picture's side; of the patches that
    the mask keeps "patches kept", their share, and "kept a region", their mean number; "regions
    under 3", the percent of the regions with fewer than `FEWEST`.
    """
    if regions.attention is None:
        return {}
    places = positions(grid).to(regions.attention.device)
    counts = regions.kept.sum(-1).float()
    values = (
        spatial_concentration(regions.attention, places),
        regions.kept.float().mean(),
        counts.mean(),
        100 * (counts < FEWEST).float().mean(),
    )
    return dict(zip(OF_REGIONS, map(float, values)))


def warn_of_mask(known: dict[str, float], what: str) -> None:
    """Warn where regions have fewer patches than `FEWEST` in the mean: they are hardly regions."""
    if known and known["kept a region"] < FEWEST:
        warnings.warn(
            f"{what}: the mask keeps {known['kept a region']:.1f} patches a region in the mean, "
            f"expected {FEWEST} or more: lower the threshold ε, or train with a higher temperature τ",
            stacklevel=2,
        )


# --- Preset --------------------------------------------------------------------------------------

# [N] 30 epochs, batch 128, Adam 1e-4, d = 512; an epoch passes all captions of Flickr30K [A].
PRESETS = {
    "paper": Config(
        dim=512,
        tokens="end-to-end",
        whitened=False,
        learning_rate=1e-4,
        batch=128,
        steps=30 * (145_000 // 128),
    )
}
