"""GSL's printed numbers, recomputed from what else the paper prints; its tables lie here."""

from alignbook.evidence import printed_tables
from alignbook.evidence.print_checks import (
    FROM_A_FIGURE,
    Check,
    Unchecked,
    grid,
    highest,
    judge,
    quoted,
    said,
    stated,
)
from alignbook.evidence.rounding import percent_above, percent_below

UNCHECKABLE = [
    Unchecked(
        "gsl-T2",
        "RSum improvements of 10.8, 3.3, 6.2, 8.0, 5.8",
        "NCR's RSUM is in the main paper, which we don't hold",
    ),
    Unchecked("gsl-F2", "corrected labels", FROM_A_FIGURE),
]


def checks() -> list[Check]:
    """The best threshold, every percentage of time, telling noise, Algorithm 1."""
    superior = printed_tables.prose()["gsl-superior"]["printed"]
    return [
        *_times(),
        quoted("gsl-ncr", grid("gsl-T2")["NCR"]["seconds"]),
        quoted("gsl-best", grid("gsl-T1")["0.5"]["RSUM"]),
        highest("gsl-T1", "0.5", "RSUM"),
        *(highest("gsl-T3", "GSL", column, shown=superior) for column in ("precision", "recall")),
        *_algorithm(),
    ]


def _times() -> list[Check]:
    """Table 2's percentages of NCR's time, in the table and in the text."""
    times, rows = grid("gsl-T2"), []
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
    return rows


def _algorithm() -> list[Check]:
    """Lines of Algorithm 1 that contradict one another."""
    clean, noisy, label, refined, networks, steps = (
        printed_tables.prose()[f"gsl-{key}"]["printed"]
        for key in ("clean", "noisy", "label", "refined", "networks", "steps")
    )
    return [
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
