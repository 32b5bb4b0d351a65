"""Wrong versions of `alignbook.evidence.contrasts`."""

MUTANTS = {
    "test_verdicts.py": [
        (
            "the wide interval for bands",
            "1 - LEVEL if np.isinf(top) else 1 - 2 * LEVEL",
            "1 - LEVEL",
        ),
        (
            "the column of a mixture",
            'if len(contrast.columns) == 1 else "",',
            'if contrast.columns else "",',
        ),
        ("recalls of a fifth", 'removeprefix("5K ")', 'removeprefix("5K ").removeprefix("1K ")'),
        ("no whole test set", 'removeprefix("5K ")', 'removeprefix("")'),
        (
            "any seed",
            "set.intersection(*(set(self.values[term])",
            "set.union(*(set(self.values[term])",
        ),
        (
            "seeds by place",
            "[values[term][seed] for seed in seeds]",
            "list(values[term].values())[: len(seeds)]",
        ),
        ("two numbers for a seed", "if seed in of_term:", "if False:"),
        ("noise of sums is spread", "len(seeds)), 9)", "len(seeds)), 99)"),
        ("a spread of 1e-17", "spread = 0.0 if np.ptp(values) == 0", "spread = 0.0 if False"),
        ("against zero", "above_zero(values - bottom, choice)", "above_zero(values, choice)"),
        ("reversed holds", "(p, np.nan) if values.mean() > bottom else (np.nan, p)", "(p, np.nan)"),
        (
            "the wrong side holds",
            "if values.mean() > bottom else",
            "if values.mean() < bottom else",
        ),
        ("upper bound ignored", "if np.isfinite(top):", "if False:"),
        ("the worse p", "np.fmin(holds, reversed_)", "np.fmax(holds, reversed_)"),
        ("standard deviation over n", "np.std(values, ddof=1)", "np.std(values)"),
        (
            "low and high exchanged",
            '"low": contrast.shown(low), "high": contrast.shown(high)',
            '"low": contrast.shown(high), "high": contrast.shown(low)',
        ),
        ("ratios shown as logarithms", '"value": contrast.shown(mean)', '"value": mean'),
        ("a choice is free", "level / (len(lines) - claim.need + 1), level", "level, level"),
        ("a reversal is free", ", level / claim.need\n", ", level\n"),
        (
            "levels exchanged",
            "to_hold if is_right(line) else to_reverse",
            "to_reverse if is_right(line) else to_hold",
        ),
        ("a band is a bound", '        if np.isinf(line["from_high"]):', "        if True:"),
        (
            "a band at a reversal's level",
            'confirmable(line["spread"], line["seeds"], spent, extra=choice)',
            'confirmable(line["spread"], line["seeds"], to_reverse, extra=choice)',
        ),
        ("half a band is a band", 'elif np.isfinite(line["from_low"]):', "elif True:"),
        ("detectable as a logarithm", 'np.exp(least) if line["unit"] == "×" else least', "least"),
        ("never beyond a band", "if np.isinf(high) or max(low, -high) > 0:", "if np.isinf(high):"),
        (
            "the middle of the band",
            "found_inside, line, 0.0, to_hold",
            "found_inside, line, (high + low) / 2, to_hold",
        ),
        (
            "power for a farther bound",
            "found_beyond, line, max(low, -high), level",
            "found_beyond, line, max(-low, high), level",
        ),
        (
            "each contrast by itself",
            "sorted(1 - power(n) for power in powers)[:wanted]",
            "sorted(1 - power(n) for power in powers)[:1]",
        ),
        (
            "all contrasts",
            "sorted(1 - power(n) for power in powers)[:wanted]",
            "sorted(1 - power(n) for power in powers)",
        ),
        (
            "the weakest",
            "sorted(1 - power(n) for power in powers)[:wanted]",
            "sorted(1 - power(n) for power in powers)[-wanted:]",
        ),
        ("what reproduces only", "is_right(line) == true and", "is_right(line) and"),
        ("above is right of a band", ' > 0 and line["from_high"] > 0', " > 0"),
        ("shares of every difference", 'if not contrast.unit.startswith("points"):', "if False:"),
        ("RSUM is one recall", 'RECALLS if column == "RSUM"', 'RECALLS[:1] if column == "RSUM"'),
        (
            "second side added",
            "((contrast.first, 1), (contrast.second, -1))",
            "((contrast.first, 1), (contrast.second, 1))",
        ),
        ("weights ignored", "total + sign * weight * share", "total + sign * share"),
        ("constants ignored", " + contrast.first.constant - contrast.second.constant", ""),
        (
            "images of other seeds",
            "by_seed.reindex(columns=seeds).mean(axis=1, skipna=False)",
            "by_seed.mean(axis=1)",
        ),
        ("images that are not there", "if not np.isfinite(total).all():", "if False:"),
    ],
    "test_learnt.py": [
        (
            "a range is left whatever controls say",
            "(bottom < longer < top) != (bottom < mean < top)",
            "True",
        ),
        (
            "a range is never left",
            "not np.isnan(longer) and (bottom < longer",
            "False and (bottom < longer",
        ),
        (
            "what is open is turned",
            "may_turn and bool(np.fmin(*path[-1][1:]) <= LEVEL)",
            "may_turn",
        ),
        (
            "any column rises",
            "either or (weight < 0 if above else weight > 0)",
            "(weight < 0 if above else weight > 0)",
        ),
        (
            "what did not train is a control",
            "if idle or not all(told.values())",
            "if not all(told.values())",
        ),
        (
            "controls on the other side pass",
            "not np.isnan(there) and (there > 0)",
            "False and (there > 0)",
        ),
        (
            "what is ahead may catch up",
            "may_close(contrast, here > 0)",
            "may_close(contrast, here < 0)",
        ),
        ("no control tells enough", "and not abs(there) >= abs(here) / 2", ""),
        ("any control tells enough", "and not abs(there) >= abs(here) / 2", "and np.isnan(there)"),
        ("both sides rise alike", "(term, -w) for term, w", "(term, w) for term, w"),
        ("times have to be learnt", "if contrast.columns <= claims.MEASURED:", "if False:"),
        ("seeds would help", 'if line["may turn"] or not', "if not"),
        ("seeds would help what is open", 'if line["may turn"] or not', 'if line["early"] or not'),
        ("what is turned is decided", "np.isnan(p) else 1.0", "np.isnan(p) else p"),
        ("the arm for its control", "row=term.row + learnt.LONGER)", "row=term.row)"),
    ],
    "test_sequential.py": [
        ("a level is said and not used", "t_interval(values, level)", "t_interval(values)")
    ],
}
