"""Captions that a small grammar makes up, with their parses: what treebanks have few of.

Treebanks are made of news, letters and reviews, and a parser that has read nothing else takes "a
dog leaps" for a kind of leaps. `parser` mixes these sentences with the treebank's own; labels are
Universal Dependencies'.
"""

from __future__ import annotations

import random
import re

from alignbook.datasets import conllu

# What a part may be, with weights. Each word of a rule is [label=]part, with * before the head, and
# after it @VBG, the form of its verb, and ?30, that it is said in 30 of 100 captions, in an inner
# part less.
GRAMMAR = {
    "CAPTION": (
        (20, "*NP"),
        (20, "*NP acl=VP@VBG"),
        (5, "*NP acl=DONE"),
        (14, "nsubj=ONE *VP@VBZ"),
        (8, "nsubj=MANY *VP@VBP"),
        (10, "nsubj=ONE aux=is *VP@VBG"),
        (6, "nsubj=MANY aux=are *VP@VBG"),
        (3, "nsubj:pass=ONE aux:pass=is *DONE"),
        (2, "nsubj:pass=MANY aux:pass=are *DONE"),
        (1, "nsubj:pass=ONE aux=is aux:pass=being *DONE"),
        (3, "nsubj=ONE cop=is *WHERE"),
        (3, "expl=there *is nsubj=ONE"),
        (3, "expl=there *are nsubj=MANY"),
    ),
    "NP": ((65, "*ONE"), (35, "*MANY")),
    "ONE": (
        (60, "det=a *ONE'"),
        (22, "det=the *ONE'"),
        (7, "nmod:poss=PRP$ *ONE'"),
        (3, "det=another *ONE'"),
        (8, "*ONE'"),
    ),
    "MANY": (
        (35, "nummod=CD *MANY'"),
        (10, "amod=several *MANY'"),
        (5, "amod=other *MANY'"),
        (8, "det=some *MANY'"),
        (15, "det=the *MANY'"),
        (27, "*MANY'"),
    ),
    "ONE'": (
        (
            1,
            "amod=ADJ?30 amod=ADJ?13 compound=NN?17 *NN nmod=OF?12 nmod=BESIDE?22 "
            "acl=VP@VBG?7 acl=DONE?3 acl:relcl=WHO_DOES?4 conj=AND?13",
        ),
    ),
    "MANY'": (
        (
            1,
            "amod=ADJ?30 amod=ADJ?13 compound=NN?17 *NNS nmod=OF?8 nmod=BESIDE?18 "
            "acl=VP@VBG?7 acl=DONE?3 acl:relcl=WHO_DO?4 conj=AND?13",
        ),
    ),
    "ADJ": (
        (70, "*JJ"),
        (8, "*COLOUR conj=AND_COLOUR"),
        (4, "*SMILING"),
        (4, "*BROKEN"),
        (3, "advmod=RB *JJ"),
        (1, "*COLOUR conj=COMMA_COLOUR conj=AND_COLOUR"),
        (1, "advmod=long punct=- *sleeved"),
    ),
    "AND_COLOUR": ((1, "cc=and *COLOUR"),),
    "COMMA_COLOUR": ((1, "punct=, *COLOUR"),),
    "AND": ((4, "cc=and *NP"), (1, "punct=, *NP")),
    "OF": ((1, "case=of *NP"),),
    "BY": ((1, "case=by *NP"),),
    "BESIDE": ((5, "case=with *NP"), (3, "case=in *NP"), (2, "case=on *NP"), (2, "case=IN *NP")),
    "WHERE": (
        (45, "case=OFTEN *NP"),
        (45, "case=IN *NP"),
        (3, "case=next case=to *NP"),
        (2, "case=out case=of *NP"),
        (3, "case=in *front nmod=OF"),
        (2, "case=on *top nmod=OF"),
        (3, "case=OFTEN det=the *SIDE nmod=OF"),
    ),
    "DONE": (
        (45, "*COVERED obl:agent=BY"),
        (40, "*COVERED obl=WHERE"),
        (15, "*COVERED obl=WHERE obl=WHERE"),
    ),
    "VP": (
        (78, "*VP'"),
        (7, "*VP' conj=AND_DO"),
        (8, "*VP' advcl=DOING"),
        (4, "*VP' advcl=AS"),
        (3, "*VP' advcl=IN_ORDER"),
    ),
    "VP'": (
        (50, "*HOLD obj=NP obl=WHERE?35"),
        (3, "*HOLD compound:prt=RP obj=NP"),
        (2, "*SIT"),
        (25, "*SIT obl=WHERE"),
        (15, "*SIT obl=WHERE obl=WHERE"),
        (7, "*SIT advmod=AROUND obl=WHERE?70"),
    ),
    "AND_DO": ((1, "cc=and *VP'"),),
    "DOING": ((5, "punct=, *VP'@VBG"), (3, "*VP'@VBG"), (3, "mark=while *VP'@VBG")),
    "AS": ((1, "mark=while nsubj=PRP *VP'@VBZ"), (1, "mark=as nsubj=PRP *VP'@VBZ")),
    "IN_ORDER": ((1, "mark=TO *VP'@VB"),),
    "WHO_DOES": (
        (1, "nsubj=who *VP@VBZ"),
        (1, "nsubj=who aux=is *VP@VBG"),
        (2, "nsubj=WDT *VP@VBZ"),
        (2, "nsubj=WDT aux=is *VP@VBG"),
    ),
    "WHO_DO": (
        (1, "nsubj=who *VP@VBP"),
        (1, "nsubj=who aux=are *VP@VBG"),
        (2, "nsubj=WDT *VP@VBP"),
        (2, "nsubj=WDT aux=are *VP@VBG"),
    ),
}

ITSELF = {  # words that stand in rules as they are, by tag
    "a the another some": "DT",
    "several other long": "JJ",
    "front top": "NN",
    "there": "EX",
    "who": "WP",
    "is": "VBZ",
    "are": "VBP",
    "being": "VBG",
    "sleeved": "VBN",
    "and": "CC",
    ",": ",",
    "-": "HYPH",
    "with in on of by as while to next out": "IN",
}

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
    "COLOUR": "JJ",
    "COVERED": "VBN",
    "SMILING": "VBG",
    "BROKEN": "VBN",
    "AROUND": "RB",
    "OFTEN": "IN",
    "SIDE": "NN",
}
FORMS_IN_S = {
    "man": "men",
    "woman": "women",
    "child": "children",
    "person": "people",
    "sheep": "sheep",
    "leaf": "leaves",
    "goose": "geese",
    "knife": "knives",
    "shelf": "shelves",
    "have": "has",
}
TAGS |= {word: tag for words, tag in ITSELF.items() for word in words.split()}
CHOICES = {part: words.split() for part, words in WORDS.items()}
PART = re.compile(r"(?:([^=]+)=)?([*]?)([^@?]+)(?:@(\w+))?(?:[?](\d+))?")
RULES = {
    name: (
        [weight for weight, _ in rules],
        [[PART.fullmatch(part).groups() for part in rule.split()] for _, rule in rules],
    )
    for name, rules in GRAMMAR.items()
}


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
    return [
        conllu.Token(i, form, "_", kinds.get(tag, "X"), tag, head + 1, label)
        for i, (form, tag, head, label) in enumerate(rows, 1)
    ]


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
