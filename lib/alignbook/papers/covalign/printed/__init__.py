"""CoV-Align's printed numbers, recomputed from what else the paper prints; its tables lie here."""

from fractions import Fraction

from alignbook.evidence import printed_tables
from alignbook.evidence.print_checks import (
    FROM_A_FIGURE,
    Check,
    Unchecked,
    grid,
    judge,
    quoted,
    recalls,
    said,
    stated,
)
from alignbook.evidence.rounding import (
    NO,
    YES,
    Printed,
    difference,
    percent_below,
    printed,
    written,
)

WEIGHTS = ("λ_v", "λ_g", "λ_c")
UNCHECKABLE = [
    Unchecked(
        "covalign-T3", "N_q = 8 is best", "the table is in the main paper, which we don't hold"
    ),
    Unchecked("covalign-F5", "attention is spatially concentrated", FROM_A_FIGURE),
]


def checks() -> list[Check]:
    """What varies in Table 5, its drops, the text's figures, Table 6's caption."""
    table = grid("covalign-T5")
    rsum = {tuple(row[w].value for w in WEIGHTS): row["RSUM"] for row in table.values()}
    best = rsum[1, 1, 5]
    return [*_groups(table, best), _default(table), *_text(rsum, best), _directions(), _room(best)]


def _groups(table: dict, best: Printed) -> list[Check]:
    """Which weight each group of Table 5 varies, and its drops from the best RSUM."""
    rows = []
    for group in dict.fromkeys(name.partition(": ")[0] for name in table):
        inner = [row for name, row in table.items() if name.startswith(f"{group}: ")]
        varying = [w for w in WEIGHTS if len({row[w].value for row in inner}) > 1]
        lowest = min((row["RSUM"] for row in inner), key=lambda n: n.value)
        agrees = YES if group.split()[1:] == varying else NO
        how, check = "the column in which the rows of the group differ", "the weight that varies"
        rows.append(Check("covalign-T5", group, check, group, ", ".join(varying), agrees, how))
        how = f"{best.text} (λ_c = 5) − {lowest.text}, the lowest of the group"
        rows += [
            judge("covalign-T5", group, "drop", row["drop"], difference, [best, lowest], how)
            for row in inner
            if "drop" in row
        ]
    return rows


def _default(table: dict) -> Check:
    """Whether λ_c in the row that is marked as default is that of the other groups."""
    cells = printed_tables.table("covalign-T5")
    marked = cells.printed[cells.mark.str.contains("default") & (cells.column == "λ_c")].item()
    fixed = {row["λ_c"].text for name, row in table.items() if not name.startswith("Varying λ_c")}
    return Check(
        "covalign-T5",
        "Default",
        "λ_c in the row so marked",
        f"λ_c = {marked}",
        f"λ_c = {' or '.join(sorted(fixed))} in the other groups",
        YES if fixed == {marked} else NO,
        "two groups vary one weight and fix the rest; they fix λ_c elsewhere, and their drops are "
        "counted from there",
    )


def _text(rsum: dict, best: Printed) -> list[Check]:
    """The supplement's sentences on Table 5, from RSUM by the three weights."""
    text = printed_tables.prose()
    swept = sorted((n for (v, g, _), n in rsum.items() if v == g == 1), key=lambda n: n.value)
    low, high = (printed(text[f"covalign-lv-{end}"]["printed"]) for end in ("low", "high"))
    return [
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


def _directions() -> Check:
    """Which direction Table 6 calls TR: R@1 is the higher from image to text in other tables."""
    here = [row["TR R@1"].value > row["IR R@1"].value for row in grid("covalign-T6").values()]
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
    return stated(
        "covalign-tr",
        "direction",
        f"TR is the higher in {sum(here)} of {len(here)} rows",
        not (all(here) and all(others)),
        row="caption",
        how=f"in {sum(others)} of {len(others)} rows of the other tables R@1 is the higher "
        "from image to text, so TR must be text retrieved by images",
    )


def _room(best: Printed) -> Check:
    """Whether Table 5's best RSUM leaves R@5 between R@1 and R@10 of Table 6."""
    shared = "w/ Shared Matrix (W)"
    row = [n.value for n in list(grid("covalign-T6").values())[-1].values()]
    one, ten, one_too, ten_too = row
    room = best.value - sum(row)
    return Check(
        "covalign-T6",
        shared,
        "Table 5's RSUM leaves room for R@5",
        best.text,
        f"{written(room, 1)} for both R@5",
        YES if one + one_too <= room <= ten + ten_too else NO,
        "RSUM less the four recalls lies between the sums of R@1 and R@10",
    )
