"""Wrong versions of `alignbook.workbook.publishing.compared`."""

MUTANTS = {
    "test_published.py": [
        ("an interval of the mean", "np.sqrt(1 / m + 1 / n)", "np.sqrt(1 / m)"),
        ("a degree of freedom more", "special.stdtrit(m - 1,", "special.stdtrit(m,"),
        ("one-sided", "/ max(1, len(both)) / 2)", "/ max(1, len(both)))"),
        ("each number at 5 %", "LEVEL / max(1, len(both)) / 2", "LEVEL / 2"),
        ("no room for a query", '1, 100)) / both["n there"]', '1, 100)) / both["n there"] * 0'),
        ("sums are recalls", "np.where(sums, 600,", "np.where(sums, 100,"),
        ("above alone", '(both["mean here"] < low) | ', ""),
        ("one seed will do", 'both["seeds there"] > 1', 'both["seeds there"] > 0'),
        (
            "ours takes the place of theirs",
            "metrics(folder) for folder in (out, there)",
            "metrics(folder) for folder in (there, out)",
        ),
        ("not run is a verdict", ".loc[lambda x: x.isin(JUDGED).all(axis=1)]", ""),
        (
            "theirs is ours",
            'pd.DataFrame({"there": there, "here": here})',
            'pd.DataFrame({"there": here, "here": there})',
        ),
        ("equal code differs", "here[both] != there[both]", "here[both] == there[both]"),
        ("seeds alone pass unsaid", "{_alone(*both)}", ""),
        ("all are alone", "== 1).sum()", ">= 1).sum()"),
        ("any reference will do", "if not there.is_dir():", "if False:"),
    ]
}
