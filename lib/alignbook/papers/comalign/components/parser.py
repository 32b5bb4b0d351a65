"""A small English tagger and dependency parser, trained here from a treebank.

ComAlign parses captions with spaCy and doesn't say with which pipeline [A]. Any that has a tagger
and a parser will do (`pipelines`); where none is installed, one is trained: for the world from the
parses that its data sets hold, for captions of photographs from a treebank of Universal
Dependencies that the user has. Nothing is downloaded.

Treebanks have few captions, so two in five sentences that a parser learns from are made up by a
small grammar (`grammar`), of its own words and the treebank's.
"""

from __future__ import annotations

import hashlib
import json
import random
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from pathlib import Path

import numpy as np

from alignbook.backbones import pipelines
from alignbook.datasets import conllu
from alignbook.errors import DataError
from alignbook.papers.comalign.components import grammar
from alignbook.store import contents, progress

OPEN = ("NOUN", "PROPN", "ADJ")  # the parts of speech that new words have
LETTERS = "abcdefghijklmnoprstuvwyz"
SHOWN = 1000  # made captions that are shown before training, for labels the treebank lacks


@dataclass(frozen=True)
class Config:
    """The network and its training; sizes and schedule are chosen on dev parses."""

    width: int = 96  # of a word's vector [A]
    depth: int = 4  # layers over neighbouring words [A]
    rows: int = 5000  # of the table that words are hashed into [A]
    hidden: int = 64  # width of the parser's layer [A]
    steps: int = 6000  # of training [A]
    words: int = 150  # of a batch [A]
    learning_rate: float = 2e-3  # [A]
    dropout: float = 0.1  # [A]
    made: float = 0.4  # share of made-up captions, whose labels are Universal Dependencies' [A]
    lowered: float = 0.3  # chance that a sentence loses capitals and full stop, as captions do [A]
    nonsense: float = 0.03  # chance of a noun, name or adjective to be a word that there isn't [A]
    rare: int = 30  # labels seen less often are not learned [A]
    spacy: str = version("spacy")  # the library's release

    def compute(self, inputs, seed: int, folder: Path, device: str) -> dict:
        """What a run of it is: see `compute` below."""
        return compute(self, inputs, seed, folder, device)


WORLD = Config(
    width=64, depth=2, rows=2000, steps=300, words=300, made=0.0, lowered=0.0, nonsense=0.3, rare=1
)
TREEBANK = Config()


@dataclass(frozen=True)
class Treebank:
    """A folder with *train*.conllu and *dev*.conllu, such as gold/parses of the world's data."""

    folder: Path

    def files(self, split: str) -> list[Path]:
        """The split's files, sorted by name.

        Raises
        ------
        DataError
            There is none.
        """
        found = sorted(Path(self.folder).glob(f"*{split}*.conllu"))
        if not found:
            raise DataError(
                f"{self.folder}: no file *{split}*.conllu, expected a treebank with "
                f"its train and dev files; {conllu.REMEDY}"
            )
        return found

    def sentences(self, split: str) -> list[list[conllu.Token]]:
        return [sentence for path in self.files(split) for sentence in conllu.read(path)]

    @cached_property
    def key(self) -> str:
        """64 hex digits of the files' content and spaCy's version, for a run's key."""
        digest = hashlib.sha256(f"spacy {version('spacy')}".encode())
        for split in ("train", "dev"):
            for found in contents.sha256(self.files(split)):
                digest.update(f"{split} {found}\n".encode())
        return digest.hexdigest()


def is_treebank(name: str) -> bool:
    """Whether a name is a folder with a treebank's files."""
    return any(Path(name).expanduser().glob("*train*.conllu"))


def problem(name: str) -> str:
    """What speaks against parsing with a pipeline or treebank of this name, "" if nothing does."""
    try:
        if is_treebank(name):
            Treebank(Path(name).expanduser()).files("dev")
        else:
            load(name)
    except DataError as error:
        return str(error)
    return ""


def compute(config: Config, inputs, seed: int, folder: Path, device: str) -> dict:
    """Train on the treebank's train files, measure on its dev files, keep the pipeline.

    The input is a `Treebank`, or a data set of the world, which has the parses of its captions.

    Returns
    -------
    "dev tags", "dev UAS", "dev LAS": percent of the words, punctuation included, with the right
    tag, the right head, the right head and label; and the number of those words.
    """
    (source,) = inputs
    treebank = source
    if not isinstance(source, Treebank):
        treebank = Treebank(source.folder / "gold/parses")
    nlp = train(config, seed, treebank.sentences("train"))
    found = accuracy(nlp, treebank.sentences("dev"))
    (folder / "pipeline.json").write_text(json.dumps(nlp.config.to_str()))
    np.save(folder / "pipeline.npy", np.frombuffer(nlp.to_bytes(), np.uint8))
    return found


def train(config: Config, seed: int, sentences: list[list[conllu.Token]]):
    """A pipeline with a tagger and a parser that share one network over words, on one core.

    The same seed and sentences give the same pipeline.
    """
    import spacy
    from spacy.training import Example

    spacy.util.fix_random_seed(seed)
    nlp = spacy.blank("en")
    nlp.add_pipe("tok2vec", config={"model": _network(config)})
    listener = {"@architectures": "spacy.Tok2VecListener.v1", "width": config.width}
    nlp.add_pipe(
        "tagger", config={"model": {"@architectures": "spacy.Tagger.v2", "tok2vec": listener}}
    )
    nlp.add_pipe(
        "parser",
        config={
            "min_action_freq": config.rare,
            "model": {
                "@architectures": "spacy.TransitionBasedParser.v2",
                "state_type": "parser",
                "extra_state_tokens": False,
                "hidden_width": config.hidden,
                "maxout_pieces": 2,
                "use_upper": True,
                "tok2vec": listener,
            },
        },
    )

    def examples(chosen):
        return [
            Example(as_doc(nlp.vocab, each, words_only=True), as_doc(nlp.vocab, each))
            for each in chosen
        ]

    dice = random.Random(seed)
    lexicon = grammar.lexicon_of(sentences)
    shown = [grammar.made_caption(dice, lexicon) for _ in range(SHOWN if config.made else 0)]
    known = examples(sentences + shown)
    optimizer = nlp.initialize(lambda: known)
    batches = _batches(sentences, lexicon, config, dice)
    for step in range(config.steps):
        optimizer.learn_rate = config.learning_rate * _rate((step + 0.5) / config.steps)
        nlp.update(examples(next(batches)), sgd=optimizer, drop=config.dropout)
        progress.show("parser", step + 1, config.steps)
    with nlp.use_params(optimizer.averages):
        trained = nlp.to_bytes()
    return spacy.util.load_model_from_config(nlp.config).from_bytes(trained)


def as_doc(vocab, sentence: list[conllu.Token], words_only: bool = False):
    """A sentence as a spaCy Doc of the treebank's own words, with its gold parse or without."""
    from spacy.tokens import Doc

    words = [token.form for token in sentence]
    if words_only:
        return Doc(vocab, words=words)
    return Doc(
        vocab,
        words=words,
        tags=[token.xpos for token in sentence],
        heads=[token.head - 1 if token.head else i for i, token in enumerate(sentence)],
        deps=["ROOT" if token.head == 0 else token.deprel for token in sentence],
    )


def vary(sentence: list[conllu.Token], config: Config, dice: random.Random) -> list[conllu.Token]:
    """The sentence as it is seen this time: in small letters, with made-up words, or as it is."""
    if dice.random() < config.lowered:
        sentence = [token._replace(form=token.form.lower()) for token in sentence]
        *others, last = sentence
        if others and last.form == "." and last.head and last.id not in {t.head for t in others}:
            sentence = others
    return [
        token._replace(form=_made_up(token, dice))
        if token.upos in OPEN and dice.random() < config.nonsense
        else token
        for token in sentence
    ]


def accuracy(nlp, sentences: list[list[conllu.Token]]) -> dict:
    """Percent of the words with the right tag, head (UAS), head and label (LAS); see `compute`."""
    right = np.zeros(3, int)
    docs = nlp.pipe(as_doc(nlp.vocab, each, words_only=True) for each in sentences)
    for doc, sentence in zip(docs, sentences, strict=True):
        gold = as_doc(nlp.vocab, sentence)
        for found, true in zip(doc, gold, strict=True):
            head = found.head.i == true.head.i
            right += found.tag_ == true.tag_, head, head and found.dep_ == true.dep_
    n = sum(map(len, sentences))
    names = ("dev tags", "dev UAS", "dev LAS")
    return {name: 100 * float(count) / n for name, count in zip(names, right)} | {"words": n}


def load(source):
    """A pipeline: of a run of this module, or of what names one, see `pipelines.load`.

    Raises
    ------
    DataError
        There is no such pipeline, it cannot be read, or it has no tagger or no parser.
    """
    if isinstance(source, (pipelines.Named, str, Path)):
        return pipelines.load(source)
    import spacy

    said = json.loads((source.folder / "pipeline.json").read_text())
    nlp = spacy.util.load_model_from_config(spacy.util.load_config_from_str(said))
    return nlp.from_bytes(np.load(source.folder / "pipeline.npy").tobytes())


def _network(config: Config) -> dict:
    """Words by hashes of their small letters, first and last letters and shape; convolutions."""
    return {
        "@architectures": "spacy.Tok2Vec.v2",
        "embed": {
            "@architectures": "spacy.MultiHashEmbed.v2",
            "width": config.width,
            "attrs": ["NORM", "PREFIX", "SUFFIX", "SHAPE"],
            "rows": [config.rows, config.rows // 5, config.rows // 2, config.rows // 2],
            "include_static_vectors": False,
        },
        "encode": {
            "@architectures": "spacy.MaxoutWindowEncoder.v2",
            "width": config.width,
            "depth": config.depth,
            "window_size": 1,
            "maxout_pieces": 3,
        },
    }


def _batches(sentences: list, lexicon: dict, config: Config, dice: random.Random):
    """The sentences in random order, again and again, and made captions, varied, in batches."""
    batch, size = [], 0
    while True:
        for sentence in dice.sample(sentences, len(sentences)):
            chosen = [sentence]
            while dice.random() < config.made:
                chosen.append(grammar.made_caption(dice, lexicon))
            batch += [vary(each, config, dice) for each in chosen]
            size += sum(map(len, chosen))
            if size >= config.words:
                yield batch
                batch, size = [], 0


def _rate(share: float) -> float:
    """The learning rate's factor: it rises for a twentieth of the training, then falls to 0."""
    return min(share / 0.05, (1 - share) / 0.95)


def _made_up(token: conllu.Token, dice: random.Random) -> str:
    word = "".join(dice.choices(LETTERS, k=dice.randint(3, 8)))
    return word + "s" if token.xpos in ("NNS", "NNPS") else word
