"""Wrong versions of `alignbook.workbook.running.buying`."""

MUTANTS = {
    "test_buying.py": [
        (
            "buyers wait for one another",
            "results.train(book, one, wait=False)",
            "results.train(book, one)",
        ),
        ("the first look is trained again", "range(have, count))", "range(count))"),
        ("trials again", "if one.role == arm_runs.REPORT]", "]"),
        ("what another is at work on is left", "blocked.append(one)", "pass"),
        ("all the seeds of a look are told as this one's", "gone += have - first", "gone += 0"),
        ("others cost nothing", "if claim in primary or cost <= left:", "if True:"),
        ("the primary has a share too", "if claim in primary or cost <= left:", "if cost <= left:"),
        ("earlier looks cost nothing", " - steps[~before].sum()", ""),
        ("all that is there counts", "SHARE * steps[before].sum()", "SHARE * steps.sum()"),
        ("one look costs nothing", "            left -= cost\n", ""),
        (
            "the dearest comes first",
            "return claim not in primary, to_decide, claim",
            "return claim not in primary, -to_decide, claim",
        ),
        ("the primary comes last", "return claim not in primary,", "return claim in primary,"),
        (
            "the next look is what it takes",
            "open_[claim].seeds if np.isnan(seeds) else seeds",
            "open_[claim].seeds",
        ),
        ("what is shared is paid twice", "have[own.index]).clip", "arms.have[own.index]).clip"),
        ("single arms have seeds", "arms[np.array(control) | ~np.array(single)]", "arms"),
        ("controls have none", "np.array(control) | ", ""),
        ("all buyers wait in one order", "first = number % max(len(blocked), 1)", "first = 0"),
    ]
}
