"""The towers under CoV-Align: patches of pictures, words of captions; trained, or frozen in files.

The paper takes a ViT-Base-224 and a BERT-Base, trained with the rest. A `ViT` of your own is a
folder, or a name under data/weights; nothing is ever downloaded. Where there is none, patches are
cells of the base model's region map: a convolutional stem without the transformer on top [A].

"end-to-end" runs both towers at every step; "frozen" reads what they made of every picture and
caption once, for sweeps of what is trained on top. Tokens are whitened unless told [A]: those of
our small towers vary a thousand times as much in one direction as in most others, and heads that
have a hundred steps learn little from them.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from alignbook.backbones import base, bert, frozen_words, packaged, weight_files
from alignbook.errors import DataError
from alignbook.store import progress
from alignbook.store.runs import Run

MODES = ("frozen", "end-to-end")
BATCH = 64  # images at a time: a large model's pixels and maps stay below a gigabyte
CELL = 8  # pixels a side of a cell of the base models' region maps
SAMPLE = 500  # training images that tell how tokens vary
TOKENS = ("patches", "words", "ends")


@dataclass(frozen=True)
class Config:
    """Frozen tokens of both towers."""

    context: int = 40  # words of a caption at most, the two marks of BERT among them [A]
    whitened: bool = True  # tokens are brought to covariance 1 [A]

    def compute(self, inputs, seed: int, folder: Path, device: str) -> dict:
        """What a run of it is: see `compute` below."""
        return compute(self, inputs, seed, folder, device)


# --- Pictures ------------------------------------------------------------------------------------


class Cells(nn.Module):
    """Cells of a base model's region map; means of neighbours if there are more than 10 a side."""

    most = 10

    def __init__(self, model: nn.Module, side: int):
        super().__init__()
        self.model = model
        _check_pictures(side, (-(-side // CELL),) * 2, least=CELL)
        with torch.no_grad():
            blank = model.pixels(np.zeros((1, side, side, 3), np.uint8))
            cells = model.eval().region_map(blank)
        self.width, *sides = cells.shape[1:]
        self.grid = tuple(min(self.most, each) for each in sides)

    def pixels(self, images: np.ndarray) -> torch.Tensor:
        return self.model.pixels(images)

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        """Pixels `(B, 3, H, W)` → patches `(B, P, width)`."""
        return F.adaptive_avg_pool2d(self.model.region_map(pixels), self.grid).flatten(2).mT


class VisionTransformer(nn.Module):
    """A ViT's last layer without its class token; pictures are brought to its size."""

    def __init__(self, vit: nn.Module, side: int, mean=(0.5,) * 3, std=(0.5,) * 3):
        super().__init__()
        self.vit, self.size = vit, vit.config.image_size
        patches = self.size // vit.config.patch_size
        self.width, self.grid = vit.config.hidden_size, (patches, patches)
        _check_pictures(side, self.grid)
        self.register_buffer("mean", torch.tensor(mean).view(3, 1, 1), persistent=False)
        self.register_buffer("std", torch.tensor(std).view(3, 1, 1), persistent=False)

    def pixels(self, images: np.ndarray) -> torch.Tensor:
        """Pictures `(B, H, W, 3) uint8` → `(B, 3, size, size) float` in [0, 1], on the tower's device:
        bytes are a quarter of what floats are to send there.
        """
        sent = torch.from_numpy(np.ascontiguousarray(images)).to(self.mean.device)
        pixels = sent.permute(0, 3, 1, 2).float() / 255
        if pixels.shape[2:] == (self.size, self.size):
            return pixels
        return F.interpolate(pixels, (self.size, self.size), mode="bilinear", antialias=True)

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        """Pixels `(B, 3, size, size)` → patches `(B, P, width)`."""
        return self.vit((pixels - self.mean) / self.std).last_hidden_state[:, 1:]


def _check_pictures(side: int, grid: tuple[int, int], least: int = 1) -> None:
    if side < max(*grid, least):
        raise ValueError(
            f"pictures of {side} × {side} pixels are smaller than the patch grid of "
            f"{grid[0]} × {grid[1]}: prepare larger ones, --set size="
        )


# --- Where towers come from ----------------------------------------------------------------------


@dataclass(frozen=True)
class Drawn:
    """Weights drawn at random, for whoever asks for them: a ViT-Base-224, or a BERT-Base whose
    word pieces are those of the training captions.
    """

    key = label = "drawn at random"


class ViT(weight_files.OwnModel):
    """A ViT of your own."""

    KIND = "vit"
    FORMS = (
        ("config.json",),
        ("preprocessor_config.json",),
        ("model.safetensors", "pytorch_model.bin"),
    )
    HOLDS = "settings, preprocessing and weights of one ViT"

    def load(self, side: int) -> VisionTransformer:
        """The tower for pictures of so many pixels a side.

        Raises
        ------
        DataError
            Naming the file that is missing, damaged, not a ViT's, or doesn't fit the others.
        """
        from transformers import ViTModel

        stated, prepared, weights = self.files
        settings, how = (
            weight_files.json_object(path, weight_files.BELONGS) for path in (stated, prepared)
        )
        if (kind := settings.get("model_type", "vit")) != "vit":
            raise DataError(f"{stated}: model_type {kind!r}, expected 'vit'; take a ViT")
        try:
            vit, told = ViTModel.from_pretrained(
                self.folder,
                local_files_only=True,
                add_pooling_layer=False,
                output_loading_info=True,
            )
        except Exception as error:  # whatever foreign files make the library say
            raise DataError(
                f"{weights}: no ViT can be built from it ({str(error)[:200]}); "
                f"{weight_files.BELONGS}"
            ) from error
        if missing := sorted(told["missing_keys"]):
            raise DataError(
                f"{weights}: not of this architecture, {len(missing)} of its weights are "
                f"missing ({', '.join(missing[:4])}); {weight_files.BELONGS}"
            )
        return VisionTransformer(vit.float(), side, how["image_mean"], how["image_std"])


def image_tower(source, dataset) -> nn.Module:
    """Cells of a base model's run, or a ViT that is named or drawn at random.

    ValueError for a data set without pictures.
    """
    if dataset.images is None:
        raise ValueError(
            f"{dataset.name} has region features and no pictures: expected pictures, "
            "whose patches CoV-Align gathers itself"
        )
    side = min(dataset.images.shape[1:3])
    if isinstance(source, ViT):
        return source.load(side)
    if isinstance(source, Drawn):
        from transformers import ViTConfig, ViTModel

        return VisionTransformer(ViTModel(ViTConfig(), add_pooling_layer=False), side)
    return Cells(base.load(source, dataset)[0], side)


def text_tower(source, dataset) -> tuple[nn.Module, bert.WordPieces]:
    """BERT of a run, of a `bert.Pretrained`, MiniLM, or one drawn at random, and its word pieces."""
    if frozen_words.are_stored(source):
        return packaged.text_tower()
    if not isinstance(source, Drawn):
        return bert.load(source, dataset)
    from transformers import BertConfig, BertModel

    config = BertConfig(attn_implementation="eager")
    tokenizer = bert.word_pieces(dataset.captions_of("train"), config.vocab_size)
    pieces = bert.WordPieces(tokenizer, config.max_position_embeddings)
    return BertModel(config, add_pooling_layer=False), pieces


def encode(pieces: bert.WordPieces, captions: list[str], context: int):
    """Ids `(N, L) int64`, lengths `(N,)`, and how many captions are longer than `context` words, or
    than BERT has positions: these are cut before their last mark.
    """
    ids, lengths = pieces.encode(captions, context)
    kept = min(context, pieces.positions) - 2
    whole = pieces.tokenizer.encode_batch(list(captions), add_special_tokens=False)
    return ids, lengths, sum(len(each.ids) > kept for each in whole)


# --- Tokens --------------------------------------------------------------------------------------


class Whitening(nn.Module):
    """Tokens of mean 0 and, nearly, of covariance 1: (x − μ)(Σ + s I)^(−½), symmetric.

    s is a tenth of Σ's mean eigenvalue, so that what hardly varies is not blown up.
    """

    def __init__(self, width: int):
        super().__init__()
        self.register_buffer("mean", torch.zeros(width))
        self.register_buffer("matrix", torch.eye(width))

    @torch.no_grad()
    def fit(self, tokens: torch.Tensor) -> None:
        """Take mean and covariance of tokens `(N, width)`."""
        self.mean.copy_(tokens.mean(0))
        apart = (tokens - self.mean).double()
        values, vectors = torch.linalg.eigh(apart.T @ apart / len(apart))
        values = values.clamp(min=0)
        scales = (values + 0.1 * values.mean()).rsqrt()
        self.matrix.copy_(vectors * scales @ vectors.T)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return (tokens - self.mean) @ self.matrix


class Tokens(nn.Module):
    """Patches and words of a data set, whitened if asked for: `raw_patches` and `raw_words` say where
    they come from.

    Whitening is that of the first training images and captions before any training, in evaluation
    mode. There whitened towers stay: dropout and the statistics of a batch, hardly seen in tokens as
    they are, would be blown up.
    """

    def __init__(self):
        super().__init__()
        self.whiten = nn.ModuleDict()

    def train(self, mode: bool = True):
        return super().train(mode and not self.whiten)

    @torch.no_grad()
    def fit_whitening(self, dataset) -> None:
        self.eval()
        rows, each = dataset.splits["train"][:SAMPLE], dataset.captions_per_image
        parts = [rows[i : i + BATCH] for i in range(0, len(rows), BATCH)]
        found = {
            "patches": [self.patches(part).flatten(0, 1) for part in parts],
            "words": [_real(self.words(part * each)) for part in parts],
        }
        for kind, tokens in found.items():
            self.whiten[kind] = Whitening(tokens[0].shape[1])
            self.whiten[kind].fit(torch.cat(tokens))

    def patches(self, rows: np.ndarray) -> torch.Tensor:
        """Patches of some images, `(B, P, image_width) float`."""
        return self._whitened("patches", self.raw_patches(rows))

    def words(self, numbers: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
        """Words of some captions, `(B, L, text_width) float`, and which are real, `(B, L) bool`."""
        words, mask = self.raw_words(numbers)
        return self._whitened("words", words), mask

    def _whitened(self, kind: str, tokens: torch.Tensor) -> torch.Tensor:
        if kind not in self.whiten:
            return tokens
        return self.whiten[kind](tokens.to(self.whiten[kind].mean.device))


class Kept(Tokens):
    """What the packaged towers left of a data set (`extraction`): nothing is seen or read anew."""

    def __init__(self, dataset, seen, read, whitened: bool):
        super().__init__()
        self.stored, self.word_tokens = seen.array("patches"), read.array("words")
        self.ends, self.cut = read.array("ends"), read.metrics["captions cut"]
        self.lengths = torch.from_numpy(np.diff(self.ends, prepend=0))
        self.grid = tuple(seen.metrics["grid"])
        self.image_width, self.text_width = self.stored.shape[2], self.word_tokens.shape[1]
        if whitened:
            self.fit_whitening(dataset)

    def raw_patches(self, rows: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(self.stored[rows].astype(np.float32))

    def raw_words(self, numbers: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
        return stored_words(self.word_tokens, self.ends, numbers)


class Towers(Tokens):
    """Both towers and a data set's pictures and captions: tokens computed when asked for.

    `cut` captions were longer than the context. Weights that no token depends on, such as those
    of the base model's own text side, are not trained.
    """

    def __init__(self, dataset, image_source, text_source, context: int, whitened: bool):
        super().__init__()
        self.image = image_tower(image_source, dataset)
        self.text, pieces = text_tower(text_source, dataset)
        self.pictures = dataset.images
        self.ids, self.lengths, self.cut = encode(pieces, dataset.captions, context)
        self.grid, self.image_width = self.image.grid, self.image.width
        self.text_width = self.text.config.hidden_size
        _freeze_unused(self.image, lambda: self.patches(np.arange(1)))
        _freeze_unused(self.text, lambda: self.words(np.arange(1))[0])
        if whitened:
            self.fit_whitening(dataset)

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device

    def raw_patches(self, rows: np.ndarray) -> torch.Tensor:
        return self.image(self.image.pixels(self.pictures[rows]).to(self.device))

    def raw_words(self, numbers: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
        lengths = self.lengths[numbers]
        ids = self.ids[numbers, : int(lengths.max())].to(self.device)
        mask = torch.arange(ids.shape[1], device=self.device) < lengths.to(self.device)[:, None]
        return bert.last_layer(self.text, ids, lengths), mask


def _freeze_unused(tower: nn.Module, output) -> None:
    was = tower.training
    tower.eval()
    parameters = list(tower.parameters())
    for parameter in parameters:
        parameter.requires_grad_(True)
    found = torch.autograd.grad(output().sum(), parameters, allow_unused=True)
    for parameter, gradient in zip(parameters, found):
        parameter.requires_grad_(gradient is not None)
    tower.train(was)


class Frozen:
    """Tokens of a run: read, not computed."""

    def __init__(self, run, context: int, whitened: bool):
        asked = dict(context=context, whitened=whitened)
        if run.config != asked:
            raise ValueError(
                f"frozen tokens made with {run.config}, asked for with {asked}: expected the same"
            )
        self.stored, self.word_tokens, self.ends = map(run.array, TOKENS)
        self.grid, self.cut = tuple(run.metrics["grid"]), run.metrics["captions cut"]
        self.image_width, self.text_width = self.stored.shape[2], self.word_tokens.shape[1]

    def patches(self, rows: np.ndarray) -> torch.Tensor:
        """As `Towers.patches`."""
        return torch.from_numpy(self.stored[rows].astype(np.float32))

    def words(self, numbers: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
        """As `Towers.words`; zeros after a caption's end."""
        return stored_words(self.word_tokens, self.ends, numbers)


def stored_words(tokens: np.ndarray, ends: np.ndarray, numbers: np.ndarray):
    """Words of some captions, `(B, L, width) float`, zeros after an end, and which are real.

    tokens `(W, width)`, one caption after another; ends `(M,)`, where each ends.
    """
    last, begins = ends[numbers], np.where(numbers > 0, ends[numbers - 1], 0)
    inside = np.arange((last - begins).max()) < (last - begins)[:, None]
    places = np.minimum(begins[:, None] + np.arange(inside.shape[1]), last[:, None] - 1)
    found = tokens[places].astype(np.float32) * inside[..., None]
    return torch.from_numpy(found), torch.from_numpy(inside)


def source(config, dataset, *sources):
    """Where patches and words of an arm come from: a run of `compute`, or both towers.

    Raises
    ------
    ValueError
        Other sources than the mode has.
    """
    expected = {"frozen": 1, "end-to-end": 2}[config.tokens]
    if len(sources) != expected:
        raise ValueError(
            f"{len(sources)} sources for {config.tokens} tokens, expected {expected}: "
            "the run of frozen tokens, or that of each tower"
        )
    if config.tokens == "frozen":
        return Frozen(*sources, config.context, config.whitened)
    return Towers(dataset, *sources, config.context, config.whitened)


def made(dataset, image_source, text_source, config) -> Tokens:
    """Both towers, or what the packaged ones left where both of them went before."""
    seen = isinstance(image_source, Run) and image_source.has("patches")
    if not (seen and frozen_words.are_stored(text_source)):
        return Towers(dataset, image_source, text_source, config.context, config.whitened)
    if text_source.config["context"] != config.context:
        stored, asked = text_source.config["context"], config.context
        raise ValueError(f"captions are stored at a context of {stored}, asked for one of {asked}")
    return Kept(dataset, image_source, text_source, config.whitened)


def compute(config: Config, inputs, seed: int, folder: Path, device: str) -> dict:
    """Tokens of every image and caption: `patches.npy` (N, P, ·) and, one caption after another,
    `words.npy` (W, ·), both float16; `ends.npy` (M,) int64, where each caption's words end.

    Inputs are the data set and the sources of both towers.
    """
    dataset, image_source, text_source = inputs
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    towers = made(dataset, image_source, text_source, config)
    towers.to(device).eval()
    n, ends = len(dataset.images), towers.lengths.numpy().cumsum()
    shape = n, towers.grid[0] * towers.grid[1], towers.image_width
    patches = np.lib.format.open_memmap(folder / "patches.npy", "w+", np.float16, shape)
    for start in range(0, n, BATCH):
        rows = np.arange(start, min(start + BATCH, n))
        patches[rows] = _half(lambda: towers.patches(rows), f"patches of images {start}…")
        progress.show("patches of all images", rows[-1] + 1, n)
    shape = int(ends[-1]), towers.text_width
    words = np.lib.format.open_memmap(folder / "words.npy", "w+", np.float16, shape)
    by_length = towers.lengths.argsort(stable=True).numpy()
    for start in range(0, len(ends), 8 * BATCH):
        numbers = by_length[start : start + 8 * BATCH]
        lengths = towers.lengths[numbers].numpy()
        places = np.concatenate([np.arange(end - k, end) for end, k in zip(ends[numbers], lengths)])
        what = f"words of caption {numbers[0]}…"
        words[places] = _half(lambda: _real(towers.words(numbers)), what)
        progress.show("words of all captions", min(start + 8 * BATCH, len(ends)), len(ends))
    np.save(folder / "ends.npy", ends)
    patches.flush(), words.flush()
    return {
        "images": n,
        "captions": len(ends),
        "captions cut": towers.cut,
        "grid": list(towers.grid),
    }


def _real(words: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
    tokens, mask = words
    return tokens[mask]


@torch.inference_mode()
def _half(tokens, what: str) -> np.ndarray:
    found = tokens().cpu()
    if not torch.isfinite(found).all() or found.abs().max() > 65000:
        raise FloatingPointError(f"{what} do not fit into float16")
    return found.numpy()
