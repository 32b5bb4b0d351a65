"""Wrong versions of `alignbook.store.verbatim`."""

MUTANTS = {
    "test_verbatim.py": [
        ("verbatim: captions are HTML", "return escape(line(value))", "return line(value)"),
        (
            "verbatim: orders are followed",
            "def html(value) -> str:",
            "def line(value):\n    return str(value)\n\n\ndef html(value) -> str:",
        ),
        (
            "verbatim: a message begins lines",
            'return re.sub(r"\\n(?!  )", "\\n  ", lines(value))',
            "return lines(value)",
        ),
    ]
}
