"""Wrong versions of `alignbook.evidence.families`."""

MUTANTS = {
    "test_verdicts.py": [
        (
            "claims are not corrected",
            "statistics.holm([min(both[claim.id]) for claim, _, _ in members])",
            "[min(both[claim.id]) for claim, _, _ in members]",
        ),
        (
            "contrasts are not corrected",
            "own = statistics.holm(np.nan_to_num(",
            "own = np.asarray(np.nan_to_num(",
        ),
        ("as if there were one claim", "nan=1.0)) * claims_judged", "nan=1.0))"),
        (
            "no spread counts as certain",
            'nan_to_num([line["p"] for line in lines], nan=1.0)',
            'nan_to_num([line["p"] for line in lines], nan=0.0)',
        ),
        (
            "no spread decides",
            'nan_to_num([line[f"p_{side}"] for line in lines], nan=1.0)',
            'nan_to_num([line[f"p_{side}"] for line in lines], nan=0.0)',
        ),
        (
            "all have to hold",
            "statistics.at_least(claim.need, holds)",
            "statistics.at_least(len(lines), holds)",
        ),
        (
            "one is enough to hold",
            "statistics.at_least(claim.need, holds)",
            "statistics.at_least(1, holds)",
        ),
        (
            "nothing to spare in p",
            "statistics.at_least(spare + 1, reversed_)",
            "statistics.at_least(1, reversed_)",
        ),
        (
            "all reversed",
            "statistics.at_least(spare + 1, reversed_)",
            "statistics.at_least(len(lines), reversed_)",
        ),
        (
            "what holds is reversed",
            "holds, reversed_ = zip(*(path[-1]",
            "reversed_, holds = zip(*(path[-1]",
        ),
        ("the worse p of a claim", "statistics.holm([min(both", "statistics.holm([max(both"),
        (
            "the worse p of a claim is shown",
            '"reversed", min(holds, reversed_)',
            '"reversed", max(holds, reversed_)',
        ),
        (
            "the wrong side of a claim",
            'side, p = "holds" if holds < reversed_',
            'side, p = "holds" if holds > reversed_',
        ),
        (
            "half the level of a claim",
            "side if holm <= LEVEL else",
            "side if holm <= LEVEL / 2 else",
        ),
        (
            "claims by uncorrected p",
            'side if holm <= LEVEL else "open"',
            'side if p <= LEVEL else "open"',
        ),
        (
            "decisive for all",
            'k = claim.need if side == "holds" else',
            "k = len(lines) if True else",
        ),
        (
            "what decides a reversal",
            "len(lines) - claim.need + 1\n    decisive",
            "claim.need\n    decisive",
        ),
        (
            "every contrast decides its claim",
            'if line[f"p_{side}"] <= decisive else',
            "if True else",
        ),
        ("no contrast decides its claim", 'if line[f"p_{side}"] <= decisive else', "if False else"),
        ("half the level", 'if line["holm"] <= LEVEL:', 'if line["holm"] <= LEVEL / 2:'),
        ("uncorrected p", 'if line["holm"] <= LEVEL:', 'if line["p"] <= LEVEL:'),
        (
            "level of one test",
            "foresee(claim, lines, LEVEL * share / len(members))",
            "foresee(claim, lines, LEVEL)",
        ),
        (
            "a trend without significance",
            "len(against) <= n - claim.need and holds:",
            "len(against) <= n - claim.need:",
        ),
        (
            "a trend with nothing to spare",
            "len(against) <= n - claim.need and holds:",
            "not against and holds:",
        ),
        ("a trend with a wrong sign", "if right >= claim.need and len(against)", "if len(against)"),
        (
            "a trend of all",
            "if right >= claim.need and len(against)",
            "if right == n and len(against)",
        ),
        ("reversals are not named", 'way" if against else ""', 'way" if False else ""'),
        ("the first is named only", "contrasts[:3] + rest", "contrasts[:1]"),
        ("three more", "len(contrasts) - 3} more", "len(contrasts)} more"),
    ],
    "test_sequential.py": [
        ("an idle primary passes all on", "0.0 if self.open else 1.0", "1.0"),
        ("an open primary passes all on", "float(took > 0)", "1.0"),
        ("no difference passes all on", "passed = looks.left(took)", "passed = 1.0"),
        (
            "nothing is kept for the others",
            "share = 1 - PRIMARY + PRIMARY * passed",
            "share = max(passed, 1e-9)",
        ),
        ("the others have all", "share = 1 - PRIMARY + PRIMARY * passed", "share = 1.0"),
        ("the primary has all", "level = LEVEL * PRIMARY", "level = LEVEL"),
        ("the primary is shown at all", 'line["holm"] = min(1.0, p / PRIMARY)', 'line["holm"] = p'),
        ("small differences are not told", "if took and inside[-1] <= level:", "if False:"),
        ("all differences are small", "if took and inside[-1] <= level:", "if took and same:"),
        ("the last look decides", "        if took:\n            break\n", ""),
        ("what is left is not counted", "holm = min(1.0, holm / share)", "holm = min(1.0, holm)"),
    ],
    "test_learnt.py": [
        ("seeds that lead out of the band", "if is_right(same):", "if True:"),
        (
            "what may turn is no difference",
            '    if line["early"] or leaves:\n        same = None',
            "    if False:\n        same = None",
        ),
    ],
}
