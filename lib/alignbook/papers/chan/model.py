"""CHAN: fine-grained image-text matching by a cross-modal hard aligning network (CVPR 2023).

In the order of the paper: text and region encoders (§3.3), coding and pooling (Eq. 1–6, 8, in
`similarity.py`), objective (Eq. 9, in `losses.py`), and the presets. What the text leaves open
follows the released code [C] or is our assumption [A]. The arms of the exhibits: `arms`.
"""

from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import nn

from alignbook.backbones import bert, frozen_words, region_features
from alignbook.backbones.inputs import Inputs
from alignbook.backbones.word_vectors import word_vectors
from alignbook.core import losses, parallel, retrieval, training
from alignbook.core.encoders import BiGRU, RegionEncoder
from alignbook.core.protocol import TUNING_SEED
from alignbook.core.similarity import hard_coding, soft_coding
from alignbook.store import progress

# Of dev's first images, which choose the best look. The paper's dev have 1,014, and COCO's 5,000 [A].
LOOKED_AT = 1000


@dataclass(frozen=True)
class Config:
    """One arm of CHAN; trained with AdamW [C].

    Word vectors start from those of the base model [A], where the paper takes GloVe [S].
    """

    coding: str = "hard"  # Eq. 5, 6 [S]; "soft": cross-attention, Eq. 1–4
    codebook: str = "visual"  # whose best fragment is taken [S]; "textual" (Table 3)
    pooling: str = "lse"  # of the scores of words, Eq. 3 [S], or another of Table 4
    scale: float = 10.0  # λ of Eq. 3, tuned on dev [A]
    divided: bool = True  # by λ, as in Eq. 8 [S], or not [C]
    margin: float = 0.05  # α of Eq. 9, tuned on dev [A]
    temperature: float = 0.0  # τ of Eq. 4, which soft coding alone has, tuned on dev [A]
    regions: int = 36  # K [C]
    dim: int = 128  # d [A]
    text: str = "bigru"  # or "bert" [S]
    self_attention: bool = True  # of the regions (§3.3) [S]
    images: int = 0  # the first so many of the training split, 0 for all [A]
    steps: int = 500  # of training [A]
    batch: int = 128  # images, one caption of each [A]
    learning_rate: float = 1e-3  # at its highest [A]
    schedule: str = "cosine"  # after a linear rise [A]; "step" [C]
    weight_decay: float = 1e-4  # [A]
    region_drop: float = 0.2  # share of an image's regions that a step leaves out [C]
    word_dropout: float = 0.1  # share of the words that a step reads as unknown [A]
    all_violations: float = 0.2  # share of the steps before the hardest negatives [A]; 1 epoch [C]
    clip: float = 2.0  # largest norm of the gradient [C]
    permute_captions: bool = False  # a control: captions of other images [A]

    together = True  # several ranks train it, each on its part of every batch

    def compute(self, inputs: Inputs, seed: int, folder: Path, device: str) -> dict:
        """What a run of it is: see `compute` below."""
        return compute(self, inputs, seed, folder, device)


class CHAN(nn.Module):
    """Regions and words into one space of width d (§3.3), then coding and pooling (Eq. 8)."""

    def __init__(self, config: Config, feature_dim: int, text: nn.Module):
        super().__init__()
        self.config = config
        self.image = RegionEncoder(feature_dim, config.dim, attention=config.self_attention)
        self.text = text

    def similarity(self, regions, words, region_lengths=None, word_lengths=None):
        """Regions `(B1, K, d)`, words `(B2, L, d)` → `(B1, B2)`: Eq. 8, or Eq. 1–4 when soft."""
        c = self.config
        how = dict(
            region_lengths=region_lengths,
            word_lengths=word_lengths,
            codebook=c.codebook,
            pooling=c.pooling,
            scale=c.scale,
        )
        if c.coding == "hard":
            scores = hard_coding(regions, words, **how)
        else:
            scores = soft_coding(regions, words, temperature=c.temperature, **how)
        return scores if c.divided or c.pooling != "lse" else scores * c.scale


def drop_regions(regions: torch.Tensor, rate: float) -> torch.Tensor:
    """Leave out a share of every image's regions at random [C]: `(B, K, D)` → `(B, K', D)`."""
    kept = max(1, round(regions.shape[1] * (1 - rate)))
    chosen = torch.rand(regions.shape[:2]).argsort(dim=1)[:, :kept].sort(1).values
    return regions[torch.arange(len(regions))[:, None], chosen]


def compute(config: Config, inputs: Inputs, seed: int, folder: Path, device: str) -> dict:
    """Train one arm; leave its weights in `folder`, return its recalls."""
    torch.manual_seed(seed)
    model, vocabulary = build(config, *inputs)
    c = config
    label = f"CHAN {c.coding} {c.codebook} {c.pooling} {c.text}, K {c.regions}, seed {seed}"
    return fit(model, vocabulary, c, inputs, seed, folder, device, label)


def fit(
    model, vocabulary, config, inputs: Inputs, seed: int, folder: Path, device: str, label: str
) -> dict:
    """Train a matcher of regions and captions by Eq. 9 and measure it: CHAN, or one of its rivals.

    A tuning seed is measured on dev, a reporting seed on test. Its progress bar says `label`.

    Returns
    -------
    dict: recalls, those of five folds of the test images ("test 1K …") where these divide by five,
    and what `training.save` says. `folder` gets the weights and the test ranks.
    """
    torch.set_num_threads(1)
    model.to(device)
    dataset, feature_run = inputs.dataset, inputs.features
    rows, stored = dataset.splits["train"][: config.images or None], feature_run.array("features")
    n, size, each = len(rows), min(config.batch, len(rows)), dataset.captions_per_image
    ids, lengths = vocabulary.encode(dataset.captions_of("train")[: n * each])
    if config.permute_captions:  # control: captions belong to other images, as blocks
        order = np.random.default_rng([seed, 2]).permutation(n)
        moved = torch.from_numpy((order[:, None] * each + np.arange(each)).ravel())
        ids, lengths = ids[moved], lengths[moved]

    def loss_at(step):
        pairs = training.pairs_in_batch(n, size, each, seed, step)
        images, captions = parallel.part(seed, step, *pairs)
        raw = region_features.batch(stored, rows[images.numpy()], config.regions)
        regions = model.image(drop_regions(raw.to(device), config.region_drop))
        seen = lengths[captions]
        words = model.text(ids[captions, : int(seen.max())].to(device), seen)
        regions, words, seen = parallel.gathered(regions, words, seen)  # negatives of all ranks
        return hinge(step)(model.similarity(regions, words, word_lengths=seen), config.margin)

    def hinge(step):
        early = step < config.all_violations * config.steps
        return losses.all_negatives_hinge if early else losses.hardest_negative_hinge  # Eq. 9

    def trivial_at(step):  # 2 α B of Eq. 9
        return hinge(step)(torch.zeros(size, size), config.margin)

    dev = "dev", min(len(dataset.splits["dev"]), LOOKED_AT)

    def dev_at(step):
        return retrieval.evaluate(
            evaluate(model, vocabulary, dataset, feature_run, *dev), each
        ).rsum

    descent = descent_of(model, config)
    outcome = training.fit(model, descent, loss_at, folder, label, dev_at, trivial_at=trivial_at)
    best = training.take_best(model, outcome)
    split = "dev" if seed >= TUNING_SEED else "test"
    scores = evaluate(model, vocabulary, dataset, feature_run, split)
    found = best | retrieval.evaluate(scores, each).named(split)
    if split == "test":
        for way, ranks in zip(("i2t", "t2i"), retrieval.ranks(scores, each)):
            np.save(folder / f"ranks_{way}.npy", ranks.astype(np.int32))
        if len(scores) % 5 == 0:  # COCO's "1K": five folds of a thousand images
            found |= retrieval.evaluate(scores, each, folds=5).named("test 1K")
    return training.save(model, outcome, folder) | found


def descent_of(model, config) -> training.Descent:
    """AdamW and the config's schedule."""
    rates = dict(lr=config.learning_rate, weight_decay=config.weight_decay, fused=True)
    optimizer = torch.optim.AdamW(parameter_groups(model, config), **rates)
    schedule = SCHEDULES[config.schedule](optimizer, config.steps)
    return training.Descent(optimizer, schedule, config.steps, config.clip)


def parameter_groups(model, config) -> list[dict]:
    """All parameters; those of a pretrained BERT with a tenth of the learning rate [C]."""
    named = list(model.named_parameters())
    slow = [p for name, p in named if ".bert." in f".{name}"]
    rest = [p for name, p in named if ".bert." not in f".{name}"]
    return [
        {"params": rest},
        *([{"params": slow, "lr": config.learning_rate / 10}] if slow else []),
    ]


def step_decay(optimizer, steps: int):
    """A tenth of the learning rate after three fifths of the steps: epoch 15 of 25 [C]."""
    return torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: 1 if step < 0.6 * steps else 0.1
    )


SCHEDULES = {"cosine": partial(training.warmup_cosine, warmup=0.05), "step": step_decay}


def build(config: Config, dataset, feature_run, *rest) -> tuple[CHAN, object]:
    """An untrained model and its vocabulary; the inputs are those of `text_side`."""
    text, vocabulary = text_side(config, dataset, *rest)
    return CHAN(config, feature_run.metrics["width"], text), vocabulary


def text_side(config, dataset, base_run=None, home=None, bert_run=None):
    """The words' encoder, ids `(B, L)` and lengths → `(B, L, d)`, and its vocabulary.

    A BiGRU over word vectors, or the BERT that was pretrained on captions or elsewhere; for what
    MiniLM made of the captions, stored words, which stay as they are.
    """
    if config.text == "bert" and frozen_words.are_stored(bert_run):
        places = frozen_words.Places(bert_run, dataset.captions)
        return frozen_words.Words(places, config.dim), places
    if config.text == "bert":
        model, pieces = bert.load(bert_run, home or dataset)
        return bert.Words(model, config.dim), pieces
    vectors, vocabulary = word_vectors(dataset, base_run, home)
    text = BiGRU(*vectors.shape, config.dim, word_dropout=config.word_dropout)
    text.vectors.weight.data.copy_(vectors)
    return text, vocabulary


def load(run, dataset, feature_run, *rest) -> tuple[CHAN, object]:
    """The trained model of a run, in evaluation mode, and its vocabulary."""
    model, vocabulary = build(Config(**run.config), dataset, feature_run, *rest)
    model.load_state_dict(run.weights())
    return model.eval(), vocabulary


@torch.inference_mode()
def encode_images(model, dataset, feature_run, split: str, most: int = 0) -> torch.Tensor:
    """What the model makes of a split's images, or (`most`) of its first so many: regions
    `(N, K, d)`, or vectors `(N, d)`.
    """
    device = next(model.parameters()).device
    rows, stored = dataset.splits[split][: most or None], feature_run.array("features")
    return torch.cat(
        [
            model.image(
                region_features.batch(stored, rows[i : i + 500], model.config.regions).to(device)
            )
            for i in range(0, len(rows), 500)
        ]
    )


@torch.inference_mode()
def encode_captions(model, vocabulary, captions):
    """Words `(n, L, d)` and lengths `(n,)` of a thousand captions at a time, in the captions' order;
    L is the longest of the thousand.
    """
    device = next(model.parameters()).device
    ids, lengths = vocabulary.encode(captions)
    for some, n in zip(ids.split(1000), lengths.split(1000)):
        yield model.text(some[:, : int(n.max())].to(device), n), n


@torch.inference_mode()
def evaluate(model, vocabulary, dataset, feature_run, split: str, most: int = 0):
    """Similarity of every image and caption of a split, `(N, 5·N) float`, a thousand captions at a
    time: no more of them is held. With `most`, of its first so many images and their captions.
    """
    images = encode_images(model, dataset, feature_run, split, most)
    captions = dataset.captions_of(split)[: most * dataset.captions_per_image if most else None]
    parts = encode_captions(model, vocabulary, captions)
    scores = images.new_full((len(images), len(captions)), torch.nan)
    done = 0
    for words, lengths in parts:
        part = slice(done, done + len(words))
        scores[:, part] = model.similarity(images, words, word_lengths=lengths)
        done = part.stop
        if not most:  # a look is short, and the bar at hand is the training's
            progress.show(f"comparing with the {split} captions", done, len(captions))
    return scores


# --- Presets: the text and the released code -----------------------------------------------------

# Full size, as both have it or the code alone says [C].
FULL = dict(
    dim=1024,
    regions=36,
    batch=384,
    learning_rate=5e-4,
    schedule="step",
    scale=10.0,
    all_violations=1 / 25,
    word_dropout=0.0,
)
BERT_FULL = FULL | dict(text="bert", batch=128)
PRESETS = {
    # The paper's equations; what it is silent about from the code, the margin in Eq. 8's units.
    ("paper", "bigru"): Config(**FULL, margin=0.005),
    ("paper", "bert"): Config(**BERT_FULL, margin=0.005),
    ("official", "bigru"): Config(**FULL, margin=0.05, divided=False),
    ("official", "bert"): Config(
        **BERT_FULL, margin=0.05, divided=False, pooling="mean", self_attention=False
    ),
}
DIFFERENCES = {  # fields of Config in which the presets differ, and why
    "divided": "Eq. 8 divides by λ, the code doesn't: s is λ times as large",
    "margin": "0.05 there is 0.005 in the units of Eq. 8; with mean pooling it is 0.05",
    "pooling": "the text pools by LogSumExp; the code's BERT script takes the mean of the words",
    "self_attention": "§3.3 has it for both text sides; the BERT script switches it off",
}
