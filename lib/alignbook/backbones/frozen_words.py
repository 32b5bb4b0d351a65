"""MiniLM's word pieces as they were stored: a text encoder of which a linear layer alone is trained.

Ids are places in the stored states, so that a matcher's loop needs not know that nothing is read
anew. Captions that nobody stored, such as typed ones, are read when they are first met.
"""

import numpy as np
import torch
from torch import nn

from alignbook.backbones import bert, packaged
from alignbook.store.runs import Run


def are_stored(source) -> bool:
    """Whether a source of words is a run of `extraction.Captions`."""
    return isinstance(source, Run) and source.has("words") and source.has("ends")


class Places:
    """A vocabulary whose ids say where the states of a caption's word pieces stand.

    Parameters
    ----------
    run : of `extraction.Captions`. captions : those it read, in order.
    """

    def __init__(self, run, captions: list[str]):
        self.stored, ends = run.array("words"), run.array("ends")
        self.context = run.config["context"]
        begins = np.concatenate([[0], ends[:-1]])
        self.spans = dict(zip(captions, zip(begins.tolist(), ends.tolist())))
        self.read = np.zeros((0, self.stored.shape[1]), np.float16)  # after the stored ones

    def __len__(self) -> int:
        return len(self.stored) + len(self.read)

    def encode(self, captions: list[str], max_words: int = 40) -> tuple[torch.Tensor, torch.Tensor]:
        """Ids `(N, L) int64`, places from 1 on, padded with 0, and lengths `(N,) int64`."""
        if new := [text for text in dict.fromkeys(captions) if text not in self.spans]:
            self._read(new)
        rows = [torch.arange(*self.spans[text])[:max_words] + 1 for text in captions]
        lengths = torch.tensor([len(row) for row in rows])
        return nn.utils.rnn.pad_sequence(rows, batch_first=True), lengths

    @torch.inference_mode()
    def _read(self, captions: list[str]) -> None:
        model, pieces = packaged.text_tower()
        ids, lengths = pieces.encode(captions, self.context)
        states = bert.last_layer(model, ids, lengths)
        for found, length, text in zip(states, lengths.tolist(), captions):
            self.spans[text] = len(self), len(self) + length
            self.read = np.concatenate([self.read, found[:length].numpy().astype(np.float16)])

    def states(self, ids: torch.Tensor) -> torch.Tensor:
        """States by place, `(B, L, 384) float`; zeros for padding."""
        places = ids.cpu().numpy() - 1
        new = places >= len(self.stored)
        found = self.stored[np.where(new | (places < 0), 0, places)]
        if new.any():
            found[new] = self.read[places[new] - len(self.stored)]
        found[places < 0] = 0
        return torch.from_numpy(found.astype(np.float32)).to(ids.device)


class Words(nn.Module):
    """Stored states, then a fully-connected layer into d dimensions (CHAN §3.3)."""

    def __init__(self, places: Places, dim: int):
        super().__init__()
        self.places = places
        self.project = nn.Linear(places.stored.shape[1], dim)

    def forward(self, ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """ids `(B, L) int64`, lengths `(B,)` → words `(B, L, dim) float`, zeros after the end."""
        return self.project(self.places.states(ids)) * (ids > 0)[..., None]
