"""Wrong versions of `alignbook.evidence.verdicts`."""

MUTANTS = {
    "test_learnt.py": [
        ("idle arms decide", "if idle := _of_state(", "if idle := [] and _of_state("),
        (
            "arms that more steps raise decide",
            "if raised := _moved(",
            "if raised := [] and _moved(",
        ),
        (
            "moved from the control's seeds alone",
            "np.array([*v.values()])",
            "np.array([v[seed] for seed in longer if seed in v])",
        ),
        ("no control is in doubt", "if beyond >= 2 * spread", "if beyond >= 0 * spread"),
        ("in doubt though it moved nothing", "if beyond > 0:", "if True:"),
        (
            "in doubt beside one that surely moved",
            "                return {}",
            "                continue",
        ),
        ("in doubt as if the row had no error", "1 / len(long) + 1 / len(short)", "1 / len(long)"),
        (
            "not trained, though more steps lower it",
            "if sign * (long.mean() - short.mean()) > learnt",
            "if abs(long.mean() - short.mean()) > learnt",
        ),
        (
            "in doubt though it fell",
            "beyond = long.mean() - short.mean()",
            "beyond = abs(long.mean() - short.mean())",
        ),
        ("what more steps lower passes unsaid", "* bool(lowered)", "* 0"),
        ("times are to have learnt", "or claim.measured:", "or not found:"),
        (
            "early arms pass unsaid",
            "if found.verdict not in JUDGED or claim.measured:",
            "if found:",
        ),
        ("what turned is not told", "* bool(turned)", "* False"),
        (
            "what turned in other claims",
            'if line["claim"] == claim.id and line["early"]',
            'if line["early"]',
        ),
    ],
    "test_verdicts.py": [
        ("targets: not said", '; on {alone} alone"', '"'),
        ("one family", "setdefault(claim.paper, Family())", "setdefault(0, Family())"),
        ("a family a claim", "setdefault(claim.paper, Family())", "setdefault(claim.id, Family())"),
        ("any profile", "if profile not in PROFILES:", "if False:"),
        (
            "any columns",
            "if missing := [column for column in wanted if column not in table]:",
            "if missing := []:",
        ),
        (
            "images without columns",
            "if images is not None:\n        _has",
            "if False:\n        _has",
        ),
        ("recalls are not looked for", '"image", *RECALLS))', '"image"))'),
        ("the print is asked", "    if claim.print_only:\n", "    if False:\n"),
        ("the print is measured", "() if claim.print_only else claim.contrasts", "claim.contrasts"),
        ("the same in other papers", "key = claim.paper, contrast.first", "key = contrast.first"),
        ("the same in another unit", "contrast.second, contrast.unit\n", "contrast.second\n"),
        ("the first is its own double", '"" if same == claim.id else same', "same"),
        ("NaN is left out", "if not np.isfinite(known[seed])]", "if False]"),
        (
            "a division by zero is left out",
            "values = numbers.differences(contrast)\n        if not np.isfinite(values).all():",
            "values = numbers.differences(contrast)\n        if False:",
        ),
        ("one seed is enough", "in claim.contrasts) < 2:", "in claim.contrasts) < 1:"),
        ("untestable is tested", "    if claim.untestable:\n", "    if False:\n"),
        ("any profile decides", "PROFILES.index(profile) < PROFILES.index(claim.least)", "False"),
        (
            "only a longer profile decides",
            "PROFILES.index(profile) < PROFILES.index(claim.least)",
            "PROFILES.index(profile) <= PROFILES.index(claim.least)",
        ),
        (
            "what is not judged counts too",
            "if hindered := _not_judged(claim, profile, numbers):\n            found[claim.id] = hindered",
            "if hindered := _not_judged(claim, profile, numbers):\n            found[claim.id] = hindered\n            family.members += [Member(claim, own, None)] * bool(own)",
        ),
        ("half a unit is a unit", "0.5 * 10.0 **", "1.0 * 10.0 **"),
        ("digits forgotten", "0.5 * 10.0 **", "0.0 * 10.0 **"),
        ("both sides rounded alike", "(contrast.second, -up)", "(contrast.second, up)"),
        ("signs of weights in rounding", "sign * abs(weight) * half", "sign * weight * half"),
        (
            "touching the bound holds",
            "if low > bottom and high < top:",
            "if low >= bottom and high <= top:",
        ),
        (
            "above the band is within rounding",
            "if high <= bottom or low >= top:",
            "if high <= bottom:",
        ),
        ("equal at most is open", "if high <= bottom or", "if high < bottom or"),
        (
            "every rounding is a tie",
            "if value == bottom == 0 else",
            "if low <= bottom <= high else",
        ),
        ("all of the print", "min(claim.need, len(readings))", "len(readings)"),
        ("the first number only", '"holds" if found >= need', '"holds" if found'),
        ("open digits fail", '"within rounding" if could >= need', '"within rounding" if False'),
        ("open digits are open", '"within rounding" if could >= need', '"within rounding" if True'),
        (
            "open digits alone",
            'could = len(readings) - readings.count("fails")',
            'could = len(readings) - readings.count("fails") - found',
        ),
        ("columns by our names", ".get(term.column, term.column)", ".get(0, term.column)"),
        (
            "unpaired rehearsal",
            "worse in zip(shared + effect + own[0], shared + own[1])",
            "worse in zip(shared + effect + own[0], shared[::-1] + own[1])",
        ),
        ("twice the spread rehearsed", "spread / np.sqrt(2)", "spread * np.sqrt(2)"),
    ],
    "test_tuning_error.py": [
        ("other settings decide", "if apart := _chosen_apart(", "if apart := '' and _chosen_apart(")
    ],
}
