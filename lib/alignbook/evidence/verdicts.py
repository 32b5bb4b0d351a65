"""What the numbers say of the papers' claims: ours, and the papers' own.

A claim is a set of contrasts, each with a t test over paired seeds, of which some (most often all)
have to hold. It is looked at after 3, 5, 8 and 12 seeds, and each look spends its share of the
error (see `looks`). Two p values follow for the claim: that as many hold, and that so many are
reversed that it cannot be (partial conjunctions: the largest p if all have to hold, Bonferroni's
for "any is reversed"). A paper's primary claim is tested at 4 % by itself; Holm's correction is over
its other claims that are judged together, at 1 % and what the primary passes on (see `families`):

- reproduced: as many contrasts as it takes lie in their range;
- contradicted: more contrasts than it can spare lie the other way;
- trend only: neither, but as many as it takes point the right way, one or more of them
  significantly, and not more than it can spare are significantly reversed;
- no difference: the primary contrast surely lies in the band that its claim named beforehand;
- undecided: otherwise, among them every claim whose arms do not differ.

A claim that rests on an arm that did not train (see `learnt`) is "did not train", unless it says that
this arm collapses. One that rests on an arm which four times the steps raise by more than 5 %, or on
one that is trained alike, is undecided, and so is one for whose two sides dev chose settings that
themselves move what is measured. None of these is in a family. A contrast that more steps may turn
counts as if seeds said nothing (`contrasts`). Also "not run" (an arm, a second seed or a longer profile
is missing), "not testable here", and "on paper only" for claims about the print itself.
"""

from collections.abc import Collection
from dataclasses import replace

import numpy as np
import pandas as pd

from alignbook.core.names import PROFILES, TARGETS
from alignbook.evidence import claims, learnt, printed_tables, tuning_error
from alignbook.evidence.claims import Claim, Contrast, Term
from alignbook.evidence.contrasts import RECALLS, Numbers, measured
from alignbook.evidence.families import NO_DIFFERENCE, Family, Finding, Member
from alignbook.store import progress

NOT_RUN, NOT_TESTABLE = "not run", "not testable here"
FEW_SEEDS = "at least two seeds in common are needed"
NOT_TRAINED = "not trained: four times the steps raise"
IDLE = "; the control of four times the steps did not train:"
VERDICTS = (
    "reproduced",
    "trend only",
    NO_DIFFERENCE,
    "undecided",
    "contradicted",
    "did not train",
    NOT_RUN,
    NOT_TESTABLE,
    "on paper only",
)
JUDGED = VERDICTS[:5]
CLAIM_COLUMNS = (  # of the first table that `judge` returns
    "claim",
    "paper",
    "exhibit",
    "says",
    "test",
    "verdict",
    "why",
    "seeds",  # that all of its arms have
    "took",  # seeds of the look that decided it; 0 where none has
    "p",  # of the claim, for the verdict it is nearer to, over all looks
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
    "p",  # of this test alone, over all looks: the interval is of the last one, and pays for none
    "holm",  # the level, over all claims of the family, at which the contrast reads as it does
    "reading",  # "holds", "reversed" or "open"
    "query_low",  # with query_high, the bootstrap over test images
    "query_high",
    "detectable",
    "needed",
)


def judge(metrics: pd.DataFrame, profile: str, chosen=None, images=None, trials=None):
    """Verdicts on claims, and the contrasts behind them.

    Parameters
    ----------
    metrics : exhibit, row, column, seed, value, and learnt where it is known, as in metrics.csv.
    profile : the profile that made them; `smoke` decides nothing.
    chosen : the claims to judge, all of `claims.load()` by default; those of each paper among them
        that can be judged are its family.
    images : exhibit, row, target ("" unless a row has several), seed, image and the six recalls
        of each test image, as in images.parquet, for the query bootstrap.
    trials : what dev said of each candidate; what near ties add to the doubt (`tuning_error`).

    Returns
    -------
    verdicts, contrasts : DataFrames with the columns `CLAIM_COLUMNS` and `CONTRAST_COLUMNS`.

    Notes
    -----
    `holm` of a contrast is its own p corrected by Holm within its claim and by Bonferroni for the
    number of claims, or its claim's if that is lower and it is one of those that decide the claim.
    `detectable` is the smallest true distance from the claimed bound that these seeds find with
    probability 0.8, each contrast by itself, a factor for "×". For claims with two bounds it is
    half the width of a band around zero that they would confirm, should there be no difference.
    `needed` is the seeds with which a contrast plays its part in the verdict. Both are at the share
    of the last look, of the level that decides if no other claim of the family is: 4 % for the
    primary claim, for another its family's level divided by the number of its claims; and of n
    contrasts by n - need + 1 to hold, by need to be reversed. Upper bounds, as Holm is kinder once one is, and
    earlier looks find something too.

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
    numbers = Numbers(metrics, images, trials)
    whole, chosen = chosen, there(chosen, numbers)
    found, families, lines = examined(chosen, profile, numbers)
    for family in families.values():
        found |= family.findings()[0]
    for claim in (each for each in chosen if each not in whole):
        alone = " and ".join(sorted(numbers.targets(claim.exhibit)))
        found[claim.id] = found[claim.id]._replace(why=f"{found[claim.id].why}; on {alone} alone")
    verdicts = pd.DataFrame(
        [
            (c.id, c.paper, c.exhibit, c.says, c.test, *_noted(c, numbers, found[c.id], lines))
            for c in chosen
        ],
        columns=CLAIM_COLUMNS,
    )
    return verdicts, pd.DataFrame(lines, columns=CONTRAST_COLUMNS)


def there(chosen, numbers: Numbers) -> list[Claim]:
    """Claims on the targets that there are numbers of: photographs have a single one."""
    return [claim.on(numbers.targets(claim.exhibit)) for claim in chosen]


def examined(chosen, profile: str, numbers: Numbers):
    """What there is to be judged.

    Returns
    -------
    found : {claim: Finding} of claims that cannot be judged.
    families : {paper: Family} of those that can.
    lines : the contrasts of all claims, as measured.
    """
    found: dict[str, Finding] = {}
    families: dict[str, Family] = {}
    lines: list[dict] = []
    above: dict[tuple, str] = {}
    for claim in chosen:
        own = []
        for contrast in () if claim.print_only else claim.contrasts:
            key = claim.paper, contrast.first, contrast.second, contrast.unit
            if line := measured(contrast, numbers):
                same = above.setdefault(key, claim.id)
                own.append({"claim": claim.id, "same_as": "" if same == claim.id else same} | line)
        lines += own
        family = families.setdefault(claim.paper, Family())
        if hindered := _not_judged(claim, profile, numbers):
            found[claim.id] = hindered
            if claim.primary and not claim.untestable and not _too_short(profile, claim):
                family.open = True
        else:
            band = measured(claim.same, numbers) if claim.same else None
            family.members.append(Member(claim, own, band))
    return found, families, lines


def _has(table: pd.DataFrame, name: str, wanted: tuple) -> None:
    if missing := [column for column in wanted if column not in table]:
        raise ValueError(
            f"{name}: no column {', '.join(missing)}; there are: "
            f"{', '.join(map(str, table.columns)) or 'none'}"
        )


def _not_judged(claim: Claim, profile: str, numbers: Numbers) -> Finding | None:
    """What is said of a claim that cannot be judged; None where nothing hinders."""
    if claim.print_only:
        return Finding("on paper only", "a claim about the numbers of the print, not about ours")
    if claim.untestable:
        return Finding(NOT_TESTABLE, claim.untestable)
    if missing := _missing(claim, profile, numbers):
        return Finding(NOT_RUN, missing)
    if idle := _of_state(claim, numbers, learnt.DID_NOT_TRAIN, but=_said_to_collapse(claim)):
        return Finding(learnt.DID_NOT_TRAIN, f"rests on what did not train: {', '.join(idle)}")
    if raised := _moved(claim, numbers, 1):
        return Finding("undecided", f"{NOT_TRAINED} {', '.join(raised)}")
    if apart := _chosen_apart(claim, numbers):
        return Finding("undecided", f"dev chose other settings on its two sides: {apart}")
    return None


def _chosen_apart(claim: Claim, numbers: Numbers) -> str:
    """Settings that a claim needs alike and that dev chose differently for its arms, "" if none."""
    terms = [term for contrast in claim.contrasts for term in contrast.terms]
    arms = dict.fromkeys(tuning_error.arm_of(term, numbers.chosen) for term in terms)
    said = []
    for name in claim.alike:
        # None of a run that is older than the setting
        values = {arm[1]: numbers.chosen[arm].get(name) for arm in arms if arm in numbers.chosen}
        if len({*values.values()}) > 1:
            said.append(f"{name} {', '.join(f'{v} ({row})' for row, v in values.items())}")
    return "; ".join(said)


def _too_short(profile: str, claim: Claim) -> bool:
    return PROFILES.index(profile) < PROFILES.index(claim.least)


def _missing(claim: Claim, profile: str, numbers: Numbers) -> str:
    """What a claim lacks to be judged; empty where nothing is missing."""
    if _too_short(profile, claim):
        return f"needs the {claim.least} profile; {profile} decides nothing of this"
    terms = dict.fromkeys(term for contrast in claim.contrasts for term in contrast.terms)
    missing = [term for term in terms if term not in numbers.values]
    if len(missing) == len(terms):
        return f"not made: {', '.join(dict.fromkeys(term.exhibit for term in missing))}"
    if missing:
        return "missing: " + ", ".join(f"{t.exhibit} {t.row} {t.column}" for t in missing)
    for term in terms:
        known = numbers.values[term]
        if broken := [seed for seed in sorted(known) if not np.isfinite(known[seed])]:
            seed = broken[0]
            return f"{term.row}, seed {seed}: {term.column} is {known[seed]}"
    if min(len(numbers.seeds(contrast)) for contrast in claim.contrasts) < 2:
        return FEW_SEEDS
    for contrast in claim.contrasts:
        seeds, values = numbers.differences(contrast)
        if not np.isfinite(values).all():
            seed = seeds[int(np.argmin(np.isfinite(values)))]
            return f"{contrast.label}, seed {seed}: no number, a side is zero or below"
    return ""


def _said_to_collapse(claim: Claim) -> frozenset[Term]:
    """The arms of which a claim says that they collapse: not to train is to do so."""
    collapsed = claim.contrasts if claim.test == "collapse" else ()
    return frozenset(term for contrast in collapsed for term, _ in contrast.second.terms)


def _of_state(claim: Claim, numbers: Numbers, state: str, but: Collection[Term] = ()) -> list[str]:
    """Rows that a claim rests on and that are in a state, without some of them."""
    terms = dict.fromkeys(term for contrast in claim.contrasts for term in contrast.terms)
    found = [term for term in terms if numbers.states.get(term) == state and term not in but]
    return list(dict.fromkeys(f"{term.exhibit} {term.row}" for term in found))


def _noted(claim: Claim, numbers: Numbers, found: Finding, lines: list[dict]) -> Finding:
    """A finding, and in its reason what four times the steps turn or lower, which such control did not
    train, and the rows that were still learning or chosen at a grid's edge; none of it if the claim is
    about time and memory only.
    """
    if found.verdict not in JUDGED or claim.measured:
        return found
    own = [line for line in lines if line["claim"] == claim.id and line["early"]]
    turned = [
        f"{line['contrast']} from {_shown(line, 'value')} to {_shown(line, 'longer')}"
        for line in own
        if np.isfinite(line["longer"])
    ]
    behind = [line["contrast"] for line in own if np.isnan(line["longer"])]
    early = _of_state(claim, numbers, learnt.STILL_LEARNING)
    idle = _idle(claim, numbers)
    said = f"; four times the steps move {', '.join(turned)}" * bool(turned)
    said += f"; may turn, as the arm behind was still learning: {', '.join(behind)}" * bool(behind)
    said += f"{IDLE} {', '.join(idle)}" * bool(idle)
    if collapsed := _of_state(claim, numbers, learnt.DID_NOT_TRAIN):
        said += f"; did not train: {', '.join(collapsed)}"
    lowered = _moved(claim, numbers, -1)
    said += f"; four times the steps lower {', '.join(lowered)}" * bool(lowered)
    said += f"; still learning: {', '.join(early)}" * bool(early)
    terms = [term for contrast in claim.contrasts for term in contrast.terms]
    arms = dict.fromkeys(tuning_error.arm_of(term, numbers.edges) for term in terms)
    edges: dict[str, dict[str, None]] = {}
    for arm in arms:
        if arm in numbers.edges:
            edges.setdefault(", ".join(numbers.edges[arm]), {})[arm[1]] = None
    shown = [f"{', '.join(names)} ({where})" for where, names in edges.items()]
    said += f"; chosen at the edge of what was tried: {', '.join(shown)}" * bool(shown)
    return found._replace(why=found.why + said)


def _idle(claim: Claim, numbers: Numbers) -> list[str]:
    """The controls of four times the steps, of a claim's arms or of what is trained alike, that did not
    train.
    """
    arms = {(term.exhibit, term.row) for each in claim.contrasts for term in each.terms}
    controls = {(exhibit, row + learnt.LONGER) for exhibit, row in arms | {*claim.trained_as}}
    idle = (term for term, state in numbers.states.items() if state == learnt.DID_NOT_TRAIN)
    return [*dict.fromkeys(term.row for term in idle if (term.exhibit, term.row) in controls)]


def _shown(line: dict, name: str) -> str:
    """A contrast's value for reading."""
    return f"{line[name]:.{claims.DECIMALS.get(line['unit'], 1)}f}".replace("-", "−")


def _moved(claim: Claim, numbers: Numbers, sign: int) -> list[str]:
    """Rows that a claim rests on and that more steps raise (1) or lower (−1) by more than 5 %, with
    the change in percent. An arm that falls had learnt: the further steps overfit.

    It is RSUM's where a row has one: a single recall of one seed says little. The control, of one
    or a few seeds, is compared with the mean over all of the row's seeds: after four times the
    steps a seed has little in common with itself, and the mean is known better.
    """
    found = {}
    own = {(term.exhibit, term.row) for contrast in claim.contrasts for term in contrast.terms}
    for term, target, short, long in _controls(claim, numbers):
        alike = (term.exhibit, term.row) not in own
        if sign * (long.mean() - short.mean()) > learnt.MOVED * abs(short.mean()):
            row = f"{term.exhibit} {term.row}" + f" → {target}" * bool(target)
            said = f"{row} by {100 * abs(long.mean() / short.mean() - 1):.0f} %"
            if sign > 0 or not alike:  # of others it matters only that these had not learnt
                found[row] = said + ", which is trained alike" * alike
    return list(found.values())


def doubtful(claim: Claim, numbers: Numbers) -> dict[tuple[str, str], int]:
    """Controls that are higher by more than 5 % though the noise of seeds may have done it, by exhibit
    and row, and how many seeds they have: the bound lies within two standard errors of the rise. None
    where another control surely rose: the claim would stay as it is.
    """
    found = {}
    for term, _, short, long in _controls(claim, numbers):
        beyond = long.mean() - short.mean() - learnt.MOVED * abs(short.mean())
        spread = np.std(short, ddof=1) if len(short) > 1 else 0.0
        if beyond > 0:
            if beyond >= 2 * spread * np.sqrt(1 / len(long) + 1 / len(short)):
                return {}
            found[term.exhibit, term.row + learnt.LONGER] = len(long)
    return found


def _controls(claim: Claim, numbers: Numbers):
    """For each of a claim's terms that has a control of four times the steps: the term, the target
    its column names, and the values of both over their seeds. The same for arms that are trained alike,
    unless the claim is about time and memory only.
    """
    terms = [term for contrast in claim.contrasts for term in contrast.terms]
    if not claim.measured:
        alike = {(term.exhibit, term.row) for term in numbers.values} & {*claim.trained_as}
        totals = ("RSUM", *(f"{target} RSUM" for target in TARGETS))
        terms += [Term(*arm, total) for arm in sorted(alike) for total in totals]
    for term in (term for term in dict.fromkeys(terms) if term in numbers.values):
        target = term.target
        whole = replace(term, column=f"{target} RSUM".strip())
        whole = whole if whole in numbers.values else term
        control = replace(whole, row=whole.row + learnt.LONGER)
        longer = numbers.values.get(control, {})
        if longer and numbers.states.get(control) != learnt.DID_NOT_TRAIN:
            yield term, target, *(np.array([*v.values()]) for v in (numbers.values[whole], longer))


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
    claim = replace(claim, primary=False)  # alone, it is tested at all of the level
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
    (half a unit of the last digit either way), otherwise it is "within rounding", or a "tie" where
    the digits are equal. A claim holds if as many contrasts do as it takes, of those that are
    printed; it is "within rounding" if it does not, but would with those that the digits leave
    open.

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
        value, least, largest = found
        return value, least, largest
