"""The explorer in JupyterLab: one widget around the functions of this room.

Moves go in and results come out through traits, so that it works the same from Python as from the
page: set `caption`, `image`, `swap` and so on, and read `shown` and `maps`. The page's part is
`explorer.js`, which draws what it is sent and computes nothing.
"""

import base64
import io
import logging
import time
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path

import anywidget
import numpy as np
import traitlets
from IPython.display import Markdown
from matplotlib import colormaps
from PIL import Image

from alignbook.explorer import matching, own_photographs, stored_models, wording
from alignbook.explorer.stored_models import HARD, SOFT, picture_of
from alignbook.papers.chan.show import WARM

HERE = Path(__file__).parent
INPUTS = ("data", "seed", "left", "right", "caption", "image", "swap")
THUMBNAIL = 104  # pixels a side of the pictures that were found; two are one on fine screens


def show(book):
    """The explorer; in a batch run, where nobody can use it, a line that says so."""
    if stored_models.in_batch():
        return Markdown("*In JupyterLab the explorer stands here. Its views follow as figures.*")
    return Explorer(book)


class Explorer(anywidget.AnyWidget):
    """Two methods side by side on a caption and a picture.

    Attributes
    ----------
    data, seed, left, right : which models; names are those of `own_photographs.places`, which come
        first, and of `stored_models.places` and `methods`.
    caption : None is the picture's own first one; without any the last one, or one to begin with.
    image : a picture of the test split, from 0; −1 is the caption's best one by the left method.
    word : place of the pinned word; on the page its map is shown, and it is what is exchanged.
    swap : [place, other word], or [].
    offers : data set → method → seeds. shown : what the page shows, plain numbers and texts.
    maps : `(2, L, S, S) uint8`, left then right; 255 is all of a word's attention, S is
        `matching.side`.
    note : what is wrong with the last move, "" if nothing is; then nothing else has changed.
    answered : moves that were computed or refused.
    """

    _esm = HERE / "explorer.js"
    _css = HERE / "explorer.css"

    data = traitlets.Unicode().tag(sync=True)
    seed = traitlets.Int(0).tag(sync=True)
    left = traitlets.Unicode().tag(sync=True)
    right = traitlets.Unicode().tag(sync=True)
    caption = traitlets.Unicode(None, allow_none=True).tag(sync=True)
    image = traitlets.Int(0).tag(sync=True)
    word = traitlets.Int(0).tag(sync=True)
    swap = traitlets.List().tag(sync=True)
    offers = traitlets.Dict().tag(sync=True)
    shown = traitlets.Dict().tag(sync=True)
    maps = traitlets.Bytes().tag(sync=True)
    colours = traitlets.Bytes().tag(sync=True)
    note = traitlets.Unicode("").tag(sync=True)
    answered = traitlets.Int(0).tag(sync=True)

    def __init__(self, book):
        self.places = own_photographs.places(book) | stored_models.places(book)
        offers = {
            data: {label: sorted(keys) for label, keys in place.methods.items()}
            for data, place in self.places.items()
        }
        colours = (255 * colormaps[WARM](np.linspace(0, 1, 256))[:, :3]).astype(np.uint8)
        self._good, self._busy = {}, False
        super().__init__(
            offers=offers, colours=colours.tobytes(), data=next(iter(offers)), left=HARD, right=SOFT
        )
        self.observe(lambda _: self._move(), INPUTS)
        self._move()

    def galleries(self) -> dict:
        """The two methods' galleries by name: one, where both sides show the same."""
        book, domain, methods = self.places[self.data]
        return {
            label: stored_models.opened(book, domain, methods[label][self.seed])
            for label in (self.left, self.right)
        }

    def _move(self) -> None:
        """Compute and send what the traits ask for; what cannot be done is told in `note`."""
        if self._busy or self._asked() == self._good:
            return
        self._busy, began = True, time.perf_counter()
        try:
            with self.hold_sync():
                self._answer(began)
                self.answered += 1
        finally:
            self._busy = False

    def _asked(self) -> dict:
        return {name: getattr(self, name) for name in INPUTS}

    def _answer(self, began: float) -> None:
        """Show what is asked for; if it cannot be done, say so and take the last move back."""
        try:
            self._settle()
            found, pixels = self._found()
        except Exception as error:  # whatever it is, the page shall not wait for ever
            if not self._good:
                raise
            self.note = str(error)
            if not isinstance(error, (ValueError, OSError)):  # no fault of the user's
                self.note = f"{type(error).__name__}: {error}"
                logging.getLogger(__name__).exception("the explorer could not answer a move")
            for name, value in self._good.items():
                setattr(self, name, value)
            return
        found["milliseconds"] = round(1000 * (time.perf_counter() - began), 1)
        self.note, self.maps, self.shown, self._good = "", pixels, found, self._asked()

    def _settle(self) -> None:
        """Take methods and a seed that there are for the data set that was chosen."""
        if self.data not in self.offers:
            raise ValueError(f"no results of {self.data!r}; there are: {', '.join(self.offers)}")
        labels = self.offers[self.data]
        for side, usual in (("left", HARD), ("right", SOFT)):
            if getattr(self, side) not in labels:
                setattr(self, side, usual if usual in labels else next(iter(labels)))
        both = set(labels[self.left]) & set(labels[self.right])
        if not both:
            raise ValueError(f"{self.left} and {self.right} have no seed in common")
        if self.seed not in both:
            self.seed = min(both)

    def _found(self) -> tuple[dict, bytes]:
        """What to show: numbers and texts, and the maps."""
        galleries = self.galleries()
        first, pictures = galleries[self.left], len(galleries[self.left].images)
        if not -1 <= self.image < pictures:
            raise ValueError(f"no picture {self.image + 1}: there are 1 to {pictures}")
        if self.caption is None:
            self.caption = self._caption(first)
        said = wording.read(self.caption, first.vocabulary)
        words, notes = said.words, list(said.notes)
        if self.swap:
            words = wording.exchanged(words, int(self.swap[0]), str(self.swap[1]))
        if self.image < 0:
            self.image = matching.look(first, -1, words).image
        self.word = min(max(self.word, 0), len(words) - 1)
        before = said.words if self.swap else None
        with ThreadPoolExecutor(2) as side_by_side:
            sides = list(
                side_by_side.map(
                    lambda name: _side(name, galleries[name], self.image, words, before),
                    (self.left, self.right),
                )
            )
        own = first.captions(self.image)
        found = {
            "words": words,
            "was": said.words,
            "unknown": said.unknown,
            "notes": notes,
            "image": self.image,
            "images": pictures,
            "picture": _png(first, self.image),
            "captions": own,
            "title": first.title(self.image),
            "own": self.caption in own,
            "exchanges": [wording.exchanges(first, word) for word in said.words],
            "panels": [panel for panel, _ in sides],
        }
        return found, b"".join(pixels for _, pixels in sides)

    def _caption(self, first) -> str:
        """The caption of a picture that was turned to, where none is given with it."""
        if own := first.captions(max(self.image, 0)):
            return own[0]
        same = self._good.get("data") == self.data  # whoever walks through pictures keeps it
        return self._good["caption"] if same else wording.start(first.vocabulary)


def _side(name: str, gallery, image: int, words: list[str], before) -> tuple[dict, bytes]:
    """A method's side of the page, and its maps; `before` are the words before an exchange."""
    found = matching.look(gallery, image, words)
    p, boxes = found.pair, None if gallery.boxes is None else gallery.boxes[image]
    ranked, pixels = _ranked(gallery, image), matching.side(gallery)
    panel = {
        "method": name,
        "score": p.score,
        "rank": found.rank,
        "mapped": boxes is not None,
        "before": None,
        "scale": _scale(gallery.config),
        "ranked": ranked,
        "own rank": ranked[0]["own rank"] if ranked else None,
        "top": [
            {
                "image": int(i),
                "score": float(s),
                "picture": _png(gallery, int(i), THUMBNAIL),
                "title": gallery.title(int(i)),
            }
            for i, s in zip(found.best, found.top, strict=True)
        ],
    }
    if before:
        was = matching.look(gallery, image, before)
        panel["before"] = {"score": was.pair.score, "rank": was.rank}
    if p.weights is not None:
        panel |= {
            "contributions": p.contributions.tolist(),
            "best": p.best.tolist(),
            "scores": [None if np.isnan(s) else float(s) for s in p.scores],
            "shares": p.weights.max(1).tolist(),
            "boxes": [] if boxes is None else boxes[p.best].tolist(),
        }
    if boxes is None:
        return panel, bytes(len(words) * pixels**2)
    drawn = matching.maps(p, boxes, pixels).clip(0, 1)
    return panel, (255 * drawn).round().astype(np.uint8).tobytes()


def _scale(config) -> str:
    """How the words' scores become the caption's."""
    pooling = getattr(config, "pooling", "")
    if not pooling:
        return "cosine of two vectors"
    named = {
        "lse": f"LogSumExp of cosines, λ = {config.scale:g}",
        "mean": "mean cosine",
        "sum": "sum of cosines",
        "max": "largest cosine",
        "softmax": f"softmax-weighted cosines, λ = {config.scale:g}",
    }[pooling]
    return named + (f", τ = {config.temperature:.3g}" if config.coding == "soft" else "")


@lru_cache(maxsize=64)
def _ranked(gallery, image: int) -> list[dict]:
    """A picture's ranked captions, plain; a move of the caption alone doesn't change them."""
    table = matching.ranked_captions(gallery, image)
    return [
        {
            "rank": line.rank,
            "own": line.own,
            "score": line.score,
            "words": line.words,
            "own rank": table.attrs["rank"],
            "contributions": None if line.contributions is None else line.contributions.tolist(),
        }
        for line in table.itertuples()
    ]


@lru_cache(maxsize=512)
def _png(gallery, image: int, most: int = 0) -> str:
    """A picture as a data URL, of `most` pixels a side if told; "" where there is none."""
    picture = picture_of(gallery, image)
    if picture is None:
        return ""
    buffer = io.BytesIO()
    drawn = Image.fromarray(np.asarray(picture))
    if most:
        drawn.thumbnail((most, most))
    drawn.save(buffer, "PNG")
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()
