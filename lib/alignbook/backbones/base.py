"""Base vision-language models, trained here because no pretrained weights can be had.

In the world there are four, as in ComAlign's Table I: `world-clip`, `world-clip-large`,
`world-coca` and `world-negclip`, which goes on from `world-clip` with hard negatives. Photographs
have `photo-tower`. A base named `openclip:…`, `checkpoint:…` or `huggingface:…` is not trained
but loaded (`pretrained.py`). The architectures are in `towers.py`.
"""

import hashlib
import importlib
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional as F

from alignbook.backbones import towers
from alignbook.backbones.crops import ATTRIBUTES, Phrases
from alignbook.core import retrieval, training
from alignbook.core.protocol import looked_at
from alignbook.core.vocabulary import Vocabulary

BUILT = "built.json"
WORLD = ("world-clip", "world-clip-large", "world-coca", "world-negclip")
TOWERS = {
    "world-clip": towers.WorldCLIP,
    "world-clip-large": towers.WorldCLIPLarge,
    "world-coca": towers.WorldCoCa,
    "world-negclip": towers.WorldCLIP,
    "photo-tower": towers.PhotoTower,
}


@dataclass(frozen=True)
class Config:
    """How a base model is trained; every field is part of the run key."""

    recipe: str = "world-clip"  # which of `TOWERS` [A]
    epochs: int = 10  # passes over the training images [A]
    batch: int = 128  # images of a step [A]
    captions: int = 1  # of each image in a step: pictures cost far more than words do [A]
    crops: float = 0.125  # share of a step's images of which a gold crop is shown [A]
    # Of the crops' loss, beside 1 of whole pictures'. At one half, bare nouns find their box in 62 %
    # of A's dev instead of 68, and whole pictures are found more often (RSUM 290, not 264) [A].
    crop_weight: float = 1.0
    learning_rate: float = 1.5e-3  # at its highest: a warm-up, then a cosine [A]
    weight_decay: float = 0.02  # of matrices [A]
    min_count: int = 1  # how often a word is said, at least, to be in the vocabulary [A]
    # CoCa's λ_cap: 2 in its paper, beside a contrastive weight of 1 [X].
    caption_weight: float = 0.0
    hard_negatives: bool = False  # NegCLIP's: a swap for each caption, neighbours in the batch [X]
    architecture: str = ""  # hash of the model's configuration file

    def compute(self, inputs, seed: int, folder: Path, device: str) -> dict:
        """What a run of it is: see `compute` below."""
        return compute(self, inputs, seed, folder, device)


def configure(profile, recipe: str = "") -> Config:
    """The config of a profile's base model, or of another recipe at the profile's budget."""
    recipe = recipe or profile.base
    sizes = dict(epochs=profile.base_epochs, batch=profile.base_batch)
    if recipe == "photo-tower":
        return Config(
            recipe,
            **sizes,
            captions=5,
            crops=0.0,  # photographs have no gold boxes
            learning_rate=2e-3,
            weight_decay=0.05,
            min_count=4,
        )
    file = "world-clip-large.json" if recipe == "world-clip-large" else "world-clip.json"
    text = (towers.CONFIGS / file).read_bytes()
    common = dict(architecture=hashlib.sha256(text).hexdigest()[:16])
    if recipe == "world-coca":
        return Config(recipe, **sizes, **common, caption_weight=2.0)
    if recipe == "world-negclip":  # fine-tuned: a quarter of the epochs, a fifth of the rate [A]
        sizes["epochs"] = max(1, profile.base_epochs // 4)
        return Config(recipe, **sizes, **common, learning_rate=3e-4, hard_negatives=True)
    return Config(recipe, **sizes, **common)


def augment(images: torch.Tensor, crop: int) -> torch.Tensor:
    """A random square of each picture, half of them flipped left to right: `(B, 3, crop, crop)`."""
    batch, _, height, width = images.shape
    tops = torch.randint(height - crop + 1, (batch,))
    lefts = torch.randint(width - crop + 1, (batch,))
    flips = torch.rand(batch) < 0.5
    out = images.new_empty(batch, 3, crop, crop)
    for i in range(batch):
        window = images[i, :, tops[i] : tops[i] + crop, lefts[i] : lefts[i] + crop]
        out[i] = window.flip(-1) if flips[i] else window
    return out


def cell_labels(objects, rows: np.ndarray, size: int, grid: int) -> dict[str, torch.Tensor]:
    """What each cell of a grid shows: `(N, grid, grid) int64` per attribute, 0 for background.

    A cell belongs to the object whose box holds its centre, to the smallest where boxes overlap.
    """
    position = {int(row): i for i, row in enumerate(rows)}
    chosen = objects[objects.image.isin(position)].copy()
    chosen["area"] = (chosen.x1 - chosen.x0) * (chosen.y1 - chosen.y0)
    chosen = chosen.sort_values(["image", "area"], ascending=[True, False], kind="stable")
    centres = (np.arange(grid) + 0.5) * size / grid
    values = {a: objects[a].astype("category").cat.codes + 1 for a in ATTRIBUTES}
    codes = {a: values[a][chosen.index].to_numpy() for a in ATTRIBUTES}
    labels = {a: np.zeros((len(rows), grid, grid), np.int64) for a in ATTRIBUTES}
    boxes = chosen[["image", "x0", "y0", "x1", "y1"]].to_numpy()
    for k, (image, x0, y0, x1, y1) in enumerate(boxes):
        inside_x = (centres >= x0) & (centres < x1)
        inside_y = (centres >= y0) & (centres < y1)
        cells = np.ix_([position[int(image)]], np.flatnonzero(inside_y), np.flatnonzero(inside_x))
        for attribute in ATTRIBUTES:
            labels[attribute][cells] = codes[attribute][k]
    return {a: torch.from_numpy(labels[a]) for a in ATTRIBUTES}


def clip_loss(
    image: torch.Tensor, text: torch.Tensor, scale, negatives=None, true=None
) -> torch.Tensor:
    """CLIP's symmetric cross-entropy with several captions an image, and NegCLIP's with swaps.

    image `(B, d)`, text `(B·c, d)`, both normalised, captions of image i in rows c·i … c·i + c−1;
    → scalar. A caption has to find its image among the B; an image each of its captions among all
    those of other images, its own others left out, and among the `negatives` `(M, d)`, captions
    that belong to no image. With c = 1 and no negatives this is CLIP's loss. Captions that are
    `true` `(B, B·c) bool` of other images than their own are not told from these.
    """
    each = len(text) // len(image)
    owner = torch.arange(len(image), device=image.device).repeat_interleave(each)
    logits = scale * image @ text.T
    own = owner == torch.arange(len(image), device=image.device)[:, None]
    if true is not None:
        logits = logits.masked_fill(true & ~own, -torch.inf)
    others = logits.masked_fill(own, -torch.inf)
    if negatives is not None:
        others = torch.cat([others, scale * image @ negatives.T], dim=1)
    others = others.logsumexp(1, keepdim=True)
    to_text = F.softplus(others - logits[own].view(-1, each)).mean()
    return (F.cross_entropy(logits.T, owner) + to_text) / 2


# --- NegCLIP's hard negatives --------------------------------------------------------------------


def lexicon(objects) -> dict[str, tuple[str, str]]:
    """Words that describe the world's things, synonyms included: word → (attribute, meaning)."""
    from alignbook.world.captions import SYNONYMS

    return {
        word: (attribute, value)
        for attribute in ATTRIBUTES
        for value in sorted(objects[attribute].unique())
        for word in (value, *SYNONYMS.get(value, ()))
    }


def swapped(caption: str, words_for: dict, rng: np.random.Generator) -> str:
    """A caption with two words of one attribute exchanged, or two whole descriptions.

    A description is a run of words that describe, one of them, the last, a shape. Whole ones are
    exchanged only around a relation, as "a star and a ring" says the same either way round; so
    does an exchange of synonyms, and one after which the same things are described.

    Parameters
    ----------
    words_for : {"red": ("colour", "red"), "scarlet": ("colour", "red"), …}, see `lexicon`.

    Returns
    -------
    str
        "" where nothing can be exchanged.

    Examples
    --------
    >>> told = {"red": ("colour", "red"), "blue": ("colour", "blue"), "star": ("shape", "star")}
    >>> swapped("a red star above a blue star", told, np.random.default_rng(0))
    'a blue star above a red star'
    """
    words = caption.split()
    runs, at = [], 0  # descriptions: first word, one past the last, {attribute: (place, meaning)}
    while at < len(words):
        end = at
        while end < len(words) and words[end] in words_for:
            end += 1
        said = [words_for[word] for word in words[at:end]]
        if [attribute for attribute, _ in said].count("shape") == 1 and said[-1][0] == "shape":
            runs.append((at, end, {a: (at + k, value) for k, (a, value) in enumerate(said)}))
        at = end + 1
    options = []
    for i, (a0, a1, one) in enumerate(runs):
        for b0, b1, two in runs[i + 1 :]:
            first, second = ({a: value for a, (_, value) in each.items()} for each in (one, two))
            related = set(words[a1:b0]) - {"a", "an", "the", "and", "with"} - words_for.keys()
            if related and not (first.items() <= second.items() or second.items() <= first.items()):
                options.append(words[:a0] + words[b0:b1] + words[a1:b0] + words[a0:a1] + words[b1:])
            for attribute in [each for each in one if each in two]:
                (a, x), (b, y) = one[attribute], two[attribute]
                same_things = first | {attribute: y} == second and not related
                if x != y and not same_things:
                    moved = list(words)
                    moved[a], moved[b] = words[b], words[a]
                    options.append(moved)
    if not options:
        return ""
    chosen = options[rng.integers(len(options))]
    for i, (word, following) in enumerate(zip(chosen, chosen[1:], strict=False)):
        if word in ("a", "an"):  # otherwise the article gives the exchange away
            vowel = following[0] in "aeiou" or following == "hourglass"
            chosen[i] = "an" if vowel else "a"
    return " ".join(chosen)


@torch.inference_mode()
def neighbours(model, dataset, split: str, count: int = 3) -> torch.Tensor:
    """The pictures of a split that a model finds most alike, `(N, count) int64` places in it."""
    device = next(model.parameters()).device
    rows = dataset.splits[split]
    vectors = torch.cat(
        [
            model.encode_image(model.pixels(dataset.images[rows[i : i + 250]]).to(device))
            for i in range(0, len(rows), 250)
        ]
    )
    found = []
    for start in range(0, len(vectors), 1000):
        likeness = vectors[start : start + 1000] @ vectors.T
        here = torch.arange(len(likeness), device=device)
        likeness[here, start + here] = -torch.inf
        found.append(likeness.topk(min(count, len(vectors) - 1), dim=1).indices.cpu())
    return torch.cat(found)


def with_neighbours(images: torch.Tensor, near: torch.Tensor, each: int, rng):
    """Half of a batch of images and one neighbour of each, none twice, and a caption of each.

    images `(B,)`, near `(N, count)` → images `(≤ B,)`, captions `(≤ B,)`, int64.
    """
    half = images[: max(1, len(images) // 2)]
    picked = torch.from_numpy(rng.integers(near.shape[1], size=len(half)))
    both = torch.cat([half, near[half, picked]])
    first = np.sort(np.unique(both.numpy(), return_index=True)[1])
    both = both[first]
    return both, both * each + torch.from_numpy(rng.integers(each, size=len(both)))


# --- training ------------------------------------------------------------------------------------


def compute(config: Config, inputs, seed: int, folder: Path, device: str) -> dict:
    """Train a base model on the training split; leave weights in `folder`, return its recalls.

    The loss is that of `Lessons`. NegCLIP starts from the run that is its second input. What the
    model is built from lies beside its weights, in `built.json`: words, classes and pixels a side.
    """
    dataset, *start = inputs
    torch.set_num_threads(1)  # two threads gain nothing on models this small
    torch.manual_seed(seed)
    vocabulary = Vocabulary.build(dataset.captions_of("train"), config.min_count)
    classes = {}
    if config.recipe in WORLD:  # a head for each attribute of the gold objects
        classes = {a: int(dataset.objects[a].nunique()) for a in ATTRIBUTES}
    built = {"words": vocabulary.words, "classes": classes, "size": dataset.images.shape[1]}
    (folder / BUILT).write_text(json.dumps(built))
    model = TOWERS[config.recipe](vocabulary, classes, built["size"]).to(device)
    if start:
        model.load_state_dict(start[0].weights())
    lessons = Lessons(config, model, vocabulary, dataset, seed)
    decayed = _decayed(model, config.weight_decay)
    optimizer = torch.optim.AdamW(decayed, lr=config.learning_rate, fused=True)
    steps = config.epochs * (len(lessons.rows) // lessons.batch)
    schedule = training.warmup_cosine(optimizer, steps)
    some = looked_at(len(dataset.splits["dev"]))

    def dev_at(step):
        scores = similarity(model, vocabulary, dataset, "dev", some)
        return retrieval.evaluate(scores, dataset.captions_per_image).rsum

    descent = training.Descent(optimizer, schedule, steps, clip=1.0)
    label = f"base {config.recipe}"
    asked = dict(dev_at=dev_at, trivial_at=lessons.trivial_at)
    outcome = training.fit(model, descent, lessons.loss_at, folder, label, **asked)
    return training.save(model, outcome, folder) | recalls(model, vocabulary, dataset)


def _decayed(model, weight_decay: float) -> list[dict]:
    """All parameters; vectors and scalars without weight decay."""
    matrices = [p for p in model.parameters() if p.ndim > 1]
    others = [p for p in model.parameters() if p.ndim <= 1]
    return [
        {"params": matrices, "weight_decay": weight_decay},
        {"params": others, "weight_decay": 0.0},
    ]


class Lessons:
    """The training split and what a base model learns of it, step by step.

    The loss is CLIP's with a learnt scale. In the world that of crops and their phrases, which are
    told apart among themselves, is added with its weight, and the cross-entropy of the cells'
    attributes with weight 1; in CoCa that of the caption's words.
    """

    def __init__(self, config: Config, model, vocabulary: Vocabulary, dataset, seed: int):
        self.config, self.model, self.dataset, self.seed = config, model, dataset, seed
        captions = dataset.captions_of("train")
        self.ids, self.lengths = vocabulary.encode(captions)
        self.rows, self.each = dataset.splits["train"], dataset.captions_per_image
        self.batch = min(config.batch, len(self.rows))
        self.labelled, size = hasattr(model, "heads"), dataset.images.shape[1]
        self.labels = (
            cell_labels(dataset.objects, self.rows, size, size // 8) if self.labelled else {}
        )
        if config.crops:
            words_for = lexicon(dataset.objects)
            self.phrases = Phrases(dataset, self.rows, vocabulary, words_for)
        if config.hard_negatives:
            self.near = neighbours(model.eval(), dataset, "train")
            words_for = lexicon(dataset.objects)
            rng = np.random.default_rng([seed, 4])
            swaps = [swapped(caption, words_for, rng) for caption in captions]
            self.swap_ids, _ = vocabulary.encode(swaps)
            self.can_swap = torch.tensor([bool(swap) for swap in swaps])

    def trivial_at(self, step: int) -> torch.Tensor:
        """The loss of a step's batch if all scores were equal: cosines, and the logits of words and
        of the cells' attributes.
        """
        return self.loss_at(step, times=0.0)

    def loss_at(self, step: int, times: float = 1.0) -> torch.Tensor:
        """The loss of a step's batch, a scalar; every score counts so many `times`."""
        model, device = self.model, next(self.model.parameters()).device
        images, captions = self._drawn(step)
        whole = len(images) - int(self.config.crops * len(images))
        cut = self._cut(images[whole:], step)
        images, captions = images[:whole], captions[: whole * self.config.captions]
        pictures = self.dataset.images[self.rows[images.numpy()]]
        pixels = model.pixels(np.concatenate([pictures, cut.pictures]) if cut else pictures)
        if not self.labelled:
            pixels = augment(pixels, model.crop)
        seen = self.lengths[captions]
        words = self.ids[captions, : int(seen.max())].to(device)
        image, text, regions = model.encode(pixels.to(device), words, seen.to(device))
        image = times * image  # of length 1 before: all cosines are products with these
        negatives = None
        if self.config.hard_negatives:
            which = captions[self.can_swap[captions]]
            negatives = model.encode_text(
                self.swap_ids[which, : int(seen.max())].to(device), self.lengths[which].to(device)
            )
        loss = clip_loss(image[:whole], text, model.scale(), negatives)
        if cut:
            phrases = model.encode_text(cut.ids.to(device), cut.lengths.to(device))
            true = cut.true.to(device)
            cut_loss = clip_loss(image[whole:], phrases, model.scale(), true=true)
            loss = loss + self.config.crop_weight * cut_loss
        if self.config.caption_weight:
            caption = model.caption_loss(regions[:whole], words, seen.to(device), times)
            loss = loss + self.config.caption_weight * caption
        for i, (attribute, labels) in enumerate(self.labels.items()):
            target = labels[images]
            if cut:
                target = torch.cat([target, torch.from_numpy(cut.cells[:, i])])
            found = F.cross_entropy(times * model.heads[attribute](regions), target.to(device))
            loss = loss + found / len(self.labels)
        return loss

    def _cut(self, images: torch.Tensor, step: int):
        """Crops of some images with their phrases, None if there are no images."""
        if not len(images):
            return None
        rng = np.random.default_rng([self.seed, 5, step])
        return self.phrases.draw(images.numpy(), rng, self.dataset.images.shape[1] // 8)

    def _drawn(self, step: int) -> tuple[torch.Tensor, torch.Tensor]:
        """The images and the captions of a step, int64."""
        images, captions = training.pairs_in_batch(
            len(self.rows), self.batch, self.each, self.seed, step
        )
        if self.config.hard_negatives:
            rng = np.random.default_rng([self.seed, 3, step])
            images, captions = with_neighbours(images, self.near, self.each, rng)
        if self.config.captions > 1:
            captions = (images[:, None] * self.each + torch.arange(self.config.captions)).flatten()
        return images, captions


def recalls(model, vocabulary, dataset) -> dict:
    """Recalls on dev and test by their names."""
    found = {}
    for split in ("dev", "test"):
        scores = similarity(model, vocabulary, dataset, split)
        found |= retrieval.evaluate(scores, dataset.captions_per_image).named(split)
    return found


@torch.inference_mode()
def similarity(model, vocabulary, dataset, split: str, most: int = 0) -> torch.Tensor:
    """Cosines of whole images and whole captions of a split, `(N, 5·N) float`; with `most`, of its
    first so many images and their captions.
    """
    rows = dataset.splits[split][: most or None]
    images = embed_images(
        model, (dataset.images[rows[i : i + 250]] for i in range(0, len(rows), 250))
    )
    captions = dataset.captions_of(split)[: most * dataset.captions_per_image if most else None]
    return images @ embed_captions(model, vocabulary, captions).T


@torch.inference_mode()
def embed_images(model, batches) -> torch.Tensor:
    """Embeddings of batches of pictures `(B, H, W, 3) uint8`, `(N, d) float`, normalised."""
    device = next(model.parameters()).device
    return torch.cat([model.encode_image(model.pixels(batch).to(device)) for batch in batches])


@torch.inference_mode()
def embed_captions(model, vocabulary, captions: list[str]) -> torch.Tensor:
    """Embeddings of captions, `(M, d) float`, normalised."""
    device = next(model.parameters()).device
    ids, lengths = vocabulary.encode(captions)
    return torch.cat(
        [
            model.encode_text(ids[i : i + 1000].to(device), lengths[i : i + 1000].to(device))
            for i in range(0, len(ids), 1000)
        ]
    )


def load(run, dataset=None):
    """The trained model of a base run, in evaluation mode, and its vocabulary.

    A model that was loaded rather than trained is opened by the module that made the run
    (`pretrained.py`); that module's code is part of the run's key. A run knows what it was built
    from: the `dataset` that it is to look at makes no difference.
    """
    if run.record["module"] != __name__:
        return importlib.import_module(run.record["module"]).restore(run)
    built = json.loads((run.folder / BUILT).read_text())
    vocabulary = Vocabulary(tuple(built["words"]))
    model = TOWERS[run.config["recipe"]](vocabulary, built["classes"], built["size"])
    model.load_state_dict(run.weights())
    return model.eval(), vocabulary
