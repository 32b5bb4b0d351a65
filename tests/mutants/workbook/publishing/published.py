"""Wrong versions of `alignbook.workbook.publishing.published`."""

MUTANTS = {
    "test_published.py": [
        (
            "other exhibits' test sets",
            "test_sets(told[told.exhibit == exhibit].protocol)",
            "test_sets(told.protocol)",
        ),
        ("a larger profile's difference first", "and key not in known}", "}"),
        ("profiles that tell nothing", "* bool(new)\n    if not known", "* 1\n    if not known"),
        (
            "the longer profile's verdict first",
            "dict(zip(said.claim, said.verdict)) | found",
            "found | dict(zip(said.claim, said.verdict))",
        ),
        (
            "not run is a verdict of the reference",
            "said = told[told.verdict.isin(start.SAID)]",
            "said = told",
        ),
        (
            "other chapters' files",
            "paths if part is None or parts.is_shown(path.stem, part))",
            "paths)",
        ),
        ("other chapters' rows", "if part is not None and path.stem in NUMBERS:", "if False:"),
        (
            "an earlier start's verdicts",
            "NUMBERS if part is not None else",
            "NUMBERS + VERDICTS if part is not None else",
        ),
        (
            "other chapters' curves",
            "for path in files if part is None or parts.is_shown(path.stem, part)]",
            "for path in files]",
        ),
        ("all data count", 'to.parent.glob(f"{data}-*")', 'to.parent.glob("[!.]*")'),
        ("what is published is code", '"--", *code)', '"--", ".")'),
        ("changed code has no mark", ' + "-dirty" * bool(changed)', ""),
        ("curves: two digits", 'float_format="%.5g"', 'float_format="%.2g"'),
        ("curves: exhibits by their files", '.removesuffix("-training.csv")', ""),
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
        ("any settings are compared", "if book.out.name != folder.name:", "if False:"),
        ("smoke may be published", 'said["profile"] == "smoke" or ', ""),
        ("what shows itself is published", "if re.search(", "if not re.search("),
        ("others do not count", "[aside, *others]", "[aside]"),
        (
            "a part hides the rest",
            "        if len(new := known[~known[compared.ROW].apply(tuple, axis=1).isin(there)]):",
            "        if len(new := known[~known[compared.ROW].apply(tuple, axis=1).isin(there)]) and not found:",
        ),
        ("paths are published", "Path(place).name", "place"),
    ],
    "test_kept_parts.py": [
        ("no page of verdicts", 'if told["notebooks"] == parts.ALL:', "if False:")
    ],
}
