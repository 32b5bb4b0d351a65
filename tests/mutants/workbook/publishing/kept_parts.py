"""Wrong versions of `alignbook.workbook.publishing.kept_parts`."""

MUTANTS = {
    "test_kept_parts.py": [
        ("a whole run's verdicts are kept", "if name != exhibits.VERDICTS]", "]"),
        ("a whole run is one no more", "parts.ALL if whole", "parts.ALL if not whole"),
        ("other settings", "if before[name] != about[name]:", "if False:"),
        ("what comes anew is kept too", "if name not in part]", "]"),
        ("base models twice", "and not (exhibit == parts.BASE and row in base)", ""),
        ("old files in place of new ones", "and not there.exists():", ":"),
        (
            "all from elsewhere",
            "elsewhere[[parts.belongs(of[claim], kept) for claim in elsewhere.claim]]",
            "elsewhere",
        ),
        ("every interval over pictures", "found.fillna(known)", "found"),
        (
            "versions of before are lost",
            'versions.get(name, before["version"])',
            'before["version"]',
        ),
        ("one start", '"starts": before["starts"]\n        + [each', '"starts": [each'),
        ("starts twice", 'if each not in before["starts"]', ""),
        ("out of order", '.sort_values("exhibit", kind="stable")', ""),
        ("columns of nothing", "if len(each)]:", "]:"),
    ]
}
