"""Wrong versions of `alignbook.datasets.captions_csv`."""

MUTANTS = {
    "test_captions_csv.py": [
        (
            "a caption ends at its first comma",
            "photo, found, text = line.partition(bar)",
            "photo, found, text = (line.split(bar)[0], bar in line, (line.split(bar) + [''])[1])",
        ),
        ("quotes stay doubled", """text[1:-1].replace('""', '"').strip()""", "text[1:-1].strip()"),
    ]
}
