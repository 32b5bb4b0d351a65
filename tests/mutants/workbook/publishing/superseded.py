"""Wrong versions of `alignbook.workbook.publishing.superseded`."""

MUTANTS = {
    "test_superseded.py": [
        ("trials count", 'made[made.role == "report"]', "made"),
        ("any candidate's value is other", "if all(published", "if any(published"),
        (
            "what is missing is alike",
            "published.get(name) !=",
            "published.get(name, each[name]) !=",
        ),
        ("what measured another", "len(plain[0]) / 2:", "0:"),
        ("what was given is forgotten", "[*given, *_other(", "[*_other("),
        ("today's without changes", "asdict(each) | changes", "asdict(each)"),
    ]
}
