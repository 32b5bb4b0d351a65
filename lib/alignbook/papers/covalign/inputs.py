"""What CoV-Align's runs start from: patches and words, or the towers that make them.

`book` is the workbook at hand: a profile on a data set.
"""

from typing import NamedTuple

from alignbook.backbones import pipelines
from alignbook.datasets.prepared import Dataset
from alignbook.papers.covalign import patches, two_towers
from alignbook.store import runs
from alignbook.store.runs import Run, Stored


class Frozen(NamedTuple):
    """What a method on frozen towers starts from; keys enter a run's own in this order.

    Attributes
    ----------
    dataset : captions, splits and pictures.
    tokens : run of the towers, arrays of patches and words.
    """

    dataset: Dataset
    tokens: Run


class EndToEnd(NamedTuple):
    """What a method starts from that trains its towers too.

    Attributes
    ----------
    dataset : captions, splits and pictures.
    image : the base model whose picture tower is taken, or a ViT.
    text : the BERT of the captions.
    """

    dataset: Dataset
    image: Stored | two_towers.ViT
    text: Stored


def towers(book) -> tuple[Stored | two_towers.ViT, Stored]:
    """What the towers are made from: the base model, or a ViT that is named; BERT."""
    named = book.profile.covalign_vit
    return book.base() if named == "base" else two_towers.ViT(named), book.bert()


def tokens(book) -> Run:
    """Patches and words of the towers before any training of them; the packaged ones' patches are
    those of `patches`.
    """
    config = two_towers.Config(whitened=book.profile.covalign_vit == "base")
    packaged = book.pretrained and book.profile.bert == "minilm"
    stored = packaged and book.profile.covalign_vit == "base"
    sources = (_patches(book), book.words()) if stored else towers(book)
    return runs.get(config, 0, (book.dataset(), *sources), device=book.device)


def _patches(book) -> Run:
    """Patches of photographs, from both maps that the packaged tower left."""
    return runs.get(patches.Config(), 0, (book.dataset(), book.seen()), device=book.device)


def parsed_by(book) -> pipelines.Named | None:
    """What parses photographs' captions: the spaCy pipeline that the profile's `parser` names.

    None in the world, whose phrases are gold, and where no such pipeline is there: `parser` says
    "none", or names a treebank, from which no parser is trained for one figure.
    """
    named = pipelines.Named(book.profile.parser)
    return named if book.kind != "world" and named.is_there else None
