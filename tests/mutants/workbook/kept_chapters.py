"""Wrong versions of `alignbook.workbook.kept_chapters`."""

MUTANTS = {
    "test_kept_chapters.py": [
        ("a whole run is replaced", 'if before["chapters"] == parts.ALL:', "if False:"),
        ("other settings", "if before[name] != about[name]:", "if False:"),
        ("what comes anew is kept too", "if paper not in part]", "]"),
        ("base models twice", 'and not (exhibit == "base-models" and row in base)', ""),
        ("old files in place of new ones", "and not there.exists():", ":"),
        (
            "all from elsewhere",
            "elsewhere[[parts.belongs(claim, papers) for claim in elsewhere.claim]]",
            "elsewhere",
        ),
        ("every interval over pictures", "    found.update(known)\n", ""),
        (
            "versions of before are lost",
            'versions.get(paper, before["version"])',
            'before["version"]',
        ),
        (
            "one start",
            '"starts": [*before["starts"], *about["starts"]],',
            '"starts": about["starts"],',
        ),
        ("out of order", 'both.sort_values("exhibit", kind="stable")', "both"),
    ]
}
