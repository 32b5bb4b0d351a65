"""What the numbers say of the papers' claims: ours, and the papers' own.

A claim is a set of contrasts, each with a t test over paired seeds, of which some (most often all)
have to hold. Two p values follow for the claim: that as many hold, and that so many are reversed
that it cannot be (partial conjunctions: the largest p if all have to hold, Bonferroni's for "any
is reversed"). Holm's correction is over the claims of a paper that are judged together, at 5 %:

- reproduced: as many contrasts as it takes lie in their range;
- contradicted: more contrasts than it can spare lie the other way;
- trend only: neither, but as many as it takes point the right way, one or more of them
  significantly, and not more than it can spare are significantly reversed;
- undecided: else, among it every claim whose arms do not differ.

A claim that rests on an arm that did not train (see `learnt`) is "did not train"; one that rests on
an arm which four times the steps move by more than 5 % is undecided. Neither is in a family.
Also "not run" (an arm, a second seed or a longer profile is missing), "not testable here", and "on
paper only" for claims about the print itself.
"""

from dataclasses import replace

import numpy as np
import pandas as pd

from alignbook.core.names import PROFILES
from alignbook.evidence import claims, learnt, printed_tables, statistics
from alignbook.evidence.claims import Claim, Contrast, Term
from alignbook.evidence.contrasts import (
    LEVEL,
    RECALLS,
    Numbers,
    foresee,
    is_right,
    measured,
    needed,
)
from alignbook.store import progress

VERDICTS = (
    "reproduced",
    "trend only",
    "undecided",
    "contradicted",
    "did not train",
    "not run",
    "not testable here",
    "on paper only",
)
JUDGED = VERDICTS[:4]
CLAIM_COLUMNS = (  # of the first table that `judge` returns
    "claim",
    "paper",
    "exhibit",
    "says",
    "test",
    "verdict",
    "why",
    "seeds",
    "p",  # of the claim, for the verdict it is nearer to
    "holm",  # that p, corrected
    "needed",  # seeds that decide it with probability 0.8 if what was measured is the truth
)
CONTRAST_COLUMNS = (  # of the second
    "claim",
    "contrast",
    "column",  # of metrics.csv; empty where it takes several
    "same_as",  # the claim above, of the same paper, that has this very contrast: count such once
    "unit",
    "seeds",
    "value",
    "low",  # with high, the t interval over seeds
    "high",
    "level",  # of the interval: 0.95; 0.90 for two bounds, as two one-sided tests go with it
    "p",  # of this test alone
    "holm",  # the level, over all claims of the family, at which the contrast reads as it does
    "reading",  # "holds", "reversed" or "open"
    "query_low",  # with query_high, the bootstrap over test images
    "query_high",
    "detectable",
    "needed",
)


def judge(metrics: pd.DataFrame, profile: str, chosen=None, images: pd.DataFrame | None = None):
    """Verdicts on claims, and the contrasts behind them.

    Parameters
    ----------
    metrics : exhibit, row, column, seed, value, and learnt where it is known, as in metrics.csv.
    profile : the profile that made them; `smoke` decides nothing.
    chosen : the claims to judge, all of `claims.load()` by default; Holm's correction is over the
        claims of each paper among them that can be judged, its family.
    images : exhibit, row, target ("" unless a row has several), seed, image and the six recalls
        of each test image, as in images.parquet, for the query bootstrap.

    Returns
    -------
    verdicts, contrasts : DataFrames with the columns `CLAIM_COLUMNS` and `CONTRAST_COLUMNS`.

    Notes
    -----
    `holm` of a contrast is its own p corrected by Holm within its claim and by Bonferroni for the
    number of claims, or its claim's if that is lower and it is one of those that decide the claim.
    `detectable` is the smallest true distance from the claimed bound that these seeds find with
    probability 0.8, each contrast by itself, a factor for "×". Of claims with two bounds it is half
    the width of a band around zero that they would confirm, should there be no difference. `needed`
    is the seeds with which a contrast plays its part in the verdict. Both are at the level that
    decides if no other claim of the family is: 5 % by the number of claims, and of n contrasts by
    n - need + 1 to hold, by need to be reversed. Upper bounds, as Holm is kinder once one is.

    Raises
    ------
    ValueError
        For a profile or a table that is none: a column is missing, or a number is there twice.
    """
    if profile not in PROFILES:
        raise ValueError(f"no profile {profile!r}; there are: {', '.join(PROFILES)}")
    _has(metrics, "metrics", ("exhibit", "row", "column", "seed", "value"))
    if images is not None:
        _has(images, "images", ("exhibit", "row", "target", "seed", "image", *RECALLS))
    chosen = claims.load() if chosen is None else chosen
    numbers = Numbers(metrics, images)
    found, families, lines, above = {}, {}, [], {}
    for claim in chosen:
        found[claim.id], own = _not_judged(claim, profile, numbers), []
        for contrast in () if claim.print_only else claim.contrasts:
            key = claim.paper, contrast.first, contrast.second, contrast.unit
            if line := measured(contrast, numbers):
                same = above.setdefault(key, claim.id)
                own.append({"claim": claim.id, "same_as": "" if same == claim.id else same} | line)
        lines += own
        if found[claim.id] is None:
            families.setdefault(claim.paper, []).append((claim, own))
    for family in families.values():
        found |= _judged(family)
    verdicts = pd.DataFrame(
        [
            (c.id, c.paper, c.exhibit, c.says, c.test, *_noted(c, numbers, *found[c.id]))
            for c in chosen
        ],
        columns=CLAIM_COLUMNS,
    )
    return verdicts, pd.DataFrame(lines, columns=CONTRAST_COLUMNS)


def _has(table: pd.DataFrame, name: str, wanted: tuple) -> None:
    if missing := [column for column in wanted if column not in table]:
        raise ValueError(
            f"{name}: no column {', '.join(missing)}; there are: "
            f"{', '.join(map(str, table.columns)) or 'none'}"
        )


def _not_judged(claim: Claim, profile: str, numbers: Numbers) -> tuple | None:
    """Verdict and the rest of a claim that cannot be judged; None where nothing hinders."""
    rest = 0, np.nan, np.nan, np.nan
    if claim.print_only:
        return "on paper only", "a claim about the numbers of the print, not about ours", *rest
    if claim.untestable:
        return "not testable here", claim.untestable, *rest
    if missing := _missing(claim, profile, numbers):
        return "not run", missing, *rest
    if idle := _of_state(claim, numbers, learnt.DID_NOT_TRAIN):
        return learnt.DID_NOT_TRAIN, f"rests on what did not train: {', '.join(idle)}", *rest
    if moved := _moved(claim, numbers):
        return "undecided", f"not trained: four times the steps move {', '.join(moved)}", *rest
    return None


def _missing(claim: Claim, profile: str, numbers: Numbers) -> str:
    """What a claim lacks to be judged; empty where nothing is missing."""
    if PROFILES.index(profile) < PROFILES.index(claim.least):
        return f"needs the {claim.least} profile; {profile} decides nothing of this"
    terms = dict.fromkeys(term for contrast in claim.contrasts for term in contrast.terms)
    missing = [term for term in terms if term not in numbers.values]
    if len(missing) == len(terms):
        return f"not made: {', '.join(dict.fromkeys(term.exhibit for term in missing))}"
    if missing:
        return "missing: " + ", ".join(f"{t.exhibit} {t.row} {t.column}" for t in missing)
    for term in terms:
        values = numbers.values[term]
        if broken := [seed for seed in sorted(values) if not np.isfinite(values[seed])]:
            seed = broken[0]
            return f"{term.row}, seed {seed}: {term.column} is {values[seed]}"
    if min(len(numbers.seeds(contrast)) for contrast in claim.contrasts) < 2:
        return "at least two seeds in common are needed"
    for contrast in claim.contrasts:
        seeds, values = numbers.differences(contrast)
        if not np.isfinite(values).all():
            seed = seeds[int(np.argmin(np.isfinite(values)))]
            return f"{contrast.label}, seed {seed}: no number, a side is zero or below"
    return ""


def _of_state(claim: Claim, numbers: Numbers, state: str) -> list[str]:
    """Rows that a claim rests on and that are in a state."""
    terms = dict.fromkeys(term for contrast in claim.contrasts for term in contrast.terms)
    found = [term for term in terms if numbers.states.get(term) == state]
    return list(dict.fromkeys(f"{term.exhibit} {term.row}" for term in found))


def _noted(claim: Claim, numbers: Numbers, verdict: str, why: str, *rest) -> tuple:
    """A verdict, and in its reason the rows that were still learning."""
    early = _of_state(claim, numbers, learnt.STILL_LEARNING) if verdict in JUDGED else []
    return verdict, why + (f"; still learning: {', '.join(early)}" if early else ""), *rest


def _moved(claim: Claim, numbers: Numbers) -> list[str]:
    """Rows that a claim rests on and that more steps move, with the change in percent."""
    found = []
    for term in dict.fromkeys(term for contrast in claim.contrasts for term in contrast.terms):
        longer = numbers.values.get(replace(term, row=term.row + learnt.LONGER), {})
        seeds = sorted(longer.keys() & numbers.values[term].keys())
        if seeds:
            short, long = (
                np.mean([v[seed] for seed in seeds]) for v in (numbers.values[term], longer)
            )
            if abs(long - short) > learnt.MOVED * abs(short):
                found.append(f"{term.exhibit} {term.row} by {100 * (long / short - 1):+.0f} %")
    return found


def _judged(family: list[tuple[Claim, list[dict]]]) -> dict:
    """Verdicts on the claims of a paper that are judged together; completes their contrasts."""
    both = {}  # a contrast without spread over seeds has no p: it decides nothing
    for claim, lines in family:
        spare = len(lines) - claim.need
        both[claim.id] = (
            statistics.at_least(claim.need, [line["p_holds"] for line in lines]),
            statistics.at_least(spare + 1, [line["p_reversed"] for line in lines]),
        )
    corrected = statistics.holm([min(both[claim.id]) for claim, _ in family])
    found = {}
    for (claim, lines), holm in zip(family, corrected):
        holds, reversed_ = both[claim.id]
        side = "holds" if holds < reversed_ else "reversed"
        _read(claim, lines, side, holm, len(family))
        foresee(claim, lines, LEVEL / len(family))
        found[claim.id] = (
            *_verdict(claim, lines, side if holm <= LEVEL else "open"),
            min(line["seeds"] for line in lines),
            min(holds, reversed_),
            holm,
            needed(claim, lines),
        )
    return found


def _read(claim: Claim, lines: list[dict], side: str, holm: float, claims_judged: int) -> None:
    """Enter at which level each contrast is decided, by itself or with its claim, and how."""
    own = statistics.holm(np.nan_to_num([line["p"] for line in lines], nan=1.0)) * claims_judged
    k = claim.need if side == "holds" else len(lines) - claim.need + 1
    decisive = sorted(np.nan_to_num([line[f"p_{side}"] for line in lines], nan=1.0))[k - 1]
    for line, p in zip(lines, own):
        line["holm"] = min(1.0, p, holm if line[f"p_{side}"] <= decisive else 1.0)
        if line["holm"] <= LEVEL:
            line["reading"] = "holds" if line["p_holds"] == line["p"] else "reversed"


def _verdict(claim: Claim, lines: list[dict], decided: str) -> tuple[str, str]:
    """The verdict on a claim whose contrasts are all read, and the reason in words.

    `decided` is the side that the claim's own test has found, "holds", "reversed" or "open".
    """
    n = len(lines)
    against = [line["contrast"] for line in lines if line["reading"] == "reversed"]
    holds = sum(line["reading"] == "holds" for line in lines)
    right = sum(map(is_right, lines))
    also = f"; {_names(against)} significantly the other way" if against else ""
    if decided == "holds":
        return "reproduced", _count(holds, n, "hold") + also
    if decided == "reversed":
        said = _count(len(against), n, "significantly the other way")
        return "contradicted", said + (f": {_names(against)}" if n > 1 else "")
    if right >= claim.need and len(against) <= n - claim.need and holds:
        others = "the others" if right == n else f"{right - holds} more"
        same = f"; {others} point the same way" if right > holds else ""
        return "trend only", _count(holds, n, "hold") + same + also
    if still := [line["contrast"] for line in lines if np.isnan(line["p"])]:
        return "undecided", f"every seed gave the same {still[0]}: no spread to judge by" + also
    return "undecided", _count(right, n, "point the right way") + (
        f", {holds} significantly" if holds else ", none significantly"
    ) + also


def _names(contrasts: list[str]) -> str:
    """Some contrasts by name, the first three where there are many."""
    rest = [f"{len(contrasts) - 3} more"] if len(contrasts) > 3 else []
    return "; ".join(contrasts[:3] + rest)


def _count(k: int, n: int, what: str) -> str:
    return (
        f"{k} of {n} contrasts {what}"
        if n > 1
        else what.replace("hold", "it holds").replace(
            "point the right way", "it points the right way" if k else "it points the other way"
        )
    )


def rehearse(effect: float, spread: float, seeds: int, times: int = 200) -> pd.Series:
    """What the engine says of made-up numbers whose truth is known: verdicts, in % of `times`.

    Parameters
    ----------
    effect : by how much the first of two arms is truly better, in points.
    spread : standard deviation over seeds of their difference. What both arms of a seed share is
        ten times as loud, and cancels.
    """
    rng = np.random.default_rng(0)
    claim = next(
        claim for claim in claims.load() if claim.test == "greater" and len(claim.contrasts) == 1
    )
    first, second = claim.contrasts[0].terms
    shared = 300 + 10 * spread * rng.standard_normal((times, seeds))
    own = rng.normal(0, spread / np.sqrt(2), (2, times, seeds))
    said = []
    for better, worse in zip(shared + effect + own[0], shared + own[1]):
        metrics = pd.DataFrame(
            {
                "exhibit": first.exhibit,
                "row": [first.row] * seeds + [second.row] * seeds,
                "column": first.column,
                "seed": [*range(seeds)] * 2,
                "value": np.concatenate([better, worse]),
            }
        )
        said.append(judge(metrics, "laptop", [claim])[0].verdict[0])
        progress.show("made-up numbers", len(said), times)
    return 100 * pd.Series(said).value_counts(normalize=True).reindex(VERDICTS, fill_value=0.0)


# --- The papers' own numbers ---------------------------------------------------------------------


def on_paper(chosen=None) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Every claim tested on the paper's own printed table.

    A contrast "holds" or "fails" if it does for all numbers that the printed digits may stand for
    (half a unit of the last digit either way), and is "within rounding" else, a "tie" where the
    digits are equal. A claim holds if as many contrasts do as it takes, of those that are printed;
    it is "within rounding" if it does not, but would with those that the digits leave open.

    Returns
    -------
    claims : claim, paper, exhibit, says, holds, contrasts, on_paper.
        The last is "holds", "within rounding", "fails" or "no table".
    contrasts : claim, contrast, column, unit, value, low, high, reading.
    """
    chosen = claims.load() if chosen is None else chosen
    printed = _Printed()
    lines, verdicts = [], []
    for claim in chosen:
        readings = []
        for contrast in claim.contrasts:
            try:
                value, low, high = printed.contrast(contrast)
            except KeyError:
                continue
            readings.append(_paper_reading(contrast, value, low, high))
            shown = (contrast.shown(v) for v in (value, low, high))
            column = min(contrast.columns) if len(contrast.columns) == 1 else ""
            lines.append((claim.id, contrast.label, column, contrast.unit, *shown, readings[-1]))
        found, need = readings.count("holds"), min(claim.need, len(readings))
        could = len(readings) - readings.count("fails")
        on = "holds" if found >= need else "within rounding" if could >= need else "fails"
        on = on if readings else "no table"
        which = claim.id, claim.paper, claim.exhibit, claim.says
        verdicts.append((*which, found, len(readings), on))
    return (
        pd.DataFrame(
            verdicts,
            columns=["claim", "paper", "exhibit", "says", "holds", "contrasts", "on_paper"],
        ),
        pd.DataFrame(
            lines,
            columns=["claim", "contrast", "column", "unit", "value", "low", "high", "reading"],
        ),
    )


def _paper_reading(contrast: Contrast, value: float, low: float, high: float) -> str:
    bottom, top = contrast.bounds()
    if low > bottom and high < top:
        return "holds"
    if high <= bottom or low >= top:  # rounded down to the bound, it is below
        return "fails"
    return "tie" if value == bottom == 0 else "within rounding"


class _Printed:
    """Look-up of printed numbers by term, with the interval that their digits stand for."""

    def __init__(self):
        self.rows, self.columns = claims.printed_names()
        self.tables = {}

    def number(self, term: Term) -> tuple[float, float]:
        """The number and half a unit of its last digit; KeyError if the paper prints none."""
        group, row = (part.strip() for part in self.rows[term.exhibit][term.row].split("|"))
        if term.exhibit not in self.tables:
            table = printed_tables.table(term.exhibit)
            self.tables[term.exhibit] = table.set_index(["group", "row", "column"])
        column = self.columns.get(term.exhibit, {}).get(term.column, term.column)
        line = self.tables[term.exhibit].loc[(group, row, column)]
        return float(line["value"]), 0.5 * 10.0 ** -int(line["decimals"])

    def contrast(self, contrast: Contrast) -> tuple[float, float, float]:
        """Value from the digits, and the least and largest value they allow."""
        found = []
        for up in (0, -1, 1):  # every scale rises with the first side and falls with the second
            sides = []
            for side, sign in ((contrast.first, up), (contrast.second, -up)):
                total = side.constant
                for term, weight in side.terms:
                    number, half = self.number(term)
                    total += weight * number + sign * abs(weight) * half
                sides.append(total)
            # Digits, not the noise of their sums: 53.62 - 53.62 and 0.1 + 0.2 - 0.3 are zero.
            found.append(round(float(contrast.value(*map(np.float64, sides))), 9))
        return tuple(found)
