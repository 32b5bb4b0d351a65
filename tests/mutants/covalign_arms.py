"""Wrong settings and reckonings of CoV-Align's exhibits; every one must fail its test file."""

TESTS = "test_covalign_arms.py"

MUTANTS = [
    (name, file, snippet, replacement, TESTS)
    for name, file, snippet, replacement in [
        (
            "trials: all at one rate",
            "papers/covalign/arms.py",
            "learning_rate=rate * each",
            "learning_rate=rate",
        ),
        (
            "trials: always three",
            "papers/covalign/arms.py",
            "tried[: profile.covalign_trials]",
            "tried",
        ),
        (
            "trials: baselines of one rate",
            "papers/covalign/arms.py",
            "tried = [(each, plain.temperature) for each in RATES]",
            "pass",
        ),
        (
            "controls: the steps of the others",
            "papers/covalign/arms.py",
            '{"steps": 4 * profile.covalign_steps}',
            '{"steps": profile.covalign_steps}',
        ),
        (
            "Figure 5: measured on photographs",
            "papers/covalign/arms.py",
            'if exhibit != "covalign-F5" or book.kind != "world":',
            'if exhibit != "covalign-F5":',
        ),
        (
            "tokens: a ViT's are whitened",
            "papers/covalign/arms.py",
            'whitened=profile.covalign_vit == "base"',
            "whitened=True",
        ),
        (
            "tokens: frozen whatever the profile",
            "papers/covalign/arms.py",
            '"end-to-end" in (arm, book.profile.covalign_tokens)',
            '"end-to-end" == arm',
        ),
        (
            "Table 5: λ_v and λ_g exchanged",
            "papers/covalign/arms.py",
            '"lambda_v": v, "lambda_g": g',
            '"lambda_v": g, "lambda_g": v',
        ),
        (
            "Table 5: half of the plain weights",
            "papers/covalign/arms.py",
            "HALVED = (0.5, 1.0, 2.5)",
            "HALVED = (0.5, 0.5, 2.5)",
        ),
        (
            "Table 5: SGD at Adam's rate",
            "papers/covalign/arms.py",
            "trials(profile, SGD, optimizer",
            "trials(profile, 1.0, optimizer",
        ),
        (
            "once: for every seed",
            "workbook/results.py",
            "range(seeds) if seeds else trainings.seeds(exhibit, name, book.profile)",
            "range(seeds or book.profile.seeds)",
        ),
        (
            "once: in every profile",
            "evidence/exhibit.py",
            '"before overnight" and is_short(profile)',
            '"before overnight"',
        ),
        (
            "tokens of the workbook: always whitened",
            "papers/covalign/inputs.py",
            'two_towers.Config(whitened=book.profile.covalign_vit == "base")',
            "two_towers.Config()",
        ),
        (
            "cost: encoding over the pairs compared",
            "papers/covalign/cost.py",
            "(m.images * m.captions)",
            "m.pairs",
        ),
        (
            "cost: of another arm",
            "papers/covalign/cost.py",
            'found.row == "patches"',
            'found.row == "regions"',
        ),
        (
            "cost: a step with towers in units of one without",
            "papers/covalign/cost.py",
            "ratio.where(alike)",
            "ratio",
        ),
        ("cost: weights move", "papers/covalign/cost.py", "lr=0.0", "lr=0.1"),
        (
            "cost: all arms",
            "papers/covalign/cost.py",
            "listed[listed.arm.isin(MEASURED)]",
            "listed",
        ),
        (
            "cost: the whole split",
            "papers/covalign/cost.py",
            "[: model.config.test_images or None]",
            "",
        ),
        (
            "hours: the shared run counts again",
            "papers/covalign/hours.py",
            'SAME = dict.fromkeys(("concentration-5", "regions-8", "shared"), WHOLE)',
            "SAME: dict[str, str] = {}",
        ),
        (
            "hours: one tuning seed",
            "papers/covalign/hours.py",
            "            profile.tuning_seeds,\n",
            "            1,\n",
        ),
        (
            "cost: not among the metrics",
            "papers/covalign/cost.py",
            'pd.concat([metrics, long.dropna(subset=["value"])], ignore_index=True)',
            "metrics",
        ),
    ]
]
