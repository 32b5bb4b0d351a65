"""Wrong versions of what compares with reference results; every one must fail its test file."""

MUTANTS = (
    [
        (name, "workbook/published.py", snippet, wrong, "test_published.py")
        for name, snippet, wrong in [
            ("an interval of the mean", "np.sqrt(1 / m + 1 / n)", "np.sqrt(1 / m)"),
            ("a degree of freedom more", "special.stdtrit(m - 1,", "special.stdtrit(m,"),
            ("one-sided", "/ max(1, len(both)) / 2)", "/ max(1, len(both)))"),
            ("each number at 5 %", "LEVEL / max(1, len(both)) / 2", "LEVEL / 2"),
            ("what is published is code", '"--", *code)', '"--", ".")'),
            ("changed code has no mark", ' + "-dirty" * bool(changed)', ""),
            ("no room for a query", '1, 100)) / both["n there"]', '1, 100)) / both["n there"] * 0'),
            ("sums are recalls", "np.where(sums, 600,", "np.where(sums, 100,"),
            ("above alone", '(both["mean here"] < low) | ', ""),
            ("one seed will do", 'both["seeds there"] > 1', 'both["seeds there"] > 0'),
            (
                "ours takes the place of theirs",
                "_metrics(folder) for folder in (out, there)",
                "_metrics(folder) for folder in (there, out)",
            ),
            ("captions in tables are published", "said.isdisjoint(windows(text))", "set()"),
            (
                "captions in figures are published",
                "and not said.isdisjoint(windows(drawn))",
                "and False",
            ),
            ("what quotes captions is published", 'name.startswith("tables/explorer-") or', ""),
            ("phrases are published", ' or "| phrase " in table', ""),
            (
                "captions as they are written",
                're.findall("[a-z]+", text.lower())',
                "text.lower().split()",
            ),
            ("pictures are published", "if private and figures", "if False and figures"),
            ("pictures of the world are not", "if private and figures", "if figures"),
            (
                "what was there goes first",
                "        if size > MOST:",
                "        shutil.rmtree(to, ignore_errors=True)\n        if size > MOST:",
            ),
            ("not run is a verdict", ".loc[lambda x: x.isin(JUDGED).all(axis=1)]", ""),
            (
                "theirs is ours",
                'pd.DataFrame({"there": there, "here": here})',
                'pd.DataFrame({"there": here, "here": there})',
            ),
            ("equal code differs", "here[both] != there[both]", "here[both] == there[both]"),
            ("any settings are compared", "if book.out.name != folder.name:", "if False:"),
            ("smoke may be published", 'said["profile"] == "smoke" or ', ""),
            ("what shows itself is published", "if re.search(", "if not re.search("),
            ("others do not count", "[aside, *others]", "[aside]"),
            ("paths are published", "Path(place).name", "place"),
        ]
    ]
    + [
        (name, "workbook/again.py", snippet, wrong, "test_again.py")
        for name, snippet, wrong in [
            ("the other way round", "[1] for each in both]", "[1] for each in both[::-1]]"),
            ("one spread for both", "equal_var=False", "equal_var=True"),
            ("every claim counts", "claim.contrasts if claim.primary else ()", "claim.contrasts"),
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
            ("nothing is enough", "    if found.empty:", "    if False:"),
        ]
    ]
    + [
        (name, "workbook/gallery.py", snippet, wrong, "test_gallery.py")
        for name, snippet, wrong in [
            ("another claim's verdict", "one.claims.claim == claim]", "one.claims.claim != claim]"),
            (
                "the surest contrast",
                "ascending=against, na_position",
                "ascending=not against, na_position",
            ),
            ("photographs first", 'return data != "world", data', "return data"),
            ("hidden folders count", '"[!.]*/claims.csv"', '"*/claims.csv"'),
            ("every claim once more", "if line.claim == claim:", "if True:"),
            ("bars end cells", 'text.replace("|", r"\\|")', "text"),
            ("curves are drawn", "if not path.stem.endswith(CURVES)", "if path"),
            (
                "hours of the first start",
                'sum(each["seconds"] or 0 for each in starts)',
                'starts[0]["seconds"]',
            ),
            ("old answers stay", "_, _, after = rest.partition(END)", "after = rest"),
            (
                "written every time",
                'if not path.exists() or path.read_text(encoding="utf-8") != text:',
                "if True:",
            ),
        ]
    ]
    + [
        (
            "any figure shows numbers",
            "show/figures.py",
            '!= "numbers"',
            '== "pictures"',
            "test_published.py",
        )
    ]
)
