"""Wrong versions of `alignbook.workbook.pack_choice`."""

MUTANTS = {
    "test_pack.py": [
        (
            "photographs' runs travel",
            'if others := ", ".join(sorted(origins - {"world", *kinds})):',
            'if others := "":',
        ),
        (
            "photographs' features travel",
            'if origins != {"world"} and _untrained(store / key):',
            "if False:",
        ),
        (
            "what was trained is features too",
            'if (run / "weights.safetensors").exists():',
            "if False:",
        ),
        (
            "features go to a class",
            "if published and _untrained(store / key) > LARGE:",
            "if False:",
        ),
        ("small features stay", "_untrained(store / key) > LARGE", "_untrained(store / key)"),
        (
            "inputs stay behind",
            'named = [*record.get("inputs", ()), *record.get("asked", ())]',
            'named = record.get("asked", ())',
        ),
        (
            "what a run asked for stays behind",
            'named = [*record.get("inputs", ()), *record.get("asked", ())]',
            'named = record.get("inputs", ())',
        ),
        ("features that take long to make stay", "LARGE = 100_000_000", "LARGE = 20_000_000"),
        ("stale runs travel", "    if everything:", "    if True:"),
    ]
}
