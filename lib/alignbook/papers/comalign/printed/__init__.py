"""ComAlign's printed numbers, recomputed from what else the paper prints; its tables lie here."""

from statistics import mean

from alignbook.evidence import printed_tables
from alignbook.evidence.print_checks import (
    FROM_A_FIGURE,
    R1,
    Check,
    Unchecked,
    above,
    every,
    grid,
    highest,
    judge,
    queries,
    said,
    stated,
)
from alignbook.evidence.rounding import difference, percent_above, written

OURS, GAIN = " + ComAlign", " relative gain"
CLIP, COCA, NEGCLIP, PYRAMID = (f"{n}-ViT-B/32" for n in ("CLIP", "COCA", "NegClip", "PyramidCLIP"))

UNCHECKABLE = [
    Unchecked("comalign-F6", "α1, α2, β1", FROM_A_FIGURE),
    Unchecked("comalign-F7", "learning rate, epochs, batch size", FROM_A_FIGURE),
    Unchecked(
        "comalign-F7",
        "coefficients of the coarse-grained loss",
        "Equations 6 and 7 have no coefficient; it may have been 1 at last",
    ),
    Unchecked("comalign", "approximately 80,000; around 100K", "approximations, called such"),
    Unchecked("comalign", "143M samples; within 4 hours", "facts about training, no formula"),
    Unchecked(
        "comalign-TI", "Flickr30K", 'which of its splits is not stated; see "How many pictures?"'
    ),
]


def checks() -> list[Check]:
    """Every gain, then the text on Tables I and II, the ablations, the data."""
    rows, gains = _gains()
    return [*rows, *_retrieval(gains), *_compositional(gains), *_ablations(), *_print(), *_places()]


def _gains() -> tuple[list[Check], dict]:
    """The printed gains of Tables I and II, and the gains by (exhibit, base) and column."""
    rows, gains = [], {}
    for exhibit in ("comalign-TI", "comalign-TII"):
        table = grid(exhibit)
        for base in (name.removesuffix(GAIN) for name in table if name.endswith(GAIN)):
            for column, number in table[base + GAIN].items():
                new, old = table[base + OURS][column], table[base][column]
                gains.setdefault((exhibit, base), {})[column] = new.value - old.value
                how = f"{new.text} − {old.text}, in points"
                rows.append(
                    judge(exhibit, base + GAIN, column, number, difference, [new, old], how)
                )
    return rows, gains


def _retrieval(gains: dict) -> list[Check]:
    """Sections I and IV-C against Table I."""
    table, rows = grid("comalign-TI"), []
    for way, column in (("i2t", "coco i2t R@1"), ("t2i", "coco t2i R@1")):
        new, old = table[CLIP + OURS][column], table[CLIP][column]
        how = (
            f"{new.text} − {old.text}, in points (in percent of the base it is "
            f"{written(percent_above(new.value, old.value))})"
        )
        check = f"gain of CLIP, {column}"
        rows.append(said(f"comalign-{way}", check, difference, [new, old], how))
        rows.append(
            above(
                "comalign-TI",
                "text, §I",
                f"ComAlign over PyramidCLIP, {column}",
                new,
                table[PYRAMID][column],
                printed_tables.prose()["comalign-pyramid"]["printed"],
                "; read as speaking of both directions, which it has just named",
            )
        )
    negclip = gains["comalign-TI", NEGCLIP]
    most = max((c for c in negclip if c.startswith("f30k i2t")), key=negclip.get)
    coca = [c for c, value in gains["comalign-TI", COCA].items() if value < 0]
    return [
        *rows,
        said(
            "comalign-negclip",
            "largest gain of NegCLIP, f30k i2t",
            difference,
            [table[NEGCLIP + OURS][most], table[NEGCLIP][most]],
            f"of three gains that at {most.split()[-1]}, in points",
        ),
        stated(
            "comalign-coca",
            "where CoCa falls",
            ", ".join(coca),
            bool(coca) and all(c.startswith("f30k t2i") for c in coca),
            "columns of Table I in which CoCa with ComAlign is below CoCa",
        ),
    ]


def _compositional(gains: dict) -> list[Check]:
    """Section IV-D against Table II."""
    two = {base: each for (exhibit, base), each in gains.items() if exhibit == "comalign-TII"}
    fall = [f"{base}, {c}" for base, each in two.items() for c in each if each[c] < 0]
    wins = [each["VG-Attribution"] > each["VG-Relation"] for each in two.values()]
    attributes, relations = (
        written(mean(each[c] for each in two.values())) for c in ("VG-Attribution", "VG-Relation")
    )
    return [
        stated(
            "comalign-few",
            "cells that fall",
            f"{len(fall)} of {3 * len(two)}",
            0 < len(fall) <= 3,
            f"with ComAlign lower than without: {'; '.join(fall)}",
        ),
        stated(
            "comalign-typically",
            "attributes gain more than relations",
            f"{sum(wins)} of {len(wins)} bases",
            2 * sum(wins) > len(wins),
            f"though not in the mean: {attributes} points against {relations}",
        ),
    ]


def _ablations() -> list[Check]:
    """Section IV-E against Tables III to VI."""
    terms, features, network, layers = (grid(f"comalign-T{n}") for n in ("III", "IV", "V", "VI"))
    whole = next(iter(terms))
    text = {
        name: " / ".join(row[c].text for c in R1)
        for name, row in (
            ("III", terms[whole]),
            ("IV", features[whole]),
            ("V", network["transformer"]),
            ("one layer", layers["1"]),
            ("two layers", layers["2"]),
        )
    }
    twin = ", ".join(name for name in text if name != "V" and text[name] == text["V"])
    models = [text[name] == text["III"] for name in ("IV", "two layers")]
    return [
        _further(terms, features),
        stated(
            "comalign-two",
            "is the method's network",
            f"that of {twin}: {text['V']}",
            text["V"] == text["two layers"],
            row="transformer",
            how=f"the method has two layers, in Table VI {text['two layers']}",
        ),
        every(
            "comalign-TIII",
            whole,
            "same as in Tables IV and VI (two layers)",
            models,
            "tables",
            "all terms, all features, two layers: one model",
        ),
        *(highest(f"comalign-T{n}", whole, c) for n in ("III", "IV") for c in R1),
        *(
            above("comalign-TVI", "2", f"above four layers, {c}", layers["2"][c], layers["4"][c])
            for c in R1
        ),
    ]


def _further(terms: dict, features: dict) -> Check:
    """That without features recalls fall further than without terms of the loss."""
    _, *parts = terms
    change = {
        (name, c): features[name][c].value - terms[name][c].value for name in parts for c in R1
    }
    rises = [f"{name} {c} by {written(v, 2)}" for (name, c), v in change.items() if v >= 0]
    means = [written(mean(change[name, c] for name in parts), 2) for c in R1]
    return stated(
        "comalign-further",
        "every cell of Table IV below that of Table III",
        f"{len(change) - len(rises)} of {len(change)} fall",
        not rises,
        f"these rise: {', '.join(rises)}; in the mean of the four rows recalls change by "
        f"{means[0]} (i2t) and {means[1]} (t2i)",
    )


def _print() -> list[Check]:
    """Bold cells, and how many images the recalls are of."""
    cells = printed_tables.table("comalign-TI")
    cells = cells[~cells.row.str.endswith(GAIN)]
    columns = [cells.row.str.extract("(ViT-[A-Z]/[0-9]+)")[0], cells.column]
    best = cells.value == cells.groupby(columns).value.transform("max")
    right = best == cells.mark.str.split().map(lambda marks: "bold" in marks)
    right = list(right.groupby(columns).all())
    bold = "bold cells are the best"
    flickr = (
        "k out of so many in percent, cut off after two decimals; so many has the usual validation "
        "split, and the paper names none"
    )
    coco = "k out of so many in percent: of images an even last digit, of captions anything"
    return [
        every(
            "comalign-TI",
            "all rows",
            bold,
            right,
            "columns of a backbone",
            "ties are bold together",
        ),
        queries(
            "comalign-TI",
            "Flickr30K: 1,014 images, 5,070 captions",
            {"f30k i2t": 1014, "f30k t2i": 5070},
            flickr,
        ),
        *(
            queries(
                f"comalign-T{n}",
                "MS-COCO: 5,000 images, 25,000 captions",
                {f"{at}i2t": 5000, f"{at}t2i": 25000},
                coco,
            )
            for n, at in (("I", "coco "), ("III", ""), ("IV", ""), ("V", ""), ("VI", ""))
        ),
    ]


def _places() -> list[Check]:
    """Places that must say the same."""
    text = printed_tables.prose()
    tuned = (
        "what was composed to test on MS-COCO has none of its images; a third place, "
        f"{text['comalign-tuned-set']['where']}, says "
        f'"{text["comalign-tuned-set"]["printed"]}", which may be either'
    )
    return [
        _equal("comalign-adam", "comalign-adamw", "optimiser", "two places name two optimisers"),
        _equal("comalign-tuned", "comalign-tuned-on", "data for tuning", tuned),
        stated(
            "comalign-cosine",
            "similarity of components",
            f"{text['comalign-dot']['printed']} ({text['comalign-dot']['where']})",
            "cosine" not in text["comalign-cosine"]["printed"],
            "one has the vectors' lengths in it; equal if all lengths are 1, which the text "
            "doesn't say",
        ),
        stated(
            "comalign-38",
            "references 37 and 38",
            "the title of reference 37 as well",
            text["comalign-38"]["printed"] != text["comalign-37"]["printed"],
            "one article, as a preprint and in proceedings; the text cites both numbers",
        ),
    ]


def _equal(key: str, other: str, check: str, how: str) -> Check:
    """Whether two places have the same words."""
    text = printed_tables.prose()
    one, two = text[key]["printed"], text[other]["printed"]
    return stated(key, check, f"{two} ({text[other]['where']})", one == two, how)
