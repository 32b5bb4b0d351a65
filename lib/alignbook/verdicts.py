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
        claim, contrast, unit, seeds, value, low, high (95 % t interval over seeds), p, holm,
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
    contrasts = pd.DataFrame(lines, columns=[
        "claim", "paper", "judged", "contrast", "unit", "seeds", "value", "low", "high", "spread",
        "from_low", "from_high", "p_holds", "p_reversed", "p", "query_low", "query_high",
    ])  # fmt: skip
    contrasts = _corrected(contrasts.astype({"judged": bool}))
    verdicts = []
    for claim in chosen:
        own = contrasts[(contrasts.claim == claim.id) & contrasts.judged]
        untestable, missing = why_not[claim.id]
        if untestable or missing:
            verdict = "not testable here" if untestable else "not run", untestable or missing
        else:
            verdict = _verdict(claim, own)
        verdicts.append((
            claim.id, claim.paper, claim.exhibit, claim.says, claim.test, *verdict,
            own.seeds.min() if len(own) else 0, _needed(claim, own) if len(own) else np.nan,
        ))  # fmt: skip
    verdicts = pd.DataFrame(verdicts, columns=[
        "claim", "paper", "exhibit", "says", "test", "verdict", "why", "seeds", "needed",
    ])  # fmt: skip
    kept = ["claim", "contrast", "unit", "seeds", "value", "low", "high", "p", "holm", "reading",
            "query_low", "query_high", "detectable", "needed"]  # fmt: skip
    return verdicts, contrasts[kept]


class _Numbers:
    """Look-up of metrics and of images' shares by term, one value a seed."""

    def __init__(self, metrics: pd.DataFrame, images: pd.DataFrame | None):
        twice = metrics.duplicated(["exhibit", "row", "column", "seed"])
        if twice.any():
            line = metrics[twice].iloc[0]
            raise ValueError(f"two numbers for {line.exhibit} {line.row}, {line.column}, "
                             f"seed {line.seed}: one metrics table holds one run of each")
        self.values = {
            Term(*name): group.set_index("seed")["value"].sort_index()
            for name, group in metrics.groupby(["exhibit", "row", "column"], sort=False)
        }
        self.images = {} if images is None else {
            name: group for name, group in images.groupby(["exhibit", "row"], sort=False)
        }

    def seeds(self, contrast: Contrast) -> list:
        """Seeds that every term has."""
        found = [set(self.values[term].index) for term in contrast.terms]
        return sorted(set.intersection(*found))

    def differences(self, contrast: Contrast) -> pd.Series:
        """The contrast's value by seed, on the scale of its tests."""
        seeds = self.seeds(contrast)
        sides = (
            side.value(lambda term: self.values[term][seeds].to_numpy())
            for side in (contrast.first, contrast.second)
        )
        values = np.broadcast_to(contrast.value(*map(np.asarray, sides)), len(seeds))
        # Equal digits are equal: 433.4 - 418.6 and 333.4 - 318.6 differ in the 14th place only.
        return pd.Series(np.round(values.astype(float), 9), index=seeds)

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
        if not np.isfinite(values).all():
            seed = values.index[~np.isfinite(values)][0]
            return "", f"{term.row}, seed {seed}: {term.column} is {values[seed]}"
    if min(len(numbers.seeds(contrast)) for contrast in claim.contrasts) < 2:
        return "", "at least two seeds in common are needed"
    for contrast in claim.contrasts:
        values = numbers.differences(contrast)
        if not np.isfinite(values).all():
            seed = values.index[~np.isfinite(values)][0]
            return "", f"{contrast.label}, seed {seed}: no number, a side is zero or below"
    return "", ""


def _measured(contrast: Contrast, numbers: _Numbers) -> dict | None:
    """A contrast's mean, intervals and uncorrected p values; None if a number is missing."""
    if not all(term in numbers.values for term in contrast.terms):
        return None
    values = numbers.differences(contrast)
    seeds, values = list(values.index), values.to_numpy()
    if not len(values) or not np.isfinite(values).all():
        return None
    mean, low, high = inference.t_interval(values)
    bottom, top = contrast.bounds()
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
    }  # fmt: skip


def _corrected(contrasts: pd.DataFrame) -> pd.DataFrame:
    """Holm's p, the reading that follows, and what these seeds could have found."""
    contrasts = contrasts.assign(
        holm=np.nan, reading="open", detectable=np.nan, needed=np.nan, power=None
    )
    for _, family in contrasts[contrasts.judged].groupby("paper", sort=False):
        # Without spread over seeds nothing is known: such a contrast cannot be significant.
        contrasts.loc[family.index, "holm"] = inference.holm(family.p.fillna(1.0))
        level = LEVEL / len(family)
        for i, line in family.iterrows():
            if contrasts.holm[i] <= LEVEL:
                holds = line.p_holds == line.p
                contrasts.loc[i, "reading"] = "holds" if holds else "reversed"
            if not line.spread > 0:
                continue
            if np.isinf(line.from_high):
                least = inference.detectable(line.spread, line.seeds, level)
                contrasts.loc[i, "detectable"] = np.exp(least) if line.unit == "×" else least
            contrasts.at[i, "power"] = power = _power(line, level)
            contrasts.loc[i, "needed"] = inference.seeds_needed(power)
    return contrasts


def _power(line, level: float):
    """Number of seeds → probability that a contrast is found where it was measured to lie."""
    beyond = max(-line.from_low, -line.from_high)
    if np.isinf(line.from_high) or beyond > 0:
        return partial(inference.power, beyond, line.spread, level=level)
    return partial(inference.power_inside, 0, -line.from_low, line.from_high, line.spread,
                   level=level)  # fmt: skip


def _needed(claim: Claim, contrasts: pd.DataFrame) -> float:
    """Seeds that decide a claim with probability 0.8, should what was measured be the truth.

    A claim holds if `need` contrasts are found to, and is contradicted by one more of the others
    than it can spare. To be found together is at least as probable as one less the sum of the
    probabilities that each is missed.
    """
    right = (contrasts.from_low > 0) & (contrasts.from_high > 0)
    true = int(right.sum()) >= claim.need
    wanted = claim.need if true else len(claim.contrasts) - claim.need + 1
    powers = contrasts.power[right if true else ~right].dropna()
    if len(powers) < wanted:  # the others show no spread: nobody knows
        return np.nan
    return inference.seeds_needed(
        lambda n: 1 - sum(sorted(1 - power(n) for power in powers)[:wanted])
    )


def _verdict(claim: Claim, contrasts: pd.DataFrame) -> tuple[str, str]:
    """The verdict on a claim whose contrasts are all measured, and the reason in words."""
    n, spare = len(contrasts), len(claim.contrasts) - claim.need
    holds = int((contrasts.reading == "holds").sum())
    against = int((contrasts.reading == "reversed").sum())
    right = int(((contrasts.from_low > 0) & (contrasts.from_high > 0)).sum())
    if holds >= claim.need:
        return "reproduced", _count(holds, n, "hold")
    if against > spare:
        return "contradicted", _count(against, n, "significantly the other way")
    if right >= claim.need and not against and holds:
        others = "the others" if right == n else f"{right - holds} more"
        return "trend only", f"{_count(holds, n, 'hold')}; {others} point the same way"
    still = contrasts[contrasts.p.isna()]
    if len(still):
        same = still.contrast.iloc[0]
        return "undecided", f"every seed gave the same {same}: no spread to judge by"
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
