"""BERT as a text encoder: word pieces, BERT's last layer, one fully-connected layer (CHAN §3.3).

The paper takes a pretrained BERT, which has read other text than the paper's captions. Where none
can be had, a small one is pretrained here by masked language modelling over word pieces of its own
[A]: in the world on the training captions of domain W, on photographs on their own. One of your
own is a folder, or a name under data/weights (`Pretrained`); nothing is ever downloaded.
"""

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers
from torch import nn
from torch.nn import functional as F

from alignbook.backbones import weight_files
from alignbook.core import training
from alignbook.errors import DataError

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


@dataclass(frozen=True)
class Config:
    """The small BERT and its pretraining; sizes and schedule are chosen on dev."""

    pieces: int = 4000  # word pieces in the vocabulary, at most [A]
    layers: int = 2  # of the encoder [A]
    width: int = 128  # of a layer [A]
    heads: int = 4  # of attention, in each layer [A]
    feed_forward: int = 256  # width inside a layer's MLP [A]
    positions: int = 64  # pieces of the longest caption [A]
    masked: float = 0.15  # share of the words to be guessed [X]
    steps: int = 1000  # of pretraining [A]
    batch: int = 64  # captions of a step [A]
    learning_rate: float = 2e-3  # at its highest [A]
    weight_decay: float = 0.01  # AdamW's [A]

    def compute(self, inputs, seed: int, folder: Path, device: str) -> dict:
        """What a run of it is: see `compute` below."""
        return compute(self, inputs, seed, folder, device)


class Words(nn.Module):
    """BERT's last layer, then a fully-connected layer into d dimensions (CHAN §3.3).

    `bert` is apart because the released code trains it with a tenth of the learning rate [C]. It
    drops out what its own configuration says; no whole words are dropped [A].
    """

    def __init__(self, bert: nn.Module, dim: int):
        super().__init__()
        self.bert = bert
        self.project = nn.Linear(bert.config.hidden_size, dim)

    def forward(self, ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """ids `(B, L) int64`, lengths `(B,)` → words `(B, L, dim) float`, zeros after the end."""
        words = self.project(last_layer(self.bert, ids, lengths))
        return words.masked_fill(~_seen(ids, lengths)[..., None], 0.0)


def last_layer(bert: nn.Module, ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """States `(B, L, width) float`; nothing attends to what follows a caption's end."""
    return bert(ids, attention_mask=_seen(ids, lengths).long()).last_hidden_state


def _seen(ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    return torch.arange(ids.shape[1], device=ids.device) < lengths.to(ids.device)[:, None]


# --- word pieces ---------------------------------------------------------------------------------


class WordPieces:
    """Captions as ids of word pieces between [CLS] and [SEP], which stay as words [C]."""

    def __init__(self, tokenizer: Tokenizer, positions: int):
        self.tokenizer, self.positions = tokenizer, positions

    def __len__(self) -> int:
        return self.tokenizer.get_vocab_size()

    def encode(self, captions: list[str], max_words: int = 40) -> tuple[torch.Tensor, torch.Tensor]:
        """Ids `(N, L) int64`, padded with 0, and lengths `(N,) int64`, 2 or more.

        A caption of more than `max_words`, or than BERT has positions, is cut before its [SEP].
        """
        start, end = map(self.tokenizer.token_to_id, ("[CLS]", "[SEP]"))
        kept = min(max_words, self.positions) - 2
        found = self.tokenizer.encode_batch(list(captions), add_special_tokens=False)
        rows = [torch.tensor([start, *each.ids[:kept], end]) for each in found]
        lengths = torch.tensor([len(row) for row in rows])
        return nn.utils.rnn.pad_sequence(rows, batch_first=True), lengths


def word_pieces(captions: list[str], limit: int) -> Tokenizer:
    """A lower-cased WordPiece vocabulary of some captions, of at most `limit` pieces.

    The library numbers letters inside words in the order of a hash table, another one in each
    process, and decides ties by the numbers (tokenizers, issue 1794). Letters that are named
    beforehand have fixed numbers, and the same captions give the same vocabulary.
    """
    tokenizer = _tokenizer({"[UNK]": 0})
    letters = sorted(set("".join(tokenizer.normalizer.normalize_str(" ".join(captions)).split())))
    first = [*SPECIAL, *letters, *(f"##{letter}" for letter in letters)]
    trainer = trainers.WordPieceTrainer(
        vocab_size=limit, min_frequency=1, special_tokens=first, show_progress=False
    )
    tokenizer.train_from_iterator(captions, trainer)
    return _tokenizer(tokenizer.get_vocab())  # in which letters are no special tokens


def _tokenizer(pieces: dict[str, int], lowercase: bool = True) -> Tokenizer:
    tokenizer = Tokenizer(models.WordPiece(pieces, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return tokenizer


# --- masked language modelling -------------------------------------------------------------------


def compute(config: Config, inputs, seed: int, folder: Path, device: str) -> dict:
    """Pretrain the small BERT on the training captions; leave weights and tokenizer in `folder`.

    The metrics say how well it guesses words of dev; the head that guesses them is not kept.
    """
    from transformers import BertForMaskedLM

    (dataset,) = inputs
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    tokenizer = word_pieces(dataset.captions_of("train"), config.pieces)
    tokenizer.save(f"{folder}/tokenizer.json")
    pieces = WordPieces(tokenizer, config.positions)
    ids, lengths = pieces.encode(dataset.captions_of("train"))
    model = BertForMaskedLM(architecture(config, len(pieces))).to(device)
    size = min(config.batch, len(ids))

    def trivial_at(step):  # of equal logits
        return math.log(len(pieces))

    def loss_at(step):
        rows, _ = training.pairs_in_batch(len(ids), size, 1, seed, step)
        seen, rng = lengths[rows], np.random.default_rng([seed, 5, step])
        return F.cross_entropy(
            *guesses(model, ids[rows, : int(seen.max())], seen, config.masked, rng)
        )

    optimizer = torch.optim.AdamW(
        model.parameters(), lr=config.learning_rate, weight_decay=config.weight_decay, fused=True
    )
    schedule = training.warmup_cosine(optimizer, config.steps)
    descent = training.Descent(optimizer, schedule, config.steps, clip=1.0)
    label = f"BERT, seed {seed}"
    outcome = training.fit(model, descent, loss_at, folder, label, trivial_at=trivial_at)
    metrics = training.save(model.bert, outcome, folder) | {"word pieces": len(pieces)}
    ids, lengths = pieces.encode(dataset.captions_of("dev"))
    rng, found = np.random.default_rng([seed, 6]), []
    with torch.inference_mode():
        for i in range(0, len(ids), 500):
            chunk = ids[i : i + 500], lengths[i : i + 500]
            logits, said = guesses(model, *chunk, config.masked, rng)
            loss = F.cross_entropy(logits, said, reduction="none")
            found.append(torch.stack([loss, (logits.argmax(1) == said).float()]))
    loss, accuracy = torch.cat(found, 1).mean(1).tolist()
    return metrics | {"dev MLM loss": loss, "dev MLM accuracy": accuracy}


def architecture(config: Config, pieces: int):
    """BertConfig of the small BERT; its dropout is BERT's own, 0.1."""
    from transformers import BertConfig

    return BertConfig(
        vocab_size=pieces,
        hidden_size=config.width,
        num_hidden_layers=config.layers,
        num_attention_heads=config.heads,
        intermediate_size=config.feed_forward,
        max_position_embeddings=config.positions,
        attn_implementation="eager",
    )


def guesses(model, ids, lengths, share: float, rng) -> tuple[torch.Tensor, torch.Tensor]:
    """Logits of masked words `(M, pieces) float`, and what they are `(M,) int64`."""
    read, hidden = mask(ids, lengths, share, model.config.vocab_size, rng)
    hidden = hidden.to(model.device)
    states = last_layer(model.bert, read.to(model.device), lengths)
    return model.cls(states[hidden]), ids.to(model.device)[hidden]


def mask(ids, lengths, share: float, pieces: int, rng) -> tuple[torch.Tensor, torch.Tensor]:
    """What BERT reads `(B, L) int64`, and which words it has to guess `(B, L) bool`.

    Each word between [CLS] and [SEP] has to be guessed with probability `share`. Of these 80 % are
    [MASK], 10 % another piece, drawn evenly, and 10 % as they were.
    """
    place = torch.arange(ids.shape[1])
    inner = (place > 0) & (place < lengths[:, None] - 1)
    drawn = torch.from_numpy(rng.random(ids.shape)).masked_fill(~inner, 1.0)
    other = torch.from_numpy(rng.integers(len(SPECIAL), pieces, ids.shape))
    read = torch.where(drawn < 0.9 * share, other, ids)
    return read.masked_fill(drawn < 0.8 * share, SPECIAL.index("[MASK]")), drawn < share


# --- loading -------------------------------------------------------------------------------------


def load(source, dataset=None) -> tuple[nn.Module, WordPieces]:
    """BERT of a run or of a `Pretrained`, in evaluation mode, and its word pieces.

    A run brings its own word pieces: the `dataset` that it is to read makes no difference. The
    world's is pretrained on domain W, of which no scene is in another domain's dev or test.

    Raises
    ------
    DataError
        What `Pretrained.problems` says.
    """
    from transformers import BertModel

    if isinstance(source, Pretrained):
        return source.load()
    config = Config(**source.config)
    pieces = WordPieces(Tokenizer.from_file(f"{source.folder}/tokenizer.json"), config.positions)
    model = BertModel(architecture(config, len(pieces)), add_pooling_layer=False)
    model.load_state_dict(source.weights())
    return model.eval(), pieces


class Pretrained(weight_files.OwnModel):
    """A BERT of your own."""

    KIND = "bert"
    FORMS = (
        ("config.json",),
        ("model.safetensors", "pytorch_model.bin"),
        ("tokenizer.json", "vocab.txt"),
    )
    HOLDS = "settings, weights and tokenizer of one BERT"

    def problems(self) -> list[str]:
        """What stands in its way, in a sentence; all files are read to find out."""
        try:
            self.load()
        except DataError as error:
            return [str(error)]
        return []

    def load(self) -> tuple[nn.Module, WordPieces]:
        """BertModel in float32, in evaluation mode, and its word pieces.

        Raises
        ------
        DataError
            Naming the file that is missing, damaged, not a BERT's, or doesn't fit the others.
        """
        from transformers import BertConfig, BertModel

        stated, weights, _ = self.files
        settings = weight_files.json_object(stated, weight_files.BELONGS)
        if (kind := settings.get("model_type", "bert")) != "bert":
            raise DataError(f"{stated}: model_type {kind!r}, expected 'bert'; take a BERT")
        try:
            config = BertConfig.from_dict({**settings, "attn_implementation": "eager"})
            model = BertModel(config, add_pooling_layer=False)
        except Exception as error:  # whatever a foreign configuration makes the library say
            raise DataError(
                f"{stated}: no BERT can be built from it ({str(error)[:200]}); "
                f"{weight_files.BELONGS}"
            ) from error
        state = _encoder(weight_files.tensors(weights))
        weight_files.compare(weights, {name: value.shape for name, value in state.items()}, model)
        for name, value in state.items():
            if not value.is_floating_point() or not torch.isfinite(value).all():
                raise DataError(
                    f"{weights}: {name} holds {value.dtype} that are no floating point "
                    "numbers or not finite; take the release itself"
                )
        model.load_state_dict(state)
        pieces = WordPieces(self._pieces(config.vocab_size), config.max_position_embeddings)
        return model.eval(), pieces

    def _pieces(self, expected: int) -> Tokenizer:
        path = self.files[2]
        try:
            if path.name == "vocab.txt":  # which holds no capitals if it is for lower case
                words = models.WordPiece.read_file(str(path))
                plain = (word for word in words if word.isascii() and word[:1] != "[")
                tokenizer = _tokenizer(words, lowercase=all(word == word.lower() for word in plain))
            else:
                tokenizer = Tokenizer.from_file(str(path))
        except Exception as error:
            raise DataError(
                f"{path}: no tokenizer can be read from it ({str(error)[:80]}); "
                f"{weight_files.BELONGS}"
            ) from error
        size, known = tokenizer.get_vocab_size(), tokenizer.token_to_id
        if size != expected or known("[CLS]") is None or known("[SEP]") is None:
            raise DataError(
                f"{path}: {size} pieces, id of [CLS] {known('[CLS]')}, of [SEP] "
                f"{known('[SEP]')}; expected {expected} pieces as in config.json, both "
                f"of these among them; {weight_files.BELONGS}"
            )
        tokenizer.no_padding()
        tokenizer.no_truncation()
        return tokenizer


def _encoder(state: dict) -> dict:
    """Tensors under BertModel's names: no heads or pooler, and "weight" for TensorFlow's gamma."""
    whole = any(name.startswith("bert.") for name in state)
    found = {}
    for name, value in state.items():
        if name.startswith("bert.") or not whole:
            name = name.removeprefix("bert.").replace("LayerNorm.gamma", "LayerNorm.weight")
            found[name.replace("LayerNorm.beta", "LayerNorm.bias")] = value
    return {
        name: value
        for name, value in found.items()
        if not name.startswith("pooler.") and not name.endswith("position_ids")
    }
