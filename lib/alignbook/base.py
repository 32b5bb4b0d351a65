"""Base vision-language models, trained here because no pretrained weights can be had.

`world-clip` is a small CLIP built by open_clip from `base_configs/world-clip.json`; while it
learns to match, heads on its region map name the object's shape, colour, size and texture in each
cell, as the detector behind the field's region features learnt Visual Genome's objects and
attributes.
`photo-tower` is a plain convolutional two-tower for photographs, where no boxes are given.
"""

import hashlib
import logging
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from alignbook import retrieval, training
from alignbook.vocabulary import PAD, UNKNOWN, Vocabulary

ATTRIBUTES = ("shape", "colour", "size", "texture")
CONFIGS = Path(__file__).parent / "base_configs"


@dataclass(frozen=True)
class Config:
    """How a base model is trained; every field is part of the run key.

    `captions` of each image enter a step: pictures cost far more than words do, so a tower that
    sees all five at once learns more from each picture. `architecture` is the hash of the model's
    configuration file.
    """

    recipe: str = "world-clip"
    epochs: int = 10
    batch: int = 128
    captions: int = 1
    learning_rate: float = 1.5e-3
    weight_decay: float = 0.02
    min_count: int = 1
    architecture: str = ""


def configure(profile) -> Config:
    """The config of a profile's base model."""
    sizes = dict(epochs=profile.base_epochs, batch=profile.base_batch)
    if profile.base == "world-clip":
        text = (CONFIGS / "world-clip.json").read_bytes()
        return Config(**sizes, architecture=hashlib.sha256(text).hexdigest()[:16])
    return Config(
        profile.base, **sizes, captions=5, learning_rate=2e-3, weight_decay=0.05, min_count=4
    )


class WorldCLIP(nn.Module):
    """open_clip's CLIP with a region map: stages 2 and 3 of its ResNet, joined on an 8×8 grid."""

    region_dim, region_maximum = 128, False

    def __init__(self, vocabulary: Vocabulary, classes: dict[str, int]):
        super().__init__()
        import open_clip

        open_clip.add_model_config(CONFIGS)
        logging.disable(logging.WARNING)  # "no pretrained weights loaded": there are none
        self.clip = open_clip.create_model("world-clip").to(memory_format=torch.channels_last)
        logging.disable(logging.NOTSET)
        settings = open_clip.get_model_config("world-clip")["text_cfg"]
        self.context, self.eos = settings["context_length"], settings["eos_id"]
        if len(vocabulary) > self.eos:
            raise ValueError(
                f"world-clip has room for {self.eos - 2} words, the captions have "
                f"{len(vocabulary) - 2}: raise vocab_size and eos_id in world-clip.json"
            )
        widths = self.clip.visual.layer2[-1].conv3.out_channels
        self.neck = nn.Conv2d(widths * 3, self.region_dim, 1)
        self.heads = nn.ModuleDict(
            {a: nn.Conv2d(self.region_dim, n + 1, 1) for a, n in classes.items()}
        )

    def _stages(self, images):
        v = self.clip.visual
        images = images.contiguous(memory_format=torch.channels_last)
        middle = v.layer2(v.layer1(v.stem(images)))
        deep = v.layer3(middle)
        return middle, deep

    def _join(self, middle, deep):
        return self.neck(torch.cat([middle, F.interpolate(deep, scale_factor=2)], dim=1))

    def region_map(self, images: torch.Tensor) -> torch.Tensor:
        """images `(B, 3, 64, 64) float` → `(B, 128, 8, 8) float`."""
        return self._join(*self._stages(images))

    def encode(self, images, ids, lengths):
        """Image and text embeddings `(B, 128)`, normalised, and the region map."""
        middle, deep = self._stages(images)
        pooled = self.clip.visual.attnpool(self.clip.visual.layer4(deep))
        image = F.normalize(pooled, dim=-1)
        return image, self.encode_text(ids, lengths), self._join(middle, deep)

    def encode_image(self, images):
        """images `(B, 3, H, W) float` → `(B, 128) float`, normalised."""
        v = self.clip.visual
        return F.normalize(v.attnpool(v.layer4(self._stages(images)[1])), dim=-1)

    def encode_text(self, ids, lengths):
        """ids `(B, L) int64` → `(B, 128) float`, normalised; an end token follows the words."""
        tokens = ids.new_full((len(ids), self.context), PAD)
        width = min(ids.shape[1], self.context - 1)
        tokens[:, :width] = ids[:, :width]
        end = lengths.clamp(max=self.context - 1)
        tokens[torch.arange(len(ids)), end] = self.eos
        return self.clip.encode_text(tokens, normalize=True)

    def scale(self):
        """The factor on the cosines, learnt, at most 100."""
        return self.clip.logit_scale.exp().clamp(max=100)

    def word_vectors(self):
        """The vectors of the words `(512, 128) float`, by vocabulary id."""
        return self.clip.token_embedding.weight.data


class PhotoTower(nn.Module):
    """Six convolutions with batch normalisation, maximum + mean pooling; mean of word vectors."""

    region_dim, region_maximum, dim, crop = 256, True, 256, 64

    def __init__(self, vocabulary: Vocabulary, classes: dict[str, int]):
        super().__init__()
        layers, channels = [], 3
        for width, stride in ((32, 2), (64, 2), (128, 2), (128, 1), (192, 1), (256, 1)):
            layers += [
                nn.Conv2d(channels, width, 3, stride, 1, bias=False),
                nn.BatchNorm2d(width),
                nn.ReLU(inplace=True),
            ]
            channels = width
        self.trunk = nn.Sequential(*layers).to(memory_format=torch.channels_last)
        self.project = nn.Linear(channels, self.dim)
        self.vectors = nn.Embedding(len(vocabulary), self.dim, padding_idx=PAD)
        self.hidden, self.text_project = (
            nn.Linear(self.dim, self.dim), nn.Linear(self.dim, self.dim)
        )  # fmt: skip
        self.dropout = nn.Dropout(0.2)
        self.log_scale = nn.Parameter(torch.tensor(np.log(1 / 0.07), dtype=torch.float32))

    def region_map(self, images):
        """images `(B, 3, H, W) float` → `(B, 256, H/8, W/8) float`."""
        return self.trunk(images.contiguous(memory_format=torch.channels_last))

    def encode_image(self, images):
        """images `(B, 3, H, W) float` → `(B, dim) float`, normalised."""
        regions = self.region_map(images)
        pooled = regions.amax((2, 3)) + regions.mean((2, 3))
        return F.normalize(self.project(self.dropout(pooled)), dim=-1)

    def encode_text(self, ids, lengths):
        """ids `(B, L) int64`, lengths `(B,)` → `(B, dim) float`, normalised."""
        if self.training:  # word dropout
            lost = (torch.rand(ids.shape, device=ids.device) < 0.1) & (ids != PAD)
            ids = ids.masked_fill(lost, UNKNOWN)
        mean = self.dropout(self.vectors(ids)).sum(1) / lengths[:, None]
        return F.normalize(self.text_project(mean + F.relu(self.hidden(mean))), dim=-1)

    def encode(self, images, ids, lengths):
        """Image and text embeddings `(B, dim)`, normalised, and None: photographs have no boxes."""
        return self.encode_image(images), self.encode_text(ids, lengths), None

    def scale(self):
        """The factor on the cosines, learnt, at most 100."""
        return self.log_scale.exp().clamp(max=100)

    def word_vectors(self):
        """The vectors of the words `(V, dim) float`, by vocabulary id."""
        return self.vectors.weight.data


MODELS = {"world-clip": WorldCLIP, "photo-tower": PhotoTower}


def to_float(images: np.ndarray) -> torch.Tensor:
    """Pixels `(B, H, W, 3) uint8` → `(B, 3, H, W) float` in [-1, 1]."""
    pixels = np.array(images, np.float32).transpose(0, 3, 1, 2)
    return torch.from_numpy(pixels) / 127.5 - 1


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


def cell_labels(objects, rows: np.ndarray, size: int, grid: int = 8) -> dict[str, torch.Tensor]:
    """What each cell of a grid shows: `(N, grid, grid) int64` per attribute, 0 for background.

    A cell belongs to the object whose box holds its centre, to the smallest where boxes overlap.
    """
    position = {int(row): i for i, row in enumerate(rows)}
    chosen = objects[objects.image.isin(position)].copy()
    chosen["area"] = (chosen.x1 - chosen.x0) * (chosen.y1 - chosen.y0)
    chosen = chosen.sort_values(["image", "area"], ascending=[True, False], kind="stable")
    centres = (np.arange(grid) + 0.5) * size / grid
    codes = {a: chosen[a].astype("category").cat.codes.to_numpy() + 1 for a in ATTRIBUTES}
    labels = {a: np.zeros((len(rows), grid, grid), np.int64) for a in ATTRIBUTES}
    boxes = chosen[["image", "x0", "y0", "x1", "y1"]].to_numpy()
    for k, (image, x0, y0, x1, y1) in enumerate(boxes):
        inside_x = (centres >= x0) & (centres < x1)
        inside_y = (centres >= y0) & (centres < y1)
        cells = np.ix_([position[int(image)]], np.flatnonzero(inside_y), np.flatnonzero(inside_x))
        for attribute in ATTRIBUTES:
            labels[attribute][cells] = codes[attribute][k]
    return {a: torch.from_numpy(labels[a]) for a in ATTRIBUTES}


def clip_loss(image: torch.Tensor, text: torch.Tensor, scale) -> torch.Tensor:
    """CLIP's symmetric cross-entropy with several captions an image.

    image `(B, d)`, text `(B·c, d)`, both normalised, captions of image i in rows c·i … c·i + c−1;
    → scalar. A caption has to find its image among the B; an image each of its captions among all
    those of other images, its own others left out. With c = 1 this is CLIP's loss.
    """
    each = len(text) // len(image)
    owner = torch.arange(len(image), device=image.device).repeat_interleave(each)
    logits = scale * image @ text.T
    own = owner == torch.arange(len(image), device=image.device)[:, None]
    others = logits.masked_fill(own, -torch.inf).logsumexp(1, keepdim=True)
    to_text = F.softplus(others - logits[own].view(-1, each)).mean()
    return (F.cross_entropy(logits.T, owner) + to_text) / 2


def compute(config: Config, seed: int, inputs, folder: Path, device: str) -> dict:
    """Train the base model on the training split; leave weights and vocabulary in `folder`.

    The loss is CLIP's with a learnt scale; in the world the cross-entropy of the cells' attributes
    is added with weight 1.
    """
    (dataset,) = inputs
    torch.set_num_threads(1)  # two threads gain nothing on models this small
    torch.manual_seed(seed)
    vocabulary = Vocabulary.build(dataset.captions_of("train"), config.min_count)
    ids, lengths = vocabulary.encode(dataset.captions_of("train"))
    rows, each = dataset.splits["train"], dataset.captions_per_image
    batch = min(config.batch, len(rows))
    model = build(config, vocabulary, dataset).to(device)
    labelled = hasattr(model, "heads")
    labels = cell_labels(dataset.objects, rows, dataset.images.shape[1]) if labelled else {}

    def loss_at(step):
        images, captions = training.pairs_in_batch(len(rows), batch, each, seed, step)
        if config.captions > 1:
            captions = (images[:, None] * each + torch.arange(config.captions)).flatten()
        pixels = to_float(dataset.images[rows[images.numpy()]])
        if not labelled:
            pixels = augment(pixels, model.crop)
        seen = lengths[captions]
        words = ids[captions, : int(seen.max())]
        image, text, regions = model.encode(pixels.to(device), words.to(device), seen.to(device))
        loss = clip_loss(image, text, model.scale())
        for attribute in labels:
            target = labels[attribute][images].to(device)
            loss = loss + F.cross_entropy(model.heads[attribute](regions), target) / len(labels)
        return loss

    decayed = [p for p in model.parameters() if p.ndim > 1]
    others = [p for p in model.parameters() if p.ndim <= 1]
    optimizer = torch.optim.AdamW(
        [{"params": decayed, "weight_decay": config.weight_decay},
         {"params": others, "weight_decay": 0.0}],
        lr=config.learning_rate,
    )
    steps = config.epochs * (len(rows) // batch)
    schedule = training.warmup_cosine(optimizer, steps)
    outcome = training.fit(
        model, optimizer, schedule, steps, loss_at, folder, f"base {config.recipe}", clip=1.0
    )
    metrics = training.save(model, outcome, folder)
    for split in ("dev", "test"):
        scores = similarity(model, vocabulary, dataset, split)
        metrics |= retrieval.evaluate(scores, dataset.captions_per_image).named(split)
    return metrics


def build(config: Config, vocabulary: Vocabulary, dataset):
    """An untrained model; in the world with a head for each attribute of the gold objects."""
    classes = {}
    if config.recipe == "world-clip":
        classes = {a: dataset.objects[a].nunique() for a in ATTRIBUTES}
    return MODELS[config.recipe](vocabulary, classes)


@torch.inference_mode()
def similarity(model, vocabulary: Vocabulary, dataset, split: str) -> torch.Tensor:
    """Cosines of whole images and whole captions of a split, `(N, 5·N) float`."""
    device = next(model.parameters()).device
    rows = dataset.splits[split]
    ids, lengths = vocabulary.encode(dataset.captions_of(split))
    images = [
        model.encode_image(to_float(dataset.images[rows[i : i + 250]]).to(device))
        for i in range(0, len(rows), 250)
    ]
    texts = [
        model.encode_text(ids[i : i + 1000].to(device), lengths[i : i + 1000].to(device))
        for i in range(0, len(ids), 1000)
    ]
    return torch.cat(images) @ torch.cat(texts).T


def load(run, dataset):
    """The trained model of a base run, in evaluation mode, and its vocabulary."""
    config = Config(**run.config)
    vocabulary = Vocabulary.build(dataset.captions_of("train"), config.min_count)
    model = build(config, vocabulary, dataset)
    model.load_state_dict(run.weights())
    return model.eval(), vocabulary
