"""Wrong versions of `alignbook.workbook.gallery`."""

MUTANTS = {
    "test_gallery.py": [
        (
            "the smallest speaks",
            "for one in found if one.found(claim)}.values()",
            "for one in found[::-1] if one.found(claim)}.values()",
        ),
        (
            "a rerun keeps the paper's side",
            "_elsewhere(one, claim, turned)",
            "_elsewhere(one, claim)",
        ),
        ("a rerun's ends are exchanged", "line[[value, high, low]]", "line[[value, low, high]]"),
        (
            "a rerun is always told the other way",
            "            if turned:\n                value, low",
            "            if True:\n                value, low",
        ),
        ("what can't be had is testable", "if {*said} & TESTABLE:", "if {*said}:"),
        (
            "what the laptop said before",
            'largest = {one.about["data"]: said',
            "largest = {one.label: said",
        ),
        (
            "another claim's verdict",
            "known = one.claims[one.claims.claim == claim]",
            "known = one.claims[one.claims.claim != claim]",
        ),
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
}
