"""Wrong versions of `alignbook.evidence.entries`."""

MUTANTS = {
    "test_covalign_arms.py": [
        ("once: in every profile", "profile in _BEFORE.get(self.seeds, ())", 'self.seeds != "all"')
    ],
    "test_exhibits.py": [
        (
            "once: of what no claim rests on, several",
            "profile in _BEFORE.get(self.seeds, ())",
            'profile in _BEFORE["overnight"] and self.seeds != "all"',
        )
    ],
}
