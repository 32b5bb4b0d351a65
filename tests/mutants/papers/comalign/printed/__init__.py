"""Wrong versions of `alignbook.papers.comalign.printed`."""

MUTANTS = {
    "test_print_checks.py": [
        (
            "gain: of the base alone",
            "judge(exhibit, base + GAIN, column, number, difference, [new, old], how)",
            "judge(exhibit, base + GAIN, column, number, difference, [old, new], how)",
        ),
        (
            "CoCa may fall everywhere",
            'all(c.startswith("f30k t2i") for c in coca)',
            'any(c.startswith("f30k t2i") for c in coca)',
        ),
    ]
}
