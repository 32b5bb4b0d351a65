"""A small English tagger and dependency parser, trained here from a treebank.

ComAlign parses captions with spaCy and doesn't say with which pipeline [A]. Any that has a tagger
and a parser will do (`load`); where none is installed, one is trained: for the world from the
parses that its data sets hold, for captions of photographs from a treebank of Universal
Dependencies that the user has. Nothing is downloaded.

Treebanks are made of news, letters and reviews, and a parser that has read nothing else takes "a
dog leaps" for a kind of leaps. So every other sentence it learns from is a caption that a small
grammar makes up (`made_caption`), of its own words and the treebank's.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from pathlib import Path

import numpy as np

from alignbook import progress
from alignbook.datasets import conllu
from alignbook.datasets.store import DataError

NEEDED = ("tok2vec", "tagger", "parser")
OPEN = ("NOUN", "PROPN", "ADJ")  # the parts of speech that new words have
LETTERS = "abcdefghijklmnoprstuvwyz"
SHOWN = 1000  # made captions that are shown before training, for labels the treebank lacks


@dataclass(frozen=True)
class Config:
    """The network and its training; sizes and schedule are ours [A], chosen on dev parses.

    `rows` are of the table that words are hashed into, `hidden` the width of the parser's layer,
    `words` the size of a batch. `made` is the share of made-up captions among the sentences; their
    labels are Universal Dependencies'.
    Each time a sentence is seen, `lowered` is the chance that it loses its capitals and its full
    stop, as some captions have none, and `nonsense` that of each noun, name and adjective to be a
    word that there isn't. Labels seen less often than `rare` are not learned.
    """

    width: int = 96
    depth: int = 4
    rows: int = 5000
    hidden: int = 64
    steps: int = 6000
    words: int = 150
    learning_rate: float = 2e-3
    dropout: float = 0.1
    made: float = 0.4
    lowered: float = 0.3
    nonsense: float = 0.03
    rare: int = 30


WORLD = Config(width=64, depth=2, rows=2000, steps=300, words=300, made=0.0, lowered=0.0,
               nonsense=0.3, rare=1)  # fmt: skip
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
            raise DataError(f"{self.folder}: no file *{split}*.conllu, expected a treebank with "
                            f"its train and dev files; {conllu.REMEDY}")  # fmt: skip
        return found

    def sentences(self, split: str) -> list[list[conllu.Token]]:
        return [sentence for path in self.files(split) for sentence in conllu.read(path)]

    @cached_property
    def key(self) -> str:
        """64 hex digits of the files' content and spaCy's version, for a run's key."""
        digest = hashlib.sha256(f"spacy {version('spacy')}".encode())
        for split in ("train", "dev"):
            for path in self.files(split):
                digest.update(f"{split}\n".encode() + hashlib.sha256(path.read_bytes()).digest())
        return digest.hexdigest()


@dataclass(frozen=True)
class Named:
    """A pipeline by its name or folder, in place of a run of this module."""

    name: str

    @cached_property
    def fingerprint(self) -> str:
        """64 hex digits of the pipeline's files and spaCy's version, for a run's key."""
        digest = hashlib.sha256(f"spacy {version('spacy')}".encode())
        place = located(self.name)
        for path in sorted(each for each in place.rglob("*") if each.is_file()):
            digest.update(str(path.relative_to(place)).encode() + path.read_bytes())
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


def compute(config: Config, seed: int, inputs, folder: Path, device: str) -> dict:
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
    nlp.add_pipe("tagger", config={
        "model": {"@architectures": "spacy.Tagger.v2", "tok2vec": listener}})  # fmt: skip
    nlp.add_pipe("parser", config={"min_action_freq": config.rare, "model": {
        "@architectures": "spacy.TransitionBasedParser.v2", "state_type": "parser",
        "extra_state_tokens": False, "hidden_width": config.hidden, "maxout_pieces": 2,
        "use_upper": True, "tok2vec": listener}})  # fmt: skip

    def examples(chosen):
        return [Example(as_doc(nlp.vocab, each, words_only=True), as_doc(nlp.vocab, each))
                for each in chosen]  # fmt: skip

    dice = random.Random(seed)
    lexicon = lexicon_of(sentences)
    shown = [made_caption(dice, lexicon) for _ in range(SHOWN if config.made else 0)]
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
    return [token._replace(form=_made_up(token, dice))
            if token.upos in OPEN and dice.random() < config.nonsense else token
            for token in sentence]  # fmt: skip


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


def located(name: Path | str) -> Path:
    """The folder of a pipeline, or of an installed one by its name; which need not be there."""
    import spacy

    place = Path(name).expanduser()
    if not place.is_dir() and spacy.util.is_package(str(name)):
        about = spacy.util.get_package_path(str(name))
        meta = spacy.util.get_model_meta(about)
        place = about / f"{meta['lang']}_{meta['name']}-{meta['version']}"
    return place


def load(source):
    """A pipeline: of a run of this module, of a folder, or an installed one by its name.

    Only its tok2vec, tagger and parser are loaded; their files hold numbers and plain values, no
    code.

    Raises
    ------
    DataError
        There is no such pipeline, it cannot be read, or it has no tagger or no parser.
    """
    import spacy

    source = source.name if isinstance(source, Named) else source
    if not isinstance(source, (str, Path)):  # a run
        said = json.loads((source.folder / "pipeline.json").read_text())
        nlp = spacy.util.load_model_from_config(spacy.util.load_config_from_str(said))
        return nlp.from_bytes(np.load(source.folder / "pipeline.npy").tobytes())
    place = located(source)
    if not (place / "config.cfg").is_file():
        raise DataError(f"{source}: neither an installed spaCy pipeline nor a folder of one (with "
                        "config.cfg), and nothing is downloaded here; install the pipeline, or "
                        "name its folder")  # fmt: skip
    try:
        stated = spacy.util.load_config(place / "config.cfg")["components"]
        kinds = {name: stated[name]["factory"] for name in stated}
    except Exception as error:  # whatever a foreign configuration makes the library say
        raise DataError(f"{place / 'config.cfg'}: no pipeline ({_brief(error)}); take the "
                        "pipeline again") from error  # fmt: skip
    if missing := [name for name in ("tagger", "parser") if name not in kinds.values()]:
        raise DataError(f"{source}: a pipeline of {', '.join(kinds) or 'nothing'} without a "
                        f"{' and a '.join(missing)}, expected both; take another")  # fmt: skip
    if heavy := [name for name in kinds if "transformer" in kinds[name]]:
        raise DataError(f"{source}: its tagger and parser rest on {heavy[0]!r}, expected ones of "
                        "their own or on a tok2vec; take one without a transformer")  # fmt: skip
    try:
        return spacy.load(place, exclude=[name for name in kinds if kinds[name] not in NEEDED])
    except Exception as error:
        raise DataError(f"{place}: the pipeline cannot be read ({_brief(error)}); take it again, "
                        "of a version for spaCy 3") from error  # fmt: skip


def _brief(error: Exception) -> str:
    return " ".join(str(error).split())[:200]


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
                chosen.append(made_caption(dice, lexicon))
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


# --- made captions -------------------------------------------------------------------------------

# What a part may be, with weights. Each word of a rule is [label=]part, * before the head, behind
# it @VBG the form of its verb and ?30 that it is said in 30 of 100 captions, in an inner part less.
GRAMMAR = {
    "CAPTION": (
        (20, "*NP"), (20, "*NP acl=VP@VBG"), (5, "*NP acl=DONE"),
        (14, "nsubj=ONE *VP@VBZ"), (8, "nsubj=MANY *VP@VBP"),
        (10, "nsubj=ONE aux=is *VP@VBG"), (6, "nsubj=MANY aux=are *VP@VBG"),
        (3, "nsubj:pass=ONE aux:pass=is *DONE"), (2, "nsubj:pass=MANY aux:pass=are *DONE"),
        (1, "nsubj:pass=ONE aux=is aux:pass=being *DONE"), (3, "nsubj=ONE cop=is *WHERE"),
        (3, "expl=there *is nsubj=ONE"), (3, "expl=there *are nsubj=MANY"),
    ),
    "NP": ((65, "*ONE"), (35, "*MANY")),
    "ONE": (
        (60, "det=a *ONE'"), (22, "det=the *ONE'"), (7, "nmod:poss=PRP$ *ONE'"),
        (3, "det=another *ONE'"), (8, "*ONE'"),
    ),
    "MANY": (
        (35, "nummod=CD *MANY'"), (10, "amod=several *MANY'"), (5, "amod=other *MANY'"),
        (8, "det=some *MANY'"), (15, "det=the *MANY'"), (27, "*MANY'"),
    ),
    "ONE'": ((1, "amod=ADJ?30 amod=ADJ?13 compound=NN?17 *NN nmod=OF?12 nmod=BESIDE?22 "
                 "acl=VP@VBG?7 acl=DONE?3 acl:relcl=WHO_DOES?4 conj=AND?13"),),
    "MANY'": ((1, "amod=ADJ?30 amod=ADJ?13 compound=NN?17 *NNS nmod=OF?8 nmod=BESIDE?18 "
                  "acl=VP@VBG?7 acl=DONE?3 acl:relcl=WHO_DO?4 conj=AND?13"),),
    "ADJ": (
        (70, "*JJ"), (8, "*COLOUR conj=AND_COLOUR"), (4, "*SMILING"), (4, "*BROKEN"),
        (3, "advmod=RB *JJ"), (1, "*COLOUR conj=COMMA_COLOUR conj=AND_COLOUR"),
        (1, "advmod=long punct=- *sleeved"),
    ),
    "AND_COLOUR": ((1, "cc=and *COLOUR"),),
    "COMMA_COLOUR": ((1, "punct=, *COLOUR"),),
    "AND": ((4, "cc=and *NP"), (1, "punct=, *NP")),
    "OF": ((1, "case=of *NP"),),
    "BY": ((1, "case=by *NP"),),
    "BESIDE": ((5, "case=with *NP"), (3, "case=in *NP"), (2, "case=on *NP"), (2, "case=IN *NP")),
    "WHERE": (
        (45, "case=OFTEN *NP"), (45, "case=IN *NP"), (3, "case=next case=to *NP"),
        (2, "case=out case=of *NP"), (3, "case=in *front nmod=OF"), (2, "case=on *top nmod=OF"),
        (3, "case=OFTEN det=the *SIDE nmod=OF"),
    ),
    "DONE": (
        (45, "*COVERED obl:agent=BY"), (40, "*COVERED obl=WHERE"),
        (15, "*COVERED obl=WHERE obl=WHERE"),
    ),
    "VP": (
        (78, "*VP'"), (7, "*VP' conj=AND_DO"), (8, "*VP' advcl=DOING"), (4, "*VP' advcl=AS"),
        (3, "*VP' advcl=IN_ORDER"),
    ),
    "VP'": (
        (50, "*HOLD obj=NP obl=WHERE?35"), (3, "*HOLD compound:prt=RP obj=NP"), (2, "*SIT"),
        (25, "*SIT obl=WHERE"), (15, "*SIT obl=WHERE obl=WHERE"),
        (7, "*SIT advmod=AROUND obl=WHERE?70"),
    ),
    "AND_DO": ((1, "cc=and *VP'"),),
    "DOING": ((5, "punct=, *VP'@VBG"), (3, "*VP'@VBG"), (3, "mark=while *VP'@VBG")),
    "AS": ((1, "mark=while nsubj=PRP *VP'@VBZ"), (1, "mark=as nsubj=PRP *VP'@VBZ")),
    "IN_ORDER": ((1, "mark=TO *VP'@VB"),),
    "WHO_DOES": (
        (1, "nsubj=who *VP@VBZ"), (1, "nsubj=who aux=is *VP@VBG"),
        (2, "nsubj=WDT *VP@VBZ"), (2, "nsubj=WDT aux=is *VP@VBG"),
    ),
    "WHO_DO": (
        (1, "nsubj=who *VP@VBP"), (1, "nsubj=who aux=are *VP@VBG"),
        (2, "nsubj=WDT *VP@VBP"), (2, "nsubj=WDT aux=are *VP@VBG"),
    ),
}  # fmt: skip

ITSELF = {  # words that stand in rules as they are, by tag
    "a the another some": "DT", "several other long": "JJ", "front top": "NN", "there": "EX",
    "who": "WP", "is": "VBZ", "are": "VBP", "being": "VBG", "sleeved": "VBN", "and": "CC",
    ",": ",", "-": "HYPH", "with in on of by as while to next out": "IN",
}  # fmt: skip

WORDS = {  # what other parts may be; verbs and nouns in their basic form
    "NN": """man woman boy girl child person baby kid lady guy player dog puppy cat horse cow sheep
        bird elephant giraffe zebra bear bull goat duck goose pigeon monkey lion tiger surfer
        skateboarder skier snowboarder rider cyclist climber swimmer dancer runner couple team crowd
        group worker street road beach park field forest river lake ocean water snow grass sand
        mountain hill rock cliff tree bench chair table couch bed desk kitchen bathroom room
        building house wall fence door window floor sidewalk path track ramp pool court stage store
        market restaurant station yard bridge boat ship car truck bus train plane motorcycle bike
        bicycle skateboard surfboard snowboard ball frisbee bat racket kite umbrella bag backpack
        hat cap helmet shirt jacket coat dress uniform costume camera phone laptop computer book
        sign picture plate bowl cup glass bottle knife fork pizza sandwich cake food fruit banana
        apple orange vegetable toy stick rope leash collar mouth hand arm leg head face hair eye
        tail back air sky sun light wave puddle mud leaf flower plant sofa toilet sink mirror shower
        oven stove refrigerator counter cabinet shelf tennis baseball soccer football basketball
        hockey game trick jump race competition crosswalk corner clock tower airport traffic lot
        hurdle swing slide fountain trampoline bucket blanket pillow towel guitar drum microphone
        ring pole rail step edge background brick stone""",
    "JJ": """wooden plastic concrete metal grassy sandy rocky snowy muddy wet dry clean dirty small
        little large big tall short long young old older huge tiny dark light bright empty busy
        crowded open beautiful colorful happy sad fluffy furry hairy bald shirtless different
        various modern vintage asian male female public outdoor indoor hot cold deep shallow steep
        flat narrow wide thin thick sunny cloudy green leafy fresh double striped spotted shiny
        fancy formal professional red blue white black brown yellow""",
    "COLOUR": """black white brown red blue green yellow orange pink purple gray grey tan blond
        blonde""",
    "SIT": """sit stand walk run jump lie lay play swim ride climb leap sleep rest fly hang look
        skate ski surf dance float wade splash crouch kneel lean bend roll slide fall race gallop
        graze pose wait work travel drive sail hike stare bark swing stop go move crawl skateboard
        snowboard perform compete march lounge relax gather line dive bounce land cross jog stretch
        laugh smile talk cook paddle chew dig point hop wrestle fight fish read eat grab""",
    "HOLD": """hold carry wear ride chase catch throw kick hit eat watch push pull play use make
        take do have have have have lead bite chew read cut feed wash touch hug kiss fly climb
        cross jump perform paint cook prepare drink blow lift grab toss swing follow fight cover
        face surround overlook fill show attempt enjoy get give put brush shake lick walk drive
        attack sell pet raise reach cast pursue strike visit drop serve return block clean fix open
        point""",
    "COVERED": """covered surrounded filled parked dressed tied attached seated chased led pulled
        followed decorated lined made shown placed pushed carried suspended""",
    "SMILING": "smiling running sleeping standing jumping flying laughing barking crying",
    "BROKEN": "parked stuffed decorated colored painted covered dressed broken sliced",
    "RB": "very brightly darkly freshly nicely",
    "AROUND": "around down up away out off together alone outside outdoors back",
    "RP": "up off out down",
    "OFTEN": "in on on in at with by through down over near into",
    "IN": """in on at by near over through down up along across into behind under above beside
        around from with toward towards outside inside against between past onto during beneath
        below for off alongside atop amidst among""",
    "SIDE": "side edge back left right middle end",
    "CD": "two three four five six 2",
    "PRP$": "his her its their",
    "PRP": "he she it",
    "WDT": "that which",
    "TO": "to",
}
TAGS = {  # of parts that aren't called after their tag
    "COLOUR": "JJ", "COVERED": "VBN", "SMILING": "VBG", "BROKEN": "VBN", "AROUND": "RB",
    "OFTEN": "IN", "SIDE": "NN",
}  # fmt: skip
FORMS_IN_S = {
    "man": "men", "woman": "women", "child": "children", "person": "people", "sheep": "sheep",
    "leaf": "leaves", "goose": "geese", "knife": "knives", "shelf": "shelves", "have": "has",
}  # fmt: skip
TAGS |= {word: tag for words, tag in ITSELF.items() for word in words.split()}
CHOICES = {part: words.split() for part, words in WORDS.items()}
PART = re.compile(r"(?:([^=]+)=)?([*]?)([^@?]+)(?:@(\w+))?(?:[?](\d+))?")
RULES = {
    name: ([weight for weight, _ in rules],
           [[PART.fullmatch(part).groups() for part in rule.split()] for _, rule in rules])
    for name, rules in GRAMMAR.items()
}  # fmt: skip


def lexicon_of(sentences: list[list[conllu.Token]]) -> dict[str, list[str]]:
    """A treebank's nouns and adjectives as often as they are said, by tag; no names."""
    found = {"NN": [], "NNS": [], "JJ": []}
    for token in (token for sentence in sentences for token in sentence):
        if token.xpos in found and token.form.isalpha() and token.form.islower():
            found[token.xpos].append(token.form)
    return found


def made_caption(dice: random.Random, lexicon: dict[str, list[str]]) -> list[conllu.Token]:
    """A caption that the grammar makes up, with labels of Universal Dependencies.

    Parameters
    ----------
    lexicon : words of the treebank by tag, said by every fifth noun and adjective.

    Examples
    --------
    >>> " ".join(token.form for token in made_caption(random.Random(33), {}))
    'the mud fills a room .'
    """
    rows, root = _grow("CAPTION", "", 0, dice, lexicon)
    rows[root][2:] = -1, "root"
    if dice.random() < 0.7:
        rows.append([".", ".", root, "punct"])
    if dice.random() < 0.8:
        rows[0][0] = rows[0][0].capitalize()
    for article, following in zip(rows, rows[1:]):
        if article[0] in ("a", "A") and following[0][0] in "aeiou":
            article[0] += "n"
    kinds = {"NN": "NOUN", "NNS": "NOUN", "JJ": "ADJ"}
    return [conllu.Token(i, form, "_", kinds.get(tag, "X"), tag, head + 1, label)
            for i, (form, tag, head, label) in enumerate(rows, 1)]  # fmt: skip


def _grow(part: str, verb: str, inner: int, dice: random.Random, lexicon: dict):
    """Rows (form, tag, head's place, label) of a part and the place of its head.

    `verb` is the tag its verbs have, `inner` how many noun and verb phrases it is in.
    """
    if part not in RULES:
        return [[*_word(part, verb, dice, lexicon), 0, ""]], 0
    rows, hanging, root = [], [], 0
    for label, head, name, form, chance in dice.choices(RULES[part][1], RULES[part][0])[0]:
        if chance and dice.random() > int(chance) / 100 * 0.5**inner:
            continue
        deeper = inner + (name in ("NP", "VP"))
        grown, top = _grow(name, form or verb, deeper, dice, lexicon)
        place = len(rows) + top
        rows += [[word, tag, len(rows) + at, said] for word, tag, at, said in grown]
        if head:
            root = place
        else:
            hanging.append((place, label))
    for place, label in hanging:
        rows[place][2:] = root, label
    return rows, root


def _word(part: str, verb: str, dice: random.Random, lexicon: dict) -> tuple[str, str]:
    """A word that a part may be, and its tag."""
    if part in lexicon and dice.random() < 0.2:
        return dice.choice(lexicon[part]), part
    if part == "NNS":
        return inflect(dice.choice(CHOICES["NN"]), part), part
    if part in ("SIT", "HOLD"):
        return inflect(dice.choice(CHOICES[part]), verb), verb
    return dice.choice(CHOICES.get(part, [part])), TAGS.get(part, part)


def inflect(word: str, tag: str) -> str:
    """A noun's or verb's form, "jumps" of "jump" with VBZ; with other tags it stays as it is.

    >>> [inflect(word, "VBG") for word in ("ride", "sit", "lie")], inflect("carry", "VBZ")
    (['riding', 'sitting', 'lying'], 'carries')
    """
    if tag in ("NNS", "VBZ"):
        if word in FORMS_IN_S:
            return FORMS_IN_S[word]
        if re.search("[^aeou]y$", word):
            return word[:-1] + "ies"
        return word + ("es" if re.search("(s|x|ch|sh|go|do)$", word) else "s")
    if tag != "VBG":
        return word
    if word.endswith("ie"):
        return word[:-2] + "ying"
    if re.search("[^ey]e$", word):
        return word[:-1] + "ing"
    return word + (word[-1] if re.fullmatch("[^aeiou]+[aeiou][bdgmnpt]", word) else "") + "ing"
