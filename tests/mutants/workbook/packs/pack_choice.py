"""Wrong versions of `alignbook.workbook.packs.pack_choice`."""

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
        ("a class is handed all features", "        if over > 0:\n", "        if False:\n"),
        ("a class is handed no features", "        if over > 0:\n", "        if True:\n"),
        ("the smallest features stay", "key=features.get, reverse=True)", "key=features.get)"),
        ("as many as are over stay", "            over -= features[key]\n", ""),
        ("trained runs stay too", "filter(features.get, features)", "features"),
        ("packs have a limit", "    if published:\n", "    if True:\n"),
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
        ("stale runs travel", "    if everything:", "    if True:"),
    ]
}
