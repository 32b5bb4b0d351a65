"""Wrong versions of what compares with reference results; every one must fail its test file."""

MUTANTS = (
    [
        (name, "workbook/reference.py", snippet, wrong, "test_reference.py")
        for name, snippet, wrong in [
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
                "_metrics(folder) for folder in (out, there)",
                "_metrics(folder) for folder in (there, out)",
            ),
            ("captions are published", "any(each in text for each in captions)", "False"),
            ("captions as they are written", 'r"[^\\W_]+", text.lower()', 'r"\\S+", text'),
            ("pictures are published", "if private and figures", "if False and figures"),
            ("pictures of the world are not", "if private and figures", "if figures"),
            (
                "what was there goes first",
                "    if size > MOST:",
                "    shutil.rmtree(to, ignore_errors=True)\n    if size > MOST:",
            ),
            ("not run is a verdict", ".loc[lambda x: x.isin(JUDGED).all(axis=1)]", ""),
            (
                "theirs is ours",
                'pd.DataFrame({"there": there, "here": here})',
                'pd.DataFrame({"there": here, "here": there})',
            ),
            ("equal code differs", "here[both] != there[both]", "here[both] == there[both]"),
            (
                "any profile is compared",
                'if folder.name != f"{book.kind}-{book.profile.name}":',
                "if False:",
            ),
            ("the smallest reference", "*reversed(PROFILES))", "*PROFILES)"),
            ("paths are published", 'Path(v).name if "/" in v else v', "v"),
        ]
    ]
    + [
        (name, "workbook/gallery.py", snippet, wrong, "test_gallery.py")
        for name, snippet, wrong in [
            (
                "another claim's verdict",
                "self.claims.claim == claim]",
                "self.claims.claim != claim]",
            ),
            (
                "the last contrast",
                '.drop_duplicates("claim")',
                '.drop_duplicates("claim", keep="last")',
            ),
            ("photographs first", "key=start._place, reverse=True", "key=start._place"),
            ("bars end cells", 'text.replace("|", r"\\|")', "text"),
            ("curves are drawn", "if not path.stem.endswith(CURVES)", "if path"),
            (
                "hours of the first start",
                'for each in one.about["starts"]) / 3600',
                'for each in one.about["starts"][:1]) / 3600',
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
            "test_reference.py",
        )
    ]
)
