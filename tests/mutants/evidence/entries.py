"""Wrong versions of `alignbook.evidence.entries`."""

MUTANTS = {
    "test_covalign_arms.py": [
        ("once: in every profile", '"before overnight" and is_short(profile)', '"before overnight"')
    ]
}
