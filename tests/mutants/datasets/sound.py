"""Wrong versions of `alignbook.datasets.sound`."""

MUTANTS = {
    "test_precomp.py": [
        ("features of any size are sound", "if not 0 < found <= LARGEST:", "if not 0 < found:"),
        (
            "a file that was looked at is sound for ever",
            "json.dumps([contents.sha256([part])[0], how, LARGEST])",
            "json.dumps([str(part), how, LARGEST])",
        ),
    ]
}
