"""Five captions a scene, each with what it asserts.

In order: *partial* names some things with some attributes, *synonym* says other words for them,
*plural* counts, *passive* turns the drawn relation round, *relational* describes it in full.
A caption carries its claims beside its words, so that an oracle can check any caption against
any scene without parsing.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from alignbook.world.scenes import ACTIONS, Dice, Scene, Thing

KINDS = ("partial", "synonym", "plural", "passive", "relational")
LONGEST = 21  # words a caption may have

NUMBERS = {2: "two", 3: "three", 4: "four", 5: "five"}
SYNONYMS = {
    "circle": ("disc", "ball"),
    "square": ("box", "block"),
    "triangle": ("wedge", "pyramid"),
    "star": ("asterisk",),
    "heart": ("valentine",),
    "diamond": ("rhombus",),
    "cross": ("plus",),
    "ring": ("hoop", "donut"),
    "crescent": ("moon",),
    "arrow": ("pointer",),
    "bar": ("stick", "plank"),
    "dome": ("hill", "igloo"),
    "hourglass": ("timer",),
    "fish": ("herring",),
    "bolt": ("flash",),
    "stair": ("staircase",),
    "red": ("scarlet", "crimson"),
    "orange": ("amber", "tangerine"),
    "yellow": ("golden", "lemon"),
    "lime": ("chartreuse",),
    "green": ("emerald", "olive"),
    "cyan": ("turquoise", "aqua"),
    "blue": ("cobalt", "navy"),
    "purple": ("violet", "plum"),
    "pink": ("rosy",),
    "brown": ("chestnut", "coffee"),
    "black": ("ebony", "inky"),
    "white": ("ivory", "snowy"),
    "small": ("tiny", "little"),
    "medium": ("midsize", "average"),
    "big": ("large", "huge"),
    "solid": ("plain",),
    "striped": ("stripy", "lined"),
    "dotted": ("spotted",),
    "checked": ("chequered",),
    "matte": ("dull",),
    "glossy": ("shiny", "polished"),
    "metallic": ("chrome",),
}
PLURALS = {
    "circle": "circles",
    "square": "squares",
    "triangle": "triangles",
    "star": "stars",
    "heart": "hearts",
    "diamond": "diamonds",
    "cross": "crosses",
    "ring": "rings",
    "crescent": "crescents",
    "arrow": "arrows",
    "bar": "bars",
    "dome": "domes",
    "hourglass": "hourglasses",
    "fish": "fishes",
    "bolt": "bolts",
    "stair": "stairs",
}
ACTIVE = {
    "left of": ("left of", "to the left of"),
    "right of": ("right of", "to the right of"),
    "above": ("above", "over"),
    "below": ("below", "under", "beneath"),
    "on": ("on", "on top of", "resting on", "sitting on"),
    "chasing": ("chasing", "following", "running after"),
    "pulling": ("pulling", "dragging", "towing"),
    "lighting": ("lighting", "illuminating", "shining at"),
    "in front of": ("in front of", "covering", "hiding part of"),
}
PASSIVE = {  # of actions: the object comes first; of places: the subject does
    "left of": ("is placed left of", "is put to the left of"),
    "right of": ("is placed right of", "is put to the right of"),
    "above": ("is placed above", "is put over"),
    "below": ("is placed below", "is put under"),
    "on": ("is topped by", "is crowned by"),
    "chasing": ("is chased by", "is followed by", "is being chased by"),
    "pulling": ("is pulled by", "is dragged by", "is being towed by"),
    "lighting": ("is lit by", "is illuminated by", "is being lit by"),
    "in front of": ("is partly hidden by", "is partly covered by"),
}


@dataclass(frozen=True)
class Mention:
    """What a noun phrase says of one thing; None where it says nothing."""

    thing: int
    shape: str
    colour: str | None = None
    size: str | None = None
    texture: str | None = None
    material: str | None = None

    def fits(self, thing: Thing) -> bool:
        return (
            self.shape == thing.shape
            and self.colour in (None, thing.colour)
            and self.size in (None, thing.size)
            and self.texture in (None, thing.texture)
            and self.material in (None, thing.material)
        )


@dataclass(frozen=True)
class Caption:
    """A sentence and its claims.

    ``mentions`` are distinct things of the scene; ``relation`` is (mention, name, mention);
    ``twins`` is (how many, shape, colour or None), an exact count; ``count`` is the exact number
    of things.
    """

    kind: str
    text: str
    mentions: tuple[Mention, ...]
    relation: tuple[int, str, int] | None = None
    twins: tuple[int, str, str | None] | None = None
    count: int | None = None


def write(scene: Scene) -> tuple[Caption, ...]:
    """The five captions of a scene, in the order of ``KINDS``, with their claims."""
    dice = Dice(*scene.key, 2)
    return (
        _partial(scene, dice),
        _synonym(scene, dice),
        _plural(scene, dice),
        _passive(scene, dice),
        _relational(scene, dice),
    )


def sentences(scene: Scene) -> list[str]:
    """The five captions of a scene: lower-case words between single blanks, at most 21."""
    return [caption.text for caption in write(scene)]


def holds(caption: Caption, scene: Scene) -> bool:
    """Whether everything a caption claims is true of a scene, its own or another."""
    things = scene.things
    if caption.count not in (None, len(things)):
        return False
    if caption.twins:
        many, shape, colour = caption.twins
        if many != sum(t.shape == shape and colour in (None, t.colour) for t in things):
            return False
    fitting = [[i for i, t in enumerate(things) if m.fits(t)] for m in caption.mentions]
    for chosen in product(*fitting):
        if len(set(chosen)) < len(chosen):
            continue
        if caption.relation is None:
            return True
        subject, name, other = caption.relation
        if (chosen[subject], name, chosen[other]) in scene.relations:
            return True
    return False


def oracle_scores(scenes: list[Scene]) -> np.ndarray:
    """Scores of an oracle that knows the scenes and takes captions at their word: the ceiling.

    A caption scores 0 with a scene it doesn't hold for, otherwise the more the fewer scenes of the
    list it holds for.

    Returns
    -------
    numpy.ndarray
        ``(N, 5 * N) float32``, rows scenes and columns captions, as `retrieval.evaluate` takes.
    """
    told = [caption for scene in scenes for caption in write(scene)]
    having: dict[tuple, set[int]] = {}  # (shape, colour or None): scenes; to try only these
    for i, scene in enumerate(scenes):
        for thing in scene.things:
            for colour in (thing.colour, None):
                having.setdefault((thing.shape, colour), set()).add(i)
    fits = np.zeros((len(scenes), len(told)), np.float32)
    for j, caption in enumerate(told):
        kinds = {(mention.shape, mention.colour) for mention in caption.mentions}
        if caption.twins:
            kinds.add(caption.twins[1:])
        for i in set.intersection(*(having[kind] for kind in kinds)):
            fits[i, j] = holds(caption, scenes[i])
    return fits / fits.sum(axis=0)


def _say(dice: Dice, word: str, synonyms: int) -> str:
    return dice.choice(SYNONYMS[word]) if dice.chance(synonyms) else word


def _article(phrase: str) -> str:
    vowel = phrase[0] in "aeiou" or phrase.startswith("hourglass")
    return f"{'an' if vowel else 'a'} {phrase}"


def _phrase(dice, scene, index, colour=100, size=50, texture=50, material=0, synonyms=None):
    """A bare noun phrase and its mention; numbers are the percentages of saying an attribute."""
    thing = scene.things[index]
    said = {
        "size": thing.size if dice.chance(size) else None,
        "texture": thing.texture if dice.chance(texture) else None,
        "material": thing.material if dice.chance(material) else None,
        "colour": thing.colour if dice.chance(colour) else None,
    }
    synonyms = scene.style.elsewhere if synonyms is None else synonyms
    words = [_say(dice, word, synonyms) for word in (*said.values(), thing.shape) if word]
    return " ".join(words), Mention(index, thing.shape, **said)


def _related(dice, scene, kind, relation, **how):
    """Words such as "a star above a circle", both described as ``how`` says."""
    subject, name, other = relation
    passive = dice.chance(scene.style.passive)
    turned = passive and name in ACTIONS  # "a circle chased by a star"
    first, a = _phrase(dice, scene, other if turned else subject, **how)
    second, b = _phrase(dice, scene, subject if turned else other, **how)
    phrase = dice.choice((PASSIVE if passive else ACTIVE)[name]).removeprefix("is ")
    text = f"{_article(first)} {phrase} {_article(second)}"
    return Caption(kind, text, (a, b), (1, name, 0) if turned else (0, name, 1))


def _listed(dice, scene, kind, count, lead="", material=0, **how):
    """Words such as "a star and a circle", any ``count`` of the things; one tells its material."""
    rest = list(range(len(scene.things)))
    picked = [rest.pop(dice.below(len(rest))) for _ in range(min(count, len(rest)))]
    told = [
        _phrase(dice, scene, i, material=0 if n else material, **how) for n, i in enumerate(picked)
    ]
    phrases, mentions = zip(*told, strict=True)
    text = lead + " and ".join(_article(phrase) for phrase in phrases)
    return Caption(kind, text, mentions)


def _partial(scene, dice):
    how = {"colour": 80, "size": 35, "texture": 35, "material": 15}
    if dice.chance(40):
        return _related(dice, scene, "partial", dice.choice(scene.relations), **how)
    lead = dice.choice(("", "", "there is ", "we can see ", "a picture of "))
    return _listed(dice, scene, "partial", dice.choice((2, 2, 3)), lead, **how)


def _synonym(scene, dice):
    how = {"colour": 90, "size": 45, "texture": 45, "material": 15, "synonyms": scene.style.synonym}
    if dice.chance(65):
        return _related(dice, scene, "synonym", scene.relation, **how)
    return _listed(dice, scene, "synonym", 2, dice.choice(("", "here is ", "an image of ")), **how)


def _plural(scene, dice):
    shapes = [thing.shape for thing in scene.things]
    shape = next((s for s in shapes if shapes.count(s) > 1), None)
    number = NUMBERS[len(shapes)]
    if shape is None:
        lead = dice.choice((f"{number} objects including ", f"there are {number} things with "))
        how = {"size": 45, "texture": 45}
        if dice.chance(50):
            told = _related(dice, scene, "plural", scene.relation, **how)
        else:
            told = _listed(dice, scene, "plural", 2, **how)
        return Caption("plural", lead + told.text, told.mentions, told.relation, count=len(shapes))
    colours = {thing.colour for thing in scene.things if thing.shape == shape}
    colour = colours.pop() if len(colours) == 1 else None
    many = shapes.count(shape)
    said = colour and _say(dice, colour, scene.style.elsewhere)
    text = " ".join(word for word in (NUMBERS[many], said, PLURALS[shape]) if word)
    text = dice.choice(("", "there are ", "a group of ")) + text
    others = [i for i, s in enumerate(shapes) if s != shape]
    mentions = []
    for i in others[:2]:
        phrase, mention = _phrase(dice, scene, i, size=60, texture=60, material=15)
        text += f" {'and' if mentions else dice.choice(('and', 'with'))} "
        text += _article(phrase)
        mentions.append(mention)
    return Caption("plural", text, tuple(mentions), twins=(many, shape, colour))


def _passive(scene, dice):
    subject, name, other = scene.relation
    first, second = (other, subject) if name in ACTIONS else (subject, other)
    one, a = _phrase(dice, scene, first, colour=80, size=40, texture=40, material=15)
    two, b = _phrase(dice, scene, second, colour=80, size=40, texture=40, material=15)
    claim = (1, name, 0) if name in ACTIONS else (0, name, 1)
    text = f"the {one} {dice.choice(PASSIVE[name])} the {two}"
    return Caption("passive", text, (a, b), claim)


def _relational(scene, dice):
    how = {"size": 80, "texture": 80, "material": 15}
    told = _related(dice, scene, "relational", scene.relation, **how)
    subject, _, other = scene.relation
    others = [i for i in range(len(scene.things)) if i not in (subject, other)]
    if not others or dice.chance(50):
        return told
    phrase, mention = _phrase(dice, scene, dice.choice(others), size=30, texture=30)
    text = f"{told.text} {dice.choice(('and', 'with'))} {_article(phrase)}"
    if len(text.split()) > LONGEST:
        return told
    return Caption("relational", text, (*told.mentions, mention), told.relation)
