"""The architectures of the base models: pictures and captions to vectors, pictures to region maps.

`WorldCLIP` is a small CLIP built by open_clip from a file of `base_configs/`; `WorldCoCa` adds
CoCa's captioning decoder to it. While they learn to match, heads on the region map name the
object's attributes in each cell, as the detector behind the field's region features learnt Visual
Genome's objects and attributes. `PhotoTower` is a plain convolutional two-tower for photographs,
where no boxes are given.
"""

import logging
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from alignbook.core.vocabulary import PAD, UNKNOWN, Vocabulary

CONFIGS = Path(__file__).parent / "base_configs"


class WorldCLIP(nn.Module):
    """open_clip's CLIP with a region map: stages 2 and 3 of its ResNet, joined on one grid.

    Pictures are squares of `size` pixels, a multiple of 32; a cell of the map is 8 pixels wide.
    """

    region_dim, region_maximum, architecture = 128, False, "world-clip"

    def __init__(self, vocabulary: Vocabulary, classes: dict[str, int], size: int = 64):
        super().__init__()
        name = self.architecture
        import open_clip

        open_clip.add_model_config(CONFIGS)
        logging.disable(logging.WARNING)  # "no pretrained weights loaded": there are none
        self.clip = open_clip.create_model(name, force_image_size=size)
        self.clip = self.clip.to(memory_format=torch.channels_last)
        logging.disable(logging.NOTSET)
        settings = open_clip.get_model_config(name)["text_cfg"]
        self.context, self.eos = settings["context_length"], settings["eos_id"]
        if len(vocabulary) > self.eos - 1:
            raise ValueError(
                f"{name} has room for {self.eos - 3} words, the captions have "
                f"{len(vocabulary) - 2}: raise vocab_size and eos_id in {name}.json"
            )
        v = self.clip.visual
        joined = v.layer2[-1].conv3.out_channels + v.layer3[-1].conv3.out_channels
        self.neck = nn.Conv2d(joined, self.region_dim, 1)
        self.heads = nn.ModuleDict(
            {a: nn.Conv2d(self.region_dim, n + 1, 1) for a, n in classes.items()}
        )

    def pixels(self, images: np.ndarray) -> torch.Tensor:
        """Pictures `(B, H, W, 3) uint8` → what the model takes, `(B, 3, H, W) float` in [-1, 1]."""
        return to_float(images)

    def _stages(self, images):
        v = self.clip.visual
        images = images.contiguous(memory_format=torch.channels_last)
        middle = v.layer2(v.layer1(v.stem(images)))
        deep = v.layer3(middle)
        return middle, deep

    def _join(self, middle, deep):
        return self.neck(torch.cat([middle, F.interpolate(deep, scale_factor=2)], dim=1))

    def region_map(self, images: torch.Tensor) -> torch.Tensor:
        """images `(B, 3, H, W) float` → `(B, 128, H/8, W/8) float`."""
        return self._join(*self._stages(images))

    def _image(self, deep):
        v = self.clip.visual
        return F.normalize(v.attnpool(v.layer4(deep)), dim=-1)

    def encode(self, images, ids, lengths):
        """Image and text embeddings `(B, d)`, normalised, and the region map."""
        middle, deep = self._stages(images)
        return self._image(deep), self.encode_text(ids, lengths), self._join(middle, deep)

    def encode_image(self, images):
        """images `(B, 3, H, W) float` → `(B, d) float`, normalised."""
        return self._image(self._stages(images)[1])

    def tokens(self, ids, lengths):
        """Word ids `(B, L)` → the text tower's input `(B, context)`: an end token follows."""
        tokens = ids.new_full((len(ids), self.context), PAD)
        width = min(ids.shape[1], self.context - 1)
        tokens[:, :width] = ids[:, :width]
        end = lengths.clamp(max=self.context - 1)
        tokens[torch.arange(len(ids)), end] = self.eos
        return tokens

    def encode_text(self, ids, lengths):
        """ids `(B, L) int64` → `(B, d) float`, normalised.

        That is open_clip's `encode_text`, without most of what stands after a caption's end: no
        token looks ahead. Captions of like length are read together, in four parts.
        """
        tokens, order = self.tokens(ids, lengths), lengths.argsort(stable=True)
        ends = (tokens == self.eos).int().argmax(1)
        found = []
        for some in order.chunk(4):
            end = ends[some]
            states = self._states(tokens[some, : int(end.max()) + 1])
            found.append(states[torch.arange(len(states)), end])
        found = torch.cat(found)[order.argsort()] @ self.clip.text_projection
        return F.normalize(found, dim=-1)

    def _states(self, tokens):
        """Tokens `(B, T)` → what the text tower makes of each, `(B, T, width)`."""
        clip, length = self.clip, tokens.shape[1]
        states = clip.token_embedding(tokens) + clip.positional_embedding[:length]
        return clip.ln_final(clip.transformer(states, attn_mask=clip.attn_mask[:length, :length]))

    def scale(self):
        """The factor on the cosines, learnt, at most 100."""
        return self.clip.logit_scale.exp().clamp(max=100)

    def word_vectors(self):
        """The vectors of the words `(512, d) float`, by vocabulary id."""
        return self.clip.token_embedding.weight.data


class WorldCLIPLarge(WorldCLIP):
    """The same with wider and deeper towers: about twice the parameters."""

    architecture = "world-clip-large"


class WorldCoCa(WorldCLIP):
    """CoCa: the small CLIP, and a decoder that writes the caption from its region map.

    The decoder is open_clip's; it reads the causal states of the text tower and looks at the
    cells of the region map, where CoCa has attentional pooling over patches [A]. A start token
    stands before each caption, so that the first word is predicted too.
    """

    def __init__(self, vocabulary: Vocabulary, classes: dict[str, int], size: int = 64):
        from open_clip.transformer import MultimodalTransformer

        super().__init__(vocabulary, classes, size)
        self.bos = self.eos - 1
        words, width = self.clip.token_embedding.weight.shape
        self.decoder = MultimodalTransformer(
            width, layers=2, heads=4, context_length=self.context, output_dim=words
        )
        # open_clip leaves it uninitialised.
        nn.init.normal_(self.decoder.text_projection, std=width**-0.5)

    def tokens(self, ids, lengths):
        """Word ids `(B, L)` → the text tower's input: start token, words, end token."""
        started = F.pad(ids, (1, 0), value=self.bos)
        return super().tokens(started, lengths + 1)

    def caption_logits(self, regions: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
        """What comes next: region map `(B, 128, h, w)`, tokens `(B, T)` → `(B, T, words)`."""
        return self.decoder(regions.flatten(2).transpose(1, 2), self._states(tokens))

    def caption_loss(self, regions, ids, lengths, times: float = 1.0) -> torch.Tensor:
        """Cross-entropy of each word and of the end token, given all before it → scalar; every logit
        counts so many `times`.
        """
        tokens = self.tokens(ids, lengths)[:, : int(lengths.max()) + 2]
        logits = times * self.caption_logits(regions, tokens[:, :-1])
        return F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten(), ignore_index=PAD)

    @torch.inference_mode()
    def write(self, images: torch.Tensor, words: tuple[str, ...]) -> list[str]:
        """Captions of pictures `(B, 3, H, W)`, the likeliest word each time."""
        regions = self.region_map(images)
        tokens = torch.full((len(images), 1), self.bos, device=images.device)
        for _ in range(self.context - 1):
            logits = self.caption_logits(regions, tokens)[:, -1]
            logits[:, [PAD, UNKNOWN, self.bos]] = -torch.inf
            tokens = torch.cat([tokens, logits.argmax(1, keepdim=True)], dim=1)
        said = []
        for row in tokens[:, 1:].tolist():
            end = row.index(self.eos) if self.eos in row else len(row)
            said.append(" ".join(words[i - 2] for i in row[:end] if i - 2 < len(words)))
        return said


class PhotoTower(nn.Module):
    """Six convolutions with batch normalisation, maximum + mean pooling; mean of word vectors."""

    region_dim, region_maximum, dim, crop = 256, True, 256, 64

    def __init__(self, vocabulary: Vocabulary, classes: dict[str, int], size: int = 0):
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
            nn.Linear(self.dim, self.dim),
            nn.Linear(self.dim, self.dim),
        )
        self.dropout = nn.Dropout(0.2)
        self.log_scale = nn.Parameter(torch.tensor(np.log(1 / 0.07), dtype=torch.float32))

    def pixels(self, images: np.ndarray) -> torch.Tensor:
        """Pictures `(B, H, W, 3) uint8` → what the model takes, `(B, 3, H, W) float` in [-1, 1]."""
        return to_float(images)

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


def to_float(images: np.ndarray) -> torch.Tensor:
    """Pixels `(B, H, W, 3) uint8` → `(B, 3, H, W) float` in [-1, 1]."""
    pixels = np.array(images, np.float32).transpose(0, 3, 1, 2)
    return torch.from_numpy(pixels) / 127.5 - 1
