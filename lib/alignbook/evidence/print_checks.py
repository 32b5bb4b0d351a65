"""The papers' printed numbers, recomputed from what else the papers print.

What is derived from other numbers (a sum, a gain, a percentage) is right as long as some true
values behind the print give it: see `alignbook.evidence.rounding`. `audit` is every check, a section a
paper; `uncheckable` is what cannot be checked from the texts at hand. The tables are those of
`alignbook.evidence.printed_tables`, the figures of running text, captions and algorithms those of
printed/prose.csv. What stands in no table has the paper for its exhibit.

A figure of the text is taken in points or in percent of the quantity that its sentence names,
whichever makes it right; other ways to reckon are no excuse, but are told in the remark.
"""

import csv
import re
from collections.abc import Callable
from fractions import Fraction
from statistics import mean

import pandas as pd

from alignbook import PACKAGE
from alignbook.evidence import printed_tables, rounding
from alignbook.evidence.rounding import (
    NO,
    READINGS,
    WITHIN,
    YES,
    Printed,
    difference,
    percent_above,
    percent_below,
    printed,
    same,
    total,
    written,
)

COLUMNS = ["exhibit", "row", "check", "printed", "recomputed", "agrees", "how"]
R1 = ["i2t R@1", "t2i R@1"]
SIX = [f"{way} R@{k}" for way in ("i2t", "t2i") for k in (1, 5, 10)]
FLICKR30K = {"all": 31014, "train": 29000}  # the usual split: from its file, not from the papers
LISTED = {"SGRAF": 10, "SCAN": 21, "TERAN": 28, "NAAF": 46}  # in CHAN's §4.2, with references
TEX = {
    r"p_i^k": "p",
    r"\delta": "δ",
    r"\leq": "≤",
    r"\in": "∈",
    r"x_k^T x'_l": "xᵀx′",
    r"\mathcal{B}_j^c": "B_c",
    r"\mathcal{B}_j^n": "B_n",
    r"\{": "{",
    r"\}": "}",
}

# --- Reading the print ---------------------------------------------------------------------------


def grid(exhibit: str) -> dict[str, dict[str, Printed]]:
    """A table's rows ("group: row" where there are groups), each of numbers by column."""
    rows = {}
    for cell in printed_tables.table(exhibit).itertuples():
        name = ": ".join(filter(None, (cell.group, cell.row)))
        rows.setdefault(name, {})[cell.column] = printed(cell.printed, cell.decimals)
    return rows


def prose() -> dict[str, dict[str, str]]:
    """Lines of printed/prose.csv by id: exhibit, where, printed, unit, about."""
    with open(PACKAGE / "evidence" / "printed" / "prose.csv", encoding="utf-8", newline="") as file:
        return {line["id"]: line for line in csv.DictReader(file)}


def plain(text: str) -> str:
    """A formula of printed/prose.csv, which keeps the texts' LaTeX, to be read in a table.

    >>> plain(r"p_i^k > \\delta")
    'p > δ'
    """
    for tex, sign in TEX.items():
        text = text.replace(tex, sign)
    return text


def recalls(exhibit: str) -> list[tuple[str, str, list[Printed]]]:
    """(row, direction, recalls at rising K) of a table, without its rows of gains."""
    found = []
    for name, row in grid(exhibit).items():
        for way in dict.fromkeys(c.partition(" R@")[0] for c in row if " R@" in c):
            if not name.endswith("gain"):
                found.append((name, way, [n for c, n in row.items() if c.startswith(way + " R@")]))
    return found


# --- One check, one row --------------------------------------------------------------------------


def judge(
    exhibit: str,
    row: str,
    check: str,
    number: Printed,
    formula: Callable,
    inputs: list[Printed],
    how: str,
    relation: str = "=",
    shown: str = "",
) -> tuple:
    """A printed number against a formula of others; see `intervals.verdict`.

    `how` is the formula in words, `shown` stands in place of the number's text.
    """
    recomputed, agrees, remark = rounding.verdict(number, formula, inputs, relation)
    how = f"{how}; {remark}" if remark else how
    return exhibit, row, check, shown or number.text, recomputed, agrees, how


def above(
    exhibit: str, row: str, check: str, first: Printed, second: Printed, shown="", note=""
) -> tuple:
    """The first number is the higher one."""
    how = f"{first.text} − {second.text} should be above zero{note}"
    shown = shown or f"{first.text} > {second.text}"
    return judge(exhibit, row, check, printed("0"), difference, [first, second], how, ">", shown)


def highest(exhibit: str, name: str, column: str, among: str = "", shown: str = "") -> tuple:
    """A row has the highest number of its column, of the rows whose names begin with `among`."""
    table = grid(exhibit)
    others = [row[column] for key, row in table.items() if key.startswith(among) and key != name]
    best = max(others, key=lambda n: n.value)
    return above(exhibit, name, f"highest {column}", table[name][column], best, shown)


def said(key: str, check: str, formula: Callable, inputs: list[Printed], how: str, relation="="):
    """`judge` for a figure of the running text."""
    line = prose()[key]
    return judge(
        line["exhibit"],
        f"text, {line['where']}",
        check,
        printed(line["printed"]),
        formula,
        inputs,
        how,
        relation,
    )


def stated(key: str, check: str, found: str, holds: bool, how: str, row: str = "") -> tuple:
    """Words of the running text that hold or don't."""
    line = prose()[key]
    row = row or f"text, {line['where']}"
    agrees = YES if holds else NO
    return line["exhibit"], row, check, plain(line["printed"]), plain(found), agrees, how


def quoted(key: str, cell: Printed) -> tuple:
    """A number of a table that the running text repeats."""
    return said(key, prose()[key]["about"], same, [cell], "the table's cell")


def every(exhibit: str, row: str, check: str, good: list[bool], what: str, how: str) -> tuple:
    """Many equal comparisons in one row."""
    agrees = YES if all(good) else NO
    return exhibit, row, check, f"{len(good)} {what}", f"{sum(good)} hold", agrees, how


# --- All papers: sums, the order of recalls, what a recall is a fraction of ----------------------


def fitting(numbers: list[Printed], wholes) -> pd.DataFrame:
    """How many of the numbers fit each number of queries: whole, rounded, truncated."""
    counts = {
        each: [sum(rounding.fits(number, whole, each) for number in numbers) for whole in wholes]
        for each in READINGS
    }
    return pd.DataFrame({"whole": list(wholes), **counts})


def queries(exhibit: str, check: str, wholes: dict[str, int], how: str) -> tuple:
    """Whether a table's recalls are fractions of so many queries, by direction ("f30k i2t")."""
    cells = [(n, wholes[way]) for _, way, inner in recalls(exhibit) for n in inner if way in wholes]
    fit = {each: sum(rounding.fits(*cell, each) for cell in cells) for each in READINGS}
    full = [fit[each] == len(cells) for each in READINGS]
    agrees = YES if full[0] else WITHIN if full[1] else NO
    found = " or ".join(f"{fit[each]} if {each}" for each in READINGS)
    return exhibit, "all rows", check, f"{len(cells)} recalls", f"fit: {found}", agrees, how


def tables() -> list[tuple]:
    """What holds of every table of recalls."""
    rows = []
    for exhibit in printed_tables.exhibits():
        for name, row in grid(exhibit).items():
            for column in (c for c in row if c.endswith("RSUM")):
                six = [row[c] for way in SIX if (c := column.replace("RSUM", way)) in row]
                if six:  # CoV-Align's Table 5 prints no recalls
                    rows.append(
                        judge(
                            exhibit, name, column, row[column], total, six, "sum of the six recalls"
                        )
                    )
        lists = [inner for _, _, inner in recalls(exhibit) if len(inner) > 1]
        if not lists:
            continue
        values = [[0, *(n.value for n in inner), 100] for inner in lists]
        rows.append(
            every(
                exhibit,
                "all rows",
                "recalls rise with K",
                [each == sorted(each) for each in values],
                "lists of recalls",
                "R@1 ≤ R@5 ≤ R@10 ≤ 100",
            )
        )
        if {n.decimals for inner in lists for n in inner} == {1}:
            ways = {way: 1014 for _, way, _ in recalls(exhibit)}
            rows.append(
                queries(
                    exhibit,
                    "number of queries",
                    ways,
                    "1,014 fit, and so does any larger number and 1,000: with one "
                    "decimal the print cannot tell",
                )
            )
    return rows


# --- CHAN ----------------------------------------------------------------------------------------


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
    """Methods with a star in CHAN's Tables 1 and 2: averages of two models."""
    cells = pd.concat([printed_tables.table("chan-T1"), printed_tables.table("chan-T2")])
    return sorted(set(cells.row[cells.mark.str.contains("ensemble")]))


def chan() -> list[tuple]:
    """CHAN: who leads, the figures of sections 4.1 to 4.3, equal rows, citations."""
    one, two, three = (grid(f"chan-T{n}") for n in (1, 2, 3))
    text, gru, bert = prose(), "BUTD + BiGRU: ", "BUTD + BERT: "
    own, scan, name = two[gru + "CHAN (ours)"], two[gru + "SCAN"], "CHAN (ours)"
    rows = [
        highest(exhibit, group + name, column, among=group)
        for exhibit, column in (("chan-T1", "1K RSUM"), ("chan-T1", "5K RSUM"), ("chan-T2", "RSUM"))
        for group in (gru, bert)
    ]
    rows.append(
        every(
            "chan-T1",
            "all rows",
            "1K recalls against 5K",
            [row[f"1K {c}"].value >= row[f"5K {c}"].value for row in one.values() for c in SIX],
            "pairs of recalls",
            "1K ≥ 5K: among a fifth of the images no rank is worse",
        )
    )
    for way, column in zip(("i2t", "t2i"), R1):
        a, b = own[column], scan[column]
        rows.append(
            said(
                f"chan-scan-{way}",
                f"lead over SCAN, {column}",
                difference,
                [a, b],
                f"{a.text} − {b.text}, in points; said to be over this",
                ">",
            )
        )
    lead = two[bert + name]["RSUM"]
    others = [row["RSUM"] for key, row in two.items() if key.startswith(bert)]
    other = sorted(others, key=lambda n: n.value)[-2]
    rows += [
        said(
            "chan-bert-lead",
            "lead in RSUM",
            difference,
            [lead, other],
            f"{lead.text} − {other.text}, in points of RSUM (of which it is "
            f"{written(percent_above(lead.value, other.value))} %); said to be over this",
            ">",
        ),
        quoted("chan-bert", lead),
        quoted("chan-bigru", own["RSUM"]),
    ]

    codings = ("Visual Codebook", "Cross-Attention", "Textual Codebook")
    hard, soft, textual = (three[f"Coding Types: {coding}"] for coding in codings)
    ahead, behind = leads(hard, soft), leads(hard, textual)
    for key, check, formula, inputs, ways, elsewhere in (
        ("chan-hard", "lead over cross-attention", percent_above, (hard, soft), ahead, behind),
        (
            "chan-textual",
            "loss of the textual codebook",
            percent_below,
            (textual, hard),
            behind,
            ahead,
        ),
    ):
        first, second = (row["RSUM"] for row in inputs)
        target = printed(text[key]["printed"])
        hits = [
            f"of six ways to reckon one gives the print: the {way} is "
            f"{written(value)}; it may do so by chance, as for the other figure of §4.3 it "
            f"gives {written(elsewhere[way])}"
            for way, value in ways.items()
            if abs(value - target.value) * 10**target.decimals * 2 <= 1
        ]
        rows.append(
            said(
                key,
                f"{check} in RSUM",
                formula,
                [first, second],
                f"RSUM {first.text} against {second.text} in percent (in points "
                f"{written(ways['points of RSUM'])}); "
                + ("; ".join(hits) or "none of six ways to reckon gives the print"),
            )
        )
    coco = one[gru + name]
    equal = [
        hard[c].value == three["Pooling Types: LSE-Pooling"][c].value == coco[f"5K {c}"].value
        for c in hard
    ]
    rows.append(
        every(
            "chan-T3",
            codings[0],
            "same as LSE-Pooling and Table 1's CHAN",
            equal,
            "cells",
            "one model on one test set",
        )
    )

    train, part, images, val, test = (
        printed(text[f"chan-{key}"]["printed"])
        for key in ("coco-train", "coco-rest", "flickr", "flickr-val", "flickr-test")
    )
    rest = int(images.value - val.value - test.value)
    bfan, vsrn, split, title, listed = (
        text[f"chan-{key}"]["printed"] for key in ("bfan", "vsrn", "split", "split-34", "ensembles")
    )
    cited, starred = re.findall("[0-9]+", listed), ensembles()
    bare = [name for name, n in LISTED.items() if str(n) in cited and name not in starred]
    return rows + [
        said(
            "chan-coco",
            "parts add up",
            total,
            [train, part, part],
            f"{train.text} + {part.text} + {part.text}",
        ),
        stated(
            "chan-flickr",
            "images left to train on",
            f"{rest:,}",
            rest == FLICKR30K["train"],
            f"{images.text} − {val.text} − {test.text}; the usual split has "
            f"{FLICKR30K['train']:,} for training, of {FLICKR30K['all']:,} in all (we know this "
            "from its file, not from the paper)",
        ),
        stated(
            "chan-bfan",
            "citation",
            vsrn,
            bfan.split()[-1] != vsrn.split()[-1],
            "one number for two methods; BFAN's article is reference 25",
            row=gru + "BFAN",
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


# --- ComAlign ------------------------------------------------------------------------------------

OURS, GAIN = " + ComAlign", " relative gain"
CLIP, COCA, NEGCLIP, PYRAMID = (f"{n}-ViT-B/32" for n in ("CLIP", "COCA", "NegClip", "PyramidCLIP"))


def comalign() -> list[tuple]:
    """ComAlign: every gain, then the text on Tables I and II, the ablations, the data behind."""
    rows, gains = [], {}
    for exhibit in ("comalign-TI", "comalign-TII"):
        table = grid(exhibit)
        for base in (name.removesuffix(GAIN) for name in table if name.endswith(GAIN)):
            for column, number in table[base + GAIN].items():
                new, old = table[base + OURS][column], table[base][column]
                gains.setdefault((exhibit, base), {})[column] = new.value - old.value
                rows.append(
                    judge(
                        exhibit,
                        base + GAIN,
                        column,
                        number,
                        difference,
                        [new, old],
                        f"{new.text} − {old.text}, in points",
                    )
                )
    return rows + comalign_retrieval(gains) + comalign_ablations() + comalign_print()


def comalign_retrieval(gains: dict) -> list[tuple]:
    """Sections I, IV-C and IV-D against Tables I and II."""
    table, rows = grid("comalign-TI"), []
    for way, column in (("i2t", "coco i2t R@1"), ("t2i", "coco t2i R@1")):
        new, old = table[CLIP + OURS][column], table[CLIP][column]
        rows.append(
            said(
                f"comalign-{way}",
                f"gain of CLIP, {column}",
                difference,
                [new, old],
                f"{new.text} − {old.text}, in points (in percent of the base it is "
                f"{written(percent_above(new.value, old.value))})",
            )
        )
        rows.append(
            above(
                "comalign-TI",
                "text, §I",
                f"ComAlign over PyramidCLIP, {column}",
                new,
                table[PYRAMID][column],
                prose()["comalign-pyramid"]["printed"],
                "; read as speaking of both directions, which it has just named",
            )
        )
    negclip = gains["comalign-TI", NEGCLIP]
    most = max((c for c in negclip if c.startswith("f30k i2t")), key=negclip.get)
    rows.append(
        said(
            "comalign-negclip",
            "largest gain of NegCLIP, f30k i2t",
            difference,
            [table[NEGCLIP + OURS][most], table[NEGCLIP][most]],
            f"of three gains that at {most.split()[-1]}, in points",
        )
    )
    coca = [c for c, value in gains["comalign-TI", COCA].items() if value < 0]
    two = {base: each for (exhibit, base), each in gains.items() if exhibit == "comalign-TII"}
    fall = [f"{base}, {c}" for base, each in two.items() for c in each if each[c] < 0]
    wins = [each["VG-Attribution"] > each["VG-Relation"] for each in two.values()]
    attributes, relations = (
        written(mean(each[c] for each in two.values())) for c in ("VG-Attribution", "VG-Relation")
    )
    return rows + [
        stated(
            "comalign-coca",
            "where CoCa falls",
            ", ".join(coca),
            bool(coca) and all(c.startswith("f30k t2i") for c in coca),
            "columns of Table I in which CoCa with ComAlign is below CoCa",
        ),
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


def comalign_ablations() -> list[tuple]:
    """Section IV-E against Tables III to VI."""
    terms, features, network, layers = (grid(f"comalign-T{n}") for n in ("III", "IV", "V", "VI"))
    whole, *parts = terms
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
    change = {
        (name, c): features[name][c].value - terms[name][c].value for name in parts for c in R1
    }
    rises = [f"{name} {c} by {written(v, 2)}" for (name, c), v in change.items() if v >= 0]
    means = [written(mean(change[name, c] for name in parts), 2) for c in R1]
    twin = ", ".join(name for name in text if name != "V" and text[name] == text["V"])
    models = [text[name] == text["III"] for name in ("IV", "two layers")]
    return [
        stated(
            "comalign-further",
            "every cell of Table IV below that of Table III",
            f"{len(change) - len(rises)} of {len(change)} fall",
            not rises,
            f"these rise: {', '.join(rises)}; in the mean of the four rows recalls change by "
            f"{means[0]} (i2t) and {means[1]} (t2i)",
        ),
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


def comalign_print() -> list[tuple]:
    """Bold cells, the images behind the recalls, and places that must say the same."""
    cells = printed_tables.table("comalign-TI")
    cells = cells[~cells.row.str.endswith(GAIN)]
    columns = [cells.row.str.extract("(ViT-[A-Z]/[0-9]+)")[0], cells.column]
    best = cells.value == cells.groupby(columns).value.transform("max")
    right = best == cells.mark.str.split().map(lambda marks: "bold" in marks)
    right = list(right.groupby(columns).all())
    text = prose()
    return [
        every(
            "comalign-TI",
            "all rows",
            "bold cells are the best",
            right,
            "columns of a backbone",
            "ties are bold together",
        ),
        queries(
            "comalign-TI",
            "Flickr30K: 1,014 images, 5,070 captions",
            {"f30k i2t": 1014, "f30k t2i": 5070},
            "k out of so many in percent, cut off after two decimals; so many has the usual "
            "validation split, and the paper names none",
        ),
        *(
            queries(
                exhibit,
                "MS-COCO: 5,000 images, 25,000 captions",
                {f"{at}i2t": 5000, f"{at}t2i": 25000},
                "k out of so many in percent: of images an even last digit, of captions anything",
            )
            for exhibit, at in (
                ("comalign-TI", "coco "),
                ("comalign-TIII", ""),
                ("comalign-TIV", ""),
                ("comalign-TV", ""),
                ("comalign-TVI", ""),
            )
        ),
        *(
            stated(
                key,
                check,
                f"{text[other]['printed']} ({text[other]['where']})",
                text[key]["printed"] == text[other]["printed"],
                how,
            )
            for key, other, check, how in (
                ("comalign-adam", "comalign-adamw", "optimiser", "two places name two optimisers"),
                (
                    "comalign-tuned",
                    "comalign-tuned-on",
                    "data for tuning",
                    "what was composed to test on MS-COCO has none of its images; a third place, "
                    f"{text['comalign-tuned-set']['where']}, says "
                    f'"{text["comalign-tuned-set"]["printed"]}", which may be either',
                ),
            )
        ),
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


# --- CoV-Align -----------------------------------------------------------------------------------


def covalign() -> list[tuple]:
    """CoV-Align: what varies in Table 5, its drops, the text's figures, Table 6's caption."""
    table, text, weights = grid("covalign-T5"), prose(), ("λ_v", "λ_g", "λ_c")
    cells = printed_tables.table("covalign-T5")
    marked = cells.printed[cells.mark.str.contains("default") & (cells.column == "λ_c")].item()
    fixed = {row["λ_c"].text for name, row in table.items() if not name.startswith("Varying λ_c")}
    rsum = {tuple(row[w].value for w in weights): row["RSUM"] for row in table.values()}
    best, rows = rsum[1, 1, 5], []
    for group in dict.fromkeys(name.partition(": ")[0] for name in table):
        inner = [row for name, row in table.items() if name.startswith(f"{group}: ")]
        varying = [w for w in weights if len({row[w].value for row in inner}) > 1]
        lowest = min((row["RSUM"] for row in inner), key=lambda n: n.value)
        rows.append(
            (
                "covalign-T5",
                group,
                "the weight that varies",
                group,
                ", ".join(varying),
                YES if group.split()[1:] == varying else NO,
                "the column in which the rows of the group differ",
            )
        )
        rows += [
            judge(
                "covalign-T5",
                group,
                "drop",
                row["drop"],
                difference,
                [best, lowest],
                f"{best.text} (λ_c = 5) − {lowest.text}, the lowest of the group",
            )
            for row in inner
            if "drop" in row
        ]
    rows.append(
        (
            "covalign-T5",
            "Default",
            "λ_c in the row so marked",
            f"λ_c = {marked}",
            f"λ_c = {' or '.join(sorted(fixed))} in the other groups",
            YES if fixed == {marked} else NO,
            "two groups vary one weight and fix the rest; they fix λ_c elsewhere, and their "
            "drops are counted from there",
        )
    )
    swept = sorted((n for (v, g, _), n in rsum.items() if v == g == 1), key=lambda n: n.value)
    low, high = (printed(text[f"covalign-lv-{end}"]["printed"]) for end in ("low", "high"))
    rows += [
        said(
            "covalign-lc",
            "spread over λ_c",
            percent_below,
            [swept[0], swept[-1]],
            f"from {swept[-1].text} down to {swept[0].text}, in percent; said to be less",
            "<",
        ),
        said(
            "covalign-lv",
            "spread over λ_v",
            difference,
            [high, low],
            f"{high.text} − {low.text}, from the same sentence",
        ),
        said(
            "covalign-lg",
            "drop at λ_g = 2",
            difference,
            [best, rsum[1, 2, 5]],
            f"{best.text} − {rsum[1, 2, 5].text}",
        ),
        quoted("covalign-lv-low", rsum[2, 1, 5]),
        quoted("covalign-lv-high", rsum[Fraction("0.5"), 1, 5]),
        quoted("covalign-lg-low", rsum[1, 2, 5]),
    ]
    six = [[n.value for n in row.values()] for row in grid("covalign-T6").values()]
    here = [tr > ir for tr, _, ir, _ in six]
    found = {
        (exhibit, name, way): inner[0].value
        for exhibit in printed_tables.exhibits()
        for name, way, inner in recalls(exhibit)
    }
    others = [
        value > found[exhibit, name, way.replace("i2t", "t2i")]
        for (exhibit, name, way), value in found.items()
        if way.endswith("i2t")
    ]
    one, ten, one_too, ten_too = six[-1]
    room = best.value - sum(six[-1])
    return rows + [
        stated(
            "covalign-tr",
            "direction",
            f"TR is the higher in {sum(here)} of {len(here)} rows",
            not (all(here) and all(others)),
            row="caption",
            how=f"in {sum(others)} of {len(others)} rows of the other tables R@1 is the higher "
            "from image to text, so TR must be text retrieved by images",
        ),
        (
            "covalign-T6",
            "w/ Shared Matrix (W)",
            "Table 5's RSUM leaves room for R@5",
            best.text,
            f"{written(room, 1)} for both R@5",
            YES if one + one_too <= room <= ten + ten_too else NO,
            "RSUM less the four recalls lies between the sums of R@1 and R@10",
        ),
    ]


# --- GSL -----------------------------------------------------------------------------------------


def gsl() -> list[tuple]:
    """GSL: the best threshold, every percentage of time, telling noise, Algorithm 1."""
    text, times, rows = prose(), grid("gsl-T2"), []
    base = times["NCR"]["seconds"]
    for name, row in times.items():
        seconds, key = row["seconds"], f"gsl-{name.lower()}"
        how = f"{seconds.text} against {base.text}, in percent"
        rows.append(
            judge("gsl-T2", name, "increase", row["increase"], percent_above, [seconds, base], how)
        )
        if name != "NCR":
            formula = percent_below if seconds.value < base.value else percent_above
            rows.append(said(key, f"{name}'s time", formula, [seconds, base], how))
    superior = text["gsl-superior"]["printed"]
    clean, noisy, label, refined, networks, steps = (
        text[f"gsl-{key}"]["printed"]
        for key in ("clean", "noisy", "label", "refined", "networks", "steps")
    )
    return rows + [
        quoted("gsl-ncr", base),
        quoted("gsl-best", grid("gsl-T1")["0.5"]["RSUM"]),
        highest("gsl-T1", "0.5", "RSUM"),
        *(highest("gsl-T3", "GSL", column, shown=superior) for column in ("precision", "recall")),
        stated(
            "gsl-noisy",
            "condition for noisy pairs",
            f"{clean} for clean ones",
            clean != noisy,
            "one condition in lines 9 and 10, so that every noisy pair would be a clean one; "
            "the set in line 10 also lacks the k that the one in line 9 has",
        ),
        stated(
            "gsl-steps",
            "loop variable",
            f"{networks} in line 8",
            steps[0] != networks[0],
            "the inner loop writes over the network k, which line 12 still needs",
        ),
        stated(
            "gsl-refined",
            "labels of clean pairs",
            f"{label} in line 12",
            "^c" not in refined,
            "labels are refined in both sets, and nothing is left of the 1 of line 12",
        ),
    ]


# --- What comes of it ----------------------------------------------------------------------------


def audit() -> pd.DataFrame:
    """Every check: exhibit, row, check, printed, recomputed, agrees, how."""
    rows = [*tables(), *chan(), *comalign(), *covalign(), *gsl()]
    found = pd.DataFrame(rows, columns=COLUMNS)
    return found.sort_values("exhibit", kind="stable", ignore_index=True)


def summary(found: pd.DataFrame) -> pd.DataFrame:
    """How many checks of each paper agree, agree within rounding, or don't."""
    paper = found.exhibit.str.partition("-")[0].map(printed_tables.PAPERS).rename("paper")
    counts = pd.crosstab(paper, found.agrees)
    return counts.reindex(
        index=printed_tables.PAPERS.values(), columns=[YES, WITHIN, NO], fill_value=0
    )


def uncheckable() -> pd.DataFrame:
    """Printed figures that the texts at hand cannot confirm or refute: exhibit, printed, why."""
    figure = "read off a figure whose numbers are not in our text"
    return pd.DataFrame(
        [
            ("chan-F3", "over 10 times faster; 3 times faster", figure),
            ("chan-F4", "accuracy grows with K", figure),
            (
                "chan-T1",
                "types of the methods: VSE∞ is Global, then Fragment, then Aligning",
                "our text is garbled here, with seven types for eight rows",
            ),
            ("chan-T1", "bold red for the best RSUM", "our text has lost the marks of this table"),
            ("comalign-F6", "α1, α2, β1", figure),
            ("comalign-F7", "learning rate, epochs, batch size", figure),
            (
                "comalign-F7",
                "coefficients of the coarse-grained loss",
                "Equations 6 and 7 have no coefficient; it may have been 1 at last",
            ),
            ("comalign", "approximately 80,000; around 100K", "approximations, called such"),
            ("comalign", "143M samples; within 4 hours", "facts about training, no formula"),
            (
                "comalign-TI",
                "Flickr30K",
                'which of its splits is not stated; see "How many pictures?"',
            ),
            (
                "covalign-T3",
                "N_q = 8 is best",
                "the table is in the main paper, which we don't hold",
            ),
            ("covalign-F5", "attention is spatially concentrated", figure),
            (
                "gsl-T2",
                "RSum improvements of 10.8, 3.3, 6.2, 8.0, 5.8",
                "NCR's RSUM is in the main paper, which we don't hold",
            ),
            ("gsl-F2", "corrected labels", figure),
        ],
        columns=["exhibit", "printed", "why"],
    )
