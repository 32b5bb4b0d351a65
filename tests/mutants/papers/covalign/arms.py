"""Wrong versions of `alignbook.papers.covalign.arms`."""

MUTANTS = {
    "test_covalign_arms.py": [
        (
            "trials: baselines of one rate",
            "learning_rate=plain.learning_rate * each",
            "learning_rate=plain.learning_rate",
        ),
        ("trials: always four", "found[: profile.covalign_trials]", "found"),
        ("trials: no places", "temperature=t, placed=placed", "temperature=t"),
        ("trials: everywhere a baseline's", "if plain.matching in BASELINES:", "if True:"),
        (
            "controls: the steps of the others",
            '{"steps": 4 * profile.covalign_steps}',
            '{"steps": profile.covalign_steps}',
        ),
        (
            "Figure 5: measured on photographs",
            'if exhibit != "covalign-F5" or book.kind != "world":',
            'if exhibit != "covalign-F5":',
        ),
        (
            "tokens: a ViT's are whitened",
            'whitened=profile.covalign_vit == "base"',
            "whitened=True",
        ),
        (
            "tokens: frozen whatever the profile",
            '"end-to-end" in (arm, book.profile.covalign_tokens)',
            '"end-to-end" == arm',
        ),
        (
            "Table 5: λ_v and λ_g exchanged",
            '"lambda_v": v, "lambda_g": g',
            '"lambda_v": g, "lambda_g": v',
        ),
        (
            "Table 5: half of the plain weights",
            "HALVED = (0.5, 1.0, 2.5)",
            "HALVED = (0.5, 0.5, 2.5)",
        ),
        (
            "Table 5: SGD at Adam's rate",
            "trials(profile, SGD, optimizer",
            "trials(profile, 1.0, optimizer",
        ),
    ]
}
