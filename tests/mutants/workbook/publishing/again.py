"""Wrong versions of `alignbook.workbook.publishing.again`."""

MUTANTS = {
    "test_again.py": [
        (
            "what was kept goes",
            "pd.concat([before[~before.claim.isin(found.claim)], found])",
            "found",
        ),
        ("what was kept stays beside", "before[~before.claim.isin(found.claim)]", "before"),
        ("the other way round", "[1] for each in numbers]", "[1] for each in numbers[::-1]]"),
        ("one spread for both", "equal_var=False", "equal_var=True"),
        ("every claim counts", "in claims.load() if claim.primary]", "in claims.load()]"),
        ("another claim's line", "(self.contrasts.claim == claim) & ", ""),
        ("alike where they are not", "both.reading == both[", "both.reading != both["),
        ("apart is by chance", '<= 0) & (both["difference high"] >= 0)', "<= 99)"),
        (
            "surely alike is open",
            'verdict if verdict in WHOLE else VERDICTS[found["reading"]]',
            'VERDICTS[found["reading"]]',
        ),
        ("only what is published", "if again is None:", "if again is None or here is None:"),
        ("of all targets", "* (target in TARGETS)", "* 0"),
        (
            "what was published then",
            '(now["seeds"], f"{now[\'value\']:.6g}") != (row',
            "() != (row",
        ),
        ("of earlier code unsaid", '"since"] = True', '"since"] = False'),
        ("apart by the smaller one", "** 2 / sum(each**2", "** 2 / max(each**2"),
        ("nothing is enough", "    if found.empty:", "    if False:"),
    ]
}
