"""What the numbers say of the papers' claims: ours, and the papers' own.

The verdict follows from t tests over paired seeds, one a contrast, corrected by Holm over all
contrasts of a paper that are judged together:

- reproduced: every contrast lies significantly in its range;
- trend only: all point the right way, at least one significantly, none significantly the other;
- contradicted: at least one lies significantly the other way;
- undecided: else, among it every claim whose arms do not differ.

Also "not run" (an arm, a second seed or a longer profile is missing) and "not testable here".
"""

from functools import partial

import numpy as np
import pandas as pd
import yaml

from alignbook import claims, inference, profiles, reported
from alignbook.claims import Claim, Contrast, Term

VERDICTS = (
    "reproduced", "trend only", "undecided", "contradicted", "not run", "not testable here",
)  # fmt: skip
LEVEL = 0.05
RECALLS = tuple(f"{way} R@{k}" for way in ("i2t", "t2i") for k in (1, 5, 10))


def judge(metrics: pd.DataFrame, profile: str, chosen=None, images: pd.DataFrame | None = None):
    """Verdicts on claims, and the contrasts behind them.

    Parameters
    ----------
    metrics : exhibit, row, column, seed, value, as in metrics.csv.
    profile : the profile that made them; `smoke` decides nothing.
    chosen : the claims to judge, all of `claims.load()` by default; Holm's correction is over the
        contrasts of each paper among them.
    images : exhibit, row, seed, image and the six recalls of each test image, as in
        images.parquet, for the query bootstrap.

    Returns
    -------
    verdicts : DataFrame
        claim, paper, exhibit, says, test, verdict, why, seeds, needed (seeds that would decide it
        with probability 0.8, if what was measured is the truth: all the contrasts it takes).
    contrasts : DataFrame
        claim, contrast, unit, seeds, value, low, high (t interval over seeds: 95 %, and 90 % where
        the claim sets two bounds, as two one-sided tests go with it), p, holm,
        reading ("holds", "reversed", "open"), query_low, query_high (bootstrap over images),
        detectable (the smallest true distance from the claimed bound that these seeds find with
        probability 0.8 after correction; a factor for "×"), needed (seeds that find this contrast).
    """
    chosen = claims.load() if chosen is None else chosen
    numbers = _Numbers(metrics, images)
    lines, why_not = [], {}
    for claim in chosen:
        why_not[claim.id] = _not_judged(claim, profile, numbers)
        for contrast in claim.contrasts:
            if line := _measured(contrast, numbers):
                judged = not any(why_not[claim.id])
                lines.append({"claim": claim.id, "paper": claim.paper, "judged": judged} | line)
    decided = [line for line in lines if line["judged"]]
    _correct(decided)
    verdicts = []
    for claim in chosen:
        own = [line for line in decided if line["claim"] == claim.id]
        untestable, missing = why_not[claim.id]
        if untestable or missing:
            verdict = "not testable here" if untestable else "not run", untestable or missing
        else:
            verdict = _verdict(claim, own)
        verdicts.append((
            claim.id, claim.paper, claim.exhibit, claim.says, claim.test, *verdict,
            min((line["seeds"] for line in own), default=0), _needed(claim, own),
        ))  # fmt: skip
    verdicts = pd.DataFrame(verdicts, columns=[
        "claim", "paper", "exhibit", "says", "test", "verdict", "why", "seeds", "needed",
    ])  # fmt: skip
    return verdicts, pd.DataFrame(lines, columns=[
        "claim", "contrast", "unit", "seeds", "value", "low", "high", "p", "holm", "reading",
        "query_low", "query_high", "detectable", "needed",
    ])  # fmt: skip


class _Numbers:
    """Look-up of metrics and of images' shares by term, one value a seed."""

    def __init__(self, metrics: pd.DataFrame, images: pd.DataFrame | None):
        self.values = {}  # {term: {seed: value}}
        named = metrics[["exhibit", "row", "column", "seed", "value"]]
        for exhibit, row, column, seed, value in named.itertuples(index=False):
            of_term = self.values.setdefault(Term(exhibit, row, column), {})
            if seed in of_term:
                raise ValueError(f"two numbers for {exhibit} {row}, {column}, seed {seed}: one "
                                 "metrics table holds one run of each")
            of_term[seed] = value
        self.images = {} if images is None else {
            name: group for name, group in images.groupby(["exhibit", "row"], sort=False)
        }

    def seeds(self, contrast: Contrast) -> list:
        """Seeds that every term has."""
        return sorted(set.intersection(*(set(self.values[term]) for term in contrast.terms)))

    def differences(self, contrast: Contrast) -> tuple[list, np.ndarray]:
        """Seeds, and the contrast's value for each, on the scale of its tests."""
        seeds = self.seeds(contrast)

        def of_term(term):
            return np.array([self.values[term][seed] for seed in seeds], float)

        sides = (np.asarray(side.value(of_term)) for side in (contrast.first, contrast.second))
        # Equal digits are equal: 433.4 - 418.6 and 333.4 - 318.6 differ in the 14th place only.
        return seeds, np.round(np.broadcast_to(contrast.value(*sides), len(seeds)), 9)

    def per_image(self, contrast: Contrast, seeds: list) -> np.ndarray | None:
        """Each test image's share of a difference of recalls, mean over seeds; None for others."""
        if not contrast.unit.startswith("points"):
            return None
        total = 0.0
        for side, sign in ((contrast.first, 1), (contrast.second, -1)):
            for term, weight in side.terms:
                wanted = RECALLS if term.column == "RSUM" else (term.column,)
                found = self.images.get((term.exhibit, term.row))
                if found is None or not set(wanted) <= set(RECALLS):
                    return None
                by_seed = found.set_index(["image", "seed"])[list(wanted)].sum(axis=1).unstack()
                share = by_seed.reindex(columns=seeds).mean(axis=1, skipna=False)
                total = total + sign * weight * share
        if not np.isfinite(total).all():  # a seed without images, or other images on one side
            return None
        return total.to_numpy() + contrast.first.constant - contrast.second.constant


def _not_judged(claim: Claim, profile: str, numbers: _Numbers) -> tuple[str, str]:
    """Why a claim cannot be tested at all, and why it was not run; empty where nothing hinders."""
    if claim.untestable:
        return claim.untestable, ""
    if profiles.NAMES.index(profile) < profiles.NAMES.index(claim.least):
        return "", f"needs the {claim.least} profile; {profile} decides nothing of this"
    terms = dict.fromkeys(term for contrast in claim.contrasts for term in contrast.terms)
    missing = [term for term in terms if term not in numbers.values]
    if len(missing) == len(terms):
        return "", f"not made: {', '.join(dict.fromkeys(term.exhibit for term in missing))}"
    if missing:
        return "", "missing: " + ", ".join(f"{t.exhibit} {t.row} {t.column}" for t in missing)
    for term in terms:
        values = numbers.values[term]
        if broken := [seed for seed in sorted(values) if not np.isfinite(values[seed])]:
            seed = broken[0]
            return "", f"{term.row}, seed {seed}: {term.column} is {values[seed]}"
    if min(len(numbers.seeds(contrast)) for contrast in claim.contrasts) < 2:
        return "", "at least two seeds in common are needed"
    for contrast in claim.contrasts:
        seeds, values = numbers.differences(contrast)
        if not np.isfinite(values).all():
            seed = seeds[int(np.argmin(np.isfinite(values)))]
            return "", f"{contrast.label}, seed {seed}: no number, a side is zero or below"
    return "", ""


def _measured(contrast: Contrast, numbers: _Numbers) -> dict | None:
    """A contrast's mean, intervals and uncorrected p values; None if a number is missing."""
    if not all(term in numbers.values for term in contrast.terms):
        return None
    seeds, values = numbers.differences(contrast)
    if not len(values) or not np.isfinite(values).all():
        return None
    bottom, top = contrast.bounds()
    mean, low, high = inference.t_interval(values, 1 - LEVEL if np.isinf(top) else 1 - 2 * LEVEL)
    if np.isinf(top):
        p = inference.above_zero(values - bottom)
        holds, reversed_ = (p, np.nan) if mean > bottom else (np.nan, p)
    else:
        holds, reversed_ = inference.inside(values, bottom, top)
        p = np.nanmin([holds, reversed_]) if np.isfinite(holds) else np.nan
    query = (np.nan, np.nan)
    if (share := numbers.per_image(contrast, seeds)) is not None:
        query = inference.image_bootstrap(share)
    spread = float(np.std(values, ddof=1)) if len(values) > 1 else np.nan
    spread = 0.0 if np.ptp(values) == 0 < len(values) - 1 else spread  # not 1e-17
    return {
        "contrast": contrast.label, "unit": contrast.unit, "seeds": len(values),
        "value": contrast.shown(mean), "low": contrast.shown(low), "high": contrast.shown(high),
        "spread": spread, "from_low": mean - bottom, "from_high": top - mean,
        "p_holds": holds, "p_reversed": reversed_, "p": p,
        "query_low": query[0], "query_high": query[1],
        "holm": np.nan, "reading": "open", "detectable": np.nan, "needed": np.nan, "power": None,
    }  # fmt: skip


def _correct(lines: list[dict]) -> None:
    """Enter Holm's p, the reading that follows, and what these seeds could have found."""
    families = {}
    for line in lines:
        families.setdefault(line["paper"], []).append(line)
    for family in families.values():
        level = LEVEL / len(family)
        # Without spread over seeds nothing is known: such a contrast cannot be significant.
        adjusted = inference.holm(np.nan_to_num([line["p"] for line in family], nan=1.0))
        for line, p in zip(family, adjusted):
            line["holm"] = p
            if p <= LEVEL:
                line["reading"] = "holds" if line["p_holds"] == line["p"] else "reversed"
            if not line["spread"] > 0:
                continue
            if np.isinf(line["from_high"]):
                least = inference.detectable(line["spread"], line["seeds"], level)
                line["detectable"] = np.exp(least) if line["unit"] == "×" else least
            line["power"] = _power(line, level)
            line["needed"] = inference.seeds_needed(line["power"])


def _power(line: dict, level: float):
    """Number of seeds → probability that a contrast is found where it was measured to lie."""
    low, high, spread = -line["from_low"], line["from_high"], line["spread"]
    beyond = max(low, -high)
    if np.isinf(high) or beyond > 0:
        return partial(inference.power, beyond, spread, level=level)
    return partial(inference.power_inside, 0, low, high, spread, level=level)


def _right(line: dict) -> bool:
    """Whether a contrast's mean lies in the range that is claimed, significantly or not."""
    return line["from_low"] > 0 and line["from_high"] > 0


def _needed(claim: Claim, lines: list[dict]) -> float:
    """Seeds that decide a claim with probability 0.8, should what was measured be the truth.

    A claim holds if `need` contrasts are found to, and is contradicted by one more of the others
    than it can spare. To be found together is at least as probable as one less the sum of the
    probabilities that each is missed.
    """
    true = sum(map(_right, lines)) >= claim.need
    wanted = claim.need if true else len(claim.contrasts) - claim.need + 1
    powers = [line["power"] for line in lines if _right(line) == true and line["power"]]
    if len(powers) < wanted:  # not measured, or without spread: nobody knows
        return np.nan
    return inference.seeds_needed(
        lambda n: 1 - sum(sorted(1 - power(n) for power in powers)[:wanted])
    )


def _verdict(claim: Claim, lines: list[dict]) -> tuple[str, str]:
    """The verdict on a claim whose contrasts are all measured, and the reason in words."""
    n, spare = len(lines), len(lines) - claim.need
    readings = [line["reading"] for line in lines]
    holds, against = readings.count("holds"), readings.count("reversed")
    right = sum(map(_right, lines))
    if holds >= claim.need:
        return "reproduced", _count(holds, n, "hold")
    if against > spare:
        return "contradicted", _count(against, n, "significantly the other way")
    if right >= claim.need and not against and holds:
        others = "the others" if right == n else f"{right - holds} more"
        return "trend only", f"{_count(holds, n, 'hold')}; {others} point the same way"
    if still := [line["contrast"] for line in lines if np.isnan(line["p"])]:
        return "undecided", f"every seed gave the same {still[0]}: no spread to judge by"
    return "undecided", _count(right, n, "point the right way") + (
        f", {holds} significantly" if holds else ", none significantly")


def _count(k: int, n: int, what: str) -> str:
    return f"{k} of {n} contrasts {what}" if n > 1 else what.replace("hold", "it holds").replace(
        "point the right way", "it points the right way" if k else "it points the other way")


def rehearse(effect: float, spread: float, seeds: int, times: int = 200) -> pd.Series:
    """What the engine says of made-up numbers whose truth is known: verdicts, in % of `times`.

    Parameters
    ----------
    effect : by how much the first of two arms is truly better, in points.
    spread : standard deviation over seeds of their difference. What both arms of a seed share is
        ten times as loud, and cancels.
    """
    rng = np.random.default_rng(0)
    claim = next(claim for claim in claims.load() if claim.id == "chan-hard-at-ninth")
    first, second = claim.contrasts[0].terms
    shared = 300 + 10 * spread * rng.standard_normal((times, seeds))
    own = rng.normal(0, spread / np.sqrt(2), (2, times, seeds))
    said = []
    for better, worse in zip(shared + effect + own[0], shared + own[1]):
        metrics = pd.DataFrame({
            "exhibit": first.exhibit, "row": [first.row] * seeds + [second.row] * seeds,
            "column": first.column, "seed": [*range(seeds)] * 2,
            "value": np.concatenate([better, worse]),
        })  # fmt: skip
        said.append(judge(metrics, "laptop", [claim])[0].verdict[0])
    return 100 * pd.Series(said).value_counts(normalize=True).reindex(VERDICTS, fill_value=0.0)


# --- The papers' own numbers ---------------------------------------------------------------------


def on_paper(chosen=None) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Every claim tested on the paper's own printed table.

    A contrast "holds" or "fails" if it does for all numbers that the printed digits may stand for
    (half a unit of the last digit either way), and is "within rounding" else; equal digits are a
    "tie", which is no order.

    Returns
    -------
    claims : claim, paper, exhibit, says, holds, contrasts, on_paper.
        The last is "holds", "fails" or "no table".
    contrasts : claim, contrast, unit, value, low, high, reading.
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
            lines.append((claim.id, contrast.label, contrast.unit, *shown, readings[-1]))
        found = readings.count("holds")
        on = "no table" if not readings else "holds" if found >= min(
            claim.need, len(readings)) else "fails"  # fmt: skip
        which = claim.id, claim.paper, claim.exhibit, claim.says
        verdicts.append((*which, found, len(readings), on))
    return (
        pd.DataFrame(verdicts, columns=[
            "claim", "paper", "exhibit", "says", "holds", "contrasts", "on_paper"]),
        pd.DataFrame(lines, columns=[
            "claim", "contrast", "unit", "value", "low", "high", "reading"]),
    )  # fmt: skip


def _paper_reading(contrast: Contrast, value: float, low: float, high: float) -> str:
    bottom, top = contrast.bounds()
    if low > bottom and high < top:
        return "holds"
    if high < bottom or low > top:
        return "fails"
    return "tie" if value == bottom == 0 else "within rounding"


class _Printed:
    """Look-up of printed numbers by term, with the interval that their digits stand for."""

    def __init__(self):
        self.rows = yaml.safe_load(claims.FILE.read_text(encoding="utf-8"))["printed"]
        self.tables = {}

    def number(self, term: Term) -> tuple[float, float]:
        """The number and half a unit of its last digit; KeyError if the paper prints none."""
        group, row = (part.strip() for part in self.rows[term.exhibit][term.row].split("|"))
        if term.exhibit not in self.tables:
            table = reported.table(term.exhibit)
            self.tables[term.exhibit] = table.set_index(["group", "row", "column"])
        line = self.tables[term.exhibit].loc[(group, row, term.column)]
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
