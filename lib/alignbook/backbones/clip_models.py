"""Frozen vision-language models with all that belongs to their weights, of `pretrained.Source`."""

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F


class Tokenizer:
    """Captions → ids `(B, context_length) int64`, padded.

    A longer caption is cut and ends in the end token all the same; `cut` counts those.
    """

    def __init__(self, raw, context_length: int, end: int):
        self.raw, self.context_length, self.end, self.cut = raw, context_length, end, 0

    def __call__(self, captions: list[str]) -> torch.Tensor:
        if isinstance(captions, str):
            raise ValueError(f"expected a list of captions, found the single one {captions!r}")
        ids = self.raw(list(captions), self.context_length + 1)[:, : self.context_length].clone()
        long = (ids != self.end).all(1)
        ids[long, -1] = self.end
        self.cut += int(long.sum())
        return ids

    def encode(self, captions: list[str]) -> tuple[torch.Tensor, torch.Tensor]:
        """Ids and lengths `(B,)` up to the end token, as `Vocabulary.encode` gives them."""
        ids = self(captions)
        return ids, (ids == self.end).int().argmax(1) + 1


class Pretrained(nn.Module):
    """A frozen vision-language model with all that belongs to its weights.

    Attributes
    ----------
    name : str
        The spec it was loaded by.
    activation : str
        "quick_gelu" or "gelu".
    image_size : tuple of int
        Height and width in pixels of what `preprocess` gives.
    context_length, embed_dim, region_dim : int
    tokenizer : Tokenizer
    sha256 : str
        64 hex digits of the file with the weights.
    origin : str
        Release or folder, file and hash, for a report; no path of this machine.
    """

    region_maximum = False  # windows of its region map are mean-pooled

    def __init__(self, source):
        super().__init__()
        self.name, self.activation, self.sha256 = source.spec, source.activation, source.sha256
        self.origin = f"{source.label}: {source.weights.name}, sha256 {source.sha256[:16]}"
        self.tokenizer, self.transform = source.tokenizer, source.transform
        self.context_length, self.image_size = source.tokenizer.context_length, source.image_size
        self.model = source.filled()
        self.eval()
        blank = torch.zeros(1, 3, *self.image_size)
        self.region_dim = self.region_map(blank).shape[1]
        self.embed_dim = self.encode_image(blank).shape[1]

    def train(self, mode: bool = True) -> "Pretrained":
        """Frozen: stays in evaluation mode, so that batch norms keep their statistics."""
        return super().train(False)

    def preprocess(self, images) -> torch.Tensor:
        """Pictures `(B, H, W, 3) uint8`, or a list of such → `(B, 3, *image_size) float`."""
        from PIL import Image

        for image in images:
            found = np.asarray(image)
            if found.dtype != np.uint8 or found.shape[2:] != (3,):
                raise ValueError(f"picture {found.shape} {found.dtype}, expected (H, W, 3) uint8")
        return torch.stack([self.transform(Image.fromarray(np.asarray(i))) for i in images])

    pixels = preprocess  # as the towers trained here call it

    def encode_image(self, pixels: torch.Tensor) -> torch.Tensor:
        """Pixels `(B, 3, *image_size) float` of `preprocess` → `(B, embed_dim)`, normalised."""
        return F.normalize(self._image(self._fitting(pixels)), dim=-1)

    def encode_text(self, captions: list[str] | torch.Tensor, lengths=None) -> torch.Tensor:
        """Captions, or their ids `(B, context_length) int64` → `(B, embed_dim)`, normalised.

        `lengths` is what other towers need; here the end token tells.
        """
        ids = captions if torch.is_tensor(captions) else self.tokenizer(captions)
        if ids.shape[1:] != (self.context_length,):
            raise ValueError(f"ids {tuple(ids.shape)}, expected (B, {self.context_length})")
        return F.normalize(self._text(ids.to(self.model.logit_scale.device)), dim=-1)

    def region_map(self, pixels: torch.Tensor) -> torch.Tensor:
        """Pixels `(B, 3, *image_size) float` → `(B, region_dim, h, w) float`.

        For a ViT the patch tokens after its last block, through the layer norm and the projection
        of the pooled token [A]; for a ResNet the last convolutional map.
        """
        return self._grid(self._fitting(pixels))

    def scale(self) -> torch.Tensor:
        """The factor on the cosines, as learnt, at most 100."""
        return self.model.logit_scale.exp().clamp(max=100)

    def _fitting(self, pixels: torch.Tensor) -> torch.Tensor:
        if pixels.shape[1:] != (3, *self.image_size):
            expected = ("B", 3, *self.image_size)
            raise ValueError(f"pixels {tuple(pixels.shape)}, expected {expected} of preprocess()")
        return pixels


class OpenCLIPModel(Pretrained):
    """CLIP and CoCa of open_clip."""

    def _image(self, pixels):
        return self.model.encode_image(pixels)

    def _text(self, ids):
        return self.model.encode_text(ids)

    def _grid(self, pixels):
        visual = self.model.visual
        pool = getattr(visual, "attn_pool", None)
        grid = visual.forward_intermediates(
            pixels, indices=1, normalize_intermediates=pool is None, intermediates_only=True
        )["image_intermediates"][-1]
        if not hasattr(visual, "proj"):  # a ResNet
            return grid
        tokens = grid.flatten(2).transpose(1, 2)
        if pool is not None:  # CoCa: the pooling sees each patch alone; then all queries are alike
            keys = pool.ln_k(tokens.reshape(-1, 1, tokens.shape[2]))
            query = pool.ln_q(pool.query[:1]).expand(len(keys), 1, -1)
            read = pool.attn(query, keys, keys, need_weights=False)[0]
            tokens = visual.ln_post(read).view(*tokens.shape[:2], -1)
        return (tokens @ visual.proj).transpose(1, 2).unflatten(2, grid.shape[2:])


class HuggingFaceModel(Pretrained):
    """CLIPModel of transformers."""

    def _image(self, pixels):
        return self.model.visual_projection(self.model.vision_model(pixels).pooler_output)

    def _text(self, ids):
        return self.model.text_projection(self.model.text_model(ids).pooler_output)

    def _grid(self, pixels):
        vision = self.model.vision_model
        tokens = vision.post_layernorm(vision(pixels).last_hidden_state[:, 1:])
        side = self.image_size[0] // self.model.config.vision_config.patch_size
        return self.model.visual_projection(tokens).transpose(1, 2).unflatten(2, (side, side))
