"""Wrong versions of `alignbook.workbook.publishing.reference_results`."""

MUTANTS = {
    "test_gallery.py": [
        ("no test set", 'str.extract(r"^(.+) test,', 'str.extract(r"^(.+) dev,'),
        (
            "the surest contrast",
            "ascending=against, na_position",
            "ascending=not against, na_position",
        ),
        ("photographs first", 'return data != "world", data', "return data"),
        ("hidden folders count", '"[!.]*/claims.csv"', '"*/claims.csv"'),
        ("bars end cells", 'text.replace("|", r"\\|")', "text"),
    ]
}
