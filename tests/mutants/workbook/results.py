"""Wrong versions of `alignbook.workbook.results`."""

MUTANTS = {
    "test_covalign_arms.py": [
        (
            "once: for every seed",
            "range(seeds) if seeds else arm_runs.seeds(exhibit, name, book.profile)",
            "range(seeds or book.profile.seeds)",
        )
    ],
    "test_arm_runs.py": [
        (
            "trials start from what is reported",
            'inputs = getattr(chapter, "tuning_inputs", chapter.inputs)(book, *which)',
            "inputs = chapter.inputs(book, *which)",
        ),
        ("the next trial", "[one.number]", "[one.number - 1]"),
    ],
    "test_buying.py": [
        ("what did not train is chosen", ".mask(idle & ~none)", ""),
        (
            "what did not train was not tried",
            '"config": own.config, } ).reset_index(',
            '"config": own.config, } ).dropna(subset="dev_rsum").reset_index(',
        ),
    ],
}
