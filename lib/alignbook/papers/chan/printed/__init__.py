"""CHAN's printed numbers, recomputed from what else the paper prints; its tables lie here."""

import re
from fractions import Fraction
from statistics import mean

import pandas as pd

from alignbook.evidence import printed_tables
from alignbook.evidence.print_checks import (
    FROM_A_FIGURE,
    R1,
    SIX,
    Check,
    Unchecked,
    every,
    grid,
    highest,
    quoted,
    said,
    stated,
)
from alignbook.evidence.rounding import (
    difference,
    percent_above,
    percent_below,
    printed,
    total,
    written,
)

FLICKR30K = {"all": 31014, "train": 29000}  # the usual split: from its file, not from the papers
LISTED = {"SGRAF": 10, "SCAN": 21, "TERAN": 28, "NAAF": 46}  # in §4.2, with references
OWN, GRU, BERT = "CHAN (ours)", "BUTD + BiGRU: ", "BUTD + BERT: "
CODINGS = ("Visual Codebook", "Cross-Attention", "Textual Codebook")

UNCHECKABLE = [
    Unchecked("chan-F3", "over 10 times faster; 3 times faster", FROM_A_FIGURE),
    Unchecked("chan-F4", "accuracy grows with K", FROM_A_FIGURE),
    Unchecked(
        "chan-T1",
        "types of the methods: VSE∞ is Global, then Fragment, then Aligning",
        "our text is garbled here, with seven types for eight rows",
    ),
    Unchecked("chan-T1", "bold red for the best RSUM", "our text has lost the marks of this table"),
]


def checks() -> list[Check]:
    """Who leads, the figures of sections 4.1 to 4.3, equal rows, citations."""
    return [*_results(), *_codings(), *_data(), *_citations()]


def leads(better: dict, worse: dict) -> dict[str, Fraction]:
    """The ways we know to put the lead of one row of recalls over another into one number."""
    a, b = better["RSUM"].value, worse["RSUM"].value
    pairs = [(better[c].value, worse[c].value) for c in SIX]
    return {
        "points of RSUM": a - b,
        "percent of the lower RSUM": percent_above(a, b),
        "percent of the higher RSUM": percent_below(b, a),
        "points a recall": (a - b) / 6,
        "mean of six leads in percent of the lower recall": mean(
            percent_above(x, y) for x, y in pairs
        ),
        "mean of six leads in percent of the higher recall": mean(
            percent_below(y, x) for x, y in pairs
        ),
    }


def ensembles() -> list[str]:
    """Methods with a star in Tables 1 and 2: averages of two models."""
    cells = pd.concat([printed_tables.table("chan-T1"), printed_tables.table("chan-T2")])
    return sorted({row for _, row in printed_tables.ensembles(cells)})


def _results() -> list[Check]:
    """Tables 1 and 2, and what section 4.2 says of them."""
    one, two = grid("chan-T1"), grid("chan-T2")
    own, scan, lead = two[GRU + OWN], two[GRU + "SCAN"], two[BERT + OWN]["RSUM"]
    rows = [
        highest(exhibit, group + OWN, column, among=group)
        for exhibit, column in (("chan-T1", "1K RSUM"), ("chan-T1", "5K RSUM"), ("chan-T2", "RSUM"))
        for group in (GRU, BERT)
    ]
    good = [row[f"1K {c}"].value >= row[f"5K {c}"].value for row in one.values() for c in SIX]
    how = "1K ≥ 5K: among a fifth of the images no rank is worse"
    rows.append(
        every("chan-T1", "all rows", "1K recalls against 5K", good, "pairs of recalls", how)
    )
    for way, column in zip(("i2t", "t2i"), R1):
        a, b = own[column], scan[column]
        how = f"{a.text} − {b.text}, in points; said to be over this"
        check = f"lead over SCAN, {column}"
        rows.append(said(f"chan-scan-{way}", check, difference, [a, b], how, ">"))
    others = [row["RSUM"] for key, row in two.items() if key.startswith(BERT)]
    other = sorted(others, key=lambda n: n.value)[-2]
    how = (
        f"{lead.text} − {other.text}, in points of RSUM (of which it is "
        f"{written(percent_above(lead.value, other.value))} %); said to be over this"
    )
    rows.append(said("chan-bert-lead", "lead in RSUM", difference, [lead, other], how, ">"))
    return [*rows, quoted("chan-bert", lead), quoted("chan-bigru", own["RSUM"])]


def _codings() -> list[Check]:
    """Table 3, and the two percentages of section 4.3."""
    three = grid("chan-T3")
    hard, soft, textual = (three[f"Coding Types: {coding}"] for coding in CODINGS)
    ahead, behind = leads(hard, soft), leads(hard, textual)
    lead = _percentage("chan-hard", ahead, behind)
    loss = _percentage("chan-textual", behind, ahead)
    a, b, c = (row["RSUM"] for row in (hard, soft, textual))
    coco = grid("chan-T1")[GRU + OWN]
    equal = [
        hard[c].value == three["Pooling Types: LSE-Pooling"][c].value == coco[f"5K {c}"].value
        for c in hard
    ]
    return [
        said(
            "chan-hard",
            "lead over cross-attention in RSUM",
            percent_above,
            [a, b],
            f"RSUM {a.text} against {b.text} {lead}",
        ),
        said(
            "chan-textual",
            "loss of the textual codebook in RSUM",
            percent_below,
            [c, a],
            f"RSUM {c.text} against {a.text} {loss}",
        ),
        every(
            "chan-T3",
            CODINGS[0],
            "same as LSE-Pooling and Table 1's CHAN",
            equal,
            "cells",
            "one model on one test set",
        ),
    ]


def _percentage(key: str, ways: dict[str, Fraction], elsewhere: dict[str, Fraction]) -> str:
    """Which of the ways to reckon a lead give a percentage of section 4.3, in words."""
    target = printed(printed_tables.prose()[key]["printed"])
    hits = [
        f"of six ways to reckon one gives the print: the {way} is {written(value)}; it may do so "
        f"by chance, as for the other figure of §4.3 it gives {written(elsewhere[way])}"
        for way, value in ways.items()
        if abs(value - target.value) * 10**target.decimals * 2 <= 1
    ]
    found = "; ".join(hits) or "none of six ways to reckon gives the print"
    return f"in percent (in points {written(ways['points of RSUM'])}); {found}"


def _data() -> list[Check]:
    """The sizes that section 4.1 gives of both data sets."""
    text = printed_tables.prose()
    train, part, images, val, test = (
        printed(text[f"chan-{key}"]["printed"])
        for key in ("coco-train", "coco-rest", "flickr", "flickr-val", "flickr-test")
    )
    rest = int(images.value - val.value - test.value)
    parts = [train, part, part]
    return [
        said("chan-coco", "parts add up", total, parts, " + ".join(n.text for n in parts)),
        stated(
            "chan-flickr",
            "images left to train on",
            f"{rest:,}",
            rest == FLICKR30K["train"],
            f"{images.text} − {val.text} − {test.text}; the usual split has "
            f"{FLICKR30K['train']:,} for training, of {FLICKR30K['all']:,} in all (we know this "
            "from its file, not from the paper)",
        ),
    ]


def _citations() -> list[Check]:
    """References, and which methods are averages of two models."""
    text = printed_tables.prose()
    bfan, vsrn, split, title, listed = (
        text[f"chan-{key}"]["printed"] for key in ("bfan", "vsrn", "split", "split-34", "ensembles")
    )
    cited, starred = re.findall("[0-9]+", listed), ensembles()
    bare = [name for name, n in LISTED.items() if str(n) in cited and name not in starred]
    return [
        stated(
            "chan-bfan",
            "citation",
            vsrn,
            bfan.split()[-1] != vsrn.split()[-1],
            "one number for two methods; BFAN's article is reference 25",
            row=GRU + "BFAN",
        ),
        stated(
            "chan-split",
            "citation 34",
            title,
            "34" not in split,
            "reference 34, on coding images, is of 2009 and older than MS-COCO",
        ),
        stated(
            "chan-ensembles",
            "citation 34",
            title,
            "34" not in cited,
            "the same reference 34, which is no method of retrieval with sentences",
        ),
        stated(
            "chan-ensembles",
            "averages of two models have a star",
            f"without star: {', '.join(bare) or 'none'}",
            not bare,
            "Tables 1 and 2 star them; starred and not in the list, which need not be "
            f"complete: {', '.join(each for each in starred if each not in LISTED)}",
        ),
    ]
