"""Contrasts on our numbers: values by seed and image, intervals, p values, what seeds could find."""

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd

from alignbook.core.names import COLUMNS
from alignbook.evidence import claims, learnt, looks, statistics, tuning_error
from alignbook.evidence.claims import Claim, Contrast, Term

LEVEL = 0.05
RECALLS = COLUMNS[:6]
COUNTED = frozenset({"MB", "MB/step"})  # columns without chance; recalls and seconds are sampled


class Numbers:
    """Look-up of metrics and of images' shares by term, one value a seed."""

    def __init__(self, metrics: pd.DataFrame, images=None, trials: pd.DataFrame | None = None):
        self.shared = tuning_error.shared(trials)
        choices = tuning_error.choices(trials)
        self.chosen = {arm: settings for arm, (settings, _) in choices.items()}
        self.edges = {arm: edges for arm, (_, edges) in choices.items() if edges}
        self.values: dict[Term, dict[int, float]] = {}  # by seed
        named = metrics[["exhibit", "row", "column", "seed", "value"]]
        for exhibit, row, column, seed, value in named.itertuples(index=False):
            of_term = self.values.setdefault(Term(exhibit, row, column), {})
            if seed in of_term:
                raise ValueError(
                    f"two numbers for {exhibit} {row}, {column}, seed {seed}: one "
                    "metrics table holds one run of each"
                )
            of_term[seed] = value
        spreads = {
            (term.exhibit, term.row, term.target): float(np.std([*known.values()], ddof=1))
            for term, known in self.values.items()
            if term.column.endswith("RSUM") and len(known) > 1
        }
        self.choices = tuning_error.choice_variances(trials, spreads)
        self.states = {}  # {term: what its seeds' states come to}
        if "learnt" in metrics:
            told = metrics.dropna(subset=["learnt"]).groupby(["exhibit", "row", "column"])["learnt"]
            self.states = {Term(*which): learnt.of_row(states) for which, states in told}
        keys = ["exhibit", "row", "target"]
        self.images = {} if images is None else dict(iter(images.groupby(keys, sort=False)))

    def targets(self, exhibit: str) -> set[str]:
        """The targets that there are numbers of in an exhibit."""
        return {term.target for term in self.values if term.exhibit == exhibit} - {""}

    def seeds(self, contrast: Contrast) -> list:
        """Seeds that every term has."""
        return sorted(set.intersection(*(set(self.values[term]) for term in contrast.terms)))

    def differences(self, contrast: Contrast) -> tuple[list, np.ndarray]:
        """Seeds, and the contrast's value for each, on the scale of its tests."""
        seeds = self.seeds(contrast)
        sides = _both_sides(contrast, seeds, self.values)
        # Equal digits are equal: 433.4 - 418.6 and 333.4 - 318.6 differ in the 14th place only.
        return seeds, np.round(np.broadcast_to(contrast.value(*sides), len(seeds)), 9)

    def longer(self, contrast: Contrast) -> tuple[float, dict[Term, int]]:
        """The contrast of the means of each arm's control of four times the steps, on the scale of its
        tests; and the seeds of each. NaN where an arm has none, or one that did not train.

        Seeds are not paired: after so many steps one has little in common with itself.
        """
        controls = {term: replace(term, row=term.row + learnt.LONGER) for term in contrast.terms}
        values = {term: self.values.get(each, {}) for term, each in controls.items()}
        told = {term: len(known) for term, known in values.items()}
        idle = learnt.DID_NOT_TRAIN in map(self.states.get, controls.values())
        if idle or not all(told.values()) or not told:
            return np.nan, told
        means = {term: {0: float(np.mean([*known.values()]))} for term, known in values.items()}
        return float(np.mean(contrast.value(*_both_sides(contrast, [0], means)))), told

    def may_close(self, contrast: Contrast, above: bool) -> bool:
        """Whether an arm was still learning that lessens a contrast's distance from its bound if it rises:
        above the bound one with a negative weight, otherwise one with a positive. What is no recall may
        go either way, whichever arm it is of.
        """
        if contrast.columns <= claims.MEASURED:
            return False
        weights = [*contrast.first.terms, *((term, -w) for term, w in contrast.second.terms)]
        either = contrast.unit in claims.UNITS.values()
        threats = [t for t, weight in weights if either or (weight < 0 if above else weight > 0)]
        return any(self.states.get(term) == learnt.STILL_LEARNING for term in threats)

    def choice_variance(self, contrast: Contrast, seeds: list) -> float:
        """What the arms' choices on dev add to the squared standard error of a contrast."""
        first, second = (float(side.mean()) for side in _both_sides(contrast, seeds, self.values))
        return tuning_error.of_contrast(contrast, (first, second), self.choices, self.shared)

    def per_image(self, contrast: Contrast, seeds: list) -> np.ndarray | None:
        """Each test image's share of a difference of recalls, mean over seeds; None for others."""
        if not contrast.unit.startswith("points"):
            return None
        total = 0.0
        for side, sign in ((contrast.first, 1), (contrast.second, -1)):
            for term, weight in side.terms:
                column = term.column.removeprefix("5K ")  # the whole test set; 1K is a fifth
                target, column = term.target, column.removeprefix(term.target).strip()
                wanted = RECALLS if column == "RSUM" else (column,)
                found = self.images.get((term.exhibit, term.row, target))
                if found is None or not set(wanted) <= set(RECALLS):
                    return None
                by_seed = found.set_index(["image", "seed"])[list(wanted)].sum(axis=1).unstack()
                share = by_seed.reindex(columns=seeds).mean(axis=1, skipna=False)
                total = total + sign * weight * share
        if not np.isfinite(total).all():  # a seed without images, or other images on one side
            return None
        return total.to_numpy() + contrast.first.constant - contrast.second.constant  # type: ignore[attr-defined]


def _both_sides(contrast: Contrast, seeds: list, values: dict) -> tuple[np.ndarray, ...]:
    """Values of both sides for some seeds, of {term: {seed: value}}."""

    def of_term(term):
        return np.array([values[term][seed] for seed in seeds], float)

    return tuple(np.asarray(side.value(of_term)) for side in (contrast.first, contrast.second))


def measured(contrast: Contrast, numbers: Numbers) -> dict | None:
    """A contrast's mean, intervals and uncorrected p values; None if a number is missing.

    The interval is that of all seeds. p is the least over the looks, each at its share of the level
    (`looks`); `path` has both sides' p after each. What the choice on dev adds is in all of them.
    If seeds would decide what more steps may turn (`_may_turn`), its p is 1; if all seeds count the
    same, 0 (`COUNTED`).
    """
    if not all(term in numbers.values for term in contrast.terms):
        return None
    seeds, values = numbers.differences(contrast)
    if not len(values) or not np.isfinite(values).all():
        return None
    bottom, top = contrast.bounds()
    level = 1 - LEVEL if np.isinf(top) else 1 - 2 * LEVEL
    choice = numbers.choice_variance(contrast, seeds)
    mean, low, high = statistics.t_interval(values, level, choice)
    exact = contrast.columns <= COUNTED and np.ptp(values) == 0 < len(values) - 1
    test = partial(_exactly if exact else partial(_sides, choice=choice), bottom=bottom, top=top)
    path = looks.spend(values, test)
    share = numbers.per_image(contrast, seeds)
    query = (np.nan, np.nan) if share is None else statistics.image_bootstrap(share)
    longer, controls = numbers.longer(contrast)
    may_turn = _may_turn(contrast, numbers, mean, longer)
    if early := may_turn and bool(np.fmin(*path[-1][1:]) <= LEVEL):
        path = [(n, _one(holds), _one(reversed_)) for n, holds, reversed_ in path]
    _, holds, reversed_ = path[-1]
    spread = float(np.std(values, ddof=1)) if len(values) > 1 else np.nan
    spread = 0.0 if np.ptp(values) == 0 < len(values) - 1 else spread  # not 1e-17
    return {
        "contrast": contrast.label,
        "unit": contrast.unit,
        "seeds": len(values),
        "level": level,
        "column": min(contrast.columns) if len(contrast.columns) == 1 else "",
        "value": contrast.shown(mean),
        "low": contrast.shown(low),
        "high": contrast.shown(high),
        "spread": spread,
        "exact": exact,
        "choice": choice,
        "half": statistics.t_interval(values, level)[2] - mean,  # what more seeds may change
        "from_low": mean - bottom,
        "from_high": top - mean,
        "path": path,
        "early": early,
        "may turn": may_turn,
        "longer": contrast.shown(longer),
        "controls": controls,
        "p_holds": holds,
        "p_reversed": reversed_,
        "p": float(np.fmin(holds, reversed_)),
        "query_low": query[0],
        "query_high": query[1],
        "holm": np.nan,
        "reading": "open",
        "detectable": np.nan,
        "needed": np.nan,
        "power": None,
    }


def _may_turn(contrast: Contrast, numbers: Numbers, mean: float, longer: float) -> bool:
    """Whether more steps may carry a contrast into its range, or out of it.

    They may where the controls of four times the steps lie there. Where it has one bound, they may too
    if an arm was still learning that lessens the distance, and no controls leave at least half of it.
    """
    bottom, top = contrast.bounds()
    if not np.isinf(top):
        return not np.isnan(longer) and (bottom < longer < top) != (bottom < mean < top)
    here, there = mean - bottom, longer - bottom
    if not np.isnan(there) and (there > 0) != (here > 0):
        return True
    return numbers.may_close(contrast, here > 0) and not abs(there) >= abs(here) / 2


def _one(p: float) -> float:
    """1, which decides nothing; where there was no test it stays NaN."""
    return p if np.isnan(p) else 1.0


def _sides(values, bottom: float, top: float, choice: float) -> tuple[float, float]:
    """p that the mean lies in the claimed range, and p that it does not."""
    if np.isfinite(top):
        return statistics.inside(values, bottom, top, choice)
    p = statistics.above_zero(values - bottom, choice)
    return (p, np.nan) if values.mean() > bottom else (np.nan, p)


def _exactly(values, bottom: float, top: float) -> tuple[float, float]:
    """The same of a value that is known without doubt; on a bound it decides nothing."""
    bottom, top = np.round((bottom, top), 9)  # as the values are
    inside, beyond = bottom < values[0] < top, values[0] < bottom or values[0] > top
    return 0.0 if inside else np.nan, 0.0 if beyond else np.nan


def foresee(claim: Claim, lines: list[dict], level: float) -> None:
    """Enter what these seeds could have found, if this claim is tested at a level.

    Only what the last look may spend of the level counts: what earlier looks find comes on top.
    """
    to_hold, to_reverse = level / (len(lines) - claim.need + 1), level / claim.need
    for line in lines:
        if line["may turn"] or not line["spread"] > 0 and not line["exact"]:
            continue  # seeds are not what it lacks, or nobody knows
        spent, choice = to_hold * looks.share(line["seeds"]), line["choice"]
        if np.isinf(line["from_high"]):
            least = statistics.detectable(line["spread"], line["seeds"], spent, extra=choice)
        elif np.isfinite(line["from_low"]):
            least = statistics.confirmable(line["spread"], line["seeds"], spent, extra=choice)
        else:  # below a bound: no claim of ours
            least = np.nan
        line["detectable"] = np.exp(least) if line["unit"] == "×" else least
        line["power"] = _power(line, to_hold, to_reverse)
        line["needed"] = statistics.seeds_needed(line["power"])


def _power(line: dict, to_hold: float, to_reverse: float):
    """Number of seeds → probability that a contrast is found where it was measured to lie."""
    low, high = -line["from_low"], line["from_high"]
    if np.isinf(high) or max(low, -high) > 0:
        level = to_hold if is_right(line) else to_reverse
        return partial(found_beyond, line, max(low, -high), level)
    return partial(found_inside, line, 0.0, to_hold)


def found_beyond(line: dict, distance: float, level: float, seeds: int) -> float:
    """Probability that the last look at some seeds finds a mean so far beyond a bound."""
    if line["exact"]:
        return 1.0
    level, choice = level * looks.share(seeds), line["choice"]
    return statistics.power(distance, line["spread"], seeds, level, choice)


def found_inside(line: dict, shift: float, level: float, seeds: int) -> float:
    """Probability that it finds a mean, so much higher than the measured one, between bounds."""
    if line["exact"]:
        return 1.0
    level, choice = level * looks.share(seeds), line["choice"]
    bounds = -line["from_low"], line["from_high"]
    return statistics.power_inside(shift, *bounds, line["spread"], seeds, level, choice)


def is_right(line: dict) -> bool:
    """Whether a contrast's mean lies in the range that is claimed, significantly or not."""
    return line["from_low"] > 0 and line["from_high"] > 0


def needed(claim: Claim, lines: list[dict]) -> float:
    """Seeds that decide a claim with probability 0.8, should what was measured be the truth.

    A claim holds if `need` contrasts are found to, and is contradicted by one more of the others
    than it can spare. To be found together is at least as probable as one less the sum of the
    probabilities that each is missed.
    """
    true = sum(map(is_right, lines)) >= claim.need
    wanted = claim.need if true else len(claim.contrasts) - claim.need + 1
    powers = [line["power"] for line in lines if is_right(line) == true and line["power"]]
    if len(powers) < wanted:  # not measured, or without spread: nobody knows
        return np.nan
    return statistics.seeds_needed(
        lambda n: 1 - sum(sorted(1 - power(n) for power in powers)[:wanted])
    )
